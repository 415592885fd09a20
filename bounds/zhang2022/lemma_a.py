r"""Lemmas A.1 to A.3: parallel composition, and the stability of regularised empirical solutions.

Setting. x_S minimises the mean of f(., xi_i) over n records plus G, which is mu-strongly convex and need
not be Lipschitz; each f(., xi) is convex and L-Lipschitz. For G = 0 let each f be mu-strongly convex.
S and S' differ in one record, and by [1, Lemmas A.2 and A.3]

    |x_S - x_S'| <= 2 L/(mu n),    E[(F + G)(x_S)] - min(F + G) <= 2 L^2/(mu n).

Proof. Strong convexity at the two minimisers gives mu |x_S - x_S'|^2 <= (2 L/n) |x_S - x_S'|. The risk
exceeds the minimum by at most the mean over i of E[f(x_{S_i}; xi_i) - f(x_S; xi_i)] <= L |x_{S_i} - x_S|,
where S_i has record i replaced by a fresh one.

[1] L. Zhang, K. K. Thekumparampil, S. Oh, N. He. Bring Your Own Algorithm for Optimal Differentially
    Private Stochastic Minimax Optimization. NeurIPS 2022, Appendix A.1.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import symbols

from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Cited, Enumerated, Identity, Step
from dpcheck.bounds.symbols import L, delta, mu, n

distance, excess, likely, other = symbols("distance excess likely other", positive=True)


def quadratic_move(n_: int, mu_: Fraction) -> Fraction:
    """|x_S - x_S'| for f(x; z) = z x + mu x^2/2, z = 1 for all records of S and -1 for one of S'.

    On the ball of radius r the Lipschitz constant is 1 + mu r; the move approaches 2 L/(mu n) as r -> 0
    relative to 1/mu, that is with the quadratic as the regulariser G.
    """
    minimiser = Fraction(-1) / mu_
    return abs(Fraction(-(n_ - 2), n_) / mu_ - minimiser)


STABLE: tuple[Step, ...] = (
    Cited(
        "F_S + G exceeds its minimum by mu |x - x_S|^2/2 at least; the same for S'",
        "strong convexity at a minimiser over a convex set",
    ),
    Cited(
        "summed at x_S' and x_S the sums leave (1/n) of two differences of f(., xi_i) and f(., xi_i'), each at most "
        "L |x_S - x_S'|",
        "Lipschitz continuity; equation (4) is the definition of the mean",
    ),
    Identity(
        "the root of mu distance^2 = (2 L/n) distance",
        (mu * distance**2 - 2 * L / n * distance).subs(distance, 2 * L / (mu * n)),
        0 * L,
    ),
    Enumerated(
        "attained by f = z x with G = mu x^2/2: the move at n = 4, mu = 1/2, L = 1",
        quadratic_move,
        (4, Fraction(1, 2)),
        Fraction(1),
    ),
)
GENERAL: tuple[Step, ...] = (
    Cited(
        "E F(x_S) = E F(x_{S_i}) and E F_S(x) = F(x) for x that does not depend on S, since records are i.i.d.; and "
        "x_S minimises F_S + G",
        "definition",
    ),
    Identity("L times the distance", L * (2 * L / (mu * n)), 2 * L**2 / (mu * n)),
)


def _parallel() -> Decision:
    # The one phase j that sees the record: law p <= e^eps p' + delta on every event, given the past.
    p, q_ = symbols("p q_", positive=True)
    steps = (
        Cited(
            "given the outputs before phase j, which do not see the record, phase j is (epsilon, delta)-DP for each "
            "value of its auxiliary input; later phases are a common map of its output",
            "the blocks are disjoint, so that S and S' agree on every other block",
        ),
        AtMost(
            "averaging over the common past, with weight p on a past and the event's chance q' there",
            p * (other * q_ + delta),
            p * other * q_ + p * delta,
        ),
        Cited("weights of pasts sum to one, so that the mean of delta is delta; post-processing", "basic DP"),
    )
    return Decision(
        "proved",
        "law of total probability",
        Evidence(steps, readings=(("the whole transcript is released", "proved"), ("only A_K is", "proved"))),
        "Conditioning on the outputs before the one phase that sees the record leaves its own guarantee, averaged "
        "over a law that the record does not change. The printed product formula is this for densities. It needs "
        "each phase private for every value of the earlier output, and neighbours that replace one record.",
    )


def _sensitivity() -> Decision:
    return Decision(
        "proved",
        "exact algebra from cited facts",
        Evidence(STABLE),
        "Strong convexity at both minimisers; the constant 2 is attained in the limit in which the strong convexity "
        "comes from a common regulariser.",
    )


def _risk() -> Decision:
    return Decision(
        "proved",
        "exact algebra from cited facts",
        Evidence((*STABLE, *GENERAL)),
        "Stability bounds the gap between the empirical and the population risk of the minimiser.",
    )


def _regularised() -> Decision:
    return Decision(
        "proved",
        "exact algebra from cited facts",
        Evidence((*STABLE, *GENERAL)),
        "G cancels from every difference, so that only the Lipschitz constant of f enters.",
    )


CLAIMS = (
    Claim(
        "Z01",
        "zhang2022",
        "privacy composition",
        "If A_k(., a) is (epsilon, delta)-DP in its block S_k for every earlier output a, and the blocks are "
        "disjoint, "
        "then the outputs of all phases together are (epsilon, delta)-DP in S (replace one record).",
        "Lemma A.1",
        _parallel,
    ),
    Claim(
        "Z02",
        "zhang2022",
        "sensitivity",
        "For mu-strongly convex, L-Lipschitz f the empirical minimisers of neighbouring datasets are at most "
        "2 L/(mu n) apart.",
        "Lemma A.2",
        _sensitivity,
    ),
    Claim(
        "Z03",
        "zhang2022",
        "utility",
        "The expected excess population risk of the empirical minimiser is at most 2 L^2/(mu n).",
        "Lemma A.2",
        _risk,
    ),
    Claim(
        "Z04",
        "zhang2022",
        "sensitivity and utility",
        "Both bounds hold for convex L-Lipschitz f with a mu-strongly convex regulariser G that need not be Lipschitz.",
        "Lemma A.3 and equation (5)",
        _regularised,
    ),
)
