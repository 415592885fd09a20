"""The lines of a function that matter to privacy: it runs on two data sets with the same draws, watched line by line.

What differs between the two runs, the record alone explains. Only lines of the function itself count: a helper that
draws or clips is seen where it is called.
"""

from __future__ import annotations

import dis
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any
from zlib import crc32

import numpy as np

from dpcheck.arrays import Floats, real_numbers
from dpcheck.source import code_of

_MOST_LINES, _MOST_NUMBERS = 3_000, 100_000  # watched in one call, and held of one variable
_MOST_READ = 3_000_000  # numbers in one call, some 0.2 s
_CLOSE = 1e-9  # relative: rounding
_SIZES = ("shape", "size", "ndim", "dtype")


@dataclass
class Watched:
    """One call: its lines in order, and what the line of that number in the order drew, changed and kept.

    draws : (line, (method, law, scales and chances)) of each draw
    changes : (place in the order, -1 for arguments; variable, "return" for what is returned; numbers)
    kept : lines after which what the probe sees was another
    any_drawn : whether anything was drawn, watched or later
    """

    lines: list[int] = field(default_factory=list)
    draws: list[tuple[int, Any]] = field(default_factory=list)
    changes: list[tuple[int, str, Floats]] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    any_drawn: bool = False


def watched(
    function: Callable[..., Any], call: Callable[[Any], Any], rng: Any, probe: Callable[[], Any] | None = None
) -> Watched:
    """Watch the first call of a function within ``call(rng)``, a :class:`~.audits.running.recorder.Recorder`."""
    seen = _Watch(code_of(function), rng, probe)
    before = sys.gettrace()
    sys.settrace(seen.entered)
    try:
        call(rng)
    except Exception:  # what it raises is no matter here: the lines until then count
        pass
    finally:
        sys.settrace(before)
    seen.result.any_drawn = bool(rng.draws)
    return seen.result


class _Watch:
    def __init__(self, code: CodeType | None, rng: Any, probe: Callable[[], Any] | None) -> None:
        self.code, self.rng, self.probe = code, rng, probe
        self.result = Watched()
        self.frame: FrameType | None = None
        self.held: dict[str, Floats | None] = {}
        self.drawn, self.kept, self.read = 0, None, 0

    def entered(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not self.code or self.frame is not None:
            return None
        self.frame, self.drawn = frame, len(self.rng.draws)
        self.held = {name: self._numbers(value) for name, value in frame.f_locals.items()}
        self.result.changes = [(-1, name, value) for name, value in self.held.items() if value is not None]
        self.kept = self.probe() if self.probe else None
        return self.traced

    def traced(self, frame: FrameType, event: str, returned: Any) -> Any:
        if event in ("line", "return") and self.result.lines:
            self._close(frame, {"return": returned} if event == "return" else {})
        if event == "line":
            self.result.lines.append(frame.f_lineno)
        if len(self.result.lines) >= _MOST_LINES or self.read > _MOST_READ:
            sys.settrace(None)  # a tracer that returns None goes on
        return self.traced

    def _numbers(self, value: Any) -> Floats | None:
        size = _size(value)
        self.read += size if size <= _MOST_NUMBERS else 0
        if size > _MOST_NUMBERS:
            return None
        numbers = _numbers(value)
        return _digest(value) if numbers is None else numbers

    def _close(self, frame: FrameType, more: dict[str, Any]) -> None:
        """Note what the line before has done."""
        order, line = len(self.result.lines) - 1, self.result.lines[-1]
        for name, value in {**frame.f_locals, **more}.items():
            now, then = self._numbers(value), self.held.get(name)
            if now is not None and (then is None or not _same(now, then)):
                self.result.changes.append((order, name, now))
            self.held[name] = now
        for draw in self.rng.draws[self.drawn :]:
            chances = draw.arguments.get("p")
            how = (draw.scale, np.zeros(0) if chances is None else np.asarray(chances, float))
            self.result.draws.append((line, (draw.method, draw.law, how)))
        self.drawn = len(self.rng.draws)
        if self.probe and (kept := self.probe()) != self.kept:
            self.result.kept.append(line)
            self.kept = kept


@dataclass(frozen=True)
class Lines:
    """Lines of a function, 0 where there is none.

    noise : the first that draws noise, or where none does the first that draws;  query : the last before it that
    changes what the record moves;  mixed : the first that lets one record move the rows of others;  parted : after
    which the two runs go different ways or draw different things;  scaled : that draws the same in another way, such as
    noise of another scale;  later : reads the data below all that draw noise
    """

    noise: int = 0
    query: int = 0
    mixed: int = 0
    parted: int = 0
    scaled: int = 0
    later: int = 0
    any_drawn: bool = False

    @property
    def told(self) -> tuple[str, int]:
        """What a line does that private code seldom does, and its number; nothing where none does."""
        if self.mixed:
            return f"line {self.mixed} lets one record change those of others", self.mixed
        if self.scaled:
            return f"line {self.scaled} draws noise, or chooses, in a way that the data decide", self.scaled
        if self.parted:
            return f"line {self.parted} decides by the data how the run goes on or what it draws", self.parted
        if self.later:
            return f"line {self.later} reads the data after the noise", self.later
        return "", 0

    @property
    def made(self) -> tuple[str, int]:
        """The lines that make what the record moves and that draw noise, and the number of the one to look at."""
        if self.query and self.query == self.noise:
            return f"line {self.noise} makes what the record moves and draws from rng", self.noise
        made = [f"line {self.query} makes what the record moves"] if self.query else []
        if self.noise or not self.any_drawn:
            made.append(f"line {self.noise} draws from rng" if self.noise else "nothing is drawn from rng")
        return " and ".join(made), self.noise or self.query


def reading(function: Callable[..., Any], name: str, *, sizes: bool) -> list[int]:
    """Return the lines of a function that read one of its variables; ``sizes``: also its size alone."""
    code = code_of(function)
    if code is None:
        return []
    found = set()
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("PUSH_NULL", "CACHE")]
    for before, step, after in zip([None, *steps], steps, [*steps[1:], None], strict=False):
        size = not sizes and (
            (before is not None and before.argval == "len") or (after is not None and after.argval in _SIZES)
        )
        several = step.argval if isinstance(step.argval, tuple) else (step.argval,)  # as Python 3.13 loads variables
        if name in several and "LOAD" in step.opname and not size and step.positions:
            found.add(step.positions.lineno or 0)
    return sorted(found - {0})


