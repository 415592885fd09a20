"""Sources other than rng: recorded, replayed and silenced like rng, seeds named, and all put back.

Deterministic at fixed seeds; draws that coincide have probability 0. The clean twins have exactly the noise of their
claim, so that any slip in scale or law would be an alarm.
"""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
from dataclasses import dataclass, replace
from random import gauss

import numpy as np
import pytest
import scipy.stats
from numpy.random import default_rng, laplace

from dpcheck.audits.membership import audit_privacy
from dpcheck.audits.named_part import named_part
from dpcheck.audits.randomness import audit_randomness
from dpcheck.audits.running.recorder import Recorder
from dpcheck.audits.running.sources import drawing_from, replaced
from dpcheck.errors import InputError

# ruff: noqa: NPY002  # the old sources are what is tested
DATA, NEIGHBOUR = [0, 1, 1], [0, 1, 2]
KEPT, KEPT_SEEDED, KEPT_OLD = default_rng(), default_rng(7), np.random.RandomState(3)
GAUSSIAN = {"epsilon": 0.6, "delta": 1e-3}  # of four standard deviations: 0.592
CLOCK = iter(range(10**9))


class Keeper:
    """Makes its generator when it is first called."""

    rng: np.random.Generator | None = None

    def __call__(self, x):
        self.rng = self.rng or default_rng()
        return sum(x) + self.rng.laplace()


def seeds_numpy(x):
    np.random.seed(0)
    return sum(x) + np.random.laplace()


def puts_the_state_back(x):
    """What it draws with its seed is public; its noise comes from where numpy.random was before."""
    before = np.random.get_state()
    np.random.seed(0)
    weight = 1 + np.random.random()
    np.random.set_state(before)
    return sum(x) + np.random.laplace() + weight


def one_seed_twice(x):
    seed = secrets.randbits(64)
    return np.array([sum(x) + default_rng(seed).laplace(scale=2.0), x[2] + default_rng(seed).laplace(scale=2.0)])


