"""All events of dp_accounting are certified: by dpcheck's engine, or by that library's, which the method then names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event as dp
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as losses
from files import ROOT
from scipy.stats import laplace

from dpcheck import InputError, certify
from dpcheck.accounting import privacy_curve
from dpcheck.accounting.best_of_runs import Best, NegativeBinomial
from dpcheck.events import Gaussian, Laplace, RandomAllocation, Repeated, Sampled

GAUSSIAN, LAPLACE = dp.GaussianDpEvent(2.0), dp.LaplaceDpEvent(4.0)
OURS = [
    dp.NoOpDpEvent(),
    dp.NonPrivateDpEvent(),
    GAUSSIAN,
    LAPLACE,
    dp.SelfComposedDpEvent(GAUSSIAN, 5),
    dp.ComposedDpEvent([GAUSSIAN, LAPLACE]),
    dp.PoissonSampledDpEvent(0.1, GAUSSIAN),
    dp.PoissonSampledDpEvent(0.1, LAPLACE),
    dp.SampledWithReplacementDpEvent(100, 5, GAUSSIAN),
    dp.SampledWithoutReplacementDpEvent(100, 5, GAUSSIAN),
    dp.SingleEpochTreeAggregationDpEvent(3.0, 8),
    dp.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.5]),
]
THEIRS = [
    dp.RandomizedResponseDpEvent(0.5, 4),
    dp.DiscreteLaplaceDpEvent(1.0, 1),
    dp.MixtureOfGaussiansDpEvent(8.0, [0.0, 1.0, 2.0], [0.5, 0.25, 0.25]),
    dp.RepeatAndSelectDpEvent(GAUSSIAN, 2.0, 1.0),
    dp.ZCDpEvent(0.1),
    dp.TruncatedSubsampledGaussianDpEvent(100, 0.1, 20, 2.0),
    dp.ComposedDpEvent([dp.ZCDpEvent(0.1), GAUSSIAN]),
]


def test_the_lists_are_all_events_there_are() -> None:
    known = {type(event) for event in [*OURS, *THEIRS]} | {dp.UnsupportedDpEvent}
    assert known >= set(dp.DpEvent.__subclasses__())


@pytest.mark.parametrize("event", OURS, ids=lambda event: type(event).__name__)
def test_events_of_our_kinds_are_certified_here(event: dp.DpEvent) -> None:
    assert "dp_accounting" not in certify(event, 1e-5).method


def test_the_page_says_what_renyi_divergences_bound_of_tuning() -> None:
    run = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(256 / 60_000, dp.GaussianDpEvent(4.0)), 1_000)
    theirs = certify(dp.RepeatAndSelectDpEvent(run, mean=20, shape=1), 1e-5)
    ours = certify(Best(Repeated(Sampled((Gaussian(4.0),), "poisson", 60_000, 256), 1_000), NegativeBinomial(1, 0.05)))
    page = (ROOT / "docs" / "algorithms.md").read_text("utf-8")
    assert f"it says {theirs.epsilon:.6g}." in page and f"epsilon <= {ours.epsilon:.6g} (one" in page
    assert ours.epsilon < theirs.epsilon


@pytest.mark.thorough
@pytest.mark.parametrize("event", THEIRS, ids=lambda event: type(event).__name__)
def test_other_events_go_to_the_library_that_has_them(event: dp.DpEvent) -> None:
    certificate = certify(event, 1e-3)
    assert "Accountant of dp_accounting, not dpcheck's engine" in certificate.method
    assert 0 < certificate.epsilon < 20


def test_what_nobody_supports_is_refused_in_one_line() -> None:
    for event in (dp.UnsupportedDpEvent(), dp.PoissonSampledDpEvent(0.1, dp.ZCDpEvent(1.0))):
        with pytest.raises(InputError, match=r"^events must be supported dp_accounting events") as caught:
            certify(event, 1e-5)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("scale", "rate", "steps", "delta"), [(2.0, 0.1, 20, 1e-5), (0.7, 0.3, 3, 1e-3), (5.0, 0.02, 500, 1e-7)]
)
def test_subsampled_laplace_agrees_with_dp_accounting(scale: float, rate: float, steps: int, delta: float) -> None:
    event = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(rate, dp.LaplaceDpEvent(scale)), steps)
    theirs = PLDAccountant(value_discretization_interval=1e-4).compose(event).get_epsilon(delta)
    assert certify(event, delta).epsilon == pytest.approx(theirs, rel=2e-3)
    ours = Repeated(Sampled((Laplace(scale),), "poisson", 1, rate, "add_or_remove_one"), steps)
    assert certify(event, delta) == certify(ours, delta)


def test_subsampled_laplace_between_replaced_records() -> None:
    """Above one record added or removed, and no better than what is known without delta."""
    replaced = Sampled((Laplace(2.0),), "poisson", 1, 0.1, "replace_one")
    added = Sampled((Laplace(4.0),), "poisson", 1, 0.1, "add_or_remove_one")
    whole = certify(Laplace(2.0), 1e-3).epsilon
    assert certify(added, 1e-3).epsilon < certify(replaced, 1e-3).epsilon < whole
    fixed = Sampled((Laplace(2.0),), "without_replacement", 10, 1)
    assert certify(fixed, 0.0).epsilon == pytest.approx(0.0629, rel=1e-2)  # log(1 + 0.1 (e^0.5 - 1))


def test_a_loss_distribution_is_taken_at_its_word() -> None:
    pld = losses.from_gaussian_mechanism(2.0)
    certificate = certify(pld, 1e-5)
    assert certificate.epsilon == pytest.approx(certify(Gaussian(2.0), 1e-5).epsilon, rel=1e-3)
    assert certificate.method == "a privacy loss distribution's own word, not dpcheck's engine"


@pytest.mark.parametrize(
    ("sensitivities", "chances", "ours"),
    [
        ([0.0, 2.0], [0.7, 0.3], Sampled((Gaussian(0.75),), "poisson", 1, 0.3, "add_or_remove_one")),
        ([2.0, 0.0, 2.0], [0.1, 0.7, 0.2], Sampled((Gaussian(0.75),), "poisson", 1, 0.3, "add_or_remove_one")),
        ([2.0], [1.0], Gaussian(0.75)),
        ([0.0], [1.0], None),
    ],
)
def test_mixtures_of_one_sensitivity_are_poisson_samples(
    sensitivities: list[float], chances: list[float], ours: Sampled | Gaussian | None
) -> None:
    event = dp.MixtureOfGaussiansDpEvent(1.5, sensitivities, chances)
    found = certify(dp.SelfComposedDpEvent(event, 3), 1e-5).epsilon
    assert found == pytest.approx(certify(Repeated(ours, 3), 1e-5).epsilon if ours else 0.0, rel=1e-6)


def test_a_mixture_is_what_its_library_takes_it_for() -> None:
    event = dp.MixtureOfGaussiansDpEvent(1.5, [0.0, 2.0], [0.7, 0.3])
    theirs = PLDAccountant(value_discretization_interval=5e-3).compose(event, 3).get_epsilon(1e-5)
    assert certify(dp.SelfComposedDpEvent(event, 3), 1e-5).epsilon == pytest.approx(theirs, rel=2e-3)


SLOW = (dp.MixtureOfGaussiansDpEvent, dp.TruncatedSubsampledGaussianDpEvent)  # minutes, by that library


@pytest.mark.parametrize(
    "event",
    [each for each in [*OURS, *THEIRS] if each in OURS or not isinstance(each, SLOW)],
    ids=lambda event: type(event).__name__,
)
def test_a_repetition_is_a_composition(event: dp.DpEvent) -> None:
    """Whoever computes it: three times as one event, or as three."""
    together = certify(dp.SelfComposedDpEvent(event, 3), 1e-3).epsilon
    assert together == pytest.approx(certify(dp.ComposedDpEvent([event] * 3), 1e-3).epsilon, rel=1e-3)
    assert together >= certify(event, 1e-3).epsilon


def test_randomized_response_counts_each_time() -> None:
    event = dp.RandomizedResponseDpEvent(0.5, 2)  # its loss is log 3 or -log 3, .55 on average
    assert certify(dp.SelfComposedDpEvent(event, 10), 1e-5).epsilon == pytest.approx(10 * np.log(3), rel=1e-3)
    assert certify(dp.SelfComposedDpEvent(event, 1000), 1e-5).epsilon > 549


def test_an_event_that_releases_nothing_takes_nothing_away() -> None:
    """Between replaced records a Gaussian of multiplier 1 has one of 1/2, whichever accountant is asked."""
    batch = dp.SampledWithoutReplacementDpEvent(10**6, 1, dp.GaussianDpEvent(10.0))
    for first in (dp.GaussianDpEvent(1.0), dp.SelfComposedDpEvent(dp.LaplaceDpEvent(1.0), 10)):
        alone = certify(dp.ComposedDpEvent([first, batch]), 1e-5).epsilon
        assert certify(dp.ComposedDpEvent([first, batch, dp.ZCDpEvent(0.0)]), 1e-5).epsilon >= alone * 0.999


@pytest.mark.parametrize(
    "event",
    [
        dp.SelfComposedDpEvent(GAUSSIAN, 2.9), dp.SelfComposedDpEvent(GAUSSIAN, 0.99),
        dp.PoissonSampledDpEvent(0.5, dp.SelfComposedDpEvent(GAUSSIAN, -1)),
        dp.SingleEpochTreeAggregationDpEvent(1.0, [-5]), dp.GaussianDpEvent("1.1"), dp.GaussianDpEvent(None),
    ],
    ids=str,
)  # fmt: skip
def test_counts_that_are_not_whole_are_refused(event: dp.DpEvent) -> None:
    with pytest.raises(InputError, match=r"dp_accounting event must be a (whole )?number"):
        certify(event, 1e-5)


@pytest.mark.parametrize(("rate", "half"), [(0.5, 1.0), (0.01, 1.0), (0.01, 3.0), (0.9, 0.2)])
def test_sampled_laplace_between_replaced_records_is_sharp(rate: float, half: float) -> None:
    """Opposite records attain it: density ratios e^half and e^-half beside the laws without a record."""
    event = Sampled((Laplace(1 / (2 * half)),), "poisson", 100, 100 * rate, "replace_one")
    attained = np.log((1 - rate + rate * np.exp(half)) / (1 - rate + rate * np.exp(-half)))
    assert certify(event, 0.0).epsilon == pytest.approx(attained, rel=1e-9)
    assert certify(event, 1e-12).epsilon <= attained * (1 + 1e-9)
    assert certify(Repeated(event, 50), 0.0).epsilon == pytest.approx(50 * attained, rel=1e-9)


@pytest.mark.parametrize(
    ("rate", "half", "steps", "delta", "cell"),
    [
        (0.01, 3.0, 1000, 1e-6, 2e-5),
        (0.1, 0.5, 200, 1e-6, 1e-5),
        (0.3, 1.0, 1, 1e-2, 1e-3),
        (1e-5, 8.3, 3000, 1e-6, 1e-6),
    ],
)
def test_sampled_laplaces_between_replaced_records_are_exact(
    rate: float, half: float, steps: int, delta: float, cell: float
) -> None:
    """Records that move the query by half and -half, whose laws dp_accounting composes from below and from above."""
    edges = np.concatenate([[-np.inf], np.linspace(-half, half, 2001), [np.inf]])
    upper, lower = (
        dict(enumerate(np.log((1 - rate) * np.diff(laplace.cdf(edges)) + rate * np.diff(laplace.cdf(edges, loc=at)))))
        for at in (half, -half)
    )
    least, most = (
        losses.from_two_probability_mass_functions(
            lower, upper, value_discretization_interval=cell, pessimistic_estimate=above
        ).self_compose(steps).get_epsilon_for_delta(delta)
        for above in (False, True)
    )  # fmt: skip
    event = Repeated(Sampled((Laplace(1 / (2 * half)),), "poisson", 1, rate, "replace_one"), steps)
    assert least <= certify(event, delta).epsilon <= most < least * 1.02


@pytest.mark.thorough
def test_no_vectors_are_told_apart_better_than_opposite_records() -> None:
    """Records (v_1, v_2) and (w_1, w_2) with |v|_1, |w|_1 <= half, against the curve; v = -w = (half, 0) attains it."""
    rate, half = 0.2, 1.5
    x = (np.arange(-600, 600) + 0.5) / 50
    event = Sampled((Laplace(1 / (2 * half)),), "poisson", 1, rate, "replace_one")
    epsilon = np.array([0.05, 0.2, 0.4])
    curve = privacy_curve(event)(epsilon)

    def law(at: Any) -> Any:
        return np.exp(-np.abs(x - at[0]))[:, None] * np.exp(-np.abs(x - at[1])) / (4 * 50**2)

    def hockey(v: Any, w: Any) -> Any:
        drawn, other = ((1 - rate) * law((0, 0)) + rate * law(at) for at in (v, w))
        return np.array([np.maximum(drawn - np.exp(e) * other, 0).sum() for e in epsilon])

    rng = np.random.default_rng(5)
    for _ in range(60):
        v, w = (rng.dirichlet([0.3, 0.3, 0.1])[:2] * rng.choice([-half, half], 2) for _ in range(2))
        assert (hockey(v, w) <= curve * (1 + 1e-3)).all(), (v, w)
    assert hockey((half, 0), (-half, 0)) == pytest.approx(curve, rel=2e-3)


def test_a_whole_batch_keeps_its_neighbours() -> None:
    """Nothing is left of its sampling, but the multiplier is still one between data with and without a record."""
    whole = Sampled((Gaussian(1.0),), "poisson", 10, 10, "add_or_remove_one")
    other = Sampled((Gaussian(5.0),), "without_replacement", 10, 5)
    for mixed in ([whole, other], [RandomAllocation(Gaussian(1.0), 1), other]):
        with pytest.raises(InputError, match="share one neighbouring relation"):
            certify(mixed, 1e-5)
