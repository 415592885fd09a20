"""What every check needs to know of the run it is part of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.errors import require, require_count
from dpcheck.findings import Finding

if TYPE_CHECKING:
    from dpcheck.store import Store

PROFILES = ("quick", "full")
Stage = tuple[str, Callable[[], Iterable[Finding]]]


def _silent(done: int, total: int) -> None:
    return None


@dataclass(frozen=True)
class Context:
    """Profile, seed and workers; ``progress(done, total)`` reports on the stage at work; ``store`` keeps long work."""

    profile: str = "quick"
    seed: int = 0
    jobs: int = 1
    progress: Callable[[int, int], None] = _silent
    store: Store | None = None

    def __post_init__(self) -> None:
        require(self.profile in PROFILES, "profile", f"be one of {', '.join(PROFILES)}", self.profile)
        require_count(self.seed, "seed", least=0)
        require_count(self.jobs, "jobs")

    @property
    def full(self) -> bool:
        """Whether there is time for the long experiments."""
        return self.profile == "full"

    def stream(self, *key: int) -> int:
        """Return a seed of its own for the experiment numbered ``key``."""
        return int(np.random.SeedSequence([self.seed, *key]).generate_state(1)[0])

    def kept(self, key: list[Any], make: Callable[[], Any]) -> Any:
        """Return what ``make`` returns, ready for JSON; from the store where this profile, seed and code have made
        it.
        """
        return make() if self.store is None else self.store.kept([self.profile, self.seed, *key], make)
