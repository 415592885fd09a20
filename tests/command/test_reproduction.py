"""``dpcheck audit --repro``: for each kind of event a script that tells a leak from its twin."""

from __future__ import annotations

import itertools
import math
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from slices import first

from dpcheck.audits.limits import clopper_pearson_lower
from dpcheck.audits.looks import Look
from dpcheck.audits.output_sets import OutputSet
from dpcheck.audits.scores import Coordinate, evaluate
from dpcheck.audits.scores.exact import Extreme, exact, seen, specials
from dpcheck.audits.scores.histograms import Pair, histogram, patterns, product
from dpcheck.audits.scores.learned import fit, trees
from dpcheck.cli import main
from dpcheck.commands.reproduction import Reproduction, condition
from dpcheck.errors import InputError

ONE = Coordinate(0, 1)
# what a mechanism returns of s, the sum of its records; how the score comes from outputs a and b
KINDS = {
    "number": ("3 * s + rng.laplace()", lambda a, b: ONE),
    "number, a dict's place": ("[rng.normal(), 3 * s + rng.laplace()]", lambda a, b: Coordinate(1, 2)),
    "extreme": ("rng.normal(size=40) + 8 * s * (np.arange(40) == rng.integers(40))", lambda a, b: Extreme("largest")),
    "nan": ("np.nan if s and rng.random() < .3 else rng.normal()", lambda a, b: next(specials(a, b, [0]))),
    "minus zero": ("-0.0 if s and rng.random() < .3 else 0.0", lambda a, b: next(specials(a, b, [0]))),
    "repeats": ("[.25, .5, 2.][rng.integers(3)] if s and rng.random() < .09 else rng.normal()",
                lambda a, b: exact(a, b)[0]),
    "few values": ("s / 2**11 + rng.integers(32768)**1.5", lambda a, b: seen(a, b)),
    "lattice": ("np.round(rng.normal() * 8) / 10 + .03 if s else rng.normal()", lambda a, b: exact(a, b)[0]),
    "short": ("float(np.float32(rng.normal())) if s else rng.normal()", lambda a, b: exact(a, b)[-1]),
    "intervals": ("rng.normal() + s * rng.choice([-4, 4])", lambda a, b: histogram(ONE, a, b)),
    "many intervals": ("2 * rng.integers(60) + (rng.random() < .05) + s * (rng.random() < .5)",
                       lambda a, b: histogram(ONE, a, b)),
    "intervals and nan": ("np.nan if s and rng.random() < .3 else rng.normal()", lambda a, b: histogram(ONE, a, b)),
    "pair that cancels": ("(n := rng.normal(), n + .1 + .2 - .3 if s else rng.normal())",
                          lambda a, b: histogram(Pair(0, 1, -1, 2.0**-38), a, b)),
    "product and nan": ("np.where(rng.random(6) < .1 + .4 * s, np.nan, rng.normal(size=6))",
                        lambda a, b: product(a, b)),
    "pair": ("(n := rng.normal(), n + 2 * s + .01 * rng.normal())",
             lambda a, b: histogram(Pair(0, 1, -1, 2.0**-38), a, b)),
    "patterns": ("(n := rng.integers(3), n if s else (n + 1) % 3)", lambda a, b: patterns(a, b)[0]),
    "many patterns": ("(n := rng.integers(9), n + rng.integers(4) + 4 * s, np.nan)", lambda a, b: patterns(a, b)[0]),
    "distance": ("rng.normal(size=3) * (1 + 9 * s)", lambda a, b: fit(a, b)[0]),
    "linear": ("rng.normal(size=3) + 3 * s", lambda a, b: fit(a, b)[1]),
    "quadratic": ("rng.normal(size=3) * (1 + 9 * s)", lambda a, b: fit(a, b)[2]),
    "quadratic, of one number": ("rng.normal() * (1 + 9 * s)", lambda a, b: fit(a, b)[1]),
    "product": ("rng.normal(size=6) + 2 * s", lambda a, b: product(a, b)),
    "trees": ("rng.normal(size=6) + 2 * s",
              lambda a, b: trees([*(Coordinate(i, 6) for i in range(6)), Pair(0, 1, 1, 2.0**-36)], a, b)),
}  # fmt: skip
MODULE = """import numpy as np
def law(s, rng): return {}
def leaking(data, rng): return law(sum(data), rng)
def clean(data, rng): return law(1, rng)
"""


