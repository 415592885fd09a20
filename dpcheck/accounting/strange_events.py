"""What was given in place of privacy events, and what to do with it: the sentence of an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from dpcheck.accounting.other_events import is_dp_accounting
from dpcheck.errors import InputError, one_line
from dpcheck.events.compositions import Event

_ASK = "compute_epsilon(delta, num_self_compositions) of its accountant bounds epsilon"


def refuse(events: Any, items: Sequence[Any]) -> None:
    """Raise InputError for the first of ``items``, what ``events`` hold, that is no event of the first one's kind."""
    if hasattr(events, "class_name") and hasattr(events, "_fields"):
        _say("be dp_accounting events themselves: DpEvent.from_named_tuple(it)", "a named tuple of one")
    own = [isinstance(item, Event) for item in items]
    theirs = [is_dp_accounting(item) for item in items]
    if any(own) and any(theirs) and all(a or b for a, b in zip(own, theirs, strict=True)):
        _say("be dpcheck events or dp_accounting events, not a mixture of both", "both")
    strange = next(item for item, a, b in zip(items, own, theirs, strict=True) if not (a or b))
    _say(*_described(events, strange))


def _say(constraint: str, got: str) -> None:
    raise InputError(f"events must {constraint}, got {got}")


def _described(events: Any, item: Any) -> tuple[str, str]:
    """Say what events must be, for a reader who passed this item, and what was passed."""
    kind = type(item)
    name, library = kind.__name__, kind.__module__.partition(".")[0]
    if item is not events and hasattr(item, "get_epsilon_for_delta"):
        return "be one privacy loss distribution: compose them first, first.compose(second)", "a sequence of them"
    if library == "prv_accountant":
        what = "be events, such as Repeated(Sampled((Gaussian(z),), 'poisson', 1, rate, 'add_or_remove_one'), steps)"
        return what, f"{name} of prv_accountant: pass the numbers that it was made of, or ask it, as {_ASK}"
    if getattr(item, "history", None) == []:
        return "hold a step", f"{name} whose history is empty: certify it after the training"
    if isinstance(item, list | tuple):
        return "be an event, or a flat sequence of events", f"a {name} inside the {type(events).__name__}"
    if isinstance(item, Mapping | Set | str):
        return "be an event, or a sequence of events (dpcheck certify FILE.json reads a file of them)", _short(item)
    return "be events of dpcheck or dp_accounting, an Opacus accountant, or a privacy loss distribution", _short(item)


def _short(item: Any) -> str:
    """The value on one line; its type, where it is too deep or too strange to be shown."""
    try:
        return one_line(repr(item))[:200]
    except Exception:  # nested thousands deep, or an object that does not say what it is
        return f"{type(item).__name__} that has no text"
