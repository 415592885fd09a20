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
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import returned_numbers
from dpcheck.audits.additive_noise import Implied, Response, implied, respond
from dpcheck.audits.claim import delta_of
from dpcheck.audits.running.datasets import brief, equal_datasets, fingerprint, require_unchanged
from dpcheck.audits.running import sources
from dpcheck.audits.running.recorder import Draw, Recorder, Silenced
from dpcheck.audits.sensitivity import audit_sensitivity
from dpcheck.errors import require, require_epsilon, require_seed
from dpcheck.shown import Shown
from dpcheck.source import shown_place

Array = NDArray[np.float64]

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

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the datasets, ready for JSON."""
        shown = None
        if self.implied is not None:
            shown = asdict(self.implied)
            shown["epsilon"] = shown["epsilon"] if math.isfinite(shown["epsilon"]) else "inf"
        return {
            "verdict": self.verdict,
            "observations": [asdict(seen) for seen in self.observations],
            "implied": shown,
            "seed": self.seed,
        }


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
        ``(dataset, rng) -> number or array``, or ``(dataset) -> number or array`` with randomness of its own; finite. It
        must not change its dataset.
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
    require(callable(mechanism), "mechanism", "be callable", type(mechanism).__name__)
    which = "neither" if neighbour is None else "both"
    require((neighbour is None) != (replacements is None), "neighbour or replacements", "be given", which)
    if epsilon is not None:
        require_epsilon(epsilon)
    delta = delta_of(delta, promised=epsilon is not None)
    require_seed(seed)
    if replacements is None:
        require(not equal_datasets(data, neighbour), "neighbour", "differ from data in one record", "its equal")

    with sources.replaced(), sources.kept_generators(mechanism):
        return _audited(Runs(mechanism, _takes_rng(mechanism)), data, neighbour, replacements, epsilon, delta, seed)


def _takes_rng(mechanism: Callable[..., Any]) -> bool:
    """Whether a mechanism takes a generator beside the dataset; compiled code, which does not say, is given one."""
    try:
        signature = inspect.signature(mechanism)
        signature.bind("dataset")
    except (TypeError, ValueError):
        return True
    places = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [name for name, parameter in signature.parameters.items() if parameter.kind in places]
    return len(names) > 1 and names[1] == "rng"


@dataclass
class Runs:
    """Runs of a mechanism with all its sources drawing from one generator; ``fresh`` has the seeds that are fresh."""

    mechanism: Callable[..., Any]
    takes_rng: bool
    fresh: frozenset[tuple[str, str]] = frozenset()
    notes: list[Observation] = field(default_factory=list)

    def __call__(self, dataset: Any, rng: np.random.Generator) -> Array:
        """Return the numbers of one output, (k,)."""
        with sources.drawing_from(rng, self.fresh):
            given = (dataset, rng) if self.takes_rng else (dataset,)
            value = returned_numbers(self.mechanism, "mechanism", *given).ravel()
        require(bool(np.isfinite(value).all()), "mechanism", "return finite numbers", value)
        return value


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

    slack : what rounding may add to the epsilon, relative;  factor : by which the noise is too small;  place : of it
    """

    implied: Implied
    singular: bool
    given: tuple[str, ...]
    slack: float = _SLACK
    factor: float = 1.0
    place: str = ""


