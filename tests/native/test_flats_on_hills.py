"""Edges, faces and rims on hills by the compiled engine: their searches, against Python's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.contact_dynamics.engines import engine
from contactsim.multibody.geometry.features import Place
from contactsim.multibody.geometry.gap_tables import FlatsOnHills
from contactsim.multibody.geometry.hill_features import FlatOnHills
from contactsim.multibody.geometry.hill_pieces import carried, corners_of, features_of
from contactsim.multibody.geometry.plain_flats import Searches
from contactsim.multibody.terrain.hills import Hills

pytest.importorskip("contactsim_native._native")  # its sources alone are no package

GROUNDS = {
    "ridges": cs.terrain.Sinusoid(0.02, 5.0, 0.0),
    "waves": cs.terrain.Sinusoid(0.03, 12.0, 5.0),
    "field": cs.terrain.HeightField(
        np.linspace(-3.0, 3.0, 25), np.linspace(-3.0, 3.0, 25), 0.02 * np.random.default_rng(4).normal(size=(25, 25))
    ),
}
BODIES = {
    "box": cs.Robot.box(1.0, (0.12, 0.1, 0.06)),
    "hull": cs.Robot.hull(1.0, np.random.default_rng(1).uniform(-1.0, 1.0, (12, 3)) * [0.08, 0.06, 0.05]),
    "capsule": cs.Robot.capsule(1.0, 0.04, 0.12),
    "cylinder": cs.Robot.cylinder(1.0, 0.05, 0.16),
    "cone": cs.Robot.cone(1.0, 0.05, 0.16),
}
SAME = 1e-12  # m, and of what is close to one: rounding of what is found by Newton's method
ROUNDED = 1e-13  # of a state: what points of hills are known to
MOTION = 1e-8  # of motions, guards and rates of these, relative to gravity and to larger accelerations
RUN = 1e-9  # of two runs that differ in rounding
SOFT = 1e-8  # m: the same of places along features where the ground hardly bends, whose gap is as good


def features(robot: cs.Robot, ground: Hills) -> list[FlatOnHills]:
    (body,) = carried(robot, ground)
    pairs = [*features_of(body, ground), *corners_of(body, ground)]
    return [pair.features for pair in pairs]  # type: ignore[misc]


def compiled(own: Sequence[FlatOnHills], ground: Hills) -> list[FlatOnHills]:
    native = engine("native")
    assert native is not None
    searches = Searches(ground.plain_hills(), native.flats)
    return [replace(feature, among=(searches, searches.add(feature.plain()))) for feature in own]


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("body", BODIES)
def test_searches_are_those_of_python(body: str, ground: str) -> None:
    rng, hills = np.random.default_rng(2), GROUNDS[ground]
    own = features(BODIES[body], hills)
    others, acted, touched = compiled(own, hills), 0, 0
    least = min(feature.radius for feature in own)  # the ends of the axis of a cylinder are not those of a capsule
    points = np.concatenate([feature.points for feature in own if feature.radius == least])
    for _ in range(20):
        turn, off = pin.exp3(rng.normal(size=3)), np.append(rng.uniform(-1.0, 1.0, 2), 0.0)
        gaps = hills.gaps(0.0, points @ turn.T + off, np.full(len(points), least))
        here = Place(turn, off - [0.0, 0.0, gaps.min() - rng.uniform(-2e-3, 4e-3)], np.eye(3), np.zeros(3))
        solids = np.tile([0, 1], (len(own), 1))
        R, o = np.array([here.R_a, here.R_b]), np.array([here.o_a, here.o_b])
        tables = [FlatsOnHills(kind, solids) for kind in (own, others)]
        np.testing.assert_allclose(tables[1].gaps(R, o), tables[0].gaps(R, o), rtol=SAME, atol=SAME)
        np.testing.assert_array_equal(tables[1].loose(R, o), tables[0].loose(R, o))
        for one, two in zip(own, others, strict=True):
            assert one.acts(here) == two.acts(here)
            assert one.lifted(here) == two.lifted(here)
            np.testing.assert_allclose(two.open_gap(here), one.open_gap(here), rtol=SAME, atol=SAME)
            if not one.acts(here):
                continue
            acted += 1
            first, second = one.search.held(here), two.search.held(here)
            touched += abs(first.distance - one.radius) < 1e-3
            np.testing.assert_allclose(second.distance, first.distance, rtol=SAME, atol=SAME)
            for name in ("way", "core", "normal", "hessian"):
                np.testing.assert_allclose(getattr(second, name), getattr(first, name), rtol=SOFT, atol=SOFT)
            for side in one.sides((0,)):
                np.testing.assert_allclose(two.margin(here, (0,), side), one.margin(here, (0,), side), atol=SOFT)
    assert acted > 7
    assert touched > 0


def dropped(seed: int) -> cs.State:
    rng = np.random.default_rng([seed, 11])
    axis, angle, place = rng.normal(size=3), rng.uniform(0.0, 3.0), rng.uniform(-1.0, 1.0, 2)
    q = [*place, 0.2, *np.sin(0.5 * angle) * axis / np.linalg.norm(axis), np.cos(0.5 * angle)]
    return cs.State(q, [*0.2 * rng.normal(size=3), *rng.normal(size=3)])


def body(kind: str, restitution: float) -> cs.Robot:
    if kind == "box":
        return cs.Robot.box(1.0, (0.12, 0.1, 0.06), friction=0.6, restitution=restitution)
    if kind in ("cylinder", "cone"):
        made = cs.Robot.cylinder if kind == "cylinder" else cs.Robot.cone
        return made(1.0, 0.05, 0.16, friction=0.6, restitution=restitution)
    corners = np.random.default_rng([1, 11]).uniform(-1.0, 1.0, (12, 3)) * [0.08, 0.06, 0.05]
    return cs.Robot.hull(1.0, corners, friction=0.6, restitution=restitution)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("kind", ["box", "hull", "cylinder", "cone"])
def test_motion_guards_and_looks_of_arcs_are_those_of_python(kind: str, ground: str) -> None:
    """In the arcs of a run, whose closed contacts are corners, edges, faces and rims, and a little off them."""
    compared, flats = 0, 0
    systems = [cs.ContactSystem(body(kind, 0.0), terrain=GROUNDS[ground]).on_engine(n) for n in ("native", "python")]
    seeds = (0, 1) if kind == "cone" else (1, 2)  # of the second one two points of the rim run into each other
    rng, arcs = np.random.default_rng(3), [cs.simulate(systems[0], dropped(seed), (0.0, 0.4)).arcs for seed in seeds]
    for arc in (*arcs[0], *arcs[1]):
        if arc.t1 - arc.t0 < 1e-6:
            continue
        t = 0.5 * (arc.t0 + arc.t1)
        x = systems[0].world.space.integrate(arc(t), 1e-7 * rng.normal(size=systems[0].world.tangent_size))
        flows = [system.flow(arc.mode).rebased(t, x) for system in systems]
        assert flows[0].cruise is not None
        assert flows[1].cruise is None
        names = [systems[0].world.mechanism.names[i] for i in arc.mode.closed]
        flats += sum("edge" in name or "rim" in name for name in names)
        one, two = (flow.motion(t, x) for flow in flows)
        beside = systems[0].world.space.integrate(x, ROUNDED * rng.normal(size=systems[0].world.tangent_size))
        turns = np.abs(flows[1].motion(t, beside).acceleration - two.acceleration).max()  # of a slip that has begun
        size = max(np.abs(two.acceleration).max(), 9.81)
        np.testing.assert_allclose(one.acceleration, two.acceleration, rtol=0.0, atol=MOTION * size + turns)
        np.testing.assert_allclose(one.rates, two.rates, rtol=0.0, atol=MOTION)
        values, others = (flow.guards(t, x) for flow in flows)
        np.testing.assert_allclose(values, others, rtol=MOTION, atol=MOTION * size)
        gaps = np.array([k for k, (what, _) in enumerate(flows[0].guard_names) if what == "gap"])
        looks, wanted = (flow.guard_motions(t, x, gaps) for flow in flows)
        np.testing.assert_allclose(looks.values, wanted.values, rtol=MOTION, atol=SAME)
        np.testing.assert_allclose(looks.rates, wanted.rates, rtol=MOTION, atol=MOTION)
        np.testing.assert_array_equal(looks.apart, wanted.apart)
        assert [piece is None for piece in looks.pieces] == [piece is None for piece in wanted.pieces]
        compared += len(values)
    assert compared > 100
    assert flats > 0 or (kind, ground) == ("hull", "field")  # whose humps are wide: it lies on its corners


@pytest.mark.slow
@pytest.mark.parametrize("ground", ["ridges", "field"])
def test_runs_are_those_of_python(ground: str) -> None:
    start, system = dropped(1), cs.ContactSystem(body("box", 0.3), terrain=GROUNDS[ground])
    one, two = (cs.simulate(system, start, (0.0, 0.35), engine=name) for name in ("python", "native"))
    assert [event.fired for event in one.all_events] == [event.fired for event in two.all_events]
    times = [[event.time for event in traj.all_events] for traj in (one, two)]
    np.testing.assert_allclose(times[1], times[0], rtol=0.0, atol=RUN)
    np.testing.assert_allclose(two.final_x, one.final_x, rtol=0.0, atol=RUN)
