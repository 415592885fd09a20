"""The folder of compiled code: one file a kernel, named by what is compiled in; damaged files heal, stale ones rest."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

import dpcheck
from dpcheck import compiled
from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.compiled import kept, numba_private

# One kernel that calls another; the process says what it computed, and what came from the cache.
RUN = """
import json
import numpy as np
from dpcheck.algorithms.kernels.gradients import add_clipped
out = np.zeros(3)
add_clipped(np.array([3.0, 4.0, 2.0]), 2, np.array([1.0, 1.0]), 1, out)
print(json.dumps([out.tolist(), sum(add_clipped.stats.cache_hits.values())]))
"""
RESULT = [0.6, 0.8, 1.0]

AUDITS = """
import json
from dpcheck.audits.limits import score
print(json.dumps(score(3.0, 2.0, 5, 0.5, 0.1)))
"""


def start(cache: Path, code: str = RUN, environment: dict[str, str] | None = None) -> Any:
    """Start a Python process that compiles, with this folder for what it compiles."""
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=inherited | {"NUMBA_CACHE_DIR": str(cache)} | (environment or {}), cwd=cache.parent,
    )  # fmt: skip


def run(cache: Path, code: str = RUN, environment: dict[str, str] | None = None) -> Any:
    with start(cache, code, environment) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out)


def emptied(data: bytes) -> bytes:
    return b""


def altered(data: bytes) -> bytes:
    """Change one byte in the middle, among the machine code."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def signed(data: bytes) -> bytes:
    """Another content with a checksum that agrees, such as another version's."""
    return b"no pickle" + hashlib.sha256(b"no pickle").digest()


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that one process has filled and another has used."""
    folder = tmp_path_factory.mktemp("cache")
    assert run(folder) == [pytest.approx(RESULT), 0]
    assert run(folder) == [pytest.approx(RESULT), 1]
    return folder


@pytest.mark.parametrize(
    "damage", [altered, *(pytest.param(each, marks=pytest.mark.thorough) for each in (emptied, signed))]
)
def test_a_damaged_file_heals(damage: Any, cached: Path, tmp_path: Path) -> None:
    """The next process computes the same and compiles again; the one after it finds all in the folder."""
    folder = Path(shutil.copytree(cached, tmp_path / "cache"))
    damaged = list(folder.glob("*.code"))
    assert len(damaged) >= 2
    for file in damaged:
        file.write_bytes(damage(file.read_bytes()))
    assert run(folder) == [pytest.approx(RESULT), 0]
    assert run(folder) == [pytest.approx(RESULT), 1]


@pytest.mark.thorough
def test_two_processes_may_fill_the_folder_at_once(tmp_path: Path) -> None:
    started = [start(tmp_path) for _ in range(2)]
    for process in started:
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert json.loads(out) == [pytest.approx(RESULT), 0]
    assert run(tmp_path) == [pytest.approx(RESULT), 1]


def test_a_home_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """As a user without privileges, since root writes everywhere; Python is imported before they are dropped."""
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o555)
    become = f"""
import os
from dpcheck.compiled import kept
from dpcheck.algorithms.kernels import parts
from dpcheck.algorithms.kernels.gradients import add_clipped
import numpy as np
parts.clip_factor(np.ones(2), 1.0)  # what compiling imports is imported here
os.environ.update(NUMBA_CACHE_DIR="", HOME={str(home)!r}, XDG_CACHE_HOME={str(home / "cache")!r})
assert str(kept.place()).startswith({str(home)!r})
if hasattr(os, "getuid") and os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""
    assert run(tmp_path / "other", become + RUN) == [pytest.approx(RESULT), 0]
    assert not any(home.iterdir())


