"""Perceptron problems: clipped means without per-record gradients, against one record at a time and plain NumPy."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.derivatives import departures, project
from scipy.optimize import minimize

from dpcheck import InputError
from dpcheck.algorithms.kernels import gradients
from dpcheck.algorithms.kernels.jit import Place, kernel
from dpcheck.algorithms.problem import data_of, with_record
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.catalogue.yang2022.nseg import NSEG
from dpcheck.problems import mlp
from dpcheck.problems.auc import AUC
from dpcheck.problems.auc_mlp import AUCMLP
from dpcheck.problems.mlp import Network
from dpcheck.problems.td_mlp import TDMLP
from dpcheck.problems.wgan import WGAN


def labelled(n, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, k))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    return X, np.where(rng.random(n) < 0.4, 1.0, -1.0)


def auc(hidden, slope=0.1, n=40):
    return AUCMLP.from_data(*labelled(n, 6), positive_share=0.4, hidden=hidden, slope=slope, radius=2.5)


@cache
def problems():
    rng = np.random.default_rng(1)
    images = rng.random((30, 5))
    return {
        "auc": auc((8,)),
        "auc, linear": auc(()),
        "auc, two layers": auc((7, 5)),
        "auc, as printed": AUCMLP.from_data(*labelled(40, 6), hidden=(4, 3, 2), slope=1.0, radius=1.5),
        "td": TDMLP.example(rng),
        "td, wide": TDMLP.chain(60, rng, hidden=50, gamma=0.5, radius=4.0),
        "wgan": WGAN.from_images(images, latent=2, generator=(5,), discriminator=(4, 3), penalty=0.3, radius=3.0),
        "wgan, no penalty": WGAN.from_images(
            images, latent=3, generator=(4, 6), discriminator=(3,), penalty=0.0, radius=3.0
        ),
    }


NAMES = list(problems())


def one_gradient(problem, record, x):
    g, d = np.empty(x.size), problem.dim_w
    problem.gradient(problem.params, np.array(record), x[:d], x[d:], g[:d], g[d:])
    return g


def value_at(problem, record, x):
    return problem.value(problem.params, np.array(record), x[: problem.dim_w], x[problem.dim_w :])


def medians(rows, d):
    """Clipping norms that cut about half of the rows, in w and in v."""
    bounds = np.array([np.median(np.linalg.norm(part, axis=1)) for part in (rows[:, :d], rows[:, d:])])
    for part, bound in zip((rows[:, :d], rows[:, d:]), bounds, strict=True):
        cut = np.linalg.norm(part, axis=1) > bound
        assert 0 < cut.sum() < len(rows)
    return bounds


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), m=st.sampled_from([2, 9, 33]))
def test_mean_is_that_of_materialised_gradients(name, seed, m):
    problem, rng = problems()[name], np.random.default_rng(seed)
    x = problem.start + rng.normal(size=problem.start.size)
    index = rng.integers(0, len(problem.records), m)
    index[:2] = [0, 1]  # two different records at least
    bounds = medians(np.array([one_gradient(problem, problem.records[i], x) for i in index]), problem.dim_w)
    for clips in (bounds, np.full(2, math.inf), 1e-3 * bounds):
        found, expected = np.full(x.size, np.nan), np.full(x.size, np.nan)
        problem.mean(problem.gradient, data_of(problem), index, m + 3, x, clips, found)
        gradients.mean(problem.gradient, data_of(problem), index, m + 3, x, clips, expected)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), m=st.sampled_from([2, 9, 33]), apart=st.sampled_from([1.0, 1e-3, 1e-6]))
def test_difference_is_that_of_materialised_gradients(name, seed, m, apart):
    """The same records at two points; and records some of which differ."""
    problem, rng = problems()[name], np.random.default_rng(seed)
    old_x = problem.start + rng.normal(size=problem.start.size)
    x = old_x + apart * rng.normal(size=old_x.size)
    index = rng.integers(0, len(problem.records), m)
    index[:2] = [0, 1]
    other = np.where(np.arange(m) % 3, index, rng.integers(0, len(problem.records), m))
    rows = [
        one_gradient(problem, problem.records[i], x) - one_gradient(problem, problem.records[i], old_x) for i in index
    ]
    bounds = medians(np.array(rows), problem.dim_w)
    for old_index in (index, other):
        for clips in (bounds, np.full(2, math.inf)):
            found, expected = np.full(x.size, np.nan), np.full(x.size, np.nan)
            arguments = (problem.gradient, data_of(problem), Place(index, x), Place(old_index, old_x), m, clips)
            problem.difference(*arguments, found)
            gradients.difference(*arguments, expected)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("auc")])
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), m=st.sampled_from([1, 2, 33, mlp.CHUNK + 70]))
def test_an_ascent_with_kept_scores_is_the_one_with_whole_gradients(name, seed, m):
    """To rounding, where some records are clipped, none is, and where the projection ends every step."""
    problem, rng = problems()[name], np.random.default_rng(seed)
    x = problem.start + rng.normal(size=problem.start.size)
    index = rng.integers(0, len(problem.records), m)
    norms = [abs(one_gradient(problem, problem.records[i], x)[-1]) for i in index]
    for C0 in (np.median(norms), math.inf):
        for steps in (rng.uniform(0, 2, 4), np.full(3, 1e6), np.empty(0)):
            ends = (
                climbed(problem, problem.ascent, index, steps, C0, x),
                climbed(problem, gradients.ascent, index, steps, C0, x),
            )
            np.testing.assert_allclose(*ends, rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(ends[0][:-1], x[:-1])
            if steps.size and steps[0] == 1e6:
                assert abs(ends[0][-1]) == pytest.approx(problem.reach, rel=1e-12)


def climbed(problem, ascent, index, steps, C0, x):
    point, clip = x.copy(), np.array([math.inf, C0])
    ascent(problem.gradient, problem.mean, data_of(problem), index, steps, clip, point, np.empty(x.size))
    return point


@kernel("ascent")
def stale(gradient, mean, data, index, steps, clip, point, g):  # type: ignore[no-untyped-def]
    """Climb by scores of the start, as a cache that nobody renewed would have them."""
    at = data.start.copy()
    at[-1] = point[-1]
    gradients.ascent(gradient, mean, data, index, steps, clip, at, g)
    point[-1] = at[-1]


@pytest.mark.parametrize("made", [lambda: replace(problems()["auc"]), lambda: AUC.example(np.random.default_rng(0))])
def test_scores_of_an_old_w_are_caught(made):
    """By what ``dpcheck check`` holds the problems' kernels to, and by the comparison with whole gradients."""
    problem, rng = made(), np.random.default_rng(0)
    good = max(by for _, by in departures(problem, np.random.default_rng(0)))
    assert good < 1e-6
    object.__setattr__(problem, "ascent", stale)
    told = [sentence for sentence, by in departures(problem, np.random.default_rng(0)) if by > 1e-3]
    assert told and all("two steps up in v" in sentence for sentence in told)
    x, index = problem.start + rng.normal(size=problem.start.size), np.arange(40)
    ends = [climbed(problem, each, index, np.full(3, 0.1), math.inf, x)[-1] for each in (stale, gradients.ascent)]
    assert abs(ends[0] - ends[1]) > 1e-3


