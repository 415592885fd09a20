"""The nonconvex-strongly-concave problems: closed forms by a second route, constants kept and attained.

Every property is tested on every problem of ``INSTANCES``; the second route to a derivative is a
difference, to a maximum over V an optimiser, to a constant the largest ratio found.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from dpcheck import InputError, solve
from dpcheck.algorithms.kernels.parts import BALL, BOX, project
from dpcheck.algorithms.problem import with_record
from dpcheck.problems import PROBLEMS, example
from dpcheck.problems.auc import AUC
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.matrix_sensing import MatrixSensing
from dpcheck.problems.quartic import Quartic
from dpcheck.problems.tanh_auc import TanhAUC

RNG = np.random.default_rng(7)

INSTANCES = {
    "cosine": Cosine.sample(5, 3, RNG, amplitude=1.3, coupling=0.7, mu_y=0.8, bound=0.9),
    "matrix_sensing": MatrixSensing.sample(
        4, 3, RNG, rows=2, rank=2, size=1.0, bound_a=3.0, bound_b=4.0, radius=1.5, dual_radius=8.0
    ),
    "quartic": Quartic.sample(5, 3, RNG, curvature=1.2, mu_y=0.9),
    "tanh_auc": TanhAUC.sample(6, 2, RNG, positive_share=0.4),
}
EVERY = pytest.mark.parametrize("name", INSTANCES)


def test_a_product_domain_has_the_declared_radii():
    """A ball times a box, and a box alone; at radii other than 1, where one that is left out shows."""
    sensing, tanh = INSTANCES["matrix_sensing"], replace(INSTANCES["tanh_auc"], radius=20.0)
    auc = AUC(np.array([[0.5, 0.1, 1.0], [0.2, 0.3, -1.0]]), np.array([0.5, 0.5, 0.25]), 0.7)
    assert auc.domain_w.tolist() == [[0, 2, BALL, 0.7], [2, 4, BOX, 0.7]]
    assert tanh.domain_w.tolist() == [[0, tanh.dim_w - 2, BALL, 20.0], [tanh.dim_w - 2, tanh.dim_w, BOX, 1.0]]
    assert sensing.domain_v.tolist() == [[0, 4, BOX, 8.0]]


def feasible(problem, data):
    """A point of W x V, often on the boundary, and a few units from the centre where there is none."""
    parts = []
    for size, domain in ((problem.dim_w, problem.domain_w), (problem.dim_v, problem.domain_v)):
        x = data.draw(arrays(np.float64, size, elements=st.floats(-1, 1)))
        for start, stop, kind, radius in domain:
            scale = min(radius, 4.0) * (math.sqrt(stop - start) if kind == BALL else 1.2)
            x[int(start) : int(stop)] *= scale
        project(x, domain)
        parts.append(x)
    return parts


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


def joint_hessian(problem, record, w, v):
    """Hessian of one record's objective, by differences of the gradient."""
    d = problem.dim_w

    def slope(x):
        return np.concatenate(gradient_at(problem, record, x[:d], x[d:]))

    return differences(slope, np.concatenate([w, v]), 1e-5)


