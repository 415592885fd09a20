r"""What the assumptions allow (domains, the matrix-sensing instance) and give (Lemmas 11 and 12), and Table 2.

For Lemmas 11 and 12, (42) and (48) let f(x, .) be mu-strongly concave on the closed convex set Y, its gradient
L-Lipschitz in (x, y), P the projection onto Y, kappa = L/mu, and

    G(x, y) = (y - P(y + lambda grad_y f(x, y)))/lambda,   lambda = 1/(6 L) [1, Lemma 8].

With d = y - y*, p = lambda G and h = grad_y f(x, y*) - grad_y f(x, y), the projection and the optimality of y* give
<p - lambda h, d - p> >= 0. The letters are norms there; squares of letters and their products stand for squared norms
and inner products, which an identity between quadratic forms respects.
"""

from fractions import Fraction

from sympy import Derivative, Eq, Integer, Rational, log, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved, refuted, unresolved
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, kappa, mu

M, r, value, count, residual = symbols("M r value n residual", positive=True)
curvature, real_x, real_y = symbols("curvature x y", real=True)
RECORD = (real_y * residual - real_y**2 / 2) / count  # one record's part of f, residual = <A, U V'> - b


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
        Identity("F = x y - y^2/2, slope in y", Derivative(real_x * real_y - real_y**2 / 2, real_y), real_x - real_y),
        Counterexample(
            "on Y = [-1, 1] at x = 2 the maximiser is 1, where the slope is 1",
            Eq(real_x - real_y, 0),
            {real_x: 2, real_y: 1},
        ),
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


