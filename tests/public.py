"""What users touch: the public names, the classes that these return, and what one builds an algorithm or a proof of."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType

import dpcheck
from dpcheck.bounds import prover
from dpcheck.problems import PROBLEMS, problem_class
from dpcheck.solvers import ALGORITHMS, algorithm

# What users import from inner modules, as the README and the guides do.
INNER = {
    "dpcheck.accounting": ("calibrate", "privacy_curve"),
    "dpcheck.accounting.best_of_runs": ("Best", "NegativeBinomial", "PoissonRuns"),
    "dpcheck.accounting.loaders": ("loaders",),
    "dpcheck.accounting.risk": ("risk",),
    "dpcheck.accounting.second_opinion": ("second_opinion",),
    "dpcheck.audits.bands": ("band_bound",),
    "dpcheck.audits.bayesian": ("credible_bound",),
    "dpcheck.audits.canaries": ("along", "made_canaries", "planted"),
    "dpcheck.audits.claim": ("PrivacyClaim",),
    "dpcheck.audits.gaussian": ("gaussian_bound",),
    "dpcheck.audits.split": ("split_bound",),
    "dpcheck.audits.step_parts": ("TrainingStep",),
    "dpcheck.adapters.jax_privacy": ("training_step",),
    "dpcheck.adapters.opacus": ("training_step",),
    "dpcheck.audits.neighbours": ("Pair", "patterns", "replaced", "removed", "around", "drawn", "canary"),
    "dpcheck.audits.noise": ("audit_noise_sample",),
    "dpcheck.audits.running.isolated": ("Limits",),
    "dpcheck.audits.running.other_python": ("OtherPython",),
    "dpcheck.audits.running.recorder": ("Recorder", "Silenced"),
    "dpcheck.audits.running.sources": ("drawing_from", "replaced"),
    "dpcheck.catalogue.bases": ("optimum",),
    "dpcheck.bounds.claim": ("Claim", "Decision", "Evidence"),
    "dpcheck.bounds.evidence": (
        "Identity", "AtMost", "Below", "Enumerated", "Counterexample", "Searched", "Cited", "Quoted",
    ),
    "dpcheck.bounds.judge": ("judge",),
    "dpcheck.bounds.prover.vectors": ("gram", "inner"),
    "dpcheck.bounds.registry": ("theorems", "claims", "find"),
    "dpcheck.bounds.statement": ("Statement", "stated"),
    "dpcheck.bounds.theorem": ("Theorem", "Parameter", "Assumption"),
    "dpcheck.problems": ("example",),
    "dpcheck.problems.auc": ("auc_score",),
    "dpcheck.algorithms.problem": ("Problem", "with_record"),
    "dpcheck.solvers": ("algorithm", "configure"),
    "dpcheck.algorithms.run": ("Run", "History"),
    "dpcheck.algorithms.solver": ("Solver",),
}  # fmt: skip


def top() -> dict[str, object]:
    """The functions and classes of ``dpcheck.__all__``, by name."""
    named = {name: getattr(dpcheck, name) for name in dpcheck.__all__}
    return {
        f"dpcheck.{name}": each for name, each in named.items() if inspect.isfunction(each) or inspect.isclass(each)
    }


def public() -> dict[str, object]:
    """Every function and class that users touch, by its name."""
    modules = [each for name in dpcheck.__all__ if isinstance(each := getattr(dpcheck, name), ModuleType)]
    found = list(top().values())
    found += [each for module in (*modules, prover) for each in _exported(module)]
    found += [getattr(importlib.import_module(module), name) for module, names in INNER.items() for name in names]
    found += map(problem_class, PROBLEMS)
    found += [base for name in ALGORITHMS for base in reversed(algorithm(name).__mro__) if base is not object]
    for each in found:  # grows while it is read
        found += [other for other in _told_of(each) if other not in found]
    return {f"{each.__module__}.{each.__qualname__}": each for each in found if not each.__name__.startswith("_")}


def methods(cls: type) -> Iterator[tuple[str, FunctionType]]:
    """The public methods of a class, those of its bases included, that are written in this project."""
    for name, member in inspect.getmembers_static(cls):
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        ours = inspect.isfunction(function) and function.__module__.startswith("dpcheck.")
        if ours and not name.startswith("_") and function.__qualname__.endswith(f".{name}"):
            yield name, function


def _exported(module: ModuleType) -> list[object]:
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    members = [getattr(module, name) for name in names]
    return [each for each in members if getattr(each, "__module__", "").startswith(module.__name__)]


def _told_of(thing: object) -> Iterator[type]:
    """Classes of ours that a function returns or a dataclass holds."""
    if inspect.isfunction(thing):
        told = [thing.__annotations__.get("return", "")]
    elif dataclasses.is_dataclass(thing):
        told = [field.type for field in dataclasses.fields(thing)]
    else:
        return
    for name in re.findall(r"[A-Za-z]\w+", " ".join(map(str, told))):
        each = getattr(sys.modules[thing.__module__], name, None)
        if inspect.isclass(each) and each.__module__.startswith("dpcheck."):
            yield each
