"""The sequential audit: fair bets, false alarms at any stopping time, power, going on later, wrong input."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from accusations import sigma_of
from scipy import optimize, special, stats
from slices import first

import dpcheck
from dpcheck.audits.betting import Wealth, stakes
from dpcheck.audits.betting.predictor import LabelTree, Predictor
from dpcheck.audits.running.encoder import Layout
from dpcheck.audits.sequential import SequentialAudit, audit_sequential
from dpcheck.errors import InputError

Mechanism = Callable[..., Any]
TRUTH = math.e / (1 + math.e)
CLOSED = 1 - math.exp(-1)


SIGMA, SMALL_SIGMA = sigma_of(1e-5), sigma_of(0.05)


def laplace(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + rng.laplace(size=size)


def randomised_response(bit: int, rng: np.random.Generator, size: int) -> Any:
    return np.where(rng.random(size) < TRUTH, bit, 1 - bit)


def geometric(count: int, rng: np.random.Generator, size: int) -> Any:
    return count + rng.geometric(CLOSED, size) - rng.geometric(CLOSED, size)


def gaussian(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + SIGMA * rng.standard_normal(size)


def large_delta(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + SMALL_SIGMA * rng.standard_normal(size)


def atoms(bit: int, rng: np.random.Generator, size: int) -> Any:
    """Exactly (1, 0.05)-private: randomised response that in a twentieth of the runs tells the truth."""
    return np.where(rng.random(size) < 0.05, bit + 5.0, randomised_response(bit, rng, size))


def constant(value: float, rng: np.random.Generator, size: int) -> Any:
    return np.zeros(size)


def half_noise(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + 0.5 * rng.laplace(size=size)


def tells_all(value: float, rng: np.random.Generator, size: int) -> Any:
    return np.full(size, value)


EXACT = [(laplace, 0.0), (randomised_response, 0.0), (geometric, 0.0), (gaussian, 1e-5), (large_delta, 0.05),
         (atoms, 0.05), (constant, 0.0)]  # fmt: skip


def mean(true_count_in: str, noise: str = "laplace", delta: float = 0.0) -> Callable[[float], Mechanism]:
    """Mean of values in [0, 1] where the number of records is secret, by epsilon.

    Half of epsilon goes to the count, half to the sum. ``true_count_in`` names where the true count is
    used instead, as in the non-private examples of DP-Auditorium, whose scales are at least 1e-12: in the
    "scale" of the noise, the "divisor", or "both"; "neither" divides a noisy sum by a noisy count and
    is private, Gaussian noise where epsilon is at most 1.
    """

    def at(epsilon: float) -> Mechanism:
        half = epsilon / 2
        wide = 1.0 if noise == "laplace" else math.sqrt(2 * math.log(1.25 / delta))

        def mechanism(values: Any, rng: np.random.Generator, size: int) -> Any:
            total, n = np.clip(values, 0, 1).sum(), len(values)
            count = n + rng.laplace(scale=1 / half, size=size)
            draw = rng.laplace(size=size) if noise == "laplace" else rng.standard_normal(size)
            if true_count_in == "neither":
                return (total + draw * wide / half) / np.maximum(count, 1)
            divisor = n if true_count_in in ("divisor", "both") else count
            scale = n if true_count_in in ("scale", "both") else count
            return total / divisor + draw * np.maximum(wide / half / scale, 1e-12)

        return mechanism

    return at


WITHOUT, WITH = [0.0], [0.0, 1.0]  # one record fewer: as few as there can be, so that the count shows


def _audit(mechanism: Mechanism, seed: int = 0, **options: Any) -> SequentialAudit:
    options = {"epsilon": 1.0, "most": 1_000, "vectorized": True, **options}
    return audit_sequential(mechanism, 1, 0, seed=seed, **options)


class TestBets:
    """The two pieces by themselves."""

    def test_no_private_pair_can_lose_them(self) -> None:
        """max of E_P[e] + E_Q[f] over all private (P, Q), by a linear program: at most 2, and nearly attained."""
        rng = np.random.default_rng(0)
        most = 0.0
        for epsilon, delta, bins in product((0.0, 0.01, 0.5, 2.0, 8.0), (0.0, 1e-5, 0.01, 0.2), (2, 3, 6)):
            e, f = (np.exp(v[0]) for v in stakes(rng.random(bins), rng.random(bins), np.array([epsilon]), delta))
            assert min(e.min(), f.min()) > 0
            value = _largest_mean(e, f, math.exp(epsilon), delta)
            assert value <= 2 * (1 + 1e-9)
            most = max(most, value)
        assert most >= 1.99

    @pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
    @pytest.mark.parametrize("delta", [0.0, 0.01, 0.1])
    @pytest.mark.parametrize(("p", "q"), [(0.75, 0.5), (0.9, 0.1), (0.6, 0.15), (0.05, 0.005)])
    def test_grow_nearly_as_fast_as_any(self, p: float, q: float, epsilon: float, delta: float) -> None:
        """No bet grows faster than the divergence from the nearest private pair; these reach 85 % of it."""
        best = _nearest(p, q, math.exp(epsilon), delta)
        share = np.array([p / (p + q), (1 - p) / (2 - p - q)])
        e, f = (v[0] for v in stakes(share, np.array([p + q, 2 - p - q]), np.array([epsilon]), delta))
        growth = p * e[0] + (1 - p) * e[1] + q * f[0] + (1 - q) * f[1]
        assert 0.85 * best - 1e-9 <= growth <= best + 1e-5

    def test_no_bets_against_claims_beyond_all_numbers(self) -> None:
        e, f = stakes(np.array([0.1, 0.9]), np.ones(2), np.array([0.0, 1e3]))
        assert (e[1] == 0).all() and (f[1] == 0).all() and (e[0] != 0).all()

    def test_tree_averages_over_all_prunings(self) -> None:
        """Four leaves: the five prunings one by one, with the chances each node inherits."""
        rng = np.random.default_rng(1)
        a, b = rng.normal([[0.8], [0.0]], size=(2, 8))
        tree = LabelTree.fit(a, b)
        values = np.sort(np.concatenate([a, b]))
        bins = [np.searchsorted(values[[4, 8, 12]], v, side="right") for v in (a, b)]
        x, y = (np.bincount(v, minlength=4).astype(float) for v in bins)
        expected = _by_enumeration(x, y)
        assert tree.cuts == pytest.approx(values[[4, 8, 12]])
        assert tree.chances == pytest.approx(expected, rel=1e-9)

    def test_tree_finds_a_rare_value(self) -> None:
        rng = np.random.default_rng(2)
        a, b = rng.normal(size=(2, 20_000))
        a[:60] = 1.25
        chances = LabelTree.fit(a, b)(np.array([1.25, 1.24, 0.0]))
        assert chances[0] > 0.9
        assert chances[1:] == pytest.approx(0.5, abs=0.05)

    @pytest.mark.parametrize("apart", [0.4, 1.0])
    def test_tree_is_never_certain(self, apart: float) -> None:
        """Where a whole subtree has values of one dataset alone, its chances are not 0 or 1 but for rounding."""
        a, b = np.random.default_rng(3).random((2, 100_000))
        a[: int(apart * a.size)] -= 5
        b[: int(apart * b.size)] += 5
        chances = LabelTree.fit(a, b)(np.array([-4.5, 5.5]))
        assert 0.999 < chances[0] < 1 and 0 < chances[1] < 0.001

    def test_predictions_are_no_bolder_than_fresh_outputs_allow(self) -> None:
        """Noise of 30 numbers, fitted by many scores on 300 runs: on fresh runs hardly worse than guessing.

        Log-likelihood against guessing, -0.0002 on average; chances learned where the scores were, -0.004.
        """
        gains = []
        for seed in range(4):
            rng, predictor = np.random.default_rng(seed), Predictor(30)
            predictor.learn(*rng.normal(size=(2, 300, 30)))
            x, y = rng.normal(size=(2, 2_000, 30))
            gains.append((np.log(2 * predictor(x)) + np.log(2 - 2 * predictor(y))).mean())
        assert np.mean(gains) > -0.001

    def test_claims_are_given_up_in_ascending_order(self) -> None:
        """The goal is log 20; a claim that has reached it waits for every smaller one."""
        wealth = Wealth(1.0, 0.0, 0.05, Layout(1, 0, 1))
        reached = np.zeros(31)
        reached[[0, 1, 2, 4, 20]] = 3.0
        state = replace(wealth.state, peak=reached, outputs=(np.zeros((10, 1)), np.ones((10, 1))))
        wealth.restore(state, 10, [])
        wealth.play(np.zeros((1, 1)), np.zeros((1, 1)))
        assert not wealth.violated
        assert wealth.looks[-1].epsilon_lower == pytest.approx(0.1)


def _largest_mean(e: Any, f: Any, ratio: float, delta: float) -> float:
    """Over probabilities p, q and their excesses s >= p - ratio q, t >= q - ratio p with sums of at most delta."""
    n = e.size
    one, none = np.eye(n), np.zeros((n, n))
    row = np.ones(n), np.zeros(n)
    above = np.block([[one, -ratio * one, -one, none], [-ratio * one, one, none, -one]])
    budget = np.array([np.concatenate([row[i] for i in k]) for k in ((1, 1, 0, 1), (1, 1, 1, 0))])
    sums = np.array([np.concatenate([row[i] for i in k]) for k in ((0, 1, 1, 1), (1, 0, 1, 1))])
    solved = optimize.linprog(
        -np.concatenate([e, f, np.zeros(2 * n)]), A_ub=np.vstack([above, budget]),
        b_ub=np.concatenate([np.zeros(2 * n), [delta, delta]]), A_eq=sums, b_eq=[1, 1],
    )  # fmt: skip
    return -float(solved.fun)


def _nearest(p: float, q: float, ratio: float, delta: float) -> float:
    """Least KL(p, p0) + KL(q, q0) over private pairs of coins, by a fine grid."""

    def private(p: Any, q: Any) -> Any:
        pairs = ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
        return np.all([u <= ratio * v + delta for u, v in pairs], axis=0)

    if private(p, q):
        return 0.0
    p0, q0 = np.meshgrid(*[np.linspace(1e-3, 1 - 1e-3, 999)] * 2)
    far = sum(special.rel_entr(u, v) for u, v in ((p, p0), (1 - p, 1 - p0), (q, q0), (1 - q, 1 - q0)))
    return float(far[private(p0, q0)].min())


def _by_enumeration(x: Any, y: Any) -> Any:
    """Chances of four leaves with counts x and y, each pruning weighed by its chance and its likelihood."""
    nodes = {"root": [0, 1, 2, 3], "left": [0, 1], "right": [2, 3], **{i: [i] for i in range(4)}}
    counts = {name: (x[leaves].sum(), y[leaves].sum()) for name, leaves in nodes.items()}
    inherited = {"root": 0.5}
    for parent, children in (("root", ("left", "right")), ("left", (0, 1)), ("right", (2, 3))):
        u, v = counts[parent]
        inherited |= dict.fromkeys(children, (u + 8 * inherited[parent]) / (u + v + 8))

    def alone(name: Any) -> tuple[float, float]:
        """Likelihood and mean of a node that is not split: three models, equally likely."""
        (u, v), m = counts[name], inherited[name]
        models = [(special.beta(u + c, v + c) / special.beta(c, c), (u + c) / (u + v + 2 * c)) for c in (0.5, 4.0)]
        models.append((m**u * (1 - m) ** v, m))
        total = sum(w for w, _ in models)
        return total / 3, sum(w * z for w, z in models) / total

    halves = [((name,), (children[0], children[1])) for name, children in (("left", (0, 1)), ("right", (2, 3)))]
    prunings: list[tuple[float, tuple[Any, ...]]] = [(1 / 2, ("root",))]
    prunings += [(1 / 8, left + right) for left, right in product(*halves)]
    chances, weights = np.zeros(4), 0.0
    for prior, parts in prunings:
        weight = prior * math.prod(alone(name)[0] for name in parts)
        weights += weight
        for name in parts:
            chances[nodes[name]] += weight * alone(name)[1]
    return chances / weights


def _alarms(mechanism: Mechanism, delta: float, repeats: int, most: int) -> int:
    audits = (_audit(mechanism, seed, delta=delta, most=most) for seed in range(repeats))
    return sum(audit.verdict == "violated" for audit in audits)


class TestFalseAlarms:
    """Null hypothesis: an audit at confidence 95 % ever gives up a claim that is kept with probability <= 5 %."""

    @pytest.mark.parametrize(("audits", "most"), [(16, 100), pytest.param(2_000, 300, marks=pytest.mark.experiment)])
    @pytest.mark.parametrize(("mechanism", "delta"), first(2, EXACT))
    def test_at_the_very_epsilon_that_is_kept(self, mechanism: Mechanism, delta: float, audits: int, most: int) -> None:
        """Rejected above the 0.999 quantile of Bin(audits, 0.05), 4 or 131: error rate at most 0.1 % each."""
        assert _alarms(mechanism, delta, audits, most) <= stats.binom.isf(1e-3, audits, 0.05)

    def test_the_limit_is_covered_for_any_claim(self) -> None:
        """Null hypothesis: epsilon_lower ever reaches the true epsilon 1, on the grid of the claim 2, in <= 5 %.

        Rejected above the 0.999 quantile of Bin(25, 0.05), 6; and it comes near the truth.
        """
        found = [_audit(randomised_response, seed, epsilon=2.0, most=180).epsilon_lower for seed in range(25)]
        assert sum(v >= 1 for v in found) <= stats.binom.isf(1e-3, 25, 0.05)
        assert np.median(found) >= 0.5

    def test_bets_made_with_hindsight_would_be_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same tests fail a predictor that has seen the outputs that are bet on."""
        from dpcheck.audits import betting as wealth
        from dpcheck.audits import sequential

        class Cheat(wealth.Wealth):
            def play(self, x: Any, y: Any) -> None:
                if self.trials:
                    self._predictor.learn(np.repeat(x, 20, axis=0), np.repeat(y, 20, axis=0))
                    self._bet()
                super().play(x, y)

        monkeypatch.setattr(sequential, "Wealth", Cheat)
        assert _alarms(laplace, 0.0, 16, 100) > stats.binom.isf(1e-3, 16, 0.05)


