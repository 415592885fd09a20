r"""What the paper says about optimality, about estimating L and after Corollary B.6 (claims Z49, Z50, Z53, Z54)."""

from fractions import Fraction

from sympy import Rational, exp, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.calibration import NotPrivate
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import D, L, c, d, delta, epsilon, kappa_y, mu, mu_y, n

level, chance, other = symbols("level chance other", positive=True)  # log(1/delta), two chances
phases = symbols("phases", positive=True)
TINY = Rational(1, 10**5)
STRONG = 1 / (mu * n) + d * level / (mu * n**2 * epsilon**2)  # in units of L^2
CONVEX = 1 / sqrt(n) + sqrt(d * level) / (n * epsilon)  # in units of L D
LEAST = 1 / sqrt(n)


def chance_zero(records: int, ones: int) -> Fraction:
    """Return P[output = 0] of output perturbation on f(x; z) = -z x + x^2/2, noise as the largest |z|.

    With ``ones`` of the records 1 and the others 0. Without a 1 the estimate of the Lipschitz constant is 0 near the
    minimiser 0, so that there is no noise; with one there is, and a continuous output is 0 with probability 0.
    """
    minimiser, estimate = Fraction(ones, records), Fraction(min(ones, 1))
    return Fraction(int(minimiser == 0 and estimate == 0))


@claim("Z53", Kind.LOWER_BOUND, location="Appendices B.2 and B.3, near-optimality", level=log(1 / delta))
def lower() -> Decision:
    """No private algorithm does better than the order of {STRONG}, times L^2, for strongly convex-strongly concave
    problems, and of {CONVEX}, times L D, for convex-concave ones, where level is {level}.
    """
    return conditional(
        Identity("(L^2/mu) f(mu x/L), f with L = mu = 1: the slope is L", lambda: L**2 / mu * (mu / L), L),
        Identity("and the curvature mu, so that L^2/mu is the unit of the risk", lambda: L**2 / mu * (mu / L) ** 2, mu),
        Cited(
            "with Y a single point a minimax problem is a minimisation problem, and its gap the excess risk",
            "definition",
        ),
        Cited(
            "lower bounds of private stochastic convex optimisation",
            "Bassily et al. 2014, 2019; Steinke and Ullman 2016 for log(1/delta)",
        ),
        Inequality("log(1/delta) is 1 at least for delta <= 1/3", 1, log(1 / delta), over(delta <= Rational(1, 3))),
        # Each bound outgrows what bounds every risk, and that they fit together at mu of order one.
        Exceeds(
            "without a ceiling the convex bound outgrows 2 L D, which bounds every risk, as d grows",
            CONVEX,
            2,
            Region(level >= 1),
            {d: s},
        ),
        Exceeds(
            "and the strongly convex one 2 L^2/mu, which does for L-Lipschitz, mu-strongly convex F",
            STRONG,
            2 / mu,
            Region(level >= 1),
            {d: s},
        ),
        Dominated(
            "at mu of order one the strongly convex bound is below the convex one, as it must be",
            STRONG.subs(mu, 1),
            CONVEX,
            Region(level >= 1, epsilon <= 1, sqrt(d * level) <= n * epsilon),
        ),
        readings={
            "as printed, for every d, delta and epsilon": "refuted",
            "the smaller of it and a constant, in the region of the cited bounds": "conditional",
        },
        condition="the cited lower bounds, which are for fixed L and D, epsilon <= 1, 2^{-n^{1-o(1)}} <= delta <= "
        "1/n^{1+Omega(1)}, and rates of at most a constant",
        note="The reduction to a single y is sound; the bounds are other papers' theorems, with conditions of their "
        "own.",
        method=(Method.EXPONENTS, Method.PUBLISHED, Method.PROVER),
    )


@claim("Z54", Kind.REMARK, location="Appendix A.1")
def estimated_constant() -> Decision:
    """Any estimate of the upper bound of the Lipschitz constant can be used for L."""
    return conditional(
        Enumerated(
            "no record is 1: the estimate from the data is 0, no noise, the output is 0", chance_zero, (10, 0), 1
        ),
        Enumerated("one record is 1: noise, and the output 0 has probability 0", chance_zero, (10, 1), 0),
        Counterexample(
            "no epsilon and delta < 1 serve: the chances of {0} are 1 and 0",
            chance <= exp(epsilon) * other + delta,
            {chance: 1, other: 0, epsilon: 100, delta: Rational(999, 1000)},
        ),
        NotPrivate(
            "L/10 fixed in advance: an exact solver in a phase of Algorithm 2 on f = z x, z = 1 and -1, moves by "
            "2 L/(mu_k nbar), at epsilon = 1 and delta = 1e-5",
            4 * sqrt(2 * log(Rational(5, 2) / TINY)) / 2 / 10,
            1,
            TINY,
        ),
        Cited(
            "a bound on L that no record can change leaves the proofs of Theorems 3.3 to 4.5 as they are",
            "they use L only as an upper bound",
        ),
        readings={
            "a bound known without the data": "proved",
            "an estimate from the data": "refuted",
            "a value fixed in advance that is below L": "refuted",
        },
        condition="the estimate is an upper bound for all records that could occur and does not depend on the data, "
        "or is private itself",
        note="The noise would carry the estimate: on two neighbouring datasets it may be none on one and some on the "
        "other.",
        method=Method.ENUMERATION,
    )


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
        readings={
            "the one bound implies the other": "refuted",
            "with (4/sqrt 3) L D kappa_y K/n more, K = log2 n, by the same proof": "proved",
            "the bound without more, by another proof": "unresolved",
        },
        repaired="the corollary bounds max_y E F(x~, y). In E max_y F(x~, y) the maximiser depends on x~_K: the last "
        "step keeps its bound, Phi being L-Lipschitz, but Lemma B.5 at k = K has Delta_y = kappa_y E|x_K - x_K'| in "
        "place of 0, which for K = log2 n adds at most (4/sqrt 3) L D kappa_y K/n to the bound",
        note="A maximum outside the expectation bounds no maximum inside it. Only the implication falls: whether the "
        "printed bound holds for E Phi is open.",
        method=Method.ARITHMETIC,
    )


@claim("Z50", Kind.REMARK, location="after Corollary B.6", rate=CONVEX, least=LEAST, level=log(1 / delta))
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
            CONVEX,
            region,
            {n: s**4, mu_y: s**-2, d: s**6},
        ),
        Dominated(
            "with mu_y at least of order sqrt(d level)/(n epsilon) too, up to logarithms",
            extra,
            CONVEX,
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
