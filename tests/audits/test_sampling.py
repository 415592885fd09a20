"""Sampling audits: each scheme recognised, the others refused, errors at the stated level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck import InputError
from dpcheck.audits.running.recorder import Recorder
from dpcheck.audits.sampling import STATISTICS, audit_sampling, describe
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA, SCHEMES
from dpcheck.problems.bilinear import Bilinear

PROBLEM = Bilinear.sample(50, 1, np.random.default_rng(0))


def drawn(scheme, seed=0, steps=200, batch=10):
    eta = np.full(steps, 0.1)
    return DPSGDA(eta, eta, 1.0, 1.0, batch, scheme).run(PROBLEM, seed=seed, record=True).history.drawn


@pytest.mark.parametrize("accounted", SCHEMES)
@pytest.mark.parametrize("ran", SCHEMES)
def test_each_scheme_is_told_from_the_others(accounted, ran):
    found = audit_sampling(drawn(ran), scheme=accounted, population=50, batch=10)
    assert found.verdict == ("consistent" if ran == accounted else "violated")


@pytest.mark.thorough
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


def _batches(rng, steps=400):
    return np.array([rng.permutation(200)[:20] for _ in range(steps)])


def _resumed(rng):
    found = _batches(rng)
    found[200] = found[0][::-1]
    return found


def _never_twice_in_a_row(rng):
    found = [rng.permutation(200)[:20]]
    while len(found) < 400:
        found.append(rng.permutation(np.setdiff1d(np.arange(200), found[-1]))[:20])
    return np.array(found)


def _tens(rng):
    return np.array([rng.permutation(100)[:10] for _ in range(400)])


def _with(change):
    return lambda rng: np.concatenate([(v := _tens(rng)), change(v, rng)], axis=1)


@pytest.mark.parametrize(
    ("minibatches", "words"),
    [
        (_resumed, "a whole minibatch comes again"),
        (lambda rng: np.repeat(_batches(rng, 200), 2, axis=0), "a whole minibatch comes again"),
        (_never_twice_in_a_row, "minibatches share 0 records with the one before, 2"),
        (_with(lambda v, rng: 100 + _tens(rng)), "minibatches differ less than by chance"),
        (_with(lambda v, rng: 100 + v), "as where records come in groups"),
        (lambda rng: 2 * np.repeat(_tens(rng), 2, axis=1) + np.tile([0, 1], 10), "even and odd places"),
        (_batches, "look like without replacement"),
    ],
    ids=["resumed", "two workers", "never twice", "shards", "far pairs", "near pairs", "sound"],
)
@pytest.mark.parametrize("seed", range(3))
def test_minibatches_are_compared_with_each_other(minibatches, words, seed):
    """Sizes and evenness are those of the scheme: what they have in common is not. A sound one fails at 5 % a seed."""
    drawn = minibatches(np.random.default_rng(seed))
    assert words in audit_sampling(drawn, scheme="without_replacement", population=200, batch=20).reason


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([5, 40]), st.integers(1, 30), st.sampled_from([-1, 0]))
def test_what_minibatches_share_is_counted(seed, population, capacity, lowest):
    """The kernel's running words against sets compared pair by pair."""
    drawn = np.random.default_rng(seed).integers(lowest, population, (25, capacity))
    found = dict(zip(STATISTICS, describe(drawn, population), strict=True))
    shared = [
        [sum(r in set(drawn[t - lag]) for r in drawn[t] if r >= 0) for lag in range(1, min(t, 16) + 1)]
        for t in range(25)
    ]
    assert found["overlap"] == pytest.approx(np.mean([row[0] for row in shared if row]))
    assert found["groups"] == pytest.approx(np.std([number for row in shared for number in row[1:]]), abs=1e-9)
    excess = [((row[row >= 0] < population // 2) * 2 - 1).sum() for row in drawn]
    assert found["halves"] == pytest.approx(np.std(excess))
    sizes = (drawn >= 0).sum(1)
    assert (found["least"], found["most"]) == (sizes.min(), sizes.max())


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


def test_minibatches_of_different_lengths():
    """The natural form of a loader's minibatches is that of the padded array; one may be empty."""
    rng = np.random.default_rng(4)
    ragged = [np.flatnonzero(rng.random(40) < 0.1) for _ in range(100)]
    assert 0 in map(len, ragged)
    padded = np.full((100, max(map(len, ragged))), -1)
    for row, batch in zip(padded, ragged, strict=True):
        row[: len(batch)] = batch
    claim = {"scheme": "poisson", "population": 40, "batch": 4}
    found = audit_sampling([batch.tolist() for batch in ragged], **claim)
    assert found.verdict == "consistent"
    assert found == audit_sampling(ragged, **claim) == audit_sampling(padded, **claim)
    with pytest.raises(InputError, match=r"drawn must hold whole numbers, got float64"):
        audit_sampling([[0.5, 1.0]] * 10, **claim)


def test_minibatches_without_places_are_refused():
    with pytest.raises(InputError, match="capacity >= 1"):
        audit_sampling(np.zeros((20, 0), int), scheme="poisson", population=10, batch=2)
