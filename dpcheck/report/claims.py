"""Claims, theorems and bugs for a reader: at a terminal, and the bugs as a page."""

from __future__ import annotations

import io
import shlex
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcheck import __version__
from dpcheck.bounds.kind import TYPED
from dpcheck.bounds.ledger import SHARES, ClaimResult
from dpcheck.errors import InputError
from dpcheck.report.results import standing
from dpcheck.report.template import fill
from dpcheck.report.terminal import listed, paragraph, say, wrapped
from dpcheck.shown import readable

if TYPE_CHECKING:
    from dpcheck.audits.bugs.bug import Bug, Examination
    from dpcheck.bounds.claim import Claim
    from dpcheck.bounds.theorem import Theorem


_NARROW = 100  # columns below which rows are stacked
_ORDER = ("refuted", "misprint", "unresolved", "conditional", "proved")
_HEADINGS = {
    "claim": "claim", "verdict": "verdict", "method": "method", "seconds": "s",
    "crux": "critical constant or counterexample", "trust": "checked by", "kernel": "in the kernel",
    "location": "place in the paper",
}  # fmt: skip


def claims_text(
    results: Sequence[ClaimResult], changed: Sequence[ClaimResult] | None, seconds: float, *, color: bool, width: int,
    file: str | None = None, places: Sequence[str] = (),
) -> str:  # fmt: skip
    """Show claims in a table, or with every step where the ``places`` that decide them are given, then sum them up."""
    if places:
        steps = (_claim_explained(result, width, place) for result, place in zip(results, places, strict=True))
        body = readable("\n\n".join(steps))
    elif any(result.claim.kind == TYPED for result in results):
        body = _typed(results, color=color, width=min(width, 100))
    else:
        body = _claims_table(results, color=color, width=width, file=file)
    return f"{body}\n\n{_claims_summary(results, changed, seconds)}"


def _typed(results: Sequence[ClaimResult], *, color: bool, width: int) -> str:
    """Show inequalities that were typed: what was judged, and what shows it, breaks it or is missing."""
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=color, width=width, highlight=False)
    for result in results:
        place = f"{readable(result.claim.id)}  " if result.claim.id != TYPED else ""
        paragraph(console, _word(result).append(f"  {place}{readable(result.statement)}", "bold"), first="")
        rooms = [f"factor on the larger side: {room['says']}" for room in result.rooms if room["status"] != "unknown"]
        facts = {
            "proved": "; ".join(
                [f"by {result.method}{', and the kernel of Coq' * (result.trust == 'kernel')}", *rooms]
            ),
            "refuted": "; ".join(filter(None, [_crux(result), result.evidence["repaired"]])),
        }
        open_point = result.note.replace(f": {result.statement}", "", 1)  # which stands above
        paragraph(console, facts.get(result.verdict, open_point), first="    ")
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def _claims_table(results: Sequence[ClaimResult], *, color: bool, width: int, file: str | None = None) -> str:
    """Tabulate claims, one a row or, below 100 columns, stacked; claims of one's own are in ``file``."""
    explain = "dpcheck prove {} --explain"
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=color, width=width, highlight=False)
    if width < _NARROW:
        for result in results:
            say(console, _word(result).append(f"  {readable(result.claim.id)}", "bold"))
            paragraph(console, f"{result.claim.location}: {result.statement}", first="    ")
            if result.words:
                paragraph(console, f"in the author's words: {result.words}", first="    ")
            if crux := _crux(result):
                paragraph(console, crux, first="    ")
            say(console, Text(f"    {explain.format(shlex.quote(file or result.claim.id))}", "cyan"))
    else:
        table = Table(box=None, pad_edge=False)
        kernel = any(result.kernel for result in results)  # none saw the claims of a file of one's own
        for name, heading in _HEADINGS.items():
            if name != "kernel" or kernel:
                table.add_column(heading, justify="right" if heading == "s" else "left", overflow="fold")
        for result in results:
            shares = [result.kernel or "nothing"] if kernel else []
            texts = (result.method, f"{result.seconds:.1f}", _crux(result), result.trust, *shares)
            id, *others = map(Text, map(readable, (result.claim.id, *texts, result.claim.location)))
            table.add_row(id, _word(result), *others)
        console.print(table)
        say(console, "")
        for result in results if file else ():  # an id may be any words
            paragraph(console, f"{result.claim.id}: {result.statement}", first="")
        say(
            console,
            Text.assemble("Every step of one: ", (explain.format(shlex.quote(file or results[0].claim.id)), "cyan")),
        )
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def _word(result: ClaimResult) -> Text:
    return Text(f"{standing(result.verdict).sign} {result.verdict}", standing(result.verdict).colour)


