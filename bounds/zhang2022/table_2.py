r"""Table 2 and its derivation: gradients taken when a given solver is plugged in.

A phase of Algorithm 4 is an nbar = n/K record problem that is mu_k-strongly convex in x, mu_k = mu 2^k,
mu-strongly concave in y, with 1/mu <= sqrt n D/(2 L). Summed over the phases, each solver's own rate gives Table 2, up
to logarithms of n/delta, with r = ell D/L.

The solvers' rates are theorems of other papers, with conditions that are not checked here. So every claim that rests on
one, here and in Theorem 3.4, is conditional on it, even where the sums are right; the lower bounds are treated alike.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("zhang2022.table_2_extragradient").rate_exponents()
{'smoothness': {'n': 1.5, 'r': 1.0}, 'regulariser': {'n': 2.0}}
"""

from typing import Any

from sympy import Rational, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, Step, carries, claim, conditional, misprint, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import c, ell, kappa, kappa_x, kappa_y, mu, mu_y, n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2022 import conditions

r, phases, nbar, mu_k, distance = symbols("r phases nbar mu_k distance", positive=True)
GIVEN = "the solver's own rate is as published"

RATES: dict[str, tuple[tuple[str, Any], ...]] = {
    "extragradient": (("smoothness", n ** Rational(3, 2) * r), ("regulariser", n**2)),
    "svrg": (("records", n), ("smoothness", n * r**2)),
    "accelerated_svrg": (("records", n), ("smoothness", n * r)),
    "jin": (("records", n), ("smoothness", n * r)),
    "catalyst": (("smoothness", n * r), ("regulariser", n ** Rational(5, 4))),
}

PROX = Assumption("regulariser", "the solver takes the regulariser by its proximal operator", "Appendix B.3")
APART = Assumption("regulariser", "the solver takes the regulariser apart from f, as g(x) - h(y)", "Appendix B.3")
REGULARISER = {"svrg": (PROX,), "accelerated_svrg": (PROX,), "jin": (APART,)}

THEOREMS = tuple(
    Theorem(
        id=f"zhang2022.table_2_{name}",
        title=f"Gradients of Algorithms 4 and 5 with {name.replace('_', ' ')}, up to logarithms",
        location="Table 2, convex-concave column",
        quantity="number of gradients, up to logarithms of n/delta",
        quantity_latex=r"\text{gradients}",
        parameters=(Parameter(n, "records in the dataset"), Parameter(r, "ell D/L")),
        assumptions=(
            Assumption("f", "every f is convex-concave, L-Lipschitz and ell-smooth", "Appendix B.3"),
            Assumption("solver", GIVEN, "Table 2"),
            *REGULARISER.get(name, ()),
            Assumption("n", "n >= 2", "at least one phase", n >= 2),
        ),
        regimes=regimes,
    )
    for name, regimes in RATES.items()
)

PHASES = Region(phases >= 1, phases <= n)
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


def _summed(name: str, sums: Any, rate: Any, note: str, *more: Step) -> Decision:
    """Compare the phases' sum with the rate, up to powers of K = O(log n)."""
    return proved(
        *conditions.PHASED,
        *more,
        GEOMETRIC,
        Dominated(f"{name}, with powers of K = O(log n)", sums, rate, PHASES, up_to=(phases,)),
        note=note,
        method=METHOD,
    )


@claim("Z40", Kind.COMPLEXITY, location="Appendix B.3", rate=CATALYST, logarithm=conditions.LOG)
@carries("zhang2022.table_2_catalyst", {"rate smoothness": n * r, "rate regulariser": n ** Rational(5, 4)})
def catalyst() -> Decision:
    """With AL-SVRE or Catalyst the total is of the order of {rate} gradients, times {logarithm}, where r = ell D/L."""
    sums = (
        n
        + phases * MEAN ** (3 * Q) * n**Q * sqrt(r)
        + sqrt(MEAN) * sqrt(n) * r
        + (sqrt(MEAN) + MEAN ** (3 * Q)) * sqrt(n)
    )
    few = Region(phases >= 1, phases**2 <= 2 * n)  # K <= log2 n
    note = "n^{3/4} sqrt(ell/mu) summed over K blocks has a factor K^{1/4}, which the other terms cover."
    return proved(
        *conditions.PHASED,
        conditions.published("AL-SVRE and Catalyst-Acc-SVRG, without further logarithms"),
        GEOMETRIC,
        Dominated("the sum over the phases, without further logarithms", sums, CATALYST, few),
        Dominated("n and n sqrt r need no place of their own in Table 2", n + n * sqrt(r), n * r + n ** (5 * Q), few),
        note=note,
        method=METHOD,
    )


