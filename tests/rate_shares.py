"""How often each factor that is called attained comes out as attained: ``tests/measured/rate_shares.csv``.

``python tests/rate_shares.py --fresh K [--only EXPERIMENT ...]`` measures whole experiments again, both looks, at the
seeds 1 to K, of which none is the check's, and says in which share of these repeats a factor is attained. It goes on
with a file of words, ``--words FILE``, where it was stopped.

``python tests/rate_shares.py [MEASURED.csv ...]``, for what costs too much, draws both looks of the check again and
again from what the package ships of seed 0, and from the measurements in the files, of columns algorithm, experiment,
seed, cell, value, as ``tests/rate_chances.py`` writes them at other seeds. What was measured is taken for the law. It
bends by chance, the more the fewer measurements there are, and draws from it bend by as much again: shares are rather
too small where few were measured. Rows of repeats at fresh seeds are kept. Their own standard error is .06 at .8 of 40.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import dpcheck.checks.shipped as shipped
from dpcheck.checks.context import Context, portions
from dpcheck.checks.experiment import Experiment
from dpcheck.checks.rate_points import Point, _batch, unmeasured
from dpcheck.checks.rate_words import judged
from dpcheck.checks.rates import _CONFIDENCE, _MORE, TABLE, _frame, _slopes, experiments, findings

DRAWS = 40
FRESH, DRAWN = "fresh seeds", "draws from what is at hand"
SHIPPED = Path(shipped.__file__).with_name("rate_shares.json")


def of_seed_0(experiment: Experiment, known: list[Point]) -> list[np.ndarray]:
    """What the package ships of each grid point, of both looks where there were two."""
    chunks, context, found = shipped._read(shipped.MEASUREMENTS)["chunks"], Context(), []
    for number, point in enumerate(known):
        values: list[float] = []
        for look, times in ((0, 1), (1, _MORE)):
            stream = (number, look) if look else (number,)
            batch = _batch(experiment, point, times * experiment.grid.seeds, context, stream)
            for portion in portions(batch.trials, batch.chunk, batch.seed):
                values += chunks.get(shipped.name_of(context._key(batch, portion)), [])
        found.append(np.array(values))
    return found


def words(experiment: Experiment, points: list[Point]) -> dict[str, tuple[str, bool]]:
    """The word of each factor at one look, and whether another look is taken for it."""
    order = _slopes(experiment, points, "order")
    return {
        each.name: (each.word, each.open)
        for each in judged(_frame(points), "measured", order, confidence=_CONFIDENCE)[0]
    }


def shares(experiment: Experiment, known: list[Point], pools: list[np.ndarray], draws: int = DRAWS) -> dict[str, float]:
    """The share of draws in which each factor is attained at the end."""
    rng, seeds, count = np.random.default_rng(0), experiment.grid.seeds, dict[str, int]()
    for _ in range(draws):
        drawn = [rng.choice(pool, (1 + _MORE) * seeds) for pool in pools]
        for size in (seeds, (1 + _MORE) * seeds):
            found = words(experiment, [replace(p, values=v[:size]) for p, v in zip(known, drawn, strict=True)])
            if not any(again for _, again in found.values()):
                break
        for name, (word, _) in found.items():
            count[name] = count.get(name, 0) + (word == "attained")
    return {name: times / draws for name, times in count.items()}


def again(experiment: Experiment, seed: int) -> dict[str, str]:
    """The word of each factor where the whole experiment is measured at another seed, as a check does it."""
    tables: dict[str, list[dict]] = {}
    list(findings(experiment, Context(seed=seed), tables))
    return {row["factor"]: row["verdict"] for row in tables.get(TABLE, [])}


def fresh(experiment: Experiment, repeats: int, file: Path) -> list[dict[str, str]]:
    """The words of all repeats; those that the file holds are not measured again, and the others are added to it."""
    name = f"{experiment.id} {experiment.grid.seeds}"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    known = {seed: found for of, seed, found in map(json.loads, lines) if of == name}
    for seed in range(1, repeats + 1):
        if seed not in known:
            known[seed] = again(experiment, seed)
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps([name, seed, known[seed]]) + "\n")
    return [known[seed] for seed in range(1, repeats + 1)]


def drawn(experiment: Experiment, others: pd.DataFrame | None) -> tuple[int, dict[str, float]]:
    """The fewest measurements at a grid point, and the share of draws from them in which each factor is attained."""
    known = unmeasured(experiment, experiment.grid.cells, Context())
    pools = of_seed_0(experiment, known)
    if others is not None:
        here = others[(others.algorithm == experiment.algorithm) & (others.experiment == experiment.name)]
        cells = here.cell.map(lambda text: json.dumps(json.loads(text), sort_keys=True))
        pools = [
            np.append(pool, here[cells == json.dumps(dict(point.cell), sort_keys=True)].value)
            for pool, point in zip(pools, known, strict=True)
        ]
    fewest = min(map(len, pools))
    return fewest, shares(experiment, known, pools) if fewest else {}


def kept_with(before: pd.DataFrame, rows: list[dict], rates: pd.DataFrame) -> pd.DataFrame:
    """The table with these rows in place of those of the same factors, of what is attained, in the order of rates."""
    keys = ["algorithm", "experiment", "factor"]
    after = pd.concat([before, pd.DataFrame(rows)]).drop_duplicates(keys, keep="last")
    return rates[rates.verdict == "attained"][keys].merge(after, on=keys).astype({"measurements": "Int64"})


def main() -> None:
    """The command."""
    import tables

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path, nargs="*")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--fresh", type=int, default=0)
    parser.add_argument("--words", type=Path, default=Path("rate_words_of_fresh_seeds.jsonl"))
    options = parser.parse_args()
    others = pd.concat([pd.read_csv(path) for path in options.measured]) if options.measured else None
    rates, kept = tables.read("rates"), tables.read("rate_shares")
    for experiment in experiments():
        of = rates[(rates.algorithm == experiment.algorithm) & (rates.experiment == experiment.name)]
        attained = [factor for factor in of.factor if (of[of.factor == factor].verdict == "attained").all()]
        before = kept[(kept.algorithm == experiment.algorithm) & (kept.experiment == experiment.name)]
        named = experiment.name in options.only or not options.only
        if not attained or not named or (not options.fresh and (before["of"] == FRESH).any()):
            continue
        if options.fresh:
            words_of = fresh(experiment, options.fresh, options.words)
            found = {name: float(np.mean([each.get(name) == "attained" for each in words_of])) for name in attained}
            source, fewest, repeats = FRESH, None, options.fresh
        else:
            fewest, found = drawn(experiment, others)
            source, repeats = DRAWN, DRAWS
        rows = [
            {
                "algorithm": experiment.algorithm, "experiment": experiment.name, "factor": factor,
                "first_look": experiment.grid.seeds, "of": source, "measurements": fewest, "repeats": repeats,
                "attained": found.get(factor),
            }
            for factor in attained
        ]  # fmt: skip
        print(*rows, sep="\n", flush=True)
        kept = kept_with(kept, rows, rates)
        tables.write("rate_shares", kept)
        SHIPPED.write_text(json.dumps(shipped_of(kept), indent=1) + "\n", "utf-8")


def shipped_of(kept: pd.DataFrame) -> dict[str, float]:
    """What the package ships of the table."""
    return {f"{row.algorithm}.{row.experiment}.{row.factor}": row.attained for row in kept.itertuples()}


if __name__ == "__main__":
    main()
