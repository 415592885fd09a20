"""The last iterate alone: certificates against linear maps, against the best shifts, and against laws on a grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import dpcheck
from dpcheck.accounting import privacy_curve
from dpcheck.accounting.last_iterate import _from_apart, shift_of_last
from dpcheck.errors import InputError
from dpcheck.events import Disjoint, Gaussian, Laplace, Repeated, Sampled

DELTA = 1e-5


def linear(epochs: int, c: float, batches: int) -> float:
    """Shift of c z and c z + s with noise 1, s = 1 in the last step of each epoch: both laws are Gaussian."""
    mean = variance = 0.0
    for step in range(1, epochs * batches + 1):
        mean, variance = c * mean + (step % batches == 0), c * c * variance + 1
    return mean / math.sqrt(variance)


def best(epochs: int, c: float, batches: int, diameter: float, begins: Sequence[int] = ()) -> float:
    """Least shift of all that may be taken in each step: a greatest convex minorant, from each step that may begin."""
    last, found = epochs * batches, math.inf
    for begin in begins or range(last):
        weights = [c ** (last - step) for step in range(begin + 1, last + 1)]
        top = weights[0] * c * diameter if begin else 0.0
        points = [(0.0, 0.0)]
        for step, weight in zip(range(begin + 1, last + 1), weights, strict=True):
            top += weight * (step % batches == 0)
            points.append((points[-1][0] + weight**2, top))
        hull: list[tuple[float, float]] = []
        for x, y in points:  # from below: shares may not exceed what there is at any step
            while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-1][0]) >= (y - hull[-1][1]) * (
                hull[-1][0] - hull[-2][0]
            ):
                hull.pop()
            hull.append((x, y))
        spent = sum((b - y) ** 2 / (a - x) for (x, y), (a, b) in itertools.pairwise(hull))
        found = min(found, math.sqrt(spent))
        if diameter == math.inf:
            break
    return found


def settings(number: int) -> list[tuple[int, float, int, float]]:
    rng = np.random.default_rng(5)
    return [
        (
            int(rng.integers(1, 12)), float(rng.choice([rng.uniform(0, 1), 1 - 10 ** rng.uniform(-6, -1), 1.0])),
            int(rng.choice([1, 1, 2, 3, 7])), float(10 ** rng.uniform(-1, 2)),
        )
        for _ in range(number)
    ]  # fmt: skip


def test_no_shift_is_below_a_linear_map_s_and_full_batches_attain_it() -> None:
    for epochs, c, batches, _ in settings(200):
        shift, truth = shift_of_last(epochs, c, batches=batches), linear(epochs, c, batches)
        assert truth * (1 - 1e-12) <= shift <= (truth if batches == 1 else math.sqrt(epochs)) * (1 + 1e-9)


def test_shifts_are_the_best_that_the_argument_gives() -> None:
    """Never below the optimum over all that may be taken; at it without a diameter, and with one for all records."""
    for epochs, c, batches, diameter in settings(200):
        exact = best(epochs, c, batches, math.inf)
        assert shift_of_last(epochs, c, batches=batches) == pytest.approx(exact, rel=1e-9)
        exact, shift = best(epochs, c, batches, diameter), shift_of_last(epochs, c, diameter, batches)
        assert exact * (1 - 1e-9) <= shift
        if batches == 1:
            assert shift == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("c", [1.02, 1.3, 2.0])
def test_maps_that_expand_gain_from_a_diameter_alone(c: float) -> None:
    assert shift_of_last(50, c) == pytest.approx(math.sqrt(50))
    for diameter in (0.1, 1.0, 5.0, 40.0):
        for steps in (1, 5, 20):
            assert shift_of_last(steps, c, diameter) == pytest.approx(best(steps, c, 1, diameter), rel=1e-6)
    assert shift_of_last(10**6, 1.02, 5.0) < 0.1 * 10**3


def test_no_number_of_last_epochs_is_below_what_it_may_take() -> None:
    """Also where the distance would fall below 0: for maps that expand, and for small diameters."""
    left_out = 0
    for c in (0.4, 0.95, 1.0, 1.1, 1.5):
        for batches, diameter in itertools.product((1, 2, 5), (0.01, 0.3, 3.0)):
            counts = np.arange(1.0, 9.0)
            for count, shift in zip(counts, _from_apart(counts, c, diameter, batches), strict=True):
                exact = best(9, c, batches, diameter, [int(9 - count) * batches])
                assert shift >= exact * (1 - 1e-9)
                left_out += math.isinf(shift)
    assert left_out > 50


def test_samples_of_nearly_all_records_are_no_better_than_all() -> None:
    """Linear maps attain what is certified for all records, and nearly every step draws the record."""
    for z, c in [(5.0, 0.9), (8.0, 0.97), (3.0, 0.6), (20.0, 0.999)]:
        drawn = Repeated(Sampled((Gaussian(z),), "poisson", 10**9, 10**9 - 1e-3), 1000)
        whole = dpcheck.certify(Repeated(Gaussian(z), 1000), DELTA, released="last", contraction=c)
        last = dpcheck.certify(drawn, DELTA, released="last", contraction=c)
        assert whole.epsilon <= last.epsilon < min(2.5 * whole.epsilon, dpcheck.certify(drawn, DELTA).epsilon * 1.001)


def test_long_runs_keep_their_limits() -> None:
    assert shift_of_last(10**12, 1 - 1e-9) == pytest.approx(math.sqrt(2e9), rel=1e-6)
    assert shift_of_last(10**6, 1.0, batches=10) == pytest.approx(math.sqrt(1 + (10**6 - 1) / 10))
    assert shift_of_last(10**9, 1.0, 25.0) == pytest.approx(10.0)  # 2 sqrt(diameter)
    assert [round(shift_of_last(1000, c), 1) for c in (1.0, 0.9, 0.99)] == [31.6, 4.4, 14.1]


def grid_deltas(
    c: float, steps: int, diameter: float, sigma: float, rate: float, epsilons: Any, size: int = 300
) -> Any:
    """Delta of the clipped chain c z (+ 1 with chance ``rate``) on [0, diameter], whose laws go over a grid."""
    edges = np.linspace(0, diameter, size + 1)
    middles = (edges[1:] + edges[:-1]) / 2

    def kernel(added: float) -> Any:
        reach = ndtr((edges[None, :] - c * middles[:, None] - added) / sigma)
        reach[:, 0], reach[:, -1] = 0, 1  # what lies beyond is projected onto the ends
        return np.diff(reach)

    plain, moved = kernel(0.0), rate * kernel(1.0) + (1 - rate) * kernel(0.0)
    laws = np.zeros((2, size))
    laws[:, size // 2] = 1
    for _ in range(steps):
        laws = np.array([laws[0] @ plain, laws[1] @ moved])
    both = [np.maximum(p - math.exp(e) * q, 0).sum() for e in epsilons for p, q in (laws, laws[::-1])]
    return np.max(np.reshape(both, (-1, 2)), axis=1)


@pytest.mark.parametrize("c", [0.5, 0.95, 1.0, 1.1])
@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_projected_chains_are_no_easier_to_tell(c: float, rate: float) -> None:
    """The delta of chains whose laws are computed on a grid is at most the certified one; where it is near is said."""
    for steps, diameter, sigma in [(1, 4.0, 1.5), (12, 4.0, 1.5), (40, 3.0, 2.0), (40, 40.0, 3.0)]:
        events = Gaussian(sigma) if rate == 1 else Sampled((Gaussian(sigma),), "poisson", 10, 10 * rate)
        truth = grid_deltas(c, steps, diameter, sigma, rate, [epsilon := 0.7])[0]
        if truth < 1e-9:
            continue
        certificate = dpcheck.certify(Repeated(events, steps), truth, released="last", contraction=c, diameter=diameter)
        assert certificate.epsilon >= epsilon * (1 - 2e-3), (steps, diameter, sigma, certificate)


def test_poisson_batches_gain_and_never_exceed_all_iterates() -> None:
    for c, diameter in [(0.9, None), (0.99, None), (1.0, 10.0), (1.0, None)]:
        steps = Repeated(Sampled((Gaussian(1.0),), "poisson", 1000, 10), 10_000)
        last = dpcheck.certify(steps, DELTA, released="last", contraction=c, diameter=diameter)
        everything = dpcheck.certify(steps, DELTA)
        assert last.epsilon <= everything.epsilon and last.neighbours == "add_or_remove_one"
        assert (last.epsilon < 0.7 * everything.epsilon) == (c < 1 or diameter is not None)
    one = dpcheck.certify(steps, DELTA, released="last", contraction=0.0)
    assert one.epsilon == dpcheck.certify(steps.event, DELTA).epsilon  # type: ignore[attr-defined]


def test_certificates_are_those_of_their_shift() -> None:
    for z, c in [(5.0, 0.9), (0.5, 0.3)]:
        shift = linear(1000, c, 1) / z
        last = dpcheck.certify(Repeated(Gaussian(z), 1000), DELTA, released="last", contraction=c)
        assert last.epsilon == pytest.approx(dpcheck.certify(Gaussian(1 / shift), DELTA).epsilon, rel=1e-9)
        assert privacy_curve(Gaussian(1 / shift))(last.epsilon) == pytest.approx(DELTA, rel=1e-6)
    listed = dpcheck.certify([Gaussian(5.0)] * 20, DELTA, released="last", contraction=0.9)
    assert listed == dpcheck.certify(Repeated(Gaussian(5.0), 20), DELTA, released="last", contraction=0.9)
    assert dpcheck.certify(Repeated(Gaussian(math.inf), 9), released="last", contraction=1).epsilon == 0
    assert dpcheck.certify(Repeated(Gaussian(0.0), 9), released="last", contraction=1).epsilon == math.inf
    assert dpcheck.certify(Repeated(Gaussian(1.0), 9), 0.0, released="last", contraction=1).epsilon == math.inf


@pytest.mark.parametrize("batches", [1, 5])
def test_an_audit_of_the_last_iterate_comes_near_and_stays_below(batches: int) -> None:
    """The linear map attains the shift on all records; its last of 40 iterates is run, and nothing else is shown."""
    z, c, delta, steps = 2.0, 0.9, 1e-2, 40

    def run(moved: float, rng: np.random.Generator, size: int) -> Any:
        state = np.zeros(size)
        for step in range(1, steps + 1):
            state = c * state + moved * (step % batches == 0) + z * rng.normal(size=size)
        return state

    events = Repeated(Disjoint((Gaussian(z),) * batches) if batches > 1 else Gaussian(z), steps // batches)
    certified = dpcheck.certify(events, delta, released="last", contraction=c).epsilon
    audit = dpcheck.audit_privacy(
        run, 1.0, 0.0, epsilon=certified, delta=delta, trials=100_000, seed=2, vectorized=True
    )
    assert audit.verdict == "consistent"
    assert (0.8 if batches == 1 else 0.7) * certified < audit.epsilon_lower <= certified
    assert certified < 0.6 * dpcheck.certify(events, delta).epsilon


def test_published_settings_of_cyclic_batches_on_mnist() -> None:
    """mu and epsilon of the paper's script table_privacy_lr.py, whose formulas are typed here again."""
    batches, mu, page = 40, 2 / 3, dict[float, list[float]]()
    for epochs in (50, 100, 200):
        for c in (0.9999, 0.9998):
            ends = c ** (batches * (epochs - 1))
            theirs = mu * math.sqrt(
                1 + c ** (2 * batches - 2) * (1 - c**2) / (1 - c**batches) ** 2 * (1 - ends) / (1 + ends)
            )
            assert mu * shift_of_last(epochs, c, batches=batches) == pytest.approx(theirs, rel=1e-9)
            events = Repeated(Disjoint((Gaussian(1 / mu),) * batches), epochs)
            last = dpcheck.certify(events, DELTA, released="last", contraction=c)
            assert last.epsilon == pytest.approx(dpcheck.certify(Gaussian(1 / theirs), DELTA).epsilon, rel=1e-9)
            page.setdefault(c, []).append(round(last.epsilon, 2))
    assert page == {0.9999: [4.34, 5.6, 7.58], 0.9998: [4.32, 5.51, 7.09]}


