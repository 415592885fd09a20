"""A copy of the package in a folder of its own, edited and restored; with the machine code that no edit touches.

Numba finds compiled code by a file's path and time: the copy stays in one place and its files keep their times. Each
run begins from what earlier runs compiled of unedited code, and leaves what it compiled of that.
"""

from __future__ import annotations

import compileall
import os
import pickle
import shutil
from collections.abc import Iterator
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
        """Of processes that import the copy; what they would keep for later runs is theirs alone."""
        return os.environ | {
            "PYTHONPATH": str(self.package), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(self._used),
            "XDG_CACHE_HOME": str(self._home), "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
        }  # fmt: skip

    @contextmanager
    def edited(self, mutant: Mutant) -> Iterator[None]:
        """The copy with this edit."""
        file, original = self.package / mutant.path, ROOT / mutant.file
        text = mutant.applied(original.read_text("utf-8"))
        shutil.rmtree(self._used, ignore_errors=True)
        shutil.copytree(self._warm, self._used, copy_function=os.link)
        shutil.rmtree(self._home)
        self._home.mkdir()
        if mutant.edits:
            file.write_text(text, "utf-8")
        try:
            yield
            self._learn(file.stat().st_mtime if mutant.edits else None)
        finally:
            shutil.copy2(original, file)

    def _learn(self, edited: float | None) -> None:
        """Keep the compiled code that no edited file is part of: stamps hold the times of all files that are."""
        for index in self._used.rglob("*.nbi"):
            kept = self._warm / index.relative_to(self._used)
            if kept.is_file() and kept.samefile(index):
                continue
            with index.open("rb") as stream:
                pickle.load(stream)  # Numba's version
                stamp, _ = pickle.loads(stream.read())
            if edited is None or edited not in set(_numbers(stamp)):
                kept.parent.mkdir(parents=True, exist_ok=True)
                for file in index.parent.glob(f"{index.stem}.*"):
                    (kept.parent / file.name).unlink(missing_ok=True)
                    os.link(file, kept.parent / file.name)


def _numbers(stamp: Any) -> Iterator[Any]:
    """All that a stamp of stamps holds."""
    if isinstance(stamp, tuple):
        for part in stamp:
            yield from _numbers(part)
    else:
        yield stamp
