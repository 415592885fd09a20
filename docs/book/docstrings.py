"""Docstrings are plain text with a little markup: signs of mathematics in them are no markup."""

from __future__ import annotations

import re
from typing import Any

# Kept as they are: a role or a target in single backticks, code in double ones.
_KEPT = re.compile(r"(:[\w:]+:`[^`]*`|``.*?``|`[^`]*`)")
_SIGNS = re.compile(r"\||(?<=\S)\*|(?<=\s)\*(?=\s)|(?<=\w)_(?!\w)")


def escape(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Escape bars, stars and the underscore that ends a word, outside code and examples."""
    text = "\n".join(lines)
    pieces = _KEPT.split(text)
    kept = [piece if i % 2 else _SIGNS.sub(lambda sign: "\\" + sign[0], piece) for i, piece in enumerate(pieces)]
    for i, (before, after) in enumerate(zip(lines, "".join(kept).split("\n"), strict=False)):  # no line gives one
        if not before.lstrip().startswith((">>>", "...", "*", "**")):
            lines[i] = after
