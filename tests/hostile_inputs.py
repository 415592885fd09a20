"""What hostile trials are made of: words, contents of files, code of mechanisms and modules, and good command lines."""

from __future__ import annotations

import io
import os
import pickle
from typing import Any

import numpy as np

DEEP, LONG = 100_000, "1" * 5_000

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
    "traces": "sys.settrace(traced); return rng.laplace()", "profiles": "sys.setprofile(traced)",
    "no recursion": "sys.setrecursionlimit(60)",
    "other generators": "np.random.default_rng = None", "other sums": "np.sum = None",
    "other sorting": "np.sort = None",
    "other mathematics": "import math, scipy.special as s; s.ndtr = math.exp = None",
    "no JSON": "import json, tempfile; json.dumps = os.replace = tempfile.mkstemp = None",
    "no modules": "sys.modules.clear()", "no path": "sys.path.clear()", "no arguments": "sys.argv.clear()",
    "prints": "print('violated\\n' * 3); print('x', file=sys.stderr)",
    "prints to files": "os.write(1, b'consistent\\n')",
    "reads": "input()", "forks": "os.fork()",
    "a thread": "threading.Thread(target=time.sleep, args=(1,), daemon=True).start()",
    "changes folder": "os.chdir('/')", "no home": "os.environ.clear()",
    "no interrupts": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "no data": "data[:] = 9", "returns None": "return None", "returns text": "return '=cmd|x'",
    "returns itself": "return f",
    "returns a number that is none": "return Number(1)", "returns a cycle": "x = []; x.append(x); return x",
    "returns a huge number": "return 10 ** 5000", "returns a huge array": "return np.zeros(10 ** 12)",
    "returns NaN": "return float('nan')", "returns an iterator": "return iter([1])",
    "returns a table": "return sys.modules",
    "an escape": "return '\\x1b[2J'", "warns as errors": "import warnings; warnings.simplefilter('error')",
    "no garbage": "gc.disable()", "its own generator": "rng = np.random.default_rng()",
    "an interrupt": "raise KeyboardInterrupt",
}  # fmt: skip
ALSO = {"closes all files": {2}, "an interrupt": {130}, "prints to files": {0, 1, 2}}
MODULES = {
    "nothing": "", "an error": "1 / 0", "no syntax": "def f(:", "leaves": "raise SystemExit(0)",
    "interrupt": "raise KeyboardInterrupt",
    "closes stdout": "import os, sys; os.close(1); sys.stdout.close()",
    "closes all": "import os; os.closerange(0, 256)",
    "mute": CODE + "raise Mute", "stop": CODE + "raise Stop", "ends": "import os; os._exit(0)",
    "null": "x = '\0'", "deep": "x = " + "(" * 5_000, "signs": "\udc80".encode("utf-8",
    "surrogateescape").decode("latin-1"),
    "names": "f = 3\nCLAIMS = 3", "claims": "CLAIMS = [1, None]", "printing": "print('violated')",
    "no modules": "import sys; sys.modules.clear()",
    "traces": CODE + "sys.settrace(traced)", "a getattr": "def __getattr__(name): raise SystemExit(0)",
}  # fmt: skip
PAIR = ("--data", "[0,1]", "--neighbour", "[1,1]", "--epsilon", "1", "--trials", "100")
AUDIT = ("audit", "m:f", *PAIR)
RATE = ("--response", "gap", "--factors", "n")
RUN = ("--multiplier", "1", "--batch", "2", "--population", "100", "--steps", "3", "--delta", "1e-5")
TOML = {
    "mechanism": '"m:f"', "data": "[0, 1]", "neighbour": "[1, 1]", "epsilon": "1.0", "delta": "0.0", "trials": "200",
    "vectorized": "false", "seeded": "true", "expected": '"consistent"', "name": '"mine"',
}  # fmt: skip
LITERALS = ("3", "-1", "0", "1.5", "1e400", "nan", "inf", '"x"', '""', "[]", "{}", "2020-01-01", "true",
"[[1], [1, 2]]",
            "[2020-01-01]", "[[[[1]]]]", "1" * 400, '"\\u001b[2J"', '[{a = 1}, "b"]')  # fmt: skip
# What else may stand where a value stands.
VALUES: tuple[Any, ...] = (None, -1, 10**399, "\x1b[2J\u202e", [], {"a": [None]})


def toml(**changes: str) -> str:
    entry = {name: value for name, value in (TOML | changes).items() if value}
    return "[[tool.dpcheck.mechanisms]]\n" + "".join(f"{name} = {value}\n" for name, value in entry.items())


