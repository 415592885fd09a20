"""The theorems that Coq's kernel has accepted, and a running Coq that is asked one theorem after another.

``kernel.json`` is written by ``python -m dpcheck.bounds.coq``. An entry belongs to a statement and holds its proof
and the hash of both with the library; nothing else makes a step "kernel". Looking up needs no Coq.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import select
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from dpcheck.bounds.coq.statement import Statement, statement
from dpcheck.errors import InputError


@dataclass(frozen=True)
class Accepted:
    """A proof that Coq accepted: its script, and the hash of statement, script and library."""

    proof: str
    sha256: str


def accepted(step: Any) -> bool:
    """Say whether Coq's kernel has accepted the step as it is stated now."""
    stated = statement(step)
    return stated is not None and proof(stated) is not None


def proof(stated: Statement) -> str | None:
    """Return the accepted script for the statement, or ``None``."""
    entry = recorded().get(stated.sha256)
    return entry.proof if entry is not None and entry.sha256 == fingerprint(stated, entry.proof) else None


def theorem(name: str, stated: Statement, script: str) -> str:
    """Return the theorem with its proof, as Coq reads it."""
    return f"Theorem {name} :\n  {stated.text}.\nProof.\n{script}\nQed."


def fingerprint(stated: Statement, script: str) -> str:
    """Return the hash of the theorem and the parts of the library its words come from."""
    text = theorem("step", stated, script)
    first, *others = _parts()
    used = [part for part in others if _defined(part) & set(re.findall(r"\w+", text))]
    return hashlib.sha256("\n".join([first, *used, text]).encode()).hexdigest()


@functools.cache
def library() -> str:
    """Return the definitions and tactics the theorems use."""
    return "\n".join(_parts())


@functools.cache
def _parts() -> tuple[str, ...]:
    folder = resources.files("dpcheck.bounds.coq")
    return tuple(folder.joinpath(name).read_text("utf-8") for name in ("library.v", "calculus.v", "sums.v"))


@functools.cache
def _defined(part: str) -> frozenset[str]:
    """Return what a part of the library defines or proves."""
    return frozenset(re.findall(r"^(?:Lemma|Definition|Fixpoint|Ltac|with) (\w+)", part, re.M))


@functools.cache
def recorded() -> Mapping[str, Accepted]:
    """Return what was accepted for a statement, by its hash."""
    text = resources.files("dpcheck.bounds").joinpath("kernel.json").read_text("utf-8")
    return {key: Accepted(**entry) for key, entry in json.loads(text)["theorems"].items()}


def text(accepted: Mapping[str, Accepted], coq: str) -> str:
    """Return the file of these theorems, one line each."""
    lines = [
        f"  {json.dumps(key)}: {json.dumps({'sha256': entry.sha256, 'proof': entry.proof})}"
        for key, entry in sorted(accepted.items())
    ]
    return f'{{\n "coq": {json.dumps(coq)},\n "theorems": {{\n' + ",\n".join(lines) + "\n }\n}\n"


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
_ENDS = re.compile(
    r"\b(Admitted|Axiom|Parameter|Hypothesis|Variable|Conjecture|Abort|Qed|Defined|Theorem|Lemma)\b|\(\*"
)


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


def tactics_only(script: str) -> bool:
    """Say whether every sentence is a tactic: commands, which could change what is proved, begin with a capital."""
    sentences = (sentence.lstrip(" \t\n-+*{}0123456789:") for sentence in re.split(r"(?<!\.)\.(?:\s+|$)", script))
    return not _ENDS.search(script) and all(not sentence or sentence[0].islower() for sentence in sentences)


class Session:
    """Coq's read-eval-print loop with the library loaded from ``folder``.

    A theorem that fails leaves nothing behind, so that one process, which loads the real numbers
    once, serves many theorems. An answer takes at most ``seconds``.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._accepted: list[str] = []  # since the axioms were listed
        self._axioms: set[str] = set()
        self._count = 0

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def check(self, stated: Statement, script: str) -> str | None:
        """Return ``None`` if Coq accepts the script as a proof of the statement, or what it says against it."""
        if not tactics_only(script):
            return "the proof must be made of tactics only"
        self._count += 1  # a name that has been used would be found whatever becomes of this theorem
        name = f"dp_step_{self._count}"
        said = f"dp_said_{self._count}"  # what was proved is what is stated
        proved = f"Definition {said} : {stated.text} := {name}.\nCheck {said}."
        answer = self._say(f"{theorem(name, stated, script)}\nAbort All.\n{proved}\n", self._seconds)
        if answer is None:
            self._stop()
            return f"no answer within {self._seconds:g} s"
        refusal = _refusal(said, answer)
        if refusal is None:
            self._accepted.append(name)
        return refusal

    def assumptions(self) -> set[str]:
        """Return the axioms that the theorems accepted so far rest on; a process that is stopped forgets its last."""
        if not self._accepted:
            return self._axioms
        together = " ".join(f"(conj {name}" for name in self._accepted) + " I" + ")" * len(self._accepted)
        name = f"dp_all_{self._count}"  # for each time that it is asked
        answer = self._say(f"Definition {name} := {together}.\nPrint Assumptions {name}.\n", 900.0)
        if answer is None or "Error" in answer:
            raise InputError(f"Coq must list what the theorems rest on, got {answer or 'no answer'}")
        listed = answer.partition("Axioms:\n")[2].replace("\n  ", " ")
        self._accepted = []
        self._axioms |= set(re.findall(r"^(\S+) :", listed, re.M))
        return self._axioms

    def _say(self, text: str, seconds: float) -> str | None:
        """Return the answer to the text, from a process that is started where none runs; ``None`` without one."""
        if self._process is not None:
            return self._exchange(text, seconds)
        self._process = subprocess.Popen(
            ["coqtop", "-q", "-w", "none", "-R", str(self._folder), "Dpcheck"], cwd=self._folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        loaded = self._exchange(f"{HEADER}\n", 120.0)
        if loaded is None or "Error" in loaded:
            raise InputError(f"Coq must load its real numbers and Interval, got {loaded or 'no answer'}")
        return self._exchange(text, seconds)

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
