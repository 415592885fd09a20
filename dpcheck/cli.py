# PYTHON_ARGCOMPLETE_OK
"""The command line: what can be asked, and the exit code of the answer."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import sysconfig
import textwrap
import traceback
from collections.abc import Sequence
from contextlib import chdir, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

import dpcheck
from dpcheck import __version__
from dpcheck.commands import algorithms, audit, certify, lookups, rate, runs, verdicts, write
from dpcheck.commands.command import Command
from dpcheck.commands.files import Files
from dpcheck.commands.terminal import tell
from dpcheck.errors import InputError, one_line, raised, short

# In the order in which `dpcheck --help` lists them.
_IN_ORDER = (
    verdicts.CHECK, lookups.LIST, lookups.SHOW, verdicts.PROVE, audit.AUDIT, write.WRITE, certify.CERTIFY, lookups.BUGS,
    rate.RATE, algorithms.MEASURE, runs.REPRODUCE, runs.HISTORY, runs.COMPARE, algorithms.SOLVE, runs.REPORT,
)  # fmt: skip
COMMANDS: dict[str, Command] = {command.name: command for command in _IN_ORDER}
_INTERRUPTED = 130
_LONGEST, _LONGEST_ERROR = 300, 800  # letters of what is wrong with a command line, and of any other error
# How NumPy says that no memory of this world holds an array, and the system that too many files are open.
_TOO_LARGE = ("Maximum allowed dimension exceeded", "Maximum allowed size exceeded", "array is too big", "[Errno 24]")
EXIT_CODES = """\
exit codes: 0 every verdict is the expected one, 1 a guarantee is violated (or undecided, where there
is --fail-on inconclusive), 2 wrong usage or input, 3 internal error, 130 interrupted"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    if arguments is not None:
        return _run(_parse(arguments))
    options = _parse(sys.argv[1:])
    if os.path.lexists(".numba_config.yaml"):  # which may name another processor, or have all code printed
        with chdir(Path(dpcheck.__file__).parent):
            from numba.core import config
        config._config_fname = os.devnull  # read before each compilation
    if not COMMANDS[options.command].runs_others_code:
        code = _run(options)
        if code == _INTERRUPTED:  # without waiting for threads that are at work
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError, AttributeError):
                    stream.flush()
            os._exit(code)
        return code
    from dpcheck.running.processes import supervised

    try:
        return supervised(lambda: _run(options))
    except InputError as error:
        tell(f"dpcheck: error: {error}")
        return 2


