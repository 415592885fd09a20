"""Inequalities that are typed, from the command line or a file to the verdict, within their time."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from slices import first
from sympy import Eq, Integer, Lt, Rational, Symbol, erf, exp, log, oo, sqrt, symbols

import dpcheck
from dpcheck import cli
from dpcheck.bounds import crossing, judge, lines, workers
from dpcheck.bounds.ledger import ClaimResult
from dpcheck.bounds.prover import Domain, Inequality, limit, over, strict
from dpcheck.bounds.prover.certificate import Certificate, Rule
from dpcheck.errors import InputError

n = symbols("n", integer=True, positive=True)
x = Symbol("x", real=True)


@pytest.fixture(autouse=True)
def _nothing_besides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search for no room in constants: an alarm that ends it would leave a solver to pytest, which minds."""
    monkeypatch.setattr(Inequality, "room", lambda step: None)
    monkeypatch.setattr(judge, "_rescue", lambda step: "")


def judged(line: str, **more: Any) -> ClaimResult:
    """Return the result of a line, judged in this process from the tree that crosses."""
    (tree,) = lines.claims(line) or []
    stated, relations = crossing.claim(json.loads(json.dumps(tree)))
    return crossing.result(stated, relations, **more)


@pytest.mark.parametrize(
    ("line", "verdict", "statement"),
    [("log(n) <= sqrt(n) for integer n >= 1", "proved", "log(n) <= sqrt(n) for n >= 1, n integer"),
     ("x/2 + x/2 <= x", "proved", "x/2 + x/2 <= x for any real x"),
     ("sum(t, t = 1..n) <= n^2/2 for integer n >= 1", "refuted", "sum(t, t = 1..n) <= n^2/2 for n >= 1, n integer"),
     ("binomial(n, 2) <= n^2/2 for even n", "refuted", "n (n - 1)/2 <= n^2/2 for any n, n even"),
     ("x <= 2 for real x < 1", "proved", "x <= 2 for x < 1"),
     ("x < 1 for 0 <= x < 1", "proved", "x < 1 for 0 <= x < 1"),
     ("x < 1 for 0 <= x <= 1", "refuted", "x < 1 for 0 <= x <= 1"),
     ("x <= 0.999 for 0 <= x < 1", "refuted", "x <= 999/1000 for 0 <= x < 1"),
     ("|x - 1| = 1 - x for x < 1", "proved", "abs(x - 1) = 1 - x for x < 1"),
     ("|x - 1| = 1 - x for x < 2", "refuted", "abs(x - 1) = 1 - x for x < 2"),
     ("n <= 4 for integer 3 < n < 5", "proved", "n <= 4 for 4 <= n <= 4, n integer"),
     ("a <= b <= c for a <= b, b <= c", "proved", ""),
     ("x >= 1 for x >= 2, x >= 1", "proved", "1 <= x for x >= 2"),
     ("x <= 3 for x <= 3, x <= 9", "proved", "x <= 3 for x <= 3")],
)  # fmt: skip
def test_a_line_gets_a_verdict_and_is_printed_as_it_was_judged(line: str, verdict: str, statement: str) -> None:
    result = judged(line)
    assert result.verdict == verdict
    assert statement in ("", result.statement)
    if statement:
        again = judged(statement)
        assert (again.verdict, again.statement) == (verdict, statement)


