"""Neighbours around a data set: what is proposed, what an audit of them finds, and how its witness is made smaller."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from slices import first

import dpcheck
from dpcheck.audits.neighbours import around
from dpcheck.errors import InputError

AGES = np.random.default_rng(7).integers(18, 91, 60).astype(float)
TABLE = pd.DataFrame({
    "age": AGES[:40], "sex": ["m", "f"] * 20, "born": pd.to_datetime(["1990-01-01", "1950-06-01"] * 20),
    "kind": pd.Categorical(["a", "b", "b", "b"] * 10), "number": pd.array([*range(39), None], dtype="Int64"),
})  # fmt: skip
DATA: dict[str, Any] = {
    "numbers": [3, 8, 5], "array": np.array([3, 8, 5]), "single": np.float32([[0.5, 1.5], [1, 2], [4, 0]]),
    "images": np.arange(24.0).reshape(4, 2, 3), "words": ["ja", "nein", "ja"], "letters": np.array(["a", "bb", "a"]),
    "lists": [[1, 2], [3, 4]], "tuples": [(1, "a"), (2, "b")], "ragged": [[1], [2, 3], []],
    "dicts": [{"x": 1, "w": "a"}, {"x": 2, "w": "b", "z": 3}], "table": TABLE, "indexed": TABLE.set_index("age"),
    "column": TABLE["age"], "columns": {"a": [1, 2, 3], "b": np.array([1.0, 2.0, 4.0])}, "truths": [True, False, True],
}  # fmt: skip


def rows(data: Any) -> list[str]:
    """A data set's records, as texts that can be compared."""
    if isinstance(data, pd.DataFrame):
        return [repr(row) for row in data.astype(object).itertuples(index=False)]
    if isinstance(data, dict):
        return [repr(tuple(map(str, row))) for row in zip(*data.values(), strict=True)]
    return [repr(row.tolist() if hasattr(row, "tolist") else row) for row in data]


def audit(mechanism: Any, data: Any, *, trials: int = 6_000, seed: int = 0, **which: Any) -> Any:
    """Audit as the command does."""
    return dpcheck.audit_neighbours(
        mechanism, around(data, **which), epsilon=1.0, trials=trials, search=trials // 3, shrink=True, seed=seed
    )


@pytest.mark.parametrize("name", first(5, DATA))
@pytest.mark.parametrize("group", [1, 2])
def test_neighbours_differ_in_as_many_records_as_is_asked(name, group):
    data = DATA[name]
    before = repr(data)
    size = len(rows(data))
    for relation in ("replace_one", "add_or_remove_one", "both"):
        pairs = around(data, relation=relation, group=group)
        assert 4 <= len(pairs) <= 100
        assert {pair.kind for pair in pairs} >= {"inside"}
        for pair in pairs:
            assert type(pair.neighbour) is type(data)
            ours, theirs = rows(pair.data), rows(pair.neighbour)
            added = len(theirs) != len(ours)
            assert (not added and len(ours) == size) if relation == "replace_one" else True
            assert added or relation != "add_or_remove_one"
            if added:
                fewer, more = sorted((ours, theirs), key=len)
                assert len(more) - len(fewer) == group
                assert all(more.count(row) >= fewer.count(row) for row in fewer)
            else:
                assert 1 <= sum(a != b for a, b in zip(ours, theirs, strict=True)) <= group
            assert bool(pair.outside) == (pair.kind != "inside")
    assert repr(data) == before


def test_types_of_columns_stay():
    for pair in around(TABLE):
        if pair.kind == "inside":
            assert list(pair.neighbour.dtypes) == list(TABLE.dtypes)
    assert {pair.neighbour.dtype for pair in around(np.float32([1, 2])) if pair.kind != "beyond"} == {np.dtype("f4")}
    (removed,) = (
        p for p in around(DATA["indexed"], relation="add_or_remove_one") if p.words.startswith("record 0 rem")
    )
    assert list(removed.neighbour.index) == list(DATA["indexed"].index[1:])


