"""One variant of an algorithm in a game, as the games' files make it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.checks.privacy.transcript import Game
from dpcheck.checks.privacy.worst_case import WorstCase, record
from dpcheck.events import Event
from dpcheck.solvers import configure

EPSILON, DELTA = 1.0, 1e-5
# Each audit's confidence and trials. A run of the check has some 200 audits; an audit of a mechanism that keeps its
# claim says "violated" with probability at most 1 - CONFIDENCE, so that any of them does with at most 2e-4.
CONFIDENCE = 1 - 1e-6
# What is far off is found in the first thousand runs; more of them bring the bound of what holds nearer to its claim.
TRIALS, TRIALS_FULL = 30_000, 1_000_000
LEARNED = 20_000  # of iterates and outputs, whose scores are learned, or a fifth of the transcripts where that is more
# Small, as a certificate holds for every n; three of four records are drawn at a time, which leaves the law of a
# transcript close to its certificate, and spread evenly enough for runs to show.
STEPS, RECORDS, BATCH = 20, 4, 3

# Patterns: a minibatch has two releases, or one; or all releases depend on the records without further chance.
BOTH, ONE, WHOLE = (1, 1), (1,), (0,)

RADIUS = 1e4  # of domains to whose ends no run comes near; resting there, it would tell nothing
FAR: dict[str, Any] = {"radius_w": RADIUS, "radius_v": RADIUS}

LOUD = record(b=4 * RADIUS, c=4 * RADIUS)  # a gradient beyond the clipping norm 1 all over, also with curvature 1
CLIPS: dict[str, Any] = {"clip_w": 1.0, "clip_v": 1.0}
PAIR = (LOUD, -LOUD, -LOUD)
QUIET = (LOUD, -LOUD, 0 * LOUD)


@dataclass(frozen=True, eq=False)
class Entry:
    """label, words : of the variant, in ids and in sentences

    events : what a run releases at most, with true sensitivities where the algorithm understates them
    remark : why the pair does not reach what is certified, where it cannot
    epsilon, delta : what the algorithm itself promises
    least_share : of its declared sensitivity, by which the canary moves every release that it can move
    still : how many releases of a run are 0 whatever the records are
    brief : only the transcript is audited, as iterates and outputs are of another entry of the variant
    least : trials of the audits of iterates and of outputs, at least, where fewer do not settle them
    """

    label: str
    words: str
    game: Game
    events: tuple[Event, ...]
    remark: str = ""
    epsilon: float = EPSILON
    delta: float = DELTA
    least_share: float = 0.95
    still: int = 0
    brief: bool = False
    least: int = 0


def entry(
    name: str, variant: str, problem: WorstCase, roles: Sequence[Array], pattern: tuple[int, ...],
    settings: dict[str, Any], *, label: str = "", words: str = "", remark: str = "",
    events: Callable[[Any], tuple[Event, ...]] | None = None, place: int = 0, **fields: Any,
) -> Entry:  # fmt: skip
    """Return the entry of algorithm ``name`` at (EPSILON, DELTA) with these ``settings``, its schedule made for
    ``problem``.

    events : of the configured algorithm, its own where it states them rightly
    fields : further ones of the entry
    """
    solver = configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant, **settings)
    game = Game.of(solver, problem, roles, pattern, place)
    released = solver.events(game.data) if events is None else events(solver)
    share = type(solver).promised
    claim = {"epsilon": share * EPSILON, "delta": share * DELTA}
    return Entry(label or variant, words or variant.replace("_", " "), game, released, remark, **claim | fields)


def blank(n: int = RECORDS, **constants: Any) -> WorstCase:
    """Return n records without gradients, by which a schedule is made."""
    return WorstCase(np.zeros((n, 5)), **constants)
