"""An audit of a whole step of private training: sampling, clipping, divisor, noise, and what it releases in the end.

Null hypothesis: the step is what was accounted, part by part, and a few steps together keep what was accounted for
them. Each part is held against its claim by the audit that is made for it, then a few steps together are audited as one
mechanism on data with and without the record that moves the gradient farthest. The statistical parts share the error
equally (Bonferroni); the others are exact. The verdict is about the privacy that is promised: "consistent" says that no
part was seen to break it. More noise than stated keeps the promise; it is consistent, with a note of what it wastes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from dpcheck.arguments import checked, has_records
from dpcheck.arrays import Floats, real_numbers
from dpcheck.audits.claim import PrivacyClaim, delta_of
from dpcheck.audits.membership import audit_privacy
from dpcheck.audits.noise import most_confidence
from dpcheck.audits.running.datasets import read
from dpcheck.audits.running.memory import Memory
from dpcheck.audits.step_gradient import affordable, clipping_finding, cost, noise_finding
from dpcheck.audits.step_lines import located
from dpcheck.audits.step_parts import StepFinding, TrainingStep, gathered, noise_alone, taken
from dpcheck.audits.step_parts import TrainingStepAudit as TrainingStepAudit
from dpcheck.audits.step_sampling import cyclic_sampling_finding, divisor_finding, empty_finding, sampling_finding
from dpcheck.audits.step_state import state_finding
from dpcheck.errors import (
    InputError,
    raised,
    require,
    require_confidence,
    require_delta,
    require_epsilon,
    require_seed,
    require_work,
)
from dpcheck.events import Gaussian, Neighbours, Repeated, Sampled, Scheme
from dpcheck.running.compilations import compilations_said

_UNSEEDED = (
    "gradient must draw all its randomness from rng, got two different releases for one seed: seed the library's own "
    "generator from rng in each call, such as torch.manual_seed(int(rng.integers(2**62))), and switch dropout off; if "
    "it keeps state in another module or library, hand over the code that sets the step up, records -> TrainingStep"
)
_STATISTICAL = 5  # sampling, noise of three sizes of minibatch, and the joint release
# What is said of clipping where it cannot be tested.
_UNTOLD = StepFinding(
    "clipping", "inconclusive", "the gradient cannot be told from noise that moves with the minibatch",
    "Mend the noise and the empty minibatch, then audit again",
)  # fmt: skip
_CORRELATED = StepFinding(
    "accounting", "inconclusive",
    "dpcheck does not certify noise that depends on that of steps before, as with matrix factorisation",
    "Certify the whole run by its strategy matrix (dpcheck.accounting.matrix_noise); sampling and clipping are "
    "audited below",
)  # fmt: skip
_ACCURACY = 2e-3  # relative: claims are calibrated by accountants that round


@compilations_said()
@checked
def audit_training_step(
    step: TrainingStep | Callable[[Any], TrainingStep], records: Any, *, batch: int, steps: int,
    scheme: Scheme | Literal["cyclic_poisson"] = "poisson", cycle: int = 1,
    neighbours: Neighbours = "add_or_remove_one", epsilon: float | None = None, events: Any = None,
    delta: float | None = None, outlier: Callable[[Any, float], Any] | None = None, trials: int | None = None,
    confidence: float = 0.95, seed: int = 0,
) -> TrainingStepAudit:  # fmt: skip
    """Audit a step of private training, part by part and as a whole, against what was accounted for.

    Parameters
    ----------
    step : TrainingStep or callable
        What the step is made of (:class:`~.step_parts.TrainingStep`); or the code that sets it up, ``records ->
        TrainingStep``, which is then run on neighbouring data: a divisor or a noise that it takes from the private
        number of records is found only so.
    records : array (n, ...) or list
        At least 8 records, made up or public ones. Minibatches of them are arrays of NumPy, torch or JAX where they are
        one, and lists where they are anything else.
    batch : int
        Records in a minibatch as accounted, on average under Poisson sampling.
    steps : int
        Steps of the training.
    scheme : {"poisson", "without_replacement", "with_replacement", "cyclic_poisson"}
        How minibatches are said to be drawn. Cyclic: every record is in one of ``cycle`` groups, which take turns, and
        is drawn at each turn of its group with probability ``batch * cycle / n``. Epsilon is certified for records that
        are added or removed only where the groups of the others stay as they are.
    cycle : int
        Groups of cyclic Poisson sampling, >= 1; ``batch * cycle`` is at most the number of records.
    neighbours : {"add_or_remove_one", "replace_one"}
        The neighbouring relation of the claim; schemes of fixed size need the second.
    epsilon : float, optional
        What the accountant promised for all steps, at ``delta`` (natural log). A certified epsilon up to 0.2% above it
        keeps the promise: noise is calibrated by accountants that round, to a tenth of a per cent and more.
    events : events, accountant or history, optional
        What the accountant was told, in place of ``epsilon``, as :func:`dpcheck.certify` reads it; with the same room
        of 0.2%.
    delta : float, optional
        In (0, 1), given with ``epsilon``: alone it would promise delta = 0, which Gaussian noise never keeps. With
        ``events`` the delta at which epsilons are stated, 1e-5 where it is left out.
    outlier : callable, optional
        ``(record, factor) -> record``, the record made larger; by default the product, for records that are arrays of
        floating-point numbers. Whole numbers, such as tokens, stay as they are. Records that are tuples or dictionaries
        need it: ``lambda record, factor: (record[0] * factor, record[1])``.
    trials : int, optional
        Runs on each dataset of the joint release, at least 200; the noise is drawn half as often. By default 2,000 and
        1,000, fewer for large models and minibatches, so that the work is bounded.
    confidence : float
        One minus the level of all statistical parts together, in (0.5, 0.99975].
    seed : int
        Seed of all randomness, >= 0.

    Returns
    -------
    TrainingStepAudit
        One verdict, the sandwich of epsilons, and for each part what it shows and what to change.

    Raises
    ------
    InputError
        For arguments outside their domain, and for parts that raise on an ordinary minibatch.

    References
    ----------
    M. Abadi et al. Deep learning with differential privacy. CCS 2016, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcheck
    >>> from dpcheck.audits.step_parts import TrainingStep
    >>> def gradient(w, batch, rng):
    ...     g = batch - w
    ...     g = g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True))
    ...     return (g.sum(axis=0) + rng.normal(scale=0.5, size=2)) / 8  # the multiplier should be 1
    >>> def poisson(n, rng):
    ...     while True:
    ...         yield np.flatnonzero(rng.random(n) < 0.25)
    >>> step = TrainingStep(gradient, poisson, clip=1.0, noise=1.0 / 8, divisor=8, params=np.zeros(2))
    >>> records = np.random.default_rng(0).normal(size=(32, 2))
    >>> audit = dpcheck.audit_training_step(step, records, batch=8, steps=100, epsilon=20.0, delta=1e-5, trials=400)
    >>> audit.verdict, next(f.reason for f in audit.findings if f.part == "noise")[:30]
    ('violated', 'the noise has standard deviati')
    """
    from dpcheck.accounting import certify

    given = read(records)
    records = given.values
    require(has_records(records) and len(records) >= 8, "records", "hold at least 8", type(records).__name__)
    require_work(batch, "batch")
    require(batch <= len(records), "batch", f"be at most the number of records, {len(records)}", batch)
    require_work(steps, "steps")
    require_work(cycle, "cycle")
    require(isinstance(scheme, str), "scheme", "be a name", scheme)
    cyclic = scheme == "cyclic_poisson"
    require(cyclic or cycle == 1, "cycle", "be 1 unless scheme is cyclic_poisson", cycle)
    require(batch * cycle <= len(records), "cycle", f"be at most {len(records) // batch}, records over batch", cycle)
    require((epsilon is None) != (events is None), "epsilon", "be given, or events in its place", epsilon)
    if epsilon is not None:
        require_epsilon(epsilon)
    known = "be given with epsilon, which alone promises delta = 0 and no Gaussian noise keeps that; such as delta=1e-5"
    require(epsilon is None or delta is not None, "delta", known, "nothing")
    delta = delta_of(delta, promised=False)
    require_delta(delta, zero=False)
    if trials is not None:
        require_work(trials, "trials", least=200)
    require_confidence(confidence)
    most = 1 - _STATISTICAL * (1 - most_confidence())
    require(confidence <= most + 1e-12, "confidence", f"be at most {most:g}, where p-values are simulated", confidence)
    require_seed(seed)
    _require_outlier(records, outlier)
    outlier = given.grown(outlier)
    code: Callable[[Any], Any] = (lambda _: step) if isinstance(step, TrainingStep) else step
    require(callable(code), "step", "be a TrainingStep, or code that returns one", type(step).__name__)

    memory: Memory | None = None

    def build(data: Any) -> TrainingStep:
        made: TrainingStep = code(given.back(data))
        require(isinstance(made, TrainingStep), "step", "return a TrainingStep", type(made).__name__)
        if memory is not None and made is step:
            memory.restore()
        return replace(made, gradient=lambda params, batch, rng: made.gradient(params, given.back(batch), rng))

    here = build(records)
    states: list[StepFinding] = []
    if not _repeats(here, records):
        made = code(given.back(records))
        memory = kept_here = Memory(made.gradient, partial(made.gradient, made.params), looks=math.inf)
        keeping = replace(made, gradient=lambda params, batch, rng: made.gradient(params, given.back(batch), rng))

        def from_one_state(params: Any, batch: Any, rng: np.random.Generator) -> Any:
            kept_here.restore()
            return keeping.gradient(params, batch, rng)

        here = replace(keeping, gradient=from_one_state)
        if not _repeats(here, records):
            raise InputError(_UNSEEDED)
        states.append(state_finding(keeping, memory, records, batch, seed))

    share = 1 - (1 - confidence) / _STATISTICAL
    plain_scheme: Scheme = "poisson" if scheme == "cyclic_poisson" else scheme
    moved = here.clip / here.divisor * (2 if neighbours == "replace_one" else 1)
    event = Sampled((Gaussian(here.noise / moved),), plain_scheme, len(records), batch * cycle, neighbours)
    certified = math.nan if here.correlated else certify(Repeated(event, math.ceil(steps / cycle)), delta).epsilon
    claimed = float(epsilon) if epsilon is not None else certify(events, delta).epsilon

    kept = certified <= claimed * (1 + _ACCURACY)
    promise = "what the accountant was told" if epsilon is None else "the claim"
    accounting = StepFinding(
        "accounting", "consistent" if kept else "violated",
        f"the step as stated is certified at epsilon {certified:.5g}, {promise} is {claimed:.5g}",
        "" if kept else "Give the accountant the noise over clip, sampling rate and steps of this step, or add noise",
    )  # fmt: skip
    findings = [_CORRELATED if here.correlated else accounting, *states]
    findings.append(
        cyclic_sampling_finding(here, len(records), batch, cycle, neighbours, share, seed) if cyclic
        else sampling_finding(here, len(records), batch, plain_scheme, share, seed)
    )  # fmt: skip
    if not isinstance(step, TrainingStep):
        findings.append(divisor_finding(build, records, batch, neighbours))
    empty = empty_finding(here, records)
    sizes = batch_sizes(scheme, batch, len(records))
    noise, steady = noise_finding(here, records, sizes, trials, share, seed, empty.verdict == "consistent")
    if here.correlated:  # then privacy lies in the noise of all steps together, and what one shows is not known
        seen = noise.reason.partition(":")[0]
        reason = f"only the first step was audited, whose noise is correlated with that of later ones: {seen}"
        noise = StepFinding("noise", "inconclusive", reason)
    clipping, canary = _UNTOLD, None
    if steady and empty.verdict != "violated":
        clipping, canary = clipping_finding(here, records, sizes, outlier, seed)
    findings += [empty, noise, clipping]
    released = min(steps, 3)
    audited = math.nan
    if canary is not None and not here.correlated:
        finding, audited = release_finding(build, records, canary, event, released, cycle, delta, trials, share, seed)
        findings.append(finding)
    verdicts = [finding.verdict for finding in findings]
    verdict = next((v for v in ("violated", "inconclusive") if v in verdicts), "consistent")
    plain, setup = (step, None) if isinstance(step, TrainingStep) else (code(given.back(records)), step)
    placed = located(findings, here, plain, setup, records, canary)
    return TrainingStepAudit(verdict, audited, certified, claimed, float(delta), steps, released, placed)


def _repeats(step: TrainingStep, records: Any) -> bool:
    """Say whether the generator alone decides what the gradient returns, which must take records."""
    some = taken(records, range(4))
    try:
        one, other = (step.release(some, np.random.default_rng(0)) for _ in range(2))
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"gradient must take a minibatch of the records, got {raised(error)}") from error
    return np.array_equal(one, other, equal_nan=True)


def _require_outlier(records: Any, outlier: Any) -> None:
    """Require what makes a record larger, unless a product does, and say how it may look."""
    record = records[0]
    if outlier is not None:
        return
    try:
        require(not isinstance(record, Mapping), "record", "be an array", record)
        real_numbers(record, "record")
    except InputError:
        grown = "(record[0] * factor, *record[1:])"
        if isinstance(record, Mapping):
            grown = f"{{**record, {next(iter(record), 'x')!r}: record[{next(iter(record), 'x')!r}] * factor}}"
        say = f"be given where a record is a {type(record).__name__}: outlier=lambda record, factor: {grown}, or "
        raise InputError(f"outlier must {say}lambda record, factor: record where none can be made larger") from None


def batch_sizes(scheme: str, batch: int, population: int) -> list[int]:
    """Return sizes of minibatches as training has them, the largest first: of Poisson sampling 4 sd more than usual."""
    if scheme in ("with_replacement", "without_replacement"):
        return [batch]
    spread = math.sqrt(batch * (1 - batch / population))
    sizes = [round(batch + times * spread) for times in (4, 0, 2, 1, -2)]
    return list(dict.fromkeys(min(max(size, 1), population) for size in [*sizes, batch + 1]))


_USUAL = 2_000  # trials, where the user names no number
_FEWEST = 200
_KEPT = 16  # records that are drawn into a Poisson minibatch on average; more are masked
_MOST_KEPT = 2_000


def release_finding(
    build: Callable[[Any], TrainingStep], records: Any, canary: Any, sampled: Sampled, steps: int, cycle: int,
    delta: float, trials: int | None, confidence: float, seed: int,
) -> tuple[StepFinding, float]:  # fmt: skip
    """Audit a few steps together on data with the canary and without; also return the audited epsilon.

    sampled : the event of one step in which the canary can take part, one in ``cycle`` of them
    Under Poisson sampling all records but some are masked: they are drawn, but not put into the minibatch. What is
    released is then what the step releases on data without them, for which the same epsilon is claimed.
    """
    last = len(records) - 1
    # As a curve alone: the bound within the claimed family takes longer than the audit, and nobody reads it here.
    claim = replace(PrivacyClaim.read(Repeated(sampled, math.ceil(steps / cycle))), events=())
    removed = sampled.neighbours == "add_or_remove_one"
    rest = taken(records, range(last))
    full = {True: gathered(records, [*rest, canary])}
    full[False] = rest if removed else records
    kept = _kept(sampled, last, cycle, seed)
    place = {number: k for k, number in enumerate(kept)}
    data, neighbour = (
        (there, taken(full[there], [k for k in kept if k < len(full[there])])) for there in (True, False)
    )  # fmt: skip
    first = build(full[True])
    follows = callable(first.sampler)  # and draws from the generator alone, so that each trial can draw anew
    if follows:
        one, again = (first.minibatches(len(records), np.random.default_rng(0), steps) for _ in range(2))
        follows = one == again
    direction = first.release(gathered(records, [canary]), np.random.default_rng(0)) - noise_alone(first, full[True])
    if trials is None:
        size = len(kept) * sampled.batch / len(records) / cycle
        trials = affordable(2 * steps * cost(size, len(direction)), least=_FEWEST, most=_USUAL)

    def release(step: TrainingStep, batch: Any, rng: np.random.Generator) -> Floats:
        try:
            return step.release(batch, rng)
        except (Exception, SystemExit):
            if len(batch):
                raise
            return np.full(len(direction), np.nan)  # that the empty minibatch raises is a finding of its own

    def mechanism(side: tuple[bool, Any], rng: np.random.Generator) -> Floats:
        there, some = side
        step, population = build(full[there]), len(full[there])
        drawn = (
            step.minibatches(population, rng, steps) if follows
            else _accounted(sampled, cycle, population, rng, steps)
        )  # fmt: skip
        batches = [taken(some, [place[k] for k in members if k in place]) for members in drawn]
        released = np.array([release(step, batch, rng) for batch in batches])
        # Post-processing: one number a step.
        return np.asarray(released @ (direction / max(float(np.linalg.norm(direction)), 1e-300)))

    try:
        audit = audit_privacy(
            mechanism, data, neighbour, claim=claim, delta=delta, trials=trials, confidence=confidence, seed=seed
        )
    except InputError as error:
        if "seeded=False" not in str(error):
            raise
        raise InputError(_UNSEEDED) from error
    reason = f"{steps} steps together have epsilon >= {audit.epsilon_lower:.3g}, {audit.epsilon:.3g} is claimed"
    if len(kept) <= last:
        reason += f", on {len(kept)} of the {len(records)} records"
    if audit.verdict == "inconclusive":
        reason += f": {audit.trials} trials could not have shown a violation"
        return StepFinding("release", "inconclusive", reason, "Take more trials"), audit.epsilon_lower
    if audit.verdict == "consistent":
        return StepFinding("release", "consistent", reason), audit.epsilon_lower
    reason += f" ({audit.event})"
    change = "Mend the parts above; where none is amiss, look for state that one step leaves to the next"
    return StepFinding("release", "violated", reason, change), audit.epsilon_lower


def _kept(sampled: Sampled, last: int, cycle: int, seed: int) -> list[int]:
    """Return the records that are not masked, the last one, the canary, among them."""
    most = min(_MOST_KEPT, math.ceil(_KEPT * cycle / max(sampled.rate, 1e-300)))
    if sampled.scheme != "poisson" or most > last:
        return list(range(last + 1))
    drawn = np.random.default_rng([seed, 4]).choice(last, most - 1, replace=False)
    return [*sorted(drawn.tolist()), last]


def _accounted(
    sampled: Sampled, cycle: int, population: int, rng: np.random.Generator, steps: int
) -> Sequence[list[Any]]:
    """Draw minibatches as accounted, where the sampler is a loader of its own data, or has a generator of its own."""
    size = int(sampled.batch)
    if sampled.scheme == "poisson":
        group = rng.integers(cycle, size=population)
        drawn = ((group == number % cycle) & (rng.random(population) < sampled.rate) for number in range(steps))
        return [np.flatnonzero(members).tolist() for members in drawn]
    again = sampled.scheme == "with_replacement"
    return [rng.choice(population, size, replace=again).tolist() for _ in range(steps)]
