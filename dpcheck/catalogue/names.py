"""What comes with dpcheck, by name, for those who show results: the papers with their titles, and the algorithms."""

from __future__ import annotations

import importlib

from dpcheck.bounds.registry import PAPERS
from dpcheck.report.results import Catalogue
from dpcheck.solvers import ALGORITHMS


def catalogue() -> Catalogue:
    """Return the papers, each titled by the first line of its folder's docstring, and the names of the algorithms."""
    titles = {paper: importlib.import_module(f"dpcheck.bounds.{paper}").__doc__ or "" for paper in PAPERS}
    return Catalogue({paper: title.strip().partition("\n")[0] for paper, title in titles.items()}, tuple(ALGORITHMS))
