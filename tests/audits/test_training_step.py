"""A plain training loop as its parts: clean ones pass, and each planted fault is named by its own sentence."""

from __future__ import annotations

import numpy as np
import pytest
from slices import first
from training_loops import (
    BATCH,
    CLIP,
    MULTIPLIER,
    RECORDS,
    STEPS,
    N,
    by_actual_size,
    clip,
    clipped_after_averaging,
    favouring,
    half,
    mean_with_fixed_noise,
    microbatches,
    momentum,
    noise,
    often,
    poisson,
    quiet_when_empty,
    raises_when_empty,
    right,
    shared,
    shuffled,
    single,
    step,
    unclipped,
)

from dpcheck import InputError, audit_training_step, certify
from dpcheck.audits.step_gradient import clipping_finding, noise_finding
from dpcheck.audits.step_parts import TrainingStep
from dpcheck.audits.step_sampling import divisor_finding, sampling_finding
from dpcheck.events import Gaussian, Repeated, Sampled

CLAIM = {"batch": BATCH, "steps": STEPS, "trials": 400}
EVENTS = Repeated(Sampled((Gaussian(MULTIPLIER),), "poisson", N, BATCH, "add_or_remove_one"), STEPS)


def of_private_size(records):
    """The rule of a library: the expected size of a minibatch is the number of records times the rate, cut off."""
    size = int(len(records) * BATCH / N)
    return step(lambda w, batch, rng: (clip(batch - w).sum(0) + noise(rng)) / size, divisor=size)


FAULTS = {
    "shuffled": (step(sampler=shuffled), "sampling", "cut from a shuffled epoch, but were accounted as poisson"),
    "another rate": (step(sampler=often), "sampling", f"is not {BATCH}"),
    "a favoured record": (step(sampler=favouring), "sampling", "record 17 is drawn"),
    "private divisor": (of_private_size, "divisor", "taken from the private number of records"),
    "actual size": (step(by_actual_size), "noise", "scaled by the minibatch's actual size"),
    "actual size, fixed noise": (step(mean_with_fixed_noise), "clipping", "divided by the minibatch's own size"),
    "after averaging": (step(clipped_after_averaging), "clipping", "clipping comes after averaging"),
    "microbatches": (step(microbatches), "clipping", "microbatches are clipped"),
    "shared noise": (step(shared), "noise", "one draw of noise is shared by all coordinates"),
    "half the noise": (step(half), "noise", "times the claimed"),
    "no clipping": (step(unclipped), "clipping", "one record alone has a gradient of norm"),
    "empty without noise": (step(quiet_when_empty), "empty batch", "released without noise"),
}


@pytest.mark.parametrize("fault", first(4, FAULTS))
def test_each_fault_is_named(fault):
    made, part, words = FAULTS[fault]
    audit = audit_training_step(made, RECORDS, events=EVENTS, **CLAIM)
    assert audit.verdict == "violated"
    (finding,) = (finding for finding in audit.findings if finding.part == part)
    assert finding.verdict == "violated"
    assert words in finding.reason
    assert finding.change
    assert words in " ".join(str(audit).split())


@pytest.mark.parametrize("gradient", first(1, [right, single, momentum]))
def test_a_clean_loop_is_consistent(gradient):
    """Null: the step as claimed; level 5 %, fixed seed. The set-up code is run as it is."""
    audit = audit_training_step(lambda records: step(gradient), RECORDS, events=EVENTS, **CLAIM)
    assert [finding.reason for finding in audit.findings if finding.verdict != "consistent"] == []
    assert audit.verdict == "consistent"
    assert audit.audited <= audit.certified <= audit.claimed * 1.002
    assert [f.part for f in audit.findings] == [
        "accounting", "sampling", "divisor", "empty batch", "noise", "clipping", "release",
    ]  # fmt: skip


def twice(w, batch, rng):
    return (clip(batch - w).sum(0) + 2 * noise(rng)) / BATCH


def twice_but_shared(w, batch, rng):
    """More noise than stated, but the same in two coordinates."""
    return (clip(batch - w).sum(0) + 2 * noise(rng)[[0, 0, 1]]) / BATCH


