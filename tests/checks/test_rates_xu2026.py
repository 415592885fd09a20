"""Rates of DP-RGDA and its baselines: premises, predictions by second routes, and planted faults.

The planted faults take minutes: ``pytest -n 0 -m experiment tests/checks/test_rates_xu2026.py``.
"""

from __future__ import annotations

import math
from dataclasses import replace

import mutants
import numpy as np
import pytest
import rate_faults
from mutants import Edit

from dpcheck.catalogue.xu2026 import ascent_simulation, spider_simulation
from dpcheck.catalogue.xu2026 import rate_escape as xu2026_escape
from dpcheck.catalogue.xu2026 import rate_table_1 as xu2026_table_1
from dpcheck.catalogue.xu2026 import rate_theorem_1 as theorem_1
from dpcheck.catalogue.xu2026 import rate_theorem_2 as theorem_2
from dpcheck.catalogue.xu2026.dp_rgda import DPRGDA
from dpcheck.checks.context import Context
from dpcheck.checks.rates.judgement import _known

EXPERIMENTS = (*theorem_1.EXPERIMENTS, *theorem_2.EXPERIMENTS, *xu2026_table_1.EXPERIMENTS)
BY_NAME = [pytest.param(each, id=f"{each.algorithm}.{each.name}") for each in EXPERIMENTS]
GAME = np.array([[1.0, 0.5], [0.5, -1.0]])


@pytest.mark.thorough
@pytest.mark.parametrize("each", BY_NAME)
def test_premises_hold_at_the_ends_of_the_grid(each):
    assert each.full is None  # one grid for both profiles
    cells = sorted(each.grid.cells, key=theorem_1.privacy_error)
    for cell in (cells[0], cells[-1]):
        point = _known(each, cell)
        assert not [str(premise) for premise in point.premises if not premise.holds]
        assert 0 < point.predicted < math.inf


@pytest.mark.parametrize("each", BY_NAME)
def test_all_parameters_of_the_theorem_are_declared(each):
    cell = each.grid.cells[0]
    problem = each.sample(cell, np.random.default_rng(0))
    given = set(each.constants(problem, cell))
    needed = {str(p.symbol) for p in each.statement.parameters if p.default is None} - {"C_v", "C_u"}  # of the noise
    assert needed <= given


@pytest.mark.parametrize("each", BY_NAME)
def test_ranges_of_the_factors(each):
    for name in each.factors:
        values = [cell[name] for cell in each.grid.cells]
        assert max(values) / min(values) >= (4.9 if name == "n" else 7.9)


def test_solvers_have_the_numbers_that_predictions_are_made_of():
    """The predicted schedule and noise are computed without the solver; they are its own."""
    for experiment, plan_of in (
        (theorem_1.EXPERIMENTS[0], theorem_1.repaired),
        (theorem_2.EXPERIMENTS[0], theorem_2.repaired),
    ):
        cell = experiment.grid.cells[0]
        solver, plan = experiment.solver(experiment.sample(cell, np.random.default_rng(0)), cell), plan_of(cell)
        for name in ("steps", "period", "K", "t_thres", "escapes", "repaired", "once"):
            assert getattr(solver, name) == getattr(plan, name), name
        for name in ("alpha", "eta", "eta_H", "lam", "r", "D_bar", "C_u", "sigma_v", "sigma_u"):
            assert getattr(solver, name) == pytest.approx(getattr(plan, name), rel=2e-3), name


def test_simulated_steps_without_noise_are_those_of_the_solver():
    """With no noise and no perturbation there is one path: the simulation and the kernel end at the same point."""
    experiment = theorem_1.EXPERIMENTS[0]
    cell = experiment.grid.cells[1]
    problem = experiment.sample(cell, np.random.default_rng(0))
    solver = replace(experiment.solver(problem, cell).quiet(), escapes=0)
    plan = replace(theorem_1.repaired(cell), sigma_v=0.0, sigma_u=0.0, escapes=0)
    d = problem.dim_w
    mean = problem.records.mean(0)
    found = ascent_simulation.outputs(plan, GAME, np.stack([mean[:d], -mean[d:]]), 2, np.random.default_rng(1))
    np.testing.assert_allclose(found, solver.outputs(problem, np.random.default_rng(2), 2)[:, :d], atol=1e-10)


