"""Certificates: bounds that hold, against closed forms, definitions and two other accountants."""

from __future__ import annotations

import json
import math
import warnings

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from slices import first

import dpcheck
from dpcheck import InputError, certify
from dpcheck.accounting import calibrate, privacy_curve
from dpcheck.accounting.losses import compose
from dpcheck.accounting.privacy_curves import curves_of, gaussian_log_delta
from dpcheck.events import Event, Gaussian, Laplace, Repeated, Sampled

SCHEMES = ("poisson", "without_replacement", "with_replacement")


def step(z: float, batch: float, population: int, scheme: str, relation: str = "replace_one") -> Sampled:
    return Sampled((Gaussian(z),), scheme, population, batch, relation)  # type: ignore[arg-type]


# --- Gaussians alone -------------------------------------------------------------------------


def precise_log_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """Balle and Wang's formula as it stands, in 400 digits."""
    with mpmath.workdps(400):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)

        def phi(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

        return mpmath.log(phi(m / 2 - e / m) - mpmath.exp(e) * phi(-m / 2 - e / m))


@pytest.mark.parametrize("mu", [1e-12, 1e-7, 3e-3, 0.2, 0.999, 1.0, 3.0, 40.0, 141.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-17, 1e-9, 1e-5, 0.01, 0.5])
def test_gaussian_epsilon_is_exact_and_on_the_safe_side(mu: float, delta: float) -> None:
    epsilon = certify(Gaussian(1 / mu), delta).epsilon
    mu = 1 / (1 / mu)
    target = mpmath.log(delta)
    assert precise_log_delta(epsilon, mu) <= target
    if epsilon == 0:
        return
    assert precise_log_delta(epsilon * (1 - 1e-11), mu) > target - 1e-9


def test_gaussian_epsilon_at_both_ends_of_its_range() -> None:
    huge = certify(Gaussian(1 / 141.0), 1e-5).epsilon  # the loss is N(mu^2 / 2, mu^2)
    assert huge == pytest.approx(141**2 / 2 + 141 * norm.isf(1e-5), rel=1e-3)
    mu = 1e-5  # delta slightly below its value at 0 makes epsilon tiny
    at_zero = math.exp(float(precise_log_delta(0.0, mu)))
    tiny = certify(Gaussian(1 / mu), at_zero - 0.5e-12).epsilon
    assert tiny == pytest.approx(1e-12, rel=1e-2)
    assert certify(Gaussian(1 / mu), at_zero * (1 + 1e-9)).epsilon == 0


def test_gaussians_compose_exactly() -> None:
    together = [Gaussian(2.0), Repeated(Gaussian(6.0), 5), Repeated(Repeated(Gaussian(4.0), 2), 3)]
    shift = math.sqrt(1 / 4 + 5 / 36 + 6 / 16)
    alone = certify(Gaussian(1 / shift), 1e-6).epsilon
    assert certify(together, 1e-6).epsilon == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("scheme", ["poisson", "without_replacement"])
def test_mechanisms_on_one_batch_are_joint(scheme: str) -> None:
    both = (Gaussian(3.0), Gaussian(4.0))
    everything = Sampled(both, scheme, 50, 50)  # type: ignore[arg-type]
    exact = certify(list(both), 1e-6)
    assert certify(everything, 1e-6).epsilon == pytest.approx(exact.epsilon, rel=1e-12)
    part = Sampled(both, scheme, 50, 5, "replace_one")  # type: ignore[arg-type]
    one = step(2.4, 5, 50, scheme)  # 1 / 2.4^2 = 1 / 3^2 + 1 / 4^2
    assert certify(Repeated(part, 20), 1e-6).epsilon == pytest.approx(
        certify(Repeated(one, 20), 1e-6).epsilon, rel=1e-9
    )


# --- Composition on the grid -----------------------------------------------------------------


@given(
    mu=st.floats(-4, 1),
    steps=st.sampled_from([2, 7, 100, 3000, 100_000]),
    exponent=st.floats(-200, -0.5),
)
@settings(deadline=None, max_examples=30)
def test_grid_composition_is_a_sharp_upper_bound(mu: float, steps: int, exponent: float) -> None:
    """Gaussians take the grid route here; the analytic value tells how much it loses, and where
    it would fall below."""
    shift, delta = 10**mu / math.sqrt(steps), 10**exponent
    exact = certify(Repeated(Gaussian(1 / shift), steps), delta).epsilon
    curves = curves_of(Gaussian(1 / shift), negligible=1e-300)
    guess = shift**2 * steps / 2 + shift * math.sqrt(2 * steps * -math.log(delta))
    composed = compose([(curves, steps)], delta, guess=guess, tolerance=2e-4)
    assert composed is not None
    epsilon = composed.epsilon(delta)
    assert epsilon >= exact * (1 - 1e-12)
    spread = 10**mu / math.sqrt(max(1.0, -math.log(delta)))
    least = 1e-3 if exponent > -50 else 2e-2  # at deltas that nobody asks for the grid is coarser
    assert epsilon <= exact + least * max(exact, spread)
    at = np.array([exact * 0.9, exact, exact * 1.05])
    true = np.exp(gaussian_log_delta(at, 10**mu))
    assert np.all(composed.delta(at) >= true * (1 - 1e-9))


def test_the_grid_mixes_different_mechanisms() -> None:
    """Two Gaussians and a Laplace in the grid: against numeric convolution over the Laplace."""
    events = [Repeated(Laplace(4.0), 1), Gaussian(2.0)]
    epsilon = certify(events, 1e-4).epsilon
    x = np.linspace(-40, 40, 400_001)
    p, q = np.exp(-np.abs(x) / 4) / 8, np.exp(-np.abs(x - 1) / 4) / 8
    loss = np.abs(x - 1) / 4 - np.abs(x) / 4

    def delta(e: float) -> float:
        # Given the Laplace loss l, the Gaussian must pay for the remaining e - l.
        rest = e - loss
        positive = np.exp(gaussian_log_delta(np.abs(rest), 0.5))
        stick = np.where(rest >= 0, positive, 1 - np.exp(rest) * (1 - positive))
        return float(np.sum(p * stick) * (x[1] - x[0]))

    assert np.sum(q) == pytest.approx(np.sum(p), rel=1e-4)
    assert delta(epsilon) <= 1e-4 * (1 + 1e-6)
    assert delta(epsilon * 0.999) > 1e-4


def google(event: object, steps: int, delta: float, relation: str, interval: float) -> float:
    kind = getattr(dp_accounting.NeighboringRelation, relation)
    accountant = PLDAccountant(kind, value_discretization_interval=interval)
    accountant.compose(event, steps)
    return float(accountant.get_epsilon(delta))


# z, rate, steps, delta, interval
POISSON = [
    (1.0, 0.01, 1000, 1e-5, 1e-4),
    (2.0, 0.05, 100, 1e-6, 1e-4),
    (0.6, 0.2, 10, 1e-4, 1e-3),
    (8.0, 0.5, 300, 1e-7, 1e-4),
]


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
@pytest.mark.parametrize(("z", "rate", "steps", "delta", "interval"), first(2, POISSON))
def test_poisson_agrees_with_dp_accounting(
    z: float, rate: float, steps: int, delta: float, interval: float, relation: str
) -> None:
    """dp_accounting's multiplier is over what a record contributes, ours over twice that where one is replaced."""
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(z))
    theirs = google(event, steps, delta, relation.upper(), interval)
    replaced = relation == "replace_one"
    ours = certify(Repeated(step(z / 2 if replaced else z, rate, 1, "poisson", relation), steps), delta)
    assert ours.epsilon == pytest.approx(theirs, rel=1e-3)
    assert replaced or certify(dp_accounting.SelfComposedDpEvent(event, steps), delta) == ours


