"""What a command is, and what several commands share: options, and the store, workers and files that they name."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.commands import terminal
from dpcheck.commands.under_test import as_before
from dpcheck.errors import InputError, one_line, require
from dpcheck.running.files import descriptor, write_text
from dpcheck.shown import TABLE_FORMATS

if TYPE_CHECKING:
    from dpcheck.report.findings import Report
    from dpcheck.running.executor import Executor
    from dpcheck.running.store import Store


@dataclass(frozen=True)
class Command:
    """A command of ``dpcheck``."""

    name: str  # what is typed after ``dpcheck``
    help: str  # what it does, in one line
    examples: tuple[str, ...]  # lines that can be typed as they are, where their files exist
    add_options: Callable[[ArgumentParser], None]  # adds its arguments to its parser
    run: Callable[[Namespace], int]  # returns the exit code; imports what is heavy itself
    further: str = ""  # what its help says besides
    require: Callable[[ArgumentParser, Namespace], None] = lambda parser, options: None
    runs_others_code: bool = False  # which may leave processes behind


FORMATS = ("terminal", "json", "junit", "sarif", "html", "github")
LISTED = ("terminal", "json", *TABLE_FORMATS)  # of what is a table
Options = ArgumentParser | _ArgumentGroup
# options that several commands take
_SHARED: dict[str, dict[str, Any]] = {
    "seed": {"type": int, "default": 0, "help": "all randomness follows from it (default 0)"},
    "jobs": {"type": int, "help": "workers (default: one a core); results do not depend on it"},
    "store": {
        "metavar": "FOLDER",
        "help": "keep what is measured in FOLDER as it comes, so that the same command goes on where it was stopped",
    },
    "backend": {
        "choices": ("threads", "processes", "dask", "ray"),
        "help": "who does the work (default: threads for compiled code, else processes); results do not depend on it",
    },
    "scheduler": {"metavar": "ADDRESS", "help": "of a cluster of Dask or Ray (default: this machine)"},
    "fail-on": {
        "choices": ("violated", "inconclusive"), "default": "violated", "help": "what makes the exit code 1"
    },
}  # fmt: skip


def add_format(parser: Options, formats: Sequence[str] = ("terminal", "json")) -> None:
    """Add the format of stdout."""
    parser.add_argument("--format", choices=formats, default="terminal", help="of what goes to stdout")


def add_shared(parser: Options, *names: str) -> None:
    """Add options that several commands take."""
    for name in names:
        parser.add_argument(f"--{name}", **_SHARED[name])


def add_outputs(parser: Options) -> None:
    """Add the formats and files of a report, and what it shows."""
    add_format(parser, (*FORMATS, *TABLE_FORMATS))
    parser.add_argument("--output", metavar="FILE", help="write to FILE instead of stdout")
    for name in FORMATS[1:]:
        parser.add_argument(f"--{name}-output", metavar="FILE", help=f"also write {name} to FILE")
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="a row for every finding, every measured table, and the seconds of each stage",
    )
    parser.add_argument(
        "--explain", action="append", default=[], metavar="ID",
        help="print all that is known of this finding, in place of the report; may be given again",
    )  # fmt: skip
    add_shared(parser, "fail-on")


def deliver(report: Report, options: Namespace, texts: dict[str, str] | None = None) -> int:
    """Write and print a report in the formats asked for; ``texts`` are those of formats that are ready."""

    def text_in(format: str, **layout: Any) -> str:
        if texts and format in texts:
            return texts[format]
        from dpcheck.report.findings import render

        return render(report, format, **layout)

    for name, target in _targets(options).items():
        if name != "output":
            write_text(target, text_in(name.removesuffix("_output")))
    if options.explain:
        from dpcheck.report.terminal import explanations

        text = explanations(report, options.explain, width=terminal.width()) + "\n"
    else:
        text = text_in(
            options.format, color=options.output is None and terminal.coloured(),
            width=120 if options.output else terminal.width(120), verbose=options.verbose,
        )  # fmt: skip
    if options.output:
        write_text(options.output, text)
    elif texts and options.format in texts and not options.explain:
        terminal.say_verdict(report.findings[0].verdict, text.removesuffix("\n"))
    else:
        terminal.say(text.removesuffix("\n"))
    undecided = report.inconclusive and options.fail_on == "inconclusive"
    return int(not report.ok or undecided)


def _targets(options: Namespace) -> dict[str, str]:
    """Return the files asked for, by option: "output", "json_output", ..."""
    return {name: value for name, value in vars(options).items() if name.endswith("output") and value is not None}


def require_writable(options: Namespace, read: Iterable[str | Path | None] = ()) -> None:
    """Find out before the work that a result cannot be written, or would take the place of a file that is read."""
    written = {Path(path).resolve(): "what is read" for path in read if path is not None and os.path.isfile(path)}
    further = {name: getattr(options, name, None) for name in ("plot", "repro", "write_baseline")}
    for name, target in (_targets(options) | {name: value for name, value in further.items() if value}).items():
        option = f"--{name.replace('_', '-')}"
        _require_place(target, option)
        if descriptor(Path(target)) is None:  # what is open already takes one text after the other
            other = written.setdefault(Path(target).resolve(), option)
            require(other == option, option, f"be another file than {other}", target)


def _require_place(target: str, option: str) -> None:
    """Require a file that can be written."""
    require(bool(target), option, "be a file that can be written", "an empty name")
    try:
        if descriptor(Path(target)) is not None:
            return
        path = Path(target).resolve()
    except (OSError, RuntimeError):  # a name that is too long, a circle of links
        path = Path()
    if path.is_symlink():  # from Python 3.13 on, a circle of links is left as it is
        path = Path()
    require(path.parent.is_dir(), option, "lie in an existing folder", target)
    good = os.access(path.parent, os.W_OK) and not path.is_dir()
    require(good, option, "be a file that can be written", target)


class Picture:
    """The picture that ``--plot`` asks for; nothing is drawn where it asks for none."""

    def __init__(self, target: str | None) -> None:
        """Require a file whose ending says what kind of picture it is, before there is anything to draw."""
        self.target = target
        if target:
            from matplotlib.figure import Figure

            _require_place(target, "--plot")
            known = Figure().canvas.get_supported_filetypes()
            ending = Path(target).suffix.removeprefix(".")
            require(ending.lower() in known, "--plot", f"end in one of .{', .'.join(known)}", target)

    def save(self, draw: Callable[[], Any]) -> None:
        """Write the figure that ``draw`` returns."""
        if self.target:
            figure = draw()
            try:
                figure.savefig(self.target, dpi=150)
            except (OSError, ValueError, RuntimeError) as error:  # such as a picture for which TeX is missing
                must = f"--plot must be a writable picture file, got {self.target}"
                raise InputError(f"{must}: {one_line(error)}") from error


@contextmanager
def chosen_store(options: Namespace) -> Iterator[Store | None]:
    """Open the store that was asked for; None where none was."""
    if options.store is None:
        yield None
        return
    from dpcheck.running.store import open_store

    with closing(open_store(options.store)) as store:
        yield store


@contextmanager
def at_work(options: Namespace) -> Iterator[tuple[Executor | None, Callable[[str, int, int], None]]]:
    """Start the workers asked for, if any, and show progress; what the user's code prints goes to stderr."""
    workers: AbstractContextManager[Executor | None] = nullcontext()
    if options.backend is not None:
        from dpcheck.running.process_pool import executor

        workers = executor(options.backend, jobs=options.jobs, scheduler=options.scheduler)
    else:
        require(options.scheduler is None, "--scheduler", "come with --backend dask or ray", options.scheduler)
    try:
        with as_before(), redirect_stdout(sys.stderr), workers as started, terminal.progress() as watch:
            yield started, watch
    except KeyboardInterrupt:
        if options.store is None:
            raise
        raise KeyboardInterrupt(f"what was done is in {options.store}, and the same command goes on") from None
