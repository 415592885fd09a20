"""Runs mutants: one edit at a time on a copy of the package, its check until the first red finding, a row each."""

from __future__ import annotations

import csv
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO

from .copies import Copy
from .mutant import HARMLESS, Mutant

WORKER = Path(__file__).resolve().parent / "worker.py"
# What no proof reads: import-linter holds the bounds apart from these folders.
_APART = ("solvers", "kernels", "problems", "bases", "audits", "checks", "report")


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
        self._server, self._loaded = self._start()

    def close(self) -> None:
        """End the process."""
        self._server.kill()
        self._server.wait()

    def warm(self, names: list[str]) -> None:
        """Compile what the check of these algorithms needs, once for all mutants."""
        unchanged = Mutant("unchanged", "", "dpcheck/__init__.py", (), tuple(names))
        with self._copy.edited(unchanged):
            for answer in self._answers(self._server, unchanged, every=True, limit=3600):
                print(answer, file=sys.stderr)
        self._copy.keep()

    def run(self, mutant: Mutant) -> Row:
        """One mutant; every stage of a harmless one."""
        started, every = time.perf_counter(), mutant.area == HARMLESS
        seen: list[dict[str, object]] = []
        with self._copy.edited(mutant):
            fresh = str(self._copy.package / mutant.path) in self._loaded and bool(mutant.edits)
            server = self._start("bare")[0] if fresh else self._server
            try:
                seen.extend(self._answers(server, mutant, every, self._limit))
            finally:
                if fresh:
                    server.kill()
                    server.wait()
        return _row(mutant, seen, time.perf_counter() - started)

    def _start(self, *arguments: str) -> tuple[subprocess.Popen[str], set[str]]:
        server = subprocess.Popen(
            [sys.executable, "-P", str(WORKER), *arguments], env=self._copy.environment, cwd=self._copy.package.parent,
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert server.stdout is not None
        return server, set(json.loads(server.stdout.readline())["loaded"])

    def _answers(
        self, server: subprocess.Popen[str], mutant: Mutant, every: bool, limit: float
    ) -> Iterator[dict[str, object]]:
        """The lines of one request, the last of them ``late`` where the time was up."""
        assert server.stdin is not None and server.stdout is not None
        claims = mutant.path.split("/")[1] not in _APART
        request = {"names": mutant.check, "seed": mutant.seed, "claims": claims, "every": every}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        deadline, process = time.monotonic() + limit, 0
        for line in _lines(server.stdout, deadline):
            if not line:
                if process:
                    os.killpg(process, signal.SIGKILL)
                server.stdout.readline()  # done
                yield {"late": limit}
                return
            answer = json.loads(line)
            process = answer.get("process", process)
            if "done" in answer:
                if answer["done"]:
                    yield {"error": f"the process ended with status {answer['done']}", "place": ""}
                return
            yield answer


def _lines(stream: IO[str], deadline: float) -> Iterator[str]:
    """Lines as they come, and an empty one when the time is up."""
    while True:
        ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            yield ""
            return
        line = stream.readline()
        yield line
        if not line:
            return


def _row(mutant: Mutant, seen: list[dict[str, object]], seconds: float) -> Row:
    """The red finding that names the part, or the first one."""
    done = [answer for answer in seen if "stage" in answer]
    alarms = [(str(answer["stage"]), alarm) for answer in done for alarm in answer["red"]]  # type: ignore[attr-defined]
    naming = [each for each in alarms if mutant.named_by(_said(each[1], mutant))]
    stage, chosen = next(iter(naming or alarms), ("", {}))
    outcome = "red" if alarms else next((word for word in ("error", "late") for a in seen if word in a), "survived")
    if outcome == "error":
        (chosen,) = ({"reason": a["error"], "place": a["place"]} for a in seen if "error" in a)
        stage = "raised"
    text = {key: str(chosen.get(key) or "") for key in ("id", "verdict", "expected", "reason", "place")}
    return Row(
        mutant.name, mutant.area, mutant.file, mutant.known, outcome, stage, **text, red=len(alarms),
        naming=len(naming), seconds=round(seconds, 1), stages=len(done), digest=mutant.digest,
    )  # fmt: skip


def _said(alarm: dict[str, str], mutant: Mutant) -> str:
    """What a reader sees of a finding: its id without the algorithm, its sentences, its place."""
    tail = alarm["id"].partition(".")[2].replace("_", " ")
    return " ".join((tail, alarm["subject"], alarm["reason"], alarm["surprise"], alarm["place"] or ""))


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
