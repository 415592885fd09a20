r"""Lemmas 1, 3 and 4: the deviation of the estimators and the descent along (v, -u), equation (9).

w = (x, y), nabla_t = (v_t, -u_t) is the estimator, F_0 the gap at the start, A_0 = eta/2 - L eta^2/2 - eta^3 B_2^2 q/2.
The proof of (8) is that of a minimisation with steps -eta nabla_t; Algorithm 2 ascends in y and has steps of length eta
in x.
"""

from fractions import Fraction
from itertools import product

from sympy import Derivative, Integer, Rational, exp, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, T, eta

F_0, A_0, B_1, B_2, Q, logs, delta_1 = symbols("F_0 A_0 B_1 B_2 Q logs delta_1", positive=True)
excess, allowed, spread, error, nabla, slope = symbols("excess allowed b error nabla g", positive=True)
squared, moves, chance = symbols("squared moves chance", positive=True)
change, x, y = symbols("change x y", real=True)
DEVIATION, SURE = log(1 / delta_1) * (B_2**2 * moves + B_1**2), 1 - delta_1  # Lemmas 1 and 3
NORM, STEP, PERIOD = sqrt(F_0 / (Q * T) + B_1), 2 * L * eta <= 1, 1 / (T * eta) ** 2  # (8)
RIGHT = eta / 2 * error - (eta / 2 - L * eta**2 / 2) * nabla**2  # of (9), less F(w_t)
MULTIPLIED = log(1 / delta_1) * RIGHT
OUTPUT = logs * (
    2 * F_0 / (T * A_0) * (1 + B_2**2 * eta**2 * Q) + (eta / A_0 + 2 + B_2**2 * eta**3 * Q / A_0) * B_1**2
)  # (12)
UNIFORM = "a uniform i*, in expectation, delta_1 <= 1/e, (10) and Lemma 1 granted"


def squared_signs(count: int, level: int) -> Fraction:
    """Return P[(sum of ``count`` fair signs)^2 > level]."""
    return Fraction(sum(sum(signs) ** 2 > level for signs in product((-1, 1), repeat=count)), 2**count)


def mean_square(count: int) -> Fraction:
    """Return E (sum of ``count`` fair signs)^2."""
    return Fraction(sum(sum(signs) ** 2 for signs in product((-1, 1), repeat=count)), 2**count)


