"""The mutation suite's lists fit the source, and in the long profile every mutant is run on a copy of the package."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from mutation.definitions import Edit, Sources
from mutation.fresh import drawn
from mutation.mutant import HARMLESS, ROOT, mutants

from dpcheck.solvers import ALGORITHMS

MUTANTS, HARMLESS_EDITS = mutants(), mutants(HARMLESS)
SOURCES = Sources()


@pytest.mark.parametrize("mutant", [*MUTANTS, *HARMLESS_EDITS], ids=lambda mutant: mutant.name)
def test_an_edit_applies_and_leaves_python(mutant):
    """Each fragment is in its definition once; what comes out can be read; a mutant changes more than words."""
    edited = SOURCES.edited(mutant.edits, mutant.name)
    for path, text in edited.items():
        changed = ast.dump(ast.parse(text)) != ast.dump(ast.parse(SOURCES.texts[path]))
        assert changed or mutant.area == HARMLESS
    assert mutant.area == HARMLESS or (edited and mutant.part and mutant.why)
    assert set(mutant.check) <= set(ALGORITHMS)


def package(folder, **texts):
    """A package with modules of these texts."""
    (folder / "some").mkdir()
    for name, text in texts.items():
        (folder / "some" / f"{name}.py").write_text(text, "utf-8")
    return Sources(folder / "some")


class TestAnEdit:
    ONE = (
        "X, LIMIT = 1, 2\n\n\nclass One:\n    def run(self):\n        'Return six.'\n"
        "        a = (2 *\n             3)  # six\n        return a\n"
    )
    TWO = "def run(x):\n    if x:\n        y = f(2 * x)\n    return y\n"

    def test_outlives_a_move_another_layout_and_comments(self, tmp_path):
        edit = Edit("One.run", "2 * 3", "2 + 3")
        ((path, text),) = package(tmp_path, one=self.ONE, two=self.TWO).edited([edit]).items()
        assert path == "some/one.py"
        assert text == self.ONE.replace("2 *\n             3", "(2 + 3)")
        (tmp_path / "some" / "one.py").rename(tmp_path / "some" / "moved.py")
        moved = self.ONE.replace("2 *\n             3", "2*3").replace("  # six", "")
        (tmp_path / "some" / "moved.py").write_text("# moved\n" + moved)
        assert list(Sources(tmp_path / "some").edited([edit])) == ["some/moved.py"]

    def test_takes_statements_and_leaves_a_body(self, tmp_path):
        sources = package(tmp_path, two=self.TWO)
        assert "if x:\n        pass\n" in sources.edited([Edit("run", "y = f(2*x)", "")])["some/two.py"]
        both = [Edit("run", "if x:\n    y = f(2 * x)", "y = g(x)"), Edit("run", "return y", "return y\nreturn x")]
        assert sources.edited(both)["some/two.py"] == "def run(x):\n    y = g(x)\n    return y\n    return x\n"

    def test_names_a_constant_and_needs_a_hint_where_two_hold_it(self, tmp_path):
        sources = package(tmp_path, dp_one=self.ONE + self.TWO, two=self.TWO)
        assert "X, LIMIT = ((1, 3))\n" in sources.edited([Edit("LIMIT", "1, 2", "1, 3")])["some/dp_one.py"]
        for hint, path in (("One", "dp_one"), ("DPOne", "dp_one"), ("two", "two")):
            assert list(sources.edited([Edit("run", "f(2 * x)", "x", hint)])) == [f"some/{path}.py"]
        for edit, words in (
            (Edit("run", "f(2 * x)", "x"), r"2 times in run \(hint: none\)"),
            (Edit("run", "f(3 * x)", "x", "two"), r"0 times in run \(hint: two\)"),
            (Edit("gone", "x", "y"), "defined in no module"),
        ):
            with pytest.raises(ValueError, match=words):
                sources.edited([edit])


def test_fresh_mutants_are_those_of_their_seed_and_fit():
    def near(module):
        return module.startswith("dpcheck.algorithms.kernels.")

    first, again, other = (drawn(seed, 12, SOURCES, near) for seed in (1, 1, 2))
    assert first == again != other
    for mutant in first:
        ((path, text),) = SOURCES.edited(mutant.edits).items()
        assert path.startswith("dpcheck/algorithms/kernels/")
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SOURCES.texts[path]))
    assert len({mutant.name.partition(" ")[2] for mutant in first}) > 3


@pytest.mark.experiment  # some hours on one core; a table that is kept is gone on with
@pytest.mark.parametrize("options", [[], ["--harmless"]], ids=["mutants", "harmless edits"])
def test_planted_faults_are_killed(options):
    """95 % are killed, the others are explained, 80 % of red findings name the part; harmless edits change none."""
    done = subprocess.run([sys.executable, "-m", "tests.mutation", *options], cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout
