"""Long work is kept: killed at any moment and started again it ends with the same bits, and no process stays behind."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import file_kills
import kills
import numpy as np
import pandas as pd
import pytest
import tables

from dpcheck import cli
from dpcheck.algorithms.measure import Experiment
from dpcheck.commands.algorithms import Table
from dpcheck.commands.mechanisms import sources
from dpcheck.errors import StoreError
from dpcheck.running.store import FILE, VERSION, Store, open_store
from dpcheck.running.trust import distrusted

linux = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="needs /proc, to see what processes are left"
)


@pytest.mark.thorough
@linux
def test_a_killed_command_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    folder, arguments = kills.prepared(tmp_path), kills.COMMANDS["audit, two processes"]
    said, seconds = kills.said_at_once(arguments, folder)
    told = kills.killed(arguments, folder, list(kills.SIGNALS), seconds, seed=1)
    assert told.said == said
    assert told.longest < 5


@linux
@pytest.mark.experiment
@pytest.mark.parametrize("name", kills.COMMANDS)
def test_a_hundred_kills(tmp_path: Path, keep, name: str) -> None:
    """TERM, KILL and INT in turn; every command is killed three times a round before it may end."""
    folder, arguments = kills.prepared(tmp_path), kills.COMMANDS[name]
    said, seconds = kills.said_at_once(arguments, folder)
    rounds = kills.ROUNDS[name == "check"]
    told = [kills.killed(arguments, folder, list(kills.SIGNALS), seconds, seed=k) for k in range(rounds)]
    same = sum(each.said == said for each in told)
    row = {
        "command": name, "rounds": rounds, "kills": sum(each.kills for each in told), "same": same,
        "gone after": max(each.longest for each in told),
    }  # fmt: skip
    others = [each for each in measured() if each["command"] != name]
    order = list(kills.COMMANDS)
    keep("kills", pd.DataFrame(sorted([*others, row], key=lambda each: order.index(each["command"]))))
    assert same == rounds
    assert row["gone after"] < 5


@pytest.mark.parametrize("place", [
    "compiled code", pytest.param("baseline", marks=pytest.mark.thorough),
    pytest.param("store of an audit", marks=pytest.mark.thorough),
])  # fmt: skip
def test_a_kill_in_the_midst_of_work_on_files_leaves_them_whole(place: str) -> None:
    for trial in file_kills.trials(place, 2, seed=1):
        assert trial.whole and trial.same


def test_the_table_has_two_hundred_kills_of_every_place_and_each_left_the_same_bits() -> None:
    rows, others = tables.read("file_kills"), map(tables.read, ("kills", "reproduce_kills", "worker_kills"))
    assert {*rows["place"]} == {*file_kills.PLACES}
    assert (rows["whole"] == rows["trials"]).all() and (rows["same"] == rows["trials"]).all()
    assert rows["killed"].sum() + sum(each["kills"].sum() for each in others) >= 200


def measured() -> list[dict[str, Any]]:
    """The rows of the table that the experiment keeps."""
    return tables.read("kills").to_dict("records") if (tables.FOLDER / "kills.csv").exists() else []


# Stores that several use, and stores that cannot be used

_WRITER = """
import sys
import numpy as np
from dpcheck.running.store import open_store
store, name = open_store(sys.argv[1]), sys.argv[2]
for number in range(100):
    store.put([name, number], {"writer": name, "number": number})
    store.put_array(["shared", number], np.arange(50.0) + number)
store.add_run("now", name, "", "{}")
"""


@pytest.mark.thorough
def test_eight_writers_lose_nothing(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path / "kept"), str(k)]) for k in range(8)]
    assert [each.wait() for each in writers] == [0] * 8
    with closing(open_store(tmp_path / "kept")) as store:
        for name in map(str, range(8)):
            assert [store.get([name, k]) for k in range(100)] == [{"writer": name, "number": k} for k in range(100)]
        for number in range(100):
            found = store.get_array(["shared", number])
            assert found is not None and np.array_equal(found, np.arange(50.0) + number)
        assert sorted(run.command for run in store.runs()) == sorted(map(str, range(8)))
        assert [run.number for run in store.runs()] == list(range(1, 9))


@pytest.mark.thorough
def test_several_make_a_store_at_once(tmp_path: Path) -> None:
    """What one process reads of a store that another is making is never half of it."""
    at_once = threading.Barrier(8)

    def make(path: Path) -> bool:
        at_once.wait()
        with closing(Store(path, code="any")) as store:
            return store.put(["a"], 1) == 1

    with ThreadPoolExecutor(8) as pool:
        for number in range(50):
            assert all(pool.map(make, [tmp_path / f"{number}.sqlite"] * 8)), number


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a command says before it ends with exit code 2."""
    assert cli.main(arguments) == 2
    found = capsys.readouterr()
    assert found.out == ""
    lines = [line for line in found.err.splitlines() if not line.endswith("...")]
    assert len(lines) == 1
    return lines[0]


