"""What a command is, and what several commands share: options, and the store, workers and files that they name.

Others' code that a command runs in this process cannot be held: what it changed is given back (``as_before``), and code
that means harm runs with ``--isolate``.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.commands import terminal
from dpcheck.commands.files import File
from dpcheck.errors import InputError, one_line, require
from dpcheck.running.files import write_bytes, write_text
from dpcheck.shown import TABLE_FORMATS

if TYPE_CHECKING:
    from dpcheck.report.findings import Report
    from dpcheck.running.executor import Executor
    from dpcheck.running.store import Store


_FAR = 700  # of a copy: beyond the files that code which writes to all of them, or closes them, counts up to


class _Stream:
    """A stream as it was, and a copy of what it writes to, which no other process inherits."""

    def __init__(self, name: str) -> None:
        self._name, self._stream, self._copy = name, getattr(sys, name), -1
        self._number = -1
        with suppress(OSError, ValueError, AttributeError, ImportError):
            import fcntl  # of no system without file numbers

            self._number = self._stream.fileno()
            self._copy = fcntl.fcntl(self._number, fcntl.F_DUPFD_CLOEXEC, _FAR)

    def give_back(self) -> None:
        setattr(sys, self._name, self._stream)
        if self._copy < 0:
            return
        with suppress(OSError):  # whoever closes every file has nothing given back
            if not self._is_open():
                os.dup2(self._copy, self._number)
            if self._stream.closed:
                opened = os.fdopen(self._number, "w", encoding="utf-8", errors="replace", closefd=False)
                setattr(sys, self._name, opened)
            os.close(self._copy)

    def _is_open(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._number), os.fstat(self._copy))
        except OSError:
            return False


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
        "type": File.STORE, "metavar": "FOLDER",
        "help": "keep what is measured in FOLDER as it comes, so that the same command goes on where it was stopped",
    },
    "backend": {
        "choices": ("threads", "processes", "dask", "ray"),
        "help": "who does the work (default: threads for compiled code, else processes); results do not depend on it",
    },
    "scheduler": {
        "type": File.NONE, "metavar": "ADDRESS", "help": "of a cluster of Dask or Ray (default: this machine)"
    },
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
    parser.add_argument("--output", type=File.WRITTEN, metavar="FILE", help="write to FILE instead of stdout")
    for name in FORMATS[1:]:
        parser.add_argument(f"--{name}-output", type=File.WRITTEN, metavar="FILE", help=f"also write {name} to FILE")
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="a row for every finding, every measured table, and the seconds of each stage",
    )
    parser.add_argument(
        "--explain", type=File.NONE, action="append", default=[], metavar="ID",
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

    for name in FORMATS[1:]:
        if target := getattr(options, f"{name}_output"):
            write_text(target, text_in(name))
    coloured = options.output is None and terminal.coloured()
    if options.explain:
        from dpcheck.report.terminal import explanations

        text = explanations(report, options.explain, width=terminal.width()) + "\n"
    else:
        text = text_in(
            options.format, color=coloured,
            width=120 if options.output else terminal.width(120), verbose=options.verbose,
        )  # fmt: skip
    if options.output:
        write_text(options.output, text)
    elif texts and options.format in texts and not options.explain:
        terminal.say_verdict(report.findings[0].verdict, text.removesuffix("\n"))
    else:
        made = coloured or options.format in ("github", "html")
        terminal.say(text.removesuffix("\n"), as_it_is=made and not options.explain)
    undecided = report.inconclusive and options.fail_on == "inconclusive"
    return int(not report.ok or undecided)


class Picture:
    """The picture that ``--plot`` asks for; nothing is drawn where it asks for none."""

    def __init__(self, target: str | None) -> None:
        """Require a file whose ending says what kind of picture it is, before there is anything to draw."""
        self.target = target
        if target:
            from matplotlib.figure import Figure

            known = Figure().canvas.get_supported_filetypes()
            ending = Path(target).suffix.removeprefix(".")
            require(ending.lower() in known, "--plot", f"end in one of .{', .'.join(known)}", target)

    def save(self, draw: Callable[[], Any]) -> None:
        """Write the figure that ``draw`` returns."""
        if self.target:
            import matplotlib

            stream = BytesIO()
            with matplotlib.rc_context():
                matplotlib.rcdefaults()  # since a matplotlibrc of the working folder may start TeX on a text of its own
                figure = draw()
                try:
                    figure.savefig(stream, dpi=150, format=Path(self.target).suffix.removeprefix(".").lower())
                except (OSError, ValueError, RuntimeError) as error:  # such as a picture for which TeX is missing
                    must = f"--plot must be a picture that can be drawn, got {self.target}"
                    raise InputError(f"{must}: {one_line(error)}") from error
            write_bytes(self.target, stream.getvalue())


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


@contextmanager
def as_before() -> Iterator[None]:
    """Give back streams, closed ones too, umask, functions that trace, compute or write; InputError for what computes.

    No number that came out after somebody replaced :func:`numpy.random.default_rng` is one of dpcheck's.
    """
    streams = [_Stream("stdout"), _Stream("stderr")]
    path, mask = list(sys.path), os.umask(0)  # which can only be read by setting it
    os.umask(mask)
    tracing, functions = (sys.gettrace(), sys.getprofile()), _functions()
    try:
        yield
    finally:
        os.umask(mask)
        if sys.gettrace() is not tracing[0]:
            sys.settrace(tracing[0])
        if sys.getprofile() is not tracing[1]:
            sys.setprofile(tracing[1])
        for stream in streams:
            stream.give_back()
        replaced = []
        for (module, name), function in functions.items():
            if getattr(sys.modules[module], name, None) is not function:
                setattr(sys.modules[module], name, function)
                replaced += [f"{module}.{name}"] * (module not in _WRITE)
        broke = sys.exc_info()[1]
        lost = set(path) - set(sys.path)
        if lost:
            sys.path[:] = path
        if lost and isinstance(broke, ImportError):  # of a module of ours, which comes where it is needed
            raise InputError("the code under test must leave sys.path as it is, got one that took from it") from broke
        if replaced and not isinstance(broke, KeyboardInterrupt):
            got = f"one that replaced {', '.join(replaced)[:200]}"
            must = "the code under test must leave NumPy, SciPy, math and builtins alone"
            raise InputError(f"{must}, got {got}") from broke


_COMPUTE, _WRITE = ("numpy", "numpy.random", "scipy.special", "math", "builtins"), ("json", "os", "tempfile")


def _functions() -> dict[tuple[str, str], Any]:
    """Return what can be called of modules that compute or write, where they are loaded."""
    loaded = [name for name in (*_COMPUTE, *_WRITE) if name in sys.modules]
    held = ((name, key, value) for name in loaded for key, value in vars(sys.modules[name]).items())
    return {(name, key): value for name, key, value in held if callable(value)}
