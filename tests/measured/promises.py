"""Two promises of an audit, by simulation: what it says that it would have found, and how rarely it accuses.

    python tests/measured/promises.py strength|alarms|steps [--audits 100] [--csv FILE]

``strength``: of mechanisms that meet their claim, the audit says at which epsilon it would have found the same one with
its noise cut; that one is audited again and again. ``alarms``: the clean mechanisms of tests/audits. ``steps``: a
clean training step, as it is, rounded to six decimals and to a grid.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq

import dpcheck
from dpcheck.audits import membership
from dpcheck.audits.step_parts import TrainingStep

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "audits")]
TRIALS = 2_000


def gaussian(shift: float, delta: float) -> float:
    """Epsilon of N(0, 1) against N(shift, 1)."""
    return brentq(
        lambda e: stats.norm.cdf(shift / 2 - e / shift) - math.exp(e) * stats.norm.cdf(-shift / 2 - e / shift) - delta,
        0, 600,
    )  # fmt: skip


def choosing(utilities: Any) -> Callable[[Any, Any, int, float], Any]:
    """The exponential mechanism on utilities by bit."""

    def draw(v: int, rng: Any, n: int, s: float) -> Any:
        p = np.exp(np.array(utilities[v]) / (2 * s))
        return rng.choice(len(p), size=n, p=p / p.sum())

    return draw


def chosen(utilities: Any) -> Callable[[float], float]:
    def epsilon(s: float) -> float:
        p, q = (np.exp(np.array(u) / (2 * s)) for u in utilities)
        return float(np.abs(np.log(p / p.sum() / (q / q.sum()))).max())

    return epsilon


def told(v: Any, rng: Any, n: int, s: float, kinds: int = 2) -> Any:
    """Randomised response of so many kinds, at epsilon 1 / s."""
    keep = math.exp(1 / s) / (math.exp(1 / s) + kinds - 1)
    other = (v + rng.integers(1, kinds, size=n)) % kinds
    return np.where(rng.random(n) < keep, v, other)


def vector(v: float, k: int, moved: int, noise: Any) -> Any:
    return noise + v * (np.arange(k) < moved)


def once(s: float) -> float:
    return 1 / s


ONE, TWO = ([0, 1, 2, 1, 0], [1, 0, 1, 2, 1]), ([0, 0, 3], [1, 0, 2])
# name -> (draw(bit, rng, runs, cut), epsilon(cut), delta); a cut of 1 is the clean mechanism
FAMILIES: dict[str, tuple[Any, Callable[[float], float], float]] = {
    "laplace": (lambda v, rng, n, s: v + s * rng.laplace(size=n), once, 0),
    "laplace, epsilon 0.3": (lambda v, rng, n, s: 0.3 * v + s * rng.laplace(size=n), lambda s: 0.3 / s, 0),
    "laplace, epsilon 2": (lambda v, rng, n, s: 2 * v + s * rng.laplace(size=n), lambda s: 2 / s, 0),
    "laplace, clipped": (lambda v, rng, n, s: np.clip(v + s * rng.laplace(size=n), -0.5, 1.5), once, 0),
    "laplace, rounded to 0.1": (lambda v, rng, n, s: np.round(v + s * rng.laplace(size=n), 1), once, 0),
    "laplace, 1 of 6 numbers": (lambda v, rng, n, s: vector(v, 6, 1, s * rng.laplace(size=(n, 6))), once, 0),
    "laplace, 2 of 6 numbers": (lambda v, rng, n, s: vector(v / 2, 6, 2, s * rng.laplace(size=(n, 6))), once, 0),
    "laplace, 20 numbers": (lambda v, rng, n, s: vector(v / 20, 20, 20, s * rng.laplace(size=(n, 20))), once, 0),
    "geometric": (lambda v, rng, n, s: v + np.subtract(*rng.geometric(-math.expm1(-1 / s), (2, n))), once, 0),
    "randomised response": (told, once, 0),
    "of 5 kinds": (lambda v, rng, n, s: told(v, rng, n, s, 5), once, 0),
    "exponential mechanism": (choosing(ONE), chosen(ONE), 0),
    "exponential, 3 choices": (choosing(TWO), chosen(TWO), 0),
    "cauchy": (lambda v, rng, n, s: v + s * rng.standard_cauchy(n), lambda s: 2 * math.asinh(0.5 / s), 0),
    "logistic": (lambda v, rng, n, s: v + s * rng.logistic(size=n), once, 0),
    "gaussian": (lambda v, rng, n, s: v + 2 * s * rng.normal(size=n), lambda s: gaussian(0.5 / s, 1e-5), 1e-5),
    "gaussian, delta 0.01": (lambda v, rng, n, s: v + s * rng.normal(size=n), lambda s: gaussian(1 / s, 1e-2), 1e-2),
    "gaussian, 10 numbers": (
        lambda v, rng, n, s: vector(v / 10**0.5, 10, 10, s * rng.normal(size=(n, 10))), lambda s: gaussian(1 / s, 1e-3),
        1e-3,
    ),
    "gaussian, threshold": (
        lambda v, rng, n, s: np.maximum(0, v + 1.5 * s * rng.normal(size=n)), lambda s: gaussian(1 / (1.5 * s), 1e-3),
        1e-3,
    ),
    "gaussian, scaled": (
        lambda v, rng, n, s: 1e6 * (v + s * rng.normal(size=n)), lambda s: gaussian(1 / s, 1e-3), 1e-3,
    ),
}  # fmt: skip


def audited(draw: Any, epsilon: float, delta: float, seed: int, cut: float) -> Any:
    return dpcheck.audit_privacy(
        lambda v, rng, size: draw(v, rng, size, cut), 1, 0, epsilon=epsilon, delta=delta, trials=TRIALS, seed=seed,
        vectorized=True,
    )  # fmt: skip


def counted(hits: int, of: int) -> dict[str, Any]:
    low, high = stats.binomtest(hits, of).proportion_ci(0.95)
    return {"audits": of, "found": hits, "low": round(low, 3), "high": round(high, 3)}


def strength(audits: int) -> Iterator[dict[str, Any]]:
    """Count how often the noise that is cut as the sentence says is found, where 80 of 100 are stated."""
    for name, (draw, epsilon, delta) in FAMILIES.items():
        claimed = epsilon(1.0)
        says = next(a.would_find for a in (audited(draw, claimed, delta, s, 1.0) for s in range(9)) if a.would_find)
        if says.epsilon is None:
            row = {"mechanism": name, "claimed": claimed, "delta": delta, "would find": "nothing"}
            yield row | counted(0, 1) | {"off": ""}
            continue
        cut = brentq(lambda s, e=epsilon, t=says.epsilon: e(s) - t, 0.1, 1.0)
        hits = sum(audited(draw, claimed, delta, 100 + seed, cut).verdict == "violated" for seed in range(audits))
        row = {"mechanism": name, "claimed": round(claimed, 3), "delta": delta, "would find": round(says.epsilon, 3)}
        row |= counted(hits, audits)
        yield row | {"off": "below" if row["high"] < 0.8 else ""}


def alarms(audits: int) -> Iterator[dict[str, Any]]:
    """Count accusations of clean mechanisms at confidence 0.95."""
    import test_false_alarms
    import test_false_alarms_further

    mechanisms = test_false_alarms.MECHANISMS | test_false_alarms_further.MECHANISMS
    for name, (draw, epsilon, delta) in FAMILIES.items():
        if len(mechanisms) < 31 and name not in mechanisms:
            mechanisms[name] = test_false_alarms.Mechanism(
                lambda v, rng, n, draw=draw: draw(v, rng, n, 1.0), epsilon(1.0), delta
            )
    for name, mechanism in mechanisms.items():
        hits = sum(
            dpcheck.audit_privacy(mechanism.draw, 1, 0, epsilon=mechanism.epsilon, delta=mechanism.delta, trials=1000,
                                  seed=seed, vectorized=True).verdict == "violated" for seed in range(audits)
        )  # fmt: skip
        yield {"mechanism": name} | counted(hits, audits)


def steps(audits: int) -> Iterator[dict[str, Any]]:
    """Count accusations of clean training steps, whose release is rounded or not, at confidence 0.95."""
    membership.in_family = lambda *_: math.nan  # slow, and no verdict rests on it
    n, batch, width = 32, 8, 3
    records = np.random.default_rng(0).normal(scale=2, size=(n, width))

    def poisson(n: int, rng: Any) -> Any:
        while True:
            yield np.flatnonzero(rng.random(n) < batch / n)

    rounded = {
        "as it is": lambda g: g, "6 decimals": lambda g: np.round(g, 6),
        "a grid of 2^-12": lambda g: np.round(g * 4096) / 4096,
        "float32": lambda g: g.astype(np.float32), "3 decimals": lambda g: np.round(g, 3),
    }  # fmt: skip
    for number, (name, shown) in enumerate(rounded.items(), 1):

        def gradient(w: Any, rows: Any, rng: Any, shown: Any = shown) -> Any:
            g = w - rows
            g = g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True))
            return shown((g.sum(0) + 1.2 * rng.normal(size=width)) / batch)

        step = TrainingStep(gradient, poisson, clip=1.0, noise=1.2 / batch, divisor=batch, params=np.zeros(width))
        parts: list[str] = []
        for seed in range(1000 * number, 1000 * number + audits):
            audit = dpcheck.audit_training_step(
                step, records, batch=batch, steps=100, epsilon=40.0, delta=1e-5, trials=200, seed=seed
            )
            if audit.verdict == "violated":
                parts.append(next(f.part for f in audit.findings if f.verdict == "violated"))
        yield {"step": name} | counted(len(parts), audits) | {"parts": " ".join(sorted(parts))}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["strength", "alarms", "steps"])
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    rows, began = [], time.perf_counter()
    for row in {"strength": strength, "alarms": alarms, "steps": steps}[options.what](options.audits):
        rows.append(row)
        print("| " + " | ".join(map(str, row.values())) + " |", flush=True)
    of, found = (sum(row[key] for row in rows) for key in ("audits", "found"))
    print(f"{found} of {of} ({', '.join(rows[0])}), {time.perf_counter() - began:.0f} s")
    if options.csv:
        pd.DataFrame(rows).to_csv(options.csv, index=False)


if __name__ == "__main__":
    main()
