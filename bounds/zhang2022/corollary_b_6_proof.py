"""The claims about Corollary B.6, setting in ``corollary_b_6``."""

from typing import Any

from sympy import Integer, Max, Min, Rational, ceiling, exp, floor, log, sqrt, symbols

from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import D, K, L, c, d, delta, epsilon, k, mu, mu_y, n
from dpcheck.bounds.zhang2022 import conditions
from dpcheck.bounds.zhang2022.lemmas import STABLE
from dpcheck.bounds.zhang2022.phases import BLOCKS, COUNT, PHASE, PRIVATE, letters, printed, rates, rounded, short, sums
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG
from dpcheck.bounds.zhang2022.theorem_3_3_proof import SHARES
from dpcheck.bounds.zhang2022.theorem_3_4 import BLOCK, SHARE

b, bits, p, phases, nbar, mu_k, m_k = symbols("b bits p phases nbar mu_k m_k", positive=True)

du, dx = symbols("du dx", real=True)
MOVED = mu_k * du**2
TINY = Rational(1, 10**12)
SIGMA_K = 4 * L / (nbar * epsilon) * sqrt(2 * LOG / (mu_k * m_k))
QUARTER = delta / 4


@claim("Z46", Kind.CALIBRATION, location="Appendix B.4", sigma=SIGMA_K, rare=QUARTER, small=epsilon <= 1)
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
        readings=BLOCKS,
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


power, ell_d, ell_n = symbols("power ell_d ell_n", positive=True)
left, right = symbols("left right", positive=True)  # of an inequality between numbers
SUM = over(b, p <= 1, phases >= 1, L, D)
LEAST_MU, LEAST_MU_Y = 3 * L / (D * sqrt(n)), L / (D * sqrt(n))
PRINTED_MU = 3 * L / D * Max(p, 4 * phases * b)
FIRST_LINE = 6 * L * D * phases * (p + 4 * b)
WEAK_PART = 8 * L**2 * phases**2 / (mu_y * n)
PART = L**2 * d / (mu_y * n**2 * epsilon**2)
MANY = log(Rational(5, 2) * n / delta)
SECOND_LINE = L**2 * phases**2 * (8 / (mu_y * n) + 65 * d * MANY / (mu_y * n**2 * epsilon**2))
SUMMED = L**2 / mu_y * (8 * K / BLOCK + 65 * (K - 1) * d * log(5 / (2 * delta)) / (BLOCK * epsilon) ** 2)
GAMMA = delta * L**2 / (8 * m_k * nbar**2)
MARKOV = Identity(
    "twice the mean gap over the requirement, by Markov", lambda: 2 * GAMMA / (L**2 / (nbar**2 * m_k)), QUARTER
)
MEAN_GAP = "a solver with a mean gap of {gap}, m_k = min(mu_k, mu_y)"


def _natural(count: Any) -> Counterexample:
    """Give n =  10^16, L = D = 1, mu_y = p and log(n) b = p, so that mu = 12 p and m_K = p."""
    small, bits_ = 1 / Integer(10) ** 8, log(Integer(10) ** 16)
    share, mu_ = small / bits_, 12 * small
    derived = (
        sqrt(65) * count * share / sqrt(mu_ * 2**count * small)
        + 65 * count**2 * share**2 / mu_ * (1 - 2 ** (1 - count))
        + 8 * count * small**2 / mu_ * (1 - 2**-count)
        + mu_
    )
    return Counterexample(
        f"natural logarithms, n = 10^16, K = {count}: the terms without mu_y against the printed line",
        left <= right,
        {left: derived, right: 6 * bits_ * (small + 4 * share)},
    )


