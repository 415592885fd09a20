"""The kinds of evidence a verdict may rest on, which check themselves again when asked.

Everything is exact: sympy expressions in positive letters, rational numbers, finite enumeration; numbers that are not
rational are compared in ball arithmetic. Inequalities that need a prover are in ``dpcheck.bounds.prover``. Three kinds
carry less: a :class:`Cited` fact is not recomputed and names its source; a :class:`Quoted` one is another claim of the
catalogue and holds as far as that claim's verdict does; a :class:`Searched` one only says that a search found nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import sympy

from dpcheck.bounds.citations import Cited as Cited
from dpcheck.bounds.citations import Quoted as Quoted
from dpcheck.bounds.citations import Searched as Searched
from dpcheck.bounds.formula import written
from dpcheck.bounds.kind import Method
from dpcheck.bounds.prover import ball, vectors
from dpcheck.bounds.prover.conditions import over as over
from dpcheck.bounds.prover.domain import Domain as Domain
from dpcheck.bounds.prover.domain import allows
from dpcheck.bounds.prover.inequality import Inequality as Inequality
from dpcheck.bounds.prover.inequality import Related as Related
from dpcheck.bounds.terms import distinct, exact, free
from dpcheck.errors import InputError, require


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
class Identity(Related):
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
    sign = "="

    def __post_init__(self) -> None:
        """Keep the sides as written."""
        object.__setattr__(self, "left", written(self.left))
        object.__setattr__(self, "right", written(self.right))
        distinct(self.left.atoms(sympy.Symbol) | self.right.atoms(sympy.Symbol))

    def sides(self) -> tuple[Any, Any]:
        """Return the sides."""
        return self.left, self.right

    def empty(self) -> bool:
        """Say whether it says nothing, since both sides read the same."""
        left, right = self.formula().split(" = ", 1)
        return left == right

    def holds(self) -> bool:
        """Say whether the difference cancels to zero.

        A sum whose range may run backwards shows nothing, nor does a slope in a letter that takes whole values.
        """
        if not all(_forwards(side) and _smooth(side) for side in (self.left, self.right)):
            return False
        left, right = (_bare(side).doit() for side in (self.left, self.right))
        difference = sympy.cancel(sympy.together(sympy.expand(left - right)))
        if difference == 0:
            return True
        # what sympy simplifies may hold in general position only, so that it has to stand at a few points too
        return bool(sympy.simplify(difference) == 0) and all(
            _equal(left, right, values) is not False for values in _places(self.left.free_symbols)
        )


@dataclass(frozen=True)
class AtMost(Related):
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
    sign = "<="

    def __post_init__(self) -> None:
        """Keep exact sides."""
        _keep(self, "smaller", "larger")
        free(self.smaller, self.larger)

    def sides(self) -> tuple[Any, Any]:
        """Return the sides."""
        return self.smaller, self.larger

    def holds(self) -> bool:
        """Say whether every coefficient of the difference is nonnegative."""
        above, below = sympy.fraction(sympy.together(self.larger - self.smaller))
        return _nonnegative(above) and _nonnegative(below) and bool(below != 0)


@dataclass(frozen=True)
class Below(Related):
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
    sign = "<"

    def __post_init__(self) -> None:
        """Keep exact sides, which are numbers."""
        _keep(self, "smaller", "larger")
        for side in (self.smaller, self.larger):
            require(not side.free_symbols, "a side", "be a number", side)

    def sides(self) -> tuple[Any, Any]:
        """Return the sides."""
        return self.smaller, self.larger

    def holds(self) -> bool:
        """Say whether the difference is positive, in ball arithmetic."""
        return ball.sign(self.larger - self.smaller, {}) == 1


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
        """Keep the values as pairs, exact."""
        _keep(self, "claimed")
        require(hasattr(self.claimed, "rel_op"), "claimed", "be a relation", self.claimed)
        values = tuple((letter, exact(value)) for letter, value in dict(self.values).items())
        object.__setattr__(self, "values", values)
        require(all(type(letter) is sympy.Symbol for letter, _ in values), "values", "be of sympy Symbols", values)
        distinct(self.claimed.free_symbols.union(letter for letter, _ in values))

    def formula(self) -> str:
        """Return the relation, the values, and what the two sides become."""
        at = ", ".join(f"{symbol} = {value}" for symbol, value in self.values)
        sign = "=" if self.claimed.rel_op == "==" else self.claimed.rel_op
        relation = f"{self.claimed.lhs} {sign} {self.claimed.rhs}"
        left, right = (side.subs(self.values) for side in self.claimed.args)
        return f"not {relation} at {at}: the sides are {left} and {right}"

    def latex(self) -> str:
        """Return the relation and the values."""
        at = ", ".join(f"{sympy.latex(symbol)} = {sympy.latex(value)}" for symbol, value in self.values)
        return rf"\neg\left({sympy.latex(self.claimed)}\right) \text{{ at }} {at}"

    def holds(self) -> bool:
        """Say whether the letters may take these values and the relation is false there.

        Numbers are compared in ball arithmetic; letters that are left are compared symbolically.
        """
        values = dict(self.values)
        if not all(_may_be(letter, value) for letter, value in values.items()) or not vectors.semidefinite(values):
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
    value : int or Fraction
        Its value.

    Raises
    ------
    InputError
        For a value, or an argument, that is another kind of number: equality is that of fractions.
    """

    says: str
    function: Callable[..., Fraction]
    arguments: tuple[int | Fraction, ...]
    value: int | Fraction
    METHOD: ClassVar[Method] = Method.ENUMERATION

    def __post_init__(self) -> None:
        """Refuse what is not compared as fractions are."""
        value = exact(self.value) if isinstance(self.value, sympy.Basic) else self.value
        object.__setattr__(self, "value", Fraction(value.p, value.q) if isinstance(value, sympy.Rational) else value)
        for name, part in (("the value", self.value), *(("an argument", argument) for argument in self.arguments)):
            require(type(part) in (int, bool, Fraction), name, "be a whole number or a fraction", type(part).__name__)

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
        value = self.function(*self.arguments)
        return type(value) in (int, Fraction) and Fraction(value) == Fraction(self.value)


