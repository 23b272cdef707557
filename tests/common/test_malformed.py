"""Every public function and constructor refuses what it cannot use, in one sentence and at once."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from malformed import GROUPS, fault

import contactsim as cs
from contactsim.common.arguments import COUNT, FLAG, NUMBERS, POSITIVE, REAL, Kind, arguments, optional, real_array
from contactsim.io.load_scene import KEYS_OF_RUNS
from contactsim.io.scene_tables import RunTable

CALLS = {f"{group}: {call.name}": call for group, made in GROUPS.items() for call in made()}

# Public names that take no values of a user's: contracts, results that the engine makes, and words.
OTHERS = {
    *("Arc", "Event", "PeriodicOrbit", "Spread", "Status", "Trajectory", "Transition", "Mode", "ContactSolution"),
    *("Chart", "Controller", "EventDerivative", "Flow", "GroundTable", "HybridSystem", "Manifold", "Model"),
    *("CompliantLaw", "CompliantPoint", "ContactLaw", "ContactProblem", "LawParameters", "Linearization", "RigidLaw"),
    *("ModelParameters", "ModelState", "terrain", "Cost", "Expansion", "OrbitBranch", "Plan", "Fit", "StabilisedOrbit"),
}


def _is_error(found: object) -> bool:
    return inspect.isclass(found) and issubclass(found, Exception)


def test_every_public_name_is_tried() -> None:
    tried = {call.name.partition(".")[0] for call in CALLS.values()}
    errors = {name for name in cs.__all__ if _is_error(getattr(cs, name))}
    assert set(cs.__all__) - errors - OTHERS - tried == set()


@pytest.mark.parametrize("call", CALLS)
def test_wrong_arguments_are_refused_in_one_sentence(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(name, repr(value)[:60], fault(CALLS[call], name, value)) for name, value in CALLS[call].wrong()]
    wrong = [case for case in found if case[2]]
    assert found and not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("call", CALLS)
def test_the_calls_work_as_they_are(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what refuses a wrong value refuses that value, not the call."""
    monkeypatch.chdir(tmp_path)
    if any(value is None and not kind.startswith("?") for value, kind in CALLS[call].arguments.values()):
        pytest.skip("its right values are tried elsewhere")
    CALLS[call].function(**CALLS[call].given())


DOORS = {name: getattr(cs, name) for name in cs.__all__ if name not in OTHERS} | {
    f"terrain.{name}": getattr(cs.terrain, name) for name in ("Flat", "Slope", "Sinusoid", "HeightField", "Moving")
}


def _is_open(door: Any) -> bool:
    """Whether it hands names that it does not know on to others."""
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(door).parameters.values())


@pytest.mark.parametrize("name", [name for name, door in DOORS.items() if not (_is_error(door) or _is_open(door))])
def test_a_name_that_is_misspelt_is_told_with_the_nearest(name: str) -> None:
    """By an error of ours that is a TypeError as well, as Python's own is."""
    door = DOORS[name]
    for own, parameter in inspect.signature(door).parameters.items():
        if parameter.kind is not parameter.VAR_POSITIONAL and not own.startswith("_"):
            with pytest.raises(
                cs.InputError, match=rf"has no argument '{own}{own[-1]}'; did you mean '{own}'\?$"
            ) as told:
                door(**{own + own[-1]: None})
            assert isinstance(told.value, TypeError)


def test_names_like_none_are_told_with_all_and_those_of_others_are_left_to_them() -> None:
    with pytest.raises(
        cs.InputError, match=r"^ContactSystem has no argument 'friction'; it takes robot, terrain, law, "
    ):
        cs.ContactSystem(cs.Robot.sphere(1.0, 0.1), friction=0.5)  # type: ignore[call-arg]
    with pytest.raises(cs.InputError, match=r"^ContactPoint has no argument 'frction'; did you mean 'friction'\?$"):
        cs.Robot.sphere(1.0, 0.1, frction=0.5)


