"""Claims of a file as plain trees, on their way from the process that ran the file to the one that judges them.

The file may have patched whatever it likes where it ran. Nothing of that crosses: trees hold words and exact numbers,
and are grown into fresh steps by code that the file never touched. What a function of the file returned is a number
that the file reports, and is called that.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import sympy

from dpcheck.bounds import terms, wording
from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Claim
from dpcheck.bounds.coq import kernel
from dpcheck.bounds.coq.statement import statement
from dpcheck.bounds.decision import BY_HAND, Basis, Decision, decided
from dpcheck.bounds.evidence import (
    AtMost,
    Below,
    Cited,
    Counterexample,
    Domain,
    Enumerated,
    Identity,
    Inequality,
    Quoted,
    Searched,
    over,
)
from dpcheck.bounds.judge import judge
from dpcheck.bounds.ledger import SHARES, ClaimResult
from dpcheck.bounds.prover import limit
from dpcheck.bounds.statement import Carried, Statement
from dpcheck.errors import InputError, one_line, raised, require

STEPS = (AtMost, Below, Cited, Counterexample, Dominated, Enumerated, Exceeds, Identity, Inequality, NotPrivate,
         Private, Quoted, Searched)  # fmt: skip
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (*STEPS, Carried, Domain, Statement)}
_ALL, _, _STEPS_ONLY, _ = SHARES
_OF_THE_TIME = 0.95  # of a claim, for all that is searched for
_SECONDS = 20.0  # that Coq may take for one proof
_ARGUED = ("verdict", "note", "readings", "condition", "repaired", "differs")


class Reported:
    """A function of a file, which ran where the file was read: called here, it returns what the file reported."""

    TRUST = "file"

    def __init__(self, name: str, value: Any) -> None:
        self.__module__, self.__name__ = "file", name
        self._value = value

    def __call__(self, *_: Any) -> Any:
        """Return what was reported."""
        return self._value


def tree(claim: Claim) -> dict[str, Any]:
    """Return what a claim states and how it is argued, where its file was read; its functions are called."""
    decision: Any = claim.decision()
    require(isinstance(decision, Decision), "a decision", "be a Decision", type(decision).__name__)
    evidence = decision.evidence
    argued = {"steps": decision.relations or evidence.steps, "note": decision.note, "repaired": evidence.repaired}
    if not decision.relations:
        named = {"verdict": decision.verdict, "condition": evidence.condition, "differs": evidence.differs}
        argued |= named | {"readings": tuple(dict(evidence.readings).items())}
    named = {name: getattr(claim, name) for name in ("id", "paper", "kind", "statement", "location", "carries")}
    return {name: _tree(value) for name, value in (named | argued).items()}


def _tree(value: Any) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if isinstance(value, str):
        return str(value)
    if kind is float:
        return ["float", value.hex()]
    if kind in (int, Fraction):
        return [kind.__name__, hex(value.numerator), hex(value.denominator)]
    if isinstance(value, sympy.Basic):
        return terms.tree(value)
    if kind in (tuple, list):
        return ["tuple", *map(_tree, value)]
    if isinstance(value, Mapping):
        return ["map", *([_tree(key), _tree(entry)] for key, entry in value.items())]
    if kind is Region:
        return ["Region", *map(_tree, value.relations)]
    require(_KINDS.get(kind.__name__) is kind, "a step of a file", f"be one of {', '.join(_KINDS)}", kind.__name__)
    parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    if kind is Domain and value.empty:
        parts["where"] = (*value.where, False)
    if kind is Enumerated:
        parts["function"] = _report(value.function, value.function(*value.arguments))
    elif kind is Searched:
        parts["function"] = _report(value.function, value.bound if value.holds() else float("inf"))
    return [kind.__name__, {name: entry if name == "function" else _tree(entry) for name, entry in parts.items()}]


def _report(function: Callable[..., Any], value: Any) -> list[Any]:
    fit = type(value) in (int, float, Fraction)
    require(fit, f"what {function.__name__} returns", "be a whole number or a fraction", type(value).__name__)
    return ["Reported", str(function.__name__), _tree(value)]


def _grown(node: Any) -> Any:
    """Return the value of a tree; words lose what a terminal would obey."""
    if node is None or type(node) is bool:
        return node
    if type(node) is str:
        return one_line(node)
    require(isinstance(node, list) and bool(node) and type(node[0]) is str, "a tree", "be a list with a head", node)
    head, *rest = node
    if head == "float":
        return float.fromhex(*rest)
    if head in ("int", "Fraction"):
        value = Fraction(*(int(part, 16) for part in rest))
        return value if head == "Fraction" else int(value)
    if head == "tuple":
        return tuple(map(_grown, rest))
    if head == "map":
        return {_grown(key): _grown(value) for key, value in rest}
    if head == "over":
        domain = over(*map(terms.grown, rest))
        terms.distinct(domain.intervals)
        return domain
    if head == "Region":
        return Region(*map(_grown, rest))
    if head == "Reported":
        name, value = rest
        return Reported("".join(c if c.isalnum() else "_" for c in str(name)), _grown(value))
    if head not in _KINDS:
        return terms.grown(node)
    (parts,) = rest
    return _KINDS[head](**{name: _grown(value) for name, value in parts.items()})


def claim(node: Any) -> tuple[Claim, tuple[Any, ...]]:
    """Return the claim of a tree, to be decided here, and the relations that it states, if it is judged.

    Raises :class:`~dpcheck.errors.InputError` for what is no tree of a claim.
    """
    try:
        parts = {name: _grown(value) for name, value in node.items()}
        steps = parts.pop("steps")
        require(all(isinstance(step, STEPS) for step in steps), "a step", "be one of a known kind", steps)
        if "verdict" not in parts:
            note, repaired = parts.pop("note"), parts.pop("repaired")
            return Claim(**parts, decision=judge(*steps, note=note, repaired=repaired)), steps
        argued = {name: parts.pop(name) for name in _ARGUED}
        readings = dict(argued.pop("readings"))
        return Claim(**parts, decision=lambda: decided(steps=steps, method=(), readings=readings, **argued)), ()
    except InputError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        raise InputError(f"what a file sends must be a claim, got {raised(error)}") from error


def result(
    stated: Claim, relations: tuple[Any, ...], answered: Callable[[ClaimResult], object] | None = None
) -> ClaimResult:  # fmt: skip
    """Decide a claim of a file; ``answered`` is called with the result once the verdict is known.

    The text of a judged one is that of its relations, whatever its author's words are; what rests on a number that the
    file reports is not judged, and how much a kernel accepted is read off the relations alone.
    """
    early = None if answered is None else lambda known: answered(_worded(known, relations))
    return _worded(stated.decide(early), relations)


def _worded(reached: ClaimResult, relations: tuple[Any, ...]) -> ClaimResult:
    """Return a result with the text of its relations, and with the kernel's word for them alone."""
    everything = relations and reached.verdict == "proved" and all(map(kernel.accepted, relations))
    reached = replace(reached, kernel=_ALL if everything else _STEPS_ONLY if reached.kernel else "")
    if not relations:
        return reached
    reported = any(isinstance(getattr(step, "function", None), Reported) for step in relations)
    basis: Basis = BY_HAND if reported else "judged"
    return replace(reached, basis=basis, judged=wording.text(relations), judged_latex=wording.latex(relations))


