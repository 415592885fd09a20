"""``dpcheck measure``: a grid of settings, run into a table."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from dpcheck.commands import inputs, terminal
from dpcheck.commands.command import Command
from dpcheck.commands.options import add_backend, add_store
from dpcheck.commands.outputs import require_place
from dpcheck.commands.resources import chosen_executor, chosen_store
from dpcheck.errors import require


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("algorithm", metavar="ALGORITHM", help="see `dpcheck list`")
    parser.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE",
        help="the same in all runs: n (default 1000) and d (default 3) of the data sets, and what is to stand in "
        "place of the theorem's schedule, such as steps=1000",
    )  # fmt: skip
    parser.add_argument(
        "--vary", action="append", default=[], metavar="NAME=LEVELS",
        help="n, d, epsilon, delta or a setting, over numbers such as n=1000,2000,4000, or over what doubles from the "
        "first to the last, such as n=2^10..2^14 or epsilon=.25..4; give it again for a grid",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, default=20, help="runs of each setting, on data of their own (default 20)")
    parser.add_argument("--problem", help="one that samples data sets (default: the algorithm's example)")
    parser.add_argument("--variant", help="as_printed or repaired (default: repaired where there is one)")
    parser.add_argument("--epsilon", type=float, help="natural log (default 1)")
    parser.add_argument("--delta", type=float, help="default 1/n^2")
    parser.add_argument("--jobs", type=int, help="workers (default: one a core); results do not depend on it")
    parser.add_argument(
        "--output", metavar="FILE.csv",
        help="write to FILE.csv instead of stdout, a row as soon as it is measured; rows that it has are not measured "
        "again, so that the same command goes on where it was stopped",
    )  # fmt: skip

    add_store(parser)
    add_backend(parser)


def run(options: Namespace) -> int:
    """Run ``dpcheck measure``."""
    from dpcheck.algorithms.measure import Experiment
    from dpcheck.commands.measure_files import Table
    from dpcheck.report.history import keep_run

    vary = inputs.levels(options.vary)
    for name in ("epsilon", "delta"):
        given = getattr(options, name)
        require(name not in vary or given is None, f"--{name}", "be left out where it is varied", given)
    if options.output:
        require_place(options.output, "--output")
    experiment = Experiment.of(
        options.algorithm, problem=options.problem, variant=options.variant,
        epsilon=1.0 if options.epsilon is None else options.epsilon, delta=options.delta,
        fixed=inputs.settings(options.settings), vary=vary, seeds=options.seeds,
    )  # fmt: skip
    started = time.perf_counter()
    with chosen_store(options) as store:
        table = Table(experiment, options.output, store)
        code = 0
        try:
            with chosen_executor(options) as workers, terminal.progress() as watch:
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


MEASURE = Command(
    name="measure",
    help="run an algorithm over a grid of settings, and write the table that `dpcheck rate` reads",
    examples=("dpcheck measure phased_primal --vary n=2^10..2^14 --seeds 20 --output gaps.csv",),
    add_options=add_options,
    run=run,
)
