"""How much faster are runs whose arcs the compiled engine computes, and their derivatives, in one process?

Runs in two threads are put beside the same runs one after the other, and beside two processes, which share no lock: on
a machine with other things to do neither reaches two. What the lock leaves at best is told by the share of a run's
processor time that is spent outside of compiled code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from statistics import median
from typing import Any

import numpy as np
import pinocchio as pin
import run as solo12_run
from common import fastest, line
from contact_problem import PROBLEMS, corners, problem
from linearize_cost import TILT, derivative

import contactsim as cs
from contactsim.contact.impact import newton
from contactsim.contact_dynamics.engines import PYTHON, chosen

ROUNDS = 5
KNOTS, KNOT = 25, 0.02  # inputs of solo12 on its feet, and how long each is held [s]
WALK = 3.0  # of the biped [s]
OF_RUN = 0.7  # wanted of a derivative, of its run
AT_ONCE = 1.9  # times as many runs in two threads as in one
SHORT_RUNS, SETTLED = 10_000, 1_000  # runs over which memory is watched, and after which it has settled
WANTED = {"solo12, PD, 2 s": 0.16, "hexapod, its demonstration": 0.125}
HILLS = ("terrain.kind=sinusoid", "terrain.a1=0.02", "terrain.a2=6", "terrain.a3=4")


def demonstration(name: str, duration: float, engine: str) -> Callable[[], object]:
    """What `contactsim run NAME` computes."""
    scene = cs.load_scene(name)
    return lambda: cs.simulate(scene.system, scene.state, (0.0, duration), engine=engine, **scene.options)


def placed(system: cs.ContactSystem, q: np.ndarray, height: float) -> np.ndarray:
    """The configuration that is so high above its ground that its lowest contact is at a height [m]."""
    q = q.copy()
    for _ in range(6):
        q[2] += height - system.mechanism.gaps(0.0, q)[: len(system.robot.contacts)].min()
    return q


def hexapod_on_hills(engine: str) -> Callable[[], object]:
    """The first half second of its demonstration, on hills."""
    scene = cs.load_scene("hexapod", HILLS)
    system = scene.system
    start = cs.State(placed(system, scene.state.q, 1e-6), scene.state.v)
    return lambda: cs.simulate(system, start, (0.0, 0.5), engine=engine, **scene.options)


def solo12_on_hills(engine: str) -> Callable[[], object]:
    """The run of `benchmarks/run.py`, half a second of it, on hills."""
    flat, start = solo12_run.scene(False)
    hills = cs.load_scene("solo12", HILLS).system.terrain
    system = cs.ContactSystem(flat.robot, terrain=hills, controller=flat.controller).on_engine(engine)
    start = cs.State(placed(system, start.q, solo12_run.DROP), start.v)
    return lambda: cs.simulate(system, start, (0.0, 0.5), tolerances=cs.Tolerances(rtol=1e-8))


def sliding_box(engine: str) -> Callable[[], object]:
    """A box that slides to its rest on four corners, whose forces are redundant."""
    robot = cs.Robot.box(2.0, (0.4, 0.2, 0.1), friction=0.4)
    system = cs.ContactSystem(robot).on_engine(engine)
    start = cs.State([0, 0, 0.05, 0, 0, 0, 1.0], [0.8, 0.6, 0, 0, 0, 0.2])
    return lambda: cs.simulate(system, start, (0.0, 0.5))


def on_soft_ground(engine: str) -> Callable[[], object]:
    """The robot of `benchmarks/run.py` falls on ground that gives way, half a second, by the stiff method."""
    rigid, start = solo12_run.scene(False)
    system = cs.ContactSystem(rigid.robot, controller=rigid.controller, law="hunt-crossley").on_engine(engine)
    return lambda: cs.simulate(system, start, (0.0, 0.5))


def solo12(engine: str) -> Callable[[], object]:
    """The run of `benchmarks/run.py`, whose feet are spheres."""
    system, start = solo12_run.scene(False)
    return lambda: solo12_run.simulate(system.on_engine(engine), start)


def on(engine: str, run: cs.Trajectory) -> cs.Trajectory:
    """The same run, to be differentiated on another engine."""
    return replace(run, arcs=tuple(replace(arc, system=arc.system.on_engine(engine)) for arc in run.arcs))


def along_arcs(run: cs.Trajectory) -> Callable[[], object]:
    """The variations along all arcs of a run, without its events."""
    lin = cs.linearize(run)
    stretches = [stretch for stretch in lin.stretches() if stretch.t1 > stretch.t0]
    return lambda: [stretch.piece.propagate(stretch.t0, stretch.t1, np.eye(stretch.piece.dim)) for stretch in stretches]


def landings() -> Iterator[tuple[str, cs.ContactSystem, cs.State]]:
    """solo12 falls with a tilt, and flat."""
    for name, tilt in (("tilted", TILT), ("flat", np.zeros(3))):
        system, start = solo12_run.scene(False)
        q = system.mechanism.space.integrate(start.q, np.r_[0, 0, 0, tilt, np.zeros(12)])
        yield f"solo12, {name}, 2 s", system, cs.State(q, start.v)


def derivatives(engine: str) -> None:
    """Variations of landings on both engines, and the derivative of a run against the run."""
    for name, system, start in landings():
        run = solo12_run.simulate(system.on_engine(engine), start)
        jobs = [along_arcs(run), along_arcs(on(PYTHON, run))]
        jobs += [lambda: derivative(run), lambda: solo12_run.simulate(system.on_engine(engine), start)]  # noqa: B023
        compiled, python, whole, simulated = fastest(jobs, ROUNDS)
        steps = sum(len(arc.segments) for arc in run.arcs)
        measured = f"{1e3 * compiled:.1f} / {1e3 * python:.1f} ms, {steps} steps"
        line(f"variations along arcs, {name}: {engine} / Python", measured, compiled / python)
        measured = f"{1e3 * compiled:.1f} / {1e3 * simulated:.1f} ms; with its events {whole / simulated:.2g}x"
        line(f"variations along arcs / the run, {name}, {engine}", measured, compiled / simulated, OF_RUN)


def walk(engine: str) -> None:
    """Steps of the biped."""
    (taken,) = fastest([demonstration("biped", WALK, engine)], 20 * ROUNDS, time.process_time)
    line(f"biped walks for {WALK:g} s: {engine}", "processor time", 1e3 * taken, 3, " ms")


def held_inputs(engine: str) -> None:
    """solo12 on its feet under inputs that are held: simulate, and linearize from each to the next."""
    robot = cs.load_robot("solo12")
    q = robot.nominal.copy()
    q[2] -= robot.contact_positions(q)[:, 2].min() - 1e-3
    standing = cs.ContactSystem(robot, controller=cs.PD(robot, kp=10.0, kd=0.4))
    settled = cs.simulate(standing, cs.State(q, np.zeros(robot.nv)), (0.0, 1.0))
    torques = 10.0 * (robot.nominal[7:] - settled.final.q[7:])
    inputs = cs.Inputs(np.tile(torques, (KNOTS, 1)), KNOT)
    times = KNOT * np.arange(KNOTS + 1)

    def simulated(kind: str) -> cs.Trajectory:
        system = cs.ContactSystem(robot, controller=inputs).on_engine(kind)
        return cs.simulate(system, settled.final, (0.0, float(times[-1])))

    jobs: list[Callable[[], object]] = []
    for kind in (engine, PYTHON):
        run = simulated(kind)
        jobs += [lambda kind=kind: simulated(kind), lambda run=run: cs.linearize(run).discrete(times)]  # type: ignore[misc]
    run, lin, slow_run, slow_lin = fastest(jobs, ROUNDS)
    measured = f"{1e3 * run:.0f} + {1e3 * lin:.0f} ms, in Python {1e3 * slow_run:.0f} + {1e3 * slow_lin:.0f} ms"
    line(
        f"solo12 stands 0.5 s on {KNOTS} inputs, simulate and linearize: {engine}",
        measured,
        1e3 * (run + lin),
        20,
        " ms",
    )


def corners_of_a_box(engine: str) -> None:
    """Impacts of a box on its four corners, which are redundant, on plain arrays."""
    if engine != "native":
        return
    from contactsim_native.contacts import NativeSolver

    rng, matrix, none = np.random.default_rng([1, 4]), corners(4), np.zeros(4)
    impacts = [problem(matrix, rng, True, False) for _ in range(PROBLEMS)]
    compiled = [replace(impact, compiled=NativeSolver()) for impact in impacts]
    times = fastest([lambda own=own: newton(own, none) for own in (*compiled, *impacts)], 10 * ROUNDS)  # type: ignore[misc]
    mine, python = float(np.mean(times[:PROBLEMS])), float(np.mean(times[PROBLEMS:]))
    line(f"an impact of a box on four corners, {engine}", f"in Python {1e3 * python:.2f} ms", 1e3 * mine, 0.05, " ms")


RUNS: dict[str, Callable[[str], Callable[[], object]]] = {
    "solo12, PD, 2 s": solo12,
    "hexapod, its demonstration": lambda own: demonstration("hexapod", 3.0, own),
    "biped, its demonstration": lambda own: demonstration("biped", 5.0, own),
    "solo12 falls on hills, 0.5 s": solo12_on_hills,
    "hexapod walks on hills, 0.5 s": hexapod_on_hills,
    "a box slides on its corners, 0.5 s": sliding_box,
    "solo12 falls on soft ground, 0.5 s": on_soft_ground,
}


@cache
def job(name: str, engine: str, owner: int) -> Callable[[], object]:
    """A run on a system of its owner's, warm."""
    made = RUNS[name](engine)
    made()
    return made


