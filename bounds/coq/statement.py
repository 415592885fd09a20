"""Steps of evidence as statements about Coq's real numbers.

The statement is the printed one on its printed domain: every letter is a real number with the
hypotheses that its symbol or its interval carries, and nothing is shifted, named or forgotten.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import inspect
import itertools
import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Any

import sympy

from dpcheck.bounds.asymptotics import Dominated
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.coq.expression import UntranslatedError, Writer, names
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Domain, Enumerated, Identity, Inequality
from dpcheck.bounds.prover import vectors


@dataclass(frozen=True)
class Counterpart:
    """A definition of Coq for a function of Python.

    ``sorts`` are those of its arguments, the last one for all that follow if it is a list; ``helpers``
    are functions of the same module that it calls; ``sha256`` is the hash of their code, without docstrings.
    """

    name: str
    sorts: Sequence[str]
    sha256: str
    helpers: Sequence[str] = ()
    defaults: Sequence[Any] = ()


@functools.cache
def counterparts() -> dict[str, Counterpart]:
    """Return the counterparts that somebody has read, by paper and function, in whatever file of the paper it is."""
    text = resources.files("dpcheck.bounds.coq").joinpath("counterparts.json").read_text("utf-8")
    return {key: Counterpart(**entry) for key, entry in json.loads(text).items()}


def _enumerated(step: Enumerated) -> Statement:
    """Return what the counterpart of the function gives, in rational numbers."""
    paper = step.function.__module__.rpartition(".")[0].rpartition(".")[2]
    counterpart = counterparts().get(f"{paper}.{step.function.__name__}")
    if counterpart is None or code(step.function, counterpart.helpers) != counterpart.sha256:
        raise UntranslatedError("the function has no counterpart")
    call = " ".join([f"Enumeration.{counterpart.name}", *_arguments(counterpart, step.arguments)])
    value = Fraction(step.value)
    return Statement((), (), f"Enumeration.gives ({call}) {_whole(value.numerator)} {value.denominator}")


def code(function: Callable[..., Any], helpers: Sequence[str] = ()) -> str:
    """Return the hash of what the function and its helpers do: their code without docstrings."""
    module = importlib.import_module(function.__module__)
    return _hash(function, *(getattr(module, helper) for helper in helpers))


@functools.cache
def _hash(*functions: Callable[..., Any]) -> str:
    return hashlib.sha256("\n".join(_plain(function) for function in functions).encode()).hexdigest()


def _plain(function: Callable[..., Any]) -> str:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _arguments(counterpart: Counterpart, given: tuple[Any, ...]) -> Iterator[str]:
    missing = len(counterpart.sorts) - len(given)
    more = counterpart.defaults[-missing:] if missing > 0 and counterpart.sorts[-1] != "list" else ()
    complete = (*given, *more)
    for index, sort in enumerate(counterpart.sorts):
        if sort == "list":
            items = "".join(f"(cons {_ratio(item)} " for item in complete[index:])
            yield f"{items}nil{')' * len(complete[index:])}"
        elif sort == "bool":
            yield "true" if complete[index] else "false"
        else:
            yield str(complete[index]) if sort == "nat" else _ratio(complete[index])


def _ratio(value: Any) -> str:
    exact = Fraction(value)
    return f"(Enumeration.ratio {_whole(exact.numerator)} {exact.denominator})"


def _whole(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"


_SIGNS = {"<=": "<=", "<": "<", ">=": ">=", ">": ">", "==": "=", "!=": "<>"}


@dataclass(frozen=True)
class Statement:
    """``conclusion`` for all real ``letters`` with the ``hypotheses``."""

    letters: tuple[str, ...]
    hypotheses: tuple[str, ...]
    conclusion: str

    @functools.cached_property
    def text(self) -> str:
        """The statement in Coq."""
        quantified = [f"forall {' '.join(self.letters)} : R,"] if self.letters else []
        return "\n  ".join([*quantified, *(f"{hypothesis} ->" for hypothesis in self.hypotheses), self.conclusion])

    @functools.cached_property
    def sha256(self) -> str:
        """The hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def statement(step: Any) -> Statement | None:
    """Return the step as a statement of Coq, or ``None`` for one that has none."""
    write = _KINDS.get(type(step))
    try:
        return write(step) if write else None
    except UntranslatedError:
        return None


