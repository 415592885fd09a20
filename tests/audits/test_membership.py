"""The membership audit: verdicts, power, reproducibility, witnesses, wrong input."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from slices import first

import dpcheck
from dpcheck.audits import limits as binomial
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.looks import Plan
from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.audits.output_sets import choose
from dpcheck.audits.scores.histograms import Histogram
from dpcheck.audits.scores.learned import learned
from dpcheck.audits.sequential import audit_sequential
from dpcheck.errors import InputError
from dpcheck.events import Gaussian
from dpcheck.testing import assert_private

SIGMA = 3.7306316348159396  # Gaussian, sensitivity 1: exactly (1, 1e-5)
TRUTH = math.e / (1 + math.e)


def laplace(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + rng.laplace(size=size)


def gaussian(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + SIGMA * rng.standard_normal(size)


def randomised_response(bit: int, rng: np.random.Generator, size: int) -> Any:
    return np.where(rng.random(size) < TRUTH, bit, 1 - bit)


def geometric(count: int, rng: np.random.Generator, size: int) -> Any:
    p = 1 - math.exp(-1)
    return count + rng.geometric(p, size) - rng.geometric(p, size)


def half_noise(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + 0.5 * rng.laplace(size=size)


def wrong_coin(bit: int, rng: np.random.Generator, size: int) -> Any:
    return np.where(rng.random(size) < 0.85, bit, 1 - bit)


def rare_leak(value: float, rng: np.random.Generator, size: int) -> Any:
    noisy = value + rng.laplace(size=size)
    return np.where(rng.random(size) < 1e-3, 1_000.0 * value, noisy)


def rare_atom(value: float, rng: np.random.Generator, size: int) -> Any:
    noisy = value + rng.laplace(size=size)
    return np.where(rng.random(size) < 2e-3, value + 0.123, noisy)


def data_dependent_variance(value: float, rng: np.random.Generator, size: int) -> Any:
    return (1 + 0.3 * value) * rng.standard_normal((size, 6))


def leaks_infinity(value: float, rng: np.random.Generator, size: int) -> Any:
    noisy = rng.laplace(size=size)
    return np.where(rng.random(size) < 0.2 * value, -np.inf, noisy)


def _audit(mechanism: Any, seed: int = 0, **options: Any) -> PrivacyAudit:
    options = {"epsilon": 1.0, "delta": 0.0, "trials": 10_000, "vectorized": True, **options}
    return audit_privacy(mechanism, 1, 0, seed=seed, **options)


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (half_noise, {"trials": 4_000}),
        (wrong_coin, {"trials": 2_000}),
        (rare_leak, {"trials": 100_000, "delta": 1e-5}),
        (rare_atom, {"trials": 100_000, "delta": 1e-5}),
        (data_dependent_variance, {"trials": 5_000, "delta": 1e-5}),
        (leaks_infinity, {"trials": 2_000, "delta": 1e-5}),
    ],
)
def test_planted_bugs_are_found(mechanism: Any, options: dict[str, Any]) -> None:
    """Each claims epsilon 1 and leaks more: every one of five audits says so."""
    for seed in range(5):
        audit = _audit(mechanism, seed, **options)
        assert audit.verdict == "violated"
        assert audit.epsilon_lower > 1


@pytest.mark.parametrize("trials", [10_000, pytest.param(100_000, marks=pytest.mark.experiment)])
@pytest.mark.parametrize(
    ("mechanism", "delta", "shares"),
    first(2, [
        (laplace, 0.0, (0.94, 0.98)), (gaussian, 1e-5, (0.43, 0.62)), (randomised_response, 0.0, (0.94, 0.98)),
        (geometric, 0.0, (0.94, 0.98)),
    ]),
)  # fmt: skip
def test_close_to_the_truth(mechanism: Any, delta: float, shares: tuple[float, float], trials: int) -> None:
    """Mean of epsilon_lower over 80 audits of 10,000 runs, or 40 of ten times as many; true epsilon 1, fixed seeds.

    Over other seeds the means are 0.95, 0.45, 0.97 and 0.96, with standard errors of 0.003, for the
    Gaussian 0.009.
    """
    audits, share = (80, shares[0]) if trials == 10_000 else (40, shares[1])
    found = [_audit(mechanism, seed, delta=delta, trials=trials).epsilon_lower for seed in range(audits)]
    assert np.mean(found) >= share


def test_correct_mechanism_is_consistent() -> None:
    audit = _audit(laplace)
    assert audit.verdict == "consistent"
    assert 0.85 < audit.epsilon_lower <= 1
    assert audit.trials == 10_000
    assert (audit.epsilon, audit.delta, audit.confidence, audit.seed) == (1.0, 0.0, 0.95, 0)
    assert audit.version == dpcheck.__version__


def blind(_: float, rng: np.random.Generator, size: int) -> Any:
    """Data that clip to one value."""
    return laplace(1, rng, size)


def test_counts_stay_with_the_side_that_was_chosen() -> None:
    """On datasets with equal outputs the side chosen beforehand is as often hit less: in 20 looks some are."""
    options: dict[str, Any] = {"epsilon": 1.0, "trials": 1_000, "vectorized": True}
    looks = [look for seed in range(10) for look in audit_privacy(blind, 1, 2, seed=seed, **options).looks]
    assert any(look.event.hits < look.event.other_hits for look in looks)
    assert any(look.event.hits > look.event.other_hits for look in looks)


def test_too_few_trials_for_the_claim_are_inconclusive() -> None:
    """No outputs at all could exceed epsilon 6 in 100 runs: the test could not have failed."""
    audit = _audit(lambda v, rng, size: np.full(size, v), epsilon=6.0, trials=100)
    assert audit.verdict == "inconclusive"
    assert 2 < audit.epsilon_lower <= 6
    # The same outputs against a smaller claim: the test can fail, and does.
    assert _audit(lambda v, rng, size: np.full(size, v), epsilon=2.0, trials=100).verdict == "violated"
    assert _audit(laplace, epsilon=2.0, trials=100).verdict == "consistent"


def test_levels_and_blocks_add_up() -> None:
    for trials in (100, 999, 1_000, 4_999, 5_000, 123_457):
        plan = Plan.of(trials, 0.9, 1_000)
        assert sum(plan.blocks) == trials
        assert min(plan.blocks) > 0
        assert sum(plan.levels) == pytest.approx(0.1)
        assert plan.blocks[-1] >= 0.84 * trials
        for block in range(len(plan.blocks)):
            chunks = list(plan.chunks(block))
            assert sum(c.size for c in chunks if c.side == 0) == plan.blocks[block]
    numbers = [(c.side, c.number) for b in range(4) for c in plan.chunks(b)]
    assert len(set(numbers)) == len(numbers)  # no stream is used twice


def test_limits_come_from_the_counts() -> None:
    for look in _audit(geometric, delta=1e-4).looks:
        event = look.event
        assert look.epsilon_lower == binomial.epsilon_lower(
            event.hits, event.other_hits, event.trials, delta=1e-4, alpha=look.alpha
        )
        assert look.bars[1].sum() == look.bars[2].sum() == event.trials


def test_no_limit_is_above_what_it_can_be_at_most() -> None:
    """Else a broken claim could be passed over: the exact limit is only worked out where this one leaves it open."""
    audit, rng = _audit(laplace), np.random.default_rng(0)
    for _ in range(400):
        trials = int(10 ** rng.uniform(2, 5))
        other = int(rng.integers(0, 1 + int(trials * 10 ** rng.uniform(-5, -0.2))))
        hits = min(trials, int(other * rng.uniform(1, 6)) + int(rng.integers(0, 30)))
        event = replace(audit.event, hits=hits, other_hits=other, trials=trials)
        alpha, delta = rng.choice([0.05, 0.02, 1e-4]), rng.choice([0, 1e-5, 1e-3])
        look = replace(audit.looks[0], event=event, alpha=float(alpha), delta=float(delta))
        assert look.epsilon_lower <= max(look.at_most, 0.0)


@pytest.mark.parametrize("mechanism", [laplace, geometric, data_dependent_variance])
def test_witness_can_be_checked_by_anyone(mechanism: Any) -> None:
    """Fresh outputs fall into the set as often as its counts say (within 5 standard errors)."""
    event = _audit(mechanism, epsilon=9.0).event
    p, q = event.hits / event.trials, event.other_hits / event.trials
    datasets = (1, 0) if event.favours == "data" else (0, 1)
    for value, share in zip(datasets, (p, q), strict=True):
        fresh = event.contains(mechanism(value, np.random.default_rng(99), 20_000))
        assert fresh.mean() == pytest.approx(share, abs=5 * math.sqrt(0.25 / event.trials))
    assert p > q


def test_same_bits_for_any_number_of_threads() -> None:
    alone = _audit(gaussian, trials=50_000, delta=1e-5, seed=7)
    assert alone.to_dict() == _audit(gaussian, trials=50_000, delta=1e-5, seed=7, jobs=3).to_dict()
    assert alone.to_dict() != _audit(gaussian, trials=50_000, delta=1e-5, seed=8).to_dict()


def test_same_bits_for_any_number_of_processes() -> None:
    def noisy_mean(rows: list[float], rng: np.random.Generator) -> float:
        return sum(rows) + rng.laplace()

    data, neighbour = [0.5, 0.5], [0.0, 0.0]
    options: dict[str, Any] = {"epsilon": 1.0, "trials": 3_000}
    alone = audit_privacy(noisy_mean, data, neighbour, **options)
    shared = audit_privacy(noisy_mean, data, neighbour, jobs=2, **options)
    assert alone.to_dict() == shared.to_dict()
    assert (data, neighbour) == ([0.5, 0.5], [0.0, 0.0])


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_second_claim_is_tested_on_the_same_runs(jobs: int) -> None:
    """An audit that is given the runs of another finds what it would find alone, and runs only its probe."""
    calls: list[int] = []

    def counted(value: float, rng: np.random.Generator, size: int) -> Any:
        calls.append(size)
        return gaussian(value, rng, size)

    options: dict[str, Any] = {"trials": 20_000, "seed": 5, "vectorized": True, "delta": 1e-5}
    runs: dict[Any, Any] = {}
    first = audit_privacy(counted, 1, 0, epsilon=9.0, jobs=jobs, runs=runs, **options)
    assert first.to_dict() == audit_privacy(gaussian, 1, 0, epsilon=9.0, **options).to_dict()
    assert sum(len(outputs) for outputs in runs.values()) == 2 * first.trials
    calls.clear()
    second = audit_privacy(counted, 1, 0, epsilon=8.0, jobs=jobs, runs=runs, **options)
    assert second.to_dict() == audit_privacy(gaussian, 1, 0, epsilon=8.0, **options).to_dict()
    assert max(calls) < 1_000


def test_to_dict_to_frame_and_words() -> None:
    audit = _audit(leaks_infinity, trials=6_000, epsilon=20.0)
    plain = audit.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["verdict"] == audit.verdict
    assert plain["event"]["hits"] == audit.event.hits
    frame = audit.to_frame()
    assert len(frame) == len(audit.looks)
    assert frame["epsilon_lower"].max() == audit.epsilon_lower
    assert set(frame["look"]) == {1, 2, 3}
    assert "-inf" in audit.event.words
    assert f"{audit.event.hits} of {audit.event.trials} runs on data" in str(audit.event)


def test_plot_leaves_pyplot_alone() -> None:
    figure = _audit(rare_atom, trials=6_000).plot()
    assert len(figure.axes) == 2
    assert "audited epsilon" in figure.get_suptitle()
    FigureCanvasAgg(figure).draw()
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_the_plot_shows_the_most_that_the_claim_allows() -> None:
    """The favoured side's tail rises above the claim's limit just where the claim is broken: the truth is 1."""
    for epsilon, broken in ((0.5, True), (1.5, False)):
        audit = _audit(laplace, epsilon=epsilon)
        lines = {line.get_label(): line for line in audit.plot().axes[1].get_lines()}
        favours = audit.event.favours
        other = "data" if favours == "neighbour" else "neighbour"
        allowed = lines[f"most that the claim allows on {favours}"].get_ydata()
        expected = np.minimum(np.exp(audit.epsilon) * lines[f"on {other}"].get_ydata() + audit.delta, 1)
        np.testing.assert_allclose(allowed, expected)
        assert (np.max(lines[f"on {favours}"].get_ydata() - allowed) > 0.02) == broken
        assert (audit.verdict == "violated") == broken


def test_progress_is_told_and_ends_at_the_total() -> None:
    told: list[tuple[int, int]] = []
    _audit(laplace, trials=25_000, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (50_000, 50_000)


def test_histogram_gives_repeated_values_their_own_bins() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4_000, 1))
    a[:40] = 0.25
    (score,) = (s for s in learned(a, b) if isinstance(s, Histogram))
    near = np.array([[0.25], [np.nextafter(0.25, 1)], [np.nextafter(0.25, 0)]])
    atom, above, below = score(near)
    assert atom > 2 > max(above, below)
    claim = PrivacyClaim.point(1.0, 0.0)
    (bold,) = choose(a, b, 30_000, claim, epsilon=1.0, delta=0.0, alpha=0.05)[1:]
    assert bold.event.words == "output in {0.25}"


class TestWrongInput:
    """Each gives one line that names the argument, the constraint and the value."""

    def test_an_object_that_remembers_its_draws(self) -> None:
        """Permanent randomised response: private, but its runs are one run, and no sample of it."""
        kept: dict[int, int] = {}

        def response(value: int, rng: np.random.Generator) -> int:
            if value not in kept:
                kept[value] = value ^ int(rng.random() < 0.25)
            return kept[value]

        with pytest.raises(InputError, match="make a fresh object of whatever remembers its draws, got one that draws"):
            audit_privacy(response, 1, 0, epsilon=1.0, trials=100)

    @pytest.mark.parametrize("jobs", [1, 2])
    @pytest.mark.parametrize("vectorized", [False, True])
    def test_a_mechanism_that_raises(self, jobs: int, vectorized: bool) -> None:
        calls = []

        def late(data: int, rng: np.random.Generator, *size: int) -> Any:
            calls.append(1)
            if len(calls) > (4 if vectorized else 150):
                raise ValueError("out of\nluck")
            return rng.laplace(size=size)

        with pytest.raises(InputError) as raised:
            audit_privacy(late, 1, 0, epsilon=1.0, trials=2_000, jobs=jobs, vectorized=vectorized)
        if not vectorized:  # a later failure is an outcome, unless it comes from what was run before
            assert str(raised.value).startswith(
                "mechanism must fail by its data and rng alone, got an outcome with raises ValueError where runs "
                "are repeated"
            )
            return
        expected = (
            "mechanism must return a number or an array, got ValueError: out of luck, on data, "
            "after 48 runs on data and 48 on neighbour that did not fail; "
        )
        assert str(raised.value).startswith(expected)
        assert raised.value.__cause__ is not None
        assert "ValueError" in repr(raised.value.__cause__)

    def test_a_mechanism_that_cannot_be_sent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("multiprocessing.get_all_start_methods", lambda: ["spawn"])
        with pytest.raises(InputError) as raised:
            audit_privacy(lambda d, rng: rng.laplace(), 1, 0, epsilon=1.0, trials=100, jobs=2)
        assert str(raised.value).startswith("mechanism and datasets must be picklable where jobs = 2, got ")

    def test_a_mechanism_that_kills_its_process(self) -> None:
        parent = os.getpid()

        def fatal(data: int, rng: np.random.Generator) -> float:
            if os.getpid() != parent:
                os._exit(3)
            return float(rng.laplace())

        with pytest.raises(InputError) as raised:
            audit_privacy(fatal, 1, 0, epsilon=1.0, trials=100, jobs=2)
        said = "mechanism must return, got one that ended its process (exit code 3), on data, after 48 runs"
        assert str(raised.value).startswith(said)

    def test_a_mechanism_that_would_end_the_tests_with_success(self) -> None:
        """Under pytest nobody watches over the process, whose end by ``os._exit(0)`` is a green job."""
        with pytest.raises(InputError) as raised:
            assert_private(lambda d, rng: os._exit(0), 1, 0, epsilon=1.0, trials=100)
        assert str(raised.value) == "mechanism must return, got one that ended its process (exit code 0)"


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_an_interrupt_ends_the_workers(tmp_path: Path) -> None:
    """As by Ctrl-C, all processes are: they end, workers mid-call included, with one traceback."""
    script = tmp_path / "interrupted.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys, time
            import dpcheck

            parent = os.getpid()

            def slow(data, rng):
                if os.getpid() != parent:
                    os.write(1, f"{os.getpid()}\\n".encode())  # in one piece
                    time.sleep(600)
                return rng.laplace()

            dpcheck.audit_privacy(slow, 1, 0, epsilon=1.0, trials=4_000, jobs=2)
            """
        )
    )
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(script)], start_new_session=True, **pipes) as process:
        try:
            assert process.stdout is not None
            workers = {int(process.stdout.readline()), int(process.stdout.readline())}
            os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode != 0
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert said.count("Traceback") == 1
    deadline = time.monotonic() + 30
    while any(_alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(worker) for worker in workers)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda v, rng, size: np.full(size, v + rng.laplace()),
        lambda v, rng, size: np.column_stack([v + rng.laplace(size=size), np.full(size, rng.laplace())]),
    ],
)
def test_one_draw_for_all_runs_of_a_call_is_refused(mechanism: Any) -> None:
    with pytest.raises(InputError, match="mechanism must draw afresh for each of the size outputs"):
        _audit(mechanism)


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (lambda v, rng, size: 2**62 + v + 0 * rng.integers(4, size=size), "whole numbers below 2\\^53"),
        (lambda v, rng, size: np.ma.masked_less(rng.normal(size=size), 0), "without a mask"),
    ],
)
def test_numbers_that_would_be_altered_are_refused(mechanism: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        _audit(mechanism)


def test_a_constant_and_enormous_numbers_are_outputs() -> None:
    assert _audit(lambda v, rng, size: np.full(size, 3.0), trials=500).verdict == "consistent"
    assert _audit(lambda v, rng, size: 1e307 * (v + rng.laplace(size=size)), trials=500).verdict == "consistent"


@pytest.mark.parametrize("audit", [audit_privacy, partial(audit_sequential, most=1_000)])
@pytest.mark.parametrize(
    "outputs",
    [
        lambda coin, rng: np.where(coin, 1.7e308, -1.7e308),
        lambda coin, rng: 5e-324 * np.stack([coin, coin], axis=1),
        lambda coin, rng: np.concatenate([coin[:, None], np.full((coin.size, 9), np.inf)], axis=1),
    ],
)
def test_numbers_at_the_ends_of_their_range_are_outputs(audit: Callable[..., Any], outputs: Callable[..., Any]) -> None:
    """A coin that tells the dataset with chance 0.9, without a warning on the way; missed with chance below 1e-9."""

    def mechanism(value: int, rng: np.random.Generator, size: int) -> Any:
        return outputs((rng.random(size) < 0.9) == value, rng)

    assert audit(mechanism, 0, 1, epsilon=0.5, delta=0.0, seed=0, vectorized=True).verdict == "violated"


def shifted_dice(value, rng, size):
    return (value + rng.integers(0, 6, size=size)) % 7


@pytest.mark.parametrize("seed", range(5))
def test_the_witness_carries_the_bound(seed):
    audit = audit_privacy(shifted_dice, 0, 1, epsilon=0.1, trials=300 + 700 * seed, seed=seed, vectorized=True)
    assert audit.verdict == "violated"
    assert audit.deciding.event == audit.event
    assert audit.deciding.epsilon_lower == audit.epsilon_lower
    assert audit.p_value <= audit.deciding.alpha
    assert audit.witness == str(audit.event)


def test_a_witness_at_another_point_of_a_curve_says_what_it_shows():
    audit = audit_privacy(
        lambda value, rng, size: value + 0.8 * rng.normal(size=size), 0.0, 1.0, claim=Gaussian(1.0), trials=20_000,
        vectorized=True,
    )  # fmt: skip
    assert audit.verdict == "violated" and audit.epsilon_lower < audit.epsilon
    look = audit.deciding
    assert look.epsilon_lower > look.claimed
    assert f"epsilon >= {look.epsilon_lower:.4f} at delta {look.delta:g}" in audit.witness
