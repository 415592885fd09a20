"""What reads files of others: found in the source, each with a good file, and ways to spoil one that keep its form."""

from __future__ import annotations

import ast
import copy
import io
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import files
import numpy as np
import pandas as pd
from hypothesis import strategies as st

import dpcheck
from dpcheck.accounting.matrix_noise import read_encoder
from dpcheck.accounting.other_events import read_event_file
from dpcheck.algorithms.measure import Experiment
from dpcheck.bounds import lines, workers
from dpcheck.bounds.claim import Claim
from dpcheck.commands import audit, inputs, rate
from dpcheck.commands.algorithms import Table
from dpcheck.commands.baseline import Baseline
from dpcheck.commands.mechanisms import read_mechanisms
from dpcheck.report import history
from dpcheck.report.findings import Finding, Report

# What opens or parses, by the name of its call; that of dpcheck.reading is the only one for what is not dpcheck's own.
OURS = {"content_of", "text_of", "array_of", "parquet_of", "json_of", "toml_of", "rows_of"}
OTHERS = {
    "json.loads", "json.load", "tomllib.loads", "tomllib.load", "np.load", "np.loadtxt", "np.fromfile", "pd.read_csv",
    "pd.read_parquet", "csv.reader", "csv.DictReader", "pickle.loads", "pickle.load", "np.lib.format.read_array",
}  # fmt: skip
# Modules that parse something else: files of the package, what processes of one run say to each other, what a digest
# vouches for, and lines that dpcheck.reading has opened.
APART = {
    "audits.running.guest", "audits.running.isolated", "audits.running.visitor", "bounds.coq.kernel",
    "bounds.coq.statement", "bounds.formulas.formula", "bounds.ledger", "bounds.prover.smt", "bounds.workers",
    "dpcheck.accounting.matrix_noise", "dpcheck.checks.expected", "dpcheck.checks.shipped",
    "dpcheck.commands.inputs", "dpcheck.compiled.numba_private", "dpcheck.data.entries", "dpcheck.datasets",
    "dpcheck.experiments.auc_runs", "dpcheck.experiments.experiment", "dpcheck.experiments.runner",
    "dpcheck.experiments.table",
    "dpcheck.experiments.yang2022", "dpcheck.pytest_plugin", "dpcheck.reading", "dpcheck.report.html",
    "dpcheck.running.process_pool", "dpcheck.running.store",
}  # fmt: skip


_MARKS = re.compile(r"dpcheck\.reading|json\.load|tomllib|np\.(load|from|lib)|read_csv|read_parquet|csv\.|pickle")


