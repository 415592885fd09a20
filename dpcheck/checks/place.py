"""The file and line of the code that a finding is about."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.source import shown_place

if TYPE_CHECKING:
    from dpcheck.algorithms.declaration import Bound


def place_of_theorem(statement: Bound) -> str | None:
    """Return the file that states the theorem, and the line of its id or of the first theorem there."""
    for module in list(sys.modules.values()):
        named = vars(module).get("THEOREMS", ())
        if any(each is statement for each in (named if isinstance(named, tuple) else ())):
            file = Path(str(module.__file__))
            lines = file.read_text("utf-8").splitlines()
            ids = [number for number, text in enumerate(lines, 1) if f'id="{statement.id}"' in text]
            made = [number for number, text in enumerate(lines, 1) if "Theorem(" in text]
            return shown_place(f"{file}:{(ids or made or [1])[0]}")
    return None
