"""The claims on a multiplier between replaced records, which an accountant may take for one over another length.

A record adds a vector of norm C at most to a sum, whose noise has deviation z C. An added or removed record moves the
sum by C, a replaced one by 2 C. Accountants differ in which of the two they divide the deviation by.
"""

from sympy import Rational, erfc, log, oo, symbols

from dpcheck.bounds.calibration import NotPrivate
from dpcheck.bounds.claim import Decision, Kind, claim, proved
from dpcheck.bounds.evidence import AtMost, Below, Cited, Domain, Identity, Inequality

C, z, x, u, alpha, gamma = symbols("C z x u alpha gamma", positive=True)
HERE = "not in the paper, which has replaced records as neighbours"
SPENT = Rational(49, 10)
RENYI = alpha * (2 * C) ** 2 / (2 * (z * C) ** 2)
TAKEN = alpha * C**2 / (2 * (z * C) ** 2)
TOLD, SAID = gamma * (1 - erfc(2 * u)), gamma * (1 - erfc(u))


@claim("W01", Kind.ACCOUNTING, location=HERE, most=2 * C, order=RENYI)
def four_times() -> Decision:
    """Replacing a record moves the sum by at most {most}, which opposite records attain: a Renyi divergence of
    order alpha of at most {order}, four times that of a move by C.
    """
    return proved(
        AtMost("the triangle inequality, for records of norms C/(1 + x) and C", C / (1 + x) + C, 2 * C),
        Cited("N(v, S^2 I) from N(0, S^2 I) has Renyi divergence alpha |v|^2/(2 S^2) of order alpha",
              "Mironov 2017, Proposition 7"),
        AtMost("which grows with the move, 2 C/(1 + x)", alpha * (2 * C / (1 + x)) ** 2 / (2 * (z * C) ** 2), RENYI),
        Identity("against a move by C", RENYI, lambda: 4 * TAKEN),
        note="A multiplier z over C is z/2 over what a replaced record moves.",
    )  # fmt: skip


@claim("W02", Kind.ACCOUNTING, location=HERE, taken=TAKEN.subs({C: 1, z: 1}), epsilon=SPENT)
def no_bound() -> Decision:
    """Where noise of deviation C is accounted as if a replaced record moved the sum by C, its Renyi divergence of
    {taken} makes it ({epsilon}, 1e-5)-private; between replaced records it is not.
    """
    delta, order = Rational(1, 10**5), Rational(5)
    return proved(
        Identity("the divergence that is taken, a quarter of the true one", TAKEN.subs({C: 1, z: 1}),
                 lambda: RENYI.subs({C: 1, z: 1}) / 4),
        Cited("epsilon is at most the divergence, log(1 - 1/alpha) and -log(alpha delta)/(alpha - 1) together",
              "Canonne, Kamath and Steinke 2020, Proposition 12"),
        Below("of order 5", order / 2 + log(1 - 1 / order) - log(order * delta) / (order - 1), SPENT),
        NotPrivate("noise of half the move", Rational(1, 2), SPENT, delta),
        note="It is (10, 1e-5)-private, as half the multiplier says.",
    )  # fmt: skip


@claim("W03", Kind.ACCOUNTING, location=HERE, told=TOLD, said=SAID)
def minibatch() -> Decision:
    """Opposite records among ones that are 0, in a minibatch of a share gamma without replacement, are told apart with
    an advantage of {told}, where 8 (u z)^2 = 1; a multiplier taken over 2 C would make it {said}, which is less.
    """
    return proved(
        Cited("the laws are (1 - gamma) N(0) + gamma N(C) and (1 - gamma) N(0) + gamma N(-C), whose total variation is "
              "gamma times that of N(C) and N(-C): P(Z <= 1/z) - P(Z <= -1/z), each erfc of its place over -sqrt(2), "
              "halved", "definition"),
        Identity("gamma times that difference", TOLD, lambda: gamma * (erfc(-2 * u) / 2 - erfc(2 * u) / 2)),
        Inequality("half the distance tells less", SAID, TOLD, Domain({gamma: (0, 1), u: (0, oo)})),
        note="For much noise the true advantage is nearly twice what is said.",
    )  # fmt: skip
