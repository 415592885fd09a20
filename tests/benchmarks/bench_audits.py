"""Lower bounds on epsilon of dpcheck beside those of other libraries and papers, from the same samples, in one run.

    pip install '.[test,libraries]' && pytest -n 0 -s [--keep-tables] tests/benchmarks/bench_audits.py

Every estimator is handed the same outputs, n a dataset, at confidence 95%, and told the truth as the claim where it
takes one. The others are told more than dpcheck: that the output itself is the score, and which dataset has larger
ones. Columns: mean of bound over truth and its standard error, number of bounds above the truth, median seconds a call
(drawing the samples not included, nor what is compiled or tabulated once) and their ratio to those of the fastest
package of somebody else's with the same label; only ratios mean something on a machine that is shared. Estimators
marked "after" are written here from the cited text, because their authors' code is no package; packages that are not
installed are left out.

Labels: "any mechanism" is a confidence limit that assumes nothing; others say what they assume. Whether a label is
earned is what the column ``above`` and the second table are for.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from test_false_alarms import MECHANISMS, Mechanism

from dpcheck.audits.bands import band_bound
from dpcheck.audits.bayesian import credible_bound
from dpcheck.audits.gaussian import gaussian_bound
from dpcheck.audits.limits import clopper_pearson_lower, clopper_pearson_upper
from dpcheck.audits.membership import audit_privacy
from dpcheck.audits.sequential import audit_sequential
from dpcheck.audits.split import split_bound

pytestmark = pytest.mark.filterwarnings("default")  # the peers' own
ANY, GAUSSIAN, BAYES = "any mechanism", "assumes Gaussian", "Bayesian"
# Of the samples, SPARE are for what an audit runs to look at a mechanism; the other estimators leave them out.
ALPHA, SPARE = 0.05, 1_000
Floats = Any


@dataclass(frozen=True)
class Estimator:
    """``bound(a, b, mechanism)``: from scores (n + SPARE,) on data and neighbour;  ``repeats``: at each of SIZES."""

    bound: Callable[[Floats, Floats, Mechanism], float]
    label: str = ANY
    package: str | None = None
    repeats: tuple[int, ...] = (40, 40, 10)
    needs_delta: bool = False
    needs_claim: bool = False

    def suits(self, mechanism: Mechanism) -> bool:
        claimed = mechanism.claim is not None and mechanism.delta > 0
        return (mechanism.delta > 0 or not self.needs_delta) and (claimed or not self.needs_claim)


def replay(a: Floats, b: Floats) -> Callable[..., Floats]:
    """A mechanism that returns what was drawn before, each once and in order."""
    samples, used = (b, a), [0, 0]

    def mechanism(value: int, rng: Any, size: int) -> Floats:
        used[value] += size
        assert used[value] <= len(a)
        return samples[value][used[value] - size : used[value]]

    return mechanism


def ours(a: Floats, b: Floats, mechanism: Mechanism, **claim: Any) -> Any:
    claim = claim or {"epsilon": mechanism.epsilon}
    return audit_privacy(
        replay(a, b), 1, 0, **claim, delta=mechanism.delta, trials=len(a) - SPARE, vectorized=True, seeded=False
    )


def at_a_point(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    return ours(a, b, mechanism).epsilon_lower


def in_family(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    return ours(a, b, mechanism, claim=mechanism.claim).in_family


def sequential(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    """It asks for a seed, so it draws as many runs of its own; the seed is taken from those it was given."""
    seed = int.from_bytes(a[:1].tobytes()[:4], "little")
    options: dict[str, Any] = {"most": a.size - SPARE, "seed": seed, "vectorized": True}
    return audit_sequential(
        mechanism.draw, 1, 0, epsilon=mechanism.epsilon, delta=mechanism.delta, **options
    ).epsilon_lower


def halves(a: Floats, b: Floats) -> Iterator[tuple[Floats, Floats]]:
    for v in (a, b):
        v = v[:-SPARE]
        yield v[: v.size // 2], v[v.size // 2 :]


def best_threshold(a: Floats, b: Floats, limit: Callable[[Floats, Floats], Floats]) -> float:
    """Where ``limit(x, y)`` of the counts at or above is largest."""
    a, b = np.sort(a), np.sort(b)
    thresholds = np.unique(a)
    thresholds = np.unique(np.append(thresholds[:: 1 + a.size // 2_000], thresholds[-200:]))  # enough to choose from
    x, y = (v.size - np.searchsorted(v, thresholds, side="left") for v in (a, b))
    with np.errstate(all="ignore"):
        return thresholds[np.nanargmax(limit(x, y))]


def two_limits(x: Floats, y: Floats, n: int, delta: float, alpha: float) -> Floats:
    """log of the limits' ratio, a Clopper-Pearson limit each way at half of ``alpha``."""
    p = np.where(x > 0, special.betaincinv(np.maximum(x, 1), n - x + 1, alpha / 2), 0)
    q = np.where(y < n, special.betainccinv(y + 1, np.maximum(n - y, 1), alpha / 2), 1)
    return np.log(p - delta) - np.log(q)


