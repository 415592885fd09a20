"""Who does the work decides no bit of a result: threads, processes, Dask, Ray, workers that are killed among them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tables
from chunks import map_chunks

import dpcheck
from dpcheck import audit_privacy, audit_sequential
from dpcheck.algorithms.measure import Experiment
from dpcheck.audits.membership import PrivacyAudit
from dpcheck.audits.running import Chunk
from dpcheck.catalogue.zhang2022.rate_minimisation import EXPERIMENTS
from dpcheck.checks.context import Context
from dpcheck.checks.rate_points import points
from dpcheck.errors import InputError
from dpcheck.running import process_pool
from dpcheck.running.compilations import compilations_said
from dpcheck.running.executor import Executor, LostWorkersError, Threads
from dpcheck.running.process_pool import Processes, executor

BACKENDS = ("threads", "processes", "dask", "ray")
NEEDS = {"dask": "distributed", "ray": "ray"}


@pytest.fixture(scope="module", params=BACKENDS)
def workers(request) -> Iterator[Executor]:
    needed = NEEDS.get(request.param)
    if needed is not None:
        pytest.importorskip(needed, reason=f"{needed} is not installed: pip install 'dpcheck[{request.param}]'")
    with executor(request.param, jobs=2) as found:
        yield found


def square(number: int) -> np.ndarray:
    return np.full(3, float(number) ** 2)


def test_chunks_come_in_order_or_as_they_finish(workers: Executor) -> None:
    found = list(workers.map(square, range(20)))
    assert [chunk for chunk, _ in found] == list(range(20))
    assert all(np.array_equal(result, square(chunk)) for chunk, result in found)
    found = sorted((chunk, result[0]) for chunk, result in workers.finished(square, range(20)))
    assert found == [(number, number**2) for number in range(20)]
    assert list(workers.map(square, [])) == []
    for _, result in workers.map(square, [2]):
        result += 1  # the caller's own


def test_one_call_may_be_left_and_another_begun(workers: Executor) -> None:
    ran = workers.map(square, iter(range(10**9)))
    assert next(ran)[0] == 0
    del ran
    assert [chunk for chunk, _ in workers.map(lambda number: -number, range(3))] == [0, 1, 2]


def fails(number: int) -> int:
    if number == 3:
        raise InputError("three must not be asked for")
    return number


def test_errors_are_those_of_the_work(workers: Executor) -> None:
    ran = workers.map(fails, range(10))
    assert [next(ran)[0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(InputError, match="three must not be asked for"):
        next(ran)
    assert len(list(workers.map(fails, range(3)))) == 3


def test_audits_have_the_same_bits(workers: Executor) -> None:
    def noisy(data, rng):
        return np.sum(data) + rng.laplace()

    def many(data, rng, size):
        return np.sum(data) + rng.laplace(size=(size, 2))

    pair = np.array([0.0, 1.0]), np.array([0.0, 2.0])
    asked = {"epsilon": 1.0, "delta": 0.0, "seed": 3}
    for mechanism, vectorized in ((noisy, False), (many, True)):
        alone = audit_privacy(mechanism, *pair, trials=3000, vectorized=vectorized, **asked)
        found = audit_privacy(mechanism, *pair, trials=3000, vectorized=vectorized, executor=workers, **asked)
        assert found.to_dict() == alone.to_dict()
    alone = audit_sequential(noisy, *pair, most=800, **asked)
    assert audit_sequential(noisy, *pair, most=800, executor=workers, **asked).to_dict() == alone.to_dict()


@pytest.mark.thorough
def test_rates_have_the_same_bits(workers: Executor) -> None:
    """A grid of the check, with its solver and its data, wherever it is measured."""
    experiment = EXPERIMENTS[0]
    alone, found = (points(experiment, Context(jobs=1, executor=each)) for each in (None, workers))
    for one, other in zip(alone, found, strict=True):
        assert one.values.size and np.array_equal(one.values, other.values)


@pytest.mark.thorough
def test_tables_have_the_same_bits(workers: Executor) -> None:
    experiment = Experiment.of("dp_sgda", fixed={"steps": 20}, vary={"n": [20, 40]}, seeds=3)
    found_rows: list[set[tuple[str, ...]]] = []
    for each in (None, workers):
        found_rows.append(set())
        experiment.measure_all(experiment.rows, found_rows[-1].add, jobs=1, executor=each)
    assert found_rows[0] == found_rows[1]
    assert len(found_rows[0]) == 6


class Killer:
    """Ends its process on one chunk, once or always."""

    def __init__(self, folder: Path, times: int) -> None:
        self.folder, self.times = folder, times

    def __call__(self, rng: np.random.Generator, size: int) -> np.ndarray:
        drawn = rng.random(size)
        if drawn[0] < 0.2:
            mark = self.folder / f"killed.{drawn[0]}"
            done = len(mark.read_text()) if mark.exists() else 0
            if done < self.times:
                mark.write_text("x" * (done + 1))
                os.kill(os.getpid(), signal.SIGKILL)
        return drawn


@pytest.mark.thorough
@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_a_killed_worker_costs_no_bit(tmp_path: Path, backend: str) -> None:
    if backend in NEEDS:
        pytest.importorskip(NEEDS[backend], reason=f"pip install 'dpcheck[{backend}]'")
    asked = {"seed": 5, "chunk": 10}
    alone = map_chunks(Killer(tmp_path, 0), 300, jobs=1, **asked)
    with executor(backend, jobs=2) as workers:
        found = map_chunks(Killer(tmp_path, 1), 300, executor=workers, **asked)
    np.testing.assert_array_equal(found, alone)
    assert len(list(tmp_path.glob("killed.*"))) >= 3


def test_work_that_always_ends_its_process_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LostWorkersError, match="must survive"), Processes(2) as workers:
        map_chunks(Killer(tmp_path, 10**6), 300, seed=5, chunk=10, executor=workers)


def slow(number: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def test_a_worker_killed_from_outside_is_replaced() -> None:
    with Processes(2) as workers:
        ran, pids = workers.map(slow, range(30)), set()
        for number, pid in ran:
            pids.add(pid)
            if number in (5, 15):
                os.kill(pid, signal.SIGKILL)
        assert number == 29
    assert len(pids) >= 4


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Callable[..., tuple[str, subprocess.Popen[bytes]]]]:
    """Starts a scheduler of Dask with one worker, which imports from ``path`` first; its address and its process."""
    pytest.importorskip("distributed", reason="pip install 'dpcheck[dask]'")
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, path: str = "") -> tuple[str, subprocess.Popen[bytes]]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([path, *filter(None, sys.path)])}
        at = ["--scheduler-file", str(tmp_path / name), "--no-dashboard"]
        for module, further in (
            ("dask_scheduler", ["--port", "0"]),
            ("dask_worker", ["--nthreads", "1", "--no-nanny"]),
        ):
            command = [sys.executable, "-P", "-m", f"distributed.cli.{module}", *at, *further]
            started.append(subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL))
            while not (tmp_path / name).exists():
                time.sleep(0.05)
        return json.loads((tmp_path / name).read_text())["address"], started[-2]

    yield start
    for process in started:
        process.kill()
        process.wait()


def noisy(data: float, rng: np.random.Generator) -> float:
    return float(data + rng.laplace())


@pytest.mark.thorough
def test_a_scheduler_that_is_lost_costs_no_bit(tmp_path: Path, scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "_WITHIN", 10.0)
    alone, kept = audit_privacy(noisy, 0, 1, epsilon=1.0, trials=8_000), dict[Chunk, np.ndarray]()
    address, process = scheduler("first")

    def lose(done: int, total: int) -> None:
        if done > 2_000:
            process.kill()

    def audit(at: str, **further) -> PrivacyAudit:
        with executor("dask", scheduler=at) as workers:
            return audit_privacy(noisy, 0, 1, epsilon=1.0, trials=8_000, executor=workers, runs=kept, **further)

    with pytest.raises(InputError, match=r"^scheduler must stay reachable .* got one that was lost"):
        audit(address, progress=lose)
    assert 2 <= len(kept) < 16
    address, _ = scheduler("second")
    assert audit(address).to_dict() == alone.to_dict()


@pytest.mark.thorough
def test_workers_with_another_dpcheck_are_refused(tmp_path: Path, scheduler) -> None:
    package = Path(dpcheck.__file__).parent
    shutil.copytree(package, tmp_path / "other" / "dpcheck", ignore=shutil.ignore_patterns("__pycache__", "*.xz"))
    with (tmp_path / "other" / "dpcheck" / "arrays.py").open("a") as file:
        file.write("# another\n")
    address, _ = scheduler("file", str(tmp_path / "other"))
    with (
        executor("dask", scheduler=address) as workers,
        pytest.raises(InputError, match=r"^workers must have the code"),
    ):
        list(workers.map(square, range(3)))


def timed(number: int) -> tuple[int, np.ndarray]:
    time.sleep(0.1)
    return os.getpid(), np.random.default_rng(number).random(100)


@pytest.mark.experiment
@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_a_worker_killed_each_minute_costs_no_bit(backend: str, keep) -> None:
    """Some four minutes each: ``pytest -n 0 -m experiment tests/command/test_executors.py -k minute --keep-tables``."""
    if backend in NEEDS:
        pytest.importorskip(NEEDS[backend], reason=f"pip install 'dpcheck[{backend}]'")
    chunks, pids, kills, same = 4_000, set(), 0, 0
    with executor(backend, jobs=2) as workers:
        started = last = time.monotonic()
        for number, (pid, found) in workers.map(timed, range(chunks)):
            pids.add(pid)
            same += np.array_equal(found, np.random.default_rng(number).random(100))
            if time.monotonic() - last > 60:
                last, kills = time.monotonic(), kills + 1
                os.kill(pid, signal.SIGKILL)
    row = {"backend": backend, "chunks": chunks, "same": same, "kills": kills, "workers": len(pids)}
    name = "worker_kills"
    before = tables.read(name).to_dict("records") if (tables.FOLDER / f"{name}.csv").exists() else []
    rows = {each["backend"]: each for each in before} | {backend: row | {"seconds": time.monotonic() - started}}
    keep(name, pd.DataFrame(list(rows.values())))
    assert same == chunks
    assert kills >= 3
    assert len(pids) >= 2 + kills


def test_only_so_many_chunks_are_taken_ahead() -> None:
    taken: list[int] = []
    with Threads(2) as workers:
        next(workers.map(square, (taken.append(k) or k for k in range(100))))
    assert len(taken) <= 4


def test_a_scheduler_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="pip install 'dpcheck[dask]'")
    from dpcheck.running import process_pool as clusters

    monkeypatch.setattr(clusters, "_WITHIN", 1.0)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(InputError, match="scheduler must be that of a Dask cluster with workers, got") as error:
            executor("dask", scheduler=address)
        assert "\n" not in str(error.value)


@pytest.mark.thorough
def test_a_mechanism_of_ones_own_travels_to_a_cluster(tmp_path: Path) -> None:
    """It lies in the working folder, which the cluster's workers do not have on their path."""
    pytest.importorskip("distributed", reason="pip install 'dpcheck[dask]'")
    (tmp_path / "used.py").write_text("SCALE = 2.0\n")
    (tmp_path / "travels.py").write_text(
        "import used\ndef noisy(data, rng):\n    return data + rng.laplace(scale=used.SCALE)\n"
    )
    asked = ["audit", "travels:noisy", "--data", "0", "--neighbour", "1", "--epsilon", "1", "--trials", "2000"]
    said = [
        subprocess.run(
            [sys.executable, "-m", "dpcheck", *asked, "--format", "json", *more], cwd=tmp_path, capture_output=True,
            text=True, check=True,
        ).stdout
        for more in ([], ["--backend", "dask", "--jobs", "2"])
    ]  # fmt: skip
    assert said[0] == said[1]
    assert json.loads(said[0])["trials"] == 2000


