"""Tapes made, read and watched: what a run wrote down, from the side of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import Play, Tape
from dpcheck.algorithms.kernels.tape import (
    COUNT,
    DRAWS,
    EVALUATIONS,
    EXHAUSTED,
    MARKS,
    MODE,
    OUTCOME,
    RELEASES,
    RETURNED,
    STOP,
)
from dpcheck.algorithms.kernels.transcripts import trials
from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.run import History
from dpcheck.errors import require, require_count


def new_tape(problem: Problem, rows: tuple[int, int, int], *, at: Sequence[int] = (), mode: int = COUNT) -> Tape:
    """Make an empty tape with room for these releases and minibatches, or for counting alone."""
    for iteration in at:
        require_count(iteration, "at", least=0)
    marks = np.array(sorted(set(at)), dtype=np.int64)
    size = problem.dim_w + problem.dim_v
    releases, draws, largest = rows if mode != COUNT else (0, 0, 0)
    cursor = np.zeros(7, np.int64)
    cursor[MODE], cursor[RETURNED] = mode, -1
    return Tape(
        cursor=cursor, drawn=np.full((draws, largest), -1), clean=np.zeros((releases, size)),
        released=np.zeros((releases, size)), noise=np.zeros((releases, 2)), marks=marks,
        path=np.empty((len(marks), size)),
    )  # fmt: skip


def history_of(tape: Tape, problem: Problem, *, record: bool) -> History:
    """Read the history that a finished run left on its tape."""
    cursor = tape.cursor
    releases, draws, kept = int(cursor[RELEASES]), int(cursor[DRAWS]), int(cursor[MARKS])
    if not record:
        releases = draws = 0
    return History(
        tape.drawn[:draws], tape.clean[:releases], tape.released[:releases], tape.path[:kept], tape.noise[:releases],
        tape.marks[:kept],
        problem.dim_w, int(cursor[RETURNED]) if cursor[RETURNED] >= 0 else None,
    )  # fmt: skip


def require_sound(tape: Tape, declared: int, name: str) -> None:
    """Require that the base solver arrived, and that a run releases no more than it declares, which would be a bug."""
    require(
        tape.cursor[OUTCOME] != EXHAUSTED, "most", "be large enough for the base solver to reach its accuracy",
        f"{int(tape.cursor[EVALUATIONS])} evaluations without; another base may need fewer",
    )  # fmt: skip
    made = int(tape.cursor[RELEASES])
    if made > declared:
        raise RuntimeError(f"{name} made {made} releases and declares {declared}")


def perform(kernel: Callable[..., Any], parts: tuple[Any, ...], play: Play, outputs: Array) -> None:
    """Run once for each row of ``outputs``; a kernel that is plain Python runs as such, for a copy of it under test."""
    loop = trials if hasattr(kernel, "py_func") else getattr(trials, "py_func", trials)
    loop(kernel, parts, play, outputs)


def watched(work: tuple[Any, ...], tape: Tape, total: int, watch: Callable[[int, int], object]) -> None:
    """Call :func:`perform` on a thread of its own, reading the tape's releases meanwhile."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            perform(*work)
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        while thread.is_alive():
            watch(int(tape.cursor[RELEASES]), total)
            thread.join(0.1)
    except KeyboardInterrupt:
        tape.cursor[MODE] = STOP
        thread.join()
        raise
    watch(int(tape.cursor[RELEASES]), total)
    if failures:
        raise failures[0]
