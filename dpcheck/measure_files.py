"""The file of a measured table: rows are appended as they come, and those that it has are not measured again."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from dpcheck.errors import InputError, one_line, require
from dpcheck.files import write_text
from dpcheck.measure import Experiment


class Table:
    """The rows of an experiment that are known so far.

    rows : key -> the whole row, as text;  file : where they are kept, None for nowhere
    """

    def __init__(self, experiment: Experiment, file: str | None = None) -> None:
        """Start with what ``file`` holds, which InputError refuses unless all of it belongs to this experiment."""
        self.experiment, self.file = experiment, None if file is None else Path(file)
        self.rows: dict[tuple[str, ...], tuple[str, ...]] = {}
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
        for number, line in enumerate(lines[1:], 2):
            key = tuple(line[:keys])
            if len(line) != len(experiment.columns) or key not in asked or key in self.rows:
                said = ", ".join(f"{name} = {value}" for name, value in zip(experiment.keys, line, strict=False))
                raise self._refused(f"in line {number} {said}")
            self.rows[key] = tuple(line)

    @property
    def text(self) -> str:
        """Return the rows that are known, in the experiment's order, below a line of names."""
        known = [self.rows[row.key] for row in self.experiment.rows if row.key in self.rows]
        return _written(self.experiment.columns, *known)

    def fill(self, *, jobs: int | None = None, watch: Callable[[int, int], object] = lambda done, total: None) -> None:
        """Measure what is missing; ``watch`` is called as ``watch(rows known, rows in all)``.

        A row that is finished is in the file, whatever happens then. When all are there, they are put in order.
        """
        rows = self.experiment.rows
        missing = [row for row in rows if row.key not in self.rows]

        def keep(line: tuple[str, ...]) -> None:
            if self.file is not None:
                if not self.file.exists():
                    self._write(self.file)
                with self.file.open("a", encoding="utf-8", newline="") as stream:
                    stream.write(_written(line))
            self.rows[line[: len(self.experiment.keys)]] = line
            watch(len(self.rows), len(rows))

        if self.file is not None and self.file.exists():
            self._write(self.file)  # without a last line that was cut off
        watch(len(self.rows), len(rows))
        self.experiment.measure_all(missing, keep, jobs=jobs)
        if self.file is not None:
            self._write(self.file)

    def _write(self, file: Path) -> None:
        """Write the rows that are known, in order."""
        write_text(file, self.text)

    def _refused(self, found: str) -> InputError:
        return InputError(f"--output must be a new file, or hold rows of this command alone, got {self.file}: {found}")


def _written(*lines: tuple[str, ...]) -> str:
    stream = StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()