def answer(request: Mapping[str, Any], known: Callable[[Any], object] = lambda answer: None) -> Any:
    """Return what a claim is called, in plain words, and its result: what a worker that judges sends.

    ``known`` is given the same as soon as there is a verdict, before Coq has a word. What is searched for ends with the
    time of the claim, ``seconds``.

    With a ``library``, Coq is asked to prove the steps; with ``export`` they are written as a file of theorems.
    """
    stated, relations = claim(request["claim"])
    require(stated.id == one_line(request["id"]), "a claim", "be the one that was asked for", stated.id)
    named = (stated.id, stated.paper, str(stated.kind), str(stated.statement), stated.location)
    limit.deadline = time.monotonic() + _OF_THE_TIME * float(request.get("seconds", "inf"))
    reached = result(stated, relations, lambda early: known((named, early.fields())))
    if request.get("library") or request.get("export"):
        from dpcheck.bounds.coq import scripts

        steps = stated.decision().evidence.steps or relations
        proofs = scripts.prove(steps, _session(request["library"])) if request.get("library") else {}
        if request.get("library"):
            reached = _accepted(reached, steps, relations, proofs)
        reached = replace(reached, coq=scripts.file(reached, steps, proofs) if request.get("export") else "")
    return named, reached.fields()


@functools.cache
def _session(library: str) -> kernel.Session:
    """Return the Coq of this process, which loads the real numbers once."""
    return kernel.Session(Path(library), _SECONDS)


def _accepted(
    reached: ClaimResult, steps: Sequence[Any], relations: Sequence[Any], proofs: Mapping[str, str]
) -> ClaimResult:
    """Return the result with the word of the kernel for what it has just accepted, and for nothing else."""

    def by_kernel(step: Any) -> bool:
        stated = statement(step)
        return stated is not None and stated.sha256 in proofs

    for step, shown in zip(steps, reached.evidence["steps"], strict=False):
        if by_kernel(step) or shown["trust"] == "kernel":
            shown["trust"] = "kernel" if by_kernel(step) else "replayed"
    everything = relations and reached.verdict == "proved" and all(map(by_kernel, relations))
    return replace(reached, kernel=_ALL if everything else _STEPS_ONLY if proofs else "")
