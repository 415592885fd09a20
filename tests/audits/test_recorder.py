"""The recorder draws what NumPy would, writes it down, and draws it again."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy import stats

from dpcheck.audits.running.recorder import ADDITIVE, Recorder, Silenced

CALLS = {
    "normal": (1.0, 2.0), "standard_normal": (), "laplace": (1.0, 2.0), "logistic": (1.0, 2.0),
    "gumbel": (1.0, 2.0), "exponential": (2.0,), "standard_exponential": (),
    "multivariate_normal": ([1.0], [[4.0]]),
}  # fmt: skip


@pytest.mark.parametrize("method", CALLS)
def test_additive_draws_have_the_law_of_numpy(method):
    """Null: the laws agree. Kolmogorov-Smirnov on 20,000 draws at fixed seeds, level 0.1 % each."""
    recorded = np.ravel(getattr(Recorder(1), method)(*CALLS[method], size=20_000))
    plain = np.ravel(getattr(np.random.default_rng(2), method)(*CALLS[method], size=20_000))
    assert stats.ks_2samp(recorded, plain).pvalue > 1e-3
    assert set(CALLS) == set(ADDITIVE)


def test_a_covariance_is_kept():
    """Null: the covariance of 40,000 draws is the one asked for; entries within 5 standard errors (< 1e-5)."""
    cov = np.array([[2.0, -1.2], [-1.2, 1.0]])
    drawn = Recorder(0).multivariate_normal([3.0, 4.0], cov, size=40_000)
    error = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / 40_000)
    assert (np.abs(np.cov(drawn.T) - cov) < 5 * error).all()


def test_every_method_of_the_generator_is_recorded():
    generator = np.random.Generator
    public = [n for n in dir(generator) if not n.startswith("_") and inspect.isroutine(getattr(generator, n))]
    assert len(public) > 40
    for name in public:
        assert getattr(Recorder, name) is not getattr(generator, name)


def mechanism(x, rng):
    taken = rng.permutation(x)[:2]
    kept = rng.random(3) < 0.5
    return np.concatenate([taken.mean() + rng.laplace(0, x[0], 2), [kept.sum() + rng.normal(x[1], 2)]])


def test_replay_gives_the_same_noise_whatever_the_scales():
    one, two = Recorder(5), Recorder(5)
    mechanism(np.array([1.0, 1.0, 1.0]), one)
    mechanism(np.array([7.0, 1.0, 1.0]), two)
    assert np.array_equal(one.standard, two.standard)
    assert [draw.method for draw in one.draws] == ["permutation", "random", "laplace", "normal"]
    assert one.draws[2].scale.tolist() == [1.0, 1.0]
    assert two.draws[2].scale.tolist() == [7.0, 7.0]
    assert two.draws[3].arguments["scale"] == 2
    assert not one.bypassed


def test_calls_have_streams_of_their_own():
    """More numbers in one call leave the next ones alone; two calls differ."""
    one, two = Recorder(5), Recorder(5)
    one.normal(size=3), two.normal(size=3000)
    assert one.normal() == two.normal()
    assert len(np.unique([one.normal() for _ in range(50)])) == 50
    assert Recorder(5).normal() != Recorder(6).normal()


def test_silence_and_given_noise():
    x = np.array([2.0, 3.0, 2.0])
    silent = Silenced(mechanism, 5)(x)
    assert silent[0] == silent[1]
    assert silent[2] == int(silent[2])
    recorder = Recorder(5)
    loud = mechanism(x, recorder)
    again = Recorder(5, standard=recorder.standard)
    assert np.array_equal(mechanism(x, again), loud)
    twice = mechanism(x, Recorder(5, standard=2 * recorder.standard))
    np.testing.assert_allclose(twice - silent, 2 * (loud - silent))


def test_it_is_a_generator_to_others():
    rng = Recorder(0)
    assert np.random.default_rng(rng) is rng
    assert stats.norm.rvs(size=2, random_state=rng).shape == (2,)
    out = np.empty(2)
    assert rng.standard_normal(out=out) is out
    assert rng.standard_normal(dtype=np.float32).dtype == np.float32
    children = rng.spawn(2)
    assert children[0].normal() != children[1].normal()
    assert len(rng.draws) == 5
    assert isinstance(rng.normal(), float)
    assert not rng.bypassed
    rng.bit_generator.random_raw()
    assert rng.bypassed
