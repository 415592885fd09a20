"""A copy of the package in a folder of its own, edited and restored; with the machine code that no edit touches.

Numba looks up compiled code by the file's path and time, so that the copy stays in one place, keeps its files' times,
and each run begins from the same compiled code.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .mutant import ROOT, Mutant

_LEFT = shutil.ignore_patterns("__pycache__", "*.so")


class Copy:
    """``folder``/package holds the copy, ``folder``/warm what it compiles to, ``folder``/numba what a run compiles."""

    def __init__(self, folder: Path) -> None:
        self.package, self._warm, self._used = folder / "package", folder / "warm", folder / "numba"
        shutil.rmtree(self.package, ignore_errors=True)
        shutil.copytree(ROOT / "dpcheck", self.package / "dpcheck", ignore=_LEFT)  # symlinks are followed
        self._warm.mkdir(parents=True, exist_ok=True)
        self._home = folder / "home"
        self._home.mkdir(exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """Of processes that import the copy."""
        return os.environ | {
            "PYTHONPATH": str(self.package), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(self._used),
            "XDG_CACHE_HOME": str(self._home), "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
        }  # fmt: skip

    @contextmanager
    def edited(self, mutant: Mutant) -> Iterator[None]:
        """The copy with this edit, and with fresh links to the compiled code."""
        file, original = self.package / mutant.path, ROOT / mutant.file
        text = mutant.applied(original.read_text("utf-8"))
        shutil.rmtree(self._used, ignore_errors=True)
        shutil.copytree(self._warm, self._used, copy_function=os.link)
        if mutant.edits:
            file.write_text(text, "utf-8")
        try:
            yield
        finally:
            shutil.copy2(original, file)

    def keep(self) -> None:
        """Take what the last run compiled, of the package as it is, for all that follow."""
        shutil.rmtree(self._warm)
        self._used.rename(self._warm)
