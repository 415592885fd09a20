"""The 200 lemmas that are typed as a line: their truth, by 50 digits, and what is decided of them."""

from __future__ import annotations

import itertools
import random

import lemmas
import mpmath
import pytest
import tables
from files import ROOT
from lemma_text import DIGITS, Lemma, point, value

import dpcheck
from dpcheck.bounds.text import parse

TABLE = tables.read("lemmas").fillna("")
TRUE, FALSE = TABLE[TABLE.truth], TABLE[~TABLE.truth]
SLICE = ("bernoulli", "exp_minus_one_doubled", "geometric_wrong", "stability_sum", "accelerated_momentum")


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(DIGITS):
        yield


def points(lemma: Lemma, name: str, count: int):
    rng = random.Random(name)
    drawn = (lemma.drawn(rng) for _ in range(100 * count))
    return [at for at in drawn if at is not None][:count]


def holds(name: str, text: str, count: int) -> bool:
    lemma = Lemma(text)
    tried = points(lemma, name, count)
    assert len(tried) == count, name
    return all(lemma.gap(at) < mpmath.mpf(10) ** -40 for at in tried)


def test_half_of_the_200_are_true_and_a_hundred_were_drawn_to_be_set_aside():
    assert len(TABLE) == len(set(TABLE.name)) == len(set(TABLE.statement)) == 200
    assert len(TRUE) == 100
    assert set(TABLE[TABLE.half == "aside"].name) == lemmas.drawn(list(TABLE.name))
    assert (TABLE.half == "open").sum() == 100
    for _, group in TABLE.groupby(TABLE.name.map(lemmas.kindred)):
        assert group.half.nunique() == 1


def test_every_false_lemma_fails_at_its_witness():
    for lemma in FALSE.itertuples():
        at = point(lemma.witness)
        assert Lemma(lemma.statement).admits(at), lemma.name
        assert Lemma(lemma.statement).gap(at) > 1e-8, lemma.name


def test_every_fifth_true_lemma_holds_at_a_few_points():
    assert all(holds(lemma.name, lemma.statement, 3) for lemma in TRUE[::5].itertuples())


@pytest.mark.thorough
def test_true_lemmas_hold_at_many_points():
    assert all(holds(lemma.name, lemma.statement, 100) for lemma in TRUE.itertuples())


def test_no_verdict_of_the_table_is_wrong():
    decided = tables.read("lemmas_decided")
    ours = decided[decided.tool == "dpcheck"]
    assert set(ours.name) == set(TABLE.name)
    assert not (ours.verdict == ours.truth.map({True: "refuted", False: "proved"})).any()
    right = ours.verdict == ours.truth.map({True: "proved", False: "refuted"})
    true, false = (int((right & (ours.truth == truth)).sum()) for truth in (True, False))
    said = f"{true} of the 100 true ones were proved and {false} of the 100 false ones refuted"
    assert said in (ROOT / "docs" / "theorems.md").read_text("utf-8")


@pytest.mark.thorough
def test_five_lemmas_are_decided_as_the_table_has_it(tmp_path):
    rows = TABLE.set_index("name").loc[list(SLICE)]
    (tmp_path / "lemmas.txt").write_text("\n".join(rows.statement))
    found = dpcheck.prove(str(tmp_path / "lemmas.txt"), jobs=1)
    assert [result.verdict for result in found] == ["proved" if truth else "refuted" for truth in rows.truth]


def test_the_grammar_reads_what_a_second_reader_computes():
    """Both sides of lemmas at a random point: the trees of ``dpcheck.prove`` against Python's parser and mpmath."""
    read = 0
    for row in TABLE[::3].itertuples():
        lemma = Lemma(row.statement)
        (at,) = points(lemma, row.name, 1)
        try:
            trees = parse(row.statement).relations
        except dpcheck.InputError:
            continue
        numbers = {name: number for name, number in at.items() if not isinstance(number, tuple)}
        places = {name: number for name, number in at.items() if isinstance(number, tuple)}
        for first, second in itertools.combinations_with_replacement(sorted(places), 2):
            numbers[f"<{first}, {second}>"] = sum(a * b for a, b in zip(places[first], places[second], strict=True))
        for (_, *sides), (left, _, right) in zip(trees, lemma.relation, strict=True):
            for tree, node in zip(sides, (left, right), strict=True):
                expected = value(node, at)
                assert abs(computed(tree, numbers) - expected) <= 1e-40 * max(1, abs(expected)), row.name
        read += 1
    assert read == len(TABLE[::3])


def computed(tree, at):
    """The value of a tree of terms."""
    head, *parts = tree
    if head == "number":
        return mpmath.mpf(int(parts[0], 16)) / int(parts[1], 16)
    if head == "constant":
        return {"E": mpmath.e, "pi": mpmath.pi}[parts[0]] + 0
    if head == "letter":
        return at[parts[0]]
    if head in ("Sum", "Product"):
        body, (_, (_, letter, _), low, high) = parts
        span = range(int(computed(low, at)), int(computed(high, at)) + 1)
        terms = (computed(body, {**at, letter: mpmath.mpf(k)}) for k in span)
        return mpmath.fsum(terms) if head == "Sum" else mpmath.fprod(terms)
    values = [computed(part, at) for part in parts]
    if head == "Pow":
        return mpmath.mpf(1) if values[1] == 0 else values[0] ** values[1]
    made = {"Add": mpmath.fsum, "Mul": mpmath.fprod, "Max": max, "Min": min}
    return made[head](values) if head in made else getattr(mpmath, head)(*values)
