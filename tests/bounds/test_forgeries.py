"""No forged step and no patched module makes a verdict: the table of ``forgeries.py``, as claims of files.

The suite judges a slice in one patched file. All of them take three minutes of one core:
``pytest -n 0 -m experiment tests/bounds/test_forgeries.py --keep-tables`` writes ``measured/forgeries.csv``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd
import pytest
from forgeries import HEAD, PATCHES, STEPS
from tables import read

from dpcheck.bounds import registry
from dpcheck.errors import InputError

SLICE = ("a decimal third", "binomial at -2", "a lying function", "equal to everything", "a free power of d",
         "a domain of no cases", "a step of one's own", "no value at all", "a side changed later")  # fmt: skip
Row = tuple[str, str, str, str]  # what was tried, which, the verdict, and what is printed with it


def patched(folder: Path, name: str) -> Row:
    """Judge the one claim of a file that patches modules."""
    (folder / "own.py").write_text(HEAD + PATCHES[name], "utf-8")
    try:
        (result,) = registry.prove(str(folder / "own.py"), jobs=1)
    except InputError as error:
        return "module", name, "refused", str(error).replace(str(folder), "")
    return "module", name, result.verdict, f"{result.statement}: {result.note}"


def forged(folder: Path, chosen: Iterable[str], patch: str = "") -> list[Row]:
    """Judge many steps in one file, each built by the function that decides its claim."""
    claims = (
        f"def step_{number}():\n    return judged({STEPS[name]})\n"
        f"C{number} = Claim({name!r}, 'm', 'c', 'words', 'l', step_{number})\n"
        for number, name in enumerate(chosen)
    )
    (folder / "own.py").write_text(HEAD + patch + "\n".join(claims), "utf-8")
    results = registry.prove(str(folder / "own.py"), jobs=1)
    return [("step", each.claim.id, each.verdict, f"{each.statement}: {each.note}") for each in results]


def test_a_slice_comes_out_as_in_the_table(tmp_path: Path) -> None:
    rows = forged(tmp_path, SLICE, "AtMost.holds = Identity.holds = Inequality.holds = lambda self: True\n")
    kept = read("forgeries").set_index("name").verdict
    assert {name: verdict for _, name, verdict, _ in rows} == {name: kept[name] for name in SLICE}


def test_the_table_holds_all_and_nothing_is_proved() -> None:
    kept = read("forgeries")
    assert [*kept.name] == [*STEPS, *PATCHES] and len(kept) >= 80
    assert set(kept.verdict) == {"refuted", "unresolved", "refused"}


@pytest.mark.experiment
def test_no_forgery_is_proved(tmp_path: Path, keep: Callable[[str, pd.DataFrame], None]) -> None:
    rows = [*forged(tmp_path, STEPS), *(patched(tmp_path, name) for name in PATCHES)]
    frame = pd.DataFrame(rows, columns=["forged", "name", "verdict", "printed"])
    assert set(frame.verdict) <= {"refuted", "unresolved", "refused"}
    keep("forgeries", frame)
