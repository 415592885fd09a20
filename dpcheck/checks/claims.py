"""The claims of a paper in the check.

They come from the package's file where the code and the versions that decided them are these; else from the user's
cache; else they are decided now, and kept only where all verdicts are expected. ``dpcheck prove`` reads neither.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpcheck
from dpcheck.checks.context import Context
from dpcheck.checks.expected import expected_verdicts, of_claims
from dpcheck.checks.shipped import claims_of, versions
from dpcheck.errors import InputError
from dpcheck.report.findings import Finding
from dpcheck.running.store import Store, theory_digest

if TYPE_CHECKING:
    from dpcheck.bounds.claim import ClaimResult


def decided(context: Context, paper: str) -> Iterator[Finding]:
    """Yield what is decided of a paper's statements, each with its evidence."""
    found = claims_of(paper) or _kept(paper)
    if found is None:
        found = decide(paper, context.jobs)
        if all(expected_verdicts().get(f"{paper}.{id}") == each["verdict"] for id, each in found.items()):
            _keep(paper, found)
    for each in found.values():
        yield as_finding(each)


def shown(papers: list[str]) -> list[str]:
    """Return a sentence on the claims that a check shows as they were decided before; none where it decides them."""
    known = [paper for paper in papers if claims_of(paper) is not None]
    if not known:
        return []
    count = sum(len(claims_of(paper) or {}) for paper in known)
    with_ = ", ".join(f"{name} {version}" for name, version in versions().items())
    again = f"dpcheck prove{'' if len(known) > 1 else f' {known[0]}'}"
    return [f"{count} claims are shown as this code decided them with {with_}; `{again}` decides them anew."]


def as_finding(found: dict[str, Any]) -> Finding:
    """Return the finding on a claim from what is kept of its decision."""
    said = found["evidence"]
    return Finding(
        f"{said['paper']}.{said['id']}", "claim", f"{said['location']}: {said['statement']}", found["verdict"],
        f"{found['note']} (Checked by: {found['trust'] or 'nobody'}.)", evidence=said, place=_place(found["place"]),
    )  # fmt: skip


def _place(kept: str) -> str:
    """Return a place of a checkout as it is where the package is installed."""
    checkout = Path(dpcheck.__file__).resolve().parent.parent
    return kept if (checkout / kept.rpartition(":")[0]).is_file() else f"dpcheck/{kept}"


def decide(paper: str, jobs: int) -> dict[str, dict[str, Any]]:
    """Decide a paper's claims, and return what is kept of each, by id."""
    from dpcheck.bounds.registry import prove

    return {result.claim.id: kept(result) for result in prove(paper, jobs=jobs)}


def kept(result: ClaimResult) -> dict[str, Any]:
    """Return what is kept of a decision."""
    from dpcheck.checks.place import place_of_claim

    return {
        "verdict": result.verdict, "note": result.note, "trust": result.trust, "evidence": result.to_dict(),
        "place": place_of_claim(result.claim),
    }  # fmt: skip


def _store() -> Store:
    """Return the user's cache; InputError where it cannot be written."""
    import pooch

    folder = Path(pooch.os_cache("dpcheck"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the cache {folder} must be writable") from error
    deciding = ",".join(f"{name} {version}" for name, version in versions().items())
    return Store(folder / "claims.sqlite", f"{theory_digest()} {deciding} {platform.python_version()}")


def _kept(paper: str) -> dict[str, dict[str, Any]] | None:
    try:
        with closing(_store()) as store:
            found: dict[str, dict[str, Any]] | None = store.get(["claims", paper])
    except InputError:
        return None
    known = {id.partition(".")[2] for id in of_claims() if id.startswith(f"{paper}.")}
    whole = found is not None and found.keys() == known and all("place" in each for each in found.values())
    return found if whole else None


def _keep(paper: str, found: dict[str, dict[str, Any]]) -> None:
    try:
        with closing(_store()) as store:
            store.put(["claims", paper], found)
    except InputError:
        return  # the next check decides them again
