"""Binding claims to algorithms and problems: the one place that knows all layers."""

from __future__ import annotations

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
from dpcheck.checks import claims
from dpcheck.checks.context import Context, Stage, kept
from dpcheck.checks.declared import stages as stages_of_declared
from dpcheck.checks.expected import expected_verdicts, missing, with_expected
from dpcheck.checks.shipped import Measurements
from dpcheck.errors import StoreError, raised, require
from dpcheck.report.findings import Finding, Report
from dpcheck.report.history import keep_run
from dpcheck.report.results import Catalogue
from dpcheck.running.executor import Executor
from dpcheck.running.provenance import provenance
from dpcheck.running.store import open_store
from dpcheck.running.streams import workers
from dpcheck.solvers import ALGORITHMS, algorithm

Named = str | Algorithm | PathLike[str]


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
    chosen, others = _chosen(names)
    started = time.perf_counter()
    current, tables = "", dict[str, list[dict[str, Any]]]()

    def progress(done: int, total: int) -> None:
        if watch is not None:
            watch(current, done, total)

    measured = dict[str, list[dict[str, Any]]]()  # of the stage at work
    measurements = Measurements() if (profile, seed) == ("quick", 0) else None
    context = Context(profile, seed, workers(jobs), progress, executor=executor, measurements=measurements)
    findings: list[Finding] = []
    seconds_of = dict[str, float]()

    def add(finding: Finding) -> None:
        findings.append(finding)
        if on_finding is not None:
            on_finding(finding)

    with nullcontext() if store is None else closing(open_store(store, "store")) as opened:
        context = replace(context, store=opened)
        for name, title, stage in _stages(context, chosen, others, measured):
            current, began = title, time.perf_counter()
            progress(0, 1)
            if measurements is not None:
                measurements.begin(title)
            found = _run(name, title, stage)
            of_others = title.partition(":")[0] in {each.name for each in others}
            if opened is not None and not of_others:
                found = kept(context, title, found, measured)
            for finding in found:
                add(_placed(with_expected(finding), name))
            for table, rows in measured.items():
                tables.setdefault(table, []).extend(rows)
            measured.clear()
            seconds_of[title] = time.perf_counter() - began
            progress(1, 1)
        stopped = {finding.id.split(".", 1)[0] for finding in findings if finding.kind == "stopped"}
        for finding in [*missing(findings, {*chosen} - stopped, _papers(chosen))]:
            add(finding)
        named = (*chosen, *(each.name for each in others))
        seconds = time.perf_counter() - started
        shown = (*claims.shown(_papers(chosen)), *([] if measurements is None else measurements.said(chosen)))
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
    known = isinstance(names, str | Algorithm | PathLike | Iterable | None)
    require(known, "names", "be a name, an Algorithm or a path, or several", names)
    wanted = [names] if isinstance(names, str | Algorithm | PathLike) else list(dict.fromkeys(names or ALGORITHMS))
    taken = {*ALGORITHMS, *(id.split(".", 1)[0] for id in expected_verdicts())}  # others' ids keep apart from these
    chosen: list[str] = []
    others: list[Algorithm] = []
    for each in wanted:
        if isinstance(each, str) and each in ALGORITHMS:
            require_unshadowed(each)
            chosen.append(each)
            continue
        found = [each] if isinstance(each, Algorithm) else find(each, ALGORITHMS)
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


def _placed(finding: Finding, name: str) -> Finding:
    """Return the finding with the place that its kind points to, where the stage named no better one."""
    if not name or finding.place is not None:
        return finding
    from dpcheck.checks.place import place_for

    return replace(finding, place=place_for(finding, name))


def _stages(
    context: Context, names: list[str], declared: list[Algorithm], tables: dict[str, list[dict[str, Any]]]
) -> Iterator[tuple[str, str, Callable[[], Iterable[Finding]]]]:
    """Yield what concerns each algorithm, then the claims of each paper once: a name, a title, and the work.

    Findings about what others declare name their place themselves: its name is empty here.
    """
    for name in names:
        for title, stage in stages(context, name, tables):
            yield name, f"{name}: {title}", stage
    for paper in _papers(names):
        yield "", f"claims of {paper}", partial(claims.decided, context, paper)
    for other in declared:
        for title, stage in stages_of_declared(context, other, tables):
            yield "", f"{other.name}: {title}", stage


def stages(context: Context, name: str, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Stage]:
    """Yield what concerns one of dpcheck's own algorithms, apart from its paper's claims."""
    from dpcheck.checks import rates
    from dpcheck.checks.privacy.sandwich import phases, sandwiches
    from dpcheck.checks.releases import releases
    from dpcheck.checks.sampling import minibatches

    record = algorithm(name)
    tried = next(iter(record.games()), None) is not None
    if tried:
        yield "sampling", partial(minibatches, name)
    yield "audits", partial(sandwiches if tried else _without_game, context, name)
    yield "releases", partial(releases, context, name)
    yield "phases", partial(phases, context, name)
    yield from rates.stages(context, name, tables)
    yield from record.further(context, tables)


def _without_game(context: Context, name: str) -> Iterator[Finding]:
    """Stand in for the audits of an algorithm that has no pair of data sets to be audited on."""
    yield Finding(
        f"{name}.transcript", "privacy", f"{name}: whole noisy transcript", "inconclusive",
        f"{name} has no game, so that its privacy is not audited: define games in its record, or declare "
        "it as a dpcheck.Algorithm with data of its own",
    )  # fmt: skip
