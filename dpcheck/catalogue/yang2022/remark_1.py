"""Remark 1 of Yang et al. 2022 against the accountant: how much noise is wasted, and where it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dpcheck.accounting import certify
from dpcheck.bounds.registry import theorem
from dpcheck.checks.context import Context
from dpcheck.events import Gaussian, Neighbours, Repeated, Sampled, Scheme
from dpcheck.report.findings import Finding


def step_epsilon(
    n: int, steps: int, batch: int, sigma: float, scheme: Scheme, neighbours: Neighbours = "replace_one"
) -> float:
    """Return the certified epsilon at delta = 1/n^2 of T joint releases, noise ``sigma`` for G_w = G_v = 1."""
    pair = (Gaussian(sigma * batch / 2),) * 2
    return certify(Repeated(Sampled(pair, scheme, n, batch, neighbours), steps), delta=n**-2.0).epsilon


def remark_1(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """Yield the slack of Remark 1 on a grid, and the minibatches for which its noise is too little."""
    statement = theorem("yang2022.theorem_1")
    rows: list[dict[str, Any]] = []
    sizes = [1000, 10_000] + [100_000] * context.full
    steps = [10, 100] + [1000] * context.full
    epsilons = [0.1, 0.5, 1.0] if context.full else [0.1, 1.0]
    grid = [(n, T, epsilon) for n in sizes for T in sorted({*steps, n}) for epsilon in epsilons]
    for done, (n, T, epsilon) in enumerate(grid):
        context.progress(done, len(grid))
        values = {"n": n, "T": T, "epsilon": epsilon, "delta": n**-2.0}
        m = int(statement.schedule(**values)["m"])
        sigma = statement.noise(**values, G_w=1.0, G_v=1.0)["sigma_w"]
        without = step_epsilon(n, T, m, sigma, "without_replacement")
        replaced = step_epsilon(n, T, m, sigma, "with_replacement")
        broken, enough = _edges(n, T, m, sigma, epsilon)
        rows.append(
            {
                "n": n, "T": T, "epsilon": epsilon, "m": m, "certified": without,
                "slack": epsilon / without, "certified, with replacement": replaced,
                "slack, with replacement": epsilon / replaced,
                "broken up to m": broken, "enough from m": enough,
            }
        )  # fmt: skip
    tables["Remark 1 at its own minibatch m, delta = 1/n^2"] = rows
    yield _verdict("without replacement", "certified", "slack", rows)
    yield _verdict("with replacement", "certified, with replacement", "slack, with replacement", rows)
    yield _region(rows)


def _edges(n: int, T: int, m: int, sigma: float, epsilon: float) -> tuple[int, int]:
    """Return the largest minibatch for which the noise is too little, and the smallest for which it is enough.

    Noise is on the mean, so a smaller minibatch meets the same noise with a larger sensitivity 2G/m.
    Too little is shown by one exact pair: all records equal but one, whose transcript law is that of
    Poisson sampling with the record added or removed; its epsilon, accurate to 0.1 %, exceeds the
    claim. Enough is shown by the certificate. Both are bisected below the prescribed ``m``.
    """

    def broken(batch: int) -> bool:
        return step_epsilon(n, T, batch, sigma, "poisson", "add_or_remove_one") > 1.001 * epsilon

    def enough(batch: int) -> bool:
        return step_epsilon(n, T, batch, sigma, "without_replacement") <= epsilon

    least = _first(enough, 0, m)
    below, step = least - 1, 1  # the two edges are close: go down from one to the other
    while below > 0 and not broken(below):
        below, step = max(below - step, 0), 2 * step
    return _first(lambda batch: not broken(batch), below, least) - 1, least


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest number above ``low`` at which ``holds`` begins, given that it holds at ``high``."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _verdict(words: str, certified: str, slack: str, rows: list[dict[str, Any]]) -> Finding:
    worst = min(rows, key=lambda row: row[slack])
    best = max(rows, key=lambda row: row[slack])
    reason = (
        f"claimed over certified epsilon lies between {worst[slack]:.2f} (n = {worst['n']}, T = "
        f"{worst['T']}, epsilon = {worst['epsilon']:g}) and {best[slack]:.2f} on {len(rows)} settings"
    )
    if worst[slack] < 1:
        reason += "; below 1 the bound for this sampling does not decide"
    return Finding(
        f"yang2022.Y10.{words.replace(' ', '_')}", "claim",
        f"Remark 1: private at its prescribed minibatch, sampled {words}",
        "consistent" if worst[slack] >= 1 else "inconclusive", reason,
        certified=worst[certified], claimed=worst["epsilon"],
        evidence={"method": "certificates on a grid of settings", "settings": len(rows)},
    )  # fmt: skip


def _region(rows: list[dict[str, Any]]) -> Finding:
    broken = [row for row in rows if row["broken up to m"] >= 1]
    shares = [row["broken up to m"] / row["m"] for row in broken]
    return Finding(
        "yang2022.Y10.smaller_minibatch", "claim",
        "would Remark 1's noise do with any smaller minibatch? (the remark does not say so)",
        "refuted" if broken else "consistent",
        f"one exact pair exceeds the claim in {len(broken)} of {len(rows)} settings, up to minibatches of "
        f"{min(shares):.2f} to {max(shares):.2f} of the prescribed one" if broken else "no setting breaks it",
        evidence={"rows": broken},
    )  # fmt: skip
