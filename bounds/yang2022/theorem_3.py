r"""Theorem 3: the optimisation error of DP-SGDA in the PL-strongly concave case.

Problem. As in ``lemmas_7_to_11``, kappa = L/rho, mu <= 2 L^2 (in Theorem 8, not in Theorem 3), and W = R^{d1}, which
[1] does not state (claims Y27 and Y34).

Algorithm. DP-SGDA with eta_w = 2/(mu t), eta_v = 2 M/(mu t^{2/3}), where
M = max{8 kappa^2 sqrt((L + L^2/rho)/mu), 4 sqrt 2 kappa^2}.

Guarantee. By [1, Theorem 3], with constants that depend on nothing but L,

    E[R_S(w_{T+1}) - min R_S] = O( kappa^{3.5}/mu^{2.5} (1/m + d (sigma_w^2 + sigma_v^2))/T^{2/3} ).

The order stands when the schedule starts late enough (claims Y32 and Y33).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("yang2022.theorem_3")
>>> thm.rate_exponents()["variance"]
{'T': -0.6666666666666666, 'kappa': 3.5, 'm': -1.0, 'mu': -2.5}
>>> thm.schedule(kappa=2, mu=0.5, L=1, t=1000)
{'eta_w': 0.004, 'eta_v': 3.135346870762468}
"""

from sympy import Max, Rational, sqrt

from dpcheck.bounds.symbols import L, T, d, kappa, m, mu, sigma_v, sigma_w, t
from dpcheck.bounds.symbols import eta_v as theta
from dpcheck.bounds.symbols import eta_w as eta
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.yang2022 import theorem_1, theorem_2

ORDER = kappa ** Rational(7, 2) / mu ** Rational(5, 2)

# The steps that the proof of Theorem 8 takes; L + L^2/rho = L (1 + kappa).
RATIO = Max(8 * kappa**2 * sqrt(L * (1 + kappa) / mu), 4 * sqrt(2) * kappa**2)
PRIMAL, DUAL = 2 / (mu * t), 2 * RATIO / (mu * t ** Rational(2, 3))
STEPS = ((eta, PRIMAL), (theta, DUAL))
RATE = ORDER / (m * T ** Rational(2, 3))
SETTING = (
    Assumption("V", "V is bounded", "Theorem 3"),
    Assumption("saddle", "F_S has a saddle point", "Section 3.2"),
    theorem_1.SAMPLING,
    Assumption(
        "late start",
        "eta_w <= 1/(L + L^2/rho) and eta_v <= 1/L, which these steps exceed at t = 1; a later start mends it",
        "Lemmas 9 to 11; claim Y32",
    ),
)
GENTLE = (
    Assumption("kappa", "kappa >= 1", "L >= rho", kappa >= 1),
    Assumption("mu", "mu <= 2 L^2", "Theorem 8", mu <= 2 * L**2),
)
SHAPE = (
    Parameter(kappa, "L/rho"),
    Parameter(mu, "PL constant"),
    Parameter(L, "smoothness of f"),
    Parameter(t, "iteration", default=1),
)

THEOREMS = (
    Theorem(
        id="yang2022.theorem_3",
        title="Optimisation error of DP-SGDA, PL-strongly concave case",
        location="Theorem 3, Theorem 8 and equation (20)",
        quantity="expected excess primal empirical risk of the last iterate, in order",
        quantity_latex=r"\mathbb{E}[R_S(w_{T+1}) - R_S^*]",
        parameters=(
            Parameter(m, "records in a minibatch"),
            theorem_2.DIMENSION,
            Parameter(T, "iterations"),
            Parameter(sigma_w, "noise on the gradient in w"),
            Parameter(sigma_v, "noise on the gradient in v"),
            *SHAPE,
        ),
        assumptions=(
            Assumption("A1", "f is Lipschitz in w and in v for every record; the proof has no need of it", "Theorem 3"),
            Assumption("A2", "the records' gradients have standard deviation at most B", "A2"),
            Assumption("A3", "f is L-smooth; not named in Theorem 3", "Theorem 8"),
            Assumption("PL-SC", "F_S is mu-PL in w and rho-strongly concave in v", "Theorem 3"),
            Assumption(
                "W",
                "W = R^{d1}, so that w is not projected; not stated in the paper, without it the rate fails",
                "proofs of Lemmas 9 and 10; claim Y34",
            ),
            *SETTING,
            *GENTLE,
        ),
        schedule_formulas=STEPS,
        regimes=(
            ("variance", RATE),
            ("noise in w", ORDER * d * sigma_w**2 / T ** Rational(2, 3)),
            ("noise in v", ORDER * d * sigma_v**2 / T ** Rational(2, 3)),
        ),
    ),
)
