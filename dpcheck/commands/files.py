"""Which files a command reads and writes: stated where an argument is defined, and held before the work begins."""

from __future__ import annotations

import os
import stat
import unicodedata
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from dpcheck.commands import inputs
from dpcheck.errors import require
from dpcheck.running.files import descriptor, require_new_folder

SCRIPT_MARK = "Written by `dpcheck audit --repro`"
_HEAD = 1_000  # letters of a script in which its mark stands
_SOURCES = frozenset({".py", ".pyi", ".pyx", ".ipynb", ".toml", ".cfg", ".ini", ".yml", ".yaml"})
_STORES = ("dpcheck.sqlite", "reproduce.sqlite")
_OF_SQLITE = ("", "-wal", "-shm", "-journal")


class File(Enum):
    """The ``type`` of an argument of text: what a command does with the file that it names."""

    NONE = auto()  # it names none
    READ = auto()  # or holds the content itself
    CODE = auto()  # MODULE:NAME or FILE.py:NAME
    STORE = auto()  # a folder of what is measured
    WRITTEN = auto()
    NEW = auto()  # written, and not there yet
    SCRIPT = auto()  # of Python, written with files beside it
    FOLDER = auto()  # written, and empty or not there yet

    def __call__(self, text: str) -> str:
        """Return the text; of an output the whole path, since code under test may go to another folder."""
        with suppress(OSError):  # of a working folder that is gone
            return os.path.abspath(text) if text and self in _WRITTEN else text
        return text


@dataclass(frozen=True)
class Named:
    """The values of one argument."""

    name: str  # as people type it
    role: File
    values: tuple[str, ...]


@dataclass(frozen=True)
class Files:
    """All files that a command line names."""

    named: tuple[Named, ...]

    @classmethod
    def of(cls, parser: ArgumentParser, options: Namespace) -> Files:
        """Return those that the parser's arguments name in a command line."""
        return cls(tuple(_named(parser._actions, options)))

    def require_apart(self, further: Mapping[str, Iterable[Path]] | None = None) -> None:
        """Require outputs that can be written, none of which is an input, a source file or another output.

        ``further`` are files that are read besides, by what names them. Links and other spellings of a path are seen
        through. Two files to be made whose names differ in case alone count as one, as they are on some systems.
        """
        read, written = dict[object, str](), dict[object, str]()
        more = ((name, path) for name, paths in (further or {}).items() for path in paths)
        for name, path in (*self._read(), *more):
            read.setdefault(_identity(path), name)
        if _is_regular(1):
            _require_free("stdout", 1, "what it is led to", read, written)
        for one in self.named:
            for value in one.values if one.role in _WRITTEN else ():
                _require_writable(one.name, one.role, value)
                for path in (Path(value), *_beside(one.role, value)):
                    opened = descriptor(path)
                    _require_free(one.name, path if opened is None else opened, path, read, written)
                _require_no_source(one.name, Path(value))

    def _read(self) -> Iterator[tuple[str, Path]]:
        for one in self.named:
            for value in one.values:
                if one.role is File.STORE:
                    yield one.name, Path(value)  # which may be made
                    yield from ((one.name, Path(value, f"{file}{end}")) for file in _STORES for end in _OF_SQLITE)
                elif one.role is File.CODE:
                    file = inputs.file_of(value.partition(":")[0])
                    yield from [(one.name, file)] if file is not None else []
                elif one.role is File.READ:
                    yield one.name, Path(value)


def as_typed(target: str) -> Path:
    """Return the path of an output as people see it: within the working folder, from there on."""
    path, here = Path(target), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


_WRITTEN = frozenset({File.WRITTEN, File.NEW, File.SCRIPT, File.FOLDER})
_Place = Path | int  # of a file that is open


def _named(actions: Iterable[Action], options: Namespace) -> Iterator[Named]:
    for action in actions:
        value = getattr(options, action.dest, None)
        if isinstance(action.type, File) and value is not None:
            # such as REPORT.json for an argument without dashes
            name = action.option_strings[-1] if action.option_strings else str(action.metavar or action.dest)
            yield Named(name, action.type, tuple(value) if isinstance(value, list) else (value,))


def _require_free(name: str, place: _Place, shown: object, read: dict[object, str], written: dict[object, str]) -> None:
    """Require a place that is no input's, save of what ``--write-X`` renews, and of no other output of this call."""
    same = _identity(place)
    other = read.get(same)
    require(
        other is None or name == f"--write-{other.removeprefix('--')}", name, f"be another file than {other}", shown
    )
    if isinstance(place, int) and name != "stdout":  # what is open already takes one text after the other
        return
    other = written.get(same)
    require(other is None, name, f"be another file than {other}", shown)
    if _is_regular(place):
        written[same] = name


def _identity(place: _Place) -> object:
    """Return what two names of one file share: its number or, of a file to be made, its folder's and its name."""
    try:
        full = place if isinstance(place, int) else place.resolve()
        with suppress(FileNotFoundError):
            found = os.stat(full)
            return found.st_dev, found.st_ino
        assert isinstance(full, Path)
        folder = os.stat(full.parent)
        return folder.st_dev, folder.st_ino, unicodedata.normalize("NFC", full.name).casefold()
    except (OSError, RuntimeError, ValueError):  # of a text that names no file
        return place


def _is_regular(place: _Place) -> bool:
    """Say whether a place is a file, or one that is to be made; no terminal, and no pipe."""
    try:
        return stat.S_ISREG(os.stat(place).st_mode)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def _require_writable(name: str, role: File, value: str) -> None:
    """Require a place for an output that overwrites no source."""
    require(bool(value), name, "be a file that can be written", "an empty name")
    try:
        if descriptor(Path(value)) is not None:
            return
        path = Path(value).resolve()
    except (OSError, RuntimeError, ValueError):  # a name that is too long, a circle of links
        path = Path()
    if path.is_symlink():  # from Python 3.13 on, a circle of links is left as it is
        path = Path()
    if role is File.FOLDER:
        require_new_folder(path, name)
        return
    require(path.parent.is_dir(), name, "lie in an existing folder", value)
    replaced = os.access(path.parent, os.W_OK) or not _is_regular(path)
    good = replaced and not path.is_dir() and (os.access(path, os.W_OK) or not path.exists())
    require(good, name, "be a file that can be written", value)
    require(role is not File.NEW or not path.exists(), name, "be a new file", value)
    require(role is not File.SCRIPT or path.suffix == ".py", name, "end in .py", value)


def _require_no_source(name: str, path: Path) -> None:
    """Require a file that is new, no source or settings by its ending, or a script that ``--repro`` wrote."""
    own = path.resolve().suffix.lower() not in _SOURCES or not path.exists()
    if not own:
        with suppress(OSError, ValueError), path.open(encoding="utf-8") as file:
            own = SCRIPT_MARK in file.read(_HEAD)
    require(own, name, "be a new file, or one that holds no source or settings of a project", path)


def _beside(role: File, value: str) -> Iterator[Path]:
    """Yield what may be written beside an output, and require that nothing else has these names."""
    if role is File.SCRIPT:
        from dpcheck.commands.reproduction import beside

        for path in beside(Path(value)):
            free = Path(value).exists() or not path.exists()
            require(free, "--repro", f"not lead to {path}, which is another's", value)
            yield path
