"""The file of a measured table, and its store: rows are added as they come, and those known are not measured again."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from dpcheck import __version__
from dpcheck.algorithms.measure import Experiment
from dpcheck.errors import InputError, one_line, require
from dpcheck.report.findings import Report
from dpcheck.running.executor import Executor
from dpcheck.running.files import write_text
from dpcheck.running.provenance import provenance
from dpcheck.running.store import Store


class Table:
    """The rows of an experiment that are known so far.

    rows : key -> the whole row, as text;  file : where they are kept, None for nowhere;  store : likewise
    """

    def __init__(self, experiment: Experiment, file: str | None = None, store: Store | None = None) -> None:
        """Start with what ``file`` holds, which InputError refuses unless all of it belongs to this experiment."""
        self.experiment, self.file, self.store = experiment, None if file is None else Path(file), store
        self.rows: dict[tuple[str, ...], tuple[str, ...]] = {}
        for row in experiment.rows if store is not None else ():
            assert store is not None
            known = store.get(self._key(row.key))
            if known is not None:
                self.rows[row.key] = tuple(known)
        if self.file is None or not self.file.exists():
            return
        require(self.file.is_file(), "--output", "be a file that rows can be added to", self.file)
        try:
            kept = self.file.read_text("utf-8")
            lines = list(csv.reader(StringIO(kept[: kept.rfind("\n") + 1]), strict=True))
        except (OSError, ValueError, csv.Error) as error:
            raise self._refused(one_line(error)) from error
        if kept and (not lines or tuple(lines[0]) != experiment.columns):
            raise self._refused(f"columns {', '.join(lines[0]) if lines else one_line(kept[:80])}")
        asked, keys = {row.key for row in experiment.rows}, len(experiment.keys)
        seen: set[tuple[str, ...]] = set()
        for number, line in enumerate(lines[1:], 2):
            key = tuple(line[:keys])
            if len(line) != len(experiment.columns) or key not in asked or key in seen:
                said = ", ".join(f"{name} = {value}" for name, value in zip(experiment.keys, line, strict=False))
                raise self._refused(f"in line {number} {said}")
            seen.add(key)
            self.rows[key] = tuple(line)

    def _key(self, row: tuple[str, ...]) -> list[Any]:
        return ["measure", *self.experiment.columns, *row]

    @property
    def text(self) -> str:
        """Return the rows that are known, in the experiment's order, below a line of names."""
        known = [self.rows[row.key] for row in self.experiment.rows if row.key in self.rows]
        return _written(self.experiment.columns, *known)

    def fill(
        self, *, jobs: int | None = None, executor: Executor | None = None,
        watch: Callable[[int, int], object] = lambda done, total: None,
    ) -> None:  # fmt: skip
        """Measure what is missing; ``watch`` is called as ``watch(rows known, rows in all)``.

        A row that is finished is in the file, whatever happens then. When all are there, they are put in order.
        """
        rows = self.experiment.rows
        missing = [row for row in rows if row.key not in self.rows]

        def keep(line: tuple[str, ...]) -> None:
            key = line[: len(self.experiment.keys)]
            if self.store is not None:
                self.store.put(self._key(key), line)
            if self.file is not None:
                if not self.file.exists():
                    self._write(self.file)
                self._add(self.file, line)
            self.rows[key] = line
            watch(len(self.rows), len(rows))

        if self.file is not None and self.file.exists():
            self._write(self.file)  # without a last line that was cut off
        watch(len(self.rows), len(rows))
        self.experiment.measure_all(missing, keep, jobs=jobs, executor=executor)
        if self.file is not None:
            self._write(self.file)

    def report(self, seconds: float) -> Report:
        """The table as a run that a store keeps and ``dpcheck compare`` reads."""
        first = self.experiment.rows[0].settings
        names = self.experiment.columns
        known = [self.rows[row.key] for row in self.experiment.rows if row.key in self.rows]
        rows = [{name: _value(cell) for name, cell in zip(names, row, strict=True)} for row in known]
        title = " ".join(str(first[name]) for name in ("algorithm", "problem", "variant"))
        named = (str(first["algorithm"]),)
        return Report((), named, "measure", 0, __version__, seconds, {title: rows}, provenance())

    def _add(self, file: Path, line: tuple[str, ...]) -> None:
        try:
            with file.open("a", encoding="utf-8", newline="") as stream:
                stream.write(_written(line))
        except OSError as error:
            raise InputError(f"--output must be a writable file, got {file}: {error.strerror}") from error

    def _write(self, file: Path) -> None:
        """Write the rows that are known, in order."""
        write_text(file, self.text)

    def _refused(self, found: str) -> InputError:
        return InputError(f"--output must be a new file, or hold rows of this command alone, got {self.file}: {found}")


def _written(*lines: tuple[str, ...]) -> str:
    stream = StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()


def _value(cell: str) -> str | float:
    """A cell's number, or its text."""
    try:
        return float(cell) if cell else ""
    except ValueError:
        return cell
