"""The wheel and the sdist: what they hold, and that tests pass on what the wheel installs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
from files import ROOT, others, sources

import dpcheck

# They read what lies beside the code: ledgers, expected verdicts, the data set, the entry points.
TESTED = ("test_datasets.py", "test_downloads.py", "test_findings.py", "test_package.py", "test_pytest_plugin.py")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist of a copy of the clone, so that building leaves nothing in it."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in (*sources(), *others()):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--sdist", "--outdir", out, copy)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def python(built, tmp_path_factory):
    """A Python with the wheel installed and, behind it on the path, what the Python that runs the tests has."""
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", folder)
    found = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(found, "-m", "pip", "install", "--no-deps", "--no-index", "--disable-pip-version-check", built[0])
    site = run(found, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    shared = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    Path(site, "shared.pth").write_text("\n".join(shared), "utf-8")  # editable installs there have no effect here
    return found


def run(*command: str | Path) -> str:
    """What the command prints, away from PYTHONPATH, the working folder and this run's workers."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    environment = kept | {"NUMBA_DISABLE_JIT": "1"}  # kernels in a new place would be compiled anew
    done = subprocess.run([*map(str, command)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_holds_the_package_and_nothing_else(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    described = {name for name in names if name.split("/")[0] == f"dpcheck-{dpcheck.__version__}.dist-info"}
    assert names - described == set(sources().values())
    assert {name.rpartition("/")[2] for name in described} >= {"METADATA", "RECORD", "entry_points.txt", "LICENSE"}
    some = {"dpcheck/bounds/registry.py", "dpcheck/audits/membership.py", "dpcheck/py.typed"}
    some |= {"dpcheck/checks/expected.json", "dpcheck/data/SOURCES.md", "dpcheck/data/a9a_x_train.npy.xz"}
    assert some <= names


def test_sdist_holds_all_that_a_build_and_the_tests_need(built):
    with tarfile.open(built[1]) as archive:
        members = archive.getmembers()
    assert not [member.name for member in members if member.issym() or member.islnk()]
    names = {member.name.partition("/")[2] for member in members if member.isfile()}
    made = {name for name in names if name.startswith("dpcheck.egg-info/")} | {"PKG-INFO", "setup.cfg"}
    assert names - made == set(sources()) | others()


@pytest.mark.thorough
def test_tests_pass_on_the_installed_wheel(python):
    said = run(python, "-P", "-m", "pytest", "-n", "0", *(ROOT / "tests" / "command" / file for file in TESTED))
    tested = Path(said.partition(f"dpcheck: {dpcheck.__version__} of ")[2].partition("\n")[0])
    assert tested.is_relative_to(python.parent.parent), f"the tests imported {tested}"
