"""What a process gives up for good, before it runs code that nobody trusts.

Linux lets any process do so, without rights of its own and inside containers: a seccomp filter refuses system calls,
and Landlock refuses to write files; their modes and times, which it leaves open, the filter keeps. Nothing here needs
more than the standard library, since Landlock binds the thread that asks for it, and so must come before NumPy starts
threads.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_NO_NEW_PRIVILEGES, _END_WITH_PARENT = 38, 1
_CAPABILITIES, _READ_ALL = 0x20080522, 1 << 2  # the version of what capset takes; CAP_DAC_READ_SEARCH
# machine -> its name in a filter, and the numbers of its system calls
_MACHINES = {
    "x86_64": (0xC000003E, {
        "ioctl": 16, "shmget": 29, "shmat": 30, "shmctl": 31, "socket": 41, "socketpair": 53, "clone": 56, "fork": 57,
        "vfork": 58, "kill": 62, "semget": 64, "semop": 65, "semctl": 66, "msgget": 68, "msgsnd": 69, "msgrcv": 70,
        "msgctl": 71, "fcntl": 72, "flock": 73, "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94,
        "ptrace": 101, "setpgid": 109, "setsid": 112, "rt_sigqueueinfo": 129, "utime": 132, "setpriority": 141,
        "sched_setparam": 142, "sched_setscheduler": 144, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190,
        "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "tkill": 200, "sched_setaffinity": 203,
        "semtimedop": 220, "tgkill": 234, "utimes": 235, "mq_open": 240, "mq_unlink": 241, "add_key": 248,
        "request_key": 249, "prctl": 157, "keyctl": 250, "ioprio_set": 251, "fchownat": 260, "futimesat": 261,
        "fchmodat": 268, "utimensat": 280, "rt_tgsigqueueinfo": 297, "prlimit64": 302, "process_vm_readv": 310,
        "process_vm_writev": 311, "sched_setattr": 314, "seccomp": 317, "memfd_create": 319,
    }),
    "aarch64": (0xC00000B7, {
        "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
        "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88, "fcntl": 25, "ioctl": 29,
        "ioprio_set": 30, "flock": 32, "ptrace": 117, "sched_setparam": 118, "sched_setscheduler": 119,
        "sched_setaffinity": 122, "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138, "setpriority": 140,
        "setpgid": 154, "setsid": 157, "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188,
        "msgsnd": 189, "semget": 190, "semctl": 191, "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195,
        "shmat": 196, "socket": 198, "socketpair": 199, "add_key": 217, "request_key": 218, "keyctl": 219,
        "prctl": 167, "clone": 220, "rt_tgsigqueueinfo": 240, "prlimit64": 261, "process_vm_readv": 270,
        "process_vm_writev": 271, "sched_setattr": 274, "seccomp": 277, "memfd_create": 279,
    }),
}  # fmt: skip
_EVERYWHERE = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "clone3": 435, "pidfd_getfd": 438, "memfd_secret": 447,
    "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469,
}  # fmt: skip
_ATTRIBUTES = (  # modes, owners, times and lists of who may do what, which Landlock leaves open
    "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat", "utimensat",
    "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "fchmodat2", "setxattrat",
    "removexattrat", "file_setattr",
)  # fmt: skip
_REFUSED = (
    "socket", "io_uring_setup", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "tkill",
    "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "setpriority", "ioprio_set",
    "setsid", "setpgid",  # whatever it starts stays in its group, which is ended as one
    "memfd_create", "memfd_secret",  # files in memory, which no limit counts
    "flock",  # a store would wait for it
    "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl",
    "mq_open", "mq_unlink", "add_key", "request_key", "keyctl",  # what processes share without a file
)  # fmt: skip
_OF_A_PROCESS = ("prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr")
# of fcntl and ioctl: locks, who is sent a signal when a file has news, who waits to open it, and its flags
_OF_A_FILE = (6, 7, 8, 15, 37, 38, 1024), (0x8901, 0x8902, 0x40086602, 0x40046602, 0x401C5820)
_THREAD = 0x10000  # the flag of clone that makes a thread, and no process
_STREAM = 1  # a pair of datagram sockets could write to others, too


def confine(folder: str) -> dict[str, bool]:
    """Give up sockets, signals to others, and writing outside a folder; return which of these the system took away."""
    if not sys.platform.startswith("linux"):
        return {"network": False, "signals": False, "files": False}
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.prctl(_END_WITH_PARENT, signal.SIGKILL, 0, 0, 0)  # which the filter then leaves as it is
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or not _drop_rights_of_root(libc):
        return {"network": False, "signals": False, "files": False}
    files, scoped = _write_only_in(libc, folder)
    filtered = _filter_calls(libc)
    return {"network": filtered, "signals": filtered or scoped, "files": files and filtered}


def _drop_rights_of_root(libc: ctypes.CDLL) -> bool:
    """Keep of root's rights that to read every file: the others raise limits, make devices and stop the machine."""
    header, held = struct.pack("Ii", _CAPABILITIES, 0), ctypes.create_string_buffer(24)
    if libc.capget(header, held):
        return False
    effective, permitted = struct.unpack_from("II", held.raw)
    kept = struct.pack("IIIIII", effective & _READ_ALL, permitted & _READ_ALL, 0, 0, 0, 0)
    return bool(libc.capset(header, kept) == 0)


