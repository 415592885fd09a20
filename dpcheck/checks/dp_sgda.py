"""DP-SGDA (Yang et al. 2022) from its claims to its measured privacy and rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from dpcheck.checks.context import Context, Stage
from dpcheck.checks.dp_sgda_inside import inside
from dpcheck.checks.dp_sgda_privacy import real_data, sandwich
from dpcheck.checks.dp_sgda_rates import gaps
from dpcheck.checks.dp_sgda_remark import remark_1
from dpcheck.checks.dp_sgda_utility import utility
from dpcheck.findings import Finding

TITLE = "DP-SGDA (Yang et al. 2022, Algorithms 1 and 2)"


def stages(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterable[Stage]:
    """The stages of the check, each a title and a call that yields findings."""
    return (
        ("claims of the paper", partial(claims, context)),
        ("noise of Remark 1", partial(remark_1, context, tables)),
        ("audit: repaired", partial(sandwich, context, "repaired", "without_replacement")),
        ("audit: repaired, Poisson", partial(sandwich, context, "repaired", "poisson")),
        ("audit: as printed", partial(sandwich, context, "as_printed", "with_replacement")),
        ("inside a run", partial(inside, context)),
        ("audit on real records", partial(real_data, context)),
        ("utility on Adult", partial(utility, context, tables)),
        ("measured rates", partial(gaps, context, tables)),
    )


def claims(context: Context) -> Iterator[Finding]:
    """The paper's statements that this version decides, each with its evidence."""
    from dpcheck.bounds.registry import prove

    for result in prove("yang2022", jobs=context.jobs):
        claim = result.claim
        yield Finding(
            f"yang2022.{claim.id}", "claim", f"{claim.location}: {claim.statement}", result.verdict,
            result.note, evidence=result.to_dict(),
        )  # fmt: skip
