"""A violation as a script of at most 40 lines in NumPy alone for an issue tracker, its set of outputs included."""

from __future__ import annotations

import ast
import builtins
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import __version__
from dpcheck.audits.limits import clopper_pearson_lower, clopper_pearson_upper
from dpcheck.audits.looks import Look
from dpcheck.audits.running.datasets import fingerprint
from dpcheck.audits.scores import Coordinate, Score
from dpcheck.audits.scores.exact import Extreme, Lattice, Repeats, Short, Special
from dpcheck.audits.scores.histograms import Histogram, Pair, Patterns, Product
from dpcheck.audits.scores.learned import Distance, Projection, Quadratic, Trees
from dpcheck.commands import inputs
from dpcheck.commands.files import SCRIPT_MARK, as_typed
from dpcheck.errors import InputError, one_line, require
from dpcheck.running.files import write_bytes, write_text

_LEVEL = 0.05  # half of it for each of two shares
_ROWS, _LETTERS = 20, 1_000  # of what stands in the script itself
_MOST = 16  # times the runs of the audit
_BESIDE = ("event.npz", *(f"{name}.{kind}" for name in ("data", "neighbour") for kind in ("npy", "json", "csv")))
_RAISING = """\
def run(dataset):
    try: return mechanism(dataset, RNG)
    except Exception as error: return error
"""
_SCRIPT = '''\
"""{name} is claimed to be ({epsilon:g}, {delta:g})-private: a test on a pair of neighbours that needs {needed} alone.
{mark}, {version}. Exit codes: 1 violated, 0 not reproduced, 2 an error."""
import {modules}
from math import inf, log, nan
{path}import numpy as np

sys.excepthook = lambda *error: sys.exit(sys.__excepthook__(*error) or 2)
{setup}
DATA = {data}
NEIGHBOUR = {neighbour}
EPSILON, DELTA, RUNS, LEVEL = {epsilon!r}, {delta!r}, {runs}, {level}
RNG = np.random.default_rng({seed})  # another seed is another test

def event(output):  # {words}
    {body}
{raising}def count(dataset):
    return sum(bool(event(output)) for output in {outputs})
def lower(hits):  # Clopper and Pearson: where P(event) is less, so many hits have probability LEVEL / 2 at most
    k, low, high = np.arange(hits, RUNS + 1), 0.0, hits / RUNS
    for _ in range(60 if hits else 0):
        p = (low + high) / 2
        logs = LOGS[RUNS] - LOGS[k] - LOGS[RUNS - k] + k * np.log(p) + (RUNS - k) * np.log1p(-p)
        low, high = (p, high) if np.exp(logs).sum() <= LEVEL / 2 else (low, p)
    return low

LOGS = np.cumsum(np.log(np.maximum(np.arange(RUNS + 1), 1)))  # of factorials
hits, others = count({favoured}), count({other})
p, q = lower(hits), 1 - lower(RUNS - others)
epsilon = log((p - DELTA) / q) if p > DELTA else 0.0
print(f"event: {{hits}} of {{RUNS}} runs on {favoured}, {{others}} of {{RUNS}} on {other}")
print(f"epsilon >= {{epsilon:.4g}} with confidence {{1 - LEVEL:g}}, claimed {{EPSILON:g}}, both at delta {{DELTA:g}}:")
print("violated" if epsilon > EPSILON else "not reproduced")
sys.exit(epsilon > EPSILON)
'''


Tables = dict[str, NDArray[Any]]

# Values, intervals or patterns that stand in the line itself; more of them are a table.
_LISTED = 6
# Room for a sum that is added up in another order.
_ROUNDING = 1e-9
# What a line may name where it is made of words.
_KNOWN = {"output", "s", "np", "inf", "nan", "VALUES", "TURNS", *dir(builtins)}
_UNUSED = 1.5e308  # stands for NaN, which equals nothing


@dataclass(frozen=True)
class Condition:
    """The body of a function of ``output`` that says whether it lies in a set, and the arrays that its lines name."""

    lines: tuple[str, ...]
    tables: Tables = field(default_factory=dict)


