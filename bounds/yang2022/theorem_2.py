r"""Theorem 2: the weak primal-dual risk of DP-SGDA in the convex-concave case, smooth (a) and nonsmooth (b).

Problem. Minimise over w in W and maximise over v in V the population objective F(w, v) = E_z f(w, v; z), seen through n
independent records. f is convex in w and concave in v, G_w-Lipschitz in w and G_v-Lipschitz in v (A1), and in (a)
L-smooth (A3); W and V lie within radius D_w and D_v about 0. The measure is the weak primal-dual population risk

    Delta^w = max_{v'} E F(w, v') - min_{w'} E F(w', v).

Algorithm. DP-SGDA [1, Algorithm 1], see ``theorem_1``, from w_1 = v_1 = 0, with the minibatch and noise of
[1, Remark 1]; output: the mean of t = 1, ..., T. The steps are

    a) T = n    of  eta = c / ( L max{ sqrt n, sqrt(d log(1/delta))/epsilon } ),
    b) T = n^2  of  eta = c / ( n max{ sqrt n, sqrt(d log(1/delta))/epsilon } ).

The formula for the step in (b) lacks its unit, length over gradient, which c has: c = D/G is the natural choice.

Guarantee. By [1, Theorem 2] the risk is O( max{ 1/sqrt n, sqrt(d log(1/delta))/(n epsilon) } ) for fixed G, D and L.
With constants it is at most ``bound``, the sum of Lemma 6 and of the optimisation error in [1, equation (13)].

Where the paper's versions differ, this file has what the proof supports: eta in (a) has the factor 1/L (claim Y22), and
the start, which is 0, contributes D^2/(2 eta T), as in (13) (claims Y13 and Y15).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("yang2022.theorem_2a")
>>> problem = dict(n=10_000, d=50, epsilon=1.0, delta=1e-8, G_w=1, G_v=1, D_w=1, D_v=1)
>>> thm.schedule(**problem, L=1)
{'T': 10000, 'm': 50, 'eta': 0.01}
>>> round(thm.bound(**problem, L=1), 4)
0.7558
>>> nonsmooth = theorem("yang2022.theorem_2b")
>>> nonsmooth.schedule(**problem)
{'T': 100000000, 'm': 1, 'eta': 1e-06}
>>> round(nonsmooth.bound(**problem), 4)
0.5806
"""

from sympy import E, Max, exp, log, sqrt

from dpcheck.bounds.symbols import D_v, D_w, G_v, G_w, L, T, c, d, delta, epsilon, eta, m, n, sigma_v, sigma_w
from dpcheck.bounds.theorem import BUDGET, Assumption, Parameter, Theorem
from dpcheck.bounds.yang2022 import theorem_1

SMOOTH = 4 * sqrt(E * (T + T**2 / n)) * (G_w + G_v) ** 2 * eta * exp(L**2 * T * eta**2 / 2) / sqrt(n)
LIPSCHITZ = 4 * sqrt(2) * eta * (G_w + G_v) ** 2 * (sqrt(T) + T / n)

SQUARES = D_w**2 + D_v**2
COMMON = eta * (G_w**2 + G_v**2) / 2 + (D_w * G_w + D_v * G_v) / sqrt(m * T)
NOISE_TERM = eta * d * (sigma_w**2 + sigma_v**2)

HALF = SQUARES / (2 * eta * T)
OPTIMISATION_ERROR = COMMON + HALF + NOISE_TERM  # as equation (13) prints it

LARGER = Max(sqrt(n), sqrt(d * log(1 / delta)) / epsilon)
REGIMES = (("statistical", 1 / sqrt(n)), ("privacy", sqrt(d * log(1 / delta)) / (n * epsilon)))
DIMENSION = Parameter(d, "larger of the dimensions of w and v")
SIZES = (*BUDGET, DIMENSION, *theorem_1.SLOPES)
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
    theorem_1.SAMPLING,
)
RISK = "weak primal-dual population risk of the mean iterate"
RISK_LATEX = r"\Delta^{w}(\bar{w}_T, \bar{v}_T)"

THEOREMS = (
    Theorem(
        id="yang2022.theorem_2a",
        title="Utility of DP-SGDA, smooth convex-concave case",
        location="Theorem 2(a), Theorem 7(a) and equation (13)",
        quantity=RISK,
        quantity_latex=RISK_LATEX,
        parameters=(*SIZES, *RADII, Parameter(L, "smoothness of f"), STEP),
        assumptions=(
            theorem_1.A1,
            Assumption("A3", "f is L-smooth in (w, v) for every record", "A3"),
            *CONVEX_CONCAVE,
            *theorem_1.REMARK_1,
            theorem_1.BATCH,
        ),
        schedule_formulas=((T, n), theorem_1.MINIBATCH, (eta, c / (L * LARGER))),
        noise_formulas=theorem_1.NOISE,
        bound_formula=SMOOTH + OPTIMISATION_ERROR,
        regimes=REGIMES,
    ),
    Theorem(
        id="yang2022.theorem_2b",
        title="Utility of DP-SGDA, nonsmooth convex-concave case",
        location="Theorem 2(b) and Theorem 7(b)",
        quantity=RISK,
        quantity_latex=RISK_LATEX,
        parameters=(*SIZES, *RADII, STEP),
        assumptions=(theorem_1.A1, *CONVEX_CONCAVE, *theorem_1.REMARK_1, theorem_1.BATCH),
        schedule_formulas=((T, n**2), theorem_1.MINIBATCH, (eta, c / (n * LARGER))),
        noise_formulas=theorem_1.NOISE,
        bound_formula=LIPSCHITZ + OPTIMISATION_ERROR,
        regimes=REGIMES,
    ),
)
