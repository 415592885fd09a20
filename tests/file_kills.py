"""Commands that are killed in the midst of their work on files: what they leave, and what they say when run again.

``python tests/file_kills.py [PLACE ...]`` makes the trials of all places, or of these, and writes a row of each to
``tests/measured/file_kills.csv``.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import io
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kills import _PAIR, MECHANISMS, SIGNALS, plain

from dpcheck.cli import main as main_of_dpcheck

KILLS = 16  # of each place
_LOADED = ("matplotlib.pyplot", "pandas", "pooch", *(f"dpcheck.{name}" for name in (
    "algorithms.measure", "audits.sequential", "checks.shipped", "commands.algorithms", "commands.audit", "datasets",
    "report.html", "solvers",
)))  # fmt: skip
_MECHANISMS = """
def quick(data, rng):
    return sum(data) + rng.laplace(scale=2.0)
def leaking(data, rng):
    return sum(data) + rng.laplace(scale=0.2)
"""
_SCRIPTS = {
    "code.py": """
from dpcheck.compiled import kept
for number in range(8):
    name, code = f"{number}.code", bytes([number]) * 100_000
    if kept.read(name) is None:
        kept.write(name, code)
    assert kept.read(name) == code
print("kept")
""",
    "verdicts.py": """
from dpcheck.checks import shipped
from dpcheck.checks.expected import of_claims
ids = [id.partition(".")[2] for id in of_claims() if id.startswith("yang2022.")]
said = {"paper": "yang2022", "id": "", "location": "", "statement": ""}
found = {id: {"verdict": "proved", "note": "", "trust": "", "evidence": said, "place": ""} for id in ids}
for _ in range(4):
    assert shipped._kept("yang2022") in (None, found)
    shipped._keep("yang2022", found)
assert shipped._kept("yang2022") == found
print("kept")
""",
    "sets.py": """
import hashlib, pathlib, pooch
from dpcheck import datasets
from dpcheck.data.entries import ENTRIES, Entry, File
text = b"+1 1:1 2:1\\n-1 2:1\\n" * 5_000
def copied(self, url, part, _):
    pathlib.Path(part).write_bytes(text)
pooch.HTTPDownloader.__call__ = copied
for name in "abcd":
    file = File(f"http://nowhere/{name}", hashlib.sha256(text).hexdigest(), of="bytes")
    ENTRIES[name] = Entry("", "", (file,), abs, (file,), abs, 2)
    assert datasets.load(name).X.shape == (10_000, 2)
