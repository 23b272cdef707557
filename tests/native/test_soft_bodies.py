"""Bodies on bodies under laws that give way, in C++ against Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
import pytest
import soft_shapes

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, Phase, SystemMode
from contactsim.contact_dynamics.compliant_flow import CompliantFlow
from contactsim.contact_dynamics.world import World
from contactsim.errors import SingularError

from . import test_polyhedra, test_rounds_on_bodies

pytest.importorskip("contactsim_native")

FIELD = 1e-9  # relative to the largest number of its kind: forces are stiffnesses of 1e6 times gaps that are rounded
DERIVATIVE = 1e-7  # the same of derivatives, of rims that are as flat as 1e-4 of their radius
FAR = 0.01  # m, beyond which a gap may be any lower bound
DEEPER = 2e-4  # m, that bodies which just touch are moved into each other
TIME, RUN = 1e-7, 1e-6  # s, and of states, of two runs whose steps differ
MATRIX = 1e-5  # of their derivatives, relative to the largest entry
CHECK = 1e-8  # of what their checks say, relative
Array = np.ndarray
WORLDS = {**test_polyhedra.WORLDS, **test_rounds_on_bodies.WORLDS}
del WORLDS["hull on legs"]


def off(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(found - expected).max(initial=0.0) / np.abs(expected).max(initial=1.0))


def mode_at(rng: np.random.Generator, world: World, q: Array) -> SystemMode:
    """What is inside touches, some of it is released; what is held in its region there is in that."""
    released, mechanism = ContactState(Mode.OPEN, Phase.RELEASED), world.mechanism

    def closed(i: int) -> ContactState:
        return ContactState(Mode.CLOSED, region=mechanism.region(q, i) if i in mechanism.holding else ())

    def state(i: int, inside: bool) -> ContactState:
        if not inside:
            return ContactState()
        return released if int(rng.integers(3)) == 2 else closed(i)

    return SystemMode(tuple(state(i, gap < 0.0) for i, gap in enumerate(mechanism.gaps(0.0, q).tolist())))


def compare(system: cs.ContactSystem, mode: SystemMode, x: Array) -> None:
    """Accelerations, guards, looks at gaps, and derivatives of a mode."""
    one, other = (CompliantFlow(system.on_engine(name).world, mode) for name in ("native", "python"))
    nv, none = one._world.nv, one.slip_directions
    arc, watch = one._compiled
    assert arc is not None and watch is not None
    motion = arc.motion(0.0, x, none, 0.0)
    assert motion is not None
    assert off(motion.acceleration, other.field(0.0, x)[nv:]) < FIELD
    found, expected = watch.guards(0.0, x, none, 0.0), other.guards(0.0, x)
    far = np.array([kind == "gap" for kind, _ in other.guard_names]) & (expected > FAR)
    assert off(found[~far], expected[~far]) < FIELD
    assert (found[far] > 0.5 * FAR).all()
    told = arc.driven_derivatives(0.0, x, none, 0.0)
    assert told is not None
    assert off(told[0], other.jacobian(0.0, x)[nv:]) < DERIVATIVE


def touching(system: cs.ContactSystem, rng: np.random.Generator, tries: int) -> Iterator[Array]:
    """Configurations in which the bodies are a little inside each other, turned at random."""
    world = system.on_engine("python").world
    for _ in range(tries):
        q = test_polyhedra.touching(rng, world, np.array(system.robot.nominal))
        if len(q):
            place = slice(len(q) - 7, len(q) - 4)
            middle = np.array([0.1, 0.2, 2.0]) if len(q) == 7 else q[:3]
            way = middle - q[place]
            q[place] += DEEPER * way / np.linalg.norm(way)
            yield q


@pytest.mark.parametrize("law", ["spring-damper", "hunt-crossley"])
@pytest.mark.parametrize("name", WORLDS)
def test_motion_guards_and_derivatives_are_those_of_python(name: str, law: str) -> None:
    """Wherever they touch."""
    system, rng, count = cs.ContactSystem(WORLDS[name](), law=law), np.random.default_rng(5), 0
    for q in touching(system, rng, 10):
        mode = mode_at(rng, system.world, q)
        if mode.closed:
            compare(system, mode, np.concatenate([q, 0.3 * rng.normal(size=system.world.nv)]))
            count += 1
    assert count > 4


@pytest.mark.parametrize("seed", range(30))
def test_discs_that_lie_nearly_flat_are_those_of_python(seed: int) -> None:
    """At tilts from none up to a tenth, and in the middle of a body as well as at its edge."""
    system, state, _ = soft_shapes.scene(seed)
    rng, world = np.random.default_rng(seed), system.on_engine("python").world
    for tilt in (0.0, 1e-6, 1e-4, 1e-2):
        step = np.zeros(world.nv)
        step[-6:-3], step[-3:] = 0.15 * rng.uniform(-1.0, 1.0, 3) * (1.0, 1.0, 0.0), tilt * rng.normal(size=3)
        q = np.array(state.q)
        turn = pin.Quaternion(q[-4:]).matrix()
        level = turn @ soft_shapes.landing(soft_shapes.LANDINGS[seed % 5]).turn.T
        q[-4:] = pin.Quaternion(level.T @ turn).coeffs()
        q = world.mechanism.space.integrate(q, step)
        gaps = world.mechanism.gaps(0.0, q)[test_polyhedra.pairs_of(world.mechanism)]
        q[-5] -= gaps.min() + DEEPER
        mode = mode_at(rng, world, q)
        if mode.closed:
            compare(system, mode, np.concatenate([q, 0.3 * rng.normal(size=world.nv)]))


@pytest.mark.parametrize("seed", [10, 11, 29])
def test_regions_margins_and_derivatives_of_rounds_are_those_of_python(seed: int) -> None:
    """A drum on a drum, a cone on a drum on its side and a capsule on one: held in the region, and in all beside it."""
    system, state, _ = soft_shapes.scene(seed)
    rng, world, count = np.random.default_rng(seed), system.on_engine("python").world, 0
    (whole,) = world.mechanism.holding
    for _ in range(3):
        step = np.zeros(world.nv)
        step[-6:-3], step[-3:] = 0.1 * rng.uniform(-1.0, 1.0, 3) * (1.0, 1.0, 0.0), 0.3 * rng.normal(size=3)
        q = world.mechanism.space.integrate(np.array(state.q), step)
        for _ in range(60):
            q[-5] -= world.mechanism.gaps_of(0.0, q, np.array([whole]))[0] + DEEPER
        mode, own = mode_at(rng, world, q), world.mechanism.region(q, whole)
        (i, j), x = divmod(own[0] - 1, 3), np.concatenate([q, 0.3 * rng.normal(size=world.nv)])
        for region in (own, (1 + 3 * i + 2,), (1 + 3 * 2 + j,)):
            try:
                gap = float(world.mechanism.within({whole: region}).gaps_of(0.0, q, np.array([whole]))[0])
            except SingularError:
                continue
            if gap < 0.0:
                compare(system, mode.changed({whole: ContactState(Mode.CLOSED, region=region)}), x)
                count += 1
    assert count > 3


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (4, 15))])
def test_runs_events_and_derivatives_are_those_of_python(seed: int) -> None:
    """A drum on a plate, a capsule on a drum, a drum on a hull; what the check says of them, too."""
    system, state, _ = soft_shapes.scene(seed)
    one, other = (cs.simulate(system, state, (0.0, 0.03), engine=engine) for engine in ("native", "python"))
    assert one.status is other.status is cs.Status.FINISHED and one.events
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    assert max(abs(a.time - b.time) for a, b in zip(one.all_events, other.all_events, strict=True)) < TIME
    assert off(one.final_x, other.final_x) < RUN
    assert off(*(cs.linearize(run).matrix() for run in (one, other))) < MATRIX
    for law, value in one.check().items():
        assert abs(value - other.check()[law]) < CHECK
