"""What a kernel is handed and what it wrote down, from the side of Python.

An algorithm's named numbers become the vectors that kernels read; a tape is made with the room that its events need,
then read and watched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any, TypeVar

import numpy as np

from dpcheck.algorithms.kernels.jit import Numbers, Play, Tape
from dpcheck.algorithms.kernels.parts import POISSON, WITH_REPLACEMENT, WITHOUT_REPLACEMENT
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
from dpcheck.events import Disjoint, Event, Repeated, Sampled, Scheme


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


SCHEMES: dict[Scheme, int] = {
    "with_replacement": WITH_REPLACEMENT,
    "without_replacement": WITHOUT_REPLACEMENT,
    "poisson": POISSON,
}
AnyNames = TypeVar("AnyNames", bound=tuple[Any, ...])
_LARGEST = np.iinfo(np.int64).max


def fill(names: type[AnyNames], solver: object, **given: float) -> AnyNames:
    """Read the fields of a NamedTuple off a configuration, save those that are given."""
    fields: tuple[str, ...] = names._fields  # type: ignore[attr-defined]
    return names(**{name: given[name] if name in given else getattr(solver, name) for name in fields})


def pack(reals: Sequence[float], counts: Sequence[int], steps: Array | None = None) -> Numbers:
    """Turn an algorithm's named numbers, and a row for each of its steps, into the vectors that kernels read."""
    for name, count in zip(getattr(counts, "_fields", ()), counts, strict=False):
        require(abs(count) <= _LARGEST, name, f"be at most {_LARGEST}", count)
    rows = np.empty((0, 0)) if steps is None else np.ascontiguousarray(steps, dtype=float)
    return Numbers(np.array(reals, dtype=float), np.array(counts, dtype=np.int64), rows)


def rows_of(events: Sequence[Event]) -> tuple[int, int, int]:
    """Count the releases, the minibatches, and the records of the largest minibatch that these events may have."""
    releases = draws = largest = 0
    for event in events:
        if isinstance(event, Repeated):
            inner = rows_of((event.event,))
            releases, draws = releases + event.count * inner[0], draws + event.count * inner[1]
            largest = max(largest, inner[2])
        elif isinstance(event, Disjoint):
            inner = rows_of(event.events)
            releases, draws, largest = releases + inner[0], draws + inner[1], max(largest, inner[2])
        elif isinstance(event, Sampled):
            releases, draws = releases + len(event.mechanisms), draws + 1
            room = event.population if event.scheme == "poisson" else event.batch
            largest = max(largest, int(room))
        else:
            releases += 1
    return releases, draws, largest
