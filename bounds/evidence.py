"""The kinds of evidence a verdict may rest on, which check themselves again when asked.

Everything is exact: sympy expressions in positive letters, rational numbers, finite enumeration; numbers that are not
rational are compared in ball arithmetic. Inequalities that need a prover are in ``dpcheck.bounds.prover``. Three kinds
carry less: a :class:`Cited` fact is not recomputed and names its source; a :class:`Quoted` one is another claim of the
catalogue and holds as far as that claim's verdict does; a :class:`Searched` one only says that a search found nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import sympy

from dpcheck.bounds.formula import formula, written
from dpcheck.bounds.kind import Method
from dpcheck.bounds.prover import ball
from dpcheck.bounds.prover.domain import Domain as Domain
from dpcheck.bounds.prover.domain import over as over
from dpcheck.bounds.prover.inequality import Inequality as Inequality


class Step(Protocol):
    """One piece of evidence: what it says in words, its formula, and whether it holds."""

    @property
    def says(self) -> str:
        """A sentence that says what the step shows."""

    def formula(self) -> str:
        """Return the step as text that can be evaluated again elsewhere."""

    def latex(self) -> str:
        """Return the step in LaTeX, without dollar signs."""

    def holds(self) -> bool:
        """Recompute the step."""


@dataclass(frozen=True)
class Identity:
    """Two expressions are equal wherever both are defined.

    Parameters
    ----------
    says : str
        What is shown, in words.
    left, right : sympy expression or callable
        The sides. One given as a function, ``lambda: delta / 4 + delta / 4``, is kept as it is written; sympy would
        simplify it before it could be compared or printed.
    """

    says: str
    left: Any
    right: Any
    METHOD: ClassVar[Method] = Method.ALGEBRA

    def __post_init__(self) -> None:
        """Keep the sides as written."""
        object.__setattr__(self, "left", written(self.left))
        object.__setattr__(self, "right", written(self.right))

    def formula(self) -> str:
        """Return the equation."""
        return f"{self.left} = {self.right}"

    def empty(self) -> bool:
        """Say whether it says nothing, since both sides read the same."""
        left, right = self.formula().split(" = ", 1)
        return left == right

    def latex(self) -> str:
        """Return the equation."""
        return f"{sympy.latex(self.left)} = {sympy.latex(self.right)}"

    def holds(self) -> bool:
        """Say whether the difference cancels to zero; a sum whose range may run backwards shows nothing."""
        if not all(_forwards(side) for side in (self.left, self.right)):
            return False
        left, right = self.left.doit(), self.right.doit()
        difference = sympy.cancel(sympy.together(sympy.expand(left - right)))
        return bool(difference == 0 or sympy.simplify(difference) == 0)


@dataclass(frozen=True)
class AtMost:
    """An inequality ``smaller <= larger`` for every positive value of the letters.

    The certificate is the simplest there is: over a common denominator the difference is a sum of products of positive
    letters with nonnegative coefficients. A letter that is at least one is written as ``1 + k`` with ``k`` positive,
    one that is at most one as ``1/(1 + k)``; the end point ``k = 0`` follows since both sides are continuous.

    Parameters
    ----------
    says : str
        What is shown, in words.
    smaller, larger : sympy expression
        The sides.
    """

    says: str
    smaller: Any
    larger: Any
    METHOD: ClassVar[Method] = Method.ALGEBRA

    def formula(self) -> str:
        """Return the inequality."""
        return f"{self.smaller} <= {self.larger}"

    def latex(self) -> str:
        """Return the inequality."""
        return rf"{sympy.latex(self.smaller)} \leq {sympy.latex(self.larger)}"

    def holds(self) -> bool:
        """Say whether every coefficient of the difference is nonnegative."""
        above, below = sympy.fraction(sympy.together(self.larger - self.smaller))
        return _nonnegative(above) and _nonnegative(below) and bool(below != 0)


@dataclass(frozen=True)
class Below:
    """One exact number is strictly below another.

    Parameters
    ----------
    says : str
        What is shown, in words.
    smaller, larger : sympy expression
        The two numbers.
    """

    says: str
    smaller: Any
    larger: Any
    METHOD: ClassVar[Method] = Method.ARITHMETIC

    def formula(self) -> str:
        """Return the inequality."""
        return f"{self.smaller} < {self.larger}"

    def latex(self) -> str:
        """Return the inequality."""
        return f"{sympy.latex(self.smaller)} < {sympy.latex(self.larger)}"

    def holds(self) -> bool:
        """Say whether the difference is positive, in ball arithmetic."""
        return ball.sign(formula(self.larger) - formula(self.smaller), {}) == 1


@dataclass(frozen=True)
class Counterexample:
    """Exact values of the letters at which a claimed relation is false.

    Parameters
    ----------
    says : str
        What fails, in words.
    claimed : sympy relation
        The relation.
    values : mapping of letter to number
        The values, exact; kept as pairs.
    """

    says: str
    claimed: Any
    values: Any
    METHOD: ClassVar[Method] = Method.ARITHMETIC

    def __post_init__(self) -> None:
        """Keep the values as pairs."""
        object.__setattr__(self, "values", tuple(dict(self.values).items()))

    def formula(self) -> str:
        """Return the relation, the values, and what the two sides become."""
        at = ", ".join(f"{symbol} = {value}" for symbol, value in self.values)
        sign = "=" if self.claimed.rel_op == "==" else self.claimed.rel_op
        relation = f"{self.claimed.lhs} {sign} {self.claimed.rhs}"
        left, right = (side.subs(self.values) for side in self.claimed.args)
        return f"not {relation} at {at}: the sides are {left} and {right}"

    def latex(self) -> str:
        """Return the relation and the values."""
        at = ", ".join(f"{sympy.latex(symbol)} = {sympy.latex(formula(value))}" for symbol, value in self.values)
        return rf"\neg\left({sympy.latex(self.claimed)}\right) \text{{ at }} {at}"

    def holds(self) -> bool:
        """Say whether the letters may take these values and the relation is false there.

        Numbers are compared in ball arithmetic; letters that are left are compared symbolically.
        """
        values = {letter: formula(value) for letter, value in self.values}
        if not all(_may_be(letter, value) for letter, value in values.items()):
            return False
        try:
            left, right = (ball.partial(side, values) for side in self.claimed.args)
        except ball.UndefinedError:
            return False
        if left.free_symbols | right.free_symbols:
            return bool(self.claimed.subs(values) == sympy.false)
        return ball.sign(left - right, {}) in _FALSE[self.claimed.rel_op]


@dataclass(frozen=True)
class Enumerated:
    """A finite enumeration, in rational arithmetic, gives this value.

    Parameters
    ----------
    says : str
        What is shown, in words.
    function : callable
        The enumeration, which returns a :class:`~fractions.Fraction`.
    arguments : tuple of int or Fraction
        Its arguments.
    value : Fraction
        Its value.
    """

    says: str
    function: Callable[..., Fraction]
    arguments: tuple[int | Fraction, ...]
    value: Fraction
    METHOD: ClassVar[Method] = Method.ENUMERATION

    def formula(self) -> str:
        """Return the call and its value."""
        call = ", ".join(str(argument) for argument in self.arguments)
        return f"{self.function.__module__}.{self.function.__name__}({call}) = {self.value}"

    def latex(self) -> str:
        """Return the call and its value."""
        name = self.function.__name__.replace("_", r"\_")
        call = ", ".join(str(argument) for argument in self.arguments)
        return rf"\mathtt{{{name}}}({call}) = {self.value}"

    def holds(self) -> bool:
        """Enumerate again."""
        return self.function(*self.arguments) == self.value


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


_SIGNS = tuple(
    start + sign
    for start in ("", "extended_")
    for sign in ("positive", "negative", "zero", "nonzero", "nonpositive", "nonnegative")
)
_FALSE = {"<=": (1,), "<": (0, 1), ">=": (-1,), ">": (-1, 0), "==": (-1, 1), "!=": (0,)}  # signs of left - right


def _forwards(side: Any) -> bool:
    """Say whether no sum or product in it has an upper limit more than one below its lower limit.

    sympy takes such a sum to be the negative of what is left out, where readers expect 0.
    """
    ranges = [part.limits for part in side.atoms(sympy.Sum, sympy.Product)]
    return all((high - low + 1).is_nonnegative is True for limits in ranges for _, low, high in limits)


def _may_be(letter: Any, value: Any) -> bool:
    """Say whether no assumption about a letter (integer, even, ...) is known to fail for a value.

    Zero is allowed for a positive letter: letters of quantities that are at least zero are positive ones.
    """
    known = {name: is_so for name, is_so in letter.assumptions0.items() if not (value == 0 and name in _SIGNS)}
    return all(getattr(value, f"is_{name}") in (is_so, None) for name, is_so in known.items())


def _nonnegative(expression: Any) -> bool:
    """Say whether every coefficient is nonnegative, terms in the same powers taken together."""
    sums: dict[Any, Any] = {}
    for term in sympy.Add.make_args(sympy.expand(expression)):
        coefficient, powers = term.as_independent(*expression.free_symbols, as_Add=False)
        sums[powers] = sums.get(powers, 0) + coefficient
    return all(value == 0 or (powers.is_positive and value.is_nonnegative) for powers, value in sums.items())
