"""Proofs of inequalities with one root: it is below what is left, since its square is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sympy
from sympy.polys.polyerrors import BasePolynomialError

from dpcheck.bounds.coq import products
from dpcheck.bounds.coq.expression import UntranslatedError, Writer


def scripts(step: Any) -> Iterator[str]:
    """Yield a proof that isolates the only root of the inequality and squares."""
    posed = products.problem(step)
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
            script = products.script(replace(posed, difference=bound**power - below, script=()))
            if script is None:
                return
            lines.append(f"assert (dp_{name} : {write(below)} <= {above} ^ {power}).\n{{ {script} }}")
    except (BasePolynomialError, UntranslatedError):
        return
    lines.append(f"assert (dp_root := dp_root_below {write.argument(square)} {above} ltac:(lra) dp_high).")
    lines.append(f"apply (dp_by (({write(scale)}) * ({write(bound)} - {write(root)})));")
    lines.append("  [ field; dp_other_sign | apply Rmult_le_pos; [ dp_sign | lra ] ].")
    yield "\n".join(lines)
