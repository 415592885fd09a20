"""Code under test never decides the exit code, and no process outlives the command that started it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from slices import first

from dpcheck.report.findings import Finding, Report
from dpcheck.running.executor import cores, workers
from dpcheck.running.files import write_text

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")

MECHANISMS = """
import ctypes, os, sys, time
from pathlib import Path

class Stop(BaseException): pass

def leaves(data, rng): sys.exit(0)
def ends(data, rng): os._exit(0)
def stops(data, rng): raise Stop("now")
def ends_inside(data, rng):
    value = data + rng.laplace()
    if value > 6: os.kill(os.getpid(), 9)
    return value
def ends_around(data, rng):
    value = data + rng.laplace()
    if value > 6: ctypes.CDLL(None)._exit(0)
    return value
def splits_once(data, rng):
    value = data + rng.laplace()
    if value > 4 and not os.path.exists("split"):
        open("split", "w").close()
        os.fork()
    return value
def ends_late(data, rng):
    value = data + rng.laplace()
    if value > 6: os._exit(0)
    return value
calls = [0]
def ends_once(data, rng):
    calls[0] += 1
    if calls[0] == 1500: os._exit(0)
    return data + rng.laplace()
def writes_everywhere(data, rng):
    for file in range(3, 30):
        try: os.write(file, b"0")
        except OSError: pass
    return data + rng.laplace()
def forges(data, rng):
    for file in range(3, 30):
        try: os.write(file, b"0")
        except OSError: pass
    ctypes.CDLL(None)._exit(0)
def asks(data, rng): return data + rng.laplace() + len(input())
def slow(data, rng):
    Path(f"ran.{os.getpid()}").touch()
    time.sleep(0.02)
    return data + rng.laplace()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "others.py").write_text(MECHANISMS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(mechanism: str, jobs: int, trials: int = 20_000) -> list[str]:
    asked = ["audit", f"others:{mechanism}", "--data", "0", "--neighbour", "1", "--epsilon", "1"]
    return [sys.executable, "-m", "dpcheck", *asked, "--trials", str(trials), "--jobs", str(jobs)]


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_that_a_mechanism_ends_once_is_not_passed_over(folder: Path, jobs: int) -> None:
    """Its chunk is not run again, which would leave out exactly the runs that end a process."""
    done = subprocess.run(command("ends_once", jobs), capture_output=True, text=True)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert "ended its process (exit code 0)" in last or "got one that died" in last, done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mechanism", "jobs", "said"),
    [
        ("leaves", 1, "mechanism must return a number or an array, got SystemExit: 0"),
        ("ends", 2, "mechanism must return, got one that ended its process (exit code 0)"),
        ("ends_inside", 1, "the code under test must return, got one that ended its process (signal 9)"),
        ("stops", 1, "mechanism must return a number or an array, got Stop: now"),
        ("ends_late", 1, "mechanism must return, got one that ended its process (exit code 0)"),
        ("ends_late", 2, "mechanism must return, got one that ended its process (exit code 0)"),
        ("ends_around", 1, "the code under test must return, got one that ended its process (exit code 0)"),
        ("ends_around", 2, "mechanism must survive in a worker process, got one that died; try jobs=1"),
    ],
)
def test_a_mechanism_that_ends_its_process_is_an_error(folder: Path, mechanism: str, jobs: int, said: str) -> None:
    """Also where the end is one that no exception can stand for, be it a signal or one called from C."""
    found = subprocess.run(command(mechanism, jobs), capture_output=True, text=True)
    assert found.returncode == 2
    last = found.stderr.splitlines()[-1]
    assert last.startswith(f"dpcheck: error: {said}"), last
    assert found.stdout == ""


@pytest.mark.thorough
@pytest.mark.parametrize(("backend", "needs"), [("dask", "distributed"), ("ray", "ray")])
def test_a_mechanism_ends_no_process_of_a_cluster(folder: Path, backend: str, needs: str) -> None:
    pytest.importorskip(needs, reason=f"pip install 'dpcheck[{backend}]'")
    asked = [*command("ends_once", 2, 2000), "--backend", backend]
    found = subprocess.run(asked, capture_output=True, text=True, timeout=300)
    said = "dpcheck: error: mechanism must return, got one that ended its process (exit code 0)"
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.splitlines()[-1].startswith(said), found.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_copy_that_a_mechanism_splits_off_does_not_go_on_with_the_audit(folder: Path, jobs: int) -> None:
    found = subprocess.run(command("splits_once", jobs, 2000), capture_output=True, text=True, timeout=120)
    assert (found.returncode, found.stdout.count("epsilon >=")) == (0, 1), found.stdout + found.stderr


