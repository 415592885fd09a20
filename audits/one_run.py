"""An audit by one run with many canaries, each put into the data by a coin and guessed from the output.

Null hypothesis: turning one canary's coin over, whatever the others show, changes the law of the output by at most
(epsilon, delta), in both directions, at every point of the claim. The coin thus decides what neighbours are: data with
and without one record (add-or-remove-one) if it includes the canary, and data that differ in one record (replace-one)
if it decides between two records in one place.

A score near the output's own centre says little, so only the farthest r are guessed: "in" above the centre, "out" below
it. Centre, order and guesses come from the scores, never from the coins. The numbers r are fixed before the run, and
each is tested by itself (:mod:`.limits.guesses`; a claimed curve at all its points jointly) at an equal share of the
error (union bound). A mechanism that keeps its claim is called violated with probability at most ``1 - confidence``,
over coins and mechanism. Several independent runs count as one run on all their canaries, since each coin still reaches
one output only.

The bound holds for any mechanism, even one that reveals everybody in a few runs. For the Gaussian mechanism it
therefore stays well below the truth; the bounds in ``if_independent`` come near it, and assume more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpcheck import __version__
from dpcheck.arguments import checked
from dpcheck.arrays import Floats, real_numbers, returned_numbers
from dpcheck.audits.claim import PrivacyClaim, deltas_of
from dpcheck.audits.limits.guesses import IndependentBound, epsilon_lower, independent_bound, joint_p_value, p_value
from dpcheck.audits.running.datasets import plain
from dpcheck.errors import InputError, one_line, require, require_confidence, require_count, require_work
from dpcheck.shown import Result

if TYPE_CHECKING:
    import pandas as pd

Bools = NDArray[np.bool_]

# By default all canaries are guessed, then a quarter of them, and so on down to this many.
_RATIO, _FEWEST = 4, 25
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
        How many canaries of all runs are guessed; several numbers share the error. By default all, a quarter of them,
        and so on.
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
    require(callable(algorithm), "algorithm", "be callable", type(algorithm).__name__)
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

    alpha = (1 - confidence) / len(numbers)
    centred = np.concatenate([row - _centre(row) for row in scores])
    order = np.argsort(-np.abs(centred), kind="stable")  # the most telling scores first
    right = np.asarray((centred > 0) == included.ravel())[order]

    def p(hits: int, number: int) -> float:
        alone = p_value(hits, number, canaries, claimed.epsilons, claimed.deltas)
        least, curve = float(alone.min()), claimed.deltas_at
        if curve is None or least > _FAR:
            return least
        best = float(claimed.epsilons[int(alone.argmin())])
        return min(least, joint_p_value(hits, number, canaries, best, partial(deltas_of, curve)))

    tests = tuple(
        Guesses(number, hits, alpha, p(hits, number), epsilon_lower(hits, number, canaries, delta=delta, alpha=alpha))
        for number, hits in ((number, int(right[:number].sum())) for number in numbers)
    )
    if any(test.p_value <= alpha for test in tests):
        verdict = "violated"
    elif all(p(number, number) > alpha for number in numbers):
        verdict = "inconclusive"
    else:
        verdict = "consistent"
    assuming = independent_bound(int(right.sum()), canaries, claimed.epsilons, claimed.deltas, delta, 1 - confidence)
    return OneRunAudit(
        verdict, max(test.epsilon_lower for test in tests), claimed.epsilon_at(delta), float(delta), claimed.words,
        float(confidence), canaries, len(scores), tests, assuming, seed, __version__,
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


_Settings = tuple[PrivacyClaim, float, float, tuple[int, ...]]  # claim, delta of the bound, confidence, guesses


def _settings(
    canaries: int, epsilon: float | None, delta: float | None, claim: Any, confidence: float,
    guesses: int | Sequence[int] | None,
) -> _Settings:  # fmt: skip
    """Return what an audit of so many canaries tests, after checking it."""
    claimed, delta = PrivacyClaim.stated(epsilon, delta, claim)
    require_confidence(confidence)
    if guesses is None:
        numbers = [canaries]
        while numbers[-1] >= _FEWEST * _RATIO:
            numbers.append(numbers[-1] // _RATIO)
        return claimed, delta, confidence, tuple(numbers)
    several = isinstance(guesses, Sequence | np.ndarray) and getattr(guesses, "shape", None) != ()
    numbers = list(guesses) if several else [guesses]  # type: ignore[arg-type, list-item]  # just asked
    require(len(numbers) > 0, "guesses", "hold at least one number", "none")
    for number in numbers:
        require_count(number, "guesses")
        require(number <= canaries, "guesses", f"be at most the number of canaries, {canaries}", number)
    return claimed, delta, confidence, tuple(int(number) for number in numbers)


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

    def _sentence(self) -> str:
        decided = min(self.tests, key=lambda test: test.p_value / test.alpha)
        said = f"{decided.right} of {decided.number} guesses right, p-value {decided.p_value:.2g}"
        where = "" if self.epsilon_lower > self.epsilon else ", at another point of the claimed curve"
        witness = f"\nwitness: {said}{where}" if self.verdict == "violated" else ""
        return (
            f"{self.verdict}: epsilon >= {self.epsilon_lower:.4f} at delta {self.delta:g} with confidence "
            f"{self.confidence:g}, claimed {self.epsilon:g}; {self.canaries} canaries in {self.runs} runs{witness}"
        )

    def _facts(self) -> dict[str, Any]:
        return {"claim": self.claim, "seed": self.seed}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return super().to_dict() | {"epsilon": plain(self.epsilon)}

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each test."""
        import pandas as pd

        return pd.DataFrame(asdict(test) for test in self.tests)
