"""The method of each audit: its null hypothesis, from the docstring of its file, and the false alarms measured."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

import dpcheck
from book.links import ROOT

MEASURED = ROOT / "tests" / "measured"
AUDITS = {name: home for name, home in dpcheck._HOME.items() if name.startswith("audit_") or name == "fit_rate"}
ESTIMATORS = {
    "band_bound": "dpcheck.audits.bands",
    "split_bound": "dpcheck.audits.split", "gaussian_bound": "dpcheck.audits.gaussian",
    "credible_bound": "dpcheck.audits.bayesian",
}  # fmt: skip


@dataclass(frozen=True)
class Alarms:
    """How often an audit at level 5 % accused a mechanism that keeps its claim exactly."""

    mechanism: str
    claim: str
    trials: int
    audits: int
    alarms: int
    limit: float  # upper 97.5 % confidence limit on the share


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a measured table, none where there is no such table."""
    path = MEASURED / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def measured(name: str) -> list[Alarms]:
    """Return what the tables of false alarms hold of an audit."""
    return [
        Alarms(row["mechanism"], row["claim"], int(row["trials"]), int(row["repeats"]), int(row["alarms"]),
               float(row["upper_97.5"]))
        for row in (*table(f"false_alarms_{name}"), *table(f"false_alarms_further_{name}"))
    ]  # fmt: skip


def pages() -> dict[str, str]:
    """Return the page of methods."""
    parts = [
        _heading("How each audit decides", "="),
        "An audit tests a null hypothesis: that the mechanism keeps what is claimed of it. It says *violated* where "
        "the hypothesis is rejected, at level 1 - confidence. A false alarm is a mechanism that keeps its claim and is "
        "called violated all the same. The tables below were measured at confidence 0.95, on mechanisms that keep "
        "their claim exactly, where false alarms are most likely; a share above 5 % beyond chance would be an error.\n",
        *_whole_algorithms(),
    ]
    for name, module in sorted(AUDITS.items()):
        parts += _section(name, f"dpcheck.{name}", module)
    parts += [_heading("Estimators to compare with", "-"), "No verdict rests on these.\n"]
    for name, module in ESTIMATORS.items():
        parts += _section(name, f"{module}.{name}", module, sign="~")
    return {"reference/methods.rst": "\n".join(parts)}


def _section(name: str, full: str, module: str, *, sign: str = "-") -> Iterator[str]:
    yield _heading(name, sign)
    yield f"The function is :func:`{full}`.\n"
    yield f".. automodule:: {module}\n   :no-index:\n"
    for each in ("curve", ""):
        rows = measured(f"{name}_{each}" if each else name)
        if rows:
            yield from _alarms(rows, "a whole curve as the claim" if each else "")
    if name == "fit_rate":
        yield from _rates()
    yield from _tested(module)


def _rates() -> Iterator[str]:
    """How often a law got a verdict that is wrong of it, by the kind of the law."""
    rows = table("rate_laws")
    yield (
        "**Measured.** Tables simulated from laws that are known. A claim that the law keeps must not be contradicted; "
        "one that is too fast by 0.15 must not be supported.\n"
    )
    yield ".. list-table::\n   :header-rows: 1\n"
    yield from _row("laws", "tables", "true claim contradicted", "too fast a claim supported")
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        count = sum(int(row["tables"]) for row in own)
        wrong = [
            sum(int(row["tables"]) * float(row[column]) for row in own) / count
            for column in ("claim contradicted", "too fast supported")
        ]
        yield from _row(kind, count, *(f"{100 * share:.2f} %" for share in wrong))
    yield ""


def _alarms(rows: list[Alarms], about: str) -> Iterator[str]:
    audits, alarms = sum(row.audits for row in rows), sum(row.alarms for row in rows)
    worst = max(rows, key=lambda row: row.alarms / row.audits)
    yield (
        f"**Measured false alarms{f', {about}' * bool(about)}.** {alarms} of {audits} audits "
        f"({100 * alarms / audits:.2f} %) on {len(rows)} correct mechanisms; most often for {worst.mechanism}: "
        f"{100 * worst.alarms / worst.audits:.2f} % of {worst.audits}.\n"
    )
    yield ".. list-table::\n   :header-rows: 1\n"
    yield from _row("mechanism", "claim kept exactly", "runs", "audits", "false alarms", "share", "at most (97.5 %)")
    for row in rows:
        share = f"{100 * row.alarms / row.audits:.2f} %"
        yield from _row(row.mechanism, row.claim, row.trials, row.audits, row.alarms, share, f"{100 * row.limit:.2f} %")
    yield ""


def _tested(module: str) -> Iterator[str]:
    """Where a test holds the level, for audits that have one."""
    path = ROOT / "tests" / "audits" / f"test_{module.rpartition('.')[2]}.py"
    if path.exists() and "false_alarms" in path.read_text("utf-8"):
        yield f"``{path.relative_to(ROOT).as_posix()}`` measures false alarms on every run of the tests.\n"


def _whole_algorithms() -> Iterator[str]:
    rows = table("solver_false_alarms")
    audits, alarms = (sum(int(row[name]) for row in rows) for name in ("audits", "alarms"))
    worst = max(float(row["share"]) for row in rows)
    yield (
        f"Whole algorithms are audited too: {alarms} false alarms in {audits} audits of the {len(rows)} variants that "
        f"keep their claim, at most {100 * worst:.2f} % of the audits of one.\n"
    )


def _row(*cells: object) -> Iterator[str]:
    yield "\n".join(f"   {'*' if not i else ' '} - {cell}" for i, cell in enumerate(cells))


def _heading(text: str, sign: str) -> str:
    return f"{text}\n{sign * len(text)}\n"
