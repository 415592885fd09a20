"""The mutation suite's lists fit the source, and in the long profile every edit is run on a copy of the package."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter

import pytest
from mutation.mutant import HARMLESS, ROOT, mutants

from dpcheck.solvers import ALGORITHMS

MUTANTS, EDITS = mutants(), mutants(HARMLESS)


@pytest.mark.parametrize("mutant", [*MUTANTS, *EDITS], ids=lambda mutant: mutant.name)
def test_an_edit_applies_and_leaves_python(mutant):
    """Each old text is in its file once; what comes out can be read; a mutant changes more than words for people."""
    text = (ROOT / mutant.file).read_text("utf-8")
    changed = ast.parse(mutant.applied(text))
    if mutant.area != HARMLESS:
        assert ast.dump(changed) != ast.dump(ast.parse(text))
        assert mutant.part and mutant.why
    assert set(mutant.check) <= set(ALGORITHMS)


def test_the_suite_is_as_wide_as_it_says():
    """Names are unique, no fault is planted twice, every algorithm and every layer has some, half are new."""
    assert len(MUTANTS) >= 120
    assert len(EDITS) >= 40
    assert max(Counter(each.name for each in (*MUTANTS, *EDITS)).values()) == 1
    assert max(Counter((each.file, each.edits) for each in MUTANTS).values()) == 1
    assert {name for each in MUTANTS for name in each.check} == set(ALGORITHMS)
    assert sum(not each.known for each in MUTANTS) >= len(MUTANTS) / 2
    layers = {each.path.split("/")[1] for each in MUTANTS}
    assert {"solvers", "kernels", "problems", "bases", "bounds", "audits", "accounting.py", "events"} <= layers


@pytest.mark.experiment  # some hours on one core; a table that is kept is gone on with
@pytest.mark.parametrize("options", [[], ["--harmless"]], ids=["mutants", "harmless edits"])
def test_planted_faults_turn_the_check_red(options):
    """95 % turn it red, the others are explained, 80 % of red findings name the part; harmless edits change none."""
    done = subprocess.run([sys.executable, "-m", "tests.mutation", *options], cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout
