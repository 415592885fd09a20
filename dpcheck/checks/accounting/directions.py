"""Whether the accountant takes the worst of what may happen, on events that tell the worst from the rest.

Between replaced records both orders of two neighbours obey one curve, so that no run of an algorithm tells. A Poisson
sample from which a record is removed is another matter than one to which it is added: the algorithm's own minibatches
are accounted for in that way here, one of them alone and several of them composed. Likewise phases on disjoint records
mostly have one noise multiplier; here they have several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dpcheck.accounting import certify, privacy_curve
from dpcheck.checks.accounting.declared import on_minibatches
from dpcheck.checks.accounting.second_route import deltas_of, interval_of
from dpcheck.checks.place import place_of
from dpcheck.events import Disjoint, Event, Gaussian, Repeated, Sampled
from dpcheck.report.findings import Finding

STEPS = 20
DELTA = 1e-6
ROUNDING, WASTE = 1e-9, 1e-2  # relative: below the worse order's, and above it


def directions(name: str, events: Sequence[Event]) -> Iterator[Finding]:
    """Yield a finding where the algorithm samples; nothing where all its events read all records."""
    found = next((event for event in on_minibatches(events) if 0 < event.batch < event.population), None)
    if found is None:
        return
    one = replace(found, scheme="poisson", neighbours="add_or_remove_one")
    wrong = [sentence for count in (1, STEPS) for sentence in _wrong(one, count)]
    yield Finding(
        f"{name}.directions", "accounting", f"{name}: its minibatches, between added and removed records",
        "violated" if wrong else "consistent",
        wrong[0] if wrong else f"one minibatch and {STEPS} of them are certified for the worse order of two neighbours",
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
    due, certified = interval_of(parts, DELTA), certify(parts, delta=DELTA).epsilon
    fine = due.low * (1 - ROUNDING) <= certified <= due.high * (1 + WASTE)
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
    due, certified = interval_of(events, DELTA), certify(events, delta=DELTA).epsilon
    if not due.low * (1 - ROUNDING) <= certified <= due.high * (1 + WASTE):
        yield (
            f"{words} of added or removed records: the accountant certifies epsilon {certified:.6g}, where the worse "
            f"order of two neighbours has [{due.low:.6g}, {due.high:.6g}]"
        )
    epsilon = due.high / 2
    delta, (low, high) = float(privacy_curve(events)(epsilon)), deltas_of(events, epsilon)
    if not low * (1 - ROUNDING) <= delta <= high * (1 + WASTE):
        yield (
            f"{words} of added or removed records: the curve has delta {delta:.6g} at epsilon {epsilon:.4g}, where the "
            f"worse order of two neighbours has [{low:.6g}, {high:.6g}]"
        )
