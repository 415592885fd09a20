"""A gradient that keeps something from call to call: told what was released from what was not, wherever it is kept."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from slices import first

from dpcheck import InputError, audit_one_run, audit_training_step, certify
from dpcheck.audits.canaries import along, made_canaries, planted
from dpcheck.audits.running.memory import Memory
from dpcheck.audits.step_parts import TrainingStep
from dpcheck.audits.step_state import state_finding
from dpcheck.events import Gaussian, Repeated

N, BATCH = 32, 8
RECORDS = np.random.default_rng(0).normal(size=(N, 2))


def poisson(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < BATCH / N)


def total(w, batch):
    g = batch - w
    return (g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True))).sum(0)


def noise(rng):
    return rng.normal(size=2)


def audit(gradient, seed, records=RECORDS):
    step = TrainingStep(gradient, poisson, clip=1.0, noise=1 / BATCH, divisor=BATCH, params=np.zeros(2))
    return audit_training_step(
        step, records, batch=BATCH, steps=100, epsilon=20.0, delta=1e-5, trials=200, confidence=0.99, seed=seed
    )


def in_a_closure(released):
    kept = [np.zeros(2)]

    def gradient(w, batch, rng):
        if released:
            release = (total(w, batch) + noise(rng)) / BATCH
            kept[0] = 0.9 * kept[0] + release
            return release + kept[0] * 0.1 - 0.1 * release
        kept[0] = 0.9 * kept[0] + total(w, batch)
        return (kept[0] + noise(rng)) / BATCH

    return gradient


class InAnAttribute:
    def __init__(self, released):
        self.velocity, self.released = np.zeros(2), released

    def __call__(self, w, batch, rng):
        alone = total(w, batch)
        release = (alone + noise(rng) + 0.5 * self.velocity) / BATCH
        self.velocity = release if self.released else alone
        return release


def in_params(released):
    def gradient(w, batch, rng):
        release = (total(w, batch) + noise(rng)) / BATCH
        w -= 0.5 * (release if released else total(w, batch) / BATCH)
        return release

    return gradient


KINDS = {"closure": in_a_closure, "attribute": InAnAttribute, "params": in_params}


@pytest.mark.parametrize("seed", first(1, range(2)))
@pytest.mark.parametrize("kind", first(1, KINDS))
def test_state_without_noise_is_found_and_named(kind, seed):
    seen = audit(KINDS[kind](False), seed)
    assert seen.verdict == "violated", kind
    state = next(finding for finding in seen.findings if finding.part == "state")
    named = {"closure": "kept", "attribute": "velocity", "params": "params"}[kind]
    assert state.verdict == "violated" and named in state.reason, state


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_state_that_was_released_is_no_finding(kind, seed):
    seen = audit(KINDS[kind](True), seed)
    verdicts = {finding.part: finding.verdict for finding in seen.findings}
    assert verdicts["state"] == "consistent" and verdicts["noise"] == "consistent", seen
    assert seen.verdict == "consistent", seen


def test_rounding_that_a_large_learning_rate_multiplies_is_no_finding():
    """In single precision it moves the next release by some millionths of the noise, where 138 thousandths leak."""

    def verdict(private, seed):
        kept = [np.zeros(20, np.float32)]

        def gradient(w, batch, rng):
            alone = total(kept[0], batch).astype(np.float32)
            release = (alone + rng.normal(size=20).astype(np.float32)) / np.float32(BATCH)
            kept[0] = kept[0] - (np.float32(0.01) * alone if private else np.float32(100) * release)
            return release

        step = TrainingStep(gradient, poisson, clip=1.0, noise=1 / BATCH)
        records = np.random.default_rng(0).normal(size=(N, 20)).astype(np.float32)
        memory = Memory(step.gradient, partial(step.gradient, step.params), looks=math.inf)
        return state_finding(step, memory, records, BATCH, seed).verdict

    assert [verdict(private=False, seed=seed) for seed in range(5)] == ["consistent"] * 5
    assert [verdict(private=True, seed=seed) for seed in range(5)] == ["violated"] * 5


def test_state_that_a_library_draws_noise_for_is_not_judged():
    kept = np.zeros(2)

    def gradient(w, batch, rng):
        kept[:] = 0.9 * kept + total(w, batch)
        return (kept + np.random.default_rng(int(rng.integers(2**60))).normal(size=2)) / BATCH

    state = next(finding for finding in audit(gradient, 0).findings if finding.part == "state")
    assert state.verdict == "inconclusive" and "kept" in state.reason, state


def test_randomness_of_its_own_is_refused_still():
    own = np.random.default_rng(0)
    with pytest.raises(InputError, match="rng"):
        audit(lambda w, batch, rng: (total(w, batch) + noise(own)) / BATCH, 0)


def test_code_that_sets_the_step_up_is_looked_at_too():
    def code(records):
        return TrainingStep(in_a_closure(False), poisson, 1.0, 1 / BATCH, BATCH, np.zeros(2))

    seen = audit_training_step(
        code, RECORDS, batch=BATCH, steps=100, epsilon=20.0, delta=1e-5, trials=400, confidence=0.99
    )
    assert {"state": "violated"}.items() <= {f.part: f.verdict for f in seen.findings}.items()


@pytest.mark.parametrize("seed", range(3))
def test_steps_with_less_noise_count_more(seed):
    """Noise that decays from what is claimed: the sums of all steps alike do not show it in every run."""
    width, steps, scale = 1_000, 20, 8.0
    records = np.zeros((1, width))
    canaries = made_canaries(records, width)

    def train(data, rng):
        clipped = (data / np.maximum(1, np.linalg.norm(data, axis=1, keepdims=True))).sum(0)
        return np.array([clipped + rng.normal(scale=scale * 0.8**step, size=width) for step in range(steps)])

    claimed = certify(Repeated(Gaussian(scale), steps), 1e-5).epsilon
    seen = audit_one_run(planted(train, records, canaries, along), width, epsilon=claimed, delta=1e-5, seed=seed)
    assert seen.verdict == "violated" and seen.epsilon_lower > 4, seen


def test_steps_that_move_along_no_canary_say_nothing():
    assert along(np.zeros((2, 40)), np.eye(40)).tolist() == [0.0] * 40
