"""What is inside recorded runs of an algorithm: every step of them once more, in plain NumPy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.checks.context import Context
from reference import minibatch_law as law
from reference.defaults import DEFAULTS, compared
from reference.derivatives import departures
from reference.draws import draws
from reference.replay import PARTS, Replay
from reference.small_runs import CASES, Case, families

_MOVES, _RUNS = 160, 60  # perturbations of a case that are looked at, and the most runs for them
_VALUE = 1e-6  # relative; differences of values are that exact at worst


class Finding(NamedTuple):
    """What was compared, "consistent" or "violated", and the first difference."""

    id: str
    verdict: str
    reason: str


def _finding(id: str, wrong: str) -> Finding:
    return Finding(id, "violated" if wrong else "consistent", wrong)


def inside(context: Context, name: str) -> Iterator[Finding]:
    """Yield all findings from small recorded runs of one algorithm, and on the gradients of its problems."""
    cases = sorted(CASES[name](), key=lambda case: case.label)
    for label, some in groupby(cases, key=lambda case: case.label):
        for part, wrong in _variant(context, name, list(some)):
            yield _finding(f"{name}.{label}.inside.{part}", wrong)
    if name in DEFAULTS:  # where no theorem of the registry carries the default schedule's formulas
        yield _finding(f"{name}.inside.schedule", next(iter(compared(name)), ""))
    apart = (
        f"On {label}, {words}."
        for label, problem in families(name).items()
        for words, by in departures(problem, np.random.default_rng(0))
        if by > _VALUE
    )
    yield _finding(f"{name}.inside.problems", next(apart, ""))


@dataclass
class _Seen:
    """What the runs of a variant showed."""

    first: dict[str, str] = field(default_factory=dict)  # part -> the first difference
    compared: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case, replay: Replay) -> None:
        for part, sentence in replay.differences.first.items():
            self.first.setdefault(part, f"On {case.problem.name}, {sentence}.")
        self.compared += replay.differences.compared


def _variant(context: Context, name: str, cases: list[Case]) -> Iterator[tuple[str, str]]:
    """Yield each part with its first difference: of replays, all deterministic; then what is random besides noise."""
    seen = _Seen()
    for case in cases:
        for replay in case.replays():
            seen.add(case, replay)
    yield from ((part, seen.first.get(part, "")) for part in PARTS if part in seen.compared)
    drawing = next((case for case in cases if case.schemes), None)
    if drawing is not None:  # of each size that a run draws
        judged = [draws(scheme) for scheme in dict.fromkeys(scheme for scheme, _ in drawing.schemes)]
        judged += [law.minibatches(drawing, scheme, size, context.stream) for scheme, size in drawing.schemes]
        yield "sampling", next((each.sentence for each in judged if not each.ok), "")
    uniform = next((case for case in cases if case.chosen), None)
    if uniform is not None:
        yield "uniform", law.uniform_iterate(uniform, context.stream).wrong
    chances = [chance for case in cases if case.free for chance in perturbations(case)]
    if chances:
        yield "perturbations", law.perturbations(chances, ball=name == "dp_rgda").wrong


def perturbations(case: Case) -> list[Array]:
    """Return enough of a case's perturbations to tell one law from another, or those of some runs."""
    found: list[Array] = []
    for replay in case.replays(_RUNS):
        found += replay.chances
        if len(found) >= _MOVES or not found:
            break
    return found
