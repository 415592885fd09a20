"""Proof scripts by kind of step, the plain ones first; a script that does not fit costs Coq a moment."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from dpcheck.bounds.asymptotics import Dominated, Domination, dominate
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.coq import products
from dpcheck.bounds.coq.expression import Writer, names
from dpcheck.bounds.coq.statement import ordered, rate_of
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
        found = proof(step)
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


HAND = (
    # logarithms of products, linear in the logarithms of letters below numbers
    (
        "intros. dp_forget. dp_expand_logs.\n"
        "repeat match goal with\n"
        "  | H : ?x <= ?c |- context [ln ?x] => is_var x; dp_log_fact H\n"
        "  | H : ?c <= ?x |- context [ln ?x] => is_var x; dp_log_fact H\n"
        "  end.\n"
        "assert (693147 / 1000000 <= ln 2 <= 693148 / 1000000) by (split; dp_interval).\n"
        "assert (1609437 / 1000000 <= ln 5 <= 1609438 / 1000000) by (split; dp_interval).\n"
        "lra."
    ),
    # a maximum below the line
    (
        "intros. dp_forget.\n"
        "assert (A : sqrt n <= Rmax (sqrt d * sqrt (ln (/ delta)) / epsilon) (sqrt n)) by apply Rmax_r.\n"
        "apply Rmult_le_compat_l; [ dp_sign | ].\n"
        "apply Rinv_le_contravar; [ dp_sign | apply Rmult_le_compat_l; [ dp_sign | exact A ] ]."
    ),
    # a whole number between two neighbours
    (
        "intros; subst; intro E.\n"
        "assert (B : 3 < ln 10 / ln 2 < 4) by (split; dp_interval).\n"
        "rewrite <- E in B.\n"
        "destruct B as [A B].\n"
        "apply lt_IZR in A.\n"
        "apply lt_IZR in B.\n"
        "lia."
    ),
    # a root of three
    (
        "intros.\n"
        "dp_forget.\n"
        "dp_root_letter energy r.\n"
        "assert (S : sqrt 3 ^ 2 = 3) by (apply pow2_sqrt; lra).\n"
        "assert (0 < sqrt 3) by (apply sqrt_lt_R0; lra).\n"
        "assert (F : 0 <= (sqrt 3 / 3) * (r * D) - L) by (apply dp_root_order; [ dp_sign | dp_sign | nra ]).\n"
        "apply (dp_combination _ _ (3 * n * r / L) (4 * kappa_y * phases * 3 * (sqrt 3 / 3 * (r * D) - L))); "
        "[ dp_sign | field; dp_side | dp_sign ]."
    ),
    # an exponential less its root
    (
        "intros x Hx Hy.\n"
        "destruct (Rle_or_lt x (1 / 2)) as [S | S].\n"
        "assert (A := exp_ineq1_le (- (x / 2))).\n"
        "rewrite exp_Ropp in A.\n"
        "assert (P := exp_pos (x / 2)).\n"
        "replace (exp x) with (exp (x / 2) * exp (x / 2)) by (rewrite <- exp_plus; f_equal; lra).\n"
        "generalize dependent (exp (x / 2)).\n"
        "intros u P A.\n"
        "assert (B : u * (1 - x / 2) <= 1) by (apply Rmult_le_reg_r with (/ u); [ dp_sign | replace (u * (1 -"
        " x / 2) * / u) with (1 - x / 2) by (field; lra); lra ]).\n"
        "assert (u <= 4 / 3) by nra.\n"
        "assert (u * (u - 1) <= u * (u * (x / 2))) by (apply Rmult_le_compat_l; nra).\n"
        "assert (u * u <= 2) by nra.\n"
        "assert (u * u * (x / 2) <= 2 * (x / 2)) by (apply Rmult_le_compat_r; lra).\n"
        "nra.\n"
        "apply dp_difference.\n"
        "interval with (i_bisect x, i_prec 64)."
    ),
    # x log(1/x) near zero
    (
        "intros rho Hr Hs.\n"
        "dp_root_letter rho r.\n"
        "rewrite (ln_Rinv (r ^ 2)) by dp_sign.\n"
        "rewrite (dp_ln_pow r 2) by dp_sign.\n"
        "simpl INR.\n"
        "assert (A := dp_ln_below r ltac:(assumption)).\n"
        "assert (r <= 41 / 1000) by nra.\n"
        "assert (B : 69 / 100 <= ln 2) by dp_interval.\n"
        "assert (C : 2 <= ln 10) by dp_interval.\n"
        "assert (D : r ^ 2 * - ((1 + 1) * ln r) <= 2 * r) by (assert (r * (1 - / r) <= r * ln r) by (apply "
        "Rmult_le_compat_l; lra); replace (r * (1 - / r)) with (r - 1) in * by (field; lra); nra).\n"
        "assert (E : r ^ 2 * - ((1 + 1) * ln r) / ln 2 <= 2 * r / (69 / 100)) by (apply Rle_trans with (2 * r"
        " / ln 2); [ apply Rmult_le_compat_r; [ left; apply Rinv_0_lt_compat; lra | lra ] | apply "
        "Rmult_le_compat_l; [ lra | apply Rinv_le_contravar; lra ] ]).\n"
        "replace (3 * r ^ 2 * (2 + - ((1 + 1) * ln r) / ln 2)) with (6 * r ^ 2 + 3 * (r ^ 2 * - ((1 + 1) * ln"
        " r) / ln 2)) by (field; lra).\n"
        "nra."
    ),
    # two exponentials that fall
    (
        "intros c H.\n"
        "assert (A : exp (- (15 * c ^ 2 / 2)) <= exp (- (15 / 2))) by (apply dp_exp_order; nra).\n"
        "assert (B : exp (- (25 * c ^ 2 / 16)) <= exp (- (25 / 16))) by (apply dp_exp_order; nra).\n"
        "assert (C : exp (- (15 / 2)) / 2 + exp (-1) <= 1 / 2 - exp (- (25 / 16)) / 4) by dp_interval.\n"
        "lra."
    ),
    # the root of a square
    (
        "dp_denied.\n"
        "apply dp_strict_difference.\n"
        "rewrite sqrt_mult by dp_sign.\n"
        "rewrite !sqrt_pow2 by lra.\n"
        "field_simplify; [ | dp_side ..\n"
        "]; dp_sign."
    ),
    # a product of two small numbers
    (
        "intros.\n"
        "assert (0 < kappa * r) by dp_sign.\n"
        "assert (kappa * r <= 1 / 4) by (assert ((kappa * r) ^ 2 <= 1 / 16) by nra; nra).\n"
        "assert (mu * r <= kappa * rho * r) by (apply Rmult_le_compat_r; lra).\n"
        "assert (rho * (kappa * r) <= rho * (1 / 4)) by (apply Rmult_le_compat_l; lra).\n"
        "assert (mu * r * theta <= rho * (1 / 4) * theta) by (apply Rmult_le_compat_r; lra).\n"
        "assert (0 < rho * theta) by dp_sign.\n"
        "lra."
    ),
    # two squares
    (
        "intros.\n"
        "dp_forget.\n"
        "apply (dp_combination _ _ (n ^ 2) (2 * n * (2 * G_v * dual_move + 2 * G_w * move - n * (mu * move ^ "
        "2 + rho * dual_move ^ 2)) + (n * mu * move - 2 * G_w) ^ 2 / mu + 2 * (n * rho * dual_move - G_v) ^ 2"
        " / rho + 2 * G_v ^ 2 / rho)); [ dp_sign | field; dp_side | ].\n"
        "assert (0 <= 2 * G_v * dual_move + 2 * G_w * move - n * (mu * move ^ 2 + rho * dual_move ^ 2)) by "
        "lra.\n"
        "dp_sign."
    ),
    # the root of an inverse square
    (
        "dp_denied.\n"
        "apply dp_strict_difference.\n"
        "replace (1 / (16 * X ^ 2)) with ((/ (4 * X)) ^ 2) by (field; lra).\n"
        "rewrite sqrt_pow2 by dp_sign.\n"
        "field_simplify; [ | dp_side ..\n"
        "]; lra."
    ),
    # a product of two logarithms
    (
        "intros c H.\n"
        "dp_expand_logs.\n"
        "assert (A := dp_ln_above c ltac:(lra)).\n"
        "assert (B : 0 <= ln c) by (rewrite <- ln_1; apply dp_ln_upper; lra).\n"
        "assert (C : 7 <= ln 2500 <= 8) by (split; dp_interval).\n"
        "assert (D : 9 <= ln 10000 <= 10) by (split; dp_interval).\n"
        "simpl INR.\n"
        "nra."
    ),
    # a logarithm under a line
    (
        "intros p w H W.\n"
        "assert (A : 326 / 1000 <= ln (ln 4)) by dp_interval.\n"
        "assert (B : 271 / 100 <= exp 1) by dp_interval.\n"
        "assert (C := dp_ln_above (w / (31 / 10)) ltac:(lra)).\n"
        "unfold Rdiv in C at 1.\n"
        "rewrite ln_mult in C by lra.\n"
        "rewrite ln_Rinv in C by lra.\n"
        "assert (D : ln (31 / 10) <= 1132 / 1000) by dp_interval.\n"
        "nra."
    ),
    # the logarithm of a logarithm over a small number
    (
        "intros T theta I H P S Q.\n"
        "assert (A : ln theta <= -1) by (rewrite <- (ln_exp (-1)); apply dp_ln_upper; lra).\n"
        "assert (B : ln 4 <= ln T) by (apply dp_ln_upper; lra).\n"
        "assert (C : 1 <= ln 4) by dp_interval.\n"
        "assert (D : 0 <= ln (ln T)) by (rewrite <- ln_1; apply dp_ln_upper; lra).\n"
        "unfold Rdiv. rewrite ln_mult by (first [ lra | dp_sign ]). rewrite ln_Rinv by lra. lra."
    ),
    # a step size below an inverse root
    (
        "intros. dp_forget. dp_root_letter T r. dp_root_letter d s.\n"
        "assert (S : sqrt 2 ^ 2 = 2) by (apply pow2_sqrt; lra). assert (0 <= sqrt 2) by apply sqrt_pos.\n"
        "assert (P : 0 < 4 * C_2 * sigma_2 * r * s) by dp_sign.\n"
        "assert (A : eta * (4 * C_2 * sigma_2 * r * s) <= sqrt 2)\n"
        "  by (apply Rle_trans with (sqrt 2 / (4 * C_2 * sigma_2 * r * s) * (4 * C_2 * sigma_2 * r * s));\n"
        "      [ apply Rmult_le_compat_r; lra | right; field; dp_side ]).\n"
        "assert (B : 0 <= eta * (4 * C_2 * sigma_2 * r * s)) by dp_sign.\n"
        "assert (C : (eta * (4 * C_2 * sigma_2 * r * s)) ^ 2 <= sqrt 2 ^ 2) by (apply pow_incr; lra).\n"
        "apply (dp_combination _ _ (4 * eta ^ 2) (2 - (eta * (4 * C_2 * sigma_2 * r * s)) ^ 2));\n"
        "  [ dp_sign | field; dp_side | lra ]."
    ),
    # a root below twenty-five times another
    (
        "intros. dp_forget.\n"
        "assert (A : sqrt (1 + 624 * logs) <= 25 * sqrt (1 + logs))\n"
        "  by (replace 25 with (sqrt (25 ^ 2)) by (apply sqrt_pow2; lra); rewrite <- sqrt_mult by nra;\n"
        "      apply sqrt_le_1_alt; nra).\n"
        "apply Rmult_le_compat_r; [ left; apply Rinv_0_lt_compat; dp_sign | ].\n"
        "assert (0 < G * kappa) by (apply Rmult_lt_0_compat; lra).\n"
        "replace (2 * G * kappa * sqrt (1 + 624 * logs)) with (2 * (G * kappa) * sqrt (1 + 624 * logs)) by ring.\n"
        "replace (50 * G * kappa * sqrt (1 + logs)) with (2 * (G * kappa) * (25 * sqrt (1 + logs))) by ring.\n"
        "apply Rmult_le_compat_l; lra."
    ),
)


def proof(step: Dominated) -> str | None:
    """Return a script with a constant that bounds the terms by the rate, or ``None``."""
    terms, rate = _monomials(formula(step.terms)), _monomials(rate_of(step))
    values = [sympy.Mul(*each) for each in rate]
    found = [dominate(sympy.Mul(*each), tuple(values), step.region) for each in terms]
    if any(each is None or sum(1 for w in each.weights if w) > 2 for each in found):
        return None
    relations = step.region.relations
    used = set().union(*(x.free_symbols for x in (*values, *(sympy.Mul(*each) for each in terms), *relations)))
    letters = names(ordered(used))
    write = Writer(letters)
    parts = [" * ".join(write.argument(factor) for factor in each) for each in rate]
    lines, total = [], 0
    for each, one in zip(terms, found, strict=True):
        assert one is not None
        shown, constant = _share(" * ".join(write.argument(factor) for factor in each), one, parts, write)
        lines += shown
        total += constant
    facts = [f"{write(relation.lts)} <= {write(relation.gts)}" for relation in relations]
    facts += [f"1 <= {name}" for letter, name in letters.items() if letter.is_integer]
    logs = [f"assert (fact{k} : {fact}) by assumption. dp_log_fact fact{k}." for k, fact in enumerate(facts)]
    positive = [f"assert (0 < {part}) by dp_sign." for part in parts]
    return "\n".join([f"exists {total}.", "intros.", "dp_forget.", *logs, *positive, *lines, "dp_sum."])


def _share(term: str, found: Domination, parts: list[str], write: Writer) -> tuple[list[str], int]:
    """Return the sentences that bound one term, and the whole number that does."""
    whole = int(sympy.ceiling(found.constant))
    constant = write.argument(found.constant)
    chosen = [(part, weight) for part, weight in zip(parts, found.weights, strict=True) if weight]
    first, share = chosen[0]
    mean = f"({first})"
    if len(chosen) == 2:
        second = chosen[1][0]
        w = write.argument(sympy.Rational(share.numerator, share.denominator))
        mean = f"(Rpower ({first}) {w} * Rpower ({second}) (1 - {w}))"
    lines = [f"assert ({term} <= {constant} * {mean}) by dp_monomial."]
    if len(chosen) == 2:
        lines.append(
            f"assert ({mean} <= {w} * ({first}) + (1 - {w}) * ({second})) "
            "by (apply dp_means; [ dp_sign | dp_sign | lra ])."
        )
    lines.append(
        f"assert ({constant} * {mean} <= {whole} * {mean}) "
        "by (apply Rmult_le_compat_r; [ dp_sign | first [ lra | dp_interval ] ])."
    )
    return lines, whole


def _monomials(expression: Any) -> list[list[Any]]:
    """Return the terms of a product of sums as lists of factors, none combined with another."""
    if expression.is_Add or expression.func is sympy.Max:
        return [each for part in expression.args for each in _monomials(part)]
    if expression.is_Mul:
        combined = itertools.product(*(_monomials(part) for part in expression.args))
        return [[factor for factors in each for factor in factors] for each in combined]
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0 and expression.base.is_Add:
        return _monomials(sympy.Mul(*([expression.base] * int(expression.exp)), evaluate=False))
    return [[expression]]
