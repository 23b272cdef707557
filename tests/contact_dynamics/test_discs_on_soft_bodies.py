"""Discs on other bodies under laws that give way: they land flat and tilted, slide, rock, tip over edges and rest."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import soft_shapes

import contactsim as cs
from contactsim.common import registry

Array = np.ndarray
RADIUS, HALF, TOP = 0.1, 0.1, 0.5  # m, of the drum, and height on which it lands
K, P = 1e6, 1.5  # of hunt-crossley by default
TIGHT = cs.Tolerances(1e-11, 1e-13)
LINEAR = 1e-5  # of derivatives against differences of runs, relative to the largest number
BALANCE = 1e-9  # of energy and momentum, relative
ENERGY = 1e-8  # J, of some 0.1 J
SUNK = 5e-3  # m, deepest that what lands with half a metre a second goes into what gives way
AWAY = np.array([0.0, 0.0, 5.0])  # m, from the ground


def bodies(base: str, body: str = "drum") -> list[cs.Robot]:
    """What lies below, with its top at the height z = 0 of its own axes plus TOP, and what lands on it."""
    lands = cs.Robot.cylinder(1.0, RADIUS, 2.0 * HALF, name="drum", friction=0.4)
    if body == "cone":
        lands = cs.Robot.cone(1.0, RADIUS, 2.0 * HALF, name="drum", friction=0.4)
    if base == "half_space":
        plane = cs.Robot.box(1.0, (0.1, 0.1, 0.1), name="base", root="fixed", friction=0.4)
        return [plane._with(_solids=(cs.Solid("base", "half_space", position=(0.0, 0.0, 0.1), friction=0.4),)), lands]
    if base == "cylinder":
        return [cs.Robot.cylinder(5.0, 0.15, 0.2, name="base", friction=0.4), lands]
    if base == "hull":
        angles = 2.0 * np.pi * np.arange(7) / 7
        corners = [(0.5 * np.cos(a), 0.5 * np.sin(a), z) for a in angles for z in (-0.1, 0.1)]
        return [cs.Robot.hull(5.0, corners, name="base", root="fixed", friction=0.4), lands]
    root = "free_flyer" if base == "free" else "fixed"
    return [cs.Robot.box(5.0, (1.0, 1.0, 0.2), name="base", root=root, friction=0.4), lands]


def scene(base: str, law: object, body: str = "drum", **given: object) -> cs.ContactSystem:
    """A base that is held with its top at TOP, or lies on the ground."""
    parts = bodies(base, body)
    held = (0.0, 0.0, TOP - 0.1) if base not in ("free", "cylinder") else None
    return cs.ContactSystem(cs.Robot.merge(parts, placements=[held, None]), law=law, **given)


def start(
    system: cs.ContactSystem, base: str, tilt: float, v: Array, aside: Array, towards: float = 0.7, above: float = 0.0
) -> cs.State:
    """A millimetre above the base, tilted about a level axis; one that is free is that far above the ground."""
    turn = pin.exp3(tilt * np.array([np.cos(towards), np.sin(towards), 0.0]))
    top = TOP if base not in ("free", "cylinder") else 0.2 + above
    place = [*aside, top + HALF + 1e-3 + RADIUS * tilt, *pin.Quaternion(turn).coeffs()]
    parts = {"drum": (place, np.r_[turn.T @ v[:3], v[3:]])}
    if base in ("free", "cylinder"):
        parts["base"] = ([0.0, 0.0, 0.1 + above, 0.0, 0.0, 0.0, 1.0], np.zeros(6))
    return cs.State(*system.robot.pack(parts))


def checked(run: cs.Trajectory) -> cs.Trajectory:
    """A run that comes to its end, whose energy and momentum balance, and in which nothing sinks through."""
    assert run.status is cs.Status.FINISHED, run.message
    report = run.check()
    assert report["energy balance [relative]"] < BALANCE
    assert report["momentum balance [relative]"] < BALANCE
    for q in run.sample(np.linspace(0.0, run.t[-1], 40)).q:
        assert run.system.world.mechanism.gaps(0.0, q).min() > -SUNK
    return run


LANDS = np.array([0.2, -0.1, -0.2, 0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("base", "law", "body", "tilt"),
    [
        pytest.param("fixed", "hunt-crossley", "drum", 0.0, marks=pytest.mark.slow_in_python),
        ("fixed", "spring-damper", "cone", 1e-3),
        ("free", "spring-damper", "drum", 0.03),
        pytest.param("half_space", "hunt-crossley", "drum", 1e-5, marks=pytest.mark.slow_in_python),
        pytest.param("cylinder", "spring-damper", "drum", 0.05, marks=pytest.mark.slow_in_python),
        pytest.param("hull", "spring-damper", "drum", 0.0, marks=pytest.mark.slow_in_python),
    ],
)
def test_discs_land_at_any_tilt(base: str, law: str, body: str, tilt: float) -> None:
    system = scene(base, law, body)
    run = checked(cs.simulate(system, start(system, base, tilt, LANDS, np.array([0.02, -0.03])), (0.0, 0.012)))
    assert run.events


@pytest.mark.slow
@pytest.mark.parametrize("body", ["drum", "cone"])
@pytest.mark.parametrize("base", ["fixed", "half_space"])
@pytest.mark.parametrize("seed", range(3))
def test_discs_slide_and_come_to_rest(base: str, body: str, seed: int) -> None:
    """One second, with any sideways speed, spin and tilt."""
    rng, system = np.random.default_rng(seed), scene(base, "spring-damper", body)
    v = np.r_[rng.uniform(-0.3, 0.3, 2), -0.1, rng.uniform(-0.3, 0.3, 3)]
    tilt, towards = rng.uniform(0.0, 0.1), rng.uniform(0.0, 2.0 * np.pi)
    run = checked(cs.simulate(system, start(system, base, tilt, v, rng.uniform(-0.1, 0.1, 2), towards), (0.0, 1.0)))
    assert np.abs(run.final.v).max() < 2e-3
    assert float(np.hypot(*pin.Quaternion(run.final.q[-4:]).matrix()[:2, 2])) < 2e-5


@pytest.mark.slow_in_python
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_forces_are_those_of_a_potential(seed: int) -> None:
    """Far from the ground, without weight, damping and friction, a drum rocks on a plate: both keep their energy."""
    rng, law = np.random.default_rng(seed), registry.load("contact_laws", "hunt-crossley")(damping=0.0)
    parts = [
        cs.Robot.box(2.0, (0.3, 0.3, 0.05), name="base", friction=0.0),
        cs.Robot.cylinder(1.0, RADIUS, 2.0 * HALF, name="drum", friction=0.0),
    ]
    system = cs.ContactSystem(cs.Robot.merge(parts), law=law, gravity=np.zeros(3))
    turn = pin.Quaternion(pin.exp3(np.array([3e-4, -2e-3, 0.0]))).coeffs()
    place = [*AWAY[:2] + rng.uniform(-0.02, 0.02, 2), AWAY[2] + 0.025 + HALF + 3e-4, *turn]
    q, v = system.robot.pack(
        {
            "base": ([*AWAY, 0.0, 0.0, 0.0, 1.0], np.zeros(6)),
            "drum": (place, np.r_[rng.uniform(-0.2, 0.2, 2), -0.1, rng.uniform(-0.2, 0.2, 3)]),
        }
    )
    run = cs.simulate(system, cs.State(q, v), (0.0, 0.012), tolerances=TIGHT)
    assert run.status is cs.Status.FINISHED, run.message
    mechanism = system.world.mechanism

    def energy(q: Array, v: Array) -> tuple[float, float]:
        depths = np.maximum(0.0, -mechanism.gaps(0.0, q))
        stored = float((K * depths ** (P + 1.0) / (P + 1.0)).sum())
        return system.energy(np.r_[q, v]) + stored, stored

    states = run.sample(np.linspace(0.0, 0.012, 121))
    found = np.array([energy(q, v) for q, v in zip(states.q, states.v, strict=True)])
    assert found[:, 1].max() > 1e-4
    assert np.abs(found[:, 0] - found[0, 0]).max() < ENERGY


@pytest.mark.slow_in_python
@pytest.mark.parametrize(("base", "tilt"), [("fixed", 1e-3), ("cylinder", 2e-2)])
def test_derivatives_of_a_landing(base: str, tilt: float) -> None:
    """Against differences of runs, along a direction of all coordinates."""
    system = scene(base, "spring-damper")
    state = start(system, base, tilt, LANDS, np.array([0.02, -0.03]), above=1e-3)  # where none touches yet
    x, space, end = system.pack(state), system.world.space, 0.008
    nq = len(state.q)

    def run(way: Array) -> cs.Trajectory:
        moved = space.integrate(x, way)
        return cs.simulate(system, cs.State(moved[:nq], moved[nq:]), (0.0, end), tolerances=TIGHT)

    size = 2 * len(state.v)
    middle = run(np.zeros(size))
    assert middle.events
    matrix = cs.linearize(middle).matrix()
    way, h = np.random.default_rng(0).normal(size=size), 1e-7
    ahead, behind = run(h * way).final_x, run(-h * way).final_x
    found = (space.difference(middle.final_x, ahead) - space.difference(middle.final_x, behind)) / (2.0 * h)
    assert np.abs(found - matrix @ way).max() < LINEAR * np.abs(matrix).max()


@pytest.mark.slow_in_python
@pytest.mark.parametrize(("seed", "end", "sides"), [(29, 0.0205, {"side1", "side2"}), (17, 0.0095, {"side1"})])
def test_derivatives_through_what_passes_from_rims_to_sides(seed: int, end: float, sides: set[str]) -> None:
    """A capsule and a coin on a drum on its side, whose forces go on as they are where features end."""
    system, state, _ = soft_shapes.scene(seed)
    state = cs.simulate(system, state, (0.0, 0.025)).final  # the body below begins to touch the ground as it starts
    x, space, nq = system.pack(state), system.world.space, len(state.q)

    def run(way: Array) -> cs.Trajectory:
        moved = space.integrate(x, way)
        return cs.simulate(system, cs.State(moved[:nq], moved[nq:]), (0.0, end), tolerances=TIGHT)

    size = 2 * len(state.v)
    middle = run(np.zeros(size))
    assert sides <= {str(name[0]) for event in middle.all_events for name in event.fired}
    matrix, way, h = cs.linearize(middle).matrix(), np.random.default_rng(0).normal(size=size), 1e-7
    rough, fine = (space.difference(run(-k * h * way).final_x, run(k * h * way).final_x) / (2 * k * h) for k in (2, 1))
    found = (4.0 * fine - rough) / 3.0
    assert np.abs(found - matrix @ way).max() < LINEAR * np.abs(matrix).max()


@pytest.mark.slow_in_python
def test_a_drum_tips_over_the_edge_of_a_box() -> None:
    """Its middle is beyond the edge: it turns about that, on its face, and falls."""
    system = scene("fixed", "spring-damper")
    state = start(system, "fixed", 0.0, np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), np.array([0.52, 0.0]))
    run = checked(cs.simulate(system, state, (0.0, 0.25)))
    axis = pin.Quaternion(run.final.q[-4:]).matrix()[:, 2]
    assert axis[0] > 0.2


def test_one_contact_of_each_rim_meets_all_of_a_body() -> None:
    """Others of rims and of polygons are those of rigid laws."""
    soft, rigid = (scene("fixed", law).world.mechanism.names for law in ("hunt-crossley", "coulomb"))
    assert [name for name in soft if "rim" in name] == ["drum/drum/rim0+base/base", "drum/drum/rim1+base/base"]
    assert sum("rim" in name for name in rigid) == 2 * (6 + 12)
