"""Each command: arguments in, the library called, the result printed. No mathematics here."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck import inputs, terminal
from dpcheck.certifying import run_certify as run_certify
from dpcheck.errors import InputError, one_line, require, require_count, require_seed
from dpcheck.reproducing import run_reproduce as run_reproduce

if TYPE_CHECKING:
    from dpcheck.audits.running.isolated import Limits
    from dpcheck.executors.base import Executor
    from dpcheck.experiments.starts import Start
    from dpcheck.findings import Report
    from dpcheck.store import Store


def run(options: Namespace) -> int:
    """Carry out the command that was parsed; returns the exit code."""
    command: Callable[[Namespace], int] = globals()[f"run_{options.command}"]
    return command(options)


def run_check(options: Namespace) -> int:
    """Run ``dpcheck check``."""
    from dpcheck.checks import check

    _require_writable(options)
    try:
        # stdout is for the result: what somebody's own algorithm prints goes to stderr
        with redirect_stdout(sys.stderr), _executor(options) as workers, terminal.progress() as watch:
            found = check(
                options.names, profile=options.profile, seed=options.seed, jobs=options.jobs, watch=watch,
                store=options.store, executor=workers,
            )  # fmt: skip
    except KeyboardInterrupt:
        _say_kept(options)
        raise
    return _deliver(found, options)


def run_report(options: Namespace) -> int:
    """Run ``dpcheck report``."""
    from dpcheck.experiments import NAMES
    from dpcheck.findings import Report
    from dpcheck.reproducing import report_kept

    _require_writable(options)
    if options.file in NAMES:
        return report_kept(options)
    return _deliver(Report.from_json(inputs.report(options.file)), options)


def run_list(options: Namespace) -> int:
    """Run ``dpcheck list``."""
    from dpcheck import tables
    from dpcheck.report.listing import listing

    found = listing()
    if options.format == "json":
        return terminal.say_json({"schema": "dpcheck.list/1", **found})
    if options.format in tables.FORMATS:
        return terminal.say(
            tables.table([{"kind": kind, **each} for kind, rows in found.items() for each in rows], options.format)
        )
    lines = []
    for kind, entries in found.items():
        lines += [f"{kind}:", *(f"  {entry['id']:<34} {entry['title']}" for entry in entries)]
    return terminal.say("\n".join(lines))


def run_show(options: Namespace) -> int:
    """Run ``dpcheck show``."""
    from dpcheck.bounds.registry import theorem
    from dpcheck.report.theorem import describe

    statement = theorem(options.theorem)
    if options.latex:
        return terminal.say(statement.to_latex())
    return terminal.say(describe(statement, inputs.numbers(options.values, "values")))


def run_prove(options: Namespace) -> int:
    """Run ``dpcheck prove``."""
    import time

    from dpcheck import tables
    from dpcheck.bounds.ledger import changed
    from dpcheck.bounds.registry import prove
    from dpcheck.report.claims import explanation, summary, table

    started = time.perf_counter()
    target = " ".join(options.target) or None
    # stdout is for the result: what a file of one's own prints goes to stderr
    with redirect_stdout(sys.stderr), terminal.progress() as watch:
        results = prove(
            target, jobs=options.jobs, seconds=options.seconds,
            watch=lambda _, done, total: watch("claims", done, total),
        )  # fmt: skip
    if options.export_coq is not None:
        from dpcheck.bounds.coq.export import export

        export(results, options.export_coq)
    own = (target or "").endswith(".py")
    moved = None if own else changed(results)
    broken = any(each.verdict in ("refuted", "unresolved") for each in results) if own else bool(moved)
    if options.format == "json":
        terminal.say_json({"schema": "dpcheck.prove/1", "claims": [result.to_dict() for result in results]})
        return int(broken)
    if options.format in tables.FORMATS:
        terminal.say(tables.table(results.rows, options.format))
        return int(broken)
    if options.explain:
        shown = "\n\n".join(explanation(result) for result in results)
    else:
        shown = table(results, color=terminal.coloured(), width=terminal.width(160), file=target if own else None)
    terminal.say(f"{shown}\n\n{summary(results, moved, time.perf_counter() - started)}")
    return int(broken)


def run_audit(options: Namespace) -> int:
    """Run ``dpcheck audit``."""
    import time

    from dpcheck import baseline
    from dpcheck.kept_runs import keep_run
    from dpcheck.mechanism_audits import one_report
    from dpcheck.results import to_json_text

    if options.all:
        return _audit_all(options)
    _require_writable(options)
    known = baseline.read(options.baseline) if options.baseline else {}
    started = time.perf_counter()
    with _store(options) as store:
        found, mechanism = _attempted(options, store)
        if options.plot:
            _save(found.plot(), options.plot)
        name = options.mechanism.rpartition(":")[2]
        report = one_report(found, mechanism, name, known, time.perf_counter() - started)
        if store is not None:
            keep_run(store, report)
    text = to_json_text({"schema": "dpcheck.audit/1", **found.to_dict()})
    return _audited(report, options, {"json": f"{text}\n", "terminal": f"{found}\n"})


def _attempted(options: Namespace, store: Store | None) -> tuple[Any, Any]:
    """Run the audit that the options ask for; one of a mechanism that was contained says so."""
    from dpcheck.audits.running.isolated import ContainedError

    try:
        return _audit_one(options, store)
    except KeyboardInterrupt:
        _say_kept(options)
        raise
    except ContainedError as error:
        if options.format == "json":
            said = {"verdict": "inconclusive", "contained": error.limit, "reason": str(error)}
            terminal.say_json({"schema": "dpcheck.audit/1", **said})
        else:
            terminal.say(f"inconclusive: the mechanism was contained ({error.limit}), and shows nothing of its privacy")
        raise


def _audit_all(options: Namespace) -> int:
    from dpcheck import baseline
    from dpcheck.kept_runs import keep_run
    from dpcheck.mechanism_audits import audit_all
    from dpcheck.mechanism_files import read

    _require_writable(options)
    file = read(options.all)
    known = baseline.read(options.baseline) if options.baseline else {}
    # stdout is for the result: what the mechanisms print goes to stderr
    with _store(options) as store:
        with redirect_stdout(sys.stderr), _executor(options) as workers, terminal.progress() as watch:
            found = audit_all(file, known, jobs=options.jobs, watch=watch, store=store, executor=workers)
        if store is not None:
            keep_run(store, found)
    return _audited(found, options, {})


def _audited(report: Report, options: Namespace, texts: dict[str, str]) -> int:
    """Show the report of audits, and keep its findings as known ones where that is asked for."""
    from dpcheck import baseline

    code = _deliver(report, options, texts)
    if options.write_baseline:
        baseline.write(options.write_baseline, report.findings)
        return 0
    return code


def _audit_one(options: Namespace, store: Store | None) -> tuple[Any, Any]:
    """Run the audit that the options ask for; its result, and the mechanism."""
    from dpcheck.audits.membership import audit_privacy
    from dpcheck.audits.sequential import audit_sequential
    from dpcheck.stored_runs import StoredRuns

    one = options.sequential or options.earlier is not None
    for name, value in (("--claim", options.claim), ("--plot", options.plot)):
        require(not (one and value), name, "be left out of a sequential audit", value)
    kept = store is not None
    require(
        not (kept and options.unseeded), "--store", "be left out beside --unseeded, which no run repeats", options.store
    )
    require_seed(options.seed)
    _require_picture(options.plot)
    # stdout is for the result: what the mechanism prints goes to stderr
    with redirect_stdout(sys.stderr), _executor(options) as workers, terminal.progress() as watch:
        pair = (inputs.dataset(options.data, "data"), inputs.dataset(options.neighbour, "neighbour"))
        limits = _limits(options)
        apart = limits is not None  # then it is imported where it runs
        mechanism = inputs.Imported(options.mechanism) if apart else inputs.named(options.mechanism, "mechanism")
        runs = None
        if store is not None:
            runs = StoredRuns(store, options.mechanism, *pair, vectorized=options.vectorized, seed=options.seed)
        shared = {
            "executor": workers, "runs": runs,
            "delta": options.delta, "confidence": options.confidence, "seed": options.seed, "jobs": options.jobs,
            "vectorized": options.vectorized, "epsilon": options.epsilon, "seeded": not options.unseeded,
            "isolate": limits, "progress": lambda done, total: watch("audit", done, total),
        }  # fmt: skip
        if one:
            earlier = None if options.earlier is None else inputs.saved(options.earlier, "earlier")
            return audit_sequential(mechanism, *pair, most=options.trials, earlier=earlier, **shared), mechanism
        claim = inputs.named(options.claim, "claim") if options.claim else None
        return audit_privacy(mechanism, *pair, trials=options.trials, claim=claim, **shared), mechanism


def _limits(options: Namespace) -> Limits | None:
    """Return the limits of an isolated mechanism, None where it is not to be isolated."""
    from dpcheck.audits.running.isolated import Limits

    given = {"seconds": options.call_seconds, "megabytes": options.megabytes}
    given = {name: value for name, value in given.items() if value is not None}
    require(options.isolate or not given, "--isolate", "be given with --call-seconds and --megabytes", "them alone")
    return Limits(**given) if options.isolate else None


def run_bugs(options: Namespace) -> int:
    """Run ``dpcheck bugs``."""
    from dpcheck.audits.bugs.bug import examine
    from dpcheck.audits.bugs.catalogue import find
    from dpcheck.report.bugs import explanation, listing, page

    bugs = find(options.names or ["all"])
    found = {}
    with terminal.progress() as watch:
        for done, bug in enumerate(bugs if options.names else []):
            watch("bugs", done, len(bugs))
            found[bug.id] = examine(bug, seed=options.seed)
    if options.format == "json":
        terminal.say_json({"schema": "dpcheck.bugs/1", "bugs": [found.get(bug.id, bug).to_dict() for bug in bugs]})
    elif options.format == "html":
        terminal.say(page(bugs, found).removesuffix("\n"))
    elif found:
        terminal.say("\n\n".join(explanation(each) for each in found.values()))
    else:
        terminal.say(listing(bugs))
    return int(not all(each.told_apart for each in found.values()))


def run_rate(options: Namespace) -> int:
    """Run ``dpcheck rate``."""
    from dpcheck import rate_files
    from dpcheck.audits.rates import fit_rate
    from dpcheck.report.rate import summary

    _require_picture(options.plot)
    both = "since rows share one thing"
    require(not (options.cluster and options.seed), "--seed", f"be left out beside --cluster, {both}", options.seed)
    require(not (options.offset and options.theorem), "--offset", "be left out beside --theorem", options.offset)
    require(bool(options.theorem) or not options.values, "settings", "come with --theorem", " ".join(options.values))
    frame = rate_files.read(options.file)
    factors, claimed = inputs.parts(options.factors), inputs.exponents(options.claimed)
    if options.theorem:
        frame = rate_files.with_bound(frame, options.theorem, inputs.numbers(options.values, "settings"))
        claimed = claimed or dict.fromkeys(factors, 0.0)
    fit = fit_rate(
        frame, response=options.response, factors=factors, claimed=claimed, confidence=options.confidence,
        margin=options.margin, cluster=options.cluster or options.seed, offset=options.offset or options.theorem,
        equal=options.equal,
    )  # fmt: skip
    if options.plot:
        _save(fit.plot(), options.plot)
    if options.format == "json":
        terminal.say_json({"schema": "dpcheck.rate/1", **fit.to_dict()})
    else:
        terminal.say_verdict(fit.verdict, summary(fit))
    return _code(options, broken=fit.verdict == "contradicted", undecided=fit.verdict != "supported")


def run_measure(options: Namespace) -> int:
    """Run ``dpcheck measure``."""
    import time

    from dpcheck.kept_runs import keep_run
    from dpcheck.measure import Experiment
    from dpcheck.measure_files import Table

    vary = inputs.levels(options.vary)
    for name in ("epsilon", "delta"):
        given = getattr(options, name)
        require(name not in vary or given is None, f"--{name}", "be left out where it is varied", given)
    if options.output:
        _require_place(options.output, "--output")
    experiment = Experiment.of(
        options.algorithm, problem=options.problem, variant=options.variant,
        epsilon=1.0 if options.epsilon is None else options.epsilon, delta=options.delta,
        fixed=inputs.settings(options.settings), vary=vary, seeds=options.seeds,
    )  # fmt: skip
    started = time.perf_counter()
    with _store(options) as store:
        table = Table(experiment, options.output, store)
        code = 0
        try:
            with _executor(options) as workers, terminal.progress() as watch:
                table.fill(
                    jobs=options.jobs, executor=workers,
                    watch=lambda done, total: watch(options.algorithm, done, total),
                )  # fmt: skip
            if store is not None:
                keep_run(store, table.report(time.perf_counter() - started))
        except KeyboardInterrupt:
            code = 130
            place = options.output or options.store
            on = "the same command goes on from there" if place else "with --output or --store it could go on"
            done = f"{len(table.rows)} of {len(experiment.rows)} runs"
            print(f"dpcheck: interrupted after {done}, in {place or 'the table'}; {on}", file=sys.stderr)
        finally:
            if not options.output and table.rows:
                terminal.say(table.text.removesuffix("\n"))
    return code


def run_history(options: Namespace) -> int:
    """Run ``dpcheck history``."""
    from dpcheck import tables
    from dpcheck.kept_runs import history
    from dpcheck.report.comparison import listed

    rows = history(options.folder)
    if options.format == "json":
        return terminal.say_json({"schema": "dpcheck.history/1", "runs": rows})
    if options.format in tables.FORMATS:
        return terminal.say(tables.table(rows, options.format))
    return terminal.say(listed(rows))


def run_compare(options: Namespace) -> int:
    """Run ``dpcheck compare``."""
    from dpcheck.comparison import compare
    from dpcheck.kept_runs import find
    from dpcheck.report.comparison import said

    before, after = find(options.before), find(options.after)
    found = compare(before.report, after.report)
    if options.format == "json":
        terminal.say_json({"before": before.name, "after": after.name, **found.to_dict()})
    else:
        terminal.say(said(found, before.name, after.name))
    return int(bool(found.changes))


def run_solve(options: Namespace) -> int:
    """Run ``dpcheck solve``."""
    from dpcheck.accounting import certify
    from dpcheck.solvers import solve

    require_count(options.seed, "seed", least=0)
    _require_picture(options.plot)
    like = _like(options)
    data, problem = _problem_of(options) if like is None else (None, like.problem)
    epsilon = 1.0 if options.epsilon is None else options.epsilon
    delta = like.delta if like is not None and options.delta is None else options.delta
    settings = (like.settings if like is not None else {}) | inputs.settings(options.settings)
    with terminal.progress() as watch:
        run = solve(
            options.algorithm, problem, epsilon=epsilon, delta=delta, seed=options.seed, variant=options.variant,
            watch=lambda done, total: watch(options.algorithm, done, total), **settings,
        )  # fmt: skip
        n = len(run.problem.records)
        delta = n**-2.0 if delta is None else delta
        certificate = certify(run.events, delta=delta)
        history = run.to_frame(delta)
    found: dict[str, Any] = {
        "algorithm": options.algorithm, "problem": run.problem.name, "n": n, "claimed": epsilon,
        "delta": delta, "certified": certificate.epsilon, "method": certificate.method, "notes": list(run.notes),
    }  # fmt: skip
    if like is not None:
        found |= {"like": like.cell.name} | like.score(run.x)
    if data is not None:
        from dpcheck.problems.auc import auc_score

        found |= {"data": data.name, "training AUC": auc_score(data.X @ run.x[:-2], data.y)}
        if data.X_test is not None and data.y_test is not None:
            found["test AUC"] = auc_score(data.X_test @ run.x[:-2], data.y_test)
    if options.plot:
        _save(run.plot(history), options.plot)
    if options.format == "json":
        rows = history.to_dict("records")
        return terminal.say_json(
            {"schema": "dpcheck.solve/1", **found, "x": run.x.tolist(), "y": run.y.tolist(), "history": rows}
        )
    notes = found.pop("notes")
    shown = {name: f"{value:.6g}" if isinstance(value, float) else str(value) for name, value in found.items()}
    lines = [terminal.named(name, value) for name, value in (*shown.items(), *(("note", note) for note in notes))]
    return terminal.say("\n".join([*lines, "", history.to_string(index=False, float_format="{:.4g}".format)]))


def _like(options: Namespace) -> Start | None:
    """The experiment's cell that the run begins from, None where none is named."""
    if options.like is None:
        return None
    from dpcheck.experiments.starts import start

    for name in ("radius", "positive_share"):
        require(getattr(options, name) is None, f"--{name.replace('_', '-')}", "come with --data", "--like")
    return start(options.like, options.algorithm, options.epsilon, options.seed)


