"""The one error that wrong input raises, and the one sentence it says."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

MOST_WORK = 1_000_000_000
_LONGEST = 200  # letters of a part of a sentence


class InputError(ValueError):
    """Wrong usage or input; the message is one line that names the argument, the constraint and the value.

    The command turns it into exit code 2 without a traceback.
    """


class StoreError(InputError):
    """A file that keeps what was measured cannot be used."""


def one_line(value: object) -> str:
    """Return the text of a value without line breaks, and with control characters written out."""
    try:
        text = " ".join(str(value).split())
    except BaseException:  # a whole number too long for Python to print, or an object whose own text raises anything
        text = f"{type(value).__name__} that has no text"
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def raised(error: BaseException) -> str:
    """Say on one line what kind of error it is and what it says."""
    return ": ".join(filter(None, (type(error).__name__, one_line(error))))


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return " (did you mean NAME?)" for the known name that comes closest, nothing where none does."""
    near = difflib.get_close_matches(str(name), list(known), 1)
    return f" (did you mean {near[0]}?)" if near else ""


def require(condition: bool, name: str, constraint: str, value: object) -> None:
    """Raise :class:`InputError` ``"{name} must {constraint}, got {value}"`` unless ``condition``."""
    if not condition:
        raise InputError(f"{short(name)} must {constraint}, got {short(value)}")


def short(value: object, most: int = _LONGEST) -> str:
    """Return a text on one line, the middle of a long one left out."""
    text = one_line(value)
    return text if len(text) <= most else f"{text[: most - 80]} ... {text[-60:]}"


def _refuse(value: object, name: str, constraint: str) -> None:
    """Refuse what is no number; a word that looks like one is put in quotes."""
    require(False, name, constraint, repr(value) if isinstance(value, str) else value)


def require_known(name: object, known: Iterable[str], what: str) -> None:
    """Require one of the known names; the message ends with the one that comes closest."""
    names = list(known)
    if not (isinstance(name, str) and name in names):
        near = did_you_mean(name, names) if isinstance(name, str) else ""
        require(False, what, f"be one of {', '.join(names)}", f"{one_line(name)[:200]}{near}")


def require_epsilon(epsilon: float) -> None:
    """Require a nonnegative finite number (natural log)."""
    if not (is_finite(epsilon) and epsilon >= 0):
        _refuse(epsilon, "epsilon", "be a finite number >= 0")


def require_delta(delta: float, *, zero: bool = True) -> None:
    """Require a number in [0, 1), or in (0, 1) where ``zero`` is false."""
    if not (is_finite(delta) and 0 <= delta < 1 and (zero or delta > 0)):
        _refuse(delta, "delta", f"lie in {'[' if zero else '('}0, 1)")


def require_confidence(confidence: float) -> None:
    """Require a confidence level strictly between 1/2 and 1."""
    if not (is_finite(confidence) and 0.5 < confidence < 1):
        _refuse(confidence, "confidence", "lie in (0.5, 1)")


def require_positive(value: float, name: str, *, zero: bool = False) -> None:
    """Require a finite number above zero, or of zero or more."""
    if not (is_finite(value) and (value > 0 or (zero and value == 0))):
        _refuse(value, name, "be finite and >= 0" if zero else "be a finite number > 0")


def require_seed(seed: int) -> None:
    """Require what a random stream begins from."""
    require_count(seed, "seed", least=0)


def require_count(value: int, name: str, *, least: int = 1) -> None:
    """Require a whole number of at least ``least``."""
    import numpy as np  # here, so that the command's help waits for no library

    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not (whole and value >= least):
        _refuse(value, name, f"be a whole number >= {least}")


def require_work(value: int, name: str, *, least: int = 1) -> None:
    """Require a whole number of what takes time or memory, and no slip that no machine would come to the end of."""
    require_count(value, name, least=least)
    require(value <= MOST_WORK, name, f"be at most {MOST_WORK:,}", value)


def require_mechanism(function: Any, *, vectorized: bool = False) -> None:
    """Require a function that can be called as a mechanism."""
    import inspect

    require(callable(function), "mechanism", "be callable", type(function).__name__)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of compiled code, which does not say what it takes
        return
    try:
        signature.bind(*"drs"[: 2 + vectorized])
    except TypeError:
        must = "take (data, rng, size) where it is vectorized"
        if not vectorized:
            must = "take (data, rng) with a numpy.random.Generator as rng, or (data, rng, size) where it is vectorized"
        name, given = getattr(function, "__name__", type(function).__name__), ", ".join(signature.parameters)
        require(False, "mechanism", must, f"{name}({given})")


def float_below(value: Any) -> Any:
    """Return the largest float that is not above a number of any type; anything else as it is, to be refused."""
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return value
    try:
        near = float(value)
        return math.nextafter(near, -math.inf) if near > value else near
    except (ArithmeticError, ValueError):  # a whole number out of range, or a signalling NaN
        return value


def is_finite(value: Any) -> bool:
    """Say whether a value is a real number that float64 can hold."""
    import numpy as np

    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the floating-point range
        return False


def is_number(value: Any) -> bool:
    """Say whether a value is a real number of any type, a fraction too, other than NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and bool(value == value)  # of any size, too
