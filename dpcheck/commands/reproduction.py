"""A violation as a script of at most 40 lines for somebody's issue tracker, which needs no dpcheck."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck import __version__
from dpcheck.audits.limits import clopper_pearson_lower, clopper_pearson_upper
from dpcheck.audits.looks import Look
from dpcheck.audits.running.datasets import fingerprint
from dpcheck.audits.scores.conditions import Condition, condition
from dpcheck.commands import inputs
from dpcheck.commands.files import SCRIPT_MARK
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


def beside(script: Path) -> Iterator[Path]:
    """Yield all files that may be written beside a script."""
    return (script.with_name(f"{script.stem}.{ending}") for ending in _BESIDE)


class Reproduction:
    """The script that ``--repro`` asks for; none is written of an audit that found no violation."""

    def __init__(self, target: str) -> None:
        """Take the script's name, which is free, as are those beside it."""
        self.target = Path(target)

    def write(self, audit: Any, pair: tuple[Any, Any], mechanism: str, *, vectorized: bool) -> str:
        """Write the script for an audit of ``MODULE:NAME``, and what is too large for it beside it; say what was done.

        InputError if the event or a data set cannot be written.
        """
        if audit.verdict != "violated":
            return f"nothing to reproduce: the audit is {audit.verdict}, and {self.target} was not written"
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
        return f"{self.target} reproduces it: python {self.target}"

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
