"""A formula as it is typed: its letters, where it is proved, and the exact value that it stands for.

``formulas.csv`` has a row for each. What is ``computed`` is read off what is typed, by the grammar of
:mod:`dpcheck.bounds.text`, or is typed beside it where that is for people only. A letter stands there with the range of
its settings, its default and its meaning, where these are not the usual ones below.

A record promises an epsilon or a delta; a formula for noise promises the epsilon that it was given. The promise is
kept where it is at least the exact value. ``room`` is by how much the exact value itself may be above the truth:
what :func:`dpcheck.certify` adds to a composition of sampled releases, and rounding elsewhere.
"""

from __future__ import annotations

import csv
import functools
import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import sympy

from dpcheck.arguments import checked
from dpcheck.bounds import symbols, terms
from dpcheck.bounds.assumption import Assumption, Parameter, number
from dpcheck.bounds.formulas.exact import EXACT
from dpcheck.bounds.text import parse
from dpcheck.errors import InputError, did_you_mean, require


@dataclass(frozen=True)
class Letter:
    """A letter of a formula, and the range (logarithmic) in which its settings are drawn for the measurement."""

    symbol: Any
    meaning: str
    low: float
    high: float
    default: float | None = None


alpha, p, q = sympy.symbols("alpha p q", positive=True)
i, l = sympy.symbols("i l", integer=True, positive=True)
_USUAL = (
    Letter(symbols.epsilon, "privacy loss, natural log", 0.01, 30),
    Letter(symbols.delta, "probability of a larger loss", 1e-10, 0.1, 1e-5),
    Letter(symbols.sigma, "noise over the sensitivity", 0.3, 100),
    Letter(symbols.rho, "zero-concentrated privacy", 1e-4, 30),
    Letter(symbols.k, "releases", 1, 1000),
    Letter(symbols.T, "steps", 1, 3000),
    Letter(symbols.n, "records", 100, 100_000),
    Letter(symbols.m, "records of the sample", 1, 1000),
    Letter(alpha, "order of the divergence", 1.01, 300),
    Letter(q, "sampling rate", 0.001, 0.9),
    Letter(p, "probability of the true answer", 0.02, 0.999),
    Letter(i, "place", 1, 20),
)
# the sum has binomial coefficients, which the grammar reads as products
_SUMS = {
    "optimal_composition": sympy.Sum(
        sympy.binomial(symbols.k, l)
        * (sympy.exp((symbols.k - l) * symbols.epsilon) - sympy.exp((symbols.k - 2 * i + l) * symbols.epsilon))
        / (1 + sympy.exp(symbols.epsilon)) ** symbols.k,
        (l, 0, i - 1),
    )
}


@dataclass(frozen=True)
class Comparison:
    """What a formula promises at a setting, and the exact value.

    ``value`` is that of the formula, an epsilon, a delta or the noise of a release; ``of`` says which of epsilon and
    delta is promised; ``outside`` lists the conditions of the proof that the setting does not meet.
    """

    value: float
    of: str
    promised: float
    exact: float
    kept: bool
    outside: tuple[str, ...]

    @property
    def slack(self) -> float:
        """The promise over the exact value: 1 is tight, below 1 is broken."""
        return self.promised / self.exact if self.exact else math.inf if self.promised else 1.0


@dataclass(frozen=True)
class Formula:
    """A formula that people type.

    Parameters
    ----------
    name, gives, title, typed, source : str
        How it is called, what it computes (``"epsilon"``, ``"delta"`` or ``"noise"``), what it is, how people type it,
        and where it stands.
    letters : tuple of Letter
        Its letters.
    expression : sympy expression
        The formula.
    region : tuple of relations
        Where it is proved, beyond the domains of the letters.
    proved : bool
        Whether it is proved anywhere.
    wrong_at : dict
        A setting at which the promise is broken, if one is known.
    exact : callable
        From the letters by name, and ``value``, that of the formula, to the exact epsilon or delta that is compared.
    room : float
        By how much the exact value may be above the truth, relatively.
    symbol : str
        What a formula for noise computes.
    """

    name: str
    gives: str
    title: str
    typed: str
    source: str
    letters: tuple[Letter, ...]
    expression: Any
    region: tuple[Any, ...]
    proved: bool
    wrong_at: dict[str, float]
    exact: Callable[..., float]
    room: float
    symbol: str

    @property
    def latex(self) -> str:
        """The formula in LaTeX."""
        return f"${sympy.latex(self.expression)}$"

    def at(self, **values: float) -> Comparison:
        """Compute the formula at a value for each letter, and the exact value; InputError outside their domains."""
        known = self.known(values)
        try:
            value = number(self.expression.xreplace(known))
        except TypeError as error:  # not a real number
            raise InputError(f"{self.name} must be a real number, got none at {values}") from error
        given = {str(letter): int(v) if letter.is_integer else float(v) for letter, v in known.items()}
        require(math.isfinite(value) and value >= 0, self.name, "be a number >= 0 at this setting", value)
        promised = given["epsilon"] if self.gives == "noise" else value
        exact = self.exact(**given, value=value)
        kept = promised >= exact * (1 - self.room)
        of = "delta" if self.gives == "delta" else "epsilon"
        return Comparison(value, of, promised, exact, kept, self.outside(known))

    def outside(self, known: dict[Any, Any]) -> tuple[str, ...]:
        """Return the conditions of the proof that exact values do not meet."""
        failed = (r for r in self.region if not Assumption("", "", "", r).holds(known))
        return (*map(str, failed), *["it is proved nowhere"] * (not self.proved))

    def known(self, values: dict[str, float]) -> dict[Any, Any]:
        """Return the letters with their values, exact; InputError for a missing or unknown one."""
        named = {str(letter.symbol): letter for letter in self.letters}
        for name, value in values.items():
            require(name in named, name, f"be a letter of {self.name} ({', '.join(named)})", value)
        complete = {name: letter.default for name, letter in named.items() if letter.default is not None} | values
        missing = ", ".join(name for name in named if name not in complete)
        if missing:
            raise InputError(f"{missing} must be given to {self.name}, got {', '.join(values) or 'nothing'}")
        return {named[name].symbol: Parameter(named[name].symbol, "").exact(v) for name, v in complete.items()}


