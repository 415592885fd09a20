r"""Lower bounds on the gradient norm of the primal function: Theorems 3 and 4 of [1].

d is the larger of d_1 and d_2, and ``bound`` is a constant times the stated minimum. Both ask for n and epsilon = O(1)
with 2^(-Omega(n)) <= delta <= 1/n^(1 + Omega(1)); the constants are taken to be 1, the last one to be positive. With z
in {-1, 1}^{d_1} and Y the unit ball, the loss that shows what holds of Theorem 3 is

    f(x, y; z) = -(1/sqrt d_1) sum_k cos(x_k - z_k pi/4) - |y|^2/2,
    (grad Phi(x))_k = (sin x_k - M_k cos x_k)/sqrt(2 d_1),  M = mean of the records,

whose tangents at x, clipped to [-1, 1], estimate M. Worst-group risk, of Theorem 4, is min over x, max over y in the
simplex of sum_i y_i F_i(x) - |y|^2/2, F_i the mean loss of group D_i, i <= d_2.

[2] T. Steinke, J. Ullman. Between Pure and Approximate Differential Privacy. JPC 2016, Theorem 1.1: for
    epsilon = O(1), 2^(-Omega(n)) <= delta <= 1/n^(1 + Omega(1)) and alpha <= 1/10, a mean error of at most alpha
    over d means of bits needs n = Omega(sqrt(d log(1/delta))/(epsilon alpha)).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("zhang2025.theorem_4").rate_exponents()
{'privacy': {'d': 1.5, 'epsilon': -1.0, 'n': -1.0}}
"""

from dataclasses import dataclass, replace
from typing import Any

from sympy import Min, Rational, cos, diff, log, pi, sin, sqrt, symbols, tan

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, proved, refuted
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import G, d, d_1, d_2, delta, epsilon, mu, n
from dpcheck.bounds.theorem import BUDGET, Assumption, Parameter, Theorem

g, l, smooth, gap, a, logs, hidden, one, other = symbols("g l S gap a logs hidden sin cos", positive=True)
p, mean, angle, x_1 = symbols("x_k M_k phi x_1", real=True)
LEAST = log(1 / delta) <= n * log(2)  # not as a power, whose digits fill the memory for a large n
RANGE = (
    Assumption("epsilon", "epsilon <= 1", "epsilon = O(1), the constant 1", epsilon <= 1),
    Assumption("delta", "delta < 1/n", "delta <= 1/n^(1 + Omega(1))", delta < 1 / n),
    Assumption("least", "log(1/delta) <= n log(2)", "2^(-Omega(n)) <= delta, the constant 1", LEAST),
)
RATE_3 = sqrt(d * log(1 / delta)) / (n * epsilon)
RATE_4 = d * sqrt(d * log(1 / delta)) / (n * epsilon)


@dataclass(frozen=True, kw_only=True)
class LowerBound(Theorem):
    """A theorem whose rate, at most 1, bounds its quantity from below."""

    @property
    def rate(self) -> Any:
        """The smaller of 1 and the maximum over the regimes."""
        return Min(1, super().rate)

    def to_latex(self) -> str:
        """Return the bound as :meth:`Theorem.to_latex` does, with Omega for O."""
        return super().to_latex().replace(r" = O\left(", r" = \Omega\left(")


THEOREM_3 = LowerBound(
    id="zhang2025.theorem_3",
    title="Lower bound, finite-sum form, d the dimension of x",
    location="Theorem 3",
    quantity="least gradient norm of the primal function that privacy allows, in order (a lower bound)",
    quantity_latex=r"\|\nabla\Phi(x^{priv})\|",
    parameters=(*BUDGET, Parameter(d, "dimension of x; in the paper the larger one of both")),
    assumptions=(
        Assumption(
            "hard",
            "a hard loss that meets Assumptions 1 to 3 with mu, G, l = O(1), and a hard dataset for each algorithm",
            "Theorem 3",
        ),
        *RANGE,
    ),
    regimes=(("privacy", RATE_3),),
)
HARD = Assumption("hard", "a hard Lipschitz and smooth loss, and a hard dataset for each algorithm", "Theorem 4")
THEOREMS = (
    THEOREM_3,
    replace(
        THEOREM_3,
        id="zhang2025.theorem_4",
        title="Lower bound, worst-group risk, both dimensions of order d",
        location="Theorem 4",
        parameters=(*BUDGET, Parameter(d, "dimension of x and, in order, of y")),
        assumptions=(HARD, *RANGE),
        regimes=(("privacy", RATE_4),),
    ),
)

