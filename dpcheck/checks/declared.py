"""The stages for an algorithm of somebody else's, as far as its declaration lets them.

A stage that cannot look says "not checked", and what to declare for it to look.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from scipy.stats import t as student

from dpcheck.accounting import calibrate, certify
from dpcheck.algorithms.declaration import Algorithm, RateClaim
from dpcheck.audits.membership import audit_privacy
from dpcheck.audits.rates import fit_rate
from dpcheck.checks.context import Context, Stage
from dpcheck.checks.declared_releases import releases
from dpcheck.checks.place import place_of, place_of_theorem, shown_place
from dpcheck.checks.sampling import sampling
from dpcheck.checks.subject import finding, not_checked, worst_pair
from dpcheck.errors import InputError, raised
from dpcheck.events import scaled
from dpcheck.report.findings import Finding

# Two audits on fresh runs must agree: a correct algorithm is called violated at most once in a million checks.
_LEVEL = 1e-3
# Runs on each data set, of plain Python.
_TRIALS = {"quick": 5_000, "full": 100_000}
# Three looks at fresh measurements must agree: a correct algorithm is contradicted less than once in 50,000 checks.
_LOOKS, _RATE_LEVEL = 3, 0.05
# Streams of the audits, apart from each other.
_TRANSCRIPT, _OUTPUT, _SEARCH = range(3)


def stages(context: Context, declared: Algorithm, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Stage]:
    """Yield all of them, each a title and a call that yields findings."""
    yield "certificate", partial(certificate, declared)
    yield "releases", partial(releases, context, declared)
    yield "sampling", partial(sampling, context, declared)
    yield "audits", partial(membership, context, declared)
    yield "rate", partial(rate, context, declared, tables)


def certificate(declared: Algorithm) -> Iterator[Finding]:
    """Compare what the declared events are certified at with what is claimed."""
    subject = "the declared events against the claimed epsilon"
    if declared.events is None:
        example = 'Repeated(Sampled((Gaussian(z),), "poisson", n, batch), steps)'
        reason = f"No events are declared: say what a run releases in events=, such as {example}."
        yield not_checked(declared, "certificate", "accounting", subject, reason)
        return
    found = certify(declared.events, delta=declared.delta)
    enough = found.epsilon <= declared.epsilon * (1 + 1e-6)
    reason = f"the declared events are certified at epsilon {found.epsilon:.4g} at delta {declared.delta:g}, "
    if enough:
        reason += f"within the claimed {declared.epsilon:g}"
    else:
        reason += f"above the claimed {declared.epsilon:g}{_more(declared)}"
    yield finding(
        declared, "certificate", "accounting", subject, "consistent" if enough else "violated", reason,
        certified=found.epsilon, claimed=float(declared.epsilon), evidence=found.to_dict(),
        place=shown_place(declared.place),
    )  # fmt: skip


def _more(declared: Algorithm) -> str:
    """Return how much more noise would do, where there is an answer."""
    if declared.epsilon == 0 or declared.delta == 0 or any(multiplier == 0 for _, multiplier in declared.releases):
        return ""
    factor = calibrate(lambda z: scaled(declared.events, z), declared.epsilon, declared.delta)
    return f": all noise would have to be {factor:.3g} times as large"


def membership(context: Context, declared: Algorithm) -> Iterator[Finding]:
    """Audit everything that is released, and the output alone, on the pair that shows most.

    Null hypothesis: the algorithm is (epsilon, delta)-private on this pair; each audit's level is ``_LEVEL``.
    """
    pair = worst_pair(declared, context.stream(crc32(declared.name.encode()), _SEARCH))
    certified = None if declared.events is None else certify(declared.events, delta=declared.delta).epsilon
    parts = [("output", "final output only", declared.output, _OUTPUT)]
    if declared.run is None and (declared.steps > 1 or declared.update is not None):
        parts.insert(0, ("transcript", "everything released", declared.transcript, _TRANSCRIPT))
    for what, words, mechanism, number in parts:
        for look in range(2):
            audit = audit_privacy(
                mechanism, pair.data, pair.neighbour, epsilon=declared.epsilon, delta=declared.delta,
                trials=_TRIALS[context.profile], confidence=1 - _LEVEL,
                seed=context.stream(crc32(declared.name.encode()), number, look), jobs=context.jobs,
                executor=context.executor,
                progress=context.progress,
            )  # fmt: skip
            if audit.verdict != "violated":
                break
        reason = f"{audit.event}, where {pair.words}"
        if audit.verdict == "violated":
            reason = (
                f"epsilon is at least {audit.epsilon_lower:.3g} at delta {declared.delta:g}, with confidence "
                f"{audit.confidence:g}, and {declared.epsilon:g} is claimed: {reason}"
            )
        elif audit.verdict == "inconclusive":
            reason = (
                f"{audit.trials} runs a data set cannot break a claim of {declared.epsilon:g}; --profile full runs more"
            )
        yield finding(
            declared, what, "privacy", words, audit.verdict, reason, audited=audit.epsilon_lower, certified=certified,
            claimed=float(declared.epsilon), evidence={"audit": audit.to_dict(), "pair": pair.words},
        )  # fmt: skip
    if len(parts) == 1 and declared.run is not None:
        yield not_checked(declared, "transcript", "privacy", "everything released",
                          "The algorithm is declared as a whole: declare step=, start= and steps= if more than its "
                          "output is released.")  # fmt: skip


def rate(context: Context, declared: Algorithm, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """Compare the measured law with the claimed one, and with the theorem's number where there is a theorem."""
    subject, claim = "measured rate against the claimed one", declared.rate
    if claim is None:
        reason = (
            "No rate is declared: say in rate=dpcheck.RateClaim(...) how it is measured, where, and what is claimed."
        )
        yield not_checked(declared, "rate", "rate", subject, reason)
        return
    factors = list(claim.grid)
    claimed = dict(claim.claimed) if claim.theorem is None else dict.fromkeys(factors, 0.0)
    for look in range(_LOOKS):
        frame = _measured(context, declared, claim, look)
        fit = fit_rate(
            frame, response="measured", factors=factors, claimed=claimed, confidence=1 - _RATE_LEVEL,
            offset=None if claim.theorem is None else "bound",
        )  # fmt: skip
        above = _above(frame, factors, claim)
        if fit.verdict != "contradicted" and not above:
            break
    place = place_of(declared.code) if claim.theorem is None else place_of_theorem(claim.theorem)
    yield finding(
        declared, "rate", "rate", subject, fit.verdict, fit.reason, evidence={"fit": fit.to_dict()}, place=place
    )
    tables[f"{declared.name}: rate"] = rows = _rows(frame, factors)
    if claim.theorem is None:
        return
    worst = max(rows, key=lambda row: row["measured/bound"])
    at = ", ".join(f"{name} = {worst[name]:g}" for name in factors)
    yield finding(
        declared, "bound", "bound", f"measured error against the number of {claim.theorem.id}",
        "violated" if above else "consistent",
        f"the mean is at most {worst['measured/bound']:.3g} times the theorem's bound, at {at}",
        evidence={"largest": worst}, place=place,
    )  # fmt: skip


