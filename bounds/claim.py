"""A statement that a paper makes, and how the verdict on it is reached.

A claim stands in the file of its theorem: :func:`claim` gives the statement above the function that
decides it, which returns a :class:`Decision`. A statement that is a list of relations needs no
function: ``Claim(..., judge(...))``.

Verdicts are earned: :meth:`Claim.decide` recomputes all evidence. A claim stays ``unresolved`` if a
step does not hold or says nothing, if a formula of its statement occurs in no step, or if it quotes
another claim without that claim's conditions. A step that states the claim itself and has a
counterexample refutes the claim.
"""

import functools
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpcheck.bounds import wording
from dpcheck.bounds.coq.share import share
from dpcheck.bounds.decision import BY_HAND as BY_HAND
from dpcheck.bounds.decision import Basis as Basis
from dpcheck.bounds.decision import Decision as Decision
from dpcheck.bounds.decision import Evidence as Evidence
from dpcheck.bounds.decision import Verdict as Verdict
from dpcheck.bounds.decision import conditional as conditional
from dpcheck.bounds.decision import misprint as misprint
from dpcheck.bounds.decision import proved as proved
from dpcheck.bounds.decision import refuted as refuted
from dpcheck.bounds.decision import unresolved as unresolved
from dpcheck.bounds.evidence import Counterexample, Identity, Inequality
from dpcheck.bounds.evidence import Step as Step
from dpcheck.bounds.kind import TYPED
from dpcheck.bounds.kind import Kind as Kind
from dpcheck.bounds.kind import Method as Method
from dpcheck.bounds.ledger import ClaimResult as ClaimResult
from dpcheck.bounds.ledger import compared
from dpcheck.bounds.prover.limit import OutOfTime, left, limit
from dpcheck.bounds.statement import Carried, Statement
from dpcheck.bounds.statement import carries as carries
from dpcheck.errors import require
from dpcheck.source import docstring

_SHORT = 1.0  # seconds
_CONSTANT = re.compile(r"(?<!\{)\{([A-Z][A-Z_0-9]+)\}(?!\})")  # a place with the name of a constant of the module


