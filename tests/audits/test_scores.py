"""Scores of several coordinates: what they show that single coordinates cannot, and what they leave alone."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpcheck.audits import output_sets
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.membership import audit_privacy
from dpcheck.audits.output_sets import OutputSet
from dpcheck.audits.scores import Coordinate, evaluate
from dpcheck.audits.scores.exact import Extreme, exact
from dpcheck.audits.scores.histograms import (
    Pair,
    histogram,
    patterns,
    product,
)
from dpcheck.audits.scores.learned import Projection, Trees, fit, grow, learned, trees


def _true_bit(rng: np.random.Generator, size: Any, epsilon: float) -> Any:
    """Whether randomised response tells the truth."""
    return rng.random(size) < 1 / (1 + math.exp(-epsilon))


# Mechanisms whose leak shows in several coordinates together. Each would keep epsilon 1 without its bug.


def parity(value: int, rng: np.random.Generator, size: int) -> Any:
    """Two fair bits whose exclusive or is the secret, kept with epsilon 2 instead of 1."""
    bit = rng.random(size) < 0.5
    return np.column_stack([bit, bit ^ (_true_bit(rng, size, 2.0) == value)])


def parity_of_three(value: int, rng: np.random.Generator, size: int) -> Any:
    """The same with three bits: no two of them say anything."""
    bits = rng.random((size, 2)) < 0.5
    return np.column_stack([bits, bits[:, 0] ^ bits[:, 1] ^ (_true_bit(rng, size, 2.0) == value)])


def reused_noise(value: float, rng: np.random.Generator, size: int) -> Any:
    """Two noisy counts; in one run of fifty the second takes the noise of the first."""
    first, second = rng.laplace(scale=2, size=(2, size))
    return np.column_stack([value + first, value + np.where(rng.random(size) < 0.02, -first, second)])


def noisy_max(value: float, rng: np.random.Generator, size: int) -> Any:
    """The index of the largest of four noisy counts and that count, its noise too small for one of them."""
    counts = value * np.array([1.0, 0.0, 1.0, 0.0])
    index = (counts + rng.laplace(scale=4, size=(size, 4))).argmax(axis=1)
    return np.column_stack([index, counts[index] + np.where(index == 2, 0.5, 2.0) * rng.laplace(size=size)])


def sparse_vector(value: float, rng: np.random.Generator, size: int) -> Any:
    """Six comparisons with one noisy threshold, their noise a sixth of what six answers need."""
    up = np.array([1, 0, 1, 0, 1, 0])
    queries = value * up + (1 - value) * (1 - up)
    threshold = 0.5 + rng.laplace(scale=2, size=(size, 1))
    return (queries + rng.laplace(scale=2, size=(size, 6)) >= threshold).astype(float)


def thirty_bits(value: int, rng: np.random.Generator, size: int) -> Any:
    """Randomised response of thirty bits, each with epsilon 1/4 instead of 1/30."""
    return np.where(_true_bit(rng, (size, 30), 1 / 4), value, 1 - value)


def flag_and_width(value: int, rng: np.random.Generator, size: int) -> Any:
    """A fair flag, and noise that is wide where the flag is not the secret."""
    flag = rng.random(size) < 0.5
    return np.column_stack([flag, np.where(flag == value, 1.0, 3.0) * rng.standard_normal(size)])


def wrong_covariance(value: float, rng: np.random.Generator, size: int) -> Any:
    """Twenty Gaussians, correlated on one dataset."""
    noise = rng.standard_normal((size, 20))
    noise[:, 1:] += 0.3 * value * noise[:, :-1]
    return noise


def twenty_counts(value: float, rng: np.random.Generator, size: int) -> Any:
    """Twenty Laplace counts, each with epsilon 1/5 instead of 1/20."""
    return value / 5 + rng.laplace(size=(size, 20))


def cancelling_masks(value: float, rng: np.random.Generator, size: int) -> Any:
    """Six numbers under masks of deviation 1000, one for each pair, which cancel in the sum of all."""
    masks = 1000 * np.triu(rng.standard_normal((size, 6, 6)), 1)
    return np.array([value, 1, 1, 1, 1, 1]) + masks.sum(2) - masks.sum(1)


def centred_noise(value: float, rng: np.random.Generator, size: int) -> Any:
    """Noise whose mean over the output was taken off, so that the output's mean is exact."""
    noise = 20 * rng.laplace(size=(size, 30))
    return value / 30 + noise - noise.mean(axis=1, keepdims=True)


