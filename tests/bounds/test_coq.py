"""Steps as theorems of Coq: the text, what is refused, and what the kernel said."""

import importlib
import shutil
from fractions import Fraction

import pytest
import sympy
from slices import first
from sympy import E, Eq, Integer, Le, Max, Rational, ceiling, exp, log, oo, sqrt, symbols

from dpcheck.bounds.calibration import NotPrivate
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.coq import kernel, products
from dpcheck.bounds.coq.__main__ import stale, stated
from dpcheck.bounds.coq.expression import names
from dpcheck.bounds.coq.kernel import AXIOMS, Session, compile_library
from dpcheck.bounds.coq.scripts import export, scripts
from dpcheck.bounds.coq.statement import statement
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.registry import claims
from dpcheck.bounds.xu2026.algorithms import clip_then_mean
from dpcheck.bounds.yang2022.lemma_6 import chance_absent
from dpcheck.errors import InputError

x, y, delta, mu = symbols("x y delta mu", positive=True)
n = symbols("n", integer=True, positive=True)
a, b = symbols("a b", real=True)
c = symbols("c", positive=True)

needs_coq = pytest.mark.skipif(
    shutil.which("coqtop") is None, reason="Coq is not installed (Debian: coq libcoq-interval)"
)


def text(step):
    found = statement(step)
    return None if found is None else found.text


def lemma(constant, where=(), low=1):
    return Inequality(
        "noise beside its logarithm", 32 * log(5 / (2 * delta)) + delta**2 / (2 * n), c * log(5 / (2 * delta)),
        Domain({n: (low, oo), delta: (0, 1)}, where), constant=(c, constant),
    )  # fmt: skip


def summed():
    t, T = sympy.Symbol("t", integer=True), sympy.Symbol("T", integer=True, positive=True)
    return Inequality("a sum", sympy.Sum(t, (t, 1, T)), T**2, Domain({T: (1, oo)}))


# The text, in full.


def test_an_identity_speaks_of_all_letters_where_both_sides_have_a_value():
    step = Identity("a share", a / (1 - a) + sqrt(x) * x ** Rational(-1, 3), sympy.log(x) / 2)
    assert text(step) == ("forall a x : R,\n  0 < x ->\n  1 - a <> 0 ->\n  Rpower x (1 / 6) + a / (1 - a) = ln x / 2")


def test_an_inequality_keeps_its_constant_its_intervals_and_its_relations():
    assert text(lemma(33, (delta < 1 / n,))) == (
        "forall n delta : R,\n  integer n ->\n  1 <= n ->\n  0 < delta ->\n  delta <= 1 ->\n  delta < / n ->\n"
        "  32 * ln (5 / (2 * delta)) + delta ^ 2 / (2 * n) <= 33 * ln (5 / (2 * delta))"
    )


def test_a_counterexample_denies_the_relation_at_its_values():
    step = Counterexample("too small", Le(Max(x, y) * a, exp(n)), ((x, Rational(1, 2)), (n, 3)))
    assert text(step) == ("forall a n x y : R,\n  0 < y ->\n  x = 1 / 2 ->\n  n = 3 ->\n  ~ (a * Rmax x y <= exp n)")


def test_a_tree_that_was_not_evaluated_is_written_as_it_stands():
    left = sympy.Add(sympy.Mul(2, 3, evaluate=False), sympy.Pow(x, 2) / x**2, evaluate=False)
    left = sympy.Mul(left, sympy.Pow(sympy.Add(x, x, evaluate=False), -1, evaluate=False), evaluate=False)
    assert text(Identity("unevaluated", left, 7 / (2 * x))).splitlines()[-1] == "  (1 + 2 * 3) / (x + x) = 7 / (2 * x)"


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        (-x, "- x"), (x - y, "x - y"), (-(x + y) * a, "a * (- x - y)"), (x**-2, "/ x ^ 2"), (-(x**2), "- x ^ 2"),
        ((-x) ** 3 * y, "- (y * x ^ 3)"), (x / (y * mu), "x / (mu * y)"), (x**a, "Rpower x a"), (E, "exp 1"),
        (sqrt(x) ** 3, "sqrt x ^ 3"), (1 / sqrt(x), "/ sqrt x"), (x ** Rational(-2, 3), "/ Rpower x (2 / 3)"),
        (ceiling(a), "- IZR (Int_part (- a))"), (Max(x, y, mu), "Rmax (Rmax mu x) y"), (exp(-a), "exp (- a)"),
        (sqrt(x + y) * 2, "2 * sqrt (x + y)"), ((x + y) ** 2, "(x + y) ^ 2"), (Rational(-2, 3) * x, "- (2 * x / 3)"),
        (sympy.erfc(a), "erfc a"), (sympy.pi * x, "PI * x"),
    ],
)  # fmt: skip
def test_formulas_are_written_with_the_brackets_they_need(expression, written):
    assert text(Identity("written", expression, Integer(0))).splitlines()[-1].strip() == f"{written} = 0"


