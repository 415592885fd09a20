r"""Lemmas 4 to 6: the generalisation error of DP-SGDA by weak stability, and the claims about the proofs.

Lemma 4. A is e-weakly-stable if for all neighbours S, S' and all records z [1, Appendix C.2]

    sup_v E[f(A_w(S), v; z) - f(A_w(S'), v; z)] + sup_w E[f(w, A_v(S); z) - f(w, A_v(S'); z)] <= e,

and the weak population gap then exceeds the empirical one by at most e. The instance here has W = V = [0, 1], fair bits
for records and f(w, v; z) = h(w, z) - h(v, z), h(x, z) = (x - z)^2/2, and both blocks of the output are the mean of S.

Lemma 6. Setting as in ``theorem_2``, G^2 = G_w^2 + G_v^2. The population gap exceeds the empirical one by at most

    a) smooth (A1, A3):   4 sqrt(e (T + T^2/n)) (G_w + G_v)^2 eta exp(L^2 T eta^2/2) / sqrt n,
    b) Lipschitz (A1):    4 sqrt 2 eta (G_w + G_v)^2 (sqrt T + T/n).

Its proof runs the algorithm on S and on S', which differ in the last record, with the same draws and noise. Delta is
the difference of the iterates u = (w_t, v_t) and u', h(u) the minibatch mean of (grad_w f, -grad_v f) on S, h' that on
S', H = E h the field of F_S. The claims show the published recursions, for any p > 0 and |e| <= 2 G, from

    E|Delta_{t+1}|^2 <= |Delta|^2 - 2 eta <Delta, E[h(u) - h'(u')]> + eta^2 E|h(u) - h'(u')|^2,
    E[h(u) - h'(u')] = H(u) - H(u') + e/n,
    E|h(u) - h'(u')|^2 <= (1 - 1/n) L^2 |Delta|^2 + 4 G^2/n   (a)   or   4 G^2   (b).
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

from sympy import E, Eq, Integer, Rational, exp, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, misprint, proved, refuted
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Quoted, Step
from dpcheck.bounds.symbols import D_v, D_w, G_v, G_w, L, T, d, eta, m, n, sigma_v, sigma_w, t
from dpcheck.bounds.yang2022.theorem_2 import LIPSCHITZ, SMOOTH


def draws(n: int, m: int, replacement: bool = True) -> Iterator[tuple[int, ...]]:
    """Yield all equally likely minibatches: ordered tuples with replacement, else subsets."""
    return product(range(n), repeat=m) if replacement else combinations(range(n), m)


def chance_absent(n: int, m: int, replacement: bool = True) -> Fraction:
    """Return the probability that the differing record is in no place of the minibatch."""
    absent = [n - 1 not in batch for batch in draws(n, m, replacement)]
    return Fraction(sum(absent), len(absent))


def mean_share(n: int, m: int, replacement: bool = True) -> Fraction:
    """Return the expected share of the minibatch that the differing record takes up, E[k]/m."""
    shares = [Fraction(batch.count(n - 1), m) for batch in draws(n, m, replacement)]
    return sum(shares, Fraction(0)) / len(shares)


def largest_difference(n: int, m: int, replacement: bool = True) -> Fraction:
    """Return the largest change of the minibatch's mean gradient, over all draws, in units of G.

    The function is f(w; z) = z G w with records in [-1, 1]: record n - 1 changes from +1 to -1,
    the largest change a gradient of norm at most G can make, and the others stay.
    """
    before, after = [1] * n, [1] * (n - 1) + [-1]
    return max(Fraction(abs(sum(before[i] - after[i] for i in batch)), m) for batch in draws(n, m, replacement))


ABSENT = 1 - m / n

# G is sqrt(G_w^2 + G_v^2), D is |Delta|, X and Y its two blocks; n is written 1 + k.
G, D, X, Y, p, k = symbols("G D X Y p k", positive=True)
INNER = D**2 + 4 * G * eta * D / n  # |Delta|^2 - 2 eta <Delta, E[h(u) - h'(u')]> is at most this
SPLIT = D**2 * (1 + p / n) + 4 * G**2 * eta**2 / (n * p)
RECURSION_A = (1 + L**2 * eta**2 + p / n) * D**2 + 4 * (1 + 1 / p) * G**2 * eta**2 / n
RECURSION_B = (1 + p / n) * D**2 + 4 * (1 + 1 / (n * p)) * G**2 * eta**2

FIRST_MOMENT: tuple[Step, ...] = (
    Cited("projections bring points together; the common noise cancels", "convex analysis"),
    *(
        Enumerated("the record's expected share of a minibatch is 1/n", mean_share, sizes, Fraction(1, sizes[0]))
        for sizes in ((2, 2), (3, 2), (2, 4), (4, 3))
    ),
    Cited("each place of a minibatch holds each record with chance 1/n", "Algorithm 1, line 4"),
    Quoted(
        "<Delta, H(u) - H(u')> >= 0 for H the mean of the records' fields",
        "Y16",
        "Lemma 5",
        "F_S is convex-concave, and H is a (sub)gradient field of it at the iterates, which lie in W x V",
    ),
    Identity("Young's inequality: the difference is a square", SPLIT - INNER, (p * D - 2 * G * eta) ** 2 / (n * p)),
)
STEP_A = AtMost(
    "one step of a is the printed recursion",
    (SPLIT + eta**2 * ((1 - 1 / n) * L**2 * D**2 + 4 * G**2 / n)).subs(n, 1 + k),
    RECURSION_A.subs(n, 1 + k),
)
NONSMOOTH = Cited(
    "where f is not differentiable the mean of subgradients, of norm at most G_w and G_v, is one of F_S if each "
    "f(., .; z) is convex-concave, as Theorem 2 assumes; the lemma's own assumption implies it. If F_S is so for every "
    "sample, take n copies of one record. If for almost every sample, then f for almost every record: otherwise, f "
    "being continuous, records with a defect above c > 0 at some points of a countable dense set have probability "
    "r > 0, and a whole sample of them r^n",
    "sum rule for convex functions; i.i.d. records",
)
STEP_B = Identity("one step of b is the printed recursion", SPLIT + 4 * G**2 * eta**2, RECURSION_B)
TO_STABILITY: tuple[Step, ...] = (
    Identity(
        "G_w X + G_v Y <= G |(X, Y)|: the difference of the squares is a square",
        (G_w**2 + G_v**2) * (X**2 + Y**2) - (G_w * X + G_v * Y) ** 2,
        (G_w * Y - G_v * X) ** 2,
    ),
    Cited("E|mean of Delta_t| <= max_t sqrt(E|Delta_t|^2), and the bound increases with t", "Jensen's inequality"),
    Quoted(
        "the population gap exceeds the empirical one by at most G_w E|w_mean - w'_mean| + G_v E|v_mean - v'_mean|",
        "Y16",
        "Lemma 4 with the pair reversed in the second supremum, or each supremum of an absolute value",
        "by A1 the two distances, in which S and S' may be exchanged, bound absolute values in both suprema",
    ),
)
# f = z w over W = R, one record z = +-1 with equal chance, w_1 = 0, any noise. F = 0, so the
# population gap is 0; the empirical gap is E[z (w_1 + w_2)/2] = -eta/2.
ETA_SQUARED = Counterexample(
    "the last display of the proof of Lemma 6(b): f = z w, z = +-1, n = 1, T = 2, whose generalisation error is eta/2",
    eta / 2 <= 32 * (G_w + G_v) ** 2 * eta**2 * (sqrt(T) + T / n),
    {G_w: 1, G_v: 1, n: 1, T: 2, eta: Rational(1, 1000)},
)


@claim("Y17", Kind.PROBABILITY, location="proof of Lemma 6(a), Appendix C.2", chance=ABSENT)
def absent() -> Decision:
    """A record is absent from a minibatch of m draws with replacement with probability {chance}."""
    return refuted(
        *(
            Enumerated("the chance of absence with replacement", chance_absent, (n_, m_), (1 - Fraction(1, n_)) ** m_)
            for n_, m_ in ((2, 2), (3, 2), (4, 3), (5, 1))
        ),
        Enumerated("without replacement it is 1 - m/n", chance_absent, (4, 3, False), Fraction(1, 4)),
        Counterexample(
            "two draws from two records miss one of them with chance 1/4, not 0",
            Eq((1 - 1 / n) ** m, ABSENT),
            {n: 2, m: 2},
        ),
        Identity(
            "the induction step of Bernoulli's inequality (1 - 1/n)^m >= 1 - m/n",
            (1 - m / n) * (1 - 1 / n) - (1 - (m + 1) / n),
            m / n**2,
        ),
        readings={
            "with replacement, as Algorithm 1 samples, m >= 2": "refuted",
            "with replacement, m = 1": "proved",
            "without replacement": "proved",
        },
        repaired="(1 - 1/n)^m, which is at least 1 - m/n; Lemma 6 stands, since its recursions need only that each "
        "place of the minibatch holds the record with chance 1/n",
        note="Two draws from two records miss the last with probability 1/4, not 0.",
        method=Method.ENUMERATION,
    )


@claim("Y18", Kind.ASSUMPTION, location="Lemma 6, Appendix C.2")
def precondition() -> Decision:
    """The stability recursions need only that F_S is convex-concave."""
    return proved(
        *FIRST_MOMENT,
        NONSMOOTH,
        STEP_A,
        STEP_B,
        *TO_STABILITY,
        note="The printed proof uses that each f(., .; z) is convex-concave, which the lemma does not assume. In "
        "expectation over the minibatch F_S is enough, with the same recursions, for differentiable f. For other f "
        "the lemma's assumption, on every sample or almost every one, gives convexity of each record's f. On one "
        "given sample it would not (Y13).",
    )


# The bounds of Theorem 2, Lemma 6's generalisation errors and equation (13)'s optimisation error, typed again.
BOTH = eta * (G_w + G_v) ** 2
OPTIMISATION = (
    eta * (G_w**2 + G_v**2) / 2
    + (D_w**2 + D_v**2) / (2 * eta * T)
    + (D_w * G_w + D_v * G_v) / sqrt(m * T)
    + eta * d * (sigma_w**2 + sigma_v**2)
)
EXPONENTIAL = exp(Rational(1, 2)) * exp(T * (L * eta) ** 2 / 2)
SMOOTH_BOUND = {"bound": 4 * BOTH / sqrt(n) * sqrt(T + T**2 / n) * EXPONENTIAL + OPTIMISATION}
LIPSCHITZ_BOUND = {"bound": 4 * sqrt(2) * BOTH * (sqrt(T) + T / n) + OPTIMISATION}


@claim("Y19", Kind.CONSTANT, location="Lemma 6(a), Appendix C.2", bound=SMOOTH)
@carries("yang2022.theorem_2a", SMOOTH_BOUND)
def smooth() -> Decision:
    """In the smooth case the generalisation error is at most {bound}."""
    # T terms, each at most exp(L^2 eta^2 T + p T/n) by 1 + a <= e^a; then p = n/T.
    square = 4 * (1 + T / n) * G**2 * eta**2 / n * T * exp(L**2 * eta**2 * T) * E
    root = 2 * eta * sqrt(E * (T + T**2 / n)) * exp(L**2 * T * eta**2 / 2) / sqrt(n)
    return proved(
        *FIRST_MOMENT,
        STEP_A,
        Cited("1 + a <= exp(a)", "convexity of the exponential"),
        Identity("the square root of the solved recursion", (G * root) ** 2, square),
        *TO_STABILITY,
        AtMost("the printed constant covers G^2 times the root", (G_w**2 + G_v**2) * root, SMOOTH),
        repaired="sharper: 2 (G_w^2 + G_v^2) in place of 4 (G_w + G_v)^2",
        note="The printed chance 1 - m/n is wrong with replacement (Y17); the recursion it leads to holds. Smoothness "
        "is used between iterates only, which lie in W x V.",
    )


@claim("Y20", Kind.CONSTANT, location="Lemma 6(b), Appendix C.2", bound=LIPSCHITZ)
@carries("yang2022.theorem_2b", LIPSCHITZ_BOUND)
def lipschitz() -> Decision:
    """In the Lipschitz case the generalisation error is at most {bound}."""
    added = 4 * (1 + 1 / (n * p)) * G**2 * eta**2
    power = symbols("power", positive=True)  # (1 + p/n)^t
    closed = added * n / p * (power - 1)
    return proved(
        *FIRST_MOMENT,
        NONSMOOTH,
        STEP_B,
        Identity(
            "the closed form at t + 1 follows from t; at t = 0, where power = 1, it is 0",
            (1 + p / n) * closed + added,
            closed.subs(power, power * (1 + p / n)),
        ),
        Identity("at p = n/t", closed.subs(p, n / t), 4 * G**2 * eta**2 * (t + t**2 / n**2) * (power - 1)),
        Cited("(1 + 1/t)^t <= e", "1 + a <= exp(a)"),
        Below("4 (e - 1) is below 16, the printed constant", 4 * (E - 1), 16),
        AtMost("sqrt(t + t^2/n^2) <= sqrt t + t/n, squared", t + t**2 / n**2, (sqrt(t) + t / n) ** 2),
        *TO_STABILITY,
        AtMost("the printed constant covers sqrt(16) G^2", 4 * (G_w**2 + G_v**2) * eta * (sqrt(T) + T / n), LIPSCHITZ),
        ETA_SQUARED,
        readings={
            "Lemma 6(b) and Theorem 2, with eta, each f(., .; z) convex-concave": "proved",
            "the same, F_S convex-concave for almost every sample, which implies it": "proved",
            "the last two displays of the proof, with eta^2": "refuted",
        },
        repaired="sharper: 2 sqrt(e - 1) (G_w^2 + G_v^2) in place of 4 sqrt 2 (G_w + G_v)^2",
        note="The lemma as stated, for gradients and for subgradients of norm at most G_w and G_v, such as limits of "
        "gradients; A1 bounds no other subgradient at a wall. For subgradients it also needs that each record's f is "
        "convex-concave: Theorem 2 assumes it, and Lemma 6's assumption on F_S implies it for almost every record. "
        "The last two displays of its proof have eta^2 for eta, which fails for small eta; nothing later uses them.",
    )


BITS = (0, 1)
population, empirical, allowed = symbols("population empirical allowed", real=True)


def _h(x: Fraction, z: int) -> Fraction:
    return (x - z) ** 2 / 2


def _mean(data: tuple[int, ...]) -> Fraction:
    return Fraction(sum(data), len(data))


def stability(n: int, reverse: bool = False) -> Fraction:
    """Return the least e for which the mean of n bits is e-weakly-stable.

    ``reverse`` exchanges S and S' in the second supremum. In f the other block cancels, so that each
    supremum is a difference of two values of h.
    """
    worst = Fraction(0)
    for ours, theirs, z in product(product(BITS, repeat=n), product(BITS, repeat=n), BITS):
        if sum(a != b for a, b in zip(ours, theirs, strict=True)) == 1:
            first = _h(_mean(ours), z) - _h(_mean(theirs), z)
            second = -_h(_mean(ours), z) + _h(_mean(theirs), z)
            worst = max(worst, first - second if reverse else first + second)
    return worst


def population_gap(n: int) -> Fraction:
    """Return the weak population gap of the mean of n fair bits."""
    values = [_h(_mean(data), z) for data in product(BITS, repeat=n) for z in BITS]
    return 2 * (sum(values, Fraction(0)) / len(values) - _least(Fraction(1, 2)))


def empirical_gap(n: int, given_data: bool = False) -> Fraction:
    """Return the weak empirical gap; with ``given_data`` its maxima are inside the mean over the datasets."""
    samples = list(product(BITS, repeat=n))
    fit = sum((_h(_mean(data), z) for data in samples for z in data), Fraction(0)) / n
    least = sum((_least(_mean(data) if given_data else Fraction(1, 2)) for data in samples), Fraction(0))
    return 2 * (fit - least) / len(samples)


def _least(chance: Fraction) -> Fraction:
    """Return the least mean of h for bits that are one with this chance, reached at the chance."""
    return (1 - chance) * _h(chance, 0) + chance * _h(chance, 1)


def exchanged() -> Identity:
    """State E f(A(S), v; z') = mean_i E f(A(S_i), v; z_i) for two records, any law on two values and any algorithm."""
    values = {bits: symbols("f_{}{}_{}".format(*bits), real=True) for bits in product(BITS, repeat=3)}  # of S, of z
    one = symbols("p", positive=True)  # the chance of the record 1
    fresh = moved = Integer(0)
    for first, second, z in values:
        chance = one ** (first + second + z) * (1 - one) ** (3 - first - second - z)
        fresh += chance * values[first, second, z]
        moved += chance * (values[z, second, first] + values[first, z, second]) / 2
    return Identity("exchanging records, two of any law on two values, any algorithm", fresh, moved)


@claim("Y16", Kind.LEMMA, location="Lemmas 4 and 5, Appendix C.2")
def weak_risk_stability() -> Decision:
    """Weak stability e bounds the weak risk's generalisation by e, and the gradient field of a convex-concave f is
    monotone.
    """
    here, there, right, left = symbols("here there right left", real=True)  # f at u, u', (w', v), (w, v')
    a, b, c, e = symbols("a b c e", real=True)  # <grad_w f(u), w - w'>, the same at u'; <grad_v f(u), v - v'>, at u'
    return misprint(
        # An instance in which one order of the pair in both suprema is too little.
        Cited(
            "f = (w - z)^2/2 - (v - z)^2/2 on [0, 1]^2 is convex-concave, smooth, Lipschitz and bounded; records are "
            "fair bits; both blocks of the output are the mean of S, without randomness",
            "an instance of Section 3.1",
        ),
        Enumerated("its weak stability, one z in both suprema as in C.2, over all neighbours", stability, (2,), 0),
        Enumerated("the weak population gap", population_gap, (2,), Fraction(1, 8)),
        Enumerated("the weak empirical gap of Definition 4", empirical_gap, (2,), Fraction(-1, 8)),
        Enumerated("and with v and w chosen for each S", empirical_gap, (2, True), 0),
        Counterexample(
            "so Lemma 4 as printed fails, by Definition 4",
            population - empirical <= allowed,
            {population: Rational(1, 8), empirical: -Rational(1, 8), allowed: 0},
        ),
        Counterexample(
            "so Lemma 4 as printed fails, with v and w chosen for each S",
            population - empirical <= allowed,
            {population: Rational(1, 8), empirical: 0, allowed: 0},
        ),
        Cited(
            "the repair: sup a - sup b <= sup (a - b), so the population gap exceeds the empirical one by at most "
            "sup_v E[F(A_w(S), v) - F_S(A_w(S), v)] + sup_w E[F_S(w, A_v(S)) - F(w, A_v(S))]",
            "definition of the supremum",
        ),
        exchanged(),
        Cited(
            "in general: (S, new record) and (S_i, z_i) have one law, for every i. So the first part is the mean over "
            "i of E[f(A_w(S_i), v; z_i) - f(A_w(S), v; z_i)], the second of E[f(w, A_v(S); z_i) - f(w, A_v(S_i); "
            "z_i)]; with the suprema inside E both belong to one pair (S_i, S) and one z_i",
            "i.i.d. records",
        ),
        Enumerated(
            "with the second pair reversed its stability is above the gaps' 1/4", stability, (2, True), Fraction(3, 4)
        ),
        # Four gradient inequalities: at u = (w, v) and u' = (w', v'), with the mixed pairs between them.
        Identity(
            "Lemma 5: what two gradient inequalities in w and two in v leave over, each at least 0, adds up to the "
            "left side of monotonicity",
            lambda: (right - (here - a)) + (left - (there + b)) + ((here - c) - left) + ((there + e) - right),
            (a - b) + (e - c),
        ),
        readings={
            "Lemma 4 with weak stability as defined, the pair (S, S') in both suprema": "refuted",
            "Lemma 4 with the pair reversed in the second supremum, or each supremum of an absolute value": "proved",
            "Lemma 5": "proved",
        },
        differs="index",
        condition="in the definition of weak stability S and S' are exchanged in the second supremum, or both suprema "
        "are of absolute values",
        repaired="sup_v E[f(A_w(S'), v; z) - f(A_w(S), v; z)] + sup_w E[f(w, A_v(S); z) - f(w, A_v(S'); z)] <= e "
        "bounds the difference of the gaps by e, whether the empirical one is that of Definition 4 or has v and w "
        "chosen for each S, which is larger; so does G_w E|A_w(S) - A_w(S')| + G_v E|A_v(S) - A_v(S')|, as Lemma 6 "
        "uses it",
        note="The two suprema are needed in opposite orders of the pair. With one order in both they can cancel: an "
        "algorithm of weak stability 0 has a difference of 1/4. Lemma 5 holds.",
        method=(Method.ENUMERATION, Method.ALGEBRA),
    )
