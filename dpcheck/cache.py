"""The folder in which dpcheck keeps things for its user."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """Return the folder: where the system knows no home, as of a container's nameless user, one that cannot be made."""
    import platformdirs

    try:
        folder = Path(platformdirs.user_cache_dir("dpcheck", appauthor=False))
    except RuntimeError:
        folder = Path()
    return folder if folder.is_absolute() else Path(os.devnull, "dpcheck")  # older platformdirs return "~/.cache"