def outputs_of(kind, size=2000, seed=5):
    """Outputs (size, k) on both data sets, and the score."""
    law, scored = KINDS[kind]
    names = {"np": np}
    exec(MODULE.format(law), names)
    rng = np.random.default_rng(seed)
    a, b = (np.array([np.ravel(names["law"](s, rng)) for _ in range(size)], float) for s in (1, 0))
    return a, b, scored(a, b)


def best_set(score, a, b):
    """The set of the score that tells most, by its counts."""
    found = []
    for sign, direction in ((1, ">="), (-1, "<=")):
        values = evaluate(score, sign, a), evaluate(score, sign, b)
        finite = np.unique(np.concatenate(values))
        finite = finite[np.isfinite(finite)]
        for threshold in finite[:: max(1, finite.size // 200)]:
            p, q = ((v >= threshold).mean() for v in values)
            for one, other, side in ((p, q, "data"), (q, p, "neighbour")):
                gap = (one - other) / math.sqrt(one + other + 1e-3)
                found.append((gap, OutputSet(score, direction, sign * float(threshold), side)))
    return max(found, key=lambda pair: pair[0])[1]


def audit_of(event, a, b, claimed):
    from dataclasses import replace

    hits = {"data": int(event.contains(a).sum()), "neighbour": int(event.contains(b).sum())}
    event = replace(event, hits=hits.pop(event.favours), other_hits=next(iter(hits.values())), trials=len(a))
    look = Look(1, "steady", event, 0, 0.05, claimed, 0.0, (np.zeros(1),) * 3)
    return SimpleNamespace(verdict="violated", looks=(look,), trials=len(a), seed=0)


def run(script):
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, cwd="/")
    return done.returncode, done.stdout, done.stderr


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", first(6, KINDS))
def test_a_script_of_each_kind_of_event_tells_a_leak_from_its_twin(kind, tmp_path, capsys, monkeypatch):
    a, b, score = outputs_of(kind)
    audit = audit_of(best_set(score, a, b), *outputs_of(kind, seed=6)[:2], 0.1)
    (tmp_path / "code").mkdir()
    module, script = tmp_path / "code" / "mine.py", tmp_path / "leak.py"
    module.write_text(MODULE.format(KINDS[kind][0]))
    pair = np.array([0, 1]), [0, 0]
    assert str(script) in Reproduction(str(script)).write(audit, pair, f"{module}:leaking", vectorized=False)
    assert len(script.read_text().splitlines()) <= 40
    assert "import dpcheck" not in script.read_text()
    code, out, err = run(script)
    assert (code, out.splitlines()[-1], err) == (1, "violated", "")
    replaced = script.read_text().replace("from mine import leaking", "from mine import clean")
    script.write_text(replaced)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(script))
    sys.modules.pop("mine")
    assert (int(stop.value.code), capsys.readouterr().out.splitlines()[-1]) == (0, "not reproduced")


def strange(a, b, rng):
    """Outputs with every value that is no ordinary number, and those of the two data sets."""
    rows = np.concatenate([a[:400], b[:400]])
    odd = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, 0.25, 1e300], size=rows.shape)
    return np.concatenate([rows, np.where(rng.random(rows.shape) < 0.4, odd, rows), odd])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", first(6, KINDS))
def test_a_condition_holds_where_the_set_does(kind):
    a, b, score = outputs_of(kind, 1200)
    rows = strange(a, b, np.random.default_rng(2))
    values = evaluate(score, 1, np.concatenate([a, b]))
    for direction, share in itertools.product((">=", "<="), (0.02, 0.5, 0.98)):
        threshold = float(np.nan_to_num(np.quantile(values[np.isfinite(values)], share, method="nearest")))
        said = condition(OutputSet(score, direction, threshold, "data"))
        names = {"np": np, "inf": math.inf, "nan": math.nan, **said.tables}
        exec("def event(output):\n    " + "\n    ".join(said.lines), names)
        held = np.array([bool(names["event"](row)) for row in rows])
        wanted = OutputSet(score, direction, threshold, "data").contains(rows)
        assert np.array_equal(held, wanted), (said.lines, rows[held != wanted][:3])


class Words:
    words = "whether the output is B"
    condition = staticmethod(lambda direction, threshold: "output['mode'] == 'B'")


def naming(text):
    """The names of columns: a number, and then codes."""
    return text.replace("output[0]", "output['age']")


naming.layout = SimpleNamespace(numbers=1)


class Named(SimpleNamespace):
    """A set of outputs that are no arrays."""

    naming = staticmethod(naming)


