"""Where dpcheck runs: a slice of ``tests/installs.py``, whose table is looked at, and what SECURITY.md promises."""

from __future__ import annotations

import csv
import pwd
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import installs
import pytest
import yaml
from files import ROOT

from dpcheck import InputError, datasets
from dpcheck.cache import user_cache
from dpcheck.checks import shipped
from dpcheck.cli import COMMANDS
from dpcheck.compiled import kept

SECURITY = (ROOT / "SECURITY.md").read_text("utf-8")
HERE = [name for name, (_, options) in installs.PLACES.items() if "user" not in options]
QUICK = ("LC_ALL=C, no UTF-8 mode",)


def asked(place: str, folder: Path) -> str:
    """What two commands print in a place: one that reads every statement of a paper, and one that computes."""
    ask = "from dpcheck.cli import main; print(main(['show', 'zhang2022.theorem_4_5']), main(['certify', "
    ask += "'--multiplier', '1.1', '--batch', '9', '--population', '99', '--steps', '9', '--delta', '1e-5']))"
    done = installs.run_in(place, [sys.executable, "-c", ask], folder)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["0 0"]), done.stderr
    return re.sub(r"[^\x20-\x7e]+|\?", "", done.stdout)  # signs that an encoding lacks


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> str:
    return asked("", tmp_path_factory.mktemp("usual"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "place", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.thorough) for name in HERE]
)
def test_what_is_asked_is_answered_alike_in_every_place(place: str, usual: str, tmp_path: Path) -> None:
    assert asked(place, tmp_path) == usual


@pytest.mark.parametrize("older", [False, True], ids=["platformdirs refuses", "an older one returns ~/.cache"])
def test_nobody_knows_a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, older: bool) -> None:
    import platformdirs

    def unknown(number: int) -> None:
        raise KeyError(number)

    def relative(*names: object, **options: object) -> str:
        return "~/.cache/dpcheck"

    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "DPCHECK_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    if older:
        monkeypatch.setattr(platformdirs, "user_cache_dir", relative)
    assert not user_cache().is_relative_to(tmp_path)
    kept.write("name", b"code")
    assert kept.read("name") is None
    shipped._keep("yang2022", {})
    assert shipped._kept("yang2022") is None
    with pytest.raises(InputError, match="/dev/null"):
        datasets.load("ijcnn1")
    assert [*tmp_path.iterdir()] == []


def test_every_form_of_the_table_ended_as_it_should() -> None:
    with installs.TABLE.open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == [*installs.COLUMNS]
    rows = installs.rows()
    assert {"wheel"} <= {row["form"] for row in rows} <= {*installs.INSTALLED, *installs.PLACES}
    assert [row["form"] for row in rows if not installs.as_expected(row)] == []
    for row in rows:
        assert (row["form"] in installs.TESTED) == ("passed" in row["tests"]), row["form"]


def test_the_lowest_versions_are_those_that_are_stated() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lowest = dict(line.split(">=") for line in stated["dependencies"])
    for row in (row for row in installs.rows() if row["form"] == "lowest"):
        for name in installs.LIBRARIES:
            assert row[name].split(".")[:2] == lowest[name].split(".")[:2]


def test_the_workflow_tries_forms_that_are_there_on_every_python_that_is_named() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "installs.yml").read_text("utf-8"))
    tries = workflow["jobs"]["installs"]["strategy"]["matrix"]["include"]
    assert {form for each in tries for form in each["forms"].split(";")} <= {*installs.INSTALLED, *installs.PLACES}
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8"))
    assert {each["python"] for each in tries} >= {*named}
    assert next(each["python"] for each in tries if "lowest" in each["forms"]) == named[0]


def test_security_has_a_row_for_every_command() -> None:
    table = SECURITY.partition("## What each command trusts")[2].partition("\n## ")[0]
    assert {*re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)} == {*COMMANDS}


def test_security_names_tests_that_are_there() -> None:
    promises = SECURITY.partition("## Promises")[2]
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", promises)
    assert len(named) == promises.count("::")
    for file, test in named:
        assert f"\ndef {test}(" in (ROOT / file).read_text("utf-8"), f"{file}::{test}"
    for promise in re.findall(r"^- \*\*.*", promises, re.MULTILINE):
        assert "::" in promise, promise


def test_the_first_command_is_that_of_the_readme() -> None:
    assert installs.first_command()[0] in COMMANDS
    done = subprocess.run([sys.executable, ROOT / "tests" / "installs.py", "none"], capture_output=True, text=True)
    assert done.returncode == 2 and "unknown: none" in done.stderr
