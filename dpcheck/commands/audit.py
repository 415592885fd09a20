"""``dpcheck audit``: a user's mechanism, or all of a project."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcheck.commands import inputs, terminal
from dpcheck.commands.baseline import Baseline
from dpcheck.commands.command import (
    Command,
    Picture,
    add_outputs,
    add_shared,
    at_work,
    chosen_store,
    deliver,
)
from dpcheck.commands.files import File
from dpcheck.errors import InputError, require, require_seed
from dpcheck.reading import json_of, text_of, typed, within
from dpcheck.report.results import to_json_text

if TYPE_CHECKING:
    from dpcheck.audits.running.isolated import Limits
    from dpcheck.commands.reproduction import Reproduction
    from dpcheck.report.findings import Report
    from dpcheck.running.store import Store


_USAGE = """\
dpcheck audit MODULE:FUNCTION --data A [--neighbour B] --epsilon E [...]
       dpcheck audit --all [FILE.toml] [...]"""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser, those first that every audit is given."""
    parser.usage = _USAGE
    group = parser.add_argument_group("what is audited, and what is claimed of it")
    group.add_argument(
        "mechanism", type=File.CODE, nargs="?", metavar="MODULE:FUNCTION",
        help="(dataset, rng) -> any output, where rng is a numpy.random.Generator; or FILE.py:FUNCTION",
    )  # fmt: skip
    group.add_argument(
        "--data",
        type=File.READ,
        help="dataset: JSON, or a .npy, .csv, .json or .parquet file; numbers become an array (a CSV's line of names "
        "is left out, a missing number is NaN), a CSV with words and a Parquet file a pandas DataFrame",
    )
    group.add_argument(
        "--neighbour", type=File.READ, help="the neighbouring dataset, likewise (default: it is searched)"
    )
    claimed = group.add_mutually_exclusive_group()
    claimed.add_argument("--epsilon", type=float, help="claimed epsilon (natural log)")
    claimed.add_argument(
        "--claim", type=File.CODE, metavar="MODULE:NAME", help="privacy events or a curve, claimed at every delta"
    )
    group.add_argument("--delta", type=float, help="claimed delta (default 0; beside --claim 1e-5)")

    group = parser.add_argument_group("which neighbours are searched where --neighbour is left out")
    group.add_argument(
        "--neighbours", choices=("replace_one", "add_or_remove_one", "both"),
        help="what the claim is for: one record replaced (default), one added or removed, or either",
    )  # fmt: skip
    group.add_argument("--group", type=int, help="how many records differ, for a claim about groups (default 1)")
    group.add_argument(
        "--records", choices=("finite", "inside", "any"),
        help="inside: within the ranges of the data's columns; finite (default): outside them too; any: NaN and "
        "infinity count too, which are otherwise shown apart",
    )  # fmt: skip

    group = parser.add_argument_group("how long it runs, and how sure it is")
    group.add_argument(
        "--trials", type=int, default=100_000,
        help="runs a dataset at most, fewer where a violation is plain early (default 100000)",
    )  # fmt: skip
    group.add_argument("--confidence", type=float, default=0.95, help="one-sided (default 0.95)")
    add_shared(group, "seed")
    group.add_argument("--jobs", type=int, help="processes (default 1)")
    group.add_argument("--vectorized", action="store_true", help="the function is (dataset, rng, size) -> array")
    group.add_argument("--sequential", action="store_true", help="stop as soon as the evidence is in; may go on later")
    group.add_argument("--earlier", type=File.READ, metavar="AUDIT.json", help="a sequential audit to go on with")

    group = parser.add_argument_group("a function with randomness of its own, or that is not trusted")
    group.add_argument("--unseeded", action="store_true", help="the function's randomness is its own, not rng's")
    group.add_argument(
        "--isolate",
        action="store_true",
        help="run the function apart: it cannot print, start processes or run on; says what else holds",
    )
    group.add_argument("--call-seconds", type=float, help="longest call of the function, with --isolate (default 10)")
    group.add_argument(
        "--total-seconds", type=float, help="longest time of all its calls, with --isolate (default 3600)"
    )
    group.add_argument(
        "--megabytes", type=float, help="memory, and the largest file, that it may use, with --isolate (default 2048)"
    )

    group.add_argument(
        "--python", type=File.READ, metavar="PYTHON",
        help="interpreter of another environment, such as env/bin/python, in which the function runs; it needs NumPy "
        "alone",
    )  # fmt: skip

    group = parser.add_argument_group("a project's mechanisms, and its known findings")
    group.add_argument(
        "--all", type=File.READ, nargs="?", const="pyproject.toml", metavar="FILE.toml",
        help="audit every mechanism of [tool.dpcheck] in FILE.toml (default pyproject.toml) in place of one",
    )  # fmt: skip
    group.add_argument(
        "--baseline", type=File.READ, metavar="FILE.json", help="findings that are known: the others and changes fail"
    )
    group.add_argument(
        "--write-baseline", type=File.WRITTEN, metavar="FILE.json", help="write the findings as known ones, exit with 0"
    )

    group = parser.add_argument_group("what is shown and written")
    add_outputs(group)
    group.add_argument("--plot", type=File.WRITTEN, metavar="FILE", help="write the score histograms as a picture")
    group.add_argument(
        "--repro",
        type=File.SCRIPT,
        metavar="FILE.py",
        help="write a violation as a short script that tests it anew without dpcheck",
    )

    group = parser.add_argument_group("where the work is done")
    add_shared(group, "store", "backend", "scheduler")