def _compare(
    run: Runs, data: Any, neighbour: Any, delta: float, seed: int, epsilon: float | None
) -> tuple[list[Observation], _Found | str]:
    """Return what differs between the two datasets, and the epsilon that their outputs need."""
    recorders = Recorder(seed), Recorder(seed)
    outputs = run(data, recorders[0]), run(neighbour, recorders[1])
    seen = differences(recorders[0].draws, recorders[1].draws)
    held = "".join(f"; {words}" for words in _fixed_seeds(run, *recorders))
    if not any(recorder.draws for recorder in recorders):
        if np.array_equal(*outputs):
            return seen, _Found(Implied(0.0, delta, True, f"one output on both, without any noise{held}"), False, ())
        words = "the outputs differ, and nothing is drawn from rng: they are functions of the data alone"
        return seen, _Found(Implied(math.inf, delta, True, f"{words}{held}"), True, ())
    first, second = (respond(lambda rng, on=on: run(on, rng), seed, single=True) for on in (data, neighbour))
    if isinstance(first, str) or isinstance(second, str):
        silent = [Silenced(run, seed)(dataset) for dataset in (data, neighbour)]
        gap = ""
        if silent[0].shape == silent[1].shape:
            distance = np.linalg.norm(silent[0] - silent[1])
            gap = f"; with additive noise silenced and other draws held the outputs are {distance:.6g} apart"
        return seen, f"{first if isinstance(first, str) else second}{gap}{held}"
    if first.query.shape == second.query.shape:
        seen += reuse(run, data, neighbour, np.abs(first.mixing).sum(1), seed)
    needed, most = implied(first, second, delta), implied(first, second, _ANY_DELTA)
    if isinstance(needed, str) or isinstance(most, str):
        return seen, f"{needed}{held}"
    shift = np.abs(first.query - second.query)
    bare = np.flatnonzero((shift > 1e-4 * np.abs(first.query)) & ~(first.mixing.any(1) & second.mixing.any(1)))
    if needed.epsilon == math.inf and 0 < bare.size < shift.size:
        held = f": no noise is in output[{', '.join(map(str, bare[:4]))}]{held}"
    place = ", ".join(dict.fromkeys(_name(draw) for draw in recorders[0].draws if draw.law))
    found = _Found(replace(needed, reason=f"{needed.reason}{held}"), most.epsilon == math.inf, first.given,
                   _slack(first, second, shift), place=place)  # fmt: skip
    if epsilon is not None and epsilon < needed.epsilon < math.inf:
        found = replace(found, factor=_factor(first, second, delta, epsilon))
    return seen, found


def _slack(first: Response, second: Response, shift: Array) -> float:
    """Return what rounding may add to an epsilon: in single precision, what it may add to the shift and the noise."""
    unit, _, significant = max(first.precision, second.precision)
    if significant <= 1e-6 or not shift.any():
        return _SLACK
    return float(10 * significant + 4 * unit * (np.abs(first.query) + np.abs(second.query)).max() / shift.max())


def _factor(first: Response, second: Response, delta: float, epsilon: float) -> float:
    """Return by how much all noise must grow for the epsilon to be enough; 1 if none up to a thousandfold does."""

    def enough(factor: float) -> bool:
        grown = (replace(response, mixing=factor * response.mixing) for response in (first, second))
        needed = implied(*grown, delta)
        return not isinstance(needed, str) and needed.epsilon <= epsilon

    low, high = 1.0, 1e3
    if not enough(high):
        return 1.0
    while high > 1.002 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _fixed_seeds(run: Runs, one: Recorder, other: Recorder) -> Iterator[str]:
    """Say which seeds are the same in every run, or depend on the data alone."""
    values = [_seeds(recorder) for recorder in (one, other)]
    fixed = [key for key in dict.fromkeys([*values[0], *values[1]]) if key not in run.fresh]
    keys = [key for key in fixed if key[0] != sources.KEY] or fixed  # a key is made of a seed
    for key in keys[:3]:
        name, place = key
        on = [", ".join(dict.fromkeys(each.get(key, ["none"])))[:60] for each in values]
        given = f"{on[0]} in every run" if on[0] == on[1] else f"{on[0]} on data and {on[1]} on neighbour"
        yield f"{name} is given {given} ({shown_place(place)})"


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
    broken = bound.epsilon > epsilon * (1 + noise.slack) + _SLACK
    small = f"; the noise ({noise.place}) is too small by a factor of {noise.factor:.3g}" * (noise.factor > 1)
    return Observation("privacy", "violated" if broken else "consistent", f"{reason}; claimed {epsilon:g}{small * broken}")


