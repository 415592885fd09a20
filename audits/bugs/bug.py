"""A bug that breaks a promise of privacy, its fixed twin, and the audit that tells them apart.

A bug names its audit, as in ``Tester("privacy", data, neighbour, epsilon)``; the table has what an audit is given.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

import dpcheck
from dpcheck.errors import did_you_mean, require, require_confidence, require_count

Rng: TypeAlias = np.random.Generator

# Of a hundred fixed twins one is then called violated in at most 5 % of runs (union bound).
CONFIDENCE = 0.9995


@dataclass(frozen=True)
class Outcome:
    """``evidence`` : a sentence, the witness where there is one."""

    verdict: str
    evidence: str

    def to_dict(self) -> dict[str, str]:
        """Return both verdicts, ready for JSON."""
        return asdict(self)


def _ask(name: str, version: Callable[..., Any], given: Mapping[str, Any], chance: Mapping[str, Any]) -> Any:
    """Audit a version: the fields of a row are the audit's arguments."""
    return getattr(dpcheck, name)(version, **given, **chance)


def _ask_of_minibatches(name: str, version: Callable[..., Any], given: Mapping[str, Any], chance: Any) -> Any:
    """Audit the minibatches of one run."""
    sizes = given["population"], given["batch"], given["steps"]
    claimed = {name: value for name, value in given.items() if name != "steps"}
    return dpcheck.audit_sampling(version(*sizes, np.random.default_rng(chance["seed"])), **claimed, **chance)


def _ask_of_constants(name: str, version: Callable[..., Any], given: Mapping[str, Any], chance: Any) -> Any:
    return dpcheck.audit_constants(version, given["data"], [given["neighbour"]])


def _ask_of_events(name: str, version: Callable[..., Any], given: Mapping[str, Any], chance: Any) -> Outcome:
    """Certify; the bound of one Gaussian is exact up to rounding, so no slack is given but 0.1 %."""
    epsilon, delta = given["epsilon"], given["delta"]
    certificate = dpcheck.certify(version(epsilon, delta), delta)
    verdict = "violated" if certificate.epsilon > 1.001 * epsilon else "consistent"
    return Outcome(verdict, f"epsilon {certificate.epsilon:.4g} at delta {delta:g}: {certificate.method}")


def _on(pair: Any) -> str:
    """Name a pair of neighbours on one line."""
    shown = (repr(data.tolist() if isinstance(data, np.ndarray) else data) for data in (pair.data, pair.neighbour))
    return f"on {' and '.join(shown)}"


def _claimed(given: Any) -> str:
    from dpcheck.audits.claim import PrivacyClaim

    at = (
        PrivacyClaim.point(given.epsilon or 0.0, given.delta) if given.claim is None else PrivacyClaim.read(given.claim)
    )
    return f"{at.words} {_on(given)}"


def _clipped(given: Any) -> str:
    divisor = "the batch's size" if given.divisor == "size" else f"{given.divisor:g}"
    also = "" if given.finite else ", where a record may hold NaN"
    return f"a sum of one vector a record, of norm at most {given.bound:g}, divided by {divisor}{also}"


def _that_differ(audit: Any) -> str:
    differ = [f"{d.name} is {d.on_data} on data and {d.on_neighbour} on neighbour" for d in audit.differences]
    return "; ".join(differ) or f"{audit.constants} constants are the same on both"


@dataclass(frozen=True)
class _Row:
    """An audit of the catalogue.

    form : of the code under test;  arguments : what a bug gives, in order;  promise : of both versions, in words
    evidence : of a result, a sentence;  others : what the audit is given besides, and arguments left out
    counts : whether its verdict has an error rate, so that it takes a confidence;  ask : how it is called
    """

    form: str
    arguments: str
    promise: Callable[[Any], str]
    evidence: Callable[[Any], str] = lambda audit: str(audit.reason)
    others: Mapping[str, Any] = field(default_factory=dict)
    counts: bool = False
    ask: Callable[..., Any] = _ask


