"""The findings: a page for each paper, from the catalogue of its claims."""

from __future__ import annotations

import importlib
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from book.text import block, code, plain, table, with_formulas
from dpcheck.bounds.claim import Claim, ClaimResult
from dpcheck.bounds.ledger import recorded
from dpcheck.bounds.registry import PAPERS, claims
from dpcheck.bounds.statement import Statement
from dpcheck.checks.expected import expected_verdicts
from dpcheck.solvers import ALGORITHMS, algorithm

ORDER = ("refuted", "misprint", "unresolved", "conditional", "proved")
_BREAKS = ("counterexample", "exceeds", "notprivate")
_RELEASES = {"transcript": "all releases", "iterates": "iterates", "output": "output"}
_FAIR = """\
Every verdict is about one statement, as published, on its published domain. A refuted statement is one that numbers
break; a misprint is one that a single slip breaks, which is put right here and leaves what uses it standing. A refuted
step is no refuted paper: most theorems stand, some with a condition that is named here. Where a statement can be saved,
its page says how. The commands compute everything anew; whoever sees that a statement is read wrongly here can change
its file, and the verdict follows.
"""


def pages() -> dict[str, str]:
    """Return the page of each paper, and the one that lists them."""
    return {"findings/index.md": _index()} | {f"findings/{paper}.md": _page(paper) for paper in PAPERS}


def title(paper: str) -> str:
    """Return a paper's authors, title and place, as its folder states them."""
    said = (importlib.import_module(f"dpcheck.bounds.{paper}").__doc__ or "").strip()
    return said.split("\n", 1)[0].rstrip(".")


def command(claim: Claim) -> str:
    """Return the command that explains a claim."""
    return f"dpcheck prove {shlex.quote(claim.id)} --explain"


def _verdict(claim: Claim) -> str:
    return str(recorded()[claim.id]["verdict"])


def _counts(own: Iterable[Claim]) -> Counter[str]:
    return Counter(_verdict(each) for each in own)


def _index() -> str:
    rows = []
    for paper in PAPERS:
        found = _counts(claims(paper))
        rows.append([f"[{plain(title(paper))}]({paper}.md)", str(found.total()), *(str(found[word]) for word in ORDER)])
    total = _counts(claims())
    rows.append(["all", str(total.total()), *(str(total[word]) for word in ORDER)])
    listed = "\n".join(PAPERS)
    return "\n".join(
        ["# The findings\n", _FAIR, table(["paper", "statements", *ORDER], rows),
         f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"]
    )  # fmt: skip


def _page(paper: str) -> str:
    own = claims(paper)
    found = _counts(own)
    said = ", ".join(f"{found[word]} {word}" for word in ORDER if found[word])
    parts = [
        f"# {plain(title(paper))}\n",
        f"{len(own)} checkable statements of this paper are in the catalogue: {said}.\n",
        _FAIR,
        block(f"dpcheck prove {paper}", "sh"),
    ]
    chosen = {word: [each for each in own if _verdict(each) == word] for word in ORDER}
    for word, head in (("refuted", "What is refuted"), ("unresolved", "What is undecided")):
        if chosen[word]:
            parts += [f"## {head}\n", *(line for each in chosen[word] for line in _decided(each))]
    parts += _algorithms(paper)
    for word, head in (("misprint", "What is misprinted"), ("conditional", "What holds on a condition")):
        if chosen[word]:
            parts += [f"## {head}\n", *(line for each in chosen[word] for line in _saved(each))]
    if chosen["proved"]:
        parts.append("## What holds as published\n")
        rows = [[plain(each.location), _statement(each), code(command(each))] for each in chosen["proved"]]
        parts.append(table(["place", "statement", "command"], rows))
    return "\n".join(parts)


def _decided(claim: Claim) -> Iterator[str]:
    """Everything about a statement that falls or is open: it is decided anew, here."""
    result = claim.decide()
    assert result.verdict == _verdict(claim), f"{claim.id} is {result.verdict}, and {_verdict(claim)} is expected"
    yield _head(claim)
    yield f"Published: {_statement(claim)}\n"
    yield f"**{result.verdict.capitalize()}.** {plain(result.note)}\n"
    yield from _witnesses(result)
    readings = result.evidence["readings"]
    if readings:
        yield "Each way to read it, with its verdict:\n"
        yield "\n".join(f"- {plain(reading)}: {verdict}" for reading, verdict in readings.items()) + "\n"
    if result.evidence["repaired"]:
        yield f"**What can be saved:** {plain(result.evidence['repaired'])}\n"
    yield f"Method: {plain(result.method)}. Checked by: {plain(result.trust)}."
    yield f"In the kernel: {result.kernel or 'nothing'}.\n"
    yield block(command(claim), "sh")


def _witnesses(result: ClaimResult) -> Iterator[str]:
    steps = [step for step in result.evidence["steps"] if step["kind"] in _BREAKS]
    if steps:
        yield f"Witness{'es' * (len(steps) > 1)}, which the command computes anew:\n"
        for step in steps:
            yield f"- {plain(step['says'])}\n\n  $${step['latex']}$$\n"


def _saved(claim: Claim) -> Iterator[str]:
    decision = claim.decision()
    yield _head(claim)
    yield f"Published: {_statement(claim)}\n"
    head = "It should read" if decision.verdict == "misprint" else "It holds on this condition"
    slip = f" (a slip as well: the {decision.evidence.differs})" * (head[3] == "h" and bool(decision.evidence.differs))
    yield f"**{head}**: {plain(decision.evidence.condition)}{slip}\n"
    yield f"{plain(decision.note)}\n"
    yield block(command(claim), "sh")


def _head(claim: Claim) -> str:
    return f"({anchor(claim)})=\n### {plain(claim.location)} ({plain(claim.id)})\n"


def anchor(claim: Claim) -> str:
    """Return the name of the place of a claim on its page."""
    signs = re.sub(r"[^a-z0-9]", lambda sign: f"-x{ord(sign[0]):x}-", claim.id.lower())
    return "claim-" + re.sub("-+", "-", signs).strip("-")


def _statement(claim: Claim) -> str:
    if isinstance(claim.statement, Statement):
        return with_formulas(claim.statement.latex())
    return plain(claim.statement)


def _algorithms(paper: str) -> Iterator[str]:
    """Which of the paper's algorithms release what they claim, as published and repaired."""
    rows = [row for name in ALGORITHMS if algorithm(name).paper == paper for row in _releases(name)]
    if rows:
        yield "## Its algorithms\n"
        yield (
            "Audits of what each algorithm releases, as published and, where that fails or has gaps, repaired. A "
            "baseline is another paper's, as its source says. `dpcheck check NAME` runs them.\n"
        )
        yield table(["algorithm", "source", "variant", *_RELEASES.values()], rows)


def _releases(name: str) -> Iterator[Sequence[str]]:
    found: dict[str, dict[str, str]] = {}
    for id, verdict in expected_verdicts().items():
        owner, *words = id.split(".")
        if owner == name and "inside" not in words and words[-1] in _RELEASES:
            found.setdefault(", ".join(words[:-1]), {})[words[-1]] = verdict
    for i, (variant, verdicts) in enumerate(found.items()):
        cells = [_marked(verdicts.get(kind, "")) for kind in _RELEASES]
        said = variant.replace("as_printed", "as published").replace("_", " ")
        named = ["", ""] if i else [code(name), plain(algorithm(name).source)]
        yield [*named, said, *cells]


def _marked(verdict: str) -> str:
    return f"**{verdict}**" if verdict.startswith("violated") else verdict
