"""Assertions for other people's test suites: each fails with the witness and the counts.

>>> import numpy as np
>>> from dpcheck.testing import assert_private
>>> def noisy_sum(data, rng):
...     return sum(data) + rng.laplace(scale=1 / 0.5)
>>> assert_private(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.5, trials=2000)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from dpcheck.audits.membership import PrivacyAudit


def assert_private(
    mechanism: Callable[..., Any], data: Any, neighbour: Any, *, epsilon: float | None = None, delta: float = 0.0,
    claim: Any = None, trials: int = 100_000, confidence: float = 0.95, seed: int = 0, seeded: bool = True,
    jobs: int | None = None, vectorized: bool = False,
) -> None:  # fmt: skip
    """Fail where :func:`dpcheck.audit_privacy` finds the claim violated, or could not have.

    A correct mechanism fails with probability at most ``1 - confidence`` over the choice of seed.
    """
    from dpcheck.audits.membership import audit_privacy

    require_private(
        audit_privacy(
            mechanism, data, neighbour, epsilon=epsilon, delta=delta, claim=claim, trials=trials,
            confidence=confidence, seed=seed, seeded=seeded, jobs=jobs, vectorized=vectorized,
        )
    )  # fmt: skip


def require_private(audit: PrivacyAudit) -> None:
    """Fail unless the audit is consistent with its claim."""
    if audit.verdict == "violated":
        raise AssertionError(
            f"not {audit.claim.replace('privacy', 'private')}: epsilon >= {audit.epsilon_lower:.4g} at delta "
            f"{audit.delta:g} with confidence {audit.confidence:g}; witness: {audit.event}"
        )
    if audit.verdict == "inconclusive":
        raise AssertionError(f"{audit.trials} trials cannot show a violation of {audit.claim}: use more")


def assert_sensitivity(
    query: Callable[[Any], Any], dataset: Any, replacements: Sequence[Any], *, claimed: float,
    norm: float = 2, seed: int = 0,
) -> None:  # fmt: skip
    """Fail where :func:`dpcheck.audit_sensitivity` finds neighbours farther apart than ``claimed``."""
    from dpcheck.audits.sensitivity import audit_sensitivity

    audit = audit_sensitivity(query, dataset, replacements, claimed=claimed, norm=norm, seed=seed)
    if audit.verdict == "violated":
        assert audit.witness is not None
        raise AssertionError(
            f"sensitivity {audit.sensitivity:.6g} exceeds the claimed {claimed:g} in norm {norm:g}: in "
            f"{audit.witness.base}, record {audit.witness.index} becomes {audit.witness.replacement}"
        )


def assert_noise(
    mechanism: Callable[[Any, Any], Any], data: Any, *, distribution: str = "gaussian", scale: float,
    trials: int = 10_000, confidence: float = 0.95, seed: int = 0,
) -> None:  # fmt: skip
    """Fail where :func:`dpcheck.audit_noise` sees another scale, shape or dependence."""
    from dpcheck.audits.noise import audit_noise

    audit = audit_noise(
        mechanism, data, distribution=distribution, scale=scale, trials=trials, confidence=confidence, seed=seed
    )
    if audit.verdict == "violated":
        raise AssertionError(f"the noise is not {distribution} of scale {scale:g}: {audit.reason}")


def assert_rate(
    frame: pd.DataFrame, *, response: str, factors: Sequence[str], claimed: Mapping[str, float],
    confidence: float = 0.95, margin: float = 0.1, cluster: str | None = None, offset: str | None = None,
    equal: bool = False,
) -> None:  # fmt: skip
    """Fail unless :func:`dpcheck.fit_rate` supports every claimed exponent.

    The first line of the failure is the verdict's sentence; below it stands a line a factor.
    """
    from dpcheck.audits.rates import fit_rate

    fit = fit_rate(
        frame, response=response, factors=factors, claimed=claimed, confidence=confidence, margin=margin,
        cluster=cluster, offset=offset, equal=equal,
    )  # fmt: skip
    if fit.verdict != "supported":
        measured = []
        for name, (low, high) in fit.interval.items():
            number = f"{fit.exponents[name]:.3f} [{low:.3f}, {high:.3f}]"
            measured.append(f"  {name}: measured {number}, claimed {claimed.get(name, 'nothing')}")
        raise AssertionError("\n".join([fit.reason, *measured]))
