"""A test of clipping record by record, which the sensitivity of a private gradient step assumes.

Null hypothesis: for every batch B, ``query(B) = sum of g(record) over B / divisor`` with a vector ``g(record)`` of norm
at most ``bound`` that depends on its record alone. One record then moves the query by at most ``2 bound / divisor`` if
it is replaced, and by ``bound / divisor`` if it is added or removed. Three mistakes break it: clipping the batch's mean
instead of its records, dividing by the floor of the norm, and dividing by the number of records that a batch happens to
hold. So does textbook clipping, ``g / max(1, norm(g) / bound)``, where a record may hold NaN or infinity: its vector is
NaN, and no noise hides that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from dpcheck.arguments import checked, has_records
from dpcheck.arrays import Floats, real_numbers
from dpcheck.audits.running.datasets import brief, plain, read
from dpcheck.errors import InputError, raised, require, require_positive, require_seed, require_work
from dpcheck.shown import Shown

# A record is multiplied by these factors: fine steps find a norm that is clipped too late, large factors one that is
# not clipped.
_FACTORS = (*2.0 ** np.arange(-4, 8, 0.25), 1e3, 1e6)
# The records of every other batch are multiplied by this; a bound that depends on the batch shrinks with them.
_SMALL = 1 / 16
_SMALLEST = 1e-300  # of what a record may add: below it, what rounding adds is 0
FEW = 32  # records, at most, in a batch that is not of a size asked for
_POOL = 64  # records that large batches are made of: each is asked for alone, too, and what it gives is kept
_ROUNDING = 1e-4  # what the empty batch may differ from zero by


@dataclass(frozen=True)
class Clipping:
    """One consequence of clipping record by record: how far the query went, and how far it may.

    Attributes
    ----------
    test : str
        ``"norm"`` (of a batch of one), ``"sum"`` (of records against the batch), ``"replacement"``, ``"not finite"`` or
        ``"empty batch"``.
    verdict : str
        ``"violated"``, ``"inconclusive"`` or ``"consistent"``.
    found, allowed : float
        The largest distance found, and the largest allowed.
    reason : str
        Both in words, with the batch.
    """

    test: str
    verdict: str
    found: float
    allowed: float
    reason: str


@dataclass(frozen=True)
class ClippingAudit(Shown):
    """What a query shows against record-by-record clipping.

    Attributes
    ----------
    verdict : str
        ``"violated"``, ``"inconclusive"`` or ``"consistent"``: the worst of the tests.
    bound : float
        Claimed l2 norm of one record's vector.
    divisor : float or str
        The divisor, or ``"size"``.
    tests : tuple of Clipping
        Each consequence that was tested.
    reason : str
        What was violated, in words.
    if_not_finite : Clipping or None
        What a record that holds NaN or infinity does; it is no matter of the verdict where none may. None where records
        are no floating-point numbers.
    """

    verdict: str
    bound: float
    divisor: float | str
    tests: tuple[Clipping, ...]
    reason: str
    if_not_finite: Clipping | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        shown = asdict(self)
        for test in (*shown["tests"], shown["if_not_finite"] or {}):
            test |= {name: plain(value) for name, value in test.items()}
        return shown


@checked
def audit_clipping(
    query: Callable[[Any], Any], records: Sequence[Any], *, bound: float, divisor: float | Literal["size"] = 1.0,
    scale: Callable[[Any, float], Any] | None = None, finite: bool = True, batches: int = 20,
    sizes: Sequence[int] = (), seed: int = 0, rounding: Rounding | None = None,
) -> ClippingAudit:  # fmt: skip
    """Test whether a gradient step clips its records one by one, as its sensitivity assumes.

    The null hypothesis is that ``query(batch)`` is a sum of vectors over ``divisor``, each of which has norm at most
    ``bound`` and depends on its own record alone. Every test is an exact consequence on one or two batches: a violation
    is evidence up to rounding; "consistent" says that no batch tried contradicts it.

    Parameters
    ----------
    query : callable
        ``batch -> number or array``, without noise.
    records : array (n, ...) or list
        At least two records; batches are taken from them, as arrays of NumPy, torch or JAX where they are one.
    bound : float
        Claimed l2 norm of one record's vector, > 0.
    divisor : float or "size"
        A public number > 0, or the size of the batch. The size is the same only for neighbours that replace a record,
        so that no claim is then made for the empty batch.
    scale : callable, optional
        ``(record, factor) -> record``, an outlier in the same direction; by default the product, for records that are
        arrays.
    finite : bool
        False where a record may hold NaN or infinity, which then count for the verdict.
    batches : int
        Batches of 2 to 32 records to try, at least 1.
    sizes : sequence of int
        Batches of so many records to try beside them, such as those of the training; each at least 2. They are made of
        64 records, which are in a large batch more than once.
    seed : int
        Seed of the choice of batches, >= 0.
    rounding : Rounding, optional
        What rounding may do to the query; by default by the type of its outputs: 1e-4 of the bound, and 0.3 % in
        float16.

    Returns
    -------
    ClippingAudit
        The verdict, each test and the reason.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a query that raises or returns no numbers.

    References
    ----------
    M. Abadi et al. Deep learning with differential privacy. CCS 2016, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcheck
    >>> def clipped_mean(batch):
    ...     mean = batch.mean(axis=0)
    ...     return mean / max(1.0, np.linalg.norm(mean))
    >>> records = np.random.default_rng(0).normal(size=(20, 3))
    >>> dpcheck.audit_clipping(clipped_mean, records, bound=1.0, divisor="size").verdict
    'violated'
    """
    given = read(records)
    require(has_records(records) and len(records) >= 2, "records", "hold at least two", type(records).__name__)
    require_positive(bound, "bound")
    if not isinstance(divisor, str) or divisor != "size":
        require_positive(divisor, "divisor")
    require_work(batches, "batches")
    for size in sizes:
        require_work(size, "sizes", least=2)
    require_seed(seed)
    by_size = isinstance(divisor, str)

    def divided(size: int) -> float:
        return float(size if by_size else divisor)

    least = bound / divided(max([len(records), *sizes]))
    require(least >= _SMALLEST, "bound", f"be at least {_SMALLEST:g} after the division", bound)

    batches_of = BatchQuery(lambda batch: query(given.back(batch)), given.values, given.grown(scale))
    rng = np.random.default_rng(seed)
    outliers = [(int(k), f) for k in rng.integers(0, len(records), 3) for f in (*_FACTORS, -1e3)]
    norm = _Worst("norm")
    first = batches_of.alone(outliers[0])
    rounds = rounding if rounding is not None else Rounding(batches_of.unit, width=first.size)
    for outlier in outliers:
        words = f"a batch of record {brief(batches_of.member(outlier))} alone"
        due = bound / divided(1)
        norm.see(float(np.linalg.norm(batches_of.alone(outlier))), due, words, rounds.alone(due))
    few = [int(size) for size in rng.integers(2, min(len(records), FEW) + 1, batches)]
    tests = [norm.result(), *_with_others(batches_of, outliers, bound, divided, [*few, *sizes], rng, rounds)]
    odd_one = _not_finite(batches_of, bound, divided)
    if odd_one is not None and not finite:
        tests.append(odd_one)
    if not by_size:
        tests.append(_empty(batches_of, batches_of.alone(outliers[0])))
    verdicts = [test.verdict for test in tests]
    verdict = next((v for v in ("violated", "inconclusive") if v in verdicts), "consistent")
    reasons = [f"{test.test}: {test.reason}" for test in tests if test.verdict != "consistent"]
    reason = "; ".join(reasons) or "every batch tried is a sum of clipped vectors"
    if finite and odd_one is not None and odd_one.verdict == "violated":
        reason += "; a record that is not finite would not be clipped"
    return ClippingAudit(verdict, bound, divisor, tuple(tests), reason, odd_one)


class _Worst:
    """The batch that breaks an inequality most."""

    def __init__(self, test: str) -> None:
        self.test, self.ratio, self.words, self.found, self.allowed = test, -1.0, "", 0.0, 0.0

    def see(self, found: float, allowed: float, words: str, rounding: float = 0.0) -> None:
        found = found if np.isfinite(found) else np.inf
        if found / (allowed + rounding) > self.ratio:
            self.ratio, self.found, self.allowed, self.words = found / (allowed + rounding), found, allowed, words

    def result(self) -> Clipping:
        broken = self.ratio > 1
        reason = f"{self.found:.6g}, at most {self.allowed:.6g} is allowed, in {self.words}"
        return Clipping(self.test, "violated" if broken else "consistent", self.found, self.allowed, reason)


def _with_others(
    batches_of: BatchQuery, outliers: list[Member], bound: float, divided: Callable[[int], float], sizes: Sequence[int],
    rng: np.random.Generator, rounds: Rounding,
) -> list[Clipping]:  # fmt: skip
    """Test batches with an outlier against the sum of their records, and against the batch with an ordinary one."""
    addition, replacement, by_size = _Worst("sum"), _Worst("replacement"), 0.0
    count = len(batches_of.records)
    pool = rng.choice(count, min(count, _POOL), replace=False)
    for number, size in enumerate(sizes):
        chosen = rng.choice(pool, size, replace=True) if size > len(pool) else rng.choice(count, size, replace=False)
        usual = [(int(k), _SMALL if number % 2 else 1.0) for k in chosen]
        odd = outliers[rng.integers(len(outliers))]
        members = [*usual[1:], odd]
        whole, before = batches_of.on(members), batches_of.on(usual)
        parts = sum(map(batches_of.alone, members), np.zeros_like(whole)) * (divided(1) / divided(size))
        words = f"a batch of {size} with record {brief(batches_of.member(odd))}"
        due = bound / divided(size)
        addition.see(_gap(whole, parts), rounds.total(size, due), words)
        apart = _gap(whole, parts * divided(size) / divided(1) / size)
        by_size = max(by_size, apart / rounds.total(size, bound) * size)
        replacement.see(_gap(whole, before), 2 * due, words, rounds.between(size, due))
    if addition.ratio > 1 and by_size <= 1:
        addition.words += ", which is divided by its own size"
    return [addition.result(), replacement.result()]


def _not_finite(batches_of: BatchQuery, bound: float, divided: Callable[[int], float]) -> Clipping | None:
    """Test records that hold NaN or infinity, if records are numbers or arrays of numbers."""
    records = batches_of.records
    if not isinstance(records[0], (float, np.floating, np.ndarray)) or np.asarray(records[0]).dtype.kind != "f":
        return None
    before = batches_of.on_records([records[0], records[1]])
    worst = _Worst("not finite")
    for value in (np.nan, np.inf, -np.inf):
        record = np.array(records[0], float)
        record.flat[0] = value
        words = f"a batch of two with a record that holds {value}"
        try:
            after = batches_of.tried_on([record, records[1]])
        except _ENDS as error:  # it reveals a record, unless such records were ruled out beforehand
            reason = f"{words} raises {type(error).__name__}, which tells that it was there"
            return Clipping(worst.test, "inconclusive", np.inf, np.inf, reason)
        worst.see(_gap(after, before), 2 * bound / divided(2), words)
    return worst.result()


def _empty(batches_of: BatchQuery, example: Floats) -> Clipping:
    worst, words = _Worst("empty batch"), "the batch without records"
    try:
        value = batches_of.tried_on([])
    except _ENDS as error:
        reason = (
            f"{words} raises {raised(error)}; Poisson sampling draws it now and then, so return zeros for it and add "
            "the noise"
        )
        return Clipping(worst.test, "inconclusive", np.inf, 0.0, reason)
    if value.size == 1 and value[0] == 0:  # Python's sum of nothing; it adds to noise as zeros do
        value = np.zeros_like(example)
    worst.see(_gap(value, np.zeros_like(example)), _ROUNDING, words)
    return worst.result()


def _gap(one: Floats, other: Floats) -> float:
    if one.shape != other.shape or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return np.inf
    return float(np.linalg.norm(one - other))


Member = tuple[int, float]  # the number of a record, and the factor that it is multiplied by

# What a query may end with, apart from an interrupt.
_ENDS = (Exception, SystemExit)


class BatchQuery:
    """A query without noise, and the records (n, ...) that its batches are made of, arrays where those are one."""

    def __init__(
        self, query: Callable[[Any], Any], records: Sequence[Any], scale: Callable[[Any, float], Any] | None
    ) -> None:
        self.query, self.records = query, records
        self.unit = 2.0**-52  # the coarsest relative distance of neighbouring numbers among the outputs' types
        self.scale = scale or (lambda record, factor: real_numbers(record, "records") * factor)
        self.member: Callable[[Member], Any] = cache(self._member)
        self.alone: Callable[[Member], Floats] = cache(lambda member: self.on([member]))

    def _member(self, member: Member) -> Any:
        """Return a record, made larger or smaller."""
        number, factor = member
        try:
            return self.records[number] if factor == 1 else self.scale(self.records[number], factor)
        except InputError:
            raise
        except _ENDS as error:
            raise InputError(f"scale must return a record, got {raised(error)}") from error

    def on(self, members: Sequence[Member]) -> Floats:
        """Return what the query returns on a batch of the records; InputError where it raises."""
        return self.on_records([self.member(member) for member in members])

    def on_records(self, batch: list[Any]) -> Floats:
        """Return what the query returns on any batch; InputError where it raises."""
        try:
            return self.tried_on(batch)
        except InputError:
            raise
        except _ENDS as error:
            raise InputError(f"query must return numbers, got {raised(error)}") from error

    def tried_on(self, batch: list[Any]) -> Floats:
        """Return what the query returns on any batch; what it raises is the caller's."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # outliers overflow, empty batches have no mean
            value = self.query(self._as_given(batch))
            vector = real_numbers(value, "query", verb="return").ravel()
        kind = np.asarray(value).dtype
        self.unit = max(self.unit, float(np.finfo(kind).eps) if kind.kind == "f" else 0.0)
        return vector

    def _as_given(self, batch: list[Any]) -> Any:
        """Return a batch as an array where the records are one."""
        if not isinstance(self.records, np.ndarray):
            return batch
        kind, shape = self.records.dtype, self.records.shape[1:]
        if kind.kind in "iub" and batch:  # tokens stay whole numbers, unless one of them was made larger
            return np.array(batch).reshape(-1, *shape)
        with np.errstate(over="ignore"):
            rows = np.array(batch, kind).reshape(-1, *shape)
        if kind.kind == "f":  # a record made larger than its type can hold
            finite = np.array([np.isfinite(record).all() for record in batch], bool)
            largest = np.finfo(kind).max
            rows[finite] = np.clip(rows[finite], -largest, largest)
        return rows


