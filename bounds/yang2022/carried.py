"""The formulas of the registered theorems, each with the claim that it belongs to."""

from __future__ import annotations

from sympy import Max, Rational, ceiling, exp, log, sqrt

from dpcheck.bounds.carried import Carried
from dpcheck.bounds.symbols import (
    D_v,
    D_w,
    G_v,
    G_w,
    L,
    T,
    c,
    c_2,
    c_3,
    d,
    delta,
    ell,
    epsilon,
    eta,
    kappa,
    m,
    mu,
    n,
    rho,
    sigma_v,
    sigma_w,
    t,
)
from dpcheck.bounds.yang2022.rates import LIPSCHITZ_T, SHARE, SMOOTH_T, larger
from dpcheck.bounds.yang2022.theorem_4 import e
from dpcheck.bounds.yang2022.theorem_5 import PARTS

ONE, OPEN = "yang2022.theorem_1", "yang2022.theorem_1_existential"
T_2A, T_2B = "yang2022.theorem_2a", "yang2022.theorem_2b"
T_3, T_4, T_5 = (f"yang2022.theorem_{number}" for number in (3, 4, 5))
LEVEL = ((ell, log(1 / delta)),)
LARGER = ((larger, Max(sqrt(n), SHARE.subs(ell, log(1 / delta)))),)
FRONT = kappa ** Rational(11, 4) / mu ** Rational(7, 4)
BLOCKS = (("w", G_w, c_2), ("v", G_v, c_3))
SPREAD = sqrt(T * log(1 / delta)) / (n * epsilon)
MINIBATCH = ceiling(Max(1, n * sqrt(epsilon) / (2 * sqrt(T))))
# equation (13)'s optimisation error, and Lemma 6's generalisation errors
OPTIMISATION = (
    eta * (G_w**2 + G_v**2) / 2
    + (D_w**2 + D_v**2) / (2 * eta * T)
    + (D_w * G_w + D_v * G_v) / sqrt(m * T)
    + eta * d * (sigma_w**2 + sigma_v**2)
)
BOTH = eta * (G_w + G_v) ** 2
SMOOTH = 4 * BOTH / sqrt(n) * sqrt(T + T**2 / n) * exp(Rational(1, 2)) * exp(T * (L * eta) ** 2 / 2)
LIPSCHITZ = 4 * sqrt(2) * BOTH * (sqrt(T) + T / n)
FACTOR = kappa ** Rational(7, 2) / mu ** Rational(5, 2) * T ** Rational(-2, 3)
STEPS = (
    ("eta_w", 2 / (mu * t)),
    (
        "eta_v",
        Max(8 * kappa**2 * sqrt((L + L * kappa) / mu), 4 * sqrt(2) * kappa**2) * 2 / (mu * t ** Rational(2, 3)),
    ),
)

CARRIED = {
    "Y09": tuple(Carried(OPEN, f"sigma_{side}", constant * bound * SPREAD) for side, bound, constant in BLOCKS),
    "Y10": (
        *(Carried(theorem, "m", MINIBATCH) for theorem in (ONE, T_2A, T_2B)),
        *(
            Carried(theorem, f"sigma_{side}", 8 * bound * SPREAD)
            for theorem in (ONE, T_2A, T_2B, T_5)
            for side, bound, _ in BLOCKS
        ),
    ),
    "Y19": (Carried(T_2A, "bound", SMOOTH + OPTIMISATION),),
    "Y20": (Carried(T_2B, "bound", LIPSCHITZ + OPTIMISATION),),
    "Y21": (
        Carried(T_2A, "T", SMOOTH_T),
        Carried(T_2B, "T", LIPSCHITZ_T),
        Carried(T_2A, "eta", c / (L * larger), LARGER),  # of the proof; Theorem 7 prints sqrt L, claim Y22
        Carried(T_2B, "eta", c / (n * larger), LARGER),
        *(
            each
            for theorem in (T_2A, T_2B)
            for each in (
                Carried(theorem, "rate statistical", 1 / sqrt(n)),
                Carried(theorem, "rate privacy", SHARE / n, LEVEL),
            )
        ),
    ),
    "Y32": tuple(Carried(theorem, name, step) for theorem in (T_3, T_5) for name, step in STEPS),
    "Y34": (
        Carried(T_3, "rate variance", FACTOR / m),
        Carried(T_3, "rate noise in w", FACTOR * d * sigma_w**2),
        Carried(T_3, "rate noise in v", FACTOR * d * sigma_v**2),
    ),
    "Y38": (
        Carried(
            T_4,
            "bound",
            (G_w + L * G_v / rho) * (sqrt(8 * e / mu) + 2 * sqrt((G_w / mu) ** 2 + G_v**2 / (rho * mu)) / n)
            + 4 * G_v**2 / (rho * n),
        ),
        Carried(T_4, "rate optimisation", (1 + L / rho) * sqrt(e / mu)),
        Carried(T_4, "rate statistical", (1 + L / rho) / n * (1 / mu + 1 / sqrt(mu * rho))),
    ),
    "Y40": (
        Carried(T_5, "T", n),
        Carried(T_5, "rate statistical", FRONT * PARTS.subs(ell, 0)),
        Carried(T_5, "rate privacy", FRONT * (PARTS - PARTS.subs(ell, 0)), LEVEL),
    ),
}
