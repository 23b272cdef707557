"""What a URDF says that cannot be meant, or that pinocchio's parser would only mutter about and leave out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf, isfinite, nan, pi
from xml.etree import ElementTree

from ...common.arguments import FAR
from ...common.lazy import dataclass, difflib
from ...errors import InputError

Element = ElementTree.Element

XACRO = "/wiki/xacro}"  # in tags of macros
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
MOVED_ALONG_AXIS = ("revolute", "continuous", "prismatic", "planar")
LIMITED = ("revolute", "prismatic")
TURNS, DEGREES = 4.0 * pi, 720.0  # rad: limits of a hinge between these are rather degrees than its range
ALIKE, ALIKE_ATTRIBUTES = 0.8, 0.6  # by difflib's measure: words of which one is the other misspelt
NO_SHAPES = ("origin", "material")  # what files put beside a shape
COEFFICIENTS = ("lateral_friction", "restitution", "mu1")  # of Bullet and Gazebo
LISTED = 6  # names that a sentence lists one by one


@dataclass(frozen=True)
class Numbers:
    """What an attribute must hold.

    Attributes:
        count: how many finite numbers.
        least: none of them is less.
        needed: whether it must be there.
    """

    count: int = 1
    least: float = -inf
    needed: bool = False

    def holds(self, text: str) -> bool:
        """Whether a text is so many numbers."""
        found = [number(word) for word in text.split()]
        return len(found) == self.count and all(value is not None and value >= self.least for value in found)

    def words(self, text: str = "") -> str:
        """What to give instead of a text."""
        what = "a number" if self.count == 1 else f"{self.count} numbers"
        if any(isfinite(_float(word)) and number(word) is None for word in text.split()):
            return f"{what} of a size below {FAR:.0e}"
        if self.least == 0.0:
            return f"{what} that {'is' if self.count == 1 else 'are'} zero or positive"
        return "a finite number" if self.count == 1 else f"{self.count} finite numbers"


POSE = {"xyz": Numbers(3), "rpy": Numbers(3)}
SIZE, SIZES = Numbers(least=0.0, needed=True), Numbers(3, least=0.0, needed=True)
SHAPES: Mapping[str, Mapping[str, Numbers]] = {
    "box": {"size": SIZES},
    "sphere": {"radius": SIZE},
    "cylinder": {"radius": SIZE, "length": SIZE},
    "mesh": {"scale": Numbers(3)},
}
BODY = {"origin": POSE} | {f"geometry/{shape}": sizes for shape, sizes in SHAPES.items()}
INERTIAL = {
    "origin": POSE,
    "mass": {"value": SIZE},
    "inertia": {name: Numbers(needed=True) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")},
}
JOINT = {
    "origin": POSE,
    "limit": {
        "lower": Numbers(),
        "upper": Numbers(),
        "effort": Numbers(least=0.0, needed=True),
        "velocity": Numbers(least=0.0, needed=True),
    },
    "dynamics": {"damping": Numbers(least=0.0), "friction": Numbers(least=0.0)},
}
AXIS = {"axis": {"xyz": Numbers(3, needed=True)}}
ELEMENTS: Mapping[str, tuple[str, ...]] = {  # those that URDF has inside others, but those of drawing and of ROS
    "robot": ("link", "joint"),
    "link": ("inertial", "collision", "visual"),
    "inertial": ("origin", "mass", "inertia"),
    "collision": ("origin", "geometry"),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
}
OF_OTHERS = ("material", "gazebo", "transmission", "safety_controller", "calibration")  # which are like none of these


def number(text: str) -> float | None:
    """The finite number that a text is, of a size below FAR; None for any other text."""
    return value if abs(value := _float(text)) <= FAR else None


def _float(text: str) -> float:
    """The number that a text is; nan for any other text."""
    try:
        return float(text)
    except ValueError:
        return nan


def _holds_macros(robot: Element) -> bool:
    """True for elements of xacro, and where what moves holds ${an expression} or $(a substitution)."""
    if any(XACRO in element.tag for element in robot.iter() if isinstance(element.tag, str)):
        return True
    read = [*robot.iterfind("joint//"), *robot.iterfind("link/inertial//"), *robot.iterfind("link/collision//")]
    return any(text in value for element in read for value in element.attrib.values() for text in ("${", "$("))


def checked(robot: Element, place: str) -> tuple[str, ...]:
    """Look at all of a URDF that bears on its motion.

    Args:
        robot: its root element.
        place: what it is called in errors.

    Returns:
        Sentences worth telling the user: of what is left out or looks like a mistake.

    Raises:
        InputError: a number is missing, none, or cannot be meant; an element is misspelt or there twice; a joint names
            a link that is not there, or swaps its limits; the joints make no tree; no link has a mass.
    """
    if _holds_macros(robot):
        raise InputError(f"{place} holds macros of xacro, which are not expanded; run xacro on it, and give the result")
    if not robot.findall("link"):
        raise InputError(f"{place} has no <link>; give it one")
    if not robot.get("name"):
        raise InputError(f'{place} has no name; write <robot name="...">')
    _spelling(robot, place)
    for kind in ("link", "joint"):
        if not all(part.get("name") for part in robot.findall(kind)):
            raise InputError(f"{place} has a {kind} without a name; give it one")
    for link in robot.findall("link"):
        _check_link(link, place)
    for joint in robot.findall("joint"):
        _check_joint(joint, robot, place)
    _check_tree(robot, place)
    if robot.findall("joint") and robot.find("link/inertial") is None:
        raise InputError(f"no link of {place} has a mass; give an <inertial> to each that moves")
    return tuple(_remarks(robot, place))


def _check_link(link: Element, place: str) -> None:
    where = f"link '{link.get('name')}' in {place}"
    _spelling(link, where)
    for inertial in _once(link, "inertial", where):
        _spelling(inertial, f"the <inertial> of {where}")
        for name in ("mass", "inertia"):
            if inertial.find(name) is None:
                raise InputError(f"the <inertial> of {where} has no <{name}>; give it one")
        _check_numbers(inertial, INERTIAL, f"the <{{}}> of {where}")
    for kind in ("collision", "visual"):
        for body in link.findall(kind):
            _check_body(body, kind, where)


def _check_body(body: Element, kind: str, where: str) -> None:
    owner = f"a <{kind}> of {where}"
    if kind == "collision":
        _spelling(body, owner)
    shapes = [shape for geometry in _once(body, "geometry", owner) for shape in geometry]
    known = [shape for shape in shapes if shape.tag in SHAPES]
    if not shapes or len(known) > 1:
        count = "two shapes" if shapes else "no shape"
        raise InputError(f"{owner} has {count}; give it one <geometry> with one shape")
    _check_numbers(body, BODY, f"the <{{}}> of {owner}")
    if known and known[0].tag == "mesh" and not known[0].get("filename"):
        raise InputError(f"the <mesh> of {owner} has no filename; give it one")


def _check_joint(joint: Element, robot: Element, place: str) -> None:
    where, kind = f"joint '{joint.get('name')}' in {place}", str(joint.get("type"))
    links = {link.get("name") for link in robot.findall("link")}
    for side in ("parent", "child"):
        end = joint.find(side)
        if end is None:
            raise InputError(f"{where} has no <{side}>; give it one")
        if end.get("link") not in links:
            close = difflib.get_close_matches(str(end.get("link")), map(str, links), n=3, cutoff=0.3)
            known = f"similar ones are {', '.join(close)}" if close else f"there are {_listed(map(str, links))}"
            raise InputError(f"{where} has the {side} link '{end.get('link')}', which is not there; {known}")
    if kind not in KINDS:
        raise InputError(f"{where} has the type '{kind}'; give {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    _spelling(joint, where)
    table = JOINT | (AXIS if kind in MOVED_ALONG_AXIS else {})
    for name in table:
        _once(joint, name, where)
    _check_numbers(joint, table, f"the <{{}}> of {where}")
    if kind in LIMITED and joint.find("limit") is None:
        raise InputError(f"{where} is {kind} and has no <limit>; give it one, or make a hinge continuous")
    low, high = (_limit(joint, side) for side in ("lower", "upper"))
    if kind in LIMITED and low > high:
        raise InputError(f"the <limit> of {where} has lower='{low:g}' above upper='{high:g}'; swap them")
    axis = joint.find("axis")
    if kind in MOVED_ALONG_AXIS and axis is not None and not any(map(number, axis.get("xyz", "").split())):
        raise InputError(f"the <axis> of {where} has xyz='{axis.get('xyz')}'; give a direction, such as 0 0 1")


def _limit(joint: Element, side: str) -> float:
    """A limit of a joint; zero where it has none."""
    limit = joint.find("limit")
    return 0.0 if limit is None else number(limit.get(side, "0")) or 0.0


def _once(owner: Element, name: str, where: str) -> list[Element]:
    """The elements of that name: of two that are not the same, the parser would drop the second."""
    found = owner.findall(name)
    if any(other.attrib != found[0].attrib or len(other) for other in found[1:]):
        raise InputError(f"{where} has two <{name}>; leave one of them out")
    return found


def _check_numbers(owner: Element, table: Mapping[str, Mapping[str, Numbers]], where: str) -> None:
    """All numbers below an element; `where` has a place for the name of the element that holds them."""
    for path, wanted in table.items():
        for part in owner.findall(path):
            place = where.format(part.tag)
            for name, kind in wanted.items():
                text = part.get(name)
                if text is None:
                    _misspelt(name, set(part.attrib) - set(wanted), place)
                    if kind.needed:
                        raise InputError(f"{place} has no {name}; give {kind.words()}")
                elif not kind.holds(text):
                    raise InputError(f"{place} has {name}='{text}'; give {kind.words(text)}")


def _spelling(owner: Element, where: str) -> None:
    """No element within is a known one misspelt, which the parser would leave out."""
    known = ELEMENTS[str(owner.tag)]
    for part in owner:
        tag = str(part.tag)
        if (
            tag not in known
            and tag not in OF_OTHERS
            and (close := difflib.get_close_matches(tag.lower(), known, n=1, cutoff=ALIKE))
        ):
            raise InputError(f"{where} has the element <{tag}>; write <{close[0]}>, or leave it out")


def _misspelt(name: str, others: Iterable[str], where: str) -> None:
    """An attribute is not there, and none of the others is it misspelt."""
    known = list(others)
    if known and (close := difflib.get_close_matches(name, known, n=1, cutoff=ALIKE_ATTRIBUTES)):
        raise InputError(f"{where} has {close[0]}=, which URDF does not know; write {name}=, or leave it out")


def _check_tree(robot: Element, place: str) -> None:
    """Names are given once, there is one first link, and no other hangs on two joints."""
    for kind in ("link", "joint"):
        names = [str(part.get("name")) for part in robot.findall(kind)]
        if twice := next((name for k, name in enumerate(names) if name in names[:k]), None):
            raise InputError(f"{place} has two {kind}s named '{twice}'; give each a name of its own")
    above: dict[str, str] = {}
    for joint in robot.findall("joint"):
        name, child = str(joint.get("name")), str(joint.find("child").get("link"))  # type: ignore[union-attr]
        if child in above:
            raise InputError(
                f"link '{child}' in {place} is the child of joints '{above[child]}' and '{name}'; leave one out,"
                " and close circles by loops of the system"
            )
        above[child] = name
    names = [str(link.get("name")) for link in robot.findall("link")]
    first = [repr(name) for name in names if name not in above]
    if len(first) > 1:
        raise InputError(
            f"links {_listed(first)} in {place} hang on no joint, and a robot has one first link; join them by a"
            " <joint>, or write a URDF for each and put them together by Robot.merge"
        )
    if not first:
        raise InputError(
            f"joints {', '.join(map(repr, above.values()))} in {place} go round in a circle without a first link;"
            " leave one of them out, and close the circle by a loop of the system"
        )


# --- what is told, not refused ----------------------------------------------------------------------------------


def _remarks(robot: Element, place: str) -> Iterator[str]:
    if degrees := [repr(joint.get("name")) for joint in robot.findall("joint") if _in_degrees(joint)]:
        yield (
            f"the limits of joint {_listed(degrees)} in {place} are more than two turns; if they are meant in degrees,"
            " give them in radians"
        )
    shapes = [
        (f"<{shape.tag}> of a <{kind}> of link '{link.get('name')}'", shape)
        for link in robot.findall("link")
        for kind in ("collision", "visual")
        for shape in link.iterfind(f"{kind}/geometry/*")
    ]
    if unknown := [name for name, shape in shapes if shape.tag not in (*SHAPES, *NO_SHAPES)]:
        yield (
            f"the {_listed(unknown)} in {place} is left out: URDF has the shapes {', '.join(SHAPES)}; give contacts as"
            " a list where none of these stands for it"
        )
    if flat := [name for name, shape in shapes if shape.tag in ("box", "cylinder") and _is_flat(shape)]:
        yield f"the {_listed(flat)} in {place} has a size of zero; give it one, or leave it out"


def coefficients_left_out(robot: Element, place: str) -> str:
    """A sentence on the coefficients of contact that other programs have written into a URDF; empty: there are none."""
    found = [
        f"{one.tag} of link '{link.get('name')}'"
        for link in robot.findall("link")
        for one in link.iterfind("contact/*")
        if one.tag in COEFFICIENTS
    ] + [
        f"{one.tag} of link '{extra.get('reference')}'"
        for extra in robot.findall("gazebo")
        for one in extra
        if one.tag in COEFFICIENTS
    ]
    if not found:
        return ""
    return (
        f"the {_listed(found)} in {place} is not read, since URDF has no coefficients of contact; give contact.friction"
        " and contact.restitution to the scene, or contacts as a list of ContactPoint"
    )


def _is_flat(shape: Element) -> bool:
    return any(number(word) == 0.0 for name in SHAPES[shape.tag] for word in shape.get(name, "").split())


def _in_degrees(joint: Element) -> bool:
    largest = max(abs(_limit(joint, side)) for side in ("lower", "upper"))
    return joint.get("type") == "revolute" and TURNS < largest <= DEGREES


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:LISTED]) + (f" and {len(every) - LISTED} more" if len(every) > LISTED else "")