def _require_one_or_all(parser: ArgumentParser, options: Namespace) -> None:
    """Require data and a claim of one mechanism; a file of mechanisms has them."""
    if options.all:
        given = {"MODULE:FUNCTION": options.mechanism, "--repro": options.repro, "--python": options.python}
        for name, value in given.items():
            if value is not None:
                parser.error(f"argument {name}: not allowed with argument --all")
        return
    given = {
        "MODULE:FUNCTION": options.mechanism, "--data": options.data,
        "--epsilon or --claim": options.claim if options.epsilon is None else "given",
    }  # fmt: skip
    missing = ", ".join(name for name, value in given.items() if value is None)
    if missing:
        other = "" if options.mechanism else "; or --all"
        parser.error(f"the following arguments are required: {missing}{other}")


def run(options: Namespace) -> int:
    """Run ``dpcheck audit``."""
    from dpcheck.commands.mechanisms import flat, one_report

    if options.all:
        return _audit_all(options)
    known = Baseline.read(options.baseline) if options.baseline else Baseline()
    picture, reproduction = Picture(options.plot), _reproduction(options)
    started = time.perf_counter()
    with chosen_store(options) as store:
        made = _attempted(options, store)
        picture.save(lambda: made.audit.plot())  # a sequential audit has none
        name = options.mechanism.rpartition(":")[2]
        report = one_report(made.result, made.mechanism, name, time.perf_counter() - started, made.hint)
        report = known.against(report, all_of=False)
        _keep(store, report)
    searched = _searched(options) if options.neighbour is None else {}
    shown = {**flat(made.result), **searched} if searched else made.result.to_dict()
    shown |= {name: said for name in ("hint", "isolated") if (said := getattr(made, name))}
    text = to_json_text({"schema": "dpcheck.audit/1", **shown})
    lines = [_sentence(options, made.result) if searched else str(made.result)]
    lines += [_filled(f"hint: {made.hint}")] if made.hint and not searched else []
    lines += [f"{finding.subject}: {finding.reason}" for finding in report.findings[1:]]
    if reproduction is not None:
        try:
            told = reproduction.write(made.audit, made.pair, options.mechanism, vectorized=options.vectorized)
        except InputError as error:  # the audit was made all the same
            told = f"dpcheck: {error}"
        terminal.tell(told)
    return _audited(report, options, {"json": f"{text}\n", "terminal": "\n".join([*lines, ""])})


def _reproduction(options: Namespace) -> Reproduction | None:
    """Return the script that was asked for."""
    from dpcheck.commands.reproduction import Reproduction

    return None if options.repro is None else Reproduction(options.repro)


