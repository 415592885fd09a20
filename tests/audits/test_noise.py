"""Noise audits: false alarms at the stated level, and planted faults caught."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import special
from slices import first

from dpcheck import InputError, audit_noise
from dpcheck.audits import noise, noise_laws
from dpcheck.audits.noise import audit_noise_sample
from dpcheck.audits.noise_laws import LAWS


def two_sided_geometric(rng, size):
    p = 1 - np.exp(-1 / 2.0)
    return rng.geometric(p, size) - rng.geometric(p, size)


def discrete_gaussian(rng, size):
    """Of sigma 2, by rejection from a uniform proposal."""
    kept = np.zeros(0)
    while kept.size < np.prod(size):
        k = rng.integers(-20, 21, 4000)
        kept = np.append(kept, k[rng.random(4000) < np.exp(-(k**2) / 8)])
    return kept[: np.prod(size)].reshape(size)


DRAW = {
    "gaussian": lambda rng, size: 2 * rng.standard_normal(size),
    "laplace": lambda rng, size: rng.laplace(scale=2, size=size),
    "exponential": lambda rng, size: rng.exponential(2, size),
    "geometric": two_sided_geometric,
    "discrete_gaussian": discrete_gaussian,
}


def alarms(distribution, seeds, centred=False):
    count = 0
    for seed in seeds:
        sample = 3.1 * (not centred) + DRAW[distribution](np.random.default_rng([seed, 77]), (120, 2))
        found = audit_noise_sample(sample, distribution=distribution, scale=2.0, centred=centred, seed=seed)
        count += found.verdict == "violated"
    return count


FEW = pytest.param(range(40), False, marks=pytest.mark.thorough)
MANY = [pytest.param(range(1000, 2000), centred, marks=pytest.mark.experiment) for centred in (True, False)]


@pytest.mark.parametrize(("seeds", "centred"), [FEW, *MANY])
@pytest.mark.parametrize("distribution", DRAW)
def test_false_alarms(distribution, seeds, centred):
    """Null: noise exactly as claimed. Level 5 %; fails above 7 of 40 repeats, or 72 of 1,000 (probability 0.1 %)."""
    assert alarms(distribution, seeds, centred) <= (7 if len(seeds) == 40 else 72)


@pytest.mark.thorough
@pytest.mark.parametrize("claimed", DRAW)
@pytest.mark.parametrize("drawn", DRAW)
def test_each_law_is_told_from_the_others(claimed, drawn):
    """Laws claimed at the size that the drawn noise has: level 5 % on the diagonal, fixed seed."""
    sample = DRAW[drawn](np.random.default_rng(3), (2000, 1))
    size = {name: LAWS[name].expected(2.0) * 2.0 for name in DRAW}
    rms = {name: np.sqrt(8) if name == "laplace" else size[name] for name in DRAW}
    scale = 2.0 * rms[drawn] / rms[claimed]
    found = audit_noise_sample(sample, distribution=claimed, scale=scale)
    assert found.verdict == ("consistent" if claimed == drawn else "violated")
    assert found.scale == pytest.approx(scale, rel=0.15)


@pytest.mark.thorough
@pytest.mark.parametrize("distribution", ["geometric", "discrete_gaussian", "exponential"])
def test_scales_and_reuse_of_the_other_laws(distribution):
    noise = DRAW[distribution](np.random.default_rng(4), (4000, 1))
    for centred in (True, False):
        claim = {"distribution": distribution, "centred": centred}
        assert audit_noise_sample(noise, scale=2.0, **claim).verdict == "consistent"
        assert "below the claimed" in audit_noise_sample(noise, scale=2.3, **claim).reason
        again = np.repeat(noise[::2], 2, axis=0)
        assert "calls before" in audit_noise_sample(again, scale=2.0, **claim).reason


def test_the_scale_depends_on_the_call_before():
    """Uncorrelated, but the size of one draw follows from the last."""
    z = np.random.default_rng(5).standard_normal((4001, 1))
    noise = z[1:] * np.where(np.abs(z[:-1]) > 0.67, 1.2, 0.75)
    found = audit_noise_sample(noise / noise.std(), scale=1.0)
    assert found.p_values["dependence"] <= found.level


def test_a_generator_seeded_anew_and_noise_off_the_lattice():
    again = audit_noise(lambda x, rng: x + np.random.default_rng(1).normal(size=2), 0.0, scale=1.0, trials=60)
    assert "values repeat exactly" in again.reason
    off = audit_noise_sample(DRAW["gaussian"](np.random.default_rng(6), (100, 1)), distribution="geometric", scale=2.0)
    assert "no whole numbers apart" in off.reason


def bfloat16(values):
    """Float32 values cut to the 8 bits of a bfloat16's significand, to nearest."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


def of_23_bits(rng, size):
    """Normal numbers as JAX makes them in float32: the inverse distribution function of 23 random bits."""
    return special.ndtri((rng.integers(0, 2**23, size) + 0.5) / 2**23).astype(np.float32)


