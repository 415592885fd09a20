"""What decides a claim: a verdict, in one of five words, and the evidence that it rests on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dpcheck.bounds.asymptotics import Exceeds
from dpcheck.bounds.calibration import NotPrivate
from dpcheck.bounds.evidence import Cited, Counterexample, Quoted, Searched, Step
from dpcheck.bounds.kind import Method
from dpcheck.bounds.ledger import to_dict
from dpcheck.errors import require

Verdict = Literal["proved", "conditional", "misprint", "refuted", "unresolved"]
Slip = Literal["constant", "exponent", "sign", "index", "base of a logarithm", "relation", "symbol"]
Basis = Literal["judged", "argued by hand, steps checked"]
BY_HAND: Basis = "argued by hand, steps checked"


@dataclass(frozen=True)
class Evidence:
    """The steps that a verdict rests on, and its verdicts on other readings.

    Parameters
    ----------
    steps : tuple of Step
        The pieces of evidence, which check themselves again when asked.
    readings : tuple of (str, str)
        A verdict for each way the statement can be read; the claim's own verdict is for the statement as printed.
    condition : str
        The assumption that makes a conditional claim true, or what a misprint should read.
    repaired : str
        What holds instead of a false claim, or why the result built on it stands.
    differs : str
        The slip, in what is printed and what it should read: a constant, an exponent, a sign, an index, the base of a
        logarithm, a relation (<= for <), or a symbol (a letter, factor or function) that is missing or another one.
    """

    steps: tuple[Step, ...]
    readings: tuple[tuple[str, Verdict], ...] = ()
    condition: str = ""
    repaired: str = ""
    differs: Slip | Literal[""] = ""

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
            "differs": self.differs,
        }


@dataclass(frozen=True)
class Decision:
    """A verdict before its evidence has been recomputed.

    The verdict is by the least that makes the printed statement true: ``proved`` needs nothing, and rests on a step
    that is more than a citation; a counterexample in it belongs to another reading, which is named and refuted.
    ``misprint`` needs one slip put right: there is a counterexample to what is printed, a reading that is proved, and
    a word on what uses the claim, which stands. ``conditional`` needs an added assumption, and perhaps one slip put
    right, which is named; what fails without it, or a quoted claim, shows the need. All else that has a
    counterexample is ``refuted``, with a word on what can be saved.

    Parameters
    ----------
    verdict : {"proved", "conditional", "misprint", "refuted", "unresolved"}
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
    relations : tuple of Step
        What a judged claim states, all of it.
    further : callable, optional
        Searches, once the verdict has been given, for what holds instead of a refuted claim, or for what is known of
        an open one, and returns it in words.

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
    relations: tuple[Step, ...] = ()
    further: Callable[[], str] | None = None

    def __post_init__(self) -> None:
        """Refuse a verdict whose evidence is not of the kind it needs."""
        steps, verdict = self.evidence.steps, self.verdict
        methods = (self.method,) if isinstance(self.method, str) else self.method
        require(isinstance(methods, tuple) and bool(methods), "method", "be text, or a tuple of Method", self.method)
        for name, texts in (("method", methods), ("note", (self.note,)), ("says", [step.says for step in steps])):
            for text in texts:
                require(isinstance(text, str), name, "be text", text)
        require(verdict in get_args(Verdict), "a verdict", f"be one of {', '.join(get_args(Verdict))}", verdict)
        readings, differs = dict(self.evidence.readings).values(), self.evidence.differs
        broken = any(isinstance(step, Counterexample) for step in steps)
        false = verdict in ("refuted", "misprint")
        require(broken or not false, f"a claim that is {verdict}", "hold a counterexample", "none")
        apart = not broken or verdict != "proved" or "refuted" in readings
        require(apart, "a counterexample in a proof", "belong to a refuted reading", "none")
        saved = bool(self.evidence.repaired) or not false
        require(saved, f"a claim that is {verdict}", "say what can be repaired, and what uses it", "nothing")
        fails = any(isinstance(step, Counterexample | Exceeds | NotPrivate | Quoted) for step in steps)
        needed = fails or verdict != "conditional"
        require(
            needed, "an added assumption", "be shown to be needed, by what fails without it or a quoted claim", "none"
        )
        stated = bool(self.evidence.condition) == (verdict in ("conditional", "misprint"))
        require(stated, "a condition", "come with a conditional verdict or a misprint", verdict)
        slips = {"misprint": get_args(Slip), "conditional": (*get_args(Slip), "")}.get(verdict, ("",))
        require(differs in slips, f"the slip of a claim that is {verdict}", f"be one of {slips}", differs)
        corrected = verdict != "misprint" or "proved" in readings
        require(corrected, "a misprint", "have a reading that is proved, the corrected one", "none")
        shown = verdict == "unresolved" or not all(isinstance(step, Cited | Quoted | Searched) for step in steps)
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
        How it was decided; by default the most telling way in which a step is shown, and that facts are cited where
        they are part of a proof.

    Returns
    -------
    Decision
        The verdict with its evidence.
    """
    return decided("proved", steps, note, method, readings, repaired=repaired)


def conditional(
    *steps: Step, condition: str, note: str, readings: Mapping[str, Verdict] | None = None, repaired: str = "",
    method: str | tuple[str, ...] = (), differs: Slip | Literal[""] = "",
) -> Decision:  # fmt: skip
    """Return the decision that a claim holds under ``condition``, an assumption that it does not state.

    ``differs`` names the slip that has to be put right as well, if there is one. The other parameters are those of
    :func:`proved`.
    """
    return decided("conditional", steps, note, method, readings, condition, repaired, differs)


def misprint(
    *steps: Step, differs: Slip, condition: str, repaired: str, readings: Mapping[str, Verdict], note: str,
    method: str | tuple[str, ...] = (),
) -> Decision:  # fmt: skip
    """Return the decision that a slip makes a claim false, and that ``condition``, which it should read, is proved.

    ``differs`` says in what the two differ, ``repaired`` why what uses the claim holds with it; one step at least is a
    counterexample, one reading proved. The other parameters are those of :func:`proved`.
    """
    return decided("misprint", steps, note, method, readings, condition, repaired, differs)


def refuted(
    *steps: Step, repaired: str, note: str, readings: Mapping[str, Verdict] | None = None,
    method: str | tuple[str, ...] = (),
) -> Decision:  # fmt: skip
    """Return the decision that a claim is false as printed; one step at least is a counterexample.

    ``repaired`` says what holds instead, or why the result that is built on it stands. The other parameters are those
    of :func:`proved`.
    """
    return decided("refuted", steps, note, method, readings, repaired=repaired)


def unresolved(
    *steps: Step, note: str, readings: Mapping[str, Verdict] | None = None, repaired: str = "",
    method: str | tuple[str, ...] = (),
) -> Decision:  # fmt: skip
    """Return that a claim is open; parameters as for :func:`proved`, where the note says what is missing."""
    return decided("unresolved", steps, note, method, readings, repaired=repaired)


_ROUTES = (
    Method.PRIVACY_CURVE, Method.EXPONENTS, Method.PROVER, Method.ALGEBRA, Method.ENUMERATION, Method.ARITHMETIC,
)  # fmt: skip


def decided(
    verdict: Verdict, steps: tuple[Step, ...], note: str, method: str | tuple[str, ...],
    readings: Mapping[str, Verdict] | None, condition: str = "", repaired: str = "", differs: Slip | Literal[""] = "",
) -> Decision:  # fmt: skip
    """Return the decision with this verdict; parameters as for :func:`proved`."""
    kinds = {getattr(type(step), "METHOD", "") for step in steps}
    route = [method for method in _ROUTES if method in kinds][:1]
    cited = [Method.CITED] if verdict == "proved" and Method.CITED in kinds else []
    evidence = Evidence(steps, tuple((readings or {}).items()), condition, repaired, differs)
    return Decision(verdict, method or (*route, *cited) or (Method.NONE,), evidence, note)
