"""What a command is: the words of its help, its options, and what it runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass


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
