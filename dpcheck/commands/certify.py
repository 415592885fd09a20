"""``dpcheck certify``: from a training run's numbers, or a file of events, to epsilon and back."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpcheck.commands import terminal
from dpcheck.commands.command import Command, Picture, add_format
from dpcheck.commands.files import File
from dpcheck.errors import InputError, require, require_count, require_delta, require_positive, short

if TYPE_CHECKING:
    from dpcheck.events import Event, Neighbours

_SAMPLINGS = ("poisson", "without_replacement", "with_replacement", "balls_in_bins", "fixed", "shuffled", "none",
              "compare")  # fmt: skip
_FURTHER = """\
--sampling: a fresh minibatch in each step is drawn by "poisson" (every record on its own), "without_replacement" or
"with_replacement"; "balls_in_bins" puts each record into one minibatch of each epoch, drawn on its own; "fixed"
minibatches take their turns in each epoch; "shuffled" ones are drawn anew in each epoch (no amplification by shuffling
is certified: the epsilon is that of fixed ones, and an audit bounds it from below); "none" takes all records.
"compare" shows these and further loaders side by side: the best proven upper bound and the best known lower bound, with
their sources, all with noise of --multiplier times C. With --encoder a run is one release, of the noise's deviation
over the sensitivity of one step: its --multiplier.

--released last: only the last iterate of z <- P(phi(z) + noise) is shown, with noise on all records, on "fixed"
minibatches in one order, or on "poisson" samples. "dpcheck list theorems" has the contraction of gradient and saddle
steps: bok2024.saddle_step.

