"""``dpcheck list``, ``show`` and ``bugs``: what there is to check, prove, solve and audit; a theorem; a bug."""

from __future__ import annotations

import ast
import importlib.util
import textwrap
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dpcheck import _HOME
from dpcheck.commands import inputs, terminal
from dpcheck.commands.command import LISTED, Command, add_format, add_shared
from dpcheck.commands.files import File
from dpcheck.errors import did_you_mean, one_line, require
from dpcheck.shown import TABLE_FORMATS, table

Listing = dict[str, list[dict[str, str]]]
_TESTERS = {name: home for name, home in _HOME.items() if name.startswith("audit_") or name == "fit_rate"}


def _list_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words", type=File.NONE, nargs="*", metavar="KIND|WORD",
        help="a kind, such as theorems, and words of the names and titles to show (default: a page of all names)",
    )  # fmt: skip
    add_format(parser, LISTED)


def _list(options: Namespace) -> int:
    from dpcheck.report.terminal import listed

    by_kind = listing()
    if options.words:
        by_kind = chosen(by_kind, options.words)
    elif options.format == "terminal":
        return terminal.say("\n".join(page(by_kind, terminal.width())))
    if options.format == "json":
        return terminal.say_json({"schema": "dpcheck.list/1", **by_kind})
    if options.format in TABLE_FORMATS:
        rows = [{"kind": kind, **entry} for kind, entries in by_kind.items() for entry in entries]
        return terminal.say(table(rows, options.format))
    lines = []
    for kind, entries in by_kind.items():
        named = [(entry["id"], entry["title"]) for entry in entries]
        lines += [f"{kind}:", *listed(named, terminal.width(terminal.UNWRAPPED), longest=34)]
    return terminal.say("\n".join(lines))


def listing() -> Listing:
    """List theorems, formulas, algorithms, base solvers, problems, testers and data sets: an id and a title."""
    from dpcheck.algorithms.registry import others, records
    from dpcheck.bounds.formulas.formula import formulas
    from dpcheck.bounds.registry import theorems
    from dpcheck.catalogue.bases import BASES
    from dpcheck.datasets import names
    from dpcheck.problems import PROBLEMS

    return {
        "theorems": [{"id": theorem.id, "title": theorem.title} for theorem in theorems()],
        "formulas": [{"id": name, "title": formula.title} for name, formula in formulas().items()],
        "algorithms": [{"id": name, "title": place.title} for name, place in records().items()]
        + [{"id": other.name, "title": f"declared in {other.value}"} for other in others(records())],
        "bases": [{"id": base.name, "title": base.title} for base in BASES.values()],
        "problems": [{"id": name, "title": _title(f"dpcheck.problems.{name}")} for name in PROBLEMS],
        "testers": [{"id": name, "title": _title(module)} for name, module in _TESTERS.items()],
        "datasets": [
            {"id": name, "title": "bundled" if name == "a9a" else "downloaded on first use"} for name in names()
        ],
    }


def chosen(by_kind: Listing, words: Sequence[str]) -> Listing:
    """Return the entries of the kind that comes first, where it is one, whose id or title holds all (other) words."""
    kinds = [words[0]] if words[0] in by_kind else list(by_kind)
    wanted = [word.lower() for word in (words[1:] if words[0] in by_kind else words)]

    def matches(entry: dict[str, str]) -> bool:
        return all(word in f"{entry['id']} {entry['title']}".lower() for word in wanted)

    kept = {kind: [entry for entry in by_kind[kind] if matches(entry)] for kind in kinds}
    known = [*by_kind, *(entry["id"] for entries in by_kind.values() for entry in entries)]
    must = f"be a kind ({', '.join(by_kind)}), or words that a name or its title holds"
    require(any(kept.values()), "what to list", must, f"{' '.join(words)}{did_you_mean(words[0], known)}")
    return {kind: entries for kind, entries in kept.items() if entries}


def page(by_kind: Listing, width: int) -> list[str]:
    """Return the lines of a page: of each kind how many there are and their names, of theorems those of each paper."""
    lines = []
    for kind, entries in by_kind.items():
        names = [entry["id"] for entry in entries]
        if kind == "theorems":
            names = [f"{paper} ({count})" for paper, count in Counter(name.partition(".")[0] for name in names).items()]
        head = f"{kind:<10} {len(entries):>3}  "
        lines += textwrap.wrap(
            ", ".join(names), width, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False,
            break_long_words=False,
        )  # fmt: skip
    more = "with their titles: dpcheck list KIND [WORD ...], such as dpcheck list theorems xu2026"
    return [*lines, "", *textwrap.wrap(more, width)]