def repeated(name: str, engine: str, owner: int, times: int) -> None:
    """The runs of one of two owners."""
    made = job(name, engine, owner)
    for _ in range(times):
        made()


def both(pool: Executor, name: str, engine: str, times: int) -> float:
    """Time [s] in which two owners do their runs."""
    start = time.perf_counter()
    for done in [pool.submit(repeated, name, engine, owner, times) for owner in (0, 1)]:
        done.result()
    return time.perf_counter() - start


def with_the_lock(run: Callable[[], object]) -> float:
    """Median share of a run's processor time that it spends outside of compiled code."""
    from contactsim_native import _native

    spent = 0.0

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            nonlocal spent
            start = time.thread_time()
            try:
                return function(*given)
            finally:
                spent += time.thread_time() - start

        return call

    own = {n: f for n, f in vars(_native).items() if callable(f) and not isinstance(f, type) and not n.startswith("_")}
    shares = []
    try:
        for name, function in own.items():
            setattr(_native, name, timed(function))
        for _ in range(ROUNDS * ROUNDS):
            spent, start = 0.0, time.thread_time()
            run()
            shares.append(1.0 - spent / (time.thread_time() - start))
    finally:
        for name, function in own.items():
            setattr(_native, name, function)
    return median(shares)


def threads(engine: str) -> None:
    """Runs in two threads against the same ones in one, and against two processes."""
    context = get_context("spawn")
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two, ProcessPoolExecutor(2, context) as apart:
        for name, times in (("solo12, PD, 2 s", 20), ("hexapod, its demonstration", 2)):
            jobs = [lambda pool=pool, n=name, k=times: both(pool, n, engine, k) for pool in (one, two, apart)]
            in_turn, threaded, processes = fastest(jobs, ROUNDS)
            share = with_the_lock(job(name, engine, 0))
            at_best = 2.0 / (1.0 + share**2)  # two customers who queue at one desk for that share of their time
            measured = (
                f"{times} runs each, {1e3 * in_turn:.0f} / {1e3 * threaded:.0f} ms; two processes"
                f" {in_turn / processes:.3g}x; {100 * share:.0f} % with the lock, which leaves {at_best:.3g}x"
            )
            question = f"{name}: runs in turn / in two threads, {engine}"
            line(question, measured, in_turn / threaded, AT_ONCE, at_least=True)


