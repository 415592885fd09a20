"""A marker and a fixture for privacy tests under pytest; nothing heavy is imported before a test runs.

    @pytest.mark.privacy(trials=20_000, confidence=0.99)
    def test_noisy_sum_is_private(privacy):
        privacy(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.5)

The marker holds arguments of :func:`dpcheck.audit_privacy` for the tests that share them: put it on a
test, a class or a module. What each audit showed is kept as properties of the test in a JUnit file.

No test passes without its audits: one that asks for the fixture or bears the marker itself fails where no audit came to
its end, and so does one in which a verdict was lost, in an ``except``, in a thread or in a forked process.
``privacy(..., expected="violated")`` is for a mechanism that is known to leak.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Generator
from typing import Any

import pytest

_KEPT = ("verdict", "claim", "epsilon_lower", "trials", "seed", "place")


class _Log:
    """The audits of a test in a file, as a forked process shares no memory with the test."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (open until the test is torn down)
        self._seen = 0

    def keep(self, **line: Any) -> None:
        """Append a line; processes that fork share the place at which they write."""
        self._file.write(json.dumps(line).encode() + b"\n")

    def lines(self) -> list[dict[str, Any]]:
        """Return all lines."""
        number = self._file.fileno()
        return [json.loads(line) for line in os.pread(number, os.fstat(number).st_size, 0).splitlines()]

    def fresh(self) -> list[dict[str, Any]]:
        """Return the lines since the last call."""
        lines, seen = self.lines(), self._seen
        self._seen = len(lines)
        return lines[seen:]

    def close(self) -> None:
        """Close the file, which the system then removes."""
        self._file.close()


_LOG = pytest.StashKey[_Log]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "privacy(**arguments): arguments of dpcheck.audit_privacy for the fixture of this name"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker whose arguments have no names: nothing would come of them."""
    for marker in item.iter_markers("privacy"):
        if marker.args:
            shown = ", ".join(map(repr, marker.args))
            pytest.fail(f"the marker takes arguments by name, such as privacy(trials=300), got {shown}", pytrace=False)


@pytest.fixture
def privacy(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Give a test :func:`dpcheck.testing.assert_private` with the marker's arguments, the nearest marker first.

    ``expected`` is the verdict at which the test passes, "consistent" by default.
    """
    from dpcheck.testing import _at_the_test

    shared: dict[str, Any] = {}
    for marker in request.node.iter_markers("privacy"):
        shared = marker.kwargs | shared
    log = request.node.stash[_LOG] = _Log()

    @_at_the_test
    def assert_private(
        mechanism: Callable[..., Any], data: Any, neighbour: Any, *, expected: str = "consistent", **arguments: Any
    ) -> None:
        __tracebackhide__ = True
        from dpcheck.audits.membership import audit_privacy
        from dpcheck.errors import raised
        from dpcheck.source import place_of
        from dpcheck.testing import require_private, told_inside

        log.keep(state="begins")
        try:
            audit = audit_privacy(mechanism, data, neighbour, **(shared | arguments))
        except BaseException as error:
            log.keep(state="raises", error=raised(error))
            raise
        place = place_of(mechanism)
        shown = {name: getattr(audit, name) for name in _KEPT if name != "place"} | {"place": place}
        log.keep(state="ends", expected=expected, **shown)
        if expected == "consistent":
            vectorized = (shared | arguments).get("vectorized", False)
            require_private(audit, place, told_inside(audit, mechanism, data, neighbour, vectorized))
        elif audit.verdict != expected:
            raise AssertionError(f"{audit.verdict} where {expected} is expected of {place}: {audit.event}")

    return assert_private


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Keep what the audits of this phase showed, and fail a phase that passes although one of them failed."""
    log = item.stash.get(_LOG, None)
    fresh = log.fresh() if log else []
    audits = [line for line in fresh if line["state"] == "ends"]
    # not by record_property, which warns where the JUnit file is of the usual family
    item.user_properties += [(f"dpcheck.{name}", audit[name]) for audit in audits for name in _KEPT]
    if log and call.when == "teardown":
        log.close()
    report = (yield).get_result()
    if not report.passed:
        return
    lost = [f"{_words(audit)}  {audit['place']}" for audit in audits if audit["verdict"] != audit["expected"]]
    if lost:
        lost = ["the test passed, and an audit in it did not:", *lost]
    elif call.when == "call" and (log or any(marker.name == "privacy" for marker in item.own_markers)):
        lost = _unaudited(log.lines() if log else [])
    if lost:
        report.outcome, report.longrepr = "failed", "\n".join(lost)


def _unaudited(lines: list[dict[str, Any]]) -> list[str]:
    """Say why no audit holds up a test that passed, from all lines so far."""
    states = [line["state"] for line in lines]
    if states.count("begins") > states.count("ends") + states.count("raises"):
        return ["an audit was still running when the test had passed: wait for its thread or process"]
    if "ends" in states:
        return []
    errors = [line["error"] for line in lines if line["state"] == "raises"]
    if errors:
        return [f"the test passed, and no audit in it came to its end: {errors[0]}"]
    return ["no audit was made: call the fixture, privacy(mechanism, data, neighbour, epsilon=...)"]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List all audits of the run: verdict, epsilon, claim, test; those of set-up and tear-down among them."""
    last = dict[str, list[Any]]()  # a test's report of each phase holds the audits of the phases before
    for reports in terminalreporter.stats.values():
        for report in reports:
            kept = [value for name, value in getattr(report, "user_properties", ()) if name.startswith("dpcheck.")]
            if kept and len(kept) >= len(last.get(report.nodeid, ())):
                last[report.nodeid] = kept
    audits = [
        (dict(zip(_KEPT, kept[i : i + len(_KEPT)], strict=True)), test)
        for test, kept in last.items()
        for i in range(0, len(kept), len(_KEPT))
    ]
    if audits:
        terminalreporter.section("privacy audits by dpcheck")
        for audit, test in sorted(audits, key=lambda listed: listed[0]["verdict"] != "violated"):
            terminalreporter.write_line(f"{_words(audit)}  {test}")


def _words(audit: dict[str, Any]) -> str:
    found = f"epsilon >= {audit['epsilon_lower']:.4g}, claimed {audit['claim']}"
    return f"{audit['verdict']:<12}  {found}, {audit['trials']} trials, seed {audit['seed']}"
