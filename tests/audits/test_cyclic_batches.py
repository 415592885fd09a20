"""Minibatches of records that take turns: what is accounted for a cycle is what the sampler draws."""

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
    poisson,
    right,
    step,
)

from dpcheck import InputError, audit_training_step, certify
from dpcheck.audits.step_parts import TrainingStep
from dpcheck.audits.step_sampling import cyclic_sampling_finding
from dpcheck.events import Gaussian, Repeated, Sampled

CLAIM = {"batch": BATCH, "steps": STEPS}


def in_turns(rate, equal=False, again=False):
    """Two groups that take turns: of equal size or each record's own coin, dealt once or, wrongly, at each turn."""

    def draw(n, rng):
        group = rng.permutation(n) % 2 if equal else rng.integers(2, size=n)
        number = 0
        while True:
            if again:
                group = rng.integers(2, size=n)
            yield np.flatnonzero((group == number % 2) & (rng.random(n) < rate))
            number += 1

    return draw


TURNS = CLAIM | {"scheme": "cyclic_poisson", "cycle": 2, "trials": 200, "epsilon": 60.0, "delta": 1e-5}


@pytest.mark.parametrize(
    ("sampler", "verdict", "words"),
    first(
        2,
        [
            (in_turns(0.5), "consistent", "each record has one turn in 2"),
            (in_turns(0.5, equal=True), "inconclusive", "dpcheck does not certify this for records that are added"),
            (in_turns(0.5, again=True), "violated", "of a cycle of 2"),
            (in_turns(0.7), "violated", "not drawn at their turns as accounted"),
            (poisson, "violated", "of a cycle of 2"),
        ],
    ),
)
def test_cyclic_poisson_sampling(sampler, verdict, words):
    """Null: cyclic Poisson sampling; level 5 %, fixed seed. A record takes part in at most half of the steps."""
    audit = audit_training_step(step(sampler=sampler), RECORDS, **TURNS)
    found = {finding.part: finding for finding in audit.findings}
    assert found["sampling"].verdict == verdict and words in found["sampling"].reason
    half_of_them = Repeated(Sampled((Gaussian(MULTIPLIER),), "poisson", N, 2 * BATCH, "add_or_remove_one"), STEPS // 2)
    assert audit.certified == certify(half_of_them, 1e-5).epsilon
    assert {found[part].verdict for part in ("accounting", "noise", "clipping")} == {"consistent"}


def test_groups_of_equal_size_leave_the_rest_out_and_are_certified_for_records_that_are_replaced():
    found = cyclic_sampling_finding(step(sampler=in_turns(0.5, True)), N, BATCH, 2, "replace_one", 0.99, 0)
    assert found.verdict == "consistent"

    def all_but_the_last(n, rng):
        yield from in_turns(0.5, equal=True)(n - n % 2, rng)

    sampled = step(sampler=all_but_the_last)
    assert cyclic_sampling_finding(sampled, 25, 6, 2, "replace_one", 0.99, 0).verdict == "consistent"


def test_noise_that_is_correlated_over_steps_is_not_certified():
    made = TrainingStep(right, in_turns(0.5), CLIP, CLIP * MULTIPLIER / BATCH, BATCH, np.zeros(3), correlated=True)
    audit = audit_training_step(made, RECORDS, **TURNS)
    found = {finding.part: finding for finding in audit.findings}
    assert audit.verdict == "inconclusive" and np.isnan(audit.certified) and np.isnan(audit.audited)
    assert found["accounting"].reason.startswith("dpcheck does not certify noise that depends on")
    assert {found[part].verdict for part in ("sampling", "clipping")} == {"consistent"}
    assert "release" not in found


def test_a_cycle_needs_its_scheme_and_enough_records():
    with pytest.raises(InputError, match="cycle must be 1 unless scheme is cyclic_poisson, got 2"):
        audit_training_step(step(), RECORDS, **TURNS | {"scheme": "poisson"})
    with pytest.raises(InputError, match="cycle must be at most 4, records over batch, got 5"):
        audit_training_step(step(), RECORDS, **TURNS | {"cycle": 5})