CLEAN = {
    "numpy.random": (lambda x: sum(x) + np.random.laplace(), {"epsilon": 1.0}),
    "a name of its own": (lambda x: sum(x) + laplace(0, 1), {"epsilon": 1.0}),
    "randn": (lambda x: sum(x) + 4 * np.random.randn(), GAUSSIAN),
    "scipy": (lambda x: sum(x) + scipy.stats.laplace.rvs(), {"epsilon": 1.0}),
    "default_rng": (lambda x: sum(x) + default_rng().laplace(), {"epsilon": 1.0}),
    "RandomState": (lambda x: sum(x) + np.random.RandomState().laplace(), {"epsilon": 1.0}),
    "random": (lambda x: sum(x) + gauss(0, 4), GAUSSIAN),
    "random, by name": (lambda x: sum(x) + random.normalvariate(sigma=4.0, mu=0.0), GAUSSIAN),
    "random.Random": (lambda x: sum(x) + random.Random().gauss(0, 4), GAUSSIAN),
    "secrets": (lambda x: sum(x) + secrets.SystemRandom().gauss(0, 4), GAUSSIAN),
    "a fresh seed": (lambda x: sum(x) + default_rng(secrets.randbits(64)).laplace(), {"epsilon": 1.0}),
    "a seed of rng": (lambda x, rng: sum(x) + default_rng(rng.integers(2**63)).laplace(), {"epsilon": 1.0}),
    "a seed of the system": (
        lambda x: sum(x) + default_rng(int.from_bytes(os.urandom(8), "little")).laplace(), {"epsilon": 1.0},
    ),
    "kept": (lambda x: sum(x) + KEPT.laplace(), {"epsilon": 1.0}),
    "kept by an object": (Keeper(), {"epsilon": 1.0}),
    "a seed that is put back": (puts_the_state_back, {"epsilon": 1.0}),
}  # fmt: skip
NOISE = default_rng().laplace()
VIOLATED = {
    "too little": (lambda x: sum(x) + np.random.laplace(scale=0.5), "too small by a factor of 2"),
    "too little by name": (lambda x: sum(x) + gauss(0, 1), "too small by a factor of"),
    "seeded": (seeds_numpy, "numpy.random.seed is given 0"),
    "default_rng(0)": (lambda x: sum(x) + default_rng(0).laplace(), "numpy.random.default_rng is given 0"),
    "RandomState(0)": (lambda x: sum(x) + np.random.RandomState(0).laplace(), "RandomState is given 0"),
    "Random(0)": (lambda x: sum(x) + random.Random(0).gauss(0, 4), "random.Random is given 0"),
    "random.seed": (lambda x: random.seed(1) or sum(x) + random.gauss(0, 4), "random.seed is given 1"),
    "a seed of the data": (lambda x: sum(x) + default_rng(sum(x)).laplace(), "given 2 on data and 3 on neighbour"),
    "kept with a seed": (lambda x: sum(x) + KEPT_SEEDED.laplace(), "KEPT_SEEDED, which was seeded with 7"),
    "noise of before": (lambda x: sum(x) + NOISE, "nothing is drawn"),
    "no noise on one": (lambda x: np.array([sum(x) + laplace(), float(max(x))]), "no noise is in output[1]"),
}
OPEN = {
    "one seed twice": (one_seed_twice, "a key or a seed is used again"),
    "scale of the data": (lambda x: sum(x) + laplace(scale=max(x)), "scale of draw 0"),
    "a seed of few values": (lambda x, rng: sum(x) + default_rng(rng.integers(1000)).laplace(), "few values"),
    "partly unseen": (
        lambda x, rng: sum(x) + rng.laplace() + np.random.Generator(np.random.PCG64(rng.integers(2**63))).normal(),
        "draws from integers",
    ),
    "the time": (lambda x: sum(x) + default_rng(next(CLOCK)).laplace(), "changes from call to call"),
    "kept with a seed unseen": (lambda x: sum(x) + KEPT_OLD.laplace(), "KEPT_OLD, which was given a seed"),
    "bits": (lambda x: (x[2] > 1) ^ (secrets.randbelow(4) == 0), "it draws from bytes"),
}


def held():
    """Everything of the caller's that an audit passes through."""
    places = random, np.random, np.random.mtrand, random.SystemRandom
    names = [{name: id(value) for name, value in vars(place).items()} for place in places]
    states = (
        random.getstate(),
        str(np.random.get_state()),
        str(KEPT_SEEDED.bit_generator.state),
        KEPT,
        gauss,
        laplace,
        os.urandom,
    )
    return names, states, KEPT.bit_generator.state, str(KEPT_OLD.get_state()), scipy.stats.laplace._random_state


@pytest.fixture(autouse=True)
def nothing_is_left_changed():
    before = held()
    yield
    assert held() == before


@pytest.fixture(autouse=True)
def as_in_a_fresh_process(monkeypatch):
    """Other tests may have seeded numpy.random, which is said."""
    monkeypatch.setattr("dpcheck.audits.observed_draws.numpy_was_seeded", lambda: False)


def test_numpy_that_was_seeded_before_is_said(monkeypatch):
    monkeypatch.undo()
    before = np.random.get_state()
    np.random.seed(3)
    try:
        found = audit_randomness(CLEAN["numpy.random"][0], DATA, NEIGHBOUR)
    finally:
        np.random.set_state(before)
    assert found.verdict == "inconclusive"
    assert any("was seeded before" in seen.reason for seen in found.observations)


@pytest.mark.parametrize("name", CLEAN)
def test_clean_twins_keep_exactly_their_claim(name):
    mechanism, claim = CLEAN[name]
    found = audit_randomness(mechanism, DATA, NEIGHBOUR, **claim)
    assert found.verdict == "consistent"
    assert claim["epsilon"] * 0.98 < found.implied.epsilon <= claim["epsilon"] * (1 + 1e-9)
    assert any("test_sources.py" in seen.reason for seen in found.observations if seen.topic == "source")


