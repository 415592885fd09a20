"""Hostile trials of the command: every option with words, every file with faults, code that breaks what it can reach.

``python -m tests.hostile`` runs all of them and writes ``tests/measured/hostile.csv``. A trial is a command line in a
folder of its own, run as a user runs it, in a process that is forked. It is held where the exit code is one that is
allowed, there is no traceback, bad input (2) gets one line on stderr, nothing on stdout and changes no file, and all of
it takes less than ``SECONDS``. Options come from the parser: a new one is tried by itself.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import io
import itertools
import json
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
from argparse import Action
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ANY, REFUSED = frozenset({0, 1, 2}), frozenset({2})
SECONDS = 20.0  # on a machine that is busy with other things; refusing takes less than one
DEEP, LONG = 100_000, "1" * 5_000


@dataclass(frozen=True)
class Trial:
    """A command line, what stands in the file it reads, and the exit codes that are allowed."""

    name: str
    line: tuple[str, ...]
    codes: frozenset[int] = ANY
    file: str = ""
    content: bytes | Callable[[Path], object] | None = None


@dataclass(frozen=True)
class Outcome:
    """What came out: the exit code or how it ended, the lines of its error, what is wrong with it, or nothing."""

    code: str
    lines: int
    seconds: float
    wrong: str


# The files of the folder

CODE = """
import os, sys, gc, signal, threading, time, numpy as np
from dpcheck.events import Gaussian
def f(data, rng): return float(np.sum(data)) + rng.laplace()
claim = Gaussian(1.0)
class Mute(Exception):
    def __str__(self): raise RuntimeError
    __repr__ = __str__
class Stop(BaseException):
    def __str__(self): raise SystemExit(0)
class Number(float):
    def __float__(self): raise Mute
