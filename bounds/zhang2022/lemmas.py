r"""Lemmas A.2 to B.4: how stable regularised minimisers and saddle points are, and what they are off.

Lemmas A.2 and A.3. x_S minimises the mean of f(., xi_i) over n records plus G, which is mu-strongly convex and need
not be Lipschitz; each f(., xi) is convex and L-Lipschitz. For G = 0 let each f be mu-strongly convex. S_i has record i
of S replaced by a fresh one.

Lemmas B.1 to B.4. f is mu_x-strongly convex in x and mu_y-strongly concave in y, L-Lipschitz in (x, y), with saddle
point z* = (x*, y*); kappa_x = ell/mu_x, kappa_y = ell/mu_y, mu = min{mu_x, mu_y}.
"""

from fractions import Fraction
from typing import Any

from sympy import Rational, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Step, claim, proved
from dpcheck.bounds.evidence import (
    AtMost,
    Cited,
    Counterexample,
    Enumerated,
    Identity,
    Inequality,
    Quoted,
    Searched,
    over,
)
from dpcheck.bounds.symbols import L, ell, mu, mu_x, mu_y, n

distance, other, first, second, weight, root = symbols("distance other first second weight root", positive=True)
STABILITY = 2 * L / (mu * n)  # of the empirical minimiser
RISK = 2 * L**2 / (mu * n)  # its expected excess population risk


