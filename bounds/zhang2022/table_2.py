r"""Table 2 and its derivation: gradients taken when a given solver is plugged in.

A phase of Algorithm 4 is an nbar = n/K record problem that is mu_k-strongly convex in x, mu_k = mu 2^k,
mu-strongly concave in y, with 1/mu <= sqrt n D/(2 L). Summed over the phases, each solver's own rate
gives, up to logarithms of n/delta [1, Table 2], with r = ell D/L and condition numbers for SC-SC problems:

    solver                 strongly convex-strongly concave            convex-concave
    Extragradient          n kappa                                     n^{3/2} r + n^2
    SVRG, SAGA             n + kappa^2                                 n + n r^2
    accelerated SVRG       n + sqrt n kappa                            n + n r
    Jin et al.             n + sqrt n kappa                            n + n r
    AL-SVRE, Catalyst      n + sqrt(n kappa_x kappa_y) + n^{3/4} sqrt kappa    n r + n^{5/4}

The solvers' rates are theirs and are taken as given.

[1] L. Zhang, K. K. Thekumparampil, S. Oh, N. He. Bring Your Own Algorithm for Optimal Differentially
    Private Stochastic Minimax Optimization. NeurIPS 2022, Appendix B.3, B.4 and Table 2.

Arguments. n records, r = ell D/L.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("zhang2022.table_2_extragradient").rate_exponents()
{'smoothness': {'n': 1.5, 'r': 1.0}, 'regulariser': {'n': 2.0}}
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Eq, Ge, Le, Rational, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.symbols import n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

r, phases, kappa, kappa_x, kappa_y = symbols("r phases kappa kappa_x kappa_y", positive=True)
GIVEN = "the solver's own rate is as published"
PHASES = Region(Ge(phases, 1), Le(phases, n))
Q = Rational(1, 4)

RATES: dict[str, tuple[tuple[str, Any], ...]] = {
    "extragradient": (("smoothness", n ** Rational(3, 2) * r), ("regulariser", n**2)),
    "svrg": (("records", n), ("smoothness", n * r**2)),
    "accelerated_svrg": (("records", n), ("smoothness", n * r)),
    "jin": (("records", n), ("smoothness", n * r)),
    "catalyst": (("smoothness", n * r), ("regulariser", n ** Rational(5, 4))),
}

THEOREMS = tuple(
    Theorem(
        id=f"zhang2022.table_2_{name}",
        title=f"Gradients of Algorithms 4 and 5 with {name.replace('_', ' ')}, up to logarithms",
        paper="zhang2022",
        location="Table 2, convex-concave column",
        quantity="number of gradients, up to logarithms of n/delta",
        quantity_latex=r"\text{gradients}",
        parameters=(Parameter(n, "records in the dataset"), Parameter(r, "ell D/L")),
        assumptions=(
            Assumption("solver", GIVEN, "Table 2"),
            Assumption("n", "n >= 2", "at least one phase", n >= 2),
        ),
        regimes=regimes,
    )
    for name, regimes in RATES.items()
)


def doubled(K_: int) -> Fraction:
    """sum over k <= K of 2^k, divided by 2^K."""
    return Fraction(sum(2**k for k in range(1, K_ + 1)), 2**K_)


GEOMETRIC = Cited(
    "sum_k 2^k <= 2 n, sum_k 2^{k/2} <= (2 + sqrt 2) sqrt n and sum_k 2^{-k/2} <= 1 + sqrt 2 for 2^K <= n",
    "geometric series",
)


def _summed(name: str, sums: Any, rate: Any, note: str) -> Decision:
    """The phases' sum against the rate, up to powers of K = O(log n)."""
    steps = (
        Cited(GIVEN, "references of Table 2"),
        GEOMETRIC,
        Enumerated("for ten phases", doubled, (10,), Fraction(1023, 512)),
        Dominated(f"{name}, with powers of K = O(log n)", sums, rate, PHASES, up_to=(phases,)),
    )
    return Decision("proved", "linear program with exact multipliers", Evidence(steps), note)


