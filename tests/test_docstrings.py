"""Docstrings of what users touch: NumPy style, complete, and with examples that run; fragments nowhere."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import inspect
import re
import sys
from pathlib import Path

import numpydoc.validate as numpydoc
import pytest
from public import methods, public, top

PACKAGE = Path(sys.modules["dpcheck"].__file__).parent
PUBLIC, TOP = public(), top()
# A summary that is one sentence; parameters that are those of the signature, with types and descriptions that are
# sentences; what is returned; sections that numpydoc knows, in its order. Not asked for: a longer summary, "See Also",
# and sections where there is nothing to say.
CHECKS = {
    "GL03", "GL06", "GL07", "GL08", "GL10", "SS01", "SS02", "SS03", "SS05", "SS06",
    "PR02", "PR03", "PR04", "PR05", "PR07", "PR08", "PR09", "PR10", "RT02", "RT03", "RT04", "RT05", "YD01",
}  # fmt: skip
# What begins like this continues a sentence that is not there.
FRAGMENT = re.compile(r"(Of|None|The same|Likewise|As|With|Without|From|At|By|In|Not|Same|Up to|For)\b(?! each\b)")


class Docstring(numpydoc.Validator):
    """numpydoc's reading of an object that need not be found by a dotted name."""

    def __init__(self, name: str, thing: object) -> None:
        self._name = name
        super().__init__(numpydoc.get_doc_object(thing))

    @property
    def name(self) -> str:
        return self._name


def documented() -> dict[str, object]:
    """Public functions, classes, and their methods that take arguments and are not described by a base class."""
    found = dict(PUBLIC)
    for name, thing in PUBLIC.items():
        if inspect.isclass(thing):
            for method, function in methods(thing):
                found[f"{name}.{method}"] = function
    return found


def faults(name: str, thing: object) -> list[str]:
    read = Docstring(name, thing)
    return [f"{code}: {said}" for code, said in numpydoc.validate(read)["errors"] if code in CHECKS]


@pytest.mark.parametrize("name", documented())
def test_numpydoc(name):
    assert not faults(name, documented()[name])
