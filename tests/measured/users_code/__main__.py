"""Faults planted in users' code: found or not, the part named, the line given, seconds. A table in Markdown, or CSV.

    python tests/measured/users_code [--only WORD] [--csv FILE]

What needs torch or JAX is left out where they are not installed.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
MODULES = {"loops": "numpy", "steps": "numpy", "queries": "numpy", "with_jax": "jax", "with_torch": "torch"}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name, kind or way holds this word")
    parser.add_argument("--csv", type=Path, help="also write the table there")
    options = parser.parse_args()
    for module, needed in MODULES.items():
        if importlib.util.find_spec(needed):
            importlib.import_module(module)
    from case import CASES

    rows = []
    for case in CASES:
        if options.only in f"{case.name} {case.kind} {case.way.__name__}":
            rows.append(case.look())
            row = rows[-1]
            print(f"| {row['case']} | {row['kind']} | {row['way']} | " + " | ".join(
                [("yes" if row[key] is True else "no" if row[key] is False else str(row[key])) for key in
                 ("found", "part", "line", "seconds")]) + " |", flush=True)  # fmt: skip
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    faults, twins = ([row for row in rows if row["fault"] is kind] for kind in (True, False))
    both = sum(bool(row["part"] and row["line"]) for row in faults)
    print(
        f"\n{len(faults)} faults: {sum(row['found'] for row in faults)} found, {both} with part and line, "
        f"{sum(row['line'] == 'fault' for row in faults)} with the line at fault; "
        f"{len(twins)} clean twins: {sum(row['found'] for row in twins)} alarms"
    )
    for row in rows:
        if row["found"] is not row["fault"] or (row["fault"] and not (row["part"] and row["line"])):
            print(f"- {row['case']}: {row['said']}")


if __name__ == "__main__":
    main()