def _claim_explained(result: ClaimResult, width: int, code: str) -> str:
    """The verdict, the statement, what breaks or saves it, and every step; LaTeX stays on its line."""
    claim, evidence = result.claim, result.evidence
    lines = wrapped(
        f"{claim.id}  {standing(result.verdict).sign} {result.verdict}  ({result.method}, {result.seconds:.1f} s)",
        width,
    )
    parts = [("", f"{claim.paper}, {claim.location}"), ("Claim: ", result.statement)]
    parts += [("In the author's words, not judged: ", result.words)] if result.words else []
    parts += [("Verdict: ", result.note)]
    heads = {
        "condition": "Should read" if result.verdict == "misprint" else "Condition",
        "differs": "Slip",
        "repaired": "Repaired",
    }
    parts += [(f"{head}: ", evidence[name]) for name, head in heads.items() if evidence[name]]
    parts += [("Reading: ", f"{reading}: {verdict}") for reading, verdict in evidence["readings"].items()]
    parts += [("Basis: ", f"{result.basis}; steps: {result.trust}")]
    parts += [("In the kernel: ", result.kernel or "nothing")]
    parts += [("Code: ", code)] if code else []
    lines += [line for head, text in parts for line in wrapped(f"  {head}{text}", width)]
    for number, step in enumerate(evidence["steps"], 1):
        lines += wrapped(f"  {number}. [{step['kind']}, {step['trust']}] {step['says']}", width)
        lines += wrapped(f"       {step['formula']}", width)
        if step["kind"] != "cited":
            lines.append(f"       ${step['latex']}$")
        if "tightness" in step:
            lines.append(f"       {_room(step['tightness'])}")
        for query in step.get("queries", ()):
            lines += ["       z3 finds no model of this; `z3 -in` can be asked again:"]
            lines += [f"         {line}" for line in query.splitlines()]
    return "\n".join(lines)


def _claims_summary(results: Sequence[ClaimResult], changed: Sequence[ClaimResult] | None, seconds: float) -> str:
    """Say what was found and, on a line of its own, whether each verdict is the expected one (``None``: none is)."""
    counts = Counter[str](result.verdict for result in results)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict])
    line = f"Result:     {len(results)} claim{'s' * (len(results) != 1)}: {verdicts}; {seconds:.1f} s"
    if len(results) > 1 and any(result.kernel for result in results):
        shares = Counter(result.kernel for result in results)
        line += "\nIn kernel:  " + "; ".join(f"{word or 'nothing'}: {shares[word]}" for word in SHARES if shares[word])
    if changed is None:
        return line
    moved = ", ".join(f"{result.claim.id} ({result.verdict})" for result in changed)
    count = f"{len(changed)} verdict{'s' * (len(changed) != 1)} changed: "
    return f"{line}\nRegression: {count + moved if changed else 'as expected'}"


def _crux(result: ClaimResult) -> str:
    if result.verdict == "unresolved":
        return result.note
    if result.verdict == "proved" and result.rooms:
        return "; ".join(_room(room) for room in result.rooms if room["constant"])
    return shorten(result.counterexamples[0], 160, placeholder=" ...") if result.counterexamples else ""


def _room(room: dict[str, object]) -> str:
    """Say how tight a constant is."""
    return str(room["says"]) if room["critical"] is not None else f"{room['printed']:g}: {room['says']}"


def describe(theorem: Theorem, values: dict[str, float], decided: Sequence[tuple[Claim, str]] = ()) -> str:
    """Describe a theorem in 80 columns, with its numbers at ``values``, and the verdicts on its claims."""
    lines = [*_wrapped(f"{theorem.id}: {theorem.title}", ""), *_wrapped(f"{theorem.paper}, {theorem.location}"), ""]
    verb = "promises" if theorem.bound_formula is None else "bounds"
    lines += _wrapped(f"It {verb} {theorem.quantity}.", "")
    tested = [assumption for assumption in theorem.assumptions if assumption.relation is not None]
    for heading, assumptions in (
        ("Assumptions", theorem.conditions),
        ("Region, outside which numbers are refused", tested),
    ):
        if assumptions:
            lines += ["", heading] + [line for assumption in assumptions for line in _wrapped(str(assumption))]
    letters = max((len(str(parameter.symbol)) for parameter in theorem.parameters), default=0)
    lines += ["", "Parameters"]
    for parameter in theorem.parameters:
        lines += _wrapped(f"{parameter.symbol!s:<{letters}}  {parameter.meaning}")
    for heading, formulas in (("Schedule", theorem.schedule_formulas), ("Noise", theorem.noise_formulas)):
        if formulas:
            lines += ["", heading] + [f"  {symbol} = {formula}" for symbol, formula in formulas]
    if theorem.rate is not None:
        lines += ["", f"Rate\n  {theorem.rate}"]
    if theorem.bound_formula is not None:
        lines += ["", f"Bound\n  {theorem.bound_formula}"]
    if values:
        lines += ["", *_wrapped("At " + ", ".join(f"{name} = {value:g}" for name, value in values.items()), "")]
        lines += _numbers(theorem, values)
    return "\n".join([*lines, "", *_why(decided)])


