"""A sequential audit: it runs until the evidence against a claim is sufficient, and can be continued later.

Let P and Q be the laws of the outputs on the two datasets. Null hypothesis: ``P(E) <= e^epsilon Q(E) + delta`` for
every output set E, in both directions. Each round bets on one fresh output of each dataset, with bets made from earlier
rounds alone (:mod:`.betting.predictor`, :mod:`.betting`). If the mechanism keeps its claim, the probability that
the wealth ever reaches ``1 / (1 - confidence)`` is at most ``1 - confidence``, however often one looks, stops or
continues.

The lower limit on epsilon comes from the wealth against each value of a fixed grid, at the same level
(:mod:`.betting`).

An audit is sealed when it is saved, and taken back only if it is what was saved. The checksum finds what was changed by
accident or by hand. It is no signature: who writes a checksum anew can write any audit anew, so that a saved audit is
as trustworthy as those who kept it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import __version__
from dpcheck.arguments import checked
from dpcheck.audits.betting import FIRST, Standing, State, Wealth, digest, kept_runs
from dpcheck.audits.output_sets import OutputSet
from dpcheck.audits.running import Chunk, KeptRuns, Runner, require_runs
from dpcheck.audits.running.encoder import Naming
from dpcheck.audits.running.pool import Pool
from dpcheck.errors import (
    InputError,
    is_finite,
    raised,
    require,
    require_confidence,
    require_count,
    require_delta,
    require_epsilon,
    require_work,
)
from dpcheck.shown import Shown

if TYPE_CHECKING:
    import pandas as pd

    from dpcheck.audits.running.isolated import IsolatedRunner, Limits
    from dpcheck.running.executor import Executor


@dataclass(frozen=True)
class SequentialAudit(Shown):
    """What a sequential audit claimed, ran and showed; enough to go on from.

    Attributes
    ----------
    verdict : str
        ``"violated"`` if the claim was given up; ``"inconclusive"`` if these trials could not have shown a violation
        even with outputs that never overlap; else ``"consistent"``, which says that none was found, not that there is
        none.
    epsilon_lower : float
        The largest epsilon (natural log) of a grid that was given up at ``delta``, 0 if none was; a one-sided lower
        confidence bound, whenever one looks.
    trials : int
        Runs on each dataset up to the decision.
    log_wealth : float
        Natural logarithm of the wealth against the claim at the end. Its exponential is an e-value: those of
        independent audits of one claim may be multiplied.
    event : OutputSet
        The output set that shows most, chosen on one half of the runs, with its counts in the other. It illustrates;
        the wealth is the evidence.
    epsilon, delta : float
        The claim.
    confidence : float
        One-sided confidence of ``epsilon_lower``.
    seed : int or None
        Seed of all randomness; None where the mechanism has its own.
    version : str
        Version of dpcheck that made the audit.
    looks : tuple of Standing
        Trials, wealth and limit after each chunk of runs.
    state : State
        What an audit needs to go on.
    no_difference : bool
        Whether the first runs, from one seed, gave the same outputs on both datasets, as where both clip to one value:
        such a pair shows nothing. Not looked at where the mechanism is isolated or ``seeded`` is False.
    """

    verdict: str
    epsilon_lower: float
    trials: int
    log_wealth: float
    event: OutputSet
    epsilon: float
    delta: float
    confidence: float
    seed: int | None
    version: str
    looks: tuple[Standing, ...] = field(repr=False)
    state: State = field(repr=False, compare=False)
    no_difference: bool = False

    def _sentence(self) -> str:
        alike = "; this pair shows no difference" if self.no_difference else ""
        return (
            f"{self.verdict}: epsilon >= {self.epsilon_lower:.4f} at delta {self.delta:g} with confidence "
            f"{self.confidence:g}, claimed {self.epsilon:g}; {self.trials} runs a dataset{alike}\nwitness: {self.event}"
        )

    __str__ = _sentence  # two lines: the verdict with its bound, and the witness

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; ``earlier`` of :func:`audit_sequential` takes it back."""
        return sealed(
            vars(self)
            | {
                "event": self.event.to_dict(),
                "looks": [asdict(look) for look in self.looks],
                "state": self.state.to_dict(),
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each look: trials, log_wealth, epsilon_lower."""
        import pandas as pd

        return pd.DataFrame(asdict(look) for look in self.looks)


@checked
def audit_sequential(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    most: int = 1_000_000,
    confidence: float = 0.95,
    seed: int = 0,
    seeded: bool = True,
    jobs: int | None = None,
    vectorized: bool = False,
    earlier: SequentialAudit | Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    isolate: Limits | None = None,
    runs: KeptRuns | None = None,
    executor: Executor | None = None,
) -> SequentialAudit:
    """Test whether a mechanism is (epsilon, delta)-private, one run after the other, until the claim is refuted.

    The audit may be looked at, stopped and continued at any time: the probability that a mechanism that keeps its claim
    is ever called violated is at most ``1 - confidence``.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> output``, with all its randomness from ``rng``, a
        :class:`numpy.random.Generator`. With ``vectorized``, ``(dataset, rng, size) -> array`` of shape (size,) or
        (size, ...), ``size`` independent outputs. Infinities and NaN are values like any other; without ``vectorized``
        an output may be of any kind, as in :func:`dpcheck.audit_privacy`.
    data, neighbour : object
        Two datasets that differ in one record, in any form that the mechanism takes; never copied or changed.
    epsilon : float
        Claimed epsilon >= 0 (natural log).
    delta : float
        Claimed delta in [0, 1).
    most : int
        Runs on each dataset at most, those of ``earlier`` included; more than 10.
    confidence : float
        One-sided confidence of ``epsilon_lower``, in (0.5, 1).
    seed : int
        Seed of all randomness, >= 0.
    seeded : bool
        False for a mechanism with randomness of its own: its runs must be independent of each other, ``jobs`` must be
        1, and the audit cannot go on later.
    jobs : int, optional
        Processes, or threads where ``vectorized``; 1 by default. The result does not depend on it.
    vectorized : bool
        Whether one call of the mechanism returns ``size`` outputs.
    earlier : SequentialAudit or mapping, optional
        An audit of the same claim, mechanism, datasets and seed, or its ``to_dict()``, to continue. The error of both
        together is that of one.
    progress : callable, optional
        Called as ``progress(runs done, runs at most)``, counted over both datasets.
    isolate : Limits, optional
        Run the mechanism in a process of its own, within these limits, as in :func:`dpcheck.audit_privacy`.
    runs : dict or KeptRuns, optional
        Outputs by chunk, which are used in place of new runs and to which new ones are added.
    executor : Executor, optional
        Who runs the chunks in place of ``jobs``, as in :func:`dpcheck.audit_privacy`.

    Returns
    -------
    SequentialAudit
        The verdict, the bound, the wealth, and the state from which an audit can go on.

    Raises
    ------
    InputError
        For arguments outside their domain, an ``earlier`` audit of something else, and a mechanism that raises in all
        first runs, returns functions or iterators or, unless ``seeded`` is False, has other randomness.

    References
    ----------
    P. Grunwald, R. de Heide, W. Koolen. Safe testing. JRSS B 86, 2024.

    J. Ville. Etude critique de la notion de collectif. 1939 (the bound on the wealth's maximum).

    Examples
    --------
    >>> import dpcheck
    >>> def leaky(value, rng):
    ...     return value + rng.laplace(scale=0.5)
    >>> audit = dpcheck.audit_sequential(leaky, 1, 0, epsilon=1.0, most=20_000)
    >>> audit.verdict, audit.trials < 5_000
    ('violated', True)
    """
    jobs = 1 if jobs is None else jobs
    require_runs(data, neighbour, seed, seeded, jobs, isolate, executor)
    require_epsilon(epsilon)
    require_delta(delta)
    require_confidence(confidence)
    require(seeded or earlier is None, "earlier", "be left out where seeded is False", type(earlier).__name__)
    require_work(most, "most", least=FIRST + 1)
    claim: dict[str, Any] = {
        "epsilon": float(epsilon), "delta": float(delta), "confidence": float(confidence),
        "seed": int(seed) if seeded else None,
    }  # fmt: skip

    runner = Runner(mechanism, (data, neighbour), vectorized, seed)
    with Pool(runner, jobs, runs, executor, isolate) as pool:
        wealth = Wealth(claim["epsilon"], claim["delta"], 1 - confidence, pool.runner.probe(seeded=seeded))
        if earlier is not None:
            _restore(wealth, claim, earlier, pool.runner)
            require_count(most, "most", least=wealth.trials + 1)
        pairs = pool.map(_chunks(wealth.trials, most, wealth.chunks))
        for _, x in pairs:  # bet on runs until the claim is given up, or there are enough
            _, y = next(pairs)
            wealth.play(x, y)
            if progress is not None:
                progress(2 * wealth.trials, 2 * most)
            if wealth.violated:
                break
        event = wealth.witness()
        if wealth.width > wealth.layout.numbers:
            event = replace(event, naming=(naming := Naming(wealth.layout)))
            pool.label(naming, event.said, wealth.rows(_chunks(0, most, 0)))
    look = wealth.looks[-1]
    verdict = "violated" if wealth.violated else "consistent" if wealth.could_violate else "inconclusive"
    return SequentialAudit(
        verdict, look.epsilon_lower, look.trials, look.log_wealth, event, version=__version__,
        looks=tuple(wealth.looks), state=wealth.state, no_difference=runner.alike, **claim,
    )  # fmt: skip


def _restore(wealth: Wealth, claim: dict[str, Any], earlier: Any, runner: Runner | IsolatedRunner) -> None:
    """Continue where an earlier audit of the same claim and mechanism ended."""
    if isinstance(earlier, SequentialAudit):
        stated = {name: getattr(earlier, name) for name in claim}
        before = Saved(earlier.verdict, stated, earlier.trials, earlier.looks, earlier.state)
    else:
        before = unsealed(earlier)
    require(before.claim == claim, "earlier", f"be an audit with {claim}", before.claim)
    require(before.verdict != "violated", "earlier", "have left the claim standing", before.verdict)
    width, layout = before.state.outputs[0].shape[1], wealth.layout
    require(width in (layout.width, layout.full), "earlier", f"have outputs of {layout.width} numbers", width)
    again = digest(*(layout.fitted(runner(Chunk(side, 0, FIRST)), width) for side in (0, 1)))
    require(again == before.state.first, "mechanism", "give the outputs that the earlier audit began with", "others")
    wealth.restore(before.state, before.trials, before.looks)
    require(not wealth.violated, "earlier", "have left the claim standing", "wealth that refutes it")


def _chunks(done: int, most: int, number: int) -> Iterator[Chunk]:
    """Yield chunks from round ``done`` on, both datasets in turn."""
    while done < most:
        power = 10 ** (len(str(done)) - 1)
        tenth = next(m for m in (5, 2, 1) if done >= m * power) * power // 10 if done else FIRST
        size = min(max(FIRST, tenth), most - done)  # a tenth of 1, 2 or 5 times a power of ten
        for side in (0, 1):
            yield Chunk(side, number, size)
        number, done = number + 1, done + size


SCHEMA = "dpcheck.sequential/1"
_SEALED = ("verdict", "trials", "epsilon", "delta", "confidence", "seed", "looks", "state")


@dataclass(frozen=True)
class Saved:
    """What an earlier audit hands on: its verdict, its claim, its runs on each dataset, its looks and its state."""

    verdict: str
    claim: dict[str, Any]
    trials: int
    looks: tuple[Standing, ...]
    state: State


def sealed(audit: dict[str, Any]) -> dict[str, Any]:
    """Return a sequential audit, ready for JSON, with the schema and the checksum of its state."""
    state = {"schema": SCHEMA, **audit["state"]}
    return audit | {"state": state | {"checksum": _checksum(audit | {"state": state})}}


def unsealed(saved: Any) -> Saved:
    """Take back what :func:`sealed` returned, from a file or not; InputError for anything else, or if changed."""
    good = isinstance(saved, Mapping) and all(name in saved for name in _SEALED) and isinstance(saved["state"], Mapping)
    require(good, "earlier", "be a sequential audit or its to_dict()", type(saved).__name__)
    state = saved["state"]
    require(state.get("schema") == SCHEMA, "earlier", f"have the schema {SCHEMA}", state.get("schema"))
    require(state.get("checksum") == _checksum(saved), "earlier", "be as it was saved", "one that was changed")
    try:
        audit = Saved(
            saved["verdict"], {name: saved[name] for name in ("epsilon", "delta", "confidence", "seed")},
            saved["trials"], tuple(Standing(**look) for look in saved["looks"]), _state(state),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
        if isinstance(error, InputError):
            raise
        raise _refused(error) from error
    _require_sound(audit)
    return audit


def _checksum(audit: Mapping[str, Any]) -> str:
    state = {name: value for name, value in audit["state"].items() if name != "checksum"}
    content = {name: audit[name] for name in _SEALED} | {"state": state}
    try:
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(error) from error


def _state(saved: Mapping[str, Any]) -> State:
    require_count(saved["width"], "width of earlier")
    a, b = (
        np.frombuffer(base64.b64decode(v, validate=True), "<f8").astype(np.float64).reshape(-1, saved["width"])
        for v in saved["outputs"]
    )
    epsilons, log_wealth, peak = (_finite(saved, name) for name in ("epsilons", "log_wealth", "peak"))
    return State(
        epsilons, log_wealth, peak, saved["chunks"], dict(saved["success"]), saved["fitted_on"], (a, b), saved["first"]
    )


def _finite(saved: Mapping[str, Any], name: str) -> NDArray[np.float64]:
    values = np.array(saved[name], dtype=np.float64)
    require(values.ndim == 1 and bool(np.isfinite(values).all()), "earlier", f"have finite numbers as {name}", values)
    return values


def _require_sound(saved: Saved) -> None:
    """Require what holds of every audit, whatever was run."""
    state, (a, b) = saved.state, saved.state.outputs
    known = saved.verdict in ("consistent", "inconclusive", "violated")
    require(known, "earlier", "be consistent, inconclusive or violated", saved.verdict)
    for name in ("epsilon", "delta", "confidence"):
        require(is_finite(saved.claim[name]), "earlier", f"have a number as {name}", saved.claim[name])
    require_count(saved.trials, "trials of earlier", least=FIRST)
    require_count(state.chunks, "chunks of earlier")
    require_count(state.fitted_on, "fitted_on of earlier", least=0)
    for look in saved.looks:
        require_count(look.trials, "trials of a look of earlier")
    last = saved.looks[-1] if saved.looks else None
    good = (
        len(saved.looks) == state.chunks
        and last is not None
        and last.trials == saved.trials
        and [look.trials for look in saved.looks] == sorted({look.trials for look in saved.looks})
        and all(is_finite(value) for look in saved.looks for value in asdict(look).values())
    )
    require(good, "earlier", "have one look after each chunk of its runs", f"{len(saved.looks)} looks")
    sizes = {len(state.epsilons), len(state.log_wealth), len(state.peak)}
    require(len(sizes) == 1, "earlier", "have one wealth for each claim", sorted(sizes))
    at = np.flatnonzero(state.epsilons == saved.claim["epsilon"])
    known = at.size == 1 and last is not None and float(state.log_wealth[at[0]]) == last.log_wealth
    require(known, "earlier", "have the wealth that its last look has", "another")
    require(
        bool((state.peak >= np.maximum(state.log_wealth, 0)).all()), "earlier", "have peaks above its wealth", "less"
    )
    numbers = all(isinstance(name, str) and is_finite(value) for name, value in state.success.items())
    require(numbers, "earlier", "have finite numbers as success", state.success)
    kept = min(saved.trials, kept_runs(a.shape[1]))
    require(len(a) == len(b) == kept, "earlier", f"have the last {kept} outputs", f"{len(a)} and {len(b)}")
    require(state.fitted_on <= len(a), "earlier", "be fitted on outputs that it has", state.fitted_on)
    if kept == saved.trials:
        require(digest(a[:FIRST], b[:FIRST]) == state.first, "earlier", "have the outputs that it began with", "others")


def _refused(error: Exception) -> InputError:
    return InputError(f"earlier must be a sequential audit as it was saved, got {raised(error)[:200]}")
