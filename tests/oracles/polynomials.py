"""Certificates checked from their text and coefficients alone, without sympy and the prover."""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction
from typing import Any

Terms = list[tuple[str, dict[str, int]]]
FUNCTIONS = {name: getattr(math, name) for name in ("sqrt", "log", "exp", "ceil", "floor", "pi", "erf", "erfc")}
FUNCTIONS |= {"E": math.e, "Abs": abs, "ceiling": math.ceil, "Max": max, "Min": min}


def replay(stored: dict[str, Any]) -> None:
    """Signs, expansion, coverage, and that what is expanded is what is claimed."""
    expands(stored)
    covers(stored)
    states(stored)


def expands(stored: dict[str, Any]) -> None:
    """No coefficient is negative, and numerator over denominator is the shifted difference.

    Two polynomials of degree below 40 that agree at three points in general position, with
    coordinates of large height, are taken as equal; the expansion itself is checked elsewhere.
    """
    for part in ("numerator", "denominator", "multiplier"):
        assert all(Fraction(coefficient) >= 0 for coefficient, _ in stored[part])
        assert part == "numerator" or any(Fraction(coefficient) > 0 for coefficient, _ in stored[part])
    assert letters(stored["difference"]) <= stored["shifts"].keys()
    for t in parameters(stored):
        shifted = {letter: value(up, t) / value(down, t) for letter, (up, down) in stored["shifts"].items()}
        up, down = stored["difference"]
        quotient = value(stored["numerator"], t) / (value(stored["denominator"], t) * value(stored["multiplier"], t))
        assert value(up, shifted) / value(down, shifted) == quotient


def covers(stored: dict[str, Any]) -> None:
    """Every point of the domain is reached by parameters that are at least zero, or approached."""
    rules = stored["rules"]
    own = [rule["parameter"] for rule in rules if rule["kind"] not in ("free", "point")]
    free = {rule["letter"] for rule in rules if rule["kind"] == "free"}
    assert len(set(own)) == len(own)
    assert not set(own) & stored["letters"].keys()
    assert [rule["letter"] for rule in rules] == list(stored["shifts"])
    assert {t for sides in stored["shifts"].values() for t in letters(sides)} <= {*own, *free}
    assert {t for part in ("numerator", "denominator", "multiplier") for t in letters([stored[part]])} <= set(own)
    for t in parameters(stored):
        done: dict[str, Fraction] = {}
        for rule in rules:
            up, down = stored["shifts"][rule["letter"]]
            found = value(up, t) / value(down, t)
            reached(rule, found, t, done, stored)
            done[rule["letter"]] = found


def reached(
    rule: dict[str, Any], found: Fraction, t: dict[str, Fraction], done: dict[str, Fraction], stored: dict[str, Any]
) -> None:
    """One letter: its rule's formula, with ends that hold its interval."""
    own, kind = t.get(rule["parameter"], Fraction(0)), rule["kind"]
    low, high = (stored["letters"][rule["letter"]][end] for end in ("low", "high"))
    if kind in ("above", "below"):
        bound = bounded(stored["facts"][rule["fact"]], rule["letter"], kind, done, stored)
        assert found == (bound + own if kind == "above" else bound / (1 + own))
        return
    up, down = stored["shifts"][rule["letter"]]
    if kind == "free":
        assert (up, down) == ([["1", {rule["letter"]: 1}]], [["1", {}]])
        return
    assert letters((up, down)) <= {rule["parameter"]}
    if kind == "point":
        assert found == Fraction(low) == Fraction(high)
    elif kind == "low":
        assert found - own == Fraction(value(up, {rule["parameter"]: Fraction(0)}) / value(down, zero(rule)))
        assert found - own <= Fraction(low)
    elif kind == "high":
        assert found + own >= Fraction(high)
    else:
        assert kind == "between"
        first = value(up, zero(rule)) / value(down, zero(rule))
        one = {rule["parameter"]: Fraction(1)}
        last = 2 * value(up, one) / value(down, one) - first
        assert min(first, last) <= Fraction(low) <= Fraction(high) <= max(first, last)
        assert found == (first + last * own) / (1 + own)


def bounded(
    fact: list[Terms], letter: str, kind: str, done: dict[str, Fraction], stored: dict[str, Any]
) -> Fraction:  # fmt: skip
    """The bound that a fact linear in the letter gives, at the values of the letters before it."""
    up, down = fact
    assert positive(down, stored)
    slope = [(c, {x: p for x, p in powers.items() if x != letter}) for c, powers in up if powers.get(letter)]
    rest = [(c, powers) for c, powers in up if not powers.get(letter)]
    assert all(powers.get(letter, 0) <= 1 for _, powers in up)
    sign = 1 if kind == "above" else -1
    assert positive([(str(sign * Fraction(c)), powers) for c, powers in slope], stored)
    assert kind == "above" or nonnegative(letter, stored)
    others = {x for _, powers in (*rest, *slope) for x in powers} - done.keys()  # they must cancel
    assert all(stored["letters"][x]["positive"] for x in others)
    tried = [{**dict.fromkeys(others, Fraction(k)), **done} for k in (1, 2, 7)]
    (bound,) = {-value(rest, at) / value(slope, at) for at in tried}
    return bound


