"""The claims: expected verdicts, evidence recomputed, files of one's own, and time-outs."""

from __future__ import annotations

import ast
import functools
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import certificates
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from polynomials import replay

from dpcheck.bounds import ledger, registry
from dpcheck.bounds.asymptotics import Dominated, Exceeds
from dpcheck.bounds.calibration import NotPrivate
from dpcheck.bounds.claim import Claim, ClaimResult, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Quoted, Searched
from dpcheck.bounds.prover import Inequality
from dpcheck.bounds.yang2022 import lemma_6
from dpcheck.commands import verdicts
from dpcheck.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
IDS = (ROOT / "tests" / "claim_ids.txt").read_text("utf-8").splitlines()
quick = settings(deadline=None, max_examples=50)
x, y = sympy.symbols("x y", positive=True)


@pytest.fixture(scope="module")
def results() -> dict[str, ClaimResult]:
    """All claims of the four papers, decided once, in this process, where the tests below ask again for what was found.

    The processes of ``registry.prove`` decide a file of one's own below, and a paper in the main check.
    """
    return {claim.id: claim.decide() for claim in registry.claims()}


# The catalogue


def test_every_statement_has_its_entry() -> None:
    assert sorted(claim.id for claim in registry.claims()) == sorted(IDS)
    assert set(ledger.recorded()) == set(IDS)


@pytest.mark.thorough
def test_verdicts_are_the_recorded_ones(results: dict[str, ClaimResult]) -> None:
    assert verdicts.changed(results.values()) == ()
    assert {id: ledger._entry(result) for id, result in results.items()} == ledger.recorded()


@pytest.mark.thorough
def test_certificates_are_the_kept_ones(results: dict[str, ClaimResult], request: pytest.FixtureRequest) -> None:
    """``--keep-tables`` writes those of this run; the change is read before it is kept."""
    found = certificates.lines_of(results.values())
    if request.config.getoption("keep_tables"):
        certificates.write(found)
    differing = {json.loads(line)["claim"] for line in {*found} ^ {*certificates.kept()}}
    assert sorted(differing) == []
    assert found == certificates.kept()


@pytest.mark.parametrize("proof", [pytest.param(each, id=each["claim"]) for each in certificates.proofs()])
def test_kept_certificates_replay(proof: dict[str, Any]) -> None:
    """By coefficients alone: none negative, and the quotient is the shifted difference at rational points."""
    replay(proof)


@pytest.mark.thorough
def test_most_are_decided_and_the_others_say_why(results: dict[str, ClaimResult]) -> None:
    open_ones = [result for result in results.values() if result.verdict == "unresolved"]
    assert len(open_ones) <= 0.15 * len(results)
    assert all(len(result.note) > 40 for result in open_ones)


@pytest.mark.thorough
def test_results_are_complete_plain_text(results: dict[str, ClaimResult]) -> None:
    for id, result in results.items():
        record = json.loads(json.dumps(result.to_dict()))
        assert record["id"] == id
        assert record["paper"] in registry.PAPERS
        assert all(record[k] for k in ("kind", "statement", "location", "method", "note")), id
        assert all(step["says"] and step["formula"] and step["latex"] for step in record["evidence"]["steps"]), id


@pytest.mark.thorough
def test_inequalities_fail_half_a_per_cent_beyond_their_critical_constant(results: dict[str, ClaimResult]) -> None:
    """At a point of the domain, by sympy's own multiple precision rather than the prover's balls."""
    seen = 0
    for result in results.values():
        steps = [step for step in result.claim.decision().evidence.steps if isinstance(step, Inequality)]
        shown = [step for step in result.evidence["steps"] if step["kind"] == "inequality"]
        for step, record in zip(steps, shown, strict=True):
            room = record.get("tightness")
            if room is None or room["critical"] is None:
                continue
            point = {}
            for x, ends in step.over.intervals.items():
                text = room["point"][str(x)]  # an end of the interval, such as exp(-1), or a fraction
                point[x] = next((end for end in ends if str(end) == text), None) or sympy.Rational(text)
            assert step.over.contains(point)
            varied = step._varied()
            beyond = varied.beyond(room["critical"], varied.grows())
            difference = sympy.N(varied.general.xreplace({varied.letter: beyond, **point}), 50)
            assert difference < 0, (result.claim.id, step.says)
            seen += 1
    assert seen >= 10


# Every step of every claim once more, in floating point or multiple precision, without the prover