def test_letters_of_one_name_and_words_of_coq_stay_apart():
    exp_, forall, type_r = symbols("exp forall R", real=True)
    assert text(Identity("names", n + exp_ + forall + type_r, Integer(0))).startswith("forall R_ exp_ forall_ n : R,")
    assert list(names([n, sympy.Symbol("n", real=True)]).values()) == ["n", "n_"]


def test_the_release_of_a_gaussian_is_stated_by_its_curve():
    assert text(NotPrivate("too little", sqrt(log(7)), Rational(1, 2), Rational(1, 100))) == (
        "1 / 100 < gaussian_curve (sqrt (ln 7)) (1 / 2)"
    )


def test_derivatives_and_substitutions_stand_as_they_are():
    slope = sympy.Derivative(x**2 / 2 - y, x)
    assert text(Identity("slope", slope, x)).splitlines()[-1] == "  is_derive (fun x : R => x ^ 2 / 2 - y) x x"
    at = sympy.Subs(slope, x, y + 1)
    assert text(Identity("at a value", at, y + 1)) == (
        "forall y : R,\n  0 < y ->\n  is_derive (fun x : R => x ^ 2 / 2 - y) (1 + y) (1 + y)"
    )
    value = sympy.Subs(x / (a - 1), a, b)
    assert text(Identity("value", value, x / (b - 1))) == (
        "forall b x : R,\n  0 < x ->\n  b - 1 <> 0 ->\n  (fun a : R => x / (a - 1)) b = x / (b - 1)"
    )


def test_an_enumeration_is_stated_by_its_counterpart():
    step = Enumerated("absent", chance_absent, (4, 1, False), Fraction(3, 4))
    assert text(step) == "Enumeration.gives (Enumeration.chance_absent 4 1 false) 3 4"
    assert text(Enumerated("clipped", clip_then_mean, (1, -5, 0), Fraction(-1, 2))) == (
        "Enumeration.gives (Enumeration.clip_then_mean (Enumeration.ratio 1 1) "
        "(cons (Enumeration.ratio (-5) 1) (cons (Enumeration.ratio 0 1) nil))) (-1) 2"
    )


def test_a_function_whose_code_has_changed_has_no_counterpart(monkeypatch):
    def chance_absent(n, m, replacement=True):
        return Fraction(1)

    monkeypatch.setattr(chance_absent, "__module__", "dpcheck.bounds.yang2022.lemma_6")
    assert statement(Enumerated("absent", chance_absent, (4, 1), Fraction(1))) is None


# What is refused.


@pytest.mark.parametrize(
    "step",
    [
        Cited("a fact", "a book"),
        Enumerated("a count", Fraction, (1, 2), Fraction(1, 2)),
        Identity("a sum over fractions", sympy.Sum(n, (n, 1, a)), Integer(6)),
        Counterexample("half a record", Le(n, 1), ((n, Rational(1, 2)),)),
        Inequality("about nothing", x, 2 * x, Domain({x: (1, oo)}, (x <= -1,))),
        object(),
    ],
)
def test_what_cannot_be_stated_is_not(step):
    assert statement(step) is None
    assert not kernel.accepted(step)


def test_a_changed_constant_relation_or_end_is_another_statement():
    hashes = [lemma(33), lemma(32), lemma(33, (delta * n <= 1,)), lemma(33, low=2)]
    assert len({statement(step).sha256 for step in hashes}) == len(hashes)


