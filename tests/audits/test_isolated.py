"""An isolated mechanism is contained: where it hangs, forks, prints or allocates, the audit says so and lives on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcheck
from dpcheck import InputError
from dpcheck.audits.running.isolated import ContainedError, Limits

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


def forks_without_end() -> None:
    while True:
        os.fork()


def starts_a_program() -> None:
    subprocess.Popen(["sleep", "60"])


def ends() -> None:
    os._exit(0)


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
    for given in ({"seconds": 0}, {"seconds": float("nan")}, {"megabytes": -1}):
        with pytest.raises(InputError, match=r"^(seconds|megabytes) must be a finite number > 0"):
            Limits(**given)
    with pytest.raises(InputError, match=r"^jobs must be 1 where the mechanism is isolated, got 2"):
        dpcheck.audit_privacy(laplace, 1, 0, epsilon=1.0, jobs=2, isolate=LIMITS)


MECHANISMS = """
import os, time
def fine(data, rng): return data + rng.laplace()
def hangs(data, rng): time.sleep(1000)
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