@functools.cache
def steps_of_claims() -> dict[str, Any]:
    return {claim.id: claim.decision().evidence.steps for claim in registry.claims()}


def test_no_step_compares_a_thing_with_itself() -> None:
    for file in (ROOT / "bounds").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Identity", "AtMost", "Below"):
                left, right = (ast.dump(side) for side in node.args[1:3])
                assert left != right, (file.name, node.lineno)


def draws(letters: Iterable[Any], count: int, seed: int = 0) -> Iterator[dict[Any, float]]:
    """Positive values over two decades, whole where they must be, of either sign where they may be."""
    rng = np.random.default_rng(seed)
    ordered = sorted(letters, key=str)
    for _ in range(count):
        values = {x: float(10 ** rng.uniform(-1, 1)) for x in ordered}
        for x in ordered:
            if x.is_integer:
                values[x] = float(math.ceil(values[x]))
            elif not x.is_positive and rng.random() < 0.5:
                values[x] = -values[x]
        yield values


def number(expression: Any, at: dict[Any, float]) -> complex:
    # Fractions as exponents would be numbers of a billion digits.
    roots = any(power.exp.free_symbols and not power.exp.is_integer for power in expression.atoms(sympy.Pow))
    values = {x: sympy.Float(repr(v), 60) if roots else sympy.Rational(repr(v)) for x, v in at.items()}
    return complex(sympy.N(expression.subs(values).doit(), 30))


def holds_at_random_points(step: Identity) -> None:
    left, right = sympy.sympify(step.left), sympy.sympify(step.right)
    for at in draws(left.free_symbols | right.free_symbols, 3):
        a, b = number(left, at), number(right, at)
        assert abs(a - b) <= 1e-12 * (abs(a) + abs(b) + 1e-300)


def is_smaller_at_random_points(step: AtMost) -> None:
    smaller, larger = sympy.sympify(step.smaller), sympy.sympify(step.larger)
    for at in draws(smaller.free_symbols | larger.free_symbols, 20):
        a, b = number(smaller, at), number(larger, at)
        assert a.real <= b.real + 1e-12 * (abs(a) + abs(b))


def holds_at_random_points_of_the_domain(step: Inequality) -> None:
    """By lambdify and NumPy, over the whole domain in double precision; at least some points lie inside."""
    letters = list(step.over.intervals)
    smaller, larger = (sympy.lambdify(letters, side, ["scipy", "numpy"]) for side in step.sides())
    facts = [sympy.lambdify(letters, fact, "numpy") for fact in step.over.differences()]
    rng = np.random.default_rng(0)
    columns = []
    for letter, (low, high) in step.over.intervals.items():
        lo = float(low) if low.is_finite else -1e4
        hi = float(high) if high.is_finite else max(lo, 1.0) * 1e4
        if lo >= 0:
            lo = max(lo, min(hi, 1.0) * 1e-4)
            column = np.exp(rng.uniform(np.log(lo), np.log(hi), 40_000))
        else:
            column = rng.uniform(lo, hi, 40_000)
        columns.append(np.maximum(np.rint(column), lo) if letter.is_integer else column)
    with np.errstate(all="ignore"):
        a, b = (np.broadcast_to(np.asarray(side(*columns), dtype=float), 40_000) for side in (smaller, larger))
        inside = np.isfinite(a) & np.isfinite(b)
        for fact in facts:
            inside &= np.asarray(fact(*columns)) >= 0
    assert inside.sum() >= 20
    assert np.all(a[inside] <= b[inside] + 1e-9 * (np.abs(a[inside]) + np.abs(b[inside])) + 1e-9 * (not letters))


def breaks_its_relation(step: Counterexample) -> None:
    values = {x: sympy.sympify(v) for x, v in step.values}
    left, right = (side.subs(values) for side in step.claimed.args)
    if left.free_symbols | right.free_symbols:  # a value may be a formula in letters that are left
        at = {x: sympy.Integer(3) for x in left.free_symbols | right.free_symbols}
        left, right = left.subs(at), right.subs(at)
    a, b = (float(sympy.N(side, 40)) for side in (left, right))
    true = {"<=": a <= b, "<": a < b, ">=": a >= b, ">": a > b, "==": sympy.N(left - right, 40) == 0, "!=": a != b}
    assert not true[step.claimed.rel_op]