FORMATS = {
    "float32": lambda rng, size: rng.standard_normal(size, dtype=np.float32),
    "float32 of 23 bits": of_23_bits,
    "float16": lambda rng, size: rng.standard_normal(size).astype(np.float16),
    "bfloat16": lambda rng, size: bfloat16(rng.standard_normal(size)),
}


def format_alarms(name, seeds, size, centre):
    """How many audits of sound noise of a format, added in that format to a constant, call it violated."""
    count = 0
    for seed in seeds:
        drawn = FORMATS[name](np.random.default_rng([seed, 5]), size)
        sample = (drawn + drawn.dtype.type(centre)) if centre else drawn
        sample = bfloat16(sample) if name == "bfloat16" else sample
        count += audit_noise_sample(np.asarray(sample, float), scale=1.0, seed=seed).verdict == "violated"
    return count


@pytest.mark.parametrize("name", FORMATS)
def test_narrow_floats_repeat_by_chance(name):
    """Null: sound noise of the format, whose values repeat by chance; level 5 %, fixed seed."""
    noise = FORMATS[name](np.random.default_rng(12), (3_000, 1))
    sample = np.asarray(noise if name.endswith("float16") else noise + np.float32(100), float)
    assert np.unique(sample).size < sample.size
    found = audit_noise_sample(sample, scale=1.0)
    assert (found.verdict, found.p_values["repeats"] > found.level) == ("consistent", True)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORMATS)
def test_false_alarms_of_narrow_floats(name):
    """Null: as above, added to a constant; 10 repeats at level 5 %, fails above 4 (probability 0.01 %)."""
    assert format_alarms(name, range(10), (100, 1), 3.0) <= 4


@pytest.mark.experiment
@pytest.mark.parametrize("name", FORMATS)
def test_many_false_alarms_of_narrow_floats(name, keep):
    """Null: as above; 2,000 repeats each at level 5 %, fails above 131 (probability 0.1 %).

    A minute or two for each format: ``pytest -n 0 -s -m experiment tests/audits/test_noise.py -k narrow``.
    """
    rows = [
        {
            "format": name,
            "centre": centre,
            "audits": 2_000,
            "alarms": format_alarms(name, range(2_000), (100, 1), centre),
        }
        for centre in (0.0, 3.0)
    ]
    keep(f"narrow_floats_{name.replace(' ', '_')}", pd.DataFrame(rows))
    assert max(row["alarms"] for row in rows) <= 131


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [np.float32, np.float16, bfloat16])
@pytest.mark.parametrize("fault", ["to a tenth", "at two scales", "each draw used twice"])
def test_narrow_floats_that_are_discretised_or_clipped_are_caught(dtype, fault):
    """Each fault repeats values far beyond what its format explains."""
    noise = np.random.default_rng(12).standard_normal((3_000, 1))
    change = {
        "to a tenth": lambda: np.round(noise, 1), "at two scales": lambda: np.clip(noise, -2, 2),
        "each draw used twice": lambda: np.repeat(noise[::2], 2, axis=0),
    }  # fmt: skip
    sample = np.asarray(dtype(change[fault]()) if dtype is bfloat16 else change[fault]().astype(dtype), float)
    found = audit_noise_sample(sample, scale=1.0)
    assert found.verdict == "violated"
    test = "dependence" if fault == "each draw used twice" and dtype is not np.float32 else "repeats"
    assert found.p_values[test] <= found.level


@pytest.mark.parametrize(
    ("distribution", "clip"),
    first(1, [
        ("gaussian", lambda x: np.minimum(x, 3)),
        ("laplace", lambda x: np.clip(x, -6, 6)),
        ("gaussian", lambda x: np.clip(x, -3, 3)),
        ("gaussian", lambda x: np.maximum(x, -3)),
        ("exponential", lambda x: np.minimum(x, 6)),
        ("discrete_gaussian", lambda x: np.clip(x, -2, 2)),
    ]),
)  # fmt: skip
def test_clipping_is_caught_in_the_tails_of_all_coordinates_together(distribution, clip):
    """Twenty coordinates of 500 calls: of each only one number or two are clipped."""
    law = LAWS[distribution]
    constants = np.arange(20.0)

    def mechanism(data, rng):
        return constants + clip(law.draw(rng, (20,), 1.0))

    found = audit_noise(mechanism, None, distribution=distribution, scale=1.0, trials=500)
    assert found.verdict == "violated"
    assert found.p_values["tails"] <= found.level
    assert "draws should lie beyond" in found.reason