def _run(options: argparse.Namespace) -> int:
    """Carry out what was asked, and say what went wrong."""
    for stream in (sys.stdout, sys.stderr):  # a terminal without our signs is no reason to fail
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        options.files.require_apart()
        return COMMANDS[options.command].run(options)
    except KeyboardInterrupt as error:  # whoever kept a part says so
        tell(f"dpcheck: interrupted; {error.args[0] if error.args else 'no result was written'}")
        return _INTERRUPTED
    except BaseException as error:  # of other people's code, too: none of them may leave with an exit code of its own
        too_large = isinstance(error, MemoryError) or one_line(error).startswith(_TOO_LARGE)
        if isinstance(error, InputError) or too_large:
            room = "the limits of the process" if isinstance(error, OSError) else "memory"
            said = f"the work must fit into {room}: {raised(error)}" if too_large else str(error)
            if caret := getattr(error, "caret", ""):  # of a line that was typed
                tell(caret)
            tell(f"dpcheck: error: {short(said, _LONGEST_ERROR)}")
            return 2
        place = place_of_failure(error) if COMMANDS[options.command].runs_others_code else ""
        if place:
            tell(f"dpcheck: error: the code under test must leave dpcheck alone, got {raised(error)} at {place}")
            return 2
        import traceback

        tell(f"{traceback.format_exc()}dpcheck {__version__}: internal error, please report it")
        return 3


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; options may stand before, between and after what else a command takes."""
    parser, commands = _parsers()
    _complete(parser, commands)
    name, *rest = arguments or ["--help"]
    if name not in commands:
        near = difflib.get_close_matches(name, commands, 1)
        if near:
            parser.error(f"unknown command {name}: did you mean dpcheck {near[0]}?")
        return parser.parse_args([name, *rest])  # which knows --help and --version, and what is wrong with the rest
    for word in rest:  # of which argparse would leave nothing
        if word.startswith("--") and word.endswith("=--"):
            commands[name].error(f"argument {word.removesuffix('=--')}: expected another value than --")
    options = commands[name].parse_intermixed_args(rest, argparse.Namespace(command=name))
    COMMANDS[name].require(commands[name], options)
    options.files = Files.of(commands[name], options)
    return options


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the whole command line, and the part of each command."""
    parser = _Parser(
        prog="dpcheck",
        description="Checks differentially private optimisation: the published guarantee, its derivation, "
        "the algorithm, and the privacy and rate it delivers.",
        epilog=f"examples:\n  dpcheck check privatediff\n  dpcheck prove 003:Thm5 --explain\n"
        f"  dpcheck check --help    # each command has examples of its own\n\n{EXIT_CODES}",
        formatter_class=_HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dpcheck {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS.values():
        examples = "\n".join(f"  {line}" for line in command.examples)
        part = subparsers.add_parser(
            command.name, help=command.help, description=f"{command.help}\n\n{command.further}".strip(),
            epilog=f"examples:\n{examples}\n\n{EXIT_CODES}", formatter_class=_HelpFormatter,
        )  # fmt: skip
        command.add_options(part)
    return parser, dict(subparsers.choices)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help whose paragraphs fit the terminal, while examples, which stand further in, stay as they can be typed."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap each paragraph."""
        return "\n\n".join(
            "\n".join(indent + line for line in part.splitlines())
            if "\n  " in part
            else textwrap.fill(" ".join(part.split()), width, initial_indent=indent, subsequent_indent=indent)
            for part in text.split("\n\n")
        )


class _Parser(argparse.ArgumentParser):
    """A parser whose error is one line of a readable length, whatever was typed."""

    def error(self, message: str) -> NoReturn:
        line = one_line(message)
        super().error(line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ...")


def _complete(parser: argparse.ArgumentParser, commands: dict[str, argparse.ArgumentParser]) -> None:
    """Answer a shell that asks for completions, by argcomplete, and leave; return at once where none asks."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    arguments = {
        "check": "names", "solve": "algorithm", "measure": "algorithm", "show": "theorem", "prove": "target",
        "bugs": "names",
    }  # fmt: skip
    for command, argument in arguments.items():
        action = next(action for action in commands[command]._actions if action.dest == argument)
        action.completer = partial(_names, command)  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _names(command: str, **_: object) -> list[str]:
    """Return what a command can be asked about."""
    if command == "show":
        from dpcheck.bounds.formulas.formula import formulas
        from dpcheck.bounds.registry import theorems

        return [*(theorem.id for theorem in theorems()), *formulas()]
    if command == "prove":
        from dpcheck.bounds.ledger import recorded

        return [*dict.fromkeys(claim["paper"] for claim in recorded().values()), *recorded()]
    if command == "bugs":
        from dpcheck.audits.bugs.bug import find

        return [bug.id for bug in find(["all"])]
    from dpcheck.solvers import ALGORITHMS

    return list(ALGORITHMS)


def place_of_failure(error: BaseException) -> str:
    """Return file and line where an error began, if that is in code that is neither ours nor installed; else nothing.

    Such an error comes out of dpcheck where it called that code in passing: a function that traces, an object's text.
    """
    frames = traceback.extract_tb(error.__traceback__)
    file = frames[-1].filename if frames else "<"
    if file.startswith("<") or any(Path(file).resolve().is_relative_to(folder) for folder in _known()):
        return ""
    return f"{Path(file).name}:{frames[-1].lineno}"


def _known() -> list[Path]:
    root = Path(dpcheck.__file__).resolve().parent
    ours = [root, (root / "bounds").resolve(), (root / "audits").resolve()]
    return ours + [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