_LEAST = 1e-4  # relative: enough for single precision, whatever the query does in it
_FAR = 6  # standard deviations of the rounding of noise along a gradient


@dataclass(frozen=True)
class Rounding:
    """What rounding may do to a query of clipped vectors.

    The gradient itself is rounded a few times (norm, quotient, product, division): 3 units of its norm. The noise takes
    three more, whose errors are independent of the gradient from coordinate to coordinate: they lengthen it by the
    square of their norm, and along itself by little. In a sum of k vectors each addition rounds all before it.
    """

    unit: float  # relative distance of neighbouring numbers of the type: 2^-23 for float32, 2^-10 for float16
    beside: float = 0.0  # norm of the noise that was added, rounded with the rest, and taken away
    width: int = 1  # coordinates of the output
    step: float = 0.0  # of the grid of each output and of what is taken away, 0 where there is none

    @property
    def off(self) -> float:
        """How far the grid may move an output less what is taken away."""
        return float(self.step * self.width**0.5)

    def alone(self, bound: float) -> float:
        """Return by how much one vector may be longer than the bound."""
        noise = 0.5 * self.unit * self.beside
        along = min(3 * noise, _FAR * noise / self.width**0.5)
        return float(_LEAST * bound + 3 * self.unit * bound + along + 0.6 * noise**2 / bound + self.off)

    def total(self, size: int, bound: float) -> float:
        """Return how far a sum of so many vectors may be from the vectors' own sum."""
        rounded = self.unit * (3 * bound + 1.5 * self.beside)
        grid = (size + 1) * self.off
        return _LEAST * size * bound + (size + 1) * rounded + self.unit * bound * size * (size + 1) / 4 + grid

    def between(self, size: int, bound: float) -> float:
        """Return by how much two sums that differ in one vector may be further apart than twice the bound."""
        added = self.unit * bound * size * (size + 1) / 4 + 1.5 * self.unit * self.beside
        return 2 * (_LEAST * bound + 3 * self.unit * bound + added + self.off)
