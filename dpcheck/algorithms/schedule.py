"""Schedules: numbers that follow from a problem and a budget, each of which can be given instead.

A theorem or a repair is a subclass. Each of its numbers is computed when it is first read, from the others; a number
that is given stands in the place of the computed one, so that what follows from it follows from the given value. A
domain says where a number may lie, with one line of error for a value that cannot be.

At the end is what schedules follow from: the sizes of the problem and the budget, the constants that the problem has,
what a record moves, and the least noise that the accountant certifies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import filterfalse
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, overload

import numpy as np

from dpcheck.algorithms.problem import Problem
from dpcheck.errors import InputError, require, require_count, require_positive
from dpcheck.events import Event, Gaussian, Repeated, Sampled, Scheme


@dataclass(frozen=True)
class Sizes:
    """n records in d = max(d_w, d_v) dimensions at (epsilon, delta), all checked."""

    n: int
    d: int
    epsilon: float
    delta: float

    @property
    def privacy_error(self) -> float:
        """sqrt(d log(1/delta))/(n epsilon), the papers' rate of private optimisation."""
        return float(np.sqrt(self.d * -np.log(self.delta)) / (self.n * self.epsilon))


def smoothness_for_eta(problem: Problem) -> float:
    """Return L > 0 for a default ``eta`` = 1/(L ...); InputError where the problem has no such constant."""
    L = problem.smoothness
    require(math.isfinite(L), "eta", f"be given (its default is 1/(L ...), and {problem.name} has no such L)", None)
    return max(L, 1e-12)


def modulus(problem: Problem) -> float:
    """Return the strong concavity in v of every record, or where that is none of the mean, which the records decide."""
    return problem.concavity if problem.concavity > 0 else problem.empirical_concavity


def private_modulus(problem: Problem) -> tuple[str, ...]:
    """Say that the schedule rests on a number which the records decide, where it does."""
    mu = problem.empirical_concavity
    sentence = f"only the mean over these records is strongly concave in v; its modulus {mu:.4g} is taken as public"
    return (sentence,) if problem.concavity <= 0 < mu else ()


def moves(problem: Problem, clips: tuple[float, float], batch: int) -> tuple[float, float]:
    """Return how far one record's replacement moves a minibatch mean (l2), in w and in v.

    A record's part of the mean of gradients is at most G/m, so that replacing it moves the mean by at most 2G/m; G is
    the clipping norm or the proved Lipschitz constant, the smaller.
    """
    bounds = (min(problem.lipschitz_w, clips[0]), min(problem.lipschitz_v, clips[1]))
    return 2 * bounds[0] / batch, 2 * bounds[1] / batch


def gaussian(sigma: float, sensitivity: float) -> Gaussian:
    """Return the event of this noise on a query of this sensitivity."""
    return Gaussian(sigma / sensitivity if sensitivity > 0 else math.inf)


def noise_share(batch: int, population: int, count: int) -> float:
    """Return max(1, batch sqrt(count)/population): a noise multiplier up to the factor that the accountant finds.

    ``count`` minibatches with this share for multiplier cost a privacy that does not grow with ``count`` (Xu et al.
    2026, Algorithm 3, lines 1 and 2). Kinds of releases that differ in size and number are held in this proportion.
    """
    return max(1.0, batch * math.sqrt(count) / population)


# Called with a value, its name and the schedule; raises InputError.
Domain = Callable[[Any, str, Any], None]


def anything(value: Any, name: str, schedule: Any) -> None:
    """Any value."""


def positive(value: Any, name: str, schedule: Any) -> None:
    """A finite number above zero."""
    require_positive(value, name)


def whole(value: Any, name: str, schedule: Any) -> None:
    """A whole number of at least one."""
    require_count(value, name)


def length(value: Any, name: str, schedule: Any) -> None:
    """A whole number small enough that a computer may have memory for as many."""
    require_count(value, name)
    require_length(value, name)


def records(value: Any, name: str, schedule: Any) -> None:
    """A whole number of at least one, and no more than there are records."""
    require_count(value, name)
    n = schedule.sizes.n
    require(value <= n, name, f"be at most the number of records, {n}", value)


def share(value: Any, name: str, schedule: Any) -> None:
    """A number in (0, 1)."""
    _number(value, name, "lie in (0, 1)")
    require(0 < value < 1, name, "lie in (0, 1)", value)


