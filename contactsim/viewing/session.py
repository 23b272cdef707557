"""A live session: a simulation that is played while its parameters, its law and its forces are changed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..analysis.spread import jacobian
from ..common import registry
from ..common.arguments import POSITIVE, arguments
from ..contact.laws import RigidLaw
from ..errors import InputError
from ..hybrid.simulate import Simulation
from ..hybrid.system import Dynamics, completed
from .curves import Curves, curves
from .playback import Entry, Moment, Playback
from .session_controls import Joint, controls, current, joints_of

__all__ = ["Entry", "Moment", "Session", "begin"]

PRESSED = 0.1  # how long a push lasts [s]
PULL = 1.5  # frequency of the spring that pulls [Hz]
PULLED = 0.1  # how long a pull lasts that no other follows [s]
AGAIN = 0.5  # without one, after which a pull is another one [s]
ATOL = 1e-2  # absolute error of a step, relative to the relative one


class Session(Playback):
    """A simulation at work: played in real time, paused, looked back upon, and changed.

    Its methods may be called from any thread; they take effect between two steps. Its arguments are those of
    `Playback`.
    """

    _pulled, _pulled_at = "", -math.inf

    @property
    def laws(self) -> tuple[str, ...]:
        """Names of the contact laws that the system may have; none where it has none."""
        return tuple(registry.names("contact_laws")) if self.system.law is not None else ()

    @property
    def law(self) -> str:
        """Name of the present law; that of its class where it is not registered."""
        kind = type(self.system.law)
        return registry.name_of("contact_laws", kind) or kind.__name__

    @property
    def weight(self) -> float:
        """Weight of what can be pushed [N]; zero where nothing can."""
        if not self._bodies():
            return 0.0
        system: Any = self.system
        mass = sum(system.robot.body_parameter(name, "mass") for name in self._bodies())
        return float(mass) * max(float(np.linalg.norm(system.gravity)), 1.0)

    def set(self, name: str, value: float) -> None:
        """Change a parameter of the system where the run is now."""
        self._request(lambda: self._set(name, value))

    def set_law(self, name: str) -> None:
        """Go on under another contact law; a run of its own starts where the old one is."""
        self._request(lambda: self._set_law(name))

    @arguments(rtol=POSITIVE)
    def set_rtol(self, rtol: float) -> None:
        """Change the relative error of a step; the absolute one is ATOL times as large."""
        self._request(lambda: self._set_rtol(rtol))

    def push(self, force: Any, body: str | None = None, duration: float = PRESSED) -> None:
        """Push a body, by default the heaviest, with `force` (3,) [N, world axes] for `duration` [s]."""
        self._request(lambda: self._push(force, body, duration))

    def pull(self, body: str, point: Any, target: Any) -> None:
        """Pull a point (3,) of a body, in the axes of its joint [m], to a `target` (3,) in the world, by a spring.

        f = m w^2 (target - p) - 2 m w p' with the mass m of all bodies, held for PULLED seconds or until the next pull:
        critically damped, at PULL Hz.
        """
        self._request(lambda: self._pull(body, np.asarray(point, dtype=float), np.asarray(target, dtype=float)))

    def joint(self, name: str, value: float) -> None:
        """Set a joint of one coordinate [rad or m] while time stands still; the run goes on from there, at rest."""
        self._request(lambda: self._set_joint(name, value))

    @property
    def curves(self) -> tuple[Curves, ...]:
        """Curves that can be plotted of its system."""
        return curves(self.system)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Joints that can be set."""
        return joints_of(self.system)

    def drop(self) -> None:
        """Start again where the session started, with the system as it is now."""
        self._request(self._drop)

    # --- requests, in the running thread ----------------------------------------------------------------------

    def _set(self, name: str, value: float) -> None:
        before = next((control.value for control in self.controls if control.name == name), math.nan)
        self._simulation.set(name, value)
        self._changed(f"{name}: {before:.4g} \u2192 {value:.4g}")
        self.controls = current(self.controls, self.system)

    def _set_rtol(self, rtol: float) -> None:
        before = self._simulation.tolerances.rtol
        self._simulation.set_accuracy(rtol, ATOL * rtol)
        self._changed(f"rtol: {before:.1e} \u2192 {rtol:.1e}")

    def _push(self, force: Any, body: str | None, duration: float) -> None:
        if not self._bodies():
            raise InputError(f"a {type(self.system).__name__} cannot be pushed; only a robot can")
        system: Any = self.system
        heaviest = max(self._bodies(), key=lambda name: system.robot.body_parameter(name, "mass"))
        self._simulation.push(body or heaviest, force, duration)
        size = float(np.linalg.norm(np.asarray(force, dtype=float)))
        self._changed(f"push {body or heaviest} with {size:.4g} N for {duration:g} s")

    def _pull(self, body: str, point: Any, target: Any) -> None:
        if body not in self._bodies() or not self._playing:
            return
        system: Any = self.system
        robot, q, v = system.robot, self._simulation.state.q, self._simulation.state.v
        placement = robot.model.frames[robot.model.getFrameId(body)].placement
        local = placement.rotation.T @ (point - placement.translation)
        w, mass = 2.0 * math.pi * PULL, self.weight / max(float(np.linalg.norm(system.gravity)), 1.0)
        away = target - robot.point_position(body, q, local)
        force = mass * w * (w * away - 2.0 * (jacobian(system, body, q, local) @ v))
        self._simulation.push(body, force, PULLED, local, alone=True)
        if self._pulled != body or self._simulation.t - self._pulled_at > AGAIN:
            self._changed(f"pull {body}")
        self._pulled, self._pulled_at = body, self._simulation.t

    def _set_joint(self, name: str, value: float) -> None:
        """Another configuration at the head of the run; what would then be inside of the ground is lifted."""
        from ..contact_dynamics.placement import clearance, lifted

        if self._playing:
            raise InputError("joints are set while time stands still; pause first")
        place = next((joint.place for joint in self.joints if joint.name == name), None)
        if place is None:
            raise InputError(f"there is no joint '{name}' to set")
        system: Any = self.system.without_pushes(math.inf)
        old = self._simulation
        q = np.array(old.state.q)
        before, q[place] = q[place], value
        state = system.close(q) if system.loops else replace(old.state, q=q, v=np.zeros_like(old.state.v))
        if system.mechanism.names and clearance(system, state.q) < 0.0:
            state = replace(state, q=lifted(system, state.q, 0.0))
        self._go_on(old.anew(system, state, old.t))
        self._changed(f"{name}: {before:.4g} \u2192 {value:.4g}, at rest")

    def _go_on(self, simulation: Simulation) -> None:
        """From now on with another simulation, which begins where the present one is."""
        self._runs.append(simulation)
        self._simulation, self._seen, self._stopped, self._ended = simulation, 0, False, ""

    def _set_law(self, name: str) -> None:
        """Another law from the present state on; a robot that has sunk into soft ground is lifted onto a rigid one."""
        from ..contact_dynamics.placement import clearance, lifted

        system: Any = self.system.with_law(name)
        before, old = self.law, self._simulation
        state = system.carried(old.state)
        depth = -clearance(system, state.q) if system.mechanism.names else 0.0
        if depth > system.tolerances.start_depth and isinstance(system.law, RigidLaw):
            state = replace(state, q=lifted(system, state.q, 0.0))
        self._go_on(old.anew(system, state, old.t))
        self.controls = controls(system)
        self._changed(f"law: {before} \u2192 {name}")

    def _drop(self) -> None:
        system = self.system.without_pushes(math.inf)
        simulation = self._simulation.anew(system, system.carried(self._start), self._t0)
        shown = self.controls
        self._begin(simulation)
        self.controls = current(shown, system)
        self._playing = True
        self._end = self._first_end
        self.take += 1  # last: who waits for it in another thread finds the new run

    def _changed(self, text: str) -> None:
        """Note a change; who changes something wants to see what comes of it."""
        self._note_events()
        self._stopped, self._ended = False, ""
        self.log.append(Entry(self._simulation.t, None, text))
        if self._shown < self._simulation.t and not self._playing:
            self._shown = self._simulation.t
        self._clock.set(max(self._shown, min(self._clock(), self._simulation.t)) if self._playing else self._shown)

    def _bodies(self) -> tuple[str, ...]:
        robot = getattr(self.system, "robot", None)
        return tuple(getattr(robot, "bodies", ()))


def begin(what: Any, state: Any = None) -> Simulation:
    """A simulation as it is, or that of a system from a state (by default its own start).

    Raises:
        InputError: it is neither, or the system has no start of its own.
    """
    if isinstance(what, Simulation):
        return what
    if not isinstance(what, Dynamics):
        raise InputError(f"a {type(what).__name__} cannot be shown; give a Trajectory, a system or a Simulation")
    system: Any = completed(what)
    if state is None:
        state = system.initial_state()
    if state is None and hasattr(getattr(system, "robot", None), "nominal"):
        from ..contact_dynamics.placement import default_start

        state = default_start(system)
    if state is None:
        raise InputError(f"a {type(what).__name__} has no start of its own; give its state: view(system, state)")
    return Simulation(system, state)