def window_share(period: int, first: int, *squares: int) -> Fraction:
    """Return what (10) to (12) put in: the sum over i's period up to i, as a share of (q/T) times the whole sum.

    ``squares`` are |nabla_t|^2 for t = 0, 1, ...; ``first`` = i, or -1 for the mean over all i.
    """
    indices = range(len(squares)) if first < 0 else (first,)
    sums = [sum(squares[i // period * period + 1 : i + 1]) for i in indices]
    return Fraction(sum(sums), len(sums)) / (Fraction(period * sum(squares), len(squares)))


@claim("002:Lem1/3", Kind.LEMMA, location="Lemmas 1 and 3")
def total_deviation() -> Decision:
    """If refresh and increments satisfy their bounds, |Delta_t - grad F|^2 is at most {DEVIATION} with probability at
    least {SURE}, moves the sum of |w_k - w_{{k-1}}|^2 since the refresh.
    """
    return refuted(
        # Give an instance in which squares of errors exceed the sum of their bounds, with chance 1/2.
        Cited(
            "let the refresh err by plus or minus 1 and one increment by plus or minus 1, independent and fair, in "
            "units of B_1 sqrt(log(1/delta_1)) = B_2 |dw| sqrt(log(1/delta_1)): unbiased, and both conditions hold "
            "surely",
            "hypotheses of Lemma 1",
        ),
        Enumerated(
            "the squared sum exceeds 2, the claimed bound, with probability", squared_signs, (2, 2), Fraction(1, 2)
        ),
        Counterexample(
            "it is then 4: delta_1 = 1/10, B_1 = B_2 = |dw| = 1, errors of sqrt(log 10) each",
            squared <= DEVIATION,
            {squared: 4 * log(Integer(10)), delta_1: Rational(1, 10), B_1: 1, B_2: 1, moves: 1},
        ),
        Counterexample(
            "so that the bound holds with chance 1/2 only",
            chance >= SURE,
            {chance: Rational(1, 2), delta_1: Rational(1, 10)},
        ),
        Enumerated("in expectation the squares do add: two of them", mean_square, (2,), 2),
        Enumerated("and five", mean_square, (5,), 5),
        Cited(
            "a martingale in a Hilbert space with |increments| <= c_i surely stays below r with probability 1 - 2 "
            "exp(-r^2/(2 b^2)), b^2 = sum c_i^2, at all times at once",
            "I. Pinelis, Annals of Probability 22 (1994), Theorem 3.5",
        ),
        Identity(
            "that chance is delta_1 for r^2 = 2 log(2/delta_1) b^2, b^2 = log(1/delta_1)(B_2^2 sum |dw|^2 + B_1^2)",
            lambda: 2 * exp(-(2 * log(2 / delta_1) * spread**2) / (2 * spread**2)),
            delta_1,
        ),
        readings={
            "with probability 1 - delta_1, as printed": "refuted",
            "in expectation, without the logarithm, as in the source": "proved",
            "with the factor 2 log(2/delta_1) more on the right, within one period": "proved",
        },
        repaired="2 log(2/delta_1) log(1/delta_1) for log(1/delta_1), and delta_1 q/T in a period for all t",
        note="Squares of errors add in expectation; with high probability one more logarithm is needed, which the "
        "rates hide.",
        method=(Method.ENUMERATION, Method.CITED),
    )


@claim("002:Lem4 (8)", Kind.UTILITY, location="Lemma 4, equation (8)")
def lemma_4() -> Decision:
    """For {STEP} and a period Q of at most the order {PERIOD}, the gradient norm is of the order {NORM}."""
    c = symbols("c", positive=True)
    gradient = 2 * (1 - 1 / T) ** T  # |grad F| after T steps x <- x - (1/T) grad F from distance 2: the least so far
    printed = c * NORM
    away = eta / 2 - L * eta**2 / 2 - eta**3 * B_2**2 * Q / 2
    letters = (T, B_2, eta, Q)
    period = 4 * B_2**2 * eta**2 * Q <= 1
    return refuted(
        # Give an instance whose slope outlasts the printed bound, whatever the constant.
        Cited(
            "F = (x - 2)^2/2 - y^2/2 for |x| <= 3, of bounded slope beyond, Y = {0}, x_0 = 0, exact gradients, eta = "
            "1/T, q = 1: L = 1, B_1 = B_2 = 0, F_0 = 2, and q = 1/(T eta)^2",
            "all that Lemma 4 asks for",
        ),
        Counterexample(
            "T = 100: each of the iterates x - eta grad F has slope .73 at least, the printed bound is .14",
            gradient <= printed,
            {T: 100, F_0: 2, Q: 1, B_1: 0, c: 1},
        ),
        Counterexample(
            "steps of length eta, as in Algorithm 2, cover a distance 1 at most: slope 1 at least",
            2 - T * eta <= printed,
            {T: 100, eta: Rational(1, 100), F_0: 2, Q: 1, B_1: 0, c: 1},
        ),
        Cited("(1 - 1/T)^T >= 1/4 for T >= 2, so that the slope is at least 1/2", "Bernoulli, (1 - 1/T)^{T/2} >= 1/2"),
        Exceeds(
            "whatever the constant, with B_1 = 0: 1/2 against sqrt(2/T), where q = 1 is within 1/(T eta)^2",
            Rational(1, 2),
            NORM.subs(B_1, 0),
            Region(STEP, Q <= PERIOD),
            {T: s, eta: 1 / s, F_0: 2},
        ),
        Quoted("the proof's (12)", "002:(12)", reading=UNIFORM),
        # End the proof: show what (12) gives for q <= 1/(4 B_2^2 eta^2).
        Inequality(
            "the proof's end: for q <= 1/(4 B_2^2 eta^2), eta <= 1/(2 L), A_0 is at least eta/8",
            eta / 8,
            away,
            over(L, letters, period, STEP),
        ),
        Counterexample(
            "not for q = 1/(B_2 eta)^2: at eta = 1/(2 L) A_0 is negative",
            away >= 0,
            {eta: Rational(1, 2), L: 1, B_2: 1, Q: 4},
        ),
        Inequality(
            "with A_0 >= eta/8 the F_0 term of (12) is at most 20 F_0/(T eta)",
            2 * F_0 / (T * A_0) * (1 + B_2**2 * eta**2 * Q),
            20 * F_0 / (T * eta),
            over(F_0, A_0, letters, 8 * A_0 >= eta, period),
        ),
        Inequality(
            "and the coefficient of B_1^2 at most 12",
            eta / A_0 + 2 + B_2**2 * eta**3 * Q / A_0,
            12,
            over(A_0, letters, 8 * A_0 >= eta, period),
        ),
        readings={
            "sqrt(F_0/(q T) + B_1) and q <= 1/(T eta)^2, steps -eta nabla_t or of length eta": "refuted",
            "from (12): sqrt(F_0/(T eta) + B_1^2) and q <= 1/(4 B_2^2 eta^2), up to log(1/delta_1)": "proved",
        },
        repaired="sqrt(F_0/(T eta) + B_1^2) for q <= 1/(4 B_2^2 eta^2), for a minimisation with steps -eta nabla_t, "
        "nabla_t an estimate of grad F, and a uniform output index, in expectation: another algorithm than 2 and 3",
        note="Three things differ from what the proof ends with: eta for q, B_1^2 for B_1, and the period. As printed "
        "more refreshes would make up for steps too short to arrive.",
        method=(Method.ARITHMETIC, Method.PROVER),
    )


@claim("002:(12)", Kind.STEP, location="equation (12)")
def combined() -> Decision:
    """For the returned index i*, |grad F|^2 is at most {OUTPUT}, Q the period q and logs the logarithm of 1/delta_1, by
    the two displays before it and Lemma 1.
    """
    mean = F_0 / (logs * T * A_0) + eta * B_1**2 / (2 * A_0)  # (10)
    deviation = logs * (Q * eta**2 * B_2**2 * mean + B_1**2)
    letters = (F_0, T, A_0, B_1, B_2, eta, Q)
    share = window_share(2, 1, 0, 1, 0, 0)
    return conditional(
        Inequality(
            "2 error + 2 mean is within (12) where log(1/delta_1) >= 1",
            2 * deviation + 2 * mean,
            OUTPUT,
            over(letters, logs >= 1),
        ),
        Counterexample(
            "not for log(1/delta_1) = 1/10",
            2 * deviation + 2 * mean <= OUTPUT,
            ((logs, Rational(1, 10)), *((letter, 1) for letter in letters)),
        ),
        Enumerated(
            "q = 2, |nabla|^2 = 0, 1, 0, 0: at i* = 1 the sum over its period is twice (q/T) of the whole",
            window_share,
            (2, 1, 0, 1, 0, 0),
            2,
        ),
        Counterexample(
            "so that a chosen index may exceed (q/T) of the sum",
            excess <= allowed,
            {excess: Rational(share), allowed: 1},
        ),
        Enumerated("the mean over all i* does not", window_share, (2, -1, 0, 1, 0, 0), Fraction(1, 2)),
        Cited("nor ever: each square is in the sums of at most q indices", "counting"),
        Quoted(
            "the error of the estimator at i*",
            "002:Lem1/3",
            "with the factor 2 log(2/delta_1) more on the right, within one period",
        ),
        readings={UNIFORM: "proved", "the i* that Algorithms 2 and 3 return, or delta_1 > 1/e": "refuted"},
        condition="delta_1 <= 1/e, A_0 > 0, a uniform index i* and the mean over it on the left, which Algorithms 2 "
        "and 3 do not draw, and (10) and Lemma 1 granted, which needs a factor 2 log(2/delta_1) more (claim "
        "002:Lem1/3)",
        note="The algebra from (10) and (11) to (12) is right for log(1/delta_1) >= 1 and the mean over a uniform "
        "index.",
        method=(Method.PROVER, Method.ENUMERATION),
    )


@claim("002:(9)", Kind.STEP, location="equation (9)")
def descent() -> Decision:
    """For the steps of Algorithm 2, F(w_{{t+1}}) - F(w_t) is at most {RIGHT}, nabla the norm of nabla_t = (v, -u) and
    error the square of |grad F - nabla_t|.
    """
    value = x**2 / 2 - y**2 / 2
    rise = (value.subs(x, x - eta) - value).subs(y, 0)  # v = x > 0, so that the step is -eta
    g, inner = slope, symbols("inner", real=True)  # |grad F|, <grad F, nabla>
    dual = y - y**2 / 2
    return refuted(
        # A step of length eta, as Algorithm 2 takes it, overshoots.
        Identity("F = x^2/2 - y^2/2 (of bounded slope further out), L = 1: v", Derivative(value, x), x),
        Identity("u, which leaves y where it is, at 0", Derivative(value, y), -y),
        Counterexample(
            "the step -eta v/|v| of Algorithm 2 from x = 1/100, alpha = 1/200, exact gradients, eta = 1/(2 L): F rises "
            "by .12, (9) wants a fall",
            change <= RIGHT,
            {
                change: rise.subs({x: Rational(1, 100), eta: Rational(1, 2)}),
                eta: Rational(1, 2),
                L: 1,
                nabla: Rational(1, 100),
                error: 0,
            },
        ),
        # Take steps -eta nabla_t: (9) holds with the true gradient, and fails with (grad_x F, -grad_y F).
        Identity(
            "for steps -eta nabla, the descent lemma's bound is (9) less eta/2 |grad F|^2, with the true gradient",
            -eta * inner + L * eta**2 / 2 * nabla**2,
            RIGHT.subs(error, g**2 - 2 * inner + nabla**2) - eta / 2 * g**2,
        ),
        Identity(
            "whose error is then 4 |grad_y F|^2 for exact u and v, against (v, -u)",
            lambda: (-y - y) ** 2,  # slope less what stands for it
            4 * y**2,
        ),
        Counterexample(
            "with (grad_x F, -grad_y F) for grad F: F = y - y^2/2 at y = 0 rises by 3/8 in the step eta u, eta = 1/2",
            change <= RIGHT,
            {change: dual.subs(y, Rational(1, 2)) - dual.subs(y, 0), eta: Rational(1, 2), L: 1, nabla: 1, error: 0},
        ),
        readings={
            "Algorithm 2's step of length eta in x, whatever grad F means": "refuted",
            "steps -eta nabla_t, error against the true gradient, which Lemma 1 cannot bound": "proved",
            "steps -eta nabla_t, error against (grad_x F, -grad_y F), which Lemma 1 bounds": "refuted",
        },
        repaired="a descent inequality for Phi with the error |v - grad Phi|, as for the population case",
        note="Algorithm 2 normalises its steps, and a step of length 1/(2 L) overshoots where the slope is small. "
        "Along (v, -u) the game's value also rises in y: (9) is a descent lemma for joint minimisation.",
        method=Method.ARITHMETIC,
    )


@claim("002:(9)->next", Kind.STEP, location="after equation (9)")
def multiplied() -> Decision:
    """The whole right side of (9) may be multiplied by a logarithm: F(w_{{t+1}}) - F(w_t) is at most {MULTIPLIED}."""
    value = symbols("x", positive=True) ** 2 / 2
    (x,) = value.free_symbols
    fall = value.subs(x, x - eta * nabla) - value
    at = ((x, 1), (L, 1))
    first = (*at, (nabla, 1), (eta, Rational(1, 2)), (error, 0), (delta_1, exp(-4)))
    second = (*at, (nabla, 2), (eta, Rational(1, 4)), (error, 1), (delta_1, exp(-2)))
    return refuted(
        Counterexample(
            "F = x^2/2 at x = 1, L = 1, exact gradient, eta = 1/(2 L), delta_1 = e^-4: F falls by 3/8, and the right "
            "side asks for 1/2",
            fall <= MULTIPLIED,
            first,
        ),
        Counterexample("delta_1 = e^-2, eta = 1/4, an estimate 2 of the gradient 1", fall <= MULTIPLIED, second),
        Inequality(
            "with the factor on the error alone the step holds for log(1/delta_1) >= 1",
            excess - allowed,
            logs * excess - allowed,
            over(excess, allowed, logs >= 1),
        ),
        repaired="log(1/delta_1) on the error term only",
        note="The right side is negative wherever there is progress, and a factor above one then asks for more than "
        "(9) gives.",
        method=(Method.ARITHMETIC, Method.PROVER),
    )
