"""A recorded run, read in order by an algorithm in plain NumPy that says at each step what it expects.

The algorithm's file follows the paper's pseudo-code: it asks for a minibatch, offers the private quantity that it
computed from the records drawn, is given what the run released in its place, and offers the next iterate, for which it
is given the recorded one. So every step is compared by itself, from the recorded state before it; the first that
differs is named, and no error grows on the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.problem import Array
from dpcheck.algorithms.run import Run
from reference.derivatives import Gradient, clip, gradient_of, project

Index = NDArray[np.int64]
BLOCKS = "wv"
# What is compared, in the order of the findings.
PARTS = ("minibatches", "gradients", "solutions", "scales", "iterates", "feasible", "output", "ending")
TOLERANCE = 1e-8  # relative to the larger of 1 and the quantity; kernels may sum in any order


class EndedError(Exception):
    """The run holds no more of what the pseudo-code does next."""


@dataclass
class Differences:
    """first : a sentence, of the first difference of each part;  largest, compared : of each part, in any case."""

    first: dict[str, str] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    compared: Counter[str] = field(default_factory=Counter)

    def keep(self, part: str, by: float, sentence: str) -> None:
        """Keep the size of a difference, and the sentence where it is none by rounding alone."""
        self.compared[part] += 1
        self.largest[part] = max(self.largest.get(part, 0.0), float(by))
        if by > 0 and sentence:
            self.first.setdefault(part, sentence)

    def note(self, part: str, by: float, sentence: str, *, allowed: float = TOLERANCE) -> None:
        """Keep a difference whose sentence counts where it is more than ``allowed``."""
        self.keep(part, by, sentence if by > allowed else "")

    def stop(self, part: str, sentence: str) -> NoReturn:
        """Keep a difference after which nothing can be compared."""
        self.keep(part, 1.0, sentence)
        raise EndedError


class Asked:
    """A solver with the numbers that were asked for in place of its own, which may be others by mistake."""

    def __init__(self, solver: Any, asked: Mapping[str, Any]) -> None:
        self._solver = solver
        for name, value in asked.items():
            own = getattr(solver, name, None)
            if value is not None and own is not None:
                self.__dict__[name] = np.broadcast_to(value, own.shape) if isinstance(own, np.ndarray) else value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._solver, name)


class Replay:
    """One recorded run and what was found in it.

    differences : between the run and the pseudo-code, part by part
    minibatches : the recorded minibatches of each role;  clipped : how many vectors met their threshold, or did not
    chosen : the number of the point that the run returned, among those it may
    chances : what moved it at random, in units of its scale;  cut_short : how many of them end at a domain's edge
    interior : of solutions, how many lie in the interior of the domains, and how many do not
    """

    def __init__(self, run: Run, gradient: Gradient | None = None, asked: Mapping[str, Any] | None = None) -> None:
        self.run, self.solver, self.problem, self.history = run, run.solver, run.problem, run.history
        self.s: Any = Asked(run.solver, asked or {})
        self.d, self.n = run.problem.dim_w, len(run.problem.records)
        self.start: Array = np.array(run.problem.start, dtype=float)
        self.gradient = gradient_of(run.problem) if gradient is None else gradient
        self.differences = Differences()
        self.clipped: Counter[bool] = Counter()
        self.moved_by_projection = 0
        self.minibatches: dict[str, list[Index]] = {}
        self.chances: list[Array] = []
        self.cut_short = 0
        self.perturbed_at: list[int] = []
        self.interior: Counter[bool] = Counter()
        self.chosen: int | None = None
        self.step, self._drawn, self._released, self._kept = 0, 0, 0, 0

    # What the pseudo-code asks for

    def minibatch(
        self, size: int, scheme: str = "without_replacement", *, role: str = "", among: Iterable[int] | None = None
    ) -> Index:
        """Return the records of the run's next minibatch.

        size : m, the expected one under Poisson sampling;  among : the records that are left, all by default
        """
        if self._drawn == len(self.history.drawn):
            self.differences.stop(
                "minibatches", f"step {self.step + 1} draws no minibatch where the pseudo-code draws {size} records"
            )
        batch = self.history.drawn[self._drawn]
        batch = batch[batch >= 0]
        self._drawn += 1
        self.minibatches.setdefault(role, []).append(batch)
        where = f"minibatch {self._drawn}, drawn at step {self.step + 1},"
        if scheme != "poisson":
            self.differences.keep(
                "minibatches", abs(len(batch) - size), f"{where} holds {len(batch)} records, not {size}"
            )
        if scheme != "with_replacement":
            again = len(batch) - len(set(batch.tolist()))
            self.differences.keep("minibatches", again, f"{where} holds {again} records twice")
        outside = set(batch.tolist()) - set(range(self.n) if among is None else among)
        self.differences.keep(
            "minibatches", len(outside), f"{where} holds {len(outside)} records that were used before"
        )
        return np.asarray(batch)

    def each(self, batch: Iterable[int], x: Array, block: str) -> list[Array]:
        """Return the records' gradients at x = (w, v) in one block."""
        k = BLOCKS.index(block)
        return [self.gradient(self.problem.records[i], x[: self.d], x[self.d :])[k] for i in batch]

    def clip(self, g: Array, bound: float) -> Array:
        """Return ``g`` clipped, and count whether it was."""
        self.clipped[bool(np.linalg.norm(g) > bound)] += 1
        return clip(g, bound)

    def mean(
        self, batch: Sequence[int] | Index, x: Array, block: str, bound: float, size: float, *, together: bool = False
    ) -> Array:
        """Return the mean of clipped gradients over ``size``; together : the clipped mean in its place."""
        return self._sum(self.each(batch, x, block), x, block, bound, size, together)

    def mean_difference(
        self, new: tuple[Index, Array], old: tuple[Index, Array], block: str, bound: float, size: float,
        *, together: bool = False,
    ) -> Array:  # fmt: skip
        """Return the mean over ``size`` of clipped differences of gradients, pair by pair.

        new, old : a minibatch, and the point at which its gradients are taken
        """
        (batch, x), (old_batch, before) = new, old
        pairs = zip(self.each(batch, x, block), self.each(old_batch, before, block), strict=True)
        return self._sum([mine - theirs for mine, theirs in pairs], x, block, bound, size, together)

    def _sum(self, parts: list[Array], x: Array, block: str, bound: float, size: float, together: bool) -> Array:
        zero = np.zeros(self.d if block == "w" else len(x) - self.d)
        if together:
            return self.clip(sum(parts, zero) / size, bound)
        return sum((self.clip(g, bound) for g in parts), zero) / size

    def release(self, value: Array, sigma: float, sensitivity: float, words: str) -> Array:
        """Compare a private quantity with the run's, and return what the run released in its place.

        sigma, sensitivity : of its noise, as the pseudo-code has them;  words : what it is, "gradient in w"
        """
        if self._released == len(self.history.clean):
            self.differences.stop("gradients", f"step {self.step + 1} releases no {words}")
        row = self._released
        self._released += 1
        theirs = self.history.clean[row, : value.size]
        by = float(np.linalg.norm(theirs - value))
        told = f"the {words} at step {self.step + 1} differs from its value over the records drawn by {by:.3g}"
        self.differences.note("gradients", by, told, allowed=TOLERANCE * max(1.0, float(np.linalg.norm(value))))
        self._compare_scale(sigma, float(self.history.noise[row, 0]), "standard deviation of the noise", words)
        self._compare_scale(sensitivity, float(self.history.noise[row, 1]), "sensitivity", words)
        return np.array(self.history.released[row, : value.size])

    def _compare_scale(self, ours: float, theirs: float, what: str, words: str) -> None:
        apart = abs(theirs - ours)
        told = f"the {what} of the {words} at step {self.step + 1} is stated as {theirs:.6g}, not {ours:.6g}"
        self.differences.note("scales", apart, told, allowed=TOLERANCE * max(abs(ours), 1e-12))

    def solved(self, size: int, sigma: float, part: str) -> tuple[Array, Array]:
        """Return the run's next solution of a phase, of so many numbers, and what it released of it."""
        if self._released == len(self.history.clean):
            self.differences.stop("solutions", f"phase {self.step + 1} releases no {part}")
        row = self._released
        self._released += 1
        self._compare_scale(sigma, float(self.history.noise[row, 0]), "standard deviation of the noise", part)
        return np.array(self.history.clean[row, :size]), np.array(self.history.released[row, :size])

    def selected(self, scale: float, seen: Sequence[Array]) -> tuple[int, float]:
        """Return the number that a private choice among ``seen`` released (-1 for none), and the recorded score."""
        if self._released == len(self.history.clean):
            self.differences.stop("gradients", "the run releases no selection")
        row = self._released
        self._released += 1
        sigma, sensitivity = self.history.noise[row]
        told = (
            f"the selection is stated with scale {sigma:.6g} and sensitivity {sensitivity:.6g}, not {scale:.6g} and 1"
        )
        self.differences.note("scales", abs(sigma - scale) + abs(sensitivity - 1), told)
        chosen = int(self.history.released[row, 0])
        known = -1 <= chosen < len(seen)
        self.differences.note("output", float(not known), f"the run selects iterate {chosen + 1} of {len(seen)}")
        return chosen if known else -1, float(self.history.clean[row, 0])

    def perturbed(self, x: Array, r: float, *, returned: bool) -> Array:
        """Return the point to which the run moved the w-part ``x`` at random, which is within ``r`` of it.

        returned : whether the run returns that point where it is the last
        """
        self.perturbed_at.append(self.step)
        found = self._next(returned)
        if found is None:
            return x
        far = float(np.linalg.norm(found - x))
        told = f"the perturbation at step {self.step + 1} is {far:.6g} long, where the ball has radius {r:.6g}"
        self.differences.note("iterates", max(far - r * (1 + 1e-9), 0.0), told, allowed=0.0)
        self.differences.note("iterates", float(far == 0), f"there is no perturbation at step {self.step + 1}")
        self._chance((found - x) / r, found)
        return found

    def shaken(self, w: Array, v: Array, eta: float, r: float, *, returned: bool) -> Array:
        """Return the standard normal noise that the run added to ``v`` before its step, times ``r`` over ``r``."""
        found = self._next(returned)
        if found is None:
            return np.zeros_like(w)
        noise: Array = ((w - found) / eta - v) / r
        self._chance(noise, found)
        return noise

    def _next(self, returned: bool) -> Array | None:
        """Return the w-part of the next iterate, which is the output after the last one if it is ``returned``."""
        if self._kept < len(self.history.path):
            return np.array(self.history.path[self._kept, : self.d])
        return np.array(self.run.x) if returned else None

    def _chance(self, move: Array, w: Array) -> None:
        """Keep what moved an iterate to ``w``, and count where a projection may have changed it."""
        self.chances.append(move)
        more = w * (1 + 1e-9)
        self.cut_short += not np.array_equal(project(more, self.problem.domain_w), more)

    def nearest(self, x: Array) -> Array:
        """Return the nearest point to x = (w, v) of the domains."""
        return np.concatenate(
            [project(x[: self.d], self.problem.domain_w), project(x[self.d :], self.problem.domain_v)]
        )

    def project(self, part: Array, block: str) -> Array:
        """Return one block projected onto its domain, and count whether that binds."""
        inside = project(part, self.problem.domain_w if block == "w" else self.problem.domain_v)
        self.moved_by_projection += not np.array_equal(inside, part)
        return inside

    def onto(self, x: Array) -> Array:
        """Return the iterate that is offered next, moved into the domains, and count whether they bind."""
        inside = self.nearest(x)
        self.moved_by_projection += not np.array_equal(inside, x)
        return inside

    def iterate(self, x: Array, words: str = "iterate") -> Array:
        """Compare the next iterate with the run's, look whether that is feasible, and return it."""
        row = self._kept
        if row == len(self.history.path):
            self.differences.stop("iterates", f"the run keeps no {words} of step {self.step + 1}")
        self._kept += 1
        theirs = np.array(self.history.path[row])
        by = float(np.linalg.norm(theirs - x))
        block = "w" if np.linalg.norm((theirs - x)[: self.d]) > TOLERANCE else "v"
        told = f"the {words} after step {row} differs from its update by {by:.3g} in {block}"
        self.differences.note("iterates", by, told, allowed=TOLERANCE * max(1.0, float(np.linalg.norm(x))))
        for part, domain, block in ((theirs[: self.d], self.problem.domain_w, "w"),
                                    (theirs[self.d :], self.problem.domain_v, "v")):  # fmt: skip
            out = float(np.linalg.norm(part - project(part, domain)))
            told = f"the {words} after step {row} lies {out:.3g} outside the domain of {block}"
            self.differences.note("feasible", out, told, allowed=TOLERANCE * max(1.0, float(np.linalg.norm(part))))
        return theirs

    # The end

    def end(self, candidates: Sequence[Array], words: str, ending: str = "finished") -> None:
        """Compare the output with the points that the run may return, and see that nothing is left over."""
        out = np.concatenate([self.run.x, self.run.y])
        apart = [float(np.linalg.norm(out - point)) for point in candidates]
        self.chosen = int(np.argmin(apart))
        by = apart[self.chosen]
        told = f"the output differs from {words} by {by:.3g}"
        self.differences.note("output", by, told, allowed=TOLERANCE * max(1.0, float(np.linalg.norm(out))))
        told = f"the run ends as {self.run.outcome}, where it is {ending}"
        self.differences.note("ending", float(self.run.outcome != ending), told)
        for part, done, made, name in (
            ("minibatches", self._drawn, len(self.history.drawn), "minibatches"),
            ("gradients", self._released, len(self.history.clean), "releases"),
            ("iterates", self._kept, len(self.history.path), "iterates"),
        ):
            self.differences.keep(part, made - done, f"the run makes {made} {name} and the pseudo-code {done}")


def replayed(
    run: Run, algorithm: Any, gradient: Gradient | None = None, asked: Mapping[str, Any] | None = None, **options: Any
) -> Replay:
    """Return the replay of a recorded run by ``algorithm``, a function of the replay, with the numbers asked for."""
    replay = Replay(run, gradient, asked)
    with suppress(EndedError):
        algorithm(replay, **options)
    return replay
