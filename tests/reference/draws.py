"""The kernel that draws all minibatches, by itself: how often each record is in one."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from dpcheck.algorithms.kernels.parts import Draw
from dpcheck.algorithms.kernels.tape import draw
from reference.minibatch_law import Judged

_POPULATION, _BATCH, _DRAWS = 12, 5, 20_000
_SIGMAS = 6.0


@cache
def draws(scheme: str) -> Judged:
    """Judge the kernel that draws all minibatches, on a small population and a fixed stream: each record's share.

    So many are drawn that a record which is left out, or a rate that is off by a tenth, is far beyond chance.
    """
    code = Draw[scheme.upper()]
    rng, deck, out = np.random.default_rng(4), np.arange(_POPULATION), np.empty(_POPULATION, np.int64)
    counts = np.zeros(_POPULATION)
    for _ in range(_DRAWS):
        count = draw(code, _POPULATION, _BATCH, deck, rng, out)
        np.add.at(counts, out[:count], 1)
    due = _DRAWS * _BATCH / _POPULATION
    off = np.abs(counts - due) / math.sqrt(due)  # a record's variance is its mean at most
    worst = int(np.argmax(off))
    told = (
        f"record {worst} of {_POPULATION} is {counts[worst]:.0f} times in {_DRAWS} minibatches of {_BATCH} drawn "
        f"{scheme.replace('_', ' ')}, where {due:.0f} are due"
    )
    return Judged(bool(off[worst] <= _SIGMAS), told)
