"""``dpcheck check``: check algorithms end to end."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from contextlib import redirect_stdout

from dpcheck.commands import terminal
from dpcheck.commands.command import SEED, Command, add_backend, add_outputs, add_store
from dpcheck.commands.outputs import chosen_executor, deliver, kept_when_interrupted, require_writable


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
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
    parser.add_argument("--seed", type=int, default=0, help=SEED)
    parser.add_argument("--jobs", type=int, help="workers (default: one a core); results do not depend on it")
    add_store(parser)
    add_backend(parser)
    add_outputs(parser)


def run(options: Namespace) -> int:
    """Run ``dpcheck check``."""
    from dpcheck.checks import check
    from dpcheck.report.terminal import Decided

    require_writable(options)
    decided = Decided(terminal.tell, terminal.width())

    def progress(stage: str, done: int, total: int) -> None:
        decided.stage(stage)
        watch(stage, done, total)

    # stdout is for the result: what somebody's own algorithm prints goes to stderr
    with (
        kept_when_interrupted(options), redirect_stdout(sys.stderr), chosen_executor(options) as workers,
        terminal.progress() as watch,
    ):  # fmt: skip
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
    add_options=add_options,
    run=run,
    runs_others_code=True,
)