class TestMeans:
    """Mean mechanisms whose count of records is secret in one place and true in another, confidence 99.9 %."""

    @pytest.mark.parametrize(
        ("seeds", "delta", "confidence"),
        [(7, 0.0, 0.999), *(pytest.param(200, delta, confidence, marks=pytest.mark.experiment)
                            for delta in (0.0, 1e-5) for confidence in (0.95, 0.999))],
    )  # fmt: skip
    @pytest.mark.parametrize("epsilon", [0.1, 0.01])
    @pytest.mark.parametrize("true_count_in", ["scale", "both", "divisor"])
    def test_wrong_ones_fall_in_a_few_hundred_runs(
        self, true_count_in: str, epsilon: float, seeds: int, delta: float, confidence: float
    ) -> None:
        """Median under 250 over the seeds."""
        options: dict[str, Any] = {"delta": delta, "most": 3_000, "confidence": confidence}
        found = [_of_mean(true_count_in, epsilon, seed, **options) for seed in range(seeds)]
        assert {a.verdict for a in found} == {"violated"}
        assert np.median([a.trials for a in found]) < 250

    @pytest.mark.parametrize("epsilon", [0.1, 0.01])
    def test_right_ones_stand(self, epsilon: float) -> None:
        """None of 8 falls: error rate at most 0.8 %."""
        assert {_of_mean("neither", epsilon, seed, most=200).verdict for seed in range(8)} == {"consistent"}

    @pytest.mark.experiment
    @pytest.mark.parametrize("epsilon", [0.1, 0.01])
    @pytest.mark.parametrize("delta", [0.0, 1e-5])
    def test_a_thousand_right_ones_stand(self, delta: float, epsilon: float) -> None:
        """None of 1,000 falls, where one is allowed for; and at 95 % no more than the level allows."""
        audits = [_of_mean("neither", epsilon, seed, delta=delta, most=1_000) for seed in range(1_000)]
        peaks = [float(a.state.peak[a.state.epsilons == epsilon][0]) for a in audits]
        alarms = sum(peak >= math.log(20) for peak in peaks)
        print(f"epsilon {epsilon}, delta {delta}: largest wealth e^{max(peaks):.2f}, {alarms} of 1000 reach 20")
        assert {a.verdict for a in audits} == {"consistent"}
        assert alarms <= stats.binom.isf(1e-3, 1_000, 0.05)


