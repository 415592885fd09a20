"""What the package ships of long work: the decided claims of the papers, and what the rates of seed 0 measured.

Both are shown for as long as they are of this code: claims while ``bounds``, what it imports and the versions of what
decides are the same; measurements while solvers, problems, accountant and rates are the same, and while the first part
of each rate, which every check measures again, comes out alike. Otherwise the check decides and measures anew.
``python -m dpcheck.checks.shipped`` writes both files.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from dpcheck.running.store import digest_of, theory_digest

CLAIMS, MEASUREMENTS = "claims.json.xz", "measurements.json.xz"
_DECIDE = ("sympy", "mpmath", "python-flint", "z3-solver")
# What turns seeds into measurements; what judges them runs in every check.
_MEASURE = ("algorithms", "catalogue", "solvers", "problems", "accounting", "checks/rates")
_SHARED = ("running/executor", "arrays", "events")
_ALIKE = 1e-6  # relative; another processor sums in another order


def versions() -> dict[str, str]:
    """Return the versions of what decides claims."""
    return {name: metadata.version(name) for name in _DECIDE}


def measuring_digest() -> str:
    """Return a digest of the code that measures."""
    package = Path(str(resources.files("dpcheck")))
    files = [file for folder in _MEASURE for file in (package / folder).rglob("*.py")]
    files += [package / f"{name}.py" for name in _SHARED]
    return digest_of(files)


def claims_of(paper: str) -> dict[str, dict[str, Any]] | None:
    """Return the decided claims of a paper by id, or None where none are shipped that this code would decide alike."""
    found = _read(CLAIMS)
    if found.get("code") != theory_digest() or found.get("versions") != versions():
        return None
    decided: dict[str, dict[str, Any]] | None = found["papers"].get(paper)
    return decided


class Measurements:
    """What the rates measured before, by the key of each chunk; a stage trusts them once its first chunk agrees.

    stages : whether the first chunk agreed, by the title of each stage that repeated one
    """

    def __init__(self) -> None:
        found = _read(MEASUREMENTS)
        self._chunks: dict[str, Any] = found["chunks"] if found.get("code") == measuring_digest() else {}
        self._alike: bool | None = None
        self.stages: dict[str, bool] = {}
        self._stage = ""

    def begin(self, stage: str) -> None:
        """Trust nothing yet in this stage."""
        self._stage, self._alike = stage, None

    def get(self, key: list[Any]) -> Any:
        """Return what a chunk measured; None where it is not known, or where this stage came out otherwise."""
        return None if self._alike is False else self._chunks.get(name_of(key))

    @property
    def unchecked(self) -> bool:
        """Whether this stage has repeated nothing so far."""
        return self._alike is None

    def compare(self, key: list[Any], again: Any) -> bool:
        """Say whether a chunk that was measured again came out alike; if not, the stage is measured anew."""
        self._alike = self.stages[self._stage] = _alike(self._chunks[name_of(key)], json.loads(json.dumps(again)))
        return self._alike

    def said(self, names: list[str]) -> list[str]:
        """Return a sentence on the rates of these algorithms that were shown, and one on those that were not."""
        shown, anew = (sum(alike is each for alike in self.stages.values()) for each in (True, False))
        command = f"dpcheck check {' '.join(names) if len(names) == 1 else ''}".rstrip() + " --profile full"
        said = []
        if shown:
            said.append(
                f"{shown} rate{'s are' if shown > 1 else ' is'} shown as this code measured before; the first "
                f"part of each was measured again and came out alike. `{command}` measures all of it."
            )
        if anew:
            said.append(
                f"{anew} rate{'s were' if anew > 1 else ' was'} measured anew: on this machine the first part "
                "came out otherwise than the package has it."
            )
        return said


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
        packed = resources.files("dpcheck.checks.shipped").joinpath(name).read_bytes()
        found = json.loads(lzma.decompress(packed))
    except (OSError, lzma.LZMAError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
