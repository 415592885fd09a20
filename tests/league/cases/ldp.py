"""Frequency protocols of local privacy, written from their papers, at epsilon 1 for two values.

Each is audited twice: as the protocol asks for, and run with a budget of 1.5 where 1 is claimed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from league.case import Case, epsilon_of

VALUES, CLAIMED, SPENT = 2, 1.0, 1.5
WANG = "Wang, Blocki, Li and Jha, Locally differentially private protocols for frequency estimation (USENIX 2017)"
KAIROUZ = "Kairouz, Bonawitz and Ramage, Discrete distribution estimation under local privacy (ICML 2016)"
RAPPOR = "Erlingsson, Pihur and Korolova, RAPPOR (CCS 2014)"
YE = "Ye and Barg, Optimal schemes for discrete distribution estimation under locally differential privacy (2018)"
BASSILY = "Bassily and Smith, Local, private, efficient protocols for succinct histograms (STOC 2015)"
Law = dict[tuple[int, ...], float]


def randomised_response(value: int, epsilon: float) -> Law:
    """GRR: the value, or one of the others."""
    kept = math.exp(epsilon) / (math.exp(epsilon) + VALUES - 1)
    return {(v,): kept if v == value else (1 - kept) / (VALUES - 1) for v in range(VALUES)}


def subset_selection(value: int, epsilon: float) -> Law:
    """SS: a set of about n / (e^epsilon + 1) values that holds one's own more often than others do; GRR for n = 2."""
    size = max(1, round(VALUES / (math.exp(epsilon) + 1)))
    held = size * math.exp(epsilon) / (size * math.exp(epsilon) + VALUES - size)
    ways = math.comb(VALUES - 1, size - 1), math.comb(VALUES - 1, size)
    return {
        tuple(int(v in subset) for v in range(VALUES)): held / ways[0] if value in subset else (1 - held) / ways[1]
        for subset in itertools.combinations(range(VALUES), size)
    }


def _bits(value: int, one: float, zero: float) -> Law:
    """A bit a value, 1 with chance ``one`` at the value's own and with chance ``zero`` elsewhere."""
    chances = [one if v == value else zero for v in range(VALUES)]
    rows = itertools.product((0, 1), repeat=VALUES)
    return {row: math.prod(c if b else 1 - c for b, c in zip(row, chances, strict=True)) for row in rows}


def symmetric_unary(value: int, epsilon: float) -> Law:
    """SUE: each bit flipped at epsilon / 2."""
    kept = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)
    return _bits(value, kept, 1 - kept)


def optimal_unary(value: int, epsilon: float) -> Law:
    """OUE: the set bit by a coin, the others as rarely as epsilon allows."""
    return _bits(value, 0.5, 1 / (math.exp(epsilon) + 1))


def thresholded_histogram(value: int, epsilon: float) -> Law:
    """THE: Laplace noise of scale 2 / epsilon on a one-hot row, of which is told which entries pass a threshold."""
    grid = np.linspace(0.5, 1.0, 2_001)
    one, zero = 1 - np.exp(epsilon / 2 * (grid - 1)) / 2, np.exp(-epsilon / 2 * grid) / 2
    best = np.argmin(zero * (1 - zero) / (one - zero) ** 2)  # of the estimate's variance
    return _bits(value, float(one[best]), float(zero[best]))


def _hashed(value: int, epsilon: float, buckets: int) -> Law:
    """A random hash of the values and the hash of one's own, by randomised response among the buckets."""
    kept = math.exp(epsilon) / (math.exp(epsilon) + buckets - 1)
    tables = list(itertools.product(range(buckets), repeat=VALUES))
    return {
        (*table, told): (kept if told == table[value] else (1 - kept) / (buckets - 1)) / len(tables)
        for table in tables for told in range(buckets)
    }  # fmt: skip


def binary_hashing(value: int, epsilon: float) -> Law:
    """BLH: two buckets."""
    return _hashed(value, epsilon, 2)


def optimal_hashing(value: int, epsilon: float) -> Law:
    """OLH: e^epsilon + 1 buckets, rounded."""
    return _hashed(value, epsilon, round(math.exp(epsilon)) + 1)


def summed_histogram(value: int, rng: np.random.Generator, size: int, epsilon: float) -> Any:
    """SHE: the noisy one-hot row itself."""
    return (np.arange(VALUES) == value) + rng.laplace(scale=2 / epsilon, size=(size, VALUES))


DISCRETE = {
    "GRR": (randomised_response, KAIROUZ), "SS": (subset_selection, YE), "SUE": (symmetric_unary, RAPPOR),
    "OUE": (optimal_unary, WANG), "THE": (thresholded_histogram, WANG), "BLH": (binary_hashing, BASSILY),
    "OLH": (optimal_hashing, WANG),
}  # fmt: skip


def of_law(law: Callable[..., Law], *arguments: Any) -> Callable[..., Any]:
    """Return what draws outputs of a discrete law."""

    def draw(value: int, rng: np.random.Generator, size: int) -> Any:
        chances = law(value, *arguments)
        rows = np.array(list(chances), float)
        return rows[rng.choice(len(rows), size=size, p=list(chances.values()))]

    return draw


def cases() -> Iterator[Case]:
    """Return each protocol with its own budget and with a larger one."""
    for budget in (CLAIMED, SPENT):
        tail = "" if budget == CLAIMED else f" at {budget:g}"
        for name, (law, source) in DISCRETE.items():
            p, q = (law(value, budget) for value in (0, 1))
            truth = epsilon_of([p[row] for row in p], [q[row] for row in p])
            faulty = truth > CLAIMED * (1 + 1e-9)
            yield Case(f"ldp {name}{tail}", of_law(law, budget), 0, 1, CLAIMED, truth, faulty, source)

        def noisy(value: int, rng: np.random.Generator, size: int, budget: float = budget) -> Any:
            return summed_histogram(value, rng, size, budget)

        # two entries move by 1 each at scale 2 / budget, in opposite directions
        yield Case(f"ldp SHE{tail}", noisy, 0, 1, CLAIMED, budget, budget > CLAIMED, WANG)