def move_share(records: int, mu_: Fraction, own: int) -> Fraction:
    """Return |x_S - x_S'| over 2 L/(mu n), for z x + mu x^2/2 with as many z = 1 as z = -1, one 1 turned into -1.

    The quadratic belongs to f if ``own`` is 1, and L is the largest slope on the interval between the two minimisers;
    else it is the regulariser, and L that of z x.
    """
    before = [1, -1] * (records // 2)
    first, second = (-Fraction(sum(data), records) / mu_ for data in (before, [-1, *before[1:]]))
    lipschitz = max(abs(z + own * mu_ * x) for z in (1, -1) for x in (first, second))
    return abs(first - second) / (2 * lipschitz / (mu_ * records))


BETWEEN: tuple[Step, ...] = (
    Cited(
        "F_S + G exceeds its minimum by mu |x - x_S|^2/2 at least; the same for S'",
        "strong convexity at a minimiser over a convex set",
    ),
    Cited(
        "summed at x_S' and x_S the sums leave (1/n) of two differences of f(., xi_i) and f(., xi_i'), each at most "
        "L |x_S - x_S'|",
        "Lipschitz continuity; equation (4) is the definition of the mean",
    ),
    Inequality(
        "mu distance^2 <= (2 L/n) distance bounds the distance",
        distance,
        STABILITY,
        over(mu, L, n, distance, mu * distance**2 <= 2 * L / n * distance),
    ),
)
OWN = Enumerated(
    "f = z x + mu x^2/2, as many 1 as -1: a share n/(n + 2) of the bound at n = 100, mu = 1/2",
    move_share,
    (100, Fraction(1, 2), 1),
    Fraction(50, 51),
)
COMMON = Enumerated(
    "f = z x with G = mu x^2/2 attains the bound, at n = 4, mu = 1/2", move_share, (4, Fraction(1, 2), 0), 1
)
GENERAL: tuple[Step, ...] = (
    Cited(
        "E F(x_S) = E F(x_{S_i}) and E F_S(x) = F(x) for x that does not depend on S, since records are i.i.d.; and "
        "x_S minimises F_S + G",
        "definition",
    ),
    Identity("L times the distance", lambda: L * STABILITY, RISK),
)


@claim("Z02", Kind.SENSITIVITY, location="Lemma A.2", move=STABILITY)
def sensitivity() -> Decision:
    """For mu-strongly convex, L-Lipschitz f the empirical minimisers of neighbouring datasets are at
    most {move} apart.
    """
    return proved(
        *BETWEEN,
        OWN,
        note="Strong convexity at both minimisers; balanced data come within a share n/(n + 2) of the bound.",
    )


@claim("Z03", Kind.UTILITY, location="Lemma A.2", risk=RISK)
def risk() -> Decision:
    """For mu-strongly convex, L-Lipschitz f the expected excess population risk of the empirical minimiser is at most
    {risk}.
    """
    return proved(
        *BETWEEN,
        *GENERAL,
        note="Stability bounds the gap between the empirical and the population risk of the minimiser.",
    )


@claim("Z04", Kind.LEMMA, location="Lemma A.3 and equation (5)", move=STABILITY, risk=RISK)
def regularised() -> Decision:
    """For convex, L-Lipschitz f and a mu-strongly convex regulariser G that need not be Lipschitz, the minimisers of
    F_S + G for neighbouring datasets are at most {move} apart, and the expected excess of F + G there is at most
    {risk}.
    """
    return proved(
        *BETWEEN,
        COMMON,
        *GENERAL,
        note="G cancels from every difference, so that only the Lipschitz constant of f enters.",
    )


X, Y = symbols("X Y", positive=True)  # |x - x*|, |y - y*|
u = symbols("u", real=True)
ENERGY = mu_x * X**2 + mu_y * Y**2
QUADRATIC = (ell / mu_y + 1) * ell * X**2 / 2 + (ell / mu_x + 1) * ell * Y**2 / 2


@claim("Z21", Kind.LEMMA, location="Lemma B.1, first part", energy=ENERGY / 2)
def lower() -> Decision:
    """The duality gap at (x, y) is at least {energy}, where X = |x - x*| and Y = |y - y*|."""
    # excess: f(x, y*) - f(x*, y*); shortfall: f(x*, y*) - f(x*, y)
    excess, shortfall = symbols("excess shortfall", positive=True)
    return proved(
        Cited("max_y f(x, y) >= f(x, y*) and min_x f(x, y) <= f(x*, y)", "definition"),
        Cited(
            "f(x, y*) - f(x*, y*) >= mu_x |x - x*|^2/2 and f(x*, y*) - f(x*, y) >= mu_y |y - y*|^2/2",
            "strong convexity at the minimiser x* of f(., y*) and the maximiser y* of f(x*, .)",
        ),
        Inequality(
            "so that their sum, which the gap is at least, is at least half of the energy",
            ENERGY / 2,
            excess + shortfall,
            over((mu_x, mu_y, X, Y, excess, shortfall), mu_x * X**2 / 2 <= excess, mu_y * Y**2 / 2 <= shortfall),
        ),
        note="Two inequalities of strong convexity; attained by f = mu_x x^2/2 - mu_y y^2/2.",
    )


@claim("Z22", Kind.LEMMA, location="Lemma B.1, second part", bound=QUADRATIC)
def upper() -> Decision:
    """For a jointly ell-smooth f with an interior saddle the gap is at most {bound}, where X = |x - x*|
    and Y = |y - y*|.
    """
    # The boundary: f = x + x^2/2 - y^2/2 on [0, 1] x [-1, 1], ell = mu = 1, saddle (0, 0): gap(x, 0) = x + x^2/2.
    primal, dual = symbols("primal dual", positive=True)  # Phi(x) - Phi(x*), Psi(y*) - Psi(y)
    return proved(
        Cited("grad Phi(x) = grad_x f(x, y*(x)), and y*(.) is ell/mu_y-Lipschitz", "Danskin; strong concavity"),
        AtMost(
            "so that the square of grad Phi's constant, ell^2 (1 + (ell/mu_y)^2), is within that of ell (ell/mu_y + 1)",
            ell**2 * (1 + (ell / mu_y) ** 2),
            ((ell / mu_y + 1) * ell) ** 2,
        ),
        Cited("Phi(x) - Phi(x*) <= (kappa_y + 1) ell |x - x*|^2/2 where grad Phi(x*) = 0", "descent lemma"),
        Cited("grad Phi(x*) = 0 and grad Psi(y*) = 0 at an interior saddle", "first-order optimality"),
        Inequality(
            "the gap is the sum of the two differences",
            primal + dual,
            QUADRATIC,
            over(
                (mu_x, mu_y, ell, X, Y, primal, dual),
                primal <= (ell / mu_y + 1) * ell * X**2 / 2,
                dual <= (ell / mu_x + 1) * ell * Y**2 / 2,
            ),
        ),
        Counterexample(
            "without an interior saddle: f = x + x^2/2 - y^2/2 on [0, 1] x [-1, 1] at (x, 0)",
            u + u**2 / 2 <= (1 + 1) * u**2 / 2,
            {u: Rational(1, 2)},
        ),
        Counterexample(
            "each gradient Lipschitz in its own variable alone, ell = mu = 1: f = x^2/2 + 3 x y - y^2/2 has "
            "Phi = (1 + 9) x^2/2",
            10 * u**2 / 2 <= (1 + 1) * u**2 / 2,
            {u: 1},
        ),
        readings={
            "interior saddle, as the lemma assumes": "proved",
            "any saddle": "refuted",
            "each gradient Lipschitz in its own variable alone": "refuted",
        },
        note="Smoothness of the primal and the dual function, and a vanishing gradient at the interior saddle.",
    )


ORDERED = over(mu, mu_x, mu_y, X, Y, L, n, mu <= mu_x, mu <= mu_y)
Delta_u, Delta_v = symbols("Delta_u Delta_v", positive=True)
p, q, r, t = symbols("p q r t", real=True)  # moves of a saddle point, and of the centre
EIGHT = 8 * L**2 / (mu * n**2)
STABLE = 4 * L**2 / (mu * n**2)  # the energy between saddle points of neighbouring datasets
WEAK = 2 * sqrt(2) * L**2 / (mu * n)
DEPENDENT = WEAK + L * (Delta_u + Delta_v)
MOVE, CENTRE = mu_x * p**2 + mu_y * q**2, mu_x * r**2 + mu_y * t**2


def energy_share(rng: Any) -> float:
    """Return mu n^2/(4 L^2) times the energy between the saddle points of two neighbouring quadratic games, drawn at
    random.

    f = mu_x x^2/2 + a x y - mu_y y^2/2 + b x - c y with |b|, |c| <= 1 differing in one of n records; L is taken
    over a box that holds both saddle points.
    """
    import numpy as np

    a, n_ = rng.uniform(-3, 3), int(rng.integers(1, 9))
    p, q = np.exp(rng.uniform(-3, 1, 2))
    b, c = rng.uniform(-1, 1, 2)
    other = (b, c) + rng.choice([-2.0, 2.0], 2) / n_
    matrix = np.array([[p, a], [a, -q]])
    (x, y), (s, t) = (np.linalg.solve(matrix, [-first, second]) for first, second in ((b, c), other))
    reach = float(np.abs([x, y, s, t]).max())
    lipschitz_square = ((p + abs(a)) * reach + 3) ** 2 + ((abs(a) + q) * reach + 3) ** 2
    return float((p * (x - s) ** 2 + q * (y - t) ** 2) * min(p, q) * n_**2 / (4 * lipschitz_square))


def block_energy(records: int, mu_: Fraction) -> Fraction:
    """Return mu n^2/L^2 times the energy by which the saddle of z x - z y + mu (x^2 - y^2)/2 moves.

    One record's z, of 1, becomes -1.
    """
    before, after = Fraction(1), Fraction(records - 2, records)  # means of z
    move = (after - before) / mu_  # of x = -z/mu, and of y = -z/mu
    return 2 * mu_ * move**2 * mu_ * records**2


SADDLES: tuple[Step, ...] = (
    Quoted("inequality (10), which the proof of Lemma B.1 shows, for S at the saddle of S' and the reverse", "Z21"),
    Cited(
        "added, the energy of the difference is at most (1/n) times two differences of f(.; xi_i) and f(.; xi_i') "
        "between (x_S', y_S) and (x_S, y_S'); G cancels",
        "equation (4) is the definition of the mean",
    ),
    Inequality(
        "each is at most L |z_S - z_S'|, and mu |z|^2 is at most the energy", mu * (X**2 + Y**2), ENERGY, ORDERED
    ),
    Inequality(
        "energy <= (2 L/n) sqrt(energy/mu) bounds the energy, with its root as the letter",
        root**2,
        STABLE,
        over(mu, L, n, root, sqrt(mu) * root**2 <= 2 * L / n * root),
    ),
)
BLOCKS = "|f(z) - f(z')| <= L |x - x'| + L |y - y'|, L for each block"
JOINT = "|f(z) - f(z')| <= L |z - z'|, as the proof has it"

SADDLE = (
    "f jointly L-Lipschitz, and G such that f + G is mu_x-strongly convex and mu_y-strongly concave, "
    "mu = min(mu_x, mu_y)"
)


@claim("Z23", Kind.SENSITIVITY, location="Lemmas B.2 and 4.4, equation (12)", bound=STABLE, saddle=SADDLE)
def stability() -> Decision:
    """For {saddle}, the saddle points of F_S + G for neighbouring datasets have mu_x |x_S - x_S'|^2 + mu_y |y_S -
    y_S'|^2 at most {bound}.
    """
    return proved(
        *SADDLES,
        Searched("on random quadratic games, in units of the bound", energy_share, 1.0, 400),
        Enumerated(
            "L for each block: f = z x - z y with mu (x^2 - y^2)/2, n = 4, mu = 1/2, one z = 1 turned into -1, moves "
            "both by 2 L/(mu n): energy over L^2/(mu n^2)",
            block_energy,
            (4, Fraction(1, 2)),
            8,
        ),
        Counterexample(
            "that is above 4 L^2/(mu n^2)",
            mu * X**2 + mu * Y**2 <= STABLE,
            {X: 1, Y: 1, mu: Rational(1, 2), n: 4, L: 1},
        ),
        Identity(
            "the joint constant is then sqrt 2 L: twice the bound", lambda: 4 * (sqrt(2) * L) ** 2 / (mu * n**2), EIGHT
        ),
        readings={JOINT: "proved", f"{BLOCKS}, with 8": "proved", f"{BLOCKS}, with 4": "refuted"},
        note="As for minimisation, with the energy mu_x|.|^2 + mu_y|.|^2.",
    )


SADDLE_POINTS: tuple[Step, ...] = (
    Quoted("the stability of saddle points", "Z23"),
    Identity(
        "(|dx| + |dy|)^2 <= 2 (|dx|^2 + |dy|^2), X = |dx| and Y = |dy|", 2 * (X**2 + Y**2) - (X - Y) ** 2, (X + Y) ** 2
    ),
    Identity("L times the root of 2/mu times the stability", lambda: L * sqrt(2 / mu * STABLE), WEAK),
)
PER_BLOCK = Identity(
    "with L for each block the energy is 8 L^2/(mu n^2), and the same sum",
    lambda: L * sqrt(2 / mu * EIGHT),
    4 * L**2 / (mu * n),
)


@claim("Z24", Kind.UTILITY, location="Lemmas B.2 and 4.4", bound=WEAK, saddle=SADDLE)
def weak_gap() -> Decision:
    """For {saddle}, the weak population gap of F + G at the saddle point of F_S + G is at most {bound}."""
    return proved(
        *SADDLE_POINTS,
        Cited(
            "max_y E (F + G)(x_S, y) - max_y E (F_S + G)(x_S, y) <= max_y of the mean over i of E[f(x_{S_i}, y; xi_i) "
            "- f(x_S, y; xi_i)] <= L E|x_S - x_{S_i}|, the same in y, and "
            "E max_y (F_S + G)(x_S, .) - min_x (F_S + G)(., y_S) = 0",
            "i.i.d. records; the maximum is outside the expectation; saddle point of F_S + G",
        ),
        PER_BLOCK,
        readings={JOINT: "proved", f"{BLOCKS}, with 4 for 2 sqrt 2": "proved"},
        note="Since the maximum stands outside the expectation, y is fixed when record i is averaged over.",
    )


@claim("Z25", Kind.LEMMA, location="Corollary B.3", bound=DEPENDENT)
def dependent() -> Decision:
    """E[F(x_S, v_S) - F(u_S, y_S)] is at most E[G(u_S, y_S) - G(x_S, v_S)] plus {bound}, for u_S and v_S with mean
    stability Delta_u and Delta_v.
    """
    return proved(
        *SADDLE_POINTS,
        Cited(
            "with v_S in place of a fixed y the same exchange of record i moves x_S and v_S: L (|x_S - x_{S_i}| + "
            "|v_S - v_{S_i}|) on average; and F_S + G at (x_S, v_S) is at most its value at the saddle",
            "Lipschitz continuity; saddle point",
        ),
        Identity(
            "the two sides together, each distance at its bound",
            lambda: L * (2 * sqrt(2) * L / (mu * n)) + L * Delta_u + L * Delta_v,
            DEPENDENT,
        ),
        PER_BLOCK,
        readings={JOINT: "proved", f"{BLOCKS}, with 4 for 2 sqrt 2": "proved"},
        note="The stability of u_S and v_S adds L (Delta_u + Delta_v).",
    )


@claim("Z32", Kind.LEMMA, location="Lemma B.4", move=MOVE, centre=CENTRE)
def resolvent() -> Decision:
    """If the centre (u, v) of f + mu_x |x - u|^2 - mu_y |y - v|^2, with halves before the squares, moves by (r, t), its
    saddle point moves by (p, q) so that {move} is at most {centre}.
    """
    return proved(
        Cited(
            "mu_x (u - x*_{u,v}) and mu_y (v - y*_{u,v}) are subgradients of a convex-concave function, "
            "whose field is monotone",
            "Rockafellar 1970; closed convex-concave f",
        ),
        Identity(
            "twice the inner product of monotonicity, which is not negative, and two squares make up the difference; "
            "one coordinate each, and inner products are sums of these",
            lambda: MOVE + 2 * (mu_x * (r - p) * p + mu_y * (t - q) * q) + mu_x * (r - p) ** 2 + mu_y * (t - q) ** 2,
            CENTRE,
        ),
        note="Non-expansiveness of the resolvent of a monotone operator; the centres may lie outside X x Y.",
    )
