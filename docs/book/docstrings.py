"""Docstrings are plain text with a little markup: signs of mathematics in them are none, names and sources are."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

# Kept as they are: a role or a target in single backticks, code in double ones.
_KEPT = re.compile(r"(:[\w:]+:`[^`]*`|``.*?``|`[^`]*`)", re.S)
_ROLE = re.compile(r":(class|func|meth|mod|data|attr):`(~?)([\w.]+)`")
_SIGNS = re.compile(r"\||(?<=\S)\*|(?<=\s)\*(?=\s)|(?<=\w)_(?!\w)")
_SOURCE = re.compile(r"\[\d+\] ")
_BORDER = re.compile(r"=+( +=+)+$")
_BAR = "\u2223"  # as wide as a bar, and no markup: an escaped one would push the columns of a table apart


def prepare(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Escape what is no markup, outside code and examples; part sources; and give names as Python finds them."""
    pieces = _KEPT.split("\n".join(lines))
    kept = [
        _full(piece, found) if i % 2 else _SIGNS.sub(lambda sign: "\\" + sign[0], piece)
        for i, piece in enumerate(pieces)
    ]
    shown, borders, in_source = [], 0, False
    for before, after in zip(lines, "".join(kept).split("\n"), strict=False):  # of no line there is one part
        borders += bool(_BORDER.match(before))
        if borders % 3:  # a table has a border above its head, below it, and at its end
            shown.append(before.replace("|", _BAR))
        elif before.lstrip().startswith((">>>", "...", "*", "**")):
            shown.append(before)
        else:
            if _SOURCE.match(before):
                shown.append("")
            in_source = bool(_SOURCE.match(before)) or (in_source and before.startswith(" "))
            shown.append(after.strip() if in_source else after)
    lines[:] = shown


def exists(name: str) -> bool:
    """Whether Python finds a name."""
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:i]))
        except ImportError:
            continue
        return all((value := getattr(value, part, None)) is not None for part in parts[i:])
    return False


def _full(role: str, found: Any) -> str:
    """A role whose name is written as the module sees it, with the whole name; one that nobody finds stays."""
    match = _ROLE.fullmatch(role)
    if match is None:
        return role
    kind, short, name = match.groups()
    module = found.__name__ if inspect.ismodule(found) else str(getattr(found, "__module__", "") or "dpcheck")
    owner = str(getattr(found, "__qualname__", "")).split(".")[0]
    words, name = (name.rpartition(".")[2] if short else name.lstrip(".")), name.lstrip(".")
    above = [module.rsplit(".", i)[0] for i in range(1, module.count(".") + 1)]
    for place in (f"{module}.{owner}", module, *above):
        if exists(f"{place}.{name}"):
            return f":{kind}:`{words} <{place}.{name}>`"
    return role
