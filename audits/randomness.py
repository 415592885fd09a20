"""A test of what a mechanism does with its randomness, from a few recorded runs on a pair of neighbours.

The null hypothesis has parts: all randomness is fresh, from ``rng`` or from another source that can be reached
(:mod:`.running.sources`); what is drawn, and its scales, do not depend on the data; with a claim, the outputs on the
pair keep (epsilon, delta). Nothing is estimated: the tests are
deterministic, or compare continuous draws that coincide with probability 0. "violated" is a certain fault under the
assumptions that its sentence states. "inconclusive" is something that a proof of privacy must account for, or that
recorded runs cannot decide.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.arguments import checked
from dpcheck.arrays import Floats
from dpcheck.audits.additive_noise import Implied, Response, implied, respond
from dpcheck.audits.claim import delta_of
from dpcheck.audits.observed_draws import Observation, Runs, differences, fixed_seeds, name_of, reuse, source
from dpcheck.audits.running.datasets import equal_datasets, plain
from dpcheck.audits.running.python_sources import kept_generators
from dpcheck.audits.running.recorder import Recorder, Silenced
from dpcheck.audits.running.sources import replaced
from dpcheck.audits.sensitivity import audit_sensitivity
from dpcheck.errors import require, require_epsilon, require_seed
from dpcheck.shown import Shown

# Epsilons this close are equal up to rounding of the output.
_SLACK = 1e-5
# If even this delta leaves epsilon infinite, the two laws are singular to each other, and no delta below 1 helps.
_ANY_DELTA = 0.999


@dataclass(frozen=True, eq=False)
class RandomnessAudit(Shown):
    """What a few recorded runs show about a mechanism's randomness.

    Attributes
    ----------
    verdict : str
        The worst of the observations' verdicts.
    observations : tuple of Observation
        Everything that was seen.
    implied : Implied or None
        The epsilon at delta that this pair needs; None where the noise does not tell.
    data, neighbour : object
        The pair, as given or as found.
    seed : int
        Seed of all randomness.
    """

    verdict: str
    observations: tuple[Observation, ...]
    implied: Implied | None
    data: Any
    neighbour: Any
    seed: int

    def _facts(self) -> dict[str, Any]:
        topics: dict[str, list[str]] = {}
        for seen in self.observations:
            topics.setdefault(seen.topic, []).append(seen.reason)
        return {topic: "; ".join(reasons) for topic, reasons in topics.items()} | {"seed": self.seed}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the datasets, ready for JSON."""
        known = self.implied
        return {
            "verdict": self.verdict,
            "observations": [asdict(seen) for seen in self.observations],
            "implied": None if known is None else asdict(known) | {"epsilon": plain(known.epsilon)},
            "seed": self.seed,
        }


@checked
def audit_randomness(
    mechanism: Callable[..., Any], data: Any, neighbour: Any = None, *,
    replacements: Sequence[Any] | None = None, epsilon: float | None = None, delta: float | None = None, seed: int = 0,
) -> RandomnessAudit:  # fmt: skip
    """Test what a mechanism does with its randomness, by recording and replaying its draws on a pair of neighbours.

    All randomness has to be fresh, draws and their scales must not depend on the data, and the noise has to be enough
    for the claim on this pair. Nothing is estimated: "violated" is a certain fault under what its sentence assumes, and
    "inconclusive" something that a proof of privacy has to account for. Draws from ``numpy.random``, ``random``,
    ``secrets``, torch, JAX and diffprivlib are recorded and replayed like those from ``rng``; compiled code with
    randomness of its own, such as OpenDP's, is out of reach, which is said.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> number or array``, or ``(dataset) -> number or array`` with randomness of its own; finite.
        It must not change its dataset.
    data : object
        The dataset.
    neighbour : object, optional
        A dataset that differs from it in one record; either it or ``replacements`` is given.
    replacements : sequence of records, optional
        Records that may take the place of one of ``data``, an array or a list: the pair whose outputs without noise lie
        farthest apart is searched.
    epsilon : float, optional
        Claimed epsilon >= 0 (natural log); None for no claim.
    delta : float, optional
        Claimed delta in [0, 1), 0 where it is left out; with no claim, the delta at which the epsilon that the noise
        gives is stated, 1e-5 where it is left out.
    seed : int
        Seed of all randomness, >= 0.

    Returns
    -------
    RandomnessAudit
        The verdict, and every observation behind it.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a mechanism that raises or returns no finite numbers.

    References
    ----------
    S. L. Garfinkel, P. Leclerc. Randomness concerns when deploying differential privacy. WPES 2020.

    Examples
    --------
    >>> import dpcheck
    >>> def noisy_sum(data, rng):
    ...     return sum(data) + rng.laplace(scale=max(data))  # the scale depends on the data
    >>> audit = dpcheck.audit_randomness(noisy_sum, [1, 1], [1, 2], epsilon=1.0)
    >>> audit.verdict, [seen.topic for seen in audit.observations if seen.verdict == "violated"]
    ('violated', ['privacy'])
    """
    which = "neither" if neighbour is None else "both"
    require((neighbour is None) != (replacements is None), "neighbour or replacements", "be given", which)
    if epsilon is not None:
        require_epsilon(epsilon)
    delta = delta_of(delta, promised=epsilon is not None)
    require_seed(seed)
    if replacements is None:
        require(not equal_datasets(data, neighbour), "neighbour", "differ from data in one record", "its equal")

    with replaced(), kept_generators(mechanism):
        return _audited(Runs(mechanism, _takes_rng(mechanism)), data, neighbour, replacements, epsilon, delta, seed)