def beside(script: Path) -> Iterator[Path]:
    """Yield all files that may be written beside a script."""
    return (script.with_name(f"{script.stem}.{ending}") for ending in _BESIDE)


class Reproduction:
    """The script that ``--repro`` asks for; none is written of an audit that found no violation."""

    def __init__(self, target: str) -> None:
        """Take the script's name, which is free, as are those beside it."""
        self.target, self.shown = Path(target), as_typed(target)

    def write(self, audit: Any, pair: tuple[Any, Any], mechanism: str, *, vectorized: bool) -> str:
        """Write the script for an audit of ``MODULE:NAME``, and what is too large for it beside it; say what was done.

        InputError if the event or a data set cannot be written.
        """
        if audit.verdict != "violated":
            return f"nothing to reproduce: the audit is {audit.verdict}, and {self.shown} was not written"
        look, event = _simplest(look for look in audit.looks if look.breaks)
        sides = ("DATA", "NEIGHBOUR") if look.event.favours == "data" else ("NEIGHBOUR", "DATA")
        data, neighbour = (self._kept(value, name) for value, name in zip(pair, ("data", "neighbour"), strict=True))
        setup = [*inputs.import_lines(mechanism, self.target.resolve().parent, "mechanism"), *self._tables(event)]
        calls, raising = "(mechanism(dataset, RNG) for _ in range(RUNS))", ""
        if vectorized:
            calls = "(y for i in range(0, RUNS, 1000) for y in mechanism(dataset, RNG, min(1000, RUNS - i)))"
        elif getattr(look.event, "naming", None) is not None:  # of outputs of any kind, errors among them
            calls, raising = "(run(dataset) for _ in range(RUNS))", _RAISING
        used = " ".join([data, neighbour, *setup])
        modules = [name for name in ("importlib", "json", "pandas") if f"{name}." in used]
        if "HERE" in used:
            setup.insert(0, "HERE = Path(__file__).resolve().parent")
        text = _SCRIPT.format(
            name=mechanism.rpartition(":")[2], needed="NumPy" + " and pandas" * ("pandas" in modules), mark=SCRIPT_MARK,
            version=f"dpcheck {__version__}", epsilon=look.claimed, delta=look.delta,
            modules=", ".join([*modules, "sys"]), path="from pathlib import Path\n" * ("HERE" in used),
            setup="\n".join(setup), data=data, neighbour=neighbour, level=_LEVEL, raising=raising,
            runs=_runs(look, _MOST * audit.trials), seed=(audit.seed or 0) + 1, body="\n    ".join(event.lines),
            words=one_line(look.event.words)[:80], outputs=calls, favoured=sides[0], other=sides[1],
        )  # fmt: skip
        write_text(self.target, text)
        return f"{self.shown} reproduces it: python {self.shown}"

    def _kept(self, value: Any, name: str) -> str:
        """Return a data set as an expression, of a file beside the script where it is large."""
        held, path = fingerprint(value), self.target.with_name(f"{self.target.stem}.{name}")
        table, array = type(value).__name__ == "DataFrame", isinstance(value, np.ndarray)
        text = _literal(value.to_dict("list") if table else value)
        read = f"pandas.DataFrame({text})" if table else text
        if read is not None and held is not None and text is not None and fingerprint(_evaluated(read)) == held:
            return read
        if array:
            stream = BytesIO()
            np.save(stream, value, allow_pickle=False)
            write_bytes(f"{path}.npy", stream.getvalue())
            return f'np.load(HERE / "{path.name}.npy")'
        if table:
            write_text(f"{path}.csv", value.to_csv(index=False))
            read = f'pandas.read_csv(HERE / "{path.name}.csv")'
        elif type(value) in (list, dict, str):
            write_text(f"{path}.json", json.dumps(value))
            read = f'json.loads((HERE / "{path.name}.json").read_text())'
        same = held is not None and read is not None and fingerprint(_evaluated(read, path.parent)) == held
        require(same, name, "be an array, or a table or JSON that a file keeps, to be reproduced", type(value).__name__)
        assert read is not None
        return read

    def _tables(self, event: Condition) -> Iterator[str]:
        """Yield the line that makes the arrays of an event."""
        names, literals = f"[{', '.join(event.tables)}]", [*map(_literal, event.tables.values())]
        if event.tables and all(literals) and len(str(literals)) <= _LETTERS:
            yield f"{names} = [{', '.join(map(str, literals))}]"
        elif event.tables:
            stream, path = BytesIO(), next(beside(self.target))
            np.savez_compressed(stream, **event.tables)  # type: ignore[arg-type]
            write_bytes(path, stream.getvalue())
            yield f'{names} = np.load(HERE / "{path.name}").values()'


