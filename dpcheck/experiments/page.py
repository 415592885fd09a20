"""Write the kept results into a page: ``python -m dpcheck.experiments.page docs/reproduce.md``.

Between ``<!-- kept: NAME -->`` and ``<!-- end -->`` stand the table, the remarks and the settings of an experiment, and
after ``<!-- kept: headlines -->`` the sentences on all of them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from dpcheck.experiments import find, kept
from dpcheck.experiments.headlines import headlines
from dpcheck.experiments.rendering import claim, text
from dpcheck.files import write_text
from dpcheck.tables import table

_MARKED = re.compile(r"(?<=<!-- kept: )(\S+)( -->\n).*?(?=<!-- end -->)", re.S)


def renewed(page: str) -> str:
    """Return the text of a page with its marked parts made anew from the kept runs."""
    return _MARKED.sub(lambda match: f"{match[1]}{match[2]}\n{section(match[1])}\n\n", page)


def section(name: str) -> str:
    """Return table, remarks and settings of an experiment as Markdown."""
    if name == "headlines":
        return "\n".join(f"- {sentence}" for sentence in headlines())
    experiment = find(name)
    results = kept.read(experiment)
    parts = [
        f"{experiment.place}: {experiment.title}. Claimed: {claim(experiment)}.",
        text(experiment, results, "markdown"),
    ]
    parts.append(table([vars(setting) for setting in experiment.settings], "markdown"))
    return "\n\n".join(part for part in parts if part)


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        write_text(file, renewed(file.read_text("utf-8")))