def _takes_rng(mechanism: Callable[..., Any]) -> bool:
    """Whether a mechanism takes a generator beside the dataset; compiled code, which does not say, is given one."""
    try:
        inspect.signature(mechanism).bind("dataset", "rng")
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _audited(
    run: Runs, data: Any, neighbour: Any, replacements: Sequence[Any] | None, epsilon: float | None, delta: float,
    seed: int,
) -> RandomnessAudit:  # fmt: skip
    outside = source(run, data, seed)
    if outside is None and replacements is not None:
        witness = audit_sensitivity(Silenced(run, seed), data, replacements, claimed=0.0, seed=seed).witness
        require(witness is not None, "replacements", "hold one that moves the output without noise", "none")
        assert witness is not None
        data, neighbour = witness.dataset, witness.neighbour
    if outside is None:
        outside = source(run, neighbour, seed)
    if outside is not None:  # nothing can be replayed
        if outside.topic == "reuse" and (kept := kept_noise(run, data, neighbour, seed)):
            outside = kept
        return RandomnessAudit(outside.verdict, (outside,), None, data, neighbour, seed)

    seen, noise = _compare(run, data, neighbour, delta, seed, epsilon)
    seen += run.notes
    seen.append(_judge(noise, epsilon))
    verdicts = [observation.verdict for observation in seen]
    verdict = next((v for v in ("violated", "inconclusive") if v in verdicts), "consistent")
    known = noise.implied if isinstance(noise, _Found) else None
    return RandomnessAudit(verdict, tuple(seen), known, data, neighbour, seed)


@dataclass(frozen=True)
class _Found:
    """The epsilon that was found; ``singular`` if none is enough at any delta below 1; ``given``, draws held fixed.

    slack : what rounding may add to the epsilon, relative
    """

    implied: Implied
    singular: bool
    given: tuple[str, ...]
    slack: float = _SLACK

    def breaks(self, epsilon: float) -> bool:
        """Whether a claimed epsilon is not enough, by more than rounding explains."""
        return self.implied.epsilon > epsilon * (1 + self.slack) + _SLACK


