r"""The claims about Table 2 and about what the solvers cost. Setting and reference as in ``table_2``.

The solvers' rates are theorems of other papers, with conditions that are not checked here. So every claim that rests on
one, here and in Theorem 3.4, is conditional on it, even where the sums are right; the lower bounds are treated alike.
The rates are taken to be rates of linear convergence: ``accuracy`` has their logarithm, which is O(log(n/delta)) in
every phase.
"""

from __future__ import annotations

from typing import Any

from sympy import Ge, Le, Rational, oo, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Evidence, claim
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Step
from dpcheck.bounds.kind import Kind
from dpcheck.bounds.method import Method
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.statement import stated
from dpcheck.bounds.symbols import c, ell, kappa, kappa_x, kappa_y, mu, mu_y, n
from dpcheck.bounds.zhang2022 import accuracy
from dpcheck.bounds.zhang2022.table_2 import r

phases, nbar, mu_k, distance = symbols("phases nbar mu_k distance", positive=True)
PHASES = Region(Ge(phases, 1), Le(phases, n))
Q = Rational(1, 4)
GEOMETRIC = Cited(
    "sum_k 2^k <= 2 n, sum_k 2^{k/2} <= (2 + sqrt 2) sqrt n and sum_k 2^{-k/2} <= 1 + sqrt 2 for 2^K <= n",
    "geometric series",
)
METHOD = (Method.EXPONENTS, Method.PUBLISHED, Method.PROVER)
MEAN = n / phases  # records in a block
CATALYST = n + n * sqrt(r) + n * r + n ** (5 * Q)
EXTRAGRADIENT = n ** Rational(3, 2) * r + n**2
FAST, PLAIN = n + n * r, n + n * r**2
JIN = nbar + sqrt(nbar) * (ell / mu_k + ell / sqrt(mu_k * mu) + ell / mu)
ONE_SIDED_PLAIN, ONE_SIDED_FAST = n + n * r**2 + kappa_y**2, n + n * r + sqrt(n) * kappa_y


def _summed(solvers: str, name: str, sums: Any, rate: Any, note: str, *more: Step) -> Decision:
    """Compare the phases' sum with the rate, up to powers of K = O(log n)."""
    steps = (
        *accuracy.PHASED,
        *more,
        GEOMETRIC,
        Dominated(f"{name}, with powers of K = O(log n)", sums, rate, PHASES, up_to=(phases,)),
    )
    return Decision("conditional", METHOD, Evidence(steps, condition=accuracy.given(solvers)), note)


@claim(
    "Z40",
    Kind.COMPLEXITY,
    stated(
        "With AL-SVRE or Catalyst the total is of the order of {rate} gradients, times {logarithm}, where r = ell D/L.",
        rate=CATALYST,
        logarithm=accuracy.LOG,
    ),
    "Appendix B.3",
)
def catalyst() -> Decision:
    sums = (
        n
        + phases * MEAN ** (3 * Q) * n**Q * sqrt(r)
        + sqrt(MEAN) * sqrt(n) * r
        + (sqrt(MEAN) + MEAN ** (3 * Q)) * sqrt(n)
    )
    few = Region(Ge(phases, 1), Le(phases**2, 2 * n))  # K <= log2 n
    steps = (
        *accuracy.PHASED,
        GEOMETRIC,
        Dominated("the sum over the phases, without further logarithms", sums, CATALYST, few),
        Dominated("n and n sqrt r need no place of their own in Table 2", n + n * sqrt(r), n * r + n ** (5 * Q), few),
    )
    note = "n^{3/4} sqrt(ell/mu) summed over K blocks has a factor K^{1/4}, which the other terms cover."
    given = accuracy.given("AL-SVRE and Catalyst-Acc-SVRG, without further logarithms,")
    return Decision("conditional", METHOD, Evidence(steps, condition=given), note)


@claim(
    "Z41",
    Kind.COMPLEXITY,
    stated("With Extragradient the total is {rate}, where r = ell D/L, up to logarithms.", rate=EXTRAGRADIENT),
    "Table 2",
)
def extragradient() -> Decision:
    return _summed(
        "Extragradient",
        "n ell/mu and n 2^k",
        phases * MEAN * sqrt(n) * r + MEAN * n,
        EXTRAGRADIENT,
        "nbar (ell + mu_k)/mu is nbar sqrt n r + nbar 2^k.",
    )


