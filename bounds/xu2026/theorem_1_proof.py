r"""The claims about Theorem 1 and Lemma 5: the schedule of the empirical case and its one inner step.

Notation. a = sqrt(d log(1/delta))/(n epsilon), L_1 = log(1/delta). The proof of [1, Lemma 5] sets

    T = max{ ((L F_0)^{1/4}/(sqrt M a))^{4/3}, 1/a },  q = 1/(T a^2),  S_2 >= n/sqrt T,  eta = 1/(2 L),  K = 1,

and ends with |grad F| of order sqrt(F_0 L/T) + M T a^2. The statement has 1/(a sqrt L_1) in place of 1/a, 1/(L^2 T a^2)
for q, and a batch size that lacks a factor epsilon^{-2/3}.

Claims about orders contain ``a`` alone. A counterexample at a value of ``a`` is a counterexample to the paper only if
whole numbers n and d, an epsilon below one and a delta give that value; :func:`attained` is the step that shows it.
"""

from fractions import Fraction
from typing import Any

from sympy import Derivative, Eq, Le, Max, Rational, Subs, ceiling, cos, exp, floor, log, pi, sin, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Region
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, misprint, refuted, unresolved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, T, c, d, delta, epsilon, k, mu, n

EMPIRICAL = ("xu2026.theorem_1", "xu2026.theorem_3")  # whose schedules are one
ERROR = sqrt(d * log(1 / delta)) / (n * epsilon)


def attained(value: Any, records: int, dimension: int, loss: Any, logarithm: Any) -> Identity:
    """State that the privacy error is ``value`` at these n, d and epsilon, with delta = exp(-``logarithm``)."""
    at = f"n = {records}, d = {dimension}, epsilon = {loss}, delta = exp(-{logarithm})"
    sizes = (records, dimension, loss, exp(-logarithm))
    return Identity(f"a = {value} occurs: {at}", Subs(ERROR, (n, d, epsilon, delta), sizes), value)


delta_1, delta_2 = symbols("delta_1 delta_2", positive=True)
M, F_0, a, logs, excess, allowed, p, least = symbols("M F_0 a logs excess allowed p x", positive=True)
Q = symbols("q", positive=True)  # not rounded
LONG = ((L * F_0) ** Rational(1, 4) / (sqrt(M) * a)) ** Rational(4, 3)  # the first T of the maximum
STEPS, PERIOD, ORDER = Max(LONG, 1 / a), 1 / (T * a**2), a ** Rational(2, 3)  # as at the end of the proof
FIRST = (M * n * epsilon / sqrt(F_0 * L * d * log(1 / delta))) ** Rational(2, 3)
SECOND = (M * n * d * log(1 / delta)) ** Rational(1, 3) / (L * F_0) ** Rational(1, 6)
BATCH = Max(FIRST, SECOND)  # as the statement has it
# The second as the proof has it, with epsilon
WITH_EPSILON = (M * n * d * log(1 / delta) / epsilon**2) ** Rational(1, 3) / (L * F_0) ** Rational(1, 6)
LENGTH = 1 / (2 * L)
INNER = 1  # steps of the empirical case


def constant_steps(count: int, start: Fraction) -> Fraction:
    """Return x after ``count`` steps x - (eta/|v|) v of Algorithm 2 on Phi = x^2/2 with v = x, eta = 1/2 (L = 1)."""
    x, length = start, LENGTH.subs(L, 1)
    for _ in range(count):
        x -= Fraction(int(length.p), int(length.q)) * (1 if x > 0 else -1)
    return x


def dual_after(count: int, inner: int) -> Fraction:
    """Return y after ``count`` calls of Algorithm 3 with K = ``inner``, exact gradients of F = x y - y^2/2 at x = 1.

    y_{t+1} = y_{t,s}, s the k in {0, ..., K - 1} with the smallest |y_{t,k} - y_{t,k+1}|, lambda = 1/6, y_0 = 0.
    """
    y, step = Fraction(0), Fraction(1, 6)
    for _ in range(count):
        path = [y]
        for _ in range(inner):
            path.append(path[-1] + step * (1 - path[-1]))
        y = path[min(range(inner), key=lambda k: abs(path[k] - path[k + 1]))]
    return y


