"""Files that were spoilt: each reader returns what is there, or raises InputError of one sentence, within a second.

``DPCHECK_FUZZ=SECONDS`` goes on for so much processor time with each reader, with other examples each time, and adds
what came of it to ``tests/measured/fuzzing.csv``.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import readers
import tables
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dpcheck import InputError

LONG = float(os.environ.get("DPCHECK_FUZZ", 0))
_LONGEST, _SECONDS = 900, 1.0


def fuzz(name: str, examples: int, drawn: st.SearchStrategy[Any], check: Callable[[Any], object]) -> None:
    """Check examples: a few, the same each time, or, as long as ``DPCHECK_FUZZ`` says, others each time."""
    off = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]
    common = settings(deadline=None, database=None, suppress_health_check=off)
    quick = settings(common, max_examples=examples, derandomize=True, phases=[Phase.explicit, Phase.generate])
    begun, made, failed = _used(), 0, False

    @(settings(common, max_examples=500) if LONG else quick)
    @given(drawn)
    def one(value: Any) -> None:
        nonlocal made, failed
        if LONG and not failed and _used() - begun > LONG:
            return
        made += 1
        try:
            check(value)
        except Exception:
            failed = True  # from here on Hypothesis makes the example smaller
            raise

    try:
        one()
        while _used() - begun < LONG:
            one()
    finally:
        if LONG:
            kept = tables.read("fuzzing") if (tables.FOLDER / "fuzzing.csv").exists() else None
            row = {"target": name, "seconds": _used() - begun, "examples": made, "findings": int(failed)}
            rows = pd.concat([kept, pd.DataFrame([row])])
            tables.write("fuzzing", rows.groupby("target", as_index=False, sort=True).sum())


def _used() -> float:
    """Processor time of this process and of those that it waited for."""
    return sum(os.times()[:4])


def test_every_reader_is_here() -> None:
    """A module that opens or parses files is fuzzed below, or reads nothing of others."""
    found = readers.calls()
    assert set(found) - {module for module, *_ in readers.READERS.values()} - readers.APART == set()
    beside = {module for module, used in found.items() if used & readers.OTHERS}
    assert beside - readers.APART == set(), "read files by dpcheck.reading"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", readers.READERS)
def test_a_good_file_is_read(name: str, tmp_path: Path) -> None:
    _, ending, good, read = readers.READERS[name]
    file = tmp_path / f"file{ending}"
    file.write_bytes(good())
    read(str(file))


def read_or_refused(name: str, file: Path, content: bytes) -> bool:
    """Whether a reader takes this content; AssertionError unless that is soon known, and refused in one sentence."""
    file.write_bytes(content)
    started, said = time.process_time(), ""
    try:
        readers.READERS[name][-1](str(file))
    except InputError as error:
        said = str(error)
        assert "\n" not in said and 0 < len(said) < _LONGEST, said
    assert time.process_time() - started < _SECONDS
    return not said


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", readers.READERS)
def test_a_spoilt_file_is_read_or_refused(name: str) -> None:
    _, ending, good, _ = readers.READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"file{ending}")
        fuzz(name, 30, readers.spoilt(good(), ending), lambda content: read_or_refused(name, file, content))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("events", {"class_name": "Gaussian", "9" * 999: 1}), ("events", {"class_name": "9" * 999}),
        ("what a worker says", [[""], readers.ANSWER[1]]), ("what a worker says", [3, readers.ANSWER[1]]),
        ("what a worker says", [[], None]), ("what a worker says", [[], 3]),
        ("lines to prove", f"```dpcheck\nx > 1 for x in [0, 1]{'9' * 999}\n```"),
    ],
)  # fmt: skip
def test_what_long_runs_found_is_refused(name: str, content: object, tmp_path: Path) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    assert not read_or_refused(name, tmp_path / f"file{readers.READERS[name][1]}", text.encode())
