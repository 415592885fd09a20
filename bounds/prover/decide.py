"""The order of trust: certificate, solver, ball arithmetic; and a search that can only refute."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sympy

from dpcheck.bounds.prover import ball, branch, certificate, forms, search, smt
from dpcheck.bounds.prover.certificate import Certificate
from dpcheck.bounds.prover.domain import Domain


@dataclass(frozen=True)
class Outcome:
    """What became of an inequality.

    ``methods`` names what settled each case of the maxima; ``certificates`` are those found;
    ``point`` is where it fails, exact; ``seconds`` is wall-clock time.
    """

    verdict: Literal["proved", "refuted", "unresolved"]
    methods: tuple[str, ...]
    certificates: tuple[Certificate, ...]
    point: Mapping[Any, Any] | None
    seconds: float

    @property
    def method(self) -> str:
        """The least trusted of the methods used."""
        return max(self.methods, key=_TRUST.index, default="none")


_BY_SIGN = {1: "proved", 0: "proved", -1: "refuted", None: "unresolved"}
_LARGEST_POWER = 12  # of the argument of a logarithm, for polynomials that stay small
_TRUST = ("certificate", "solver (z3)", "ball arithmetic", "search")


@functools.lru_cache(maxsize=4096)
def decide(difference: Any, domain: Domain, seconds: float = 20.0, integers: int = 8) -> Outcome:
    """Decide ``difference >= 0`` on ``domain``; each call of the solver gets at most ``seconds``.

    A letter that must be an integer is cut between two integers up to ``integers`` times.

    Raises :class:`~dpcheck.errors.InputError` for a letter without an interval and a function no
    route can evaluate. The inequality is about values at which both sides are defined.
    """
    domain.covers(difference)
    started = time.monotonic()
    found: list[Certificate] = []
    ball.compile(difference, list(domain.intervals))  # refuses unknown functions now

    def genuine(values: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
        fails = domain.contains(values) and ball.sign(difference, values) == -1
        return dict(values) if fails else None

    def outcome(verdict: Any, methods: list[str], point: Any = None) -> Outcome:
        return Outcome(verdict, tuple(methods), tuple(found), point, time.monotonic() - started)

    if not domain.intervals:
        sign = ball.sign(difference, {})
        return outcome(_BY_SIGN[sign], ["ball arithmetic"] if sign is not None else [], {} if sign == -1 else None)
    methods: list[str] = []
    open_cases = []
    for split, where in forms.cases(difference, domain):
        case = _exponential(split)
        form = forms.form(case, where)
        proof = certificate.find(form)
        if proof is None:
            open_cases.append((case, where, form))
        else:
            found.append(proof)
            methods.append("certificate")
    if not open_cases:
        return outcome("proved", methods)
    point = search.refute(difference, domain, genuine)
    if point is not None:
        return outcome("refuted", ["search"], point)
    for case, where, form in open_cases:
        verdict, point, _ = smt.decide(form, functools.partial(_original, form, genuine), seconds)
        if verdict == "refuted":
            return outcome("refuted", ["solver (z3)"], point)
        if verdict == "proved":
            methods.append("solver (z3)")
        elif branch.proves(case, where):
            methods.append("ball arithmetic")
        else:
            halves = _halves(form, where, point or {}) if integers else None
            if halves is None:
                return outcome("unresolved", methods)
            for half in halves:
                part = decide(case, half, seconds, integers - 1)
                found += part.certificates
                methods += part.methods
                if part.verdict != "proved":
                    return outcome(part.verdict, methods, part.point)
    return outcome("proved", methods)


def _halves(form: forms.Form, domain: Domain, values: Mapping[Any, Any]) -> tuple[Domain, Domain] | None:
    """The domain cut where an integer letter of the solver's point falls between two integers."""
    for letter, back in form.back.items():
        at = back.subs(values)
        if letter.is_integer and at.is_Rational and not at.is_Integer:
            low, high = domain.intervals[letter]
            below, above = sympy.floor(at), sympy.ceiling(at)
            if low <= below and above <= high:
                return (
                    Domain({**domain.intervals, letter: (low, below)}, domain.where),
                    Domain({**domain.intervals, letter: (above, high)}, domain.where),
                )
    return None


def _exponential(difference: Any) -> Any:
    """For a sum of logarithms with small rational factors, their argument less one, of the same sign."""
    product = sympy.Integer(1)
    for term in sympy.Add.make_args(difference):
        factor, rest = term.as_coeff_Mul()
        small = factor.is_Rational and max(abs(factor.p), factor.q) <= _LARGEST_POWER
        if rest.func is not sympy.log or not small:
            return difference
        product *= rest.args[0] ** factor
    return product - 1


def _original(form: forms.Form, genuine: Any, values: Mapping[Any, Any]) -> Any:
    """The solver's values in the original letters, integers rounded each way, if the failure is real."""
    at = {letter: back.subs(values) for letter, back in form.back.items()}
    choices = [
        sorted({sympy.floor(value), sympy.ceiling(value)}) if letter.is_integer else [value]
        for letter, value in at.items()
    ]
    for chosen in itertools.islice(itertools.product(*choices), 64):
        found = genuine(dict(zip(at, chosen, strict=True)))
        if found is not None:
            return found
    return None
