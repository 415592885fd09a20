"""Write the kept results into a page: ``python -m dpcheck.experiments.page docs/reproduce.md``.

Between ``<!-- kept: NAME -->`` and ``<!-- end -->`` stand the table, the remarks and the settings of an experiment, and
after ``<!-- kept: headlines -->`` the sentences on all of them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from dpcheck.experiments import NAMES, find, kept
from dpcheck.experiments.experiment import Experiment
from dpcheck.experiments.headlines import headlines
from dpcheck.experiments.rendering import claim, text
from dpcheck.running.files import write_text
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
    parts.append(_settings(experiment))
    return "\n\n".join(part for part in parts if part)


def _settings(experiment: Experiment) -> str:
    """Return the settings; where an experiment further up has them, name it, and return what is added to them."""
    above = [find(name) for name in NAMES[: NAMES.index(experiment.id)]]
    shared = next((each for each in above if set(each.settings) <= set(experiment.settings)), None)
    known = () if shared is None else shared.settings
    own = [vars(setting) for setting in experiment.settings if setting not in known]
    said = [] if shared is None else [f"The settings of {shared.place}, above, hold here{' too' if own else ''}."]
    return "\n\n".join([*said, table(own, "markdown")] if own else said)


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        write_text(file, renewed(file.read_text("utf-8")))