# One dataset for all algorithms: records 1 and -1, f = -cos(x - z pi/4) - y^2/2, and the algorithm that returns pi.
BALANCED = -(cos(p - pi / 4) + cos(p + pi / 4)) / 2
CONSTANT = (
    Identity(
        "the gain of one step 1/S along the gradient g of an S-smooth Phi",
        lambda: g**2 / smooth - g**2 / (2 * smooth),
        g**2 / (2 * smooth),
    ),
    Cited(
        "ascent on Phi <= M therefore meets gradients as small as one likes (descent, if Phi is bounded below), and "
        "the algorithm that returns such a point of this one dataset, whatever its input, is (0, 0)-DP",
        "no gain can go on for ever",
    ),
    Identity(
        "records 1 and -1 for f = -cos(x - z pi/4) - y^2/2, d_1 = d_2 = 1: the gradient of Phi",
        diff(BALANCED, p),
        sin(p) / sqrt(2),
    ),
)


def always(rate: object) -> Counterexample:
    """Hold the algorithm that always returns pi against the printed rate, for every constant of the Omega."""
    return Counterexample(
        "returning pi whatever the data are, |grad Phi| = 0 on that dataset: below the bound for every constant",
        hidden * Min(1, rate) <= sin(p) / sqrt(2),
        {p: pi, d: 1, n: 2, epsilon: 1, delta: Rational(1, 8)},
    )


