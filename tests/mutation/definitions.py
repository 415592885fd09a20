"""Edits of definitions, found by qualified name and matched as syntax trees: they outlive moves, layouts, comments."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "dpcheck"
tree = lru_cache(maxsize=2048)(ast.parse)  # of a module's text
Place = tuple[str, Sequence[ast.AST]]


@dataclass(frozen=True)
class Edit:
    """A fragment of a definition, and what takes its place.

    definition : qualified name of a function, class or constant, such as ``DPTD.events`` or ``BOUND``
    old, new : an expression or statements; ``old`` is in the definition exactly once, ``new`` may be empty
    hint : where several definitions of this name hold the fragment, what stands beside the right one (a class or
        another name of its module) or a part of the module's name; capitals and underscores do not matter
    """

    definition: str
    old: str
    new: str
    hint: str = ""

    def fragments(self) -> tuple[Sequence[ast.AST], Sequence[ast.AST]]:
        """Both as syntax trees: an expression each, or statements where one of them is no expression."""
        try:
            return [ast.parse(self.old.strip(), mode="eval").body], [ast.parse(self.new.strip(), mode="eval").body]
        except SyntaxError:
            return ast.parse(self.old).body, ast.parse(self.new).body


class Sources:
    """The texts of a package's modules by their paths, such as ``dpcheck/errors.py``; links are followed."""

    def __init__(self, package: Path = PACKAGE) -> None:
        files = (Path(folder, name) for folder, _, names in os.walk(package, followlinks=True) for name in names)
        modules = sorted(file for file in files if file.suffix == ".py")
        self.texts = {file.relative_to(package.parent).as_posix(): file.read_text("utf-8") for file in modules}
        heads = re.compile(r"^ *([\w, ]+)[(:=]", re.MULTILINE)  # ``def name(``, ``class Name:``, ``A, B =``
        self._words = {
            path: set(re.findall(r"\w+", " ".join(heads.findall(text)))) for path, text in self.texts.items()
        }

    def place(self, edit: Edit, texts: Mapping[str, str] | None = None, of: str = "an edit") -> Place:
        """The module, and the nodes of the fragment in it; ValueError where it is not there exactly once."""
        names, (fragment, _) = edit.definition.split("."), edit.fragments()
        modules = {path: tree((texts or self.texts)[path]) for path in self.texts if names[-1] in self._words[path]}
        places = [
            (path, nodes)
            for path, module in modules.items() if not edit.hint or _fits(edit.hint, path, module)
            for definition in definitions(module.body, names)
            for nodes in matching(definition, fragment)
        ]  # fmt: skip
        if len(places) != 1:
            bound = [path for path, module in modules.items() if [*definitions(module.body, names)]]
            where = f"{edit.definition} (hint: {edit.hint or 'none'}), which is defined in {bound or 'no module'}"
            raise ValueError(f"{of}: {len(places)} times in {where}: {edit.old}")
        return places[0]

    def edited(self, edits: Iterable[Edit], of: str = "an edit") -> dict[str, str]:
        """The new text of every module that the edits of a mutant change."""
        texts = dict(self.texts)
        for edit in edits:
            path, nodes = self.place(edit, texts, of)
            texts[path] = _replaced(texts[path], nodes, edit)
        return {path: text for path, text in texts.items() if text != self.texts[path]}


def definitions(body: Sequence[ast.stmt], names: Sequence[str]) -> Iterator[ast.stmt]:
    """The statements of a body that bind the qualified name."""
    for node in body:
        if names[0] in _bound(node):
            yield from definitions(getattr(node, "body", []), names[1:]) if names[1:] else [node]


def matching(root: ast.AST, fragment: Sequence[ast.AST]) -> Iterator[Sequence[ast.AST]]:
    """The places of a definition where the fragment stands; it may be the whole definition."""
    wanted = [ast.dump(node) for node in fragment]
    for node in ast.walk(ast.Module([root], [])):  # type: ignore[list-item]
        blocks = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
        for block in [[node]] if isinstance(fragment[0], ast.expr) else blocks:
            for start in range(len(block) - len(wanted) + 1 if isinstance(block, list) else 0):
                nodes = block[start : start + len(wanted)]
                if type(nodes[0]) is type(fragment[0]) and [ast.dump(part) for part in nodes] == wanted:
                    yield nodes


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return {node.name} if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else names


def _fits(hint: str, path: str, module: ast.Module) -> bool:
    beside = (name for node in module.body for name in _bound(node))
    words = (*path.removesuffix(".py").split("/"), *beside)
    return hint.lower().replace("_", "") in (word.lower().replace("_", "") for word in words)


def _replaced(text: str, nodes: Sequence[ast.AST], edit: Edit) -> str:
    """The text with ``new`` where the nodes stand; all else stays as it is, lines and comments included."""
    lines = text.encode().splitlines(keepends=True)
    first, last = nodes[0], nodes[-1]
    start = sum(map(len, lines[: first.lineno - 1])) + first.col_offset  # type: ignore[attr-defined]
    end = sum(map(len, lines[: last.end_lineno - 1])) + last.end_col_offset  # type: ignore[attr-defined]
    before, segment, after = (
        part.decode() for part in (text.encode()[:start], text.encode()[start:end], text.encode()[end:])
    )
    old, new = edit.fragments()
    if isinstance(old[0], ast.expr):
        if ast.dump(ast.parse(f"({segment})", mode="eval").body) != ast.dump(old[0]):  # misplaced before Python 3.12
            raise ValueError(f"{edit.definition}: a part of an f-string: {edit.old}")
        return f"{before}({ast.unparse(new[0])}){after}"
    indent = "\n" + " " * first.col_offset  # type: ignore[attr-defined]
    return before + indent.join("\n".join(map(ast.unparse, new or [ast.Pass()])).splitlines()) + after
