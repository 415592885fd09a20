r"""Algorithms 2 and 3: their lines, the size of the perturbation, and what they do with released estimates.

In Algorithm 2, the outer loop, line 8 is "m_s = t, s = s + 1", so that m_s in lines 12 to 19 and in the
output has an index that is one too large.
Between two refreshes the estimators change by clipped minibatch means of gradient differences. The paper never gives a
value to their threshold C_u. Descent steps have length eta, so that C_u = L eta clips nothing there; the perturbation
of the escape phase may be as long as

    r = L_Phi eta_H alpha_H/(C rho_Phi),   which for L_Phi eta_H = 1 is sqrt(alpha/rho_Phi)/C,

and a gradient difference as large as L r. With eta = alpha/L the threshold is alpha, and L r at this bound exceeds it
for small alpha; for the population Lemma 8 bounds r by sqrt(a)/(L log(4/delta_1)) as well.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Eq, Integer, Rational, exp, sqrt, symbols

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated
from dpcheck.bounds.symbols import L, delta, epsilon, eta

alpha, alpha_h, rho_phi, C, C_u, eta_h, L_Phi, a, k = symbols(
    "alpha alpha_H rho_Phi C C_u eta_H L_Phi a k", positive=True
)
written, read = symbols("written read")
RADIUS = sqrt(alpha / rho_phi) / C
CLIP = L * eta


def anchors_found(phases: int, late: int) -> Fraction:
    """Count the phases in which m_{s - late} is the anchor just written, s the counter after line 8; ``late = 0`` as
    printed.
    """
    anchors: dict[int, int] = {}
    found = 0
    for s_before, t in enumerate(range(10, 10 + phases)):
        anchors[s_before] = t
        found += anchors.get(s_before + 1 - late) == t
    return Fraction(found)


def clipping_bias(radius: Fraction, threshold: Fraction) -> Fraction:
    """Return |v - grad Phi| after the perturbation, for equal records F = x^2/2 - y^2/2, y = 0, v = grad Phi before
    it.
    """
    before, after = Fraction(0), radius
    difference = after - before  # of the gradients, for every record
    clipped = max(-threshold, min(threshold, difference))
    return abs(before + clipped - after)


@claim("002:Alg2 m_s", Kind.ALGORITHM, location="Algorithm 2, lines 8 to 19")
def anchor() -> Decision:
    """With line 8's m_s = t followed by s = s + 1, the m_s that the later lines and the output read is the anchor of
    the current phase.
    """
    return conditional(
        Counterexample(
            "the first phase writes m_0 and then reads m_1", Eq(read, written), {written: Integer(0), read: Integer(1)}
        ),
        Enumerated("of three phases, those that find their anchor", anchors_found, (3, 0), Fraction(0)),
        Enumerated("with m_{s-1} for m_s", anchors_found, (3, 1), Fraction(3)),
        readings={
            "the two assignments in the printed order": "refuted",
            "s raised after the phase, or m_{s-1} read": "proved",
        },
        condition="the index is read as m_{s-1}, or s is raised after the phase",
        repaired="m_{s-1} in lines 12 to 19 and in the output, or s = s + 1 moved to the end of the phase",
        note="m_s is undefined wherever it is read; the repair is plain, and the lemmas mean the repaired index.",
        method=Method.STEPS,
    )


@claim("002:r vs C_u", Kind.SCHEDULE, location="Algorithms 2 and 3; Lemma 7", radius=RADIUS, clip=CLIP)
def perturbation() -> Decision:
    """With a perturbation radius r within the paper's bounds, of the order {radius}, and increments clipped at C_u =
    {clip}, clipping changes no increment.
    """
    hundredth, tenth = Fraction(1, 100), Fraction(1, 10)
    small = Region(alpha <= 1, L_Phi * eta_h <= 1)
    at = ((alpha, Rational(1, 100)), (L, Integer(1)), (rho_phi, Integer(1)), (C, Integer(1)))
    return conditional(
        Counterexample(
            "Lemma 7's largest r, alpha = 1/100, L = rho_Phi = C = 1: the gradient changes by 1/10, above C_u = L eta "
            "= alpha",
            L * RADIUS <= CLIP,
            (*at, (eta, Rational(1, 100))),
        ),
        Enumerated(
            "and the estimator is left 9 alpha away from the gradient",
            clipping_bias,
            (tenth, hundredth),
            Fraction(9, 100),
        ),
        Exceeds(
            "no constant in the threshold helps: L r outgrows L eta = alpha", L * RADIUS, alpha, small, {alpha: 1 / s}
        ),
        Enumerated("with r = C_u/L it is not moved", clipping_bias, (hundredth, hundredth), Fraction(0)),
        AtMost("r = C_u/(L + k): a gradient changes by at most C_u, and the clip is idle", L * (C_u / (L + k)), C_u),
        AtMost(
            "Lemma 8's r <= sqrt(a)/(L log(4/delta_1)) is such an r for C_u = sqrt(a), log(4/delta_1) = 1 + k",
            L * (sqrt(a) / (L * (1 + k))),
            sqrt(a),
        ),
        readings={
            "r at the upper bound of Lemmas 7 and 10, C_u = L eta with eta = alpha/L": "refuted",
            "r <= C_u/L, in the empirical case": "proved",
            "the population's r of Lemma 8, C_u = sqrt(a)": "proved",
        },
        condition="r <= C_u/L: all the paper's conditions on r are upper bounds, and C_u is never set; Lemma 8's r "
        "meets it for C_u >= sqrt(a)/log(4/delta_1), the empirical case prints no bound that does",
        repaired="r <= C_u/L, or a refresh of the estimators after the perturbation, clipped at C_v",
        note="The one step that is not of length eta is the perturbation. At the largest r of Lemma 7 its gradient "
        "change, of order sqrt(alpha), is clipped to alpha, and the bias stays in v until the next refresh; a smaller "
        "r avoids it.",
        method=(Method.STEPS, Method.EXPONENTS),
    )


chance, other = symbols("chance other", positive=True)

KEPT = Cited(
    "a function of an (epsilon, delta)-DP output, with randomness of its own, is (epsilon, delta)-DP",
    "C. Dwork, A. Roth, 2014, Proposition 2.1",
)


def chosen(start: int, *estimates: int) -> Fraction:
    """Return s of Algorithm 3 on Y = [-1, 1] with lambda = 1/6, from y_{t,0} and u_{t,0}, u_{t,1}, ... alone."""
    path = [Fraction(start)]
    for u in estimates:
        path.append(max(Fraction(-1), min(Fraction(1), path[-1] + Fraction(u, 6))))
    return Fraction(min(range(len(estimates)), key=lambda k: abs(path[k] - path[k + 1])))


def broken_at(eta: Fraction, mean_square: Fraction, *estimates: int) -> Fraction:
    """Return the first step at which D of Algorithm 2 exceeds its threshold, from v_{m+1}, v_{m+2}, ... alone; 0 if
    none.
    """
    total = Fraction(0)
    for count, v in enumerate(estimates, start=1):
        total += (eta * v) ** 2
        if total > count * mean_square:
            return Fraction(count)
    return Fraction(0)


@claim("002:Alg3 s_t", Kind.PRIVACY, location="Algorithm 3, line 18")
def selection() -> Decision:
    """For x_0 and y_0 that do not depend on the data, choosing the k with the smallest |y_k - y_{k+1}|/lambda costs no
    privacy once the noisy u are released.
    """
    return proved(
        KEPT,
        Enumerated(
            "the choice computed from y_{t,0} = 0 and released u = 6, 3, -2", chosen, (0, 6, 3, -2), Fraction(1)
        ),
        Enumerated("and from u = 3, 2, 1", chosen, (0, 3, 2, 1), Fraction(2)),
        Cited(
            "y_{t,k+1} = P(y_{t,k} + lambda u_{t,k}): all y are functions of y_0 and of released u",
            "Algorithm 3, lines 16 and 18",
        ),
        Enumerated("the same u = 6, 3, -2 from y_{t,0} = 1", chosen, (1, 6, 3, -2), Fraction(0)),
        Counterexample(
            "a y_0 that reads the data, 0 or 1, shows in the choice, the released u being equal: chance 1 against 0",
            chance <= exp(epsilon) * other + delta,
            {chance: 1, other: 0, epsilon: 1, delta: Rational(1, 10**5)},
        ),
        readings={
            "y_0 fixed without looking at the data, every u_{t,k} accounted for": "proved",
            "the choice is a function of the released u also where y_0 depends on the data": "refuted",
            "Algorithm 2 with y_0 from PiSARAH on the data, as in Lemma 8, whose privacy nobody counts": "unresolved",
        },
        note="The surrogate is computed from iterates alone; no gradient is evaluated for it. The start y_0, an input "
        "of Algorithm 2, must not depend on the data, and all u_{t,k} count as released, also those that are not "
        "chosen.",
        method=(Method.STEPS, Method.CITED),
    )


@claim("002:Alg2 escape test", Kind.PRIVACY, location="Algorithm 2, lines 12 to 19")
def escape() -> Decision:
    """For inputs that do not depend on the data, the movement test D uses released v only and costs no privacy."""
    return proved(
        KEPT,
        Enumerated(
            "D against its threshold from eta_H = 1/2, Dbar = 1 and released v = 1, 1, 4",
            broken_at,
            (Fraction(1, 2), Fraction(1), 1, 1, 4),
            Fraction(3),
        ),
        Enumerated("v = 1, 1, 1 breaks nothing", broken_at, (Fraction(1, 2), Fraction(1), 1, 1, 1), Fraction(0)),
        Cited("the tests, steps and the output use D, v and fresh randomness only", "Algorithm 2, lines 4 to 20"),
        note="Provided the released v are private, which is another matter, and neither x_0, y_0 nor the thresholds "
        "and step sizes depend on the data (an F_0 taken from the data would).",
        method=(Method.STEPS, Method.CITED),
    )