def traced(*_): raise ValueError("trace")
"""
# What the body of a mechanism does before it returns a number.
BODIES = {
    "raises": "raise ValueError('x')", "raises a mute error": "raise Mute", "raises a stop": "raise Stop",
    "leaves": "sys.exit(0)", "leaves at once": "os._exit(0)", "kills itself": "os.kill(os.getpid(), signal.SIGKILL)",
    "aborts": "os.abort()", "is ended": "os.kill(os.getpid(), signal.SIGSEGV)", "memory": "raise MemoryError",
    "recurses": "(g := lambda: g())()", "a warning": "import warnings; warnings.warn('x')",
    "closes streams": "sys.stdout.close(); sys.stderr.close()", "closes files": "os.close(1); os.close(2)",
    "closes all files": "os.closerange(0, 256)", "no streams": "sys.stdout = sys.stderr = None",
    "traces": "sys.settrace(traced)", "profiles": "sys.setprofile(traced)", "no recursion": "sys.setrecursionlimit(60)",
    "other generators": "np.random.default_rng = None", "other sums": "np.sum = None", "other sorting": "np.sort = None",
    "no modules": "sys.modules.clear()", "no path": "sys.path.clear()", "no arguments": "sys.argv.clear()",
    "prints": "print('violated\\n' * 3); print('x', file=sys.stderr)", "prints to files": "os.write(1, b'consistent\\n')",
    "reads": "input()", "forks": "os.fork()", "a thread": "threading.Thread(target=time.sleep, args=(1,), daemon=True).start()",
    "changes folder": "os.chdir('/')", "no home": "os.environ.clear()", "no interrupts": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "no data": "data[:] = 9", "returns None": "return None", "returns text": "return '=cmd|x'", "returns itself": "return f",
    "returns a number that is none": "return Number(1)", "returns a cycle": "x = []; x.append(x); return x",
    "returns a huge number": "return 10 ** 5000", "returns a huge array": "return np.zeros(10 ** 12)",
    "returns NaN": "return float('nan')", "returns an iterator": "return iter([1])", "returns a table": "return sys.modules",
    "an escape": "return '\\x1b[2J'", "warns as errors": "import warnings; warnings.simplefilter('error')",
    "no garbage": "gc.disable()", "its own generator": "rng = np.random.default_rng()", "an interrupt": "raise KeyboardInterrupt",
}  # fmt: skip
ALSO = {"closes all files": {2}, "an interrupt": {130}, "prints to files": {0, 1, 2}}
MODULES = {
    "nothing": "", "an error": "1 / 0", "no syntax": "def f(:", "leaves": "raise SystemExit(0)", "interrupt": "raise KeyboardInterrupt",
    "closes stdout": "import os, sys; os.close(1); sys.stdout.close()", "closes all": "import os; os.closerange(0, 256)",
    "mute": CODE + "raise Mute", "stop": CODE + "raise Stop", "ends": "import os; os._exit(0)",
    "null": "x = '\0'", "deep": "x = " + "(" * 5_000, "signs": "\udc80".encode("utf-8", "surrogateescape").decode("latin-1"),
    "names": "f = 3\nCLAIMS = 3", "claims": "CLAIMS = [1, None]", "printing": "print('violated')", "no modules": "import sys; sys.modules.clear()",
    "traces": CODE + "sys.settrace(traced)", "a getattr": "def __getattr__(name): raise SystemExit(0)",
}  # fmt: skip
PAIR = ("--data", "[0,1]", "--neighbour", "[1,1]", "--epsilon", "1", "--trials", "200")
AUDIT = ("audit", "m:f", *PAIR)
RATE = ("--response", "gap", "--factors", "n")
RUN = ("--multiplier", "1", "--batch", "2", "--population", "100", "--steps", "3", "--delta", "1e-5")
TOML = {
    "mechanism": '"m:f"', "data": "[0, 1]", "neighbour": "[1, 1]", "epsilon": "1.0", "delta": "0.0", "trials": "200",
    "vectorized": "false", "seeded": "true", "expected": '"consistent"', "name": '"mine"',
}  # fmt: skip
LITERALS = ("3", "-1", "0", "1.5", "1e400", "nan", "inf", '"x"', '""', "[]", "{}", "2020-01-01", "true", "[[1], [1, 2]]",
            "[2020-01-01]", "[[[[1]]]]", "1" * 400, '"\\u001b[2J"', '[{a = 1}, "b"]')  # fmt: skip
# What else may stand where a value stands.
VALUES: tuple[Any, ...] = (
    None, True, -1, 2.5, 10**399, float("nan"), "", "x", "inf", "=cmd|' /C calc'!A0", "\x1b[2J\u202e", [], {}, [[1], "a"],
)  # fmt: skip


def toml(**changes: str) -> str:
    entry = {name: value for name, value in (TOML | changes).items() if value}
    return "[[tool.dpcheck.mechanisms]]\n" + "".join(f"{name} = {value}\n" for name, value in entry.items())


def make(folder: Path) -> None:
    """Write the good files."""
    numbers = np.array([[0.0, 1.0], [1.0, 1.0]])
    texts = {
        "m.py": CODE + "".join(
            f"def f{k}(data, rng):\n    {body}\n    return f(data, rng)\n" for k, body in enumerate(BODIES.values())
        ),
        "data.json": "[0, 1]", "data.csv": "a,b\n1,2\n3,4\n", "words.csv": "a,b\nx,2\ny,4\n", "mechanisms.toml": toml(),
        "gaps.csv": "n,gap\n" + "".join(f"{n},{n**-0.5}\n" for n in (100, 200, 400, 800) for _ in range(4)),
        "events.json": '[{"class_name": "Gaussian", "noise_multiplier": 2.0}]', "encoder.csv": "1,0\n1,1\n",
        "nosuch_algorithm.py": "x = 1\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    np.save(folder / "data.npy", numbers)
    np.save(folder / "encoder.npy", numbers)
    with suppress(ImportError):
        import pandas as pd

        pd.DataFrame(numbers, columns=["a", "b"]).to_parquet(folder / "data.parquet")
    for line in (
        (*AUDIT, "--sequential", "--format", "json", "--output", "earlier.json"), (*AUDIT, "--write-baseline", "known.json"),
        (*AUDIT, "--json-output", "report.json", "--store", "kept"), (*AUDIT, "--format", "json", "--output", "audit.json"),
        ("rate", "gaps.csv", *RATE, "--format", "json"),
        ("measure", "dp_sgda", "n=50", "steps=3", "--seeds", "1", "--output", "measured.csv"),
    ):  # fmt: skip
        code, out, err = run(folder, line)
        assert code in ("0", "1"), (line, code, err[-500:])
        if line[0] == "rate":
            (folder / "fit.json").write_text(out)


# file -> command lines that read it
READ: dict[str, tuple[tuple[str, ...], ...]] = {
    "data.json": ((*AUDIT, "--data", "data.json"), ("audit", "m:f", "--data", "data.json", "--epsilon", "1", "--trials", "100")),
    "data.csv": ((*AUDIT, "--neighbour", "data.csv"),), "words.csv": ((*AUDIT, "--data", "words.csv"),),
    "data.npy": ((*AUDIT, "--data", "data.npy"),), "data.parquet": ((*AUDIT, "--data", "data.parquet"),),
    "known.json": ((*AUDIT, "--baseline", "known.json"), ("compare", "known.json", "report.json")),
    "earlier.json": ((*AUDIT, "--earlier", "earlier.json", "--trials", "300"),),
    "report.json": (("report", "report.json"), ("compare", "report.json", "report.json", "--format", "markdown")),
    "audit.json": (("compare", "audit.json", "audit.json"),), "fit.json": (("compare", "fit.json", "fit.json"),),
    "mechanisms.toml": (("audit", "--all", "mechanisms.toml"),), "events.json": (("certify", "events.json", "--delta", "1e-5"),),
    "encoder.csv": (("certify", "--multiplier", "4", "--encoder", "encoder.csv", "--delta", "1e-5"),),
    "encoder.npy": (("certify", "--multiplier", "4", "--encoder", "encoder.npy", "--delta", "1e-5"),),
    "gaps.csv": (("rate", "gaps.csv", *RATE), ("rate", "gaps.csv", *RATE, "--theorem", "yang2022.theorem_2a", "G_w=1", "G_v=1")),
    "measured.csv": (("measure", "dp_sgda", "n=50", "steps=3", "--seeds", "1", "--output", "measured.csv"),),
    "kept/dpcheck.sqlite": (("history", "kept"), (*AUDIT, "--store", "kept")),
}  # fmt: skip


def damaged(good: bytes) -> dict[str, bytes]:
    """Contents in place of a good one."""
    array = io.BytesIO()
    np.lib.format.write_array(array, np.array([print], object), allow_pickle=True)
    huge = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    return {
        "empty": b"", "half": good[: len(good) // 2], "less one": good[:-3], "twice": good * 2, "zeros": b"\0" * 100,
        "no UTF-8": b"\xff\xfe\x00" + good, "UTF-16": good.decode("latin-1").encode("utf-16"), "a sign first": b"\xef\xbb\xbf" * 2 + good,
        "a flipped bit": good[:40] + bytes([good[len(good) // 2] ^ 4]) + good[41:], "deep": b"[" * DEEP, "deep and closed": b"[" * DEEP + b"]" * DEEP,
        "deep objects": b'{"a":' * DEEP, "tables": b"[" * 50_000 + b"\n", "4000 digits": b"1" * 4_000, "5000 digits": LONG.encode(),
        "1e999": b"[1e999]", "null": b"null", "number": b"3", "text": b'"x"', "list": b"[1, [2]]", "true": b"true", "object": b'{"schema": [1]}',
        "twice a field": b'{"a": 1, "a": 2}', "schema": b'{"schema": {"a": 1}}', "formula": b"=cmd|' /C calc'!A0,1\n2,3\n",
        "quotes": b'"' * 999, "commas": b"," * 9_999, "lines": b"\n" * 9_999, "escape": b"\x1b[2J\n1,2\n", "one line": b"a" * 200_000,
        "zip": b"PK\3\4" + bytes(100), "pickle": pickle.dumps(os.system), "gzip": b"\x1f\x8b\x08" + bytes(50), "objects": array.getvalue(),
        "huge": b"\x93NUMPY\x01\0v\0" + huge.ljust(117) + b"\n", "parquet": b"PAR1" + bytes(60) + b"PAR1", "sqlite": b"SQLite format 3\0" + bytes(200),
        "keys": b"a = " + b"{b = " * 5_000, "dots": b"a" + b".a" * 50_000 + b" = 1", "tool": b'tool = "x"', "dpcheck": b"[tool]\ndpcheck = 3",
    }  # fmt: skip


REPLACED: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None, "a folder": lambda path: path.mkdir(), "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"), "a circle": lambda path: path.symlink_to(path.name),
}  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a JSON value, from the outside in."""
    yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, (*at, key))