def twice_but_uniform(w, batch, rng):
    return (clip(batch - w).sum(0) + rng.uniform(-4, 4, size=3)) / BATCH


@pytest.mark.thorough
def test_more_noise_than_stated_keeps_the_promise():
    """The verdict is about the promise, with a note; noise that is larger but not Gaussian or not fresh breaks it."""
    audit = audit_training_step(step(twice), RECORDS, events=EVENTS, **CLAIM)
    (finding,) = (finding for finding in audit.findings if finding.part == "noise")
    assert (audit.verdict, finding.verdict) == ("consistent", "consistent")
    assert "2 times the claimed" in finding.reason
    assert finding.change.startswith("State the noise that is added")
    assert "not the noise that is stated" in " ".join(str(audit).split())
    for gradient in (twice_but_shared, twice_but_uniform):
        found = audit_training_step(step(gradient), RECORDS, events=EVENTS, **CLAIM)
        (finding,) = (finding for finding in found.findings if finding.part == "noise")
        assert (found.verdict, finding.verdict) == ("violated", "violated")
        assert "even at that scale" in finding.reason


def in_float32(scale=1.0, most=1.0, momentum=0.0):
    """A loop in float32 throughout, at other sizes of gradients and clips."""

    def gradient(w, batch, rng):
        g = (batch - w).astype(np.float32) * np.float32(scale)
        g = g * np.minimum(np.float32(1), np.float32(most) / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-6))
        total = g.sum(0, dtype=np.float32) + np.float32(most) * rng.standard_normal(3, dtype=np.float32)
        return np.float32(momentum) + total / np.float32(BATCH)

    return TrainingStep(gradient, poisson, most, most * MULTIPLIER / BATCH, BATCH, np.zeros(3, np.float32))


CLEAN = {
    "float64": step(), "float32": in_float32(), "float32, a large clip": in_float32(most=100.0),
    "float32, small gradients": in_float32(scale=1e-3), "float32, a small clip": in_float32(most=0.01),
    "float32, momentum": in_float32(momentum=0.3),
}  # fmt: skip


@pytest.mark.experiment
@pytest.mark.parametrize("name", CLEAN)
def test_false_alarms_of_a_clean_loop(name):
    """Null: the step as claimed. At level 5 % 200 seeds give more than 20 alarms with probability 0.1 %.

    Some five minutes each: ``pytest -n 0 -s -m experiment tests/audits/test_training_step.py -k clean``.
    """
    alarms = sum(
        audit_training_step(CLEAN[name], RECORDS, events=EVENTS, **CLAIM, seed=seed).verdict == "violated"
        for seed in range(200)
    )
    print(f"\n{name}: {alarms} of 200 clean loops called violated")
    assert alarms <= 20


@pytest.mark.parametrize("name", first(1, ["float32, a large clip", "float32, small gradients", "float32, momentum"]))
def test_clean_loops_in_float32(name):
    """Null: the step as claimed; level 5 %, fixed seed."""
    audit = audit_training_step(CLEAN[name], RECORDS, events=EVENTS, **CLAIM | {"trials": 200})
    assert (audit.verdict, [f.reason for f in audit.findings if f.change]) == ("consistent", [])


def test_a_claim_below_what_the_step_gives_and_an_empty_minibatch_that_raises():
    audit = audit_training_step(
        step(raises_when_empty), RECORDS, epsilon=certify(EVENTS, 1e-5).epsilon / 2, delta=1e-5, **CLAIM
    )  # fmt: skip
    found = {finding.part: finding for finding in audit.findings}
    assert found["accounting"].verdict == "violated"
    assert "raises IndexError" in found["empty batch"].reason
    assert "Return zeros" in found["empty batch"].change
    assert found["sampling"].verdict == found["clipping"].verdict == found["noise"].verdict == "consistent"


