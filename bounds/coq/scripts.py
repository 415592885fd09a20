"""Proof scripts by kind of step, the plain ones first, and files of Coq with the theorems of claims.

A script that does not fit costs Coq a moment.
"""

import functools
import itertools
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import sympy

from dpcheck.bounds.asymptotics import Dominated, Domination, dominate
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.coq import gram, kernel, ladder, products, ranges
from dpcheck.bounds.coq.expression import Writer, names
from dpcheck.bounds.coq.statement import Statement, ordered, statement
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Enumerated, Identity, Inequality
from dpcheck.bounds.ledger import ClaimResult
from dpcheck.bounds.prover import vectors
from dpcheck.errors import require
from dpcheck.running.files import require_new_folder, write_text

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
_WHOLE_FALSE = "intros; subst; rewrite dp_whole_Rpower by (lra || (eexists; reflexivity)); dp_false."
_DENIALS = ("dp_false.", "dp_erf_false.", "dp_false_for_all.", _WHOLE_FALSE)

_PLAIN: dict[type, tuple[str, ...]] = {
    Identity: _IDENTITIES, AtMost: _INEQUALITIES, Inequality: _INEQUALITIES, Below: _NUMBERS,
    Counterexample: _DENIALS, NotPrivate: _NUMBERS, Private: _NUMBERS, Dominated: (),
    Enumerated: ("vm_compute. reflexivity.",),
}  # fmt: skip


def scripts(step: Any) -> Iterator[str]:
    """Yield every script worth trying on the step, in order."""
    if isinstance(step, Inequality):
        yield from _by_form(step)
    yield from _PLAIN.get(type(step), ())
    if isinstance(step, Identity):
        yield from _derivative(step)
        yield from _roots_of_squares(step)
    if isinstance(step, Inequality | AtMost):
        script = products.proof(step)
        if script is not None:
            yield script
    if isinstance(step, Inequality):
        yield from filter(None, [products.proof(step, tangents=True)])
        yield from products.by_root(step)
    if isinstance(step, Dominated):
        script = proof(step)
        if script is not None:
            yield script
    if isinstance(step, Private):
        yield _private(step)
    if isinstance(step, Inequality | Counterexample):
        yield from by_hand()


def _by_form(step: Inequality) -> Iterator[str]:
    """Yield the proofs that were made for what the sides are made of."""
    sides = step.sides()
    if any(vectors.pair(letter) for letter in step.over.intervals):
        yield from ("intros; lra.", "dp_vectors.")
        yield from gram.scripts(step)
    elif any(side.has(sympy.erf, sympy.erfc) for side in sides):
        yield "dp_tails."
    elif step.sign == "=":
        yield "dp_identity."
    yield from ranges.scripts(step)
    if any(side.has(sympy.exp, sympy.log) for side in sides):
        yield from ladder.scripts(step)


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
    s, e, share = step.multiplier, step.epsilon, step.delta
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
    terms, rate = _monomials(step.terms), _monomials(step.needed_rate())
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


def export(results: Iterable[ClaimResult], folder: str | Path) -> tuple[Path, ...]:
    """Write one file a claim into ``folder``, with the library they share and what Coq needs to run them.

    A proof that Coq has accepted is written as it was; for a step that has none the script that fits its kind is
    written, and Coq says whether it is enough. Coq refuses the file of a claim of which nothing is stated.

    Raises :class:`~dpcheck.errors.InputError` if ``folder`` is not an empty or a new one.
    """
    place = Path(folder)
    require_new_folder(place, "the folder of --export-coq")
    place.mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    for result in results:
        name = _identifier(result.claim.id, files)
        files[name] = result.coq or file(result, _steps(result), {})
    for name, text in (*files.items(), ("Dpcheck", kernel.library())):
        write_text(place / f"{name}.v", text)
    names = ["Dpcheck.v", *(f"{name}.v" for name in files)]
    write_text(place / "_CoqProject", "\n".join(["-R . Dpcheck", "-arg -w -arg none", *names]) + "\n")
    write_text(place / "Makefile", _MAKEFILE)  # which is there once all the others are
    return tuple(place / name for name in names)


def file(result: ClaimResult, steps: Iterable[Any], found: Mapping[str, str]) -> str:
    """Return the file of a claim with these steps; ``found`` are further proofs, by the hash of what they prove."""
    claim, name = result.claim, _identifier(result.claim.id, ())
    head = _comment(f"{claim.paper} {claim.id} ({claim.location}), {result.verdict}: {result.statement}")
    parts = [_step(f"{name}_step_{number}", step, found) for number, step in enumerate(steps, start=1)]
    stated = any("\nTheorem " in part for part in parts)
    parts += [] if stated else [NOTHING_STATED]
    return "\n\n".join([head, kernel.HEADER, *parts]) + "\n"


def prove(steps: Iterable[Any], coq: kernel.Session) -> dict[str, str]:
    """Return the proofs that Coq accepts of these steps, by the hash of what they prove.

    Raises :class:`~dpcheck.errors.InputError` if they rest on other axioms than those of the real numbers.
    """
    found: dict[str, str] = {}
    for step in steps:
        stated = statement(step)
        if stated is not None and stated.sha256 not in found:
            script = accepted(step, stated, coq)
            found |= {stated.sha256: script} if script else {}
    strange = [axiom for axiom in (coq.assumptions() if found else ()) if not axiom.startswith(kernel.AXIOMS)]
    require(not strange, "what the proofs rest on", "be the axioms of the real numbers", ", ".join(strange))
    return found


def accepted(step: Any, stated: Statement, coq: kernel.Session) -> str | None:
    """Return the first script that Coq accepts as a proof of the step as it is stated."""
    before = kernel.proof(stated)
    tried = itertools.chain([before] if before else [], scripts(step))
    found = next((script for script in tried if coq.check(stated, script) is None), None)
    coq.assumptions()  # while the process has it
    return found


def refused(files: Iterable[Path]) -> list[str]:
    """Return the names of the exported files that Coq does not accept, the library first."""
    command = ["coqc", "-q", "-w", "none", "-R", ".", "Dpcheck"]
    done = {path.name: subprocess.run([*command, path.name], cwd=path.parent, capture_output=True) for path in files}
    return [name for name, process in done.items() if process.returncode]


def _steps(result: ClaimResult) -> tuple[Any, ...]:
    """Return the steps of a claim, none where its evidence failed or is in another process."""
    try:
        return result.claim.decision().evidence.steps
    except Exception:  # its result says so
        return ()


NOTHING_STATED = 'Goal True. fail "nothing of this claim is stated in Coq".'  # an error, where a comment would pass


def _step(name: str, step: Any, found: Mapping[str, str]) -> str:
    stated = statement(step)
    if stated is None:
        return _comment(f"{step.says}: {type(step).__name__.lower()}, not stated in Coq")
    script = found.get(stated.sha256) or kernel.proof(stated)
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
