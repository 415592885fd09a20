"""What a step tells later ones beside its release is found and named; what is made of releases alone is let through."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.algorithms.declaration import Algorithm
from dpcheck.checks.carried import carried
from dpcheck.checks.context import Context
from dpcheck.checks.declared import Declared, candidates
from dpcheck.checks.sandwich import sandwiches
from dpcheck.events import Gaussian, Repeated

DATA = np.linspace(-1, 1, 24).reshape(12, 2)
SCALE = 4.0
MOMENTUM, BEST = np.zeros(2), [np.inf]
COUNT = 0


def total(data):
    return (data / np.maximum(1, np.linalg.norm(data, axis=1, keepdims=True))).sum(axis=0)


def noisy(value, rng):
    return value + rng.normal(scale=SCALE, size=2)


def descend(state, released):
    return {**state, "w": state["w"] - 0.01 * released}


# Faults: something without noise is kept


def momentum_in_place(state, data, rng):
    state["m"][:] = 0.9 * state["m"] + total(data)
    return noisy(state["m"], rng)


def second_moment_in_place(state, data, rng):
    gradient = total(data)
    state["m"][:] = 0.99 * state["m"] + 0.01 * gradient**2
    return noisy(gradient / np.sqrt(state["m"] + 1), rng)


def in_a_module_variable(state, data, rng):
    MOMENTUM[:] = 0.9 * MOMENTUM + total(data)
    return noisy(MOMENTUM, rng)


def stopping_early(state, data, rng):
    loss = float(np.square(data - state["w"]).sum())
    BEST[0] = min(BEST[0], loss)
    return noisy(total(data) * (loss <= BEST[0]), rng)


def in_a_closure():
    previous = None

    def step(state, data, rng):
        nonlocal previous
        gradient = total(data)
        change = gradient if previous is None else gradient - previous
        previous = gradient
        return noisy(change, rng)

    return step


class Trainer:
    def __init__(self, private):
        self.mean, self.private = np.zeros(2), private

    def step(self, state, data, rng):
        released = noisy(total(data) - self.mean, rng)
        self.mean = 0.5 * self.mean + 0.5 * (total(data) if self.private else released)
        return released


# Clean: what is kept is public, or made of what was released


def momentum_of_releases(state, data, rng):
    released = noisy(total(data), rng)
    state["m"][:] = 0.9 * state["m"] + released
    state["w"] -= 0.01 * state["m"]
    return released


def adam(state, released):
    m, count = 0.9 * state["m"] + 0.1 * released, state["count"] + 1
    return {"w": state["w"] - 0.1 * m / (1 - 0.9**count), "m": m, "count": count}


def counting(state, data, rng):
    global COUNT
    COUNT += 1
    return total(data) + rng.normal(scale=SCALE * np.sqrt(COUNT), size=2)


def two_draws(state, data, rng):
    released = total(data) + rng.normal(scale=2.0, size=2) + rng.normal(scale=2.0, size=2)
    state["m"] += released
    return released - 0.1 * state["m"]


def of_a_minibatch(state, data, rng):
    return noisy(total(data[rng.choice(len(data), 5, replace=False)]), rng)


def the_state_itself(state, data, rng):
    return noisy(state - 0.1 * total(data), rng)


def own(step, update=descend, **fields):
    start = {"w": np.zeros(2), "m": np.zeros(2), "count": 0}
    defaults = {"start": start, "steps": 6, "events": Repeated(Gaussian(SCALE / 2), 6)}
    return Algorithm(
        name="own", epsilon=8.0, delta=1e-5, data=DATA, replacements=[np.array([1.0, 0]), np.array([-1.0, 0])],
        step=step, update=update, **defaults | fields,
    )  # fmt: skip


FAULTS = {
    "momentum in place": (own(momentum_in_place), "state['m']"),
    "second moment in place": (own(second_moment_in_place), "state['m']"),
    "a module variable": (own(in_a_module_variable), "MOMENTUM"),
    "early stopping": (own(stopping_early, steps=8, events=None), "BEST"),
    "a closure": (own(in_a_closure()), "previous"),
    "an attribute": (own(Trainer(private=True).step), "self.mean"),
}
CLEAN = {
    "momentum of releases, in place": own(momentum_of_releases, update=lambda state, released: state),
    "Adam of releases": own(of_a_minibatch, update=adam),
    "a public counter": own(counting),
    "two draws": own(two_draws),
    "a minibatch": own(of_a_minibatch),
    "a mean of releases in an attribute": own(Trainer(private=False).step),
    "a state that is released": own(the_state_itself, update=None, start=np.zeros(2)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_has_no_noise_is_found_and_named(name):
    given, place = FAULTS[name]
    for seed in range(5):
        found = carried(given, candidates(given), seed)
        assert found is not None and found.certain, (name, seed, found)
        assert place in found.reason


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_made_of_releases_alone_is_let_through(name):
    given = CLEAN[name]
    for seed in range(5):
        assert carried(given, candidates(given), seed) is None, (name, seed)


@pytest.mark.thorough
def test_nothing_is_certified_from_events_that_do_not_describe_the_run():
    given = own(momentum_in_place)
    findings = {finding.id.partition(".")[2]: finding for finding in sandwiches(Context(), Declared(given))}
    assert findings["certificate"].verdict == "inconclusive"
    assert all(finding.certified is None for finding in findings.values())


def test_a_step_with_randomness_of_its_own_is_said_to_have_it():
    source = np.random.default_rng(0)
    found = carried(own(lambda state, data, rng: noisy(total(data), source)), [DATA[0]], 0)
    assert found is not None and "must come from rng" in found.reason


def test_a_state_may_hold_words_and_nothing():
    def step(state, data, rng):
        state["phase"] = "late"
        return noisy(total(data), rng)

    given = own(step, start={"w": np.zeros(2), "phase": "early", "last": None})
    assert carried(given, candidates(given), 0) is None


def test_a_run_begins_anew():
    given = own(in_a_closure())
    one, other = (given.transcript(DATA, np.random.default_rng(0)) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_a_run_copies_its_state_once():
    """A copy costs an array of JAX as much as a step."""
    copies = []

    class State(np.ndarray):
        def __deepcopy__(self, memo):
            copies.append(self)
            return self.copy()

    given = own(
        lambda state, data, rng: noisy(total(data), rng).view(State), start=np.zeros(2).view(State), update=None
    )
    for run in (given.transcript, given.output):
        run(DATA, np.random.default_rng(0))
    assert len(copies) == 2
