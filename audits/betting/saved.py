"""A sequential audit as JSON keeps it: sealed when it is saved, and taken back only if it is what was saved.

The checksum finds what was changed by accident or by hand. It is no signature: who writes a checksum anew can write
any audit anew, so that a saved audit is as trustworthy as those who kept it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.betting.wealth import FIRST, Standing, State, digest, kept_runs
from dpcheck.errors import InputError, is_finite, require, require_count

Floats = NDArray[np.float64]

SCHEMA = "dpcheck.sequential/1"
_SEALED = ("verdict", "trials", "epsilon", "delta", "confidence", "seed", "looks", "state")


@dataclass(frozen=True)
class Saved:
    """What an earlier audit hands on: its verdict, its claim, its runs on each dataset, its looks and its state."""

    verdict: str
    claim: dict[str, Any]
    trials: int
    looks: tuple[Standing, ...]
    state: State


def sealed(audit: dict[str, Any]) -> dict[str, Any]:
    """Return a sequential audit, ready for JSON, with the schema and the checksum of its state."""
    state = {"schema": SCHEMA, **audit["state"]}
    return audit | {"state": state | {"checksum": _checksum(audit | {"state": state})}}


def unsealed(saved: Any) -> Saved:
    """Take back what :func:`sealed` returned, whether or not it went through a file.

    Raises
    ------
    InputError
        If it is anything else, or was changed.
    """
    good = isinstance(saved, Mapping) and all(name in saved for name in _SEALED) and isinstance(saved["state"], Mapping)
    require(good, "earlier", "be a sequential audit or its to_dict()", type(saved).__name__)
    state = saved["state"]
    require(state.get("schema") == SCHEMA, "earlier", f"have the schema {SCHEMA}", state.get("schema"))
    require(state.get("checksum") == _checksum(saved), "earlier", "be as it was saved", "one that was changed")
    try:
        audit = Saved(
            saved["verdict"], {name: saved[name] for name in ("epsilon", "delta", "confidence", "seed")},
            saved["trials"], tuple(Standing(**look) for look in saved["looks"]), _state(state),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
        if isinstance(error, InputError):
            raise
        raise _refused(f"{type(error).__name__}: {error}") from error
    _require_sound(audit)
    return audit


def _checksum(audit: Mapping[str, Any]) -> str:
    state = {name: value for name, value in audit["state"].items() if name != "checksum"}
    content = {name: audit[name] for name in _SEALED} | {"state": state}
    try:
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"{type(error).__name__}: {error}") from error


def _state(saved: Mapping[str, Any]) -> State:
    require_count(saved["width"], "width of earlier")
    a, b = (
        np.frombuffer(base64.b64decode(v, validate=True), "<f8").astype(np.float64).reshape(-1, saved["width"])
        for v in saved["outputs"]
    )
    epsilons, log_wealth, peak = (_finite(saved, name) for name in ("epsilons", "log_wealth", "peak"))
    return State(
        epsilons, log_wealth, peak, saved["chunks"], dict(saved["success"]), saved["fitted_on"], (a, b), saved["first"]
    )


def _finite(saved: Mapping[str, Any], name: str) -> Floats:
    values = np.array(saved[name], dtype=np.float64)
    require(values.ndim == 1 and bool(np.isfinite(values).all()), "earlier", f"have finite numbers as {name}", values)
    return values


def _require_sound(saved: Saved) -> None:
    """Require what holds of every audit, whatever was run."""
    state, (a, b) = saved.state, saved.state.outputs
    known = saved.verdict in ("consistent", "inconclusive", "violated")
    require(known, "earlier", "be consistent, inconclusive or violated", saved.verdict)
    for name in ("epsilon", "delta", "confidence"):
        require(is_finite(saved.claim[name]), "earlier", f"have a number as {name}", saved.claim[name])
    require_count(saved.trials, "trials of earlier", least=FIRST)
    require_count(state.chunks, "chunks of earlier")
    require_count(state.fitted_on, "fitted_on of earlier", least=0)
    for look in saved.looks:
        require_count(look.trials, "trials of a look of earlier")
    last = saved.looks[-1] if saved.looks else None
    good = (
        len(saved.looks) == state.chunks
        and last is not None
        and last.trials == saved.trials
        and [look.trials for look in saved.looks] == sorted({look.trials for look in saved.looks})
        and all(is_finite(value) for look in saved.looks for value in asdict(look).values())
    )
    require(good, "earlier", "have one look after each chunk of its runs", f"{len(saved.looks)} looks")
    sizes = {len(state.epsilons), len(state.log_wealth), len(state.peak)}
    require(len(sizes) == 1, "earlier", "have one wealth for each claim", sorted(sizes))
    at = np.flatnonzero(state.epsilons == saved.claim["epsilon"])
    known = at.size == 1 and last is not None and float(state.log_wealth[at[0]]) == last.log_wealth
    require(known, "earlier", "have the wealth that its last look has", "another")
    require(
        bool((state.peak >= np.maximum(state.log_wealth, 0)).all()), "earlier", "have peaks above its wealth", "less"
    )
    numbers = all(isinstance(name, str) and is_finite(value) for name, value in state.success.items())
    require(numbers, "earlier", "have finite numbers as success", state.success)
    kept = min(saved.trials, kept_runs(a.shape[1]))
    require(len(a) == len(b) == kept, "earlier", f"have the last {kept} outputs", f"{len(a)} and {len(b)}")
    require(state.fitted_on <= len(a), "earlier", "be fitted on outputs that it has", state.fitted_on)
    if kept == saved.trials:
        require(digest(a[:FIRST], b[:FIRST]) == state.first, "earlier", "have the outputs that it began with", "others")


def _refused(reason: str) -> InputError:
    return InputError(f"earlier must be a sequential audit as it was saved, got {' '.join(reason.split())[:200]}")
