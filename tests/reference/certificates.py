"""The certificates of every algorithm, and its calibrated noise, held against the second route."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dpcheck.accounting import certify, privacy_curve
from dpcheck.checks.games import DELTA, EPSILON
from dpcheck.checks.sampling import on_minibatches
from dpcheck.events import Disjoint, Event, Gaussian, Laplace, Repeated
from dpcheck.problems import example
from dpcheck.solvers import algorithm, configure
from reference.pairs import laplace, randomised_response
from reference.second_route import Interval, deltas_of, interval_of

ROUNDING = 1e-9  # relative: both routes' own
WASTE = 1e-3  # relative: what a certificate may lie above the truth, five times what its grid may add
CURVE_WASTE = 1e-2  # the same of delta, which falls by several times as much as epsilon grows
CALIBRATED = 0.99  # share of the claim that calibrated noise uses up at least; calibration is to 0.1 %
COMPOSED = 20  # minibatches
SMALL_DELTA = 1e-6


class Judged(NamedTuple):
    """What was compared, the verdict and the numbers: "violated" where privacy is worse than certified."""

    label: str
    verdict: str
    numbers: str


def accounting(name: str) -> Iterator[Judged]:
    """Check each variant's game, and its own schedule for the algorithm's example problem."""
    for entry in algorithm(name).games():
        label, solver = f"{name}.{entry.label}", entry.game.solver
        yield compare(label, entry.events, entry.delta)
        yield curve(label, entry.events, entry.delta)
        if entry.label.partition(".")[0] == "repaired":
            yield calibration(label, interval_of(entry.events, entry.delta))
        scale = getattr(solver, "sigma_select", 0.0)
        if scale > 0:
            yield selection(label, entry.events, 1 / scale)
    first = next(iter(algorithm(name).games()))
    yield from directions(name, first.events)
    yield from disjoint(name, first.events)
    problem: Any = example(algorithm(name).example, seed=0)
    for variant in algorithm(name).variants:
        solver = configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant)
        label, events = f"{name}.{variant}.example", solver.events(problem)
        yield compare(label, events, first.delta)
        if variant == "repaired":
            yield calibration(label, interval_of(events, first.delta))


def judged(label: str, certified: float, low: float, high: float, waste: float) -> Judged:
    """Judge what is certified, which may lie above the truth by what its grid adds, and never below it."""
    verdict = "consistent"
    if certified < low * (1 - ROUNDING):
        verdict = "violated"
    elif certified > high * (1 + waste):
        verdict = "contradicted"
    elif high > low * (1 + waste):
        verdict = "inconclusive"
    return Judged(label, verdict, f"{certified:.9g} is certified, the second route has [{low:.9g}, {high:.9g}]")


def compare(label: str, events: Sequence[Event], delta: float) -> Judged:
    """Compare the certificate with the interval in which the second route finds the epsilon of the dominating pair."""
    found = interval_of(events, delta)
    return judged(f"{label}.accounting", certify(events, delta=delta).epsilon, found.low, found.high, WASTE)


def curve(label: str, events: Sequence[Event], delta: float) -> Judged:
    """Check the curve that audits are held against, at half the certified epsilon."""
    epsilon = certify(events, delta=delta).epsilon / 2
    certified = float(privacy_curve(events)(epsilon))
    return judged(f"{label}.accounting_curve", certified, *deltas_of(events, epsilon), CURVE_WASTE)


def calibration(label: str, found: Interval) -> Judged:
    """Check that noise calibrated to the claim uses it up, and no more than it, as the second route sees it."""
    return judged(f"{label}.calibration", EPSILON, found.low, found.high, 1 / CALIBRATED - 1)


def selection(label: str, events: Sequence[Event], epsilon: float) -> Judged:
    """Check AboveThreshold as it is accounted for: at every epsilon no better than the worst pure mechanism."""
    label = f"{label}.selection"
    declared = [event for event in events if isinstance(event, Laplace)]
    if len(declared) != 1:
        return Judged(label, "violated", f"the run selects once and declares {len(declared)} selections")
    pair, worst = laplace(1 / declared[0].noise_multiplier), randomised_response(epsilon)
    for part in range(9):
        at = epsilon * part / 8
        ours, least = pair.stick(at), worst.stick(at)
        numbers = f"at epsilon {at:.4g} the declared event has delta {ours:.4g}, a selection up to {least:.4g}"
        if ours < least * (1 - 1e-6) - 1e-15:
            return Judged(label, "violated", numbers)
        if part == 0 and ours > least * (1 + CURVE_WASTE):
            return Judged(label, "contradicted", numbers)
    return Judged(label, "consistent", "")


# Whether the accountant takes the worst of what may happen, on events that tell the worst from the rest.
#
# Between replaced records both orders of two neighbours obey one curve, so that no run of an algorithm tells. A Poisson
# sample from which a record is removed is another matter than one to which it is added: the algorithm's own minibatches
# are accounted for in that way here, one of them alone and several of them composed. Likewise phases on disjoint
# records mostly have one noise multiplier; here they have several.


def directions(name: str, events: Sequence[Event]) -> Iterator[Judged]:
    """Judge an algorithm that samples by its worse direction; nothing where all its events read all records."""
    found = next((event for event in on_minibatches(events) if 0 < event.batch < event.population), None)
    if found is None:
        return
    one = replace(found, scheme="poisson", neighbours="add_or_remove_one")
    for count in (1, COMPOSED):
        composed, label = (Repeated(one, count),), f"{name}.{count}.directions"
        due, certified = interval_of(composed, SMALL_DELTA), certify(composed, delta=SMALL_DELTA).epsilon
        yield judged(label, certified, due.low, due.high, CURVE_WASTE)
        at = due.high / 2
        yield judged(label, float(privacy_curve(composed)(at)), *deltas_of(composed, at), CURVE_WASTE)


def disjoint(name: str, events: Sequence[Event]) -> Iterator[Judged]:
    """Judge an algorithm that declares releases on disjoint records: their worst decides."""
    found = next((event for event in events if isinstance(event, Disjoint)), None)
    if found is not None:
        z = found.worst.noise_multiplier
        parts = (Disjoint((Gaussian(2 * z), Gaussian(z), Gaussian(1.5 * z))),)
        due, certified = interval_of(parts, SMALL_DELTA), certify(parts, delta=SMALL_DELTA).epsilon
        yield judged(f"{name}.disjoint", certified, due.low, due.high, CURVE_WASTE)
