"""The formulas of the registered theorems, each with the claim that it belongs to."""

from __future__ import annotations

from sympy import Max, Min, Rational, ceiling, log, sqrt

from dpcheck.bounds.carried import Carried
from dpcheck.bounds.symbols import R, T, c_2, c_3, d, delta, epsilon, eta_x, kappa, m, mu, n, sigma_x, sigma_y
from dpcheck.bounds.zhang2025.theorem_1 import C_1, C_2
from dpcheck.bounds.zhang2025.theorem_1_settings import MINIBATCH, SPREAD
from dpcheck.bounds.zhang2025.theorem_2 import B, Delta_Phi, Lambda, l
from dpcheck.bounds.zhang2025.theorem_5 import C_0, M, beta, c_5, c_6, c_7
from dpcheck.bounds.zhang2025.theorem_5_proof import MINIBATCH as MINIBATCH_5
from dpcheck.bounds.zhang2025.theorem_6 import C_2 as THRESHOLD
from dpcheck.bounds.zhang2025.theorem_6 import PRINTED_RATE, sigma_2
from dpcheck.bounds.zhang2025.theorem_6_proof import LONGEST

ONE, OPEN_1, T_2 = "zhang2025.theorem_1", "zhang2025.theorem_1_existential", "zhang2025.theorem_2"
FIVE, OPEN_5, SIX = "zhang2025.theorem_5", "zhang2025.theorem_5_existential", "zhang2025.theorem_6"
LEVEL = log(1 / delta)
A = sqrt(d * LEVEL) / (n * epsilon)
SHARE = sqrt(R * LEVEL) / (n * epsilon)
ENERGY = 2 * C_0**2 + M * beta
LONGER = ceiling(A ** Rational(-4, 3))
# Theorem 2's proof, equation (39) in units of 103 eta_x/256
SQUARE = (
    256 * Delta_Phi / (eta_x * (T + 1))
    + 576 * kappa * (l * Lambda) ** 2 / (T + 1)
    + (1728 * kappa + 16 / kappa) * B**2 / m
    + (1152 * kappa + 16 / kappa) * d * (sigma_x**2 + sigma_y**2)
) / 103

CARRIED = {
    "003:Thm1": tuple(
        Carried(theorem, f"sigma_{side}", constant * clip * sqrt(T * LEVEL) / (n * epsilon))
        for theorem in (OPEN_1, T_2)
        for side, constant, clip in (("x", c_2, C_1), ("y", c_3, C_2))
    ),
    "003:Thm1-remark": (
        Carried(ONE, "m", ceiling(Max(1, MINIBATCH))),
        Carried(ONE, "sigma_x", C_1 * SPREAD),
        Carried(ONE, "sigma_y", C_2 * SPREAD),
    ),
    "003:Thm2": (
        *(Carried(T_2, letter, ceiling(1 / A)) for letter in ("T", "m")),
        Carried(T_2, "kappa", l / mu),
        Carried(T_2, "eta_x", 1 / (16 * (1 + kappa) ** 2 * l)),
        Carried(T_2, "eta_y", 1 / l),
        Carried(T_2, "bound", sqrt(SQUARE)),
        Carried(T_2, "rate privacy", sqrt(A)),
    ),
    "003:Thm3": (Carried("zhang2025.theorem_3", "rate privacy", sqrt(d) * sqrt(LEVEL) / (epsilon * n)),),
    "003:Thm4": (Carried("zhang2025.theorem_4", "rate privacy", d ** Rational(3, 2) * sqrt(LEVEL) / (epsilon * n)),),
    "003:Thm5": (
        Carried(OPEN_5, "sigma_x1", c_5 * SHARE / sqrt(T)),
        Carried(OPEN_5, "sigma_x2", c_6 * SHARE),
    ),
    "003:Thm5 sigma_y": (Carried(OPEN_5, "sigma_y", c_7 * ENERGY * SHARE),),
    "003:Remark2": (
        Carried(FIVE, "m", ceiling(Max(1, MINIBATCH_5))),
        *(
            each
            for theorem in (FIVE, SIX)
            for each in (
                Carried(theorem, "sigma_x1", 4 * SHARE / sqrt(T)),
                Carried(theorem, "sigma_x2", 4 * SHARE),
                Carried(theorem, "sigma_y", 4 * ENERGY / mu * SHARE),
            )
        ),
    ),
    "003:Thm6": (
        Carried(SIX, "R", LONGER),
        Carried(SIX, "T", ceiling(A ** Rational(2, 3) * R)),
        Carried(SIX, "T_2", LONGER),
        Carried(SIX, "m", LONGER),
        Carried(SIX, "eta_x", Min(1 / (2 * THRESHOLD), LONGEST), ((THRESHOLD, (1 + l / mu) * l), (sigma_2, 4 * SHARE))),
        Carried(SIX, "rate privacy", PRINTED_RATE),
    ),
}