@cache
def calls() -> dict[str, set[str]]:
    """Module -> what it calls of OURS, if it imports that, and of OTHERS."""
    found: dict[str, set[str]] = {}
    for path in files.sources():
        text = (files.ROOT / path).read_text("utf-8") if path.endswith(".py") else ""
        if _MARKS.search(text):
            tree = ast.parse(text)
            imported = {
                alias.name for node in ast.walk(tree) if isinstance(node,
                ast.ImportFrom) and node.module == "dpcheck.reading"
                for alias in node.names
            }  # fmt: skip
            names = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
            used = (names & OURS & imported) | (names & OTHERS)
            if used:
                found[path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = used
    return found


def _array(value: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, value)
    return stream.getvalue()


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


_FINDING = Finding("f.output", "privacy", "f", "violated", "why", audited=2.0, claimed=1.0, place="m.py:3")
_REPORT = Report((_FINDING,), ("f",), "audit", 0, "0.1", 1.0, {"Risks": [{"n": 1, "measured": 0.5}]}).to_json().encode()
_ENTRY = {"verdict": "violated", "claimed": 1.0, "audited": 2.0, "audit": {"delta": 0.0}, "reason": "", "until": None}
_TOML = (
    b'[[tool.dpcheck.mechanisms]]\nmechanism = "m:f"\ndata = [0, 1]\nneighbour = [1, 1]\nepsilon = 1.0\ntrials = 200\n'
)
_CSV = b"n,gap\n100,0.1\n200,0.07\n400,0.05\n"
ANSWER = [None, ["proved", "exact algebra", "note", {"paper": "x"}, 0.5, "judged", "", "", "", ""]]


@cache
def _earlier() -> bytes:
    made = dpcheck.audit_sequential(lambda data, rng: data + rng.normal(scale=9.0), 0.0, 1.0, epsilon=1.0, most=200)
    return _json(made.to_dict())


@cache
def _experiment() -> Experiment:
    return Experiment.of("dp_sgda", fixed={"n": 50, "steps": 3}, seeds=1)


def _goes_on(path: str) -> object:
    def noisy(data: Any, rng: np.random.Generator) -> Any:
        return data + rng.normal(scale=9.0)

    return dpcheck.audit_sequential(noisy, 0.0, 1.0, epsilon=1.0, most=300, earlier=audit.earlier_of(path))


def _answered(path: str) -> object:
    claim = Claim("a", "p", "k", "s", "l", lambda: None)  # type: ignore[arg-type]
    return workers._result(claim, inputs.json_of(inputs.text_of(path), "the results"))


# Name -> the module that reads, the ending of its file, a good one, and the reader.
READERS: dict[str, tuple[str, str, Callable[[], bytes], Callable[[str], object]]] = {
    "data in JSON": ("dpcheck.commands.inputs", ".json", lambda: b"[[0, 1.5], [2, 3]]", lambda p: inputs.dataset(p,
    "data")),
    "data in CSV": ("dpcheck.commands.inputs", ".csv", lambda: _CSV, lambda p: inputs.dataset(p, "data")),
    "data of NumPy": ("dpcheck.commands.inputs", ".npy", lambda: _array(np.eye(2)), lambda p: inputs.dataset(p,
    "data")),
    "encoder": ("dpcheck.accounting.matrix_noise", ".csv", lambda: b"1,0\n1,1\n", read_encoder),
    "encoder of NumPy": ("dpcheck.accounting.matrix_noise", ".npy", lambda: _array(np.eye(2)), read_encoder),
    "events": (
        "dpcheck.accounting.other_events", ".json",
        lambda: _json([{"class_name": "Repeated", "event": {"class_name": "Gaussian", "noise_multiplier": 2.0},
        "count": 3}]),
        read_event_file,
    ),
    "lines to prove": (
        "bounds.lines", ".md", lambda: b"# a\n```dpcheck\nx^2 >= 2 x - 1 for x in [0, 1]\n```\n", lines.claims
    ),
    "a table of rates": ("dpcheck.commands.rate", ".csv", lambda: _CSV, rate.read_table),
    "rows that were measured": (
        "dpcheck.commands.algorithms", ".csv", lambda: Table(_experiment()).text.encode(),
        lambda p: Table(_experiment(), p),
    ),
    "a sequential audit": ("dpcheck.commands.audit", ".json", _earlier, _goes_on),
    "a baseline": (
        "dpcheck.commands.baseline", ".json", lambda: _json({"schema": "dpcheck.baseline/3",
        "findings": {"f": _ENTRY}}),
        lambda p: Baseline.read(p).report,
    ),
    "mechanisms": ("dpcheck.commands.mechanisms", ".toml", lambda: _TOML, read_mechanisms),
    "the text of a report": ("dpcheck.report.findings", ".json", lambda: _REPORT,
    lambda p: Report.from_json(Path(p).read_text("latin-1"))),
    "a report": ("dpcheck.commands.runs", ".json", lambda: _REPORT,
    lambda p: Report.from_json(inputs.text_of(p, "REPORT.json"))),
    "a report to compare": ("dpcheck.report.history", ".json", lambda: _REPORT, history.find),
    "an audit to compare": ("dpcheck.report.history", ".json", lambda: _json({"schema": "dpcheck.audit/1",
    "verdict": "violated", "epsilon": 1.0, "epsilon_lower": 2.0}), history.find),
    "a saved report": ("dpcheck.report.results", ".json", lambda: _REPORT, history.find),
    "what a worker says": ("bounds.workers", ".json", lambda: _json(ANSWER), _answered),
}  # fmt: skip
try:
    import pyarrow  # noqa: F401

    def _parquet() -> bytes:
        stream = io.BytesIO()
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_parquet(stream)
        return stream.getvalue()

    READERS["data in Parquet"] = ("dpcheck.commands.inputs", ".parquet", _parquet, lambda p: inputs.dataset(p, "data"))
except ImportError:
    pass

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from([10**399, 10**4_000, "inf", "-inf", "nan", "2020-01-01", "dpcheck.report/2", "a" * 9_999,
    "\x00", "\ud800"])
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
PIECES = st.sampled_from([
    b"", b"[", b"]", b"{", b"}", b",", b":", b'"', b"'", b"\n", b"\r", b"\t", b";", b"#", b"=", b".", b"-", b"0",
    b"9" * 400, b"1e999", b"nan", b"\0",
    b"\xff", b"\xef\xbb\xbf", b"null", b"true", b'{"a":1,"a":2}', b"[" * 200, b"2020-01-01", b"\\ud800",
    b"\xed\xa0\x80", b'"""', b"[[a]]\n", b"a.b.c = 1\n",
])  # fmt: skip


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inside = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, each in inside:
        yield value, key
        yield from _places(each)


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


@st.composite
def spoilt(draw: st.DrawFn, good: bytes, ending: str) -> bytes:
    """Content of another form, or with bytes moved, or, where it is JSON, with values in each other's place."""
    kind = draw(
        st.sampled_from(
            ["values", "values", "bytes", "bytes", "raw"] if ending == ".json" else ["bytes", "bytes", "raw"]
        )
    )
    if kind == "raw":
        return draw(st.binary(max_size=60) | VALUES.map(_dumped) | st.lists(PIECES, max_size=12).map(b"".join))
    if kind == "values":
        value = json.loads(good)
        for _ in range(draw(st.integers(1, 3))):
            inside = list(_places(value))
            if not inside:
                break
            holder, key = draw(st.sampled_from(inside))
            what = draw(st.sampled_from(["set", "drop", "swap", "wrap"]))
            if what == "drop" and isinstance(holder, dict):
                del holder[key]
            elif what == "swap":
                other, name = draw(st.sampled_from(inside))
                holder[key] = copy.deepcopy(other[name]) if _has(other, name) else None
            else:
                holder[key] = [holder[key]] if what == "wrap" else draw(VALUES)
        return _dumped(value)
    content = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        content[at : at + draw(st.integers(0, 12))] = draw(PIECES)
    return bytes(content)


def _dumped(value: Any) -> bytes:
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError):  # a number too long to print, or a value that holds itself
        return b"9" * 5_000