print("kept")
""",
}
_BEGUN = re.compile(r"\.o\.|\.part-|\d\.code\.")  # the names of files that are moved when they are whole
_ALL = ("--html-output", "o.html", "--json-output", "o.json", "--sarif-output", "o.sarif", "--junit-output", "o.xml",
        "--github-output", "o.md", "--plot", "o.png", "--output", "o.txt")  # fmt: skip
_FEW = ("audit", "others:quick", *_PAIR, "--trials", "300")
_LEAK = ("audit", "others:leaking", *_PAIR, "--trials", "300")
PLACES: dict[str, tuple[str, ...]] = {  # what is run; where it writes "o.*", it finds such files of another seed
    "outputs of an audit": ("dpcheck", *_FEW, *_ALL),
    "baseline": ("dpcheck", *_LEAK, "--write-baseline", "o.json"),
    "script of a violation": ("dpcheck", *_LEAK, "--repro", "o.py"),
    "measured table": ("dpcheck", "measure", "dp_sgda", "n=50", "steps=3", "--seeds", "6", "--output", "o.csv"),
    "store of an audit": ("dpcheck", *_FEW, "--store", "kept"),
    "store of a sequential audit": ("dpcheck", *_FEW, "--sequential", "--store", "kept"),
    "store of runs": ("dpcheck", "measure", "dp_sgda", "n=50", "steps=3", "--seeds", "6", "--store", "kept"),
    "compiled code": ("code.py",), "verdicts on claims": ("verdicts.py",), "data sets": ("sets.py",),
}  # fmt: skip


@dataclass(frozen=True)
class Files:
    """What a command left: its exit code, what it said, and its outputs, without what it took."""

    code: int
    said: str
    outputs: dict[str, str]
    beside: int  # files that it had begun
    count: int  # of the times that it touched files


def touched(
    place: str, folder: Path, *more: str, ended: int = 0, sent: int = 0, after: float = 0.0, main: bool = False
) -> Files:
    """Run what a place names in a folder, and end it there."""
    program, *arguments = (*PLACES[place], *more)
    ours, theirs = os.pipe()
    with tempfile.TemporaryFile("w+") as counted:
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.dup2(theirs, 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
                os.chdir(folder)
                code = _worked(program, arguments, _Blow(ended, sent, after, counted.fileno(), main=main))
                sys.stdout.flush()
            finally:
                os._exit(code)
        os.close(theirs)
        with os.fdopen(ours) as out:
            said = out.read()  # until the last process that it started has ended
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        count = os.lseek(counted.fileno(), 0, os.SEEK_CUR)
    outputs = {path.name: _shown(path) for path in sorted(folder.glob("o.*"))}
    beside = sum(_BEGUN.match(path.name) is not None for path in folder.rglob("*"))
    return Files(code, plain(said), outputs, beside, count)


def _worked(program: str, arguments: list[str], blow: _Blow) -> int:
    """Do a place's work in this process, and return its exit code."""
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "DPCHECK_DATA": ""}
    if program != "dpcheck":
        os.environ |= {"XDG_CACHE_HOME": os.path.abspath("cache"), "NUMBA_CACHE_DIR": ""}
    sys.dont_write_bytecode, sys.path[0], sys.argv = True, os.getcwd(), ["dpcheck", *arguments]
    connect, opens = sqlite3.connect, io.open

    def opened(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        stream = opens(file, mode, *arguments, **options)
        if mode[0] in "wax":  # what it held before is gone by now
            blow.see("open", (file,))
        return stream

    io.open = builtins.open = opened

    def connected(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(blow.step)
        return connection

    sqlite3.connect = connected
    sys.addaudithook(blow.see)
    try:
        if program == "dpcheck":
            return main_of_dpcheck()
        exec(compile(Path(program).read_text(), program, "exec"), {"__name__": "__main__"})
        return 0
    except SystemExit as stop:
        return int(stop.code or 0)
    except BaseException:
        return 98


class _Blow:
    """Ends this process by a signal at, or shortly after, the so many-th time that it touches a file or a store.

    It does so when it makes, opens, moves or removes a file below the working folder, and for each statement of SQLite.
    """

    def __init__(self, ended: int, sent: int, after: float, counted: int, *, main: bool) -> None:
        self.ended, self.sent, self.after, self.counted = ended, sent, after, counted
        self.main, self.folder = os.getpid() if main else 0, os.getcwd()

    def see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod"):
            name = arguments[0]
            named = isinstance(name, str | bytes | os.PathLike)
            if named and os.path.abspath(os.fsdecode(name)).startswith(self.folder):
                self.step()

    def step(self, *_: object) -> None:
        os.write(self.counted, b".")  # of all processes together
        if os.lseek(self.counted, 0, os.SEEK_CUR) == self.ended:
            process = self.main or os.getpid()
            if self.after:
                threading.Timer(self.after, os.kill, (process, self.sent)).start()
            else:
                os.kill(process, self.sent)


def _shown(path: Path) -> str:
    """The content of an output without what took time."""
    content = path.read_bytes()
    try:
        text = re.sub(r'(\bseconds"?[^0-9\n]{1,3}|\btime=")[0-9.e-]+', r"\1TIME", plain(content.decode()))
        return re.sub(
            r"\d{4}-\d\d-\d\d [\d:]+ UTC|data-inline=.*", "TIME", text
        )  # of a page, whose end is further down
    except UnicodeDecodeError:
        return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Trial:
    """A kill: whether it ended the command, left each output whole, and lost nothing that a second run needs."""

    killed: bool
    whole: bool
    same: bool
    beside: int


def trials(place: str, kills: int, seed: int = 0) -> Iterator[Trial]:
    """End the work of a place at moments drawn evenly from all of it, by each signal in turn, and run it again."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as home:
        start, folder = Path(home, "start"), Path(home, "trial")
        start.mkdir()
        (start / "others.py").write_text(MECHANISMS + _MECHANISMS)
        for name, text in _SCRIPTS.items():
            (start / name).write_text(text)
        if "audit" in PLACES[place] and "--store" not in PLACES[place]:
            touched(place, start, "--seed", "1")
        before = {path.name: _shown(path) for path in sorted(start.glob("o.*"))}
        shutil.copytree(start, folder)
        undisturbed = touched(place, folder)
        assert undisturbed.code in (0, 1) and undisturbed.count, undisturbed
        for number in range(kills):
            shutil.rmtree(folder)
            shutil.copytree(start, folder)
            at = 1 + int((number + rng.random()) / kills * undisturbed.count)
            found = touched(
                place, folder, ended=at, sent=SIGNALS[number % 3], main=rng.random() < 0.5,
                after=rng.choice((0.0, rng.uniform(0.0, 0.003))),
            )  # fmt: skip
            final = undisturbed.outputs
            whole = all(
                text in (before.get(name), final[name])
                # a measured table grows by a line as each run ends
                or (name == "o.csv" and {*text.splitlines(True)} <= {*final[name].splitlines(True)})
                for name, text in found.outputs.items()
            )
            again = touched(place, folder)
            same = (again.code, again.said, again.outputs) == (undisturbed.code, undisturbed.said, final)
            yield Trial(found.code != undisturbed.code, whole, same, found.beside)


def main() -> int:
    """Make the trials of all places, or of those that are named, and return how many were not as they should be."""
    import pandas as pd
    import tables

    for module in _LOADED:  # once, before processes are forked
        importlib.import_module(module)
    kept = tables.read("file_kills") if (tables.FOLDER / "file_kills.csv").exists() else pd.DataFrame(columns=["place"])
    wrong = 0
    for place in sys.argv[1:] or PLACES:
        made = [*trials(place, KILLS)]
        row = {"place": place, "trials": len(made)} | {
            name: sum(getattr(each, name) for each in made) for name in ("killed", "whole", "same", "beside")
        }
        print(row, flush=True)
        wrong += 2 * len(made) - row["whole"] - row["same"]
        kept = pd.concat([kept[kept["place"] != place], pd.DataFrame([row])])
        tables.write("file_kills", kept)
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(), 1))
