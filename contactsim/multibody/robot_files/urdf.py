"""The text of a URDF, from wherever it is given, and the joints in it that mimic others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pinocchio as pin

from ...common.arguments import PATH, custom
from ...common.lazy import dataclass
from ...errors import InputError
from ..loops import JointCoupling
from .reading import FOOT, existing, root_joint
from .urdf_checks import checked, coefficients_left_out, number

WORLD_LINK = re.compile(r"^(world|map|ground|universe)$", re.IGNORECASE)  # names of a first link that is the world
ARM = 3  # moving joints in a row on the first link, from which on it looks like the foot of an arm
UNLIMITED = "1e30"  # [rad, rad/s, N m] a limit that is none, in a number that urdfdom reads
SINGLE = ("revolute", "prismatic", "continuous", "fixed")  # joints that one number tells, or none


def _source(given: Any) -> Any:
    return given if hasattr(given, "read") or _is_text(given) else PATH.take(given)


def _is_text(given: Any) -> bool:
    return isinstance(given, bytes) or (isinstance(given, str) and given.lstrip("\ufeff \t\r\n").startswith("<"))


SOURCE = custom("a path, the text of a URDF, or a file open for reading", _source)


@dataclass(frozen=True)
class Urdf:
    """A URDF.

    Attributes:
        text: its XML; continuous joints that mimic, or are mimicked, are revolute ones without limits in it.
        place: what it is called in errors.
        path: its file; None where it was given as text.
        couplings: equations of the joints that mimic others.
        followers: names of the joints that mimic others and move.
        remarks: sentences worth telling the user.
    """

    text: str
    place: str
    path: Path | None
    couplings: tuple[JointCoupling, ...]
    followers: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def model(self, root: Any) -> pin.Model:
        """Pinocchio's model on a root by name, or on a pinocchio joint model.

        Raises:
            InputError: pinocchio cannot read it, or there is no such root.
        """
        joint = root_joint(root)
        try:
            return pin.buildModelFromXML(self.text) if joint is None else pin.buildModelFromXML(self.text, joint)
        except (ValueError, RuntimeError) as error:
            reason = str(error).rstrip(".")
            raise InputError(f"{self.place} cannot be read ({reason}); check its XML and its joints") from error

    def why_fixed(self) -> str:
        """Why its first link seems to be meant to stand still; empty where nothing speaks for it."""
        return _why_fixed(ElementTree.fromstring(self.text))

    def unread_coefficients(self) -> str:
        """Which coefficients of contact it has that are not read; empty where it has none."""
        return coefficients_left_out(ElementTree.fromstring(self.text), self.place)


def urdf_of(source: Any) -> Urdf:
    """The URDF of a path, of its text, or of an open file; NULs at its end are dropped.

    Raises:
        InputError: it is missing or no XML, or says what cannot be meant; see `checked`.
    """
    data, place, path = _read(source)
    try:
        robot = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"{place} is no XML ({error}); mend it there") from None
    space, _, root = robot.tag.rpartition("}")
    if space and root == "robot":
        raise InputError(f"{place} has <robot> in the namespace {space[1:]}, which no URDF has; remove its xmlns")
    if robot.tag != "robot":
        raise InputError(f"{place} has the root element <{robot.tag}>; give a URDF, whose root element is <robot>")
    remarks = checked(robot, place)
    couplings, followers, turned = _mimics(robot, place)
    return Urdf(_text(data, robot, rewritten=turned), place, path, couplings, followers, remarks)


def _read(source: Any) -> tuple[str | bytes, str, Path | None]:
    """The raw text, its name in errors, and its file."""
    path: Path | None = None
    if hasattr(source, "read"):
        data, name = source.read(), getattr(source, "name", None)
        path = Path(name).resolve() if isinstance(name, str) and Path(name).is_file() else None
    elif _is_text(source):
        data = source
    else:
        path = existing(source, "URDF")
        data = path.read_bytes()
    place = "the text of the URDF" if path is None else f"the URDF file {path}"
    if not isinstance(data, (str, bytes)):
        raise InputError(f"{place} is a {type(data).__name__}; give a path, its text, or a file open for reading")
    if isinstance(data, bytes):
        return data.rstrip(b"\0 \t\r\n").lstrip(), place, path
    return data.rstrip("\0 \t\r\n").lstrip("\ufeff \t\r\n"), place, path


def _text(data: str | bytes, robot: ElementTree.Element, rewritten: bool) -> str:
    if not rewritten:
        try:
            return data if isinstance(data, str) else data.decode("utf-8-sig")
        except UnicodeDecodeError:  # the file declares another encoding, which the parser has followed
            pass
    return ElementTree.tostring(robot, encoding="unicode")


# --- joints that mimic others -----------------------------------------------------------------------------------


def _mimics(robot: ElementTree.Element, place: str) -> tuple[tuple[JointCoupling, ...], tuple[str, ...], bool]:
    """Couplings and followers of a URDF, and whether continuous joints among them were made revolute in it."""
    joints = {str(joint.get("name")): joint for joint in robot.findall("joint")}
    couplings, coupled = [], set[str]()
    for name, joint in joints.items():
        mimic = joint.find("mimic")
        if mimic is None or joint.get("type") == "fixed":
            continue
        coupling = _coupling(name, mimic, joints, place)
        couplings.append(coupling)
        coupled.update(coupling.joints)
    turned = [joints[name] for name in sorted(coupled) if joints[name].get("type") == "continuous"]
    for joint in turned:
        _by_angle(joint)
    return tuple(couplings), tuple(coupling.joints[0] for coupling in couplings), bool(turned)


def _coupling(
    name: str, mimic: ElementTree.Element, joints: dict[str, ElementTree.Element], place: str
) -> JointCoupling:
    """q - multiplier q_leader = offset; a leader that is fixed is at zero."""
    leader = str(mimic.get("joint"))
    if leader not in joints or leader == name:
        others = sorted(joints.keys() - {name})
        from difflib import get_close_matches

        near = ", ".join(get_close_matches(leader, others, n=5, cutoff=0.3) or others[:8]) or "none"
        raise InputError(
            f"joint '{name}' in {place} mimics '{leader}', which is no other joint; similar ones are {near}"
        )
    for end in (name, leader):
        if (kind := joints[end].get("type")) not in SINGLE:
            raise InputError(
                f"joint '{name}' in {place} mimics '{leader}', and '{end}' is {kind}; mimic goes between revolute,"
                " continuous and prismatic joints"
            )
    numbers = {}
    for field, default in (("multiplier", "1"), ("offset", "0")):
        numbers[field] = number(mimic.get(field, default))
        if numbers[field] is None:
            raise InputError(
                f"the mimic of joint '{name}' in {place} has {field}='{mimic.get(field)}'; give a finite number"
            )
    multiplier, offset = numbers["multiplier"] or 0.0, numbers["offset"] or 0.0
    if joints[leader].get("type") == "fixed":
        return JointCoupling((name,), (1.0,), offset, f"{name}-{leader}")
    return JointCoupling((name, leader), (1.0, -multiplier), offset)


def _by_angle(joint: ElementTree.Element) -> None:
    """Make a continuous joint a revolute one without limits: its number of turns counts where others follow it."""
    joint.set("type", "revolute")
    limit = joint.find("limit")
    limit = ElementTree.SubElement(joint, "limit") if limit is None else limit
    limit.set("lower", f"-{UNLIMITED}")
    limit.set("upper", UNLIMITED)
    for field in ("effort", "velocity"):
        limit.set(field, limit.get(field, UNLIMITED))


# --- a root that was left floating ------------------------------------------------------------------------------


def _why_fixed(robot: ElementTree.Element) -> str:
    """The first link is called the world, or carries a single chain of joints and no link named as a foot."""
    names = [str(link.get("name")) for link in robot.findall("link")]
    moving: dict[str, list[tuple[bool, str]]] = {name: [] for name in names}
    children = set()
    for joint in robot.findall("joint"):
        parent, child = (str(joint.find(side).get("link")) for side in ("parent", "child"))  # type: ignore[union-attr]
        moving[parent].append((joint.get("type") != "fixed", child))
        children.add(child)
    first = next((name for name in names if name not in children), "")
    if WORLD_LINK.match(first):
        return f"its first link is called '{first}'"
    if any(FOOT.search(name) for name in names):
        return ""
    body, length = first, 0
    while len(after := _next_bodies(moving, body)) == 1 and length < len(names):
        body, length = after[0], length + 1
    return f"its first link '{first}' carries a single chain that begins with {length} joints" if length >= ARM else ""


def _next_bodies(moving: dict[str, list[tuple[bool, str]]], link: str) -> list[str]:
    """Links that the next moving joints carry, beyond all that is fixed to a link."""
    found, rest, seen = [], [link], {link}
    while rest:
        for moves, child in moving[rest.pop()]:
            if moves:
                found.append(child)
            elif child not in seen:  # a circle is pinocchio's to refuse
                seen.add(child)
                rest.append(child)
    return found
