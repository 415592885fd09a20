"""The row "final output only": its certificate where a contraction is declared and seen, and why there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcheck
from dpcheck.accounting import Certificate
from dpcheck.algorithms.declaration import Algorithm
from dpcheck.checks.context import Context
from dpcheck.checks.declared import Declared, Try
from dpcheck.checks.sandwich import sandwiches
from dpcheck.events import Gaussian, Repeated, Sampled
from dpcheck.solvers import ALGORITHMS, algorithm

STEPS, Z, DELTA = 20, 4.0, 1e-5
EVENTS = Repeated(Gaussian(Z), STEPS)


def changed(own: Algorithm, **fields: Any) -> Algorithm:
    names = ("name", "data", "replacements", "epsilon", "delta", "start", "step", "steps", "events")
    return Algorithm(**{name: getattr(own, name) for name in names} | fields)


def loop(rate: float = 0.9, noise: Any = 1.0, **fields: Any) -> Algorithm:
    """Gradient steps of a quadratic in 2 dimensions: a record in [-1, 1]^2 moves a step by sqrt 8/8 at most."""

    def step(w: Any, data: Any, rng: np.random.Generator) -> Any:
        return rate * w + np.clip(data, -1, 1).mean(axis=0) + noise * rng.normal(scale=Z * 8**0.5 / 8, size=2)

    given = {"contraction": 0.9, "replacements": [np.ones(2), -np.ones(2)], "epsilon": 12.0, "delta": 1e-5} | fields
    return Algorithm(
        name="mine", data=np.zeros((8, 2)), step=step, start=np.zeros(2), steps=STEPS, events=EVENTS, **given
    )


def tried(own: Algorithm) -> Try:
    (attempt,) = Declared(own).attempts(Context())
    return attempt


def test_a_contraction_that_steps_show_is_certified() -> None:
    attempt = tried(loop())
    assert attempt.contraction[0] == "consistent"
    assert attempt.last == dpcheck.certify(EVENTS, released="last", contraction=0.9)
    bounded = tried(loop(diameter=50.0))
    assert bounded.last == dpcheck.certify(EVENTS, released="last", contraction=0.9, diameter=50.0)
    assert tried(loop(rate=0.5)).contraction[0] == "consistent"


@pytest.mark.parametrize(
    ("own", "verdict", "word"),
    [
        (loop(rate=0.92), "violated", "0.92"),
        (loop(rate=np.array([[0.9, 0.3], [0.0, 0.9]])), "violated", "0.9 is declared"),
        (loop(noise=np.array([1.0, 0.1])), "inconclusive", "alike"),
        (loop(noise=0.0), "inconclusive", "alike"),
        (loop(diameter=0.5), "violated", "sensitivities apart"),
    ],
)
def test_one_that_they_do_not_show_is_not(own: Algorithm, verdict: str, word: str) -> None:
    attempt = tried(own)
    assert attempt.contraction[0] == verdict and word in attempt.contraction[1]
    assert isinstance(attempt.last, str)
    findings = {finding.id: finding for finding in Declared(own).stated(Context())}
    assert findings["mine.contraction"].verdict == verdict


def descends(matrix: Any, eta: float = 0.1, bound: float = np.inf, **fields: Any) -> Algorithm:
    """Steps along a linear operator, projected into a box, that declare it as their gradient."""

    def gradient(z: Any, data: Any) -> Any:
        return np.asarray(matrix) @ z - np.clip(data, -1, 1).mean(axis=0)

    def step(z: Any, data: Any, rng: np.random.Generator) -> Any:
        moved = z - eta * gradient(z, data) + rng.normal(scale=Z * eta * 8**0.5 / 8, size=2)
        return np.clip(moved, -bound, bound)

    convexity = dpcheck.StrongConvexity(**{"gradient": gradient, "eta": eta} | fields)
    return changed(loop(), step=step, contraction=convexity)


SADDLE, BOWL = ((1.0, 2.0), (-2.0, 1.0)), ((1.0, 0.5), (0.5, 2.0))


def test_a_contraction_follows_from_strong_convexity_and_smoothness() -> None:
    for own, c in (
        (descends(SADDLE, mu=1.0, L=5**0.5, saddle=True), (1 - 0.2 + 0.05) ** 0.5),  # the saddle's own eigenvalues
        (descends(SADDLE, mu=0.9, L=2.5, saddle=True), (1 - 0.18 + 0.0625) ** 0.5),
        (descends(SADDLE, bound=0.1, mu=1.0, L=5**0.5, saddle=True), (1 - 0.2 + 0.05) ** 0.5),
        (descends(BOWL, mu=0.79, L=2.21), 1 - 0.079),
    ):
        attempt = tried(own)
        assert attempt.contraction[0] == "consistent", attempt.contraction
        expected = dpcheck.certify(EVENTS, released="last", contraction=c)
        assert isinstance(attempt.last, Certificate) and "follows from eta 0.1, mu" in attempt.last.method
        assert attempt.last.epsilon == pytest.approx(expected.epsilon, rel=1e-9)
        assert attempt.last.epsilon >= expected.epsilon


@pytest.mark.parametrize(
    ("own", "word"),
    [
        (descends(SADDLE, mu=1.01, L=2.5, saddle=True), "mu at most 1 "),
        (descends(SADDLE, mu=1.0, L=2.2, saddle=True), "L at least 2.236"),
        (descends(BOWL, mu=0.8, L=2.21), "mu at most 0.7929"),  # less convex between the axes than along them
        (descends(BOWL, mu=0.79, L=2.2), "L at least 2.207"),
        (descends(SADDLE, mu=1.0, L=2.5), "not symmetric"),
        (changed(loop(), contraction=descends(BOWL, eta=0.3, mu=0.7, L=2.3).contraction), "up to 0.9 "),  # other steps
    ],
)
def test_what_the_gradient_does_not_show_is_violated(own: Algorithm, word: str) -> None:
    verdict, reason = tried(own).contraction
    assert verdict == "violated" and word in reason, reason


def test_curvature_that_only_far_states_show_is_seen_where_runs_come() -> None:
    def gradient(z: Any, data: Any) -> Any:
        return np.where(np.abs(z) < 1.0, z, np.sign(z)) + 0.1 * z - data.mean(axis=0)  # Huber's, flat outside

    near = dpcheck.StrongConvexity(gradient=gradient, eta=0.1, mu=1.1, L=1.1)
    given = changed(loop(), contraction=near)
    assert tried(given).contraction[0] == "violated"
    assert tried(changed(loop(), contraction=near, start=np.full(2, 3.0))).contraction[0] == "violated"


def test_numbers_of_single_precision_are_not_blamed_for_their_rounding() -> None:
    def gradient(z: Any, data: Any) -> Any:
        return (np.float32(3) + np.asarray(z, np.float32)) - np.float32(3)  # mu = L = 1, rounded

    given = changed(loop(), contraction=dpcheck.StrongConvexity(gradient=gradient, eta=0.1, mu=1.0, L=1.0))
    assert tried(given).contraction[0] == "consistent"


@pytest.mark.parametrize(
    ("fields", "word"),
    [({"eta": 1.0}, "eta <= 2/"), ({"mu": 3.0}, "mu <= L"), ({"mu": 0.0}, "mu"), ({"saddle": 1}, "saddle")],
)
def test_strong_convexity_outside_its_theorem_is_refused(fields: Any, word: str) -> None:
    with pytest.raises(dpcheck.InputError, match=word):
        descends(BOWL, **{"mu": 0.7, "L": 2.3} | fields)
    wrong = dpcheck.StrongConvexity(gradient=lambda z, data: 1.0, eta=0.1, mu=1.0, L=1.0)
    with pytest.raises(dpcheck.InputError, match="as many numbers as the state has, 2"):
        _ = tried(changed(loop(), contraction=wrong)).contraction


def test_states_of_several_parts_are_moved_part_by_part() -> None:
    def step(state: Any, data: Any, rng: np.random.Generator) -> Any:
        return {
            "w": 0.5 * state["w"] + data.mean() + rng.normal(),
            "v": (0.8 * state["v"][0] + rng.normal(size=(1, 2)),),
        }

    start = {"w": 0.0, "v": (np.zeros((1, 2)),)}
    own = Algorithm(
        name="mine", data=np.zeros(4), replacements=[1.0, -1.0], epsilon=9.0, delta=1e-5, start=start, step=step,
        steps=5, events=Repeated(Gaussian(2.0), 5), contraction=0.8,
    )  # fmt: skip
    assert tried(own).contraction[0] == "consistent"
    assert tried(changed(own, contraction=0.7)).contraction[0] == "violated"


def test_the_row_has_the_certificate_of_the_output_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Try, "budget", (250, 250))
    rows = {finding.id: finding for finding in sandwiches(Context(), Declared(loop()))}
    everything, output = rows["mine.transcript"], rows["mine.output"]
    assert output.certified == dpcheck.certify(EVENTS, released="last", contraction=0.9).epsilon
    assert everything.certified == dpcheck.certify(EVENTS).epsilon > output.certified
    assert output.verdict != "violated" and "no certificate" not in output.reason
    monkeypatch.setattr(Try, "last", Certificate(0.05, 1e-5, "too low"))  # both looks see more than that
    output = next(row for row in sandwiches(Context(), Declared(loop())) if row.id == "mine.output")
    assert output.verdict == "violated" and "contraction" in output.reason


def test_a_claim_of_the_last_state_alone_is_judged_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Try, "budget", (250, 250))
    due = dpcheck.certify(EVENTS, released="last", contraction=0.9).epsilon
    for epsilon, verdict in ((1.001 * due, "consistent"), (0.99 * due, "inconclusive")):
        own = loop(epsilon=epsilon, last_only=True)
        rows = {row.id.removeprefix("mine."): row for row in sandwiches(Context(), Declared(own))}
        assert set(rows) == {"certificate", "contraction", "output"}
        stated = rows["certificate"]
        assert (stated.verdict, stated.certified) == (verdict, due) and "last state alone" in stated.reason
        assert rows["output"].certified == due and rows["output"].verdict == "inconclusive"  # of 250 runs
    everything = {finding.id: finding for finding in Declared(loop(epsilon=1.001 * due)).stated(Context())}
    assert everything["mine.certificate"].verdict == "violated"


def test_without_a_contraction_that_steps_show_the_last_state_is_charged_for_all() -> None:
    all_released = dpcheck.certify(EVENTS).epsilon
    for fields, word in (({"contraction": None}, "declare contraction="), ({"contraction": 0.5}, "not what its steps")):
        own = loop(epsilon=1.001 * all_released, last_only=True, **fields)
        stated = {finding.id: finding for finding in Declared(own).stated(Context())}["mine.certificate"]
        assert (stated.verdict, stated.certified) == ("consistent", all_released)
        assert "as if all states were released" in stated.reason and word in stated.reason


@pytest.mark.parametrize("fields", [{"last_only": 1}, {"run": lambda data, rng: 0.0, "last_only": True}])
def test_the_last_state_alone_is_of_a_step(fields: Any) -> None:
    given = {"step": None, "start": None, "steps": 1} if "run" in fields else {}
    with pytest.raises(dpcheck.InputError, match="last_only"):
        changed(loop(), **given, **fields)


def test_rows_without_one_say_why() -> None:
    assert "declare contraction=" in str(tried(loop(contraction=None)).last)
    mixed = (Repeated(Gaussian(Z), STEPS - 1), Gaussian(2 * Z))
    assert "one kind" in str(tried(changed(loop(), events=mixed, contraction=0.9)).last)
    entries = {
        name: [str(entry.last) for entry in algorithm(name).games()] for name in ("dp_spider", "nispp", "dp_sgda")
    }
    assert all("one kind" in clause for clause in entries["dp_spider"])
    assert all("each record is read in one step" in clause for clause in entries["nispp"])
    assert sum("on Poisson samples" in clause for clause in entries["dp_sgda"]) == 2  # one is drawn so
    assert sum("an empty minibatch" in clause for clause in entries["dp_sgda"]) == 1


def test_no_record_has_steps_whose_contraction_would_tell_more() -> None:
    """Each clause against what the record releases: a bound for some contraction is that of all iterates, or none."""
    seen = set()
    for name in ALGORITHMS:
        for entry in algorithm(name).games():
            seen.add(entry.last.split()[0])
            drawn = [event.event for event in entry.events if isinstance(event, Repeated)]
            if entry.last.startswith("an empty"):
                assert all(isinstance(step, Sampled) and step.scheme == "poisson" for step in drawn) and drawn
            elif entry.last.startswith("each record"):
                # the two blocks of a step are two events; of one epoch's disjoint parts the last one decides
                assert not drawn
                once = dpcheck.certify(entry.events[0], DELTA)
                last = dpcheck.certify(entry.events[0], DELTA, released="last", contraction=0.5)
                assert last.epsilon == pytest.approx(once.epsilon, rel=1e-9)
    assert seen == {"an", "each", "events"}


@pytest.mark.parametrize("fields", [{"contraction": -1.0}, {"contraction": None, "diameter": 2.0}, {"diameter": -1.0}])
def test_what_no_contraction_can_be_is_refused(fields: Any) -> None:
    with pytest.raises(dpcheck.InputError, match=r"contraction|diameter"):
        loop(**fields)
