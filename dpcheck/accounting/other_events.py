"""Events of other libraries, read as dpcheck's where they are of the same kind, and files of events.

In a file an event is a JSON object with a ``class_name`` and the event's fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from dpcheck.accounting.certificates import Certificate, between, certificate
from dpcheck.accounting.event_counts import count_events
from dpcheck.errors import InputError, is_number, one_line, require, short
from dpcheck.events import Disjoint, Event, Gaussian, Laplace, Neighbours, RandomAllocation, Repeated, Sampled, Scheme
from dpcheck.reading import json_of, shown, text_of, within

_UNROLLED = 200  # repetitions that an accountant is told one by one
_CHANGED = {"add_or_remove_one": 1.0, "replace_one": 2.0}  # sensitivity over what one record contributes


class OtherEvent(Exception):  # noqa: N818  # no error, but an answer: another accountant has to be asked
    """An event of dp_accounting that is not one of dpcheck's."""


def read_other_events(events: Any, items: Sequence[Any]) -> tuple[Event, ...]:
    """Read a history of Opacus or dp_accounting's events, ``items`` being all that ``events`` hold."""
    history = getattr(events, "history", events)
    rows: list[Any] = history if isinstance(history, list) and history else [None]
    if all(isinstance(row, tuple | list) and len(row) == 3 and all(map(is_number, row)) for row in rows):
        read: list[Event] = []  # Poisson samples, add-or-remove-one neighbours
        for multiplier, rate, steps in rows:
            require(0 <= rate <= 1, "the sample rate of a history", "lie in [0, 1]", rate)
            require(0 <= steps < math.inf and int(steps) == steps, "the steps of a history", "be a whole number", steps)
            step = Sampled((Gaussian(multiplier),), "poisson", 1, rate, "add_or_remove_one")
            read.append(Repeated(step, int(steps)))
        return tuple(read)
    if not all(map(_is_dp_accounting, items)):
        _refuse(events, items)
    try:
        return _read_dp_accounting(items)
    except OtherEvent as other:
        known = "be dp_accounting events of the kinds that dpcheck computes"
        raise InputError(f"events must {known}, got {other}") from other


def certify_dp_accounting(events: Sequence[Any], delta: float) -> Certificate | None:
    """Certify events of dp_accounting, by that library's accountants where dpcheck has none; None for other events."""
    if not all(map(_is_dp_accounting, events)):
        return None
    try:
        read = _read_dp_accounting(events)
    except OtherEvent:
        epsilon, method, relation = _their_epsilon(events, delta)
        return between(Certificate(epsilon, delta, method), relation, "C")
    return between(certificate(count_events(read), delta), _neighbours_of(events), "C")


def _is_dp_accounting(event: Any) -> bool:
    """Whether it is an event of dp_accounting."""
    return any(
        kind.__module__.startswith("dp_accounting") and kind.__name__ == "DpEvent" for kind in type(event).__mro__
    )


def _neighbours_of(events: Sequence[Any]) -> Neighbours:
    """The relation that events of dp_accounting are read under: a batch of fixed size needs replaced records."""
    fixed = {"SampledWithoutReplacementDpEvent", "SampledWithReplacementDpEvent"}
    names = {type(event).__name__ for event, _ in _singles(events)}
    return "replace_one" if names & fixed else "add_or_remove_one"


def _read_dp_accounting(events: Sequence[Any]) -> tuple[Event, ...]:
    """Read dp_accounting's events, whose multipliers are over one record's part; OtherEvent for one of another kind."""
    relation = _neighbours_of(events)
    read = [(_read(event, relation), count) for event, count in _singles(events)]
    return tuple(ours if count == 1 else Repeated(ours, count) for ours, count in read if ours is not None)


def _singles(events: Iterable[Any]) -> Iterable[tuple[Any, int]]:
    """All events without their compositions, in order, however deep they are nested."""
    waiting = [(event, 1) for event in reversed(list(events))]
    while waiting:
        event, count = waiting.pop()
        match type(event).__name__:
            case "ComposedDpEvent":
                several = isinstance(event.events, list | tuple)
                require(several, "the events of a ComposedDpEvent", "be a list", type(event.events).__name__)
                waiting.extend((part, count) for part in reversed(event.events))
            case "SelfComposedDpEvent":
                waiting.append((event.event, count * _whole(event.count, "count")))
            case "NoOpDpEvent":
                pass
            case _:
                yield event, count


def _whole(value: Any, name: str) -> int:
    """Return a number of times, which is never cut off to be whole."""
    good = is_number(value) and 0 <= value < math.inf and int(value) == value
    require(good, f"the {name} of a dp_accounting event", "be a whole number >= 0", value)
    return int(value)


def _multiplier(event: Any) -> float:
    value = event.noise_multiplier
    require(is_number(value), "the noise_multiplier of a dp_accounting event", "be a number", value)
    return float(value)


