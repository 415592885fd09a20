"""What a theorem is stated in: letters that a reader gives values, and the conditions on them."""

from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.errors import require_count, require_delta, require_positive

_RELATIONS = {"<=": float.__le__, "<": float.__lt__, ">=": float.__ge__, ">": float.__gt__}


@dataclass(frozen=True)
class Parameter:
    """A letter whose value the reader supplies.

    Parameters
    ----------
    symbol : Symbol
        The letter; it carries the domain (positive integer, or positive real; ``delta`` lies in (0, 1)).
    meaning : str
        What it stands for.
    default : float, optional
        The value where none is given.
    """

    symbol: Any
    meaning: str
    default: float | None = None

    def exact(self, value: Any) -> Any:
        """Return a value as an exact sympy number.

        Parameters
        ----------
        value : float
            Read as the decimal that was written.

        Returns
        -------
        sympy number
            An Integer or a Rational.

        Raises
        ------
        InputError
            If it lies outside the domain.
        """
        name = str(self.symbol)
        if self.symbol.is_integer:
            require_count(value, name)
            return sympy.Integer(int(value))
        if name == "delta":
            require_delta(value, zero=False)
        else:
            require_positive(value, name)
        return sympy.Rational(repr(float(value)))


@dataclass(frozen=True)
class Assumption:
    """One condition of a theorem.

    Parameters
    ----------
    name : str
        Its key, unique in its theorem: the paper's label (``"A1"``), the letter it restricts (``"epsilon"``) or a word
        (``"start"``).
    sentence : str
        Such as ``"epsilon <= 1"``.
    location : str
        Its place in the paper.
    relation : sympy relation, optional
        The sentence in letters of the theorem, those of its schedule included; None for a condition on the problem or
        the run that numbers cannot test.
    """

    name: str
    sentence: str
    location: str
    relation: Any = None

    def __str__(self) -> str:
        """Return the sentence with its place in the paper."""
        return f"{self.sentence} ({self.location})"

    def holds(self, values: dict[Any, Any]) -> bool:
        """Test the relation at exact values; always true without a relation.

        Both sides are rounded to double precision first, so that ``delta = 1/n**2``, computed by the caller in floating
        point, satisfies ``delta <= 1/n^2``.

        Parameters
        ----------
        values : dict of Symbol to number
            Exact values of its letters.

        Returns
        -------
        bool
            Whether it holds.
        """
        if self.relation is None:
            return True
        left, right = self.relation.args
        return bool(_RELATIONS[self.relation.rel_op](number(left.xreplace(values)), number(right.xreplace(values))))


def number(expression: Any) -> float:
    """Return an exact number, correctly rounded to double precision (to infinity on overflow)."""
    return float(sympy.N(expression, 30))
