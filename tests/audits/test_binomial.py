"""Lower confidence limits on epsilon from two counts: exact coverage, sums, comparisons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpcheck.audits import limits as binomial
from dpcheck.audits.limits import binomial_kernels as kernels
from dpcheck.audits.limits.binomial_kernels import Front, Problem

_PROBABILITY = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(1e-9, 1 - 1e-9))
EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0)


def _edge_of_claim(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """Pairs (P, Q) with P = min(1, e^epsilon Q + delta), the null's least favourable ones."""
    qs = np.concatenate([np.linspace(0, 1, 101), np.geomspace(1e-5, 0.3, 60)])
    return [(min(1.0, math.exp(epsilon) * q + delta), q) for q in qs]


@pytest.mark.parametrize("trials", [8, 30])
@pytest.mark.parametrize("delta", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("alpha", [0.05, 0.004])
def test_misses_at_most_alpha(trials: int, delta: float, alpha: float) -> None:
    """Every outcome enumerated: under the null the limit exceeds epsilon with probability <= alpha.

    Null hypothesis: P <= e^epsilon Q + delta. No sampling, so no error rate of the test itself.
    """
    counts = np.arange(trials + 1)
    limits = np.array(
        [
            [binomial.epsilon_lower(x, y, trials, delta=delta, alpha=alpha) for y in counts.tolist()]
            for x in counts.tolist()
        ]
    )
    assert limits.max() > 0  # the bound could have failed
    worst = 0.0
    for epsilon in EPSILONS:
        for p, q in _edge_of_claim(epsilon, delta):
            miss = stats.binom.pmf(counts, trials, p) @ (limits > epsilon)
            worst = max(worst, miss @ stats.binom.pmf(counts, trials, q))
    assert worst <= alpha
    # Not so conservative as to be useless: an exact test of two counts comes this close.
    assert trials < 30 or worst >= 0.8 * alpha


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.7, 0.0), (0.7, 0.05)])
def test_p_value_is_valid(epsilon: float, delta: float) -> None:
    """Every outcome enumerated: under the null P(p-value <= t) <= t at all t. No error rate."""
    trials = 25
    counts = np.arange(trials + 1)
    p_values = np.array(
        [[binomial.p_value(x, y, trials, epsilon, delta) for y in counts.tolist()] for x in counts.tolist()]
    )
    for p, q in _edge_of_claim(epsilon, delta):
        joint = np.outer(stats.binom.pmf(counts, trials, p), stats.binom.pmf(counts, trials, q))
        for t in (0.001, 0.01, 0.05, 0.2, 0.5):
            assert joint[p_values <= t].sum() <= t


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    trials=st.integers(10, 100_000),
    q=st.floats(1e-5, 1.0),
    ratio=st.floats(1.0, 50.0),
    delta=st.sampled_from([0.0, 1e-5, 1e-3]),
    alpha=st.sampled_from([0.05, 0.01, 0.002]),
)
def test_never_below_separate_limits(trials: int, q: float, ratio: float, delta: float, alpha: float) -> None:
    """At least log((CP_low(x, alpha/2) - delta) / CP_up(y, alpha/2)), each limit missing half."""
    x, y = round(trials * min(1.0, ratio * q)), round(trials * q)
    low = binomial.clopper_pearson_lower(x, trials, alpha / 2) - delta
    up = binomial.clopper_pearson_upper(y, trials, alpha / 2)
    separate = max(0.0, math.log(low / up)) if low > 0 else 0.0
    assert binomial.epsilon_lower(x, y, trials, delta=delta, alpha=alpha) >= separate


