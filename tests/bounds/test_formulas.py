"""The formulas that people type: kept where they are proved, broken where the record says so, beside exact values."""

from __future__ import annotations

import itertools
import math

import formulas as measure
import pytest
import tables

from dpcheck.bounds.formulas import exact
from dpcheck.bounds.formulas.formula import formula, formulas, text
from dpcheck.cli import main
from dpcheck.errors import InputError

FORMULAS = formulas()
QUICK = [name for name, of in FORMULAS.items() if of.room < 1e-3]


@pytest.mark.parametrize("name", QUICK)
def test_a_formula_is_not_below_the_exact_value_where_it_is_proved(name):
    of = FORMULAS[name]
    found = [of.at(**values) for values in measure.settings(of, 4, inside=True, seed=1)]
    assert len(found) == (4 if of.proved else 0)
    assert all(at.kept and not at.outside for at in found)


@pytest.mark.parametrize("name", [name for name, of in FORMULAS.items() if of.wrong_at and name in QUICK])
def test_a_formula_is_broken_where_its_record_says(name):
    of = FORMULAS[name]
    at = of.at(**of.wrong_at)
    assert not at.kept and at.outside
    assert at.promised < 0.97 * at.exact


def test_a_formula_that_is_proved_nowhere_has_a_setting_at_which_it_is_wrong():
    assert all(of.wrong_at for of in FORMULAS.values() if not of.proved)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(FORMULAS.keys() - set(QUICK)))
def test_a_formula_of_sampled_runs_is_kept_and_broken_where_its_record_says(name):
    of = FORMULAS[name]
    assert all(of.at(**values).kept for values in measure.settings(of, 3, inside=True, seed=1))
    if of.wrong_at:
        at = of.at(**of.wrong_at)
        assert not at.kept and at.promised < 0.97 * at.exact


def test_the_table_has_every_formula_and_none_broken_in_its_region():
    table = tables.read("formulas").set_index("formula")
    assert set(table.index) == set(FORMULAS) and len(table) >= 30
    assert (table["broken inside"] == 0).all()
    for name, of in FORMULAS.items():
        assert table.loc[name, "settings inside"] == (measure.INSIDE if of.proved else 0), name


@pytest.mark.thorough
def test_a_row_of_the_table_comes_out_again():
    row = tables.read("formulas").set_index("formula").loc["advanced_composition"]
    again = measure.measured(FORMULAS["advanced_composition"])
    for column in ("least slack", "median slack", "worst slack"):
        assert again[column] == pytest.approx(row[column], rel=1e-4)


def test_pure_composition_is_that_of_all_strings_of_answers():
    epsilon_0, count = 0.7, 5
    p = math.exp(epsilon_0) / (1 + math.exp(epsilon_0))
    for epsilon in (0.3, 1.4, 3.0):
        delta = 0.0
        for answers in itertools.product((0, 1), repeat=count):
            here = math.prod(p if answer else 1 - p for answer in answers)
            there = math.prod(1 - p if answer else p for answer in answers)
            delta += max(0.0, here - math.exp(epsilon) * there)
        assert exact.pure_delta(epsilon_0, count, epsilon) == pytest.approx(delta, rel=1e-12)
        assert exact.pure(epsilon_0, count, delta) == pytest.approx(epsilon, rel=1e-9)


def test_shuffled_answers_are_those_of_all_answers_of_four_records():
    epsilon_0, delta = 1.5, 0.02
    p = math.exp(epsilon_0) / (1 + math.exp(epsilon_0))

    def counts(records):
        law = [0.0] * (len(records) + 1)
        for answers in itertools.product((0, 1), repeat=len(records)):
            chance = math.prod(p if a == r else 1 - p for a, r in zip(answers, records, strict=True))
            law[sum(answers)] += chance
        return law

    def spent(others):
        laws = [counts((bit, *others)) for bit in (0, 1)]
        low, high = 0.0, epsilon_0
        for _ in range(60):
            middle = (low + high) / 2
            pairs = (laws, laws[::-1])
            over = max(sum(max(0.0, a - math.exp(middle) * b) for a, b in zip(*pair, strict=True)) for pair in pairs)
            low, high = (middle, high) if over > delta else (low, middle)
        return low

    assert exact.shuffled(epsilon_0, 4, delta) == pytest.approx(max(spent((0, 0, 0)), spent((1, 0, 0))), rel=1e-8)


def test_show_prints_the_formula_beside_the_exact_value_in_80_columns(capsys):
    assert main(["show", "advanced_composition", "epsilon=.1", "k=100"]) == 0
    shown = capsys.readouterr().out
    at = formula("advanced_composition").at(epsilon=0.1, k=100)
    assert at.promised == pytest.approx(0.1 * math.sqrt(200 * math.log(1e5)) + 10 * math.expm1(0.1), rel=1e-12)
    assert f"{at.promised:.6g}" in shown and f"{at.exact:.6g}" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_formula_says_what_it_cannot_compute():
    for values, word in (
        ({"k": 3}, "epsilon"),
        ({"epsilon": 1, "k": 3, "q": 1}, "q"),
        ({"epsilon": -1, "k": 3}, "epsilon"),
    ):
        with pytest.raises(InputError, match=word):
            formula("advanced_composition").at(**values)
    with pytest.raises(InputError, match="advanced_composition"):
        formula("advanced_compositon")


@pytest.mark.parametrize("name", ["classical_gaussian", "rdp_third", "group_delta"])
def test_every_kind_of_formula_is_described(name):
    of = FORMULAS[name]
    values = next(measure.settings(of, 1, inside=True))
    described = text(of, values)
    assert of.typed.split()[0] in described and f"{of.at(**values).exact:.6g}" in described
