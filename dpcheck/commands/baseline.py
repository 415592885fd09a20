"""A baseline: the findings that are known, so that only what is new or what changed fails."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dpcheck.errors import InputError, one_line, require
from dpcheck.report.results import Finding, to_json_text
from dpcheck.running.files import write_text

SCHEMA = "dpcheck.baseline/1"


def read(path: str) -> dict[str, str]:
    """Return the verdict of each known finding by its id; InputError for a file that is no baseline."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))
        known = found["findings"] if found.get("schema") == SCHEMA else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"the baseline must be a file of --write-baseline, got {path}: {one_line(error)}") from error
    good = isinstance(known, dict) and all(isinstance(each, str) for each in known.values())
    require(good, "the baseline", f"be of schema {SCHEMA}", path)
    return dict(known or {})


def write(path: str, findings: Iterable[Finding]) -> None:
    """Write the verdicts of all findings, for the next run to know."""
    known = {each.id: each.verdict for each in findings}
    write_text(path, to_json_text({"schema": SCHEMA, "findings": dict(sorted(known.items()))}) + "\n")