def has_estimate(k: int, inner: int) -> Fraction:
    """Say whether the loop of Algorithm 3, k = 0 to K - 1, computes v_{t,k} and u_{t,k}."""
    return Fraction(k in range(inner))


@claim("002:Lem5 T,q", Kind.SCHEDULE, location="Lemma 5")
@carries(EMPIRICAL, {"T": ceiling(Max(LONG, 1 / a)), "q": Max(1, floor(PERIOD))}, {a: ERROR})
@carries(EMPIRICAL, {"S_1": n})
def schedule() -> Decision:
    """T = {STEPS} and q = {PERIOD}, rounded down, give a gradient norm of the order {ORDER}, a = {ERROR}."""
    short = Region(L * F_0 <= M**2 * a, a <= 1)  # where 1/a is the larger
    third = (M * L * F_0) ** Rational(1, 3)
    published = Region(a <= 1, Le(1, logs))  # T = max{LONG, 1/(a sqrt(logs))}, q = 1/(L^2 T a^2)
    return conditional(
        Quoted(
            "sqrt(F_0 L/T) + M sqrt(T/q) a, up to constants, for eta = 1/(2 L) and B_1 = M sqrt(T/q) a",
            "002:Lem4 (8)",
            reading="from (12): sqrt(F_0/(T eta) + B_1^2) and q <= 1/(4 B_2^2 eta^2), up to log(1/delta_1)",
        ),
        # With the proof's T and q both terms of its bound have the claimed order.
        Identity("with q = 1/(T a^2) the second term is M T a^2", Subs(M * sqrt(T / Q) * a, Q, PERIOD), M * T * a**2),
        Identity("at the first T of the maximum that is", Subs(M * T * a**2, T, LONG), third * ORDER),
        Identity("and F_0 L/T is its square", Subs(F_0 * L / T, T, LONG), (third * ORDER) ** 2),
        Dominated(
            "at T = 1/a, the larger for L F_0 <= M^2 a, both terms are of order M a^{2/3}",
            sqrt(F_0 * L * a) + M * a,
            M * ORDER,
            short,
        ),
        # The period is at least 1 for small a, and not for every a <= 1.
        Identity("1/q = T a^2 at the first T, cubed", Subs((T * a**2) ** 3, T, LONG), (a * sqrt(L * F_0) / M) ** 2),
        AtMost(
            "so that q >= 1 for a <= M/sqrt(L F_0), a (1 + p) = M/sqrt(L F_0)",
            ((a * sqrt(L * F_0) / M) ** 2).subs(a, M / (sqrt(L * F_0) * (1 + p))),
            1,
        ),
        Counterexample(
            "not for every a <= 1: a = 1/2, M = 1, L F_0 = 16 gives q = floor(.63) = 0",
            PERIOD.subs(T, STEPS) >= 1,
            {a: Rational(1, 2), M: 1, L: 16, F_0: 1},
        ),
        attained(Rational(1, 2), 8, 1, Rational(1, 2), 4),
        AtMost("T >= q where T = (1 + p)/a", 1 / ((1 + p) / a * a**2), (1 + p) / a),
        # The statement's T and q are other formulas, and give the same order.
        Counterexample(
            "the statement's q = 1/(L^2 T a^2) is another formula: L = 2, T = 1/a = 100",
            Eq(1 / (L**2 * T * a**2), PERIOD),
            {L: 2, T: 100, a: Rational(1, 100)},
        ),
        Counterexample(
            "and its T = 1/(a sqrt(log(1/delta))), where it is the larger, does not keep T >= q, which the proof asks "
            "for: log(1/delta) = 16, L = 1",
            (1 / (a * sqrt(logs))) ** 2 * a**2 >= 1,
            {a: Rational(1, 100), logs: 16},
        ),
        Identity(
            "but no rate is lost: with the statement's q the second term is L times the proof's",
            Subs(M * sqrt(T / Q) * a, Q, 1 / (L**2 * T * a**2)),
            L * (M * T * a**2),
        ),
        Dominated(
            "which is within the rate at the statement's T = 1/(a sqrt(log(1/delta))) too, log(1/delta) >= 1; with one "
            "refresh, where q > T, the second term is M a",
            L * M * a / sqrt(logs) + M * a,
            L * M * ORDER + M * ORDER,
            published,
        ),
        AtMost(
            "and sqrt(F_0 L/T) falls in T, so that a maximum over more than the first T only lowers it: T = (1 + p) x",
            F_0 * L / ((1 + p) * least),
            F_0 * L / least,
        ),
        readings={
            "T and q of the proof, a <= min(1, M/sqrt(L F_0)), from sqrt(F_0 L/T) + M T a^2": "proved",
            "T and q of the statement, the order of the same bound, L constant, log(1/delta) and q at least 1": (
                "proved"
            ),
            "T and q of the statement are those of the proof": "refuted",
            "T >= q, which the proof asks for, with the T and q of the statement": "refuted",
            "T and q for every a <= 1, rounded down": "refuted",
        },
        condition="a <= min(1, M/sqrt(L F_0)), so that q >= 1, and the proof's bound sqrt(F_0 L/T) + M T a^2 granted; "
        "with the statement's L^2 in q and log(1/delta) outside the root in T the order is the same, L a constant",
        note="The schedule gives a^{2/3} from the bound that the proof ends with, and a period of at least 1 once a is "
        "small. The statement prints other formulas for T and q than the proof: the order is the same, only T >= q, "
        "which the proof asks for, may fail, and then one refresh serves the whole run.",
        method=(Method.EXPONENTS, Method.ARITHMETIC),
    )