def _identity(step: Identity) -> Statement:
    left, right = step.left, step.right
    body, at = (left.expr, left) if isinstance(left, sympy.Subs) else (left, None)
    if isinstance(body, sympy.Derivative):
        return _derivative(body, at, right)
    return _relation(left, "=", right)


def _derivative(left: sympy.Derivative, at: Any, right: Any) -> Statement:
    """State that the function has the derivative at its letter, or at the value given for it."""
    *inner, last = [letter for letter, count in left.variable_count for _ in range(count)]
    if at is not None and tuple(at.variables) != (last,):
        raise UntranslatedError("a derivative is taken at a value of its own letter only")
    letters = names(ordered(left.expr.free_symbols | right.free_symbols | (at.free_symbols if at else set())))
    write = Writer(letters)
    function = write(left.expr)
    for letter in inner:
        function = f"Derive (fun {write(letter)} : R => {function}) {write(letter)}"
    point = write.argument(at.point[0]) if at is not None else write(last)
    free = {
        letter: name for letter, name in letters.items() if at is None or letter in at.free_symbols | right.free_symbols
    }
    conditions = write.conditions(left.expr if at is None else at, right)
    conclusion = f"is_derive (fun {write(last)} : R => {function}) {point} {write.argument(right)}"
    return Statement(tuple(free.values()), (*_flags(free), *conditions), conclusion)


def _relation(left: Any, sign: str, right: Any) -> Statement:
    letters = names(ordered(left.free_symbols | right.free_symbols))
    write = Writer(letters)
    hypotheses = [*_flags(letters), *write.conditions(left, right)]
    return Statement(tuple(letters.values()), tuple(hypotheses), f"{write(left)} {sign} {write(right)}")


def _not_private(step: NotPrivate) -> Statement:
    """State that the privacy curve of the Gaussian release lies above delta."""
    write = Writer({})
    s, e, delta = step.multiplier, step.epsilon, step.delta
    write.conditions(s, e, delta)
    return Statement((), (), f"{write(delta)} < gaussian_curve {write.argument(s)} {write.argument(e)}")


def _private(step: Private) -> Statement:
    """State that the privacy curve of the Gaussian release lies nowhere above delta."""
    s, e, delta = step.multiplier, step.epsilon, step.delta
    return _on(
        step.over, (s, e, delta),
        lambda write: f"gaussian_curve {write.argument(s)} {write.argument(e)} <= {write(delta)}",
    )  # fmt: skip


def _inequality(step: Inequality) -> Statement:
    smaller, larger = step.sides()
    return _on(step.over, (smaller, larger), lambda write: f"{write(smaller)} {step.sign} {write(larger)}")


def _on(domain: Domain, parts: Iterable[Any], conclusion: Callable[[Writer], str]) -> Statement:
    """Return what is concluded about these formulas, on the domain and where they have values."""
    if domain.empty:
        raise UntranslatedError("a theorem about no value says nothing")
    letters = names(domain.intervals)
    write = Writer(letters)
    hypotheses: list[str] = []
    for letter, ends in domain.intervals.items():
        hypotheses += _interval(write, letter, ends)
    for relation in domain.where:
        sign = "<" if isinstance(relation, sympy.Lt | sympy.Gt) else "<="
        hypotheses.append(f"{write(relation.lts)} {sign} {write(relation.gts)}")
    hypotheses += _semidefinite(write, domain)
    sides = [side for relation in domain.where for side in relation.args]
    nonnegative = [letter for letter, (low, _) in domain.intervals.items() if low >= 0]
    hypotheses += write.conditions(*parts, *sides, nonnegative=nonnegative)
    return Statement(tuple(letters.values()), tuple(hypotheses), conclusion(write))


