"""The check of the copy of the package that comes first on the path: ``python -P worker.py NAMES SEED EVERY``, in JSON.

Each finding that is not as expected is a line of JSON. The check is stopped after the first stage that has one, unless
every finding is asked for.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import dpcheck


def main(names: list[str], seed: int, every: bool) -> None:
    """Check these algorithms on one worker."""
    stages, red, kept = [""], set[str](), ("id", "subject", "verdict", "expected", "reason", "place", "surprise")

    def watch(stage: str, done: int, total: int) -> None:
        if red and stage not in red and not every:
            sys.exit(0)
        stages.append(stage)

    def look(finding: Any) -> None:
        if not finding.ok:
            red.add(stages[-1])
            print(json.dumps({"stage": stages[-1]} | {key: getattr(finding, key) for key in kept}), flush=True)

    dpcheck.check(names, seed=seed, jobs=1, watch=watch, on_finding=look)


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:]))
