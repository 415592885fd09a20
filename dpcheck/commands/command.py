"""What a command is, how its help is laid out, and the options that several commands take."""

from __future__ import annotations

import argparse
import textwrap
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpcheck.shown import TABLE_FORMATS


def _anything(parser: ArgumentParser, options: Namespace) -> None:
    """Accept whatever the options themselves accept."""


@dataclass(frozen=True)
class Command:
    """A command of ``dpcheck``.

    Attributes
    ----------
    name : str
        What is typed after ``dpcheck``.
    help : str
        What it does, in one line.
    examples : tuple of str
        Lines that can be typed as they are, where their files exist.
    add_options : callable
        Adds its arguments to its parser.
    run : callable
        Carries out what was parsed; returns the exit code. It imports what is heavy itself, so that help waits for no
        library.
    further : str
        What its help says besides.
    require : callable
        Calls the parser's ``error`` where options that are good alone do not fit together.
    runs_others_code : bool
        Whether it runs code of its user, which may leave processes behind.
    """

    name: str
    help: str
    examples: tuple[str, ...]
    add_options: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
    further: str = ""
    require: Callable[[ArgumentParser, Namespace], None] = _anything
    runs_others_code: bool = False


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help whose paragraphs fit the terminal, while examples, which stand further in, stay as they can be typed."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap each paragraph."""
        return "\n\n".join(
            "\n".join(indent + line for line in part.splitlines())
            if "\n  " in part
            else textwrap.fill(" ".join(part.split()), width, initial_indent=indent, subsequent_indent=indent)
            for part in text.split("\n\n")
        )


FORMATS = ("terminal", "json", "junit", "sarif", "html", "github")
LISTED = ("terminal", "json", *TABLE_FORMATS)  # of what is a table
Options = ArgumentParser | _ArgumentGroup
SEED = "all randomness follows from it (default 0)"


def add_format(parser: Options, formats: Sequence[str] = ("terminal", "json")) -> None:
    """Add the format of stdout."""
    parser.add_argument("--format", choices=formats, default="terminal", help="of what goes to stdout")


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
    add_fail_on(parser)


def add_store(parser: Options) -> None:
    """Add the folder that keeps what is measured."""
    parser.add_argument(
        "--store", metavar="FOLDER",
        help="keep what is measured in FOLDER as it comes, so that the same command goes on where it was stopped",
    )  # fmt: skip


def add_backend(parser: Options) -> None:
    """Add who does the work."""
    parser.add_argument(
        "--backend", choices=("threads", "processes", "dask", "ray"),
        help="who does the work (default: threads for compiled code, else processes); results do not depend on it",
    )  # fmt: skip
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a cluster of Dask or Ray (default: this machine)")


def add_fail_on(parser: Options) -> None:
    """Add what makes a command fail."""
    parser.add_argument(
        "--fail-on", choices=("violated", "inconclusive"), default="violated", help="what makes the exit code 1"
    )
