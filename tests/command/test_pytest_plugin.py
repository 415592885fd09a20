"""The marker and the fixture, in a test run of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

TESTS = """
import pytest

def noisy_sum(data, rng, size):
    return sum(data) + rng.laplace(scale=2.0, size=size)

pytestmark = pytest.mark.privacy(trials=5000, vectorized=True)

def test_private(privacy):
    privacy(noisy_sum, [0, 1], [0, 0], epsilon=0.5)

@pytest.mark.privacy(trials=4000)
def test_not_private(privacy):
    privacy(noisy_sum, [0, 9], [0, 0], epsilon=0.5)

def test_without():
    pass
"""


@pytest.fixture
def outcome(tmp_path):
    (tmp_path / "test_sums.py").write_text(textwrap.dedent(TESTS))
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--strict-markers",
         "--junitxml=junit.xml", "test_sums.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.stdout + run.stderr, (tmp_path / "junit.xml").read_text()


def test_marker_and_fixture(outcome):
    text, junit = outcome
    assert "1 failed, 2 passed" in text
    assert "not (0.5, 0)-private: epsilon >= " in text
    assert "witness: output" in text
    assert '<property name="dpcheck.verdict" value="consistent" />' in junit
    assert '<property name="dpcheck.verdict" value="violated" />' in junit


def test_the_plugin_loads_nothing_heavy():
    code = "import dpcheck.pytest_plugin, sys; print([m for m in ('numpy', 'numba', 'sympy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
