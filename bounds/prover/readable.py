"""Certificates with numbers that a person reads."""

from dataclasses import replace
from typing import Any

import sympy

from dpcheck.bounds.prover import forms
from dpcheck.bounds.prover.certificate import Certificate
from dpcheck.bounds.prover.domain import Domain

_DECIMALS = (1, 2, 3, 4, 6, 9)  # of the ends of an interval that is rounded
_LONG = 10**10  # a longer numerator or denominator is not for reading


def find(form: forms.Form, claimed: Any, domain: Domain) -> Certificate | None:
    """Return a certificate for the form of ``claimed`` on ``domain``, with intervals of few digits if these will do,
    or ``None``.
    """
    found = forms.find(form, claimed, domain)
    ends = [end for pair in form.intervals.values() for end in pair if end.is_finite]
    if found is None or not any(max(abs(end.p), end.q) > _LONG for end in ends):
        return found
    for decimals in _DECIMALS:
        intervals = {letter: _rounded(*pair, 10**decimals) for letter, pair in form.intervals.items()}
        short = forms.find(replace(form, intervals=intervals), claimed, domain)
        if short is not None and short.holds():
            return short
    return found


def _rounded(low: Any, high: Any, grain: int) -> tuple[Any, Any]:
    """Return the interval with long ends moved outwards to multiples of one part in ``grain``."""
    if low.is_finite and max(abs(low.p), low.q) > _LONG:
        low = sympy.Rational(sympy.floor(low * grain), grain)
    if high.is_finite and max(abs(high.p), high.q) > _LONG:
        high = sympy.Rational(sympy.ceiling(high * grain), grain)
    return low, high