def test_processes_work_here_once_jax_has_threads(monkeypatch):
    """A process that forks leaves JAX's threads behind, and its workers would wait for them for ever."""
    with Processes(2) as pool:
        assert {pid for _, pid in pool.map(lambda _: os.getpid(), range(4))}.isdisjoint({os.getpid()})
    for started in (False, True):
        bridge = SimpleNamespace(backends_are_initialized=lambda started=started: started)
        monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", bridge)
        with Processes(2) as pool:
            assert ({pid for _, pid in pool.map(lambda _: os.getpid(), range(4))} == {os.getpid()}) is started


def test_what_jax_compiles_again_and_again_is_said_once(monkeypatch, caplog):
    listeners = []
    jax = SimpleNamespace(monitoring=SimpleNamespace(register_event_duration_secs_listener=listeners.append))
    monkeypatch.setitem(sys.modules, "jax", jax)
    event = "/jax/core/compile/backend_compile_duration"
    with compilations_said():
        for _ in range(60):
            listeners[0](event, 0.3)
            listeners[0]("/jax/other", 100.0)
    with compilations_said():
        listeners[0](event, 100.0)  # one that is long
    listeners[0](event, 0.3)
    assert len(listeners) == 1
    assert [message[:30] for message in caplog.messages] == ["JAX compiled 21 times, in 6 s "]