def states(stored: dict[str, Any]) -> None:
    """In floating point at random points of the domain: the difference is the claim times a positive scale."""
    assert all(positive(part, stored) for part in stored["scale"])
    claimed, relation = stored["claimed"].rsplit(" ", 2)[0], stored["claimed"].rsplit(" ", 2)[1]
    assert relation == ">="
    rng, seen = random.Random(0), 0
    for _ in range(4000):
        point = {name: drawn(rng, ends) for name, ends in stored["domain"]["letters"].items()}
        try:
            at = {name: evaluate(each["means"], point) for name, each in stored["letters"].items()}
            true = evaluate(claimed, point)
            scale = approximate(stored["scale"], at)
            named = approximate(stored["difference"], at)
        except (ValueError, ZeroDivisionError, OverflowError):
            continue
        if isinstance(true, complex) or any(isinstance(each, complex) for each in at.values()):
            continue
        size = sum(abs(part) for part in pieces(stored["difference"], at)) + abs(scale * true)
        if not math.isfinite(size):
            continue
        assert abs(scale * true - named) <= 1e-7 * size
        for name, each in stored["letters"].items():
            low, high = (math.inf if e == "oo" else -math.inf if e == "-oo" else float(Fraction(e))
                         for e in (each["low"], each["high"]))  # fmt: skip
            assert low - 1e-9 * abs(low) <= at[name] <= high + 1e-9 * abs(high) or not inside(stored, point)
            assert at[name] > 0 or not each["positive"]
        seen += 1
        if seen == 25:
            return
    assert seen >= 3


def inside(stored: dict[str, Any], point: dict[str, float]) -> bool:
    return all(evaluate(each.rsplit(" ", 2)[0], point) >= 0 for each in stored["domain"]["where"])


def drawn(rng: random.Random, ends: dict[str, Any]) -> float:
    """A value of the interval, over several decades where it is unbounded."""
    low, high = (math.inf if e == "oo" else -math.inf if e == "-oo" else float(evaluate(e, {}))
                 for e in (ends["low"], ends["high"]))  # fmt: skip
    if math.isfinite(low) and math.isfinite(high):
        found = low + (high - low) * rng.uniform(0.01, 0.99)
    elif math.isfinite(low):
        found = low + 10 ** rng.uniform(-2, 2)
    else:
        found = high - 10 ** rng.uniform(-2, 2) if math.isfinite(high) else rng.uniform(-20, 20)
    return float(max(math.ceil(low) if math.isfinite(low) else -1e9, round(found))) if ends["integer"] else found


def evaluate(text: str, at: dict[str, float]) -> Any:
    """The value of a formula in Python's notation, which sympy's text is."""
    names = {name: f"letter{index}" for index, name in enumerate(at)}
    plain = re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)
    return eval(plain, {"__builtins__": {}}, FUNCTIONS | {names[name]: number for name, number in at.items()})


def parameters(stored: dict[str, Any]) -> list[dict[str, Fraction]]:
    """Values of the parameters at three points."""
    names = sorted({t for sides in stored["shifts"].values() for t in letters(sides)}
                   | {rule["parameter"] for rule in stored["rules"] if rule["parameter"]})  # fmt: skip
    return [{t: Fraction(1009 * k + 7 * i, 13 * k + i + 1) for i, t in enumerate(names)} for k in range(1, 4)]


def positive(terms: Terms, stored: dict[str, Any]) -> bool:
    """No term is negative, and one is made of positive letters alone."""
    signs = all(
        Fraction(c) >= 0 and all(nonnegative(x, stored) or p % 2 == 0 for x, p in powers.items()) for c, powers in terms
    )
    return signs and any(
        Fraction(c) > 0 and all(stored["letters"][x]["positive"] for x in powers) for c, powers in terms
    )


def nonnegative(letter: str, stored: dict[str, Any]) -> bool:
    low = stored["letters"][letter]["low"]
    return low != "-oo" and Fraction(low) >= 0


def zero(rule: dict[str, Any]) -> dict[str, Fraction]:
    return {rule["parameter"]: Fraction(0)}


def letters(sides: Any) -> set[str]:
    return {letter for side in sides for _, powers in side for letter in powers}


def value(terms: Terms, at: dict[str, Fraction]) -> Fraction:
    total = Fraction(0)
    for coefficient, powers in terms:
        product = Fraction(coefficient)
        for letter, power in powers.items():
            product *= at[letter] ** power
        total += product
    return total


def pieces(quotient: list[Terms], at: dict[str, float]) -> list[float]:
    """The numerator's terms over the denominator, in floating point."""
    up, down = ([float(Fraction(c)) * math.prod(at[x] ** p for x, p in powers.items()) for c, powers in side]
                for side in quotient)  # fmt: skip
    return [part / sum(down) for part in up]


def approximate(quotient: list[Terms], at: dict[str, float]) -> float:
    return math.fsum(pieces(quotient, at))
