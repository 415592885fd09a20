"""The findings of an experiment: against the theorem's order, against its number, against the prediction.

Three null hypotheses are tested on the same measurements, each a finding of its own:

- the order: measured = c * order(n, d, epsilon, ...) * powers of the factors, with the term of the theorem's bound that
  leads all over the grid (or with the whole bound); :mod:`.rate_words` says what is rejected of the powers;
- the number, where the theorem states one: the expected measure exceeds it nowhere, with error 1 % over all grid
  points (Bonferroni);
- the prediction: every expected measure is within a declared factor of the predicted number, with error 1 % over all
  grid points; or where the prediction is an order only, measured = c * predicted * power and all powers are 0 within
  the margin, on both sides.

Where a finding is undecided, three times as many measurements are added and all of them are judged again, once. Either
look has half of the chance of error, so that both together keep to it.

The premises of an experiment are tested first; independent runs at every grid point follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np
from scipy.stats import t as student

from dpcheck.algorithms.registry import modules
from dpcheck.audits.rates import fit_rate
from dpcheck.checks.context import Context, Stage, Tables
from dpcheck.checks.declared import Declared
from dpcheck.checks.expected import attained_in
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, level, slopes
from dpcheck.checks.rate_points import Point, more, points
from dpcheck.checks.rate_words import Factor, judged, said, worst
from dpcheck.report.findings import Finding
from dpcheck.source import place_of, place_of_theorem

TABLE = "Measured rates"
_LOOKS = 2
_MORE = 3  # times the first look's measurements, for the second
_LEVEL = 0.01 / _LOOKS  # chance of error of a comparison of means with numbers, over all grid points
_CONFIDENCE = 1 - 0.05 / _LOOKS  # of a fitted exponent


def findings(experiment: Experiment, context: Context, tables: Tables) -> Iterator[Finding]:
    """Measure and judge one experiment; ``tables`` receives its rows."""
    found = points(experiment, context)
    broken = [premise for point in found for premise in point.premises if not premise.holds]
    if broken:
        yield _order(experiment, found, "untested", f"not asymptotic: {broken[0]}")
        return
    judgements, factors = _judged(experiment, found)
    if _undecided(experiment, judgements, factors):
        found = more(experiment, context, found, 1, _MORE)
        judgements, factors = _judged(experiment, found)
    yield from judgements
    named = experiment.statement.bound_formula is not None
    tables[f"{experiment.algorithm}: {experiment.name}"] = [_row(point, named) for point in found]
    if factors:
        tables.setdefault(TABLE, []).extend(_summary(experiment, found, factors))


def _judged(experiment: Experiment, found: list[Point]) -> tuple[list[Finding], list[Factor]]:
    """All findings at one look, and what is known of each factor if a rate is looked at."""
    frame, judgements, factors = _frame(found), list[Finding](), list[Factor]()
    if experiment.factors:
        order = _slopes(experiment, found, "order")
        factors, fit = judged(frame, "measured", order, confidence=_CONFIDENCE)
        if experiment.unreachable:
            factors = [factor.unknown(experiment.unreachable) for factor in factors]
        factors = [replace(f, why=experiment.loose) if f.word == "not exceeded" else f for f in factors]
        factors = [replace(f, share=attained_in().get(f"{experiment.id}.{f.name}")) for f in factors]
        verdict = worst(factors)
        if experiment.predicted is not None:
            own = _slopes(experiment, found, "predicted")
            factors = [factor.beside(own[factor.name]) for factor in factors]
        factors += [_held(name, found[0].cell) for name in experiment.named if name not in order]
        evidence = {"fit": fit and fit.to_dict(), "factors": [factor.to_dict() for factor in factors]}
        judgements.append(_order(experiment, found, verdict, _reason(experiment, verdict, factors), **evidence))
    if experiment.predicted is not None:
        judgements.append(_prediction(experiment, found, frame))
    if experiment.statement.bound_formula is not None:
        judgements.append(_bound(experiment, found))
    return judgements, factors


def _undecided(experiment: Experiment, judgements: list[Finding], factors: list[Factor]) -> bool:
    """Whether more measurements might change a verdict, as far as one can see."""
    words = {each.verdict for each in judgements}
    reachable = not experiment.unreachable
    return "inconclusive" in words or (reachable and ("not asymptotic" in words or any(each.open for each in factors)))


def _slopes(experiment: Experiment, found: list[Point], what: str) -> dict[str, float]:
    """Exponents of a number of each grid point, such as its order."""
    cells, values = [point.cell for point in found], [getattr(point, what) for point in found]
    return dict(slopes(cells, values, experiment.varied(cells)))


def _held(name: str, cell: Cell) -> Factor:
    """A factor that the grid does not vary."""
    held = f" and holds it at {level(cell, name):.4g}" if name == LOG_DELTA or name in cell else ""
    return Factor(name=name, word="untested", why=f"this grid does not vary it{held}")


def _reason(experiment: Experiment, verdict: str, factors: list[Factor]) -> str:
    if experiment.unreachable:
        return factors[0].why
    explained = f"; `dpcheck show {experiment.theorem}` states it" if verdict == "contradicted" else ""
    return f"{said(factors)}; {experiment.attains}{explained}"


def _frame(found: list[Point]) -> Any:
    import pandas as pd

    rows = [
        {
            **point.cell, **({LOG_DELTA: level(point.cell, LOG_DELTA)} if "delta" in point.cell else {}),
            "measured": value, "order": point.order, "predicted": point.predicted, "bound": point.promised,
        }
        for point in found
        for value in point.values
    ]  # fmt: skip
    return pd.DataFrame(rows)


def _order(experiment: Experiment, found: list[Point], verdict: str, reason: str, **evidence: Any) -> Finding:
    return _finding(experiment, found, "rate", f"the order of {experiment.theorem}", verdict, reason, **evidence)


def _prediction(experiment: Experiment, found: list[Point], frame: Any) -> Finding:
    evidence: dict[str, Any] = {"within": experiment.within}
    if experiment.within is not None:
        verdict, reason = _level(experiment.within, found)
    else:
        fit = fit_rate(
            frame, response="measured", factors=experiment.factors, offset="predicted", equal=True,
            claimed=dict.fromkeys(experiment.factors, 0.0), confidence=_CONFIDENCE,
        )  # fmt: skip
        verdict, reason = fit.verdict, f"relative to the prediction, {fit.reason}"
        evidence["fit"] = fit.to_dict()
    return _finding(experiment, found, "prediction", "the instance's closed form", verdict, reason, **evidence)


def _level(within: float, found: list[Point]) -> tuple[str, str]:
    """Whether every mean is within a factor of its prediction, and the sentence that says so."""
    reach = _reach(found)
    lows = [(p.mean - reach * p.error) / p.predicted for p in found]
    highs = [(p.mean + reach * p.error) / p.predicted for p in found]
    ratios = [p.mean / p.predicted for p in found]
    said = f"measured over predicted is between {min(ratios):.3g} and {max(ratios):.3g}"
    if max(lows) > within or min(highs) < 1 / within:
        off = max(found, key=lambda p: abs(np.log(max(p.mean / p.predicted, 1e-300))))
        return "contradicted", f"{said}, further than a factor {within:g} from 1: {off.mean:.3g} at {_at(off)}"
    if max(highs) <= within and min(lows) >= 1 / within:
        return "supported", said
    return "inconclusive", f"{said}, which may be further than a factor {within:g} from 1"


def _bound(experiment: Experiment, found: list[Point]) -> Finding:
    reach = _reach(found)
    worst = max(found, key=lambda p: p.mean / p.promised)
    above = _above(found, _LEVEL)
    below = all(p.mean + reach * p.error <= p.promised for p in found)
    reason = f"the mean is at most {worst.mean / worst.promised:.3g} of the bound at {len(found)} settings"
    if above:
        reason = f"the mean is {worst.mean / worst.promised:.3g} times the bound at {_at(worst)}: `dpcheck show "
        reason += f"{experiment.theorem}` states it"
    verdict, against = "violated" if above else "consistent" if below else "inconclusive", experiment.theorem
    return _finding(experiment, found, "bound", f"the number of {against}", verdict, reason, largest=_row(worst))


def _at(point: Point) -> str:
    """A grid point in words."""
    return ", ".join(f"{name} = {value:.6g}" for name, value in point.cell.items())


def _finding(
    experiment: Experiment, found: list[Point], what: str, against: str, verdict: str, reason: str, **evidence: Any
) -> Finding:
    subject = f"{experiment.algorithm}: {experiment.quantity} against {against}"
    return Finding(
        f"{experiment.algorithm}.{what}.{experiment.name}", "bound" if what == "bound" else "rate", subject, verdict,
        reason, evidence=_evidence(experiment, found) | evidence,
    )  # fmt: skip


def _above(found: list[Point], level: float) -> list[Point]:
    """Return the grid points whose mean exceeds the theorem's number beyond chance."""
    reach = _reach(found, level)
    return [p for p in found if p.mean - reach * p.error > p.promised]


