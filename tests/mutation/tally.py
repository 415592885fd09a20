"""What the rows say together: how many are killed, by what, how many findings name the part, which survive and why."""

from __future__ import annotations

from collections.abc import Sequence

from .mutant import HARMLESS, Mutant
from .run import KILLED, Table

LEAST, NAMED = 0.95, 0.80  # shares of mutants that are killed, and of red findings that name the part
SAME = "same behaviour"  # begins the reason of a survivor that changes nothing


def tally(known: Sequence[Mutant], table: Table, area: str) -> tuple[str, bool]:
    """The report, and whether it is as it should be; a mutant without a row counts as not run."""
    rows = [row for row in map(table.row, known) if row]
    lines = [f"{len(rows)} of {len(known)} mutants run, in {sum(float(row['seconds']) for row in rows):.0f} s"]
    test, red, error = ([row for row in rows if row["outcome"] == outcome] for outcome in KILLED)
    survivors = [row for row in rows if row["outcome"] not in KILLED]
    if area == HARMLESS:
        lines += [f"not green: {row['name']}: {row['id']}" for row in (*test, *red, *error)]
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
    explained = all(row["survives"] for row in survivors)
    return "\n".join(lines), explained and killed >= LEAST * changing and len(unnamed) <= (1 - NAMED) * len(red)
