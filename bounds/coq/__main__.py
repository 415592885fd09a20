"""``python -m dpcheck.bounds.coq``: find proofs for new steps and record them, or check all again.

Without an argument, the steps whose theorem is not recorded yet are tried, and ``kernel.json`` is
written; the change is then read by a person before it is kept. With ``--all`` every recorded theorem
is checked again and nothing is written.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from importlib import resources
from pathlib import Path

from dpcheck.bounds.coq import kernel, session
from dpcheck.bounds.coq.session import confirm, find, stale, stated
from dpcheck.bounds.registry import claims
from dpcheck.errors import InputError


def main(arguments: list[str]) -> int:
    """Run Coq over the catalogue; 1 if a recorded theorem is refused, or stale."""
    parser = argparse.ArgumentParser(prog="python -m dpcheck.bounds.coq", description=__doc__)
    parser.add_argument("--all", action="store_true", help="check every recorded theorem again, write nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes of Coq (default: one a core)")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for one proof (default 60)")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    steps = list(stated(claims()))
    shared = {"jobs": options.jobs, "seconds": options.seconds}
    if options.all:
        refused, axioms = confirm(steps, watch=_tell, **shared)
        left = stale(steps)
        known = len(steps) - sum(kernel.proof(each.statement) is None for each in steps)
        print(f"{known - len(refused)} of {known} recorded theorems accepted in {time.monotonic() - started:.0f} s")
        print(f"axioms: {', '.join(sorted(axioms))}")
        if left:
            print(f"{len(left)} recorded theorems belong to no step: run python -m dpcheck.bounds.coq")
        strange = [name for name in sorted(axioms) if not name.startswith(session.AXIOMS)]
        if strange:
            print(f"axioms beyond those of the real numbers: {', '.join(strange)}")
        return int(bool(refused or left or strange))
    found = find(steps, watch=_tell, **shared)
    path = Path(str(resources.files("dpcheck.bounds").joinpath("kernel.json")))
    path.write_text(kernel.text(found, session.version()), "utf-8")
    print(
        f"{len(found)} of {len(steps)} statements accepted after {time.monotonic() - started:.0f} s; wrote {path.name}"
    )
    return 0


def _tell(name: str, said: str) -> None:
    if said != "accepted":
        print(f"{name}: {said}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
