"""The marker and the fixture, in a test run of their own."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

TESTS = """
import pytest

def noisy_sum(data, rng, size):
    return sum(data) + rng.laplace(scale=2.0, size=size)

pytestmark = pytest.mark.privacy(trials=5000, vectorized=True)

def test_private(privacy):
    privacy(noisy_sum, [0, 1], [0, 0], epsilon=0.5)

@pytest.mark.privacy(trials=4000)
def test_not_private(privacy):
    privacy(noisy_sum, [0, 9], [0, 0], epsilon=0.5)

def test_without():
    pass
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """A run in which every warning is an error, with a JUnit file."""
    folder = tmp_path_factory.mktemp("sums")
    (folder / "test_sums.py").write_text(textwrap.dedent(TESTS))
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider",
         "-p", "no:xdist", "--strict-markers", "--junitxml=junit.xml", "test_sums.py"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.stdout + run.stderr, (folder / "junit.xml").read_text()


@pytest.mark.thorough
def test_marker_and_fixture(outcome):
    text, junit = outcome
    assert "1 failed, 2 passed" in text
    assert '<property name="dpcheck.verdict" value="consistent"' in junit
    assert '<property name="dpcheck.verdict" value="violated"' in junit


def test_a_failure_says_epsilon_first_and_how_to_run_it_again(outcome):
    text, _ = outcome
    failure = [line[4:] for line in text.splitlines() if line.startswith("E  ")]
    assert re.fullmatch(
        r"\s*AssertionError: epsilon >= [\d.]+ where 0\.5 is claimed, at delta 0 with confidence 0\.95: "
        r"not \(0\.5, 0\)-private", failure[0],
    )  # fmt: skip
    assert failure[1].strip().startswith("witness: output")
    assert failure[2].strip() == "mechanism: test_sums.py:4"
    assert re.fullmatch(r"\s*seed: 0, \d+ trials", failure[3])
    assert failure[4].strip() == "rerun: pytest test_sums.py::test_not_private"
    assert re.fullmatch(
        r"\s*hint: .*rng\.laplace at test_sums\.py:5\) is too small by a factor of 9(\.\d+)?", failure[5]
    )
    assert "require_private" not in text  # of the tests alone, not of what they call
    assert "dpcheck/testing.py" not in text


WRONG = """
from dpcheck.testing import assert_noise, assert_private

def private(data, rng):
    return sum(data) + rng.laplace()

def without_rng(data):
    return sum(data)

def test_fixture(privacy):
    privacy(private, [0, 1], [0, 0], epsilon=-1)

def test_fixture_of_another_function(privacy):
    privacy(without_rng, [0, 1], [0, 0], epsilon=1)

def test_assertion():
    assert_private(without_rng, [0, 1], [0, 0], epsilon=1)

def test_noise():
    assert_noise(private, [0, 1], scale=-1)
"""


def test_wrong_input_fails_at_the_line_of_the_test(tmp_path):
    """One line of error each, and none of what lies below the test."""
    (tmp_path / "test_wrong.py").write_text(WRONG)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_wrong.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "4 failed" in run.stdout
    said = [line[1:].strip() for line in run.stdout.splitlines() if line.startswith("E ")]
    takes = "mechanism must take (data, rng) with a numpy.random.Generator as rng, or (data, rng, size) where it is"
    assert said == [
        "dpcheck.errors.InputError: epsilon must be a finite number >= 0, got -1",
        f"dpcheck.errors.InputError: {takes} vectorized, got without_rng(data)",
        f"dpcheck.errors.InputError: {takes} vectorized, got without_rng(data)",
        "dpcheck.errors.InputError: scale must be a finite number > 0, got -1",
    ]
    assert len(re.findall(r"^test_wrong\.py:\d+: InputError$", run.stdout, re.M)) == 4
    assert "/dpcheck/" not in run.stdout
    assert "direct cause" not in run.stdout


def test_all_audits_are_listed_at_the_end_those_that_fail_first(outcome):
    text, _ = outcome
    listed = text[text.index("privacy audits by dpcheck") :].splitlines()[1:3]
    assert [line.split()[0] for line in listed] == ["violated", "consistent"]
    assert [line.split()[-1] for line in listed] == ["test_sums.py::test_not_private", "test_sums.py::test_private"]
    assert all("seed 0" in line and "epsilon >= " in line for line in listed)


def test_the_plugin_loads_nothing_heavy():
    code = "import dpcheck.pytest_plugin, sys; print([m for m in ('numpy', 'numba', 'sympy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


GREEN_WITHOUT = """
import os, threading, pytest

def noisy_sum(data, rng, size):
    return sum(data) + rng.laplace(scale=2.0, size=size)

LEAK, GOOD = ([0, 9], [0, 0]), ([0, 1], [0, 0])
shared = pytest.mark.privacy(trials=2000, vectorized=True, epsilon=0.5)

@shared
def test_swallowed(privacy):
    try:
        privacy(noisy_sum, *LEAK)
    except AssertionError:
        pass

@shared
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_thread(privacy):
    thread = threading.Thread(target=privacy, args=(noisy_sum, *LEAK))
    thread.start()
    thread.join()

@shared
def test_fork(privacy):
    child = os.fork()
    if child == 0:
        try:
            privacy(noisy_sum, *LEAK)
        finally:
            os._exit(0)
    os.waitpid(child, 0)

@shared
def test_still_running(privacy):
    release = threading.Event()
    def waiting(data, rng, size):
        release.wait(2)
        return noisy_sum(data, rng, size)
    threading.Thread(target=privacy, args=(waiting, *GOOD)).start()

@shared
def test_never_called(privacy):
    pass

@shared
def test_without_the_fixture():
    pass

@shared
def test_error_swallowed(privacy):
    try:
        privacy(noisy_sum, *GOOD, delta=7)
    except Exception:
        pass

@pytest.fixture
def around(privacy):
    privacy(noisy_sum, *GOOD)
    yield
    try:
        privacy(noisy_sum, *LEAK)
    except AssertionError:
        pass

@shared
def test_torn_down(around):
    pass

@pytest.mark.privacy(300)
def test_argument_without_a_name(privacy):
    privacy(noisy_sum, *GOOD, epsilon=0.5, vectorized=True)

@shared
def test_good_known_leak(privacy):
    privacy(noisy_sum, *LEAK, expected="violated")

@shared
def test_known_leak_that_is_mended(privacy):
    privacy(noisy_sum, *GOOD, expected="violated")

def test_good_of_another_kind():
    pass
"""


def test_no_test_is_green_without_its_audits(tmp_path):
    (tmp_path / "test_green.py").write_text(GREEN_WITHOUT)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist", "test_green.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    summary = run.stdout[run.stdout.index("short test summary info") :]
    passed = set(re.findall(r"^PASSED test_green.py::(\w+)", summary, re.M))
    broken = set(re.findall(r"^(?:FAILED|ERROR) test_green.py::(\w+)", summary, re.M))
    names = set(re.findall(r"def (test_\w+)", GREEN_WITHOUT))
    good = {"test_good_known_leak", "test_good_of_another_kind"}
    assert passed - broken == good, run.stdout
    assert broken == names - good, run.stdout
    assert "test_green.py:4" in run.stdout, "the mechanism's line"
    listed = run.stdout[run.stdout.index("privacy audits by dpcheck") :]
    assert len(re.findall(r"claimed \(0.5, 0\)-privacy.*::test_torn_down$", listed, re.M)) == 2
