"""The testers themselves: each on something that is right and on something that is wrong, by construction.

What a check of correct code expects of most testers is that they find nothing, so that one which never finds anything
would agree with all of it. All draws are from fixed streams: the verdicts are the same for every seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from dpcheck.algorithms.kernels import transcripts
from dpcheck.algorithms.kernels.jit import Tape
from dpcheck.algorithms.kernels.parts import WITH_REPLACEMENT, WITHOUT_REPLACEMENT
from dpcheck.algorithms.kernels.tape import DRAWS, RELEASES
from dpcheck.algorithms.kernels.transcripts import Scheme, log_ratio
from dpcheck.algorithms.problem import Array
from dpcheck.audits.constants import audit_constants
from dpcheck.audits.membership import Look, audit_privacy
from dpcheck.audits.noise import audit_noise_sample
from dpcheck.audits.rates import fit_rate
from dpcheck.audits.sampling import audit_sampling
from dpcheck.checks.place import place_of
from dpcheck.report.findings import Finding

EPSILON, SHIFT = 0.5, 1.0  # of a Gaussian whose sensitivity is one standard deviation
TRIALS = 4000
SHORT = 0.06  # standard deviations by which a limit may be found too low, a little more than the tester says
# counts of one output set on each data set, the runs, delta and the level: rare sets and common ones
COUNTS = ((60, 12, 2000, 1e-3, 0.01), (400, 250, 5000, 1e-2, 0.02), (2500, 1200, 10_000, 5e-2, 0.001))


def testers(name: str) -> Iterator[Finding]:
    """Yield one finding, which names the first tester that errs."""
    wrong, place = _first_wrong()
    yield Finding(
        f"{name}.testers", "utility", "the testers, each on what is right and on what is wrong by construction",
        "violated" if wrong else "consistent",
        wrong or f"{', '.join(tester.__name__ for tester, _ in TESTERS)} tell one from the other.", place=place,
    )  # fmt: skip


@cache
def _first_wrong() -> tuple[str, str]:
    """Return what errs and where it is, the same for every algorithm; nothing and the first tester's place."""
    for tester, work in TESTERS:
        for told in work():
            if told:
                return f"{tester.__name__} {told}.", place_of(tester)
    return "", place_of(TESTERS[0][0])


def membership() -> Iterator[str]:
    """Test on a Gaussian of known delta, claimed with that and with a third of it; then where a look's verdict
    turns.
    """
    delta = _gaussian_delta(EPSILON, SHIFT)
    for share, due in ((1.0, "consistent"), (1 / 3, "violated")):
        audit = audit_privacy(
            _gaussian, 0.0, SHIFT, epsilon=EPSILON, delta=share * delta, trials=TRIALS, vectorized=True,
        )  # fmt: skip
        yield _unless(audit.verdict, due, f"a Gaussian that is claimed with {share:.2g} of its delta")
        event = audit.event
    for hits, others, trials, level_delta, alpha in COUNTS:
        counted = type(event)(event.score, event.direction, event.threshold, event.favours, hits, others, trials)

        def look(claimed: float, event: object = counted, alpha: float = alpha, delta: float = level_delta) -> Look:
            none = np.zeros(1)
            return Look(1, "plain", event, 0, alpha, claimed, delta, (none, none, none))  # type: ignore[arg-type]

        limit = look(math.inf).epsilon_lower
        near = SHORT * math.sqrt((1 - hits / trials) / hits + (1 - others / trials) / others)
        for claimed, breaks in ((limit + near, False), (limit * 0.999, True)):
            if look(claimed).breaks != breaks:
                yield (
                    f"{'accepts' if breaks else 'rejects'} epsilon {claimed:.4g} at delta {level_delta:g} for {hits} "
                    f"hits against {others} in {trials} runs, whose limit is {limit:.4g}"
                )


def noise() -> Iterator[str]:
    """Test on normal noise as claimed, of a larger and a smaller scale, and of another shape."""
    rng = np.random.default_rng(1)
    normal, flat = rng.standard_normal((600, 2)), rng.uniform(-math.sqrt(3), math.sqrt(3), (600, 2))
    for sample, due, words in (
        (normal, "consistent", "normal noise of the claimed scale"),
        (1.3 * normal, "violated", "normal noise of 1.3 times the claimed scale"),
        (normal / 1.3, "violated", "normal noise that is 1.3 times too small"),
        (flat, "violated", "uniform noise that is claimed to be normal"),
    ):
        audit = audit_noise_sample(sample, scale=1.0, centred=True)
        yield _unless(audit.verdict, due, words)


def sampling() -> Iterator[str]:
    """Test on minibatches drawn as claimed; with a record twice, with one record too few, and always the same
    records.
    """
    rng, n, size = np.random.default_rng(2), 20, 5
    drawn = np.array([rng.choice(n, size, replace=False) for _ in range(40)])
    twice, fewer, same = drawn.copy(), drawn.copy(), drawn.copy()
    twice[7, 1] = twice[7, 0]
    fewer[:, -1] = -1
    same[:] = same[0]
    again = rng.integers(n, size=(40, size))
    for rows, scheme, due, words in (
        (drawn, "without_replacement", "consistent", "minibatches drawn without replacement"),
        (again, "with_replacement", "consistent", "minibatches drawn with replacement"),
        (twice, "without_replacement", "violated", "a minibatch without replacement that holds a record twice"),
        (fewer, "without_replacement", "violated", "minibatches of one record too few"),
        (same, "without_replacement", "violated", "the same minibatch all along"),
    ):
        audit = audit_sampling(rows, scheme=scheme, population=n, batch=size)
        yield _unless(audit.verdict, due, words)


