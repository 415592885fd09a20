"""Proof scripts by kind of step, the plain ones first; a script that does not fit costs Coq a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from dpcheck.bounds.asymptotics import Dominated
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.coq import orders, products
from dpcheck.bounds.coq.expression import Writer, names
from dpcheck.bounds.coq.hand import HAND
from dpcheck.bounds.coq.statement import ordered
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Enumerated, Identity
from dpcheck.bounds.formula import formula
from dpcheck.bounds.prover import Inequality

_IDENTITIES = (
    "dp_identity.",
    "dp_root_identity.",
    "dp_angles.",
    "dp_powers.",
    "dp_logs.",
    "intros; dp_derive.",
    "dp_squares.",
    "dp_power_equation.",
    "dp_equal_exponents.",
)
_INEQUALITIES = (
    "intros; lra.",
    "dp_positive.",
    "dp_polynomial.",
    "dp_root_polynomial.",
    "dp_tangents.",
    "intros; dp_interval.",
)
_NUMBERS = ("intros; dp_number.", "intros; dp_erf_number.")
_DENIALS = ("dp_false.", "dp_erf_false.", "dp_false_for_all.")

_PLAIN: dict[type, tuple[str, ...]] = {
    Identity: _IDENTITIES, AtMost: _INEQUALITIES, Inequality: _INEQUALITIES, Below: _NUMBERS,
    Counterexample: _DENIALS, NotPrivate: _NUMBERS, Private: _NUMBERS, Dominated: (),
    Enumerated: ("vm_compute. reflexivity.",),
}  # fmt: skip


def plain(step: Any) -> tuple[str, ...]:
    """Return the scripts that need no look at the step but its kind."""
    return _PLAIN.get(type(step), ())


def scripts(step: Any) -> Iterator[str]:
    """Yield every script worth trying on the step, in order."""
    yield from plain(step)
    if isinstance(step, Identity):
        yield from _derivative(step)
        yield from _roots_of_squares(step)
    if isinstance(step, Inequality | AtMost):
        found = products.proof(step)
        if found is not None:
            yield found
    if isinstance(step, Dominated):
        found = orders.proof(step)
        if found is not None:
            yield found
    if isinstance(step, Private):
        yield _private(step)
    if isinstance(step, Inequality | Counterexample):
        yield from HAND


def _private(step: Private) -> str:
    """Return the tail bound of the privacy curve, with every logarithm taken apart."""
    intervals = step.over.intervals
    letters = names(intervals)
    write = Writer(letters)
    s, e, share = (formula(each) for each in (step.multiplier, step.epsilon, step.delta))
    square = (e * s) ** 2
    logs = sorted(square.atoms(sympy.log), key=str)
    lines = ["intros.", "dp_forget."]
    for number in (2, 5):
        low = sympy.Rational(int(sympy.floor(sympy.log(number) * 10000)), 10000)
        high = write(low + sympy.Rational(1, 10000))
        lines.append(f"assert (dp_bounds : {write(low)} <= ln {number} <= {high}) by (split; dp_interval).")
        lines.append("destruct dp_bounds.")
    for letter, (_, high) in intervals.items():
        if letter in share.free_symbols:
            lines.append(f"assert (ln {letters[letter]} <= ln {write.argument(high)}) by (apply dp_ln_upper; lra).")
    lines.append("dp_logs_of_numbers.")
    for log in logs:
        parts = sympy.expand_log(log, force=True).expand()
        lines.append(f"assert ({write(log)} = {write(parts)}) by dp_logs.")
        lines.append(f"assert (0 < {write(log)}) by lra.")
        lines.append(f"assert (sqrt {write.argument(log)} ^ 2 = {write(log)}) by (apply pow2_sqrt; assumption).")
    lines.append("assert (sqrt 2 ^ 2 = 2) by (apply pow2_sqrt; lra).")
    lines.append(f"apply (dp_curve_tail _ _ _ {write.argument(square)});")
    lines.append("  [ dp_sign | dp_sign | dp_sign | field_simplify_eq; [ nra | dp_side .. ] | nra | ].")
    whole = sympy.expand_log(sympy.log(2 * share), force=True).expand()
    lines.append(f"replace (ln (2 * {write.argument(share)})) with ({write(whole)}) by (symmetry; dp_logs).")
    lines.append("lra.")
    return "\n".join(lines)


def _derivative(step: Identity) -> Iterator[str]:
    """Yield a proof of a second derivative that says what the first one is."""
    left = step.left
    if not isinstance(left, sympy.Derivative) or sum(count for _, count in left.variable_count) != 2:
        return
    first, last = [letter for letter, count in left.variable_count for _ in range(count)]
    write = Writer(names(ordered(left.expr.free_symbols | step.right.free_symbols)))
    inner = sympy.diff(left.expr, first)
    ext = f"intros; apply (is_derive_ext (fun {write(last)} : R => {write(inner)}));"
    yield f"{ext}\n  [ intros; symmetry; apply is_derive_unique; dp_derive | dp_derive ]."


def _roots_of_squares(step: Identity) -> Iterator[str]:
    """Yield a proof in which each root of a quotient of squares is replaced by what it is."""
    sides = (step.left, step.right)
    found = set().union(*(each.atoms(sympy.Pow) for each in sides))
    roots = {each.base for each in found if each.exp.is_Rational and each.exp.q == 2 and not each.base.is_Symbol}
    if not roots or any(each.has(sympy.Subs, sympy.Derivative) for each in sides):
        return
    write = Writer(names(ordered(set().union(*(each.free_symbols for each in sides)))))
    lines = ["intros. dp_forget."]
    for base in sorted(roots, key=str):
        value = sympy.sqrt(sympy.powdenest(base.doit(), force=True))
        lines.append(f"replace (sqrt {write.argument(base)}) with ({write(value)}) by (symmetry; dp_squares).")
    yield "\n".join([*lines, "dp_field."])
