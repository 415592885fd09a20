"""Audit of one run: many canaries, each in the data or not by a coin of its own, guessed from the output.

Null hypothesis: turning one canary's coin over, whatever the others show, changes the law of the output by at
most (epsilon, delta), in both directions, at every point of the claim. Neighbours are thus what the coin
decides: data with and without one record (add-or-remove-one) where it includes the canary, data that differ
in one record (replace-one) where it decides between two records in one place.

A score near the output's own centre says little, so only the farthest r are guessed: "in" above the centre, "out"
below it. Centre, order and guesses come from the scores, never from the coins; the numbers r are fixed before
the run, each tested by itself (:mod:`.guessing`) at an equal share of the error (union bound). A mechanism that
keeps its claim is called violated with probability at most ``1 - confidence``, over coins and mechanism. Several
independent runs count as one run on all their canaries: each coin still reaches one output only.

The bound is for any mechanism, so it also allows for one that in a few runs reveals everybody. For the Gaussian
mechanism it stays well below the truth; the bounds in ``if_independent`` come near it, and assume more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpcheck import __version__
from dpcheck.accounting import gaussian_epsilon
from dpcheck.audits.claim import Claim
from dpcheck.audits.guessing import epsilon_lower, gaussian_shift_lower, p_value, right_if_independent
from dpcheck.audits.words import plain
from dpcheck.errors import InputError, raised, require, require_confidence, require_count, require_delta

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# By default all canaries are guessed, then a quarter of them, and so on down to this many.
_RATIO, _FEWEST = 4, 25
# Quantiles beyond which a score does not move the centre.
_CUT = 0.05
# Coins this unlikely are taken for a mistake of the caller.
_UNFAIR = 1e-9


@dataclass(frozen=True)
class Guesses:
    """One test: of the ``number`` canaries with the most telling scores, ``right`` were guessed right.

    p_value : the largest probability of so many under the claim;  alpha : the test's share of the error
    epsilon_lower : lower confidence limit of level ``1 - alpha``, for any mechanism, at the audit's delta
    """

    number: int
    right: int
    alpha: float
    p_value: float
    epsilon_lower: float


@dataclass(frozen=True)
class IndependentBound:
    """A test and a bound under the assumptions they state, each with the confidence asked for.

    verdict : "violated" where ``p_value`` rejects the claim, else "consistent"
    right : of guesses of all canaries
    gaussian_shift : lower confidence limit on mu, shift over standard deviation
    gaussian_epsilon : of a Gaussian mechanism with this shift, at the audit's delta; None where delta = 0
    """

    verdict: str
    p_value: float
    right: int
    gaussian_shift: float
    gaussian_epsilon: float | None
    assumption: str = "given the coins, the output consists of independent parts, one a canary and moved by no other"
    gaussian_assumption: str = "and each part is at least as private as a Gaussian mechanism of the same shift"


@dataclass(frozen=True)
class OneRunAudit:
    """What was claimed, what was run, and what it showed.

    verdict : "violated" if a test rejects the claim; "inconclusive" if none would have with all its guesses right;
        else "consistent", which says that no violation was found, not that there is none
    epsilon_lower : one-sided lower confidence bound (natural log) at ``delta``, all tests together
    epsilon : claimed at this delta; inf where the claim says nothing of it
    seed : None for scores of the caller's own runs
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

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self) | {
            "epsilon": plain(self.epsilon),
            "tests": [asdict(test) for test in self.tests],
        }

    def to_frame(self) -> pd.DataFrame:
        """One row a test."""
        import pandas as pd

        return pd.DataFrame(asdict(test) for test in self.tests)


def audit_one_run(
    algorithm: Callable[[Bools, np.random.Generator], ArrayLike], canaries: int, *, epsilon: float | None = None,
    delta: float = 0.0, claim: Any = None, confidence: float = 0.95, guesses: int | Sequence[int] | None = None,
    runs: int = 1, seed: int = 0,
) -> OneRunAudit:  # fmt: skip
    """Run ``algorithm`` on ``canaries`` records tossed in or out, and test the claim by guessing which were in.

    algorithm : ``(included, rng) -> scores``; ``included`` (canaries,) bool says which canaries are in the data, or
        which of two records is in each place; scores (canaries,) come from the private output alone, a higher one
        where the canary looks included; infinite ones are allowed, NaN is not
    epsilon, delta : the claim, epsilon >= 0 (natural log), delta in [0, 1); or
    claim : instead of epsilon, privacy events, a curve epsilon -> delta or a :class:`~.claim.Claim`, tested at
        all its points; delta then only says where ``epsilon_lower`` is given
    guesses : how many canaries of all runs to guess, or several such numbers; fixed before anything is run
    """
    require(callable(algorithm), "algorithm", "be callable", type(algorithm).__name__)
    require_count(canaries, "canaries")
    require_count(runs, "runs")
    require_count(seed, "seed", least=0)
    _settings(canaries * runs, epsilon, delta, claim, confidence, guesses)  # before the time is spent
    scores, included = np.empty((runs, canaries)), np.empty((runs, canaries), bool)
    for run, sequence in enumerate(np.random.SeedSequence(seed).spawn(runs)):
        coins, rng = (np.random.default_rng(stream) for stream in sequence.spawn(2))
        included[run] = coins.random(canaries) < 0.5
        try:
            result = np.asarray(algorithm(included[run].copy(), rng), dtype=float)
        except Exception as error:
            raise InputError(f"algorithm must return an array of scores, got {raised(error)}") from error
        require(result.shape == (canaries,), "algorithm", f"return scores of shape ({canaries},)", result.shape)
        require(not np.isnan(result).any(), "algorithm", "return scores that are numbers", "nan")
        scores[run] = result
    return _audit(scores, included, epsilon, delta, claim, confidence, guesses, seed)


