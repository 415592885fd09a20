"""What the rows say together: how many are killed, by what, how many findings name the part, which survive and why."""

from __future__ import annotations

from collections.abc import Sequence

from .mutant import HARMLESS, Mutant
from .run import KILLED, Table

RED, NAMED = 0.95, 0.80  # the least share of mutants that are killed, and of red findings that name the part
SAME = "same behaviour"  # begins the reason of a survivor that changes nothing


def tally(known: Sequence[Mutant], table: Table, area: str) -> tuple[str, bool]:
    """The report, and whether it is as it should be; a mutant without a row counts as not run."""
    rows = [row for row in map(table.row, known) if row]
    lines = [f"{len(rows)} of {len(known)} mutants run, in {sum(float(row['seconds']) for row in rows):.0f} s"]
    survivors = [row for row in rows if row["outcome"] not in KILLED]
    if area == HARMLESS:
        bad = [f"  {row['name']}: {row['outcome']} {row['id']} {row['reason']}" for row in rows if row not in survivors]
        return "\n".join([*lines, f"{len(bad)} with another verdict than the code as it is", *bad]), not bad
    same = [row for row in survivors if row["survives"].startswith(SAME)]
    changing = len(rows) - len(same)
    by = {word: [row for row in rows if row["outcome"] == word] for word in KILLED}
    killed = sum(map(len, by.values()))
    named = sum(int(row["naming"]) > 0 for row in by["red"])
    lines += [
        f"{killed} of the {changing} that change behaviour are killed ({_share(killed, changing)}): {len(by['test'])} "
        f"by a test, {len(by['red'])} by a finding of the check, {len(by['error'])} because the check raises",
        *([f"{named} of these findings name the faulty part ({_share(named, len(by['red']))})"] if not area else []),
        f"{len(survivors)} survive:",
        *(f"  {row['name']}: {row['definition']} ({row['outcome']}): {row['survives'] or 'NOT EXPLAINED'}"
          for row in survivors),
    ]  # fmt: skip
    if not area:
        unnamed = (row for row in by["red"] if int(row["naming"]) == 0)
        lines += ["findings that do not name the part:", *(f"  {row['name']}: {row['id']}" for row in unnamed)]
    good = killed >= RED * changing and (bool(area) or named >= NAMED * len(by["red"]))
    return "\n".join(lines), good and all(row["survives"] for row in survivors)


def _share(some: int, every: int) -> str:
    return f"{some / max(every, 1):.1%}"
