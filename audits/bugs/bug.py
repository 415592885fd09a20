"""A bug that breaks a promise of privacy, its fixed twin, and the audit that tells them apart."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dpcheck.audits.bugs.testers import Outcome, Tester
from dpcheck.errors import did_you_mean, require, require_confidence, require_count

Rng: TypeAlias = np.random.Generator

# Of a hundred fixed twins one is then called violated in at most 5 % of runs (union bound).
CONFIDENCE = 0.9995


@dataclass(frozen=True, eq=False)
class Bug:
    """Two versions of one piece of code that makes one promise.

    id, title : a short name and a sentence
    source : where it was seen: a paper, an issue or pull request of a library on GitHub; "folklore" where
        no one place is known
    explanation : what goes wrong, who is hurt, how it is fixed
    broken, fixed : the code, in the form that ``tester`` asks for
    """

    id: str
    title: str
    source: str
    explanation: str
    broken: Callable[..., Any]
    fixed: Callable[..., Any]
    tester: Tester

    @property
    def family(self) -> str:
        """The file of this folder that holds it."""
        return self.broken.__module__.rpartition(".")[2]

    @property
    def code(self) -> tuple[str, str]:
        """Source text of the broken version and of the fixed one."""
        return inspect.getsource(self.broken), inspect.getsource(self.fixed)

    @property
    def shared(self) -> str:
        """Source text of what the two versions use of their file: constants, then functions."""
        constants: dict[str, str] = {}
        functions: dict[str, str] = {}
        for version in (self.broken, self.fixed):
            _uses(version, constants, functions)
        for version in (self.broken, self.fixed):
            functions.pop(version.__name__, None)
        return "\n\n".join(part for part in ("\n".join(constants.values()), *functions.values()) if part)

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the bug without running it, ready for JSON."""
        broken, fixed = self.code
        return {
            "id": self.id,
            "title": self.title,
            "family": self.family,
            "source": self.source,
            "caught_by": self.tester.name,
            "promise": self.tester.promise,
            "explanation": self.explanation,
            "shared": self.shared,
            "broken": broken,
            "fixed": fixed,
        }


@dataclass(frozen=True, eq=False)
class Examination:
    """Both versions audited alike."""

    bug: Bug
    broken: Outcome
    fixed: Outcome

    @property
    def told_apart(self) -> bool:
        """Whether the broken version was called violated, and the fixed one not."""
        return self.broken.verdict == "violated" != self.fixed.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the bug, both verdicts and their evidence, ready for JSON."""
        outcomes = {"broken": self.broken.to_dict(), "fixed": self.fixed.to_dict()}
        return {**self.bug.to_dict(), "told_apart": self.told_apart, "outcomes": outcomes}


def _uses(function: Any, constants: dict[str, str], functions: dict[str, str]) -> None:
    """Add what ``function`` and those that it calls use of their own file, by name."""
    names, codes = set(), [function.__code__]
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [part for part in code.co_consts if inspect.iscode(part)]
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        if name.isupper():
            constants[name] = textwrap.shorten(f"{name} = {value!r}", 90, placeholder=" ...")
        elif inspect.isfunction(value) and value.__module__ == function.__module__ and name not in functions:
            functions[name] = inspect.getsource(value).rstrip()
            _uses(value, constants, functions)


def examine(bug: Bug, *, seed: int = 0, confidence: float = CONFIDENCE) -> Examination:
    """Audit the broken version and the fixed one, which is called violated with chance at most ``1 - confidence``."""
    require_count(seed, "seed", least=0)
    require_confidence(confidence)
    return Examination(bug, *(bug.tester.run(version, seed, confidence) for version in (bug.broken, bug.fixed)))


@cache
def catalogue() -> dict[str, Bug]:
    """Return all bugs of this folder by id: those of one file are a family, in the order in which they stand there."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    families = [importlib.import_module(f"{__package__}.{module.name}") for module in modules]
    return {bug.id: bug for family in families for bug in vars(family).values() if isinstance(bug, Bug)}


def find(names: Sequence[str]) -> list[Bug]:
    """Return the bugs of these ids or families; ``all`` stands for all of them."""
    chosen: dict[str, Bug] = {}
    for name in names:
        meant = {id: bug for id, bug in catalogue().items() if name in (id, bug.family, "all")}
        near = did_you_mean(name, [*catalogue(), *(bug.family for bug in catalogue().values())])
        require(bool(meant), "bug", "be an id or a family listed by `dpcheck bugs`, or all", f"{name}{near}")
        chosen |= meant
    return list(chosen.values())
