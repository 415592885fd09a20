"""What a mechanism gives where it has no number: NaN is an output, an exception is an error that says what to do.

Null hypothesis of every audit here: its claim holds. Seeds are fixed; over seeds a mechanism that keeps its
claim fails its test with probability at most 5 %, and one that breaks it is missed with far less.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcheck import (
    audit_floating_point,
    audit_neighbours,
    audit_noise,
    audit_privacy,
    audit_randomness,
    audit_sequential,
)
from dpcheck.audits.neighbours import canary
from dpcheck.audits.one_run import audit_one_run
from dpcheck.audits.running.datasets import among, fingerprint, same, shown
from dpcheck.audits.scores import Coordinate
from dpcheck.audits.scores.exact import specials
from dpcheck.audits.scores.histograms import Pair, histogram, intervals
from dpcheck.audits.scores.learned import trees
from dpcheck.errors import InputError

Mechanism = Callable[..., Any]
NAN, INF = math.nan, math.inf


def continuous(rng: np.random.Generator, size: int) -> Any:
    return rng.laplace(size=(size, 1))


def counts(rng: np.random.Generator, size: int) -> Any:
    return rng.geometric(0.5, size=(size, 1)).astype(float)


def narrow(rng: np.random.Generator, size: int) -> Any:
    return rng.laplace(size=(size, 3))


def wide(rng: np.random.Generator, size: int) -> Any:
    return rng.laplace(size=(size, 40))


def mixed(rng: np.random.Generator, size: int) -> Any:
    """Infinities are outputs of their own beside NaN."""
    return rng.choice([0.5, INF, -INF], size=(size, 1))


def missing(outputs: Callable[..., Any], data: float, neighbour: float) -> Mechanism:
    """Outputs whose last number is NaN with this chance on either dataset."""

    def mechanism(which: int, rng: np.random.Generator, size: int) -> Any:
        rows = outputs(rng, size)
        rows[rng.random(size) < (data if which else neighbour), -1] = NAN
        return rows

    return mechanism


def both_or_either(which: int, rng: np.random.Generator, size: int) -> Any:
    """Each of two numbers is missing half of the time, on data always together."""
    first, second = rng.random((2, size)) < 0.5
    return np.where(np.stack([first, first if which else second], axis=1), NAN, rng.laplace(size=(size, 2)))


def _audits(mechanism: Mechanism, runs: int = 5_000) -> list[Any]:
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "vectorized": True}
    audits = [
        audit_privacy(mechanism, 1, 0, trials=runs, **options),
        audit_sequential(mechanism, 1, 0, most=runs, **options),
    ]
    for audit in audits:
        json.dumps(audit.to_dict(), allow_nan=False)
    return audits


@pytest.mark.parametrize("outputs", [continuous, counts, narrow, wide, mixed])
def test_missing_on_one_dataset_is_a_leak_with_a_name(outputs: Callable[..., Any]) -> None:
    """NaN in a tenth of the runs on data, never on the neighbour."""
    name = {narrow: "output[2]", wide: "output[39]"}.get(outputs, "output")
    membership, sequential = _audits(missing(outputs, 0.1, 0.0))
    assert (membership.verdict, sequential.verdict) == ("violated", "violated")
    assert membership.event.words == f"{name} is nan"
    assert membership.one_sided
    rows = np.zeros((2, 40 if outputs is wide else 3 if outputs is narrow else 1))
    rows[1, -1] = NAN
    assert membership.event.contains(rows).tolist() == [False, True]


def test_a_rare_missing_value_among_continuous_ones() -> None:
    """A chance of 1 in 500: nothing else repeats, so that few runs are enough."""
    audit = audit_privacy(
        missing(continuous, 0.002, 0.0), 1, 0, epsilon=1.0, delta=1e-5, trials=20_000, vectorized=True
    )
    assert (audit.verdict, audit.event.words) == ("violated", "output is nan")


def test_missing_together() -> None:
    membership, _ = _audits(both_or_either)
    assert membership.verdict == "violated"
    assert "(nan, nan)" in membership.event.words or "(nan, other)" in membership.event.words


@pytest.mark.thorough
@pytest.mark.parametrize("outputs", [continuous, counts, narrow, wide, mixed])
@pytest.mark.parametrize("chance", [0.1, 1.0])
def test_missing_alike_on_both_is_no_leak(outputs: Callable[..., Any], chance: float) -> None:
    membership, sequential = _audits(missing(outputs, chance, chance), 1_000)
    assert (membership.verdict, sequential.verdict) == ("consistent", "consistent")
    assert max(membership.epsilon_lower, sequential.epsilon_lower) == pytest.approx(0, abs=0.2)


def test_missing_as_often_as_the_claim_allows() -> None:
    """Chances 0.2 e^1 and 0.2 are (1, 0)-private; 0.2 e^1.5 is not."""
    exact, more = (missing(continuous, 0.2 * math.exp(e), 0.2) for e in (1.0, 1.5))
    assert [audit.verdict for audit in _audits(exact)] == ["consistent", "consistent"]
    assert [audit.verdict for audit in _audits(more)] == ["violated", "violated"]


def test_a_constant_says_nothing() -> None:
    membership, sequential = _audits(missing(continuous, 1.0, 1.0), 1_000)
    assert membership.event.words == sequential.event.words == "any output"


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_a_column_without_numbers_hides_no_other(chance: float) -> None:
    """Strong noise common to all columns, which only a discriminant takes off."""

    def mechanism(which: int, rng: np.random.Generator, size: int) -> Any:
        rows = rng.standard_normal((size, 9)) + 30 * rng.standard_normal((size, 1)) + which * np.linspace(-2, 2, 9)
        return np.column_stack([rows, np.where(rng.random(size) < chance, NAN, 0.0)])

    found = audit_privacy(mechanism, 1, 0, epsilon=1.0, trials=20_000, vectorized=True)
    assert found.verdict == "violated"
    assert "discriminant" in found.event.words


def test_scores_give_it_a_place_of_its_own() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.laplace(size=(2, 400, 2))
    a[::2, 0] = NAN
    probe = np.array([[NAN, 0.0], [INF, 0.0], [0.0, 0.0]])
    learned = histogram(Coordinate(0, 2), a, b)
    at = learned(probe)
    assert at[0] > 3 > at[1] == at[2] or at[0] > 3 > max(at[1:])
    assert learned.describe(">=", float(at[0])) == "output[0] is nan"
    unseen = histogram(Coordinate(1, 2), a, b)
    assert np.isnan(unseen(probe[:, ::-1])).tolist() == [True, False, False]
    assert np.isnan(Pair(0, 1, -1, 1.0)(np.array([[NAN, 0.0], [INF, INF], [1.0, 0.0]]))).tolist() == [
        True,
        False,
        False,
    ]
    grown = trees([Coordinate(0, 2), Coordinate(1, 2)], a, b)(probe)
    assert grown[0] > 1 > grown[2]


def test_values_equal_themselves() -> None:
    known = np.array([-INF, 0.0, 2.0, NAN])
    assert same(known, np.array([-INF, 1.0, NAN, NAN])).tolist() == [True, False, False, True]
    assert among(np.array([NAN, 2.0, 1.0, INF, -INF]), known).tolist() == [True, True, False, False, True]
    assert among(np.array([NAN, INF]), known[:3]).tolist() == [False, False]
    assert among(np.array([NAN]), known[:0]).tolist() == [False]


def test_a_canary_that_makes_the_output_missing_is_the_farthest() -> None:
    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        return (NAN if data[0] >= 1 else data.sum()) + rng.laplace()

    pair = canary(mechanism, np.zeros(3), low=0.0, high=1.0, steps=2)
    assert {float(pair.data[0]), float(pair.neighbour[0])} == {0.0, 1.0}
    audit = audit_neighbours(mechanism, [pair, (np.zeros(3), np.zeros(3))], epsilon=1.0, trials=500)
    assert audit.pair is pair
    assert audit.verdict == "violated"


def test_a_single_run_has_no_use_for_it() -> None:
    """Scores are guessed from, in order; the sentence says what to do."""
    with pytest.raises(InputError, match=r"^algorithm must return scores that are numbers, got nan$"):
        audit_one_run(lambda included, rng: np.where(included, 1.0, NAN), 10, epsilon=1.0)


def fails(data: Any, rng: np.random.Generator) -> Any:
    """On the empty dataset only."""
    return sum(data) / len(data) + rng.laplace()


class TestFailures:
    """An exception is an outcome, where some first run returns."""

    @pytest.mark.parametrize("pair", [([1], []), ([], [1])])
    @pytest.mark.parametrize("audit", [audit_privacy, audit_sequential])
    def test_at_once(self, audit: Callable[..., Any], pair: tuple[Any, Any]) -> None:
        found = audit(fails, *pair, epsilon=1.0)
        assert (found.verdict, found.event.words) == ("violated", "raises ZeroDivisionError")
        assert found.event.favours == ("neighbour" if pair[0] else "data")
        assert (found.event.hits, found.event.other_hits) == (found.event.trials, 0)

    def test_a_mechanism_that_never_works_is_no_leak(self) -> None:
        for mechanism, said in (
            (lambda data, rng: 1 / 0, "ZeroDivisionError: division by zero"),
            (lambda data, rng: data.sum(axis=0), "AttributeError: 'list' object has no attribute 'sum'"),
            (lambda data, rng: max(data) if data[1:] else sum(rng), "TypeError: "),
        ):
            for audit in (audit_privacy, audit_sequential):
                with pytest.raises(
                    InputError, match=f"^mechanism must return an output, got an error in all first runs: {said}"
                ):
                    audit(mechanism, [1], [0], epsilon=1.0)
        with pytest.raises(InputError, match=r"^mechanism must return an outcome, got None in all first runs$"):
            audit_privacy(lambda data, rng: None, [], [0], epsilon=1.0)

    def test_a_vectorized_one_returns_numbers(self) -> None:
        with pytest.raises(InputError, match=r"complex numbers as real and imaginary parts, got complex128$"):
            audit_privacy(lambda data, rng, size: 1j * rng.normal(size=size), 1, 0, epsilon=1.0, vectorized=True)

    def test_in_a_search(self) -> None:
        found = audit_neighbours(fails, [([1], [2]), ([1], [])], epsilon=1.0, trials=200)
        assert (found.verdict, found.pair.words) == ("violated", "pair 1")
        assert found.audit.event.words == "raises ZeroDivisionError"

    def test_and_is_audited_where_it_becomes_nan(self) -> None:
        def caught(data: Any, rng: np.random.Generator) -> Any:
            try:
                return fails(data, rng)
            except ZeroDivisionError:
                return NAN

        audit = audit_privacy(caught, [1], [], epsilon=1.0, trials=1_000)
        assert (audit.verdict, audit.one_sided) == ("violated", True)


class TestDatasets:
    """A dataset is the same in every run, or the runs are not of one law."""

    SAID = r"^mechanism must leave its datasets as they are, got one that it changed: let it work on a copy$"

    def test_that_is_a_changed_table(self) -> None:
        def adds(data: Any, rng: np.random.Generator) -> Any:
            data.loc[0, "a"] += 1e-3
            return data["a"].sum() + rng.laplace()

        with pytest.raises(InputError, match=self.SAID):
            audit_privacy(adds, pd.DataFrame({"a": [0.0]}), pd.DataFrame({"a": [1.0]}), epsilon=1.0)

    @pytest.mark.parametrize("seeded", [True, False])
    def test_that_is_overwritten_once(self, seeded: bool) -> None:
        """A first run may tell everything, and every later one nothing."""
        own = np.random.default_rng(0)

        def tells_once(data: Any, rng: np.random.Generator) -> Any:
            told = data.sum() + 0.01 * own.normal() if not seeded else rng.normal()
            data[0] = 0.0
            return told

        with pytest.raises(InputError, match=self.SAID):
            audit_privacy(tells_once, np.ones(3), np.array([0.0, 1.0, 1.0]), epsilon=1.0, seeded=seeded)

    @pytest.mark.parametrize("kind", [np.array, list])
    @pytest.mark.parametrize(
        "audit",
        [
            lambda mechanism, data, other: audit_privacy(mechanism, data, other, epsilon=1.0),
            lambda mechanism, data, other: audit_sequential(mechanism, data, other, epsilon=1.0),
            lambda mechanism, data, other: audit_noise(mechanism, data, scale=1.0, trials=50),
            lambda mechanism, data, other: audit_floating_point(mechanism, data, other, epsilon=1.0, trials=200),
            lambda mechanism, data, other: audit_randomness(mechanism, data, other),
            lambda mechanism, data, other: audit_neighbours(mechanism, [(data, other)], epsilon=1.0, trials=200),
        ],
        ids=["privacy", "sequential", "noise", "floating point", "randomness", "neighbours"],
    )
    def test_that_is_changed_in_any_audit(self, audit: Callable[..., Any], kind: Callable[..., Any]) -> None:
        def overwrites(data: Any, rng: np.random.Generator) -> Any:
            told = sum(data) + rng.laplace()
            data[0] = 0.0
            return told

        with pytest.raises(InputError, match=self.SAID):
            audit(overwrites, kind([100.0, 0.0]), kind([50.0, 0.0]))

    def test_that_is_read_only(self) -> None:
        """A table may be arranged anew when it is read; what cannot be compared is not accused."""
        table = pd.DataFrame({"a": [0.0, 1.0], "b": [2.0, 3.0]})
        table["c"], table["d"] = ["x", "y"], 1.0
        assert fingerprint(table) == fingerprint(table.copy())  # which puts all columns of numbers together
        other = table.copy()
        other.loc[0, "a"] = 1.0

        def reads(data: Any, rng: np.random.Generator) -> Any:
            return data[["a", "b"]].values.sum() + data.values.size + data["c"].str.len().sum() + rng.laplace()

        assert audit_privacy(reads, table, other, epsilon=1.5, trials=200).verdict == "consistent"
        own = np.random.default_rng(0)
        with pytest.raises(InputError, match="draw all its randomness from rng"):
            audit_privacy(lambda data, rng: own.laplace(), lambda: 0, lambda: 0, epsilon=1.0)


def test_sets_of_values_in_words() -> None:
    """Values are named as they are, intervals by their ends, whichever edges keep them apart."""
    after = np.nextafter([0.0, 1.0, 3.0], INF)
    edges = np.array([0.0, after[0], 1.0, after[1], 3.0, after[2], NAN])

    def named(*inside: int) -> list[str]:
        return intervals(edges, np.isin(np.arange(edges.size + 1), inside))

    assert named(1, 3, 5, 7) == ["{0}", "{1}", "{3}", "{nan}"]
    assert named(0, 1) == ["[-inf, 0]"]
    assert named(0) == ["[-inf, 0)"]
    assert named(2, 4) == ["(0, 1)", "(1, 3)"]
    assert named(1, 2, 3) == ["[0, 1]"]
    assert named(6) == ["(3, inf]"]
    assert named(*range(8)) == ["[-inf, inf]", "{nan}"]
    assert intervals(np.array([-INF, np.nextafter(-INF, INF)]), np.array([False, True, False])) == ["{-inf}"]
    assert intervals(np.array([NAN]), np.array([True, True])) == ["[-inf, inf]", "{nan}"]  # where nothing else was seen
    assert intervals(np.array([NAN]), np.array([False, True])) == ["{nan}"]
    twice = np.array([0.3, 0.1 + 0.2])  # neighbouring numbers, and the one after them
    edges = np.append(twice, np.nextafter(twice[1], INF))
    assert intervals(edges, np.array([False, True, False, False])) == ["{0.3}"]
    assert intervals(edges, np.array([False, False, True, False])) == ["(0.3, 0.30000000000000004]"]
    assert intervals(edges[1:], np.array([False, True, False])) == ["{0.30000000000000004}"]
    assert [shown(v) for v in (0.1, 3.0, 1234567.25, 1e7, 1.5e20, 2 / 3)] == [
        "0.1", "3", "1234567.2", "10000000", "1.5e+20", "0.666667",
    ]  # fmt: skip


@pytest.mark.parametrize("audit", [audit_privacy, audit_sequential])
def test_counts_are_named_by_their_values(audit: Callable[..., Any]) -> None:
    def mechanism(which: int, rng: np.random.Generator, size: int) -> Any:
        """More threes on data; no threshold shows that."""
        return np.where(rng.random(size) < 0.4 * which, 3, rng.integers(0, 7, size))

    assert audit(mechanism, 1, 0, epsilon=0.5, vectorized=True).event.words == "output in {3}"


def test_whether_a_number_is_nan_is_a_score_of_its_own():
    """Only where there is one, for the column that has it."""
    a = np.array([[0.0, 1.0], [np.inf, np.nan], [2.0, 3.0]])
    (score,) = specials(a, np.ones((3, 2)), range(2))
    np.testing.assert_array_equal(score(a), [0, 1, 0])
    assert score.describe(">=", 1.0) == "output[1] is nan"
    assert score.describe("<=", 0.0) == "output[1] is not nan"
