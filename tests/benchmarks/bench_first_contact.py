"""The check beside that of an earlier commit: cold and warm, in one run, and when the first epsilon is on the screen.

    pytest -n 0 -s tests/benchmarks/bench_first_contact.py            # dp_sgda
    pytest -n 0 -s tests/benchmarks/bench_first_contact.py -k catalogue

Each commit is cloned and installed in an environment of its own, as the README says. Cold means that nothing was
compiled or decided before; warm is the same command again. Nothing is asserted but the exit codes: read the ratios.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

resource = pytest.importorskip("resource")
ROOT = Path(__file__).resolve().parents[2]
BEFORE = os.environ.get("DPCHECK_BEFORE", "d8e2156")
# A finding's line with an epsilon, as the command says it while it works; before it did, the report was the first.
EPSILON = re.compile(r"audited [\d.]+ <=|certified [\d.]+")


class Timed(NamedTuple):
    """Seconds of the clock, of the processors, and until the first epsilon; lines of the report."""

    wall: float
    processors: float
    first: float
    lines: int


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The command of each commit."""
    if subprocess.run(["git", "-C", ROOT, "cat-file", "-e", BEFORE], capture_output=True).returncode:
        pytest.skip(f"the commit {BEFORE} is not in this clone")
    found = {}
    for name, commit in (("before", BEFORE), ("now", "HEAD")):
        clone = tmp_path_factory.mktemp(name) / "clone"
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        subprocess.run(["git", "-C", clone, "checkout", "-q", commit], check=True)
        subprocess.run([sys.executable, "-m", "venv", clone / ".venv"], check=True)
        subprocess.run([clone / ".venv/bin/pip", "install", "-q", "."], cwd=clone, check=True)
        found[name] = clone / ".venv/bin/dpcheck"
    return found


def timed(command: Path, names: list[str], cache: Path) -> Timed:
    """Run a check in a folder of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "COLUMNS": "80", "NUMBA_CACHE_DIR": str(cache / "numba")}
    used, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(
        [command, "check", *names], cwd=cache, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        first, lines = float("nan"), 0
        for line in process.stdout or ():
            if first != first and EPSILON.search(line):
                first = time.perf_counter() - begin
            lines += 1
    wall, now = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0
    return Timed(wall, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, first, lines)


@pytest.mark.parametrize("names", [["dp_sgda"], []], ids=["dp_sgda", "catalogue"])
def test_check(names: list[str], commands: dict[str, Path], tmp_path: Path) -> None:
    print(f"\n{' '.join(names) or 'all algorithms'}, {os.cpu_count()} cores; ratios are to {BEFORE}")
    rows: dict[tuple[str, str], Timed] = {}
    for name, command in commands.items():
        cache = tmp_path / name
        cache.mkdir()
        for heat in ("cold", "warm"):
            rows[name, heat] = timed(command, names, cache)
        shutil.rmtree(cache)
    print(f"{'':<12}{'clock':>9}{'ratio':>7}{'processors':>12}{'ratio':>7}{'first epsilon':>15}{'of before':>11}")
    for heat in ("cold", "warm"):
        for name in commands:
            row, before = rows[name, heat], rows["before", heat]
            print(
                f"{name + ' ' + heat:<12}{row.wall:>7.1f} s{row.wall / before.wall:>7.2f}{row.processors:>10.1f} s"
                f"{row.processors / before.processors:>7.2f}{row.first:>13.1f} s{row.first / before.wall:>11.2f}"
            )
