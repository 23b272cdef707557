"""Files as version 1 of the format has them: `python tests/version1.py DIRECTORY` writes such files, and their numbers.

Those in `data/version1` were written before the engine was refactored, and stay as they are.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from builders import planar_mechanism, point_mass
from linkages import DATA
from thirty_runs import directions, flat, words

import contactsim as cs

Array = np.ndarray
ROOT = Path(__file__).resolve().parents[1]
FILES = DATA / "version1"
SCENE = """\
gravity = [0, 0, -9.81]

[robot]
name = "biped"

[contact]
friction = 0.9

[run]
time = 1.0
"""


@dataclass(frozen=True)
class Kept:
    """A stored run: how it is made, until when it goes on [s], and the functions that a file cannot hold.

    Attributes:
        make: the run as it was.
        end: when the run that goes on ends.
        system: the system, where the file holds no more than its name.
    """

    make: Callable[[], cs.Trajectory]
    end: float
    system: Callable[[], cs.HybridSystem] | None = None


# --- runs -------------------------------------------------------------------------------------------------------------
def leg() -> cs.Trajectory:
    """A robot of a URDF file, with a closed loop and motors, lands on its foot on a slope."""
    foot = cs.ContactPoint("front_shank", (0, 0, -0.3), friction=0.7, name="foot")
    robot = cs.Robot.from_urdf(DATA / "five_bar_leg.urdf", root="planar", contacts=[foot])
    q = np.array(robot.nominal)
    q[1], q[-4:] = 0.5, [-0.6, 0.9, 0.6, -0.9]
    hold = cs.PD(robot, q, kp=60.0, kd=1.0)
    pin = cs.LoopClosure("front_shank", "rear_shank", (0, 0, -0.3), (0, 0, -0.3), name="foot_pin")
    system = cs.ContactSystem(robot, cs.terrain.Slope(0.1), controller=hold, loops=[pin])
    return cs.simulate(system, system.close(q, np.array([0.3, *np.zeros(robot.nv - 1)])), (0.0, 0.3))


def world() -> cs.Trajectory:
    """A ball and a box fall on a fixed table, and on each other."""
    table = cs.Robot.box(1.0, (1.0, 1.0, 0.2), root="fixed", name="table", friction=0.4)
    ball = cs.Robot.sphere(0.5, 0.1, friction=0.5, restitution=0.4)
    box = cs.Robot.box(1.0, (0.3, 0.2, 0.1), friction=0.4)
    robot = cs.Robot.merge([table, box, ball])
    start = {
        "box": ([0.0, 0.0, 0.2, 0.0499792, 0.0, 0.0, 0.9987503], [0.6, 0.1, -0.5, 0.0, 0.3, 0.0]),
        "ball": ([0.02, 0.0, 0.4, 0.0, 0.0, 0.0, 1.0], [0.5, 0.0, -1.0, 0.0, 0.0, 2.0]),
    }
    return cs.simulate(cs.ContactSystem(robot, cs.terrain.Flat(-1.0)), cs.State(*robot.pack(start)), (0.0, 0.06))


def slip() -> cs.Trajectory:
    """A model by its name."""
    model = cs.load_model("slip", k=900.0)
    return cs.simulate(model, model.initial_state(y=0.95), (0.0, 0.8))


def rod() -> cs.ContactSystem:
    """A rod with two tips, a textbook mechanism: its functions are not stored."""
    points = {"left": (-0.5, 0.0), "right": (0.5, 0.0)}
    return cs.ContactSystem(planar_mechanism(1.0, 1.0 / 12.0, points, 0.3, 0.5), law="energetic")


def mechanism() -> cs.Trajectory:
    return cs.simulate(rod(), cs.State([0.0, 0.5, 0.6], [0.4, -1.0, 0.2]), (0.0, 0.3))


def bristles() -> cs.Trajectory:
    """A compliant law with a memory, and a push."""
    robot = point_mass().with_contacts([cs.ContactPoint("mass", friction=0.3, static_friction=0.4, name="block")])
    system = cs.ContactSystem(robot, law="lugre").with_parameter("law.bristle_stiffness", 500.0)
    system = system.with_push("mass", (3.5, 1.0, 0.0), 0.1)
    tolerances = cs.Tolerances(rtol=1e-7, atol=1e-9)
    return cs.simulate(system, cs.State([0, 0, -9.81 / 2e4], [0.05, 0, 0]), (0.0, 0.15), tolerances=tolerances)


def walk() -> cs.Trajectory:
    """What `contactsim run scene.toml` leaves."""
    from contactsim import cli

    (FILES / "scene.toml").write_text(SCENE, encoding="utf-8")
    assert cli.execute(["run", str(FILES / "scene.toml"), "--out", str(FILES / "walk")]) == 0
    return cs.Trajectory.load(FILES / "walk" / "run.nc")


# --- sessions ---------------------------------------------------------------------------------------------------------
def hexapod() -> cs.Simulation:
    """A hexapod, held by sampled motors, just above the ground."""
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, controller=cs.PD(robot, robot.nominal, kp=80.0, kd=2.0, period=0.004))
    q = np.array(robot.nominal)
    q[3:7] = [0.03, 0.02, 0.0, np.sqrt(1.0 - 0.0013)]
    q[2] += 0.002 - robot.contact_positions(q)[:, 2].min()
    return cs.Simulation(system, cs.State(q, np.zeros(robot.nv)))


def led(session: cs.Session, *steps: Callable[[cs.Session], None]) -> cs.Trajectory:
    """A session as fast as it goes; whenever it pauses, the next of the steps is taken, and then it is closed."""
    ahead = list(steps)

    def observe(moment: Any) -> None:
        session.want()
        if not moment.playing:
            (ahead.pop(0) if ahead else cs.Session.close)(session)

    session.observe = observe
    return session.run()


def pushed() -> cs.Trajectory:
    """A session in which a robot was pushed, and a friction and a gain were turned."""
    steps = (
        lambda s: s.push((12.0, 3.0, 0.0), duration=0.02),
        lambda s: s.set("contact.friction", 0.6),
        lambda s: s.play(until=0.03),
    )
    return led(cs.Session(hexapod(), end=0.01, speed=math.inf), *steps)


def turned() -> cs.Trajectory:
    """A session in which gravity, and the stiffness of the ground were turned."""
    system = cs.ContactSystem(cs.Robot.sphere(1.0, 0.1, friction=0.4), law="hunt-crossley")
    state = cs.State([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 1.0], [0.5, 0.0, -0.5, 0.0, -10.0, 0.0])
    steps = (
        lambda s: s.set("gravity", 5.0),
        lambda s: s.set("law.stiffness", 5e5),
        lambda s: s.play(until=0.1),
    )
    return led(cs.Session(cs.Simulation(system, state), end=0.02, speed=math.inf), *steps)


KEPT = {
    "leg": Kept(leg, 0.35),
    "world": Kept(world, 0.07),
    "slip": Kept(slip, 1.2),
    "mechanism": Kept(mechanism, 0.4, rod),
    "bristles": Kept(bristles, 0.2),
    "walk/run": Kept(walk, 1.5),
    "session_pushed": Kept(pushed, 0.045),
    "session_turned": Kept(turned, 0.15),
}


# --- numbers ----------------------------------------------------------------------------------------------------------
def told(run: cs.Trajectory) -> dict[str, Any]:
    """What is to be found in a run: words, and numbers as lists."""
    times = np.linspace(run.t[0], run.t[-1], 7)[1:-1] + 1e-4
    return {
        "status": run.status.name,
        "events": [words(event) for event in run.events],
        "times": [float(event.time) for event in run.events],
        "notes": ["; ".join(event.notes) for event in run.events],
        "after": [flat(event.state_post).tolist() for event in run.events],
        "instants": len(run.all_events),
        "at": times.tolist(),
        "states": [flat(run(float(t))).tolist() for t in times],
        "forces": [forces(run, float(t)) for t in times],
        "final": flat(run.final).tolist(),
    }


def forces(run: cs.Trajectory, t: float) -> dict[str, list[float]]:
    """Contact forces at a time; none of a system without contacts."""
    try:
        return {name: np.ravel(force).tolist() for name, force in run.forces(t).items()}
    except cs.InputError:
        return {}


def derived(run: cs.Trajectory) -> dict[str, Any]:
    """Derivatives of a run along some directions, or the error that they end in."""
    lin = cs.linearize(run)
    try:
        return {"along": lin(directions(lin.dim)).tolist()}
    except cs.ContactSimError as error:
        return {"error": type(error).__name__}


def gone_on(run: cs.Trajectory, end: float) -> cs.Trajectory:
    """The run, gone on with until `end`."""
    simulation = cs.Simulation.resume(run)
    simulation.advance_to(end)
    return simulation.trajectory


def load(name: str) -> cs.Trajectory:
    """A stored run."""
    system = KEPT[name].system
    return cs.Trajectory.load(FILES / f"{name}.nc", system=system and system())


def everything(name: str) -> dict[str, Any]:
    """What is to be found in a stored run, in what it becomes, and in its derivative."""
    run = load(name)
    return {"run": told(run), "gone_on": told(gone_on(run, KEPT[name].end)), "derivative": derived(run)}


def main(where: Path) -> None:
    """Write all files into a folder that does not hold any."""
    global FILES
    FILES = where
    for name, kept in KEPT.items():
        run = kept.make()
        path = FILES / f"{name}.nc"
        if not path.exists():
            run.save(path)
        _without_root(path)
        path.with_suffix(".json").write_text(json.dumps(everything(name)) + "\n", encoding="utf-8")
        print(f"{name:16s} {run.status.name:12s} {len(run.events):3d} events {path.stat().st_size / 1e3:6.0f} kB")


def _without_root(path: Path) -> None:
    """Put as many slashes in place of the folders in which this repository lies."""
    content = path.read_bytes().replace(f"{ROOT}/".encode(), b"/" * (len(str(ROOT)) + 1))
    for folder in map(str, (ROOT, *ROOT.parents[:-1])):
        content = content.replace(f'"{folder}"'.encode(), b'"' + b"/" * len(folder) + b'"')
    path.write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
