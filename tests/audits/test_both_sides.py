"""Testers on both sides of their null: too little and too much, lower tails and upper ones, levels that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpcheck
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.limits import clopper_pearson_lower, clopper_pearson_upper
from dpcheck.audits.noise import audit_noise_sample
from dpcheck.audits.noise_laws import LAWS
from dpcheck.audits.output_sets import choose
from dpcheck.events import Gaussian


class TestNoise:
    """Null hypothesis: noise of the claimed law and scale."""

    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize("ratio", [0.7, 1.0, 1.4])
    def test_too_little_and_too_much(self, law: str, ratio: float) -> None:
        sample = LAWS[law].draw(np.random.default_rng(1), (400, 1), 4.0 * ratio)
        audit = audit_noise_sample(sample, distribution=law, scale=4.0, confidence=0.99)
        assert (audit.verdict == "violated") == (ratio != 1.0)
        assert (audit.p_values["scale"] <= audit.level) == (ratio != 1.0)


def _rows(name: str, rng: np.random.Generator) -> list[Any]:
    """Return 60 minibatches of 100 records, about 20 each, that are off in one respect."""
    if name == "even":
        return list(np.concatenate([rng.permutation(100).reshape(5, 20) for _ in range(12)]))
    if name == "uneven":
        return [np.flatnonzero(rng.random(100) < np.linspace(0.05, 0.35, 100)) for _ in range(60)]
    if name == "one size":
        return [rng.choice(100, 20, replace=False) for _ in range(60)]
    if name == "sizes apart":
        return [rng.choice(100, rng.choice([8, 32]), replace=False) for _ in range(60)]
    if name == "alike":
        first = np.flatnonzero(rng.random(100) < 0.2)
        return [first if k % 3 else np.flatnonzero(rng.random(100) < 0.2) for k in range(60)]
    if name == "apart":
        order = rng.permutation(100)
        return [part[rng.random(50) < 0.4] for _ in range(30) for part in (order[:50], order[50:])]
    return [np.flatnonzero(rng.random(100) < 0.2) for _ in range(60)]


@pytest.mark.parametrize(
    ("name", "statistic"),
    [("even", "evenness"), ("uneven", "evenness"), ("one size", "spread"), ("sizes apart", "spread"),
     ("alike", "overlap"), ("apart", "overlap"), ("fair", None)],
)  # fmt: skip
def test_minibatches_off_in_either_direction(name: str, statistic: str | None) -> None:
    """Null hypothesis: Poisson sampling at rate 0.2."""
    drawn = _rows(name, np.random.default_rng(0))
    audit = dpcheck.audit_sampling(drawn, scheme="poisson", population=100, batch=20)
    assert audit.verdict == ("consistent" if statistic is None else "violated")
    level = (1 - 0.95) / len(audit.p_values)
    assert statistic is None or audit.p_values[statistic] <= level


class TestLevels:
    """Whatever is tested, the errors of the tests add up to one minus the confidence, and to no more."""

    @pytest.mark.parametrize("claim", [PrivacyClaim.point(1.0, 1e-5), PrivacyClaim.read(Gaussian(1.0))])
    def test_of_the_choices_of_one_look(self, claim: PrivacyClaim) -> None:
        rng = np.random.default_rng(0)
        a, b = 1 + rng.normal(size=(400, 2)), rng.normal(size=(400, 2))
        tests = choose(a, b, 1_000, claim, epsilon=1.0, delta=1e-5, alpha=0.04)
        assert sum(test.alpha for test in tests) == pytest.approx(0.04, rel=1e-12)

    @pytest.mark.parametrize("claim", [{"epsilon": 3.0}, {"claim": Gaussian(1.0)}])
    def test_of_a_whole_audit(self, claim: dict[str, Any]) -> None:
        def noisy(value: float, rng: np.random.Generator, size: int) -> Any:
            return value + rng.normal(size=size)

        audit = dpcheck.audit_privacy(noisy, 1.0, 0.0, trials=6_000, confidence=0.9, vectorized=True, **claim)
        assert len({look.number for look in audit.looks}) == 3
        assert sum(look.alpha for look in audit.looks) == pytest.approx(0.1, rel=1e-12)

    def test_of_one_run(self) -> None:
        def release(included: Any, rng: np.random.Generator) -> Any:
            return included + rng.normal(size=included.size)

        audit = dpcheck.audit_one_run(release, 400, epsilon=1.0, confidence=0.9, guesses=[400, 100, 50])
        assert sum(test.alpha for test in audit.tests) == pytest.approx(0.1, rel=1e-12)

    def test_of_the_low_bits_and_of_the_rest(self) -> None:
        def noisy(value: float, rng: np.random.Generator, size: int) -> Any:
            return value + rng.laplace(size=size)

        audit = dpcheck.audit_floating_point(noisy, 1.0, 0.0, epsilon=1.0, trials=200, vectorized=True, confidence=0.9)
        assert audit.low_bits.confidence == audit.rounded.confidence == pytest.approx(0.95, rel=1e-12)

    def test_of_noise(self) -> None:
        audit = audit_noise_sample(np.random.default_rng(0).normal(size=(60, 1)), scale=1.0, confidence=0.9)
        assert audit.level * len(audit.p_values) == pytest.approx(0.1, rel=1e-12)


@pytest.mark.parametrize(("count", "trials"), [(0, 10), (1, 10), (5, 10), (9, 10), (10, 10), (30, 1_000)])
@pytest.mark.parametrize("alpha", [0.01, 0.2])
def test_clopper_pearson_limits_are_those_of_the_tails(count: int, trials: int, alpha: float) -> None:
    """At a limit the tail from the count on holds exactly the error, by the binomial law itself."""
    low, high = clopper_pearson_lower(count, trials, alpha), clopper_pearson_upper(count, trials, alpha)
    assert low == 0.0 if count == 0 else stats.binom.sf(count - 1, trials, low) == pytest.approx(alpha, rel=1e-9)
    assert high == 1.0 if count == trials else stats.binom.cdf(count, trials, high) == pytest.approx(alpha, rel=1e-9)
    assert low <= count / trials <= high


@pytest.mark.parametrize(
    ("exponent", "equal", "verdict"),
    [(-0.45, False, "supported"), (-0.3, False, "contradicted"), (-0.25, False, "contradicted"),
     (-0.7, False, "supported"), (-0.55, True, "supported"), (-0.7, True, "contradicted")],
)  # fmt: skip
def test_a_rate_within_the_margin_and_twice_beyond_it(exponent: float, equal: bool, verdict: str) -> None:
    """Null hypothesis of "contradicted": the exponent is at most the claimed one, -0.5; the margin is 0.1."""
    n = np.repeat(500 * 2 ** np.arange(6), 20)
    noise = np.exp(0.02 * np.random.default_rng(0).standard_normal(n.size))
    frame = pd.DataFrame({"n": n, "gap": n**exponent * noise})
    fit = dpcheck.fit_rate(frame, response="gap", factors=["n"], claimed={"n": -0.5}, margin=0.1, equal=equal)
    assert fit.verdict == verdict, fit.reason


@pytest.mark.parametrize(("above", "verdict"), [(5e-5, "consistent"), (2.2e-4, "violated")])
def test_a_clip_that_is_passed_by_more_than_rounding(above: float, verdict: str) -> None:
    def clipped(batch: Any) -> Any:
        batch = np.nan_to_num(batch)
        norms = np.maximum(np.linalg.norm(batch, axis=1, keepdims=True), 1e-12)
        return (batch * np.minimum(1, (1 + above) / norms)).sum(0)

    records = np.random.default_rng(0).normal(size=(20, 3))
    assert dpcheck.audit_clipping(clipped, records, bound=1.0).verdict == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "consistent"), (1 - 1e-8, "violated")])
def test_a_sensitivity_at_the_claim_and_just_above_it(ratio: float, verdict: str) -> None:
    audit = dpcheck.audit_sensitivity(np.mean, np.zeros(10), [0.0, 1.0], claimed=0.1 * ratio)
    assert audit.verdict == verdict


@pytest.mark.parametrize("side", ["in", "out"])
def test_coins_that_show_on_one_side_alone(side: str) -> None:
    """Null hypothesis: no coin changes the output by more than epsilon 0.2."""
    rng = np.random.default_rng(0)
    included = rng.random(600) < 0.5
    shown = (rng.random(600) < 0.3) & (included if side == "in" else ~included)
    scores = np.where(shown, 1.0 if side == "in" else -1.0, 0.0) + 1e-3 * rng.normal(size=600)
    audit = dpcheck.audit_one_run_scores(scores, included, epsilon=0.2, guesses=80)
    assert audit.verdict == "violated" and audit.tests[0].right == 80
