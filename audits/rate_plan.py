"""Which sizes and runs would decide a claim that a table leaves open.

Tables are simulated under the claim: a power law with the claimed exponents, or the fitted ones where those are faster
beyond chance; where the law flattens, the fitted sum of a faster power and the claimed one. Runs spread around it as
those at hand do, alike at all sizes. What rows of a cluster share, they share again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from dpcheck.arrays import Floats
from dpcheck.audits.power_law import fit_law
from dpcheck.audits.rate_table import Measurements
from dpcheck.audits.rate_verdict import Fitted, overall
from dpcheck.shown import Shown

# Sizes past the end of the grid; where the law bends, tables start there, and one and two lengths past it.
_FURTHER = (0, 2, 4)
_SEARCH, _REPORTED = 40, 150  # tables that look for the order of the runs, and that tell the chance
_NEAR = 0.03  # the standard error of a chance near .8 among so many tables
_ROWS = 10  # at a grid point; more runs are simulated as so many means of several
_MOST = 100_000  # runs at a grid point
_ROUNDS = 8


@dataclass(frozen=True)
class Design:
    """A fresh table: its sizes, runs at each grid point, rows, and the chance that a claim that holds is supported."""

    sizes: dict[str, list[float]]
    runs: int
    rows: int
    chance: float

    def told(self) -> str:
        """Return the design in words."""
        grid = " x ".join(f"{len(values)} sizes {_listed(name, values)}" for name, values in self.sizes.items())
        return f"{self.runs} runs at each of {grid}: {self.rows} rows, chance {self.chance:.0%}"


def _listed(name: str, values: list[float]) -> str:
    shown = [f"{value:.10g}" for value in values]
    return f"{name} = {', '.join(shown if len(shown) < 5 else [*shown[:2], '..', shown[-1]])}"


@dataclass(frozen=True)
class Plan(Shown):
    """Designs of fresh tables that would decide a claim, the fewest rows first.

    Attributes
    ----------
    designs : list of Design
        Each has ``sizes``, ``runs`` at each grid point (clusters, where rows share something), ``rows`` and
        the ``chance`` that the claim is supported if it holds. Empty where nothing is open, or nothing helps.
    reason : str
        The sentence that says what the plan is.
    """

    designs: list[Design]
    reason: str

    def _sentence(self) -> str:
        return "\n".join([self.reason, *(f"- {design.told()}" for design in self.designs)])

    def _facts(self) -> dict[str, Any]:
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return asdict(self)


def plan_for(
    fitted: Fitted, verdicts: Mapping[str, str], claimed: Mapping[str, float], faster: Container[str],
    ends: Sequence[float], *, chance: float, seed: int, confidence: float, margin: float, equal: bool,
) -> Plan:  # fmt: skip
    """Return designs for the undecided ``verdicts``; ``ends`` (factors,) are the sizes at the end of the grid.

    Exponents of the factors in ``faster`` are faster than claimed, beyond chance.
    """
    m = fitted.measurements
    undecided = [i for i, name in enumerate(m.factors) if verdicts.get(name) in ("inconclusive", "not asymptotic")]
    if not undecided or "contradicted" in verdicts.values():
        return Plan([], "No further runs are needed: the verdict is given." if claimed else "No exponent was claimed.")
    if fitted.line is None:
        return Plan([], "No plan: the means follow no power law, so that nothing can be simulated.")
    exponents = fitted.exponents()
    exponents |= {name: value for name, value in claimed.items() if equal or name not in faster}
    law, spread = np.array(list(exponents.values())), _spread(m)
    bends = [verdicts.get(name) == "not asymptotic" for name in m.factors]
    flattening = {
        i: found for i, bend in enumerate(bends)
        if bend and (found := _flattening(m, i, law, m.sign(i) * claimed[m.factors[i]])) is not None
    }  # fmt: skip
    designs = []
    for lengths, further in enumerate(_FURTHER, 1):
        x, nearest, moved = _grid(m, [i for i in undecided if not bends[i]], further)
        moved += [m.sign(i) * lengths * bend * float(np.ptp(m.x[:, i])) for i, bend in enumerate(bends)]
        log_mean = x @ law
        for i, (first, odds) in flattening.items():  # with the present end of the grid at 0
            at = m.sign(i) * (x[:, i] + moved[i])
            claim = m.sign(i) * claimed[m.factors[i]]
            log_mean += np.logaddexp(first * at, np.log(odds) + claim * at) - law[i] * x[:, i]

        def share(runs: int, tables: int, rng: np.random.Generator) -> float:
            given = 0
            for _ in range(tables):
                table = _drawn(m, x, nearest, log_mean, spread, runs, rng)  # noqa: B023
                judged = Fitted.of(table).judge(claimed, confidence=confidence, margin=margin, equal=equal)
                given += overall(judged)[0] == "supported"
            return given / tables

        found = _fewest(
            share, max(2, m.independent // (1 if spread[0] else len(np.unique(m.cells)))), chance, [seed, further]
        )
        if found is not None:
            sizes = {
                name: [float(f"{ends[i] * np.exp(moved[i] + at):.6g}") for at in np.unique(x[:, i].round(9))]
                for i, name in enumerate(m.factors)
            }
            designs.append(Design(sizes, found[0], found[0] * len(x), found[1]))
    if not designs:
        return Plan([], f"No plan: with {_MOST} runs at a grid point the claim would stay open.")
    designs.sort(key=lambda design: design.rows)
    past = ", past the present grid, where the law bends," if any(bends) else ""
    runs = "" if m.independent == len(m.y) else " (a run is a cluster)"
    return Plan(designs, f"Fresh tables{past}{runs} support the claim, if it holds, with the chance that is given:")


def _grid(m: Measurements, factors: Sequence[int], further: int) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return grid points (points, factors) with further sizes, the place of the nearest present one, and the moves."""
    x = m.x[np.unique(m.cells, return_index=True)[1]]
    nearest, moved = np.arange(len(x), dtype=np.int64), np.zeros(x.shape[1])
    for i in factors:
        levels = np.unique(x[:, i].round(9))
        step = m.sign(i) * float(np.median(np.diff(levels)))
        last = np.flatnonzero(np.abs(x[:, i]) < 1e-9)
        more = [x[last] + step * j * np.eye(x.shape[1])[i] for j in range(1, further + 1)]
        x, nearest = np.concatenate([x, *more]), np.concatenate([nearest, np.tile(nearest[last], further)])
        moved[i] = step * further
    return x - moved, nearest, moved


