r"""What the utility bounds assume beyond their statements: how accurately a solver solves, and f outside its set.

The published rates are those of linear convergence: O(T log(gap_0/gamma)) gradients, where gap_0 is the gap at the
start and gamma the required one, and gap_0/gamma is at most 64 n^2/delta^2 for every mu and L.

The algorithms as published release x~ = x + N(0, sigma^2 I) without a projection, so that x~ leaves a bounded X. If f
grows as bend (|x| - r)^2/2 beyond X = [-r, r], the excess there is at least (bend/2) E max(N - 2 r, 0)^2.
"""

from typing import Any

from sympy import Integer, Rational, erfc, exp, log, pi, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, Step, Verdict, claim, proved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import D, L, c, d, delta, ell, epsilon, mu, mu_x, mu_y, n

phases, reach, nbar, mu_k, m_k, extra, ell_1, ell_2 = symbols(
    "phases reach nbar mu_k m_k extra ell_1 ell_2", positive=True
)
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


def published(names: str) -> Cited:
    """Cite the rates of solvers, which are theorems of other papers."""
    return Cited(f"published rates of {names}: T log(first gap/gamma), linear convergence", "references of the paper")


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
    published("SVRG, SARAH and Katyusha"),
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
SADDLE_GAPS: tuple[Step, ...] = (
    published("the solvers of Table 2"),
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
    published("the solvers of Table 2"),
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
    published("SVRG, SAGA, accelerated SVRG and Jin et al."),
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

r, gap, many = symbols("r gap many", positive=True)  # ell D/L, log(n/delta) and K
VARIANCE_REDUCED = n + sqrt(n) * r
KATYUSHA = n + n ** Rational(3, 4) * sqrt(r)


@claim("Z19", Kind.COMPLEXITY, location="proof of Theorem 3.4, gradient complexity")
def gradients() -> Decision:
    """With r = ell D/L, SVRG and SARAH take of the order of {VARIANCE_REDUCED} gradients, times {LOG}, and Katyusha
    {KATYUSHA}, times the same.
    """
    return proved(
        *CONVEX,
        Cited("sum_k 1/mu_k <= 1/mu <= sqrt n D/L and sum_k 1/sqrt(mu_k) <= (1 + sqrt 2)/sqrt mu", "geometric series"),
        Dominated(
            "SVRG, SARAH, on K blocks of n/K records: n + sqrt n ell D/L, times log(n/delta)",
            (n + sqrt(n) * r + many) * gap,
            VARIANCE_REDUCED * gap,
            Region(gap >= 1, many <= n),
        ),
        Dominated(
            "Katyusha: sum_k sqrt(nbar ell/mu_k) and sum_k sqrt(nbar), K <= n",
            (n + n ** Rational(3, 4) * sqrt(r) + sqrt(n) * sqrt(many)) * gap,
            KATYUSHA * gap,
            Region(gap >= 1, many >= 1, many <= n),
        ),
        Exceeds(
            "the displayed sqrt(n ell) D/L in place of sqrt n ell D/L loses a factor sqrt ell",
            sqrt(n) * ell,
            sqrt(n) * sqrt(ell) + n,
            Region(ell >= 1, gap >= 1, many >= 1),
            {n: s**2, ell: s**2},
        ),
        readings={
            "sqrt n ell D/L, as Theorem 3.4 and Table 1 have it": "proved",
            "sqrt(n ell) D/L, as a display of the appendix has it": "refuted",
        },
        note="With the rates that are cited the sums over the phases are as published, and the logarithm of the first "
        "gap over gamma is O(log(n/delta)) in every phase.",
        method=(Method.EXPONENTS, Method.PUBLISHED, Method.PROVER),
    )


bend = symbols("bend", positive=True)
EPSILON, DELTA = Rational(1, 2), Rational(1, 100)


def overshoot(sigma: Any, gap: Any) -> Any:
    """Return E max(N - gap, 0)^2 for N ~ N(0, sigma^2)."""
    t = gap / sigma
    return (sigma**2 + gap**2) * erfc(t / sqrt(2)) / 2 - gap * sigma * exp(-(t**2) / 2) / sqrt(2 * pi)


SMOOTH = "f ell-smooth on the whole space"
SADDLE = "f ell-smooth, strongly convex and strongly concave on the whole space"
LIPSCHITZ = "f L-Lipschitz on the whole space"


def condition(extended: str) -> str:
    """Return what a released point needs: a projection, or f as ``extended`` says."""
    return f"x~ is projected onto its set, or {extended}"


PROJECTED = condition(LIPSCHITZ)


def readings(extended: str, verdict: Verdict = "proved") -> dict[str, Verdict]:
    """Return the two readings of a released point, the first with ``verdict``."""
    return {condition(extended): verdict, "x~ not projected, f as assumed on its set alone": "refuted"}


def _escape(says: str, sigma: Any, reach: Any, bound: Any) -> tuple[Step, ...]:
    return (
        Cited(
            "|P(x~) - x| <= |x~ - x| for x in X: with a projection the same constants", "projection onto a convex set"
        ),
        Counterexample(
            f"without one: {says}, with bend (|x| - r)^2/2 added beyond",
            bend * overshoot(sigma, 2 * reach) / 2 <= bound.subs(INSTANCE if reach == ONE else PHASED_INSTANCE),
            {bend: 10**9},
        ),
    )


# Algorithms 1 and 3 at n = 10, one dimension a block, mu = ell = 1 on X = [-1, 1]
TEN, ONE = Integer(10), Integer(1)
INSTANCE = {n: TEN, d: 1, mu: 1, epsilon: EPSILON, delta: DELTA}


def strongly_convex(bound: Any) -> tuple[Step, ...]:
    """Take f = x^2/2, L = 1; ``bound`` is what the claim states."""
    sigma = 4 * sqrt(2 * log(Rational(5, 2) / DELTA)) / (TEN * EPSILON)
    return _escape("f = x^2/2 on [-1, 1], n = 10, epsilon = 1/2, delta = 1/100", sigma, ONE, bound)


def saddle(bound: Any) -> tuple[Step, ...]:
    """Take f = x^2/2 - y^2/2, L = sqrt 2."""
    sigma = 8 * sqrt(2) / (TEN * EPSILON) * sqrt(2 * log(5 / DELTA))
    return _escape("f = (x^2 - y^2)/2 on [-1, 1]^2, n = 10, epsilon = 1/2, delta = 1/100", sigma, ONE, bound)


# Algorithms 2 and 4 at n = 16, K = 4 phases of 4 records, L = D = 1, f = 0 on [-1/100, 1/100]
RECORDS, COUNT, SMALL = Integer(16), Integer(4), Rational(1, 100)
PHASED_INSTANCE = {n: RECORDS, d: 1, L: 1, D: 1, epsilon: EPSILON, delta: DELTA}


def convex(bound: Any) -> tuple[Step, ...]:
    """Follow the last phase of Algorithm 2."""
    root = sqrt(log(Rational(5, 2) / DELTA))
    mu = 14 * COUNT * root / (RECORDS * EPSILON)
    sigma = 4 * sqrt(2) * root / (mu * 2**COUNT * RECORDS / COUNT * EPSILON)
    return _escape("f = 0 on [-1/100, 1/100], n = 16, K = 4, L = D = 1", sigma, SMALL, bound)


def convex_concave(bound: Any) -> tuple[Step, ...]:
    """Follow the last phase of Algorithm 4."""
    root = sqrt(log(5 / DELTA))
    mu = 13 * COUNT * root / (RECORDS * EPSILON)
    sigma = 8 * COUNT / (RECORDS * EPSILON) * sqrt(2) * root / (mu * sqrt(2**COUNT))
    return _escape("f = 0 on [-1/100, 1/100]^2, n = 16, K = 4, L = D = 1", sigma, SMALL, bound)


def one_sided(bound: Any) -> tuple[Step, ...]:
    """Follow the last phase of the variant without a regulariser in y, mu_y = 1: f = -y^2/2 there."""
    root = sqrt(log(Rational(5, 2) / DELTA))
    mu_k = 3 * 4 * COUNT * root / (RECORDS * EPSILON) * 2**COUNT  # above mu_y = 1
    sigma = 4 * COUNT / (RECORDS * EPSILON) * sqrt(2) * root / sqrt(mu_k)
    return _escape("f = -y^2/2 on [-1/100, 1/100]^2, n = 16, K = 4, L = D = mu_y = 1", sigma, SMALL, bound)
