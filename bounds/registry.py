"""Every theorem and claim of the catalogue, found by name, and those of a file of one's own.

A paper is a folder beside this file, or a module that an installed package registers under the entry-point group
``dpcheck.papers``, in the same shape: each module in it may define ``THEOREMS``, a tuple of
:class:`~dpcheck.bounds.theorem.Theorem`, and claims: every name at its top level that holds a
:class:`~dpcheck.bounds.claim.Claim`, such as a function under the decorator
:func:`~dpcheck.bounds.claim.claim`. Any Python file may state claims in the same way, or list them in
``CLAIMS``; it is imported as it is: formulas are sympy expressions, never strings.

A paper is imported once something of it is asked for.

Ids name a statement by its paper: ``B01`` to ``B14`` are of bok2024 (Bok et al., ICML 2024, and what rests on it),
``P01`` and ``P02`` of koskela2024 (Koskela et al., ICML 2024), ``G01`` to ``G06`` of dong2022 (Dong et al., JRSS B
2022), ``U01`` to ``U03`` of charles2024 (Charles et al. 2024), ``W01`` to ``W03`` of wang2019 (Wang et al., AISTATS
2019), ``Z01`` to ``Z54`` of zhang2022 (Zhang et al., NeurIPS
2022) and ``Y01`` to ``Y49`` of yang2022 (Yang et al., UAI 2022), all numbered through the paper. ``003:`` and ``004:``
are of zhang2025 (Zhang et al., AAAI 2025), whose main text is 003 and whose version with proofs is 004, and ``002:`` is
of xu2026 (Xu et al.); after the colon stands the place, such as ``002:(31)`` for equation (31).
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dpcheck.arguments import checked
from dpcheck.bounds import ledger
from dpcheck.bounds.ledger import ClaimResults
from dpcheck.errors import InputError, one_line, raised, require

if TYPE_CHECKING:  # neither a claim, with its provers, nor a theorem before one is looked up
    from dpcheck.bounds.claim import Claim
    from dpcheck.bounds.theorem import Theorem

GROUP = "dpcheck.papers"  # the entry points of papers, each a package or a module
_LONGEST = 200  # letters of a name, or of words
_ENGINE = ("coq", "formulas", "prover")  # folders beside this file that are no papers
_HERE = {file.parent.name for file in Path(__file__).parent.glob("*/__init__.py")} - {*_ENGINE}
_KNOWN = [entry["paper"] for entry in ledger.recorded().values()]
PAPERS = tuple(dict.fromkeys(name for name in (*_KNOWN, *sorted(_HERE)) if name in _HERE))  # in the ledger's order


def papers() -> dict[str, str]:
    """Return the module of every paper by its name, those of installed packages last.

    Raises :class:`~dpcheck.errors.InputError` if a package registers a name that is taken.
    """
    modules = {paper: f"dpcheck.bounds.{paper}" for paper in PAPERS}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        other = modules.setdefault(entry.name, entry.value)
        require(other == entry.value, f"paper {entry.name}", "be registered once", f"{other}, {entry.value}")
    return modules


@dataclass(frozen=True)
class Paper:
    """The theorems and claims that the modules of a paper state."""

    theorems: tuple[Theorem, ...]
    claims: tuple[Claim, ...]


@functools.cache
def paper_of(name: str, module: str) -> Paper:
    """Import a paper, and return its theorems and claims in order of id.

    Raises :class:`~dpcheck.errors.InputError` for a registered module that cannot be imported, an id that occurs
    twice, and a claim or theorem that says that it is another paper's.
    """
    try:
        folder = importlib.import_module(module)
        inside = [entry.name for entry in pkgutil.iter_modules(getattr(folder, "__path__", ()))]
        modules = [folder, *(importlib.import_module(f"{module}.{entry}") for entry in inside)]
    except (Exception, SystemExit) as error:
        if name in PAPERS:
            raise
        raise InputError(f"{module}, the paper {name}, must be importable, got {raised(error)}") from error
    theorems = [theorem for part in modules for theorem in getattr(part, "THEOREMS", ())]
    claims = [claim for part in modules for claim in _claims_in(part)]
    for stated in (theorems, claims):
        _require_unique([item.id for item in stated])
        others = sorted({item.paper for item in stated} - {name})
        require(not others, f"what {module} states", f"be of the paper {name}", ", ".join(others))
    return Paper(
        tuple(sorted(theorems, key=lambda theorem: _natural(theorem.id))),
        tuple(sorted(claims, key=lambda claim: _natural(claim.id))),
    )


def _module(paper: str) -> str:
    """Return the module of a paper, or nothing for a name that no paper has; the papers here need no look-up."""
    return f"dpcheck.bounds.{paper}" if paper in PAPERS else papers().get(paper, "")


def _loaded(paper: str | None) -> list[Paper]:
    """Return one paper, or all, whose ids are unique then; InputError for an unknown one."""
    if paper is not None:
        if not _module(paper):
            raise _unknown("paper", paper, papers())
        return [paper_of(paper, _module(paper))]
    loaded = [paper_of(name, module) for name, module in papers().items()]
    _require_unique([claim.id for part in loaded for claim in part.claims])
    return loaded


@checked
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
    >>> theorem = dpcheck.theorem("yang2022.theorem_2a")
    >>> theorem.schedule(n=10_000, d=50, epsilon=1, delta=1e-8, G_w=1, G_v=1, L=1)["m"]
    50
    """
    home = _module(str(id).partition(".")[0])
    files = _stating(home, rf'\bid="{re.escape(str(id))}"')
    known: dict[str, Theorem] = {stated.id: stated for file in files for stated in getattr(file, "THEOREMS", ())}
    if id not in known:
        known = {theorem.id: theorem for theorem in theorems()}
    if id not in known:
        raise _unknown("theorem", id, known)
    return known[id]


