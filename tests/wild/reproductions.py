"""``python -m tests.wild.reproductions [CASE ...]``: run the reports on open faults, and keep what they print.

A report is ``reports/CASE.py``: words for maintainers, and a script that needs the library and NumPy alone.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
import tables
from wild import page
from wild.case import OPEN, cases
from wild.environment import interpreter


def main(names: list[str]) -> int:
    known = {name: case for name, case in cases().items() if case.mended == OPEN and case.report.exists()}
    chosen = names or list(known)
    kept = tables.read("wild_reports").to_dict("records") if page.REPORTS.exists() else []
    rows = [row for row in kept if row["case"] in known and row["case"] not in chosen]
    for name in chosen:
        case = known[name]
        python = interpreter(case.requirements(case.affected), case.python)
        ended = subprocess.run([python, "-W", "ignore", case.report], capture_output=True, text=True, check=True)
        printed = "; ".join(ended.stdout.strip().splitlines())
        print(f"{name} {case.affected}: {printed}", flush=True)
        rows.append({"case": name, "version": case.affected, "printed": printed})
        tables.write("wild_reports", pd.DataFrame(rows).sort_values("case"))
    page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
