"""What a check of correct code finds: the verdicts, and the epsilons that the accountant certifies.

``expected.json`` holds both, and the ledger of ``dpcheck.bounds`` the verdicts of claims. The file is never edited to
fit a run: a person reviews what a checkout's ``tests/propose_verdicts.py`` proposes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import resources
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
