"""Gradients that each base solver needs, against its stated cost: exponents of n and of the condition number.

A line varies one of them where one term of the stated cost dominates; that term, and so the exponent
expected, is read off the registry. Accuracy is relative to the start's distance, so that the logarithm is
the same along a line. Records differ in curvature (Ridges, Pairs), so that sampling has variance; on
the game of ``dpcheck.problems.quadratic`` they do not, and the step sizes alone show.

Long lines: ``pytest -n 0 -s -m experiment tests/solvers/test_base_costs.py``, with
``--keep-tables`` to keep their table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import tables
from reference_bases import Pairs, Ridges

from dpcheck.catalogue.bases import BASES, Term, optimum
from dpcheck.problems.quadratic import Quadratic


def ridges(n, kappa_w, kappa_v, rng):
    return Ridges.sample(n, kappa_w, rng)


def pairs(n, kappa_w, kappa_v, rng):
    return Pairs.sample(n, 1 / kappa_w, 1 / kappa_v, rng)


def quadratic(n, kappa_w, kappa_v, rng):
    """Weak coupling and unequal moduli: every mode is a slow one for steps that know l alone."""
    coupling = 0.5 / np.sqrt(kappa_w * kappa_v)
    return Quadratic.sample(n, 3, rng, mu_x=1 / kappa_w, mu_y=1 / kappa_v, coupling=coupling, radius=1e9)


@dataclass(frozen=True)
class Line:
    """n and kappa_w along the line; kappa_v is kappa_w where it is not given.

    seeds : the runs averaged;  reach : energy at the end over energy at the start
    """

    base: str
    problem: object
    n: tuple
    kappa_w: tuple
    kappa_v: float | None = None
    seeds: int = 1
    reach: float = 1e-6

    def points(self):
        for n in self.n:
            for kappa_w in self.kappa_w:
                yield int(n), kappa_w, kappa_w if self.kappa_v is None else self.kappa_v

    def along(self):
        return np.log(self.n if len(self.n) > 1 else self.kappa_w)

    def stated(self):
        """The exponent of the term that is largest in the line's middle, and its share of the cost there."""
        points = list(self.points())
        n, kappa_w, kappa_v = points[len(points) // 2]
        cost = BASES[self.base].cost
        values = [size(term, n, kappa_w, kappa_v) for term in cost]
        term = cost[int(np.argmax(values))]
        exponent = slope(self.along(), [size(term, *point) for point in points])
        return exponent, max(values) / sum(values)

    def counts(self):
        return [np.mean([gradients(self, *point, seed) for seed in range(self.seeds)]) for point in self.points()]


def size(term: Term, n, kappa_w, kappa_v):
    kappa = max(kappa_w, kappa_v)
    return n**term.n * kappa**term.kappa * kappa_w**term.kappa_w * kappa_v**term.kappa_v


def slope(x, values):
    return float(np.polyfit(x, np.log(values), 1)[0])


def energy(problem, z):
    d = problem.dim_w
    return problem.convexity * (z[:d] @ z[:d]) + problem.concavity * (z[d:] @ z[d:])


def gradients(line, n, kappa_w, kappa_v, seed):
    """The count, after holding the run to what it certifies."""
    problem = line.problem(n, kappa_w, kappa_v, np.random.default_rng(seed))
    solution = problem.solution() if hasattr(problem, "solution") else np.concatenate(problem.saddle())
    goal = line.reach * energy(problem, solution)
    found = optimum(line.base, problem, energy=goal, seed=seed, most=10**10)
    assert found.reached, found.message
    assert energy(problem, np.concatenate([found.x, found.y]) - solution) <= goal * (1 + 1e-6)
    return found.gradients


def geometric(first, last, count):
    return tuple(np.geomspace(first, last, count))


def lines(small):
    """The grid; ``small`` for the ordinary suite: two points a line."""
    points = 2 if small else 4

    def grid(first, last):
        return geometric(first, np.sqrt(first * last) if small else last, points)

    def many(base, problem, kappa_v):
        """Where n >> kappa^2 a phase contracts by about kappa/sqrt(n): fewer are needed the larger n is.

        One phase is enough for this accuracy.
        """
        return Line(base, problem, grid(1e4, 1e5 if small else 1e6), (1.1,), kappa_v, seeds=4, reach=1e-2)

    def roots(base, problem, kappa_v):
        """n and kappa of sqrt(n) kappa, then n."""
        yield Line(base, problem, (16,), grid(300, 1e4) if small else grid(1e3, 3e4), kappa_v)
        yield Line(base, problem, grid(16, 1024) if small else grid(16, 4096), (1e3,), kappa_v)
        yield many(base, problem, kappa_v)

    yield Line("gradient_descent", ridges, (4,), grid(30, 3e3))
    yield Line("gradient_descent", ridges, grid(8, 512), (30.0,))
    for base, seeds in (("svrg", 1), ("sarah", 4 if small else 12)):
        yield Line(base, ridges, (8,), grid(100, 1e4), seeds=seeds)
        yield Line(base, ridges, grid(3e3, 3e4) if small else grid(1e4, 3e5), (1.1,), seeds=seeds)
    yield Line("katyusha", ridges, (4,), grid(1e3, 1e6))
    yield Line("katyusha", ridges, grid(4, 1024), (1e5,))
    yield Line("katyusha", ridges, grid(1e3, 1e5), (2.0,))
    for problem, fixed in ((pairs, None), (quadratic, 1.0)):
        if small and problem is quadratic:
            continue
        yield Line("gda", problem, (4,), grid(10, 100), fixed)
        yield Line("gda", problem, grid(4, 256), (10.0,), fixed)
        yield Line("extragradient", problem, (4,), grid(30, 3e3), fixed)
        yield Line("extragradient", problem, grid(4, 256), (30.0,), fixed)
        for base in ("saddle_svrg", "saddle_saga"):
            yield Line(base, problem, (8,), grid(10, 300), fixed)
            yield Line(base, problem, grid(1e3, 1e5), (1.5,), fixed)
        for base in ("accelerated_svrg", "jin_sidford_tian"):
            yield from roots(base, problem, fixed)
    for base in ("al_svre", "catalyst_svrg"):
        yield from roots(base, pairs, None)
        if not small:
            for problem, kappa_v in ((pairs, 2.0), (quadratic, 1.0)):
                yield Line(base, problem, (64,), grid(1e4, 1e6), kappa_v)
                yield Line(base, problem, grid(16, 1024), (1e5,), kappa_v)
            yield Line(base, pairs, (16,), grid(1e5, 1e7), 100.0)
            yield Line(base, pairs, grid(16, 1024), (1e5,), 100.0)


def described(line):
    """One row of the table, but for what is counted."""
    stated, share = line.stated()
    return {
        "base": line.base,
        "problem": line.problem.__name__,
        "varied": "n" if len(line.n) > 1 else "kappa",
        "n": f"{line.n[0]:.4g}..{line.n[-1]:.4g}",
        "kappa_w": f"{line.kappa_w[0]:.4g}..{line.kappa_w[-1]:.4g}",
        "kappa_v": "same" if line.kappa_v is None else f"{line.kappa_v:g}",
        "share": share,
        "stated": stated,
    }


def measured(line):
    """The exponent, and the gradients counted at the line's ends."""
    counts = line.counts()
    return {"measured": slope(line.along(), counts), "gradients": f"{counts[0]:.3g}..{counts[-1]:.3g}"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", BASES)
def test_costs_grow_as_stated_on_short_lines(name):
    """Two points a line, exponents to 0.2."""
    for line in lines(small=True):
        if line.base == name:
            row = described(line) | measured(line)
            assert row["measured"] == pytest.approx(row["stated"], abs=0.2), row


@pytest.mark.experiment
def test_costs_grow_as_stated(keep):
    """Exponents of every term of every stated cost to 0.1, where that term dominates."""
    table = pd.DataFrame([described(line) | measured(line) for line in lines(small=False)])
    keep("base_costs", table)
    assert_as_stated(table)


def test_the_kept_table_is_that_of_these_lines():
    """The kept table was measured along today's lines, for today's stated costs."""
    kept = tables.read("base_costs")
    assert_as_stated(kept)
    today = pd.DataFrame([described(line) for line in lines(small=False)])
    pd.testing.assert_frame_equal(kept[list(today)], today, check_exact=False, rtol=1e-4)


def assert_as_stated(table):
    assert (table["share"] > 0.5).all()
    assert (table["measured"] - table["stated"]).abs().max() <= 0.1