def _title(module: str) -> str:
    """Return the first line of a module's docstring, which is read, not imported: that would compile kernels."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    return (ast.get_docstring(tree) or "").split("\n", 1)[0].rstrip(".:")


LIST = Command(
    name="list",
    help="name theorems, algorithms, base solvers, problems, testers and data sets",
    examples=("dpcheck list", "dpcheck list theorems xu2026", "dpcheck list problems auc", "dpcheck list --format csv"),
    add_options=_list_options,
    run=_list,
)


def _show_options(parser: ArgumentParser) -> None:
    parser.add_argument("theorem", type=File.NONE, metavar="THEOREM|FORMULA", help="such as yang2022.theorem_2a")
    parser.add_argument(
        "values", type=File.NONE, nargs="*", metavar="NAME=NUMBER", help="put numbers in, such as n=10000 epsilon=1"
    )
    parser.add_argument("--latex", action="store_true", help="the formulas as LaTeX")


def _show(options: Namespace) -> int:
    from dpcheck.bounds.formulas.formula import formulas, text
    from dpcheck.bounds.ledger import recorded
    from dpcheck.bounds.registry import carrying, theorem, theorems
    from dpcheck.report.claims import describe

    typed = formulas()
    if options.theorem in typed:
        formula = typed[options.theorem]
        if options.latex:
            return terminal.say(formula.latex)
        return terminal.say(text(formula, inputs.numbers(options.values, "values"), terminal.width()))
    known = [*(known_theorem.id for known_theorem in theorems()), *typed]
    near = did_you_mean(options.theorem, known)
    listed = "`dpcheck list theorems` or `dpcheck list formulas` names"
    must = f"be one that {listed} (of a claim: `dpcheck prove CLAIM --explain`)"
    require(options.theorem in known, "theorem", must, f"{one_line(options.theorem)[:150]}{near}")
    statement = theorem(options.theorem)
    if options.latex:
        return terminal.say(statement.to_latex())
    decided = [
        (claim, recorded().get(claim.id, {}).get("verdict", "not decided yet")) for claim in carrying(statement.id)
    ]
    return terminal.say(describe(statement, inputs.numbers(options.values, "values"), decided))


SHOW = Command(
    name="show",
    help="show a theorem: assumptions, schedule, noise, bound, rate; or a formula beside the exact value",
    examples=(
        "dpcheck show yang2022.theorem_2a",
        "dpcheck show yang2022.theorem_1 n=10000 epsilon=0.5 delta=1e-8 T=100 G_w=1 G_v=2",
        "dpcheck show yang2022.theorem_2a --latex",
        "dpcheck show advanced_composition epsilon=0.1 k=100",
    ),
    add_options=_show_options,
    run=_show,
)


def _bugs_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names",
        type=File.NONE,
        nargs="*",
        metavar="BUG|FAMILY|all",
        help="to be explained and audited (default: list all)",
    )
    add_shared(parser, "seed")
    add_format(parser, ("terminal", "json", "html"))


def _bugs(options: Namespace) -> int:
    from dpcheck.audits.bugs.bug import examine, find
    from dpcheck.report.claims import bugs_page, bugs_text

    bugs = find(options.names or ["all"])
    examinations = {}
    with terminal.progress() as watch:
        for done, bug in enumerate(bugs if options.names else []):
            watch("bugs", done, len(bugs))
            examinations[bug.id] = examine(bug, seed=options.seed)
    if options.format == "json":
        terminal.say_json(
            {"schema": "dpcheck.bugs/1", "bugs": [examinations.get(bug.id, bug).to_dict() for bug in bugs]}
        )
    elif options.format == "html":
        terminal.say(bugs_page(bugs, examinations).removesuffix("\n"), as_it_is=True)
    else:
        terminal.say(bugs_text(bugs, examinations, terminal.width(80 if examinations else terminal.UNWRAPPED)))
    return int(not all(examination.told_apart for examination in examinations.values()))


BUGS = Command(
    name="bugs",
    help="bugs that broke privacy: list them, or audit some of them beside their fixed twins",
    examples=("dpcheck bugs", "dpcheck bugs lower-bound-twice", "dpcheck bugs all --format html > bugs.html"),
    add_options=_bugs_options,
    run=_bugs,
)
