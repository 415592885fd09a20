"""Proofs that a function of one letter is nonnegative, from the signs of its slopes.

A function that starts nonnegative and does not fall is nonnegative; so is one that ends so and does not rise, and a
concave one that is so at both ends. Signs of slopes are shown alike, after positive factors are taken out, until a
polynomial with nonnegative coefficients is left. Numbers choose the way; Coq checks every rung.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import sympy

from dpcheck.bounds.coq import rewritten
from dpcheck.bounds.coq.expression import UntranslatedError, Writer, names

_DEEPEST, _LONGEST, _MOST, _WIDEST = 5, 30, 60, 250
_DRAWS = (0.001, 0.02, 0.11, 0.27, 0.43, 0.61, 0.78, 0.9, 0.97, 0.999)
_SMALL = -1e-9


@dataclass
class Ladder:
    """The sentences of Coq that prove a function of ``letter`` nonnegative between ``low`` and ``high``.

    ``inside`` are the hypotheses on the letter, with its term in place of ``{}``; ``points`` are values of all letters.
    """

    letter: Any
    low: Any
    high: Any
    inside: tuple[str, ...]
    points: list[dict[Any, Any]]
    write: Writer
    name: str
    spawn: Any = lambda letter: None  # a ladder in another letter
    lines: list[str] = field(default_factory=list)
    count: int = 0
    tried: int = 0

    def prove(self, function: Any, depth: int = 0, text: str = "") -> str | None:
        """Return the name of a rung that says the function is nonnegative, as ``text`` or else as it is written."""
        kept = len(self.lines)
        self.tried += 1
        if self.tried > _MOST or function.count_ops() > _WIDEST:
            return None
        parts = self._factors(function)
        if parts is None or depth > _DEEPEST or self.count > _LONGEST:
            return None
        shown = []
        for part in parts:
            closing = self._closing(part)
            climb = self._climbed if part.has(self.letter) else self._elsewhere
            if closing is None and (name := climb(part, depth)) is None:
                del self.lines[kept:]
                return None
            shown.append((part, closing or f"apply {name}; dp_inside"))
        proof = "dp_sign"
        if len(shown) == 1 and shown[0][0] == function and not text:
            proof = shown[0][1]
        else:
            terms = " * ".join(f"({self.write(part)})" for part, _ in shown)
            asserts = " ".join(
                f"assert (part_{k} : 0 <= {self.write(part)}) by ({proof})." for k, (part, proof) in enumerate(shown)
            )
            equal = self.equal(function, *parts)
            proof = f"{asserts} replace ({text or self.write(function)}) with ({terms}) by ({equal}); dp_parts"
        return self._rung(function, proof, text)

    def _rung(self, function: Any, proof: str, text: str = "") -> str:
        self.count += 1
        name = f"rung_{self.count}"
        inside = " -> ".join(each.format(self.name) for each in self.inside)
        self.lines.append(
            f"assert ({name} : forall {self.name} : R, {inside} -> 0 <= {text or self.write(function)}).\n"
            f"{{ intros {self.name}. intros. {proof}. }}"
        )
        return name

    def equal(self, *expressions: Any) -> str:
        """Return the tactic that shows an equation between these, with every exponential made of few."""
        found: dict[Any, Any] = {}
        rewritten.exponentials(sympy.Tuple(*expressions), found)
        back = {letter: atom for atom, letter in found.items()}
        shown = []
        for grown in sorted(set().union(*(e.atoms(sympy.exp) for e in expressions)), key=str):
            powers = rewritten.exponentials(grown, found).as_powers_dict()
            if any(back[letter].has(*back) for letter in powers):
                continue
            written = {True: "1", False: "1"}
            for letter, power in powers.items():
                written[power > 0] += f" * {self.write.argument(back[letter])} ^ {abs(power)}"
            if list(powers.values()) != [1]:
                shown.append(f"dp_grows ({self.write(grown)}) ({written[True]} / ({written[False]}))")
        return "; ".join([*shown, "dp_equal"])

    def _values(self, function: Any) -> list[float] | None:
        try:
            return [float(function.xreplace(point)) for point in self.points]
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            return None

    def _factors(self, function: Any) -> list[Any] | None:
        """Return nonnegative factors whose product the function is; ``None`` where it is negative somewhere."""
        values = self._values(function)
        if values is None or any(not value >= _SMALL for value in values):
            return None
        swap: dict[Any, Any] = {}
        plain = rewritten.exponentials(function, swap)
        for log in sorted(plain.atoms(sympy.log), key=str):
            swap[log] = sympy.Dummy()
            plain = plain.xreplace({log: swap[log]})
        for root in sorted({p for p in plain.atoms(sympy.Pow) if p.exp.is_Rational and p.exp.q == 2}, key=str):
            letter = swap.setdefault(sympy.sqrt(root.base), sympy.Dummy(positive=True))
            plain = plain.xreplace({root: letter ** (2 * root.exp)})
        back = {letter: atom for atom, letter in swap.items()}
        above, below = sympy.fraction(sympy.cancel(sympy.together(plain)))
        found: list[Any] = []
        flips = 1
        for whole, sense in ((above, 1), (below, -1)):
            constant, powers = sympy.factor_list(whole)
            if constant != 1:
                flips *= -1 if constant < 0 else 1
                found.append(abs(constant) ** sense)
            for part, power in powers:
                grown = part.xreplace(back)
                signs = self._values(grown)
                if signs is None:
                    return None
                if all(value >= _SMALL for value in signs) or (power % 2 == 0 and sense == 1):
                    found.append(grown ** (sense * power))
                elif all(value <= -_SMALL for value in signs):
                    flips *= -1 if power % 2 else 1
                    found.append(rewritten.turned(grown) ** (sense * power))
                else:
                    return [function] if sense == 1 else None
        return [part for part in found if part != 1] or [sympy.Integer(1)] if flips == 1 else [function]

    def _closing(self, function: Any) -> str | None:
        """Return the tactic for what is plainly nonnegative."""
        base, power = function.as_base_exp() if function.is_Pow and function.exp.is_Integer else (function, 1)
        if function.is_Rational or (power % 2 == 0 and power > 0):
            return "dp_sure"
        if not base.has(sympy.log) and (rewritten.plain(base, self.letter, self.low) or power < 0):
            return "dp_sure"
        if not base.has(self.letter) and base.is_polynomial(*base.free_symbols):
            return "first [ lra | dp_sign | nra ]"
        for end, sense in ((self.low, 1), (self.high, -1)):
            if end is not None and base.is_polynomial(self.letter):
                step = sympy.Dummy(positive=True)
                shifted = sympy.Poly(sympy.expand(base.xreplace({self.letter: end + sense * step})), step)
                if all(c.is_nonnegative for c in shifted.all_coeffs()):
                    gap = sense * (self.letter - end)
                    form = " + ".join(
                        f"({self.write(c)}) * ({self.write(gap)}) ^ {m}" for (m,), c in shifted.terms()
                    ) or "0"  # fmt: skip
                    inner = f"replace ({self.write(base)}) with ({form}) by dp_closing; dp_sure"
                    return inner if power == 1 else None
        if base.is_polynomial(*base.free_symbols) and power == 1:
            return "first [ lra | dp_sign | nra ]"
        return None

    def _climbed(self, function: Any, depth: int) -> str | None:
        """Return the rung for the function from its slope, or that of a multiple of it."""
        base, power = function.as_base_exp() if function.is_Pow and function.exp.is_Integer else (function, 1)
        if power != 1:
            name = self._climbed(base, depth) if power > 0 else None
            return name and self._rung(function, f"apply pow_le; apply {name}; dp_inside")
        for scale in self._scales(function):
            scaled = function if scale == 1 else rewritten.spread(function, scale)
            name = self._by_slope(scaled, depth)
            if name is not None and scale == 1:
                return name
            if name is not None:
                parts = f"assert (part_0 : 0 <= {self.write(scaled)}) by (apply {name}; dp_inside)."
                inverse, equal = self.write(1 / scale), self.equal(function, scaled, 1 / scale)
                whole = f"replace ({self.write(function)}) with (({self.write(scaled)}) * ({inverse})) by ({equal})"
                return self._rung(function, f"{parts} {whole}; dp_parts")
        return None

    def _elsewhere(self, function: Any, depth: int) -> str | None:
        """Return the rung for a factor in one other letter."""
        others = function.free_symbols
        if len(others) != 1 or (made := self.spawn(*others)) is None:
            return None
        made.count, made.points = self.count + 1, self.points
        name = made.prove(function, depth + 1)
        if name is None:
            return None
        self.count = made.count
        self.lines += made.lines
        (letter,) = others
        text = re.sub(rf"\b{made.name}\b", self.write(letter), made.write.argument(function))
        self.count += 1
        self.lines.append(f"assert (rung_{self.count} : 0 <= {text}) by (apply {name}; dp_inside).")
        return self._rung(function, f"apply (dp_sign_by {text}); [ dp_closing | exact rung_{self.count} ]")

    def _scales(self, function: Any) -> Iterator[Any]:
        logs = sorted(function.atoms(sympy.log), key=str)
        logs = [log for log in logs if log.has(self.letter)]
        if len(logs) == 1:
            factor = sympy.expand(function).coeff(logs[0], 1)
            if factor.has(self.letter):
                values = self._values(factor)
                if values is not None and all(value > 0 for value in values):
                    yield 1 / sympy.factor(factor)
                elif values is not None and all(value < 0 for value in values):
                    yield 1 / rewritten.turned(sympy.factor(factor))
        yield sympy.Integer(1)
        for grown in sorted(function.atoms(sympy.exp), key=str):
            if grown.has(self.letter):
                yield 1 / grown

    def _by_slope(self, function: Any, depth: int) -> str | None:
        slope = sympy.diff(function, self.letter)
        if slope.has(sympy.Derivative):
            return None
        write, v = self.write, self.name
        derive = "intros; cbv beta; dp_slope"
        for end, lemma, sense in ((self.low, "dp_rises", 1), (self.high, "dp_falls", -1)):
            if end is None or not self._at(function, end):
                continue
            kept = len(self.lines)
            name = self.prove(sense * slope, depth + 1, "" if sense == 1 else f"- ({write(slope)})")
            if name is not None:
                ends = f"{write.argument(end)} {v}" if sense == 1 else f"{v} {write.argument(end)}"
                return self._rung(
                    function,
                    f"apply ({lemma} (fun {v} : R => {write(function)}) (fun {v} : R => {write(slope)}) {ends}); "
                    f"[ {derive} | intros; cbv beta; apply {name}; dp_inside | cbv beta; dp_start | lra ]",
                )
            del self.lines[kept:]
        both = (self.low, self.high)
        if None in both or not all(self._at(function, end) for end in both):
            return None
        bend = sympy.diff(slope, self.letter)
        name = self.prove(-bend, depth + 1, f"- ({write(bend)})")
        if name is None:
            return None
        functions = " ".join(f"(fun {v} : R => {write(each)})" for each in (function, slope, bend))
        ends = f"{write.argument(self.low)} {write.argument(self.high)} {v}"
        return self._rung(
            function,
            f"apply (dp_concave {functions} {ends}); [ {derive} | {derive} | intros; cbv beta; apply {name}; "
            "dp_inside | cbv beta; dp_start | cbv beta; dp_start | lra ]",
        )

    def _at(self, function: Any, end: Any) -> bool:
        try:
            return all(float(function.xreplace({self.letter: end}).xreplace(point)) >= _SMALL for point in self.points)
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            return False


def scripts(step: Any) -> Iterator[str]:
    """Yield proofs of an inequality by the slope of its difference in one letter."""
    smaller, larger = step.sides()
    letters = names(step.over.intervals)
    write = Writer(letters)
    drawn = list(points(step.over))
    if not drawn or smaller.has(sympy.Sum, sympy.Product, sympy.erf, sympy.erfc, sympy.Max, sympy.Min, sympy.Abs):
        return
    for opening, difference in _openings(smaller, larger, write):
        for letter in sorted(difference.free_symbols, key=lambda x: (x.is_integer or False, str(x))):
            try:
                script = _script(opening, difference, letter, step.over, drawn, write)
            except (UntranslatedError, sympy.PolynomialError, NotImplementedError, RecursionError, TypeError):
                continue
            if script is not None:
                yield script


def _openings(smaller: Any, larger: Any, write: Writer) -> Iterator[tuple[str, Any]]:
    """Yield differences whose sign is that of the inequality's, with the tactic that leads there."""
    yield "", larger - smaller
    if isinstance(smaller, sympy.log) and not larger.has(sympy.log):
        yield "apply dp_ln_exp; [ dp_sign | ].", sympy.exp(larger) - smaller.args[0]
    if isinstance(smaller, sympy.log):
        yield f"apply (dp_ln_trans _ {write.argument(larger)}); [ dp_sign | ].", larger - smaller.args[0] + 1
    if smaller.has(sympy.exp) or larger.has(sympy.exp):
        yield "apply dp_ln_order; [ dp_sign | dp_sign | ].", sympy.log(larger) - sympy.log(smaller)