@claim("003:Thm3", Kind.LOWER_BOUND, location="Theorem 3", least=Min(1, RATE_3))
@carries("zhang2025.theorem_3", {"rate privacy": sqrt(d) * sqrt(log(1 / delta)) / (epsilon * n)})
def finite_sum() -> Decision:
    """There are a loss that meets Assumptions 1 to 3 and a dataset on which every (epsilon, delta)-DP algorithm has a
    gradient norm of the order of {least} at least, d the larger of d_1 and d_2.
    """
    gradient = (1 + mean) / 2 * sin(p - pi / 4) + (1 - mean) / 2 * sin(p + pi / 4)
    return refuted(
        *CONSTANT,
        always(RATE_3),
        Cited(
            "in the paper's proof f(x, y; z) = loss(x; z) - |y|^2/2, y = 0 is the best answer at every x, and the "
            "lower bound for losses without y carries over, with the dimension d_1 of x",
            "version with proofs, proof of Theorem 3 and Lemma 7",
        ),
        # Give a loss that meets the assumptions, and whose gradient says how well the mean of bits is known.
        Identity(
            "the bounded loss: a share (1 + M_k)/2 of the records has z_k = 1, and its gradient is",
            gradient,
            (sin(p) - mean * cos(p)) / sqrt(2),
        ),
        Identity(
            "|tan x_k| <= 1, where cos x_k >= 1/sqrt 2: the tangent is off by",
            tan(angle) - mean,
            (sin(angle) - mean * cos(angle)) / cos(angle),
        ),
        Identity(
            "beyond, sin x_k > cos x_k >= 0 up to a sign, the estimate is 1: its error 1 - M_k is less than twice "
            "|sin x_k - M_k cos x_k| by a mean, with weights (1 + M_k)/2 and (1 - M_k)/2, of 2 (sin - cos) and "
            "2 (sin + cos) - 2",
            2 * (one - mean * other) - (1 - mean),
            (1 + mean) / 2 * 2 * (one - other) + (1 - mean) / 2 * (2 * (one + other) - 2),
        ),
        AtMost("where sin + cos >= 1: its square is", 1, 1 + 2 * one * other),
        Identity(
            "so |error_k| <= 2 sqrt(2 d_1) |grad_k Phi|, and the mean error is at most this, by Cauchy and Schwarz",
            lambda: 2 * sqrt(2 * d) * sqrt(d) * g / d,
            2 * sqrt(2) * g,
        ),
        Cited("the mean error of every (epsilon, delta)-DP estimate of M on its worst dataset", "[2]"),
        # For d_1 = 1 a private algorithm does better than sqrt(d_2), on every dataset.
        Identity(
            "for d_1 = 1: how far a record moves grad Phi at a point, through f and through y*, f jointly l-smooth",
            2 * G / n + l * 2 * G / (mu * n),
            2 * G * (1 + l / mu) / n,
        ),
        Identity(
            "a grid about x_0 with a point of gradient at most 2 g: its length over its spacing, gap = M - Phi(x_0), "
            "at most a power of n",
            lambda: (2 * gap / g) / (g / smooth),
            2 * smooth * gap / g**2,
        ),
        Cited(
            "g = 1/n: the exponential mechanism with the score -|grad Phi| finds a point of gradient O(log(n)/(n "
            "epsilon)) on that grid for every dataset, whatever d_2 is",
            "F. McSherry, K. Talwar, FOCS 2007",
        ),
        Exceeds(
            "sqrt(d_2) is above that once d_2 outgrows log(n)^2; a = 1/(n epsilon), the rate still below one",
            sqrt(d_2) * a,
            logs * a,
            Region(d_2 * a**2 <= 1, logs >= 1),
            {a: 1 / s**2, d_2: s**2, logs: log(s)},
        ),
        readings={
            "one dataset for all algorithms, as printed": "refuted",
            "for every algorithm a dataset, in the mean, d = d_1, from the cited bound for means of bits": "proved",
            "for every algorithm a dataset, d_1 = 1 and d_2 far above log(n)^2": "refuted",
        },
        repaired="for every algorithm there is a dataset, and in the mean over the algorithm's randomness (the "
        "quantifiers exchanged); d is the dimension d_1 of x (or d_1 >= d_2); a bounded loss, such as -(1/sqrt d_1) "
        "sum cos(x_k - z_k pi/4) - |y|^2/2, in place of the convex one, which cannot meet f <= M on R^{d_1} (003:A1); "
        "and the cited lower bound for means of bits",
        note="With one dataset for all algorithms, as printed, the algorithm that knows a stationary point of it and "
        "ignores its input is private and has no gradient. With the quantifiers exchanged it holds with d_1, and for "
        "a loss that meets Assumptions 1 to 3; nothing makes d_2 count.",
        method=(Method.CITED, Method.ALGEBRA, Method.ARITHMETIC),
    )


ell, k, above, factor = symbols("ell k above factor", positive=True)  # factor = e^epsilon