WORDS = ("", "nan", "-1", "x", "1000000000000000000", LONG, "[" * 5_000, "\x1b[2J\na", "no/such/x", "--")
LINES = {
    "audit": AUDIT, "certify": ("certify", *RUN), "check": ("check", "nosuch_algorithm.py"), "rate": ("rate",
    "gaps.csv", *RATE),
    "solve": ("solve", "dp_sgda", "steps=3"), "measure": ("measure", "dp_sgda", "n=50", "steps=3", "--seeds", "1"),
    "report": ("report", "report.json"),
    "history": ("history", "kept"), "compare": ("compare", "report.json", "known.json"), "list": ("list",),
    "show": ("show", "yang2022.theorem_1"),
    "bugs": ("bugs", "no-such-bug"), "reproduce": ("reproduce", "xu2026.table_2", "--only", "nothing"),
    "write": ("write", "m.py"),
    "prove": ("prove", "nosuch.py", "--seconds", "0"),
}  # fmt: skip


# file -> command lines that read it
READ: dict[str, tuple[tuple[str, ...], ...]] = {
    "data.json": ((*AUDIT, "--data", "data.json"), ("audit", "m:f", "--data", "data.json", "--epsilon", "1",
    "--trials", "100")),
    "data.csv": ((*AUDIT, "--neighbour", "data.csv"),), "words.csv": ((*AUDIT, "--data", "words.csv"),),
    "data.npy": ((*AUDIT, "--data", "data.npy"),), "data.parquet": ((*AUDIT, "--data", "data.parquet"),),
    "known.json": ((*AUDIT, "--baseline", "known.json"), ("compare", "known.json", "report.json")),
    "earlier.json": ((*AUDIT, "--earlier", "earlier.json", "--trials", "300"),),
    "report.json": (("report", "report.json"), ("compare", "report.json", "report.json", "--format", "markdown")),
    "audit.json": (("compare", "audit.json", "audit.json"),), "fit.json": (("compare", "fit.json", "fit.json"),),
    "mechanisms.toml": (("audit", "--all", "mechanisms.toml"),), "events.json": (("certify", "events.json", "--delta",
    "1e-5"),),
    "encoder.csv": (("certify", "--multiplier", "4", "--encoder", "encoder.csv", "--delta", "1e-5"),),
    "encoder.npy": (("certify", "--multiplier", "4", "--encoder", "encoder.npy", "--delta", "1e-5"),),
    "gaps.csv": (("rate", "gaps.csv", *RATE), ("rate", "gaps.csv", *RATE, "--theorem", "yang2022.theorem_2a", "G_w=1",
    "G_v=1")),
    "measured.csv": (("measure", "dp_sgda", "n=50", "steps=3", "--seeds", "1", "--output", "measured.csv"),),
    "kept/dpcheck.sqlite": (("history", "kept"), (*AUDIT, "--store", "kept")),
}  # fmt: skip


def damaged(good: bytes) -> dict[str, bytes]:
    """Contents in place of a good one."""
    array = io.BytesIO()
    np.lib.format.write_array(array, np.array([print], object), allow_pickle=True)
    huge = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    return {
        "empty": b"", "half": good[: len(good) // 2], "twice": good * 2, "zeros": b"\0" * 100,
        "no UTF-8": b"\xff\xfe\x00" + good, "UTF-16": good.decode("latin-1").encode("utf-16"),
        "a sign first": b"\xef\xbb\xbf" * 2 + good,
        "a flipped bit": good[:40] + bytes([good[len(good) // 2] ^ 4]) + good[41:], "deep": b"[" * DEEP,
        "deep and closed": b"[" * DEEP + b"]" * DEEP,
        "deep objects": b'{"a":' * DEEP, "tables": b"[" * 50_000 + b"\n", "4000 digits": b"1" * 4_000,
        "5000 digits": LONG.encode(),
        "1e999": b"[1e999]", "null": b"null", "list": b"[1, [2]]", "true": b"true",
        "object": b'{"schema": [1]}',
        "twice a field": b'{"a": 1, "a": 2}', "schema": b'{"schema": {"a": 1}}',
        "formula": b"=cmd|' /C calc'!A0,1\n2,3\n",
        "quotes": b'"' * 999, "escape": b"\x1b[2J\n1,2\n",
        "one line": b"a" * 200_000,
        "zip": b"PK\3\4" + bytes(100), "pickle": pickle.dumps(os.system),
        "objects": array.getvalue(),
        "huge": b"\x93NUMPY\x01\0v\0" + huge.ljust(117) + b"\n", "parquet": b"PAR1" + bytes(60) + b"PAR1",
        "sqlite": b"SQLite format 3\0" + bytes(200),
        "keys": b"a = " + b"{b = " * 5_000, "dots": b"a" + b".a" * 50_000 + b" = 1", "tool": b'tool = "x"',
        "dpcheck": b"[tool]\ndpcheck = 3",
    }  # fmt: skip


# Faults that no file of a form of its own survives.
SURE = frozenset({
    "empty", "zeros", "no UTF-8", "deep", "deep and closed", "deep objects", "tables", "5000 digits", "4000 digits",
    "1e999", "quotes",
    "one line", "zip", "pickle", "huge", "objects", "missing", "a folder", "a pipe", "a device", "a circle",
})  # fmt: skip
OF_A_FORM = (".json", ".toml", ".npy", ".parquet")
