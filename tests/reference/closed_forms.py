"""Each closed form of a problem beside the numerical route: by how much it is off, and where."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.errors import InputError
from reference.derivatives import project
from reference.objective import Objective, along, least

POINTS = (0.1, 0.5, 2.0)  # how far from the start, each coordinate
DIRECTIONS = 2
RECORDS = 3  # whose own gradients are compared
SURE = 1e-9  # residual of a best response that is one
LARGEST = 150  # dimensions up to which a whole Hessian is taken by differences
STARTS = 4  # of descents that look for a lower minimum
RUNS, POPULATION = 3, 4000  # of forms about a population: outputs, and records drawn from it


@dataclass(frozen=True)
class Compared:
    """One form at one place: what it says, what it is by the numerical route, and how far apart the two may be.

    form : the attribute of the problem;  words : what it is, after "the"
    off : how far apart they are, relative to 1 and to the size of what is compared
    """

    form: str
    words: str
    off: float
    told: str
    room: float = 1e-6

    @property
    def differs(self) -> bool:
        """Whether the two differ by more than the numerical route errs; what is no number differs."""
        return not self.off <= self.room


def comparisons(problem: Any) -> Iterator[Compared]:
    """Yield every form that the problem declares, at points of a fixed stream."""
    objective, rng = Objective(problem), np.random.default_rng(0)
    yield _start(objective)
    yield from _gradients(objective, rng)
    if _declares(problem, "saddle"):
        w, v = problem.saddle()
        yield _zero("saddle", "saddle point", objective.residual(w, v), "moves by", "along its gradients", _at_w(w))
    points = [objective.point(rng, reach) for reach in POINTS]
    for w, _ in points:
        yield from _at(objective, w, rng)
    if _declares(problem, "minima"):
        yield from _minima(problem, rng)
    if _declares(problem, "saddle_point"):
        yield from _saddle_point(problem)
    for w, v in points:
        if _declares(problem, "gap", w, v):
            yield from _gap(objective, w, v, last=w is points[-1][0])
    yield from _of_the_population(problem, rng)
    for form, compare in _FURTHER.items():
        if hasattr(problem, form):
            yield from compare(objective, rng)


def _start(objective: Objective) -> Compared:
    """Check that the start lies in the domains and that some record has a gradient there, without which a run shows
    nothing.
    """
    start, d = np.asarray(objective.problem.start, float), objective.d
    outside = max(
        (float(np.abs(project(x, domain) - x).max(initial=0.0))
         for x, domain in zip((start[:d], start[d:]), objective.domains, strict=True)),
        default=0.0,
    )  # fmt: skip
    if outside > 1e-9:
        return Compared("start", "start", outside, f"lies {outside:.3g} outside of the domains")
    steepest = max(float(np.abs(_one(objective, i, start)).max()) for i in range(len(objective.problem.records)))
    return Compared("start", "start", 0.0 if steepest > 0 else 1.0, "is a point where no record has a gradient")


def _gradients(objective: Objective, rng: np.random.Generator) -> Iterator[Compared]:
    """Compare the gradients of single records with their values: all else rests on both."""
    problem, d = objective.problem, objective.d
    x = np.concatenate(objective.point(rng, 0.3))
    for i in rng.integers(len(problem.records), size=RECORDS):
        record, u = problem.arranged[i], _direction(x.size, rng)

        def value(y: Array, z: Array = record) -> float:
            return float(problem.value(problem.params, z, y[:d], y[d:]))

        slope = along(value, x, u)
        yield _equal("gradient", "gradient of a record", _one(objective, int(i), x) @ u, slope, "along a line", x[:d])


def _at(objective: Objective, w: Array, rng: np.random.Generator) -> Iterator[Compared]:
    """Yield the best response to w, the primal function and its derivatives there.

    The mean being concave in v, a point that keeps the optimality conditions is as good as an optimiser's.
    """
    problem, best = objective.problem, None
    if _declares(problem, "best_response", w):
        v = np.asarray(problem.best_response(w), float)
        off = objective.residual(w, v, "v")
        best = v if off < SURE else None
        yield _zero("best_response", "best response", off, "moves by", "along its gradient", _at_w(w))
    if not _declares(problem, "primal", w):
        return
    due = objective.largest(w) if best is None else objective.value(w, best)
    yield _equal("primal", "primal function", problem.primal(w), due, "", w)
    for _ in range(DIRECTIONS):
        u = _direction(w.size, rng)
        if _declares(problem, "primal_gradient", w):
            slope = along(problem.primal, w, u)
            yield _equal("primal_gradient", "primal gradient", problem.primal_gradient(w) @ u, slope, "along a line", w)
        if _declares(problem, "primal_hessian", w):
            bend = along(problem.primal_gradient, w, u)
            yield _equal("primal_hessian", "primal Hessian", problem.primal_hessian(w) @ u, bend, "on a direction", w)


def _gap(objective: Objective, w: Array, v: Array, *, last: bool) -> Iterator[Compared]:
    """Compute the gap over the domains or, as some are stated, over the whole space where that has a saddle."""
    problem = objective.problem
    found = problem.gap(w, v)
    if problem.convexity < 0:  # the lowest of its minima, which are compared themselves
        lowest = min(objective.value(each, v) for each in problem.minima())
        yield _equal("gap", "gap", found, objective.largest(w) - lowest, "", w)
        return
    due = [objective.largest(w) - objective.smallest(v)]
    if problem.convexity > 0 and (problem.concavity > 0 or not problem.dim_v):
        due.append(objective.largest(w, free=True) - objective.smallest(v, free=True))
    yield min((_equal("gap", "gap", found, each, "", w) for each in due), key=lambda each: each.off)
    if last and _declares(problem, "saddle"):
        yield _equal("gap", "gap", problem.gap(*problem.saddle()), 0.0, "at the saddle point", problem.saddle()[0])


def _saddle_point(problem: Any) -> Iterator[Compared]:
    """Check that the saddle point is stationary, and the least eigenvalue of the Hessian there."""
    w, told = problem.saddle_point()
    slope = float(np.abs(problem.primal_gradient(w)).max())
    yield _zero("saddle_point", "strict saddle", slope, "has a gradient of", "", _at_w(w))
    if w.size <= LARGEST:
        found = float(np.linalg.eigvalsh(_hessian(problem, w))[0])
        yield _equal("saddle_point", "least eigenvalue at the strict saddle", told, found, "", w)
        yield Compared("saddle_point", "strict saddle", max(0.0, float(told)), "has no direction of descent")


def _minima(problem: Any, rng: np.random.Generator) -> Iterator[Compared]:
    """Check that minima are stationary, without a direction of descent, and that descending from elsewhere finds
    none lower.
    """
    from scipy.optimize import minimize

    minima = np.asarray(problem.minima())
    for w in minima:
        slope = float(np.abs(project(w - problem.primal_gradient(w), problem.domain_w) - w).max())
        yield _zero("minima", "listed minimum", slope, "moves by", "along its gradient", _at_w(w))
        if _declares(problem, "primal_hessian", w):
            bend = float(np.linalg.eigvalsh(_hessian(problem, w))[0])
            yield Compared("minima", "listed minimum", max(0.0, -bend), f"has the curvature {bend:.3g} {_at_w(w)}")
    lowest = min(problem.primal(w) for w in minima)
    for _ in range(STARTS):
        found = minimize(problem.primal, 2 * rng.standard_normal(problem.dim_w), jac=problem.primal_gradient).x
        value = problem.primal(project(found, problem.domain_w))
        told = f"of {lowest:.6g} is above {value:.6g} {_at_w(found)}"
        yield Compared("minima", "least of the listed minima", max(0.0, lowest - value), told)


def _of_the_population(problem: Any, rng: np.random.Generator) -> Iterator[Compared]:
    """Check forms about the population of ``sample`` by many records drawn from it: within what their mean errs."""
    forms = [form for form in ("weak_gap", "excess") if hasattr(problem, form)]
    if not forms:
        return
    columns = problem.dim_w  # of w, from which a sample is drawn
    many = Objective(type(problem).sample(POPULATION, columns, rng))
    alike = many.problem
    outputs = np.array([np.concatenate(many.point(rng, 0.4)) for _ in range(RUNS)])
    d = many.d

    def primal(v: Array) -> tuple[float, Array]:
        values = [(many.value(x[:d], v), many.slopes(x[:d], v)[1]) for x in outputs]
        return -float(np.mean([value for value, _ in values])), -np.mean([slope for _, slope in values], axis=0)

    def dual(w: Array) -> tuple[float, Array]:
        values = [(many.value(w, x[d:]), many.slopes(w, x[d:])[0]) for x in outputs]
        return float(np.mean([value for value, _ in values])), np.mean([slope for _, slope in values], axis=0)

    start = np.asarray(alike.start, float)
    due = -least(primal, start[d:], many.domains[1]) - least(dual, start[:d], many.domains[0])
    for form in forms:
        words = {"weak_gap": "weak gap", "excess": "excess risk"}[form] + " over the population"
        found = _equal(form, words, getattr(alike, form)(outputs), due, "by records drawn from it", outputs[0][:d])
        yield replace(found, room=6 / np.sqrt(POPULATION))


def _pl(objective: Objective, rng: np.random.Generator) -> Iterator[Compared]:
    """Check the constant of the Polyak-Lojasiewicz inequality |grad_w F|^2 >= 2 pl (F - min over w)."""
    problem = objective.problem
    for reach in POINTS:
        w, v = objective.point(rng, reach)
        above = objective.value(w, v) - objective.smallest(v, free=True)
        slope = float(np.sum(objective.slopes(w, v)[0] ** 2))
        short = max(0.0, 2 * problem.pl * above - slope)
        told = f"of {problem.pl:.6g} is above {slope / (2 * max(above, 1e-300)):.6g} {_at_w(w)}"
        yield Compared("pl", "Polyak-Lojasiewicz constant", short / (1 + slope), told)


def _optimum(objective: Objective, _: np.random.Generator) -> Iterator[Compared]:
    """Check AUC's weights: the least squares of 1 over all differences of a positive record and a negative one."""
    problem = objective.problem
    X, y = problem.records[:, :-1], problem.records[:, -1]
    differences = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, X.shape[1])
    due = np.linalg.lstsq(differences, np.ones(len(differences)), rcond=None)[0]
    yield _equal("optimum", "optimum of the square loss", problem.optimum(), due, "", due)


