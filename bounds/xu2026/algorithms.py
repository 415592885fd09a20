r"""Algorithms 2 and 3: their lines, the size of the perturbation, and what one record can change in their queries.

Between two refreshes the estimators change by clipped minibatch means of gradient differences, and the paper never
gives a value to their threshold C_u. Descent steps have length eta, so that C_u = L eta clips nothing there; the
perturbation of the escape phase may be as long as r = L_Phi eta_H alpha_H/(C rho_Phi).
"""

from fractions import Fraction
from typing import Any

from sympy import Eq, Integer, Rational, sqrt, symbols

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, misprint, proved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, Searched, over
from dpcheck.bounds.judge import judged
from dpcheck.bounds.symbols import L, d, eta

alpha, rho_phi, C, C_u, eta_h, L_Phi, a, k = symbols("alpha rho_Phi C C_u eta_H L_Phi a k", positive=True)
written, read = symbols("written read")
RADIUS = sqrt(alpha / rho_phi) / C
CLIP = L * eta


def anchors_found(phases: int, late: int) -> Fraction:
    """Count phases where m_{s - late} is the anchor just written, s the counter after line 8; printed: late = 0."""
    anchors: dict[int, int] = {}
    right = 0
    for s_before, t in enumerate(range(10, 10 + phases)):
        anchors[s_before] = t
        right += anchors.get(s_before + 1 - late) == t
    return Fraction(right)


def clipping_bias(radius: Fraction, threshold: Fraction) -> Fraction:
    """Return |v - grad Phi| after the perturbation, for records F = x^2/2 - y^2/2, y = 0, v = grad Phi before it."""
    before, after = Fraction(0), radius
    difference = after - before  # of the gradients, for every record
    clipped = max(-threshold, min(threshold, difference))
    return abs(before + clipped - after)


@claim("002:Alg2 m_s", Kind.ALGORITHM, location="Algorithm 2, lines 8 to 19")
def anchor() -> Decision:
    """With line 8's m_s = t followed by s = s + 1, the m_s that the later lines and the output read is the anchor of
    the current phase.
    """
    return misprint(
        Counterexample("the first phase writes m_0 and then reads m_1", Eq(read, written), {written: 0, read: 1}),
        Enumerated("of three phases, those that find their anchor", anchors_found, (3, 0), 0),
        Enumerated("with m_{s-1} for m_s", anchors_found, (3, 1), 3),
        readings={
            "the two assignments in the printed order": "refuted",
            "s raised after the phase, or m_{s-1} read": "proved",
        },
        differs="index",
        condition="the index is read as m_{s-1}, or s is raised after the phase",
        repaired="m_{s-1} in lines 12 to 19 and in the output, or s = s + 1 moved to the end of the phase",
        note="m_s is undefined wherever it is read; the repair is plain, and the lemmas mean the repaired index.",
        method=Method.STEPS,
    )