def stays_bounded_along_the_region(step: Dominated) -> None:
    """The ratio over all points of a log grid inside the region is at most the constants' sum."""
    terms, rate = sympy.sympify(step.terms), sympy.sympify(step.rate)
    relations = step.region.relations
    letters = sorted(set().union(terms.free_symbols, rate.free_symbols, *(r.free_symbols for r in relations)), key=str)
    extra = {x: float(power) for x, power in step.extra().items()}
    ratio = sympy.lambdify(letters, terms / rate, "numpy")
    facts = [sympy.lambdify(letters, sympy.log(r.gts / r.lts), "numpy") for r in relations]
    rng = np.random.default_rng(1)
    exponents = rng.integers(-6, 7, (20_000, len(letters))) * rng.choice([0, 1], (20_000, len(letters)))
    columns = [10.0 ** (np.abs(e) if x.is_integer else e) for x, e in zip(letters, exponents.T, strict=True)]
    with np.errstate(all="ignore"):
        inside = np.ones(len(exponents), dtype=bool)
        for fact in facts:
            inside &= np.asarray(fact(*columns)) >= -1e-9
        found = np.broadcast_to(np.asarray(ratio(*columns), dtype=float), len(exponents)).copy()
        for x, power in extra.items():
            found /= columns[letters.index(x)] ** power
    kept = found[inside & np.isfinite(found)]
    assert len(kept) >= 1
    assert kept.max() <= 1000


def grows_along_its_path(step: Exceeds) -> None:
    ratio = step._ratio(step._path())
    s = next(iter(ratio.free_symbols))
    values = [float(sympy.N(ratio.subs(s, 10**k), 30)) for k in (3, 6, 12)]
    assert values[0] < values[1] < values[2]


SECOND_ROUTES: dict[type, Callable[[Any], None]] = {
    Identity: holds_at_random_points,
    Inequality: holds_at_random_points_of_the_domain,
    Counterexample: breaks_its_relation,
    Dominated: stays_bounded_along_the_region,
    Exceeds: grows_along_its_path,
}


def hold_once_more(id: str, routes: dict[type, Callable[[Any], None]]) -> None:
    for step in steps_of_claims()[id]:
        for kind, route in routes.items():
            if isinstance(step, kind):
                route(step)


@pytest.mark.parametrize("id", IDS)
def test_every_step_holds_once_more(id: str) -> None:
    hold_once_more(id, SECOND_ROUTES)


@pytest.mark.thorough
@pytest.mark.parametrize("id", IDS)
def test_elementary_inequalities_hold_once_more(id: str) -> None:
    hold_once_more(id, {AtMost: is_smaller_at_random_points})


@pytest.mark.thorough
def test_prove_takes_a_claim_a_paper_a_file_or_nothing(tmp_path: Path) -> None:
    (one,) = registry.prove("Y17")
    assert one.claim.id == "Y17"
    assert [each.id for each in registry.find("yang2022")] == [each for each in IDS if each.startswith("Y")]
    assert len(registry.find()) == len(registry.claims())
    with pytest.raises(InputError, match=r"must be a known one .*Y17.*got Y177"):
        registry.prove("Y177")
    with pytest.raises(InputError, match=r"known one \(perhaps zhang2022, .*got \?"):
        registry.prove("?")


# A file of one's own

OWN = """
from sympy import log, oo, sqrt, symbols

from dpcheck.bounds.claim import Claim
from dpcheck.bounds.judge import judge
from dpcheck.bounds.prover import Domain, Inequality

print("not a result")
x, c = symbols("x c", positive=True)
OVER = Domain({x: (1, oo)})
CLAIMS = (
    Claim("root", "mine", "const", "log x <= sqrt x", "Lemma 1", judge(Inequality("r", log(x), sqrt(x), OVER))),
    Claim("third", "mine", "const", "log x <= x/3", "Lemma 2",
          judge(Inequality("third", log(x), c * x, OVER, constant=(c, 1 / 3)))),
)
"""


def write(folder: Path, text: str) -> str:
    (folder / "own.py").write_text(text)
    return str(folder / "own.py")