def test_noise_along_a_tree_has_as_many_parts_as_the_sum_has_binary_digits():
    plan = replace(theorem_2.repaired(theorem_2.LARGE[0]), sigma_u=1.0, sigma_v=0.0, spread=0.0, steps=20, period=20)
    sums = ascent_simulation._Sums(plan, (4000, 2, 1), np.random.default_rng(0))
    every = np.ones(4000, bool)
    sums.refresh(np.zeros((4000, 2, 1)), every)
    for count in range(1, 12):
        sums.add(np.zeros((4000, 2, 1)), every)
        assert sums.value.var() == pytest.approx(count.bit_count(), rel=0.1)


def test_mean_norm_of_a_uniform_iterate_is_that_of_many_runs():
    start, rng = np.array([0.5, 0.0, 0.0]), np.random.default_rng(0)
    plan = spider_simulation.Plan(steps=40, eta=0.5, noise=0.03, growth=0.2, start=start, period=10)
    g, v, old = np.tile(start, (20_000, 1)), np.zeros((20_000, 3)), np.tile(start, (20_000, 1))
    total = 0.0
    for t in range(40):
        drawn = rng.standard_normal(g.shape)
        moved = np.linalg.norm(g - old, axis=1)[:, None]
        v = g + 0.03 * drawn if t % 10 == 0 else v + g - old + 0.2 * moved * drawn
        old, g = g, g - 0.5 * v
        total += np.linalg.norm(g, axis=1).mean() / 40
    assert spider_simulation.mean_norm(plan) == pytest.approx(total, rel=0.01)


@pytest.mark.parametrize("saddle", xu2026_escape.SADDLES, ids=lambda saddle: saddle.name)
def test_saddles_are_exact_and_no_second_order_points(saddle):
    problem = saddle.problem()
    start = problem.start[: problem.dim_w]
    assert np.linalg.norm(problem.primal_gradient(start)) < 1e-12
    assert not xu2026_escape.is_second_order(problem, saddle.settings["alpha"], problem.start)
    solver = saddle.solver(problem)
    assert (xu2026_escape.noise(solver, problem) > 0) == saddle.private
    assert not [str(premise) for premise in xu2026_escape.premises(problem, solver) if not premise.holds]
    least = min(problem.primal(best) for best in problem.minima())
    assert saddle.settings["F0"] >= problem.primal(start) - least


def test_an_escape_without_its_premises_is_not_run():
    private = xu2026_escape.SADDLES[2]
    for changed, words in (({"alpha": 0.9}, "curvature at the saddle"), ({"S2": 20}, "alpha over the noise"),
                           ({"escapes": 20}, "walk by perturbations")):  # fmt: skip
        saddle = replace(private, settings=private.settings | changed)
        finding = xu2026_escape._finding(saddle, Context("quick", 0, 1), {})
        assert finding.verdict == "not asymptotic"
        assert words in finding.reason


def test_noise_of_a_refresh_has_its_limit_in_closed_form():
    """C_v L_Phi F_0, above 1 on this cosine; a game of small gradients would be within reach."""
    problem = xu2026_escape.SADDLES[0].problem()
    L, C_v = problem.smoothness, problem.lipschitz_v
    limit = C_v * L * (1 + L) * 2.0
    assert xu2026_escape.refresh_noise(problem, 2.0, 1e12) == pytest.approx(limit, rel=1e-3)
    assert xu2026_escape.refresh_noise(problem, 0.9 * 2.0 / limit, 1e12) < 1
    assert xu2026_escape.unreachable(xu2026_escape.SADDLES[0]).verdict == "not asymptotic"


