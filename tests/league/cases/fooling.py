"""Mechanisms that hide their leak from auditors, each beside a twin that keeps its claim.

The idea, a curator who builds the mechanism for its auditor, is that of Wang et al., Curator attack (CCS 2024); these
mechanisms were written here and are not theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from league.case import Case, epsilon_of

CLAIMED, SOURCE = 1.0, "written here, after the idea of Curator attack (CCS 2024)"


def told(bit: int, rng: Any, size: int, epsilon: float) -> Any:
    """Randomised response."""
    return np.where(rng.random(size) < 1 / (1 + math.exp(-epsilon)), bit, 1 - bit)


def parity(bit: int, rng: Any, size: int, epsilon: float) -> Any:
    """A number up to 999, whose parity is the report."""
    return 2 * rng.integers(0, 500, size) + told(bit, rng, size, epsilon)


def digit(bit: int, rng: Any, size: int, epsilon: float) -> Any:
    """Noise that keeps epsilon 1/2, and a report in the parity of its third digit after the point."""
    noisy = np.floor((bit + rng.laplace(scale=2, size=size)) * 500)
    return (2 * noisy + told(bit, rng, size, epsilon - 0.5)) / 1_000


def window(bit: int, rng: Any, size: int, epsilon: float) -> Any:
    """A number in [0, 1] that on 1 falls e^epsilon times as often into [0.70, 0.71]."""
    drawn = rng.random(size)
    share = 0.01 * math.exp(epsilon) if bit else 0.01
    inside = rng.random(size) < share
    outside = np.where(drawn < 0.70 / 0.99, drawn * 0.99, drawn * 0.99 + 0.01)
    return np.where(inside, 0.70 + 0.01 * drawn, outside)


def comb(bit: int, rng: Any, size: int, epsilon: float) -> Any:
    """A number in [0, 1] that falls between or upon a hundred teeth."""
    tooth = told(bit, rng, size, epsilon)
    return (rng.integers(0, 100, size) + (tooth + rng.random(size)) / 2) / 100


def rare(bit: int, rng: Any, size: int, epsilon: float) -> Any:
    """A report, and once in a thousand runs one that is e^(epsilon - 1) times as telling."""
    seldom = rng.random(size) < 1e-3
    return np.where(seldom, 2 + told(bit, rng, size, epsilon), told(bit, rng, size, CLAIMED))


def spread(bit: int, rng: Any, size: int, epsilon: float) -> Any:
    """Two numbers whose sign and sum say nothing: their product has the report's sign."""
    signs = np.where(rng.random((size, 2)) < 0.5, 1, -1)
    signs[:, 1] = signs[:, 0] * np.where(told(bit, rng, size, epsilon) == 1, 1, -1)
    return signs * rng.exponential(size=(size, 2))


def order(bit: int, rng: Any, size: int, epsilon: float) -> Any:
    """Eight numbers, of which the place of the largest has the report's parity."""
    drawn = rng.random((size, 8))
    place = 2 * rng.integers(0, 4, size) + told(bit, rng, size, epsilon)
    top, rows = drawn.argmax(1), np.arange(size)
    drawn[rows, place], drawn[rows, top] = drawn[rows, top], drawn[rows, place]
    return drawn


ALL: dict[str, tuple[Callable[..., Any], float]] = {
    "parity": (parity, 1.5), "digit": (digit, 2.0), "window": (window, 2.0), "comb": (comb, 1.5), "rare": (rare, 4.0),
    "spread": (spread, 1.5), "order": (order, 1.5),
}  # fmt: skip


def cases() -> Iterator[Case]:
    """Return each hidden leak, and its twin at the claim."""
    for name, (draw, leak) in ALL.items():
        for epsilon in (leak, CLAIMED):

            def bound(bit: int, rng: Any, size: int, draw: Any = draw, epsilon: float = epsilon) -> Any:
                return draw(bit, rng, size, epsilon)

            truth = epsilon
            if name == "window":  # outside, the other data set has a little more
                inside = 0.01 * math.exp(epsilon)
                truth = epsilon_of([inside, 1 - inside], [0.01, 0.99])
            tail = "" if epsilon == leak else ", kept"
            yield Case(f"fooling {name}{tail}", bound, 1, 0, CLAIMED, truth, epsilon > CLAIMED, SOURCE)
