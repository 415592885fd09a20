"""An algorithm of one's own, declared: what it claims, what it releases, and how it runs.

``dpcheck check FILE.py`` checks every :class:`Algorithm` that a file holds; one that an installed package names in its
entry points of the group ``dpcheck.algorithms`` is checked by its name, as dpcheck's own are. Nothing is compiled and
nothing inherited: the algorithm is a function of a state, the data and a :class:`numpy.random.Generator`.

A :class:`RateClaim` says which rate it promises: what is measured, on which grid, against which law.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from dpcheck.accounting.last_iterate import in_domain
from dpcheck.algorithms.strong_convexity import StrongConvexity, lipschitz
from dpcheck.arguments import has_records
from dpcheck.arrays import Floats
from dpcheck.audits.running import numbers
from dpcheck.audits.running.memory import Memory
from dpcheck.errors import InputError, raised, require, require_count, require_delta, require_epsilon, require_work
from dpcheck.events import Disjoint, Event, Laplace, Neighbours, RandomAllocation, Repeated, Sampled, read_events


class Bound(Protocol):
    """A theorem as a rate needs it; :class:`~dpcheck.bounds.theorem.Theorem` is one."""

    @property
    def id(self) -> str:
        """The theorem's name."""

    def bound(self, **values: float) -> float:
        """Return the number that the theorem states.

        Parameters
        ----------
        **values : float
            The theorem's parameters by name.

        Returns
        -------
        float
            The bound.
        """


@dataclass(frozen=True, kw_only=True, eq=False)
class RateClaim:
    """A rate that an algorithm of one's own promises, and how to measure it.

    Parameters
    ----------
    measure : callable
        ``(rng, **setting) -> number``: draws data from ``rng``, runs the algorithm and returns the error, such as the
        gap in a problem whose optimum is known in closed form.
    grid : mapping
        Name of a setting -> its levels, such as ``{"n": (250, 500, 1000, 2000)}``; all combinations are measured.
    claimed : mapping, optional
        Name of a setting -> claimed exponent, such as ``{"n": -0.5}``; an upper bound.
    theorem : Theorem, optional
        In place of ``claimed``: its bound at each setting is the claimed law, and a number not to be exceeded.
    constants : mapping
        What the theorem's bound takes beside the settings, such as ``{"epsilon": 1.0}``.
    seeds : int
        Measurements of each combination.
    """

    measure: Callable[..., float]
    grid: Mapping[str, Sequence[float]]
    claimed: Mapping[str, float] = field(default_factory=dict)
    theorem: Bound | None = None
    constants: Mapping[str, float] = field(default_factory=dict)
    seeds: int = 20

    def __post_init__(self) -> None:
        require(callable(self.measure), "measure", "be a function (rng, **setting) -> number", self.measure)
        good = isinstance(self.grid, Mapping) and bool(self.grid)
        good = good and all(isinstance(levels, Sized) and len(levels) >= 3 for levels in self.grid.values())
        require(good, "grid", "have at least three levels of each setting", self.grid)
        require(isinstance(self.claimed, Mapping), "claimed", "be a mapping", type(self.claimed).__name__)
        require(bool(self.claimed) != (self.theorem is not None), "claimed", "be given, or a theorem", self.claimed)
        require(set(self.claimed) <= set(self.grid), "claimed", "name settings of the grid", dict(self.claimed))
        require_work(self.seeds, "seeds", least=3)


_MEMORIES = WeakKeyDictionary["Algorithm", Memory]()  # apart from the declaration, which may go to other processes


