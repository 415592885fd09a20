"""Tables of measurements, kept in ``tests/measured`` as CSV below a line that says what made them.

Tests hand them to the fixture ``keep``; it prints them (``pytest -s``), and with ``pytest --keep-tables`` it writes
them here. Long measurements also need ``-m experiment``.
"""

from __future__ import annotations

import datetime
import platform
from importlib import metadata
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).resolve().parent / "measured"


def made_by() -> str:
    """Versions, kind of machine and date, on one line."""
    versions = [f"{name} {metadata.version(name)}" for name in ("dpcheck", "numpy", "numba")]
    machine = f"{platform.system()} {platform.machine()}"
    return ", ".join([*versions, f"python {platform.python_version()}", machine, datetime.date.today().isoformat()])


def write(name: str, frame: pd.DataFrame) -> None:
    FOLDER.mkdir(exist_ok=True)
    # figures beyond the sixth differ from one processor to the next
    body = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    (FOLDER / f"{name}.csv").write_text(f"# {made_by()}\n{body}", "utf-8")


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / f"{name}.csv", comment="#")
