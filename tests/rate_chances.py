"""The chance that a rate of correct code comes out red, for each finding that an experiment yields.

``python tests/rate_chances.py MEASURED.csv`` measures every experiment at several seeds and appends what it measured,
experiment by experiment, and counts gradients as often (Table 2 of Zhang et al. 2022); it goes on where it was
stopped. ``--table`` draws both looks of the check from all those measurements again and again and writes
``tests/measured/rate_chances.csv``, where the rows of what was not measured stay:

- ``first``, ``second``: the share of draws whose verdict is not the expected one, by the first look's number of
  measurements, and by those of both looks together;
- ``red``: the share of draws that end red: the first look decides for another verdict, or it leaves the verdict open
  and both looks together do not give the expected one;
- ``chance``: of red at the end; ``red``, where it is not 0. Else it is an estimate: a confidence limit q standard
  errors from an estimate that is z + q of them from the margin on average crosses it with the normal tail beyond z.
  With four times the measurements, those are 2 (z + q) standard errors, so that the tail begins at 2 z + q; q is at
  least 1.6 in every comparison. No share at the first look is taken for less than 3 in all draws, which is what 0 of
  them leave possible at 95 %.

The measurements at hand bend by chance, and draws from them bend by as much again: the shares are rather too large.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd

SEEDS, DRAWS = (100, 101), 400
COLUMNS = ["algorithm", "experiment", "seed", "cell", "value"]
_LIMIT = 1.6  # standard errors from an estimate to the nearest of the confidence limits that decide
_NORMAL = NormalDist()


def measure(path: Path, algorithms: list[str], jobs: int) -> None:
    """Each experiment's first look and as much again at each seed, where the file does not hold them yet."""
    from dpcheck.catalogue.zhang2022.rate_table_2 import counted
    from dpcheck.checks.context import Context
    from dpcheck.checks.rate_points import more, points
    from dpcheck.checks.rates import experiments

    for experiment in experiments():
        for seed in _missing(path, experiment.algorithm, experiment.name, algorithms):
            context = Context(seed=seed, jobs=jobs)
            found = points(experiment, context)
            found = more(experiment, context, found, 1, 1) if len(found[0].values) else []
            cells = [(json.dumps(dict(point.cell)), value) for point in found for value in point.values]
            _append(path, experiment.algorithm, experiment.name, seed, cells)
    for line in _lines(algorithms):  # of counted gradients
        name = line.id.partition(".")[0]
        for seed in _missing(path, name, line.id, []):
            context = Context(seed=seed, jobs=jobs)
            cells = [(cell.key, value) for cell in line.cells for value in counted(cell, context, 2 * line.runs)]
            _append(path, name, line.id, seed, cells)


def _missing(path: Path, algorithm: str, experiment: str, algorithms: list[str]) -> list[int]:
    """The seeds at which an experiment is to be measured and is not in the file."""
    if algorithms and algorithm not in algorithms:
        return []
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
    of = known[(known.algorithm == algorithm) & (known.experiment == experiment)]
    return [seed for seed in SEEDS if seed not in set(of.seed)]


def _append(path: Path, algorithm: str, experiment: str, seed: int, cells: list[tuple[str, float]]) -> None:
    rows = [[algorithm, experiment, seed, *cell] for cell in cells]
    pd.DataFrame(rows, columns=COLUMNS).to_csv(path, mode="a", header=not path.exists(), index=False)
    print(f"{algorithm}: {experiment}, seed {seed}", flush=True)


def table(path: Path) -> None:
    """The chances, from what was measured."""
    import tables

    from dpcheck.checks.rates import experiments

    measured = pd.read_csv(path)
    rows = []
    for experiment in experiments():
        of = measured[(measured.algorithm == experiment.algorithm) & (measured.experiment == experiment.name)]
        if len(of):
            rows += chances(experiment, of)
    for line in _lines():
        of = measured[measured.experiment == line.id]
        if len(of):
            rows.append(chances_of_counts(line, of))
    frame = pd.DataFrame(rows)
    before = tables.read("rate_chances")
    frame = pd.concat([before[~before.finding.isin(frame.finding)], frame])  # what was not measured again stays
    tables.write("rate_chances", frame)
    print(frame.to_string())
    print(f"all together: {frame.chance.sum():.2g}")


