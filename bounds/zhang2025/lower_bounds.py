r"""Theorems 3 and 4: lower bounds on the gradient norm of the primal function.

By [1, Theorem 3] some loss forces |grad Phi(x_priv)| = Omega(min{1, sqrt(d log(1/delta))/(n epsilon)}) on every
(epsilon, delta)-DP algorithm, d = max{d_1, d_2}; by [1, Theorem 4] worst-group risk forces
Omega(min{1, d sqrt(d log(1/delta))/(n epsilon)}). Their proofs give d_1 in the first and d_2 sqrt(d_1) in the second,
from the lower bound of [2] for losses without y.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Theorems 3 and 4.
[2] R. Bassily, C. Guzman, M. Menart. Differentially Private Algorithms for the Stochastic Saddle Point Problem
    and related lower bounds, 2023, as [1, Lemma 7] cites it.

Arguments. n, d, epsilon, delta.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("zhang2025.theorem_4").rate_exponents()
{'privacy': {'d': 1.5, 'epsilon': -1.0, 'n': -1.0}}
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Ge, Integer, Le, Rational, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Cited, Identity
from dpcheck.bounds.symbols import d, d_1, d_2, delta, epsilon, n
from dpcheck.bounds.theorem import Assumption, Theorem
from dpcheck.bounds.zhang2025.theorem_2 import BELOW_ONE, PRIVACY

ell, a, x, y, w = symbols("ell a x y w", positive=True)
RANGE = Assumption("delta", "delta <= 1/n", "2^(-Omega(n)) <= delta <= 1/n^(1 + Omega(1))", Le(delta, 1 / n))


@dataclass(frozen=True, kw_only=True)
class LowerBound(Theorem):
    """A theorem whose rate bounds its quantity from below."""

    def to_latex(self) -> str:
        """As :meth:`Theorem.to_latex`, with Omega for O."""
        return super().to_latex().replace(r" = O\left(", r" = \Omega\left(")


THEOREMS = tuple(
    LowerBound(
        id=f"zhang2025.theorem_{number}",
        title=title,
        paper="zhang2025",
        location=f"Theorem {number}",
        quantity="least gradient norm of the primal function that privacy allows, in order (a lower bound)",
        quantity_latex=r"\|\nabla\Phi(x^{priv})\|",
        parameters=PRIVACY,
        assumptions=(RANGE, BELOW_ONE),
        regimes=(("privacy", rate),),
    )
    for number, title, rate in (
        (3, "Lower bound, finite-sum form, d the dimension of x", sqrt(d * log(1 / delta)) / (n * epsilon)),
        (4, "Lower bound, worst-group risk, both dimensions of order d", d * sqrt(d * log(1 / delta)) / (n * epsilon)),
    )
)


def _finite_sum() -> Decision:
    share = symbols("share", positive=True)
    steps = (
        Cited(
            "for L(x, y; z) = loss(x; z) - |y|^2/2 over the unit ball, Phi is the mean loss, and the lower "
            "bound for losses without y applies: d_1",
            "[2], as Lemma 7",
        ),
        Identity(
            "y adds nothing to the gradient: max over y of -y^2/2 is at y = 0", -(Integer(0) ** 2) / 2, Integer(0)
        ),
        Exceeds(
            "with d_2 alone growing, sqrt(d_2) is not of the order sqrt(d_1) that the proof gives",
            sqrt(d_2) * share,
            sqrt(d_1) * share,
            Region(Ge(d_1, 1), Ge(d_2, 1)),
            {d_2: s, d_1: 1},
        ),
        Cited(
            "for d_1 = 1 the exponential mechanism on a grid of x, with score -|grad Phi(x)| of "
            "sensitivity O(1/n), finds a point of gradient O(log(n)/(n epsilon)) more than the least, free of d_2",
            "McSherry and Talwar 2007; stability of y*",
        ),
    )
    evidence = Evidence(
        steps,
        readings=(("d = d_1", "conditional"), ("d = max{d_1, d_2} with d_2 much larger", "refuted")),
        condition="d is the dimension d_1 of x (or d_1 >= d_2), and the cited lower bound for losses without y",
    )
    return Decision(
        "conditional",
        "cited, with a checked reduction",
        evidence,
        "The reduction carries the cited bound over with d_1; nothing in it makes d_2 count.",
    )


def _groups() -> Decision:
    steps = (
        Identity(
            "a group of n/d_2 records in the cited bound",
            sqrt(d_1 * ell) / ((n / d_2) * epsilon),
            d_2 * sqrt(d_1 * ell) / (n * epsilon),
        ),
        Identity("which is d^{3/2} for d_1 = d_2 = d", (d_2 * sqrt(d_1)).subs({d_1: d, d_2: d}), d ** Rational(3, 2)),
        Exceeds(
            "and smaller for d_1 = 1 and d_2 = d",
            d_2 * sqrt(d_2),
            d_2 * sqrt(d_1),
            Region(Ge(d_1, 1), Ge(d_2, 1)),
            {d_2: s, d_1: 1},
        ),
        Cited(
            "the group that counts must hold records that no other group repeats: an algorithm may learn "
            "them from the copies",
            "the construction in the proof",
        ),
        Dominated(
            "no conflict with Theorem 2, which is about mean losses: its rate a^{1/2} is above a",
            a,
            sqrt(a),
            Region(Le(a, 1)),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(("d_1 and d_2 both of order d", "conditional"), ("any d_1, d_2 with maximum d", "refuted")),
        condition="d_1 and d_2 are both of order d, the groups hold different records, and the cited lower bound",
    )
    return Decision(
        "conditional",
        "cited, with a checked reduction",
        evidence,
        "The proof gives d_2 sqrt(d_1 log(1/delta))/(n epsilon).",
    )


CLAIMS = (
    Claim(
        "003:Thm3",
        "zhang2025",
        "lower bound",
        "Omega(min{1, sqrt(d log(1/delta))/(n epsilon)}) with d = max{d_1, d_2}.",
        "Theorem 3",
        _finite_sum,
    ),
    Claim(
        "003:Thm4",
        "zhang2025",
        "lower bound",
        "Omega(min{1, d sqrt(d log(1/delta))/(n epsilon)}) with d = max{d_1, d_2}, for worst-group risk.",
        "Theorem 4",
        _groups,
    ),
)