@claim(
    "Z42",
    Kind.COMPLEXITY,
    stated(
        "The total is of the order of {fast} with accelerated SVRG and {plain} with SVRG, times {logarithm}, where "
        "r = ell D/L.",
        fast=FAST,
        plain=PLAIN,
        logarithm=accuracy.LOG,
    ),
    "Appendix B.3",
)
def accelerated() -> Decision:
    fast, plain = phases * (MEAN + sqrt(MEAN) * sqrt(n) * r), phases * (MEAN + n * r**2)
    path = {n: 2**s, phases: s, r: 1}  # K = log2 n itself
    steps = (
        *accuracy.PHASED,
        Exceeds("accelerated SVRG: K phases of sqrt nbar ell/mu, a factor sqrt K", fast, FAST, PHASES, path),
        Dominated("within it for sqrt(log n) more", fast, sqrt(phases) * FAST, PHASES),
        Exceeds("plain SVRG: K phases of (ell/mu)^2, a factor K", plain, PLAIN, PHASES, path),
        Dominated("within it for log n more", plain, phases * PLAIN, PHASES),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("accelerated SVRG, as printed", "refuted"),
            ("accelerated SVRG, with a further sqrt(log n)", "conditional"),
            ("SVRG, as printed", "refuted"),
            ("SVRG, with a further log n", "conditional"),
            ("both up to logarithms, as in Table 2", "conditional"),
        ),
        condition="the O hides a further sqrt(log n) for accelerated SVRG and log n for SVRG, as in Table 2; and "
        f"{accuracy.given('both')}",
    )
    return Decision(
        "conditional",
        METHOD,
        evidence,
        "Every phase pays ell/mu in full, which the displayed sums forget and Table 2 hides.",
    )


@claim(
    "Z43",
    Kind.COMPLEXITY,
    stated(
        "Accelerated SVRG takes of the order of {rate} gradients on SC-SC problems, times a logarithm.",
        rate=n + sqrt(n * kappa),
    ),
    "Appendix B.3, text",
)
def text() -> Decision:
    longer, shorter = n + sqrt(n * kappa), n + sqrt(n) * kappa
    steps = (
        Exceeds(
            "sqrt n kappa, as in Table 2, is not of the order n + sqrt(n kappa)",
            sqrt(n) * kappa,
            longer,
            Region(Ge(kappa, 1)),
            {n: s**2, kappa: s**4},
        ),
        Dominated(
            "but it is where kappa is at most of order sqrt n",
            shorter,
            longer,
            Region(Ge(kappa, 1), Le(kappa, sqrt(n))),
        ),
        Counterexample("n = 100, kappa = 400: 4100 against 300", Le(shorter, longer), ((n, 100), (kappa, 400))),
        Cited(
            "for saddle problems with n records the dependence on kappa_x, kappa_y is at least sqrt(n "
            "kappa_x kappa_y), which is sqrt n kappa for equal ones",
            "lower bounds that the same paragraph quotes for AL-SVRE and Catalyst",
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("n + sqrt(n kappa), as printed, for every kappa", "refuted"),
            ("n + sqrt n kappa, as in Table 2", "conditional"),
        ),
        condition="kappa is at most of order sqrt n, elsewhere the root covers n alone, n + sqrt n kappa, as Table 2 "
        f"and its use have it; and {accuracy.given('accelerated SVRG, n + sqrt n kappa,')}",
    )
    return Decision(
        "conditional",
        (Method.EXPONENTS, Method.PUBLISHED),
        evidence,
        "In the text at hand the root sign is too long: what Table 2 and the later sums use is sqrt n kappa. Other "
        "roots of that text are too long as well, so that the slip may be the text's own.",
    )


@claim(
    "Z44",
    Kind.COMPLEXITY,
    stated(
        "The rate of Jin et al., {phase} a phase, sums to {rate} up to logarithms, where r = ell D/L.",
        phase=JIN,
        rate=FAST,
    ),
    "Appendix B.3",
)
def jin() -> Decision:
    return _summed(
        "Jin et al.",
        "nbar + sqrt nbar (ell/mu)",
        n + phases * sqrt(MEAN) * sqrt(n) * r,
        FAST,
        "mu <= mu_k, so that all three quotients are at most ell/mu <= sqrt n r/2; and ell_g/mu_x = ell_h/mu_y = 1.",
        Inequality(
            "the quotients are at most ell/mu each",
            JIN,
            nbar + 3 * sqrt(nbar) * ell / mu,
            Domain({ell: (0, oo), mu: (0, oo), mu_k: (0, oo), nbar: (1, oo)}, where=(Le(sqrt(mu), sqrt(mu_k)),)),
        ),
    )