@pytest.mark.parametrize(
    ("door", "args", "named", "told"),
    [
        (cs.State, 1, (), "State lacks v; give State(q, v)"),
        (cs.State, 0, ("v",), "State lacks q; give State(q, v)"),
        (cs.State, 4, (), "State is given 4 arguments by their place; it takes q, v, z so"),
        (cs.simulate, 2, (), "simulate lacks span; give simulate(system, state, span)"),
        (cs.simulate, 4, (), "simulate is given 4 arguments by their place; it takes system, state, span so"),
        (cs.QuadraticCost, 0, ("goal",), "QuadraticCost lacks Q, R, Q_final; give QuadraticCost(Q, R, Q_final, goal)"),
        (cs.Robot.from_urdf, 0, (), "Robot.from_urdf lacks path; give Robot.from_urdf(path)"),
        (cs.terrain.Slope, 0, (), "Slope lacks angle; give Slope(angle)"),
    ],
)
def test_what_is_lacking_or_too_much_is_told(door: Any, args: int, named: tuple[str, ...], told: str) -> None:
    with pytest.raises(cs.InputError, match="^" + re.escape(told)) as error:
        door(*[[0.0]] * args, **{name: [0.0] for name in named})
    assert isinstance(error.value, TypeError)


@pytest.mark.parametrize("field", vars(cs.Tolerances()))
@pytest.mark.parametrize(
    "door", [cs.simulate, cs.simulate_groups, cs.linearize, cs.find_periodic_orbit, cs.fit, cs.MPC]
)
def test_a_field_of_tolerances_is_told_where_it_goes(door: Any, field: str) -> None:
    told = rf"^{door.__name__} has no argument '{field}'; give tolerances=cs.Tolerances\({field}=\.\.\.\)$"
    with pytest.raises(cs.InputError, match=told):
        door(**{field: 1e-6})


@pytest.mark.parametrize("door", [cs.load_scene, cs.sweep])
def test_a_key_of_runs_is_told_where_it_goes(door: Any) -> None:
    assert set(KEYS_OF_RUNS) == set(RunTable.model_fields)
    told = rf"^{door.__name__} has no argument 'rtol'; give settings=\[\"run.rtol=\.\.\.\"\]$"
    with pytest.raises(cs.InputError, match=told):
        door("hexapod", rtol=1e-6)


def test_a_key_of_a_scene_is_told_in_which_table_it_lies() -> None:
    with pytest.raises(cs.InputError, match=r"^the options: rtol: unknown key \(known here: .*\), perhaps run\.rtol$"):
        cs.load_scene("hexapod", ["rtol=1e-6"])


def test_random_bytes_and_text_for_every_argument() -> None:
    """A seeded few for each argument: text, bytes, odd containers and huge numbers."""
    rng = np.random.default_rng(17)
    wrong = []
    for call in CALLS.values():
        for name, (_, kind) in call.arguments.items():
            if kind.strip("?") in ("new name", "any name", "key", "path"):  # any text may be one
                continue
            value = odd(rng)
            if told := fault(call, name, value):
                wrong.append((call.name, name, repr(value)[:60], told))
    assert not wrong, "\n".join(map(str, wrong))


def odd(rng: np.random.Generator) -> object:
    """Something that stands for nothing."""
    text = "".join(map(chr, rng.integers(1, 0x2FF, size=rng.integers(1, 12))))
    choices = [text, text.encode("utf-8", "replace"), {text: 1}, {text}, 1j * rng.normal(), rng.integers(0, 2, 3) > 0]
    return choices[rng.integers(len(choices))]


# --- the decorator itself ---------------------------------------------------------------------------------------------
@arguments(t=REAL, n=optional(COUNT))
def asked(t: float, n: int | None = None, *rest: int) -> tuple:
    """Told as it is used."""
    return t, n, rest


