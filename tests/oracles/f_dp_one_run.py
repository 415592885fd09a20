"""The bound of Mahloujifar, Melis and Chaudhuri (Auditing f-differential privacy in one run, 2025), as published."""

from __future__ import annotations

from scipy import special


def possible(tail: float, right: int, guesses: int, canaries: int, mu: float) -> bool:
    """Whether so many right guesses may have this probability under mu-GDP (their Algorithm 3)."""
    r, h = tail * right / canaries, tail * (guesses - right) / canaries
    for k in range(right - 1, -1, -1):
        more = max(h, float(special.ndtr(special.ndtri(min(r, 1.0)) - mu)))
        r, h = r + k / (guesses - k) * (more - h), more
        if r + h > guesses / canaries:
            return False
    return True


def in_print(right: int, guesses: int, canaries: int, mu: float) -> float:
    """The largest probability of so many right guesses that it allows."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle, right, guesses, canaries, mu) else (low, middle)
    return high
