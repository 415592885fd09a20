"""A comment for a pull request: epsilon before and after, a row a mechanism, what is worse first."""

from __future__ import annotations

from dpcheck.errors import is_finite, one_line
from dpcheck.report.findings import Finding
from dpcheck.report.history import Change, compare
from dpcheck.report.results import BROKEN, NO_ALARM, Results
from dpcheck.shown import Markdown, table

_PLAIN = str.maketrans("`|\\", "'//")  # what ends a code span, and a cell
_LONGEST = 100


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
