"""A running Coq, asked one theorem after another."""

from __future__ import annotations

import re
import select
import subprocess
import time
from pathlib import Path

from dpcheck.bounds.coq.kernel import library, theorem
from dpcheck.bounds.coq.statement import Statement
from dpcheck.errors import InputError

HEADER = """From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Dpcheck Require Import Dpcheck.
Open Scope R_scope."""

# What theorems may rest on: Coq's real numbers, and the machine integers of interval arithmetic.
AXIOMS = (
    "ClassicalDedekindReals.sig_forall_dec", "ClassicalDedekindReals.sig_not_dec", "Classical_Prop.classic",
    "FunctionalExtensionality.functional_extensionality_dep", "PrimInt63.", "Uint63.",
)  # fmt: skip

_DONE = "dpcheck: done"
_ENDS = re.compile(r"\b(Admitted|Axiom|Parameter|Hypothesis|Variable|Conjecture|Abort|Qed|Defined|Theorem|Lemma)\b")


def compile_library(folder: Path) -> None:
    """Put the compiled library into the folder.

    Raises :class:`~dpcheck.errors.InputError` where Coq or its packages are missing.
    """
    (folder / "Dpcheck.v").write_text(library(), "utf-8")
    try:
        done = subprocess.run(
            ["coqc", "-q", "-w", "-ambiguous-paths", "-R", ".", "Dpcheck", "Dpcheck.v"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise InputError("Coq must be installed (Debian: coq and libcoq-interval), got no coqc") from error
    if done.returncode:
        raise InputError(f"Coq must accept the library, got {' '.join(done.stderr.split())[:300]}")


def version() -> str:
    """Return the version of the installed Coq, such as ``8.16.1``; empty where there is none."""
    try:
        answer = subprocess.run(["coqc", "-print-version"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return answer.stdout.split()[0] if answer.returncode == 0 else ""


class Session:
    """Coq's read-eval-print loop with the library loaded from ``folder``.

    A theorem that fails leaves nothing behind, so that one process, which loads the real numbers
    once, serves many theorems. An answer takes at most ``seconds``.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._accepted: list[str] = []
        self._count = 0

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def check(self, stated: Statement, script: str) -> str | None:
        """Return ``None`` if Coq accepts the script as a proof of the statement, or what it says against it."""
        if _ENDS.search(script):
            return "the proof must be made of tactics only"
        self._count += 1  # a name that has been used would be found whatever becomes of this theorem
        name = f"dp_step_{self._count}"
        answer = self._say(f"{theorem(name, stated, script)}\nAbort All.\nCheck {name}.\n", self._seconds)
        if answer is None:
            self._stop()
            return f"no answer within {self._seconds:g} s"
        refusal = _refusal(name, answer)
        if refusal is None:
            self._accepted.append(name)
        return refusal

    def assumptions(self) -> set[str]:
        """Return the axioms that the theorems accepted so far rest on."""
        together = " ".join(f"(conj {name}" for name in self._accepted) + " I" + ")" * len(self._accepted)
        answer = self._say(f"Definition dp_all := {together}.\nPrint Assumptions dp_all.\n", 900.0)
        if answer is None or "Error" in answer:
            raise InputError(f"Coq must list what the theorems rest on, got {answer or 'no answer'}")
        listed = answer.partition("Axioms:\n")[2].replace("\n  ", " ")
        return set(re.findall(r"^(\S+) :", listed, re.M))

    def _say(self, text: str, seconds: float) -> str | None:
        if self._process is None:
            self._start()
        return self._exchange(text, seconds)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            ["coqtop", "-q", "-w", "none", "-R", str(self._folder), "Dpcheck"], cwd=self._folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        loaded = self._exchange(f"{HEADER}\n", 120.0)
        if loaded is None or "Error" in loaded:
            raise InputError(f"Coq must load its real numbers and Interval, got {loaded or 'no answer'}")

    def _exchange(self, text: str, seconds: float) -> str | None:
        assert self._process is not None
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None and pipe_out is not None
        pipe_in.write(f'{text}\nGoal True. idtac "{_DONE}". exact I. Abort All.\n'.encode())
        pipe_in.flush()
        deadline = time.monotonic() + seconds
        parts = b""
        while _DONE.encode() not in parts:
            ready, _, _ = select.select([pipe_out], [], [], max(deadline - time.monotonic(), 0))
            part = pipe_out.read1(65536) if ready else b""  # type: ignore[attr-defined]
            if not part:
                return None
            parts += part
        return parts.decode(errors="replace").partition(_DONE)[0]

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
            self._accepted = []


def _refusal(name: str, answer: str) -> str | None:
    """Return ``None`` if the name is known now, or the first complaint in one line."""
    if re.search(rf"^(\S+ < )*{name}\s*:", answer, re.M):
        return None
    complaint = answer.partition("Toplevel input")[2].partition("\n\n")[0]
    return " ".join((complaint or answer).split())[:500]
