"""The proofs by certificate that the catalogue's claims rest on, kept in ``measured/certificates.jsonl``.

A line is one proof and needs no other line: the claim's id, the step that it proves, and the polynomials that
``polynomials.replay`` expands again without the prover. ``pytest tests/bounds/test_claims.py --keep-tables``
writes the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dpcheck.bounds.claim import ClaimResult

FILE = Path(__file__).resolve().parents[1] / "measured" / "certificates.jsonl"


def lines_of(results: Iterable[ClaimResult]) -> list[str]:
    """The proofs in these results as the file keeps them, in order of claim and step."""
    return [
        json.dumps({"claim": each.claim.id, "step": step["says"], **proof})
        for each in results
        for step in each.evidence["steps"]
        for proof in step.get("certificates", ())
    ]


def kept() -> list[str]:
    """The lines of the file."""
    return FILE.read_text("utf-8").splitlines()


def proofs() -> list[dict[str, Any]]:
    """The proofs of the file."""
    return [json.loads(line) for line in kept()]


def write(lines: Iterable[str]) -> None:
    """Replace the file."""
    FILE.write_text("".join(f"{line}\n" for line in lines), "utf-8")