def _script(
    opening: str, difference: Any, letter: Any, over: Any, points: list[dict[Any, Any]], write: Writer
) -> str | None:  # fmt: skip
    ends, inside = _ends(letter, over, write)
    term = write(letter)
    cuts = [x for x in difference.free_symbols if x != letter and over.intervals[x] == over.intervals[letter]]
    cut = sympy.S.Zero if (ends[0] is None or ends[0] < 0) and (ends[1] is None or ends[1] > 0) else None
    cut = cuts[0] if cuts and cut is None else cut
    expanded = rewritten.logs_apart(difference)
    parts = [(ends, inside)]
    if cut is not None:
        at = write(cut)
        parts = [([ends[0], cut], [inside[0], f"{{}} <= {at}"]), ([cut, ends[1]], [f"{at} <= {{}}", inside[1]])]
    bodies = []
    for (a, b), hypotheses in parts:
        kept = [
            point for point in points
            if (a is None or float((point[letter] - a).xreplace(point)) >= 0)
            and (b is None or float((b - point[letter]).xreplace(point)) >= 0)
        ]  # fmt: skip
        squares = [str(write(end**2)) for end in (a, b) if end not in (None, 0) and _root(end) and 0 in (a, b)]
        hypotheses = [*hypotheses, *(f"{{}} ^ 2 <= {square}" for square in squares)]
        ladder = _ladder(letter, (a, b), hypotheses, kept, write)
        ladder.lines += [f"assert ({term} ^ 2 <= {square}) by dp_square_end." for square in squares]
        ladder.spawn = functools.partial(_elsewhere, over=over, points=kept, write=write)
        name = ladder.prove(expanded)
        if name is None:
            return None
        text = re.sub(rf"\b{ladder.name}\b", term, ladder.write.argument(expanded))
        bodies.append("\n".join([*ladder.lines, f"apply (dp_by {text}); [ dp_equal | apply {name}; dp_inside ]."]))
    opened = ["intros. dp_forget.", opening] if opening else ["intros. dp_forget."]
    if cut is None:
        return "\n".join([*opened, *bodies])
    return "\n".join(
        [*opened, f"destruct (Rle_or_lt {term} {write.argument(cut)}).", *(f"{{ {body} }}" for body in bodies)]
    )