def test_no_word_without_an_entry_and_none_for_a_changed_proof(monkeypatch):
    step = lemma(33)
    found = statement(step)
    assert not kernel.accepted(step)
    good = kernel.Accepted("intros; lra.", kernel.fingerprint(found, "intros; lra."))
    monkeypatch.setattr(kernel, "recorded", lambda: {found.sha256: good})
    assert kernel.accepted(step)
    assert not kernel.accepted(lemma(34))
    changed = kernel.Accepted("intros; nra.", good.sha256)
    monkeypatch.setattr(kernel, "recorded", lambda: {found.sha256: changed})
    assert not kernel.accepted(step)


def test_a_changed_library_takes_every_word_back(monkeypatch):
    entry = next(iter(kernel.recorded().values()))
    before = kernel.fingerprint(statement(lemma(33)), entry.proof)
    monkeypatch.setattr(kernel, "_parts", lambda: ("Ltac dp_sign := idtac.",))
    assert kernel.fingerprint(statement(lemma(33)), entry.proof) != before


def test_a_changed_part_of_the_library_takes_back_the_words_that_use_it(monkeypatch):
    first, *others = kernel._parts()
    tried = [(lemma(33), "intros; lra."), (lemma(33), "dp_tails."), (summed(), "intros; lra.")]
    before = [kernel.fingerprint(statement(step), script) for step, script in tried]
    for k, changed in enumerate(others):
        parts = (first, *others[:k], f"{changed}\n(* changed *)", *others[k + 1 :])
        monkeypatch.setattr(kernel, "_parts", lambda parts=parts: parts)
        after = [kernel.fingerprint(statement(step), script) for step, script in tried]
        assert [old != new for old, new in zip(before, after, strict=True)] == [False, k == 0, k == 1]


# What is recorded.


@pytest.fixture(scope="module")
def steps():
    return list(stated(claims()))


@pytest.mark.thorough
def test_every_recorded_theorem_is_that_of_a_present_step(steps):
    assert stale(steps) == []
    known = {each.statement.sha256: each.statement for each in steps}
    wrong = [
        key for key, entry in kernel.recorded().items() if kernel.fingerprint(known[key], entry.proof) != entry.sha256
    ]
    assert wrong == []


def test_the_library_declares_no_axiom():
    assert not any(word in kernel.library() for word in ("Axiom", "Admitted", "Parameter", "admit", "Conjecture"))


# What Coq says.


