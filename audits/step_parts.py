"""What a private training step is made of, and what an audit of it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from dpcheck.arrays import Floats, real_numbers
from dpcheck.audits.running.datasets import plain
from dpcheck.errors import InputError, raised, require, require_positive
from dpcheck.shown import Shown


@dataclass(frozen=True)
class TrainingStep:
    """A step of private training in any framework: what draws its minibatches, and what it releases on one.

    Parameters
    ----------
    gradient : callable
        ``(params, batch, rng) -> vector``, the noisy gradient of a minibatch of records; all noise from ``rng``.
    sampler : callable or iterable
        ``(population, rng) -> iterable`` of minibatches, each a sequence of record numbers; or such an iterable. One
        that serves an epoch at a time is asked for the next, a callable called again; of a ``DataLoader`` the
        ``batch_sampler`` is asked.
    clip : float
        Claimed l2 norm of one record's gradient, > 0.
    noise : float
        Claimed standard deviation of the noise in each coordinate of the vector, > 0.
    divisor : float
        Public number by which the sum of clipped gradients is divided, > 0.
    params : object
        Where the gradient is taken.
    correlated : bool
        Whether the noise of a step depends on that of steps before, as with matrix factorisation; no epsilon is then
        certified.
    """

    gradient: Callable[[Any, Any, np.random.Generator], Any]
    sampler: Any
    clip: float
    noise: float
    divisor: float = 1.0
    params: Any = None
    correlated: bool = False

    def __post_init__(self) -> None:
        """Check the fields."""
        require(callable(self.gradient), "gradient", "be callable", type(self.gradient).__name__)
        draws = callable(self.sampler) or isinstance(self.sampler, Iterable)
        require(draws, "sampler", "be callable or iterable", type(self.sampler).__name__)
        for name in ("clip", "noise", "divisor"):
            require_positive(getattr(self, name), name)

    def release(self, batch: Any, rng: np.random.Generator) -> Floats:
        """Return the noisy gradient of a minibatch.

        Parameters
        ----------
        batch : ndarray or list
            Records.
        rng : numpy.random.Generator
            Source of the noise.

        Returns
        -------
        ndarray, (k,)
            The vector.
        """
        vector = self.gradient(self.params, batch, rng)
        require(vector is not None, "gradient", "return numbers", None)
        return real_numbers(vector, "gradient", verb="return").ravel()

    def minibatches(
        self, population: int, rng: np.random.Generator, steps: int, *, again: bool = True
    ) -> list[list[int]]:
        """Return the record numbers of so many minibatches; fewer where an iterator or a list ends.

        A loader or sampler that serves one epoch is asked for the next.

        Parameters
        ----------
        population : int
            Number of records.
        rng : numpy.random.Generator
            Source of the draws.
        steps : int
            How many minibatches.
        again : bool
            Whether a callable is called again where what it returned ends; groups that it dealt are then others.

        Returns
        -------
        list of list of int
            The minibatches.
        """
        try:
            drawn = [np.asarray(batch).ravel() for batch in islice(self._drawn(population, rng, again), steps)]
        except (Exception, SystemExit) as error:
            raise InputError(f"sampler must give minibatches of record numbers, got {raised(error)}") from error
        kinds = [batch.dtype.kind for batch in drawn if batch.size]
        require(all(kind in "iu" for kind in kinds), "sampler", "give minibatches of record numbers", kinds[:1])
        return [batch.astype(int).tolist() for batch in drawn]

    def _drawn(self, population: int, rng: np.random.Generator, again: bool) -> Iterator[Any]:
        if not callable(self.sampler):
            yield from _epochs(self.sampler)
            return
        some = True
        while some:
            some = False
            for batch in _epochs(self.sampler(population, rng)):
                some = again
                yield batch


def _epochs(source: Any) -> Iterator[Any]:
    """Iterate again and again, but not over an iterator, nor over a list, which holds what was drawn once."""
    source = getattr(source, "batch_sampler", None) or source  # a loader itself gives no record numbers
    again = not isinstance(source, Iterator) and not hasattr(source, "__getitem__")
    while True:
        batches = iter(source)
        if (first := next(batches, batches)) is batches:
            return
        yield first
        yield from batches
        if not again:
            return


def taken(records: Any, members: Iterable[int]) -> Any:
    """Return some of the records, as an array where they are an array."""
    places = list(members)
    return records[places] if isinstance(records, np.ndarray) else [records[k] for k in places]


def noise_alone(step: TrainingStep, records: Any, seed: int = 0) -> Floats:
    """Return what a minibatch gets for a seed beside its gradient, (k,): what the empty one gets.

    Where that raises, it is twice the release of a minibatch less that of the same records twice: sums of clipped
    gradients cancel.
    """
    try:
        return step.release(taken(records, []), np.random.default_rng(seed))
    except (Exception, SystemExit):
        once, twice = (step.release(taken(records, [0] * k), np.random.default_rng(seed)) for k in (1, 2))
        return np.asarray(2 * once - twice)


def gathered(records: Any, members: list[Any]) -> Any:
    """Return a minibatch of any records, as an array where the records are one, and of their kind of numbers."""
    if not isinstance(records, np.ndarray):
        return members
    kind = records.dtype if records.dtype.kind == "f" or not members else None
    return np.array(members, kind).reshape(-1, *records.shape[1:])


@dataclass(frozen=True)
class StepFinding:
    """What one part of a training step shows.

    Attributes
    ----------
    part : str
        ``"accounting"``, ``"state"``, ``"sampling"``, ``"divisor"``, ``"empty batch"``, ``"noise"``, ``"clipping"`` or
        ``"release"``.
    verdict : str
        ``"violated"``, ``"inconclusive"`` or ``"consistent"``.
    reason : str
        What was seen.
    change : str
        What to change; where consistent, empty or what does not put the promise at risk.
    place : str
        ``"FILE:LINE"`` of the code that a finding is about which is not consistent, where it is known.
    """

    part: str
    verdict: str
    reason: str
    change: str = ""
    place: str = ""


@dataclass(frozen=True)
class TrainingStepAudit(Shown):
    """What a training step shows against its claims.

    Attributes
    ----------
    verdict : str
        ``"violated"``, ``"inconclusive"`` or ``"consistent"``: the worst of the findings.
    audited : float
        Lower confidence bound on epsilon of ``released`` steps together; nan where they were not run.
    certified : float
        Epsilon of all steps if the step does what it claims, at ``delta``; nan where dpcheck certifies none, as with
        noise that is correlated over steps.
    claimed : float
        Epsilon that the accountant promised.
    delta : float
        At which all three are stated.
    steps, released : int
        Steps of the training, and steps audited together.
    findings : tuple of StepFinding
        What each part shows, and what to change.
    """

    verdict: str
    audited: float
    certified: float
    claimed: float
    delta: float
    steps: int
    released: int
    findings: tuple[StepFinding, ...]

    def _sentence(self) -> str:
        first = ">" if self.audited > self.certified else "<="
        second = ">" if self.certified > self.claimed else "<="
        sandwich = (
            f"audited {self.audited:.3g} ({self.released} steps) {first} certified as stated {self.certified:.4g} "
            f"{second} claimed {self.claimed:.4g} at delta {self.delta:g}"
        )
        places = [f"\n    in {f.place}" if f.place else "" for f in self.findings]
        notes = [
            f"{f.part}: {f.reason}. {f.change}{place}"
            for f, place in zip(self.findings, places, strict=True) if f.change
        ]  # fmt: skip
        if self.verdict == "consistent":
            notes.insert(0, "no part of the step puts the promise at risk")
        return "\n".join([f"{self.verdict}: {sandwich}", *notes])

    def _facts(self) -> dict[str, Any]:
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {name: plain(v) if isinstance(v, float) else v for name, v in asdict(self).items()}
