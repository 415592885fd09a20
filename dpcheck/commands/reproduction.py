"""A violation as a script of at most 40 lines that needs NumPy alone, for somebody's issue tracker."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
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
from dpcheck.errors import InputError, one_line, require
from dpcheck.running.files import write_text

_LEVEL = 0.05  # half of it for each of two shares
_ROWS, _LETTERS = 20, 1_000  # of what stands in the script itself
_MOST = 16  # times the runs of the audit
_JSON = (list, dict, str, int, float, bool, type(None))
_MARK = "Written by `dpcheck audit --repro`"
_SCRIPT = '''\
"""{name} is claimed to be ({epsilon:g}, {delta:g})-private: a test on one pair of neighbours, which needs NumPy alone.
{mark}, {version}. Exit codes: 1 violated, 0 not reproduced, 2 an error."""
{imports}

sys.excepthook = lambda *error: sys.exit(sys.__excepthook__(*error) or 2)
{setup}
DATA = {data}
NEIGHBOUR = {neighbour}
EPSILON, DELTA, RUNS, LEVEL = {epsilon!r}, {delta!r}, {runs}, {level}
RNG = np.random.default_rng({seed})  # another seed is another test

def event(output):  # {words}
    {body}
def count(dataset):
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


class Reproduction:
    """The script that ``--repro`` asks for; none is written of an audit that found no violation."""

    def __init__(self, target: str, read: Iterable[str | None]) -> None:
        """Require a file that is new, or such a script; ``read`` are the files of the audit, or what it is given."""
        self.target = Path(target)
        require(self.target.suffix == ".py", "--repro", "end in .py", target)
        require(self.target.resolve().parent.is_dir(), "--repro", "lie in an existing folder", target)
        try:
            other = self.target.exists() and _MARK not in self.target.read_text("utf-8")[:_LETTERS]
        except (OSError, ValueError):
            other = True
        require(not other, "--repro", "be a new file, or one that --repro wrote", target)
        kept = {Path(path).resolve() for path in read if path and len(path) < _LETTERS}
        for ending in ("event.npz", *(f"{name}.{kind}" for name in ("data", "neighbour") for kind in ("npy", "json"))):
            path = self._beside(ending)
            require(path.resolve() not in kept, "--repro", f"not lead to {path}, which the audit reads", target)

    def _beside(self, ending: str) -> Path:
        return self.target.with_name(f"{self.target.stem}.{ending}")

    def write(self, audit: Any, pair: tuple[Any, Any], mechanism: str, *, vectorized: bool) -> str:
        """Write the script for an audit of ``MODULE:NAME``, and what is too large for it beside it; say what was done.

        Raises
        ------
        InputError
            If the event or a data set cannot be written.
        """
        if audit.verdict != "violated":
            return f"nothing to reproduce: the audit is {audit.verdict}, and {self.target} was not written"
        look, event = _simplest(look for look in audit.looks if look.breaks)
        favoured, other = ("DATA", "NEIGHBOUR") if look.event.favours == "data" else ("NEIGHBOUR", "DATA")
        data, neighbour = (self._kept(value, name) for value, name in zip(pair, ("data", "neighbour"), strict=True))
        setup = inputs.import_lines(mechanism, self.target.resolve().parent, "mechanism") + self._tables(event)
        calls = "(mechanism(dataset, RNG) for _ in range(RUNS))"
        if vectorized:
            calls = "(y for i in range(0, RUNS, 1000) for y in mechanism(dataset, RNG, min(1000, RUNS - i)))"
        used = " ".join([data, neighbour, *setup])
        if "HERE" in used:
            setup.insert(0, "HERE = Path(__file__).resolve().parent")
        imports = [f"import {', '.join(name for name in ('importlib', 'json', 'sys') if name in f'{used} sys.')}"]
        imports += ["from math import inf, log, nan", *["from pathlib import Path"] * ("HERE" in used)]
        text = _SCRIPT.format(
            name=mechanism.rpartition(":")[2], mark=_MARK, version=f"dpcheck {__version__}", epsilon=look.claimed,
            delta=look.delta, imports="\n".join([*imports, "import numpy as np"]), setup="\n".join(setup), data=data,
            neighbour=neighbour, runs=_runs(look, _MOST * audit.trials), level=_LEVEL, seed=(audit.seed or 0) + 1,
            words=one_line(look.event.words)[:80], body="\n    ".join(event.lines), outputs=calls, favoured=favoured,
            other=other,
        )  # fmt: skip
        write_text(self.target, text)
        return f"{self.target} reproduces it: python {self.target}"

    def _kept(self, value: Any, name: str) -> str:
        """Return a data set as an expression, of a file beside the script where it is large."""
        held = fingerprint(value)
        plain = isinstance(value, np.ndarray) or type(value) in (list, dict, str, int, float, bool, type(None))
        require(
            held is not None and plain, name, "be JSON or an array to be written into a script", type(value).__name__
        )
        text = _literal(value)
        if text is not None and fingerprint(eval(text, {"np": np, "nan": math.nan, "inf": math.inf})) == held:
            return text
        if isinstance(value, np.ndarray):
            np.save(self._beside(f"{name}.npy"), value, allow_pickle=False)
            return f'np.load(HERE / "{self._beside(name).name}.npy")'
        write_text(self._beside(f"{name}.json"), json.dumps(value))
        return f'json.loads((HERE / "{self._beside(name).name}.json").read_text())'

    def _tables(self, event: Condition) -> list[str]:
        """Return the line that makes the arrays of an event."""
        if not event.tables:
            return []
        names = f"[{', '.join(event.tables)}]"
        literals = ", ".join(_literal(table) or "" for table in event.tables.values())
        if all(map(_literal, event.tables.values())) and len(literals) <= _LETTERS:
            return [f"{names} = [{literals}]"]
        np.savez_compressed(self._beside("event.npz"), **event.tables)  # type: ignore[arg-type]
        return [f'{names} = np.load(HERE / "{self._beside("event.npz").name}").values()']


def _simplest(looks: Iterable[Look]) -> tuple[Look, Condition]:
    """Return the look that is shortest to write, the one that goes farthest beyond the claim among equals."""
    written = [(look, condition(look.event.score, look.event.direction, look.event.threshold)) for look in looks]
    able = [(look, event) for look, event in written if event is not None]
    if not able:
        words = one_line(written[0][0].event.words)[:200]
        raise InputError(f"this event cannot be written as a short condition, and so there is no script: {words}")
    return max(able, key=lambda pair: (not pair[1].tables, pair[0].epsilon_lower - pair[0].claimed))


def _literal(value: Any) -> str | None:
    """Return an expression of a value; None where it is long."""
    array = isinstance(value, np.ndarray)
    if (array and value.ndim and len(value) > _ROWS) or (array and value.size > _LETTERS):
        return None
    text = repr(value.tolist() if array else value)
    if array:
        same = np.array(value.tolist()).dtype == value.dtype
        text = f"np.array({text})" if same else f'np.array({text}, "{value.dtype}")'
    long = isinstance(value, list | dict) and len(value) > _ROWS
    return None if long or len(text) > _LETTERS else text


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
