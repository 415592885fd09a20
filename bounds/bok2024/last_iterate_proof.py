"""The claims about the last iterate, setting in ``last_iterate``: each by one run between the two.

The run between is x' up to some t and then takes, in every step and with x's noise, a share of what separates it from
x: of d_t = c d_(t-1) + s_t it takes a_t, until it is x at the end. Sums of powers of c are written in closed form,
which the first claim proves, so that any number of steps is one formula.
"""

from sympy import Integer, Subs, symbols

from dpcheck.bounds.bok2024.last_iterate import BOUNDED, CYCLIC, FULL, E, l, m, s, total
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, proved
from dpcheck.bounds.evidence import AtMost, Cited, Identity, Quoted
from dpcheck.bounds.symbols import D, T, c, k, sigma, t

i = symbols("i", integer=True, positive=True)
p, q, rho, theta, a, d, lam = symbols("p q rho theta a d lambda", positive=True)
SQUARES = c**2
PLACE = "Section 3, shifted interpolation"

# What is taken in step t, theta c^(T-t), and the distance that is left; theta so that nothing is left at the end.
SHARE = s * total(T) / total(T, SQUARES)
LEFT = s * total(t) - SHARE * c ** (T - t) * total(t, SQUARES)
LEFT_SHOWN = s * (1 - c**t) * (1 - c ** (T - t)) / ((1 - c) * (1 + c**T))


@claim("B01", Kind.LEMMA, location=PLACE, sums=total(t + 1), left=(1 - lam) * (c * d + s))
def one_step() -> Decision:
    """A step in which the run between takes a, a share lambda of what separates it from x, costs a^2/sigma^2 of mu^2
    and leaves at most c d + s - a, which is {left}; 1 + c + ... + c^t is {sums}.
    """
    return proved(
        Identity("the rest of what separates them", (1 - lam) * (c * d + s), lambda: c * d + s - lam * (c * d + s)),
        Identity("the sum of one more power", total(t + 1), lambda: c * total(t) + 1),
        Identity("and two of them", total(Integer(2)), 1 + c),
        Identity("and of squares", total(t + 1, SQUARES), lambda: c**2 * total(t, SQUARES) + 1),
        AtMost("P leaves no more of the difference of two points with the same noise: a share 1/(1 + k)",
               (c * d + s) / (1 + k), c * d + s),
        Cited("given the run between, its next point is phi'(it) + v + Z with |v| <= a whatever x is, x' has no v: a "
              "mixture over v tells no more than its worst part", "joint convexity of the hockey-stick divergence"),
        Cited("N(v, sigma^2 I) against N(0, sigma^2 I) depends on |v| alone, and is G(|v|/sigma)", "rotation"),
        Cited("P, and all that follows, is a post-processing", "data processing"),
        Cited("the costs of adaptively composed Gaussian steps add up in squares", "Dong et al. 2022, Corollary 3.3"),
        note="The noise of x and of the run between is the same, which is a coupling of the two and makes the distance "
        "between them certain; the run between is told from x' step by step, as in a composition.",
    )  # fmt: skip


