"""Cases are whole and their truths are those of their laws; the page is what the table says; comparisons find a gap."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import tables
from league import compare, page, table
from league.case import Case, cases, epsilon_of
from league.cases import ldp, sniper
from league.entrant import FOLDER, entrants

KNOWN = [c for c in cases().values() if math.isfinite(c.truth) and not c.name.startswith("bug ")]


def test_the_truth_of_two_laws() -> None:
    assert epsilon_of([0.8, 0.2], [0.2, 0.8]) == pytest.approx(math.log(4))
    assert epsilon_of([0.8, 0.2], [0.2, 0.8], 0.1) == pytest.approx(math.log(0.7 / 0.2))
    assert epsilon_of([0.5, 0.5, 0.0], [0.4, 0.4, 0.2]) == math.inf
    assert epsilon_of([0.5, 0.5, 0.0], [0.4, 0.4, 0.2], 0.25) == pytest.approx(0.0, abs=1e-9)


def test_every_case_draws_what_it_says() -> None:
    """The same runs for the same seed, others for another; numbers in rows."""
    for case in cases().values():
        first, again, other = (case.samples(8, seed) for seed in (0, 0, 1))
        assert np.array_equal(first[0], again[0], equal_nan=True)
        assert first[0].shape == first[1].shape == other[0].shape == (8, first[0].shape[1])


def test_a_word_that_is_not_the_truths_is_refused() -> None:
    with pytest.raises(AssertionError):
        Case("x", lambda data, rng, size: rng.random(size), 0, 1, 1.0, 2.0, False, "here")


@pytest.mark.parametrize("name", ["ldp OLH", "ldp THE at 1.5", "fooling parity", "recorder double spending"])
def test_no_event_of_many_runs_is_beyond_the_truth(name: str) -> None:
    """Null hypothesis: the truth holds for each of the commonest outputs, rounded; five standard errors are let."""
    case = cases()[name]
    a, b = (np.round(np.asarray(outputs)[:, :3], 0) for outputs in case.samples(40_000, 0))
    rows, counts = np.unique(np.vstack([a, b]), axis=0, return_counts=True)
    for row in rows[np.argsort(-counts)[:10]]:
        p, q = ((outputs == row).all(1).mean() for outputs in (a, b))
        error = 5 * math.sqrt((p + math.exp(2 * case.truth) * q) / 40_000)
        assert p <= math.exp(case.truth) * q + error
        assert q <= math.exp(case.truth) * p + 5 * math.sqrt((q + math.exp(2 * case.truth) * p) / 40_000)


def test_laws_are_what_is_drawn() -> None:
    """The chances of the sparse vector and of the noisy maximum, each within five standard errors of 20,000 runs."""
    rng = np.random.default_rng(0)
    law = sniper.largest_law(sniper.MIXED, False)
    drawn = np.bincount(sniper.largest(sniper.MIXED, rng, 20_000, False, False), minlength=5) / 20_000
    assert (np.abs(drawn - law) <= 5 * np.sqrt(law / 20_000)).all()
    told = sniper.svt(sniper.UPS, rng, 20_000, 2, 4.0, 16.0)
    law = sniper.svt_law(sniper.UPS, 2, 4.0, 16.0)
    nothing = (told == 0).all(1).mean()  # the first of the rows
    assert abs(nothing - law[0]) <= 5 * math.sqrt(law[0] / 20_000)
    assert sum(ldp.optimal_hashing(0, 1.0).values()) == pytest.approx(1.0)


def test_entrants_are_whole() -> None:
    for entrant in entrants().values():
        assert entrant.words
        assert "def bound(data, neighbour, epsilon, delta, confidence):" in entrant.path.read_text("utf-8")
    assert len(entrants()) == len(list(FOLDER.glob("with_*.py")))
    assert next(iter(entrants())) == "dpcheck"


def _rows(bounds: dict[str, list[float]]) -> pd.DataFrame:
    """Rows of entrants on eight cases with truth 1."""
    return pd.DataFrame(
        {"entrant": name, "case": f"ldp {place}", "runs": 10, "seeds": len(values), "truth": 1.0, "faulty": 0,
         "found": 0, "above": sum(v > 1 for v in values), "bounds": " ".join(f"{v + place / 1e3}" for v in values)}
        for place in range(8) for name, values in bounds.items()
    )  # fmt: skip


def test_comparisons_find_who_is_ahead_and_let_equals_be() -> None:
    frame = _rows(
        {"dpcheck": [0.50, 0.52, 0.51, 0.49], "better": [0.80, 0.81, 0.79, 0.80], "same": [0.51, 0.5, 0.5, 0.51]}
    )
    assert {who for _, _, who, _ in compare.ahead(frame)} == {"better"}
    assert compare.groups(frame, ["dpcheck", "better"]) == [["better"], ["dpcheck"]]
    equal = _rows({"dpcheck": [0.5, 0.5], "same": [0.5, 0.5]})
    assert compare.groups(equal, ["dpcheck", "same"]) == [["dpcheck", "same"]]
    wrong = compare.errors(_rows({"wrong": [1.5, 0.5, 1.5, 0.5]}))
    assert wrong.broken and not compare.errors(_rows({"right": [0.5] * 4})).broken


def test_the_page_is_what_the_table_says() -> None:
    frame = table.read()
    assert page.PAGE.read_text("utf-8") == page.text(frame)
    for row in frame.itertuples():
        case = cases()[row.case]
        assert (row.claimed, row.faulty) == (pytest.approx(case.claimed, rel=1e-4), int(case.faulty))
        assert row.truth == pytest.approx(case.truth, rel=1e-4, nan_ok=True)
        assert row.entrant in entrants()
    assert tables.FOLDER.joinpath("league.csv").read_text("utf-8").startswith("# dpcheck ")


def test_a_row_is_measured_in_this_python() -> None:
    """What the command does, for dpcheck, on a faulty case of one number."""
    entrant = entrants()["dpcheck"]
    row = table.measured(entrant, entrant.start(), cases()["ldp GRR at 1.5"], 400)
    assert row is not None and row["failed"] == 0
    assert 0 < row["bound"] < 1.5