def _evaluated(text: str | None, here: Path | None = None) -> Any:
    """Return the value of an expression of a data set."""
    names = {"np": np, "nan": math.nan, "inf": math.inf, "json": json, "HERE": here}
    if text and text.startswith("pandas."):
        import pandas

        names["pandas"] = pandas
    return eval(text or "None", names)


def _simplest(looks: Iterable[Look]) -> tuple[Look, Condition]:
    """Return the look that is shortest to write, the one that goes farthest beyond the claim among equals."""
    written = [(look, condition(look.event)) for look in looks]
    able = [(look, event) for look, event in written if event is not None]
    if not able:
        words = one_line(written[0][0].event.words)[:200]
        raise InputError(f"this event cannot be written as a short condition, and so there is no script: {words}")
    return max(able, key=lambda pair: (not pair[1].tables, pair[0].epsilon_lower - pair[0].claimed))


def _literal(value: Any) -> str | None:
    """Return an expression of a value; None where it is long."""
    array = isinstance(value, np.ndarray)
    long = len(value) > _ROWS if isinstance(value, list | dict) or (array and value.ndim) else False
    if long or (array and (value.size > _LETTERS or value.dtype.kind not in "biufU")):
        return None
    text = repr(value.tolist() if array else value)
    if array:
        same = np.array(value.tolist()).dtype == value.dtype
        text = f"np.array({text})" if same else f'np.array({text}, "{value.dtype}")'
    return text if len(text) <= _LETTERS else None


