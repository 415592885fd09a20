"""``dpcheck check`` and ``dpcheck prove``: algorithms checked end to end, and claims decided."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from contextlib import redirect_stdout

from dpcheck.commands import terminal
from dpcheck.commands.command import (
    LISTED,
    Command,
    add_format,
    add_outputs,
    add_shared,
    at_work,
    deliver,
    require_writable,
)
from dpcheck.errors import InputError, one_line


def _check_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME|FILE.py",
        help="algorithms by name, or files that declare them (default: all of dpcheck's own; see `dpcheck list`)",
    )  # fmt: skip
    parser.add_argument(
        "--profile",
        choices=("quick", "full"),
        default="quick",
        help="half a minute an algorithm, or the long experiments too",
    )
    add_shared(parser, "seed", "jobs", "store", "backend", "scheduler")
    add_outputs(parser)


def _check(options: Namespace) -> int:
    from dpcheck.checks import check
    from dpcheck.report.terminal import Decided

    require_writable(options)
    decided = Decided(terminal.tell, terminal.width())

    def progress(stage: str, done: int, total: int) -> None:
        decided.stage(stage)
        watch(stage, done, total)

    with at_work(options) as (workers, watch):
        report = check(
            options.names, profile=options.profile, seed=options.seed, jobs=options.jobs, watch=progress,
            store=options.store, executor=workers, on_finding=decided.finding,
        )  # fmt: skip
        decided.stage("")
    return deliver(report, options)


CHECK = Command(
    name="check",
    help="check algorithms end to end: dpcheck's own on bundled real data, or one of yours",
    examples=(
        "dpcheck check privatediff",
        "dpcheck check dp_sgda --json-output report.json --html-output report.html",
        "dpcheck check privatediff --explain privatediff.as_printed.transcript",
        "dpcheck check path/to/mine.py    # a file that declares a dpcheck.Algorithm",
        "dpcheck check --profile full --store runs --backend dask --scheduler tcp://host:8786",
    ),
    add_options=_check_options,
    run=_check,
    runs_others_code=True,
)


def _prove_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="*", metavar="PAPER|CLAIM|THEOREM|WORD|FILE.py",
        help="such as yang2022, Y17, yang2022.theorem_2a, words of a statement, or a file of your own that states "
        "claims (default: all)",
    )  # fmt: skip
    parser.add_argument("--explain", action="store_true", help="show every step, in plain text and LaTeX")
    parser.add_argument("--jobs", type=int, help="processes (default: one a core)")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for one claim (default 60)")
    parser.add_argument("--export-coq", metavar="FOLDER", help="write every claim's steps as theorems of Coq")
    add_format(parser, LISTED)


def _require_no_new_inequality(target: str) -> None:
    """Say what is taken where somebody writes a formula that is in no claim."""
    from dpcheck.bounds.registry import find

    if not target.endswith(".py") and {"<", ">", "="} & set(target):
        try:
            find(target)
        except InputError as error:
            taken = "a paper, a claim, a theorem, words of a claim, or a FILE.py that states the inequality as a claim"
            raise InputError(f"what to prove must be {taken}, got {one_line(target)[:200]}") from error


def _prove(options: Namespace) -> int:
    from dpcheck.bounds.ledger import changed
    from dpcheck.bounds.registry import PAPERS, prove
    from dpcheck.report.claims import claims_text
    from dpcheck.shown import TABLE_FORMATS, table

    started = time.perf_counter()
    target = " ".join(options.target) or None
    _require_no_new_inequality(target or "")
    if options.export_coq is not None:
        from dpcheck.bounds.coq.scripts import export, require_new

        require_new(options.export_coq)
    # stdout is for the result: what a file of one's own prints goes to stderr
    with redirect_stdout(sys.stderr), terminal.progress() as watch:
        results = prove(
            target, jobs=options.jobs, seconds=options.seconds,
            watch=lambda _, done, total: watch("claims", done, total),
        )  # fmt: skip
    if options.export_coq is not None:
        export(results, options.export_coq)
    own_file = (target or "").endswith(".py")
    # no verdict is expected of a file, nor of another package's paper: what is refuted there counts as broken
    expected = [result for result in results if not own_file and result.claim.paper in PAPERS]
    others = [result for result in results if own_file or result.claim.paper not in PAPERS]
    moved = changed(expected) if expected else None
    broken = bool(moved) or any(result.verdict in ("refuted", "unresolved") for result in others)
    if options.format == "json":
        terminal.say_json({"schema": "dpcheck.prove/2", "claims": [result.to_dict() for result in results]})
        return int(broken)
    if options.format in TABLE_FORMATS:
        terminal.say(table(results.rows, options.format))
        return int(broken)
    places = [result.claim.place() if result.claim.paper in PAPERS else "" for result in results if options.explain]
    terminal.say(claims_text(
        results, moved, time.perf_counter() - started, color=terminal.coloured(),
        width=terminal.width(80 if options.explain else 160), file=target if own_file else None, places=places,
    ))  # fmt: skip
    return int(broken)


PROVE = Command(
    name="prove",
    help="decide the papers' claims, with evidence",
    examples=(
        "dpcheck prove 003:Thm5 --explain    # a claim",
        "dpcheck prove yang2022.theorem_2a   # the claims of a theorem",
        "dpcheck prove zhang2025 lemma 8     # the claims with these words",
        "dpcheck prove yang2022 --format markdown",
        "dpcheck prove lemma.py              # claims of your own",
    ),
    add_options=_prove_options,
    run=_prove,
    further=(
        "ids of claims: Z.. zhang2022, Y.. yang2022, 002:.. xu2026, 003:.. and 004:.. zhang2025 (main text and\n"
        "version with proofs); after the colon stands the place in the paper"
    ),
    runs_others_code=True,
)
