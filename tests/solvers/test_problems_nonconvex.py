"""The nonconvex-strongly-concave problems in numbers, beside what ``reference`` holds of all problems."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from reference.instances import instance

from dpcheck import InputError, solve
from dpcheck.algorithms.kernels.parts import Shape, project
from dpcheck.algorithms.problem import with_record
from dpcheck.problems import PROBLEMS, example
from dpcheck.problems.auc import AUC
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.matrix_sensing import MatrixSensing
from dpcheck.problems.quartic import Quartic
from dpcheck.problems.tanh_auc import TanhAUC

RNG = np.random.default_rng(7)

EVERY = pytest.mark.parametrize("name", ["cosine", "matrix_sensing", "quartic", "tanh_auc"])


def test_a_product_domain_has_the_declared_radii():
    """A ball times a box, and a box alone; at radii other than 1, where one that is left out shows."""
    sensing = MatrixSensing.sample(4, 3, RNG, rows=2, rank=2, size=1.0, radius=1.5, dual_radius=8.0)
    tanh = TanhAUC.sample(6, 2, RNG, positive_share=0.4, radius=20.0)
    auc = AUC(np.array([[0.5, 0.1, 1.0], [0.2, 0.3, -1.0]]), np.array([0.5, 0.5, 0.25]), 0.7)
    assert auc.domain_w.tolist() == [[0, 2, Shape.BALL, 0.7], [2, 4, Shape.BOX, 0.7]]
    assert tanh.domain_w.tolist() == [
        [0, tanh.dim_w - 2, Shape.BALL, 20.0],
        [tanh.dim_w - 2, tanh.dim_w, Shape.BOX, 1.0],
    ]
    assert sensing.domain_v.tolist() == [[0, 4, Shape.BOX, 8.0]]


def gradient_at(problem, record, w, v):
    out = np.empty(problem.dim_w), np.empty(problem.dim_v)
    problem.gradient(problem.params, record, w, v, *out)
    return out


def mean_value(problem, w, v):
    return np.mean([problem.value(problem.params, record, w, v) for record in problem.arranged])


def mean_gradient(problem, w, v):
    gradients = [np.concatenate(gradient_at(problem, record, w, v)) for record in problem.arranged]
    return np.mean(gradients, axis=0)


def differences(function, x, step):
    """Central differences of ``function`` along the coordinates, one a row."""
    return np.array([(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))])


def test_data_of_mean_zero_give_the_listed_closed_forms():
    """The formulas of the list, typed out: saddles, curvatures, minima."""
    pairs = np.array([[0.3, -0.2, 0.1], [-0.3, 0.2, -0.1]])
    cosine = Cosine(pairs, amplitude=1.0, coupling=0.5, mu_y=2.0)
    w, least = cosine.saddle_point()
    np.testing.assert_allclose(w, [0, np.pi, np.pi], atol=1e-14)
    np.testing.assert_array_equal(cosine.start[:3], [0, np.pi, np.pi])
    assert least == pytest.approx(-(1 - 0.25 / 2))
    np.testing.assert_allclose(cosine.minima(), [[np.pi] * 3], atol=1e-14)
    quartic = Quartic(pairs, curvature=1.0, coupling=0.5, mu_y=1.0)
    assert quartic.saddle_point()[1] == pytest.approx(-0.75)
    np.testing.assert_allclose(quartic.saddle_point()[0], 0, atol=1e-15)
    np.testing.assert_allclose(quartic.minima(), [[math.sqrt(0.75), 0, 0], [-math.sqrt(0.75), 0, 0]], atol=1e-15)
    x = np.array([0.7, -0.4, 0.2])
    expected = 0.7**4 / 4 - 0.75 / 2 * 0.49 + 0.5 * 1.25 * (0.16 + 0.04)
    assert quartic.primal(x) == pytest.approx(expected)


def test_the_quartic_has_one_minimum_left_where_the_data_tilt_it():
    """At |b zbar_1|/mu = 2 (g/3)^{3/2} the saddle meets a minimum."""
    g = 0.75
    edge = 2 * (g / 3) ** 1.5 / 0.5
    tilted = Quartic(np.array([[edge * 1.1, 0.0]]), bound=2.0)
    assert len(tilted.minima()) == 1
    np.testing.assert_allclose(tilted.primal_gradient(tilted.minima()[0]), 0, atol=1e-12)
    with pytest.raises(InputError, match="records must have a mean that leaves Phi two minima"):
        tilted.saddle_point()
    assert len(Quartic(np.array([[edge * 0.99, 0.0]]), bound=2.0).minima()) == 2


@EVERY
def test_replacing_a_record_moves_the_closed_forms(name):
    """The neighbour's y* and Phi are those of its own data; the original keeps its own."""
    problem = instance(f"{name}, uneven")
    w = np.full(problem.dim_w, 0.3)
    replacement = -problem.records[0]
    if name in ("matrix_sensing", "tanh_auc"):  # signs and numbers mean something
        replacement = next(r for r in problem.records[1:] if not np.array_equal(r, problem.records[0]))
    neighbour = with_record(problem, 0, replacement)
    before, after = problem.best_response(w), neighbour.best_response(w)
    assert not np.allclose(before, after, atol=1e-6)
    assert neighbour.primal(w) == pytest.approx(mean_value(neighbour, w, after), abs=1e-12)
    np.testing.assert_array_equal(problem.best_response(w), before)
    with pytest.raises(InputError, match="records must"):
        with_record(problem, 0, np.full(len(replacement), 1e6 + 0.5))


