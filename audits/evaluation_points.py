"""A test of the points at which a mechanism queries its data: they may depend on its releases alone.

An accountant composes releases: each query may depend on the releases before it and on nothing else of the data. Null
hypothesis: the mechanism uses its answers only through answer + noise. A step along the raw gradient, a stopping rule
on the raw loss and a raw iterate that is returned break it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.arguments import checked
from dpcheck.arrays import Floats, real_numbers, returned_numbers
from dpcheck.audits.running.recorder import Draw, Recorder
from dpcheck.errors import require, require_positive, require_seed
from dpcheck.shown import Result

Mechanism = Callable[[Callable[..., Any], np.random.Generator], Any]

# Sizes of the moves, in units of noise plus answer: small ones, and some that overturn decisions.
_MOVES = (0.1, 1.0, 10.0)
_ROUNDING = 1e-7


@dataclass(frozen=True)
class PointsAudit(Result):
    """Whether the points of evaluation depend on the releases alone.

    Attributes
    ----------
    verdict : str
        ``"violated"`` or ``"consistent"``.
    queries : int
        Answers given in a run.
    reason : str
        What depended on more than the releases.
    """

    verdict: str
    queries: int
    reason: str


@dataclass(frozen=True, eq=False)
class _Run:
    points: list[Floats]
    answers: list[Floats]
    output: Floats
    draws: list[Draw]
    before: list[int]  # how many draws were made before each answer


@checked
def audit_evaluation_points(
    mechanism: Mechanism, oracle: Callable[..., Any], *, weight: float = 1.0, seed: int = 0
) -> PointsAudit:
    """Test whether the points at which a mechanism queries its data depend on more than what it released.

    A run whose answers are moved, and whose noise is moved back by as much, must query the same points and end in the
    same output. The test is deterministic up to rounding. It assumes that the noise of an answer is the first draw of
    its size after it that belongs to no earlier answer, or else that the noise of the k-th answer is the k-th draw.

    Parameters
    ----------
    mechanism : callable
        ``(oracle, rng) -> number or array``, which asks for data by calling ``oracle(*point)`` and draws from ``rng``,
        a :class:`numpy.random.Generator`.
    oracle : callable
        ``(*point) -> number or array``, such as the clipped gradient at a point, without noise.
    weight : float
        The release is ``weight * answer + noise``; > 0.
    seed : int
        Seed of all randomness, >= 0.

    Returns
    -------
    PointsAudit
        The verdict, and what depended on more than the releases.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a mechanism that raises, has other randomness, calls no oracle or
        draws its noise in another order.

    References
    ----------
    C. Dwork, A. Roth. The algorithmic foundations of differential privacy. 2014, Section 3.5 (adaptive composition).

    Examples
    --------
    >>> import dpcheck
    >>> def descend(oracle, rng):
    ...     x = 1.0
    ...     for _ in range(3):
    ...         gradient = oracle(x)
    ...         released = gradient + rng.normal()
    ...         x -= 0.1 * gradient  # not 0.1 * released
    ...     return x
    >>> dpcheck.audit_evaluation_points(descend, lambda x: 2 * x).verdict
    'violated'
    """
    require(callable(mechanism), "mechanism", "be callable", type(mechanism).__name__)
    require_positive(weight, "weight")
    require_seed(seed)
    plain = _run(mechanism, oracle, Recorder(seed), [])
    again = _run(mechanism, oracle, Recorder(seed), [])
    require(_difference(plain, again) is None, "mechanism", "draw all its randomness from rng and keep no state",
            "two different runs for one seed")  # fmt: skip
    require(len(plain.answers) > 0, "mechanism", "call oracle", "a run without a call")

    noise, queries = [draw for draw in plain.draws if draw.law], len(plain.answers)
    if len(noise) < queries:
        return PointsAudit("violated", queries, f"{queries} answers and {len(noise)} draws of noise: some have none")
    reason: str | None = None
    for number, places in enumerate(_pairings(plain)):  # where one of them explains the run, all is well
        for k, (place, answer) in enumerate(zip(places, plain.answers, strict=True)):
            draw = noise[place]
            sizes = f"draw {place}, {draw.standard.size} numbers, and answer {k}, {answer.size}"
            fits = draw.standard.size == answer.size
            if number and not fits:
                break
            require(fits, "mechanism", "add to each answer one draw of its size", sizes)
            require(draw.method != "multivariate_normal", "mechanism", "draw its noise coordinate by coordinate", sizes)
            if not (draw.scale > 0).all():
                return PointsAudit("violated", queries, f"the noise of answer {k} has scale 0")
        else:
            change = _moved(mechanism, oracle, plain, [noise[place] for place in places], noise, weight, seed)
            if change is None:
                words = "points and output depend on the answers through the releases alone"
                return PointsAudit("consistent", queries, words)
            reason = reason or change
    words = f"{reason} when answers move and their noise moves back: it depends on more than the releases"
    return PointsAudit("violated", queries, words)


def _pairings(run: _Run) -> Iterator[list[int]]:
    """Yield for each answer the number of its noise: the first of its size after it, and then the k-th of all."""
    noise = [(at, draw.standard.size) for at, draw in enumerate(run.draws) if draw.law]
    places: list[int] = []
    for answer, before in zip(run.answers, run.before, strict=True):
        after = [n for n, (at, size) in enumerate(noise) if at >= before and size == answer.size and n not in places]
        places += after[:1]
    if len(places) == len(run.answers):
        yield places
    if places != list(range(len(run.answers))):
        yield list(range(len(run.answers)))


def _moved(
    mechanism: Mechanism, oracle: Callable[..., Any], plain: _Run, drawn: list[Draw], noise: list[Draw], weight: float,
    seed: int,
) -> str | None:  # fmt: skip
    """Move the answers and move ``own``, their noise, back; say what changes, or None."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    for move in _MOVES:
        moves = [
            move * (draw.scale / weight + np.sqrt((answer**2).mean())) * rng.standard_normal(answer.size)
            for draw, answer in zip(drawn, plain.answers, strict=True)
        ]
        shifted = {id(draw): draw.standard - weight * d / draw.scale for draw, d in zip(drawn, moves, strict=True)}
        standard = np.concatenate([shifted.get(id(draw), draw.standard) for draw in noise])
        moved = _run(mechanism, oracle, Recorder(seed, standard=standard), moves, frozen=plain.answers)
        reason = _difference(plain, moved)
        if reason is not None:
            return reason
    return None


