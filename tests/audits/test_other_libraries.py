"""Mechanisms of other libraries as targets, and mechanisms whose randomness no seed fixes.

Each library's own mechanism keeps its claim, and breaks it once it is told half of the sensitivity that the data
have, or is used for other neighbours than it was calibrated for. A true claim is called violated with probability 5%
at most; the broken ones are off by a factor of two and more, and pass unseen with probability below 1e-6.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pytest

from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.errors import InputError
from dpcheck.events import Gaussian

TRIALS = 2_000


def coin(bit: int, _: Any) -> int:
    """Randomised response with log 3, from the operating system's generator."""
    return bit if secrets.randbelow(4) else 1 - bit


@pytest.mark.parametrize(("epsilon", "verdict"), [(1.4, "consistent"), (0.5, "violated")])
def test_a_mechanism_with_randomness_of_its_own(epsilon: float, verdict: str) -> None:
    """The truth is log 3 = 1.099. Its limit has a standard deviation of 0.05: 1.4 is refuted with probability below
    1e-6, 0.5 is not refuted with less."""
    audit = audit_privacy(coin, 1, 0, epsilon=epsilon, delta=0.0, trials=TRIALS, seeded=False)
    assert audit.verdict == verdict
    assert audit.seed is None
    assert audit.to_dict()["seed"] is None


def test_its_runs_are_not_shared_out() -> None:
    with pytest.raises(InputError, match=r"^jobs must be 1 where the mechanism's randomness is its own, got 2$"):
        audit_privacy(coin, 1, 0, epsilon=1.0, trials=TRIALS, seeded=False, jobs=2)
    with pytest.raises(InputError, match=r"draw all its randomness from rng.*seeded=False"):
        audit_privacy(coin, 1, 0, epsilon=1.0, trials=TRIALS)


SUMS = [pytest.param(1.0, "consistent", id="sensitivity 1"), pytest.param(2.0, "violated", id="in truth 2")]


@pytest.mark.parametrize(("total", "verdict"), SUMS)
def test_opendp_laplace(total: float, verdict: str) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measurement = dp.m.make_laplace(*space, scale=1.0)
    # no seed is fixed: with this room a false alarm has a probability below one in a million
    claimed = 1.25 * measurement.map(1.0)
    audit = audit_privacy(
        lambda value, _: measurement(value), total, 0.0, epsilon=claimed, delta=0.0, trials=TRIALS, seeded=False
    )
    assert audit.verdict == verdict


@pytest.mark.parametrize(("total", "verdict"), SUMS)
def test_opendp_gaussian_as_renyi_claim(total: float, verdict: str) -> None:
    """The measurement's own promise, zero-concentrated: a Renyi divergence of rho times the order.

    No seed is fixed; turning the promise into a curve leaves room enough for that.
    """
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measurement = dp.m.make_gaussian(*space, scale=1.0)
    rho = measurement.map(1.0)
    claim = PrivacyClaim.renyi({order: rho * order for order in (1.5, 2, 2.5, 3, 4, 6, 10)})
    audit = audit_privacy(lambda value, _: measurement(value), total, 0.0, claim=claim, trials=TRIALS, seeded=False)
    assert audit.verdict == verdict


def diffprivlib(name: str) -> Any:
    # not installed, or not made for the scikit-learn that is
    return getattr(pytest.importorskip("diffprivlib.mechanisms", exc_type=ImportError), name)


@pytest.mark.parametrize(("total", "verdict"), SUMS)
def test_diffprivlib_laplace(total: float, verdict: str) -> None:
    laplace = diffprivlib("Laplace")

    def mechanism(value: float, rng: np.random.Generator) -> float:
        state = int(rng.integers(2**31))
        return float(laplace(epsilon=1.0, sensitivity=1.0, random_state=state).randomise(value))

    assert audit_privacy(mechanism, total, 0.0, epsilon=1.0, delta=0.0, trials=TRIALS).verdict == verdict


@pytest.mark.parametrize(("total", "verdict"), SUMS)
def test_diffprivlib_analytic_gaussian(total: float, verdict: str) -> None:
    gaussian = diffprivlib("GaussianAnalytic")

    def mechanism(value: float, rng: np.random.Generator) -> float:
        state = int(rng.integers(2**31))
        return float(gaussian(epsilon=2.0, delta=0.05, sensitivity=1.0, random_state=state).randomise(value))

    assert audit_privacy(mechanism, total, 0.0, epsilon=2.0, delta=0.05, trials=TRIALS).verdict == verdict


CANARIES = [pytest.param("absent", "consistent", id="removed"), pytest.param("opposite", "violated", id="replaced")]


def canary_and_neighbour(neighbour: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, 3) whose gradient at zero is along themselves; a canary that clipping cuts, and what it is without."""
    plain = np.array([[0.0, 0.3, 0.0], [0.0, 0.0, 0.2]])
    canary, opposite = [[4.0, 0.0, 0.0]], [[-4.0, 0.0, 0.0]]
    # the batch keeps its size: a record of zeros has no gradient
    return np.append(plain, canary, 0), np.append(plain, opposite if neighbour == "opposite" else [[0.0] * 3], 0)


def of_one_step(mechanism: Any, neighbour: str, **options: Any) -> PrivacyAudit:
    """Calibrated for a record added or removed: noise of a clipping norm. One replaced moves the sum by two."""
    return audit_privacy(mechanism, *canary_and_neighbour(neighbour), claim=Gaussian(1.0), **options)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")  # as Opacus works
@pytest.mark.parametrize(("neighbour", "verdict"), CANARIES)
def test_opacus_step_of_dp_sgd(neighbour: str, verdict: str) -> None:
    torch = pytest.importorskip("torch")
    opacus = pytest.importorskip("opacus")
    from opacus.optimizers import DPOptimizer

    torch.set_num_threads(1)
    model = opacus.GradSampleModule(torch.nn.Linear(3, 1, bias=False))
    weights = next(model.parameters())

    def step(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        torch.nn.init.zeros_(weights)
        optimizer = DPOptimizer(
            torch.optim.SGD([weights], lr=1.0), noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=1,
            generator=torch.Generator().manual_seed(int(rng.integers(2**62))),
        )  # fmt: skip
        model(torch.as_tensor(rows, dtype=torch.float32)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        return weights.detach().numpy().ravel().copy()

    assert of_one_step(step, neighbour, trials=500).verdict == verdict


@pytest.mark.filterwarnings("ignore:optax.global_norm is deprecated")  # jax_privacy's business
@pytest.mark.parametrize(("neighbour", "verdict"), CANARIES)
def test_jax_privacy_gradient(neighbour: str, verdict: str) -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip("jax_privacy")
    from jax_privacy import clipping, noise_addition

    gradient = clipping.clipped_grad(lambda w, row: (row @ w).sum(), l2_clip_norm=1.0, keep_batch_dim=False)

    @jax.jit
    def noisy(rows: Any, key: Any) -> Any:
        total = gradient(np.zeros(3), rows)
        privatizer = noise_addition.gaussian_privatizer(stddev=1.0, prng_key=key)
        return privatizer.update(total, privatizer.init(total))[0]

    def steps(rows: np.ndarray, rng: np.random.Generator, size: int) -> np.ndarray:
        keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), size)
        return np.asarray(jax.vmap(noisy, (None, 0))(rows, keys), float)

    assert of_one_step(steps, neighbour, trials=TRIALS, vectorized=True).verdict == verdict
