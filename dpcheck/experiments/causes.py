"""Why measured and published differ, where they do by more than two standard errors: sentences from evidence.

Each sentence names what it rests on: numbers of the table itself, or a test that measures it.
"""

from __future__ import annotations

from dpcheck.experiments.experiment import Cell, Experiment
from dpcheck.experiments.measured import Measured

FAR = 2.0  # standard errors beyond which a difference is explained
UNKNOWN = "unknown: no setting that was tried moves it there"
NO_NOISE = (
    "a missing hyperparameter: without noise at all the run already differs, and the start, the output and how"
    " rows are scaled are not printed in full"
)
LESS_NOISE = (
    "noise not covered: the printed number needs less noise than even the gradient norms of minibatches give, "
    "which are certified far above the claim"
)
SHORT = (
    "unknown: with this method's least noise, at the largest epsilon, the run stays below the printed number as well"
)
MORE = (
    "a missing hyperparameter: this noise costs less here than in the print, which says neither which norms "
    "were read off nor which iterate is scored"
)
COSTS = (
    "noise not covered: this is what the noise costs that the claimed epsilon needs at the printed minibatch and epochs"
)
GAINS = (
    "different rows: with certified noise they are scaled by public constants, on which the printed step goes further "
    "than on features in [0, 1]: without noise it reaches 93.2 there (tests/command/test_reproduce.py)"
)
RANDOM_WALK = (
    "unknown: noise by Appendix D's words, without amplification, is far more than epsilon = 2 needs, and a "
    "run is a random walk past the printed numbers"
)
REFRESHES = (
    "a missing hyperparameter: refreshes by drift keep the certified noise small; refreshed every 10 "
    "iterations, Ada-DP-SPIDER comes out as printed, and Sto-SPIDER takes several times the certified noise "
    "(tests/solvers/test_experiment_matrix_sensing.py)"
)


def cause(
    experiment: Experiment, cell: Cell, published: Measured | None, certified: Measured | None, least: Measured | None
) -> str:
    """Return the sentences for the differences of a row; unknown where no evidence names a cause.

    least : what the same method measured with its least noise as published, at the largest epsilon
    """
    signs = [_sign(one) for one in (published, certified)]
    if experiment.id.startswith("xu2026"):
        found = [RANDOM_WALK if signs[0] else "", REFRESHES if signs[1] else ""]
    elif experiment.id.startswith("yang2022"):
        if cell.plan["epsilon"] is None:
            return NO_NOISE
        below = LESS_NOISE if least is None or _sign(least) >= 0 else SHORT
        found = [{-1: below, 1: MORE}.get(signs[0], "")]
        if cell.plan["model"] == "linear":  # whose steps are the printed ones
            gains = GAINS if cell.plan["data"] == "ijcnn1" else UNKNOWN
            found.append({-1: COSTS, 1: gains}.get(signs[1], ""))
        elif signs[1]:
            found.append(UNKNOWN)
    else:
        found = [UNKNOWN]
    return "; ".join(sentence for sentence in found if sentence)


def _sign(one: Measured | None) -> int:
    """Return 1 where a measured mean is far above the printed number, -1 where it is far below, 0 elsewhere."""
    if one is None or one.difference is None or abs(one.difference) <= FAR:
        return 0
    return 1 if one.difference > 0 else -1
