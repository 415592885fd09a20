r"""What the assumptions allow (domains, F_0, the matrix-sensing instance), and what the paper says of its
experiments.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Derivative, Eq, Integer, Rational, log, sqrt, symbols

from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted, unresolved
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import mu

M, r, value, floor, count, residual = symbols("M r value floor n residual", positive=True)
curvature, x, y = symbols("curvature x y", real=True)
RECORD = (y * residual - y**2 / 2) / count  # one record's part of f, residual = <A, U V'> - b


@claim("002:A1+A4", Kind.ASSUMPTION, location="Assumptions 1 and 4")
def unbounded() -> Decision:
    """F can be M-Lipschitz and mu-strongly concave in y on the whole space, Y = R^d."""
    return refuted(
        Cited(
            "strong concavity from the maximiser y*: F(y*) - F(y) >= mu r^2/2 at distance r; M-Lipschitz: at most M r",
            "Assumptions 1 and 4",
        ),
        Counterexample("at r = 4 M/mu both cannot be", mu * r**2 / 2 <= M * r, {mu: 1, M: 1, r: 4}),
        Inequality("within r <= 2 M/mu they can", mu * r**2 / 2, M * r, over(mu, M, r, r * mu <= 2 * M)),
        repaired="Y compact, as the projection in Algorithm 3 suggests",
        note="No function is M-Lipschitz and strongly concave on all of R^d.",
        method=(Method.CITED, Method.ARITHMETIC, Method.PROVER),
    )


@claim("002:grad y f(x,y*)=0", Kind.ASSUMPTION, location="before equation (4)")
def stationary() -> Decision:
    """grad_y f(x, y*(x)) = 0 always."""
    return conditional(
        Identity("F = x y - y^2/2, slope in y", Derivative(x * y - y**2 / 2, y), x - y),
        Counterexample("on Y = [-1, 1] at x = 2 the maximiser is 1, where the slope is 1", Eq(x - y, 0), {x: 2, y: 1}),
        Cited("grad Phi(x) = grad_x f(x, y*(x)) all the same", "Danskin"),
        Cited("at an interior maximiser the gradient vanishes", "first-order condition"),
        readings={
            "y*(x) interior to a bounded Y": "proved",
            "every y*(x) in the compact Y that the algorithm projects on": "refuted",
        },
        condition="y*(x) lies in the interior of Y (Y = R^d, where it would, is excluded by Assumptions 1 and 4: claim "
        "002:A1+A4)",
        note="At the boundary of Y only the variational inequality holds; (4) survives by Danskin's theorem.",
        method=Method.ARITHMETIC,
    )


@claim("002:F0", Kind.ASSUMPTION, location="Theorem 1")
def infimum() -> Decision:
    """F_0 = f_S(0) - min over x, y in R^d of f_S is finite, and the gap that the descent spends."""
    beyond = symbols("beyond", positive=True)
    dual = -(y**2) / 2  # f, for every x
    return refuted(
        Cited(
            "f_S(x, .) is mu-strongly concave on R^d, so that f_S(x, y) <= f_S(x, y*) - mu |y - y*|^2/2", "Assumption 4"
        ),
        Counterexample(
            "the minimum over y in R^d, as printed: f = -y^2/2 passes every floor, here -1000 at y = 45",
            dual >= -floor,
            {y: 45, floor: 1000},
        ),
        Inequality(
            "whatever the floor and mu: mu y^2/2 >= floor at y^2 = 2 floor/mu + beyond",
            floor,
            mu * (beyond + 2 * floor / mu) / 2,
            over(floor, mu, beyond),
        ),
        Counterexample(
            "over Y = [-1, 1], within Assumption 1, it is finite and not the gap Phi(0) - min Phi: f = -y^2/2, y_0 = 0 "
            "gives 1/2 against 0",
            Eq(dual.subs(y, 0) - dual.subs(y, 1), value),
            {value: 0},
        ),
        readings={
            "the minimum over R^d of a function that is strongly concave there: -infinity": "refuted",
            "the minimum over a compact Y: another number than the gap of Phi": "refuted",
        },
        repaired="F_0 = Phi_S(x_0) - min Phi_S, the gap of the value function",
        note="The minimum over y of a strongly concave function on R^d is -infinity, so that F_0 is infinite; on a "
        "compact Y it counts the depth of f in y. What a descent spends is the gap of Phi.",
        method=(Method.ARITHMETIC, Method.PROVER),
    )


@claim("002:Matrix sensing", Kind.ASSUMPTION, location="Section 5.1", record=RECORD)
def sensing() -> Decision:
    """The matrix-sensing game, to which each record adds {record} with a dual variable y of its own and the residual of
    U V' at it, is a nonconvex-strongly-concave minimax problem.
    """
    batch = symbols("batch", positive=True)
    u, v = symbols("u v", real=True)
    part = u * v * y  # the bilinear part in one dimension
    needed = count * log(Integer(40)) ** 2 / value ** Rational(1, 3)  # kappa log^2(4/delta_1) a^{-1/3}, a = value
    return conditional(
        Identity(
            "f in y_i: second derivative -1/n, and none mixed, since y_i is in one term",
            Derivative(RECORD, (y, 2)),
            -1 / count,
        ),
        Identity(
            "in U, V, in one dimension, f has the part u v y: second derivative", Derivative(part, (u, 2)), Integer(0)
        ),
        Identity("and the mixed one, so that it is indefinite where y is not 0", Derivative(part, u, v), y),
        Counterexample(
            "one record's F is flat in every other direction of R^n, where Assumption 4 wants at most -mu",
            curvature <= -mu,
            {curvature: 0, mu: Rational(1, 100)},
        ),
        Counterexample(
            "and (U V' - b) y is not Lipschitz: slope |A| |U| |y| at |U| = |y| = r beyond any M",
            r * r <= M,
            {r: 11, M: 100},
        ),
        Counterexample(
            "nor do the batches of Lemma 8 fit: n = 400, kappa >= n, a = 1/8, delta_1 = 1/10 ask for S_2 > n",
            needed <= batch,
            {count: 400, value: Rational(1, 8), batch: 400},
        ),
        readings={
            "f is nonconvex in (U, V) and strongly concave in y, mu = 1/n": "proved",
            "every F(.; xi) satisfies Assumptions 1, 2 and 4": "refuted",
            "the batches of Lemma 8 can be drawn for it": "refuted",
        },
        condition="strong concavity is asked of f alone, where mu = 1/n and kappa is n or more; the Assumptions, which "
        "ask it of every F(.; xi), fail",
        note="The sentence calls the game nonconvex-strongly-concave, which f is, with mu = 1/n; it does not say that "
        "the Assumptions hold, and they do not: each record has its own dual coordinate.",
    )


# Appendix D.
EPSILON, DELTA = Integer(2), Rational(1, 10**6)
STEPS, INNER, PERIOD, THRESHOLD, REFRESH, SMALL = 400, 5, 10, 1, 200, 50
QUERIES = Fraction(4080)

# Phi, |grad Phi| and minus lambda_min at t = 399, each better when smaller.
TABLE_2 = {
    "DP-RGDA": (Fraction(9119, 10000), Fraction(4251, 10000), Fraction(48504, 10**6)),
    "PrivateDiff": (Fraction(6546, 10000), Fraction(3344, 10000), Fraction(43622, 10**6)),
    "Sto-SPIDER": (Fraction(137046, 10000), Fraction(34505, 10000), Fraction(21862, 10**5)),
    "Ada-DP-SPIDER": (Fraction(80751, 10000), Fraction(22753, 10000), Fraction(14378, 10**5)),
}


def wins(other: int) -> Fraction:
    """Count in how many of the three diagnostics DP-RGDA beats PrivateDiff (1), Sto-SPIDER (2), Ada-DP-SPIDER (3)."""
    ours, theirs = TABLE_2["DP-RGDA"], list(TABLE_2.values())[other]
    return Fraction(sum(a < b for a, b in zip(ours, theirs, strict=True)))


def curvature_ratio(first: str, second: str) -> Rational:
    """Return the ratio of two methods' curvatures."""
    return Rational(TABLE_2[first][2]) / Rational(TABLE_2[second][2])


