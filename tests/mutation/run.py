"""Runs mutants: one at a time on a copy of the package, by tests and by ``dpcheck check``, a row each."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .copies import Copy
from .definitions import Sources
from .mutant import HARMLESS, ROOT, Mutant

KILLED = ("test", "red", "error")
# outcome : "test" (a test fails), "red" (a finding is not as expected), "error" (the check raises, and the command
#     exits with 3), "survived" or "late" (nothing within the time that a mutant has)
# killed_by : the file of the test, or the stage of the check
# id ... place : of the test, or of the red finding that names the part, or else of the first one
# red, naming : red findings of the stage, and those that name the part;  seconds : of the whole run
# survives : why, written by a person; it is kept
COLUMNS = ("name", "area", "definition", "outcome", "killed_by", "id", "verdict", "expected", "reason", "place", "red",
           "naming", "seconds", "digest", "survives")  # fmt: skip
_WORKER = str(Path(__file__).resolve().parent / "worker.py")
_PROVED = re.compile(r"dpcheck/bounds/|(errors|streams)\.py$")  # what a proof reads; a contract keeps it apart
Row = dict[str, Any]


class Bench:
    """A copy of the package, and what is run on it."""

    def __init__(self, folder: Path, limit: float, sources: Sources) -> None:
        self._copy, self._limit, self._sources = Copy(folder), limit, sources
        self._passes = cache(lambda test: self._pytest([test])["outcome"] == "survived")

    def run(self, mutants: Sequence[Mutant], tests: Sequence[str], first: Mapping[str, str] | None) -> list[Row]:
        """Make the edits together and run the tests and the check until one of them fails; if so, each mutant alone.

        first : the row whose finding the check looks for before anything else is run, if the check is run at all
        """
        started, row = time.perf_counter(), Row(outcome="survived")
        texts = self._sources.edited(edit for mutant in mutants for edit in mutant.edits)
        killer = first or {}
        with self._copy.edited(texts):
            for step in sorted(("tests", "check"), reverse=killer.get("outcome") not in KILLED[1:]):
                if row["outcome"] not in KILLED and (tests if step == "tests" else first is not None):
                    row = self._pytest(tests) if step == "tests" else self._check(mutants, list(texts), killer)
        if row["outcome"] == "test" and not self._passes(row["id"]):
            raise RuntimeError(f"{row['id']} fails without any edit")
        if len(mutants) > 1 and row["outcome"] != "survived":
            return [row for mutant in mutants for row in self.run([mutant], tests, first)]
        row["seconds"] = round((time.perf_counter() - started) / len(mutants), 1)
        return [
            row | {key: getattr(mutant, key) for key in ("name", "area", "definition", "digest", "survives")}
            for mutant in mutants
        ]

    def _pytest(self, tests: Sequence[str]) -> Row:
        """Run tests in this order up to the first failure."""
        options = ("-n", "0", "-q", "-x", "--no-header", "--tb=line")
        status, output = self._copy.python("-m", "pytest", *options, *tests, seconds=self._limit)
        if status is None or status in (0, 5):  # 5: none of this profile
            return Row(outcome="late" if status is None else "survived")
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - (.*))?$", output, re.MULTILINE)
        test, reason = failed.groups() if failed else (tests[0], output.strip().rpartition("\n")[2])
        return Row(outcome="test", killed_by=test.partition("::")[0], id=test, reason=reason)

    def _check(self, mutants: Sequence[Mutant], edited: Sequence[str], first: Mapping[str, str]) -> Row:
        """Check the algorithms of the first mutant; of harmless mutants every stage."""
        mutant = mutants[0]
        request = {
            "names": mutant.check, "seed": mutant.seed, "every": mutant.area == HARMLESS,
            "claims": any(map(_PROVED.search, edited)), "first": [first.get(key, "") for key in ("killed_by", "id")],
        }  # fmt: skip
        status, output = self._copy.python(_WORKER, json.dumps(request), seconds=len(mutants) * self._limit)
        answers = [json.loads(line) for line in output.splitlines() if line.startswith("{") and line.endswith("}")]
        alarms = [alarm | {"killed_by": answer["stage"]} for answer in answers for alarm in answer.get("red", ())]
        outcome = "red" if alarms else "late" if status is None else "survived"
        if status and not alarms:
            outcome, raised = "error", output.strip().rpartition("\n")[2]
            alarms = [next((answer for answer in answers if "reason" in answer), {"reason": raised})]
        naming = [alarm for alarm in alarms if mutant.named_by(_words(alarm))]
        chosen = next(iter(naming or alarms), {})
        row = {key: chosen[key] for key in COLUMNS if key in chosen}
        return row | {"outcome": outcome, "red": len(alarms), "naming": len(naming)}


def _words(alarm: Mapping[str, Any]) -> str:
    """What a reader sees of a finding: its id without the algorithm, its sentences, its place."""
    tail = alarm.get("id", "").partition(".")[2].replace("_", " ")
    return " ".join((tail, *(alarm.get(key) or "" for key in ("subject", "reason", "surprise", "place"))))


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
        kept = self._rows.get(row["name"], {}).get("survives", "")
        self._rows[row["name"]] = {key: str(row.get(key) or "") for key in COLUMNS} | {
            "survives": row["survives"] or kept
        }
        fresh = self._path.with_suffix(".new")
        with fresh.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._rows[name] for name in sorted(self._rows))
        fresh.replace(self._path)

    def tests(self, mutant: Mutant, sources: Sources, files: Sequence[str]) -> list[str]:
        """The files of tests that may see a mutant: which killed it or its like before, which speak of its module."""
        paths = {sources.place(edit)[0].removesuffix(".py") for edit in mutant.edits[:1] if files}
        words = [*(edit.definition.rpartition(".")[2] for edit in mutant.edits), *(Path(path).stem for path in paths)]
        modules = [path.replace("/", ".") for path in paths]
        kills = [row for row in self._rows.values() if row["outcome"] == "test"]

        def score(file: str) -> tuple[int, ...]:
            here, text = [row for row in kills if row["killed_by"] == file], _text(file)
            like = [sum(row[key] == getattr(mutant, key) for row in here) for key in ("name", "definition", "area")]
            speaks = 3 * sum(module in text for module in modules) + sum(word in text for word in words)
            return *like[:2], speaks * (1 + like[2])

        return [file for file in sorted(files, key=score, reverse=True) if any(score(file))]


@cache
def _text(file: str) -> str:
    return (ROOT / file).read_text("utf-8")
