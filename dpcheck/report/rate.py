"""A fitted rate for a person at a terminal."""

from __future__ import annotations

import textwrap

from dpcheck.audits.rates import RateFit

_WIDTH = 80


def summary(fit: RateFit) -> str:
    """The verdict's sentence, then a line a factor, and what the table counts as."""
    lines = textwrap.wrap(fit.reason, _WIDTH, break_long_words=False, break_on_hyphens=False)
    width = max(6, *map(len, fit.exponents))
    lines += ["", f"{'factor':<{width}}  exponent  {f'{fit.confidence:.0%} interval':<18}  claimed  verdict"]
    for name, (low, high) in fit.interval.items():
        claim = f"{fit.claimed[name]:7.4g}" if name in fit.claimed else f"{'-':>7}"
        interval = f"[{low:.3f}, {high:.3f}]"
        line = f"{name:<{width}}  {fit.exponents[name]:8.3f}  {interval:<18}  {claim}  {fit.by_factor.get(name, '-')}"
        lines.append(line.rstrip())
    shared = f", {fit.independent} independent by {fit.cluster}" if fit.cluster else ""
    known = f"; exponents beside {fit.offset}" if fit.offset else ""
    lines += ["", *textwrap.wrap(f"{fit.rows} rows{shared}{known}", _WIDTH)]
    return "\n".join(lines)