@pytest.mark.parametrize("mechanism", first(1, ["writes_everywhere", "forges"]))
def test_a_mechanism_that_writes_everywhere_decides_no_exit_code(folder: Path, mechanism: str) -> None:
    """It reaches the pipe in which the command hands on its exit code."""
    found = subprocess.run(command(mechanism, 1, 200), capture_output=True, text=True)
    said = "dpcheck: error: the code under test must write to its own files alone, got one that wrote to others"
    assert (found.returncode, found.stderr.splitlines()[-1]) == (2, said)


@pytest.mark.skipif(not Path("/dev/ptmx").exists(), reason="needs a terminal")
def test_a_mechanism_that_reads_the_terminal_does_not_stop(folder: Path) -> None:
    """In the background of a terminal it would be stopped for good: it finds the end of its input instead."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, command("asks", 1, 200))
    said, until = b"", time.monotonic() + 60
    while time.monotonic() < until:
        try:
            said += os.read(terminal, 4096) if select.select([terminal], [], [], 1)[0] else b""
        except OSError:  # the command has ended
            break
    else:
        os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2, said
    assert b"EOF" in said


def alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{number}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.thorough
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_the_command(folder: Path, sent: signal.Signals) -> None:
    process = subprocess.Popen(command("slow", 2, 10**6), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(ran := list(folder.glob("ran.*"))) < 3 and time.monotonic() < deadline:  # the first one probes
        time.sleep(0.05)
    started = [int(path.suffix[1:]) for path in ran]
    assert len(started) >= 3
    process.send_signal(sent)
    code = process.wait(30)
    assert code == (130 if sent == signal.SIGINT else -sent)
    deadline = time.monotonic() + 20
    while any(map(alive, started)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [number for number in started if alive(number)] == []


def test_there_are_never_more_than_four_workers_a_core() -> None:
    assert workers(10**6) == 4 * cores()
    assert workers(1) == 1
    assert workers(None) == cores()


# Files


def test_modes_links_and_masks_are_kept(folder: Path) -> None:
    (folder / "kept.txt").write_text("old")
    (folder / "kept.txt").chmod(0o600)
    (folder / "link.txt").symlink_to("kept.txt")
    write_text("link.txt", "new")
    assert (folder / "link.txt").is_symlink()
    assert (folder / "kept.txt").read_text() == "new"
    assert (folder / "kept.txt").stat().st_mode & 0o777 == 0o600
    before = os.umask(0o027)
    try:
        write_text("fresh.txt", "text")
    finally:
        os.umask(before)
    assert (folder / "fresh.txt").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in folder.iterdir()) == ["fresh.txt", "kept.txt", "link.txt", "others.py"]


def test_what_is_no_regular_file_is_written_to(folder: Path) -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        write_text("pipe", "through it")
        assert reader.communicate()[0] == "through it"
    assert (folder / "pipe").is_fifo()
    write_text(os.devnull, "nothing")
    assert not Path(os.devnull).is_file()


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs a system that names open files")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "link"])
def test_what_stdout_goes_to_is_added_to(folder: Path, name: str) -> None:
    """A log that a shell appends to keeps its lines."""
    Path("link").symlink_to("/dev/stdout")
    Path("log").write_text("step 1\n")
    shown = [sys.executable, "-m", "dpcheck", "report", "xu2026.table_2", "--format", "csv", "--output", name]
    with Path("log").open("a") as log:
        subprocess.run(shown, stdout=log, check=True)
        subprocess.run(["echo", "step 3"], stdout=log, check=True)
    first, *table, last = Path("log").read_text().splitlines()
    assert (first, last) == ("step 1", "step 3")
    assert table[0].startswith("method")


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_stderr_that_cannot_be_written_changes_no_exit_code(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        run = [sys.executable, "-m", "dpcheck"]
        assert subprocess.run([*run, "reproduce", "nothing"], stderr=full, check=False).returncode == 2
        measured = [*run, "measure", "output_perturbation", "--vary", "n=64", "--seeds", "1", "--output", "rows.csv"]
        assert subprocess.run(measured, stderr=full, stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize("name", ["x" * 300, "circle"])
def test_names_that_lead_nowhere_are_one_line(folder: Path, name: str) -> None:
    Path("circle").symlink_to("circle")
    run = [sys.executable, "-m", "dpcheck", "report", "xu2026.table_2", "--output", name]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_one_line(folder: Path) -> None:
    Report((Finding("a.b", "privacy", "what", "consistent", "why"),), ("dp_sgda",), "quick", 0, "0", 1.0, {}).to_json(
        "report.json"
    )
    shown = [sys.executable, "-m", "dpcheck", "report", "report.json"]
    with open("/dev/full", "w") as full:
        found = subprocess.run(shown, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (found.returncode, found.stderr) == (
        2, "dpcheck: error: stdout must be writable, got: No space left on device\n"
    )  # fmt: skip
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *shown], stderr=subprocess.PIPE, text=True)
    assert closed.returncode == 2
    assert closed.stderr == "dpcheck: error: stdout must be open, got a closed one: the result has nowhere to go\n"
