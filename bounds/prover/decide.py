"""The order of trust: certificate, solver, ball arithmetic, derivatives; and a search that can only refute."""

import functools
import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import sympy

from dpcheck.bounds.prover import ball, forms, ranged, ranges, readable, search, slopes, smt, sums, vectors
from dpcheck.bounds.prover.certificate import Certificate
from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.prover.strict import positive
from dpcheck.bounds.terms import evaluated
from dpcheck.errors import InputError, raised

Verdict = Literal["proved", "refuted", "unresolved"]
NO_POINT = "no point of the domain was found at which both sides are defined"
WEAKLY = "with <= it is proved, and no point was found at which the sides are equal"
EMPTY = "the domain is empty: a relation of it is false of every value"


@dataclass(frozen=True)
class Outcome:
    """The verdict on an inequality, the routes that settled its cases, and why where it is unresolved.

    ``point`` is where it fails, ``witness`` where both sides are defined, both exact; ``queries`` are the problems in
    SMT-LIB that a solver found to have no solution, to be run again by ``z3 -in``; ``pieces`` are the plain steps to
    which it was reduced, by the ``idea``.
    """

    verdict: Verdict
    methods: tuple[str, ...]
    certificates: tuple[Certificate, ...]
    point: Mapping[Any, Any] | None
    seconds: float
    queries: tuple[str, ...] = ()
    witness: Mapping[Any, Any] | None = None
    note: str = ""
    pieces: tuple[Any, ...] = ()
    idea: str = ""

    @property
    def method(self) -> str:
        """The least trusted of the methods used."""
        return max(self.methods, key=_TRUST.index, default="none")

    @property
    def sentence(self) -> str:
        """How it is shown, in a sentence; nothing where it is not proved."""
        if self.verdict != "proved" or self.idea:
            return self.idea
        certificates = dict.fromkeys(certificate.idea for certificate in self.certificates)
        return "; ".join(
            [*certificates, *(_IDEAS[method] for method in dict.fromkeys(self.methods) if method in _IDEAS)]
        )


_BY_SIGN: dict[int | None, Verdict] = {1: "proved", 0: "proved", -1: "refuted", None: "unresolved"}
_NOTHING = Outcome("proved", (), (), None, 0.0)  # what holds at no point
_MARGIN = sympy.Rational(1, 10**6)  # by which one side is tried to be above the other, where it must be above
_LARGEST_POWER = 12  # of the argument of a logarithm, for polynomials that stay small
_TRUST = ("certificate", "solver (z3)", "ball arithmetic", slopes.METHOD, "search")
_IDEAS = {
    "solver (z3)": "a solver finds that no point is a failure, with bounds for logarithms and roots",
    "ball arithmetic": "the domain is cut into boxes, on which enclosures show it",
    slopes.METHOD: "derivatives have one sign on each part of the domain, and the ends are not negative",
}


def settle(smaller: Any, larger: Any, domain: Domain, sign: str = "<=") -> Outcome:
    """Decide ``smaller <= larger``, or with the sign ``<`` or ``=``, on ``domain``.

    The inequality is about the points of the domain at which both sides are defined: every part of
    them is a real number. It is proved only if there is such a point, which is shown.
    """
    if domain.empty:
        return Outcome("unresolved", (), (), None, 0.0, note=EMPTY)
    if sign == "=":
        return _both(settle(smaller, larger, domain), lambda: settle(larger, smaller, domain))
    try:
        difference = evaluated(larger) - evaluated(smaller)
        outcome = decide(difference, domain, sides=(smaller, larger), strict=sign == "<")
        if outcome.verdict == "refuted":
            return outcome
        if sign == "<" and outcome.verdict == "proved":
            outcome = _strictly(outcome, difference, evaluated(larger), domain, (smaller, larger))
        point = search.find(domain, (smaller, larger))
    except InputError:
        raise
    except (ArithmeticError, ValueError) as error:  # numbers too large for a route
        return Outcome("unresolved", (), (), None, 0.0, note=f"a number is beyond the prover: {raised(error)}")
    if point is None:
        return replace(outcome, verdict="unresolved", note=NO_POINT)
    return replace(outcome, witness=point)


def _both(first: Outcome, second: Callable[[], Outcome]) -> Outcome:
    """Return the outcome of two inequalities that make an equation."""
    if first.verdict != "proved":
        return first
    other = second()
    methods, certificates = first.methods + other.methods, first.certificates + other.certificates
    return replace(other, methods=methods, certificates=certificates, queries=first.queries + other.queries)


def _strictly(outcome: Outcome, difference: Any, larger: Any, domain: Domain, sides: tuple[Any, ...]) -> Outcome:
    """Return the proof that a difference shown to be nonnegative is positive: by a certificate with a constant, or
    with a margin; or that none was found.
    """
    shown = {*outcome.methods} == {"certificate"} and all(positive(made) for made in outcome.certificates)
    if not outcome.pieces and (not domain.intervals or (shown and outcome.certificates)):
        return outcome
    new, _ = domain.standard(difference, *sides)
    wide = larger.xreplace(new).is_positive
    for margin in (_MARGIN, *([_MARGIN * larger] if wide else [])):
        with_margin = decide(difference - margin, domain, sides=sides)
        if with_margin.verdict == "proved":
            return with_margin
    return replace(outcome, verdict="unresolved", note=WEAKLY)


