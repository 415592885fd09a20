r"""Theorem 2(a): the weak primal-dual risk of DP-SGDA, smooth convex-concave case.

Problem. Minimise over w in W and maximise over v in V the population objective
F(w, v) = E_z f(w, v; z), seen through n independent records. f is convex in w and concave in v,
G_w-Lipschitz in w and G_v-Lipschitz in v (A1), and L-smooth (A3); W and V are closed, convex,
contain 0, and lie within radius D_w and D_v about it; d is the larger of their dimensions. The
measure is the weak primal-dual population risk of an output (w, v),

    Delta^w = max_{v'} E F(w, v') - min_{w'} E F(w', v).

Algorithm. DP-SGDA [1, Algorithm 1], see ``theorem_1``, from w_1 = v_1 = 0, with minibatch m and
noise sigma_w, sigma_v of [1, Remark 1], for T = n steps of

    eta = c / ( L max{ sqrt n, sqrt(d log(1/delta))/epsilon } );  output: the mean of t = 1, ..., T.

Guarantee. By [1, Theorem 2(a)] the risk is O( max{ 1/sqrt n, sqrt(d log(1/delta))/(n epsilon) } ).
With constants it is at most the right-hand side of [1, equation (13)],

    4 sqrt(e (T + T^2/n)) (G_w + G_v)^2 eta exp(L^2 T eta^2/2) / sqrt n            (Lemma 6a)
    + eta (G_w^2 + G_v^2)/2 + (D_w^2 + D_v^2)/(2 eta T)
    + (D_w G_w + D_v G_v)/sqrt(m T) + eta d (sigma_w^2 + sigma_v^2),               (Lemma 3)

which is ``bound``.

Where the paper's versions differ, this file has what the proof supports:
- eta carries 1/L as in the proof; Theorem 2 prints no L and Theorem 7 prints 1/sqrt L (claim Y22).
- the start enters as D^2/(2 eta T) as in (13), where Lemma 3 prints D^2/(eta T). This needs the
  start at 0; from any other start in W x V it is 2 D^2/(eta T) (claims Y13 and Y15).
The rate holds for fixed G, D and L.

References.
[1] Z. Yang, S. Hu, Y. Lei, K. R. Varshney, S. Lyu, Y. Ying. Differentially Private SGDA for Minimax
    Problems. UAI 2022.

Arguments. n records, d dimensions, epsilon, delta, G_w, G_v, D_w, D_v, L, and c, the constant of
the step size (default 1).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("yang2022.theorem_2a")
>>> problem = dict(n=10_000, d=50, epsilon=1.0, delta=1e-8, G_w=1, G_v=1, D_w=1, D_v=1, L=1)
>>> thm.schedule(**problem)
{'T': 10000, 'm': 50, 'eta': 0.01}
>>> round(thm.bound(**problem), 4)
0.7558
>>> thm.rate
Max(1/sqrt(n), sqrt(d)*sqrt(log(1/delta))/(epsilon*n))
"""

from __future__ import annotations

from sympy import Le, Max, Rational, log, sqrt, symbols

from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Identity
from dpcheck.bounds.symbols import D_v, D_w, L, T, c, d, delta, epsilon, eta, n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.yang2022.lemma_3 import OPTIMISATION_ERROR
from dpcheck.bounds.yang2022.lemma_6 import SMOOTH
from dpcheck.bounds.yang2022.theorem_1 import A1, BATCH, LIPSCHITZ, MINIBATCH, NOISE, PRIVACY, REMARK_1, SAMPLING

LARGER = Max(sqrt(n), sqrt(d * log(1 / delta)) / epsilon)
REGIMES = (
    ("statistical", 1 / sqrt(n)),
    ("privacy", sqrt(d * log(1 / delta)) / (n * epsilon)),
)
SIZES = (*PRIVACY, Parameter(d, "larger of the dimensions of w and v"), *LIPSCHITZ)
RADII = (Parameter(D_w, "radius of W about 0"), Parameter(D_v, "radius of V about 0"))
STEP = Parameter(c, "constant of the step size", default=1)
RECORDS = Assumption("records", "the records are independent draws from one distribution", "after equation (1)")
CONVEX_CONCAVE = (
    Assumption("convex-concave", "f is convex in w and concave in v for every record", "Theorem 2"),
    Assumption(
        "bounded", "W and V are closed and convex, |w| <= D_w on W and |v| <= D_v on V", "Section 1 and Theorem 2"
    ),
    Assumption("start", "w_1 = v_1 = 0", "needed for equation (13)"),
    RECORDS,
    SAMPLING,
)
RISK = "weak primal-dual population risk of the mean iterate"
RISK_LATEX = r"\Delta^{w}(\bar{w}_T, \bar{v}_T)"

