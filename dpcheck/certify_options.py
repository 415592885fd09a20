"""The options of ``dpcheck certify``, apart from its work, so that help stays light."""

from __future__ import annotations

from argparse import ArgumentParser

SAMPLINGS = ("poisson", "without_replacement", "with_replacement", "balls_in_bins", "fixed", "shuffled", "none")
HELP = "bound the epsilon of a training run or of a file of privacy events from above, or find the noise for an epsilon"
FURTHER = """\
--sampling: a fresh minibatch in each step is drawn by "poisson" (every record on its own), "without_replacement" or
"with_replacement"; "balls_in_bins" puts each record into one minibatch of each epoch, drawn on its own; "fixed"
minibatches take their turns in each epoch; "shuffled" ones are drawn anew in each epoch (no amplification by shuffling
is certified: the epsilon is that of fixed ones, and an audit bounds it from below); "none" takes all records. With
--encoder a run is one release, of the noise's deviation over what a record contributes to a step: its --multiplier."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE.json",
        help="events of dpcheck or dp_accounting, or a history of Opacus (instead of the run's numbers)",
    )  # fmt: skip
    parser.add_argument("--delta", type=float, default=1e-5, help="in [0, 1) (default 1e-5)")
    parser.add_argument(
        "--multiplier", type=float,
        help="noise multiplier: standard deviation over the sensitivity between --neighbours",
    )  # fmt: skip
    parser.add_argument(
        "--epsilon", type=float,
        help="find the least multiplier with this epsilon (with FILE.json: the least factor on its noise)",
    )  # fmt: skip
    parser.add_argument("--batch", type=float, help="records in a minibatch (poisson: the expected number)")
    parser.add_argument("--population", type=int, help="records in the data set")
    parser.add_argument("--steps", type=int, help="minibatches, all epochs together")
    parser.add_argument("--sampling", choices=SAMPLINGS, help="how minibatches are drawn (default poisson)")
    parser.add_argument(
        "--neighbours", choices=("add_or_remove_one", "replace_one"),
        help="the neighbouring relation (default: add_or_remove_one for poisson and balls_in_bins, else replace_one)",
    )  # fmt: skip
    parser.add_argument("--noise", choices=("gaussian", "laplace"), help="its law (default gaussian)")
    parser.add_argument(
        "--encoder", metavar="tree|FILE",
        help="noise correlated between steps, of a matrix mechanism: a binary tree, or its encoder C as .npy or .csv",
    )  # fmt: skip
    parser.add_argument("--participations", type=int, help="with --encoder: steps that a record joins (default 1)")
    parser.add_argument("--separation", type=int, help="with --encoder: least distance of two of them (default 1)")
