"""The program of a worker: it decides the claims whose ids it reads, and writes the results.

:mod:`.workers` starts it; nothing imports it, so that no module needs one that needs it in turn.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from dpcheck.bounds.registry import find
from dpcheck.bounds.workers import LENGTH
from dpcheck.errors import InputError, one_line, require
from dpcheck.running.processes import end_with_parent

_MEMORY = 4 * 2**30  # bytes of address space of a worker, and of each solver it starts


def main() -> None:
    """Say which claims there are, then decide those whose ids come in, one a line."""
    end_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    # what a user's own file prints must not mix with the results
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def send(message: Any) -> None:
        answer = json.dumps(message).encode()
        results.write(LENGTH.pack(len(answer)) + answer)
        results.flush()

    require(len(sys.argv) <= 2, "arguments", "be a target or nothing", sys.argv[1:])
    results.write(b"!")
    results.flush()
    if sys.argv[1:] and sys.argv[1].endswith(".py"):
        sys.path.append(str(Path(sys.argv[1]).resolve().parent))
    try:
        known = {each.id: each for each in find(*sys.argv[1:])}
    except InputError as error:
        send(str(error))
        return
    send([(each.id, each.paper, each.kind, str(each.statement), each.location) for each in known.values()])
    for line in sys.stdin:
        try:
            result = known[line.rstrip("\n")].decide()
            send((result.verdict, result.method, result.note, result.evidence, result.seconds, result.basis))
        except Exception as error:
            send(f"{type(error).__name__}: {one_line(error)}")