def chances(experiment, measured: pd.DataFrame) -> list[dict]:
    """A row for each finding of one experiment; ``measured`` holds its measurements at all seeds."""
    from dpcheck.checks.context import Context
    from dpcheck.checks.expected import expected_verdicts
    from dpcheck.checks.rate_points import unmeasured
    from dpcheck.checks.rates import _MORE, _judged, _undecided

    context = Context()
    seeds = experiment.grid.seeds
    known = unmeasured(experiment, experiment.grid.cells, context)
    pools = [measured[measured.cell == json.dumps(dict(point.cell))].value.to_numpy() for point in known]
    rng = np.random.default_rng(context.seed)
    shares: dict[str, list[tuple[bool, bool, bool]]] = {}
    for _ in range(DRAWS):
        drawn = [rng.choice(pool, (1 + _MORE) * seeds) for pool in pools]
        (ones, factors), (twos, _) = (
            _judged(experiment, [replace(p, values=v[:size]) for p, v in zip(known, drawn, strict=True)])
            for size in (seeds, (1 + _MORE) * seeds)
        )
        over = not _undecided(experiment, ones, factors)  # the check ends with the first look
        for one, two in zip(ones, twos, strict=True):
            expected = expected_verdicts().get(one.id, "").split(" or ")
            first, second = one.verdict not in expected, two.verdict not in expected
            shares.setdefault(one.id, []).append((first, second, first if over else second))
    return [_row(id, np.array(found)) for id, found in shares.items()]


def chances_of_counts(line, measured: pd.DataFrame) -> dict:
    """The row of one line of counted gradients."""
    from dpcheck.catalogue.zhang2022.rate_table_2 import DECIDED, MORE, judged
    from dpcheck.checks.expected import expected_verdicts

    pools = [measured[measured.cell == cell.key].value.to_numpy() for cell in line.cells]
    rng = np.random.default_rng(0)
    expected = expected_verdicts().get(line.id, "").split(" or ")
    found = []
    for _ in range(DRAWS):
        drawn = [_drawn(pool, rng, MORE * line.runs) for pool in pools]
        first, second = (judged(line, [v[:size] for v in drawn])[0].verdict for size in (line.runs, MORE * line.runs))
        last = first if first in DECIDED else second
        found.append((first not in expected, second not in expected, last not in expected))
    return _row(line.id, np.array(found))


def _drawn(pool: np.ndarray, rng: np.random.Generator, size: int) -> np.ndarray:
    """Draw from the counts, the largest tenth from an exponential tail: more counts would reach further."""
    found, edge = rng.choice(pool, size).astype(float), np.quantile(pool, 0.9)
    beyond = found > edge
    if beyond.any():
        found[beyond] = edge + rng.exponential(np.mean(pool[pool > edge] - edge), beyond.sum())
    return found


def _lines(algorithms: list[str] | None = None) -> list:
    from dpcheck.catalogue.zhang2022 import rate_table_2 as zhang2022_table_2

    names = [name for name in zhang2022_table_2.STAGES if name in (algorithms or zhang2022_table_2.STAGES)]
    return [line for name in names for line in zhang2022_table_2.lines(name)]


def _row(id: str, found: np.ndarray) -> dict:
    from dpcheck.checks.expected import expected_verdicts

    first, second, red = found.mean(axis=0)
    away = -_NORMAL.inv_cdf(max(first, 3 / len(found)))
    return {
        "finding": id, "expected": expected_verdicts().get(id, ""), "draws": len(found), "first": first,
        "second": second, "red": red, "chance": max(red, _NORMAL.cdf(-2 * away - _LIMIT)),
    }  # fmt: skip


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path)
    parser.add_argument("--algorithm", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        table(options.measured)
    else:
        measure(options.measured, options.algorithm, options.jobs)


if __name__ == "__main__":
    main()
