"""The twelve pitfalls of jax_privacy's page on training (sharp_edges_dp_training_pitfalls.md), on faithful replicas.

docs/training_loop.md has them as a table: which part of which audit catches each, and what stays out of reach.
"""

from __future__ import annotations

import numpy as np
import pytest
from slices import first

from dpcheck import audit_floating_point, audit_privacy, audit_training_step, certify
from dpcheck.audits.step_parts import TrainingStep
from dpcheck.events import Gaussian, Repeated, Sampled

N, BATCH, STEPS = 32, 8, 50
RECORDS = np.random.default_rng(3).normal(size=(N, 4))
EVENTS = Repeated(Sampled((Gaussian(1.0),), "poisson", N, BATCH, "add_or_remove_one"), STEPS)
CLAIM = {"batch": BATCH, "steps": STEPS, "trials": 200}


def poisson(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < BATCH / N)


def shuffled(n, rng):
    while True:
        yield from np.array_split(rng.permutation(n), n // BATCH)


def clip(g, most=1.0):
    return g * np.minimum(1, most / np.maximum(np.linalg.norm(g, axis=-1, keepdims=True), 1e-12))


def noise(rng):
    return rng.normal(size=4)


def divided_by_the_batch(w, batch, rng):
    return (clip(batch - w).sum(0) + noise(rng)) / max(1, len(batch))


def clipped_by_layers(w, batch, rng):
    """Each of two layers to the norm that was taken for both together."""
    g = batch - w
    return (np.concatenate([clip(g[:, :2]), clip(g[:, 2:])], axis=1).sum(0) + noise(rng)) / BATCH


def right(w, batch, rng):
    return (clip(batch - w).sum(0) + noise(rng)) / BATCH


def not_finite(w, batch, rng):
    """A record whose gradient overflows poisons the sum."""
    with np.errstate(all="ignore"):
        g = np.float16(batch - w).astype(float)
        return (np.asarray(clip(g)).sum(0) + noise(rng)) / BATCH


def empty_skipped(w, batch, rng):
    return right(w, batch, rng) if len(batch) else np.zeros(4)


def accumulated(w, batch, rng):
    """Gradients of microbatches of 4 are averaged, then clipped, then summed."""
    parts = [clip((batch[k : k + 4] - w).mean(0)) for k in range(0, len(batch), 4)]
    return (np.sum(parts, axis=0) + noise(rng)) / BATCH


def normalised_over_the_batch(w, batch, rng):
    """A batch norm: what is clipped for one record depends on the others."""
    g = batch - w
    g = (g - g.mean(0)) / (g.std(0) + 1e-3) if len(batch) else g
    return (clip(g).sum(0) + noise(rng)) / BATCH


def padded_with_copies(w, batch, rng):
    """Filled up to a whole number of microbatches with copies of the last record."""
    missing = -len(batch) % 4
    return right(w, np.concatenate([batch, np.repeat(batch[-1:], missing, axis=0)]), rng)


def padded_with_zeros(w, batch, rng):
    """The padding is zero, but the gradient there is not."""
    return right(w + 1, np.concatenate([batch, np.zeros((-len(batch) % 4, 4))]), rng)


def padded_and_masked(w, batch, rng):
    """As it should be: the padding's gradient counts nothing, and microbatches are clipped record by record."""
    missing = -len(batch) % 4
    rows, mask = np.concatenate([batch, np.zeros((missing, 4))]), np.arange(len(batch) + missing) < len(batch)
    parts = [(clip(rows[k : k + 4] - w) * mask[k : k + 4, None]).sum(0) for k in range(0, len(rows), 4)]
    return (np.sum(parts, axis=0) + noise(rng)) / BATCH


def seeded(w, batch, rng):
    return (clip(batch - w).sum(0) + np.random.default_rng(7).normal(size=4)) / BATCH


def single(w, batch, rng):
    total = clip((batch - w).astype(np.float32)).sum(0, dtype=np.float32)
    return (total + rng.standard_normal(4, dtype=np.float32)) / np.float32(BATCH)


def step(gradient=right, sampler=poisson, divisor=BATCH):
    return TrainingStep(gradient, sampler, 1.0, 1.0 / divisor, divisor, np.zeros(4))


def of_private_size(records):
    size = int(len(records) * BATCH / N)
    return step(lambda w, batch, rng: (clip(batch - w).sum(0) + noise(rng)) / size, divisor=size)


def found(made, **claim):
    audit = audit_training_step(made, RECORDS, **({"events": EVENTS} | CLAIM | claim))
    return audit.verdict, {finding.part for finding in audit.findings if finding.verdict == "violated"}


CAUGHT = {
    "division by batch size": (step(divided_by_the_batch), "noise"),
    "sensitivity alignment": (step(clipped_by_layers), "clipping"),
    "accounting and batch selection": (step(sampler=shuffled), "sampling"),
    "public and private metadata": (of_private_size, "divisor"),
    "zero-sized batches": (step(empty_skipped), "empty batch"),
    "non-finite gradients": (step(not_finite), "clipping"),
    "gradient accumulation": (step(accumulated), "clipping"),
    "cross-example operations": (step(normalised_over_the_batch), "clipping"),
    "randomness": (step(seeded), "noise"),
    "padding with copies": (step(padded_with_copies), "clipping"),
    "padding with zeros": (step(padded_with_zeros), "clipping"),
}


@pytest.mark.parametrize("pitfall", first(2, CAUGHT))
def test_the_step_s_audit_catches(pitfall):
    made, part = CAUGHT[pitfall]
    verdict, parts = found(made)
    assert verdict == "violated"
    assert part in parts


def test_the_neighbouring_relation_is_that_of_the_claim():
    """An epsilon for records added or removed, promised for records replaced."""
    epsilon = certify(EVENTS, 1e-5).epsilon
    claim = {"epsilon": epsilon, "delta": 1e-5, "events": None}
    assert found(step(), **claim) == ("consistent", set())
    assert found(step(), **claim, neighbours="replace_one") == ("violated", {"accounting"})


@pytest.mark.parametrize("gradient", [single, padded_and_masked])
def test_finite_precision_and_masked_padding_are_no_findings(gradient):
    assert found(step(gradient)) == ("consistent", set())


def test_auxiliary_information_is_a_mechanism_of_its_own():
    """A mean loss, logged beside the model: no part of the step shows it; handed over, it is caught."""

    def logged(data, rng, size):
        return np.full(size, np.mean(data)) + 0.001 * rng.normal(size=size)

    audit = audit_privacy(logged, [0.0, 1.0], [0.0], epsilon=1.0, delta=1e-5, trials=2_000, vectorized=True)
    assert audit.verdict == "violated"


def test_low_bits_have_an_audit_of_their_own():
    def laplace(value, rng, size):
        return value + rng.laplace(size=size)

    audit = audit_floating_point(laplace, 0.0, 1.0, epsilon=1.0, trials=2_000, vectorized=True)
    assert audit.verdict == "violated"
