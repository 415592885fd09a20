"""Hostile trials of the command: every option with words, every file with faults, code that breaks what it can reach.

``python -m tests.hostile`` runs all of them and writes ``tests/measured/hostile.csv``, ``... 3`` every third one. A
trial is a command line in a folder of its own, run as a user runs it, in a process that is forked. It is held where
the exit code is one that is allowed, there is no traceback, bad input (2) gets one line on stderr, nothing on stdout
and changes no file, and all takes less than ``SECONDS``. Options come from the parser: a new one is tried by itself.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Action
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))  # as ``python -m tests.hostile`` leaves out

from hostile_inputs import (
    ALSO,
    AUDIT,
    BODIES,
    CODE,
    LINES,
    LITERALS,
    MODULES,
    OF_A_FORM,
    PAIR,
    RATE,
    READ,
    SURE,
    TOML,
    VALUES,
    WORDS,
    damaged,
    toml,
)  # fmt: skip

ANY, REFUSED = frozenset({0, 1, 2}), frozenset({2})
SECONDS = 10.0  # of processor time, most of which a process needs to begin, and to run what is asked for
PATIENCE = 120.0  # until what does not end is ended


@dataclass(frozen=True)
class Trial:
    """A command line, what stands in the file it reads, and the exit codes that are allowed."""

    group: str
    name: str
    line: tuple[str, ...]
    codes: frozenset[int] = ANY
    file: str = ""
    content: bytes | Callable[[Path], object] | None = None


@dataclass(frozen=True)
class Outcome:
    """What came out: the exit code or how it ended, and what is wrong with it, or nothing."""

    code: str
    wrong: str


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
        (*AUDIT, "--sequential", "--format", "json", "--output", "earlier.json"),
        (*AUDIT, "--write-baseline", "known.json"), (*AUDIT, "--json-output", "report.json", "--store", "kept"),
        (*AUDIT, "--format", "json", "--output", "audit.json"),
        ("rate", "gaps.csv", *RATE, "--format", "json"),
        ("measure", "dp_sgda", "n=50", "steps=3", "--seeds", "1", "--output", "measured.csv"),
    ):  # fmt: skip
        ended = run(folder, line)
        assert ended.code in ("0", "1"), (line, ended.code, ended.err[-500:])
        if line[0] == "rate":
            (folder / "fit.json").write_text(ended.out)


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


def options(command: str, actions: list[Action]) -> Iterator[Trial]:
    """Every option and argument of a command, with every word."""
    base = LINES[command]
    for action in actions:
        if action.nargs == 0 or action.dest == "help":
            continue
        name = action.option_strings[-1] if action.option_strings else action.dest
        written = action.dest.endswith("output") and action.dest not in ("output", "json_output")  # one way for all
        for word in ("x",) if action.choices else WORDS[3:9:5] if written else WORDS:
            if (word == "--" and not action.option_strings) or (word == "" and name == "--only"):
                continue  # which says that no option follows, or asks for all
            number = action.type in (int, float)
            codes = REFUSED if action.choices or (number and not _is(action.type, word)) else ANY
            line = (
                (*base, f"{action.option_strings[-1]}={word}") if action.option_strings else (command, word, *base[2:])
            )
            yield Trial(f"{command} {name}", f"{word[:20]!r}", line, codes)


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
                codes = REFUSED if fault in SURE and file.endswith(OF_A_FORM) else ANY
                yield Trial(f"{line[0]} {line[1]}, {file} damaged", fault, line, codes, file, content)
            if file.endswith(".json") and file not in ("data.json", "fit.json") and not number:
                value = json.loads(good)
                for at, to in itertools.product((at for at in places(value) if len(at) < 4), (..., *VALUES)):
                    where = ".".join(map(str, at))
                    yield Trial(
                        f"{line[0]} {line[1]}, {file} with other values",
                        f"{where} {to!r}"[:90],
                        line,
                        ANY,
                        file,
                        changed(value, at, to),
                    )
    for name, literal in itertools.product(TOML, LITERALS):
        yield Trial(
            "audit --all, mechanisms.toml with other values",
            f"{name} = {literal[:20]}",
            READ["mechanisms.toml"][0],
            ANY,
            "mechanisms.toml",
            toml(**{name: literal}).encode(),
        )
    for k, (body, how) in enumerate(itertools.product(BODIES, ((), ("--sequential",), ("--jobs", "2")))):
        codes = frozenset(ALSO.get(body, ())) | ANY
        yield Trial(
            f"audit {' '.join(how)} of code".replace("  ", " "), body, ("audit", f"m:f{k // 3}", *PAIR, *how), codes
        )
    for module, line in itertools.product(
        MODULES, (("audit", "m:f", *PAIR), ("check", "m.py"), ("prove", "m.py"), ("write", "m.py"))
    ):
        codes = ANY | {130} if module == "interrupt" else ANY
        yield Trial(f"{line[0]} of a module", module, line, codes, "m.py", MODULES[module].encode("utf-8", "replace"))


# Running them


class Ended(NamedTuple):
    """How a command ended: its exit code, or what became of it, what it wrote, and its processor time."""

    code: str
    out: str
    err: str
    seconds: float


def run(folder: Path, line: tuple[str, ...]) -> Ended:
    """Run a command line in a process of its own."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            _child(folder, line, out.fileno(), err.fileno())
        deadline, status, seconds = time.monotonic() + PATIENCE, None, PATIENCE
        while status is None and time.monotonic() < deadline:
            done, code, used = os.wait4(child, os.WNOHANG)
            status, seconds = (code, used.ru_utime + used.ru_stime) if done else (None, PATIENCE)
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
    return Ended(ended, texts[0], texts[1], seconds)