@pytest.mark.parametrize(
    ("x", "y", "trials", "delta"),
    [(5_000, 1_839, 10_000, 0.0), (50_000, 18_394, 100_000, 0.0), (271, 116, 86_000, 1e-5)],
)
def test_close_to_the_normal_limit(x: int, y: int, trials: int, delta: float) -> None:
    """For large counts: log ratio less z_alpha standard errors of it (delta method)."""
    p, q = x / trials, y / trials
    error = math.sqrt((1 - p) * p / (trials * (p - delta) ** 2) + (1 - q) / (trials * q))
    expected = math.log((p - delta) / q) - stats.norm.isf(0.05) * error
    assert binomial.epsilon_lower(x, y, trials, delta=delta) == pytest.approx(expected, abs=0.1 * error)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    trials=st.integers(1, 60),
    p=_PROBABILITY,
    q=_PROBABILITY,
    steps=st.lists(st.integers(0, 3), min_size=61, max_size=61),
)
def test_sum_against_enumeration(trials: int, p: float, q: float, steps: list[int]) -> None:
    """P(X >= front(Y)), for any rising front, from scipy's probabilities."""
    fronts = np.minimum(np.cumsum(steps)[: trials + 1], trials + 1)
    room = kernels.room(trials), kernels.room(trials)
    found, _ = kernels.exceedance(trials, p, q, 1.0, Front(fronts, 0), *room)
    exact = stats.binom.pmf(np.arange(trials + 1), trials, q) @ stats.binom.sf(fronts - 1, trials, p)
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-8) + 1e-11


@pytest.mark.parametrize("alpha", [1e-3, 1e-6, 1e-9])
def test_levels_of_any_size_have_limits_and_p_values(alpha: float) -> None:
    """The limit falls as the normal one does, and the p-value of what it leaves out is about the level."""
    x, y, trials = 6_300, 2_330, 8_700
    error = math.sqrt((1 - x / trials) / x + (1 - y / trials) / y)
    limit = binomial.epsilon_lower(x, y, trials, alpha=alpha)
    assert limit == pytest.approx(math.log(x / y) - stats.norm.isf(alpha) * error, abs=0.1 * error)
    assert binomial.rejects(x, y, trials, limit - 0.01, delta=0.0, alpha=alpha)
    assert not binomial.rejects(x, y, trials, limit + 0.1, delta=0.0, alpha=alpha)
    assert binomial.p_value(x, y, trials, limit - 0.01, alpha=alpha) < alpha + 1e-8


def test_a_bound_is_given_up_in_the_end() -> None:
    """A level that the worst case attains to the last digit: an answer, and on the safe side of it."""
    trials, box = 400, (0.1, 0.6, 0.05, 0.4)
    fronts = np.minimum(np.arange(trials + 1) * 2 + 30, trials + 1)
    found = kernels.worst_case(trials, 0.5, 0.0, Problem(Front(fronts, 0), *box), 0.0)
    for level in (found, found / 1.01, found / 1.005, np.nextafter(found, 1)):
        again = kernels.worst_case(trials, 0.5, 0.0, Problem(Front(fronts, 0), *box), level)
        assert again >= found / 1.011


@pytest.mark.parametrize(
    ("x", "y", "trials", "delta"), [(60, 12, 1_000, 1e-3), (900, 300, 9_000, 0.0), (40, 0, 1_000, 1e-5)]
)
def test_a_claim_is_rejected_where_its_p_value_says_so_and_nowhere_else(
    x: int, y: int, trials: int, delta: float
) -> None:
    """Around the limit, where a test at another level would decide otherwise."""
    alpha = 0.05
    limit = binomial.epsilon_lower(x, y, trials, delta=delta, alpha=alpha)
    chances = {}
    for epsilon in limit * np.array([0.9, 0.98, 1.02, 1.05, 1.1]):
        chances[epsilon] = binomial.p_value(x, y, trials, epsilon, delta, alpha=alpha)
        rejected = binomial.rejects(x, y, trials, epsilon, delta=delta, alpha=alpha)
        assert rejected == (chances[epsilon] < alpha), (epsilon, chances[epsilon])
    assert min(chances.values()) < alpha and any(alpha < each < 3 * alpha for each in chances.values())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    trials=st.integers(1, 60),
    p=st.floats(0.01, 0.99),
    q=st.floats(0.01, 0.99),
    growth=st.floats(0.0, 20.0),
    steps=st.lists(st.integers(0, 3), min_size=61, max_size=61),
)
def test_slope_of_the_sum_against_the_mean_of_the_score(
    trials: int, p: float, q: float, growth: float, steps: list[int]
) -> None:
    """d/dq P(X >= front(Y)), p moving along, is the mean of the likelihood's score on the event."""
    fronts = np.minimum(np.cumsum(steps)[: trials + 1], trials + 1)
    room = kernels.room(trials), kernels.room(trials)
    _, found = kernels.exceedance(trials, p, q, growth, Front(fronts, 0), *room)
    counts = np.arange(trials + 1)
    x, y = counts[None, :], counts[:, None]
    score = growth * (x - trials * p) / (p * (1 - p)) + (y - trials * q) / (q * (1 - q))
    chance = stats.binom.pmf(y, trials, q) * stats.binom.pmf(x, trials, p)
    exact = abs((chance * score)[x >= fronts[:, None]].sum())
    room_left = 1e-5 * math.sqrt(kernels.information(trials, p, q, growth))
    assert exact - 1e-9 <= found <= exact + room_left


