"""dpcheck: does a differentially private optimiser deliver the privacy and the rate it promises?

The public names load on first use, so that ``import dpcheck`` itself is light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:  # what type checkers and editors see of the names that load below; a test keeps the two in step
    from dpcheck import datasets as datasets
    from dpcheck import events as events
    from dpcheck import testing as testing
    from dpcheck.accounting import certify as certify
    from dpcheck.algorithms.declaration import Algorithm as Algorithm
    from dpcheck.algorithms.declaration import RateClaim as RateClaim
    from dpcheck.algorithms.strong_convexity import StrongConvexity as StrongConvexity
    from dpcheck.audits.clipping import audit_clipping as audit_clipping
    from dpcheck.audits.constants import audit_constants as audit_constants
    from dpcheck.audits.evaluation_points import audit_evaluation_points as audit_evaluation_points
    from dpcheck.audits.floating import audit_floating_point as audit_floating_point
    from dpcheck.audits.membership import audit_privacy as audit_privacy
    from dpcheck.audits.noise import audit_noise as audit_noise
    from dpcheck.audits.one_run import audit_one_run as audit_one_run
    from dpcheck.audits.one_run import audit_one_run_scores as audit_one_run_scores
    from dpcheck.audits.randomness import audit_randomness as audit_randomness
    from dpcheck.audits.rates import fit_rate as fit_rate
    from dpcheck.audits.sampling import audit_sampling as audit_sampling
    from dpcheck.audits.search import audit_neighbours as audit_neighbours
    from dpcheck.audits.sensitivity import audit_sensitivity as audit_sensitivity
    from dpcheck.audits.sequential import audit_sequential as audit_sequential
    from dpcheck.audits.tables import audit_tables as audit_tables
    from dpcheck.audits.training_step import audit_training_step as audit_training_step
    from dpcheck.bounds.registry import prove as prove
    from dpcheck.bounds.registry import theorem as theorem
    from dpcheck.checks import check as check
    from dpcheck.errors import InputError as InputError
    from dpcheck.solvers import solve as solve

_HOME = {
    "Algorithm": "dpcheck.algorithms.declaration",
    "InputError": "dpcheck.errors",
    "RateClaim": "dpcheck.algorithms.declaration",
    "StrongConvexity": "dpcheck.algorithms.strong_convexity",
    "audit_clipping": "dpcheck.audits.clipping",
    "audit_constants": "dpcheck.audits.constants",
    "audit_evaluation_points": "dpcheck.audits.evaluation_points",
    "audit_floating_point": "dpcheck.audits.floating",
    "audit_neighbours": "dpcheck.audits.search",
    "audit_noise": "dpcheck.audits.noise",
    "audit_one_run": "dpcheck.audits.one_run",
    "audit_one_run_scores": "dpcheck.audits.one_run",
    "audit_privacy": "dpcheck.audits.membership",
    "audit_randomness": "dpcheck.audits.randomness",
    "audit_sampling": "dpcheck.audits.sampling",
    "audit_sensitivity": "dpcheck.audits.sensitivity",
    "audit_sequential": "dpcheck.audits.sequential",
    "audit_tables": "dpcheck.audits.tables",
    "audit_training_step": "dpcheck.audits.training_step",
    "certify": "dpcheck.accounting",
    "check": "dpcheck.checks",
    "fit_rate": "dpcheck.audits.rates",
    "prove": "dpcheck.bounds.registry",
    "solve": "dpcheck.solvers",
    "theorem": "dpcheck.bounds.registry",
}
_MODULES = {"datasets", "testing", "events"}
__all__ = sorted([*_HOME, *_MODULES, "__version__"])

if not TYPE_CHECKING:  # a module's __getattr__ would tell type checkers that every name exists

    def __getattr__(name: str) -> Any:
        if name in _HOME:
            value = getattr(importlib.import_module(_HOME[name]), name)
        elif name in _MODULES:
            value = importlib.import_module(f"dpcheck.{name}")
        else:
            raise AttributeError(f"module 'dpcheck' has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return __all__
