r"""Whole phases on whole blocks: K = floor(log2 n) phases with floor(n/K) records each.

In the letters here ``bits`` is log2 n, b = sqrt(d log(.))/(n epsilon), p = 1/sqrt n, and n/nbar is at most
``share`` times ``bits``: share = 1 where a block has n/K records, and for a single phase, which has all n; share =
4/3 where a block has floor(n/K) records and there are two phases or more. Sums are in units of L D.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import Integer, Rational, floor, log, sqrt, symbols

from dpcheck.bounds.calibration import NotPrivate
from dpcheck.bounds.claim import Step
from dpcheck.bounds.evidence import Cited, Identity, Inequality, over
from dpcheck.bounds.symbols import D, K, L, d, delta, epsilon, k, mu, n
from dpcheck.bounds.theorem import Assumption

b, p, bits, phases = symbols("b p bits phases", positive=True)
BITS = log(n) / log(2)
BLOCK = floor(n / K)  # records in a block
PHASES = (
    Assumption("phases", "n >= 2", "at least one phase", n >= 2),
    Assumption("k", "k <= K", "the phases are k = 1, ..., K", k <= K),
)
COUNT = log(n)  # the published number of phases
P = 1 / sqrt(n)

mu_k, nbar = symbols("mu_k nbar", positive=True)
# What letters stand for in formulas of the theorems, typed from the paper
PHASE = {mu_k: mu * 2**k, nbar: floor(n / K)}  # phase k of K whole phases
PRIVATE = d * log(1 / delta) / (n * epsilon) ** 2


def sums(level: Any) -> dict[Any, Any]:
    """Return what the letters of the phases' sums stand for, for the logarithm ``level`` of the noise."""
    return {phases: log(n) / log(2), p: 1 / sqrt(n), b: sqrt(d * level) / (n * epsilon)}


def rates(power: int) -> dict[str, Any]:
    """Return the rates of Theorems 3.4 and 4.5 and Corollary B.6, with so many logarithms."""
    unit = L * D * log(n) ** power
    return {"rate statistical": unit / sqrt(n), "rate privacy": unit * sqrt(PRIVATE)}


def share_of(level: Any) -> Any:
    """Return b, for the logarithm ``level`` of the noise."""
    return sqrt(d * level) / (n * epsilon)


def letters(level: Any) -> tuple[Step, ...]:
    """State what p, b and ``phases`` stand for, in the terms where they occur first."""
    return (
        Identity(
            "a term of the noise with nbar = n/K is L^2 K b/mu",
            lambda: L**2 * sqrt(d * level) / (mu * (n / phases) * epsilon),
            L**2 * phases * share_of(level) / mu,
        ),
        Identity(
            "and one of the records L^2 K p^2/mu", lambda: L**2 / (mu * (n / phases)), lambda: L**2 * phases * P**2 / mu
        ),
        Inequality(
            "log n is log 2 at least from n = 2 on, so that K = log n is 1/2 at least to a base of at most 4",
            log(Integer(2)),
            COUNT,
            over(n >= 2),
        ),
    )


ROUNDED: tuple[Step, ...] = (
    Identity("K = floor(log2 n) is above log2 n - 1, so that 2^K is above", Integer(2) ** (BITS - 1), n / 2),
    Cited("floor(n/K) >= (n - K + 1)/K for whole n and K", "division with remainder"),
    Cited("2^{K-2} >= 1 + (K - 2) for K >= 2", "Bernoulli"),
    Identity("so that n >= 2^K >= 4 K - 4", lambda: 4 * (1 + (K - 2)), 4 * K - 4),
    Inequality(
        "and n/floor(n/K) is at most 4 K/3",
        n * phases / (n - phases + 1),
        4 * phases / 3,
        over(n, phases >= 1, n >= 4 * phases - 4, n >= phases),
    ),
)
CASES = (
    ("n/K records in a block, or one phase", Integer(1), 1),
    ("floor(n/K) records in a block, two phases or more", Rational(4, 3), 2),
)
PRINTED = "nbar = n/K, and floor(n/K) records in a block"
TRUE = "nbar the number of records in a block"


def rounded(says: str, sums: Callable[[Any], Any], printed: Any, constant: tuple[Any, Any]) -> tuple[Step, ...]:
    """Compare the sum of a proof's terms, as a function of n/nbar, with the printed bound, for either kind of block."""
    return (
        *ROUNDED,
        *(
            Inequality(
                f"{says}: {blocks}",
                sums(share * bits),
                printed,
                over(b, p <= 1 / sqrt(Integer(2) ** least), bits >= least),
                constant,
            )
            for blocks, share, least in CASES
        ),
    )


def short(multiplier: Any, epsilon: Any, delta: Any) -> NotPrivate:
    """Give n =  8 records in K = 3 blocks of 2: noise for blocks of 8/3 records is 6/7 of what it should be.

    The minimiser moves by 2 L/(2 mu_k), and the two solver errors, which stop at nbar = 8/3 too, add 2 L/(8/3 mu_k).
    """
    records, count = 8, 3
    nbar, true = Rational(records, count), Integer(records // count)
    return NotPrivate(
        "n = 8, K = 3 blocks of 2 records, a solver that uses its whole tolerance on f = z x, z = 1 and -1: noise and "
        "tolerance computed with nbar = 8/3",
        multiplier * (4 / nbar) / (2 / true + 2 / nbar),
        epsilon,
        delta,
    )