@claim("002:Lem5 S2", Kind.SCHEDULE, location="Lemma 5 and Theorem 1", needed=n / sqrt(T))
@carries(EMPIRICAL, {"S_2": ceiling(Max(FIRST, WITH_EPSILON))})
def batch() -> Decision:
    """S_2 >= {BATCH} ensures S_2 >= {needed}, T as in the proof."""
    needed = n / sqrt(T)
    at = ((epsilon, Rational(1, 8)), (M, 1), (n, 1000), (d, 1), (delta, exp(-1)), (L, 1), (F_0, 1))
    return misprint(
        Identity(
            "n/sqrt T at the proof's T is the second of the two over epsilon^{2/3}",
            Subs(needed, T, LONG).subs(a, ERROR),
            SECOND / epsilon ** Rational(2, 3),
        ),
        Counterexample(
            "epsilon = 1/8, delta = 1/e: 40 are needed, the terms are 25 and 10",
            BATCH >= needed.subs(T, LONG).subs(a, ERROR),
            at,
        ),
        Inequality("for epsilon >= 1 the second is enough", epsilon ** Rational(-2, 3), 1, over(epsilon >= 1)),
        readings={
            "the second term over epsilon^{2/3}": "proved",
            "epsilon >= 1": "proved",
            "every epsilon below 1, as Definition 3 has it": "refuted",
        },
        differs="symbol",
        condition="the factor epsilon^{-2/3} is put back into the second term",
        repaired="the proof has the factor, and its sums use n/sqrt(T) alone, which is then met",
        note="A factor epsilon^{-2/3} is lost between the proof and the statement.",
        method=(Method.ALGEBRA, Method.PROVER),
    )


@claim("002:Lem5 eta=1/(2L)", Kind.SCHEDULE, location="Lemma 5")
@carries(EMPIRICAL, {"eta": LENGTH})
def step_length() -> Decision:
    """eta = {LENGTH} serves Algorithm 2, whose descent steps are -(eta/|v|) v."""
    return refuted(
        Identity(
            "a step of that length from its half leads to the other side", lambda: LENGTH / 2 - LENGTH, -LENGTH / 2
        ),
        Enumerated("Phi = x^2/2, L = 1, from 1/4: after 1 step", constant_steps, (1, Fraction(1, 4)), Fraction(-1, 4)),
        Enumerated("after 1000 steps", constant_steps, (1000, Fraction(1, 4)), Fraction(1, 4)),
        Counterexample(
            "the gradient stays at 1/4, never below alpha = 1/5",
            excess <= allowed,
            {excess: Rational(1, 4), allowed: Rational(1, 5)},
        ),
        repaired="eta = alpha/(2 L): steps of length alpha/(2 L) lower Phi by about eta alpha/2 each",
        note="Algorithm 2 normalises its steps: with eta = 1/(2 L) each has that length, whatever the gradient.",
        method=Method.STEPS,
    )


