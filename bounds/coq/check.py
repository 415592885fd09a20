"""Coq over all steps: find proofs for those that have none, or check again what is recorded."""

from __future__ import annotations

import itertools
import queue
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcheck.bounds.claim import Claim
from dpcheck.bounds.coq import kernel, session
from dpcheck.bounds.coq.kernel import Accepted
from dpcheck.bounds.coq.scripts import scripts
from dpcheck.bounds.coq.statement import Statement, statement

Watch = Callable[[str, str], object]  # a step's name, and "accepted" or Coq's message


@dataclass(frozen=True)
class Stated:
    """A step with its statement; ``name`` is the claim's id and the step's number in it."""

    name: str
    step: Any
    statement: Statement


def stated(claims: Iterable[Claim]) -> Iterator[Stated]:
    """Yield the steps of these claims that can be stated, each statement once."""
    seen: set[str] = set()
    for claim in claims:
        for number, step in enumerate(claim.decision().evidence.steps, start=1):
            found = statement(step)
            if found is not None and found.sha256 not in seen:
                seen.add(found.sha256)
                yield Stated(f"{claim.id} step {number}", step, found)


def find(steps: Iterable[Stated], *, jobs: int, seconds: float, watch: Watch) -> dict[str, Accepted]:
    """Return what Coq accepts of the steps: what is recorded already, and what is found now."""
    found: dict[str, Accepted] = {}
    open_steps = []
    for each in steps:
        script = kernel.proof(each.statement)
        if script is None:
            open_steps.append(each)
        else:
            found[each.statement.sha256] = kernel.recorded()[each.statement.sha256]

    def work(coq: session.Session, each: Stated) -> None:
        before = kernel.recorded().get(each.statement.sha256)
        said = "no script fits"
        for script in itertools.chain([before.proof] if before else [], scripts(each.step)):
            refusal = coq.check(each.statement, script)
            if refusal is None:
                found[each.statement.sha256] = Accepted(script, kernel.fingerprint(each.statement, script))
                watch(each.name, "accepted")
                return
            said = refusal
        watch(each.name, said)

    _run(open_steps, work, jobs, seconds)
    return found


def confirm(steps: Iterable[Stated], *, jobs: int, seconds: float, watch: Watch) -> tuple[list[str], set[str]]:
    """Check every recorded theorem again: the names of those refused, and the axioms used."""
    refused: list[str] = []
    axioms: set[str] = set()

    def work(coq: session.Session, each: Stated) -> None:
        script = kernel.proof(each.statement)
        assert script is not None
        said = coq.check(each.statement, script)
        if said is not None:
            refused.append(each.name)
        watch(each.name, said or "accepted")

    known = [each for each in steps if kernel.proof(each.statement) is not None]
    _run(known, work, jobs, seconds, axioms)
    return refused, axioms


def stale(steps: Iterable[Stated]) -> list[str]:
    """Return the hashes of recorded statements that no step makes."""
    return sorted(kernel.recorded().keys() - {each.statement.sha256 for each in steps})


def _run(
    steps: Iterable[Stated], work: Callable[[session.Session, Stated], None], jobs: int, seconds: float,
    axioms: set[str] | None = None,
) -> None:  # fmt: skip
    waiting: queue.SimpleQueue[Stated] = queue.SimpleQueue()
    for each in steps:
        waiting.put(each)
    failures: list[BaseException] = []

    def serve(folder: Path) -> None:
        try:
            with session.Session(folder, seconds) as coq:
                while not failures:
                    try:
                        each = waiting.get_nowait()
                    except queue.Empty:
                        break
                    work(coq, each)
                if axioms is not None:
                    axioms.update(coq.assumptions())
        except BaseException as error:
            failures.append(error)

    if waiting.empty():
        return
    with tempfile.TemporaryDirectory() as made:
        session.compile_library(Path(made))
        threads = [threading.Thread(target=serve, args=(Path(made),)) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
