"""A run from the side of Python: what its kernel is handed, the tape that it writes, and what is returned of both.

An algorithm's named numbers become the vectors that kernels read. A tape is made with the room that the events need,
watched while the kernel runs, and read as a :class:`History`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.kernels.jit import Numbers, Objective, Play, Tape, kernel
from dpcheck.algorithms.kernels.parts import Draw
from dpcheck.algorithms.kernels.tape import At, Mode
from dpcheck.algorithms.problem import Array, Problem
from dpcheck.errors import InputError, require, require_count
from dpcheck.events import Disjoint, Event, Repeated, Sampled, Scheme
from dpcheck.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from dpcheck.algorithms.solver import Solver

_LINEAR = 20  # iterations that an axis shows evenly


@dataclass(frozen=True, eq=False)
class History:
    """A recorded run; gradients and iterates are rows (w, v).

    Attributes
    ----------
    drawn : ndarray of int, (draws, capacity)
        Record numbers of each minibatch, padded with -1.
    clean, released : ndarray, (releases, d_w + d_v)
        Private quantities before and after noise, padded with 0.
    path : ndarray, (kept, d_w + d_v)
        The iterates that were kept.
    noise : ndarray, (releases, 2)
        Standard deviation of the noise of each release, and its declared sensitivity.
    iterations : ndarray of int, (kept,)
        When the kept iterates were taken.
    dim_w : int
        Dimension d_w of w.
    returned : int or None
        The iteration whose x DP-RGDA returned, 0 where that is the start; None for every other algorithm.
    """

    drawn: NDArray[np.int64]
    clean: Array
    released: Array
    path: Array
    noise: Array
    iterations: NDArray[np.int64]
    dim_w: int
    returned: int | None = None

    def paired(self) -> History:
        """Join the w-part and the v-part that follow each other into one row (w, v), for algorithms that release both.

        Returns
        -------
        History
            The history with half as many releases, and with ``noise`` (releases, 4).
        """
        size = self.clean.shape[1]

        def join(rows: Array) -> Array:
            return np.hstack([rows[::2, : self.dim_w], rows[1::2, : size - self.dim_w]])

        return History(
            self.drawn, join(self.clean), join(self.released), self.path, self.noise.reshape(-1, 4),
            self.iterations, self.dim_w, self.returned,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Run(Shown):
    """What one run of an algorithm returns.

    Attributes
    ----------
    x, y : ndarray, (d_w,) and (d_v,)
        The released output, w and v of the paper.
    events : tuple of events
        What the run released, as :func:`dpcheck.certify` reads it.
    notes : tuple of str
        Assumptions that the run breaks, overrides, what is reconstructed, and a certificate above the claim.
    history : History
        The kept iterates, and where recorded every minibatch and release.
    solver : Solver
        The configuration.
    problem : Problem
        The objective with its records.
    evaluations : int
        Gradients of one record that a base solver took.
    outcome : str
        ``"finished"``, or for an algorithm that looks for a second-order point ``"certified"`` or ``"uncertified"``.
    """

    x: Array
    y: Array
    events: tuple[Event, ...]
    notes: tuple[str, ...]
    history: History
    solver: Solver
    problem: Problem
    evaluations: int = 0
    outcome: str = "finished"

    def _sentence(self) -> str:
        return f"{self.solver.name} on {self.problem.name}: {self.outcome}"

    def _facts(self) -> dict[str, Any]:
        found: dict[str, Any] = {"x": _brief(self.x), "y": _brief(self.y)}
        if self.evaluations:
            found["gradients of one record"] = self.evaluations
        return found | {f"note {number}": note for number, note in enumerate(self.notes, 1)}

    def to_frame(self, delta: float | None = None) -> pd.DataFrame:
        """Tabulate what the problem's closed forms say of each kept iterate, and of the output in the last row.

        Parameters
        ----------
        delta : float, optional
            In (0, 1): adds the column ``epsilon``, certified for the releases so far.

        Returns
        -------
        pandas.DataFrame
            Column ``iteration``, and where the problem has the closed form ``gap`` (duality gap), ``primal`` (Phi),
            ``gradient_norm`` (of Phi) and ``lambda_min`` (of Phi's Hessian).
        """
        import pandas as pd

        from dpcheck.accounting import certify

        last = self.solver.iterations(self.problem)
        kept = [*zip(self.history.iterations.tolist(), self.history.path, strict=True)]
        rows = []
        for iteration, x in [*kept, (last, np.concatenate([self.x, self.y]))]:
            row: dict[str, Any] = {"iteration": iteration} | measured(self.problem, x)
            if delta is not None:
                row["epsilon"] = certify(self.solver.events(self.problem, iteration), delta=delta).epsilon
            rows.append(row)
        return pd.DataFrame(rows)

    def plot(self, frame: pd.DataFrame | None = None) -> Figure:
        """Draw each column of :meth:`to_frame` over the iterations: a line of iterates, and apart from it the output.

        Parameters
        ----------
        frame : pandas.DataFrame, optional
            A table of :meth:`to_frame`; the one without ``delta`` by default.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from dpcheck import style

        frame = self.to_frame() if frame is None else frame
        names = [name for name in frame.columns if name != "iteration"]
        require(bool(names), "frame", "have a column beside iteration, as to_frame(delta=...) has", list(frame.columns))
        columns = 2 if len(names) == 4 else min(len(names), 3)
        rows = -(-len(names) // columns)
        figure = style.figure(style.COLUMN if columns == 1 else style.PAGE, 2.3 * rows + 0.7)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, name in zip(axes, names, strict=False):
            _history(axis, frame["iteration"].to_numpy(float), frame[name].to_numpy(float))
            axis.set(xlabel="iteration", title=name.replace("_", " "))
            style.small(axis)
        for axis in axes[len(names) :]:
            axis.set_visible(False)
        once = axes[0].get_legend_handles_labels()
        figure.legend(*once, loc="outside lower center", ncols=2, fontsize=style.TEXT - 1, frameon=False)
        figure.suptitle(f"{self.solver.name} on {self.problem.name}", fontsize=style.TEXT + 1)
        return figure


def _history(axis: Any, iterations: Array, values: Array) -> None:
    """A line through the iterates; the output, which the last row holds, has a mark of its own."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, SymmetricalLogLocator

    from dpcheck import style

    if len(values) > 1:
        axis.plot(
            iterations[:-1], values[:-1], "o-", color=style.MEASURED, markersize=3, linewidth=1.2, label="iterates"
        )
    axis.plot(iterations[-1], values[-1], "*", color=style.CLAIMED, markersize=9, label="released output")
    if iterations[-1] > _LINEAR:
        axis.set_xscale("symlog", linthresh=1.0)  # begins at 0, where a logarithm does not
        axis.xaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1.0))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.plain(value)))
    else:
        axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    if (values > 0).all():
        axis.set_yscale("log")
        style.plain_logs(axis.yaxis)


def measured(problem: Problem, x: Array) -> dict[str, float]:
    """Evaluate the closed forms that ``problem`` has, at (w, v)."""
    w, v = x[: problem.dim_w], x[problem.dim_w :]
    measures: dict[str, Callable[[], float]] = {
        "gap": lambda: problem.gap(w, v),
        "primal": lambda: problem.primal(w),
        "gradient_norm": lambda: float(np.linalg.norm(problem.primal_gradient(w))),
        "lambda_min": lambda: float(np.linalg.eigvalsh(problem.primal_hessian(w))[0]),
    }
    found = {}
    for name, measure in measures.items():
        try:
            found[name] = measure()
        except InputError:  # no closed form, or none at this point
            continue
    return found


def _brief(values: Array) -> str:
    """The first numbers of a vector, and how many there are."""
    shown = ", ".join(f"{value:.4g}" for value in values[:6])
    return shown if len(values) <= 6 else f"{shown}, ... ({len(values)} numbers)"


def new_tape(problem: Problem, rows: tuple[int, int, int], *, at: Sequence[int] = (), mode: int = Mode.COUNT) -> Tape:
    """Make an empty tape with room for these releases and minibatches, or for counting alone."""
    for iteration in at:
        require_count(iteration, "at", least=0)
    marks = np.array(sorted(set(at)), dtype=np.int64)
    size = problem.dim_w + problem.dim_v
    releases, draws, largest = rows if mode != Mode.COUNT else (0, 0, 0)
    cursor = np.zeros(7, np.int64)
    cursor[At.MODE], cursor[At.RETURNED] = mode, -1
    return Tape(
        cursor=cursor, drawn=np.full((draws, largest), -1), clean=np.zeros((releases, size)),
        released=np.zeros((releases, size)), noise=np.zeros((releases, 2)), marks=marks,
        path=np.empty((len(marks), size)),
    )  # fmt: skip


def history_of(tape: Tape, problem: Problem, *, record: bool) -> History:
    """Read the history that a finished run left on its tape."""
    cursor = tape.cursor
    releases, draws, kept = int(cursor[At.RELEASES]), int(cursor[At.DRAWS]), int(cursor[At.MARKS])
    if not record:
        releases = draws = 0
    return History(
        tape.drawn[:draws], tape.clean[:releases], tape.released[:releases], tape.path[:kept], tape.noise[:releases],
        tape.marks[:kept],
        problem.dim_w, int(cursor[At.RETURNED]) if cursor[At.RETURNED] >= 0 else None,
    )  # fmt: skip


def perform(
    kernel: Callable[..., Any], parts: tuple[Any, ...], play: Play, outputs: Array,
    watch: Callable[[int], object] | None = None,
) -> None:  # fmt: skip
    """Run once for each row of ``outputs``; a kernel that is plain Python runs as such, for a copy of it under test.

    watch : called with the releases so far while the run goes on, on a thread of its own then
    """
    loop = trials if hasattr(kernel, "py_func") else getattr(trials, "py_func", trials)
    if watch is None:
        loop(kernel, parts, play, outputs)
        return
    cursor, failures = play.tape.cursor, list[BaseException]()

    def run() -> None:
        try:
            loop(kernel, parts, play, outputs)
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        while thread.is_alive():
            watch(int(cursor[At.RELEASES]))
            thread.join(0.1)
    except KeyboardInterrupt:
        cursor[At.MODE] = Mode.STOP
        thread.join()
        raise
    watch(int(cursor[At.RELEASES]))
    if failures:
        raise failures[0]


SCHEMES: dict[Scheme, int] = {
    "with_replacement": Draw.WITH_REPLACEMENT.value,
    "without_replacement": Draw.WITHOUT_REPLACEMENT.value,
    "poisson": Draw.POISSON.value,
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


@kernel("void(run, parts, play, matrix)")
def trials(run, parts, play, outputs):  # type: ignore[no-untyped-def]
    """Run once for each row of ``outputs`` (runs, d_w + d_v)."""
    for trial in range(outputs.shape[0]):
        run(Objective(*parts), play.numbers, play.rng, outputs[trial], play.tape)