@pytest.mark.thorough
def test_a_file_of_one_s_own(tmp_path: Path) -> None:
    root, third = registry.prove(write(tmp_path, OWN))
    assert (root.verdict, third.verdict) == ("proved", "refuted")
    assert root.rooms[0]["critical"] == pytest.approx(2 / math.e, rel=1e-3)
    assert "it holds with 0.367879 for c" in third.evidence["repaired"]
    assert third.counterexamples


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 +", "must be importable, got .*SyntaxError"),
        ("raise SystemExit(3)", "must be importable, got .*SystemExit"),
        ("x = 1", "must define CLAIMS"),
        ("CLAIMS = (1,)", r"CLAIMS must hold only Claim, such as Claim\(..., judge\(...\)\), got int"),
        (OWN + "CLAIMS += CLAIMS", "ids must be unique, got root, third"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        registry.prove(write(tmp_path, text))
    with pytest.raises(InputError, match="file of claims must exist"):
        registry.prove(str(tmp_path / "none.py"))


def test_text_is_never_executed(tmp_path: Path) -> None:
    planted = OWN.replace("log(x), sqrt(x)", "\"__import__('os').abort()\", sqrt(x)")
    with pytest.raises(InputError, match="a formula must be a number or a sympy expression"):
        registry.prove(write(tmp_path, planted))
    for file in (ROOT / "bounds").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                assert name not in ("eval", "exec", "parse_expr", "S"), file
                strict = any(keyword.arg == "strict" for keyword in node.keywords)
                assert name != "sympify" or strict, file


SLOW = """
import os, sys, time

from dpcheck.bounds.claim import Claim


def never():
    time.sleep(1000)


def crash():
    os._exit(7)


def fail():
    raise ValueError("no such thing")


def talk():
    print("words on stdout" * 1000)
    raise KeyError("spoken")


CLAIMS = tuple(Claim(f.__name__, "mine", "k", "s", "l", f) for f in (never, crash, fail, talk))
"""


@pytest.mark.thorough
def test_what_takes_too_long_or_crashes_is_unresolved(tmp_path: Path) -> None:
    started = time.monotonic()
    found = {each.claim.id: each for each in registry.prove(write(tmp_path, SLOW), jobs=2, seconds=1.0)}
    assert time.monotonic() - started < 60
    assert {each.verdict for each in found.values()} == {"unresolved"}
    assert found["never"].note == "not decided within 1 s"
    assert found["crash"].note == "the process that decided it ended with code 7"
    assert found["fail"].note == "deciding it failed: ValueError: no such thing"
    assert "spoken" in found["talk"].note


def test_jobs_and_seconds_are_checked() -> None:
    with pytest.raises(InputError, match="jobs must"):
        registry.prove("Y17", jobs=0)
    with pytest.raises(InputError, match="seconds must"):
        registry.prove("Y17", seconds=0)


# Evidence: each kind fails on a falsehood, and a failing step settles nothing

COUNT = sympy.Symbol("count", integer=True, positive=True)


def uniform(rng: Any) -> float:
    return float(rng.random())


FALSE_STEPS = [
    Identity("", (x + y) ** 2, x**2 + y**2),
    Identity("", sympy.sqrt(x**2 + y**2), x + y),
    AtMost("", 2 * x, x),
    AtMost("", x**2, x),
    AtMost("", x + y, sympy.sqrt(x**2 + y**2)),
    AtMost("", sympy.sqrt(2) * x, sympy.Rational(7, 5) * x),
    AtMost("", 0, sympy.Symbol("unsigned")),
    Below("", sympy.E, sympy.Rational(271828, 100000)),
    Below("", sympy.Integer(1), sympy.Integer(1)),
    Counterexample("", sympy.Le(x, 2 * y), ((x, 2), (y, 1))),
    Counterexample("", sympy.Le(x, y), ((x, 2),)),
    Enumerated("", lemma_6.chance_absent, (2, 2), Fraction(0)),
    Counterexample("", sympy.Le(COUNT, 1), ((COUNT, sympy.Rational(3, 2)),)),  # an integer must be one
    Searched("", uniform, 0.5, 100),
]
TRUE_STEPS = [
    Identity("", (x + y) ** 2 - (x - y) ** 2, 4 * x * y),
    AtMost("", x, x),
    AtMost("", sympy.sqrt(2) * x, sympy.Rational(3, 2) * x),
    AtMost("", x / (x + y), sympy.Integer(1)),
    AtMost("", x + y**2, (sympy.sqrt(x) + y) ** 2),
    Below("", sympy.Rational(271828, 100000), sympy.E),
    Counterexample("", sympy.Le(x, 2 * y), ((x, 3), (y, 1))),
    Enumerated("", lemma_6.chance_absent, (2, 2), Fraction(1, 4)),
    Counterexample("", sympy.Le(COUNT, 1), ((COUNT, 2),)),
    Counterexample("", sympy.Lt(sympy.pi, sympy.E + x), ((x, sympy.Rational(1, 10)),)),
    Searched("", uniform, 1.0, 100),
]


@pytest.mark.parametrize("step", FALSE_STEPS, ids=lambda step: type(step).__name__)
def test_false_evidence_does_not_hold(step: Any) -> None:
    assert not step.holds()
    decision = Decision("unresolved", "", Evidence((step,)), "")
    claim = Claim("X", "toy", "", "", "", lambda: decision)
    assert claim.decide().verdict == "unresolved"


@pytest.mark.parametrize("step", TRUE_STEPS, ids=lambda step: type(step).__name__)
def test_true_evidence_holds(step: Any) -> None:
    assert step.holds()
    assert step.formula()


def test_a_false_step_leaves_a_claim_unresolved() -> None:
    steps = (TRUE_STEPS[0], Identity("one is two", sympy.Integer(1), sympy.Integer(2)))
    decision = Decision("proved", "algebra", Evidence(steps), "fine")
    result = Claim("X", "toy", "", "", "", lambda: decision).decide()
    assert result.verdict == "unresolved"
    assert "one is two" in result.note


@quick
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3), st.integers(0, 3)), max_size=5),
    st.floats(0.01, 20),
    st.floats(0.01, 20),
)
def test_at_most_is_sound(terms: list[tuple[int, int, int]], a: float, b: float) -> None:
    polynomial = sum((k * x**i * sympy.sqrt(y) ** j for k, i, j in terms), sympy.Integer(0))
    if AtMost("", 0, polynomial).holds():
        assert polynomial.subs({x: a, y: b}) >= 0