def _read(event: Any, relation: Neighbours) -> Event | None:
    changed = _CHANGED[relation]
    match type(event).__name__:
        case "NonPrivateDpEvent":
            return Gaussian(0.0)
        case "GaussianDpEvent":
            return Gaussian(_multiplier(event) / changed)
        case "LaplaceDpEvent":
            return Laplace(_multiplier(event) / changed)
        case "SingleEpochTreeAggregationDpEvent":
            # A record is in one leaf of one tree, and in the nodes above it.
            trees = event.step_counts if isinstance(event.step_counts, Iterable) else [event.step_counts]
            depth = max((_whole(steps, "step_counts").bit_length() for steps in trees), default=0)
            return Gaussian(_multiplier(event) / changed / math.sqrt(depth)) if depth else None
        case "PoissonSampledDpEvent":
            return _sampled(event.event, "poisson", 1, event.sampling_probability, relation)
        case "SampledWithoutReplacementDpEvent":
            return _sampled(event.event, "without_replacement", event.source_dataset_size, event.sample_size, relation)
        case "SampledWithReplacementDpEvent":
            return _sampled(event.event, "with_replacement", event.source_dataset_size, event.sample_size, relation)
        case "MixtureOfGaussiansDpEvent" if relation == "add_or_remove_one":
            return _mixture(event, relation)
        case "UnsupportedDpEvent":
            raise InputError("events must be supported dp_accounting events, got UnsupportedDpEvent()")
    raise OtherEvent(type(event).__name__)


def _mixture(event: Any, relation: Neighbours) -> Event | None:
    """Gaussian noise, or a Poisson sample of it, on a sum of one sensitivity beside 0; OtherEvent for more."""
    chances: dict[float, float] = {}
    for moved, chance in zip(event.sensitivities, event.sampling_probs, strict=False):
        good = is_number(moved) and is_number(chance) and 0 <= moved < math.inf and 0 <= chance <= 1
        if not good:
            raise OtherEvent(type(event).__name__)
        chances[float(moved)] = chances.get(float(moved), 0.0) + float(chance)
    felt = [moved for moved, chance in chances.items() if moved > 0 and chance > 0]
    whole = len(event.sensitivities) == len(event.sampling_probs) and abs(sum(chances.values()) - 1) < 1e-12
    deviation = event.standard_deviation
    if len(felt) > 1 or not whole or not is_number(deviation) or not 0 <= deviation < math.inf:
        raise OtherEvent(type(event).__name__)
    if not felt:
        return None
    rate = min(max(chances[felt[0]], 1 - chances.get(0.0, 0.0)), 1.0)
    noise = Gaussian(deviation / felt[0])
    return noise if rate == 1 else Sampled((noise,), "poisson", 1, rate, relation)


def _sampled(inner: Any, scheme: Scheme, population: int, batch: float, relation: Neighbours) -> Event:
    """What is released about one batch: Gaussians, as one, or a Laplace."""
    parts = [(part, count) for part, count in _singles([inner]) if count > 0]
    changed = _CHANGED[relation]
    if all(type(part).__name__ == "GaussianDpEvent" for part, _ in parts):
        gaussians = (Gaussian(_multiplier(part) / math.sqrt(count) / changed) for part, count in parts)
        return Sampled(tuple(gaussians) or (Gaussian(math.inf),), scheme, population, batch, relation)
    alone = [(type(part).__name__, count) for part, count in parts] == [("LaplaceDpEvent", 1)]
    if alone and scheme != "with_replacement":
        laplace = Laplace(_multiplier(parts[0][0]) / changed)
        return Sampled((laplace,), scheme, population, batch, relation)
    raise OtherEvent(f"{scheme} sampling of {', '.join(sorted({type(part).__name__ for part, _ in parts}))}")