def _filter_calls(libc: ctypes.CDLL) -> bool:
    """Refuse the system calls that reach other processes or start some; say whether the system does."""
    if platform.machine() not in _MACHINES or sys.byteorder != "little" or sys.maxsize < 2**32:
        return False
    machine, numbers = _MACHINES[platform.machine()]
    numbers = {**numbers, **_EVERYWHERE}
    code = filter_code(machine, numbers, os.getpid())
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(held))
    every_thread, full_speed = 1, 4
    call = ctypes.c_long(numbers["seccomp"])
    return bool(libc.syscall(call, ctypes.c_long(1), ctypes.c_long(every_thread | full_speed), program) == 0)


def filter_code(machine: int, numbers: dict[str, int], process: int) -> bytes:
    """Return the filter for a process of this number: instructions of 8 bytes, as the kernel reads them."""
    load, mask, equal, at_least, answer = 0x20, 0x54, 0x15, 0x35, 0x06
    allowed, refused, unknown, ended = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x80000000
    lines: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4), (equal, 1, 0, machine), (answer, 0, 0, refused),
        (load, 0, 0, 0), (at_least, 0, 1, 0x40000000), (answer, 0, 0, refused),  # the x32 calls of the same kernel
    ]  # fmt: skip
    for name in (*_REFUSED, *(name for name in _ATTRIBUTES if name in numbers)):
        lines += [(equal, 0, 1, numbers[name]), (answer, 0, 0, refused)]
    # Starting a process ends this one; clone3, whose flags a filter cannot read, gives way to clone.
    lines += [(equal, 0, 1, numbers["clone3"]), (answer, 0, 0, unknown)]
    for name in ("fork", "vfork"):
        if name in numbers:
            lines += [(equal, 0, 1, numbers[name]), (answer, 0, 0, ended)]
    lines += [
        (equal, 0, 4, numbers["clone"]), (load, 0, 0, 16), (mask, 0, 0, _THREAD), (equal, 1, 0, _THREAD),
        (answer, 0, 0, ended), (load, 0, 0, 0),
    ]  # fmt: skip

    def decide(name: str, argument: int, bits: int, values: Sequence[int], *, good: bool) -> None:
        """Allow or refuse a call by one argument."""
        tests = [(equal, len(values) - place, 0, value) for place, value in enumerate(values)]
        ends = [(answer, 0, 0, refused if good else allowed), (answer, 0, 0, allowed if good else refused)]
        block = [(load, 0, 0, 16 + 8 * argument), (mask, 0, 0, bits), *tests, *ends]
        lines.extend([(equal, 0, len(block), numbers[name]), *block])

    for name in ("kill", "tgkill"):
        decide(name, 0, 0xFFFFFFFF, (process,), good=True)
    for name in _OF_A_PROCESS:
        decide(name, 0, 0xFFFFFFFF, (0, process), good=True)
    decide("socketpair", 1, 0xF, (_STREAM,), good=True)
    for name, commands in zip(("fcntl", "ioctl"), _OF_A_FILE, strict=True):
        decide(name, 1, 0xFFFFFFFF, commands, good=False)
    decide("prctl", 0, 0xFFFFFFFF, (_END_WITH_PARENT,), good=False)
    return b"".join(struct.pack("HBBI", *line) for line in [*lines, (answer, 0, 0, allowed)])


_CREATE, _ADD, _RESTRICT = 444, 445, 446  # Landlock's system calls, of every machine
_WRITE = 1 << 1
# to write, remove, make (eight kinds), move and cut off files; reading is left as it is
_CHANGES = _WRITE | sum(1 << bit for bit in range(4, 15))
_DEVICES = 1 << 15  # to set what devices do, such as terminals
_SCOPE = 3  # abstract sockets and signals


def _write_only_in(libc: ctypes.CDLL, folder: str) -> tuple[bool, bool]:
    """Refuse to change files outside a folder; say whether the system does, and whether it keeps signals back, too."""
    version = libc.syscall(ctypes.c_long(_CREATE), None, ctypes.c_long(0), ctypes.c_long(1))
    with suppress(OSError):
        if version < 3 or len(os.listdir("/proc/self/task")) != 1:  # an older one lets files be cut off
            return False, False
        scoped = version >= 6
        handled = _CHANGES | (_DEVICES if version >= 5 else 0)
        rules = struct.pack("QQQ", handled, 0, _SCOPE) if scoped else struct.pack("Q", handled)
        ruleset = libc.syscall(ctypes.c_long(_CREATE), rules, ctypes.c_long(len(rules)), ctypes.c_long(0))
        if ruleset < 0:
            return False, False
        good = all(_allow(libc, ruleset, *rule) for rule in ((folder, _CHANGES), (os.devnull, _WRITE)))
        good = good and libc.syscall(ctypes.c_long(_RESTRICT), ctypes.c_long(ruleset), ctypes.c_long(0)) == 0
        os.close(ruleset)
        return good, good and scoped
    return False, False


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, changes: int) -> bool:
    """Leave these changes possible below a path."""
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", changes, opened)
    done = libc.syscall(ctypes.c_long(_ADD), ctypes.c_long(ruleset), ctypes.c_long(1), rule, ctypes.c_long(0))
    os.close(opened)
    return bool(done == 0)


def limit(name: str, most: int) -> bool:
    """Set a limit of this process that it cannot raise again, such as "FSIZE"; say whether the system took it."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        which = getattr(resource, f"RLIMIT_{name}")
        hardest = resource.getrlimit(which)[1]
        most = most if hardest == resource.RLIM_INFINITY else min(most, hardest)
        resource.setrlimit(which, (most, most))
        return True
    return False


def memory_in_use() -> int | None:
    """Return the bytes that this process has mapped, None where the system does not say."""
    with suppress(OSError, ValueError, AttributeError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return None