@checked
def theorems(paper: str | None = None) -> tuple[Theorem, ...]:
    """List all theorems, or those of one paper, in order of id.

    Parameters
    ----------
    paper : str, optional
        One of :func:`papers`, such as ``"yang2022"``.

    Returns
    -------
    tuple of Theorem
        The theorems.
    """
    listed = [theorem for part in _loaded(paper) for theorem in part.theorems]
    return tuple(listed if paper else sorted(listed, key=lambda theorem: _natural(theorem.id)))


@checked
def claims(paper: str | None = None) -> tuple[Claim, ...]:
    """List all claims, or those of one paper, in order of paper and id.

    Parameters
    ----------
    paper : str, optional
        One of :func:`papers`, such as ``"yang2022"``.

    Returns
    -------
    tuple of Claim
        The claims, which are not decided yet.
    """
    return tuple(claim for part in _loaded(paper) for claim in part.claims)


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
    require(target is None or len(target) <= _LONGEST, "target", f"be a name of up to {_LONGEST} letters", target)
    known = ledger.recorded().get(target or "")  # for which no installed package has to be looked up
    if target is None or (known is None and _module(target)):
        return claims(target)
    home, _, id = target.partition(".")
    paper, id = (known["paper"], target) if known else (home, id) if _module(home) else (None, target)
    chosen = _alone(_module(paper), id) if paper else ()
    chosen = chosen or tuple(claim for claim in claims() if id == claim.id and paper in (None, claim.paper))
    chosen = chosen or carrying(target) or tuple(claim for claim in claims() if _says(claim, target.split()))
    if not chosen:
        names = (*papers(), *(claim.id for claim in claims()), *(theorem.id for theorem in theorems()))
        raise _unknown("paper, claim, theorem or words of a claim", target, names)
    return chosen


def _alone(module: str, id: str) -> tuple[Claim, ...]:
    """Return a claim from the one file of its paper that states it, without importing the others; or nothing."""
    parts = _stating(module, rf'^@claim\(\s*"{re.escape(id)}"')
    return tuple(claim for part in parts for claim in _claims_in(part) if claim.id == id)


@functools.cache
def _stating(module: str, pattern: str) -> tuple[ModuleType, ...]:
    """Import the files of a paper whose text has the pattern, and no other."""
    spec = importlib.util.find_spec(module) if module else None
    folders = (spec and spec.submodule_search_locations) or ()
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.py"))]
    stating = [file for file in files if re.search(pattern, file.read_text("utf-8"), re.MULTILINE)]
    return tuple(importlib.import_module(f"{module}.{file.stem}") for file in stating)


def carrying(theorem: str) -> tuple[Claim, ...]:
    """List the claims that the formulas of the theorem with this id belong to, none for another name."""
    return tuple(claim for claim in claims() if any(part.theorem == theorem for part in claim.carries))


def _says(claim: Claim, words: list[str]) -> bool:
    """Say whether a claim's id, paper, place, kind or statement has all of these words, capital or not."""
    text = f"{claim.id} {claim.paper} {claim.location} {claim.kind} {claim.statement}"
    return bool(words) and all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in words)


