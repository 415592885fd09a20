"""Releases on random samples, and the noise of DP-SGD in papers and documentation."""

import math

from sympy import Ge, Gt, Integer, Le, Lt, exp, log, sqrt

from dpcheck.bounds.formulas import exact
from dpcheck.bounds.formulas.formula import DELTA, SIGMA, Formula, Letter, alpha, q
from dpcheck.bounds.formulas.gaussian import tail
from dpcheck.bounds.symbols import T, delta, epsilon, m, n, sigma

STEPS = Letter(T, "steps", 1, 3000)
RATE = Letter(q, "sampling rate", 0.001, 0.9)


_ROOM = 5e-3  # certify's own excess for compositions of sampled noise, with a margin
_ONE = Letter(epsilon, "privacy loss of the release on the whole data", 0.01, 8)
_TARGET = Letter(epsilon, "privacy loss of the run", 0.1, 10)
_SMALL = Letter(delta, DELTA.meaning, 1e-8, 1e-3, 1e-5)
_RUN = (_TARGET, RATE, STEPS, _SMALL)
_LOG = sqrt(T * log(1 / delta))
_LIFTED = log(1 + q * (exp(epsilon) - 1))
_NOISE = Letter(sigma, "noise multiplier of a step", 0.6, 20)
_EXPONENT = log(1 + 1 / (q * (alpha - 1)))


def _laplace(epsilon: float, q: float, value: float) -> float:
    return exact.sampled_laplace(1 / epsilon, q)


def _run(epsilon: float, q: float, T: int, delta: float, value: float) -> float:
    return exact.sampled(value, q, T, delta)


def _given(sigma: float, q: float, T: int, delta: float, value: float, alpha: float = 0) -> float:
    return exact.sampled(sigma, q, T, delta)


def _delta_of_sample(epsilon: float, q: float, delta: float, value: float) -> float:
    """Return the exact epsilon, at q delta, of a sampled Gaussian whose noise is exact for (epsilon, delta)."""
    return exact.sampled(exact.gaussian_noise(epsilon, delta), q, 1, q * delta)


def _delta_of_draw(epsilon: float, n: int, m: int, delta: float, value: float) -> float:
    return exact.drawn(exact.gaussian_noise(epsilon, delta), m, n, 1, m / n * delta)


def _bassily(epsilon: float, n: int, delta: float, value: float) -> float:
    """Return the exact epsilon of n^2 draws of one of n records, whose gradient is replaced (twice its norm)."""
    return exact.drawn(value / 2, 1, n, n * n, delta)


def _composed(epsilon: float, q: float, T: int, delta: float, value: float) -> float:
    """Return the exact epsilon, at delta, of steps with the classical noise for (epsilon, delta/(2 q T))."""
    return exact.sampled(math.sqrt(2 * math.log(2.5 * q * T / delta)) / epsilon, q, T, delta)


