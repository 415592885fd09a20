"""The share of fresh seeds at which each factor that is called attained comes out as attained.

``python tests/rate_shares.py [MEASURED.csv ...]`` draws both looks of the check again and again and writes
``tests/measured/rate_shares.csv``. What is drawn from is what the package ships of seed 0, and the measurements in the
files, of columns algorithm, experiment, seed, cell, value, as ``tests/rate_chances.py`` writes them at other seeds.

What was measured is taken for the law. It bends by chance, the more the fewer measurements there are, and draws from it
bend by as much again: shares are rather too small where few were measured, and their own standard error is .06 at .8.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import dpcheck.checks.shipped as shipped
from dpcheck.checks.context import Context, portions
from dpcheck.checks.experiment import Experiment
from dpcheck.checks.rate_words import judged
from dpcheck.checks.rates import _CONFIDENCE, _MORE, Point, _batch, _frame, _known, _slopes, experiments

DRAWS = 40


def of_seed_0(experiment: Experiment, known: list[Point]) -> list[np.ndarray]:
    """What the package ships of each grid point, of both looks where there were two."""
    chunks, context, found = shipped._read(shipped.MEASUREMENTS)["chunks"], Context(), []
    for number, point in enumerate(known):
        values: list[float] = []
        for look, times in ((0, 1), (1, _MORE)):
            stream = (number, look) if look else (number,)
            batch = _batch(experiment, point, times * experiment.grid.seeds, context, stream)
            for portion in portions(batch.trials, batch.chunk, batch.seed):
                values += chunks.get(shipped.name_of(context._key(batch, portion)), [])
        found.append(np.array(values))
    return found


def words(experiment: Experiment, points: list[Point]) -> dict[str, tuple[str, bool]]:
    """The word of each factor at one look, and whether another look is taken for it."""
    order = _slopes(experiment, points, "order")
    return {
        each.name: (each.word, each.open)
        for each in judged(_frame(points), "measured", order, confidence=_CONFIDENCE)[0]
    }


def shares(experiment: Experiment, known: list[Point], pools: list[np.ndarray], draws: int = DRAWS) -> dict[str, float]:
    """The share of draws in which each factor is attained at the end."""
    rng, seeds, count = np.random.default_rng(0), experiment.grid.seeds, dict[str, int]()
    for _ in range(draws):
        drawn = [rng.choice(pool, (1 + _MORE) * seeds) for pool in pools]
        for size in (seeds, (1 + _MORE) * seeds):
            found = words(experiment, [replace(p, values=v[:size]) for p, v in zip(known, drawn, strict=True)])
            if not any(again for _, again in found.values()):
                break
        for name, (word, _) in found.items():
            count[name] = count.get(name, 0) + (word == "attained")
    return {name: times / draws for name, times in count.items()}


def main() -> None:
    """The command."""
    import tables

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path, nargs="*")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    others = pd.concat([pd.read_csv(path) for path in options.measured]) if options.measured else None
    rates, rows = tables.read("rates"), []
    for experiment in experiments():
        of = rates[(rates.algorithm == experiment.algorithm) & (rates.experiment == experiment.name)]
        attained = set(of[of.verdict == "attained"].factor)
        if not attained or (options.only and experiment.name not in options.only):
            continue
        known = [_known(experiment, cell) for cell in experiment.grid.cells]
        pools = of_seed_0(experiment, known)
        if others is not None:
            here = others[(others.algorithm == experiment.algorithm) & (others.experiment == experiment.name)]
            cells = here.cell.map(lambda text: json.dumps(json.loads(text), sort_keys=True))
            pools = [
                np.append(pool, here[cells == json.dumps(dict(point.cell), sort_keys=True)].value)
                for pool, point in zip(pools, known, strict=True)
            ]
        fewest = min(map(len, pools))
        found = shares(experiment, known, pools) if fewest else {}
        rows += [
            {
                "algorithm": experiment.algorithm, "experiment": experiment.name, "factor": factor,
                "first_look": experiment.grid.seeds, "measurements": fewest, "draws": DRAWS,
                "attained": found.get(factor),
            }
            for factor in of.factor if factor in attained
        ]  # fmt: skip
        print(*rows[-len(attained) :], sep="\n", flush=True)
    if not options.only:
        tables.write("rate_shares", pd.DataFrame(rows))


if __name__ == "__main__":
    main()