def one_near_zero(value: int, rng: np.random.Generator, size: int) -> Any:
    """A hundred waiting times; on one dataset one of them, whichever, is a hundredth of what it was."""
    times = rng.exponential(size=(size, 100))
    times[np.arange(size), rng.integers(0, 100, size)] *= 0.01 if value else 1.0
    return times


# Correct ones of the same shapes: epsilon is exactly 1.


def right_bits(value: int, rng: np.random.Generator, size: int) -> Any:
    return np.where(_true_bit(rng, (size, 8), 1 / 8), value, 1 - value)


def right_counts(value: float, rng: np.random.Generator, size: int) -> Any:
    return value / 5 + rng.laplace(size=(size, 5))


def right_index_and_value(value: int, rng: np.random.Generator, size: int) -> Any:
    """One of four indices, the true one e^0.5 times as likely as each other, and a count with epsilon 0.5."""
    share = math.exp(0.5) / (math.exp(0.5) + 3)
    other = (value + rng.integers(1, 4, size)) % 4
    index = np.where(rng.random(size) < share, value, other)
    return np.column_stack([index, value + rng.laplace(scale=2, size=size)])


def right_flag_and_width(value: int, rng: np.random.Generator, size: int) -> Any:
    """A flag with epsilon 0.5, and a count whose scale and sensitivity both hang on the flag."""
    flag = np.where(_true_bit(rng, size, 0.5), value, 1 - value)
    scale = 1.0 + 2 * flag
    return np.column_stack([flag, scale * (value / 2 + rng.laplace(size=size))])


CORRECT = [right_bits, right_counts, right_index_and_value, right_flag_and_width]


def _without_joint_scores(a: Any, b: Any, codes: int) -> Any:
    width = a.shape[1]
    return [*(histogram(Coordinate(i, width), a, b) for i in range(min(width, 32))), *fit(a, b)]


