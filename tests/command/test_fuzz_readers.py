"""Files that were spoilt: each reader returns what is there, or raises InputError of one sentence, within a second.

``DPCHECK_FUZZ=SECONDS`` goes on for so long with each reader, with other examples each time.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import readers
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dpcheck import InputError

LONG = float(os.environ.get("DPCHECK_FUZZ", 0))
_LONGEST, _SECONDS = 900, 1.0


def fuzzed(examples: int) -> settings:
    """Return the settings of a quick run, the same each time, or of a long one."""
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]
    common = settings(deadline=None, database=None, suppress_health_check=checks)
    if not LONG:
        return settings(common, max_examples=examples, derandomize=True, phases=[Phase.explicit, Phase.generate])
    return settings(common, max_examples=2_000)


def going_on(test: Callable[[], object]) -> None:
    """Run a test once, and again for as long as a long run takes."""
    end = time.monotonic() + LONG
    test()
    while time.monotonic() < end:
        test()


def test_every_reader_is_here() -> None:
    """A module that opens or parses files is fuzzed below, or reads nothing of others."""
    found = readers.calls()
    assert set(found) - {module for module, *_ in readers.READERS.values()} - readers.APART == set()
    beside = {module for module, used in found.items() if used & readers.OTHERS}
    assert beside - readers.APART == set(), "read files by dpcheck.reading"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", readers.READERS)
def test_a_good_file_is_read(name: str, tmp_path: Path) -> None:
    _, ending, good, read = readers.READERS[name]
    file = tmp_path / f"file{ending}"
    file.write_bytes(good())
    read(str(file))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", readers.READERS)
def test_a_spoilt_file_is_read_or_refused(name: str) -> None:
    _, ending, good, read = readers.READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"file{ending}")

        @fuzzed(30)
        @given(st.data())
        def spoil(data: st.DataObject) -> None:
            file.write_bytes(data.draw(readers.spoilt(good(), ending)))
            started = time.process_time()
            try:
                read(str(file))
            except InputError as error:
                said = str(error)
                assert "\n" not in said and 0 < len(said) < _LONGEST, said
            assert time.process_time() - started < _SECONDS

        going_on(spoil)
