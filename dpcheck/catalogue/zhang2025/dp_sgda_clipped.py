"""DP-SGDA with per-record clipping, the nonconvex-strongly concave schedule.

Zhang, Lei, Ding, Xiang, Xu, Wang: "Improved Rates of Differentially Private Nonconvex-Strongly-Concave
Minimax Optimization", AAAI 2025, Algorithm 1, Theorems 1 and 2: the loop of ``dp_sgda`` with both blocks
clipped, its own step sizes, and a uniformly drawn iterate returned (one of T; the paper counts t = 0, ..., T).
Both blocks are projected, of which the paper projects y alone.

Neighbours replace one record, log is natural. The published noise lacks the clipping thresholds (claim
003:Thm1-remark); with them, at its own minibatch n sqrt(epsilon/(4T)), ``as_printed`` is what is meant.
``repaired`` takes the noise that the accountant certifies and the minibatch of Theorem 2.

Clipping bounds what a record does whatever the problem is: one that is not smooth, or not strongly concave, runs where
eta_w and eta_v are given, and one without a bound on its gradients where clip_w and clip_v are.
"""

from __future__ import annotations

from typing import ClassVar

from dpcheck.algorithms.schedule import Schedule
from dpcheck.catalogue.yang2022.dp_sgda import (
    GradientDescentAscent,
)
from dpcheck.catalogue.zhang2025.dp_sgda_clipped_schedule import Printed, Repaired


class DPSGDAClipped(GradientDescentAscent):
    """DP-SGDA with clipping, Algorithm 1 of Zhang et al. 2025; :meth:`configure` takes its numbers from Theorem 2."""

    name = "dp_sgda_clipped"
    paper = "zhang2025"
    source = "Algorithm 1, Theorem 1 with its remark, Theorem 2"
    schedules: ClassVar[dict[str, type[Schedule]]] = {"as_printed": Printed, "repaired": Repaired}