@checked
def prove(
    target: Any = None, *conditions: Any, jobs: int | None = None, seconds: float = 60.0,
    watch: Callable[[str, int, int], object] | None = None, kernel: bool = False, export: bool = False,
) -> ClaimResults:  # fmt: skip
    """Decide an inequality, the claims of a paper, one claim, those of a theorem, of a file, or all.

    Every piece of evidence is recomputed, in processes of its own.

    Parameters
    ----------
    target : str or sympy relation, optional
        An inequality as text, such as ``"log(n) <= sqrt(n) for integer n >= 1"`` or LaTeX (the grammar is that of
        :mod:`dpcheck.bounds.text`), or as a relation of sympy; a name such as ``"yang2022"``, ``"Y17"``,
        ``"yang2022.theorem_2a"``; a file of lines (``"lemmas.txt"``, ``.md``, ``.tex``: :mod:`dpcheck.bounds.lines`) or
        of claims (``"lemma.py"``); or words, as in ``"lemma 8"``; all by default.
    *conditions : sympy relation
        Where a relation of sympy is claimed, as in ``prove(log(n) <= sqrt(n), n >= 2)``.
    jobs : int, optional
        Processes, one a core by default. No verdict depends on how many there are.
    seconds : float
        Time that a claim may take, > 0. It is ``unresolved`` beyond, if there is no verdict by then.
    watch : callable, optional
        Called as ``watch(id, done, total)`` after each claim.
    kernel : bool
        Whether Coq is asked to prove the steps of a file, here and now; those of the papers are recorded.
    export : bool
        Whether the result of a claim of a file holds its theorems of Coq.

    Returns
    -------
    ClaimResults
        A tuple: for each claim its verdict (``proved``, ``conditional``, ``misprint``, ``refuted`` or ``unresolved``)
        and the evidence. ``print`` shows a line for each, ``to_frame()`` is a table.

    Raises
    ------
    InputError
        For a target that is none of these, for a file that cannot be read or imported or states no claims, and for
        ``kernel`` without a file or without Coq.

    References
    ----------
    Each result's ``claim.paper`` and ``claim.location``.

    Examples
    --------
    >>> import dpcheck
    >>> [result] = dpcheck.prove("Y17", jobs=1)
    >>> result.verdict, result.claim.location
    ('refuted', 'proof of Lemma 6(a), Appendix C.2')
    >>> [result] = dpcheck.prove("log(n) <= sqrt(n) for integer n >= 1")
    >>> result.verdict, result.statement
    ('proved', 'log(n) <= sqrt(n) for n >= 1, n integer')
    """
    from dpcheck.bounds import lines
    from dpcheck.bounds.workers import decide

    typed = lines.claims(target, conditions) or []
    require(bool(typed) or not conditions, "conditions", "come with a relation of sympy", conditions)
    file = bool(typed) or (isinstance(target, str) and target.endswith(".py"))
    require(file or not kernel, "what Coq proves", "be a FILE.py (the papers' theorems are recorded)", target)
    chosen = None if file else find(target)  # a worker alone imports a file
    with tempfile.TemporaryDirectory() as library:
        if kernel:
            from dpcheck.bounds.coq.kernel import compile_library

            compile_library(Path(library))
        coq = {"export": export, "library": library if kernel else ""}
        return ClaimResults(decide(chosen, target, typed, jobs=jobs, seconds=seconds, watch=watch, coq=coq))


def _load(path: str) -> tuple[Claim, ...]:
    """Return the claims of a Python file."""
    from dpcheck.bounds.claim import Claim

    file = Path(path).resolve()
    require(file.is_file(), "the file of claims", "exist", path)
    name = f"dpcheck_claims_{file.stem}"
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
    strange = [type(claim).__name__ for claim in stated if not isinstance(claim, Claim)]
    require(not strange, "CLAIMS", "hold only Claim, such as Claim(..., judge(...))", ", ".join(strange))
    _require_unique([claim.id for claim in stated])
    return tuple(stated)


def _claims_in(module: ModuleType) -> list[Claim]:
    """Return what a module lists in ``CLAIMS``, then the claims that have a name in it, in their order there."""
    from dpcheck.bounds.claim import Claim

    listed = list(getattr(module, "CLAIMS", ()))
    named = {id(claim): claim for claim in vars(module).values() if isinstance(claim, Claim)}
    for claim in listed:
        named.pop(id(claim), None)
    return [*listed, *named.values()]


def _natural(id: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", id)]


def _require_unique(ids: list[str]) -> None:
    twice = sorted({id for id in ids if ids.count(id) > 1})
    require(not twice, "ids", "be unique", ", ".join(twice))


def _unknown(what: str, name: object, known: Iterable[str]) -> InputError:
    names = list(known)
    near = difflib.get_close_matches(str(name), names) or names[:5]
    shown = one_line(name)[:200]
    return InputError(f"{what} must be a known one (perhaps {', '.join(near)}), got {shown}")
