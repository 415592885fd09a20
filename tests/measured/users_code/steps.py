"""Steps of DP-SGD in NumPy, handed over as a ``TrainingStep``."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import drawn_by, planted, step

from dpcheck.audits.step_parts import TrainingStep

N, BATCH, WIDTH, CLIP, Z = 64, 8, 4, 2.0, 1.2
RECORDS = np.random.default_rng(2).normal(scale=3, size=(N, WIDTH))


def poisson(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < BATCH / N)


DP_SGD: dict[str, Any] = {
    "kind": "NumPy step", "records": RECORDS, "sampler": poisson, "clip": CLIP, "noise": Z * CLIP / BATCH,
    "divisor": BATCH, "params": np.zeros(WIDTH), "batch": BATCH, "steps": 200, "epsilon": 25.0, "delta": 1e-5,
    "trials": 1000,
}  # fmt: skip


def clipped(rows, norm=CLIP):
    return rows * np.minimum(1, norm / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def noise(rng):
    return Z * CLIP * rng.normal(size=WIDTH)


@planted(step, **DP_SGD)
def dp_sgd(w, batch, rng):
    return (clipped(w - batch).sum(0) + noise(rng)) / BATCH


@planted(step, "violated: noise:", **DP_SGD)
def noise_without_the_clip(w, batch, rng):
    return (clipped(w - batch).sum(0) + rng.normal(scale=Z, size=WIDTH)) / BATCH  # fault


@planted(step, "actual size", **DP_SGD)
def divides_by_the_minibatch(w, batch, rng):
    return (clipped(w - batch).sum(0) + noise(rng)) / max(1, len(batch))  # fault


@planted(step, "violated: empty batch:", **DP_SGD)
def empty_minibatch_skipped(w, batch, rng):
    if len(batch) == 0:
        return np.zeros(WIDTH)  # fault
    return (clipped(w - batch).sum(0) + noise(rng)) / BATCH


@planted(step, "violated: clipping:", **DP_SGD)
def two_layers_clipped_apart(w, batch, rng):
    g = w - batch
    g = np.hstack([clipped(g[:, :2]), clipped(g[:, 2:])])  # fault
    return (g.sum(0) + noise(rng)) / BATCH


@planted(step, "violated: clipping:", **DP_SGD)
def microbatches_of_two(w, batch, rng):
    pairs = [(w - batch[k : k + 2]).mean(0) for k in range(0, len(batch), 2)]  # fault
    total = clipped(np.array(pairs)).sum(0) * 2 if pairs else np.zeros(WIDTH)
    return (total + noise(rng)) / BATCH


@planted(step, "violated: clipping:", **DP_SGD)
def weights_by_class_counts(w, batch, rng):
    positive = batch[:, 0] > 0
    share = max(positive.mean(), 0.1) if len(batch) else 1.0  # fault: of the private minibatch
    return ((clipped(w - batch) * np.where(positive, 0.5 / share, 1.0)[:, None]).sum(0) + noise(rng)) / BATCH


@planted(drawn_by, "shuffled epoch", **DP_SGD | {"gradient": dp_sgd})
def one_epoch_after_the_other(n, rng):
    while True:
        yield from np.array_split(rng.permutation(n), n // BATCH)  # fault


@planted(drawn_by, "mean size", **DP_SGD | {"gradient": dp_sgd})
def at_a_rate_of_a_half(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < 0.5)  # fault


@planted(drawn_by, "holds a record twice", **DP_SGD | {"gradient": dp_sgd})
def with_repeats(n, rng):
    while True:
        yield rng.integers(n, size=rng.binomial(n, BATCH / N))  # fault


@planted(drawn_by, "is drawn \\d+ times", **DP_SGD | {"gradient": dp_sgd})
def one_record_twice_as_often(n, rng):
    rate = np.full(n, BATCH / N)
    rate[17] *= 2  # fault: a record that is in two shards
    while True:
        yield np.flatnonzero(rng.random(n) < rate)


TABLE = np.random.default_rng(5).normal(size=4096)


@planted(step, "violated: noise:", **DP_SGD)
def noise_from_a_table(w, batch, rng):
    drawn = TABLE[rng.integers(len(TABLE), size=WIDTH)]  # fault: 4,096 values
    return (clipped(w - batch).sum(0) + Z * CLIP * drawn) / BATCH


@planted(step, "violated: noise:", **DP_SGD)
def noise_shared_by_coordinates(w, batch, rng):
    return (clipped(w - batch).sum(0) + Z * CLIP * rng.normal()) / BATCH  # fault


@planted(step, "violated: divisor:", **{k: v for k, v in DP_SGD.items() if k not in (
    "sampler", "clip", "noise", "divisor", "params")} | {"builds": True})  # fmt: skip
def expected_size_of_private_n(records):
    expected = len(records) * BATCH / N  # fault

    def gradient(w, batch, rng):
        return (clipped(w - batch).sum(0) + noise(rng)) / expected

    return TrainingStep(gradient, poisson, CLIP, Z * CLIP / expected, expected, np.zeros(WIDTH))


@planted(step, **{k: v for k, v in DP_SGD.items() if k not in (
    "sampler", "clip", "noise", "divisor", "params")} | {"builds": True})  # fmt: skip
def set_up_by_public_numbers(records):
    return TrainingStep(dp_sgd, poisson, CLIP, Z * CLIP / BATCH, BATCH, np.zeros(WIDTH))


@planted(step, **DP_SGD)
def layers_clipped_to_a_part(w, batch, rng):
    g = w - batch
    g = np.hstack([clipped(g[:, :2], CLIP / 2**0.5), clipped(g[:, 2:], CLIP / 2**0.5)])
    return (g.sum(0) + noise(rng)) / BATCH


@planted(step, **DP_SGD)
def rounded_to_six_decimals(w, batch, rng):
    return np.round((clipped(w - batch).sum(0) + noise(rng)) / BATCH, 6)


@planted(step, **DP_SGD)
def on_a_grid(w, batch, rng):
    return np.round((clipped(w - batch).sum(0) + noise(rng)) / BATCH * 2**12) / 2**12


@planted(step, **DP_SGD)
def in_float32(w, batch, rng):
    return ((clipped(w - batch).sum(0) + noise(rng)) / BATCH).astype(np.float32)


@planted(step, "violated: accounting:", **DP_SGD | {"epsilon": 8.0})  # fault: accounted for 1/10 of the steps
def accounted_for_one_epoch(w, batch, rng):
    return (clipped(w - batch).sum(0) + noise(rng)) / BATCH