def changed(value: Any, at: tuple[Any, ...], to: Any) -> bytes:
    """The value with another one in a place, as JSON; without it where that is Ellipsis."""
    if not at:
        return json.dumps(None if to is ... else to).encode()
    found = copy.deepcopy(value)
    inside = found
    for key in at[:-1]:
        inside = inside[key]
    if to is ...:
        del inside[at[-1]]
    else:
        inside[at[-1]] = to
    return json.dumps(found).encode()


WORDS = ("", "nan", "inf", "1e999", "-1", "0", "0.5", "x", "1000000000000000000", LONG, "[", "[" * 5_000, "\x1b[2J", "a\nb", "no/such/x", "a" * 5_000,
         "$(id)", "m.py", "%s", "../..", "--", "/dev/zero", "null", "__import__('os')")  # fmt: skip
LINES = {
    "audit": AUDIT, "certify": ("certify", *RUN), "check": ("check", "nosuch_algorithm.py"), "rate": ("rate", "gaps.csv", *RATE),
    "solve": ("solve", "dp_sgda", "steps=3"), "measure": ("measure", "dp_sgda", "n=50", "steps=3", "--seeds", "1"), "report": ("report", "report.json"),
    "history": ("history", "kept"), "compare": ("compare", "report.json", "known.json"), "list": ("list",), "show": ("show", "yang2022.theorem_1"),
    "bugs": ("bugs", "no-such-bug"), "reproduce": ("reproduce", "xu2026.table_2", "--only", "nothing"), "write": ("write", "m.py"),
    "prove": ("prove", "nosuch.py", "--seconds", "0"),
}  # fmt: skip


