"""The table of an experiment, computed from runs: published beside measured, and why they differ where they do.

A difference of more than two standard errors has a cause: sentences, each of which names the evidence that it rests on,
numbers of the table itself or a test that measures it. What certified noise misses of a printed AUC is split by runs
without noise, see :meth:`Table.parts`: into rows, clipping, tuning and noise, which add up to it.
"""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpcheck.experiments.experiment import (
    CERTIFIED,
    CLIPPED,
    CONTROLS,
    EPSILON,
    NONE,
    PUBLISHED,
    UNCLIPPED,
    Cell,
    Experiment,
)
from dpcheck.experiments.runner import Result


@dataclass(frozen=True)
class Measured:
    """Runs of one cell with one noise, for one metric.

    values : one a seed;  difference : of their mean from the printed number, in standard errors of a difference, None
    where there is no printed number or no spread;  epsilon : the largest that the noise of these runs is certified at
    """

    values: tuple[float, ...]
    difference: float | None
    epsilon: float

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return float(np.mean(self.values))

    @property
    def error(self) -> float:
        """The standard error of the mean; nan for one run."""
        count = len(self.values)
        return float(np.std(self.values, ddof=1)) / math.sqrt(count) if count > 1 else math.nan

    @property
    def median(self) -> float:
        """The median over the seeds."""
        return float(np.median(self.values))

    @property
    def error_of_median(self) -> float:
        """The standard error of the median of normal seeds, for which this factor is the largest."""
        return math.sqrt(math.pi / 2) * self.error

    @property
    def diverged(self) -> int:
        """How many runs ended far below the median."""
        return sum(value < self.median - DIVERGED for value in self.values)


