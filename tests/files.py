"""The files of the clone: those of the package, and those that the sdist alone holds."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
# a folder of the clone -> where its files are installed; links to the first two lie in the third
FOLDERS = {"bounds": "dpcheck/bounds", "audits": "dpcheck/audits", "dpcheck": "dpcheck"}


def sources() -> dict[str, str]:
    """Every file that belongs to the package: path in the clone -> path installed."""
    found = {}
    for folder, place in FOLDERS.items():
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT / folder)
            linked = folder == "dpcheck" and inside.parts[0] in FOLDERS
            if path.is_file() and not generated(inside) and not linked:
                found[path.relative_to(ROOT).as_posix()] = (PurePosixPath(place) / inside.as_posix()).as_posix()
    return found


def others() -> set[str]:
    """Files of the clone that belong to the sdist alone."""
    texts = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "MANIFEST.in"}
    texts |= {"CITATION.cff", "SECURITY.md", ".github/workflows/installs.yml"}
    found = [path for folder in ("tests", "notebooks", "docs") for path in (ROOT / folder).rglob("*")]
    return texts | {".ci/run", ".ci/coq", ".ci/browser", ".ci/libraries"} | {
        path.relative_to(ROOT).as_posix() for path in found if path.is_file() and not generated(path.relative_to(ROOT))
    }  # fmt: skip


def generated(path: Path) -> bool:
    """Whether Python, Numba, npm or Sphinx wrote it."""
    made = {"__pycache__", "node_modules", "generated"}
    return not made.isdisjoint(path.parts) or path.suffix in (".pyc", ".nbi", ".nbc")
