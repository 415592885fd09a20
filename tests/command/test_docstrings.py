"""Docstrings of what users touch: NumPy style, complete, with examples that run; and fragments nowhere."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import sys
from pathlib import Path

import numpydoc.validate
import pytest
from numpydoc.docscrape import get_doc_object
from public import methods, public, top

import dpcheck
from dpcheck.algorithms.problem import Problem

PACKAGE = Path(dpcheck.__file__).parent
PUBLIC, TOP = public(), top()
# A summary that is one sentence; parameters that are those of the signature, with types, and descriptions that are
# sentences; what is returned; sections that numpydoc knows, in its order. Not asked for: a longer summary (ES01), See
# Also (SA01), a capital letter where a description begins with a letter of the paper (PR08, RT04), and a section for
# what a summary returns (RT01).
CHECKS = {
    "GL03", "GL06", "GL07", "GL08", "GL10", "SS01", "SS02", "SS03", "SS05", "SS06",
    "PR01", "PR02", "PR03", "PR04", "PR05", "PR07", "PR09", "PR10", "RT02", "RT03", "RT05", "YD01",
}  # fmt: skip


class Docstring(numpydoc.validate.Validator):
    """numpydoc's reading of an object, where a dataclass may call its fields attributes, as results do."""

    def __init__(self, obj_name: object) -> None:  # so numpydoc calls what it is given
        super().__init__(get_doc_object(obj_name, config={"show_class_members": False}))

    source_file_name = source_file_def_line = None  # where numpydoc looks for comments that silence it

    @property
    def doc_all_parameters(self):
        sections = ["Parameters", "Other Parameters"]
        fields = "__dataclass_fields__" in vars(self.obj) if inspect.isclass(self.obj) else False
        return self._doc_parameters([*sections, "Attributes"] if fields else sections)

    @property
    def signature_parameters(self):
        protocol = getattr(self.obj, "_is_protocol", False)
        if inspect.isclass(self.obj) and (protocol or "__init__" not in vars(self.obj)):
            return tuple(self.doc_all_parameters)  # a base class has the constructor, and says what it takes
        found = super().signature_parameters
        registered = inspect.isclass(self.obj) and self.obj.__module__.startswith("dpcheck.problems.")
        return tuple(name for name in found if not (registered and name == "name"))  # which is a constant


def documented() -> dict[str, object]:
    """The public functions and classes, and the methods of the classes."""
    found = dict(PUBLIC)
    for thing in PUBLIC.values():
        if inspect.isclass(thing):
            found |= {f"{each.__module__}.{each.__qualname__}": each for _, each in methods(thing)}
    return found


def spared(thing: object) -> set[str]:
    """What a method need not have, since a base class has it, or since a problem's have their shapes in one line."""
    owner, _, name = getattr(thing, "__qualname__", "").rpartition(".")
    if inspect.isclass(thing) or not owner:
        return set()
    problem = thing.__module__.startswith(("dpcheck.problems.", "dpcheck.algorithms.problem"))
    bases = inspect.getmro(getattr(sys.modules[thing.__module__], owner, object))[1:]
    above = [vars(base)[name].__doc__ or "" for base in (*bases, Problem) if name in vars(base)]
    brief = problem and (name == "sample" or "Parameters\n" not in (thing.__doc__ or ""))
    found = {"PR01"} if brief or any("Parameters\n" in text for text in above) else set()
    found |= {"YD01"} if any(above) else set()  # a base class says what is yielded
    return found | ({"GL08"} if problem and owner != "Problem" and any(above) else set())


def faults(thing: object) -> list[str]:
    """What numpydoc finds, of the checks that are asked for."""
    said = numpydoc.validate.validate(thing, validator_cls=Docstring)["errors"]
    return [f"{code} {text}" for code, text in said if code in CHECKS - spared(thing)]


DOCUMENTED = documented()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_sections(name):
    assert not faults(DOCUMENTED[name]), name


@pytest.mark.parametrize("name", [name for name, thing in TOP.items() if inspect.isfunction(thing)])
def test_a_top_level_function_has_every_section(name):
    sections = Docstring(TOP[name]).section_titles
    missing = {"Parameters", "Returns", "Raises", "References", "Examples"} - set(sections)
    assert not missing, f"{name} lacks {sorted(missing)}"


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if name.endswith(".configure")])
def test_a_schedule_names_its_source(name):
    sections = Docstring(DOCUMENTED[name]).section_titles
    assert {"Parameters", "Returns", "Raises"} <= set(sections), name
    assert "References" in sections or name == "dpcheck.solvers.configure", name


def with_examples() -> list[str]:
    """The modules whose docstrings have examples; those of ``bounds`` run in test_theorems.py."""
    names = [each.name for each in pkgutil.walk_packages(dpcheck.__path__, "dpcheck.")]
    return [name for name in names if not name.startswith("dpcheck.bounds") and ">>> " in source(name)]


def source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    return Path(spec.origin).read_text("utf-8")


@pytest.mark.parametrize("name", with_examples())
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
