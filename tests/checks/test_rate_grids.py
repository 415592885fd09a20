"""Each grid tells apart the exponents of all factors that its theorem's term names, or a reason says why not.

The design is the logarithms of the factors over the grid points. A factor's variance inflation is what its exponent's
variance loses to the others: 1 where it varies by itself, without bound where it is tied to them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcheck.bounds.registry import theorem
from dpcheck.checks.experiment import LOG_DELTA, Grid, level
from dpcheck.checks.rates import experiments

FACTORS = {"n": "n", "d": "d", "epsilon": "epsilon", "delta": LOG_DELTA, "T": "T"}
INFLATION, SPREAD = 10.0, 0.2  # the most of the one; the least standard deviation of a factor's logarithm
ALONE = "the instance has one dimension"
LARGE_STEPS = "as published no run arrives, so that no power of it is to be expected"
UNREACHED = "no grid shows the order, so that one factor is varied to compare with the prediction"
COST = "the same noise is measured in all factors by another algorithm of the same table"
ALL, POINT = {"n", "d", "epsilon", LOG_DELTA}, "one point is held to the prediction"
CERTIFIED = "certified noise grows faster than sqrt(log(1/delta)) at ordinary delta, and as that only far below"
LEFT_OUT = {  # what a term names and no grid of the experiment varies, and why
    ("ada_dp_spider", "table_1"): ({LOG_DELTA}, CERTIFIED),
    ("dp_spider", "table_1"): ({"d", "epsilon", LOG_DELTA}, COST),
    ("sto_spider", "table_1"): ({"d", "epsilon", LOG_DELTA}, UNREACHED),
    ("dp_rgda", "theorem_1.refreshes"): (ALL, POINT),
    ("dp_rgda", "theorem_3.as_printed"): ({"d", "epsilon", LOG_DELTA}, LARGE_STEPS),
    ("dp_rgda", "theorem_2.as_printed"): ({"d", "epsilon", LOG_DELTA}, LARGE_STEPS),
    ("nseg", "table_1.turning"): (ALL, POINT),
    ("dp_sgda", "theorem_3.as_printed"): ({"d"}, ALONE),
    ("dp_sgda", "theorem_3.repaired"): ({"d"}, ALONE),
    ("dp_sgda", "theorem_4.as_printed"): ({"n"}, "the number is compared, no exponent"),
    ("phased_output_perturbation", "theorem_3_4.signs"): ({"n"}, "the order is measured where it is attained"),
    ("phased_primal", "theorem_4_5.noise"): (ALL, POINT),
    ("phased_dual", "theorem_4_5.noise"): (ALL, POINT),
    ("phased_convex_strongly_concave", "corollary_b_6.noise"): (ALL, POINT),
    ("phased_strongly_convex_concave", "corollary_b_6.noise"): (ALL, POINT),
    ("dp_sgda_clipped", "theorem_2"): ({"d", LOG_DELTA}, "minutes reach no T from which certified noise has the order"),
    ("privatediff", "theorem_6"): ({"n", "d", LOG_DELTA}, UNREACHED),
    ("privatediff", "theorem_6.as_printed"): ({"n", "d", LOG_DELTA}, UNREACHED),
    ("privatediff", "theorem_6.without_noise"): ({"n", "d", LOG_DELTA}, UNREACHED),
}  # fmt: skip


def named(each):
    """The factors of the term that the grid is for, or of the whole rate where it is for all of it."""
    terms = [term for name, term in theorem(each.theorem).regimes if each.regime in (None, name)]
    letters = {str(letter) for term in terms for letter in term.free_symbols}
    return {FACTORS[letter] for letter in letters if letter in FACTORS}


def inflation(cells, factors):
    """Variance inflation of each factor's exponent, infinite where the design has not full rank."""
    logs = np.log([[level(cell, name) for name in factors] for cell in cells])
    logs -= logs.mean(0)
    if np.linalg.matrix_rank(logs) < len(factors):
        return dict.fromkeys(factors, np.inf)
    return dict(zip(factors, np.diag(np.linalg.inv(logs.T @ logs)) * (logs**2).sum(0), strict=True))


def varied(cells):
    return {name for letter, name in FACTORS.items() if letter in cells[0] and len({c[letter] for c in cells}) > 1}


@pytest.mark.parametrize("each", [pytest.param(each, id=f"{each.algorithm}.{each.name}") for each in experiments()])
def test_a_grid_tells_the_exponents_of_its_term_apart(each):
    missing, reason = LEFT_OUT.get((each.algorithm, each.name), (set(), ""))
    assert set(each.factors) == named(each) - missing, reason
    assert not missing or reason
    for grid in (each.grid, *([each.full] if each.full else [])):
        if each.factors and (each.algorithm, each.name) not in TIED:
            assert varied(grid.cells) == set(each.factors), "what varies besides is fitted too"
        if each.factors and not each.unreachable:
            worst = inflation(grid.cells, each.factors)
            print(f"{each.algorithm} {each.name}: {worst}")
            assert max(worst.values()) <= INFLATION
            for name in each.factors:
                levels = [level(cell, name) for cell in grid.cells]
                assert np.log(levels).std() >= SPREAD and len(set(levels)) >= 3


TIED = {  # a factor that goes with another by what the experiment states, and is counted with it
    ("dp_sgda", "theorem_5.as_printed"): "T = n, as the theorem has it",
    ("dp_sgda", "theorem_5.repaired"): "T = n, as the theorem has it",
}


def test_a_factor_that_is_tied_to_others_is_seen():
    each = next(each for each in experiments("dp_sgda") if each.name == "theorem_2a.privacy")
    tied = Grid(tuple({**c, "epsilon": (c["d"] / c["n"]) ** 0.5} for c in each.grid.cells), each.grid.seeds)
    assert max(inflation(tied.cells, ("n", "d", "epsilon")).values()) > 1e6
    held = replace(each, grid=Grid(tuple({**c, "delta": 1e-9} for c in each.grid.cells), 1))
    assert LOG_DELTA not in varied(held.grid.cells) and LOG_DELTA in named(held)


def test_delta_is_a_factor_by_its_logarithm():
    assert level({"n": 7, "delta": np.exp(-3.0)}, LOG_DELTA) == pytest.approx(3.0)
    assert level({"n": 7, "delta": 1e-5}, "n") == 7
