"""``dpcheck write``: the tests that it drafts run as they stand, and claim no more than the module says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpcheck.cli import main
from dpcheck.commands.write import tests_of as drafted

MODULE = '''
import random
import numpy as np
from numpy import random as draws
from numpy.typing import NDArray

EPSILON = 0.5

def noisy_mean(data: NDArray[np.float64], rng: np.random.Generator, epsilon: float = 1.0) -> float:
    """Return the mean of records in [-1, 2]."""
    return float(np.mean(data) + rng.laplace(scale=3 / len(data) / epsilon))

def noisy_sum(values, epsilon, *, generator):
    """Return the sum of values between 0 and 1."""
    return sum(values) + generator.laplace(scale=1 / epsilon)

def leaking_count(data: list[int], seed: int, eps=EPSILON):
    return sum(x > 0 for x in data) + np.random.default_rng(seed).laplace(scale=.1)

def own_noise(data: list[float]):
    """Return a sum that is 2-differentially private."""
    return sum(data) + draws.laplace(scale=.6)

def gaussian(value: float, rng, size):
    """(1, 1e-5)-DP, of a value in [0, 1]."""
    return value + rng.normal(scale=4., size=size)

def _helper():
    return random.gauss(0, 1)

def helped(data: list[str], bins):
    return _helper()

def plain(data): return sum(data)
'''
CALLS = {
    "noisy_mean": ("noisy_mean", {"epsilon": 1.0}),
    "noisy_sum": ("lambda data, rng: noisy_sum(data, epsilon=1.0, generator=rng)", {"epsilon": 1.0}),
    "leaking_count": ("lambda data, rng: leaking_count(data, seed=int(rng.integers(2**31)))", {"epsilon": 0.5}),
    "own_noise": ("lambda data, rng: own_noise(data)", {"epsilon": 2.0}),
    "gaussian": ("gaussian", {"epsilon": 1.0, "delta": 1e-05}),
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_signatures_and_docstrings_are_read():
    tests = drafted(MODULE)
    assert list(tests) == [*CALLS, "helped"]
    for name, (call, claim) in CALLS.items():
        text, missing = tests[name]
        stated = ", ".join(f"{quantity}={value}" for quantity, value in claim.items())
        assert (missing, text.splitlines()[-1]) == ([], f"    privacy({call}, data, neighbour, {stated})")
    assert "data = np.array([-1.0, 2.0, 2.0])" in tests["noisy_mean"][0]
    assert "neighbour = 0.0 " in tests["gaussian"][0] and "vectorized=True" in tests["gaussian"][0]
    assert "seeded=False" in tests["own_noise"][0]


UNKNOWN = {
    "no epsilon": ("data: list[float], rng", "Return it.", "epsilon"),
    "a formula": ("data: list[float], rng", "epsilon = 1/2 of all", "epsilon"),
    "another formula": ("data: list[float], rng", "epsilon = 2 * T", "epsilon"),
    "a small number": ("data: list[float], rng, eps=1e-8", "", "epsilon"),
    "a computed default": ("data: list[float], rng, epsilon=1 / 3", "", "epsilon"),
    "no delta": ("data: list[float], rng, epsilon=1.0", "(epsilon, delta)-private", "delta"),
    "no data": ("rng, epsilon=1.0", "", "data"),
    "data of any kind": ("data, rng, epsilon=1.0", "", "data"),
    "a table": ("data: pd.DataFrame, rng, epsilon=1.0", "Columns in [0, 1].", "data"),
    "another argument": ("data: list[float], bins, rng, epsilon=1.0", "", "bins"),
    "another generator": ("data: list[float], rng: torch.Generator, epsilon=1.0", "", "rng"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_not_stated_is_not_guessed(case):
    """A test that claims what nobody claimed would accuse a mechanism falsely."""
    arguments, docstring, word = UNKNOWN[case]
    text, missing = drafted(f'def f({arguments}):\n    """{docstring}"""\n    return rng.laplace()')["f"]
    assert len(missing) == 1 and word in missing[0]
    assert text.startswith("@pytest.mark.skip") and text.splitlines()[-1].startswith("    # TODO: privacy(")
    compile(text, "test", "exec")


def test_what_the_methods_say():
    """Of Gaussian noise, that there is a delta; of a method that NumPy's generator has not, that it is another one."""
    for method, words in (("normal", "delta"), ("expovariate", "numpy.random.Generator")):
        (_, missing) = drafted(f"def f(data: list[float], rng, epsilon=1.0): return rng.{method}(1)")["f"]
        assert len(missing) == 1 and words in missing[0]


def test_the_file_runs_as_it_stands(project, capsys):
    (project / "tests").mkdir()
    assert main(["write", "src/mine.py", "--output", "tests/test_mine.py"]) == 0
    assert "tests drafted: 6; skipped until they are completed: 1" in capsys.readouterr().err
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "1 failed, 4 passed, 1 skipped" in done.stdout, done.stdout
    assert "violated" in done.stdout.partition("FAILED tests/test_mine.py::test_leaking_count")[0]


def test_the_module_is_read_and_not_run(project, capsys):
    Path("mine.py").write_text(f"{MODULE}\nraise SystemExit(9)\n")
    assert main(["write", "mine"]) == 0
    assert "from mine import noisy_mean, noisy_sum" in capsys.readouterr().out
    assert "mine" not in sys.modules


def test_wrong_input_is_refused(project, capsys):
    Path("plain.py").write_text("def f(data): return 1\n")
    Path("broken.py").write_text("def f(")
    Path("two-words.py").write_text(MODULE)
    before = {path: path.read_bytes() for path in project.rglob("*.py")}
    for arguments in ([""], ["x" * 300], ["none"], ["plain.py"], ["broken"], ["two-words.py"],
                      ["src/mine.py", "--output", "plain.py"],
                      ["src/mine.py", "--output", "no/test.py"], ["src/mine.py", "--output", ""]):  # fmt: skip
        assert main(["write", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == "" and " must " in err.splitlines()[-1]
    assert {path: path.read_bytes() for path in project.rglob("*.py")} == before
