"""Checks of an edited copy of the package: a process that has loaded what no edit changes, and forks for each request.

Run as a file with the copy first on the path (``python -P worker.py``), so that the copy and nothing else is imported.
Requests are lines of JSON on stdin, answers lines of JSON on stdout: first the files that are loaded, then for each
request the process's number, a line a stage, and ``done``.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

# Words of a stage's title -> its place in the order; what has none of them is deterministic and quick, and comes first.
QUICK, CLAIMS = 0, 2
PLACES = {
    "accounting": 1, "claims of": CLAIMS, "audits": 3, "audit on": 3, "rate of": 4, "escape": 4, "lower bounds": 4,
    "table 2": 4, "utility": 4, "dptd: dptd": 4,
}  # fmt: skip
# Where the edited file lies -> words of the stages that look at it, which come before all others.
FIRST = {
    "dpcheck/accounting/": ("accounting",), "dpcheck/audits/": ("testers",),
    "dpcheck/catalogue/bases/": ("base solvers",),
    "dpcheck/bounds/": ("schedule", "claims of"), "dpcheck/checks/privacy/": ("audits",),
    "dpcheck/algorithms/kernels/transcripts.py": ("testers", "audits"),
    "dpcheck/problems/": ("closed forms", "constants"),
}  # fmt: skip


def say(**answer: Any) -> None:
    """One line."""
    os.write(1, (json.dumps(answer) + "\n").encode())


def place(title: str) -> int:
    """Where a stage comes."""
    return next((number for words, number in PLACES.items() if words in title), QUICK)


def near(title: str, edited: list[str]) -> bool:
    """Whether a stage looks at an edited file itself."""
    return any(
        word in title
        for path, words in FIRST.items()
        for word in words
        if any(file.startswith(path) for file in edited)
    )


def claims_of(paper: str, edited: list[str]) -> Iterator[Any]:
    """The check's own findings on a paper's claims; first those of the edited files, and of theorems stated there."""
    from dpcheck.bounds.registry import claims
    from dpcheck.bounds.workers import decide_all
    from dpcheck.checks.claims import as_finding, kept
    from dpcheck.checks.place import place_of_claim

    stems = [os.path.splitext(os.path.basename(file))[0] for file in edited]

    def about(claim: Any) -> bool:
        said = [place_of_claim(claim), *(carried.theorem for carried in claim.carries)]
        return any(stem in text for stem in stems for text in said)

    found = claims(paper)
    first = [claim for claim in found if about(claim)]
    for some in (first, [claim for claim in found if claim not in first]):
        for result in decide_all(some, paper, jobs=1, seconds=60.0) if some else ():
            yield as_finding(kept(result))


def stages(
    names: list[str], seed: int, claims: bool, edited: list[str]
) -> Iterator[tuple[str, str, Callable[[], Iterable[Any]]]]:
    """The check's own: those that look at the edited files, the quick ones, then the rest in order of cost.

    ``claims`` : whether the edit may change what is proved;  ``edited`` : the files that it changes
    """
    from dpcheck import checks
    from dpcheck.checks.context import Context
    from dpcheck.solvers import algorithm

    papers = dict.fromkeys(algorithm(name).paper for name in names)
    given: dict[str, Any] = {"context": Context("quick", seed, 1), "names": names, "declared": [], "tables": {}}
    wanted = inspect.signature(checks._stages).parameters
    found = [each for each in checks._stages(*(given[name] for name in wanted)) if place(each[1]) != CLAIMS]
    if claims:
        found += (("", f"claims of {paper}", partial(claims_of, paper, edited)) for paper in papers)
    yield from sorted(found, key=lambda each: (not near(each[1], edited), place(each[1])))


def red(finding: Any) -> dict[str, Any]:
    """What a table keeps of a finding."""
    kept = {key: getattr(finding, key) for key in ("id", "kind", "subject", "verdict", "expected", "reason", "place")}
    return kept | {"surprise": finding.surprise}


def check(
    names: list[str], seed: int = 0, claims: bool = True, every: bool = False, edited: Sequence[str] = ()
) -> None:
    """Say of each stage what is red; stop after the first that has something, unless ``every`` one is asked for.

    Quick stages are finished, of claims, audits and rates the first red finding is enough.
    """
    from dpcheck import checks
    from dpcheck.checks.expected import missing, with_expected
    from dpcheck.solvers import algorithm

    found = []
    for name, title, work in stages(names, seed, claims, list(edited)):
        started, alarms = time.perf_counter(), []
        for finding in checks._run(name, title, work):
            judged = with_expected(finding)
            found.append(judged)
            if not judged.ok:
                alarms.append(red(checks._placed(judged, name)))
                if place(title) >= CLAIMS and not every:
                    break
        say(stage=title, seconds=round(time.perf_counter() - started, 2), red=alarms)
        if alarms and not every:
            return
    papers = {algorithm(name).paper for name in names} if claims else ()
    say(stage="missing findings", seconds=0.0, red=[red(finding) for finding in missing(found, names, papers)])


def serve() -> None:
    """Load what the bounds need, then fork for each request."""
    if "bare" not in sys.argv:
        import numba  # noqa: F401
        import pandas  # noqa: F401
        import scipy.stats  # noqa: F401

        from dpcheck.bounds.registry import theorems

        theorems()
    files = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    say(loaded=[os.path.realpath(file) for file in files if f"{os.sep}dpcheck{os.sep}" in file])
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.setsid()
            say(process=os.getpid())
            try:
                check(**json.loads(line))
            except BaseException as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                say(error=f"{type(error).__name__}: {error}"[:500], place=f"{place.filename}:{place.lineno}")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say(done=status)


if __name__ == "__main__":
    serve()
