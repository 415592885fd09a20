"""DP-SGDA (Yang et al. 2022) beyond its audits: its noise formula, a step, privacy and utility on real data."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck import datasets
from dpcheck.accounting import certify
from dpcheck.algorithms.problem import Array, Problem, with_record
from dpcheck.algorithms.run import History
from dpcheck.arrays import Floats
from dpcheck.audits.sensitivity import audit_sensitivity
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.checks.context import Context, Stage
from dpcheck.checks.games import DELTA, EPSILON
from dpcheck.checks.sandwich import audit as audit_pair
from dpcheck.checks.sandwich import finding
from dpcheck.checks.subject import Part
from dpcheck.errors import require
from dpcheck.events import Gaussian, Neighbours, Repeated, Sampled, Scheme
from dpcheck.problems.auc import AUC, auc_score
from dpcheck.problems.bilinear import Bilinear
from dpcheck.report.findings import Finding

# The weights' class share p is a public round figure: it must not be read off the private data,
# and a share that is a little off only weighs the two classes a little off.
ADULT_POSITIVE_SHARE = 0.25
REAL_STEPS = 100  # of the runs that are audited on real records
UTILITY_STEPS, UTILITY_RADIUS = 1000, 4.0


def stages(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterable[Stage]:
    """Yield the stages of the check, each a title and a call that yields findings."""
    return (
        ("noise of Remark 1", partial(remark_1, context, tables)),
        ("sensitivity of a step", partial(step, context)),
        ("audit on real records", partial(real_data, context)),
        ("utility on Adult", partial(utility, context, tables)),
    )


def step_epsilon(
    n: int, steps: int, batch: int, sigma: float, scheme: Scheme, neighbours: Neighbours = "replace_one"
) -> float:
    """Return the certified epsilon at delta = 1/n^2 of T joint releases, noise ``sigma`` for G_w = G_v = 1."""
    pair = (Gaussian(sigma * batch / 2),) * 2
    return certify(Repeated(Sampled(pair, scheme, n, batch, neighbours), steps), delta=n**-2.0).epsilon


def remark_1(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """Yield the slack of Remark 1 on a grid, and the minibatches for which its noise is too little."""
    statement = theorem("yang2022.theorem_1")
    rows: list[dict[str, Any]] = []
    sizes = [1000, 10_000] + [100_000] * context.full
    steps = [10, 100] + [1000] * context.full
    epsilons = [0.1, 0.5, 1.0] if context.full else [0.1, 1.0]
    grid = [(n, T, epsilon) for n in sizes for T in sorted({*steps, n}) for epsilon in epsilons]
    for done, (n, T, epsilon) in enumerate(grid):
        context.progress(done, len(grid))
        values = {"n": n, "T": T, "epsilon": epsilon, "delta": n**-2.0}
        m = int(statement.schedule(**values)["m"])
        sigma = statement.noise(**values, G_w=1.0, G_v=1.0)["sigma_w"]
        without = step_epsilon(n, T, m, sigma, "without_replacement")
        replaced = step_epsilon(n, T, m, sigma, "with_replacement")
        broken, enough = _edges(n, T, m, sigma, epsilon)
        rows.append(
            {
                "n": n, "T": T, "epsilon": epsilon, "m": m, "certified": without,
                "slack": epsilon / without, "certified, with replacement": replaced,
                "slack, with replacement": epsilon / replaced,
                "broken up to m": broken, "enough from m": enough,
            }
        )  # fmt: skip
    tables["Remark 1 at its own minibatch m, delta = 1/n^2"] = rows
    yield _verdict("without replacement", "certified", "slack", rows)
    yield _verdict("with replacement", "certified, with replacement", "slack, with replacement", rows)
    yield _region(rows)


def _edges(n: int, T: int, m: int, sigma: float, epsilon: float) -> tuple[int, int]:
    """Return the largest minibatch for which the noise is too little, and the smallest for which it is enough.

    Noise is on the mean, so a smaller minibatch meets the same noise with a larger sensitivity 2G/m.
    Too little is shown by one exact pair: all records equal but one, whose transcript law is that of
    Poisson sampling with the record added or removed; its epsilon, accurate to 0.1 %, exceeds the
    claim. Enough is shown by the certificate. Both are bisected below the prescribed ``m``.
    """

    def broken(batch: int) -> bool:
        return step_epsilon(n, T, batch, sigma, "poisson", "add_or_remove_one") > 1.001 * epsilon

    def enough(batch: int) -> bool:
        return step_epsilon(n, T, batch, sigma, "without_replacement") <= epsilon

    least = _first(enough, 0, m)
    below, step = least - 1, 1  # the two edges are close: go down from one to the other
    while below > 0 and not broken(below):
        below, step = max(below - step, 0), 2 * step
    return _first(lambda batch: not broken(batch), below, least) - 1, least


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest number above ``low`` at which ``holds`` begins, given that it holds at ``high``."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _verdict(words: str, certified: str, slack: str, rows: list[dict[str, Any]]) -> Finding:
    worst = min(rows, key=lambda row: row[slack])
    best = max(rows, key=lambda row: row[slack])
    reason = (
        f"claimed over certified epsilon lies between {worst[slack]:.2f} (n = {worst['n']}, T = "
        f"{worst['T']}, epsilon = {worst['epsilon']:g}) and {best[slack]:.2f} on {len(rows)} settings"
    )
    if worst[slack] < 1:
        reason += "; below 1 the bound for this sampling does not decide"
    return Finding(
        f"yang2022.Y10.{words.replace(' ', '_')}", "claim",
        f"Remark 1: private at its prescribed minibatch, sampled {words}",
        "consistent" if worst[slack] >= 1 else "inconclusive", reason,
        certified=worst[certified], claimed=worst["epsilon"],
        evidence={"method": "certificates on a grid of settings", "settings": len(rows)},
    )  # fmt: skip


def _region(rows: list[dict[str, Any]]) -> Finding:
    broken = [row for row in rows if row["broken up to m"] >= 1]
    shares = [row["broken up to m"] / row["m"] for row in broken]
    return Finding(
        "yang2022.Y10.smaller_minibatch", "claim",
        "would Remark 1's noise do with any smaller minibatch? (the remark does not say so)",
        "refuted" if broken else "consistent",
        f"one exact pair exceeds the claim in {len(broken)} of {len(rows)} settings, up to minibatches of "
        f"{min(shares):.2f} to {max(shares):.2f} of the prescribed one" if broken else "no setting breaks it",
        evidence={"rows": broken},
    )  # fmt: skip


def step(context: Context) -> Iterator[Finding]:
    """Yield what records do to gradients: exchanged ones on a small game with active clipping, and labels of others."""
    rng = np.random.default_rng(context.stream(4))
    yield from _sensitivity(Bilinear.sample(100, 2, rng, bound=3.0, radius=0.2))
    yield from _class_counts(rng)


def _first_gradient(solver: DPSGDA, problem: Problem) -> History:
    """Run the first step on a minibatch of all records, without noise."""
    one = replace(
        solver, eta_w=solver.eta_w[:1], eta_v=solver.eta_v[:1], sigma_w=0.0, sigma_v=0.0,
        batch=len(problem.records), sampling="without_replacement",
    )  # fmt: skip
    return one.run(problem, seed=0, record=True).history.paired()


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
    """Check whether the gradient of a record in Algorithm 2 depends on who else is in the data.

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