@claim("002:K=1", Kind.SCHEDULE, location="Section 4.2 and Appendix B.1")
@carries(EMPIRICAL, {"K": INNER})
def one_inner_step() -> Decision:
    """K = {INNER} inner step serves, with s_t the best k in {{0}}."""
    return refuted(
        Enumerated("F = x y - y^2/2 at x = 1: y after 1000 outer steps from 0, K = 1", dual_after, (1000, INNER), 0),
        Counterexample("where y stays at 0, the maximiser is 1", Eq(excess, allowed), {excess: 0, allowed: 1}),
        Enumerated("K = 2 moves: after 3 outer steps", dual_after, (3, 2), 1 - Fraction(5, 6) ** 3),
        Enumerated(
            "the smallest among k = 1, ..., K, as (41) has it: for K = 1 there is no v_{t,1}, u_{t,1}",
            has_estimate,
            (1, INNER),
            0,
        ),
        Cited("y_{t+1} = y_{t,s}, v_t = v_{t,s}, u_t = u_{t,s}, k = 0 to K - 1", "Algorithm 3, lines 12 to 18"),
        readings={
            "the smallest among k = 0, ..., K - 1, the loop's range": "refuted",
            "the smallest among k = 1, ..., K, as in (41): v_{t,1} does not exist": "refuted",
        },
        repaired="K >= 2 with s_t chosen among k >= 1, or y_{t+1} = y_{t,1}",
        note="With K = 1 the dual variable never leaves its start.",
        method=Method.STEPS,
    )


alpha, success, value, depth = symbols("alpha success value floor", positive=True)
SURE = 1 - delta_1 - delta_2

x, y, z = symbols("x y z", real=True)
GAME = cos(x) + y * (sin(x) + z) - y**2 / 2  # of every record
SLOPE = -sin(x) + cos(x) * (sin(x) + z)


@claim("002:Thm1", Kind.UTILITY, location="Theorem 1")
@carries(EMPIRICAL, {"rate privacy": ORDER}, {a: ERROR})
def theorem() -> Decision:
    """Algorithm 2 with the published parameters is (epsilon, delta)-DP and finds an (alpha, root of rho_Phi
    alpha)-second-order stationary point, alpha of the order {ORDER} up to logarithms, a = {ERROR}, with probability at
    least {SURE}.
    """
    best = sin(x) + z
    half = Rational(1, 2)
    return refuted(
        # With K = 1 the output has the same law for both datasets.
        Cited(
            "F = cos x + y (sin x + z) - y^2/2 for every record, Y = [-2, 2], z = 1/2 in one dataset and -1/2 in "
            "another: slopes at most 4, all derivatives bounded, mu = 1",
            "Assumptions 1 to 4 hold",
        ),
        Enumerated("K = 1: y stays where it starts, here for 1000 steps", dual_after, (1000, 1), 0),
        Identity(
            "v is made of grad_x F at (x_t, y_0) and (x_{t-1}, y_0) and of noise: z is not in it",
            Derivative(GAME, x, z),
            0,
        ),
        Cited(
            "so that x_t, the tests and the output have the same law for both datasets, whatever eta, noise, clipping "
            "and thresholds; u, which does see z, moves only the y_{t,1} that is never chosen",
            "Algorithms 2 and 3",
        ),
        # No point has a small slope for both datasets.
        Identity("y*(x), inside Y", Subs(Derivative(GAME, y), y, best), 0),
        Identity("Phi = cos x + (sin x + z)^2/2: slope", Derivative(cos(x) + (sin(x) + z) ** 2 / 2, x), SLOPE),
        Identity("the slopes at z = 1/2 and z = -1/2 differ by", Subs(SLOPE - SLOPE.subs(z, -z), z, half), cos(x)),
        Identity(
            "their sum is twice -sin x (1 - cos x)",
            Subs(SLOPE + SLOPE.subs(z, -z), z, half),
            -2 * sin(x) * (1 - cos(x)),
        ),
        Inequality(
            "both at most alpha makes |cos x| <= 2 alpha and sin^2 x (1 - cos x)^2 <= alpha^2; for alpha <= 1/8 the "
            "latter's left side is at least four times the right",
            4 * alpha**2,
            (1 - 4 * alpha**2) * (1 - 2 * alpha) ** 2,
            over(alpha <= Rational(1, 8)),
        ),
        Identity(
            "alpha = c a^{2/3}, whatever the constant c, is small enough: at a = (8 (c + k))^{-3/2} it is",
            Subs(c * ORDER, a, (8 * (c + k)) ** Rational(-3, 2)),
            c / (8 * (c + k)),
        ),
        AtMost("at most 1/8", c / (8 * (c + k)), Rational(1, 8)),
        attained(Rational(1, 10**6), 10**9, 10**4, half, 25),
        Counterexample(
            "no output serves both, so that one dataset is served with probability at most 1/2; delta_1 = delta_2 = "
            "1/10",
            success >= SURE,
            {success: half, delta_1: Rational(1, 10), delta_2: Rational(1, 10)},
        ),
        Identity("with exact estimates x settles at pi, where the slope of Phi is -z", Subs(SLOPE, x, pi), -z),
        readings={
            "Algorithms 2 and 3 with the printed K = 1, for every eta, noise and threshold": "refuted",
            "a larger constant K with the other printed parameters": "unresolved",
            "some first-order method at this rate": "unresolved",
        },
        repaired="K of order kappa, at least 2, eta of order alpha/L, per-record clipping and noise set by the "
        "accountant",
        note="With K = 1 the dual variable never moves, so that the output does not depend on what the maximiser "
        "depends on. The privacy part falls with the clip, and with the constant 1 of the printed noise.",
        method=(Method.ALGEBRA, Method.PROVER),
    )


