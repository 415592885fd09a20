"""The kernels' cache on disk: damaged files heal, stale code is not run, and Numba may lack its private parts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from dpcheck.kernels import jit, numba_private
from dpcheck.kernels.jit import VECTOR, kernel

# One kernel that calls another; the process says what it computed, and what came from the cache.
RUN = """
import json
import numpy as np
from dpcheck.kernels.gradients import add_clipped
out = np.zeros(3)
add_clipped(np.array([3.0, 4.0, 2.0]), 2, np.array([1.0, 1.0]), 1, out)
print(json.dumps([out.tolist(), sum(add_clipped.stats.cache_hits.values())]))
"""
RESULT = [0.6, 0.8, 1.0]


def run(cache: Path, code: str = RUN) -> Any:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment | {"NUMBA_CACHE_DIR": str(cache)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def emptied(data: bytes) -> bytes:
    return b""


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def altered(data: bytes) -> bytes:
    """Change one byte in the middle, among the machine code of a data file."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that one process has filled and another has used."""
    folder = tmp_path_factory.mktemp("cache")
    assert run(folder) == [pytest.approx(RESULT), 0]
    assert run(folder) == [pytest.approx(RESULT), 1]
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("damage", "files"),
    [(emptied, "*.nb?"), (truncated, "*.nbi"), (emptied, "*.nbc"), (truncated, "*.nbc"), (altered, "*.nbc")],
)
def test_a_damaged_cache_heals(damage: Any, files: str, cached: Path, tmp_path: Path) -> None:
    """The next process computes the same and compiles again; the one after it finds all in the cache."""
    folder = Path(shutil.copytree(cached, tmp_path / "cache"))
    damaged = list(folder.rglob(files))
    assert len(damaged) >= 2
    for file in damaged:
        file.write_bytes(damage(file.read_bytes()))
    assert run(folder) == [pytest.approx(RESULT), 0]
    assert run(folder) == [pytest.approx(RESULT), 1]


# A mean of clipped gradients, last bit and all, after other kernels were loaded.
MEAN = """
import json
import numpy as np
from dpcheck.kernels import gradients
from dpcheck.problems.matrix_sensing import MatrixSensing
from dpcheck.problems.problem import data_of
{first}
problem = MatrixSensing.example(np.random.default_rng(1))
rng = np.random.default_rng(0)
out = np.empty(problem.dim_w + problem.dim_v)
x = rng.normal(size=out.size)
n = len(problem.records)
data = data_of(problem)
problem.mean(problem.gradient, data, np.arange(n), n, x, np.ones(2), out)
print(json.dumps([float(each).hex() for each in out]))
"""
LOADED_FIRST = "gradients.add_clipped(np.ones(3), 2, np.ones(2), 1, np.zeros(3))"


@pytest.mark.thorough
def test_bits_do_not_depend_on_what_is_in_the_cache_or_was_loaded_before(tmp_path: Path) -> None:
    compiled = run(tmp_path, MEAN.format(first=""))
    assert run(tmp_path, MEAN.format(first="")) == compiled
    assert run(tmp_path, MEAN.format(first=LOADED_FIRST)) == compiled


def test_the_installed_numba_has_the_private_parts() -> None:
    """A version that fails here runs all the same, slower: add what it calls these parts, or leave it at that."""

    @numba.njit(cache=True)
    def function(x):  # type: ignore[no-untyped-def]
        return x

    lacking = numba_private.missing(function)
    assert lacking == (), f"numba {numba.__version__} lacks {', '.join(lacking)}"


class Changed:
    """A dispatcher of another Numba: without one private part."""

    def __init__(self, inner: Any, lacking: str) -> None:
        self.inner, self.lacking = inner, lacking

    def __getattr__(self, name: str) -> Any:
        if name == self.lacking:
            raise AttributeError(name)
        return getattr(self.inner, name)


@pytest.mark.parametrize(
    "part", ["compile", "_compile_for_args", "_compiler", "overloads", "disable_compile", "_cache"]
)
def test_a_part_that_is_gone_is_missed(part: str) -> None:
    @numba.njit(cache=True)
    def function(x):  # type: ignore[no-untyped-def]
        return x

    assert any(name.startswith(part) for name in numba_private.missing(Changed(function, part)))


def total(x):  # type: ignore[no-untyped-def]
    sum_ = 0.0
    for i in range(x.size):
        sum_ += x[i]
    return sum_


@pytest.mark.parametrize("gone", ["a part", "the module"])
def test_a_numba_without_the_private_parts_compiles_at_once_and_caches_nothing(
    gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if gone == "a part":
        monkeypatch.setattr(numba_private, "missing", lambda compiled: ("compile",))
    else:
        monkeypatch.setattr(jit, "numba_private", None)
    compiled: Any = kernel(numba.types.float64(VECTOR), apart=True)(total)
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    assert len(compiled.signatures) == 1
    assert numba_private.index_of(compiled) is None
    assert compiled(np.array([1.0, 2.0])) == 3.0


@pytest.mark.thorough
def test_kernels_that_call_each_other_work_without_the_private_parts(tmp_path: Path) -> None:
    hidden = 'import sys\nsys.modules["dpcheck.kernels.numba_private"] = None  # importing it fails\n'
    assert run(tmp_path, hidden + RUN) == [pytest.approx(RESULT), 0]
    assert not list(tmp_path.rglob("*.nbi"))


AUDITS = """
import json
from dpcheck.audits.limits.binomial_order import score
print(json.dumps(score(3.0, 2.0, 5, 0.5, 0.1)))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_kernels_of_the_audits_heal_too(tmp_path: Path, ending: str) -> None:
    """Emptied, cut and altered files: the audit runs as before, and the next run finds sound files."""
    first = run(tmp_path, AUDITS)
    for spoil in (
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: bytes([data[0] ^ 255]) + data[1:],
    ):
        files = [file for file in tmp_path.rglob(f"*{ending}") if "binomial_order" in file.name]
        assert files
        for file in files:
            file.write_bytes(spoil(file.read_bytes()))
        assert run(tmp_path, AUDITS) == first