def _their_epsilon(events: Sequence[Any], delta: float) -> tuple[float, str, str]:
    """Ask dp_accounting's accountants, the sharper first, for epsilon; say who computed it for which neighbours."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    relations = dp_accounting.NeighboringRelation
    whole = dp_accounting.ComposedDpEvent(list(events))
    for make in (PLDAccountant, RdpAccountant):
        for relation in (relations.ADD_OR_REMOVE_ONE, relations.REPLACE_ONE, relations.REPLACE_SPECIAL):
            accountant = make(neighboring_relation=relation)
            try:
                event = _unrolled(whole) if make is PLDAccountant else whole
                if make is RdpAccountant and relation is relations.REPLACE_ONE:
                    event = between_replaced(whole)
                if event is None or not accountant.supports(event):
                    continue
                epsilon = float(accountant.compose(event).get_epsilon(delta))
            except (NotImplementedError, TypeError, ValueError, OverflowError, RecursionError) as error:
                raise InputError(
                    f"events must be such as dp_accounting accepts, got {one_line(error)[:200]}"
                ) from error
            named = relation.name.lower()
            said = f"{make.__name__} of dp_accounting, not dpcheck's engine, {named.replace('_', '-')} neighbours"
            return epsilon, said, named
    names = ", ".join(sorted({type(part).__name__ for part, _ in _singles(events)}))
    raise InputError(f"events must be supported dp_accounting events, got a composition that none of its accountants "
                     f"takes: {names}"[:300])  # fmt: skip


def _unrolled(event: Any) -> Any:
    """Repeat randomized response one by one, which PLDAccountant counts once; None where that would be too many."""
    import dp_accounting

    parts: list[Any] = []
    for part, count in _singles([event]):
        if isinstance(part, dp_accounting.RandomizedResponseDpEvent):
            if len(parts) + count > _UNROLLED:
                return None
            parts += [part] * count
        else:
            parts.append(dp_accounting.SelfComposedDpEvent(part, count))
    return dp_accounting.ComposedDpEvent(parts)


def between_replaced(event: Any) -> Any:
    """Halve the multipliers over what one record contributes, which RdpAccountant takes for those between records."""
    make = type(event)
    match make.__name__:
        case "GaussianDpEvent" | "LaplaceDpEvent":
            return make(_multiplier(event) / _CHANGED["replace_one"])
        case "ComposedDpEvent":
            return make([between_replaced(part) for part in event.events])
        case "SelfComposedDpEvent":
            return make(between_replaced(event.event), event.count)
        case "SampledWithoutReplacementDpEvent":
            return make(event.source_dataset_size, event.sample_size, between_replaced(event.event))
        case "RepeatAndSelectDpEvent":
            return make(between_replaced(event.event), event.mean, event.shape)
    return event


_ASK = "compute_epsilon(delta, num_self_compositions) of its accountant bounds epsilon"


def _refuse(events: Any, items: Sequence[Any]) -> None:
    """Raise InputError for the first of ``items``, what ``events`` hold, that is no event of the first one's kind."""
    if hasattr(events, "class_name") and hasattr(events, "_fields"):
        _say("be dp_accounting events themselves: DpEvent.from_named_tuple(it)", "a named tuple of one")
    own = [isinstance(item, Event) for item in items]
    theirs = [_is_dp_accounting(item) for item in items]
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


_KINDS = {kind.__name__: kind for kind in (Gaussian, Laplace, Sampled, RandomAllocation, Repeated, Disjoint)}


def read_event_file(path: str) -> Any:
    """Read a file of events; InputError if it holds anything else."""
    with within(path):
        found = json_of(text_of(path, "FILE.json"), "FILE.json")
        if isinstance(found, dict) and "history" in found:
            found = found["history"]
            require(found != [], "the history", "be that of a training that began", "an empty one")
        if _is_named_tuple(found):
            return _event(found)
        rows = isinstance(found, list) and found and all(isinstance(row, list) for row in found)
        if rows and not any(map(_is_named_tuple, found)):
            return [tuple(row) for row in found]
        return [_event(item) for item in found] if isinstance(found, list) else _event(found)


def _is_named_tuple(item: Any) -> bool:
    """Whether it is an event of dp_accounting as ``json.dump`` writes its named tuple: without the fields' names."""
    named = isinstance(item, list) and len(item) > 1 and all(isinstance(name, str) for name in item[:2])
    return named and item[0].startswith("dp_accounting")


def _event(item: Any) -> Any:
    values: list[Any] = []
    fields: dict[str, Any] = {}
    if _is_named_tuple(item):
        name, values = item[1], [_field(value) for value in item[2:]]
        make = _theirs(name)
    else:
        good = isinstance(item, dict) and isinstance(item.get("class_name"), str)
        require(good, "an event", "be an object with a class_name", shown(item))
        name = item["class_name"]
        fields = {key: _field(value) for key, value in item.items() if key not in ("class_name", "module_name")}
        make = _KINDS.get(name) or _theirs(name)
    try:
        return make(*values, **fields)
    except TypeError as error:
        raise InputError(f"{short(name)} must have the fields of that event, got: {short(error)}") from error


def _field(value: Any) -> Any:
    if isinstance(value, dict) or _is_named_tuple(value):
        return _event(value)
    if isinstance(value, list):
        parts = [_field(part) for part in value]
        return tuple(parts) if any(isinstance(part, Gaussian | Laplace) for part in parts) else parts
    return math.inf if value in ("inf", "Infinity") else value


def _theirs(name: str) -> Callable[..., Any]:
    """The class of dp_accounting of that name."""
    ours = ", ".join(_KINDS)
    require(name.endswith("DpEvent"), "class_name", f"be one of {ours}, or dp_accounting's", name)
    try:
        from dp_accounting import dp_event
    except ImportError as error:
        raise InputError(f"{name} must find its library: pip install dp-accounting") from error
    kind = getattr(dp_event, name, None)
    require(isinstance(kind, type), "class_name", f"be one of {ours}, or dp_accounting's", name)
    make: Callable[..., Any] = kind  # type: ignore[assignment]  # just asked
    return make
