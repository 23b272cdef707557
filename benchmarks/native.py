"""How much faster are runs whose arcs the compiled engine computes, and their derivatives, in one process?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import run as solo12_run
from common import fastest, line
from linearize_cost import TILT, derivative

import contactsim as cs
from contactsim.contact_dynamics.engines import PYTHON, chosen

ROUNDS = 5
KNOTS, KNOT = 25, 0.02  # inputs of solo12 on its feet, and how long each is held [s]
OF_RUN = 0.7  # wanted of a derivative, of its run
WANTED = {"solo12, PD, 2 s": 0.16, "hexapod, its demonstration": 0.125, "biped, its demonstration": None}


def demonstration(name: str, duration: float, engine: str) -> Callable[[], object]:
    """What `contactsim run NAME` computes."""
    scene = cs.load_scene(name)
    return lambda: cs.simulate(scene.system, scene.state, (0.0, duration), engine=engine, **scene.options)


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


def main() -> None:
    """Each run with both engines, then derivatives."""
    engine = chosen(None)
    if engine == PYTHON:
        raise SystemExit("no compiled engine is installed; pip install ./plugins/contactsim_native")
    runs: dict[str, Callable[[str], Callable[[], object]]] = {
        "solo12, PD, 2 s": solo12,
        "hexapod, its demonstration": lambda own: demonstration("hexapod", 3.0, own),
        "biped, its demonstration": lambda own: demonstration("biped", 5.0, own),
    }
    for name, made in runs.items():
        compiled, python = fastest([made(engine), made(PYTHON)], ROUNDS)
        measured = f"{1e3 * compiled:.0f} / {1e3 * python:.0f} ms"
        line(f"{name}: {engine} / Python", measured, compiled / python, WANTED[name])
    derivatives(engine)
    held_inputs(engine)


if __name__ == "__main__":
    main()