def test_what_lies_outside_is_marked_and_can_be_left_out():
    data = [1.0, 4.0, 2.0]
    for pair in around(data, relation="both"):
        cells = [*pair.data, *pair.neighbour]
        kind = "inside" if min(map(len, (pair.data, pair.neighbour))) else "beyond"
        if not all(map(math.isfinite, cells)):
            kind = "not finite"
        elif not all(1 <= cell <= 4 for cell in cells):
            kind = "beyond"
        assert pair.kind == kind, pair.words
    assert {pair.kind for pair in around(data, records="inside")} == {"inside"}
    assert {pair.kind for pair in around(data, records="any")} == {"inside", "beyond"}
    assert "not finite" not in {pair.kind for pair in around(np.array([1, 2]))}  # which cannot hold it
    beyond = [pair.neighbour for pair in around(["a", "b", "b"]) if pair.kind == "beyond"]
    assert all(len(set(words) - {"a", "b"}) == 1 for words in beyond) and len(beyond) == 3
    held = [math.nan, 1.0, 2.0]
    assert any(np.isnan(p.neighbour).sum() == 2 for p in around(held) if p.kind == "inside")
    assert len(around(np.zeros((50, 400)) + np.arange(50.0)[:, None])) <= 100


@pytest.mark.parametrize("wrong", [
    (5, {}), ("text", {}), ([], {}), ({"a": [1], "b": [1, 2]}, {}), ([1, 2], {"group": 3}), ([1], {"relation": "none"}),
    ([1], {"records": "all"}), ([1], {"group": 0}),
])  # fmt: skip
def test_wrong_input_is_refused(wrong):
    with pytest.raises(InputError):
        around(wrong[0], **wrong[1])


def unbounded(d, rng):
    return d.mean() + rng.laplace(scale=72 / len(AGES))


def clipped(d, rng):
    return np.clip(d, 18, 90).mean() + rng.laplace(scale=72 / len(AGES))


def finite(d, rng):
    return clipped(np.nan_to_num(d, nan=18.0, posinf=90.0, neginf=18.0), rng)


def median(d, rng):
    return np.median(np.clip(d, 18, 90)) + rng.laplace(scale=72 / len(AGES))


def counts_exactly(d, rng):
    return np.array([np.clip(d, 0, 90).sum() + rng.laplace(scale=90), len(d)])


def rare(t, rng):
    return float((t["sex"] == "x").any()) if rng.random() < 0.3 else rng.random()


def labels(words, rng):
    return len(set(words)) + 0.3 * rng.random()


def lengths(lists, rng):
    return sum(map(len, lists)) + rng.laplace(scale=2.0)


WITH_X = TABLE[["age", "sex"]].replace({"sex": {"f": "x"}}).iloc[:3]
LEAKS = {  # mechanism, data, which neighbours, and the kind of the pair that shows it; then a twin that keeps its claim
    "no clip": (unbounded, AGES, {}, "beyond", clipped),
    "NaN": (clipped, AGES, {"records": "any"}, "beyond", finite),
    "median": (median, AGES, {}, "inside", clipped),
    "number of records": (counts_exactly, AGES, {"relation": "add_or_remove_one"}, "inside", None),
    "group": (clipped, AGES, {"group": 2}, "inside", None),
    "rare word": (rare, WITH_X, {}, "inside", None),
    "new label": (labels, ["a", "b", "b", "a", "c", "c"], {}, "inside", None),
    "long record": (lengths, [[1], [2, 3], [0]], {}, "beyond", lambda d, rng: lengths([r[:2] for r in d], rng)),
}


@pytest.mark.parametrize("name", first(3, LEAKS))
@pytest.mark.parametrize("seed", first(1, range(2)))
def test_a_leak_that_few_pairs_show_is_found(name, seed):
    leak, data, which, kind, twin = LEAKS[name]
    found = audit(leak, data, seed=seed, trials=3_000, **which)
    assert (found.verdict, found.pair.kind) == ("violated", kind)
    assert bool(found.pair.outside) == (kind == "beyond")
    if twin is not None:
        assert audit(twin, data, seed=seed, trials=3_000, **which).verdict == "consistent"


