"""Settings that no paper prints: what was tried on training rows, what came out, and so what is chosen.

``python -m dpcheck.experiments.choosing`` tries the candidates and writes ``kept/choices.csv``; the best of each group
is the setting, so that no setting is typed by hand.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("kept") / "choices.csv"
COLUMNS = ("data", "model", "algorithm", "epsilon", "delta", "hidden", "batch", "candidate", "AUC")
Group = tuple[str, ...]


def group(plan: Mapping[str, Any]) -> Group:
    """Return what a choice is made for: all of a plan that matters to it, as text."""
    epsilon = math.inf if plan["epsilon"] is None else plan["epsilon"]
    return (
        plan["data"], plan["model"], plan["algorithm"], f"{epsilon:g}", f"{plan['delta']:g}",
        " ".join(map(str, plan.get("hidden", ()))), str(plan.get("batch", "")),
    )  # fmt: skip


@cache
def tried() -> dict[Group, list[tuple[float, dict[str, Any]]]]:
    """Return for each group the candidates with their AUC on the rows held out."""
    found: dict[Group, list[tuple[float, dict[str, Any]]]] = {}
    if FILE.exists():
        with FILE.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                name = tuple(row[column] for column in COLUMNS[:-2])
                found.setdefault(name, []).append((float(row["AUC"]), json.loads(row["candidate"])))
    return found


def chosen(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the candidate with the largest AUC in the group of a plan, nothing where none was tried.

    A plan with another delta, batch or number of units than those of Table 2 has the choice that was made there.
    """
    found = _candidates(plan)
    return dict(max(found, key=lambda pair: pair[0])[1]) if found else {}


def unchosen(plan: Mapping[str, Any]) -> str:
    """Say why a plan cannot be run yet; nothing where a choice was made for it."""
    return "" if _candidates(plan) else "its settings are not chosen yet"


def _candidates(plan: Mapping[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    data, model, algorithm, epsilon, *_ = exact = group(plan)
    usual = (data, model, algorithm, epsilon, "1e-06", "256" if model == "mlp" else "", "64")
    return tried().get(exact) or tried().get(usual) or []
