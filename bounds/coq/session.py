"""A running Coq, asked one theorem after another."""

from __future__ import annotations

import re
import select
import subprocess
import time
from pathlib import Path

from dpcheck.errors import InputError

_DONE = "dpcheck: done"


class Session:
    """Coq's read-eval-print loop with the library of this folder loaded.

    A theorem that fails leaves nothing behind, so that one process, which loads the real numbers
    once, serves many theorems.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def check(self, name: str, text: str) -> str | None:
        """``None`` if Coq accepts the theorem ``name`` without axioms of its own, or Coq's message."""
        process = self._started()
        answer = self._say(process, f"{text}\nAbort All.\nCheck {name}.\n", self._seconds)
        if answer is None:
            self._stop()
            return f"no answer within {self._seconds:g} s"
        return _refusal(name, answer)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(
                    ["coqtop", "-q", "-R", str(self._folder), "Dpcheck"], cwd=self._folder,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                )  # fmt: skip
            except FileNotFoundError as error:
                raise InputError("coqtop must be installed (Debian: coq and libcoq-interval), got no such command") from error
            loaded = self._say(self._process, f"{HEADER}\nSet Default Timeout {int(self._seconds)}.\n", 120)
            if loaded is None or "Error" in loaded:
                raise InputError(f"Coq must load its real numbers and Interval, got {loaded or 'no answer'}")
        return self._process

    def _say(self, process: subprocess.Popen[bytes], text: str, seconds: float) -> str | None:
        pipe_in, pipe_out = process.stdin, process.stdout
        assert pipe_in is not None and pipe_out is not None
        pipe_in.write(f'{text}\nGoal True. idtac "{_DONE}". exact I. Abort All.\n'.encode())
        pipe_in.flush()
        deadline = time.monotonic() + seconds
        parts = b""
        while _DONE.encode() not in parts:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([pipe_out], [], [], max(left, 0))
            part = pipe_out.read1(65536) if ready else b""
            if not part:
                return None
            parts += part
        return parts.decode(errors="replace").partition(_DONE)[0]

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


HEADER = """From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Dpcheck Require Import Dpcheck.
Open Scope R_scope."""


def _refusal(name: str, answer: str) -> str | None:
    """``None`` if the name is known now, or the first complaint in one line."""
    if re.search(rf"^(\S+ < )*{name}\s*:", answer, re.M):
        return None
    complaint = answer.partition("Toplevel input")[2].partition("\n\n")[0]
    return " ".join((complaint or answer).split())[:500]