@claim(
    "Z45",
    Kind.COMPLEXITY,
    stated(
        "Algorithm 3 takes the gradients of one call of its solver, up to logarithms: the rates of Table 2, which "
        "for Jin et al. is {jin}.",
        jin=n + sqrt(n) * kappa,
    ),
    "Table 2, SC-SC column",
)
def strongly() -> Decision:
    both = Region(Ge(kappa_x, 1), Ge(kappa_y, 1), Le(kappa_x, kappa), Le(kappa_y, kappa))
    steps = (
        *accuracy.SADDLE,
        Dominated(
            "Jin et al.: sqrt n (kappa_x + sqrt(kappa_x kappa_y) + kappa_y), g = h = 0",
            n + sqrt(n) * (kappa_x + sqrt(kappa_x * kappa_y) + kappa_y),
            n + sqrt(n) * kappa,
            both,
        ),
        Cited(
            "the other five entries are the solvers' own rates in kappa_x, kappa_y and kappa", "references of Table 2"
        ),
    )
    note = "One call of the solver, with its published rate, whose logarithm is O(log(n/delta))."
    given = accuracy.given("the solvers of Table 2")
    return Decision("conditional", METHOD, Evidence(steps, condition=given), note)


@claim(
    "Z52",
    Kind.COMPLEXITY,
    stated(
        "In the convex-strongly concave case SVRG takes {plain}, accelerated SVRG and Jin et al. {fast}, where "
        "r = ell D/L, up to logarithms.",
        plain=ONE_SIDED_PLAIN,
        fast=ONE_SIDED_FAST,
    ),
    "Appendix B.4",
)
def one_sided() -> Decision:
    svrg = phases * (MEAN + n * r**2 + kappa_y**2)
    # ell/mu_k <= sqrt n r, and Jin et al. have ell/sqrt(mu_k mu_y) as well
    fast = phases * (MEAN + sqrt(MEAN) * (sqrt(n) * r + kappa_y))
    cross = phases * sqrt(MEAN) * sqrt(sqrt(n) * r * kappa_y)
    move, rest = symbols("move rest", positive=True)
    steps = (
        *accuracy.ONE_SIDED,
        Identity(
            "f + mu_y |y|^2/2 is still concave in y: the change of f's gradient has the inner product -mu_y move^2 - "
            "rest with the move, rest >= 0, and the square adds mu_y move^2",
            lambda: (-mu_y * move**2 - rest) + mu_y * move**2,
            -rest,
        ),
        Cited("and convex in x as before, since |y|^2 does not depend on x", "definition"),
        Inequality(
            "mu_y <= ell, since mu_y move^2 <= |inner| <= ell move^2",
            mu_y,
            ell,
            Domain(
                {mu_y: (0, oo), ell: (0, oo), distance: (0, oo)}, where=(Le(mu_y * distance**2, ell * distance**2),)
            ),
        ),
        Inequality(
            "so that it is 2 ell-smooth: its gradient moves by (ell + mu_y) |z - z'| at most",
            ell + mu_y,
            c * ell,
            Domain({mu_y: (0, oo), ell: (0, oo)}, where=(Le(mu_y, ell),)),
            (c, 2),
        ),
        Cited(
            "the phase is then of the form the rates are for: a smooth convex-concave sum plus mu_k |x - x~|^2/2 and "
            "less mu_y |y|^2/2, both simple",
            "f = (f + mu_y |y|^2/2) - mu_y |y|^2/2",
        ),
        Cited("1/min{mu_k, mu_y} <= 1/mu_k + 1/mu_y and 1/mu_k <= 1/mu <= sqrt n D/(3 L)", "definition"),
        Dominated("SVRG", svrg, ONE_SIDED_PLAIN, PHASES, up_to=(phases,)),
        Dominated("accelerated SVRG", fast, ONE_SIDED_FAST, PHASES, up_to=(phases,)),
        Dominated("Jin et al.", fast + cross, ONE_SIDED_FAST, PHASES, up_to=(phases,)),
    )
    note = "The sums over the phases are as published."
    given = accuracy.given("SVRG, accelerated SVRG and Jin et al.")
    return Decision("conditional", METHOD, Evidence(steps, condition=given), note)
