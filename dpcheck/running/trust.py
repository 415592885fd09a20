"""Whose files are read back: caches and stores that another user can write are refused, as their content is relied on.

A file or folder is trusted that belongs to this user or to root, and that nobody else can write. A group may write
where it is the user's own, as on systems whose umask is 002: this process runs with it, it has the user's name (or
number, where it has no name), and no other members. The group of root counts as root. Where this process is root, as in
a container, the owner of the working folder is trusted too: the code there is run anyway.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from dpcheck.errors import one_line

NEW_FOLDER, NEW_FILE = 0o755, 0o644  # whatever the umask is, nobody else writes


def distrusted(path: Path) -> str:
    """Say why a file, or the folder it lies in, may hold what another user wrote, and how to mend that; "" if not."""
    if os.name != "posix":
        return ""
    for place in (path.parent, path):
        try:
            found = place.stat()
        except OSError:  # it is not there yet, or is refused when it is read
            continue
        shown, kind = one_line(place), "folder" if stat.S_ISDIR(found.st_mode) else "file"
        if not _is_trusted(found.st_uid):
            return (f"{shown} must belong to you or root, got a {kind} of user {found.st_uid}, who may have written "
                    f"anything into it: take a copy of your own")  # fmt: skip
        others = stat.S_IWOTH | (0 if _is_own_group(found.st_gid) else stat.S_IWGRP)
        if found.st_mode & others:
            who = "everybody" if found.st_mode & stat.S_IWOTH else f"group {found.st_gid}"
            return (f"{shown} must be writable by you alone, got a {kind} that {who} can write: "
                    f"remove what is in doubt, and chmod go-w {shown}; or use another folder")  # fmt: skip
    return ""


@cache
def tell_once(sentence: str) -> None:
    """Say on stderr, once in a process, what is not used."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(f"dpcheck: {sentence}", file=sys.stderr, flush=True)


def _is_trusted(user: int) -> bool:
    """Say whether a user may decide what this process reads."""
    if user in (0, os.geteuid()):
        return True
    try:
        return os.geteuid() == 0 and user == Path.cwd().stat().st_uid
    except OSError:
        return False


def _is_own_group(number: int) -> bool:
    """Say whether a group is this user's, without other members."""
    import grp
    import pwd

    if number == 0:
        return True
    if number != os.getegid():
        return False
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = ""
    try:
        group = grp.getgrgid(number)
    except KeyError:
        return number == os.geteuid()
    return (group.gr_name == name or number == os.geteuid()) and {*group.gr_mem} <= {name}
