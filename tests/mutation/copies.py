"""A copy of the package in a folder of its own, edited and restored; all runs share one folder of compiled code."""

from __future__ import annotations

import compileall
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .mutant import ROOT, Mutant

_LEFT = shutil.ignore_patterns("__pycache__", "*.so")


class Copy:
    """``folder``/package holds the copy, ``folder``/compiled what is compiled of it and of its mutants."""

    def __init__(self, folder: Path) -> None:
        self.package, self._compiled = folder / "package", folder / "compiled"
        shutil.rmtree(self.package, ignore_errors=True)
        shutil.copytree(ROOT / "dpcheck", self.package / "dpcheck", ignore=_LEFT)  # symlinks are followed
        compileall.compile_dir(self.package, quiet=2)
        self._home = folder / "home"
        self._home.mkdir(exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """Of processes that import the copy; what the check keeps from run to run is kept from mutant to mutant."""
        return os.environ | {
            "PYTHONPATH": str(self.package), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(self._compiled),
            "XDG_CACHE_HOME": str(self._home), "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
        }  # fmt: skip

    @contextmanager
    def edited(self, mutants: Sequence[Mutant]) -> Iterator[None]:
        """The copy with these edits."""
        changed = [mutant for mutant in mutants if mutant.edits]
        try:
            for mutant in changed:
                file = self.package / mutant.path
                file.write_text(mutant.applied(file.read_text("utf-8")), "utf-8")
            yield
        finally:
            for mutant in changed:
                shutil.copy2(ROOT / mutant.file, self.package / mutant.path)
