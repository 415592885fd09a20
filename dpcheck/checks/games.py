"""For every algorithm, in every variant, a game that its privacy certificate nearly describes.

The canary and the record that replaces it are as far apart as clipping or the Lipschitz bound allows, at every
release if possible; the other records equal the latter, or have no gradient, so that nothing hides them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from dpcheck.checks import games_gradient, games_output, games_recursive
from dpcheck.checks.entry import Entry

GAMES: dict[str, Callable[[], Iterator[Entry]]] = {
    "ada_dp_spider": games_recursive.ada_dp_spider,
    "dp_rgda": games_recursive.dp_rgda,
    "dp_sgda": games_gradient.dp_sgda,
    "dp_sgda_clipped": games_gradient.dp_sgda_clipped,
    "dp_spider": games_recursive.dp_spider,
    "dptd": games_gradient.dptd,
    "minimax_output_perturbation": partial(games_output.single, "minimax_output_perturbation"),
    "minimax_output_perturbation_joint": partial(games_output.single, "minimax_output_perturbation_joint"),
    "nispp": games_output.nispp,
    "nseg": games_gradient.nseg,
    "output_perturbation": partial(games_output.single, "output_perturbation"),
    "phased_convex_strongly_concave": partial(games_output.phased, "phased_convex_strongly_concave"),
    "phased_dual": partial(games_output.phased, "phased_dual"),
    "phased_minimax_output_perturbation": partial(games_output.phased, "phased_minimax_output_perturbation"),
    "phased_output_perturbation": partial(games_output.phased, "phased_output_perturbation"),
    "phased_primal": partial(games_output.phased, "phased_primal"),
    "phased_strongly_convex_concave": partial(games_output.phased, "phased_strongly_convex_concave"),
    "privatediff": games_recursive.privatediff,
    "sto_spider": games_recursive.sto_spider,
}  # one entry a variant, made when asked for
