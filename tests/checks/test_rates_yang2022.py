"""The rate experiments on DP-SGDA, NSEG and NISPP: their instances, predictions and premises, and planted faults."""

from __future__ import annotations

import math

import mutants
import numpy as np
import pytest
import rate_faults
from mutants import Edit

from dpcheck import InputError
from dpcheck.algorithms.kernels import gradients
from dpcheck.algorithms.problem import data_of
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.yang2022 import rate_table_1 as table_1
from dpcheck.catalogue.yang2022 import rate_theorem_2 as corner
from dpcheck.catalogue.yang2022 import rate_theorems_3_4_5 as pl
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.catalogue.yang2022.nispp import NISPP
from dpcheck.catalogue.yang2022.nseg import NSEG
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.rates import experiments
from dpcheck.checks.rates.judgement import LEADS
from dpcheck.problems.hinge_game import MEAN, SPREAD, HingeGame
from dpcheck.problems.polyak import Polyak

ALGORITHMS = ("dp_sgda", "nseg", "nispp")
OURS = {f"{each.algorithm}.{each.name}": each for each in experiments() if each.algorithm in ALGORITHMS}
SLOW = ("nispp.table_1.with_replacement",)  # whose noise takes seconds to find
GAMES = {
    "smooth": HingeGame.sample(12, 3, np.random.default_rng(0), coupling=0.3, slope=0.4, place=0.2, width=0.3),
    "kinks": HingeGame.sample(12, 2, np.random.default_rng(0), slope=0.4, place=-0.5, width=0.0, radius=2.0, bound=0.8),
}


def points(game, rng, size):
    d = game.dim_w
    return game.radius / math.sqrt(d) * (2 * rng.random((size, 2 * d)) - 1)


def objective(game, w, v):
    """The population's: the game's at its mean record."""
    record = np.full(2 * game.dim_w, MEAN * game.bound / math.sqrt(game.dim_w))
    return game.value(game.params, record, w, v)


@pytest.mark.parametrize("name", GAMES)
def test_gradients_of_the_hinge_game_are_the_differences_of_its_value(name):
    game, rng, step = GAMES[name], np.random.default_rng(1), 1e-6
    d = game.dim_w
    for x in points(game, rng, 50):
        g = np.empty(2 * d)
        game.gradient(game.params, game.records[0], x[:d], x[d:], g[:d], g[d:])
        assert np.linalg.norm(g[:d]) <= game.lipschitz_w and np.linalg.norm(g[d:]) <= game.lipschitz_v
        for i in range(2 * d):
            up, down = x + step * np.eye(2 * d)[i], x - step * np.eye(2 * d)[i]
            ends = (game.value(game.params, game.records[0], each[:d], each[d:]) for each in (up, down))
            assert g[i] == pytest.approx((next(ends) - next(ends)) / (2 * step), abs=1e-5)


def test_the_smoothness_of_the_hinge_game_is_attained():
    game = GAMES["smooth"]
    d, inside = game.dim_w, (game.place + 0.5 * game.width) / math.sqrt(game.dim_w)
    x, g, h = np.zeros(2 * d), np.empty(2 * d), np.empty(2 * d)
    x[0] = inside  # w_1 is on the bend and v_1 is not
    move = np.zeros(2 * d)
    move[[0, d]] = 1e-4 * np.linalg.eigh([[game.slope / game.width, game.coupling], [game.coupling, 0.0]])[1][:, 1]
    y = x + move
    game.gradient(game.params, game.records[0], x[:d], x[d:], g[:d], g[d:])
    game.gradient(game.params, game.records[0], y[:d], y[d:], h[:d], h[d:])
    assert np.linalg.norm(h - g) / 1e-4 == pytest.approx(game.smoothness)
    assert GAMES["kinks"].smoothness == math.inf