def test_the_kinds_are_audited_apart():
    """What NaN does is no matter of the verdict; what huge records do is, and the range of the data has its word."""
    found = audit(clipped, AGES)
    assert found.verdict == "consistent"
    assert {other.pair.kind: other.verdict for other in found.others} == {
        "beyond": "consistent",
        "not finite": "violated",
    }
    found = audit(unbounded, AGES)
    assert [other.verdict for other in found.others if other.pair.kind == "inside"] == ["consistent"]
    assert "outside the range of the data" in str(found).splitlines()[0]
    assert audit(unbounded, AGES, records="inside").verdict == "consistent"
    parsed = json.loads(json.dumps(found.to_dict()))
    assert parsed["kind"] == "beyond" and parsed["outside"] and len(parsed["others"]) == 1
    levels = [1 - a.confidence for a in (found.audit, *(other.audit for other in found.others), found.smaller.audit)]
    assert sum(levels) <= 0.05 + 1e-12


def test_the_witness_is_made_smaller():
    noisy = lambda d, rng: np.max(d) + rng.laplace()  # noqa: E731
    found = audit(noisy, [31.4, 77.1, 12.9, 50.0, 44.4])
    small = found.smaller.pair
    assert (len(small.data), found.smaller.verdict) == (1, "violated")
    assert 12.9 <= min(small.data + small.neighbour) and max(small.data + small.neighbour) <= 77.1
    counted = audit(lambda d, rng: float(len(d)), list(range(30)), relation="add_or_remove_one").smaller.pair
    assert {len(counted.data), len(counted.neighbour)} <= {0, 1, 2}


def test_fewer_records_show_the_same_fault():
    """Noise for 60 records is too small for one: no sign of the missing clip."""
    found = audit(unbounded, AGES, trials=4_000)
    assert len(found.smaller.pair.data) > 3
    assert np.abs(found.smaller.pair.neighbour).max() < 1e5 < np.abs(found.pair.neighbour).max()


def test_pairs_on_which_the_mechanism_fails_are_left_out():
    def strict(d, rng):
        if max(d) > 90:
            raise ValueError("too old")
        return clipped(d, rng)

    found = audit(strict, AGES)
    assert found.verdict == "consistent"
    assert any("too old" in words for words in found.failing)
    with pytest.raises(InputError, match="ZeroDivisionError"):
        audit(lambda d, rng: 1 / 0, AGES)
    with pytest.raises(InputError, match="ZeroDivisionError"):  # NaN alone, which does not fail, decides nothing
        audit(lambda d, rng: 1.0 if np.isnan(d).any() else 1 / 0, AGES)


def test_an_interrupt_keeps_what_is_known():
    def stop(done, total):
        calls.append(done)
        if len(calls) > at:
            raise KeyboardInterrupt

    calls, at = list[int](), 10**9
    dpcheck.audit_neighbours(finite, around(AGES), epsilon=1.0, trials=2_000, search=500, progress=stop)
    calls, at = [], len(calls) - 1
    with pytest.raises(KeyboardInterrupt, match="so far consistent on the pair"):
        dpcheck.audit_neighbours(finite, around(AGES), epsilon=1.0, trials=2_000, search=500, progress=stop)


def noisy_sum(d, rng, size):
    return np.clip(np.nan_to_num(d), 0, 1).sum() + rng.laplace(size=size)


def response(d, rng, size):
    return ((d[0] > 2) ^ (rng.random(size) > math.e / (1 + math.e))).astype(float)


def count(d, rng, size):
    return d.count("a") + rng.laplace(size=size)


CLEAN = {noisy_sum: np.array([0.0, 1.0] * 6), response: [3, 0, 2, 5], count: ["a", "b", "b"]}  # at exactly epsilon 1


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", CLEAN)
def test_false_alarms_around_a_data_set(mechanism):
    """Null hypothesis: what any audit of a search calls violated, it does in at most 5 % where the claim is kept.

    Rejected above the 0.999 quantile of Bin(70, 0.05): error rate 0.1 %.
    """
    pairs, alarms = around(CLEAN[mechanism]), 0
    for seed in range(70):
        found = dpcheck.audit_neighbours(
            mechanism, pairs, epsilon=1.0, trials=400, search=200, shrink=True, seed=seed, vectorized=True
        )
        alarms += "violated" in (found.verdict, *(other.verdict for other in found.others))
    assert alarms <= stats.binom.isf(1e-3, 70, 0.05)
