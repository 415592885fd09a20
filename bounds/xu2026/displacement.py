r"""How far Algorithm 2 moves in the T steps of the population case, and a function that is steep for longer.

Letters and sizes as in ``schedule``: T = a^{-2/3} steps; eta, r, sqrt D at most a^{1/2}/(L ell), ell = log(4/delta_1),
which is above log 4 for every delta_1 < 1, and C_1 at least 1. An escape phase of k steps moves x by at most (k - 1)
sqrt D and, in its last step (line 14 of Algorithm 2), by sqrt(k D): at most 5/4 times k sqrt D. So the whole run
moves x by less than T a^{1/2}/L, while a function may be steeper than the rate for longer than that.

[1] DP-RGDA, second-order stationary points of private minimax optimisation, 2026, Algorithm 2 and Appendix B.2.
"""

from __future__ import annotations

from sympy import Derivative, Integer, Le, Rational, Subs, ceiling, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, refuted
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Identity, Step
from dpcheck.bounds.symbols import eta, n
from dpcheck.bounds.xu2026 import repair
from dpcheck.bounds.xu2026.error import ERROR, attained
from dpcheck.bounds.xu2026.schedule import ALL, HALF, PLACE, RATE, T_PRINTED, T, a

k, p, x, g, F_0, alpha = symbols("k p x g F_0 alpha", positive=True)
LENGTH = sqrt(a)
MOST = T_PRINTED * LENGTH  # of the movement, L = 1


def longer_slope() -> tuple[Step, ...]:
    """Show that F = Phi(x) - y^2/2 on R x [-1, 1], Phi = g (|x| - log(1 + |x|)), is steeper than the rate after T
    steps.
    """
    gradient = g * x / (1 + x)
    return (
        Identity(
            "an escape phase of k = p^2 steps: 5 k - 4 (k - 1 + sqrt k) is a square",
            5 * p**2 - 4 * (p**2 - 1 + p),
            (p - 2) ** 2,
        ),
        Below("and 5/4 a^{1/2}/log(4/delta_1) is below a^{1/2}, whatever delta_1 < 1", Rational(5, 4), log(Integer(4))),
        Identity(
            "F = Phi(x) - y^2/2 on R x [-1, 1], Phi = g (|x| - log(1 + |x|)): slope",
            Derivative(g * (x - log(1 + x)), x),
            gradient,
        ),
        Identity(
            "second derivative, at most g and 2 g-Lipschitz: A1 to A5 with g <= 1/10, L = mu = 1",
            Derivative(gradient, x),
            g / (1 + x) ** 2,
        ),
        AtMost("the slope is at least g/2 for x >= 1 = x - k", g / 2, gradient.subs(x, 1 + k)),
        Counterexample(
            "a = 10^-6, n = 10^9, g = 1/10, x_0 = 11, F_0 <= g x_0: x moves by less than 10, to where the slope is "
            "1/20 or more, against "
            "a rate of 0.002",
            g / 2 <= RATE,
            {g: Rational(1, 10), a: Rational(1, 10**6), n: Integer(10**9)},
        ),
        attained(Rational(1, 10**6), 10**9, 10**4, HALF, 25),
        Identity("T steps of the length eta add up to", Subs(T * eta, (T, eta), (T_PRINTED, LENGTH)), MOST),
        Identity("which at that a is", Subs(MOST, a, Rational(1, 10**6)), Integer(10)),
        Exceeds(
            "whatever the constants or logarithms: with g = a^{1/6} and x_0 = 1 + a^{-1/6}, F_0 <= 2, the slope at the "
            "output is a^{1/6}/2",
            a ** Rational(1, 6) / 2,
            RATE,
            ALL,
            {a: 1 / s, n: s**3},
        ),
    )


@claim("002:T pop", Kind.SCHEDULE, location=PLACE, steps=T_PRINTED, length=LENGTH, rate=RATE, error=ERROR)
@carries("xu2026.theorem_2", {"T": ceiling(T_PRINTED)}, {a: ERROR})
def iterations() -> Decision:
    """T = {steps} steps of length eta = {length} suffice to descend from Phi(x_0) - min Phi = F_0, a constant, to a
    slope of the order {rate}, a = {error}.
    """
    needed = F_0 / (eta * alpha)
    few = Region(a <= n ** Rational(-2, 3), Le(1, n * a))
    return refuted(
        Counterexample(
            "steps that descend F_0 = 1 at slope alpha = 2/1000, eta = a^{1/2}, a = 10^-6: half a million, and T is "
            "ten "
            "thousand",
            needed <= T_PRINTED,
            {F_0: 1, eta: Rational(1, 1000), alpha: Rational(2, 1000), a: Rational(1, 10**6)},
        ),
        *longer_slope(),
        # Show that F_0/(eta alpha) outgrows the printed T on either side of a = n^{-2/3}.
        Exceeds(
            "F_0/(eta alpha), F_0 a constant, where a >= n^{-2/3} and hence alpha <= 2 a^{1/2}",
            1 / a,
            T_PRINTED,
            Region(a <= 1, a >= n ** Rational(-2, 3)),
            {a: 1 / s, n: s**2},
        ),
        Exceeds(
            "and where a <= n^{-2/3}, hence alpha <= 2 n^{-1/3}: n^{1/3} a^{-1/2}",
            n ** Rational(1, 3) / sqrt(a),
            T_PRINTED,
            few,
            {a: 1 / s, n: s},
        ),
        Exceeds(
            "there the same slope lasts too: a^{1/6} against n^{-1/3}",
            a ** Rational(1, 6) / 2,
            n ** Rational(-1, 3),
            few,
            {a: 1 / s, n: s},
        ),
        *repair.with_tree(),
        *repair.independent(),
        readings={
            "T = a^{-2/3}, F_0 a constant, a >= n^{-2/3}": "refuted",
            "T = a^{-2/3}, F_0 a constant, 1/n <= a <= n^{-2/3}": "refuted",
        },
        repaired="T = F_0/(eta alpha) steps, which changes all other sizes: " + repair.WORDS,
        note="A step of length eta lowers Phi by about eta |grad Phi|, and T eta alpha, a^{1/3} or a^{-1/6} n^{-1/3}, "
        "falls short of any constant F_0. More steps cost samples and noise: with independent noise the orders end at "
        "a^{3/7}.",
        method=(Method.ARITHMETIC, Method.EXPONENTS),
    )
