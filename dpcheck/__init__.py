"""dpcheck: does a differentially private optimiser deliver the privacy and the rate it promises?

The public names load on first use, so that ``import dpcheck`` itself is light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcheck.accounting import certify as certify
    from dpcheck.algorithms import Algorithm as Algorithm
    from dpcheck.algorithms import RateClaim as RateClaim
    from dpcheck.audits.membership import audit_privacy as audit_privacy
    from dpcheck.errors import InputError as InputError

__version__ = "0.1.0"

_HOME = {
    "Algorithm": "dpcheck.algorithms",
    "InputError": "dpcheck.errors",
    "RateClaim": "dpcheck.algorithms",
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
    "certify": "dpcheck.accounting",
    "check": "dpcheck.checks",
    "fit_rate": "dpcheck.audits.rates",
    "prove": "dpcheck.bounds.registry",
    "solve": "dpcheck.solvers",
    "theorem": "dpcheck.bounds.registry",
}
_MODULES = {"datasets", "testing", "events"}
__all__ = sorted([*_HOME, *_MODULES, "__version__"])


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
