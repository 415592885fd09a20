"""Games for algorithms that release differences of gradients.

The canary's curvature and that of the record which replaces it are of opposite sign, and so large that the
difference between any two points is clipped; the slopes are so large that the gradients are, wherever a run goes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dpcheck.checks.privacy.entry import BATCH, BOTH, FAR, ONE, RADIUS, RECORDS, STEPS, WHOLE, Entry, blank, entry
from dpcheck.checks.privacy.worst_case import WorstCase, record
from dpcheck.events import Event, Gaussian, Repeated, Sampled

_BENT = record(b=4 * RADIUS, p=2.0)  # a slope beyond 1 all over; differences are twice as long as Ls = 1 allows
_PAIR = (_BENT, -_BENT, -_BENT)
_NORMS: dict[str, Any] = {"steps": STEPS, "eta": 0.1, "L0": 1.0, "Ls": 1.0}
_SMALL = _NORMS | {"b1": BATCH, "b2": BATCH}


def _minimised(n: int = RECORDS) -> WorstCase:
    return blank(n, dim_v=0, radius_w=RADIUS)


def dp_spider() -> Iterator[Entry]:
    """Yield games of two refreshes; as printed with the constant that the paper leaves open, one refresh and one
    difference.

    The fewer releases the output rests on, the more it alone tells; what is printed is too little for any number.
    """
    yield entry("dp_spider", "repaired", _minimised(), _PAIR, ONE, _SMALL | {"period": STEPS // 2})
    yield entry(
        "dp_spider", "as_printed", _minimised(), _PAIR, WHOLE,
        _NORMS | {"steps": 2, "period": 2, "b1": RECORDS, "b2": RECORDS}, words="as printed, with c = 1", least=100_000,
    )  # fmt: skip


def ada_dp_spider() -> Iterator[Entry]:
    """Yield a game without an escape within its steps; drift calls for a second refresh in three runs of four, for a
    third in few.
    """
    settings = _SMALL | {"refreshes": 2, "kappa": 300.0, "chi": 1e-9, "R": 1.0}
    yield entry("ada_dp_spider", "repaired", _minimised(), _PAIR, ONE, settings)


def sto_spider() -> Iterator[Entry]:
    """Yield a game that leaves nearly all of epsilon to the descent, whose second estimate is a refresh too, as its
    norm asks for.
    """
    settings = _SMALL | {"refreshes": 2, "kappa": 1e9, "gamma": 1e9, "Gamma": STEPS, "r": 1e-9}
    settings |= {"alpha": 1.0, "selection": 0.001}
    remark = "the private choice at the end, 0.1 % of epsilon, is not looked at"
    # the canary moves either coordinate of the choice's score by as much, and its norm by sqrt(1/2) of what is declared
    yield entry("sto_spider", "repaired", _minimised(), _PAIR, ONE, settings, remark=remark, least_share=0.7)


def dp_rgda() -> Iterator[Entry]:
    """Yield games; repaired, differences are clipped to a fixed norm, hence the curvatures; the first of a run is
    always 0, which many steps of the ascent make a small part of what the certificate counts.

    Under Theorem 2 a record is in one minibatch. Which one is given away, as the certificate does not rest on it: the
    canary is in a refresh or in a difference that two nodes of the tree hold in half of the runs, else in one node.

    As printed all records are read, and the mean, which is clipped as one, flips sign when the canary is replaced.
    """
    k = 1e4
    far = record(b=4 * k * RADIUS, c=4 * k * RADIUS, p=k, q=k, a=k)
    problem = blank(**FAR)
    settings: dict[str, Any] = {
        "steps": 4, "period": 2, "alpha": 1e-9, "C_v": 1.0, "C_u": 1.0, "eta": 0.1, "eta_H": 0.1, "lam": 0.01,
        "r": 1.0, "t_thres": 9, "D_bar": 1.0,
    }  # fmt: skip
    yield entry(
        "dp_rgda", "repaired", problem, (far, -far, -far), BOTH,
        settings | {"S1": BATCH, "S2": BATCH, "K": 10, "escapes": 0},
        remark="the first difference is between a point and itself", still=4,
    )  # fmt: skip
    tree = {"theorem": "2", "steps": 2, "period": 1, "S1": 2, "S2": 2, "K": 4, "escapes": 0}
    yield entry(
        "dp_rgda", "repaired", blank(16, concavity=1.0, **FAR), (far, -far, -far), WHOLE, settings | tree,
        label="repaired.theorem_2", words="repaired, Theorem 2",
        remark="a record is in one minibatch, and half of those are in fewer nodes than the certificate counts",
    )  # fmt: skip
    yield entry(
        "dp_rgda", "as_printed", problem, (far, -far, 0 * far), WHOLE,
        settings | {"S1": RECORDS, "S2": RECORDS, "K": 1}, events=_clipped_means,
    )  # fmt: skip


def _clipped_means(solver: Any) -> tuple[Event, ...]:
    """Return the events of DP-RGDA as printed: the clipped mean of a minibatch moves by 2C, whatever its size."""

    def pair(sigma: float, C: float, batch: int, count: int) -> Event:
        both = (Gaussian(sigma / (2 * C)),) * 2
        return Repeated(Sampled(both, "without_replacement", RECORDS, batch), count)

    return (
        pair(solver.sigma_v, solver.C_v, solver.S1, math.ceil(solver.steps / solver.period)),
        pair(solver.sigma_u, solver.C_u, solver.S2, solver.steps * solver.K),
    )


def privatediff() -> Iterator[Entry]:
    """Yield a game in which V ends where the maximiser lies, at 1/n, so that C0 is hardly more than the canary's
    gradient.

    As printed every record's gradient in w is v, clipped to hardly more than its sign: all flip sign with the
    maximiser, and that with the canary.
    """
    n = 20
    settings: dict[str, Any] = {"rounds": 7, "restart": 4, "eta_x": 0.01}
    problem = blank(n, concavity=1.0, lipschitz_v=1 + 1 / n, radius_v=1 / n)
    canary, others = record(b=100.0, c=1.0, p=10.0), record(b=-100.0, p=-10.0)
    yield entry(
        "privatediff", "repaired", problem, (canary, record(b=-100.0, c=-1.0, p=-10.0), others), (0, 1),
        settings | {"inner": 1, "batch": 3 * n // 4, "C1": 1.0, "C2": 1.0, "C3": 1e-9},
    )  # fmt: skip
    C = 0.1 / n
    problem = replace(problem, radius_w=C, lipschitz_v=1 + 1 / n + C, lipschitz_w=1 / n)

    def moves(solver: Any) -> tuple[Event, ...]:
        """Return the true events: gradients that all flip sign move their mean by 2C; y moves within V."""
        count = solver.rounds + 1
        refreshes = math.ceil(count / solver.restart)
        parts = (
            (solver.sigma_1 / 2, refreshes),
            (solver.sigma_2 / 2, count - refreshes),
            (solver.sigma_y * n / 2, count),
        )
        return tuple(Repeated(Gaussian(multiplier), times) for multiplier, times in parts)

    yield entry(
        "privatediff", "as_printed", problem, (record(c=1.0, a=1.0), record(c=-1.0, a=1.0), record(a=1.0)), WHOLE,
        settings | {"inner": 2, "batch": n, "C1": C, "C2": C, "C3": C}, events=moves,
    )  # fmt: skip
