"""The check of an edited copy of the package, stage by stage.

Run as a file with the copy first on the path (``python -P worker.py REQUEST``), so that the copy and nothing else is
imported. The request is the arguments of ``check`` in JSON, an answer a line of JSON a stage.
"""

from __future__ import annotations

import inspect
import json
import sys
import traceback
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

# Words of a stage's title -> its place in the order; what has none of them is deterministic and quick, and comes first.
QUICK, CLAIMS = 0, 2
PLACES = {
    "accounting": 1, "claims of": CLAIMS, "audits": 3, "audit on": 3, "rate of": 4, "escape": 4, "lower bounds": 4,
    "table 2": 4, "utility": 4, "dptd: dptd": 4,
}  # fmt: skip


def place(title: str) -> int:
    """Where a stage comes."""
    return next((number for words, number in PLACES.items() if words in title), QUICK)


def claims_of(paper: str, finding: str) -> Iterator[Any]:
    """The check's own findings on a paper's claims, that of this id first."""
    from dpcheck.bounds.registry import claims
    from dpcheck.bounds.workers import decide_all
    from dpcheck.checks.claims import as_finding, kept

    first = [claim for claim in claims(paper) if f"{paper}.{claim.id}" == finding]
    for some in (first, [claim for claim in claims(paper) if claim not in first]):
        for result in decide_all(some, paper, jobs=1, seconds=60.0) if some else ():
            yield as_finding(kept(result))


def check(names: list[str], seed: int, claims: bool, every: bool, first: tuple[str, str]) -> None:
    """Say of each stage what is red; stop after the first that has something, unless ``every`` one is asked for.

    Quick stages are finished; of claims, audits and rates the first red finding is enough.

    claims : whether the edit may change what is proved;  first : the stage and the finding to begin with
    """
    from dpcheck import checks
    from dpcheck.checks.context import Context
    from dpcheck.checks.expected import missing, with_expected
    from dpcheck.solvers import algorithm

    papers = dict.fromkeys(algorithm(name).paper for name in names if claims)
    given: dict[str, Any] = {"context": Context("quick", seed, 1), "names": names, "declared": [], "tables": {}}
    wanted = inspect.signature(checks._stages).parameters
    stages = [stage for stage in checks._stages(*(given[name] for name in wanted)) if place(stage[1]) != CLAIMS]
    stages += (("", f"claims of {paper}", partial(claims_of, paper, first[1])) for paper in papers)
    findings = []
    for name, title, work in sorted(stages, key=lambda stage: (stage[1] != first[0], place(stage[1]))):
        alarms = []
        for undecided in checks._run(name, title, work):
            findings.append(judged := with_expected(undecided))
            if not judged.ok:
                alarms.append(checks._placed(judged, name))
                if place(title) >= CLAIMS and not every:
                    break
        say(title, alarms)
        if alarms and not every:
            return
    say("missing findings", missing(findings, set(names), set(papers)))


def say(stage: str, alarms: Iterable[Any]) -> None:
    """A line on a stage: what a table keeps of its red findings."""
    kept = ("id", "subject", "verdict", "expected", "reason", "place", "surprise")
    red = [{key: getattr(finding, key) for key in kept} for finding in alarms]
    print(json.dumps({"stage": stage, "red": red}), flush=True)


if __name__ == "__main__":
    try:
        check(**json.loads(sys.argv[1]))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raised = {"reason": f"{type(error).__name__}: {error}"[:500], "place": f"{last.filename}:{last.lineno}"}
        print(json.dumps({"stage": "raised", **raised}), flush=True)
        sys.exit(3)
