"""Remark 1 of Yang et al. 2022 against the accountant: how much noise is wasted, and where it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpcheck.accounting import certify
from dpcheck.bounds.registry import theorem
from dpcheck.checks.context import Context
from dpcheck.events import Gaussian, Repeated, Sampled
from dpcheck.findings import Finding


def certified_epsilon(n: int, steps: int, batch: int, sigma: float, delta: float, scheme: str) -> float:
    """Epsilon of T joint releases on minibatches of ``batch``, noise ``sigma`` for G_w = G_v = 1."""
    pair = (Gaussian(sigma * batch / 2),) * 2
    return certify(Repeated(Sampled(pair, scheme, n, batch), steps), delta=delta).epsilon  # type: ignore[arg-type]


def remark_1(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """The slack of Remark 1 on a grid, and the smallest minibatch for which its noise suffices."""
    statement = theorem("yang2022.theorem_1")
    rows: list[dict[str, Any]] = []
    sizes = (1000, 10_000, 100_000) if context.full else (1000, 10_000)
    grid = [
        (n, T, epsilon)
        for n in sizes
        for T in sorted({10, 100, 1000, n})
        for epsilon in (0.1, 0.5, 1.0)
    ]
    for done, (n, T, epsilon) in enumerate(grid):
        context.progress(done, len(grid))
        values = {"n": n, "T": T, "epsilon": epsilon, "delta": n**-2.0}
        m = int(statement.schedule(**values)["m"])
        sigma = statement.noise(**values, G_w=1.0, G_v=1.0)["sigma_w"]
        without, replaced = (
            certified_epsilon(n, T, m, sigma, n**-2.0, scheme)
            for scheme in ("without_replacement", "with_replacement")
        )
        least = _least_batch(n, T, m, sigma, epsilon)
        rows.append(
            {
                "n": n, "T": T, "epsilon": epsilon, "m": m, "without replacement": without,
                "slack": epsilon / without, "with replacement": replaced,
                "slack with replacement": epsilon / replaced, "least m": least,
            }
        )  # fmt: skip
    tables["Remark 1: certified epsilon at its own minibatch, delta = 1/n^2"] = rows
    yield _verdict("without replacement", "slack", rows, "Y10.without_replacement")
    yield _verdict("with replacement", "slack with replacement", rows, "Y10.with_replacement")
    broken = [row for row in rows if row["least m"] > 1]
    shares = [row["least m"] / row["m"] for row in broken]
    yield Finding(
        "yang2022.Y10.minibatch", "claim",
        "Remark 1's noise with a minibatch smaller than it prescribes (without replacement)",
        "refuted" if broken else "proved",
        f"in {len(broken)} of {len(rows)} settings the claim fails below a least minibatch, which lies at "
        f"{min(shares):.2f} to {max(shares):.2f} of the prescribed one" if broken else "it never fails",
        evidence={"rows": broken},
    )  # fmt: skip


def _least_batch(n: int, T: int, m: int, sigma: float, epsilon: float) -> int:
    """Smallest minibatch at which the noise is certified for epsilon, by bisection below ``m``.

    Noise is on the mean, so a smaller minibatch means a larger sensitivity 2G/m against the same
    noise; the certified epsilon decreases in m up to about the prescribed size.
    """

    def enough(batch: int) -> bool:
        return certified_epsilon(n, T, batch, sigma, n**-2.0, "without_replacement") <= epsilon

    low, high = 0, m
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _verdict(words: str, slack: str, rows: list[dict[str, Any]], id: str) -> Finding:
    worst = min(rows, key=lambda row: row[slack])
    best = max(rows, key=lambda row: row[slack])
    reason = (
        f"claimed over certified epsilon lies between {worst[slack]:.2f} (n = {worst['n']}, T = "
        f"{worst['T']}, epsilon = {worst['epsilon']:g}) and {best[slack]:.2f} on {len(rows)} settings"
    )
    return Finding(
        f"yang2022.{id}", "claim", f"Remark 1 is private at its prescribed minibatch, sampling {words}",
        "consistent" if worst[slack] >= 1 else "inconclusive", reason,
        certified=worst[words], claimed=worst["epsilon"],
        evidence={"method": "accountant, on a grid; an upper bound on epsilon"},
    )  # fmt: skip
