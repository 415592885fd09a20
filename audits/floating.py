"""A test of the low-order bits of the outputs, by which the arithmetic may reveal what the noise hides.

A continuous mechanism is computed on doubles [1], which lie closer together near 0 than near 1. The sum of a value and
its noise is rounded to the spacing at the sum or coarser, so that the set of doubles that can result depends on the
value: 0 + z may end in any bit, while 1 + z, where it lies near 0, ends in none below 2^-53. Textbook inverse-CDF
Laplace and Box-Muller Gaussian noise leak in this way, and so does ``value + rng.laplace()`` or ``value +
rng.normal()`` with NumPy's own generators. Two remedies are to round the sum to a public grid that is coarse beside the
spacing and chosen beforehand, and to draw discrete noise.

Null hypothesis: some numbers computed from the outputs are (epsilon, delta)-private, as post-processing of a private
mechanism is. They are the place of the lowest bit set in each output, the number of zeros below it in the significand
and, if the noise is Laplace, whether the textbook formula reaches the output from either value
(:func:`.unreachable`). A membership audit tests these numbers. Another one, of the outputs rounded to about a
thousandth of their spread, tells whether the leak shows without the low bits. Each has half the level.

[1] I. Mironov, "On significance of the least significant bits for differential privacy", CCS 2012.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.arguments import checked
from dpcheck.arrays import Floats, real_numbers
from dpcheck.audits.claim import stated_claim
from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.audits.running import SIDES
from dpcheck.audits.running.datasets import fingerprint, require_unchanged
from dpcheck.audits.running.recorder import Recorder, Silenced
from dpcheck.audits.scores.exact import low_bits
from dpcheck.errors import require_confidence, require_seed
from dpcheck.shown import Shown

# The values without noise on data and on neighbour, and the scale of the noise, each for one output.
Noise = tuple[Any, Any, Any]

_PILOT = 200
_FINENESS = 2.0**-10


@dataclass(frozen=True)
class FloatingPointAudit(Shown):
    """Two audits at one claim: of the low bits of the outputs, and of the outputs without them.

    Attributes
    ----------
    verdict : str
        ``"violated"`` where the low bits break the claim and the rounded outputs do not. Where those do too,
        ``"inconclusive"``: the algorithm leaks, and about its arithmetic nothing is shown.
    reason : str
        The verdict in a sentence.
    low_bits : PrivacyAudit
        Audit of what the low bits of each output tell.
    rounded : PrivacyAudit
        Audit of the outputs rounded to multiples of ``grid``.
    grid : float
        A power of two, about a thousandth of the outputs' spread.
    """

    verdict: str
    reason: str
    low_bits: PrivacyAudit
    rounded: PrivacyAudit
    grid: float

    def _facts(self) -> dict[str, Any]:
        audits = {"low bits": self.low_bits, "rounded": self.rounded}
        return {name: str(audit).partition("\n")[0] for name, audit in audits.items()} | {"grid": self.grid}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return vars(self) | {"low_bits": self.low_bits.to_dict(), "rounded": self.rounded.to_dict()}


@checked
def audit_floating_point(
    mechanism: Callable[..., Any], data: Any, neighbour: Any, *, epsilon: float | None = None, delta: float = 0.0,
    laplace: Noise | None = None, trials: int = 20_000, confidence: float = 0.95, seed: int = 0,
    jobs: int | None = None, vectorized: bool = False, progress: Callable[[int, int], None] | None = None,
) -> FloatingPointAudit:  # fmt: skip
    """Test whether the low-order bits of the outputs give away what the noise hides.

    Two audits share the level: one of what the low bits of each output tell, one of the outputs rounded to a grid,
    which says whether the leak shows without the low bits. A mechanism that keeps its claim is called violated with
    probability at most ``1 - confidence``.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> number or array``, or with ``vectorized`` ``(dataset, rng, size) -> array``, as in
        :func:`dpcheck.audit_privacy`.
    data, neighbour : object
        Two datasets that differ in one record. Noise other than Laplace shows most where one value without noise is
        near 0 and the other is not, by less than the noise.
    epsilon : float
        Claimed epsilon >= 0 (natural log); it has to be given.
    delta : float
        Claimed delta in [0, 1).
    laplace : tuple of float, optional
        The values without noise on data and on neighbour and the scale, for Laplace noise made by a formula of the
        mechanism's own; found out where it is drawn from ``rng.laplace``.
    trials : int
        Runs of each audit on each dataset, at least 100.
    confidence : float
        One-sided confidence of both audits together, in (0.5, 1).
    seed : int
        Seed of all randomness, >= 0.
    jobs : int, optional
        Processes, or threads where ``vectorized``; 1 by default. The result does not depend on it.
    vectorized : bool
        Whether one call of the mechanism returns ``size`` outputs.
    progress : callable, optional
        Called as ``progress(runs done, runs at most)``.

    Returns
    -------
    FloatingPointAudit
        The verdict and both audits.

    Raises
    ------
    InputError
        As :func:`dpcheck.audit_privacy` does.

    References
    ----------
    I. Mironov. On significance of the least significant bits for differential privacy. CCS 2012.

    Examples
    --------
    >>> import dpcheck
    >>> def release(value, rng, size):
    ...     return value + rng.laplace(size=size)
    >>> dpcheck.audit_floating_point(release, 1.0, 0.0, epsilon=1.0, trials=1_000, vectorized=True).verdict
    'violated'
    """
    stated_claim(epsilon, delta, None)  # before the time is spent
    require_confidence(confidence)
    require_seed(seed)

    def once(dataset: Any, rng: np.random.Generator) -> Any:
        return mechanism(dataset, rng, 1)[0] if vectorized else mechanism(dataset, rng)

    held = [(dataset, fingerprint(dataset)) for dataset in (data, neighbour)]
    grid = _grid(once, data, seed)
    known = _laplace(once, data, neighbour, seed) if laplace is None else laplace
    for dataset, before in held:
        require_unchanged(dataset, before)
    audits = []
    for k, seen in enumerate((partial(_low_bits, mechanism, known), partial(_rounded, mechanism, grid))):

        def report(done: int, total: int, offset: int = k) -> None:
            if progress is not None:
                progress(offset * total + done, 2 * total)

        audits.append(audit_privacy(
            seen, data, neighbour, epsilon=epsilon, delta=delta, trials=trials, confidence=(1 + confidence) / 2,
            seed=seed, jobs=jobs, vectorized=vectorized, progress=report,
        ))  # fmt: skip
    low, rounded = audits
    if rounded.verdict == "violated":
        verdict, reason = "inconclusive", f"the algorithm leaks by itself: {rounded.event}"
    elif low.verdict == "violated":
        verdict = "violated"
        names = ["the exponent of its lowest bit set", "the count of zeros below it"]
        if known is not None:
            names += [f"1 where Laplace noise cannot have made it on {side}" for side in SIDES]
        bits = f"with {len(names)} numbers for each output: {', '.join(names)}"
        reason = f"the arithmetic leaks: {low.event}, {bits}; rounded to {grid:g} nothing shows"
    else:
        verdict, reason = low.verdict, "the low-order bits show nothing beyond the claim"
    return FloatingPointAudit(verdict, reason, low, rounded, grid)


# Textbook Laplace noise on doubles, NumPy's included, is ``-b log(u)`` with either sign, for u on a grid of 2^-53. Away
# from the centre the values of that formula lie farther apart than doubles do. Most doubles are then never its outputs,
# and which ones are depends on the value to which the noise is added.

# Steps of u that are tried around the one sought, since the inverse of the formula is rounded.
_NEAR_STEPS = range(-8, 9)
# The C library's logarithm, as in NumPy's generators; numpy.log may round otherwise.
_LOG = np.frompyfunc(math.log, 1, 1)


def unreachable(outputs: ArrayLike, centre: ArrayLike, scale: ArrayLike) -> Floats:
    """Return 1.0 where no u near the right one gives ``centre -+ scale log(u)`` exactly, else 0.0, for each output."""
    values, middle, b = np.broadcast_arrays(*(np.asarray(v, float) for v in (outputs, centre, scale)))
    with np.errstate(all="ignore"):
        step = np.round(np.exp(-np.abs(values - middle) / b) * 2.0**53)
    reached = np.zeros(values.shape, bool)
    for near in _NEAR_STEPS:
        u = np.clip(np.nan_to_num(step) + near, 1, 2.0**53) * 2.0**-53
        noise = b * np.asarray(_LOG(u), float)
        reached |= (middle - noise == values) | (middle + noise == values)
    return np.asarray(np.where(reached, 0.0, 1.0))


def _low_bits(mechanism: Callable[..., Any], laplace: Noise | None, *arguments: Any) -> Floats:
    """Return two numbers for each output of a mechanism, or four if its Laplace noise is known."""
    outputs = real_numbers(mechanism(*arguments), "mechanism", verb="return")
    bits = low_bits(outputs)
    if laplace is None:
        return bits
    *centres, scale = laplace
    return np.concatenate([bits, *(unreachable(outputs, c, scale)[..., None] for c in centres)], axis=-1)


def _rounded(mechanism: Callable[..., Any], grid: float, *arguments: Any) -> Floats:
    outputs = real_numbers(mechanism(*arguments), "mechanism", verb="return")
    return np.asarray(np.round(outputs / grid) * grid)


def _laplace(run: Callable[[Any, np.random.Generator], Any], data: Any, neighbour: Any, seed: int) -> Noise | None:
    """Return values without noise and scales, if each output takes one draw from ``rng.laplace``."""
    try:
        recorder = Recorder(seed)
        shape = np.shape(run(data, recorder))
        draws = recorder.draws
        if any(draw.method != "laplace" for draw in draws) or recorder.standard.size != math.prod(shape):
            return None
        centres = [real_numbers(Silenced(run, seed)(dataset), "mechanism") for dataset in (data, neighbour)]
    except (Exception, SystemExit):  # the audits say what is wrong with it
        return None
    scale = np.concatenate([np.zeros(0), *(draw.scale for draw in draws)]).reshape(shape)
    good = centres[0].shape == centres[1].shape == shape and (scale > 0).all()
    return (centres[0], centres[1], scale) if good else None


def _grid(run: Callable[[Any, np.random.Generator], Any], data: Any, seed: int) -> float:
    """Return a power of 2 that is about a thousandth of the spread of the outputs."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    try:
        rows = real_numbers([run(data, rng) for _ in range(_PILOT)], "mechanism").reshape(_PILOT, -1)
    except (Exception, SystemExit):  # the audits say what is wrong with it
        return _FINENESS
    spread = np.subtract(*np.nanquantile(np.where(np.isfinite(rows), rows, np.nan), [0.75, 0.25], axis=0))
    size = float(np.min(spread[spread > 0], initial=np.inf))
    return _FINENESS * (2.0 ** np.floor(np.log2(size)) if np.isfinite(size) else 1.0)
