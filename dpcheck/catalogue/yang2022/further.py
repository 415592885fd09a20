"""DP-SGDA (Yang et al. 2022) beyond its audits: its noise formula, a step, real data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from dpcheck.catalogue.yang2022.real_records import real_data
from dpcheck.catalogue.yang2022.remark_1 import remark_1
from dpcheck.catalogue.yang2022.step import step
from dpcheck.catalogue.yang2022.utility import utility
from dpcheck.checks.context import Context, Stage


def stages(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterable[Stage]:
    """Yield the stages of the check, each a title and a call that yields findings."""
    return (
        ("noise of Remark 1", partial(remark_1, context, tables)),
        ("sensitivity of a step", partial(step, context)),
        ("audit on real records", partial(real_data, context)),
        ("utility on Adult", partial(utility, context, tables)),
    )
