"""Plans: the designs that would decide a claim that a table leaves open."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from test_rates import FACTORS, fit_n, powers, table

from dpcheck import InputError, fit_rate


@pytest.mark.thorough
def test_a_plan_keeps_its_word():
    """Fresh tables by the design are supported about as often as it says: the spread is known from 48 runs only."""
    fit = fit_n(powers(lambda n: n**-0.5, noise=0.1, runs=8, levels=6, seed=1), -0.5)
    assert fit.verdict == "inconclusive"
    assert "plan() says" in str(fit)
    plan = fit.plan()
    assert [design.rows for design in plan.designs] == sorted(design.rows for design in plan.designs)
    for design in plan.designs:
        assert design.sizes["n"][:6] == (2.0 ** np.arange(7, 13)).tolist()
        assert design.rows == design.runs * len(design.sizes["n"])
    levels, runs = len(design.sizes["n"]), design.runs
    fresh = [fit_n(powers(lambda n: n**-0.5, 0.1, runs, seed, levels), -0.5).verdict for seed in range(60)]
    assert fresh.count("supported") / 60 == pytest.approx(design.chance, abs=0.2)
    assert plan.designs == fit.plan().designs
    json.dumps(plan.to_dict(), allow_nan=False)


@pytest.mark.thorough
def test_a_plan_past_a_grid_that_bends():
    """Where a faster term leads at first, later sizes are proposed, on which the claim is supported."""
    frame = powers(lambda n: n**-0.5 + 10 / n, noise=0.03, runs=10)
    fit = fit_n(frame, -0.5)
    assert fit.verdict == "not asymptotic", fit.reason
    design = fit.plan().designs[0]
    assert min(design.sizes["n"]) >= frame["n"].max()
    n = np.repeat(design.sizes["n"], design.runs)
    verdicts = []
    for seed in range(40):
        noise = 1 + 0.03 * np.random.default_rng(seed).standard_normal(n.size)
        verdicts.append(fit_n(pd.DataFrame({"n": n, "gap": (n**-0.5 + 10 / n) * noise}), -0.5).verdict)
    assert verdicts.count("supported") / 40 >= design.chance - 0.2


@pytest.mark.thorough
def test_a_plan_repeats_what_clusters_share():
    """A level of its own for each stream says nothing of the slope; taken for spread it would ask for 300 runs more."""
    frame = powers(lambda n: n**-0.5, noise=0.1, runs=6, seed=1)
    frame["gap"] *= np.exp(0.5 * np.random.default_rng(1).standard_normal(6))[frame["run"].astype(int)]
    plan = fit_n(frame, -0.5, cluster="run").plan()
    assert "a run is a cluster" in plan.reason
    assert plan.designs[0].runs < 150
    frame = powers(lambda n: n**-0.5, noise=0.02, runs=6)
    frame["gap"] *= np.exp(0.2 * np.random.default_rng(1).standard_normal(8))[frame.groupby("n").ngroup()]
    plan = fit_n(frame, -0.5, cluster="n").plan()
    assert plan.designs[0].runs > 15  # one value of n has one error, in however many rows


@pytest.mark.thorough
def test_a_plan_follows_factors_to_their_ends():
    frame = table(lambda n, d, e: d**0.5 / (n * e), noise=0.1, repeats=2)
    fit = fit_rate(frame, response="gap", factors=FACTORS, claimed={"epsilon": -1.0})
    assert fit.undecided, fit.reason
    longest = max(fit.plan().designs, key=lambda design: len(design.sizes["epsilon"]))
    assert longest.sizes["epsilon"][0] == pytest.approx(0.25 / 16)
    assert longest.sizes["n"] == [100, 200, 400, 800]


def test_no_plan_where_none_is_needed_or_possible():
    assert fit_n(powers(lambda n: 1 / n), -1).plan().designs == []
    assert "No plan" in fit_n(powers(lambda n: -1 / n), -1).plan().reason
    assert fit_n(powers(lambda n: 1 / n), -2).plan().designs == []
    with pytest.raises(InputError, match=r"chance must lie in \(0\.5, 1\), got 80"):
        fit_n(powers(lambda n: 1 / n), -1).plan(chance=80)
