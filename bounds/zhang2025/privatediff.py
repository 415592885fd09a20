r"""Lemma 8, step 3, and the steps of PrivateDiff Minimax [1, Algorithms 3 and 4] in rational arithmetic, on instances.

Everything is in one dimension, Y = [-1, 1], records are numbers, and noise enters only through the
released values that are given. With h(x) = x/(1 + x^2), so that |h| <= 1/2, |h'| <= 1 and |h''| <= 3/2, the instances

    coupled:  f(x, y; z) = h(x) y + z y - y^2/2,      grad_x = h'(x) y,    grad_y = h(x) + z - y,
    crossed:  f(x, y; z) = z h(x) y - (y + 1)^2/2,    grad_x = z h'(x) y,  grad_y = z h(x) - (y + 1),

satisfy all assumptions of the paper, l_x <= 3/2 and l_y = mu = 1. Algorithm 4 is run with the step 1/(mu (i + 1)) at
i = 0, 1, ..., as in its stability proof; the published step 1/(mu i) has no value at i = 0.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product

from sympy import Eq, Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import m

Number = int | Fraction
Gradient = Callable[[Fraction, Fraction, Number], Fraction]


def clip(value: Fraction, threshold: Number) -> Fraction:
    """Return ``value`` scaled down to size ``threshold``, as in Algorithm 2."""
    return max(-Fraction(threshold), min(Fraction(threshold), value))


def h(x: Fraction) -> Fraction:
    """Return ``x/(1 + x^2)``."""
    return x / (1 + x * x)


def slope(x: Fraction) -> Fraction:
    """Return the derivative of ``h``."""
    return (1 - x * x) / (1 + x * x) ** 2


def coupled_x(x: Fraction, y: Fraction, z: Number) -> Fraction:
    """Return ``grad_x`` of the coupled instance."""
    return slope(x) * y


def coupled_y(x: Fraction, y: Fraction, z: Number) -> Fraction:
    """Return ``grad_y`` of the coupled instance."""
    return h(x) + z - y


def crossed_x(x: Fraction, y: Fraction, z: Number) -> Fraction:
    """Return ``grad_x`` of the crossed instance."""
    return z * slope(x) * y


def crossed_y(x: Fraction, y: Fraction, z: Number) -> Fraction:
    """Return ``grad_y`` of the crossed instance."""
    return z * h(x) - (y + 1)


def ascent(
    gradient: Gradient, x: Fraction, y: Fraction, batches: Sequence[Sequence[Number]], threshold: Number
) -> Fraction:
    """Follow Algorithm 4: clipped projected ascent from ``y``, one step a minibatch, mu = 1."""
    for i, batch in enumerate(batches):
        total = sum((clip(gradient(x, y, z), threshold) for z in batch), Fraction(0))
        y = clip(y + Fraction(1, i + 1) * total / len(batch), 1)
    return y


def restart(gradient: Gradient, x: Fraction, y: Fraction, batch: Sequence[Number], threshold: Number) -> Fraction:
    """Step 6 of Algorithm 3: the mean of the clipped gradients at (x_r, y_{r+1})."""
    return sum((clip(gradient(x, y, z), threshold) for z in batch), Fraction(0)) / len(batch)


def difference(
    gradient: Gradient,
    now: tuple[Fraction, Fraction, Sequence[Number]],
    before: tuple[Fraction, Fraction, Sequence[Number]],
    threshold: Number,
) -> Fraction:
    """Step 7: the mean of the clipped differences; ``(x_r, y_{r+1}, z_r)`` and ``(x_{r-1}, y_r, z_{r-1})``."""
    pairs = zip(now[2], before[2], strict=True)
    changes = (clip(gradient(now[0], now[1], a) - gradient(before[0], before[1], b), threshold) for a, b in pairs)
    return sum(changes, Fraction(0)) / len(now[2])


def restart_difference(n: int, inner: int) -> Fraction:
    """Return how far v_{r+1} moves when r is a multiple of T, on the coupled instance with m = n.

    One record changes from 2n to -2n, the others are 0; x_0 = 0, y_0 = 0, ``inner`` steps of Algorithm 4,
    C_0 = 2n + 2 >= G_y and C_1 = 1 >= G_x.
    """
    zero = Fraction(0)
    ends = []
    for record in (2 * n, -2 * n):
        data = [record, *[0] * (n - 1)]
        y = ascent(coupled_y, zero, zero, [data] * inner, 2 * n + 2)
        ends.append(restart(coupled_x, zero, y, data, 1))
    return abs(ends[0] - ends[1])


def difference_round(n: int, inner: int) -> Fraction:
    """Return how far v_{r+1} moves at r = 1 < T when the outputs up to r are the same on both datasets.

    As :func:`restart_difference`, with the past outputs x_0 = 0, x_1 = 1/2 and ytilde_1 = 0, and
    C_{2,1} = C_2/2 + C_3 with C_2 = 15/4 >= l + kappa l and C_3 = 1.
    """
    x_0, x_1, y_1 = Fraction(0), Fraction(1, 2), Fraction(0)
    ends = []
    for record in (2 * n, -2 * n):
        data = [record, *[0] * (n - 1)]
        y_2 = ascent(coupled_y, x_1, y_1, [data] * inner, 2 * n + 2)
        ends.append(difference(coupled_x, (x_1, y_2, data), (x_0, y_1, data), Fraction(15, 8) + 1))
    return abs(ends[0] - ends[1])


def second_batch(n: int, m: int, ordered: bool = True) -> Fraction:
    """Return the largest move of v_{r+1} over all pairs of minibatches z_r, z_{r-1}, on the crossed instance.

    The middle record changes from 1 to -1, the others are 0; x_0 = x_1 = 0, ytilde_1 = 1, one step of
    Algorithm 4, whose result y_2 = -1 is then the same on both; C_{2,1} = C_3 = 1. ``ordered`` says that a
    minibatch is a tuple, else it is listed in the order of the dataset.
    """
    zero, one = Fraction(0), Fraction(1)
    place = n // 2
    drawn = list(permutations(range(n), m) if ordered else combinations(range(n), m))
    worst = zero
    for now, before in product(drawn, repeat=2):
        ends = []
        for record in (1, -1):
            data = [record if i == place else 0 for i in range(n)]
            y_2 = ascent(crossed_y, zero, one, [data], 3)
            batches = ([data[i] for i in now], [data[i] for i in before])
            ends.append(difference(crossed_x, (zero, y_2, batches[0]), (zero, one, batches[1]), 1))
        worst = max(worst, abs(ends[0] - ends[1]))
    return worst


def same_batch(n: int, m: int) -> Fraction:
    """Return what :func:`second_batch` does when both gradients are taken on the minibatch z_r."""
    zero, one = Fraction(0), Fraction(1)
    worst = zero
    for batch in combinations(range(n), m):
        ends = []
        for record in (1, -1):
            data = [record if i == n // 2 else 0 for i in range(n)]
            chosen = [data[i] for i in batch]
            ends.append(difference(crossed_x, (zero, -one, chosen), (zero, one, chosen), 1))
        worst = max(worst, abs(ends[0] - ends[1]))
    return worst


def left_over(noise: Fraction) -> Fraction:
    """Return what v_2 has besides grad_x at (x_1, y_2) when step 3 has set y_1 to ytilde_1 = y_1 + noise.

    Coupled instance, one record 0, x_0 = 0, x_1 = 1/2, y_0 = 1/2, no noise on v, nothing clipped.
    """
    x_0, x_1, data = Fraction(0), Fraction(1, 2), [0]
    y_1 = ascent(coupled_y, x_0, Fraction(1, 2), [data], 9)
    v_1 = restart(coupled_x, x_0, y_1, data, 9)
    released = y_1 + noise
    y_2 = ascent(coupled_y, x_1, released, [data], 9)
    v_2 = v_1 + difference(coupled_x, (x_1, y_2, data), (x_0, released, data), 9)
    return v_2 - coupled_x(x_1, y_2, 0)


def chance_of_sign(n: int, m: int, record: int) -> Fraction:
    """Return the chance, over the inner minibatch, that d_0 has the size 1 and the sign of ``record``.

    As :func:`restart_difference` with one inner step on m of the n records; ``record`` is 2m or -2m.
    """
    zero = Fraction(0)
    hits = []
    for inner, outer in product(combinations(range(n), m), repeat=2):
        data = [record, *[0] * (n - 1)]
        y = ascent(coupled_y, zero, zero, [[data[i] for i in inner]], 2 * m + 2)
        hits.append(restart(coupled_x, zero, y, [data[i] for i in outer], 1) == (1 if record > 0 else -1))
    return Fraction(sum(hits), len(hits))


moved, C_1, C, x = symbols("moved C_1 C x", positive=True)
RELEASE_FIRST = (
    "release ytilde_{r+1} first and take the gradients there, on one minibatch z_r: then all but one of the m terms "
    "agree, and each is within the threshold"
)


@claim("004:Lem8(r%T=0)", Kind.SENSITIVITY, location="version with proofs, Lemma 8")
def restart_sensitivity() -> Decision:
    """When T divides r, the v_{r+1} of Algorithm 3 differs by at most 2 C_1/m between neighbouring datasets, for the
    same minibatch indices and past outputs.
    """
    return refuted(
        *(
            Enumerated(f"n = m = {size}, {inner} inner steps", restart_difference, (size, inner), 2)
            for size, inner in ((2, 1), (2, 3), (10, 2))
        ),
        Counterexample("m = n = 2 and C_1 = 1: 2 against 1", moved <= 2 * C_1 / m, {moved: 2, C_1: 1, m: 2}),
        Identity("m = n = 10: the ratio is m", lambda: 2 / (2 * C_1 / m).subs({C_1: 1, m: 10}), 10),
        Cited("at the same (x, y) only the term of the record changes, by at most 2 C_1", "triangle inequality"),
        readings={
            "v_{r+1} of Algorithm 3": "refuted",
            "given x_r and y_{r+1}, one minibatch without replacement": "proved",
        },
        repaired=f"2 C_1. To have 2 C_1/m: {RELEASE_FIRST}",
        note="f = h(x) y + z y - y^2/2 with h = x/(1 + x^2), Y = [-1, 1], x_0 = y_0 = 0, m = n: one record 2n or -2n, "
        "the others 0. The inner ascent ends at y_1 = 1 or -1, and all gradients in x are y_1: v_1 moves by 2 C_1. "
        "The printed proof leaves out that y_{r+1} depends on the data.",
        method=Method.STEPS,
    )


@claim("004:Lem8(r%T!=0)", Kind.SENSITIVITY, location="version with proofs, Lemma 8")
def difference_sensitivity() -> Decision:
    """When T does not divide r, the v_{r+1} of Algorithm 3 differs by at most 2 C_{2,r}/m between neighbouring
    datasets, given the past outputs up to r.
    """
    return refuted(
        *(
            Enumerated(f"n = m = 10, {inner} inner steps", difference_round, (10, inner), Fraction(24, 25))
            for inner in (1, 3)
        ),
        Inequality(
            "C_2 = 15/4 is at least l + kappa l with l = 3/2 and mu = 1: |h''| <= 3/2, squared",
            (2 * x * (x**2 - 3)) ** 2,
            Rational(9, 4) * (1 + x**2) ** 6,
            over(x),
        ),
        Counterexample(
            "m = n = 10, C_{2,1} = C_2/2 + C_3 = 23/8: 24/25 against 23/40",
            moved <= 2 * C / m,
            {moved: Rational(24, 25), C: Rational(23, 8), m: 10},
        ),
        Enumerated("the second cause, m = 2 of n = 3", second_batch, (3, 2), 2),
        Counterexample("there C_{2,1} = 1: 4 C/m", moved <= 2 * C / m, {moved: 2, C: 1, m: 2}),
        Enumerated("both gradients on z_r at released points: 2 C/m", same_batch, (3, 2), 1),
        readings={
            "given the past outputs, as printed": "refuted",
            "given y_{r+1} too, independent minibatches": "refuted",
            "given y_{r+1} too, both gradients on z_r": "proved",
        },
        repaired=f"2 C_{{2,r}}. To have 2 C_{{2,r}}/m: {RELEASE_FIRST}",
        note="C_{2,r} itself is known from past outputs, but y_{r+1} is not: on the same instance with x_0 = 0, x_1 = "
        "1/2 and ytilde_1 = 0 on both datasets, y_2 is 1 or -1 and v_2 moves by 24/25, whatever m = n is, while 2 "
        "C_{2,1}/m is 23/(4 m). Besides, the second minibatch holds the record too.",
        method=(Method.STEPS, Method.PROVER),
    )


@claim("004:Lem8 z_{r-1}", Kind.SENSITIVITY, location="version with proofs, proof of Lemma 8")
def previous_batch() -> Decision:
    """In the difference of step 7 the minibatch z_{r-1} of the previous round may be taken to be the same on
    neighbouring datasets, so that one of the m terms changes.
    """
    return refuted(
        Enumerated("m = 2 of n = 3, all pairs of minibatches", second_batch, (3, 2), 2),
        Enumerated("listed in the order of the dataset", second_batch, (3, 2, False), 2),
        Enumerated("m = n = 2", second_batch, (2, 2), 2),
        Counterexample("C_{2,1} = 1 and m = 2: 4 C/m = 2 against 1", moved <= 2 * C / m, {moved: 2, C: 1, m: 2}),
        Enumerated("both gradients on z_r: 2 C/m", same_batch, (3, 2), 1),
        Identity("two terms change, each by at most 2 C", lambda: 2 * (2 * C) / m, 4 * C / m),
        Cited("without replacement a minibatch holds the record once", "Algorithm 3, step 2"),
        readings={"z_{r-1} is drawn from D and from D'": "refuted", "both gradients of step 7 on z_r": "proved"},
        repaired="4 C_{2,r}/m for independent minibatches, and the record is then used in round r with chance up to 2 "
        "m/n; or take both gradients on z_r, with 2 C_{2,r}/m",
        note="f = z h(x) y - (y + 1)^2/2, x_0 = x_1 = 0, ytilde_1 = 1, y_2 = -1 on both datasets: a record at place 1 "
        "of z_1 and place 2 of z_0 changes both terms in the same direction. The minibatch z_{r-1} is not among the "
        "past outputs, so nothing fixes it.",
        method=Method.STEPS,
    )


@claim("003:Alg3 step 3", Kind.ALGORITHM, location="Algorithm 3, steps 3 and 7")
def telescoping() -> Decision:
    """With y_r = ytilde_r from step 3, the difference of step 7 added to the estimator of the round before estimates
    the gradient in x at (x_r, y_{r+1}), as (6) intends.
    """
    estimate, gradient, built, now, subtracted = symbols("estimate gradient built now subtracted", real=True)
    return refuted(
        Enumerated("without noise in ytilde_1 nothing is left over", left_over, (Fraction(0),), 0),
        Enumerated("noise 1/2 in ytilde_1 leaves -1/2", left_over, (Fraction(1, 2),), Fraction(-1, 2)),
        Enumerated("noise -3 leaves 3", left_over, (Fraction(-3),), 3),
        Counterexample(
            "there v_2 is not grad_x at (x_1, y_2) = (1/2, 2/5)",
            Eq(estimate, gradient),
            {gradient: Rational(24, 125), estimate: Rational(24, 125) - Rational(1, 2)},
        ),
        Identity(
            "what is left over: grad_x at (x_{r-1}, y_r) less that at (x_{r-1}, ytilde_r)",
            lambda: built + (now - subtracted) - now,
            built - subtracted,
        ),
        readings={
            "y_r of step 7 is the ytilde_r of step 3, as printed": "refuted",
            "y_r of step 7 is the unperturbed y_r": "proved",
            "both gradients at ytilde, as in the outline (6)": "proved",
        },
        repaired="evaluate both gradients of step 7, and step 6, at released points ytilde_{r+1} and ytilde_r; the "
        "unperturbed y_r would telescope too, but is not private, and C_3 of Lemma 13 has no room for the noise",
        note="Step 3 overwrites y_r by ytilde_r. The estimator was built at y_r, the difference subtracts the "
        "gradient at ytilde_r, and grad_x f(x_{r-1}, y_r) - grad_x f(x_{r-1}, ytilde_r), of the size of the noise, "
        "stays in v until the next restart, once a round. Lemma 13 and the utility proof use the unperturbed y_r.",
        method=Method.STEPS,
    )
