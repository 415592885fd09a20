"""The table of an experiment, computed from runs: published beside measured, and what the noise is certified at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.experiments.causes import BETWEEN, FAR, Others, cause
from dpcheck.experiments.experiment import CERTIFIED, EPSILON, NONE, PUBLISHED, Cell, Experiment
from dpcheck.experiments.runner import Result


@dataclass(frozen=True)
class Measured:
    """Runs of one cell with one noise, for one metric.

    mean, error : over the seeds, and the standard error of that mean, nan for one run;  runs : how many;
    difference : from the printed number, in standard errors of a difference, None where there is no printed number or
    no spread;  epsilon : the largest that the noise of these runs is certified at
    """

    mean: float
    error: float
    runs: int
    difference: float | None
    epsilon: float


def measured(experiment: Experiment, cell: Cell, metric: str, noise: str, results: Sequence[Result]) -> Measured | None:
    """Return what these runs say of a cell, None where there are none.

    A printed number is a mean over ``experiment.runs`` runs with the spread that the paper states, or else the one that
    was measured; where the paper does not say how many runs, it counts as exact.
    """
    own_runs = [result for result in results if result.trial.cell is cell and result.trial.noise == noise]
    if not own_runs:
        return None
    values = np.array([result.values[metric] for result in own_runs])
    count = len(values)
    spread = float(values.std(ddof=1)) if count > 1 else math.nan
    published, difference = cell.published.get(metric), None
    if published is not None and spread > 0:
        theirs = (experiment.spread or spread) / math.sqrt(experiment.runs) if experiment.runs else 0.0
        difference = (float(values.mean()) - published) / math.hypot(spread / math.sqrt(count), theirs)
    epsilon = max(result.values[EPSILON] for result in own_runs)
    return Measured(float(values.mean()), spread / math.sqrt(count), count, difference, epsilon)


def rows(experiment: Experiment, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return a row for each cell and metric of which there are runs, numbers as they are, None where there is none."""
    lines = []
    for cell in experiment.cells:
        for metric in experiment.metrics:
            first = measured(experiment, cell, metric, NONE if NONE in cell.noises else PUBLISHED, results)
            second = measured(experiment, cell, metric, CERTIFIED, results)
            if first is None and second is None:
                continue
            row: dict[str, Any] = dict(cell.keys)
            if len(experiment.metrics) > 1:
                row["metric"] = metric
            row["published"] = cell.published.get(metric)
            for name, one in (("", first), (", certified noise", second)):
                row |= {
                    f"measured{name}": one and one.mean, f"standard error{name}": one and one.error,
                    f"difference{name}": one and one.difference, f"certified epsilon{name}": one and one.epsilon,
                }  # fmt: skip
            row["runs"] = max(mean.runs for mean in (first, second) if mean is not None)
            far = [mean for mean in (first, second) if mean and mean.difference and abs(mean.difference) > FAR]
            least = _least_noise(experiment, cell)
            silent = _without_noise(experiment, cell)
            others = Others(
                measured(experiment, least, metric, PUBLISHED, results),
                measured(experiment, silent, metric, NONE, results), silent,
            )  # fmt: skip
            row["cause"] = cause(experiment, cell, first, second, others) if far else ""
            lines.append(row)
    return lines


def _least_noise(experiment: Experiment, cell: Cell) -> Cell:
    """Return the cell that differs from this one in epsilon alone, which is the largest, privacy given."""
    alike = [
        other for other in experiment.cells
        if {**other.keys, "epsilon": 0.0} == {**cell.keys, "epsilon": 0.0} and other.keys.get("epsilon") != math.inf
    ]  # fmt: skip
    return max(alike, key=lambda other: float(other.keys.get("epsilon", 0.0)), default=cell)


def _without_noise(experiment: Experiment, cell: Cell) -> Cell:
    """Return the cell that differs from this one in its infinite epsilon alone; this one where there is none."""
    wanted = {**cell.keys, "epsilon": math.inf}
    return next((other for other in experiment.cells if other.keys == wanted), cell)


def shown_rows(experiment: Experiment, results: Sequence[Result]) -> list[dict[str, str]]:
    """Return the rows as people read them; the causes stand below the table, in :func:`causes`."""
    lines = []
    names = _names(rows(experiment, results))
    for row in rows(experiment, results):
        keys = experiment.keys if len(experiment.metrics) == 1 else (*experiment.keys, "metric")
        line = {key: row[key] if isinstance(row[key], str) else _plain(row[key]) for key in keys}
        line["published"] = "" if row["published"] is None else _number(row["published"])
        for name in ("", ", certified noise"):
            heading = "measured" if not name else "certified noise"
            line[heading] = _with_error(row[f"measured{name}"], row[f"standard error{name}"])
            line[f"{'difference' if not name else 'its difference'}"] = _in_errors(row[f"difference{name}"])
            line["epsilon of the noise" if not name else "its epsilon"] = _epsilon(row[f"certified epsilon{name}"])
        line["why"] = ", ".join(names[sentence] for sentence in _sentences(row))
        lines.append(line)
    return lines


def causes(experiment: Experiment, results: Sequence[Result]) -> dict[str, str]:
    """Return the sentences for differences beyond two standard errors, by the letter that the table has."""
    return {letter: sentence for sentence, letter in _names(rows(experiment, results)).items()}


def _names(found: Sequence[dict[str, Any]]) -> dict[str, str]:
    sentences = dict.fromkeys(sentence for row in found for sentence in _sentences(row))
    return {sentence: chr(ord("a") + number) for number, sentence in enumerate(sentences)}


def _sentences(row: dict[str, Any]) -> list[str]:
    return row["cause"].split(BETWEEN) if row["cause"] else []


def _plain(value: float | None) -> str:
    return "" if value is None else "no privacy" if value == math.inf else f"{value:g}"


def _number(value: float) -> str:
    """Three figures behind the point, or four figures in all where that is more."""
    if abs(value) >= 1e5:
        return f"{value:.2g}"
    return f"{value:.3f}" if abs(value) >= 1 else f"{value:.4g}"


def _with_error(mean: float | None, error: float | None) -> str:
    if mean is None or error is None:
        return ""
    if not math.isfinite(mean):
        return "not finite"
    computed = math.isnan(error) or error <= 1e-12 * abs(mean)  # which seeds do not change
    return _number(mean) if computed else f"{_number(mean)} ± {error:.2g}"


def _in_errors(difference: float | None) -> str:
    if difference is None or not math.isfinite(difference):
        return ""
    return f"{difference:+.1f}" if abs(difference) < 1000 else f"{difference:+.1e}"


def _epsilon(epsilon: float | None) -> str:
    if epsilon is None:
        return ""
    return "none" if epsilon == math.inf else f"{epsilon:.3g}"