@claim("003:Thm4", Kind.LOWER_BOUND, location="Theorem 4", least=Min(1, RATE_4))
@carries("zhang2025.theorem_4", {"rate privacy": d ** Rational(3, 2) * sqrt(log(1 / delta)) / (epsilon * n)})
def groups() -> Decision:
    """There are a Lipschitz and smooth loss and a dataset on which every (epsilon, delta)-DP algorithm has, for
    worst-group risk, a gradient norm of the order of {least} at least, d the larger of d_1 and d_2.
    """
    chance = (factor + delta) / (1 + factor)  # of a small gradient on z = 1, where both bounds below agree
    first = 1 / (1 + k)  # y_1
    return proved(
        Cited(
            "the linear loss x_1 of every record: Phi = x_1 - 1/(2 d_2) has gradient 1 everywhere, which is at least "
            "min{1, ...} whatever is returned",
            "y = (1, ..., 1)/d_2 is best at every x",
        ),
        Inequality("which is no more than 1", Min(1, RATE_4), 1, over(d, delta, epsilon, n, delta <= 1)),
        *CONSTANT,
        always(RATE_4),
        # Take a bounded loss and a group of one record: Omega(1).
        AtMost(
            "one record in group 1, F_1 = 1 + above, the others 0: y = e_1 is best, as (1 - |y|^2)/2 <= "
            "(1 - y_1^2)/2 <= (1 - y_1) F_1",
            (1 - first**2) / 2,
            (1 - first) * (1 + above),
        ),
        Identity(
            "the squared gradients for z = 1 and z = -1, one of which is at least 1/2 at each x",
            sin(x_1 - pi / 4) ** 2 + sin(x_1 + pi / 4) ** 2,
            1,
        ),
        Identity(
            "with chance P of less than 1/sqrt 2 for z = 1, more for z = -1 has chance (P - delta)/e^epsilon; the "
            "larger of that and 1 - P is least where they agree",
            (chance - delta) / factor,
            1 - chance,
        ),
        Identity("and is there, for every algorithm on one of the two", 1 - chance, (1 - delta) / (1 + factor)),
        # For d_2 = 1 private descent does better.
        Cited(
            "d_2 = 1, any loss of bounded range, Lipschitz and smooth: full-batch private descent reaches O(a^{1/2}) "
            "on every dataset, up to logarithms, a = sqrt(d log(1/delta))/(n epsilon)",
            "D. Wang, M. Ye, J. Xu, NeurIPS 2017",
        ),
        Exceeds("where the printed bound min{1, d a} is 1", 1, sqrt(a), Region(a <= 1, d * a >= 1), {a: 1 / s, d: s}),
        # Follow the proof of the paper, with groups of n/d_2 records.
        Identity(
            "the proof: a group of n/d_2 records in the cited bound",
            lambda: sqrt(d_1 * ell) / ((n / d_2) * epsilon),
            d_2 * sqrt(d_1 * ell) / (n * epsilon),
        ),
        Identity(
            "which is d^{3/2} for d_1 = d_2 = d", lambda: (d_2 * sqrt(d_1)).subs({d_1: d, d_2: d}), d ** Rational(3, 2)
        ),
        Exceeds(
            "for d_1 = 1 and d_2 = d the proof gives less than the theorem says (which is no counterexample)",
            d_2 * sqrt(d_2),
            d_2 * sqrt(d_1),
            Region(d_1 >= 1, d_2 >= 1),
            {d_2: s, d_1: 1},
        ),
        Cited(
            "equal groups: the one that counts must hold records that no other group repeats, since an algorithm may "
            "learn them from the copies",
            "the construction in the proof",
        ),
        Dominated(
            "no conflict with Theorem 2, which is about mean losses: its rate a^{1/2} is above a",
            a,
            sqrt(a),
            Region(a <= 1),
        ),
        readings={
            "the loss only Lipschitz and smooth, as printed: a linear loss, private or not": "proved",
            "a loss with stationary points, one dataset for all algorithms": "refuted",
            "a bounded loss, for every algorithm a dataset, groups of any size, d_2 >= 2: Omega(1)": "proved",
            "a bounded loss, for every algorithm a dataset, equal groups, d_1 and d_2 of order d": "conditional",
            "a bounded loss, for every algorithm a dataset, d_2 = 1 and d_1 large": "refuted",
        },
        note="It is true as printed, and empty: a linear loss meets it, which no algorithm can make stationary, "
        "private or not. About privacy it holds with the quantifiers exchanged, for d_2 >= 2 more easily than the "
        "proof has it, with a group of one record; the proof gives d_2 sqrt(d_1 log(1/delta))/(n epsilon). For d_2 = 1 "
        "and large d_1 it fails.",
        method=(Method.ALGEBRA, Method.PROVER, Method.CITED),
    )
