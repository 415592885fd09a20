"""The runs that come with the package: one CSV an experiment, a row a measured number, with versions and seeds."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

from dpcheck.experiments.experiment import EPSILON, Experiment, Trial, shown
from dpcheck.experiments.runner import Result, code
from dpcheck.files import write_text

FOLDER = Path(__file__).with_name("kept")
_BESIDE = ("noise", "seed", "metric", "value", "certified", "seconds", "dpcheck", "numpy", "numba", "code")
_FIGURES = 8  # beyond the eighth, figures differ from one processor to the next


def path(experiment: Experiment) -> Path:
    """Return the file of an experiment."""
    return FOLDER / f"{experiment.id}.csv"


def read(experiment: Experiment) -> list[Result]:
    """Return the kept runs of the cells that the experiment has now, in its order; none where there is no file."""
    return [result for result, _ in _all(experiment)]


def write(experiment: Experiment, results: Iterable[Result]) -> None:
    """Write runs beside those that are kept, in place of the same runs."""
    versions = [metadata.version(name) for name in ("dpcheck", "numpy", "numba")]
    rows = {_name(result.trial): lines for result, lines in _all(experiment)}
    for result in results:
        trial, epsilon = result.trial, result.values[EPSILON]
        start = [*map(shown, trial.cell.keys.values()), trial.noise, str(trial.seed)]
        end = [_figure(epsilon), f"{result.seconds:.3g}", *versions, code(experiment)]
        rows[_name(trial)] = [
            [*start, metric, _figure(value), *end] for metric, value in result.values.items() if metric != EPSILON
        ]
    order = {_keys(cell.keys.values()): number for number, cell in enumerate(experiment.cells)}
    known = sorted(rows, key=lambda name: (order[name[0]], name[1], name[2]))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*experiment.keys, *_BESIDE])
    for name in known:
        writer.writerows(rows[name])
    FOLDER.mkdir(exist_ok=True)
    write_text(path(experiment), stream.getvalue())


def _all(experiment: Experiment) -> list[tuple[Result, list[list[str]]]]:
    """Return the kept runs, and their lines."""
    file = path(experiment)
    if not file.exists():
        return []
    cells = {_keys(cell.keys.values()): cell for cell in experiment.cells}
    lines: dict[tuple[tuple[str, ...], str, int], list[list[str]]] = {}
    with file.open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream)
        heading = next(rows)
        assert heading == [*experiment.keys, *_BESIDE], file
        width = len(experiment.keys)
        for row in rows:
            keys = tuple(row[:width])
            if keys in cells:
                lines.setdefault((keys, row[width], int(row[width + 1])), []).append(row)
    found = []
    for (keys, noise, seed), group in lines.items():
        fields = [dict(zip(heading, row, strict=True)) for row in group]
        values = {each["metric"]: float(each["value"]) for each in fields}
        values[EPSILON] = float(fields[0]["certified"])
        found.append((Result(Trial(cells[keys], noise, seed), values, float(fields[0]["seconds"])), group))
    return found


def _name(trial: Trial) -> tuple[tuple[str, ...], str, int]:
    return _keys(trial.cell.keys.values()), trial.noise, trial.seed


def _keys(values: Iterable[str | float]) -> tuple[str, ...]:
    return tuple(map(shown, values))


def _figure(value: float) -> str:
    return f"{value:.{_FIGURES}g}" if math.isfinite(value) else repr(value)


def finished(experiment: Experiment, results: Sequence[Result]) -> int:
    """Count the cells of which all runs are there."""
    runs: dict[tuple[str, ...], int] = {}
    for result in results:
        keys = _keys(result.trial.cell.keys.values())
        runs[keys] = runs.get(keys, 0) + 1
    wanted = {_keys(cell.keys.values()): experiment.seeds * len(cell.noises) for cell in experiment.cells}
    return sum(runs.get(keys, 0) >= count for keys, count in wanted.items())
