"""The parts of a world that may move each other, and those of them that come close along a motion.

Two parts that are not near each other, nor joined by others that are, do not know of each other: each set of parts
that are is a system of its own, for as long as that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.laws import RigidLaw
from ..contact.linear_algebra import components
from ..contact.modes import ContactState, SystemMode
from ..errors import InputError
from ..hybrid.flow import Transition
from ..hybrid.segments import Segment, path
from ..hybrid.tolerances import Tolerances
from ..multibody.forest import Workspace
from ..multibody.geometry.couples import Couples
from ..multibody.geometry.pair_kinematics import PairKinematics, solids_of
from ..multibody.kinematics.reach import Sway, reach_of
from ..multibody.mechanism import JointPath
from ..multibody.robot_model import RobotModel
from ..multibody.selection import part_of_name, places, selected
from ..multibody.zero import NEARING
from .contact_system import ContactSystem
from .world import World

Couple = tuple[str, str]
GROUND_PART = ""  # stands for the ground in a couple
CROWDS = 512  # systems of some parts that are kept


def demand_divisible(system: ContactSystem) -> None:
    """Raise InputError where the parts of a system know of each other by more than their contacts."""
    world = system.world
    robot = world.robot
    if not isinstance(robot, RobotModel) or len(robot.parts) < 2:
        raise InputError("groups are made of the parts of a world of several bodies; make one by Robot.merge")
    reasons = {
        "its law is compliant": not isinstance(world.law, RigidLaw),
        "it has a controller": world.controller is not None,
        "it is pushed, or given inputs": bool(world.pushes) or world.action is not None,
        "it has loops or latches": bool(world.loops or world.latches or robot.loops),
        "its joints have springs": robot.own_springs is not None,
        "its state has memory": bool(world.memory),
        "contacts of it are enabled by a function": any(own is not None for own in world.mechanism.enabled),
        "a joint of it has no constant axes": reach_of(robot.model) is None,
    }
    for reason, holds in reasons.items():
        if holds:
            raise InputError(f"a world is not run in groups where {reason}; run it as a whole, by simulate")


class Crowd:
    """Some moving parts of a world, with some that stand, as a system of their own.

    Args:
        whole: the system of all parts.
        moving, standing: names of its parts, in their order there.
        numbers: of contacts of the whole, by name.

    Attributes:
        system: of these parts.
        q, v: their places in a configuration and a velocity of the whole.
        contacts: the number there of each of its contacts, constraints and resistances.
        joints: the number there of each of its joints.
    """

    def __init__(
        self, whole: ContactSystem, moving: Sequence[str], standing: Sequence[str], numbers: Mapping[str, int]
    ) -> None:
        world = whole.world
        robot = selected(world.robot, moving, standing)
        self.moving, self.standing = tuple(moving), frozenset(standing)
        self.q, self.v = places(world.robot.parts[name] for name in moving)
        system = ContactSystem(
            robot, world.terrain, world.law, None, world.gravity, world.joint_limits, tolerances=world.tolerances
        )
        self.contacts = np.array([numbers[name] for name in system.world.mechanism.all_names], dtype=int)
        own = (world.own_friction[0][self.contacts], world.own_friction[1][self.contacts])
        restitution = world.restitution[self.contacts[: len(system.world.restitution)]]
        same = (*zip(own, system.world.own_friction, strict=True), (restitution, system.world.restitution))
        if not all(np.array_equal(one, other) for one, other in same):
            system = system.with_coefficients(*own, restitution)
        self.system = system if world.engine is None else system.on_engine(world.engine)
        names = list(robot.model.names)[1:]
        self.joints = np.array([world.robot.model.getJointId(name) for name in names], dtype=int)
        self._reach = reach_of(robot.model)
        self._nq, self._nv = world.nq, world.nv
        self._ends: dict[int, Couple] = {}

    def part(self, x: Array) -> Array:
        """Its state, of that of the whole."""
        return np.concatenate([x[self.q], x[self._nq + self.v]])

    def put(self, x: Array, own: Array) -> None:
        """Write its state into that of the whole."""
        x[self.q], x[self._nq + self.v] = own[: len(self.q)], own[len(self.q) :]

    def put_tangent(self, dx: Array, own: Array) -> None:
        """Write a tangent vector of its own into one of the whole."""
        dx[self.v], dx[self._nv + self.v] = own[: len(self.v)], own[len(self.v) :]

    def mode(self, whole: SystemMode, redundant: bool) -> SystemMode:
        """Its mode, of that of the whole."""
        return SystemMode(tuple(whole.contacts[k] for k in self.contacts.tolist()), redundant)

    def changes(self, before: SystemMode, after: SystemMode) -> dict[int, ContactState]:
        """{number in the whole: state} of its contacts that an event changed."""
        asked = {*before.closed, *after.closed}
        return {
            int(self.contacts[i]): after.contacts[i] for i in sorted(asked) if before.contacts[i] != after.contacts[i]
        }

    def fired(self, names: Iterable[Any]) -> frozenset[Any]:
        """Names of its guards, in the whole."""
        return frozenset(
            (name[0], int(self.contacts[name[1]])) if isinstance(name, tuple) and name[1] >= 0 else name
            for name in names
        )

    def widened(self, transition: Transition, x: Array, mode: SystemMode) -> dict[str, Any]:
        """What a transition of the whole has besides its own: state, mode, and derivatives of the reset."""
        nv, v = self._nv, self.v
        where = np.concatenate([v, nv + v])
        derivative, by_time = transition.derivative, transition.by_time

        def by_state() -> Array:
            assert derivative is not None
            found = np.eye(2 * nv)
            found[np.ix_(where, where)] = derivative()
            return found

        def by_clock() -> Array:
            assert by_time is not None
            found = np.zeros(2 * nv)
            found[where] = by_time()
            return found

        return {
            "x": x,
            "mode": mode,
            "derivative": None if derivative is None else by_state,
            "by_time": None if by_time is None else by_clock,
            "by_parameters": None,
        }

    def ways(self, step: Segment, t: float, t1: float, arms: Array) -> Array:
        """Bounds of the ways (joints,) between two times of a step of all points at distances `arms` from the origins.

        The velocity is at most that in the middle and what its largest rate makes of it in half the time.
        """
        bounds, nq, nv = path(step, Tolerances()), len(self.q), len(self.v)
        middle, half = step(0.5 * (t + t1)), 0.5 * (t1 - t)
        rate = bounds.rate[nv:]
        fastest = np.minimum(np.abs(bounds.start[nq:]) + bounds.moved[nv:], np.abs(middle[nq:]) + half * rate)
        along = JointPath(t, t1 - t, middle[:nq], fastest, rate, bounds.error)
        assert self._reach is not None
        own = self._reach.index[1:]
        return (t1 - t) * Sway(self._reach, along).speeds(own, arms[self.joints])

    def touching(self, mode: SystemMode) -> set[Couple]:
        """Parts that touch each other in a mode, or the ground."""
        world, found = self.system.world, set[Couple]()
        for i in world.pressing(mode.closed):
            if i < len(world.mechanism.names):
                found.add(self._ends_of(i))
        return found

    def _ends_of(self, contact: int) -> Couple:
        """The parts of a contact."""
        if contact not in self._ends:
            mechanism, names = self.system.world.mechanism, self.system.world.robot.model.names
            parts = [part_of_name(names[joint]) for joint in mechanism.joints_of(contact) if joint]
            parts += _standing_in(mechanism.names[contact], self.standing)
            one, two, *_ = *parts, GROUND_PART, GROUND_PART
            self._ends[contact] = one, two
        return self._ends[contact]


@dataclass(frozen=True, eq=False)
class Meetings:
    """Which parts of a world may meet.

    Attributes:
        couples: bodies that may meet, with boxes around them; None: there are none.
        workspace: what computes their places.
        names: the parts (c,) of each couple of bodies that has boxes.
        always: parts that no boxes tell apart.
        arms: largest distances (joints,) of what touches from the origins of the joints [m].
    """

    couples: Couples | None
    workspace: Workspace
    names: Sequence[Couple]
    always: frozenset[Couple]
    arms: Array

    def all(self) -> set[Couple]:
        """All couples of parts."""
        return {*self.names, *self.always}

    def near(self, q: Array, ways: Array) -> set[Couple]:
        """Parts whose bodies are no farther apart at `q` than by the ways (joints,) of both [m]."""
        couples = self.couples
        if couples is None:
            return set()
        self.workspace.data.forward_kinematics(q)
        placed = list(self.workspace.data.oMi)
        R, o = np.array([place.rotation for place in placed]), np.array([place.translation for place in placed])
        apart = couples.apart(R, o, ways[couples.joints].sum(axis=1) + NEARING)
        return {self.names[c] for c in np.flatnonzero(~apart).tolist()} | self.always


def meetings_of(world: World) -> Meetings:
    """The couples of parts of a world."""
    robot, arms, workspace = world.robot, np.zeros(world.robot.model.njoints), Workspace(world.robot.model)
    known = _pairs_of(world.mechanism)
    if known is None:
        return Meetings(None, workspace, (), frozenset(), arms)
    pairs = known.pairs
    couples = Couples(pairs, solids_of(pairs)[1])
    of_joint = [part_of_name(name) for name in robot.model.names]
    standing = {part.name for part in robot.parts.values() if part.v.stop == part.v.start}

    def parts(k: int) -> Couple:
        pair = pairs[k]
        one, two = (of_joint[joint] if joint else None for joint in (pair.joint_a, pair.joint_b))
        if one is None or two is None:
            still = _standing_in(pair.name, standing)
            if len(still) != 1:
                raise InputError(f"it is not known to which part the fixed end of pair '{pair.name}' belongs")
            one, two = one or still[0], two or still[0]
        return one, two

    first = np.unique(couples.of, return_index=True)[1]
    names = [parts(int(k)) for k in couples.bounded[first]]
    np.maximum.at(arms, couples.joints.ravel(), couples.arms.ravel())
    always = frozenset(parts(int(k)) for k in couples.endless)
    return Meetings(couples, workspace, names, always, arms)


def _standing_in(contact: str, standing: Iterable[str]) -> list[str]:
    """The parts that stand of which the name of a contact speaks."""
    chosen = set(standing)
    return [name for name in dict.fromkeys(map(part_of_name, contact.split("+"))) if name in chosen]


def _pairs_of(mechanism: Any) -> PairKinematics | None:
    """Kinematics of the pairs of a mechanism, or of that around which it is made."""
    found = getattr(mechanism, "pair_kinematics", None)
    inner = getattr(mechanism, "inner", None)
    return found if found is not None or inner is None else _pairs_of(inner)


class Crowds:
    """All that parts of a system can be together; those of the last are kept.

    Args:
        whole: the system of all parts.

    Attributes:
        moving, standing: names of its parts.
        meetings: which of them may meet.
    """

    def __init__(self, whole: ContactSystem) -> None:
        demand_divisible(whole)
        parts = whole.world.robot.parts.values()
        self.whole = whole
        self.moving = [part.name for part in parts if part.v.stop > part.v.start]
        self.standing = [part.name for part in parts if part.v.stop == part.v.start]
        self.meetings = meetings_of(whole.world)
        self._known: dict[tuple[tuple[str, ...], frozenset[str]], Crowd] = {}
        self._numbers = {name: k for k, name in enumerate(whole.world.mechanism.all_names)}

    def of(self, moving: Iterable[str], standing: Iterable[str]) -> Crowd:
        """Some parts together."""
        chosen, still = set(moving), frozenset(standing)
        key = tuple(name for name in self.moving if name in chosen), still
        if key not in self._known:
            if len(self._known) >= CROWDS:
                self._known.clear()
            own = [name for name in self.standing if name in still]
            self._known[key] = Crowd(self.whole, key[0], own, self._numbers)
        return self._known[key]

    def sets(self, couples: Iterable[Couple]) -> list[list[str]]:
        """The moving parts, those in one set that couples join."""
        numbers = {name: k for k, name in enumerate(self.moving)}
        links = [(numbers[one], numbers[two]) for one, two in couples if one in numbers and two in numbers]
        return [[self.moving[k] for k in own] for own in components(range(len(numbers)), links)]

    def split(self, couples: Iterable[Couple]) -> list[Crowd]:
        """All parts, those together that couples join, each with what stands near it."""
        couples, beside = list(couples), dict[str, set[str]]()
        for one, two in couples:
            beside.setdefault(one, set()).add(two)
            beside.setdefault(two, set()).add(one)
        still = set(self.standing)
        sets = self.sets(couples)
        return [self.of(own, still & set().union(*(beside.get(name, ()) for name in own))) for own in sets]


def joined_by(crowds: Iterable[Crowd]) -> Callable[[Couple], bool]:
    """Whether both parts of a couple belong to one of some crowds."""
    owner = {name: crowd for crowd in crowds for name in crowd.moving}

    def holds(couple: Couple) -> bool:
        one, two = (owner.get(name) for name in couple)
        if one is None or two is None:
            crowd, other = (one, couple[1]) if one is not None else (two, couple[0])
            return crowd is None or other in crowd.standing
        return one is two

    return holds
