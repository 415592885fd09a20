"""Ways to make minibatches: lower bounds against integrals and closed forms, upper ones against audits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

import dpcheck
from dpcheck import InputError
from dpcheck.accounting import gaussian_epsilon
from dpcheck.accounting.loaders import Loader, _of_the_size, loaders
from dpcheck.accounting.sampling_below import sampled_epsilon_below
from dpcheck.cli import main
from dpcheck.events import Gaussian, Repeated, Sampled, Scheme

DELTA = 1e-4


def named(start: str, relation: str = "add_or_remove_one", **changed: Any) -> Loader:
    numbers = {"batch": 4, "population": 40, "steps": 10, "delta": DELTA} | changed
    return next(
        each
        for each in loaders(numbers.pop("multiplier", 1.0), **numbers)
        if each.name.startswith(start) and each.neighbours == relation
    )


def exact_delta(event: Sampled, steps: int, epsilon: float) -> float:
    """Delta of one or two steps, of the worse pair: of the last release exactly, of the one before it on a grid."""
    shift, found = 1 / event.noise_multiplier, [0.0]
    draws, rate = (int(event.batch), 1 / event.population) if event.scheme == "with_replacement" else (1, event.rate)
    hits = np.arange(min(draws, 12) + 1)
    chances = binom.pmf(hits, draws, rate)
    x = np.linspace(-14, 14 + 12 * shift, 40_001)
    for up, down in ((shift, 0.0), (shift / 2, -shift / 2)):
        if down == 0 and event.scheme == "poisson" and event.neighbours == "replace_one":
            continue
        if down < 0 and event.neighbours == "add_or_remove_one":
            continue
        p, q = (chances @ norm.pdf(x - hits[:, None] * at) for at in (up, down))
        losses = np.log(p / q)
        begins = np.interp(epsilon - (losses if steps == 2 else np.zeros(1)), losses, x)
        above_p, above_q = (chances @ norm.sf(begins - hits[:, None] * at) for at in (up, down))
        gains = (p, q) if steps == 2 else (np.ones(1), np.ones(1))
        found.append(float(np.sum(gains[0] * above_p - math.exp(epsilon) * gains[1] * above_q)))
    return max(found) * (float(x[1] - x[0]) if steps == 2 else 1.0)


@pytest.mark.parametrize("settings", [8, pytest.param(200, marks=pytest.mark.thorough)])
def test_no_lower_bound_of_one_or_two_steps_is_above_the_truth(settings: int) -> None:
    rng, near = np.random.default_rng(5), 0
    kinds: list[tuple[Scheme, str]] = [
        ("poisson", "add_or_remove_one"), ("poisson", "replace_one"), ("without_replacement", "replace_one"),
        ("with_replacement", "replace_one"),
    ]  # fmt: skip
    for number in range(settings):
        scheme, relation = kinds[number % 4]
        batch = int(rng.integers(1, 40))
        event = Sampled((Gaussian(float(10 ** rng.uniform(-0.1, 0.5))),), scheme, 100, batch, relation)  # type: ignore[arg-type]
        steps, delta = int(rng.integers(1, 3)), float(10 ** rng.uniform(-6, -2))
        most = dpcheck.certify(Repeated(event, steps), delta).epsilon
        low = sampled_epsilon_below(event, steps, delta, most)
        assert low is not None
        assert low == 0 or exact_delta(event, steps, low) >= delta * (1 - 1e-5)  # the grid's own error
        near += low > 0.97 * most
    assert near > 0.4 * settings


@pytest.mark.parametrize("steps", [2, 3_000])
def test_without_sampling_the_lower_bound_is_nearly_the_closed_form(steps: int) -> None:
    z = 0.7 * math.sqrt(steps)
    event = Sampled((Gaussian(z),), "poisson", 10, 10)
    due = gaussian_epsilon(math.sqrt(steps) / z, 1e-6)
    low = sampled_epsilon_below(event, steps, 1e-6, due)
    assert low is not None and 0.97 * due < low <= due


@pytest.mark.thorough
def test_the_lower_bounds_meet_the_certificates_where_these_are_exact() -> None:
    for each in loaders(0.8, batch=50, population=5_000, steps=400):
        if each.at_most is not None and each.at_least is not None:
            assert each.at_least <= each.at_most
            if each.name in ("Poisson", "balls in bins, anew in each epoch") or "cyclic" in each.name:
                assert each.at_least > 0.99 * each.at_most


def test_what_the_noise_says_of_a_private_size_is_below_its_exact_law() -> None:
    for size, numbers in ((2, 1), (5, 40), (50, 10_000), (500, 10**7)):
        low, ratio = _of_the_size(size, numbers, DELTA) or 0.0, (size / (size - 1)) ** 2
        at = numbers + np.linspace(-8, 60, 20_000) * math.sqrt(2 * numbers)  # the set with the best likelihood ratio
        logs = chi2.logsf(at[at > 0] * ratio, numbers) + low
        truth = float(np.max(chi2.sf(at[at > 0], numbers) - np.exp(np.minimum(logs, 1))))
        assert truth >= DELTA
        assert low > 0 or numbers < 40
    assert (_of_the_size(500, 10**9, DELTA) or 0) > 1000


# Audits


def audited(mechanism: Callable[..., Any], data: Any, neighbour: Any, epsilon: float, trials: int = 10_000) -> Any:
    return dpcheck.audit_privacy(
        mechanism, data, neighbour, epsilon=epsilon, delta=DELTA, trials=trials, vectorized=True, seed=3
    )


def test_a_private_expected_size_breaks_the_certificate_of_poisson_sampling() -> None:
    """Noise divided by floor(n q), n = 40 or 39: 2,000 parameters tell them apart, and a public size is consistent."""
    poisson = named("Poisson", steps=1).at_most

    def mechanism(data: Any, rng: np.random.Generator, size: int) -> np.ndarray:
        deviation = 1 / math.floor(len(data) * 0.1)
        return deviation * np.sqrt(rng.chisquare(2_000, size))  # the norm of what is released, all records being 0

    def public(data: Any, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.sqrt(rng.chisquare(2_000, size)) / 4

    assert poisson is not None
    private = named("Poisson, divided by floor", steps=1, parameters=2_000)
    assert private.at_most is None and private.at_least is not None and private.at_least > poisson
    assert audited(mechanism, [0.0] * 40, [0.0] * 39, poisson).verdict == "violated"
    assert audited(public, [0.0] * 40, [0.0] * 39, poisson).verdict == "consistent"


def test_the_largest_rate_covers_smaller_ones_and_a_smaller_one_not_the_largest() -> None:
    for scheme, relation, sizes in (
        ("poisson", "add_or_remove_one", ((20, 100), (12, 100))),
        ("with_replacement", "replace_one", ((9, 20), (9, 33))),
    ):  # fmt: skip
        largest, smaller = (Sampled((Gaussian(1.0),), scheme, n, m, relation) for m, n in sizes)  # type: ignore[arg-type]
        for steps in (1, 2):
            at_largest, at_smaller = (
                dpcheck.certify(Repeated(each, steps), DELTA).epsilon for each in (largest, smaller)
            )
            assert exact_delta(smaller, steps, at_largest) < DELTA
            assert exact_delta(largest, steps, at_smaller) > DELTA


def test_a_dropped_last_minibatch_moves_a_sum_by_twice_the_clip() -> None:
    """20 records of -1 and noise 2; the added one is +1, and is in the only minibatch but for one order in 21."""
    size = 20

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> np.ndarray:
        orders = np.argsort(rng.random((trials, len(data))), axis=1)[:, :size]
        return np.asarray(data)[orders].sum(axis=1) + 2 * rng.standard_normal(trials)

    alike = [-1.0] * size
    row = named("shuffled, the last minibatch dropped", multiplier=2.0, batch=size, population=size, steps=1)
    assert row.at_most is not None
    for epsilon, verdict in ((row.at_most, "consistent"), (gaussian_epsilon(0.5, DELTA), "violated")):
        assert audited(mechanism, [*alike, 1.0], alike, epsilon, trials=100_000).verdict == verdict


def test_a_clipped_microbatch_moves_a_sum_by_twice_the_clip() -> None:
    """Each of 20 records of -1, and one of +40 besides, is drawn by a coin; their sum is clipped to 1, with noise 2."""
    numbers: dict[str, Any] = {"multiplier": 2.0, "batch": 10, "population": 20, "steps": 1}
    microbatch, each = (named(f"accumulated, each {what} clipped", **numbers) for what in ("microbatch", "record"))

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> np.ndarray:
        sums = (rng.random((trials, len(data))) < 0.5) @ np.asarray(data)
        return np.clip(sums, -1, 1) + 2 * rng.standard_normal(trials)

    alike = [-1.0] * 20
    for row, verdict in ((microbatch, "consistent"), (each, "violated")):
        assert row.at_most is not None
        assert audited(mechanism, [*alike, 40.0], alike, row.at_most, trials=100_000).verdict == verdict


# The command


@pytest.mark.thorough
def test_the_command_shows_both_bounds_of_each_loader(capsys: pytest.CaptureFixture[str]) -> None:
    run = "certify --multiplier 1 --batch 10 --population 100 --steps 20 --sampling compare"
    assert main([*run.split(), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["loaders"]
    assert [Loader(**row) for row in rows] == list(loaders(1.0, batch=10, population=100, steps=20))
    assert main(run.split()) == 0
    out = capsys.readouterr().out
    assert out.count("at least") == len(rows) and "not known" in out


@pytest.mark.parametrize(
    "options",
    ["--multiplier 1", "--multiplier 1 --batch 2.5", "--multiplier 1 --batch 2 --noise laplace",
     "--epsilon 1 --batch 2", "--multiplier 1 --batch 2 --group 2", "--multiplier 1 --batch 2 --risk",
     "--multiplier 1 --batch 2 --delta 0", "--multiplier 0 --batch 2"],
)  # fmt: skip
def test_what_is_not_compared_is_refused(capsys: pytest.CaptureFixture[str], options: str) -> None:
    assert main(["certify", "--sampling", "compare", "--population", "10", "--steps", "3", *options.split()]) == 2
    assert capsys.readouterr().err


def test_numbers_out_of_place_are_refused() -> None:
    with pytest.raises(InputError, match="batch must be at most population = 3"):
        loaders(1.0, batch=4, population=3, steps=1)
