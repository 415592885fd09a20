"""A test of the sensitivity of a query, by a search for its worst pair of neighbours (replace one record).

Null hypothesis: no pair of neighbours is farther apart than the claimed sensitivity, in the norm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from dpcheck.arguments import checked, has_records
from dpcheck.arrays import Floats, returned_numbers, widened
from dpcheck.audits.running.datasets import fingerprint, plain, read, require_unchanged
from dpcheck.errors import InputError, is_number, raised, require, require_positive, require_seed, require_work
from dpcheck.shown import Shown


@dataclass(frozen=True, eq=False)
class Witness:
    """A pair of neighbours: a dataset, and the same with one record replaced.

    Attributes
    ----------
    dataset : ndarray (n, ...) or list
        One dataset of the pair.
    index : int
        The place of the record.
    replacement : object
        The record that takes its place.
    base : str
        Which dataset it is, in words.
    """

    dataset: Any
    index: int
    replacement: Any
    base: str  # which dataset that is, in words

    @property
    def neighbour(self) -> Any:
        """The other dataset of the pair."""
        return _replaced(self.dataset, self.index, self.replacement)


@dataclass(frozen=True, eq=False)
class SensitivityAudit(Shown):
    """The largest distance that a search for neighbours found.

    Attributes
    ----------
    verdict : str
        ``"violated"`` where ``sensitivity`` exceeds ``claimed``, else ``"consistent"``.
    sensitivity : float
        The largest distance found.
    claimed : float
        The sensitivity that was claimed.
    norm : float
        1, 2 or inf.
    witness : Witness or None
        The pair that shows it; None where no pair moved the query.
    pairs : int
        How many pairs were tried.
    """

    verdict: str
    sensitivity: float
    claimed: float
    norm: float
    witness: Witness | None
    pairs: int

    def _sentence(self) -> str:
        return f"{self.verdict}: a sensitivity of {self.sensitivity:.6g} was found, {self.claimed:.6g} is claimed"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, ready for JSON."""
        names, witness = ("verdict", "sensitivity", "claimed", "norm", "pairs", "witness"), self.witness
        shown = {name: plain(getattr(self, name)) for name in names} | {"norm": plain(float(self.norm))}
        if witness is not None:
            replacement = plain(np.asarray(witness.replacement).tolist())
            shown["witness"] = {"index": witness.index, "replacement": replacement, "base": witness.base}
        return shown


