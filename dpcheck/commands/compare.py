"""``dpcheck compare``: what changed between two runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dpcheck.commands import terminal
from dpcheck.commands.command import Command, add_format

if TYPE_CHECKING:
    from dpcheck.report.history import Change, Comparison


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    for name in ("before", "after"):
        parser.add_argument(
            name, metavar=name.upper(),
            help="REPORT.json, or a run in a store: FOLDER (its last), FOLDER:NUMBER or FOLDER:COMMIT",
        )  # fmt: skip
    add_format(parser)


def run(options: Namespace) -> int:
    """Run ``dpcheck compare``."""
    from dpcheck.report.history import compare, find

    before, after = find(options.before), find(options.after)
    comparison = compare(before.report, after.report)
    if options.format == "json":
        terminal.say_json({"before": before.name, "after": after.name, **comparison.to_dict()})
    else:
        terminal.say(comparison_text(comparison, before.name, after.name))
    return int(bool(comparison.changes))


def comparison_text(comparison: Comparison, before: str, after: str) -> str:
    """A line a change, then what was compared."""
    lines = [f"from {before} to {after}:"]
    lines += [f"  {_line(change)}" for change in comparison.changes] or ["  nothing changed"]
    lines.append(
        f"{comparison.findings} findings are in both; {comparison.numbers} measured numbers, of which any is called "
        f"changed by chance with probability {comparison.level:g} at most"
    )
    return "\n".join(lines)


def _line(change: Change) -> str:
    if change.what == "finding":
        return f"{change.id}: {'new' if change.before is None else 'gone'}, {change.after or change.before}"
    values = " -> ".join(_text(value) for value in (change.before, change.after))
    if change.interval is None:
        return f"{change.id}: {change.what} {values}"
    if len(change.interval) == 4:
        low, high, other_low, other_high = map(_text, change.interval)
        within = f"the sets that each run chose show {low} to {high}, then {other_low} to {other_high}"
    else:
        within = f"by {_text(change.interval[0])} to {_text(change.interval[1])}"
    return f"{change.id}: {change.what} {values} ({within})"


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


COMPARE = Command(
    name="compare",
    help="say what changed between two runs, and which numbers moved further than chance moves them",
    examples=(
        "dpcheck compare before.json after.json",
        "dpcheck compare runs:1 runs",
        "dpcheck compare runs:3f2a9c1 runs:e84d07b    # what two commits found",
    ),
    add_options=add_options,
    run=run,
    further=(
        "exit code 0 if nothing changed, 1 if a verdict changed, a finding came or went, or a number moved beyond\n"
        "chance (error 5 % over all numbers together)"
    ),
)