@pytest.mark.parametrize("name", GAMES)
def test_the_weak_gap_of_the_hinge_game_is_its_definition(name):
    game, rng = GAMES[name], np.random.default_rng(2)
    d, outputs = game.dim_w, points(game, rng, 5)
    reach, zero = game.radius / math.sqrt(d), np.zeros(d)
    primal = np.mean([objective(game, x[:d], zero) for x in outputs])
    dual = np.mean([objective(game, zero, x[d:]) for x in outputs])
    grid = np.linspace(-reach, reach, 2001)
    for i in range(d):  # coordinates do not interact
        one = np.zeros((2001, d))
        one[:, i] = grid
        for_v = [np.mean([objective(game, x[:d], u) - objective(game, x[:d], zero) for x in outputs]) for u in one]
        for_w = [np.mean([objective(game, u, x[d:]) - objective(game, zero, x[d:]) for x in outputs]) for u in one]
        primal, dual = primal + max(for_v), dual + min(for_w)
    assert game.weak_gap(outputs) == pytest.approx(primal - dual, abs=2e-3)
    at_corner = np.full((1, 2 * d), -reach)
    assert game.weak_gap(at_corner) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("clip", [np.inf, 0.9])
@pytest.mark.parametrize("name", GAMES)
def test_minibatches_of_the_hinge_game_are_the_records_one_by_one(name, clip):
    game, rng = GAMES[name], np.random.default_rng(3)
    data = data_of(game)
    x, bounds = points(game, rng, 1)[0], np.full(2, clip)
    found, expected = np.empty((2, x.size))
    for size in (0, 1, 7, 40):
        index = rng.integers(0, 12, size)
        game.mean(game.gradient, data, index, 10, x, bounds, found)
        gradients.mean(game.gradient, data, index, 10, x, bounds, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_wrong_constants_of_the_hinge_game_are_refused():
    records = np.zeros((2, 2))
    with pytest.raises(InputError, match=r"place must lie in \(-radius, radius\), got 1"):
        HingeGame(records, place=1.0)
    with pytest.raises(InputError, match=r"width must lie in \[0, 0.5\], the room beyond place, got 0.6"):
        HingeGame(records, width=0.6)
    with pytest.raises(InputError, match="slope must be a finite number > 0, got 0"):
        HingeGame(records, slope=0)


@pytest.mark.parametrize(("drift", "deviation"), [(0.02, 0.1), (0.1, 0.1)])
def test_noise_holds_a_walk_off_its_wall_by_spitzers_sum(drift, deviation):
    rng, x = np.random.default_rng(0), np.zeros(20_000)
    mean = []
    for t in range(1200):
        x = np.maximum(x - drift + deviation * rng.standard_normal(x.size), 0)
        if t >= 400:
            mean.append(x.mean())
    assert corner.held_off(drift, deviation) == pytest.approx(np.mean(mean), rel=0.01)


@pytest.mark.parametrize("place", [-0.5, 0.5])
def test_the_closed_form_at_the_corner_is_what_a_simulation_gives(place):
    """Descent ascent in NumPy, noise a quarter of the gap."""
    game = HingeGame.sample(1, 2, np.random.default_rng(0), coupling=0.1, slope=0.25, place=place, width=0.03)
    steps, eta, batch, sigma, draws = 1000, 0.004, 4, 3.0, 2000
    rng, wall = np.random.default_rng(0), game.radius / math.sqrt(2)
    low = game.place / math.sqrt(2)
    x, total = np.zeros((draws, 4)), np.zeros((draws, 4))
    signs = np.array([1, 1, -1, -1])
    for _ in range(steps):
        total += x
        chance = SPREAD / math.sqrt(2 * batch) * rng.standard_normal(x.shape)
        bend = game.slope / math.sqrt(2) * np.clip((x - low) / (game.width / math.sqrt(2)), 0, 1)
        pull = signs * game.coupling * x[:, [2, 3, 0, 1]] + MEAN / math.sqrt(2) + chance + bend
        x = np.clip(x - eta * (pull + sigma * rng.standard_normal(x.shape)), -wall, wall)
    predicted = corner.mean_gap(game, steps, eta, batch, sigma, sigma)
    assert game.weak_gap(total / steps) == pytest.approx(predicted, rel=0.02)
    assert corner.mean_gap(game, steps, eta, batch, 0.0, 0.0) < 0.85 * predicted


def test_the_simulated_extragradient_turns_as_its_eigenvalue_says():
    steps = 2854
    theta = 1 / math.sqrt(steps)
    factor = 1 + 1j * theta - theta**2
    mean = (-1 + 1j) * (1 + 1j * theta) * (1 - factor**steps) / ((1 - factor) * steps)  # of (w, v) - (1, -1)
    outputs = table_1.simulated(steps, theta, 0.0)
    np.testing.assert_allclose(outputs[0] - [1, -1], [mean.real, mean.imag], rtol=1e-9)


def test_the_risks_of_the_polyak_problem_are_differences_of_its_primal_function():
    problem = Polyak.sample(50, np.random.default_rng(0), **pl.SHAPE)
    outputs = np.random.default_rng(1).normal(size=(4, 2))
    mean = problem.records.mean()
    least = 0.5 * problem.records.var()
    risk = np.mean([problem.primal(w[:1]) for w in outputs])
    assert pl.empirical(problem, outputs) == pytest.approx(risk - least)
    assert pl.population(problem, outputs) == pytest.approx(pl.curvature(3.0) * np.mean(pl.phi(outputs[:, 0]) ** 2))
    # R - R_S at w, and R_S - R at w*: (phi - 0)^2 - (phi - mean)^2 and mean^2
    expected = pl.population(problem, outputs) - pl.empirical(problem, outputs) + pl.curvature(3.0) * mean**2
    assert pl.generalisation(problem, outputs) == pytest.approx(expected)


def test_the_late_start_is_where_the_proofs_limits_begin_to_hold():
    problem = Polyak.sample(50, np.random.default_rng(0), **pl.SHAPE)
    first = theorem("yang2022.theorem_3").schedule(**pl.constants(problem, {}))
    L, late = problem.smoothness, pl.late_start(problem)

    def within(t):
        return first["eta_w"] / t <= 1 / (L + L**2 / 3) and first["eta_v"] / t ** (2 / 3) <= 1 / L

    assert within(late * (1 + 1e-9)) and not within(0.999 * late)
    assert late > 10 * max(cell["T"] for each in pl.EXPERIMENTS for cell in each.grid.cells)


def test_every_finding_is_expected():
    expected = {name for name in expected_verdicts() if name.split(".")[0] in ALGORITHMS}
    for name, each in OURS.items():
        algorithm = each.algorithm
        parts = ["prediction"] * (each.predicted is not None) + ["rate"] * bool(each.factors)
        parts += ["bound"] * (each.statement.bound_formula is not None)
        assert {f"{algorithm}.{part}.{each.name}" for part in parts} <= expected, name


@pytest.mark.thorough
@pytest.mark.parametrize("name", OURS)
def test_experiments_declare_every_parameter_and_their_premises_hold(name):
    each = OURS[name]
    for cell in each.grid.cells if each.full is None else (*each.grid.cells, *each.full.cells):
        problem = each.sample(cell, np.random.default_rng(0))
        needed = {str(parameter.symbol) for parameter in each.statement.parameters if parameter.default is None}
        declared = set(each.constants(problem, cell))
        assert declared >= needed or each.order_only
        assert each.promised(problem, cell) > 0
        assert all(premise.holds for premise in each.premises(problem, cell))
        order, other = each.terms(problem, cell)
        assert each.regime is None or order >= LEADS * other
        if each.clear is not None and name not in SLOW:
            assert each.measure(problem, problem.start[None]) >= each.clear * each.predicted(problem, cell)


STEP = "max(math.sqrt(self.sizes.n), self.sizes.privacy_error * self.sizes.n)"
PRINTED = "printed_noise(G, sizes.n, self.steps, sizes.epsilon, sizes.delta)"
NSEG_STEP = "1 / (L * math.sqrt(n) * max(1, a * math.sqrt(n)))"
UPDATE_V, AVERAGE = "v[i] += steps[1, t] * g_v[i]", "mean(gradient, data, index[:count], batch, x, clip, g)"


def slower(power):
    return Edit("Theorem2a.slowest", STEP, f"self.sizes.n**{power} * {STEP}")


FAULTS = {  # part of the experiments' names, and what is changed in the schedules
    "step n^-.15": ("2a.statistical", slower(0.15)),
    "step n^-.25": ("2a.statistical", slower(0.25)),
    "step n^-.5": ("2a.statistical", slower(0.5)),
    "step n^-.25 without smoothness": ("2b", slower(0.25)),
    "noise sqrt d": ("2a.privacy", Edit("Theorem2a.noise", PRINTED, f"math.sqrt(sizes.d) * {PRINTED}")),
    "noise that does not shrink": ("2a.privacy", Edit("printed_noise", "n * epsilon", "40_000 * epsilon")),
    "last iterate": ("2a.statistical", Edit("Theorem2a.output", 'return "average"', 'return "last"')),
    "falling steps n^-.25": ("theorem_5.as_printed", Edit("falling", "2 / (pl * t)", "2 / (pl * t * steps**0.25)")),
    "repaired steps that begin at 1": (
        "theorem_5.repaired", Edit("Theorem3Repaired.late", "late = True", "late = False"),
    ),
}  # fmt: skip
LOOP = {  # what is changed in the loop
    "first iterate": Edit("sgda", "out[i] += x[i] / T", "out[i] = x[i] if t == 0 else out[i]"),
    "v not updated": Edit("sgda", UPDATE_V, "v[i] += 0 * g_v[i]"),
    "wrong sign in v": Edit("sgda", UPDATE_V, "v[i] -= steps[1, t] * g_v[i]"),
    "divided by n": Edit("sgda", AVERAGE, AVERAGE.replace("batch", "n")),
}
NOT_EXTRAPOLATED = Edit("run", "u if half == 0 else z", "u", "nseg")
FIXED_CENTRE = Edit("publish", "copy(z_w, centre[:d])", "")
LAST_PHASE = Edit("NISPP.average", "average = True", "average = False")


def nseg_slower(power):
    return Edit("Extragradient.eta", NSEG_STEP, NSEG_STEP.replace("1 /", f"n**-{power} /"))


def test_what_the_faults_change_is_there_once():
    """Their own tests are long and run seldom: an edit that no longer fits should show at once."""
    others = (NOT_EXTRAPOLATED, FIXED_CENTRE, LAST_PHASE, nseg_slower(0.15))
    for edit in (*(edit for _, edit in FAULTS.values()), *LOOP.values(), *others):
        rate_faults.assert_there_once(edit)


@pytest.mark.experiment
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_configuration_of_dp_sgda_turns_its_rates_red(fault, monkeypatch):
    part, edit = FAULTS[fault]
    rate_faults.plant_in_schedule(monkeypatch, "dp_sgda", edit)
    red = rate_faults.assert_red(found := rate_faults.findings("dp_sgda", part=part))
    print(fault, [(each.id, each.verdict) for each in red])
    slower = fault.startswith(("step", "noise"))
    assert not slower or not any(each.verdict == "supported" for each in found)


@pytest.mark.experiment
@pytest.mark.parametrize("fault", LOOP)
def test_a_fault_in_the_loop_of_dp_sgda_turns_its_rates_red(fault, monkeypatch):
    monkeypatch.setattr(DPSGDA, "kernel", staticmethod(mutants.compiled(LOOP[fault]).sgda))
    red = rate_faults.assert_red(found := rate_faults.findings("dp_sgda", part="2a.statistical"))
    print(fault, [(each.id, each.verdict) for each in red])
    assert not any(each.verdict == "supported" for each in found)


@pytest.mark.experiment
def test_nseg_without_extrapolation_turns_red(monkeypatch):
    monkeypatch.setattr(NSEG, "kernel", staticmethod(mutants.compiled(NOT_EXTRAPOLATED).run))
    red = rate_faults.assert_red(rate_faults.findings("nseg", part="turning"))
    print([(each.id, each.verdict) for each in red])


@pytest.mark.experiment
@pytest.mark.parametrize("power", [0.15, 0.25])
def test_steps_of_nseg_with_a_wrong_power_of_n_turn_red(power, monkeypatch):
    rate_faults.plant_in_schedule(monkeypatch, "nseg", nseg_slower(power))
    red = rate_faults.assert_red(found := rate_faults.findings("nseg", part="statistical"))
    print([(each.id, each.verdict) for each in red])
    assert not any(each.verdict == "supported" for each in found)


@pytest.mark.experiment
def test_nispp_about_the_wrong_centre_turns_red(monkeypatch):
    monkeypatch.setattr(NISPP, "kernel", staticmethod(mutants.compiled(FIXED_CENTRE).run))
    red = rate_faults.assert_red(found := rate_faults.findings("nispp", part="with_replacement"))
    print([(each.id, each.verdict) for each in red])
    assert not any(each.verdict == "supported" for each in found)


@pytest.mark.experiment
def test_the_last_phase_of_nispp_for_the_mean_turns_red(monkeypatch):
    rate_faults.plant(monkeypatch, LAST_PHASE)
    red = rate_faults.assert_red(rate_faults.findings("nispp", part="single_pass"))
    print([(each.id, each.verdict) for each in red])
