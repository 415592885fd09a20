"""Long work that a check shows as it was done before: the claims of the papers, and the rates measured at seed 0.

The package ships both, and shows them for as long as they are of this code: claims while ``bounds``, what it imports
and the versions of what decides are the same; measurements while solvers, problems, accountant and rates are the same,
and while the first measurement and the first prediction of each rate, which every check makes again, come out alike.
Claims come else from the user's cache; else they are decided, and kept only where all verdicts are expected.
``dpcheck prove`` reads neither.
``python -m dpcheck.checks.shipped`` writes both files, in minutes.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpcheck
from dpcheck.cache import user_cache
from dpcheck.checks.expected import expected_verdicts, of_claims
from dpcheck.errors import InputError, require
from dpcheck.reading import record_of, typed
from dpcheck.report.findings import Finding
from dpcheck.running.store import Store, digest_of
from dpcheck.running.trust import NEW_FOLDER, distrusted, tell_once

if TYPE_CHECKING:
    from dpcheck.bounds.ledger import ClaimResult
    from dpcheck.checks.context import Context

_PACKAGE = Path(str(resources.files("dpcheck")))
CLAIMS, MEASUREMENTS = "claims.json.xz", "measurements.json.xz"
_DECIDE = ("sympy", "mpmath", "python-flint", "z3-solver")
# What turns seeds into measurements; what judges them runs in every check.
_MEASURE = ("algorithms", "catalogue", "solvers", "problems", "accounting")
_SHARED = ("arrays", "events", "checks/context", "checks/experiment", "checks/rate_points")
_ALIKE = 1e-6  # relative; another processor sums in another order


def versions() -> dict[str, str]:
    """Return the versions of what decides claims."""
    return {name: metadata.version(name) for name in _DECIDE}


def measuring_digest() -> str:
    """Return a digest of the code that measures."""
    files = [file for folder in _MEASURE for file in (_PACKAGE / folder).rglob("*.py")]
    return digest_of([*files, *(_PACKAGE / f"{name}.py" for name in _SHARED)])


@cache
def theory_digest() -> str:
    """Return a digest of what a claim's verdict depends on: ``bounds`` with its files of data, and what it imports."""
    files = [_PACKAGE / "errors.py", _PACKAGE / "running/executor.py", *(_PACKAGE / "bounds").rglob("*")]
    return digest_of(path for path in files if path.is_file() and path.suffix in (".py", ".json", ".v"))


def claims_of(paper: str) -> dict[str, dict[str, Any]] | None:
    """Return the decided claims of a paper by id, or None where none are shipped that this code would decide alike."""
    found = _read(CLAIMS)
    if found.get("code") != theory_digest() or found.get("versions") != versions():
        return None
    decided: dict[str, dict[str, Any]] | None = found["papers"].get(paper)
    return decided


class Measurements:
    """What the rates measured before, by the key of each chunk; a stage trusts them once its first of a kind agrees."""

    def __init__(self) -> None:
        found = _read(MEASUREMENTS)
        self._chunks: dict[str, Any] = found["chunks"] if found.get("code") == measuring_digest() else {}
        self.stages: dict[str, bool] = {}  # those that repeated something, and whether it came out alike
        self._stage = ""
        self._repeated = set[str]()  # kinds of chunks, in this stage

    def begin(self, stage: str) -> None:
        """Trust nothing yet in this stage."""
        self._stage, self._repeated = stage, set()

    def get(self, key: list[Any]) -> Any:
        """Return what a chunk measured; None where it is not known, or where this stage came out otherwise."""
        return self._chunks.get(name_of(key)) if self.stages.get(self._stage, True) else None

    def unchecked(self, key: list[Any]) -> bool:
        """Whether this stage has repeated no chunk of this kind so far."""
        return _kind(key) not in self._repeated

    def compare(self, key: list[Any], again: Any) -> bool:
        """Say whether a chunk that was made again came out alike; if not, the rest of the stage is made anew."""
        self._repeated.add(_kind(key))
        alike = _alike(self._chunks[name_of(key)], json.loads(json.dumps(again)))
        self.stages[self._stage] = alike
        return alike

    def said(self, names: list[str]) -> list[str]:
        """Return a sentence on the rates of these algorithms that were shown, and one on those that were not."""
        shown, anew = (sum(alike is is_shown for alike in self.stages.values()) for is_shown in (True, False))
        command = f"dpcheck check {' '.join(names) if len(names) == 1 else ''}".rstrip() + " --profile full"
        said = []
        if shown:
            said.append(
                f"{shown} rate{'s are' if shown > 1 else ' is'} shown as this code measured and predicted before; of "
                f"each, the first part was made again and came out alike. `{command}` makes all of it."
            )
        if anew:
            said.append(
                f"{anew} rate{'s were' if anew > 1 else ' was'} measured anew: on this machine the first part "
                "came out otherwise than the package has it."
            )
        return said


