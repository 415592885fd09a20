"""Ways to install dpcheck and places to run it: whether the README's first command ends as it should there.

``python tests/installs.py`` tries all forms that have no good row in ``tests/measured/installs.csv``, and writes one as
each ends; ``python tests/installs.py FORM ...`` tries those again. ``--python PYTHON`` says for which Python. The forms
``lowest`` and ``newest`` install the lowest or newest versions that pyproject.toml allows, and also run a slice of each
layer of the tests; ``extras`` the lowest of the extras that need no PyTorch. The reports are kept in
``build/installs``, where rows are compared, and so is compiled code.
It needs a package index, from which it also takes uv, and no library; forms with another user need root.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "measured" / "installs.csv"
REPORTS = ROOT / "build" / "installs"
LIBRARIES = ("numpy", "numba", "scipy", "sympy", "pandas", "z3-solver")
COLUMNS = (
    "form", "date", "python", *LIBRARIES, "exit code", "other verdicts", "other witnesses", "furthest number",
    "tests", "core seconds",
)  # fmt: skip
SLICE = (
    "tests/solvers/test_events.py", "tests/solvers/test_kernel_cache.py", "tests/audits/test_binomial.py",
    "tests/audits/test_rates.py", "tests/audits/test_tables.py", "tests/bounds/test_inequalities.py",
    "tests/command/test_certify.py", "tests/command/test_file_formats.py",
)  # fmt: skip
EXTRAS = {  # each with tests that need it
    "parquet": ("tests/command/test_parquet.py",), "completion": ("tests/command/test_cli.py", "-k", "complet"),
    "dask": ("tests/command/test_executors.py", "-k", "dask"),
    "reinforcement": ("tests/solvers/test_mlp.py", "-k", "gym"),
}  # fmt: skip
# What another version has otherwise: a note that the report shows, and a loop.
EDITS = (
    ("bounds/yang2022/auc.py", "The minimax value is", "In this version, the minimax value is"),
    ("dpcheck/catalogue/yang2022/sgda.py", "out[i] += x[i] / T", "out[i] += x[i] / (2 * T)"),
)
MEASURED = ("measure", "dp_sgda", "--vary", "n=200,400", "--seeds", "2", "--store", "kept")
_NOBODY = 54321  # a user whom the system knows no name and no home of

# How a place differs: variables of the environment (None takes one away), and arguments of subprocess.run.
PLACES: dict[str, tuple[dict[str, str | None], dict[str, Any]]] = {
    "no compiler and no git on PATH": ({"PATH": "/nowhere"}, {}),
    "PYTHONOPTIMIZE=2": ({"PYTHONOPTIMIZE": "2"}, {}),
    "PYTHONSAFEPATH=1": ({"PYTHONSAFEPATH": "1"}, {}),
    "LC_ALL=C, no UTF-8 mode": ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {}),
    "closed stdin": ({}, {"preexec_fn": lambda: os.close(0)}),
    "1 core": ({}, {"preexec_fn": lambda: os.sched_setaffinity(0, {0})}),
    "another user, no home": (
        {"HOME": None, "XDG_CACHE_HOME": None}, {"user": _NOBODY, "group": _NOBODY, "extra_groups": []},
    ),
    "another user, home not writable": (
        {"HOME": "/", "XDG_CACHE_HOME": None}, {"user": _NOBODY, "group": _NOBODY, "extra_groups": []},
    ),
}  # fmt: skip


def run_in(place: str, command: list[Any], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in one of the places, with what it prints as text; the file system keeps its encoding UTF-8."""
    changes, options = PLACES.get(place, ({}, {}))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL"))}
    environment = {name: value for name, value in {**kept, **variables, **changes}.items() if value is not None}
    return subprocess.run(
        [*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8",
        errors="replace", check=False, **({"stdin": subprocess.DEVNULL} if place != "closed stdin" else {}), **options,
    )  # fmt: skip


def done(*command: Any, folder: Path = ROOT) -> str:
    """Run a step that has to succeed, and return what it printed; SystemExit with its last words if it does not."""
    ended = run_in("", [*command], folder)
    if ended.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{(ended.stdout + ended.stderr)[-3000:]}")
    return ended.stdout


def first_command() -> list[str]:
    """The README's first command without what installs: ``["check", "dp_sgda"]``."""
    text = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)[0]
    return str(text).rpartition("/dpcheck ")[2].split()