@functools.lru_cache(maxsize=4096)
def decide(
    difference: Any, domain: Domain, seconds: float = 20.0, integers: int = 8, sides: tuple[Any, ...] = (),
    strict: bool = False,
) -> Outcome:  # fmt: skip
    """Decide ``difference >= 0`` on ``domain``; each call of the solver gets at most ``seconds``.

    Where it is ``strict``, a point counts as a failure where the difference is 0; what is proved is the same.

    A letter that must be an integer is cut between two integers up to ``integers`` times. Points
    count where the difference and ``sides`` are defined; on a domain without any it is proved.

    Raises :class:`~dpcheck.errors.InputError` for a letter without an interval, a function no route
    can evaluate, and a root of odd degree of a letter that may be negative.
    """
    started = time.monotonic()
    for expression in (difference, *sides):
        domain.covers(expression)
        ball.compile(ranged.without(expression), [*domain.intervals, ranged.BOUND])  # refuses unknown functions now
    search.require_real((difference, *sides), domain)
    new, standard = domain.standard(difference, *sides)
    old = {letter: symbol for symbol, letter in new.items()}
    failing = (-1, 0) if strict else (-1,)

    def genuine(values: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
        point = {old[letter]: value for letter, value in values.items()}
        fails = domain.contains(point) and ball.sign(difference, point) in failing
        return point if fails and all(search.defined(side, point) for side in sides) else None

    with_sums = any(expression.has(*ranged.KINDS) for expression in (difference, *sides))
    if with_sums or vectors.concerns(tuple(domain.intervals)):
        inner = difference.xreplace(new)
        outcome = _NOTHING if standard is None else _by_reduction(inner, standard, genuine, with_sums)
    elif not domain.intervals:
        sign = ball.sign(difference, {})
        methods = ("ball arithmetic",) if sign is not None else ()
        verdict: Verdict = "refuted" if sign in failing else _BY_SIGN[sign]
        outcome = Outcome(verdict, methods, (), {} if sign in failing else None, 0.0)
    elif standard is None:
        outcome = _NOTHING
    else:
        inner = difference.xreplace(new)
        nowhere = inner.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo)
        outcome = _NOTHING if nowhere else _decide(inner, standard, genuine, seconds, integers)
        if strict and outcome.verdict == "proved":
            points = ({new[letter]: value for letter, value in at.items()} for at in search.simple(domain))
            point = next(filter(None, map(genuine, points)), None)
            outcome = outcome if point is None else Outcome("refuted", ("search",), (), point, 0.0)
    return replace(outcome, seconds=time.monotonic() - started)


def _by_reduction(
    difference: Any, domain: Domain, genuine: Callable[[Mapping[Any, Any]], Any], with_sums: bool
) -> Outcome:  # fmt: skip
    """Decide an inequality with sums and products, or between inner products: by a failure, or by a reduction."""
    try:
        point, found = (sums if with_sums else vectors).settled(difference, domain, genuine)
    except ranged.BackwardsError as error:
        return Outcome("unresolved", (), (), None, 0.0, note=str(error))
    if point is not None:
        return Outcome("refuted", ("search",), (), point, 0.0)
    return _reduced(*found) if found is not None else Outcome("unresolved", (), (), None, 0.0)


def _reduced(steps: tuple[Any, ...], idea: str) -> Outcome:
    """Return the proof that rests on these steps, each of them proved."""
    parts = [step.outcome() for step in steps if hasattr(step, "outcome")]
    methods = tuple(dict.fromkeys(method for part in parts for method in part.methods)) or ("certificate",)
    certificates = tuple(itertools.chain.from_iterable(part.certificates for part in parts))
    queries = tuple(itertools.chain.from_iterable(part.queries for part in parts))
    return Outcome("proved", methods, certificates, None, 0.0, queries, pieces=steps, idea=idea)


def _open_for(part: Domain) -> str:
    return f"open for {part}".replace("**", "^").replace("*", " ")


@dataclass
class _Proof:
    """The certificates, queries and methods that have settled cases so far."""

    methods: list[str]
    certificates: list[Certificate]
    queries: list[str]

    def add(self, part: Outcome) -> None:
        """Take over what settled a part of a case."""
        self.certificates += part.certificates
        self.queries += part.queries
        self.methods += part.methods

    def left_open(self, where: Domain, domain: Domain) -> Outcome:
        """Return that a case is open, and which where there are several."""
        return replace(self.outcome("unresolved"), note="" if where == domain else _open_for(where))

    def outcome(self, verdict: Verdict, point: Any = None, method: str | None = None) -> Outcome:
        methods = tuple(self.methods) if method is None else (method,)
        return Outcome(verdict, methods, tuple(self.certificates), point, 0.0, tuple(self.queries))


