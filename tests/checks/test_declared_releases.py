"""Each release against its event, in loops as people write them, and the pair of data sets that shows most."""

from __future__ import annotations

import numpy as np
import pytest
from slices import first

from dpcheck.algorithms.declaration import Algorithm
from dpcheck.checks.context import Context
from dpcheck.checks.declared import Declared, worst_pair
from dpcheck.checks.declared_releases import releases
from dpcheck.events import Gaussian, Laplace, Repeated, Sampled

N, D = 12, 2
DATA = np.linspace(-1, 1, N * D).reshape(N, D)
Z = 4.0
EXTREME = [np.array([1.0, 0.0]), np.array([-1.0, 0.0]), np.array([0.0, 1.0])]


def clipped(data):
    return data / np.maximum(1, np.linalg.norm(data, axis=1, keepdims=True))


def noisy_sum(data, rng, scale=Z):
    return clipped(data).sum(axis=0) + rng.normal(scale=scale, size=D)


def adam(scale):
    def step(state, data, rng):
        g = noisy_sum(data, rng, scale)
        m, v = 0.9 * state["m"] + 0.1 * g, 0.99 * state["v"] + 0.01 * g**2
        return {"w": state["w"] - 0.1 * m / (np.sqrt(v) + 1e-8), "m": m, "v": v}

    return step


def momentum(scale):
    def step(state, data, rng):
        m = 0.9 * state["m"] + noisy_sum(data, rng, scale)
        return {"w": state["w"] - 0.1 * m, "m": m, "v": state["v"]}

    return step


def normalised(scale):
    """A release that no noise gives back: its length is lost."""

    def step(state, data, rng):
        g = noisy_sum(data, rng, scale)
        return state | {"w": g / np.linalg.norm(g)}

    return step


def two_answers(first, second):
    def step(state, data, rng):
        return np.r_[noisy_sum(data, rng, first), noisy_sum(data, rng, second)]

    return step


def poisson(divisor, scale=Z):
    def step(state, data, rng):
        batch = data[rng.random(len(data)) < 0.5]
        return noisy_sum(batch, rng, scale) / divisor(data, batch)

    return step


def poisson_events(multiplier, steps=4):
    return Repeated(Sampled((Gaussian(multiplier),), "poisson", N, N / 2, "add_or_remove_one"), steps)


def own(step, **fields):
    defaults = {
        "start": {"w": np.zeros(D), "m": np.zeros(D), "v": np.zeros(D)}, "steps": 4,
        "events": Repeated(Gaussian(Z / 2), 4), "replacements": EXTREME, "data": DATA, "delta": 1e-5,
    }  # fmt: skip
    return Algorithm(name="own", epsilon=8.0, step=step, **defaults | fields)


def seen(given, seed=0):
    (finding,) = releases(Context(seed=seed), Declared(given))
    return finding


def laplace_of_uniform(rng, scale):
    u = rng.random() - 0.5
    return -scale * np.sign(u) * np.log(1 - 2 * abs(u))


def rarely_bare(chance, times=1):
    def step(state, data, rng):
        if all(rng.random() < chance for _ in range(times)):
            return data.sum()
        return data.sum() + rng.normal(scale=5.0)

    return step


def of_numbers(step, **fields):
    return own(step, **{"data": np.zeros(8), "replacements": [0.0, 1.0], "start": 0.0} | fields)


KEPT = {
    "Adam": own(adam(Z)),
    "momentum": own(momentum(Z)),
    "two Gaussians a step, in blocks": own(
        two_answers(4.0, 8.0), start=np.zeros(4), events=[Repeated(Gaussian(2.0), 4), Repeated(Gaussian(4.0), 4)]
    ),
    "two Gaussians a step, one after the other": own(
        two_answers(4.0, 8.0), start=np.zeros(4), events=[Gaussian(2.0), Gaussian(4.0)] * 4
    ),
    "Poisson batches": own(poisson(lambda data, batch: 1), start=np.zeros(D), events=poisson_events(Z)),
    "Poisson batches over a fixed size": own(
        poisson(lambda data, batch: 6), start=np.zeros(D), events=poisson_events(Z)
    ),
}
BROKEN = {
    "Adam with less noise": (own(adam(0.9 * Z)), "1.11 times what is declared"),
    "momentum with less noise": (own(momentum(0.9 * Z)), "1.11 times what is declared"),
    "two answers, one event's worth of noise": (
        own(two_answers(4.0, 4.0), start=np.zeros(4), events=[Repeated(Gaussian(2.0), 4), Repeated(Gaussian(4.0), 4)]),
        "1.26 times what is declared",
    ),
    "a mean over the records there are": (
        own(poisson(lambda data, batch: len(data) / 2), start=np.zeros(D), events=poisson_events(Z)),
        "the noise itself changes with a record",
    ),
    "a mean over the batch there is": (
        own(poisson(lambda data, batch: max(len(batch), 1)), start=np.zeros(D), events=poisson_events(Z)),
        "the noise itself changes with a record",
    ),
    "noise that counts the records": (
        own(
            lambda state, data, rng: noisy_sum(data[rng.random(len(data)) < 0.5], rng) + len(data), start=np.zeros(D),
            events=poisson_events(Z),
        ),
        "times what is declared",
    ),
}  # fmt: skip