@pytest.mark.parametrize("half", [0.002, 0.01, 0.04])
@pytest.mark.parametrize("offset", range(30, 91, 5))
def test_crest_bounds_a_cell(offset: int, half: float) -> None:
    """No value on a cell is above the bound from its middle, also where the slope alone would say less."""
    trials, growth, middle = 200, 2.0, 0.2
    room = kernels.room(trials), kernels.room(trials)
    fronts = np.clip(np.arange(trials + 1) // 2 + offset, 0, trials + 1)
    value, slope = kernels.exceedance(trials, growth * middle, middle, growth, Front(fronts, 0), *room)
    ends = [kernels.information(trials, growth * q, q, growth) for q in (middle - half, middle + half)]
    bound = kernels.crest(value, slope, max(ends), half)
    cell = np.linspace(middle - half, middle + half, 101)
    values = [kernels.exceedance(trials, growth * q, q, growth, Front(fronts, 0), *room)[0] for q in cell]
    assert max(values) <= bound
    assert kernels.crest(value, slope, 0.0, half) == pytest.approx(value + slope * half)
    if offset == 80 and half == 0.04:
        assert max(values) > value + slope * half


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    trials=st.integers(1, 300),
    epsilon=st.floats(0.0, 3.0),
    delta=st.sampled_from([0.0, 1e-5, 0.05]),
    # no smaller ones but 0: SciPy 1.13 overflows where a probability is not a normal number
    corner=st.tuples(*[st.just(0.0) | st.floats(1e-290, 0.9)] * 2),
    size=st.tuples(*[st.just(0.0) | st.floats(1e-290, 0.5)] * 2),
    shape=st.tuples(st.floats(0.5, 4.0), st.integers(0, 20)),
    share=st.floats(0.8, 1.3),
)
def test_worst_case_is_below_a_level_only_where_all_is(
    trials: int, epsilon: float, delta: float, corner: tuple[float, float], size: tuple[float, float],
    shape: tuple[float, int], share: float,
) -> None:  # fmt: skip
    """On 2,000 points of the null no probability exceeds a bound that was found enough; one that is far off is."""
    fronts = np.minimum((np.arange(trials + 1) * shape[0]).astype(np.int64) + shape[1], trials + 1)
    (p1, q1), (p2, q2) = corner, (min(c + s, 1.0) for c, s in zip(corner, size, strict=True))
    qs = np.linspace(q1, q2, 2_000)
    ps = np.minimum(p2, np.exp(epsilon) * qs + delta)
    qs, ps = qs[ps >= p1], ps[ps >= p1]
    y = np.arange(trials + 1)[:, None]
    most = (stats.binom.pmf(y, trials, qs) * stats.binom.sf(fronts[:, None] - 1, trials, ps)).sum(0).max(initial=0.0)
    level = share * most + 1e-4
    found = kernels.worst_case(trials, epsilon, delta, Problem(Front(fronts, 0), p1, p2, q1, q2), level)
    if found < level:
        assert most <= found
    else:
        assert level < 1.01 * most + 1e-4


