"""The rate experiments on Zhang et al. 2022: which there are, and their predictions by a second route."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.catalogue.zhang2022 import rate_minimisation
from dpcheck.catalogue.zhang2022 import rate_saddle_points as games
from dpcheck.catalogue.zhang2022 import rate_statistical as bowls
from dpcheck.catalogue.zhang2022 import rate_table_2 as zhang2022_table_2
from dpcheck.checks.context import Context
from dpcheck.checks.rates import TABLE, experiments
from dpcheck.solvers import algorithm

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
    for curvature, slope in ((0.4, -0.14), (0.0, -1.4)):
        found = rate_minimisation.moments(
            of, d=90, curvature=curvature, slope=slope, spread=0.1, radius=1.0, point=0.35
        )  # fmt: skip
        mean, variance = 0.0, 0.0
        for mu, sigma, block in of:
            mean = (mu * mean - slope) / (mu + curvature)
            variance = (mu / (mu + curvature)) ** 2 * variance + 90 * (sigma**2 + (0.1 / (mu + curvature)) ** 2 / block)
        assert found.mean == pytest.approx(mean - 0.35, abs=2e-4)
        assert found.square == pytest.approx((mean - 0.35) ** 2 + variance, rel=0.005)


def test_moments_in_one_dimension_with_a_projection():
    """One phase from 0: x = P(N(0, 1)) on [-1, 1]."""
    found = rate_minimisation.moments(
        (rate_minimisation.Phase(1.0, 1.0, 10),), d=1, curvature=0.0, slope=0.0, spread=0.0, radius=1.0, point=0.0
    )
    density, outside = math.exp(-0.5) / math.sqrt(2 * math.pi), math.erfc(1 / math.sqrt(2))
    assert found.square == pytest.approx(1 - outside - 2 * density + outside, rel=0.01)


def test_the_chance_of_signs_is_that_of_the_phases_without_noise():
    """The solver without noise ends where the records' share of the measure says, so that the measure is its mean."""
    each = experiments("phased_output_perturbation")[1]
    assert each.name == "theorem_3_4.signs"
    cell = each.grid.cells[0]
    problem = each.sample(cell, np.random.default_rng(3))
    end = each.solver(problem, cell).quiet().outputs(problem, np.random.default_rng(0), 1)[0, 0]
    other = each.sample(cell, np.random.default_rng(4))
    last = each.solver(other, cell).quiet().outputs(other, np.random.default_rng(0), 1)[0, 0]
    assert abs(end - last) > 0.01
    assert end + problem.chance == pytest.approx(last + other.chance, abs=2e-3)
    assert other.records.mean() == pytest.approx(other.slope, abs=4 / math.sqrt(cell["n"]))


BOWLS = [
    pytest.param(name, each.sample.__self__, each.settings, id=each.theorem)
    for name in ("phased_output_perturbation", "phased_convex_strongly_concave")
    for each in experiments(name) if each.measure is bowls.lost
]  # fmt: skip


@pytest.mark.parametrize(("name", "bowl", "settings"), BOWLS)
def test_the_chance_of_a_bowl_is_that_of_the_phases_without_noise(name, bowl, settings):
    """As above; and the measure of any output is the loss over the least one of the population, less that chance."""
    cell, losses = {"n": 2**14, "d": 1, "epsilon": 1.0, "delta": 1e-5}, []
    for seed in (3, 4):
        problem = bowl.sample(cell, np.random.default_rng(seed))
        assert math.hypot(problem.lipschitz_w, problem.lipschitz_v) == pytest.approx(1.0)
        solver = algorithm(name).configure(problem, epsilon=1.0, delta=1e-5, **settings(problem, cell))
        end = solver.quiet().outputs(problem, np.random.default_rng(0), 1)
        losses.append(bowls.lost(problem, end))
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
    assert losses[0] == pytest.approx(0.5 * bowl.curvature(cell) * bowl.square(cell, silent=True), rel=0.02)


@pytest.mark.parametrize(("name", "bowl", "settings"), BOWLS)
def test_bowls_attain_their_order_up_to_what_a_projection_and_noise_add(name, bowl, settings):
    """The deviation of x without either, by the linear recursion, and with both, by another simulation."""
    (each,) = (each for each in experiments(name) if each.measure is bowls.lost)
    order, free, whole = [], [], []
    for cell in each.grid.cells:
        c, mean, variance = bowl.curvature(cell), -bowl.centre, 0.0
        for mu, _, block in bowl.phases(cell):
            keep = mu / (mu + c)
            mean, variance = keep * mean, keep**2 * variance + (bowl.spread(cell) / (mu + c)) ** 2 / block
        order.append(math.log2(cell["n"]) / math.sqrt(cell["n"]))
        free.append(c * (mean**2 + variance))
        found = rate_minimisation.moments(
            bowl.phases(cell), d=1, curvature=c, slope=-c * bowl.centre, spread=bowl.spread(cell), radius=1.0,
            point=bowl.centre,
        )  # fmt: skip
        assert bowl.square(cell) == pytest.approx(found.square, rel=0.02)
        whole.append(each.predicted(None, cell) / each.promised(None, cell))
    shares = np.array(free) / order
    assert shares.max() < 1.05 * shares.min()
    assert max(whole) < 1.06 * min(whole)


def test_losses_of_slopes_are_their_weak_gap():
    """max over v of the mean of F(w, v), less min over w, by the ends of the balls."""
    cell = {"n": 2**13, "d": 3, "epsilon": 0.1, "delta": 1e-5}
    outputs = 0.3 * np.random.default_rng(1).standard_normal((4, 6))
    for parts in (("w",), ("v",), games.PARTS):
        problem = games.sample_phased(cell, np.random.default_rng(0), parts=parts, curved=0.0)
        slope = problem.records[0].reshape(2, 3)[:, 0]
        assert slope.tolist() == [problem.slope] * 2
        w, v = outputs.mean(0).reshape(2, 3)[:, 0] * problem.slope
        primal, dual = w + problem.slope, -v - problem.slope  # the other part at its end
        saddle = 0.0
        expected = {("w",): primal - saddle, ("v",): saddle - dual, games.PARTS: primal - dual}[parts]
        assert games.loss(problem, outputs) == pytest.approx(expected)


@pytest.mark.parametrize("corners", [False, True])
def test_the_sampling_error_of_a_game_is_that_of_many_data_sets(corners):
    rng, many = np.random.default_rng(0), 2000
    moduli = {**games.MODULI, "coupling": 0.6}  # so that both parts of the records move both parts of the saddle
    drawn = [games.game(20, 2, rng, **moduli, spread=0.5, corners=corners) for _ in range(many)]
    away = np.array([each.saddle() for each in drawn]) - games.DISTANCE * np.eye(2)[0]  # (many, parts, d)
    for part, errors in zip(games.PARTS, (away**2).sum(2).T, strict=True):
        assert drawn[0].sampling(part) == pytest.approx(errors.mean(), rel=0.06)
    outputs = away.reshape(many, -1) + games.DISTANCE * np.tile(np.eye(2)[0], 2)  # released without noise
    law = 0.5 * sum(drawn[0].bend(part) * drawn[0].sampling(part) for part in games.PARTS)
    for each, out in zip(drawn[:5], outputs, strict=False):
        assert games.expected_gap(each, out[None]) == pytest.approx(law)


@pytest.mark.thorough
def test_predictions_keep_their_share_of_the_order_over_the_privacy_grids():
    """They attain it: in d, epsilon and delta without a power, in n save one log2(n)."""
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