@pytest.mark.parametrize("private", [False, True])
def test_one_perturbation_leaves_no_saddle(private):
    """Where q > T the repaired variant pays for one, which its notes say; with a short period runs leave."""
    saddle = replace(
        xu2026_escape.SADDLES[0], records=4000, private=private, settings={"alpha": 0.1, "F0": 2.0, "S2": 400}
    )
    problem = saddle.problem()
    stays, leaves = (replace(saddle, settings=saddle.settings | {"period": q}).solver(problem) for q in (867, 5))
    assert (stays.escapes, leaves.escapes) == (1, 174)
    short = "a run that comes near one is likely to end there"
    assert [any(short in note for note in each.notes) for each in (stays, leaves)] == [True, False]
    assert xu2026_escape._successes(stays, problem, np.random.default_rng(0), 20) == 0


def kernel_with(monkeypatch, edit):
    """DP-RGDA with a kernel that has the edit."""
    monkeypatch.setattr(DPRGDA, "kernel", staticmethod(mutants.compiled(edit).rgda))


def assert_caught(algorithm, part):
    found = rate_faults.findings(algorithm, part=part)
    red = rate_faults.assert_red(found)
    print([(each.id, each.verdict) for each in red])


STEP = "self.alpha / (2 * self.L)"
NOISE = "z * share_v * 2 * self.C_v / S1, z * share_u * 2 * self.C_u / S2"
IN_DP_RGDA = {
    "step times n^-0.15": Edit("EmpiricalRepaired.eta", STEP, f"self.sizes.n**-0.15 * {STEP}"),
    "step times n^-0.25": Edit("EmpiricalRepaired.eta", STEP, f"self.sizes.n**-0.25 * {STEP}"),
    "noise times sqrt d": Edit("EmpiricalRepaired.noise", NOISE, NOISE.replace("z *", "math.sqrt(self.sizes.d) * z *")),
    "noise that does not shrink with n": Edit(
        "EmpiricalRepaired.noise", NOISE, NOISE.replace("S1", "1000").replace("S2", "200")
    ),
}
IN_THE_KERNEL = {
    "no refresh": Edit("rgda", "t % counts.period == 0 or (repaired > 0 and perturbed)", "t == 0"),
    "a difference from x itself": Edit("estimate", "copy(room.last_x, room.old[:d])", "copy(z[:d], room.old[:d])"),
    "no ascent": Edit("ascend", "y[i] + reals.lam * u[i]", "y[i]"),
}
NO_PERTURBATION = Edit("rgda", "move_in_ball(x, reals.r, rng)", "")
PACKED = "reals, counts = Reals, Counts"
SPIDERS = {"Repaired.noise": "dp_spider", "Stochastic.noise": "sto_spider"}
PERIODIC = "self.calibrated(self.refreshes, self.steps - self.refreshes)"
SELECTING = "self.calibrated(min(self.refreshes, self.steps), self.steps - 1, (pure(self.scale),))"


def scaled(definition, multipliers, factor):
    """Both noise multipliers times ``factor``."""
    return Edit(
        definition, multipliers, f"tuple(multiplier * ({factor}) for multiplier in {multipliers})", SPIDERS[definition]
    )


def spread(factor):
    """Both noise multipliers of Ada-DP-SPIDER times ``factor`` in the run, which its threshold knows nothing of."""
    more = ", ".join(f"{name}=self.{name} * ({factor})" for name in ("sigma_1", "sigma_2"))
    packed = (
        f"{PACKED}\ndef packed(self, problem):\n    from dpcheck.algorithms.run import fill, pack\n"
        f"    return pack(fill(Reals, self, {more}), fill(Counts, self))\n"
    )
    return Edit("AdaDPSpider", PACKED, packed)