def options(command: str, actions: list[Action]) -> Iterator[Trial]:
    """Every option and argument of a command, with every word."""
    base = LINES[command]
    for action in actions:
        if action.nargs == 0 or action.dest == "help":
            continue
        for word in ("x",) if action.choices else WORDS:
            number = action.type in (int, float)
            codes = REFUSED if action.choices or (number and not _is(action.type, word)) else ANY
            line = (
                (*base, f"{action.option_strings[-1]}={word}") if action.option_strings else (command, word, *base[2:])
            )
            yield Trial(f"{command} {action.option_strings[-1:] or action.dest} {word[:20]!r}", line, codes)


def _is(kind: Any, word: str) -> bool:
    with suppress(ValueError):
        kind(word)
        return True
    return False


def trials(folder: Path) -> Iterator[Trial]:
    """All trials, on the files of a folder."""
    from dpcheck import cli

    for command, parser in cli._parsers()[1].items():
        yield from options(command, parser._actions)
    for file, lines in READ.items():
        if not (folder / file).exists():
            continue
        good = (folder / file).read_bytes()
        for number, line in enumerate(lines):
            for fault, content in (damaged(good) | REPLACED).items():
                yield Trial(f"{line[0]} {number} {file} {fault}", line, ANY, file, content)
            if file.endswith(".json") and file != "data.json" and not number:
                value = json.loads(good)
                for at, to in itertools.product((at for at in places(value) if len(at) < 5), (..., *VALUES)):
                    where = ".".join(map(str, at))
                    yield Trial(f"{line[0]} {file}: {where} {to!r}"[:110], line, ANY, file, changed(value, at, to))
    for name, literal in itertools.product(TOML, LITERALS):
        yield Trial(
            f"audit --all {name} {literal[:20]}",
            READ["mechanisms.toml"][0],
            ANY,
            "mechanisms.toml",
            toml(**{name: literal}).encode(),
        )
    for k, (body, how) in enumerate(
        itertools.product(BODIES, ((), ("--vectorized",), ("--sequential",), ("--jobs", "2")))
    ):
        codes = frozenset(ALSO.get(body, ())) | ANY
        yield Trial(f"audit of what {body} {' '.join(how)}", ("audit", f"m:f{k // 4}", *PAIR, *how), codes)
    for module, line in itertools.product(
        MODULES, (("audit", "m:f", *PAIR), ("check", "m.py"), ("prove", "m.py"), ("write", "m.py"))
    ):
        codes = ANY | {130} if module == "interrupt" else ANY
        yield Trial(f"{line[0]} of a file: {module}", line, codes, "m.py", MODULES[module].encode("utf-8", "replace"))


