"""An audit by one run with many canaries, each put into the data by a coin and guessed from the output.

Null hypothesis: turning one canary's coin over, whatever the others show, changes the law of the output by at most
(epsilon, delta), in both directions, at every point of the claim. The coin thus decides what neighbours are: data with
and without one record (add-or-remove-one) if it includes the canary, and data that differ in one record (replace-one)
if it decides between two records in one place.

A score near the output's own centre says little, so only the farthest r are guessed: "in" above the centre, "out" below
it. Centre, order and guesses come from the scores, never from the coins. The numbers r are fixed before the run, and
each is tested by itself (:mod:`.limits.guesses`; a claimed curve at all its points jointly) at its share of the error
(union bound). A mechanism that keeps its claim is called violated with probability at most ``1 - confidence``,
over coins and mechanism. Several independent runs count as one run on all their canaries, since each coin still reaches
one output only.

The bound holds for any mechanism, even one that reveals everybody in a few runs. For the Gaussian mechanism it
therefore stays well below the truth. ``in_family`` is larger, as it assumes that the mechanism's curve is the claimed
one at another noise; ``if_independent`` comes near the truth, and assumes that the canaries' traces are independent,
which privacy does not imply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpcheck import __version__
from dpcheck.arguments import checked
from dpcheck.arrays import Floats, real_numbers, returned_numbers
from dpcheck.audits.claim import PrivacyClaim, deltas_of, stated_claim
from dpcheck.audits.limits import guesses as coin_guesses
from dpcheck.audits.limits.guesses import IndependentBound
from dpcheck.audits.running.datasets import plain
from dpcheck.errors import InputError, one_line, require, require_confidence, require_count, require_work
from dpcheck.shown import Result

if TYPE_CHECKING:
    import pandas as pd

    from dpcheck.events import Event

Bools = NDArray[np.bool_]

# By default these numbers of m canaries are guessed: 0.8 m, which is near the best where a Gaussian mechanism's mu is 3
# or more; 3 m^0.6, near the best for smaller ones; then quarters of it down to 25, for leaks of a few, which share a
# quarter of the error. Of fewer than 100 all are.
_MOST, _SCALE, _POWER, _RATIO, _FEWEST, _RARE = 0.8, 3, 0.6, 4, 25, 0.25
# A p-value of a curve's best point above this is reported as it is: all points together would not reject either.
_FAR = 0.5
# Coins that are less likely than this count as a mistake of the caller.
_UNFAIR = 1e-9
# Quantiles beyond which a score does not move the centre.
_CUT = 0.05


@checked
def audit_one_run(
    algorithm: Callable[[Bools, np.random.Generator], ArrayLike], canaries: int, *, epsilon: float | None = None,
    delta: float | None = None, claim: Any = None, confidence: float = 0.95,
    guesses: int | Sequence[int] | None = None, runs: int = 1, seed: int = 0,
) -> OneRunAudit:  # fmt: skip
    """Test a privacy claim by one run on many canaries, each tossed in or out and guessed from the output.

    Neighbours differ in one coin: in one record added or removed where it includes a canary, in one record replaced
    where it decides between two. A mechanism that keeps its claim is called violated with probability at most ``1 -
    confidence``, over coins and mechanism.

    Parameters
    ----------
    algorithm : callable
        ``(included, rng) -> scores``. ``included`` (canaries,) bool says which canaries are in the data, or which of
        two records is in each place. ``scores`` (canaries,) are made from the private output alone and are higher where
        a canary looks included; they may be infinite, but not NaN.
    canaries : int
        Number of canaries, at least 1.
    epsilon : float, optional
        Claimed epsilon >= 0 (natural log); either it or ``claim`` is given.
    delta : float, optional
        Claimed delta in [0, 1), 0 where it is left out; with ``claim``, the delta at which ``epsilon_lower`` is stated,
        1e-5 where it is left out.
    claim : PrivacyClaim, event, sequence of events or callable, optional
        A claim that is tested at all its points, as in :func:`dpcheck.audit_privacy`.
    confidence : float
        One-sided confidence of ``epsilon_lower``, in (0.5, 1).
    guesses : int or sequence of int, optional
        How many canaries of all runs are guessed; several numbers share the error. By default four fifths of m, 3
        m^0.6, a quarter of that, and so on; all where m is below 100.
    runs : int
        Independent runs, at least 1; they count as one run on all their canaries.
    seed : int
        Seed of coins and algorithm, >= 0.

    Returns
    -------
    OneRunAudit
        The verdict, the lower bound on epsilon and the tests behind it.

    Raises
    ------
    InputError
        For arguments outside their domain, and for an algorithm that raises or returns no scores.

    References
    ----------
    T. Steinke, M. Nasr, M. Jagielski. Privacy auditing with one (1) training run. NeurIPS 2023.

    Examples
    --------
    >>> import dpcheck
    >>> def release(included, rng):
    ...     return included + rng.normal(scale=1.0, size=included.size)
    >>> dpcheck.audit_one_run(release, 1_000, epsilon=0.1, seed=0).verdict
    'violated'
    >>> dpcheck.audit_one_run(release, 1_000, epsilon=4.0, delta=1e-5, seed=0).verdict
    'consistent'
    """
    require_work(canaries, "canaries")
    require_work(runs, "runs")
    require_count(seed, "seed", least=0)
    settings = _settings(canaries * runs, epsilon, delta, claim, confidence, guesses)  # before the time is spent
    scores, included = np.empty((runs, canaries)), np.empty((runs, canaries), bool)
    for run, sequence in enumerate(np.random.SeedSequence(seed).spawn(runs)):
        coins, rng = (np.random.default_rng(stream) for stream in sequence.spawn(2))
        included[run] = coins.random(canaries) < 0.5
        result = returned_numbers(algorithm, "algorithm", included[run].copy(), rng)
        require(result.shape == (canaries,), "algorithm", f"return scores of shape ({canaries},)", result.shape)
        require(not np.isnan(result).any(), "algorithm", "return scores that are numbers", "nan")
        scores[run] = result
    return _audit(scores, included, settings, seed)


@checked
def audit_one_run_scores(
    scores: ArrayLike, included: ArrayLike, *, epsilon: float | None = None, delta: float | None = None,
    claim: Any = None, confidence: float = 0.95, guesses: int | Sequence[int] | None = None,
) -> OneRunAudit:  # fmt: skip
    """Test a privacy claim on scores at hand, from one run on many canaries in another library.

    Parameters
    ----------
    scores : array_like, (canaries,) or (runs, canaries)
        Scores from the private output alone, higher where a canary looks included.
    included : array_like of bool, shape of ``scores``
        One fair coin for each canary, tossed independently of everything. The bound does not hold for a random half of
        exactly that size, nor for coins of another bias.
    epsilon : float, optional
        Claimed epsilon >= 0 (natural log); either it or ``claim`` is given.
    delta : float, optional
        Claimed delta in [0, 1), 0 where it is left out; with ``claim``, the delta at which ``epsilon_lower`` is stated,
        1e-5 where it is left out.
    claim : PrivacyClaim, event, sequence of events or callable, optional
        A claim that is tested at all its points, as in :func:`dpcheck.audit_privacy`.
    confidence : float
        One-sided confidence of ``epsilon_lower``, in (0.5, 1).
    guesses : int or sequence of int, optional
        How many canaries of all runs are guessed, as in :func:`dpcheck.audit_one_run`.

    Returns
    -------
    OneRunAudit
        The verdict, the lower bound on epsilon and the tests behind it.

    Raises
    ------
    InputError
        For arguments outside their domain, scores that are NaN, and coins that are plainly not fair.

    References
    ----------
    T. Steinke, M. Nasr, M. Jagielski. Privacy auditing with one (1) training run. NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcheck
    >>> rng = np.random.default_rng(0)
    >>> included = rng.random(1_000) < 0.5
    >>> scores = included + rng.normal(size=1_000)
    >>> dpcheck.audit_one_run_scores(scores, included, epsilon=0.1).verdict
    'violated'
    """
    values, coins = np.atleast_2d(real_numbers(scores, "scores")), np.atleast_2d(_coins(included))
    require(values.ndim == 2 and values.size > 0, "scores", "have shape (canaries,) or (runs, canaries)", values.shape)
    require(not np.isnan(values).any(), "scores", "be numbers", "nan")
    require(coins.dtype == np.bool_, "included", "be boolean", coins.dtype)
    require(coins.shape == values.shape, "included", f"have the shape of scores, {values.shape}", coins.shape)
    return _audit(values, coins, _settings(values.size, epsilon, delta, claim, confidence, guesses), None)


def _audit(scores: Floats, included: Bools, settings: _Settings, seed: int | None) -> OneRunAudit:
    """Test scores (runs, canaries) against their coins."""
    canaries, (claimed, delta, confidence, numbers) = scores.size, settings
    heads = int(included.sum())
    fair = stats.binom.cdf(min(heads, canaries - heads), canaries, 0.5) > _UNFAIR
    require(fair, "included", "come from fair coins", f"{heads} of {canaries}")

    centred = np.concatenate([row - _centre(row) for row in scores])
    order = np.argsort(-np.abs(centred), kind="stable")  # the most telling scores first
    right = np.asarray((centred > 0) == included.ravel())[order]

    def p(hits: int, number: int) -> float:
        alone = coin_guesses.p_value(hits, number, canaries, claimed.epsilons, claimed.deltas)
        least, curve = float(alone.min()), claimed.deltas_at
        if curve is None or least > _FAR:
            return least
        best = float(claimed.epsilons[int(alone.argmin())])
        return min(least, coin_guesses.joint_p_value(hits, number, canaries, best, partial(deltas_of, curve)))

    def test(number: int, alpha: float) -> Guesses:
        hits = int(right[:number].sum())
        limit = coin_guesses.epsilon_lower(hits, number, canaries, delta=delta, alpha=alpha)
        return Guesses(number, hits, alpha, p(hits, number), limit)

    tests = tuple(test(number, (1 - confidence) * share) for number, share in numbers.items())
    if any(test.p_value <= test.alpha for test in tests):
        verdict = "violated"
    elif all(p(test.number, test.number) > test.alpha for test in tests):
        verdict = "inconclusive"
    else:
        verdict = "consistent"
    points = claimed.epsilons, claimed.deltas
    assuming = coin_guesses.independent_bound(int(right.sum()), canaries, *points, delta, 1 - confidence)
    return OneRunAudit(
        verdict, max(test.epsilon_lower for test in tests), claimed.epsilon_at(delta), float(delta), claimed.words,
        float(confidence), canaries, len(scores), tests, assuming, seed, __version__, claimed.events,
    )  # fmt: skip


def _centre(row: Floats) -> float:
    """Return a mean that clips the tails: it lies between two values of a bit, and a few outliers do not move it."""
    finite = row[np.isfinite(row)]
    return float(np.clip(finite, *np.quantile(finite, [_CUT, 1 - _CUT])).mean()) if finite.size else 0.0


@dataclass(frozen=True)
class Guesses:
    """One test of an audit of one run: how many guesses were right.

    Attributes
    ----------
    number : int
        Guesses made, of the canaries with the most telling scores.
    right : int
        Guesses that were right.
    alpha : float
        The test's share of the error.
    p_value : float
        The largest probability of so many right guesses under the claim.
    epsilon_lower : float
        Lower confidence limit of level ``1 - alpha`` on epsilon (natural log), for any mechanism, at the audit's delta.
    """

    number: int
    right: int
    alpha: float
    p_value: float
    epsilon_lower: float


def _coins(included: Any) -> NDArray[Any]:
    try:
        return np.asarray(included)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"included must be an array, got: {one_line(error)[:100]}") from error


# claim, delta of the bound, confidence, and numbers of guesses with their shares of the error
_Settings = tuple[PrivacyClaim, float, float, dict[int, float]]


def _settings(
    canaries: int, epsilon: float | None, delta: float | None, claim: Any, confidence: float,
    guesses: int | Sequence[int] | None,
) -> _Settings:  # fmt: skip
    """Return what an audit of so many canaries tests, after checking it."""
    claimed, delta = stated_claim(epsilon, delta, claim)
    require_confidence(confidence)
    if guesses is None:
        return claimed, delta, confidence, _usual(canaries)
    several = isinstance(guesses, Sequence | np.ndarray) and getattr(guesses, "shape", None) != ()
    numbers: list[Any] = list(guesses) if several else [guesses]  # type: ignore[arg-type]  # just asked
    require(len(numbers) > 0, "guesses", "hold at least one number", "none")
    for number in numbers:
        require_count(number, "guesses")
        require(number <= canaries, "guesses", f"be at most the number of canaries, {canaries}", number)
    # one number twice is one test
    return claimed, delta, confidence, {int(number): 1 / len(set(numbers)) for number in numbers}


def _usual(canaries: int) -> dict[int, float]:
    if canaries < _FEWEST * _RATIO:
        return {canaries: 1.0}
    most, planned = int(_MOST * canaries), int(_SCALE * canaries**_POWER)
    rare = [planned // _RATIO**k for k in range(1, 30) if planned // _RATIO**k >= _FEWEST]
    main = (1 - _RARE) / 2 if rare else 0.5
    return {most: main, planned: main} | {number: _RARE / len(rare) for number in rare}


@dataclass(frozen=True)
class OneRunAudit(Result):
    """What an audit of one run claimed, ran and showed.

    Attributes
    ----------
    verdict : str
        ``"violated"`` if a test rejects the claim; ``"inconclusive"`` if none would have with all its guesses right;
        else ``"consistent"``, which says that no violation was found, not that there is none.
    epsilon_lower : float
        One-sided lower confidence bound on epsilon (natural log) at ``delta``, for all tests together.
    epsilon : float
        Epsilon claimed at ``delta``; inf where the claim says nothing there.
    delta : float
        The delta at which both are stated.
    claim : str
        The claim in words.
    confidence : float
        One-sided confidence of ``epsilon_lower``.
    canaries, runs : int
        Canaries of all runs, and the runs.
    tests : tuple of Guesses
        The tests, which share the error.
    if_independent : IndependentBound
        What the guesses say under stronger assumptions; it decides no verdict.
    seed : int or None
        Seed of coins and algorithm; None for scores of the caller's own runs.
    version : str
        Version of dpcheck that made the audit.
    events : tuple of events
        What the mechanism is said to release, where that is the claim.
    """

    verdict: str
    epsilon_lower: float
    epsilon: float
    delta: float
    claim: str
    confidence: float
    canaries: int
    runs: int
    tests: tuple[Guesses, ...]
    if_independent: IndependentBound = field(repr=False)
    seed: int | None
    version: str
    events: tuple[Event, ...] = field(default=(), repr=False)

    @cached_property
    def in_family(self) -> float | None:
        """A larger bound on epsilon at ``delta``, of the same confidence, where events were claimed.

        It ASSUMES that the mechanism's curve is that of the claimed events with one factor on their noise, and nothing
        on how canaries hang together. None where no pair of neighbours is known to attain the certified epsilon.
        """
        from dpcheck.accounting import certify, privacy_curve
        from dpcheck.events import scaled

        if not self.events or self.delta == 0 or not certify(self.events, self.delta).sharp:
            return None
        tests = [(test.right, test.number, test.alpha) for test in self.tests]
        factor = coin_guesses.least_factor(tests, self.canaries, lambda z, e: privacy_curve(scaled(self.events, z))(e))
        if not math.isfinite(factor):
            return self.epsilon_lower
        certified = certify(scaled(self.events, factor), self.delta)
        return max(certified.epsilon, self.epsilon_lower) if certified.sharp else None

    def _sentence(self) -> str:
        decided = min(self.tests, key=lambda test: test.p_value / test.alpha)
        said = f"{decided.right} of {decided.number} guesses right, p-value {decided.p_value:.2g}"
        where = "" if self.epsilon_lower > self.epsilon else ", at another point of the claimed curve"
        witness = f"\nwitness: {said}{where}" if self.verdict == "violated" else ""
        family = self.in_family
        assumed = "\nif its curve is the claimed one at another noise: epsilon >= "
        within = "" if family is None else f"{assumed}{family:.4f}"
        return (
            f"{self.verdict}: epsilon >= {self.epsilon_lower:.4f} at delta {self.delta:g} with confidence "
            f"{self.confidence:g}, claimed {self.epsilon:g}; {self.canaries} canaries in {self.runs} runs"
            f"{within}{witness}"
        )

    def _facts(self) -> dict[str, Any]:
        return {"claim": self.claim, "seed": self.seed}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        fields = super().to_dict() | {"epsilon": plain(self.epsilon), "in_family": self.in_family}
        return {name: value for name, value in fields.items() if name != "events"}

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each test."""
        import pandas as pd

        return pd.DataFrame(asdict(test) for test in self.tests)
