"""Algorithms that others declare: found by file and by entry point, and each stage on right and wrong ones."""

from __future__ import annotations

import dataclasses
import importlib
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from threading import Lock

import numpy as np
import pytest

from dpcheck import InputError
from dpcheck.algorithms import registry as algorithm_files
from dpcheck.algorithms.declaration import Algorithm, RateClaim
from dpcheck.audits.membership import audit_privacy
from dpcheck.bounds.registry import theorem
from dpcheck.checks import check, sandwich
from dpcheck.checks.context import Context
from dpcheck.checks.declared import Declared, Try
from dpcheck.checks.rates import claimed_rate
from dpcheck.checks.sampling import sampling
from dpcheck.checks.sandwich import sandwiches
from dpcheck.events import Disjoint, Gaussian, Laplace, Repeated, Sampled
from dpcheck.solvers import ALGORITHMS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "noisy_sgda.py"
N = 12
BATCHES = Repeated(Sampled((Gaussian(5.0),), "without_replacement", N, 4), 3)


def batch_sum(state, data, rng):
    """A record in [0, 1] moves the sum by 1, which is 1/5 of the noise."""
    return state + data[rng.choice(N, 4, replace=False)].sum() + rng.normal(scale=5.0)


def declared(**fields) -> Algorithm:
    given = {"name": "mine", "epsilon": 1.0, "delta": 1e-5, "data": np.zeros(N), "replacements": [0.0, 1.0]}
    return Algorithm(**(given | fields))


def steps(step=batch_sum, **fields) -> Algorithm:
    return declared(**({"step": step, "start": 0.0, "steps": 3, "events": BATCHES} | fields))


def releases(context, subject):
    return subject.releases(context)


def seen(stage, own, seed=0):
    (found,) = stage(Context(seed=seed), Declared(own))
    return found


def audited(own):
    """The findings of audits, without that of the certificate."""
    return {each.id: each for each in sandwiches(Context(), Declared(own)) if each.kind == "privacy"}


# The example, whole