def norm(value: Any, name: str, schedule: Any) -> None:
    """A number above zero, or infinity for no clipping."""
    if value != math.inf:
        _number(value, name, "be > 0")
        require(0 < value < math.inf, name, "be > 0", value)


def finite_norm(value: Any, name: str, schedule: Any) -> None:
    """A finite number above zero that gradients are clipped to."""
    _number(value, name, "be finite and > 0")
    require(0 < value < math.inf, name, "be finite and > 0", value)


def one_of(*words: str) -> Domain:
    """One of these words."""

    def domain(value: Any, name: str, schedule: Any) -> None:
        require(value in words, name, f"be one of {', '.join(words)}", value)

    return domain


def require_length(value: int, name: str) -> None:
    """Require a whole number small enough that a computer may have memory for as many."""
    require(value < 2**48, name, "be below 2^48", value)


def _number(value: object, name: str, constraint: str) -> None:
    good = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    require(good, name, constraint, repr(value) if isinstance(value, str) else value)


T = TypeVar("T")


class Number(Generic[T]):
    """A number of a schedule that :meth:`Solver.configure` takes an override for.

    own : what the schedule has by itself, from the schedule;  domain : raises InputError for a value that cannot be
    checked : whether the schedule's own value is held against the domain too
    needed : whether None is a value like others, and not a word for the schedule's own
    """

    def __init__(self, own: Callable[[Any], T], domain: Domain, *, checked: bool = True, needed: bool = False) -> None:
        self.own, self.domain, self.checked, self.needed = own, domain, checked, needed
        self.__doc__ = own.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, schedule: None, owner: type) -> Self: ...
    @overload
    def __get__(self, schedule: Schedule, owner: type) -> T: ...
    def __get__(self, schedule: Schedule | None, owner: type) -> Self | T:
        if schedule is None:
            return self
        value = self.own(schedule)
        if self.checked:
            self.domain(value, self.name, schedule)
        schedule.__dict__[self.name] = value  # found there from now on, as a given one is
        return value


def number(domain: Domain = anything, *, checked: bool = True) -> Callable[[Callable[[Any], T]], Number[T]]:
    """Make the decorated method a number with this domain."""
    return lambda own: Number(own, domain, checked=checked)


def fixed(value: T, domain: Domain = anything) -> Number[T]:
    """Make a number that follows from no other."""
    return Number(lambda schedule: value, domain, checked=False, needed=True)


def level(place: int, what: str) -> property:
    """Make the property that reads one of the schedule's ``noise``, and 0 where no noise is added."""
    return property(lambda schedule: schedule.noise[place] if schedule.private else 0.0, doc=what)


class Algorithm(Protocol):
    """What a schedule is told of the algorithm that it is for."""

    name: ClassVar[str]
    understated: ClassVar[str]


