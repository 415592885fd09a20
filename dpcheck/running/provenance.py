"""Where and how a result came about: date, command, machine, versions."""

from __future__ import annotations

import platform
import shlex
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

_DECIDE = ("numpy", "scipy", "numba", "sympy", "mpmath", "python-flint", "z3-solver")


def provenance() -> dict[str, str]:
    """Return the date (UTC), the command, the platform, and the versions of Python and of what computes, as text."""
    program = Path(sys.argv[0] or "python").name
    dpcheck = program in ("dpcheck", "__main__.py", "dpcheck.exe")
    return {
        "date": datetime.now(UTC).isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC"),
        "command": shlex.join(["dpcheck" if dpcheck else program, *sys.argv[1:]]),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {metadata.version(name)}" for name in _DECIDE),
    }
