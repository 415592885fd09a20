"""Decide all claims and measure all rates of seed 0, and write what the package ships of them; minutes."""

from __future__ import annotations

import json
import lzma
import os
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from dpcheck import __version__
from dpcheck.bounds.registry import PAPERS
from dpcheck.checks import rates
from dpcheck.checks.claims import decide
from dpcheck.checks.context import Context
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.shipped import CLAIMS, MEASUREMENTS, claims_of, measuring_digest, name_of, versions
from dpcheck.running.store import theory_digest
from dpcheck.solvers import ALGORITHMS


class _Kept:
    """A store that forgets nothing and knows nothing before it is told."""

    def __init__(self) -> None:
        self.chunks: dict[str, Any] = {}

    def get(self, key: list[Any]) -> Any:
        return self.chunks.get(name_of(key))

    def put(self, key: list[Any], value: Any) -> Any:
        self.chunks[name_of(key)] = json.loads(json.dumps(value))
        return self.chunks[name_of(key)]


def main() -> int:
    """Write both files; 1 where a verdict is not the expected one, which is never shipped."""
    jobs = os.cpu_count() or 1
    strange = []
    papers = {}
    for paper in PAPERS:
        print(f"claims of {paper}", file=sys.stderr)
        papers[paper] = claims_of(paper) or decide(paper, jobs)
        strange += [id for id, each in papers[paper].items() if expected_verdicts()[f"{paper}.{id}"] != each["verdict"]]
    kept = _Kept()
    for name in ALGORITHMS:
        for title, stage in rates.stages(Context(jobs=jobs, store=kept), name, {}):  # type: ignore[arg-type]
            print(f"{name}: {title}", file=sys.stderr)
            expected = expected_verdicts()
            strange += [each.id for each in stage() if each.verdict not in expected.get(each.id, "").split(" or ")]
    if strange:
        print(f"not expected, and nothing is written: {', '.join(strange)}", file=sys.stderr)
        return 1
    made = {"dpcheck": __version__}
    _write(CLAIMS, {**made, "code": theory_digest(), "versions": versions(), "papers": papers})
    _write(MEASUREMENTS, {**made, "code": measuring_digest(), "chunks": kept.chunks})
    return 0


def _write(name: str, value: dict[str, Any]) -> None:
    file = Path(str(resources.files("dpcheck.checks.shipped").joinpath(name)))
    file.write_bytes(lzma.compress(json.dumps(value).encode(), preset=9))


if __name__ == "__main__":
    sys.exit(main())