def constants() -> Iterator[str]:
    """Test on a constant that is public, and one that is read off the data."""
    data, neighbour = np.arange(4.0), np.arange(1.0, 5.0)
    for made, due in ((lambda _: {"bound": 1.0}, "consistent"), (lambda rows: {"bound": rows.max()}, "violated")):
        words = "a public constant" if due == "consistent" else "a constant read off the data"
        yield _unless(audit_constants(made, data, [neighbour]).verdict, due, words)


def rates() -> Iterator[str]:
    """Test on a law n^(-1/2) that is claimed to be that, to be slower, and to be faster, by little and by much."""
    import pandas as pd

    rng, sizes = np.random.default_rng(3), np.repeat([100, 200, 400, 800, 1600], 12)
    frame = pd.DataFrame({"n": sizes, "gap": sizes**-0.5 * (1 + 0.05 * rng.standard_normal(sizes.size))})
    for exponent, due in ((-0.5, "supported"), (-0.3, "supported"), (-0.65, "contradicted"), (-1.0, "contradicted")):
        found = fit_rate(frame, response="gap", factors=["n"], claimed={"n": exponent})
        yield _unless(found.verdict, due, f"n^-0.5 that is claimed to be n^{exponent:g}")


def _unless(verdict: str, due: str, words: str) -> str:
    return "" if verdict == due else f"calls {words} {verdict}, which is {due} by construction"


def _gaussian(shift: float, rng: np.random.Generator, size: int) -> Array:
    return shift + rng.standard_normal(size)


def _gaussian_delta(epsilon: float, mu: float) -> float:
    """Return delta by Theorem 8 of Balle and Wang 2018."""

    def below(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2))

    return below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)


# The score of transcripts beside the densities that it stands for, on releases made up for it.


GROUPS, SIZE, POPULATION, BATCH = 3, 2, 9, 4
PATTERNS = ((1,), (0,), (1, 1), (1, 0))  # of the releases after each minibatch: 1 reads it, 0 reads all records
RELATIVE = 1e-9


def scores() -> Iterator[str]:
    """Compare the log-likelihood ratio of one transcript, for each pattern of releases and each way of drawing."""
    rng = np.random.default_rng(4)
    for pattern, kind in itertools.product(PATTERNS, (WITHOUT_REPLACEMENT, WITH_REPLACEMENT)):
        rows = GROUPS * len(pattern)
        clean = tuple(rng.normal(size=(rows, SIZE)) for _ in range(5))
        tape = Tape(
            np.zeros(7, dtype=np.int64), np.zeros((GROUPS, BATCH), dtype=np.int64), np.zeros((rows, SIZE)),
            rng.normal(size=(rows, SIZE)), rng.uniform(0.5, 1.5, (rows, 2)), np.zeros(0, dtype=np.int64),
            np.zeros((0, SIZE)),
        )  # fmt: skip
        tape.cursor[[RELEASES, DRAWS]] = rows, GROUPS
        found = transcripts.log_ratio(
            tape, clean, tape.drawn, np.array(pattern, dtype=np.int64), Scheme(kind, POPULATION)
        )
        promised = _log_density(tape, clean, pattern, kind, 0) - _log_density(tape, clean, pattern, kind, 1)
        if not math.isclose(found, promised, rel_tol=RELATIVE):
            yield f"is {found:.6g} for a transcript whose likelihood ratio is exp({promised:.6g})"


def _log_density(tape: Tape, clean: Sequence[Array], pattern: Sequence[int], kind: int, side: int) -> float:
    """Return the log of the density of a transcript on one of the data sets, whose record is drawn J times."""
    if kind == WITH_REPLACEMENT:
        chance = 1 / POPULATION
        laws = [math.comb(BATCH, J) * chance**J * (1 - chance) ** (BATCH - J) for J in range(BATCH + 1)]
    else:
        laws = [1 - BATCH / POPULATION, BATCH / POPULATION]
    record, background = clean[transcripts.CANARY + side], clean[transcripts.BACKGROUND]
    total = 0.0
    for group in range(GROUPS):
        density = 0.0
        for J, law in enumerate(laws):
            log = 0.0
            for row, reads in enumerate(pattern, group * len(pattern)):
                drawn = background[row] + J / BATCH * (record[row] - background[row])
                mean = drawn if reads else clean[transcripts.OURS + side][row]
                log -= 0.5 * float(np.sum(((tape.released[row] - mean) / tape.noise[row, 0]) ** 2))
            density += law * math.exp(log)
        total += math.log(density)
    return total


TESTERS: tuple[tuple[Callable[..., object], Callable[[], Iterator[str]]], ...] = (
    (audit_privacy, membership), (audit_noise_sample, noise), (audit_sampling, sampling), (audit_constants, constants),
    (fit_rate, rates), (log_ratio, scores),
)  # fmt: skip
