"""Problems for the families of tests that go over all of them: each example, and one whose constants are all unequal.

A form or a constant that is right where two numbers are 1 or the same is seen on the other.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dpcheck.problems import PROBLEMS, example
from dpcheck.problems.auc import AUC
from dpcheck.problems.auc_mlp import AUCMLP
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.double_well import DoubleWell
from dpcheck.problems.ill_conditioned import IllConditioned
from dpcheck.problems.linear import Linear
from dpcheck.problems.matrix_sensing import MatrixSensing
from dpcheck.problems.mean_estimation import MeanEstimation
from dpcheck.problems.polyak import Polyak
from dpcheck.problems.product import Product
from dpcheck.problems.product_mirror import ProductMirror
from dpcheck.problems.quadratic import Quadratic
from dpcheck.problems.quartic import Quartic
from dpcheck.problems.sensing import Sensing
from dpcheck.problems.tanh_auc import TanhAUC
from dpcheck.problems.td_mlp import TDMLP
from dpcheck.problems.wgan import WGAN


@cache
def _uneven() -> dict[str, Any]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 6))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    y = np.where(np.arange(40) % 3, -1.0, 1.0)
    return {
        "auc": AUC.from_data(X[:, :3], y, positive_share=0.3, radius=0.8),
        "auc_mlp": AUCMLP.from_data(X, y, positive_share=0.4, hidden=(7, 5), slope=0.1, radius=2.5),
        "auc_mlp linear": AUCMLP.from_data(X, y, positive_share=0.4, hidden=(), slope=0.1, radius=2.5),
        "auc_mlp deep": AUCMLP.from_data(X, y, hidden=(4, 3, 2), slope=1.0, radius=1.5),
        "bilinear": Bilinear.sample(12, 3, rng, coupling=1.3, bound=0.8, radius=0.7),
        "cosine": Cosine.sample(5, 3, rng, amplitude=1.3, coupling=0.7, mu_y=0.8, bound=0.9),
        "double_well": DoubleWell.sample(30, 3, rng, descent=0.8, bound=0.7, radius=1.3),
        "ill_conditioned": IllConditioned.sample(12, 3, rng, mu=0.05, smoothness=2.0, bound=0.5, radius=0.9),
        "linear": Linear.sample(12, 3, rng, radius=1.3),
        "matrix_sensing": MatrixSensing.sample(
            4, 3, rng, rows=2, rank=2, size=1.0, bound_a=3.0, bound_b=4.0, radius=1.5, dual_radius=8.0
        ),
        "mean_estimation": MeanEstimation.sample(12, 3, rng, mu=0.7, bound=0.8, radius=1.5),
        "polyak": Polyak.sample(12, rng, rho=0.6, bound=0.7, radius=2.0),
        "product": Product.sample(12, 3, rng, mu=1.2, radius=0.8),
        "product_mirror": ProductMirror(Product.sample(12, 3, rng).records, mu=1.2, radius=0.8),
        "quadratic": Quadratic.sample(12, 3, rng, mu_x=0.5, mu_y=2.0, coupling=1.3, bound=0.8, radius=0.7),
        "quartic": Quartic.sample(5, 3, rng, curvature=1.2, mu_y=0.9),
        "sensing": Sensing.sample(30, 3, rng, rank=1, bound_a=0.9, bound_b=0.8, radius=2.0),
        "tanh_auc": TanhAUC.sample(6, 2, rng, positive_share=0.4),
        "td_mlp": TDMLP.chain(60, rng, hidden=5, gamma=0.5, radius=4.0),
        "wgan": WGAN.from_images(
            rng.random((30, 5)), latent=2, generator=(5,), discriminator=(4, 3), penalty=0.3, radius=3.0
        ),
        "wgan deep": WGAN.from_images(
            rng.random((30, 5)), latent=3, generator=(4, 6), discriminator=(3,), penalty=0.0, radius=3.0
        ),
    }  # fmt: skip


INSTANCES = (*PROBLEMS, *(f"{name}, uneven" for name in _uneven()))


def instance(label: str) -> Any:
    """Return the problem of a label: an example, or one of unequal constants."""
    name = label.removesuffix(", uneven")
    return example(name) if name == label else _uneven()[name]
