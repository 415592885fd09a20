"""A step of DP-SGDA: the law of its noise, the sensitivity of its gradients, and what the print leaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from dpcheck.audits.noise import NoiseAudit, audit_noise_sample
from dpcheck.audits.sensitivity import audit_sensitivity
from dpcheck.checks.context import Context
from dpcheck.findings import Finding
from dpcheck.problems.auc import AUC
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.problem import Array, Problem
from dpcheck.solvers.dp_sgda import DPSGDA
from dpcheck.solvers.run import History
from dpcheck.solvers.solver import SCHEMES

# Each of two runs is judged at this confidence, and both must reject: an error of 0.0009 a finding.
# One run at 0.9991 would never reject, as the audits' simulated p-values do not go that low.
CONFIDENCE = 0.97


def step(context: Context) -> Iterator[Finding]:
    """Yield the findings from recorded runs on a small game whose projections and clipping are active."""
    rng = np.random.default_rng(context.stream(4))
    game = Bilinear.sample(100, 2, rng, bound=3.0, radius=0.2)
    for sampling in SCHEMES:
        solver = DPSGDA(np.full(400, 0.2), np.full(400, 0.2), 2.0, 3.0, 10, sampling, clip_w=1.0, clip_v=1.0)
        histories = [_recorded(solver, game, context.stream(5, k)) for k in (0, 1)]
        label, words = f"dp_sgda.{sampling}", sampling.replace("_", " ")
        yield from _noise(context, solver, game, histories, label, words)
    yield from _sensitivity(game)
    yield from _class_counts(rng)


def _recorded(solver: DPSGDA, problem: Problem, seed: int = 0) -> History:
    return solver.run(problem, seed=seed, record=True).history.paired()


def _confirmed(judge: Callable[[History, int], NoiseAudit], histories: list[History]) -> NoiseAudit:
    """The audit of the first run; where it rejects, that of the second, which has to reject too."""
    first = judge(histories[0], 0)
    return first if first.verdict == "consistent" else judge(histories[1], 1)


def _noise(
    context: Context, solver: DPSGDA, game: Problem, histories: list[History], label: str, words: str
) -> Iterator[Finding]:
    """The noise of either block, and of both together in units of their scales."""
    d, scales = game.dim_w, (solver.sigma_w, solver.sigma_v)
    units = np.repeat(scales, (d, game.dim_v))
    for name, columns, unit, scale in (
        ("w", slice(0, d), 1.0, scales[0]),
        ("v", slice(d, None), 1.0, scales[1]),
        ("both", slice(None), units, 1.0),
    ):

        def judge(
            history: History, run: int, columns: slice = columns, unit: Array | float = unit, scale: float = scale
        ) -> NoiseAudit:
            noise = (history.released - history.clean)[:, columns] / unit
            seed = context.stream(8, run)
            return audit_noise_sample(noise, scale=scale, centred=True, confidence=CONFIDENCE, seed=seed)

        audit = _confirmed(judge, histories)
        yield Finding(
            f"{label}.noise_{name}", "noise", f"{words}: noise on the gradient in {name}", audit.verdict,
            audit.reason, evidence=audit.to_dict(),
        )  # fmt: skip


def _first_gradient(solver: DPSGDA, problem: Problem) -> History:
    """The first step on a minibatch of all records, without noise."""
    one = replace(
        solver, eta_w=solver.eta_w[:1], eta_v=solver.eta_v[:1], sigma_w=0.0, sigma_v=0.0,
        batch=len(problem.records), sampling="without_replacement",
    )  # fmt: skip
    return _recorded(one, problem)


def _sensitivity(game: Bilinear) -> Iterator[Finding]:
    """Exchange records beyond the clipping norm: the mean must move by 2C/m, and no more."""
    n, d = 10, game.dim_w
    solver = DPSGDA(np.ones(1), np.ones(1), 0.0, 0.0, n, clip_w=1.0, clip_v=1.0)
    basis = np.hstack([np.eye(d), np.eye(d)])
    for name, part in (("w", slice(0, d)), ("v", slice(d, 2 * d))):

        def gradient(records: Array, part: slice = part) -> Array:
            return np.asarray(_first_gradient(solver, replace(game, records=records)).clean[0, part])

        audit = audit_sensitivity(
            gradient, game.records[:n], [*(3.0 * basis), *(-3.0 * basis), 0 * basis[0]], claimed=2.0 / n,
        )  # fmt: skip
        yield Finding(
            f"dp_sgda.sensitivity_{name}", "sensitivity",
            f"minibatch gradient in {name}, one record exchanged", audit.verdict,
            f"moves by at most {audit.sensitivity * n:.4g} C/m, declared 2 C/m", evidence=audit.to_dict(),
        )  # fmt: skip


def _class_counts(rng: np.random.Generator) -> Iterator[Finding]:
    """Algorithm 2: does the gradient of a record depend on who else is in the data?

    The record at hand stays; another one changes its label. With weights counted on the private
    data, as printed, its gradient moves: a release that no noise covers.
    """
    X = rng.normal(size=(20, 3))
    X /= 2 * np.linalg.norm(X, axis=1, keepdims=True)
    labels = np.where(np.arange(20) % 4, -1.0, 1.0)
    for variant, share in (("as_printed", None), ("repaired", 0.25)):

        def gradient(y: Array, share: float | None = share) -> Array:
            problem = AUC.from_data(X, y, positive_share=share)
            alone = replace(problem, records=problem.records[:1])
            one = DPSGDA(np.ones(1), np.ones(1), 0.0, 0.0, 1)
            return np.asarray(_first_gradient(one, alone).clean[0])

        # only records after the first may change, so the first one's own gradient should not
        audit = audit_sensitivity(
            lambda rest: gradient(np.concatenate([labels[:1], [-1.0], rest])), labels[2:], [1.0, -1.0],
            claimed=0.0,
        )  # fmt: skip
        reason = (
            "does not move"
            if audit.sensitivity == 0
            else f"moves by {audit.sensitivity:.3g} when another record changes its label: n+ and n- are "
            "read off the private data and no noise covers them"
        )
        yield Finding(
            f"dp_sgda.{variant}.class_counts", "sensitivity",
            f"{variant.replace('_', ' ')} AUC: gradient of a record while another one changes",
            audit.verdict, f"the gradient {reason}", evidence=audit.to_dict(),
        )  # fmt: skip
