"""Every theorem and claim of the catalogue, found by name, and those of a file of one's own.

A paper is a folder; each module in it may define ``THEOREMS``, a tuple of
:class:`~dpcheck.bounds.theorem.Theorem`, and claims: every name at its top level that holds a
:class:`~dpcheck.bounds.claim.Claim`, such as a function under the decorator
:func:`~dpcheck.bounds.claim.claim`. Any Python file may state claims in the same way, or list them in
``CLAIMS``; it is imported as it is: formulas are sympy expressions, never strings.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from dpcheck.bounds.carried import listed
from dpcheck.bounds.claim import OWN_FILE, Claim
from dpcheck.bounds.results import ClaimResults
from dpcheck.bounds.theorem import Theorem
from dpcheck.bounds.workers import decide_all, decide_file
from dpcheck.errors import InputError, one_line, raised, require

PAPERS = ("zhang2022", "yang2022", "zhang2025", "xu2026")


def theorem(id: str) -> Theorem:
    """Find a theorem of the catalogue by its id.

    Parameters
    ----------
    id : str
        Such as ``"yang2022.theorem_2a"``; ``dpcheck list theorems`` shows all.

    Returns
    -------
    Theorem
        Its bound, schedule, noise, rate and assumptions.

    Raises
    ------
    InputError
        For an unknown id; the message names those that come close.

    References
    ----------
    The theorem's own ``paper`` and ``location``.

    Examples
    --------
    >>> import dpcheck
    >>> found = dpcheck.theorem("yang2022.theorem_2a")
    >>> found.schedule(n=10_000, d=50, epsilon=1, delta=1e-8, G_w=1, G_v=1, L=1)["m"]
    50
    """
    known = {each.id: each for each in theorems()}
    if id not in known:
        raise _unknown("theorem", id, known)
    return known[id]


def theorems(paper: str | None = None) -> tuple[Theorem, ...]:
    """List all theorems, or those of one paper, in order of id.

    Parameters
    ----------
    paper : str, optional
        One of ``PAPERS``, such as ``"yang2022"``.

    Returns
    -------
    tuple of Theorem
        The theorems.
    """
    _require_paper(paper)
    return tuple(each for each in _catalogue()[0] if paper in (None, each.paper))


def claims(paper: str | None = None) -> tuple[Claim, ...]:
    """List all claims, or those of one paper, in order of paper and id.

    Parameters
    ----------
    paper : str, optional
        One of ``PAPERS``, such as ``"yang2022"``.

    Returns
    -------
    tuple of Claim
        The claims, which are not decided yet.
    """
    _require_paper(paper)
    return tuple(each for each in _catalogue()[1] if paper in (None, each.paper))


def find(target: str | None = None) -> tuple[Claim, ...]:
    """Find the claims of a paper, one claim, those of a theorem, of a Python file, or all.

    Parameters
    ----------
    target : str, optional
        A paper ("yang2022"), a claim ("Y17", "yang2022.Y17"), a theorem of the catalogue whose formulas claims carry
        ("yang2022.theorem_2a"), a file ("lemma.py"), or words that a claim's id, place, kind or statement has, all of
        them ("lemma 8"); all claims by default.

    Returns
    -------
    tuple of Claim
        At least one claim.

    Raises
    ------
    InputError
        For a target that is none of these, and for a file that cannot be imported or states no claims.
    """
    require(target is None or isinstance(target, str), "target", "be a name", target)
    if target is not None and target.endswith(".py"):
        return _load(target)
    chosen = tuple(each for each in claims() if target in (None, each.paper, each.id, f"{each.paper}.{each.id}"))
    chosen = chosen or carrying(str(target)) or tuple(each for each in claims() if _says(each, str(target).split()))
    if not chosen:
        known = (*PAPERS, *(each.id for each in claims()), *(each.id for each in theorems()))
        raise _unknown("paper, claim, theorem or words of a claim", target, known)
    return chosen


def carrying(theorem: str) -> tuple[Claim, ...]:
    """List the claims that a theorem's formulas belong to.

    Parameters
    ----------
    theorem : str
        Its id, such as ``"yang2022.theorem_2a"``.

    Returns
    -------
    tuple of Claim
        The claims, none for another name.
    """
    return tuple(each for each in claims() if any(part.theorem == theorem for part in each.carries))


def _says(claim: Claim, words: list[str]) -> bool:
    """Say whether a claim's id, paper, place, kind or statement has all of these words, capital or not."""
    text = f"{claim.id} {claim.paper} {claim.location} {claim.kind} {claim.statement}"
    return bool(words) and all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in words)


