"""An isolated mechanism is contained: whatever it does to its process, to others or to files, the audit lives on."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcheck
from dpcheck import InputError
from dpcheck.audits.running.isolated import ContainedError, Limits, measures
from dpcheck.running.store import Store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")

LIMITS, SHORT = Limits(seconds=30, megabytes=200), Limits(seconds=1, megabytes=200)


def laplace(data: Any, rng: np.random.Generator) -> Any:
    return data + rng.laplace()


def after(calls: int, ends: Callable[[], object]) -> Callable[..., Any]:
    """A mechanism that behaves for so many calls."""
    count = iter(range(10**9))

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        if next(count) >= calls:
            ends()
        return laplace(data, rng)

    return mechanism


def hangs() -> None:
    while True:
        time.sleep(1)


def allocates() -> None:
    kept = []
    while True:
        kept.append(np.ones(10**6))


def prints() -> None:
    while True:
        os.write(1, b"noise " * 1_000)


def forks() -> None:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)


def forks_once(forked: list[bool] = []) -> None:  # noqa: B006  # of the first call
    libc = ctypes.PyDLL(None)
    if not forked:
        forked.append(True)
        if libc.fork() == 0:
            libc._exit(0)
        libc.wait(None)


def forks_without_end() -> None:
    while True:
        os.fork()


def starts_a_program() -> None:
    subprocess.Popen(["sleep", "60"])


def ends() -> None:
    os._exit(0)


def closes_its_pipes() -> None:
    os.closerange(3, 64)
    time.sleep(60)


TIME = "return within 1 s when it is isolated, got one that runs on"
MEMORY = "work within 200 MB when it is isolated, got one that needs more"
PROCESSES = "start no process when it is isolated, got one that does"
CASES = {
    "hangs": (hangs, "time", TIME),
    "prints without end": (prints, "time", TIME),
    "allocates without end": (allocates, "memory", MEMORY),
    "forks": (forks, "processes", PROCESSES),
    "forks without end": (forks_without_end, "processes", PROCESSES),
    "starts a program": (starts_a_program, "processes", PROCESSES),
    "closes its pipes": (closes_its_pipes, "exit", "return, got one that ended its process (it closed its pipe)"),
    "ends its process": (ends, "exit", "return, got one that ended its process (exit code 0)"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("calls", [0, 150])
@pytest.mark.parametrize("name", CASES)
def test_a_mechanism_that_misbehaves_is_contained(name: str, calls: int) -> None:
    ends, limit, said = CASES[name]
    limits = SHORT if limit == "time" else LIMITS
    with pytest.raises(ContainedError) as stopped:
        dpcheck.audit_privacy(after(calls, ends), 1, 0, epsilon=1.0, trials=1_000, isolate=limits)
    assert stopped.value.limit == limit
    assert str(stopped.value).startswith(f"mechanism must {said}")
    assert "\n" not in str(stopped.value)
    if calls and limit == "time":
        assert "on neighbour, after 88 runs on data and 62 on neighbour that did not fail" in str(stopped.value)
    with pytest.raises(ChildProcessError):  # nothing is left, not even a process that nobody waited for
        os.waitpid(-1, os.WNOHANG)


def test_isolation_changes_no_bit() -> None:
    whole = dpcheck.audit_privacy(laplace, 1, 0, epsilon=1.0, trials=1_000)
    assert dpcheck.audit_privacy(laplace, 1, 0, epsilon=1.0, trials=1_000, isolate=LIMITS) == whole
    one = dpcheck.audit_sequential(laplace, 1, 0, epsilon=1.0, most=300)
    assert dpcheck.audit_sequential(laplace, 1, 0, epsilon=1.0, most=300, isolate=LIMITS).to_dict() == one.to_dict()


@pytest.mark.thorough
def test_other_faults_are_named_as_ever() -> None:
    for mechanism, said in (
        (lambda data, rng: (word for word in "ab"), "mechanism must return values that can be compared, got output"),
        (lambda data, rng: np.random.default_rng().normal(), "mechanism must draw all its randomness from rng"),
        (lambda data, rng: sys.exit(0), "mechanism must return a number or an array, got SystemExit: 0"),
        (after(150, lambda: 1 / 0), "mechanism must fail by its data and rng alone, got an outcome with raises Zero"),
    ):  # fmt: skip
        with pytest.raises(InputError) as refused:
            dpcheck.audit_privacy(mechanism, 1, 0, epsilon=1.0, trials=1_000, isolate=LIMITS)
        assert str(refused.value).startswith(said)


def test_limits_and_workers_are_checked() -> None:
    for given in ({"seconds": 0}, {"seconds": float("nan")}, {"megabytes": -1}, {"total_seconds": 0}):
        with pytest.raises(InputError, match=r"^(seconds|megabytes|total_seconds) must be a finite number > 0"):
            Limits(**given)
    with pytest.raises(InputError, match=r"^jobs must be 1 where the mechanism is isolated, got 2"):
        dpcheck.audit_privacy(laplace, 1, 0, epsilon=1.0, jobs=2, isolate=LIMITS)


def test_a_process_that_nobody_could_see_is_none() -> None:
    """One that libc starts and waits for, between two looks."""
    said, ended = list[str](), ""
    limits = Limits(seconds=30, megabytes=200, told=said.append)
    try:
        dpcheck.audit_privacy(after(150, forks_once), 1, 0, epsilon=1.0, trials=1_000, isolate=limits)
    except ContainedError as stopped:
        ended = stopped.limit
    if "no network" not in said[0].partition("; not on this system")[0]:
        pytest.skip(f"not on this system: {said[0]}")
    assert ended == "processes"


def test_what_does_not_hold_is_said() -> None:
    said = measures(Limits(), {"memory": True, "network": False})
    held, _, missing = said.partition("; not on this system: ")
    assert "2048 MB of memory" in held
    assert "network" not in held
    assert "no network" in missing
    every = dict.fromkeys(["memory", "file size", "network", "signals", "files"], True)
    assert "not on this system" not in measures(Limits(), every)


def test_all_calls_together_end_in_time() -> None:
    limits, started = Limits(seconds=30, megabytes=200, total_seconds=2), time.monotonic()
    with pytest.raises(ContainedError, match=r"^mechanism must end all calls within 2 s when it is isolated") as ended:
        dpcheck.audit_privacy(sleepy, 1, 0, epsilon=1.0, trials=1_000, isolate=limits)
    assert ended.value.limit == "time"
    assert time.monotonic() - started < 10


def sleepy(data: Any, rng: np.random.Generator) -> Any:
    time.sleep(0.1)
    return laplace(data, rng)


@pytest.mark.thorough
def test_nothing_that_it_starts_outlives_it() -> None:
    def escapes() -> None:
        subprocess.Popen(["setsid", "sleep", "977.5"])
        time.sleep(1)

    with pytest.raises(ContainedError):
        dpcheck.audit_privacy(after(0, escapes), 1, 0, epsilon=1.0, trials=1_000, isolate=LIMITS)
    assert not [command for command in running() if b"977.5" in command]


def running() -> list[bytes]:
    """The commands of all processes."""
    found = list[bytes]()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # one that has ended by now
            found.append(path.read_bytes())
    return found


_OUTLIVES = """
import ctypes, os, sys, dpcheck
from dpcheck.audits.running.isolated import Limits
def outlives(data, rng):
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    os.execv("/bin/sleep", ["sleep", "978.5"])
dpcheck.audit_privacy(outlives, 1, 0, epsilon=1.0, isolate=Limits(told=lambda said: print(said, flush=True)))
"""


@pytest.mark.thorough
def test_it_does_not_outlive_an_audit_that_is_killed() -> None:
    def asleep() -> bool:
        return b"sleep\x00978.5\x00" in running()

    with subprocess.Popen([sys.executable, "-c", _OUTLIVES], stdout=subprocess.PIPE, text=True) as audit:
        assert audit.stdout is not None
        if "no signals" not in audit.stdout.readline().partition("; not on this system")[0]:
            pytest.skip("the system refuses no calls")
        end = time.monotonic() + 20
        while not asleep() and time.monotonic() < end:
            time.sleep(0.02)
        assert asleep()
        audit.kill()
    while asleep() and time.monotonic() < end:
        time.sleep(0.02)
    assert not asleep()


LIES = (
    b'{"shape": [1e999, 1], "words": []}', b"[" * 60_000, b"5", b'{"error": "x", "ran": 1e999}',
    b'{"shape": [1, 3], "words": []}\n' + np.array([1e18, np.nan, 5.0]).tobytes(),
)  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("lie", range(len(LIES)))
def test_an_answer_that_is_none_is_refused(lie: int) -> None:
    text = LIES[lie] + b"\n"

    def lies(data: Any, rng: np.random.Generator) -> Any:
        for pipe in range(3, 32):
            try:
                os.write(pipe, text)
            except OSError:
                continue
        return laplace(data, rng)

    with pytest.raises(InputError) as refused:
        dpcheck.audit_privacy(lies, 1, 0, epsilon=1.0, trials=1_000, isolate=SHORT)
    assert "\n" not in str(refused.value)


MECHANISMS = """
import os, time
def fine(data, rng): return data + rng.laplace()
def hangs(data, rng): time.sleep(1000)
def stops(data, rng):
    os.kill(os.getppid(), 19)
    time.sleep(1000)
