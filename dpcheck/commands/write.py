"""``dpcheck write``: tests for the mechanisms of a module, by its source alone, which is not run.

A mechanism is a function that takes its randomness as an argument or draws some itself. What it is run on and what it
claims come from its signature and its docstring; where they do not say it, the test is skipped and says why.
"""

from __future__ import annotations

import ast
import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpcheck.commands import inputs, terminal
from dpcheck.commands.command import Command
from dpcheck.errors import InputError, one_line, require
from dpcheck.running.files import write_text

_RANDOMNESS = ("rng", "generator", "seed", "random_state")
_DRAWS = re.compile(
    r"(numpy\.random|random|secrets|jax\.random|diffprivlib|opendp)\.|os\.urandom$|scipy\.stats\b.*\.rvs$|"
    r"torch\.(rand|normal|bernoulli|poisson|multinomial|distributions)"
)
_NUMBER = r"(\d+(?:\.\d*)?(?:e-?\d+)?|\.\d+)"
_IS = rf"\s*(?:=|is|of)\s*{_NUMBER}(?!\s*[\w/*^])(?!\.\d)"  # and no part of a formula
_POINT = re.compile(rf"\({_NUMBER}\s*,\s*{_NUMBER}\)\s*-?\s*(?:DP\b|differential|priva)", re.I)
_RANGE = re.compile(r"(?:in \[|between )\s*(-?[\d.]*\d)\s*(?:,|and)\s*(-?[\d.]*\d)")
# quantity of a claim -> names of arguments, the number for one without a default, what a docstring says
_QUANTITIES = {
    "epsilon": (("epsilon", "eps"), 1.0, rf"(?:epsilon|\beps|ε){_IS}|{_NUMBER}-(?:DP|differential)"),
    "delta": (("delta",), 1e-5, rf"(?:delta|δ){_IS}"),
}
_LEAST = 1e-3  # an epsilon below is none of privacy, such as what keeps a division from zero
Nodes = dict[str, ast.expr]


def tests_of(source: str) -> dict[str, tuple[str, list[str]]]:
    """Return, for each mechanism in the source of a module, its test and what is missing in that."""
    tree = ast.parse(source)
    constants = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    origins, drawing = _origins(tree), set[str]()
    for _ in functions:  # a function draws that calls one that does
        for name, function in functions.items():
            if any(called in drawing or _DRAWS.match(called) for called in _calls(function, origins)):
                drawing.add(name)
    return {
        name: _test(function, constants) for name, function in functions.items()
        if not name.startswith(("_", "test_")) and (name in drawing or {*_RANDOMNESS} & {*_arguments(function)[0]})
    }  # fmt: skip


def _origins(tree: ast.Module) -> dict[str, str]:
    """Return what each imported name stands for."""
    origins = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            within = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                name = alias.asname or (alias.name if within else alias.name.partition(".")[0])
                origins[name] = within + (alias.name if alias.asname or within else name)
    return origins


