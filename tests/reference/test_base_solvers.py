"""Base solvers against plain NumPy, closed forms and what they certify."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import reference_bases as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_bases import Oracle, Pairs, Ridges

from dpcheck import InputError
from dpcheck.algorithms.problem import data_of
from dpcheck.catalogue.bases import BASES, base_kernel, optimum, require_base, saddle
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.linear import Linear
from dpcheck.problems.quadratic import Quadratic

SADDLES = [name for name, base in BASES.items() if base.setting == "saddle"]
MINIMISERS = [name for name in BASES if name not in SADDLES]
SAMPLING = [name for name in BASES if name not in ("gradient_descent", "gda", "extragradient")]


def ridges(seed=0, n=6, kappa=3.0, radius=np.inf):
    return Ridges.sample(n, kappa, np.random.default_rng(seed), d=3, radius=radius)


def pairs(seed=0, n=6, mu_w=0.3, mu_v=0.6, radius=np.inf):
    return Pairs.sample(n, mu_w, mu_v, np.random.default_rng(seed), d=3, radius=radius)


def game(seed=0, n=6, **constants):
    return Quadratic.sample(
        n, 2, np.random.default_rng(seed), **({"mu_x": 0.5, "mu_y": 0.4, "radius": 0.3} | constants)
    )


PROBLEMS = {
    "ridges": ridges(), "bounded ridges": ridges(radius=0.5), "pairs": pairs(), "bounded pairs": pairs(radius=0.4),
    "unequal pairs": pairs(mu_w=0.15, mu_v=0.9), "quadratic": game(), "unequal quadratic": game(mu_x=2.0, mu_y=0.1),
}  # fmt: skip
CASES = [
    (name, problem, r)
    for problem in PROBLEMS
    for r in ((0.0, 0.0), (0.7, 0.2))
    for name in (BASES if "ridges" in problem else SADDLES)
]


def weighted(problem, z, r=(0.0, 0.0)):
    """mu_w |w|^2 + mu_v |v|^2 with the regularisers' moduli."""
    d = problem.dim_w
    return (problem.convexity + r[0]) * (z[:d] @ z[:d]) + (problem.concavity + r[1]) * (z[d:] @ z[d:])


@pytest.mark.parametrize(("name", "problem", "r"), CASES)
def test_equals_plain_numpy(name, problem, r):
    """Solution to 1e-10, and the very count of gradients, from the proximal form of the same algorithm."""
    problem = PROBLEMS[problem]
    centre = np.linspace(-0.2, 0.3, problem.dim_w + problem.dim_v)
    found = optimum(name, problem, energy=1e-3, regulariser=r, centre=centre, seed=3)
    oracle = Oracle(problem, r, centre, 1e-3)
    start = oracle.clip(np.asarray(problem.start))
    expected = getattr(reference, name)(oracle, start, np.random.default_rng(3))
    assert found.reached
    np.testing.assert_allclose(np.concatenate([found.x, found.y]), expected, rtol=0, atol=1e-10)
    assert found.gradients == oracle.count


@pytest.mark.parametrize("name", BASES)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 12), mu=st.tuples(st.floats(0.1, 2), st.floats(0.1, 2)),
    r=st.tuples(st.floats(0, 2), st.floats(0, 2)), radius=st.sampled_from([0.2, 1.0, np.inf]),
    energy=st.sampled_from([1e-2, 1e-6]),
)  # fmt: skip
def test_the_solution_is_as_near_as_certified(name, seed, n, mu, r, radius, energy):
    """Against closed forms: clipped means, and the saddle of the problem that holds the regularisers."""
    rng = np.random.default_rng(seed)
    if name in MINIMISERS:
        problem = Ridges.sample(n, 1 + 1 / mu[0], rng, d=3, radius=radius)
        centre = rng.normal(size=3)
        h, b = np.split(problem.records.mean(0), 2)
        solution = np.clip((b + r[0] * centre) / (h + r[0]), -radius, radius)
    else:
        problem = Pairs.sample(n, *mu, rng, d=3)
        centre = rng.normal(size=6)
        moved = problem.records - np.concatenate([np.zeros(3), r[0] * centre[:3], r[1] * centre[3:]])
        solution = Pairs(moved, mu[0] + r[0], mu[1] + r[1]).solution()
    found = optimum(name, problem, energy=energy, regulariser=r, centre=centre, seed=seed)
    z = np.concatenate([found.x, found.y])
    assert found.reached and not found.message
    assert weighted(problem, z - solution, r) <= energy * (1 + 1e-9)
    assert np.abs(found.x).max() <= problem.radius * (1 + 1e-12)


