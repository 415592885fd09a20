"""The stage that looks inside recorded runs of an algorithm: every step of them once more, in plain NumPy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.checks.context import Context
from dpcheck.checks.place import place_of
from dpcheck.report.findings import Finding
from reference import minibatch_law as law
from reference.defaults import DEFAULTS, compared
from reference.derivatives import departures
from reference.draws import draws
from reference.replay import PARTS, Replay
from reference.small_runs import CASES, Case, families

# part -> its kind, what it is, and how it was compared
_PARTS = {
    "minibatches": ("sampling", "sizes and repeats of the minibatches", "looked at"),
    "gradients": ("sensitivity", "private gradients", "recomputed from the records drawn"),
    "solutions": ("sensitivity", "private solutions of the phases", "solved for exactly on their records"),
    "scales": ("noise", "stated noise and sensitivity of each release", "recomputed"),
    "iterates": ("feasibility", "iterates", "recomputed from what was released"),
    "feasible": ("feasibility", "iterates in their domains", "projected"),
    "output": ("feasibility", "output", "recomputed from the iterates"),
    "ending": ("feasibility", "how the run says that it ended", "compared"),
}
_MOVES, _RUNS = 160, 60  # perturbations of a case that are looked at, and the most runs for them
_VALUE = 1e-6  # relative; differences of values are that exact at worst


def inside(context: Context, name: str) -> Iterator[Finding]:
    """Yield all findings from small recorded runs of one algorithm, and on the gradients of its problems."""
    if name not in CASES:
        yield Finding(
            f"{name}.inside.replay", "feasibility", "recorded runs, recomputed", "inconclusive",
            f"no replay of {name} in NumPy is known, so that its steps were not recomputed",
        )  # fmt: skip
    else:
        cases = sorted(CASES[name](), key=lambda case: case.label)
        for done, (label, some) in enumerate(groupby(cases, key=lambda case: case.label)):
            context.progress(done, len({case.label for case in cases}))
            yield from _variant(context, name, label, list(some))
    yield from _schedule(name)
    yield _problems(name)


@dataclass
class _Seen:
    """What the runs of a variant showed."""

    first: dict[str, str] = field(default_factory=dict)  # part -> the first difference
    largest: dict[str, float] = field(default_factory=dict)
    compared: Counter[str] = field(default_factory=Counter)
    runs: int = 0

    def add(self, case: Case, replay: Replay) -> None:
        self.runs += 1
        for part, sentence in replay.differences.first.items():
            self.first.setdefault(part, f"On {case.problem.name}, {sentence}.")
        for part, by in replay.differences.largest.items():
            self.largest[part] = max(self.largest.get(part, 0.0), by)
        self.compared += replay.differences.compared


def _variant(context: Context, name: str, label: str, cases: list[Case]) -> Iterator[Finding]:
    """Check replays first, which are all deterministic; then what is random besides noise."""
    words, seen = _words(label), _Seen()
    for case in cases:
        for replay in case.replays():
            seen.add(case, replay)
    for part in PARTS:
        if part not in seen.compared:
            continue
        kind, what, how = _PARTS[part]
        count, by = seen.compared[part], seen.largest[part]
        ok = f"{count} comparisons in {seen.runs} runs, {how}: they differ by {by:.1g} at most"
        verdict = "violated" if part in seen.first else "consistent"
        yield Finding(
            f"{name}.{label}.inside.{part}", kind, f"{words}: {what}", verdict, seen.first.get(part, ok),
            evidence={"runs": seen.runs, "comparisons": seen.compared[part], "largest difference": seen.largest[part]},
        )  # fmt: skip
    if any(case.schemes for case in cases):
        yield _sampling(context, name, label, words, next(case for case in cases if case.schemes))
    uniform = [case for case in cases if case.chosen]
    if uniform:
        yield _judged(
            f"{name}.{label}.inside.uniform", "feasibility", f"{words}: the iterate that is returned, uniform",
            law.uniform_iterate(uniform[0], context.stream),
        )  # fmt: skip
    chances = [chance for case in cases if case.free for chance in _perturbations(case)]
    if chances:
        judged = law.perturbations(chances, ball=name == "dp_rgda")
        yield _judged(f"{name}.{label}.inside.perturbations", "noise", f"{words}: perturbations near saddles", judged)


def _perturbations(case: Case) -> list[Array]:
    """Return enough of a case's perturbations to tell one law from another, or those of some runs."""
    found: list[Array] = []
    for replay in case.replays(_RUNS):
        found += replay.chances
        if len(found) >= _MOVES or not found:
            break
    return found


def _sampling(context: Context, name: str, label: str, words: str, case: Case) -> Finding:
    """Check the law of the minibatches, of each size that a run draws."""
    judged = [draws(scheme) for scheme in dict.fromkeys(scheme for scheme, _ in case.schemes)]
    judged += [law.minibatches(case, scheme, size, context.stream) for scheme, size in case.schemes]
    bad = next((each for each in judged if not each.ok), judged[-1])
    return _judged(f"{name}.{label}.inside.sampling", "sampling", f"{words}: which records the minibatches hold", bad)


def _judged(id: str, kind: str, subject: str, judged: law.Judged) -> Finding:
    verdict = "consistent" if judged.ok else "violated"
    return Finding(id, kind, subject, verdict, judged.sentence, evidence=judged.evidence)


def _schedule(name: str) -> Iterator[Finding]:
    """Compare the default schedule with its formulas, where no theorem of the registry carries them."""
    if name not in DEFAULTS:
        return
    differs, count = compared(name)
    reason = differs[0] if differs else f"{count} numbers of default configurations equal their formulas"
    yield Finding(
        f"{name}.inside.schedule", "schedule", "the default schedule, recomputed from its formulas",
        "violated" if differs else "consistent", reason, evidence={"differences": differs, "numbers": count},
    )  # fmt: skip


def _problems(name: str) -> Finding:
    """Compare the gradients of the problems that the algorithm's checks run on with the derivatives of their values."""
    worst, sentence, place, names = 0.0, "", None, []
    for label, problem in families(name):
        names.append(label)
        for told, by in departures(problem, np.random.default_rng(0)):
            if by > worst:
                worst = by
                if by > _VALUE and not sentence:
                    sentence, place = f"On {label}, {told}.", place_of(problem.gradient)
    evidence: dict[str, Any] = {"problems": names, "largest relative difference": worst}
    reason = sentence or f"on {', '.join(names)} they differ by {worst:.1g} at most, relatively"
    return Finding(
        f"{name}.inside.problems", "sensitivity", "gradients of the problems it is checked on, from their values",
        "violated" if sentence else "consistent", reason, evidence=evidence, place=place,
    )  # fmt: skip


def _words(label: str) -> str:
    """Return a label such as "repaired.with_replacement" as in a sentence."""
    return label.replace(".", ", ").replace("_", " ")
