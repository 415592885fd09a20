"""Recorded runs against plain NumPy where the small runs of ``reference`` do not lead, and what a phase depends on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reference import phases
from reference.descent import descent_ascent, dp_rgda, privatediff
from reference.replay import replayed
from reference.small_runs import problem as small_problem

from dpcheck import certify
from dpcheck.algorithms.problem import with_record
from dpcheck.problems import example
from dpcheck.problems.quadratic import Quadratic
from dpcheck.solvers import algorithm, configure

PRIVACY = {"epsilon": 1.0, "delta": 1e-3}


def assert_same(solver, problem, follow, gradient=None, **options):
    """With noise, on several streams, and without, every step is that of the pseudo-code; some records are clipped."""
    for noisy, seed in ((solver, 0), (solver, 1), (solver.quiet(), 0)):
        replay = replayed(noisy.run(problem, seed=seed, record=True), follow, gradient, **options)
        assert replay.differences.first == {}
        assert max(replay.differences.largest.values()) <= 1e-10
        assert min(replay.clipped[True], replay.clipped[False]) > 0


def test_privatediff_follows_the_print_to_the_letter_where_no_domain_binds():
    """The print has X the whole space and does not project the noised maximiser; the kernel does both."""
    problem = Quadratic.sample(30, 3, np.random.default_rng(11), mu_x=0.5, mu_y=2.0, radius=1e4)
    given = {"rounds": 7, "restart": 3, "inner": 4, "batch": 6, "eta_x": 0.02, "C0": 1.0, "C1": 0.05, "C2": 0.5}
    solver = configure("privatediff", problem, **PRIVACY, variant="as_printed", C3=0.002, **given)
    assert np.abs(solver.run(problem, seed=0, record=True).history.path).max() < 1e3
    assert_same(solver, problem, privatediff, to_the_letter=True)


@pytest.mark.parametrize("name", ["auc_mlp", "td_mlp", "wgan"])
@pytest.mark.parametrize("variant", algorithm("dp_sgda_clipped").variants)
def test_dp_sgda_clipped_equals_plain_numpy_on_perceptrons(name, variant):
    """None of them is smooth, or none is strongly concave: the steps are given, and certified as anywhere.

    Gradients are the kernel's, one record at a time; ``test_mlp`` holds it to plain NumPy and to differences.
    """
    problem = example(name)
    given = {"steps": 6, "batch": 5, "eta_w": 0.1, "eta_v": 0.1, "clip_w": 0.8, "clip_v": 0.5}
    solver = configure("dp_sgda_clipped", problem, **PRIVACY, variant=variant, **given)
    if variant == "repaired":
        assert 0 < certify(solver.events(problem), delta=PRIVACY["delta"]).epsilon <= PRIVACY["epsilon"]

    def gradient(record, w, v):
        g_w, g_v = np.empty_like(w), np.empty_like(v)
        problem.gradient(problem.params, record, np.ascontiguousarray(w), np.ascontiguousarray(v), g_w, g_v)
        return g_w, g_v

    assert_same(solver, problem, descent_ascent, gradient)


@pytest.mark.parametrize("variant", algorithm("dp_rgda").variants)
def test_dp_rgda_ends_an_escape_when_plain_numpy_does(variant):
    """Thresholds near eta_H^2 |v|^2, where a step more or less in t - m would decide otherwise; what it returns."""
    problem, perturbed = small_problem("cosine"), set()
    solver = configure(
        "dp_rgda", problem, epsilon=40.0, delta=1e-3, variant=variant, K=2, C_v=1.1, C_u=0.15, period=4, S1=20, S2=7,
        eta=0.2, escapes=3, alpha=1.5, steps=24, t_thres=8, r=0.25 if variant == "as_printed" else None,
    )  # fmt: skip
    for factor in (0.0, 0.08, 0.09, 0.1, 0.11, 0.13, 0.16, 0.2):
        for seed in range(3):
            run = replace(solver, D_bar=(factor * solver.eta_H) ** 2).run(problem, seed=seed, record=True)
            replay = replayed(run, dp_rgda)
            assert replay.differences.first == {}
            times, points = replay.perturbed_at, np.vstack([run.history.path[:, : problem.dim_w], run.x])
            if run.outcome == "certified" or variant == "as_printed":  # the last anchor, or without one the start
                assert run.history.returned == (times[-1] if times else 0)
            np.testing.assert_array_equal(points[run.history.returned], run.x)
            assert any("x is the start" in note for note in run.notes) == (run.history.returned == 0)
            perturbed.add((len(times), run.outcome))
    assert len(perturbed) > 2


@pytest.mark.parametrize("name", ["phased_output_perturbation", "phased_primal", "phased_dual",
                                  "phased_minimax_output_perturbation", "phased_convex_strongly_concave",
                                  "phased_strongly_convex_concave"])  # fmt: skip
def test_a_phase_sees_its_own_records_and_released_points_only(name):
    """Another record in block k moves phase k alone, to the bit, where the releases are the same.

    The base draws nothing: one that samples leaves later phases other random numbers of the same law.
    """
    problem = small_problem({
        "phased_output_perturbation": "linear", "phased_convex_strongly_concave": "product",
        "phased_strongly_convex_concave": "product_mirror",
    }.get(name, "game"))  # fmt: skip
    base = "gradient_descent" if problem.dim_v == 0 else "extragradient"
    solver = configure(name, problem, epsilon=10.0, delta=1e-4, base=base)
    history = solver.run(problem, seed=0, record=True).history
    blocks, _ = phases.split(len(problem.records))
    for k, block in enumerate(blocks):
        neighbour = with_record(problem, block.start, -problem.records[block.start])
        moved = (solver.replay(neighbour, history, seed=0).clean != history.clean).any(axis=1)
        assert set(np.flatnonzero(moved) % len(blocks)) == {k}
