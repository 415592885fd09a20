"""What Coq accepts of a typed line is what the line says, as a second reader has it; and ways to forge a theorem."""

from __future__ import annotations

import itertools
import random
import re
import shutil
from pathlib import Path
from typing import Any

import coq_text
import lemma_text
import mpmath
import pytest
import sympy
import tables
from mpmath import mpf

from dpcheck.bounds import crossing, lines
from dpcheck.bounds.coq import kernel, products, scripts
from dpcheck.bounds.coq.statement import Statement, statement
from dpcheck.bounds.evidence import AtMost
from dpcheck.bounds.prover import Domain, Inequality

needs_coq = pytest.mark.skipif(shutil.which("coqtop") is None, reason="Coq is not installed")
LEMMAS = tables.read("lemmas").fillna("").set_index("name")
DECIDED = tables.read("lemmas_decided").fillna("")
PROVED = DECIDED[(DECIDED.tool == "dpcheck") & (DECIDED.verdict == "proved")]
ACCEPTED = [*PROVED[PROVED.kernel == "all"].name]
ROOM = mpf(10) ** -30


def stated(line: str) -> Statement:
    _, (step,) = crossing.claim((lines.claims(line) or [{}])[0])
    found = statement(step)
    assert found is not None
    return found


def read(found: Statement, script: str = "lra.") -> coq_text.Statement:
    """The theorem as it stands in the file that Coq compiles."""
    (only,) = coq_text.theorems(kernel.theorem("line", found, script))
    return coq_text.Statement(only)


def drawn(lemma: lemma_text.Lemma, count: int) -> list[dict[str, Any]]:
    """Points of the line's domain, the ends among them."""
    rng = random.Random(7)
    found: list[dict[str, Any]] = []
    for _ in range(40_000):
        at: dict[str, Any] = {}
        for name, kind in lemma.kinds.items():
            if kind == "vector":
                at[name] = tuple(mpf(rng.randint(-9, 9)) / 4 for _ in range(3))
            elif kind == "integer":
                at[name] = mpf(rng.choice([0, 1, 2, 3, 5, 9]))
            else:
                at[name] = mpf(
                    rng.choice([0, 1, -1, rng.random(), rng.random(), rng.uniform(-4, 9), rng.uniform(1, 40)])
                )
        try:
            if lemma.admits(at):
                [lemma_text.value(side, at) for a, _, b in lemma.relation for side in (a, b)]
                found.append(at)
        except (ZeroDivisionError, ValueError):
            continue
        if len(found) == count:
            break
    return found


def entries(at: dict[str, Any]) -> dict[str, Any]:
    """The letters of the theorem at a point of the line: numbers as they are, inner products for vectors."""
    numbers = {name: value for name, value in at.items() if not isinstance(value, tuple)}
    spaces = sorted(name for name, value in at.items() if isinstance(value, tuple))
    for u, v in itertools.combinations_with_replacement(spaces, 2):
        numbers[f"x_{u}__{v}_"] = mpmath.fsum(a * b for a, b in zip(at[u], at[v], strict=True))
    return numbers


def for_all(hypothesis: Any, at: dict[str, Any]) -> bool:
    """Whether a hypothesis with a quantifier holds, for whole numbers between its ends or at some real ones."""
    _, bound, (*given, last) = hypothesis
    values = [mpf(k) for k in range(-3, 12)] if given else [mpf(k) / 3 for k in (-7, -1, 0, 2, 5)]
    points = (
        {**at, **dict(zip(bound, chosen, strict=True))} for chosen in itertools.product(values, repeat=len(bound))
    )
    return all(coq_text.holds(last, p, ROOM) for p in points if all(coq_text.holds(one, p) for one in given))


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_theorem_says_what_the_line_says(name: str) -> None:
    lemma = lemma_text.Lemma(LEMMAS.statement[name])
    theorem = read(stated(LEMMAS.statement[name]))
    ((left, sign, right),) = lemma.relation
    at_points = drawn(lemma, 12)
    assert len(at_points) == 12
    with mpmath.workdps(50):
        for at in at_points:
            letters = entries(at)
            assert set(theorem.letters) == set(letters)
            for hypothesis in theorem.hypotheses:
                ok = (
                    for_all(hypothesis, letters)
                    if hypothesis[0] == "forall"
                    else coq_text.holds(hypothesis, letters, ROOM)
                )
                assert ok, (hypothesis, letters)
            order, small, large = theorem.conclusion
            assert order == {"<=": "<=", ">=": "<=", "<": "<", ">": "<", "==": "="}[sign]
            a, b = lemma_text.value(left, at), lemma_text.value(right, at)
            a, b = (b, a) if sign in (">=", ">") else (a, b)
            size = 1 + abs(a) + abs(b)
            assert abs(coq_text.value(small, letters) - a) <= ROOM * size
            assert abs(coq_text.value(large, letters) - b) <= ROOM * size