def test_matrix_sensing_has_the_sizes_of_the_paper():
    """Xu et al. 2026, Section 5; near the truth Phi is half the variance of the measurements' noise."""
    problem = example("matrix_sensing")
    assert (problem.rows, problem.columns, problem.rank, problem.dim_v) == (20, 20, 3, 400)
    assert problem.dim_w == 120
    assert problem.start[:120].std() == pytest.approx(0.1, rel=0.2)
    assert not problem.start[120:].any()
    assert problem.records[:, -1].std() == pytest.approx(1, rel=0.15)
    assert problem.empirical_concavity == 1 / 400
    assert problem.lipschitz_w == problem.lipschitz_v == problem.smoothness == problem.hessian_lipschitz == math.inf
    w, least = problem.saddle_point()
    assert least == pytest.approx(np.linalg.eigvalsh(problem.primal_hessian(w))[0])
    rng, exact = np.random.default_rng(1), np.random.default_rng(1)
    small = MatrixSensing.sample(50, 4, rng, rank=1, noise=0.01)
    left, right = exact.standard_normal((4, 1)), exact.standard_normal((1, 4))
    scale = math.sqrt(4 / np.linalg.norm(left @ right))
    truth = scale * np.concatenate([left.ravel(), right.ravel()])
    assert small.primal(truth) == pytest.approx(0.5 * 0.01**2, rel=0.5)


def test_the_hessian_of_matrix_sensing_moves_as_fast_as_declared_and_no_faster():
    """The search of ``reference`` does not see it: a single record's dual variable is one of several."""
    unequal = instance("matrix_sensing, uneven")
    problem = replace(unequal, records=np.array([[i, 3.0, 0, 0, 0, 0, 0, 0] for i in range(4)]))
    direction = np.zeros(10)
    direction[[0, 4]] = 1 / math.sqrt(2)

    def speed(problem, w, u, step=1e-4):
        ends = [problem.primal_hessian(w + side * step * u) for side in (-1, 1)]
        return np.linalg.norm(ends[1] - ends[0], 2) / (2 * step * np.linalg.norm(u))

    assert speed(problem, 1.5 * direction, direction) == pytest.approx(problem.hessian_lipschitz, rel=1e-6)
    for w, u in np.random.default_rng(0).normal(size=(100, 2, 10)):
        project(w, unequal.domain_w)
        assert speed(unequal, w, u) <= unequal.hessian_lipschitz


