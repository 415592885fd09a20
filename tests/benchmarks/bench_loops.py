"""What a step of a declared loop costs under dpcheck and without it, in NumPy and in JAX, in one run.

    pip install '.[test,benchmark]' && pytest -n 0 -s [--keep-tables] tests/benchmarks/bench_loops.py

Processor time of the least of some repeats that take turns, so that others on the machine matter little; what JAX
compiles is compiled before. "jit" compiles the sum of clipped gradients and "eager" nothing; "sampled" is "jit" on
Poisson minibatches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcheck import Algorithm

jax = pytest.importorskip("jax")
SIZES = {"short": (32, 3, 8, 200), "long, of tiny arrays": (32, 3, 200, 10), "of larger arrays": (512, 2000, 8, 10)}
REPEATS = 4


def clipped_sum(xp: Any, w: Any, records: Any) -> Any:
    g = w - records
    return (g * xp.minimum(1, 1 / (xp.linalg.norm(g, axis=1, keepdims=True) + 1e-9))).sum(0)


def step_of(gradient: Callable[[Any, Any], Any], sampled: bool) -> Callable[[Any, Any, Any], Any]:
    def step(w, data, rng):
        records = data[rng.random(len(data)) < 0.25] if sampled else data
        return w - 0.1 * (gradient(w, records) + rng.normal(scale=12.0, size=len(w))) / len(data)

    return step


def numpy_gradient(w: Any, records: Any) -> Any:
    return clipped_sum(np, w, records)


def eager_gradient(w: Any, records: Any) -> Any:
    return clipped_sum(jax.numpy, jax.numpy.asarray(w), jax.numpy.asarray(records))


compiled = jax.jit(eager_gradient)


def jit_gradient(w: Any, records: Any) -> Any:
    return np.asarray(compiled(w, records))


LOOPS = {"jit": (jit_gradient, False), "sampled": (jit_gradient, True), "eager": (eager_gradient, False)}


def bare(given: Algorithm, rng: np.random.Generator) -> None:
    w = given.start.copy()
    for _ in range(given.steps):
        w = given.step(w, given.data, rng)


def test_steps_under_dpcheck_and_without_it(keep) -> None:
    rows = []
    for size, (n, width, steps, runs) in SIZES.items():
        data = np.random.default_rng(0).normal(scale=2, size=(n, width))
        for loop, (gradient, sampled) in LOOPS.items():
            ways = {}
            for library, made in (("NumPy", numpy_gradient), ("JAX", gradient)):
                given = Algorithm(name="loop", epsilon=1.0, data=data, step=step_of(made, sampled),
                                  start=np.zeros(width), steps=steps)  # fmt: skip
                ways[library, "bare"] = lambda rng, given=given: bare(given, rng)
                ways[library, "dpcheck"] = lambda rng, given=given: given.transcript(data, rng)
            seconds = dict.fromkeys(ways, np.inf)
            for _ in range(1 + REPEATS):  # the same draws, so that all is compiled in the first
                for way, run in ways.items():
                    began = time.process_time()
                    for k in range(runs):
                        run(np.random.default_rng([1, k]))
                    seconds[way] = min(seconds[way], time.process_time() - began)
            row = {"loop": size, "JAX": loop}
            row |= {f"{' '.join(way)}, us": 1e6 * least / runs / steps for way, least in seconds.items()}
            row |= {
                f"dpcheck over bare, {lib}": seconds[lib, "dpcheck"] / seconds[lib, "bare"] for lib in ("NumPy", "JAX")
            }
            row |= {
                f"JAX over NumPy, {way}": seconds["JAX", way] / seconds["NumPy", way] for way in ("bare", "dpcheck")
            }
            rows.append(row)
    keep("loops_beside_numpy", pd.DataFrame(rows))
    assert all(row["dpcheck over bare, JAX"] < 1.5 for row in rows)
