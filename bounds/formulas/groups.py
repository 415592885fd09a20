"""Groups of records, shuffled answers, and trees of partial sums."""

import math

from sympy import Integer, Le, Lt, Min, exp, log, sqrt

from dpcheck.bounds.formulas import exact
from dpcheck.bounds.formulas.formula import DELTA, EPSILON, SIGMA, Formula, Letter
from dpcheck.bounds.symbols import T, delta, epsilon, k, n, sigma

RECORDS = Letter(n, "records", 100, 100_000)


_SIZE = Letter(k, "records of the group", 2, 12)
_GROUP = (
    Letter(epsilon, "privacy loss of one record", 0.05, 3),
    Letter(delta, DELTA.meaning, 1e-10, 0.01, 1e-5),
    _SIZE,
)
_ANSWER = Letter(epsilon, "privacy loss of an answer", 0.05, 5)
_SHUFFLED = (_ANSWER, RECORDS, Letter(delta, DELTA.meaning, 1e-9, 0.005, 1e-6))


def _group(epsilon: float, delta: float, k: int, value: float) -> float:
    """Return the exact delta, at k epsilon, of Gaussian noise that is exact for (epsilon, delta) of one record."""
    return exact.release_delta("Gaussian", exact.gaussian_noise(epsilon, delta) / k, k * epsilon)


def _shuffled(epsilon: float, n: int, delta: float, value: float) -> float:
    return exact.shuffled(epsilon, n, delta)


def _tree(epsilon: float, T: int, delta: float, value: float) -> float:
    """Return the exact epsilon of a tree over T steps, in which a record is in ceil(log2(T + 1)) nodes."""
    return exact.gaussian(value, delta, math.ceil(math.log2(T + 1)))


_BIAS = (exp(epsilon) - 1) / (exp(epsilon) + 1)
_LEVELS = log(T + 1) / log(2)

FORMULAS = (
    Formula(
        name="group_pure", title="Pure privacy of a group", gives="epsilon", source="Dwork and Roth 2014, Theorem 2.2",
        typed="k/sigma for Laplace noise of scale sigma", letters=(SIGMA, _SIZE), expression=k / sigma,
        exact=lambda sigma, k, value: exact.laplace(sigma / k, 0.0),
    ),
    Formula(
        name="group_delta", title="Delta of a group at k epsilon", gives="delta", source="Vadhan 2017, Lemma 2.2",
        typed="k e^((k - 1) epsilon) delta", letters=_GROUP, expression=Min(1, k * exp((k - 1) * epsilon) * delta),
        exact=_group,
    ),
    Formula(
        name="group_delta_linear", title="Delta of a group, k times that of one", gives="delta", proved=False,
        source="a slip of Vadhan 2017, Lemma 2.2", typed="k delta", letters=_GROUP, expression=Min(1, k * delta),
        exact=_group, wrong_at={"epsilon": 1, "delta": 1e-05, "k": 3},
    ),
    Formula(
        name="shuffling_first", title="Shuffled answers, the first bound", gives="epsilon",
        source="Erlingsson, Feldman, Mironov, Raghunathan, Talwar and Thakurta 2019, Corollary 9 (epsilon < 1/2, "
        "n >= 1000, delta < 1/100)", typed="12 epsilon sqrt(log(1/delta)/n)", letters=_SHUFFLED,
        expression=12 * epsilon * sqrt(log(1 / delta) / n),
        region=(Lt(epsilon, Integer(1) / 2), Le(1000, n), Lt(delta, Integer(1) / 100)), exact=_shuffled,
    ),
    Formula(
        name="shuffling_clones", title="Shuffled answers as clones", gives="epsilon",
        source="Feldman, McMillan and Talwar 2021, Theorem 3.1",
        typed="log(1 + (e^epsilon - 1)/(e^epsilon + 1) (8 sqrt(e^epsilon log(4/delta)/n) + 8 e^epsilon/n))",
        letters=_SHUFFLED,
        expression=log(1 + _BIAS * (8 * sqrt(exp(epsilon) * log(4 / delta) / n) + 8 * exp(epsilon) / n)),
        region=(Le(epsilon, log(n / (16 * log(2 / delta)))),), exact=_shuffled,
        wrong_at={"epsilon": 4, "n": 300, "delta": 1e-08},
    ),
    Formula(
        name="shuffling_order", title="Shuffled answers, the order taken for a value", gives="epsilon", proved=False,
        source="summaries of amplification by shuffling", typed="epsilon/sqrt(n)", letters=_SHUFFLED,
        expression=epsilon / sqrt(n), exact=_shuffled, wrong_at={"epsilon": 1, "n": 10000, "delta": 1e-06},
    ),
    Formula(
        name="tree_noise", title="Noise of DP-FTRL: a tree of partial sums", gives="noise",
        source="Kairouz, McMahan, Song, Thakkar, Thakurta and Xu 2021, Theorem 4.1, whose noise leaves out "
        "epsilon beside 2 log(1/delta)", proved=False,
        typed="sigma = sqrt(2 log2(T + 1) log(1/delta))/epsilon",
        letters=(EPSILON, Letter(T, "steps", 1, 100_000), DELTA),
        expression=sqrt(2 * _LEVELS * log(1 / delta)) / epsilon, exact=_tree,
        wrong_at={"epsilon": 20, "T": 1000, "delta": 1e-05},
    ),
)  # fmt: skip
