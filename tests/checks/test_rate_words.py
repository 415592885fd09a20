"""The words for a theorem's factors: what each needs, which wrong exponents it rejects, and how often it is wrong.

``pytest -n 0 -s -m experiment --keep-tables tests/checks/test_rate_words.py`` writes ``measured/rate_words.csv``.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from dpcheck.audits import rate_table
from dpcheck.checks.experiment import LOG_DELTA
from dpcheck.checks.rate_words import MARGIN, TO_ZERO, judged, said, worst
from dpcheck.checks.rates import _CONFIDENCE, _MORE, experiments

CLAIMED = {"n": -0.5, "d": 0.25, "epsilon": -0.5, LOG_DELTA: 0.25}
LEVELS = {"n": (1e3, 4e3, 16e3), "d": (2, 8, 32), "epsilon": (0.1, 0.3, 0.9), LOG_DELTA: (3.0, 9.0, 27.0)}
SIZES = {"n": 1000 * 2.0 ** np.arange(6)}


def product(levels):
    return pd.DataFrame([*itertools.product(*levels.values())], columns=[*levels])


def table(grid, runs=5, spread=0.02, seed=0, law=lambda grid: 1.0, **wrong):
    """Measurements of the claimed law times ``law``; the exponents ``wrong`` are slower than claimed by so much."""
    rng = np.random.default_rng(seed)
    order = np.prod([grid[name] ** CLAIMED[name] for name in grid], axis=0)
    mean = order * law(grid)
    for name, by in wrong.items():
        mean = mean * grid[name] ** (-by if name in TO_ZERO else by)
    frame = grid.assign(order=order, mean=mean).loc[np.repeat(grid.index, runs)]
    return frame.assign(measured=frame["mean"] * rng.gamma(spread**-2, spread**2, len(frame)))


def words(frame, names=None, **options):
    factors, _ = judged(
        frame, "measured", {name: CLAIMED[name] for name in names or frame if name in CLAIMED},
        **{"confidence": 0.95} | options,
    )  # fmt: skip
    return {each.name: each for each in factors}


def only(frame, **options):
    (found,) = words(frame, **options).values()
    return found


ALL = product(LEVELS)
ALONG_N = product(SIZES)


@pytest.mark.parametrize("name", CLAIMED)
@pytest.mark.parametrize(
    ("by", "word"), [(0.0, "attained"), (0.2, "contradicted"), (-0.2, "not exceeded"), (0.05, "untested")]
)
def test_the_word_follows_the_exponent_of_its_own_factor(name, by, word):
    found = words(table(ALL, **{name: by}))
    assert {each: found[each].word for each in CLAIMED} == dict.fromkeys(CLAIMED, "attained") | {name: word}
    sign = -1 if name in TO_ZERO else 1
    assert found[name].measured == pytest.approx(CLAIMED[name] + sign * by, abs=0.02)
    assert found[name].claimed == CLAIMED[name]


@pytest.mark.parametrize("by", [0.03, 0.0, -0.03, -0.4])
@pytest.mark.parametrize("name", ["d", "epsilon"])
def test_what_is_rejected_is_what_a_planted_exponent_shows(name, by):
    """The table multiplied by factor^x makes the claim x too fast; with the least x the claim falls, below it not."""
    grid = product({name: LEVELS[name], "n": LEVELS["n"]})
    found = words(table(grid, **{name: by}))[name]
    assert found.too_fast > 0
    assert (found.word == "attained") == (found.too_fast <= MARGIN and found.too_slow <= MARGIN)
    assert found.too_slow <= MARGIN
    for x, falls in ((found.too_fast, True), (found.too_fast - 0.01, False)):
        planted = words(table(grid, **{name: by + x}))[name]
        assert (planted.too_fast == 0) == falls == (planted.word == "contradicted")
    for x, falls in ((found.too_slow, True), (found.too_slow - 0.01, False)):
        if found.too_slow > 0:
            planted = words(table(grid, **{name: by - x}))[name]
            assert (planted.too_slow == 0) == falls


def test_noise_leaves_a_factor_untested_and_says_what_is_rejected_all_the_same():
    found = only(table(ALONG_N, runs=3, spread=0.3))
    assert found.word == "untested" and found.open
    assert found.too_fast > MARGIN and found.too_slow > MARGIN


def test_factors_that_a_grid_ties_are_untested_and_named():
    grid = product({"n": LEVELS["n"], "d": LEVELS["d"], LOG_DELTA: LEVELS[LOG_DELTA]})
    grid.insert(2, "epsilon", 40 * (grid["d"] / grid["n"]) ** 0.5)
    found = words(table(grid))
    assert {name: each.word for name, each in found.items()} == {
        "n": "untested", "d": "untested", "epsilon": "untested", LOG_DELTA: "attained",
    }  # fmt: skip
    assert found["epsilon"].tied == ("n", "d") and found["n"].tied == ("d", "epsilon")
    assert not any(found[name].open or found[name].measured for name in ("n", "d", "epsilon"))
    false = table(grid, n=-0.5, d=0.5, epsilon=1.0)  # d^.75/(n epsilon^1.5), which is the claimed law on this grid
    assert {name: each.word for name, each in words(false).items()}["epsilon"] == "untested"
    alone = product({"n": LEVELS["n"]}).assign(d=lambda frame: frame["n"] ** 0.5)
    assert [each.tied for each in words(table(alone)).values()] == [("d",), ("n",)]


def bend(line, change):
    """A law whose slope, relative to the claimed one, is ``line`` in the middle of the grid and changes along it."""
    x = np.log(SIZES["n"] / np.sqrt(SIZES["n"][0] * SIZES["n"][-1]))
    return lambda grid: np.exp(line * x + change / (2 * np.ptp(x)) * x**2)


@pytest.mark.parametrize(("line", "change"), [(0.0, 0.5), (-0.2, 1.0), (0.08, -0.4)])
def test_a_mean_slope_says_nothing_where_the_slope_still_bends(line, change):
    """The interval alone would call these attained, not exceeded and contradicted."""
    found = only(table(ALONG_N, runs=20, law=bend(line, change)))
    assert (found.word, found.too_fast, found.too_slow) == ("untested", None, None)
    assert found.measured == pytest.approx(CLAIMED["n"] + line, abs=0.04)
    slight = only(table(ALONG_N, runs=20, law=bend(0.0, 0.05)))
    assert slight.word == "attained"


def test_a_clause_names_the_claims_that_are_rejected():
    found = words(table(ALL))
    for name, each in found.items():
        sign = -1 if name in TO_ZERO else 1
        faster, slower = CLAIMED[name] - sign * each.too_fast, CLAIMED[name] + sign * each.too_slow
        assert f"{name}^{faster:.2f} and {name}^{slower:.2f}" in str(each)
        assert str(each) in said([*found.values()])
    assert f"margin {MARGIN:g}" in said([*found.values()])
    vanishing = only(table(ALONG_N, n=-12.0))
    assert (vanishing.word, vanishing.too_fast, vanishing.too_slow) == ("not exceeded", None, 0)
    assert "untested" not in str(vanishing)


@pytest.mark.parametrize(("share", "said_of_it"), [(None, ""), (0.9, ""), (0.6, "; about 60% of repeats would say so")])
def test_a_word_that_few_repeats_give_says_so(share, said_of_it):
    found = replace(only(table(ALONG_N)), share=share)
    assert str(found).endswith(f"are rejected{said_of_it})")
    assert found.to_dict()["share"] == share
    assert replace(found, word="not exceeded").to_dict()["share"] is None


def test_the_worst_word_is_that_of_all_factors():
    found = words(table(ALL, n=0.2, d=-0.2, epsilon=0.05))
    assert [worst([*found.values()][at:]) for at in range(4)] == ["contradicted", "untested", "untested", "attained"]
    assert worst([found["d"], found[LOG_DELTA]]) == "not exceeded"


def test_means_that_say_nothing_leave_a_factor_untested():
    frame = table(ALONG_N, runs=20)
    frame.iloc[50, frame.columns.get_loc("measured")] *= 50
    lone = only(frame)
    assert (lone.word, lone.too_fast, lone.too_slow) == ("untested", None, None)
    assert lone.why
    two = only(table(product({"n": (1e3, 32e3)}), runs=20))
    assert (two.word, two.too_fast, two.too_slow) == ("untested", None, None)


def test_a_wider_margin_leaves_more_uncontradicted_and_attains_nothing_more():
    slower, clean = table(ALONG_N, n=0.1), table(ALONG_N)
    assert only(slower).word == "contradicted"
    assert only(slower, margin=0.3).word == "not exceeded"
    assert only(clean, margin=0.3).word == "not exceeded"


def test_rates_are_claimed_towards_the_same_ends_as_those_of_users():
    for name in {name for each in experiments() for name in each.factors}:
        frame = pd.DataFrame({name: [1.0, 2, 4, 8, 16, 32], "measured": 1.0})
        sign = rate_table.read(frame, "measured", [name], cluster=None, offset=None).sign(0)
        assert (sign < 0) == (name in TO_ZERO)


# How often a word is wrong, over both looks of a check


def test_what_attains_but_for_its_interval_is_measured_again():
    """Not what lies further off than half of the margin: no interval makes that attained."""
    near, far = (only(table(ALONG_N, 10, 0.15, seed=3, n=by)) for by in (-0.03, -0.07))
    assert near.word == far.word == "not exceeded" and near.too_slow <= MARGIN < near.too_fast
    assert near.open and not far.open
    assert not only(table(ALONG_N, 10, 0.02)).open  # it is attained


TABLES = 300
DESIGNS = {"n": (ALONG_N, 10, 0.1), "d": (product({"n": LEVELS["n"], "d": LEVELS["d"]}), 8, 0.15)}


def over_both_looks(design, seed, **wrong):
    grid, runs, spread = DESIGNS[design]
    seeds = np.random.SeedSequence(seed).spawn(2)
    frame = table(grid, runs, spread, seeds[0], **wrong)
    found = words(frame, confidence=_CONFIDENCE)
    if any(each.open for each in found.values()):
        frame = pd.concat([frame, table(grid, _MORE * runs, spread, seeds[1], **wrong)])
        found = words(frame, confidence=_CONFIDENCE)
    return found


def shares(design, by, tables=TABLES):
    """The share of each word of the factor whose exponent is wrong by so much."""
    found = [over_both_looks(design, seed, **{design: by})[design].word for seed in range(tables)]
    return {word: found.count(word) / tables for word in ("attained", "not exceeded", "contradicted", "untested")}


def allowed(share, tables=TABLES):
    """The share that an error of this chance exceeds once in a thousand."""
    return binom.ppf(0.999, tables, share) / tables


@pytest.mark.thorough
@pytest.mark.parametrize("design", DESIGNS)
def test_words_keep_their_level(design):
    """Null hypotheses at their ends: an exponent .05 slower, of which only "untested" is true, or .05 faster.

    Each word may err in 2.5 % of tables at one look, and in 5 % over both.
    """
    slower = shares(design, MARGIN / 2, 200)
    assert slower["attained"] + slower["not exceeded"] <= allowed(0.05, 200)
    assert slower["contradicted"] <= allowed(0.05, 200)
    faster = shares(design, -MARGIN / 2, 200)
    assert faster["attained"] <= allowed(0.05, 200)
    assert faster["contradicted"] == 0


@pytest.mark.experiment
def test_shares_of_the_words_are_kept(keep):
    rows = []
    for design, by in itertools.product(
        DESIGNS, (0.15, 0.1, 0.075, 0.05, 0.025, 0.0, -0.025, -0.05, -0.075, -0.1, -0.15)
    ):
        rows.append({"factor": design, "slower by": by, "tables": TABLES, **shares(design, by)})
        print(rows[-1], flush=True)
    frame = pd.DataFrame(rows)
    keep("rate_words", frame)
    wrong = frame[frame["slower by"] > MARGIN / 2 - 1e-9]
    assert (wrong["attained"] + wrong["not exceeded"]).max() <= allowed(0.05)
    assert frame[frame["slower by"] <= MARGIN / 2]["contradicted"].max() <= allowed(0.05)
    assert frame[frame["slower by"].abs() > MARGIN / 2 - 1e-9]["attained"].max() <= allowed(0.05)
    assert frame[frame["slower by"] == 0]["attained"].min() >= 0.8
    assert frame[frame["slower by"] >= 0.1]["contradicted"].min() >= 0.9
