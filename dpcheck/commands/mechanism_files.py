"""Mechanisms of one's own, declared in a file: ``[tool.dpcheck]`` of a pyproject.toml.

[tool.dpcheck]
confidence = 0.95                     # of all audits of the file together
seed = 0

[[tool.dpcheck.mechanisms]]
mechanism = "mechanisms:noisy_sum"    # MODULE:FUNCTION or FILE.py:FUNCTION, found beside the file
data = [0, 1, 1]                      # or the name of a .npy, .csv or .json file
neighbour = [0, 1, 0]
epsilon = 1.0                         # or claim = "mechanisms:EVENTS"
delta = 1e-5
trials = 20_000
expected = "consistent"               # or "violated", for a leak that is known
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dpcheck.commands import inputs
from dpcheck.errors import InputError, one_line, require, require_confidence, require_count

VERDICTS = ("consistent", "violated", "inconclusive")


@dataclass(frozen=True)
class Declared:
    """A mechanism as a file declares it: what to run, on which data, and what is claimed and expected of it."""

    mechanism: str
    data: Any
    neighbour: Any
    name: str = ""
    epsilon: float | None = None
    claim: str | None = None
    delta: float | None = None
    trials: int = 100_000
    vectorized: bool = False
    seeded: bool = True
    expected: str | None = None


@dataclass(frozen=True)
class MechanismFile:
    """All mechanisms of a file, and what their audits share."""

    path: Path
    mechanisms: tuple[Declared, ...]
    confidence: float = 0.95
    seed: int = 0

    @property
    def each(self) -> float:
        """The confidence of each audit at which all of them together have the one that was asked for (Bonferroni)."""
        return 1 - (1 - self.confidence) / len(self.mechanisms)

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Work in the folder of the file, where its modules and data lie."""
        before, path = Path.cwd(), list(sys.path)
        os.chdir(self.path.resolve().parent)
        try:
            yield
        finally:
            os.chdir(before)
            sys.path[:] = path


def read(path: str) -> MechanismFile:
    """Read ``[tool.dpcheck]`` of a TOML file.

    Parameters
    ----------
    path : str
        The file, such as ``"pyproject.toml"``.

    Returns
    -------
    MechanismFile
        What it declares.

    Raises
    ------
    InputError
        For a file that cannot be read, declares no mechanism, or declares one wrongly.
    """
    try:
        found = tomllib.loads(Path(path).read_text("utf-8")).get("tool", {}).get("dpcheck", {})
    except (OSError, ValueError) as error:
        raise InputError(f"the file of mechanisms must be readable TOML, got {path}: {one_line(error)}") from error
    entries = found.get("mechanisms") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path} must hold [[tool.dpcheck.mechanisms]], got none")
    unknown = found.keys() - {"mechanisms", "confidence", "seed"}
    require(not unknown, "[tool.dpcheck]", "hold mechanisms, confidence and seed", ", ".join(sorted(unknown)))
    confidence, seed = found.get("confidence", 0.95), found.get("seed", 0)
    require_confidence(confidence)
    require_count(seed, "seed", least=0)
    declared = tuple(_declared(entry, number) for number, entry in enumerate(entries, 1))
    names = [each.name for each in declared]
    require(len(set(names)) == len(names), "mechanisms", "have names of their own", ", ".join(names))
    return MechanismFile(Path(path), declared, confidence, seed)


def _declared(entry: Any, number: int) -> Declared:
    what = f"mechanism {number}"
    require(isinstance(entry, dict), what, "be a table", entry)
    known = {each.name for each in fields(Declared)}
    require(entry.keys() <= known, what, f"hold {', '.join(sorted(known))}", ", ".join(sorted(entry.keys() - known)))
    for name in ("mechanism", "data", "neighbour"):
        require(name in entry, what, f"hold {name}", ", ".join(entry))
    named = isinstance(entry["mechanism"], str)
    require(named, f"the mechanism of {what}", "be MODULE:NAME or FILE.py:NAME", entry["mechanism"])
    require(("epsilon" in entry) != ("claim" in entry), what, "hold either epsilon or claim", ", ".join(entry))
    for name in ("vectorized", "seeded"):
        require(isinstance(entry.get(name, True), bool), f"{name} of {what}", "be true or false", entry.get(name))
    expected = entry.get("expected")
    require(expected is None or expected in VERDICTS, "expected", f"be one of {', '.join(VERDICTS)}", expected)
    name = entry.get("name", entry["mechanism"].rpartition(":")[2])
    good = isinstance(name, str) and name.replace("-", "_").isidentifier()
    require(good, f"the name of {what}", "be letters, digits, _ and -", name)
    return Declared(**{**entry, "name": name})


def dataset(value: Any, name: str) -> Any:
    """A data set that a file gives as it is, or names the file of."""
    import json

    return inputs.dataset(value if isinstance(value, str) else json.dumps(value), name)
