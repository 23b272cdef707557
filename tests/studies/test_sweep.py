"""Sweeps: what is run, what is kept and known again, and a real cluster that dies under the runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import contactsim as cs
from contactsim.studies import work as works
from contactsim.studies.plan import Plan, plan
from contactsim.studies.store import escaped, opened, read
from contactsim.studies.work import FAILED, FINISHED, LOST, STOPPED, Result, fingerprint, work_of

pytest.importorskip("distributed", reason="pip install -e '.[cluster]'")
zarr = pytest.importorskip("zarr", reason="pip install -e '.[cluster]'")

sys.path.insert(0, str(Path(__file__).parent))
import swept  # noqa: E402

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}


# --- which runs -----------------------------------------------------------------------------------------------------
def test_a_grid_in_the_order_of_its_axes() -> None:
    made = plan({"a": [1, 2], "b": ["u", "v", "w"]}, None, "random", 0)
    assert made.shape == (2, 3) and made.size == 6
    assert [made.point(k) for k in (0, 1, 5)] == [{"a": 1, "b": "u"}, {"a": 1, "b": "v"}, {"a": 2, "b": "w"}]


@pytest.mark.parametrize(("sampler", "discrepancy"), [("random", 0.02), ("latin", 0.003), ("sobol", 0.0005)])
def test_draws_come_from_their_distributions(sampler: str, discrepancy: float) -> None:
    over = {"low": stats.uniform(2.0, 3.0), "bell": stats.norm(1.0, 0.1), "g": [9.0, 10.0]}
    made = plan(over, 256, sampler, 1)
    assert made.shape == (2, 256)
    low, bell = made.draws["low"], made.draws["bell"]
    assert low.min() >= 2.0 and low.max() <= 5.0
    assert stats.kstest(low, stats.uniform(2.0, 3.0).cdf).statistic < 0.1
    assert stats.kstest(bell, stats.norm(1.0, 0.1).cdf).statistic < 0.1
    cube = np.column_stack([stats.uniform(2.0, 3.0).cdf(low), stats.norm(1.0, 0.1).cdf(bell)])
    assert stats.qmc.discrepancy(cube) < discrepancy
    assert np.array_equal(plan(over, 256, sampler, 1).draws["low"], low)
    assert not np.array_equal(plan(over, 256, sampler, 2).draws["low"], low)


def test_seeds_belong_to_runs() -> None:
    made = plan({}, 4, "random", 7)
    drawn = [np.random.default_rng(made.seed_of(k)).random() for k in range(4)]
    assert len(set(drawn)) == 4
    assert drawn[2] == np.random.default_rng(np.random.SeedSequence(7, spawn_key=(2,))).random()


@pytest.mark.parametrize(
    ("over", "samples", "told"),
    [
        ({"a": []}, None, "the values of 'a'"),
        ({"a": "12"}, None, "the values of 'a' are '12'"),
        ({"a": [1.0, np.nan]}, None, "NaN or infinity"),
        ({"a": [1, 2, 1]}, None, "one of them twice"),
        ({"a": stats.norm()}, None, "say by samples"),
        ({"sample": [1]}, None, "call the key differently"),
        ({}, None, "nothing to sweep over"),
    ],
)
def test_plans_that_make_no_sense(over: dict[str, object], samples: int | None, told: str) -> None:
    with pytest.raises(cs.InputError, match=told):
        plan(over, samples, "random", 0)


# --- what each does -------------------------------------------------------------------------------------------------
def results(work: works.Work, made: Plan) -> list[Result]:
    return [work.result(k, made.point(k), made.seed_of(k)) for k in range(made.size)]


def test_a_scene_with_changed_keys_is_that_scene() -> None:
    made = plan({"contact.friction": [0.6, 2.0], "gravity": [9.0]}, None, "random", 0)
    found = results(work_of("biped", ["run.time=0.2"], None, 0.0), made)
    for own, friction in zip(found, (0.6, 2.0), strict=True):
        run = cs.load_scene("biped", [f"contact.friction={friction}", "gravity=9.0"]).simulate(0.2)
        assert own.status == FINISHED and np.array_equal(own.outputs["final_q"], run.final.q)
        assert own.outputs["event_count"] == len(run.events)


def test_noise_moves_the_start_of_each_sample() -> None:
    made = plan({}, 3, "random", 4)
    found = results(work_of("biped", ["run.time=0.01"], {"v": lambda traj: traj.v[0]}, 0.1), made)
    start = cs.load_scene("biped").state.v
    moved = np.array([own.outputs["v"] for own in found]) - start
    assert np.ptp(moved[:, 3]) > 0.01  # the hip; the start is put onto the stance foot


def test_a_run_that_fails_or_stops_is_recorded() -> None:
    made = plan({"x": [1.0, 2.0]}, None, "random", 0)
    one, two = results(work_of(swept.picky, (), None, 0.0), made)
    assert (one.status, one.outputs["half"]) == (FINISHED, 0.5)
    assert (two.status, two.message) == (FAILED, "ValueError: two is too much")
    made = plan({"run.max_events": [1, 100], "contact.friction": [-1.0, 2.0]}, None, "random", 0)
    found = results(work_of("biped", ["run.time=1.0"], None, 0.0), made)
    assert [own.status for own in found] == [FAILED, STOPPED, FAILED, FINISHED]
    assert "friction" in found[0].message and "largest number of events" in found[1].message
    with pytest.raises(cs.InputError, match="there is no output 'speed'"):
        work_of("biped", (), ["speed"], 0.0)
    with pytest.raises(cs.InputError, match="settings and noise belong to scenes"):
        work_of(swept.plane, ["a=1"], None, 0.0)


def test_a_key_that_no_run_can_read_is_refused_before_any_is_made(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match="nosuch: unknown key"):
        cs.sweep("biped", over={"nosuch": [1, 2]}, out=tmp_path / "runs.zarr", progress=False)
    with pytest.raises(cs.InputError, match="there is no symbol 'nosuch'"):
        cs.sweep("slip", over={"nosuch": [1, 2]}, out=tmp_path / "runs.zarr", progress=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("function", "over", "told"),
    [
        (swept.plane, {"x": [1.0], "z": [2.0]}, r"\(x: .*, y: .*\) .*\(missing a required argument: 'y'\)"),
        (swept.picky, {"x": [1.0], "z": [2.0]}, "unexpected keyword argument 'z'"),
        (swept.noisy, {"y": [1.0]}, "missing a required argument: 'x'"),
    ],
)
def test_values_that_a_function_does_not_take_are_refused(
    tmp_path: Path, function: Callable[..., object], over: dict[str, list[float]], told: str
) -> None:
    with pytest.raises(cs.InputError, match=told):
        cs.sweep(function, over, out=tmp_path / "s.zarr")
    assert not (tmp_path / "s.zarr").exists()


def test_a_key_that_is_swept_over_and_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match="'gravity' is swept over, and set for all runs as well"):
        cs.sweep("biped", {"gravity": [9.0, 10.0]}, out=tmp_path / "s.zarr", settings=["gravity=3"])


UNGUARDED = """
import contactsim as cs

