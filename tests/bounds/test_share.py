"""How much of a statement a kernel accepted: each word, what takes it away, and the numbers of docs/kernel.md."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sympy import Le, log, sqrt, symbols

from dpcheck.bounds import ledger
from dpcheck.bounds.claim import Claim, proved
from dpcheck.bounds.coq import kernel
from dpcheck.bounds.coq.share import ALL, INEQUALITY, NOTHING, STEPS, share
from dpcheck.bounds.coq.statement import statement
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.registry import claims
from dpcheck.bounds.statement import stated

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "kernel.md").read_text("utf-8")
x, y, epsilon, delta = symbols("x y epsilon delta", positive=True)
n = symbols("n", integer=True, positive=True)


@pytest.fixture(autouse=True)
def accepting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept every step that can be stated, unless a step's words say "unaccepted"."""
    monkeypatch.setattr(kernel, "accepted", lambda step: statement(step) is not None and "unaccepted" not in step.says)


def root(*where: Any, says: str = "below a root", factor: int = 1) -> Inequality:
    return Inequality(says, log(n), factor * sqrt(n), over(n <= 10**9, *where))


ROOT, END = log(n) <= sqrt(n), n <= 10**9


@pytest.mark.parametrize(
    ("template", "formulas", "step", "word"),
    [
        ("For {end}: {root}.", {"root": ROOT, "end": END}, root(), ALL),
        ("For {end}: {root} (n counts records).", {"root": ROOT, "end": END}, root(), ALL),
        ("For {end} and {tall}: {root}.", {"root": ROOT, "end": END, "tall": x >= 3}, root(), ALL),
        ("{root}.", {"root": ROOT}, root(), STEPS),  # the theorem ends at a billion
        ("{root} and {end}.", {"root": ROOT, "end": END}, root(), STEPS),  # what is assumed is not shown
        ("For {end}: {root}.", {"root": ROOT, "end": END}, root(n >= 2), STEPS),
        ("For {end}: {root}.", {"root": ROOT, "end": END}, root(x, x <= n), STEPS),
        ("For {end}: {root}.", {"root": ROOT, "end": END}, root(factor=2), STEPS),
        ("For {end}: {root}.", {"root": ROOT, "end": END}, root(says="unaccepted"), NOTHING),
        ("For {end}: {root}.", {"root": log(n) < sqrt(n), "end": END}, root(), STEPS),
        ("For {end}: {root}, and Algorithm 1 is private.", {"root": ROOT, "end": END}, root(), STEPS),
        ("Algorithm 1 has {root} for {end}.", {"root": ROOT, "end": END}, root(), STEPS),
        ("For {end}: {root} and {other}.", {"root": ROOT, "end": END, "other": log(x) <= x}, root(), STEPS),
    ],
)
def test_all_is_for_the_statement_with_its_domain(
    template: str, formulas: dict[str, Any], step: Inequality, word: str
) -> None:
    given = stated(template, **formulas)
    assert share(given, "proved", [step]) == word
    assert share(given, "conditional", [step]) in (STEPS, NOTHING)
    assert share(given, "unresolved", [step]) in (STEPS, NOTHING)
    assert share(str(given), "proved", [step]) in (STEPS, NOTHING)


def test_all_of_a_false_statement_is_a_relation_that_fails() -> None:
    fails = Counterexample("at 4", ROOT, {n: 4})
    for verdict in ("refuted", "misprint"):
        assert share(stated("{root}.", root=ROOT), verdict, [fails]) == ALL
        assert share(stated("{root}.", root=log(n) < sqrt(n)), verdict, [fails]) == ALL
        assert share(stated("For {end}: {root}.", root=ROOT, end=END), verdict, [fails]) == STEPS
        assert share(stated("{root}.", root=2 * log(n) <= sqrt(n)), verdict, [fails]) == STEPS
    assert share(stated("{root}.", root=ROOT), "proved", [fails]) == STEPS
    assert share(stated("{root}.", root=ROOT), "unresolved", [fails]) == STEPS
    strict = Counterexample("at 4", x < y, {x: 1, y: 1})
    assert share(stated("{it}.", it=x <= y), "refuted", [strict]) == STEPS


BOUND = 3 * x / (epsilon * delta)
CITE = Cited("the risk is at most x + y", "a book")
SMALL = {"bound": BOUND, "small": epsilon <= 1}


def sum_of(*where: Any, says: str = "the sum") -> Inequality:
    return Inequality(says, x + y, BOUND, over(x, y, epsilon <= 1, delta <= 1, y <= x, *where))


