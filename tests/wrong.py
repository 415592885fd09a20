"""Arguments that a call of the library may be given: those of a good call, and wrong ones of every kind."""

from __future__ import annotations

import datetime
import inspect
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import public

import dpcheck
from dpcheck.accounting.best_of_runs import PoissonRuns
from dpcheck.events import Gaussian, Repeated, Sampled
from dpcheck.problems import example

SECONDS = 1.0  # of processor time that refusing may take
_LONGEST = 600  # letters of a sentence


class Silent:
    """An object that does not say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __str__ = __repr__


def _nested() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


class OfOthersError(Exception):
    """An error that a function which the test hands over raises."""


def _raises(*_: Any, **__: Any) -> Any:
    raise OfOthersError("of somebody's code\nin two lines")


# What makes each, since some are used up.
WRONG: dict[str, Callable[[], Any]] = {
    **{repr(value)[:30]: lambda value=value: value for value in (
        None, True, False, 0, -1, 1, 2.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), 10**18,
        -(10**18), 10**400, 1j, "", "text", "1", "a\nb\x00\x1b[2J", "1" * 5_000, b"bytes", (), [], {}, [float("nan")],
        [[1], [1, 2]], ["a", 1], [None], {"a": 1}, {1: "n"}, {"n": float("nan")}, frozenset({1}), Decimal("NaN"),
        Fraction(1, 3), datetime.date(2026, 1, 1), np.float32(1), np.int8(3), np.datetime64("2026-01-01"), range(3),
    )},
    "no array": lambda: np.zeros(0), "NaN array": lambda: np.full(3, np.nan), "three axes": lambda: np.zeros((2, 2, 2)),
    "rows of nothing": lambda: np.zeros((3, 0)), "texts": lambda: np.array(["a", "b"]),
    "objects": lambda: np.array([1, "a", None], dtype=object), "complex": lambda: np.ones(3) * 1j,
    "masked": lambda: np.ma.masked_array([1.0, 2.0], [True, False]), "records": lambda: np.zeros(2, [("a", float)]),
    "scalar array": lambda: np.array(1.0), "huge numbers": lambda: np.full(3, 1e308), "no table": pd.DataFrame,
    "table": lambda: pd.DataFrame({"a": ["x", "y"], "b": [1.0, np.nan]}), "iterator": lambda: iter([1]),
    "object": object, "silent": Silent, "list of silent": lambda: [Silent()], "cycle": _nested,
    "function": lambda: _raises, "module": lambda: np, "deep": lambda: _deep(5_000),
}  # fmt: skip


def _deep(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def laplace(data: Any, rng: np.random.Generator) -> Any:
    return np.sum(data) + rng.laplace()


_N = np.repeat([100.0, 200, 400, 800], 4)
_EVENT = Repeated(Sampled((Gaussian(2.0),), "poisson", 100, 5, "add_or_remove_one"), 3)
# A good value of a parameter: by function and name, else by name.
_GOOD: dict[str, Any] = {
    "mechanism": laplace, "algorithm": lambda coins, rng: coins + rng.normal(size=len(coins)), "data": np.zeros(3),
    "neighbour": np.ones(3), "epsilon": 1.0, "delta": 1e-5, "trials": 200, "confidence": 0.95, "seed": 0, "jobs": 1,
    "most": 300, "claimed": 1.0, "query": np.mean, "dataset": np.zeros(5), "budget": 50, "width": 3, "index": 0,
    "records": np.ones((6, 1)), "bound": 1.0, "canaries": 50, "scores": np.arange(40.0), "count": 2, "low": 0.0,
    "included": np.arange(40) % 2 == 0, "drawn": np.arange(40).reshape(20, 2), "population": 40, "batch": 2,
    "scheme": "poisson", "frame": pd.DataFrame({"n": _N, "gap": _N**-0.5}), "response": "gap", "factors": ["n"],
    "events": _EVENT, "event": Gaussian(1.0), "pairs": [(np.zeros(3), np.ones(3))], "problem": example("quadratic"),
    "other_scores": np.arange(40.0), "name": "quadratic", "grid": {"n": (1, 2, 4)}, "radius": 1.0, "high": 1.0,
    "measure": lambda rng, n: 1.0, "oracle": np.negative, "pipeline": lambda data, rng: data, "target": "nothing",
    "noise_multiplier": 1.0, "names": "nothing", "id": "nothing", "sample": np.zeros((60, 1)), "factor": 2.0,
    "distribution": "gaussian", "sampling": "poisson", "mechanisms": (Gaussian(1.0),), "hits": 3, "other_hits": 5,
    "make_events": Gaussian, "words": "a pair", "epsilons": np.array([0.0, 1.0]), "deltas": np.array([0.1, 0.01]),
    "record": example("quadratic").records[0], "template": "{x} < 1", "energy": abs,
    "fit_rate.claimed": {"n": -0.5}, "assert_rate.claimed": {"n": -0.5}, "RateClaim.claimed": {"n": -0.5},
    "solve.name": "dp_sgda", "solve.problem": "quadratic", "algorithm.name": "dp_sgda", "Algorithm.name": "mine",
    "configure.name": "dp_sgda", "theorem.id": "yang2022.theorem_1", "Repeated.steps": 3,
    "Disjoint.events": (Gaussian(1.0),), "gradient": lambda state, data: state, "eta": 0.1, "mu": 1.0, "L": 1.0,
    "of": Gaussian(1.0), "runs": PoissonRuns(2.0), "shape": 1.0, "stop": 0.5, "mean": 2.0, "number": 2,
    "loaders.steps": 10, "train": lambda data, rng: data, "planted.canaries": np.ones((2, 1)),
    "planted.score": lambda output, canaries: np.zeros(len(canaries)), "released": np.ones((2, 3)),
    "directions": np.ones((4, 3)),
    "audit_one_run.runs": 1, "audit_tables.runs": 1, "audit_constants.configure": len, "audit_constants.data": [1],
    "audit_constants.neighbours": [[2]], "around.records": "finite", "RandomAllocation.mechanism": Gaussian(1.0),
    "RandomAllocation.steps": 5, "audit_training_step.records": np.ones((10, 1)), "Algorithm.data": np.zeros(10),
    "audit_evaluation_points.mechanism": lambda oracle, rng: oracle(np.zeros(2)) + rng.normal(size=2),
    "audit_clipping.query": lambda batch: np.clip(batch, -1, 1).sum(), "audit_randomness.trials": 20,
    "Algorithm.run": lambda data, rng: np.clip(data, 0, 1).mean() + rng.normal(),
    "audit_training_step.step": lambda params, batch, rng: params + rng.normal(), "replaced.replacements": [0.0, 1.0],
    **{f"{name}.scale": 1.0 for name in ("audit_noise", "assert_noise", "audit_noise_sample")},
    **{f"{name}.replacements": [0.0, 1.0] for name in ("audit_sensitivity", "assert_sensitivity", "Algorithm")},
}  # fmt: skip


def good(function: Any, name: str) -> Any:
    """A value of a parameter that is none of the wrong ones, or inspect.Parameter.empty where none is known."""
    return _GOOD.get(f"{function.__name__}.{name}", _GOOD.get(name, inspect.Parameter.empty))


def functions() -> dict[str, Any]:
    """What users call, by name: public functions, and the classes that they make themselves."""
    named = public.public()
    made = {id(each) for each in public.top().values()}
    made |= {id(each) for name, each in named.items() if name.startswith("dpcheck.events.")}
    inner = {name for names in public.INNER.values() for name in names}
    return {
        name: each for name, each in named.items()
        if inspect.isfunction(each) or ((id(each) in made or each.__name__ in inner) and each.__name__ in MADE)
        if each.__name__ not in UNGUARDED
    }  # fmt: skip


# Hypothesis runs inside the first; letters of sympy, results' arrays and a block's generator are taken as they are.
UNGUARDED = frozenset({"drawn", "gram", "inner", "auc_score", "drawing_from", "replaced"})
MADE = frozenset({
    "Algorithm", "RateClaim", "PrivacyClaim", "Limits", "Pair", "Gaussian", "Laplace", "Sampled", "Repeated",
    "Disjoint",
    "RandomAllocation", "TrainingStep", "StrongConvexity", "Best", "NegativeBinomial", "PoissonRuns",
})  # fmt: skip


def examples(function: Any) -> int:
    """How many calls a quick run makes: few of what works long when its arguments are good."""
    return 1 if function.__name__ in SLOW else 8


SLOW = frozenset({
    "audit_floating_point", "loaders", "prove", "find", "claims", "theorems", "optimum", "judge", "solve",
})  # fmt: skip


def parameters(function: Any) -> list[inspect.Parameter]:
    """The parameters of a function that a call may name."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [each for each in inspect.signature(function).parameters.values() if each.kind in kinds]


