"""The table of an experiment, computed from runs: published beside measured, and why they differ where they do.

A difference of more than two standard errors has a cause: sentences, each of which names the evidence that it rests on,
numbers of the table itself or a test that measures it. One rests on what clipping alone does, of which
``kept/clipped.csv`` holds the AUC: cells of Yang et al. 2022, Table 2, clipped as for certified noise, and run without
any, with seed 0; delta changes nothing of such a run, so that Table 5 has the same. ``python -m
dpcheck.experiments.table`` measures the cells that the file does not have, and writes them there.
"""

import csv
import io
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpcheck.experiments.experiment import CERTIFIED, EPSILON, NONE, PUBLISHED, Cell, Experiment, key_text
from dpcheck.experiments.runner import Result
from dpcheck.running.files import write_text


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
        own_runs = [result for result in self.results if result.trial.cell is cell and result.trial.noise == noise]
        if not own_runs:
            return None
        values = np.array([result.values[metric] for result in own_runs])
        count, printed = len(values), self.experiment
        spread = float(values.std(ddof=1)) if count > 1 else math.nan
        published, difference = cell.published.get(metric), None
        if published is not None and spread > 0:
            theirs = (printed.spread or spread) / math.sqrt(printed.runs) if printed.runs else 0.0
            difference = (float(values.mean()) - published) / math.hypot(spread / math.sqrt(count), theirs)
        epsilon = max(result.values[EPSILON] for result in own_runs)
        return Measured(float(values.mean()), spread / math.sqrt(count), count, difference, epsilon)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each cell and metric of which there are runs, numbers as they are, None where there is none."""
        lines = []
        for cell in self.experiment.cells:
            for metric in self.experiment.metrics:
                first = self.measured(cell, metric, NONE if NONE in cell.noises else PUBLISHED)
                second = self.measured(cell, metric, CERTIFIED)
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
                    }  # fmt: skip
                row["runs"] = max(mean.runs for mean in (first, second) if mean is not None)
                far = [mean for mean in (first, second) if mean and mean.difference and abs(mean.difference) > FAR]
                silent = self._without_noise(cell)
                others = Others(
                    self.measured(self._least_noise(cell), metric, PUBLISHED), self.measured(silent, metric, NONE),
                    silent,
                )  # fmt: skip
                row["cause"] = cause(self.experiment, cell, first, second, others) if far else ""
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

    @property
    def shown(self) -> list[dict[str, str]]:
        """The rows as people read them; the causes stand below the table, in :attr:`causes`."""
        lines = []
        letters = {sentence: letter for letter, sentence in self.causes.items()}
        keys = self.experiment.keys if len(self.experiment.metrics) == 1 else (*self.experiment.keys, "metric")
        for row in self.rows:
            line = {key: row[key] if isinstance(row[key], str) else _plain(row[key]) for key in keys}
            line["published"] = "" if row["published"] is None else _number(row["published"])
            for name in ("", ", certified noise"):
                heading = "measured" if not name else "certified noise"
                line[heading] = _with_error(row[f"measured{name}"], row[f"standard error{name}"])
                line[f"{'difference' if not name else 'its difference'}"] = _in_errors(row[f"difference{name}"])
                line["epsilon of the noise" if not name else "its epsilon"] = _epsilon(row[f"certified epsilon{name}"])
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


_PRINTED_SPREAD = 0.1  # of an AUC, Section 4.2 of Yang et al.
BETWEEN = " / "  # the sentences of one row
FAR = 2.0  # standard errors beyond which a difference is explained
NEAR = 0.5  # points of AUC within which a printed number counts as reached
STEPS = (
    "a missing hyperparameter: the paper takes a step of 0.02, 0.2 or 2 and does not say which; with 0.2 the run "
    "without noise does not give the printed number either"
)
SMALLER_STEP = (
    "the noise, by way of the step: without noise the paper's largest step reaches the printed number within half a "
    "point; with the noise as published a smaller one does best on training rows, in one run of each "
    "(kept/choices.csv). C3, which scales the noise of a difference, is not printed, and 1 is taken"
)
MORE_NOISE = "more noise than needed: the noise as published is certified below the claimed epsilon"
_TESTS = "tests/command/test_causes.py"
UNKNOWN = "unknown: no cause was found"
OTHER_ROWS = (
    "different rows: the paper standardises pixels, runs here divide them by a public constant, and without noise at "
    "all they differ already"
)
NO_NOISE = (
    "a missing hyperparameter: without noise at all the run already differs, and the start, the output and how far "
    "rows are scaled are not printed in full"
)
LESS_NOISE = (
    "a missing detail of the noise: the paper does not say where along its first run it reads off the gradient norms; "
    "the largest of the whole run, taken here, are too large for the printed number, and those of its end, with an "
    f"accountant for added and removed records, reach it for linear scores of DP-SGDA on ijcnn1 ({_TESTS})"
)
SHORT = (
    "different rows: features over 2.5, which suits linear scores, hold perceptrons back; over 1.6 a run without noise "
    f"passes the printed number of epsilon = 10 ({_TESTS}); and the norms that stand for the constants are the largest "
    "of the run"
)
MORE = (
    "not the noise: from epsilon = 5 to 10 neither the printed number nor this one moves "
    f"({_TESTS}), so that rows, start or output differ"
)
COSTS = (
    "noise not covered: with the same clipping and without noise the run reaches the printed number "
    "(kept/clipped.csv), so that the difference is what the noise costs"
)
CLIPS = (
    "clipping, which certified noise needs and the paper leaves out: with it the run stays below the printed number "
    "without noise too (kept/clipped.csv)"
)
GAINS = (
    "different rows: with certified noise they are scaled by public constants, on which the printed step goes further "
    f"than on features in [0, 1]: without noise DP-SGDA reaches 93.2 there, NSEG 92.9 ({_TESTS})"
)
FRESH = (
    "a different method: the printed numbers match a gradient of a fresh minibatch in every step, of 50 records for "
    "Sto-SPIDER and of 200 for Ada-DP-SPIDER, with the noise of Appendix D's words times a fitted 1.22 and 1.15 "
    f"({_TESTS}); the recursion of differences that the method states adds up its noise and goes far past them"
)
LESS_OF_IT = (
    "different noise: the certified noise of the method as stated, with refreshes by drift, is far less than the "
    "printed numbers show"
)


class Others(NamedTuple):
    """What the same method measured in other cells.

    least : with the least noise as published;  clear : without noise, in the cell ``silent``
    """

    least: Measured | None
    clear: Measured | None
    silent: Cell


def cause(
    experiment: Experiment, cell: Cell, published: Measured | None, certified: Measured | None, others: Others
) -> str:
    """Return sentences for the differences of a row, :data:`BETWEEN` them; unknown where no evidence names a cause."""
    signs = [_sign(one) for one in (published, certified)]
    if experiment.id.startswith("xu2026"):
        spider = "spider" in str(cell.plan.get("method"))
        sentences = [FRESH if spider else UNKNOWN] if signs[0] or (signs[1] and not spider) else []
        sentences += [LESS_OF_IT] if spider and signs[1] else []
    elif experiment.id.startswith("yang2022"):
        if cell.plan["epsilon"] is None:
            return OTHER_ROWS if "classes" in cell.plan else NO_NOISE
        linear = cell.plan["model"] == "linear"  # whose steps are the printed ones
        short = SHORT if cell.plan["data"] == "ijcnn1" and not linear else UNKNOWN
        below = LESS_NOISE if others.least is None or _sign(others.least) >= 0 else short
        gains = GAINS if cell.plan["data"] == "ijcnn1" and linear else UNKNOWN
        sentences = [
            {-1: below, 1: MORE if linear else UNKNOWN}.get(signs[0], ""),
            {-1: _clipping_or_noise(cell), 1: gains}.get(signs[1], ""),
        ]
    elif experiment.id == "zhang2025.table_1":
        if cell.plan["algorithm"] == "privatediff":
            usual = SMALLER_STEP if -1 in signs and _held_back(cell, others) else UNKNOWN
        else:
            usual = STEPS if _sign(others.clear) else UNKNOWN
        first = MORE_NOISE if signs[0] < 0 and _wasteful(published, certified) else usual
        sentences = [first if signs[0] else "", usual if signs[1] else ""]
    else:
        sentences = [UNKNOWN]
    return BETWEEN.join(dict.fromkeys(sentence for sentence in sentences if sentence))


def _clipping_or_noise(cell: Cell) -> str:
    """Say whether clipping alone keeps a run with certified noise below the printed number."""
    silent = auc_of_clipping(cell.keys)
    if silent is None:
        return UNKNOWN
    return COSTS if silent >= cell.published["AUC"] - _PRINTED_SPREAD else CLIPS


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


CLIPPED_FILE = Path(__file__).with_name("kept") / "clipped.csv"
CLIPPED_KEYS = ("data", "model", "algorithm", "epsilon")


def auc_of_clipping(keys: Mapping[str, Any]) -> float | None:
    """Return the AUC of a cell's run with its clipping and without noise; None where it was not measured."""
    return _clipped().get(tuple(key_text(keys[key]) for key in CLIPPED_KEYS))