class Schedule:
    """The numbers of a theorem or a repair, for one algorithm, problem and budget, and those ``given`` in their place.

    options : names of the numbers that can be given, in the order in which they are defined
    choices : options that say which published schedule is meant, or what does not belong to it
    fields : fields of the solver that are an attribute of another name here
    repaired : whether this is the repaired variant
    private : whether there is noise; False makes a baseline
    """

    options: ClassVar[tuple[str, ...]]
    choices: ClassVar[tuple[str, ...]] = ("theorem", "pl", "private", "base", "most")
    fields: ClassVar[Mapping[str, str]] = {}
    repaired: ClassVar[bool] = False
    private = fixed(True)

    def __init_subclass__(cls) -> None:
        bases = [base for base in reversed(cls.__mro__) if base is not Schedule]
        numbers = (name for base in (*bases, Schedule) for name, own in vars(base).items() if isinstance(own, Number))
        cls.options = tuple(dict.fromkeys(numbers))

    def __init__(self, algorithm: Any, problem: Problem, sizes: Sizes, given: Mapping[str, Any]) -> None:
        self.algorithm, self.problem, self.sizes = algorithm, problem, sizes
        self.given: dict[str, Any] = {}
        for name, value in given.items():
            known = f"be an option of {algorithm.name} ({', '.join(self.options)})"
            require(name in self.options, name, known, value)
            option = getattr(type(self), name)
            if value is not None or option.needed:
                option.domain(value, name, self)
                self.given[name] = self.__dict__[name] = value

    def require(self) -> None:
        """Raise InputError where the numbers, the problem and the budget do not go together."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a run should say about its numbers."""
        return ()

    @property
    def letters(self) -> dict[str, float]:
        """The theorems' letters n, d, epsilon and delta with their values."""
        return vars(self.sizes).copy()

    @cached_property
    def bounds(self: Any) -> tuple[float, float]:
        """What bounds a record's gradients in w and in v: the problem's constants, or the clipping norms."""
        problem = self.problem
        return min(problem.lipschitz_w, self.clip_w), min(problem.lipschitz_v, self.clip_v)

    def certified(self, events: Callable[[float], tuple[Event, ...]]) -> float:
        """Return the least multiplier whose events are certified at the budget."""
        from dpcheck.accounting import calibrate

        return calibrate(events, epsilon=self.sizes.epsilon, delta=self.sizes.delta)

    def certified_pair(self, sampling: Scheme, batch: int, steps: int) -> float:
        """Return the multiplier of each of two Gaussians on the same minibatch, the joint one split evenly."""

        def events(multiplier: float) -> tuple[Event, ...]:
            pair = (Gaussian(multiplier * math.sqrt(2)),) * 2
            return (Repeated(Sampled(pair, sampling, self.sizes.n, batch, "replace_one"), steps),)

        return self.certified(events) * math.sqrt(2)

    def certified_noise(self, bounds: Sequence[float], sampling: Scheme, batch: int, steps: int) -> list[float]:
        """Return the noise on minibatch means of blocks with these per-record bounds."""
        multiplier = self.certified_pair(sampling, batch, steps)
        return [multiplier * 2 * G / batch for G in bounds]

    def published(self, theorem: str, letter: str, **settings: float) -> int:
        """Return a whole number, a letter of the schedule of a theorem, for these records and this budget.

        Whether the theorem's assumptions hold is not asked, as a run notes those that it breaks.
        """
        return prescribed(theorem, letter, **self.letters | settings)

    def departures(self) -> Iterator[str]:
        """Name each given number that is another than the schedule has by itself, words first."""
        given = self.given
        names = sorted(filterfalse(self.choices.__contains__, given), key=lambda name: not isinstance(given[name], str))
        if not names:
            return
        chosen = {name: value for name, value in given.items() if name in self.choices}
        alone = type(self)(self.algorithm, self.problem, self.sizes, chosen)
        try:
            alone.require()
            own = {name: said(getattr(alone, name)) for name in names}
        except (InputError, ArithmeticError):
            yield f"the schedule by itself has no numbers for this problem; given: {', '.join(names)}"
            return
        for name in names:
            if said(given[name]) != own[name]:
                yield f"{name} = {said(given[name])}, where the schedule by itself has {own[name]}"


def prescribed(theorem: str, letter: str, **values: float) -> int:
    """Return a whole number of a theorem's schedule, exact for the decimals of ``values``: 0.1 is one tenth, so that
    none is one too large by rounding.

    Whole numbers alone are read off the theorems. What is measured or published of a run has the bits of the formulas
    that the schedules evaluate in floating point, whose order of operations a symbolic formula does not keep.
    """
    from dpcheck.algorithms.promises import catalogued

    for symbol, formula in catalogued(theorem).schedule_formulas:
        if str(symbol) == letter:
            return _whole(formula, tuple(sorted(values.items())))
    raise LookupError(f"{theorem} has no {letter} in its schedule")


@lru_cache(maxsize=4096)
def _whole(formula: Any, values: tuple[tuple[str, float], ...]) -> int:
    import sympy  # here, so that a process which only runs kernels does without

    known = {name: sympy.Rational(repr(float(value)) if isinstance(value, float) else value) for name, value in values}
    return int(formula.xreplace({symbol: known[str(symbol)] for symbol in formula.free_symbols}))


def said(value: Any) -> str:
    """Print a number in six digits, a schedule that varies by its ends, a word as it is."""
    if isinstance(value, str) or value is None:
        return str(value).lower()
    values = np.atleast_1d(np.asarray(value, dtype=float))
    first, last = f"{values[0]:.6g}", f"{values[-1]:.6g}"
    return first if (values == values[0]).all() else f"{first} to {last}"
