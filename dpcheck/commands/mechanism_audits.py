"""Audits of mechanisms of one's own, as findings: for the same terminal, JUnit, SARIF and page as every other check."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpcheck import __version__
from dpcheck.audits.membership import audit_privacy
from dpcheck.commands import inputs
from dpcheck.commands.mechanism_files import Declared, MechanismFile, dataset
from dpcheck.commands.stored_runs import StoredRuns
from dpcheck.report.findings import Finding, Report
from dpcheck.report.results import AUDIT
from dpcheck.running.executor import Executor
from dpcheck.running.provenance import provenance
from dpcheck.running.store import Store


def audit_all(
    file: MechanismFile, known: dict[str, str], *, jobs: int | None = None,
    watch: Callable[[str, int, int], object] | None = None, store: Store | None = None,
    executor: Executor | None = None,
) -> Report:  # fmt: skip
    """Audit every mechanism of a file.

    A file of correct mechanisms has one of them called violated with probability at most ``1 - file.confidence``: each
    audit has its share of that (Bonferroni).

    Parameters
    ----------
    file : MechanismFile
        The mechanisms.
    known : dict of str to str
        The baseline: the verdict of each finding that is known, by id.
    jobs : int, optional
        Processes of each audit.
    watch : callable, optional
        Called as ``watch(name, done, total)``.
    store : Store, optional
        Keeps the runs of mechanisms whose randomness is the audit's.
    executor : Executor, optional
        Who runs them in place of ``jobs``.

    Returns
    -------
    Report
        A finding for each mechanism, in order.
    """
    started = time.perf_counter()
    findings = []
    with file.beside():
        for done, each in enumerate(file.mechanisms):
            if watch is not None:
                watch(each.name, done, len(file.mechanisms))
            findings.append(_expecting(_audited(each, file, jobs, store, executor), each.expected, known))
    names = tuple(each.name for each in file.mechanisms)
    seconds = time.perf_counter() - started
    profile = (
        f"{AUDIT} at confidence {file.confidence:g} over all {len(names)} mechanisms, {file.each:.4g} each (Bonferroni)"
    )
    return Report(tuple(findings), names, profile, file.seed, __version__, seconds, {}, provenance())


def one_report(audit: Any, mechanism: Any, name: str, known: dict[str, str], seconds: float) -> Report:
    """The report of a single audit."""
    finding = _expecting(_finding(audit, mechanism, name), None, known)
    profile = f"{AUDIT} at confidence {audit.confidence:g}"
    return Report((finding,), (name,), profile, audit.seed or 0, __version__, seconds, {}, provenance())


def _audited(
    each: Declared, file: MechanismFile, jobs: int | None, store: Store | None, executor: Executor | None
) -> Finding:
    mechanism = inputs.mechanism(each.mechanism, vectorized=each.vectorized)
    pair = dataset(each.data, "data"), dataset(each.neighbour, "neighbour")
    runs = None
    if store is not None and each.seeded:
        runs = StoredRuns(store, each.mechanism, *pair, vectorized=each.vectorized, seed=file.seed)
    audit = audit_privacy(
        mechanism, *pair, epsilon=each.epsilon,
        claim=inputs.named(each.claim, "claim") if each.claim else None, delta=each.delta, trials=each.trials,
        confidence=file.each, seed=file.seed, seeded=each.seeded, vectorized=each.vectorized, jobs=jobs, runs=runs,
        executor=executor if each.seeded else None,
    )  # fmt: skip
    found = _finding(audit, mechanism, each.name)
    return found if found.place else replace(found, place=f"{file.path.name}:1")


def _finding(audit: Any, mechanism: Any, name: str) -> Finding:
    words = getattr(audit, "claim", None)  # a sequential audit has none
    claim = f"({audit.epsilon:g}, {audit.delta:g})-privacy" if words is None else words
    return Finding(
        f"{name}.output", "privacy", f"{name}: {claim}", audit.verdict,
        f"epsilon >= {audit.epsilon_lower:.4g} at delta {audit.delta:g} with confidence {audit.confidence:g}; "
        f"witness: {audit.event}",
        audited=audit.epsilon_lower, claimed=audit.epsilon, evidence={"audit": audit.to_dict()},
        place=_place(mechanism),
    )  # fmt: skip


def _place(mechanism: Any) -> str | None:
    """File and line of a function, from the working folder where it lies below; None where there is no source."""
    try:
        function = inspect.unwrap(mechanism)
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (TypeError, OSError):
        return None
    path = Path(file or "").resolve()
    inside = path.is_relative_to(Path.cwd())
    return f"{path.relative_to(Path.cwd()).as_posix() if inside else path}:{max(line, 1)}"


def _expecting(finding: Finding, expected: str | None, known: dict[str, str]) -> Finding:
    return replace(finding, expected=expected or known.get(finding.id))
