"""What a check of correct code finds: the verdicts, and the epsilons that the accountant certifies.

``expected.json`` holds both. ``python -m dpcheck.checks.expected [ALGORITHM...]`` checks the algorithms and prints
what differs from it, and with ``--write`` puts that into the file. A person reviews every change before it is kept;
the file is never edited to fit a run. The verdicts of claims are in the ledger of ``dpcheck.bounds``.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from dpcheck.bounds import ledger
from dpcheck.report.findings import Finding


@cache
def on_file() -> dict[str, Any]:
    """Return both parts of ``expected.json``, by name."""
    found: dict[str, Any] = json.loads(resources.files("dpcheck.checks").joinpath("expected.json").read_text("utf-8"))
    return found


@cache
def expected_verdicts() -> dict[str, str]:
    """Return the verdict of each finding, or several as in "violated or inconclusive"; of claims, the ledger's."""
    return {**on_file()["verdicts"], **of_claims()}


def of_claims() -> dict[str, str]:
    """Return the verdicts of the papers' claims, which the ledger holds."""
    return {f"{entry['paper']}.{id}": entry["verdict"] for id, entry in ledger.recorded().items()}


@cache
def expected_certificates() -> dict[str, float]:
    """Return the certified epsilon of each finding that has one."""
    found: dict[str, float] = on_file()["certified"]
    return found


@cache
def attained_in() -> dict[str, float]:
    """Return in which share of repeats, measured or estimated, each factor of an experiment is attained."""
    found: dict[str, float] = json.loads(resources.files("dpcheck.checks").joinpath("rate_shares.json").read_text())
    return found


def with_expected(finding: Finding) -> Finding:
    """Return the finding, and what is expected of it."""
    return replace(
        finding, expected=expected_verdicts().get(finding.id),
        expected_certified=expected_certificates().get(finding.id),
    )  # fmt: skip


def missing(findings: Iterable[Finding], algorithms: Iterable[str], papers: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for each that is expected of these algorithms and papers and that the check did not yield."""
    found, algorithms, papers = {finding.id for finding in findings}, set(algorithms), set(papers)
    claims = of_claims()
    for id, verdict in expected_verdicts().items():
        if id.split(".", 1)[0] in (papers if id in claims else algorithms) and id not in found:
            yield Finding(
                id, "missing", "a finding that is expected", "inconclusive", "The check did not look at it.",
                expected=verdict if verdict != "inconclusive" else "any finding",
            )  # fmt: skip


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
    from dpcheck.checks import check

    parser = argparse.ArgumentParser(prog="python -m dpcheck.checks.expected", description=__doc__)
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