def _runs(look: Look, most: int) -> int:
    """Return how many runs show the violation in nearly all tests, if the shares are near those of the look."""
    x, y, n = look.event.counts
    p, q = (x - math.sqrt(x)) / n, (y + math.sqrt(y)) / n
    for number in count():
        runs = (100, 200, 500)[number % 3] * 10 ** (number // 3)
        hits, others = runs * p - 2 * math.sqrt(runs * p), runs * q + 2 * math.sqrt(runs * q)
        low = clopper_pearson_lower(max(int(hits), 0), runs, _LEVEL / 2) - look.delta
        high = clopper_pearson_upper(min(math.ceil(others), runs), runs, _LEVEL / 2)
        if runs >= most or (low > 0 and math.log(low / high) > look.claimed):
            break
    return int(min(runs, most))


def condition(event: Any) -> Condition | None:
    """Return an output set in Python, which knows ``np``, ``inf`` and ``nan``; None where nobody says it.

    A score of another kind may say its sets itself: ``condition(direction, threshold)`` returns an expression of
    ``output``, what the mechanism returned. Where columns stand for parts of it (``event.naming``), the event's words
    are taken if they are Python, or else the parts by their names; a run that raised has its error as output.
    """
    stated = getattr(event.score, "condition", None)
    if stated is not None:
        return Condition((f"return {stated(event.direction, event.threshold)}",))
    tables: Tables = {}
    *lines, value = _said(event.score, event.direction, event.threshold, tables)
    naming = getattr(event, "naming", None)
    if naming is None:
        return Condition(("x = np.ravel(output).astype(float)", *lines, f"return {value}"), tables) if value else None
    words = re.sub(r"^raises (\w+)$", r"type(output).__name__ == '\1'", event.words)
    named = "; ".join([*lines, f"return {value}"])
    for place in map(int, set(re.findall(r"x\[(\d+)\]", named))):
        if place < naming.layout.numbers:
            named = named.replace(f"x[{place}]", f"({naming(f'output[{place}]')})")
    for body in (f"return {words}", named):
        if _is_python(body := body.replace("str(error)", "str(output)")):
            return Condition((f"try: {body}", "except Exception: return False"), tables)
    return None


def _is_python(body: str) -> bool:
    """Whether the body of a function is Python, and names nothing that the script does not know."""
    try:
        nodes = ast.walk(ast.parse(f"def event(output): {body}"))
    except SyntaxError:
        return False
    return all(node.id in _KNOWN for node in nodes if isinstance(node, ast.Name))


def _said(score: Score, direction: str, threshold: float, tables: Tables) -> list[str]:
    """Return lines that end with the expression of the set, of ``x``, the numbers; add the arrays that they name."""

    def within(value: Any) -> Any:
        return value >= threshold if direction == ">=" else value <= threshold

    def either(statement: str) -> str:  # of a score that is 1 where the statement holds, else 0
        return "True" if within(0) and within(1) else f"not ({statement})" if within(0) else statement

    def use(*names: str) -> None:
        tables.update({name.upper(): np.asarray(getattr(score, name)) for name in names})

    room = _ROUNDING * max(1.0, abs(threshold)) * (-1 if direction == ">=" else 1)
    reached, nearly = f"{direction} {threshold!r}", f"{direction} {threshold + room!r}"
    apart = "v = np.nan_to_num((x - CENTRE) / SPREAD, nan=0, posinf=0, neginf=0)"
    match score:
        case Coordinate():
            return [f"{_source(score)} {reached}"]
        case Extreme():
            return [f"np.{'fmin' if score.end == 'smallest' else 'fmax'}.reduce(x) {reached}"]
        case Special():
            s = _source(score.source)
            return [either(f"np.isnan({s})" if score.value == "nan" else f"{s} == 0 and np.signbit({s})")]
        case Lattice():
            steps = f"s = ({_source(score.source)} - {score.offset!r}) / {score.step!r}"
            return [steps, either("abs(s - np.rint(s)) <= 1e-4")]
        case Short():
            return [either(f"np.frexp({_source(score.source)})[0] * 2.0**{53 - score.zeros} % 1 == 0")]
        case Repeats():
            values = score.values[within(score.sides) != within(0)]
            among = _among(_source(score.source), values, tables)
            return [f"not ({among})" if within(0) else among]
        case Histogram():
            return [f"s = {_source(score.source)}", _bins(score.edges, within(score.ratios), tables)]
        case Patterns():
            listed = score.patterns[within(score.ratios) != within(score.rest)]
            return _patterns(score, listed, "not " * bool(within(score.rest)), tables)
        case Distance():
            use("centre", "spread")
            return [apart, f"np.sqrt(v @ v) {nearly}"]
        case Projection():
            use("centre", "spread", "slope")
            return [apart, f"v @ SLOPE {nearly}"]
        case Quadratic():
            use("centre", "spread", "slope", "curvature")
            return [apart, f"(v {'@' if score.curvature.ndim == 2 else '*'} CURVATURE + SLOPE) @ v {nearly}"]
        case Product():
            tables["EDGES"], tables["RATIOS"] = _ratios(score)
            return [f'sum(r[np.searchsorted(e, v, "right")] for e, r, v in zip(EDGES, RATIOS, x)) {nearly}']
        case Trees():
            use("feature", "cut", "leaves")
            return [
                f"f, t, n = np.array([{', '.join(map(_source, score.sources))}]), np.arange({len(score.feature)}), 0",
                "for _ in range(3): n = 2 * n + 1 + (np.where(np.isnan(f), inf, f)[FEATURE[t, n]] >= CUT[t, n])",
                f"LEAVES[t, n - 7].sum() {nearly}",
            ]
    return [""]


def _source(source: Coordinate | Pair) -> str:
    if isinstance(source, Coordinate):
        return f"x[{source.index}]"
    first, second, (sign, minus) = f"x[{source.first}]", f"x[{source.second}]", "+-" if source.sign > 0 else "- "
    # equal infinities differ by 0
    value = f"(0.0 if {first} == {minus.strip()}{second} else {first} {sign} {second})"
    return f"np.rint({value} / {source.grid!r}) * {source.grid!r}"


def _among(s: str, values: NDArray[np.float64], tables: Tables) -> str:
    """Say that a number is one of some values."""
    numbers = values[~np.isnan(values)]
    if numbers.size > _LISTED:
        tables["VALUES"] = numbers
    said = [f"{s} in {'VALUES' if tables else tuple(numbers.tolist())}"] * bool(numbers.size)
    return " or ".join(said + [f"np.isnan({s})"] * (numbers.size < values.size))


def _bins(edges: NDArray[np.float64], inside: NDArray[np.bool_], tables: Tables) -> str:
    """Say that ``s`` lies in one of the bins ``[edges[i-1], edges[i])`` that are ``inside``, as in a Histogram."""
    missing = bool(edges.size) and math.isnan(edges[-1])
    cuts = [-math.inf, *(edges[:-1] if missing else edges).tolist(), math.inf]
    turns = np.flatnonzero(np.diff(np.concatenate([[False], inside[: len(cuts) - 1], [False]])))
    ends = [cuts[turn] for turn in turns]
    said = []
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        if high == math.inf:  # which lies in the last bin
            said.append(f"s >= {low!r}")
        else:
            one = low > -math.inf and high == math.nextafter(low, math.inf)
            said.append(f"s == {low!r}" if one else f"{low!r} <= s < {high!r}" if low > -math.inf else f"s < {high!r}")
    if len(said) > _LISTED:
        tables["TURNS"] = np.array(ends[:-1] if ends[-1] == math.inf else ends)
        said = ['s == s and np.searchsorted(TURNS, s, "right") % 2 == 1']
    return " or ".join(said + ["np.isnan(s)"] * bool(missing and inside[-1]))


def _patterns(score: Patterns, listed: NDArray[np.int64], denied: str, tables: Tables) -> list[str]:
    """Say that some numbers of the output are one of the patterns ``listed``, or none of them where that is denied."""
    columns, undefined = f"x[{list(score.columns)}]", any(np.isnan(atoms).any() for atoms in score.atoms)
    if len(listed) <= _LISTED and listed.all() and not undefined:
        known = [tuple(float(score.atoms[j][s - 1]) for j, s in enumerate(row)) for row in listed.tolist()]
        return [f"tuple({columns}) {denied}in {known}"]
    atoms = np.full((len(score.atoms), max(map(len, score.atoms))), np.nan)
    for row, values in zip(atoms, score.atoms, strict=True):
        row[: values.size] = np.where(np.isnan(values), _UNUSED, values)
    tables.update(ATOMS=atoms, PATTERNS=listed)
    return [
        *[f"x = np.where(np.isnan(x), {_UNUSED!r}, x)"] * undefined,
        f"place = ((ATOMS == {columns}[:, None]) * np.arange(1, {atoms.shape[1] + 1})).sum(axis=1)",
        f"{denied}(PATTERNS == place).all(axis=1).any()",
    ]


def _ratios(score: Product) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return edges and ratios of all numbers; NaN stands behind the edges of a row, so that its ratio is the last."""
    rows = [part.edges[~np.isnan(part.edges)] for part in score.parts]
    size = max(map(len, rows)) + 1
    edges, ratios = np.full((len(rows), size), np.nan), np.full((len(rows), size + 1), np.nan)
    for i, (row, part) in enumerate(zip(rows, score.parts, strict=True)):
        edges[i, : row.size], ratios[i, : row.size + 1] = row, part.ratios[: row.size + 1]
        if part.edges.size > row.size:  # NaN has a bin
            ratios[i, -1] = part.ratios[-1]
    return edges, ratios