@claim("Z47", Kind.CONSTANT, location="Corollary B.6, first line", gap=GAMMA, **printed(SHARE))
@carries("zhang2022.corollary_b_6", {"mu": PRINTED_MU}, sums(log(5 / (2 * delta))))
@carries("zhang2022.corollary_b_6", rates(1))
def first() -> Decision:
    """The terms without mu_y are at most {FIRST_LINE} for mu = {PRINTED_MU}, where phases is {count}, p is {p}, b is
    {b} and mu_y is {LEAST_MU_Y} at least, for {MEAN_GAP}.
    """
    terms = (
        sqrt(65) * L**2 * phases * b / (sqrt(3) * L / D)
        + 65 * L**2 * phases**2 * b**2 / PRINTED_MU
        + 8 * L**2 * phases * p**2 / PRINTED_MU
        + PRINTED_MU * D**2
    )
    low = 3 * Max(p, 4 * bits * b)
    return conditional(
        *letters(LOG),
        MARKOV,
        # Show what each phase adds to the weak gap.
        Cited("the last step: F is L-Lipschitz; Jensen", "definition"),
        Inequality(
            "65 in units of L^2 d log(2.5/delta)/(mu_k m_k nbar^2 epsilon^2): 64 from the noise, the solver with "
            "gamma = delta L^2/(8 m_k nbar^2)",
            64 * d * LOG / epsilon**2 + delta / 2,
            c * d * LOG / epsilon**2,
            over(d, epsilon <= 1, delta <= 1),
            (c, 65),
        ),
        Inequality(
            "8 in units of L^2/(m_k nbar): 2 sqrt 2 for the weak gap leaves it for the move of y, whose square is "
            "2 (12 + 3 delta/2)",
            24 + 3 * delta,
            (8 - 2 * sqrt(2)) ** 2,
            over(delta <= Rational(1, 2)),
        ),
        Quoted("a y that moves by Delta_y adds L Delta_y to the weak gap", "Z25"),
        Quoted("and the next phase's y moves no more than its centre", "Z51"),
        # Sum over K = log2 n phases.
        Identity(
            "mu_K mu_y at mu_K = mu n, mu and mu_y at their least", lambda: LEAST_MU * n * LEAST_MU_Y, 3 * L**2 / D**2
        ),
        Identity("and mu_K^2, which is more", lambda: (LEAST_MU * n) ** 2, 9 * n * L**2 / D**2),
        Cited("1/m_k <= 1/mu_k + 1/mu_y; the part with 1/mu_k, summed over the phases", "geometric series"),
        Identity(
            "the regulariser of the first phase, (mu_1/2) |x* - x_0|^2, mu_1 = 2 mu",
            lambda: 2 * PRINTED_MU / 2 * D**2,
            3 * L * D * Max(p, 4 * phases * b),
        ),
        Inequality(
            "K = log2 n: the four terms without mu_y are within the published first line",
            terms,
            6 * L * D * phases * (p + c * b),
            SUM,
            (c, 4),
        ),
        # Sum over K = floor(log2 n) phases.
        Identity(
            "K = floor(log2 n), 2^K > n/2: mu_K mu_y is mu n mu_y/2 at least, in terms of mu",
            lambda: mu * (n / 2) * LEAST_MU_Y,
            L * mu * sqrt(n) / (2 * D),
        ),
        Identity(
            "and mu_K^2 is 3 n/2 times as much",
            lambda: mu * LEAST_MU * (n / 2) ** 2,
            3 * n / 2 * L * mu * sqrt(n) / (2 * D),
        ),
        Identity(
            "the root of 130 p/low is below 20 p/low + 13/8, with left = p/low: the difference of their squares",
            (20 * left + Rational(13, 8)) ** 2 - 130 * left,
            (20 * left - Rational(13, 8)) ** 2,
        ),
        *rounded(
            "K = floor(log2 n), log2 in mu and in the bound",
            lambda ratio: (
                (20 * p / low + Rational(13, 8)) * ratio * b + 65 * ratio**2 * b**2 / low + 8 * ratio * p**2 / low + low
            ),
            6 * bits * (p + c * b),
            (c, 4),
        ),
        *(_natural(round_(log(Integer(10) ** 16))) for round_ in (floor, ceiling)),
        *conditions.one_sided(
            (FIRST_LINE + SECOND_LINE).subs({b: SHARE, p: 1 / sqrt(n), phases: conditions.COUNT}).subs(mu_y, 1)
        ),
        readings={
            "K = log2 n without rounding, log2 in mu and in the bound": "conditional",
            "K = floor(log2 n), log2 in mu and in the bound, n/K or floor(n/K) records in a block": "conditional",
            "natural logarithms throughout": "refuted",
            **conditions.readings(conditions.LIPSCHITZ, "conditional"),
        },
        differs="base of a logarithm",
        condition=f"{conditions.PROJECTED}; and K, mu and the bound have the logarithm to base 2, rounded down or not",
        note="For at least one phase. mu_K = mu n is base 2; to base e it is mu n^0.69.",
    )


