"""``dpcheck solve``: one run of an algorithm."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dpcheck.commands import inputs, terminal
from dpcheck.commands.command import SEED, Command, add_format
from dpcheck.commands.outputs import require_picture, save_picture
from dpcheck.errors import require, require_count

if TYPE_CHECKING:
    from dpcheck.experiments.runner import Start


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("algorithm", metavar="ALGORITHM", help="see `dpcheck list`")
    parser.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE", help="in place of the theorem's schedule, such as steps=1000"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--problem", help="see `dpcheck list` (default: the algorithm's example)")
    where.add_argument(
        "--like", metavar="EXPERIMENT:CELLS",
        help="data, problem and settings of an experiment's cell, such as yang2022.table_2:ijcnn1; what is given "
        "beside it stands in their place",
    )  # fmt: skip
    where.add_argument("--data", help="AUC maximisation on this data set with two classes, such as a9a (bundled)")
    parser.add_argument("--radius", type=float, help="of the domain, with --data (default 4)")
    parser.add_argument(
        "--positive-share", type=float,
        help="public share of positive labels, with --data (default 0.25)",
    )  # fmt: skip
    parser.add_argument("--variant", help="as_printed or repaired (default: repaired where there is one)")
    parser.add_argument("--epsilon", type=float, help="natural log (default 1, or that of --like)")
    parser.add_argument("--delta", type=float, help="default 1/n^2, or that of --like")
    parser.add_argument("--seed", type=int, default=0, help=SEED)
    parser.add_argument("--plot", metavar="FILE", help="write the history as a picture")
    add_format(parser)


def run(options: Namespace) -> int:
    """Run ``dpcheck solve``."""
    from dpcheck.accounting import certify
    from dpcheck.solvers import solve

    require_count(options.seed, "seed", least=0)
    require_picture(options.plot)
    like = _like(options)
    data, problem = _problem_of(options) if like is None else (None, like.problem)
    usual = 1.0 if like is None or like.epsilon is None else like.epsilon
    epsilon = usual if options.epsilon is None else options.epsilon
    delta = like.delta if like is not None and options.delta is None else options.delta
    settings = (like.settings if like is not None else {}) | inputs.settings(options.settings)
    with terminal.progress() as watch:
        run = solve(
            options.algorithm, problem, epsilon=epsilon, delta=delta, seed=options.seed, variant=options.variant,
            watch=lambda done, total: watch(options.algorithm, done, total), **settings,
        )  # fmt: skip
        n = len(run.problem.records)
        delta = n**-2.0 if delta is None else delta
        certificate = certify(run.events, delta=delta)
        history = run.to_frame(delta)
    result: dict[str, Any] = {
        "algorithm": options.algorithm, "problem": run.problem.name, "n": n, "claimed": epsilon,
        "delta": delta, "certified": certificate.epsilon, "method": certificate.method, "notes": list(run.notes),
    }  # fmt: skip
    if like is not None:
        result |= {"like": f"{options.like.partition(':')[0]}: {like.cell.name}"} | like.score(run.x)
    if data is not None:
        from dpcheck.problems.auc import auc_score

        result |= {"data": data.name, "training AUC": auc_score(data.X @ run.x[:-2], data.y)}
        if data.X_test is not None and data.y_test is not None:
            result["test AUC"] = auc_score(data.X_test @ run.x[:-2], data.y_test)
    if options.plot:
        save_picture(run.plot(history), options.plot)
    if options.format == "json":
        rows = history.to_dict("records")
        return terminal.say_json(
            {"schema": "dpcheck.solve/1", **result, "x": run.x.tolist(), "y": run.y.tolist(), "history": rows}
        )
    notes = result.pop("notes")
    texts = {name: f"{value:.6g}" if isinstance(value, float) else str(value) for name, value in result.items()}
    lines = [terminal.named(name, value) for name, value in (*texts.items(), *(("note", note) for note in notes))]
    return terminal.say("\n".join([*lines, "", history.to_string(index=False, float_format="{:.4g}".format)]))


def _like(options: Namespace) -> Start | None:
    """The experiment's cell that the run begins from, None where none is named."""
    if options.like is None:
        return None
    from dpcheck.experiments.runner import start

    for name in ("radius", "positive_share"):
        require(getattr(options, name) is None, f"--{name.replace('_', '-')}", "come with --data", "--like")
    return start(options.like, options.algorithm, options.epsilon, options.seed)


def _problem_of(options: Namespace) -> tuple[Any, Any]:
    """Return the data set and the problem that the options name, None where they name none."""
    if options.data is None:
        for name in ("radius", "positive_share"):
            require(getattr(options, name) is None, f"--{name.replace('_', '-')}", "come with --data", "it alone")
        return None, options.problem
    from dpcheck import datasets
    from dpcheck.problems.auc import AUC

    data = datasets.load(options.data).unit_ball()
    share, radius = options.positive_share, options.radius
    share, radius = 0.25 if share is None else share, 4.0 if radius is None else radius
    return data, AUC.from_data(data.X, data.y, positive_share=share, radius=radius)


SOLVE = Command(
    name="solve",
    help="run an algorithm",
    examples=(
        "dpcheck solve dp_sgda steps=500 sampling=poisson --plot history.png",
        "dpcheck solve dp_sgda --data a9a --epsilon 1",
        "dpcheck solve dp_sgda --like yang2022.table_2:ijcnn1 batch=256",
    ),
    add_options=add_options,
    run=run,
)
