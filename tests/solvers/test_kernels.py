"""Shared kernel parts: draws, clipping, projection, and where compiled code is kept."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from threading import Barrier

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, chisquare
from slices import first

from dpcheck.algorithms.kernels import gradients, jit
from dpcheck.algorithms.kernels.parts import Draw, Shape, clip_factor, project
from dpcheck.algorithms.kernels.tape import draw
from dpcheck.algorithms.problem import data_of, with_record
from dpcheck.problems import linear_scores as linear
from dpcheck.problems.auc import AUC

VECTORS = arrays(np.float64, 6, elements=st.floats(-1e6, 1e6))
DOMAIN = np.array([[0.0, 3.0, Shape.BALL, 2.0], [3.0, 6.0, Shape.BOX, 0.5]])


def draws(scheme, n, batch, times, seed=0):
    rng, deck, out = np.random.default_rng(seed), np.arange(n), np.empty(max(n, batch), np.int64)
    found = []
    for _ in range(times):
        count = draw(scheme, n, batch, deck, rng, out)
        found.append(tuple(out[:count].tolist()))
    return found


@pytest.mark.parametrize("scheme", first(1, [Draw.WITH_REPLACEMENT, Draw.WITHOUT_REPLACEMENT, Draw.POISSON]))
def test_every_minibatch_has_its_probability(scheme):
    """Null: the scheme's exact law over all minibatches of 4 records. Level 1e-4, fixed seed."""
    n, batch, times = 4, 2, 40_000
    if scheme == Draw.WITH_REPLACEMENT:
        law = {(i, j): 1 / 16 for i in range(4) for j in range(4)}
    elif scheme == Draw.WITHOUT_REPLACEMENT:
        law = {(i, j): 1 / 12 for i in range(4) for j in range(4) if i != j}
    else:
        law = {b: 0.5**4 for size in range(5) for b in combinations(range(4), size)}
    found = draws(scheme, n, batch, times)
    counts = [found.count(b) for b in law]
    assert sum(counts) == times  # nothing outside the law
    assert chisquare(counts, [times * p for p in law.values()]).pvalue > 1e-4


def test_rare_poisson_draws_have_binomial_sizes():
    """Null: sizes are Binomial(1000, 0.003). Level 1e-4, fixed seed."""
    sizes = np.array([len(b) for b in draws(Draw.POISSON, 1000, 3, 20_000)])
    expected = binom.pmf(np.arange(9), 1000, 0.003)
    observed = np.bincount(np.minimum(sizes, 9), minlength=10)
    law = np.append(expected, 1 - expected.sum())
    assert chisquare(observed, 20_000 * law).pvalue > 1e-4


def test_the_whole_data_is_a_minibatch():
    assert draws(Draw.POISSON, 5, 5, 1) == [(0, 1, 2, 3, 4)]
    assert sorted(draws(Draw.WITHOUT_REPLACEMENT, 5, 5, 1)[0]) == [0, 1, 2, 3, 4]


@settings(deadline=None)
@given(VECTORS, VECTORS)
def test_projection_is_feasible_idempotent_and_nonexpansive(x, y):
    p, q = x.copy(), y.copy()
    project(p, DOMAIN)
    project(q, DOMAIN)
    assert np.linalg.norm(p[:3]) <= 2.0 * (1 + 1e-12)
    assert np.abs(p[3:]).max() <= 0.5
    again = p.copy()
    project(again, DOMAIN)
    np.testing.assert_allclose(again, p, rtol=1e-14)
    assert np.linalg.norm(p - q) <= np.linalg.norm(x - y) * (1 + 1e-9) + 1e-9


@settings(deadline=None)
@given(VECTORS, st.floats(1e-3, 1e3))
def test_clipping_brings_inside_and_keeps_what_is_inside(x, bound):
    factor = clip_factor(x, bound)
    norm = np.linalg.norm(x)
    assert factor * norm <= bound * (1 + 1e-12)
    assert factor == 1.0 or norm > bound * (1 - 1e-12)
    assert clip_factor(x, np.inf) == 1.0


