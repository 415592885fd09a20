r"""What Theorem 3.3 asks of its solver (claims Z10 and Z11). Setting and reference as in ``theorem_3_3``."""

from __future__ import annotations

from sympy import Ge, Le, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Evidence, claim
from dpcheck.bounds.evidence import Cited, Identity, Step
from dpcheck.bounds.kind import Kind
from dpcheck.bounds.method import Method
from dpcheck.bounds.statement import stated
from dpcheck.bounds.symbols import L, delta, mu, n
from dpcheck.bounds.zhang2022 import accuracy

gamma, ell_1 = symbols("gamma ell_1", positive=True)  # ell_1 = log(n/delta)
GAMMA = delta**2 * L**2 / (32 * mu * n**2)
SOLVER = delta**2 * L**2 / (16 * mu**2 * n**2)  # E|A - x_S|^2
MARKOV = n * sqrt(2 * gamma * mu) / L


@claim(
    "Z10",
    Kind.PROBABILITY,
    stated(
        "The probability that |A - x_S| is at least L/(mu n) is at most {markov} for a mean gap of gamma. For "
        "gamma = {gap} that is {share}, and E|A - x_S|^2 is at most {square}.",
        markov=MARKOV,
        gap=GAMMA,
        share=delta / 4,
        square=SOLVER,
    ),
    "proof of Theorem 3.3, gradient complexity",
)
def failure() -> Decision:
    steps = (
        Cited("E|A - x_S| <= sqrt(2 gamma/mu) for A in X", "strong convexity at the minimiser; Jensen"),
        Identity("Markov's bound", lambda: sqrt(2 * gamma / mu) / (L / (mu * n)), MARKOV),
        Identity("at the published gamma it is delta/4", lambda: n * sqrt(2 * GAMMA * mu) / L, delta / 4),
        Identity("and E|A - x_S|^2 <= 2 gamma/mu", lambda: 2 * GAMMA / mu, SOLVER),
    )
    return Decision("proved", (Method.ALGEBRA, Method.CITED), Evidence(steps), "All three follow from gamma.")


@claim(
    "Z11",
    Kind.COMPLEXITY,
    stated("The solver takes of the order of T(n, kappa) times {logarithm} gradients.", logarithm=accuracy.LOG),
    "Theorem 3.3",
)
def complexity() -> Decision:
    problem = symbols("problem", positive=True)  # log of 32 mu/L^2, when that is above one
    region = Region(Ge(ell_1, 1), Ge(problem, 1))
    steps: tuple[Step, ...] = (
        Identity(
            "log(1/gamma) = 2 log(n/delta) + log(32 mu/L^2)",
            lambda: log(1 / GAMMA),
            2 * log(n / delta) + log(32 * mu / L**2),
        ),
        Exceeds("with mu/L^2 growing and n/delta fixed", ell_1 + problem, ell_1, region, {problem: s}),
        Dominated(
            "with mu/L^2 at most a power of n/delta", ell_1 + problem, ell_1, Region(Ge(ell_1, 1), Le(problem, ell_1))
        ),
        *accuracy.STRONGLY_CONVEX,
    )
    evidence = Evidence(
        steps,
        readings=(
            (accuracy.RELATIVE, "proved"),
            ("O(T log(1/gamma)) as printed, mu and L constants of the O", "proved"),
            ("O(T log(1/gamma)) as printed and no better, uniformly in mu and L", "refuted"),
        ),
        condition=f"{accuracy.RELATIVE}, or log(mu/L^2) is at most a constant times log(n/delta)",
    )
    return Decision(
        "conditional",
        (Method.EXPONENTS, Method.PROVER),
        evidence,
        "log(1/gamma) has the scale of F in it: log(32 mu/L^2) beside 2 log(n/delta). The published rates have the "
        "first gap over gamma, which is at most 64 n^2/delta^2.",
    )
