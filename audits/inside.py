"""What the code of a mechanism does that an audit from outside found at fault: the part, in words, and the line."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpcheck.arrays import real_numbers
from dpcheck.audits.running.recorder import Recorder
from dpcheck.lines import compared, reading, watched
from dpcheck.source import code_of, place_of

_SECONDS = 0.5  # of calls to the mechanism
_RUNS = 100  # with which a number without noise is told from one whose noise shows rarely


def inside(mechanism: Callable[..., Any], data: Any, neighbour: Any, *, vectorized: bool = False) -> tuple[str, str]:
    """Watch a mechanism that an audit called violated, on both data sets with the same draws.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> anything``, or ``(dataset, rng, size)`` where ``vectorized``.
    data, neighbour : object
        The pair of the audit.
    vectorized : bool
        Whether the mechanism makes many runs in one call.

    Returns
    -------
    tuple of str
        A clause on what the code does, and ``"FILE:LINE"``; both empty where the code cannot be watched.

    Examples
    --------
    >>> from dpcheck.audits.inside import inside
    >>> def noisy_sum(data, rng):
    ...     return sum(data) + rng.laplace(scale=max(data))
    >>> words, place = inside(noisy_sum, [1, 1], [1, 2])
    >>> words.split(" ", 2)[2]
    'draws noise, or chooses, in a way that the data decide'
    """
    code = code_of(mechanism)
    if code is None:
        return "", ""
    last = time.perf_counter() + _SECONDS

    def output(side: Any, rng: np.random.Generator) -> Any:
        if time.perf_counter() > last:
            raise TimeoutError
        return mechanism(side, rng, *((1,) if vectorized else ()))

    one, other = (watched(mechanism, partial(output, side), Recorder(0)) for side in (data, neighbour))
    first = code.co_varnames[: code.co_argcount]
    records = len(data) if hasattr(data, "__len__") else 0
    lines = compared(one, other, records, reading(mechanism, next((name for name in first if name != "self"), "")))
    words, line = lines.told
    if bare := _without_noise(output, (data, neighbour)):
        words, line = (f"{bare}; {words}", line) if words else (f"{bare}; {lines.made[0]}", lines.made[1])
    elif not words:
        words, line = lines.made
        if lines.noise and lines.query in (0, lines.noise):  # that a line draws says nothing of what is wrong
            words = ""
    return words, place_of(mechanism, line)


def _without_noise(output: Callable[[Any, np.random.Generator], Any], pair: tuple[Any, Any]) -> str:
    """Name a number of the output that is the same in every run on one data set, and not so on the other."""
    try:
        runs = np.array([
            [real_numbers(output(side, np.random.default_rng(seed)), "it").ravel() for seed in range(_RUNS)]
            for side in pair
        ])  # fmt: skip
    except Exception:  # no numbers, not as many of them, or not in time
        return ""
    still = [(side == side[0]).all(axis=0) for side in runs]
    apart = (still[0] | still[1]) & (runs[0, 0] != runs[1, 0])
    return f"number {int(np.argmax(apart))} of the output was the same in {_RUNS} runs" if apart.any() else ""