PROGRAM = """
import numba
import numpy as np
from dpcheck.algorithms.kernels import gradients, parts
from dpcheck.catalogue.yang2022 import sgda
from dpcheck.problems.bilinear import Bilinear
from dpcheck.algorithms.problem import data_of
p = Bilinear.sample(3, 1, np.random.default_rng(0))
data = data_of(p)
gradients.mean(p.gradient, data, np.arange(3), 3, p.start, np.ones(2), np.empty(2))
kernels = [parts.clip_factor, gradients.add_clipped, p.gradient, gradients.mean, sgda.sgda, gradients.difference]
print([sum(k.stats.cache_hits.values()) for k in kernels], [len(k.signatures) for k in kernels])
"""


def test_kernels_compile_when_called_once_and_are_kept_on_disk(tmp_path):
    """A second process loads the kernels that a call needs from the cache folder; neither compiles the others.

    Of kernels that another one calls only the caller is loaded.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    seen = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert seen[0] == "[0, 0, 0, 0, 0, 0] [1, 1, 1, 1, 0, 0]\n"
    assert seen[1] == "[0, 0, 1, 1, 0, 0] [0, 0, 1, 1, 0, 0]\n"


@pytest.mark.parametrize("first", [np.ones(4, np.float32), np.ones(8)[::2], "ones"])
def test_a_first_call_with_wrong_types_is_refused(first):
    """It compiles the declared signature and no other."""
    total = jit.kernel("float64(vector)")(lambda x: x[0] + x[1])
    with pytest.raises(TypeError, match="No matching definition"):
        total(first)
    assert total(np.ones(4)) == 2.0
    assert total.signatures == [(numba.float64[::1],)]


@settings(deadline=None)
@given(arrays(np.float64, 6, elements=st.floats(-1e3, 1e3)), st.floats(1e-2, 1e2))
def test_the_simplex_projection_is_the_nearest_point(x, total):
    """p is the projection where <x - p, q - p> <= 0 for every vertex q; the other block is left alone."""
    domain = np.array([[0.0, 4.0, Shape.SIMPLEX, total], [4.0, 6.0, Shape.BALL, np.inf]])
    p = x.copy()
    project(p, domain)
    np.testing.assert_array_equal(p[4:], x[4:])
    p, x = p[:4], x[:4]
    assert p.min() >= 0
    assert p.sum() == pytest.approx(total, rel=1e-12)
    scale = 1e-12 * (1 + np.abs(x).max()) * (1 + total)
    for vertex in total * np.eye(4):
        assert (x - p) @ (vertex - p) <= scale
    again = p.copy()
    project(again, domain[:1])
    np.testing.assert_allclose(again, p, rtol=0, atol=1e-14 * total)


def test_the_simplex_projection_of_huge_and_of_equal_entries():
    for x, expected in (
        ([1e300, 0.0], [1.0, 0.0]),
        ([7.0, 7.0], [0.5, 0.5]),
        ([-3.0], [1.0]),
        ([1e17, 1e17], [0.5, 0.5]),
    ):
        p = np.array(x)
        project(p, np.array([[0.0, len(x), Shape.SIMPLEX, 1.0]]))
        np.testing.assert_array_equal(p, expected)


@pytest.mark.parametrize("clip", [np.inf, 0.4])
@pytest.mark.parametrize("d", [1, 3, 4, 22, 24, 25, 131])
def test_linear_scores_in_batches_are_the_records_one_by_one(d, clip):
    """Minibatches of 0 to 300 records, drawn or in order: none, parts of a chunk, several chunks."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, d))
    X /= 1.001 * np.linalg.norm(X, axis=1, keepdims=True)
    problem = AUC.from_data(X, np.where(rng.random(200) < 0.3, 1.0, -1.0), positive_share=0.3)
    data = data_of(problem)
    x, bounds = rng.standard_normal(d + 3), np.array([clip, clip])
    found, expected, free = np.full((3, d + 3), 7.0)
    for size in [*range(36), 127, 128, 129, 299, 300]:
        index = rng.integers(0, 200, size) if size % 3 else np.arange(size) % 200
        problem.mean(problem.gradient, data, index, 50, x, bounds, found)
        gradients.mean(problem.gradient, data, index, 50, x, bounds, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    for rows in (problem.records.copy(), problem.arranged[:, : d + 2].copy()):  # not arranged
        problem.mean(problem.gradient, data._replace(records=rows), index, 50, x, bounds, found)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    with np.errstate(invalid="ignore"):  # without the compiler it warns
        problem.mean(problem.gradient, data, index, 50, np.append(x[:-1], np.inf), bounds, found)
    assert np.isnan(found[-1])  # a run that diverges shows it
    gradients.mean(problem.gradient, data, index, 50, x, np.full(2, np.inf), free)
    assert (clip == np.inf) == np.array_equal(free, expected)  # the clipping was put to the test
    x[:-1] = 0
    data = data_of(with_record(problem, 0, np.append(np.zeros(d), 1.0)))  # a gradient of zero
    for method, out in ((problem.mean, found), (gradients.mean, expected)):
        method(problem.gradient, data, np.zeros(4, dtype=np.int64), 50, x, bounds, out)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert not found[:-1].any()


@pytest.mark.parametrize("d", [1, 22, 131])
def test_an_ascent_with_kept_linear_scores_is_the_one_with_whole_gradients(d):
    """Records of one chunk and of several, arranged and not, clipped and not; and a run that diverges shows it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, d))
    X /= 1.001 * np.linalg.norm(X, axis=1, keepdims=True)
    problem = AUC.from_data(X, np.where(rng.random(200) < 0.3, 1.0, -1.0), positive_share=0.3)
    data, x, steps = data_of(problem), rng.standard_normal(d + 3), np.array([0.5, 0.25, 2.0])
    for size in (1, 4, 31, 128, 300):
        index = rng.integers(0, 200, size)
        for C0 in (np.inf, 0.2):
            for rows in (data.records, problem.records.copy()):
                ends = x.copy(), x.copy()
                for ascent, end in zip((problem.ascent, gradients.ascent), ends, strict=True):
                    of = data._replace(records=rows)
                    ascent(problem.gradient, problem.mean, of, index, steps, np.array([np.inf, C0]), end, x.copy())
                np.testing.assert_allclose(*ends, rtol=1e-12, atol=1e-13)
                assert ends[0][-1] != x[-1]
    x[0] = np.nan
    problem.ascent(problem.gradient, problem.mean, data, index, steps, np.array([np.inf, 0.2]), x, x.copy())
    assert np.isnan(x[-1])


@pytest.mark.parametrize("batch", [2, 3])
def test_what_is_left_of_a_deck_is_drawn_from(batch):
    deck, out, rng, seen = np.array([9, 4, 7]), np.empty(3, np.int64), np.random.default_rng(0), set()
    for _ in range(200):
        assert draw(Draw.WITHOUT_REPLACEMENT, 3, batch, deck, rng, out) == batch
        seen.add(frozenset(out[:batch].tolist()))
    assert seen == {frozenset(chosen) for chosen in combinations((4, 7, 9), batch)}


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 40))
def test_rows_begin_with_a_line_of_the_cache_and_hold_the_norms(n, columns):
    records = np.random.default_rng(0).normal(size=(n, columns))
    rows = linear.arranged(records)
    assert rows.flags.c_contiguous
    assert rows.ctypes.data % 64 == 0
    assert rows.strides[0] % 64 == 0
    assert rows.strides[0] // 64 % 2 == 1
    np.testing.assert_array_equal(rows[:, :columns], records)
    np.testing.assert_allclose(rows[:, columns], (records[:, :-1] ** 2).sum(1), rtol=1e-14)
    assert not rows[:, columns + 1 :].any()


def test_norms_beside_the_records_cannot_grow_old():
    """Records of linear scores are read-only, copies included; neither the user's array nor a neighbour shares them."""
    given = np.array([[0.6, 0.0, 1.0], [0.0, 0.8, -1.0]])
    problem = AUC(given, np.array([0.5, 0.5, 0.25]))
    given[0, 0] = 9.0
    for made in (problem, copy.deepcopy(problem), pickle.loads(pickle.dumps(problem)), replace(problem, radius=2.0)):
        assert not made.records.flags.writeable
        np.testing.assert_array_equal(made.records, [[0.6, 0.0, 1.0], [0.0, 0.8, -1.0]])
        assert np.shares_memory(made.records, made.arranged)
    neighbour = with_record(problem, 0, np.array([0.0, 0.5, -1.0]))
    np.testing.assert_array_equal(neighbour.arranged[0, :4], [0.0, 0.5, -1.0, 0.25])
    assert problem.arranged[0, 3] == 0.36


def test_threads_may_make_the_first_call_together():
    together = Barrier(4)

    @jit.kernel("float64(vector)")
    def total(x):
        found = 0.0
        for value in x:
            found += value
        return found

    def call(_):
        together.wait()
        return total(np.ones(4))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, range(4))) == [4.0] * 4
    assert len(total.signatures) == 1
