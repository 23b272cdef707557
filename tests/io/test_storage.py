"""A stored run is the run: states, modes, events and forces, and honest refusals where a function is missing."""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from builders import G, planar_mechanism, point_mass, sphere
from tolerances import DERIVATIVE, STORED

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, Phase, SystemMode
from contactsim.hybrid.flow import Flow
from contactsim.hybrid.manifold import Euclidean, Manifold
from contactsim.hybrid.segments import Chain, Segment, polynomial
from contactsim.hybrid.system import HybridSystem, Transition
from contactsim.io import netcdf as storage
from contactsim.io import scene
from contactsim.io.netcdf_derivatives import save_linearization


def same(one: cs.Trajectory, other: cs.Trajectory, seed: int = 0) -> None:
    """Both trajectories are equal to rounding, at random times and at every sample."""
    assert np.array_equal(one.t, other.t)
    assert (one.status, one.message, one.record_period) == (other.status, other.message, other.record_period)
    assert one.evaluations == other.evaluations
    assert one.notes == other.notes
    for t in np.random.default_rng(seed).uniform(one.t[0], one.t[-1], 500):
        assert np.abs(one.arc_at(t)(t) - other.arc_at(t)(t)).max() <= STORED
    assert [arc.mode for arc in one.arcs] == [arc.mode for arc in other.arcs]
    assert len(one.all_events) == len(other.all_events)
    for here, there in zip(one.all_events, other.all_events, strict=True):
        assert (here.time, here.fired, here.mode_pre, here.mode_post) == (
            there.time,
            there.fired,
            there.mode_pre,
            there.mode_post,
        )
        assert np.array_equal(here.x_pre, there.x_pre)
        assert np.array_equal(here.x_post, there.x_post)
        assert dict(here.transitions) == dict(there.transitions)
        assert dict(here.residuals) == dict(there.residuals)
        assert here.transition.notes == there.transition.notes
        assert here.impulses.keys() == there.impulses.keys()
        assert all(np.array_equal(here.impulses[name], there.impulses[name]) for name in here.impulses)
    assert [arc.event is None for arc in one.arcs] == [arc.event is None for arc in other.arcs]


def bouncing_point(**options: object) -> cs.Trajectory:
    system = cs.ContactSystem(point_mass(restitution=0.5))
    return cs.simulate(system, cs.State([0, 0, 0.3], [1.0, 0.5, 0.0]), (0.0, 0.9), **options)


@pytest.mark.parametrize("integrator", ["DOP853", "RK45", "RK23", "Radau", "Radau9", "BDF", "LSODA"])
def test_a_run_of_every_integrator_comes_back(tmp_path: Path, integrator: str) -> None:
    run = bouncing_point(integrator=integrator, tolerances=cs.Tolerances(rtol=1e-6, atol=1e-8))
    same(run, cs.Trajectory.load(run.save(tmp_path / "run.nc")))


def test_rotations_and_forces_come_back(tmp_path: Path) -> None:
    system = cs.ContactSystem(sphere(restitution=0.3), terrain=cs.terrain.Slope(0.2, (1, 1)), law="coulomb")
    run = cs.simulate(system, cs.State([0, 0, 0.4, 0, 0, 0, 1], [1, 0, 0, 3, 9, 0]), (0.0, 0.8))
    back = cs.Trajectory.load(run.save(tmp_path / "run.nc"))
    same(run, back)
    for t in np.linspace(0.01, 0.79, 20):
        assert np.allclose(run.forces(t)["ball"], back.forces(t)["ball"], atol=1e-8)
    assert back.check() == pytest.approx(run.check(), abs=1e-9)


