"""``python -m dpcheck.bounds.coq``: find proofs for new steps and record them, or check all again.

Without an argument, the steps whose theorem is not recorded yet are tried, and ``kernel.json`` is
written; the change is then read by a person before it is kept. With ``--all`` every recorded theorem
is checked again and nothing is written.
"""

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from dpcheck.bounds.claim import Claim
from dpcheck.bounds.coq import kernel
from dpcheck.bounds.coq.scripts import scripts
from dpcheck.bounds.coq.statement import Statement, statement
from dpcheck.bounds.registry import claims
from dpcheck.errors import InputError

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
            theorem = statement(step)
            if theorem is not None and theorem.sha256 not in seen:
                seen.add(theorem.sha256)
                yield Stated(f"{claim.id} step {number}", step, theorem)


def find(steps: Iterable[Stated], *, jobs: int, seconds: float, watch: Watch) -> dict[str, kernel.Accepted]:
    """Return the theorems that Coq accepts: those recorded already, and those proved now."""
    accepted: dict[str, kernel.Accepted] = {}
    unproved = []
    for step in steps:
        if kernel.proof(step.statement) is None:
            unproved.append(step)
        else:
            accepted[step.statement.sha256] = kernel.recorded()[step.statement.sha256]

    def work(coq: kernel.Session, step: Stated) -> None:
        before = kernel.recorded().get(step.statement.sha256)
        refusal: str | None = "no script fits"
        for script in itertools.chain([before.proof] if before else [], scripts(step.step)):
            refusal = coq.check(step.statement, script)
            if refusal is None:
                fingerprint = kernel.fingerprint(step.statement, script)
                accepted[step.statement.sha256] = kernel.Accepted(script, fingerprint)
                break
        watch(step.name, refusal or "accepted")

    _run(unproved, work, jobs, seconds)
    return accepted


def confirm(steps: Iterable[Stated], *, jobs: int, seconds: float, watch: Watch) -> tuple[list[str], set[str]]:
    """Check every recorded theorem again: the names of those refused, and the axioms used."""
    refused: list[str] = []
    axioms: set[str] = set()

    def work(coq: kernel.Session, step: Stated) -> None:
        script = kernel.proof(step.statement)
        assert script is not None
        refusal = coq.check(step.statement, script)
        if refusal is not None:
            refused.append(step.name)
        watch(step.name, refusal or "accepted")

    known = [step for step in steps if kernel.proof(step.statement) is not None]
    _run(known, work, jobs, seconds, axioms)
    return refused, axioms


def stale(steps: Iterable[Stated]) -> list[str]:
    """Return the hashes of recorded statements that no step makes."""
    return sorted(kernel.recorded().keys() - {step.statement.sha256 for step in steps})


def _run(
    steps: Iterable[Stated], work: Callable[[kernel.Session, Stated], None], jobs: int, seconds: float,
    axioms: set[str] | None = None,
) -> None:  # fmt: skip
    """Do the work on every step, in ``jobs`` processes of Coq; collect the axioms where they are asked for."""
    every = list(steps)
    waiting = iter(every)  # which the threads share
    if not every:
        return

    def serve(folder: Path) -> None:
        with kernel.Session(folder, seconds) as coq:
            for step in waiting:
                work(coq, step)
            if axioms is not None:
                axioms.update(coq.assumptions())

    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(jobs) as pool:
        kernel.compile_library(Path(made))
        for done in [pool.submit(serve, Path(made)) for _ in range(jobs)]:
            done.result()


def main(arguments: list[str]) -> int:
    """Run Coq over the catalogue; 1 if a recorded theorem is refused, or stale."""
    parser = argparse.ArgumentParser(prog="python -m dpcheck.bounds.coq", description=__doc__)
    parser.add_argument("--all", action="store_true", help="check every recorded theorem again, write nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes of Coq (default: one a core)")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for one proof (default 60)")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    steps = list(stated(claims()))
    if options.all:
        refused, axioms = confirm(steps, jobs=options.jobs, seconds=options.seconds, watch=_tell)
        left = stale(steps)
        known = len(steps) - sum(kernel.proof(step.statement) is None for step in steps)
        print(f"{known - len(refused)} of {known} recorded theorems accepted in {time.monotonic() - started:.0f} s")
        print(f"axioms: {', '.join(sorted(axioms))}")
        if left:
            print(f"{len(left)} recorded theorems belong to no step: run python -m dpcheck.bounds.coq")
        strange = [name for name in sorted(axioms) if not name.startswith(kernel.AXIOMS)]
        if strange:
            print(f"axioms beyond those of the real numbers: {', '.join(strange)}")
        return int(bool(refused or left or strange))
    accepted = find(steps, jobs=options.jobs, seconds=options.seconds, watch=_tell)
    path = Path(str(resources.files("dpcheck.bounds").joinpath("kernel.json")))
    path.write_text(kernel.text(accepted, kernel.version()), "utf-8")
    seconds = time.monotonic() - started
    print(f"{len(accepted)} of {len(steps)} statements accepted after {seconds:.0f} s; wrote {path.name}")
    return 0


def _tell(name: str, answer: str) -> None:
    if answer != "accepted":
        print(f"{name}: {answer}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
