"""Minimax objectives with per-record gradients and closed forms, one a file, and the door to them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.errors import require_known, require_seed

if TYPE_CHECKING:
    from dpcheck.algorithms.problem import Problem

PROBLEMS = {
    "auc": "AUC",
    "auc_mlp": "AUCMLP",
    "bilinear": "Bilinear",
    "classification": "Classification",
    "cosine": "Cosine",
    "cubic": "Cubic",
    "double_well": "DoubleWell",
    "factorisation": "Factorisation",
    "group_dro": "GroupDRO",
    "hinge_game": "HingeGame",
    "huber": "Huber",
    "hyperbola": "Hyperbola",
    "ill_conditioned": "IllConditioned",
    "linear": "Linear",
    "linear_td": "LinearTD",
    "matrix_sensing": "MatrixSensing",
    "mdp": "MDP",
    "mean_estimation": "MeanEstimation",
    "nonconvex_quadratic": "NonconvexQuadratic",
    "polyak": "Polyak",
    "product": "Product",
    "product_mirror": "ProductMirror",
    "quadratic": "Quadratic",
    "quartic": "Quartic",
    "sensing": "Sensing",
    "shift": "Shift",
    "square": "Square",
    "tanh_auc": "TanhAUC",
    "td_mlp": "TDMLP",
    "tight": "Tight",
    "wgan": "WGAN",
    "worst_group": "WorstGroup",
}


def example(name: str, *, seed: int = 0) -> Problem:
    """Make a small instance of a problem.

    Parameters
    ----------
    name : str
        One of ``PROBLEMS``; ``dpcheck list`` shows them.
    seed : int
        Seed of its records.

    Returns
    -------
    Problem
        The instance.

    Raises
    ------
    InputError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> from dpcheck.problems import example
    >>> example("quadratic").records.shape
    (200, 6)
    """
    require_seed(seed)
    require_known(name, PROBLEMS, "problem")
    found = getattr(importlib.import_module(f"dpcheck.problems.{name}"), PROBLEMS[name])
    instance: Problem = found.example(np.random.default_rng(seed))
    return instance
