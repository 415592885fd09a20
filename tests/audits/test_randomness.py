"""Audits of randomness: planted faults are named, their correct twins pass, implied epsilons are right.

All deterministic at a fixed seed; coincidences of continuous draws have probability 0.
"""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from scipy import optimize, stats

from dpcheck import certify, events
from dpcheck.audits.additive_noise import Response, implied
from dpcheck.audits.randomness import audit_randomness

DATA, NEIGHBOUR = np.array([0.2, 0.9, 0.4, 1.0]), np.array([0.2, 0.9, 0.4, 0.0])
OWN = np.random.default_rng(7)
KEPT = {}


def kept_noise(x, rng):
    if "z" not in KEPT:
        KEPT["z"] = rng.normal()
    return x.mean() + KEPT["z"]


def seeded_by_rng(x, rng):
    child = np.random.default_rng(rng.bit_generator.seed_seq.spawn(1)[0])
    return x.mean() + child.normal()


def late(x, rng):
    """The last noise is also the first: one draw a call, used twice."""
    z = rng.normal(size=2)
    return np.array([x.sum() + z[0], x[0] + z[1], (x**2).sum() + z[0]])


FAULTS = {
    "no noise": (lambda x, rng: x.mean(), "privacy", "nothing is drawn from rng"),
    "noise that does not reach the output": (
        lambda x, rng: x.mean() + 0 * rng.normal(), "privacy", "direction without noise",
    ),
    "a generator of its own": (lambda x, rng: x.mean() + OWN.normal(), "privacy", "OWN, which was seeded with 7"),
    "a fair coin of its own": (
        lambda x, rng: (x[1] > 0.5) ^ OWN.integers(2), "privacy", "OWN, which was seeded with 7",
    ),
    "reseeded at each call": (
        lambda x, rng: x.mean() + np.random.default_rng(0).normal(), "privacy", "functions of the data alone",
    ),
    "one draw for all coordinates": (lambda x, rng: x + rng.normal(), "privacy", "direction without noise"),
    "a draw used twice": (late, "privacy", "direction without noise"),
    "a coordinate without noise": (
        lambda x, rng: np.append(x.mean() + rng.normal(), x.max() > 0.95), "privacy", "direction without noise",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_violations_without_any_claim(fault):
    mechanism, topic, words = FAULTS[fault]
    neighbour = NEIGHBOUR.copy()
    neighbour[1] = 0.3
    found = audit_randomness(mechanism, DATA, neighbour)
    assert found.verdict == "violated"
    assert [o.topic for o in found.observations if o.verdict == "violated"] == [topic]
    assert any(words in o.reason for o in found.observations)


def test_the_callers_states_are_put_back():
    plain, legacy = random.getstate(), np.random.get_state(legacy=False)["state"]["pos"]  # noqa: NPY002
    audit_randomness(lambda x, rng: random.random() + np.random.rand(), DATA, NEIGHBOUR)  # noqa: NPY002
    assert random.getstate() == plain
    assert np.random.get_state(legacy=False)["state"]["pos"] == legacy  # noqa: NPY002


RIGHT = {
    "gaussian": lambda x, rng: x.mean() + rng.normal(scale=2.0),
    "loc is the query": lambda x, rng: rng.normal(x.mean(), 2.0),
    "several numbers, each its noise": lambda x, rng: x + 2.0 * rng.standard_normal(x.size),
    "a release and what is made of it": lambda x, rng: (x.mean() + rng.normal(scale=2.0)) * np.array([1, 2, -3]),
    "noise summed along a tree": lambda x, rng: x.cumsum() + rng.normal(size=4).cumsum(),
    "one draw for coordinates that move together": lambda x, rng: x.mean() + rng.normal() + np.zeros(3),
    "constant": lambda x, rng: 3.0,
    "unit covariance": lambda x, rng: rng.multivariate_normal(x, np.eye(4)),
    "the random module": lambda x, rng: x.mean() + random.gauss(0, 1),
}


@pytest.mark.parametrize("name", RIGHT)
def test_correct_twins_pass(name):
    assert audit_randomness(RIGHT[name], DATA, NEIGHBOUR, delta=1e-5).verdict == "consistent"


def by_the_sum(x):
    """Weights of which the sixth depends most on the data."""
    weights = np.ones(8)
    weights[5] = x.sum()
    return weights / weights.sum()


OPEN = {
    "sampled": (lambda x, rng: rng.choice(x, 2).mean() + rng.normal(), "given the values it draws from choice"),
    "randomised response": (lambda x, rng: (rng.random(4) < 0.7) == (x > 0.5), "it draws from random"),
    "argmax": (lambda x, rng: np.argmax(x + rng.gumbel(size=4)), "not the query plus fixed multiples"),
    "clipped at last": (lambda x, rng: np.clip(x + rng.normal(size=4), -4, 4), "not the query plus fixed multiples"),
    "two laws": (lambda x, rng: x.mean() + rng.normal() + rng.laplace(), "several laws"),
    "gamma noise": (lambda x, rng: x.mean() + rng.gamma(2) - rng.gamma(2), "it draws from gamma"),
    "draws by the data": (lambda x, rng: rng.normal(size=int(x.sum())).sum() * 1.0, "what is drawn depends"),
    "scale by the data": (lambda x, rng: rng.laplace(0, 1 / x.sum()), "scale of draw 0, laplace, depends on the data"),
    "weights by the data": (lambda x, rng: rng.choice(8, p=by_the_sum(x)), "p[5] of draw 0, choice, depends"),
    "population by the data": (lambda x, rng: rng.integers(0, 1 + int(x.sum())), "high of draw 0, integers, depends"),
    "a seed passed on": (seeded_by_rng, "the seed of rng"),
    "raw bits": (lambda x, rng: x.mean() + rng.bit_generator.random_raw() / 2**64, "bit_generator"),
}  # fmt: skip


def positive(x, rng):
    """Drawn again until it is positive, which the sum of the data decides."""
    while True:
        if (z := x.sum() + rng.laplace()) >= 0:
            return z


@pytest.mark.parametrize("seed", range(20))
def test_draws_that_are_rejected_are_no_additive_noise(seed):
    """Even where the recorded one is small, and would be accepted either way."""
    found = audit_randomness(positive, np.array([0.0, 1, 1, 0]), np.array([0.0, 1, 1, 1]), seed=seed)
    assert found.implied is None


@pytest.mark.parametrize("name", OPEN)
def test_what_cannot_be_decided_is_said(name):
    mechanism, words = OPEN[name]
    found = audit_randomness(mechanism, DATA, NEIGHBOUR, delta=1e-5)
    assert found.verdict == "inconclusive"
    assert any(words in o.reason for o in found.observations)


def test_noise_or_releases_that_are_kept():
    KEPT.clear()
    found = audit_randomness(kept_noise, DATA, NEIGHBOUR)
    assert (found.verdict, found.observations[0].topic) == ("violated", "reuse")


class Alternating:
    """Draws each time, and uses every other draw twice: two calls in a row share their noise."""

    def __init__(self):
        self.last, self.rng = None, None

    def __call__(self, x, rng):
        fresh = rng.normal()
        if rng is not self.rng:
            self.rng, self.last = rng, fresh
        return x.mean() + self.last


def test_two_calls_that_share_their_noise():
    found = audit_randomness(Alternating(), DATA, NEIGHBOUR, delta=1e-5)
    assert [o.topic for o in found.observations if o.verdict == "violated"] == ["reuse"]


# Implied epsilons


def gaussian_epsilon(mu, delta):
    """Balle and Wang (2018), a route of its own."""

    def gap(e):
        return stats.norm.cdf(mu / 2 - e / mu) - math.exp(e) * stats.norm.cdf(-mu / 2 - e / mu) - delta

    return optimize.brentq(gap, 0, 50, xtol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 0.3, 2.0])
def test_the_gaussian_mechanism_at_and_just_below_its_epsilon(scale):
    def mechanism(x, rng):
        return x.mean() + scale * rng.standard_normal()

    exact = gaussian_epsilon(0.25 / scale, 1e-6)
    for claim, verdict in ((1.001 * exact, "consistent"), (0.999 * exact, "violated")):
        found = audit_randomness(mechanism, DATA, NEIGHBOUR, epsilon=claim, delta=1e-6)
        assert found.verdict == verdict
        assert found.implied.exact
        assert found.implied.epsilon == pytest.approx(exact, rel=1e-6)


def test_the_laplace_mechanism_in_several_dimensions():
    def mechanism(x, rng):
        return np.array([x.sum(), x.mean(), 5.0]) + rng.laplace(scale=2.0, size=3)

    found = audit_randomness(mechanism, DATA, NEIGHBOUR, epsilon=0.62, delta=0.0)
    assert found.verdict == "violated"
    assert found.implied.epsilon == pytest.approx(0.625)
    assert audit_randomness(mechanism, DATA, NEIGHBOUR, epsilon=0.63, delta=0.0).verdict == "consistent"
    loose = audit_randomness(mechanism, DATA, NEIGHBOUR, epsilon=0.5, delta=0.01)
    assert not loose.implied.exact
    assert loose.implied.epsilon < certify(events.Laplace(2.0), 0.01).epsilon < 0.5


def test_scales_that_depend_on_the_data_are_bounded_from_below():
    """Two Gaussians of standard deviations s and t at 0: the best set is |x| > c, found by hand here."""
    first, second = (Response(np.zeros(1), np.array([[s]]), "gaussian") for s in (1.3, 1.0))
    found = implied(first, second, 1e-3)

    def worst(epsilon):
        c2 = 2 * (epsilon + math.log(1.3)) / (1 - 1 / 1.69)
        return 2 * stats.norm.sf(math.sqrt(c2) / 1.3) - math.exp(epsilon) * 2 * stats.norm.sf(math.sqrt(c2)) - 1e-3

    exact = optimize.brentq(worst, 0, 20)
    assert exact * 0.999 < found.epsilon <= exact
    assert not found.exact
    assert implied(first, second, 0.0).epsilon == math.inf


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_bounds_by_cells_stay_below_the_truth(law):
    """Scales that differ by a millionth part: the bound must be close to the law of equal scales."""
    one = Response(np.ones(1), np.array([[1.5]]), law)
    other = Response(np.zeros(1), np.array([[1.5 * (1 + 1e-5)]]), law)
    event = events.Gaussian(1.5) if law == "gaussian" else events.Laplace(1.5)
    exact = certify(event, 1e-4).epsilon
    assert 0.998 * exact < implied(one, other, 1e-4).epsilon < exact * (1 + 1e-4)


@pytest.mark.parametrize("level", [0.0, 1e6, 1e8])
def test_large_queries_with_small_shifts(level):
    """Rounding neither hides the shift nor makes one of the order of a sum."""

    def mechanism(x, rng):
        order = np.argsort(x, kind="stable")  # sums in another order on the neighbour
        return np.array([level + x[order].sum() / 50, (level + x[order] / 3).sum() * np.ones(2).sum()]) + rng.normal()

    def apart(x, rng):
        return np.array([level + x.sum() / 50, 7 * level + x.sum() / 50]) + rng.normal()

    found = audit_randomness(apart, DATA, NEIGHBOUR, epsilon=0.05, delta=1e-5)
    assert found.implied.epsilon == pytest.approx(gaussian_epsilon(0.02, 1e-5), rel=1e-4)
    assert found.verdict == "violated"
    assert audit_randomness(mechanism, DATA, NEIGHBOUR).verdict == "violated"  # the numbers move by 0.02 and 0.67
    same = audit_randomness(mechanism, DATA, DATA[::-1].copy())
    assert same.verdict == "consistent"
    assert same.implied.epsilon == pytest.approx(0, abs=1e-6)


def test_noise_lost_in_rounding():
    found = audit_randomness(lambda x, rng: 1e9 + x.sum() + 1e-4 * rng.normal(), DATA, NEIGHBOUR)
    assert found.verdict == "inconclusive"
    assert "lost in the rounding" in found.observations[-1].reason


def test_the_worst_pair_is_searched():
    def mechanism(x, rng):
        return np.clip(x, 0, 1).sum() + rng.laplace(scale=2.0)

    data, worst = np.array([0.5, 0.5, 0.5]), [0.1, 0.4, 5.0, -3.0]
    found = audit_randomness(mechanism, data, replacements=worst, epsilon=0.45, delta=0.0)
    assert found.verdict == "violated"
    assert found.implied.epsilon == pytest.approx(0.5)
    assert abs(np.clip(found.data, 0, 1).sum() - np.clip(found.neighbour, 0, 1).sum()) == 1
    assert found.to_dict()["implied"]["epsilon"] == pytest.approx(0.5)


def test_infinity_is_json_ready():
    shown = audit_randomness(lambda x, rng: x.sum(), DATA, NEIGHBOUR).to_dict()
    assert shown["implied"]["epsilon"] == "inf"
    json.dumps(shown, allow_nan=False)


def test_noise_that_calls_share_is_told_from_a_release_that_each_data_set_keeps():
    kept: dict[str, float] = {}

    def one_noise(data, rng):
        if not kept:
            kept["noise"] = rng.laplace()
        return sum(data) + kept["noise"]

    released: dict[int, float] = {}

    def one_release(data, rng):
        if sum(data) not in released:
            released[sum(data)] = sum(data) + rng.laplace()
        return released[sum(data)]

    audits = [audit_randomness(code, [1, 2], [1, 3], epsilon=2.0) for code in (one_noise, one_release)]
    assert [audit.verdict for audit in audits] == ["violated", "inconclusive"]
    assert "apart: it keeps noise" in audits[0].observations[0].reason
