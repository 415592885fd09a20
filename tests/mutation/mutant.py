"""What a mutant is: edits of definitions, the algorithms whose check must see them, the part that they break."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .definitions import Edit

ROOT = Path(__file__).resolve().parents[2]
HARMLESS = "harmless"  # the list of edits that must change no verdict


@dataclass(frozen=True)
class Mutant:
    """Edits that are made together.

    name : unique;  area : the list that it stands in;  edits : none where a seed alone is tried
    check : the algorithms to check, in this order;  seed : of the check
    part : words, one of which a red finding must hold to name the faulty part
    why : the mistake, a sentence;  known : whether the fault was measured before this suite was written
    survives : why neither a test nor a finding can see it, where none does
    """

    name: str
    area: str
    edits: tuple[Edit, ...]
    check: tuple[str, ...]
    part: tuple[str, ...] = ()
    why: str = ""
    known: bool = False
    survives: str = ""
    seed: int = 0

    @property
    def definition(self) -> str:
        """The definitions that are edited."""
        return ", ".join(dict.fromkeys(edit.definition for edit in self.edits))

    @property
    def edit(self) -> str:
        """Return the edits on one line."""
        return "; ".join(" ".join(f"{edit.old} -> {edit.new or 'nothing'}".split()) for edit in self.edits)

    @property
    def digest(self) -> str:
        """Of all that decides a run of it."""
        return hashlib.sha256(repr((self.definition, self.edit, self.check, self.seed)).encode()).hexdigest()[:12]

    def named_by(self, finding: Mapping[str, Any]) -> bool:
        """Whether what a reader sees of a finding names the part: its id without the algorithm, its text, its place."""
        texts = [finding.get("id", "").partition(".")[2].replace("_", " ")]
        texts += [finding.get(key) or "" for key in ("subject", "reason", "surprise", "place")]
        return any(re.search(rf"(?<![a-z]){re.escape(word)}", " ".join(texts), re.IGNORECASE) for word in self.part)


def mutants(area: str = "") -> tuple[Mutant, ...]:
    """All mutants of one list, or of all but the harmless ones."""
    files = sorted(Path(__file__).with_name("lists").glob(f"{area or '*'}.toml"))
    lists = {file.stem: tomllib.loads(file.read_text("utf-8"))["mutant"] for file in files}
    return tuple(_read(name, entry) for name in lists if area or name != HARMLESS for entry in lists[name])


def _read(area: str, entry: dict[str, Any]) -> Mutant:
    """A mutant of a list: one edit among its other entries, or several under ``edits``."""
    single = {key: entry.pop(key) for key in ("definition", "old", "new", "hint") if key in entry}
    edits = tuple(Edit(**edit) for edit in entry.pop("edits", [single] if single else []))
    lists = {key: tuple(entry.pop(key, ())) for key in ("check", "part")}
    return Mutant(area=area, edits=edits, **lists, **entry)