def _problem_of(options: Namespace) -> tuple[Any, Any]:
    """Return the data set and the problem that the options name, None where they name none."""
    if options.data is None:
        for name in ("radius", "positive_share"):
            require(getattr(options, name) is None, f"--{name.replace('_', '-')}", "come with --data", "it alone")
        return None, options.problem
    from dpcheck import datasets
    from dpcheck.problems.auc import AUC

    data = datasets.load(options.data).unit_ball()
    share, radius = options.positive_share, options.radius
    share, radius = 0.25 if share is None else share, 4.0 if radius is None else radius
    return data, AUC.from_data(data.X, data.y, positive_share=share, radius=radius)


# Stores and workers


@contextmanager
def _store(options: Namespace) -> Iterator[Store | None]:
    """The store that was asked for, None where none was."""
    if options.store is None:
        yield None
        return
    from dpcheck.store import open_store

    with closing(open_store(options.store)) as store:
        yield store


@contextmanager
def _executor(options: Namespace) -> Iterator[Executor | None]:
    """Who does the work where that was asked for, None where each kind of work chooses for itself."""
    if options.backend is None:
        require(options.scheduler is None, "--scheduler", "come with --backend dask or ray", options.scheduler)
        yield None
        return
    from dpcheck.executors.choice import executor

    with executor(options.backend, jobs=options.jobs, scheduler=options.scheduler) as workers:
        yield workers


