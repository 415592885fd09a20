"""The formulas of the registered theorems, each with the claim that it belongs to."""

from __future__ import annotations

from sympy import Integer, Max, Rational, ceiling, floor, log, sqrt

from dpcheck.bounds.carried import Carried
from dpcheck.bounds.symbols import L, T, d, delta, epsilon, mu, n
from dpcheck.bounds.xu2026 import noise, schedule
from dpcheck.bounds.xu2026.lemma_5 import F_0, FIRST, INNER, LENGTH, LONG, ORDER, PERIOD, M, a
from dpcheck.bounds.xu2026.theorem_2 import S_1, S_2, C_u, C_v, delta_1, q

ERROR = sqrt(d * log(1 / delta)) / (n * epsilon)
A = ((a, ERROR),)
LOGS = log(4 / delta_1)
EMPIRICAL, POPULATION = ("xu2026.theorem_1", "xu2026.theorem_3"), "xu2026.theorem_2"
EACH = (*EMPIRICAL, POPULATION)
# of the proof of Lemma 5, with epsilon; its statement has none
SECOND = (M * n * d * log(1 / delta) / epsilon**2) ** Rational(1, 3) / (L * F_0) ** Rational(1, 6)
REFRESH = ((noise.C, C_v), (noise.S, S_1), (noise.count, T / q))
DIFFERENCE = ((noise.C, C_u), (noise.S, S_2), (noise.count, T))

CARRIED = {
    "002:Alg3 l.1-2": tuple(
        each
        for theorem in EACH
        for each in (
            Carried(theorem, "sigma_omega", noise.DEVIATION, REFRESH),
            Carried(theorem, "sigma_zeta", noise.DEVIATION, DIFFERENCE),
        )
    ),
    "002:Lem5 T,q": tuple(
        each
        for theorem in EMPIRICAL
        for each in (
            Carried(theorem, "T", ceiling(Max(LONG, 1 / a)), A),
            Carried(theorem, "q", Max(1, floor(PERIOD)), A),
            Carried(theorem, "S_1", n),
        )
    ),
    "002:Lem5 S2": tuple(Carried(theorem, "S_2", ceiling(Max(FIRST, SECOND))) for theorem in EMPIRICAL),
    "002:Lem5 eta=1/(2L)": tuple(Carried(theorem, "eta", LENGTH) for theorem in EMPIRICAL),
    "002:K=1": tuple(Carried(theorem, "K", Integer(INNER)) for theorem in EMPIRICAL),
    "002:Thm1": tuple(Carried(theorem, "rate privacy", ORDER, A) for theorem in EMPIRICAL),
    "002:T pop": (Carried(POPULATION, "T", ceiling(schedule.T_PRINTED), A),),
    "002:budget": (
        Carried(POPULATION, "q", Max(1, floor(schedule.Q_PRINTED)), A),
        Carried(POPULATION, "S_1", ceiling(schedule.S_1_PRINTED)),
        Carried(POPULATION, "S_2", ceiling(LOGS**2 * L / mu * schedule.Q_PRINTED), A),
        Carried(POPULATION, "K", ceiling(L / mu)),
    ),
    "002:(41)(43)": (Carried(POPULATION, "lambda", 1 / (6 * L)),),
    "002:(44)": (
        Carried(POPULATION, "eta", sqrt(a) / (L * LOGS), A),
        Carried(POPULATION, "r", sqrt(a) / (L * LOGS), A),
        Carried(POPULATION, "D", a / (L * LOGS) ** 2, A),
    ),
    "002:Thm2": (
        Carried(POPULATION, "rate statistical", n ** Rational(-1, 3)),
        Carried(POPULATION, "rate privacy", sqrt(a), A),
    ),
}
