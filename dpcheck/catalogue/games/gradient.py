"""Games for algorithms that release minibatch means of clipped gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpcheck.checks.privacy.entry import BATCH, BOTH, FAR, ONE, PAIR, QUIET, STEPS, Entry, blank, entry
from dpcheck.checks.privacy.worst_case import record

CLIPS: dict[str, Any] = {"clip_w": 1.0, "clip_v": 1.0}


def dp_sgda() -> Iterator[Entry]:
    """Yield games of either sampling, repaired; as printed there is no clipping, and the records keep to the
    Lipschitz constant.
    """
    settings = CLIPS | {"steps": STEPS, "batch": BATCH, "eta": 0.05}
    for sampling, roles in (("without_replacement", PAIR), ("poisson", QUIET)):
        yield entry(
            "dp_sgda", "repaired", blank(**FAR), roles, BOTH, settings | {"sampling": sampling},
            label=f"repaired.{sampling}", words=f"repaired, {sampling.replace('_', ' ')}",
        )  # fmt: skip
    ones = record(b=1.0, c=1.0)
    yield entry(  # with 17 records Remark 1's minibatch is 2
        "dp_sgda", "as_printed", blank(17, **FAR), (ones, -ones, -ones), BOTH, {"steps": STEPS, "eta": 0.05},
        label="as_printed.with_replacement", words="as printed, with replacement",
    )  # fmt: skip


def dp_sgda_clipped() -> Iterator[Entry]:
    """Yield the games of clipped DP-SGDA, as printed with the minibatch of Theorem 1's remark."""
    settings = CLIPS | {"steps": STEPS, "eta_w": 0.05, "eta_v": 0.05}
    yield entry("dp_sgda_clipped", "repaired", blank(concavity=1.0, **FAR), PAIR, BOTH, settings | {"batch": BATCH})
    yield entry("dp_sgda_clipped", "as_printed", blank(17, concavity=1.0, **FAR), PAIR, BOTH, settings)


def dptd() -> Iterator[Entry]:
    """Yield the games of DPTD, as printed with T = n and minibatches of one, as by default."""
    yield entry("dptd", "repaired", blank(**FAR), PAIR, BOTH, CLIPS | {"steps": STEPS, "batch": BATCH})
    yield entry("dptd", "as_printed", blank(STEPS, **FAR), PAIR, BOTH, CLIPS)


def nseg() -> Iterator[Entry]:
    """Yield games of two minibatches a step."""
    yield entry("nseg", "repaired", blank(**FAR), PAIR, ONE, CLIPS | {"steps": STEPS // 2, "batch": BATCH, "eta": 0.05})
