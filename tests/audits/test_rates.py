"""Fitted power laws: exact recovery, coverage, verdicts, gates, and refusal of unusable tables."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpcheck import InputError, fit_rate
from dpcheck.audits.rate_verdict import _least_share


def table(law, noise=0.0, seed=0, repeats=1, n=(100, 200, 400, 800), d=(1, 2, 4), epsilon=(0.25, 0.5, 1.0)):
    rng = np.random.default_rng(seed)
    rows = [
        {"n": a, "d": b, "epsilon": e, "gap": law(a, b, e) * np.exp(noise * rng.standard_normal())}
        for a, b, e in itertools.product(n, d, epsilon)
        for _ in range(repeats)
    ]
    return pd.DataFrame(rows)


def powers(law, noise=0.02, runs=10, seed=0, levels=8):
    """``runs`` runs at sizes from 128 on, of additive relative noise: gap of mean ``law(n)``."""
    n, run = np.meshgrid(2.0 ** np.arange(7, 7 + levels), np.arange(runs), indexing="ij")
    gap = law(n) * (1 + noise * np.random.default_rng(seed).standard_normal(n.shape))
    return pd.DataFrame({"n": n.ravel(), "run": run.ravel(), "gap": gap.ravel()})


def fit_n(frame, claim, **options):
    return fit_rate(frame, response="gap", factors=["n"], claimed={"n": claim}, **options)


FACTORS = ["n", "d", "epsilon"]
CLAIM = {"n": -1.0, "d": 0.5, "epsilon": -1.0}


# The fit


@settings(max_examples=30, deadline=None)
@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3), st.floats(1e-6, 1e6), st.floats(0.01, 100))
@example(1e-9, 0.0, 1.5658232125848386, 317607.0, 2.0)  # residuals of rounding alone
def test_recovers_an_exact_power_law_in_any_units(a, b, c, scale, unit):
    frame = table(lambda n, d, e: scale * n**a * d**b * e**c)
    frame["n"] = frame["n"] * unit
    claimed = {"n": a, "d": b, "epsilon": c}
    fit = fit_rate(frame, response="gap", factors=FACTORS, claimed=claimed, equal=True)
    assert [fit.exponents[f] for f in FACTORS] == pytest.approx([a, b, c], abs=1e-8)
    assert fit.verdict == "supported", fit.reason


@pytest.mark.thorough
def test_intervals_cover_with_unequal_variances():
    """Nominal 95 % simultaneous coverage: 400 repeats, fails below 92.5 % (probability < 2 %)."""
    hits = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        frame = table(lambda n, d, e: n**-0.5 * d**0.5 / e)
        frame["gap"] *= np.exp(0.05 * np.sqrt(frame["n"] / 100) * rng.standard_normal(len(frame)))
        fit = fit_rate(frame, response="gap", factors=FACTORS)
        truth = {"n": -0.5, "d": 0.5, "epsilon": -1.0}
        hits += all(low <= truth[f] <= high for f, (low, high) in fit.interval.items())
    assert hits / 400 >= 0.925


def test_same_bits_in_any_order_and_the_same_verdict_in_any_units():
    frame = powers(lambda n: n**-0.5, noise=0.2).assign(name=lambda f: "run " + f["run"].astype(int).astype(str))
    for options in ({}, {"cluster": "name"}, {"offset": "log(n)"}):
        fit = fit_n(frame, -0.5, **options)
        for seed in range(3):
            again = fit_n(frame.sample(frac=1, random_state=seed), -0.5, **options)
            assert again.to_dict() == fit.to_dict()
    fit = fit_n(frame, -0.5)
    scaled = fit_n(frame.assign(n=frame["n"] * 1000, gap=frame["gap"] / 7), -0.5)
    assert scaled.exponents["n"] == pytest.approx(fit.exponents["n"], abs=1e-9)
    assert (scaled.verdict, scaled.reason) == (fit.verdict, fit.reason)


def test_zero_and_negative_runs_are_data():
    """A quarter of the runs at the end are negative; their mean is what the law says."""
    frame = powers(lambda n: n**-0.5, noise=1.2, runs=400)
    assert (frame["gap"] < 0).mean() > 0.15
    fit = fit_n(frame, -0.5)
    assert fit.interval["n"][0] < -0.5 < fit.interval["n"][1]
    assert fit.interval["n"][1] - fit.interval["n"][0] < 0.1
    assert fit_n(frame.assign(gap=frame["gap"].clip(lower=0)), -0.5).exponents["n"] == pytest.approx(-0.5, abs=0.05)


# Verdicts


@pytest.mark.parametrize(
    ("law", "verdict", "word"),
    [
        (lambda n, d, e: d**0.5 / (n * e), "supported", "n^-1.00"),
        (lambda n, d, e: d**0.2 / (n**1.5 * e**0.5), "supported", "n is faster than claimed by 0.50"),
        (lambda n, d, e: d**0.5 / (n**0.5 * e), "contradicted", "slower than the claimed n^-1"),
        (lambda n, d, e: d / (n * e), "contradicted", "slower than the claimed d^0.5"),
        (lambda n, d, e: d**0.5 / (n * e**2), "contradicted", "slower than the claimed epsilon^-1"),
        (lambda n, d, e: (1 / n + 1 / 200) * d**0.5 / e, "not asymptotic", "the slope in n still bends"),
        (lambda n, d, e: d**0.5 / n * (1 + 0.1 / e**2), "not asymptotic", "the slope in epsilon still bends"),
    ],
)
def test_verdicts(law, verdict, word):
    fit = fit_rate(table(law, noise=0.002, repeats=3), response="gap", factors=FACTORS, claimed=CLAIM)
    assert fit.verdict == verdict, fit.reason
    assert fit.reason.startswith(f"{verdict}: ")
    assert word in fit.reason
    assert fit.verdict in fit.by_factor.values()


def test_several_claims_share_the_error():
    frame = table(lambda n, d, e: d**0.5 / (n * e), noise=0.01, repeats=3)
    one = fit_rate(frame, response="gap", factors=FACTORS, claimed={"n": -1.0}).reason
    two = fit_rate(frame, response="gap", factors=FACTORS, claimed={"n": -1.0, "d": 0.5}).reason
    assert re.search(r"n\^[^\]]*\]", one).group() != re.search(r"n\^[^\]]*\]", two).group()


def test_exact_laws():
    """Rounding alone decides nothing."""
    assert fit_n(powers(lambda n: n**-0.5, noise=0), -0.5).verdict == "supported"
    assert fit_n(powers(lambda n: n**-0.5, noise=0), -0.5, equal=True).verdict == "supported"
    assert fit_n(powers(lambda n: n**-0.5, noise=0), -0.6, margin=0.11).verdict == "supported"
    assert fit_n(powers(lambda n: n**-0.5, noise=0), -0.6, margin=0.09).verdict == "contradicted"
    assert fit_n(powers(lambda n: 1 / n + 0.002, noise=0), -1).verdict == "not asymptotic"
    assert fit_n(powers(lambda n: n**0.0, noise=0), 0).verdict == "supported"


def test_equality_is_two_sided():
    frame = powers(lambda n: 1 / n)
    assert fit_n(frame, -0.5).verdict == "supported"
    assert fit_n(frame, -0.5).faster["n"] == pytest.approx(0.5, abs=0.02)
    assert fit_n(frame, -1).faster == {}
    fit = fit_n(frame, -0.5, equal=True)
    assert (fit.verdict, fit.equal) == ("contradicted", True)
    assert "is faster than the claimed n^-0.5, an equality" in fit.reason
    assert fit_n(powers(lambda n: 1 / n, noise=0.4), -0.92, equal=True).verdict == "inconclusive"


def test_offsets_are_known_factors():
    frame = powers(lambda n: np.log(n) / n).assign(logarithm=lambda f: np.log(f["n"]))
    for offset in ("log(n)", "logarithm", "3 * log(n)", "log(n^2)"):
        fit = fit_n(frame, -1, offset=offset, equal=True)
        assert fit.verdict == "supported", (offset, fit.reason)
        assert fit.exponents["n"] == pytest.approx(-1, abs=0.01)
    assert fit_n(frame, -1).verdict != "supported"  # log(n)/n is not O(1/n)
    bound = powers(lambda n: n**-0.5 + 300 / n)
    assert fit_n(bound, 0, offset="1/sqrt(n) + 300/n", equal=True).verdict == "supported"
    assert fit_n(bound, -0.5, equal=True).verdict != "supported"


def test_what_is_known_and_what_is_predicted_are_no_spread():
    """Law and offset span decades within a size and over the sizes; every gate looks at what is left, noise of 2 %."""
    offset = 4.0 ** np.random.default_rng(0).permutation(40)
    frame = powers(lambda n: n**2, runs=2, levels=20).assign(offset=offset, gap=lambda f: f["gap"] * f["offset"])
    assert fit_n(frame, 2.0, offset="offset", equal=True).verdict == "supported"


def test_what_rows_share_counts_once():
    """One error a size, in 20 runs: single rows would be sure of a slope that is not there."""
    errors = np.exp(0.2 * np.random.default_rng(3).standard_normal(8))
    frame = powers(lambda n: n**-0.5, runs=20)
    frame["gap"] *= errors[frame.groupby("n").ngroup()]
    alone, shared = fit_n(frame, -0.5), fit_n(frame, -0.5, cluster="n")
    assert (alone.independent, shared.independent) == (160, 8)
    width = [fit.interval["n"][1] - fit.interval["n"][0] for fit in (alone, shared)]
    assert width[1] > 4 * width[0]
    assert shared.interval["n"][0] < -0.5 < shared.interval["n"][1]
    assert shared.to_dict()["cluster"] == "n"


# What cannot be judged, and why


@pytest.mark.parametrize(
    ("frame", "options", "reason"),
    [
        (powers(lambda n: 1 / n, runs=2), {"cluster": "run"}, "only 2 independent clusters; 3 are needed"),
        (powers(lambda n: 1 / n, levels=2), {}, "n has too few independent sizes"),
        (powers(lambda n: 1 / n, levels=3), {"cluster": "n"}, "n has too few independent sizes"),
        (powers(lambda n: 1 / n, levels=3, runs=3)[:-2].assign(c=[0, 1, 2, 0, 1, 2, 3]), {"cluster": "c"},
         "n has too few independent sizes"),
        (powers(lambda n: 1 / n, noise=8), {}, "cannot be told from zero: a floor, or too few runs"),
        (powers(lambda n: -1 / n), {}, "the means are negative"),
        (powers(lambda n: 1 / n - 1e-3), {}, "the means at 5 of 8 grid points are negative beyond chance"),
        (powers(lambda n: 0 * n), {}, "cannot be told from zero"),
        (powers(lambda n: 1 / n, noise=0.3, runs=3, levels=4), {}, "may be slower than the claimed n^-1 by"),
        (powers(lambda n: 1 / n).assign(gap=lambda f: f["gap"].where(f.index != 5, f["gap"] * 2)), {}, "a single run"),
    ],
)  # fmt: skip
def test_each_gate_says_why(frame, options, reason):
    fit = fit_n(frame, -1, **options)
    assert fit.verdict == "inconclusive", fit.reason
    assert reason in fit.reason
    json.dumps(fit.to_dict(), allow_nan=False)
    fit.plot()


def test_an_exponent_that_one_cluster_holds_is_not_judged():
    frame = table(lambda n, d, e: d / n, noise=0.02, d=(1, 2)).assign(c=lambda f: f["n"] + (f["d"] == 2))
    frame = frame[(frame["d"] == 1) | (frame["n"] == 800)]
    fit = fit_rate(frame, response="gap", factors=["n", "d"], claimed={"n": -1}, cluster="c")
    assert fit.verdict == "inconclusive"
    assert "an exponent rests on a single independent cluster" in fit.reason


@pytest.mark.thorough
def test_false_contradictions_keep_the_level():
    """Null: the law is exactly as claimed. At most 5 % contradicted; 300 repeats, bound 8 %."""
    bad = sum(
        fit_rate(
            table(lambda n, d, e: d**0.5 / (n * e), noise=0.3, seed=seed),
            response="gap", factors=FACTORS, claimed=CLAIM,
        ).verdict == "contradicted"
        for seed in range(300)
    )  # fmt: skip
    assert bad / 300 <= 0.08


# A second term


@pytest.mark.parametrize("factor", ["n", "epsilon"])
def test_a_slower_second_term_that_leads_past_the_grid(factor):
    """The sum falls like n^-.92 on the grid; with a rate that is claimed as epsilon goes to 0 it grows alike."""
    way = 1 if factor == "n" else -1
    frame = powers(lambda n: n**-0.5 + 300 / n, noise=0.2, runs=20, seed=1).assign(epsilon=lambda f: 1 / f["n"])
    claim = {factor: -0.65 * way}
    fit = fit_rate(frame, response="gap", factors=[factor], claimed=claim)
    assert fit.verdict == "inconclusive"
    assert f"a second term {factor}^{-0.5 * way:g}, 2" in fit.reason
    clean = frame.assign(gap=powers(lambda n: 1 / n, noise=0.02, runs=20)["gap"])
    assert fit_rate(clean, response="gap", factors=[factor], claimed=claim).verdict == "supported"


def test_the_second_term_that_counts_leads_out_of_the_margin_in_time():
    """The local slope of the law of two powers, followed 1.35 grids on, is at the margin, in a closed form apart."""
    for gap, margin, length in ((0.3, 0.1, 4.0), (0.5, 0.1, 3.0), (0.4, 0.2, 2.0)):
        share = _least_share(gap, margin, length)
        slow, fast = share, (1 - share) * np.exp(-gap * length)  # relative to the second power, claim + 1.5 margins
        assert 1.5 * margin - gap * fast / (slow + fast) == pytest.approx(margin)
    for margin, share in ((0.1, 0.25), (0.3, 0.5)):
        assert _least_share(2.0, margin, 9.0) == share  # not a sliver, however far apart the powers


# What comes out, and what is refused


def test_result_is_plain_data_and_a_figure():
    fit = fit_rate(table(lambda n, d, e: 1 / n), response="gap", factors=FACTORS, claimed={"n": -1})
    (n, d, epsilon) = json.loads(json.dumps(fit.to_dict(), allow_nan=False))["factors"]
    assert (n["claimed"], n["verdict"], d["claimed"], epsilon["factor"]) == (-1, "supported", None, "epsilon")
    figure = fit.plot()
    assert len(figure.axes) == 6  # the law and its local slopes, a column a factor
    assert figure.get_suptitle() == "supported: n^-1.00, claimed n^-1"
    assert [tick.get_text() for tick in figure.axes[3].get_xticklabels()] == ["100", "200", "400", "800"]


GOOD = table(lambda n, d, e: 1 / n)
ONE = {"factors": ["n"], "claimed": {"n": -1}}
BAD = {
    "frame must have a column 'run', got ['n', 'd', 'epsilon', 'gap']": {"cluster": "run"},
    "n must be finite, got inf at row 1": {"frame": GOOD.assign(n=[1.0, np.inf, *[2.0] * 34])},
    "factors must vary independently, got ['n', 'd', 'epsilon']": {"frame": GOOD.assign(d=GOOD["n"])},
    "frame must have at least 4 rows for 1 factors, got 3": {"frame": GOOD[:3], "factors": ["epsilon"]},
    "cluster must not be the response 'gap', got gap": {"cluster": "gap"},
    "c must have a value in every row, got a missing one": {"frame": GOOD.assign(c=[None, *"a" * 35]), "cluster": "c"},
    "confidence must lie in (0.5, 1), got 95": {"confidence": 95},
    "confidence must lie in (0.5, 1), got '0.9'": {"confidence": "0.9"},
    "offset must be a text, got int": {"offset": 3},
    "a formula must name columns among ['n', 'd', 'epsilon'], got gap": {"offset": "gap"},
    "a formula must be one expression, got 'log(n'": {"offset": "log(n"},
    "a formula must have at most 400 characters, got 5001": {"offset": "-" * 5000 + "n"},
    "the offset d - 1 must be positive and finite, got 0.0 at row 0": {"offset": "d - 1"},
    "the offset n^(9^9^9) must be positive and finite, got inf at row 0": {"offset": "n^(9^9^9)"},
    "the offset 1 / (d - 1) must be positive and finite, got inf at row 0": {"offset": "1 / (d - 1)"},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_named(message):
    arguments = {"frame": GOOD, "response": "gap", "factors": FACTORS} | BAD[message]
    with pytest.raises(InputError) as caught:
        fit_rate(arguments.pop("frame"), **arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "formula",
    ["__import__('pathlib').Path('made').touch()", "open('made', 'w')", "[n for n in [1]]", "n.real", "n if n else d",
     "(lambda: n)()", "log(n, d)", "log(x=n)", "n[0]", "'n'", "True", "n := 3", "n @ d", "f'{n}'", "1j", "sqrt",
     "-'a'"],
)  # fmt: skip
def test_a_formula_executes_nothing_else(formula, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^a formula must [^\n]*$"):
        fit_rate(GOOD, response="gap", factors=["n"], offset=formula)
    assert not list(tmp_path.iterdir())
