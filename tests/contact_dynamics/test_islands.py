"""Equations of motion island by island: the motion is that of all contacts together."""

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact_dynamics import islands
from contactsim.contact_dynamics.contact_rows import ContactEvent
from contactsim.contact_dynamics.islands import islands_of
from contactsim.contact_dynamics.resolution import Resolution
from contactsim.contact_dynamics.resolver import Resolver


def bodies() -> tuple[cs.ContactSystem, cs.State]:
    """Two boxes on each other, a box that slides and spins, a ball that rolls, and one in flight."""
    box, ball = cs.Robot.box(0.5, (0.1, 0.12, 0.1), friction=0.4), cs.Robot.sphere(0.3, 0.05, friction=0.4)
    names = ["low", "high", "slides", "rolls", "flies"]
    world = cs.Robot.merge([box, box, box, ball, ball], names=names)
    places = [(0.0, 0.0, 0.05), (0.01, 0.02, 0.15), (0.4, 0.0, 0.05), (0.8, 0.0, 0.05), (1.2, 0.0, 0.2)]
    speeds = np.zeros((5, 6))
    speeds[2], speeds[3], speeds[4] = (0.5, 0.2, 0, 0, 0, 0.3), (0.5, 0, 0, 0, 10.0, 0), (0, 0, 0, 1.0, 2.0, 3.0)
    start = {
        name: (np.r_[place, 0.0, 0.0, 0.0, 1.0], speed)
        for name, place, speed in zip(names, places, speeds, strict=True)
    }
    return cs.ContactSystem(world), cs.State(*world.pack(start))


def test_islands_share_the_velocities_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(islands, "FEW", 0)
    system, state = bodies()
    run = cs.simulate(system, state, (0.0, 1e-3))
    closed = run.arcs[-1].mode.closed
    found = islands_of(system.world, system.world.mechanism.trees, closed)
    joints = [{system.world.mechanism.joints_of(i) for i in island.contacts} for island in found]
    assert [len(island.velocities) for island in found] == [12, 6, 6, 6]
    assert [len(of) > 0 for of in joints] == [True, True, True, False]
    np.testing.assert_array_equal(np.sort(np.concatenate([island.velocities for island in found])), range(30))
    assert sorted(i for island in found for i in island.contacts) == list(closed)


