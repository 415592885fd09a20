"""The ways in which training makes its minibatches, side by side at one noise: what is proved of epsilon, and where.

A loader is what its minibatches are, and how neighbours differ. ``at_most`` is certified; ``at_least`` is the epsilon
of a pair of neighbours whose steps say all that a step may. None is "not known".

What is divided by a private number is another mechanism than the sum with noise. Where the noisy sum is divided by
floor(n q), one record less changes the noise of every parameter wherever n q is a whole number: by that alone the two
are told apart, the better the more parameters and steps there are. Where it is divided by the minibatch's own size,
that size shows in the noise of many parameters. No bound here holds for any number of parameters.

Where n records are shuffled and what is left of the last minibatch is dropped, a uniform order of n + 1 is one of n,
the new record at its end, and then exchanged with the one at a uniform place. The last place is in no minibatch if
their number stays: the exchange puts the new record for another in one minibatch, or changes none.

With a weight of its own a record is drawn at a rate q below the largest, q'. Poisson sampling at q is a mixture of that
at q' and of no record, which tells no more (joint convexity). A draw with replacement is one at q' whose hit counts
with chance q/q'; with these coins fixed, a hit moves the sum by no more than the analysis of q' allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from dpcheck.accounting import certify
from dpcheck.accounting.allocation_below import allocation_epsilon_below
from dpcheck.accounting.sampling_below import sampled_epsilon_below
from dpcheck.arguments import checked
from dpcheck.errors import require, require_count, require_delta, require_positive
from dpcheck.events import Gaussian, RandomAllocation, Repeated, Sampled

_CHUA = "Chua et al. 2024, arXiv 2403.17673"
_DOWN = 1 - 1e-9  # past the rounding of a chi-square law


@dataclass(frozen=True)
class Loader:
    """One way to make minibatches, and what is known of its epsilon.

    Attributes
    ----------
    name : str
        How minibatches are drawn, and what is done with them.
    neighbours : str
        "add_or_remove_one" or "replace_one"; the noise is the same in both.
    at_most, at_least : float or None
        The best proven upper bound, certified here, and the best lower bound that is known; None where none is known.
    sources : str
        Where the two come from.
    """

    name: str
    neighbours: str
    at_most: float | None
    at_least: float | None
    sources: str


@checked
def loaders(
    noise_multiplier: float, *, batch: int, population: int, steps: int, delta: float = 1e-5, parameters: int = 10**6
) -> tuple[Loader, ...]:
    """Compare the ways to make minibatches at one size, number and noise.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation over C, the most that one record contributes, > 0, for all loaders and both relations.
    batch, population, steps : int
        Records in a minibatch, which the sum is divided by, and in all, and minibatches.
    delta : float
        In (0, 1).
    parameters : int
        Numbers in a gradient, which count where the noise depends on the data.

    Returns
    -------
    tuple of Loader
        One for each, from Poisson sampling to what divides by a private number.

    Raises
    ------
    InputError
        For anything else.

    References
    ----------
    L. Chua, B. Ghazi, P. Kamath, R. Kumar, P. Manurangsi, A. Sinha, C. Zhang. How private are DP-SGD implementations?
    ICML 2024.

    Examples
    --------
    >>> from dpcheck.accounting.loaders import loaders
    >>> poisson, *_, private = loaders(1.0, batch=10, population=1000, steps=1)
    >>> round(poisson.at_most, 3), round(poisson.at_least, 3), private.at_most
    (0.199, 0.199, None)
    """
    require_positive(noise_multiplier, "noise_multiplier")
    for value, name in ((batch, "batch"), (population, "population"), (steps, "steps"), (parameters, "parameters")):
        require_count(value, name)
    batch, population, steps = int(batch), int(population), int(steps)  # which NumPy's short ones do not hold
    require(batch <= population, "batch", f"be at most population = {population}", batch)
    require_delta(delta, zero=False)
    replaced = Gaussian(noise_multiplier / 2)  # over 2C
    bins = population // batch
    epochs = -(-steps // bins)  # what is left of a last epoch counts as one
    fixed = certify(Repeated(replaced, epochs), delta).epsilon
    first = certify(Repeated(replaced, -(-steps // -(-population // batch))), delta).epsilon  # even if none is dropped
    shuffled = _allocated(noise_multiplier / 2, bins, steps // bins, delta) if population % batch == 0 else None

    def drawn(name: str, scheme: Any, neighbours: Any, sources: str) -> Loader:
        noise = Gaussian(noise_multiplier) if neighbours == "add_or_remove_one" else replaced
        step = Sampled((noise,), scheme, population, batch, neighbours)
        most = certify(Repeated(step, steps), delta).epsilon
        least = sampled_epsilon_below(step, steps, delta, most)
        return Loader(name, neighbours, most, least, sources)

    both = "its privacy curve; a pair that attains it"
    poisson = drawn("Poisson", "poisson", "add_or_remove_one", both)
    # A bound from fewer numbers is a bound still.
    seen = _of_the_size(batch, float(min(steps * int(parameters), 10**18)), delta)
    same = poisson.at_least if batch < population else None  # one record more, which leaves floor(n q) as it is
    worse = max((each for each in (same, seen) if each is not None), default=None)
    redrawn = drawn("fixed size with replacement", "with_replacement", "replace_one",
                    "Balle et al. 2018, sharpened; records alike but one")  # fmt: skip
    halved = Repeated(Sampled((replaced,), "poisson", population, batch), steps)
    balls = Repeated(RandomAllocation(Gaussian(noise_multiplier), bins), epochs)
    return (
        poisson,
        drawn("Poisson", "poisson", "replace_one", both),
        drawn("fixed size without replacement", "without_replacement", "replace_one",
              "Balle et al. 2018, composed; records alike but one"),
        redrawn,
        Loader("balls in bins, anew in each epoch", "add_or_remove_one", certify(balls, delta).epsilon,
               _allocated(noise_multiplier, bins, steps // bins, delta), "Chua et al. 2025; the pair that attains it"),
        Loader("cyclic: fixed minibatches in one order", "replace_one", fixed, first * _DOWN,
               "one Gaussian an epoch, attained in the first minibatch"),
        Loader("shuffled in each epoch, the last minibatch whole or dropped", "replace_one", fixed, shuffled,
               f"as if fixed, no amplification proved; {_CHUA}"),
        Loader("shuffled, the last minibatch dropped, n // batch unchanged", "add_or_remove_one", fixed, None,
               "as if a record were replaced; argued in this module, audited"),
        Loader("weighted Poisson, --batch n times the largest rate", "add_or_remove_one", poisson.at_most,
               poisson.at_least, "Poisson's at the largest rate, weights public; argued in this module, audited"),
        Loader("weighted with replacement, --population 1 over the largest share", "replace_one", redrawn.at_most,
               redrawn.at_least, "as at equal shares, weights public; argued in this module, audited"),
        Loader("accumulated, each record clipped, noise once a minibatch", "add_or_remove_one", poisson.at_most,
               poisson.at_least, "the minibatch is the same"),
        Loader("accumulated, each microbatch clipped, no record changes its microbatch", "add_or_remove_one",
               certify(halved, delta).epsilon, poisson.at_least, "a record moves one clipped sum by 2C"),
        Loader("Poisson, divided by the drawn size", "add_or_remove_one", None, None, "nothing proved here"),
        Loader(f"Poisson, divided by floor(n q), n private, {parameters} parameters", "add_or_remove_one", None, worse,
               "nothing proved from above; the noise shows n, or n q passes no whole number"),
    )  # fmt: skip


def _allocated(noise_multiplier: float, bins: int, epochs: int, delta: float) -> float | None:
    """Return the bound from below of complete epochs, None where there is none."""
    tried = {epochs, 1} if epochs else set[int]()  # one epoch bounds all of them, where these are out of reach
    return max((allocation_epsilon_below(noise_multiplier, bins, each, delta) for each in tried), default=0.0) or None


def _of_the_size(size: int, numbers: float, delta: float) -> float | None:
    """Bound epsilon from below where one record less divides noise of so many numbers by size - 1, not by size.

    For a set {|x|^2 > t} epsilon is at least log((P - delta) / Q); Chernoff's inequality bounds Q.
    """
    if size < 2:
        return None
    wider = (2 * size - 1) / (size - 1) ** 2  # by which the one variance is above the other, relatively
    off = np.linspace(-6, 6, 121) * math.sqrt(2 / numbers)
    above = off + wider + off * wider  # the narrower law's mean, relatively
    off, above = off[above > 0], above[above > 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.log(chi2.sf(numbers * (1 + off), numbers) * _DOWN - delta)
        bounds += numbers / 2 * (above - np.log1p(above)) * _DOWN
    return max(float(np.max(np.nan_to_num(bounds, nan=-math.inf), initial=0.0)), 0.0) or None
