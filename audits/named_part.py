"""Which part of a mechanism a leak is at, as far as a few recorded runs tell: a hint beside a verdict, never a verdict.

A membership audit sees outputs alone. Where it finds a violation, :func:`~.randomness.audit_randomness` looks at the
mechanism's draws on the same pair: what depends on the data, what is seeded, what is too small, and at which line.
Where the draws do not tell, :func:`inside` looks at the lines that differ between the two data sets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpcheck.arrays import real_numbers
from dpcheck.audits.randomness import audit_randomness
from dpcheck.audits.running.other_python import OtherPython
from dpcheck.audits.running.recorder import Recorder
from dpcheck.lines import compared, reading, watched
from dpcheck.source import code_of, place_of

_SECONDS = 0.5  # of processor time for calls to the mechanism, by either; no hint where they take longer
_RUNS = 100  # with which a number without noise is told from one whose noise shows rarely
_CAUSES = ("scale", "draws", "source", "reuse", "privacy")  # before what follows from them


def named_part(
    audit: Any, mechanism: Callable[..., Any], data: Any, neighbour: Any, *, vectorized: bool = False
) -> str:
    """Say what is wrong with which draw, at which line, of a mechanism found violated; empty where runs do not tell."""
    if audit.verdict != "violated" or isinstance(mechanism, OtherPython):  # whose lines do not run here
        return ""
    epsilon = audit.epsilon if math.isfinite(audit.epsilon) else None
    try:
        found = audit_randomness(_timed(mechanism, vectorized), data, neighbour, epsilon=epsilon, delta=audit.delta)
    except Exception:  # whatever hinders a hint must not hinder the audit
        found = None
    telling = [
        seen for seen in (found.observations if found else ())
        if seen.verdict == "violated" or (seen.topic in _CAUSES[:2] and seen.verdict == "inconclusive")
    ]  # fmt: skip
    words = lines_at(mechanism, data, neighbour, vectorized=vectorized)
    if found is None or not telling:
        return words
    cause = min(telling, key=lambda seen: _CAUSES.index(seen.topic))
    reason = found.implied.reason if cause.topic == "privacy" and found.implied else cause.reason
    return f"{reason}; {words}" if words else reason


def _timed(mechanism: Callable[..., Any], vectorized: bool) -> Callable[[Any, Any], Any]:
    """Return what makes single runs until the time is spent: of this thread's processor, and a quarter of waiting."""
    busy, clock = time.thread_time(), time.perf_counter()

    def timed(dataset: Any, rng: Any) -> Any:
        if max(time.thread_time() - busy, (time.perf_counter() - clock) / 4) > _SECONDS:
            raise TimeoutError
        return mechanism(dataset, rng, *((1,) if vectorized else ()))

    return timed


def lines_at(mechanism: Callable[..., Any], data: Any, neighbour: Any, **how: Any) -> str:
    """Return what :func:`inside` says, with the place; nothing where the code cannot be watched."""
    try:
        words, place = inside(mechanism, data, neighbour, **how)
    except Exception:  # whatever hinders a hint must not hinder the audit
        return ""
    return f"{words} ({place})" if words and place else words


def inside(mechanism: Callable[..., Any], data: Any, neighbour: Any, *, vectorized: bool = False) -> tuple[str, str]:
    """Watch a mechanism that an audit called violated, on both data sets with the same draws.

    Returned are a clause on what the code does, and ``"FILE:LINE"``; both are empty where the code cannot be watched.
    """
    code = code_of(mechanism)
    if code is None:
        return "", ""
    output = _timed(mechanism, vectorized)
    one, other = (watched(mechanism, partial(output, side), Recorder(0)) for side in (data, neighbour))
    if not (one.lines and other.lines):  # not called, or not in time
        return "", ""
    first = code.co_varnames[: code.co_argcount]
    records, others = (len(side) if hasattr(side, "__len__") else 0 for side in (data, neighbour))
    name = next((name for name in first if name != "self"), "")
    lines = compared(one, other, records, reading(mechanism, name, sizes=records != others))
    words, line = lines.told
    if bare := without_noise(output, (data, neighbour)):
        words, line = (f"{bare}; {words}", line) if words else (f"{bare}; {lines.made[0]}", lines.made[1])
    elif not words:
        words, line = lines.made
        if lines.noise and (not lines.query or len({*one.lines}) == 1):  # that it draws says nothing of what is wrong
            words = ""
    return words, place_of(mechanism, line)


def without_noise(output: Callable[[Any, np.random.Generator], Any], pair: tuple[Any, Any], count: int = _RUNS) -> str:
    """Name a number of the output that is the same in every run on one data set, and not so on the other."""
    try:
        runs = np.array([
            [real_numbers(output(side, np.random.default_rng(seed)), "it").ravel() for seed in range(count)]
            for side in pair
        ])  # fmt: skip
    except Exception:  # no numbers, not as many of them, or not in time
        return ""
    still = [(side == side[0]).all(axis=0) for side in runs]
    apart = (still[0] | still[1]) & (runs[0, 0] != runs[1, 0])
    return f"number {int(np.argmax(apart))} of the output was the same in {count} runs" if apart.any() else ""
