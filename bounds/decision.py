"""A verdict before its evidence has been recomputed, and the evidence that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Quoted, Searched, Step, to_dict
from dpcheck.bounds.kind import Method
from dpcheck.errors import require

Verdict = Literal["proved", "refuted", "conditional", "unresolved"]
Basis = Literal["judged", "argued by hand, steps checked"]
BY_HAND: Basis = "argued by hand, steps checked"
_CARRIES_NOTHING = (Cited, Quoted, Searched)


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on.

    Parameters
    ----------
    steps : tuple of Step
        The pieces of evidence, each of which checks itself again when asked.
    readings : tuple of (str, str)
        A verdict for each way the statement can be read; the claim's own verdict is for the statement as printed.
    condition : str
        The assumption that makes a conditional claim true.
    repaired : str
        What holds instead of a false claim, or why the result built on it stands.
    """

    steps: tuple[Step, ...]
    readings: tuple[tuple[str, Verdict], ...] = ()
    condition: str = ""
    repaired: str = ""

    def broken(self) -> tuple[Step, ...]:
        """Recompute every step, and return those that do not hold."""
        return tuple(step for step in self.steps if not step.holds())

    def empty(self) -> tuple[Identity, ...]:
        """Return the steps that say nothing, since both sides read the same."""
        return tuple(step for step in self.steps if isinstance(step, Identity) and step.empty())

    def quoted(self) -> tuple[Quoted, ...]:
        """Return the claims of the catalogue that are used."""
        return tuple(step for step in self.steps if isinstance(step, Quoted))

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as plain text throughout, fit for JSON."""
        return {
            "steps": [to_dict(step) for step in self.steps],
            "readings": dict(self.readings),
            "condition": self.condition,
            "repaired": self.repaired,
        }


@dataclass(frozen=True)
class Decision:
    """A verdict before its evidence has been recomputed.

    A refutation needs a counterexample and a word on what can be saved; a conditional verdict needs its condition; a
    proof needs a step that is more than a citation, and a counterexample in it must belong to another reading, which is
    then named and refuted.

    Parameters
    ----------
    verdict : {"proved", "refuted", "conditional", "unresolved"}
        The verdict.
    method : Method, tuple of Method, or str
        How it was reached: one :class:`~dpcheck.bounds.kind.Method` or several, or words of one's own.
    evidence : Evidence
        What it rests on.
    note : str
        A sentence for the reader.
    basis : str
        Who reached the verdict: ``"judged"`` by the machine from the statement alone, or a person's argument whose
        steps the machine checked.

    Raises
    ------
    InputError
        For a verdict whose evidence is not of the kind it needs.
    """

    verdict: Verdict
    method: str | tuple[str, ...]
    evidence: Evidence
    note: str
    basis: Basis = BY_HAND

    def __post_init__(self) -> None:
        """Refuse a verdict whose evidence is not of the kind it needs."""
        steps, verdict = self.evidence.steps, self.verdict
        methods = (self.method,) if isinstance(self.method, str) else self.method
        require(isinstance(methods, tuple) and bool(methods), "method", "be text, or a tuple of Method", self.method)
        words = [("note", self.note), *(("says", step.says) for step in steps)]
        for name, text in (*(("method", one) for one in methods), *words):
            require(isinstance(text, str), name, "be text", text)
        require(verdict in get_args(Verdict), "a verdict", f"be one of {', '.join(get_args(Verdict))}", verdict)
        broken = any(isinstance(step, Counterexample) for step in steps)
        require(broken or verdict != "refuted", "a refutation", "hold a counterexample", "none")
        apart = not broken or verdict != "proved" or "refuted" in dict(self.evidence.readings).values()
        require(apart, "a counterexample in a proof", "belong to a refuted reading", "none")
        saved = bool(self.evidence.repaired) or verdict != "refuted"
        require(saved, "a refutation", "say what can be repaired", "nothing")
        stated = bool(self.evidence.condition) == (verdict == "conditional")
        require(stated, "a condition", "come with a conditional verdict", verdict)
        shown = verdict == "unresolved" or not all(isinstance(step, _CARRIES_NOTHING) for step in steps)
        require(shown, "a verdict", "rest on a recomputed step", "citations and searches only")


def proved(
    *steps: Step, note: str, readings: Mapping[str, Verdict] | None = None, repaired: str = "",
    method: str | tuple[str, ...] = (),
) -> Decision:  # fmt: skip
    """Return the decision that a claim holds as printed.

    Parameters
    ----------
    *steps : Step
        The evidence, which is recomputed. One step at least is more than a citation or a search.
    note : str
        A sentence for the reader.
    readings : mapping of str to str, optional
        A verdict for each way in which the statement can be read. A counterexample among the steps must belong to a
        reading that is refuted.
    repaired : str
        A word on what is built on the claim.
    method : Method, tuple of Method, or str
        How it was decided; by default :func:`method_of` the steps.

    Returns
    -------
    Decision
        The verdict with its evidence.
    """
    return _decided("proved", steps, note, method, readings, repaired=repaired)


def conditional(
    *steps: Step, condition: str, note: str, readings: Mapping[str, Verdict] | None = None, repaired: str = "",
    method: str | tuple[str, ...] = (),
) -> Decision:  # fmt: skip
    """Return the decision that a claim holds under ``condition``, an assumption that it does not state.

    The other parameters are those of :func:`proved`.
    """
    return _decided("conditional", steps, note, method, readings, condition, repaired)


def refuted(
    *steps: Step, repaired: str, note: str, readings: Mapping[str, Verdict] | None = None,
    method: str | tuple[str, ...] = (),
) -> Decision:  # fmt: skip
    """Return the decision that a claim is false as printed; one step at least is a counterexample.

    ``repaired`` says what holds instead, or why the result that is built on it stands. The other parameters are those
    of :func:`proved`.
    """
    return _decided("refuted", steps, note, method, readings, repaired=repaired)


def unresolved(
    *steps: Step, note: str, readings: Mapping[str, Verdict] | None = None, repaired: str = "",
    method: str | tuple[str, ...] = (),
) -> Decision:  # fmt: skip
    """Return that a claim is open; parameters as for :func:`proved`, where the note says what is missing."""
    return _decided("unresolved", steps, note, method, readings, repaired=repaired)


_ROUTES = (
    Method.PRIVACY_CURVE, Method.EXPONENTS, Method.PROVER, Method.ALGEBRA, Method.ENUMERATION, Method.ARITHMETIC,
)  # fmt: skip


def method_of(steps: tuple[Step, ...], verdict: Verdict) -> tuple[str, ...]:
    """Return the most telling way in which a step is shown, and that facts are cited where they are part of a proof."""
    kinds = {getattr(type(step), "METHOD", "") for step in steps}
    route = [method for method in _ROUTES if method in kinds][:1]
    cited = [Method.CITED] if verdict == "proved" and Method.CITED in kinds else []
    return (*route, *cited) or (Method.NONE,)


def _decided(
    verdict: Verdict, steps: tuple[Step, ...], note: str, method: str | tuple[str, ...],
    readings: Mapping[str, Verdict] | None, condition: str = "", repaired: str = "",
) -> Decision:  # fmt: skip
    evidence = Evidence(steps, tuple((readings or {}).items()), condition, repaired)
    return Decision(verdict, method or method_of(steps, verdict), evidence, note)
