"""The runs that a store keeps: what was found, when, by which command, on which commit of the working folder."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from dpcheck.errors import InputError, one_line
from dpcheck.json_text import parse
from dpcheck.report.findings import SCHEMA, Report
from dpcheck.running.store import KeptRun, Store, open_store

_PATIENCE = 10.0  # seconds for git


class Named(NamedTuple):
    """A report, and what to call it."""

    name: str
    report: Report


def keep_run(store: Store, report: Report) -> int:
    """Keep the report of a run that came to its end, and return its number."""
    made = report.made
    return store.add_run(made.get("date", ""), made.get("command", ""), revision(), report.to_json())


def revision() -> str:
    """The commit of the working folder, with a + where files differ from it; empty where there is none."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{commit}{'+' if changed else ''}"


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, timeout=_PATIENCE)
    return found.stdout.strip()


def history(folder: str | PathLike[str]) -> list[dict[str, Any]]:
    """The runs of a store, the first one first, each with what it found and what changed since one like it before.

    Runs are alike if they looked at the same algorithms or mechanisms with the same profile. Of a run whose report
    cannot be read, as that of another version, "findings" is "unreadable".
    """
    from dpcheck.report.changes import compare

    with closing(open_store(folder, "FOLDER", new=False)) as store:
        runs = store.runs()
    rows: list[dict[str, Any]] = []
    before: dict[tuple[Any, ...], Report] = {}
    for run in runs:
        row: dict[str, Any] = {"run": run.number, "date": run.date, "commit": run.revision, "command": run.command}
        try:
            report = _report(run)
        except InputError:  # of another version; the other runs can be read all the same
            rows.append(row | {"findings": "unreadable", "unexpected": None, "changed": None, "seconds": None})
            continue
        like = (report.algorithms, report.profile)
        changes = compare(before[like], report).changes if like in before else None
        before[like] = report
        unexpected, changed = sum(not each.ok for each in report.findings), None if changes is None else len(changes)
        found = {"findings": len(report.findings), "unexpected": unexpected, "changed": changed}
        rows.append(row | found | {"seconds": round(report.seconds, 1)})
    return rows


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for one
        return False


def find(text: str) -> Named:
    """The report that REPORT.json, FOLDER, FOLDER:NUMBER or FOLDER:COMMIT names; the last one where several do.

    Raises
    ------
    InputError
        If it names none.
    """
    path = Path(text)
    if _is_file(path):
        try:
            return Named(text, read(path.read_text("utf-8-sig")))
        except (OSError, UnicodeError) as error:
            raise InputError(f"a report must be a readable file, got {text}: {one_line(error)}") from error
    folder, wanted = (text, "") if path.is_dir() else text.rpartition(":")[::2]
    if not Path(folder or text).is_dir():
        raise InputError(
            f"a run must be REPORT.json, FOLDER, FOLDER:NUMBER or FOLDER:COMMIT, got {one_line(text)[:200]}"
        )
    with closing(open_store(folder, "FOLDER", new=False)) as store:
        runs = store.runs()
    named = [run for run in runs if not wanted or _is(run, wanted)]
    if not named:
        known = f"runs 1 to {len(runs)}" if runs else "no run that came to its end"
        raise InputError(f"a run must be one of {folder}, which has {known}, got {one_line(text)[:200]}")
    run = named[-1]
    return Named(f"{folder}:{run.number}{f' ({run.revision})' if run.revision else ''}", _report(run))


def read(text: str) -> Report:
    """The report in a JSON text: of ``dpcheck check``, or of one audit or one fit of a rate, as its only finding."""
    found = parse(text, "report")
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema not in _SINGLE:
        return Report.from_json(text)
    kind, within = _SINGLE[schema]
    numbers = {"audited": found.get("epsilon_lower"), "claimed": found.get("epsilon")} if kind == "privacy" else {}
    one = {"id": within, "kind": kind, "subject": within, "verdict": found.get("verdict"), "reason": ""}
    given = {"schema": SCHEMA, "findings": [one | numbers | {"evidence": {within: found}}]}
    said = {"algorithms": [], "profile": within, "seed": 0, "version": "", "seconds": 0, "tables": {}}
    return Report.from_json(json.dumps(given | said))


_SINGLE = {"dpcheck.audit/1": ("privacy", "audit"), "dpcheck.rate/1": ("rate", "fit")}


def _is(run: KeptRun, wanted: str) -> bool:
    """Whether a run has this number, or this beginning of a commit."""
    if wanted.isdecimal() and len(wanted) < 7:  # which no commit is told by
        return run.number == int(wanted)
    return len(wanted) >= 4 and run.revision.startswith(wanted)


def _report(run: KeptRun) -> Report:
    return Report.from_json(run.report)
