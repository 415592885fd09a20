"""Faults of a training step that show only in large minibatches, in single coordinates, or on some data."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck import InputError, audit_training_step
from dpcheck.audits.step_gradient import clipping_finding, noise_finding
from dpcheck.audits.step_parts import TrainingStep
from dpcheck.audits.step_sampling import cyclic_sampling_finding, divisor_finding, sampling_finding
from dpcheck.audits.training_step import batch_sizes
from dpcheck.events import Gaussian, Repeated, Sampled

N, BATCH, WIDTH = 400, 100, 5
RECORDS = np.random.default_rng(0).normal(size=(N, WIDTH))
SIZES = batch_sizes("poisson", BATCH, N)


def poisson(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < BATCH / N)


def clip(gradients, norm=1.0):
    return gradients * np.minimum(1, norm / np.maximum(np.linalg.norm(gradients, axis=-1, keepdims=True), 1e-12))


def noise(rng, width=WIDTH):
    return rng.normal(size=width)


def step(gradient, sampler=poisson, clip=1.0, divisor=BATCH, width=WIDTH):
    return TrainingStep(gradient, sampler, clip, clip / divisor, divisor, np.zeros(width))


def right(w, batch, rng):
    return (clip(batch - w).sum(0) + noise(rng)) / BATCH


def counted_again(w, batch, rng):
    """Accumulation over physical minibatches of 64 that is never set to zero."""
    total = sum(np.cumsum([clip(batch[k : k + 64] - w).sum(0) for k in range(0, len(batch), 64)], axis=0), np.zeros(5))
    return (total + noise(rng)) / BATCH


def larger_divisor(w, batch, rng):
    return clip(batch - w).sum(0) / max(BATCH, len(batch)) + noise(rng) / BATCH


def centred_if_many(w, batch, rng):
    gradients = batch - w
    return (clip(gradients - (gradients.mean(0) if len(batch) > 90 else 0)).sum(0) + noise(rng)) / BATCH


@pytest.mark.parametrize("gradient", [right, counted_again, larger_divisor, centred_if_many])
def test_faults_of_large_minibatches_are_found(gradient):
    found, _ = clipping_finding(step(gradient), RECORDS, SIZES, None, 0)
    assert found.verdict == ("consistent" if gradient is right else "violated"), found.reason
    assert found.verdict == "violated" or f"minibatches of up to {SIZES[0]}" in found.reason


def test_sizes_reach_four_standard_deviations_above_the_mean_of_poisson_sampling():
    assert SIZES == [135, 100, 117, 109, 83, 101]
    assert batch_sizes("without_replacement", BATCH, N) == [BATCH]
    assert max(batch_sizes("poisson", 30, 32)) == 32


def test_noise_that_ends_above_the_expected_size_is_found():
    def silent_if_large(w, batch, rng):
        return (clip(batch - w).sum(0) + noise(rng) * (len(batch) <= BATCH)) / BATCH

    found, _ = noise_finding(step(silent_if_large), RECORDS, SIZES, 400, 0.99, 0, empty=True)
    assert found.verdict == "violated" and f"of {SIZES[0]} records is released without noise" in found.reason


def test_clipping_that_was_never_seen_at_work_is_no_evidence():
    """Nothing is clipped, and no gradient is as long as the clip allows: whole numbers are not made larger."""
    tokens = np.random.default_rng(1).integers(0, 2, (N, WIDTH))
    unclipped = step(lambda w, batch, rng: (batch.sum(0) + 8 * noise(rng)) / BATCH, clip=8.0)
    found, _ = clipping_finding(unclipped, tokens, SIZES, None, 0)
    assert found.verdict == "inconclusive" and "norms are at most 2.24, the clip is 8" in found.reason
    clipped = step(lambda w, batch, rng: (clip(batch - w).sum(0) + noise(rng)) / BATCH)
    assert clipping_finding(clipped, tokens, SIZES, None, 0)[0].verdict == "consistent"


def words(count, rng):
    """Records of 12 words out of 2,000 each, and a label in their sign: logistic gradients at 0 are whole numbers."""
    records = np.zeros((count, 2_000))
    for record in records:
        record[rng.choice(2_000, 12, replace=False)] = rng.choice([-1, 1])
    return records


def test_few_whole_numbers_are_not_taken_for_a_coarse_type():
    """In bfloat16 so many additions could round as much as every second record weighs; float64 does not."""

    def every_second_twice(w, batch, rng):
        weights = 1 + np.arange(len(batch))[:, None] % 2
        return ((clip(-batch / 2, 2.0) * weights).sum(0) + 2 * rng.normal(size=2_000)) / 32

    records = words(128, np.random.default_rng(0))
    made = step(every_second_twice, clip=2.0, divisor=32, width=2_000)
    found, _ = clipping_finding(made, records, [32], lambda record, _: record, 0)
    assert found.verdict == "violated", found.reason


def in_bfloat16(values):
    """Round to 8 significant binary digits."""
    mantissas, exponents = np.frexp(values)
    return np.ldexp(np.rint(mantissas * 256), exponents - 8)


@pytest.mark.parametrize(("excess", "verdict"), [(1.0, "consistent"), (1.5, "violated")])
def test_rounding_of_much_noise_in_bfloat16_lengthens_no_clipped_gradient(excess, verdict):
    width = 4_000
    records = np.random.default_rng(2).normal(size=(32, width))

    def rounded(w, batch, rng):
        total = in_bfloat16(clip(batch, excess).sum(0))
        return in_bfloat16(in_bfloat16(total + in_bfloat16(2 * rng.normal(size=width))) / 16)

    made = TrainingStep(rounded, poisson, 1.0, 2 / 16, 16, np.zeros(width))
    found, _ = clipping_finding(made, records, [16], None, 0)
    assert found.verdict == verdict, found.reason


@pytest.mark.thorough
@pytest.mark.parametrize("spoil", [None, "uniform", "whole numbers", "cut off"])
def test_the_shape_of_noise_in_a_layer_is_found_with_many_trials(spoil):
    def released(w, batch, rng):
        drawn = rng.normal(size=60)
        some = slice(20, 40)
        if spoil == "whole numbers":
            drawn[some] = np.rint(drawn[some])
        elif spoil == "uniform":
            drawn[some] = rng.uniform(-(3**0.5), 3**0.5, 20)
        elif spoil == "cut off":
            drawn[some] = np.clip(drawn[some], -1.2, 1.2)
        return drawn / BATCH

    found, _ = noise_finding(step(released, width=60), RECORDS, SIZES, 2000, 0.99, 0, empty=True)
    assert found.verdict == ("consistent" if spoil is None else "violated"), found.reason
    assert found.verdict == "violated" or "in 30 of 60 coordinates" in found.reason


def of_scaled(records):
    """Set up a step that scales each record by the range of the private ones."""
    low, high = records.min(0), records.max(0)
    return step(lambda w, batch, rng: (clip((batch - low) / (high - low)).sum(0) + noise(rng)) / BATCH)


def test_constants_computed_from_extreme_records_are_found():
    found = divisor_finding(of_scaled, RECORDS, BATCH, "add_or_remove_one")
    assert found.verdict == "violated"
    assert "has another noisy gradient: it is computed from the private records" in found.reason
    assert found == divisor_finding(of_scaled, RECORDS, BATCH, "replace_one")


def test_the_number_of_records_is_public_where_records_are_replaced():
    def of_size(records):
        return step(right, divisor=len(records) // 4)

    assert divisor_finding(of_size, RECORDS, BATCH, "replace_one").verdict == "consistent"
    found = divisor_finding(of_size, RECORDS, BATCH, "add_or_remove_one")
    assert found.verdict == "violated" and "has another divisor and another noise (100 and 99)" in found.reason


def sampled(sampler, batch, n=64):
    made = TrainingStep(right, sampler, 1.0, 1.0)
    return sampling_finding(made, n, batch, "poisson", 0.99, 0)


def test_groups_that_are_dealt_anew_at_each_call_are_one_run_of_cycles():
    def draw(n, rng):
        group = rng.integers(4, size=n)
        return (np.flatnonzero((group == number % 4) & (rng.random(n) < 1 / 4)).tolist() for number in range(100))

    made = TrainingStep(right, draw, 1.0, 1.0)
    found = cyclic_sampling_finding(made, 64, 4, 4, "replace_one", 0.999, 0)
    assert found.verdict == "consistent", found.reason


def test_sizes_that_poisson_sampling_would_have_are_missed():
    def kept(rate, some):
        def draw(n, rng):
            while True:
                members = np.flatnonzero(rng.random(n) < rate)
                if some(len(members)):
                    yield members

        return draw

    assert sampled(kept(2 / 64, lambda size: True), 2).verdict == "consistent"
    skips = sampled(kept(2 / 64, lambda size: size > 0), 2)
    assert skips.verdict == "violated" and "the smallest minibatch holds 1 records, 0 are due" in skips.reason
    assert sampled(kept(32 / 256, lambda size: size <= 40), 32, 256).verdict == "violated"


CLAIM = {"batch": BATCH, "steps": 10, "trials": 200}
EVENTS = Repeated(Sampled((Gaussian(1.0),), "poisson", N, BATCH, "add_or_remove_one"), 10)


@pytest.mark.thorough
def test_a_sampler_with_a_generator_of_its_own_is_audited():
    own = np.random.default_rng(7)

    def draws(n, rng):
        while True:
            yield np.flatnonzero(own.random(n) < BATCH / N)

    audit = audit_training_step(step(right, draws), RECORDS, events=EVENTS, **CLAIM)
    assert audit.verdict == "consistent", str(audit)


def test_batch_norm_that_cannot_take_one_record_is_no_traceback():
    def normalised(w, batch, rng):
        if len(batch) == 1:
            raise ValueError("Expected more than 1 value per channel")
        scaled = (batch - batch.mean(0)) / batch.std(0) if len(batch) else batch
        return (clip(scaled).sum(0) + noise(rng)) / BATCH

    audit = audit_training_step(step(normalised), RECORDS, events=EVENTS, **CLAIM)
    clipping = next(finding for finding in audit.findings if finding.part == "clipping")
    assert (audit.verdict, clipping.verdict) == ("inconclusive", "inconclusive")
    assert "a minibatch of one record raises ValueError" in clipping.reason and "no batch norm" in clipping.change


@pytest.mark.thorough
def test_a_label_that_may_not_grow_is_asked_for():
    records = np.column_stack([RECORDS, np.arange(N) % 3])

    def labelled(w, batch, rng):
        targets = np.eye(3)[batch[:, -1].astype(int)]  # raises for a label of 3,000
        return (clip(batch[:, :3] * targets).sum(0) + rng.normal(size=3)) / BATCH

    made = step(labelled, width=3)
    with pytest.raises(InputError, match=r"gradient must take a minibatch whose records were made larger.*outlier="):
        audit_training_step(made, records, events=EVENTS, **CLAIM)
    kept = lambda record, factor: np.append(record[:-1] * factor, record[-1])  # noqa: E731
    assert audit_training_step(made, records, events=EVENTS, outlier=kept, **CLAIM).verdict == "consistent"
