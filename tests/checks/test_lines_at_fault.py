"""Which line a finding names, and by which part: of loops, steps of DP-SGD, plain mechanisms; and of clean ones."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from slices import first

import dpcheck
from dpcheck.audits.named_part import inside
from dpcheck.audits.neighbours import Pair
from dpcheck.audits.step_parts import TrainingStep
from dpcheck.checks.context import Context
from dpcheck.checks.declared import Declared
from dpcheck.checks.declared_lines import suspect
from dpcheck.checks.declared_releases import releases
from dpcheck.events import Gaussian, Repeated

N, STEPS = 12, 4
DATA = np.random.default_rng(1).normal(size=(N, 2))
FAR = [np.array([50.0, 0]), np.array([-50.0, 0]), np.array([0.0, 30])]


def clipped(rows):
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))


def right(w, data, rng):
    return w - 0.1 * (clipped(w - data).sum(0) + rng.normal(scale=12.0, size=2))


def clips_the_mean(w, data, rng):
    g = (w - data).mean(0)
    g = N * g / max(1, np.linalg.norm(g))  # here
    return w - 0.1 * (g + rng.normal(scale=12.0, size=2))


def clips_nothing(w, data, rng):
    g = (w - data).sum(0)  # here
    return w - 0.1 * (g + rng.normal(scale=12.0, size=2))


def scales_by_the_spread(w, data, rng):
    data = data / (data.std(0) + 1e-6)  # here
    return w - 0.1 * (clipped(w - data).sum(0) + rng.normal(scale=12.0, size=2))


def median_clip(w, data, rng):
    norm = np.median(np.linalg.norm(w - data, axis=1))  # here
    return w - 0.1 * norm * (clipped((w - data) / norm).sum(0) + rng.normal(scale=12.0, size=2))


def clips_coordinates(w, data, rng):
    g = np.clip(w - data, -1, 1).sum(0)  # here
    return w - 0.1 * (g + rng.normal(scale=12.0, size=2))


def clips_the_other_norm(w, data, rng):
    g = clipped(w - data).sum(0)  # here
    return w - 0.1 * (g + rng.laplace(scale=16.0, size=2))


def returns_a_raw_norm(w, data, rng):
    raw = clipped(w - data).sum(0)
    noisy = w - 0.1 * (raw + rng.normal(scale=12.0, size=2))
    return np.append(noisy, np.linalg.norm(raw))


def stops_by_the_loss(w, data, rng):
    new = right(w, data, rng)
    if ((new - data) ** 2).mean() > ((w - data) ** 2).mean():  # here
        return w
    return new


def keeps_in_place(w, data, rng, kept={"m": 0}):  # noqa: B006
    raw = clipped(w - data).sum(0)
    kept["m"] = 0.9 * kept["m"] + raw  # here
    return w - 0.1 * (kept["m"] + rng.normal(scale=12.0, size=2))


def in_float32(w, data, rng):
    rows = np.asarray(w - data, np.float32)
    rows = rows * np.minimum(np.float32(1), 1 / np.linalg.norm(rows, axis=1, keepdims=True))
    return w - 0.1 * (rows.sum(0) + rng.normal(scale=12.0, size=2))


def line_of(function):
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, text in enumerate(lines) if "# here" in text)


def declared(step, **more):
    fields = {"data": DATA, "replacements": FAR, "start": np.zeros(2), "steps": STEPS, "delta": 1e-5, "epsilon": 2.0,
              "events": Repeated(Gaussian(6.0), STEPS)}  # fmt: skip
    return dpcheck.Algorithm(name="loop", step=step, **fields | more)


@pytest.mark.parametrize(
    ("step", "words"),
    [(clips_the_mean, "what one record adds depends on other records"),
     (clips_coordinates, "in some directions as in others (l2 norm)"),
     (clips_nothing, "nothing bounds what one record adds"),
     (scales_by_the_spread, "lets one record change those of others"), (median_clip, "the noise itself changes"),
     (keeps_in_place, "beyond what those steps released")],
)  # fmt: skip
def test_a_release_at_fault_names_its_line(step, words):
    (found,) = releases(Context(seed=0), Declared(declared(step)))
    line = line_of(step)
    assert found.verdict == "violated" and words in found.reason
    assert found.place.endswith(f":{line}") or f"line {line} " in found.reason, found


def test_a_clip_of_another_norm_than_that_of_the_noise_is_named():
    algorithm = declared(clips_the_other_norm, events=Repeated(dpcheck.events.Laplace(8.0), STEPS), delta=0.0)
    (found,) = releases(Context(seed=0), Declared(algorithm))
    assert (
        found.verdict == "violated" and "1.41 times as far in some directions as in others (l1 norm)" in found.reason
    ), found.reason
    assert f"line {line_of(clips_the_other_norm)} " in found.reason


@pytest.mark.parametrize("step", [right, in_float32])
@pytest.mark.parametrize("seed", range(5))
def test_clean_loops_keep_their_verdict(step, seed):
    (found,) = releases(Context(seed=seed), Declared(declared(step)))
    assert found.verdict == "consistent", found.reason


def test_a_clip_that_is_one_part_in_a_thousand_too_wide_is_no_rounding():
    (found,) = releases(Context(seed=0), Declared(declared(lambda w, data, rng: right(w, data, rng) * 1.0,
                                                           events=Repeated(Gaussian(6.006), STEPS))))  # fmt: skip
    assert found.verdict == "violated", found.reason


def test_a_branch_on_the_loss_is_named_on_the_pair_of_an_audit():
    algorithm, other = declared(stops_by_the_loss), DATA.copy()
    other[0] = FAR[0]
    words, place = suspect(algorithm, Pair(DATA, other, ""), 0)
    assert place.endswith(f":{line_of(stops_by_the_loss)}") and f"line {line_of(stops_by_the_loss)} " in words
    bare = declared(returns_a_raw_norm, start=np.zeros(2), update=lambda w, released: released[:2])
    words, _ = suspect(bare, Pair(DATA, other, ""), 0)
    assert "number 2 of the output was the same" in words and "depends on other records" not in words
    words, _ = suspect(declared(right), Pair(DATA, other, ""), 0)
    assert words.endswith("draws from rng"), words


def test_few_runs_tell_and_records_that_are_refused_or_have_no_numbers_tell_nothing():
    calls = []

    def of_words(w, data, rng):
        calls.append(1)
        if data[:-1] != WORDS[:-1]:  # another record is refused
            raise ValueError("unknown record")
        return w + 0.01 * sum(map(len, data)) + rng.normal()

    many = declared(of_words, data=WORDS, replacements=["a very long word"], start=0.0)
    words, _ = suspect(many, Pair(WORDS, [*WORDS[:-1], "a very long word"], ""), 0)
    assert "draws from rng" in words and "other records" not in words
    assert len(calls) < 200
    numbers = declared(right, data=np.zeros((3_000, 2)))
    other = numbers.data.copy()
    other[0] = FAR[0]
    assert "other records" not in suspect(numbers, Pair(numbers.data, other, ""), 0)[0]


WORDS = [f"word{k:04}" for k in range(2_000)]


def poisson(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < 8 / n)


def epochs(n, rng):
    while True:
        yield from np.array_split(rng.permutation(n), n // 8)  # here


def gradient(w, batch, rng):
    return (clipped(w - batch).sum(0) + rng.normal(size=2)) / 8


def halves_its_noise(w, batch, rng):
    g = clipped(w - batch).sum(0)
    return (g + 0.5 * rng.normal(size=2)) / 8  # here


def clips_to_three(w, batch, rng):
    g = 3 * clipped((w - batch) / 3).sum(0)  # here
    return (g + rng.normal(size=2)) / 8


def skips_the_empty(w, batch, rng):
    if not len(batch):
        return np.zeros(2)  # here
    return gradient(w, batch, rng)


@pytest.mark.parametrize(
    ("code", "sampler", "part", "fault"),
    first(2, [
     (halves_its_noise, poisson, "noise", halves_its_noise), (clips_to_three, poisson, "clipping", clips_to_three),
     (skips_the_empty, poisson, "empty batch", skips_the_empty), (gradient, epochs, "sampling", epochs),
     (gradient, poisson, "", None)]),
)  # fmt: skip
def test_a_part_of_a_training_step_names_its_line(code, sampler, part, fault):
    records = np.random.default_rng(0).normal(scale=3, size=(32, 2))
    step = TrainingStep(code, sampler, clip=1.0, noise=1 / 8, divisor=8, params=np.zeros(2))
    audit = dpcheck.audit_training_step(step, records, batch=8, steps=100, epsilon=20.0, delta=1e-5, trials=200)
    places = {finding.part: finding.place for finding in audit.findings if finding.verdict == "violated"}
    if fault is None:
        assert not places and not any(finding.place for finding in audit.findings)
    else:
        assert places[part].endswith(f"{__name__}.py:{line_of(fault)}") and places[part] in str(audit)


def range_of_the_data(ages, rng):
    scale = max(ages) - min(ages)
    return sum(ages) + rng.laplace(scale=scale)  # here


def no_noise_where_empty(counts, rng):
    return np.where(counts > 0, counts + rng.laplace(size=len(counts)), 0)  # here


def chosen(counts, rng):
    p = np.exp(counts - np.max(counts))
    return rng.choice(len(p), p=p / p.sum())  # here


def answers_until_near(values, rng):
    answer = sum(values) + rng.laplace(scale=9.0)
    return answer if abs(answer - sum(values)) < 9 else 0.0  # here


def sums_by_key(rows, rng):
    keys = sorted({key for key, _ in rows})
    return {key: sum(v for k, v in rows if k == key) + rng.laplace() for key in keys}  # here


ROWS = [("a", 1), ("a", 2), ("b", 3)]


@pytest.mark.parametrize(
    ("mechanism", "data", "neighbour", "words"),
    [(sums_by_key, ROWS, ROWS[:-1], "makes what the record moves"),
     (answers_until_near, [0.0, 0], [0.0, 5], "reads the data after the noise"),
     (range_of_the_data, [1.0, 2, 3], [1.0, 2, 9], "draws noise, or chooses"),
     (no_noise_where_empty, np.array([3, 0]), np.array([3, 1]), "number 1 of the output was the same"),
     (chosen, np.array([3.0, 0]), np.array([3.0, 1]), "draws noise, or chooses")],
)  # fmt: skip
def test_the_inside_of_a_mechanism_is_named(mechanism, data, neighbour, words):
    said, place = inside(mechanism, data, neighbour)
    assert words in said and place.endswith(f":{line_of(mechanism)}")
    with pytest.raises(AssertionError, match="hint: "):
        dpcheck.testing.assert_private(mechanism, data, neighbour, epsilon=0.05, trials=20_000)


def divides_by_the_number(values, rng):
    noisy = max(0.0, sum(values) + rng.laplace(scale=0.1))  # here
    return noisy / len(values) / values.shape[0]


def test_the_number_of_records_is_no_reading_of_the_data():
    words, _ = inside(divides_by_the_number, np.array([1.0, 2, 3]), np.array([1.0, 2, 9]))
    assert "after the noise" not in words
    words, _ = inside(divides_by_the_number, np.array([1.0, 2, 3]), np.array([1.0, 2]))
    assert "after the noise" in words  # where the number itself differs


def test_code_that_cannot_be_watched_has_no_line():
    assert inside(max, [1.0], [2.0]) == ("", "")
