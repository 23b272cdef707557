"""Hunt and Crossley's law: restitution and contact time in closed form, and a contact that is pulled off."""

from __future__ import annotations

import numpy as np
import pytest
from builders import TIGHT, point_mass
from scipy.optimize import brentq
from scipy.special import gamma

import contactsim as cs
from contactsim.common import registry
from contactsim.contact.laws import CompliantLaw

RESTITUTION = 1e-9  # of a bounce against the first integral of its motion
CONTACT_TIME = 1e-9  # s


def hunt_crossley(**parameters: float) -> CompliantLaw:
    return registry.load("contact_laws", "hunt-crossley")(**parameters)


def bounce(law: CompliantLaw, speed: float, mass: float) -> cs.Trajectory:
    system = cs.ContactSystem(point_mass(mass=mass), law=law, gravity=(0, 0, 0))
    start = cs.State([0, 0, 0.01], [0, 0, -speed])
    tolerances = cs.Tolerances(**TIGHT)
    return cs.simulate(system, start, (0.0, 0.01 / speed + 1.0), integrator="DOP853", tolerances=tolerances)


def restitution(D: float) -> float:
    """e of D = 3/2 alpha v: D (1 + e) = log((1 + D) / (1 - e D)); the roots lie below e = 1 and e D = 1."""
    if D == 0.0:
        return 1.0
    top = min(1.0, (1.0 - 1e-15) / D)
    return float(brentq(lambda e: np.log1p(D) - np.log1p(-e * D) - D * (1 + e), 1e-9, top, xtol=1e-15))


@pytest.mark.parametrize("exponent", [1.0, 1.5, 3.0])
@pytest.mark.parametrize(("alpha", "speed"), [(0.0, 1.0), (0.1, 0.5), (0.5, 1.0), (1.0, 4.0)])
def test_restitution_depends_on_alpha_and_speed_alone(exponent: float, alpha: float, speed: float) -> None:
    for mass, stiffness in ((1.0, 1e5), (3.0, 1e7)):
        traj = bounce(hunt_crossley(stiffness=stiffness, exponent=exponent, damping=alpha), speed, mass)
        assert [kind for event in traj.events for kind, _ in event.fired] == ["gap", "clear"]
        assert traj.final.v[2] / speed == pytest.approx(restitution(1.5 * alpha * speed), abs=RESTITUTION)


def test_slow_impacts_follow_the_straight_line() -> None:
    """e = 1 - alpha v, Hunt and Crossley's eq. for small v; the next term is 9/10 or less of (alpha v)^2."""
    for speed in (1e-2, 1e-1):
        alpha = 0.3
        loss = 1.0 - bounce(hunt_crossley(damping=alpha), speed, 1.0).final.v[2] / speed
        assert abs(loss - alpha * speed) <= (alpha * speed) ** 2


def test_the_force_has_no_jump_and_the_contact_lasts_as_long_as_hertz_says() -> None:
    """Undamped, n = p + 1: d_max^n = m v^2 n / 2k, and T = 2 d_max sqrt(pi) G(1 + 1/n) / (v G(1/2 + 1/n))."""
    mass, k, p, speed = 2.0, 1e6, 1.5, 0.7
    traj = bounce(hunt_crossley(stiffness=k, exponent=p, damping=0.0), speed, mass)
    touch, leave = traj.events
    n = p + 1.0
    depth = (mass * speed**2 * n / (2 * k)) ** (1 / n)
    lasts = 2 * depth / speed * np.sqrt(np.pi) * gamma(1 + 1 / n) / gamma(0.5 + 1 / n)
    assert leave.time - touch.time == pytest.approx(lasts, abs=CONTACT_TIME)
    for event in (touch, leave):
        assert np.abs(traj.forces(event.time, "-")["point"]).max() < 1e-6


def test_a_contact_that_is_torn_off_is_released_and_takes_hold_again() -> None:
    """A pull faster than 1 / (3/2 alpha) beats the spring; the margin vanishes, the depth does not."""
    law = hunt_crossley(stiffness=1e5, damping=2.0)

    def pull(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([0, 0, 900.0 if 0.012 < t < 0.0125 else 0.0])

    system = cs.ContactSystem(point_mass(), law=law, controller=pull)
    start = cs.State([0, 0, -5e-3], np.zeros(3))
    traj = cs.simulate(system, start, (0.0, 0.1), tolerances=cs.Tolerances(max_step=1e-4))
    kinds = [kind for event in traj.events for kind, _ in event.fired]
    assert "release" in kinds
    assert min(traj.forces(t)["point"][2] for t in np.linspace(0, 0.1, 200)) >= 0.0
    traj.check()


def test_parameters_are_validated() -> None:
    with pytest.raises(cs.InputError, match="exponent"):
        hunt_crossley(exponent=0.5)
    with pytest.raises(cs.InputError, match=r"unknown key.*stiffness, exponent, damping, slip_speed"):
        hunt_crossley(alpha=1.0)
