"""Writing results: a reader finds the old file or the new one, never half of either."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from pathlib import Path

from dpcheck.errors import InputError, one_line, require

_DESCRIPTOR = re.compile(r"/dev/(?:std(?P<name>out|err)|fd/(?P<dev>\d+))|/proc/(?:self|thread-self)/fd/(?P<proc>\d+)")
_LINKS = 40  # as many as systems follow


def write_text(path: str | Path, text: str) -> None:
    """Write text to where a path leads, replacing a regular file in one step; InputError where it cannot be written."""
    write_bytes(path, text.encode("utf-8", "replace"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write bytes to where a path leads, replacing a regular file in one step; InputError where that fails."""
    target = Path(path)
    try:
        opened = descriptor(target)
        if opened is not None:
            for stream in (sys.stdout, sys.stderr):  # what was said before comes before
                if stream is not None and not stream.closed:
                    stream.flush()
            with os.fdopen(os.dup(opened), "wb") as file:
                file.write(content)
            return
        found = target.stat() if target.exists() else None
        if found is not None and not stat.S_ISREG(found.st_mode):
            target.write_bytes(content)
        else:
            mask = os.umask(0)  # which a new file's mode follows, and which can only be read by setting it
            os.umask(mask)
            _replace(target.resolve(), content, 0o666 & ~mask if found is None else stat.S_IMODE(found.st_mode))
    except OSError as error:
        raise InputError(f"output must be a writable file, got {one_line(target)}: {error.strerror}") from error


def require_new_folder(path: Path, name: str) -> None:
    """Require a folder that is empty or not there yet, and can be written."""
    fresh = not path.exists() or (path.is_dir() and not any(path.iterdir()))
    require(fresh, name, "be new or empty", path)
    above = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    require(above.is_dir() and os.access(above, os.W_OK), name, "be a folder that can be written", path)


def descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path such as ``/dev/stdout`` stands for, or None."""
    for _ in range(_LINKS):
        match = _DESCRIPTOR.fullmatch(str(path.absolute()))
        if match:
            names = {"out": 1, "err": 2}
            return names[match["name"]] if match["name"] else int(match["dev"] or match["proc"])
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _replace(target: Path, content: bytes, mode: int) -> None:
    """The whole content on disk beside the target first, then in its place."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
