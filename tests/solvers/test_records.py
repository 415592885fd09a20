"""Every record of the catalogue is complete, and one that is added is found everywhere without another edit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from new_record import write
from records import gaps

from dpcheck.errors import InputError
from dpcheck.solvers import ALGORITHMS, algorithm

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_record_lacks_anything(name):
    missing = gaps(name)
    assert not missing, "\n".join(missing)


def test_every_record_is_found_once_by_its_name():
    assert list(ALGORITHMS) == sorted(ALGORITHMS)
    assert len(set(ALGORITHMS.values())) == len(ALGORITHMS)
    assert all(algorithm(name).name == name for name in ALGORITHMS)


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(InputError, match="name must be new, got dptd"):
        write("zhang2025", "dptd")
    with pytest.raises(InputError, match="name must be a name of a module in lower case"):
        write("zhang2025", "Not a name")


def test_reading_the_catalogue_loads_no_compiler():
    script = "import sys; from dpcheck.algorithms.registry import records; assert 'dptd' in records()"
    subprocess.run([sys.executable, "-c", f"{script}; assert 'numba' not in sys.modules"], check=True)


def test_a_record_loads_no_formulas():
    """A process that only runs kernels does without sympy."""
    script = "import sys; from dpcheck.solvers import ALGORITHMS, algorithm; [algorithm(name) for name in ALGORITHMS]"
    subprocess.run([sys.executable, "-c", f"{script}; assert 'sympy' not in sys.modules"], check=True)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the sources with a new record, in a paper's folder of its own."""
    copy = tmp_path_factory.mktemp("checkout")
    skipped = shutil.ignore_patterns("__pycache__")
    for folder in ("dpcheck", "bounds", "audits"):
        shutil.copytree(ROOT / folder, copy / folder, symlinks=True, ignore=skipped)
    (copy / "tests" / "solvers").mkdir(parents=True)
    for name in ("records.py", "new_record.py"):
        shutil.copy(ROOT / "tests" / name, copy / "tests")
    assert run(copy, "tests/new_record.py", "doe2027", "doe_descent").returncode == 0
    return copy


def run(checkout, *arguments):
    """Run Python on the copy."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(checkout), str(checkout / "tests")])}
    return subprocess.run(
        [sys.executable, *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


def test_a_new_record_is_found_by_the_command(checkout):
    assert "doe_descent" in run(checkout, "-m", "dpcheck", "list", "algorithms").stdout
    solved = run(checkout, "-m", "dpcheck", "solve", "doe_descent", "--epsilon", "1")
    assert solved.returncode == 0, solved.stderr
    script = "from dpcheck.checks import stages; from dpcheck.checks.context import Context"
    script += "; from dpcheck.checks.subject import Record"
    titles = run(
        checkout, "-c", f"{script}; print([title for title, _ in stages(Context(), Record('doe_descent'), {{}})])"
    )
    assert "'audits'" in titles.stdout, titles.stderr


def test_a_new_record_fails_its_test_until_it_is_filled_in(checkout):
    failed = run(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/solvers/test_doe_descent.py")
    assert failed.returncode == 1, failed.stdout
    for gap in ("the published noise", "the loop, with the paper's line numbers", "a game of each variant"):
        assert f"MISSING: {gap}" in failed.stdout
    assert "MISSING: the loop in NumPy" in failed.stdout


def test_what_is_written_is_in_the_style_of_the_rest(checkout):
    files = ["dpcheck/catalogue/doe2027", "tests/solvers"]
    for command in (["check"], ["format", "--check"]):
        said = run(checkout, "-m", "ruff", *command, "--config", str(ROOT / "pyproject.toml"), *files)
        assert said.returncode == 0, said.stdout