def twice(a):
    return 2.0 * a

print(cs.sweep(twice, {"a": [1.0, 2.0]}, workers=1))
"""


def test_a_script_that_its_own_workers_would_run_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    last = done.stderr.rstrip().splitlines()[-1]
    assert "InputError: the workers of the sweep do not start" in last
    assert last.endswith("let it call sweep below if __name__ == '__main__': only")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["swept.py:picky", "--over", "x=2"], 3, "1 failed"),
        (["swept.py:picky", "--over", "x=1,2"], 0, "1 finished, 1 failed"),
        (["swept.py:picky", "--over", "x=1,2"], 0, "1 of 2 runs failed: ValueError: two is too much (1, at x = 2)"),
        (["swept.py:picky", "--over", "x=1", "--over", "x=2"], 2, "--over gives 'x' twice"),
    ],
)
def test_what_the_command_returns(tmp_path: Path, words: list[str], code: int, told: str) -> None:
    command = [sys.executable, "-m", "contactsim", "sweep", *words, "--workers", "1", "--out", str(tmp_path / "s.zarr")]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code and told in done.stdout + done.stderr


def test_works_are_known_again() -> None:
    def factor(k: float) -> Callable[[float], float]:
        return lambda x: k * x

    assert fingerprint(factor(2.0)) == fingerprint(factor(2.0)) != fingerprint(factor(3.0))
    assert fingerprint(partial(swept.slowly, pause=0.1)) != fingerprint(partial(swept.slowly, pause=0.2))
    assert fingerprint(swept.plane) != fingerprint(swept.picky)
    base = work_of("biped", (), None, 0.0).hash
    assert work_of("biped", (), None, 0.0).hash == base
    for other in (
        work_of("biped", ["contact.friction=0.7"], None, 0.0),
        work_of("biped", (), ["event_count"], 0.0),
        work_of("biped", (), None, 0.1),
        work_of("biped", ["run.time=1"], None, 0.0),
        work_of("slip", (), None, 0.0),
    ):
        assert other.hash != base
    assert work_of("slip", (), None, 0.0).hash != work_of("slip", ["k=500"], None, 0.0).hash


# --- what is kept ---------------------------------------------------------------------------------------------------
def test_a_store_goes_on_where_it_was(tmp_path: Path) -> None:
    made = plan({"contact.left/0.friction": [0.1, 0.2], "law": ["a", "bc"], "m": stats.norm()}, 2, "random", 0)
    known = {"function": "f" * 8}
    everything = [Result(k, FINISHED, "", {"y": np.array(k), "rows": np.full((2, 3), k)}, 0.1) for k in range(8)]
    with opened(tmp_path / "s.zarr", made, known) as store:
        store.write(everything[5:])
        store.write([Result(0, FAILED, "no")])
        assert store.pending().tolist() == [1, 2, 3, 4]
        with pytest.raises(cs.InputError, match="another run is writing"), opened(tmp_path / "s.zarr", made, known):
            pass
    with opened(tmp_path / "s.zarr", made, known) as store:
        store.write(everything[1:5])
        assert store.counts() == {"pending": 0, "finished": 7, "stopped": 0, "failed": 1, "lost": 0}
    data = read(tmp_path / "s.zarr").load()
    name = escaped("contact.left/0.friction")
    assert name == "contact.left~10.friction" and data.y.dims == (name, "law", "sample")
    assert data[name].attrs["name"] == "contact.left/0.friction" and data[name].values.tolist() == [0.1, 0.2]
    assert data.law.values.tolist() == ["a", "bc"] and np.array_equal(data.m, made.draws["m"])
    assert np.isnan(data.y.values.ravel()[0]) and np.array_equal(data.y.values.ravel()[1:], np.arange(1, 8))
    assert np.array_equal(data["rows"].values[1, 1, 1], np.full((2, 3), 7))
    assert data.message.values.ravel().tolist() == ["no"] + [""] * 7


def test_another_sweep_is_refused(tmp_path: Path) -> None:
    path, over = tmp_path / "s.zarr", {"a": [1.0, 2.0]}
    with opened(path, plan(over, None, "random", 0), {"scene": "x"}):
        pass
    for changed, seed, known, told in (
        (over, 0, {"scene": "y"}, "another scene"),
        (over, 0, {"function": "x"}, "another function"),
        ({"a": [1.0, 3.0]}, 0, {"scene": "x"}, "other values of 'a'"),
        ({"b": [1.0, 2.0]}, 0, {"scene": "x"}, "other axes: a"),
        (over, 1, {"scene": "x"}, "another seed"),
    ):
        with (
            pytest.raises(cs.InputError, match=rf"{told}; give another out, or remove"),
            opened(path, plan(changed, None, "random", seed), known),
        ):
            pass
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(cs.InputError, match="no sweep"), opened(tmp_path / "notes", plan(over, None, "random", 0), {}):
        pass
    (tmp_path / "file").write_text("mine")
    with (
        pytest.raises(cs.InputError, match="cannot write"),
        opened(tmp_path / "file", plan(over, None, "random", 0), {}),
    ):
        pass


def test_outputs_of_other_shapes_are_a_failure_of_their_run(tmp_path: Path) -> None:
    with opened(tmp_path / "s.zarr", plan({"a": [1, 2, 3]}, None, "random", 0), {}) as store:
        store.write([Result(0, FINISHED, "", {"y": np.zeros(2)})])
        store.write([Result(1, FINISHED, "", {"y": np.zeros(3)}), Result(2, FINISHED, "", {"a": np.zeros(2)})])
        data = store.dataset().load()
    assert data.status.values.tolist() == [FINISHED, FAILED, FAILED]
    assert "differ in 'y'" in str(data.message.values[1])


# --- on a cluster ---------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A cluster of two processes, in which a task that has killed its worker once more is given up."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
            yield cluster.scheduler_address


def test_a_sweep_on_a_cluster_is_each_run_alone(tmp_path: Path, scheduler: str) -> None:
    over = {"contact.friction": np.linspace(0.5, 2.0, 4), "gravity": [9.0, 9.81]}
    data = cs.sweep("biped", over, out=tmp_path / "s.zarr", scheduler=scheduler, settings=["run.time=0.1"])
    assert data.final_q.shape == (4, 2, 4) and (data.status == FINISHED).all()
    alone = results(work_of("biped", ["run.time=0.1"], None, 0.0), plan(over, None, "random", 0))
    assert np.array_equal(data.final_v.values.reshape(8, 4), [own.outputs["final_v"] for own in alone])
    again = cs.sweep("biped", over, out=tmp_path / "s.zarr", scheduler="tcp://nowhere:1", settings=["run.time=0.1"])
    assert np.array_equal(again.seconds, data.seconds)  # nothing was left to do, and nobody was asked


def test_random_numbers_do_not_hang_on_workers(tmp_path: Path, scheduler: str) -> None:
    data = cs.sweep(swept.noisy, {"x": [0.0, 1.0]}, out=tmp_path / "s.zarr", scheduler=scheduler, samples=20, seed=3)
    made = plan({"x": [0.0, 1.0]}, 20, "random", 3)
    expected = [made.point(k)["x"] + np.random.default_rng(made.seed_of(k)).standard_normal() for k in range(40)]
    assert np.array_equal(data.value.values.ravel(), expected)


def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path, scheduler: str) -> None:
    function = partial(swept.deadly, folder=str(tmp_path))
    with pytest.warns(
        UserWarning, match=r"1 of 8 runs failed: its worker died.*give fewer workers \(1, at x = 7.0\); "
    ):
        data = cs.sweep(function, {"x": np.arange(8.0)}, out=tmp_path / "s.zarr", scheduler=scheduler)
    assert (tmp_path / "died").exists()
    assert np.array_equal(data.value.values[:7], np.arange(7.0) ** 2)
    assert data.status.values.tolist() == [FINISHED] * 7 + [LOST]
    assert "its worker died" in str(data.message.values[7])


def test_what_workers_cannot_load_is_told(tmp_path: Path, scheduler: str) -> None:
    class Stranger:
        def __call__(self, x: float) -> float:
            return x

        def __reduce__(self) -> tuple[object, ...]:
            return __import__, ("a_package_that_is_nowhere",)

    with pytest.raises(cs.InputError, match=r"do the runs, such as that at x = 1.0 .*a_package_that_is_nowhere"):
        cs.sweep(Stranger(), {"x": [1.0]}, out=tmp_path / "s.zarr", scheduler=scheduler)


SILENT = """
import functools, sys, swept, contactsim as cs
if __name__ == "__main__":
    cs.sweep(functools.partial(swept.deadly, folder=sys.argv[1]), {"x": [6.0, 7.0]}, out=sys.argv[2], workers=1)