def resident() -> float:
    """Memory of this process [MB]; Linux alone tells it."""
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1]) * 4096 / 1e6


def memory(engine: str) -> None:
    """What short runs leave behind."""
    robot = cs.load_robot("biped")
    q = robot.nominal + np.array([0.0, 1e-4, 0.0, 0.0])
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=10.0, kd=0.4)).on_engine(engine)
    for k in range(SETTLED + SHORT_RUNS):
        if k == SETTLED:
            settled = resident()
        cs.simulate(system, cs.State(q, np.zeros(robot.nv)), (0.0, 0.01))
    left = resident() - settled
    line(f"memory after {SHORT_RUNS} short runs, {engine}", f"{settled:.0f} MB before them", left, 1.0, " MB")


def falling_boxes(engine: str) -> Callable[[], object]:
    """Six boxes above each other, each turned a little, that fall onto the ground and each other, 0.2 s."""
    rng, names, start = np.random.default_rng(1), [f"box{k}" for k in range(6)], {}
    world = cs.Robot.merge([cs.Robot.box(0.5, (0.1, 0.1, 0.1), friction=0.4)] * len(names), names)
    for k, name in enumerate(names):
        turn, place = pin.exp3(0.3 * rng.normal(size=3)), [*rng.uniform(-0.03, 0.03, 2), 0.1 + 0.16 * k]
        start[name] = pin.SE3ToXYZQUAT(pin.SE3(turn, np.array(place))), np.zeros(6)
    system = cs.ContactSystem(world).on_engine(engine)
    return lambda: cs.simulate(system, cs.State(*world.pack(start)), (0.0, 0.2))


def pile(engine: str) -> None:
    """That on both engines, once each: Python takes long."""
    compiled, python = fastest([falling_boxes(kind) for kind in (engine, PYTHON)], 1, time.process_time)
    line(f"six boxes fall into a pile: {engine} / Python", f"{compiled:.1f} / {python:.1f} s", compiled / python, 0.1)


def main() -> None:
    """Each run with both engines, then derivatives, threads and memory."""
    engine = chosen(None)
    if engine == PYTHON:
        raise SystemExit("no compiled engine is installed; pip install ./plugins/contactsim_native")
    for name, made in RUNS.items():
        compiled, python = fastest([made(engine), made(PYTHON)], ROUNDS)
        measured = f"{1e3 * compiled:.0f} / {1e3 * python:.0f} ms"
        line(f"{name}: {engine} / Python", measured, compiled / python, WANTED.get(name))
    walk(engine)
    derivatives(engine)
    held_inputs(engine)
    corners_of_a_box(engine)
    pile(engine)
    threads(engine)
    memory(engine)


if __name__ == "__main__":
    main()
