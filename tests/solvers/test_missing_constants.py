"""Problems without the constants that a schedule needs: refused, or run with a note where every number is given."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcheck import InputError, certify
from dpcheck.algorithms.problem import with_record
from dpcheck.catalogue.zhang2025.privatediff_schedule import moved
from dpcheck.problems import example
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.matrix_sensing import MatrixSensing
from dpcheck.solvers import algorithm, configure

RNG = np.random.default_rng(3)
PROBLEMS = {
    "auc_mlp": replace(example("auc_mlp"), radius=math.inf),
    "td_mlp": replace(example("td_mlp"), radius=math.inf),
    "wgan": replace(example("wgan"), radius=math.inf),
    "matrix_sensing": MatrixSensing.sample(30, 3, RNG, rank=1),
}
GIVEN = {
    "privatediff": {"eta_y": 0.2, "C2": 0.1, "C3": 0.5},
    "dp_rgda": {
        "steps": 8, "K": 2, "eta": 0.1, "eta_H": 0.1, "lam": 0.2, "C_u": 0.5, "r": 0.1, "t_thres": 3, "D_bar": 0.01,
    },
    "dp_sgda_clipped": {"eta_w": 0.1, "eta_v": 0.1},
}  # fmt: skip
PLAIN = {
    "dp_sgda_clipped": {"steps": 7, "batch": 5, "clip_w": 1.0, "clip_v": 1.0},
    "privatediff": {"rounds": 7, "restart": 4, "inner": 3, "batch": 5, "C0": 1.0, "C1": 1.0},
    "dp_rgda": {"period": 4, "S1": 20, "S2": 5, "C_v": 1.0, "alpha": 0.1},
}
CASES = [(solver, problem) for solver in GIVEN for problem in PROBLEMS]
BUDGET = {"epsilon": 1.0, "delta": 1e-4}


def missing(problem, name):
    """What the notes say where a problem lacks a constant."""
    smooth, concave = {
        "privatediff": ("jointly in (x, y) for every record (needed, claims 004:Lem13)", "Assumption 1"),
        "dp_sgda_clipped": ("jointly in (x, y) (needed, claim 003:Lem3)", "Assumption 1"),
        "dp_rgda": ("L-Lipschitz in (x, y) (Assumption 2)", "F is mu-strongly concave in y (Assumption 4)"),
    }[name]
    return {
        f"{smooth}; here {problem.name} is not": math.isinf(problem.smoothness),
        f"{concave}); here {problem.name} is not".replace("))", ")"): problem.empirical_concavity <= 0,
        "only the mean over these records is strongly concave": max(problem.concavity, 0) < problem.empirical_concavity,
    }


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_with_every_number_given_they_run_and_say_what_is_broken(name, kind):
    problem = PROBLEMS[kind]
    assert math.isinf(problem.smoothness)
    for variant in algorithm(name).variants:
        given = GIVEN[name] | PLAIN[name]
        if (name, variant) == ("privatediff", "as_printed"):
            given["sensitivity_y"] = 0.01
        solver = configure(name, problem, **BUDGET, variant=variant, **given)
        run = solver.run(problem, seed=0)
        assert np.isfinite([*run.x, *run.y]).all()
        for sentence, expected in missing(problem, name).items():
            assert any(sentence in note for note in run.notes) == expected
        if variant == "repaired":
            assert certify(run.events, delta=BUDGET["delta"]).epsilon <= BUDGET["epsilon"]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_with_one_of_them_missing_they_are_refused(name, kind):
    for left_out in GIVEN[name]:
        given = {option: value for option, value in GIVEN[name].items() if option != left_out}
        with pytest.raises(InputError, match=f"problem must .*, got {kind}"):
            algorithm(name).configure(PROBLEMS[kind], **BUDGET, **given, **PLAIN[name])
    if name == "privatediff":  # Lemma 9 has no number for them either
        with pytest.raises(InputError, match=f"problem must .*, got {kind}"):
            algorithm(name).configure(
                PROBLEMS[kind], **BUDGET, variant="as_printed", **GIVEN["privatediff"], **PLAIN["privatediff"]
            )


def test_the_modulus_of_the_mean_serves_where_records_have_none():
    """K is of the order of kappa: from the mean's modulus, which a note calls taken as public."""
    bounds = {"bound_a": 4.0, "bound_b": 4.0, "radius": 1.5, "dual_radius": 8.0}
    problem = MatrixSensing.sample(40, 2, np.random.default_rng(0), rank=1, size=1.0, **bounds)
    assert problem.concavity == 0 < problem.empirical_concavity
    solver = algorithm("dp_rgda").configure(problem, **BUDGET, steps=8, S2=5)
    assert math.ceil(problem.smoothness / problem.empirical_concavity) == solver.K
    assert any(f"modulus {problem.empirical_concavity:.4g} is taken as public" in note for note in solver.notes)


