"""How long a piece of work may take: an alarm ends it, whatever library it is in."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_AGAIN = 0.2  # seconds after which an alarm that was swallowed, as in a destructor, is repeated
deadline = float("inf")  # of the claim that this process decides, on the clock of time.monotonic


class OutOfTime(BaseException):  # no error, and nothing that catches errors is to catch it
    """The time is up."""


def left() -> float:
    """Return how many seconds this process has for its claim; infinity where nobody waits."""
    return deadline - time.monotonic()


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise :class:`OutOfTime` in the block once ``seconds`` are up; an outer limit goes on."""
    if seconds == float("inf") or threading.current_thread() is not threading.main_thread():
        yield
        return

    armed = [True]  # an alarm on its way while the block is left raises nothing

    def ring(*_: Any) -> None:
        if armed:
            raise OutOfTime

    started = time.monotonic()
    outer, _ = signal.getitimer(signal.ITIMER_REAL)
    before = signal.signal(signal.SIGALRM, ring)  # first, since an alarm that nobody hears ends the process
    try:
        signal.setitimer(signal.ITIMER_REAL, max(min(seconds, outer or seconds), 1e-3), _AGAIN)
        yield
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - started), 1e-3), _AGAIN)
