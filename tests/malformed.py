"""Malformed arguments: valid calls of what is public, and for each argument by its kind what it is not."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from builders import point_mass

import contactsim as cs

LONGEST = 5.0  # s, of a call that is refused
FAR = 10**400  # a whole number that is no float


class Thing:
    """Nothing that anybody asked for."""


def wrong_numbers() -> list[Any]:
    masked = np.ma.masked_array([1.0], mask=[True])
    return [None, "1e-8", "x", b"1", True, 1.0 + 2.0j, np.nan, [1.0], {}, masked, np.ones(2), Thing(), FAR]


def wrong_arrays() -> list[Any]:
    masked = np.ma.masked_array(np.ones(3), mask=[True, False, False])
    odd = [np.ones(3) * 1j, masked, np.ones(3, dtype=bool), np.array(["a", "b", "c"]), np.full(3, np.nan)]
    return [None, "abc", ["a", "b", "c"], Thing(), {}, [[1.0], [1.0, 2.0]], np.ones((2, 3, 4)), [None] * 3, *odd]


NO_OBJECT: list[Any] = [None, 3, 1.5, "nothing of this name", b"", Thing(), {}]
WRONG: Mapping[str, Callable[[], list[Any]]] = {
    "number": lambda: [*wrong_numbers(), np.inf],
    "positive": lambda: [*wrong_numbers(), np.inf, 0.0, -1.0],
    "span": lambda: [*wrong_numbers(), 0.0, -1.0],  # a positive number, or infinity
    "not negative": lambda: [*wrong_numbers(), np.inf, -1.0],
    "share": lambda: [*wrong_numbers(), np.inf, -0.1, 1.1],
    "count": lambda: [None, "3", True, 1.5, 0, -1, np.nan, [1], Thing(), 1j],
    "index": lambda: [None, "3", True, 1.5, -1, np.nan, [1], Thing(), 1j],
    "speed": lambda: [*wrong_numbers(), 0.0, -1.0],
    "key": lambda: [None, "", [], {}],
    "list": lambda: [*NO_OBJECT, ["x"], [Thing()]],
    "part": lambda: (
        [*wrong_arrays()[:5], np.ones(3) * 1j, np.ones(3, dtype=bool), np.ma.masked_array(np.ones(3), mask=True)]
    ),
    "flag": lambda: [None, "yes", 1, 0.0, [], Thing(), np.ones(2)],
    "name": lambda: [None, 3, 1.5, b"x", "", [], {}, Thing(), "nothing of this name"],
    "any name": lambda: [None, 3, 1.5, b"x", "", [], {}, Thing()],  # looked up later
    "new name": lambda: [None, 3, 1.5, b"x", [], {}, Thing()],
    "path": lambda: [None, 3, 1.5, b"x", "", [], {}, Thing(), "a\0b", "nowhere/at/all.nc"],
    "array": wrong_arrays,
    "function": lambda: [None, 3, "f", [], np.ones(3), Thing()],
    "object": lambda: [*NO_OBJECT, []],
    "objects": lambda: [*NO_OBJECT, ["x"], [None], [Thing()]],
    "system": lambda: [*NO_OBJECT, [], robot(), cs.ContactSystem],
}


@cache
def robot() -> cs.Robot:
    return point_mass(friction=0.3)


@cache
def ball() -> cs.Robot:
    return cs.Robot.sphere(1.0, 0.1)


@cache
def system() -> cs.ContactSystem:
    return cs.ContactSystem(robot())


@cache
def two() -> cs.ContactSystem:
    return cs.ContactSystem(cs.Robot.merge([ball(), ball()], ["one", "two"]))


def state_of_two() -> cs.State:
    return cs.State([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], np.zeros(12))


def state() -> cs.State:
    return cs.State([0.0, 0.0, 1.0], np.zeros(3))


def simulation() -> cs.Simulation:
    return cs.Simulation(system(), state())


@cache
def run() -> cs.Trajectory:
    return cs.simulate(system(), state(), (0.0, 0.05))


@cache
def lin() -> cs.Linearization:
    return cs.linearize(run())


@dataclass(frozen=True)
class Call:
    """A call that works, and the kinds of its arguments; a "?" before a kind says that None is one of its values."""

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, tuple[Any, str]]

    def given(self) -> dict[str, Any]:
        return {name: value for name, (value, _) in self.arguments.items()}

    def wrong(self) -> Iterator[tuple[str, Any]]:
        for name, (_, kind) in self.arguments.items():
            for value in WRONG[kind.removeprefix("?")]():
                if not (value is None and kind.startswith("?")):
                    yield name, value


def of_object(make: Callable[[], Any], method: str, /, **arguments: tuple[Any, str]) -> Call:
    """A method, each time of a new object."""
    name = f"{make.__name__}().{method}"
    return Call(name, lambda **given: getattr(make(), method)(**given), arguments)


def of(function: Callable[..., Any], /, **arguments: tuple[Any, str]) -> Call:
    unknown = set(arguments) - set(inspect.signature(function).parameters)
    keywords = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())
    assert keywords or not unknown, (function, unknown)
    return Call(getattr(function, "__qualname__", str(function)), function, arguments)


def at_zero(t: float, x: np.ndarray) -> float:
    return float(x[0])


def no_force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.zeros(len(v))


COEFFICIENTS: dict[str, tuple[Any, str]] = {
    "friction": (0.5, "not negative"),
    "static_friction": (0.6, "?not negative"),
    "restitution": (0.2, "share"),
}
OWN = {name: (value, f"?{kind.removeprefix('?')}") for name, (value, kind) in COEFFICIENTS.items()}
RUN: dict[str, tuple[Any, str]] = {
    "integrator": ("DOP853", "?name"),
    "tolerances": (cs.Tolerances(), "?object"),
    "record_period": (0.01, "?positive"),
    "max_events": (100, "count"),
    "accumulation": ("pass", "name"),
}


def world() -> list[Call]:
    """Robots, contacts and grounds."""
    name = next(iter(ball().bodies))
    terrain, gap = cs.terrain, lambda t, q: q[0]
    normal = lambda t, q: np.eye(1)[0]  # noqa: E731
    where = {"velocity": ([0.1, 0.0], "array")}
    return [
        of(
            cs.ContactPoint,
            frame=("foot", "any name"),
            offset=([0, 0, 0.0], "array"),
            radius=(0.1, "not negative"),
            name=("toe", "new name"),
            enabled=(no_force, "?function"),
            **COEFFICIENTS,
        ),
        of(cs.ContactPair, first=("a", "any name"), second=("b", "any name"), enabled=(no_force, "?function"), **OWN),
        of(
            cs.Solid,
            frame=("a", "any name"),
            kind=("box", "name"),
            size=((1.0, 1.0, 1.0), "array"),
            position=((0.0, 0.0, 0.0), "array"),
            quaternion=((0.0, 0.0, 0.0, 1.0), "array"),
            name=("brick", "new name"),
            **OWN,
        ),
        of(
            cs.Gap,
            gap=(gap, "function"),
            normal=(normal, "function"),
            tangent=(lambda t, q: np.zeros((1, 1)), "?function"),
            enabled=(no_force, "?function"),
            bias=(no_force, "?function"),
            name=("beak", "new name"),
            **COEFFICIENTS,
        ),
        of(
            cs.Mechanism,
            n=(1, "count"),
            mass=(lambda q: np.eye(1), "function"),
            force=(no_force, "function"),
            contacts=([cs.Gap(gap, normal)], "objects"),
            potential=(lambda q: 0.0, "?function"),
        ),
        of(
            cs.LoopClosure,
            frame_a=("a", "any name"),
            frame_b=("b", "any name"),
            offset_a=((0.0, 0.0, 0.0), "array"),
            rotation_b=((0.0, 0.0, 0.0), "array"),
            kind=("hinge", "name"),
            name=("closure", "new name"),
        ),
        of(
            cs.JointCoupling,
            joints=(["a", "b"], "objects"),
            factors=([1.0, -1.0], "objects"),
            value=(0.0, "number"),
            name=("gear", "new name"),
        ),
        of(
            cs.Robot.sphere,
            mass=(1.0, "positive"),
            radius=(0.1, "positive"),
            name=("ball", "new name"),
            root=("free_flyer", "name"),
            inertia=(0.4, "positive"),
            **COEFFICIENTS,
        ),
        of(
            cs.Robot.box,
            mass=(1.0, "positive"),
            size=((0.1, 0.1, 0.1), "array"),
            name=("box", "new name"),
            root=("free_flyer", "name"),
            **COEFFICIENTS,
        ),
        of(
            cs.Robot,
            model=(ball().model, "object"),
            contacts=([], "objects"),
            nominal=(ball().nominal, "?array"),
            name=("ball", "new name"),
            loops=((), "objects"),
        ),
        of(
            cs.Robot.merge,
            robots=([ball(), robot()], "objects"),
            names=(["a", "b"], "?objects"),
            pairs=("auto", "objects"),
            placements=([(0, 0, 0), (1, 0, 0)], "?objects"),
        ),
        of_object(ball, "with_armature", armature=(0.1, "not negative")),
        of_object(ball, "with_contacts", contacts=([], "objects")),
        of_object(ball, "with_pairs", pairs=([], "objects")),
        of_object(ball, "with_body_parameter", body=(name, "name"), kind=("mass", "name"), value=(2.0, "positive")),
        of_object(ball, "body_parameter", body=(name, "name"), kind=("mass", "name")),
        of_object(ball, "contact_positions", q=(ball().nominal, "array")),
        of_object(ball, "mark_positions", q=(ball().nominal, "array")),
        of_object(
            ball,
            "point_position",
            frame=(ball().contacts[0].frame, "name"),
            q=(ball().nominal, "array"),
            point=((0.0, 0.0, 0.0), "array"),
        ),
        of_object(ball, "frame_id", name=(ball().contacts[0].frame, "name")),
        of_object(ball, "joint_index", name=(ball().model.names[1], "name")),
        of(terrain.Flat, height=(0.0, "number"), **where),
        of(terrain.Slope, angle=(0.1, "number"), downhill=([1.0, 0.0], "array")),
        of(terrain.Sinusoid, a1=(0.1, "number"), a2=(1.0, "number"), a3=(0.0, "number"), **where),
        of(
            terrain.HeightField,
            x=(np.arange(5.0), "array"),
            y=(np.arange(4.0), "array"),
            heights=(np.zeros((5, 4)), "array"),
            **where,
        ),
        of(
            terrain.Function,
            height=(lambda t, x, y: 0.0, "function"),
            gradient=(lambda t, x, y: (0.0, 0.0), "?function"),
            hessian=(lambda t, x, y: np.zeros((2, 2)), "?function"),
            curvature=(1.0, "not negative"),
            moving=(False, "flag"),
            **where,
        ),
        of(
            terrain.Oscillation,
            amplitude=((0.0, 0.0, 0.1), "array"),
            frequency=(1.0, "positive"),
            phase=(0.0, "number"),
        ),
        of(
            terrain.Moving,
            ground=(terrain.Flat(), "object"),
            motion=(terrain.Oscillation((0, 0, 0.1), 1.0), "function"),
        ),
        of(cs.load_robot, name=("hexapod", "name")),
    ]


def motion() -> list[Call]:
    """Systems, controllers and runs."""
    hold = {"robot": (robot(), "object"), "reference": (robot().nominal, "?array"), "period": (0.1, "?positive")}
    return [
        of(
            cs.ContactSystem,
            robot=(robot(), "object"),
            terrain=(cs.terrain.Flat(), "?object"),
            law=("coulomb", "name"),
            controller=(no_force, "?function"),
            gravity=((0, 0, -9.81), "?array"),
            joint_limits=(True, "flag"),
            loops=((), "objects"),
            tolerances=(cs.Tolerances(), "?object"),
        ),
        of(cs.PD, kp=(1.0, "not negative"), kd=(1.0, "not negative"), **hold),
        of(
            cs.PiecewiseReference,
            knots=([0.0, 1.0], "array"),
            coefficients=(np.zeros((1, 2, 3)), "array"),
            nq=(1, "index"),
        ),
        of(
            cs.PiecewiseReference.fit,
            reference=(lambda t: (np.zeros(3), np.zeros(3), np.zeros(3)), "function"),
            breaks=([0.0, 1.0], "array"),
            repeat=(0.0, "?number"),
            accuracy=(1e-9, "positive"),
        ),
        of(
            cs.PiecewiseReference.through,
            robot=(robot(), "object"),
            times=([0.0, 1.0], "array"),
            q=(np.zeros((2, 3)), "array"),
            repeat=(False, "flag"),
        ),
        of(cs.Sampled, function=(no_force, "function"), period=(0.1, "positive"), nv=(3, "count")),
        of(cs.State, q=([0.0] * 3, "part"), v=([0.0] * 3, "part"), z=([0.0] * 3, "part")),
        of(cs.Euclidean, dim=(3, "index")),
        of(
            cs.Tolerances,
            **{name: (0.1 * value, "positive") for name, value in vars(cs.Tolerances()).items() if name != "max_step"},
            max_step=(0.1, "span"),
        ),
        of(
            cs.simulate,
            system=(system(), "system"),
            state=(state(), "array"),
            span=((0.0, 0.01), "array"),
            progress=(False, "flag"),
            **RUN,
        ),
        of(
            cs.simulate_groups,
            system=(two(), "object"),
            state=(state_of_two(), "array"),
            span=((0.0, 0.01), "array"),
            progress=(None, "?function"),
            **{name: given for name, given in RUN.items() if name != "mode"},
        ),
        of(cs.Simulation, system=(system(), "system"), state=(state(), "array"), t0=(0.0, "number"), **RUN),
        of(cs.Simulation.resume, trajectory=(run(), "object")),
        of_object(simulation, "advance", duration=(0.01, "positive"), progress=(None, "?function")),
        of_object(simulation, "advance_to", t=(0.01, "number"), progress=(None, "?function")),
        of_object(simulation, "arc_at", t=(0.0, "number")),
        of_object(simulation, "set", name=("contact.friction", "name"), value=(0.1, "number")),
        of_object(simulation, "set_accuracy", rtol=(1e-6, "positive"), atol=(1e-6, "positive")),
        of_object(
            simulation,
            "push",
            frame=(robot().contacts[0].frame, "name"),
            force=((1.0, 0, 0), "array"),
            duration=(0.1, "positive"),
            point=((0, 0, 0.0), "array"),
        ),
        of_object(simulation, "anew", system=(system(), "system"), state=(state(), "array"), t0=(0.0, "number")),
        of_object(system, "with_parameter", name=("contact.friction", "name"), value=(0.1, "number")),
        of_object(system, "parameter", name=("contact.friction", "name")),
        of_object(system, "parameter_scale", name=("contact.friction", "name")),
        of_object(system, "with_law", law=("frictionless", "name")),
        of_object(system, "close", q=(np.zeros(3), "array"), v=(np.zeros(3), "?array")),
        of_object(system, "pack", state=(state(), "array")),
        of_object(system, "admissible", state=(state(), "array")),
        of_object(
            system,
            "with_push",
            frame=(robot().contacts[0].frame, "name"),
            force=((1.0, 0, 0), "array"),
            end=(0.1, "number"),
            point=((0, 0, 0.0), "array"),
        ),
        of_object(
            system,
            "with_coefficients",
            friction=([0.1], "array"),
            static_friction=([0.1], "array"),
            restitution=([0.1], "array"),
        ),
        of(cs.Actuators, robot=(None, "object")),
        of(cs.Filippov, system=(system(), "system")),
        of(cs.Session, simulation=(simulation(), "object"), speed=(1.0, "speed"), title=("run", "new name")),
    ]


def shapes() -> list[Call]:
    """Surfaces that touch, latches, and free bodies of every shape."""
    point: dict[str, tuple[Any, str]] = {
        "frame": ("foot", "any name"),
        "offset": ((0.0, 0.0, 0.0), "array"),
        "radius": (0.0, "not negative"),
        "name": ("toe", "new name"),
        "enabled": (no_force, "?function"),
        "rolling": (0.001, "not negative"),
        "torsion": (0.001, "not negative"),
        "friction_axis": ((1.0, 0.0, 0.0), "array"),
        "stribeck": (0.1, "not negative"),
        "static_friction": (0.9, "?not negative"),
        "restitution": (0.2, "share"),
    }
    body = {"mass": (1.0, "positive"), "name": ("body", "new name"), "root": ("free_flyer", "name"), **COEFFICIENTS}
    long = {"radius": (0.1, "positive"), "length": (0.3, "positive")}
    return [
        of(
            cs.ContactEllipsoid,
            radii=((0.1, 0.1, 0.2), "array"),
            quaternion=((0.0, 0.0, 0.0, 1.0), "array"),
            **point,
        ),
        of(cs.ContactRim, axis=((0.0, 0.0, 1.0), "array"), rim=(0.1, "positive"), angle=(0.1, "?number"), **point),
        of(cs.Robot.capsule, **body, **long),
        of(cs.Robot.cylinder, **body, **long),
        of(cs.Robot.ellipsoid, radii=((0.1, 0.1, 0.2), "array"), **body),
        of(cs.Robot.hull, vertices=(np.vstack([np.zeros(3), np.eye(3)]), "array"), **body),
        of(
            cs.Latch,
            joint=("knee", "any name"),
            value=(0.0, "number"),
            offset_a=((0.0, 0.0, 0.0), "array"),
            offset_b=((0.0, 0.0, 0.0), "array"),
            kind=("pose", "name"),
            hold=(False, "flag"),
            strength=(1.0, "?positive"),
            closed=(False, "flag"),
            name=("lock", "new name"),
        ),
    ]


def control() -> list[Call]:
    """Inputs, their optimisation, filters, branches of orbits, and many runs."""
    U, slider = (np.zeros((2, 1)), "array"), cs.ContactSystem(cs.Mechanism(1, lambda q: np.eye(1), no_force))
    cost = cs.QuadraticCost(np.zeros((2, 2)), np.eye(1), np.eye(2), cs.State([0.0], [0.0]))
    optimal = {"system": (slider, "system"), "cost": (cost, "object"), "dt": (0.01, "positive")}
    return [
        of(cs.Inputs, U=U, dt=(0.01, "positive"), start=(0.0, "number")),
        of(
            cs.QuadraticCost,
            Q=(np.eye(6), "array"),
            R=(np.eye(3), "array"),
            Q_final=(np.eye(6), "array"),
            goal=(state(), "object"),
        ),
        of(
            cs.ilqr,
            state=(cs.State([0.0], [0.0]), "array"),
            U=U,
            start=(0.0, "number"),
            iterations=(2, "count"),
            tolerance=(1e-8, "not negative"),
            improvement=(1e-9, "not negative"),
            samples=(0, "index"),
            tolerances=(cs.Tolerances(), "?object"),
            progress=(None, "?function"),
            **optimal,
        ),
        of(
            cs.MPC,
            horizon=(0.02, "positive"),
            iterations=(2, "count"),
            tolerances=(cs.Tolerances(), "?object"),
            **optimal,
        ),
        of(
            cs.SaltedKalman,
            system=(system(), "system"),
            state=(state(), "array"),
            P=(np.eye(6), "array"),
            t0=(0.0, "number"),
            events=("salted", "name"),
            tolerances=(cs.Tolerances(), "?object"),
            reach=(0.05, "positive"),
        ),
        of(cs.Sensors, system=(system(), "system"), imu=((), "objects"), poses=((), "objects")),
        of(
            cs.continue_orbit,
            orbit=(None, "object"),
            system_of=(None, "function"),
            name=("gravity", "any name"),
            span=((1.0, 2.0), "array"),
            first_step=(0.1, "?positive"),
            longest_step=(0.1, "?positive"),
            accuracy=(1e-9, "positive"),
            most=(2, "count"),
        ),
        of(
            cs.fit,
            system_of=(system(), "system"),
            names=(["contact.friction"], "objects"),
            times=([0.01, 0.02], "array"),
            measured=(np.zeros((2, 6)), "array"),
            state=(None, "array"),
            accuracy=(1e-8, "positive"),
            max_runs=(2, "count"),
        ),
        of(
            cs.stabilise,
            orbit=(None, "object"),
            parameters=({"gravity": (9.0, 10.0)}, "object"),
            target=(0.5, "?positive"),
            max_steps=(2, "count"),
            survey=(0, "index"),
        ),
        of(
            cs.sweep,
            scene_or_function=("hexapod", "object"),
            over=({"contact.friction": [0.4]}, "object"),
            out=("sweep.zarr", "any name"),
            scheduler=(None, "?new name"),
            samples=(None, "?count"),
            sampler=("random", "name"),
            seed=(0, "index"),
            noise=(None, "?not negative"),
            workers=(1, "?count"),
            progress=(False, "flag"),
        ),
    ]


def results() -> list[Call]:
    """Trajectories, derivatives and analyses; the contact problem; pictures and files."""
    at = {"t": (0.01, "number"), "side": ("+", "name")}
    eye = np.eye(3)
    written = {"trajectory": (run(), "object"), "viewer": ("meshcat", "name")}
    return [
        *(of_object(run, name, **at) for name in ("arc_at", "mode_at", "forces", "loop_forces", "energy")),
        of_object(run, "check", raise_errors=(True, "flag")),
        of(cs.Trajectory.load, path=(None, "path")),
        of(
            cs.linearize,
            trajectory=(run(), "object"),
            tolerances=(cs.Tolerances(), "?object"),
            integrator=("DOP853", "name"),
        ),
        of_object(lin, "parameter", name=("contact.friction", "name")),
        of_object(lin, "covariance", P0=(np.eye(6), "array"), noise=(np.eye(6), "?array")),
        of(cs.lyapunov_exponents, run=(run(), "object"), interval=(0.01, "?positive")),
        of(
            cs.find_periodic_orbit,
            system=(system(), "system"),
            x_guess=(None, "array"),
            period_guess=(0.1, "positive"),
            section=(None, "?function"),
            symmetry=(None, "?function"),
            fixed_period=(False, "flag"),
            t0=(0.0, "number"),
            tolerances=(cs.Tolerances(), "?object"),
            integrator=("DOP853", "name"),
            accuracy=(1e-9, "positive"),
            max_iterations=(1, "count"),
        ),
        of(cs.ball, directions=(eye, "array"), count=(20, "count")),
        of(cs.Tracking, gains=(None, "object")),
        of(
            cs.bouligand,
            dx=(np.ones(3), "array"),
            normals=(np.eye(3)[:2], "array"),
            field=(lambda w: np.ones(3), "function"),
        ),
        of(cs.bouligand_pieces, normals=(np.eye(3)[:2], "array"), field=(lambda w: np.ones(3), "function")),
        of(
            cs.saltation_matrix,
            F_pre=(np.ones(3), "array"),
            F_post=(np.ones(3), "array"),
            DxR=(eye, "array"),
            Dxg=(np.ones(3), "array"),
            DtR=(0.0, "number"),
            Dtg=(0.0, "number"),
        ),
        of(
            cs.solve_contacts,
            G=(np.eye(9), "array"),
            free=([-1.0, 0, 0] * 3, "array"),
            friction=(0.5, "not negative"),
            restitution=(0.5, "?share"),
            dims=(3, "?count"),
            sliding=([None] * 3, "?list"),
            guess=(None, "?list"),
        ),
        of(cs.load_model, name=("slip", "name")),
        of(cs.load_scene, source=("slip", "name"), settings=((), "objects")),
        of(cs.export_html, path=(None, "path"), **written),
        of(cs.export_png, path=(None, "path"), **written),
        of(cs.export_mp4, path=(None, "path"), **written),
        of(cs.view, what=(None, "object"), viewer=("meshcat", "name")),
        of(
            cs.Boundary,
            name=("edge", "key"),
            function=(at_zero, "function"),
            target=(0.0, "number"),
            side=("above", "name"),
        ),
        of(cs.Finding, reason=("it left", "new name"), fatal=(True, "flag")),
        of(
            cs.check_jacobians,
            system=(system(), "system"),
            t=(0.0, "number"),
            x=(None, "array"),
            limit=(1e-6, "positive"),
        ),
    ]


GROUPS: Mapping[str, Callable[[], list[Call]]] = {
    "world": world,
    "shapes": shapes,
    "motion": motion,
    "control": control,
    "results": results,
}


class LateError(BaseException):
    """It takes too long; no handler of the engine's takes this for an error of the run."""


@contextmanager
def soon(seconds: float = LONGEST) -> Iterator[None]:
    """Raise LateError where something takes longer."""

    def late(number: int, frame: Any) -> None:
        raise LateError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def fault(call: Call, name: str, value: Any) -> str:
    """What is wrong with how a call takes a wrong value; empty where it refuses it in one sentence."""
    try:
        with soon():
            call.function(**call.given() | {name: value})
    except cs.ContactSimError as error:
        text = str(error)
        return "" if text.strip() and "\n" not in text.strip() else f"says {text!r}"
    except (Exception, SystemExit, LateError) as error:
        return f"raises {type(error).__name__}: {str(error)[:80]}"
    return "takes it"
