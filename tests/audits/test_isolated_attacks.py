"""What an isolated mechanism must not do to processes and files that are not its own is refused."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import stat
import sys
import tempfile
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcheck.audits.running import Chunk, Runner
from dpcheck.audits.running.isolated import IsolatedRunner, Limits

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")


# Each does what must not work, to a process or a file that is not its own, and raises OSError where it is refused.
# Signal 0 is refused as every other is, and harms nobody.
ATTACKS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "signals by kill": ("signals", lambda given: os.kill(given["parent"], 0)),
    "signals every process": ("signals", lambda given: os.kill(-1, 0)),
    "signals a thread": ("signals", lambda given: called(234, given["parent"], given["parent"], 0)),
    "signals by a descriptor": (
        "signals", lambda given: signal.pidfd_send_signal(os.pidfd_open(given["parent"]), 0)
    ),
    "has signals sent": ("signals", lambda given: fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, given["parent"])),
    "limits the parent": ("signals", lambda given: resource.prlimit(given["parent"], resource.RLIMIT_CORE, (0, 0))),
    "reads the parent's memory": ("files", lambda given: Path(f"/proc/{given['parent']}/mem").open("rb").close()),
    "slows the parent": ("signals", lambda given: os.setpriority(os.PRIO_PROCESS, given["parent"], 0)),
    "moves the parent to other cores": (
        "signals", lambda given: os.sched_setaffinity(given["parent"], os.sched_getaffinity(given["parent"]))
    ),
    "shares memory": ("signals", lambda given: called(29, 0, 1, 0o1600)),
    "keeps files in memory": ("signals", lambda given: os.memfd_create("kept")),
    "sets a terminal": ("files", lambda given: silence(given["terminal"])),
    "makes a device": ("files", lambda given: os.mknod("device", stat.S_IFCHR, os.makedev(1, 3))),
    "opens the parent's files": ("files", lambda given: os.open(f"/proc/{given['parent']}/fd/{given['left']}", 0)),
    "connects": ("network", lambda given: socket.create_connection(("127.0.0.1", given["port"]), 1).close()),
    "sends a packet": ("network", lambda given: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))),
    "asks a service": ("network", lambda given: socket.socket(socket.AF_UNIX).close()),
    "pairs datagram sockets": ("network", lambda given: socket.socketpair(type=socket.SOCK_DGRAM)),
    "writes a file": ("files", lambda given: os.write(os.open(given["file"], os.O_WRONLY), b"x")),
    "cuts a file off": ("files", lambda given: os.truncate(given["file"], 0)),
    "removes a file": ("files", lambda given: os.remove(given["other"])),
    "moves a file": ("files", lambda given: os.rename(given["file"], given["file"] + "2")),
    "makes a file": ("files", lambda given: Path(given["file"] + "3").touch()),
    "changes a mode": ("files", lambda given: os.chmod(given["file"], 0o666)),
    "changes the mode of an open file": ("files", lambda given: to_open(given["file"], os.fchmod, 0o666)),
    "changes a mode by a later call": ("files", lambda given: called(452, -100, path(given["file"]), 0o666, 0)),
    "changes times": ("files", lambda given: os.utime(given["file"], (0, 0))),
    "gives a file away": ("files", lambda given: os.chown(given["file"], os.getuid(), os.getgid())),
    "adds an attribute": ("files", lambda given: os.setxattr(given["file"], "user.a", b"b")),
    "sets a flag": ("files", lambda given: to_open(given["file"], fcntl.ioctl, 0x40086602, bytes([0x80, *bytes(7)]))),
    "locks a file": ("files", lambda given: to_open(given["file"], fcntl.flock, fcntl.LOCK_EX)),
    "locks a part of a file": ("files", lambda given: to_open(given["file"], fcntl.lockf, fcntl.LOCK_SH)),
    "locks an open file": ("files", lambda given: to_open(given["file"], fcntl.fcntl, 37, bytes(32))),
    "makes others wait": ("files", lambda given: to_open(given["other"], fcntl.fcntl, fcntl.F_SETLEASE, fcntl.F_RDLCK)),
    "writes beyond its limit": ("file size", lambda given: os.truncate("large", 300 * 2**20)),
    "has the parent's files": ("", lambda given: opened(given["file"])),
    "works elsewhere": ("", lambda given: folder_of_others(given["folder"])),
}  # fmt: skip


def to_open(file: str, attack: Callable[..., object], *arguments: Any) -> None:
    """An attack by a file that is open to be read."""
    with open(file, "rb") as stream:
        attack(stream.fileno(), *arguments)


def path(file: str) -> ctypes.c_char_p:
    return ctypes.c_char_p(file.encode())


def called(number: int, *arguments: Any) -> None:
    """A system call of x86."""
    if os.uname().machine != "x86_64" or ctypes.CDLL(None).syscall(number, *arguments) < 0:
        raise OSError("refused")


def silence(terminal: str) -> None:
    """Opening it to read is enough; Linux refuses it since 6.10."""
    if ctypes.CDLL(None).syscall(444, None, 0, 1) < 5:
        raise OSError("not refused here")
    try:
        termios.tcsendbreak(os.open(terminal, os.O_RDONLY | os.O_NOCTTY), 0)
    except termios.error as error:
        raise OSError("refused") from error


def opened(file: str) -> None:
    """A file that the parent left open to whatever it starts."""
    if file not in {os.path.realpath(f"/proc/self/fd/{entry}") for entry in os.listdir("/proc/self/fd")}:
        raise OSError("not open")


def folder_of_others(folder: str) -> None:
    """The working folder of the parent, or where others keep temporary files."""
    mine = Path.cwd()
    tempfile.tempdir = None
    if mine != Path(folder) and Path(tempfile.gettempdir()) == mine and [*mine.iterdir()] in ([], [mine / "large"]):
        raise OSError("in its own folder")


def attempts(given: Any, rng: np.random.Generator, worked: list[float] = []) -> Any:  # noqa: B006  # of the first call
    """Which attacks work."""
    Path("large").touch()
    for _, attack in [] if worked else ATTACKS.values():
        try:
            attack(given)
            worked.append(1.0)
        except OSError:
            worked.append(0.0)
    return worked


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bool], str]:
    """Which attacks worked, and which measures hold by what is said."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the attacks are those on Linux")
    folder, said = tmp_path_factory.mktemp("others"), list[str]()
    file, other = folder / "file", folder / "other"
    for each in (file, other):
        each.write_bytes(b"whole")
    with file.open("r+b") as left_open, socket.create_server(("127.0.0.1", 0)) as server:
        os.set_inheritable(left_open.fileno(), True)
        terminal = os.openpty()
        given = {
            "parent": os.getpid(), "file": str(file), "other": str(other), "left": left_open.fileno(),
            "port": server.getsockname()[1], "folder": os.getcwd(), "terminal": os.ttyname(terminal[1]),
        }  # fmt: skip
        limits = Limits(seconds=30, megabytes=200, told=said.append)
        runner = IsolatedRunner(Runner(attempts, (given, given), False, 0), limits)
        try:
            runner.probe()
            worked = runner(Chunk(0, 0, 1))[0]
        finally:
            runner.end()
            for end in terminal:
                os.close(end)
    return dict(zip(ATTACKS, worked > 0, strict=True)), said[0]


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_where_the_command_says_so(attacked: tuple[dict[str, bool], str], name: str) -> None:
    worked, said = attacked
    measure = {"signals": "no signals", "network": "no network", "files": "writes to its own", "file size": "MB a file"}
    held = said.partition("; not on this system")[0]
    if measure.get(ATTACKS[name][0], "no inherited files") not in held:
        pytest.skip(f"not on this system: {said}")
    assert not worked[name]