def run(file: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dpcheck", "check", str(file), "--jobs", "1", "--sarif-output", "report.sarif"]
    environment = os.environ | {"COLUMNS": "400"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_the_example_is_as_it_claims(tmp_path):
    done = run(EXAMPLE, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Result:     noisy_sgda: audits consistent.\n")
    assert "Regression" not in done.stdout
    assert "not checked" not in done.stdout  # every stage looks at it
    assert done.stderr.splitlines()[0] == "dpcheck: noisy_sgda: sampling ..."


# Found


def test_a_file_holds_several_and_its_neighbours(tmp_path):
    (tmp_path / "helper_of_mine.py").write_text("import dpcheck\n")
    (tmp_path / "own.py").write_text(
        "from helper_of_mine import dpcheck\n"
        "A, B = (dpcheck.Algorithm(name=n, epsilon=1, delta=0, data=[0], run=len) for n in 'ab')\nagain = A\n"
    )
    assert [each.name for each in algorithm_files.find(tmp_path / "own.py", ())] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nosuchmodule", "must be importable, got ModuleNotFoundError: No module named 'nosuchmodule'"),
        ("raise SystemExit(0)", "must be importable, got SystemExit: 0"),
        ("x = (", "must be importable, got SyntaxError: "),
        ("ALGORITHM = 3", "must declare a dpcheck.Algorithm, got none"),
        ("import dpcheck\nA = dpcheck.Algorithm(name='x y', epsilon=1, delta=0, data=[0], run=len)",
         "name must be made"),
        ("import dpcheck\nA = dpcheck.Algorithm(name='dp_sgda', epsilon=1, delta=0, data=[0], run=len)",
         "must have a name of its own, got dp_sgda"),
        ("import dpcheck\nA = dpcheck.Algorithm(name='yang2022', epsilon=1, delta=0, data=[0], run=len)",
         "name of an algorithm must be none of dpcheck's own, got yang2022"),
    ],
)  # fmt: skip
def test_files_that_declare_nothing_are_refused_in_one_line(tmp_path, text, words):
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(InputError) as error:
        check(str(tmp_path / "own.py"))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


OWN = declared(name="others_mean", run=lambda data, rng: data.mean() + rng.normal(scale=1.0), events=Gaussian(N))


def register(monkeypatch, *entries):
    def entry_points(group):
        assert group == "dpcheck.algorithms"
        return [EntryPoint(name, value, group) for name, value in entries]

    monkeypatch.setattr(algorithm_files, "entry_points", entry_points)


def test_an_entry_point_is_checked_by_name_and_listed(monkeypatch):
    from dpcheck.commands.lookups import listing

    register(monkeypatch, ("others_mean", f"{__name__}:OWN"))
    assert algorithm_files.find("others_mean", ALGORITHMS) == [OWN]
    assert {"id": "others_mean", "title": f"declared in {__name__}:OWN"} in listing()["algorithms"]
    with pytest.raises(InputError, match=r"algorithm must be one of ada_dp_spider, .*, others_mean, or a Python file"):
        check("nosuch")


@pytest.mark.parametrize(
    ("entries", "name", "words"),
    [
        ([("dp_sgda", "x:Y")], "dp_sgda", "algorithm dp_sgda must be registered by dpcheck alone, got x:Y"),
        ([("a", "x:Y"), ("a", "z:Y")], "a", "algorithm a must be registered once, got x:Y, z:Y"),
        ([("a", "nosuchmodule:Y")], "a", "nosuchmodule:Y must be importable, got ModuleNotFoundError"),
        ([("a", "math:pi")], "a", "math:pi must be a dpcheck.Algorithm, got float"),
        ([("a", f"{__name__}:OWN")], "a", f"name of {__name__}:OWN must be a, as registered, got others_mean"),
    ],
)
def test_entry_points_that_are_refused(monkeypatch, entries, name, words):
    register(monkeypatch, *entries)
    with pytest.raises(InputError) as error:
        check(name)
    assert words in str(error.value)


def test_the_group_of_entry_points_is_read_from_installed_packages(tmp_path, monkeypatch):
    folder = tmp_path / "others-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[dpcheck.algorithms]\nothers_mean = {__name__}:OWN\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert algorithm_files.find("others_mean", ALGORITHMS) == [OWN]


def test_an_algorithm_that_raises_is_refused_in_one_line():
    def raises(data, rng):
        raise KeyError("x")

    with pytest.raises(InputError, match=r"^mine must run on its data, got KeyError: 'x'$"):
        check(declared(run=raises, events=Gaussian(4.0)))


def test_the_declaration_s_place_is_where_it_is_written():
    line = declared.__code__.co_firstlineno + 2
    assert declared(run=len).place == f"{__file__}:{line}"
    assert dataclasses.replace(declared(run=len), name="b").name == "b"


# Stages: the certificate


@pytest.mark.parametrize(("multiplier", "verdict"), [(4.0, "consistent"), (3.7, "violated")])
def test_certificate(multiplier, verdict):
    *_, found = Declared(declared(run=len, events=Gaussian(multiplier))).stated(Context())
    assert (found.verdict, found.ok) == (verdict, verdict == "consistent")
    if not found.ok:
        assert found.reason == (
            "the declared events are certified at epsilon 1.009 at delta 1e-05, above the claimed 1: all noise would "
            "have to be 1.01 times as large"
        )
        assert found.place.startswith("tests/checks/test_declared.py:")


def test_events_certified_above_the_claim_do_not_keep_it_though_no_pair_is_known_to_attain_them():
    """Several minibatches without replacement."""
    events = Repeated(Sampled((Gaussian(1.0),), "without_replacement", N, 4), 3)
    (found,) = Declared(steps(events=events)).stated(Context())
    assert (found.verdict, found.ok) == ("violated", False)
    assert found.certified > found.claimed
    assert "above the claimed 1" in found.reason


def test_multipliers_are_one_a_release():
    pair = Sampled((Gaussian(2.0), Gaussian(2.0)), "poisson", 9, 3)
    found = steps(events=[Repeated(pair, 2), Disjoint((Gaussian(1.0), Gaussian(3.0))), Laplace(4.0)]).releases
    assert found == [("gaussian", pytest.approx(2**0.5))] * 2 + [("gaussian", 1.0), ("gaussian", 3.0), ("laplace", 4.0)]


# Stages: release by release

WRONG = {
    "half of the noise": (
        lambda s, data, rng: s + data[rng.choice(N, 4, replace=False)].sum() + rng.normal(scale=2.5),
        "the release of step 1 has noise multiplier 2.5 and its event declares 5: a record moves it by 0.4 standard "
        "deviations of its noise, 2 times what is declared",
    ),
    "one step with less": (
        lambda s, data, rng: (s[0] + data.sum() + rng.normal(scale=5.0 if s[1] != 1 else 4.5), s[1] + 1),
        "the release of step 2 has noise multiplier 4.5 and its event declares 5",
    ),
    "no noise": (lambda s, data, rng: s + data.sum(), "the release of step 1 has noise 0 where a record moves it"),
    "one number for all coordinates": (
        lambda s, data, rng: np.array([data.sum(), -data.sum()]) / 2**0.5 + rng.normal(scale=5.0),
        "the release of step 1 has noise 0 where a record moves it",
    ),
    "one block without noise": (
        lambda s, data, rng: (data.sum() / 2 + rng.normal(scale=5.0), data.max() / 2),
        "the release of step 1 has noise 0 where a record moves it",
    ),
    "noise of another law": (
        lambda s, data, rng: s + data.sum() + rng.laplace(scale=5.0),
        "the noise of step 1 is laplace, its event declares gaussian",
    ),
    "noise that the data set": (
        lambda s, data, rng: s + data.sum() + rng.normal(scale=5.0 + data.max()),
        "in step 1, the noise itself changes with a record",
    ),
    "twice the sensitivity": (
        lambda s, data, rng: s + 2 * data.sum() + rng.normal(scale=5.0), "noise multiplier 2.5 and its event declares 5"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_releases(name):
    step, words = WRONG[name]
    start = (0.0, 0) if name == "one step with less" else 0.0
    found = seen(releases, steps(step, start=start))
    assert found.verdict == "violated"
    assert words in found.reason
    assert "\n" not in found.reason
    assert found.place.startswith("tests/checks/test_declared.py:")


@pytest.mark.parametrize("seed", range(5))
def test_right_releases(seed):
    found = seen(releases, steps(), seed=seed)
    assert (found.verdict, found.reason) == (
        "consistent",
        "a record moves no release by more than 0.2 standard deviations of its noise (step 1); 0.2 are declared",
    )
    assert [row["share"] for row in found.evidence["releases"]] == pytest.approx([1.0] * 3)


def test_a_record_that_is_rarely_drawn_is_found():
    """One of 500 records is drawn; which one follows from the seed alone."""
    few = declared(
        data=np.zeros(500), step=lambda s, data, rng: data[rng.integers(500)] + rng.normal(scale=5.0), start=0.0,
        events=Sampled((Gaussian(5.0),), "with_replacement", 500, 1),
    )  # fmt: skip
    assert seen(releases, few).evidence["releases"][0]["by"] == pytest.approx(0.2)


def test_records_added_or_removed_count_once():
    """From -1 to 1 a record moves the sum by 2, which is removing one and adding another."""
    event = Repeated(Sampled((Gaussian(5.0),), "poisson", N, 4, "add_or_remove_one"), 3)
    for size, verdict in ((1.0, "consistent"), (1.1, "violated")):
        own = steps(
            lambda s, data, rng, size=size: data[rng.random(N) < 0.9].sum() * size + rng.normal(scale=5.0),
            events=event, replacements=[-1.0, 1.0],
        )  # fmt: skip
        assert own.relation == "add_or_remove_one"
        assert seen(releases, own).verdict == verdict


def test_data_that_show_nothing_are_no_evidence():
    assert seen(releases, steps(replacements=[0.0])).verdict == "inconclusive"


def test_what_cannot_be_seen_is_said():
    projected = steps(lambda s, data, rng: np.clip(batch_sum(s, data, rng), -1, 1))
    found = seen(releases, projected)
    assert found.verdict == "not checked"
    assert "let step= return the noisy answer itself" in found.reason
    found = seen(releases, steps(batch_sum, update=lambda s, released: np.clip(released, -1, 1)))
    assert found.verdict == "consistent"  # as the sentence says
    assert "The events stand for 3 releases and a run makes 2" in seen(releases, steps(steps=2)).reason
    for stage in (releases, sampling):
        found = seen(stage, steps(events=None))
        assert (found.verdict, found.ok) == ("not checked", True)


# Stages: sampling


def sampled(draw, scheme, **fields):
    def step(state, data, rng):
        return data[draw(data, rng)].sum() + rng.normal(scale=5.0)

    return steps(step, events=Repeated(Sampled((Gaussian(5.0),), scheme, N, 4), 3), **fields)


SAMPLERS = {
    "without_replacement": lambda data, rng: rng.choice(N, 4, replace=False),
    "with_replacement": lambda data, rng: rng.integers(0, N, size=4),
    "poisson": lambda data, rng: rng.random(N) < 1 / 3,
}


@pytest.mark.thorough
@pytest.mark.parametrize("declares", SAMPLERS)
@pytest.mark.parametrize("draws", SAMPLERS)
def test_sampling(draws, declares):
    hidden = draws == "poisson"
    own = sampled(SAMPLERS[draws], declares, sampler=SAMPLERS[draws] if hidden else None)
    found = seen(sampling, own)
    assert found.verdict == ("consistent" if draws == declares else "violated"), found.reason
    if draws != declares:
        assert f"declared is {declares.replace('_', ' ')}, 4 of 12" in found.reason


@pytest.mark.thorough
@pytest.mark.parametrize("declares", ["with_replacement", "poisson"])
def test_a_record_that_is_drawn_twice_as_often_is_named(declares):
    """One of a hundred, of which five are drawn at a time, in a thousand minibatches."""
    shares = np.where(np.arange(100) == 17, 2.0, 1.0) * 0.05
    draws = {
        "with_replacement": lambda data, rng: rng.choice(100, 5, p=shares / shares.sum()),
        "poisson": lambda data, rng: rng.random(100) < shares,
    }[declares]
    event = Repeated(Sampled((Gaussian(5.0),), declares, 100, 5), 3)
    own = steps(lambda s, data, rng: data[draws(data, rng)].sum() + rng.normal(scale=5.0), data=np.zeros(100),
                sampler=draws, events=event)  # fmt: skip
    for seed in range(2):
        found = seen(sampling, own, seed=seed)
        assert found.verdict == "violated" and "record 17 is drawn" in found.reason, (seed, found.reason)


def test_sampling_that_cannot_be_seen_is_said():
    found = seen(sampling, sampled(SAMPLERS["poisson"], "poisson"))
    assert found.verdict == "not checked"
    assert "declare the function that draws a minibatch as sampler=" in found.reason


def test_a_population_that_is_not_the_data_s():
    found = seen(sampling, steps(data=np.zeros(10)))
    assert found.verdict == "violated"
    assert "a population of 12 records and the data hold 10: the rate batch/n is 0.4 and not 0.333" in found.reason


# Stages: audits


@pytest.mark.thorough
@pytest.mark.parametrize(("scale", "verdict"), [(5.0, "consistent"), (0.2, "violated")])
def test_membership(scale, verdict):
    own = steps(lambda s, data, rng: data[rng.choice(N, 4, replace=False)].sum() + rng.normal(scale=scale))
    found = audited(own)
    assert list(found) == ["mine.transcript", "mine.output"]
    assert {each.verdict for each in found.values()} == {verdict}
    if verdict == "violated":
        assert "and 1 is claimed: " in found["mine.output"].reason
        assert "in one data set, replacement" in found["mine.output"].reason


SELDOM = 100.0  # two standard deviations of a release


@pytest.mark.parametrize("kept", [sandwich._ROOM, 9_000])
@pytest.mark.parametrize(
    "update",
    [None, lambda state, released: state - released, lambda state, released: released.clip(-SELDOM, SELDOM)],
    ids=["none", "another", "another seldom"],
)
def test_the_output_is_audited_on_the_runs_of_everything_released(update, kept, monkeypatch):
    """Where it is the last release, they are not made again; what is audited is the output in each case."""
    monkeypatch.setattr(Try, "budget", (1_000, 1_000))
    monkeypatch.setattr(sandwich, "_ROOM", kept)
    calls = [Lock()]  # which no pickle holds, so that it is not put back between runs

    def step(state, data, rng):
        calls.append(Lock())
        return state + data.sum() + rng.normal(scale=50.0, size=2)

    own = steps(step, start=np.zeros(2), update=update, neighbour=np.r_[1.0, np.zeros(N - 1)], events=Gaussian(50.0))
    found = audited(own)["mine.output"].evidence["audit"]
    made = (len(calls) - 1) / own.steps / 2  # on each data set
    again = audit_privacy(own.output, own.data, own.neighbour, epsilon=1.0, delta=1e-5, trials=1_000,
                          confidence=Try.confidence, seed=found["seed"])  # fmt: skip
    assert found == again.to_dict()
    assert (made < 1_300) is (update is None and kept > 9_000)


def test_the_declared_pair_is_the_one_that_is_audited():
    """Only a pair in [0, 1e6] breaks it, which no replacement does."""
    own = declared(run=lambda data, rng: data.sum() + rng.normal(scale=5.0), neighbour=np.r_[1e6, np.zeros(N - 1)])
    found = audited(own)["mine.output"]
    assert found.verdict == "violated"
    assert found.evidence["pair"] == "the two data sets are the declared pair"


def test_records_are_removed_where_that_is_what_neighbours_are():
    event = Sampled((Gaussian(5.0),), "poisson", N, 4, "add_or_remove_one")
    own = steps(lambda s, data, rng: data[rng.random(len(data)) < 1 / 3].sum() + rng.normal(scale=5.0), events=event)
    assert "is removed" in audited(own)["mine.output"].evidence["pair"]


# Stages: rates


@pytest.mark.parametrize(("power", "verdict"), [(-1.0, "supported"), (-0.5, "contradicted")])
def test_rate(power, verdict):
    claim = RateClaim(
        measure=lambda rng, n: n**power * rng.uniform(0.99, 1.01), grid={"n": (100, 200, 400, 800)}, claimed={"n": -1.0}
    )
    tables = {}
    (found,) = claimed_rate(Declared(steps(rate=claim)), Context(), tables)
    assert found.verdict == verdict
    assert [row["n"] for row in tables["mine: rate"]] == [100, 200, 400, 800]


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "consistent"), (1.5, "violated")])
def test_a_theorem_s_number(factor, verdict):
    statement = theorem("yang2022.theorem_2a")
    values = {str(each.symbol) for each in statement.parameters} - {"n"}
    constants = dict.fromkeys(values, 1.0) | {"epsilon": 0.5, "delta": 1e-9, "d": 4}
    constants = {name: value for name, value in constants.items() if name in values}
    claim = RateClaim(
        measure=lambda rng, n: factor * statement.bound(n=n, **constants) * rng.uniform(0.99, 1.01),
        grid={"n": (1000, 2000, 4000, 8000)}, theorem=statement, constants=constants,
    )  # fmt: skip
    order, bound = claimed_rate(Declared(steps(rate=claim)), Context(), {})
    assert order.verdict == "supported"
    assert bound.verdict == verdict
    assert "bounds/yang2022/theorem_2.py:" in bound.place  # below dpcheck/ where it is installed


# dpcheck's own, without a game
