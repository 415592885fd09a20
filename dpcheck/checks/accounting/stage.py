"""The stage that holds certificates and calibrations against the second route, and schemes against runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dpcheck.accounting import certify, privacy_curve
from dpcheck.checks.accounting.declared import disagreement
from dpcheck.checks.accounting.directions import directions, disjoint
from dpcheck.checks.accounting.pairs import laplace, randomised_response
from dpcheck.checks.accounting.second_route import Interval, deltas_of, interval_of
from dpcheck.checks.place import place_of, place_of_schedule
from dpcheck.checks.privacy.entry import DELTA, EPSILON, Entry
from dpcheck.events import Event, Laplace
from dpcheck.problems import example
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm, configure

ROUNDING = 1e-9  # relative: both routes' own
WASTE = 1e-3  # relative: what a certificate may lie above the truth, five times what its grid may add
CURVE_WASTE = 1e-2  # the same of delta, which falls by several times as much as epsilon grows
CALIBRATED = 0.99  # share of the claim that calibrated noise uses up at least; calibration is to 0.1 %


def accounting(name: str) -> Iterator[Finding]:
    """Check each variant's game, and its own schedule for the algorithm's example problem."""
    for entry in algorithm(name).games():
        label, solver = f"{name}.{entry.label}", entry.game.solver
        words = f"{name}, {entry.words}"
        found = interval_of(entry.events, entry.delta)
        yield compare(label, f"{words}, in its game", entry.events, found, entry.delta)
        yield curve(label, words, entry.events, entry.delta)
        yield scheme(label, words, entry)
        if entry.label.partition(".")[0] == "repaired":
            yield calibration(label, f"{words}, in its game", found, solver)
        scale = getattr(solver, "sigma_select", 0.0)
        if scale > 0:
            yield selection(label, words, entry.events, 1 / scale)
    first = next(iter(algorithm(name).games()))
    yield from directions(name, first.events)
    yield from disjoint(name, first.events)
    problem: Any = example(algorithm(name).example, seed=0)
    for variant in algorithm(name).variants:
        solver = configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant)
        label, events = f"{name}.{variant}.example", solver.events(problem)
        words = f"{name}, {variant.replace('_', ' ')}, its own schedule for {len(problem.records)} records"
        found = interval_of(events, first.delta)
        yield compare(label, words, events, found, first.delta)
        if variant == "repaired":
            yield calibration(label, words, found, solver)


def compare(label: str, words: str, events: Sequence[Event], found: Interval, delta: float) -> Finding:
    """Compare the certificate with the interval in which the second route finds the epsilon of the dominating pair."""
    certificate = certify(events, delta=delta)
    verdict, reason = judge(certificate.epsilon, found)
    return Finding(
        f"{label}.accounting", "accounting", f"{words}: the certificate by two routes", verdict, reason,
        certified=certificate.epsilon, evidence={
            "certificate": certificate.to_dict(), "second route": [found.low, found.high], "by": found.method,
        }, place=place_of(certify),
    )  # fmt: skip


def judge(certified: float, found: Interval) -> tuple[str, str]:
    """Judge a certificate, which may lie above the truth by what its grid adds, and never below it."""
    if certified < found.low * (1 - ROUNDING):
        short = 1 - certified / found.low
        return "violated", (
            f"the accountant certifies {certified:.6g}, which is {short:.2%} below {found.low:.6g}, the least that the "
            f"second route admits ({found.method})"
        )
    if certified > found.high * (1 + WASTE):
        over = certified / found.high - 1
        return "contradicted", (
            f"the accountant certifies {certified:.6g}, which is {over:.2%} above {found.high:.6g}, the most that the "
            f"second route admits ({found.method}): privacy is better than certified"
        )
    if found.high > found.low * (1 + WASTE):
        return "inconclusive", f"the second route gives no more than [{found.low:.6g}, {found.high:.6g}]"
    return "consistent", f"certified {certified:.6f}, second route [{found.low:.6f}, {found.high:.6f}]: {found.method}"


def curve(label: str, words: str, events: Sequence[Event], delta: float) -> Finding:
    """Check the curve that audits are held against, at half the certified epsilon."""
    epsilon = certify(events, delta=delta).epsilon / 2
    certified, (low, high) = float(privacy_curve(events)(epsilon)), deltas_of(events, epsilon)
    found = f"[{low:.6g}, {high:.6g}] by the second route"
    verdict, reason = "consistent", f"delta {certified:.6g} at epsilon {epsilon:.4g}, {found}"
    if certified < low * (1 - ROUNDING):
        verdict = "violated"
        reason = f"the curve claims delta {certified:.6g} at epsilon {epsilon:.4g}, less than {found}"
    elif certified > high * (1 + CURVE_WASTE):
        verdict = "contradicted"
        reason = f"the curve allows delta {certified:.6g} at epsilon {epsilon:.4g}, more than {found}"
    return Finding(
        f"{label}.accounting_curve", "accounting", f"{words}: the certified curve by two routes", verdict, reason,
        evidence={"epsilon": epsilon, "delta": certified, "second route": [low, high]}, place=place_of(privacy_curve),
    )  # fmt: skip


def calibration(label: str, words: str, found: Interval, solver: Any) -> Finding:
    """Check that noise calibrated to the claim uses it up, and no more than it, as the second route sees it."""
    verdict, reason = "consistent", f"the claim is {EPSILON:g}, the second route's epsilon is at most {found.high:.6f}"
    if found.low > EPSILON * (1 + ROUNDING):
        verdict = "violated"
        reason = (
            f"the noise is calibrated to epsilon = {EPSILON:g}, and the second route's epsilon is at least "
            f"{found.low:.6g}: {found.low / EPSILON - 1:.2%} too much"
        )
    elif found.high < EPSILON * CALIBRATED:
        verdict = "contradicted"
        reason = (
            f"the noise is calibrated to epsilon = {EPSILON:g}, and the second route's epsilon is at most "
            f"{found.high:.6g}: {1 - found.high / EPSILON:.2%} of it is wasted"
        )
    return Finding(
        f"{label}.calibration", "accounting", f"{words}: the noise against the claim, by the second route", verdict,
        reason, claimed=EPSILON, evidence={"second route": [found.low, found.high], "by": found.method},
        place=place_of_schedule(type(solver), "repaired"),
    )  # fmt: skip


def scheme(label: str, words: str, entry: Entry) -> Finding:
    """Compare the declared scheme and relation with what the game's two data sets and the run's minibatches are."""
    wrong = disagreement(entry.game, entry.events)
    return Finding(
        f"{label}.declared_scheme", "accounting", f"{words}: the declared neighbours and minibatches",
        "violated" if wrong else "consistent",
        wrong or "the events' relation, population and scheme are those of the game's pair and of recorded runs",
        place=place_of(entry.game.solver.events),
    )  # fmt: skip


def selection(label: str, words: str, events: Sequence[Event], epsilon: float) -> Finding:
    """Check AboveThreshold as it is accounted for: at every epsilon no better than the worst pure mechanism."""
    declared = [event for event in events if isinstance(event, Laplace)]
    worst = randomised_response(epsilon)
    verdict, reason = "consistent", f"its declared event is at least as bad as every {epsilon:.4g}-private mechanism"
    if len(declared) != 1:
        verdict, reason = "violated", f"the run selects once and declares {len(declared)} selections"
    else:
        pair = laplace(1 / declared[0].noise_multiplier)
        for part in range(9):
            at = epsilon * part / 8
            ours, least = pair.stick(at), worst.stick(at)
            if ours < least * (1 - 1e-6) - 1e-15:
                verdict = "violated"
                reason = f"at epsilon {at:.4g} the declared event has delta {ours:.4g}, a selection up to {least:.4g}"
                break
            if part == 0 and ours > least * (1 + CURVE_WASTE):
                verdict = "contradicted"
                reason = f"at epsilon 0 the declared event has delta {ours:.4g}, no selection above {least:.4g}"
    return Finding(
        f"{label}.selection", "accounting", f"{words}: the private selection's event", verdict, reason,
        evidence={"epsilon": epsilon}, place=place_of(algorithm(label.partition(".")[0]).events),
    )  # fmt: skip
