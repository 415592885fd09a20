"""Plain text, formulas and tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|$~^&!@])")


def plain(text: object) -> str:
    """Return a text whose signs are no markup."""
    return _SIGNS.sub(r"\\\1", " ".join(str(text).split()))


def with_formulas(text: str) -> str:
    """Return a text whose formulas stand between dollar signs, everything else being plain."""
    parts = " ".join(text.split()).split("$")
    if len(parts) % 2 == 0:  # a dollar sign that is none of ours
        return plain(text)
    return "".join(plain_between(part) if i % 2 == 0 else f"${part.strip()}$" for i, part in enumerate(parts))


def plain_between(part: str) -> str:
    """Return a part of a sentence as plain text, with the spaces at its ends."""
    return _SIGNS.sub(r"\\\1", part)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(each)} |" for each in lines) + "\n"


def code(text: str) -> str:
    """Return a text as code that may stand in a cell."""
    return f"`{text.replace('|', chr(92) + '|')}`"


def block(text: str, language: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"