@cache
def _clipped() -> dict[tuple[str, ...], float]:
    if not CLIPPED_FILE.exists():
        return {}
    with CLIPPED_FILE.open(encoding="utf-8", newline="") as stream:
        return {tuple(row[key] for key in CLIPPED_KEYS): float(row["AUC"]) for row in csv.DictReader(stream)}


def measure_clipping(plan: Mapping[str, Any], seed: int = 0) -> float:
    """Return the test AUC, in per cent, of a run with the clipping of certified noise and no noise."""
    from dpcheck.experiments import auc_runs
    from dpcheck.problems.auc import auc_score
    from dpcheck.running.executor import one_blas_thread

    with one_blas_thread():
        train, (X, y) = auc_runs.parts(dict(plan), CERTIFIED, seed)
        problem = auc_runs.problem_of(dict(plan), *train, seed)
        noisy: Any = auc_runs.solver_of(dict(plan), problem, CERTIFIED, seed)
        silent = {name: 0.0 for name in ("sigma", "sigma_w", "sigma_v") if hasattr(noisy, name)}
        x = replace(noisy, **silent).run(problem, seed=seed).x
        return 100 * auc_score(auc_runs.scores(problem, x, X), y)


def _write_clipped(cells: tuple[Cell, ...]) -> None:
    known = dict(_clipped())
    for cell in cells:
        name = tuple(key_text(cell.keys[key]) for key in CLIPPED_KEYS)
        if name in known or CERTIFIED not in cell.noises or "epochs" not in cell.plan or cell.not_run:
            continue
        known[name] = measure_clipping(cell.plan)
        print(*name, f"{known[name]:.6g}", file=sys.stderr, flush=True)
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*CLIPPED_KEYS, "AUC"])
        writer.writerows([*key, f"{value:.6g}"] for key, value in known.items())
        write_text(CLIPPED_FILE, stream.getvalue())


if __name__ == "__main__":
    from dpcheck.experiments.yang2022 import TABLE_2

    _write_clipped(TABLE_2.cells)