def test_long_sum_against_enumeration() -> None:
    trials, p, q, first = 100_000, 0.0031, 0.0013, 40
    fronts = np.arange(first, 260) * 2 + 30
    room = kernels.room(trials), kernels.room(trials)
    found, _ = kernels.exceedance(trials, p, q, 1.0, Front(fronts, first), *room)
    ys = np.arange(first, 260)
    exact = stats.binom.pmf(ys, trials, q) @ stats.binom.sf(fronts - 1, trials, p)
    assert found == pytest.approx(exact, rel=1e-7)
    # A y beyond the fronts given counts as a hit: an upper bound, never less.
    cut, _ = kernels.exceedance(trials, p, q, 1.0, Front(fronts[:100], first), *room)
    assert cut == pytest.approx(
        stats.binom.pmf(ys[:100], trials, q) @ stats.binom.sf(fronts[:100] - 1, trials, p)
        + stats.binom.sf(first + 99, trials, q),
        rel=1e-7,
    )


@pytest.mark.parametrize("box", [(0.0, 1.0, 0.0, 1.0), (0.1, 0.6, 0.05, 0.4)])
@pytest.mark.parametrize("epsilon", [0.0, 0.8])
def test_worst_case_bounds_a_dense_grid(box: tuple[float, float, float, float], epsilon: float) -> None:
    """At least the largest probability on 20,000 points of the null, and within 2% of it."""
    trials, delta = 50, 0.01
    fronts = np.minimum(np.arange(trials + 1) * 2 + 7, trials + 1)
    p1, p2, q1, q2 = box
    qs = np.linspace(q1, q2, 20_000)
    ps = np.minimum(p2, np.exp(epsilon) * qs + delta)
    qs, ps = qs[ps >= p1], ps[ps >= p1]
    y = np.arange(trials + 1)[:, None]
    values = (stats.binom.pmf(y, trials, qs) * stats.binom.sf(fronts[:, None] - 1, trials, ps)).sum(0)
    found = kernels.worst_case(trials, epsilon, delta, Problem(Front(fronts, 0), *box), 0.0)
    assert values.max() <= found <= 1.02 * values.max()


@pytest.mark.parametrize("z", [0.9, 1.2, 2.2])
def test_front_is_where_the_score_reaches(z: float) -> None:
    """The set {X >= front(Y)} is exactly the outcomes with at least the observed score."""
    trials, delta = 40, 0.01
    counts = np.arange(trials + 1, dtype=float)
    scores = np.array([[binomial.score(x, y, trials, z, delta) for x in counts] for y in counts])
    for x, y in ((20, 5), (40, 0), (33, 30)):
        front = binomial.front(trials, z, scores[y, x] - 1e-9, delta, 0, trials)
        assert ((counts >= front[:, None]) == (scores >= scores[y, x] - 1e-9)).all()


def test_nothing_to_see_gives_zero() -> None:
    for x, y in ((0, 0), (0, 100), (50, 50), (100, 100), (10, 30)):
        assert binomial.epsilon_lower(x, y, 100) == 0.0
    assert binomial.epsilon_lower(100, 0, 100, delta=0.99) == 0.0
    assert binomial.p_value(0, 50, 100, 1.0) == 1.0
    assert binomial.p_value(100, 0, 100, 1e6) > 0.5


def test_p_value_includes_the_error_of_the_intervals() -> None:
    """However extreme the counts: P and Q lie outside their intervals with probability 0.002 alpha."""
    assert binomial.p_value(100, 0, 100, 0.0) == pytest.approx(1e-4, rel=1e-6)
    assert binomial.p_value(100, 0, 100, 0.0, alpha=0.01) == pytest.approx(2e-5, rel=1e-6)


def test_the_quick_bound_is_one_for_large_delta_too():
    """Near delta the limit is steep: 83 of 85 against none exceeds epsilon 0 at delta .9."""
    assert binomial.epsilon_lower(83, 0, 85, delta=0.9, alpha=0.01) > 0
    assert binomial.most(83, 0, 85, delta=0.9, alpha=0.01) >= binomial.epsilon_lower(83, 0, 85, delta=0.9, alpha=0.01)
    rng = np.random.default_rng(5)
    for _ in range(200):
        trials = int(rng.integers(20, 200))
        x, y, delta = int(rng.integers(trials + 1)), int(rng.integers(trials // 4)), float(rng.uniform(0, 0.99))
        exact = binomial.epsilon_lower(x, y, trials, delta=delta, alpha=0.01)
        assert exact <= max(0.0, binomial.most(x, y, trials, delta=delta, alpha=0.01)), (x, y, trials, delta)
