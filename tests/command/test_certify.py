"""``dpcheck certify``: numbers or a file in, epsilon or noise out, and one line for what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcheck
from dpcheck import InputError, certify
from dpcheck.cli import main
from dpcheck.events import Disjoint, Event, Gaussian, Laplace, RandomAllocation, Repeated, Sampled

RUN = "--batch 256 --population 60000 --steps 10000 --delta 1e-5"


def step(z: float, scheme: str = "poisson", relation: str = "replace_one") -> Sampled:
    return Sampled((Gaussian(z),), scheme, 60000, 256, relation)  # type: ignore[arg-type]


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main(["certify", *arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "events"),
    [
        ("", Repeated(step(1.1, relation="add_or_remove_one"), 10000)),
        ("--neighbours replace_one", Repeated(step(1.1), 10000)),
        ("--sampling without_replacement", Repeated(step(1.1, "without_replacement"), 10000)),
        ("--sampling with_replacement", Repeated(step(1.1, "with_replacement"), 10000)),
        ("--sampling fixed", Repeated(Gaussian(1.1), 43)),  # 234 minibatches an epoch: 42 epochs and a part
        ("--sampling shuffled", Repeated(Gaussian(1.1), 43)),
        ("--sampling none", Repeated(Gaussian(1.1), 10000)),
        ("--sampling none --noise laplace", Repeated(Laplace(1.1), 10000)),
    ],
)
def test_numbers_are_read_as_the_run_they_describe(
    capsys: pytest.CaptureFixture[str], options: str, events: Event
) -> None:
    certificate = certify(events, 1e-5)
    run = "--steps 10000 --delta 1e-5" if "none" in options else RUN
    shown = found(capsys, "--multiplier", "1.1", *run.split(), *options.split())
    assert (shown["certified"], shown["method"]) == (certificate.epsilon, certificate.method)
    assert ("no amplification" in str(shown.get("note"))) == ("shuffled" in options)


@pytest.mark.parametrize(
    ("options", "events"),
    [
        ("--steps 90 --sampling none", Repeated(Gaussian(1.1), 90)),
        ("--steps 90 --sampling none --diameter 3", Repeated(Gaussian(1.1), 90)),
        ("--steps 90 --batch 5 --population 50 --sampling fixed", Repeated(Disjoint((Gaussian(1.1),) * 10), 9)),
        ("--steps 90 --batch 5 --population 50", Repeated(Sampled((Gaussian(1.1),), "poisson", 50, 5), 90)),
    ],
)
def test_the_last_iterate_is_that_of_the_steps(capsys: pytest.CaptureFixture[str], options: str, events: Event) -> None:
    released = ["--released", "last", "--contraction", ".9"]
    wanted = {"contraction": 0.9, "diameter": 3.0 if "diameter" in options else None}
    certificate = certify(events, 1e-5, released="last", **wanted)  # type: ignore[arg-type]
    shown = found(capsys, "--multiplier", "1.1", *options.split(), *released)
    assert (shown["certified"], shown["released"]) == (certificate.epsilon, "last")
    least = found(capsys, "--epsilon", str(certificate.epsilon), *options.split(), *released)
    assert 1.09 < float(least["noise multiplier"]) < 1.102  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        "--contraction .9", "--diameter 2", "--released last", "--released last --contraction -1",
        "--released last --contraction .9 --noise laplace", "--released last --contraction .9 --encoder tree",
    ],
)  # fmt: skip
def test_what_no_last_iterate_has_is_refused(capsys: pytest.CaptureFixture[str], options: str) -> None:
    sampling = "" if "encoder" in options else "--sampling none"
    assert main(f"certify --multiplier 1 --steps 9 {sampling} {options}".split()) == 2
    assert capsys.readouterr().err.count("\n") == 1
    shuffled = "--steps 9 --batch 5 --population 50 --sampling shuffled --released last --contraction 1"
    assert main(f"certify --multiplier 1 {shuffled}".split()) == 2


def test_balls_in_bins_have_an_epsilon_from_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    run = "--multiplier 1.5 --batch 20 --population 1000 --steps 110 --delta 1e-4 --sampling balls_in_bins"
    shown = found(capsys, *run.split())
    two, three = (certify(Repeated(RandomAllocation(Gaussian(1.5), 50), n), 1e-4).epsilon for n in (2, 3))
    assert shown["certified"] == three  # what is left of the third epoch counts as one, and for nothing from below
    assert 0.999 * two < float(shown["at_least"]) <= two  # type: ignore[arg-type]


def test_shuffled_minibatches_have_an_epsilon_from_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    run = "--multiplier 1.5 --batch 20 --population 1000 --steps 100 --delta 1e-4 --sampling shuffled"
    shown = found(capsys, *run.split())
    assert shown["certified"] == certify(Repeated(Gaussian(1.5), 2), 1e-4).epsilon
    drawn = certify(Repeated(RandomAllocation(Gaussian(1.5), 50), 2), 1e-4).epsilon
    assert 0.999 * drawn < float(shown["at_least"]) <= drawn < shown["certified"]  # type: ignore[arg-type, operator]
    assert "at_least" not in found(capsys, *run.replace("1000", "1010").split())  # a last minibatch is smaller


def noisy(value: float, rng: np.random.Generator, size: int) -> object:
    return value + 2.0 * rng.laplace(size=size)


def scored(included: np.ndarray, rng: np.random.Generator) -> object:
    return included + 2.0 * rng.laplace(size=included.size)


AUDITS: dict[str, Callable[..., Any]] = {
    "privacy": lambda **claim: dpcheck.audit_privacy(noisy, 1, 0, trials=200, vectorized=True, **claim),
    "neighbours": lambda **claim: dpcheck.audit_neighbours(noisy, [(1, 0)], trials=200, vectorized=True, **claim).audit,
    "one run": lambda **claim: dpcheck.audit_one_run(scored, 100, **claim),
    "scores": lambda **claim: dpcheck.audit_one_run_scores(*SCORES, **claim),
    "sequential": lambda **claim: dpcheck.audit_sequential(noisy, 1, 0, most=50, vectorized=True, **claim),
    "floating point": lambda **claim: (
        dpcheck.audit_floating_point(noisy, 1, 0, trials=100, vectorized=True, **claim).low_bits
    ),
    "randomness": lambda **claim: (
        dpcheck.audit_randomness(lambda value, rng: noisy(value, rng, 1), 1, 0, **claim).implied
    ),
}
SCORES = (np.random.default_rng(0).normal(size=100), np.random.default_rng(1).random(100) < 0.5)
WITH_A_CLAIM = ("privacy", "neighbours", "one run", "scores")


@pytest.mark.parametrize("audit", AUDITS)
def test_an_epsilon_alone_promises_delta_zero(audit: str) -> None:
    assert AUDITS[audit](epsilon=1.0).delta == 0
    assert AUDITS[audit](epsilon=1.0, delta=1e-3).delta == 1e-3


@pytest.mark.parametrize("audit", WITH_A_CLAIM)
def test_a_claim_of_many_points_is_stated_at_a_delta_that_is_shown(audit: str) -> None:
    found = AUDITS[audit](claim=Gaussian(1.0))
    assert found.delta == 1e-5
    assert found.epsilon == certify(Gaussian(1.0), 1e-5).epsilon
    assert "at delta 1e-05" in str(found)
    assert AUDITS[audit](claim=Gaussian(1.0), delta=1e-3).delta == 1e-3


@pytest.mark.parametrize("audit", [*WITH_A_CLAIM, "floating point"])
def test_no_epsilon_is_assumed(audit: str) -> None:
    with pytest.raises(InputError, match=r"epsilon or claim must be given, one of them, such as epsilon=1.0"):
        AUDITS[audit]()


def test_the_assertion_and_a_declaration_promise_delta_zero() -> None:
    with pytest.raises(AssertionError, match=r"at delta 0 with confidence 0.95"):
        dpcheck.testing.assert_private(noisy, 9, 0, epsilon=0.1, trials=2_000, vectorized=True)
    with pytest.raises(InputError, match="epsilon or claim must be given"):
        dpcheck.testing.assert_private(noisy, 9, 0, vectorized=True)
    with pytest.raises(AssertionError, match=r"where 4.377 is claimed, at delta 1e-05"):
        dpcheck.testing.assert_private(noisy, 99, 0, claim=Gaussian(1.0), trials=2_000, vectorized=True)
    own = dpcheck.Algorithm(name="own", epsilon=1.0, data=[0.0], run=lambda data, rng: sum(data) + rng.laplace())
    assert own.delta == 0


# --- The same numbers by every route ---------------------------------------------------------

NUMBERS = ["--multiplier", "1.1", "--batch", "256", "--population", "60000", "--steps", "10000"]
ADDED, REPLACED = "(one record added or removed, noise per C)", "(one record replaced, noise per 2C)"


def first_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["certify", *arguments]) == 0
    return capsys.readouterr().out.splitlines()[0]


def test_python_command_history_and_dp_accounting_agree(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A multiplier of 1.1, a 60,000th of 256, 10,000 steps, and nothing said of neighbours."""
    dp = pytest.importorskip("dp_accounting")
    theirs = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(256 / 60000, dp.GaussianDpEvent(1.1)), 10000)
    history = [(1.1, 256 / 60000, 10000)]
    file = tmp_path / "history.json"
    file.write_text(json.dumps({"history": history}))
    ours = certify(Repeated(Sampled((Gaussian(1.1),), "poisson", 60000, 256), 10000))
    assert ours.epsilon == pytest.approx(1.978, abs=5e-4)
    assert (ours.neighbours, ours.multiplier_over) == ("add_or_remove_one", "C")
    said = {str(each).splitlines()[0] for each in (ours, certify(theirs), certify(history))}
    said |= {first_line(capsys, *NUMBERS), first_line(capsys, str(file))}
    assert said == {f"epsilon <= 1.97804 {ADDED} at delta 1e-05"}
    accountant = dp.pld.PLDAccountant()  # add-or-remove-one neighbours, where nothing is said
    assert accountant.compose(theirs).get_epsilon(1e-5) == pytest.approx(ours.epsilon, rel=2e-3)


