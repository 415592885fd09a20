"""Fitted power laws: exact recovery, coverage, verdicts, and refusal of unusable tables."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpcheck import InputError, fit_rate


def table(law, noise=0.0, seed=0, repeats=1, n=(100, 200, 400, 800), d=(1, 2, 4), epsilon=(0.25, 0.5, 1.0)):
    rng = np.random.default_rng(seed)
    rows = [
        {"n": a, "d": b, "epsilon": e, "gap": law(a, b, e) * np.exp(noise * rng.standard_normal())}
        for a, b, e in itertools.product(n, d, epsilon)
        for _ in range(repeats)
    ]
    return pd.DataFrame(rows)


FACTORS = ["n", "d", "epsilon"]
CLAIM = {"n": -1.0, "d": 0.5, "epsilon": -1.0}


@settings(max_examples=30, deadline=None)
@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3), st.floats(1e-6, 1e6), st.floats(0.01, 100))
@example(1e-9, 0.0, 1.5658232125848386, 317607.0, 2.0)  # residuals of rounding alone
def test_recovers_an_exact_power_law_in_any_units(a, b, c, scale, unit):
    frame = table(lambda n, d, e: scale * n**a * d**b * e**c)
    frame["n"] = frame["n"] * unit
    fit = fit_rate(frame, response="gap", factors=FACTORS)
    assert [fit.exponents[f] for f in FACTORS] == pytest.approx([a, b, c], abs=1e-8)


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


@pytest.mark.parametrize(
    ("law", "verdict", "word"),
    [
        (lambda n, d, e: d**0.5 / (n * e), "supported", "supported"),
        (lambda n, d, e: d**0.2 / (n**1.5 * e**0.5), "supported", "supported"),  # faster is no breach
        (lambda n, d, e: d**0.5 / (n**0.5 * e), "contradicted", "n"),
        (lambda n, d, e: d / (n * e), "contradicted", "d"),
        (lambda n, d, e: d**0.5 / (n * e**2), "contradicted", "epsilon"),
        (lambda n, d, e: (1 / n + 1 / 200) * d**0.5 / e, "not asymptotic", "n"),
    ],
)
def test_verdicts(law, verdict, word):
    fit = fit_rate(table(law, noise=0.02), response="gap", factors=FACTORS, claimed=CLAIM)
    assert fit.verdict == verdict
    assert word in fit.reason


def test_too_much_noise_is_inconclusive():
    frame = table(lambda n, d, e: d**0.5 / (n * e), noise=1.5, n=(100, 200), seed=3)
    fit = fit_rate(frame, response="gap", factors=FACTORS, claimed=CLAIM)
    assert fit.verdict == "inconclusive"


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


def test_result_is_plain_data_and_a_figure():
    import json

    fit = fit_rate(table(lambda n, d, e: 1 / n), response="gap", factors=FACTORS, claimed={"n": -1})
    assert json.loads(json.dumps(fit.to_dict()))["factors"][0]["claimed"] == -1
    assert len(fit.plot().axes) == 3


GOOD = table(lambda n, d, e: 1 / n)
BAD = {
    "frame must have a column 'risk', got ['n', 'd', 'epsilon', 'gap']": {"response": "risk"},
    "claimed must name factors among ['n'], got d": {"factors": ["n"], "claimed": {"d": 1}},
    "gap must be positive and finite, got -1.0 at row 2": {"frame": GOOD.assign(gap=[1.0, 1.0, -1.0, *[1.0] * 33])},
    "n must vary in frame, got one value": {"frame": GOOD.assign(n=3)},
    "factors must vary independently, got ['n', 'd', 'epsilon']": {"frame": GOOD.assign(d=GOOD["n"])},
    "frame must have at least 4 rows for 1 factors, got 3": {"frame": GOOD[:3], "factors": ["epsilon"]},
    "frame must be a pandas DataFrame, got list": {"frame": [1]},
    "factors must name at least one column, got []": {"factors": []},
    "factors must be several names, got n": {"factors": "n"},
    "confidence must lie in (0.5, 1), got 95": {"confidence": 95},
    "confidence must lie in (0.5, 1), got '0.9'": {"confidence": "0.9"},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_named(message):
    arguments = {"frame": GOOD, "response": "gap", "factors": FACTORS} | BAD[message]
    with pytest.raises(InputError) as caught:
        fit_rate(arguments.pop("frame"), **arguments)
    assert str(caught.value) == message