def _limits(mechanism: Any, trials: int, repeats: int) -> list[float]:
    """Limits of audits whose claim of 50 is never exceeded, so that all runs are used."""
    options: dict[str, Any] = {"epsilon": 50.0, "delta": 0.0, "trials": trials, "vectorized": True}
    return [audit_privacy(mechanism, 1, 0, seed=seed, **options).epsilon_lower for seed in range(repeats)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mechanism", "trials", "gain"),
    [
        (parity, 1_000, 0.0), (parity_of_three, 1_000, 0.1), (reused_noise, 10_000, 2.0), (noisy_max, 5_000, 0.5),
        (sparse_vector, 20_000, 0.1), (thirty_bits, 1_000, 0.0), (flag_and_width, 4_000, 0.5),
        (wrong_covariance, 4_000, 0.0), (twenty_counts, 10_000, 0.2), (cancelling_masks, 5_000, 0.0),
        (centred_noise, 5_000, 0.0), (one_near_zero, 10_000, 0.0),
    ],
)  # fmt: skip
def test_joint_leaks_are_found(mechanism: Any, trials: int, gain: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each claims epsilon 1 and leaks more: two of two audits say so, fixed seeds.

    ``gain`` : at least so much more is shown, on average, than by single coordinates and discriminants. It is 0 where
    the likelihood ratio is a quadratic discriminant, as it is for bits in pairs, independent bits and Gaussians.
    """
    found = _limits(mechanism, trials, 2)
    monkeypatch.setattr(output_sets, "learned", _without_joint_scores)
    before = _limits(mechanism, trials, 2)
    assert min(found) > 1
    assert np.mean(found) >= np.mean(before) + gain


def _false_alarms(repeats: int, trials: int) -> int:
    """Audits, all at the epsilon that is kept exactly, that call the mechanism violated."""
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 0.0, "trials": trials, "vectorized": True}
    return sum(
        audit_privacy(mechanism, 1, 0, seed=repeats * number + i, **options).verdict == "violated"
        for number, mechanism in enumerate(CORRECT)
        for i in range(repeats)
    )


@pytest.mark.parametrize(
    ("repeats", "trials"), [(12, 600), *(pytest.param(150, n, marks=pytest.mark.experiment) for n in (1_000, 6_000))]
)
def test_false_alarms_stay_below_the_level(repeats: int, trials: int) -> None:
    """Null hypothesis: an audit cries "violated" with probability <= 5%.

    Rejected above the 0.999 quantile of Bin(4 repeats, 0.05): error rate 0.1%.
    """
    assert _false_alarms(repeats, trials) <= stats.binom.isf(1e-3, 4 * repeats, 0.05)


def test_correct_mechanisms_are_seen_more_closely() -> None:
    """Their epsilon of 1 is approached: mean of 3 audits each, fixed seeds."""
    for mechanism in (right_index_and_value, right_flag_and_width):
        assert 0.6 < np.mean(_limits(mechanism, 10_000, 3)) < 1


# Each score against another route to the same number.


def test_a_pair_makes_noise_used_twice_a_value_of_its_own() -> None:
    rng = np.random.default_rng(1)
    noise = rng.laplace(scale=7, size=1_000)
    outputs = np.column_stack([0.1 + noise, noise, -noise])
    assert set(Pair(0, 1, -1, 2.0**-36)(outputs)) == {np.rint(0.1 * 2**36) / 2**36}
    assert set(Pair(1, 2, 1, 2.0**-36)(outputs)) == {0.0}
    infinite = np.array([[np.inf, np.inf], [-np.inf, np.inf], [1.0, -np.inf]])
    assert Pair(0, 1, -1, 1.0)(infinite).tolist() == [0.0, -np.inf, np.inf]


def test_a_product_finds_the_likelihood_ratio_of_independent_bits() -> None:
    """In 20,000 runs each ratio errs by at most 0.06, four standard deviations, before it is shrunk."""
    rng = np.random.default_rng(2)
    a, b = (thirty_bits(v, rng, 20_000).astype(float) for v in (1, 0))
    score = product(a, b)
    assert score(np.ones((1, 30)))[0] == pytest.approx(30 / 4, rel=0.05)
    assert score(a[:50]) == pytest.approx(sum(part(a[:50]) for part in score.parts), abs=1e-12)
    truth = (2 * a[:500] - 1).sum(axis=1) / 4
    assert np.abs(score(a[:500]) - truth).max() < 30 * 0.06


def test_a_product_silences_coordinates_that_say_nothing() -> None:
    """One of 200 shifts by 2: it keeps its ratio, and the sum of all others varies less than it does."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 2_000, 200))
    a[:, 7] += 2
    score = product(a, b)
    fresh = rng.normal(size=(2_000, 200))
    alone = score.parts[7](fresh)
    assert np.std(alone) > 1.5
    assert np.std(score(fresh) - alone) < 0.5 * np.std(alone)


def test_patterns_count_rows() -> None:
    a = np.array([[0, 5], [0, 5], [0, 5], [1, 5], [1, np.inf]] * 20, float)
    b = np.array([[1, np.inf], [1, 5], [0, 5], [0, np.inf], [0, np.inf]] * 20, float)
    (score,) = patterns(a, b)
    rows = np.array([[0, 5], [1, np.inf], [0, np.inf], [2, 2]], float)
    assert score(rows) == pytest.approx(np.log([61 / 21, 1, 1 / 41, 1]))
    assert score.describe(">=", 0.5) == "output in {(0, 5)}"
    assert score.describe("<=", -2) == "output in {(0, inf)}"
    assert score.describe(">=", 0) == "output not in {(0, inf)}"


def test_patterns_of_the_columns_that_repeat() -> None:
    """Unequal rows get unequal keys, and a continuous column is left out."""
    rng = np.random.default_rng(4)
    a, b = (np.column_stack([rng.normal(size=4_000), rng.integers(0, 2, (4_000, 9))]) for _ in range(2))
    (score,) = patterns(a, b)
    assert score.columns == tuple(range(1, 10))
    assert len(np.unique(score.patterns, axis=0)) == len(score.patterns) == 512
    counts = [(v[:, 1:] == a[0, 1:]).all(axis=1).sum() for v in (a, b)]
    assert score(a[:1])[0] == pytest.approx(math.log((counts[0] + 1) / (counts[1] + 1)))
    assert score.words.startswith("learned likelihood ratio of the values of (output[1], ")
    assert patterns(a[:, :2], b[:, :2]) == []


def _sum_in_python(score: Trees, row: Any) -> float:
    total = 0.0
    for feature, cut, leaves in zip(score.feature, score.cut, score.leaves, strict=True):
        node = 0
        while node < 7:
            node = 2 * node + 1 + (score.sources[feature[node]](row[None])[0] >= cut[node])
        total += leaves[node - 7]
    return total


def test_trees_learn_the_likelihood_ratio() -> None:
    """Of a flag and a width, with an infinite value now and then, where it is not too large to be seen."""
    rng = np.random.default_rng(5)
    a, b = (flag_and_width(v, rng, 20_000) for v in (1, 0))
    a[::50, 1] = np.inf
    score = trees([Coordinate(0, 2), Coordinate(1, 2), Pair(0, 1, 1, 2.0**-30)], a, b)
    rows = flag_and_width(1, rng, 5_000)
    widths = np.where(rows[:, [0]] == np.array([1, 0]), 1.0, 3.0)
    truth = stats.norm.logpdf(rows[:, 1], scale=widths[:, 0]) - stats.norm.logpdf(rows[:, 1], scale=widths[:, 1])
    assert np.corrcoef(score(rows), np.clip(truth, -2, 2))[0, 1] > 0.9
    assert np.abs(score(rows) - truth)[np.abs(truth) < 2].mean() < 0.25
    assert score(np.array([[0.0, np.inf]]))[0] > 1
    assert score(a[:60]) == pytest.approx([_sum_in_python(score, row) for row in a[:60]])


def test_compiled_trees_are_those_of_the_source() -> None:
    rng = np.random.default_rng(6)
    bins = rng.integers(0, 6, (120, 2)).astype(np.uint8)
    bins[::2, 1] //= 2
    compiled = grow(bins, 3, 2, 0.15, 2.0)
    plain = grow.py_func(bins, 3, 2, 0.15, 2.0)
    for left, right in zip(compiled, plain, strict=True):
        assert left == pytest.approx(right)
    assert (compiled[0][:, 0] == 1).all()
    assert (compiled[1][:, 0] == 2).all()  # bins 0, 1, 2 are the likelier ones of the first dataset


def test_all_scores_are_defined_everywhere_repeat_and_can_be_written_out() -> None:
    """On mixed outputs with infinite values, few runs and many."""
    for rows in (8, 90, 1_500):
        rng = np.random.default_rng(7)
        a, b = (np.column_stack([rng.integers(0, 3, rows), rng.normal(size=(rows, 3))]) for _ in range(2))
        a[::7, 2], b[::5, 3] = -np.inf, np.inf
        kinds = set()
        for score, again in zip(learned(a, b), learned(a, b), strict=True):
            plain = OutputSet(score, ">=", 0.0, "data").to_dict()["score"]
            assert (
                json.loads(json.dumps(plain, allow_nan=False))
                == plain
                == OutputSet(again, ">=", 0.0, "data").to_dict()["score"]
            )
            for sign in (1, -1):
                assert not np.isnan(evaluate(score, sign, a)).any()
            kinds.add(plain["kind"])
        assert {"histogram", "product", "trees"} <= kinds


def test_a_value_that_repeats_on_one_side_is_found() -> None:
    """In one run of a thousand the raw value is released: every one of five audits says so, and names it."""

    def rarely_raw(value: float, rng: np.random.Generator, size: int) -> Any:
        return np.where(rng.random(size) < 1e-3, value, value + rng.laplace(size=size))

    for seed in range(5):
        audit = audit_privacy(
            rarely_raw, 0.25, 1.25, epsilon=1.1, delta=1e-5, trials=50_000, seed=seed, vectorized=True
        )
        assert audit.verdict == "violated"
        assert audit.event.words in ("output in {0.25}", "output in {1.25}")


def test_repeats_tell_the_sides() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500, 1))
    a[:4], b[:9] = 0.5, -2.0
    (score,) = exact(a, b)
    np.testing.assert_array_equal(score(np.array([[0.5], [-2.0], [0.1], [np.inf]])), [1, -1, 0, 0])
    assert score.describe(">=", 1.0) == "output in {0.5}"
    assert score.describe("<=", 0.0) == "output not in {0.5}"
    assert exact(np.zeros((50, 1)), np.ones((50, 1))) == []
    assert exact(*rng.normal(size=(2, 500, 1))) == []