def test_a_history_of_opacus_agrees_with_its_own_accountant() -> None:
    accountants = pytest.importorskip("opacus.accountants")
    accountant = accountants.PRVAccountant()
    accountant.history = [(1.1, 256 / 60000, 10000)]
    certificate = certify(accountant)
    assert str(certificate).startswith(f"epsilon <= 1.97804 {ADDED}")
    assert accountant.get_epsilon(1e-5) == pytest.approx(certificate.epsilon, rel=0.02)


def test_replaced_records_are_said_with_their_unit(capsys: pytest.CaptureFixture[str]) -> None:
    """Of noise over C, 2C is twice as much: a multiplier of 1.1 over C is one of 0.55 over 2C."""
    dp = pytest.importorskip("dp_accounting")
    ours = certify(Repeated(step(1.1), 10000))
    assert ours.epsilon == pytest.approx(1.508, abs=5e-4)
    assert str(ours).startswith(f"epsilon <= 1.5081 {REPLACED} at delta 1e-05\n")
    assert first_line(capsys, *NUMBERS, "--neighbours", "replace_one") == str(ours).splitlines()[0]
    for scheme in ("without_replacement", "fixed", "shuffled"):
        assert REPLACED in first_line(capsys, *NUMBERS, "--sampling", scheme)
    theirs = certify(dp.SampledWithoutReplacementDpEvent(60000, 256, dp.GaussianDpEvent(1.1)))
    assert theirs.epsilon == certify(step(0.55, "without_replacement")).epsilon
    assert "(one record replaced, noise per C)" in str(theirs).splitlines()[0]


