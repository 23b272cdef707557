"""Copies of a system with another parameter, law or push."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from ..common import registry
from ..common.arguments import NAME, REAL, arguments, numbers
from ..common.arrays import Array
from ..contact.laws import CompliantLaw, ContactLaw, RigidLaw
from ..errors import InputError
from ..hybrid.system import HybridSystem, Push
from ..multibody.controllers import controller_of
from ..multibody.robot_model import RobotModel
from .world import State, World

VARIED = 64  # copies with another parameter that are kept: a derivative asks for the same ones over and over


class Variants(HybridSystem):
    """What a system with a `World` varies."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._varied: dict[tuple[str, float], Self] = {}

    def _of(self, world: World) -> Self:
        """The same system of another world."""
        raise NotImplementedError

    @arguments(name=NAME)
    def parameter(self, name: str) -> float:
        """Value of a parameter that `with_parameter` changes; for all contacts at once where they share it.

        Raises:
            InputError: no such parameter, or the contacts differ in it.
        """
        from . import parameters

        return parameters.read(self.world, name)

    @arguments(name=NAME)
    def parameter_scale(self, name: str) -> float:
        """Change of a parameter that counts as large: for one of the law its own size, or that of its default."""
        from . import parameters

        return parameters.scale(self.world, name, self.parameter(name))

    def parameters(self) -> dict[str, float]:
        """All parameters with their values, those of single contacts, bodies and joints."""
        from . import parameters

        return {name: parameters.read(self.world, name) for name in parameters.names(self.world)}

    @arguments(name=NAME, value=REAL)
    def with_parameter(self, name: str, value: float) -> Self:
        """A copy with one parameter changed.

        Names: contact[.NAME].(friction|static_friction|restitution|rolling|torsion), limit[.JOINT/SIDE].restitution,
        law.PARAMETER, body.NAME.(mass|inertia_scale), controller.PARAMETER and terrain.PARAMETER as controller and
        ground declare them, and gravity [m/s^2], a magnitude. The inertia of a body grows with its mass; see
        `Robot.with_body_parameter`.

        Raises:
            InputError: no such parameter (the known ones are listed), or its value is out of range.
        """
        from . import parameters

        if (known := self._varied.get((name, value))) is not None:
            return known
        made = self._of(self.world.changed(**parameters.changes(self.world, name, value)))
        if len(self._varied) >= VARIED:
            self._varied.clear()
        self._varied[name, value] = made
        return made

    def with_law(self, law: str | ContactLaw) -> Self:
        """A copy under another contact law, with the same coefficients, controller and pushes.

        Raises:
            PluginError: there is no law of this name.
        """
        return self._of(self.world.changed(law=as_law(law)))

    def with_controller(self, controller: Any) -> Self:
        """A copy under another controller, with the same coefficients, law and pushes; None: without one.

        Raises:
            InputError: it is no controller, or does not fit the robot.
        """
        return self._of(self.world.changed(controller=controller_of(controller, self.world.robot)))

    @arguments(name=NAME)
    def on_engine(self, name: str) -> Self:
        """The system with arcs on the engine of a name: "python", or one that is installed, such as "native".

        Raises:
            InputError: there is no such engine.
        """
        from .engines import chosen, engine

        own = chosen(name)
        if self.world.engine == own or self.world.compiled_engine is engine(own):
            return self  # with what it has prepared
        return self._of(self.world.changed(engine=own))

    def carried(self, state: State) -> State:
        """A state of this robot under another law as one of this system: the memory of the law starts at zero."""
        own = self.world.driving.memory
        return State(state.q, state.v, np.concatenate([state.z[:own], np.zeros(self.world.memory - own)]))

    @arguments(frame=NAME, end=REAL)
    def with_push(self, frame: str, force: Any, end: float, point: Any = (0, 0, 0)) -> Self:
        """A copy with a `force` (3,) [N, world axes] at `point` (3,) [m] of `frame`; a Simulation ends it at `end` [s].

        Raises:
            InputError: there is no such frame, or a vector is not three finite numbers.
        """
        world = self.world
        push = Push(frame, as_vector("force", force, 3), as_vector("point", point, 3), end)
        where = world.robot.nominal if hasattr(world.robot, "nominal") else np.zeros(world.nq)
        world.mechanism.generalised_force(where, frame, push.force, push.point)  # raises where there is no such frame
        return self._of(world.changed(pushes=(*world.pushes, push)))

    def with_pushes(self, pushes: Iterable[tuple[str, Any, float, Any]]) -> Self:
        """A copy with these pushes (frame, force, end, point) in place of its own."""
        other = self._of(self.world.changed(pushes=()))
        for frame, force, end, point in pushes:
            other = other.with_push(frame, force, end, point)
        return other if other.world.pushes or self.world.pushes else self

    @property
    def action_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Inputs of `with_action`: the actuators of the robot's file where these drive it, else the actuated joints."""
        from ..multibody.actuators import Actuators
        from ..multibody.robot_model import coordinate_names

        world = self.world
        if isinstance(world.controller, Actuators):
            return world.controller.names
        names = coordinate_names(world.robot.model)[1] if isinstance(world.robot, RobotModel) else range(world.nv)
        return tuple(str(name) for name, own in zip(names, world.actuated, strict=True) if own)

    def with_action(self, action: Any) -> Self:
        """A copy under inputs (nu,) that are held: forces of the actuated joints, besides those of the controller.

        Where the actuators of the robot's file drive it they are their controls, in place of those that were given.

        Args:
            action: the inputs in the order of `action_names` [N m, N, or as the actuators take them]; None: no forces,
                and the controls as they are.

        Raises:
            InputError: it is no array of that size.
        """
        from ..multibody.actuators import Actuators

        world, names = self.world, self.action_names
        if action is None:
            return self if world.action is None else self._of(world.changed(action=None))
        given = numbers(len(names)).check(f"the action, of {', '.join(names) or 'no inputs'},", action)
        if isinstance(world.controller, Actuators):
            changed = world.controller.with_controls(given)
            return self if changed is world.controller else self._of(world.changed(controller=changed))
        forces = np.zeros(world.nv)
        forces[world.actuated] = given
        if np.array_equal(forces, np.zeros(world.nv) if world.action is None else world.action):
            return self
        return self._of(world.changed(action=forces))

    def without_pushes(self, t: float) -> Self:
        """A copy without the pushes that end at `t` or before."""
        return self._of(self.world.changed(pushes=tuple(push for push in self.world.pushes if push.end > t)))


def as_law(given: str | ContactLaw) -> ContactLaw:
    """The contact law of a name, or the one given.

    Raises:
        PluginError: there is no law of this name.
        InputError: it is no law.
    """
    law = registry.load("contact_laws", given)() if isinstance(given, str) else given
    if not isinstance(law, (RigidLaw, CompliantLaw)):
        raise InputError(
            f"the contact law is a {type(law).__name__}; give a name or an instance of RigidLaw or CompliantLaw"
        )
    return law


def as_vector(name: str, value: Any, size: int) -> Array:
    """The `size` finite numbers of a vector.

    Raises:
        InputError: it is something else.
    """
    return np.asarray(numbers(size).check(name, value))
