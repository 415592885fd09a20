"""``python -m tests.mutation`` from the root: run mutants, keep the table, print the tally."""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from queue import SimpleQueue
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
    parser.add_argument("--only", nargs="+", default=["*"], metavar="GLOB",
                        help="names, or area/name; of fresh mutants the modules, such as dpcheck.audits.*")  # fmt: skip
    parser.add_argument("--harmless", action="store_true", help="the edits that must change no verdict")
    parser.add_argument("--fresh", type=int, metavar="SEED", help="mutants drawn anew in place of the lists")
    parser.add_argument("--count", type=int, default=20, metavar="N", help="how many are drawn")
    parser.add_argument("--by", choices=["both", "pytest", "check"], default="both", help="what may kill")
    parser.add_argument("--tests", nargs="+", default=["tests"], metavar="PATH", help="files or folders of tests")
    parser.add_argument("--files", type=int, default=8, metavar="N", help="files of tests that a mutant is tried on")
    parser.add_argument("--jobs", type=int, default=1, help="copies that are run at a time")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that tests and check of a mutant have each")
    parser.add_argument("--again", action="store_true", help="run also what the table has")
    parser.add_argument("--tally", action="store_true", help="run nothing")
    parser.add_argument("--table", type=Path, help="by default one of tests/measured")
    options = parser.parse_args()
    area, sources = HARMLESS if options.harmless else "" if options.fresh is None else FRESH, Sources()
    table = Table(options.table or ROOT / "tests" / "measured" / TABLES[area])

    def chosen(*names: str) -> bool:
        return any(fnmatch(name, glob) for name in names for glob in options.only)

    if area == FRESH:
        known = wanted = drawn(options.fresh, options.count, sources, chosen)
    else:
        known = mutants(area)
        wanted = [mutant for mutant in known if chosen(mutant.name, f"{mutant.area}/{mutant.name}")]
    if not options.tally:
        _run([mutant for mutant in wanted if options.again or not table.row(mutant)], table, sources, options)
    report, good = tally(known, table, area)
    print(report)
    return 0 if good else 1


def _run(wanted: list[Mutant], table: Table, sources: Sources, options: argparse.Namespace) -> None:
    roots = [Path(path).resolve() for path in options.tests if options.by != "check" and not options.harmless]
    files = [file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("test_*.py")))]
    tests = [file.relative_to(ROOT).as_posix() for file in files]
    free, lock = SimpleQueue[Bench](), Lock()
    for number in range(options.jobs):
        free.put(Bench(Path(tempfile.gettempdir(), "dpcheck-mutation", str(number)), options.limit, sources))

    def one(group: list[Mutant]) -> None:
        bench = free.get()
        likely = table.tests(group[0], sources, tests)[: options.files]
        try:
            rows = bench.run(group, likely, None if options.by == "pytest" else table.row(group[0]))
        finally:
            free.put(bench)
        with lock:
            for row in rows:
                table.add(row)
                print(f"{row['outcome']:9}{row['seconds']:6.1f} s  {row['name']}: {row.get('id')}", flush=True)

    groups: dict[object, list[Mutant]] = {}
    for mutant in wanted:  # harmless edits of one check go together
        groups.setdefault((mutant.check, mutant.seed) if options.harmless else mutant.name, []).append(mutant)
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            list(pool.map(one, groups.values()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


if __name__ == "__main__":
    sys.exit(main())
