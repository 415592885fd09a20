"""``python -m tests.mutation`` from the root: run mutants, keep the table, print the tally."""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from .mutant import HARMLESS, ROOT, Mutant, mutants
from .run import Bench, Table
from .tally import tally


def main() -> int:
    """Run what the options choose; 0 where the tally is as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=main.__doc__)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="GLOB", help="names, or area/name")
    parser.add_argument("--harmless", action="store_true", help="the edits that must change no verdict")
    parser.add_argument("--jobs", type=int, default=1, help="copies that are checked at a time")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that one mutant has")
    parser.add_argument("--again", action="store_true", help="run also what the table has")
    parser.add_argument("--tally", action="store_true", help="run nothing")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "dpcheck-mutation")
    parser.add_argument("--table", type=Path, help="tests/measured/mutants.csv, or harmless_edits.csv, by default")
    given = parser.parse_args()
    name = "harmless_edits.csv" if given.harmless else "mutants.csv"
    table = Table(given.table or ROOT / "tests" / "measured" / name)
    known = mutants(HARMLESS) if given.harmless else mutants()
    chosen = [
        each for each in known
        if any(fnmatch.fnmatch(name, glob) for name in (each.name, f"{each.area}/{each.name}") for glob in given.only)
        and (given.again or not table.has(each))
    ]  # fmt: skip
    if not given.tally:
        _run(chosen, table, given)
    report, good = tally(known, table.rows, harmless=given.harmless)
    print(report)
    return 0 if good else 1


def _run(chosen: list[Mutant], table: Table, given: argparse.Namespace) -> None:
    benches: SimpleQueue[Bench] = SimpleQueue()
    made = [Bench(given.folder / f"job-{number}", given.limit) for number in range(given.jobs)]
    for bench in made:
        benches.put(bench)
    lock = Lock()

    def one(group: list[Mutant]) -> None:
        bench = benches.get()
        try:
            rows = bench.run(group)
        finally:
            benches.put(bench)
        with lock:
            for row in rows:
                table.add(row)
                print(f"{row.outcome:9}{row.seconds:6.1f} s  {row.name}: {row.id} {row.reason[:150]}", flush=True)

    groups: dict[object, list[Mutant]] = {}
    for each in chosen:  # harmless edits of one check go together
        groups.setdefault((each.check, each.seed) if given.harmless else each.name, []).append(each)
    with ThreadPoolExecutor(given.jobs) as pool:
        try:
            list(pool.map(one, groups.values()))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
        finally:
            for bench in made:
                bench.close()


if __name__ == "__main__":
    sys.exit(main())
