"""Which part of a mechanism a leak is at, as far as a few recorded runs tell: a hint beside a verdict, never a verdict.

A membership audit sees outputs alone. Where it finds a violation, :func:`~.randomness.audit_randomness` looks at the
mechanism's draws on the same pair: what depends on the data, what is seeded, what is too small, and at which line.
Where the draws do not tell, :func:`~.inside.inside` looks at the lines that differ between the two data sets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from dpcheck.audits.inside import inside
from dpcheck.audits.randomness import audit_randomness

_SECONDS = 0.5  # of calls to the mechanism; the hint is left out where they take longer
_CAUSES = ("scale", "draws", "source", "reuse", "privacy")  # before what follows from them


def named_part(
    audit: Any, mechanism: Callable[..., Any], data: Any, neighbour: Any, *, vectorized: bool = False
) -> str:
    """Say what is wrong with which draw, at which line, where an audit found a violation and recorded runs tell.

    Parameters
    ----------
    audit : PrivacyAudit or SequentialAudit
        What was found on the pair.
    mechanism, data, neighbour, vectorized
        As the audit had them.

    Returns
    -------
    str
        One line; empty without a violation, and where the runs do not tell.

    Examples
    --------
    >>> import dpcheck
    >>> from dpcheck.audits.named_part import named_part
    >>> def noisy_sum(data, rng):
    ...     return sum(data) + rng.laplace(scale=1 / sum(data))
    >>> audit = dpcheck.audit_privacy(noisy_sum, [1, 1], [1, 4], epsilon=1.0, trials=2_000)
    >>> named_part(audit, noisy_sum, [1, 1], [1, 4]).partition(":")[0]
    'scale of draw 0, laplace, depends on the data'
    """
    if audit.verdict != "violated":
        return ""
    last = time.perf_counter() + _SECONDS

    def timed(dataset: Any, rng: Any) -> Any:
        if time.perf_counter() > last:
            raise TimeoutError
        return mechanism(dataset, rng, 1) if vectorized else mechanism(dataset, rng)

    epsilon = audit.epsilon if math.isfinite(audit.epsilon) else None
    try:
        found = audit_randomness(timed, data, neighbour, epsilon=epsilon, delta=audit.delta)
    except Exception:  # whatever hinders a hint must not hinder the audit
        found = None
    telling = [
        seen for seen in (found.observations if found else ())
        if seen.verdict == "violated" or (seen.topic in _CAUSES[:2] and seen.verdict == "inconclusive")
    ]  # fmt: skip
    if found is None or not telling:
        words, place = inside(mechanism, data, neighbour, vectorized=vectorized)
        return f"{words} ({place})" if words else ""
    cause = min(telling, key=lambda seen: _CAUSES.index(seen.topic))
    return found.implied.reason if cause.topic == "privacy" and found.implied else cause.reason
