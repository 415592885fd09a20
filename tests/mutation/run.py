"""Runs mutants: one at a time on a copy of the package, by tests and by ``dpcheck check``, a row each."""

from __future__ import annotations

import compileall
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from .definitions import Sources
from .mutant import HARMLESS, ROOT, Mutant

KILLED = ("test", "red", "error")
# outcome : "test" (a test fails), "red" (a finding is not as expected), "error" (the check raises, and the command
#     exits with 3), "survived" or "late" (nothing within the time that a mutant has)
# killed_by : the file of the test, or the stage of the check;  id ... place : of the test, or of the red finding that
#     names the part, or else of the first one;  red, naming : red findings of the stage, and those that name the part
# seconds : of the whole run;  survives : why, written by a person in the list or in the table, where it is kept
COLUMNS = ("name", "area", "definition", "edit", "outcome", "killed_by", "id", "verdict", "expected", "reason", "place",
           "red", "naming", "seconds", "digest", "survives")  # fmt: skip
_FILES = 8  # of tests, at most, that a mutant is tried on, beside
_FAMILIES = "tests/reference/"  # ... those that go over all algorithms and problems, and name no module
_WORKER = str(Path(__file__).resolve().parent / "worker.py")
Row = dict[str, Any]


class Copy:
    """A copy of the package in a folder, which also holds what is compiled of it and of its mutants."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.package = folder, folder / "package"
        shutil.rmtree(self.package, ignore_errors=True)
        left = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / "dpcheck", self.package / "dpcheck", ignore=left)  # symlinks are followed
        compileall.compile_dir(self.package, quiet=2)

    @contextmanager
    def edited(self, texts: Mapping[str, str]) -> Iterator[None]:
        """The copy with other texts of these modules."""
        try:
            for path, text in texts.items():
                shutil.copy2(self.package / path, self.package / f"{path}.kept")
                (self.package / path).write_text(text, "utf-8")
            yield
        finally:
            for path in texts:
                os.replace(self.package / f"{path}.kept", self.package / path)

    def python(self, *arguments: str, seconds: float) -> tuple[int | None, str]:
        """The exit status and output of a Python that imports the copy; None where its time was up.

        What the check keeps from run to run is kept from mutant to mutant.
        """
        environment = os.environ | {
            "PYTHONPATH": str(self.package), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore",
            "NUMBA_CACHE_DIR": str(self._folder / "compiled"), "XDG_CACHE_HOME": str(self._folder / "home"),
            "OPENBLAS_NUM_THREADS": "1",
        }  # fmt: skip
        with subprocess.Popen(
            [sys.executable, "-P", *arguments], env=environment, cwd=ROOT, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return None, process.communicate()[0]
        return process.returncode, output


class Bench:
    """A copy of the package, and what is run on it."""

    def __init__(self, folder: Path, limit: float, sources: Sources) -> None:
        self._copy, self._limit, self._sources = Copy(folder), limit, sources
        self._failing: list[str] = []  # tests that fail without any edit, such as those of an installed package
        self._passes = cache(lambda test: self._pytest([test])["outcome"] == "survived")

    def run(self, mutants: Sequence[Mutant], steps: Sequence[Sequence[str]]) -> list[Row]:
        """Make the edits together and go on until a step sees them, then look at each mutant alone.

        steps : tests, or an empty list for the check
        """
        started, row = time.perf_counter(), Row(outcome="survived")
        with self._copy.edited(self._sources.edited(edit for mutant in mutants for edit in mutant.edits)):
            for tests in steps:
                if row["outcome"] not in KILLED:
                    row = self._pytest(tests) if tests else self._check(mutants)
        if row["outcome"] == "test" and not self._passes(row["id"]):  # it shows nothing: go on without it
            self._failing.append(row["id"])
            return self.run(mutants, steps)
        if len(mutants) > 1 and row["outcome"] != "survived":
            return [row for mutant in mutants for row in self.run([mutant], steps)]
        row["seconds"] = round((time.perf_counter() - started) / len(mutants), 1)
        of_mutant = ("name", "area", "definition", "edit", "digest", "survives")
        return [row | {key: getattr(mutant, key) for key in of_mutant} for mutant in mutants]

    def _pytest(self, tests: Sequence[str]) -> Row:
        """Run tests in this order up to the first failure."""
        left_out = [f"--deselect={test}" for test in self._failing]
        options = ("-n", "0", "-q", "-x", "--no-header", "--tb=line", *left_out)
        status, output = self._copy.python("-m", "pytest", *options, *tests, seconds=self._limit)
        if status is None or status in (0, 5):  # 5: none of this profile
            return Row(outcome="late" if status is None else "survived")
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - (.*))?$", output, re.MULTILINE)
        test, reason = failed.groups() if failed else (tests[0], output.strip().rpartition("\n")[2])
        return Row(outcome="test", killed_by=test.partition("::")[0], id=test, reason=reason)

    def _check(self, mutants: Sequence[Mutant]) -> Row:
        """Check the algorithms of the first mutant; of harmless mutants every stage."""
        mutant = mutants[0]
        request = map(json.dumps, (mutant.check, mutant.seed, mutant.area == HARMLESS))
        status, output = self._copy.python(_WORKER, *request, seconds=len(mutants) * self._limit)
        red = [json.loads(line) for line in output.splitlines() if line.startswith("{") and line.endswith("}")]
        outcome = "red" if red else "late" if status is None else "error" if status else "survived"
        if outcome == "error":
            red = [{"stage": "", "reason": output.strip().rpartition("\n")[2]}]
        naming = [finding for finding in red if mutant.named_by(finding)]
        chosen = next(iter(naming or red), {})
        row = {key: chosen[key] for key in COLUMNS if key in chosen} | {"killed_by": chosen.get("stage", "")}
        return row | {"outcome": outcome, "red": len(red), "naming": len(naming)}


class Table:
    """Rows in a CSV file, written as they come: what killed a mutant, for the tally and as the map of the next run."""

    def __init__(self, path: Path) -> None:
        self._path, self._rows = path, dict[str, dict[str, str]]()
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as file:
                self._rows = {row["name"]: row for row in csv.DictReader(file)}

    def row(self, mutant: Mutant) -> dict[str, str]:
        """The row of this very mutant, or an empty one."""
        row = self._rows.get(mutant.name, {})
        return row if row.get("digest") == mutant.digest else {}

    def add(self, row: Row) -> None:
        """Write the table with this row; a run that is stopped leaves the old one or the new one."""
        old = self._rows.get(row["name"], {})
        if old.get("digest") == row["digest"]:
            row["survives"] = row["survives"] or old["survives"]
        self._rows[row["name"]] = {key: "" if row.get(key) is None else str(row[key]) for key in COLUMNS}
        fresh = self._path.with_suffix(".new")
        with fresh.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._rows[name] for name in sorted(self._rows))
        fresh.replace(self._path)

    def steps(self, mutant: Mutant, sources: Sources, files: Sequence[str]) -> list[list[str]]:
        """The likeliest of the files of tests, those over all algorithms, then the check, an empty list.

        The check comes first where it was the killer.

        A file is likelier the more it killed of the mutant and its like before, and the more it says of the module.
        """
        paths = {sources.place(edit)[0].removesuffix(".py") for edit in mutant.edits[:1]}
        words = {Path(path).name for path in paths} | {edit.definition.rpartition(".")[2] for edit in mutant.edits}

        def score(file: str) -> tuple[int, ...]:
            here, text = (
                [row for row in self._rows.values() if row["killed_by"] == file],
                (ROOT / file).read_text("utf-8"),
            )
            like = [sum(row[key] == getattr(mutant, key) for row in here) for key in ("name", "definition", "area")]
            says = 3 * sum(path.replace("/", ".") in text for path in paths) + sum(word in text for word in words)
            return *like[:2], says * (1 + like[2])

        likely = [file for file in sorted(files, key=score, reverse=True)[:_FILES] if any(score(file))]
        families = [file for file in files if file.startswith(_FAMILIES) and file not in likely]
        steps = [step for step in (likely, families) if step] + [[]]
        return steps[::-1] if self.row(mutant).get("outcome") in KILLED[1:] else steps