def audit_one_run_scores(
    scores: ArrayLike, included: ArrayLike, *, epsilon: float | None = None, delta: float = 0.0, claim: Any = None,
    confidence: float = 0.95, guesses: int | Sequence[int] | None = None,
) -> OneRunAudit:  # fmt: skip
    """The same test on scores at hand, from a run in another library.

    scores : (canaries,) or (runs, canaries), from the private output alone;  included : bool, the same shape, one
        fair coin a canary, tossed independently of everything. A random half of exactly that size is no such
        thing, nor are coins of another bias: the bound does not hold for them.
    """
    values, coins = np.atleast_2d(np.asarray(scores, dtype=float)), np.atleast_2d(np.asarray(included))
    require(values.ndim == 2 and values.size > 0, "scores", "have shape (canaries,) or (runs, canaries)", values.shape)
    require(not np.isnan(values).any(), "scores", "be numbers", "nan")
    require(coins.dtype == np.bool_, "included", "be boolean", coins.dtype)
    require(coins.shape == values.shape, "included", f"have the shape of scores, {values.shape}", coins.shape)
    return _audit(values, coins, epsilon, delta, claim, confidence, guesses, None)


def _audit(
    scores: Floats, included: Bools, epsilon: float | None, delta: float, claim: Any, confidence: float,
    guesses: int | Sequence[int] | None, seed: int | None,
) -> OneRunAudit:  # fmt: skip

    canaries = scores.size
    claimed, numbers = _settings(canaries, epsilon, delta, claim, confidence, guesses)
    heads = int(included.sum())
    fair = stats.binom.cdf(min(heads, canaries - heads), canaries, 0.5) > _UNFAIR
    require(fair, "included", "come from fair coins", f"{heads} of {canaries}")

    alpha = (1 - confidence) / len(numbers)
    right = _right(scores, included)

    def p(hits: int, number: int) -> float:
        return float(p_value(hits, number, canaries, claimed.epsilons, claimed.deltas).min())

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
    assuming = _independent(int(right.sum()), canaries, claimed, delta, 1 - confidence)
    return OneRunAudit(
        verdict, max(test.epsilon_lower for test in tests), claimed.epsilon_at(delta), float(delta), claimed.words,
        float(confidence), canaries, len(scores), tests, assuming, seed, __version__,
    )  # fmt: skip


def _settings(
    canaries: int, epsilon: float | None, delta: float, claim: Any, confidence: float,
    guesses: int | Sequence[int] | None,
) -> tuple[Claim, tuple[int, ...]]:  # fmt: skip
    """The claim and the numbers of guesses, both valid."""
    require_delta(delta)
    require_confidence(confidence)
    require((epsilon is None) != (claim is None), "epsilon or claim", "be given, one of them", (epsilon, claim))
    claimed = Claim.read(claim) if epsilon is None else Claim.point(epsilon, delta)
    if guesses is None:
        numbers = [canaries]
        while numbers[-1] >= _FEWEST * _RATIO:
            numbers.append(numbers[-1] // _RATIO)
        return claimed, tuple(numbers)
    numbers = list(guesses) if isinstance(guesses, Sequence | np.ndarray) else [guesses]
    require(len(numbers) > 0, "guesses", "hold at least one number", "none")
    for number in numbers:
        require_count(number, "guesses")
        require(number <= canaries, "guesses", f"be at most the number of canaries, {canaries}", number)
    return claimed, tuple(int(number) for number in numbers)


def _right(scores: Floats, included: Bools) -> Bools:
    """Which guesses are right (runs * canaries,), the most telling score first."""
    centred = np.concatenate([row - _centre(row) for row in scores])
    order = np.argsort(-np.abs(centred), kind="stable")
    return np.asarray((centred > 0) == included.ravel())[order]


def _centre(row: Floats) -> float:
    """Mean without the tails: between the two values of a bit, amid a mixture, unmoved by a few that stand out."""
    finite = row[np.isfinite(row)]
    return float(np.clip(finite, *np.quantile(finite, [_CUT, 1 - _CUT])).mean()) if finite.size else 0.0


def _independent(right: int, canaries: int, claimed: Claim, delta: float, alpha: float) -> IndependentBound:
    most = right_if_independent(claimed.epsilons, claimed.deltas)
    p = float(stats.binom.sf(right - 1, canaries, most))
    shift = gaussian_shift_lower(right, canaries, alpha=alpha)
    epsilon = gaussian_epsilon(shift, delta) if delta > 0 else None
    return IndependentBound("violated" if p <= alpha else "consistent", p, right, shift, epsilon)
