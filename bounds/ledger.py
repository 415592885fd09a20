"""The verdicts on record: what each claim of the catalogue is expected to come out as.

``python -m dpcheck.bounds.ledger`` decides all claims again and writes ``ledger.json`` and, with the
polynomials of every certificate, ``certificates.json``; the change is then read by a person before
it is kept.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from dpcheck.bounds.claim import ClaimResult


@functools.cache
def recorded() -> dict[str, dict[str, str]]:
    """For each claim's id its paper, the verdict on record and the method."""
    text = resources.files("dpcheck.bounds").joinpath("ledger.json").read_text("utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


def changed(results: Iterable[ClaimResult]) -> tuple[ClaimResult, ...]:
    """The results whose verdict is not the one on record, or that are not on record."""
    return tuple(each for each in results if recorded().get(each.claim.id, {}).get("verdict") != each.verdict)


@functools.cache
def certificates() -> dict[str, list[dict[str, Any]]]:
    """For each claim's id the inequalities that certificates prove: what each says, and the polynomials."""
    text = resources.files("dpcheck.bounds").joinpath("certificates.json").read_text("utf-8")
    found: dict[str, list[dict[str, Any]]] = json.loads(text)
    return found


def certified(results: Iterable[ClaimResult]) -> dict[str, list[dict[str, Any]]]:
    """The same of these results."""
    found = {
        each.claim.id: [
            {"says": step["says"], "certificates": step["certificates"]}
            for step in each.evidence["steps"]
            if step.get("certificates")
        ]
        for each in results
    }
    return {id: steps for id, steps in found.items() if steps}


def text(results: Iterable[ClaimResult]) -> str:
    """The ledger of these results, one line a claim."""
    lines = [
        f"  {json.dumps(each.claim.id)}: "
        + json.dumps({"paper": each.claim.paper, "verdict": each.verdict, "method": each.method})
        for each in results
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    from dpcheck.bounds.registry import prove

    found = prove()
    Path(__file__).with_name("ledger.json").write_text(text(found), "utf-8")
    Path(__file__).with_name("certificates.json").write_text(json.dumps(certified(found), indent=1) + "\n", "utf-8")