def _reach(found: list[Point], level: float = _LEVEL) -> float:
    """Standard errors to each side that no grid point's mean exceeds by chance, save with this level."""
    return float(student.isf(level / (2 * len(found)), min(len(p.values) for p in found) - 1))


def _evidence(experiment: Experiment, found: list[Point]) -> dict[str, Any]:
    premises = {premise.what: premise for point in found for premise in sorted(point.premises, key=lambda p: -p.value)}
    return {
        "theorem": experiment.theorem,
        "regime": experiment.regime,
        "settings": len(found),
        "measurements at each": len(found[0].values),
        "runs for one measurement": [experiment.data_sets * experiment.runs_at(point.cell) for point in found],
        "premises, at their least": {what: {"value": p.value, "needed": p.least} for what, p in premises.items()},
    }


def _row(point: Point, named: bool = True) -> dict[str, Any]:
    """A grid point in a table; ``named`` : the theorem names its constants, and so a bound, not an order alone."""
    row: dict[str, Any] = dict(point.cell)
    if len(point.values):
        row |= {"measured": point.mean, "error": point.error}
    if np.isfinite(point.predicted):
        row["predicted"] = point.predicted
    if named:
        row |= {"bound": point.promised, "measured/bound": point.mean / point.promised}
    elif np.isfinite(point.order):
        row["order"] = point.order
    return row