def _ladder(letter: Any, ends: Any, inside: Any, points: list[dict[Any, Any]], write: Writer) -> Ladder:
    name = f"at_{write(letter)}"
    inner = Writer({**write.letters, letter: name})
    return Ladder(letter, ends[0], ends[1], tuple(filter(None, inside)) or ("True",), points, inner, name)


def _root(number: Any) -> bool:
    return bool((number**2).is_Rational and not number.is_Rational)


def _elsewhere(letter: Any, over: Any, points: list[dict[Any, Any]], write: Writer) -> Ladder:
    return _ladder(letter, *_ends(letter, over, write), points, write)


def _ends(letter: Any, over: Any, write: Writer) -> tuple[list[Any], list[str]]:
    """Return the ends of the letter's interval, ``None`` where it has none, and what they say of a term."""
    strict = {
        side for relation in over.where
        if isinstance(relation, sympy.Lt | sympy.Gt) and relation.free_symbols == {letter}
        for side in relation.args
    }  # fmt: skip
    low, high = (end if end.is_finite else None for end in over.intervals[letter])
    signs = ["<" if low in strict or (low == 0 and letter.is_positive) else "<=", "<" if high in strict else "<="]
    inside = [
        "" if low is None else f"{write(low)} {signs[0]} {{}}",
        "" if high is None else f"{{}} {signs[1]} {write(high)}",
    ]
    return [low, high], inside


def points(over: Any) -> Iterator[dict[Any, Any]]:
    """Yield points of the domain."""
    values = []
    draws = _DRAWS if len(over.intervals) == 1 else _DRAWS[1::2] if len(over.intervals) == 2 else _DRAWS[2::3]
    for letter, (low, high) in over.intervals.items():
        a, b = (float(end) if end.is_finite else None for end in (low, high))
        upward = [(a or 0.0) + u / (1 - u) for u in draws] if b is None else []
        downward = [(b or 0.0) - u / (1 - u) for u in draws] if a is None else []
        between = [] if a is None or b is None else [a + (b - a) * u for u in draws]
        line = [*downward, *upward, *between]
        if letter.is_integer:
            line = sorted({float(round(u + 0.5)) for u in line if b is None or round(u + 0.5) <= b})
        values.append([sympy.Float(u, 30) for u in line if abs(u) < 40])
    for chosen in itertools.product(*values):
        point = dict(zip(over.intervals, chosen, strict=True))
        if all(relation.xreplace(point) is sympy.true for relation in over.where):
            yield point
