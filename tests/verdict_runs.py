"""Whole runs of the check at many seeds, on several processors if asked: which verdict each finding had in each.

``python tests/verdict_runs.py RUNS.csv --seeds 20`` appends a row a finding, algorithm by algorithm, and goes on where
it was stopped. ``--processor generic`` compiles for the least processor of this kind in place of this one, and gives
BLAS its oldest kernels. ``--table`` adds each whole run, of all algorithms, to ``tests/measured/verdicts.csv``: a row a
finding, a column a run. What that table has is not run again. Claims are left out: their verdicts depend on no seed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROCESSORS = {
    "native": {},
    "generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "OPENBLAS_CORETYPE": "Prescott"},
}
COLUMNS = ("seed", "processor", "algorithm", "id", "kind", "verdict", "audited", "seconds")


def measure(path: Path, seeds: range, processor: str, algorithms: list[str], jobs: int) -> None:
    """One algorithm at one seed after the other; what is in the file already is not run again."""
    import pandas as pd

    from dpcheck.checks import stages
    from dpcheck.checks.context import Context
    from dpcheck.checks.subject import Record
    from dpcheck.solvers import ALGORITHMS

    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
    done = set(zip(known.seed, known.processor, known.algorithm, strict=True))
    kept = set(_kept().columns)
    for seed in seeds:
        if f"{processor} {seed}" in kept:
            continue
        for name in algorithms or ALGORITHMS:
            if (seed, processor, name) in done:
                continue
            started, rows = time.perf_counter(), []
            for _, stage in stages(Context(seed=seed, jobs=jobs), Record(name), {}):
                rows += [[seed, processor, name, f.id, f.kind, f.verdict, f.audited] for f in stage()]
            seconds = round(time.perf_counter() - started, 1)
            found = pd.DataFrame([[*row, seconds] for row in rows], columns=COLUMNS)
            found.to_csv(path, mode="a", header=not path.exists(), index=False)
            print(f"seed {seed}, {processor}: {name}: {seconds} s", flush=True)


def table(path: Path) -> None:
    """Add the whole runs of a file to the kept table, and say which finding of which run is not the expected one."""
    import pandas as pd
    import tables

    from dpcheck.checks.expected import expected_verdicts
    from dpcheck.solvers import ALGORITHMS

    found = pd.read_csv(path)
    whole = found.groupby(["processor", "seed"]).filter(lambda run: set(run.algorithm) == set(ALGORITHMS))
    whole["run"] = whole.processor + " " + whole.seed.astype(str)
    wide = whole.pivot(index="id", columns="run", values="verdict").rename_axis(index="finding", columns=None)
    kept = _kept()
    wide = kept.join(wide[wide.columns.difference(kept.columns)], how="outer").sort_index()
    tables.write("verdicts", wide[sorted(wide.columns, key=_order)].reset_index())
    for id, verdicts in wide.iterrows():
        for run, verdict in verdicts.items():
            if verdict not in expected_verdicts().get(id, verdict).split(" or "):
                print(f"{run}: {id} is {verdict}, expected {expected_verdicts()[id]}")
    print(f"{wide.shape[1]} runs")


def _kept() -> Any:
    """The kept table, the findings its index; without columns where there is none."""
    import pandas as pd
    import tables

    if not (tables.FOLDER / "verdicts.csv").exists():
        return pd.DataFrame(index=pd.Index([], name="finding"))
    return tables.read("verdicts").set_index("finding")


def _order(run: str) -> tuple[str, int]:
    processor, seed = run.split()
    return processor, int(seed)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processor", choices=PROCESSORS, default="native")
    parser.add_argument("--algorithm", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        table(options.runs)
        return
    chosen = PROCESSORS[options.processor]
    if any(os.environ.get(name) != value for name, value in chosen.items()):  # read when NumPy and Numba start
        raise SystemExit(subprocess.run([sys.executable, *sys.argv], env={**os.environ, **chosen}).returncode)
    seeds = range(options.first, options.first + options.seeds)
    measure(options.runs, seeds, options.processor, options.algorithm, options.jobs)


if __name__ == "__main__":
    main()
