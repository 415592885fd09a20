r"""Corollary B.6: phased output perturbation for smooth convex-strongly concave problems.

Setting as in ``theorem_4_5``, with f mu_y-strongly concave in y, mu_y >= L/(D sqrt n), and no regulariser
in y. Let m_k = min{mu_k, mu_y}. Phase k solves to an energy of L^2/(nbar^2 m_k) with probability
1 - delta/4 and releases x~_k = x_k + N(0, sigma_k^2 I), projected unless f is as assumed everywhere,

    sigma_k = (4 L/(nbar epsilon)) sqrt(2 log(2.5/delta)/(mu_k m_k)),
    mu = 3 (L/D) max{ 1/sqrt n, 4 log2(n) sqrt(d log(2.5/delta))/(n epsilon) },   d = d_x.

Guarantee. (epsilon, delta)-DP, and by [1, Corollary B.6] max_y E F(x~_K, y) - F(x*, y*) is at most

    6 L D log(n) (1/sqrt n + 4 sqrt(d log(2.5/delta))/(n epsilon))
    + L^2 log^2(n) (8/(mu_y n) + 65 d log(2.5 n/delta)/(mu_y n^2 epsilon^2)).

``bound`` is what the proof supports, with K = floor(log2 n) and nbar = floor(n/K): the first line with log2 n
(claim Z47), and for the second the sum over the phases itself,

    L^2 (8 K/(mu_y nbar) + 65 (K - 1) d log(2.5/delta)/(mu_y nbar^2 epsilon^2)),

since the noise of each of the K - 1 earlier phases has the weight 1/mu_y (claim Z48).

Arguments. n records, d dimension of x, epsilon, delta, L Lipschitz constant, D radius, mu_y strong concavity,
k phase.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2022.corollary_b_6")
>>> problem = dict(n=10_000, d=50, epsilon=0.5, delta=1e-6, L=1, D=1, mu_y=0.5)
>>> round(thm.schedule(**problem)["mu"], 3)
0.866
>>> round(thm.bound(**problem), 2)
10.57
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Max, Min, Rational, floor, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, proved, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import D, K, L, c, d, delta, epsilon, k, kappa_y, mu, mu_y, n, sigma
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2022.lemma_b import STABLE
from dpcheck.bounds.zhang2022.phases import BITS, BLOCK, PHASE, PHASES, PRINTED, TRUE, phases, short
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG, ONE, PRIVACY, RECORDS, SHARES, SMALL, energy

SHARE = sqrt(d * LOG) / (n * epsilon)
REGULARISER = 3 * L / D * Max(1 / sqrt(n), 4 * BITS * SHARE)
FIRST = 6 * L * D * BITS * (1 / sqrt(n) + 4 * SHARE)
SECOND = L**2 / mu_y * (8 * K / BLOCK + 65 * (K - 1) * d * LOG / (BLOCK * epsilon) ** 2)

THEOREMS = (
    Theorem(
        id="zhang2022.corollary_b_6",
        title="Phased output perturbation, smooth convex-strongly concave case",
        paper="zhang2022",
        location="Corollary B.6, Appendix B.4, with the sum that its proof supports",
        quantity="largest expected population value of the last released x, less the saddle value",
        quantity_latex=r"\max_y \mathbb{E}[F(\tilde{x}_K, y)] - F(x^*, y^*)",
        parameters=(
            *PRIVACY,
            Parameter(D, "radius of X and of Y about 0"),
            Parameter(mu_y, "strong concavity of f in y"),
            Parameter(k, "phase", default=1),
        ),
        assumptions=(
            Assumption(
                "f", "every f is convex in x, mu_y-strongly concave in y, L-Lipschitz, ell-smooth", "Corollary B.6"
            ),
            Assumption("bounded", "|x| <= D and |y| <= D on X and Y, and x_0 = 0", "Corollary B.6"),
            Assumption("mu_y", "mu_y >= L/(D sqrt(n))", "Corollary B.6", mu_y >= L / (D * sqrt(n))),
            RECORDS,
            Assumption(
                "solver",
                "mu_k |x_k - x_k*|^2 + mu_y |y_k - y_k*|^2 <= L^2/(nbar^2 min{mu_k, mu_y}) with probability "
                "1 - delta/4",
                "Appendix B.4",
            ),
            Assumption("released", "x~ is projected onto X, or f is as assumed everywhere", "claim Z47"),
            *PHASES,
            *SMALL,
        ),
        schedule_formulas=((K, floor(BITS)), (mu, REGULARISER), (energy, L**2 / (BLOCK**2 * Min(mu * 2**k, mu_y)))),
        noise_formulas=((sigma, 4 * L * sqrt(2 * LOG / (mu * 2**k * Min(mu * 2**k, mu_y))) / (BLOCK * epsilon)),),
        bound_formula=FIRST + SECOND,
        regimes=(
            ("statistical", L * D * log(n) / sqrt(n)),
            ("privacy", L * D * log(n) * sqrt(d * log(1 / delta)) / (n * epsilon)),
            ("strong concavity", L**2 * log(n) ** 2 / (mu_y * n)),
            ("its noise", L**2 * log(n) ** 3 * d * log(1 / delta) / (mu_y * n**2 * epsilon**2)),
        ),
    ),
)


nbar, mu_k, m_k = symbols("nbar mu_k m_k", positive=True)
du, dx = symbols("du dx", real=True)
MOVED = mu_k * du**2
TINY = Rational(1, 10**12)
SIGMA_K = 4 * L / (nbar * epsilon) * sqrt(2 * LOG / (mu_k * m_k))
QUARTER = delta / 4


@claim("Z46", Kind.CALIBRATION, location="Appendix B.4", sigma=SIGMA_K, rare=QUARTER, small=ONE)
@carries("zhang2022.corollary_b_6", {"sigma": SIGMA_K}, {m_k: Min(mu * 2**k, mu_y), **PHASE})
def calibration() -> Decision:
    """For f jointly L-Lipschitz, m_k = min(mu_k, mu_y) and nbar records in a block, sigma_k = {sigma} makes a phase
    (epsilon, delta)-DP when the solver keeps its bound but for a probability of {rare}, for {small}.
    """
    sensitivity, multiplier = 4 * L / (nbar * sqrt(mu_k * m_k)), sqrt(2 * LOG) / epsilon
    return proved(
        Quoted("the energy between saddle points, m_k the smaller of mu_k and mu_y", "Z23"),
        Identity(
            "the stability sqrt(4 L^2/(m_k nbar^2)/mu_k), and two solver errors of half of it",
            lambda: 2 * sqrt(STABLE.subs({mu: m_k, n: nbar}) / mu_k),
            sensitivity,
        ),
        Identity("noise over sensitivity", lambda: SIGMA_K / sensitivity, multiplier),
        Private("it is (epsilon, delta/2)-DP", multiplier, SHARES, epsilon, delta / 2),
        Identity("and two solver failures of delta/4", lambda: QUARTER + QUARTER, delta / 2),
        Quoted("which make the other half of delta", "Z07"),
        short(multiplier.subs({epsilon: 1, delta: TINY}), 1, TINY),
        readings={TRUE: "proved", PRINTED: "refuted"},
        note="As Z27, with one block released.",
        method=Method.PRIVACY_CURVE,
    )


@claim("Z51", Kind.LEMMA, location="proof of Corollary B.6", moved=MOVED)
def stability() -> Decision:
    """Without a regulariser in y, moving the proximal centre by du moves y so that mu_y |dy|^2 is at most {moved}."""
    return proved(
        Cited(
            "mu_k (u - x) and 0 are in the field of f at the saddle, which is monotone with mu_y |dy|^2 to spare",
            "strong concavity",
        ),
        Identity(
            "so that mu_y |dy|^2 <= mu_k dx (du - dx), one coordinate each: the lemma's bound less a square and less "
            "three quarters of itself",
            mu_k * dx * (du - dx),
            lambda: MOVED - mu_k * (dx - du / 2) ** 2 - 3 * MOVED / 4,
        ),
        note="Even with a quarter of the lemma's constant.",
    )


level = symbols("level", positive=True)  # log(1/delta)
RATE = 1 / sqrt(n) + sqrt(d * level) / (n * epsilon)  # in units of L D
LEAST = 1 / sqrt(n)


def mean_of_largest() -> Fraction:
    """Return E max_y F(x, y) for F = x y - y^2/2, attained at y = x, and x uniform on {-1, 1}."""
    return sum((Fraction(x) ** 2 / 2 for x in (-1, 1)), Fraction(0)) / 2


@claim("Z49", Kind.REMARK, location="after Corollary B.6")
def implied() -> Decision:
    """The bound on max_y E F(x~, y) - F(x*, y*) implies the same bound on E[Phi(x~) - Phi(x*)], Phi = max_y F."""
    x, y, inside, outside = symbols("x y inside outside", real=True)
    return refuted(
        Identity(
            "F = x y - y^2/2 is linear in x and 1-strongly concave in y: max_y F = x^2/2, at y = x",
            x * y - y**2 / 2,
            x**2 / 2 - (y - x) ** 2 / 2,
        ),
        Identity(
            "x~ = 1 or -1 with equal chance: E F(x~, y) = -y^2/2, whose maximum is 0",
            lambda: ((y - y**2 / 2) + (-y - y**2 / 2)) / 2,
            -(y**2) / 2,
        ),
        Enumerated("E max_y F(x~, y)", mean_of_largest, (), Fraction(1, 2)),
        Counterexample(
            "E Phi(x~) - Phi(x*) = 1/2 while max_y E F(x~, y) - F(x*, y*) = 0",
            inside <= outside,
            {inside: Rational(1, 2), outside: 0},
        ),
        Identity(
            "to add: L kappa_y E|x_K - x_K'|, which is 4 L K/(n root) at most, root^2 = mu_K m_K at its least, "
            "3 (L/D)^2",
            lambda: L * kappa_y * 4 * L * phases / (n * (sqrt(3) * L / D)),
            4 / sqrt(3) * L * D * kappa_y * phases / n,
        ),
        Cited("E max >= max E always, so that the implication is the wrong way round", "Jensen"),
        repaired="the corollary bounds max_y E F(x~, y). In E max_y F(x~, y) the maximiser depends on x~_K: the last "
        "step keeps its bound, Phi being L-Lipschitz, but Lemma B.5 at k = K has Delta_y = kappa_y E|x_K - x_K'| in "
        "place of 0, which for K = log2 n adds at most (4/sqrt 3) L D kappa_y K/n to the bound",
        note="A maximum outside the expectation bounds no maximum inside it.",
        method=Method.ARITHMETIC,
    )


@claim("Z50", Kind.REMARK, location="after Corollary B.6", rate=RATE, least=LEAST, level=log(1 / delta))
def optimal() -> Decision:
    """The bound of Corollary B.6 is, up to logarithms, the optimal rate {rate} for every mu_y of {least} at least,
    where level is {level} and L = D = 1.
    """
    region = Region(sqrt(d * level) <= n * epsilon, level >= 1, mu_y >= LEAST, mu_y <= 1)
    extra = 1 / (n * mu_y) + d * level / (n**2 * epsilon**2 * mu_y)
    return conditional(
        Quoted("the first line of the bound, and what it needs", "Z47"),
        Quoted("the second line", "Z48"),
        Inequality(
            "log(2.5/delta) is of the order of log(1/delta)",
            log(Rational(5, 2) / delta),
            c * log(1 / delta),
            over(delta <= Rational(1, 2)),
            (c, Rational(12, 5)),
        ),
        Exceeds(
            "with mu_y = 1/sqrt n, as allowed, and sqrt(d level)/n well above 1/sqrt n",
            extra,
            RATE,
            region,
            {n: s**4, mu_y: s**-2, d: s**6},
        ),
        Dominated(
            "with mu_y at least of order sqrt(d level)/(n epsilon) too, up to logarithms",
            extra,
            RATE,
            Region(*region.relations, mu_y >= sqrt(d * level) / (n * epsilon)),
        ),
        Quoted("that no private algorithm has a better rate", "Z53"),
        readings={"mu_y of order one": "conditional", "every mu_y >= L/(D sqrt n)": "refuted"},
        condition="mu_y is at least of order (L/D) sqrt(d log(1/delta))/(n epsilon); and the conditions of the bound "
        "(Z47, Z48) and of the cited lower bound (Z53)",
        note="The term in 1/mu_y is b^2/mu_y, at most sqrt n b^2, which exceeds b once b is above 1/sqrt n. And it is "
        "a rate for max_y E F, not for E Phi (Z49).",
        method=(Method.EXPONENTS, Method.PUBLISHED, Method.PROVER),
    )