def _catalyst() -> Decision:
    mean = n / phases
    sums = (
        n
        + phases * mean ** (3 * Q) * n**Q * sqrt(r)
        + sqrt(mean) * sqrt(n) * r
        + (sqrt(mean) + mean ** (3 * Q)) * sqrt(n)
    )
    rate = n + n * sqrt(r) + n * r + n ** (5 * Q)
    few = Region(Ge(phases, 1), Le(phases**2, n))  # K = O(log n)
    steps = (
        Cited(GIVEN, "references of Table 2"),
        GEOMETRIC,
        Dominated("the sum over the phases, without further logarithms", sums, rate, few),
        Dominated("n and n sqrt r need no place of their own in Table 2", n + n * sqrt(r), n * r + n ** (5 * Q), few),
    )
    note = "n^{3/4} sqrt(ell/mu) summed over K blocks has a factor K^{1/4}, which the other terms cover."
    return Decision("proved", "linear program with exact multipliers", Evidence(steps), note)


def _extragradient() -> Decision:
    mean = n / phases
    return _summed(
        "n ell/mu and n 2^k",
        phases * mean * sqrt(n) * r + mean * n,
        n ** Rational(3, 2) * r + n**2,
        "nbar (ell + mu_k)/mu is nbar sqrt n r + nbar 2^k.",
    )


def _accelerated() -> Decision:
    mean = n / phases
    sums = phases * (mean + sqrt(mean) * sqrt(n) * r) + phases * (mean + n * r**2)
    rate = n + n * r + n * r**2
    steps = (
        Dominated("accelerated and plain SVRG, with powers of K", sums, rate, PHASES, up_to=(phases,)),
        Exceeds(
            "each of K phases pays ell/mu or (ell/mu)^2: factors K^{1/2} and K",
            sums,
            rate,
            Region(*PHASES.relations, Ge(r, 1)),
            {n: s**8, phases: s, r: s},
        ),
    )
    evidence = Evidence(steps, condition="the O hides powers of log n beside log(n/delta), as in Table 2; " + GIVEN)
    return Decision(
        "conditional",
        "linear program with exact multipliers",
        evidence,
        "True up to factors sqrt(log n) and log n that the displayed O's drop.",
    )


def _text() -> Decision:
    steps = (
        Exceeds(
            "sqrt n kappa, as in Table 2, is not of the order n + sqrt(n kappa)",
            sqrt(n) * kappa,
            n + sqrt(n * kappa),
            Region(Ge(kappa, 1)),
            {n: s**2, kappa: s**4},
        ),
        Counterexample(
            "n = 100, kappa = 400: 4000 against 300",
            Eq(n + sqrt(n) * kappa, n + sqrt(n * kappa)),
            ((n, 100), (kappa, 400)),
        ),
        Cited(
            "for saddle problems with n records the dependence on kappa_x, kappa_y is at least sqrt(n "
            "kappa_x kappa_y), which is "
            "sqrt n kappa for equal ones",
            "lower bounds that the same paragraph quotes for AL-SVRE and Catalyst",
        ),
        Identity("sqrt(n kappa_x kappa_y) at kappa_x = kappa_y = kappa", sqrt(n * kappa * kappa), sqrt(n) * kappa),
    )
    evidence = Evidence(
        steps,
        readings=(("n + sqrt(n kappa), as printed", "refuted"), ("n + sqrt n kappa, as in Table 2", "conditional")),
        condition="the root covers n alone: n + sqrt n kappa, as Table 2 and its use have it",
    )
    return Decision(
        "conditional",
        "linear program with exact multipliers",
        evidence,
        "The root sign is too long: what Table 2 and the later sums use is sqrt n kappa.",
    )


def _jin() -> Decision:
    mean = n / phases
    return _summed(
        "nbar + sqrt nbar (ell/mu)",
        n + phases * sqrt(mean) * sqrt(n) * r,
        n + n * r,
        "mu <= mu_k, so that all three quotients are at most ell/mu <= sqrt n r/2; and ell_g/mu_x = ell_h/mu_y = 1.",
    )


