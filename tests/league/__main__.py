"""``python -m tests.league [--entrant E] [--case C] [--runs N]``: audit the same runs with every auditor.

A row of the table is one entrant on one case with one number of runs, over the same seeds for all; rows that are there
are kept, and a row is written as it ends. Every option can be repeated; a case can be the first word of a group.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from league import page, table
from league.case import cases
from league.entrant import entrants
from wild.environment import NotInstalledError

RUNS = (1_000, 10_000, 100_000)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.league", description="Audit the same runs with all auditors."
    )
    parser.add_argument("--entrant", action="append", choices=list(entrants()))
    parser.add_argument("--case", action="append", help="a case, or the first word of a group")
    parser.add_argument("--runs", action="append", type=int)
    parser.add_argument("--again", action="store_true", help="measure rows that are there, too")
    asked = parser.parse_args(arguments)
    chosen = [c for c in cases().values() if not asked.case or {c.name, c.name.split()[0]} & set(asked.case)]
    if not chosen:
        parser.error(f"no such case; there are {', '.join(cases())}")
    for name in asked.entrant or list(entrants()):
        entrant = entrants()[name]
        try:
            process = entrant.start()
        except (NotInstalledError, OSError) as error:
            print(f"{name} is left out: {error}", flush=True)
            continue
        for runs in asked.runs or RUNS:
            for case in chosen:
                if asked.again or not table.has(name, case.name, runs):
                    row = table.measured(entrant, process, case, runs)
                    if row is not None:
                        table.add(row)
                        shown = {key: row[key] for key in ("seeds", "found", "above", "bound", "seconds", "why")}
                        print(name, case.name, runs, *(f"{key} {value}" for key, value in shown.items()), flush=True)
    page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