def _calls(function: ast.FunctionDef, origins: dict[str, str]) -> Iterator[str]:
    """Yield the full name of what is called: of a function of the module its name, of an unknown object none."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            first, dot, rest = ast.unparse(node.func).partition(".")
            yield origins.get(first, "" if dot else first) + dot + rest


def _arguments(function: ast.FunctionDef) -> tuple[dict[str, str], Nodes]:
    """Return all arguments with their annotations, and the defaults of those that have one."""
    given = function.args
    placed = [*given.posonlyargs, *given.args]
    pairs = [*zip(reversed(placed), reversed(given.defaults), strict=False)]
    pairs += [(a, value) for a, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value is not None]
    kinds = {a.arg: ast.unparse(a.annotation) if a.annotation else "" for a in (*placed, *given.kwonlyargs)}
    return kinds, {a.arg: value for a, value in pairs}


def _test(function: ast.FunctionDef, constants: Nodes) -> tuple[str, list[str]]:
    """Return the test of a mechanism, and what is missing in it."""
    name, text = function.name, ast.get_docstring(function) or ""
    kinds, defaults = _arguments(function)
    claim, handed, sources = _claim(function, constants, text)
    missing = [] if claim.get("epsilon", 0) >= _LEAST else ["the epsilon that it claims is not stated"]
    if not missing and "delta" not in claim and re.search(r"\bdelta\b|δ|normal|gauss", ast.unparse(function), re.I):
        missing.append("the delta that it claims is not stated")
    stated = ", ".join(f"{quantity}={value!r}" for quantity, value in claim.items())
    if missing:
        stated = sources = ""
    random = next((argument for argument in kinds if argument in _RANDOMNESS), "")
    known = {random, "size", *(argument for names, _, _ in _QUANTITIES.values() for argument in names)}
    records, *others = [argument for argument in kinds if argument not in known] or [""]
    unknown = [argument for argument in others if argument not in defaults]
    missing += [f"{argument} must have a value" for argument in unknown]
    data = _data(records, kinds.get(records, ""), text)
    if not data[0]:
        missing.append(f"what {records} holds is not stated" if records else "it takes no data")
    if random:
        handed[random] = _randomness(function, random, kinds[random], missing)
    size = ["size"] * ("size" in kinds and "size" not in defaults)
    handed |= dict.fromkeys(unknown, "...") | dict(zip(size, size, strict=True))
    call = name
    if [*kinds][: 1 + len(handed)] != [records, random, *size] or handed.get(random) != "rng":
        first = "data" if next(iter(kinds), "") == records else f"{records}=data"
        keywords = [f"{argument}={handed[argument]}" for argument in kinds if argument in handed]
        call = f"lambda {', '.join(['data', 'rng', *size])}: {name}({', '.join([first, *keywords])})"
    marker = ", ".join(["vectorized=True"] * len(size) + ["seeded=False"] * (not random))
    made = {"data": data[0], "neighbour": data[1] and f"{data[1]}  # one record replaced"}
    lines = [
        *[f"@pytest.mark.skip(reason={'; '.join(missing)!r})"] * bool(missing),
        *[f"@pytest.mark.privacy({marker})"] * bool(marker),
        f"def test_{name}(privacy):",
        f'    """The function at line {function.lineno}{f"; its claim is {sources}" * bool(sources)}."""',
        *(f"    {side} = {value}" if value else f"    # TODO: {side} = ..." for side, value in made.items()),
        f"    {'# TODO: ' * bool(missing)}privacy({call}, data, neighbour, {stated or 'epsilon=...'})",
    ]
    return "\n".join(lines), missing


def _claim(function: ast.FunctionDef, constants: Nodes, text: str) -> tuple[dict[str, float], dict[str, str], str]:
    """Return the claim, the arguments that are handed over for it, and where it comes from."""
    kinds, defaults = _arguments(function)
    claim, handed, sources, point = dict[str, float](), dict[str, str](), list[str](), _POINT.search(text)
    for place, (quantity, (names, taken, words)) in enumerate(_QUANTITIES.items(), 1):
        argument = next((name for name in names if name in kinds), "")
        node = defaults.get(argument)
        node = constants.get(node.id, node) if isinstance(node, ast.Name) else node
        stated = point or re.search(words, text, re.I)
        if argument and argument not in defaults:
            claim[quantity], handed[argument] = taken, repr(taken)
            sources.append(f"that of {argument}={taken!r}")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            claim[quantity] = node.value  # type: ignore[assignment]
            sources.append(f"the default of {argument}")
        elif stated:
            claim[quantity] = float(stated[place if point else stated.lastindex or 1])
            sources.append("the docstring's")
    return claim, handed, " and ".join(dict.fromkeys(sources))


def _data(records: str, kind: str, text: str) -> tuple[str, str]:
    """Return two data sets that differ in one record; empty where it is not stated what they hold."""
    entry, ends = re.search(rf"^\s*{re.escape(records)}\s*[:(]\s*(.+)$", text, re.M), _RANGE.search(text)
    said = entry[1] if entry else ""
    if not records or re.search(r"DataFrame|Series|dict|Mapping|Tensor|torch|jax|\(n, ?\w", f"{kind} {said}"):
        return "", ""
    kind = kind or said
    low, high = (float(end) for end in ends.groups()) if ends else (0.0, 1.0)
    one: Any = "a" if re.search(r"\bstr\b", kind) else int(low) if re.search(r"\b(int|bool)", kind) else low
    other = "b" if one == "a" else type(one)(high)
    if re.search(r"array|list|Sequence|Iterable|Collection|tuple", kind, re.I) or (not kind and ends):
        made = "np.array({})" if re.search("array", kind, re.I) or not kind else "{}"
        return made.format([one, other, other]), made.format([one, other, one])
    return (repr(other), repr(one)) if re.match(r"float|int|bool|number", kind) and one != "a" else ("", "")


def _randomness(function: ast.FunctionDef, argument: str, kind: str, missing: list[str]) -> str:
    """Return what is handed over as the argument: the test's generator, or a seed drawn from it."""
    import numpy as np

    uses = {
        node.attr for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == argument
    }  # fmt: skip
    if uses - {*dir(np.random.Generator)} or re.search(r"torch|jax|RandomState|\bRandom\b", kind):
        missing.append(f"{argument} is no numpy.random.Generator")
    seed = kind == "int" or (argument in ("seed", "random_state") and not uses)
    return "int(rng.integers(2**31))" if seed else "rng"


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("module", metavar="MODULE|FILE.py", help="where the mechanisms are; it is read, not run")
    parser.add_argument("--output", metavar="FILE", help="a file that is not there yet (default: stdout)")