class LateError(BaseException):
    """A call did not come back in time."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise in what takes more processor time, of which nothing would come out otherwise."""

    def late(*_: Any) -> None:
        raise LateError(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def wrong_with(function: Any, changes: dict[str, Any]) -> str:
    """Call a function with some of its good arguments replaced, and say what is wrong with its answer, if anything."""
    given = {
        each.name: value for each in parameters(function) if (value := good(function, each.name)) is not each.empty
    }
    started = time.process_time()
    try:
        with limit(60), np.errstate(all="ignore"):
            function(**given | changes)
        return ""
    except (dpcheck.InputError, AssertionError) as error:
        said = str(error)
        if isinstance(error, AssertionError) and function.__module__ == "dpcheck.testing":
            return ""
        if not isinstance(error, dpcheck.InputError) or "\n" in said or not 0 < len(said) <= _LONGEST:
            return f"{type(error).__name__}: {said[:200]!r} ({len(said)} letters)"
    except OfOthersError:  # what code of the caller's own raises may come out as it is
        return ""
    except TypeError as error:
        unbound = re.search(r"\(\) missing \d+ required", str(error)) is not None
        if not unbound:  # a call without an argument that it needs
            return f"TypeError: {error}"[:200]
        return ""
    except BaseException as error:
        return f"{type(error).__name__}: {dpcheck.errors.one_line(error)[:200]}"
    took = time.process_time() - started
    return f"refused after {took:.1f} s" if took > SECONDS else ""
