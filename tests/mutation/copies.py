"""A copy of the package in a folder of its own, edited and restored; all runs share one folder of compiled code."""

from __future__ import annotations

import compileall
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .mutant import ROOT

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

    @contextmanager
    def edited(self, texts: Mapping[str, str]) -> Iterator[None]:
        """The copy with other texts of these modules."""
        try:
            for path, text in texts.items():
                (self.package / path).write_text(text, "utf-8")
            yield
        finally:
            for path in texts:
                shutil.copy2(ROOT / path, self.package / path)

    def python(self, *arguments: str, seconds: float) -> tuple[int | None, str]:
        """The exit status and output of a Python that imports the copy; None where its time was up.

        What the check keeps from run to run is kept from mutant to mutant.
        """
        environment = os.environ | {
            "PYTHONPATH": str(self.package), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(self._compiled),
            "XDG_CACHE_HOME": str(self._home), "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
        }  # fmt: skip
        with subprocess.Popen(
            [sys.executable, "-P", *arguments], env=environment, cwd=ROOT, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return None, process.communicate()[0]
        return process.returncode, output
