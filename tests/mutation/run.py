"""Runs mutants: one edit at a time on a copy of the package, its check until the first red finding, a row each."""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from .copies import Copy
from .mutant import HARMLESS, Mutant
from .process import Answer, Process

# What a proof reads: import-linter holds the bounds apart from everything else.
_PROVED = ("bounds", "errors.py", "running")


@dataclass(frozen=True)
class Row:
    """What became of a mutant.

    outcome : "red", "error" (the check raises, and the command exits with 3), "survived" or "late" (nothing red within
        the time that a mutant has)
    id, verdict, expected, reason, place : of the red finding that names the part, or else of the first one
    red, naming : red findings of the stage, and those that name the part
    seconds : of the whole run;  stages : that were run to the end
    """

    name: str
    area: str
    file: str
    known: bool
    outcome: str
    stage: str
    id: str
    verdict: str
    expected: str
    reason: str
    place: str
    red: int
    naming: int
    seconds: float
    stages: int
    digest: str


class Bench:
    """A copy and the process that checks it."""

    def __init__(self, folder: Path, limit: float) -> None:
        self._copy, self._limit = Copy(folder), limit
        self._process = self._start()

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def run(self, mutants: Sequence[Mutant]) -> list[Row]:
        """Check mutants of one check together, one by one where that is not green; of harmless ones every stage."""
        first, started = mutants[0], time.perf_counter()
        harmless = first.area == HARMLESS
        claims = any(each.path.split("/")[1] in _PROVED for each in mutants)
        request = {"names": first.check, "seed": first.seed, "claims": claims, "every": harmless,
                   "edited": [each.path for each in mutants]}  # fmt: skip
        with self._copy.edited(mutants):
            changed = {str(self._copy.package / each.path) for each in mutants if each.edits}
            imported = not changed.isdisjoint(self._process.loaded)
            process = self._start("bare") if imported else self._process
            try:
                seen = list(process.ask(request, len(mutants) * self._limit))
            finally:
                if imported:
                    process.close()
        rows = [_row(each, seen, (time.perf_counter() - started) / len(mutants)) for each in mutants]
        if len(mutants) == 1 or rows[0].outcome == "survived":
            return rows
        return [row for each in mutants for row in self.run([each])]

    def _start(self, *arguments: str) -> Process:
        return Process(self._copy.environment, self._copy.package.parent, *arguments)


def _row(mutant: Mutant, seen: Sequence[Answer], seconds: float) -> Row:
    """What the answers come to; of several red findings the first that names the part, or else the first."""
    done = [answer for answer in seen if "stage" in answer]
    alarms = [(answer["stage"], alarm) for answer in done for alarm in answer["red"]]
    outcome = "red" if alarms else next((word for word in ("error", "late") for a in seen if word in a), "survived")
    if outcome == "error":
        raised = next(answer for answer in seen if "error" in answer)
        alarms = [("raised", {"reason": raised["error"], "place": raised["place"]})]
    naming = [each for each in alarms if mutant.named_by(_said(each[1]))]
    stage, chosen = next(iter(naming or alarms), ("", {}))
    text = {key: str(chosen.get(key) or "") for key in ("id", "verdict", "expected", "reason", "place")}
    return Row(
        mutant.name, mutant.area, mutant.file, mutant.known, outcome, stage, **text, red=len(alarms),
        naming=len(naming), seconds=round(seconds, 1), stages=len(done), digest=mutant.digest,
    )  # fmt: skip


def _said(alarm: Answer) -> str:
    """What a reader sees of a finding: its id without the algorithm, its sentences, its place."""
    tail = alarm.get("id", "").partition(".")[2].replace("_", " ")
    return " ".join((tail, *(alarm.get(key) or "" for key in ("subject", "reason", "surprise", "place"))))


class Table:
    """Rows in a CSV file, written as they come; what is there already is not run again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: dict[str, dict[str, str]] = {}
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as file:
                self.rows = {row["name"]: row for row in csv.DictReader(file)}

    def has(self, mutant: Mutant) -> bool:
        """Whether this very edit has a row."""
        return self.rows.get(mutant.name, {}).get("digest") == mutant.digest

    def add(self, row: Row) -> None:
        """Write the table with this row; a run that is stopped leaves the old one or the new one."""
        self.rows[row.name] = {key: str(value) for key, value in asdict(row).items()}
        fresh = self._path.with_suffix(".new")
        with fresh.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [each.name for each in fields(Row)], lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows[name] for name in sorted(self.rows))
        fresh.replace(self._path)
