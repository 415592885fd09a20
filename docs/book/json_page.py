"""The JSON of every command, from what it prints, and the exit codes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import dpcheck
from book.text import code, plain, plain_between, table
from dpcheck.cli import EXIT_CODES, main
from dpcheck.report.findings import Finding, Report

_SCHEMA = re.compile(r'"(dpcheck\.[a-z]+/\d)"')
_SHORT = 60
_DEEPEST = 2
# Lines that print JSON of every schema, short ones; where a file is named, it is one of these.
LINES = {
    "list": "dpcheck list --format json",
    "prove": "dpcheck prove 004:(38) --jobs 1 --format json",
    "audit": "dpcheck audit one_number:release --data 1 --neighbour 0 --epsilon 1 --trials 2000 --format json",
    "certify": "dpcheck certify --multiplier 1.1 --batch 256 --population 60000 --steps 100 --delta 1e-5 --format json",
    "rate": "dpcheck rate gaps.csv --response gap --factors n --claimed n=-1/2 --format json",
    "solve": "dpcheck solve nseg steps=4 --format json",
    "bugs": "dpcheck bugs --format json",
}
FILES = {
    "one_number.py": "def release(value, rng):\n    return value + rng.laplace()\n",
    "gaps.csv": "n,gap\n" + "".join(f"{n},{n**-0.5 * (1 + 0.01 * k)}\n" for n in (64, 128, 256, 512) for k in range(4)),
}


def pages() -> dict[str, str]:
    """Return the page on JSON and exit codes."""
    parts = [
        "# JSON and exit codes\n",
        "Every JSON has the field `schema`, which names its layout and grows by one when a field changes its meaning. "
        "Infinities and NaN are the strings `inf`, `-inf` and `nan`. Fields that are added later change no schema.\n",
        f"The layouts: {', '.join(code(name) for name in schemas())}. A baseline (`--write-baseline`) holds under "
        "`findings` the verdict of each finding by its id.\n",
        "## Exit codes\n",
        table(["code", "meaning"], [[number, plain(words)] for number, words in _codes()]),
        "## `dpcheck check` and `dpcheck report`\n",
        _report(),
    ]
    for name, line in LINES.items():
        parts += [f"## `dpcheck {name}`\n", f"Such as {code(line)}.\n", _fields(printed(line))]
    return {"reference/json.md": "\n".join(parts)}


def printed(line: str) -> dict[str, Any]:
    """Return what a command prints, run in a folder that has its files."""
    import shlex

    before, out = Path.cwd(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            Path(folder, name).write_text(text, "utf-8")
        try:
            os.chdir(folder)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                main(shlex.split(line)[1:])
        finally:
            os.chdir(before)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def schemas() -> list[str]:
    """Return the layouts that the package writes, by name."""
    files = Path(dpcheck.__file__).parent.rglob("*.py")
    return sorted({name for file in files for name in _SCHEMA.findall(file.read_text("utf-8"))})


def _codes() -> list[tuple[str, str]]:
    return re.findall(r"\b(\d+) ([a-z][^,]*(?:, where there\nis[^,]*\))?)", EXIT_CODES)


def _report() -> str:
    """The fields of a report and of its findings, described by their docstrings."""
    report = Report((), (), "quick", 0, "", 0.0)
    said = {**_attributes(Report), "schema": "The layout.", "ok": "Whether every finding is as expected."}
    rows = [[code(name), _said(said.get(name, ""))] for name in report.to_dict()]
    own = _attributes(Finding) | {
        "ok": "Whether verdict and certificate are the expected ones.", "slack": "Claimed over certified epsilon."
    }  # fmt: skip
    names = [each.name for each in fields(Finding)] + ["ok", "slack"]
    rows += [[code(f"findings[].{name}"), _said(own.get(name, ""))] for name in names]
    return f"Schema {code(report.to_dict()['schema'])}.\n\n" + table(["field", "meaning"], rows)


def _attributes(cls: type) -> dict[str, str]:
    """The descriptions of a dataclass's fields, from its docstring."""
    text = re.sub(r"\n {4}", "\n", cls.__doc__ or "")
    found = re.findall(r"^(\w[\w, ]*) : (.+)\n((?:    .*\n?)+)", text, re.M)
    return {name: " ".join(words.split()) for names, _, words in found for name in names.split(", ")}


def _said(docstring: str) -> str:
    """A sentence of a docstring, whose code stands between double backticks."""
    return "".join(code(part) if i % 2 else plain_between(part) for i, part in enumerate(docstring.split("``")))


def _fields(value: dict[str, Any]) -> str:
    rows = [[code(name), kind, code(shown) if shown else ""] for name, kind, shown in _flat(value)]
    return table(["field", "type", "example"], rows)


def _flat(value: dict[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str, str]]:
    for name, each in value.items():
        full = f"{prefix}{name}"
        inner = each[0] if isinstance(each, list) and each and isinstance(each[0], dict) else each
        shown = "" if isinstance(each, dict | list) else json.dumps(each)
        if shown and len(shown) > _SHORT:
            shown = ""
        yield full, _kind(each), shown
        if isinstance(inner, dict) and depth < _DEEPEST:
            yield from _flat(inner, f"{full}[]." if isinstance(each, list) else f"{full}.", depth + 1)


def _kind(value: Any) -> str:
    kinds = {dict: "object", list: "list", str: "text", bool: "true or false", int: "number", float: "number"}
    return kinds.get(type(value), "null")