def gradients_at(problem: Problem, solver: DPSGDA, points: Array) -> Array:
    """Return clipped gradients of every record at every point, in noise units : (n, points, d_w + d_v)."""
    d = problem.dim_w
    units = np.empty((len(problem.records), len(points), d + problem.dim_v))
    for record, row in zip(problem.arranged, units, strict=True):
        for x, g in zip(points, row, strict=True):
            problem.gradient(problem.params, record, x[:d].copy(), x[d:].copy(), g[:d], g[d:])
    for part, clip, sigma in (
        (units[..., :d], solver.clip_w, solver.sigma_w),
        (units[..., d:], solver.clip_v, solver.sigma_v),
    ):
        norm = np.linalg.norm(part, axis=-1, keepdims=True)
        part *= np.minimum(1.0, clip / np.maximum(norm, 1e-300)) / sigma
    return units


def real_data(context: Context) -> Iterator[Finding]:
    """Audit the released model of DP-SGDA for AUC on real records, one of them exchanged.

    The pair is searched among the real records and their mirror images, each with both labels, by
    the distance of their clipped gradients along a run without noise; the audit's runs are fresh.
    """
    adult = datasets.load("a9a")
    rng = np.random.default_rng(context.stream(6))
    rows = rng.choice(len(adult.X), 200, replace=False)
    problem = AUC.from_data(adult.X[rows], adult.y[rows], positive_share=ADULT_POSITIVE_SHARE)
    solver = DPSGDA.configure(problem, epsilon=EPSILON, delta=DELTA, steps=REAL_STEPS, eta=0.05, clip_w=1.0, clip_v=1.0)
    quiet = solver.quiet().run(problem, at=range(0, REAL_STEPS, REAL_STEPS // 5)).history
    X = np.vstack([problem.records[:, :-1], -problem.records[:, :-1]])
    candidates = np.vstack([np.column_stack([X, np.full(len(X), y)]) for y in (1.0, -1.0)])
    units = gradients_at(replace(problem, records=candidates), solver, quiet.path)
    canary, other, distance = farthest_pair(units)
    ours, neighbour = (with_record(problem, 0, candidates[k]) for k in (canary, other))
    # the direction in which the models move, from runs on all records without noise
    whole = replace(solver.quiet(), batch=len(rows))
    moves = [whole.run(p) for p in (ours, neighbour)]
    direction = np.concatenate([moves[0].x - moves[1].x, moves[0].y - moves[1].y])
    direction /= np.linalg.norm(direction)

    def along(problem: AUC, rng: np.random.Generator, size: int) -> Array:
        return np.asarray(solver.outputs(problem, rng, size) @ direction)

    subject = "repaired, AUC on 200 records of Adult: final output only"
    part = Part("output", subject, along, 200_000 if context.full else 10_000, ((7,),))
    audited = audit_pair(context, along, (ours, neighbour), part.trials, 7)
    yield finding(
        "dp_sgda.repaired.adult.output", part, audited, certify(solver.events(ours), delta=DELTA),
        {"canary": candidates[canary].tolist(), "replaced by": candidates[other].tolist(),
         "distance in noise units": distance / solver.batch},
    )  # fmt: skip


def utility(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """Test AUC of each variant with its certificate, of the loop without noise, of the closed form."""
    adult = datasets.load("a9a")
    assert adult.X_test is not None and adult.y_test is not None
    delta = len(adult.X) ** -2.0  # the largest that Remark 1 allows
    repaired = AUC.from_data(adult.X, adult.y, positive_share=ADULT_POSITIVE_SHARE, radius=UTILITY_RADIUS)
    printed = AUC.from_data(adult.X, adult.y, radius=UTILITY_RADIUS)
    solver = DPSGDA.configure(
        repaired, epsilon=EPSILON, delta=delta, steps=UTILITY_STEPS, eta=1.0, clip_w=1.0, clip_v=1.0
    )
    # the printed weights 1/n+, 1/n- make gradients smaller by about n p (1 - p); the step makes up
    counted = DPSGDA.configure(
        printed, epsilon=EPSILON, delta=delta, steps=UTILITY_STEPS, eta=1.0 / max(printed.params), variant="as_printed"
    )
    runs = {
        "without privacy, closed form": None,
        "without noise": (solver.quiet(), repaired),
        "repaired, clipped at 1": (solver, repaired),
        "as printed": (counted, printed),
    }
    rows: list[dict[str, Any]] = []
    for done, (name, pair) in enumerate(runs.items()):
        context.progress(done, len(runs))
        certified = None if pair is None else certify(pair[0].events(pair[1]), delta=delta).epsilon
        models = [repaired.optimum()] if pair is None else _trained(context, *pair)
        scores = [auc_score(adult.X_test @ model, adult.y_test) for model in models]
        rows.append(
            {
                "model": name, "AUC": float(np.mean(scores)), "spread": float(np.std(scores)),
                "runs": len(scores), "certified": certified, "claimed": EPSILON if certified else None,
            }
        )  # fmt: skip
    tables["Test AUC on Adult (a9a)"] = rows
    best, mended = rows[0]["AUC"], rows[2]
    enough = mended["certified"] <= EPSILON
    yield Finding(
        "dp_sgda.adult.utility", "utility",
        f"Adult, n = {len(adult.X)}, epsilon = {EPSILON:g}, delta = 1/n^2: test AUC of the repaired variant",
        "consistent" if enough else "violated",
        f"AUC {mended['AUC']:.4f} against {best:.4f} without privacy; the noise is certified at "
        f"epsilon {mended['certified']:.4f}{'' if enough else f', above the claimed {EPSILON:g}'}",
        certified=mended["certified"], claimed=EPSILON, evidence={"table": rows, "delta": delta},
    )  # fmt: skip
    real = rows[3]["certified"]
    yield Finding(
        "dp_sgda.adult.as_printed", "privacy",
        "as printed on Adult, with replacement: noise of Remark 1, class counts taken as public",
        "consistent" if real <= EPSILON else "violated",
        f"AUC {rows[3]['AUC']:.4f}; minibatches of {counted.batch} with replacement"
        + ("" if real <= EPSILON else f"; the noise is certified at epsilon {real:.4f}, above the claimed {EPSILON:g}"),
        certified=real, claimed=EPSILON, evidence={"notes": list(counted.notes)},
    )  # fmt: skip


def _trained(context: Context, solver: DPSGDA, problem: AUC) -> list[Array]:
    """Return the weights (d,) of independent runs."""
    seeds = [context.stream(10, k) for k in range(20 if context.full else 5)]
    return [solver.run(problem, seed=seed).x[:-2] for seed in seeds]


def farthest_pair(gradients: Floats) -> tuple[int, int, float]:
    """Return the two candidates whose gradients (candidates, points, size) differ most, and the RMS distance."""
    require(
        gradients.ndim == 3 and len(gradients) >= 2, "gradients", "have shape (>= 2, points, size)",
        gradients.shape,
    )  # fmt: skip
    flat = gradients.reshape(len(gradients), -1)
    square = (flat * flat).sum(1)
    distance = square[:, None] + square[None, :] - 2 * flat @ flat.T
    i, j = np.unravel_index(np.argmax(distance), distance.shape)
    return int(i), int(j), float(np.sqrt(max(distance[i, j], 0.0) / gradients.shape[1]))
