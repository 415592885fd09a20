"""Mechanisms of other libraries as targets, and mechanisms whose randomness no seed fixes."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from dpcheck.audits.membership import audit_privacy
from dpcheck.errors import InputError

TRIALS = 4_000


def coin(bit: int, _: Any) -> int:
    """Randomised response with log 3, from the operating system's generator."""
    return bit if secrets.randbelow(4) else 1 - bit


@pytest.mark.parametrize(("epsilon", "verdict"), [(1.2, "consistent"), (0.5, "violated")])
def test_a_mechanism_with_randomness_of_its_own(epsilon: float, verdict: str) -> None:
    """The truth is log 3 = 1.099. Its limit has a standard deviation of 0.03: 1.2 is refuted with probability below
    1e-6, 0.5 is not refuted with less."""
    audit = audit_privacy(coin, 1, 0, epsilon=epsilon, delta=0.0, trials=TRIALS, seeded=False)
    assert audit.verdict == verdict
    assert audit.seed is None
    assert audit.to_dict()["seed"] is None


def test_its_runs_are_not_shared_out() -> None:
    with pytest.raises(InputError, match=r"^jobs must be 1 where seeded is False, got 2$"):
        audit_privacy(coin, 1, 0, epsilon=1.0, trials=TRIALS, seeded=False, jobs=2)
    with pytest.raises(InputError, match="draw all its randomness from rng"):
        audit_privacy(coin, 1, 0, epsilon=1.0, trials=TRIALS)
