"""The convex problems, their mirror image and the Polyak-Lojasiewicz one: gradients, constants, closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from dpcheck import InputError
from dpcheck.algorithms.problem import ball
from dpcheck.problems.ill_conditioned import IllConditioned
from dpcheck.problems.linear import Linear
from dpcheck.problems.mean_estimation import MeanEstimation
from dpcheck.problems.polyak import Polyak
from dpcheck.problems.product import Product
from dpcheck.problems.product_mirror import ProductMirror

RNG = np.random.default_rng(8)
PROBLEMS = {
    "mean_estimation": MeanEstimation.sample(12, 3, RNG, mu=0.7, bound=0.8, radius=1.5),
    "ill_conditioned": IllConditioned.sample(12, 3, RNG, mu=0.05, smoothness=2.0, bound=0.5, radius=0.9),
    "linear": Linear.sample(12, 3, RNG, radius=1.3),
    "product": Product.sample(12, 3, RNG, mu=1.2, radius=0.8),
    "product_mirror": ProductMirror(Product.sample(12, 3, RNG).records, mu=1.2, radius=0.8),
    "polyak": Polyak.sample(12, RNG, rho=0.6, bound=0.7, radius=2.0),
}


def point(problem, rng, share=None):
    """A feasible (w, v), on the spheres where ``share`` is 1."""
    parts = []
    for size, domain in ((problem.dim_w, problem.domain_w), (problem.dim_v, problem.domain_v)):
        u = rng.normal(size=size)
        if size:
            u *= domain[0, 3] / np.linalg.norm(u) * (rng.random() if share is None else share)
        parts.append(u)
    return parts


def gradients(problem, record, w, v):
    out_w, out_v = np.empty(problem.dim_w), np.empty(problem.dim_v)
    problem.gradient(problem.params, record, w, v, out_w, out_v)
    return out_w, out_v


def objective(problem, w, v):
    return float(np.mean([problem.value(problem.params, record, w, v) for record in problem.records]))


SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("name", PROBLEMS)
@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_gradients_are_the_differences_of_the_value(name, seed):
    problem, rng = PROBLEMS[name], np.random.default_rng(seed)
    record = problem.records[rng.integers(len(problem.records))]
    w, v = point(problem, rng)
    g = np.concatenate(gradients(problem, record, w, v))
    x, step = np.concatenate([w, v]), 1e-6
    for i in range(x.size):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        d = problem.dim_w
        slope = problem.value(problem.params, record, up[:d], up[d:])
        slope -= problem.value(problem.params, record, down[:d], down[d:])
        assert g[i] == pytest.approx(slope / (2 * step), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", PROBLEMS)
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_no_point_exceeds_the_constants(name, seed):
    problem, rng = PROBLEMS[name], np.random.default_rng(seed)
    record = problem.records[rng.integers(len(problem.records))]
    first, second = point(problem, rng, rng.choice([1.0, rng.random()])), point(problem, rng)
    (g_w, g_v), (h_w, h_v) = gradients(problem, record, *first), gradients(problem, record, *second)
    assert np.linalg.norm(g_w) <= problem.lipschitz_w * (1 + 1e-12)
    assert np.linalg.norm(g_v) <= problem.lipschitz_v * (1 + 1e-12)
    apart = np.concatenate([first[0] - second[0], first[1] - second[1]])
    moved = np.concatenate([g_w - h_w, g_v - h_v])
    assert np.linalg.norm(moved) <= problem.smoothness * np.linalg.norm(apart) * (1 + 1e-9) + 1e-12
    along_w, along_v = first[0] - second[0], first[1] - second[1]
    g_w, _ = gradients(problem, record, first[0], second[1])
    if name != "polyak":  # which is not convex
        assert (g_w - h_w) @ along_w >= problem.convexity * (along_w @ along_w) - 1e-12
    _, g_v = gradients(problem, record, second[0], first[1])
    assert (g_v - h_v) @ along_v <= -problem.concavity * (along_v @ along_v) + 1e-12


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "polyak"])  # whose w is free
def test_domains_are_balls_of_the_declared_radius(name):
    """At radii other than 1, where a number that is left out, or another field's, shows."""
    problem = PROBLEMS[name]
    for size, domain in ((problem.dim_w, problem.domain_w), (problem.dim_v, problem.domain_v)):
        np.testing.assert_array_equal(domain, ball(size, problem.radius) if size else np.empty((0, 4)))
        assert size == 0 or domain[0, 3] == problem.radius != 1