# attribute -> what it is held against, for forms that single problems have
_FURTHER: dict[str, Callable[[Objective, np.random.Generator], Iterator[Compared]]] = {"optimum": _optimum, "pl": _pl}


def _declares(problem: Any, form: str, *arguments: Any) -> bool:
    """Say whether the problem has the form; one that refuses its own example has it, and stops the comparison."""
    if not hasattr(problem, form):
        return False
    try:
        getattr(problem, form)(*arguments)
    except InputError as error:
        if "in closed form" in str(error):
            return False
        raise
    return True


def _one(objective: Objective, i: int, x: Array) -> Array:
    """Return both gradients of record i."""
    problem, d, out = objective.problem, objective.d, np.zeros(x.size)
    problem.gradient(problem.params, problem.arranged[i], x[:d], x[d:], out[:d], out[d:])
    return out


def _hessian(problem: Any, w: Array) -> Array:
    """Compute the Hessian by differences of the primal gradient."""
    columns = np.array([along(problem.primal_gradient, w, u) for u in np.eye(w.size)])
    return np.asarray((columns + columns.T) / 2)


def _direction(size: int, rng: np.random.Generator) -> Array:
    u = rng.standard_normal(size)
    return np.asarray(u / max(float(np.linalg.norm(u)), 1e-300))


