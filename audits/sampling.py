"""A test of the sampling scheme that ran, against the scheme that was accounted for.

Null hypothesis: each row of record numbers is an independent minibatch of the stated scheme. Sizes and repeats that the
scheme excludes are deterministic evidence. Sizes, repeats, how evenly records are drawn, and what minibatches have in
common are compared with simulations of the null (Monte Carlo p-values, Bonferroni). A minibatch that occurs twice is
judged by the union bound over all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from dpcheck.arguments import checked
from dpcheck.arrays import Floats, real_numbers
from dpcheck.compiled import njit
from dpcheck.errors import require, require_confidence, require_known, require_seed, require_work
from dpcheck.shown import Result

Index = NDArray[np.int64]
_SCHEMES = ("with_replacement", "without_replacement", "poisson")
# The fewest simulations; there are more if a p-value as small as the level requires them.
_SIMULATIONS = 399
_DRAWS, _FEWEST_COUNTED = 100_000, 200  # of records, and minibatches, in which all records are counted
UNEVEN = "some records are drawn more often than others"


@dataclass(frozen=True)
class SamplingAudit(Result):
    """What minibatches show against the scheme that was claimed.

    Attributes
    ----------
    verdict : str
        ``"violated"`` where the scheme excludes or a test rejects them, else ``"consistent"``.
    scheme : str
        The claimed scheme.
    population, batch, steps : int
        Records, records in a minibatch, and minibatches.
    p_values : dict of str to float
        For each statistic its p-value; they share the level equally.
    reason : str
        What the minibatches show, in words.
    """

    verdict: str
    scheme: str
    population: int
    batch: int
    steps: int
    p_values: dict[str, float]
    reason: str


@checked
def audit_sampling(
    drawn: Index | Sequence[Any], *, scheme: str, population: int, batch: int, confidence: float = 0.95, seed: int = 0
) -> SamplingAudit:
    """Test whether minibatches that were drawn follow the sampling scheme that was accounted for.

    Parameters
    ----------
    drawn : sequence of T sequences of int, or ndarray of int, (T, capacity)
        Record numbers of T >= 10 minibatches, of any lengths; in an array unused places are -1.
    scheme : {"poisson", "without_replacement", "with_replacement"}
        How each minibatch is said to be drawn, independently of the others.
    population : int
        Number of records n.
    batch : int
        Records in a minibatch, under Poisson sampling on average; at most ``population``.
    confidence : float
        One minus the level of all tests together, in (0.5, 1).
    seed : int
        Seed of the simulations, >= 0.

    Returns
    -------
    SamplingAudit
        The verdict, the p-values and the reason.

    Raises
    ------
    InputError
        For arguments outside their domain.

    References
    ----------
    L. Chua et al. How private are DP-SGD implementations? ICML 2024 (shuffled minibatches accounted as Poisson ones).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcheck
    >>> rng = np.random.default_rng(0)
    >>> shuffled = np.concatenate([rng.permutation(100).reshape(20, 5) for _ in range(3)])
    >>> dpcheck.audit_sampling(shuffled, scheme="without_replacement", population=100, batch=5).verdict
    'violated'
    """
    drawn = _rectangular(drawn)
    good = drawn.ndim == 2 and len(drawn) >= 10 and drawn.shape[1] > 0
    require(good, "drawn", "have shape (>= 10, capacity >= 1)", drawn.shape)
    require(drawn.dtype.kind in "iu", "drawn", "hold whole numbers", drawn.dtype)
    require_known(scheme, _SCHEMES, "scheme")
    require_work(population, "population")
    require_work(batch, "batch")
    require(batch <= population, "batch", f"be at most the population, {population}", batch)
    require_confidence(confidence)
    require(bool((drawn < population).all()), "drawn", f"hold numbers below {population}", drawn.max())
    require(bool((drawn >= -1).all()), "drawn", "hold record numbers, and -1 for unused places", drawn.min())
    require_seed(seed)

    drawn = np.ascontiguousarray(drawn, np.int64)
    observed = dict(zip(STATISTICS, describe(drawn, population).tolist(), strict=True))
    steps = len(drawn)
    impossible = []
    if scheme != "poisson" and observed["spread"] > 0:
        impossible.append("minibatch sizes vary")
    if scheme != "poisson" and observed["size"] != batch:
        impossible.append(f"minibatches hold {observed['size']:g} records, not {batch}")
    if scheme != "with_replacement" and observed["distinct"] < steps:
        impossible.append("a minibatch holds a record twice")
    level = (1 - confidence) / (len(observed) + 1)
    null = _null(seed, scheme, population, batch, steps, max(_SIMULATIONS, math.ceil(2 / level)))
    p_values = {name: _two_sided(observed[name], null[name]) for name in observed}
    p_values["again"] = _again(drawn, scheme, population, batch)
    due = {name: float(np.median(values)) for name, values in null.items()}
    unlikely = [
        words for name, words in _words(observed, due, steps, batch).items()
        if p_values[name] <= level and not impossible
    ]  # fmt: skip
    reasons = impossible + unlikely
    return SamplingAudit(
        "violated" if reasons else "consistent", scheme, population, batch, steps, p_values,
        "; ".join(reasons) or f"the minibatches look like {scheme.replace('_', ' ')}",
    )  # fmt: skip


def favoured_record(drawn: Sequence[Any], scheme: str, population: int, batch: int) -> tuple[int, int, float, float]:
    """Return the record whose number of draws is least likely, that number, the one due, and a p-value.

    Each number is binomial under the scheme; the p-value is two-sided, and by the union bound for all records together.

    drawn : record numbers of each minibatch
    """
    hits = np.bincount(np.concatenate([np.asarray(rows, np.int64) for rows in drawn]), minlength=population)
    trials, chance = (
        (len(drawn) * batch, 1 / population) if scheme == "with_replacement" else (len(drawn), batch / population)
    )
    law = stats.binom(trials, chance)
    tails = np.minimum(law.cdf(hits), law.sf(hits - 1))
    record = int(tails.argmin())
    return record, int(hits[record]), trials * chance, min(1.0, 2 * population * float(tails[record]))


def unevenness(drawn: Sequence[Any], scheme: str, population: int, batch: int, *, level: float, seed: int) -> str:
    """Return a clause on a record, or on all, drawn too often or too rarely; "" where none is seen at that level.

    Either test has half the level. That of all records compares the variance of their numbers of draws with simulated
    ones, where the chi-square law, which is near but no bound, makes that worth its time.

    drawn : record numbers of each minibatch
    """
    record, seen, due, p_value = favoured_record(drawn, scheme, population, batch)
    if p_value <= level / 2:
        return f"record {record} is drawn {seen} times in {len(drawn)} minibatches, {due:.4g} are due"
    if scheme == "without_replacement":  # which is simulated draw by draw
        drawn = drawn[: max(_FEWEST_COUNTED, _DRAWS // batch)]
    steps, rate, rng = len(drawn), batch / population, np.random.default_rng([seed, 2])
    hits = np.bincount(np.concatenate([np.asarray(rows, np.int64) for rows in drawn]), minlength=population)
    squared = _square(np.bincount(hits))
    variance = squared / population**2
    chance = {
        "poisson": steps * rate * (1 - rate), "without_replacement": steps * rate * (1 - rate),
        "with_replacement": steps * rate * (1 - 1 / population),
    }[scheme]  # fmt: skip
    if chance == 0 or stats.chi2(max(population - 1, 1)).sf(population * variance / chance) > 10 * level:
        return ""
    simulations, order = math.ceil(4 / level), np.arange(population)
    sizes, out = np.full(steps, batch), np.empty((steps, batch), np.int64)
    law = stats.binom(steps, rate).pmf(np.arange(steps + 1))
    more = 0
    for _ in range(simulations):
        if scheme == "poisson":  # independent numbers: how many records have each is drawn at once
            records = rng.multinomial(population, law / law.sum())
        elif scheme == "with_replacement":
            records = np.bincount(rng.multinomial(steps * batch, np.full(population, 1 / population)))
        else:
            draw(rng, order, sizes, False, out)
            records = np.bincount(np.bincount(out.ravel(), minlength=population))
        more += _square(records) >= squared
        if (1 + more) / (1 + simulations) > level / 2:
            return ""
    spread = math.sqrt(max(variance - chance, 0.0)) / (steps * rate)
    return f"{UNEVEN}: in {steps} minibatches their numbers vary by {spread:.0%} more than by chance"


def _square(records: Index) -> int:
    """Return the variance of how often records are drawn, times their number squared: whole, so that ties are seen.

    records : how many are drawn 0, 1, 2 ... times
    """
    times = np.arange(len(records))
    return int(records.sum()) * int(records @ times**2) - int(records @ times) ** 2


def _rectangular(drawn: Any) -> Index:
    """Return minibatches of any lengths as one array, with -1 in unused places."""
    if isinstance(drawn, Sequence) and drawn and all(hasattr(batch, "__len__") for batch in drawn):
        batches = [real_numbers(batch, "drawn") for batch in drawn]
        flat = all(batch.ndim == 1 for batch in batches)
        require(flat, "drawn", "hold minibatches that are lists of record numbers", [batch.shape for batch in batches])
        whole = all(
            batch.size == 0 or np.asarray(given).dtype.kind in "iu" for batch, given in zip(batches, drawn, strict=True)
        )
        if whole:  # others are refused as an array is
            padded = np.full((len(batches), max(1, *map(len, batches))), -1)
            for row, batch in zip(padded, batches, strict=True):
                row[: len(batch)] = batch
            return padded
    real_numbers(drawn, "drawn")
    return np.asarray(drawn)


def _words(observed: dict[str, float], due: dict[str, float], steps: int, batch: int) -> dict[str, str]:
    """Say what each statistic shows where it is out of place, the most telling first."""
    more = {name: observed[name] > due[name] for name in due}
    shares = f"minibatches share {observed['overlap']:.3g} records with the one before, {due['overlap']:.3g} are due"
    parts = {
        name: f"minibatches differ {'more' if more[name] else 'less'} than by chance in how many records they "
        f"take from {words}"
        for name, words in (("halves", "either half of the data"), ("parity", "even and odd places of the data"))
    }
    return {
        "again": "a whole minibatch comes again",
        "size": f"mean size {observed['size']:.3g} is not {batch}",
        "spread": f"sizes have standard deviation {observed['spread']:.3g}",
        "least": f"the smallest minibatch holds {observed['least']:g} records, {due['least']:g} are due",
        "most": f"the largest minibatch holds {observed['most']:g} records, {due['most']:g} are due",
        "distinct": f"{observed['distinct']:g} of {steps} minibatches hold no record twice",
        "evenness": UNEVEN
        if more["evenness"]
        else "records are drawn more evenly than by chance, as by shuffling once an epoch",
        "overlap": shares,
        "groups": f"minibatches share records more {'un' if more['groups'] else ''}evenly than by chance"
        f"{', as where records come in groups' if more['groups'] else ''}",
    } | parts


@lru_cache(maxsize=16)  # the audits of one loop, and of its variants, ask for the same again and again
def _null(seed: int, scheme: str, population: int, batch: int, steps: int, simulations: int) -> dict[str, Floats]:
    """Return the statistics of so many simulations of the scheme, to be read only."""
    rng = np.random.default_rng(seed)
    statistics = np.empty((simulations, len(STATISTICS)))
    order = np.arange(population)
    for row in statistics:
        sizes = rng.binomial(population, batch / population, steps) if scheme == "poisson" else np.full(steps, batch)
        drawn = np.full((steps, max(1, int(sizes.max()))), -1)
        draw(rng, order, sizes, scheme == "with_replacement", drawn)
        row[:] = describe(drawn, population)
    return dict(zip(STATISTICS, statistics.T, strict=True))


def _again(drawn: Index, scheme: str, population: int, batch: int) -> float:
    """Bound the chance that any two minibatches are the same, if any two are; else 1."""
    steps = len(drawn)
    if len(np.unique(np.sort(drawn, axis=1), axis=0)) == steps:
        return 1.0
    rate = batch / population
    log_chance = {
        "poisson": population * math.log(rate**2 + (1 - rate) ** 2),
        "without_replacement": -(
            special.gammaln(population + 1) - special.gammaln(batch + 1) - special.gammaln(population - batch + 1)
        ),
        "with_replacement": special.gammaln(batch + 1) - batch * math.log(population),  # of the likeliest
    }[scheme]
    return min(1.0, math.exp(min(0.0, math.log(steps * (steps - 1) / 2) + float(log_chance))))


def _two_sided(observed: float, null: Floats) -> float:
    above = (1 + int((null >= observed).sum())) / (1 + null.size)
    below = (1 + int((null <= observed).sum())) / (1 + null.size)
    return min(1.0, 2 * min(above, below))


# The statistics of one run of T minibatches, which :func:`describe` explains.
STATISTICS = ("size", "spread", "distinct", "evenness", "overlap", "groups", "halves", "parity", "least", "most")
# Each minibatch is compared with so many before it, one bit of a word for each.
_LAGS = 16


@njit("void(npy_rng, int64[::1], int64[::1], boolean, int64[:, ::1])", nogil=True)
def draw(rng: np.random.Generator, order: Index, sizes: Index, replace: bool, out: Index) -> None:
    """Draw ``sizes`` (T,) records uniformly into the rows of ``out``; ``order`` of all records is another then."""
    n = order.size
    for t in range(sizes.size):
        for k in range(sizes[t]):
            if replace:
                out[t, k] = int(rng.random() * n)
            else:  # the first steps of a shuffle
                j = k + int(rng.random() * (n - k))
                order[k], order[j] = order[j], order[k]
                out[t, k] = order[k]


@njit("float64[::1](int64[:, ::1], int64)", nogil=True)
def describe(drawn: Index, population: int) -> Floats:
    """Return statistics (10,) of minibatches (T, capacity), whose unused places are negative.

    size, spread : mean and standard deviation of the sizes;  distinct : minibatches without a repeat
    evenness : standard deviation of how often a record is drawn
    overlap : mean number of records shared with the minibatch before
    groups : standard deviation of the number shared with one of the 15 before that; records that always come in groups
        are shared in groups
    halves, parity : standard deviation of the excess of the first half of the records, of even places
    least, most : the smallest size and the largest
    """
    steps = drawn.shape[0]
    sizes, halves, parity = np.zeros(steps), np.zeros(steps), np.zeros(steps)
    hits, last = np.zeros(population), np.full(population, -1)
    before = np.zeros(population, np.uint64)  # bit l - 1 says whether it was in the minibatch l before its last
    shared = np.zeros((steps, _LAGS))
    distinct = 0
    for t in range(steps):
        repeated = False
        for record in drawn[t]:
            if record < 0:
                continue
            sizes[t] += 1
            halves[t] += 1 if record < population // 2 else -1
            parity[t] += 1 if record % 2 == 0 else -1
            hits[record] += 1
            if last[record] == t:
                repeated = True
            else:
                gap = t - last[record]
                mask = np.uint64(0)
                if last[record] >= 0 and gap <= _LAGS:
                    mask = ((before[record] << np.uint64(1)) | np.uint64(1)) << np.uint64(gap - 1)
                before[record], last[record] = mask, t
            for lag in range(_LAGS):
                shared[t, lag] += (before[record] >> np.uint64(lag)) & np.uint64(1)
        distinct += not repeated
    overlap = shared[1:, 0].mean() if steps > 1 else 0.0
    count = total = square = 0.0
    for t in range(steps):
        for lag in range(1, min(t, _LAGS)):
            count += 1
            total += shared[t, lag]
            square += shared[t, lag] ** 2
    groups = math.sqrt(max(square / count - (total / count) ** 2, 0.0))
    return np.array([
        sizes.mean(), sizes.std(), distinct, hits.std(), overlap, groups, halves.std(), parity.std(), sizes.min(),
        sizes.max(),
    ])  # fmt: skip