def test_parameters_pushes_and_compliance_come_back(tmp_path: Path) -> None:
    system = cs.ContactSystem(point_mass(), terrain=cs.terrain.Flat(-0.1, (0.2, 0.0)), law="spring-damper")
    system = system.with_parameter("law.stiffness", 3e3).with_parameter("contact.friction", 0.7)
    system = system.with_push("mass", (2.0, 0.0, 0.0), 0.3)
    run = cs.simulate(system, cs.State([0, 0, 0.01], [0.5, 0.0, 0.0]), (0.0, 0.5), record_period=0.01)
    back = cs.Trajectory.load(run.save(tmp_path / "run.nc"))
    same(run, back)
    assert back.system.friction == pytest.approx([0.7])
    assert back.system.law.parameters.stiffness == 3e3
    for t in (0.05, 0.15, 0.25, 0.45):
        assert np.allclose(run.forces(t)["point"], back.forces(t)["point"], atol=1e-7)


def test_a_saved_copy_of_a_loaded_run_is_the_run(tmp_path: Path) -> None:
    run = bouncing_point()
    back = cs.Trajectory.load(cs.Trajectory.load(run.save(tmp_path / "a.nc")).save(tmp_path / "b.nc"))
    same(run, back)


def test_a_run_without_events_and_one_that_stopped_early_come_back(tmp_path: Path) -> None:
    system = cs.ContactSystem(point_mass(restitution=0.9))
    state = cs.State([0, 0, 1.0], np.zeros(3))
    flight = cs.simulate(system, state, (0.0, 0.1))
    assert not flight.all_events
    same(flight, cs.Trajectory.load(flight.save(tmp_path / "flight.nc")))
    stopped = cs.simulate(system, state, (0.0, 9.0), max_events=4)
    back = cs.Trajectory.load(stopped.save(tmp_path / "stopped.nc"))
    assert back.status is cs.Status.TOO_MANY_EVENTS
    same(stopped, back)


def test_steps_that_were_landed_in_pieces_come_back() -> None:
    space = Euclidean(1)
    halves = (Segment(0.0, 1.0, np.zeros(1), np.array, space), Segment(1.0, 2.0, np.zeros(1), np.array, space))
    assert Chain(halves)(1.0) == 1.0
    chart = polynomial(Segment(0.0, 2.0, np.zeros(1), lambda t: np.array([t**3 - t]), space))
    for t in np.linspace(0.0, 2.0, 7):
        assert chart(t) == pytest.approx([t**3 - t], abs=1e-13)


# --- derivatives, and systems that changed on the way ----------------------------------------------------------------
def same_derivative(one: cs.Trajectory, other: cs.Trajectory) -> None:
    mine, theirs = cs.linearize(one), cs.linearize(other)
    pairs = [(event.saltation, other.saltation) for event, other in zip(mine.events, theirs.events, strict=True)]
    for here, there in [(mine.matrix(), theirs.matrix()), *pairs]:
        assert np.abs(there - here).max() <= DERIVATIVE * max(1.0, np.abs(here).max())


def test_the_derivative_of_a_loaded_run_is_that_of_the_run(tmp_path: Path) -> None:
    system = cs.ContactSystem(sphere(restitution=0.3), terrain=cs.terrain.Slope(0.2, (1, 1)))
    run = cs.simulate(system, cs.State([0, 0, 0.4, 0, 0, 0, 1], [1, 0, 0, 3, 9, 0]), (0.0, 0.8))
    assert len(run.events) > 2
    file, matrix = run.save(tmp_path / "run.nc"), cs.linearize(run).matrix()
    same_derivative(run, cs.Trajectory.load(file, system=system))
    rebuilt = cs.linearize(cs.Trajectory.load(file)).matrix()
    assert np.abs(rebuilt - matrix).max() <= DERIVATIVE * np.abs(matrix).max()


def test_the_derivative_of_a_loaded_walk(tmp_path: Path) -> None:
    built = scene.build(scene.assemble({"robot": {"name": "biped"}, "run": {"time": 1.0}}))
    run = cs.simulate(built.system, built.state, built.span, **built.options)
    assert run.events
    same_derivative(run, cs.Trajectory.load(run.save(tmp_path / "run.nc"), system=built.system))