def test_laplace_composition_agrees_with_dp_accounting() -> None:
    theirs = google(dp_accounting.LaplaceDpEvent(5.0), 40, 1e-6, "ADD_OR_REMOVE_ONE", 1e-4)
    assert certify(Repeated(Laplace(5.0), 40), 1e-6).epsilon == pytest.approx(theirs, rel=1e-3)


@pytest.mark.thorough
@pytest.mark.parametrize(("z", "rate", "steps", "delta"), [case[:4] for case in POISSON])
def test_poisson_lies_between_the_bounds_of_prv_accountant(z: float, rate: float, steps: int, delta: float) -> None:
    """That library's numeric bounds hold up to delta_error; its middle is near our value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prv = pytest.importorskip("prv_accountant")
        mechanism = prv.PoissonSubsampledGaussianMechanism(noise_multiplier=z, sampling_probability=rate)
        accountant = prv.PRVAccountant(
            prvs=[mechanism],
            max_self_compositions=[steps],
            eps_error=0.005,
            delta_error=delta / 1e3,
        )
        low, middle, high = accountant.compute_epsilon(delta, [steps])
    ours = certify(Repeated(step(z, rate, 1, "poisson", "add_or_remove_one"), steps), delta).epsilon
    assert low <= ours <= high + 1e-3 * middle


# --- Several steps ---------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_two_steps_without_replacement_cover_the_mixture_pair(epsilon: float) -> None:
    """Two steps of the one-directional mixture, integrated over the plane: a lower value, close."""
    rate, z = 0.25, 1.0
    x = np.linspace(-9, 11, 3001)
    cell = (x[1] - x[0]) ** 2
    plain = norm.pdf(x)
    mixed = (1 - rate) * plain + rate * norm.pdf(x, 1 / z)
    ways = []
    for p, q in ((mixed, plain), (plain, mixed)):
        excess = np.multiply.outer(p, p) - math.exp(epsilon) * np.multiply.outer(q, q)
        ways.append(float(np.sum(np.maximum(excess, 0)) * cell))
    bound = float(privacy_curve(Repeated(step(z, 25, 100, "without_replacement"), 2))(epsilon))
    assert max(ways) <= bound + 1e-9
    assert max(ways) >= 0.8 * bound


def test_simulated_losses_without_replacement_stay_below_delta() -> None:
    """Null hypothesis: the composed mixture pair is (epsilon, delta)-DP at the certified epsilon.

    The mean of (1 - e^(epsilon - loss))^+ over 200,000 runs lies in [0, 1], so by Hoeffding it
    exceeds delta by more than sqrt(log(1e6) / (2 runs)) with probability below 1e-6. Power: at
    70% of the certified epsilon the same test rejects.
    """
    rng, runs, steps, rate, z = np.random.default_rng(20), 200_000, 20, 0.1, 0.5
    delta = 0.05
    epsilon = certify(Repeated(step(z, 10, 100, "without_replacement"), steps), delta).epsilon
    loss = np.zeros(runs)
    for _ in range(steps):
        x = rng.normal(size=runs) + (rng.random(runs) < rate) / z
        loss += np.log1p(rate * np.expm1(x / z - 0.5 / z**2))
    margin = math.sqrt(math.log(1e6) / (2 * runs))

    def stick(e: float) -> float:
        return float(np.mean(np.maximum(-np.expm1(e - loss), 0)))

    assert stick(epsilon) <= delta + margin
    assert stick(0.7 * epsilon) > delta + margin


def test_drawing_one_record_is_the_same_with_and_without_replacement() -> None:
    pair = [certify(Repeated(step(0.7, 1, 30, scheme), 50), 1e-6) for scheme in SCHEMES[1:]]
    assert pair[0].epsilon == pytest.approx(pair[1].epsilon, rel=1e-6)


# --- Invariants ------------------------------------------------------------------------------

relations = st.sampled_from([*((s, "replace_one") for s in SCHEMES), ("poisson", "add_or_remove_one")])


@given(
    kind=relations,
    z=st.floats(0.3, 20),
    batch=st.integers(1, 20),
    steps=st.integers(1, 300),
    exponent=st.floats(-12, -1),
)
@settings(deadline=None, max_examples=10)
def test_epsilon_is_monotone(kind: tuple[str, str], z: float, batch: int, steps: int, exponent: float) -> None:
    scheme, relation = kind
    delta = 10**exponent

    def epsilon(z: float, batch: int, steps: int, delta: float) -> float:
        return certify(Repeated(step(z, batch, 40, scheme, relation), steps), delta).epsilon

    here = epsilon(z, batch, steps, delta)
    grid = 1 + 1e-3  # two grids may differ by this much
    small = 1e-3 * math.sqrt(steps) * batch / z
    for there in (
        epsilon(z * 1.1, batch, steps, delta),
        epsilon(z, batch, steps, delta * 1.5),
        epsilon(z, max(batch - 1, 0), steps, delta),
        epsilon(z, batch, steps - 1, delta),
    ):
        assert there <= here * grid + small * (scheme == "with_replacement") + 1e-6 * small
    if scheme != "with_replacement":
        assert here <= certify(Repeated(Gaussian(z), steps), delta).epsilon * (1 + 1e-12)


@pytest.mark.thorough
@given(
    kind=relations,
    z=st.floats(0.5, 10),
    steps=st.sampled_from([1, 2, 50]),
    ceiling=st.floats(0.1, 3),
)
@settings(deadline=None, max_examples=4)
def test_curve_and_certificate_agree(kind: tuple[str, str], z: float, steps: int, ceiling: float) -> None:
    events = Repeated(step(z, 4, 40, *kind), steps)
    curve = privacy_curve(events)
    epsilons = np.linspace(0, ceiling, 9)
    deltas = curve(epsilons)
    assert np.all((deltas >= 0) & (deltas <= 1))
    assert np.all(np.diff(deltas) <= 0)
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        if 1e-20 < delta < 1:
            back = certify(events, float(delta)).epsilon
            assert back == pytest.approx(epsilon, rel=1e-3, abs=2e-4 / z)


def test_curve_of_gaussians_is_exact() -> None:
    epsilons = np.array([[0.0, 0.5], [2.0, 5.0]])
    deltas = privacy_curve([Gaussian(2.0), Gaussian(2.0)])(epsilons)
    assert deltas.shape == (2, 2)
    for epsilon, delta in zip(epsilons.ravel(), deltas.ravel(), strict=True):
        exact = float(mpmath.exp(precise_log_delta(float(epsilon), math.sqrt(0.5))))
        assert exact <= delta <= exact * (1 + 1e-9)


def test_curve_refuses_negative_epsilon() -> None:
    with pytest.raises(InputError, match=r"^epsilon must be a finite number >= 0, got -1"):
        privacy_curve(Gaussian(1.0))([0.5, -1.0])


# --- Calibration -----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-3)])
def test_calibrated_noise_is_enough_and_hardly_more(scheme: str, epsilon: float, delta: float) -> None:
    def events(z: float) -> Event:
        return Repeated(step(z, 10, 200, scheme), 60)

    z = calibrate(events, epsilon, delta)
    assert certify(events(z), delta).epsilon <= epsilon
    assert certify(events(z * 0.999), delta).epsilon > epsilon


def test_calibration_covers_tiny_and_huge_noise() -> None:
    assert calibrate(Laplace, epsilon=1e-6, delta=0.0) == pytest.approx(1e6, rel=2e-3)
    assert calibrate(Laplace, epsilon=1e6, delta=0.0) == pytest.approx(1e-6, rel=2e-3)
    with pytest.raises(InputError, match="delta must be above 0 with Gaussian noise"):
        calibrate(Gaussian, epsilon=1.0, delta=0.0)


# --- Limits and words ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "delta", "epsilon"),
    [
        ([], 0.0, 0.0),
        ([], 1e-5, 0.0),
        (Repeated(Gaussian(0.0), 0), 0.0, 0.0),
        (Gaussian(math.inf), 0.0, 0.0),
        (Gaussian(0.0), 0.5, math.inf),
        (Gaussian(1e9), 0.0, math.inf),
        (Laplace(0.0), 0.5, math.inf),
        (step(0.0, 5, 10, "without_replacement"), 1e-5, math.inf),
        (step(0.0, 0, 10, "without_replacement"), 0.0, 0.0),
        (step(5.0, 1, 10, "poisson"), 0.0, math.inf),
        (Laplace(4.0), 0.0, 0.25),
        ([Repeated(Laplace(4.0), 3), Laplace(0.5)], 0.0, 2.75),
        (Laplace(2.0), 0.1, 0.5 + 2 * math.log1p(-0.1)),
        (Laplace(2.0), 0.3, 0.0),
        (Gaussian(1e-200), 1e-5, math.inf),
    ],
)
def test_limiting_cases(events: object, delta: float, epsilon: float) -> None:
    assert certify(events, delta).epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("scheme", ["poisson", "without_replacement"])
def test_a_batch_of_everything_is_no_sampling(scheme: str) -> None:
    whole = certify(Repeated(step(3.0, 12, 12, scheme), 4), 1e-6)
    assert whole == certify(Repeated(Gaussian(3.0), 4), 1e-6)
    group = certify(step(3.0, 5, 1, "with_replacement"), 1e-6).epsilon
    assert group == pytest.approx(certify(Gaussian(0.6), 1e-6).epsilon, rel=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_delta_beyond_double_precision_still_has_a_bound(scheme: str) -> None:
    """Below 1e-280 only what ignores sampling is left, and it says so."""
    certificate = certify(Repeated(step(5.0, 2, 40, scheme), 10), 1e-299)
    copies = 2 if scheme == "with_replacement" else 1
    plain = certify(Repeated(Gaussian(5.0 / copies), 10), 1e-299)
    assert certificate.epsilon == pytest.approx(plain.epsilon, rel=1e-9)
    assert certificate.method.startswith("bound that ignores sampling")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("z", [1e-30, 1e-7, 1e-3, 1e12, 1e100])
@pytest.mark.parametrize("delta", [1e-200, 1e-13])
def test_extreme_noise_never_exceeds_the_bound_without_sampling(scheme: str, z: float, delta: float) -> None:
    """Warnings are errors here: no overflow, no logarithm of zero on the way."""
    copies = 5 if scheme == "with_replacement" else 1
    plain = certify(Repeated(Gaussian(z / copies), 3), delta).epsilon
    for steps in (1, 3):
        epsilon = certify(Repeated(step(z, 5, 100, scheme), steps), delta).epsilon
        assert 0 <= epsilon <= plain * (1 + 1e-12)
        assert math.isfinite(epsilon)


@pytest.mark.parametrize("z", first(1, [0.05, 0.1, 0.2, 0.5]))
def test_steps_with_hardly_any_noise_are_composed(z: float) -> None:
    """Their losses lie in heaps hundreds apart: 100,000 simulated sums give the delta that is certified."""
    steps, rate, rng = 100, 0.25, np.random.default_rng(1)
    events = Repeated(Sampled((Gaussian(z),), "poisson", 48, 12, "add_or_remove_one"), steps)
    epsilon = certify(events, 0.3).epsilon
    x = z * rng.standard_normal((100_000, steps)) + (rng.random((100_000, steps)) < rate)
    losses = np.logaddexp(math.log(1 - rate), math.log(rate) + (2 * x - 1) / (2 * z * z)).sum(1)
    delta = float(-np.expm1(np.minimum(epsilon - losses, 0)).mean())
    assert delta == pytest.approx(0.3, abs=0.01)  # of standard error .0015


@pytest.mark.thorough
def test_a_steep_tail_of_many_steps_with_hardly_any_noise_is_composed() -> None:
    """What a grid's interval weighs there is beyond the largest number, were it as wide as elsewhere."""
    events = Repeated(Sampled((Gaussian(0.01925634325906086),), "poisson", 4, 1, "add_or_remove_one"), 7_690)
    found = [certify(events, delta).epsilon for delta in (1e-15, 4e-19, 1e-30)]
    assert found == sorted(found)
    assert found[-1] < certify(Repeated(Gaussian(0.01925634325906086), 7_690), 1e-15).epsilon