@claim("Z41", Kind.COMPLEXITY, location="Table 2", rate=EXTRAGRADIENT)
@carries(
    "zhang2022.table_2_extragradient",
    {"rate smoothness": EXTRAGRADIENT - n**2, "rate regulariser": EXTRAGRADIENT.subs(r, 0)},
)
def extragradient() -> Decision:
    """With Extragradient the total is {rate}, where r = ell D/L, up to logarithms."""
    return _summed(
        "n ell/mu and n 2^k",
        phases * MEAN * sqrt(n) * r + MEAN * n,
        EXTRAGRADIENT,
        "nbar (ell + mu_k)/mu is nbar sqrt n r + nbar 2^k.",
    )


@claim("Z42", Kind.COMPLEXITY, location="Appendix B.3", fast=FAST, plain=PLAIN, logarithm=conditions.LOG)
@carries("zhang2022.table_2_svrg", {"rate records": n, "rate smoothness": PLAIN - n})
@carries("zhang2022.table_2_accelerated_svrg", {"rate records": n, "rate smoothness": FAST - n})
def accelerated() -> Decision:
    """The total is of the order of {fast} with accelerated SVRG and {plain} with SVRG, times {logarithm}, where r = ell
    D/L.
    """
    fast, plain = phases * (MEAN + sqrt(MEAN) * sqrt(n) * r), phases * (MEAN + n * r**2)
    path = {n: 2**s, phases: s, r: 1}  # K = log2 n itself
    return conditional(
        *conditions.PHASED,
        Exceeds("accelerated SVRG: K phases of sqrt nbar ell/mu, a factor sqrt K", fast, FAST, PHASES, path),
        Dominated("within it for sqrt(log n) more", fast, sqrt(phases) * FAST, PHASES),
        Exceeds("plain SVRG: K phases of (ell/mu)^2, a factor K", plain, PLAIN, PHASES, path),
        Dominated("within it for log n more", plain, phases * PLAIN, PHASES),
        readings={
            "accelerated SVRG, as printed": "refuted",
            "accelerated SVRG, with a further sqrt(log n)": "proved",
            "SVRG, as printed": "refuted",
            "SVRG, with a further log n": "proved",
            "both up to logarithms, as in Table 2": "proved",
        },
        condition="the O hides a further sqrt(log n) for accelerated SVRG and log n for SVRG, as in Table 2",
        note="Every phase pays ell/mu in full, which the displayed sums forget and Table 2 hides.",
        method=METHOD,
    )


@claim("Z43", Kind.COMPLEXITY, location="Appendix B.3, text", rate=n + sqrt(n * kappa))
def text() -> Decision:
    """Accelerated SVRG takes of the order of {rate} gradients on SC-SC problems, times a logarithm."""
    longer, shorter = n + sqrt(n * kappa), n + sqrt(n) * kappa
    return misprint(
        conditions.published("accelerated SVRG, n + sqrt n kappa"),
        Exceeds(
            "sqrt n kappa, as in Table 2, is not of the order n + sqrt(n kappa)",
            sqrt(n) * kappa,
            longer,
            Region(kappa >= 1),
            {n: s**2, kappa: s**4},
        ),
        Dominated(
            "but it is where kappa is at most of order sqrt n", shorter, longer, Region(kappa >= 1, kappa <= sqrt(n))
        ),
        Counterexample("n = 100, kappa = 400: 4100 against 300", shorter <= longer, {n: 100, kappa: 400}),
        Cited(
            "for saddle problems with n records the dependence on kappa_x, kappa_y is at least sqrt(n "
            "kappa_x kappa_y), which is sqrt n kappa for equal ones",
            "lower bounds that the same paragraph quotes for AL-SVRE and Catalyst",
        ),
        readings={
            "n + sqrt(n kappa), as printed, for every kappa": "refuted",
            "n + sqrt n kappa, as in Table 2": "proved",
        },
        differs="exponent",
        condition="n + sqrt n kappa, as Table 2 and its use have it; the printed root is enough where "
        "kappa is at most of order sqrt n",
        repaired="Table 2 and the sums that use the rate have n + sqrt n kappa",
        note="In the text at hand the root sign is too long: what Table 2 and the later sums use is sqrt n kappa. "
        "Other roots of that text are too long as well, so that the slip may be the text's own.",
        method=(Method.EXPONENTS, Method.PUBLISHED),
    )


