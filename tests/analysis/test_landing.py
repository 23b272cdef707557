"""The cloud of a landing: its pieces are those of the B-derivative, and creases lie between them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from builders import sphere
from touchdowns import tripod

import contactsim as cs
from contactsim.analysis.landing import HEIGHT, PITCH, ROLL, landing
from contactsim.errors import InputError


@pytest.fixture(scope="module")
def lin() -> cs.Linearization:
    return cs.linearize(tripod().run())


def test_a_tripod_has_six_orders_each_with_its_matrix(lin: cs.Linearization) -> None:
    cloud, event = landing(lin), lin.events[0]
    assert set(cloud.orders) == set(permutations(("lf", "lr", "rm")))
    assert set(cloud.orders) == set(event.pieces())
    directions = np.random.default_rng(3).normal(size=(40, lin.dim))
    for dx, order in zip(directions, event.orders(directions), strict=True):
        assert event.apply(dx) == pytest.approx(event.pieces()[order] @ dx, rel=1e-9, abs=1e-9)


def test_behind_the_event_the_cloud_is_what_the_run_does(lin: cs.Linearization) -> None:
    cloud = landing(lin)
    count = len(cloud.orders)
    starts = cs.ball(0.02 * np.eye(lin.dim)[[ROLL, PITCH, HEIGHT]], count)
    final = lin(starts[::97]) if np.ndim(lin(starts[0])) else None
    assert final is not None
    nv = lin.trajectory.system.nv
    rates = np.asarray(final)[:, [nv + ROLL, nv + PITCH, nv + HEIGHT]]
    shown = cloud.offsets[-1][::97]
    scale = (np.abs(rates).max(axis=0) / np.abs(shown).max(axis=0))[None]
    assert np.abs(cloud.offsets[-1]).max(axis=0) == pytest.approx([0.1, 0.1, 0.1])
    assert shown * scale == pytest.approx(rates, rel=2e-2, abs=2e-2 * np.abs(rates).max())


def test_without_a_landing_on_several_contacts_it_is_told() -> None:
    run = cs.simulate(cs.ContactSystem(sphere()), cs.State([0, 0, 0.2, 0, 0, 0, 1], np.zeros(6)), (0.0, 0.3))
    with pytest.raises(InputError, match="no several contacts touch down at one instant"):
        landing(cs.linearize(run))
