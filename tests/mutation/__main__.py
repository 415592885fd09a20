"""``python -m tests.mutation`` from the root: run mutants, keep the table, print the tally."""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from threading import Lock

from .definitions import Sources
from .fresh import FRESH, drawn
from .mutant import HARMLESS, ROOT, Mutant, mutants
from .run import Bench, Table
from .tally import tally

TABLES = {"": "mutants.csv", HARMLESS: "harmless_edits.csv", FRESH: "fresh_mutants.csv"}


def main() -> int:
    """Run what the options choose; 0 where the tally is as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=main.__doc__)
    add = parser.add_argument
    add("--only", nargs="+", default=["*"], metavar="GLOB", help="names or area/name; modules of fresh mutants")
    add("--harmless", action="store_true", help="the edits that must change no verdict")
    add("--fresh", type=int, metavar="SEED", help="mutants drawn anew in place of the lists")
    add("--count", type=int, default=20, metavar="N", help="how many are drawn")
    add("--by", choices=["both", "pytest", "check"], default="both", help="what may kill")
    add("--tests", nargs="+", default=["tests"], metavar="PATH", help="files or folders of tests to choose from")
    add("--jobs", type=int, default=1, help="copies that are run at a time")
    add("--limit", type=float, default=600.0, help="seconds that tests have, and the check")
    add("--again", action="store_true", help="run also what the table has")
    add("--tally", action="store_true", help="run nothing")
    add("--table", type=Path, help="by default one of tests/measured")
    options = parser.parse_args()
    area, sources = HARMLESS if options.harmless else "" if options.fresh is None else FRESH, Sources()
    table = Table(options.table or ROOT / "tests" / "measured" / TABLES[area])

    def chosen(*names: str) -> bool:
        return any(fnmatch(name, glob) for name in names for glob in options.only)

    known = drawn(options.fresh, options.count, sources, chosen) if area == FRESH else mutants(area)
    wanted = [mutant for mutant in known if area == FRESH or chosen(mutant.name, f"{mutant.area}/{mutant.name}")]
    if not options.tally:
        _run([mutant for mutant in wanted if options.again or not table.row(mutant)], table, sources, options)
    report, good = tally(known, table, area)
    print(report)
    return 0 if good else 1


def _run(wanted: list[Mutant], table: Table, sources: Sources, options: argparse.Namespace) -> None:
    roots = [Path(path).resolve() for path in options.tests if not options.harmless]
    files = [file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("test_*.py")))]
    groups: dict[object, list[Mutant]] = {}
    for mutant in wanted:  # harmless edits of one check go together
        groups.setdefault((mutant.check, mutant.seed) if options.harmless else mutant.name, []).append(mutant)
    waiting, lock = iter(list(groups.values())), Lock()

    def work(number: int) -> None:
        bench = Bench(Path(tempfile.gettempdir(), "dpcheck-mutation", str(number)), options.limit, sources)
        for group in waiting:
            steps = table.steps(group[0], sources, [file.relative_to(ROOT).as_posix() for file in files])
            rows = bench.run(group, [step for step in steps if options.by in ("both", "pytest" if step else "check")])
            with lock:
                for row in rows:
                    table.add(row)
                    print(f"{row['outcome']:9}{row['seconds']:6.1f} s  {row['name']}: {row.get('id')}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            list(pool.map(work, range(options.jobs)))
        finally:
            list(waiting)  # what an interrupt or an error leaves is not begun


if __name__ == "__main__":
    sys.exit(main())
