"""A run at many instants: arrays of states, modes, forces and frames, as each instant and closed forms give them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray
from builders import G, planar_mechanism, point_mass, sphere
from tolerances import BOUNCE_TIME, DENSE, STORED

import contactsim as cs

HEIGHT, SPEED = 0.3, 1.0


@pytest.fixture(scope="module")
def bounces() -> cs.Trajectory:
    """A point that falls, bounces with e = 1/2 and moves on along x."""
    system = cs.ContactSystem(point_mass(restitution=0.5, friction=0.0))
    return cs.simulate(system, cs.State([0, 0, HEIGHT], [SPEED, 0, 0]), (0.0, 0.6))


@pytest.fixture(scope="module")
def sliding() -> cs.Trajectory:
    """A ball of 1 kg that slides and then rolls."""
    system = cs.ContactSystem(sphere(friction=0.3))
    return cs.simulate(system, cs.State([0, 0, 0.1, 0, 0, 0, 1], [2.0, 0, 0, 0, 0, 0]), (0.0, 0.4))


def test_samples_of_a_fall_and_a_bounce(bounces: cs.Trajectory) -> None:
    first = np.sqrt(2.0 * HEIGHT / G)
    times = np.linspace(0.0, 1.9 * first, 50)
    found = bounces.sample(times)
    after = np.maximum(times - first, 0.0)
    z = np.where(times < first, HEIGHT - 0.5 * G * times**2, 0.5 * G * first * after - 0.5 * G * after**2)
    assert found.q.shape == (50, 3) and found.v.shape == (50, 3) and found.z.shape == (50, 0)
    assert np.allclose(found.q[:, 2], z, rtol=0.0, atol=DENSE)
    assert np.allclose(found.q[:, 0], SPEED * times, rtol=0.0, atol=DENSE)
    assert len(found) == 50 and np.array_equal(found.t, times)


def test_both_sides_of_a_jump(bounces: cs.Trajectory) -> None:
    first = bounces.events[0].time
    assert first == pytest.approx(np.sqrt(2.0 * HEIGHT / G), abs=BOUNCE_TIME)
    left, right, both = (bounces.sample([0.1, first], side) for side in ("-", "+", "both"))
    assert left.v[1, 2] == pytest.approx(-G * first) and right.v[1, 2] == pytest.approx(0.5 * G * first)
    assert np.array_equal(both.t, [0.1, first, first])
    assert np.array_equal(both.v, [left.v[0], left.v[1], right.v[1]])
    assert np.array_equal(bounces.to_xarray([0.1, first], "both").arc, [0, 0, 1])


def test_arrays_are_what_each_instant_says(sliding: cs.Trajectory) -> None:
    times = np.random.default_rng(3).uniform(0.0, 0.4, 40)  # in no order
    found, states = sliding.sample(times), sliding(times)
    for k, t in enumerate(times):
        one = sliding(t)
        assert np.array_equal(found.q[k], one.q) and np.array_equal(found.v[k], one.v)
        assert np.array_equal(states.q[k], one.q)
        assert np.array_equal(found.forces["ball"][k], sliding.forces(t)["ball"])
        assert found.modes["ball"][k] is sliding.mode_at(t)["ball"]
    assert {cs.Mode.SLIP, cs.Mode.STICK} == set(found.modes["ball"])
    slips = found.modes["ball"] == cs.Mode.SLIP
    assert np.allclose(
        found.forces["ball"][slips], sliding.system.robot.model.inertias[1].mass * G * np.array([-0.3, 0, 1])
    )


def test_frames_of_a_leg() -> None:
    walk = cs.load_scene("biped").simulate(0.3)
    found = walk.sample([0.0, 0.1, 0.3], frames=["right_foot"])
    poses = found.frames["right_foot"]
    assert poses.shape == (3, 4, 4)
    for pose, q in zip(poses, found.q, strict=True):
        assert np.allclose(pose[:3, 3], walk.system.robot.point_position("right_foot", q), rtol=0.0, atol=1e-14)
        assert np.allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3)) and np.array_equal(pose[3], [0, 0, 0, 1])
        angle = q[2] + q[3]  # of the right leg about y
        assert pose[0, 2] == pytest.approx(np.sin(angle))


def test_tables_have_the_names_of_joints_and_contacts() -> None:
    walk = cs.load_scene("biped").simulate(0.3)
    data = walk.to_xarray([0.0, 0.1], frames=["left_foot"])
    assert list(data.q_name.values) == ["root_joint.px", "root_joint.pz", "root_joint.ry", "hip_joint"]
    assert data.v.sel(v_name="hip_joint").values == pytest.approx([walk(0.0).v[3], walk(0.1).v[3]])
    assert data.force.sel(contact="left", axis="z").values[1] == walk.forces(0.1)["left"][2]
    assert data.mode.sel(contact="left").values.tolist() == ["stick", "stick"]
    assert data.pose.dims == ("time", "frame", "row", "column")
    frame = walk.to_dataframe()
    assert len(frame) == len(walk.t) and frame.index.name == "time"
    assert np.array_equal(frame["q.hip_joint"], walk.q[:, 3])
    assert frame["force.left.z"].iloc[3] == data.force.sel(contact="left", axis="z").dtype.type(
        walk.forces(walk.t[3])["left"][2]
    )
    hexapod = cs.load_robot("hexapod")
    names, rates = cs.ContactSystem(hexapod).coordinate_names()
    assert (len(names), len(rates)) == (hexapod.nq, hexapod.nv)
    assert names[:2] == ["root_joint.x", "root_joint.y"] and rates[5] == "root_joint.wz"


def test_systems_without_contacts_or_names() -> None:
    model = cs.load_model("slip")
    run = cs.simulate(model, model.initial_state(y=0.9, xdot=1.0), (0.0, 0.6))
    data, found = run.to_xarray([0.1, 0.5]), run.sample([0.1, 0.5])
    assert data.x.dims == ("time", "state") and list(data["mode"].values) == [str(run.mode_at(t)) for t in (0.1, 0.5)]
    assert np.array_equal(run([0.1, 0.5]), [run(0.1), run(0.5)])
    assert "x.0" in run.to_dataframe()
    with pytest.raises(cs.InputError, match="has no contact forces"):
        found.forces  # noqa: B018
    with pytest.raises(cs.InputError, match="no q; take x"):
        found.q  # noqa: B018
    mechanism = cs.ContactSystem(planar_mechanism(1.0, 0.1, {"foot": (0.0, 0.0)}, 0.3, 0.0))
    rows = cs.simulate(mechanism, cs.State([0.0, 0.5, 0.0], np.zeros(3)), (0.0, 0.05)).to_xarray([0.01])
    assert list(rows.axis.values) == ["n", "t1"] and list(rows.q_name.values) == ["0", "1", "2"]
    with pytest.raises(cs.InputError, match="has no frames"):
        mechanism.frame_poses(np.zeros(6), ["foot"])


def test_mistakes_are_told(bounces: cs.Trajectory) -> None:
    with pytest.raises(cs.InputError, match=r"t = 0\.7 lies outside the run"):
        bounces.sample([0.1, 0.7])
    with pytest.raises(cs.InputError, match="give an array of finite times"):
        bounces.sample(0.1)
    with pytest.raises(cs.InputError, match="give an array of finite times"):
        bounces([0.1, np.nan])
    with pytest.raises(cs.InputError, match="no times to sample"):
        bounces.sample([])
    with pytest.raises(cs.InputError, match="or 'both'"):
        bounces.sample([0.1], side="left")
    with pytest.raises(cs.InputError, match="no frame 'nose'"):
        bounces.sample([0.1], frames=["nose"]).frames  # noqa: B018


def test_forces_are_in_the_file(tmp_path: Path, sliding: cs.Trajectory) -> None:
    file = sliding.save(tmp_path / "run.nc")
    with xarray.open_dataset(file, group="trajectory", engine="h5netcdf") as stored:
        data = sliding.to_xarray()
        assert np.array_equal(stored.force, data.force) and stored.force.dims == ("sample", "contact", "axis")
        assert "note" not in stored.force.attrs and stored.force.attrs["units"] == "N"
    back = cs.Trajectory.load(file)
    assert np.allclose(back.to_xarray().force, data.force, rtol=0.0, atol=1e6 * STORED)


def driven(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.array([0.1, 0.0, 0.0])


def test_forces_that_nobody_knows_are_nan_with_the_reason(tmp_path: Path) -> None:
    system = cs.ContactSystem(point_mass(), controller=driven)
    run = cs.simulate(system, cs.State([0, 0, 0.01], np.zeros(3)), (0.0, 0.1))
    stranger = cs.Trajectory.load(run.save(tmp_path / "run.nc"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = stranger.to_xarray()
    assert np.isnan(data.force).all() and "driven" in data.force.attrs["note"]
    with xarray.open_dataset(stranger.save(tmp_path / "b.nc"), group="trajectory", engine="h5netcdf") as stored:
        assert np.isnan(stored.force).all() and "driven" in stored.force.attrs["note"]
