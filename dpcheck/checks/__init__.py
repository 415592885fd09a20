"""Binding claims to algorithms and problems: the one place that knows all layers."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

from dpcheck import __version__
from dpcheck.algorithms.declaration import Algorithm
from dpcheck.algorithms.registry import find, require_unshadowed, titles
from dpcheck.arguments import checked
from dpcheck.bounds.registry import theorem
from dpcheck.checks.context import Context, Stage, Tables
from dpcheck.checks.declared import Declared
from dpcheck.checks.expected import expected_verdicts, missing, with_expected
from dpcheck.checks.subject import Record, Subject
from dpcheck.errors import InputError, StoreError, raised, require
from dpcheck.reading import typed
from dpcheck.report.findings import Finding, Report, provenance
from dpcheck.report.history import keep_run
from dpcheck.report.results import Catalogue
from dpcheck.running.compilations import compilations_said
from dpcheck.running.executor import Executor, workers
from dpcheck.running.store import open_store
from dpcheck.solvers import ALGORITHMS, algorithm
from dpcheck.source import place_of, place_of_theorem, shown_place

# Findings about the schedule that a solver was given, not about the loop that follows it.
_SCHEDULE = frozenset({"schedule", "accounting"})


Named = str | Algorithm | PathLike[str]


@checked
def check(
    names: Named | Iterable[Named] | None = None, *, profile: str = "quick", seed: int = 0,
    jobs: int | None = None, watch: Callable[[str, int, int], object] | None = None,
    store: str | PathLike[str] | None = None, executor: Executor | None = None,
    on_finding: Callable[[Finding], object] | None = None,
) -> Report:  # fmt: skip
    """Check algorithms end to end: the claims of their papers, certificates, audits, rates, utility on real data.

    Parameters
    ----------
    names : str, Algorithm, path, or iterable of these, optional
        One algorithm or several, by name, as objects, or as the Python files that declare them; all of dpcheck's own by
        default.
    profile : {"quick", "full"}
        Half a minute for each algorithm, or the long experiments too.
    seed : int
        Seed of all randomness, >= 0.
    jobs : int, optional
        Workers, one a core by default. No result depends on how many there are.
    watch : callable, optional
        Called as ``watch(stage, done, total)`` while a stage works.
    store : path, optional
        A folder that keeps each stage, and each chunk of what the rates measure, as it comes, so that a check that was
        stopped goes on from there; and the reports of those that ran to their end, for ``dpcheck history``. It is
        created if it is missing. What other code measured is never taken from it.
    executor : Executor, optional
        Who runs audits and measurements in place of ``jobs``, such as a cluster
        (:func:`dpcheck.running.process_pool.executor`). No result depends on it.
    on_finding : callable, optional
        Called with each :class:`Finding` as soon as it is decided.

    Returns
    -------
    Report
        The findings, with ``ok``, true when every verdict is the expected one.

    Raises
    ------
    InputError
        For an unknown name or profile, a file that declares no algorithm, an algorithm that does not run on its data,
        and a store that cannot be written.

    References
    ----------
    The papers of the algorithms: Zhang et al. 2022, Yang et al. 2022, Zhang et al. 2025, Xu et al. 2026.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcheck
    >>> from dpcheck.events import Gaussian
    >>> def noisy_mean(data, rng):
    ...     return np.clip(data, 0, 1).mean() + rng.normal(scale=1.0 / len(data))
    >>> mean = dpcheck.Algorithm(
    ...     name="noisy_mean", epsilon=1.0, delta=1e-5, data=np.zeros(10), replacements=[0.0, 1.0], run=noisy_mean,
    ...     events=Gaussian(1.0),
    ... )
    >>> report = dpcheck.check(mean, jobs=1)
    >>> report.ok, "violated" in {finding.verdict for finding in report.findings if finding.kind == "privacy"}
    (False, True)
    """
    # Both are commands as well, which Python runs as modules of their own: no import of the package may load them.
    from dpcheck.checks import shipped

    chosen, others = _chosen(names)
    started = time.perf_counter()
    current, tables = "", Tables()

    def progress(done: int, total: int) -> None:
        if watch is not None:
            watch(current, done, total)

    measured = Tables()  # of the stage at work
    measurements = shipped.Measurements() if (profile, seed) == ("quick", 0) else None
    context = Context(profile, seed, workers(jobs), progress, executor=executor, measurements=measurements)
    findings: list[Finding] = []
    seconds_of = dict[str, float]()

    def add(finding: Finding) -> None:
        findings.append(finding)
        if on_finding is not None:
            on_finding(finding)

    kept = nullcontext() if store is None else closing(open_store(store, "store"))
    with compilations_said(), kept as opened:
        context = replace(context, store=opened)
        for name, title, stage in _stages(context, chosen, others, measured):
            current, began = title, time.perf_counter()
            progress(0, 1)
            if measurements is not None:
                measurements.begin(title)
            found = _run(name, title, stage)
            of_others = title.partition(":")[0] in {declared.name for declared in others}
            if opened is not None and not of_others:
                found = _kept(context, title, found, measured)
            for finding in map(with_expected, found):
                named_place = not name or finding.place is not None
                add(finding if named_place else replace(finding, place=place_for(finding, name)))
            for table, rows in measured.items():
                tables.setdefault(table, []).extend(rows)
            measured.clear()
            seconds_of[title] = time.perf_counter() - began
            progress(1, 1)
        stopped = {finding.id.split(".", 1)[0] for finding in findings if finding.kind == "stopped"}
        for finding in [*missing(findings, {*chosen} - stopped, _papers(chosen))]:
            add(finding)
        named = (*chosen, *(declared.name for declared in others))
        seconds = time.perf_counter() - started
        shown = (*shipped.shown(_papers(chosen)), *([] if measurements is None else measurements.said(chosen)))
        report = Report(
            tuple(findings), named, profile, seed, __version__, seconds, tables, provenance(), seconds_of, shown,
            Catalogue(*titles()),
        )  # fmt: skip
        if opened is not None:
            keep_run(opened, report)
    return report


def _papers(names: list[str]) -> list[str]:
    """Return the papers of dpcheck's own algorithms whose theorems are registered, each once."""
    from dpcheck.bounds.registry import PAPERS

    papers = dict.fromkeys(algorithm(name).paper for name in names)
    return [paper for paper in papers if paper in PAPERS]