def test_a_loader_and_bad_arguments():
    batches = [batch for _, batch in zip(range(40), poisson(N, np.random.default_rng(1)), strict=False)]
    audit = audit_training_step(step(sampler=batches), RECORDS, events=EVENTS, **CLAIM)
    assert audit.verdict == "consistent"
    with pytest.raises(InputError, match="epsilon must be given, or events in its place"):
        audit_training_step(step(), RECORDS, **CLAIM)
    with pytest.raises(InputError, match="delta must be given with epsilon, which alone promises delta = 0"):
        audit_training_step(step(), RECORDS, epsilon=20.0, **CLAIM)
    with pytest.raises(InputError, match=r"^confidence must be at most 0.99975, .* got 0.9998$"):
        audit_training_step(step(), RECORDS, events=EVENTS, **CLAIM, confidence=0.9998)
    with pytest.raises(InputError, match="sampler must be callable or iterable, got int"):
        step(sampler=3)


@pytest.mark.parametrize("confidence", [0.9, pytest.param(0.999, marks=pytest.mark.thorough)])
def test_half_of_the_noise_shows_at_every_confidence(confidence):
    found = audit_training_step(step(half), RECORDS, events=EVENTS, **CLAIM | {"confidence": confidence})
    assert found.verdict == "violated"
    assert {each.part for each in found.findings if each.verdict == "violated"} >= {"noise"}


def test_the_size_with_the_least_noise_decides():
    """More than is stated on an empty minibatch, and less on those that are drawn."""
    falling = lambda w, batch, rng: rng.normal(scale=1.06 - 0.015 * len(batch), size=3)  # noqa: E731
    made = TrainingStep(falling, poisson, clip=1.0, noise=1.0, divisor=8, params=np.zeros(3))
    found, _ = noise_finding(made, np.zeros((32, 3)), [8], 6000, 0.99, 0, empty=True)
    assert found.verdict == "violated"
    assert "0.94" in found.reason


def dropped(w, batch, rng):
    """Clipping as it should be, of gradients with dropout from the generator that the noise comes from."""
    return right(w, np.where(rng.random(np.shape(batch)) < 0.8, batch, w), rng)


def augmented(w, batch, rng):
    """The same with a slight augmentation, whose spread is far below that of the noise."""
    return right(w, batch + 1e-3 * rng.normal(size=np.shape(batch)), rng)


@pytest.mark.parametrize(("gradient", "part"), [(dropped, "noise"), (augmented, "clipping")])
def test_a_gradient_with_random_numbers_of_its_own_is_no_violation(gradient, part):
    audit = audit_training_step(step(gradient), RECORDS, events=EVENTS, **CLAIM | {"trials": 200})
    found = {finding.part: finding for finding in audit.findings}
    assert audit.verdict == "inconclusive"
    assert found[part].verdict == "inconclusive"
    assert "dropout" in found[part].reason and "dropout and augmentation off" in found[part].change


def unclipped(w, batch, rng):
    """Dropout, and no clipping."""
    return (np.where(rng.random(np.shape(batch)) < 0.999, batch, w).sum(0) - len(batch) * w + noise(rng)) / BATCH


def test_dropout_hides_no_gradient_that_is_far_too_large():
    audit = audit_training_step(step(unclipped), RECORDS * 1e-3, events=EVENTS, **CLAIM | {"trials": 200})
    (found,) = (finding for finding in audit.findings if finding.part == "clipping")
    assert found.verdict == "violated" and "one record alone" in found.reason


def of_width(width, spoil):
    """A step over so many coordinates whose noise is spoilt."""

    def gradient(w, batch, rng):
        drawn = rng.normal(size=width) * CLIP * MULTIPLIER
        spoil(drawn)
        return (clip(batch - w).sum(0) + drawn) / BATCH

    return TrainingStep(gradient, poisson, CLIP, CLIP * MULTIPLIER / BATCH, BATCH, np.zeros(width))


