"""The claims about Theorem 2, its number of steps and equation (44); setting in ``theorems_1_to_3``.

An escape phase of k steps moves x by at most (k - 1) sqrt D and, in its last step (line 14 of Algorithm 2), by
sqrt(k D): at most 5/4 times k sqrt D.
"""

from sympy import Derivative, Integer, Le, Rational, Subs, ceiling, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, refuted
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Identity, Step
from dpcheck.bounds.symbols import L, eta, kappa, n
from dpcheck.bounds.xu2026 import lemma_8
from dpcheck.bounds.xu2026.lemma_8 import RATE, T_PRINTED
from dpcheck.bounds.xu2026.theorem_1_proof import ERROR, attained

delta_1, delta_2, a = symbols("delta_1 delta_2 a", positive=True)
k, p, x, g, F_0, alpha, C_1, C_Phi, log_1, success = symbols("k p x g F_0 alpha C_1 C_Phi ell_1 success", positive=True)
LENGTH = sqrt(a)
MOST = T_PRINTED * LENGTH  # of the movement, L = 1


def longer_slope() -> tuple[Step, ...]:
    """Show that F = Phi(x) - y^2/2 on R x [-1, 1], Phi = g (|x| - log(1 + |x|)), is too steep after T steps."""
    gradient = g * x / (1 + x)
    return (
        Identity(
            "an escape phase of k = p^2 steps: 5 k - 4 (k - 1 + sqrt k) is a square",
            5 * p**2 - 4 * (p**2 - 1 + p),
            (p - 2) ** 2,
        ),
        Below("and 5/4 a^{1/2}/log(4/delta_1) is below a^{1/2}, whatever delta_1 < 1", Rational(5, 4), log(4)),
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
            "1/20 or more, against a rate of 0.002",
            g / 2 <= RATE,
            {g: Rational(1, 10), a: Rational(1, 10**6), n: Integer(10**9)},
        ),
        attained(Rational(1, 10**6), 10**9, 10**4, Rational(1, 2), 25),
        Identity(
            "T steps of the length eta add up to", Subs(lemma_8.T * eta, (lemma_8.T, eta), (T_PRINTED, LENGTH)), MOST
        ),
        Identity("which at that a is", Subs(MOST, a, Rational(1, 10**6)), 10),
        Exceeds(
            "whatever the constants or logarithms: with g = a^{1/6} and x_0 = 1 + a^{-1/6}, F_0 <= 2, the slope at the "
            "output is a^{1/6}/2",
            a ** Rational(1, 6) / 2,
            RATE,
            lemma_8.ALL,
            {a: 1 / s, n: s**3},
        ),
    )


@claim("002:T pop", Kind.SCHEDULE, location=lemma_8.PLACE)
@carries("xu2026.theorem_2", {"T": ceiling(T_PRINTED)}, {a: ERROR})
def iterations() -> Decision:
    """T = {T_PRINTED} steps of length eta = {LENGTH} suffice to descend from Phi(x_0) - min Phi = F_0, a constant, to a
    slope of the order {RATE}, a = {ERROR}.
    """
    needed = F_0 / (eta * alpha)
    few = Region(a <= n ** Rational(-2, 3), Le(1, n * a))
    return refuted(
        Counterexample(
            "steps that descend F_0 = 1 at slope alpha = 2/1000, eta = a^{1/2}, a = 10^-6: half a million, and T is "
            "ten thousand",
            needed <= T_PRINTED,
            {F_0: 1, eta: Rational(1, 1000), alpha: Rational(2, 1000), a: Rational(1, 10**6)},
        ),
        *longer_slope(),
        # F_0/(eta alpha) outgrows the printed T on either side of a = n^{-2/3}.
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
        *lemma_8.with_tree(),
        *lemma_8.independent(),
        readings={
            "T = a^{-2/3}, F_0 a constant, a >= n^{-2/3}": "refuted",
            "T = a^{-2/3}, F_0 a constant, 1/n <= a <= n^{-2/3}": "refuted",
        },
        repaired="T = F_0/(eta alpha) steps, which changes all other sizes: " + lemma_8.REPAIR,
        note="A step of length eta lowers Phi by about eta |grad Phi|, and T eta alpha, a^{1/3} or a^{-1/6} n^{-1/3}, "
        "falls short of any constant F_0. More steps cost samples and noise: with independent noise the orders end at "
        "a^{3/7}.",
        method=(Method.ARITHMETIC, Method.EXPONENTS),
    )


MOVE = a / (log_1**2 * kappa**2 * L**2 * C_Phi**2)  # (44)
LONGEST = sqrt(a) / (L * lemma_8.LOGS)  # of the steps and perturbations of Lemma 8


