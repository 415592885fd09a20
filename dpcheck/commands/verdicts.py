"""``dpcheck check`` and ``dpcheck prove``: algorithms checked end to end, and claims decided."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.bounds import ledger
from dpcheck.commands import terminal
from dpcheck.commands.command import (
    LISTED,
    Command,
    add_format,
    add_outputs,
    add_shared,
    at_work,
    deliver,
)
from dpcheck.commands.files import File

if TYPE_CHECKING:
    from dpcheck.bounds.ledger import ClaimResult


def _check_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names", type=File.READ, nargs="*", metavar="NAME|FILE.py",
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
        "target", type=File.READ, nargs="*", metavar="'INEQUALITY'|PAPER|CLAIM|THEOREM|WORD|FILE",
        help="an inequality, plain or in LaTeX; yang2022, Y17, yang2022.theorem_2a, or words of a statement; a file of "
        "inequalities (.txt, .md, .tex) or one that states claims (.py) (default: all claims)",
    )  # fmt: skip
    parser.add_argument("--explain", action="store_true", help="show every step, in plain text and LaTeX")
    parser.add_argument("--jobs", type=int, help="processes (default: one a core)")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for one claim, on the clock (default 60)")
    parser.add_argument(
        "--export-coq", type=File.FOLDER, metavar="FOLDER", help="write every claim's steps as theorems of Coq"
    )
    parser.add_argument("--kernel", action="store_true", help="have Coq prove the steps too; 1 if it does not")
    add_format(parser, LISTED)


def _prove(options: Namespace) -> int:
    from dpcheck.bounds.kind import TYPED
    from dpcheck.bounds.registry import PAPERS, prove
    from dpcheck.report.claims import claims_text
    from dpcheck.shown import TABLE_FORMATS, table

    started = time.perf_counter()
    written: tuple[Path, ...] = ()
    target = " ".join(options.target) or None
    # stdout is for the result: what a file of one's own prints goes to stderr
    with redirect_stdout(sys.stderr), terminal.progress() as watch:
        results = prove(
            target, jobs=options.jobs, seconds=options.seconds, kernel=options.kernel,
            export=options.export_coq is not None, watch=lambda _, done, total: watch("claims", done, total),
        )  # fmt: skip
    if options.export_coq is not None:
        from dpcheck.bounds.coq import scripts

        written = scripts.export(results, options.export_coq)
    own_file = (target or "").endswith(".py") or any(result.claim.kind == TYPED for result in results)
    asked = own_file and (options.kernel or written)
    missing = _outside_kernel(results, options.kernel, written) if asked else []
    for line in missing:
        terminal.tell(line)
    # no verdict is expected of a file, nor of another package's paper: what is refuted there counts as broken
    expected = [result for result in results if not own_file and result.claim.paper in PAPERS]
    others = [result for result in results if own_file or result.claim.paper not in PAPERS]
    moved = changed(expected) if expected else None
    broken = bool(moved or missing) or any(result.verdict in ("refuted", "unresolved") for result in others)
    if options.format == "json":
        terminal.say_json({"schema": "dpcheck.prove/2", "claims": [result.to_dict() for result in results]})
        return int(broken)
    if options.format in TABLE_FORMATS:
        terminal.say(table(results.rows, options.format))
        return int(broken)
    places = [result.claim.place() if result.claim.paper in PAPERS else "" for result in results if options.explain]
    text = claims_text(
        results, moved, time.perf_counter() - started, color=terminal.coloured(),
        width=terminal.width(80 if options.explain else 160), file=target if own_file else None, places=places,
    )  # fmt: skip
    terminal.say(text, as_it_is=terminal.coloured())
    return int(broken)


def _outside_kernel(results: Iterable[ClaimResult], proved: bool, files: Iterable[Path]) -> list[str]:
    """Say of which claims nothing is stated in Coq and, where it was to prove them, what it does not accept."""
    from dpcheck.bounds.coq import scripts

    lines = []
    for result in results:
        words = [step["trust"] for step in result.evidence["steps"]]
        machine = [word for word in words if word not in ("cited", "search", "compared")]
        if not machine or (not proved and scripts.NOTHING_STATED in result.coq):
            lines.append(f"nothing of {result.claim.id} is stated in Coq")
        elif proved and set(machine) != {"kernel"}:
            count = len(machine) - machine.count("kernel")
            lines.append(f"Coq accepts no proof of {count} of the {len(machine)} steps of {result.claim.id}")
    return [*lines, *(f"Coq refuses {name}" for name in (scripts.refused(files) if proved else ()))]


PROVE = Command(
    name="prove",
    help="decide an inequality, or the papers' claims, with evidence",
    examples=(
        "dpcheck prove 'log(n) <= sqrt(n) for integer n >= 1'",
        "dpcheck prove lemmas.txt            # one inequality a line; also blocks ```dpcheck of a .md",
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


def changed(results: Iterable[ClaimResult]) -> tuple[ClaimResult, ...]:
    """Return the results whose verdict is not the expected one, or that have none."""
    expected = ledger.recorded()
    return tuple(result for result in results if expected.get(result.claim.id, {}).get("verdict") != result.verdict)