@pytest.mark.parametrize("name", SADDLES)
@pytest.mark.parametrize("make", [game, pairs])
def test_saddles_on_the_boundary(name, make):
    """With active constraints, against extragradient in NumPy to 1e-12."""
    problem = make(radius=0.15)
    oracle = Oracle(problem, (0.0, 0.0), np.zeros(problem.dim_w + problem.dim_v), 1e-24)
    solution = reference.extragradient(oracle, np.zeros(problem.dim_w + problem.dim_v), None)
    found = optimum(name, problem, energy=1e-9)
    z = np.concatenate([found.x, found.y])
    assert weighted(problem, z - solution) <= 1e-9
    for part, domain in ((found.x, problem.domain_w), (found.y, problem.domain_v)):
        for start, stop, kind, radius in domain:
            norm = np.linalg.norm(part[int(start) : int(stop)], 2 if kind == 0 else np.inf)
            assert norm <= radius * (1 + 1e-12)
    assert np.isclose(np.abs(solution).max(), 0.15) or np.isclose(np.linalg.norm(solution[: problem.dim_w]), 0.15)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), radius=st.sampled_from([0.1, 0.5, 5.0]),
    mu=st.tuples(st.floats(0.05, 2), st.floats(0.05, 2)), r=st.tuples(st.floats(0, 2), st.floats(0, 2)),
)  # fmt: skip
def test_the_certificate_bounds_the_distance_anywhere(seed, radius, mu, r):
    """At random feasible points. As |z - z+| <= |z - z*| + |z+ - z*| <= (1 + sqrt 2) |z - z*|, it is no idle one."""
    rng = np.random.default_rng(seed)
    problem = Pairs.sample(5, *mu, rng, d=2, radius=radius)
    centre = rng.normal(size=4)
    mean = Pairs(problem.records.mean(0)[None], *mu, radius)  # one record, the same saddle
    oracle = Oracle(mean, r, centre, 1e-16)
    solution = reference.extragradient(oracle, np.zeros(4), None)
    whole = Oracle(problem, r, centre, 0.0).whole
    data = data_of(problem, records=problem.records, start=np.zeros(4))
    constants = np.array([problem.smoothness, mu[0] + r[0], mu[1] + r[1], *r, 0.0, 1e9])
    for _ in range(5):
        z, g = oracle.clip(rng.normal(size=4)), np.empty(4)
        assert saddle.full(problem.gradient, data, np.arange(5), constants, centre, z, g) == 5
        bound = saddle.certificate(data, constants, z, g, np.empty(4))
        distance = weighted(problem, z - solution, r)
        assert distance <= bound * (1 + 1e-6) + 1e-12
        assert bound <= 4 * (1 + np.sqrt(2)) ** 2 * whole**2 * distance * (1 + 1e-6) + 1e-12


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6), scale=st.floats(0.1, 10), own=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    r=st.tuples(st.floats(0.01, 2), st.floats(0.01, 2)),
)  # fmt: skip
def test_the_lipschitz_constants_bound_the_operators(seed, scale, own, r):
    """Random monotone quadratics with moduli ``own``: W and B in the weighted coordinates."""
    rng = np.random.default_rng(seed)
    A, D = (scale * (m @ m.T) for m in rng.normal(size=(2, 2, 2)))
    C = scale * rng.normal(size=(2, 2))
    M = np.block([[A, C], [-C.T, D]]) + np.diag(np.repeat(own, 2))
    mu = np.add(own, r)
    constants = np.array([np.linalg.norm(M, 2), *mu, *r, 1.0, 1.0])
    S = np.diag(np.repeat(mu, 2) ** -0.5)
    W = S @ (M + np.diag(np.repeat(r, 2))) @ S
    assert np.linalg.norm(W, 2) <= saddle.lipschitz(constants, 2, 4) * (1 + 1e-9)
    assert np.linalg.norm(W - np.eye(4), 2) <= saddle.rest_lipschitz(constants, 2, 4) * (1 + 1e-9)
    assert np.linalg.eigvalsh(W + W.T)[0] >= 2 * (1 - 1e-9)