THEOREMS = (
    Theorem(
        id="yang2022.theorem_2a",
        title="Utility of DP-SGDA, smooth convex-concave case",
        paper="yang2022",
        location="Theorem 2(a), Theorem 7(a) and equation (13)",
        quantity=RISK,
        quantity_latex=RISK_LATEX,
        parameters=(*SIZES, *RADII, Parameter(L, "smoothness of f"), STEP),
        assumptions=(
            A1,
            Assumption("A3", "f is L-smooth in (w, v) for every record", "A3"),
            *CONVEX_CONCAVE,
            *REMARK_1,
            BATCH,
        ),
        schedule_formulas=((T, n), MINIBATCH, (eta, c / (L * LARGER))),
        noise_formulas=NOISE,
        bound_formula=SMOOTH + OPTIMISATION_ERROR,
        regimes=REGIMES,
    ),
)


def _step_size() -> Decision:
    # The maximum in eta, squared, is n + y with y >= 0; T = n.
    y, bound = symbols("y bound", positive=True)
    exponent = L**2 * n * eta**2
    root, printed_in_proof = c / (sqrt(L) * sqrt(n + y)), c / (L * sqrt(n + y))
    steps = (
        AtMost(
            "with 1/sqrt L the exponent L^2 T eta^2 is at most c^2 L",
            exponent.subs(eta, root),
            c**2 * L,
        ),
        Identity(
            "and it is c^2 L where the maximum is sqrt n",
            exponent.subs(eta, root).subs(y, 0),
            c**2 * L,
        ),
        Counterexample(
            "so that no one bound serves all L: L = (bound + 1)/c^2",
            Le(exponent.subs(eta, c / (sqrt(L) * sqrt(n))), bound),
            ((L, (bound + 1) / c**2),),
        ),
        AtMost(
            "with 1/L, as in the proof, it is at most c^2",
            exponent.subs(eta, printed_in_proof),
            c**2,
        ),
        Identity(
            "the part 1/(eta T) carries sqrt L with 1/sqrt L: in units of its rate max{...}/n",
            1 / (root * n) / (sqrt(n + y) / n),
            sqrt(L) / c,
        ),
        Identity("and L with 1/L", 1 / (printed_in_proof * n) / (sqrt(n + y) / n), L / c),
        Counterexample(
            "Theorem 7 prints no such factor, and no constant covers it: L = c^2 (bound + 1)^2",
            Le(sqrt(L) / c, bound),
            ((L, c**2 * (bound + 1) ** 2),),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("L is a constant inside the O", "proved"),
            ("the constant of the O does not depend on L", "refuted"),
            ("D^2/(eta T) is within Theorem 7's bound, whatever L", "refuted"),
        ),
        condition="L is fixed as n, d, epsilon and delta vary",
        repaired="eta = c/(L max{...}), as in the proof: exp(L^2 T eta^2) <= exp(c^2) for all L; D^2 in Theorem 7's "
        "bound then carries a factor L, with 1/sqrt L a factor sqrt L",
    )
    return Decision(
        "conditional",
        "exact algebra",
        evidence,
        "The exponential is bounded by exp(c^2 L), not by an absolute constant. The proof's "
        "O(min{1, n epsilon^2/(d log(1/delta))}) is the order of the exponent, not of the "
        "exponential, which is never below 1. D^2/(eta T) gains a factor sqrt L (L with the proof's step), which "
        "Theorem 7's explicit prefactor leaves out.",
    )


def _gradients() -> Decision:
    r, k = symbols("r k", positive=True)  # sqrt n = 1 + k, sqrt epsilon = 1/(1 + r)
    gradients = n + n**2 * sqrt(epsilon / (4 * n))
    at = {n: (1 + k) ** 2, epsilon: 1 / (1 + r) ** 2}
    raw = (1 + k) ** 2 + (1 + k) ** 3 / (2 * (1 + r))
    steps = (
        Cited(
            "ceil(max(1, x)) <= 1 + x, so that T m <= T + n sqrt(T epsilon/4), here with T = n",
            "definition of the ceiling",
        ),
        Identity("that count in the letters r and k", gradients.subs(at), raw),
        AtMost("it is at most 3/2 n^{3/2}", raw, Rational(3, 2) * (1 + k) ** 3),
        Identity(
            "without rounding, at epsilon = 1, it is n^{3/2}/2: the exponent is attained",
            (n * n * sqrt(epsilon / (4 * n))).subs(epsilon, 1),
            n ** Rational(3, 2) / 2,
        ),
    )
    return Decision(
        "proved",
        "exact algebra",
        Evidence(steps),
        "T m with T = n and Remark 1's m, epsilon <= 1. For T = n^2 the minibatch is 1 and the "
        "count n^2, below the n^{5/2} of Table 1.",
    )


CLAIMS = (
    Claim(
        "Y22",
        "yang2022",
        "schedule",
        "With T of order n and eta of order 1/(sqrt L max{sqrt n, sqrt(d log(1/delta))/epsilon}), "
        "exp(L^2 T eta^2) is O(1).",
        "Theorem 7(a) and its proof, Appendix C.3",
        _step_size,
    ),
    Claim(
        "Y23",
        "yang2022",
        "complexity",
        "In the smooth case DP-SGDA takes O(n^{3/2}) gradient computations.",
        "Remark 4 and Table 1",
        _gradients,
    ),
)
