"""The text of a report, read with care: anybody may have written it, and every format must be able to show it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from dpcheck.errors import is_finite, require
from dpcheck.json_text import parse
from dpcheck.report.results import SCHEMA, Finding

# What no XML holds, what moves a terminal's cursor or turns its text round, and halves of characters.
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_WORDS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_TEXTS = ("id", "kind", "subject", "verdict", "reason")
_NUMBERS = ("expected_certified", "audited", "certified", "claimed")
_PLACE = re.compile(r".+:[1-9][0-9]{0,8}", re.DOTALL)


def readable(text: str) -> str:
    """Return a text with a sign in place of each character that a terminal or XML cannot show."""
    return _UNREADABLE.sub("\ufffd", text)


def parsed(text: str) -> dict[str, Any]:
    """Return the fields of a report, by name, from the JSON that it was written as.

    Raises
    ------
    InputError
        If the text is anything else; the message names the place.
    """
    found = _cleaned(parse(text, "report"))
    _object(found, "report")
    require(found.get("schema") == SCHEMA, "schema", f"be {SCHEMA}", found.get("schema"))
    seconds, seed = _given(found, "seconds"), _given(found, "seed")
    require(is_finite(seconds) and seconds >= 0, "seconds", "be a finite number >= 0", seconds)
    require(type(seed) is int, "seed", "be a whole number", seed)
    return {
        "findings": tuple(_each(found, "findings", _finding)),
        "algorithms": tuple(_each(found, "algorithms", _text)),
        "profile": _text(_given(found, "profile"), "profile"),
        "seed": seed,
        "version": _text(_given(found, "version"), "version"),
        "seconds": seconds,
        "tables": _tables(_given(found, "tables")),
        "made": _made(found.get("made", {})),
        "stages": _stages(found.get("stages", {})),
        "shown": tuple(_each(found, "shown", _text) if "shown" in found else ()),
    }


def _made(value: Any) -> dict[str, str]:
    """Where and how the report was made; older reports do not say."""
    _object(value, "made")
    return {name: _text(said, f"made.{name}") for name, said in value.items()}


def _stages(value: Any) -> dict[str, float]:
    """The seconds of each stage; older reports do not say."""
    _object(value, "stages")
    for title, seconds in value.items():
        require(is_finite(seconds) and seconds >= 0, f"stages.{title}", "be a finite number >= 0", seconds)
    return {title: float(seconds) for title, seconds in value.items()}


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, dict):
        return {readable(key): _cleaned(each) for key, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list) else value


def _object(value: Any, name: str) -> None:
    require(isinstance(value, dict), name, "be a JSON object", type(value).__name__)


def _given(found: dict[str, Any], name: str, where: str = "report") -> Any:
    require(name in found, where, f"have {name}", f"only {', '.join(found)}")
    return found[name]


def _text(value: Any, name: str) -> str:
    require(isinstance(value, str), name, "be a text", value)
    return str(value)


def _each(found: dict[str, Any], name: str, read: Callable[[Any, str], Any]) -> list[Any]:
    values = _given(found, name)
    require(isinstance(values, list), name, "be a list", type(values).__name__)
    return [read(value, f"{name}[{number}]") for number, value in enumerate(values)]


def _finding(value: Any, name: str) -> Finding:
    _object(value, name)
    given: dict[str, Any] = {each: _text(_given(value, each, name), f"{name}.{each}") for each in _TEXTS}
    given |= {each: _number(value.get(each), f"{name}.{each}") for each in _NUMBERS}
    for each in ("expected", "place"):
        said = value.get(each)
        given[each] = said if said is None else _text(said, f"{name}.{each}")
    place = given["place"]
    require(place is None or _PLACE.fullmatch(place) is not None, f"{name}.place", "be FILE:LINE", place)
    given["evidence"] = value.get("evidence", {})
    _object(given["evidence"], f"{name}.evidence")
    family = given["evidence"].get("within the claimed family")
    if family is not None:
        _object(family, f"{name}.evidence: within the claimed family")
        if "epsilon" in family:
            family["epsilon"] = _number(family["epsilon"], f"{name}.evidence: epsilon within the claimed family")
    assert given.keys() == {each.name for each in fields(Finding)}
    return Finding(**given)


def _number(value: Any, name: str) -> float | None:
    """Read an epsilon, which JSON holds as a number or, where it is not finite, as a word."""
    if value is None:
        return None
    if isinstance(value, str):
        require(value in _WORDS, name, f"be a number or one of {', '.join(_WORDS)}", value)
        return _WORDS[value]
    require(is_finite(value), name, f"be a number or one of {', '.join(_WORDS)}", value)
    return float(value)


def _tables(value: Any) -> dict[str, list[dict[str, Any]]]:
    _object(value, "tables")
    for title, rows in value.items():
        _each(value, title, _row)
        require(all(row.keys() == rows[0].keys() for row in rows), title, "have the same columns in each row", "others")
    return {title: rows for title, rows in value.items() if rows}


def _row(value: Any, name: str) -> dict[str, Any]:
    _object(value, name)
    for column, cell in value.items():
        good = cell is None or isinstance(cell, str | bool) or is_finite(cell)
        require(good, f"{name}.{column}", "be a number or a text", cell)
    return dict(value)