@pytest.mark.parametrize("name", VIOLATED)
def test_faults_are_found_and_named(name):
    mechanism, words = VIOLATED[name]
    found = audit_randomness(mechanism, DATA, NEIGHBOUR, epsilon=1.0, delta=0.0 if "name" not in name else 1e-3)
    assert found.verdict == "violated"
    assert words in " ".join(seen.reason for seen in found.observations)


@pytest.mark.parametrize("name", OPEN)
def test_what_a_proof_must_account_for_is_said(name):
    mechanism, words = OPEN[name]
    found = audit_randomness(mechanism, DATA, NEIGHBOUR)
    assert found.verdict == "inconclusive" or name == "scale of the data"
    assert any(words in seen.reason for seen in found.observations if seen.verdict == "inconclusive")


@pytest.mark.thorough
def test_no_false_alarm_in_many_audits():
    """Null: each has its claim's noise. The tests are exact, so that none of 221 audits may be violated."""
    with replaced():  # once for all
        for mechanism, claim in CLEAN.values():
            for seed in range(13):
                assert audit_randomness(mechanism, DATA, NEIGHBOUR, seed=seed, **claim).verdict == "consistent"


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_an_exception_leaves_nothing_changed(end):
    def mechanism(x):
        random.seed(1)
        np.random.seed(1)
        KEPT_SEEDED.normal(), os.urandom(1)
        raise end

    with pytest.raises(InputError if end is ValueError else end):
        audit_randomness(mechanism, DATA, NEIGHBOUR)


def test_other_threads_notice_nothing():
    """Outside the context, names that are replaced do what they did: here they go on from a seed."""
    before = random.getstate()
    random.seed(5)
    expected = [random.random(), random.gauss(0, 1)]
    random.seed(5)
    drawn, recorder = [], Recorder(0)
    with drawing_from(recorder):
        thread = threading.Thread(target=lambda: drawn.extend([random.random(), random.gauss(0, 1), os.urandom(4)]))
        thread.start()
        thread.join()
    random.setstate(before)
    assert drawn[:2] == expected
    assert recorder.draws == []


def test_a_thread_of_the_mechanism_is_out_of_reach_which_is_said():
    def mechanism(x):
        drawn = []
        thread = threading.Thread(target=lambda: drawn.append(secrets.SystemRandom().random()))
        thread.start()
        thread.join()
        return sum(x) + drawn[0]

    found = audit_randomness(mechanism, DATA, NEIGHBOUR)
    assert found.verdict == "inconclusive"
    assert "cannot be reached" in found.observations[0].reason


def test_a_generator_that_outlives_its_run_draws_on():
    keeper = Keeper()
    with drawing_from(Recorder(0)):
        keeper([1])
    assert keeper([1]) != keeper([1])


def test_classes_stay_classes():
    with drawing_from(Recorder(0)):
        assert isinstance(KEPT_OLD, np.random.RandomState)
        assert isinstance(np.random.RandomState(), np.random.RandomState)
        assert isinstance(random.Random(1), random.Random)
        assert not isinstance(KEPT_OLD, random.Random)


def test_an_unseeded_mechanism_becomes_repeatable():
    def mechanism(x, rng):
        with drawing_from(rng):
            return sum(x) + np.random.laplace(scale=0.2) + random.gauss(0, 0.1) + secrets.randbelow(2)

    with replaced():
        one, other = (audit_privacy(mechanism, DATA, NEIGHBOUR, epsilon=1.0, trials=400) for _ in range(2))
    assert one.verdict == "violated"
    assert one.event == other.event


def first_line(function):
    return function.__code__.co_firstlineno


def noisy(x, rng):
    total = sum(x)
    return total + rng.laplace(scale=0.25)


def test_the_draw_at_fault_is_named_with_its_line():
    audit = audit_privacy(noisy, DATA, NEIGHBOUR, epsilon=1.0, trials=400)
    hint = named_part(audit, noisy, DATA, NEIGHBOUR)
    assert f"test_sources.py:{first_line(noisy) + 2}" in hint
    assert "factor of 4" in hint
    many = named_part(audit, lambda x, rng, size: np.array([noisy(x, rng)] * size), DATA, NEIGHBOUR, vectorized=True)
    assert many and many == hint.partition("; line")[0]


