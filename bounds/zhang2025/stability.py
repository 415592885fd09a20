r"""Assumption 1, Lemmas 9, 10 and 12: how far the inner ascent of PrivateDiff Minimax moves when one record changes,
and how fast it converges.

The functions run clipped stochastic ascent on f(y; z) = c (z y - b y^2/2), y in [-radius, radius], on neighbouring
datasets in rational arithmetic, with the step 1/(mu (i + 1)) at i = 0, 1, .... f is c b-smooth and c mu'-strongly
concave for every mu' <= b; mu is the strong concavity that the step size is computed from.

Lemmas 9 and 10 quote [2, Theorem 3.10]: it bounds the change of the loss in the mean over the draws, for 0 <= f <= M.

Lemma 12, after [3, Proposition 1], in units G = lambda = 1. Let D_t = |w_t - w*|^2, Z_t = <noise of the gradient,
w_t - w*>, S_t = sum_{i=2}^t (i - 1) Z_i, V_t = sum (i - 1)^2 D_i. Then

    D_{t+1} <= (1 - 2/t) D_t + 2 Z_t/t + 1/t^2,   D_t <= 1,   |Z_t| <= 2,   E Z_t^2 <= D_t,
    D_{t+1} <= 2 S_t/(t (t - 1)) + 1/t,

exp(S_t/(4u) - V_t/(4u)^2) is a supermartingale up to 2u for u a power of two from 512 on, and with
j = log(log2(T)/theta) all t < 2u have S_t <= V_t/(4u) + 4 u j. If D_i <= a/i for i <= t then V_t <= a t (t - 1)/2, and
D_{t+1} <= a/(2t) + 8 j/(t - 1) + 1/t <= a/(t + 1).

[2] M. Hardt, B. Recht, Y. Singer. Train Faster, Generalize Better. ICML 2016.
[3] A. Rakhlin, O. Shamir, K. Sridharan. Making Gradient Descent Optimal for Strongly Convex Stochastic
    Optimization. ICML 2012.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from sympy import E, Rational, diff, log, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved, refuted
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import T, eta, mu, n, t

Number = int | Fraction


def climb(
    batches: Sequence[Sequence[Number]],
    *,
    scale: Number = 1,
    bend: Number = 1,
    modulus: Number = 1,
    threshold: Number | None = None,
    radius: Number = 1,
) -> Fraction:
    """Return the last iterate from 0, with per-record clipping at ``threshold`` if one is given."""
    y, bound = Fraction(0), Fraction(radius)
    for i, batch in enumerate(batches):
        gradients = [scale * (Fraction(z) - bend * y) for z in batch]
        if threshold is not None:
            gradients = [max(-Fraction(threshold), min(Fraction(threshold), g)) for g in gradients]
        y += sum(gradients, Fraction(0)) / len(batch) / Fraction(modulus * (i + 1))
        y = max(-bound, min(bound, y))
    return y


def full_batch_distance(n: int, steps: int, scale: Fraction) -> Fraction:
    """Return |y - y'| after ``steps`` full-batch steps, mu = beta = ``scale``, one record 1 or -1, the others 0.

    The threshold is 2 ``scale`` >= G_y, so that nothing is clipped.
    """
    ends = [
        climb([[record, *[0] * (n - 1)]] * steps, scale=scale, modulus=scale, threshold=2 * scale) for record in (1, -1)
    ]
    return abs(ends[0] - ends[1])


def expected_distance(n: int, steps: int, scale: Fraction) -> Fraction:
    """Return E|y - y'| with one uniform record a step, over all draws; as :func:`full_batch_distance`."""
    distances = _distances(n, steps, scale)
    return sum(distances, Fraction(0)) / len(distances)


def largest_distance(n: int, steps: int, scale: Fraction) -> Fraction:
    """Return the largest |y - y'| over all draws of one record a step."""
    return max(_distances(n, steps, scale))


def clipped_distance(steps: int, threshold: Fraction) -> Fraction:
    """Return |y - y'| after full-batch steps on the records 1, -1 and -1, -1, clipped far below their gradients."""
    ends = [climb([data] * steps, threshold=threshold) for data in ([1, -1], [-1, -1])]
    return abs(ends[0] - ends[1])