def test_a_full_disk_is_no_error_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """No file may grow beyond 1,000 bytes, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({resource.RLIM_INFINITY},) * 2)\n"
    full = limit.replace(str(resource.RLIM_INFINITY), "1000")
    assert run(tmp_path, full + RUN) == [pytest.approx(RESULT), 0]
    assert [file.name for file in tmp_path.iterdir() if file.name != "swept"] == []


@pytest.mark.thorough
def test_code_that_others_can_write_is_not_run(cached: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(cached, tmp_path / "cache"))
    for place in (folder, *folder.glob("*.code")):
        before = place.stat().st_mode
        place.chmod(before | 0o002)
        with start(folder) as process:
            out, err = process.communicate()
        assert json.loads(out)[0] == pytest.approx(RESULT), err
        if place == folder:
            assert json.loads(out)[1] == 0
        assert f"chmod go-w {place}" in err or json.loads(out)[1] == 1
        place.chmod(before)
    assert run(folder) == [pytest.approx(RESULT), 1]


@pytest.mark.thorough
def test_another_numba_compiles_anew_and_leaves_the_others_code(cached: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(cached, tmp_path / "cache"))
    other = 'import numba\nnumba.__version__ = "0.0.1"\n'
    assert run(folder, other + RUN) == [pytest.approx(RESULT), 0]
    assert run(folder, other + RUN) == [pytest.approx(RESULT), 1]
    assert run(folder) == [pytest.approx(RESULT), 1]


@pytest.mark.thorough
def test_what_nobody_read_for_a_month_goes(cached: Path, tmp_path: Path) -> None:
    """The folder is looked through once a day, when something is written."""
    folder = Path(shutil.copytree(cached, tmp_path / "cache"))
    month_ago = time.time() - 31 * 86_400
    unread = folder / "unread-0.code"
    unread.write_bytes(b"")
    for file in folder.iterdir():
        os.utime(file, (month_ago, month_ago))
    assert run(folder)[1] == 1  # what is read stays
    victim = min(
        file for file in folder.glob("*.code") if file != unread and file.stat().st_mtime < time.time() - 86_400
    )
    run(folder, AUDITS)
    assert not unread.exists()
    assert not victim.exists()
    assert run(folder) == [pytest.approx(RESULT), 1]


def kernels() -> dict[str, Any]:
    """All kernels of the package, by module and name."""
    found = {}
    for module in pkgutil.walk_packages(dpcheck.__path__, "dpcheck."):
        if module.name.startswith(("dpcheck.bounds", "dpcheck.commands", "dpcheck.__main__", "dpcheck.adapters")):
            continue
        with contextlib.suppress(ImportError):  # of an optional library
            for name, value in vars(importlib.import_module(module.name)).items():
                if hasattr(value, "py_func") and value.py_func.__module__ == module.name:
                    found[f"{module.name}.{name}"] = value
    return found


@pytest.mark.thorough
def test_every_kernel_has_a_digest_and_changes_with_each_kernel_that_it_calls_from_another_file() -> None:
    """An edit of any such function changes the keys of those that call it, and of no kernel that does not."""
    known = kernels()
    if not known:
        pytest.skip("nothing is compiled")
    before = {name: kept.digest(each) for name, each in known.items()}
    assert len({*before.values()}) == len(before)
    below = {name: called(each) for name, each in known.items()}
    count = 0
    for name, edited in known.items():
        above = [other for other in known if edited in below[other] and other != name]
        if not any(known[other].py_func.__module__ != edited.py_func.__module__ for other in above):
            continue
        count += 1
        function = edited.py_func
        code = function.__code__
        function.__code__ = code.replace(co_consts=(*code.co_consts, "edited"))
        try:
            after = {other: kept.digest(each) for other, each in known.items()}
        finally:
            function.__code__ = code
        changed = {other for other in known if after[other] != before[other]}
        assert changed == {name, *above}, name
    assert count > 20


@pytest.mark.thorough
def test_nothing_is_compiled_when_it_is_imported(tmp_path: Path) -> None:
    code = """
import importlib, json, pkgutil, sys
import dpcheck
for module in pkgutil.walk_packages(dpcheck.__path__, "dpcheck."):
    if not module.name.endswith("__main__") and not module.name.startswith("dpcheck.adapters"):
        importlib.import_module(module.name)