@dataclass(frozen=True)
class _Case:
    """One case of the maxima: ``difference`` as it is, ``plain`` without logarithms if they can go, and its form.

    ``form`` is ``None`` if a number in it is not real.
    """

    difference: Any
    plain: Any
    where: Domain
    form: forms.Form | None


def _decide(
    difference: Any, domain: Domain, genuine: Callable[[Mapping[Any, Any]], Any], seconds: float, integers: int
) -> Outcome:
    """Settle every case by certificate, else all by search, else each by solver, derivatives, balls, cuts between
    integers.
    """
    proof = _Proof([], [], [])
    open_cases = _uncertified(difference, domain, proof)
    if not open_cases:
        return proof.outcome("proved")
    point = search.refute(difference, domain, genuine)
    if point is not None:
        return proof.outcome("refuted", point, "search")
    searched = False
    for case in open_cases:
        if case.form is None:
            return proof.left_open(case.where, domain)
        real = functools.partial(_original, case.form, genuine)
        verdict, point, text = "unresolved", None, ""
        if not _curved(case.form):
            verdict, point, text = smt.decide(case.form, real, seconds, short=True)
        # polynomials of an integer letter are cut further below, which gives certificates
        routes = (slopes.proves, slopes.proves_counted) if case.form.ties else (slopes.proves,)
        if verdict == "unresolved" and any(proves(case.difference, case.where) for proves in routes):
            proof.methods.append(slopes.METHOD)
            continue
        if verdict == "unresolved" and not searched:
            searched = True
            again = search.refute_again(difference, domain, genuine)
            if again is not None:
                return proof.outcome("refuted", again, "search")
        if verdict == "unresolved":
            verdict, point, text = smt.decide(case.form, real, seconds)
        if verdict == "refuted":
            return proof.outcome("refuted", point, "solver (z3)")
        if verdict == "proved":
            proof.methods.append("solver (z3)")
            proof.queries.append(smt.query(case.form, text))
        elif ranges.proves(case.plain, case.where):
            proof.methods.append("ball arithmetic")
        else:
            halves = _halves(case.form, case.where, point or {}) if integers else None
            if halves is None:
                return proof.left_open(case.where, domain)
            for half in halves:
                part = _decide(case.difference, half, genuine, seconds, integers - 1)
                proof.add(part)
                if part.verdict != "proved":
                    note = part.note or _open_for(half)
                    return replace(proof.outcome(part.verdict, part.point), methods=part.methods, note=note)
    return proof.outcome("proved")


def _curved(form: forms.Form) -> bool:
    """Say whether an exponent is no sum of multiples of single letters: with such the solver is tried last."""
    exponents = [tie.argument for tie in form.ties if tie.kind == "exp"]
    return any(
        len(term.free_symbols) > 1 or any(not exponent.is_polynomial(x) for x in term.free_symbols)
        for exponent in exponents
        for term in sympy.Add.make_args(sympy.expand(exponent))
    )


def _uncertified(difference: Any, domain: Domain, proof: _Proof) -> list[_Case]:
    """Add to the proof the cases that a certificate settles, and return the others."""
    left = []
    for split, where in forms.cases(difference, domain):
        plain = _powers_apart(_exponential(split))
        try:
            case = _Case(split, plain, where, forms.form(plain, where))
        except ball.UndefinedError:
            case = _Case(split, plain, where, None)
        proved = readable.find(case.form, case.plain, case.where) if case.form is not None else None
        if proved is None:
            left.append(case)
        else:
            proof.certificates.append(proved)
            proof.methods.append("certificate")
    return left


def _halves(form: forms.Form, domain: Domain, values: Mapping[Any, Any]) -> tuple[Domain, Domain] | None:
    """Return the domain cut where an integer letter of the solver's point falls between two integers."""
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
    """Replace a sum of logarithms with small rational factors by their argument less one, of the same sign."""
    product = sympy.Integer(1)
    for term in sympy.Add.make_args(difference):
        factor, rest = term.as_coeff_Mul()
        small = factor.is_Rational and max(abs(factor.p), factor.q) <= _LARGEST_POWER
        if rest.func is not sympy.log or not small:
            return difference
        product *= rest.args[0] ** factor
    return product - 1


def _powers_apart(difference: Any) -> Any:
    """Return it with ``r**(T + 1)`` as ``r**T r``, where that is so for all values, so that such powers cancel."""
    sums = any(power.exp.is_Add and power.exp.free_symbols for power in difference.atoms(sympy.Pow))
    return sympy.expand_mul(sympy.expand_power_exp(difference)) if sums else difference


def _original(form: forms.Form, genuine: Any, values: Mapping[Any, Any]) -> Any:
    """Return the solver's values in the original letters, integers rounded each way, if the failure is real."""
    at = {letter: back.subs(values) for letter, back in form.back.items()}
    choices = [
        sorted({sympy.floor(value), sympy.ceiling(value)}) if letter.is_integer else [value]
        for letter, value in at.items()
    ]
    for chosen in itertools.islice(itertools.product(*choices), 64):
        failure = genuine(dict(zip(at, chosen, strict=True)))
        if failure is not None:
            return failure
    return None
