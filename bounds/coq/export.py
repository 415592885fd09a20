"""Claims as files of Coq: a theorem for each step that can be stated, with its proof."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dpcheck.bounds.claim import Claim, ClaimResult
from dpcheck.bounds.coq import kernel
from dpcheck.bounds.coq.scripts import plain, scripts
from dpcheck.bounds.coq.session import HEADER
from dpcheck.bounds.coq.statement import statement
from dpcheck.errors import raised, require

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
