"""The clipped mean gradient of linear AUC against what one core can do, and the cost of a trial, in one run.

    pip install '.[test,benchmark]' && pytest -n 0 tests/benchmarks/bench_kernels.py

A record of d features takes 4 d operations (a multiplication and an addition a feature for its score and for its share
of the sum; its norm is computed once in a run) and 8 (d + 1) bytes. The limit for the time of a record is the larger
of its operations at the core's speed on multiply-adds in registers, and its bytes at the speed of memory, which is
measured in four ways. "memory": adding up an array that no cache holds. "scattered": a minibatch is drawn at random,
and nothing can read scattered rows as fast as that, so this reads the same rows in the same order, one number of every
cache line or all of them, whichever is quicker. "cache": adding up the whole array of rows again and again, faster
than memory where a cache holds it. "clipped": as scattered, and the operations have with them the square root and the
division that clip a gradient, as fast as in a loop of nothing else, and the fifteen operations that make it of the
products; a processor may do some of them at the time of others, and this is the limit of one that does not. A line
"step" is of a whole step of DP-SGDA: sampling, noise and projection too. Every timing is the least of several rounds,
in which all take turns.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import time
import tracemalloc

import numpy as np
import pytest
from numba import njit

from dpcheck.algorithms.problem import data_of
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.problems.auc import AUC
from dpcheck.problems.bilinear import Bilinear

ROUNDS, CLIP = 9, 0.5
SIZES = {22: (49_990, 500_000), 123: (32_561,), 784: (20_000,)}  # ijcnn1 and ten times as much, Adult, part of MNIST
CASES = [(d, n, batch) for d, sizes in SIZES.items() for n in sizes for batch in (64, 2048, n)]
REORDERED = {"reassoc", "contract", "nsz", "arcp"}


@pytest.fixture(autouse=True, scope="module")
def one_core():
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else None
    if cores:
        os.sched_setaffinity(0, {max(cores)})
    yield
    if cores:
        os.sched_setaffinity(0, cores)


@njit(fastmath=REORDERED)
def multiply_add(x, a, b, rounds):
    """8 operations of two flops each on every number, which stays in a register meanwhile.

    Longer chains leave too few of them within the processor's reach at a time.
    """
    for _ in range(rounds):
        for i in range(x.size):
            z = x[i]
            for _ in range(8):
                z = z * a + b
            x[i] = z


@njit(fastmath=REORDERED, error_model="numpy")
def clip_factors(squares, out, rounds):
    """A square root and a division a number."""
    for _ in range(rounds):
        for i in range(squares.size):
            out[i] = CLIP / np.sqrt(squares[i])


@njit(fastmath=REORDERED)
def total(x, passes):
    """All numbers, again and again; each pass leaves out one more, so that none can be left out altogether."""
    s = 0.0
    for first in range(passes):
        rest = x[first:]
        for i in range(rest.size):
            s += rest[i]
    return s


@njit(fastmath=REORDERED)
def lines(rows, columns, batches):
    """One number of every cache line of the columns of the rows of every batch."""
    s = 0.0
    for batch in batches:
        for j in batch:
            for i in range(0, columns, 8):
                s += rows[j, i]
    return s


@njit(fastmath=REORDERED)
def numbers(rows, columns, batches):
    """All columns of the rows of every batch."""
    s = 0.0
    for batch in batches:
        for j in batch:
            for i in range(columns):
                s += rows[j, i]
    return s


@njit
def means(mean, gradient, data, batches, x, clip, out):
    for k in range(batches.shape[0]):
        mean(gradient, data, batches[k], batches.shape[1], x, clip, out)


def least(*functions, rounds=ROUNDS):
    """Least seconds of the processor of each, called in turns; the first turn compiles and does not count.

    Each is called twice in a turn, and the second time counts: what fits into a cache is there by then.
    """
    seconds = np.empty((rounds + 1, len(functions)))
    for row in seconds:
        for k, function in enumerate(functions):
            function()
            begin = time.process_time()  # waiting for a core that others use is left out
            function()
            row[k] = time.process_time() - begin
    return seconds[1:].min(0)


def auc(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X /= 1.0001 * np.linalg.norm(X, axis=1, keepdims=True)
    return AUC.from_data(X, np.where(rng.random(n) < 0.3, 1.0, -1.0), positive_share=0.3)


@pytest.fixture(scope="module")
def memory():
    """Numbers a second of an array that no cache holds."""
    x = np.ones(2**25)
    return x.size / least(lambda: total(x, 1), rounds=5)[0]


@pytest.mark.parametrize(("d", "n", "batch"), CASES)
def test_share_of_the_limit(capsys, memory, d, n, batch):
    problem, rng = auc(n, d), np.random.default_rng(1)
    rows = problem.arranged
    count = max(1, 2**24 // (d * batch))
    batches = np.array([np.arange(n) if batch == n else rng.integers(0, n, batch) for _ in range(count)])
    data = data_of(problem, records=rows)
    x, out, clip = 0.1 * rng.standard_normal(d + 3), np.empty(d + 3), np.full(2, CLIP)
    eta = np.full(count, 0.01)
    scheme = "with_replacement" if batch < n else "without_replacement"
    solver = DPSGDA(eta, eta, 0.01, 0.01, batch, scheme, CLIP, CLIP)
    small, factors = np.full(512, 0.5), np.empty(512)
    passes = max(1, 2**24 // rows.size)
    arithmetic, clipping, stream, by_line, by_row, kernel, arranging, run = least(
        lambda: multiply_add(small, 0.5, 0.5, 400),
        lambda: clip_factors(np.ones(512), factors, 400),
        lambda: total(rows.ravel(), passes),
        lambda: lines(rows, d + 1, batches),
        lambda: numbers(rows, d + 1, batches),
        lambda: means(problem.mean, problem.gradient, data, batches, x, clip, out),
        lambda: problem.arranged,
        lambda: solver.outputs(problem, np.random.default_rng(0), 1),
    )
    peak, bandwidth = 512 * 8 * 2 * 400 / arithmetic, passes * rows.nbytes / stream
    scattered = min(by_line, by_row)
    flops, moved = 4 * d * batches.size, 8 * (d + 1) * batches.size
    clipped = (flops + 15 * batches.size) / peak + clipping / (512 * 400) * batches.size
    limits = {
        "memory": max(flops / peak, moved / 8 / memory),
        "scattered": max(flops / peak, scattered),
        "cache": max(flops / peak, moved / bandwidth),
        "clipped": max(clipped, scattered),
    }
    with capsys.disabled():
        print(
            f"\nd {d:>3}  n {n:>6}  batch {batch:>6}  core {peak / 1e9:.1f} Gflop/s; GB/s: memory {8e-9 * memory:.1f}, "
            f"scattered {moved / scattered / 1e9:.1f}, cache {bandwidth / 1e9:.1f}"
        )
        for name, seconds in (("kernel", kernel), ("step", run - arranging)):
            shares = ", ".join(f"{limit / seconds:.2f} {kind}" for kind, limit in limits.items())
            print(f"  {name:<6} {flops / seconds / 1e9:5.1f} Gflop/s {moved / seconds / 1e9:5.1f} GB/s  share {shares}")
        print(f"  records arranged once a run, in the time of {arranging / kernel * batches.size / n:.1f} passes")
    assert kernel > flops / peak  # a kernel beyond the arithmetic limit would be timed wrongly


def test_cost_and_memory_of_a_trial_are_flat(capsys):
    """Seconds and peak bytes a trial of ``Solver.outputs``, from 1e3 to 1e6 trials, over those at 1e3."""
    game, eta = Bilinear.sample(100, 2, np.random.default_rng(0)), np.full(20, 0.1)
    solver = DPSGDA(eta, eta, 1.0, 1.0, 5)
    seconds, peaks = [], []
    sizes = [10**k for k in range(3, 7)]
    for trials in sizes:
        run = lambda trials=trials: solver.outputs(game, np.random.default_rng(0), trials)  # noqa: E731
        seconds.append(least(run, rounds=max(3, 30_000 // trials))[0] / trials)
        tracemalloc.start()
        run()
        peaks.append(tracemalloc.get_traced_memory()[1] / trials)
        tracemalloc.stop()
    with capsys.disabled():
        print()
        for trials, second, peak in zip(sizes, seconds, peaks, strict=True):
            print(f"trials {trials:>9,}  {second / seconds[0]:.2f} of the time and {peak:6.1f} bytes a trial")
    assert max(peaks) < 2 * 8 * 4 + 100  # the outputs are 4 numbers a trial
