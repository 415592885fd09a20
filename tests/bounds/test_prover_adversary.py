"""Ways to a wrong verdict that were open once: each of these statements is false, or says less than it seems to."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sympy
from sympy import Abs, Eq, Ge, Gt, Integer, Le, Lt, Max, Rational, Sum, Symbol, floor, log, oo, sqrt, symbols

from dpcheck.bounds import registry
from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Below, Counterexample, Identity, Searched
from dpcheck.bounds.judge import judge
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.statement import stated
from dpcheck.errors import InputError

x, y, z = symbols("x y z", real=True)
a, b, c = symbols("a b c", positive=True)
u = Symbol("u", integer=True, nonnegative=True)
T = Symbol("T", integer=True, positive=True)
k = Symbol("k", integer=True)
SQUARE = {x: (0, 1), y: (-1, 1)}
NARROW = (y + Rational(1, 3)) ** 2 - Rational(1, 10**30)  # negative at y = -1/3 and hardly elsewhere


# A root of a product is 0 where a factor is, whatever the sign of the other


@pytest.mark.parametrize(
    ("smaller", "larger", "over"),
    [
        (0, y + sqrt(x * y), Domain(SQUARE)),
        (0, y + sqrt(x * y), Domain({x: (0, oo), y: (-oo, oo)})),
        (0, y, Domain(SQUARE, (Ge(sqrt(x * y), 0),))),
        (0, y + (x * y) ** Rational(3, 2), Domain(SQUARE)),
        (0, y + z**2 + (x * y) ** Rational(1, 4), Domain({**SQUARE, z: (-1, 1)})),
        (0, y + sqrt(x / y), Domain(SQUARE)),
        (0, y + sqrt(Max(x, z) * y), Domain({**SQUARE, z: (0, 1)})),
        (0, z + sqrt((x + y) * z), Domain({x: (0, 1), y: (0, 1), z: (-1, 1)})),
        (0, y + sqrt(floor(x) * y), Domain(SQUARE)),
        (0, z + sqrt(log(x) * z), Domain({x: (1, 5), z: (-1, 1)})),
        (0, x - 1 + sqrt(-x), Domain({x: (0, 5)})),
        (0, NARROW + sqrt(x) + sqrt(x * y), Domain(SQUARE)),
        (0, NARROW + x * sqrt(x) + sqrt(x * y), Domain({x: (0, oo), y: (-1, 1)})),
    ],
)  # fmt: skip
def test_a_root_of_a_product_keeps_the_points_at_which_a_factor_is_0(smaller: Any, larger: Any, over: Domain) -> None:
    found = Inequality("", smaller, larger, over).outcome()
    assert found.verdict == "refuted"
    assert found.point is not None
    assert over.contains(found.point)


def test_roots_of_products_of_known_signs_are_still_proved() -> None:
    assert Inequality("", sqrt(x * y), (x + y) / 2, Domain({x: (0, oo), y: (0, oo)})).holds()
    assert Inequality("", sqrt(x * (1 - x)), Rational(1, 2), Domain({x: (0, 1)})).holds()
    assert Inequality("", 2 * sqrt(x * y), (x + y) ** 2 + 1, Domain({x: (0, oo), y: (-oo, oo)})).holds()


def test_a_printed_constant_is_one_that_its_letter_allows() -> None:
    """``Abs(c)`` is ``c`` for a positive letter, and would be -3."""
    with pytest.raises(InputError, match="the printed constant must be a value that the letter c allows, got -3"):
        Inequality("", Abs(c), a, Domain({a: (0, 1)}), constant=(c, -3))


# Counterexamples, identities


@pytest.mark.parametrize(
    ("claimed", "values"),
    [
        (Ge(1 / (1 + 1 / x), Rational(1, 2), evaluate=False), ((x, 0),)),
        (Ge(1 / (1 + 1 / x) + y, y + 1, evaluate=False), ((x, 0),)),
        (Ge(Abs(sqrt(x)), 5, evaluate=False), ((x, -1),)),
        (Ge(1 / (1 + 1 / a), Rational(1, 2), evaluate=False), ((a, 0),)),
    ],
)
def test_no_counterexample_where_a_side_is_undefined(claimed: Any, values: Any) -> None:
    assert not Counterexample("", claimed, values).holds()
    elsewhere = tuple((letter, Rational(1, 2)) for letter, _ in values)
    assert Counterexample("", claimed, elsewhere).holds()


def test_a_sum_that_may_run_backwards_shows_nothing() -> None:
    """At T = 1 the sum from 5 to T is 0 to a reader, and -9 to sympy."""
    assert not Identity("", Sum(k, (k, 5, T)), T * (T + 1) / 2 - 10).holds()
    assert Identity("", Sum(k, (k, 1, T)), T * (T + 1) / 2).holds()
    assert Identity("", Sum(k, (k, 1, T - 1)), T * (T - 1) / 2).holds()


# Noise


def private(multiplier: Any, over: Domain, delta: Any = 0.1) -> Private:
    return Private("", multiplier, over, Integer(1), delta)


@pytest.mark.parametrize(
    "each",
    [
        private(x, Domain({x: (0, 0)})),
        private(x, Domain({x: (0, 100)}, (Ge(x * (x - 100), 0),))),
        private(1000 * u, Domain({u: (0, 5)})),
        private(-Rational(1, 100), Domain({a: (1, 1)})),
        private(100, Domain({a: (1, 2)}), delta=-1),
        private(100, Domain({a: (1, 2)}), delta=0),
        private(100, Domain({x: (0, 1)}), delta=x),
    ],
)
def test_no_noise_and_no_delta_are_not_private(each: Private) -> None:
    assert not each.holds()


def test_enough_noise_is_private_and_negative_noise_is_nothing() -> None:
    assert private(1000 * u, Domain({u: (1, 5)})).holds()
    assert private(100, Domain({x: (Rational(1, 100), 1)}), delta=x).holds()
    assert NotPrivate("", Rational(1, 10), 1, Rational(1, 10)).holds()
    assert not NotPrivate("", -Rational(1, 10), -1, Rational(1, 10)).holds()


# Orders


@pytest.mark.parametrize(
    "region", [Region(Le(2 * a, 1), Ge(a, 1)), Region(Lt(a, b), Le(b, a)), Region(Le(2 * a * T, 1), Ge(a, 1))]
)
def test_nothing_is_dominated_on_an_empty_region(region: Region) -> None:
    assert region.empty(a, T)
    assert not Dominated("", a * T, a * T, region).holds()


def test_regions_with_points_are_not_empty() -> None:
    for region in (Region(), Region(Le(a, b), Le(b, a)), Region(Lt(a, b)), Region(Le(a, 2), Ge(a, 2), Le(1, a * T))):
        assert not region.empty(a, b, T)
    assert Dominated("", sqrt(a * b), a + b, Region(Lt(a, b))).holds()


def test_a_path_keeps_off_a_boundary_that_is_left_out() -> None:
    path = {a: s, b: s}
    assert not Exceeds("", a**2, a, Region(Lt(a, b), Le(b, a)), path).holds()
    assert Exceeds("", a**2, a, Region(Le(a, b), Le(b, a)), path).holds()
    assert Exceeds("", a**2, a, Region(Lt(a, b)), {a: s, b: 2 * s}).holds()


# Statements and what is judged

OVER = Domain({a: (1, oo)})
ROOT = Inequality("a root", log(a), sqrt(a), OVER)
THIRD = Inequality("a third", log(a), a / 3, OVER)  # false


def decided(statement: Any, *steps: Any, readings: Any = ()) -> str:
    decision = Decision("proved", "m", Evidence(steps, readings=readings), "fine")
    return Claim("X", "toy", "constant", statement, "Lemma 1", lambda: decision).decide().verdict


def judged(statement: Any, *steps: Any) -> str:
    return Claim("X", "toy", "constant", statement, "Lemma 1", judge(*steps)).decide().verdict


def test_a_false_step_aside_refutes_nothing() -> None:
    """Only a step that is the printed relation can refute it."""
    over = Domain({a: (1, oo)}, (Ge(a, 2),))
    assert decided(stated("The noise suffices."), ROOT, THIRD) == "unresolved"
    assert decided(stated("It holds for {v}.", v=a), ROOT, THIRD) == "unresolved"
    assert decided(stated("At most {v}.", v=a / 3), ROOT, THIRD) == "unresolved"
    aside = Inequality("", log(a), a / 3, over)
    assert decided(stated("If {v} it holds.", v=Ge(a, 2)), ROOT, aside) == "unresolved"
    assert decided(stated("If {v}, {w}.", v=Ge(a, 2), w=Le(log(a), a / 3)), ROOT, aside) == "unresolved"  # free words
    assert decided(stated("{w}", w=Le(log(a), a / 3)), ROOT, aside) == "refuted"


def test_what_is_assumed_is_not_shown() -> None:
    assumed = Inequality("", a - 1, a, Domain({a: (1, 2), b: (1, 2)}, (Le(a, b),)))
    assert judged(stated("{f}", f=Le(a, b)), assumed) == "unresolved"
    assert judged(stated("If {f}, {g}.", f=Le(a, b), g=Le(a - 1, a, evaluate=False)), assumed) == "proved"
    assert judged(stated("At most {f}.", f=7), Inequality("", a - 1, a, Domain({a: (1, 7)}))) == "unresolved"


def test_a_condition_may_be_weaker_than_the_domain_and_not_stronger() -> None:
    closed, opened = (Inequality("", a - 1, a, Domain({a: (1, 9)}, (each,))) for each in (Le(a, 3), Lt(a, 3)))
    claim = Le(a - 1, a, evaluate=False)
    assert judged(stated("If {f}, {g}.", f=Lt(a, 3), g=claim), closed) == "proved"
    assert judged(stated("If {f}, {g}.", f=Le(a, 3), g=claim), opened) == "unresolved"


def test_a_strict_relation_is_judged_as_such() -> None:
    touching = Inequality("", 2 * x, x**2 + 1, Domain({x: (-oo, oo)}))  # equal at 1
    assert judged(stated("{f}", f=Le(2 * x, x**2 + 1)), touching) == "proved"
    assert judged(stated("{f}", f=Lt(2 * x, x**2 + 1)), touching) == "unresolved"
    assert judged(stated("{f}", f=Lt(Integer(2), sqrt(5), evaluate=False)), Below("", 2, sqrt(5))) == "proved"


def test_settings_of_a_search_and_counterexamples_to_other_readings_show_nothing() -> None:
    search = Searched("", lambda _: 0.0, 1.0, 1000)
    assert decided(stated("At most {f}.", f=1000), ROOT, search) == "unresolved"
    other = Counterexample("", Le(a, 1, evaluate=False), ((a, Rational(22, 7)),))
    readings = (("another", "refuted"),)
    for formula in (Le(a, 1), Rational(22, 7), Fraction(22, 7)):
        assert decided(stated("{f}", f=formula), ROOT, other, readings=readings) == "unresolved"
    assert decided(stated("{f}", f=Le(log(a), sqrt(a))), ROOT, other, readings=readings) == "proved"


def test_a_formula_is_printed_whole() -> None:
    assert str(stated("{f}", f=sqrt(a) * sqrt(b))) == "sqrt(a b)"
    for place in ("{f:.1}", "{f!r}"):
        with pytest.raises(InputError, match="places of a statement must be names alone"):
            stated(f"At most {place}.", f=33 * a)


def test_a_verdict_is_one_of_five_and_its_words_are_text() -> None:
    with pytest.raises(
        InputError, match="a verdict must be one of proved, conditional, misprint, refuted, unresolved, got"
    ):
        Decision("Proved", "m", Evidence((ROOT,)), "fine")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="note must be text"):
        Decision("proved", "m", Evidence((ROOT,)), sympy.Integer(1))  # type: ignore[arg-type]


@pytest.mark.thorough
def test_no_claim_quotes_itself_by_way_of_others() -> None:
    """The ledger is what it was until a verdict changes, so that two claims could hold each other up."""
    quotes = {each.id: {step.claim for step in each.decision().evidence.quoted()} for each in registry.claims()}
    while free := {id for id, used in quotes.items() if not used & quotes.keys()}:
        quotes = {id: used for id, used in quotes.items() if id not in free}
    assert not quotes


# A file of one's own has no way into the process that reads its results

MEDDLING = """
import os, struct
from sympy import log, oo, sqrt, symbols
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.judge import judge
from dpcheck.bounds.prover import Domain, Inequality