@dataclass(frozen=True, kw_only=True, eq=False)
class Algorithm:
    """A private algorithm of one's own, to be checked by ``dpcheck check FILE.py`` or :func:`dpcheck.check`.

    Parameters
    ----------
    name : str
        Letters, digits, ``_`` and ``-``; no name of dpcheck's own.
    epsilon, delta : float
        What is claimed; epsilon >= 0 (natural log), delta in [0, 1), 0 where it is left out. Neighbours differ in one
        record, or where an event says "add_or_remove_one", as Poisson sampling does unless it says otherwise, in one
        that is added or removed.
    data : array or list of records
        A small data set to check on. It is never changed.
    step : callable
        ``(state, data, rng) -> next state``, noise and sampling inside, all randomness from ``rng``; states are
        numbers, arrays, or tuples, lists and dicts of these, and count as released unless ``last_only`` is set. With
        ``update`` it returns what it releases instead. A state that it changes in place stays changed, and is reported
        where it carries records from step to step without noise.
    start : state
        The first state; every run begins with a copy.
    steps : int
        Steps of a run; at least 1.
    update : callable, optional
        ``(state, released) -> next state``: what follows from a release without looking at the data, such as a step
        and a projection. With it the noise of each release can be read off where the next state is no sum of a query
        and noise.
    run : callable, optional
        ``(data, rng) -> output`` in place of ``step``, for a whole algorithm whose inside is not released.
    events : event or sequence of events, optional
        What is released, in the words of :mod:`dpcheck.events`. Where they stand for one release a step, each step is
        compared with its own.
    neighbour : optional
        ``data`` with one record replaced; without it, pairs are searched.
    replacements : sequence of records, optional
        Records that may take the place of one, the more extreme the better; records of ``data`` by default.
    sampler : callable, optional
        ``(data, rng) -> record numbers of one minibatch`` (or a mask), the one that ``step`` calls, where the step
        draws them by other means than one ``rng.choice(n, ...)`` or ``rng.integers(n, ...)``.
    rate : RateClaim, optional
        A rate that is promised, too.
    contraction : float or StrongConvexity, optional
        As in :func:`dpcheck.certify`, for a certificate of the final output alone, or what it follows from. A check
        looks for steps that expand distances more.
    diameter : float, optional
        Of the domain that a step projects into, over its sensitivity, as in :func:`dpcheck.certify`.
    last_only : bool
        Whether a run of ``step`` releases its last state alone; the certificate then needs ``contraction``.

    Raises
    ------
    InputError
        For fields outside their domain.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcheck
    >>> from dpcheck.events import Gaussian
    >>> def noisy_mean(data, rng):
    ...     return np.clip(data, 0, 1).mean() + rng.normal(scale=4.0 / len(data))
    >>> mean = dpcheck.Algorithm(
    ...     name="noisy_mean", epsilon=1.0, delta=1e-5, data=np.zeros(10), replacements=[0.0, 1.0], run=noisy_mean,
    ...     events=Gaussian(4.0),
    ... )
    >>> report = dpcheck.check(mean)
    >>> report.ok
    True
    >>> next(finding.reason for finding in report.findings if finding.id == "noisy_mean.releases")
    'a record moves no release by more than 0.25 standard deviations of its noise (step 1); 0.25 are declared'
    """

    name: str
    epsilon: float
    delta: float = 0.0
    data: Any
    step: Callable[[Any, Any, np.random.Generator], Any] | None = None
    start: Any = None
    steps: int = 1
    update: Callable[[Any, Any], Any] | None = None
    run: Callable[[Any, np.random.Generator], Any] | None = None
    events: Any = None
    neighbour: Any = None
    replacements: Sequence[Any] | None = None
    sampler: Callable[[Any, np.random.Generator], Any] | None = None
    rate: RateClaim | None = None
    contraction: float | StrongConvexity | None = None
    diameter: float | None = None
    last_only: bool = False
    relation: Neighbours = field(init=False, repr=False)
    place: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", _declared_at())
        good = isinstance(self.name, str) and bool(re.fullmatch(r"\w[\w-]*", self.name))
        require(good, "name", "be made of letters, digits, _ and -", self.name)
        require_epsilon(self.epsilon)
        require_delta(self.delta)
        require(
            (self.step is None) != (self.run is None), self.name, "have a step or a run, one of them", "both or none"
        )
        require(callable(self.code), self.name, "have a step or a run that can be called", self.code)
        require_count(self.steps, f"steps of {self.name}")
        require(self.run is None or self.steps == 1, f"steps of {self.name}", "be left out beside run", self.steps)
        require(self.run is None or self.update is None, f"update of {self.name}", "come with step", "run")
        for what, given in (("data", self.data), ("replacements", self.replacements)):
            good = has_records(given) or (given is None and what != "data")
            require(good, f"{what} of {self.name}", "be an array or a list of records", given)
        require(self.rate is None or isinstance(self.rate, RateClaim), "rate", "be a dpcheck.RateClaim", self.rate)
        if self.contraction is not None or self.diameter is not None:
            in_domain(lipschitz(self.contraction), self.diameter)
            require(self.step is not None, f"contraction of {self.name}", "come with a step", "a run")
        good = isinstance(self.last_only, bool) and (self.step is not None or not self.last_only)
        require(good, f"last_only of {self.name}", "be true or false, and come with a step", self.last_only)
        events = None if self.events is None else read_events(self.events)
        inner = _inner(events or ())
        strange = [event for event in inner if getattr(event, "laplace", isinstance(event, RandomAllocation))]
        unread = "not be Laplace noise on a minibatch or a random allocation, which no check reads"
        require(not strange, f"events of {self.name}", unread, strange)
        listed = self.events if isinstance(self.events, Sequence) else [self.events]
        added = any(isinstance(event, Sampled) and event.neighbours == "add_or_remove_one" for event in inner)
        # events of other libraries are read under add-or-remove-one neighbours
        added |= events is not None and not all(isinstance(event, Event) for event in listed)
        object.__setattr__(self, "relation", "add_or_remove_one" if added else "replace_one")
        object.__setattr__(self, "events", events)

    @property
    def code(self) -> Callable[..., Any]:
        """The function that is checked."""
        found = self.run if self.step is None else self.step
        assert found is not None
        return found

    @property
    def releases(self) -> list[tuple[str, float]]:
        """One (law, noise multiplier) a release, as the events declare them, in order."""
        return _multipliers(self.events or ())

    def released(self, state: Any, data: Any, rng: np.random.Generator) -> Any:
        """Return what one step releases, from ``state``, which it may change.

        Parameters
        ----------
        state : object
            The state before the step.
        data : object
            The records.
        rng : numpy.random.Generator
            The step's randomness.

        Returns
        -------
        object
            What the step, or the whole run, returns.

        Raises
        ------
        InputError
            Where the step raises.
        """
        try:
            if self.step is None:
                return self.code(data, rng)
            return self.code(state, data, rng)
        except (Exception, SystemExit) as error:
            raise InputError(f"{self.name} must run on its data, got {raised(error)}") from error

    def walk(self, data: Any, rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
        """Run the algorithm step by step.

        Parameters
        ----------
        data : object
            The records.
        rng : numpy.random.Generator
            All randomness.

        Yields
        ------
        tuple
            For each step its state, which it may have changed, and what it releases; at the end the last state with
            None. One state goes through all steps, and what the code keeps elsewhere begins anew with the run.
        """
        self.forget()
        state = copy.deepcopy(self.start)
        for _ in range(self.steps):
            released = self.released(state, data, rng)
            yield state, released
            state = self.following(state, released)
        yield state, None

    def following(self, state: Any, released: Any) -> Any:
        """Return the state after a step: what it released, or what ``update`` makes of that.

        Parameters
        ----------
        state : object
            The state before the step, as the step left it.
        released : object
            What the step released.

        Returns
        -------
        object
            The next state.

        Raises
        ------
        InputError
            Where ``update`` raises.
        """
        try:
            return released if self.update is None else self.update(state, released)
        except (Exception, SystemExit) as error:
            raise InputError(
                f"the update of {self.name} must take what a step releases, got {raised(error)}"
            ) from error

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The functions that a run calls."""
        return tuple(function for function in (self.step, self.run, self.update) if function is not None)

    def forget(self) -> None:
        """Let what the code keeps between calls be what it was before the first run, as in a process of its own."""
        memory = _MEMORIES.get(self)
        if memory is None:
            memory = _MEMORIES[self] = Memory(*self.functions)
        memory.restore()

    def transcript(self, data: Any, rng: np.random.Generator) -> Floats:
        """Run the algorithm and return everything that it releases.

        Parameters
        ----------
        data : object
            The records.
        rng : numpy.random.Generator
            All randomness.

        Returns
        -------
        ndarray, (numbers,)
            The releases one after the other.
        """
        return np.concatenate([flat(released) for _, released in self.walk(data, rng) if released is not None])

    def output(self, data: Any, rng: np.random.Generator) -> Floats:
        """Run the algorithm and return its last state.

        Parameters
        ----------
        data : object
            The records.
        rng : numpy.random.Generator
            All randomness.

        Returns
        -------
        ndarray, (numbers,)
            The state.
        """
        *_, (state, _) = self.walk(data, rng)
        return flat(state)


def flat(value: Any) -> Floats:
    """Return all numbers of a state, a copy, (k,) float64."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return np.concatenate([np.zeros(0), *(flat(part) for part in value)])
    return numbers(value).ravel()


def _multipliers(events: Sequence[Event]) -> list[tuple[str, float]]:
    """Return one (law, noise multiplier) a release, in order; mechanisms on one minibatch are one release."""
    found: list[tuple[str, float]] = []
    for event in events:
        match event:
            case Repeated():
                found += _multipliers([event.event]) * event.count
            case Disjoint():
                found += _multipliers(event.events)
            case _:
                found.append(("laplace" if isinstance(event, Laplace) else "gaussian", event.noise_multiplier))
    return found


def _inner(events: Sequence[Event]) -> list[Event]:
    """Return the events without their repetitions."""
    inner = [event.event if isinstance(event, Repeated) else event for event in events]
    return _inner(inner) if any(isinstance(event, Repeated) for event in inner) else inner


def _declared_at() -> str:
    """Return the file and line that made the object, past this module and the generated ``__init__``."""
    frame = sys._getframe(1)
    while frame.f_back is not None and Path(frame.f_code.co_filename).name in (Path(__file__).name, "<string>"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
