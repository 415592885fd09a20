"""Binding claims to algorithms and problems: the one place that knows all layers."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

from dpcheck import __version__
from dpcheck.checks.context import Context
from dpcheck.checks.expected import missing, with_expected
from dpcheck.checks.place import place_of, place_of_claim
from dpcheck.errors import require
from dpcheck.findings import Finding, Report
from dpcheck.solvers import ALGORITHMS, algorithm
from dpcheck.store import Store
from dpcheck.streams import cores

# algorithm -> the module of this folder whose ``stages(context, tables)`` look at more than its audits do
FURTHER = {"dp_sgda": "dpcheck.checks.dp_sgda"}


def check(
    names: str | Iterable[str] | None = None, *, profile: str = "quick", seed: int = 0,
    jobs: int | None = None, watch: Callable[[str, int, int], object] | None = None,
    store: str | PathLike[str] | None = None,
) -> Report:  # fmt: skip
    """Check algorithms end to end: the claims of their papers, certificates, audits, rates, utility on real data.

    Parameters
    ----------
    names : str or iterable of str, optional
        One algorithm or several; all by default.
    profile : {"quick", "full"}
        A minute or two an algorithm, or the long experiments too.
    seed : int
        All randomness follows from it; >= 0.
    jobs : int, optional
        Workers, one a core by default. No result depends on how many there are.
    watch : callable, optional
        Called as ``watch(stage, done, total)`` while a stage works.
    store : path, optional
        A file that keeps what the rates measured as it comes, so that a check that was stopped goes on from there.
        It is created if it is missing. What other code measured is never taken from it.

    Returns
    -------
    Report
        With ``ok``, true when every verdict is the expected one.

    Raises
    ------
    InputError
        For an unknown name or profile, and a store that cannot be written.
    """
    require(isinstance(names, str | Iterable | None), "names", "be a name or several", names)
    chosen = [names] if isinstance(names, str) else list(dict.fromkeys(names or ())) or list(ALGORITHMS)
    for name in chosen:
        require(name in ALGORITHMS, "algorithm", f"be one of {', '.join(ALGORITHMS)}", name)
    started = time.perf_counter()
    current, tables = "", dict[str, list[dict[str, Any]]]()

    def progress(done: int, total: int) -> None:
        if watch is not None:
            watch(current, done, total)

    context = Context(profile, seed, cores() if jobs is None else jobs, progress)
    findings: list[Finding] = []
    with nullcontext() if store is None else closing(Store(store)) as kept:
        for name, title, stage in _stages(replace(context, store=kept), chosen, tables):
            current = title
            progress(0, 1)
            findings += (_placed(with_expected(finding), name) for finding in stage())
            progress(1, 1)
    findings += missing(findings, chosen, {algorithm(name).paper for name in chosen})
    return Report(tuple(findings), tuple(chosen), profile, seed, __version__, time.perf_counter() - started, tables)


def _placed(finding: Finding, name: str) -> Finding:
    """The finding with the place of the algorithm, where the stage named no better one."""
    return replace(finding, place=place_of(algorithm(name).kernel)) if name and finding.place is None else finding


def _stages(
    context: Context, names: list[str], tables: dict[str, list[dict[str, Any]]]
) -> Iterator[tuple[str, str, Callable[[], Iterable[Finding]]]]:
    """The claims of each paper once, then what concerns each algorithm: its name, a title, and the work."""
    from dpcheck.checks import rates
    from dpcheck.checks.accounting.stage import accounting
    from dpcheck.checks.privacy.sandwich import sandwiches

    for paper in dict.fromkeys(algorithm(name).paper for name in names):
        yield "", f"claims of {paper}", partial(_claims, context, paper)
    for name in names:
        yield name, f"{name}: audits", partial(sandwiches, context, name)
        yield name, f"{name}: accounting", partial(accounting, name)
        for title, stage in rates.stages(context, name, tables):
            yield name, f"{name}: {title}", stage
        if name in FURTHER:
            for title, stage in importlib.import_module(FURTHER[name]).stages(context, tables):
                yield name, f"{name}: {title}", stage


def _claims(context: Context, paper: str) -> Iterator[Finding]:
    """What is decided of a paper's statements, each with its evidence."""
    from dpcheck.bounds.registry import prove

    for result in prove(paper, jobs=context.jobs):
        claim = result.claim
        yield Finding(
            f"{paper}.{claim.id}", "claim", f"{claim.location}: {claim.statement}", result.verdict,
            f"{result.note} (Checked by: {result.trust or 'nobody'}.)", evidence=result.to_dict(),
            place=place_of_claim(claim),
        )  # fmt: skip
