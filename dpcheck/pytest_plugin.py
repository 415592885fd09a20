"""A marker and a fixture for privacy tests under pytest; nothing heavy is imported before a test runs.

    @pytest.mark.privacy(trials=20_000, confidence=0.99)
    def test_noisy_sum_is_private(privacy):
        privacy(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.5)

The marker holds arguments of :func:`dpcheck.audit_privacy` for the tests that share them: put it on a
test, a class or a module. What each audit showed is kept as properties of the test in a JUnit file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

_KEPT = ("verdict", "claim", "epsilon_lower", "trials", "seed")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "privacy(**arguments): arguments of dpcheck.audit_privacy for the fixture of this name"
    )


@pytest.fixture
def privacy(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Give a test :func:`dpcheck.testing.assert_private` with the marker's arguments, the nearest marker first."""
    from dpcheck.testing import _at_the_test

    shared: dict[str, Any] = {}
    for marker in request.node.iter_markers("privacy"):
        shared = marker.kwargs | shared

    @_at_the_test
    def assert_private(mechanism: Callable[..., Any], data: Any, neighbour: Any, **arguments: Any) -> None:
        __tracebackhide__ = True
        from dpcheck.audits.membership import audit_privacy
        from dpcheck.testing import require_private

        chosen = shared | arguments
        audit = audit_privacy(mechanism, data, neighbour, **chosen)
        # not by record_property, which warns where the JUnit file is of the usual family
        request.node.user_properties += [(f"dpcheck.{name}", getattr(audit, name)) for name in _KEPT]
        require_private(audit)

    return assert_private


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List all audits of the run: verdict, epsilon, claim, test."""
    lines = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                lines += [f"{words}  {report.nodeid}" for words in _audits(report.user_properties)]
    if lines:
        terminalreporter.section("privacy audits by dpcheck")
        for line in sorted(lines, key=lambda line: not line.startswith("violated")):
            terminalreporter.write_line(line)


def _audits(properties: list[tuple[str, Any]]) -> Iterator[str]:
    """Each audit of a test in words, from the properties that it left."""
    kept = [value for name, value in properties if name.startswith("dpcheck.")]
    for i in range(0, len(kept) - len(_KEPT) + 1, len(_KEPT)):
        verdict, claim, epsilon, trials, seed = kept[i : i + len(_KEPT)]
        yield f"{verdict:<12}  epsilon >= {epsilon:.4g}, claimed {claim}, {trials} trials, seed {seed}"
