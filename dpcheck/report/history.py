"""The runs that a store keeps, what changed between two of them, and that as a comment for a pull request.

A number that was computed changed if it is another. A number that was measured moved beyond chance if an interval for
its difference, or two intervals for the numbers themselves, leave no room: with error ``LEVEL`` over all that is
compared together (Bonferroni), as though the runs were independent, which makes runs of one seed look less different
than they are, never more.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from dpcheck.audits.limits import clopper_pearson_lower, clopper_pearson_upper
from dpcheck.errors import MOST_WORK, InputError, is_finite, one_line
from dpcheck.reading import json_of, text_of, within
from dpcheck.report.findings import Report
from dpcheck.report.results import BROKEN, NO_ALARM, Finding, Results, finding_of, parsed
from dpcheck.running.store import Store, open_store
from dpcheck.shown import Markdown, table

LEVEL = 0.05
_SAME = 1e-9  # relative: a number that was computed, on another machine
_FREEDOM = 7.0  # of a mean in a table: no experiment of `dpcheck check` takes fewer than 8 measurements for it
_RESULTS = ("measured", "error", "predicted", "bound", "order", "measured/bound", "room over noise")
_PATIENCE = 10.0  # seconds for git
_PLAIN = str.maketrans("`|\\", "'//")  # what ends a code span, and a cell
_LONGEST = 100  # letters of a name in a comment
_SINGLE = {"dpcheck.audit/1": ("privacy", "audit"), "dpcheck.rate/1": ("rate", "fit")}


class Named(NamedTuple):
    """A report, and what to call it."""

    name: str
    report: Report


def keep_run(store: Store, report: Report) -> int:
    """Keep the report of a run that came to its end, and return its number."""
    made = report.made
    return store.add_run(made.get("date", ""), made.get("command", ""), revision(), report.to_json())


def revision() -> str:
    """The commit of the working folder, with a + where files differ from it; empty where there is none.

    Git runs what a folder's configuration names to watch and filter files, hooks, and submodules' git: none of it here.
    """
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        filters = _git("config", "--name-only", "--list").split()
        no_filters = [part for name in filters if name.startswith("filter.") for part in ("-c", f"{name}=")]
        changed = _git(
            "--no-optional-locks", "-c", "core.fsmonitor=false", *no_filters, "status", "--porcelain",
            "--untracked-files=no", "--ignore-submodules=all",
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{commit}{'+' if changed else ''}"


def _git(*arguments: str) -> str:
    places = os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))  # the others lead into the working folder
    program = shutil.which("git", path=places) or os.devnull
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=True, timeout=_PATIENCE)
    return result.stdout.strip()


def history(folder: str | PathLike[str]) -> list[dict[str, Any]]:
    """The runs of a store, what each found, and what changed since one of the same algorithms and profile before."""

    with closing(open_store(folder, "FOLDER", new=False)) as store:
        runs = store.runs()
    rows: list[dict[str, Any]] = []
    before: dict[tuple[Any, ...], Report] = {}
    for run in runs:
        row: dict[str, Any] = {"run": run.number, "date": run.date, "commit": run.revision, "command": run.command}
        try:
            report = Report.from_json(run.report)
        except InputError:  # of another version; the other runs can be read all the same
            rows.append(row | {"findings": "unreadable", "unexpected": None, "changed": None, "seconds": None})
            continue
        like = (report.algorithms, report.profile)
        changes = compare(before[like], report).changes if like in before else None
        before[like] = report
        counts = {
            "findings": len(report.findings), "unexpected": sum(not finding.ok for finding in report.findings),
            "changed": None if changes is None else len(changes),
        }  # fmt: skip
        rows.append(row | counts | {"seconds": round(report.seconds, 1)})
    return rows


def find(text: str) -> Named:
    """Return the report that REPORT.json, FOLDER, FOLDER:NUMBER or FOLDER:COMMIT names, the last of several."""
    path = Path(text)
    with suppress(OSError):  # of a name that is too long for a file
        if path.is_file():
            with within(text):
                return Named(text, read(text_of(path, "a report")))
    folder, wanted = (text, "") if os.path.isdir(text) else text.rpartition(":")[::2]
    if not os.path.isdir(folder or text):
        raise InputError(
            f"a run must be REPORT.json, FOLDER, FOLDER:NUMBER or FOLDER:COMMIT, got {one_line(text)[:200]}"
        )
    with closing(open_store(folder, "FOLDER", new=False)) as store:
        runs = store.runs()
    if wanted.isdecimal() and len(wanted) < 7:  # which no commit is told by
        named = [run for run in runs if run.number == int(wanted)]
    else:
        named = [run for run in runs if not wanted or (len(wanted) >= 4 and run.revision.startswith(wanted))]
    if not named:
        known = f"runs 1 to {len(runs)}" if runs else "no run that came to its end"
        raise InputError(f"a run must be one of {folder}, which has {known}, got {one_line(text)[:200]}")
    run = named[-1]
    return Named(f"{folder}:{run.number}{f' ({run.revision})' if run.revision else ''}", Report.from_json(run.report))


def read(text: str) -> Report:
    """The report in a JSON text: of ``dpcheck check``, or of one audit or one fit of a rate, as its only finding."""
    content = json_of(text, "report")
    schema = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(schema, str) or schema not in _SINGLE:
        return Report(**parsed(content))
    kind, name = _SINGLE[schema]
    numbers = {"audited": content.get("epsilon_lower"), "claimed": content.get("epsilon")} if kind == "privacy" else {}
    one = {"id": name, "kind": kind, "subject": name, "verdict": content.get("verdict"), "reason": ""}
    return Report((finding_of(one | numbers | {"evidence": {name: content}}),), (), name, 0, "", 0.0)


@dataclass(frozen=True)
class Change:
    """One thing that is not what it was."""

    id: str  # of the finding, or title of the table
    what: str  # "verdict", "finding", or the name of a number
    before: str | float | None  # None where there was none
    after: str | float | None
    interval: tuple[float, ...] | None = None  # for the difference of a measured number, or the two of audited epsilons

    def __str__(self) -> str:
        """The change on a line."""
        if self.what == "finding":
            return f"{self.id}: {'new' if self.before is None else 'gone'}, {self.after or self.before}"
        change = f"{self.id}: {self.what} {_short(self.before)} -> {_short(self.after)}"
        if self.interval is None:
            return change
        ends = [*map(_short, self.interval)]
        if len(ends) == 4:
            return f"{change} (the sets that each run chose show {ends[0]} to {ends[1]}, then {ends[2]} to {ends[3]})"
        return f"{change} (by {ends[0]} to {ends[1]})"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Comparison:
    """All that changed, and how much was compared."""

    changes: tuple[Change, ...]  # findings first
    findings: int  # in both runs
    numbers: int  # measured in both runs, which share ``level``
    level: float = LEVEL  # chance that any of them is called changed when none is

    def __str__(self) -> str:
        """A line a change, then what was compared."""
        lines = [f"  {change}" for change in self.changes] or ["  nothing changed"]
        lines.append(
            f"{self.findings} findings are in both; {self.numbers} measured numbers, of which any is called changed by "
            f"chance with probability {self.level:g} at most"
        )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        rows = [
            vars(change) | {"interval": list(change.interval) if change.interval else None} for change in self.changes
        ]
        return {
            "schema": "dpcheck.compare/1", "changed": bool(self.changes), "changes": rows, "findings": self.findings,
            "numbers": self.numbers, "level": self.level,
        }  # fmt: skip


class _Measured(NamedTuple):
    """A number with its standard error and its degrees of freedom, or with the counts that it comes from."""

    value: float
    error: float = 0.0
    freedom: float = _FREEDOM
    counts: tuple[int, int, int, float] | None = None  # hits, hits on the other data set, trials, delta


def compare(before: Results, after: Results) -> Comparison:
    """Return what changed between two reports of ``dpcheck check``, ``audit`` or ``measure``."""
    ours, theirs = ({finding.id: finding for finding in report.findings} for report in (before, after))
    both = [id for id in ours if id in theirs]
    changes = [Change(id, "finding", ours[id].verdict, None) for id in ours if id not in theirs]
    changes += [Change(id, "finding", None, theirs[id].verdict) for id in theirs if id not in ours]
    for id in both:
        changes += _computed(ours[id], theirs[id])
    numbers = [dict(_numbers(report)) for report in (before, after)]
    shared = [name for name in numbers[0] if name in numbers[1]]
    for name in shared:
        moved = _moved(numbers[0][name], numbers[1][name], LEVEL / len(shared))
        if moved is not None:
            changes.append(Change(*name, numbers[0][name].value, numbers[1][name].value, moved))
    return Comparison(tuple(changes), len(both), len(shared))


def _computed(before: Finding, after: Finding) -> Iterator[Change]:
    """What no chance has a hand in."""
    if before.verdict != after.verdict:
        yield Change(before.id, "verdict", before.verdict, after.verdict)
    for name in ("certified", "claimed"):
        values = getattr(before, name), getattr(after, name)
        if _differ(*values):
            yield Change(before.id, name, *values)
    audits = [finding.evidence.get("audit") for finding in (before, after)]
    for name in ("delta", "confidence"):  # what the numbers of an audit stand on
        given: list[Any] = [audit.get(name) if isinstance(audit, Mapping) else None for audit in audits]
        one, other = (float(value) if is_finite(value) else None for value in given)
        if _differ(one, other):
            yield Change(before.id, name, one, other)


def _differ(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is not other
    return one != other and not math.isclose(one, other, rel_tol=_SAME)


def _numbers(report: Results) -> Iterator[tuple[tuple[str, str], _Measured]]:
    """Each measured number of a report, by where it stands and what it is called."""
    for finding in report.findings:
        yield from (((finding.id, name), value) for name, value in _of_finding(finding))
    for title, rows in report.tables.items():
        yield from (((title, name), value) for name, value in _of_table(rows))


def _of_finding(finding: Finding) -> Iterator[tuple[str, _Measured]]:
    audit = finding.evidence.get("audit")
    event = audit.get("event") if isinstance(audit, Mapping) else None
    if isinstance(audit, Mapping) and isinstance(event, Mapping) and finding.audited is not None:
        x, y, n = (event.get(name) for name in ("hits", "other_hits", "trials"))
        delta = audit.get("delta", 0.0)
        if all(type(count) is int and count >= 0 for count in (x, y, n)) and is_finite(delta):
            assert x is not None and y is not None and n is not None
            if max(x, y) <= n and 0 < n <= MOST_WORK and 0 <= delta < 1:
                yield "audited epsilon", _Measured(finding.audited, counts=(x, y, n, float(delta)))
    fit = finding.evidence.get("fit")
    factors = fit.get("factors") if isinstance(fit, Mapping) else None
    if isinstance(fit, Mapping) and isinstance(factors, list) and is_finite(fit.get("confidence")):
        free = float(max(fit["independent"] - len(factors) - 1, 1)) if type(fit.get("independent")) is int else 1.0
        reach = _quantile((1 - fit["confidence"]) / 2, free) if 0 < fit["confidence"] < 1 else 0.0
        for factor in factors:
            numbers: list[Any] = [
                factor.get(k) if isinstance(factor, Mapping) else None for k in ("exponent", "low", "high")
            ]
            if all(map(is_finite, numbers)) and reach > 0:
                value, low, high = map(float, numbers)
                yield f"exponent of {factor.get('factor')}", _Measured(value, (high - low) / 2 / reach, free)
    evidence = finding.evidence
    if is_finite(evidence.get("measured")) and is_finite(evidence.get("error")):
        yield "measured", _Measured(float(evidence["measured"]), float(evidence["error"]))


def _of_table(rows: list[dict[str, Any]]) -> Iterator[tuple[str, _Measured]]:
    """Means with their standard errors; where each row is one run, as in ``dpcheck measure``, over runs alike."""
    if rows and {"measured", "error"} <= rows[0].keys():
        for number, row in enumerate(rows):
            if is_finite(row["measured"]) and is_finite(row["error"]):
                settings = ", ".join(f"{name} = {value}" for name, value in row.items() if name not in _RESULTS)
                name = f"measured at {settings or f'row {number}'}"
                yield name, _Measured(float(row["measured"]), float(row["error"]))
    if rows and {"seed", "outcome"} <= rows[0].keys():
        names = list(rows[0])
        keys, metrics = names[: names.index("seed")], names[names.index("seed") + 1 : names.index("outcome")]
        cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in rows:
            cells.setdefault(tuple(row[key] for key in keys), []).append(row)
        for cell, alike in cells.items():
            where = ", ".join(f"{key} = {value}" for key, value in zip(keys, cell, strict=True))
            for metric in metrics:
                values = [float(row[metric]) for row in alike if is_finite(row[metric])]
                if len(values) > 1:
                    yield f"{metric} at {where}", _Measured(
                        fmean(values), stdev(values) / math.sqrt(len(values)), len(values) - 1.0
                    )  # fmt: skip


def _moved(before: _Measured, after: _Measured, level: float) -> tuple[float, ...] | None:
    """The interval that shows that a number moved beyond chance, None where it may not have."""
    if before.counts is not None and after.counts is not None:
        one, other = _epsilons(*before.counts, level / 2), _epsilons(*after.counts, level / 2)
        return (*one, *other) if one[1] < other[0] or other[1] < one[0] else None
    difference = after.value - before.value
    error = math.hypot(before.error, after.error)
    reach = 0.0
    if error > 0:  # degrees of freedom by Welch and Satterthwaite
        parts = [(number.error**2, number.freedom) for number in (before, after)]
        freedom = sum(part for part, _ in parts) ** 2 / sum(part**2 / free for part, free in parts)
        reach = error * _quantile(level / 2, freedom)
    if abs(difference) <= max(reach, _SAME * abs(before.value)):
        return None
    return difference - reach, difference + reach


def _quantile(alpha: float, freedom: float) -> float:
    """What Student's t exceeds with probability alpha."""
    from scipy.stats import t as student

    return float(student.isf(alpha, freedom))


