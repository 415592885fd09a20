"""An entrant: what its file says of it, and its process, which answers one question at a time."""

from __future__ import annotations

import ast
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wild.environment import interpreter

from dpcheck.audits.running.other_python import OtherPython

FOLDER = Path(__file__).parent / "entrants"
CONFIDENCE = 0.95
ONE_CORE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def home() -> Path:
    """Where environments and copies are kept: DPCHECK_LEAGUE, or a folder of the user's cache."""
    return Path(os.environ.get("DPCHECK_LEAGUE", Path.home() / ".cache" / "dpcheck-league"))


@dataclass(frozen=True)
class Entrant:
    """The literal ENTRANT of a file, which is not imported for it.

    where : its package or repository;  copy : the folder of ``home()`` in which a copy of the repository lies, for
    those that no registry has;  requires : packages of its environment, None for this one
    uses_claim : whether its bound depends on the claim;  words : what of it is called, and what the adapter adds
    most_runs : more take too long;  seeds : fewer, since it is slow;  pure : it knows no delta
    """

    path: Path
    name: str
    where: str
    requires: list[str] | None
    copy: str | None
    uses_claim: bool
    words: str
    most_runs: int = 1_000_000
    pure: bool = False
    seeds: int | None = None

    @classmethod
    def read(cls, path: Path) -> Entrant:
        """Read a file."""
        found = [
            ast.literal_eval(node.value)
            for node in ast.parse(path.read_text("utf-8")).body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ENTRANT"
        ]
        assert len(found) == 1, f"{path.name} must have one ENTRANT"
        return cls(path=path, **found[0])

    def start(self) -> Process:
        """Start its process; NotInstalledError or OSError where it cannot be had."""
        if self.copy is not None and not (home() / self.copy).is_dir():
            raise OSError(f"a copy of {self.where} has to lie in {home() / self.copy}")
        python = Path(sys.executable) if self.requires is None else interpreter(self.requires, "3.11", home())
        return Process(self, python)


class Process:
    """A process of an entrant's environment, on one thread."""

    def __init__(self, entrant: Entrant, python: Path) -> None:
        os.environ.update(dict.fromkeys(ONE_CORE, "1"), DPCHECK_LEAGUE=str(home()))
        self._ask = OtherPython(python, f"{entrant.path}:bound")

    def bound(self, data: Any, neighbour: Any, epsilon: float, delta: float) -> tuple[float, float]:
        """Return the bound and the seconds that the process computed for it."""
        before = self._seconds()
        found = float(self._ask(data, neighbour, epsilon, delta, CONFIDENCE))
        return (0.0 if math.isnan(found) else max(0.0, found)), self._seconds() - before

    def _seconds(self) -> float:
        """Time of the processor, of all threads: what others run on the machine does not count."""
        process = self._ask._process
        if process is None:
            return 0.0
        fields = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return sum(int(fields[place]) for place in (11, 12)) / os.sysconf("SC_CLK_TCK")


def entrants() -> dict[str, Entrant]:
    """All entrants by name, dpcheck first."""
    read = [Entrant.read(path) for path in sorted(FOLDER.glob("with_*.py"))]
    return {entrant.name: entrant for entrant in sorted(read, key=lambda one: (one.name != "dpcheck", one.name))}