x = symbols("x", positive=True)
ROOT = Inequality("r", log(x), sqrt(x), Domain({x: (1, oo)}))


class Text(str):
    pass


def junk():
    for pipe in range(3, 20):
        try:
            os.write(pipe, struct.pack("!Q", 5) + b"junk!")
        except OSError:
            pass
    return judge(ROOT)()


CLAIMS = tuple(
    Claim(name, "mine", "constant", "words", "Lemma", decision)
    for name, decision in (
        ("class", lambda: Decision("proved", "m", Evidence((ROOT,)), Text("a class of this file"))),
        ("junk", junk), ("ends", lambda: os._exit(3)), ("good", judge(ROOT)),
    )
)
"""


@pytest.mark.thorough
def test_what_a_file_of_claims_writes_stops_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(MEDDLING)
    found = {each.claim.id: each for each in registry.prove(str(tmp_path / "own.py"), jobs=1)}
    assert {id: each.verdict for id, each in found.items()} == {
        "class": "proved", "junk": "unresolved", "ends": "unresolved", "good": "proved",
    }  # fmt: skip
    assert "wrote something else" in found["junk"].note


def test_unused_relations_are_no_formulas_that_occur() -> None:
    assert judged(stated("{f}", f=Gt(log(a), sqrt(a))), ROOT) == "unresolved"
    assert judged(stated("{f}", f=Eq(log(a), sqrt(a))), ROOT) == "unresolved"
