"""Sessions for the tests of the live view, and waiting for what they do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from contactsim_viz.live import Live

import contactsim as cs
from contactsim.contact_dynamics.placement import default_start
from contactsim.io import scene
from contactsim.viewing.session import Session

PATIENCE = 60.0  # s, for a machine with much else to do
GLANCE = 0.02  # s between two looks


def standing(**options: Any) -> Session:
    """A hexapod whose motors hold it, dropped from a hand's breadth; it pauses after the landing."""
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, controller=cs.PD(robot, robot.nominal, kp=80.0, kd=2.0))
    simulation = cs.Simulation(system, default_start(system), tolerances=cs.Tolerances(rtol=1e-6, atol=1e-8))
    return Session(simulation, **{"end": 0.3, "title": "hexapod"} | options)


def walking(**options: Any) -> Session:
    """The passive biped, which goes down its slope for as long as one likes."""
    built = scene.build(scene.parse('robot = {name = "biped"}'))
    return Session(cs.Simulation(built.system, built.state, **built.options), **{"title": "biped"} | options)


def model(name: str, **options: Any) -> Session:
    """A model from its own start."""
    system = cs.load_model(name)
    return Session(cs.Simulation(system, system.initial_state()), **{"title": name} | options)


@contextmanager
def on_a_page(session: Session) -> Iterator[Live]:
    """The session, running, on a page of its own."""
    with Live(session).start() as live:
        yield live


def until(true: Callable[[], Any]) -> Any:
    """Wait until something is true; returns it."""
    end = time.monotonic() + PATIENCE
    while not (value := true()):
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(GLANCE)
    return value
