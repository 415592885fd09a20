"""The line of a training step's code that a finding is about, by watching the step on a minibatch or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from dpcheck.audits.running.recorder import Recorder
from dpcheck.audits.step_parts import StepFinding, TrainingStep, gathered, taken
from dpcheck.lines import Lines, Watched, compared, watched
from dpcheck.source import place_of

_RECORDS = 8  # of a minibatch that is watched
_SET_UP = ("divisor", "accounting")  # parts that are about numbers that the step is given


def located(
    findings: Sequence[StepFinding], step: TrainingStep, plain: TrainingStep, setup: Callable[..., Any] | None,
    records: Any, canary: Any,
) -> tuple[StepFinding, ...]:  # fmt: skip
    """Give each finding that is not consistent the place of its code.

    step : runs on ``records``;  plain : what the user made, whose functions are named;  setup : the code that returns
    it, if it was given;  canary : the record that moves the gradient farthest
    """
    watch = _Watch(step, plain, records, canary)
    amiss = {finding.part for finding in findings if finding.verdict != "consistent"}
    places = {part: watch.place(part) for part in amiss - {*_SET_UP}}
    if set_up := amiss & {*_SET_UP}:
        line = 0
        if setup is not None:  # the line at which the number of records makes a difference
            some = [taken(records, range(count)) for count in (len(records), len(records) // 2)]
            one, other = (watched(setup, partial(lambda data, _: setup(data), data), Recorder(0)) for data in some)
            line = compared(one, other, 0).query
        places |= dict.fromkeys(set_up, place_of(plain.gradient if setup is None else setup, line))
    return tuple(replace(finding, place=places.get(finding.part, finding.place)) for finding in findings)


@dataclass(frozen=True, eq=False)
class _Watch:
    step: TrainingStep
    plain: TrainingStep
    records: Any
    canary: Any

    def place(self, part: str) -> str:
        """Return the place of the code that a part of the step is about."""
        if part == "sampling":
            sampler = self.plain.sampler
            if not callable(sampler):
                return ""
            draws = watched(sampler, lambda rng: next(iter(sampler(len(self.records), rng))), Recorder(0)).draws
            return place_of(sampler, draws[0][0] if draws else 0)
        if part == "empty batch":
            lines = self._watched(taken(self.records, [])).lines
            return place_of(self.plain.gradient, lines[-1] if lines else 0)
        seen = self._lines
        made, drawn = seen.mixed or seen.query or seen.noise, seen.noise or seen.query
        return place_of(self.plain.gradient, made if part == "clipping" else drawn)

    @cached_property
    def _lines(self) -> Lines:
        """Watch the gradient of a minibatch with the record that moves it farthest and with another in its place."""
        some = list(taken(self.records, range(min(len(self.records), _RECORDS))))
        changed = [some[-1], some[0] if self.canary is None else self.canary]
        one, other = (self._watched(gathered(self.records, [record, *some[1:]])) for record in changed)
        return compared(one, other, len(some))

    def _watched(self, batch: Any) -> Watched:
        step = self.step
        return watched(self.plain.gradient, lambda rng: step.gradient(step.params, batch, rng), Recorder(0))
