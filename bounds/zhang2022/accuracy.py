r"""How accurately a solver must solve: the first gap over the required gap gamma.

The published rates are those of linear convergence: O(T log(gap_0/gamma)) gradients, where gap_0 is the gap at the
start. For L-Lipschitz, mu-strongly convex functions gap_0 is at most 2 L^2/mu, and gap_0/gamma is at most
64 n^2/delta^2 for every mu and L, so that the logarithm is O(log(n/delta)). log(1/gamma) alone would also contain
log(mu/L^2).
"""

from __future__ import annotations

from sympy import Integer, Rational, log, symbols

from dpcheck.bounds.claim import Step
from dpcheck.bounds.evidence import AtMost, Cited, Identity, Inequality, over
from dpcheck.bounds.symbols import L, c, delta, mu, mu_x, mu_y, n

reach, nbar, mu_k, m_k, extra, ell_1, ell_2 = symbols("reach nbar mu_k m_k extra ell_1 ell_2", positive=True)
RELATIVE = "the solver's logarithm is of its first gap over gamma, as in the published rates"

LOG = log(n / delta)
LOGARITHM: tuple[Step, ...] = (
    Identity("the logarithm of 64 n^2/delta^2", lambda: log(64 * n**2 / delta**2), 6 * log(Integer(2)) + 2 * LOG),
    Inequality(
        "log(64 n^2/delta^2) <= 8 log(n/delta) for n/delta >= 2, with ell_2 = log 2 and ell_1 = log(n/delta)",
        6 * ell_2 + 2 * ell_1,
        c * ell_1,
        over(ell_1, ell_2, ell_2 <= ell_1),
        (c, 8),
    ),
)


def _rates(names: str) -> Cited:
    return Cited(f"published rates of {names}: T log(first gap/gamma), linear convergence", "references of the paper")


def given(names: str) -> str:
    """Return the condition of a claim that rests on published rates, which are theorems of other papers."""
    return f"the published rates of {names} hold for these problems, T log(first gap/gamma)"


_SLOPE = Inequality(
    "a start anywhere: mu r^2/2 <= F(x_0) - F(x_S) <= L r, so that the first gap is at most 2 L^2/mu",
    L * reach,
    2 * L**2 / mu,
    over(L, mu, reach, mu * reach**2 / 2 <= L * reach),
)
_CENTRED = Identity(
    "a start at the centre of the regulariser, or its projection, reach from the solution: within L^2/(2 mu_k)",
    L * reach - mu_k * reach**2 / 2,
    L**2 / (2 * mu_k) - mu_k / 2 * (reach - L / mu_k) ** 2,
)
_FEWER = AtMost("at most 64 n^2/delta^2, n = nbar + extra", 16 * nbar**2, 64 * (nbar + extra) ** 2)

# Algorithm 1, gamma = delta^2 L^2/(32 mu n^2)
STRONGLY_CONVEX: tuple[Step, ...] = (
    _SLOPE,
    Identity("over gamma", lambda: (2 * L**2 / mu) / (delta**2 * L**2 / (32 * mu * n**2)), 64 * n**2 / delta**2),
    *LOGARITHM,
)
# Algorithm 2, phase k
CONVEX: tuple[Step, ...] = (
    _rates("SVRG, SARAH and Katyusha"),
    _CENTRED,
    Identity(
        "over gamma_k = delta^2 L^2/(32 mu_k nbar^2)",
        lambda: L**2 / (2 * mu_k) / (delta**2 * L**2 / (32 * mu_k * nbar**2)),
        16 * nbar**2 / delta**2,
    ),
    _FEWER,
    *LOGARITHM,
)
# Algorithm 3, gamma = delta L^2/(16 mu n^2)
SADDLE: tuple[Step, ...] = (
    _rates("the solvers of Table 2"),
    _SLOPE,
    Inequality(
        "in x and in y: the first duality gap is at most 4 L^2/mu",
        2 * L**2 / mu_x + 2 * L**2 / mu_y,
        4 * L**2 / mu,
        over(L, mu, mu_x, mu_y, mu <= mu_x, mu <= mu_y),
    ),
    Identity("over gamma", lambda: (4 * L**2 / mu) / (delta * L**2 / (16 * mu * n**2)), 64 * n**2 / delta),
    *LOGARITHM,
)
# Algorithms 4 and 5, phase k, started at (x~_{k-1}, 0)
PHASED: tuple[Step, ...] = (
    _rates("the solvers of Table 2"),
    _CENTRED,
    Inequality(
        "in x and in y, whose regularisers have their centres at the start: the first gap is at most L^2/mu",
        L**2 / (2 * mu_k) + L**2 / (2 * mu),
        L**2 / mu,
        over(L, mu, mu_k, mu <= mu_k),
    ),
    Identity(
        "over gamma = delta L^2/(16 mu nbar^2)",
        lambda: (L**2 / mu) / (delta * L**2 / (16 * mu * nbar**2)),
        16 * nbar**2 / delta,
    ),
    _FEWER,
    *LOGARITHM,
)
# The variant without a regulariser in y: Markov asks for gamma = delta L^2/(8 m_k nbar^2), m_k = min{mu_k, mu_y}
ONE_SIDED: tuple[Step, ...] = (
    _rates("SVRG, SAGA, accelerated SVRG and Jin et al."),
    _SLOPE,
    _CENTRED,
    Inequality(
        "the two first gaps together",
        2 * L**2 / mu_y + L**2 / (2 * mu_k),
        Rational(5, 2) * L**2 / m_k,
        over(L, mu_k, mu_y, m_k, m_k <= mu_k, m_k <= mu_y),
    ),
    Identity(
        "over gamma", lambda: (Rational(5, 2) * L**2 / m_k) / (delta * L**2 / (8 * m_k * nbar**2)), 20 * nbar**2 / delta
    ),
    AtMost("at most 64 n^2/delta^2, n = nbar + extra", 20 * nbar**2, 64 * (nbar + extra) ** 2),
    *LOGARITHM,
)