def _chosen(names: Any) -> tuple[list[str], list[Algorithm]]:
    """Return the names of dpcheck's own algorithms, and the algorithms that others declare."""
    one = (str, Algorithm, PathLike)
    several = [names] if isinstance(names, one) else [*names] if isinstance(names, Iterable) else []
    known = (names is None or isinstance(names, (*one, Iterable))) and all(isinstance(name, one) for name in several)
    require(known, "names", "be a name, an Algorithm or a path, or several", names)
    wanted = list(dict.fromkeys(several or ALGORITHMS))

    taken = {*ALGORITHMS, *(id.split(".", 1)[0] for id in expected_verdicts())}  # others' ids keep apart from these
    chosen: list[str] = []
    others: list[Algorithm] = []
    for subject in wanted:
        if isinstance(subject, str) and subject in ALGORITHMS:
            require_unshadowed(subject)
            chosen.append(subject)
            continue
        found = [subject] if isinstance(subject, Algorithm) else find(subject, ALGORITHMS)
        for declared in found:
            require(declared.name not in taken, "name of an algorithm", "be none of dpcheck's own", declared.name)
        others += (declared for declared in found if declared not in others)
    names = [declared.name for declared in others]
    require(len(set(names)) == len(names), "algorithms", "have names of their own", ", ".join(names))
    return chosen, others


def _run(name: str, title: str, stage: Callable[[], Iterable[Finding]]) -> Iterable[Finding]:
    """Yield the stage's findings; one that stops with an error on dpcheck's own algorithm is a finding as well."""
    try:
        yield from stage()
    except StoreError:  # of what was given; any other wrong input to a stage is the code's own
        raise
    except Exception as error:
        if not name:  # others' algorithms: the command says what is wrong with their declaration
            raise
        stage_id = title.partition(": ")[2].replace(" ", "_")
        yield Finding(
            f"{name}.{stage_id}.stopped", "stopped", f"{title} runs to its end", "violated",
            f"it stopped with {raised(error)}",
        )  # fmt: skip


def _kept(context: Context, title: str, stage: Iterable[Finding], measured: Tables) -> tuple[Finding, ...]:
    """Return a stage's findings and put its tables in ``measured``, from the store or through the same text."""
    assert context.store is not None
    key = ["stage", context.profile, context.seed, title]
    try:
        report = Report.from_json(typed(str, context.store.get(key), title))
    except InputError:  # nothing is kept, or nothing that this code has kept
        findings = tuple(stage)
        text = Report(findings, (), context.profile, context.seed, __version__, 0.0, measured).to_json()
        if not any(finding.kind == "stopped" for finding in findings):
            context.store.put(key, text)
        report = Report.from_json(text)
    measured.clear()
    measured.update(report.tables)
    return report.findings


def _stages(
    context: Context, names: list[str], declared: list[Algorithm], tables: Tables
) -> Iterator[tuple[str, str, Callable[[], Iterable[Finding]]]]:
    """Yield name, title and work of each algorithm, each paper, and, without a name, what others declare."""
    from dpcheck.checks import shipped

    for name in names:
        for title, stage in stages(context, Record(name), tables):
            yield name, f"{name}: {title}", stage
    for paper in _papers(names):
        yield "", f"claims of {paper}", partial(shipped.decided, context, paper)
    for other in declared:
        for title, stage in stages(context, Declared(other), tables):
            yield "", f"{other.name}: {title}", stage


def stages(context: Context, subject: Subject, tables: Tables) -> Iterator[Stage]:
    """Yield what concerns one algorithm, apart from its paper's claims: titles, and calls that yield findings."""
    from dpcheck.checks.sampling import sampling
    from dpcheck.checks.sandwich import sandwiches

    yield "sampling", partial(sampling, context, subject)
    yield "audits", partial(sandwiches, context, subject)
    yield "releases", partial(subject.releases, context)
    yield from subject.rates(context, tables)
    yield from subject.further(context, tables)


def place_for(finding: Finding, name: str) -> str | None:
    """Return where to look: a rate's theorem, the numbers of a schedule or certificate, or else the kernel."""
    solver, predicted = algorithm(name), ".prediction." in finding.id
    if finding.kind in ("rate", "bound") and not predicted and isinstance(finding.evidence.get("theorem"), str):
        return place_of_theorem(theorem(finding.evidence["theorem"]))
    above = finding.certified is not None and finding.claimed is not None and finding.certified > finding.claimed
    if finding.kind in _SCHEDULE or predicted or above or not finding.certificate_ok:
        if hasattr(solver, "schedule"):  # the list of its phases, else the class of its theorem or repair
            return place_of(solver.schedule)
        schedule = solver.schedule_of(solver.variants[0 if ".as_printed" in finding.id else -1], {})
        return shown_place(f"{inspect.getsourcefile(schedule)}:{inspect.getsourcelines(schedule)[1]}")
    return place_of(solver.kernel)