MEASURE = ["measure", "output_perturbation", "n=20", "--seeds", "1"]


def test_stores_that_cannot_be_used_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    assert "--store must be a folder that can be written" in refused([*MEASURE, "--store", str(file)], capsys)
    inside = [*MEASURE, "--store", str(file / "inside")]
    assert "--store must be a folder that can be written" in refused(inside, capsys)
    open_store(tmp_path / "newer").close()
    with closing(sqlite3.connect(tmp_path / "newer" / FILE)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    said = refused([*MEASURE, "--store", str(tmp_path / "newer")], capsys)
    assert f"must be of version {VERSION} at most, got {VERSION + 1}, of a newer dpcheck" in said
    (tmp_path / "others").mkdir()
    with closing(sqlite3.connect(tmp_path / "others" / FILE)) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    said = refused([*MEASURE, "--store", str(tmp_path / "others")], capsys)
    assert "must be a file of dpcheck, got a database of something else" in said
    assert "FOLDER must be a folder that holds a store" in refused(["history", str(tmp_path)], capsys)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that nobody can write to")
def test_a_folder_that_nobody_can_write_to_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("/proc/self", "/proc/self/inside"):
        said = refused([*MEASURE, "--store", folder], capsys)
        assert "must be a" in said and "writ" in said


@pytest.mark.thorough
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """A limit on the size of files, which the system reports as a full disk is reported: the write fails."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    asked = [sys.executable, "-m", "dpcheck", *MEASURE[:2], "n=20", "--seeds", "400", "--jobs", "1", "--store", "kept"]
    found = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limit)
    assert found.returncode == 2
    said = found.stderr.splitlines()[-1]
    assert said.startswith(f"dpcheck: error: the store kept/{FILE} must be readable and writable: ")
    with closing(sqlite3.connect(tmp_path / "kept" / FILE)) as connection:
        (before,) = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert 1 <= before < 400
    again = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    alone = subprocess.run(asked[:-2], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert again.stdout == alone.stdout
    assert len(again.stdout.splitlines()) == 401


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "lockf", refuse)
    assert "must lie on a file system with locks" in refused([*MEASURE, "--store", str(tmp_path)], capsys)
    assert [*tmp_path.iterdir()] == []


def test_a_clock_that_jumps_loses_nothing(tmp_path: Path) -> None:
    """Runs are told apart by their numbers, and the last that was kept is the last, whatever its date."""
    with closing(open_store(tmp_path)) as store:
        for date in ("2030-01-01", "1970-01-01"):
            store.add_run(date, date, "", "{}")
    with closing(open_store(tmp_path)) as store:
        assert [(run.number, run.date) for run in store.runs()] == [(1, "2030-01-01"), (2, "1970-01-01")]


# Stores and caches that another user can write

root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to give files away")


def doubtful(folder: Path, file: Path, *, of: int | None = None, mode: int = 0o666) -> list[str]:
    """What is said of a file, and of its folder, when each in turn is somebody else's or writable."""
    said = []
    for each in (folder, file):
        before = each.stat()
        os.chown(each, before.st_uid if of is None else of, -1)
        each.chmod(before.st_mode | (mode if of is None else 0))
        said.append(distrusted(file))
        os.chown(each, before.st_uid, before.st_gid)
        each.chmod(before.st_mode)
        assert distrusted(file) == ""
    return said


def test_what_others_can_write_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    tmp_path.chmod(0o700)
    for said, place in zip(doubtful(tmp_path, file, mode=0o002), (tmp_path, file), strict=True):
        assert said.startswith(f"{place} must be writable by you alone")
        assert f"chmod go-w {place}" in said


@root
def test_what_belongs_to_others_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    for said, place in zip(doubtful(tmp_path, file, of=12_345), (tmp_path, file), strict=True):
        assert said.startswith(f"{place} must belong to you or root")
    # root in a container, with the files of whoever started it
    (tmp_path / "work").mkdir()
    os.chown(tmp_path / "work", 12_345, -1)
    monkeypatch.chdir(tmp_path / "work")
    os.chown(file, 12_345, -1)
    assert distrusted(file) == ""


@root
@pytest.mark.parametrize(("group", "good"), [(0, True), (12_345, True), (12_346, False)])
def test_a_group_may_write_that_is_the_users_own(group: int, good: bool) -> None:
    """A user without a name, whose group has none either, with a umask of 002."""
    with tempfile.TemporaryDirectory() as folder:  # which that user can reach
        file = Path(folder, "file")
        file.write_text("text")
        for each, mode in ((file.parent, 0o770), (file, 0o660)):
            os.chown(each, 12_345, group)
            each.chmod(mode)
        said = said_to(12_345, 12_346, file)
    assert (said == "") == good
    assert good or f"must be writable by you alone, got a folder that group {group} can write" in said


def said_to(user: int, other_group: int, file: Path) -> str:
    """Return what dpcheck says of a file to a user who is in another group besides."""
    code = f"""
import os, pathlib
from dpcheck.running.trust import distrusted
import grp, pwd
os.setgroups([{other_group}]); os.setgid({user}); os.setuid({user})
print(distrusted(pathlib.Path({str(file)!r})))
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_a_store_that_others_can_write_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    open_store(tmp_path / "kept").close()
    assert (tmp_path / "kept").stat().st_mode & 0o022 == 0
    (tmp_path / "kept" / FILE).chmod(0o666)
    said = refused([*MEASURE, "--store", str(tmp_path / "kept")], capsys)
    assert said.startswith("dpcheck: error: the store is not used: ")
    assert f"chmod go-w {tmp_path / 'kept' / FILE}" in said
    assert "the store is not used" in refused(["history", str(tmp_path / "kept")], capsys)


def test_claims_that_others_can_write_are_decided_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dpcheck.checks import shipped

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    names = [id.partition(".")[2] for id in shipped.of_claims() if id.startswith("zhang2022.")]
    shown = dict.fromkeys(("paper", "id", "location", "statement"), "")
    decided = {"verdict": "proved", "note": "", "trust": "", "evidence": shown, "place": ""}
    shipped._keep("zhang2022", dict.fromkeys(names, decided))
    assert shipped._kept("zhang2022") is not None
    (tmp_path / "dpcheck").chmod(0o777)
    assert shipped._kept("zhang2022") is None
    assert "verdicts that were kept are not used" in capsys.readouterr().err


# What is kept, and what is not taken for it


def test_rows_that_are_kept_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment.of("output_perturbation", vary={"n": [20, 40]}, seeds=2)
    with closing(Store(tmp_path / "store")) as store:
        first = Table(experiment, store=store)
        first.fill()
        monkeypatch.setattr(Experiment, "measure", lambda *_, **__: pytest.fail("it is kept"))
        again = Table(experiment, store=store)
        again.fill()
        assert again.text == first.text
    with closing(Store(tmp_path / "store", "other code")) as store:
        assert Table(experiment, store=store).rows == {}


def test_runs_of_a_mechanism_are_kept_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files are seen; what they use is not, and is noticed by the first runs, which are made every time."""
    monkeypatch.chdir(tmp_path)
    law = "def noisy(data, rng):\n    calls.append(1)\n    return data + rng.laplace() + offset[0]\n"
    (tmp_path / "kept_mechanism.py").write_text(f"calls, offset = [], [0.0]\n{law}")
    asked = ["audit", "kept_mechanism:noisy", "--data", "0", "--neighbour", "1", "--epsilon", "2", "--trials", "4000"]
    asked += ["--store", "kept"]
    assert cli.main(asked) == 0
    said = capsys.readouterr().out
    import kept_mechanism  # type: ignore[import-not-found]

    first = len(kept_mechanism.calls)
    assert first > 8000
    assert cli.main(asked) == 0
    assert capsys.readouterr().out == said
    assert len(kept_mechanism.calls) - first < 1000, "two chunks and the probes"
    kept_mechanism.offset[0] = 1.0
    assert "must give the outputs that the store has, got others" in refused(asked, capsys)
    kept_mechanism.offset[0] = 0.0
    (tmp_path / "helper.py").write_text("used = 1\n")
    before = len(kept_mechanism.calls)
    assert cli.main(asked) == 0
    assert len(kept_mechanism.calls) - before > 8000
    capsys.readouterr()
    assert "--store must be left out beside --unseeded" in refused([*asked, "--unseeded"], capsys)


def test_no_pickle_is_read_from_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import pickle

    content = io.BytesIO()
    np.save(content, np.array([{"an": "object"}], dtype=object), allow_pickle=True)
    monkeypatch.setattr(pickle, "load", lambda *_, **__: pytest.fail("a pickle was read"))
    with closing(Store(tmp_path / "store", "code")) as store:
        store._write(["key"], content.getvalue())
        assert store.get_array(["key"]) is None
        with pytest.raises(ValueError, match="Object arrays cannot be saved"):
            store.put_array(["key"], np.array([{}], dtype=object))


def test_an_error_of_the_store_is_an_error_of_the_check(tmp_path: Path) -> None:
    from dpcheck import check

    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match="store must be a folder that can be written"):
        check("dptd", store=tmp_path / "file")


def test_files_beside_a_mechanism_are_read_and_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor's lock is a link to nowhere, and a folder may have any name; packages are not imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mech.py").write_text("def f(data, rng): return rng.normal()\n")
    before = sources("mech:f")
    (tmp_path / ".#mech.py").symlink_to("user@host.1")
    (tmp_path / "folder.py").mkdir()
    assert sources("mech:f") == before != ""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "package" / "inner.py").write_text("value = 1\n")
    assert sources("package.inner:f") not in ("", before)
    assert sources("nowhere:f") == ""
