"""The formulas of the registered theorems, each with the claim that it belongs to."""

from __future__ import annotations

from typing import Any

from sympy import Min, Rational, floor, log, sqrt

from dpcheck.bounds.carried import Carried
from dpcheck.bounds.symbols import D, K, L, c, d, delta, ell, epsilon, k, kappa, kappa_x, kappa_y, mu, mu_x, mu_y, n
from dpcheck.bounds.zhang2022.corollary_b_6 import SIGMA_K as SIGMA_B_6
from dpcheck.bounds.zhang2022.corollary_b_6 import m_k, mu_k, nbar
from dpcheck.bounds.zhang2022.corollary_b_6_sum import FIRST, PRINTED_MU
from dpcheck.bounds.zhang2022.phases import b, p, phases
from dpcheck.bounds.zhang2022.table_2 import EXTRAGRADIENT, FAST, PLAIN, r
from dpcheck.bounds.zhang2022.theorem_3_3 import POPULATION
from dpcheck.bounds.zhang2022.theorem_3_4 import SIGMA_K as SIGMA_3_4
from dpcheck.bounds.zhang2022.theorem_3_4_sum import REGULARISER as REGULARISER_3_4
from dpcheck.bounds.zhang2022.theorem_3_4_sum import RISK as RISK_3_4
from dpcheck.bounds.zhang2022.theorem_4_3 import POPULATION_GAP
from dpcheck.bounds.zhang2022.theorem_4_5 import SIGMA_K as SIGMA_4_5
from dpcheck.bounds.zhang2022.theorem_4_5_sum import GAP
from dpcheck.bounds.zhang2022.theorem_4_5_sum import REGULARISER as REGULARISER_4_5

HALF, FIFTH = log(Rational(5, 2) / delta), log(5 / delta)
LEAST = Min(mu_x, mu_y)
PRIVATE = d * log(1 / delta) / (n * epsilon) ** 2
LOGS = log(n) / log(2)
PHASE = ((mu_k, mu * 2**k), (nbar, floor(n / K)))  # phase k of K whole phases
NUMBERS = ((kappa_x, ell / mu_x), (kappa_y, ell / mu_y), (kappa, ell / LEAST))
EACH = ell**2 / (mu_x * mu_y) + ell / LEAST
B_6 = L**2 / mu_y
NBAR = floor(n / K)


def _sums(level: Any) -> tuple[tuple[Any, Any], ...]:
    """Return what the letters of the phases' sums stand for."""
    return ((phases, LOGS), (p, 1 / sqrt(n)), (b, sqrt(d * level) / (n * epsilon)))


def _phased(theorem: str, power: int) -> tuple[Carried, Carried]:
    """Return the rates of Theorems 3.4 and 4.5 and Corollary B.6, with so many logarithms."""
    unit = L * D * log(n) ** power
    return (
        Carried(theorem, "rate statistical", unit / sqrt(n)),
        Carried(theorem, "rate privacy", unit * sqrt(PRIVATE)),
    )


T_3_3, T_3_4, T_4_3 = "zhang2022.theorem_3_3", "zhang2022.theorem_3_4", "zhang2022.theorem_4_3"
T_4_5, COROLLARY = "zhang2022.theorem_4_5", "zhang2022.corollary_b_6"

CARRIED = {
    "Z10": (Carried(T_3_3, "energy", (L / (mu * n)) ** 2 * mu),),
    "Z06": (Carried(T_3_3, "sigma", 4 * L / (mu * n) * sqrt(2 * HALF) / epsilon),),
    "Z09": (
        Carried(T_3_3, "bound", POPULATION.subs(c, 7), ((kappa, ell / mu),)),
        Carried(T_3_3, "rate statistical", ell / mu * L**2 / (mu * n)),
        Carried(T_3_3, "rate privacy", ell / mu * L**2 / mu * PRIVATE),
    ),
    "Z13": (Carried(T_3_4, "sigma", SIGMA_3_4, PHASE),),
    "Z14": (Carried(T_3_4, "energy", mu_k * (L / (mu_k * nbar)) ** 2, PHASE),),
    "Z17": tuple(Carried(theorem, "K", floor(LOGS)) for theorem in (T_3_4, T_4_5, COROLLARY)),
    "Z18": (
        Carried(T_3_4, "mu", REGULARISER_3_4, _sums(HALF)),
        Carried(T_3_4, "bound", RISK_3_4.subs(c, 7), _sums(HALF)),
        *_phased(T_3_4, 1),
    ),
    "Z27": tuple(
        Carried(T_4_3, f"sigma_{side}", 8 * L * sqrt(2 * FIFTH) / (n * epsilon * sqrt(least * LEAST)))
        for side, least in (("x", mu_x), ("y", mu_y))
    ),
    "Z30": (
        Carried(T_4_3, "bound", POPULATION_GAP.subs(c, 3), (*NUMBERS, (mu, LEAST))),
        Carried(T_4_3, "rate statistical", L**2 * EACH / (LEAST * n)),
        Carried(T_4_3, "rate privacy", L**2 * EACH * PRIVATE / LEAST),
    ),
    "Z31": (Carried(T_4_3, "energy", L**2 / (n**2 * LEAST)),),
    "Z37": (Carried(T_4_5, "mu", REGULARISER_4_5, _sums(FIFTH)),),
    "Z38": (Carried(T_4_5, "bound", GAP, _sums(FIFTH)), *_phased(T_4_5, 2)),
    "Z34": (Carried(T_4_5, "energy", L**2 / (mu * nbar**2), PHASE),),
    "Z39": (Carried(T_4_5, "sigma", SIGMA_4_5, PHASE),),
    "Z46": (Carried(COROLLARY, "sigma", SIGMA_B_6, ((m_k, Min(mu * 2**k, mu_y)), *PHASE)),),
    "Z47": (Carried(COROLLARY, "mu", PRINTED_MU, _sums(HALF)), *_phased(COROLLARY, 1)),
    "Z48": (
        Carried(
            COROLLARY,
            "bound",
            FIRST + B_6 * (8 * K / NBAR + 65 * (K - 1) * d * HALF / (NBAR * epsilon) ** 2),
            _sums(HALF),
        ),
        Carried(COROLLARY, "energy", L**2 / (nbar**2 * m_k), ((m_k, Min(mu * 2**k, mu_y)), *PHASE)),
        Carried(COROLLARY, "rate strong concavity", B_6 * log(n) ** 2 / n),
        Carried(COROLLARY, "rate its noise", B_6 * log(n) ** 3 * PRIVATE),
    ),
    "Z40": (
        Carried("zhang2022.table_2_catalyst", "rate smoothness", n * r),
        Carried("zhang2022.table_2_catalyst", "rate regulariser", n ** Rational(5, 4)),
    ),
    "Z41": (
        Carried("zhang2022.table_2_extragradient", "rate smoothness", EXTRAGRADIENT - n**2),
        Carried("zhang2022.table_2_extragradient", "rate regulariser", EXTRAGRADIENT.subs(r, 0)),
    ),
    "Z42": (
        Carried("zhang2022.table_2_svrg", "rate records", n),
        Carried("zhang2022.table_2_svrg", "rate smoothness", PLAIN - n),
        Carried("zhang2022.table_2_accelerated_svrg", "rate records", n),
        Carried("zhang2022.table_2_accelerated_svrg", "rate smoothness", FAST - n),
    ),
    "Z44": (
        Carried("zhang2022.table_2_jin", "rate records", n),
        Carried("zhang2022.table_2_jin", "rate smoothness", FAST - n),
    ),
}