def test_nothing_is_named_where_nothing_shows():
    audit = audit_privacy(noisy, DATA, NEIGHBOUR, epsilon=1.0, trials=400)
    assert named_part(audit, lambda x, rng: (sum(x) + rng.integers(0, 6)) % 7, DATA, NEIGHBOUR) == ""
    assert named_part(replace(audit, verdict="consistent"), noisy, DATA, NEIGHBOUR) == ""


def test_a_slow_mechanism_is_called_a_few_times_only():
    audit = audit_privacy(noisy, DATA, NEIGHBOUR, epsilon=1.0, trials=400)
    calls = []

    def slow(x, rng):
        calls.append(time.sleep(0.4))
        return noisy(x, rng)

    named_part(audit, slow, DATA, NEIGHBOUR)
    assert len(calls) <= 12  # two looks, each for two seconds and the call that is going on


def test_the_hint_says_nothing_that_was_not_seen():
    audit = audit_privacy(noisy, DATA, NEIGHBOUR, epsilon=1.0, trials=400)

    def loop(x, rng):
        total = 0
        for value in x:
            total += value
        return total + int(rng.integers(3))

    many = [*range(50_000)]
    assert "nothing is drawn" not in named_part(audit, loop, many, [*many[:-1], 0])
    assert named_part(audit, lambda x, rng: float(x) + int(rng.integers(3)), np.array(3.0), np.array(2.0)) == ""


def test_a_hint_on_code_without_a_file_has_its_line_alone():
    audit = audit_privacy(noisy, DATA, NEIGHBOUR, epsilon=1.0, trials=400)
    typed = {}
    exec("def low(x, rng):\n  y = rng.laplace()\n  return max(y, 0) + len([v for v in x if v > 1])", typed)
    assert named_part(audit, typed["low"], DATA, NEIGHBOUR) == "line 3 reads the data after the noise"


class Keeps:
    def __init__(self, seed, how):
        self.source, self.how = np.random.default_rng(seed), how

    def __call__(self, x, rng):
        return self.how(x, self.source, rng)


@pytest.mark.parametrize(
    ("seed", "how", "verdict"),
    [
        (7, lambda x, kept, rng: sum(x) + kept.laplace(), "violated"),
        (7, lambda x, kept, rng: sum(x) - np.log(kept.random()), "violated"),
        (7, lambda x, kept, rng: sum(x) + kept.laplace() + rng.laplace(), "consistent"),
        (7, lambda x, kept, rng: np.array(x)[kept.permutation(len(x))].sum() + rng.laplace(), "consistent"),
        (2**60 + 1, lambda x, kept, rng: sum(x) + kept.laplace(), "inconclusive"),
        ([1, 2], lambda x, kept, rng: sum(x) + kept.laplace(), "inconclusive"),
        (None, lambda x, kept, rng: sum(x) + kept.laplace(), "consistent"),
    ],
)
def test_a_kept_seed_is_a_fault_where_the_noise_hangs_on_it(seed, how, verdict):
    keeps = Keeps(seed, how)
    before = keeps.source, keeps.source.bit_generator.state
    found = audit_randomness(keeps, DATA, NEIGHBOUR, epsilon=1.0)
    assert found.verdict == verdict
    assert (keeps.source, keeps.source.bit_generator.state) == before


def test_what_a_frozen_object_keeps_is_said_to_be_out_of_reach():
    @dataclass(frozen=True)
    class Frozen:
        source: np.random.Generator

        def __call__(self, x, rng):
            return sum(x) + self.source.laplace()

    found = audit_randomness(Frozen(np.random.default_rng()), DATA, NEIGHBOUR, epsilon=1.0)
    assert found.verdict == "inconclusive"
    assert "cannot be reached" in found.observations[0].reason