_SIGNS = tuple(
    start + sign
    for start in ("", "extended_")
    for sign in ("positive", "negative", "zero", "nonzero", "nonpositive", "nonnegative")
)
_FALSE = {"<=": (1,), "<": (0, 1), ">=": (-1,), ">": (-1, 0), "==": (-1, 1), "!=": (0,)}  # signs of left - right


def _keep(step: Any, *names: str) -> None:
    """Keep these formulas of a step exact, in letters that a reader can tell apart."""
    for name in names:
        object.__setattr__(step, name, exact(getattr(step, name)))
    distinct(set().union(*(getattr(step, name).free_symbols for name in names)))


def _forwards(side: Any) -> bool:
    """Say whether every sum or product in it has whole limits, the upper one no more than one below the lower one.

    sympy takes such a sum to be the negative of what is left out, where readers expect 0.
    """
    ranges = [part.limits for part in side.atoms(sympy.Sum, sympy.Product)]
    return all(
        low.is_integer and high.is_integer and (high - low + 1).is_nonnegative is True
        for limits in ranges
        for _, low, high in limits
    ) and not any(part.free_symbols & set(part.variables) for part in side.atoms(sympy.Sum, sympy.Product))


def _smooth(side: Any) -> bool:
    """Say whether no derivative is by a letter of whole values: sympy takes sin(2 pi n) to be 0 before its slope."""
    return not any(letter.is_integer for part in side.atoms(sympy.Derivative) for letter in part.variables)


def _bare(side: Any) -> Any:
    """Return the side with bound letters of which nothing is assumed: what they stand for may be otherwise."""
    if not side.has(sympy.Sum, sympy.Product, sympy.Subs):
        return side
    parts = [_bare(part) for part in side.args]
    if isinstance(side, sympy.Subs):
        new = {letter: sympy.Dummy(letter.name) for letter in side.variables}
        return sympy.Subs(parts[0].xreplace(new), tuple(new.values()), side.point)
    if isinstance(side, sympy.Sum | sympy.Product):
        bound = {limits[0]: sympy.Dummy(limits[0].name, integer=True) for limits in side.limits}
        return side.func(*parts).xreplace({old: new for old, new in bound.items() if old not in side.free_symbols})
    return side.func(*parts, evaluate=False)


def _places(letters: set[Any]) -> Iterator[dict[Any, Any]]:
    """Yield small exact values of either sign that the letters' symbols allow."""
    drawn = [
        sympy.Rational(*pair) for pair in ((1, 1), (2, 1), (-1, 1), (0, 1), (1, 3), (5, 1), (-2, 1), (7, 2), (4, 1))
    ]
    for k in range(6):
        allowed = {letter: [value for value in drawn if allows(letter, value)] for letter in letters}
        if all(allowed.values()):
            ordered = enumerate(sorted(letters, key=str))
            yield {letter: allowed[letter][(k * (i + 1) + i) % len(allowed[letter])] for i, letter in ordered}


def _equal(left: Any, right: Any, values: dict[Any, Any]) -> bool | None:
    """Say whether two expressions are equal at exact values, ``None`` where that is not known."""
    try:
        sign = ball.sign(left - right, values)
    except InputError:  # a function that balls do not have
        return None
    return None if sign is None else sign == 0


def _may_be(letter: Any, value: Any) -> bool:
    """Say whether a letter may have a value: it is known to be whole if need be, and nothing else is known to fail.

    Zero is allowed for a positive letter: letters of quantities that are at least zero are positive ones.
    """
    known = {name: is_so for name, is_so in letter.assumptions0.items() if not (value == 0 and name in _SIGNS)}
    kinds = letter.is_integer and not value.free_symbols and value.is_integer is not True
    return not kinds and all(getattr(value, f"is_{name}") in (is_so, None) for name, is_so in known.items())


def _nonnegative(expression: Any) -> bool:
    """Say whether every coefficient is nonnegative, terms in the same powers taken together."""
    sums: dict[Any, Any] = {}
    for term in sympy.Add.make_args(sympy.expand(expression)):
        coefficient, powers = term.as_independent(*expression.free_symbols, as_Add=False)
        sums[powers] = sums.get(powers, 0) + coefficient
    return all(powers.is_positive and ball.sign(value, {}) in (0, 1) for powers, value in sums.items() if value != 0)
