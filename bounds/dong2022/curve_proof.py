"""The claims on what a curve means, setting in ``curve``.

Letters: a the false and t the true positives of a test, h = e^epsilon - 1, and x, y for what an inequality leaves.
"""

from sympy import Subs, exp, symbols

from dpcheck.bounds.claim import Decision, Kind, carries, claim, proved
from dpcheck.bounds.dong2022.curve import ADVANTAGE, GROUP, GUESS, HERE, N
from dpcheck.bounds.evidence import AtMost, Cited, Identity, Quoted
from dpcheck.bounds.symbols import delta, epsilon, k

a, t, h, x, y, r, j, M, B, m, b = symbols("a t h x y r j M B m b", positive=True)
POINT = Cited("P(S) <= e^epsilon Q(S) + delta for every set S, and the same with P and Q exchanged", "definition")


@claim("G01", Kind.PRIVACY, location="on groups, for lines", both=m * (M * a + B) + b)
def two_in_a_chain() -> Decision:
    """If a test between the first and the second data set has true positives of no more than M a + B at false positives
    a, and one between the second and the third no more than m a + b, then one between the first and the third has at
    most {both}.
    """
    return proved(
        Cited("one set of outputs is judged on all three data sets; its chance on the second is the true positives of "
              "one test and the false positives of the other", "definition of a test"),
        AtMost("the chance on the second falls short of its line by y, that on the third by x",
               m * (M * a + B - y) + b - x, m * (M * a + B) + b),
        note="Any line of the one curve goes with any of the other, those of slope e^-epsilon too.",
    )  # fmt: skip


@claim("G02", Kind.PRIVACY, location="on groups, for one line of the curve", group=GROUP)
@carries("dong2022.group", {"bound": GROUP})
def group() -> Decision:
    """k records, added, removed or replaced one after another, are (k epsilon, {group})-private."""
    return proved(
        Quoted("two lines in a chain", "G01"),
        Identity("one record has delta", Subs(GROUP, k, 1), delta),
        Identity("one record more, by a line of slope e^epsilon", GROUP.subs(k, k + 1),
                 lambda: exp(epsilon) * GROUP + delta),
        Identity("and slopes multiply", exp(epsilon * (k + 1)), lambda: exp(epsilon) * exp(k * epsilon)),
        note="A chain of different lines, as dpcheck takes it, is sharper: the delta of one point grows like "
        "e^((k - 1) epsilon).",
    )  # fmt: skip


@claim("G03", Kind.PRIVACY, location="on curves", first=(1 + h) * a + delta, second=1 - (1 - a - delta) / (1 + h))
def two_lines() -> Decision:
    """With h = e^epsilon - 1 a test has true positives of at most {first} and at most {second}."""
    return proved(
        POINT,
        AtMost("of the outputs that the test takes", (1 + h) * a + delta - x, (1 + h) * a + delta),
        Identity("of the others, e^epsilon (1 - t) + delta - y = 1 - a at the t", 1 - a,
                 lambda: (1 + h) * (1 - (1 - (1 - a - delta + y) / (1 + h))) + delta - y),
        AtMost("that is", 1 - (1 - a - delta + y) / (1 + h), 1 - (1 - a - delta) / (1 + h)),
        note="Over all epsilon >= 0 of a curve the least of these is attained by the Neyman-Pearson test, if the curve "
        "is.",
    )  # fmt: skip


@claim("G04", Kind.PRIVACY, location="on curves", most=ADVANTAGE)
@carries("dong2022.advantage", {"bound": ADVANTAGE})
def advantage() -> Decision:
    """True minus false positives of a test are at most {most}."""
    slope = exp(epsilon)
    lines = slope - 1 + 2 * delta - (slope * a + delta - t) - (slope * (1 - t) + delta - (1 - a))
    return proved(
        Quoted("both lines", "G03"),
        Identity("what they leave, x and y, takes this from the sum", lines, (slope + 1) * (t - a)),
        AtMost("the sum of both lines over e^epsilon + 1", (slope - 1 + 2 * delta - x - y) / (slope + 1), ADVANTAGE),
        note="At epsilon 0 this is delta, the total variation of the two laws, which a test attains.",
    )  # fmt: skip


@claim("G05", Kind.PRIVACY, location=HERE, chance=GUESS)
@carries("dong2022.guess", {"bound": GUESS})
def guess() -> Decision:
    """One of N equally likely records is named with a chance of at most {chance}."""
    return proved(
        Cited("the outputs at which one record is named are disjoint from those of another, so that under the one law "
              "without it, Q, the chances add up to 1 - r, r that none is named", "definition"),
        POINT,
        Cited("the mean over the N records of P_z(A_z) <= e^epsilon Q(A_z) + delta", "linearity of the mean"),
        AtMost("which is, x what the N inequalities leave,", exp(epsilon) * (1 - r) / N + delta - x, GUESS),
        note="The same for any line M a + B above all tests: M/N + B. For added and removed records Q is the law "
        "without it, for replaced ones that with any fixed record in its place.",
    )  # fmt: skip


@claim("G06", Kind.PRIVACY, location=HERE, chance=(1 + j * delta) / (1 + j))
def guess_between_replaced() -> Decision:
    """Where any two of 1 + j equally likely records make neighbours, with delta at epsilon 0, the right one is named
    with a chance of at most {chance}.
    """
    return proved(
        Cited("with Q the law with one of them, w, P_z(A_z) <= Q(A_z) + delta for each other z, and Q(A_w) for w",
              "definition at epsilon 0"),
        AtMost("the mean, where the chances under Q add up to 1 - r, and x is left",
               (1 - r + j * delta - x) / (1 + j), (1 + j * delta) / (1 + j)),
        note="With two records it is 1/2 + delta/2, which the best test attains.",
    )  # fmt: skip