FORMULAS = (
    Formula(
        name="poisson_sampling", title="A pure release on a Poisson sample", gives="epsilon",
        source="Li, Qardaji and Su 2012, Theorem 1; Balle, Barthe and Gaboardi 2018, Theorem 8",
        typed="log(1 + q (e^epsilon - 1))", letters=(_ONE, RATE), expression=_LIFTED, region=(Le(q, 1),),
        room=1e-6, exact=_laplace,
    ),
    Formula(
        name="sampling_linear", title="The sampling rate times epsilon", gives="epsilon",
        source="summaries of amplification by sampling", proved=False, typed="q epsilon", letters=(_ONE, RATE),
        expression=q * epsilon, exact=_laplace, wrong_at={"epsilon": 1, "q": 0.01},
    ),
    Formula(
        name="sampling_doubled", title="Twice the sampling rate times epsilon", gives="epsilon",
        source="Bassily, Smith and Thakurta 2014, Lemma 2.2, for epsilon <= 1", typed="2 q epsilon",
        letters=(_ONE, RATE), expression=2 * q * epsilon, region=(Le(epsilon, 1), Le(q, 1)), exact=_laplace,
        wrong_at={"epsilon": 3, "q": 0.01},
    ),
    Formula(
        name="sampled_gaussian", title="Gaussian noise on a Poisson sample, at q delta", gives="epsilon",
        source="Balle, Barthe and Gaboardi 2018, Theorem 8", typed="log(1 + q (e^epsilon - 1)), at q delta",
        letters=(_ONE, RATE, _SMALL), expression=_LIFTED, region=(Le(q, 1),), room=1e-4, exact=_delta_of_sample,
    ),
    Formula(
        name="sampled_without_replacement", title="Gaussian noise on m of n records, at m delta/n", gives="epsilon",
        source="Balle, Barthe and Gaboardi 2018, Theorem 9", typed="log(1 + m/n (e^epsilon - 1)), at m delta/n",
        letters=(_ONE, Letter(n, "records", 1000, 100_000), Letter(m, "records of the sample", 1, 1000), _SMALL),
        expression=log(1 + m / n * (exp(epsilon) - 1)), region=(Le(m, n),), room=1e-4, exact=_delta_of_draw,
    ),
    Formula(
        name="moments_accountant_one", title="DP-SGD's noise with the constant 1", gives="noise",
        source="readings of Abadi et al. 2016, Theorem 1, whose constant has no number", proved=False,
        typed="sigma = q sqrt(T log(1/delta))/epsilon", letters=_RUN, expression=q * _LOG / epsilon, room=_ROOM,
        exact=_run, wrong_at={"epsilon": 1, "q": 0.01, "T": 1000, "delta": 1e-05},
    ),
    Formula(
        name="moments_accountant_two", title="DP-SGD's noise with the constant 2", gives="noise",
        source="documentation after Abadi et al. 2016, Theorem 1", proved=False,
        typed="sigma = 2 q sqrt(T log(1/delta))/epsilon", letters=_RUN, expression=2 * q * _LOG / epsilon, room=_ROOM,
        exact=_run, wrong_at={"epsilon": 8, "q": 0.01, "T": 1000, "delta": 1e-05},
    ),
    Formula(
        name="moments_accountant_epsilon", title="DP-SGD's epsilon, its order taken for a value", gives="epsilon",
        source="Abadi et al. 2016, Section 2: O(q epsilon sqrt T)", proved=False, typed="q sqrt(T log(1/delta))/sigma",
        letters=(_NOISE, RATE, STEPS, _SMALL), expression=q * _LOG / sigma, room=_ROOM, exact=_given,
        wrong_at={"sigma": 1, "q": 0.01, "T": 1000, "delta": 1e-05},
    ),
    Formula(
        name="dp_sco_noise", title="Noise of private stochastic convex optimisation", gives="noise",
        source="Bassily, Feldman, Talwar and Thakurta 2019, Section 3, where the minibatch has n sqrt(epsilon/(4 T)) "
        "records; of a Poisson sample, and over the clip, here",
        typed="sigma = sqrt(8 T log(1/delta)) q/epsilon", letters=_RUN, expression=sqrt(8) * q * _LOG / epsilon,
        region=(Le(q, 1), Ge(q, sqrt(epsilon / (4 * T))), Le(epsilon, 2 * log(1 / delta))), room=_ROOM, exact=_run,
        wrong_at={"epsilon": 8, "q": 0.01, "T": 100, "delta": 1e-05},
    ),
    Formula(
        name="dp_sgd_one_record", title="Noise of the first DP-SGD: n^2 steps of one record", gives="noise",
        source="Bassily, Smith and Thakurta 2014, Algorithm 1",
        typed="sigma = sqrt(32 log(n/delta) log(1/delta))/epsilon",
        letters=(Letter(epsilon, "privacy loss of the run", 0.1, 30), Letter(n, "records", 20, 2000), _SMALL),
        expression=sqrt(32 * log(n / delta) * log(1 / delta)) / epsilon, region=(Le(epsilon, 1),), room=_ROOM,
        exact=_bassily,
    ),
    Formula(
        name="strong_composition_sampled", title="DP-SGD by sampling and advanced composition", gives="epsilon",
        source="Abadi et al. 2016, Section 3.2: the way before the moments accountant, half of delta for each part",
        typed="e sqrt(2 T log(2/delta)) + T e (e^e - 1), e = log(1 + q (e^epsilon - 1)), noise for delta/(2 q T)",
        letters=(Letter(epsilon, "privacy loss of a step on the whole data", 0.05, 3), RATE, STEPS, _SMALL),
        expression=_LIFTED * sqrt(2 * T * log(2 / delta)) + T * _LIFTED * (exp(_LIFTED) - 1),
        region=(Lt(epsilon, 1), Le(q, 1), Lt(delta, 2 * q * T)), room=_ROOM, exact=_composed,
    ),
    Formula(
        name="sampled_rdp", title="The Renyi divergence 2 q^2 alpha/sigma^2 of a sampled Gaussian", gives="epsilon",
        source="Mironov, Talwar and Zhang 2019, Theorem 11; Mironov 2017, Proposition 3",
        typed="T 2 q^2 alpha/sigma^2 + log(1/delta)/(alpha - 1)",
        letters=(Letter(alpha, "order of the divergence", 1.5, 100), Letter(sigma, "noise multiplier", 1, 20),
                 Letter(q, RATE.meaning, 0.001, 0.5), STEPS, _SMALL),
        expression=2 * T * q**2 * alpha / sigma**2 + log(1 / delta) / (alpha - 1),
        region=(
            Gt(alpha, 1), Le(q, Integer(1) / 5), Ge(sigma, 4), Le(alpha, sigma**2 * _EXPONENT / 2 - 2 * log(sigma)),
            Le(alpha, (sigma**2 * _EXPONENT**2 / 2 - log(5) - 2 * log(sigma))
               / (_EXPONENT + log(q * alpha) + 1 / (2 * sigma**2))),
        ),
        room=_ROOM, exact=_given,
    ),
    Formula(
        name="gaussian_clt", title="The central limit of DP-SGD", gives="delta",
        source="Bu, Dong, Long and Su 2020, Section 3: an approximation for many steps and small rates", proved=False,
        typed="mu-Gaussian privacy with mu = q sqrt(T (e^(1/sigma^2) - 1))",
        letters=(Letter(epsilon, "privacy loss of the run", 0.1, 5), Letter(sigma, "noise multiplier", 0.6, 5),
                 Letter(q, RATE.meaning, 0.001, 0.1), Letter(T, "steps", 30, 1000)),
        expression=(lambda mu: tail(epsilon / mu - mu / 2) - exp(epsilon) * tail(epsilon / mu + mu / 2))(
            q * sqrt(T * (exp(1 / sigma**2) - 1))
        ),
        room=_ROOM, exact=lambda epsilon, sigma, q, T, value: exact.sampled_delta(sigma, q, T, epsilon),
        wrong_at={"epsilon": 2, "sigma": 0.7, "q": 0.01, "T": 100},
    ),
    Formula(
        name="without_sampling", title="Every step on the whole data", gives="epsilon",
        source="Bun and Steinke 2016, Proposition 1.3, of T Gaussian steps",
        typed="T/(2 sigma^2) + sqrt(2 T log(1/delta))/sigma",
        letters=(SIGMA, RATE, STEPS, _SMALL), expression=T / (2 * sigma**2) + sqrt(2 * T * log(1 / delta)) / sigma,
        region=(Le(q, 1),), room=_ROOM, exact=_given,
    ),
)  # fmt: skip
