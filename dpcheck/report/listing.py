"""Everything that can be asked for by name."""

from __future__ import annotations

import ast
import importlib.util
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dpcheck import _HOME
from dpcheck.errors import did_you_mean, require

Listing = dict[str, list[dict[str, str]]]

_TESTERS = {name: home for name, home in _HOME.items() if name.startswith("audit_") or name == "fit_rate"}


def listing() -> Listing:
    """List theorems, algorithms, base solvers, problems, testers and data sets, each with an id and a title."""
    from dpcheck.algorithms.declared_files import others
    from dpcheck.algorithms.registry import records
    from dpcheck.bounds.registry import theorems
    from dpcheck.catalogue.bases import BASES
    from dpcheck.datasets import names
    from dpcheck.problems import PROBLEMS

    return {
        "theorems": [{"id": each.id, "title": each.title} for each in theorems()],
        "algorithms": [{"id": name, "title": place.title} for name, place in records().items()]
        + [{"id": each.name, "title": f"declared in {each.value}"} for each in others(records())],
        "bases": [{"id": base.name, "title": base.title} for base in BASES.values()],
        "problems": [{"id": name, "title": _title(f"dpcheck.problems.{name}")} for name in PROBLEMS],
        "testers": [{"id": name, "title": _title(module)} for name, module in _TESTERS.items()],
        "datasets": [
            {"id": name, "title": "bundled" if name == "a9a" else "downloaded on first use"} for name in names()
        ],
    }


def chosen(found: Listing, words: Sequence[str]) -> Listing:
    """Return the entries of the kind that comes first, where it is one, whose id or title holds all (other) words."""
    kinds = [words[0]] if words[0] in found else list(found)
    wanted = [word.lower() for word in (words[1:] if words[0] in found else words)]
    kept = {
        kind: [each for each in found[kind] if all(word in f"{each['id']} {each['title']}".lower() for word in wanted)]
        for kind in kinds
    }
    known = [*found, *(each["id"] for entries in found.values() for each in entries)]
    must = f"be a kind ({', '.join(found)}), or words that a name or its title holds"
    require(any(kept.values()), "what to list", must, f"{' '.join(words)}{did_you_mean(words[0], known)}")
    return {kind: entries for kind, entries in kept.items() if entries}


def page(found: Listing, width: int) -> list[str]:
    """Return the lines of a page: of each kind how many there are and their names, of theorems those of each paper."""
    lines = []
    for kind, entries in found.items():
        names = [each["id"] for each in entries]
        if kind == "theorems":
            names = [f"{paper} ({count})" for paper, count in Counter(name.partition(".")[0] for name in names).items()]
        head = f"{kind:<10} {len(entries):>3}  "
        lines += textwrap.wrap(
            ", ".join(names), width, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False,
            break_long_words=False,
        )  # fmt: skip
    more = "with their titles: dpcheck list KIND [WORD ...], such as dpcheck list theorems xu2026"
    return [*lines, "", *textwrap.wrap(more, width)]


def _title(module: str) -> str:
    """Return the first line of a module's docstring, which is read, not imported: that would compile kernels."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    return (ast.get_docstring(tree) or "").split("\n", 1)[0].rstrip(".:")
