"""DP-SGDA with per-record clipping, the nonconvex-strongly concave schedule.

Zhang, Lei, Wang, Zhang, Wang: "Improved Rates of Differentially Private Nonconvex-Strongly-Concave
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

import math
from typing import Self

import numpy as np

from dpcheck.errors import require, require_count, require_positive
from dpcheck.problems.problem import Problem
from dpcheck.solvers.dp_sgda import (
    GradientDescentAscent,
    certified_noise,
    printed_batch,
    printed_noise,
)
from dpcheck.solvers.solver import Sizes, modulus, private_modulus, require_length, require_norm


class DPSGDAClipped(GradientDescentAscent):
    """DP-SGDA with clipping, Algorithm 1 of Zhang et al. 2025; :meth:`configure` takes its numbers from Theorem 2."""

    name = "dp_sgda_clipped"
    paper = "zhang2025"
    source = "Algorithm 1, Theorem 1 with its remark, Theorem 2"

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str = "repaired",
        steps: int | None = None, batch: int | None = None, eta_w: float | None = None, eta_v: float | None = None,
        clip_w: float | None = None, clip_v: float | None = None, output: str = "uniform", private: bool = True,
    ) -> Self:  # fmt: skip
        """Set up clipped DP-SGDA by Theorem 2 with every constant 1, save what is given.

        Parameters
        ----------
        problem : Problem
            The objective with its n records, strongly concave in v and smooth unless the steps are given; neighbours
            replace one record.
        epsilon, delta : float
            Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
        variant : {"repaired", "as_printed"}
            ``"as_printed"`` follows the paper as published, ``"repaired"`` mends what cannot stand there.
        steps : int, optional
            T; n epsilon/sqrt(d log(1/delta)) by default.
        batch : int, optional
            Minibatch m, at most n; by default Remark 1's of Yang et al. 2022, and repaired at least T.
        eta_w, eta_v : float, optional
            Step sizes > 0; 1/(16 (kappa + 1)^2 l) and 1/l by default.
        clip_w, clip_v : float, optional
            Clipping norms C1, C2 (l2), finite and > 0; the problem's G_w and G_v by default.
        output : {"uniform", "average", "last"}
            A uniformly drawn iterate, the average, or the last.
        private : bool
            False switches the noise off, for a baseline without privacy.

        Returns
        -------
        DPSGDAClipped
            The configuration.

        Raises
        ------
        InputError
            For values outside their domain, and for a problem that the algorithm is not made for.

        References
        ----------
        Q. Zhang et al. Improved rates of differentially private nonconvex-strongly-concave minimax optimization. AAAI
        2025, Algorithm 1, Theorems 1 and 2.
        """
        sizes = Sizes.of(problem, epsilon, delta, variant, cls.variants)
        n, l, mu = sizes.n, problem.smoothness, modulus(problem)
        given = None not in (eta_w, eta_v)
        require(eta_w is not None or mu > 0, "problem", "be strongly concave in v, or eta_w given", problem.name)
        require(given or math.isfinite(l), "problem", "be smooth, or eta_w and eta_v given", problem.name)
        steps = math.ceil(1 / sizes.privacy_error) if steps is None else steps
        require_count(steps, "steps")
        require_length(steps, "steps")
        if batch is None:
            batch = printed_batch(n, steps, epsilon)
            if variant == "repaired":
                batch = min(n, max(batch, math.ceil(1 / sizes.privacy_error)))
        require_count(batch, "batch")
        require(batch <= n, "batch", f"be at most the number of records, {n}", batch)
        eta_w = 1 / (16 * (l / mu + 1) ** 2 * l) if eta_w is None else eta_w
        eta_v = 1 / l if eta_v is None else eta_v
        clips = (problem.lipschitz_w if clip_w is None else clip_w, problem.lipschitz_v if clip_v is None else clip_v)
        for name, value in (("eta_w", eta_w), ("eta_v", eta_v)):
            require_positive(value, name)
        for name, value in zip(("clip_w", "clip_v"), clips, strict=True):
            require_norm(value, name, finite=True)
        if not private:
            sigmas = [0.0, 0.0]
        elif variant == "as_printed":
            sigmas = [printed_noise(C, n, steps, epsilon, delta) for C in clips]
        else:
            sigmas = certified_noise(clips, "without_replacement", n, batch, steps, epsilon, delta)
        sigma_w, sigma_v = sigmas
        return cls(
            np.full(steps, eta_w), np.full(steps, eta_v), sigma_w, sigma_v, batch, "without_replacement",
            clips[0], clips[1], output, private_modulus(problem),
        )  # fmt: skip
