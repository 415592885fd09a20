"""The command ``dpcheck certify``: from a training run's numbers, or a file of events, to epsilon and back."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpcheck.errors import InputError, require, require_count, require_delta, require_positive

if TYPE_CHECKING:
    from dpcheck.events import Event

_FEWER = ("batch", "population", "steps")
_WITH_ENCODER = ("participations", "separation")


def run_certify(options: Namespace) -> int:
    """Run ``dpcheck certify``."""
    from dpcheck import terminal
    from dpcheck.accounting import calibrate, certify

    require_delta(options.delta)
    make, what = _from_file(options) if options.file else _from_numbers(options)
    found: dict[str, Any] = {"delta": options.delta}
    if options.epsilon is None:
        certificate = certify(make(1.0 if options.file else options.multiplier), options.delta)
    else:
        require_positive(options.epsilon, "--epsilon")
        noise = calibrate(make, options.epsilon, options.delta)
        certificate = certify(make(noise), options.delta)
        found |= {"asked": options.epsilon, what: noise}
    found |= {"certified": certificate.epsilon, "method": certificate.method}
    if options.sampling == "balls_in_bins" and options.delta > 0 and not options.file:
        found["at_least"] = _allocation_below(options, options.multiplier or found[what])
    if (note := _NOTES.get(options.sampling or "")) and not options.file:
        found["note"] = note
    if options.format == "json":
        return terminal.say_json({"schema": "dpcheck.certify/1", **found})
    shown = {name: f"{value:.6g}" if isinstance(value, float) else str(value) for name, value in found.items()}
    return terminal.say("\n".join(terminal.named(name, value) for name, value in shown.items()))


def _allocation_below(options: Namespace, multiplier: float) -> float:
    """Return what epsilon is at least, over the epochs that are complete."""
    from dpcheck.allocation_below import allocation_epsilon_below

    bins = _bins(options)
    epochs = options.steps // bins
    return allocation_epsilon_below(multiplier, bins, epochs, options.delta) if epochs and multiplier > 0 else 0.0


def _bins(options: Namespace) -> int:
    return int(max(1, options.population // max(int(options.batch), 1)))


_NOTES = {
    "shuffled": "no amplification by shuffling is certified: this is the epsilon of fixed minibatches in each epoch",
    "fixed": "minibatches that are fixed beforehand, none of them by a record's own value",
}


def _from_file(options: Namespace) -> tuple[Callable[[float], Any], str]:
    """Return what makes the events of the file from a factor on their noise, and what the factor is called."""
    from dpcheck.event_files import read_event_file
    from dpcheck.events import read_events, scaled

    for name in ("multiplier", *_FEWER, "sampling", "neighbours", "noise", "encoder", *_WITH_ENCODER):
        require(getattr(options, name) is None, f"--{name}", "come without FILE.json", getattr(options, name))
    events = read_event_file(options.file)
    if options.epsilon is None:
        return lambda factor: events, ""
    own = read_events(events)
    return lambda factor: scaled(own, factor), "factor on the noise"


def _from_numbers(options: Namespace) -> tuple[Callable[[float], Any], str]:
    """Return what makes the events of the run from a multiplier, and what the multiplier is called."""
    if (options.multiplier is None) == (options.epsilon is None):
        given = "both" if options.epsilon is not None else "neither"
        raise InputError(f"--multiplier or --epsilon must be given, or FILE.json, and one of the two, got {given}")
    if options.multiplier is not None:
        require(options.multiplier >= 0, "--multiplier", "be a number >= 0", options.multiplier)
    if options.encoder is not None:
        from dpcheck.encoder_files import correlated_events

        return correlated_events(options), "noise multiplier"
    for name in _WITH_ENCODER:
        require(getattr(options, name) is None, f"--{name}", "come with --encoder", getattr(options, name))
    for name in _FEWER:
        missing = getattr(options, name) is None and not (options.sampling == "none" and name != "steps")
        require(not missing, f"--{name}", "be given, or FILE.json", "nothing")
    require_count(options.steps, "--steps", least=0)
    return lambda multiplier: _events(options, multiplier), "noise multiplier"


def _events(options: Namespace, multiplier: float) -> Event:
    from dpcheck.events import Disjoint, Gaussian, Laplace, RandomAllocation, Repeated, Sampled

    noise: Any = Laplace(multiplier) if options.noise == "laplace" else Gaussian(multiplier)
    scheme: Any = options.sampling or "poisson"
    if scheme == "none":
        return Repeated(noise, options.steps)
    if scheme == "poisson":
        relation: Any = options.neighbours or "add_or_remove_one"
        return Repeated(Sampled((noise,), scheme, options.population, options.batch, relation), options.steps)
    require(float(options.batch).is_integer(), "--batch", "be a whole number", options.batch)
    batch = int(options.batch)
    if scheme in ("without_replacement", "with_replacement"):
        relation = options.neighbours or "replace_one"
        return Repeated(Sampled((noise,), scheme, options.population, batch, relation), options.steps)
    if scheme == "balls_in_bins":
        require(isinstance(noise, Gaussian), "--noise", "be gaussian with balls_in_bins", options.noise)
        require(
            options.neighbours != "replace_one", "--neighbours", "be add_or_remove_one with balls_in_bins", "it not"
        )
        bins = _bins(options)
        return Repeated(RandomAllocation(Gaussian(multiplier), bins), -(-options.steps // bins))
    replaced = "be replace_one with fixed or shuffled minibatches"
    require(options.neighbours != "add_or_remove_one", "--neighbours", replaced, options.neighbours)
    require_count(options.population, "--population")
    require(1 <= batch <= options.population, "--batch", f"lie in [1, population = {options.population}]", batch)
    epochs = -(-options.steps // (options.population // batch))  # what is left of a last epoch counts as one
    return Repeated(Disjoint((noise,)) if isinstance(noise, Gaussian) else noise, epochs)
