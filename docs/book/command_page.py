"""The command, from its own parser."""

from __future__ import annotations

import os

from book.text import block
from dpcheck.cli import _parsers

_COLUMNS = "96"


def pages() -> dict[str, str]:
    """Return the page of every command's help."""
    kept = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR")}
    os.environ |= {"COLUMNS": _COLUMNS, "NO_COLOR": "1"}
    try:
        parser, commands = _parsers()
        parts = ["# The command\n", block(parser.format_help(), "text")]
        for name, each in commands.items():
            parts += [f"(command-{name})=\n## dpcheck {name}\n", block(each.format_help(), "text")]
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
    return {"reference/command.md": "\n".join(parts)}