@claim("B02", Kind.PRIVACY, location="Section 4, strongly convex, full batches", square=FULL**2)
@carries("bok2024.full_batch", {"bound": FULL})
def full_batch() -> Decision:
    """The last of T iterates, all records in every step, is mu-GDP for mu^2 = {square}; linear maps attain it."""
    return proved(
        Quoted("what a step costs and leaves", "B01"),
        Identity("at the first step nothing separates them", Subs(LEFT, t, 0), 0),
        Identity("the distance that is left obeys the recursion", LEFT.subs(t, t + 1),
                 lambda: c * LEFT + s - SHARE * c ** (T - t - 1)),
        Identity("it is, in one product,", LEFT, LEFT_SHOWN),
        AtMost("which is never negative: c = 1/(1 + k), c^t = 1/(1 + p), c^(T-t) = 1/(1 + q)", 0,
               s * (1 - 1 / (1 + p)) * (1 - 1 / (1 + q)) / ((1 - 1 / (1 + k)) * (1 + 1 / ((1 + p) * (1 + q))))),
        Identity("and nothing at the end", Subs(LEFT, t, T), 0),
        Identity("what is taken adds up in squares to mu^2", SHARE**2 * total(T, SQUARES) / sigma**2, FULL**2),
        Identity("the maps c z and c z + s: means s (1 + ... + c^(T-1)) apart, variance sigma^2 (1 + ... + c^(2T-2))",
                 (s * total(T)) ** 2 / (sigma**2 * total(T, SQUARES)), lambda: FULL**2),
        note="No other choice of what is taken does better, as the linear maps show. For c >= 1 nothing is gained over "
        "releasing all, mu = s sqrt(T)/sigma, the limit at c = 1.",
    )  # fmt: skip


LAST = E - 1  # epochs before the last step, in which the record is for the last time
SPREAD = s * c**l * total(LAST, c**l) / (c**2 * total(l * LAST, SQUARES))
WAITING = s * c ** (l - 1) * total(i, c**l) - SPREAD * c ** (l * LAST + 1 - l * i) * total(l * i, SQUARES)


@claim("B03", Kind.PRIVACY, location="Section 4, strongly convex, cyclic batches", square=CYCLIC**2)
@carries("bok2024.cyclic", {"bound": CYCLIC})
def cyclic() -> Decision:
    """With l >= 2 batches in a fixed order, E times, the last iterate is mu-GDP for mu^2 = {square}."""
    return proved(
        Quoted("what a step costs and leaves", "B01"),
        Identity("a record is met every l-th step: sums obey", total(i + 1, c**l), lambda: c**l * total(i, c**l) + 1),
        Identity("what is left before it is met again, after i epochs", WAITING,
                 s * c ** (l - 1) * total(i, c**l) * (1 - c ** (l * (LAST - i))) / (1 + c ** (l * LAST))),
        AtMost("is never negative: c^l = 1/(1 + k), c^(l i) = 1/(1 + p), c^(l (E-1-i)) = 1/(1 + q)", 0,
               s * (1 - 1 / (1 + p)) * (1 - 1 / (1 + q)) / ((1 - 1 / (1 + k)) * (1 + 1 / ((1 + p) * (1 + q))))),
        Identity("nothing is left before the last step", Subs(WAITING, i, LAST), 0),
        Identity("what is taken, and s in the last step, add up in squares to mu^2",
                 (SPREAD**2 * c**2 * total(l * LAST, SQUARES) + s**2) / sigma**2, CYCLIC**2),
        Cited("between two meetings the distance over c^t only falls, so that it is least right before one",
              "the recursion of one step"),
        Cited("a record of another batch is met for the last time earlier; what follows is a post-processing, and what "
              "comes before it is met first is the same on both data sets", "data processing"),
        note="The record of the last batch decides. The step that meets it last takes all that it adds.",
    )  # fmt: skip


TAKEN = (c**m * D + s * total(m)) / total(m, SQUARES)
BETWEEN = c**t * D + s * total(t) - TAKEN * c ** (m - t) * total(t, SQUARES)