def test_the_page_says_how_many_are_accepted() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kernel.md").read_text("utf-8")
    assert f"{len(ACCEPTED)} of the {len(PROVED)} lemmas that are proved" in page


# Forged statements: the text of the theorem stays what the formula is.

t, T = sympy.Symbol("t", integer=True), sympy.Symbol("T", integer=True, positive=True)
free, x = sympy.Symbol("t", real=True), sympy.Symbol("x", real=True)
same = sympy.Symbol("t", integer=True, positive=True)


def one(step: Any) -> str:
    found = statement(step)
    return "" if found is None else found.text


@pytest.mark.parametrize(
    "name",
    [
        "x : R, False -> forall y", "x. Admitted. Theorem y", "y := 0 in x", "*) Axiom f : False. (*", '"',
        "x -> False", "sum_of", "product_of", "whole_power", "integer", "erf", "R", "forall", "dp_rises", "PI", "IZR",
    ],
)  # fmt: skip
def test_the_name_of_a_letter_is_one_word_that_means_nothing_else(name: str) -> None:
    letter = sympy.Symbol(name, real=True)
    text = one(Inequality("forged", letter, letter + 1, Domain({letter: (0, sympy.oo)})))
    found = re.fullmatch(r"forall (\w+) : R,\n  0 <= (\w+) ->\n  (\w+) <= 1 \+ (\w+)", text)
    assert found and len(set(found.groups())) == 1
    assert found[1] not in ("sum_of", "product_of", "whole_power", "integer", "erf", "R", "forall", "PI", "IZR")


def test_letters_that_are_written_alike_stay_two() -> None:
    first, second = sympy.Symbol("a b", real=True), sympy.Symbol("a'b", real=True)
    third = sympy.Symbol("a_b", real=True)
    text = one(Inequality("forged", first + second, 2 * third, Domain(dict.fromkeys((first, second, third), (0, 1)))))
    assert len(set(re.search(r"forall (.*) : R", text)[1].split())) == 3  # type: ignore[index]


def test_the_letter_of_a_sum_hides_no_other() -> None:
    step = Inequality("forged", sympy.Sum(t * free, (t, 1, T)), T**2, Domain({T: (1, sympy.oo), free: (0, 1)}))
    text = one(step)
    assert "forall T t : R" in text and "sum_of (fun t_ : R => t * t_) 1 T" in text
    inner = sympy.Sum(t * same, (t, 1, T))
    assert statement(Inequality("forged", inner, T**2, Domain({T: (1, sympy.oo), same: (1, 2)}))) is None
    twice = sympy.Sum(sympy.Sum(t, (t, 1, t)), (t, 1, T))
    assert statement(Inequality("forged", twice, T**3, Domain({T: (1, sympy.oo)}))) is None


def test_a_sum_that_may_run_backwards_says_so_and_one_over_fractions_is_not_stated() -> None:
    k = sympy.Symbol("k", integer=True)
    text = one(Inequality("forged", sympy.Sum(t, (t, 1, k)), k**2, Domain({k: (-5, 5)})))
    assert "1 - 1 <= k ->" in text
    half = sympy.Sum(t, (t, 1, x))
    assert statement(Inequality("forged", half, x**2, Domain({x: (1, 5)}))) is None


def test_a_term_without_a_value_is_a_hypothesis_for_every_term() -> None:
    text = one(Inequality("forged", sympy.Sum(1 / (t - x), (t, 1, T)), T, Domain({T: (1, 9), x: (0, 1)})))
    assert "(forall t : R, integer t -> 1 <= t -> t <= T -> t - x <> 0) ->" in text


def test_a_zero_to_a_whole_power_keeps_its_value() -> None:
    text = stated("(1 - x)**T <= exp(-x*T) for 0 <= x <= 1, integer T >= 1").text
    assert "whole_power (1 - x) T" in text and "0 < 1 - x" not in text
    below = stated("(1 - x)**k <= 1 for 0 <= x <= 1, integer k").text
    assert "1 - x <> 0 ->" in below


