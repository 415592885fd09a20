"""Proof scripts by kind of step, the plain ones first, and files of Coq with the theorems of claims.

A script that does not fit costs Coq a moment.
"""

import functools
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import sympy

from dpcheck.bounds.asymptotics import Dominated, Domination, dominate
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Claim
from dpcheck.bounds.coq import kernel, products
from dpcheck.bounds.coq.expression import Writer, names
from dpcheck.bounds.coq.statement import ordered, statement
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Enumerated, Identity, Inequality
from dpcheck.bounds.formula import formula
from dpcheck.bounds.ledger import ClaimResult
from dpcheck.errors import InputError, one_line, raised, require

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


def scripts(step: Any) -> Iterator[str]:
    """Yield every script worth trying on the step, in order."""
    yield from _PLAIN.get(type(step), ())
    if isinstance(step, Identity):
        yield from _derivative(step)
        yield from _roots_of_squares(step)
    if isinstance(step, Inequality | AtMost):
        script = products.proof(step)
        if script is not None:
            yield script
    if isinstance(step, Dominated):
        script = proof(step)
        if script is not None:
            yield script
    if isinstance(step, Private):
        yield _private(step)
    if isinstance(step, Inequality | Counterexample):
        yield from by_hand()


@functools.cache
def by_hand() -> tuple[str, ...]:
    """Return the scripts of ``hand.v``, which are tried on whatever no tactic of the library closes."""
    text = resources.files("dpcheck.bounds.coq").joinpath("hand.v").read_text("utf-8")
    return tuple(block.split("\n", 1)[1] for block in text.strip().split("\n\n") if not block.startswith("(**"))


def _private(step: Private) -> str:
    """Return the tail bound of the privacy curve, with every logarithm taken apart."""
    intervals = step.over.intervals
    letters = names(intervals)
    write = Writer(letters)
    s, e, share = (formula(side) for side in (step.multiplier, step.epsilon, step.delta))
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
    powers = set().union(*(side.atoms(sympy.Pow) for side in sides))
    roots = {power.base for power in powers if power.exp.is_Rational and power.exp.q == 2 and not power.base.is_Symbol}
    if not roots or any(side.has(sympy.Subs, sympy.Derivative) for side in sides):
        return
    write = Writer(names(ordered(set().union(*(side.free_symbols for side in sides)))))
    lines = ["intros. dp_forget."]
    for base in sorted(roots, key=str):
        value = sympy.sqrt(sympy.powdenest(base.doit(), force=True))
        lines.append(f"replace (sqrt {write.argument(base)}) with ({write(value)}) by (symmetry; dp_squares).")
    yield "\n".join([*lines, "dp_field."])


def proof(step: Dominated) -> str | None:
    """Return a script with a constant that bounds the terms by the rate, or ``None``."""
    terms, rate = _monomials(formula(step.terms)), _monomials(step.needed_rate())
    values = [sympy.Mul(*factors) for factors in rate]
    bounds = [dominate(sympy.Mul(*factors), tuple(values), step.region) for factors in terms]
    if any(bound is None or sum(1 for w in bound.weights if w) > 2 for bound in bounds):
        return None
    relations = step.region.relations
    used = set().union(*(x.free_symbols for x in (*values, *(sympy.Mul(*factors) for factors in terms), *relations)))
    letters = names(ordered(used))
    write = Writer(letters)
    parts = [" * ".join(write.argument(factor) for factor in factors) for factors in rate]
    lines, total = [], 0
    for factors, one in zip(terms, bounds, strict=True):
        assert one is not None
        shown, constant = _share(" * ".join(write.argument(factor) for factor in factors), one, parts, write)
        lines += shown
        total += constant
    facts = [f"{write(relation.lts)} <= {write(relation.gts)}" for relation in relations]
    facts += [f"1 <= {name}" for letter, name in letters.items() if letter.is_integer]
    logs = [f"assert (fact{k} : {fact}) by assumption. dp_log_fact fact{k}." for k, fact in enumerate(facts)]
    positive = [f"assert (0 < {part}) by dp_sign." for part in parts]
    return "\n".join([f"exists {total}.", "intros.", "dp_forget.", *logs, *positive, *lines, "dp_sum."])


