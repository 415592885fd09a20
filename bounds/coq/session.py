"""A running Coq, asked one theorem after another: to find proofs, to check all again, and to write files of Coq."""

from __future__ import annotations

import itertools
import queue
import re
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcheck.bounds.claim import Claim, ClaimResult
from dpcheck.bounds.coq import kernel
from dpcheck.bounds.coq.kernel import Accepted, library, theorem
from dpcheck.bounds.coq.scripts import plain, scripts
from dpcheck.bounds.coq.statement import Statement, statement
from dpcheck.errors import InputError, raised, require

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

    def work(coq: Session, each: Stated) -> None:
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

    def work(coq: Session, each: Stated) -> None:
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
    steps: Iterable[Stated], work: Callable[[Session, Stated], None], jobs: int, seconds: float,
    axioms: set[str] | None = None,
) -> None:  # fmt: skip
    waiting: queue.SimpleQueue[Stated] = queue.SimpleQueue()
    for each in steps:
        waiting.put(each)
    failures: list[BaseException] = []

    def serve(folder: Path) -> None:
        try:
            with Session(folder, seconds) as coq:
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
        compile_library(Path(made))
        threads = [threading.Thread(target=serve, args=(Path(made),)) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


_MAKEFILE = """# make runs Coq over every file; it needs Coq 8.16 with Interval (Debian: coq libcoq-interval).
all:
\tcoq_makefile -f _CoqProject -o Makefile.coq
\t$(MAKE) -k -f Makefile.coq
"""


def export(results: Iterable[ClaimResult], folder: str | Path) -> tuple[Path, ...]:
    """Write one file a claim into ``folder``, with the library they share and what Coq needs to run them.

    A proof that Coq has accepted is written as it was; for a step that has none, such as one of a
    file of your own, the script that fits its kind is written, and Coq says whether it is enough.

    Raises :class:`~dpcheck.errors.InputError` if ``folder`` is not an empty or a new one.
    """
    place = Path(folder)
    fresh = not place.exists() or (place.is_dir() and not any(place.iterdir()))
    require(fresh, "the folder of --export-coq", "be new or empty", str(folder))
    place.mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    for result in results:
        name = _identifier(result.claim.id, files)
        files[name] = _file(name, result.claim, result.verdict)
    for name, text in (*files.items(), ("Dpcheck", kernel.library())):
        (place / f"{name}.v").write_text(text, "utf-8")
    names = ["Dpcheck.v", *(f"{name}.v" for name in files)]
    (place / "_CoqProject").write_text("\n".join(["-R . Dpcheck", "-arg -w -arg none", *names]) + "\n", "utf-8")
    (place / "Makefile").write_text(_MAKEFILE, "utf-8")
    return tuple(place / name for name in names)


def _file(name: str, claim: Claim, verdict: str) -> str:
    head = _comment(f"{claim.paper} {claim.id} ({claim.location}), {verdict}: {claim.statement}")
    parts = [head, HEADER]
    try:
        steps = claim.decision().evidence.steps
    except Exception as error:  # a claim of one's own may fail; its result says so
        return f"{head}\n\n{_comment(f'no evidence: {raised(error)}')}\n"
    parts += [_step(f"{name}_step_{number}", step) for number, step in enumerate(steps, start=1)]
    return "\n\n".join(parts) + "\n"


def _step(name: str, step: Any) -> str:
    stated = statement(step)
    if stated is None:
        return _comment(f"{step.says}: {type(step).__name__.lower()}, not stated in Coq")
    script = kernel.proof(stated)
    said = _comment(step.says if script else f"{step.says} (no proof of it is recorded)")
    return f"{said}\n{kernel.theorem(name, stated, script or _candidate(step))}"


def _candidate(step: Any) -> str:
    """Return the last of the scripts, made for the step, after the plain ones in one sentence."""
    shared = plain(step)
    made = [each for each in scripts(step) if each not in shared]
    if made:
        return made[-1]
    return "first [ " + " | ".join(f"solve [ {each.removesuffix('.')} ]" for each in shared) + " ]."


def _identifier(id: str, taken: Iterable[str]) -> str:
    """Return a name of Coq for a claim's id, different from those already given."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", id).strip("_")
    if not name[:1].isalpha():
        name = f"claim_{name}"
    used = {each.lower() for each in taken} | {"dpcheck"}
    base, count = name, 1
    while name.lower() in used:
        count += 1
        name = f"{base}_{count}"
    return name


def _comment(text: str) -> str:
    """Return text as a comment, which must not hold quotation marks or comments of its own."""
    plain_text = " ".join(text.split()).replace('"', "'").replace("(*", "( *").replace("*)", "* )")
    return f"(* {plain_text} *)"