found = [each for module in list(sys.modules.values()) for each in vars(module).values()]
kernels = [each for each in found if type(each).__name__ == "CPUDispatcher" and hasattr(each, "declared")]
print(json.dumps([len(kernels), sum(len(each.overloads) for each in kernels)]))
"""
    (tmp_path / "cache").mkdir()
    known, ready = run(tmp_path / "cache", code)
    assert known > 100 and ready == 0
    assert not list((tmp_path / "cache").iterdir())


def called(caller: Any) -> list[Any]:
    """All kernels that this one calls, and those that they call."""
    found: list[Any] = []
    waiting = [caller]
    while waiting:
        function = waiting.pop().py_func
        values = [function.__globals__.get(name) for name in function.__code__.co_names]
        modules = [value for value in values if isinstance(value, ModuleType)]
        values += [getattr(module, name, None) for module in modules for name in function.__code__.co_names]
        new = [each for each in values if hasattr(each, "py_func") and each not in found]
        found += new
        waiting += new
    return found


# A file, an edit of a function in it, and what a kernel of another file computes with that function.
EDITS = [
    (
        "audits/limits/__init__.py", "return math.log(gain", "return 5.0 + math.log(gain",
        "from dpcheck.audits.limits.thresholds import limits\n"
        "found = limits(np.full((1, 1), .9), np.full((1, 1), .1), np.zeros(1), 1000, 0.0, 2.0, np.nan)",
    ),
    (
        "algorithms/kernels/parts.py", "return 1.0 if square", "return 0.5 if square",
        "from dpcheck.algorithms.kernels.gradients import add_clipped\n"
        "found = np.zeros(3)\nadd_clipped(np.ones(3), 2, np.full(2, 9.0), 1, found)",
    ),
    (
        "algorithms/kernels/jit.py", 'f"vector[{place}]"', 'f"vector[{place} * 0]"',
        "from dpcheck.algorithms.kernels.jit import kernel, named\n"
        "from dpcheck.algorithms.kernels.transcripts import Scheme\n"
        "from numba import types\n"
        "second = kernel('int64(indices)')(lambda vector: named(Scheme, vector).population)\n"
        "found = np.array([second(np.array([1, 2]))])",
    ),
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "old", "new", "program"),
    [EDITS[0], *(pytest.param(*edit, marks=pytest.mark.thorough) for edit in EDITS[1:])],
    ids=[edit[0] for edit in EDITS],
)
def test_an_edit_is_seen_by_kernels_of_other_files(file: str, old: str, new: str, program: str, tmp_path: Path) -> None:
    """What an edited copy computes with the folder of the unedited one is what it computes with an empty folder."""
    left_out = shutil.ignore_patterns("__pycache__", "data", "coq")
    shutil.copytree(Path(dpcheck.__file__).parent, tmp_path / "package" / "dpcheck", ignore=left_out)
    edited = tmp_path / "package" / "dpcheck" / file
    program = f"import json\nimport numpy as np\n{program}\nprint(json.dumps(found.tolist()))"
    environment = {"PYTHONPATH": str(edited.parents[len(Path(file).parts)])}
    before = run(tmp_path / "cache", program, environment)
    text = edited.read_text("utf-8")
    assert text.count(old) == 1
    edited.write_text(text.replace(old, new), "utf-8")
    after = run(tmp_path / "cache", program, environment)
    assert after != before
    assert after == run(tmp_path / "empty", program, environment)


# A mean of clipped gradients, last bit and all, after other kernels were loaded.
MEAN = """
import json
import numpy as np
from dpcheck.algorithms.kernels import gradients
from dpcheck.problems.matrix_sensing import MatrixSensing
from dpcheck.algorithms.problem import data_of
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

    @numba.njit
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
    @numba.njit
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
        monkeypatch.setattr(compiled, "numba_private", None)
    summed: Any = kernel("float64(vector)", apart=True)(total)
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    assert len(summed.signatures) == 1
    assert type(summed._cache).__name__ == "NullCache"
    assert summed(np.array([1.0, 2.0])) == 3.0


@pytest.mark.thorough
def test_kernels_that_call_each_other_work_without_the_private_parts(tmp_path: Path) -> None:
    hidden = 'import sys\nsys.modules["dpcheck.compiled.numba_private"] = None  # importing it fails\n'
    assert run(tmp_path, hidden + RUN) == [pytest.approx(RESULT), 0]
    assert not list(tmp_path.rglob("*.code"))


def test_a_signature_names_known_types():
    with pytest.raises(NameError, match="got vectr"):
        kernel("void(vectr)")(lambda x: None)