def _say_kept(options: Namespace) -> None:
    if options.store is not None:
        print(f"dpcheck: what was measured is in {options.store}; the same command goes on", file=sys.stderr)


# Reading and writing


def _deliver(report: Report, options: Namespace, texts: dict[str, str] | None = None) -> int:
    """Write and print a report in the formats asked for; ``texts`` are those of formats that are ready."""
    from dpcheck.files import write_text
    from dpcheck.report.explanation import explanations
    from dpcheck.report.render import render

    ready = texts or {}
    for name, target in _targets(options).items():
        if name != "output":
            format = name.removesuffix("_output")
            write_text(target, ready.get(format) or render(report, format))
    if not options.explain and options.format in ready and not options.output:
        terminal.say_verdict(report.findings[0].verdict, ready[options.format].removesuffix("\n"))
        return _code(options, broken=not report.ok, undecided=report.inconclusive)
    if options.explain:
        text = explanations(report, options.explain, width=terminal.width()) + "\n"
    else:
        text = ready.get(options.format) or render(
            report, options.format, color=options.output is None and terminal.coloured(),
            width=120 if options.output else terminal.width(120), verbose=options.verbose,
        )  # fmt: skip
    if options.output:
        write_text(options.output, text)
    else:
        terminal.say(text.removesuffix("\n"))
    return _code(options, broken=not report.ok, undecided=report.inconclusive)