def test_the_process_that_judges_starts_before_anything_is_loaded_for_it() -> None:
    """Until a line has been read, a first call has loaded neither sympy nor NumPy, which take a second."""
    code = (
        "import sys, dpcheck.cli, dpcheck.report.claims, dpcheck.bounds.registry, dpcheck.bounds.workers;"
        "from dpcheck.bounds import lines; lines.claims('x <= 1');"
        "sys.exit(bool({'sympy', 'numpy'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize("line", ["x1 <= x_1", "A <= Α", "х <= 1", "x <= 1 for x > 0, x < 0", "x <= 1 for even odd x"])
def test_a_line_without_a_meaning_is_refused(line: str) -> None:
    """Letters that look alike, in another alphabet, or with no value."""
    with pytest.raises(InputError):
        judged(line)


def test_a_relation_of_sympy_is_judged_where_it_is_claimed() -> None:
    for relation, conditions, statement in (
        (log(n) <= sqrt(n), (n >= 1,), "log(n) <= sqrt(n) for n >= 1, n integer"),
        (log(n) <= sqrt(n), (n >= 2,), "log(n) <= sqrt(n) for n >= 2, n integer"),
        (1 + x <= exp(x), (x < 1,), "1 + x <= exp(x) for x < 1"),
        (Eq(x + x, 2 * x, evaluate=False), (), "2 x = 2 x for any real x"),
    ):
        (tree,) = lines.claims(relation, conditions) or []
        assert crossing.result(*crossing.claim(tree)).statement == statement


@pytest.mark.parametrize("folded", [True, False, n > 0, Integer(1) <= 2, x**2 < 0])
def test_what_sympy_settled_is_answered_with_that_and_with_the_form_to_use(folded: Any) -> None:
    with pytest.raises(InputError, match=rf"made it {bool(folded)} .* write it as text, such as dpcheck.prove"):
        dpcheck.prove(folded)


@pytest.mark.parametrize(
    ("target", "conditions"),
    [("x <= 1", (x < 1,)), ("Y17", (x < 1,)), (3, ()), (lambda: 1, ()), (x <= 1, ("x < 1",)), (x <= 1, (x < 1, False)),
     ("log(n <= 1", ()), ("x <= y for integr x", ())],
)  # fmt: skip
def test_what_is_no_inequality_is_refused_before_anything_starts(target: Any, conditions: Any) -> None:
    with pytest.raises(InputError):
        dpcheck.prove(target, *conditions)


def test_files_of_lines_are_checked_where_they_are_marked(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "a.txt").write_text("# none\n\nx^2 >= 2 x - 1  # a square\n\\frac{1}{2} \\le 1\n", "utf-8")
    (tmp_path / "a.md").write_text("x <= what\n```dpcheck\nx <= x + 1\n```\n```python\nx <= 1\n```\n", "utf-8")
    (tmp_path / "a.tex").write_text(
        "$a \\le b$ % not this\n$x \\le 1$ % dpcheck: x \\le 2 \\text{ for } x \\le 1\n", "utf-8"
    )
    found = {name: lines.claims(str(tmp_path / name)) or [] for name in ("a.txt", "a.md", "a.tex")}
    assert [claim["id"] for claims in found.values() for claim in claims] == ["a.txt:3", "a.txt:4", "a.md:3", "a.tex:2"]
    (tmp_path / "b.txt").write_text("x <= x\nx <= (1\n", "utf-8")
    assert cli.main(["prove", str(tmp_path / "b.txt")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("  x <= (1\n         ^\ndpcheck: error: b.txt:2: expected ')' to close a bracket")
    for name, text in (("c.md", "x <= 1"), ("c.txt", "#"), ("c.tex", "x"), ("none.txt", None)):
        if text is not None:
            (tmp_path / name).write_text(text, "utf-8")
        with pytest.raises(InputError, match="file of lines"):
            lines.claims(str(tmp_path / name))
    (tmp_path / "marked.txt").write_text("x <= x + 1", "utf-8-sig")  # by the one reader, which waits for no pipe
    assert lines.claims(str(tmp_path / "marked.txt"))


def test_the_command_decides_a_file_and_exits_by_the_worst_verdict(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "a.txt").write_text("x^2 >= 2 x - 1\nx <= x + 1\n", "utf-8")
    assert cli.main(["prove", str(tmp_path / "a.txt"), "--format", "json", "--jobs", "1"]) == 0
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert [(claim["id"], claim["verdict"], claim["words"]) for claim in claims] == [
        ("a.txt:1", "proved", ""), ("a.txt:2", "proved", ""),
    ]  # fmt: skip
    assert cli.main(["prove", "x <= 1 for 0 <= x <= 2"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("✗ refuted  x <= 1 for 0 <= x <= 2\n    x <= 1 fails at x = 2;")


def test_an_open_line_says_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "deadline", time.monotonic() + 60)
    told: list[ClaimResult] = []
    open_one = Inequality("as typed", sqrt(x), x, over(x >= 1), sign="<=")
    monkeypatch.setattr(Inequality, "holds", _only(open_one))
    assert judged("sqrt(x) <= x + 0 for x >= 1", answered=told.append).verdict == "unresolved"
    note = judged("sqrt(x) <= x + 0 for x >= 1").note
    assert "Neither proved nor refuted" in note and "The sides are closest near x = 1.00000: " in note
    assert "With 2 times the larger side it is proved." in note
    assert "Neither proved" in told[0].note and "closest" not in told[0].note


def _only(open_one: Inequality) -> Any:
    return lambda step: step.larger != open_one.larger and "2*" in str(step.larger)


def test_the_verdict_comes_before_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that never ends leaves the verdict as it is."""
    monkeypatch.setattr(limit, "deadline", time.monotonic() + 3)
    monkeypatch.setattr(Inequality, "room", lambda step: time.sleep(60))
    told: list[ClaimResult] = []
    started = time.monotonic()
    result = judged("x <= x + 1", answered=told.append)
    assert result.verdict == told[0].verdict == "proved" and result.rooms == ()
    assert time.monotonic() - started < 3


def test_a_proof_that_never_ends_leaves_time_to_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    started = time.monotonic()
    monkeypatch.setattr(limit, "deadline", started + 2)
    monkeypatch.setattr(Inequality, "holds", lambda step: time.sleep(60))
    told: list[float] = []
    result = judged("x <= x + 1", answered=lambda known: told.append(time.monotonic() - started))
    assert result.verdict == "unresolved" and "(time ran out)" in result.note
    assert told[0] < 1.9 and time.monotonic() - started < 2.5


def test_a_worker_that_is_killed_leaves_what_it_has_told(monkeypatch: pytest.MonkeyPatch) -> None:
    known = judged("x <= x + 1")
    (tree,) = lines.claims("x <= x + 1") or []
    decider = workers._Decider(None, True, [tree], None)

    class Slow:
        known: Any = None

        def start(self, *_: Any) -> None: ...

        def ask(self, *_: Any) -> Any:
            self.known = json.loads(json.dumps((None, known.fields())))
            raise TimeoutError

        def kill(self) -> None: ...

    decider._workers = [Slow()]  # type: ignore[list-item]
    (claim,) = decider.claims(1.0)
    result = decider.decide(claim, 1.0, threading.Event())
    assert result.verdict == "proved" and "did not end within 1 s" in result.note


def _ends(seconds: float, work: Any) -> bool:
    """Say whether the work is ended by a limit of its own."""
    try:
        with limit.limit(seconds):
            work()
    except limit.OutOfTime:
        return True
    return False


def test_a_limit_ends_what_never_ends_and_leaves_an_outer_one() -> None:
    def spins() -> None:
        while True:
            pass

    started = time.monotonic()
    inner: list[bool] = []

    def outer() -> None:
        inner.append(_ends(0.05, spins) and time.monotonic() - started < 0.5)
        inner.append(_ends(60.0, spins))
        time.sleep(10)

    assert _ends(0.6, outer) and inner == [True, True]
    assert time.monotonic() - started < 2
    assert not _ends(0.05, lambda: None) and not _ends(float("inf"), lambda: None)


def test_an_end_that_is_left_out_is_part_of_a_domain() -> None:
    left_out = over(x > 1, x <= 2)
    assert left_out == Domain({x: (1, 2)}, (x > 1,)) and str(left_out) == "1 < x <= 2"
    assert not left_out.contains({x: Integer(1)}) and left_out.contains({x: Integer(2)})
    m = Symbol("m", integer=True)
    assert over(m > 1, m < 5).limits == {m: (2, 4)}
    assert over(Lt(x, oo, evaluate=False)).intervals == over(x).intervals
    # what fails on the closed interval near its end, fails on the open one
    for largest, near in ((over(x > 1, x < 2), 2), (over(x > 1, x <= 3), 1)):
        short = near * erf(near) + Rational(1, 10**8) * (-1 if near == 2 else 1)
        sides = (x * erf(x), short) if near == 2 else (short, x * erf(x))
        assert Inequality("", *sides, largest).outcome().methods == ("search",)
    assert Inequality("", x, Integer(2), over(x < 2), sign="<").holds()
    assert Inequality("", x, Integer(2), over(x <= 2), sign="<").outcome().point == {x: 2}
    assert Inequality("", x, Integer(2), over(x <= 2), sign="=").outcome().verdict == "refuted"


def test_a_certificate_shows_a_strict_sign_where_no_parameter_of_a_term_can_vanish() -> None:
    y, z = Symbol("y", real=True), Symbol("z", real=True)
    third = Rational(1, 3)
    for smaller, larger, domain, positive in (
        (third, x, over(x >= third), False),
        (third, x, over(x > third), True),
        (third, 1 + x, over(x >= third), True),
        (x * y, 2 * x * y, over(x > 0, y >= 0), False),
        (x * y, 2 * x * y, over(x > 0, y > 0), True),
        (x, third, over(x <= third), False),
        (x, third, over(x < third), True),
        ((x - z) ** 2, Integer(1), over(x >= 0, x <= 1, z >= 0, z <= 1), False),
        ((x - z) ** 2, Integer(2), over(x >= 0, x <= 1, z >= 0, z <= 1), True),
        ((x - z) ** 2, Integer(1), over(x > 0, x <= 1, z > 0, z <= 1), True),
        (x * z, Integer(1), over(x >= 0, x <= 1, z >= 0, z <= 1), False),
        (x, Integer(1), over(x >= 0, x < 1), True),
        (x * z, Integer(1), over(x >= 0, x <= 1, z >= 0, z < 1), True),
    ):
        (certificate,) = Inequality("", smaller, larger, domain).outcome().certificates
        assert strict.positive(certificate) is positive, (smaller, larger, str(domain))


@pytest.mark.parametrize(
    "line",
    first(1, [
        "x^2 + y^2 < 2*x*y + 1 for 0 <= x <= 1, 0 <= y <= 1",
        "sum(t, t = 1..T) < T*(T + 1)/2 for integer T >= 1",
        "sum(1/t, t = 1..3) < 11/6",
        "sum(1/t, t = 1..T) < 1 + log(T) for integer T >= 1",
        "norm(x + y)^2 < 2*norm(x)^2 + 2*norm(y)^2 for vectors x, y",
    ]),
)  # fmt: skip
def test_a_strict_sign_between_sides_that_meet_is_not_proved(line: str) -> None:
    (result,) = dpcheck.prove(line, seconds=10)
    assert result.verdict != "proved"


def test_an_end_that_is_reached_below_a_bound_counts_for_a_strict_sign() -> None:
    """With x = t and z = x/(1 + u) the term t is positive, and z is 0 at infinite u."""
    x, z = Symbol("x", positive=True), Symbol("z", nonnegative=True)
    t, u = symbols("t u", nonnegative=True)
    difference = z * (1 + x - z)
    proof = Certificate(
        difference, ((x, t), (z, t / (1 + u))), t + t * u + t**2 * u, (1 + u) ** 2, Integer(1), difference,
        Domain({x: (0, oo), z: (0, oo)}, (z <= x,)), ((x, x), (z, z)), ((x, (Integer(0), oo)), (z, (Integer(0), oo))),
        (x - z,), (Rule(x, "low", t), Rule(z, "below", u, 0)),
    )  # fmt: skip
    assert proof.holds()
    assert not strict.positive(proof)
