"""What a case is: a mechanism, two neighbouring data sets, what is claimed, and the truth for that pair."""

from __future__ import annotations

import importlib
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """A mechanism on one pair of neighbours.

    draw : ``(dataset, rng, size) -> outputs`` (size,) or (size, numbers)
    claimed, delta : what is claimed
    truth : epsilon of this pair at this delta, by a closed form or by sums over the laws; NaN where it is not computed
    faulty : whether the claim is broken, on this pair
    source : where the mechanism is from
    """

    name: str
    draw: Callable[..., Any]
    data: Any
    neighbour: Any
    claimed: float
    truth: float
    faulty: bool
    source: str
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Check that the truth and the word for it agree."""
        if not math.isnan(self.truth):
            assert self.faulty == (self.truth > self.claimed * (1 + 1e-9)), self

    def samples(self, runs: int, seed: int) -> tuple[Any, Any]:
        """Return the outputs of ``runs`` runs on data and on neighbour, the same for every entrant."""
        key = [zlib.crc32(self.name.encode()), runs, seed]
        streams = np.random.SeedSequence(key).spawn(2)
        pair = zip((self.data, self.neighbour), streams, strict=True)
        drawn = [np.asarray(self.draw(data, np.random.default_rng(stream), runs), float) for data, stream in pair]
        return drawn[0].reshape(runs, -1), drawn[1].reshape(runs, -1)


@cache
def cases() -> dict[str, Case]:
    """Return all cases by name, those of a file one after the other."""
    found: dict[str, Case] = {}
    for path in sorted(FOLDER.glob("*.py")):
        for case in importlib.import_module(f"league.cases.{path.stem}").cases():
            assert case.name not in found, case.name
            found[case.name] = case
    return found


def epsilon_of(p: Any, q: Any, delta: float = 0.0) -> float:
    """Return the least epsilon that two discrete laws keep at ``delta``, both ways; infinite where none does."""
    p, q = np.asarray(p, float).ravel(), np.asarray(q, float).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.unique(np.nan_to_num(np.abs(np.log(p) - np.log(q)), nan=0.0, posinf=np.inf))
    if delta == 0.0:
        return float(ratios[-1])
    low, high = 0.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        spent = max(np.maximum(a - math.exp(middle) * b, 0).sum() for a, b in ((p, q), (q, p)))
        low, high = (middle, high) if spent > delta else (low, middle)
    return high if high < 59.0 else math.inf