def overshot_distance(n: int, steps: int, bend: int) -> Fraction:
    """Return |y - y'| after full-batch steps 1/(mu i) with mu = 1 and smoothness ``bend``: early steps exceed 2/beta.

    Y = [-1/10, 1/10], so that G_y = 1 + ``bend``/10, which is the threshold.
    """
    radius = Fraction(1, 10)
    ends = [
        climb([[record, *[0] * (n - 1)]] * steps, bend=bend, threshold=1 + bend * radius, radius=radius)
        for record in (1, -1)
    ]
    return abs(ends[0] - ends[1])


def _distances(n: int, steps: int, scale: Fraction) -> list[Fraction]:
    distances = []
    for draw in product(range(n), repeat=steps):
        ends = []
        for record in (1, -1):
            data = [record, *[0] * (n - 1)]
            ends.append(climb([[data[i]] for i in draw], scale=scale, modulus=scale))
        distances.append(abs(ends[0] - ends[1]))
    return distances


moved, bound, beta, M, scale, x, gap, k = symbols("moved L beta M scale x gap k", positive=True)
y, z = symbols("y z", real=True)
PRINTED = (2 * bound**2 + beta * M) / (mu * n)
TENTH = Fraction(1, 10)
# f = s (z y - y^2/2 + 3/2), z in {-1, 0, 1}, Y = [-1, 1]: 0 <= f <= 2 s, |gradient| <= 2 s, mu = beta = s.
INSTANCE = {bound: 2 * scale, beta: scale, M: 2 * scale, mu: scale}
SMALL = {bound: Rational(1, 5), beta: Rational(1, 10), M: Rational(1, 5), mu: Rational(1, 10), n: 2}
RANGE = Identity(
    "f/s = z y - y^2/2 + 3/2 is the sum of two nonnegative terms, and so is 2 - f/s, for |y|, |z| <= 1",
    lambda: z * y - y**2 / 2 + Rational(3, 2),
    (1 + z * y) + (1 - y**2) / 2,
)
ABOVE = Identity("the second sum", 2 - (z * y - y**2 / 2 + Rational(3, 2)), (y - z) ** 2 / 2 + (1 - z**2) / 2)
CONTRACTION = Identity(
    "what holds: (1 - eta mu) D + 2 eta C_0/n keeps D = 2 C_0/(mu n), full batch, eta <= 1/beta, nothing clipped",
    (1 - eta * mu) * 2 * bound / (mu * n) + 2 * eta * bound / n,
    2 * bound / (mu * n),
)
REPAIRED = (
    "|y - y'| <= 2 C_0/(mu n) for full-batch ascent with steps at most 1/beta, such as 1/(mu (i + kappa)), and "
    "C_0 >= G_y, so that nothing is clipped"
)


@claim("004:Lem10", Kind.SENSITIVITY, location="version with proofs, Lemma 10")
def cited_theorem() -> Decision:
    """For f(., z) <= M, mu-strongly concave and beta-smooth with gradients of at most L, projected stochastic ascent
    with step 1/(mu i) on datasets that differ in one of n records has |y_i - y'_i| <= {PRINTED}.
    """
    return refuted(
        Enumerated("the mean distance, n = 2, one step", expected_distance, (2, 1, TENTH), 1),
        Enumerated("and after three steps", expected_distance, (2, 3, TENTH), 1),
        Enumerated("the largest distance over the draws", largest_distance, (2, 3, TENTH), 2),
        RANGE,
        ABOVE,
        Identity(
            "the mean is 2/n whatever the scale s; the printed bound is", lambda: PRINTED.subs(INSTANCE), 10 * scale / n
        ),
        Counterexample("s = 1/10, n = 2, in the mean: 1 against 1/2", moved <= PRINTED, {moved: 1, **SMALL}),
        Counterexample("and for the worst draw: 2", moved <= PRINTED, {moved: 2, **SMALL}),
        Cited("the mean change of the loss is at most (2 L^2 + beta M)/(mu n) for 0 <= f <= M", "[2, Theorem 3.10]"),
        CONTRACTION,
        readings={
            "the distance, for every draw": "refuted",
            "the distance, in the mean over the draws": "refuted",
            "the loss, in the mean, 0 <= f <= M: the cited theorem": "unresolved",
        },
        repaired=f"the theorem is about E|f(y; z) - f(y'; z)|, not the distance. {REPAIRED}",
        note="The bound has the unit of a loss. f = s (z y - y^2/2 + 3/2) on [-1, 1], 0 <= f <= 2 s, with one record "
        "1 or -1 and the others 0: the iterates do not depend on s, the mean distance is 2/n, and the bound is 10 s/n.",
        method=Method.ENUMERATION,
    )


