"""200 lemmas of papers and textbooks, typed as one line: what dpcheck, z3, cvc5 and sympy make of them.

``python tests/lemmas.py [--half open|aside] [--tool NAME ...] [--part K/N]`` asks each tool about each lemma
and writes ``tests/measured/lemmas_decided.csv``; what it does not ask about is kept there. dpcheck reads a file of the
lines, and gets 20 s of wall time for each; the others get the formula, vectors by their coordinates, and 5 s of
processor time. ``inequality`` is dpcheck's prover on what sympy makes of the formula. With ``--kernel`` Coq alone
is asked, about what dpcheck proved, with 60 s for each attempt.
"""

from __future__ import annotations

import argparse
import ast
import functools
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import sympy

sys.path[:0] = [str(Path(__file__).parent / "oracles"), str(Path(__file__).parent)]

import tables
from inequalities.item import Item
from inequalities.run import alone
from inequalities.tools import TOOLS
from lemma_text import Lemma

SEED = 39  # of the draw of the half that is set aside
WALL, PEERS = 20, 5  # seconds
COQ = 60.0  # seconds of wall time for one attempt at a proof
_HEADS = {"norm", "inner"}
_SAID = (sympy.exp, sympy.log, sympy.Max, sympy.Min, sympy.Abs)  # what the solvers have words or bounds for


def kindred(name: str) -> str:
    """The group of a lemma: a lemma and those made from it are in the same half."""
    return "_".join(name.split("_")[:2])


def drawn(names: list[str]) -> set[str]:
    """The lemmas that were set aside: random groups, until there are a hundred."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(kindred(name), []).append(name)
    order = sorted(groups)
    random.Random(SEED).shuffle(order)
    aside: set[str] = set()
    for group in order:
        if len(aside) + len(groups[group]) <= len(names) // 2:
            aside.update(groups[group])
    return aside


# --- the lemma as sympy has it, for the tools that read no text


class UntoldError(Exception):
    """The tool has no words for the lemma."""


def items(name: str, lemma: Lemma, truth: bool) -> list[Item]:
    """The lemma as inequalities, two for an equation."""
    from dpcheck.bounds.prover import over
    from dpcheck.errors import InputError

    vectors = [letter for letter, kind in lemma.kinds.items() if kind == "vector"]
    symbols: dict[str, Any] = {}
    for letter, kind in lemma.kinds.items():
        if kind != "vector":
            symbols[letter] = sympy.Symbol(letter, integer=True) if kind == "integer" else _symbol(lemma, letter)
    for row, letter in enumerate(vectors):  # any k vectors lie in k dimensions, the first along the first axis
        parts = [sympy.Symbol(f"{letter}_{k}", real=True) for k in range(row + 1)]
        symbols |= {part.name: part for part in parts}
        symbols[letter] = sympy.Matrix([*parts, *[0] * (len(vectors) - row - 1)])
    scalars = [symbol for symbol in symbols.values() if isinstance(symbol, sympy.Symbol)]
    order = {"<=": sympy.Le, "<": sympy.Lt, ">=": sympy.Ge, ">": sympy.Gt, "==": sympy.Eq}
    told = [order[sign](formula(a, symbols), formula(b, symbols)) for a, sign, b in lemma.conditions]
    told = [_closed(relation) for relation in told if relation is not sympy.true]
    try:
        domain = over(*scalars, *told)
    except InputError as error:
        raise UntoldError(str(error)) from error
    found = []
    for left, sign, right in lemma.relation:
        a, b = formula(left, symbols), formula(right, symbols)
        pairs = [(a, b), (b, a)] if sign == "==" else [(a, b) if sign[0] == "<" else (b, a)]
        found += [Item("lemma", name, low, high, domain, truth, "", None) for low, high in pairs]
    return found


def _symbol(lemma: Lemma, letter: str) -> Any:
    """A real letter, positive where a condition says so."""
    positive = any(
        (sign, other) == (">", "0") or (sign == ">" and other.isdigit())
        for a, s, b in lemma.conditions
        for one, sign, other in ((a, s, ast.unparse(b)), (b, {"<": ">", ">": "<"}.get(s, s), ast.unparse(a)))
        if isinstance(one, ast.Name) and one.id == letter
    )
    return sympy.Symbol(letter, positive=True) if positive else sympy.Symbol(letter, real=True)


def _closed(relation: Any) -> Any:
    """A relation of a letter to a number, closed: the end of an interval."""
    for one, other, kind in ((relation.lts, relation.gts, sympy.Le), (relation.gts, relation.lts, sympy.Ge)):
        if one.is_Symbol and not other.free_symbols:
            return kind(one, other)
    return relation


def formula(node: ast.expr, letters: dict[str, Any]) -> Any:
    """A term as sympy has it."""
    match node:
        case ast.Constant(int(number)):
            return sympy.Integer(number)
        case ast.Name("pi"):
            return sympy.pi
        case ast.Name(letter):
            return letters[letter]
        case ast.UnaryOp(ast.USub(), inside):
            return -formula(inside, letters)
        case ast.BinOp(left, operator, right):
            a, b = formula(left, letters), formula(right, letters)
            match operator:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
            return a**b
        case ast.Call(ast.Name(("sum" | "prod") as name), [inside, ast.Name(letter), start, stop]):
            bound = sympy.Symbol(letter, integer=True, positive=True)
            make = sympy.Sum if name == "sum" else sympy.Product
            return make(formula(inside, {**letters, letter: bound}),
                        (bound, formula(start, letters), formula(stop, letters)))  # fmt: skip
        case ast.Call(ast.Name(name), arguments):
            inner = [formula(argument, letters) for argument in arguments]
            if name in _HEADS:
                square = (inner[0].T * inner[-1])[0, 0]
                return sympy.sqrt(square) if name == "norm" else square
            return getattr(sympy, {"max": "Max", "abs": "Abs"}.get(name, name))(*inner)
    raise UntoldError(ast.dump(node))


# --- the tools


def peer(tool: str, name: str, text: str, truth: bool) -> str:
    """Return the verdict of another tool on a lemma, which may hold several inequalities."""
    try:
        parts = items(name, Lemma(text), truth)
        words = []
        for part in parts:
            low, high = (sympy.expand_func(side.rewrite(sympy.exp)) for side in (part.smaller, part.larger))
            if tool == "sympy":
                low, high = low.doit(), high.doit()
            elif any(not isinstance(f, _SAID) for side in (low, high) for f in side.atoms(sympy.Function)) or (
                low.has(sympy.Sum, sympy.Product) or high.has(sympy.Sum, sympy.Product)
            ):
                raise UntoldError("a sum or a function that it does not know")
            words.append(TOOLS[tool](Item(part.family, name, low, high, part.over, truth, "", None)))
    except UntoldError as error:
        return f"not said: {error}"
    if all(word.startswith("proved") for word in words):
        return words[0]
    return next((word for word in words if word.startswith("refuted")), words[0])


def inequality(name: str, text: str, truth: bool) -> str:
    """What the prover says of the formula, without the text: what could be asked before a line could."""
    try:
        words = [TOOLS["dpcheck"](part) for part in items(name, Lemma(text), truth)]
    except UntoldError as error:
        return f"not said: {error}"
    if all(word.startswith("proved") for word in words):
        return words[0]
    return next((word for word in words if word.startswith("refuted")), words[0])


def typed(lemmas: pd.DataFrame, seconds: float, watch: Callable[[str], object]) -> pd.DataFrame:
    """What ``dpcheck.prove`` says of a file of these lines, with the seconds that it reports for each."""
    import dpcheck
    from dpcheck.bounds import crossing, lines

    rows, read = [], []
    for lemma in lemmas.itertuples():
        try:
            crossing.claim((lines.claims(lemma.statement) or [None])[0])
            read.append(lemma)
        except dpcheck.InputError as error:
            rows.append(_row(lemma, "dpcheck", "open", f"not read: {error}", 0.0))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lemmas.txt"
        file.write_text("\n".join(lemma.statement for lemma in read) + "\n", "utf-8")
        seen = functools.partial(print, file=sys.stderr, flush=True)
        found = dpcheck.prove(str(file), seconds=seconds, jobs=1, watch=seen)
    for lemma, result in zip(read, found, strict=True):
        how = result.method if result.verdict != "unresolved" else result.note
        rows.append(_row(lemma, "dpcheck", result.verdict, how, result.seconds, result.kernel))
        watch(" ".join(map(str, rows[-1].values())))
    return pd.DataFrame(rows)


def by_coq(lemmas: pd.DataFrame, keep: Callable[[str, str], object]) -> None:
    """Tell what Coq's kernel says of each lemma that dpcheck proved: ``all``, or why it has not accepted it."""
    from dpcheck.bounds import crossing, lines
    from dpcheck.bounds.coq import kernel, scripts
    from dpcheck.bounds.coq.statement import statement

    with tempfile.TemporaryDirectory() as made, kernel.Session(Path(made), COQ) as coq:
        kernel.compile_library(Path(made))
        for lemma in lemmas.itertuples():
            _, steps = crossing.claim((lines.claims(lemma.statement) or [{}])[0])
            told = [statement(step) for step in steps]
            word = "all" if all(told) else "not stated"
            if all(told) and not all(scripts.accepted(*pair, coq) for pair in zip(steps, told, strict=True)):
                word = "no proof found"
            keep(lemma.name, word)
        strange = [name for name in coq.assumptions() if not name.startswith(kernel.AXIOMS)]
    if strange:
        raise SystemExit(f"axioms beyond those of the real numbers: {strange}")


def _row(lemma: Any, tool: str, verdict: str, how: str, seconds: float, kernel: str = "") -> dict[str, object]:
    return {
        "name": lemma.name, "half": lemma.half, "truth": lemma.truth, "tool": tool,
        "verdict": verdict if verdict in ("proved", "refuted", "not said") else "open",
        "how": " ".join(how.split())[:80], "seconds": round(seconds, 2), "kernel": kernel,
    }  # fmt: skip


ASK: dict[str, tuple[Callable[[str, str, bool], str], int]] = {
    "inequality": (inequality, WALL),
    **{name: (functools.partial(peer, name), PEERS) for name in ("z3", "cvc5", "sympy")},
}  # fmt: skip


def decided(lemmas: pd.DataFrame, tools: list[str], watch: Callable[[str], object] = print) -> pd.DataFrame:
    """A row for each lemma and tool: the verdict, how, and the seconds of processor time."""
    rows = []
    for lemma in lemmas.itertuples():
        for tool in tools:
            ask, limit = ASK[tool]
            question = functools.partial(ask, lemma.name, lemma.statement, bool(lemma.truth))
            said, seconds = alone(question, limit, wall=12 * limit)  # other work may hold the processor
            word, _, how = said.partition(": ")
            rows.append(_row(lemma, tool, word, how, seconds))
            watch(" ".join(map(str, rows[-1].values())))
    return pd.DataFrame(rows)


def shares(frame: pd.DataFrame) -> pd.DataFrame:
    """For each half and tool: of the true how many are proved, of the false refuted, wrong verdicts, median seconds."""
    rows = []
    for (half, tool), part in frame.groupby(["half", "tool"], sort=False):
        true, false = part[part.truth], part[~part.truth]
        rows.append({
            "half": half, "tool": tool, "true proved": int((true.verdict == "proved").sum()), "of": len(true),
            "false refuted": int((false.verdict == "refuted").sum()), "of false": len(false),
            "wrong": int((true.verdict == "refuted").sum() + (false.verdict == "proved").sum()),
            "not said": int((part.verdict == "not said").sum()), "median s": part.seconds.median(),
        })  # fmt: skip
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--half", choices=("open", "aside"))
    parser.add_argument("--tool", nargs="*", choices=["dpcheck", *ASK], default=["dpcheck", "z3", "cvc5", "sympy"])
    parser.add_argument("--seconds", type=float, default=WALL, help="for each lemma, of dpcheck (default 20)")
    parser.add_argument("--kernel", action="store_true", help="ask Coq alone, about what dpcheck proved")
    parser.add_argument("--part", default="0/1", help="such as 1/4: the second quarter")
    parser.add_argument("--name", nargs="*", help="these lemmas alone")
    options = parser.parse_args()
    lemmas = tables.read("lemmas").fillna("")
    lemmas = lemmas[lemmas.half == options.half] if options.half else lemmas
    lemmas = lemmas[lemmas.name.isin(options.name)] if options.name else lemmas
    part, parts = map(int, options.part.split("/"))
    lemmas = lemmas.iloc[part::parts]
    say = functools.partial(print, flush=True)
    if options.kernel:
        kept = tables.read("lemmas_decided").fillna({"kernel": ""})
        ours = kept[(kept.tool == "dpcheck") & (kept.verdict == "proved")]

        def keep(name: str, word: str) -> None:
            frame = tables.read("lemmas_decided").fillna({"kernel": ""})
            frame.loc[(frame.name == name) & (frame.tool == "dpcheck"), "kernel"] = word
            tables.write("lemmas_decided", frame)
            say(f"{name}: {word}")

        by_coq(lemmas[lemmas.name.isin(ours.name)], keep)
        kept = tables.read("lemmas_decided").fillna({"kernel": ""})
        print(kept[kept.name.isin(ours.name) & (kept.tool == "dpcheck")].kernel.value_counts().to_string())
        return
    found = pd.concat([
        *([typed(lemmas, options.seconds, say)] if "dpcheck" in options.tool else []),
        decided(lemmas, [tool for tool in options.tool if tool != "dpcheck"], say),
    ])  # fmt: skip
    if (tables.FOLDER / "lemmas_decided.csv").exists():
        kept = tables.read("lemmas_decided")
        again = set(zip(found.name, found.tool, strict=True))
        kept = kept[[pair not in again for pair in zip(kept.name, kept.tool, strict=True)]]
        found = pd.concat([kept, found])
    tables.write("lemmas_decided", found)
    print(shares(found).to_string(index=False))


if __name__ == "__main__":
    main()
