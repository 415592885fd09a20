"""A function in a Python of its own is audited as if it stood here."""

from __future__ import annotations

import os
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcheck
from dpcheck.audits.running.other_python import OtherPython
from dpcheck.audits.running.visitor import packed
from dpcheck.cli import main

MODULE = """
import os, sys
import numpy as np

def total(data, rng, size):
    os.write(1, b"noise on stdout")
    return np.sum(data) + rng.laplace(0, 1, size)

def back(*values): return [*values, np.__version__, sys.executable]
def fails(data, rng): raise LookupError("no such record")
def ends(data, rng): os._exit(3)
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with NumPy and nothing else, whose interpreter stands at another path than this one."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, symlinks=True)
    site = next(home.glob("lib/python*/site-packages"))
    packages = Path(np.__file__).parent.parent
    for path in packages.glob("numpy*"):
        (site / path.name).symlink_to(path)
    return home / "bin" / "python"


@pytest.fixture(scope="module")
def run(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], OtherPython]:
    file = tmp_path_factory.mktemp("module") / "visited.py"
    file.write_text(MODULE)
    return lambda name: OtherPython(bare, f"{file}:{name}")


def test_the_environment_has_no_dpcheck(run: Callable[[str], OtherPython]) -> None:
    back = run("back")(1)
    assert back[-1] != sys.executable
    (file := Path(run("back")._function.rpartition(":")[0]).with_name("needs.py")).write_text("import dpcheck\nf = len")
    with pytest.raises(dpcheck.InputError, match="No module named 'dpcheck'"):
        OtherPython(back[-1], f"{file}:f")([])


def test_values_come_back_as_they_went(run: Callable[[str], OtherPython]) -> None:
    arrays = np.arange(6.0).reshape(2, 3).T, np.array(["a", "bc"]), np.float32(1.5), np.zeros((0, 2), np.int8)
    values = [1, 2.5, "x", None, {"a": [True]}, *arrays]
    for given, got in zip(values, run("back")(*values), strict=False):
        assert type(given) is type(got)
        assert np.array_equal(given, got)
        assert getattr(given, "dtype", None) == getattr(got, "dtype", None)


def test_a_table_is_packed_without_pandas_own_pickles() -> None:
    body = packed(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}, index=[3, 4]))
    assert b"BlockManager" not in body
    assert b"numpy._core" not in packed(np.arange(3)) + packed(np.float64(1))


def test_the_audit_is_that_of_the_function_itself(run: Callable[[str], OtherPython]) -> None:
    found = [
        dpcheck.audit_privacy(run("total"), [0, 1, 1], [0, 1, 0], epsilon=e, trials=2_000, vectorized=True, jobs=jobs)
        for e, jobs in ((0.5, 1), (1.0, 1), (1.0, 2))
    ]
    assert [audit.verdict for audit in found] == ["violated", "consistent", "consistent"]
    assert found[1].to_dict() == found[2].to_dict()


def test_errors_there_are_outcomes_and_ends_are_told(run: Callable[[str], OtherPython]) -> None:
    with pytest.raises(Exception, match="no such record") as raised:
        run("fails")([1], np.random.default_rng())
    assert type(raised.value).__name__ == "LookupError"
    with pytest.raises(dpcheck.InputError, match=r"ended its process.*exit code 3"):
        dpcheck.audit_privacy(run("ends"), [0], [1], epsilon=1.0, trials=100)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--isolate", "--neighbour", "[0, 0]"], "--isolate"),
        (["--store", "kept"], "--store"),
    ],
)
def test_the_command_refuses_what_does_not_go_together(
    run: Callable[[str], OtherPython], bare: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    given = ["audit", run("total")._function, "--python", os.fspath(bare), "--data", "[0, 1]", "--epsilon", "1"]
    assert main([*given, "--vectorized", *more]) == 2
    assert words in capsys.readouterr().err


def test_the_command_searches_neighbours_there(
    run: Callable[[str], OtherPython], bare: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ["audit", run("total")._function, "--python", os.fspath(bare), "--data", "[0, 1]", "--epsilon", "0.3"]
    assert main([*given, "--vectorized", "--trials", "2000"]) == 1
    out, _ = capfd.readouterr()
    assert "violated" in out
    assert "other_python" not in out  # no line of ours is named as the fault's
