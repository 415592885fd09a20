"""Fill the results that come with the package: ``python -m dpcheck.experiments.keeping FOLDER EXPERIMENT [CELLS]``.

Runs what the store in FOLDER does not have, one run at a time, and writes ``kept/EXPERIMENT.csv`` after each cell.
CELLS are those of ``dpcheck reproduce --only``.
"""

from __future__ import annotations

import sys

from dpcheck.experiments import find, kept
from dpcheck.experiments.runner import chosen, run_all, trials


def keep(folder: str, name: str, only: str | None = None) -> None:
    """Run the cells and write each into the kept results when it is finished."""
    experiment = find(name)
    for cell in chosen(experiment, only):
        results = run_all(experiment, trials(experiment, [cell], experiment.seeds), folder=folder, jobs=1)
        kept.write(experiment, results)
        print(f"{name}: {cell.name} is kept", file=sys.stderr, flush=True)


if __name__ == "__main__":
    keep(*sys.argv[1:4])
