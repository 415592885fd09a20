"""Claims whose verdict is the machine's own, since their statement is a list of relations."""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy

from dpcheck.bounds import wording
from dpcheck.bounds.claim import Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity, Inequality, Quoted, Searched, Step
from dpcheck.bounds.formula import plain
from dpcheck.bounds.kind import Method
from dpcheck.bounds.prover.limit import OutOfTime, left, limit
from dpcheck.bounds.prover.partial import partly
from dpcheck.errors import require


def judge(*steps: Step, note: str = "", repaired: str = "") -> Callable[[], Decision]:
    """Return the decision of a claim that all ``steps`` hold: proved, refuted or unresolved.

    Parameters
    ----------
    *steps : Inequality, Identity, Below or Enumerated
        The relations that make up the statement. Citations are refused, since a citation is not the
        machine's own verdict.
    note : str
        A sentence for the reader of a proved claim, which is shown as the author's.
    repaired : str
        What holds instead, for a claim that is known to fail. By default the critical constant is
        searched for.

    Returns
    -------
    callable
        The ``decision`` of a :class:`~dpcheck.bounds.claim.Claim`. A relation that fails at an exact
        point refutes the claim; one that is neither proved nor refuted leaves it unresolved.

    Raises
    ------
    InputError
        If there is no step, or one of another kind.

    Examples
    --------
    >>> from sympy import log, sqrt, symbols, oo
    >>> from dpcheck.bounds.prover import Domain
    >>> x = symbols("x", positive=True)
    >>> judge(Inequality("a logarithm is below a root", log(x), sqrt(x), Domain({x: (1, oo)})))().verdict
    'proved'
    """
    require(bool(steps), "a judged claim", "have a relation", "none")
    for step in steps:
        fit = hasattr(step, "holds") and not isinstance(step, Cited | Quoted | Searched | Counterexample)
        require(fit, "a judged claim", "be made of relations the machine decides", type(step).__name__)
    return functools.partial(judged, *steps, note=note, repaired=repaired)


def judged(*steps: Step, note: str = "", repaired: str = "") -> Decision:
    """Return the machine's own verdict on a claim that all ``steps`` hold; parameters as for :func:`judge`."""
    if unread:
        return Decision("unresolved", Method.NONE, Evidence((), repaired=repaired), note, "judged", steps)
    late: list[Step] = []
    broken: list[Step] = []
    try:
        for done, step in enumerate(steps):
            try:
                with limit(left() * _FOR_THE_ANSWER / (len(steps) - done)):
                    broken += [] if step.holds() else [step]
            except OutOfTime:
                late.append(step)
        methods = ", ".join(dict.fromkeys(_method(step) for step in steps if step not in late)) or Method.NONE
    except (ArithmeticError, ValueError) as error:  # no route takes a formula, or a number, of it
        why = f"Neither proved nor refuted: {wording.text(steps)} ({error})."
        return Decision("unresolved", Method.NONE, Evidence(()), why, "judged", steps)
    for step in broken:
        point = _counterexample(step)
        if point is not None:
            evidence = Evidence(
                (point,), repaired=f"{_AUTHOR}{repaired}" if repaired else "no constant was found in the time"
            )
            further = None if repaired else functools.partial(_rescue, step)
            return Decision("refuted", methods, evidence, f"It fails: {point.says}.", "judged", steps, further)
    if broken or late:
        undecided = "; ".join([*map(_open, broken), *(f"{wording.text([step])} (time ran out)" for step in late)])
        proved = f" Proved: {shown}." if (shown := wording.text(s for s in steps if s not in [*broken, *late])) else ""
        note = f"Neither proved nor refuted: {undecided}.{proved}"
        open_ones = [step for step in (*broken, *late) if isinstance(step, Inequality)]
        further = functools.partial(partly, open_ones[0]) if open_ones and left() < float("inf") else None
        return Decision("unresolved", methods, Evidence(()), note, "judged", steps, further)
    added = f" {_AUTHOR}{note}" if note else ""
    return Decision("proved", methods, Evidence(steps), f"Every relation holds as it stands.{added}", "judged", steps)


_FOR_THE_ANSWER = 0.7  # of the time; the rest is for what is known of a claim that stays open
_PLAIN = tuple(map(sympy.Rational, ("0", "1", "2", "1/2", "3", "1/10", "10", "-1", "1/100", "100")))
_SHORT = 5  # signs of a value that a person reads at once
_AUTHOR = "In the author's words: "
unread = False  # set where a file is read whose claims another process decides


def _open(step: Step) -> str:
    """Return what is left open, and why where the prover says so."""
    why = step.outcome().note if isinstance(step, Inequality) else ""
    return f"{wording.text([step])} ({why})" if why else wording.text([step])


def _method(step: Step) -> str:
    """Name how a step is shown: an inequality by its routes, any other kind always in one way."""
    return step.outcome().method if isinstance(step, Inequality) else getattr(type(step), "METHOD", Method.ARITHMETIC)


def _counterexample(step: Step) -> Counterexample | None:
    """Return exact values at which a relation fails, or ``None``."""
    if isinstance(step, Inequality):
        point = step.outcome().point
        if point is None:
            return None
        return _broken(step.relation(), tuple(_plainer(step, point).items()), wording.relation(step))
    if not isinstance(step, AtMost | Below | Identity):
        return None
    relation = step.relation()
    if isinstance(step, Identity):
        relation = sympy.Eq(*(side.doit() for side in relation.args), evaluate=False)
    letters = sorted(relation.free_symbols, key=str)
    return next((failure for values in _points(letters) if (failure := _broken(relation, values)).holds()), None)


def _plainer(step: Inequality, point: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a point at which it fails too, with a plain number for each letter whose value is long, where one does."""
    values = dict(point)
    for letter in [letter for letter, value in point.items() if len(str(value)) > _SHORT]:
        for plainer in _PLAIN:
            tried = {**values, letter: plainer}
            if step.over.contains(tried) and _broken(step.relation(), tuple(tried.items())).holds():
                values = tried
                break
    return values


def _broken(relation: Any, values: tuple[tuple[Any, Any], ...], text: str = "") -> Counterexample:
    """Return the counterexample, which says what fails and where: what an author says of a step may be anything."""
    at = ", ".join(f"{letter} = {plain(value)}" for letter, value in values)
    return Counterexample(f"{text or plain(relation)} fails{f' at {at}' if at else ''}", relation, values)


def _points(letters: list[Any]) -> Iterator[tuple[tuple[Any, Any], ...]]:
    """Yield a few values that differ from letter to letter; whole, so that they fit counts too."""
    for start in (2, 3, 5):
        yield tuple((letter, sympy.Integer(start + 2 * k)) for k, letter in enumerate(letters))


def _rescue(step: Step) -> str:
    """Return the constant with which an inequality holds, or what the search for one came to."""
    if isinstance(step, Inequality) and step.sign == "<" and replace(step, sign="<=").holds():
        return "with <= in place of < it is proved"
    if not isinstance(step, Inequality) or step.sign == "=":
        return "nothing was searched for"
    room = step.tightness()
    if room.status == "critical":
        name = step.constant[0] if step.constant else "a factor on the larger side"
        return f"it holds with {room.critical:.6g} for {name}, as far as a search can tell"
    return room.says
