"""Each command: arguments in, the library called, the result printed. No mathematics here."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.errors import InputError, require

if TYPE_CHECKING:
    from dpcheck.findings import Report

FORMATS = ("terminal", "json", "junit", "sarif", "html")



def run_check(options: Namespace) -> int:
    """``dpcheck check``."""
    from dpcheck.checks import check

    _require_folders(options)
    with _progress() as watch:
        found = check(
            options.names, profile=options.profile, seed=options.seed, jobs=options.jobs, watch=watch
        )
    return _deliver(found, options)


def run_report(options: Namespace) -> int:
    """``dpcheck report``."""
    from dpcheck.findings import Report

    return _deliver(Report.from_json(_read(options.file)), options)


def run_list(options: Namespace) -> int:
    """``dpcheck list``."""
    from dpcheck.report.catalogue import catalogue

    found = catalogue()
    if options.format == "json":
        _print_json({"schema": "dpcheck.list/1", **found})
        return 0
    for kind, entries in found.items():
        print(f"{kind}:")
        for entry in entries:
            print(f"  {entry['id']:<34} {entry['title']}")
    return 0


def run_show(options: Namespace) -> int:
    """``dpcheck show``."""
    from dpcheck.bounds.registry import theorem
    from dpcheck.report.theorem import describe

    statement = theorem(options.theorem)
    if options.latex:
        print(statement.to_latex())
        return 0
    print(describe(statement, _numbers(options.values, "values")))
    return 0


def run_prove(options: Namespace) -> int:
    """``dpcheck prove``."""
    from dpcheck.bounds.registry import prove

    results = prove(options.target)
    if options.format == "json":
        _print_json({"schema": "dpcheck.prove/1", "claims": [result.to_dict() for result in results]})
        return 0
    for result in results:
        claim = result.claim
        print(f"{claim.id:<5} {result.verdict:<11} {result.method:<28} {claim.location}: {claim.statement}")
        print(f"{'':<17} {result.note}")
        if options.explain:
            for step in result.evidence.to_dict()["steps"]:
                print(f"{'':<17} [{step['kind']}] {step['says']}: {step['formula']}")
    return 0


def run_audit(options: Namespace) -> int:
    """``dpcheck audit``."""
    from dpcheck.audits.membership import audit_privacy

    mechanism = _load_function(options.mechanism)
    with _progress() as watch:
        found = audit_privacy(
            mechanism, _load_dataset(options.data, "data"), _load_dataset(options.neighbour, "neighbour"),
            epsilon=options.epsilon, delta=options.delta, trials=options.trials, confidence=options.confidence,
            seed=options.seed, jobs=options.jobs, vectorized=options.vectorized,
            progress=lambda done, total: watch("audit", done, total),
        )  # fmt: skip
    if options.plot:
        _save(found.plot(), options.plot)
    if options.format == "json":
        _print_json({"schema": "dpcheck.audit/1", **found.to_dict()})
    else:
        print(
            f"{found.verdict}: epsilon >= {found.epsilon_lower:.4f} at delta {found.delta:g} with confidence "
            f"{found.confidence:g}, claimed {found.epsilon:g}; {found.trials} runs a dataset"
        )
        print(f"witness: {found.event}")
    return int(found.verdict == "violated")


def run_rate(options: Namespace) -> int:
    """``dpcheck rate``."""
    import pandas as pd

    from dpcheck.audits.rates import fit_rate

    try:
        frame = pd.read_csv(options.file)
    except (OSError, ValueError) as error:
        raise InputError(f"FILE.csv must be a readable table, got {options.file}: {error}") from error
    claimed = _numbers([part for part in options.claimed.split(",") if part], "claimed")
    fit = fit_rate(
        frame, response=options.response, factors=options.factors.split(","), claimed=claimed,
        confidence=options.confidence,
    )  # fmt: skip
    if options.plot:
        _save(fit.plot(), options.plot)
    if options.format == "json":
        _print_json({"schema": "dpcheck.rate/1", **fit.to_dict()})
    else:
        print(fit.reason)
        for name, (low, high) in fit.interval.items():
            claim = f"   claimed {claimed[name]:g}" if name in claimed else ""
            print(f"  {name:<10} {fit.exponents[name]:8.3f}   [{low:.3f}, {high:.3f}]{claim}")
    return int(fit.verdict == "contradicted")


def run_solve(options: Namespace) -> int:
    """``dpcheck solve``."""
    from dpcheck import datasets
    from dpcheck.accounting import certify
    from dpcheck.problems.auc import AUC, auc_score
    from dpcheck.solvers import solve

    data = datasets.load(options.data).unit_ball()
    problem = AUC.from_data(data.X, data.y, positive_share=options.positive_share, radius=options.radius)
    delta = len(data.X) ** -2.0 if options.delta is None else options.delta
    run = solve(
        options.algorithm, problem, epsilon=options.epsilon, delta=delta, seed=options.seed,
        steps=options.steps, eta=options.eta, clip_w=options.clip, clip_v=options.clip,
    )  # fmt: skip
    certificate = certify(run.events, delta=delta)
    found: dict[str, Any] = {
        "algorithm": options.algorithm, "data": data.name, "n": len(data.X), "claimed": options.epsilon,
        "delta": delta, "certified": certificate.epsilon, "method": certificate.method,
        "training AUC": auc_score(data.X @ run.x[:-2], data.y), "notes": list(run.notes),
    }  # fmt: skip
    if data.X_test is not None and data.y_test is not None:
        found["test AUC"] = auc_score(data.X_test @ run.x[:-2], data.y_test)
    if options.format == "json":
        _print_json({"schema": "dpcheck.solve/1", **found, "model": run.x.tolist()})
    else:
        for name, value in found.items():
            print(f"{name:>13}  {value:.6g}" if isinstance(value, float) else f"{name:>13}  {value}")
    return 0


# Reading and writing


def _deliver(report: Report, options: Namespace) -> int:
    from dpcheck.report.files import write_text
    from dpcheck.report.render import render

    for name in FORMATS[1:]:
        target = getattr(options, f"{name}_output")
        if target:
            write_text(target, render(report, name))
    text = render(report, options.format, color=options.output is None and sys.stdout.isatty())
    if options.output:
        write_text(options.output, text)
    else:
        sys.stdout.write(text)
        sys.stdout.flush()
    if not report.ok:
        return 1
    return int(options.fail_on == "inconclusive" and report.inconclusive)


def _require_folders(options: Namespace) -> None:
    """Find out before the work, not after it, that a result cannot be written."""
    for name in ("output", *(f"{name}_output" for name in FORMATS[1:])):
        target = getattr(options, name)
        if target:
            folder = Path(target).resolve().parent
            require(folder.is_dir(), f"--{name.replace('_', '-')}", "lie in an existing folder", target)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr; without a terminal there, one line a stage."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        seen: set[str] = set()

        def line(stage: str, done: int, total: int) -> None:
            if stage not in seen:
                seen.add(stage)
                print(f"dpcheck: {stage} ...", file=sys.stderr, flush=True)

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def update(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total)

        yield update


def _print_json(value: Any) -> None:
    from dpcheck.findings import to_json_text

    print(to_json_text(value))


def _numbers(parts: Sequence[str], name: str) -> dict[str, float]:
    found = {}
    for part in parts:
        key, equals, text = part.partition("=")
        try:
            value = float(text)
        except ValueError:
            value, equals = 0.0, ""
        require(bool(equals) and bool(key), name, "be NAME=NUMBER", part)
        found[key] = int(value) if text.lstrip("+-").isdigit() else value
    return found


def _load_function(path: str) -> Callable[..., Any]:
    """MODULE:FUNCTION, found on the path or in the working folder."""
    import importlib

    module_name, colon, attribute = path.partition(":")
    require(bool(module_name) and bool(colon) and bool(attribute), "mechanism", "be MODULE:FUNCTION", path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(f"mechanism must name an importable module, got {module_name}: {error}") from error
    require(hasattr(module, attribute), "mechanism", f"name a function of {module_name}", attribute)
    function: Callable[..., Any] = getattr(module, attribute)
    return function


def _load_dataset(text: str, name: str) -> Any:
    """JSON, or the content of a file."""
    import numpy as np

    path = Path(text)
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".csv":
            return np.loadtxt(path, delimiter=",", ndmin=2)
        value = json.loads(path.read_text("utf-8") if path.suffix == ".json" else text)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{name} must be JSON or a .npy, .csv or .json file, got {text[:80]}: {reason}") from error
    return np.asarray(value) if isinstance(value, list) else value


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"REPORT.json must be a readable file, got {path}: {error}") from error


def _save(figure: Any, path: str) -> None:
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"--plot must be a writable picture file, got {path}: {error}") from error