def _equal(form: str, words: str, ours: Any, due: Any, where: str, w: Array) -> Compared:
    ours, due = np.atleast_1d(np.asarray(ours, float)), np.atleast_1d(np.asarray(due, float))
    if ours.shape != due.shape:
        return Compared(form, words, np.inf, f"has the shape {ours.shape}, not {due.shape}")
    worst = int(np.argmax(np.abs(ours - due)))
    off = float(np.abs(ours - due).max()) / (1 + float(np.abs(due).max()))
    entry = f" in coordinate {worst + 1}" if ours.size > 1 else ""
    what = " ".join(filter(None, (f"is {ours[worst]:.6g} where {due[worst]:.6g} is due{entry}", where, _at_w(w))))
    return Compared(form, words, off, what)


def _zero(form: str, words: str, off: float, verb: str, how: str, where: str) -> Compared:
    return Compared(form, words, off, " ".join(filter(None, (verb, f"{off:.3g}", how, where))))


def _at_w(w: Array) -> str:
    shown = ", ".join(f"{x:.3g}" for x in w[:3]) + (", ..." if w.size > 3 else "")
    return f"at w = ({shown})"


def wrong(problem: Any) -> Iterator[str]:
    """Yield a sentence for each form that the problem declares and the numerical route does not find."""
    try:
        for each in comparisons(problem):
            if each.differs:
                yield f"{each.form}: the {each.words} {each.told}"
    except (InputError, ArithmeticError, ValueError) as error:  # a form that refuses the problem's own example
        names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        form = next((name for name in reversed(names) if hasattr(type(problem), name)), "value")
        yield f"{form}: stops with {error!r}"
