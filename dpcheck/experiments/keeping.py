"""Fill the results that come with the package.

    python -m dpcheck.experiments.keeping FOLDER EXPERIMENT [CELLS [NOISE]]

Runs what the store in FOLDER does not have, one run at a time, and writes ``kept/EXPERIMENT.csv`` after each cell.
CELLS are those of ``dpcheck reproduce --only``; NOISE is "published", "certified" or "none", all by default.
"""

from __future__ import annotations

import sys

from dpcheck.experiments import find, kept
from dpcheck.experiments.runner import chosen, run_all, trials


def keep(folder: str, name: str, only: str | None = None, noise: str | None = None) -> None:
    """Run the cells and write each into the kept results when it is finished."""
    experiment = find(name)
    for cell in chosen(experiment, only):
        asked = [trial for trial in trials(experiment, [cell]) if noise in (None, trial.noise)]
        kept.write(experiment, run_all(experiment, asked, folder=folder, jobs=1))
        print(f"{name}: {cell.name} is kept", file=sys.stderr, flush=True)


if __name__ == "__main__":
    keep(*sys.argv[1:5])
