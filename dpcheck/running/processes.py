"""Processes that work for another one: they end with it, and none of them decides its exit code."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from dpcheck.errors import InputError

_LOOK_EVERY = 0.5  # seconds
_CODES = (0, 1, 2, 3, 130)
_TO_END = (signal.SIGTERM, signal.SIGHUP)


def end_with_parent() -> None:
    """End this process within a second of its parent's end: a parent that is killed cannot end its workers."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def supervised(work: Callable[[], int]) -> int:
    """Return what ``work`` returns in a process of its own: code that ends it cannot pass for a result."""
    if not hasattr(os, "fork"):
        return work()
    ours, theirs = os.pipe()
    token = secrets.token_bytes(16)  # code that writes a number to every file does not know it
    child = os.fork()
    if child == 0:
        os.close(ours)
        _report(work, theirs, token)
    os.close(theirs)
    os.set_blocking(ours, False)  # what the child leaves behind may hold the pipe open
    with _forwarded_to(child), os.fdopen(ours, "rb") as answer:
        _, status = os.waitpid(child, 0)
        said = answer.read()
    codes = {token + str(code).encode(): code for code in _CODES}
    if said in codes:
        return codes[said]
    if said:  # whoever writes to files that it did not open reaches this pipe too
        raise InputError("the code under test must write to its own files alone, got one that wrote to others")
    ended = os.waitstatus_to_exitcode(status)
    if -ended in _TO_END:  # as somebody asked
        signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    how = f"exit code {ended}" if ended >= 0 else f"signal {-ended}"
    raise InputError(f"the code under test must return, got one that ended its process ({how})")


def _report(work: Callable[[], int], pipe: int, token: bytes) -> NoReturn:
    """Do the work in the child, and write its exit code as the very last thing."""
    os.setpgid(0, 0)  # an interrupt from the terminal reaches the parent alone, which forwards it
    # Nor may the terminal stop it: reading finds the end of the input, and writing goes on.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    end_with_parent()
    child = os.getpid()
    code = work()
    if os.getpid() == child:  # and not a process that the code under test has split off
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os.write(pipe, token + str(code).encode())
    os._exit(0)


end_process = os._exit
_within = threading.local()


class EndedProcessError(BaseException):
    """Code of others asked for the end of the process that runs it."""


class Guest:
    """A context of others' code, which may neither end this process nor leave a copy of it that goes on."""

    __slots__ = ("_before", "_process")

    def __enter__(self) -> Guest:
        os._exit = _exit_of_a_guest
        self._before = getattr(_within, "process", None)
        self._process = _within.process = os.getpid()
        return self

    def end_copy(self) -> None:
        """End this process if the code has split it off."""
        if os.getpid() != self._process:
            end_process(0)

    def __exit__(self, *_: object) -> None:
        self.end_copy()
        _within.process = self._before


def _exit_of_a_guest(status: int) -> NoReturn:
    if getattr(_within, "process", None) == os.getpid():  # and neither our own code nor a process of the guest's
        raise EndedProcessError(f"exit code {status}")
    end_process(status)


@contextmanager
def _forwarded_to(child: int) -> Iterator[None]:
    """Signals that ask this process to stop, pause or go on are the child's to answer."""

    def forward(number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)
            os.kill(child, signal.SIGCONT)  # one that somebody stopped would not hear it

    def pause(number: int, _: object) -> None:
        os.killpg(child, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)  # ... and when this process goes on, so does the child:
        os.killpg(child, signal.SIGCONT)

    handlers = dict.fromkeys((signal.SIGINT, *_TO_END), forward) | {signal.SIGTSTP: pause}
    ignored = {number for number in handlers if signal.getsignal(number) is signal.SIG_IGN}
    before = {number: signal.signal(number, handlers[number]) for number in handlers if number not in ignored}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