def silence_one(drawn):
    drawn[len(drawn) // 3] = 0


def weaken_a_layer(drawn):
    drawn[7:17] *= 0.3


def reuse_the_first_half(drawn):
    half = len(drawn) // 2
    drawn[half : 2 * half] = drawn[:half]


@pytest.mark.parametrize("width", [8, pytest.param(200, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("spoil", [silence_one, weaken_a_layer, reuse_the_first_half, None])
def test_every_coordinate_of_the_noise_is_looked_at(width, spoil):
    if spoil is weaken_a_layer and width == 8:
        pytest.skip("a layer of ten needs more")
    made = of_width(width, spoil or (lambda drawn: None))
    records = np.random.default_rng(0).normal(size=(40, width))
    finding, _ = noise_finding(made, records, [BATCH], 400, 0.95, 0, True)
    assert finding.verdict == ("violated" if spoil else "consistent"), finding


@pytest.mark.thorough
def test_a_rare_record_that_weighs_more_after_clipping_is_found():
    """Every record is tried alone, the rare one too."""
    rare = RECORDS[17]

    def weighted(w, batch, rng):
        weights = np.where(np.all(np.asarray(batch) == rare, axis=-1), 5.0, 1.0)[:, None]
        return ((clip(batch - w) * weights).sum(0) + noise(rng)) / BATCH

    for seed in range(3):
        audit = audit_training_step(step(weighted), RECORDS, events=EVENTS, **CLAIM | {"trials": 200, "seed": seed})
        (found,) = (finding for finding in audit.findings if finding.part == "clipping")
        assert found.verdict == "violated" and "one record alone" in found.reason


MANY = np.random.default_rng(1).normal(size=(20_000, 3))


def audit_of_many(gradient):
    def rare(n, rng):
        while True:
            yield np.flatnonzero(rng.random(n) < BATCH / len(MANY))

    events = Repeated(Sampled((Gaussian(MULTIPLIER),), "poisson", len(MANY), BATCH, "add_or_remove_one"), STEPS)
    audit = audit_training_step(step(gradient, rare), MANY, events=events, **CLAIM | {"trials": 200})
    return audit, {finding.part: finding for finding in audit.findings}


@pytest.mark.thorough
def test_many_records_are_looked_at_in_few_calls_and_the_finding_says_how_many():
    calls = []

    def counted(w, batch, rng):
        calls.append(len(batch))
        return right(w, batch, rng)

    audit, found = audit_of_many(counted)
    assert audit.verdict == "consistent"
    assert "576 of 20000 records alone, 19392 in minibatches of 64" in found["clipping"].reason
    assert "on 2000 of the 20000 records" in found["release"].reason
    assert len(calls) < 6_000 and sum(calls) < 60_000


@pytest.mark.parametrize("weight", first(1, [500.0, np.nan]))
def test_one_of_many_records_that_spoils_its_minibatch_is_found(weight):
    def weighted(w, batch, rng):
        weights = np.where(np.all(np.asarray(batch) == MANY[4_321], axis=-1), weight, 1.0)[:, None]
        return ((clip(batch - w) * weights).sum(0) + noise(rng)) / BATCH

    _, found = audit_of_many(weighted)
    assert found["clipping"].verdict == "violated"
    assert "one record alone has a gradient of norm" in found["clipping"].reason


def test_a_divisor_that_changes_far_from_all_the_records_is_found_in_few_set_ups():
    """``int(n * rate)`` changes once in twenty records; the two neighbours between which it does are named."""
    built = []

    def of_size(records):
        built.append(len(records))
        return step(divisor=len(records) // 400)

    found = divisor_finding(of_size, MANY[:19_999], 50, "add_or_remove_one")
    assert found.verdict == "violated" and "set up on 19600 and on 19599 records" in found.reason
    assert len(built) < 50


def test_a_gradient_with_a_generator_of_its_own_is_told_what_to_do():
    own = np.random.default_rng(0)

    def restless(w, batch, rng):
        return right(w, batch, own)

    with pytest.raises(InputError, match=r"gradient must draw all its randomness from rng.*seed the library's own"):
        audit_training_step(step(restless), RECORDS, events=EVENTS, **CLAIM | {"trials": 200})


def test_a_gradient_that_cannot_take_the_records_says_why_at_once():
    def fails(w, batch, rng):
        raise TypeError("a tensor was expected")

    with pytest.raises(InputError, match=r"^gradient must take a minibatch of the records, got TypeError: a tensor"):
        audit_training_step(step(fails), RECORDS, events=EVENTS, **CLAIM)


class OneEpoch:
    """A loader's sampler, as libraries have it: eight minibatches each time it is iterated over."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __iter__(self):
        return (np.flatnonzero(self.rng.random(N) < BATCH / N) for _ in range(8))


def test_a_sampler_of_one_epoch_is_asked_for_the_next_but_not_an_iterator_or_a_list():
    """Null: Poisson sampling, fixed seed."""
    assert sampling_finding(step(sampler=OneEpoch()), N, BATCH, "poisson", 0.99, 0).verdict == "consistent"
    assert len(step(sampler=lambda n, rng: OneEpoch()).minibatches(N, None, 50)) == 50
    for ends in (iter(OneEpoch()), list(OneEpoch()), []):
        found = sampling_finding(step(sampler=ends), N, BATCH, "poisson", 0.99, 0)
        assert found.verdict == "inconclusive" and "starts the next epoch" in found.change


def test_whole_numbers_stay_whole_numbers():
    """Tokens index an embedding: no minibatch of them, the empty one and outliers included, holds anything else."""
    table, tokens = np.random.default_rng(0).normal(size=(9, 3)), np.random.default_rng(1).integers(0, 9, (N, 2))

    def embedded(w, batch, rng):
        assert np.asarray(batch).dtype == tokens.dtype
        return right(w, table[np.asarray(batch)].sum(1), rng)

    audit = audit_training_step(step(embedded), tokens, events=EVENTS, **CLAIM | {"trials": 200})
    (found,) = (finding for finding in audit.findings if finding.part == "clipping")
    assert audit.verdict == "consistent" and "whole numbers were not made larger" in found.reason


def test_records_of_parts_with_the_outlier_of_the_advice():
    def first(w, batch, rng):
        return right(w, np.array([x for x, _ in batch]).reshape(-1, 3), rng)

    records = [(record, 1.0) for record in RECORDS]
    larger = lambda record, factor: (record[0] * factor, *record[1:])  # noqa: E731
    audit = audit_training_step(step(first), records, events=EVENTS, outlier=larger, **CLAIM | {"trials": 200})
    assert audit.verdict == "consistent"


def in_half(width, excess, single_after):
    """Clipped gradients that are summed in float16, with noise and division in float16 or, after it, in float32."""
    wide = np.float32 if single_after else np.float16

    def gradient(w, batch, rng):
        g = np.asarray(batch, np.float32)
        g = g * np.minimum(1, np.float32(excess) / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-6))
        total = np.zeros(width, np.float16)
        for row in g:
            total = total + row.astype(np.float16)
        return (total.astype(wide) + rng.normal(size=width).astype(wide)) / wide(BATCH)

    return TrainingStep(gradient, poisson, 1.0, 1 / BATCH, BATCH, np.zeros(width))


@pytest.mark.parametrize("width", [3, 200, 5_000])
@pytest.mark.parametrize("single_after", [False, True])
def test_rounding_in_float16_is_no_excess_but_one_percent_is(width, single_after):
    """A sum of 30 gradients in float16 is off by 1e-3 of one: four times what float32 may be."""
    records = np.random.default_rng(0).normal(size=(N, width)).astype(np.float32)
    for excess, verdict in ((1.0, "consistent"), (1.01, "violated")):
        found, _ = clipping_finding(in_half(width, excess, single_after), records, [], None, 0)
        assert found.verdict == verdict, found.reason


@pytest.mark.parametrize(("share", "verdict"), [(0.69, "consistent"), (0.64, "violated")])
def test_a_coordinate_that_is_low_by_chance_is_no_alarm(share, verdict):
    """Of 100 draws .69 of the claimed noise has p = 2e-6: one of four coordinates has that once in 39,000 audits."""
    draws = np.random.default_rng(1).normal(size=(3, 100, 4))
    draws /= draws.std(1, ddof=1, keepdims=True)
    draws[0, :, 3] *= share
    rows = iter(draws.reshape(-1, 4))

    def release(start, batch, rng):
        return np.zeros(4) if len(batch) == 4 else next(rows)

    step = TrainingStep(release, poisson, clip=CLIP, noise=1.0, divisor=1.0)
    found, _ = noise_finding(step, RECORDS, [BATCH], 200, 0.99, 0, empty=True)
    assert found.verdict == verdict, found.reason
