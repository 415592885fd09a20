"""Writing result files so that an interrupted run leaves the old file or the new, never half."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dpcheck.errors import InputError


def write_text(path: str | Path, text: str) -> None:
    """Replace ``path`` by ``text`` in one step; InputError where its folder cannot be written."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"output must be a writable file, got {target}: {error.strerror}") from error