@claim("Z44", Kind.COMPLEXITY, location="Appendix B.3", phase=JIN, rate=FAST)
@carries("zhang2022.table_2_jin", {"rate records": n, "rate smoothness": FAST - n})
def jin() -> Decision:
    """The rate of Jin et al., {phase} a phase, sums to {rate} up to logarithms, where r = ell D/L."""
    return _summed(
        "nbar + sqrt nbar (ell/mu)",
        n + phases * sqrt(MEAN) * sqrt(n) * r,
        FAST,
        "mu <= mu_k, so that all three quotients are at most ell/mu <= sqrt n r/2; and ell_g/mu_x = ell_h/mu_y = 1.",
        Inequality(
            "the quotients are at most ell/mu each",
            JIN,
            nbar + 3 * sqrt(nbar) * ell / mu,
            over(ell, mu, mu_k, nbar >= 1, sqrt(mu) <= sqrt(mu_k)),
        ),
    )


@claim("Z45", Kind.COMPLEXITY, location="Table 2, SC-SC column", jin=n + sqrt(n) * kappa)
def strongly() -> Decision:
    """Algorithm 3 takes the gradients of one call of its solver, up to logarithms: the rates of Table 2, which for Jin
    et al. is {jin}.
    """
    both = Region(kappa_x >= 1, kappa_y >= 1, kappa_x <= kappa, kappa_y <= kappa)
    note = "One call of the solver, with its published rate, whose logarithm is O(log(n/delta))."
    return proved(
        *conditions.SADDLE_GAPS,
        Dominated(
            "Jin et al.: sqrt n (kappa_x + sqrt(kappa_x kappa_y) + kappa_y), g = h = 0",
            n + sqrt(n) * (kappa_x + sqrt(kappa_x * kappa_y) + kappa_y),
            n + sqrt(n) * kappa,
            both,
        ),
        Cited(
            "the other five entries are the solvers' own rates in kappa_x, kappa_y and kappa", "references of Table 2"
        ),
        note=note,
        method=METHOD,
    )


@claim("Z52", Kind.COMPLEXITY, location="Appendix B.4", plain=ONE_SIDED_PLAIN, fast=ONE_SIDED_FAST)
def one_sided() -> Decision:
    """In the convex-strongly concave case SVRG takes {plain}, accelerated SVRG and Jin et al. {fast}, where r = ell
    D/L, up to logarithms.
    """
    svrg = phases * (MEAN + n * r**2 + kappa_y**2)
    # ell/mu_k <= sqrt n r, and Jin et al. have ell/sqrt(mu_k mu_y) as well
    fast = phases * (MEAN + sqrt(MEAN) * (sqrt(n) * r + kappa_y))
    cross = phases * sqrt(MEAN) * sqrt(sqrt(n) * r * kappa_y)
    move, rest = symbols("move rest", positive=True)
    note = "The sums over the phases are as published."
    return proved(
        *conditions.ONE_SIDED,
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
            over(mu_y, ell, distance, mu_y * distance**2 <= ell * distance**2),
        ),
        Inequality(
            "so that it is 2 ell-smooth: its gradient moves by (ell + mu_y) |z - z'| at most",
            ell + mu_y,
            c * ell,
            over(mu_y, ell, mu_y <= ell),
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
        note=note,
        method=METHOD,
    )