# Running them


def run(folder: Path, line: tuple[str, ...]) -> tuple[str, str, str]:
    """Run a command line in a process of its own; its exit code or what became of it, stdout and stderr."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            _child(folder, line, out.fileno(), err.fileno())
        deadline, status = time.monotonic() + SECONDS, None
        while status is None and time.monotonic() < deadline:
            done, code = os.waitpid(child, os.WNOHANG)
            status = code if done else None
            time.sleep(0.002)
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        if status is None:
            os.waitpid(child, 0)
        ended = "no end" if status is None else str(os.waitstatus_to_exitcode(status))
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    return ended, texts[0], texts[1]


def _child(folder: Path, line: tuple[str, ...], out: int, err: int) -> None:
    from dpcheck.cli import main

    code: Any = 99
    try:
        os.chdir(folder)
        for number, to in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, err)):
            os.dup2(to, number)
        sys.stdout, sys.stderr = (open(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))
        sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
        sys.argv, sys.path[0] = ["dpcheck", *line], str(folder)
        try:
            code = main()
        except SystemExit as stop:  # how argparse ends
            code = stop.code or 0
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
    finally:
        os._exit(code if isinstance(code, int) else 98)


def state(folder: Path) -> dict[str, str]:
    """What lies in a folder, apart from what Python compiles and SQLite keeps while it is open."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith(("-wal", "-shm")):
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def judged(trial: Trial, code: str, out: str, err: str, seconds: float, altered: list[str]) -> Outcome:
    """Hold what came out against what is allowed."""
    *rest, last = err.splitlines() or [""]
    told = [line for line in rest if not line.startswith(("usage: ", "  ", "dpcheck: "))]
    refused = code == "2"
    wrongs = {
        f"exit code {code}": code not in {str(each) for each in trial.codes}, "a traceback": "Traceback" in err,
        "no line says why": refused and "error: " not in last, "more than a line": refused and (bool(told) or len(last) > 900),
        "output beside an error": refused and bool(out), f"changed {', '.join(altered)[:60]}": refused and bool(altered),
        "too slow": seconds > SECONDS,
    }  # fmt: skip
    return Outcome(code, len(rest) + bool(last), seconds, "; ".join(name for name, is_so in wrongs.items() if is_so))


def tried(trial: Trial, good: Path, folder: Path) -> Outcome:
    """Make a trial in a folder that is made like the good one."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(good, folder)
    if trial.file:
        (folder / trial.file).unlink(missing_ok=True)
        if callable(trial.content):
            trial.content(folder / trial.file)
        else:
            (folder / trial.file).write_bytes(trial.content or b"")
    before = state(folder)
    started = time.monotonic()
    code, out, err = run(folder, trial.line)
    seconds = time.monotonic() - started
    after = state(folder)
    return judged(
        trial,
        code,
        out,
        err,
        seconds,
        sorted(name for name in before.keys() | after if before.get(name) != after.get(name)),
    )


def all_trials(good: Path) -> list[Trial]:
    """Make the good files, and return all trials on them."""
    for module in ("audits.sequential", "checks", "report.html", "solvers", "experiments.runner", "audits.bugs.bug"):
        importlib.import_module(f"dpcheck.{module}")  # once, before processes are forked
    registry = importlib.import_module("dpcheck.bounds.registry")
    registry.theorems(), registry.claims()
    make(good)
    return list(trials(good))


def main(share: int = 0, shares: int = 1) -> int:
    """Make all trials, or every so many-th, say which were not held, and return how many."""
    with tempfile.TemporaryDirectory() as home:
        good, folder = Path(home, "good"), Path(home, "trial")
        good.mkdir()
        wrong = 0
        for number, trial in enumerate(all_trials(good)):
            if number % shares != share:
                continue
            outcome = tried(trial, good, folder)
            if outcome.wrong:
                wrong += 1
                print(f"{trial.name}: {outcome.wrong}", flush=True)
    return wrong


if __name__ == "__main__":
    print(main(*map(int, sys.argv[1:])))
