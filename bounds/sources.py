"""The kinds of evidence that carry less than a step that is recomputed.

A :class:`Cited` fact is not recomputed and names its source. A :class:`Quoted` one is another claim of
the catalogue and holds as far as that claim's own verdict does. A :class:`Searched` one only says
that a search found nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from dpcheck.bounds.carried import Carried
from dpcheck.bounds.kind import Method


@dataclass(frozen=True)
class Cited:
    """A textbook fact, used and not recomputed.

    Parameters
    ----------
    says : str
        The fact.
    source : str
        Where it is from.
    """

    says: str
    source: str
    METHOD: ClassVar[Method] = Method.CITED

    def formula(self) -> str:
        """Return where the fact is from."""
        return self.source

    def latex(self) -> str:
        """Return where the fact is from."""
        return rf"\text{{{self.source}}}"

    def holds(self) -> bool:
        """Return true always: nothing is recomputed."""
        return True


@dataclass(frozen=True)
class Quoted:
    """A claim of the catalogue, used as a step: it carries that claim's verdict and conditions.

    Parameters
    ----------
    says : str
        What is taken from it.
    claim : str
        Its id, such as ``"Z10"``.
    reading : str
        The reading of it that is used, word for word, where the printed statement is not proved.
    holds_here : str
        Why the added assumption of that reading holds where it is used. Without it, the quoting
        claim can only be conditional.
    """

    says: str
    claim: str
    reading: str = ""
    holds_here: str = ""
    METHOD: ClassVar[Method] = Method.CITED

    def formula(self) -> str:
        """Return the claim, the reading and its verdict."""
        reading = f', read as "{self.reading}"' if self.reading else ""
        because = f"; here: {self.holds_here}" if self.holds_here else ""
        return f"claim {self.claim}{reading}: {self.verdict()}{because}"

    def latex(self) -> str:
        """Return the claim's id."""
        return rf"\text{{claim {self.claim}}}"

    def verdict(self) -> str:
        """Return the expected verdict of the claim, or of the reading that is used."""
        from dpcheck.bounds.ledger import recorded  # the ledger is written from evidence

        entry = recorded().get(self.claim, {})
        verdict = entry.get("readings", {}).get(self.reading) if self.reading else entry.get("verdict")
        return str(verdict or "unknown")

    def holds(self) -> bool:
        """Say whether the claim, or the reading that is used, holds as stated or under its named condition."""
        return self.verdict() in ("proved", "conditional")

    def unconditional(self) -> bool:
        """Say whether nothing has to be added where it is used."""
        return self.verdict() == "proved" and (not self.reading or bool(self.holds_here))


@dataclass(frozen=True)
class Searched:
    """An adversarial search with a fixed seed found no value above a bound; it supports a proof and never replaces one.

    Parameters
    ----------
    says : str
        What was searched for, in words.
    function : callable
        Takes a :class:`numpy.random.Generator` and returns one value.
    bound : float
        The largest value allowed.
    samples : int
        How often the function is called.
    seed : int
        Seed of the search.
    """

    says: str
    function: Callable[[Any], float]
    bound: float
    samples: int
    seed: int = 0

    def formula(self) -> str:
        """Return the search and its bound."""
        name = f"{self.function.__module__}.{self.function.__name__}"
        return f"{name} <= {self.bound:g} at each of {self.samples} points (seed {self.seed})"

    def latex(self) -> str:
        """Return the search and its bound."""
        name = self.function.__name__.replace("_", r"\_")
        return rf"\mathtt{{{name}}} \leq {self.bound:g}"

    def holds(self) -> bool:
        """Search again."""
        import numpy as np

        rng = np.random.default_rng(self.seed)
        return all(self.function(rng) <= self.bound for _ in range(self.samples))


class Step(Protocol):
    """One piece of evidence: what it says in words, its formula, and whether it holds."""

    @property
    def says(self) -> str:
        """What the step shows, in words."""

    def formula(self) -> str:
        """Return the step as text that can be evaluated again elsewhere."""

    def latex(self) -> str:
        """Return the step in LaTeX, without dollar signs."""

    def holds(self) -> bool:
        """Recompute the step."""


def to_dict(step: Step) -> dict[str, Any]:
    """Return a step as plain text, fit for JSON; an inequality adds how it was shown and how tight it is."""
    shown = {"kind": type(step).__name__.lower(), "says": step.says, "formula": step.formula(), "latex": step.latex()}
    details = getattr(step, "details", None)
    return shown | (details() if details else {}) | {"trust": trust(step)}


def trust(step: Step) -> str:
    """Return who vouches for a step.

    ``"kernel"``: the kernel of a proof assistant accepted its statement. ``"replayed"``: exact or
    ball arithmetic recomputes it each time. ``"solver"``: an SMT solver's word. ``"cited"``: a
    source's. ``"search"``: nobody; nothing was found. ``"compared"``: a registered theorem says what the
    claim says.
    """
    if isinstance(step, Carried):
        return "compared"
    if isinstance(step, Cited | Quoted):
        return "cited"
    if isinstance(step, Searched):
        return "search"
    from dpcheck.bounds.coq import kernel  # which writes steps out, and so imports them

    if kernel.accepted(step):
        return "kernel"
    methods = step.outcome().methods if hasattr(step, "outcome") else ()
    return "solver" if any(method.startswith("solver") for method in methods) else "replayed"
