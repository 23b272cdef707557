"""Environments of Gymnasium from scenes: a policy acts step by step on what the robot's sensors measure."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from ..common.arguments import NOT_NEGATIVE, POSITIVE, arguments, numbers
from ..common.arrays import Array
from ..contact_dynamics import is_contact_system
from ..contact_dynamics.contact_system import ContactSystem
from ..contact_dynamics.placement import lifting
from ..contact_dynamics.sensors import Sensors
from ..contact_dynamics.world import State
from ..errors import ContactSimError, InputError
from ..hybrid.outcomes import Status
from ..hybrid.tolerances import Tolerances
from ..io.load_scene import SETTINGS, load_scene
from ..multibody.driving import PD
from ..viewing.watching import Watched

SWING = 0.3  # rad, by which a full action moves the target of joint PD
ACCURACY = {"rtol": 1e-5, "atol": 1e-7}  # of a run, where the scene says nothing else
LOW = 0.4  # share of the height of its root above ground at the start, below which a floating robot has fallen
COST = 0.05  # of an action of size one on all joints, in metres a second


class ContactEnv(gymnasium.Env[Array, Array]):
    """A scene as an environment: each step holds an action for `dt` seconds of the run.

    Action: (nu,) in [-1, 1], in the order of `system.action_names`; times `scale` it is the input of `Simulation.step`.

    Observation: configuration without the root's place along the ground, then velocity, then for each contact 1 where
    it touches, else 0.

    Reward: progress of the root along x [m/s] less COST times the mean square of the action, or what `reward` says.

    An episode ends (terminated) where the robot has fallen, or the run cannot go on; its status and message are then in
    `info`. There is no limit of time but that of `gymnasium.make` (truncated).

    Args:
        scene: what `load_scene` takes.
        dt: length of a step [s].
        scale: inputs of a full action, a number or (nu,) [N m, N]; None: what moves the targets of joint PD by SWING,
            else the limits of effort of the joints.
        noise: standard deviation of what is added to the velocity at the start [m/s, rad/s].
        reward: (env, before, after, action) -> float with the States before and after the step.
        terminated: (env) -> bool; None: a floating or planar robot has fallen where its root is below LOW of its first
            height above ground.
        settings: keys of the scene "key=value".
        render_mode: "rgb_array" or "human".
        width, height: of a picture, pixels.

    Raises:
        InputError: the scene is none of a robot with inputs, or an argument does not fit it.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - so gymnasium has it
        "render_modes": ["rgb_array", "human"],
        "render_fps": 50,
    }

    @arguments(dt=POSITIVE, noise=NOT_NEGATIVE, settings=SETTINGS)
    def __init__(
        self,
        scene: Any = "hexapod",
        *,
        dt: float = 0.02,
        scale: Any = None,
        noise: float = 0.01,
        reward: Callable[[ContactEnv, State, State, Array], float] | None = None,
        terminated: Callable[[ContactEnv], bool] | None = None,
        settings: Sequence[str] = (),
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
    ) -> None:
        run = load_scene(scene, settings)
        if not is_contact_system(run.system) or not run.system.action_names:
            raise InputError(f"the scene {scene} has no joints that are driven; give that of a robot with actuators")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(f"render_mode is {render_mode!r}; give 'rgb_array', 'human' or None")
        given = run.options["tolerances"]
        tolerances = replace(given, **ACCURACY) if given == Tolerances() else given
        run = replace(run, options={**run.options, "tolerances": tolerances})
        self.simulation, self.dt, self.noise = run.begin(), dt, noise
        self.render_mode, self._size = render_mode, (width, height)
        self._page: Watched | None = None
        self.metadata = {**self.metadata, "render_fps": round(1.0 / dt)}
        self._start, self._reward, self._ended = run.state, reward or progress, terminated or has_fallen
        self.scale = np.broadcast_to(_scale(run.system, scale), (len(run.system.action_names),))
        self.sensors = Sensors(run.system, joints=False)
        self.first_height = height_of_root(self)
        self._hidden = _along_ground(run.system)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(self.scale),), np.float64)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, self.observe().shape, np.float64)

    @property
    def system(self) -> ContactSystem:
        """The present system."""
        return self.simulation.system  # type: ignore[return-value]

    def observe(self) -> Array:
        """The observation of the present state."""
        state, modes = self.simulation.state, self.simulation.mode.values()
        touching = [float(mode.value != "open") for mode in modes]
        return np.concatenate([np.delete(state.q, self._hidden), state.v, touching])

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; `options` may hold the `state` it starts from, and parameters to `set`, by their names."""
        super().reset(seed=seed)
        given = dict(options or {})
        start = given.pop("state", None) or State(
            self._start.q,
            self._start.v + self.noise * self.np_random.standard_normal(len(self._start.v)),
            self._start.z,
        )
        for name, value in given.items():
            self.simulation.set(name, value)
        self.simulation.reset(start)
        self._show()
        return self.observe(), self._info()

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Hold an action for `dt` seconds."""
        given = numbers(len(self.scale)).check(f"the action, of {', '.join(self.system.action_names)},", action)
        action = np.clip(given, -1.0, 1.0)
        before = self.simulation.state
        try:
            after = self.simulation.step(self.scale * action, self.dt)
        except ContactSimError as error:  # the robot is where its scene has no answer: on its back, in the ground
            return self.observe(), 0.0, True, False, {**self._info(), "status": "FAILED", "message": str(error)}
        stopped = self.simulation.status is not Status.FINISHED
        reward = 0.0 if stopped else float(self._reward(self, before, after, action))
        self._show()
        return self.observe(), reward, stopped or bool(self._ended(self)), False, self._info()

    def render(self) -> Any:
        """A picture (height, width, 3) of bytes in the mode "rgb_array"; "human" shows each step by itself."""
        return self._picture() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Close the page that shows it."""
        if self._page is not None:
            self._page.close()
            self._page = None

    def _info(self) -> dict[str, Any]:
        simulation = self.simulation
        told = {"time": float(simulation.t), "status": simulation.status.name}
        return (
            told if simulation.status in (Status.FINISHED, Status.RUNNING) else {**told, "message": simulation.message}
        )

    def _picture(self) -> Array:
        from PIL import Image

        from ..viewing.viewers import export_png

        whole = self.simulation.trajectory
        now = replace(whole, arcs=whole.arcs[-1:], all_events=())
        with tempfile.TemporaryDirectory(prefix="contactsim-") as folder:
            file = export_png(
                now, Path(folder) / "now.png", t=now.arcs[-1].t1, width=self._size[0], height=self._size[1]
            )
            with Image.open(file) as picture:
                return np.asarray(picture.convert("RGB"))

    def _show(self) -> None:
        """Show the present state on the live page, which is opened at the first time."""
        if self.render_mode != "human":
            return
        if self._page is None:
            self._page = Watched(self.simulation, str(getattr(self.system.robot, "name", "")))
        self._page.show()


def progress(env: ContactEnv, before: State, after: State, action: Array) -> float:
    """Progress of the root along x [m/s] less the cost of the action."""
    return float((after.q[0] - before.q[0]) / env.dt - COST * np.mean(action**2))


def has_fallen(env: ContactEnv) -> bool:
    """True where the root of a floating or planar robot is low above ground."""
    return env.first_height is not None and height_of_root(env) < LOW * env.first_height  # type: ignore[operator]


def height_of_root(env: ContactEnv) -> float | None:
    """Height of the root above the ground below it [m]; None where it does not move up."""
    system, state = env.system, env.simulation.state
    index = lifting(system.robot, state.q)
    if index is None:
        return None
    place = np.array([state.q[0], 0.0 if index == 1 else state.q[1], state.q[index]])
    ground = system.terrain.heights(env.simulation.t, place[None, :2])
    return None if ground is None else float(place[2] - np.ravel(ground)[0])


def _along_ground(system: ContactSystem) -> list[int]:
    """Numbers of a configuration that say where along the ground a floating or planar root is."""
    index = lifting(system.robot, system.robot.nominal)
    return [] if index is None else list(range(index))


def _scale(system: ContactSystem, given: Any) -> Array:
    """Inputs of a full action (nu,)."""
    count = len(system.action_names)
    if given is not None:
        scale = np.broadcast_to(np.asarray(given, dtype=float), (count,)) if np.size(given) in (1, count) else None
        if scale is None or not (np.isfinite(scale).all() and (scale > 0.0).all()):
            raise InputError(f"scale is {given!r}; give a positive number, or {count} of them")
        return scale
    if isinstance(system.controller, PD):
        return SWING * system.controller.stiffness[system.actuated]
    effort = np.asarray(system.robot.model.effortLimit)[system.actuated]
    if len(effort) != count or not np.all((effort > 0.0) & (effort < 1e6)):
        raise InputError("the joints have no limits of effort by which an action could be scaled; give scale")
    return effort


def hexapod(**options: Any) -> ContactEnv:
    """contactsim/Hexapod-v0: six legs under joint PD about the nominal pose, whose targets the actions move."""
    settings = ("controller.kind=pd", "controller.reference=nominal", "start.pose=nominal", "start.height=0.0")
    return ContactEnv("hexapod", **{"settings": settings, "dt": 0.04, **options})


def solo12(**options: Any) -> ContactEnv:
    """contactsim/Solo12-v0: four legs under joint PD about the nominal pose, whose targets the actions move."""
    settings = ("controller.kind=pd", "controller.reference=nominal", "start.pose=nominal", "start.height=0.0")
    return ContactEnv("solo12", **{"settings": settings, "dt": 0.04, **options})


def biped(**options: Any) -> ContactEnv:
    """contactsim/Biped-v0: the compass gait on its slope with a motor in the hip, from the middle of its walk."""
    return ContactEnv("biped", **{"dt": 0.05, "scale": 20.0, "noise": 0.1, **options})