def prove(
    target: str | None = None, *, jobs: int | None = None, seconds: float = 60.0,
    watch: Callable[[str, int, int], object] | None = None,
) -> ClaimResults:  # fmt: skip
    """Decide the claims of a paper, one claim, those of a theorem, of a Python file, or all.

    Every piece of evidence is recomputed, in processes of its own.

    Parameters
    ----------
    target : str, optional
        Such as ``"yang2022"``, ``"Y17"``, ``"yang2022.theorem_2a"``, ``"lemma.py"`` or words, as in ``"lemma 8"``;
        all by default.
    jobs : int, optional
        Processes, one a core by default. No verdict depends on how many there are.
    seconds : float
        Time that a claim may take, > 0, beyond which it is ``unresolved``.
    watch : callable, optional
        Called as ``watch(id, done, total)`` after each claim.

    Returns
    -------
    ClaimResults
        A tuple: for each claim its verdict (``proved``, ``refuted``, ``conditional`` or ``unresolved``) and the
        evidence. ``print`` shows a line for each, ``to_frame()`` is a table.

    Raises
    ------
    InputError
        For a target that is none of these, and for a file that cannot be imported or states no claims.

    References
    ----------
    Each result's ``claim.paper`` and ``claim.location``.

    Examples
    --------
    >>> import dpcheck
    >>> [result] = dpcheck.prove("Y17", jobs=1)
    >>> result.verdict, result.claim.location
    ('refuted', 'proof of Lemma 6(a), Appendix C.2')
    """
    if isinstance(target, str) and target.endswith(".py"):
        return ClaimResults(decide_file(target, jobs=jobs, seconds=seconds, watch=watch))
    return ClaimResults(decide_all(find(target), target, jobs=jobs, seconds=seconds, watch=watch))


def _load(path: str) -> tuple[Claim, ...]:
    """Return the claims of a Python file."""
    file = Path(path).resolve()
    require(file.is_file(), "the file of claims", "exist", path)
    name = f"{OWN_FILE}{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"the file of claims must be importable, got {path}: {raised(error)}") from error
    listed = getattr(module, "CLAIMS", ())
    stated = _claims_in(module) if isinstance(listed, tuple | list) else []
    require(bool(stated), "the file of claims", "define CLAIMS, a tuple of Claim, or decorate functions by claim", path)
    strange = [type(each).__name__ for each in stated if not isinstance(each, Claim)]
    require(not strange, "CLAIMS", "hold only Claim, such as Claim(..., judge(...))", ", ".join(strange))
    _require_unique([each.id for each in stated])
    return tuple(stated)


def _claims_in(module: ModuleType) -> list[Claim]:
    """Return what a module lists in ``CLAIMS``, then the claims that have a name in it, in their order there."""
    listed = list(getattr(module, "CLAIMS", ()))
    named = {id(each): each for each in vars(module).values() if isinstance(each, Claim)}
    for each in listed:
        named.pop(id(each), None)
    return [*listed, *named.values()]


@functools.cache
def _catalogue() -> tuple[tuple[Theorem, ...], tuple[Claim, ...]]:
    found: list[Theorem] = []
    stated: list[Claim] = []
    for paper in PAPERS:
        folder = importlib.import_module(f"dpcheck.bounds.{paper}")
        for entry in pkgutil.iter_modules(folder.__path__):
            module = importlib.import_module(f"{folder.__name__}.{entry.name}")
            found += getattr(module, "THEOREMS", ())
            stated += _claims_in(module)
        of = listed(paper)
        stated = [replace(each, carries=of[each.id]) if each.id in of else each for each in stated]
    for ids in ([each.id for each in found], [each.id for each in stated]):
        _require_unique(ids)
    return (
        tuple(sorted(found, key=lambda each: _natural(each.id))),
        tuple(sorted(stated, key=lambda each: (PAPERS.index(each.paper), _natural(each.id)))),
    )


def _natural(id: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", id)]


def _require_unique(ids: list[str]) -> None:
    twice = sorted({each for each in ids if ids.count(each) > 1})
    require(not twice, "ids", "be unique", ", ".join(twice))


def _require_paper(paper: str | None) -> None:
    if paper is not None and paper not in PAPERS:
        raise _unknown("paper", paper, PAPERS)


def _unknown(what: str, name: object, known: Iterable[str]) -> InputError:
    names = list(known)
    near = difflib.get_close_matches(str(name), names) or names[:5]
    shown = one_line(name)[:200]
    return InputError(f"{what} must be a known one (perhaps {', '.join(near)}), got {shown}")