def _run(
    mechanism: Mechanism, oracle: Callable[..., Any], rng: Recorder, moves: Sequence[Floats],
    frozen: Sequence[Floats] = (),
) -> _Run:  # fmt: skip
    """Run the mechanism with ``frozen`` answers moved by ``moves``, and with the oracle's own after their end."""
    points: list[Floats] = []
    answers: list[Floats] = []
    before: list[int] = []

    def answered(*point: Any) -> Any:
        k = len(points)
        before.append(len(rng.draws))
        points.append(np.concatenate([np.zeros(0), *(real_numbers(part, "oracle's point").ravel() for part in point)]))
        value = real_numbers(oracle(*point), "oracle", verb="return")
        if k < len(frozen) and frozen[k].size == value.size:
            value = (frozen[k] + moves[k]).reshape(value.shape)
        answers.append(value.ravel())
        return value if value.shape else value[()]

    output = returned_numbers(mechanism, "mechanism", answered, rng).ravel()
    return _Run(points, answers, output, rng.draws, before)


def _difference(one: _Run, other: _Run) -> str | None:
    """Return in words how two runs differ, or None."""
    for k, (p, q) in enumerate(zip(one.points, other.points, strict=False)):
        if not _close(p, q):
            return f"query {k} is asked elsewhere"
    if len(one.points) != len(other.points):
        return f"{len(other.points)} queries are asked instead of {len(one.points)}"
    return None if _close(one.output, other.output) else "the output changes"


def _close(one: Floats, other: Floats) -> bool:
    return one.shape == other.shape and bool((np.abs(one - other) <= _ROUNDING * (1 + np.abs(one))).all())
