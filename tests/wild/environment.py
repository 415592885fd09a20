"""Environments of cases: installed once for what they require, then used without a network."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


class NotInstalledError(Exception):
    """An environment that could not be made here; the text says why, in a line."""


def folder() -> Path:
    """Where environments are kept: DPCHECK_WILD, or a folder of the user's cache."""
    return Path(os.environ.get("DPCHECK_WILD", Path.home() / ".cache" / "dpcheck-wild"))


def interpreter(requires: Sequence[str], version: str, within: Path | None = None) -> Path:
    """Return the Python of an environment with these packages, which is made where it is not there."""
    key = hashlib.sha256("\n".join([version, *requires]).encode()).hexdigest()[:12]
    within = within or folder()
    home, whole = within / key, within / f"{key}.txt"
    if not whole.exists():
        shutil.rmtree(home, ignore_errors=True)
        _run([_base(version), "-m", "venv", str(home)])
        _run([str(home / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *requires])
        whole.write_text("\n".join([f"Python {version}", *requires, ""]), "utf-8")
    return home / "bin" / "python"


def _base(version: str) -> str:
    """Return a Python of this version that starts: of this process, on PATH, where pyenv may have one of no use, or of
    pyenv itself.
    """
    found = [sys.executable] if sys.version.startswith(f"{version}.") else []
    found += [path for path in [shutil.which(f"python{version}")] if path]
    found += [str(path) for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for path in found:
        if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    raise NotInstalledError(f"no Python {version} here")


def _run(command: list[str]) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if "rror" in line] or ended.stderr.splitlines() or ["?"]
        raise NotInstalledError(lines[-1].strip()[:200])