def test_two_records_that_name_one_dual_variable():
    """A replaced record may name the variable of another: y* is the mean of both residuals, the other's is 0."""
    problem = instance("matrix_sensing, uneven")
    neighbour, w = with_record(problem, 0, problem.records[2]), RNG.normal(size=problem.dim_w)
    y = neighbour.best_response(w)
    assert y[0] == 0.0
    np.testing.assert_allclose(y[1:], problem.best_response(w)[1:])
    np.testing.assert_allclose(mean_gradient(neighbour, w, y)[problem.dim_w :], 0, atol=1e-12)
    slope = differences(neighbour.primal, w, 1e-5)
    np.testing.assert_allclose(neighbour.primal_gradient(w), slope, atol=2e-8)
    numerical = differences(neighbour.primal_gradient, w, 1e-5)
    np.testing.assert_allclose(neighbour.primal_hessian(w), numerical, atol=2e-8)


def test_the_saturating_score_is_the_linear_one_of_its_scores():
    """With theta = 1 on the one feature h = tanh <theta, x>, AUC has the same value and slope in v."""
    problem = instance("tanh_auc, uneven")
    w, v = np.array([0.7, -0.4, 0.2, -0.1]), np.array([0.3])
    scores = np.tanh(problem.records[:, :-1] @ w[:2])
    linear = AUC(np.column_stack([scores, problem.records[:, -1]]), problem.params)
    same = np.array([1.0, 0.2, -0.1])
    assert mean_value(linear, same, v) == pytest.approx(mean_value(problem, w, v))
    assert mean_gradient(linear, same, v)[-1] == pytest.approx(mean_gradient(problem, w, v)[-1])
    share = np.full((5, 1), 0.1)  # all of one class: v* at its largest
    for label in (-1.0, 1.0):
        extreme = TanhAUC(np.column_stack([10 * share, label + 0 * share]), 0.4, radius=20.0)
        assert abs(extreme.best_response(np.array([20.0, 0, 0]))[0]) <= extreme.reach * (1 + 1e-12)


@EVERY
def test_the_registered_example_runs(name):
    """The example is an instance of the registered class, and DP-SGDA runs on it."""
    problem = example(name)
    assert type(problem).__name__ == PROBLEMS[name]
    assert problem.name == name
    start = problem.start.copy()
    project(start[problem.dim_w :], problem.domain_v)
    np.testing.assert_allclose(start, problem.start, atol=1e-12)
    if np.isfinite([problem.lipschitz_w, problem.lipschitz_v, problem.smoothness]).all():
        run = solve("dp_sgda", problem, epsilon=1.0, delta=1e-5, steps=3)
        for x, domain in ((run.x, problem.domain_w), (run.y, problem.domain_v)):
            inside = x.copy()
            project(inside, domain)
            np.testing.assert_allclose(inside, x, rtol=0, atol=1e-12)


def test_wrong_constants_are_refused():
    one = np.zeros((2, 1))
    with pytest.raises(InputError, match=r"amplitude must be > coupling\^2/mu_y = 4, got 1"):
        Cosine(one, coupling=2.0)
    with pytest.raises(InputError, match=r"room must be finite and >= 1, got 0\.5"):
        Quartic(one, room=0.5)
    with pytest.raises(InputError, match=r"records must have \|z\| <= 0.5, got 2"):
        Quartic(np.full((2, 1), 2.0))
    with pytest.raises(InputError, match="radius must be at least the minimum's norm"):
        Quartic(np.array([[0.5, 0.0]]), radius=0.5).minima()
    with pytest.raises(InputError, match="records must begin with a number from 0 to 0"):
        MatrixSensing(np.array([[1.0, 1, 1]]), np.zeros(2), rows=1, rank=1)