@claim("002:Table 2", Kind.REMARK, location="Table 2 and Section 5.2")
def table() -> Decision:
    """Table 2: PrivateDiff has a slightly smaller objective and gradient, DP-RGDA a comparable curvature, and both are
    well ahead of the two methods for minimisation.
    """
    twice = Rational(2)
    return unresolved(
        Enumerated("diagnostics in which DP-RGDA is ahead of PrivateDiff", wins, (1,), Fraction(0)),
        Below(
            "'comparable' curvature: DP-RGDA's is less than 6/5 of PrivateDiff's",
            curvature_ratio("DP-RGDA", "PrivateDiff"),
            Rational(6, 5),
        ),
        Enumerated("ahead of Sto-SPIDER in all", wins, (2,), Fraction(3)),
        Enumerated("ahead of Ada-DP-SPIDER in all", wins, (3,), Fraction(3)),
        Below("by a factor above 2 in curvature: Sto-SPIDER", twice, curvature_ratio("Sto-SPIDER", "DP-RGDA")),
        Below("Ada-DP-SPIDER", twice, curvature_ratio("Ada-DP-SPIDER", "DP-RGDA")),
        readings={
            "what the text says of the table agrees with the table": "proved",
            "DP-RGDA ahead of PrivateDiff in some diagnostic, which the text does not say": "refuted",
            "the numbers can be had at (2, 1e-6), and in more than one run": "unresolved",
        },
        repaired="the text grants PrivateDiff the smaller objective and gradient and calls the curvatures comparable; "
        "it does not say that PrivateDiff's is the milder one too, so that the table gives no sign of a second-order "
        "gain over it",
        note="The text says no more than the table shows, PrivateDiff ahead in all three columns, by a little in the "
        "third. One run with one seed, no noise level and no code: whether the numbers are right, and whether they say "
        "anything about the methods, cannot be decided from the paper.",
    )


