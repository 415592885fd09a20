"""What a claim says of itself in one word: its kind, how it was decided, and its id."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sympy import erfc, oo, symbols

from dpcheck.bounds import registry
from dpcheck.bounds.asymptotics import Dominated, Exceeds
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Claim, Decision, Evidence, claim
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Quoted
from dpcheck.bounds.judge import judge
from dpcheck.bounds.kind import Kind, Method
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.errors import InputError

x = symbols("x", positive=True)
CLAIMS = registry.claims()
IDS = {
    "bok2024": r"B\d\d",
    "koskela2024": r"P\d\d",
    "dong2022": r"G\d\d",
    "charles2024": r"U\d\d",
    "wang2019": r"W\d\d",
    "zhang2022": r"Z\d\d",
    "yang2022": r"Y\d\d",
    "zhang2025": r"00[34]:.+",
    "xu2026": r"002:.+",
}


def methods(decision: Decision) -> tuple[str, ...]:
    return (decision.method,) if isinstance(decision.method, str) else decision.method


# The steps of which one at least has to be there for a method to be named
SHOWN: dict[Method, tuple[type, ...]] = {
    Method.ALGEBRA: (Identity, AtMost),
    Method.ARITHMETIC: (Counterexample, Below),
    Method.ENUMERATION: (Enumerated,),
    Method.STEPS: (Enumerated,),
    Method.PROVER: (Inequality,),
    Method.EXPONENTS: (Dominated, Exceeds),
    Method.PRIVACY_CURVE: (Private, NotPrivate),
    Method.EVENT: (Counterexample,),
    Method.MOMENTS: (Counterexample,),
    Method.CITED: (Cited, Quoted),
    Method.PUBLISHED: (Cited, Quoted),
}


@pytest.mark.parametrize("id", [each.id for each in CLAIMS])
def test_a_method_is_named_for_a_step_that_uses_it(id: str) -> None:
    found = next(each for each in CLAIMS if each.id == id)
    assert isinstance(found.kind, Kind)
    assert re.fullmatch(IDS[found.paper], id)
    decision = found.decision()
    judged = decision.basis == "judged"  # its methods are computed
    steps = decision.evidence.steps
    for method in () if judged else methods(decision):
        used: list[Any] = [step for step in steps if isinstance(step, SHOWN.get(Method(method), ()))]
        if method == Method.PRIVACY_CURVE:
            used += [step for step in steps if isinstance(step, Counterexample) and step.claimed.has(erfc)]
        assert used or (method == Method.NONE and decision.verdict == "unresolved"), method
    proved = any(isinstance(step, Inequality) for step in steps)
    assert judged or not proved or Method.PROVER in methods(decision)  # a solver's word is not kept quiet


# The decorator


def a_third() -> Decision:
    return Decision("proved", (Method.ALGEBRA, "induction"), Evidence((Identity("a sum", 3 * x / 3, 1 * x),)), "Fine.")


def test_the_decorated_name_is_the_claim() -> None:
    made = claim("mine", "a word of mine", "words", "Lemma 1", paper="doe2026")(a_third)
    assert made == Claim("mine", "doe2026", "a word of mine", "words", "Lemma 1", a_third)
    assert claim("mine", Kind.STEP, "words", "Lemma 1")(a_third).paper == "test_claim_words"
    assert {each.paper for each in registry.find("Y17")} == {"yang2022"}


def test_methods_are_texts_in_their_order() -> None:
    step = Inequality("a third", x / 3, x, Domain({x: (0, oo)}))
    both = Decision("proved", (Method.CITED, Method.PROVER), Evidence((step,)), "Fine.")
    assert Claim("X", "toy", Kind.STEP, "words", "l", lambda: both).decide().method == "cited facts; certificate"
    assert judge(step, AtMost("a part", x, 2 * x))().method == "certificate, exact algebra"
    for wrong in ((), 3, (3,)):
        with pytest.raises(InputError, match="method must be text"):
            Decision("proved", wrong, Evidence((step,)), "Fine.")  # type: ignore[arg-type]


NAMED = """
from sympy import log, oo, sqrt, symbols

from dpcheck.bounds.claim import Claim, Decision, Evidence, claim
from dpcheck.bounds.judge import judge
from dpcheck.bounds.claim import Kind, Method
from dpcheck.bounds.prover import Domain, Inequality

x = symbols("x", positive=True)
ROOT = Inequality("r", log(x), sqrt(x), Domain({x: (1, oo)}))


@claim("second", Kind.STEP, "log x <= sqrt x", "Lemma 2")
def second() -> Decision:
    return Decision("proved", Method.PROVER, Evidence((ROOT,)), "By the prover.")


first = again = Claim("first", "mine", Kind.STEP, "log x <= sqrt x", "Lemma 1", judge(ROOT))
"""


def find(folder: Any, text: str) -> list[tuple[str, str]]:
    (folder / "lemma.py").write_text(text)
    return [(each.id, each.paper) for each in registry.find(str(folder / "lemma.py"))]


def test_claims_of_a_file_are_found_by_their_names(tmp_path: Any) -> None:
    assert find(tmp_path, NAMED) == [("second", "lemma"), ("first", "mine")]
    assert find(tmp_path, NAMED + "CLAIMS = (first,)") == [("first", "mine"), ("second", "lemma")]


def test_a_name_is_not_taken_twice(tmp_path: Any) -> None:
    """The first of two functions of one name would be lost without a word."""
    twice = NAMED + "\n\n@claim('third', Kind.STEP, 'words', 'Lemma 3')\ndef second() -> Decision:\n    return ROOT\n"
    with pytest.raises(InputError, match="must have a name of its own, got second for third too"):
        find(tmp_path, twice)
    assert find(tmp_path, twice.replace("'third'", "'second'"))  # the same claim, written again


SQUARE = x**2


def test_a_place_in_capitals_has_the_formula_that_its_file_names_so() -> None:
    @claim("capitals", Kind.STEP, location="Lemma 1", paper="mine")
    def square() -> Decision:
        """x_{{t+1}} squared is {SQUARE}."""
        raise NotImplementedError

    @claim("braces", Kind.STEP, location="Lemma 1", paper="mine")
    def plain() -> Decision:
        """x_{t+1} and {UNKNOWN} stay."""
        raise NotImplementedError

    assert str(square.statement) == "x_{t+1} squared is x^2."
    assert plain.statement == "x_{t+1} and {UNKNOWN} stay."