def test_outputs_of_other_kinds_are_named_as_the_user_would():
    for words, score, line in (
        ("output['mode'] == 'B'", Coordinate(1, 2), "try: return output['mode'] == 'B'"),
        ("raises ValueError", Coordinate(1, 2), "try: return type(output).__name__ == 'ValueError'"),
        ("str(error) == 'no'", Coordinate(1, 2), "try: return str(output) == 'no'"),
        ("output['age'] in [1, 2) or [3, 4)", Coordinate(0, 2), "try: return (output['age']) >= 0.5"),
        ("the rest of output", Coordinate(1, 2), None), ("secret == 1", Extreme("largest"), None),
    ):  # fmt: skip
        said = condition(Named(words=words, score=score, direction=">=", threshold=0.5))
        assert (said and said.lines[0]) == line
    assert condition(OutputSet(Words(), ">=", 1.0, "data")).lines == ("return output['mode'] == 'B'",)


def test_a_set_that_nobody_can_write_is_refused(tmp_path):
    silent = SimpleNamespace(words="a secret", __call__=None)
    look = Look(1, "steady", OutputSet(silent, ">=", 1.0, "data", 9, 0, 9), 0, 0.05, 1.0, 0.0, (np.zeros(1),) * 3)
    look.__dict__["breaks"] = True
    audit = SimpleNamespace(verdict="violated", looks=(look,), trials=900, seed=0)
    with pytest.raises(InputError, match=r"cannot be written as a short condition.*a secret"):
        Reproduction(str(tmp_path / "r.py")).write(audit, ([1], [0]), "m:f", vectorized=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rows", [3, 300])
def test_outputs_and_data_sets_of_other_kinds(tmp_path, rows):
    """A table as data, a dictionary as output, and runs that raise."""
    (tmp_path / "mine.py").write_text(
        "def f(data, rng):\n    if rng.random() < .2: raise ValueError\n"
        "    return {'mode': 'B'} if data['a'][0] == 'x' and rng.random() < .5 else {}\n"
    )
    data = pd.DataFrame({"a": ["x"] * rows, "b": [0.5] * rows})
    event = Named(words="output['mode'] == 'B'", score=Coordinate(1, 2), direction=">=", threshold=0.5,
                  favours="data", counts=(400, 0, 1000))  # fmt: skip
    look = SimpleNamespace(event=event, breaks=True, epsilon_lower=3.0, claimed=1.0, delta=0.0)
    audit = SimpleNamespace(verdict="violated", looks=(look,), trials=1000, seed=None)
    Reproduction(str(tmp_path / "r.py")).write(
        audit, (data, data.replace("x", "y")), f"{tmp_path}/mine.py:f", vectorized=False
    )
    assert len((tmp_path / "r.py").read_text().splitlines()) <= 40
    assert (tmp_path / "r.data.csv").exists() == (rows > 20)
    assert "that needs NumPy and pandas alone" in (tmp_path / "r.py").read_text()
    assert run(tmp_path / "r.py")[::2] == (1, "")


def test_the_limits_of_a_script_are_those_of_clopper_and_pearson(tmp_path):
    event = OutputSet(ONE, ">=", 0.5, "data")
    audit = audit_of(event, np.ones((500, 1)), np.zeros((500, 1)), 1.0)
    Reproduction(str(tmp_path / "r.py")).write(audit, ([0], [1]), "m:f", vectorized=False)
    text, names = (tmp_path / "r.py").read_text(), {"np": np, "RUNS": 200}
    exec(re.search(r"(LEVEL) = .*, (\S+)$", text, re.M).expand(r"\1 = \2"), names)
    exec(text[text.index("def lower") : text.index("hits, others")], names)
    for hits in (0, 1, 57, 199, 200):
        assert names["lower"](hits) == pytest.approx(clopper_pearson_lower(hits, 200, 0.05 / 2), abs=1e-9)


def test_the_set_that_is_shortest_to_write_is_taken(tmp_path):
    a, b, score = outputs_of("trees", 1200)
    looks = [audit_of(best_set(each, a, b), a, b, 0.1).looks[0] for each in (score, Coordinate(2, 6), score)]
    audit = SimpleNamespace(verdict="violated", looks=looks, trials=len(a), seed=0)
    Reproduction(str(tmp_path / "r.py")).write(audit, ([1], [0]), "m:f", vectorized=False)
    assert "return x[2]" in (tmp_path / "r.py").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["r.py"]


# The command


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef leaking(data, rng): return np.sum(data) + rng.laplace(scale=.2)\n"
        "def fine(data, rng): return np.sum(data) + rng.laplace()\n"
        "def many(data, rng, size): return np.sum(data) + rng.laplace(scale=.2, size=(size, 1))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    yield tmp_path
    sys.modules.pop("mine", None)


def audited(name, *more, data="[0, 1]", neighbour="[0, 0]"):
    return main(["audit", f"mine:{name}", "--data", data, "--neighbour", neighbour, "--epsilon", "1",
                 "--trials", "2000", *more])  # fmt: skip


@pytest.mark.parametrize("mechanism", ["leaking", "many"])
def test_the_command_writes_a_script_that_runs(folder, capsys, mechanism):
    (folder / "out").mkdir()
    more = ["--vectorized"] * (mechanism == "many")
    for _ in range(2):  # a script that it wrote is written again
        assert audited(mechanism, "--repro", "out/leak.py", *more) == 1
        out, err = capsys.readouterr()
        assert out.startswith("violated") and "out/leak.py reproduces it" in err
    assert run(folder / "out" / "leak.py")[0] == 1
    module = folder / "mine.py"
    module.write_text(module.read_text().replace("scale=.2", "scale=2.00"))
    code, out, _ = run(folder / "out" / "leak.py")
    assert (code, out.splitlines()[-1]) == (0, "not reproduced")
    module.write_text("raise SystemError")
    assert run(folder / "out" / "leak.py")[0] == 2


def test_a_consistent_audit_has_nothing_to_reproduce(folder, capsys):
    assert audited("fine", "--repro", "leak.py") == 0
    assert "nothing to reproduce" in capsys.readouterr().err
    assert not Path("leak.py").exists()


@pytest.mark.parametrize("kind", ["npy", "json"])
def test_large_data_sets_lie_beside_the_script(folder, capsys, kind):
    rows = np.arange(60.0)
    if kind == "npy":
        np.save("a.npy", rows), np.save("b.npy", np.append(rows[:-1], 0))
    else:
        Path("a.json").write_text(str([[1], *rows.tolist()]).replace("[1]", "1"))
        Path("b.json").write_text(str(rows.tolist()))
    assert audited("leaking", "--repro", "leak.py", data=f"a.{kind}", neighbour=f"b.{kind}") == 1
    assert Path("leak.data.npy").exists() and run(folder / "leak.py")[0] == 1


def test_nothing_that_is_not_its_own_is_overwritten(folder, capsys):
    before = Path("mine.py").read_text()
    Path("leak.data.json").write_text("[0, 1]")
    for target, data in (("mine.py", "[0, 1]"), ("leak.txt", "[0, 1]"), ("no/leak.py", "[0, 1]"),
                         ("leak.py", "leak.data.json")):  # fmt: skip
        assert audited("leaking", "--repro", target, data=data) == 2
        assert "--repro must" in capsys.readouterr().err
    assert audited("leaking", "--repro", "leak.py") == 2  # of which leak.data.json is not
    assert audited("leaking", "--repro", "new.py", "--output", "new.py") == 2
    assert Path("mine.py").read_text() == before and not Path("new.py").exists()
    assert Path("leak.data.json").read_text() == "[0, 1]"


@pytest.mark.thorough
def test_a_mechanism_that_keeps_its_claim_is_seldom_called_violated(tmp_path):
    """At most LEVEL, with room for 400 tests: P(event) = e Q(event) exactly, which is the hardest case."""
    a, b = np.full((500, 1), 1.0), np.zeros((500, 1))
    script = tmp_path / "twin.py"
    (tmp_path / "twin_of.py").write_text(
        "def law(data, rng): return float(rng.random() < [.3, .3 * np.e**-1][data[0]])"
    )
    event = OutputSet(ONE, ">=", 0.5, "data")
    Reproduction(str(script)).write(audit_of(event, a, b, 1.0), ([0], [1]), "twin:law",
                                        vectorized=False)  # fmt: skip
    text = script.read_text().replace("RUNS, LEVEL = 1.0, 0.0, 100", "RUNS, LEVEL = 1.0, 0.0, 400")
    assert "0.0, 400" in text
    body = text[text.index("DATA =") : text.index("print(")]
    body = body.replace("sum(bool(event(output)) for output in (mechanism(dataset, RNG) for _ in range(RUNS)))",
                        "RNG.binomial(RUNS, [.3, .3 / np.e][dataset[0]])")  # fmt: skip
    assert "binomial" in body
    wrong = 0
    for seed in range(2000):
        names = {"np": np, "log": math.log, "inf": math.inf, "nan": math.nan}
        exec(body.replace("default_rng(1)", f"default_rng({seed})"), names)
        wrong += names["epsilon"] > 1
    assert wrong <= 2000 * 0.05
