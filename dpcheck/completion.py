"""What a shell may complete: names that the commands take, through the package argcomplete where it is installed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable


def complete(parser: argparse.ArgumentParser, commands: dict[str, argparse.ArgumentParser]) -> None:
    """Answer a shell that asks for completions, and leave; return at once where none asks."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    names: dict[tuple[str, str], Callable[..., list[str]]] = {
        ("check", "names"): _algorithms, ("solve", "algorithm"): _algorithms, ("measure", "algorithm"): _algorithms,
        ("show", "theorem"): _theorems, ("prove", "target"): _claims, ("bugs", "names"): _bugs,
    }  # fmt: skip
    for (command, argument), found in names.items():
        action = next(each for each in commands[command]._actions if each.dest == argument)
        action.completer = found  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _algorithms(**_: object) -> list[str]:
    from dpcheck.solvers import ALGORITHMS

    return list(ALGORITHMS)


def _theorems(**_: object) -> list[str]:
    from dpcheck.bounds.registry import theorems

    return [each.id for each in theorems()]


def _claims(**_: object) -> list[str]:
    from dpcheck.bounds.ledger import recorded

    return [*dict.fromkeys(each["paper"] for each in recorded().values()), *recorded()]


def _bugs(**_: object) -> list[str]:
    from dpcheck.audits.bugs.bug import find

    return [each.id for each in find(["all"])]