def test_a_problem_without_a_lipschitz_hessian_runs_where_the_escape_is_given():
    problem = example("quadratic")
    solver = configure("dp_rgda", problem, **BUDGET, r=0.1, t_thres=3, D_bar=0.01, steps=8)
    assert any(note.endswith("; here the primal function has no Lipschitz Hessian") for note in solver.notes)
    assert np.isfinite(solver.run(problem, seed=0).x).all()


def extremes(problem, kind):
    """Records that pull v as far as any."""
    if kind == "matrix_sensing":  # a measurement of either sign, far off
        return [np.array([0.0, *np.zeros(problem.records.shape[1] - 2), b]) for b in (50.0, -50.0)]
    if kind == "auc_mlp":
        return [problem.records[np.flatnonzero(problem.records[:, -1] == label)[0]] for label in (1, -1)]
    return list(problem.records[:2])


@pytest.mark.parametrize("kind", ["auc_mlp", "matrix_sensing", "td_mlp", "wgan"])
def test_the_released_maximiser_moves_no_further_than_declared(kind):
    """Clipped at C0 = 0.05, a pair of extreme records, all earlier releases the same.

    2 C0/n times the steps where steps move no points apart, and attained in matrix sensing; n times as much else.
    """
    problem = PROBLEMS[kind]
    one, other = extremes(problem, kind)
    problem = with_record(problem, 0, one)
    given = GIVEN["privatediff"] | PLAIN["privatediff"] | {"C0": 0.05}
    solver = algorithm("privatediff").configure(problem, **BUDGET, **given)
    n, way = len(problem.records), 2 * 0.05 * 3 * 0.2
    limited = kind in ("auc_mlp", "matrix_sensing")
    assert solver.sensitivity_y == pytest.approx(way / n if limited else way)
    solver = solver.quiet()
    history = solver.run(problem, seed=0, record=True).history
    replay = solver.replay(with_record(problem, 0, other), history, seed=0)
    ratios = np.linalg.norm(replay.clean - history.clean, axis=1)[::2] / history.noise[::2, 1]
    assert 0 < ratios.max() <= 1 + 1e-9
    if kind == "matrix_sensing":
        assert ratios.max() > 0.99


def test_too_long_a_step_or_too_small_a_threshold_is_refused_where_the_theorem_is_used():
    problem = Cosine.sample(30, 2, RNG)
    C0, limit = problem.lipschitz_v, 1 / problem.smoothness
    assert moved(problem, C0, np.full(3, limit)) == pytest.approx(2 * C0 / (problem.concavity * 30))
    with pytest.raises(InputError, match="eta_y must be at most 1/l"):
        moved(problem, C0, np.full(3, 1.1 * limit))
    with pytest.raises(InputError, match="C0 must be at least G_y"):
        moved(problem, 0.9 * C0, np.full(3, limit))
    with pytest.raises(InputError, match=r"sensitivity_y must be left to the analysis, got 0\.1"):
        algorithm("privatediff").configure(problem, **BUDGET, sensitivity_y=0.1)
