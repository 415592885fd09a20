"""Assertions for other people's test suites: each fails with the witness and the counts.

>>> import numpy as np
>>> from dpcheck.testing import assert_private
>>> def noisy_sum(data, rng):
...     return sum(data) + rng.laplace(scale=1 / 0.5)
>>> assert_private(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.5, trials=2000)
"""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec

from dpcheck.arguments import checked
from dpcheck.errors import InputError, is_finite, require
from dpcheck.source import place_of

if TYPE_CHECKING:
    import pandas as pd

    from dpcheck.audits.membership import PrivacyAudit

_Arguments = ParamSpec("_Arguments")


def _at_the_test(assertion: Callable[_Arguments, None]) -> Callable[_Arguments, None]:
    """Let wrong input fail at the line of the test that gives it, without what lies below."""

    @functools.wraps(assertion)
    def call(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> None:
        __tracebackhide__ = True
        try:
            assertion(*arguments, **named)
        except InputError as error:
            raise error.with_traceback(None) from None

    return call


@_at_the_test
@checked
def assert_private(
    mechanism: Callable[..., Any], data: Any, neighbour: Any, *, epsilon: float | None = None, delta: float = 0.0,
    claim: Any = None, trials: int = 100_000, confidence: float = 0.95, seed: int = 0, seeded: bool = True,
    jobs: int | None = None, vectorized: bool = False,
) -> None:  # fmt: skip
    """Fail where :func:`dpcheck.audit_privacy` finds the claim violated, or could not have found it.

    A correct mechanism fails with probability at most ``1 - confidence`` over the choice of seed.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> any output``, or with ``vectorized`` ``(dataset, rng, size) -> array`` of shape (size,)
        or (size, ...).
    data, neighbour : object
        Two datasets that differ in one record, in any form that the mechanism takes.
    epsilon : float, optional
        Claimed epsilon >= 0 (natural log); either it or ``claim`` is given.
    delta : float
        Claimed delta in [0, 1); with ``claim``, the delta at which a failure states epsilon, where 0 stands for 1e-5.
    claim : PrivacyClaim, event, sequence of events or callable, optional
        A claim of more than one point in place of ``epsilon``.
    trials : int
        Runs on each dataset, at least 100.
    confidence : float
        One-sided confidence of the lower bound on epsilon, in (0.5, 1).
    seed : int
        Seed of all randomness, >= 0.
    seeded : bool
        False for a mechanism with randomness of its own; ``jobs`` must then be 1.
    jobs : int, optional
        Processes, or threads where ``vectorized``; 1 by default.
    vectorized : bool
        Whether one call of the mechanism returns ``size`` outputs.

    Raises
    ------
    AssertionError
        With the witness and its counts, or with the advice to use more trials.
    InputError
        As :func:`dpcheck.audit_privacy` does.

    Examples
    --------
    >>> from dpcheck.testing import assert_private
    >>> def noisy_sum(data, rng):
    ...     return sum(data) + rng.laplace(scale=1 / 0.5)
    >>> assert_private(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.5, trials=2000)
    """
    __tracebackhide__ = True
    from dpcheck.audits.membership import audit_privacy
    from dpcheck.audits.named_part import named_part

    unnamed = claim is not None and is_finite(delta) and delta == 0
    audit = audit_privacy(
        mechanism, data, neighbour, epsilon=epsilon, delta=None if unnamed else delta,
        claim=claim, trials=trials, confidence=confidence, seed=seed, seeded=seeded, jobs=jobs, vectorized=vectorized,
    )  # fmt: skip
    part = named_part(audit, mechanism, data, neighbour, vectorized=vectorized)
    require_private(audit, place_of(mechanism), part)


@checked
def require_private(audit: PrivacyAudit, place: str = "", part: str = "") -> None:
    """Fail unless an audit is consistent with its claim.

    Parameters
    ----------
    audit : PrivacyAudit
        What :func:`dpcheck.audit_privacy` returned.
    place : str
        File and line of the mechanism, which a failure names.
    part : str
        What is wrong with it, where that is known (:func:`~dpcheck.audits.named_part.named_part`).

    Raises
    ------
    AssertionError
        With epsilon, the witness and its counts, the seed and the line that runs it again; or with the advice to use
        more trials.
    """
    __tracebackhide__ = True
    require(hasattr(audit, "epsilon_lower"), "audit", "be an audit of privacy", type(audit).__name__)
    if audit.verdict == "violated":
        hint = f"\nhint: {part}" if part else ""
        raise AssertionError(
            f"epsilon >= {audit.epsilon_lower:.4g} where {audit.epsilon:.4g} is claimed, at delta {audit.delta:g} with "
            f"confidence {audit.confidence:g}: not {audit.claim.replace('privacy', 'private')}\n"
            f"witness: {audit.witness}\n{_again(audit, place)}{hint}"
        )
    if audit.verdict == "inconclusive":
        raise AssertionError(
            f"{audit.trials} trials cannot show a violation of {audit.claim}: use more\n{_again(audit, place)}"
        )


def _again(audit: PrivacyAudit, place: str) -> str:
    """Return the mechanism's line, the seed, and the line that runs the audit again: the test's, where one runs."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    seed = "none, since its randomness is the mechanism's own" if audit.seed is None else audit.seed
    where = f"mechanism: {place}\n" if place else ""
    return f"{where}seed: {seed}, {audit.trials} trials" + (f"\nrerun: pytest {shlex.quote(test)}" if test else "")


@_at_the_test
@checked
def assert_sensitivity(
    query: Callable[[Any], Any], dataset: Any, replacements: Sequence[Any], *, claimed: float,
    norm: float = 2, seed: int = 0,
) -> None:  # fmt: skip
    """Fail where :func:`dpcheck.audit_sensitivity` finds neighbours farther apart than ``claimed``.

    Parameters
    ----------
    query : callable
        ``dataset -> number or array``, without randomness.
    dataset : ndarray (n, ...) or list
        At least one record.
    replacements : sequence of records
        Records that may take the place of one.
    claimed : float
        Claimed sensitivity, finite and >= 0.
    norm : {1, 2, inf}
        The norm in which outputs are compared.
    seed : int
        Seed of the search, >= 0.

    Raises
    ------
    AssertionError
        With the pair of neighbours.
    InputError
        As :func:`dpcheck.audit_sensitivity` does.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcheck.testing import assert_sensitivity
    >>> assert_sensitivity(np.mean, np.zeros(10), [0.0, 1.0], claimed=0.1)
    """
    __tracebackhide__ = True
    from dpcheck.audits.sensitivity import audit_sensitivity

    audit = audit_sensitivity(query, dataset, replacements, claimed=claimed, norm=norm, seed=seed)
    if audit.verdict == "violated":
        assert audit.witness is not None
        raise AssertionError(
            f"sensitivity {audit.sensitivity:.6g} exceeds the claimed {claimed:g} in norm {norm:g}: in "
            f"{audit.witness.base}, record {audit.witness.index} becomes {audit.witness.replacement}"
        )


@_at_the_test
@checked
def assert_noise(
    mechanism: Callable[[Any, Any], Any], data: Any, *, distribution: str = "gaussian", scale: float,
    trials: int = 10_000, confidence: float = 0.95, seed: int = 0,
) -> None:  # fmt: skip
    """Fail where :func:`dpcheck.audit_noise` sees another scale, shape or dependence than claimed.

    Parameters
    ----------
    mechanism : callable
        ``(data, rng) -> number or array`` of one shape.
    data : object
        The dataset of every call.
    distribution : {"gaussian", "laplace", "exponential", "discrete_gaussian", "geometric"}
        The claimed law of each coordinate.
    scale : float
        Its scale > 0, as in :func:`dpcheck.audit_noise`.
    trials : int
        Calls, at least 50.
    confidence : float
        One minus the level of all tests together, in (0.5, 1).
    seed : int
        Seed of all randomness, >= 0.

    Raises
    ------
    AssertionError
        With what the tests saw.
    InputError
        As :func:`dpcheck.audit_noise` does.

    Examples
    --------
    >>> from dpcheck.testing import assert_noise
    >>> assert_noise(lambda data, rng: sum(data) + rng.laplace(scale=2.0), [1, 0], distribution="laplace", scale=2.0,
    ...     trials=500)
    """
    __tracebackhide__ = True
    from dpcheck.audits.noise import audit_noise

    audit = audit_noise(
        mechanism, data, distribution=distribution, scale=scale, trials=trials, confidence=confidence, seed=seed
    )
    if audit.verdict == "violated":
        raise AssertionError(f"the noise is not {distribution} of scale {scale:g}: {audit.reason}")


@_at_the_test
@checked
def assert_rate(
    frame: pd.DataFrame, *, response: str, factors: Sequence[str], claimed: Mapping[str, float],
    confidence: float = 0.95, margin: float = 0.1, cluster: str | None = None, offset: str | None = None,
    equal: bool = False,
) -> None:  # fmt: skip
    """Fail unless :func:`dpcheck.fit_rate` supports every claimed exponent.

    The first line of the failure is the verdict's sentence; a line for each factor stands below it.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table with one row for each measurement.
    response : str
        The column of the measured quantity.
    factors : sequence of str
        The columns whose powers are fitted.
    claimed : mapping of str to float
        The exponent of the upper bound for each factor.
    confidence : float
        One-sided confidence of each comparison, in (0.5, 1).
    margin : float
        How much slower than claimed still counts as supported; > 0.
    cluster : str, optional
        A column that names what rows share, such as one random stream.
    offset : str, optional
        A known factor of the law: a column, or a formula of columns such as ``"log(n)"``.
    equal : bool
        Whether the claim is an equality rather than an upper bound.

    Raises
    ------
    AssertionError
        With measured and claimed exponents.
    InputError
        As :func:`dpcheck.fit_rate` does.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from dpcheck.testing import assert_rate
    >>> n = np.repeat(500 * 2 ** np.arange(6), 10)
    >>> noise = np.exp(0.03 * np.random.default_rng(0).standard_normal(n.size))
    >>> assert_rate(pd.DataFrame({"n": n, "gap": noise / n}), response="gap", factors=["n"], claimed={"n": -1.0})
    """
    __tracebackhide__ = True
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