@dataclass(frozen=True)
class Table:
    """An experiment with the runs that there are of it."""

    experiment: Experiment
    results: Sequence[Result]

    def measured(self, cell: Cell, metric: str, noise: str) -> Measured | None:
        """Return what the runs say of a cell, None where there are none.

        A printed number is a mean over ``experiment.runs`` runs with the spread that the paper states, or else the one
        that was measured; where the paper does not say how many runs, it counts as exact.
        """
        own_runs = [
            result for result in self.results
            if result.trial.cell is cell and result.trial.noise == noise and not (noise in CONTROLS and stale(result))
        ]  # fmt: skip
        if not own_runs:
            return None
        values, printed = tuple(result.values[metric] for result in own_runs), self.experiment
        found = Measured(values, None, max(result.values[EPSILON] for result in own_runs))
        published, spread = cell.published.get(metric), found.error * math.sqrt(len(values))
        if published is None or not spread > 0:
            return found
        theirs = (printed.spread or spread) / math.sqrt(printed.runs) if printed.runs else 0.0
        return replace(found, difference=(found.mean - published) / math.hypot(found.error, theirs))

    def clipped(self, cell: Cell, metric: str) -> Measured | None:
        """Return the same runs as those with certified noise, without the noise; None if not of the same settings."""
        if any(stale(run) for run in self.results if run.trial.cell is cell and run.trial.noise == CERTIFIED):
            return None
        silent = self._without_noise(cell)
        same = cell.plan.get("as_printed") and silent.plan["settings"] == cell.plan["settings"]
        return self.measured(silent, metric, NONE) if same else self.measured(cell, metric, CLIPPED)

    def parts(self, cell: Cell, metric: str) -> dict[str, tuple[float, float]]:
        """Return the points by which the median with certified noise misses a printed number, with standard errors.

        rows : printed minus the run on these rows with neither clipping nor noise, whatever else differs with it; where
        the paper clips as well, with its clipping;
        clipping : what clipping costs without noise, with the settings that are chosen for the least noise;
        tuning : what the settings that are chosen for this noise cost beyond, still without noise;
        noise : what the noise costs with them.

        They add up. Errors are those of independent seeds. Empty where a run without noise is missing.
        """
        published, certified = cell.published.get(metric), self.measured(cell, metric, CERTIFIED)
        clipped, loosest = self.clipped(cell, metric), self.clipped(self._least_noise(cell), metric)
        if published is None or certified is None or clipped is None or loosest is None:
            return {}
        runs, spread = self.experiment.runs, self.experiment.spread
        before, last = Measured((published,), None, 0.0), spread / math.sqrt(runs) if runs else 0.0
        steps = {"rows": loosest}
        if not cell.plan.get("as_printed"):
            silent = self._without_noise(cell)
            alike = "printed_rows" not in cell.plan and silent.plan.get("epochs") == cell.plan.get("epochs")
            free = self.measured(cell, metric, UNCLIPPED) or (self.measured(silent, metric, NONE) if alike else None)
            if free is None:
                return {}
            steps = {"rows": free, "clipping": loosest}
        found = {}
        for name, run in (steps | {"tuning": clipped, "noise": certified}).items():
            error = 0.0 if run.values == before.values else math.hypot(last, run.error_of_median)
            found[name] = before.median - run.median, error
            before, last = run, run.error_of_median
        return found

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each cell and metric of which there are runs, numbers as they are, None where there is none."""
        lines = []
        for cell in self.experiment.cells:
            for metric in self.experiment.metrics:
                first = self.measured(cell, metric, NONE if NONE in cell.noises else PUBLISHED)
                second, clipped = self.measured(cell, metric, CERTIFIED), self.clipped(cell, metric)
                if first is None and second is None:
                    continue
                row: dict[str, Any] = dict(cell.keys)
                if len(self.experiment.metrics) > 1:
                    row["metric"] = metric
                row["published"] = cell.published.get(metric)
                for name, one in (("", first), (", certified noise", second)):
                    row |= {
                        f"measured{name}": one and one.mean, f"standard error{name}": one and one.error,
                        f"difference{name}": one and one.difference, f"certified epsilon{name}": one and one.epsilon,
                        f"median{name}": one and one.median, f"lowest{name}": one and min(one.values),
                        f"highest{name}": one and max(one.values),
                        f"diverged{name}": one and one.diverged * (metric == "AUC"),
                    }  # fmt: skip
                row["runs"] = max(len(one.values) for one in (first, second) if one is not None)
                row["no noise"] = clipped.median if clipped and CERTIFIED in cell.noises else None
                row["runs without noise"] = len(clipped.values) if clipped else 0
                parts = self.parts(cell, metric)
                for part in PARTS:
                    row[part], row[f"error of {part}"] = parts.get(part, (None, None))
                far = [mean for mean in (first, second) if mean and mean.difference and abs(mean.difference) > FAR]
                silent = self._without_noise(cell)
                others = Others(
                    self.measured(self._least_noise(cell), metric, PUBLISHED), self.measured(silent, metric, NONE),
                    silent,
                )  # fmt: skip
                row["cause"] = cause(self.experiment, cell, first, second, others, parts) if far else ""
                lines.append(row)
        return lines

    def _least_noise(self, cell: Cell) -> Cell:
        """Return the cell that differs from this one in epsilon alone, which is the largest, privacy given."""
        alike = [
            other for other in self.experiment.cells
            if {**other.keys, "epsilon": 0.0} == {**cell.keys, "epsilon": 0.0} and other.keys.get("epsilon") != math.inf
        ]  # fmt: skip
        return max(alike, key=lambda other: float(other.keys.get("epsilon", 0.0)), default=cell)

    def _without_noise(self, cell: Cell) -> Cell:
        """Return the cell that differs from this one in its infinite epsilon alone; this one where there is none."""
        wanted = {**cell.keys, "epsilon": math.inf}
        return next((other for other in self.experiment.cells if other.keys == wanted), cell)

    def shown(self, *, details: bool = True) -> list[dict[str, str]]:
        """The rows as people read them: medians, lowest to highest; the causes stand below, in :attr:`causes`."""
        lines = []
        letters = {sentence: letter for letter, sentence in self.causes.items()}
        keys = self.experiment.keys if len(self.experiment.metrics) == 1 else (*self.experiment.keys, "metric")
        for row in self.rows:
            line = {key: row[key] if isinstance(row[key], str) else _plain(row[key]) for key in keys}
            line["published"] = "" if row["published"] is None else _number(row["published"])
            line["no noise"] = "" if row["no noise"] is None else _number(row["no noise"])
            for heading, name in (("paper's noise", ""), ("certified noise", ", certified noise")):
                line[heading] = _with_spread(row, name, details=details)
                if details:
                    line[f"epsilon of {heading}"] = _epsilon(row[f"certified epsilon{name}"])
            for part in PARTS if details else ():
                line[part] = "" if row[part] is None else with_error(row[part], row[f"error of {part}"])
            line["why"] = ", ".join(letters[sentence] for sentence in _sentences(row))
            lines.append(line)
        return lines

    @property
    def causes(self) -> dict[str, str]:
        """The sentences for differences beyond two standard errors, by the letter that the table has."""
        sentences = dict.fromkeys(sentence for row in self.rows for sentence in _sentences(row))
        return {chr(ord("a") + number): sentence for number, sentence in enumerate(sentences)}


def _sentences(row: dict[str, Any]) -> list[str]:
    return row["cause"].split(BETWEEN) if row["cause"] else []


def _plain(value: float | None) -> str:
    return "" if value is None else "no privacy" if value == math.inf else f"{value:g}"


def _number(value: float) -> str:
    """Three figures behind the point, or four figures in all where that is more."""
    if abs(value) >= 1e5:
        return f"{value:.2g}"
    return f"{value:.3f}" if abs(value) >= 1 else f"{value:.4g}"


def _with_spread(row: Mapping[str, Any], name: str, *, details: bool) -> str:
    middle, low, high = (row[f"{word}{name}"] for word in ("median", "lowest", "highest"))
    if middle is None:
        return ""
    if not math.isfinite(middle):
        return "not finite"
    silent = ", no noise" if row[f"certified epsilon{name}"] == math.inf else ""
    fallen = f", {row[f'diverged{name}']} diverged" if row[f"diverged{name}"] else ""
    spread = details and high - low > 1e-12 * abs(middle)  # else computed, which seeds do not change
    return f"{_number(middle)}{f' ({_number(low)} to {_number(high)})' if spread else ''}{fallen}{silent}"


def with_error(points: float, error: float) -> str:
    """Return points with their standard error: none where there is nothing to err in, nan for one run."""
    return f"{points:+.2f}" + (f" ± {error:.2g}" if error > 0 else " (one run)" if math.isnan(error) else "")


def _epsilon(epsilon: float | None) -> str:
    if epsilon is None:
        return ""
    return "none" if epsilon == math.inf else f"{epsilon:.3g}"


BETWEEN = " / "  # the sentences of one row
PARTS = ("rows", "clipping", "tuning", "noise")
DIVERGED = 20.0  # points of AUC below the median of a cell
FAR = 2.0  # standard errors beyond which a difference is explained
NEAR = 0.5  # points of AUC within which a printed number counts as reached
with Path(__file__).with_name("causes.csv").open(encoding="utf-8", newline="") as stream:
    # by a short name; those named as a part of a shortfall are for more than half a point and two standard errors of it
    CAUSES = {row["cause"]: row["sentence"] for row in csv.DictReader(stream)}
UNKNOWN = CAUSES["unknown"]


class Others(NamedTuple):
    """What the same method measured in other cells.

    least : with the least noise as published;  clear : without noise, in the cell ``silent``
    """

    least: Measured | None
    clear: Measured | None
    silent: Cell


def cause(
    experiment: Experiment, cell: Cell, published: Measured | None, certified: Measured | None, others: Others,
    parts: Mapping[str, tuple[float, float]],
) -> str:  # fmt: skip
    """Return sentences for the differences of a row, :data:`BETWEEN` them; unknown where no evidence names a cause."""
    signs = [_sign(one) for one in (published, certified)]
    if experiment.id.startswith("xu2026"):
        spider = "spider" in str(cell.plan.get("method"))
        sentences = [CAUSES["fresh"] if spider else UNKNOWN] if signs[0] or (signs[1] and not spider) else []
        sentences += [CAUSES["less of it"]] if spider and signs[1] else []
    elif experiment.id.startswith("yang2022"):
        if cell.plan["epsilon"] is None:
            return CAUSES["other rows"] if "classes" in cell.plan else CAUSES["no noise"]
        linear = cell.plan["model"] == "linear"  # whose steps are the printed ones
        short = CAUSES["short"] if cell.plan["data"] == "ijcnn1" and not linear else UNKNOWN
        below = CAUSES["less noise"] if others.least is None or _sign(others.least) >= 0 else short
        gains = CAUSES["gains"] if cell.plan["data"] == "ijcnn1" and linear else UNKNOWN
        sentences = [
            {-1: below, 1: CAUSES["more"] if linear else UNKNOWN}.get(signs[0], ""),
            *{-1: _short_of(parts), 1: [gains]}.get(signs[1], []),
        ]
    elif experiment.id == "zhang2025.table_1":
        if cell.plan["algorithm"] == "privatediff":
            usual = CAUSES["smaller step"] if -1 in signs and _held_back(cell, others) else UNKNOWN
        else:
            usual = CAUSES["steps"] if _sign(others.clear) else UNKNOWN
        first = CAUSES["more noise"] if signs[0] < 0 and _wasteful(published, certified) else usual
        last = [usual if words == CAUSES["rows"] else words for words in _short_of(parts)] if signs[1] < 0 else [usual]
        sentences = [first if signs[0] else "", *(last if signs[1] else [])]
    else:
        sentences = [UNKNOWN]
    return BETWEEN.join(dict.fromkeys(sentence for sentence in sentences if sentence))


def _short_of(parts: Mapping[str, tuple[float, float]]) -> list[str]:
    """Name the parts of a shortfall that are not chance, the largest first."""
    if any(math.isnan(error) for _, error in parts.values()):
        return [CAUSES["one run"]]
    short = [(points, name) for name, (points, error) in parts.items() if points > max(NEAR, FAR * error)]
    return [CAUSES[name] for _, name in sorted(short, reverse=True)] or [UNKNOWN]


def _held_back(cell: Cell, others: Others) -> bool:
    """Whether noise calls for a smaller step than that which reaches the printed number without noise."""
    if others.clear is None or others.clear.difference is None:
        return False
    reached = abs(others.clear.difference * others.clear.error) <= NEAR  # points; few seeds make errors too large
    smaller: bool = cell.plan["settings"]["eta_x"] < others.silent.plan["settings"]["eta_x"]
    return reached and smaller


def _wasteful(published: Measured | None, certified: Measured | None) -> bool:
    """Whether the noise as published is certified below what is claimed, and costs more than chance explains."""
    if published is None or certified is None:
        return False
    apart = certified.mean - published.mean
    return published.epsilon < certified.epsilon and apart > FAR * (published.error**2 + certified.error**2) ** 0.5


def _sign(one: Measured | None) -> int:
    """Return 1 where a measured mean is far above the printed number, -1 where it is far below, 0 elsewhere."""
    if one is None or one.difference is None or abs(one.difference) <= FAR:
        return 0
    return 1 if one.difference > 0 else -1


def stale(result: Result) -> bool:
    """Whether a kept run had other settings than its cell has now."""
    return bool(result.settings) and json.loads(result.settings) != json.loads(json.dumps(result.trial.settings))