def test_a_door_hands_on_what_is_right_and_keeps_the_signature() -> None:
    assert asked(np.float32(0.5), np.int64(2), 3) == (0.5, 2, (3,))
    assert asked(t=1, n=None) == (1.0, None, ())
    assert type(asked(np.array(2.0))[0]) is float
    assert asked.__doc__ == "Told as it is used." and list(inspect.signature(asked).parameters) == ["t", "n", "rest"]


def test_a_door_names_the_thing_the_place_and_the_remedy() -> None:
    with pytest.raises(cs.InputError, match=r"^t of asked is '1e-8'; give a finite number$"):
        asked("1e-8")
    with pytest.raises(cs.InputError, match=r"^n of asked is True; give a whole number, one or more, or None$"):
        asked(1.0, n=True)
    with pytest.raises(cs.InputError, match=r"^friction of ContactPoint 'heel' is -1; give a number that is zero"):
        cs.ContactPoint("foot", name="heel", friction=-1)


@pytest.mark.parametrize(("kind", "given"), list(product([REAL, POSITIVE, COUNT, FLAG, NUMBERS], ["1", None, 1j, {}])))
def test_kinds_are_strict(kind: Kind, given: object) -> None:
    with pytest.raises(cs.InputError):
        kind.check("it", given)


def test_arrays_are_copies_of_real_numbers() -> None:
    own = np.arange(3)
    assert real_array(own).dtype == float and real_array(own) is not own
    for given in (np.ones(2, bool), [True, 1.0], np.ma.masked_array([1.0], mask=[False]), ["1"], [1j], [[1], [1, 2]]):
        with pytest.raises(ValueError):
            real_array(given)


def test_a_method_goes_by_the_class_of_which_it_is_called() -> None:
    """Not by the base in which it is written, nor by what it calls in turn."""
    system = cs.ContactSystem(cs.Robot.sphere(1.0, 0.1))
    run = cs.simulate(system, cs.State(system.robot.nominal, np.zeros(6)), (0.0, 0.01))
    for call, words in (
        (lambda: cs.Robot.sphere(1.0, 0.1, name=3), "name of Robot.sphere is 3"),
        (lambda: system.robot.joint_index(3), "name of Robot.joint_index is 3"),
        (lambda: system.with_parameter(3, 1.0), "name of ContactSystem.with_parameter is 3"),
        (lambda: system.with_parameter(nam="gravity", value=1.0), "ContactSystem.with_parameter has no argument 'nam'"),
        (lambda: run("x"), "t of Trajectory is 'x'; give one finite number"),
        (lambda: run(0.0, side="both"), "side of Trajectory is 'both'; give '+' for the right limit"),
        (lambda: run.forces("x"), "t of Trajectory.forces is 'x'"),
    ):
        with pytest.raises(cs.InputError) as told:
            call()
        assert str(told.value).startswith(words)


def test_functions_of_too_few_arguments_are_refused_where_they_are_given() -> None:
    def message(make: Callable[[], Any]) -> str:
        with pytest.raises(cs.InputError) as caught:
            make()
        return str(caught.value)

    ground = message(lambda: cs.terrain.Function(lambda x, y: 0.1 * x * y))
    assert ground == "height of Function is a function of (x, y); give a function (t, x, y) -> height"
    robot = cs.load_robot("biped")
    driven = message(lambda: cs.ContactSystem(robot, controller=lambda t, x: np.zeros(4)))
    assert driven == "the controller is a function of (t, x); give a function (t, q, v) -> tau (nv,)"
    gap = message(lambda: cs.Gap(lambda q: q[0], lambda t, q: np.ones(1)))
    assert gap == "gap of Gap is a function of (q); give a function (t, q) -> distance"
    assert cs.ContactSystem(robot, controller=lambda *given: np.zeros(4)).robot is robot
    assert message(lambda: cs.terrain.Function(3)).startswith("height of Function is 3; give")


def test_a_height_of_two_numbers_is_told_as_such() -> None:
    with pytest.raises(cs.CallbackError, match=r"the height of the ground returns shape \(2,\) .*; return one number"):
        cs.terrain.Function(lambda t, x, y: [x, y])