@pytest.fixture(scope="module")
def coq(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coq")
    compile_library(folder)
    with Session(folder, 20.0) as session:
        yield session


def said(coq, step, script=None):
    found = statement(step)
    tried = [script] if script else scripts(step)
    answers = [coq.check(found, each) for each in tried]
    return None if None in answers else answers[-1]


@pytest.mark.thorough
@needs_coq
def test_true_statements_of_each_kind_are_accepted(coq):
    assert said(coq, lemma(33)) is None
    assert said(coq, Identity("square", (a - b) ** 2, a**2 - 2 * a * b + b**2)) is None
    assert said(coq, Below("e", E, Rational(2719, 1000))) is None
    assert said(coq, Counterexample("no", Eq(log(x), 1), ((x, Integer(3)),))) is None
    assert said(coq, NotPrivate("little", Integer(1), Integer(1), Rational(1, 10))) is None


@pytest.mark.thorough
@needs_coq
@pytest.mark.parametrize(
    "step",
    [
        lemma(32),
        Inequality("reversed", x**2 + y**2, 2 * x * y, Domain({x: (0, oo), y: (0, oo)})),
        Inequality("past the end", x, Rational(99, 100), Domain({x: (0, 1)})),
        Identity("off by one", (a - b) ** 2, a**2 + b**2),
        Below("e", Rational(2719, 1000), E),
        Below("equal numbers", Integer(1), Integer(1)),
        Counterexample("holds", Le(x, 4), ((x, Integer(3)),)),
        NotPrivate("enough", Integer(10), Integer(1), Rational(1, 10)),
    ],
)
def test_false_statements_are_rejected_whatever_the_script(coq, step):
    assert said(coq, step) is not None


@pytest.mark.thorough
@needs_coq
@pytest.mark.parametrize(
    "script", ["Admitted.", "admit.", "Axiom f : False. destruct f.", "intros. give_up.", "shelve."]
)
def test_a_proof_without_a_proof_is_rejected(coq, script):
    assert said(coq, lemma(32), script) is not None


@needs_coq
@pytest.mark.parametrize(
    ("name", "given"),
    first(
        3,
        [
            ("yang2022.lemma_6.mean_share", [(2, 3), (3, 3), (4, 2, False)]),
            ("yang2022.lemma_6.chance_absent", [(3, 3), (5, 2, False), (1, 1)]),
            ("zhang2022.lemmas.move_share", [(6, Fraction(1, 3), 1), (10, Fraction(2), 0)]),
            ("zhang2022.lemmas.block_energy", [(6, Fraction(1, 3)), (10, Fraction(2))]),
            ("zhang2025.preliminaries.flipped_moment", [(2, Fraction(2, 3), 1), (3, Fraction(1, 4), 2)]),
            (
                "xu2026.noise.broken_at",
                [(Fraction(1, 3), Fraction(1, 4), 1, 2, 1), (Fraction(1), Fraction(9), 1, 2)],
            ),
            ("xu2026.noise.chosen", [(0, 9, 9, 9), (1, -2, 3, -1, 0), (-1, 1)]),
            ("xu2026.algorithms.clip_then_mean", [(2, 5, -7, 1), (3, 1)]),
            ("xu2026.algorithms.difference_of_clipped", [(2, 5, -7, 1, 0), (1, 3, 3)]),
        ],
    ),
)
def test_counterparts_agree_with_the_functions_elsewhere(coq, name, given):
    module, function = name.rsplit(".", 1)
    python = getattr(importlib.import_module(f"dpcheck.bounds.{module}"), function)
    for arguments in given:
        right = Enumerated("there", python, arguments, Fraction(python(*arguments)))
        wrong = Enumerated("there", python, arguments, right.value + Fraction(1, 1000))
        assert said(coq, right) is None
        assert said(coq, wrong) is not None


@pytest.mark.thorough
@needs_coq
def test_a_theorem_rests_on_the_axioms_of_the_real_numbers_only(coq):
    assert said(coq, AtMost("larger", x, 2 * x), "intros; lra.") is None
    axioms = coq.assumptions()
    assert "ClassicalDedekindReals.sig_forall_dec" in axioms
    assert all(name.startswith(AXIOMS) for name in axioms)


# Products of facts, and files.


def test_products_are_found_for_a_relation_between_letters():
    step = Inequality("root", x**2, 4, Domain({x: (0, oo), y: (0, 2)}, (x <= y,)))
    assert "dp_combination" in products.proof(step)


def test_no_products_are_found_for_a_falsehood():
    assert products.proof(Inequality("false", x**2, x, Domain({x: (0, oo)}))) is None


def own(*ids):
    step = Inequality("means", 2 * x * y, x**2 + y**2, Domain({x: (0, oo), y: (0, oo)}))
    evidence = Evidence((step, Cited("it", "a book")))
    return [
        Claim(id, "own", "lemma", 'a "quoted" (* remark *)', "here", lambda: Decision("proved", "m", evidence, "n"))
        for id in ids
    ]


def test_claims_are_written_as_files_that_no_two_claims_share(tmp_path):
    results = [claim.decide() for claim in own("my lemma/1", "my lemma 1", "1", "Dpcheck")]
    written = export(results, tmp_path / "coq")
    assert [path.name for path in written] == [
        "Dpcheck.v", "my_lemma_1.v", "my_lemma_1_2.v", "claim_1.v", "Dpcheck_2.v"
    ]  # fmt: skip
    first = written[1].read_text("utf-8")
    assert first.startswith("(* own my lemma/1 (here), proved: a 'quoted' ( * remark * ) *)")
    assert "Theorem my_lemma_1_step_1 :\n  forall x y : R," in first
    assert "(* it: cited, not stated in Coq *)" in first
    assert (tmp_path / "coq" / "_CoqProject").read_text("utf-8").splitlines()[0] == "-R . Dpcheck"


def test_files_are_not_written_over(tmp_path):
    (tmp_path / "mine.v").write_text("", "utf-8")
    with pytest.raises(InputError, match="must be new or empty"):
        export([], tmp_path)
