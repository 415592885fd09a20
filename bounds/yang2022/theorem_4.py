r"""Theorem 4: the generalisation error of DP-SGDA in the PL-strongly concave case.

Setting. A1, A3, A4; f is rho-strongly concave in v for every record, F_S mu-PL in w; kappa = L/rho; the
optimisation error E[R_S(w_T) - min R_S] is at most e. By [1, Theorems 4 and 11]

    E[R(w_T) - R_S(w_T)] <= (1 + kappa) G_w ( sqrt(e/(2 mu)) + (1/n) sqrt(G_w^2/(4 mu^2) + G_v^2/(rho mu)) ),
    E[R_S(w*) - R(w*)] <= 4 G_v^2/(rho n).

What the proof supports. PL with this paper's constant gives quadratic growth mu/2, not 2 mu (claim Y36), so
that the distances are sqrt(2 e/mu) and (1/n) sqrt(4 G_w^2/mu^2 + 4 G_v^2/(rho mu)); and the factor is
G_w + kappa G_v (claim Y35). ``bound`` is the sum of both parts so repaired,

    (G_w + kappa G_v) (2 sqrt(2 e/mu) + (1/n) sqrt(4 G_w^2/mu^2 + 4 G_v^2/(rho mu))) + 4 G_v^2/(rho n),

where both datasets contribute their distance to the solutions.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Appendix D.2.

Arguments. n records, e the optimisation error, G_w, G_v, L, rho, mu.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("yang2022.theorem_4")
>>> round(thm.bound(n=10_000, e=1e-6, G_w=1, G_v=1, L=1, rho=1, mu=1), 5)
0.00662
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from sympy import Le, Rational, oo, sqrt, symbols

from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import G_v, G_w, L, mu, n, rho
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

e, excess, w, stable = symbols("e excess w stable", positive=True)
FACTOR = G_w + L / rho * G_v
BOUND = FACTOR * (2 * sqrt(2 * e / mu) + sqrt(4 * G_w**2 / mu**2 + 4 * G_v**2 / (rho * mu)) / n) + 4 * G_v**2 / (
    rho * n
)

THEOREMS = (
    Theorem(
        id="yang2022.theorem_4",
        title="Generalisation error of DP-SGDA, PL-strongly concave case, with the constants its proof supports",
        paper="yang2022",
        location="Theorem 4, Theorem 11 and Appendix D.2",
        quantity="sum of the two generalisation errors of the primal risk",
        quantity_latex=r"\mathbb{E}[R(w_T) - R_S(w_T)] + \mathbb{E}[R_S(w^*) - R(w^*)]",
        parameters=(
            Parameter(n, "records in the dataset"),
            Parameter(e, "optimisation error"),
            Parameter(G_w, "Lipschitz constant of f in w"),
            Parameter(G_v, "Lipschitz constant of f in v"),
            Parameter(L, "smoothness of f"),
            Parameter(rho, "strong concavity in v"),
            Parameter(mu, "PL constant"),
        ),
        assumptions=(
            Assumption("A1", "f is G_w-Lipschitz in w and G_v-Lipschitz in v for every record", "A1"),
            Assumption("A3", "f is L-smooth", "A3"),
            Assumption("A4", "the projections of w_T on the solutions of S and S' agree", "A4"),
            Assumption("PL-SC", "every f is rho-strongly concave in v and F_S mu-PL in w", "Theorem 4"),
            Assumption("rho", "rho <= L", "strong concavity is at most smoothness", Le(rho, L)),
        ),
        bound_formula=BOUND,
        regimes=(
            ("optimisation", (1 + L / rho) * sqrt(e / mu)),
            ("statistical", (1 + L / rho) * (1 / (mu * n) + 1 / (n * sqrt(rho * mu)))),
        ),
    ),
)


def gap(root: int) -> Fraction:
    """E[R(w_S) - R_S(w_S)] for f = (w + c z) v - v^2/2 on V = [-1, 1], z = 1 or -1 with equal chance.

    n = root^2 records, c = root/2, w_S = -clip(root * mean of z, -1, 1). Then R(w) = w^2/2, and with
    a = w + c mean the empirical R_S(w) is a^2/2 for |a| <= 1, |a| - 1/2 beyond.

    """
    records = root * root
    total = Fraction(0)
    for ones in range(records + 1):
        mean = Fraction(2 * ones - records, records)
        point = -max(Fraction(-1), min(Fraction(1), root * mean))
        a = abs(point + Fraction(root, 2) * mean)
        empirical = a * a / 2 if a <= 1 else a - Fraction(1, 2)
        total += comb(records, ones) * (point * point / 2 - empirical)
    return total * Fraction(1, 2**records)


def minimiser_move(records: int) -> Fraction:
    """Distance of the minimisers of F_S = w^2/2 - mean(z) w when one record changes from -1 to 1."""
    return Fraction(2, records)


def _growth() -> Decision:
    steps = (
        Identity("h = mu w^2/2 is mu-PL with equality: |h'|^2/2 = mu (h - 0)", (mu * w) ** 2 / 2, mu * (mu * w**2 / 2)),
        Counterexample(
            "its growth is mu/2, not 2 mu", Le(2 * mu * w**2, mu * w**2 / 2, evaluate=False), ((mu, 1), (w, 1))
        ),
        Cited(
            "mu-PL in this sense implies growth mu/2 for v at the saddle, by following the gradient flow",
            "Karimi et al. 2016",
        ),
        Counterexample(
            "and for other v nothing holds: F = (w - v)^2/2 - v^2, saddle (0, 0), at w = v = 1: 0 - 1/2 >= 2",
            Le(2 * w**2, -(w**2) / 2, evaluate=False),
            ((w, 1),),
        ),
    )
    evidence = Evidence(steps, repaired="F_S(w, v_S) - min F_S(., v_S) >= (mu/2) |w - pi_S(w)|^2, at v_S alone")
    return Decision(
        "refuted",
        "exact algebra",
        evidence,
        "A factor 4 too much, on the plainest quadratic, and false for v other than v_S.",
    )


def _primal() -> Decision:
    value = gap(30)
    steps = (
        Cited(
            "R - R_S at w_S is at most the mean over i of f(w_{S_i}, v(w_{S_i}); z_i) - f(w_S, v(w_S); "
            "z_i), v(.) the population's "
            "maximiser, L/rho-Lipschitz",
            "Lemma 7",
        ),
        Identity("the two moves", G_w * stable + G_v * (L / rho * stable), FACTOR * stable),
        Enumerated("f = (w + 15 z) v - v^2/2, 900 records: the gap, exactly", gap, (30,), value),
        Counterexample(
            "with G_w = 1, rho = 1, L = 1.62 >= the norm of the Hessian and stability 2/30 the printed bound "
            "is below a quarter",
            Le(excess, (1 + L / rho) * G_w * stable),
            (
                (excess, Rational(value.numerator, value.denominator)),
                (L, Rational(162, 100)),
                (rho, 1),
                (G_w, 1),
                (stable, Rational(2, 30)),
            ),
        ),
        Inequality(
            "for G_v <= G_w the derived bound is within the printed one",
            FACTOR * stable,
            (1 + L / rho) * G_w * stable,
            Domain({G_w: (0, oo), G_v: (0, oo), L: (0, oo), rho: (0, oo), stable: (0, oo)}, where=(Le(G_v, G_w),)),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(("G_w the Lipschitz constant in w alone", "refuted"), ("G = max{G_w, G_v} in its place", "proved")),
        condition="G_v <= G_w, or G = max{G_w, G_v} in place of G_w",
        repaired="(G_w + (L/rho) G_v) times the stability",
    )
    return Decision(
        "conditional",
        "exact enumeration; prover",
        evidence,
        "The maximiser moves with w and brings G_v in; the source has one Lipschitz constant for both.",
    )


PULL = (
    Enumerated(
        "f = w^2/2 - z w - v^2/2, one of 100 records from -1 to 1: the minimiser moves by",
        minimiser_move,
        (100,),
        Fraction(1, 50),
    ),
    Cited(
        "near the minimisers, |w| <= 1/50 and |v| <= 1/100 say, G_w <= 51/50 and G_v <= 1/100; the "
        "solution is unique, mu = rho = 1",
        "A1, A4",
    ),
)
AT = ((n, 100), (mu, 1), (rho, 1), (G_w, Rational(51, 50)), (G_v, Rational(1, 100)))
REPAIRED = "distances sqrt(2 e/mu) and (1/n) sqrt(4 G_w^2/mu^2 + 4 G_v^2/(rho mu)), with the growth mu/2 of "
"Y36; the orders are as printed"


def _appendix() -> Decision:
    steps = (
        Identity(
            "F_S = mu w^2/2 at w: its distance to the solution is sqrt(2 e/mu)", sqrt(2 * (mu * w**2 / 2) / mu), w
        ),
        Counterexample(
            "the printed sqrt(e/(2 mu)) is half of it",
            Le(sqrt(2 * e / mu), sqrt(e / (2 * mu)), evaluate=False),
            ((e, 1), (mu, 1)),
        ),
        *PULL,
        Counterexample(
            "the printed move of the solution is below that",
            Le(Rational(1, 50), sqrt(G_w**2 / (4 * mu**2) + G_v**2 / (rho * mu)) / n),
            AT,
        ),
    )
    return Decision(
        "refuted",
        "exact algebra",
        Evidence(steps, repaired=REPAIRED),
        "Both terms rest on the growth 2 mu of Lemma 13.",
    )


def _main_text() -> Decision:
    steps = (
        *PULL,
        Counterexample(
            "the printed move of the solution is below that",
            Le(Rational(1, 50), sqrt((G_w**2 + G_v**2) / (4 * mu**2)) / n),
            AT,
        ),
        Counterexample(
            "nor is it the appendix's: rho = 1/10, mu = 1, G_w = G_v = 1",
            Le(sqrt(G_w**2 / (4 * mu**2) + G_v**2 / (rho * mu)), sqrt((G_w**2 + G_v**2) / (4 * mu**2))),
            ((G_w, 1), (G_v, 1), (mu, 1), (rho, Rational(1, 10))),
        ),
    )
    return Decision(
        "refuted", "exact algebra", Evidence(steps, repaired=REPAIRED), "It drops rho beside the growth 2 mu."
    )


def _dual() -> Decision:
    steps = (
        Cited(
            "(25): F_S(w*, v) - F_S(w*, v_i) <= (2 G_v/n) |v - v_i| for the maximisers v of S and v_i of "
            "S_i; strong concavity",
            "Lipschitz continuity",
        ),
        Identity(
            "rho/2 |v - v_i|^2 <= (2 G_v/n)|v - v_i| gives",
            rho / 2 * (4 * G_v / (rho * n)) ** 2,
            2 * G_v / n * (4 * G_v / (rho * n)),
        ),
        Identity("and G_v times it", G_v * 4 * G_v / (rho * n), 4 * G_v**2 / (rho * n)),
        Cited(
            "E F_S(w*, v) - E F(w*, v) is the mean of f(w*, v; z_i) - f(w*, v_i; z_i), and F(w*, v) <= max F(w*, .)",
            "i.i.d. records",
        ),
    )
    return Decision(
        "proved",
        "exact algebra from cited facts",
        Evidence(steps),
        "The display with m in the denominator should have rho n; the result is right.",
    )


CLAIMS = (
    Claim(
        "Y35",
        "yang2022",
        "lemma",
        "With mean stability s of w, E[R(w_S) - R_S(w_S)] <= (1 + L/rho) G_w s.",
        "Lemma 12",
        _primal,
    ),
    Claim(
        "Y36",
        "yang2022",
        "lemma",
        "mu-PL implies F_S(w, v) - F_S(pi_S(w), v) >= 2 mu |w - pi_S(w)|^2 for all v.",
        "Lemma 13",
        _growth,
    ),
    Claim(
        "Y37",
        "yang2022",
        "constant",
        "The distances are sqrt(e/(2 mu)) and (1/n) sqrt(G_w^2/(4 mu^2) + G_v^2/(rho mu)).",
        "Lemma 14, Theorems 9 and 11",
        _appendix,
    ),
    Claim(
        "Y38",
        "yang2022",
        "constant",
        "The move of the solution is at most (1/n) sqrt((G_w^2 + G_v^2)/(4 mu^2)).",
        "Theorem 4",
        _main_text,
    ),
    Claim("Y39", "yang2022", "constant", "E[R_S(w*) - R(w*)] <= 4 G_v^2/(rho n).", "Theorem 10", _dual),
)