def _semidefinite(write: Writer, domain: Domain) -> Iterator[str]:
    """Yield what is true of the inner products of vectors: no combination of the vectors has a negative square."""
    products = vectors.named(domain.intervals)
    every = sorted(set[str]().union(*products))
    if len(every) < 2:
        return
    factors = [sympy.Symbol(f"factor_{number}") for number in range(1, len(every) + 1)]
    named = names([*domain.intervals, *factors])
    terms = []
    for (u, a), (v, b) in itertools.combinations_with_replacement(zip(every, factors, strict=True), 2):
        twice = "" if u == v else "2 * "
        terms.append(f"{twice}{named[a]} * {named[b]} * {write.argument(products[frozenset((u, v))])}")
    yield f"(forall {' '.join(named[factor] for factor in factors)} : R, 0 <= {' + '.join(terms)})"


def _interval(write: Writer, letter: Any, ends: tuple[Any, Any]) -> Iterator[str]:
    low, high = ends
    name = write(letter)
    if letter.is_integer:
        yield f"integer {name}"
    if letter.is_positive and not low > 0:
        yield f"0 < {name}"
    if low.is_finite and not (low == 0 and letter.is_positive):
        yield f"{write(low)} <= {name}"
    if high.is_finite:
        yield f"{name} <= {write(high)}"


def _counterexample(step: Counterexample) -> Statement:
    """State that the relation is false at the values; letters without one are any of their kind."""
    values = dict(step.values)
    left, right = step.claimed.args
    used = left.free_symbols.union(right.free_symbols, values, *(value.free_symbols for value in values.values()))
    letters = names(ordered(used))
    write = Writer(letters)
    if any(letter.is_integer and not value.is_Integer for letter, value in values.items()):
        raise UntranslatedError("an integer letter must have an integer value")
    free = {letter: name for letter, name in letters.items() if letter not in values}
    hypotheses = [*_flags(free), *(f"{write(letter)} = {write(value)}" for letter, value in values.items())]
    sides = (left, right, *values.values())
    conditions = write.conditions(*(side.xreplace(values) if values else side for side in sides))
    relation = f"{write(left)} {_SIGNS[step.claimed.rel_op]} {write(right)}"
    return Statement(tuple(letters.values()), (*hypotheses, *conditions), f"~ ({relation})")


def _dominated(step: Dominated) -> Statement:
    """State that one constant bounds the terms by the rate on the whole region."""
    terms, rate = step.terms, step.needed_rate()
    relations = step.region.relations
    used = terms.free_symbols.union(rate.free_symbols, *(relation.free_symbols for relation in relations))
    letters = names(ordered(used))
    write = Writer(letters)
    inside = [*_flags(letters), *(f"1 <= {name}" for letter, name in letters.items() if letter.is_integer)]
    inside += [f"{write(relation.lts)} <= {write(relation.gts)}" for relation in relations]
    inside += write.conditions(terms, rate, *(side for relation in relations for side in relation.args))
    for_all = f"forall {' '.join(letters.values())} : R, " + "".join(f"{hypothesis} -> " for hypothesis in inside)
    return Statement((), (), f"exists constant : R, {for_all}{write(terms)} <= constant * ({write(rate)})")


def ordered(letters: Iterable[Any]) -> list[Any]:
    """Return letters by name, and by what is assumed of those that share one."""
    return sorted(letters, key=lambda letter: (str(letter), sorted(letter.assumptions0.items())))


def _flags(letters: Mapping[Any, str]) -> Iterator[str]:
    """Yield what the symbols themselves say of their values."""
    for letter, name in letters.items():
        if letter.is_integer:
            yield f"integer {name}"
        if letter.is_positive:
            yield f"0 < {name}"
        elif letter.is_negative:
            yield f"{name} < 0"
        elif letter.is_nonnegative:
            yield f"0 <= {name}"
        elif letter.is_nonpositive:
            yield f"{name} <= 0"
        elif letter.is_nonzero:
            yield f"{name} <> 0"


_KINDS: dict[type, Callable[[Any], Statement]] = {
    Identity: _identity, Inequality: _inequality,
    AtMost: lambda step: _relation(step.smaller, step.sign, step.larger),
    Below: lambda step: _relation(step.smaller, step.sign, step.larger), Counterexample: _counterexample,
    Dominated: _dominated, Private: _private, NotPrivate: _not_private, Enumerated: _enumerated,
}  # fmt: skip