def test_many_copies_of_a_record_are_still_composed() -> None:
    """A record drawn about 100 times a batch: far below the bound that counts every draw."""
    events = Repeated(step(600.0, 10_000, 100, "with_replacement"), 5)
    certificate = certify(events, 1e-6)
    assert certificate.method.startswith("privacy loss distribution")
    about = certify(Repeated(Gaussian(600.0 / 100), 5), 1e-6).epsilon
    assert about < certificate.epsilon < 2 * about


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tiny_delta_is_composed_with_relative_precision(scheme: str) -> None:
    """Far below the rounding of one Fourier transform, epsilon still grows smoothly."""
    event = Repeated(step(5.0, 5, 100, scheme), 100)
    exponents = np.arange(-8, -121, -8)
    epsilons = np.array([certify(event, 10.0**e).epsilon for e in exponents])
    growth = np.diff(epsilons)
    assert np.all(growth > 0)
    assert np.all(epsilons < 0.75 * certify(Repeated(Gaussian(1.0), 100), 1e-120).epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, "0.1", None])
def test_delta_is_a_probability(delta: object) -> None:
    with pytest.raises(InputError, match=r"^delta must lie in \[0, 1\)"):
        certify(Gaussian(1.0), delta)  # type: ignore[arg-type]


def test_a_certificate_says_how() -> None:
    events = [Repeated(step(5.0, 5, 100, "without_replacement"), 100), Laplace(50.0)]
    certificate = dpcheck.certify(events, delta=1e-5)
    assert certificate.method.startswith("privacy loss distribution, grid ")
    assert "100 x Gaussian(5) sampling 5 of 100 (without replacement, replace-one)" in (certificate.method)
    assert "1 x Laplace(50)" in certificate.method
    assert json.loads(json.dumps(certificate.to_dict()))["epsilon"] == certificate.epsilon
    assert certify(Gaussian(1.0), 1e-5).method.startswith("exact: analytic Gaussian")
    assert certify(events[0].event, 1e-5).method.startswith("one step's curve")  # type: ignore[attr-defined]
