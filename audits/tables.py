"""A test of what a pipeline's tables take over from the private data: columns, categories, bounds, order, and so on.

Null hypothesis: ``(table, rng) -> table`` is (epsilon, delta)-private on the pairs of neighbours that are tried. Both
neighbours are run on the same random streams; a property that differs then follows the data, and the event on it that
tells them apart best is a candidate. Candidates are fixed after these runs, and judged on fresh, independent ones by
the exact test of two binomial counts; the level is split over candidates, and over looks by halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpcheck.arguments import checked
from dpcheck.audits.limits import epsilon_lower, rejects
from dpcheck.audits.named_part import lines_at
from dpcheck.audits.neighbours import Pair
from dpcheck.audits.running.datasets import equal_datasets, fingerprint, require_unchanged
from dpcheck.audits.table_properties import PER_PROPERTY, TOPICS, Candidate, Properties, above, candidates, properties
from dpcheck.errors import (
    InputError,
    raised,
    require,
    require_confidence,
    require_delta,
    require_epsilon,
    require_known,
    require_seed,
    require_work,
)
from dpcheck.shown import Result

_EXPLORED = 16  # runs on either data set with the noise held still
_TESTED, _LOOK = 24, 30  # candidates at most, and fresh runs at least
_COLUMNS = 8  # of which a record that is made up misses one
_SHOWN = 8  # observations in print
_NEW = "a new label"


@dataclass(frozen=True)
class TableObservation:
    """One property of the output that follows the private data.

    Attributes
    ----------
    topic, column : str
        The property, such as ``"values"``, and its place in the output, such as ``"['city']"`` or ``".columns"``.
    verdict : str
        ``"violated"`` where it breaks the claim, ``"inconclusive"`` where the runs cannot decide.
    event : str
        The set of outputs that tells the neighbours apart.
    on_data, on_neighbour, runs : int
        In how many of so many runs on either data set the output lies in it.
    epsilon_lower : float
        Lower confidence bound on epsilon (natural log), of all observations together.
    pair : str
        What the neighbour is.
    reason : str
        All that in a sentence, with what to do.
    """

    topic: str
    column: str
    verdict: str
    event: str
    on_data: int
    on_neighbour: int
    runs: int
    epsilon_lower: float
    pair: str
    reason: str


@dataclass(frozen=True)
class TablesAudit(Result):
    """Which properties of a pipeline's tables follow the private data.

    Attributes
    ----------
    verdict : str
        ``"violated"`` where a property breaks the claim, ``"inconclusive"`` where properties differ and ``runs`` could
        not show any to break it, or where no pair could be run, else ``"consistent"``.
    reason : str
        What was compared, in a sentence.
    observations : list of TableObservation
        The properties behind the verdict.
    epsilon_lower : float
        Lower confidence bound on epsilon (natural log) at ``delta``; 0 where nothing was shown.
    epsilon, delta, confidence : float
        The claim, and the confidence of the verdict.
    properties, pairs, runs : int
        How many properties were compared on how many pairs, and the pipeline's runs in all.
    left_out : list of str
        Records that were made up and that the pipeline refuses: whether they can occur is not known.
    seed : int
        Seed of all randomness.
    """

    verdict: str
    reason: str
    observations: list[TableObservation]
    epsilon_lower: float
    epsilon: float
    delta: float
    confidence: float
    properties: int
    pairs: int
    runs: int
    left_out: list[str]
    seed: int

    def _sentence(self) -> str:
        more = len(self.observations) - _SHOWN
        lines = [f"- {seen.verdict}: {seen.reason}" for seen in self.observations[:_SHOWN]]
        lines += [f"- {more} more observations"] if more > 0 else []
        return "\n".join([f"{self.verdict}: {self.reason}", *lines, *(f"- not judged: {o}" for o in self.left_out)])


@checked
def audit_tables(
    pipeline: Callable[[Any, np.random.Generator], Any], data: Any, neighbour: Any = None, *, epsilon: float,
    delta: float = 0.0, neighbours: str = "add_or_remove_one", runs: int = 2000, confidence: float = 0.95,
    seed: int = 0,
) -> TablesAudit:  # fmt: skip
    """Test whether the form of a pipeline's tables follows the private data by more than it claims.

    Columns and their order, types, categories, bounds, number and order of rows, index, missing cells, and values that
    are copied are compared on two neighbours with the noise held still; what differs is then judged on fresh runs.

    Parameters
    ----------
    pipeline : callable
        ``(dataset, rng) -> output``: a DataFrame, a Series, an array, or mappings and sequences of them. Runs must be
        independent. That it raises is an output, too.
    data : object
        The dataset.
    neighbour : object, optional
        A dataset that differs from it in one record. Where it is left out, ``data`` must be a DataFrame, a Series or an
        array, and some neighbours are tried: records with new labels, with extreme values and with missing cells, and
        one record less.
    epsilon : float
        Claimed epsilon >= 0 (natural log); one of 5 takes at least 546 to 1,067 runs to be refuted.
    delta : float
        Claimed delta in [0, 1).
    neighbours : {"add_or_remove_one", "replace_one"}
        How the neighbours are made that are tried.
    runs : int
        Runs on a dataset at most, after 16 with the noise held still; it stops as soon as the evidence is in.
    confidence : float
        A pipeline that keeps its claim is called violated with probability at most one minus this, in (0.5, 1).
    seed : int
        Seed of all randomness, >= 0.

    Returns
    -------
    TablesAudit
        The verdict, and the properties behind it.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a pipeline that changes its dataset or always raises.

    References
    ----------
    T. Stadler, B. Oprisanu, C. Troncoso. Synthetic data - anonymisation groundhog day. USENIX Security 2022 (generators
    that take ranges and categories from the private records).

    Examples
    --------
    >>> import dpcheck, pandas as pd
    >>> def counts(table, rng):
    ...     true = table["city"].value_counts()
    ...     return true + rng.laplace(scale=2, size=len(true))
    >>> cities = pd.DataFrame({"city": ["Paris"] * 20 + ["Rome"] * 20})
    >>> audit = dpcheck.audit_tables(counts, cities, epsilon=1.0)
    >>> audit.verdict, "'a new label' in output.index" in [seen.event for seen in audit.observations]
    ('violated', True)
    """
    require_epsilon(epsilon)
    require_delta(delta)
    require_known(neighbours, ("add_or_remove_one", "replace_one"), "neighbours")
    require_work(runs, "runs")
    require_confidence(confidence)
    require_seed(seed)
    same = neighbour is not None and equal_datasets(data, neighbour)
    require(not same, "neighbour", "differ from data in one record", "its equal")
    pairs = [*_made(data, neighbours)] if neighbour is None else [Pair(data, neighbour, "on the neighbour")]
    runner = _Runner(pipeline, seed)

    ours = runner.runs(data, 0, 0, _EXPLORED)
    known, tried, left_out = {key for run in ours for key in run}, 0, []
    found: list[tuple[int, Candidate]] = []
    for number, pair in enumerate(pairs):
        theirs = runner.runs(pair.neighbour, 0, 0, _EXPLORED)
        fails = [all(run["", "raises"] for run in side) for side in (ours, theirs)]
        require(not all(fails), "pipeline", "return a table", runner.raised)
        if neighbour is None and fails[1]:
            left_out.append(f"{pair.words} it raises {runner.raised}: if such data can occur, that tells")
            continue
        tried += 1
        known |= {key for run in theirs for key in run}
        found += [(number, each) for each in candidates(ours, theirs, epsilon, delta)]
    chosen: list[tuple[int, Candidate]] = []
    for number, each in sorted(found, key=lambda pair: -pair[1].strength):
        alike = [other.event for _, other in chosen if other.event.key == each.event.key]
        if len(chosen) < _TESTED and len(alike) < PER_PROPERTY and each.event not in alike:
            chosen.append((number, each))
    level = (1 - confidence) / (2 * max(1, len(chosen)))  # of a candidate at the first look
    needed = _fewest(epsilon, delta, level) if chosen else 0
    reason = f"{len(known)} properties of the output were compared on {tried} pair{'s' if tried != 1 else ''}"
    seen: list[TableObservation] = []
    if not tried:
        verdict, reason = "inconclusive", "the pipeline raises on every neighbour that was tried: give one"
    elif needed > runs:
        verdict = "inconclusive"
        reason += f", and those that differ take {needed} runs or more at epsilon = {epsilon:g}: pass runs={2 * needed}"
        seen = [
            _seen(c, pairs[k], [*c.hits][:: -1 if c.side else 1], _EXPLORED, 0.0) for k, c in chosen if c.strength > 0
        ]
    else:
        seen = _broken(runner, data, pairs, chosen, max(needed, min(_LOOK, runs)), runs, (epsilon, delta), level)
        verdict = "violated" if seen else "consistent"
        if seen:
            neighbour = next(pair.neighbour for pair in pairs if pair.words == seen[0].pair)
            hint = lines_at(pipeline, data, neighbour)
            reason += f"; {hint}" if hint else ""
        else:
            reason += ", and none was shown to tell them apart by more than the claim; audit_privacy looks at numbers"
    return TablesAudit(
        verdict, reason, seen, max((each.epsilon_lower for each in seen), default=0.0), epsilon, delta, confidence,
        len(known), tried, runner.count, left_out, seed,
    )  # fmt: skip


class _Runner:
    """Runs of a pipeline, counted; that it raises is an output."""

    def __init__(self, pipeline: Callable[..., Any], seed: int) -> None:
        self.pipeline, self.seed, self.count, self.raised = pipeline, seed, 0, ""

    def runs(self, dataset: Any, stream: int, first: int, last: int) -> list[Properties]:
        """Return the properties of the outputs of some runs of a stream."""
        held, outputs = fingerprint(dataset), []
        for k in range(first, last):
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(stream, k)))
            try:
                output = self.pipeline(dataset, rng)
            except Exception as error:
                self.raised = raised(error)
                outputs.append({("", "raises"): type(error).__name__})
            else:
                try:
                    outputs.append(properties(output))
                except Exception as error:  # of an object's own code, or a list that holds itself
                    raise InputError(f"pipeline must return a table, got {raised(error)[:200]}") from error
        self.count += last - first
        require_unchanged(dataset, held, "pipeline")
        return outputs


def _fewest(epsilon: float, delta: float, alpha: float) -> int:
    """Return how many runs contradict the claim, all of them hits on one side and none on the other."""
    chance = max(1e-9, min((1 - delta) * math.exp(-epsilon), 0.5))
    count = math.ceil(math.log(alpha) / math.log1p(-chance))
    while count < 10**5 and not rejects(count, 0, count, epsilon, delta=delta, alpha=alpha):
        count += 1 + count // 20
    return count


def _broken(
    runner: _Runner, data: Any, pairs: list[Pair], chosen: list[tuple[int, Candidate]], first: int, most: int,
    claim: tuple[float, float], alpha: float,
) -> list[TableObservation]:  # fmt: skip
    """Return which candidates, given with their pairs' numbers, fresh runs show to break the claim, if any.

    first : runs of the first look, with level ``alpha`` for a candidate; a look has half the level of the one before
    """
    done, count, hits = 0, first, np.zeros((len(chosen), 2), np.int64)
    left, seen = list(range(len(chosen))), list[TableObservation]()
    while left and done < most and not seen:
        datasets = {-1: data, **{chosen[k][0]: pairs[chosen[k][0]].neighbour for k in left}}
        outputs = {number: runner.runs(held, 2 + number, done, count) for number, held in datasets.items()}
        likely = []
        for k in left:
            number, candidate = chosen[k]
            hits[k] += [sum(map(candidate.event.occurs, outputs[side])) for side in (-1, number)]
            x, y = hits[k, :: -1 if candidate.side else 1].tolist()
            if rejects(x, y, count, claim[0], delta=claim[1], alpha=alpha):
                bound = max(claim[0], epsilon_lower(x, y, count, delta=claim[1], alpha=alpha))
                seen.append(_seen(candidate, pairs[number], hits[k].tolist(), count, bound))
            elif above(x, y, count, *claim):
                likely.append(k)
        left, alpha, done, count = likely, alpha / 2, count, min(2 * count, most)
    best: dict[tuple[str, str], TableObservation] = {}
    for event in sorted(seen, key=lambda event: -event.epsilon_lower):
        best.setdefault((event.column, event.topic), event)
    return list(best.values())


def _seen(candidate: Candidate, pair: Pair, hits: list[int], runs: int, bound: float) -> TableObservation:
    """Say what runs show of a candidate; without a bound they do not decide."""
    event, shown = candidate.event, f"epsilon >= {bound:.2f}" if bound else "too few to decide"
    reason = f"{event} in {hits[0]} of {runs} runs on data, {hits[1]} of {runs} {pair.words}: {shown}; "
    return TableObservation(
        event.topic, event.place, "violated" if bound else "inconclusive", str(event), hits[0], hits[1], runs, bound,
        pair.words, reason + TOPICS[event.topic][1],
    )  # fmt: skip


def _made(data: Any, neighbours: str) -> Iterator[Pair]:
    """Make neighbours of a table: records with new labels, extreme numbers or a missing cell; one record less."""
    table, back = _as_frame(data)
    require(len(table) > 1, "data", "hold two records or more", len(table))
    columns = range(min(_COLUMNS, table.shape[1]))
    cells = {
        **{f"{table.columns[k]!r} is new or the greatest": {k: _extreme(table, k, 1)} for k in columns},
        "numbers are the least": {k: _extreme(table, k, -1) for k in range(table.shape[1])},
        **{f"{table.columns[k]!r} is missing": {k: table.iloc[:1, k].mask([True])} for k in columns},
    }
    for words, changed in cells.items():
        record = table.iloc[:1].copy()
        for k, cell in changed.items():
            record.isetitem(k, cell)
        rows = [record, table.iloc[1:]]
        if neighbours == "add_or_remove_one":
            label = table.index[-1] + 1 if pd.api.types.is_numeric_dtype(table.index) else _NEW
            rows = [table, record.set_axis([label]).rename_axis(table.index.name)]
        try:
            neighbour = back(pd.concat(rows))
        except (ValueError, TypeError, OverflowError):  # an array that has no missing cells
            continue
        if not equal_datasets(data, neighbour):
            yield Pair(data, neighbour, f"on data with a record whose {words}")
    if neighbours == "add_or_remove_one":
        yield Pair(data, back(table.iloc[:-1]), "on data without the last record")


def _as_frame(data: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return a table of the records, and what makes of such a table what the pipeline takes."""
    if isinstance(data, pd.DataFrame):
        return data, lambda table: table
    if isinstance(data, pd.Series):
        return data.to_frame(), lambda table: table.iloc[:, 0].rename(data.name)
    good = isinstance(data, np.ndarray) and data.ndim in (1, 2)
    require(good, "neighbour", "be given where data is no DataFrame, Series or array", type(data).__name__)
    if data.dtype.names is not None:
        return pd.DataFrame(data), lambda table: np.array([*table.itertuples(index=False, name=None)], data.dtype).view(
            type(data)
        )
    return pd.DataFrame(data), lambda table: table.to_numpy().reshape(-1, *data.shape[1:])


def _extreme(table: Any, k: int, sign: int) -> Any:
    """Return a cell of a column that is far above or below its numbers, or a new label; the first one if none is."""
    first, column = table.iloc[:1, k], table.iloc[:, k].dropna()
    kind, value = getattr(column.dtype, "kind", "O"), None
    if isinstance(column.dtype, pd.CategoricalDtype):
        value = next(iter(column.cat.categories.difference(column.unique())), None)
    elif kind in "iufmM" and len(column):
        low, high = (int(v) if kind in "iu" else v for v in (column.min(), column.max()))
        far = 10 * (high - low) + (pd.Timedelta(days=365) if kind in "mM" else 1)
        value = high + far if sign > 0 else low - far
        if kind in "iu":
            info = np.iinfo(getattr(column.dtype, "numpy_dtype", column.dtype))
            value = max(int(info.min), min(value, int(info.max)))
    elif kind != "b" and sign > 0:
        value = _NEW
    return first if value is None else pd.Series([value], first.index, column.dtype)