def _kind(key: list[Any]) -> str:
    """Return what a chunk's key says that it is: a measurement or a prediction."""
    return str(key[3])  # behind the word chunk, the profile and the seed


def name_of(key: list[Any]) -> str:
    """Return the short name of a chunk's key."""
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]


def _alike(before: Any, again: Any) -> bool:
    """Say whether two results fit for JSON agree, numbers up to rounding."""
    if isinstance(before, list) and isinstance(again, list):
        return len(before) == len(again) and all(map(_alike, before, again))
    if isinstance(before, dict) and isinstance(again, dict):
        return before.keys() == again.keys() and all(_alike(before[key], again[key]) for key in before)
    if isinstance(before, float) and isinstance(again, float | int):
        return math.isclose(before, again, rel_tol=_ALIKE) or (math.isnan(before) and math.isnan(again))
    return bool(before == again)


@cache
def _read(name: str) -> dict[str, Any]:
    """Return what a file holds, nothing where it is missing or damaged."""
    try:
        packed = resources.files("dpcheck.checks").joinpath(name).read_bytes()
        found = json.loads(lzma.decompress(packed))
    except (OSError, lzma.LZMAError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def decided(context: Context, paper: str) -> Iterator[Finding]:
    """Yield what is decided of a paper's statements, each with its evidence."""
    found = claims_of(paper) or _kept(paper)
    if found is None:
        found = decide(paper, context.jobs)
        if all(expected_verdicts().get(f"{paper}.{id}") == claim["verdict"] for id, claim in found.items()):
            _keep(paper, found)
    for claim in found.values():
        said = claim["evidence"]
        yield Finding(
            f"{said['paper']}.{said['id']}", "claim", f"{said['location']}: {said['statement']}", claim["verdict"],
            f"{claim['note']} (Checked by: {claim['trust'] or 'nobody'}.)", evidence=said, place=_place(claim["place"]),
        )  # fmt: skip


def shown(papers: list[str]) -> list[str]:
    """Return a sentence on the claims that a check shows as they were decided before; none where it decides them."""
    known = [paper for paper in papers if claims_of(paper) is not None]
    if not known:
        return []
    count = sum(len(claims_of(paper) or {}) for paper in known)
    with_ = ", ".join(f"{name} {version}" for name, version in versions().items())
    again = f"dpcheck prove{'' if len(known) > 1 else f' {known[0]}'}"
    return [f"{count} claims are shown as this code decided them with {with_}; `{again}` decides them anew."]


def _place(kept: str) -> str:
    """Return a place of a checkout as it is where the package is installed."""
    checkout = Path(dpcheck.__file__).resolve().parent.parent
    return kept if (checkout / kept.rpartition(":")[0]).is_file() else f"dpcheck/{kept}"


def decide(paper: str, jobs: int) -> dict[str, dict[str, Any]]:
    """Decide a paper's claims, and return what is kept of each, by id."""
    from dpcheck.bounds.registry import prove

    return {result.claim.id: _as_kept(result) for result in prove(paper, jobs=jobs)}


def _as_kept(result: ClaimResult) -> dict[str, Any]:
    from dpcheck.source import shown_place

    return {
        "verdict": result.verdict, "note": result.note, "trust": result.trust, "evidence": result.to_dict(),
        "place": shown_place(result.claim.place()),
    }  # fmt: skip


def _store() -> Store:
    """Return the user's cache; InputError where it cannot be written, or by others too."""
    folder = user_cache()
    try:
        folder.mkdir(NEW_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the cache {folder} must be writable") from error
    file = folder / "claims.sqlite"
    if wrong := distrusted(file):
        tell_once(f"verdicts that were kept are not used, which takes longer: {wrong}")
        raise InputError(wrong)
    deciding = ",".join(f"{name} {version}" for name, version in versions().items())
    return Store(file, f"{theory_digest()} {deciding} {platform.python_version()}")


def _kept(paper: str) -> dict[str, dict[str, Any]] | None:
    try:
        with closing(_store()) as store:
            found: dict[str, dict[str, Any]] = typed(dict[str, dict[str, Any]], store.get(["claims", paper]), "claims")
        for id, claim in found.items():
            record_of(_OfClaim, claim, id)
            require({"paper", "id", "location", "statement"} <= claim["evidence"].keys(), id, "have evidence", "none")
    except InputError:
        return None
    known = {id.partition(".")[2] for id in of_claims() if id.startswith(f"{paper}.")}
    return found if found.keys() == known else None


@dataclass(frozen=True)
class _OfClaim:
    """The verdict of a claim as the cache keeps it."""

    verdict: str
    note: str
    trust: str
    evidence: dict[str, Any]
    place: str


def _keep(paper: str, found: dict[str, dict[str, Any]]) -> None:
    try:
        with closing(_store()) as store:
            store.put(["claims", paper], found)
    except InputError:
        return  # the next check decides them again


class _Kept:
    """A store that forgets nothing and knows nothing before it is told."""

    def __init__(self) -> None:
        self.chunks: dict[str, Any] = {}

    def get(self, key: list[Any]) -> Any:
        return self.chunks.get(name_of(key))

    def put(self, key: list[Any], value: Any) -> Any:
        self.chunks[name_of(key)] = json.loads(json.dumps(value))
        return self.chunks[name_of(key)]


def main() -> int:
    """Write both files; 1 where a verdict is not the expected one, which is never shipped."""
    from dpcheck.bounds.registry import PAPERS
    from dpcheck.checks import rates
    from dpcheck.checks.context import Context
    from dpcheck.solvers import ALGORITHMS

    jobs = os.cpu_count() or 1
    strange = []
    papers = {}
    for paper in PAPERS:
        print(f"claims of {paper}", file=sys.stderr)
        papers[paper] = claims_of(paper) or decide(paper, jobs)
        strange += [id for id, each in papers[paper].items() if expected_verdicts()[f"{paper}.{id}"] != each["verdict"]]
    kept = _Kept()
    for name in ALGORITHMS:
        for title, stage in rates.stages(Context(jobs=jobs, store=kept), name, {}):  # type: ignore[arg-type]
            print(f"{name}: {title}", file=sys.stderr)
            expected = expected_verdicts()
            strange += [each.id for each in stage() if each.verdict not in expected.get(each.id, "").split(" or ")]
    if strange:
        print(f"not expected, and nothing is written: {', '.join(strange)}", file=sys.stderr)
        return 1
    made = {"dpcheck": dpcheck.__version__}
    _write(CLAIMS, {**made, "code": theory_digest(), "versions": versions(), "papers": papers})
    _write(MEASUREMENTS, {**made, "code": measuring_digest(), "chunks": kept.chunks})
    return 0


def _write(name: str, value: dict[str, Any]) -> None:
    file = Path(str(resources.files("dpcheck.checks").joinpath(name)))
    file.write_bytes(lzma.compress(json.dumps(value).encode(), preset=9))


if __name__ == "__main__":
    sys.exit(main())