@claim("002:Matrix sensing", Kind.ASSUMPTION, location="Section 5.1")
def sensing() -> Decision:
    """The matrix-sensing game, to which each record adds {RECORD} with a dual variable y of its own and the residual of
    U V' at it, is a nonconvex-strongly-concave minimax problem.
    """
    batch = symbols("batch", positive=True)
    u, v = symbols("u v", real=True)
    part = u * v * real_y  # the bilinear part in one dimension
    needed = count * log(Integer(40)) ** 2 / value ** Rational(1, 3)  # kappa log^2(4/delta_1) a^{-1/3}, a = value
    return conditional(
        Identity(
            "f in y_i: second derivative -1/n, and none mixed, since y_i is in one term",
            Derivative(RECORD, (real_y, 2)),
            -1 / count,
        ),
        Identity("in U, V, in one dimension, f has the part u v y: second derivative", Derivative(part, (u, 2)), 0),
        Identity("and the mixed one, so that it is indefinite where y is not 0", Derivative(part, u, v), real_y),
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
        Enumerated("diagnostics in which DP-RGDA is ahead of PrivateDiff", wins, (1,), 0),
        Below(
            "'comparable' curvature: DP-RGDA's is less than 6/5 of PrivateDiff's",
            curvature_ratio("DP-RGDA", "PrivateDiff"),
            Rational(6, 5),
        ),
        Enumerated("ahead of Sto-SPIDER in all", wins, (2,), 3),
        Enumerated("ahead of Ada-DP-SPIDER in all", wins, (3,), 3),
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


lam, step, move, before = symbols("lambda s dx gamma_before", positive=True)
e, g, x, y, k = symbols("e g x y k", positive=True)  # e = y - y', g = grad f(y) - grad f(y')
alpha, gamma, moved, error, distance, norm = symbols("alpha gamma moved error distance norm", positive=True)

DOWN = Cited(
    "projection onto a closed convex set is non-expansive: |P(u) - P(v)| <= |u - v|, and <u - P(u), z - P(u)> <= 0 for "
    "every z of the set",
    "textbook",
)
PRODUCT = mu * L / (mu + L) * e**2 + g**2 / (mu + L)  # Lemma 11's lower bound of <g, e>
LOWER = mu / 2 * distance  # Lemma 12's left side
DEVIATION = alpha + 2 * kappa * gamma  # (48)
ANCHOR = 2 * L**2 * move**2 + 2 * before**2  # (42)
ON_Y = "f on a convex set alone, such as Y, within its affine hull"
PAPER = "lambda = 1/(6 L), as Lemma 8 sets it, for every 0 < mu <= L"


@claim("002:Lem11", Kind.LEMMA, location="Lemma 11, Appendix C")
def cocoercive() -> Decision:
    """For a mu-strongly convex f with L-Lipschitz gradient, <g, e> is at least {PRODUCT} for all x and x', e = x - x'
    and g = grad f(x) - grad f(x').
    """
    inner, value = symbols("inner value", positive=True)  # <g, e>; an eigenvalue
    shifted = inner - mu * e**2  # <g - mu e, e>
    square = g**2 - 2 * mu * inner + mu**2 * e**2  # |g - mu e|^2
    return proved(
        Cited(
            "h convex with l-Lipschitz gradient: <grad h(x) - grad h(x'), x - x'> >= |grad h(x) - grad h(x')|^2/l; "
            "applied to h = f - mu |x|^2/2, l = L - mu > 0 (for L = mu, h is affine, g = mu e, and both sides are mu "
            "|e|^2)",
            "Baillon and Haddad; Nesterov, Theorem 2.1.5",
        ),
        Identity(
            "(L - mu) <g - mu e, e> - |g - mu e|^2 is (mu + L) times <g, e> less the bound",
            inner - ((L - mu) * shifted - square) / (mu + L),
            PRODUCT,
        ),
        Cited(
            "where f is given on a convex set only, g = H e with H symmetric, mu <= H <= L, gradients taken within the "
            "affine hull: the mean second derivative between the points (of f made smooth, and in the limit)",
            "mean value theorem",
        ),
        Identity(
            "(mu + L) times what is claimed is then <(L - H)(H - mu) e, e>, not negative; for an eigenvalue",
            (mu + L) * (value * e**2 - PRODUCT.subs(g, value * e)),
            (L - value) * (value - mu) * e**2,
        ),
        readings={"f on the whole space": "proved", ON_Y: "proved"},
        note="Nesterov's Theorem 2.1.12, by Baillon-Haddad for f - mu |x|^2/2. It does not need f beyond the set that "
        "the points are from, as its use on Y asks: two points of a convex set see f on the segment between them.",
    )


def _contraction() -> tuple[Identity, AtMost]:
    return (
        Identity(
            "|e - s g|^2 <= |e|^2 - 2 s (Lemma 11) + s^2 |g|^2, whose factor of |g|^2, s (s - 2/(mu + L)), is not "
            "positive for s <= 2/(mu + L); at |g| = mu |e|, its least, this is (1 - s mu)^2 |e|^2",
            (e**2 - 2 * step * PRODUCT + step**2 * g**2).subs(g, mu * e),
            (1 - step * mu) ** 2 * e**2,
        ),
        AtMost("lambda = 1/(6 L) is at most 2/(mu + L), L = mu + k", 1 / (6 * (mu + k)), 2 / (2 * mu + k)),
    )


@claim("002:Lem12", Kind.LEMMA, location="Lemma 12, Appendix C")
def error_bound() -> Decision:
    """For every y in Y, {LOWER} is at most |G(x, y)|, distance that of y from y*(x) and G the projected gradient map
    with step lambda.
    """
    d, h, inner = symbols("d h inner", positive=True)  # |y - y*|, |grad f(y*) - grad f(y)|, <h, d>
    square = 3 / (mu * (mu + x) * (1 + y))  # of a step lambda up to sqrt(3/(mu L)), L = mu + x
    far = 2 / mu + k  # a step beyond 2/mu
    return proved(
        DOWN,
        Quoted(
            "of h and d: |h|^2 <= (mu + L) <h, d> - mu L |d|^2",
            "002:Lem11",
            reading=ON_Y,
            holds_here="y and y* are points of Y, and P sees gradients within the affine hull of Y only",
        ),
        *_contraction(),
        Identity(
            "|y - y*| <= lambda |G| + (1 - lambda mu) |y - y*| is lambda mu |y - y*| <= lambda |G|",
            lam * norm + (1 - lam * mu) * distance - distance,
            lam * (norm - mu * distance),
        ),
        AtMost("mu |y - y*| <= |G| is more than claimed", LOWER, mu * distance),
        # Steps up to sqrt(3/(mu L)) do as well.
        Identity(
            "longer steps: <p - lambda h, d - p> >= 0 puts p into a ball whose centre and radius are half of d + "
            "lambda h and of |d - lambda h|, so that |p| is at least half of |d + lambda h| - |d - lambda h|, two "
            "numbers whose squares differ by 4 lambda <h, d>",
            lambda: d**2 + 2 * lam * inner + lam**2 * h**2 - (d**2 - 2 * lam * inner + lam**2 * h**2),
            4 * lam * inner,
        ),
        Identity(
            "and sum to at most 2 sqrt(|d|^2 + lambda^2 |h|^2), since twice the sum of two squares less the square of "
            "the sum is a square",
            2 * (x**2 + y**2) - (x + y) ** 2,
            (x - y) ** 2,
        ),
        AtMost(
            "hence |p| >= lambda <h, d>/sqrt(|d|^2 + lambda^2 |h|^2), which is lambda mu |d|/2 or more: in units of "
            "|d|, both sides squared, |h|^2 by Lemma 11, <h, d> = mu + k, L = mu + x, lambda^2 = 3/(mu L (1 + y))",
            mu**2 * (1 + square * ((2 * mu + x) * (mu + k) - mu * (mu + x))),
            4 * (mu + k) ** 2,
        ),
        AtMost("1/(6 L) is such a step, L = mu + k", mu * (mu + k) / (6 * (mu + k)) ** 2, Rational(3)),
        # Steps beyond 2/mu do not.
        Identity(
            "beyond 2/mu it fails: f = -mu y^2/2 on [0, 1] at y = 1 has G = 1/lambda, for lambda = 2/mu + k below mu/2 "
            "by",
            mu / 2 - 1 / far,
            k * mu**2 / (2 * (k * mu + 2)),
        ),
        Counterexample(
            "in numbers: f = -y^2/2 on [0, 1] at y = 1, lambda = 4: 1/2 against |G| = 1/4",
            LOWER <= 1 / lam,
            {mu: 1, distance: 1, lam: 4},
        ),
        readings={
            PAPER: "proved",
            "lambda <= sqrt(3/(mu L)), for every 0 < mu <= L": "proved",
            "lambda <= 2/(mu + L), with mu for mu/2": "proved",
            "every lambda > 0, since the lemma names no condition": "refuted",
            "a lambda > 2/mu, whatever mu and L": "refuted",
        },
        repaired="mu |y - y*| <= |G| for lambda <= 2/(mu + L)",
        note="The lemma stands in an appendix that names no step size. With the paper's 1/(6 L) it holds for every mu "
        "and L, with mu for mu/2 too, since the projected step contracts; for a step beyond 2/mu it fails.",
        method=(Method.ALGEBRA, Method.CITED),
    )


@claim("002:Lem2/(48)", Kind.STEP, location="Equation (48), Appendix B.2; Lemma 2")
def value_gradient() -> Decision:
    """|v_t - grad Phi(x_t)| is at most {DEVIATION}, alpha the norm of v_t - grad_x f(x_t, y_{{t+1}}), gamma that of
    G(x_t, y_{{t+1}}) and kappa = L/mu: the last display of the proof of Lemma 8, without the rate of Lemma 2.
    """
    return proved(
        Cited(
            "grad Phi(x) = grad_x f(x, y*(x)), for constrained y too, y*(x) being unique",
            "Danskin's theorem; f(x, .) strongly concave, Y closed",
        ),
        Quoted(
            "mu |y - y*|/2 <= |G|",
            "002:Lem12",
            reading=PAPER,
            holds_here="(48) ends the proof of Lemma 8, which sets lambda = 1/(6 L); y_{t+1} lies in Y, as y_0 does",
        ),
        Identity(
            "the bound is the triangle inequality's |alpha| + L |y - y*|, L = kappa mu, and 2 kappa (|G| - mu |y - "
            "y*|/2) more, which is not negative",
            DEVIATION,
            alpha + kappa * mu * distance + 2 * kappa * (gamma - LOWER),
        ),
        *_contraction(),
        AtMost(
            "and with |G| = mu |y - y*| + k half of it does", alpha + L * distance, alpha + L / mu * (mu * distance + k)
        ),
        Counterexample(
            "the display begins with an equals sign: vectors 1 and -1 add to norm 0, not 2",
            Eq(error, alpha + moved),
            {error: 0, alpha: 1, moved: 1},
        ),
        readings={
            "|v - grad Phi| <= |alpha| + 2 kappa |gamma|, gamma = G(x_t, y_{t+1})": "proved",
            "the same with |alpha| + kappa |gamma|": "proved",
            "the first line's equality of norms": "refuted",
        },
        repaired="at most for equals in the first line; kappa does for 2 kappa",
        note="Triangle inequality, L-Lipschitz gradient, Lemma 12. This is (48); the rate displayed in Lemma 2 rests "
        "on (45) to (47), which the noise of a refresh breaks (claim 002:refresh noise). In the main text (6) gives "
        "gamma another meaning, the distance y_t - y*(x_t); the proof's is the gradient map.",
    )


@claim("002:(42)", Kind.STEP, location="Equation (42), Appendix B.2")
def anchor_move() -> Decision:
    """|G(x_t, y_t)|^2 is at most {ANCHOR}, dx the length of x_t - x_{{t-1}} and gamma_before that of G(x_{{t-1}},
    y_t).
    """
    return proved(
        DOWN,
        Cited("|grad_y f(x_t, y) - grad_y f(x_{t-1}, y)| <= L dx for y in Y", "Assumption 2"),
        Cited(
            "so that |G(x_t, y_t)| <= L dx + |G(x_{t-1}, y_t)|, the maps being P's over lambda", "triangle inequality"
        ),
        Identity(
            "the bound exceeds the square of that by a square",
            ANCHOR - (L * move + before) ** 2,
            (L * move - before) ** 2,
        ),
        note="y_{t,0} = y_t, the point at which gamma_{t-1} is taken; holds for every lambda > 0 and every t >= 1, at "
        "a refresh too, since no estimate is in it.",
    )
