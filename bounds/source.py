"""Where the files of the catalogue decide a claim."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import partial
from pathlib import Path

from dpcheck.bounds import judge
from dpcheck.bounds.claim import Claim


def place(claim: Claim) -> str:
    """Return ``"FILE:LINE"`` of the function that decides the claim; where :func:`judge` does, of the claim itself."""
    decision = claim.decision
    if isinstance(decision, partial) and decision.func.__module__ == judge.__name__:
        return _stated(claim)
    while isinstance(decision, partial):
        decision = decision.func
    return f"{Path(decision.__code__.co_filename).resolve()}:{decision.__code__.co_firstlineno}"


def _stated(claim: Claim) -> str:
    """Return the place of the entry in its paper's folder, or nothing for a claim that is in none."""
    entry = re.compile(rf'Claim\(\s*"{re.escape(claim.id)}"')
    folder = importlib.import_module(f"dpcheck.bounds.{claim.paper}").__path__
    for module in pkgutil.iter_modules(folder):
        file = Path(folder[0], f"{module.name}.py")
        text = file.read_text("utf-8")
        found = entry.search(text)
        if found:
            return f"{file.resolve()}:{text.count(chr(10), 0, found.start()) + 1}"
    return ""
