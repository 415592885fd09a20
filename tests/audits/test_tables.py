"""What pipelines' tables take over from the private data: planted, with clean twins; and the level on exact claims."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from slices import first

import dpcheck

CITIES = ["Oslo", "Paris", "Rome"]


def private(seed=0, n=40):
    rng = np.random.default_rng(seed)
    table = {"city": rng.choice(CITIES, n), "age": rng.integers(18, 90, n), "income": rng.lognormal(10, 1, n)}
    table["city"][:2], table["income"][1] = ["Oslo", "Rome"], 1e7
    return pd.DataFrame(table | {"flag": 0, "grade": pd.Categorical(rng.choice(list("ab"), n), list("abc"))})


def shares(table, rng, names=CITIES):
    noisy = np.maximum(table["city"].value_counts().reindex(names, fill_value=0) + rng.laplace(scale=2, size=3), 1)
    return noisy / noisy.sum()


def synthetic(table, rng, n=60):
    """A clean synthesizer: labels, bounds, size and types are public."""
    return pd.DataFrame({
        "city": rng.choice(CITIES, n, p=shares(table, rng)), "age": rng.integers(18, 91, n),
        "income": rng.uniform(0, 1e5, n), "grade": pd.Categorical(rng.choice(list("ab"), n), list("abc")),
    })  # fmt: skip


def categories(table, rng):
    return pd.DataFrame({"city": rng.choice(table["city"].unique(), 100)})


def declared_categories(table, rng):
    return synthetic(table, rng).assign(
        grade=lambda made: made["grade"].cat.set_categories(sorted(set(table["grade"])))
    )


def row_count(table, rng):
    return synthetic(table, rng, len(table))


def bounds(table, rng):
    return synthetic(table, rng).assign(income=rng.uniform(table["income"].min(), table["income"].max(), 60))


def edges(table, rng):
    counts, where = np.histogram(table["age"].dropna(), bins=4)
    return {"counts": counts + rng.laplace(scale=2, size=4), "edges": where}


def column_order(table, rng):
    return synthetic(table, rng)[["city", *table[["age", "income"]].isna().sum().sort_values(kind="stable").index]]


def dtype(table, rng):
    return synthetic(table, rng).astype({"age": table["age"].dtype})


def missing_pattern(table, rng):
    made = synthetic(table, rng)
    made.loc[: table["income"].isna().sum() - 1, "income"] = np.nan
    return made


def copied(table, rng):
    return [rng.choice(table["income"].dropna().to_numpy(), 30), "done"]


def index(table, rng):
    return synthetic(table, rng, 20).set_index(np.sort(rng.permutation(table.index)[:20]))


def order(table, rng):
    means = table.groupby("city")["income"].max().reindex(CITIES).sort_values()
    return shares(table, rng).reindex(means.index)


def dropped_constant(table, rng):
    return synthetic(table, rng).assign(flag=0)[[c for c in ("city", "flag") if table[c].nunique() > 1]]


PLANTED = {
    categories: ("values", "['city']"),
    declared_categories: ("values", "['grade'].cat.categories"),
    row_count: ("rows", ""),
    bounds: ("greatest", "['income']"),
    edges: ("greatest", "['edges']"),
    column_order: ("order", ".columns"),
    dtype: ("type", "['age']"),
    missing_pattern: ("missing", "['income']"),
    copied: ("values", "[0]"),
    index: ("values", ".index"),
    order: ("order", ".index"),
    dropped_constant: ("values", ".columns"),
}


@pytest.mark.parametrize("pipeline", first(1, PLANTED), ids=lambda pipeline: pipeline.__name__)
def test_what_follows_the_data_is_named(pipeline):
    """Null hypothesis of each: the pipeline is 1-private; neighbours are made by the audit."""
    audit = dpcheck.audit_tables(pipeline, private(n=20), epsilon=1.0)
    assert audit.verdict == "violated"
    assert PLANTED[pipeline] in {(seen.topic, seen.column) for seen in audit.observations}
    assert audit.epsilon_lower >= 1.0
    assert audit.runs < 1000
    if pipeline in (missing_pattern, order):  # of several lines
        assert re.search(r"; .*\bline \d+ .*test_tables\.py:\d+\)", audit.reason), audit.reason


def test_a_clean_synthesizer_is_consistent():
    audit = dpcheck.audit_tables(synthetic, private(), epsilon=1.0)
    assert (audit.verdict, audit.observations, audit.left_out) == ("consistent", [], [])
    assert audit.pairs > 10
    assert audit.properties > 20


EPSILON = 1.0


def two_sided(rng):
    chance = 1 - math.exp(-EPSILON)
    return int(rng.geometric(chance) - rng.geometric(chance))


def told(data, rng):
    """Whether there is one record more, by randomized response of exactly this epsilon."""
    return (rng.random() < 1 / (1 + math.exp(-EPSILON))) == (len(data) > 20)


def noisy_rows(data, rng):
    return [0] * max(0, len(data) + two_sided(rng))


def noisy_column(data, rng):
    return {"a": 1} | ({"b": 1} if told(data, rng) else {})


def noisy_failure(data, rng):
    if told(data, rng):
        raise ValueError("no table")
    return pd.DataFrame({"a": [1]})


def noisy_type(data, rng):
    return np.zeros(2, float if told(data, rng) else int)


def noisy_bound(data, rng):
    return pd.Series([rng.integers(3), len(data) + two_sided(rng)])


@pytest.mark.thorough
@pytest.mark.parametrize("pipeline", [noisy_rows, noisy_column, noisy_failure, noisy_type, noisy_bound])
def test_noise_that_is_exactly_enough_keeps_the_level(pipeline):
    """Null hypothesis: epsilon is 1, which is attained; false alarms are at most 5 %."""
    audits = 40
    alarms = sum(
        dpcheck.audit_tables(pipeline, [1] * 20, [1] * 21, epsilon=EPSILON, runs=60, seed=seed).verdict == "violated"
        for seed in range(audits)
    )
    assert alarms <= stats.binom.ppf(0.999, audits, 0.05), alarms


def test_what_is_judged_are_fresh_runs_and_its_levels_sum_to_the_whole(monkeypatch):
    """Levels of all candidates at all looks, where none is rejected though each seems likely to be."""
    drawn, levels = [], []

    def pipeline(data, rng):
        drawn.append(rng.random())
        return np.zeros(2, float if told(data, rng) else int)

    def refused(x, y, count, epsilon, *, delta, alpha):
        if (x, y) == (count, 0):  # how many runs it takes
            return True
        levels.append(alpha)
        return False

    monkeypatch.setattr("dpcheck.audits.tables.rejects", refused)
    dpcheck.audit_tables(pipeline, [1] * 20, [1] * 21, epsilon=0.2)
    assert drawn[:16] == drawn[16:32]
    assert len(set(drawn)) == len(drawn) - 16 > 4000
    assert 0.045 < sum(levels) <= 0.05


def test_the_same_noise_is_too_little_for_less():
    for pipeline in (noisy_rows, noisy_column, noisy_failure, noisy_type):
        assert dpcheck.audit_tables(pipeline, [1] * 20, [1] * 21, epsilon=0.2).verdict == "violated"


def test_counts_are_those_of_fresh_runs_on_either_side():
    data = private()
    fewer = data.iloc[1:].reset_index(drop=True)
    [seen, *_] = dpcheck.audit_tables(row_count, data, fewer, epsilon=1.0).observations
    assert (seen.event, seen.on_data, seen.on_neighbour, seen.runs) == ("len(output) >= 39.5", 30, 0, 30)
    [seen, *_] = dpcheck.audit_tables(row_count, fewer, data, epsilon=1.0).observations
    assert (seen.event, seen.on_data, seen.on_neighbour, seen.runs) == ("len(output) >= 39.5", 0, 30, 30)


def refuses_gaps(table, rng):
    if table["age"].isna().any():
        raise KeyError("age")
    return synthetic(table, rng)


def test_failing_is_an_output_on_a_given_neighbour_and_unjudged_on_a_made_one():
    data = private()
    gap = data.assign(age=data["age"].where(data.index > 0))
    audit = dpcheck.audit_tables(refuses_gaps, data, gap, epsilon=1.0)
    assert [seen.event for seen in audit.observations] == ["the pipeline raises KeyError"]
    audit = dpcheck.audit_tables(refuses_gaps, data, epsilon=1.0)
    assert audit.verdict == "consistent"
    assert len(audit.left_out) == 1
    assert "'age' is missing" in audit.left_out[0]


@pytest.mark.thorough
def test_the_number_of_rows_is_public_where_records_are_replaced():
    for neighbours, verdict in (("replace_one", "consistent"), ("add_or_remove_one", "violated")):
        audit = dpcheck.audit_tables(row_count, private(), epsilon=1.0, neighbours=neighbours)
        assert audit.verdict == verdict


def test_too_few_runs_are_said():
    audit = dpcheck.audit_tables(lambda table, rng: table, private(), epsilon=5.0, runs=100)
    assert audit.verdict == "inconclusive"
    assert {"rows", "least"} <= {seen.topic for seen in audit.observations}
    assert json.loads(json.dumps(audit.to_dict()))["observations"]
    assert "pass runs=" in audit.reason
    assert len(str(audit).splitlines()) <= 40


@pytest.mark.parametrize("kind", first(1, ["series", "array", "records", "frame of many types"]))
def test_what_is_returned_as_it_came_is_found_in_every_kind_of_table(kind):
    data = private()
    tables = {
        "series": data["age"], "array": data[["age", "income"]].to_numpy(),
        "records": data[["age", "income"]].to_records(index=False),
        "frame of many types": data.assign(
            day=pd.Timestamp("2024-01-01"), span=pd.Timedelta(1, "h"), small=data["age"].astype("uint8"),
            whole=data["age"].astype("Int64"), word=data["city"].astype("string"), old=data["age"] > 50,
        ).set_index("city"),
    }  # fmt: skip
    audit = dpcheck.audit_tables(lambda table, rng: table, tables[kind], epsilon=1.0)
    assert {"rows", "values", "greatest"} <= {seen.topic for seen in audit.observations}
    assert "kind" not in {seen.topic for seen in audit.observations}
    assert audit.to_dict()["observations"][0]["verdict"] == "violated"


@pytest.mark.parametrize("seed", range(4))
def test_a_bound_that_seldom_shows_is_found_from_the_side_where_it_never_does(seed):
    def pipeline(data, rng):
        return [min(data) if rng.random() < 0.3 else float(rng.integers(2))]

    seen = dpcheck.audit_tables(pipeline, [1.0, 2.0], [1.0, -50.0], epsilon=1.0, seed=seed).observations
    assert any(each.event.startswith("min(output) < ") for each in seen)
    assert all((each.on_data, each.on_neighbour > 0) == (0, True) for each in seen)
