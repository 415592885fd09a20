"""What mechanisms draw from torch, JAX and diffprivlib: recorded, replayed and silenced, and put back afterwards.

Deterministic at fixed seeds, in the libraries' own single precision. The clean twins have exactly their claim's noise.
"""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from dpcheck.audits.randomness import audit_randomness

DATA, NEIGHBOUR = np.array([0.25, 0.5, 1.0]), np.array([0.25, 0.5, 0.0])
GAUSSIAN = {"epsilon": 0.6, "delta": 1e-3}  # of four standard deviations: 0.592


def judged(mechanism, **claim):
    found = audit_randomness(mechanism, DATA, NEIGHBOUR, **claim)
    return found.verdict, " ".join(seen.reason for seen in found.observations)


def test_torch():
    torch = pytest.importorskip("torch")
    own = torch.Generator()
    own.manual_seed(3)
    states = torch.get_rng_state(), own.get_state()

    def total(x):
        return torch.tensor(x, dtype=torch.float32).sum()

    def seeded(x):
        torch.manual_seed(0)
        return total(x) + torch.randn(())

    def with_dropout(x):
        torch.nn.functional.dropout(torch.ones(3))
        return total(x) + torch.normal(0.0, 4.0, ())

    for clean in (
        lambda x: total(x) + torch.normal(0.0, 4.0, ()),
        lambda x: total(x) + torch.zeros(()).normal_(0, 4),
        lambda x: total(x) + torch.distributions.Normal(0.0, 4.0).sample(),
        lambda x: torch.normal(total(x), torch.tensor(4.0)),
    ):
        assert judged(clean, **GAUSSIAN)[0] == "consistent"
    laplace = torch.distributions.Laplace(0.0, 1.0)
    assert judged(lambda x: total(x) + laplace.sample(), epsilon=1.0)[0] == "consistent"
    verdict, words = judged(lambda x: total(x) + torch.normal(0.0, 1.0, ()), **GAUSSIAN)
    assert verdict == "violated" and "torch.normal at" in words and "too small by a factor of 3.9" in words
    assert judged(lambda x: total(x) + laplace.sample(), epsilon=0.99)[0] == "violated"
    verdict, words = judged(seeded, epsilon=1.0)
    assert verdict == "violated" and "torch.manual_seed is given 0" in words
    verdict, words = judged(lambda x: total(x) + torch.randn((), generator=own), epsilon=1.0)
    assert verdict == "violated" and "torch.Generator is given 3" in words
    assert "bernoulli" in judged(with_dropout, **GAUSSIAN)[1]
    assert all(torch.equal(*pair) for pair in zip(states, (torch.get_rng_state(), own.get_state()), strict=True))


def test_jax():
    jax = pytest.importorskip("jax")
    kept, normal = jax.random.key(5), jax.random.normal

    def fresh():
        return jax.random.PRNGKey(secrets.randbits(32))

    def total(x):
        return jax.numpy.asarray(x, "float32").sum()

    def split(x):
        one, other = jax.random.split(fresh())
        return jax.numpy.stack([total(x) + 2 * jax.random.laplace(one), x[2] + 2 * jax.random.laplace(other)])

    def used_twice(x):
        key = fresh()
        return jax.numpy.stack([total(x) + jax.random.laplace(key), 2 * x[2] + jax.random.laplace(key)])

    assert judged(lambda x: total(x) + 4 * jax.random.normal(fresh()), **GAUSSIAN)[0] == "consistent"
    assert judged(split, epsilon=1.0)[0] == "consistent"
    assert judged(split, epsilon=0.99)[0] == "violated"
    verdict, words = judged(used_twice, epsilon=9.0)
    assert verdict == "violated" and "a key or a seed is used again" in words
    verdict, words = judged(lambda x: total(x) + jax.random.laplace(jax.random.key(0)), epsilon=9.0)
    assert verdict == "violated" and "jax.random.key is given 0" in words
    verdict, words = judged(lambda x: total(x) + jax.random.laplace(kept), epsilon=9.0)
    assert verdict == "violated" and "a key of jax.random is given" in words
    compiled = jax.jit(lambda x, key: x.sum() + 4 * jax.random.normal(key))
    assert judged(lambda x: compiled(x, fresh()), **GAUSSIAN)[0] == "inconclusive"
    assert jax.random.normal is normal
    assert compiled(DATA, kept) == compiled(DATA, kept) != compiled(DATA, jax.random.key(6))  # no recorded noise in it


def test_diffprivlib():
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    sampler = mechanisms.Laplace._laplace_sampler
    laplace, seeded = (mechanisms.Laplace(epsilon=1.0, sensitivity=1.0, random_state=seed) for seed in (None, 0))
    gaussian = mechanisms.Gaussian(epsilon=0.9, delta=1e-3, sensitivity=1.0)
    assert judged(lambda x: laplace.randomise(float(x.sum())), epsilon=1.0)[0] == "consistent"
    assert judged(lambda x: gaussian.randomise(float(x.sum())), epsilon=0.9, delta=1e-3)[0] == "consistent"
    verdict, words = judged(lambda x: laplace.randomise(2 * float(x.sum())), epsilon=1.0)
    assert verdict == "violated" and "too small by a factor of 2" in words
    made = mechanisms.Laplace
    verdict, words = judged(
        lambda x: made(epsilon=1.0, sensitivity=1.0, random_state=0).randomise(float(x.sum())), epsilon=1.0
    )
    assert verdict == "violated" and "RandomState is given 0" in words
    assert judged(lambda x: seeded.randomise(float(x.sum())), epsilon=1.0)[0] == "inconclusive"
    assert mechanisms.Laplace._laplace_sampler is sampler


def test_opendp_is_out_of_reach_which_is_said():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    release = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
    verdict, words = judged(lambda x: release(float(x.sum())), epsilon=1.0)
    assert verdict == "inconclusive" and "cannot be reached" in words
