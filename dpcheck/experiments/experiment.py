"""What a published table or figure is made of: cells, the numbers printed in them, settings and where each is from."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Value = str | float
Plan = Mapping[str, Any]
Measure = Callable[[Plan, str, int], dict[str, float]]

PUBLISHED, CERTIFIED, NONE = "published", "certified", "none"  # whose noise a run adds
# Runs without noise on the rows of certified noise: with the clipping norms that it has, and without clipping.
CLIPPED, UNCLIPPED = CONTROLS = ("clipped", "unclipped")
EPSILON = "certified epsilon"  # what a run's noise is certified at, among the numbers that it measures


@dataclass(frozen=True)
class Setting:
    """One setting of an experiment, and where it comes from: printed, or chosen, and by what rule."""

    name: str
    value: str
    source: str


def settings_stated(experiment: str) -> tuple[Setting, ...]:
    """Return what ``settings.csv`` has of an experiment, in its order."""
    with Path(__file__).with_name("settings.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row.pop("experiment") == experiment]
    return tuple(Setting(**row) for row in rows)


@dataclass(frozen=True)
class Cell:
    """One place of a table: what tells it apart, what is printed there, and how it is run."""

    keys: Mapping[str, Value]  # what the cell is called by, such as {"data": "ijcnn1", "epsilon": 1.0}
    plan: Plan  # all that its runs depend on but noise and seed, fit for JSON
    published: Mapping[str, float] = field(default_factory=dict)  # metric -> the printed number, where there is one
    noises: tuple[str, ...] = (PUBLISHED, CERTIFIED)  # whose noise is run
    # What a run costs where none is kept: measured on a shortened run and extrapolated; 0 where nobody knows.
    seconds: float = 0.0
    costs: Mapping[str, float] = field(default_factory=dict)  # noise -> what a run costs with it, if something else
    seeds: int = 0  # runs behind a measured number, where the experiment's are too dear; 0 for the experiment's
    not_run: str = ""  # why the cell is left out unless it is asked for; empty for cells that are run
    tuning: Mapping[str, int] = field(default_factory=dict)  # noise -> the runs behind the choice of its settings

    @property
    def name(self) -> str:
        """The keys on one line."""
        texts = {key: key_text(value) for key, value in self.keys.items()}
        return ", ".join(f"{key} {text}" if key == "epsilon" else text for key, text in texts.items())

    def cost(self, noise: str) -> float:
        """Return the seconds that a run with this noise takes."""
        return self.costs.get(noise, self.seconds)


def settings_for(plan: Plan, noise: str) -> dict[str, Any]:
    """Return the settings of a plan's runs with this noise; without a clip where the paper's own runs have none."""
    asked = dict(plan.get("settings", {}))
    if noise in (CERTIFIED, CLIPPED):
        return asked
    if "published" in plan and not plan.get("as_printed"):
        asked = {name: value for name, value in asked.items() if not name.startswith("clip")}
    asked |= plan.get("published", {})
    return asked | (plan.get("without", {}) if noise == NONE else {})


@dataclass(frozen=True)
class Curve:
    """One panel of a picture: numbers whose metric is ``metric@x``, or cells along the key ``along``."""

    metric: str
    label: str
    along: str = ""
    only: Mapping[str, Value] = field(default_factory=dict)
    log: bool = False


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published table or figure."""

    id: str
    title: str  # what it compares
    place: str
    metrics: tuple[str, ...]  # what a run measures, in the paper's units
    cells: tuple[Cell, ...]  # in the order of the paper
    settings: tuple[Setting, ...]
    noise: str  # what "noise as published" means here
    claimed: str  # the privacy that the paper claims for a run; a key of the cells or a text
    measure: Measure  # (plan, noise, seed) -> metric -> number, EPSILON among them
    runs: int  # behind a printed number, 0 where the paper does not say
    spread: float = 0.0  # standard deviation of such a run as the paper states it, 0 where it does not
    seeds: int = 5  # runs behind a measured number
    missing: tuple[tuple[str, str], ...] = ()  # parts that cannot be run here, and why
    panels: tuple[Curve, ...] = ()  # of its picture
    data: tuple[str, ...] = ()  # data sets that it needs

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the cells' keys."""
        return tuple(self.cells[0].keys)

    def seeds_of(self, cell: Cell) -> int:
        """Return how many runs are behind a measured number of this cell."""
        return cell.seeds or self.seeds


def key_text(value: Value) -> str:
    """A key's value as people write it."""
    return value if isinstance(value, str) else f"{value:g}"
