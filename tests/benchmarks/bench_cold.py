"""`dpcheck solve` of every algorithm on its default problem, nothing compiled before, each in a process of its own.

    pip install '.[test,benchmark]' && pytest -n 0 tests/benchmarks/bench_cold.py

Each prints the seconds and the processor's seconds of a first run, with an empty folder for compiled code, and of a
second one, and, as a measure of the machine at that moment, those of a fixed loop in Python. The limit is on the
processor's seconds: on an idle core the two are the same, and on a shared machine these change less, though they do.
Three larger problems are timed beside the default ones and have no limit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from dpcheck.solvers import ALGORITHMS

resource = pytest.importorskip("resource")
LIMIT = 20.0
CASES = [
    *([name] for name in ALGORITHMS),
    ["dp_sgda", "--problem", "auc"],
    ["dp_sgda", "eta=0.1", "--problem", "auc_mlp"],
    ["dptd", "--problem", "td_mlp"],
]


def reference():
    """Seconds of the processor that ten million additions in Python take."""
    begin = time.process_time()
    sum(i for i in range(10_000_000))
    return time.process_time() - begin


def timed(arguments, folder):
    """Seconds, and seconds of the processor, of the command as a process on one core."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "NUMBA_DISABLE_JIT": "0", "OPENBLAS_NUM_THREADS": "1"}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "dpcheck", "solve", *arguments], env=environment, check=True, capture_output=True
    )
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_first_answer(capsys, tmp_path, arguments):
    first, second = timed(arguments, tmp_path), timed(arguments, tmp_path)
    with capsys.disabled():
        print(
            f"\n{' '.join(arguments):<40} first {first[0]:5.1f} s, processor {first[1]:5.1f} s; "
            f"again {second[0]:4.1f} s, processor {second[1]:4.1f} s; loop {reference():.2f} s"
        )
    assert len(arguments) > 1 or first[1] < LIMIT