def held_out(a: Floats, b: Floats, delta: float) -> tuple[int, int, int]:
    """Counts of fresh halves at the threshold that was best on the others."""
    (a1, a2), (b1, b2) = halves(a, b)
    t = best_threshold(a1, b1, lambda x, y: two_limits(x, y, a1.size, delta, ALPHA))
    return int((a2 >= t).sum()), int((b2 >= t).sum()), a2.size


def split_clopper_pearson(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    x, y, n = held_out(a, b, mechanism.delta)
    return max(0.0, float(two_limits(np.array(x), np.array(y), n, mechanism.delta, ALPHA)))


def all_clopper_pearson(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    a, b = np.sort(a[:-SPARE]), np.sort(b[:-SPARE])
    thresholds = np.unique(np.append(a, b))
    x, y = (v.size - np.searchsorted(v, thresholds, side="left") for v in (a, b))
    with np.errstate(all="ignore"):
        limits = two_limits(x, y, a.size, mechanism.delta, ALPHA / (a.size + b.size))
    return max(0.0, float(np.nanmax(limits)))


def credible(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    return credible_bound(*held_out(a, b, mechanism.delta), delta=mechanism.delta).epsilon_lower


def tail_of_one_percent(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    """DP-Sniper: the set is the tail that holds a share of 1% on one dataset, the ratio as it would be there."""
    (_, a2), (b1, b2) = halves(a, b)
    t = np.quantile(b1, 0.99, method="higher")
    x, y, n = int((a2 >= t).sum()), int((b2 >= t).sum()), a2.size
    p, q = clopper_pearson_lower(x, n, ALPHA / 2), clopper_pearson_upper(y, n, ALPHA / 2)
    return max(0.0, math.log(p - mechanism.delta) - math.log(q)) if p > mechanism.delta else 0.0


def hockey_stick(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    """DP-Auditorium: a classifier's weighted accuracy on fresh runs, less Hoeffding's margin, at each epsilon."""
    (a1, a2), (b1, b2) = halves(a, b)
    margin = math.sqrt(math.log(1 / ALPHA) / 2 / a2.size)

    def shows(epsilon: float) -> bool:
        t = best_threshold(a1, b1, lambda x, y: x - math.exp(epsilon) * y)
        excess = (a2 >= t).mean() - math.exp(epsilon) * (b2 >= t).mean()
        return excess - margin * (1 + math.exp(epsilon)) > mechanism.delta

    return largest(shows)


def histogram(a: Floats, b: Floats, mechanism: Mechanism, bins: int = 20) -> float:
    """Gilbert and McMillan: delta estimated from all bins at once, less its margin, at each epsilon."""
    a, b = a[:-SPARE], b[:-SPARE]
    edges = np.quantile(np.append(a[:1_000], b[:1_000]), np.linspace(0, 1, bins + 1)[1:-1])
    p, q = (np.bincount(np.searchsorted(edges, v), minlength=bins) / v.size for v in (a, b))

    def shows(epsilon: float) -> bool:
        growth, root = math.exp(epsilon), math.sqrt(a.size)
        margin = 2 / root * (np.sqrt(p).sum() + growth * np.sqrt(q).sum())
        margin += 6 * (1 + growth) * math.sqrt(math.log(4 / ALPHA) / 2) / root
        return np.maximum(p - growth * q, 0).sum() - margin > mechanism.delta

    return largest(shows)


def largest(shows: Callable[[float], bool]) -> float:
    """Largest epsilon of a grid of 0.002 that is shown, by halving."""
    low, high = 0, 1_500
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if shows(0.002 * middle) else (low, middle - 1)
    return 0.002 * low


def with_jax_privacy(strategy: str) -> Callable[[Floats, Floats, Mechanism], float]:
    def bound(a: Floats, b: Floats, mechanism: Mechanism) -> float:
        from jax_privacy import auditing

        auditor = auditing.CanaryScoreAuditor(a[:-SPARE], b[:-SPARE])
        if strategy == "gdp":
            return float(auditor.epsilon_from_gdp(ALPHA, mechanism.delta))
        chosen = {
            "all": lambda: auditing.Bonferroni(),
            "split": lambda: auditing.Split(seed=0),
            "many splits": lambda: auditing.MultiSplit(seed=0),
        }[strategy]()
        limit = auditor.epsilon_clopper_pearson(ALPHA, mechanism.delta, one_sided=False, threshold_strategy=chosen)
        return float(limit)

    return bound


def with_privacy_estimates(method: str) -> Callable[[Floats, Floats, Mechanism], float]:
    def bound(a: Floats, b: Floats, mechanism: Mechanism) -> float:
        from privacy_estimates import AttackResults, compute_eps_lo

        x, y, n = held_out(a, b, mechanism.delta)
        counts = AttackResults(FN=n - x, FP=y, TN=n - y, TP=x)
        return float(compute_eps_lo(counts, mechanism.delta, ALPHA, method))

    return bound


def means(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    return gaussian_bound(a[:-SPARE], b[:-SPARE], delta=mechanism.delta).epsilon_lower


def bands(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    return band_bound(a[:-SPARE], b[:-SPARE], delta=mechanism.delta).epsilon_lower


def split(a: Floats, b: Floats, mechanism: Mechanism) -> float:
    return split_bound(a[:-SPARE], b[:-SPARE], delta=mechanism.delta).epsilon_lower


ESTIMATORS = {
    "dpcheck audit_privacy": Estimator(at_a_point, repeats=(200, 200, 200)),
    "dpcheck audit_privacy, claimed curve": Estimator(in_family, GAUSSIAN, repeats=(200, 200, 200), needs_claim=True),
    "dpcheck audit_sequential": Estimator(sequential, repeats=(5, 0, 0)),
    "dpcheck band_bound": Estimator(bands, repeats=(40, 40, 40)),
    "dpcheck split_bound": Estimator(split, repeats=(200, 200, 200)),
    "dpcheck credible_bound": Estimator(credible, BAYES),
    "dpcheck gaussian_bound": Estimator(means, GAUSSIAN, needs_delta=True),
    "jax_privacy, Clopper-Pearson, all": Estimator(with_jax_privacy("all"), package="jax-privacy"),
    "jax_privacy, Clopper-Pearson, split": Estimator(with_jax_privacy("split"), package="jax-privacy"),
    "jax_privacy, Clopper-Pearson, 100 splits": Estimator(
        with_jax_privacy("many splits"), package="jax-privacy", repeats=(10, 0, 0)
    ),
    "jax_privacy, GDP": Estimator(with_jax_privacy("gdp"), GAUSSIAN, "jax-privacy", needs_delta=True),
    "privacy_estimates, beta, split": Estimator(with_privacy_estimates("beta"), package="privacy-estimates"),
    "privacy_estimates, joint-beta, split": Estimator(
        with_privacy_estimates("joint-beta"), BAYES, "privacy-estimates", repeats=(1, 0, 0)
    ),
    "after Jagielski et al. 2020, split": Estimator(split_clopper_pearson),
    "after Jagielski et al. 2020, all thresholds": Estimator(all_clopper_pearson, repeats=(40, 10, 0)),
    "after Bichsel et al. 2021 (DP-Sniper)": Estimator(tail_of_one_percent),
    "after Kong et al. 2024 (DP-Auditorium)": Estimator(hockey_stick),
    "after Gilbert and McMillan 2018": Estimator(histogram),
}
BOUNDED = ["laplace", "gaussian", "randomised response", "geometric"]
ALARMED = [*BOUNDED, "discrete gaussian", "exponential mechanism", "constant", "cauchy noise", "clipped laplace"]
SIZES = (10_000, 100_000, 1_000_000)


def installed(estimator: Estimator) -> str | None:
    """The package and its version; None if it is not there."""
    package = estimator.package or "dpcheck"
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return None


def samples(mechanism: Mechanism, n: int, repeats: int) -> Iterator[tuple[Floats, Floats]]:
    for sequence in np.random.SeedSequence(n).spawn(repeats):
        rng = np.random.default_rng(sequence)
        yield tuple(np.asarray(mechanism.draw(v, rng, n + SPARE), float) for v in (1, 0))


def measured(names: list[str], sizes: tuple[int, ...], repeats: Callable[[Estimator, int], int]) -> pd.DataFrame:
    rows = []
    for mechanism_name in names:
        mechanism = MECHANISMS[mechanism_name]
        for place, n in enumerate(sizes):
            for name, estimator in ESTIMATORS.items():
                most = repeats(estimator, place)
                package = installed(estimator)
                if package is None or not most or not estimator.suits(mechanism):
                    continue
                if most > 1:
                    estimator.bound(*next(samples(mechanism, n, 1)), mechanism)  # what happens once happens here
                bounds, seconds = [], []
                for a, b in samples(mechanism, n, most):
                    began = time.perf_counter()
                    bounds.append(estimator.bound(a, b, mechanism))
                    seconds.append(time.perf_counter() - began)
                share = np.array(bounds) / mechanism.epsilon if mechanism.epsilon else np.full(most, math.nan)
                error = share.std(ddof=1) / math.sqrt(most) if most > 1 else math.nan
                above = int((np.array(bounds) > mechanism.epsilon).sum())
                rows.append(
                    {"mechanism": mechanism_name, "n": n, "estimator": name, "label": estimator.label,
                     "package": package, "repeats": most, "bound/truth": share.mean(), "s.e.": error,
                     "above": above, "seconds": statistics.median(seconds)}
                )  # fmt: skip
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def against_the_fastest(frame: pd.DataFrame) -> pd.DataFrame:
    """Seconds over those of the fastest package of somebody else's with the same label."""
    theirs = frame[~frame["package"].str.startswith("dpcheck")]
    fastest = theirs.groupby(["mechanism", "n", "label"])["seconds"].min().rename("fastest").reset_index()
    frame = frame.merge(fastest, "left", ["mechanism", "n", "label"])
    return frame.assign(ratio=frame["seconds"] / frame["fastest"]).drop(columns="fastest")


def test_bounds_and_times(keep) -> None:
    frame = measured(BOUNDED, SIZES, lambda estimator, place: estimator.repeats[place])
    keep("audit_bounds", against_the_fastest(frame))


def test_false_alarms_of_others(keep) -> None:
    """How often each bound exceeds the truth, 1,000 runs a dataset, 1,000 repeats; not all earn their label.

    dpcheck's own have tables of 2,000 repeats, by tests/audits/test_false_alarms.py.
    """
    left_out = (at_a_point, in_family, bands, split, all_clopper_pearson)  # the last is valid by its construction
    frame = measured(ALARMED, (1_000,), lambda each, _: 0 if 0 in each.repeats or each.bound in left_out else 1_000)
    frame["share"] = frame["above"] / frame["repeats"]
    frame["lower_97.5"] = [
        stats.binomtest(int(k), int(m)).proportion_ci(0.95, "exact").low
        for k, m in zip(frame["above"], frame["repeats"], strict=True)
    ]
    keep("audit_false_alarms", frame.drop(columns=["bound/truth", "s.e.", "seconds"]))
