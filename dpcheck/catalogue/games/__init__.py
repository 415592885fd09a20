"""Games, one for every algorithm in every variant: pairs that its privacy certificate nearly describes.

The canary and the record that replaces it are as far apart as clipping or the Lipschitz bound allows, at every
release if possible; the other records equal the latter, or have no gradient, so that nothing hides them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from dpcheck.catalogue.games import gradient, output, recursive
from dpcheck.checks.privacy.entry import Entry

GAMES: dict[str, Callable[[], Iterator[Entry]]] = {
    "ada_dp_spider": recursive.ada_dp_spider,
    "dp_rgda": recursive.dp_rgda,
    "dp_sgda": gradient.dp_sgda,
    "dp_sgda_clipped": gradient.dp_sgda_clipped,
    "dp_spider": recursive.dp_spider,
    "dptd": gradient.dptd,
    "minimax_output_perturbation": partial(output.single, "minimax_output_perturbation"),
    "minimax_output_perturbation_joint": partial(output.single, "minimax_output_perturbation_joint"),
    "nispp": output.nispp,
    "nseg": gradient.nseg,
    "output_perturbation": partial(output.single, "output_perturbation"),
    "phased_convex_strongly_concave": partial(output.phased, "phased_convex_strongly_concave"),
    "phased_dual": partial(output.phased, "phased_dual"),
    "phased_minimax_output_perturbation": partial(output.phased, "phased_minimax_output_perturbation"),
    "phased_output_perturbation": partial(output.phased, "phased_output_perturbation"),
    "phased_primal": partial(output.phased, "phased_primal"),
    "phased_strongly_convex_concave": partial(output.phased, "phased_strongly_convex_concave"),
    "privatediff": recursive.privatediff,
    "sto_spider": recursive.sto_spider,
}  # one entry a variant, made when asked for
