"""Binding claims to algorithms and problems: the one place that knows all layers."""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from dpcheck import __version__
from dpcheck.bounds import ledger
from dpcheck.checks.context import Context
from dpcheck.errors import require
from dpcheck.findings import Finding, Report

# algorithm -> the module of this folder whose ``stages(context)`` checks it
BINDINGS = {"dp_sgda": "dpcheck.checks.dp_sgda"}


def check(
    names: str | Iterable[str] | None = None, *, profile: str = "quick", seed: int = 0,
    jobs: int | None = None, watch: Callable[[str, int, int], object] | None = None,
) -> Report:  # fmt: skip
    """Check algorithms end to end: claims, certificate, audits, rates, utility on real data.

    names : one algorithm or several, all by default;  profile : "quick" (a minute) or "full"
    watch : called as ``watch(stage, done, total)`` while a stage works

    The report's ``ok`` is true when every verdict is the recorded one. Raises InputError for an
    unknown name or profile.
    """
    chosen = [names] if isinstance(names, str) else list(names) if names else list(BINDINGS)
    for name in chosen:
        require(name in BINDINGS, "algorithm", f"be one of {', '.join(BINDINGS)}", name)
    started = time.perf_counter()
    findings: list[Finding] = []
    tables: dict[str, list[dict[str, Any]]] = {}
    for name in chosen:
        for finding in _run(name, profile, seed, jobs, watch, tables):
            findings.append(replace(finding, expected=recorded().get(finding.id)))
    return Report(tuple(findings), tuple(chosen), profile, seed, __version__, time.perf_counter() - started, tables)


def _run(
    name: str, profile: str, seed: int, jobs: int | None,
    watch: Callable[[str, int, int], object] | None, tables: dict[str, list[dict[str, Any]]],
) -> Iterator[Finding]:  # fmt: skip
    module = importlib.import_module(BINDINGS[name])
    current = ""

    def progress(done: int, total: int) -> None:
        if watch is not None:
            watch(current, done, total)

    context = Context(profile, seed, jobs or os.cpu_count() or 1, progress)
    for title, stage in module.stages(context, tables):
        current = title
        progress(0, 1)
        yield from stage()
        progress(1, 1)


@cache
def recorded() -> dict[str, str]:
    """The verdicts on record, by finding: reviewed when they change, never edited to fit."""
    text = resources.files("dpcheck.checks").joinpath("verdicts.json").read_text("utf-8")
    verdicts: dict[str, str] = json.loads(text)
    claims = {f"{entry['paper']}.{id}": entry["verdict"] for id, entry in ledger.recorded().items()}
    return verdicts | claims
