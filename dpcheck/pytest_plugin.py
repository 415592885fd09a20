"""A marker and a fixture for privacy tests under pytest; nothing heavy is imported before a test runs.

    @pytest.mark.privacy(trials=20_000, confidence=0.99)
    def test_noisy_sum_is_private(privacy):
        privacy(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.5)

The marker holds arguments of :func:`dpcheck.audit_privacy` for the tests that share them: put it on a
test, a class or a module. What each audit showed is kept as properties of the test in a JUnit file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "privacy(**arguments): arguments of dpcheck.audit_privacy for the fixture of this name"
    )


@pytest.fixture
def privacy(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Give a test :func:`dpcheck.testing.assert_private` with the marker's arguments, the nearest marker first."""
    shared: dict[str, Any] = {}
    for marker in request.node.iter_markers("privacy"):
        shared = marker.kwargs | shared

    def assert_private(mechanism: Callable[..., Any], data: Any, neighbour: Any, **arguments: Any) -> None:
        from dpcheck.audits.membership import audit_privacy
        from dpcheck.testing import require_private

        audit = audit_privacy(mechanism, data, neighbour, **{"delta": 0.0} | shared | arguments)
        for name in ("verdict", "claim", "epsilon_lower", "trials"):
            record_property(f"dpcheck.{name}", getattr(audit, name))
        require_private(audit)

    return assert_private