PROGRAM = """
import sys
sys.path[:0] = ["tests", "tests/oracles"]
import numpy as np
from reference_bases import Pairs, Ridges
from dpcheck.catalogue.bases import BASES, base_kernel
from dpcheck.algorithms.problem import data_of
rng = np.random.default_rng(0)
problems = {"minimisation": Ridges.sample(4, 2.0, rng, d=2), "saddle": Pairs.sample(4, 0.3, 0.9, rng, d=2)}
calls = 0
def counting(kernel):
    def gradient(*arguments):
        global calls
        calls += 1
        kernel(*arguments)
    return gradient
for name, base in BASES.items():
    problem = problems[base.setting]
    size = problem.dim_w + problem.dim_v
    data = data_of(problem, records=problem.records, start=np.zeros(size))
    constants = np.array([problem.smoothness, problem.convexity, problem.concavity, 0.0, 0.0, 1e-3, 1e6])
    gradient, z, calls = problem.gradient, np.zeros(size), 0
    if sys.argv[1] == "1":
        gradient = counting(gradient)
    count = base_kernel(name)(gradient, data, np.arange(4), constants, np.zeros(size), np.random.default_rng(1), z)
    print(count, calls if sys.argv[1] == "1" else count, *z)
"""


@pytest.mark.thorough
def test_every_gradient_is_counted_and_the_compiler_changes_nothing():
    """In plain Python a wrapper counts the calls; compiled, the same counts and the same solutions."""
    outputs = []
    for disable in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, disable], env={**os.environ, "NUMBA_DISABLE_JIT": disable},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        outputs.append([np.array(line.split(), float) for line in done.stdout.splitlines()])
    assert len(outputs[0]) == len(BASES)
    for compiled, plain in zip(*outputs, strict=True):
        assert plain[0] == plain[1] == compiled[0] > 0
        np.testing.assert_allclose(compiled[2:], plain[2:], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", BASES)
def test_same_seed_same_bits(name):
    problem = ridges() if name in MINIMISERS else pairs()
    first, second, other = (optimum(name, problem, energy=1e-3, seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal([*first.x, *first.y], [*second.x, *second.y])
    assert first.gradients == second.gradients
    assert np.array_equal(first.x, other.x) == (name not in SAMPLING)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("most", [1, 5, 6, 7, 20, 100])
def test_never_more_gradients_than_allowed(name, most):
    problem = ridges() if name in MINIMISERS else pairs(mu_w=0.1)
    found = optimum(name, problem, energy=1e-13, most=most)
    assert (0 if most < 6 else 6) <= found.gradients <= most
    assert not found.reached
    assert found.message == (
        f"{name} did not certify energy 1e-13 with {most} gradients: raise most, energy or regulariser"
    )


@pytest.mark.parametrize("name", BASES)
def test_a_pass_is_all_it_takes_from_the_solution(name):
    problem = ridges() if name in MINIMISERS else pairs()
    found = optimum(name, problem, energy=1e-20, start=problem.solution())
    assert found.reached and found.gradients == 6


@pytest.mark.parametrize("name", BASES)
def test_linear_losses(name):
    """l = 0: the regulariser is everything, and the solution is the projection of c - mean/r."""
    problem = Linear.sample(9, 3, np.random.default_rng(0))
    found = optimum(name, problem, energy=1e-10, regulariser=2.0, centre=np.full(3, 0.3))
    solution = 0.3 - problem.records.mean(0) / 2
    solution *= min(1.0, problem.domain_w[0, 3] / np.linalg.norm(solution))
    assert 2 * np.sum((found.x - solution) ** 2) <= 1e-10


@pytest.mark.parametrize("name", BASES)
def test_only_the_named_records_count(name):
    problem = ridges(n=9) if name in MINIMISERS else pairs(n=9)
    size, index = problem.dim_w + problem.dim_v, np.array([1, 4, 8])
    data = data_of(problem, records=problem.records, start=np.zeros(size))
    constants = np.array([problem.smoothness, problem.convexity, problem.concavity, 0.0, 0.0, 1e-6, 1e7])
    z = np.zeros(size)
    assert base_kernel(name)(problem.gradient, data, index, constants, z.copy(), np.random.default_rng(0), z) > 0
    part = (type(problem))(problem.records[index], *(
        (problem.mu, problem.l) if name in MINIMISERS else (problem.mu_w, problem.mu_v)
    ))  # fmt: skip
    assert weighted(problem, z - part.solution()) <= 1e-6


def test_stated_costs():
    n, kappa = 100.0, 30.0
    assert BASES["katyusha"].work(n, kappa) == pytest.approx(n + np.sqrt(n * kappa))
    assert BASES["gda"].work(n, kappa, 2.0) == pytest.approx(n * kappa**2)
    assert BASES["jin_sidford_tian"].work(n, 2.0, kappa) == pytest.approx(n + 10 * kappa)
    expected = n + np.sqrt(n * kappa * 5) + n**0.75 * np.sqrt(kappa)
    assert BASES["al_svre"].work(n, kappa, 5.0) == pytest.approx(expected)


WRONG = {
    "base must be one of gda, extragradient, saddle_svrg": {"name": "svrg"},
    "energy must be a finite number > 0, got 0": {"energy": 0},
    "most must be a whole number >= 1, got 0": {"most": 0},
    "seed must be a whole number >= 0, got -1": {"seed": -1},
    "regulariser must be one or two finite numbers >= 0, got -1": {"regulariser": -1.0},
    "regulariser must be one or two finite numbers >= 0, got (1, 2, 3)": {"regulariser": (1, 2, 3)},
    "centre must have shape (6,), w and v in one, got (3,)": {"centre": np.zeros(3)},
    "start must be finite, got [nan": {"start": np.full(6, np.nan)},
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_input_is_named(message):
    arguments = {"name": "gda", "problem": pairs(), "energy": 1e-3} | WRONG[message]
    with pytest.raises(InputError) as caught:
        optimum(arguments.pop("name"), arguments.pop("problem"), **arguments)
    assert str(caught.value).startswith(message)


def test_problems_that_are_not_strongly_convex_concave_are_refused():
    problem = Bilinear.sample(5, 2, np.random.default_rng(0))
    with pytest.raises(InputError, match="regulariser must make bilinear strongly convex in w, got 0"):
        optimum("gda", problem, energy=1e-3)
    with pytest.raises(InputError, match=r"regulariser must make bilinear strongly concave in v, got \(1, 0\)"):
        optimum("gda", problem, energy=1e-3, regulariser=(1, 0))
    assert optimum("gda", problem, energy=1e-3, regulariser=(1, 0.5)).reached
    assert optimum("extragradient", "quadratic", energy=1e-3).reached
    with pytest.raises(InputError, match="base must be one of gradient_descent, svrg"):
        require_base("newton", minimisation=True)
