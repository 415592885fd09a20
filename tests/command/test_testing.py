"""The assertions pass on what is right, and say what is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpcheck.testing import assert_noise, assert_private, assert_rate, assert_sensitivity


def laplace(scale):
    return lambda data, rng, size: sum(data) + rng.laplace(scale=scale, size=size)


def test_private():
    """Level 5 % with a fixed seed; the second mechanism has a quarter of the noise."""
    pair = ([0, 1], [0, 0])
    assert_private(laplace(2.0), *pair, epsilon=0.5, trials=5000, vectorized=True)
    with pytest.raises(
        AssertionError, match=r"epsilon >= .* where 0.5 is claimed.*: not \(0.5, 0\)-private\nwitness: output"
    ):
        assert_private(laplace(0.5), *pair, epsilon=0.5, trials=5000, vectorized=True)
    with pytest.raises(AssertionError, match=r"100 trials cannot show a violation of \(8, 0\)-privacy"):
        assert_private(laplace(0.125), *pair, epsilon=8, trials=100, vectorized=True)


def test_private_with_randomness_of_its_own():
    """Level 5 %; it fails far less often, as the claim is larger than what is kept."""
    own = np.random.default_rng(0)  # goes on from call to call
    assert_private(lambda data, _: sum(data) + own.laplace(), [0, 1], [0, 0], epsilon=2.0, trials=500, seeded=False)


def test_sensitivity():
    assert_sensitivity(np.mean, np.zeros(5), [1.0], claimed=0.2)
    with pytest.raises(AssertionError, match=r"sensitivity 0.2 exceeds the claimed 0.1 in norm 2"):
        assert_sensitivity(np.mean, np.zeros(5), [1.0], claimed=0.1)


def test_noise():
    assert_noise(lambda data, rng: rng.normal(0, 2), None, scale=2, trials=500)
    with pytest.raises(AssertionError, match=r"not gaussian of scale 3: scale .* is below"):
        assert_noise(lambda data, rng: rng.normal(0, 2), None, scale=3, trials=500)


def test_rate():
    frame = pd.DataFrame({"n": [10, 20, 40, 80, 160], "gap": [1.0, 0.5, 0.25, 0.125, 0.0625]})
    fit = {"response": "gap", "factors": ["n"]}
    assert_rate(frame, **fit, claimed={"n": -1})
    with pytest.raises(AssertionError) as failed:
        assert_rate(frame, **fit, claimed={"n": -2})
    first, second = str(failed.value).splitlines()
    assert first == "contradicted: n^-1.00 [-1.00, -1.00] is slower than the claimed n^-2"
    assert second == "  n: measured -1.000 [-1.000, -1.000], claimed -2"
    assert_rate(frame, **fit, claimed={"n": -1.4}, margin=0.5)
    assert_rate(frame, **fit, claimed={"n": -0.5})
    with pytest.raises(AssertionError, match=r"faster than the claimed n\^-0.5, an equality"):
        assert_rate(frame, **fit, claimed={"n": -0.5}, equal=True)
    assert_rate(frame, **fit, claimed={"n": 0}, offset="1/n", equal=True)
    with pytest.raises(AssertionError, match="there are only 2 independent clusters; 3 are needed"):
        assert_rate(frame.assign(half=[0, 0, 0, 1, 1]), **fit, claimed={"n": -1}, cluster="half")