@claim("002:F0", Kind.ASSUMPTION, location="Theorem 1")
def infimum() -> Decision:
    """F_0 = f_S(0) - min over x, y in R^d of f_S is finite, and the gap that the descent spends."""
    beyond = symbols("beyond", positive=True)
    dual = -(y**2) / 2  # f, for every x
    return refuted(
        Cited(
            "f_S(x, .) is mu-strongly concave on R^d, so that f_S(x, y) <= f_S(x, y*) - mu |y - y*|^2/2", "Assumption 4"
        ),
        Counterexample(
            "the minimum over y in R^d, as printed: f = -y^2/2 passes every floor, here -1000 at y = 45",
            dual >= -depth,
            {y: 45, depth: 1000},
        ),
        Inequality(
            "whatever the floor and mu: mu y^2/2 >= floor at y^2 = 2 floor/mu + beyond",
            depth,
            mu * (beyond + 2 * depth / mu) / 2,
            over(depth, mu, beyond),
        ),
        Counterexample(
            "over Y = [-1, 1], within Assumption 1, it is finite and not the gap Phi(0) - min Phi: f = -y^2/2, y_0 = 0 "
            "gives 1/2 against 0",
            Eq(dual.subs(y, 0) - dual.subs(y, 1), value),
            {value: 0},
        ),
        readings={
            "the minimum over R^d of a function that is strongly concave there: -infinity": "refuted",
            "the minimum over a compact Y: another number than the gap of Phi": "refuted",
        },
        repaired="F_0 = Phi_S(x_0) - min Phi_S, the gap of the value function",
        note="The minimum over y of a strongly concave function on R^d is -infinity, so that F_0 is infinite; on a "
        "compact Y it counts the depth of f in y. What a descent spends is the gap of Phi.",
        method=(Method.ARITHMETIC, Method.PROVER),
    )


@claim("002:Remark3", Kind.REMARK, location="Remark 3")
def first_such_method() -> Decision:
    """This is the first first-order method for private second-order stationary points in ERM that matches the best
    known rates.
    """
    return unresolved(
        Cited("a statement about the literature, not about the algorithm", "Remark 3"),
        note="A claim of priority: no computation decides it. The result that it speaks of is for the empirical risk, "
        "Theorem 1, and the rate it matches there that of Theorem 2 too; both are false as printed (see their claims).",
    )