def vector_alarms(dtype, distribution, seeds, size):
    """How many audits of sound noise on vectors, added to constants in this format, call it violated, and by tails."""
    found = []
    for seed in seeds:
        drawn = LAWS[distribution].draw(np.random.default_rng([seed, 6]), size, 1.0).astype(dtype)
        sample = np.asarray(drawn + (3 * np.arange(size[1])).astype(dtype), float)
        audit = audit_noise_sample(sample, distribution=distribution, scale=1.0, seed=seed)
        found.append((audit.verdict == "violated", audit.p_values["tails"] <= audit.level))
    return np.sum(found, axis=0).tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("distribution", "repeats", "most", "by_tails"),
    [("gaussian", 20, 5, 20), *(pytest.param(law, 2_000, 131, 36, marks=pytest.mark.experiment)
                                for law in ("gaussian", "laplace"))],
)  # fmt: skip
def test_false_alarms_of_noise_on_vectors(dtype, distribution, repeats, most, by_tails):
    """Null: sound noise; 20 repeats at level 5 % fail above 5 (probability 0.03 %).

    Of 2,000 more than 131 do, and more than 36 by the tails alone, with probability 0.1 %.
    """
    alarms, tails = vector_alarms(dtype, distribution, range(repeats), (60 if repeats == 20 else 100, 20))
    assert alarms <= most and tails <= by_tails


RNG = np.random.default_rng(8)
HONEST = RNG.standard_normal((1500, 3))
REUSED = np.repeat(HONEST[::2], 2, axis=0)
FAULTS = {
    "half the scale": (0.5 * HONEST, "scale"),
    "a tenth more": (1.1 * HONEST, "scale"),
    "laplace of the same variance": (RNG.laplace(size=HONEST.shape) / np.sqrt(2), "shape"),
    "one draw for all coordinates": (HONEST[:, :1] + 1e-6 * HONEST, "dependence"),
    "each draw used in two calls": (REUSED, "repeats"),
    "reused with a sign": (REUSED * np.where(np.arange(1500) % 2, -1, 1)[:, None], "repeats"),
    "each call keeps half of the last": (
        np.sqrt(0.5) * (HONEST[1:] + HONEST[:-1]), "dependence",
    ),
    "rounded to a grid": (np.round(HONEST, 2), "repeats"),
}  # fmt: skip


@pytest.mark.parametrize("fault", first(4, FAULTS))
@pytest.mark.parametrize("centred", [True, False])
def test_faults_are_caught_by_the_right_test(fault, centred):
    sample, test = FAULTS[fault]
    found = audit_noise_sample(sample, scale=1.0, centred=centred)
    assert found.verdict == "violated"
    assert found.p_values[test] <= found.level


@pytest.mark.parametrize("centred", [True, False])
def test_the_noise_without_fault_is_consistent(centred):
    """What the faults are made from; level 5 %, fixed seed."""
    assert audit_noise_sample(HONEST, scale=1.0, centred=centred).verdict == "consistent"


def test_a_mechanism_through_the_public_door():
    data = np.array([0.2, 0.9, 0.4])
    found = audit_noise(lambda x, rng: x.mean() + 1.3 * rng.standard_normal(), data, scale=1.3, trials=800, seed=0)
    assert (found.verdict, found.trials) == ("consistent", 800)
    assert found.scale == pytest.approx(1.3, rel=0.1)
    weak = audit_noise(lambda x, rng: x.mean() + 1.0 * rng.standard_normal(), data, scale=1.3, trials=800, seed=0)
    assert weak.verdict == "violated"
    assert "below the claimed 1.3" in weak.reason


def test_a_high_confidence_still_sees_gross_faults():
    """A p-value by simulation cannot fall below what its samples allow: there must be enough of them for the level."""
    tenth = audit_noise(lambda data, rng: rng.normal(scale=0.1), None, scale=1.0, trials=60, confidence=0.999)
    assert tenth.verdict == "violated"
    assert min(tenth.p_values.values()) <= tenth.level == pytest.approx(0.001 / 5)
    with pytest.raises(InputError, match=r"confidence must be at most 0\.99995"):
        audit_noise(lambda data, rng: rng.normal(), None, scale=1.0, trials=60, confidence=1 - 1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("centre", [1e6, 3e6])
def test_float32_noise_on_a_large_number_is_no_fault(centre):
    """Its steps, 1/16 and 1/4 of the scale, show in the shape of many draws."""
    sample = (centre + np.random.default_rng(0).normal(size=(10_000, 1))).astype(np.float32)
    assert audit_noise_sample(sample, scale=1.0).verdict == "consistent"
    assert audit_noise_sample(sample, scale=1.5).verdict == "violated"


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1.0, 1.2, 1.5])
def test_simulations_that_end_early_change_no_verdict(scale, monkeypatch):
    """Once more simulations lie beyond what was observed than a rejection allows, the rest cannot matter."""
    drawn, statistics = [], noise_laws.statistics
    samples = [np.random.default_rng(seed).normal(scale=scale, size=(60, 5)) for seed in range(4)]
    monkeypatch.setattr(noise_laws, "_NUMBERS", 0)  # one simulation at a time, as of a large sample
    monkeypatch.setattr(noise_laws, "statistics", lambda *asked: drawn.append(0) or statistics(*asked))
    early = [noise.audit_noise_sample(sample, scale=1.0, distribution="gaussian").verdict for sample in samples]
    few = len(drawn)
    monkeypatch.setattr(noise_laws, "_BEYOND_DOUBT", np.inf)
    whole = [noise.audit_noise_sample(sample, scale=1.0, distribution="gaussian").verdict for sample in samples]
    assert early == whole
    assert scale > 1 or few < len(drawn) - few
