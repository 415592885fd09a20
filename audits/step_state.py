"""What the gradient of a training step keeps from call to call, such as momentum, and whether that was released.

A step is accounted by itself: what it releases may depend on its own minibatch and, from before, on earlier releases
alone. So two calls are made on one minibatch and then another, and once more with other records in the first, whose
noise is chosen so that it releases the same. Then the second release must be the same. Nothing here is statistical;
what the gradient keeps for longer than one call is not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.arrays import Floats
from dpcheck.audits.running.datasets import same
from dpcheck.audits.running.memory import Memory
from dpcheck.audits.running.recorder import Recorder
from dpcheck.audits.step_parts import StepFinding, TrainingStep, gathered, taken

_CLOSE = 1e-6  # relative to the noise and to the release: the same up to rounding
_MOVED = 1e-3  # of the noise: more than what rounding of the first release makes of the second
_MOST = 8  # records in a minibatch
_CHANGE = "Keep from step to step nothing but what was released, noise included"


def state_finding(step: TrainingStep, memory: Memory, records: Any, batch: int, seed: int) -> StepFinding:
    """Replay two calls of a gradient that keeps something, and say whether that was released."""
    size = min(batch, _MOST, len(records) // 2)
    first, second = taken(records, range(size)), taken(records, range(size, 2 * size))
    memory.restore()
    wanted, expected = step.release(first, Recorder(seed)), step.release(second, Recorder(seed + 1))
    names = [name.replace("argument 0 of a functools.partial", "params") for name in memory.changed()]
    kept = f"it keeps {' and '.join(names) or 'something'} from call to call"
    unknown = StepFinding(
        "state", "inconclusive", f"{kept}; whether that was released is not known, since its noise cannot be chosen",
        "Draw the noise with rng.normal, or release the gradient without momentum and apply it outside",
    )  # fmt: skip
    for record in (records[-1], records[len(records) // 2]):
        others = gathered(records, [record] * size)
        rng = _same_release(step, memory, others, wanted, seed)
        memory.restore()
        if rng is None or not _close(step.release(others, rng), wanted, step.noise):
            return unknown
        moved = step.release(second, Recorder(seed + 1))
        by = float(np.linalg.norm(np.where(same(moved, expected), 0.0, moved - expected))) / step.noise
        if not by <= _MOVED:  # NaN is far
            reason = (
                f"{kept}: other records in a minibatch, which released the same, move the next release by {by:.3g} "
                "standard deviations of its noise, so that what is accounted for each step does not add up"
            )
            return StepFinding("state", "violated", reason, _CHANGE)
    return StepFinding(
        "state", "consistent", f"{kept}, and of records no more than was released, as far as two calls show: the next "
        f"release stays within {_MOVED:g} standard deviations of its noise",
    )  # fmt: skip


def _same_release(step: TrainingStep, memory: Memory, batch: Any, wanted: Floats, seed: int) -> Recorder | None:
    """Return the draws for which a minibatch releases what is wanted; None unless each number has its own noise."""
    recorder = Recorder(seed)
    memory.restore()
    released = step.release(batch, recorder)
    noise = recorder.standard
    if recorder.bypassed or not noise.size == released.size == wanted.size:
        return None
    memory.restore()
    slope = step.release(batch, Recorder(seed, standard=noise + 1)) - released
    if not np.isfinite(slope).all() or not slope.all():
        return None
    return Recorder(seed, standard=noise + (wanted - released) / slope)


def _close(one: Floats, other: Floats, noise: float) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=_CLOSE, atol=_CLOSE * noise, equal_nan=True)