def _of_mean(true_count_in: str, epsilon: float, seed: int, *, delta: float = 0.0, **options: Any) -> SequentialAudit:
    mechanism = mean(true_count_in, "gaussian" if delta else "laplace", delta)(epsilon)
    options = {"confidence": 0.999, **options}
    return audit_sequential(
        mechanism, WITHOUT, WITH, epsilon=epsilon, delta=delta, seed=seed, vectorized=True, **options
    )


class TestVerdicts:
    @pytest.mark.parametrize(
        ("mechanism", "options"),
        [
            (half_noise, {"most": 300}),
            (tells_all, {"most": 60}),
            (lambda v, rng, size: (1 + 0.4 * v) * rng.standard_normal((size, 3)), {"most": 1_000, "epsilon": 0.5}),
            (lambda v, rng, size: np.where(rng.random(size) < 0.2 * v, -np.inf, rng.laplace(size=size)),
             {"most": 600, "delta": 1e-5}),
            (lambda v, rng, size: v * (v + 5) + SMALL_SIGMA * rng.standard_normal(size), {"delta": 0.05, "most": 200}),
        ],
    )  # fmt: skip
    def test_planted_bugs_are_found(self, mechanism: Mechanism, options: dict[str, Any]) -> None:
        for seed in range(3):
            audit = _audit(mechanism, seed, **options)
            assert audit.verdict == "violated"
            assert audit.epsilon_lower >= audit.epsilon
            assert audit.log_wealth >= math.log(20)

    def test_stops_at_the_very_run_that_decides(self) -> None:
        """Run by run the outputs do not depend on where a chunk ends: one run fewer leaves the claim standing."""

        def one(value: float, rng: np.random.Generator) -> Any:
            return value + 0.4 * rng.laplace()

        audit = _audit(one, vectorized=False)
        assert audit.verdict == "violated"
        assert audit.trials % 10
        assert _audit(one, vectorized=False, most=audit.trials - 1).verdict == "consistent"
        assert _audit(one, vectorized=False, most=audit.trials).to_dict()["trials"] == audit.trials

    def test_correct_mechanism_is_consistent(self) -> None:
        audit = _audit(laplace, most=3_000)
        assert audit.verdict == "consistent"
        assert 0.75 <= audit.epsilon_lower < 1
        assert audit.trials == audit.looks[-1].trials == 3_000
        assert (audit.epsilon, audit.delta, audit.confidence, audit.seed) == (1.0, 0.0, 0.95, 0)
        assert audit.version == dpcheck.__version__
        limits = [look.epsilon_lower for look in audit.looks]
        assert limits == sorted(limits)

    def test_a_claim_of_zero(self) -> None:
        assert _audit(constant, epsilon=0.0, most=200).verdict == "consistent"
        audit = _audit(tells_all, epsilon=0.0, most=200)
        assert audit.verdict == "violated"
        assert audit.epsilon_lower >= 0

    def test_too_few_runs_are_inconclusive(self) -> None:
        """Outputs that never overlap could not have broken this claim; a few more runs could."""
        assert _audit(tells_all, epsilon=6.0, most=300).verdict == "inconclusive"
        assert _audit(constant, epsilon=6.0, most=300).verdict == "inconclusive"
        assert _audit(constant, epsilon=2.0, most=300).verdict == "consistent"

    def test_the_witness_was_not_chosen_on_the_runs_that_count_it(self) -> None:
        """Fresh outputs fall into the set as often as its counts say, within 5 standard errors."""
        event = _audit(half_noise, epsilon=1.5, most=4_000).event
        datasets = (1, 0) if event.favours == "data" else (0, 1)
        for value, hits in zip(datasets, (event.hits, event.other_hits), strict=True):
            fresh = event.contains(half_noise(value, np.random.default_rng(99), 20_000))
            assert fresh.mean() == pytest.approx(hits / event.trials, abs=5 * math.sqrt(0.25 / event.trials))

    def test_to_dict_to_frame_and_words(self) -> None:
        audit = _audit(half_noise)
        plain = audit.to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert plain["verdict"] == "violated"
        frame = audit.to_frame()
        assert list(frame.columns) == ["trials", "log_wealth", "epsilon_lower"]
        assert frame["epsilon_lower"].iloc[-1] == audit.epsilon_lower
        assert f"{audit.event.hits} of {audit.event.trials} runs on" in str(audit.event)

    @pytest.mark.parametrize("vectorized", [False, True])
    def test_same_bits_for_any_number_of_workers(self, vectorized: bool) -> None:
        def mechanism(value: float, rng: np.random.Generator, size: int | None = None) -> Any:
            return value + 0.8 * rng.laplace(size=size)

        alone = _audit(mechanism, most=400, vectorized=vectorized).to_dict()
        assert alone == _audit(mechanism, most=400, vectorized=vectorized, jobs=3).to_dict()
        assert alone != _audit(mechanism, 1, most=400, vectorized=vectorized).to_dict()


