"""A step of DP-SGDA beside vectorised NumPy and JAX, all on one core, in one run.

    pip install '.[test,benchmark]' && pytest -n 0 tests/benchmarks/bench_dp_sgda.py

Linear AUC, minibatch of 64 of 20,000 records drawn with replacement (the cheapest scheme for all three),
both gradients clipped per record, Gaussian noise, projection. A timing is of ``STEPS`` steps. Read the
ratios within one run: machines differ and are shared.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np
import pytest
from chunks import map_chunks

from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.problems.auc import AUC
from dpcheck.problems.bilinear import Bilinear

STEPS, BATCH, N, P, ETA, SIGMA, CLIP, RADIUS = 500, 64, 20_000, 0.5, 0.1, 0.05, 1.0, 1.0


def data(d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, d))
    X /= 1.0001 * np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(np.arange(N) % 3, 1.0, -1.0)


@pytest.fixture
def one_core():
    if hasattr(os, "sched_setaffinity"):
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})
        yield
        os.sched_setaffinity(0, cores)
    else:
        yield


def ours(d):
    problem = AUC.from_data(*data(d), positive_share=P, radius=RADIUS)
    eta = np.full(STEPS, ETA)
    solver = DPSGDA(eta, eta, SIGMA, SIGMA, BATCH, "with_replacement", CLIP, CLIP)
    return lambda seed=0: solver.outputs(problem, np.random.default_rng(seed), 1)


def with_numpy(d):
    X, y = data(d)

    def run(seed=0):
        rng = np.random.default_rng(seed)
        w, v, mean = np.zeros(d + 2), 0.0, np.zeros(d + 3)
        for _ in range(STEPS):
            mean += np.append(w, v) / STEPS
            index = rng.integers(0, N, BATCH)
            x, sign = X[index], -y[index]
            h = x @ w[:d]
            centre = np.where(sign < 0, w[d], w[d + 1])
            slope = 2 * P * (h - centre + sign * (1 + v))
            pull = 2 * P * (centre - h)
            norm = np.sqrt(slope**2 * np.einsum("ij,ij->i", x, x) + pull**2)
            factor = np.minimum(1, CLIP / norm)
            g = np.empty(d + 2)
            g[:d] = (slope * factor) @ x
            g[d], g[d + 1] = (factor * pull)[sign < 0].sum(), (factor * pull)[sign > 0].sum()
            g_v = 2 * (sign * P * h - P * (1 - P) * v)
            g_v = np.clip(g_v, -CLIP, CLIP).mean() + SIGMA * rng.standard_normal()
            w = w - ETA * (g / BATCH + SIGMA * rng.standard_normal(d + 2))
            w[:d] *= min(1, RADIUS / np.linalg.norm(w[:d]))
            w[d:] = np.clip(w[d:], -RADIUS, RADIUS)
            v = np.clip(v + ETA * g_v, -2 * RADIUS, 2 * RADIUS)
        return mean

    return run


def with_jax(d):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    X, y = (jnp.asarray(a) for a in data(d))

    def step(state, key):
        w, v, mean = state
        k1, k2, k3 = jax.random.split(key, 3)
        mean = mean + jnp.append(w, v) / STEPS
        index = jax.random.randint(k1, (BATCH,), 0, N)
        x, sign = X[index], -y[index]
        h = x @ w[:d]
        centre = jnp.where(sign < 0, w[d], w[d + 1])
        slope, pull = 2 * P * (h - centre + sign * (1 + v)), 2 * P * (centre - h)
        factor = jnp.minimum(1, CLIP / jnp.sqrt(slope**2 * (x * x).sum(1) + pull**2))
        ends = jnp.stack([(factor * pull * (sign < 0)).sum(), (factor * pull * (sign > 0)).sum()])
        g = jnp.concatenate([(slope * factor) @ x, ends]) / BATCH
        g_v = jnp.clip(2 * (sign * P * h - P * (1 - P) * v), -CLIP, CLIP).mean() + SIGMA * jax.random.normal(k3)
        w = w - ETA * (g + SIGMA * jax.random.normal(k2, (d + 2,)))
        theta = w[:d] * jnp.minimum(1, RADIUS / jnp.linalg.norm(w[:d]))
        w = jnp.concatenate([theta, jnp.clip(w[d:], -RADIUS, RADIUS)])
        return (w, jnp.clip(v + ETA * g_v, -2 * RADIUS, 2 * RADIUS), mean), None

    @jax.jit
    def run(key):
        start = (jnp.zeros(d + 2), jnp.zeros(()), jnp.zeros(d + 3))
        return jax.lax.scan(step, start, jax.random.split(key, STEPS))[0][2]

    return lambda seed=0: run(jax.random.PRNGKey(seed)).block_until_ready()


@pytest.mark.parametrize("make", [ours, with_numpy, with_jax], ids=["dpcheck", "numpy", "jax"])
@pytest.mark.parametrize("d", [22, 784])
def test_step(benchmark, one_core, d, make):
    benchmark.group = f"{STEPS} steps, d = {d}"
    benchmark.pedantic(make(d), rounds=15, warmup_rounds=2)


@pytest.mark.parametrize("make", [with_numpy, with_jax], ids=["numpy", "jax"])
def test_the_peers_run_the_same_algorithm(make):
    """Means over 40 runs within six standard errors in every coordinate."""
    samples = [np.array([np.ravel(peer(seed)) for seed in range(40)]) for peer in (ours(22), make(22))]
    error = np.sqrt(sum(sample.var(0) for sample in samples) / 40)
    assert np.abs(samples[0].mean(0) - samples[1].mean(0)).max() < 6 * error.max()


@pytest.mark.parametrize("jobs", [n for n in (1, 2, 4) if n <= (os.cpu_count() or 1)])
def test_trials_in_parallel(benchmark, jobs):
    game = Bilinear.sample(100, 2, np.random.default_rng(0))
    eta = np.full(100, 0.1)
    solver = DPSGDA(eta, eta, 1.0, 1.0, 5)
    benchmark.group = "20,000 runs of 100 steps"
    benchmark.pedantic(
        lambda: map_chunks(lambda rng, size: solver.outputs(game, rng, size), 20_000, seed=0, jobs=jobs),
        rounds=7, warmup_rounds=1,
    )  # fmt: skip


@pytest.mark.parametrize("trials", [1_000, 10_000, 100_000])
def test_cost_a_trial_is_flat(benchmark, trials):
    game = Bilinear.sample(100, 2, np.random.default_rng(0))
    eta = np.full(20, 0.1)
    solver = DPSGDA(eta, eta, 1.0, 1.0, 5)
    benchmark.group = "runs of 20 steps, one core"
    benchmark.extra_info["trials"] = trials
    benchmark.pedantic(
        lambda: map_chunks(lambda rng, size: solver.outputs(game, rng, size), trials, seed=0, jobs=1),
        rounds=3, warmup_rounds=1,
    )  # fmt: skip
