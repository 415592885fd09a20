"""Certificates of random compositions against a contour integral or exact sums, accountants of another design.

The long sweep is ``pytest -n 0 -s -m experiment tests/solvers/test_sweep.py``, with ``--keep-tables`` to keep it.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from contour import Steps, both, contour_delta
from laplace_sums import laplace_delta

from dpcheck import certify
from dpcheck.accounting import gaussian_epsilon
from dpcheck.events import Event, Gaussian, Laplace, Repeated, Sampled

KINDS = ("poisson", "two rates", "with releases of all", "short laplace")
CLOSE = 2e-4  # relative: what a certificate may add to epsilon


def events(steps: list[Steps]) -> list[Event]:
    return [
        Repeated(
            Gaussian(part.multiplier) if part.rate == 1
            else Sampled((Gaussian(part.multiplier),), "poisson", 1, part.rate, "add_or_remove_one"),
            part.count,
        )
        for part in steps
    ]  # fmt: skip


def drawn(rng: np.random.Generator, kind: str) -> tuple[list[Steps], float]:
    def some() -> Steps:
        rate = float(10 ** rng.uniform(-2.5, -0.1))
        count = int(max(4, 10 ** rng.uniform(0.6, 4.3)))
        return Steps(float(10 ** rng.uniform(-0.2, 1.2)), rate, count)

    steps = [some()]
    if kind == "two rates":
        steps.append(some())
    if kind == "with releases of all":
        steps.append(Steps(float(10 ** rng.uniform(0.5, 1.5)), 1.0, int(rng.integers(1, 6))))
    return steps, float(10 ** rng.uniform(-10, -2))


def compared(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """Certify one composition, and look at the truth there and a little below."""
    if kind == "short laplace":
        return compared_laplace(rng)
    steps, delta = drawn(rng, kind)
    began = time.perf_counter()
    epsilon = certify(events(steps), delta).epsilon
    seconds = time.perf_counter() - began
    if not 1e-3 < epsilon < 100:
        return {"kind": kind, "outside": True}
    here, below = both(steps, epsilon), both(steps, epsilon * (1 - CLOSE))
    softer = certify(events(steps), delta * 1.2).epsilon
    more_noise = [Steps(part.multiplier * 1.05, part.rate, part.count) for part in steps]
    return {
        "kind": kind, "outside": math.isnan(here) or math.isnan(below), "steps": steps, "delta": delta,
        "below_truth": here > delta * (1 + 1e-7), "loose": below < delta,
        # how much of the room up to CLOSE is used: delta falls about linearly in so small an interval
        "excess": CLOSE * (delta - here) / (below - here) if below > here else math.nan,
        "monotone": softer <= epsilon >= certify(events(more_noise), delta).epsilon,
        "seconds": seconds,
    }  # fmt: skip


def compared_laplace(rng: np.random.Generator) -> dict[str, Any]:
    """As above, for a few Laplace mechanisms: the second engine sums in many digits."""
    scale, count, delta = float(10 ** rng.uniform(-1, 2.5)), int(rng.integers(2, 7)), float(10 ** rng.uniform(-10, -1))
    began = time.perf_counter()
    epsilon = certify(Repeated(Laplace(scale), count), delta).epsilon
    seconds = time.perf_counter() - began
    if not 1e-3 < epsilon < 100:
        return {"kind": "short laplace", "outside": True}
    here, below = (float(laplace_delta(scale, count, each)) for each in (epsilon, epsilon * (1 - CLOSE)))
    softer, more_noise = certify(Repeated(Laplace(scale), count), delta * 1.2), Repeated(Laplace(scale * 1.001), count)
    return {
        "kind": "short laplace", "outside": False, "steps": (scale, count), "delta": delta,
        "below_truth": here > delta * (1 + 1e-7), "loose": below < delta,
        "excess": CLOSE * (delta - here) / (below - here) if below > here else math.nan,
        "monotone": softer.epsilon <= epsilon >= certify(more_noise, delta).epsilon,
        "seconds": seconds,
    }  # fmt: skip


def assert_sound(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert not row["below_truth"], row
        assert not row["loose"], row
        assert row["monotone"], row


def test_the_second_engine_against_the_closed_form_and_a_known_value() -> None:
    """One Gaussian, whose delta has a formula; and dp_accounting's epsilon of a common run."""
    for mu, delta in ((1.0, 1e-5), (0.3, 1e-9), (3.0, 0.01)):
        epsilon = gaussian_epsilon(mu, delta)
        for added in (True, False):
            assert contour_delta([Steps(1 / mu, 1.0, 1)], epsilon, added) == pytest.approx(delta, rel=1e-7)
    run = [Steps(1.1, 256 / 60_000, 10_000)]
    assert both(run, 1.7) > both(run, 1.8) > 0


@pytest.mark.thorough
def test_two_kinds_of_steps_are_composed_as_closely_as_one() -> None:
    """A composition that was .036 % above the truth while its grid left out points where a loss hardly is."""
    steps, delta = (
        [Steps(1.2549616810514448, 0.003456601991658079, 5), Steps(13.642506393998941, 0.0222750834494, 15)],
        1.3e-8,
    )
    epsilon = certify(events(steps), delta).epsilon
    assert both(steps, epsilon) <= delta < both(steps, epsilon * (1 - CLOSE))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_a_few_compositions(kind: str) -> None:
    """Never below the truth, at most 0.02 % above it, falling in delta and in the multiplier."""
    rng = np.random.default_rng(11)
    rows = [row for row in (compared(rng, kind) for _ in range(5)) if not row["outside"]]
    assert len(rows) >= 3
    assert_sound(rows)


@pytest.mark.experiment
def test_five_hundred_compositions(keep: Any) -> None:
    """As above; those of epsilon outside (0.001, 100), or whose contour does not end, are drawn again."""
    rng, outside = np.random.default_rng(2026), 0
    rows: list[dict[str, Any]] = []
    while len(rows) < 500:
        row = compared(rng, KINDS[len(rows) % len(KINDS)])
        outside += row["outside"]
        if not row["outside"]:
            rows.append(row)
    frame = pd.DataFrame(rows)
    table = frame.groupby("kind", sort=False).agg(
        compositions=("excess", "size"), below_truth=("below_truth", "sum"), above_close=("loose", "sum"),
        monotone=("monotone", "sum"), median_excess=("excess", "median"), largest_excess=("excess", "max"),
    )  # fmt: skip
    most = frame["seconds"].max()
    print(f"\ndrawn again: {outside}; certificates took {frame['seconds'].sum():.0f} s, each at most {most:.2f} s")
    keep("certificate_sweep", table.reset_index())
    assert_sound(rows)
