"""A fault planted in users' code, or its clean twin, and how its owner would look for it.

The lines at fault end in ``# fault``. A case is tried through one of dpcheck's own doors, and what that prints is read
for a verdict, for words that name the part, and for a place ``FILE:LINE`` in the code of the case.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dpcheck
from dpcheck.audits.step_parts import TrainingStep

CASES: list[Case] = []
LONGEST = 600  # seconds for a case, on a machine that others use as well
_PLACE = r"%s:(\d+)"


@dataclass
class Case:
    """Code with a fault in ``part``, or without one where that is empty.

    part : a pattern of words that name it, none of which the door says of every fault
    way : the door (a function below)
    """

    name: str
    kind: str
    way: Callable[[Any, dict[str, Any]], str]
    code: Any
    part: str
    settings: dict[str, Any] = field(repr=False)

    def look(self) -> dict[str, Any]:
        """Try it, and say what came out."""
        began, text, error = time.perf_counter(), "", ""
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(LONGEST)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                text = self.way(self.code, self.settings)
        except (Exception, SystemExit) as problem:
            error = f"{type(problem).__name__}: {problem}"
        finally:
            signal.alarm(0)
        seconds = time.perf_counter() - began
        bad = "\n".join(line for line in text.splitlines() if line.startswith("violated"))
        line = self._line(bad)
        found = bool(bad)
        named = found and bool(self.part) and bool(re.search(self.part, bad, re.IGNORECASE))
        return {
            "case": self.name, "kind": self.kind, "way": self.way.__name__, "fault": bool(self.part), "found": found,
            "part": named, "line": line if found else "", "seconds": round(seconds, 1),
            "said": " ".join((bad or error or text).split())[:400],
        }  # fmt: skip

    def _line(self, text: str) -> str:
        """Return "fault" where a line at fault is given, "function" for another one of its body, or nothing."""
        source, first = inspect.getsourcelines(self.code)
        place = _PLACE % re.escape(Path(str(inspect.getsourcefile(self.code))).name)
        given = {int(n) for n in re.findall(place, text)}
        given |= {int(n) for n in re.findall(r"\bline (\d+)", text)} if given else set()
        faulty = {n for n, text in enumerate(source, first) if "# fault" in text}
        body = {n for n, text in enumerate(source, first) if not re.match(r"\s*(@|def |class )", text)}
        return "fault" if given & faulty else "function" if given & body else ""


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"stopped after {LONGEST} s")


def planted(way: Callable[..., str], part: str = "", kind: str = "", **settings: Any) -> Any:
    """Register the function or class below; an empty ``part`` makes it a clean twin."""

    def keep(code: Any) -> Any:
        CASES.append(Case(code.__name__, kind, way, code, part, settings))
        return code

    return keep


def _lines(findings: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{verdict}: {' '.join(text.split())}" for verdict, text in findings)


def check(step: Any, fields: dict[str, Any]) -> str:
    """``dpcheck.check`` of what is declared; epsilon is what the events are certified at, or what is given."""
    fields = {"name": step.__name__, "delta": 1e-5} | fields
    as_run = fields.pop("whole", False)
    if "epsilon" not in fields:
        fields["epsilon"] = dpcheck.certify(fields["events"], delta=fields["delta"]).epsilon * 1.0001
    made = fields.pop("make", None)
    algorithm = dpcheck.Algorithm(**{"run" if as_run else "step": made(step) if made else step}, **fields)
    report = dpcheck.check(algorithm, profile="quick")
    return _lines((f.verdict, f"{f.id.rpartition('.')[2]} {f.reason} in {f.place}") for f in report.findings)


def step(gradient: Any, given: dict[str, Any]) -> str:
    """``dpcheck.audit_training_step`` of a gradient, or of code that sets a step up (``builds``)."""
    given = dict(given)
    parts = {name: given.pop(name) for name in ("sampler", "clip", "noise", "divisor", "params") if name in given}
    made = gradient if given.pop("builds", False) else TrainingStep(gradient, **parts)
    records = given.pop("records")
    audit = dpcheck.audit_training_step(made, records, **given)
    return _lines((f.verdict, f"{f.part}: {f.reason}. {f.change} {getattr(f, 'place', '')}") for f in audit.findings)


def drawn_by(sampler: Any, given: dict[str, Any]) -> str:
    """The same audit of the sampler of a step."""
    given = given | {"sampler": sampler}
    return step(given.pop("gradient"), given)


def privacy(mechanism: Any, given: dict[str, Any]) -> str:
    """``dpcheck.testing.assert_private``, as in somebody's tests."""
    from dpcheck.testing import assert_private

    given = dict(given)
    data, neighbour = given.pop("data"), given.pop("neighbour")
    try:
        audit = assert_private(mechanism, data, neighbour, **given)
    except AssertionError as failure:
        return "violated: " + " ".join(str(failure).split())
    return f"consistent: {audit}"


def tables(pipeline: Any, given: dict[str, Any]) -> str:
    """``dpcheck.audit_tables`` of a pipeline."""
    audit = dpcheck.audit_tables(pipeline, given["data"], given["neighbour"], epsilon=given["epsilon"])
    return _lines([(audit.verdict, audit.reason), *((seen.verdict, seen.reason) for seen in audit.observations)])


def neighbours(mechanism: Any, given: dict[str, Any]) -> str:
    """``dpcheck.audit_neighbours`` of pairs."""
    given = dict(given)
    audit = dpcheck.audit_neighbours(mechanism, given.pop("pairs"), **given)
    return " ".join(str(audit).split())


def randomness(mechanism: Any, given: dict[str, Any]) -> str:
    """``dpcheck.audit_randomness``, which opens the mechanism."""
    given = dict(given)
    audit = dpcheck.audit_randomness(mechanism, given.pop("data"), given.pop("neighbour", None), **given)
    return _lines((o.verdict, o.reason) for o in audit.observations)


def command(mechanism: Any, given: dict[str, Any]) -> str:
    """``dpcheck audit FILE.py:FUNCTION``."""
    from dpcheck.cli import main

    file = inspect.getsourcefile(mechanism)
    arguments = ["audit", f"{file}:{mechanism.__name__}", "--format", "json"]
    for name, value in given.items():
        arguments += (
            [f"--{name}"] if value is True else [f"--{name}", value if isinstance(value, str) else json.dumps(value)]
        )
    shown, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(errors), contextlib.suppress(SystemExit):
        main(arguments)
    if not shown.getvalue().startswith("{"):
        raise RuntimeError(errors.getvalue() or shown.getvalue())
    report = json.loads(shown.getvalue())
    return f"{report['verdict']}: {report.get('hint', '')}"
