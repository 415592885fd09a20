"""Propose changes of the expected verdicts: ``python tests/propose_verdicts.py [ALGORITHM...]``.

It checks the algorithms and prints what differs from ``dpcheck/checks/expected.json``; ``--write`` puts that into the
file. A person reviews every change before it is kept.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from dpcheck.checks import check
from dpcheck.checks.expected import expected_certificates, of_claims, on_file
from dpcheck.report.findings import Finding


def differing(findings: Sequence[Finding], algorithms: Iterable[str]) -> Iterator[tuple[str, str, str | float | None]]:
    """Yield what ``expected.json`` lacks or has otherwise: the part of the file, the id, and the new entry or None."""
    claims, found = of_claims(), {finding.id for finding in findings}
    for id in expected_certificates():
        if id.split(".", 1)[0] in set(algorithms) and id not in found:
            yield "certified", id, None
    for finding in findings:
        if finding.id in claims:
            continue
        gone = finding.kind == "missing"
        unexpected = finding.expected is None or finding.verdict not in finding.expected.split(" or ")
        if gone or unexpected:
            yield "verdicts", finding.id, None if gone else finding.verdict
        known = expected_certificates().get(finding.id)
        sure = not gone and finding.certified is not None and math.isfinite(finding.certified)
        if known is not None and not sure:
            yield "certified", finding.id, None
        elif finding.certified is not None and sure and (known is None or not finding.certificate_ok):
            yield "certified", finding.id, float(f"{finding.certified:.6g}")


def updated(found: dict[str, Any], changes: Iterable[tuple[str, str, str | float | None]]) -> dict[str, Any]:
    """Return the file with the changes; a new id follows the last one of its variant, or else of its algorithm."""
    parts: dict[str, list[tuple[str, Any]]] = {part: list(entries.items()) for part, entries in found.items()}
    for part, id, entry in changes:
        entries = parts[part]
        places = [number for number, (known, _) in enumerate(entries) if known == id]
        if places:
            entries[places[0] : places[0] + 1] = [] if entry is None else [(id, entry)]
        elif entry is not None:
            entries.insert(_place([known for known, _ in entries], id), (id, entry))
    return {part: dict(entries) for part, entries in parts.items()}


def _place(known: Sequence[str], id: str) -> int:
    """Return the place behind the last id that begins as this one does."""
    words = id.split(".")
    for length in range(len(words) - 1, 0, -1):
        start = ".".join(words[:length]) + "."
        alike = [number for number, other in enumerate(known) if other.startswith(start)]
        if alike:
            return alike[-1] + 1
    return len(known)


def main(arguments: Sequence[str]) -> int:
    """Print what a check finds otherwise than expected, and write it where asked; 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("algorithms", nargs="*", metavar="ALGORITHM", help="all where none is named")
    parser.add_argument("--write", action="store_true", help="put the changes into expected.json")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args(arguments)
    report = check(
        given.algorithms or None, seed=given.seed, jobs=given.jobs,
        watch=lambda stage, done, total: print(f"{stage}: {done}/{total}", file=sys.stderr) if done == total else None,
    )  # fmt: skip
    changes = list(differing(report.findings, report.algorithms))
    for part, id, entry in changes:
        known = on_file()[part].get(id, "nothing")
        print(f"{part}: {id}: {known} -> {'nothing' if entry is None else entry}")
    if given.write and changes:
        file = Path(str(resources.files("dpcheck.checks").joinpath("expected.json")))
        file.write_text(json.dumps(updated(on_file(), changes), indent=1) + "\n", "utf-8")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
