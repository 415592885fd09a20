"""What an attacker can do at most: against closed forms, and attackers that play."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dpcheck import InputError
from dpcheck.accounting.risk import risk
from dpcheck.cli import main
from dpcheck.events import Gaussian, Laplace, Repeated, Sampled


@given(st.floats(0.01, 30), st.floats(1e-6, 1))
def test_a_gaussian_is_told_as_well_as_its_likelihoods_tell(mu, false):
    bounds = risk(Gaussian(1 / mu), false_positives=[false])
    due = norm.cdf(norm.ppf(false) + mu)
    assert due * (1 - 1e-12) <= bounds.true_positives[false] <= due * (1 + 1e-4)
    assert bounds.advantage == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-9)


@given(st.floats(0.01, 20), st.floats(0, 1))
def test_pure_privacy_bounds_both_errors(epsilon, false):
    step = Laplace(1 / epsilon)
    # of Laplace noise: a threshold left of both centres, between them, or right of both
    due = [min(np.exp(epsilon) * false, 1), 1 - np.exp(-epsilon) * (1 - false)]
    if false > 0 and np.exp(-epsilon) / 2 <= false <= 0.5:
        due.append(1 - np.exp(-epsilon) / (4 * false))
    assert risk(step, false_positives=[false]).true_positives[false] == pytest.approx(min(due), rel=2e-4, abs=1e-9)


@pytest.mark.parametrize(
    "events",
    [
        Repeated(Sampled((Gaussian(0.8),), "poisson", 1000, 30), 200),
        [Gaussian(2.0), Laplace(3.0)],
        Repeated(Sampled((Gaussian(1.5),), "without_replacement", 100, 10), 20),
    ],
)
def test_more_false_alarms_or_fewer_records_help(events):
    rates = [0.0, 1e-4, 0.01, 0.1, 0.5, 0.9, 1.0]
    bounds = risk(events, false_positives=rates, candidates=[1, 2, 5, 100])
    hits = [*bounds.true_positives.values()]
    slopes = [(b - a) / (y - x) for (x, y), (a, b) in zip(pairwise(rates), pairwise(hits), strict=True)]
    assert all(a <= b for a, b in pairwise(hits)) and hits[-1] == 1
    assert all(a >= b - 1e-9 for a, b in pairwise(slopes))  # no mixture of two tests beats the bound
    assert all(a >= b for a, b in pairwise(bounds.guessed.values())) and bounds.guessed[1] == 1
    assert max(hit - rate for rate, hit in bounds.true_positives.items()) <= bounds.advantage * (1 + 1e-9)


def test_nobody_guesses_a_record_more_often_than_is_said():
    rng, runs = np.random.default_rng(0), 20_000
    for count, mu in ((2, 1.0), (10, 1.0), (10, 3.0), (100, 3.0)):
        # records of norm 1, apart as far as can be: two opposite ones, or one along each axis; without one there is 0
        records = np.array([[1.0], [-1.0]]) if count == 2 else np.eye(count)
        right, half = 0, rng.integers(count, size=runs)
        for part in np.array_split(half, 40):
            released = mu * records[part] + rng.standard_normal((len(part), records.shape[1]))
            right += int(np.sum(np.argmax(released @ records.T, axis=1) == part))
        bound = risk(Gaussian(1 / mu), candidates=[count]).guessed[count]
        if count == 2:  # the two lie 2 apart
            bound = risk(Gaussian(0.5 / mu), candidates=[2], neighbours="replace_one").guessed[2]
        error = np.sqrt(bound * (1 - bound) / runs)
        assert right / runs <= bound + 5 * error
        if count == 2:  # no bound could be sharper
            assert right / runs == pytest.approx(bound, abs=5 * error)


def test_the_ends_of_noise():
    nothing, everything = risk(Gaussian(np.inf)), risk(Gaussian(0.0))
    assert nothing.advantage == 0 and nothing.guessed == pytest.approx({2: 0.5, 10: 0.1, 1000: 0.001})
    assert everything.advantage == 1 and set(everything.true_positives.values()) == {1.0}


@pytest.mark.parametrize("wrong", [{"false_positives": [1.5]}, {"candidates": [0]}])
def test_what_is_no_share_or_number_is_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        risk(Gaussian(1.0), **wrong)


def test_the_command_says_it_beside_epsilon(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = ["certify", "--multiplier", "2", "--sampling", "none", "--steps", "4", "--neighbours", "replace_one"]
    picture = tmp_path / "risk.svg"
    assert main([*run, "--risk", "--plot", str(picture)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("epsilon <= ")
    assert "which of two records was there with an advantage of at most 0.382925" in text
    assert picture.read_text().startswith("<?xml")
    assert main([*run, "--risk", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["risk"]["guessed"]["2"] == pytest.approx(norm.cdf(0.5), rel=1e-4)