IN_THE_BASELINES = {
    "dp_spider, first iterate returned": Edit("run", "below(T, rng)", "below(T, rng) * 0", "dp_spider"),
    "dp_spider, no refresh": Edit("run", "t % q == 0", "t == 0", "dp_spider"),
    "ada_dp_spider, last iterate returned": Edit("run", "copy(anchor, w)", "", "ada_dp_spider"),
    "ada_dp_spider, first iterate returned": Edit("run", "copy(w, out)", "copy(data.start, out)", "ada_dp_spider"),
    "ada_dp_spider, noise times sqrt d": spread("problem.dim_w ** 0.5"),
    "ada_dp_spider, noise that does not shrink with n": spread("len(problem.records) / 2000"),
    "sto_spider, last iterate returned": Edit("run", "chosen if chosen >= 0 else seen - 1", "seen - 1", "sto_spider"),
}
IN_THEIR_SCHEDULES = {
    "dp_spider, noise times sqrt d": scaled("Repaired.noise", PERIODIC, "self.sizes.d ** 0.5"),
    "ada_dp_spider, threshold times n^0.25": Edit(
        "Adaptive.chi", "return self.noise_level", "return self.noise_level * (self.sizes.n / 2000) ** 0.25"
    ),
    "sto_spider, noise times sqrt d": scaled("Stochastic.noise", SELECTING, "self.sizes.d ** 0.5"),
    "sto_spider, noise that does not shrink with n": scaled("Stochastic.noise", SELECTING, "self.sizes.n / 2000"),
}


def test_what_the_faults_change_is_there_once():
    """Their own tests are long and run seldom: an edit that no longer fits should show at once."""
    for edits in (IN_THE_BASELINES, IN_THEIR_SCHEDULES, IN_DP_RGDA, IN_THE_KERNEL, {"": NO_PERTURBATION}):
        for edit in edits.values():
            rate_faults.assert_there_once(edit)


@pytest.mark.experiment
@pytest.mark.parametrize("fault", IN_DP_RGDA)
def test_a_fault_in_the_schedule_of_dp_rgda_is_caught(monkeypatch, fault):
    rate_faults.plant_in_schedule(monkeypatch, "dp_rgda", IN_DP_RGDA[fault])
    assert_caught("dp_rgda", "theorem_1")


@pytest.mark.experiment
@pytest.mark.parametrize("fault", IN_THE_KERNEL)
def test_a_fault_in_the_steps_of_dp_rgda_is_caught(monkeypatch, fault):
    kernel_with(monkeypatch, IN_THE_KERNEL[fault])
    assert_caught("dp_rgda", "theorem_1")


@pytest.mark.experiment
def test_a_perturbation_that_is_left_out_is_caught(monkeypatch):
    """At every saddle, that with privacy's noise included: there the noise alone leaves in few runs of a hundred."""
    kernel_with(monkeypatch, NO_PERTURBATION)
    found = rate_faults.findings("dp_rgda", part="escape")
    red = {finding.id for finding in rate_faults.assert_red(found) if finding.verdict == "contradicted"}
    assert red == {f"dp_rgda.escape.{saddle.name}" for saddle in xu2026_escape.SADDLES}


@pytest.mark.experiment
@pytest.mark.parametrize("fault", IN_THE_BASELINES)
def test_a_fault_in_a_baseline_is_caught(monkeypatch, fault):
    rate_faults.plant(monkeypatch, IN_THE_BASELINES[fault])
    assert_caught(fault.partition(",")[0], "table_1")


@pytest.mark.experiment
@pytest.mark.parametrize("fault", IN_THEIR_SCHEDULES)
def test_a_fault_in_the_schedule_of_a_baseline_is_caught(monkeypatch, fault):
    name = fault.partition(",")[0]
    rate_faults.plant_in_schedule(monkeypatch, name, IN_THEIR_SCHEDULES[fault])
    assert_caught(name, "table_1")
