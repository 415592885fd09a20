"""Several records of one person, added, removed or replaced together: sharp where a pair is known, else by a chain.

Noise on the whole data set is felt once for each record; Poisson sampling draws each by its own coin, and the number of
those that were drawn is binomial (``dpcheck.accounting.hits``). Any other release is bounded by a chain of
data sets, each with one record more than the last. With g(a) the most true positives at false positives a of one
record, the group's are at most g(g(... g(a))) (Dong, Roth and Su 2022; claim G01). Each epsilon gives two
lines above g: e^epsilon a + delta and 1 - e^-epsilon (1 - delta - a). A chain of one line from each step is a line M a
+ B above the group's, and so a proof of (log M, B). The chain that is taken touches g from some first a on; B grows
with a and M falls, so that the a at which B reaches delta is found by halving.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from dpcheck.accounting.certificates import Certificate, certificate, deltas
from dpcheck.accounting.event_counts import EventCounts
from dpcheck.accounting.privacy_curves import Array
from dpcheck.errors import require
from dpcheck.events import MOST_RECORDS, Laplace, Sampled

_POINTS, _LEAST, _FURTHEST = 2_000, 1e-30, 700.0  # of the grid: epsilons, and the delta, or epsilon, where it ends
_HALVINGS = 60
_MOST = 1_000  # records in a chain


def group_certificate(events: EventCounts, delta: float, records: int) -> Certificate:
    """Certify epsilon at ``delta`` for this many records together."""
    sharp = _together(events, records)
    if sharp is not None:
        return dataclasses.replace(certificate(sharp, delta), records=records)
    alone = certificate(events, delta)
    if delta == 0 or not math.isfinite(alone.epsilon):
        return dataclasses.replace(alone, epsilon=alone.epsilon * records, records=records)
    require(records <= _MOST, "group", f"be at most {_MOST} for these events", records)
    epsilon = _chained(events, delta, records)
    method = f"{alone.method}; {records} times, as one record after another: an upper bound, not known to be attained"
    return dataclasses.replace(alone, epsilon=epsilon, method=method, records=records)


def _together(events: EventCounts, records: int) -> EventCounts | None:
    """Return the events as the group sees them, where that is known exactly."""
    others = []
    for event, count in events.others:
        match event:
            case Laplace():
                seen: Laplace | Sampled = Laplace(event.noise_multiplier / records)
            case Sampled(scheme="poisson", neighbours="add_or_remove_one", laplace=False) if (
                records * event.records <= MOST_RECORDS
            ):
                seen = dataclasses.replace(event, records=records * event.records)
            case _:
                return None
        others.append((seen, count))
    return dataclasses.replace(events, shift=events.shift * records, others=tuple(others))


def _chained(events: EventCounts, delta: float, records: int) -> float:
    most = 1.0
    while most < _FURTHEST and deltas(events, np.array([most]))[0] > _LEAST:
        most = min(2 * most, _FURTHEST)
    epsilons = np.linspace(0, most, _POINTS)
    spent = deltas(events, epsilons)
    logs = np.concatenate([epsilons, -epsilons])
    intercepts = np.concatenate([spent, 1 - np.exp(-epsilons) * (1 - spent)])
    low, high = -_FURTHEST, 0.0  # logarithms of the first false positives
    best = _line(logs, intercepts, low, records)
    if best[1] > delta:
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        line = _line(logs, intercepts, middle, records)
        if line[1] <= delta:
            low, best = middle, line
        else:
            high = middle
    return max(best[0], 0.0) * (1 + 1e-12)


def _line(logs: Array, intercepts: Array, first: float, records: int) -> tuple[float, float]:
    """Return log M and B of the chain that begins at these false positives."""
    slopes, at, total, rest = np.exp(logs), math.exp(first), 0.0, 0.0
    for _ in range(records):
        heights = slopes * at + intercepts
        lowest = int(np.argmin(heights))
        at = min(float(heights[lowest]), 1.0)
        total += float(logs[lowest])
        rest = float(slopes[lowest]) * rest + float(intercepts[lowest])
    return total, rest * (1 + 1e-12)