def _code(options: Namespace, *, broken: bool, undecided: bool) -> int:
    return int(broken or (undecided and options.fail_on == "inconclusive"))


def _targets(options: Namespace) -> dict[str, str]:
    """Return the files asked for, by option: "output", "json_output", ..."""
    return {name: value for name, value in vars(options).items() if name.endswith("output") and value}


def _require_writable(options: Namespace) -> None:
    """Find out before the work, not after it, that a result cannot be written."""
    for name, target in _targets(options).items():
        _require_place(target, f"--{name.replace('_', '-')}")
    if getattr(options, "write_baseline", None):
        _require_place(options.write_baseline, "--write-baseline")


def _require_place(target: str, option: str) -> None:
    path = Path(target).resolve()
    require(path.parent.is_dir(), option, "lie in an existing folder", target)
    good = os.access(path.parent, os.W_OK) and not path.is_dir()
    require(good, option, "be a file that can be written", target)


def _require_picture(target: str | None) -> None:
    if not target:
        return
    from matplotlib.figure import Figure

    _require_place(target, "--plot")
    known = Figure().canvas.get_supported_filetypes()
    ending = Path(target).suffix.removeprefix(".")
    require(ending.lower() in known, "--plot", f"end in one of .{', .'.join(known)}", target)


def _save(figure: Any, path: str) -> None:
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"--plot must be a writable picture file, got {path}: {one_line(error)}") from error
