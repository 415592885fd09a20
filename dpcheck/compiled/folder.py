"""The folder of compiled code: the user's cache, one file a kernel and signature, named by what is compiled in.

A file is written whole or not at all, holds its own checksum, and is thrown away where that does not agree. Where the
folder cannot be written, or the disk is full, code is compiled in each process anew.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from contextlib import suppress
from pathlib import Path

_DAYS = 30  # after which a file that nobody read goes
_DAY = 86_400.0
_SWEPT = "swept"  # the file whose time says when the folder was last looked through


def place() -> Path:
    """Return the folder: that of ``NUMBA_CACHE_DIR`` where it is set, else one in the user's cache."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("dpcheck", appauthor=False)) / "compiled"


def read(name: str) -> bytes | None:
    """Return what was kept under this name; None where nothing is, or nothing that is whole."""
    path = place() / name
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        drop(name)
        return None
    with suppress(OSError):  # of a folder that is only read, nothing goes
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)
    return data[:-32]


def write(name: str, data: bytes) -> None:
    """Keep data under this name, where that is possible."""
    where = place()
    new = where / f"{name}.{uuid.uuid4().hex[:12]}"
    try:
        where.mkdir(parents=True, exist_ok=True)
        new.write_bytes(data + hashlib.sha256(data).digest())
        os.replace(new, where / name)
        _sweep(where)
    except OSError:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def drop(name: str) -> None:
    """Throw away what was kept under this name."""
    with suppress(OSError):
        (place() / name).unlink(missing_ok=True)


def _sweep(where: Path) -> None:
    """Remove what was not read for a month; look for it once a day."""
    now, mark = time.time(), where / _SWEPT
    if mark.exists() and now - mark.stat().st_mtime < _DAY:
        return
    mark.touch()
    for file in where.glob("*.code*"):
        with suppress(OSError):  # another process may have removed it
            if now - file.stat().st_mtime > _DAYS * _DAY:
                file.unlink()