def _child(folder: Path, line: tuple[str, ...], out: int, err: int) -> None:
    from dpcheck.cli import main

    code: Any = 99
    try:
        os.chdir(folder)
        for number, to in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, err)):
            os.dup2(to, number)
        sys.stdout, sys.stderr = (os.fdopen(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))
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


def judged(trial: Trial, ended: Ended, altered: list[str]) -> Outcome:
    """Hold what came out against what is allowed."""
    *rest, last = ended.err.splitlines() or [""]
    told = [line for line in rest if not line.startswith(("usage: ", "  ", "dpcheck: "))]
    refused = ended.code == "2"
    wrongs = {
        f"exit code {ended.code}": ended.code not in {str(each) for each in trial.codes},
        "a traceback": "Traceback" in ended.err, "no line says why": refused and "error: " not in last,
        "more than a line": refused and trial.name != "printing" and (bool(told) or len(last) > 900),
        "output beside an error": refused and trial.name != "closes all files" and bool(ended.out),
        f"changed {', '.join(altered)[:60]}": refused and bool(altered), "too slow": ended.seconds > SECONDS,
    }  # fmt: skip
    return Outcome(ended.code, "; ".join(name for name, is_so in wrongs.items() if is_so))


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
    ended = run(folder, trial.line)
    after = state(folder)
    return judged(trial, ended, sorted(name for name in before.keys() | after if before.get(name) != after.get(name)))


def all_trials(good: Path) -> list[Trial]:
    """Make the good files, and return all trials on them."""
    for module in ("audits.sequential", "commands.mechanisms", "report.findings", "algorithms.measure"):
        importlib.import_module(f"dpcheck.{module}")  # once, before processes are forked
    make(good)
    return list(trials(good))


def groups() -> list[str]:
    """The groups of trials that the parser and the tables have, without a trial made."""
    from dpcheck import cli

    found = [trial.group for name, parser in cli._parsers()[1].items() for trial in options(name, parser._actions)]
    found += [f"{line[0]} {line[1]}, {file} damaged" for file, lines in READ.items() for line in lines]
    return found


def made(share: int = 0, shares: int = 1) -> Iterator[tuple[Trial, Outcome]]:
    """Make every so many-th trial, on files of its own."""
    with tempfile.TemporaryDirectory() as home:
        good = Path(home, "good")
        good.mkdir()
        for trial in all_trials(good)[share::shares]:
            yield trial, tried(trial, good, Path(home, "trial"))


def main() -> int:
    """Make all trials in two processes, write the table, and return how many were not held."""
    every, *share = map(int, sys.argv[1:] or ["1"])
    if share:
        for module in ("checks", "report.html", "solvers", "experiments.runner", "audits.bugs.bug"):
            importlib.import_module(f"dpcheck.{module}")
        registry = importlib.import_module("dpcheck.bounds.registry")
        registry.theorems(), registry.claims()
        for trial, outcome in made(share[0] * every, 2 * every):
            print(json.dumps([trial.group, trial.name, outcome.code, outcome.wrong]), flush=True)
        return 0
    import pandas as pd

    tables = importlib.import_module("tables")
    command = [sys.executable, "-m", "tests.hostile", str(every)]
    with tempfile.TemporaryFile("w+") as first, tempfile.TemporaryFile("w+") as second:
        files = (first, second)
        halves = [subprocess.Popen([*command, str(k)], stdout=file) for k, file in enumerate(files)]
        assert [half.wait() for half in halves] == [0, 0]
        for file in files:
            file.seek(0)
        rows = [json.loads(line) for file in files for line in file]
    for group, name, _, wrong in rows:
        if wrong:
            print(f"{group}: {name}: {wrong}")
    codes = pd.DataFrame(rows, columns=["group", "name", "code", "wrong"])
    codes["code"] = codes["code"].where(codes["code"].isin(["0", "1", "2"]), "other")
    counts = pd.crosstab(codes["group"], codes["code"]).reindex(columns=["0", "1", "2", "other"], fill_value=0)
    counts.columns = ["consistent", "violated", "refused", "other"]
    held = codes["wrong"].eq("").groupby(codes["group"]).sum()
    table = counts.assign(trials=counts.sum(axis=1), held=held).reset_index()
    tables.write("hostile", table)
    return int((table["trials"] - table["held"]).sum())


if __name__ == "__main__":
    sys.exit(min(main(), 1))
