"""What a published table or figure is made of: cells, the numbers printed in them, settings and where each is from."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
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
    """One place of a table: what tells it apart, what is printed there, and how it is run.

    Attributes
    ----------
    keys : mapping
        What the cell is called by, such as ``{"data": "ijcnn1", "epsilon": 1.0}``.
    plan : mapping
        All that its runs depend on but noise and seed, fit for JSON.
    published : mapping
        Metric -> the printed number; empty where the paper has none.
    noises : tuple of str
        Whose noise is run: that of the paper as published, and that which the accountant certifies.
    seconds : float
        What a run costs where none is kept: measured on a shortened run and extrapolated; 0 where nobody knows.
    costs : mapping
        Noise -> what a run costs with it, where that is something else.
    seeds : int
        Runs behind a measured number, where the experiment's are too dear; 0 for the experiment's.
    not_run : str
        Why the cell is left out unless it is asked for; empty for cells that are run.
    tuning : mapping
        Noise -> the runs that the choice of its settings rests on; empty where nothing was chosen.
    """

    keys: Mapping[str, Value]
    plan: Plan
    published: Mapping[str, float] = field(default_factory=dict)
    noises: tuple[str, ...] = (PUBLISHED, CERTIFIED)
    seconds: float = 0.0
    costs: Mapping[str, float] = field(default_factory=dict)
    seeds: int = 0
    not_run: str = ""
    tuning: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The keys on one line."""
        texts = {key: key_text(value) for key, value in self.keys.items()}
        return ", ".join(f"{key} {text}" if key == "epsilon" else text for key, text in texts.items())

    def cost(self, noise: str) -> float:
        """Return the seconds that a run with this noise takes."""
        return self.costs.get(noise, self.seconds)


def silent(solver: Any) -> Any:
    """Return a configured algorithm without its noise."""
    return replace(solver, **{number.name: 0.0 for number in fields(solver) if number.name.startswith("sigma")})


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
    """A published table or figure.

    Attributes
    ----------
    id, title, place : str
        Its name, what it compares, and where it stands.
    metrics : tuple of str
        What a run measures, in the paper's units.
    cells : tuple of Cell
        In the order of the paper.
    settings : tuple of Setting
        With the source of each.
    noise : str
        What "noise as published" means here.
    claimed : str
        The privacy that the paper claims for a run; a key of the cells or a text.
    measure : callable
        ``(plan, noise, seed) -> metric -> number``, :data:`EPSILON` among them.
    runs : int
        Runs behind a printed number, 0 where the paper does not say.
    spread : float
        Standard deviation of such a run as the paper states it, 0 where it does not.
    seeds : int
        Runs behind a measured one.
    missing : tuple of (str, str)
        Parts that cannot be run here, and why.
    panels : tuple of Curve
        The panels of its picture.
    data : tuple of str
        Data sets that it needs.
    """

    id: str
    title: str
    place: str
    metrics: tuple[str, ...]
    cells: tuple[Cell, ...]
    settings: tuple[Setting, ...]
    noise: str
    claimed: str
    measure: Measure
    runs: int
    spread: float = 0.0
    seeds: int = 5
    missing: tuple[tuple[str, str], ...] = ()
    panels: tuple[Curve, ...] = ()
    data: tuple[str, ...] = ()

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