def test_the_least_noise_for_an_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    shown = found(capsys, "--epsilon", "2", *RUN.split())
    z = float(shown["noise multiplier"])  # type: ignore[arg-type]
    assert 1.997 < float(shown["certified"]) <= 2  # type: ignore[arg-type]
    assert shown["certified"] == certify(Repeated(step(z, relation="add_or_remove_one"), 10000), 1e-5).epsilon


def test_noise_that_is_correlated_between_steps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A tree of 512 steps has ten nodes above a step; white noise is a composition; calibration goes the other way."""
    tree = found(capsys, *["--multiplier", "4", "--encoder", "tree", "--steps", "512", "--delta", "1e-5"])
    assert tree["certified"] == pytest.approx(certify(Repeated(Gaussian(4.0), 10), 1e-5).epsilon, rel=1e-9)
    white = [tmp_path / "white.csv", tmp_path / "white.npy"]
    white[0].write_text("\n".join(",".join("1" if i == j else "0" for j in range(6)) for i in range(6)))
    np.save(white[1], np.eye(6))
    for path in white:
        joined = ["--encoder", str(path), *["--participations", "3", "--separation", "2", "--delta", "1e-5"]]
        three = certify(Repeated(Gaussian(2.0), 3), 1e-5).epsilon
        assert found(capsys, *joined, "--multiplier", "2")["certified"] == pytest.approx(three, rel=1e-9)
        assert found(capsys, *joined, "--epsilon", str(three))["noise multiplier"] == pytest.approx(2, rel=2e-3)


THEIRS = {
    "class_name": "SelfComposedDpEvent", "module_name": "dp_accounting.dp_event", "count": 1000, "event": {
        "class_name": "PoissonSampledDpEvent", "sampling_probability": 0.01,
        "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.1},
    },
}  # fmt: skip
OURS = {
    "class_name": "Repeated", "count": 1000, "event": {
        "class_name": "Sampled", "scheme": "poisson", "batch": 0.01, "population": 1, "neighbours": "add_or_remove_one",
        "mechanisms": [{"class_name": "Gaussian", "noise_multiplier": 1.1}],
    },
}  # fmt: skip
HISTORY = [[1.1, 0.01, 600], [1.1, 0.01, 400]]


@pytest.mark.parametrize("content", [THEIRS, [THEIRS], OURS, [OURS], HISTORY, {"history": HISTORY}])
def test_files_of_events(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: object) -> None:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(content))
    one = Sampled((Gaussian(1.1),), "poisson", 1, 0.01, "add_or_remove_one")
    certified = certify(Repeated(one, 1000), 1e-5).epsilon
    assert found(capsys, str(path), "--delta", "1e-5")["certified"] == certified
    shown = found(capsys, str(path), "--delta", "1e-5", "--epsilon", "1")
    assert 1.28 < float(shown["factor on the noise"]) < 1.29  # type: ignore[arg-type]


def test_dp_accountings_tuples_are_read_as_json_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dp_accounting import dp_event

    step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.1))
    trees = dp_event.SingleEpochTreeAggregationDpEvent(9.0, [3, 4])
    path = tmp_path / "events.json"
    for event in (
        dp_event.GaussianDpEvent(3.0),
        dp_event.ComposedDpEvent([dp_event.SelfComposedDpEvent(step, 100), trees, dp_event.NoOpDpEvent()]),
    ):
        with path.open("w") as file:
            json.dump(event.to_named_tuple(), file)
        assert found(capsys, str(path), "--delta", "1e-5")["certified"] == certify(event, 1e-5).epsilon
    path.write_text(json.dumps([step.to_named_tuple(), trees.to_named_tuple()]))
    assert found(capsys, str(path), "--delta", "1e-5")["certified"] == certify([step, trees], 1e-5).epsilon


NESTED = '{"class_name": "Repeated", "count": 1, "event": ' * 100_000


@pytest.mark.parametrize(
    "content",
    [
        "", "{", NESTED, "3", "[[1.1, 256, 100]]", "[[1.1, 256]]", "[[]]", '{"history": []}', '{"class_name": "Gauss"}',
        '{"class_name": "EvilDpEvent"}', '{"class_name": "Gaussian", "sigma": 1}',
        '{"class_name": "Gaussian", "noise_multiplier": -1}', '{"class_name": "Gaussian", "noise_multiplier": NaN}',
        '{"class_name": "Repeated", "count": 1' + "0" * 5000 + "}",
        '{"class_name": "Gaussian", "noise_multiplier": 9, "noise_multiplier": 1}',
        '["dp_accounting.dp_event", "GaussianDpEvent", 1.1, 2]', '["dp_accounting.dp_event", "EvilDpEvent"]',
        '{"class_name": "ComposedDpEvent", "events": {"class_name": "GaussianDpEvent", "noise_multiplier": 1}}',
        '{"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.1, "event": {"class_name": "Gaussian", '
        '"noise_multiplier": 1}}',
    ],
)  # fmt: skip
def test_files_that_hold_something_else(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str) -> None:
    path = tmp_path / "events.json"
    path.write_text(content)
    assert main(["certify", str(path), "--delta", "1e-5"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and err.startswith("dpcheck: error: ")


@pytest.mark.parametrize("multiplier", ["0", "inf"])
def test_balls_in_bins_without_noise_and_without_limit(capsys: pytest.CaptureFixture[str], multiplier: str) -> None:
    run = "--sampling balls_in_bins --batch 5 --population 100 --steps 20 --delta 1e-5"
    assert main(["certify", "--multiplier", multiplier, *run.split()]) == 0
    assert f"epsilon <= {'inf' if multiplier == '0' else '0'} " in capsys.readouterr().out