def run(options: Namespace) -> int:
    """Run ``dpcheck write``."""
    file = inputs.file_of(options.module)
    require(file is not None, "MODULE", "be in the working folder or on the path, or a FILE.py", options.module)
    assert file is not None
    folder = Path.cwd() if options.output is None else Path(options.output).resolve().parent
    require(folder.is_dir(), "--output", "lie in an existing folder", options.output)
    if options.output is not None:
        require(
            bool(options.output) and not os.path.lexists(options.output), "--output", "be a new file", options.output
        )
    try:
        tests = tests_of(file.read_text("utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"MODULE must be a readable file of Python, got {file}: {one_line(error)}") from error
    must = f"hold a function that draws random numbers, or takes {', '.join(_RANDOMNESS)}"
    require(bool(tests), "MODULE", must, file)
    names, body = ", ".join(tests), "\n\n\n".join(test for test, _ in tests.values())
    imports = "\n".join(inputs.import_lines(f"{options.module}:{names}", folder, names))
    require("importlib" not in imports, "MODULE", "have a name that an import statement takes", file)
    beside = "HERE" in imports
    parts = [
        f'"""Tests of {file.name}, a draft by `dpcheck write`: look at data and claim before you rely on one."""\n',
        *["import sys\nfrom pathlib import Path\n"] * beside,
        *["import numpy as np"] * ("np.array" in body), "import pytest\n",
        *["HERE = Path(__file__).resolve().parent"] * beside, f"{imports}\n",
        f"# at confidence 0.95 over all {len(tests)} tests together",
        f"pytestmark = pytest.mark.privacy(trials=20_000, confidence=1 - 0.05 / {len(tests)})\n\n",
    ]  # fmt: skip
    text = "\n".join([*parts, body])
    skipped = sum(bool(missing) for _, missing in tests.values())
    terminal.tell(f"dpcheck: tests drafted: {len(tests)}; skipped until they are completed: {skipped}")
    if options.output is None:
        return terminal.say(text)
    write_text(options.output, f"{text}\n")
    return 0


WRITE = Command(
    name="write",
    help="write tests for the mechanisms of a module of yours",
    examples=("dpcheck write mechanism", "dpcheck write path/to/mine.py --output test_mine.py"),
    add_options=add_options,
    run=run,
    further=(
        "a mechanism is a function that takes rng, generator, seed or random_state, or draws random numbers itself;\n"
        "a test whose data or claim neither signature nor docstring state is skipped, and says what is missing"
    ),
)
