"""Hostile trials of the command, of which ``python -m tests.hostile`` makes all: a slice, and the table of all of them.

Beside them what each promise of :mod:`dpcheck.commands.command` and :mod:`dpcheck.reading` is, one by one.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import hostile
import pytest
import tables

import dpcheck
from dpcheck import InputError, reading
from dpcheck.report import history
from dpcheck.running.store import Store

_TOGETHER, _STEP = 8, 400  # trials of a slice, and from one to the next
forked = pytest.mark.skipif(not hasattr(os, "fork"), reason="each trial is forked")


@forked
@pytest.mark.thorough
def test_the_command_holds_against_a_slice_of_hostile_trials() -> None:
    """The slice holds the same trials each time, one of every so many from all groups."""
    made = list(itertools.islice(hostile.made(_TOGETHER // 2, _STEP), _TOGETHER))
    assert [(trial.group, trial.name, outcome.wrong) for trial, outcome in made if outcome.wrong] == []
    assert {outcome.code for _, outcome in made} >= {"0", "2"}


def test_the_table_is_of_these_trials() -> None:
    """Every option of every command and every file has a row, and all trials were held."""
    kept = tables.read("hostile")
    assert kept["trials"].sum() >= 1_000
    assert kept["held"].tolist() == kept["trials"].tolist()
    groups = {group for group in hostile.groups() if ".parquet" not in group}  # which an extra reads
    assert groups <= set(kept["group"])


BROKEN = {  # what code under test does -> exit code, words of the result or of the only line that says why
    "closes streams": ("0", "consistent"), "no streams": ("0", "consistent"),
    "no JSON": ("0", "consistent"),
    "raises a mute error": ("2", "Mute that has no text"), "traces": ("2", "ValueError: trace at m.py:"),
    "other generators": ("2", "replaced numpy.random.default_rng"),
    "other mathematics": ("2", "replaced scipy.special.ndtr, math.exp"), "closes files": ("2", "Bad file descriptor"),
    "import builtins; builtins.max = None": ("2", "replaced builtins.max"),
    "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (3, 3))": ("2", "the limits of the process: OSError"),
}  # fmt: skip


@forked
@pytest.mark.parametrize("body", BROKEN)
def test_code_that_breaks_what_it_can_reach_is_told_so(body: str, tmp_path: Path) -> None:
    source = f"def g(data, rng):\n    {hostile.BODIES.get(body, body)}\n    return f(data, rng)\n"
    (tmp_path / "m.py").write_text(hostile.CODE + source)
    ended = hostile.run(tmp_path, ("audit", "m:g", *hostile.PAIR))
    code, words = BROKEN[body]
    assert ended.code == code, ended
    if code == "0":
        assert ended.out.startswith(words)
    else:
        lines = [line for line in ended.err.splitlines() if line != "dpcheck: audit ..."]  # said of what takes long
        assert ended.out == "" and words in ended.err and len(lines) == 1, ended.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 65 + "]" * 65, "nested at most 64"), ("[" * 100_000, "nested at most 64"), ("1" * 401, "400 digits"),
        ("[1e999]", "64 bits"), ('{"a": {"b": 1, "c": 2, "b": 3}}', "b twice"), ("[1", "be JSON"),
    ],
)  # fmt: skip
def test_json_that_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        reading.json_of(text, "it")
    assert reading.json_of("[" * 64 + "]" * 64, "it") and reading.json_of("1" * 400, "it")


def test_a_schema_that_is_no_word_and_flags_that_are_none_are_refused() -> None:
    with pytest.raises(InputError, match="schema must be"):
        history.read('{"schema": [1]}')
    with pytest.raises(InputError, match="seeded must be true or false"):
        dpcheck.audit_privacy(lambda data, rng: 0, 0, 1, epsilon=1.0, seeded="no")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('tool = "x"', r"\[tool\] must be a table"), ("[tool]\ndpcheck = 3", r"\[tool.dpcheck\] must be a table"),
        ("[tool.dpcheck]\na = [2020-01-01]", "got a date"), ("a = " + "[" * 50_000, "levels deep"),
        ("a" + ".a" * 200_000 + " = 1", "levels deep"), ("a" * 900_000, "be TOML"), ("a = ", "be TOML"),
    ],
    ids=["a text", "a number", "a date", "brackets", "dots", "one word", "no value"],
)  # fmt: skip
def test_toml_that_is_refused(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=says):
        reading.toml_of(file, "tool.dpcheck")
    file.write_text("[tool.other]\nday = 2020-01-01")
    assert reading.toml_of(file, "tool.dpcheck") == {}


@pytest.mark.parametrize("name", hostile.REPLACED)
def test_what_is_no_file_with_an_end_is_refused(name: str, tmp_path: Path) -> None:
    hostile.REPLACED[name](tmp_path / "file")
    with pytest.raises(InputError):
        reading.content_of(tmp_path / "file")
    (tmp_path / "large").write_bytes(b"123456")
    assert reading.content_of(tmp_path / "large", largest=6) == b"123456"
    with pytest.raises(InputError, match="megabytes"):
        reading.content_of(tmp_path / "large", largest=5)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE VIEW v AS WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT * FROM x) SELECT * FROM x", "tables alone"),
        ("CREATE TRIGGER t AFTER INSERT ON kept BEGIN DELETE FROM kept; END", "tables alone"),
        ("INSERT INTO runs VALUES (1, '', '', '', '', x'7b7d')", "as texts"),
    ],
)  # fmt: skip
def test_a_store_in_which_others_put_more_than_texts_is_refused(statement: str, says: str, tmp_path: Path) -> None:
    Store(tmp_path / "dpcheck.sqlite", "code").close()
    with sqlite3.connect(tmp_path / "dpcheck.sqlite") as others:
        others.execute(statement)
    with pytest.raises(InputError, match=says):
        Store(tmp_path / "dpcheck.sqlite", "code").runs()


@forked
def test_settings_of_numba_in_the_working_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / ".numba_config.yaml").write_text("dump_llvm: 1\nno YAML: [")
    (tmp_path / "m.py").write_text(hostile.CODE)
    command = [sys.executable, "-m", "dpcheck", "audit", "m:f", *hostile.PAIR]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout[:10], ended.stderr.count("\n")) == (0, "consistent", 1), ended


def test_a_store_that_another_process_holds_is_named_and_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dpcheck.sqlite"
    Store(path, "code").close()
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    threading.Thread(target=lambda: (time.sleep(1.6), holder.execute("COMMIT"), holder.close())).start()
    store = Store(path, "code")
    store.put(["key"], 1)
    assert store.get(["key"]) == 1
    store.close()
    assert f"the store {path} is locked by another process; waiting for it" in capsys.readouterr().err