_AUDITS = {
    "audit_privacy": _Row(
        "(dataset, rng, size) -> outputs", "data neighbour epsilon delta", _claimed,
        lambda audit: f"epsilon >= {audit.epsilon_lower:.3g} at delta {audit.delta:g}; {audit.event}",
        {"epsilon": None, "delta": 0.0, "claim": None, "trials": 20_000, "vectorized": True}, counts=True,
    ),
    "audit_floating_point": _Row(
        "(dataset, rng, size) -> outputs", "data neighbour epsilon delta",
        lambda given: f"({given.epsilon:g}, {given.delta:g})-privacy of every bit of the output {_on(given)}",
        others={"delta": 0.0, "trials": 5_000, "vectorized": True}, counts=True,
    ),
    "audit_noise": _Row(
        "(dataset, rng) -> output, a constant plus independent noise", "data distribution scale",
        lambda given: f"independent {given.distribution} noise of scale {given.scale:g}",
        others={"trials": 1_000}, counts=True,
    ),
    "audit_sampling": _Row(
        "(population, batch, steps, rng) -> record numbers (steps, capacity), unused places -1",
        "scheme population batch steps",
        lambda given: f"minibatches of {given.batch} of {given.population} records drawn afresh, {given.scheme}",
        counts=True, ask=_ask_of_minibatches,
    ),
    # The audits from here on give evidence without an error rate.
    "audit_sensitivity": _Row(
        "dataset -> number or array, without noise", "dataset replacements claimed",
        lambda given: f"sensitivity {given.claimed:g} when one record is replaced",
        lambda audit: f"a replaced record moves the query by {audit.sensitivity:.6g}",
    ),
    "audit_clipping": _Row(
        "batch -> vector, without noise", "records bound divisor", _clipped,
        others={"divisor": 1.0, "finite": True},
    ),
    "audit_randomness": _Row(
        "(dataset, rng) -> output", "data neighbour epsilon",
        lambda given: f"({given.epsilon:g}, {given.delta:g})-privacy, with fresh noise from rng, {_on(given)}",
        lambda audit: "; ".join(seen.reason for seen in audit.observations if seen.verdict == audit.verdict),
        {"delta": 0.0},
    ),
    "audit_constants": _Row(
        "dataset -> constants", "data neighbour", lambda given: "constants that do not depend on the data",
        _that_differ, ask=_ask_of_constants,
    ),
    "audit_evaluation_points": _Row(
        "(oracle, rng) -> output; the oracle's answers are used through answer + noise alone", "oracle",
        lambda given: "points and output depend on the data through the noisy releases alone",
    ),
    "certify": _Row(
        "(epsilon, delta) -> events", "epsilon delta",
        lambda given: f"({given.epsilon:g}, {given.delta:g})-privacy of what the calibration returns",
        ask=_ask_of_events,
    ),
}  # fmt: skip


class Tester:
    """An audit with what both versions of a bug promise: arguments in the order of its row, others by name."""

    def __init__(self, audit: str, *values: Any, **named: Any) -> None:
        self.name = audit if audit in _AUDITS else f"audit_{audit}"
        self._row = _AUDITS[self.name]
        self.given = {**self._row.others, **dict(zip(self._row.arguments.split(), values, strict=False)), **named}

    @property
    def promise(self) -> str:
        """What both versions claim."""
        return self._row.promise(SimpleNamespace(**self.given))

    @property
    def counts(self) -> bool:
        """Whether its verdict counts runs, and can be wrong of a fixed twin."""
        return self._row.counts

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Judge one version."""
        chance = {"seed": seed, "confidence": confidence} if self.counts else {"seed": seed}
        result = self._row.ask(self.name, version, self.given, chance)
        return result if isinstance(result, Outcome) else Outcome(result.verdict, self._row.evidence(result))


@dataclass(frozen=True, eq=False)
class Bug:
    """Two versions of one piece of code that makes one promise.

    title : a sentence
    source : where it was seen: a paper, an issue or pull request of a library on GitHub; "folklore" where
        no one place is known
    explanation : what goes wrong, who is hurt, how it is fixed
    broken, fixed : the code, in the form of the tester's row
    id : its name in its file, with hyphens
    """

    title: str
    source: str
    explanation: str
    broken: Callable[..., Any]
    fixed: Callable[..., Any]
    tester: Tester
    id: str = ""

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
    entries = [entry for family in families for entry in vars(family).items() if isinstance(entry[1], Bug)]
    ids = {name.lower().replace("_", "-"): bug for name, bug in entries}
    return {id: replace(bug, id=id) for id, bug in ids.items()}


def find(names: Sequence[str]) -> list[Bug]:
    """Return the bugs of these ids or families; ``all`` stands for all of them."""
    chosen: dict[str, Bug] = {}
    for name in names:
        meant = {id: bug for id, bug in catalogue().items() if name in (id, bug.family, "all")}
        near = did_you_mean(name, [*catalogue(), *(bug.family for bug in catalogue().values())])
        require(bool(meant), "bug", "be an id or a family listed by `dpcheck bugs`, or all", f"{name}{near}")
        chosen |= meant
    return list(chosen.values())