def _share(term: str, bound: Domination, parts: list[str], write: Writer) -> tuple[list[str], int]:
    """Return the sentences that bound one term, and the whole number that does."""
    whole = int(sympy.ceiling(bound.constant))
    constant = write.argument(bound.constant)
    chosen = [(part, weight) for part, weight in zip(parts, bound.weights, strict=True) if weight]
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
        return [factors for part in expression.args for factors in _monomials(part)]
    if expression.is_Mul:
        combined = itertools.product(*(_monomials(part) for part in expression.args))
        return [[factor for factors in lists for factor in factors] for lists in combined]
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0 and expression.base.is_Add:
        return _monomials(sympy.Mul(*([expression.base] * int(expression.exp)), evaluate=False))
    return [[expression]]


_MAKEFILE = """# make runs Coq over every file; it needs Coq 8.16 with Interval (Debian: coq libcoq-interval).
all:
\tcoq_makefile -f _CoqProject -o Makefile.coq
\t$(MAKE) -k -f Makefile.coq
"""


def require_new(folder: str | Path) -> Path:
    """Require a folder that holds nothing and can be written; InputError for any other. It is left as it was."""
    place, must = Path(folder).absolute(), "be new or empty, and one that can be written"
    try:
        made = [path for path in (place, *place.parents) if not path.exists()]
        place.mkdir(parents=True, exist_ok=True)  # whether it can be made shows when it is
        good = bool(str(folder)) and not any(place.iterdir()) and os.access(place, os.W_OK)
        for path in made:
            path.rmdir()
    except (OSError, ValueError) as error:
        why = f"{one_line(folder)[:200]}: {one_line(error)[:200]}"
        raise InputError(f"the folder of --export-coq must {must}, got {why}") from error
    require(good, "the folder of --export-coq", must, str(folder))
    return place


def export(results: Iterable[ClaimResult], folder: str | Path) -> tuple[Path, ...]:
    """Write one file a claim into ``folder``, with the library they share and what Coq needs to run them.

    A proof that Coq has accepted is written as it was; for a step that has none, such as one of a
    file of your own, the script that fits its kind is written, and Coq says whether it is enough.

    Raises :class:`~dpcheck.errors.InputError` if ``folder`` is not an empty or a new one.
    """
    place = require_new(folder)
    place.mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    for result in results:
        name = _identifier(result.claim.id, files)
        files[name] = _file(name, result.claim, result.verdict)
    for name, text in (*files.items(), ("Dpcheck", kernel.library())):
        (place / f"{name}.v").write_text(text, "utf-8")
    names = ["Dpcheck.v", *(f"{name}.v" for name in files)]
    (place / "_CoqProject").write_text("\n".join(["-R . Dpcheck", "-arg -w -arg none", *names]) + "\n", "utf-8")
    (place / "Makefile").write_text(_MAKEFILE, "utf-8")
    return tuple(place / name for name in names)


def _file(name: str, claim: Claim, verdict: str) -> str:
    head = _comment(f"{claim.paper} {claim.id} ({claim.location}), {verdict}: {claim.statement}")
    parts = [head, kernel.HEADER]
    try:
        steps = claim.decision().evidence.steps
    except Exception as error:  # a claim of one's own may fail; its result says so
        return f"{head}\n\n{_comment(f'no evidence: {raised(error)}')}\n"
    parts += [_step(f"{name}_step_{number}", step) for number, step in enumerate(steps, start=1)]
    return "\n\n".join(parts) + "\n"


def _step(name: str, step: Any) -> str:
    stated = statement(step)
    if stated is None:
        return _comment(f"{step.says}: {type(step).__name__.lower()}, not stated in Coq")
    script = kernel.proof(stated)
    comment = _comment(step.says if script else f"{step.says} (no proof of it is recorded)")
    return f"{comment}\n{kernel.theorem(name, stated, script or _candidate(step))}"


def _candidate(step: Any) -> str:
    """Return the last of the scripts, made for the step, after the plain ones in one sentence."""
    shared = _PLAIN.get(type(step), ())
    made = [script for script in scripts(step) if script not in shared]
    if made:
        return made[-1]
    return "first [ " + " | ".join(f"solve [ {script.removesuffix('.')} ]" for script in shared) + " ]."


def _identifier(id: str, taken: Iterable[str]) -> str:
    """Return a name of Coq for a claim's id, different from those already given."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", id).strip("_")
    if not name[:1].isalpha():
        name = f"claim_{name}"
    used = {name.lower() for name in taken} | {"dpcheck"}
    base, count = name, 1
    while name.lower() in used:
        count += 1
        name = f"{base}_{count}"
    return name


def _comment(text: str) -> str:
    """Return text as a comment, which must not hold quotation marks or comments of its own."""
    plain_text = " ".join(text.split()).replace('"', "'").replace("(*", "( *").replace("*)", "* )")
    return f"(* {plain_text} *)"
