"""The expected verdicts: what each claim of the catalogue, and each reading of it, comes out as.

``python -m dpcheck.bounds.ledger [PAPER]`` decides the claims again and writes ``ledger.json`` and, with the
polynomials of every certificate, ``certificates.json``. A person reads the change before it is kept.
Claims that quote others are decided again until nothing changes.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcheck.bounds.claim import ClaimResult


@functools.cache
def recorded() -> dict[str, dict[str, Any]]:
    """Return for each claim its paper, expected verdict, method, basis, trust, and the verdict of each reading."""
    text = resources.files("dpcheck.bounds").joinpath("ledger.json").read_text("utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def changed(results: Iterable[ClaimResult]) -> tuple[ClaimResult, ...]:
    """The results whose verdict is not the expected one, or that have none."""
    return tuple(each for each in results if recorded().get(each.claim.id, {}).get("verdict") != each.verdict)


@functools.cache
def certificates() -> dict[str, list[dict[str, Any]]]:
    """Return for each claim's id the inequalities that certificates prove: what each says, and the polynomials."""
    text = resources.files("dpcheck.bounds").joinpath("certificates.json").read_text("utf-8")
    found: dict[str, list[dict[str, Any]]] = json.loads(text)
    return found


def certified(results: Iterable[ClaimResult]) -> dict[str, list[dict[str, Any]]]:
    """The inequalities of ``results`` that certificates prove, as :func:`certificates` keeps them."""
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
    return _lines({each.claim.id: _entry(each) for each in results})


def _lines(entries: dict[str, dict[str, Any]]) -> str:
    return "{\n" + ",\n".join(f"  {json.dumps(id)}: {json.dumps(entry)}" for id, entry in entries.items()) + "\n}\n"


def _entry(result: ClaimResult) -> dict[str, Any]:
    entry = {
        "paper": result.claim.paper, "verdict": result.verdict, "method": result.method, "basis": result.basis,
        "trust": result.trust,
    }  # fmt: skip
    readings = result.evidence["readings"]
    return {**entry, "readings": readings} if readings else entry


def _proofs(found: dict[str, list[dict[str, Any]]]) -> str:
    """The certificates of each claim, an inequality a line."""
    claims = (
        f" {json.dumps(id)}: [\n" + ",\n".join(f"  {json.dumps(step)}" for step in steps) + "\n ]"
        for id, steps in found.items()
    )
    return "{\n" + ",\n".join(claims) + "\n}\n"


def _write(paper: str | None) -> None:
    """Decide the claims again, those of one paper or all, until the verdicts they quote are their own."""
    from dpcheck.bounds.registry import claims, prove

    here = Path(__file__)
    order = [each.id for each in claims()]
    while True:
        found = prove(paper)
        entries = {**recorded(), **{each.claim.id: _entry(each) for each in found}}
        before, after = here.with_name("ledger.json").read_text("utf-8"), _lines({id: entries[id] for id in order})
        here.with_name("ledger.json").write_text(after, "utf-8")
        recorded.cache_clear()
        if before == after:
            break
    if paper is None:
        here.with_name("certificates.json").write_text(_proofs(certified(found)), "utf-8")


if __name__ == "__main__":
    _write(sys.argv[1] if len(sys.argv) > 1 else None)
