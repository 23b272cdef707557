"""Fields of rigid modes by parameters, analytically, against differences of the fields themselves."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs
from contactsim.derivatives.event_linearization import Parameters
from contactsim.hybrid.differences import derivative

SAME = 1e-7  # relative to the largest entry: fourth-order differences
TIMES = (0.0, 0.05, 0.1)


def sliding() -> tuple[cs.ContactSystem, cs.Trajectory]:
    """The biped under PD, thrown forwards: a foot slips."""
    robot = cs.load_robot("biped")
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=30.0, kd=1.0))
    system = system.with_parameter("contact.friction", 0.2)
    start = system.project(cs.State(robot.nominal, np.full(robot.nv, 0.8)), {"left": cs.Mode.SLIP})
    return system, cs.simulate(system, start, (0.0, 0.1), mode={"left": cs.Mode.SLIP})


@pytest.mark.parametrize(
    "name",
    [
        "contact.friction",
        "contact.left.restitution",
        "gravity",
        "controller.kp",
        "controller.kd_scale",
        "mass",
        "inertia",
    ],
)
def test_the_field_by_a_parameter(name: str) -> None:
    system, run = sliding()
    assert run.mode_at(0.0)["left"] is cs.Mode.SLIP
    body = next(iter(system.robot.bodies))
    name = {"mass": f"body.{body}.mass", "inertia": f"body.{body}.inertia_scale"}.get(name, name)
    for t in TIMES[:-1]:
        arc = run.arc_at(t)
        x = arc(t)
        flow = system.flow(arc.mode).rebased(t, x)

        def field(other: cs.ContactSystem, t=t, x=x, mode=arc.mode) -> np.ndarray:
            return other.flow(mode).rebased(t, x).field(t, x)

        known = system.field_by_parameters(flow, t, x, (name,))[name]
        expected = Parameters((name,)).derivative(system, field)[:, 0]
        assert np.abs(known - expected).max() <= SAME * max(1.0, np.abs(expected).max())


def test_ground_acts_where_something_touches_it() -> None:
    robot = cs.load_robot("biped")
    system = cs.ContactSystem(robot, terrain=cs.terrain.Slope(angle=0.1))
    x = system.pack(cs.State(robot.nominal + 0.5, np.zeros(robot.nv)))
    flow = system.flow(system.start(0.0, x).mode).rebased(0.0, x)
    names = ("terrain.angle", "contact.left.restitution")
    known = system.field_by_parameters(flow, 0.0, x, names)
    assert set(known) == set(names) and not any(column.any() for column in known.values())
    gap = ("gap", system.mechanism.names.index("left"))
    found = system.guard_by_parameters(flow, 0.0, x, gap, names)
    ends = [
        system.with_parameter("terrain.angle", 0.1 + h).mechanism.gaps(0.0, system.q(x))[gap[1]] for h in (1e-5, -1e-5)
    ]
    assert abs(found["terrain.angle"] - (ends[0] - ends[1]) / 2e-5) < 1e-9
    assert found["contact.left.restitution"] == 0.0


def test_all_parameters_in_one_pass() -> None:
    system, run = sliding()
    lin = cs.linearize(run)
    names = ["contact.friction", "gravity", "controller.kp"]
    found = lin.parameters(names, TIMES)
    assert found.shape == (3, 2 * system.nv, 3)
    assert not found[0].any()
    for k, name in enumerate(names):
        assert np.abs(found[-1, :, k] - lin.parameter(name)).max() < 1e-6 * max(1.0, np.abs(found[-1, :, k]).max())
    assert np.abs(lin.parameters(names)[0] - found[-1]).max() < 1e-6 * np.abs(found[-1]).max()
    ends, x0 = [], run.arcs[0](0.0)
    for h in (1e-5, -1e-5):
        other = system.with_parameter("gravity", 9.81 + h)
        ends.append(cs.simulate(other, system.state(x0), (0.0, 0.1), mode={"left": cs.Mode.SLIP}).final_x)
    difference = system.space().difference(ends[1], ends[0]) / 2e-5
    assert np.abs(difference - found[-1, :, 1]).max() < 1e-5
    with pytest.raises(cs.InputError, match="the times of parameters fall"):
        lin.parameters(names, [0.1, 0.0])
    with pytest.raises(cs.InputError, match="give names of parameters"):
        lin.parameters("gravity")
    with pytest.raises(cs.InputError, match="no parameter"):
        lin.parameters(["viscosity"])


def test_margins_of_forces_change_along_a_run_as_their_derivatives_say() -> None:
    """By state and time together, where the reference of a controller moves: feet of the hexapod that hardly press.

    Their cones are so narrow that differences by time alone would leave them.
    """
    scene = cs.load_scene("hexapod")
    run = cs.simulate(scene.system, scene.state, (0.0, 0.8672), **scene.options)
    compared = 0
    for arc, event in ((arc, arc.event) for arc in run.arcs if arc.event is not None and arc.t1 > arc.t0):
        flow = event.system.flow(arc.mode).rebased(arc.t1, event.x_pre)
        for name in (name for name in event.fired if name[0] in ("force", "cone")):
            (by_state,) = flow.guard_jacobian(arc.t1, event.x_pre, (name,))
            by_time = flow.guard_by_time(arc.t1, event.x_pre, name)
            assert by_time
            k, back = flow.guard_names.index(name), min(1e-6, 0.02 * (arc.t1 - arc.segments[-1].t0))
            before = [flow.guards(arc.t1 - n * back, arc(arc.t1 - n * back))[k] for n in range(3)]
            along = np.dot([1.5, -2.0, 0.5], before) / back
            assert by_time + by_state @ flow.field(arc.t1, event.x_pre) == pytest.approx(along, rel=1e-3)
            compared += 1
    assert compared >= 5


def test_forces_change_by_time_as_they_do_where_feet_press() -> None:
    robot = cs.load_robot("solo12")
    q = robot.nominal.copy()
    q[2] -= robot.contact_positions(q)[:, 2].min()
    moving = cs.PD(robot, lambda t: robot.nominal + 0.05 * np.sin(9.0 * t) * (np.arange(robot.nq) > 6), 3.0, 0.05)
    system = cs.ContactSystem(robot, controller=moving)
    feet = [contact.name for contact in robot.contacts]
    start = system.project(cs.State(q, np.zeros(robot.nv)), dict.fromkeys(feet, cs.Mode.STICK))
    t, x = 0.2, system.pack(start)
    mode = system.restart(t, x, dict.fromkeys(feet, cs.Mode.STICK)).mode
    flow = system.flow(mode).rebased(t, x)
    margins = [name for name in flow.guard_names if name[0] in ("force", "cone")]
    assert {kind for kind, _ in margins} == {"force", "cone"}
    expected = derivative(lambda h: flow.guards(t + h, x), 1e-4)
    for name in margins:
        found = flow.guard_by_time(t, x, name)
        assert found == pytest.approx(expected[flow.guard_names.index(name)], abs=SAME * np.abs(expected).max())
    assert flow.guard_by_time(t, x, next(name for name in flow.guard_names if name[0] == "gap")) is None


@pytest.mark.parametrize("push", [(10.0, 0.0), (1.0, 12.0)], ids=["to the side", "upwards"])
def test_margins_follow_a_force_of_the_mechanism_itself_that_grows_with_time(push: tuple[float, float]) -> None:
    """A mass on a spring that friction holds breaks away from a growing force: the saltation in closed form."""
    mass, spring, weight, static, friction = 2.0, 3.0, 2.0 * 9.81, 0.5, 0.3
    gap = cs.Gap(
        lambda t, q: q[1],
        lambda t, q: [0.0, 1.0],
        lambda t, q: [[1.0, 0.0]],
        name="block",
        friction=friction,
        static_friction=static,
    )
    mechanism = cs.Mechanism(
        2,
        lambda q: mass * np.eye(2),
        lambda t, q, v: np.array([push[0] * t - spring * q[0], push[1] * t - weight]),
        [gap],
    )
    system = cs.ContactSystem(mechanism)
    trajectory = cs.simulate(system, cs.State([0.1, 0.0], [0.0, 0.0]), (0.0, 1.5))
    pull = push[0] + static * push[1]  # of push_x t - spring x = static (weight - push_y t), by time
    time = (static * weight + spring * 0.1) / pull
    assert [event.time for event in trajectory.events] == pytest.approx([time], abs=1e-9)
    event = cs.linearize(trajectory).events[0]
    jump = (static - friction) * (weight - push[1] * time) / mass
    assert event.saltation[2] == pytest.approx([-jump * spring / pull, 0.0, 1.0, 0.0], abs=1e-8)