def _why(decided: Sequence[tuple[Claim, str]]) -> list[str]:
    """What is decided of the statement, and the commands that show every step."""
    if not decided:
        return _wrapped(
            "Why: no claim of the catalogue carries its formulas, so that it is stated and not decided.", ""
        )
    lines = ["Why (the expected verdicts on its claims; the command decides each again)"]
    for claim, verdict in decided:
        lines += _wrapped(f"{standing(verdict).sign} {verdict}  {claim.location}")
        if verdict != "proved":
            lines += _reasons(claim)
        lines.append(f"      dpcheck prove {shlex.quote(claim.id)} --explain")
    return lines


def _reasons(claim: Claim) -> Iterator[str]:
    """What fails or is missing, and what can be saved, in the catalogue's words, of which no step is recomputed."""
    decision = claim.decision()
    named = (("On the condition: ", decision.evidence.condition), ("Repaired: ", decision.evidence.repaired))
    for head, text in (("", decision.note), *named):
        if text:
            yield from textwrap.wrap(
                head + text, 80, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False
            )


def _numbers(theorem: Theorem, values: dict[str, float]) -> list[str]:
    """Return each quantity that these values determine; the error where they determine none."""
    lines: list[str] = []
    errors: list[InputError] = []
    methods: list[Callable[..., float | dict[str, float]]] = [theorem.schedule] if theorem.schedule_formulas else []
    methods += [theorem.noise] if theorem.noise_formulas else []
    for method in (*methods, theorem.bound):
        try:
            result = method(**values)
        except InputError as error:
            errors.append(error)
            continue
        numbers = result if isinstance(result, dict) else {"bound": result}
        lines += [f"  {key} = {value:g}" for key, value in numbers.items()]
    if not lines:
        raise errors[0]
    return lines


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    """Wrap a text into lines of at most 80 columns, those after the first one further in."""
    return textwrap.wrap(text, 80, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)


def bugs_text(bugs: Sequence[Bug], examinations: Mapping[str, Examination], width: int) -> str:
    """Explain the bugs that were examined, or list all where none was."""
    if examinations:
        return "\n\n".join(_bug_explained(examination, width) for examination in examinations.values())
    lines = []
    longest = max(len(bug.id) for bug in bugs)
    for family, members in groupby(bugs, lambda bug: bug.family):
        entries = [(bug.id, f"{bug.title} [{bug.tester.name}]") for bug in members]
        lines += [f"{family}:", *listed(entries, width, longest=longest)]
    return "\n".join(lines)


def _bug_explained(examination: Examination, width: int) -> str:
    """The bug, what the audit says of it and of its fixed twin, then both versions of the code with the evidence."""
    bug = examination.bug

    def _wrapped(text: str) -> list[str]:
        return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ")

    lines = textwrap.wrap(f"{bug.id}: {bug.title}", width, subsequent_indent="  ")
    lines += _wrapped(
        f"Result: {standing(examination.broken.verdict).sign} the bug is {examination.broken.verdict}; "
        f"{standing(examination.fixed.verdict).sign} its fixed twin is {examination.fixed.verdict}"
    )
    lines += [*_wrapped(f"Source: {bug.source}"), "", *_wrapped(bug.explanation), ""]
    lines += _wrapped(f"Claimed: {bug.tester.promise}")
    if bug.shared:
        lines += ["", textwrap.indent(bug.shared, "    ")]
    for name, code, outcome in zip(("broken", "fixed"), bug.code, (examination.broken, examination.fixed), strict=True):
        lines += ["", textwrap.indent(code.rstrip(), "    "), "", *_wrapped(f"{name}: {outcome.verdict}")]
        lines += _wrapped(f"{bug.tester.name}: {outcome.evidence}")
    return "\n".join(lines)


def bugs_page(bugs: Sequence[Bug], examinations: Mapping[str, Examination]) -> str:
    """A self-contained HTML page of ``bugs``, with verdicts where their examinations are given, by id."""
    halves = {bug.id: _halves(bug, examinations.get(bug.id)) for bug in bugs}
    leaks = sum(examination.broken.verdict == "violated" for examination in examinations.values())
    changed = [bug.id for bug in bugs if not all(half["right"] for half in halves[bug.id])]
    result = f"{leaks} of {len(examinations)} planted bugs break their promise, as their audits show."
    return fill(
        "bugs.html", title="Bugs that broke privacy, and their fixed twins", version=__version__, bugs=bugs,
        families=[(family, list(members)) for family, members in groupby(bugs, lambda bug: bug.family)],
        halves=halves, leaks=leaks, changed=changed,
        result=result if examinations else "",
        badge=f"{len(changed)} bugs changed" if changed else "as expected",
    )  # fmt: skip


def _halves(bug: Bug, examination: Examination | None) -> list[dict[str, Any]]:
    """Both versions of a bug's code; a violation is never good, though it is what is expected of the broken one."""
    outcomes = (None, None) if examination is None else (examination.broken, examination.fixed)
    return [
        {
            "name": name, "code": code.rstrip(), "outcome": outcome,
            "tone": standing(outcome.verdict) if outcome else "",
            "right": outcome is None or (outcome.verdict == "violated") == expected,
        }
        for name, code, outcome, expected in zip(("broken", "fixed"), bug.code, outcomes, (True, False), strict=True)
    ]  # fmt: skip
