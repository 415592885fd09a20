"""How much of a training step an audit looks at, so that a realistic model is audited within two CPU minutes.

The work is counted, not timed: the same records, sizes and seed give the same audit on every machine. One unit is what
the gradient of one record of a small model costs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcheck.audits.step_parts import Floats

_CALL = 12  # a call on a minibatch costs as much as the gradients of so many records, measured with Opacus
_WIDE = 2_000  # coordinates of a gradient that cost as much again as a small model
_WORK = 800_000  # units for one part: some 20 CPU seconds of a convolutional network with 26,000 parameters
MOST_RECORDS = 512  # that are looked at one by one
MOST_IN_A_MINIBATCH = 512  # whose noise is drawn again and again
_EXTREMES = 64  # of the largest records, and of the smallest


def cost(size: float, width: int) -> float:
    """Return the units of work of one gradient call on so many records, of so many coordinates."""
    return (_CALL + size) * (1 + width / _WIDE)


def affordable(units: float, *, least: int, most: int) -> int:
    """Return how often something that costs so many units is done in one part of the audit."""
    return max(least, min(most, int(_WORK / units)))


def batch_sizes(scheme: str, batch: int, population: int) -> list[int]:
    """Return sizes of minibatches as training has them, the largest first: of Poisson sampling 4 sd more than usual."""
    if scheme in ("with_replacement", "without_replacement"):
        return [batch]
    spread = math.sqrt(batch * (1 - batch / population))
    sizes = [round(batch + times * spread) for times in (4, 0, 2, 1, -2)]
    return list(dict.fromkeys(min(max(size, 1), population) for size in [*sizes, batch + 1]))


def chosen(records: Any, count: int, seed: int) -> list[int]:
    """Return the numbers of the records to look at one by one, in order.

    All of them where they are at most ``count``; else the largest and the smallest by norm, if records are arrays of
    numbers, and others drawn by chance.
    """
    population = len(records)
    if population <= count:
        return list(range(population))
    extremes: list[int] = []
    if isinstance(records, np.ndarray) and records.dtype.kind in "fiub":
        order = np.argsort(_norms(records), kind="stable")
        some = min(_EXTREMES, count // 4)
        extremes = [*order[:some].tolist(), *order[population - some :].tolist()]
    drawn = np.random.default_rng([seed, 3]).permutation(np.setdiff1d(np.arange(population), extremes))
    return sorted([*extremes, *drawn[: count - len(extremes)].tolist()])


def _norms(records: Any) -> Floats:
    """Return the norm of each record, in parts that need little memory; what is not finite is the largest."""
    parts = [
        np.linalg.norm(
            records[start : start + 1_000].reshape(len(records[start : start + 1_000]), -1).astype(float), axis=1
        )
        for start in range(0, len(records), 1_000)
    ]
    return np.asarray(np.nan_to_num(np.concatenate(parts), nan=np.inf))