@dataclass(frozen=True)
class _Made:
    """An audit, of a pair that was searched where none was given, what is wrong where that shows, and what was held."""

    result: Any
    mechanism: Any
    pair: tuple[Any, Any]
    hint: str
    isolated: str = ""

    @property
    def audit(self) -> Any:
        """The audit of the pair."""
        return getattr(self.result, "audit", self.result)


def _attempted(options: Namespace, store: Store | None) -> _Made:
    """Run the audit that the options ask for; one of a mechanism that was contained says so."""
    from dpcheck.audits.running.isolated import ContainedError

    try:
        return _audit_one(options, store)
    except ContainedError as error:
        if options.format == "json":
            result = {"verdict": "inconclusive", "contained": error.limit, "reason": str(error)}
            terminal.say_json({"schema": "dpcheck.audit/1", **result})
        else:
            terminal.say(f"inconclusive: the mechanism was contained ({error.limit}), and shows nothing of its privacy")
        raise


def _audit_one(options: Namespace, store: Store | None) -> _Made:
    """Run the audit that the options ask for."""
    from dpcheck.audits.membership import audit_privacy
    from dpcheck.audits.named_part import named_part
    from dpcheck.audits.running.other_python import OtherPython
    from dpcheck.audits.sequential import audit_sequential
    from dpcheck.commands.mechanisms import StoredRuns, audit_around

    one, given = options.sequential or options.earlier is not None, options.neighbour is not None
    for name in ("neighbours", "group", "records"):
        value = getattr(options, name)
        require(not given or value is None, f"--{name}", "be left out beside --neighbour", value)
    require(given or not (one or options.isolate), "--neighbour", "be given beside --sequential and --isolate", "none")
    for name, value in (("--claim", options.claim), ("--plot", options.plot), ("--repro", options.repro)):
        require(not (one and value), name, "be left out of a sequential audit", value)
    other = options.python is not None
    require(not (other and options.isolate), "--isolate", "be left out beside --python, which confines nothing", True)
    kept = store is not None
    must = "be left out beside --python, as it does not know the libraries there"
    require(not (kept and other), "--store", must, options.store)
    require(
        not (kept and options.unseeded), "--store", "be left out beside --unseeded, which no run repeats", options.store
    )
    require_seed(options.seed)
    with at_work(options) as (workers, watch):
        measures = list[str]()
        data, limits = inputs.dataset(options.data, "data"), _limits(options, measures)
        apart = limits is not None or other  # then it is imported where it runs
        path, vectorized = options.mechanism, options.vectorized
        mechanism: Any
        if other:
            mechanism = OtherPython(options.python, path)
        else:
            mechanism = (inputs.Imported if apart else inputs.mechanism)(path, vectorized=vectorized)
        shared = {
            "executor": workers,
            "delta": options.delta, "confidence": options.confidence, "seed": options.seed, "jobs": options.jobs,
            "vectorized": vectorized, "epsilon": options.epsilon, "seeded": not options.unseeded,
            "progress": lambda done, total: watch("audit", done, total),
        }  # fmt: skip
        claim = inputs.named(options.claim, "claim") if options.claim else None
        result: Any
        if given:
            pair = data, inputs.dataset(options.neighbour, "neighbour")
            shared |= {"isolate": limits, "runs": None}
            if store is not None:
                shared["runs"] = StoredRuns(store, path, *pair, vectorized=vectorized, seed=options.seed)
        if not given:
            shared |= {"claim": claim, "trials": options.trials, "store": store}
            result = audit_around(mechanism, path, data, **_searched(options), **shared)
            return _Made(result, mechanism, (result.pair.data, result.pair.neighbour), result.hint)
        if one:
            shared["delta"] = options.delta or 0.0
            earlier = None if options.earlier is None else earlier_of(options.earlier)
            result = audit_sequential(mechanism, *pair, most=options.trials, earlier=earlier, **shared)
        else:
            result = audit_privacy(mechanism, *pair, trials=options.trials, claim=claim, **shared)
        hint = "" if apart else named_part(result, mechanism, *pair, vectorized=vectorized)
        return _Made(result, mechanism, pair, hint, "".join(measures))


