"""Events: what they accept, what they refuse in one line, and how dp_accounting's are read."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest

from dpcheck import InputError, certify
from dpcheck.accounting import calibrate
from dpcheck.accounting.event_counts import count_events
from dpcheck.events import Event, Gaussian, Laplace, Repeated, Sampled, read_events

ONE = (Gaussian(1.0),)


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
@pytest.mark.parametrize("value", [-1.0, math.nan, "1", None, True, np.ones(2)])
def test_multipliers_are_nonnegative_numbers(kind: type, value: object) -> None:
    with pytest.raises(InputError, match=r"^noise_multiplier must be a number >= 0"):
        kind(value)


def test_limiting_multipliers_are_accepted() -> None:
    assert Gaussian(0).noise_multiplier == 0
    assert Laplace(math.inf).noise_multiplier == math.inf
    assert Gaussian(np.float64(2)) == Gaussian(2.0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (((), "poisson", 10, 1), "mechanisms must be a tuple such as (Gaussian(1.5),), or one of a Laplace, got ()"),
        (([Gaussian(1.0)], "poisson", 10, 1), "mechanisms must be a tuple such as"),
        (((Laplace(1.0), Laplace(1.0)), "poisson", 10, 1), "mechanisms must be a tuple such as"),
        (((Laplace(1.0), Gaussian(1.0)), "poisson", 10, 1), "mechanisms must be a tuple such as"),
        (((Laplace(1.0),), "with_replacement", 10, 1), "mechanisms must not be Laplace when scheme is with_rep"),
        ((ONE, "shuffled", 10, 1), "scheme must be one of poisson, without_replacement"),
        ((ONE, "poisson", 0, 0), "population must be a whole number >= 1, got 0"),
        ((ONE, "poisson", 10, 10.5), r"batch must lie in [0, population = 10], got 10.5"),
        ((ONE, "poisson", 10, -0.5), r"batch must lie in [0, population = 10], got -0.5"),
        ((ONE, "without_replacement", 10, 2.5), "batch must be a whole number >= 0, got 2.5"),
        ((ONE, "without_replacement", 10, 11), "batch must be at most population = 10"),
        ((ONE, "poisson", 10, 1, "remove_two"), "neighbours must be one of replace_one"),
        (
            (ONE, "without_replacement", 10, 1, "add_or_remove_one"),
            "neighbours must be replace_one when scheme is without_replacement",
        ),
        (
            (ONE, "with_replacement", 10, 1, "add_or_remove_one"),
            "neighbours must be replace_one when scheme is with_replacement",
        ),
    ],
)
def test_sampling_refuses_what_it_cannot_mean(fields: tuple[object, ...], words: str) -> None:
    with pytest.raises(InputError) as caught:
        Sampled(*fields)  # type: ignore[arg-type]
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_rate_is_the_chance_of_being_in_the_batch() -> None:
    assert Sampled(ONE, "poisson", 10, 2.5).rate == 0.25
    assert Sampled(ONE, "without_replacement", 10, 4).rate == 0.4
    assert Sampled(ONE, "with_replacement", 10, 4).rate == pytest.approx(1 - 0.9**4, rel=1e-14)
    assert Sampled(ONE, "with_replacement", 1, 3).rate == 1
    assert Sampled(ONE, "with_replacement", 10, 0).rate == 0


def test_mechanisms_on_one_batch_are_one_gaussian() -> None:
    both = Sampled((Gaussian(3.0), Gaussian(4.0)), "poisson", 10, 1)
    assert both.noise_multiplier == pytest.approx(1 / math.sqrt(1 / 9 + 1 / 16), rel=1e-14)
    assert Sampled((Gaussian(3.0), Gaussian(0.0)), "poisson", 10, 1).noise_multiplier == 0
    silent = Sampled((Gaussian(math.inf), Gaussian(math.inf)), "poisson", 10, 1)
    assert silent.noise_multiplier == math.inf


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_repetitions_are_counted_in_whole_numbers(count: object) -> None:
    with pytest.raises(InputError, match=r"^count must be a whole number >= 0"):
        Repeated(Gaussian(1.0), count)  # type: ignore[arg-type]


def test_only_events_are_repeated() -> None:
    with pytest.raises(InputError, match=r"^event must be a dpcheck event"):
        Repeated("gaussian", 3)  # type: ignore[arg-type]


def test_counting_events_reduces_to_normal_form() -> None:
    whole = Sampled((Gaussian(2.0),), "without_replacement", 10, 10)
    group = Sampled((Gaussian(6.0),), "with_replacement", 1, 3)
    never = Sampled((Gaussian(0.0),), "poisson", 10, 0)
    nested = Repeated(Repeated(Gaussian(2.0), 1), 2)
    counted = count_events((whole, group, never, nested, Laplace(math.inf), Repeated(Laplace(1.0), 0)))
    assert counted.others == ()
    assert counted.shift == pytest.approx(1.0, rel=1e-14)  # four Gaussians of multiplier 2


def test_counting_events_refuses_two_kinds_of_neighbours() -> None:
    here = Sampled(ONE, "poisson", 10, 1, "replace_one")
    there = Sampled(ONE, "poisson", 10, 1, "add_or_remove_one")
    with pytest.raises(InputError, match="events must share one neighbouring relation"):
        count_events((here, there))


def test_dp_accounting_events_are_read_under_its_conventions() -> None:
    dp = dp_accounting
    poisson = dp.PoissonSampledDpEvent(0.25, dp.GaussianDpEvent(2.0))
    event = dp.ComposedDpEvent([dp.SelfComposedDpEvent(poisson, 3), dp.LaplaceDpEvent(5.0), dp.NoOpDpEvent()])
    expected: tuple[Event, ...] = (
        Repeated(Sampled((Gaussian(2.0),), "poisson", 1, 0.25, "add_or_remove_one"), 3),
        Laplace(5.0),
    )
    assert read_events(event) == expected
    assert read_events([event, dp.GaussianDpEvent(1.0)]) == (*expected, Gaussian(1.0))
    assert read_events(dp.NonPrivateDpEvent()) == (Gaussian(0.0),)


def test_a_batch_of_fixed_size_has_all_events_read_between_replaced_records() -> None:
    """A multiplier of dp_accounting is over what one record contributes: half of it is over what replacing changes."""
    dp = dp_accounting
    drawn = dp.SampledWithoutReplacementDpEvent(10, 2, dp.GaussianDpEvent(3.0))
    again = dp.SampledWithReplacementDpEvent(10, 2, dp.SelfComposedDpEvent(dp.GaussianDpEvent(3.0), 4))
    assert read_events(
        [drawn, again, dp.PoissonSampledDpEvent(0.5, dp.GaussianDpEvent(5.0)), dp.GaussianDpEvent(1.0)]
    ) == (
        Sampled((Gaussian(1.5),), "without_replacement", 10, 2),
        Sampled((Gaussian(0.75),), "with_replacement", 10, 2),
        Sampled((Gaussian(2.5),), "poisson", 1, 0.5, "replace_one"),
        Gaussian(0.5),
    )


def test_sampled_compositions_laplace_and_trees_of_dp_accounting_are_read() -> None:
    dp = dp_accounting
    two = dp.ComposedDpEvent([dp.GaussianDpEvent(3.0), dp.GaussianDpEvent(4.0)])
    (both,) = read_events(dp.PoissonSampledDpEvent(0.5, two))
    assert both == Sampled((Gaussian(3.0), Gaussian(4.0)), "poisson", 1, 0.5, "add_or_remove_one")
    laplace = dp.PoissonSampledDpEvent(0.1, dp.LaplaceDpEvent(2.0))
    assert read_events(laplace) == (Sampled((Laplace(2.0),), "poisson", 1, 0.1, "add_or_remove_one"),)
    tree = dp.SingleEpochTreeAggregationDpEvent(3.0, [4, 7])  # a leaf of seven lies below at most three nodes
    assert read_events(tree) == (Gaussian(3.0 / math.sqrt(3)),)


@pytest.mark.parametrize(
    "event",
    [
        dp_accounting.ZCDpEvent(1.0),
        dp_accounting.RandomizedResponseDpEvent(0.5, 4),
        dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.dp_event.DiscreteLaplaceDpEvent(1.0, 1)),
    ],
)
def test_dp_accounting_events_of_other_kinds_are_not_read(event: object) -> None:
    with pytest.raises(
        InputError, match=r"^events must be dp_accounting events of the kinds that dpcheck computes, got"
    ):
        read_events(event)
    with pytest.raises(InputError, match=r"^events must be supported dp_accounting events, got Unsupported"):
        read_events(dp_accounting.UnsupportedDpEvent())


def test_histories_of_opacus_are_read() -> None:
    class Accountant:
        def __init__(self) -> None:
            self.history = [(1.1, 0.01, 100), (2.0, 0.02, 50)]

    expected = tuple(
        Repeated(Sampled((Gaussian(z),), "poisson", 1, rate, "add_or_remove_one"), steps)
        for z, rate, steps in Accountant().history
    )
    assert read_events(Accountant()) == read_events(Accountant().history) == expected
    with pytest.raises(InputError, match="sample rate of a history must lie in"):
        read_events([(1.1, 256.0, 100)])


class Opacus:
    def __init__(self) -> None:
        self.history: list[object] = []


class Loss:
    def get_epsilon_for_delta(self, delta: float) -> float:
        return delta


PRV = type("PoissonSubsampledGaussianMechanism", (), {"__module__": "prv_accountant.privacy_random_variables"})


def nested(inner: object, deep: int = 3000) -> object:
    for _ in range(deep):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (3, "be events of dpcheck or dp_accounting, an Opacus accountant, or a privacy loss distribution, got 3"),
        ([None], "be events of dpcheck or dp_accounting, .*, got None"),
        ("gaussian", "be an event, or a sequence of events .*, got 'gaussian'"),
        ([Gaussian(1.0), dp_accounting.GaussianDpEvent(1.0)], "be .*, not a mixture of both, got both"),
        ([Loss(), Loss()], r"be one privacy loss distribution: compose them first, first.compose\(second\)"),
        (PRV(), "be events, such as Repeated.* got PoissonSubsampledGaussianMechanism of prv_accountant"),
        ([PRV()], "be events, such as Repeated"),
        (Opacus(), "hold a step, got Opacus whose history is empty"),
        (dp_accounting.GaussianDpEvent(1.0).to_named_tuple(), "be dp_accounting events themselves"),
        (nested(Gaussian(1.0)), "be an event, or a flat sequence of events, got a list inside the list"),
        ({"a": nested(1)}, "be an event, or a sequence of events .*, got (dict that has no text|{'a')"),
    ],
)
def test_nothing_else_is_an_event(events: object, words: str) -> None:
    for reader in (read_events, certify):
        with pytest.raises(InputError, match=f"^events must {words}") as caught:
            reader(events)
        assert "\n" not in str(caught.value)


def test_numbers_of_any_type_are_taken_and_rounded_to_the_safe_side() -> None:
    for delta in (Fraction(1, 10**5), Decimal("1e-5"), np.float64(1e-5)):
        found = certify(Gaussian(1.0), delta)
        assert found.epsilon == pytest.approx(certify(Gaussian(1.0), 1e-5).epsilon, rel=1e-12)
        assert Fraction(found.delta) <= Fraction(delta)
        assert calibrate(Gaussian, Fraction(1, 2), delta) == pytest.approx(calibrate(Gaussian, 0.5, 1e-5))
    above = Fraction(0.1) - Fraction(1, 10**30)  # float() rounds it up
    assert certify(Gaussian(1.0), above).delta == math.nextafter(0.1, 0)
    with pytest.raises(InputError, match=r"^delta must lie in \[0, 1\), got 1.5"):
        certify(Gaussian(1.0), Fraction(3, 2))
    with pytest.raises(InputError, match=r"^epsilon must be a finite number > 0, got"):
        calibrate(Gaussian, Decimal("sNaN"), 1e-5)  # type: ignore[arg-type]


def test_narrow_floats_are_multipliers_without_a_warning() -> None:
    """Warnings are errors here."""
    for kind in (np.float16, np.float32):
        assert Gaussian(kind(1.5)).noise_multiplier == 1.5
        assert Laplace(kind(1.5)) == Laplace(1.5)


def test_describing_events_needs_no_heavy_import() -> None:
    code = "import sys, dpcheck.events; print(sorted({'scipy', 'dp_accounting', 'pandas', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
