"""The claims of a paper in the check: decided once for each version of the theory, then read from the user's cache.

What is kept depends on the files of ``bounds`` and on the versions of the libraries that decide; ``dpcheck prove``
recomputes all evidence every time. Only verdicts that are all expected are kept, so that a surprise is computed anew.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

from dpcheck.bounds.claim import Claim, ClaimResult
from dpcheck.bounds.registry import claims, prove
from dpcheck.checks.context import Context
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.place import place_of_claim
from dpcheck.errors import InputError
from dpcheck.findings import Finding
from dpcheck.store import Store, theory_digest

_DECIDE = ("sympy", "mpmath", "python-flint", "z3-solver")


def decided(context: Context, paper: str) -> Iterator[Finding]:
    """Yield what is decided of a paper's statements, each with its evidence."""
    found = _kept(paper)
    if found is None:
        found = _decide(context, paper)
        if all(expected_verdicts().get(f"{paper}.{id}") == each["verdict"] for id, each in found.items()):
            _keep(paper, found)
    for claim in claims(paper):
        yield as_finding(claim, found[claim.id])


def as_finding(claim: Claim, found: dict[str, Any]) -> Finding:
    """Return the finding on a claim."""
    return Finding(
        f"{claim.paper}.{claim.id}", "claim", f"{claim.location}: {claim.statement}", found["verdict"],
        f"{found['note']} (Checked by: {found['trust'] or 'nobody'}.)", evidence=found["evidence"],
        place=place_of_claim(claim),
    )  # fmt: skip


def _decide(context: Context, paper: str) -> dict[str, dict[str, Any]]:
    return {result.claim.id: kept(result) for result in prove(paper, jobs=context.jobs)}


def kept(result: ClaimResult) -> dict[str, Any]:
    """Return what the cache keeps of a decision."""
    return {"verdict": result.verdict, "note": result.note, "trust": result.trust, "evidence": result.to_dict()}


def _store() -> Store:
    """Return the user's cache; InputError where it cannot be written."""
    import pooch

    folder = Path(pooch.os_cache("dpcheck"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the cache {folder} must be writable") from error
    versions = ",".join(f"{name} {metadata.version(name)}" for name in _DECIDE)
    return Store(folder / "claims.sqlite", f"{theory_digest()} {versions} {platform.python_version()}")


def _kept(paper: str) -> dict[str, dict[str, Any]] | None:
    try:
        with closing(_store()) as store:
            found: dict[str, dict[str, Any]] | None = store.get(["claims", paper])
    except InputError:
        return None
    return found if found is not None and found.keys() == {claim.id for claim in claims(paper)} else None


def _keep(paper: str, found: dict[str, dict[str, Any]]) -> None:
    try:
        with closing(_store()) as store:
            store.put(["claims", paper], found)
    except InputError:
        return  # the next check decides them again