def _epsilons(x: int, y: int, trials: int, delta: float, level: float) -> tuple[float, float]:
    """An interval for log((P - delta)/Q) of a set that was hit x and y times: exact limits for P and Q, four errors."""
    share = level / 4
    low = clopper_pearson_lower(x, trials, share) - delta, clopper_pearson_upper(y, trials, share)
    high = clopper_pearson_upper(x, trials, share) - delta, clopper_pearson_lower(y, trials, share)
    return (
        math.log(low[0] / low[1]) if low[0] > 0 else -math.inf,
        math.log(high[0] / high[1]) if high[0] > 0 < high[1] else (math.inf if high[0] > 0 else -math.inf),
    )


def comment(before: Results, after: Results) -> str:
    """Return Markdown of two runs' audits, a baseline's among them, in which names are text whatever they hold."""
    runs = [{f.id: f for f in report.findings if f.audited is not None} for report in (before, after)]
    changes: dict[str, list[Change]] = {}
    compared = compare(before, after)
    for change in compared.changes:
        changes.setdefault(change.id, []).append(change)
    rows = [(*_judged(runs[0].get(id), runs[1].get(id), changes.get(id, [])), id) for id in runs[0] | runs[1]]
    cells = [
        {
            "mechanism": _code(id.removesuffix(".output")), "claimed": _claim(runs[1].get(id) or runs[0].get(id)),
            "epsilon before": _epsilon(runs[0].get(id)), "after": _epsilon(runs[1].get(id)),
            "verdict": Markdown(words),
        }
        for _, words, id in sorted(rows, key=lambda row: (row[0], not row[1].startswith("**")))
    ]  # fmt: skip
    worse = sum(rank == 0 for rank, *_ in rows)
    heading = f"### Privacy audits: {f'{worse} of {len(rows)} worse' if worse else 'none is worse'}"
    further = f"Epsilons are lower bounds of audits; beyond chance: at error {compared.level:g} over all rows."
    return "\n".join([heading, "", table(cells, "markdown") if cells else "No mechanism was audited.", "", further])