class Workshop:
    """A folder with uv and the built wheel and sdist, in which the forms are installed."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.python, self.copy = folder, python, folder / "copy"
        folder.chmod(0o755)  # another user runs what is installed in it
        done(python, "-m", "venv", folder / "tools")
        done(folder / "tools" / "bin" / "python", "-m", "pip", "install", "uv")
        self.uv = folder / "tools" / "bin" / "uv"

    @cached_property
    def built(self) -> tuple[Path, Path]:
        """The sdist, and the wheel built from it, in isolation."""
        out, left_out = self.folder / "dist", shutil.ignore_patterns(".git", ".venv", "build", "*.egg-info")
        shutil.copytree(ROOT, self.copy, symlinks=True, ignore=left_out)
        done(self.uv, "build", "--out-dir", out, self.copy)
        return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))

    def environment(self, name: str, *requirements: Any) -> Path:
        """Install requirements in an environment of this name, and return its python."""
        python = self.folder / name / "bin" / "python"
        done(self.uv, "venv", "--python", self.python, self.folder / name)
        done(self.uv, "pip", "install", "--python", python, *requirements)
        return python

    def lowest(self, name: str, *extras: str) -> Path:
        """Install the wheel with the lowest versions that it and these extras allow, and return the python."""
        # named by themselves, since uv takes the lowest of what is asked for, and not of what that needs
        asked = ["-r", ROOT / "pyproject.toml", *(f"--extra={extra}" for extra in extras)]
        python = self.environment(name, *asked, "--resolution=lowest-direct")
        done(self.uv, "pip", "install", "--python", python, "--no-deps", self.built[1])
        return python

    @cached_property
    def wheel(self) -> Path:
        """The python of an environment with the wheel."""
        return self.environment("wheel", self.built[1])


def by_pip(name: str, *what: str) -> Callable[[Workshop], Path]:
    """Return a form that pip installs into an environment of its own."""

    def install(shop: Workshop) -> Path:
        python = shop.environment(name, "pip", "-r", ROOT / "pyproject.toml")  # what it needs, since uv is quicker
        places = {"sdist": shop.built[0], "copy": shop.copy}
        done(python, "-m", "pip", "install", *(word.format_map(places) for word in what))
        return python

    return install


def for_user(shop: Workshop) -> Path:
    """``pip install --user``, where a Python outside of environments looks for it."""
    os.environ["PYTHONUSERBASE"] = str(shop.folder / "user base")
    wrapper = shop.folder / "python of the user"
    wrapper.write_text(f"#!/bin/sh\nPYTHONUSERBASE='{shop.folder}/user base' exec {shop.python} \"$@\"\n")
    wrapper.chmod(0o755)
    done(wrapper, "-m", "pip", "install", "--user", "--break-system-packages", shop.built[1])
    return wrapper


def two_versions(shop: Workshop) -> Path:
    """The wheel, whose cache and store a version with another loop and another word in a statement uses as well."""
    other, _ = shop.folder / "other", shop.built  # which makes the copy
    shutil.copytree(shop.copy, other, symlinks=True)
    for file, old, new in EDITS:
        text = (other / file).read_text("utf-8")
        assert old in text, file
        (other / file).write_text(text.replace(old, new), "utf-8")
    pythons = [shop.wheel, shop.environment("two", other)]
    folder, seen = Path(tempfile.mkdtemp(dir=shop.folder)), list[tuple[str, bool]]()
    for python in pythons * 2:  # the second time, both find what the other has kept
        measured = run_in("", [python, "-m", "dpcheck", *MEASURED], folder, XDG_CACHE_HOME=str(REPORTS / "cache"))
        checked = [python, "-m", "dpcheck", *first_command(), "--json-output", "report.json"]
        run_in("", checked, folder, XDG_CACHE_HOME=str(REPORTS / "cache"))
        seen.append((measured.stdout, EDITS[0][2] in (folder / "report.json").read_text("utf-8")))
    if not (seen[:2] == seen[2:] and seen[0][0] != seen[1][0] and [edited for _, edited in seen[:2]] == [False, True]):
        raise SystemExit(f"two versions on one cache and store: {seen}")
    return shop.wheel


def read_only(shop: Workshop) -> Path:
    """An environment that nobody may write."""
    python = shop.environment("read-only", shop.built[1])
    done("chmod", "-R", "a-w", shop.folder / "read-only")
    return python


INSTALLED: dict[str, Callable[[Workshop], Path]] = {
    "wheel": lambda shop: shop.wheel,
    "sdist": by_pip("sdist", "{sdist}"),
    "editable": by_pip("editable", "-e", "{copy}"),
    "pip install --user": for_user,
    "two versions on one cache": two_versions,
    "path with spaces and accents": lambda shop: shop.environment("Übung 1 ẞ", shop.built[1]),
    "read-only site-packages, another user": read_only,
    "lowest": lambda shop: shop.lowest("lowest", "test"),
    "newest": lambda shop: shop.environment("newest", f"dpcheck[test] @ {shop.built[1].as_uri()}"),
    "extras": lambda shop: shop.lowest("extras", "test", *EXTRAS),
}
TESTED = {"lowest": [SLICE], "newest": [SLICE], "extras": [*EXTRAS.values()]}


def verdicts(report: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the verdicts of a report's findings and all that they say but what they took, by id."""
    found = {each["id"]: each for each in json.loads(report.read_text("utf-8"))["findings"]}
    for each in found.values():
        (each.get("evidence") or {}).pop("seconds", None)
    return {id: each["verdict"] for id, each in found.items()}, found


