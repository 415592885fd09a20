"""Sampling audits: each scheme recognised, the others refused, errors at the stated level."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck import InputError
from dpcheck.audits.recorder import Recorder
from dpcheck.audits.sampling import audit_sampling
from dpcheck.problems.bilinear import Bilinear
from dpcheck.solvers.dp_sgda import DPSGDA, SCHEMES

PROBLEM = Bilinear.sample(50, 1, np.random.default_rng(0))


def drawn(scheme, seed=0, steps=200, batch=10):
    eta = np.full(steps, 0.1)
    return DPSGDA(eta, eta, 1.0, 1.0, batch, scheme).run(PROBLEM, seed=seed, record=True).history.drawn


@pytest.mark.parametrize("accounted", SCHEMES)
@pytest.mark.parametrize("ran", SCHEMES)
def test_each_scheme_is_told_from_the_others(accounted, ran):
    found = audit_sampling(drawn(ran), scheme=accounted, population=50, batch=10)
    assert found.verdict == ("consistent" if ran == accounted else "violated")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_false_alarms(scheme):
    """Null: the kernel's own draws. Level 5 %; 60 repeats, fails above 8 (probability < 0.5 %)."""
    alarms = sum(
        audit_sampling(drawn(scheme, seed, steps=40), scheme=scheme, population=50, batch=10, seed=seed).verdict
        == "violated"
        for seed in range(60)
    )
    assert alarms <= 8


def test_favoured_records_and_wrong_sizes_are_seen():
    rng = np.random.default_rng(1)
    skewed = np.sort((50 * rng.random((300, 10)) ** 1.2).astype(np.int64), axis=1)
    found = audit_sampling(skewed, scheme="with_replacement", population=50, batch=10)
    assert "drawn more often" in found.reason
    epochs = np.concatenate([rng.permutation(50).reshape(5, 10) for _ in range(40)])
    shuffled = audit_sampling(epochs, scheme="without_replacement", population=50, batch=10)
    assert "shuffling once an epoch" in shuffled.reason
    small = audit_sampling(drawn("poisson", batch=8), scheme="poisson", population=50, batch=10)
    assert "mean size" in small.reason


def test_the_batches_of_a_mechanism_are_read_from_its_draws():
    """NumPy's choice repeats unless told otherwise."""

    def mechanism(x, rng, **options):
        return sum(x[rng.choice(50, 10, **options)].mean() + rng.normal() for _ in range(60))

    for options, verdict in (({}, "violated"), ({"replace": False}, "consistent")):
        rng = Recorder(2)
        mechanism(np.zeros(50), rng, **options)
        batches = np.array([draw.value for draw in rng.draws if draw.method == "choice"])
        found = audit_sampling(batches, scheme="without_replacement", population=50, batch=10)
        assert found.verdict == verdict


def test_bad_input_is_named():
    with pytest.raises(InputError, match=r"batch must be at most the population, 5, got 6"):
        audit_sampling(np.zeros((10, 6), int), scheme="poisson", population=5, batch=6)