def _judged(before: Finding | None, after: Finding | None, changes: list[Change]) -> tuple[int, str]:
    """Return 0 for what is worse, 1 for what is violated, 2 for another change, else 3; and the verdict in words."""
    if after is None:
        return 0, "gone"
    verdict = after.verdict if after.verdict in BROKEN | NO_ALARM else _code(after.verdict)
    broken, words = after.verdict in BROKEN, list[str]()
    worse = broken and (before is None or before.verdict not in BROKEN)
    for change in changes:
        if change.what == "finding":
            words.append("new")
        elif change.what == "verdict":
            words.append(f"was {change.before if change.before in BROKEN | NO_ALARM else _code(change.before)}")
        elif change.what in ("claimed", "delta") and before is not None and before.claimed is not None:
            words.append(f"claim was {_claim(before)}")
            worse = True
        elif change.what == "audited epsilon":
            more = (after.audited or 0) > (before.audited or 0 if before else 0)
            words.append(f"{'more' if more else 'less'} than before, beyond chance")
            worse |= more
    text = ", ".join(dict.fromkeys([f"**{verdict}**" if broken else verdict, *words]))
    return 0 if worse else 1 if broken else 2 if words else 3, text


def _code(text: object) -> Markdown:
    """Return a text as a code span, in which nothing is markup and nobody is mentioned."""
    return Markdown(f"`{one_line(text).translate(_PLAIN)[:_LONGEST].strip() or '-'}`")


def _epsilon(finding: Finding | None) -> str:
    return "" if finding is None or finding.audited is None else f"≥ {finding.audited:.4g}"


def _claim(finding: Finding | None) -> str:
    """Return epsilon, and delta where there is one."""
    if finding is None or finding.claimed is None:
        return ""
    audit = finding.evidence.get("audit")
    delta = audit.get("delta") if isinstance(audit, dict) else None
    return f"({finding.claimed:.4g}, {delta:g})" if is_finite(delta) and delta else f"{finding.claimed:.4g}"
