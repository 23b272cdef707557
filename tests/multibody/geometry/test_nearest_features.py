"""Gaps by closest points: one place, many places and complex steps, and what is kept of the last places."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from contactsim.multibody.geometry.closest_points.features import Ellipsoid
from contactsim.multibody.geometry.cone_sides import ConeSideOnCone
from contactsim.multibody.geometry.cylinders import Drum
from contactsim.multibody.geometry.features import KEPT, FeaturePair, Place, Recent
from contactsim.multibody.geometry.smooth import SmoothOnSolid
from contactsim.multibody.geometry.yielding_rounds import RoundBody, RoundOnRound

STEP = 1e-30
TILTED = pin.exp3(np.array([0.3, -0.2, 0.1]))
PAIRS = {
    "egg on drum": SmoothOnSolid(Ellipsoid(np.zeros(3), np.eye(3), np.array([0.05, 0.06, 0.08])), Drum(0.1, 0.1), 0.15),
    "drum on drum": RoundOnRound(RoundBody("cylinder", 0.1, 0.1), RoundBody("cylinder", 0.15, 0.1)),
    "cone on cone": ConeSideOnCone(0.1, 0.2, 0.15, 0.2),
}


@pytest.mark.parametrize("name", PAIRS)
def test_gaps_of_many_places_are_those_of_each_and_steps_their_derivatives(name: str) -> None:
    features: FeaturePair = PAIRS[name]
    places = [Place(TILTED, np.array([0.21, 0.01, 0.1 + 0.002 * k]), np.eye(3), np.zeros(3)) for k in range(3)]
    region = features.region(places[0])
    near = [place._replace(o_a=places[0].o_a + 1e-6 * (place.o_a - places[0].o_a)) for place in places]
    together = features.gap(Place(*(np.stack(parts) for parts in zip(*near, strict=True))), region)
    assert together == pytest.approx([float(features.gap(place, region)) for place in near], abs=1e-13)
    ahead, behind = (
        float(features.gap(places[0]._replace(o_a=places[0].o_a + step), region))
        for step in (np.array([1e-6, 0.0, 0.0]), np.array([-1e-6, 0.0, 0.0]))
    )
    stepped = features.gap(places[0]._replace(o_a=places[0].o_a + np.array([1j * STEP, 0.0, 0.0])), region)
    assert stepped.imag / STEP == pytest.approx((ahead - behind) / 2e-6, abs=1e-7)


def test_what_was_found_last_is_not_looked_for_again() -> None:
    recent, asked = Recent[int](), []

    def find(key: int) -> int:
        asked.append(key)
        return 10 * key

    for key in (1, 2, 1, 2):
        assert recent.of(key, lambda key=key: find(key)) == 10 * key  # type: ignore[misc]
    assert asked == [1, 2]
    for key in range(10 * KEPT):
        recent.of(key, lambda key=key: find(key))  # type: ignore[misc]
        assert len(recent) <= KEPT