@checked
def audit_sensitivity(
    query: Callable[[Any], Any], dataset: Any, replacements: Sequence[Any], *, claimed: float,
    norm: float = 2, seed: int = 0, budget: int = 20_000,
) -> SensitivityAudit:  # fmt: skip
    """Search for the pair of neighbours (one record replaced) on which a query without noise moves farthest.

    Every distance is that of two evaluated outputs, so that a violation is exact evidence; finding none proves nothing.

    Parameters
    ----------
    query : callable
        ``dataset -> number or array``, without randomness.
    dataset : array (n, ...) or list
        At least one record. The query gets datasets of the same kind, an array of NumPy, torch or JAX or a list.
    replacements : sequence of records
        Records that may take the place of one; the more extreme, the better.
    claimed : float
        Claimed sensitivity, finite and >= 0.
    norm : {1, 2, inf}
        The norm in which outputs are compared.
    seed : int
        Seed of the search, >= 0.
    budget : int
        Evaluations of the query at most, at least 10.

    Returns
    -------
    SensitivityAudit
        The largest distance found, and the pair that shows it.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a query that raises, is random, changes its dataset or the shape of
        its output, or returns numbers that are not finite on ``dataset``.

    Notes
    -----
    Tried are every (record, replacement) of the dataset where the budget allows, else a random half and then a
    coordinate-wise climb from the best; datasets whose records all equal one replacement, the extreme case of many
    queries; and those on the way from one of these to another, where thresholds, votes and medians turn over. An output
    that is not finite on one of two neighbours is infinitely far.

    References
    ----------
    C. Dwork, A. Roth. The algorithmic foundations of differential privacy. 2014, Definitions 3.1 and 3.8.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcheck
    >>> audit = dpcheck.audit_sensitivity(np.mean, np.zeros(10), [0.0, 1.0], claimed=0.05)
    >>> audit.verdict, round(audit.sensitivity, 6)
    ('violated', 0.1)
    """
    given = read(dataset, "dataset")
    dataset, replacements = given.values, read(replacements, "replacements").values
    for name, records in (("dataset", dataset), ("replacements", replacements)):
        require(has_records(records), name, "hold at least one record", "none")
    require(is_number(norm) and norm in (1, 2, np.inf), "norm", "be 1, 2 or inf", norm)
    require_positive(claimed, "claimed", zero=True)
    require_work(budget, "budget", least=10)
    require_seed(seed)

    def evaluated(data: Any) -> Any:
        return query(given.back(data))

    first, second = (_evaluate(evaluated, dataset) for _ in range(2))
    require(bool(np.isfinite(first).all()), "query", "return finite numbers on the dataset", first)
    require(np.array_equal(first, second), "query", "be deterministic", "two outputs on one dataset that differ")

    rng = np.random.default_rng(seed)
    best, witness, pairs = 0.0, None, 0
    # at most four replacements, spread over all
    extremes = [int(k) for k in np.unique(np.linspace(0, len(replacements) - 1, 4).astype(int))]
    walks = list(combinations(extremes, 2))[: budget // (3 * len(dataset))]
    alike = [(f"every record equal to replacement {k}", _filled(dataset, replacements[k])) for k in extremes]
    bases = [("the dataset", dataset), *alike]
    budget -= len(walks) * len(dataset)
    for name, base in bases:
        centre = _evaluate(evaluated, base)
        distance: dict[tuple[int, int], float] = {}
        share = max(2, budget // len(bases))  # one to begin with, and one to climb from it
        for index, k in _search(len(dataset), len(replacements), share, rng, distance):
            moved = _evaluate(evaluated, _replaced(base, index, replacements[k]), unchanged=False)
            require(moved.shape == centre.shape, "query", "keep its output's shape", moved.shape)
            distance[index, k] = _distance(moved, centre, norm)
            pairs += 1
            if distance[index, k] > best:
                best, witness = distance[index, k], Witness(base, index, replacements[k], name)
    for j, k in walks:
        name = f"replacements {j} and {k} alone"
        for base, index, before, after in _walk(evaluated, dataset, replacements[j], replacements[k]):
            pairs += 1
            moved_by = _distance(after, before, norm)
            if moved_by > best:
                best, witness = moved_by, Witness(base, index, replacements[k], name)
    verdict = "violated" if best > claimed * (1 + 1e-9) else "consistent"
    return SensitivityAudit(verdict, best, claimed, norm, witness, pairs)


def _search(
    n: int, choices: int, budget: int, rng: np.random.Generator, distance: dict[tuple[int, int], float]
) -> Iterator[tuple[int, int]]:
    """Yield pairs to try; the caller writes to ``distance`` what each of them gives."""
    if n * choices <= budget:
        yield from ((i, k) for i in range(n) for k in range(choices))
        return
    for cell in rng.choice(n * choices, size=budget // 2, replace=False):
        yield int(cell) // choices, int(cell) % choices
    left = budget - budget // 2
    while left > 0:
        i, k = max(distance, key=distance.__getitem__)
        cross = [(i, other) for other in range(choices)] + [(other, k) for other in range(n)]
        fresh = [pair for pair in cross if pair not in distance][:left]
        if not fresh:
            return
        yield from fresh
        left -= len(fresh)


def _filled(dataset: Any, record: Any) -> Any:
    copy = _replaced(dataset, 0, record)
    for index in range(1, len(dataset)):
        copy[index] = record
    return copy


def _walk(
    query: Callable[[Any], Any], dataset: Any, first: Any, second: Any
) -> Iterator[tuple[Any, int, Floats, Floats]]:
    """Replace records ``first`` by ``second`` one at a time; thresholds, votes and medians move on the way."""
    base = _filled(dataset, first)
    before = _evaluate(query, base)
    looked_at = {0, len(dataset) // 2, len(dataset) - 1}  # to compare every dataset of the walk takes too long
    for index in range(len(dataset)):
        moved = _replaced(base, index, second)
        after = _evaluate(query, moved, unchanged=index in looked_at)
        require(after.shape == before.shape, "query", "keep its output's shape", after.shape)
        yield base, index, before, after
        base, before = moved, after


def _replaced(dataset: Any, index: int, record: Any) -> Any:
    try:
        copy = widened(dataset, record) if isinstance(dataset, np.ndarray) else list(dataset)
        copy[index] = record
    except (TypeError, ValueError) as error:
        raise InputError(f"replacements must fit into the dataset, got {raised(error)}") from error
    return copy


def _evaluate(query: Callable[[Any], Any], dataset: Any, *, unchanged: bool = True) -> Floats:
    """Return what the query returns on a dataset, and require that it leaves that ``unchanged``."""
    before = fingerprint(dataset) if unchanged else None
    value = returned_numbers(query, "query", dataset)
    require_unchanged(dataset, before, "query")
    return value


def _distance(one: Floats, other: Floats, norm: float) -> float:
    """Return the distance; infinite where a number that is not finite meets another, since no noise hides that."""
    with np.errstate(invalid="ignore"):
        gap = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, one - other).ravel()
    return float(np.linalg.norm(gap, norm)) if np.isfinite(gap).all() else np.inf
