"""Every theorem and claim of the catalogue, found by name.

A paper is a folder; each module in it may define ``THEOREMS`` and ``CLAIMS``, tuples of
:class:`~dpcheck.bounds.theorem.Theorem` and :class:`~dpcheck.bounds.claim.Claim`.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import re
from collections.abc import Iterable

from dpcheck.bounds.claim import Claim, ClaimResult
from dpcheck.bounds.theorem import Theorem
from dpcheck.errors import InputError, require

PAPERS = ("zhang2022", "yang2022", "zhang2025", "xu2026")


def theorem(id: str) -> Theorem:
    """The theorem of this id, such as ``"yang2022.theorem_2a"``.

    Raises :class:`~dpcheck.errors.InputError` for an unknown id, naming those that come close.
    """
    known = {each.id: each for each in theorems()}
    if id not in known:
        raise _unknown("theorem", id, known)
    return known[id]


def theorems(paper: str | None = None) -> tuple[Theorem, ...]:
    """All theorems, or those of one paper, in order of id."""
    _require_paper(paper)
    return tuple(each for each in _catalogue()[0] if paper in (None, each.paper))


def claims(paper: str | None = None) -> tuple[Claim, ...]:
    """All claims, or those of one paper, in order of paper and id."""
    _require_paper(paper)
    return tuple(each for each in _catalogue()[1] if paper in (None, each.paper))


def prove(target: str | None = None) -> tuple[ClaimResult, ...]:
    """Decide the claims of a paper (``"yang2022"``), one claim (``"Y17"``), or all of them.

    Every piece of evidence is recomputed. Raises :class:`~dpcheck.errors.InputError` for a target
    that is neither a paper nor a claim.
    """
    chosen = [each for each in claims() if target in (None, each.paper, each.id)]
    if not chosen:
        raise _unknown("paper or claim", target, (*PAPERS, *(each.id for each in claims())))
    return tuple(each.decide() for each in chosen)


@functools.cache
def _catalogue() -> tuple[tuple[Theorem, ...], tuple[Claim, ...]]:
    found: list[Theorem] = []
    stated: list[Claim] = []
    for paper in PAPERS:
        folder = importlib.import_module(f"dpcheck.bounds.{paper}")
        for entry in pkgutil.iter_modules(folder.__path__):
            module = importlib.import_module(f"{folder.__name__}.{entry.name}")
            found += getattr(module, "THEOREMS", ())
            stated += getattr(module, "CLAIMS", ())
    for ids in ([each.id for each in found], [each.id for each in stated]):
        twice = sorted({each for each in ids if ids.count(each) > 1})
        require(not twice, "ids of the catalogue", "be unique", ", ".join(twice))
    return (
        tuple(sorted(found, key=lambda each: _natural(each.id))),
        tuple(sorted(stated, key=lambda each: (PAPERS.index(each.paper), _natural(each.id)))),
    )


def _natural(id: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", id)]


def _require_paper(paper: str | None) -> None:
    if paper is not None and paper not in PAPERS:
        raise _unknown("paper", paper, PAPERS)


def _unknown(what: str, name: object, known: Iterable[str]) -> InputError:
    names = list(known)
    near = difflib.get_close_matches(str(name), names) or names[:5]
    shown = " ".join(str(name).split())[:200]
    return InputError(f"{what} must be a known one (perhaps {', '.join(near)}), got {shown}")
