"""The mutation suite's lists fit the source, and in the long profile every mutant is run on a copy of the package."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from mutation.definitions import Sources
from mutation.mutant import HARMLESS, ROOT, mutants

from dpcheck.solvers import ALGORITHMS

MUTANTS, HARMLESS_EDITS = mutants(), mutants(HARMLESS)
SOURCES = Sources()


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", [*MUTANTS, *HARMLESS_EDITS], ids=lambda mutant: mutant.name)
def test_an_edit_applies_and_leaves_python(mutant):
    """Each fragment is in its definition once; what comes out can be read; a mutant changes more than words."""
    edited = SOURCES.edited(mutant.edits, mutant.name)
    for path, text in edited.items():
        changed = ast.dump(ast.parse(text)) != ast.dump(ast.parse(SOURCES.texts[path]))
        assert changed or mutant.area == HARMLESS
    assert mutant.area == HARMLESS or (edited and mutant.part and mutant.why)
    assert set(mutant.check) <= set(ALGORITHMS)


@pytest.mark.experiment  # some hours on one core; a table that is kept is gone on with
@pytest.mark.parametrize("options", [[], ["--harmless"]], ids=["mutants", "harmless edits"])
def test_planted_faults_are_killed(options):
    """95 % are killed, the others are explained, 80 % of red findings name the part; harmless edits change none."""
    done = subprocess.run([sys.executable, "-m", "tests.mutation", *options], cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout
