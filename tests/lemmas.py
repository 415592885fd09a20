"""200 lemmas of papers and textbooks, typed as one line: what dpcheck, z3, cvc5 and sympy make of them.

``python tests/lemmas.py [--half open|aside] [--tool NAME ...] [--table NAME]`` asks each tool about each lemma and
writes ``tests/measured/lemmas_decided.csv``; what other tools and the other half have there is kept. dpcheck reads the
text and gets 20 s of wall time; the others get the formula, vectors by their coordinates, and 5 s of processor time.
"""

from __future__ import annotations

import argparse
import ast
import functools
import random
import sys
import time
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
    """What another tool says of all the inequalities of a lemma."""
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


def typed(name: str, text: str, truth: bool) -> str:
    """What ``dpcheck.prove`` says of the line."""
    import dpcheck

    result = dpcheck.prove(text, seconds=WALL)[0]
    return f"{result.verdict}: {result.method}"


ASK: dict[str, tuple[Callable[[str, str, bool], str], int]] = {
    "dpcheck": (typed, WALL), "inequality": (inequality, WALL),
    **{name: (functools.partial(peer, name), PEERS) for name in ("z3", "cvc5", "sympy")},
}  # fmt: skip


def decided(lemmas: pd.DataFrame, tools: list[str], watch: Callable[[str], object] = print) -> pd.DataFrame:
    """A row for each lemma and tool: the verdict, how, and the wall seconds."""
    rows = []
    for lemma in lemmas.itertuples():
        for tool in tools:
            ask, limit = ASK[tool]
            started = time.perf_counter()
            said, _ = alone(lambda ask=ask, lemma=lemma: ask(lemma.name, lemma.statement, bool(lemma.truth)), limit,
                            wall=limit)  # fmt: skip
            word, _, how = said.partition(": ")
            rows.append({
                "name": lemma.name, "half": lemma.half, "truth": lemma.truth, "tool": tool,
                "verdict": word if word in ("proved", "refuted", "not said") else "open",
                "how": " ".join(how.split())[:60], "seconds": round(time.perf_counter() - started, 2),
            })  # fmt: skip
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
    parser.add_argument("--tool", nargs="*", choices=list(ASK), default=["dpcheck", "z3", "cvc5", "sympy"])
    parser.add_argument("--name", nargs="*", help="of these lemmas alone, and nothing is written")
    options = parser.parse_args()
    lemmas = tables.read("lemmas").fillna("")
    lemmas = lemmas[lemmas.half == options.half] if options.half else lemmas
    if options.name:
        decided(lemmas[lemmas.name.isin(options.name)], options.tool, functools.partial(print, flush=True))
        return
    found = decided(lemmas, options.tool, functools.partial(print, flush=True))
    if (tables.FOLDER / "lemmas_decided.csv").exists():
        kept = tables.read("lemmas_decided").fillna("")
        again = set(zip(found.name, found.tool, strict=True))
        kept = kept[[pair not in again for pair in zip(kept.name, kept.tool, strict=True)]]
        found = pd.concat([kept, found])
    tables.write("lemmas_decided", found)
    print(shares(found).to_string(index=False))


if __name__ == "__main__":
    main()