def _whole_sum() -> Counterexample:
    """Give n =  2^40, K = 40, epsilon = 1, delta = n^-3, d = 10^8, mu_y = 1/sqrt n: every m_k is mu_y."""
    count = Integer(40)
    size, least = 2**count, 1 / Integer(2) ** 20
    noise = log(Rational(5, 2) * size**3)
    share = sqrt(10**8 * noise) / size
    mu_ = 3 * Max(least, 4 * count * share)
    derived = (
        sqrt(65) * count * share / sqrt(mu_ * size * least)
        + 65 * count**2 * (count - 1) * share**2 / least
        + 8 * count**2 / (size * least)
        + mu_
    )
    line = 6 * count * (least + 4 * share)
    printed = line + count**2 / least * (8 / size + 65 * share**2 * log(Rational(5, 2) * size**4) / noise)
    return Counterexample(
        "the slack of the first line does not make up for it: n = 2^40, K = 40, epsilon = 1, delta = n^-3, d = 10^8, "
        "mu_y = 1/sqrt n, L = D = 1, all derived terms against the whole printed bound, which is below 1/50",
        left <= right,
        {left: derived, right: printed},
    )


@claim("Z48", Kind.CONSTANT, location="Corollary B.6, second line", gap=GAMMA)
@carries("zhang2022.corollary_b_6", {"bound": FIRST_LINE + SUMMED}, sums(log(5 / (2 * delta))))
@carries("zhang2022.corollary_b_6", {"energy": L**2 / (nbar**2 * m_k)}, {m_k: Min(mu * 2**k, mu_y), **PHASE})
@carries(
    "zhang2022.corollary_b_6",
    {"rate strong concavity": L**2 / mu_y * log(n) ** 2 / n, "rate its noise": L**2 / mu_y * log(n) ** 3 * PRIVATE},
)
def second() -> Decision:
    """The terms with mu_y are at most {SECOND_LINE}, where phases is {COUNT}, for {MEAN_GAP}."""
    derived = 65 * phases**2 * (phases - 1) * PART * LOG
    counted = 65 * phases**2 * PART * MANY
    units, more_units = 65 * phases**2 * (phases - 1) * ell_d, 65 * phases**2 * (ell_d + ell_n)
    more = over(phases >= 1, ell_d, ell_n)
    return conditional(
        MARKOV,
        Cited("with mu_y <= mu every m_k is mu_y, so that K - 1 phases weigh their noise with 1/mu_y", "definition"),
        Identity("8 L^2/(mu_y nbar), K times", lambda: 8 * L**2 / (mu_y * (n / phases)) * phases, WEAK_PART),
        Identity("the two published terms", lambda: WEAK_PART + counted, SECOND_LINE),
        Identity("whose logarithm has log n more", lambda: MANY, LOG + log(n)),
        Inequality(
            "log n is log 2 at least from n = 2 on, so that K = log n is 1 at least to base 2",
            log(2),
            COUNT,
            over(n >= 2),
        ),
        Counterexample(
            "n = 2^10, K = 10 phases, log(2.5/delta) = 20, mu_y = 1/32: the sum exceeds the published terms",
            WEAK_PART + derived <= SECOND_LINE,
            {phases: 10, n: 2**10, delta: Rational(5, 2) * exp(-20), d: 1, epsilon: 1, L: 1, mu_y: Rational(1, 32)},
        ),
        _whole_sum(),
        Inequality(
            "it is within it where (K - 1) log(2.5/delta) <= log(2.5 n/delta), the sum of ell_d = log(2.5/delta) and "
            "ell_n = log n",
            units,
            more_units,
            over(more, (phases - 1) * ell_d <= ell_d + ell_n),
        ),
        Inequality("and always with a further factor K", units, phases * more_units, more),
        readings={"8/(mu_y n)": "proved", "65 d log(2.5 n/delta)/(mu_y n^2 epsilon^2), from the proof": "refuted"},
        condition="(K - 1) log(2.5/delta) <= log(2.5 n/delta), or a further factor log n in the last term",
        repaired="L^2 log^2(n) (8/(mu_y n) + 65 log(n) d log(2.5/delta)/(mu_y n^2 epsilon^2)) for n/K records in a "
        "block; for floor(n/K) the sum over the phases itself",
        note="The proof's sum over K - 1 phases gives log^3 n in the last term.",
    )