def compared(one: Watched, other: Watched, records: int, read: Sequence[int] = ()) -> Lines:
    """Find the lines, from runs on two data sets that differ in one of so many records; ``read``: that read them."""
    noise = next((line for line, (_, law, *_) in one.draws if law), one.draws[0][0] if one.draws else 0)
    last = one.lines.index(noise) if noise in one.lines else len(one.lines)
    query, mixed, alone = 0, 0, False
    for (order, name, here), (again, same, there) in zip(one.changes, other.changes, strict=False):
        if (order, name) != (again, same):
            break
        if here.shape == there.shape and _same(here, there):
            continue
        if 0 <= order and (order < last or not query):
            query = one.lines[order]
        if here.shape == there.shape and here.ndim and len(here) == records > 2:
            rows = np.abs(here - there).reshape(records, -1).max(1) > _CLOSE * np.abs(here).max(initial=1e-300)
            mixed = mixed or (one.lines[order] if alone and rows.sum() > 1 and order >= 0 else 0)
            alone = alone or rows.sum() == 1
    parted = 0
    for place, (line, now) in enumerate(zip(one.lines, other.lines, strict=False)):
        if line != now:
            before = one.lines[place - 1]
            parted = before if one.lines.count(before) == 1 else 0  # in a loop a record may choose its own way
            break
    scaled = 0
    for (line, drawn), (_, there) in zip(one.draws, other.draws, strict=False):
        if drawn[:2] != there[:2]:
            parted = parted or line
            break
        if not all(map(_same, drawn[2], there[2])):
            scaled = line
            break
    noisy = [line for line, (_, law, *_) in one.draws if law]
    later = next((line for line in read if noisy and line > max(noisy)), 0)
    return Lines(noise, query, mixed, parted, scaled, later, one.any_drawn)


def _size(value: Any) -> int:
    """Return how many numbers there are in a variable, or how many there seem to be: reading them takes time."""
    try:
        if isinstance(value, Mapping):
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            return len(value) * max(1, _size(value[0])) if value else 1
        return max(1, math.prod(getattr(value, "shape", ())))
    except Exception:  # whatever a stranger's class makes of being asked
        return 1


def _numbers(value: Any) -> Floats | None:
    """Return a copy of the numbers of a variable, None where it is something else."""
    try:
        if isinstance(value, Mapping):
            value = list(value.values())
        return np.array(real_numbers(value, "it"))
    except Exception:  # whatever a stranger's class makes of being read
        if not isinstance(value, (list, tuple)) or not any(np.ndim(part) for part in value):
            return None
    parts = [found for part in value if (found := _numbers(part)) is not None]
    return np.concatenate([part.ravel() for part in parts]) if parts else None


def _digest(value: Any) -> Floats | None:
    """Return a number that stands for words, or for words and numbers together; None for other objects."""
    if hasattr(value, "to_numpy"):  # a table's cells and labels
        value = [_listed(getattr(value, name, ())) for name in ("values", "index", "columns")]
    value = _listed(value)
    return np.array([float(crc32(repr(value).encode()))]) if _is_plain(value) else None


def _listed(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _is_plain(value: Any) -> bool:
    """Whether the text of a value shows all that it holds, and nothing else, such as where it lies."""
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, bytes, int, float, np.generic))


def _same(one: Floats, other: Floats) -> bool:
    if one.shape != other.shape:
        return False
    if np.array_equal(one, other):
        return True
    with np.errstate(invalid="ignore"):
        return bool(np.allclose(one, other, rtol=_CLOSE, atol=0, equal_nan=True))