@claim("B04", Kind.PRIVACY, location="Section 4, bounded domains, for every c", square=BOUNDED**2)
@carries("bok2024.diameter", {"bound": BOUNDED})
def bounded_domain() -> Decision:
    """On a domain of diameter D any m <= T of the last steps prove the last iterate mu-GDP for mu^2 = {square}."""
    return proved(
        Quoted("what a step costs and leaves", "B01"),
        Identity("before these steps the two runs are at most D apart", Subs(BETWEEN, t, 0), D),
        Identity("the distance that is left obeys the recursion", BETWEEN.subs(t, t + 1),
                 lambda: c * BETWEEN + s - TAKEN * c ** (m - t - 1)),
        Identity("it is, in two products,", BETWEEN,
                 D * c**t * (1 - c ** (2 * (m - t))) / (1 - c ** (2 * m))
                 + s * (1 - c**t) * (1 - c ** (m - t)) / ((1 - c) * (1 + c**m))),
        AtMost("never negative: c = 1/(1 + k), c^t = 1/(1 + p), c^(m-t) = 1/(1 + q)", 0,
               D / (1 + p) * (1 - 1 / (1 + q) ** 2) / (1 - 1 / ((1 + p) * (1 + q)) ** 2)
               + s * (1 - 1 / (1 + p)) * (1 - 1 / (1 + q)) / ((1 - 1 / (1 + k)) * (1 + 1 / ((1 + p) * (1 + q))))),
        Identity("and nothing at the end", Subs(BETWEEN, t, m), 0),
        Identity("what is taken adds up in squares to mu^2", BOUNDED**2, (c**m * D * (1 - c) + s * (1 - c**m)) ** 2
                 * (1 + c) / ((1 - c) * (1 - c ** (2 * m)) * sigma**2)),
        Identity("at c = 1, in shares of D/m + s,", D + s * t - (D / m + s) * t, D * (m - t) / m),
        AtMost("for c > 1 the distance over c^t falls, so that it is not negative before the end, where the last and "
               "least share, theta, is at least s = theta/(1 + k)", theta / (1 + k), theta * (1 + p)),
        note="The run between begins as x', at any distance up to D from x. For c > 1 it holds for those m whose "
        "last share is s at least; the certificate uses no others.",
    )  # fmt: skip


APART = c**t * D * (1 - c ** (2 * (m - t))) / (1 - c ** (2 * m))
POISSON = c**m * D / total(m, SQUARES)


@claim("B05", Kind.PRIVACY, location="Section 4, stochastic batches, in another form", share=rho * sigma**2,
       cost=POISSON**2 * total(m, SQUARES) / (rho * sigma**2))  # fmt: skip
def poisson() -> Decision:
    """With a fresh Poisson sample in each step, and maps that are c-Lipschitz for every sample, the last iterate is no
    easier to tell than m steps of the sampled Gaussian mechanism with noise of variance sigma^2 - {share}, together
    with one Gaussian of mu^2 = {cost}; D the distance before them, or s (1 + c + ... + c^(T-m-1)).
    """
    return proved(
        Quoted("what a step costs and leaves, where the record's own part is not deferred", "B01"),
        Identity("the distance obeys the recursion without s", APART.subs(t, t + 1),
                 lambda: c * APART - POISSON * c ** (m - t - 1)),
        Identity("it is D before these steps", Subs(APART, t, 0), D),
        Identity("and nothing at the end", Subs(APART, t, m), 0),
        Identity("what is taken of it adds up in squares", POISSON**2 * total(m, SQUARES) / (rho * sigma**2),
                 lambda: (c**m * D) ** 2 / (total(m, SQUARES) * rho * sigma**2)),
        AtMost("never negative: c^t = 1/(1 + p), c^(m-t) = 1/(1 + q)", 0,
               D / (1 + p) * (1 - 1 / (1 + q) ** 2) / (1 - 1 / ((1 + p) * (1 + q)) ** 2)),
        Identity("the noise is a sum of two independent parts, of variances", rho * sigma**2 + (1 - rho) * sigma**2,
                 sigma**2),
        Cited("the other records' part of a sample has one law on both data sets and is independent of whether the "
              "record is drawn: given it, the step's shift is v, |v| <= a, plus the record's own, if it is drawn",
              "joint convexity of the hockey-stick divergence"),
        Cited("a sum of two independent releases is a post-processing of the pair", "data processing"),
        note="Without replacement the other records' part tells whether the record is drawn, so that this argument "
        "does not hold there; no bound is certified then.",
        method=(Method.ALGEBRA, Method.CITED),
    )  # fmt: skip