@claim("002:(44)", Kind.STEP, location="Equation (44), Appendix B.2")
@carries("xu2026.theorem_2", {"eta": LONGEST, "r": LONGEST, "D": a / (L * lemma_8.LOGS) ** 2}, {a: ERROR})
def step_lengths() -> Decision:
    """With Lemma 8's choices |x_{{t+1}} - x_t|^2 is at most max{{eta^2, r^2, D}} for every t, and that at most {MOVE},
    ell_1 the logarithm of 4/delta_1 and a = {ERROR}.
    """
    largest = a / (L**2 * log_1**2 * C_1**2)  # Lemma 8's bound of eta^2 and of D
    ones = ((a, Rational(1, 100)), (L, 1), (log_1, 2), (C_1, 1), (C_Phi, 1), (kappa, 2))
    one_step = symbols("step", positive=True)
    return conditional(
        Counterexample("kappa = 2, C_1 = C_Phi: eta^2 is four times the claimed bound", largest <= MOVE, ones),
        attained(Rational(1, 100), 400, 1, Rational(1, 2), 4),
        Identity("the ratio of the two", lambda: largest / MOVE, (kappa * C_Phi / C_1) ** 2),
        Counterexample("r has no constant C_1 to save it: kappa = 2, C_Phi = 1", a / (L * log_1) ** 2 <= MOVE, ones),
        Counterexample(
            "and D bounds a mean: of 4 steps of an unbroken phase, 0, 0, 0 and 2 sqrt D, the last has 4 D, even for "
            "kappa = 1",
            one_step <= MOVE,
            ((one_step, 4 * Rational(1, 400)), *ones[:-1], (kappa, 1)),
        ),
        AtMost(
            "eta, r and sqrt D smaller by the factor kappa C_Phi, with C_1 >= 1: enough",
            largest.subs(C_1, (1 + k) * kappa * C_Phi),
            MOVE,
        ),
        readings={
            "C_1 an absolute constant, C_Phi = C_1": "refuted",
            "every single step of the escape phase": "refuted",
            "the mean of the squared steps, if C_1 >= kappa C_Phi and r carries C_1 too": "proved",
        },
        differs="symbol",
        condition="C_1 >= kappa C_Phi, the constant 'to be decided later', r with C_1 as eta and D have it, and the "
        "mean of the squared steps over an escape phase",
        repaired="eta, r, sqrt D <= a^{1/2}/(kappa L log(4/delta_1) C_Phi), in the mean over an escape phase",
        note="The factor 1/kappa^2 is not in Lemma 8's choices unless C_1 carries it, r has no C_1, and a single "
        "escape step may be longer than the average movement.",
        method=Method.ARITHMETIC,
    )


SURE = 1 - delta_1 - delta_2


@claim("002:Thm2", Kind.UTILITY, location="Theorem 2")
@carries("xu2026.theorem_2", {"rate statistical": n ** Rational(-1, 3)})
@carries("xu2026.theorem_2", {"rate privacy": sqrt(a)}, {a: ERROR})
def population() -> Decision:
    """DP-RGDA with the parameters of Appendix B.2 returns a point with |grad Phi| <= alpha and curvature at least minus
    the root of rho_Phi alpha, alpha of the order {RATE} up to logarithms, a = {ERROR}, with probability at least
    {SURE}, for all n, d, epsilon and delta.
    """
    return refuted(
        *longer_slope(),
        Counterexample(
            "on that function the output is never good: chance 0, delta_1 = delta_2 = 1/10",
            success >= SURE,
            {success: 0, delta_1: Rational(1, 10), delta_2: Rational(1, 10)},
        ),
        Exceeds(
            "the refresh noise a n/S_1 alone is more than the rate",
            a * n ** Rational(1, 3),
            RATE,
            lemma_8.ALL,
            {a: 1 / s, n: s**3},
        ),
        Exceeds(
            "and so are the increments' noises, n a^{5/3}",
            n * a ** Rational(5, 3),
            RATE,
            lemma_8.ALL,
            {a: 1 / s, n: s**3},
        ),
        *lemma_8.with_tree(),
        *lemma_8.independent(),
        readings={
            "Algorithm 2 with the parameters of Appendix B.2, for all n, d, epsilon, delta": "refuted",
            "some algorithm reaches the rate": "unresolved",
        },
        repaired=lemma_8.REPAIR
        + "; a refresh after a perturbation; privacy calibrated by an accountant. The orders fit with "
        "the tree, which is another mechanism; whether the theorem holds for it is not settled here",
        note="All T = a^{-2/3} steps together move x by at most order a^{-1/6}: descent steps have length eta, "
        "perturbations r, and an escape phase moves by at most 5/4 of its number of steps times sqrt D, all of order "
        "a^{1/2}/log(4/delta_1). A slope of order a^{1/6}, above alpha, may last longer. With the printed noise the "
        "estimators miss alpha as well, and with independent noise the orders end at a^{3/7}.",
        method=(Method.ARITHMETIC, Method.EXPONENTS),
    )
