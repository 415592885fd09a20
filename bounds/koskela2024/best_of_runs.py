"""The claims on the best of a random number of runs, released alone, setting in ``runs``.

K runs are made, each on its own, K drawn with the generating function f, and the one with the highest score is
released, ties broken at random. With p and q the chances that one run on either data set scores no higher, the release
has the densities P f'(p) and Q f'(q). delta(.) is the privacy curve of one run, for both orders of the data sets.
"""

from sympy import Derivative, Subs, exp, symbols

from dpcheck.bounds.claim import Decision, Kind, carries, claim, proved
from dpcheck.bounds.evidence import AtMost, Cited, Identity
from dpcheck.bounds.koskela2024.runs import (
    BOUND,
    EPSILON,
    MEAN,
    PLACE,
    POISSON_DELTA,
    POISSON_EPSILON,
    gamma,
    mean,
    shape,
)

x, j, h, k, w, v = symbols("x j h k w v", positive=True)

GENERATING = ((1 - (1 - gamma) * x) ** (-shape) - 1) / (gamma ** (-shape) - 1)  # shape above 0; alike below it
POISSON = exp(mean * (x - 1))
DENSITY = Cited(
    "the best of K runs has the density f'(p) P: given K = n it is n p^(n - 1) P, and ties are broken by a number that "
    "is independent of the data and then forgotten",
    "order statistics",
)
HOCKEY = Cited(
    "where f'(p) <= e^e f'(q): the integral of P f'(p) - e^(e1 + e) Q f'(q) over any set is at most that of f'(p) (P - "
    "e^e1 Q)^+, and at most the largest f' times delta(e1)",
    "definition of the hockey-stick divergence",
)


@claim("P01", Kind.PRIVACY, location=PLACE + ", truncated negative binomial", mean=MEAN)
@carries("koskela2024.negative_binomial", {"bound": BOUND, "mean": MEAN, "epsilon": EPSILON})
def negative_binomial() -> Decision:
    """With K truncated negative binomial of a shape above -1 and stop gamma the release is (e1 + (1 + shape) e2, m
    delta(e1))-private, m = {mean} the mean of K, for every e1 and every e2 at which delta(e2) is at most gamma over 1 -
    gamma times what e to the power e2 has above 1.
    """
    stop, rest = 1 / (1 + h), h / (1 + h)  # gamma and 1 - gamma
    beyond = stop * j / (rest * (1 + k))  # delta(e2), j = exp(e2) - 1
    return proved(
        DENSITY,
        Identity("f' is the mean at 1, where it is largest", Subs(Derivative(GENERATING, x), x, 1), MEAN),
        Identity("and has the power -(1 + shape) of 1 - (1 - gamma) x", Derivative(GENERATING, x),
                 shape * (1 - gamma) * (1 - (1 - gamma) * x) ** (-shape - 1) / (gamma ** (-shape) - 1)),
        AtMost("with 1 - q <= exp(e2) w + delta(e2), w = 1 - p, gamma + (1 - gamma)(1 - q) is at most exp(e2) times "
               "gamma + (1 - gamma) w", stop + rest * ((1 + j) * w + beyond), (1 + j) * (stop + rest * w)),
        Cited("so that f'(p) <= exp((1 + shape) e2) f'(q), as a power of that", "monotone powers, 1 + shape > 0"),
        HOCKEY,
        note="Shape 0, the logarithmic law, is the limit, with mean (1 - gamma)/(gamma log(1/gamma)). A pure epsilon e "
        "of one run has delta(e) = 0: (2 + shape) e, as Papernot and Steinke have it.",
    )  # fmt: skip


@claim("P02", Kind.PRIVACY, location=PLACE + ", Poisson", largest=mean)
@carries("koskela2024.poisson", {"bound": POISSON_DELTA, "epsilon": POISSON_EPSILON})
def poisson() -> Decision:
    """With K of Poisson's law the release is (e1 + mean delta(0), {largest} delta(e1))-private for every e1, mean that
    of K; nothing is released where K is 0.
    """
    return proved(
        DENSITY,
        Identity("f' at 1, where it is largest", Subs(Derivative(POISSON, x), x, 1), mean),
        Identity("f'(p) over f'(q)", Subs(POISSON, x, w) / Subs(POISSON, x, v), exp(mean * (w - v))),
        AtMost("p - q is at most delta(0), the total variation: q = v, p = v + w, delta(0) = w (1 + k)", v + w,
               v + w * (1 + k)),
        HOCKEY,
        Cited("K = 0 has one chance on both data sets", "K looks at no data"),
        note="The number of runs shows nothing of the data by itself.",
    )  # fmt: skip
