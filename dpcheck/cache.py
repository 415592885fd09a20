"""The folder in which dpcheck keeps things for its user."""

from __future__ import annotations

from pathlib import Path


def user_cache() -> Path | None:
    """Return the folder; None where the system knows no home folder, as of a container's user without a name."""
    import platformdirs

    try:
        folder = Path(platformdirs.user_cache_dir("dpcheck", appauthor=False))
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None  # older platformdirs return "~/.cache"