@pytest.mark.parametrize("name", PROBLEMS)
def test_primal_functions_and_their_derivatives(name):
    problem = PROBLEMS[name]
    for seed in range(5):
        w, _ = point(problem, np.random.default_rng(seed))
        largest = objective(problem, w, np.empty(0)) if problem.dim_v == 0 else largest_over_v(problem, w)
        assert problem.primal(w) == pytest.approx(largest, rel=1e-7, abs=1e-9)
        if name == "product_mirror":  # |w| has no derivative at 0, and no closed form is offered
            continue
        step = 1e-5
        for i in range(problem.dim_w):
            e = step * np.eye(problem.dim_w)[i]
            slope = (problem.primal(w + e) - problem.primal(w - e)) / (2 * step)
            assert problem.primal_gradient(w)[i] == pytest.approx(slope, rel=1e-6, abs=1e-8)
            if name != "linear":
                bend = (problem.primal_gradient(w + e) - problem.primal_gradient(w - e)) / (2 * step)
                np.testing.assert_allclose(problem.primal_hessian(w)[i], bend, rtol=1e-6, atol=1e-7)


def largest_over_v(problem, w):
    radius = problem.domain_v[0, 3]
    if problem.dim_v == 1:
        found = minimize_scalar(lambda v: -objective(problem, w, np.array([v])), bounds=(-radius, radius))
        return max(-found.fun, *(objective(problem, w, np.array([v])) for v in (-radius, radius)))
    inside = {"type": "ineq", "fun": lambda v: radius**2 - v @ v}
    starts = np.random.default_rng(0).normal(size=(4, problem.dim_v)) * 0.3
    return max(-minimize(lambda v: -objective(problem, w, v), s, constraints=inside, tol=1e-13).fun for s in starts)


def test_best_responses():
    for name in ("product", "polyak"):
        problem = PROBLEMS[name]
        w, _ = point(problem, np.random.default_rng(1))
        y = problem.best_response(w)
        assert objective(problem, w, y) == pytest.approx(problem.primal(w), rel=1e-12)


@pytest.mark.parametrize("name", ["mean_estimation", "ill_conditioned", "linear"])
def test_the_gap_is_the_excess_over_the_constrained_minimum(name):
    problem = PROBLEMS[name]
    radius = problem.domain_w[0, 3]
    inside = {"type": "ineq", "fun": lambda w: radius**2 - w @ w}
    least = minimize(problem.primal, 0.1 * radius * np.ones(problem.dim_w), constraints=inside, tol=1e-12).fun
    w, _ = point(problem, np.random.default_rng(2))
    assert problem.gap(w, np.empty(0)) == pytest.approx(problem.primal(w) - least, abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS)
def test_the_polyak_lojasiewicz_inequality(seed):
    """|d/dw F|^2 >= 2 mu (F - min over w) for every v, the minimum over the whole line."""
    problem, rng = PROBLEMS["polyak"], np.random.default_rng(seed)
    w, v = point(problem, rng)
    slope = np.mean([gradients(problem, record, w, v)[0][0] for record in problem.records])
    z = problem.records.mean()
    least = -0.5 * v[0] ** 2 - 0.5 * problem.rho * v[0] ** 2 + 0.5 * problem.records.var()
    assert slope**2 >= 2 * problem.pl * (objective(problem, w, v) - least) - 1e-12
    # which (phi(w) - z + v)^2/2 + least is
    phi = 0.75 * w[0] + 0.25 * np.sqrt(1 + w[0] ** 2)
    assert objective(problem, w, v) == pytest.approx(0.5 * (phi - z + v[0]) ** 2 + least, abs=1e-12)


def test_the_hessian_of_the_polyak_primal_is_lipschitz():
    problem = PROBLEMS["polyak"]
    w = np.linspace(-problem.radius, problem.radius, 4001)
    bend = np.array([problem.primal_hessian(np.array([x]))[0, 0] for x in w])
    assert np.abs(np.diff(bend) / np.diff(w)).max() <= problem.hessian_lipschitz


def test_constants_that_are_attained():
    linear = PROBLEMS["linear"]
    assert np.linalg.norm(gradients(linear, np.array([1.0, 0, 0]), np.zeros(3), np.empty(0))[0]) == linear.lipschitz_w
    steep = PROBLEMS["ill_conditioned"]
    g, _ = gradients(steep, np.array([-0.5, 0, 0]), np.array([0.9, 0, 0]), np.empty(0))
    assert np.linalg.norm(g) == pytest.approx(steep.lipschitz_w)
    mirror = PROBLEMS["product_mirror"]
    g, _ = gradients(mirror, np.array([1.0, 0, 0]), np.array([0.8]), np.array([-0.8, 0, 0]))
    assert abs(g[0]) == pytest.approx(mirror.lipschitz_w)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: IllConditioned(np.zeros((2, 2)), mu=2.0), "smoothness must be finite and >= mu = 2.0"),
        (lambda: Polyak(np.ones((2, 2))), "records must have 1 columns"),
        (lambda: Product(np.zeros((2, 2)), mu=0.5), "mu must be at least 1"),
        (lambda: MeanEstimation(np.zeros((2, 2)), bound=2.0), "radius must be at least the records' bound"),
        (lambda: Linear(np.ones((2, 2))), r"records must have \|z\| <= 1"),
        (lambda: Polyak(np.full((2, 1), 2.0)), r"records must have \|z\| <= 1.0"),
    ],
)
def test_wrong_constants_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
