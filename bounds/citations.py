"""The kinds of evidence that carry less than a recomputed step: a source, another claim, a search."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

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
    TRUST: ClassVar[str] = "cited"

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
    TRUST: ClassVar[str] = "cited"

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
        return self.verdict() in ("proved", "conditional", "misprint")

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
    TRUST: ClassVar[str] = "search"

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