@functools.cache
def formulas() -> dict[str, Formula]:
    """Return all formulas by name."""
    table = resources.files("dpcheck.bounds.formulas").joinpath("formulas.csv").read_text("utf-8")
    return {row["name"]: _formula(**row) for row in csv.DictReader(table.splitlines())}


def _formula(
    name: str, typed: str, computed: str, letters: str, proved: str, wrong: str, exact: str, room: str, symbol: str,
    **said: str,
) -> Formula:  # fmt: skip
    """Return the formula of a row of the table."""
    known = tuple(map(_letter, letters.split("; ")))
    plain = computed or re.sub(r"^\w+ = ", "", typed)
    conditions = proved.split("; ") if proved and proved != "nowhere" else ()
    wrong_at = dict(pair.split(" = ") for pair in wrong.split(", ") if pair)
    return Formula(
        name=name, typed=typed, letters=known, exact=EXACT[exact],
        expression=_SUMS[name] if name in _SUMS else _read(plain, known, relation=False),
        region=tuple(_read(condition, known, relation=True) for condition in conditions), proved=proved != "nowhere",
        wrong_at={letter: int(value) if value.isdigit() else float(value) for letter, value in wrong_at.items()},
        room=float(room or 1e-9), symbol=symbol or "sigma", **said,
    )  # fmt: skip


def _letter(text: str) -> Letter:
    """Return the letter of ``"k 2..12 records of the group"``, the usual one in what is left out."""
    name, ends, meaning = (*text.split(" ", 2), "", "")[:3]
    usual = next(letter for letter in _USUAL if str(letter.symbol) == name)
    low, _, rest = ends.partition("..")
    high, _, default = rest.partition("=")
    return Letter(
        usual.symbol, meaning or usual.meaning, float(low or usual.low), float(high or usual.high),
        float(default) if default else usual.default,
    )  # fmt: skip


def _read(text: str, letters: tuple[Letter, ...], *, relation: bool) -> Any:
    """Return a relation, or a formula, in the letters; after ``with`` stands what a further letter in it is."""
    body, _, where = text.partition(" with ")
    stated = body if relation else f"{body} >= 0"
    tree = parse(f"{stated} for {where}" if where else stated).relations[0]
    read = terms.grown(tree if relation else tree[1])
    named = {str(letter.symbol): letter.symbol for letter in letters}
    return terms.evaluated(read.xreplace({letter: named[letter.name] for letter in read.free_symbols}))


@checked
def formula(name: str) -> Formula:
    """Find a formula by its name, one that ``dpcheck list formulas`` shows; InputError for another.

    Examples
    --------
    >>> from dpcheck.bounds.formulas.formula import formula
    >>> at = formula("advanced_composition").at(epsilon=0.1, k=100, delta=1e-5)
    >>> at.kept, round(at.promised, 2), round(at.exact, 2)
    (True, 5.85, 4.31)
    """
    known = formulas()
    require(name in known, "formula", "be one that `dpcheck list formulas` names", f"{name}{did_you_mean(name, known)}")
    return known[name]


def text(of: Formula, values: dict[str, float], width: int = 80) -> str:
    """Return what a formula says and where it holds, and at a setting its value beside the exact one."""
    where = ", ".join(map(str, of.region)) or "wherever its letters are defined"
    facts = {
        "typed": of.typed,
        "source": of.source,
        "proved": where if of.proved else "nowhere",
        **{str(letter.symbol): letter.meaning + (f" (default {letter.default:g})" if letter.default else "")
           for letter in of.letters},
    }  # fmt: skip
    if of.wrong_at:
        at = of.at(**of.wrong_at)
        point = ", ".join(f"{name} = {value:g}" for name, value in of.wrong_at.items())
        facts["wrong"] = f"at {point}: promises {at.of} {at.promised:.4g}, exact {at.exact:.4g}"
    if values:
        at = of.at(**values)
        noise = f"{of.symbol} = {at.value:.6g}, which promises " if of.gives == "noise" else ""
        facts["formula"] = f"{noise}{at.of} {at.promised:.6g}"
        facts["exact"] = f"{at.of} {at.exact:.6g}"
        facts["the promise"] = f"is {'kept' if at.kept else 'BROKEN'}: {at.slack:.4g} times the exact value"
        if at.outside:
            facts["outside"] = "; ".join(at.outside)
    lines = textwrap.wrap(f"{of.name}: {of.title}", width)
    for name, fact in facts.items():
        lines += textwrap.wrap(f"  {name:<12}{fact}", width, subsequent_indent=" " * 14, break_on_hyphens=False)
    return "\n".join(lines)