def _compare(
    run: Runs, data: Any, neighbour: Any, delta: float, seed: int, epsilon: float | None
) -> tuple[list[Observation], _Found | str]:
    """Return what differs between the two datasets, and the epsilon that their outputs need."""
    recorders = Recorder(seed), Recorder(seed)
    outputs = run(data, recorders[0]), run(neighbour, recorders[1])
    seen = differences(recorders[0].draws, recorders[1].draws)
    held = "".join(f"; {words}" for words in fixed_seeds(run, *recorders))
    if not any(recorder.draws for recorder in recorders):
        if np.array_equal(*outputs):
            return seen, _Found(Implied(0.0, delta, True, f"one output on both, without any noise{held}"), False, ())
        words = "the outputs differ, and nothing is drawn from rng: they are functions of the data alone"
        return seen, _Found(Implied(math.inf, delta, True, f"{words}{held}"), True, ())
    first, second = (respond(partial(run, dataset), seed, single=True) for dataset in (data, neighbour))
    if isinstance(first, str) or isinstance(second, str):
        silent = [Silenced(run, seed)(dataset) for dataset in (data, neighbour)]
        gap = ""
        if silent[0].shape == silent[1].shape:
            distance = np.linalg.norm(silent[0] - silent[1])
            gap = f"; with additive noise silenced and other draws held the outputs are {distance:.6g} apart"
        return seen, f"{first if isinstance(first, str) else second}{gap}{held}"
    if first.query.shape == second.query.shape:
        seen += reuse(run, data, neighbour, np.abs(first.mixing).sum(1), seed)
    if not first.given and any(
        not np.array_equal(*(Silenced(run, seed + k)(dataset) for k in range(2))) for dataset in (data, neighbour)
    ):
        return seen, f"beside its noise it has randomness that is not recorded{held}"
    needed, most = implied(first, second, delta), implied(first, second, _ANY_DELTA)
    if isinstance(needed, str) or isinstance(most, str):
        return seen, f"{needed}{held}"
    shift = np.abs(first.query - second.query)
    bare = np.flatnonzero((shift > 1e-4 * np.abs(first.query)) & ~(first.mixing.any(1) & second.mixing.any(1)))
    if needed.epsilon == math.inf and 0 < bare.size < shift.size:
        held = f": no noise is in output[{', '.join(map(str, bare[:4]))}]{held}"
    found = _Found(replace(needed, reason=f"{needed.reason}{held}"), most.epsilon == math.inf, first.given,
                   _slack(first, second, shift))  # fmt: skip
    if found.singular if epsilon is None else found.breaks(epsilon):
        factor = 1.0 if epsilon is None else _factor(first, second, delta, epsilon)
        place = ", ".join(dict.fromkeys(name_of(draw) for draw in recorders[0].draws if draw.law))
        small = f"the noise ({place}) is too small by a factor of {factor:.3g}"
        noise = small if factor > 1 else f"its noise is {place}"
        found = replace(found, implied=replace(needed, reason=f"{needed.reason}{held}; {noise}"))
    return seen, found


def _slack(first: Response, second: Response, shift: Floats) -> float:
    """Return what rounding may add to an epsilon: in single precision, what it may add to the shift and the noise."""
    unit, _, significant = max(first.precision, second.precision)
    if significant <= 1e-6 or not shift.any():
        return _SLACK
    return float(10 * significant + 4 * unit * (np.abs(first.query) + np.abs(second.query)).max() / shift.max())


def _factor(first: Response, second: Response, delta: float, epsilon: float) -> float:
    """Return by how much all noise must grow for the epsilon to be enough; 1 if none up to a thousandfold does."""

    def enough(factor: float) -> bool:
        one, other = (replace(response, mixing=factor * response.mixing) for response in (first, second))
        needed = implied(one, other, delta)
        return not isinstance(needed, str) and needed.epsilon <= epsilon

    low, high = 1.0, 1e3
    if not enough(high):
        return 1.0
    while high > 1.002 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _judge(noise: _Found | str, epsilon: float | None) -> Observation:
    if isinstance(noise, str):
        return Observation("privacy", "inconclusive", f"no epsilon follows from the noise: {noise}")
    bound = noise.implied
    size = f"epsilon {'=' if bound.exact else '>='} {bound.epsilon:.6g} at delta {bound.delta:g}"
    if noise.given:
        given = ", ".join(noise.given)
        reason = f"given the values it draws from {given}, {bound.reason}: {size}; this alone bounds nothing"
        return Observation("privacy", "inconclusive", reason)
    assumed = "for this pair, assuming that the output is affine in the noise throughout"
    reason = f"{bound.reason}: {size} {assumed}"
    if epsilon is None:
        return Observation("privacy", "violated" if noise.singular else "consistent", reason)
    verdict = "violated" if noise.breaks(epsilon) else "consistent"
    return Observation("privacy", verdict, f"{reason}; claimed {epsilon:g}")


def kept_noise(run: Runs, data: Any, neighbour: Any, seed: int) -> Observation | None:
    """Observe noise that both data sets share since calls after the first draw none; None where they draw or agree.

    A release that is kept for each data set is drawn anew on the neighbour, which is asked for the first time.
    """
    recorders = Recorder(seed), Recorder(seed)
    outputs = run(neighbour, recorders[0]), run(data, recorders[1])
    if any(recorder.draws for recorder in recorders) or outputs[0].shape != outputs[1].shape:
        return None
    gap = float(np.linalg.norm(outputs[0] - outputs[1]))
    words = f"later calls draw nothing, and data and neighbour come out {gap:.6g} apart"
    words += ": it keeps noise, so that two answers give their difference away"
    return Observation("reuse", "violated", words) if gap > 0 else None