def queries(outer: int, inner: int, period: int) -> Fraction:
    """Return how often u and v are released: ``outer``/``period`` refreshes and ``outer`` * ``inner`` increments of
    each.
    """
    return Fraction(2 * (outer // period + outer * inner))


def sensitivity(threshold: int, batch: int) -> Fraction:
    """Return the sensitivity of a mean of ``batch`` gradients clipped one by one, when one is replaced."""
    return Fraction(2 * threshold, batch)


@claim(
    "002:App D noise",
    Kind.CALIBRATION,
    location="Appendix D",
    epsilon=EPSILON,
    delta=DELTA,
    threshold=THRESHOLD,
    refresh=REFRESH,
    small=SMALL,
    steps=STEPS,
    inner=INNER,
    period=PERIOD,
)
def noise() -> Decision:
    """The noise used in the experiments, for the guarantee ({epsilon}, {delta}), C = {threshold}, batches of {refresh}
    and {small}, T = {steps}, K = {inner} and q = {period}, gives that guarantee.
    """
    return unresolved(
        Enumerated("queries of u and v in 40 refreshes and 2,000 increments", queries, (STEPS, INNER, PERIOD), QUERIES),
        Enumerated("the sensitivity of a refresh", sensitivity, (THRESHOLD, REFRESH), Fraction(1, 100)),
        Enumerated("and of an increment that clips a record once", sensitivity, (THRESHOLD, SMALL), Fraction(1, 25)),
        Private(
            "without a gain from sampling, all of them are private at a noise of 143 times the sensitivity each",
            143 / sqrt(Integer(int(QUERIES))),
            over(),
            EPSILON,
            DELTA,
        ),
        NotPrivate("and not at 142 times", 142 / sqrt(Integer(int(QUERIES))), EPSILON, DELTA),
        Cited(
            "the noise that was used depends on the code, which the paper does not print, and what sampling saves on "
            "how the batches are drawn",
            "Appendix D",
        ),
        note="The per-query noise is not printed (it is computed in code), so that there is no number to check; and "
        "whether differences of gradients are clipped before or after the difference, which matters by a factor 2, is "
        "not said. Without a gain from sampling the noise has to be above 142 times the sensitivity, and 143 times is "
        "enough.",
    )


@claim("002:Remark3", Kind.REMARK, location="Remark 3")
def first_such_method() -> Decision:
    """This is the first first-order method for private second-order stationary points in ERM that matches the best
    known rates.
    """
    return unresolved(
        Cited("a statement about the literature, not about the algorithm", "Remark 3"),
        note="A claim of priority: no computation decides it. The result that it speaks of is for the empirical risk, "
        "Theorem 1, and the rate it matches there that of Theorem 2 too; both are false as printed (see their claims).",
    )