class TestGoingOn:
    def test_in_parts_as_in_one(self) -> None:
        """Parts that end at round numbers give the bits of one audit, through JSON too."""
        whole = _audit(gaussian, most=1_000, delta=1e-5)
        first = _audit(gaussian, most=200, delta=1e-5)
        second = _audit(gaussian, most=500, delta=1e-5, earlier=first)
        saved = json.loads(json.dumps(second.to_dict()))
        assert _audit(gaussian, most=1_000, delta=1e-5, earlier=second).to_dict() == whole.to_dict()
        assert _audit(gaussian, most=1_000, delta=1e-5, earlier=saved).to_dict() == whole.to_dict()

    def test_evidence_adds_up(self) -> None:
        """Forty runs at a time, the evidence of each part enough for nothing, and wealth carried over."""
        audit = _audit(half_noise, most=40)
        parts = 1
        while audit.verdict != "violated":
            before = audit
            audit = _audit(half_noise, most=before.trials + 15, earlier=before)
            assert audit.looks[: len(before.looks)] == before.looks
            parts += 1
        assert parts > 1
        assert audit.trials < 300

    def test_false_alarms_of_many_parts_stay_below_the_level(self) -> None:
        """Null hypothesis as above, in parts of 35 runs; 0.999 quantile of Bin(16, 0.05)."""
        alarms = 0
        for seed in range(16):
            audit = _audit(randomised_response, seed, most=35)
            while audit.verdict != "violated" and audit.trials < 100:
                audit = _audit(randomised_response, seed, most=audit.trials + 35, earlier=audit.to_dict())
            alarms += audit.verdict == "violated"
        assert alarms <= stats.binom.isf(1e-3, 16, 0.05)

    def test_only_with_the_same_claim_mechanism_and_seed(self) -> None:
        earlier = _audit(laplace, most=60)
        for options in ({"epsilon": 0.5}, {"delta": 0.1}, {"confidence": 0.9}, {"seed": 3}):
            with pytest.raises(InputError, match=r"^earlier must be an audit with"):
                _audit(laplace, earlier=earlier, **options)
        with pytest.raises(InputError, match=r"^earlier must be a sequential audit or its to_dict\(\), got dict"):
            _audit(laplace, earlier={"verdict": "consistent"})
        with pytest.raises(InputError, match=r"^mechanism must give the outputs that the earlier audit began with"):
            _audit(half_noise, earlier=earlier)
        with pytest.raises(InputError, match=r"^most must be a whole number >= 61, got 60"):
            _audit(laplace, earlier=earlier, most=60)
        with pytest.raises(InputError, match=r"^earlier must have left the claim standing, got violated"):
            _audit(tells_all, earlier=_audit(tells_all))
