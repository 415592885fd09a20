"""Loops and steps in JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from case import check, planted, step

from dpcheck.events import Gaussian, Repeated

N, BATCH, WIDTH, STEPS, CLIP = 32, 8, 3, 8, 1.0
RECORDS = np.random.default_rng(3).normal(scale=2, size=(N, WIDTH)).astype(np.float32)


def poisson(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < BATCH / N)


STEP: dict[str, Any] = {
    "kind": "JAX", "records": RECORDS, "sampler": poisson, "clip": CLIP, "noise": 1.2 / BATCH, "divisor": BATCH,
    "params": jnp.zeros(WIDTH), "batch": BATCH, "steps": 100, "epsilon": 30.0, "delta": 1e-5, "trials": 400,
}  # fmt: skip
LOOP: dict[str, Any] = {
    "kind": "JAX", "data": RECORDS.astype(float), "replacements": [np.full(WIDTH, 40.0), np.full(WIDTH, -40.0)],
    "start": np.zeros(WIDTH), "steps": STEPS, "events": Repeated(Gaussian(6.0), STEPS),
}  # fmt: skip


def loss(w, record):
    return 0.5 * jnp.sum((w - record) ** 2)


def key_of(rng):
    return jax.random.key(int(rng.integers(2**31)))


def clip(g):
    return g * jnp.minimum(1.0, CLIP / (jnp.linalg.norm(g) + 1e-9))


@jax.jit
def clipped_sum(w, batch):
    return jax.vmap(lambda record: clip(jax.grad(loss)(w, record)))(batch).sum(0)


@planted(step, **STEP)
def jax_step(w, batch, rng):
    return (clipped_sum(w, jnp.asarray(batch)) + 1.2 * jax.random.normal(key_of(rng), (WIDTH,))) / BATCH


@planted(step, "violated: clipping:", **STEP)
def jax_clips_the_gradient_of_the_mean(w, batch, rng):
    g = jax.grad(lambda w: jax.vmap(loss, (None, 0))(w, jnp.asarray(batch)).sum() / BATCH)(w)
    return clip(g) + 1.2 * jax.random.normal(key_of(rng), (WIDTH,)) / BATCH  # fault


@planted(step, "violated: noise:", **STEP)
def jax_key_used_for_every_coordinate(w, batch, rng):
    key = key_of(rng)
    noise = jnp.stack([jax.random.normal(key) for _ in range(WIDTH)])  # fault: never split
    return (clipped_sum(w, jnp.asarray(batch)) + 1.2 * noise) / BATCH


@planted(step, "violated: noise:|drawn", **STEP)
def jax_key_from_the_step_number(w, batch, rng):
    noise = jax.random.normal(jax.random.key(0), (WIDTH,))  # fault: the same at each step
    return (clipped_sum(w, jnp.asarray(batch)) + 1.2 * noise) / BATCH


@planted(step, "violated: noise:", **STEP)
def jax_noise_of_the_wrong_root(w, batch, rng):
    spread = 1.2 / BATCH**2  # fault: divided by the size twice
    return clipped_sum(w, jnp.asarray(batch)) / BATCH + spread * BATCH**0.5 * jax.random.normal(key_of(rng), (WIDTH,))


@planted(step, "violated: clipping:", **STEP)
def jax_normalises_over_the_minibatch(w, batch, rng):
    batch = jnp.asarray(batch)
    if len(batch):
        batch = batch - batch.mean(0)  # fault
    return (clipped_sum(w, batch) + 1.2 * jax.random.normal(key_of(rng), (WIDTH,))) / BATCH


@planted(check, **LOOP)
def jax_loop(w, data, rng):
    return w - 0.1 * (np.asarray(clipped_sum(w, data)) + rng.normal(scale=12.0, size=WIDTH)) / N


@planted(check, **LOOP)
def jax_loop_with_keys(w, data, rng):
    noise = 12.0 * jax.random.normal(key_of(rng), (WIDTH,))
    return np.asarray(w - 0.1 * (clipped_sum(w, data) + noise) / N, float)


@planted(check, "noise 0|nothing is drawn from rng", **LOOP)
def jax_loop_reuses_its_key(w, data, rng):
    noise = 12.0 * jax.random.normal(jax.random.key(7), (WIDTH,))  # fault
    return np.asarray(w - 0.1 * (clipped_sum(w, data) + noise) / N, float)


@planted(check, "noise 0", **LOOP | {"start": (np.zeros(WIDTH), np.zeros(WIDTH))})
def jax_loop_noise_after_momentum(state, data, rng):
    w, m = state
    m = 0.9 * m + clipped_sum(w, data)
    out = w - 0.1 * (np.asarray(m) + rng.normal(scale=12.0, size=WIDTH)) / N
    return out, np.asarray(m)  # fault: the momentum of raw gradients is kept