--best-of: K such runs are made, each on its own, and only the one with the highest score is shown, as by tuning; K is
drawn at random and kept secret. "geometric:.05" ends after each run with chance .05, a mean of 20 runs;
"logarithmic:.05" and "SHAPE:.05" are the other truncated negative binomial laws, of shape 0 and SHAPE
(--best-of=-.5:.05); "poisson:20" has a mean of 20 and may make no run. What is certified is the best run, whatever the
score."""
_MANY = 100  # different events that are worth a line before they are composed
_FEWER = ("batch", "population", "steps")
_WITH_ENCODER = ("participations", "separation")
_NOTES = {
    "shuffled": "no amplification by shuffling is certified: this is the epsilon of fixed minibatches in each epoch",
    "fixed": "minibatches that are fixed beforehand, none of them by a record's own value",
}


def _options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", type=File.READ, nargs="?", metavar="FILE.json",
        help="events of dpcheck or dp_accounting, or a history of Opacus (instead of the run's numbers)",
    )  # fmt: skip
    parser.add_argument("--delta", type=float, default=1e-5, help="in [0, 1) (default 1e-5)")
    parser.add_argument(
        "--multiplier", type=float,
        help="noise multiplier: standard deviation over the sensitivity between --neighbours, which is C, the most "
        "that a record contributes, where one is added or removed, and 2C where one is replaced",
    )  # fmt: skip
    parser.add_argument(
        "--epsilon", type=float,
        help="find the least multiplier with this epsilon (with FILE.json: the least factor on its noise)",
    )  # fmt: skip
    parser.add_argument("--batch", type=float, help="records in a minibatch (poisson: the expected number)")
    parser.add_argument("--population", type=int, help="records in the data set")
    parser.add_argument("--steps", type=int, help="minibatches, all epochs together")
    parser.add_argument("--sampling", choices=_SAMPLINGS, help="how minibatches are drawn (default poisson)")
    parser.add_argument(
        "--neighbours", choices=("add_or_remove_one", "replace_one"),
        help="the neighbouring relation (default: add_or_remove_one for poisson and balls_in_bins, else replace_one)",
    )  # fmt: skip
    parser.add_argument(
        "--group", type=int, default=1, metavar="K",
        help="records, those of one person, that neighbours differ in: added, removed or replaced together (default 1)",
    )  # fmt: skip
    parser.add_argument("--noise", choices=("gaussian", "laplace"), help="its law (default gaussian)")
    parser.add_argument(
        "--encoder", type=File.READ, metavar="tree|FILE",
        help="noise correlated between steps, of a matrix mechanism: a binary tree, or its encoder C as .npy or .csv",
    )  # fmt: skip
    parser.add_argument("--participations", type=int, help="with --encoder: steps that a record joins (default 1)")
    parser.add_argument("--separation", type=int, help="with --encoder: least distance of two of them (default 1)")
    parser.add_argument(
        "--risk", action="store_true",
        help="say what this means for one person: the most that an attacker's membership test, or guess of a record, "
        "can do",
    )  # fmt: skip
    parser.add_argument("--plot", type=File.WRITTEN, metavar="FILE", help="write that as a picture")
    parser.add_argument(
        "--second-opinion", action="store_true",
        help="ask the accountants of dp_accounting, prv_accountant and Opacus, as far as they are installed",
    )  # fmt: skip
    parser.add_argument("--released", choices=("all", "last"), help="all iterates (the default), or the last one alone")
    parser.add_argument(
        "--contraction", type=float, help="with --released last: Lipschitz constant of a step, for every data set"
    )
    parser.add_argument(
        "--diameter", type=float,
        help="with --released last: of the domain that P projects into, over the sensitivity of a step",
    )  # fmt: skip
    parser.add_argument(
        "--best-of", type=File.NONE, metavar="LAW:NUMBER",
        help="only the best of a random number of runs: geometric:STOP, logarithmic:STOP, SHAPE:STOP, poisson:MEAN",
    )  # fmt: skip
    add_format(parser)


def _run(options: Namespace) -> int:
    from dpcheck.accounting import calibrate, certify
    from dpcheck.accounting.certificates import between

    require_delta(options.delta)
    if options.sampling == "compare":
        return _compare(options)
    more = options.risk or options.plot or options.second_opinion
    require(options.group == 1 or not more, "--group", "be 1 with --risk, --plot and --second-opinion", options.group)
    last = _last(options)
    require(not (last and more), "--released", "be all with --risk, --plot and --second-opinion", "last")
    if options.best_of is not None:
        alone = options.group == 1 and not (last or more)
        require(alone, "--best-of", "come without --group, --released, --risk, --plot and --second-opinion", "one")
    picture = Picture(options.plot)
    make, what = _from_file(options) if options.file else _from_numbers(options)
    result: dict[str, Any] = {"delta": options.delta} | last
    if options.best_of is not None:
        make = _best_of(options.best_of, make)
        result["best_of"] = options.best_of
    if options.epsilon is None:
        certificate = certify(
            make(1.0 if options.file else options.multiplier), options.delta, group=options.group, **last
        )
    else:
        require_positive(options.epsilon, "--epsilon")
        noise = calibrate(make, options.epsilon, options.delta, group=options.group, **last)
        certificate = certify(make(noise), options.delta, group=options.group, **last)
        result |= {"asked": options.epsilon, what: noise}
    relation: Neighbours | None = options.neighbours
    if options.sampling in ("fixed", "shuffled"):
        relation = "replace_one"
    if relation is not None:  # of noise on all records, or on the fixed parts of an epoch, the events do not tell
        certificate = between(certificate, relation)
    if options.file and options.epsilon is not None:  # the answer is a factor, which has no unit
        certificate = between(certificate, certificate.neighbours, "")
    result |= {"certified": certificate.epsilon, "method": certificate.method, "neighbours": certificate.neighbours}
    if options.group > 1:
        result["group"] = options.group
    if certificate.multiplier_over:
        result["multiplier_over"] = certificate.multiplier_over
    multiplier = result.get(what, options.multiplier)
    drawn = options.sampling == "balls_in_bins" or (
        # Equal records but one, which moves the sum of one of the minibatches by 2C: the same pair, where no minibatch
        # is smaller than the others.
        options.sampling == "shuffled" and options.noise != "laplace" and options.population % int(options.batch) == 0
    )
    if drawn and options.group == 1 and options.best_of is None and options.delta > 0 and 0 < multiplier < math.inf:
        from dpcheck.accounting.allocation_below import allocation_epsilon_below

        bins = _bins(options)
        epochs = options.steps // bins  # that are complete
        result["at_least"] = allocation_epsilon_below(multiplier, bins, epochs, options.delta) if epochs else 0.0
    if (note := _NOTES.get(options.sampling or "")) and not options.file:
        result["note"] = note
    further: dict[str, Any] = {}
    if more:
        events = make(result.get(what, 1.0 if options.file else options.multiplier))
    if options.risk or options.plot:
        from dpcheck.accounting.risk import risk

        further["risk"] = risk(events, neighbours=relation)
        picture.save(further["risk"].plot)
    if options.second_opinion:
        from dpcheck.accounting.second_opinion import second_opinion

        further["second_opinion"] = second_opinion(events, options.delta)
    if options.format == "json":
        result |= {name: found.to_dict() for name, found in further.items()}
        return terminal.say_json({"schema": "dpcheck.certify/1", **result})
    texts = {
        name.replace("_", " "): f"{value:.6g}" if isinstance(value, float) else str(value)
        for name, value in result.items()
    }
    if certificate.unit:
        texts["multiplier over"] = certificate.unit
    sentence = f"epsilon <= {texts['certified']} ({certificate.terms}) at delta {texts['delta']}"
    if options.epsilon is not None:
        asked = f"epsilon {texts['asked']} at delta {texts['delta']}"
        sentence = f"{what} {texts[what]} ({certificate.terms}) is enough for {asked}"
    lines = [
        sentence,
        *(terminal.named(name, value) for name, value in texts.items()),
        *map(str, further.values()),
    ]
    return terminal.say("\n".join(lines))


def _best_of(law: str, make: Callable[[float], Any]) -> Callable[[float], Any]:
    """Return what makes the best of several of the runs that ``make`` makes."""
    from dpcheck.accounting.best_of_runs import Best, NegativeBinomial, PoissonRuns

    name, _, text = law.partition(":")
    try:
        number = float(text)
        shape = {"geometric": 1.0, "logarithmic": 0.0}.get(name)
        shape = float(name) if shape is None and name != "poisson" else shape
    except ValueError:
        raise InputError(
            f"--best-of must be geometric:STOP, logarithmic:STOP, SHAPE:STOP or poisson:MEAN, got {short(law)}"
        ) from None
    runs = PoissonRuns(number) if shape is None else NegativeBinomial(shape, number)
    return lambda noise: Best(make(noise), runs)


def _compare(options: Namespace) -> int:
    from dpcheck.accounting.loaders import loaders

    for name in (
        "file",
        "epsilon",
        "neighbours",
        "noise",
        "encoder",
        *_WITH_ENCODER,
        "plot",
        "contraction",
        "diameter",
        "best_of",
    ):
        value = getattr(options, name)
        shown = name if name == "file" else f"--{name.replace('_', '-')}"
        require(value is None, shown, "come without --sampling compare", value)
    plain = options.group == 1 and options.released != "last" and not (options.risk or options.second_opinion)
    further = "--group, --released, --risk and --second-opinion"
    require(plain, further, "come without --sampling compare", "one of them")
    for name in ("multiplier", *_FEWER):
        require(getattr(options, name) is not None, f"--{name}", "be given with --sampling compare", "nothing")
    require(float(options.batch).is_integer(), "--batch", "be a whole number", options.batch)
    found = loaders(
        options.multiplier, batch=int(options.batch), population=options.population, steps=options.steps,
        delta=options.delta,
    )  # fmt: skip
    if options.format == "json":
        rows = [vars(opinion) for opinion in found]
        return terminal.say_json({"schema": "dpcheck.certify/1", "delta": options.delta, "loaders": rows})
    lines = [f"epsilon at delta {options.delta:g}, noise of {options.multiplier:g} C"]
    for opinion in found:
        low, high = ("not known" if bound is None else f"{bound:.6g}" for bound in (opinion.at_least, opinion.at_most))
        relation = opinion.neighbours.removesuffix("_one").replace("_", " ")
        lines += [f"{opinion.name} ({relation})", f"  at least {low}, at most {high}: {opinion.sources}"]
    return terminal.say("\n".join(lines))


def _last(options: Namespace) -> dict[str, Any]:
    """Return what certify is told of the last iterate, nothing where all are released."""
    if options.released != "last":
        for name in ("contraction", "diameter"):
            value = getattr(options, name)
            require(value is None, f"--{name}", "come with --released last", value)
        return {}
    require(options.contraction is not None, "--contraction", "be given with --released last", "nothing")
    proved = "be none, fixed or poisson with --released last, for which a bound is proved"
    require(options.sampling in (None, "none", "fixed", "poisson"), "--sampling", proved, options.sampling)
    require(options.encoder is None, "--encoder", "come without --released last", options.encoder)
    bounded = {} if options.diameter is None else {"diameter": options.diameter}
    return {"released": "last", "contraction": options.contraction} | bounded


def _bins(options: Namespace) -> int:
    return int(options.population // int(options.batch))


def _from_file(options: Namespace) -> tuple[Callable[[float], Any], str]:
    """Return what makes the events of the file from a factor on their noise, and what the factor is called."""
    from dpcheck.accounting.other_events import read_event_file
    from dpcheck.events import read_events, scaled

    for name in ("multiplier", *_FEWER, "sampling", "neighbours", "noise", "encoder", *_WITH_ENCODER):
        require(getattr(options, name) is None, f"--{name}", "come without FILE.json", getattr(options, name))
    events = read_event_file(options.file)
    if isinstance(events, list) and len(events) > _MANY:
        terminal.tell(f"composing {len(events)} events; a different one takes up to a fifth of a second")
    if options.epsilon is None:
        return lambda factor: events, ""
    read = read_events(events)
    return lambda factor: scaled(read, factor), "factor on the noise"


def _from_numbers(options: Namespace) -> tuple[Callable[[float], Any], str]:
    """Return what makes the events of the run from a multiplier, and what the multiplier is called."""
    if (options.multiplier is None) == (options.epsilon is None):
        given = "both" if options.epsilon is not None else "neither"
        raise InputError(f"--multiplier or --epsilon must be given, or FILE.json, and one of the two, got {given}")
    if options.multiplier is not None:
        require(options.multiplier >= 0, "--multiplier", "be a number >= 0", options.multiplier)
    if options.encoder is not None:
        from dpcheck.accounting.matrix_noise import correlated_events

        return correlated_events(options), "noise multiplier"
    for name in _WITH_ENCODER:
        require(getattr(options, name) is None, f"--{name}", "come with --encoder", getattr(options, name))
    for name in _FEWER:
        missing = getattr(options, name) is None and not (options.sampling == "none" and name != "steps")
        require(not missing, f"--{name}", "be given, or FILE.json", "nothing")
    for name in ("batch", "population"):
        unused = options.sampling == "none" and getattr(options, name) is not None
        require(
            not unused, f"--{name}", "be left out with --sampling none, where it has no effect", getattr(options, name)
        )
    require_count(options.steps, "--steps", least=0 if options.epsilon is None else 1)
    return lambda multiplier: _events(options, multiplier), "noise multiplier"


def _events(options: Namespace, multiplier: float) -> Event:
    from dpcheck.events import Disjoint, Gaussian, Laplace, RandomAllocation, Repeated, Sampled

    noise: Any = Laplace(multiplier) if options.noise == "laplace" else Gaussian(multiplier)
    scheme: Any = options.sampling or "poisson"
    if scheme == "none":
        return Repeated(noise, options.steps)
    if scheme == "poisson":
        return Repeated(Sampled((noise,), scheme, options.population, options.batch, options.neighbours), options.steps)
    require(float(options.batch).is_integer(), "--batch", "be a whole number", options.batch)
    batch = int(options.batch)
    if scheme in ("without_replacement", "with_replacement"):
        return Repeated(Sampled((noise,), scheme, options.population, batch, options.neighbours), options.steps)
    require_count(options.population, "--population")
    require(1 <= batch <= options.population, "--batch", f"lie in [1, population = {options.population}]", batch)
    if scheme == "balls_in_bins":
        require(isinstance(noise, Gaussian), "--noise", "be gaussian with balls_in_bins", options.noise)
        added = "be add_or_remove_one with balls_in_bins"
        require(options.neighbours != "replace_one", "--neighbours", added, options.neighbours)
        bins = _bins(options)
        return Repeated(RandomAllocation(Gaussian(multiplier), bins), -(-options.steps // bins))
    replaced = "be replace_one with fixed or shuffled minibatches"
    require(options.neighbours != "add_or_remove_one", "--neighbours", replaced, options.neighbours)
    batches = options.population // batch
    epochs = -(-options.steps // batches)  # what is left of a last epoch counts as one
    parts = batches if options.released == "last" else 1  # together they are as one, unless their order counts
    return Repeated(Disjoint((noise,) * parts) if isinstance(noise, Gaussian) else noise, epochs)


CERTIFY = Command(
    name="certify",
    help="bound the epsilon of a training run or of a file of privacy events from above, "
    "or find the noise for an epsilon",
    examples=(
        "dpcheck certify --multiplier 1.1 --batch 256 --population 60000 --steps 10000 --delta 1e-5",
        "dpcheck certify --epsilon 2 --batch 256 --population 60000 --steps 10000 --delta 1e-5",
        "dpcheck certify events.json --delta 1e-5 --risk",
        "dpcheck certify --multiplier 4 --encoder tree --steps 512 --delta 1e-5",
        "dpcheck certify --multiplier 5 --sampling none --steps 1000 --released last --contraction .9",
        "dpcheck certify --multiplier 4 --batch 256 --population 60000 --steps 1000 --best-of geometric:.05",
    ),
    add_options=_options,
    run=_run,
    further=_FURTHER,
)
