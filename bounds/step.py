"""What every piece of evidence is: a step that says something, has a formula, and checks itself."""

from __future__ import annotations

from typing import Any, Protocol

from dpcheck.bounds.carried import Carried
from dpcheck.bounds.sources import Cited, Quoted, Searched


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