def earlier_of(path: str) -> dict[str, Any]:
    """Read a sequential audit to go on with, whose checksum :func:`audit_sequential` looks at."""
    with within(path):
        saved: dict[str, Any] = typed(dict[str, Any], json_of(text_of(path, "--earlier"), "earlier"), "earlier")
        return saved


def _searched(options: Namespace) -> dict[str, Any]:
    """Return which neighbours are searched."""
    return {
        "relation": options.neighbours or "replace_one", "group": 1 if options.group is None else options.group,
        "records": options.records or "finite",
    }  # fmt: skip


_RELATIONS = {
    "replace_one": "replaced", "add_or_remove_one": "added or removed", "both": "replaced, added or removed",
}  # fmt: skip


def _sentence(options: Namespace, audit: Any) -> str:
    """Say what the audit of a pair that was searched shows, for which neighbours, and what a violation may rest on."""
    searched = _searched(options)
    count = "one record" if searched["group"] == 1 else f"{searched['group']} records"
    lines = [*audit._sentence().splitlines(), f"neighbours: {count} {_RELATIONS[searched['relation']]}"]
    if audit.verdict == "violated" and options.neighbours is None:
        lines[-1] += "; for a claim on records added or removed: --neighbours add_or_remove_one"
    if audit.verdict == "violated" and audit.pair.outside:
        lines.append(
            "next: clip or drop such records by a rule that does not depend on the data; or leave them out: "
            "--records inside"
        )
    if any(other.verdict == "violated" for other in audit.others):
        lines.append("next: where a record may be NaN, infinite or missing, count that: --records any")
    return "\n".join(map(_filled, lines))


def _filled(line: str) -> str:
    """Return a line in the width of the terminal, with the path of a file in one piece."""
    import textwrap

    return textwrap.fill(
        line, terminal.width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )  # fmt: skip


def _limits(options: Namespace, measures: list[str]) -> Limits | None:
    """Return the limits of an isolated mechanism, None where it is not to be isolated; say which measures hold."""
    from dpcheck.audits.running.isolated import Limits

    given = {
        "seconds": options.call_seconds, "megabytes": options.megabytes, "total_seconds": options.total_seconds
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    must = "be given with --call-seconds, --total-seconds and --megabytes"
    require(options.isolate or not given, "--isolate", must, "them alone")

    def told(line: str) -> None:
        measures.append(line)
        terminal.tell(_filled(f"dpcheck: {line}"))

    return Limits(**given, told=told) if options.isolate else None


def _audit_all(options: Namespace) -> int:
    from dpcheck.commands.mechanisms import audit_all, read_mechanisms

    file = read_mechanisms(options.all)
    options.files.require_apart({f"what {options.all} names": file.reads()})
    known = Baseline.read(options.baseline) if options.baseline else Baseline()
    with chosen_store(options) as store:
        with at_work(options) as (workers, watch):
            report = audit_all(file, jobs=options.jobs, watch=watch, store=store, executor=workers)
        report = known.against(report, all_of=True)
        _keep(store, report)
    return _audited(report, options, {})


def _keep(store: Store | None, report: Report) -> None:
    if store is not None:
        from dpcheck.report.history import keep_run

        keep_run(store, report)


def _audited(report: Report, options: Namespace, texts: dict[str, str]) -> int:
    """Show the report of audits, and keep its findings as known ones where that is asked for."""
    code = deliver(report, options, texts)
    if options.write_baseline:
        Baseline.write(options.write_baseline, report.findings)
        return 0
    return code


AUDIT = Command(
    name="audit",
    help="audit a mechanism of your own: bound its epsilon from below",
    examples=(
        "dpcheck audit mechanism:noisy_mean --data '[23, 35, 18]' --neighbour '[23, 35, 90]' --epsilon 0.5",
        "dpcheck audit mechanism:noisy_mean --data data.npy --neighbour neighbour.npy --epsilon 1 --delta 1e-5",
        "dpcheck audit mechanism:noisy_mean --data records.csv --epsilon 1    # which searches neighbours",
        "dpcheck audit --all --format github --sarif-output privacy.sarif    # the mechanisms of pyproject.toml",
    ),
    add_options=add_options,
    run=run,
    require=_require_one_or_all,
    runs_others_code=True,
)
