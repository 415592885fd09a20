"""What the rows say together: how many turn red, how many findings name the part, which survive and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .mutant import Mutant

RED, NAMED = 0.95, 0.80  # the least share of mutants that turn red, and of red findings that name the part


def tally(known: Sequence[Mutant], rows: Mapping[str, Mapping[str, str]], *, harmless: bool) -> tuple[str, bool]:
    """The report, and whether it is as it should be; a mutant without a row counts as not run."""
    ran = [(each, rows[each.name]) for each in known if rows.get(each.name, {}).get("digest") == each.digest]
    lines = [f"{len(ran)} of {len(known)} edits run"]
    if harmless:
        bad = [f"  {row['name']}: {row['outcome']} {row['id']} {row['reason']}" for _, row in ran if not _green(row)]
        return "\n".join([*lines, f"{len(bad)} with another verdict than the code as it is", *bad]), not bad
    red = [(each, row) for each, row in ran if row["outcome"] in ("red", "error")]
    named = [row for _, row in red if int(row["naming"]) > 0]
    survivors = [(each, row) for each, row in ran if row["outcome"] not in ("red", "error")]
    raised = sum(row["outcome"] == "error" for _, row in red)
    lines += [
        f"{len(red)} turn the check red ({_share(red, ran)}), {raised} of them because it raises",
        f"{len(named)} of these name the faulty part ({_share(named, red)})",
        f"{len(survivors)} survive:",
        *(f"  {each.name} ({row['outcome']}, {row['stages']} stages): {each.survives or 'NOT EXPLAINED'}"
          for each, row in survivors),
        "red without a finding that names the part:",
        *(f"  {each.name}: {row['id']} {row['reason'][:100]}" for each, row in red if int(row["naming"]) == 0),
    ]  # fmt: skip
    explained = all(each.survives for each, _ in survivors)
    good = explained and len(red) >= RED * len(ran) and len(named) >= NAMED * len(red)
    return "\n".join(lines), good


def _green(row: Mapping[str, str]) -> bool:
    return row["outcome"] == "survived"


def _share(some: Sequence[object], all_: Sequence[object]) -> str:
    return f"{len(some) / max(len(all_), 1):.1%}"
