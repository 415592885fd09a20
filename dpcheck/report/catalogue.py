"""Everything that can be asked for by name."""

from __future__ import annotations

import importlib
import inspect

_TESTERS = {
    "audit_privacy": "dpcheck.audits.membership", "audit_sensitivity": "dpcheck.audits.sensitivity",
    "audit_noise": "dpcheck.audits.noise", "audit_sampling": "dpcheck.audits.sampling",
    "audit_randomness": "dpcheck.audits.randomness", "audit_clipping": "dpcheck.audits.clipping",
    "audit_constants": "dpcheck.audits.constants",
    "audit_evaluation_points": "dpcheck.audits.evaluation_points",
    "audit_floating_point": "dpcheck.audits.floating",
    "rejected_multiplier": "dpcheck.audits.family", "fit_rate": "dpcheck.audits.rates",
}  # fmt: skip


def catalogue() -> dict[str, list[dict[str, str]]]:
    """Theorems, algorithms, base solvers, problems, testers and data sets, each an id and a title."""
    from dpcheck.bases import BASES
    from dpcheck.bounds.registry import theorems
    from dpcheck.datasets import names
    from dpcheck.problems import PROBLEMS
    from dpcheck.solvers import ALGORITHMS, algorithm

    return {
        "theorems": [{"id": each.id, "title": each.title} for each in theorems()],
        "algorithms": [
            {"id": name, "title": _title(algorithm(name) if "." in ALGORITHMS[name] else _home(name))}
            for name in ALGORITHMS
        ],
        "bases": [
            {"id": base.name, "title": _title(importlib.import_module(f"dpcheck.bases.{base.module}"))}
            for base in BASES.values()
        ],
        "problems": [
            {"id": name, "title": _title(importlib.import_module(f"dpcheck.problems.{name}"))} for name in PROBLEMS
        ],
        "testers": [
            {"id": name, "title": _title(importlib.import_module(module))} for name, module in _TESTERS.items()
        ],
        "datasets": [
            {"id": name, "title": "bundled" if name == "a9a" else "downloaded on first use"} for name in names()
        ],
    }


def _home(name: str) -> object:
    """The file of an algorithm that has one of its own."""
    return importlib.import_module(f"dpcheck.solvers.{name}")


def _title(module: object) -> str:
    return (inspect.getdoc(module) or "").split("\n", 1)[0].rstrip(".:")