def _strongly() -> Decision:
    both = Region(Ge(kappa_x, 1), Ge(kappa_y, 1), Le(kappa_x, kappa), Le(kappa_y, kappa))
    steps = (
        Dominated(
            "Jin et al.: sqrt n (kappa_x + sqrt(kappa_x kappa_y) + kappa_y)",
            sqrt(n) * (kappa_x + sqrt(kappa_x * kappa_y) + kappa_y),
            n + sqrt(n) * kappa,
            both,
        ),
        Dominated(
            "AL-SVRE is no worse than accelerated SVRG up to n^{3/4} sqrt kappa <= n + sqrt n kappa",
            sqrt(n * kappa_x * kappa_y) + n ** (3 * Q) * sqrt(kappa),
            n + sqrt(n) * kappa,
            both,
        ),
        Cited("the other entries are the solvers' own rates, times log(n/delta)", "references of Table 2"),
    )
    evidence = Evidence(steps, condition=GIVEN + ", and log(1/gamma) is of order log(n/delta) (claim Z11)")
    return Decision(
        "conditional",
        "linear program with exact multipliers",
        evidence,
        "One call of the solver, with its published rate; the entries agree with each other.",
    )


def _one_sided() -> Decision:
    mean = n / phases
    svrg = phases * (mean + n * r**2 + kappa_y**2)
    fast = phases * (mean + sqrt(mean) * (sqrt(n) * r + kappa_y))
    steps = (
        Cited(GIVEN, "references of Table 2"),
        Cited("1/min{mu_k, mu_y} <= 1/mu_k + 1/mu_y and 1/mu_k <= 1/mu <= sqrt n D/(3 L)", "definition"),
        Dominated("SVRG", svrg, n + n * r**2 + kappa_y**2, PHASES, up_to=(phases,)),
        Dominated("accelerated SVRG, Jin et al.", fast, n + n * r + sqrt(n) * kappa_y, PHASES, up_to=(phases,)),
    )
    note = "The sums over the phases are as printed, with each solver's published rate."
    return Decision("proved", "linear program with exact multipliers", Evidence(steps), note)


CLAIMS = (
    Claim(
        "Z40",
        "zhang2022",
        "complexity",
        "With AL-SVRE or Catalyst the total is O((n + n sqrt(ell D/L) + n ell D/L + n^{5/4}) log(n/delta)).",
        "Appendix B.3",
        _catalyst,
    ),
    Claim(
        "Z41",
        "zhang2022",
        "complexity",
        "With Extragradient the total is n^{3/2} ell D/L + n^2, up to logarithms.",
        "Table 2",
        _extragradient,
    ),
    Claim(
        "Z42",
        "zhang2022",
        "complexity",
        "The total is O((n + n ell D/L) log(n/delta)) with accelerated SVRG and O((n + n (ell D/L)^2) "
        "log(n/delta)) with SVRG.",
        "Appendix B.3",
        _accelerated,
    ),
    Claim(
        "Z43",
        "zhang2022",
        "complexity",
        "Accelerated SVRG takes O((n + sqrt(n kappa)) log(1/gamma)) gradients on SC-SC problems.",
        "Appendix B.3, text",
        _text,
    ),
    Claim(
        "Z44",
        "zhang2022",
        "complexity",
        "The rate of Jin et al., n + sqrt n (ell/mu_k + ell/sqrt(mu_k mu) + ell/mu) a phase, sums to n + n "
        "ell D/L up to logarithms.",
        "Appendix B.3",
        _jin,
    ),
    Claim(
        "Z45",
        "zhang2022",
        "complexity",
        "Table 2's rates of the solvers in Algorithm 3, up to logarithms of n/delta.",
        "Table 2, SC-SC column",
        _strongly,
    ),
    Claim(
        "Z52",
        "zhang2022",
        "complexity",
        "In the convex-strongly concave case SVRG takes n + n (ell D/L)^2 + kappa_y^2, accelerated SVRG and "
        "Jin et al. "
        "n + n ell D/L + sqrt n kappa_y, up to logarithms.",
        "Appendix B.4",
        _one_sided,
    ),
)
