"""Proofs of polynomial inequalities: products of facts of which the difference is a sum.

A linear program picks products of what is known to be nonnegative (letters less their bounds, the
relations of the domain, squares of differences) whose combination with nonnegative factors is the
difference times a positive scale. Coq checks that equation and the sign of every part.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import flint
import sympy
from sympy.polys.polyerrors import BasePolynomialError

from dpcheck.bounds.coq.expression import UntranslatedError, Writer, names
from dpcheck.bounds.coq.space import Space
from dpcheck.bounds.evidence import AtMost, Inequality
from dpcheck.bounds.prover import ball

_GRAIN = 1000  # numbers that are not rational are enclosed to one part in this many


@dataclass(frozen=True)
class Problem:
    """``difference >= 0`` is wanted where every one of ``facts`` is nonnegative and ``lows`` bound letters.

    ``names`` gives each letter, and each letter that stands for a root or logarithm, its term;
    ``script`` are the sentences of Coq that have led here.
    """

    difference: Any
    lows: dict[Any, Any]
    facts: tuple[Any, ...]
    names: dict[Any, str]
    script: tuple[str, ...] = field(default=("intros.", "dp_forget."))
    tangents: bool = False  # what is known of logarithms and exponentials by their tangents is a fact


def problem(step: Inequality | AtMost) -> Problem:
    """Return the inequality as a problem, before anything is named."""
    if isinstance(step, AtMost):
        smaller, larger = step.smaller, step.larger
        letters = names(sorted(smaller.free_symbols | larger.free_symbols, key=str))
        return Problem(
            larger - smaller, {x: sympy.Integer(0) if x.is_positive else -sympy.oo for x in letters}, (), letters
        )
    smaller, larger = step.sides()
    lows, facts = {}, []
    for letter, (low, high) in step.over.intervals.items():
        plain = low.is_Rational or not low.is_finite
        lows[letter] = low if plain else sympy.Integer(0) if letter.is_positive else -sympy.oo
        if not plain:
            facts.append(letter - low)
        if high.is_finite:
            facts.append(high - letter)
    facts += step.over.differences()
    return Problem(larger - smaller, lows, tuple(facts), names(step.over.intervals))


def choice(problem: Problem) -> Any:
    """Return the simplest maximum or minimum of two that is left, or ``None``."""
    choices = problem.difference.atoms(sympy.Max, sympy.Min)
    simplest = min(choices, key=lambda choice: (choice.count_ops(), str(choice)), default=None)
    return simplest if simplest is not None and len(simplest.args) == 2 else None


def branches(problem: Problem, chosen: Any) -> Iterator[Problem]:
    """Yield the problem where the maximum is its first argument, then where it is its second."""
    first, second = ordered_arguments(chosen, problem)
    powers = [power.exp for power in problem.difference.atoms(sympy.Pow) if power.base == chosen]
    rooted = any(exponent.is_Rational and exponent.q == 2 for exponent in powers)
    for winner, other in ((first, second), (second, first)):
        fact = winner - other if chosen.func is sympy.Max else other - winner
        yield replace(
            problem, difference=problem.difference.xreplace({chosen: winner}), facts=(*problem.facts, fact),
            script=("dp_split_roots.",) if rooted else (),
        )  # fmt: skip


def ordered_arguments(chosen: Any, problem: Problem) -> list[Any]:
    """Return the two arguments in the order in which they are written."""
    return sorted(chosen.args, key=lambda argument: bracketed(Writer(problem.names)(argument)))


def roots_named(problem: Problem) -> Problem:
    """Return the problem with whole powers of new letters for fractional powers."""
    expressions = [problem.difference, *problem.facts]
    powers = set().union(*(expression.atoms(sympy.Pow) for expression in expressions))
    exponents: dict[Any, set[Any]] = {}
    for power in powers:
        if power.base in problem.names and power.exp.is_Rational and power.exp.q > 1:  # and no letter of a sum
            exponents.setdefault(power.base, set()).add(abs(power.exp))
    names, lows, script = dict(problem.names), dict(problem.lows), list(problem.script)
    facts, swap = expressions[1:], {}
    for letter in sorted(exponents, key=str):
        q = math.lcm(*(int(exponent.q) for exponent in exponents[letter]))
        old, low = names.pop(letter), lows.pop(letter)
        sign = {"positive": True} if letter.is_positive or low > 0 else {"nonnegative": True}
        root = sympy.Symbol(f"root_{letter}", **sign)
        names[root] = new = f"root_{old}"
        if q == 2:
            script.append(f"dp_root_letter {old} {new}.")
        else:
            script.append(f"dp_nth_root {old} {new} {q}%nat.")
            script += [_power_of_root(new, q, exponent) for exponent in sorted(exponents[letter])]
        lows[root] = sympy.Integer(0)
        if low.is_finite and low > 0:
            lows[root] = enclosed(sympy.root(low, q))[0] if not sympy.root(low, q).is_Rational else sympy.root(low, q)
            script.append(
                f"assert ({lows[root]} <= {new}) by (destruct (dp_root_low {lows[root]} {new} {q}%nat) as [? | ?]; "
                "[ lra | lra | simpl; nra | lra | lia ])."
            )
        swap[letter] = root**q
    changed = [expression.xreplace(swap) for expression in (expressions[0], *facts)]
    return replace(
        problem, difference=changed[0], facts=tuple(changed[1:]), lows=lows, names=names, script=tuple(script)
    )  # fmt: skip


def _power_of_root(name: str, q: int, exponent: Any) -> str:
    p = int(exponent * q)
    if exponent.q == 2:
        half = f"replace (sqrt ({name} ^ {q})) with ({name} ^ {q // 2}) in * by "
        return f"{half}(symmetry; apply dp_sqrt_root; [ assumption | reflexivity ])."
    written = f"{exponent.p} / {exponent.q}"
    whole = f"replace (Rpower ({name} ^ {q}) ({written})) with ({name} ^ {p}) in * by "
    return f"{whole}(symmetry; apply dp_Rpower_root; [ assumption | simpl; lra ])."


def atoms(problem: Problem) -> list[Any]:
    """Return roots and logarithms that are not letters, simple ones first."""
    kinds = (sympy.Pow, sympy.log, sympy.exp)
    sides = (problem.difference, *problem.facts)
    parts = set().union(*(side.atoms(*kinds) for side in sides))
    roots = {sympy.sqrt(p.base) for p in parts if p.is_Pow and p.exp.is_Rational and p.exp.q == 2}
    logs = {part for part in parts if isinstance(part, sympy.log)}
    numbers = set().union(*(side.atoms(sympy.NumberSymbol) for side in sides))
    grown = {part for part in parts if isinstance(part, sympy.exp)} if problem.tangents else set()
    return sorted(roots | logs | numbers | grown, key=lambda atom: (atom.count_ops(), str(atom)))


def named(problem: Problem, atom: Any) -> Problem:
    """Return the problem with a letter for the atom, and what is known of it."""
    write = Writer(problem.names)
    term = f"({write(atom)})"
    sign = {"positive": True} if isinstance(atom, sympy.exp) else {"real": True}
    letter = sympy.Symbol(f"atom_{len(problem.names)}", **sign)
    names = {**problem.names, letter: term}
    swap = {atom: letter}
    if atom.is_Pow and atom.free_symbols:
        swap |= {sympy.Pow(atom.base, sympy.Rational(k, 2)): letter**k for k in (-3, -1, 3)}
    facts = [fact.xreplace(swap) for fact in problem.facts]
    lows, script = dict(problem.lows), list(problem.script)
    if not atom.free_symbols:
        low, high = enclosed(atom)
        script.append(f"assert (dp_bounds : {write(low)} <= {term} <= {write(high)}) by (split; dp_interval).")
        script.append("destruct dp_bounds.")
        lows[letter] = low
        facts.append(high - letter)
    elif atom.is_Pow:
        script.append(f"assert (0 <= {term}) by apply sqrt_pos.")
        script.append(f"assert ({term} ^ 2 = {write(atom.base)}) by (apply pow2_sqrt; dp_sign).")
        lows[letter] = sympy.Integer(0)
        facts += [letter**2 - atom.base, atom.base - letter**2]
    elif isinstance(atom, sympy.exp):
        (exponent,) = atom.args
        script.append(f"assert (0 < {term}) by apply exp_pos.")
        script.append(f"assert (1 + {write.argument(exponent)} <= {term}) by apply exp_ineq1_le.")
        lows[letter] = sympy.Integer(0)
        facts.append(letter - 1 - exponent)
    else:
        if problem.tangents:
            (inner,) = atom.args
            at = write.argument(inner)
            tangents = (("above", inner - 1 - letter, f"{at} - 1 - {term}"),
                        ("below", letter - 1 + 1 / inner, f"{term} - (1 - / {at})"))  # fmt: skip
            for lemma, fact, known in tangents:
                script.append(
                    f"assert (0 <= {Writer(names)(fact)}) by (apply (dp_sign_by ({known})); [ field; dp_other_sign | "
                    f"assert (dp_tangent := dp_ln_{lemma} {at} ltac:(dp_sign)); lra ])."
                )
                facts.append(fact)
        low = _least(atom.args[0], problem)
        lows[letter] = -sympy.oo
        if low is not None and low > 0:
            below, _ = enclosed(sympy.log(low))
            script.append(
                f"assert ({write(below)} <= {term}) by (apply (dp_ln_low {bracketed(write(low))}); "
                "[ dp_interval | lra | dp_polynomial ])."
            )
            lows[letter] = below
    difference = problem.difference.xreplace(swap)
    return Problem(difference, lows, tuple(facts), names, tuple(script), problem.tangents)


def _least(expression: Any, problem: Problem) -> Any:
    """Return the least value at the corners of the domain, which Coq then has to prove least."""
    highs = {}
    for fact in problem.facts:
        for letter in fact.free_symbols:
            if fact.free_symbols == {letter} and fact.is_polynomial(letter) and sympy.Poly(fact, letter).degree() == 1:
                slope, rest = sympy.Poly(fact, letter).all_coeffs()
                if slope < 0:
                    highs[letter] = -rest / slope
    ends = [[end for end in (problem.lows[x], highs.get(x)) if end is not None] for x in expression.free_symbols]
    values = []
    for corner in itertools.product(*ends):
        value = expression.subs(dict(zip(expression.free_symbols, corner, strict=True)))
        if value.is_Rational:
            values.append(value)
    return min(values, default=None)


def enclosed(number: Any) -> tuple[Any, Any]:
    """Return rational numbers just below and just above."""
    with flint.ctx.workprec(96):
        middle = ball.exact(number) * _GRAIN
        low = sympy.Rational(int(middle.lower().floor().unique_fmpz()), _GRAIN)
    return low, low + sympy.Rational(1, _GRAIN)


def bracketed(term: str) -> str:
    """Return the term in brackets unless it is one word."""
    return f"({term})" if " " in term else term


def proof(step: Inequality | AtMost, *, tangents: bool = False) -> str | None:
    """Return a script for the step, or ``None`` if no products are found.

    With ``tangents`` logarithms and exponentials are bounded by their tangents, and roots of products taken apart.
    """
    try:
        posed = problem(step)
        if tangents:
            numbers = _split_numbers(posed.difference)
            posed = replace(
                posed, script=(*posed.script, "dp_split_roots.", *numbers), tangents=True,
                difference=posed.difference.doit(),
            )  # fmt: skip
        return script(posed)
    except (BasePolynomialError, UntranslatedError):
        return None


def by_root(step: Any) -> Iterator[str]:
    """Yield a proof that isolates the only root of the inequality and squares."""
    posed = problem(step)
    smaller, larger = step.sides()  # as they are written: their difference would take roots of products apart
    powers = smaller.atoms(sympy.Pow) | larger.atoms(sympy.Pow)
    roots = {power for power in powers if power.exp.is_Rational and power.exp.q > 1 and power.base not in posed.names}
    if len(roots) != 1:
        return
    (root,) = roots
    letter = sympy.Dummy(nonnegative=True)
    plain = sympy.expand(larger.xreplace({root: letter}) - smaller.xreplace({root: letter}))
    scale = -plain.coeff(letter, 1)
    other = plain + scale * letter
    if root.exp != sympy.Rational(1, 2) or other.has(letter) or not scale.is_positive:
        return
    write = Writer(posed.names)
    lines = ["intros. dp_forget."]
    try:
        bound, square = sympy.factor(other / scale), root.base
        above = write.argument(bound)
        for name, below, power in (("low", sympy.S.Zero, 1), ("high", square, 2)):
            shown = script(replace(posed, difference=bound**power - below, script=()))
            if shown is None:
                return
            lines.append(f"assert (dp_{name} : {write(below)} <= {above} ^ {power}).\n{{ {shown} }}")
    except (BasePolynomialError, UntranslatedError):
        return
    lines.append(f"assert (dp_root := dp_root_below {write.argument(square)} {above} ltac:(lra) dp_high).")
    lines.append(f"apply (dp_by (({write(scale)}) * ({write(bound)} - {write(root)})));")
    lines.append("  [ field; dp_other_sign | apply Rmult_le_pos; [ dp_sign | lra ] ].")
    yield "\n".join(lines)


def _split_numbers(difference: Any) -> list[str]:
    """Return the sentences that take squares out of the roots of numbers."""
    powers = {power for power in difference.atoms(sympy.Pow) if power.exp.is_Rational and power.exp.q == 2}
    numbers = {power.base.as_coeff_Mul()[0] for power in powers}
    split = [(c, *sympy.sqrt(c).as_coeff_Mul()) for c in sorted(numbers) if c.is_Integer and c > 0]
    return [
        f"try (replace (sqrt {c}) with ({outside} * sqrt {inside**2}) by dp_squares)."
        for c, outside, inside in split if outside != 1 and inside != 1
    ]  # fmt: skip


def script(problem: Problem) -> str | None:
    """Return the sentences that solve the problem, or ``None`` if no products are found."""
    chosen = choice(problem)
    if chosen is not None:
        scripts = [script(branch) for branch in branches(problem, chosen)]
        if any(script is None for script in scripts):
            return None
        first, second = (Writer(problem.names)(argument) for argument in ordered_arguments(chosen, problem))
        kind = "max" if chosen.func is sympy.Max else "min"
        inner = "\n".join("  { " + str(script).replace("\n", "\n    ") + " }" for script in scripts)
        return "\n".join([*problem.script, f"dp_case_{kind} ({first}) ({second}).", inner])
    ready = roots_named(problem)
    while left := atoms(ready):
        ready = named(ready, left[-1])  # the outermost first: what it is made of may not occur elsewhere
        if left[-1] in atoms(ready):  # written in a way that is not told apart here
            return None
    closing = _products(ready)
    return None if closing is None else "\n".join([*ready.script, *closing])


def _products(problem: Problem) -> list[str] | None:
    """Return the sentences that close the goal, or ``None`` if the linear program finds no products."""
    letters = sorted(problem.difference.free_symbols.union(*(f.free_symbols for f in problem.facts)), key=str)
    if not letters or not problem.difference.is_rational_function(*letters):
        return None
    write = Writer(problem.names)
    sentences, facts = [], []
    for fact in problem.facts:
        if not fact.is_rational_function(*letters):
            continue
        above, below = _stripped(fact, problem.lows)
        name = f"({write(above)})"
        scale = bracketed(write(below))
        sentences.append(
            f"assert (0 <= {write(above)}) by "
            f"(apply (dp_scaled {bracketed(write(fact))} {scale}); [ lra | dp_sign | field; dp_side ])."
        )
        facts.append((name, above))
    for name, fact, proof in _rooted(facts, problem.lows, write):
        sentences.append(f"assert (0 <= {name[1:-1]}) by ({proof}).")
        facts.append((name, fact))
    numerator, denominator = _stripped(problem.difference, problem.lows)
    shifts = {x: low for x, low in problem.lows.items() if x in letters and low.is_finite and low != 0}
    plain = [(f"({write(x - low)})", x - low) for x, low in shifts.items()]
    for lows, known in ((problem.lows, facts), (problem.lows | dict.fromkeys(shifts, sympy.Integer(0)), facts + plain)):
        for wide, multiplied in ((False, False), (False, True), (True, False), (True, True)):
            space = Space(letters, lows, known, write)
            combination = space.combination(numerator, wide, multiplied)
            if combination is not None:
                total, multiplier = combination
                scale = write(denominator) if multiplier == "1" else f"{bracketed(write(denominator))} * {multiplier}"
                apply = f"apply (dp_combination _ _ {bracketed(scale)} ({total}));"
                return [*sentences, apply, "  [ dp_sign | field; dp_side | dp_sign ]."]
        if not shifts:
            break
    return None


def _stripped(expression: Any, lows: dict[Any, Any]) -> tuple[Any, Any]:
    """Return a polynomial without common powers of positive letters, and what the expression is multiplied by for
    it.
    """
    above, below = sympy.fraction(sympy.together(expression))
    above = sympy.expand(above)
    letters = sorted((x for x in above.free_symbols if x.is_positive), key=str)
    common = sympy.Integer(1)
    if letters:
        powers, _ = sympy.Poly(above, *letters).terms_gcd()
        common = sympy.prod([x**k for x, k in zip(letters, powers, strict=True)])
    if below.xreplace({x: _inside(x, lows) for x in below.free_symbols}) < 0:
        above, below = -above, -below
    return sympy.expand(above / common), below / common


def _inside(letter: Any, lows: dict[Any, Any]) -> Any:
    """Return a value just above the least, where a denominator shows its sign."""
    return (lows[letter] if lows[letter].is_finite else 0) + sympy.Rational(1, 1000)


def _rooted(facts: list[tuple[str, Any]], lows: dict[Any, Any], write: Writer) -> Iterator[tuple[str, Any, str]]:
    """Yield x <= c y, with a number c just above the root of b/a, from a x^2 <= b y^2 with positive letters."""
    for _, fact in facts:
        terms = sympy.Add.make_args(fact)
        if len(terms) != 2:
            continue
        (a, small), (b, large) = sorted((term.as_coeff_Mul() for term in terms), key=lambda pair: pair[0])
        x, y = sympy.sqrt(small), sympy.sqrt(large)
        if not (a < 0 < b and _monomial(x) and _monomial(y)):
            continue
        ratio = sympy.sqrt(-b / a)
        c = ratio if ratio.is_Rational else enclosed(ratio)[1]
        derived = c * y - x
        yield f"({write(derived)})", derived, "apply dp_root_order; [ dp_sign | dp_sign | first [ lra | nra ] ]"


def _monomial(expression: Any) -> bool:
    """Say whether it is a product of whole powers of positive letters."""
    return all(
        base.is_Symbol and base.is_positive and power.is_Integer and power > 0
        for base, power in expression.as_powers_dict().items()
    )