"""


def test_dask_says_nothing_beside_what_is_told(tmp_path: Path) -> None:
    """The error of a run whose worker dies is told as a warning, and no line of a log stands beside it."""
    script = tmp_path / "silent.py"
    script.write_text(SILENT)
    environment = {**ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, str(script), str(tmp_path), str(tmp_path / "s.zarr")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "1 of 2 runs failed: its worker died" in done.stderr
    assert "ERROR" not in done.stderr and "distributed" not in done.stderr


SCRIPT = """
import sys, numpy as np, swept, contactsim as cs
cs.sweep(swept.slowly, {"x": np.arange(40.0)}, out=sys.argv[1], scheduler=sys.argv[2])
"""


def finished(path: Path) -> int:
    """Runs that are in a store already."""
    try:
        return int((zarr.open_group(path, mode="r", zarr_format=2, use_consolidated=False)["status"][...] > 0).sum())
    except (KeyError, OSError, ValueError):  # it is not yet begun
        return 0


def wait_for(path: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120.0
    while finished(path) < count:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)


def test_a_sweep_that_is_killed_goes_on(tmp_path: Path, scheduler: str) -> None:
    path = tmp_path / "s.zarr"
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), scheduler], env=ENVIRONMENT) as client:
        wait_for(path, 5, client)
        os.kill(client.pid, signal.SIGKILL)
    before = finished(path)
    assert 5 <= before < 40
    kept = read(path).seconds.values
    data = cs.sweep(swept.slowly, {"x": np.arange(40.0)}, out=path, scheduler=scheduler)
    assert np.array_equal(data.value, np.sin(np.arange(40.0)))
    done = np.isfinite(kept)
    assert done.sum() == before and np.array_equal(data.seconds.values[done], kept[done])  # these were not made again


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.slow
def test_a_scheduler_that_comes_back_is_gone_on_with(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "s.zarr"
    address = f"tcp://127.0.0.1:{port}"

    def start() -> list[subprocess.Popen[bytes]]:
        where = ["--host", "127.0.0.1", "--port", str(port), "--dashboard-address", ":0"]
        found = [subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", *where], env=ENVIRONMENT)]
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
        command += ["--dashboard-address", ":0", "--local-directory", str(tmp_path)]
        return [*found, *(subprocess.Popen(command, env=ENVIRONMENT) for _ in range(2))]

    def stop(processes: list[subprocess.Popen[bytes]]) -> None:
        for process in processes:
            process.kill()
            process.wait()

    processes = start()
    try:
        with subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), address], env=ENVIRONMENT) as client:
            wait_for(path, 5, client)
            stop(processes)
            processes = start()
            assert client.wait(timeout=180) == 0
    finally:
        stop(processes)
    assert np.array_equal(read(path).value, np.sin(np.arange(40.0)))


MANY = """
import sys, threading, time
import numpy as np, psutil
import contactsim as cs
import swept

peak, done = 0, threading.Event()
def watch():
    global peak
    while not done.wait(0.05):
        peak = max(peak, psutil.Process().memory_info().rss)

if __name__ == "__main__":
    threading.Thread(target=watch, daemon=True).start()
    data = cs.sweep(swept.numbers, {"x": np.arange(10_000.0)}, out=sys.argv[1], workers=2, progress=False)
    done.set()
    assert (data.status == 1).all() and (data.state[:, 0] == data.x).all()
    print(peak / 2**30)
"""


@pytest.mark.slow
def test_ten_thousand_runs_fit_into_memory(tmp_path: Path) -> None:
    """Of the process that holds scheduler and client, with 50 numbers of each run: the largest memory in GiB."""
    pytest.importorskip("psutil")
    (tmp_path / "many.py").write_text(MANY)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "many.py"), str(tmp_path / "many.zarr")],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert float(done.stdout.split()[-1]) < 2.0
