"""The stages of a check that a store keeps: one that ran to its end is not run again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpcheck import __version__
from dpcheck.checks.context import Context
from dpcheck.report.findings import Finding, Report

Tables = dict[str, list[dict[str, Any]]]


def kept(context: Context, title: str, stage: Iterable[Finding], measured: Tables) -> tuple[Finding, ...]:
    """The findings of a stage, from the store or from the stage itself, which adds its tables to ``measured``.

    Both go through the same text, so that nothing tells them apart. A stage that stopped with an error is not kept.
    """
    assert context.store is not None
    key = ["stage", context.profile, context.seed, title]
    text = context.store.get(key)
    if text is None:
        findings = tuple(stage)
        text = Report(findings, (), context.profile, context.seed, __version__, 0.0, measured).to_json()
        if not any(finding.kind == "stopped" for finding in findings):
            context.store.put(key, text)
    found = Report.from_json(text)
    measured.clear()
    measured.update(found.tables)
    return found.findings