def _summary(experiment: Experiment, found: list[Point], factors: list[Factor]) -> Iterator[dict[str, Any]]:
    """One row a factor: the exponents that are predicted, measured and promised over the same grid."""
    predicted = {} if experiment.predicted is None else _slopes(experiment, found, "predicted")
    named = experiment.statement.bound_formula is not None
    largest = max(p.mean / p.promised for p in found) if named else None
    for factor in factors:
        yield {
            "experiment": experiment.name, "algorithm": experiment.algorithm, "theorem": experiment.theorem,
            "regime": experiment.regime or "", "largest": largest,
            "predicted": None if factor.tied else predicted.get(factor.name),
            **factor.to_dict(),
        }  # fmt: skip


def stages(context: Context, name: str, tables: Tables) -> Iterator[Stage]:
    """The experiments on algorithm ``name``, each a title and a call that yields findings."""
    for experiment in experiments(name):
        yield f"rate of {experiment.name}", partial(findings, experiment, context, tables)
    for module in _modules():
        if name in getattr(module, "STAGES", {}):
            title = module.__name__.rpartition(".")[2].partition("_")[2].replace("_", " ")
            yield title, partial(module.STAGES[name], context, tables)


def experiments(name: str | None = None) -> tuple[Experiment, ...]:
    """All experiments, or those on one algorithm, in the order of their files."""
    found = (experiment for module in _modules() for experiment in getattr(module, "EXPERIMENTS", ()))
    return tuple(experiment for experiment in found if name in (None, experiment.algorithm))


@cache
def _modules() -> tuple[ModuleType, ...]:
    return tuple(modules("rate_"))


# Three looks at fresh measurements must agree: a correct algorithm is contradicted less than once in 50,000 checks.
_CLAIM_LOOKS, _CLAIM_LEVEL = 3, 0.05


def claimed_rate(declared: Declared, context: Context, tables: Tables) -> Iterator[Finding]:
    """Compare a user's measurements with the claimed exponents, or with a theorem's order and number."""
    subject, claim = "measured rate against the claimed one", declared.algorithm.rate
    if claim is None:
        reason = (
            "No rate is declared: say in rate=dpcheck.RateClaim(...) how it is measured, where, and what is claimed."
        )
        yield declared.not_checked("rate", "rate", subject, reason)
        return
    stated, factors = claim.theorem, tuple(claim.grid)
    claimed = dict(claim.claimed) if stated is None else dict.fromkeys(factors, 0.0)
    for look in range(_CLAIM_LOOKS):
        found = []
        for cell, values in declared.measured(context, claim, look):
            number = np.nan if stated is None else stated.bound(**claim.constants, **cell)
            found.append(Point(cell, None, number, np.nan, np.nan, np.nan, (), np.array(values)))
        fit = fit_rate(
            _frame(found), response="measured", factors=factors, claimed=claimed, confidence=1 - _CLAIM_LEVEL,
            offset=None if stated is None else "bound",
        )  # fmt: skip
        above = _above(found, _CLAIM_LEVEL)
        if fit.verdict != "contradicted" and not above:
            break
    place = place_of(declared.algorithm.code) if stated is None else place_of_theorem(stated)
    yield declared.finding(
        "rate", "rate", subject, fit.verdict, fit.reason, evidence={"fit": fit.to_dict()}, place=place
    )
    tables[f"{declared.name}: rate"] = [_row(point, stated is not None) for point in found]
    if stated is not None:
        worst = max(found, key=lambda point: point.mean / point.promised)
        yield declared.finding(
            "bound", "bound", f"measured error against the number of {stated.id}",
            "violated" if above else "consistent",
            f"the mean is at most {worst.mean / worst.promised:.3g} times the theorem's bound, at {_at(worst)}",
            evidence={"largest": _row(worst)}, place=place,
        )  # fmt: skip
