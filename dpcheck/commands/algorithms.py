"""``dpcheck solve`` and ``dpcheck measure``: one run of an algorithm, or a grid of runs that is kept row by row."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck import __version__
from dpcheck.commands import inputs, terminal
from dpcheck.commands.command import Command, Picture, add_format, add_shared, at_work, chosen_store
from dpcheck.commands.files import File, as_typed
from dpcheck.errors import InputError, one_line, require, require_count, short
from dpcheck.reading import rows_of, text_of, typed, within
from dpcheck.running.files import write_text
from dpcheck.shown import csv_text

if TYPE_CHECKING:
    from dpcheck.algorithms.measure import Experiment
    from dpcheck.report.findings import Report
    from dpcheck.running.executor import Executor
    from dpcheck.running.store import Store


def _solve_options(parser: ArgumentParser) -> None:
    parser.add_argument("algorithm", type=File.NONE, metavar="ALGORITHM", help="see `dpcheck list`")
    parser.add_argument(
        "settings",
        type=File.NONE,
        nargs="*",
        metavar="NAME=VALUE",
        help="in place of the theorem's schedule, such as steps=1000",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--problem", type=File.NONE, help="see `dpcheck list` (default: the algorithm's example)")
    where.add_argument(
        "--like", type=File.NONE, metavar="EXPERIMENT:CELLS",
        help="data, problem and settings of an experiment's cell, such as yang2022.table_2:ijcnn1; what is given "
        "beside it stands in their place",
    )  # fmt: skip
    where.add_argument(
        "--data", type=File.NONE, help="AUC maximisation on this data set with two classes, such as a9a (bundled)"
    )
    parser.add_argument("--radius", type=float, help="of the domain, with --data (default 4)")
    parser.add_argument(
        "--positive-share", type=float,
        help="public share of positive labels, with --data (default 0.25)",
    )  # fmt: skip
    parser.add_argument(
        "--variant", type=File.NONE, help="as_printed or repaired (default: repaired where there is one)"
    )
    parser.add_argument("--epsilon", type=float, help="natural log (default 1, or that of --like)")
    parser.add_argument("--delta", type=float, help="default 1/n^2, or that of --like")
    add_shared(parser, "seed")
    parser.add_argument("--plot", type=File.WRITTEN, metavar="FILE", help="write the history as a picture")
    add_format(parser)


def _solve(options: Namespace) -> int:
    from dpcheck.accounting import certify
    from dpcheck.solvers import solve

    require_count(options.seed, "seed", least=0)
    picture = Picture(options.plot)
    for name in ("radius", "positive_share"):
        alone = options.data is not None or getattr(options, name) is None
        got = "it alone" if options.like is None else "--like"
        require(alone, f"--{name.replace('_', '-')}", "come with --data", got)
    like = None
    if options.like is not None:
        from dpcheck.experiments.runner import start

        like = start(options.like, options.algorithm, options.epsilon, options.seed)
    data, problem = _problem_of(options) if like is None else (None, like.problem)
    usual = 1.0 if like is None or like.epsilon is None else like.epsilon
    epsilon = usual if options.epsilon is None else options.epsilon
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
    result: dict[str, Any] = {
        "algorithm": options.algorithm, "problem": run.problem.name, "n": n, "claimed": epsilon,
        "delta": delta, "certified": certificate.epsilon, "method": certificate.method, "notes": list(run.notes),
    }  # fmt: skip
    if like is not None:
        result |= {"like": f"{options.like.partition(':')[0]}: {like.cell.name}"} | like.score(run.x)
    if data is not None:
        from dpcheck.problems.auc import auc_score

        result |= {"data": data.name, "training AUC": auc_score(data.X @ run.x[:-2], data.y)}
        if data.X_test is not None and data.y_test is not None:
            result["test AUC"] = auc_score(data.X_test @ run.x[:-2], data.y_test)
    picture.save(lambda: run.plot(history))
    if options.format == "json":
        rows = history.to_dict("records")
        return terminal.say_json(
            {"schema": "dpcheck.solve/1", **result, "x": run.x.tolist(), "y": run.y.tolist(), "history": rows}
        )
    notes = [("note", note) for note in result.pop("notes")]
    lines = [terminal.named(name, value) for name, value in (*result.items(), *notes)]
    return terminal.say("\n".join([*lines, "", history.to_string(index=False, float_format="{:.4g}".format)]))


def _problem_of(options: Namespace) -> tuple[Any, Any]:
    """Return the data set and the problem that the options name, None where they name none."""
    if options.data is None:
        return None, options.problem
    from dpcheck import datasets
    from dpcheck.problems.auc import AUC

    data = datasets.load(options.data).unit_ball()
    share, radius = options.positive_share, options.radius
    share, radius = 0.25 if share is None else share, 4.0 if radius is None else radius
    return data, AUC.from_data(data.X, data.y, positive_share=share, radius=radius)


SOLVE = Command(
    name="solve",
    help="run an algorithm",
    examples=(
        "dpcheck solve dp_sgda steps=500 sampling=poisson --plot history.png",
        "dpcheck solve dp_sgda --data a9a --epsilon 1",
        "dpcheck solve dp_sgda --like yang2022.table_2:ijcnn1 batch=256",
    ),
    add_options=_solve_options,
    run=_solve,
)


def _measure_options(parser: ArgumentParser) -> None:
    parser.add_argument("algorithm", type=File.NONE, metavar="ALGORITHM", help="see `dpcheck list`")
    parser.add_argument(
        "settings", type=File.NONE, nargs="*", metavar="NAME=VALUE",
        help="the same in all runs: n (default 1000) and d (default 3) of the data sets, and what is to stand in "
        "place of the theorem's schedule, such as steps=1000",
    )  # fmt: skip
    parser.add_argument(
        "--vary", type=File.NONE, action="append", default=[], metavar="NAME=LEVELS",
        help="n, d, epsilon, delta or a setting, over numbers such as n=1000,2000,4000, or over what doubles from the "
        "first to the last, such as n=2^10..2^14 or epsilon=.25..4; give it again for a grid",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, default=20, help="runs of each setting, on data of their own (default 20)")
    parser.add_argument(
        "--problem", type=File.NONE, help="one that samples data sets (default: the algorithm's example)"
    )
    parser.add_argument(
        "--variant", type=File.NONE, help="as_printed or repaired (default: repaired where there is one)"
    )
    parser.add_argument("--epsilon", type=float, help="natural log (default 1)")
    parser.add_argument("--delta", type=float, help="default 1/n^2")
    add_shared(parser, "jobs")
    parser.add_argument(
        "--output", type=File.WRITTEN, metavar="FILE.csv",
        help="write to FILE.csv instead of stdout, a row as soon as it is measured; rows that it has are not measured "
        "again, so that the same command goes on where it was stopped",
    )  # fmt: skip
    add_shared(parser, "store", "backend", "scheduler")


def _measure(options: Namespace) -> int:
    from dpcheck.algorithms.measure import Experiment
    from dpcheck.report.history import keep_run

    vary = inputs.levels(options.vary)
    for name in ("epsilon", "delta"):
        given = getattr(options, name)
        require(name not in vary or given is None, f"--{name}", "be left out where it is varied", given)
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
            with at_work(options) as (workers, watch):
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
            kept = Table(experiment, options.output, store) if place else table  # the file may be a row ahead
            done = f"{len(kept.rows)} of {len(experiment.rows)} runs"
            terminal.tell(f"dpcheck: interrupted after {done}, in {place or 'the table'}; {on}")
        finally:
            if not options.output and table.rows:
                terminal.say(table.text.removesuffix("\n"))
    return code


class Table:
    """The rows of an experiment that are known so far, as text, and the file and the store that keep them."""

    def __init__(self, experiment: Experiment, file: str | None = None, store: Store | None = None) -> None:
        """Start with what ``file`` holds, which InputError refuses unless all of it belongs to this experiment."""
        self.experiment, self.file, self.store = experiment, None if file is None else as_typed(file), store
        self.rows: dict[tuple[str, ...], tuple[str, ...]] = {}
        for row in experiment.rows if store is not None else ():
            assert store is not None
            known = store.get(self._key(row.key))
            with suppress(InputError):  # what is not as it was kept is measured again
                self.rows[row.key] = typed(tuple[str, ...], known, "a row")
        if self.file is None or not self.file.exists():
            return
        require(self.file.is_file(), "--output", "be a file that rows can be added to", self.file)
        with within(self.file):
            kept = text_of(self.file, "--output")
            lines = rows_of(kept[: kept.rfind("\n") + 1], "--output")
        if kept and (not lines or tuple(lines[0]) != experiment.columns):
            raise self._refused(f"columns {', '.join(lines[0]) if lines else one_line(kept[:80])}")
        asked, keys = {row.key for row in experiment.rows}, len(experiment.keys)
        seen: set[tuple[str, ...]] = set()
        for number, line in enumerate(lines[1:], 2):
            key = tuple(line[:keys])
            if len(line) != len(experiment.columns) or key not in asked or key in seen:
                settings = ", ".join(f"{name} = {value}" for name, value in zip(experiment.keys, line, strict=False))
                raise self._refused(f"in line {number} {settings}")
            seen.add(key)
            self.rows[key] = tuple(line)

    def _key(self, row: tuple[str, ...]) -> list[Any]:
        return ["measure", *self.experiment.columns, *row]

    @property
    def text(self) -> str:
        """Return the rows that are known, in the experiment's order, below a line of names."""
        known = [self.rows[row.key] for row in self.experiment.rows if row.key in self.rows]
        return csv_text([self.experiment.columns, *known])

    def fill(
        self, *, jobs: int | None = None, executor: Executor | None = None,
        watch: Callable[[int, int], object] = lambda done, total: None,
    ) -> None:  # fmt: skip
        """Measure what is missing, put each row into the file at once, and at last all of them in order."""
        rows = self.experiment.rows
        missing = [row for row in rows if row.key not in self.rows]

        def keep(line: tuple[str, ...]) -> None:
            key = line[: len(self.experiment.keys)]
            if self.store is not None:
                self.store.put(self._key(key), line)
            if self.file is not None:
                if not self.file.exists():
                    write_text(self.file, self.text)
                self._add(self.file, line)
            self.rows[key] = line
            watch(len(self.rows), len(rows))

        if self.file is not None and self.file.exists():
            write_text(self.file, self.text)  # without a last line that was cut off
        watch(len(self.rows), len(rows))
        self.experiment.measure_all(missing, keep, jobs=jobs, executor=executor)
        if self.file is not None:
            write_text(self.file, self.text)

    def report(self, seconds: float) -> Report:
        """The table as a run that a store keeps and ``dpcheck compare`` reads."""
        from dpcheck.report.findings import Report, provenance

        first = self.experiment.rows[0].settings
        names = self.experiment.columns
        known = [self.rows[row.key] for row in self.experiment.rows if row.key in self.rows]
        rows = [{name: _value(cell) for name, cell in zip(names, row, strict=True)} for row in known]
        title = " ".join(str(first[name]) for name in ("algorithm", "problem", "variant"))
        named = (str(first["algorithm"]),)
        return Report((), named, "measure", 0, __version__, seconds, {title: rows}, provenance())

    def _add(self, file: Path, line: tuple[str, ...]) -> None:
        try:
            with file.open("a", encoding="utf-8", newline="") as stream:
                stream.write(csv_text([line]))
        except OSError as error:
            raise InputError(f"--output must be a writable file, got {file}: {error.strerror}") from error

    def _refused(self, content: str) -> InputError:
        return InputError(
            f"--output must be a new file, or hold rows of this command alone, got {self.file}: {short(content)}"
        )


def _value(cell: str) -> str | float:
    """A cell's number, or its text."""
    try:
        return float(cell) if cell else ""
    except ValueError:
        return cell


MEASURE = Command(
    name="measure",
    help="run an algorithm over a grid of settings, and write the table that `dpcheck rate` reads",
    examples=("dpcheck measure phased_primal --vary n=2^10..2^14 --seeds 20 --output gaps.csv",),
    add_options=_measure_options,
    run=_measure,
)
