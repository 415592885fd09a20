"""The small problems of the runs that are followed: their domains and clipping bind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Problem


@cache
def problem(name: str, **constants: Any) -> Problem:
    """Return a small problem whose domains and clipping bind; its records are the same in every check."""
    rng = np.random.default_rng(sum(name.encode()))
    made: Callable[[], Any] = {
        "auc": _auc,
        "bilinear": lambda: _class("bilinear.Bilinear").sample(30, 3, rng, coupling=1.5, radius=0.4),
        "cosine": lambda: _class("cosine.Cosine").sample(30, 2, rng),
        "quadratic": lambda: _class("quadratic.Quadratic").sample(30, 3, rng, mu_x=0.5, mu_y=2.0, radius=0.8),
        "quartic": lambda: _class("quartic.Quartic").sample(30, 3, rng, radius=0.5),
        "double_well": lambda: _well(rng, 0.3),
        "sensing": lambda: _class("sensing.Sensing").sample(30, 3, rng, rank=1, bound_a=0.9, bound_b=0.8, radius=2.0),
        "wide double_well": lambda: _class("double_well.DoubleWell").sample(
            30, 3, rng, descent=0.8, bound=0.7, radius=1.3
        ),
        "wide cosine": lambda: _class("cosine.Cosine").sample(500, 2, rng),
        "mean_estimation": lambda: _class("mean_estimation.MeanEstimation").sample(50, 3, rng, mu=0.7),
        "linear": lambda: _class("linear.Linear").sample(50, 3, rng),
        "wide quadratic": lambda: _class("quadratic.Quadratic").sample(50, 3, rng, mu_x=0.5, mu_y=2.0, radius=2.0),
        "tight quadratic": lambda: _class("quadratic.Quadratic").sample(50, 3, rng, mu_x=3.0, mu_y=2.0, radius=0.05),
        "game": lambda: _class("bilinear.Bilinear").sample(50, 3, rng),
        "product": lambda: _class("product.Product").sample(50, 3, rng, mu=1.5),
        "product_mirror": lambda: _class("product_mirror.ProductMirror").sample(50, 3, rng, mu=1.5),
    }[name]
    found: Problem = made()
    return found


def _class(path: str) -> Any:
    import importlib

    module, name = path.split(".")
    return getattr(importlib.import_module(f"dpcheck.problems.{module}"), name)


def _well(rng: np.random.Generator, radius: float) -> Problem:
    found: Problem = _class("double_well.DoubleWell").sample(30, 3, rng, descent=0.8, bound=0.7, radius=radius)
    return found


def _auc() -> Problem:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(30, 3))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    labels = np.where(np.arange(30) % 3, -1.0, 1.0)
    found: Problem = _class("auc.AUC").from_data(X, labels, positive_share=0.3, radius=0.5)
    return found
