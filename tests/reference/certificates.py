"""The certificates of every algorithm, and its calibrated noise, held against the second route."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from dpcheck.accounting import certify, privacy_curve
from dpcheck.checks.games import DELTA, EPSILON
from dpcheck.checks.place import place_of, place_of_schedule
from dpcheck.checks.sampling import on_minibatches
from dpcheck.events import Disjoint, Event, Gaussian, Laplace, Repeated, Sampled
from dpcheck.problems import example
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm, configure
from reference.pairs import laplace, randomised_response
from reference.second_route import Interval, deltas_of, interval_of

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


# Whether the accountant takes the worst of what may happen, on events that tell the worst from the rest.
#
# Between replaced records both orders of two neighbours obey one curve, so that no run of an algorithm tells. A Poisson
# sample from which a record is removed is another matter than one to which it is added: the algorithm's own minibatches
# are accounted for in that way here, one of them alone and several of them composed. Likewise phases on disjoint
# records mostly have one noise multiplier; here they have several.


COMPOSED = 20  # minibatches
SMALL_DELTA = 1e-6


def directions(name: str, events: Sequence[Event]) -> Iterator[Finding]:
    """Yield a finding where the algorithm samples; nothing where all its events read all records."""
    found = next((event for event in on_minibatches(events) if 0 < event.batch < event.population), None)
    if found is None:
        return
    one = replace(found, scheme="poisson", neighbours="add_or_remove_one")
    wrong = [sentence for count in (1, COMPOSED) for sentence in _wrong(one, count)]
    yield Finding(
        f"{name}.directions", "accounting", f"{name}: its minibatches, between added and removed records",
        "violated" if wrong else "consistent",
        wrong[0]
        if wrong
        else f"one minibatch and {COMPOSED} of them are certified for the worse order of two neighbours",
        evidence={"batch": one.batch, "population": one.population, "noise multiplier": one.noise_multiplier},
        place=place_of(certify),
    )  # fmt: skip


def disjoint(name: str, events: Sequence[Event]) -> Iterator[Finding]:
    """Yield a finding where the algorithm declares releases on disjoint records; their worst decides."""
    found = next((event for event in events if isinstance(event, Disjoint)), None)
    if found is None:
        return
    z = found.worst.noise_multiplier
    parts = (Disjoint((Gaussian(2 * z), Gaussian(z), Gaussian(1.5 * z))),)
    due, certified = interval_of(parts, SMALL_DELTA), certify(parts, delta=SMALL_DELTA).epsilon
    fine = due.low * (1 - ROUNDING) <= certified <= due.high * (1 + CURVE_WASTE)
    yield Finding(
        f"{name}.disjoint", "accounting", f"{name}: releases on disjoint records, of several noise multipliers",
        "consistent" if fine else "violated",
        f"the accountant certifies epsilon {certified:.6g}, and the least noisy of the disjoint releases alone has "
        f"[{due.low:.6g}, {due.high:.6g}] by the second route",
        evidence={"noise multipliers": [part.noise_multiplier for part in parts[0].events]}, place=place_of(certify),
    )  # fmt: skip


def _wrong(one: Sampled, count: int) -> Iterator[str]:
    """Yield a sentence for what is not that of the second route's worse order."""
    events, words = (Repeated(one, count),), f"{count} minibatch{'es' * (count > 1)}"
    due, certified = interval_of(events, SMALL_DELTA), certify(events, delta=SMALL_DELTA).epsilon
    if not due.low * (1 - ROUNDING) <= certified <= due.high * (1 + CURVE_WASTE):
        yield (
            f"{words} of added or removed records: the accountant certifies epsilon {certified:.6g}, where the worse "
            f"order of two neighbours has [{due.low:.6g}, {due.high:.6g}]"
        )
    epsilon = due.high / 2
    delta, (low, high) = float(privacy_curve(events)(epsilon)), deltas_of(events, epsilon)
    if not low * (1 - ROUNDING) <= delta <= high * (1 + CURVE_WASTE):
        yield (
            f"{words} of added or removed records: the curve has delta {delta:.6g} at epsilon {epsilon:.4g}, where the "
            f"worse order of two neighbours has [{low:.6g}, {high:.6g}]"
        )
