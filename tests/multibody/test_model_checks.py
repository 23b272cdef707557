"""Masses and inertias that no robot can move with are refused where it is made, or told."""

from __future__ import annotations

import warnings

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs


def arm(*inertias: pin.Inertia, first: pin.JointModel | None = None, armature: float = 0.0) -> cs.Robot:
    """A chain of bodies on hinges about y, each 0.3 m above the one before."""
    model, parent = pin.Model(), 0
    for k, inertia in enumerate(inertias):
        joint = first if k == 0 and first is not None else pin.JointModelRY()
        parent = model.addJoint(parent, joint, pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.3])), f"joint{k}")
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    model.armature = np.full(model.nv, armature)
    return cs.Robot(model, contacts=[])


def body(
    mass: float, moments: tuple[float, float, float], lever: tuple[float, float, float] = (0, 0, 0)
) -> pin.Inertia:
    return pin.Inertia(mass, np.array(lever, dtype=float), np.diag(moments))


BODY = body(1.0, (0.1, 0.1, 0.1), (0.0, 0.0, 0.1))


@pytest.mark.parametrize(
    ("inertia", "words"),
    [
        (body(-1.0, (0.1, 0.1, 0.1)), "the body of joint 'joint1' has mass -1.0; give a positive mass$"),
        (body(1e300, (0.1, 0.1, 0.1)), "has mass 1e.300; give a positive mass of a size below 1e75"),
        (body(1.0, (0.1, 0.1, 0.1), (0, 0, 1e100)), "has its centre of mass at .*; check it"),
        (body(0.0, (0.0, 0.0, 0.0)), "joint 'joint1' moves no mass; give its link a positive mass"),
        (
            body(1.0, (0.0, 0.0, 0.0)),
            "joint 'joint1' moves without resistance: its body has no inertia of its own that",
        ),
        (body(1e-320, (0.0, 0.0, 0.0), (0, 0, 1.0)), "joint 'joint1' moves without resistance"),
    ],
)
def test_inertias_that_nothing_moves_with_are_refused(inertia: pin.Inertia, words: str) -> None:
    with pytest.raises(cs.InputError, match=words):
        arm(BODY, inertia)


def test_a_first_body_that_only_its_arm_could_hold_is_refused() -> None:
    nothing = body(0.0, (0.0, 0.0, 0.0))
    with pytest.raises(
        cs.InputError, match=r"joint 'joint0' moves without resistance: .*, or hold its first link by root="
    ):
        arm(nothing, BODY, first=pin.JointModelFreeFlyer())


def test_points_off_their_axis_and_rotors_move_with_resistance() -> None:
    arm(BODY, body(1.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.2)))  # a pendulum of a point mass
    arm(body(0.0, (0.0, 0.0, 0.0)), BODY)  # a massless link between two hinges
    arm(BODY, body(1.0, (0.0, 0.0, 0.0)), armature=0.01)


def test_moments_that_no_body_has_are_told_and_rounded_ones_are_not() -> None:
    with pytest.warns(
        UserWarning, match=r"joint 'joint1' \(0.1, 0.1, 0.3 kg m\^2\) has principal moments .* no body has"
    ):
        arm(BODY, body(1.0, (0.1, 0.1, 0.3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm(BODY, body(1.0, (0.1, 0.1, 0.201)))
        arm(BODY, body(1.0, (0.0, 0.0, 1e-12), (0.0, 0.0, 0.2)))  # rounding of a point mass
