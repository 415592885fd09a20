"""Sequential audit: runs until the evidence against a claim is in, and can be continued later.

Null hypothesis: for every output set E, ``P(E) <= e^epsilon Q(E) + delta`` in both directions, P and
Q being the laws of the outputs on the two datasets. Round by round one fresh output of each is bet
on, with bets made from earlier rounds alone (:mod:`.predictor`, :mod:`.betting`). Against a
mechanism that keeps its claim the wealth ever reaches ``1 / (1 - confidence)`` with probability at
most ``1 - confidence``, however often one looks, stops or goes on.

The lower limit on epsilon comes from such wealth against each value of a fixed grid, at the same level
(:mod:`.wealth`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dpcheck import __version__
from dpcheck.audits.runs import Pool, Runner, require_runs
from dpcheck.audits.sampling_plan import Chunk
from dpcheck.audits.wealth import FIRST, Look, State, Wealth, digest
from dpcheck.audits.witness import OutputSet
from dpcheck.errors import require, require_confidence, require_count, require_delta, require_epsilon

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SequentialAudit:
    """What was claimed, what was run, and what it showed; enough to go on from.

    verdict : "violated" if the claim was given up; "inconclusive" if these trials could not have
        shown a violation even with outputs that never overlap; else "consistent", which says that
        none was found, not that there is none
    epsilon_lower : the largest epsilon of the grid that was given up, 0.0 if none was: with this
        confidence the mechanism keeps no smaller one at this delta, whenever one looks
    trials : runs on each dataset up to the decision
    log_wealth : natural logarithm of the wealth against the claim at the end. Its exponential is an
        e-value: those of independent audits of one claim may be multiplied
    event : the output set that shows most, chosen on one half of the runs, with its counts in the
        other; it illustrates, the wealth is the evidence
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
    looks: tuple[Look, ...] = field(repr=False)
    state: State = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; ``earlier`` of :func:`audit_sequential` takes it back."""
        return vars(self) | {
            "event": self.event.to_dict(),
            "looks": [asdict(look) for look in self.looks],
            "state": self.state.to_dict(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row a look: trials, log_wealth, epsilon_lower."""
        import pandas as pd

        return pd.DataFrame(asdict(look) for look in self.looks)


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
) -> SequentialAudit:
    """Test the claim that ``mechanism`` is (epsilon, delta)-private until it is refuted or ``most`` runs are done.

    mechanism : ``(dataset, rng) -> number or array``, drawing all its randomness from ``rng``, a
        :class:`numpy.random.Generator`; with ``vectorized`` ``(dataset, rng, size) -> array`` of
        shape (size,) or (size, ...), ``size`` independent outputs
    data, neighbour : whatever the mechanism takes; the same to every call, never copied or changed
    epsilon, delta : the claim; epsilon >= 0 (natural log), delta in [0, 1)
    most : runs on each dataset at most, those of ``earlier`` included; more than 10
    confidence : that a true claim is never called violated, and of ``epsilon_lower``, one-sided
    seeded : False for a mechanism whose randomness is its own, as in :func:`dpcheck.audit_privacy`: its runs must
        be independent of each other, ``jobs`` must be 1, and no such audit can go on later
    jobs : processes, or threads where ``vectorized``; the result is the same for any number
    earlier : an audit of the same claim, mechanism, datasets and seed, or its ``to_dict()``, to go
        on with; the error of both together is that of one
    progress : called with (runs done, runs at most) over both datasets

    Infinite outputs and NaN are values like any other. Raises :class:`~dpcheck.errors.InputError` for wrong arguments
    and for a mechanism that raises, returns no numbers, changes shape or, unless ``seeded`` is False, has other
    randomness.
    """
    jobs = 1 if jobs is None else jobs
    require_runs(mechanism, seed, seeded, jobs)
    require_epsilon(epsilon)
    require_delta(delta)
    require_confidence(confidence)
    require(seeded or earlier is None, "earlier", "be left out where seeded is False", type(earlier).__name__)
    require_count(most, "most", least=FIRST + 1)
    claim: dict[str, Any] = {
        "epsilon": float(epsilon), "delta": float(delta), "confidence": float(confidence),
        "seed": int(seed) if seeded else None,
    }  # fmt: skip

    runner = Runner(mechanism, (data, neighbour), vectorized, seed)
    wealth = Wealth(epsilon, delta, 1 - confidence, runner.probe(seeded=seeded))
    if earlier is not None:
        before = vars(earlier) if isinstance(earlier, SequentialAudit) else earlier
        _restore(wealth, claim, before, runner)
        require_count(most, "most", least=wealth.trials + 1)
    with Pool(runner, jobs) as pool:
        pairs = pool.map(_chunks(wealth.trials, most, wealth.chunks))
        for _, x in pairs:
            chunk, y = next(pairs)
            require(
                x.shape == y.shape == (chunk.size, wealth.width), "mechanism",
                "return outputs of one shape (padded with nan)",
                f"{wealth.width}, {x.shape[1]} and {y.shape[1]} numbers",
            )  # fmt: skip
            wealth.play(x, y)
            if progress is not None:
                progress(2 * wealth.trials, 2 * most)
            if wealth.violated:
                break
    look = wealth.looks[-1]
    verdict = "violated" if wealth.violated else "consistent" if wealth.could_violate else "inconclusive"
    return SequentialAudit(
        verdict, look.epsilon_lower, look.trials, look.log_wealth, wealth.witness(), version=__version__,
        looks=tuple(wealth.looks), state=wealth.state, **claim,
    )  # fmt: skip


def _restore(wealth: Wealth, claim: dict[str, Any], before: Mapping[str, Any], runner: Runner) -> None:
    """Go on where an earlier audit of the same claim and mechanism ended."""
    wanted = {*claim, "verdict", "trials", "looks", "state"}
    require(wanted <= set(before), "earlier", "be a sequential audit or its to_dict()", type(before).__name__)
    same = {name: before[name] for name in claim}
    require(same == claim, "earlier", f"be an audit with {claim}", same)
    require(before["verdict"] != "violated", "earlier", "have left the claim standing", before["verdict"])
    state = before["state"] if isinstance(before["state"], State) else State.from_dict(before["state"])
    again = digest(*(runner(Chunk(side, 0, FIRST)) for side in (0, 1)))
    require(again == state.first, "mechanism", "give the outputs that the earlier audit began with", "others")
    looks = [look if isinstance(look, Look) else Look(**look) for look in before["looks"]]
    wealth.restore(state, before["trials"], looks)


def _chunks(done: int, most: int, number: int) -> Iterator[Chunk]:
    """Chunks from round ``done`` on, both datasets in turn."""
    while done < most:
        size = min(_size(done), most - done)
        for side in (0, 1):
            yield Chunk(side, number, size)
        number, done = number + 1, done + size


def _size(done: int) -> int:
    """Runs in the chunk that begins after ``done``: a tenth of 1, 2 or 5 times a power of ten."""
    power = 10 ** (len(str(done)) - 1)
    return max(FIRST, next(m for m in (5, 2, 1) if done >= m * power) * power // 10) if done else FIRST
