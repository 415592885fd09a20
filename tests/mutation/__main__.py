"""``python -m tests.mutation`` from the root: run mutants, keep the table, print the tally."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from threading import Lock

from .definitions import Sources
from .fresh import FRESH, drawn
from .mutant import HARMLESS, ROOT, Mutant, mutants
from .run import KILLED, Bench, Table

TABLES = {"": "mutants.csv", HARMLESS: "harmless_edits.csv", FRESH: "fresh_mutants.csv"}
LEAST, NAMED = 0.95, 0.80  # shares of mutants that are killed, and of red findings that name the part
SAME = "same behaviour"  # begins the reason of a survivor that changes nothing


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
    for mutant in known:
        sources.edited(mutant.edits, mutant.name)  # so that one that no longer fits stops the run before it begins
    if not options.tally:
        _run([mutant for mutant in wanted if options.again or not table.row(mutant)], table, sources, options)
    report, good = tally(known, table, area)
    print(report)
    return int(not good)


def _run(wanted: list[Mutant], table: Table, sources: Sources, options: argparse.Namespace) -> None:
    roots = [Path(path).resolve() for path in options.tests if not options.harmless]
    files = [file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("test_*.py")))]
    groups: dict[object, list[Mutant]] = {}
    for mutant in wanted:  # harmless edits of one check go together
        groups.setdefault((mutant.check, mutant.seed) if options.harmless else mutant.name, []).append(mutant)
    waiting, lock = iter(list(groups.values())), Lock()

    def work(number: int) -> None:
        folder = Path(tempfile.gettempdir(), f"dpcheck-mutation{ROOT.as_posix().replace('/', '-')}", str(number))
        bench = Bench(folder, options.limit, sources)
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


def tally(known: Sequence[Mutant], table: Table, area: str) -> tuple[str, bool]:
    """The report, and whether it is as it should be; a mutant without a row counts as not run."""
    rows = [row for row in map(table.row, known) if row]
    lines = [f"{len(rows)} of {len(known)} mutants run, in {sum(float(row['seconds']) for row in rows):.0f} s"]
    test, red, error = ([row for row in rows if row["outcome"] == outcome] for outcome in KILLED)
    survivors = [row for row in rows if row["outcome"] not in KILLED]
    if area == HARMLESS:
        lines += [f"not green: {row['name']}: {row['id']}" for row in rows if row["outcome"] != "survived"]
        return "\n".join(lines), len(lines) == 1
    changing = len(rows) - sum(row["survives"].startswith(SAME) for row in survivors)
    killed, unnamed = len(rows) - len(survivors), [row["name"] for row in red if row["naming"] == "0" and not area]
    lines += [
        f"{killed} of the {changing} that change behaviour are killed: {len(test)} by a test, {len(red)} by a finding "
        f"of the check, {len(error)} because the check raises",
        f"{len(unnamed)} findings do not name the faulty part: {'; '.join(unnamed)}",
        f"{len(survivors)} survive:",
    ]
    for row in survivors:
        reason = row["survives"] or "NOT EXPLAINED"
        lines.append(f"  {row['name']} ({row['outcome']}): {row['definition']}: {row['edit']}: {reason}")
    good = killed >= LEAST * changing and len(unnamed) <= (1 - NAMED) * len(red)
    return "\n".join(lines), good and all(row["survives"] for row in survivors)


if __name__ == "__main__":
    sys.exit(main())
