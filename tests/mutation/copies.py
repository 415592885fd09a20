"""A copy of the package in a folder of its own, edited and restored; with the machine code that no edit touches.

Numba finds compiled code by a file's path and time: the copy stays in one place and its files keep their times. Each
run begins from what earlier runs compiled of unedited code, and leaves what it compiled of that.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import pickle
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .mutant import ROOT, Mutant

_LEFT = shutil.ignore_patterns("__pycache__", "*.so")


class Copy:
    """``folder``/package holds the copy, ``folder``/warm what is compiled of it, ``folder``/numba what a run uses."""

    def __init__(self, folder: Path) -> None:
        self.package, self._warm, self._used = folder / "package", folder / "warm", folder / "numba"
        shutil.rmtree(self.package, ignore_errors=True)
        shutil.copytree(ROOT / "dpcheck", self.package / "dpcheck", ignore=_LEFT)  # symlinks are followed
        compileall.compile_dir(self.package, quiet=2)
        self._warm.mkdir(parents=True, exist_ok=True)
        self._home = folder / "home"
        self._home.mkdir(exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """Of processes that import the copy; what the check keeps from run to run is kept from mutant to mutant."""
        return os.environ | {
            "PYTHONPATH": str(self.package), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(self._used),
            "XDG_CACHE_HOME": str(self._home), "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
        }  # fmt: skip

    @contextmanager
    def edited(self, mutants: Sequence[Mutant]) -> Iterator[None]:
        """The copy with these edits."""
        shutil.rmtree(self._used, ignore_errors=True)
        shutil.copytree(self._warm, self._used, copy_function=os.link)
        changed = [mutant for mutant in mutants if mutant.edits]
        try:
            for mutant in changed:
                file = self.package / mutant.path
                file.write_text(mutant.applied(file.read_text("utf-8")), "utf-8")
            yield
            files = {self.package / mutant.path for mutant in changed}
            self._learn({mark for file in files for mark in (file.stat().st_mtime, _digest(file))})
        finally:
            for mutant in changed:
                shutil.copy2(ROOT / mutant.file, self.package / mutant.path)

    def _learn(self, edited: set[Any]) -> None:
        """Keep the compiled code that no edited file is part of: stamps hold the times or digests of those that are."""
        for index in self._used.rglob("*.nbi"):
            kept = self._warm / index.relative_to(self._used)
            if kept.is_file() and kept.samefile(index):
                continue
            with index.open("rb") as stream:
                pickle.load(stream)  # Numba's version
                stamp, _ = pickle.loads(stream.read())
            if edited.isdisjoint(_parts(stamp)):
                kept.parent.mkdir(parents=True, exist_ok=True)
                for file in index.parent.glob(f"{index.stem}.*"):
                    (kept.parent / file.name).unlink(missing_ok=True)
                    os.link(file, kept.parent / file.name)


def _parts(stamp: Any) -> Iterator[Any]:
    """All that a stamp of stamps holds."""
    if isinstance(stamp, tuple):
        for part in stamp:
            yield from _parts(part)
    else:
        yield stamp


def _digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()
