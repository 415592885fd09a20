"""The line of a training step's code that a finding is about, by watching the step on a minibatch or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.audits.running.recorder import Recorder
from dpcheck.audits.step_parts import StepFinding, TrainingStep, gathered, taken
from dpcheck.lines import Lines, Watched, compared, watched
from dpcheck.source import place_of

_RECORDS = 8  # of a minibatch that is watched


def located(
    findings: Sequence[StepFinding], step: TrainingStep, setup: Callable[..., Any] | None, records: Any, canary: Any
) -> tuple[StepFinding, ...]:
    """Give each finding that is not consistent the place of its code.

    setup : the code that returns the step, if it was given;  canary : the record that moves the gradient farthest
    """
    return tuple(
        finding if finding.verdict == "consistent" or finding.place
        else replace(finding, place=_place(finding.part, step, setup, records, canary))
        for finding in findings
    )  # fmt: skip


def _place(part: str, step: TrainingStep, setup: Callable[..., Any] | None, records: Any, canary: Any) -> str:
    if part in ("divisor", "accounting"):
        return place_of(setup if setup is not None else step.gradient)
    if part == "sampling":
        if not callable(step.sampler):
            return ""
        drawn = watched(step.sampler, lambda rng: next(iter(step.sampler(len(records), rng))), Recorder(0)).draws
        return place_of(step.sampler, drawn[0][0] if drawn else 0)
    if part == "empty batch":
        lines = _watched(step, taken(records, [])).lines
        return place_of(step.gradient, lines[-1] if lines else 0)
    seen = _lines(step, records, canary)
    if part == "clipping":
        return place_of(step.gradient, seen.mixed or seen.query or seen.noise)
    return place_of(step.gradient, seen.noise or seen.query)


def _lines(step: TrainingStep, records: Any, canary: Any) -> Lines:
    """Watch the gradient of a minibatch with the record that moves it farthest and with another one in its place."""
    some = list(taken(records, range(min(len(records), _RECORDS))))
    batches = [gathered(records, [record, *some[1:]]) for record in (some[-1], some[0] if canary is None else canary)]
    one, other = (_watched(step, batch) for batch in batches)
    return compared(one, other, len(some))


def _watched(step: TrainingStep, batch: Any) -> Watched:
    return watched(step.gradient, partial(_released, step, batch), Recorder(0))


def _released(step: TrainingStep, batch: Any, rng: np.random.Generator) -> Any:
    return step.gradient(step.params, batch, rng)
