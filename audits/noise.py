"""A test of the noise that a mechanism adds: its scale, shape, tails and independence, against what is claimed.

Null hypothesis: the outputs are a constant plus independent draws of the claimed distribution, for each coordinate and
each call, with all calls on one generator, rounded to the precision of the outputs. Five tests share the level equally
(Bonferroni): scale; shape (Kolmogorov-Smirnov); tails, of all coordinates together, that end before they should;
correlation between coordinates and with the calls shortly before; and values that do not occur, which are more repeats
of continuous noise than rounding explains, or discrete noise off its lattice. All but the last are calibrated by
simulating the null, which keeps their level exactly (Monte Carlo p-values).

Noise in float32 repeats by chance: 10,000 draws share a value about once, and about six times where a library maps
23 random bits to a normal number, as JAX does. The null therefore has every output in float32 at best, at half the
resolution that was seen, or made of 23 bits, whichever repeats more. "consistent" says that no test saw a difference. A
generator that is seeded anew at each call, or a draw that is kept, gives more repeats than that. A draw that is used
again after many calls with another scale escapes these tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from dpcheck.arguments import checked
from dpcheck.arrays import Floats, real_numbers, returned_numbers
from dpcheck.audits.noise_laws import LAWS, grid, tested
from dpcheck.audits.running.datasets import fingerprint, require_unchanged
from dpcheck.errors import require, require_confidence, require_positive, require_seed, require_work
from dpcheck.events import Gaussian, Laplace, Measured
from dpcheck.shown import Result

TESTS = 5  # scale, shape, tails, dependence, and values that repeat or lie off the lattice
_MOST = 200_000  # simulated samples


@dataclass(frozen=True)
class NoiseAudit(Result):
    """What noise looks like against the claim.

    Attributes
    ----------
    verdict : str
        ``"violated"`` where a test rejects, else ``"consistent"``.
    distribution : str
        The claimed law.
    claimed_scale : float
        The claimed scale.
    scale : float
        The measured scale, from the standard deviation (for Laplace noise, the mean absolute deviation).
    p_values : dict of str to float
        For each test its p-value, to be read against ``level``.
    level : float
        Share of the error of each test.
    trials : int
        Rows of the sample.
    reason : str
        Which tests rejected, in words.
    scale_lower : float or None
        A lower confidence bound on the scale, of every coordinate, ASSUMING Gaussian or Laplace noise, independent
        between calls; None for other laws.
    confidence : float
        Of that bound.
    """

    verdict: str
    distribution: str
    claimed_scale: float
    scale: float
    p_values: dict[str, float]
    level: float
    trials: int
    reason: str
    scale_lower: float | None
    confidence: float

    def event(self, sensitivity: float) -> Measured:
        """Return the release as an event with measured noise, for :func:`dpcheck.certify`.

        Parameters
        ----------
        sensitivity : float
            Of the query between neighbours, > 0: in l2 for Gaussian noise, in l1 for Laplace noise. It is assumed.

        Returns
        -------
        Measured
            Noise of the claimed law at ``scale_lower``.

        Raises
        ------
        InputError
            Where the sample denies the claimed law or scale, and for laws other than these two.

        Examples
        --------
        >>> import dpcheck
        >>> def theirs(data, rng):
        ...     return sum(data) + rng.normal(scale=2.0)
        >>> audit = dpcheck.audit_noise(theirs, [1, 0], scale=2.0, trials=1_000)
        >>> certificate = dpcheck.certify([audit.event(sensitivity=1.0), dpcheck.events.Gaussian(4.0)], delta=1e-5)
        >>> certificate.epsilon > 2.34, certificate.confidence
        (True, 0.95)
        """
        require_positive(sensitivity, "sensitivity")
        agree = f"agree with the claimed law and scale, as another audit with scale={self.scale:.4g} may find"
        require(self.verdict == "consistent", "the noise", agree, self.reason)
        require(self.scale_lower is not None, "distribution", "be gaussian or laplace", self.distribution)
        assert self.scale_lower is not None
        law = Gaussian if self.distribution == "gaussian" else Laplace
        return Measured(law(self.scale_lower / sensitivity), self.confidence)


@checked
def audit_noise(
    mechanism: Callable[[Any, np.random.Generator], Any], data: Any, *, distribution: str = "gaussian",
    scale: float, trials: int = 10_000, confidence: float = 0.95, seed: int = 0,
) -> NoiseAudit:  # fmt: skip
    """Test whether the noise that a mechanism adds has the claimed distribution, scale and independence.

    Parameters
    ----------
    mechanism : callable
        ``(data, rng) -> number or array`` of one shape, called ``trials`` times on one
        :class:`numpy.random.Generator`.
    data : object
        The dataset of every call.
    distribution : {"gaussian", "laplace", "exponential", "discrete_gaussian", "geometric"}
        The claimed law of each coordinate; the last two live on the integers.
    scale : float
        Its scale > 0: the standard deviation of a Gaussian, b of a Laplace or a two-sided geometric, the mean of an
        exponential, sigma of a discrete Gaussian; at most 10^4 on the integers.
    trials : int
        Calls, at least 50.
    confidence : float
        One minus the level of all tests together, in (0.5, 1).
    seed : int
        Seed of all randomness, >= 0.

    Returns
    -------
    NoiseAudit
        The verdict, the measured scale and the p-values.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a mechanism that raises, changes the shape of its output or returns
        numbers that are not finite.

    References
    ----------
    A. C. Davison, D. V. Hinkley. Bootstrap methods and their application. 1997, chapter 4 (Monte Carlo tests).

    Examples
    --------
    >>> import dpcheck
    >>> def noisy_sum(data, rng):
    ...     return sum(data) + rng.normal(scale=1.0)
    >>> audit = dpcheck.audit_noise(noisy_sum, [1, 0], scale=1.3, trials=1_000)
    >>> audit.verdict, round(audit.scale, 1)
    ('violated', 1.0)
    """
    require_work(trials, "trials", least=50)
    require_seed(seed)
    rng, before = np.random.default_rng(seed), fingerprint(data)
    rows: list[Floats] = []
    for _ in range(trials):
        rows.append(returned_numbers(mechanism, "mechanism", data, rng).ravel())
        require(rows[-1].shape == rows[0].shape, "mechanism", "keep its output's shape", rows[-1].shape)
    require_unchanged(data, before)
    return audit_noise_sample(np.array(rows), distribution=distribution, scale=scale, confidence=confidence, seed=seed)


@checked
def audit_noise_sample(
    sample: Floats, *, distribution: str = "gaussian", scale: float, centred: bool = False, rounded: bool = False,
    confidence: float = 0.95, seed: int = 0,
) -> NoiseAudit:  # fmt: skip
    """Test whether noise at hand has the claimed distribution, scale and independence.

    Parameters
    ----------
    sample : array_like, (trials, k)
        Outputs of one constant plus noise, or with ``centred`` the noise itself; at least 50 rows, all finite.
    distribution : {"gaussian", "laplace", "exponential", "discrete_gaussian", "geometric"}
        The claimed law of each coordinate, as in :func:`dpcheck.audit_noise`.
    scale : float
        Its scale, > 0.
    centred : bool
        Whether the constant is known to be 0, as for noise that was recorded.
    rounded : bool
        Whether the values may have been rounded to a grid with the noise in them, which is free; a grid on which all
        of them lie is then taken for that.
    confidence : float
        One minus the level of all tests together, in (0.5, 1).
    seed : int
        Seed of the simulations, >= 0.

    Returns
    -------
    NoiseAudit
        The verdict, the measured scale and the p-values.

    Raises
    ------
    InputError
        For arguments outside their domain.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcheck.audits.noise import audit_noise_sample
    >>> sample = np.random.default_rng(0).laplace(scale=2.0, size=(500, 1))
    >>> audit_noise_sample(sample, distribution="laplace", scale=2.0, centred=True).verdict
    'consistent'
    """
    require(distribution in LAWS, "distribution", f"be one of {', '.join(LAWS)}", distribution)
    law = LAWS[distribution]
    require_positive(scale, "scale")
    require(not law.discrete or scale <= 1e4, "scale", f"be at most 10000 for {distribution}", scale)
    require_confidence(confidence)
    require_seed(seed)
    sample = real_numbers(sample, "sample")
    good = sample.ndim == 2 and len(sample) >= 50 and sample.shape[1] >= 1
    require(good, "sample", "have shape (>= 50, k), k >= 1", sample.shape)
    require(bool(np.isfinite(sample).all()), "mechanism", "return finite numbers", "NaN or infinity")
    level, most = (1 - confidence) / TESTS, most_confidence()
    require(confidence <= most + 1e-12, "confidence", f"be at most {most:g}, where p-values are simulated", confidence)
    seen = tested(sample, law, scale, centred=centred, on_a_grid=rounded, level=level, seed=seed)
    reasons = seen.reasons(level, scale)
    return NoiseAudit(
        "violated" if reasons else "consistent", distribution, scale, seen.scale * scale, seen.p_values, level,
        len(sample), "; ".join(reasons) or "scale, shape, tails and independence agree with the claim",
        scale_lower(sample, distribution, confidence, centred=centred), confidence,
    )  # fmt: skip


def scale_lower(sample: Floats, distribution: str, confidence: float, *, centred: bool) -> float | None:
    """Bound the least scale of the coordinates of a sample (n, k) from below.

    Sums of squares are multiples of chi-square numbers, and so are sums of absolute deviations of Laplace noise from
    its centre, which the sum from the median never exceeds. Rounding to a grid is taken off at its worst. The least of
    the coordinates' bounds is wrong only where that of the coordinate with the least scale is.
    """
    if distribution not in ("gaussian", "laplace"):
        return None
    n = len(sample)
    off, alpha = grid(sample) / 2, 1 - confidence
    if distribution == "gaussian":
        noise = sample if centred else sample - sample.mean(0)
        size = np.sqrt((noise**2).sum(0)).min() - off * math.sqrt(n)
        return float(max(size, 0.0) / math.sqrt(stats.chi2.isf(alpha, n if centred else n - 1)))
    noise = sample if centred else sample - np.median(sample, axis=0)
    size = np.abs(noise).sum(0).min() - off * n
    return float(max(size, 0.0) * 2 / stats.chi2.isf(alpha, 2 * n))


def most_confidence() -> float:
    """Return the largest confidence at which as many simulations as are made can still reject."""
    return 1 - 2 * TESTS / _MOST