@pytest.mark.parametrize(
    ("events", "options", "word"),
    [
        (Gaussian(1.0), {"released": "last"}, "contraction"),
        (Gaussian(1.0), {"contraction": 0.5}, "contraction"),
        (Gaussian(1.0), {"diameter": 0.5}, "diameter"),
        (Gaussian(1.0), {"released": "some"}, "released"),
        (Gaussian(1.0), {"released": "last", "contraction": -0.1}, "contraction"),
        (Gaussian(1.0), {"released": "last", "contraction": math.nan}, "contraction"),
        (Gaussian(1.0), {"released": "last", "contraction": 1, "diameter": 0}, "diameter"),
        ([Gaussian(1.0), Gaussian(2.0)], {"released": "last", "contraction": 1}, "one kind"),
        (Laplace(1.0), {"released": "last", "contraction": 1}, "events"),
        (Sampled((Gaussian(1.0),), "without_replacement", 10, 2), {"released": "last", "contraction": 1}, "events"),
        (Sampled((Gaussian(1.0),), "poisson", 10, 2, records=2), {"released": "last", "contraction": 1}, "events"),
        (Gaussian(1.0), {"released": "last", "contraction": 1, "group": 2}, "group"),
        (Disjoint((Gaussian(1.0), Gaussian(2.0))), {"released": "last", "contraction": 1}, "one noise"),
    ],
)
def test_what_is_not_proved_is_refused(events: Any, options: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        dpcheck.certify(events, DELTA, **options)
