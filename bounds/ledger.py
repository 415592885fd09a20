"""The expected verdicts: what each claim of the catalogue, and each reading of it, comes out as.

``python -m dpcheck.bounds.ledger [PAPER]`` decides the claims again and writes ``ledger.json``. A person reads the
change before it is kept. Claims that quote others are decided again until nothing changes.
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
    """Return the results whose verdict is not the expected one, or that have none."""
    return tuple(result for result in results if recorded().get(result.claim.id, {}).get("verdict") != result.verdict)


def text(results: Iterable[ClaimResult]) -> str:
    """Return the ledger of these results, one line a claim."""
    return _lines({result.claim.id: _entry(result) for result in results})


def _lines(entries: dict[str, dict[str, Any]]) -> str:
    return "{\n" + ",\n".join(f"  {json.dumps(id)}: {json.dumps(entry)}" for id, entry in entries.items()) + "\n}\n"


def _entry(result: ClaimResult) -> dict[str, Any]:
    entry = {
        "paper": result.claim.paper, "verdict": result.verdict, "method": result.method, "basis": result.basis,
        "trust": result.trust,
    }  # fmt: skip
    readings = result.evidence["readings"]
    return {**entry, "readings": readings} if readings else entry


def _write(paper: str | None) -> None:
    """Decide the claims again, those of one paper or all, until the verdicts they quote are their own."""
    from dpcheck.bounds.registry import claims, prove

    here = Path(__file__)
    order = [claim.id for claim in claims()]
    while True:
        found = prove(paper)
        entries = {**recorded(), **{result.claim.id: _entry(result) for result in found}}
        before, after = here.with_name("ledger.json").read_text("utf-8"), _lines({id: entries[id] for id in order})
        here.with_name("ledger.json").write_text(after, "utf-8")
        recorded.cache_clear()
        if before == after:
            break


if __name__ == "__main__":
    _write(sys.argv[1] if len(sys.argv) > 1 else None)
