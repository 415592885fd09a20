"""Other accountants on the same events: what they say is what they say, and the truth lies where it is said to lie."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dp_accounting import dp_event as dp
from dp_accounting.rdp import RdpAccountant
from reference.second_route import interval_of

from dpcheck.accounting.second_opinion import second_opinion
from dpcheck.cli import main
from dpcheck.events import Disjoint, Gaussian, Laplace, RandomAllocation, Repeated, Sampled

STEP = Sampled((Gaussian(1.1),), "poisson", 1000, 20)


def by_name(events: object, delta: float = 1e-5) -> dict[str, tuple[float | None, str]]:
    return {each.accountant: (each.epsilon, each.remark) for each in second_opinion(events, delta).opinions}


@pytest.mark.parametrize("events", [Gaussian(2.0), Repeated(STEP, 300), [Repeated(STEP, 20), Gaussian(3.0)]])
def test_the_truth_lies_between(events):
    found = second_opinion(events)
    due = interval_of(events if isinstance(events, list) else [events], 1e-5)
    assert found.at_least <= due.high and due.low <= found.certificate.epsilon * (1 + 1e-9)
    assert found.at_least > 0.95 * found.certificate.epsilon


def test_each_accountant_is_asked_as_it_is():
    alone = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.02, dp.GaussianDpEvent(1.1)), 300)
    epsilon = RdpAccountant().compose(alone).get_epsilon(1e-5)
    ours, theirs = by_name(Repeated(STEP, 300)), by_name(alone)
    assert ours["dp_accounting, RDP"][0] == pytest.approx(epsilon, rel=1e-12) == theirs["dp_accounting, RDP"][0]
    assert "more" in ours["dp_accounting, RDP"][1]
    assert ours["dp_accounting, PLD"][1] == "the same within 0.1 %"


def test_a_multiplier_that_is_taken_for_another_is_named():
    """100 steps without replacement: 14.05 is said of neighbours that lie twice as far apart."""
    events = Repeated(Sampled((Gaussian(0.5),), "without_replacement", 1000, 100), 100)
    found = second_opinion(events)
    renyi = found.opinions[0]
    assert renyi.epsilon < 0.5 * found.certificate.epsilon < found.certificate.epsilon
    halved = float(renyi.remark.partition("2C; ")[2].partition(" with")[0])
    assert halved > found.certificate.epsilon > found.at_least > 2 * renyi.epsilon  # so that 14.05 is no bound


def test_fixed_minibatches_are_as_the_one_with_the_least_noise() -> None:
    parts = Repeated(Disjoint((Gaussian(3.0), Gaussian(2.0))), 10)
    for name in ("dp_accounting, RDP", "dp_accounting, PLD"):
        epsilon, remark = by_name(parts)[name]
        assert epsilon == by_name(Repeated(Gaussian(2.0), 10))[name][0] and "has no" not in remark


def test_where_nothing_is_released_all_agree() -> None:
    assert {remark for epsilon, remark in by_name([]).values() if epsilon == 0} == {"the same within 0.1 %"}


@pytest.mark.parametrize("events", [RandomAllocation(Gaussian(1.0), 20), Laplace(2.0)])
def test_who_has_no_accounting_of_them_says_so(events):
    epsilon, remark = by_name(events)["prv_accountant"]
    assert epsilon is None and "no accounting" in remark


def test_the_command_takes_a_history(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    history = tmp_path / "history.json"
    history.write_text(json.dumps({"history": [[1.1, 0.02, 300]]}))
    assert main(["certify", str(history), "--second-opinion", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    opinion = said["second_opinion"]
    assert opinion["certificate"]["epsilon"] == said["certified"] >= opinion["at_least"]
    assert {each["accountant"] for each in opinion["opinions"]} >= {"dp_accounting, RDP", "opacus, RDP"}
    assert main(["certify", str(history), "--second-opinion"]) == 0
    assert "lies between" in capsys.readouterr().out