@claim("002:r vs C_u", Kind.SCHEDULE, location="Algorithms 2 and 3; Lemma 7")
def perturbation() -> Decision:
    """With a perturbation radius r within the paper's bounds, of the order {RADIUS}, and increments clipped at C_u =
    {CLIP}, clipping changes no increment.
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
        Enumerated("with r = C_u/L it is not moved", clipping_bias, (hundredth, hundredth), 0),
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
        "change, of order sqrt(alpha), is clipped to alpha, and the bias stays in v until the next refresh; a "
        "smaller r avoids it.",
        method=(Method.STEPS, Method.EXPONENTS),
    )


S, S_1, S_2, B, M, dx, dy, j, moved, found, wanted = symbols("S S_1 S_2 B M dx dy j moved found wanted", positive=True)
BATCH, CLIPPED, REFRESH = 2 * C / S, 2 * C / B, 2 * M / S_1  # as published
INCREMENT = 2 * sqrt(2) * L * dy / S_2
MOVES = Identity(
    "L |w_t - w_{t-1}| = L |y_t - y_{t-1}|, where x and y moved by dx and dy", L * sqrt(dx**2 + dy**2), L * dy
)


def clipped(value: Fraction, threshold: Fraction) -> Fraction:
    """Clip in one dimension."""
    return max(-threshold, min(threshold, value))


def mean_then_clip(threshold: int, *records: int) -> Fraction:
    """Return the mean of the gradients, clipped, as Algorithm 3 has it."""
    return clipped(Fraction(sum(records), len(records)), Fraction(threshold))


def clip_then_mean(threshold: int, *records: int) -> Fraction:
    """Return the mean of the clipped gradients, as Appendix D has it."""
    return sum((clipped(Fraction(z), Fraction(threshold)) for z in records), Fraction(0)) / len(records)


def replaced_share(rng: Any) -> float:
    """Return B/(2 C) times the move of the mean of B random clipped gradients in the plane when one is replaced."""
    import numpy as np

    count = int(rng.integers(1, 9))
    gradients = rng.normal(0, 10, (count + 1, 2))
    gradients *= np.minimum(1, 1 / np.linalg.norm(gradients, axis=1))[:, None]  # C = 1
    moved_by = np.linalg.norm(gradients[:count].mean(0) - gradients[1:].mean(0))
    return float(moved_by * count / 2)


def difference_of_clipped(threshold: int, *pairs: int) -> Fraction:
    """Return the mean of clip(g) - clip(h) over records with gradients g, h, given one after the other."""
    terms = [clipped(Fraction(z), Fraction(threshold)) for z in pairs]
    return sum((g - h for g, h in zip(terms[::2], terms[1::2], strict=True)), Fraction(0)) / (len(pairs) // 2)


def estimate(x: int, before: int, refresh: int, repaired: int = 0) -> Fraction:
    """Return v_{t,0} of Algorithm 3 without noise or clipping for F = x^2/2 - y^2/2, y = 0, one inner step.

    ``x`` is x_t and ``before`` is x_{t-1}; on a refresh v_{t,-1} is the gradient at x_t, else at x_{t-1}.
    ``repaired`` sets x_{t,-1} = x_t on a refresh.
    """
    start = Fraction(x if refresh else before)
    anchor = x if refresh and repaired else before  # x_{t,-1}
    return start + (Fraction(x) - Fraction(anchor))


def tracked(period: int, repaired: int, *xs: int) -> Fraction:
    """Return v_{t,0} less the gradient at x_t after a run through ``xs``, F as in :func:`estimate`, x_{-1} = x_0."""
    v = Fraction(0)
    for t, x in enumerate(xs):
        before = xs[max(t - 1, 0)]
        if t % period == 0:
            v = estimate(x, before, 1, repaired)
        else:
            v += Fraction(x) - Fraction(before)
    return v - xs[-1]


def first_difference(record: int, x: int, before: int) -> Fraction:
    """Return the increment of v at k = 0 for F = z x^2/2 - y^2/2: y_{t,0} = y_{t,-1}, x_{t,-1} = x_{t-1}."""
    return Fraction(record * (x - before))


@claim("002:Alg3 Clip", Kind.SENSITIVITY, location="Algorithm 3, lines 7, 8, 14 and 15, with (30)")
def batch_clip() -> Decision:
    """The clipped mean Clip(mean of S gradients, C) changes by at most {BATCH} when one record is replaced."""
    return conditional(
        Enumerated("records 10 and -8, C = 1: the clipped mean", mean_then_clip, (1, 10, -8), 1),
        Enumerated("one of them replaced: -10 and -8", mean_then_clip, (1, -10, -8), -1),
        Counterexample("it moves by 2, twice the claimed 2 C/S = 1", moved <= BATCH, {moved: 2, C: 1, S: 2}),
        Enumerated("C = M = 10, where the clip is idle: records 10 and 10", mean_then_clip, (10, 10, 10), 10),
        Enumerated("against -10 and 10: 2 M/S = 10 apart, and no more", mean_then_clip, (10, -10, 10), 0),
        Cited("without the clip the mean moves by at most 2 M/S", "triangle inequality, Assumption 1"),
        AtMost("which C = M + k allows", 2 * M / S, BATCH.subs(C, M + k)),
        readings={"C >= M, where the clip is idle": "proved", "C < M": "refuted"},
        condition="C >= M: the clip is idle, and the mean moves by 2 M/S at most, which (30) uses",
        repaired="min{2 C, 2 M/S} for every C; or clip each record before the mean, as Appendix D says, for 2 C/S",
        note="A clip of the mean bounds the mean, not one record's part in it. The lines do not state 2 C/S: "
        "Algorithm 3 scales its noise to C/S, and (30) has 2 M/S_1, which M-Lipschitz losses give without the clip.",
        method=Method.STEPS,
    )


@claim("002:App D", Kind.SENSITIVITY, location="Appendix D")
def record_clip() -> Decision:
    """When one of B gradients is replaced, the mean of the gradients clipped one by one to C changes by at most
    {CLIPPED}.
    """
    return proved(
        Cited(
            "the difference of the means is 1/B times the difference of two clipped gradients, whose norms add up",
            "triangle inequality",
        ),
        AtMost(
            "norms C/(1 + j) and C/(1 + k), which stand for any two up to C, are together within the bound",
            (C / (1 + j) + C / (1 + k)) / B,
            CLIPPED,
        ),
        Enumerated("attained: records 5 and 0, C = 1, B = 2", clip_then_mean, (1, 5, 0), Fraction(1, 2)),
        Enumerated("against -5 and 0", clip_then_mean, (1, -5, 0), Fraction(-1, 2)),
        Searched("in the plane, in units of the bound", replaced_share, 1.0 + 1e-12, 400),
        Enumerated(
            "increments clipped before the difference: a record with gradients 5 and -5, B = 2",
            difference_of_clipped,
            (1, 5, -5, 0, 0),
            1,
        ),
        Enumerated("against -5 and 5", difference_of_clipped, (1, -5, 5, 0, 0), -1),
        Counterexample("they move by 2, which is 4 C/B and not 2 C/B = 1", moved <= CLIPPED, {moved: 2, C: 1, B: 2}),
        Enumerated("a record that was drawn twice into a batch of B = 2", clip_then_mean, (1, 5, 5), 1),
        Enumerated("replaced, it moves the mean by 2 as well", clip_then_mean, (1, -5, -5), -1),
        readings={
            "one vector a record, clipped once: a gradient, or the difference of two": "proved",
            "increments as mean of clip(g) - clip(h), each gradient clipped by itself: 4 C/B": "refuted",
            "batches drawn with replacement, in which the record may stand more than once": "refuted",
        },
        repaired="4 C/B for increments whose two gradients are clipped one by one; C/B times twice the number of "
        "places that a record takes in its batch",
        note="The mean of clipped gradients is as stated. Appendix D does not say which vector is clipped in an "
        "increment, nor how a batch is drawn: two clipped gradients a record, or a record drawn twice, double the "
        "bound.",
        method=(Method.ALGEBRA, Method.ENUMERATION),
    )


@claim("002:(30)", Kind.SENSITIVITY, location="equation (30)")
def refresh_change() -> Decision:
    """When one of its S_1 records is replaced, a refresh changes by at most {REFRESH}."""
    return conditional(
        Cited("the mean moves by 1/S_1 times the difference of two gradients", "triangle inequality"),
        AtMost(
            "norms M/(1 + j) and M/(1 + k), which stand for any two up to M, are together within the bound",
            (M / (1 + j) + M / (1 + k)) / S_1,
            REFRESH,
        ),
        Enumerated("attained: M = 3, S_1 = 2, gradients 3 and 0", clip_then_mean, (3, 3, 0), Fraction(3, 2)),
        Enumerated("against -3 and 0", clip_then_mean, (3, -3, 0), Fraction(-3, 2)),
        Cited(
            "the points of evaluation are functions of released noisy estimates, so that they are equal given these",
            "post-processing",
        ),
        Counterexample(
            "if each of d coordinates has slope up to M, as Assumption 1 says word for word, the norm is M sqrt d",
            2 * M * sqrt(d) / S_1 <= REFRESH,
            {M: 1, S_1: 10, d: 4},
        ),
        readings={
            "M bounds the norm of each block's gradient": "proved",
            "M bounds each coordinate's slope": "refuted",
        },
        condition="M bounds the norm of grad_x F and of grad_y F; with slopes coordinate by coordinate, M sqrt d takes "
        "its place",
        note="Right for the block-wise Lipschitz constant.",
    )


@claim("002:(31)", Kind.SENSITIVITY, location="equation (31)")
def increment() -> Decision:
    """When one of its S_2 records is replaced, an increment of the inner loop, k = 0, ..., K - 1, changes by at most
    {INCREMENT}, dy the length of y_k - y_{{k-1}}.
    """
    return conditional(
        Cited(
            "for k >= 1 both gradients of a record are taken at the same x_t, so that they differ by at most L dy; one "
            "of the S_2 records changes, and clipping the mean brings no two means further apart",
            "Assumption 2; triangle inequality; the clip is a projection",
        ),
        Inequality(
            "k >= 1: two differences of at most L dy each are within the bound, 2 in place of 2 sqrt 2 being enough",
            2 * L * dy / S_2,
            INCREMENT,
            over(L, dy, S_2 >= 1),
        ),
        Enumerated("k = 0, F = z x^2/2 - y^2/2, x moved from 0 to 3: a record 1 adds", first_difference, (1, 3, 0), 3),
        Enumerated("and a record -1", first_difference, (-1, 3, 0), -3),
        Counterexample(
            "y_{t,0} = y_{t,-1}, so that the printed bound is 0, where the increment changes by 6",
            moved <= INCREMENT,
            {moved: 6, L: 1, dy: 0, S_2: 1},
        ),
        Counterexample(
            "k = 0, |z| <= L, any move dx of x and any batch: 2 L dx/S_2 is above the printed bound",
            2 * L * dx / S_2 <= INCREMENT,
            {dy: 0},
        ),
        readings={
            "k >= 1, both gradients at the same x, as (31) writes them": "proved",
            "k >= 1, with 2 L for 2 sqrt 2 L": "proved",
            "k = 0, whenever x_t differs from x_{t-1}": "refuted",
        },
        condition="k >= 1, where both gradients of a record are taken at the same x_t; at k = 0 Algorithm 3 takes them "
        "at x_t and x_{t-1}, at the same y",
        repaired="2 L (|x_{t,k} - x_{t,k-1}| + |y_{t,k} - y_{t,k-1}|)/S_2 for every k, or 2 L times the distance of "
        "the pairs; noise in proportion to it is not zero at k = 0",
        note="(31) writes both gradients at one x, and is right there, with 2 L too. It is used for every increment, "
        "and the first of each inner loop, k = 0, differences across x_{t-1} and x_t at the same y: its bound, and "
        "with it the noise, is 0 there, whatever x did.",
        method=(Method.STEPS, Method.PROVER),
    )


@claim("002:x-difference", Kind.ALGORITHM, location="Algorithm 3, line 3")
def difference() -> Decision:
    """With x_{t,-1} = x_{t-1} the recursion keeps v_{t,k} an unbiased estimate of grad_x f(x_t,
    y_{t,k}) for every t.
    """
    return conditional(
        Enumerated("no refresh, x from 2 to 5: the estimate telescopes to 5", estimate, (5, 2, 0), 5),
        Enumerated("on a refresh it is the gradient at x_t plus one more difference", estimate, (5, 2, 1), 8),
        Counterexample("8 where grad Phi(x_t) = 5", Eq(found, wanted), {found: 8, wanted: 5}),
        Enumerated("the bias stays for the period: q = 3, x = 0, 1, 2, 5, 7, 8", tracked, (3, 0, 0, 1, 2, 5, 7, 8), 3),
        Enumerated("with x_{t,-1} = x_t on a refresh there is none", tracked, (3, 1, 0, 1, 2, 5, 7, 8), 0),
        Cited(
            "each increment has mean grad_x f(x_{t,k}, y_{t,k}) - grad_x f(x_{t,k-1}, y_{t,k-1}) given the past, and "
            "the first subtracts what v_{t,-1} estimates: the sum telescopes",
            "fresh samples, no clipping",
        ),
        readings={
            "between refreshes": "proved",
            "on a refresh, as printed": "refuted",
            "on a refresh with x_{t,-1} = x_t": "proved",
        },
        differs="index",
        condition="x_{t,-1} = x_t on a refresh (and at t = 0, where x_{-1} is not defined), clipping idle",
        repaired="on a refresh x_{t,-1} = x_t, so that the first difference is zero",
        note="Line 3 sets x_{t,-1} = x_{t-1} also where v_{t,-1} was just taken at x_t, which counts the last move "
        "twice: a bias up to L eta in a descent step.",
        method=Method.STEPS,
    )


@claim("002:Lem5 privacy", Kind.STEP, location="proof of Lemma 5", equation=Eq(MOVES.left, MOVES.right, evaluate=False))
def gradient_variation() -> Decision:
    """{equation} (the gradient variation L |w_t - w_{{t-1}}|, moves dx and dy of x and y, is L |y_t - y_{{t-1}}|)."""
    return judged(MOVES, repaired="L |w_t - w_{t-1}| <= L (dx + dy); x moves by the step size in every descent step")
