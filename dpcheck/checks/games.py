"""For every algorithm and variant, a game that its privacy certificate nearly describes.

The canary and the record that replaces it are as far apart as clipping or the Lipschitz bound allows, at every
release; the other records equal the latter, or have no gradient, so that nothing hides them. Sizes are small:
a certificate holds for every n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.checks.transcript import Game
from dpcheck.checks.worst_case import WorstCase, record
from dpcheck.events import Event, Gaussian, Repeated, Sampled, Scheme
from dpcheck.problems.problem import Array
from dpcheck.solvers import configure
from dpcheck.solvers.output_perturbation import blocks

EPSILON, DELTA = 1.0, 1e-5
STEPS, RECORDS, BATCH = 20, 10, 2
BOTH, ONE = (1, 1), (1,)  # patterns: two releases a minibatch, or one


@dataclass(frozen=True, eq=False)
class Entry:
    """One variant of an algorithm.

    label : distinguishes it in ids;  words : in sentences
    events : what a run releases at most, with true sensitivities where the algorithm understates them
    remark : why the pair does not reach the certificate, where it cannot
    """

    label: str
    words: str
    game: Game
    events: tuple[Event, ...]
    remark: str = ""


def _entry(
    name: str, variant: str, problem: WorstCase, roles: Sequence[Array], pattern: tuple[int, ...], *,
    label: str | None = None, words: str | None = None, remark: str = "", events: Any = None, **settings: Any,
) -> Entry:  # fmt: skip
    solver = configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant, **settings)
    game = Game.of(solver, problem, roles, pattern)
    spoken = variant.replace("_", " ") if words is None else words
    return Entry(
        label or variant, spoken, game, events(solver) if events else solver.events(game.data), remark
    )  # fmt: skip


def blank(n: int = RECORDS, **constants: Any) -> WorstCase:
    """n records without gradients, by which a schedule is made."""
    return WorstCase(np.zeros((n, 5)), **constants)


LOUD = record(b=3.0, c=3.0)  # of a gradient beyond the clipping norm 1 in either block, also with curvature 1
PAIR = (LOUD, -LOUD, -LOUD)
QUIET = (LOUD, -LOUD, 0 * LOUD)


def dp_sgda() -> Iterator[Entry]:
    clips = {"clip_w": 1.0, "clip_v": 1.0}
    for sampling, roles in (("without_replacement", PAIR), ("poisson", QUIET)):
        yield _entry(
            "dp_sgda", "repaired", blank(), roles, BOTH, label=f"repaired.{sampling}",
            words=f"repaired, {sampling.replace('_', ' ')}", sampling=sampling, steps=STEPS, batch=BATCH, eta=0.05,
            **clips,
        )  # fmt: skip
    n = 20  # Remark 1's minibatch is then 3
    ones = record(b=1.0, c=1.0)
    yield _entry(
        "dp_sgda", "as_printed", blank(n), (ones, -ones, -ones), BOTH, label="as_printed.with_replacement",
        words="as printed, with replacement", steps=STEPS, eta=0.05,
    )  # fmt: skip


def dp_sgda_clipped() -> Iterator[Entry]:
    problem = blank(concavity=1.0)
    settings = {"steps": STEPS, "eta_w": 0.05, "eta_v": 0.05, "clip_w": 1.0, "clip_v": 1.0}
    yield _entry("dp_sgda_clipped", "repaired", problem, PAIR, BOTH, batch=BATCH, **settings)
    yield _entry("dp_sgda_clipped", "as_printed", blank(20, concavity=1.0), PAIR, BOTH, **settings)


def dptd() -> Iterator[Entry]:
    yield _entry("dptd", "repaired", blank(), PAIR, BOTH, steps=STEPS, batch=BATCH, clip_w=1.0, clip_v=1.0)
    yield _entry("dptd", "as_printed", blank(STEPS), PAIR, BOTH, clip_w=1.0, clip_v=1.0)


def nseg() -> Iterator[Entry]:
    yield _entry(
        "nseg", "repaired", blank(), PAIR, ONE, steps=STEPS // 2, batch=BATCH, eta=0.05, clip_w=1.0, clip_v=1.0
    )


def _spider(L0: float = 1.0, Ls: float = 1.0) -> tuple[dict[str, Any], tuple[Array, Array, Array]]:
    """Curvature beyond Ls, of opposite sign, and a slope beyond L0 all over [-R, R]."""
    R, p = 10.0, 2 * Ls
    canary = record(b=2 * (L0 + p * R), p=p)
    return {"dim_v": 0, "radius_w": R}, (canary, -canary, -canary)


def dp_spider() -> Iterator[Entry]:
    constants, roles = _spider()
    settings = {"steps": STEPS, "eta": 0.1, "L0": 1.0, "Ls": 1.0}
    yield _entry(
        "dp_spider", "repaired", blank(**constants), roles, ONE, period=STEPS, b1=BATCH, b2=BATCH, **settings
    )
    yield _entry("dp_spider", "as_printed", blank(50, **constants), roles, ONE, **settings)


def ada_dp_spider() -> Iterator[Entry]:
    constants, roles = _spider()
    yield _entry(
        "ada_dp_spider", "repaired", blank(**constants), roles, ONE, steps=STEPS, b1=BATCH, b2=BATCH, eta=0.1,
        L0=1.0, Ls=1.0, refreshes=1, kappa=1e9, chi=1e-9, R=1.0,
    )  # fmt: skip


def sto_spider() -> Iterator[Entry]:
    constants, roles = _spider()
    yield _entry(
        "sto_spider", "repaired", blank(**constants), roles, ONE, steps=STEPS, b1=BATCH, b2=BATCH, eta=0.1,
        L0=1.0, Ls=1.0, refreshes=1, kappa=1e9, gamma=1e-9, alpha=1.0, selection=0.01,
        remark="the private choice at the end, 1 % of epsilon, is not looked at",
    )  # fmt: skip


def dp_rgda() -> Iterator[Entry]:
    k, R = 1e4, 10.0  # all differences of gradients are clipped, however close the points
    schedule = {
        "alpha": 1e-9, "C_v": 1.0, "C_u": 1.0, "eta": 0.1, "eta_H": 0.1, "lam": 0.01, "r": 1.0, "t_thres": 9,
        "D_bar": 1.0,
    }  # fmt: skip
    far = record(b=4 * k * R, c=4 * k * R, p=k, q=k, a=k)
    yield _entry(
        "dp_rgda", "repaired", blank(radius_w=R, radius_v=R), (far, -far, -far), BOTH, steps=4, period=4, S1=BATCH,
        S2=BATCH, K=5, escapes=0, **schedule,
    )  # fmt: skip
    # all records are read, and the clipped mean turns round with the canary
    yield _entry(
        "dp_rgda", "as_printed", blank(radius_w=R, radius_v=R), (far, -far, 0 * far), (0,), steps=4, period=4,
        S1=RECORDS, S2=RECORDS, K=1, events=_whole_mean, **schedule,
    )  # fmt: skip


def _whole_mean(solver: Any) -> tuple[Event, ...]:
    """DP-RGDA as printed: the clipped mean of a minibatch with another record moves by 2C."""

    def pair(sigma: float, C: float, batch: int, count: int) -> Event:
        both = (Gaussian(sigma / (2 * C)),) * 2
        return Repeated(Sampled(both, "without_replacement", RECORDS, batch), count)

    refreshes = math.ceil(solver.steps / solver.period)
    return (
        pair(solver.sigma_v, solver.C_v, solver.S1, refreshes),
        pair(solver.sigma_u, solver.C_u, solver.S2, solver.steps * solver.K),
    )


def privatediff() -> Iterator[Entry]:
    n, rounds, restart = 50, 10, 5
    edge = 1 / n  # of V, where the maximiser lies: C0 is then hardly more than the canary's gradient
    canary = record(b=100.0, c=1.0, p=10.0)
    problem = blank(n, concavity=1.0, lipschitz_v=1.0 + edge, radius_w=1.0, radius_v=edge)
    yield _entry(
        "privatediff", "repaired", problem, (canary, -canary, record(b=-100.0, p=-10.0)), (0, 1), rounds=rounds,
        restart=restart, inner=1, batch=n // 5, eta_x=0.01, C1=1.0, C2=1.0, C3=1e-9,
    )  # fmt: skip
    # every record's gradient in w is a v, clipped to its sign: it turns round with the maximiser, hence the canary
    canary, C = record(c=1.0, a=1.0), edge / 10
    problem = replace(problem, radius_w=edge / 10, lipschitz_v=1.0 + 1.1 * edge, lipschitz_w=edge)
    yield _entry(
        "privatediff", "as_printed", problem, (canary, record(c=-1.0, a=1.0), record(a=1.0)), (0,), rounds=rounds,
        restart=restart, inner=2, batch=n, eta_x=0.01, C1=C, C2=C, C3=C, events=_private_ascent,
    )  # fmt: skip


def _private_ascent(solver: Any) -> tuple[Event, ...]:
    """PrivateDiff as printed: the ascent may turn every gradient, which move by 2C; y moves within V."""
    count, n = solver.rounds + 1, 50
    refreshes = math.ceil(count / solver.restart)
    return (
        Repeated(Gaussian(solver.sigma_1 / 2), refreshes), Repeated(Gaussian(solver.sigma_2 / 2), count - refreshes),
        Repeated(Gaussian(solver.sigma_y * n / 2), count),
    )  # fmt: skip


def _stays(size: int) -> tuple[Array, Array, Array]:
    """Linear losses whose minimiser moves from 1/2 to 5/2 units L/(mu size).

    So near, a base solver may stay where it is, and on the neighbour it goes all the way: a move of 5/2 units of
    the 4 that are declared.
    """
    others = record(b=(1.5 - 1e-6) / (size - 1))
    return record(b=-1.0), record(b=1.0), others


ROOM = "half of the declared sensitivity is room for the base solver's error, of which this pair uses a quarter"


def _output(name: str, problem: WorstCase, size: int) -> Iterator[Entry]:
    variant = "repaired" if name == "nispp" else "as_printed"
    yield _entry(name, variant, problem, _stays(size), (0,), remark=ROOM)


def output_perturbation() -> Iterator[Entry]:
    n = 100  # |w| <= 3/n costs 3 % of the Lipschitz constant
    problem = blank(n, convexity=1.0, radius_w=3 / n, lipschitz_w=1 + 3 / n, lipschitz_v=0.0, dim_v=0)
    yield from _output("output_perturbation", problem, n)


def minimax_output_perturbation(name: str = "minimax_output_perturbation") -> Iterator[Entry]:
    n = 100
    problem = blank(
        n, convexity=1.0, concavity=1.0, radius_w=3 / n, radius_v=1e-6, lipschitz_w=1 + 3 / n, lipschitz_v=1e-6
    )
    yield from _output(name, problem, n)


def phased(name: str) -> Iterator[Entry]:
    n = 16
    (_, size), *_ = blocks(n)
    linear: dict[str, Any] = {"smoothness": 0.0, "lipschitz_v": 0.0, "radius_w": 1.0, "radius_v": 1.0}
    if name == "phased_output_perturbation":
        linear["dim_v"] = 0
    if name == "phased_convex_strongly_concave":
        linear |= {"concavity": 1.0, "smoothness": 1.0, "radius_w": 100.0, "radius_v": 1e-6, "lipschitz_v": 1e-6}
    yield from _output(name, blank(n, **linear), size)


GAMES: dict[str, Callable[[], Iterator[Entry]]] = {
    "ada_dp_spider": ada_dp_spider, "dp_rgda": dp_rgda, "dp_sgda": dp_sgda, "dp_sgda_clipped": dp_sgda_clipped,
    "dp_spider": dp_spider, "dptd": dptd, "nseg": nseg, "sto_spider": sto_spider, "privatediff": privatediff,
    "output_perturbation": output_perturbation, "minimax_output_perturbation": minimax_output_perturbation,
    "minimax_output_perturbation_joint": lambda: minimax_output_perturbation("minimax_output_perturbation_joint"),
    "nispp": lambda: phased("nispp"), "phased_output_perturbation": lambda: phased("phased_output_perturbation"),
    "phased_primal": lambda: phased("phased_primal"),
    "phased_minimax_output_perturbation": lambda: phased("phased_minimax_output_perturbation"),
    "phased_convex_strongly_concave": lambda: phased("phased_convex_strongly_concave"),
}  # fmt: skip