UNREAD = {
    "Laplace from a uniform number": (lambda s, data, rng: data.sum() + laplace_of_uniform(rng, 2.0), "rng.random"),
    "a geometric number": (lambda s, data, rng: data.sum() + rng.geometric(0.3), "rng.geometric"),
    "a seed for another generator": (
        lambda s, data, rng: data.sum() + np.random.default_rng(rng.integers(2**31)).normal(scale=5.0), "rng.integers"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREAD)
def test_noise_that_is_drawn_otherwise_is_no_missing_noise(name):
    step, method = UNREAD[name]
    finding = seen(of_numbers(step))
    assert finding.verdict == "not checked"
    assert f"its noise is drawn by {method}" in finding.reason


@pytest.mark.parametrize(("chance", "delta", "verdict"), [
    (1e-4, 1e-5, "violated"), (1e-6, 0.0, "violated"), (1e-7, 1e-5, "consistent"), (0.0, 0.0, "consistent"),
])  # fmt: skip
def test_a_branch_that_no_run_takes_is_found_unless_delta_pays_for_it(chance, delta, verdict):
    finding = seen(of_numbers(rarely_bare(chance), delta=delta, events=Repeated(Gaussian(5.0), 4)))
    assert finding.verdict == verdict, finding.reason
    if verdict == "violated":
        assert "where rng.random draws" in finding.reason


def test_two_rare_choices_are_no_branch_as_rare_as_one():
    """Both together have a chance of 1e-6, for which delta pays."""
    assert seen(of_numbers(rarely_bare(1e-3, times=2), events=Repeated(Gaussian(5.0), 4))).verdict == "consistent"


@pytest.mark.parametrize("name", first(1, KEPT))
def test_what_is_as_declared_is_let_through(name):
    for seed in range(5):
        finding = seen(KEPT[name], seed)
        assert finding.verdict == "consistent", (seed, finding.reason)
        assert max(row["share"] for row in finding.evidence["releases"]) > 0.99


@pytest.mark.parametrize("name", first(1, BROKEN))
def test_what_is_not_is_found(name):
    given, words = BROKEN[name]
    for seed in range(5):
        finding = seen(given, seed)
        assert finding.verdict == "violated", (seed, finding.reason)
        assert words in finding.reason


def test_what_cannot_be_read_off_is_said():
    assert "no noise makes it the same" in seen(own(normalised(Z))).reason
    mixed = own(two_answers(4.0, 4.0), start=np.zeros(4), events=[Gaussian(2.0), Laplace(4.0)] * 4)
    assert "as many Gaussian ones" in seen(mixed).reason
    sampled = [Repeated(Sampled((Gaussian(z),), "without_replacement", N, N), 4) for z in (2.0, 4.0)]
    assert seen(own(two_answers(4.0, 8.0), start=np.zeros(4), events=sampled)).verdict == "not checked"


def test_an_exact_leak_is_taken_before_a_large_but_noisy_shift():
    """A record moves the sum by 2 in noise of 1000, and, where it is the last, shows in what has no noise."""

    def step(state, data, rng):
        total = data.sum() * 1000 + rng.normal(scale=1e6)
        return np.array([total, 0.001 if data[-1] == 0.5 else 0.0])

    given = own(step, data=np.zeros(N), replacements=[1.0, -1.0, 0.5], start=np.zeros(2))
    pair = worst_pair(given, 0)
    assert (pair.data[-1] == 0.5) != (pair.neighbour[-1] == 0.5), pair.words


def test_two_replacements_are_compared_with_each_other():
    """Where all other records are 0, a record counts: -1 and 1 are twice as far apart as either is from 0."""

    def step(state, data, rng):
        return data[0] * (not data[1:].any()) + rng.normal()

    pair = worst_pair(own(step, data=np.zeros(N), replacements=[-1.0, 1.0], start=0.0), 0)
    assert {pair.data[0], pair.neighbour[0]} == {-1.0, 1.0} and not pair.data[1:].any(), pair.words


def test_what_overflows_on_one_side_alone_is_as_far_as_can_be():
    def step(state, data, rng):
        return np.array([data.sum() * 10, np.inf if data[-1] == 0.5 else 0.0]) + rng.normal(size=2)

    given = own(step, data=np.zeros(N), replacements=[1.0, -1.0, 0.5], start=np.zeros(2))
    pair = worst_pair(given, 0)
    assert (pair.data[-1] == 0.5) != (pair.neighbour[-1] == 0.5), pair.words


def test_a_longer_output_is_as_far_as_can_be():
    given = own(lambda state, data, rng: rng.normal(size=2 + int(data.max() > 0.5)), data=np.zeros(N),
                replacements=[0.1, 0.2, 1.0], steps=1, events=None, start=0.0)  # fmt: skip
    pair = worst_pair(given, 0)
    assert (pair.data.max() > 0.5) != (pair.neighbour.max() > 0.5), pair.words