def shared_noise(value: float, rng: np.random.Generator, size: int) -> Any:
    """Fifty counts of which two far apart have the same noise."""
    noise = rng.laplace(size=(size, 50))
    noise[:, 45] = noise[:, 30]
    noise[:, 45] += value
    return noise


def one_sided(value: float, rng: np.random.Generator, size: int) -> Any:
    """Column 45 of 50 has bounded noise, which shows at its edges."""
    noise = rng.random((size, 50))
    noise[:, 45] += 0.02 * value
    return noise


@pytest.mark.parametrize("mechanism", [shared_noise, one_sided])
def test_wide_outputs_hide_nothing(mechanism: Any) -> None:
    assert audit_privacy(mechanism, 1, 0, epsilon=1.5, trials=20_000, vectorized=True).verdict == "violated"


def test_a_discriminant_may_be_the_bold_choice():
    """Two covariances that no coordinate tells apart: the set shows most far out, where caution would not go."""
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    spreads = np.repeat([1.0, 0.6], 3)
    a, b = (rng.standard_normal((6_500, 6)) * spread @ turned for spread in (spreads, spreads[::-1]))
    found = output_sets.choose(a, b, 87_000, PrivacyClaim.point(1.0, 1e-5), epsilon=1.0, delta=1e-5, alpha=0.046)
    assert {type(choice.event.score).__name__ for choice in found if choice.kind == "bold"} == {"Quadratic"}


