"""A training step in plain NumPy, right and with one fault each, and ways to draw its minibatches."""

from __future__ import annotations

import numpy as np

from dpcheck.audits.step_parts import TrainingStep

N, BATCH, STEPS, CLIP, MULTIPLIER = 48, 12, 100, 1.0, 1.0
RECORDS = np.random.default_rng(0).normal(size=(N, 3))


def poisson(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < BATCH / N)


def shuffled(n, rng):
    while True:
        order = rng.permutation(n)
        for start in range(0, n, BATCH):
            yield order[start : start + BATCH]


def clip(g):
    return g * np.minimum(1, CLIP / np.maximum(np.linalg.norm(g, axis=-1, keepdims=True), 1e-12))


def noise(rng, scale=CLIP * MULTIPLIER):
    return rng.normal(scale=scale, size=3)


def right(w, batch, rng):
    return (clip(batch - w).sum(0) + noise(rng)) / BATCH


def single(w, batch, rng):
    """In float32 throughout."""
    total = clip((batch - w).astype(np.float32)).sum(0, dtype=np.float32)
    return (total + rng.standard_normal(3, dtype=np.float32)) / np.float32(BATCH)


def momentum(w, batch, rng):
    """A velocity of noisy gradients that were released before is added: post-processing."""
    return np.array([0.3, -0.2, 0.1]) * 0.9 + right(w, batch, rng)


def by_actual_size(w, batch, rng):
    return clip(batch - w).sum(0) / BATCH + noise(rng) / max(1, len(batch))


def clipped_after_averaging(w, batch, rng):
    mean = (batch - w).mean(0) if len(batch) else np.zeros(3)
    return (clip(mean) + noise(rng)) / BATCH


def microbatches(w, batch, rng):
    parts = [clip((batch[k : k + 2] - w).mean(0)) for k in range(0, len(batch), 2)]
    return (np.sum(parts, 0) + noise(rng)) / BATCH


def shared(w, batch, rng):
    return (clip(batch - w).sum(0) + rng.normal()) / BATCH


def half(w, batch, rng):
    return (clip(batch - w).sum(0) + noise(rng) / 2) / BATCH


def unclipped(w, batch, rng):
    return ((batch - w).sum(0) + noise(rng)) / BATCH


def quiet_when_empty(w, batch, rng):
    return right(w, batch, rng) if len(batch) else np.zeros(3)


def raises_when_empty(w, batch, rng):
    return right(w, np.array([batch[0], *batch[1:]]), rng)


def mean_with_fixed_noise(w, batch, rng):
    return clip(batch - w).sum(0) / max(len(batch), 1) + noise(rng) / BATCH


def often(n, rng):
    """Half of the records, at each step."""
    while True:
        yield np.flatnonzero(rng.random(n) < 0.5)


def favouring(n, rng):
    """Record 17 twice as often."""
    while True:
        yield np.flatnonzero(rng.random(n) < BATCH / n * (1 + (np.arange(n) == 17)))


def step(gradient=right, sampler=poisson, divisor=BATCH):
    return TrainingStep(gradient, sampler, CLIP, CLIP * MULTIPLIER / divisor, divisor, np.zeros(3))