@dataclass(frozen=True)
class Claim:
    """A checkable statement of a paper, or of one's own.

    Parameters
    ----------
    id : str
        The catalogue's id (``"Y17"``), one line.
    paper : str
        Whose statement it is.
    kind : Kind or str
        What it is about: a :class:`~dpcheck.bounds.kind.Kind`, or a word of one's own.
    statement : Statement or str
        In the words of this project. Formulas belong into a
        :func:`~dpcheck.bounds.statement.stated`, which ties them to the evidence.
    location : str
        Where the paper makes it.
    decision : callable
        Returns the :class:`Decision`; :func:`~dpcheck.bounds.judge.judge` makes one from inequalities.
    carries : tuple of Carried
        The formulas of registered theorems that the claim is about. Where the catalogue has another formula, the claim
        is unresolved.

    Raises
    ------
    InputError
        If the id is not one line, or the decision is not a function.

    Examples
    --------
    >>> from sympy import log, oo, sqrt, symbols
    >>> from dpcheck.bounds.claim import Claim
    >>> from dpcheck.bounds.judge import judge
    >>> from dpcheck.bounds.prover import Domain, Inequality
    >>> from dpcheck.bounds.statement import stated
    >>> n = symbols("n", integer=True, positive=True)
    >>> root = Inequality("a logarithm is below a root", log(n), sqrt(n), Domain({n: (1, oo)}))
    >>> statement = stated("{it} for all n", it=log(n) <= sqrt(n))
    >>> claim = Claim("root", "mine", "constant", statement, "Lemma 1", judge(root))
    >>> claim.decide().verdict
    'proved'
    """

    id: str
    paper: str
    kind: Kind | str
    statement: Statement | str
    location: str
    decision: Callable[[], Decision]
    carries: tuple[Carried, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be asked for or decided."""
        named = isinstance(self.id, str) and self.id.isprintable() and bool(self.id.strip())
        require(named, "id", "be one line", self.id)
        for name, text in (("paper", self.paper), ("kind", self.kind), ("location", self.location)):
            require(isinstance(text, str), name, "be text", text)
        require(callable(self.decision), "the decision of a claim", "be a function, such as judge(...)", self.decision)

    def decide(self, answered: Callable[[ClaimResult], object] | None = None) -> ClaimResult:
        """Reach the verdict, recomputing all of its evidence.

        Parameters
        ----------
        answered : callable, optional
            Called with the result as soon as the verdict is known, before the search for how much room there is in a
            constant, for what holds instead of a refuted claim, or for what is known of an open one.

        Returns
        -------
        ClaimResult
            The verdict that is left once every step has been recomputed.
        """
        started = time.perf_counter()
        decision = self.decision()
        require(isinstance(decision, Decision), "a decision", "be a Decision", type(decision).__name__)
        verdict, note = self._checked(decision)
        relations = decision.relations if decision.basis == "judged" and isinstance(self.statement, Statement) else ()
        if (
            verdict == "proved" and relations != decision.evidence.steps
        ):  # what is printed as proved is what was recomputed
            relations = ()
        shown = decision.evidence.to_dict()
        shown["steps"] += compared(self.carries)
        routes = dict.fromkeys(route for step in shown["steps"] for route in step.get("methods", ()))
        named = decision.method if isinstance(decision.method, str) else "; ".join(decision.method)
        method = named.replace(Method.PROVER, ", ".join(routes) or Method.PROVER)  # what it used in fact
        kernel = share(self.statement, verdict, decision.evidence.steps)
        result = ClaimResult(
            self, verdict, method, note, shown, time.perf_counter() - started,
            "judged" if relations else BY_HAND,  # a person reads words
            kernel, wording.text(relations), wording.latex(relations),
        )  # fmt: skip
        if answered is not None:
            answered(result)
        with suppress(OutOfTime), limit(self._patience(verdict, time.perf_counter() - started)):
            for step, record in zip(decision.evidence.steps, shown["steps"], strict=False):
                room = step.room() if isinstance(step, Inequality) else None
                if room is not None:
                    record |= {"tightness": room, "trust": record.pop("trust")}
            if decision.further is not None and verdict == decision.verdict:
                words = decision.further()
                shown["repaired"] = words if verdict == "refuted" else shown["repaired"]
                note = " ".join(filter(None, (note, words))) if verdict == "unresolved" else note
        return replace(result, note=note, seconds=time.perf_counter() - started)

    def _patience(self, verdict: Verdict, seconds: float) -> float:
        """Return the time for what is searched for besides: little where somebody waits for the answer to a line."""
        answered = self.kind == TYPED and verdict in ("proved", "refuted")
        return min(left(), max(_SHORT, seconds)) if answered else left()

    def _checked(self, decision: Decision) -> tuple[Verdict, str]:
        """Return the verdict and note that are left once every step has been recomputed."""
        evidence = decision.evidence
        faults = [fault for step in self.carries if (fault := step.fault())]
        if faults:
            return "unresolved", f"Not decided, since a registered theorem says something else: {'; '.join(faults)}."
        for step in evidence.steps:
            if step.holds():
                continue
            point = getattr(step.outcome(), "point", None) if isinstance(step, Inequality) else None
            if point is None:
                return "unresolved", f"Not decided, since evidence does not hold: {step.says}."
            at = ", ".join(f"{letter} = {value}" for letter, value in point.items())
            if isinstance(self.statement, Statement) and self.statement.is_stated_by(step):
                return "refuted", f"Fails at {at}: {step.says}."
            return "unresolved", f"Not decided, since a step is false: {step.says} fails at {at}."
        loose: tuple[str, ...] = ()
        if isinstance(self.statement, Statement):  # in a proof, a counterexample is to another reading
            others = Counterexample if decision.verdict == "proved" else ()
            loose = self.statement.loose(step for step in evidence.steps if not isinstance(step, others))
        empty = [step.says for step in evidence.steps if isinstance(step, Identity) and step.empty()]
        uncovered = [step.formula() for step in evidence.quoted() if not step.unconditional()]
        for what, reasons in (
            ("a step says nothing", empty),
            ("a formula of the statement is in no step", loose),
            ("a quoted claim has conditions", uncovered if decision.verdict == "proved" else []),
        ):
            if reasons and decision.verdict != "unresolved":
                return "unresolved", f"Not decided, since {what}: {'; '.join(reasons)}."
        return decision.verdict, decision.note

    def place(self) -> str:
        """Return ``"FILE:LINE"`` of the function that decides the claim; nothing where relations alone decide it."""
        decision: Any = self.decision
        while isinstance(decision, functools.partial):
            decision = decision.func
        if decision.__module__ == "dpcheck.bounds.judge":
            return ""
        return f"{Path(decision.__code__.co_filename).resolve()}:{decision.__code__.co_firstlineno}"


def claim(
    id: str, kind: Kind | str, statement: Statement | str | None = None, location: str = "", *, paper: str = "",
    **formulas: Any,
) -> Callable[[Callable[[], Decision]], Claim]:  # fmt: skip
    """Make a function that returns a :class:`Decision` a :class:`Claim`.

    Parameters
    ----------
    id, kind, location
        As in :class:`Claim`.
    statement : Statement or str, optional
        By default the docstring of the function, with a name in braces where one of ``formulas`` stands, or a formula
        of the module whose name is in capitals, as in ``{RATE}``.
    paper : str
        Whose statement it is; by default the folder of the function's file in the catalogue, and the
        file's name otherwise.
    **formulas : sympy expression, relation, number or str
        What the statement has in its places. A formula must occur in a step of the evidence; words are put in as they
        are. Without any, braces in the statement are braces.

    Returns
    -------
    callable
        The decorator. The decorated name is the claim, and stands for it where claims are collected.

    Raises
    ------
    InputError
        If the name is that of another claim of the same file, which would be lost, or there is no statement.

    Examples
    --------
    >>> from sympy import symbols
    >>> from dpcheck.bounds.evidence import Identity
    >>> x, y = symbols("x y", positive=True)
    >>> @claim("square", Kind.STEP, location="Lemma 1", paper="mine", it=(x + y) ** 2 - x**2 - y**2)
    ... def square() -> Decision:
    ...     '''2 x y is {it}.'''
    ...     step = Identity("the square, multiplied out", 2 * x * y, (x + y) ** 2 - x**2 - y**2)
    ...     return proved(step, note="A binomial formula.")
    >>> square.decide().verdict
    'proved'
    """

    def decided_by(function: Callable[[], Decision]) -> Claim:
        words = " ".join(docstring(function).split()) if statement is None else statement
        require(bool(words), "the statement of a claim", "be given, or be the docstring of its function", repr(words))
        constants = getattr(function, "__globals__", {})
        stated = _filled(words, formulas, constants) if isinstance(words, str) else words
        module = sys.modules.get(function.__module__)
        *folders, name = function.__module__.split(".")
        home = folders[-1] if folders else Path(getattr(module, "__file__", None) or name).stem
        before = getattr(module, function.__name__, None)
        alone = not isinstance(before, Claim) or before.id == id
        require(alone, "the function of a claim", "have a name of its own", f"{function.__name__} for {id} too")
        return Claim(id, paper or home, kind, stated, location, function, getattr(function, "carries", ()))

    return decided_by


def _filled(text: str, formulas: dict[str, Any], constants: dict[str, Any]) -> Statement | str:
    """Return the statement with its words put in, and its formulas, given or in capitals in the text, if any."""
    named = [name for name in _CONSTANT.findall(text) if name in constants]
    formulas = formulas | {name: constants[name] for name in named if name not in formulas}
    words = {name: value for name, value in formulas.items() if isinstance(value, str)}
    for name, value in words.items():
        require(f"{{{name}}}" in text, "the words of a statement", "have a place in it", name)
        text = text.replace(f"{{{name}}}", value)
    exact = {name: value for name, value in formulas.items() if name not in words}
    return Statement(text, exact) if exact else text