@claim("004:Lem9", Kind.SENSITIVITY, location="version with proofs, Lemma 9")
def sensitivity() -> Decision:
    """Under Assumption 1 the result of Algorithm 4 with step 1/(mu i) and threshold C_0 = L has sensitivity at most
    {PRINTED}.
    """
    return refuted(
        # With the full batch and nothing clipped the printed bound is too small.
        *(
            Enumerated(
                f"full batch of n = {size}, {count} steps", full_batch_distance, (size, count, TENTH), Fraction(2, size)
            )
            for size, count in ((2, 1), (2, 5), (10, 3))
        ),
        RANGE,
        ABOVE,
        Identity("the printed bound with C_0 = 2 s >= G_y", lambda: PRINTED.subs(INSTANCE), 10 * scale / n),
        Counterexample("s = 1/10, n = m = 2: 1 against 1/2", moved <= PRINTED, {moved: 1, **SMALL}),
        Counterexample(
            "minibatches of one record: 2 for the draw that holds the record, at s = 1/10",
            moved <= PRINTED,
            {moved: 2, **SMALL},
        ),
        Enumerated("the largest distance over the draws, m = 1", largest_distance, (2, 3, TENTH), 2),
        CONTRACTION,
        Enumerated(
            "not where clipping acts: records 1, -1 against -1, -1, C_0 = 1/10, four steps move "
            "2 C_0/(mu n) (1 + 1/2 + 1/3 + 1/4)",
            clipped_distance,
            (4, TENTH),
            Fraction(5, 24),
        ),
        Enumerated(
            "nor with steps above 2/beta: kappa = 8, n = 100, three steps 1/(mu i), C_0 = G_y = 9/5: 9/100 against "
            "36/1000",
            overshot_distance,
            (100, 3, 8),
            Fraction(9, 100),
        ),
        readings={
            "the worst case over draws, as a sensitivity is": "refuted",
            "full batch, nothing clipped": "refuted",
        },
        repaired=REPAIRED,
        note="It fails with the full batch and nothing clipped already, by its unit. The proof besides takes a mean "
        "over draws for a worst case, each f(x, .; z) to be strongly concave where Assumption 1 has it of the mean, "
        "smoothness that Assumption 1 does not contain, and clipping to keep the contraction, which it does not: "
        "projected gradients are Lipschitz, but not strongly monotone.",
        method=Method.STEPS,
    )


least = symbols("M", real=True)  # the upper bound, of any sign
FALLING = -sqrt(1 + x**2)  # Phi for f = -sqrt(1 + x^2) - y^2/2 <= 0, 1-Lipschitz and 1-smooth in x


@claim("003:A1", Kind.ASSUMPTION, location="Assumption 1")
def boundedness() -> Decision:
    """With f <= M on all of R^d and bounded Y, M is a constant that the stability bound can rest on, and Phi(x_0) - inf
    Phi is finite, as the proofs take it to be.
    """
    shifted = PRINTED.subs(M, least)
    at = {moved: 1, bound: 2, beta: 1, mu: 1, n: 2, least: Rational(1, 2) - 10}
    return conditional(
        # Give an instance that makes the bound with M negative.
        Enumerated("f = z y - y^2/2 - 10 <= -19/2: y moves by 1 at n = 2", full_batch_distance, (2, 3, Fraction(1)), 1),
        Counterexample("the printed bound with the upper bound M = -19/2 is negative", moved <= shifted, at),
        # Give a loss f <= 0 whose Phi has no lower bound.
        Identity("Phi of f = -sqrt(1 + x^2) - y^2/2, squared", lambda: FALLING**2, 1 + x**2),
        Counterexample(
            "f <= 0 leaves Phi(0) - Phi(x) without a bound: above 10^6 at x = 2 10^6",
            FALLING.subs(x, 0) - FALLING <= gap,
            {x: 2 * 10**6, gap: 10**6},
        ),
        AtMost("and so for every bound: sqrt(1 + x^2) > x, squared", x**2, 1 + x**2),
        Identity("its gradient tends to 1 and never falls again", diff(FALLING, x) ** 2, 1 - 1 / (1 + x**2)),
        AtMost("with 0 <= f <= M: Phi(x_0) <= M and inf Phi >= 0", M / (1 + k) - 0, M),
        AtMost("and the bound with M is positive", 0, PRINTED),
        Cited(
            "the theorem the bound is from supposes 0 <= f <= 1",
            "M. Hardt, B. Recht, Y. Singer, ICML 2016, Theorem 3.10",
        ),
        Cited("a convex function on R^d that is bounded above is constant", "convex analysis"),
        readings={
            "f <= M": "refuted",
            "0 <= f <= M": "proved",
            "met by the convex instance in the proof of Theorem 3": "refuted",
        },
        condition="0 <= f <= M",
        repaired="0 <= f <= M, or |f| <= M with 2 M in place of M; Assumption 3 besides, for beta and l",
        note="The lower bound on f is missing. Together with X = R^{d_1} even f <= M excludes every f that is convex "
        "and not constant in x, such as the one the paper's own lower bound is built on. Two-sided bounds do not save "
        "the stability lemma itself (004:Lem9).",
        method=(Method.ALGEBRA, Method.STEPS),
    )


