"""How much faster are runs whose arcs the compiled engine computes, in one process? And beside MuJoCo's usual step?"""

from __future__ import annotations

from collections.abc import Callable

import run as solo12_run
from common import fastest, line

import contactsim as cs
from contactsim.contact_dynamics.engines import PYTHON, chosen

ROUNDS = 5
WANTED = {"solo12, PD, 2 s": 0.16, "hexapod, its demonstration": 0.125, "biped, its demonstration": None}


def demonstration(name: str, duration: float, engine: str) -> Callable[[], object]:
    """What `contactsim run NAME` computes."""
    scene = cs.load_scene(name)
    return lambda: cs.simulate(scene.system, scene.state, (0.0, duration), engine=engine, **scene.options)


def solo12(engine: str) -> Callable[[], object]:
    """The run of `benchmarks/run.py`, whose feet are spheres."""
    system, start = solo12_run.scene(False)
    return lambda: solo12_run.simulate(system.on_engine(engine), start)


def main() -> None:
    """Each run with both engines."""
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


if __name__ == "__main__":
    main()
