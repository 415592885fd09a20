"""Findings that are known: what each showed, why it is known, and until when; and what is worse than that.

A file of ``--write-baseline`` holds, by the finding's id, its verdict and claim, the audited epsilon with the counts
behind it, ``reason``, a sentence for people, and ``until``, a date after which the entry no longer counts, or null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from dpcheck.errors import InputError, require
from dpcheck.reading import json_of, record_of, shown, text_of, typed, within
from dpcheck.report.findings import Finding, Report
from dpcheck.report.results import expected_now, finding_of, to_json_text
from dpcheck.running.files import write_text

if TYPE_CHECKING:
    from dpcheck.report.history import Change

BASELINE = "dpcheck.baseline/3"
_OLD_WORDS = "dpcheck.baseline/2"  # the schema before: other words for a theorem's factors
_VERDICTS_ALONE = "dpcheck.baseline/1"  # and the one before that: a verdict by id
_OF_AUDIT = ("delta", "confidence", "trials", "seed", "claim", "event")


@dataclass(frozen=True)
class Baseline:
    """The entry of each known finding, by its id; no finding is known by default."""

    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str) -> Baseline:
        """Read a file of known findings; InputError for a file that is no baseline."""
        with within(path):
            content = json_of(text_of(path, "the baseline"), "the baseline")
            schema = content.get("schema") if isinstance(content, dict) else None
            known = schema in (BASELINE, _OLD_WORDS, _VERDICTS_ALONE)
            require(known, "the baseline", f"be of schema {BASELINE}", shown(schema))
            entries = typed(dict[str, Any], content.get("findings"), "findings")
            if schema == _VERDICTS_ALONE:
                entries = {id: {"verdict": verdict} for id, verdict in entries.items()}
            for id, entry in entries.items():
                record_of(_Entry, entry, f"findings.{id}")
            if schema != BASELINE:
                entries = {
                    id: {**entry, "verdict": expected_now(id, entry["verdict"])} for id, entry in entries.items()
                }
        return cls(entries)

    @classmethod
    def write(cls, path: str, findings: Iterable[Finding]) -> None:
        """Write all findings for the next run to know; what the file said for people of one with this verdict stays."""
        try:
            before = cls.read(path).entries
        except InputError:
            before = {}
        entries: dict[str, dict[str, Any]] = {}
        for finding in sorted(findings, key=lambda finding: finding.id):
            audit = finding.evidence.get("audit", {})
            old = before.get(finding.id, {})
            kept = old if old.get("verdict") == finding.verdict else {}
            entries[finding.id] = {
                "verdict": finding.verdict, "claimed": finding.claimed, "audited": finding.audited,
                "audit": {name: audit[name] for name in _OF_AUDIT if name in audit},
                "reason": kept.get("reason") or f"seen on {date.today()}", "until": kept.get("until"),
            }  # fmt: skip
        write_text(path, to_json_text({"schema": BASELINE, "findings": entries}) + "\n")

    @property
    def report(self) -> Report:
        """The known findings as a run that found them."""
        return Report(tuple(_finding(id, entry) for id, entry in self.entries.items()), (), "", 0, "", 0.0)

    def against(self, report: Report, *, all_of: bool) -> Report:
        """Return a report that also says what is not as its baseline has it.

        A claim that is another one, an audited epsilon that is larger beyond chance, an entry whose last day has
        passed, and, with ``all_of``, a finding that is gone are findings of their own.
        """
        from dpcheck.report.history import compare

        known = self.entries
        ids = {finding.id for finding in report.findings}
        here = {id: entry for id, entry in known.items() if id in ids}
        before = Baseline(here).report
        there = replace(report, findings=tuple(finding for finding in report.findings if finding.id in here), tables={})
        reasons: dict[str, list[str]] = {id: [] for id in known}
        for change in compare(before, there).changes:
            if change.id in here and len(here[change.id]) > 1 and (words := _worse(change)):
                reasons[change.id].append(words)
        for id, entry in here.items():
            last = _last_day(entry)
            if last is not None and last < date.today():
                reasons[id].append(f"the entry ended on {last}")
        if all_of:
            for id in known.keys() - ids:
                reasons[id].append("no audit of this name was made: it was removed or renamed")
        expected = (
            replace(finding, expected=finding.expected or known.get(finding.id, {}).get("verdict"))
            for finding in report.findings
        )
        return replace(report, findings=(*expected, *_differences(reasons)))


def _differences(reasons: Mapping[str, list[str]]) -> Iterator[Finding]:
    for id, words in sorted(reasons.items()):
        if words:
            subject = f"{id} against the baseline"
            yield Finding(f"{id}.baseline", "baseline", subject, "inconclusive", "; ".join(words), "consistent")


def _worse(change: Change) -> str:
    """Say what changed for the worse; a change of verdict is seen in the finding itself."""
    one, other = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in (change.before, change.after))
    if change.what in ("claimed", "delta", "confidence"):
        name = {"claimed": "the claimed epsilon"}.get(change.what, change.what)
        return f"{name} is {other}, and {one} in the baseline"
    if change.what == "audited epsilon" and change.after > change.before:  # type: ignore[operator]
        return f"the audited epsilon is at least {other}, beyond chance more than the {one} of the baseline"
    return ""


@dataclass(frozen=True)
class _Entry:
    """An entry of a baseline, with the fields that a check compares."""

    verdict: str
    claimed: float | None = None
    audited: float | None = None
    audit: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    until: date | None = None


def _last_day(entry: Mapping[str, Any]) -> date | None:
    last: date | None = typed(date | None, entry.get("until"), "until")
    return last


def _finding(id: str, entry: Mapping[str, Any]) -> Finding:
    numbers = {name: entry.get(name) for name in ("claimed", "audited")}
    one = {"id": id, "kind": "privacy", "subject": id, "verdict": entry["verdict"], "reason": "", **numbers}
    return finding_of(one | {"evidence": {"audit": entry.get("audit", {})}})
