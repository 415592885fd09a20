"""Lipschitz constants of steps, and the shift of their last iterate, against matrices whose norms are computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sympy

import dpcheck
from dpcheck.accounting.last_iterate import shift_of_last
from dpcheck.bounds.registry import theorem, theorems

RNG = np.random.default_rng
Point = tuple[str, dict[str, float], Any, Any]  # theorem, its letters, the step's matrix, the deviations of the noise


def blocks(rng: np.random.Generator) -> tuple[Any, Any, Any, float]:
    """Curvatures of w and v, in 2 dimensions each, their coupling, and the least curvature."""

    def curved() -> Any:
        root = rng.normal(size=(2, 2))
        return root @ root.T + rng.uniform(0.1, 2) * np.eye(2)

    a, c, b = curved(), curved(), rng.normal(size=(2, 2)) * 10 ** rng.uniform(-2, 0.5)
    return a, c, b, float(min(np.linalg.eigvalsh(a)[0], np.linalg.eigvalsh(c)[0]))


def points(number: int) -> Iterator[Point]:
    """Random quadratic saddles, and what each theorem takes of them."""
    rng, even = RNG(7), np.eye(4)
    for _ in range(number):
        a, c, b, mu = blocks(rng)
        operator = np.block([[a, b], [-b.T, c]])
        size, ell = float(np.linalg.norm(operator, 2)), float(np.linalg.norm(b, 2))
        eta = float(rng.uniform(0.05, 1) * mu / size**2)
        step = even - eta * operator
        yield "saddle_step", {"eta": eta, "mu": mu, "L": size}, step, even
        slack = 1 / float(np.linalg.eigvalsh(np.linalg.inv(operator) + np.linalg.inv(operator).T)[0] / 2)
        yield "cocoercive_step", {"eta": eta, "mu": mu, "ell": slack}, step, even
        skew = np.block([[np.zeros((2, 2)), b], [-b.T, np.zeros((2, 2))]])
        small = float(rng.uniform(0.05, 1) / (mu + ell))
        yield (
            "regularised_saddle_step",
            {"eta": small, "mu": mu, "ell": ell},
            even * (1 - small * mu) - small * skew,
            even,
        )
        extra = even - eta * operator @ (even - eta * operator)
        if 2 * eta * mu + eta**2 * size**2 <= 1:
            yield "linear_extragradient_step", {"eta": eta, "mu": mu, "L": size}, extra, even
        yield "extragradient_step", {"eta": eta, "mu": mu, "L": size}, extra, even
        top = float(np.linalg.norm(a, 2))
        curved = float(np.linalg.eigvalsh(a)[0])
        short = float(rng.uniform(0.05, 2) / (curved + top))
        yield "gradient_step", {"eta": short, "mu": curved, "L": top}, np.eye(2) - short * a, even
        slow = min(short, 2 / (mu + float(np.linalg.norm(c, 2))))
        first = np.block([[np.eye(2) - slow * a, -slow * b], [np.zeros((2, 2)), np.eye(2)]])
        second = np.block([[np.eye(2), np.zeros((2, 2))], [slow * b.T, np.eye(2) - slow * c]])
        yield "alternating_step", {"eta": slow, "mu": mu, "ell": ell}, second @ first, even
        sigma_w, sigma_v = (float(10 ** rng.uniform(-1, 1)) for _ in range(2))
        scale = np.diag([sigma_w, sigma_w, sigma_v, sigma_v])
        values = {"eta": eta, "mu": mu, "L": size, "ell": ell, "sigma_w": sigma_w, "sigma_v": sigma_v}
        yield "unequal_noise", values, step, scale
        ratio = (sigma_v / sigma_w) ** 2
        scaled = np.block([[a * sigma_w**2, b * sigma_w * sigma_v], [-b.T * sigma_w * sigma_v, c * sigma_v**2]])
        most, least = float(np.linalg.norm(scaled, 2)) / sigma_w**2, np.linalg.eigvalsh(a)[0]
        least = float(min(least, ratio * np.linalg.eigvalsh(c)[0]))
        eta_w = float(rng.uniform(0.05, 1) * least / most**2)
        turned = even - np.diag([eta_w, eta_w, eta_w * ratio, eta_w * ratio]) @ operator
        yield "proportional_steps", {"eta_w": eta_w, "mu": least, "L": most}, turned, scale


def formulas() -> dict[str, Callable[..., float]]:
    found = {}
    for thm in theorems("bok2024"):
        letters = sorted((p.symbol for p in thm.parameters), key=str)
        plain = sympy.lambdify(letters, thm.bound_formula, "math")
        found[thm.id.removeprefix("bok2024.")] = lambda _plain=plain, **values: _plain(
            *(values[name] for name in sorted(values))  # in the order of the letters
        )
    return found


def test_no_step_expands_more_than_its_theorem_says() -> None:
    """In the norm in which its noise is spherical; exact for a bilinear coupling with a regulariser."""
    bounds, tried, exact = formulas(), dict[str, int](), 0.0
    for name, values, step, scale in points(200):
        scale = scale[: len(step), : len(step)]
        norm = float(np.linalg.norm(np.linalg.inv(scale) @ step @ scale, 2))
        assert norm <= bounds[name](**values) * (1 + 1e-9), (name, values)
        tried[name] = tried.get(name, 0) + 1
        if name == "regularised_saddle_step":
            exact = max(exact, bounds[name](**values) / norm - 1)
    assert exact < 1e-9
    assert min(tried.values()) > 100 and tried.keys() == {
        name for name in bounds if name.endswith(("step", "steps", "noise"))
    }


def test_no_last_iterate_of_a_quadratic_saddle_is_above_its_shift() -> None:
    """Their laws are Gaussian: means apart by the sum of powers, whatever the covariance has become."""
    bounds, rng, nearest = formulas(), RNG(3), 0.0
    for name, values, step, scale in points(200):
        c = bounds[name](**values)
        direction = rng.normal(size=len(step))
        scale = scale[: len(step), : len(step)]
        added = scale @ direction / np.linalg.norm(direction)  # length 1 in units of the noise
        steps = int(rng.integers(1, 60 if c <= 1 else 5))  # maps that expand go far
        mean, spread = np.zeros(len(step)), np.zeros_like(step)
        for _ in range(steps):
            mean, spread = step @ mean + added, step @ spread @ step.T + scale @ scale
        truth = math.sqrt(float(mean @ np.linalg.solve(spread, mean)))
        assert truth <= shift_of_last(steps, c) * (1 + 1e-9), (name, values, steps)
        nearest = max(nearest, truth / shift_of_last(steps, c))
    assert nearest > 0.9


def test_the_formulas_of_the_catalogue_are_those_that_certify() -> None:
    for steps, c, s, sigma in [(1000, 0.9, 1.0, 1.0), (7, 0.5, 0.3, 2.0)]:
        mu = theorem("bok2024.full_batch").bound(T=steps, s=s, sigma=sigma, c=c)
        assert shift_of_last(steps, c) * s / sigma == pytest.approx(mu, rel=1e-9)
        cyclic = theorem("bok2024.cyclic").bound(l=4, E=steps, s=s, sigma=sigma, c=c)
        assert shift_of_last(steps, c, batches=4) * s / sigma == pytest.approx(cyclic, rel=1e-9)
        last = min(theorem("bok2024.diameter").bound(m=m, D=0.2, s=s, sigma=sigma, c=c) for m in range(1, 8))
        assert shift_of_last(7, c, 0.2 / s) * s / sigma == pytest.approx(min(last, shift_of_last(7, c) * s / sigma))


def test_an_audit_of_the_last_iterate_comes_near_its_certificate() -> None:
    """A quadratic, whose last iterate is a number: at delta .01 above .8 of what is certified, and never above it."""
    from dpcheck.events import Gaussian, Repeated

    c, steps, z, delta = 0.9, 30, 4.0, 0.01

    def last(data: Any, rng: np.random.Generator, size: int) -> Any:
        w = np.zeros(size)
        for _ in range(steps):
            w = c * w + data.mean() + rng.normal(scale=z * 2 / len(data), size=size)
        return w

    certified = dpcheck.certify(Repeated(Gaussian(z), steps), delta, released="last", contraction=c).epsilon
    data, neighbour = np.ones(4), np.array([1.0, 1.0, 1.0, -1.0])
    audit = dpcheck.audit_privacy(
        last, data, neighbour, epsilon=certified, delta=delta, trials=100_000, vectorized=True, seed=0, jobs=1
    )
    assert 0.8 * certified < audit.epsilon_lower <= certified