def destroys(data, rng):
    for file in range(3, 64):
        for write in (os.write, lambda file, text: os.pwrite(file, text, 0)):
            try: write(file, b"nothing" * 1000)
            except OSError: pass
    return data + rng.laplace()
def prints(data, rng):
    os.write(1, b"uproar"); print("uproar")
    return data + rng.laplace()
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("function", "code"), [("fine", 0), ("prints", 0), ("hangs", 2)])
def test_the_command(tmp_path: Path, function: str, code: int) -> None:
    (tmp_path / "others.py").write_text(MECHANISMS)
    given = ("--data", "0", "--neighbour", "1", "--epsilon", "1", "--trials", "500", "--isolate", "--call-seconds", "1")
    command = [sys.executable, "-m", "dpcheck", "audit", f"others:{function}", *given]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    out, err = done.stdout, done.stderr
    assert done.returncode == code, err
    assert "uproar" not in out + err
    if code:
        assert out == "inconclusive: the mechanism was contained (time), and shows nothing of its privacy\n"
        said = "dpcheck: error: mechanism must return within 1 s when it is isolated, got one that runs on"
        assert err.splitlines()[-1] == said
    else:
        assert out.startswith("consistent: ")
    assert "isolated: a process of its own, no inherited files" in " ".join(err.split())


@pytest.mark.thorough
def test_neither_store_nor_parent_is_reached(tmp_path: Path) -> None:
    (tmp_path / "others.py").write_text(MECHANISMS)
    given = ("--data", "0", "--neighbour", "1", "--epsilon", "1", "--trials", "500", "--isolate", "--call-seconds", "2")

    def run(function: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dpcheck", "audit", f"others:{function}", *given, "--store", "kept"]
        return subprocess.run(
            [*command, "--format", "json"], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )  # fmt: skip

    before = run("fine")
    assert before.returncode == 0
    for function in ("destroys", "stops"):
        assert run(function).returncode == 2
    store = Store(tmp_path / "kept" / "dpcheck.sqlite")
    assert len(store.runs()) == 1
    store.close()
    after = run("fine")
    one, other = (json.loads(done.stdout) for done in (before, after))
    assert one == other
    assert "no inherited files" in one["isolated"]
