"""Runs a tool on items, each in a process of its own that may use so much processor time and no more."""

from __future__ import annotations

import functools
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from inequalities.item import Item

Tool = Callable[[Item], str]  # "proved", "refuted" or anything else
LIMIT = 4  # seconds of processor time of each process, the same for every tool
_MEMORY = 4 << 30  # bytes


@dataclass(frozen=True)
class Answer:
    """What a tool said of an item; ``seconds`` is processor time, its own and its children's."""

    item: str
    family: str
    truth: bool
    tool: str
    verdict: str
    method: str
    seconds: float

    @property
    def wrong(self) -> bool:
        """Whether the tool decided against the truth."""
        return self.verdict == ("refuted" if self.truth else "proved")

    @property
    def decided(self) -> bool:
        """Whether the tool decided, and rightly."""
        return self.verdict == ("proved" if self.truth else "refuted")


def answers(name: str, tool: Tool, items: Iterable[Item], limit: int = LIMIT) -> Iterator[Answer]:
    """What the tool says of each item."""
    for item in items:
        verdict, seconds = alone(
            functools.partial(tool, item), limit, wall=12 * limit
        )  # other work may hold the processor
        word, _, method = verdict.partition(": ")
        yield Answer(item.name, item.family, item.truth, name, word, method, round(seconds, 3))


def alone(ask: Callable[[], str], limit: int, wall: float) -> tuple[str, float]:
    """The word of a tool that is asked in a process of its own, and its processor time."""
    sys.stdout.flush()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        try:
            word = ask()
        except BaseException as error:
            word = f"failed: {type(error).__name__}: {str(error)[:80]}"
        os.write(write, json.dumps(word).encode())
        os._exit(0)
    os.close(write)
    deadline = time.monotonic() + wall
    ready, _, _ = select.select([read], [], [], max(0.0, deadline - time.monotonic()))
    text = os.read(read, 1 << 16) if ready else b""
    os.close(read)
    if not text:
        os.killpg(child, signal.SIGKILL)
    _, _, used = os.wait4(child, 0)
    return json.loads(text) if text else "time", used.ru_utime + used.ru_stime