# Calls with one seed: enough to catch a fair coin that does not come from the generator. And seeds that are tried.
_REPEATS = 24
_SEEDS = 8
_LOOKS = 3  # as long as they find seeds that are fresh, or libraries that the first call imported


@dataclass(frozen=True)
class Observation:
    """One thing seen in recorded draws.

    Attributes
    ----------
    topic : str
        ``"source"``, ``"reuse"``, ``"draws"``, ``"scale"`` or ``"privacy"``.
    verdict : str
        ``"violated"``, ``"inconclusive"`` or ``"consistent"``.
    reason : str
        What was seen, in words.
    """

    topic: str
    verdict: str
    reason: str


def source(run: Runs, dataset: Any, seed: int) -> Observation | None:
    """Observe randomness that cannot be replayed, or noise kept between calls; None if neither shows."""
    before = fingerprint(dataset)
    for _ in range(_LOOKS):
        known = run.fresh, sources.reached()
        seen = _look(run, dataset, seed)
        if known == (run.fresh, sources.reached()):
            break
    require_unchanged(dataset, before)
    return seen


def _look(run: Runs, dataset: Any, seed: int) -> Observation | None:
    """Run on one seed and on others, learn which seeds of the mechanism's own are fresh, and observe what differs."""
    plain, legacy = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002  # watched, not used
    recorders, elsewhere = [[Recorder(seed + k) for k in which] for which in ([0] * _REPEATS, range(1, _SEEDS + 1))]
    try:
        outputs = [run(dataset, recorder) for recorder in recorders]
        others = [run(dataset, recorder) for recorder in elsewhere]
        moved = {"the random module": random.getstate() != plain, "numpy.random's global state": _moved(legacy)}
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002
    seeds, again, other = map(_seeds, (recorders[0], recorders[-1], elsewhere[0]))
    run.fresh |= {
        key for key, values in seeds.items()
        if key in other and all(a != b for a, b in zip(values, other[key], strict=False))
    }  # fmt: skip
    run.notes = list(_notes(recorders[0], [key for key, values in seeds.items() if values != again.get(key)]))
    for name, value in recorders[0].kept.items():
        if not value:
            words = f"{name}, which it draws from, was given a seed that cannot be seen"
            run.notes.append(Observation("source", "inconclusive", words))
            continue
        words = f"it draws from {name}, which was seeded with {value}: whoever knows the seed knows the noise"
        return Observation("source", "violated", words)
    drawn = [_kinds(recorder.draws) for recorder in recorders]
    if any(kinds != drawn[0] for kinds in drawn):
        return Observation("reuse", "inconclusive", "calls with one seed draw differently: it keeps noise or a release")
    if used := " and ".join(name for name, was in moved.items() if was):
        return Observation("source", "inconclusive", f"it draws from {used} in a way that is not recorded")
    if any(output.shape != outputs[0].shape or (output != outputs[0]).any() for output in outputs):
        reason = (
            "outputs differ for one seed: it draws from a source that cannot be reached, such as compiled code or a "
            "thread of its own, or keeps something between calls; audit_privacy(..., seeded=False) tests its outputs"
        )
        return Observation("source", "inconclusive", reason)
    if recorders[0].bypassed:
        reason = "it draws through bit_generator or in compiled code, where draws are not recorded"
        return Observation("source", "inconclusive", reason)
    if not drawn[0] and any(not np.array_equal(outputs[0], output) for output in others):
        return Observation("source", "inconclusive", "it uses the seed of rng in ways that are not recorded")
    return None