def _rows(frame: pd.DataFrame, factors: list[str]) -> list[dict[str, Any]]:
    """Return a row for each setting: the mean, its standard error, and the bound where there is one."""
    rows = []
    for _, cell in frame.groupby(factors, sort=False):
        row = {name: cell[name].iloc[0] for name in factors}
        row |= {"measured": float(cell["measured"].mean()), "error": float(cell["measured"].sem())}
        if "bound" in cell:
            bound = float(cell["bound"].iloc[0])
            row |= {"bound": bound, "measured/bound": row["measured"] / bound}
        rows.append(row)
    return rows


def _above(frame: pd.DataFrame, factors: list[str], claim: RateClaim) -> bool:
    """Say whether the mean exceeds the theorem's number at some setting, beyond chance."""
    rows = _rows(frame, factors)
    reach = float(student.isf(_RATE_LEVEL / 2 / len(rows), claim.seeds - 1))
    return any(row["measured"] - reach * row["error"] > row.get("bound", np.inf) for row in rows)


def _measured(context: Context, declared: Algorithm, claim: RateClaim, look: int) -> pd.DataFrame:
    """Return a row for each measurement, each with a stream of its own."""
    cells = [dict(zip(claim.grid, levels, strict=True)) for levels in itertools.product(*claim.grid.values())]
    seed, rows = context.stream(crc32(declared.name.encode()), 30, look), []
    for number, cell in enumerate(cells):
        bound = {} if claim.theorem is None else {"bound": claim.theorem.bound(**claim.constants, **cell)}
        for k in range(claim.seeds):
            context.progress(number * claim.seeds + k, len(cells) * claim.seeds)
            try:
                value = float(claim.measure(np.random.default_rng([seed, number, k]), **cell))
            except (Exception, SystemExit) as error:
                raise InputError(f"measure of {declared.name} must return a number, got {raised(error)}") from error
            rows.append({**cell, "measured": value, **bound})
    return pd.DataFrame(rows)