def _flattening(m: Measurements, i: int, law: Floats, claim: float) -> tuple[float, float] | None:
    """Fit the sum of a faster power of a factor and the claimed one: the faster, and the odds of the claimed one."""
    count = np.bincount(m.cells)
    others = np.delete(m.x, i, axis=1) @ np.delete(law, i)
    scaled = m.y * np.exp(m.known.mean() - m.known - others)
    weights = np.sqrt(count) / (np.bincount(m.cells, scaled) / count)  # the deviation from each mean is relative
    u = m.sign(i) * m.x[np.unique(m.cells, return_index=True)[1], i]
    fits = {}
    for first in claim - np.geomspace(0.05, 4, 60):
        columns = np.exp(np.outer(u, [first, claim])) * weights[:, None]
        held, left = optimize.nnls(columns, np.sqrt(count))
        fits[float(left)] = float(first), held
    first, held = fits[min(fits)]
    return (first, float(held[1] / held[0])) if held.min() > 0 else None


def _spread(m: Measurements) -> tuple[bool, Floats]:
    """Return relative deviations: whether clusters cross grid points, and (clusters, points) or, if not, (clusters, 1).

    They are taken from a parabola in all factors, which follows a law that bends.
    """
    squares = [m.x[:, i] ** 2 for i in range(len(m.factors)) if m.sizes(i) > 2]
    design = np.column_stack([m.line, *squares])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        design = m.line
    start = np.linalg.lstsq(design, np.log(np.maximum(m.y, m.y.mean() * 1e-3)) - m.known, rcond=None)[0]
    fitted = fit_law(design, m.y, m.known, m.clusters, start)
    means = np.exp(design @ (start if fitted is None else fitted.coefficients) + m.known)
    free = max(m.independent - design.shape[1], 1)
    away = (m.y / means - 1) * np.sqrt(m.independent / free)
    points = int(m.cells.max()) + 1
    both = m.clusters * points + m.cells
    held = np.bincount(both, minlength=m.independent * points).reshape(m.independent, points)
    sums = np.bincount(both, away, m.independent * points).reshape(held.shape)
    whole = sums.sum(1, keepdims=True) / held.sum(1, keepdims=True)
    if (held > 0).sum(1).max() == 1:
        return False, whole
    return True, np.where(held > 0, sums / np.maximum(held, 1), whole)


def _drawn(
    m: Measurements, x: Floats, nearest: NDArray[np.int64], log_mean: Floats, spread: tuple[bool, Floats], runs: int,
    rng: np.random.Generator,
) -> Measurements:  # fmt: skip
    """Return a simulated table with so many runs, or means of runs, at each grid point."""
    crossing, away = spread
    rows, points = min(runs, _ROWS), len(x)
    chosen = rng.integers(len(away), size=rows if crossing else (points, rows))
    relative = away[chosen][:, nearest].T if crossing else away[chosen, 0]
    y = np.exp(log_mean)[:, None] * (1 + relative * np.sqrt(rows / runs))
    clusters = np.tile(np.arange(rows), points) if crossing else np.arange(points * rows)
    cells = np.repeat(np.arange(points), rows)
    return Measurements(m.factors, x[cells], y.ravel(), np.zeros(y.size), clusters, cells)


def _fewest(
    share: Callable[[int, int, np.random.Generator], float], runs: int, chance: float, seed: list[int]
) -> tuple[int, float] | None:
    """Return a number of runs that is supported with the chance, and the share among fresh tables; None if none is.

    Between numbers of runs the share goes as a normal tail with the root of the runs.
    """
    rng = np.random.default_rng(seed)
    wanted, level = float(special.ndtri(chance)), 1.645
    found: tuple[int, float] | None = None
    tables = _SEARCH
    for _ in range(_ROUNDS):
        at = share(runs, tables, rng)
        good = at >= chance - _NEAR
        if tables == _REPORTED and good and (found is None or runs < found[0]):
            found = runs, at
        if tables == _REPORTED and abs(at - chance - _NEAR) <= 2 * _NEAR:
            break
        if 0.1 <= at <= 0.97:
            tables = _REPORTED
            factor = ((wanted + level) / (float(special.ndtri(at)) + level)) ** 2
        else:
            factor = 6.0 if at < 0.1 else 0.3
        before, runs = runs, int(np.clip(np.ceil(runs * factor), 2, _MOST))
        if runs == before:
            if tables == _REPORTED and found is not None:
                break
            tables = _REPORTED
    return found