@pytest.mark.parametrize(
    ("template", "formulas", "steps", "word"),
    [
        ("The risk is at most {bound} for {small}.", SMALL, (CITE, sum_of()), INEQUALITY),
        ("The risk is at most {bound}, where records are drawn and {small}.", SMALL, (CITE, sum_of()), INEQUALITY),
        ("The risk is at most {bound}.", {"bound": BOUND}, (CITE, sum_of()), STEPS),  # epsilon <= 1 is not stated
        ("The risk is at least {bound} for {small}.", SMALL, (CITE, sum_of()), STEPS),
        ("The risk is not at most {bound} for {small}.", SMALL, (CITE, sum_of()), STEPS),
        ("The risk is {bound} for {small}.", SMALL, (CITE, sum_of()), STEPS),
        ("The risk is at most {bound} and {small}.", SMALL, (CITE, sum_of()), STEPS),
        ("The risk is at most {bound} for {small}.", SMALL, (sum_of(),), STEPS),  # nothing is cited
        ("The risk is at most {bound} for {small}.", SMALL, (CITE, sum_of(says="unaccepted")), NOTHING),
        ("The risk is at most {bound} for {small}.", SMALL, (CITE, sum_of(x <= 1)), STEPS),
        (
            "The risk is at most {bound} for {small}.",
            {"bound": 2 * x / (epsilon * delta), "small": epsilon <= 1},
            (CITE, sum_of()),
            STEPS,
        ),
        (
            "The risk is at most {bound} for {small}.",
            SMALL,
            (CITE, sum_of(), Enumerated("recomputed", Fraction, (1,), Fraction(1))),
            STEPS,
        ),
        (
            "The risk is at most {bound}, the gap at most {gap}.",
            {"bound": 2 * y, "gap": 3 * y},
            (CITE, AtMost("risk", y, 2 * y)),
            STEPS,
        ),
        ("The risk is at most {bound}.", {"bound": 2 * y}, (CITE, Identity("another form", y + y, 2 * y)), STEPS),
        ("With {s} the risk is at most {bound}.", {"s": x, "bound": 2 * y}, (CITE, AtMost("it", y, 2 * y)), STEPS),
        ("The risk is at most {bound} for s = {s}.", {"s": x, "bound": 2 * y}, (CITE, AtMost("it", y, 2 * y)), STEPS),
        ("The risk is at most {bound}.", {"bound": 2 * y}, (CITE, AtMost("the risk", y, 2 * y)), INEQUALITY),
    ],
)  # fmt: skip
def test_the_inequality_ends_in_the_printed_bound_on_the_stated_domain(
    template: str, formulas: dict[str, Any], steps: tuple[Any, ...], word: str
) -> None:
    for verdict in ("proved", "conditional"):
        assert share(stated(template, **formulas), verdict, steps) == word
    assert share(stated(template, **formulas), "refuted", steps) in (STEPS, NOTHING)


def test_the_inequality_of_a_false_statement_fails() -> None:
    fails = Counterexample("the risk is x", x <= 2 * y, {x: 3, y: 1})
    given = stated("The risk is at most {bound}.", bound=2 * y)
    assert share(given, "refuted", [CITE, fails]) == INEQUALITY
    assert share(given, "proved", [CITE, fails]) == STEPS
    assert (
        share(stated("The risk is at most {bound} for {small}.", bound=2 * y, small=x <= 1), "refuted", [CITE, fails])
        == STEPS
    )
    assert share(given, "refuted", [CITE, Counterexample("it", x < 2 * y, {x: 2, y: 1})]) == STEPS
    assert share(stated("The risk is at least {bound}.", bound=2 * y), "refuted", [CITE, fails]) == STEPS


def test_a_decided_claim_says_the_word_in_its_json() -> None:
    given = stated("{it}.", it=Le(2 * x * y, x**2 + y**2))
    for larger, word, verdict in ((x**2 + y**2, ALL, "proved"), (x * y, STEPS, "unresolved")):
        step = Inequality("means", 2 * x * y, larger, over(x, y))
        claim = Claim("own", "own", "lemma", given, "here", lambda step=step: proved(step, note="n"))
        found = claim.decide().to_dict()
        assert (found["verdict"], found["kernel"]) == (verdict, word)


# The page


def table(heading: str) -> list[str]:
    """Return the rows of the page's table with this heading."""
    lines = PAGE[PAGE.index(heading) :].splitlines()
    return lines[2 : lines.index("")]


def test_the_page_counts_the_words_of_the_ledger() -> None:
    entries = ledger.recorded().values()
    counted = Counter((entry["verdict"], entry["kernel"]) for entry in entries)
    verdicts = ("proved", "conditional", "misprint", "refuted", "unresolved")
    rows = [
        f"| {verdict} | {' | '.join(str(counted[verdict, word]) for word in ledger.SHARES)} |"
        for verdict in verdicts
        if any(counted[verdict, word] for word in ledger.SHARES)
    ]
    assert table("| verdict | all |") == rows
    shown = [entry for entry in entries if entry["verdict"] == "proved"]
    by_hand, cited = (sum(word in entry["trust"] for entry in shown) for word in ("by hand", "cited"))
    sentence = f"Of the {len(shown)} claims that are proved, {by_hand} are argued by hand and {cited} use cited facts."
    assert sentence in PAGE


KINDS = {
    "identity": "identity", "inequality": "inequality of the prover", "atmost": "inequality of one line",
    "below": "number below another", "counterexample": "counterexample", "dominated": "order of magnitude",
    "exceeds": "order that fails", "private": "Gaussian release is private", "notprivate": "... is not",
    "enumerated": "enumeration",
}  # fmt: skip


@pytest.mark.thorough
def test_the_page_counts_the_steps_and_no_claim_shows_a_formula_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    rows = {kind: [0, 0, 0] for kind in KINDS}
    for claim in claims():
        steps = claim.decision().evidence.steps
        for step in steps:
            row = rows.get(type(step).__name__.lower(), [0, 0, 0])
            for place, counts in enumerate((True, statement(step) is not None, kernel.accepted(step))):
                row[place] += counts
        shown = [ledger.to_dict(step) for step in steps] + ledger.compared(claim.carries)
        formulas = Counter(step["formula"] for step in shown if step["kind"] != "cited")
        assert [formula for formula, times in formulas.items() if times > 1] == [], claim.id
    assert table("| step | steps |") == [
        f"| {KINDS[kind]} | {' | '.join(map(str, row))} |" for kind, row in rows.items()
    ]
    assert f"for {len(kernel.recorded())}\ntheorems" in PAGE