@pytest.mark.parametrize("name", ["auc, two layers", "td", "wgan"])
def test_more_records_than_a_chunk_and_none(name):
    problem = problems()[name]
    x, clips = problem.start + 0.5 * np.random.default_rng(5).normal(size=problem.start.size), np.array([0.5, 0.3])
    index = np.random.default_rng(5).integers(0, len(problem.records), mlp.CHUNK + 70)
    found, expected = np.empty(x.size), np.empty(x.size)
    problem.mean(problem.gradient, data_of(problem), index, index.size, x, clips, found)
    gradients.mean(problem.gradient, data_of(problem), index, index.size, x, clips, expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    new, old = Place(index, x), Place(index[::-1].copy(), problem.start)
    arguments = (problem.gradient, data_of(problem), new, old, 600, clips)
    problem.difference(*arguments, found)
    gradients.difference(*arguments, expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    none = np.empty(0, np.int64)
    problem.mean(problem.gradient, data_of(problem), none, 5, x, clips, found)
    assert not found.any()
    problem.difference(problem.gradient, data_of(problem), Place(none, x), Place(none, x), 5, clips, expected)
    assert not expected.any()


@pytest.mark.parametrize("hidden", [(), (8,), (16, 5)])
@pytest.mark.parametrize("clip", [math.inf, 0.3, 1e-3])
def test_single_precision_is_double_rounded_and_stays_within_the_clipping_norm(hidden, clip):
    """Minibatches of none, one, a chunk and one more; alone, no record's gradient is longer than the norm."""
    X, y = labelled(513, 30)
    double = AUCMLP.from_data(X, y, positive_share=0.4, hidden=hidden)
    single = replace(double, dtype="float32")
    x = double.start + 0.3 * np.random.default_rng(1).standard_normal(double.start.size)
    bounds, expected, found = np.full(2, clip), *np.full((2, x.size), 7.0)
    for count in (0, 1, 512, 513):
        for problem, out in ((double, expected), (single, found)):
            problem.mean(problem.gradient, data_of(problem), np.arange(count), max(count, 1), x, bounds, out)
        assert np.linalg.norm(found - expected) <= 3e-5 * np.linalg.norm(expected)
        assert count == 0 or not np.array_equal(found, expected)
    longest = 0.0
    for record in range(60):
        single.mean(single.gradient, data_of(single), np.array([record]), 1, x, bounds, found)
        longest = max(longest, np.linalg.norm(found[:-1]))
        assert abs(found[-1]) <= clip
    assert longest <= clip
    assert clip != 1e-3 or longest >= (1 - 3e-5) * clip  # all are clipped there


def test_norms_of_differences_keep_their_digits_where_the_gram_identity_loses_them():
    """Points 1e-9 apart, against extended precision: the textbook identity has no digit left there."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=9), rng.normal(size=5)
    c, d = a + 1e-9 * rng.normal(size=9), b + 1e-9 * rng.normal(size=5)
    wide = [x.astype(np.longdouble) for x in (a, b, c, d)]
    exact = float(((np.outer(wide[0], wide[1]) - np.outer(wide[2], wide[3])) ** 2).sum())
    found = np.zeros(1)
    mlp.add_difference_squares(np.array([a, c]), np.array([b, d]), 1, found)
    assert found[0] == pytest.approx(exact, rel=1e-6)
    gram = (a @ a) * (b @ b) + (c @ c) * (d @ d) - 2 * (a @ c) * (b @ d)
    assert abs(gram - exact) > 0.1 * exact


def test_values_are_the_papers_formulas():
    problem = problems()["auc, two layers"]
    x = problem.start + 0.3 * np.random.default_rng(5).normal(size=problem.start.size)
    w, (a, b, v), p = x[:-1], x[-3:], 0.4
    X, y = problem.records[:, :-1], problem.records[:, -1]
    h = problem.scores(w, X)
    expected = np.where(y > 0, (1 - p) * (h - a) ** 2, p * (h - b) ** 2)
    expected += 2 * (1 + v) * h * np.where(y > 0, -(1 - p), p) - p * (1 - p) * v**2
    np.testing.assert_allclose([value_at(problem, record, x) for record in problem.records], expected, rtol=1e-12)

    problem = problems()["td"]
    x = problem.start + 0.3 * np.random.default_rng(5).normal(size=problem.start.size)
    psi, delta = problem.features(x[: problem.dim_w])
    u = psi @ x[problem.dim_w :]
    expected = delta * u - u**2 / 2
    np.testing.assert_allclose([value_at(problem, record, x) for record in problem.records], expected, atol=1e-12)

    problem = problems()["wgan"]
    x = problem.start + 0.3 * np.random.default_rng(5).normal(size=problem.start.size)
    w, v = x[: problem.dim_w], x[problem.dim_w :]
    mean = np.mean([value_at(problem, record, x) for record in problem.records])
    assert mean == pytest.approx(problem.estimate(w, v) - 0.3 * v @ v, rel=1e-12)


def test_without_hidden_layers_it_is_the_linear_problem_with_a_bias():
    X, y = labelled(20, 3)
    narrow = AUCMLP.from_data(X, y, positive_share=0.3, hidden=())
    wide = AUC.from_data(np.column_stack([X, np.ones(20)]) / 2, y, positive_share=0.3)
    x = np.random.default_rng(5).normal(size=7)
    scaled = x * np.array([2, 2, 2, 2, 1, 1, 1])
    for i in range(20):
        expected = value_at(wide, wide.records[i], scaled)
        assert value_at(narrow, narrow.records[i], x) == pytest.approx(expected, rel=1e-12)


def project_all(problem, x):
    d = problem.dim_w
    return np.concatenate([project(x[:d], problem.domain_w), project(x[d:], problem.domain_v)])


def test_bounds_of_one_layer_are_attained():
    network = Network((2, 1), 0.5)
    theta = np.array([2.0, 0.0, 2.0]) * 3 / math.sqrt(8)  # along (x, 1) for x = (1, 0)
    outputs, slopes, _ = network.bounds(1.0, 3.0)
    assert network.outputs(theta, np.array([[1.0, 0.0]]))[0, 0] == pytest.approx(outputs)
    assert slopes == pytest.approx(math.sqrt(2))


def test_without_a_radius_there_is_no_bound():
    for problem in (
        AUCMLP.from_data(*labelled(9, 2), hidden=(3,)),
        TDMLP.chain(9, np.random.default_rng(5)),
        WGAN.from_images([[0.5]]),
    ):
        assert problem.lipschitz_w == problem.lipschitz_v == problem.smoothness == math.inf


@pytest.mark.parametrize("name", NAMES)
def test_the_start_is_feasible_public_and_not_the_saddle_at_zero(name):
    problem = problems()[name]
    np.testing.assert_array_equal(problem.start, with_record(problem, 0, problem.records[1]).start)
    np.testing.assert_allclose(project_all(problem, problem.start), problem.start, rtol=1e-15)
    g = np.mean([one_gradient(problem, record, problem.start) for record in problem.records], axis=0)
    assert np.count_nonzero(g) > problem.dim_w / 2


@pytest.mark.parametrize("algorithm", [DPSGDA, NSEG])
def test_the_step_has_no_default_without_smoothness(algorithm):
    with pytest.raises(InputError, match=r"eta must be given .* auc_mlp has no such L"):
        algorithm.configure(problems()["auc"], epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_best_response_and_projected_bellman_error(seed):
    """Least squares against maximisation over omega, and Eq. (67) with G = R'R/n from a QR factorisation.

    Forming G squares the condition number, which is up to 1e7 here: its pseudo-inverse would be too coarse.
    """
    problem = TDMLP.chain(300, np.random.default_rng(0), hidden=2, gamma=0.9)
    w = problem.start[: problem.dim_w] + 0.5 * np.random.default_rng(seed).normal(size=problem.dim_w)
    psi, delta = problem.features(w)

    def F(omega):
        u = psi @ omega
        return np.mean(delta * u - u**2 / 2)

    assert F(problem.best_response(w)) == pytest.approx(problem.primal(w), rel=1e-9)
    assert -minimize(lambda o: -F(o), np.zeros(problem.dim_v)).fun <= problem.primal(w) + 1e-12
    R = np.linalg.qr(psi)[1]
    half = np.linalg.solve(R.T, psi.T @ delta)
    assert 0.5 * half @ half / 300 == pytest.approx(problem.primal(w), rel=1e-6)


def test_the_chain_is_as_described():
    records = TDMLP.chain(20_000, np.random.default_rng(0)).records
    s, s_next, reward, going = records[:, :2], records[:, 2:4], records[:, 4], records[:, 5]
    position = np.rint(9 * np.arctan2(s[:, 1], s[:, 0]) / np.pi).astype(int)
    after = np.rint(9 * np.arctan2(s_next[:, 1], s_next[:, 0]) / np.pi).astype(int)
    np.testing.assert_array_equal(position[1:], np.where(after[:-1] < 9, after[:-1], 0))
    np.testing.assert_array_equal(reward, after == 9)
    np.testing.assert_array_equal(going, 1 - reward)
    ups = (after > position).mean()  # five standard errors about 0.7
    assert abs(ups - 0.7) < 5 * math.sqrt(0.21 / 20_000)


def test_transitions_of_gymnasium():
    pytest.importorskip("gymnasium")
    problem = TDMLP.from_gymnasium("CartPole-v1", 80, seed=3, scale=3.0)
    np.testing.assert_array_equal(problem.records, TDMLP.from_gymnasium("CartPole-v1", 80, seed=3, scale=3.0).records)
    k = 4
    going = problem.records[:-1, -1] == 1
    np.testing.assert_array_equal(problem.records[:-1, k : 2 * k][going], problem.records[1:, :k][going])
    assert problem.dim_w == 5 * 50 + 51
    assert 0 < going.mean() < 1


def test_gymnasium_is_asked_for_only_where_it_is_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(InputError, match="gymnasium, which is not installed"):
        TDMLP.from_gymnasium("CartPole-v1", 10)
    assert len(TDMLP.example(np.random.default_rng(0)).records) == 200


def test_sizes_of_the_papers_networks():
    X = np.zeros((2, 784))
    assert AUCMLP.from_data(X, [1, -1]).dim_w == 784 * 256 + 256 + 256 + 1 + 2
    assert AUCMLP.from_data(X, [1, -1], hidden=(256, 128)).dim_w == 785 * 256 + 257 * 128 + 129 + 2
    gan = WGAN.from_images(X)
    assert gan.dim_w == 101 * 128 + 129 * 256 + 257 * 512 + 513 * 1024 + 1025 * 784
    assert gan.dim_v == 785 * 512 + 513 * 256 + 257


def test_images_come_back():
    X = np.random.default_rng(5).random((30, 4))
    problem = WGAN.from_images(X, latent=3, generator=(2,), discriminator=(2,), seed=4)
    np.testing.assert_allclose((problem.records[:, :4] + 1) / 2, X, atol=1e-15)
    assert np.linalg.norm(problem.records[:, 4:], axis=1).max() <= 2 * math.sqrt(3) * (1 + 1e-12)


PROGRAM = """
import numpy as np
from test_mlp import problems
from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.jit import Place
from dpcheck.algorithms.problem import data_of
for name in ("auc, two layers", "td", "wgan"):
    problem, rng = problems()[name], np.random.default_rng(2)
    x = problem.start + 0.3 * rng.normal(size=problem.start.size)
    index, out, clips = rng.integers(0, 30, 9), np.empty(x.size), np.array([0.5, 0.3])
    problem.mean(problem.gradient, data_of(problem), index, 9, x, clips, out)
    print(*out)
    problem.difference(problem.gradient, data_of(problem), Place(index, x), Place(index, problem.start), 9, clips, out)
    print(*out)
    d = problem.dim_w
    problem.gradient(problem.params, problem.records[0], x[:d], x[d:], out[:d], out[d:])
    print(*out, problem.value(problem.params, problem.records[0], x[:d], x[d:]))
"""


@pytest.mark.thorough
def test_without_the_compiler_the_kernels_do_the_same():
    outputs = []
    for disable in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "NUMBA_DISABLE_JIT": disable, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        outputs.append(np.array(done.stdout.split(), float))
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-10, atol=1e-12)


BAD = {
    "hidden must be a whole number >= 1, got 0": lambda: auc((0,)),
    "slope must lie in (0, 1], got 0": lambda: auc((3,), slope=0),
    "radius must be > 0, got -1": lambda: AUCMLP.from_data(*labelled(9, 2), radius=-1),
    "dtype must be one of float64, float32, got float16": lambda: AUCMLP.from_data(*labelled(9, 2), dtype="float16"),
    "gamma must lie in [0, 1), got 1": lambda: TDMLP.chain(5, np.random.default_rng(5), gamma=1),
    "records must have 2k + 2 columns, k >= 1, got 5": lambda: TDMLP(np.zeros((3, 5))),
    "records must have states of norm <= 1, got a state of norm 2": lambda: TDMLP(np.array([[2.0, 0, 0, 1]])),
    "records must have rewards of at most 1.0 in size, got 3.0": lambda: TDMLP(np.array([[0.0, 0, 3, 1]])),
    "ended must have one row a state (2), got 1": lambda: TDMLP.from_transitions([[0], [1]], [[0], [1]], [0, 0], [0]),
    "latent must be less than the columns of records, 3, got 3": lambda: WGAN(np.zeros((2, 3)), latent=3),
    "records must have pixels in [-1, 1], got 2.0": lambda: WGAN(np.array([[2.0, 0.0]]), latent=1),
    "penalty must be finite and >= 0, got -1": lambda: WGAN.from_images([[0.5]], penalty=-1),
    "X must have pixels in [0, 1], got [[255.]]": lambda: WGAN.from_images([[255.0]]),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_named(message):
    with pytest.raises(InputError) as caught:
        BAD[message]()
    assert str(caught.value) == message