@pytest.mark.slow_in_python
@pytest.mark.parametrize("few", [0, 48])
def test_motion_is_that_of_all_together(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(islands, "FEW", few)
    runs = []
    for apart in (True, False):
        if not apart:
            monkeypatch.setattr(islands, "islands_of", lambda world, trees, closed: ())
        system, state = bodies()
        runs.append(cs.simulate(system, state, (0.0, 0.25)))
    one, other = runs
    assert one.status is other.status is cs.Status.FINISHED
    assert [event.transitions for event in one.events] == [event.transitions for event in other.events]
    assert len(one.events) > 1
    np.testing.assert_allclose([e.time for e in one.events], [e.time for e in other.events], rtol=0, atol=1e-9)
    np.testing.assert_allclose(one(0.25).q, other(0.25).q, rtol=0, atol=1e-9)
    for t in (0.05, 0.2):
        ours, theirs = one.forces(t), other.forces(t)
        for name, force in ours.items():
            np.testing.assert_allclose(force, theirs[name], rtol=0, atol=1e-6)


def fallen() -> tuple[cs.ContactSystem, cs.State]:
    """Two balls that fall on two others, which hop as another one does, that slides into rolling."""
    ball = cs.Robot.sphere(0.5, 0.05, friction=0.4, restitution=0.2)
    places = [(0.0, 0.0, 0.051), (0.01, 0.02, 0.16), (0.5, 0.0, 0.0512), (0.48, 0.01, 0.17), (1.0, 0.0, 0.0511)]
    names = [f"ball{k}" for k in range(5)]
    world = cs.Robot.merge([ball] * 5, names=names)
    start = {
        name: (np.r_[place, 0.0, 0.0, 0.0, 1.0], np.array([0.3 * (name == "ball4"), 0, 0, 0, 0, 0]))
        for name, place in zip(names, places, strict=True)
    }
    return cs.ContactSystem(world).on_engine("python"), cs.State(*world.pack(start))


def test_an_event_is_that_of_the_contacts_it_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Motion and derivative are those of all contacts resolved together; impacts hold contacts of one heap alone."""
    resolved, resolve, matrices, runs = list[int](), Resolution._impact, list[np.ndarray](), list[cs.Trajectory]()

    def counted(self, event, touch):  # type: ignore[no-untyped-def]
        if event.slowest is None:
            resolved.append(len(event.touching))
        return resolve(self, event, touch)

    monkeypatch.setattr(Resolution, "_impact", counted)
    largest = []
    for apart in (True, False):
        if not apart:
            monkeypatch.setattr(Resolver, "_concerned", lambda self, x, event: event)
        system, state = fallen()
        runs.append(cs.simulate(system, state, (0.0, 0.08), tolerances=cs.Tolerances(rtol=1e-10, atol=1e-12)))
        matrices.append(cs.linearize(runs[-1]).matrix())
        largest.append(max(resolved))
        resolved.clear()
    one, other = runs
    assert one.status is other.status is cs.Status.FINISHED
    assert largest[0] < largest[1]
    assert [event.fired for event in one.events] == [event.fired for event in other.events]
    for mine, theirs in zip(one.arcs, other.arcs, strict=True):
        assert [s.mode for s in mine.mode.contacts] == [s.mode for s in theirs.mode.contacts]
    assert len(one.events) > 5
    # Both round differently, which bounces amplify: 3e-12 s under one processor's kernels, at a tolerance of 1e-10.
    np.testing.assert_allclose([e.time for e in one.events], [e.time for e in other.events], rtol=0, atol=3e-11)
    np.testing.assert_allclose(one.final_x, other.final_x, rtol=0, atol=3e-11)
    of_hops = 1e-7 * np.abs(matrices[1]).max()  # derivatives miss hops too low to be followed by their duration
    np.testing.assert_allclose(matrices[0], matrices[1], rtol=0, atol=of_hops)


@pytest.mark.parametrize("engine", ["python", "native"])
def test_an_event_beside_redundant_contacts_is_that_of_its_own(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    """A ball hops beside a box on four corners, whose forces stay as they are: many."""
    if engine == "native":
        pytest.importorskip("contactsim_native._native")
    ball, box = (
        cs.Robot.sphere(0.5, 0.05, friction=0.4, restitution=0.5),
        cs.Robot.box(1.0, (0.2, 0.2, 0.1), friction=0.4),
    )
    world = cs.Robot.merge([box, ball], names=["box", "ball"])
    start = {"box": (np.r_[0, 0, 0.05, 0, 0, 0, 1.0], np.r_[0.5, 0.2, 0, 0, 0, 0.0])}
    start |= {"ball": (np.r_[1.0, 0, 0.06, 0, 0, 0, 1.0], np.r_[0.1, 0, 0, 0, 0, 0.0])}
    concerned, touching, runs = Resolver._concerned, list[int](), list[cs.Trajectory]()

    def counted(self: Resolver, x: np.ndarray, event: ContactEvent) -> ContactEvent:
        found = concerned(self, x, event)
        if event.mode.redundant and event.kinds and event.slowest is None:
            touching.append(len(found.touching))
        return found

    for own in (counted, lambda self, x, event: event):
        monkeypatch.setattr(Resolver, "_concerned", own)
        system = cs.ContactSystem(world).on_engine(engine)
        runs.append(cs.simulate(system, cs.State(*world.pack(start)), (0.0, 0.2)))
    one, other = runs
    assert one.status is other.status is cs.Status.FINISHED
    assert touching and touching[0] == 1
    assert [event.mode_post.redundant for event in one.events] == [event.mode_post.redundant for event in other.events]
    assert [event.fired for event in one.events] == [event.fired for event in other.events]
    np.testing.assert_allclose(one.final_x, other.final_x, rtol=0, atol=1e-9)