def test_a_sum_without_noise_is_found_under_any_masks() -> None:
    """The slope of outputs whose noise cancels: their sum, to a ten-thousandth of its size, and nothing else."""
    rng = np.random.default_rng(4)
    a, b = cancelling_masks(1.0, rng, 400), cancelling_masks(0.0, rng, 400)
    score = next(s for s in fit(a, b) if isinstance(s, Projection))
    weights = score.slope / score.spread
    assert weights == pytest.approx(np.full(6, weights[0]), rel=1e-4)
    fresh = [score(cancelling_masks(v, rng, 400)) for v in (1.0, 0.0)]
    assert fresh[0].min() - fresh[1].max() > 100 * max(v.std() for v in fresh)


def test_a_score_fitted_anew_is_taken_only_with_the_same_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where noise cancels, the unit of a score is one of rounding: of eight audits one lost its threshold by it."""

    def three(value: float, rng: np.random.Generator, size: int) -> Any:
        masks = 1000 * np.triu(rng.standard_normal((size, 3, 3)), 1)
        return np.array([value, 1, 1]) + masks.sum(2) - masks.sum(1)

    def verdict() -> str:
        return audit_privacy(three, 1.0, 0.0, epsilon=1.0, trials=10_000, vectorized=True, seed=6).verdict

    assert verdict() == "violated"
    monkeypatch.setattr(output_sets, "_alike", lambda *_: True)
    assert verdict() == "consistent"


def test_caution_is_kept_where_it_costs_nothing() -> None:
    """Twenty independent Gaussians from few runs: the shrunk slope, which errs less, and not the other."""
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 200, 20)) + np.array([0.3, 0.0])[:, None, None]
    score = next(s for s in fit(a, b) if isinstance(s, Projection))
    half = (a.mean(0) - b.mean(0)) / 2
    sharp = np.linalg.solve((np.cov(a, rowvar=False) + np.cov(b, rowvar=False)) / 2, half) * score.spread
    truth = np.ones(20)
    errors = [1 - (v @ truth) ** 2 / (v @ v * 20) for v in (score.slope / score.spread, sharp / score.spread)]
    assert errors[0] < errors[1]


@pytest.mark.parametrize(("end", "expected"), [("smallest", [-np.inf, 2.0, np.nan]), ("largest", [3.0, 2.0, np.nan])])
def test_an_extreme_leaves_out_what_is_no_number(end: str, expected: list[float]) -> None:
    outputs = np.array([[3.0, -np.inf, 1.0], [np.nan, 2.0, np.nan], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(Extreme(end)(outputs), expected)