@pytest.mark.thorough
def test_each_word_has_what_it_says() -> None:
    """The criterion of each word, on what every claim of the catalogue holds."""
    for claim in registry.claims():
        id, decision = claim.id, claim.decision()
        evidence, readings = decision.evidence, dict(decision.evidence.readings).values()
        fails = [step for step in evidence.steps if isinstance(step, Counterexample)]
        shown = fails or any(isinstance(step, Exceeds | NotPrivate | Quoted) for step in evidence.steps)
        held = {
            "proved": not evidence.condition and not evidence.differs and (not fails or "refuted" in readings),
            "conditional": bool(evidence.condition and shown),
            "misprint": bool(
                fails and evidence.differs and evidence.repaired and {"proved", "refuted"} <= set(readings)
            ),
            "refuted": bool(fails and evidence.repaired) and not evidence.condition and not evidence.differs,
            "unresolved": True,
        }
        assert held[decision.verdict], id


MISPRINT = {"differs": "constant", "condition": "2 for 1", "repaired": "r", "readings": (("2 for 1", "proved"),)}
NOTHING = {"differs": "", "condition": "", "repaired": "", "readings": (("1", "refuted"),)}


@pytest.mark.parametrize(
    ("verdict", "steps", "more"),
    [
        ("refuted", (TRUE_STEPS[0],), {"repaired": "r"}),
        ("refuted", (TRUE_STEPS[6],), {}),
        ("conditional", (TRUE_STEPS[0],), {}),
        ("conditional", (TRUE_STEPS[0],), {"condition": "c"}),  # nothing shows the need
        ("conditional", (TRUE_STEPS[6],), {"condition": "c", "differs": "taste"}),
        ("misprint", (TRUE_STEPS[0],), MISPRINT),
        *(("misprint", (TRUE_STEPS[6],), {**MISPRINT, name: empty}) for name, empty in NOTHING.items()),
        ("refuted", (TRUE_STEPS[6],), {"repaired": "r", "condition": "c"}),
        ("refuted", (TRUE_STEPS[6],), {"repaired": "r", "differs": "constant"}),
        ("proved", (TRUE_STEPS[0],), {"condition": "c"}),
        ("proved", (TRUE_STEPS[6],), {}),
        ("proved", (Cited("a", "b"),), {}),
        ("proved", (Searched("", uniform, 1.0, 10),), {}),
        ("proved", (), {}),
    ],
)
def test_a_verdict_needs_its_kind_of_evidence(verdict: Any, steps: Any, more: Any) -> None:
    with pytest.raises(InputError):
        Decision(verdict, "", Evidence(steps, **more), "")