u, j, a, logs, theta = symbols("u j a logs theta", positive=True)
EXTRA = Rational(37, 100)  # at least log(log2(T)/theta) - log(log(T)/theta) = log(1/log 2)
LOGS = log(log(T) / theta)
CONSTANT = 624 * logs + 1


@claim("004:Lem12", Kind.LEMMA, location="version with proofs, Lemma 12")
def high_probability() -> Decision:
    """For a lambda-strongly convex F, unbiased stochastic gradients of norm at most G, steps 1/(lambda t), theta < 1/e
    and T >= 4: with probability 1 - theta, for all t <= T, |w_t - w*|^2 is at most ({CONSTANT}) G^2/(lambda^2 t), where
    logs = {LOGS}.
    """
    return proved(
        Cited(
            "the recursion in D_t; 1 >= |grad F(w_t)| >= |w_t - w*|; E Z_t^2 <= D_t",
            "projections do not expand; <grad F(w), w - w*> >= |w - w*|^2 by strong convexity",
        ),
        Identity(
            "t (t - 1) times the recursion telescopes: the factor of D_t", t * (t - 1) * (1 - 2 / t), (t - 1) * (t - 2)
        ),
        AtMost("and each step adds at most one, t = 1 + k", (k * (1 + k)) / (1 + k) ** 2, 1),
        Below("(e^x - 1 - x)/x^2 increases with x and is below 1 at 1", E - 2, 1),
        Cited("a nonnegative supermartingale from 1 ever exceeds e^j with chance at most e^-j", "Ville's inequality"),
        AtMost("steps up to 2u have (i - 1) |Z_i|/(4u) <= 1, i - 1 = 2u/(1 + k)", 2 * u / (1 + k) * 2 / (4 * u), 1),
        Below("log(1/log 2) is below 0.37", log(1 / log(2)), EXTRA),
        Inequality("logs = log(log(T)/theta) is at least 1", 1, LOGS, over(T >= 4, theta <= 1 / E)),
        AtMost("so that a >= 625 > 512 and only u >= 512 are needed, logs = 1 + k", 625, CONSTANT.subs(logs, 1 + k)),
        AtMost("V_t <= a t (t - 1)/2: (i - 1)^2/i <= i - 1, i = 1 + k", k**2 / (1 + k), k),
        Identity(
            "the bound on D_{t+1}, t = 1 + k",
            (2 / (t * (t - 1)) * (a * t * (t - 1) / 2 / (4 * u) + 4 * u * j) + 1 / t).subs(t, 1 + k),
            (a / (4 * u) + 8 * u * j / (t * (t - 1)) + 1 / t).subs(t, 1 + k),
        ),
        Inequality(
            "t/2 <= u <= t and j <= logs + 0.37: it is within a/(t + 1)",
            CONSTANT / (2 * t) + 8 * (logs + EXTRA) / (t - 1) + 1 / t,
            CONSTANT / (t + 1),
            over(t >= 625, logs >= 1),
        ),
        AtMost("u = t/(1 + k) <= t in its middle term", 8 * t / (1 + k) * j / t, 8 * j),
        repaired="the same proof gives a far smaller constant than 624 for large t",
        note="As in its source. With bounded increments that grow with t, one martingale inequality for all t needs "
        "the blocks [u, 2u); the constant has ample room for them. Algorithm 4's minibatches are drawn afresh, so its "
        "gradients are unbiased given the past, as the lemma supposes.",
    )
