"""What the command says while it works, and at the end: progress on stderr, results on stdout."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dpcheck.errors import InputError
from dpcheck.shown import readable

_COMMANDS = re.compile(r"^[^\S\n]*::|##\[", re.MULTILINE)
UNWRAPPED = 10_000  # columns of a list that another program reads, an entry a line, as in ``| grep``


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr; without a terminal there, one line a stage."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        seen: set[str] = set()

        def line(stage: str, done: int, total: int) -> None:
            if stage not in seen:
                seen.add(stage)
                tell(f"dpcheck: {stage} ...")

        yield line
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def update(stage: str, done: int, total: int) -> None:
            bar.update(task, description=readable(stage), completed=done, total=total)

        yield update


def tell(text: str) -> None:
    """Say something on stderr, or nowhere: that nobody can read it changes neither the work nor its exit code."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(_plain(text), file=sys.stderr, flush=True)


def coloured() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout is not None and not sys.stdout.closed and sys.stdout.isatty()


def _plain(text: str) -> str:
    """Return a text that moves no cursor, and commands no log of a CI service, which begins at signs of its own."""
    return _COMMANDS.sub(lambda match: " ".join(match[0]), readable(text))


def say(text: str, *, as_it_is: bool = False) -> int:
    """Print a result, as far as somebody reads on; return 0. InputError where stdout is closed or cannot be written.

    ``as_it_is``: with its colours, or the commands to a CI service that it is made of.
    """
    text = text if as_it_is else _plain(text)
    if sys.stdout is None or sys.stdout.closed:
        raise InputError("stdout must be open, got a closed one: the result has nowhere to go")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _drop_the_rest()
    except OSError as error:
        _drop_the_rest()
        raise InputError(f"stdout must be writable, got: {error.strerror}") from error
    return 0


def say_verdict(verdict: str, text: str) -> int:
    """Print a result that begins with its verdict, which a terminal shows in the verdict's colour."""
    if coloured() and text.startswith(verdict):
        from rich.style import Style

        from dpcheck.report.results import standing

        text = Style.parse(standing(verdict).colour).render(verdict) + _plain(text.removeprefix(verdict))
        return say(text, as_it_is=True)
    return say(text)


def _drop_the_rest() -> None:
    """What is still buffered would fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width(otherwise: int = 80) -> int:
    """How many columns there are to write in, and ``otherwise`` where that is no terminal."""
    return max(shutil.get_terminal_size((otherwise, 24)).columns, 40)


def named(name: str, value: Any) -> str:
    """A name and a value, in as many lines as the terminal needs, between words."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return textwrap.fill(
        f"{name:>13}  {text}", width(), subsequent_indent=" " * 15, break_long_words=False, break_on_hyphens=False
    )


def say_json(value: Any) -> int:
    """Print a value as JSON; 0, the exit code where nothing is judged."""
    from dpcheck.report.results import to_json_text

    return say(to_json_text(value))