def maximum_over_v(problem, w):
    """max of the mean objective over V, by SLSQP from two starts."""
    d, limits, bounds = problem.dim_w, [], [(None, None)] * problem.dim_v
    for start, stop, kind, radius in problem.domain_v:
        block = slice(int(start), int(stop))
        if kind == BOX:
            bounds[block] = [(-radius, radius)] * int(stop - start)
        elif radius < np.inf:
            limits.append({"type": "ineq", "fun": lambda v, b=block, r=radius: r * r - v[b] @ v[b]})
    found = []
    for start in (problem.start[d:], problem.start[d:] + 0.1):
        v = start.copy()
        project(v, problem.domain_v)
        done = minimize(
            lambda v: -mean_value(problem, w, v), v, jac=lambda v: -mean_gradient(problem, w, v)[d:],
            method="SLSQP", bounds=bounds, constraints=limits, options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        found.append(-done.fun)
    return max(found)


@EVERY
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_gradients_are_the_differences_of_the_value(name, data):
    problem = INSTANCES[name]
    w, v = feasible(problem, data)
    record, d = problem.records[0], problem.dim_w

    def f(x):
        return problem.value(problem.params, record, x[:d], x[d:])

    numerical = differences(f, np.concatenate([w, v]), 1e-5)
    np.testing.assert_allclose(np.concatenate(gradient_at(problem, record, w, v)), numerical, rtol=0, atol=2e-8)


@EVERY
def test_the_compiled_kernels_do_what_the_python_does(name):
    problem = INSTANCES[name]
    w, v = RNG.normal(size=problem.dim_w), RNG.normal(size=problem.dim_v)
    for record in problem.records:
        plain = np.empty(problem.dim_w), np.empty(problem.dim_v)
        getattr(problem.gradient, "py_func", problem.gradient)(problem.params, record, w, v, *plain)
        for ours, theirs in zip(gradient_at(problem, record, w, v), plain, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)
        value = getattr(problem.value, "py_func", problem.value)(problem.params, record, w, v)
        assert problem.value(problem.params, record, w, v) == pytest.approx(value, rel=1e-13)


@EVERY
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_the_primal_function_and_its_derivatives(name, data):
    """Phi' and Phi'' are the differences of Phi and Phi'; Phi' is also the gradient in w at y*."""
    problem = INSTANCES[name]
    w, _ = feasible(problem, data)
    slope = problem.primal_gradient(w)
    np.testing.assert_allclose(slope, differences(problem.primal, w, 1e-5), rtol=0, atol=2e-8)
    danskin = mean_gradient(problem, w, problem.best_response(w))[: problem.dim_w]
    np.testing.assert_allclose(slope, danskin, rtol=0, atol=1e-12)
    assert problem.primal(w) == pytest.approx(mean_value(problem, w, problem.best_response(w)), abs=1e-12)
    hessian = problem.primal_hessian(w)
    numerical = differences(problem.primal_gradient, w, 1e-5)
    np.testing.assert_allclose(hessian, numerical, rtol=0, atol=2e-8)
    np.testing.assert_array_equal(hessian, hessian.T)


@EVERY
@settings(deadline=None, max_examples=4)
@given(data=st.data())
def test_the_primal_function_is_the_maximum_over_v(name, data):
    """The best response is in V, no point of V does better, and an optimiser finds no other value."""
    problem = INSTANCES[name]
    w, v = feasible(problem, data)
    best = problem.best_response(w)
    inside = best.copy()
    project(inside, problem.domain_v)
    np.testing.assert_allclose(inside, best, rtol=0, atol=1e-12)
    assert mean_value(problem, w, v) <= problem.primal(w) + 1e-12
    assert problem.primal(w) == pytest.approx(maximum_over_v(problem, w), abs=1e-7)


@EVERY
@settings(deadline=None, max_examples=40)
@given(data=st.data(), row=st.integers(0, 4))
def test_no_point_exceeds_the_constants(name, data, row):
    """Null: the constants hold for every record, at and between all points of W x V."""
    problem = INSTANCES[name]
    record = problem.records[row % len(problem.records)]
    (w, v), (other_w, other_v) = feasible(problem, data), feasible(problem, data)
    if data.draw(st.booleans()):  # a pair close together finds the derivative
        other_w, other_v = w + 0.01 * (other_w - w), v + 0.01 * (other_v - v)
    g_w, g_v = gradient_at(problem, record, w, v)
    h_w, h_v = gradient_at(problem, record, other_w, other_v)
    assert np.linalg.norm(g_w) <= problem.lipschitz_w * (1 + 1e-12)
    assert np.linalg.norm(g_v) <= problem.lipschitz_v * (1 + 1e-12)
    moved = math.hypot(np.linalg.norm(w - other_w), np.linalg.norm(v - other_v))
    assert math.hypot(np.linalg.norm(g_w - h_w), np.linalg.norm(g_v - h_v)) <= problem.smoothness * moved + 1e-12
    same_w = gradient_at(problem, record, w, other_v)[1]
    assert (g_v - same_w) @ (v - other_v) <= -problem.concavity * np.sum((v - other_v) ** 2) + 1e-12
    if problem.hessian_lipschitz < np.inf:
        change = np.linalg.norm(problem.primal_hessian(w) - problem.primal_hessian(other_w), 2)
        assert change <= problem.hessian_lipschitz * np.linalg.norm(w - other_w) + 1e-11


def unit(size, at=0, length=1.0):
    return length * np.eye(size)[at]


# name -> G_w, G_v and L: (record, w, v, share): the constant is attained there up to the share.
def witnesses():
    p = INSTANCES["cosine"]
    steep = np.full(3, math.atan2(-p.amplitude, p.coupling * p.reach))
    yield "cosine", "w", p.records[0], steep, np.full(3, p.reach), 1.0
    yield "cosine", "v", np.full(3, p.bound), np.full(3, np.pi / 2), np.full(3, -p.reach), 1.0
    yield "cosine", "L", p.records[0], np.full(3, 0.906), np.full(3, p.reach), 0.93
    p = INSTANCES["matrix_sensing"]
    w, dual = np.zeros(p.dim_w), unit(4, 0, p.dual_radius)
    w[[0, p.rows * p.rank]] = p.radius / math.sqrt(2)
    measurement = np.array([0, p.bound_a, 0, 0, 0, 0, 0, -p.bound_b])
    yield "matrix_sensing", "w", measurement, w, dual, 1.0
    yield "matrix_sensing", "v", measurement, w, -dual, 1.0
    yield "matrix_sensing", "L", measurement, w, -dual, 1.0
    p = INSTANCES["quartic"]
    edge, dual = unit(3, 0, p.radius), unit(3, 0, p.reach)
    yield "quartic", "w", p.records[0], edge, dual, 1.0
    yield "quartic", "v", unit(3, 0, p.bound), edge, -dual, 1.0
    yield "quartic", "L", p.records[0], edge, dual, 1.0
    p = INSTANCES["tanh_auc"]
    positive, top = np.array([1.0, 0, 1]), np.array([p.reach])
    yield "tanh_auc", "w", positive, np.array([-0.135, 0, 1, 0]), top, 0.94
    yield "tanh_auc", "v", positive, np.array([p.radius, 0, 0, 0]), top, 1.0
    yield "tanh_auc", "L", positive, np.array([0.495, 0, 1, 0]), top, 0.94


@pytest.mark.parametrize(("name", "constant", "record", "w", "v", "share"), list(witnesses()))
def test_the_constants_are_attained(name, constant, record, w, v, share):
    """G_w, G_v and L at a named feasible point; ``share`` is how near the bound comes."""
    problem = INSTANCES[name]
    for x, domain in ((w, problem.domain_w), (v, problem.domain_v)):
        inside = x.copy()
        project(inside, domain)
        np.testing.assert_allclose(inside, x, rtol=1e-12, atol=1e-12)
    if constant == "L":
        found, bound = np.linalg.norm(joint_hessian(problem, record, w, v), 2), problem.smoothness
    else:
        found = np.linalg.norm(gradient_at(problem, record, w, v)["wv".index(constant)])
        bound = getattr(problem, f"lipschitz_{constant}")
    assert share * bound * (1 - 1e-9) <= found <= bound * (1 + 1e-8)


# name -> a point of W, a direction, and how much of rho_Phi the Hessian's change reaches there.
STEEPEST = {
    "cosine": (replace(INSTANCES["cosine"], records=np.full((1, 1), -0.9)), np.array([-2.299]), np.ones(1), 0.98),
    "matrix_sensing": (
        replace(INSTANCES["matrix_sensing"], records=np.array([[i, 3.0, 0, 0, 0, 0, 0, 0] for i in range(4)])),
        1.5 / math.sqrt(2) * (unit(10) + unit(10, 4)), (unit(10) + unit(10, 4)) / math.sqrt(2), 1.0,
    ),
    "quartic": (INSTANCES["quartic"], unit(3, 0, INSTANCES["quartic"].radius), unit(3), 1.0),
    "tanh_auc": (
        replace(INSTANCES["tanh_auc"], records=np.array([[-1.0, 0, 1]])), np.array([0.332, 0, 1, 1]), unit(4), 0.55,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STEEPEST)
def test_the_hessian_lipschitz_constant_is_attained(name):
    problem, w, direction, share = STEEPEST[name]
    step = 1e-4
    ends = [problem.primal_hessian(w + side * step * direction) for side in (-1, 1)]
    found = np.linalg.norm(ends[1] - ends[0], 2) / (2 * step)
    assert share * problem.hessian_lipschitz * (1 - 1e-6) <= found <= problem.hessian_lipschitz * (1 + 1e-6)


SADDLES = ("cosine", "matrix_sensing", "quartic")


@pytest.mark.parametrize("name", SADDLES)
@pytest.mark.parametrize("seed", range(4))
def test_saddles_are_stationary_and_strict(name, seed):
    problem = drawn(name, seed)
    w, least = problem.saddle_point()
    np.testing.assert_allclose(problem.primal_gradient(w), 0, atol=1e-12)
    assert least == pytest.approx(np.linalg.eigvalsh(problem.primal_hessian(w))[0], rel=1e-9)
    assert least < 0


def drawn(name, seed):
    """A problem like the instance, on other data."""
    rng, problem = np.random.default_rng(seed), INSTANCES[name]
    if name == "matrix_sensing":
        return replace(problem, records=problem.records * rng.choice([-1.0, 1.0], (4, 8)) ** (np.arange(8) > 0))
    records = problem.records[rng.integers(0, len(problem.records), 7)] * rng.uniform(0.2, 1, (7, 1))
    return replace(problem, records=records)


@pytest.mark.parametrize("name", ["cosine", "quartic"])
@pytest.mark.parametrize("seed", range(3))
def test_minima_are_minima(name, seed):
    """Stationary, of nonnegative curvature, and the least of them is below what descent from anywhere finds."""
    problem, rng = drawn(name, seed), np.random.default_rng(seed)
    minima = problem.minima()
    for w in minima:
        np.testing.assert_allclose(problem.primal_gradient(w), 0, atol=1e-12)
        assert np.linalg.eigvalsh(problem.primal_hessian(w))[0] >= -1e-12
    least = min(problem.primal(w) for w in minima)
    for _ in range(5):
        found = minimize(problem.primal, rng.normal(size=problem.dim_w), jac=problem.primal_gradient)
        assert problem.primal(found.x) >= least - 1e-9


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
    problem, w = INSTANCES[name], np.full(INSTANCES[name].dim_w, 0.3)
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


def test_two_records_that_name_one_dual_variable():
    """A replaced record may name the variable of another: y* is the mean of both residuals, the other's is 0."""
    problem = INSTANCES["matrix_sensing"]
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
    problem = INSTANCES["tanh_auc"]
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
