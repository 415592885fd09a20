"""Canaries for somebody's training code: made up, put among the records by coins, and looked for in what is released.

:func:`planted` turns training code into the algorithm that :func:`dpcheck.audit_one_run` calls. A canary is in the data
or it is not, so neighbours are data with and without one record. Scores may use all that the auditor is allowed to see:
the last model, or every noisy gradient (white box).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.arrays import Floats, real_numbers, returned_numbers
from dpcheck.audits.running.datasets import read
from dpcheck.errors import require, require_positive, require_seed, require_work

Bools = NDArray[np.bool_]
_WEIGHED = 30  # canaries from which the variance of a step is known well enough to weigh it


def made_canaries(records: ArrayLike, number: int, *, factor: float = 10.0, seed: int = 0) -> Floats:
    """Make up records that lie far out, each in a direction of its own.

    Parameters
    ----------
    records : array_like, (n, ...)
        Ordinary records, one or more.
    number : int
        Canaries to make, at least 1. Up to the number of features their directions are orthogonal, so that a score
        which knows the direction hears little of the other canaries; beyond, they are random.
    factor : float
        Their norm over the largest of the records' distances from their mean, > 0.
    seed : int
        Seed of the directions, >= 0.

    Returns
    -------
    ndarray, (number, ...)
        The canaries, around the records' mean.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcheck.audits.canaries import made_canaries
    >>> made_canaries(np.eye(3), 2).shape
    (2, 3)
    """
    rows = real_numbers(records, "records")
    require(rows.ndim >= 2 and rows.size > 0, "records", "have shape (n, ...), none of them 0", rows.shape)
    require_work(number, "number")
    require_positive(factor, "factor")
    require_seed(seed)
    flat = rows.reshape(len(rows), -1)
    width, rng = flat.shape[1], np.random.default_rng(seed)
    sizes = [min(width, number - start) for start in range(0, number, width)]
    blocks = [np.linalg.qr(rng.normal(size=(width, size)))[0].T for size in sizes]
    away = float(np.linalg.norm(flat - flat.mean(0), axis=1).max()) or 1.0
    return np.asarray(flat.mean(0) + factor * away * np.concatenate(blocks)).reshape(number, *rows.shape[1:])


def planted(
    train: Callable[[Any, np.random.Generator], Any], records: Any, canaries: Any,
    score: Callable[[Any, Any], ArrayLike],
) -> Callable[[Bools, np.random.Generator], Floats]:  # fmt: skip
    """Return the algorithm of :func:`dpcheck.audit_one_run` that trains on records and the included canaries.

    Parameters
    ----------
    train : callable
        ``(data, rng) -> output``, the training code; ``data`` has the records, then the included canaries.
    records : array (n, ...) or list
        Records that are always in the data, which are of the same kind: an array of NumPy, torch or JAX, or a list.
    canaries : array (m, ...) or list
        Records like those: any array with an array, a list with a list. The score gets them as they are.
    score : callable
        ``(output, canaries) -> scores`` (m,), from the output alone, higher where a canary looks included; such as the
        negative loss of each canary, or :func:`along`.

    Returns
    -------
    callable
        ``(included, rng) -> scores``.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcheck
    >>> from dpcheck.audits.canaries import made_canaries, planted
    >>> def train(data, rng):  # one sum of clipped records, with a tenth of the noise it should have
    ...     norms = np.linalg.norm(data, axis=1, keepdims=True)
    ...     return (data / np.maximum(1, norms)).sum(0) + rng.normal(scale=0.4, size=1_000)
    >>> records = np.zeros((1, 1_000))
    >>> canaries = made_canaries(records, 1_000)
    >>> algorithm = planted(train, records, canaries, lambda released, rows: rows @ released)
    >>> dpcheck.audit_one_run(algorithm, 1_000, epsilon=1.0, delta=1e-5).verdict
    'violated'
    """
    require(callable(train), "train", "be callable", type(train).__name__)
    require(callable(score), "score", "be callable", type(score).__name__)
    given, planting = read(records), read(canaries, "canaries").values
    arrays = isinstance(given.values, np.ndarray)
    require(arrays == isinstance(planting, np.ndarray), "canaries", "be an array where records are", type(canaries))
    shapes = not arrays or (planting.ndim > 0 and planting.shape[1:] == given.values.shape[1:])
    require(shapes, "canaries", "have the shape of records", np.shape(planting)[1:])
    require(len(planting) > 0, "canaries", "hold at least one", 0)

    def algorithm(included: Bools, rng: np.random.Generator) -> Floats:
        joined: Any = (
            given.back(np.concatenate([given.values, planting[included]])) if arrays
            else [*given.values, *(canary for canary, here in zip(planting, included, strict=True) if here)]
        )  # fmt: skip
        return returned_numbers(score, "score", train(joined, rng), canaries)

    return algorithm


def along(released: ArrayLike, directions: ArrayLike) -> Floats:
    """Score canaries by what was released in the directions of their gradients, all steps together (white box).

    Parameters
    ----------
    released : array_like, (steps, k)
        Every noisy gradient of the run.
    directions : array_like, (m, k) or (steps, m, k)
        The gradient of each canary, at a fixed model or at the model of each step, of any length.

    Returns
    -------
    ndarray, (m,)
        The sums of the products with the directions' unit vectors; of 30 canaries and more, a step in which the
        products vary more than in others counts less, by the inverse of their variance.

    Examples
    --------
    >>> from dpcheck.audits.canaries import along
    >>> along([[1.0, 0.0], [1.0, 2.0]], [[3.0, 0.0], [0.0, 1.0]]).tolist()
    [2.0, 2.0]
    """
    seen, towards = real_numbers(released, "released"), real_numbers(directions, "directions")
    require(seen.ndim == 2, "released", "have shape (steps, k)", seen.shape)
    good = towards.ndim in (2, 3) and towards.shape[-1] == seen.shape[1] and towards.shape[:-2] in ((), seen.shape[:1])
    require(good, "directions", "have shape (m, k) or (steps, m, k)", towards.shape)
    unit = towards / np.maximum(np.linalg.norm(towards, axis=-1, keepdims=True), 1e-300)
    products = seen @ unit.T if towards.ndim == 2 else np.einsum("smk,sk->sm", unit, seen)
    if products.shape[1] < _WEIGHED or not (variance := products.var(axis=1)).any():
        return np.asarray(products.sum(axis=0))
    weights = 1 / np.maximum(variance, 1e-12 * variance.max())
    return np.asarray(weights @ products / weights.mean())