def _seeds(recorder: Recorder) -> dict[tuple[str, str], list[str]]:
    """Return the seeds of a run, by name and place."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, place, value in recorder.seedings:
        found.setdefault((name, place), []).append(value)
    return found


def _notes(recorder: Recorder, changing: Sequence[tuple[str, str]]) -> Iterator[Observation]:
    """Observe which sources a run draws from, seeds that come from none of them, and keys that are used again."""
    drawn: dict[str, str] = {}
    for draw in recorder.draws:
        drawn.setdefault(draw.source, draw.place)
    if drawn.pop("rng", None) is None or drawn:
        for name, place in drawn.items():
            words = f"it draws from {name} ({shown_place(place)}), not from rng: no fault where nobody seeds it"
            yield Observation("source", "consistent", words)
    if "numpy.random" in drawn and sources.numpy_was_seeded():
        yield Observation("source", "inconclusive", "numpy.random was seeded before: if its code does so, noise repeats")
    for name, place in changing:
        words = f"{name} is given what changes from call to call and is not drawn, such as the time or a key it keeps"
        yield Observation("source", "inconclusive", f"{words} ({shown_place(place)})")
    if recorder.reused:
        words = f"a key or a seed is used again, for {' and '.join(dict.fromkeys(recorder.reused))}: that is not fresh"
        yield Observation("reuse", "inconclusive", words)


def differences(first: Sequence[Draw], second: Sequence[Draw]) -> list[Observation]:
    """Observe draws, and parameters of draws, that depend on the data."""
    kinds = [_kinds(first), _kinds(second)]
    if kinds[0] != kinds[1]:
        at = next((k for k, (a, b) in enumerate(zip(*kinds, strict=False)) if a != b), min(map(len, kinds)))
        shown = [f"{drawn[at][0]} of shape {drawn[at][1]}" if at < len(drawn) else "nothing" for drawn in kinds]
        place = next((_at(drawn[at]) for drawn in (first, second) if at < len(drawn)), "")
        reason = f"what is drawn depends on the data: draw {at} is {shown[0]} on data, {shown[1]} on neighbour{place}"
        return [Observation("draws", "inconclusive", reason)]
    seen = []
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        for name, value in a.arguments.items():
            # The centre of the noise is the query itself; all else should be public.
            if (a.law and name in ("loc", "mean")) or _equal(value, b.arguments[name]):
                continue
            shown = [brief(value), brief(b.arguments[name])]
            reason = f"{name} of draw {k}, {a.method}, depends on the data: {shown[0]} on data, {shown[1]} on neighbour"
            seen.append(Observation("scale" if a.law else "draws", "inconclusive", f"{reason}{_at(a)}"))
    return seen


def reuse(run: Runs, data: Any, neighbour: Any, scale: Array, seed: int) -> list[Observation]:
    """Observe outputs (k,) whose continuous noise, of size ``scale``, two calls on one generator share.

    The difference of the two calls is then the same for all seeds, which never happens with fresh noise.
    """
    gaps = []
    for k in range(_SEEDS):
        rng = Recorder(seed + k)
        gaps.append(run(data, rng) - run(neighbour, rng))
    still = (np.ptp(gaps, axis=0) <= 1e-6 * scale) & (scale > 0)
    if not still.any():
        return []
    reason = f"two calls on one generator share the noise of {int(still.sum())} of {still.size} numbers"
    return [Observation("reuse", "violated", reason)]


def _name(draw: Draw) -> str:
    """Return the function that drew, with its source where that is not rng, and the place."""
    return f"{draw.source}.{draw.method}{_at(draw)}"


def _at(draw: Draw) -> str:
    return f" at {shown_place(draw.place)}" if draw.place else ""


def _kinds(draws: Sequence[Draw]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the method and shape of each draw."""
    return [(draw.method, draw.shape) for draw in draws]


def _moved(before: Any) -> bool:
    """Say whether numpy.random's global state differs from what it was before."""
    now = np.random.get_state(legacy=False)  # noqa: NPY002
    same = all(np.array_equal(now["state"][k], before["state"][k]) for k in before["state"])
    return not same or bool(now["has_gauss"] != before["has_gauss"])


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a is b or a == b)
