"""What an edit is: the file, the text it replaces, the algorithms whose check must see it, the part it breaks."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).resolve().parent / "lists"
HARMLESS = "harmless"  # the list of edits that must change no verdict


@dataclass(frozen=True)
class Mutant:
    """One edit.

    name : unique;  area : the list that it stands in
    file : from the root, such as ``dpcheck/catalogue/yang2022/nseg.py``
    edits : (old, new) pairs, each old text exactly once in the file
    check : the algorithms to check, in this order
    part : words, one of which a red finding must hold to name the faulty part
    why : the mistake, a sentence
    known : whether the fault was measured before this suite was written
    survives : why no finding can see it, where none does
    seed : of the check
    """

    name: str
    area: str
    file: str
    edits: tuple[tuple[str, str], ...]
    check: tuple[str, ...]
    part: tuple[str, ...] = ()
    why: str = ""
    known: bool = False
    survives: str = ""
    seed: int = 0

    @property
    def digest(self) -> str:
        """Of all that decides a run of it."""
        text = repr((self.file, self.edits, self.check, self.seed))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def path(self) -> str:
        """The file as the package's folder has it: what is typed at the root lies in ``dpcheck`` once installed."""
        return self.file if self.file.startswith("dpcheck/") else f"dpcheck/{self.file}"

    def applied(self, text: str) -> str:
        """The file's text with all edits; ValueError for an old text that is not there exactly once."""
        for old, new in self.edits:
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: {text.count(old)} times in {self.file}: {old}")
            text = text.replace(old, new)
        return text

    def named_by(self, said: str) -> bool:
        """Whether a finding that says this names the part."""
        return any(re.search(rf"(?<![a-z]){re.escape(word.lower())}", said.lower()) for word in self.part)


def mutants(area: str | None = None) -> tuple[Mutant, ...]:
    """All edits of all lists, or of one; the harmless ones only where they are asked for."""
    names = sorted(path.stem for path in LISTS.glob("*.toml") if path.stem != HARMLESS) if area is None else [area]
    return tuple(_read(name, entry) for name in names for entry in _entries(name))


def _entries(area: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = tomllib.loads((LISTS / f"{area}.toml").read_text("utf-8"))["mutant"]
    return found


def _read(area: str, entry: dict[str, object]) -> Mutant:
    given = dict(entry)
    pairs = given.pop("edits", None) or [[given.pop("old", ""), given.pop("new", "")]]
    edits = tuple((str(old), str(new)) for old, new in pairs if old)  # type: ignore[attr-defined]
    lists = {name: tuple(given.pop(name, ())) for name in ("check", "part")}  # type: ignore[call-overload]
    return Mutant(area=area, edits=edits, **lists, **given)  # type: ignore[arg-type]
