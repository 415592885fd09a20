"""Membership audit: an empirical lower bound on epsilon, valid for any mechanism.

Let P and Q be the laws of the outputs on the two datasets. Null hypothesis: ``P(E) <= e^epsilon Q(E) + delta`` for
every output set E, in both directions, and at every point (epsilon, delta) of the claim (:mod:`.claim`). Output sets
are chosen on earlier runs and tested on fresh ones (:mod:`.looks`, :mod:`.output_sets`), each by one exact test
(:mod:`.limits`). This accounts for all choices: score, direction, threshold, point, and when to stop. A
mechanism that keeps its claim is called violated with probability at most ``1 - confidence``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck import __version__
from dpcheck.arguments import checked
from dpcheck.audits import limits
from dpcheck.audits.claim import PrivacyClaim, stated_claim
from dpcheck.audits.limits import epsilon_lower, p_value
from dpcheck.audits.looks import Look, Plan, Strength, strength, take_looks
from dpcheck.audits.output_sets import OutputSet
from dpcheck.audits.running import SIDES, KeptRuns, Runner, require_runs
from dpcheck.audits.running.datasets import plain
from dpcheck.audits.running.pool import Pool
from dpcheck.errors import require_confidence, require_work
from dpcheck.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from dpcheck.audits.running.isolated import Limits
    from dpcheck.running.executor import Executor

_LEAST_TRIALS = 100
_CHUNK = 1_000
_CHUNK_VECTORIZED = 10_000


@checked
def audit_privacy(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    claim: Any = None,
    trials: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
    seeded: bool = True,
    jobs: int | None = None,
    vectorized: bool = False,
    progress: Callable[[int, int], None] | None = None,
    runs: KeptRuns | None = None,
    isolate: Limits | None = None,
    executor: Executor | None = None,
) -> PrivacyAudit:
    """Test whether a mechanism is (epsilon, delta)-private on one pair of neighbouring datasets.

    Output sets that tell the two datasets apart are chosen on earlier runs and tested on fresh ones. A mechanism that
    keeps its claim is therefore called violated with probability at most ``1 - confidence``.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> output``, with all its randomness from ``rng``, a
        :class:`numpy.random.Generator`. With ``vectorized``, ``(dataset, rng, size) -> array`` of shape (size,) or
        (size, ...), ``size`` independent outputs. Infinities and NaN are values like any other. Without ``vectorized``
        an output may be of any kind that can be compared: words, dates, dictionaries, lists of any length, tables,
        sparse arrays, nested ones; or an exception, by its type and message. With ``vectorized`` outputs are numbers
        of one shape, whole ones below 2^53.
    data, neighbour : object
        Two datasets that differ in one record, in any form that the mechanism takes. Every call gets the same two
        objects; they are never copied or changed.
    epsilon : float, optional
        Claimed epsilon >= 0 (natural log); either it or ``claim`` is given.
    delta : float, optional
        Claimed delta in [0, 1), 0 where it is left out; with ``claim``, the delta at which ``epsilon_lower`` is stated,
        1e-5 where it is left out.
    claim : PrivacyClaim, event, sequence of events or callable, optional
        A claim of more than one point in place of ``epsilon``: a :class:`~dpcheck.audits.claim.PrivacyClaim`, events of
        :mod:`dpcheck.events`, or a function from epsilons (m,) to deltas (m,).
    trials : int
        Runs on each dataset, at least 100.
    confidence : float
        One-sided confidence of ``epsilon_lower``, in (0.5, 1).
    seed : int
        Seed of all randomness, >= 0.
    seeded : bool
        False for a mechanism with randomness of its own, such as a library's secure generator. Such an audit cannot be
        repeated and needs runs that are independent of each other, so that ``jobs`` must be 1: a process may inherit
        the state of a generator, and a thread share it.
    jobs : int, optional
        Processes, or threads where ``vectorized``; 1 by default. The result does not depend on it.
    vectorized : bool
        Whether one call of the mechanism returns ``size`` outputs.
    progress : callable, optional
        Called as ``progress(runs done, runs at most)``, counted over both datasets.
    runs : dict or KeptRuns, optional
        Receives the outputs of all runs by chunk. If another audit of the same mechanism, datasets, trials and seed is
        given this dictionary, it tests its claim on the same runs and repeats none of them.
    isolate : Limits, optional
        Run the mechanism in a process of its own, within these limits (:class:`~.running.isolated.Limits`); ``jobs``
        must then be 1. What it prints is dropped. One that hangs, starts processes or takes too much memory is
        stopped, and the error says so.
    executor : Executor, optional
        Who runs the chunks in place of ``jobs``, such as a cluster (:func:`dpcheck.running.process_pool.executor`). The
        result does not depend on it.

    Returns
    -------
    PrivacyAudit
        The verdict, the lower bound on epsilon and the output set that shows it.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a mechanism that raises in all first runs on both datasets, returns
        functions, iterators or arrays that do not become NumPy's or, unless ``seeded`` is False, has other randomness
        or remembers what it drew.

    References
    ----------
    C. Dwork, A. Roth. The algorithmic foundations of differential privacy. 2014, Definition 2.4.

    M. Jagielski, J. Ullman, A. Oprea. Auditing differentially private machine learning: how private is private SGD?
    NeurIPS 2020.

    Examples
    --------
    >>> import dpcheck
    >>> def noisy_sum(data, rng):
    ...     return sum(data) + rng.laplace(scale=2.0)
    >>> dpcheck.audit_privacy(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.5, trials=2_000).verdict
    'consistent'
    >>> audit = dpcheck.audit_privacy(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.1, trials=20_000)
    >>> audit.verdict, audit.epsilon_lower > 0.1
    ('violated', True)
    """
    jobs = 1 if jobs is None else jobs
    require_runs(data, neighbour, seed, seeded, jobs, isolate, executor)
    require_work(trials, "trials", least=_LEAST_TRIALS)
    require_confidence(confidence)
    claimed, delta = stated_claim(epsilon, delta, claim)
    stated = claimed.epsilon_at(delta)

    plan = Plan.of(trials, confidence, _CHUNK_VECTORIZED if vectorized else _CHUNK)
    runner = Runner(mechanism, (data, neighbour), vectorized, seed)
    with Pool(runner, jobs, runs, executor, isolate) as pool:
        layout = pool.runner.probe(seeded=seeded)
        looks, broken, used, raised = take_looks(pool, plan, layout, claimed, stated, delta, progress)
    # The look with the largest limit at this delta; of equal ones the last, which had most runs.
    best: Look | None = None
    steady = [look for look in reversed(looks) if look.kind != "curve"]
    for look in sorted(steady, key=attrgetter("at_most"), reverse=True):
        if best is None or look.at_most > best.epsilon_lower < look.epsilon_lower:
            best = look
    assert best is not None  # every look tests a steady choice
    point, point_delta = claimed.points[0]
    verdict = "violated" if broken else "inconclusive"
    for size, alpha in zip(plan.blocks[1:], plan.levels, strict=True):
        # Whether outputs that never overlap would have broken the claim.
        if verdict == "inconclusive" and epsilon_lower(size, 0, size, delta=point_delta, alpha=alpha) > point:
            verdict = "consistent"
    # The set that goes farthest beyond the claim; where none does, the one behind the bound.
    deciding = max(broken, key=lambda look: look.epsilon_lower - look.claimed, default=best)
    return PrivacyAudit(
        verdict, best.epsilon_lower, used, deciding.event, claimed.words,
        stated, float(delta), float(confidence), int(seed) if seeded else None, __version__,
        looks, in_family(claimed, looks, delta) if claimed.events else None, runner.alike, claimed.deltas_at is None,
        raised,
    )  # fmt: skip


_STEEP = 700.0  # an epsilon whose exponential is still a number


@dataclass(frozen=True)
class PrivacyAudit(Shown):
    """What an audit of privacy claimed, ran and showed.

    Attributes
    ----------
    verdict : str
        ``"violated"`` if a look's limit exceeds the claim; ``"inconclusive"`` if these trials could not have shown a
        violation even with outputs that never overlap; else ``"consistent"``, which says that no violation was found,
        not that there is none.
    epsilon_lower : float
        One-sided lower confidence bound on epsilon (natural log) at ``delta``, for all looks together.
    trials : int
        Runs used on each dataset; fewer than asked for where a violation was plain early.
    event : OutputSet
        The output set that went farthest beyond the claim, or else the one behind ``epsilon_lower``.
    claim : str
        The claim in words.
    epsilon, delta : float
        The claim at ``delta``; epsilon is inf where the claim says nothing there.
    confidence : float
        One-sided confidence of ``epsilon_lower``.
    seed : int or None
        Seed of all randomness; None where the mechanism has its own.
    version : str
        Version of dpcheck that made the audit.
    looks : tuple of Look
        Every set that was tested.
    in_family : float or None
        A larger bound on epsilon at ``delta`` where the claim was privacy events whose certificate some pair of
        neighbours attains. It ASSUMES the claimed mechanism with
        one common factor on its noise, and is the epsilon at the least factor rejected.
    no_difference : bool
        Whether the first runs, from one seed, gave the same outputs on both datasets, as where both clip to one value:
        such a pair shows nothing. Not looked at where the mechanism is isolated or ``seeded`` is False.
    one_point : bool
        Whether the claim is one point (epsilon, delta).
    raised : tuple of int
        Runs on data and on neighbour that raised, each an outcome like any other.
    """

    verdict: str
    epsilon_lower: float
    trials: int
    event: OutputSet
    claim: str
    epsilon: float
    delta: float
    confidence: float
    seed: int | None
    version: str
    looks: tuple[Look, ...] = field(repr=False)
    in_family: float | None = None
    no_difference: bool = False
    one_point: bool = True
    raised: tuple[int, int] = (0, 0)

    @property
    def one_sided(self) -> bool:
        """Whether the set was never seen on one dataset: evidence that no finite epsilon will do.

        ``epsilon_lower`` then grows with the logarithm of the trials, and says no more than they can.
        """
        return self.event.other_hits == 0 < self.event.hits

    @cached_property
    def would_find(self) -> Strength | None:
        """What this audit would have found; None unless it is consistent with one point (epsilon, delta)."""
        if self.verdict != "consistent" or not self.one_point:
            return None
        last = self.looks[-1]
        return strength(last.claimed, last.delta, last.event.trials, last.alpha, self.trials)

    @cached_property
    def deciding(self) -> Look:
        """The look at ``event``: what it tested, at which level, and the limit that it gives by itself."""
        return next(look for look in reversed(self.looks) if look.event == self.event)

    @cached_property
    def p_value(self) -> float:
        """The p-value of the claim at ``event``, to be held against the level ``deciding.alpha``."""
        look, event = self.deciding, self.event
        return p_value(event.hits, event.other_hits, event.trials, look.claimed, look.delta, alpha=look.alpha)

    @cached_property
    def witness(self) -> str:
        """The output set with its counts; where ``epsilon_lower`` comes from another set, also what this one shows."""
        if self.verdict != "violated":
            return str(self.event)
        look = self.deciding
        if (look.epsilon_lower, look.delta) == (self.epsilon_lower, self.delta):
            return str(self.event)
        return (
            f"{self.event}; it shows epsilon >= {look.epsilon_lower:.4f} at delta {look.delta:g} where "
            f"{look.claimed:.4g} is claimed (p-value {self.p_value:.2g})"
        )

    def _sentence(self) -> str:
        family = self.in_family
        strength = "" if self.would_find is None else f"\n{self.would_find.sentence}"
        failed = "" if self.raised == (0, 0) else "; raised in {} runs on data and {} on neighbour".format(*self.raised)
        within = "" if family is None else f"; within the claimed family, epsilon >= {family:.4f}"
        alike = "; this pair shows no difference" if self.no_difference else ""
        return (
            f"{self.verdict}: epsilon >= {self.epsilon_lower:.4f} at delta {self.delta:g}, claimed {self.epsilon:g}"
            f"{alike}\nwith confidence {self.confidence:g} from {self.trials} runs a dataset{within}{failed}\n"
            f"witness: {self.witness}{strength}"
        )

    __str__ = _sentence  # the verdict with its bound, what it rests on, the witness, and the strength where consistent

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the plot's bars, ready for JSON."""
        names = (
            "verdict", "epsilon_lower", "trials", "event", "p_value", "one_sided", "claim", "in_family", "would_find",
            "no_difference", "raised", "epsilon", "delta", "confidence", "seed", "version", "looks",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names} | {
            "event": self.event.to_dict(),
            "would_find": None if self.would_find is None else asdict(self.would_find),
            "raised": list(self.raised),
            "epsilon": plain(self.epsilon),
            "looks": [look.to_dict() for look in self.looks],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each set tested."""
        import pandas as pd

        return pd.DataFrame(
            {
                "look": look.number,
                "kind": look.kind,
                "learned_from": look.learned_from,
                "trials": look.event.trials,
                "alpha": look.alpha,
                "event": look.event.words,
                "favours": look.event.favours,
                "hits": look.event.hits,
                "other_hits": look.event.other_hits,
                "claimed": look.claimed,
                "delta": look.delta,
                "epsilon_lower": look.epsilon_lower,
            }
            for look in self.looks
        )

    def plot(self) -> Figure:
        """Draw the score of the deciding look on both datasets: histogram, tails, the claim's limit, and the set."""
        from dpcheck import style

        look = self.deciding
        event, (edges, *counts) = look.event, look.bars
        words = event.score.words if event.naming is None else event.naming(event.score.words)
        figure = style.figure(style.PAGE, 3.0)
        left, right = figure.subplots(1, 2)
        sign, tails = event.sign, {}
        looks = (style.MEASURED, "-"), (style.PREDICTED, "--")
        for side, count, (color, line) in zip(SIDES, counts, looks, strict=True):
            left.stairs(count / event.trials, edges * sign, color=color, linestyle=line, label=f"on {side}")
            tails[side] = np.cumsum(count[::-1])[::-1] / event.trials
            right.step(edges[:-1] * sign, tails[side], where="post", color=color, linestyle=line, label=f"on {side}")
        other = tails[next(side for side in SIDES if side != event.favours)]
        limit = np.minimum(np.exp(min(look.claimed, _STEEP)) * other + look.delta, 1.0)
        claim = f"most that the claim allows on {event.favours}"
        right.step(edges[:-1] * sign, limit, where="post", color=style.CLAIMED, label=claim)
        for axes, title in ((left, "share of runs in each bin"), (right, "share in the set")):
            axes.axvline(event.threshold, color=style.FAINT, linestyle=":", label="threshold of the set")
            axes.set(xlabel=words, title=title)
            style.small(axes)
        right.set_yscale("log")
        right.set_ylim(bottom=0.5 / event.trials)
        style.plain_logs(right.yaxis)
        figure.legend(
            *right.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=style.TEXT, frameon=False
        )
        figure.suptitle(
            f"{self.verdict}: audited epsilon >= {self.epsilon_lower:.4g}, claimed {self.epsilon:g}"
            f" (delta {self.delta:g}, confidence {self.confidence:g})",
            fontsize=style.TEXT + 1, parse_math=False,
        )  # fmt: skip
        return figure


def in_family(claim: PrivacyClaim, looks: Sequence[Look], delta: float) -> float | None:
    """Return epsilon of the claimed events at the least factor on their noise that the last curve look rejects.

    None where that epsilon is an upper bound which no pair of neighbours is known to attain.
    """
    from dpcheck.accounting import certify, privacy_curve
    from dpcheck.events import scaled

    if not certify(claim.events, delta).sharp:
        return None
    look = next(look for look in reversed(looks) if look.kind == "curve")
    factor = limits.least_rejected(
        *look.event.counts, lambda z: privacy_curve(scaled(claim.events, z)), epsilon=look.claimed, guess=1.0,
        alpha=look.alpha,
    )  # fmt: skip
    certified = certify(scaled(claim.events, factor), delta) if math.isfinite(factor) else None
    return 0.0 if certified is None else certified.epsilon if certified.sharp else None