def eventful(controller: object = None) -> tuple[cs.ContactSystem, cs.Trajectory]:
    """A ball that falls and slides, with friction, gravity and mass set and a push on the way."""
    start = cs.ContactSystem(sphere(friction=0.3), controller=controller)
    simulation = cs.Simulation(start, cs.State([0, 0, 0.15, 0, 0, 0, 1], [2.0, 0, 0, 0, 0, 0]))
    simulation.advance(0.15)
    simulation.set("contact.friction", 0.1)
    simulation.advance(0.05)
    simulation.push("ball", (0.0, 0.5, 0.0), 0.08)
    simulation.advance(0.15)
    simulation.set("body.ball.mass", 1.7)
    simulation.set("gravity", 5.0)
    simulation.advance(0.1)
    return start, simulation.trajectory


def test_every_arc_keeps_its_system(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    start, run = eventful()
    file = run.save(tmp_path / "run.nc")
    assert not recwarn
    for given in (None, start, run.system):
        back = cs.Trajectory.load(file, system=given)
        same(run, back)
        for here, there in zip(run.arcs, back.arcs, strict=True):
            assert there.system.parameters() == pytest.approx(here.system.parameters(), rel=1e-14)
            assert [push.end for push in there.system.pushes] == [push.end for push in here.system.pushes]
        for t in (0.12, 0.17, 0.22, 0.3, 0.4):
            assert np.allclose(run.forces(t)["ball"], back.forces(t)["ball"], atol=1e-8)
        assert back.check(raise_errors=False) == pytest.approx(run.check(raise_errors=False), abs=1e-9)
        same_derivative(run, back)
    again = cs.Trajectory.load(back.save(tmp_path / "again.nc"))
    same_derivative(run, again)


def test_gains_set_on_the_way_come_back_with_the_scene(tmp_path: Path) -> None:
    text = scene.assemble({"robot": {"name": "hexapod"}}).text()
    built = scene.build(scene.parse(text))
    simulation = cs.Simulation(built.system, built.state, **built.options)
    simulation.advance(0.02)
    simulation.set("controller.kp_scale", 0.5)
    simulation.advance(0.02)
    run = simulation.trajectory
    back = storage.load(storage.save(run, tmp_path / "run.nc", text))
    gains = [arc.system.controller.parameters()["kp_scale"] for arc in back.arcs]
    assert (gains[0], gains[-1]) == (1.0, 0.5)
    same_derivative(run, back)


def test_a_derivative_is_kept_in_the_file_of_its_run(tmp_path: Path) -> None:
    run = bouncing_point()
    file, lin = run.save(tmp_path / "run.nc"), cs.linearize(run)
    for _ in range(2):  # the second replaces the first
        save_linearization(lin, file)
    with xarray.open_dataset(file, group="linearization", engine="h5netcdf") as data:
        assert np.array_equal(data.matrix, lin.matrix())
        assert np.array_equal(data.saltation, [event.saltation for event in lin.events])
        assert list(data.contacts.values) == ["point"] * len(lin.events)
        assert set(data.pieces.values) == {1}
    same(run, cs.Trajectory.load(file))
    (tmp_path / "text.nc").write_text("no run")
    with pytest.raises(cs.InputError, match=r"text\.nc is not a run"):
        save_linearization(lin, tmp_path / "text.nc")
    assert (tmp_path / "text.nc").read_text() == "no run"


# --- what a file cannot hold ---------------------------------------------------------------------------------------
class Torque:
    """A controller that no file can hold."""

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([0.1 * np.cos(t), 0.0, 0.0])


def test_a_controller_is_stored_by_name_and_asked_for_when_it_is_needed(tmp_path: Path) -> None:
    robot = point_mass()
    system = cs.ContactSystem(robot, controller=cs.Sampled(Torque(), 0.05, robot.nv))
    run = cs.simulate(system, cs.State([0, 0, 0.0], [0.1, 0, 0]), (0.0, 0.3))
    file = run.save(tmp_path / "run.nc")
    back = cs.Trajectory.load(file)
    same(run, back)
    assert back(0.2).z.shape == (3,)
    assert back.mode_at(0.2) == run.mode_at(0.2)
    for ask in (lambda: back.forces(0.2), back.check, lambda: cs.simulate(back.system, back.final, (0.0, 0.1))):
        with pytest.raises(cs.InputError, match=r"Sampled\(Torque\).*system=") as caught:
            ask()
        assert "\n" not in str(caught.value)
    given = cs.Trajectory.load(file, system=system)
    assert np.array_equal(given.forces(0.2)["point"], run.forces(0.2)["point"])


@pytest.mark.parametrize("period", [None, 0.01])
def test_a_pd_controller_that_holds_a_pose_is_stored(tmp_path: Path, period: float | None) -> None:
    robot = cs.load_robot("hexapod")
    hold = cs.PD(robot, kp=150.0, kd=np.where(np.arange(robot.nv) < 9, 6.0, 4.0), period=period)
    system = cs.ContactSystem(robot, controller=hold).with_parameter("controller.kp_scale", 1.5)
    q = robot.nominal.copy()
    q[2] += 0.01
    run = cs.simulate(system, cs.State(q, np.zeros(robot.nv)), (0.0, 0.1))
    back = cs.Trajectory.load(run.save(tmp_path / "run.nc"))
    assert back.system.parameters() == run.system.parameters()
    np.testing.assert_allclose(back(0.09).q, run(0.09).q, atol=1e-12)
    np.testing.assert_allclose(back.forces(0.09)["lf"], run.forces(0.09)["lf"], atol=1e-7)


def test_a_plain_function_is_stored_by_its_own_name(tmp_path: Path) -> None:
    def hover(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([0.0, 0.0, G])

    for function, name in ((hover, "hover"), (Torque(), "Torque")):
        system = cs.ContactSystem(point_mass(), controller=function)
        file = cs.simulate(system, cs.State([0, 0, 1.0], np.zeros(3)), (0.0, 0.1)).save(tmp_path / "run.nc")
        assert cs.Trajectory.load(file).system.controller.name.endswith(name)


def test_a_run_with_its_scene_loads_with_its_controller(tmp_path: Path) -> None:
    text = scene.assemble({"robot": {"name": "hexapod"}, "run": {"time": 0.12}}).text()
    built = scene.build(scene.parse(text))
    run = cs.simulate(built.system, built.state, built.span, **built.options)
    back = storage.load(storage.save(run, tmp_path / "run.nc", text))
    assert isinstance(back.system.controller, cs.PD)
    assert storage.scene_of(tmp_path / "run.nc") == text
    assert np.allclose(back.forces(0.11)["lf"], run.forces(0.11)["lf"], atol=1e-7)


def test_a_scene_that_no_longer_builds_the_same_system_is_not_used(tmp_path: Path) -> None:
    built = scene.build(scene.assemble({"robot": {"name": "hexapod"}, "run": {"time": 0.05}}))
    run = cs.simulate(built.system, built.state, built.span, **built.options)
    other = scene.assemble({"robot": {"name": "hexapod"}, "contact": {"friction": 0.1}}).text()
    back = storage.load(storage.save(run, tmp_path / "run.nc", other))
    assert not isinstance(back.system.controller, cs.PD)
    assert back.system.friction == pytest.approx(built.system.friction)


def test_enabled_functions_and_geometry_of_a_catalogue_robot(tmp_path: Path) -> None:
    built = scene.build(scene.assemble({"robot": {"name": "biped"}, "run": {"time": 0.8}}))
    run = cs.simulate(built.system, built.state, built.span, **built.options)
    back = cs.Trajectory.load(run.save(tmp_path / "run.nc"))
    same(run, back)
    assert back.system.robot.visual_model.ngeoms == run.system.robot.visual_model.ngeoms > 0
    assert "Ahead" in repr(back.system.robot.contacts[0].enabled)
    with pytest.raises(cs.InputError, match=r"Ahead.*system="):
        back.system.robot.contacts[0].enabled(0.0, back(0.1).q, back(0.1).v)


def test_a_textbook_mechanism_needs_its_system(tmp_path: Path) -> None:
    system = cs.ContactSystem(planar_mechanism(1.0, 0.1, {"foot": (0.1, -0.2)}, 0.3, 0.2))
    run = cs.simulate(system, cs.State([0, 0.4, 0.1], [0.3, 0, 0]), (0.0, 0.5))
    file = run.save(tmp_path / "run.nc")
    with pytest.raises(cs.InputError, match=r"Mechanism.*system="):
        cs.Trajectory.load(file)
    same(run, cs.Trajectory.load(file, system=system))


# --- other hybrid systems -------------------------------------------------------------------------------------------
class Fall(Flow):
    """Free fall, in one number more where the counter is on."""

    guard_names = (("ground", 0),)

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([[x[1], -G], np.ones(len(x) - 2)])

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        return x[:1]


class Ball(HybridSystem):
    """A bouncing ball, whose state grows by a counter of seconds at the first bounce."""

    def flow(self, mode: Hashable) -> Flow:
        return Fall()

    def space(self, mode: Hashable) -> Manifold:
        return Euclidean(2 if mode == ("early", 0) else 3)

    def start(self, t: float, x: np.ndarray) -> Transition:
        return Transition(x, ("early", 0))

    def transition(self, t: float, x: np.ndarray, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        count = mode[1] + 1
        after = np.array([0.0, -0.7 * x[1], x[2] if len(x) == 3 else 0.0])
        return Transition(after, ("late", count), {"ball": (count - 1, count)}, {"ball": np.array([1.7 * -x[1]])})


def test_any_hybrid_system(tmp_path: Path) -> None:
    run = cs.simulate(Ball(), np.array([1.0, 0.0]), (0.0, 1.5), max_events=50)
    assert len(run.events) > 1
    file = run.save(tmp_path / "run.nc")
    same(run, cs.Trajectory.load(file, system=Ball()))
    with pytest.raises(cs.InputError, match=r"Ball.*system="):
        cs.Trajectory.load(file)
    with pytest.raises(cs.InputError, match="numbers"):
        cs.Trajectory.load(file, system=cs.ContactSystem(point_mass()))


# --- the file -------------------------------------------------------------------------------------------------------
def test_the_file_reads_with_xarray_alone(tmp_path: Path) -> None:
    run = bouncing_point()
    file = run.save(tmp_path / "run.nc")
    with xarray.open_dataset(file, group="trajectory", engine="h5netcdf") as data:
        assert data.sizes["sample"] == len(run.t)
        assert data.time.dtype == float
        assert data.time.dims == ("sample",)
        assert np.array_equal(data.q, run.q)
        assert np.array_equal(data.v, run.v)
        assert set(np.unique(data.mode.sel(contact="point"))) <= {"open", "stick", "slip"}
    with xarray.open_dataset(file, engine="h5netcdf") as root:
        assert root.attrs["format"] == storage.FORMAT
        assert json.loads(root.attrs["system"])["law"]["name"] == "coulomb"
    with xarray.open_dataset(file, group="events", engine="h5netcdf") as events:
        assert np.array_equal(events.time, [event.time for event in run.all_events])


@pytest.mark.parametrize("content", [None, "text", "foreign", "future", "cut"])
def test_missing_and_foreign_files(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "run.nc"
    if content == "text":
        file.write_text("no run")
    elif content == "foreign":
        xarray.Dataset({"a": ("n", [1.0])}).to_netcdf(file, engine="h5netcdf")
    elif content == "future":
        header = {"format": storage.FORMAT, "format_version": 99, "contactsim_version": "9.9"}
        xarray.Dataset(attrs=header).to_netcdf(file, engine="h5netcdf")
    elif content == "cut":
        bouncing_point().save(file)
        file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(cs.InputError) as caught:
        cs.Trajectory.load(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match="create it"):
        bouncing_point().save(tmp_path / "nowhere" / "run.nc")
    assert not list(tmp_path.iterdir())


VARIABLES = {
    "time": ("sample", np.linspace(0.0, 1.0, 100), {"units": "s"}),
    "x": (("sample", "state"), np.arange(200.0).reshape(100, 2), {"long_name": "a state"}),
    "count": ("event", np.arange(3)),
    "word": ("event", storage.texts(["a", "grün", ""])),
    "words": (("event", "side"), np.array([["left", "right"]] * 3)),
    "none": ("nothing", storage.texts([])),
    "empty": (("nothing", "state"), np.zeros((0, 2))),
    "side": ("side", storage.texts(["left", "right"])),
}


def test_groups_are_as_xarray_writes_them(tmp_path: Path) -> None:
    """In names, dimensions, types, attributes and values."""
    path, other = tmp_path / "run.nc", tmp_path / "other.nc"
    path.write_bytes(storage._bytes({"format": storage.FORMAT}, {"made": VARIABLES}))
    made = xarray.Dataset(VARIABLES).set_coords("time")
    packed = {name: {"dtype": "S1"} for name, own in made.variables.items() if own.dtype.kind == "U"}
    made.to_netcdf(other, group="made", engine="h5netcdf", encoding=packed)
    for decoded in (False, True):
        mine, theirs = (
            xarray.load_dataset(file, group="made", engine="h5netcdf", decode_cf=decoded, mask_and_scale=False)
            for file in (path, other)
        )
        for variable in theirs.variables.values():
            variable.attrs.pop("_FillValue", None)  # which none of our numbers has
        xarray.testing.assert_identical(mine, theirs)
    with h5py.File(path) as file:
        assert file["made/x"].compression == file["made/word"].compression == "gzip"


@pytest.mark.parametrize(("name", "value"), [("t1", -1.0), ("chebyshev", np.nan)])
def test_steps_that_are_none_are_a_damaged_file(tmp_path: Path, name: str, value: float) -> None:
    path = tmp_path / "run.nc"
    cs.load_scene("biped").simulate(0.02).save(path)
    with h5py.File(path, "r+") as file:  # as another program may write it
        file["dense"][name][...] = value
    with pytest.raises(
        cs.InputError, match=r"run\.nc is a damaged run file \(ValueError: its step from 0 to .* is none\)"
    ):
        cs.Trajectory.load(path)


def test_a_run_is_not_written_under_the_name_of_another_format(tmp_path: Path) -> None:
    traj = cs.load_scene("biped").simulate(0.02)
    for suffix in (".mat", ".csv", ".foo"):
        with pytest.raises(
            cs.InputError, match=rf"not written as \{suffix}, but as \.nc \(netCDF\); give run\.nc, or write"
        ):
            traj.save(tmp_path / f"run{suffix}")
    for name in ("walk.2", "walk", "walk.h5"):  # no name of a format, or another one of netCDF
        np.testing.assert_array_equal(cs.Trajectory.load(traj.save(tmp_path / name)).t, traj.t)


def test_modes_of_every_kind_and_age_are_read_back() -> None:
    """What files of before did not hold is as it was then."""
    turning = ContactState(Mode.SLIP, Phase.DIRECTED, (0.6, 0.8), True, 0.5, (1, 2), 1e-7)
    mode = SystemMode((ContactState(), turning))
    assert storage.decoded(storage.coded(mode)) == mode
    for kept in (4, 5, 6):
        states = [["open", "NONE", [], True, None, [], None][:kept], ["slip", "FREE", [], True, 0.5, [1], None][:kept]]
        old = storage.decoded(json.dumps({"@mode": states, "redundant": False}))
        until, region = (0.5 if kept > 4 else None), ((1,) if kept > 5 else ())
        assert old.contacts[1] == ContactState(Mode.SLIP, Phase.FREE, (), True, until, region)


def test_a_file_of_hdf5_by_others_is_refused_without_a_warning(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    with h5py.File(tmp_path / "other.nc", "w") as file:
        file["a"] = [1.0]
    with pytest.raises(cs.InputError, match="is not a run written by contactsim"):
        cs.Trajectory.load(tmp_path / "other.nc")
    assert not recwarn.list