def apart(ours: Any, theirs: Any) -> float:
    """The largest relative difference of two numbers that stand at the same place; infinite where else they differ."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) / max(abs(ours), abs(theirs), 1.0)
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return max((apart(ours[key], theirs[key]) for key in ours), default=0.0)
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return max(map(apart, ours, theirs), default=0.0)
    return 0.0 if ours == theirs else math.inf


def tried(form: str, shop: Workshop) -> dict[str, object]:
    """Install the form, run the first command there and return its row; ``build/installs`` keeps the report."""
    python = INSTALLED.get(form, INSTALLED["wheel"])(shop)
    place = "another user, no home" if "another user" in form and form not in PLACES else form
    folder = Path(tempfile.mkdtemp(dir=shop.folder, prefix="Ärger " if "accents" in form else "user"))
    folder.chmod(0o777)
    cache = REPORTS / ("cache" if form not in TESTED else f"cache of {form}")
    before = os.times()
    command = [python, "-m", "dpcheck", *first_command(), "--json-output", "report.json"]
    ended = run_in(place, command, folder, XDG_CACHE_HOME=str(cache))
    after, wheel = os.times(), REPORTS / "wheel.json"
    seconds = round(sum(after[2:4]) - sum(before[2:4]))  # of the children, however busy the machine is
    if ended.returncode or "Traceback" in ended.stderr:
        print(ended.stdout[-2000:], ended.stderr[-3000:], file=sys.stderr)
    row: dict[str, object] = {"form": form, "date": datetime.date.today(), "exit code": ended.returncode, "tests": ""}
    if (folder / "report.json").exists():
        REPORTS.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "report.json", REPORTS / f"{form}.json")
        (ours, said), (theirs, known) = verdicts(REPORTS / f"{form}.json"), verdicts(wheel)
        row["other verdicts"] = sum(ours.get(id) != theirs[id] for id in theirs)
        distances = [apart(said.get(id), known[id]) for id in known]
        row["other witnesses"] = distances.count(math.inf)  # that a search found elsewhere, or words
        row["furthest number"] = f"{max(far for far in distances if far < math.inf):.0e}"
    names = ", ".join(map(repr, LIBRARIES))
    asked = "import platform; from importlib.metadata import version; print(platform.python_version(), "
    asked += f"*map(version, [{names}]))"
    row |= zip(("python", *LIBRARIES), done(python, "-c", asked, folder=folder).split(), strict=True)
    for tests in TESTED.get(form, ()):
        answer = run_in("", [python, "-m", "pytest", "-n", "0", "-q", *tests], ROOT, XDG_CACHE_HOME=str(cache))
        last = answer.stdout.strip().rpartition("\n")[2].partition(" in ")[0]
        row["tests"] = "; ".join(filter(None, [str(row.get("tests", "")), last]))
        if answer.returncode:
            print(answer.stdout[-6000:], file=sys.stderr)
            row["exit code"] = answer.returncode
    return row | {"core seconds": seconds}


def rows() -> list[dict[str, str]]:
    """The rows of the table."""
    if not TABLE.exists():
        return []
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def as_expected(row: dict[str, Any]) -> bool:
    """Whether a form gives the exit code and the verdicts of the wheel, and no test fails there."""
    return (str(row["exit code"]), str(row.get("other verdicts"))) == ("0", "0") and "failed" not in str(row["tests"])


def keep(row: dict[str, object]) -> None:
    """Write a row to the table, in place of an older one of its form and Python."""
    others = [each for each in rows() if (each["form"], each["python"]) != (row["form"], row["python"])]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*others, row])


def main() -> int:
    """Try the forms; 1 if one does not end as it should."""
    forms = [*INSTALLED, *PLACES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forms", nargs="*", metavar="FORM", help=f"of {', '.join(forms)}")
    parser.add_argument("--python", default=sys.executable, help="for which Python (default: the one that runs this)")
    given = parser.parse_args()
    if unknown := sorted({*given.forms} - {*forms}):
        parser.error(f"unknown: {', '.join(unknown)}")
    python, failed = shutil.which(given.python) or given.python, 0
    version = done(python, "-c", "import platform; print(platform.python_version())").strip()
    good = {row["form"] for row in rows() if row["python"] == version and as_expected(row)}
    wanted = given.forms or [form for form in forms if form not in good]
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder), python)
        for form in dict.fromkeys([*([] if (REPORTS / "wheel.json").exists() else ["wheel"]), *wanted]):
            row = tried(form, shop)
            keep(row)
            print({name: value for name, value in row.items() if value != ""}, flush=True)
            failed |= not as_expected(row)
        subprocess.run(["chmod", "-R", "u+w", folder], check=False)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