def test_inner_products_are_those_of_vectors_of_every_combination() -> None:
    text = stated("inner(x, y) <= norm(x)*norm(y) for vectors x, y").text
    assert "(forall factor_1 factor_2 : R, 0 <= factor_1 * factor_1 * x_x__x_" in text
    clash = stated("factor_1*inner(x, y) <= factor_1*norm(x)*norm(y) for vectors x, y, factor_1 >= 0").text
    assert "(forall factor_1_ factor_2 : R," in clash


# Forged proofs: what is no tactic is not sent, and what Coq says is asked of the statement itself.

FORGED = [
    "Admitted.", "admit. Admitted.", "Axiom f : False. destruct f.", "{ Admitted. }", "- Admitted.",
    'Notation "x <= y" := True. exact I.', "Definition R := unit. lra.", "Ltac lra := idtac. lra.",
    "Set Nested Proofs Allowed. Goal True. exact I. Save dp_step_1. Goal True.", "Unset Guard Checking. fix f 1.",
    "Require Import Forged. lra.", "Load forged.", "(* lra.", "lra. (* Qed.", "Abort All. Goal True. exact I. Qed.",
    "intros. Parameter f : False. destruct f.", "Declare ML Module forged.", "Close Scope R_scope. lra.",
    "#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n. lra.", "1: Admitted.", "Timeout 1 Admitted.",
]  # fmt: skip


@pytest.mark.parametrize("script", FORGED)
def test_a_command_is_no_proof(script: str) -> None:
    assert not kernel.tactics_only(script)


def test_every_script_of_the_library_is_made_of_tactics() -> None:
    recorded = [entry.proof for entry in kernel.recorded().values()]
    assert all(map(kernel.tactics_only, [*scripts.by_hand(), *recorded]))


@pytest.mark.parametrize(("line", "proved"), [
    ("2*sqrt(x*y + 1) <= x + y + 1 for 0 <= x <= 1, 0 <= y <= 1", False),
    ("2*sqrt(x + 1) <= x + 2 for x >= 0", True),
    ("2*sqrt(x + 1) <= x + 3/2 for x >= 0", False),
])  # fmt: skip
def test_a_root_is_squared_where_the_rest_is_above_it(line: str, proved: bool) -> None:
    _, (step,) = crossing.claim((lines.claims(line) or [{}])[0])
    assert bool(list(products.by_root(step))) is proved


@pytest.fixture(scope="module")
def coq(tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("coq")
    kernel.compile_library(folder)
    with kernel.Session(folder, 60.0) as session:
        yield session


@pytest.mark.thorough
@needs_coq
@pytest.mark.parametrize(
    "script", ["give_up.", "shelve.", "intros; give_up.", "exact (fun x => x).", "idtac.", "abstract admit."]
)
def test_a_goal_that_is_left_is_no_proof(coq: Any, script: str) -> None:
    assert coq.check(stated("x <= 1 for 0 <= x <= 2"), script) is not None


@pytest.mark.thorough
@needs_coq
@pytest.mark.parametrize("name", [name for name in LEMMAS.index if not LEMMAS.truth[name]][::12])
def test_no_script_proves_a_false_lemma(coq: Any, name: str) -> None:
    _, (step,) = crossing.claim((lines.claims(LEMMAS.statement[name]) or [{}])[0])
    found = statement(step)
    assert found is None or all(
        coq.check(found, script) is not None for script in itertools.islice(scripts.scripts(step), 25)
    )


@pytest.mark.thorough
@needs_coq
@pytest.mark.parametrize("name", [
    "inverse_roots", "young_vectors", "mills_lower", "chernoff_upper", "bernoulli", "randomised_response_noise",
    "laplace_moment", "pure_to_zcdp_two", "zcdp_sufficient", "gaussian_noise_classical", "exponential_union",
])  # fmt: skip
def test_a_lemma_of_each_family_is_accepted_under_the_named_axioms(coq: Any, name: str) -> None:
    _, (step,) = crossing.claim((lines.claims(LEMMAS.statement[name]) or [{}])[0])
    assert scripts.prove([step], coq)
    assert all(axiom.startswith(kernel.AXIOMS) for axiom in coq.assumptions())


@pytest.mark.thorough
@needs_coq
def test_a_script_for_another_statement_is_refused(coq: Any) -> None:
    assert coq.check(statement(AtMost("x", x, x + 1)), "intros; lra.") is None
    assert coq.check(statement(AtMost("x", x + 1, x)), "intros; lra.") is not None
