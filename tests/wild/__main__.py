"""``python -m tests.wild [CASE ...]``: audit released libraries, and keep the table and the page of what was found.

Environments are installed once, into ``~/.cache/dpcheck-wild`` or the folder that DPCHECK_WILD names.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pandas as pd

from dpcheck.audits.running.other_python import OtherPython

sys.path.insert(0, str(Path(__file__).parents[1]))
import tables
from wild import page
from wild.case import Case, Outcome, cases
from wild.environment import NotInstalledError, interpreter


def _row(case: Case, version: str) -> dict[str, object]:
    row: dict[str, object] = {
        "case": case.name, "library": case.library, "version": version,
        "role": "affected" if version == case.affected else "mended",
    }  # fmt: skip
    try:
        python = interpreter(case.requirements(version), case.python)
    except NotInstalledError as error:
        return row | vars(Outcome("does not install", float("nan"), float("nan"), str(error))) | {"seconds": 0.0}
    started = time.perf_counter()
    outcome = case.audit(lambda name: OtherPython(python, f"{case.path}:{name}"))
    return row | vars(outcome) | {"seconds": round(time.perf_counter() - started, 1)}


def main(names: list[str]) -> int:
    known = cases()
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; the cases are {', '.join(known)}", file=sys.stderr)
        return 2
    chosen, good = names or list(known), True
    kept = pd.DataFrame() if not page.TABLE.exists() else tables.read("wild")
    rows = [] if kept.empty else kept[~kept.case.isin(chosen) & kept.case.isin(known)].to_dict("records")
    for name in chosen:
        case = known[name]
        for version in case.versions:
            row = _row(case, version)
            rows.append(row)
            tables.write("wild", pd.DataFrame(rows).sort_values(["case", "role"], kind="stable"))
            expected = case.expected if version == case.affected else "consistent"
            as_expected = row["verdict"] in (expected, "does not install")
            good &= as_expected
            numbers = f"{row['measured']:.4g} of {row['claimed']:.4g}, {row['seconds']:.0f} s"
            wrong = "" if as_expected else f" (EXPECTED {expected})"
            print(f"{name} {version}: {row['verdict']}{wrong}: {numbers}; {row['part']}", flush=True)
    page.write()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
