"""The rate experiments on Zhang et al. 2022: which there are, and their predictions by a second route."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.catalogue.zhang2022 import rate_minimisation
from dpcheck.catalogue.zhang2022 import rate_saddle_points as games
from dpcheck.catalogue.zhang2022 import rate_table_2 as zhang2022_table_2
from dpcheck.checks.context import Context
from dpcheck.checks.rates import TABLE, experiments

ALGORITHMS = (
    "output_perturbation", "phased_output_perturbation", "minimax_output_perturbation",
    "minimax_output_perturbation_joint", "phased_minimax_output_perturbation", "phased_primal", "phased_dual",
    "phased_convex_strongly_concave", "phased_strongly_convex_concave",
)  # fmt: skip
EXPERIMENTS = [each for name in ALGORITHMS for each in experiments(name)]


def test_every_algorithm_has_an_experiment_and_each_theorem_its_privacy_regime():
    measured = {(each.algorithm, each.regime) for each in EXPERIMENTS}
    assert {(name, "privacy") for name in ALGORITHMS} <= measured
    assert {each.theorem.partition(".")[2] for each in EXPERIMENTS} == {
        "theorem_3_3", "theorem_3_4", "theorem_4_3", "theorem_4_5", "corollary_b_6",
    }  # fmt: skip


def test_moments_without_a_projection_are_those_of_the_linear_recursion():
    of = rate_minimisation.phases("zhang2022.theorem_3_4", n=4096, d=90, epsilon=0.27, delta=1e-6, L=1.0, D=1.0)
    found = rate_minimisation.moments(of, d=90, curvature=0.4, centre=0.35, spread=0.01, radius=1.0, point=0.35)
    mean, variance = 0.0, 0.0
    for mu, sigma, block in of:
        mean = (mu * mean + 0.4 * 0.35) / (mu + 0.4)
        variance = (mu / (mu + 0.4)) ** 2 * variance + 90 * (sigma**2 + (0.4 / (mu + 0.4) * 0.01) ** 2 / block)
    assert found.mean == pytest.approx(mean - 0.35, abs=2e-4)
    assert found.square == pytest.approx((mean - 0.35) ** 2 + variance, rel=0.005)


def test_moments_in_one_dimension_with_a_projection():
    """One phase from 0: x = P(N(0, 1)) on [-1, 1]."""
    found = rate_minimisation.moments(
        (rate_minimisation.Phase(1.0, 1.0, 10),), d=1, curvature=1e-12, centre=0.0, spread=0.0, radius=1.0, point=0.0
    )
    density, outside = math.exp(-0.5) / math.sqrt(2 * math.pi), math.erfc(1 / math.sqrt(2))
    assert found.square == pytest.approx(1 - outside - 2 * density + outside, rel=0.01)


@pytest.mark.parametrize("part", games.PARTS)
def test_a_phase_moves_to_the_saddle_of_the_regularised_game(part):
    mu, mu_k, x = 0.7, 1.4, 0.3
    problem = games.game(
        4, 2, np.random.default_rng(0), mu_x=0.3, mu_y=0.5, coupling=0.2, at=(0.4, -0.3), spread=0.0
    )  # fmt: skip
    b, c = problem.records.mean(0)[[0, 2]]
    r_w, r_v, c_w, c_v = (mu_k, mu, x, 0.0) if part == "w" else (mu, mu_k, 0.0, x)
    system = np.array([[0.3 + r_w, 0.2], [-0.2, 0.5 + r_v]])
    solution = np.linalg.solve(system, [r_w * c_w - b, r_v * c_v - c])["wv".index(part)]
    curvature, centre = problem.side(part).centre(mu)
    assert (mu_k * x + curvature * centre) / (mu_k + curvature) == pytest.approx(solution)


def test_loss_of_a_game_is_its_weak_gap_on_the_population():
    rng = np.random.default_rng(1)
    problem = games.game(4, 3, rng, mu_x=0.3, mu_y=0.5, coupling=0.2, at=(0.4, -0.3), spread=0.0)
    outputs = np.concatenate([0.3 * rng.standard_normal((1, 6))] * 3)  # one point: E is no more than that
    assert games.loss(problem, outputs) == pytest.approx(problem.gap(outputs[0, :3], outputs[0, 3:]), rel=1e-9)


def test_predictions_keep_their_share_of_the_order_over_the_privacy_grids():
    """They attain it: in d and epsilon without a power, in n save one log2(n)."""
    for name, logs in (("phased_output_perturbation", 0), ("phased_minimax_output_perturbation", 1)):
        each = experiments(name)[0]
        shares = {}
        for cell in each.grid.cells:
            problem = each.sample(cell, np.random.default_rng(0))
            share = each.predicted(problem, cell) / each.terms(problem, cell)[0]
            shares.setdefault(cell["n"], []).append(share * math.log2(cell["n"]) ** logs)
        found = [share for each in shares.values() for share in each]
        assert max(found) < 1.03 * min(found)


def test_gradients_are_counted_again_once_where_one_count_leaves_the_verdict_open(monkeypatch):
    """One count of sixteen that is far off hides the mean; the second look, four times as long, decides."""
    looks = []

    def counted(cell, context, runs):
        looks.append((cell.key.partition(".")[0], runs))
        count = cell.order * 100
        return [10 * count if runs == 16 and k == 0 else count * (1 + k % 3 / 100) for k in range(runs)]

    monkeypatch.setattr(zhang2022_table_2, "counted", counted)
    tables = {}
    found = list(zhang2022_table_2.findings("minimax_output_perturbation", Context(), tables))
    assert {each.verdict for each in found} == {"attained", "not exceeded"}
    assert len(tables[TABLE]) == len(found) == len({each.id for each in found})
    sizes = len(zhang2022_table_2.RECORDS["n"])
    assert looks.count(("saddle_svrg", 16)) == looks.count(("saddle_svrg", 64)) == sizes
    assert looks.count(("al_svre", 100)) == sizes and ("al_svre", 400) not in looks
    assert ("gda", 64) not in looks and ("gda", 16) not in looks
