r"""What Theorem 3.3 asks of its solver (claims Z10 and Z11). Setting and reference as in ``theorem_3_3``."""

from __future__ import annotations

from sympy import log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved
from dpcheck.bounds.evidence import Cited, Identity
from dpcheck.bounds.symbols import L, delta, mu, n
from dpcheck.bounds.zhang2022 import accuracy

gamma, ell_1 = symbols("gamma ell_1", positive=True)  # ell_1 = log(n/delta)
GAMMA = delta**2 * L**2 / (32 * mu * n**2)
SOLVER = delta**2 * L**2 / (16 * mu**2 * n**2)  # E|A - x_S|^2
MARKOV = n * sqrt(2 * gamma * mu) / L


@claim(
    "Z10",
    Kind.PROBABILITY,
    location="proof of Theorem 3.3, gradient complexity",
    markov=MARKOV,
    gap=GAMMA,
    share=delta / 4,
    square=SOLVER,
)
def failure() -> Decision:
    """The probability that |A - x_S| is at least L/(mu n) is at most {markov} for a mean gap of gamma. For gamma =
    {gap} that is {share}, and E|A - x_S|^2 is at most {square}.
    """
    return proved(
        Cited("E|A - x_S| <= sqrt(2 gamma/mu) for A in X", "strong convexity at the minimiser; Jensen"),
        Identity("Markov's bound", lambda: sqrt(2 * gamma / mu) / (L / (mu * n)), MARKOV),
        Identity("at the published gamma it is delta/4", lambda: n * sqrt(2 * GAMMA * mu) / L, delta / 4),
        Identity("and E|A - x_S|^2 <= 2 gamma/mu", lambda: 2 * GAMMA / mu, SOLVER),
        note="All three follow from gamma.",
    )


@claim("Z11", Kind.COMPLEXITY, location="Theorem 3.3", logarithm=accuracy.LOG)
def complexity() -> Decision:
    """The solver takes of the order of T(n, kappa) times {logarithm} gradients."""
    problem = symbols("problem", positive=True)  # log of 32 mu/L^2, when that is above one
    region = Region(ell_1 >= 1, problem >= 1)
    return conditional(
        Identity(
            "log(1/gamma) = 2 log(n/delta) + log(32 mu/L^2)",
            lambda: log(1 / GAMMA),
            2 * log(n / delta) + log(32 * mu / L**2),
        ),
        Exceeds("with mu/L^2 growing and n/delta fixed", ell_1 + problem, ell_1, region, {problem: s}),
        Dominated(
            "with mu/L^2 at most a power of n/delta", ell_1 + problem, ell_1, Region(ell_1 >= 1, problem <= ell_1)
        ),
        *accuracy.STRONGLY_CONVEX,
        readings={
            accuracy.RELATIVE: "proved",
            "O(T log(1/gamma)) as printed, mu and L constants of the O": "proved",
            "O(T log(1/gamma)) as printed and no better, uniformly in mu and L": "refuted",
        },
        condition=f"{accuracy.RELATIVE}, or log(mu/L^2) is at most a constant times log(n/delta)",
        note="log(1/gamma) has the scale of F in it: log(32 mu/L^2) beside 2 log(n/delta). The published rates have "
        "the first gap over gamma, which is at most 64 n^2/delta^2.",
        method=(Method.EXPONENTS, Method.PROVER),
    )
