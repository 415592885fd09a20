"""The command: what it prints, where, and the exit code it ends with."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from pages import Page
from slices import first

import dpcheck
from dpcheck.bounds import ledger, registry
from dpcheck.catalogue.bases import BASES
from dpcheck.cli import COMMANDS, _parse, main
from dpcheck.problems import PROBLEMS
from dpcheck.report.claims import claims_text
from dpcheck.report.findings import Finding, Report
from dpcheck.solvers import ALGORITHMS

OPTIONS = {
    "check": {"--profile", "--seed", "--jobs", "--format", "--output", "--json-output", "--junit-output",
              "--sarif-output", "--html-output", "--github-output", "--fail-on", "--store", "--backend", "--scheduler",
              "--verbose", "--explain"},
    "list": {"--format"},
    "show": {"--latex"},
    "prove": {"--explain", "--jobs", "--seconds", "--format", "--export-coq", "--kernel"},
    "audit": {"--data", "--neighbour", "--neighbours", "--group", "--records",
              "--epsilon", "--claim", "--delta", "--trials", "--confidence", "--seed",
              "--jobs", "--unseeded", "--isolate", "--call-seconds", "--total-seconds", "--megabytes",
              "--vectorized", "--sequential",
              "--earlier", "--plot", "--format", "--fail-on", "--all", "--baseline", "--write-baseline", "--output",
              "--json-output", "--junit-output", "--sarif-output", "--html-output", "--github-output", "--verbose",
              "--explain", "--store", "--backend", "--scheduler", "--repro", "--python"},
    "write": {"--output"},
    "certify": {"--delta", "--multiplier", "--epsilon", "--batch", "--population", "--steps", "--sampling",
                "--neighbours", "--noise", "--encoder", "--participations", "--separation", "--risk", "--plot",
                "--group", "--second-opinion", "--released", "--contraction", "--diameter", "--best-of",
                "--format"},
    "bugs": {"--seed", "--format"},
    "rate": {"--response", "--factors", "--claimed", "--confidence", "--margin", "--equal", "--cluster", "--seed",
             "--offset", "--theorem", "--plan", "--plot", "--format", "--fail-on"},
    "measure": {"--vary", "--seeds", "--problem", "--variant", "--epsilon", "--delta", "--jobs", "--output", "--store",
                "--backend", "--scheduler"},
    "reproduce": {"--only", "--seeds", "--store", "--jobs", "--plot", "--backend", "--scheduler", "--format"},
    "history": {"--format"},
    "compare": {"--format"},
    "solve": {"--problem", "--data", "--like", "--variant", "--epsilon", "--delta", "--radius", "--positive-share",
              "--seed", "--plot", "--format"},
    "report": {"--format", "--output", "--json-output", "--junit-output", "--sarif-output", "--html-output",
               "--github-output", "--fail-on", "--verbose", "--explain"},
}  # fmt: skip


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run the command in this process, from an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setenv("COLUMNS", "160")

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as stop:  # how argparse ends
            code = stop.code
        return code, *capsys.readouterr()

    return run


def parse(text: str):
    """JSON as the standard has it, without NaN and Infinity."""

    def refuse(name: str):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def assert_refused(found: tuple[int, str, str], *words: str) -> None:
    """Exit code 2, nothing on stdout, one line on stderr that says what was wrong."""
    code, out, err = found
    assert (code, out) == (2, ""), found
    assert re.fullmatch(r"dpcheck: error: [^\n]+ must [^\n]+\n", err), err
    for word in words:
        assert word in err, err


# Help and usage


def test_help_lists_every_command(call):
    code, out, err = call("--help")
    assert (code, err) == (0, "")
    assert re.findall(r"^    (\w+)(?: {2,}\w|$)", out, re.M) == list(OPTIONS)
    assert "exit codes: 0 every verdict is the expected one, 1 a guarantee is violated" in out


@pytest.mark.parametrize("name", OPTIONS)
def test_help_of_each_command(call, name):
    code, out, err = call(name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: dpcheck {name} ")
    assert set(re.findall(r"--[a-z][a-z-]*", out.split("exit codes")[0])) - {"--help"} == OPTIONS[name]
    assert "130 interrupted" in out


def test_the_bare_command_shows_help(call):
    assert call() == call("--help")


@pytest.mark.parametrize("name", OPTIONS)
def test_help_has_examples_that_can_be_typed(call, name):
    lines = [shlex.split(line, comments=True) for line in COMMANDS[name].examples]
    assert lines
    out = call(name, "--help")[1]
    for (program, *arguments), line in zip(lines, COMMANDS[name].examples, strict=True):
        assert f"\n  {line}\n" in out
        assert program == "dpcheck"
        assert _parse(arguments[: arguments.index(">")] if ">" in arguments else arguments).command == name


def test_a_shell_completes_names(command, tmp_path):
    """As a shell asks through argcomplete: names of algorithms, papers and claims, and options."""
    pytest.importorskip("argcomplete")
    for line, found, others in (
        ("dpcheck check priv", {"privatediff "}, {"dp_sgda"}), ("dpcheck prove yang", {"yang2022 "}, {"Y17"}),
        ("dpcheck check --verb", {"--verbose "}, {"--seed"}),
    ):  # fmt: skip
        asked = tmp_path / "asked"
        asks = {
            "_ARGCOMPLETE": "1",
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "_ARGCOMPLETE_STDOUT_FILENAME": str(asked),
        }
        code, _, _ = replace(command, environment=command.environment | asks)(folder=tmp_path)
        answers = set(asked.read_text().split("\v"))
        assert code == 0
        assert found <= answers
        assert not others & answers


def test_version(call):
    assert call("--version") == (0, f"dpcheck {dpcheck.__version__}\n", "")


def test_internal_error(call, monkeypatch):
    def fail(options):
        raise RuntimeError("planted")

    monkeypatch.setitem(COMMANDS, "list", replace(COMMANDS["list"], run=fail))
    code, out, err = call("list")
    assert (code, out) == (3, "")
    assert "RuntimeError: planted" in err
    assert err.endswith("internal error, please report it\n")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("show yang2022.theorem_1 n=10 epsilon=3 delta=1e-8 T=100 G_w=1 G_v=2", ("epsilon", "3")),
        ("show bok2024.saddle_step eta=.1 mu=3 L=2", ("mu <= L", "3")),
        ("show yang2022.theorem2a", ("yang2022.theorem_2a",)), ("prove x<=1 --kernel --jobs 0", ("jobs", "0")),
        ("audit nosuch.py:f --data 1 --neighbour 0 --epsilon 1", ("mechanism", "nosuch.py")),
        ("rate nosuch.csv --response gap --factors n", ("nosuch.csv", "readable")), ("solve nosuch", ("algorithm",)),
        ("solve dp_sgda pace=3", ("pace", "steps")), ("solve dp_sgda --epsilon -1", ("epsilon", "-1")),
        ("certify --multiplier -1", ("--multiplier", "-1")), ("report nosuch.json", ("REPORT.json", "nosuch.json")),
        ("measure dp_sgda --vary n=8..4", ("--vary", "n=8..4")), ("reproduce nothing", ("experiment", "xu2026")),
        ("check dp_sgda --output nosuch/report.txt", ("--output", "nosuch/report.txt")),
        ("certify --multiplier 1 --sampling none --batch 3 --steps 9", ("--batch", "3")),
    ],
)  # fmt: skip
def test_an_error_names_what_was_given_and_what_it_belongs_to(call, line, named):
    assert_refused(call(*line.split()), *named)


# list, show, prove


def test_list(call):
    code, out, err = call("list", "--format", "json")
    found = parse(out)
    assert (code, err, found.pop("schema")) == (0, "", "dpcheck.list/1")
    ids = {kind: [entry["id"] for entry in entries] for kind, entries in found.items()}
    assert ids["theorems"] == [each.id for each in registry.theorems()]
    assert ids["algorithms"] == list(ALGORITHMS)
    assert ids["bases"] == list(BASES)
    assert ids["problems"] == list(PROBLEMS)
    assert ids["testers"] == [name for name in dpcheck.__all__ if name.startswith("audit_") or name == "fit_rate"]
    assert ids["datasets"] == list(dpcheck.datasets.names())
    assert all(entry["title"] for entries in found.values() for entry in entries)
    for kind, names in ids.items():
        text = call("list", kind)[1]
        assert re.findall(r"^  (\S+) +\S", text, re.M) == names


def test_list_shows_what_is_asked_for(call):
    code, out, _ = call("list", "theorems", "xu2026")
    assert (code, out.splitlines()[0]) == (0, "theorems:")
    assert re.findall(r"^  (\S+)", out, re.M) == [each.id for each in registry.theorems("xu2026")]
    found = parse(call("list", "AUC", "linear", "--format", "json")[1])
    assert {kind: [entry["id"] for entry in entries] for kind, entries in found.items() if kind != "schema"} == {
        "problems": ["auc"]
    }
    assert_refused(call("list", "theorms"), "be a kind (theorems, formulas,", "got theorms (did you mean theorems?)")
    assert_refused(call("list", "problems", "nosuch"), "got problems nosuch")


def test_prove(call):
    """One claim; a whole paper is decided by ``checked``."""
    code, out, err = call("prove", "Y17", "--format", "json", "--jobs", "2")
    found = parse(out)
    assert (code, err, found["schema"]) == (0, "dpcheck: claims ...\n", "dpcheck.prove/2")
    (claim,) = found["claims"]
    assert (claim["id"], claim["paper"], claim["verdict"]) == ("Y17", "yang2022", "refuted")
    assert claim["kind"]
    assert claim["method"]
    assert claim["seconds"] >= 0


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["yang2022.Y17", "absent minibatch replacement Lemma", "yang2022 absent 6(a)"])
def test_prove_takes_ids_and_words(call, target):
    code, out, _ = call("prove", *target.split(), "--format", "csv")
    found = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [(row["claim"], row["paper"], row["verdict"]) for row in found] == [("Y17", "yang2022", "refuted")]


def test_the_claims_of_a_theorem_are_those_that_carry_its_formulas():
    for theorem in registry.theorems():
        found = registry.find(theorem.id)
        assert found
        assert all(theorem.id in {part.theorem for part in claim.carries} for claim in found)
    assert {claim.paper for claim in registry.find("yang2022 lemma 6")} == {"yang2022"}


@pytest.mark.parametrize("format", ["csv", "markdown", "latex"])
def test_tables_of_what_is_listed(call, format):
    code, out, err = call("list", "--format", format)
    assert (code, err) == (0, "")
    end = {"csv": "algorithms,nseg,", "markdown": "| algorithms | nseg | ", "latex": "algorithms & nseg & "}[format]
    assert [line for line in out.splitlines() if line.startswith(end)]
    escaped = {"latex": r"dp\_sgda"}.get(format, "dp_sgda")
    assert escaped in out


def test_prove_explains(call):
    code, out, _ = call("prove", "Y17", "--explain")
    assert code == 0
    assert out.startswith("Y17  ✗ refuted")
    for part in ("Claim: ", "Verdict: ", "In the kernel: steps only", "Code: ", "Reading: ", "Repaired: ", r"$\neg",
                 "[counterexample, kernel]"):  # fmt: skip
        assert part in out
    assert_refused(call("prove", "nosuch"), "paper, claim, theorem", "nosuch")


def test_prove_counts_what_the_kernel_accepted():
    chosen = [claim.decide() for claim in registry.claims() if claim.id in ("002:Lem5 privacy", "Y47", "Z02")]
    shown = claims_text(chosen, None, 1.0, color=False, width=160)
    assert "In kernel:  all: 1; the inequality, the rest cited: 1; nothing: 1" in shown and "in the kernel" in shown
    unseen = [result for result in chosen if result.claim.id == "Y47"] * 2
    assert "kernel" not in claims_text(unseen, None, 1.0, color=False, width=160)


def test_prove_notices_a_changed_verdict(call, monkeypatch):
    recorded = {**ledger.recorded(), "Y17": {"paper": "yang2022", "verdict": "proved", "method": "none"}}
    monkeypatch.setattr(ledger, "recorded", lambda: recorded)
    code, out, _ = call("prove", "Y17")
    assert code == 1
    assert out.endswith("\nRegression: 1 verdict changed: Y17 (refuted)\n")


OWN = """
from sympy import log, sqrt, symbols, oo
from dpcheck.bounds.claim import Claim
from dpcheck.bounds.judge import judge
from dpcheck.bounds.prover import Domain, Inequality
x = symbols("x", positive=True)
LEMMA = Inequality("a logarithm is below a root", log(x), FACTOR * sqrt(x), Domain({x: (1, oo)}))
CLAIMS = (Claim("lemma 1", "mine", "const", "log x <= FACTOR sqrt x", "Lemma 1", judge(LEMMA)),)
"""


@pytest.mark.parametrize(("factor", "code", "verdict"), first(1, [("1", 0, "proved"), ("0.73", 1, "refuted")]))
def test_prove_a_file_of_one_s_own(call, tmp_path, factor, code, verdict):
    (tmp_path / "own.py").write_text(OWN.replace("FACTOR", factor))
    found, out, _ = call("prove", "own.py")
    assert found == code
    assert verdict in out


AT = ("n=10000", "epsilon=0.5", "delta=1e-8", "T=100", "G_w=1", "G_v=2")


@pytest.mark.parametrize("id", first(1, ["002:K=1", "004:Lem8(r%T!=0)"]))
def test_prove_takes_ids_with_signs(call, id):
    assert call("prove", id)[0] == 0


def test_show_numbers(call):
    code, out, err = call("show", "yang2022.theorem_1", *AT)
    assert (code, err) == (0, "")
    noise = registry.theorem("yang2022.theorem_1").noise(n=10_000, epsilon=0.5, delta=1e-8, T=100, G_w=1, G_v=2)
    for name, value in noise.items():
        assert f"  {name} = {value:g}\n" in out + "\n"
    for heading in ("Assumptions", "Parameters", "Schedule", "Noise"):
        assert f"\n{heading}\n" in out


@pytest.mark.parametrize("id", ["yang2022.theorem_2a", "zhang2022.theorem_4_5"])
def test_show_ends_with_why(call, id):
    """The claims that the theorem's formulas belong to, their verdicts, and the commands that show every step."""
    why = call("show", id)[1].partition("\nWhy (")[2]
    found = re.findall(r"^      dpcheck prove (\S+) --explain$", why, re.M)
    assert found == [claim.id for claim in registry.carrying(id)]
    verdicts = re.findall(r"^  \S (\w+)  ", why, re.M)
    assert verdicts == [ledger.recorded()[claim]["verdict"] for claim in found]


def test_show_latex(call):
    code, out, _ = call("show", "yang2022.theorem_2a", "--latex")
    assert code == 0
    assert all(re.fullmatch(r"\$.+\$", line) for line in out.splitlines())


# audit

MECHANISMS = """
import sys
import numpy as np

assert "bounds" not in sys.modules

def noisy_sum(data, rng):
    return np.sum(data) + rng.laplace(scale=2.0)  # epsilon = 1/2 for records in [0, 1]

def noisy_sums(data, rng, size):
    return np.sum(data) + rng.laplace(scale=2.0, size=size)

def talkative(data, rng):
    print("a word on stdout")
    return noisy_sum(data, rng)

def of_a_list(data, rng):
    return len(data[-1]) + rng.laplace(scale=2.0)

def own_randomness(data, rng):
    return np.random.default_rng().normal()

from dpcheck.events import Laplace
EXACT, LESS = Laplace(2.0), Laplace(40.0)
"""
PAIR = ("--data", "[0, 1, 1]", "--neighbour", "[0, 1, 0]")


@pytest.fixture
def audit(call, tmp_path):
    """Audit a function of a module of the user's, who has a bounds.py and an audits.py as well."""
    (tmp_path / "users_mechanisms.py").write_text(MECHANISMS)
    for name in ("bounds", "audits"):
        (tmp_path / f"{name}.py").write_text("raise ImportError\n")

    def run(function: str, *arguments: str) -> tuple[int, str, str]:
        return call("audit", f"users_mechanisms:{function}", *(PAIR + arguments))

    return run


def test_audit_consistent(audit):
    code, out, err = audit("noisy_sum", "--epsilon", "0.5", "--trials", "5000", "--format", "json")
    found = parse(out)
    assert (code, found["schema"], found["verdict"]) == (0, "dpcheck.audit/1", "consistent")
    assert 0 < found["epsilon_lower"] <= found["epsilon"] == 0.5
    assert (found["trials"], found["delta"], found["confidence"]) == (5000, 0, 0.95)
    assert err == "dpcheck: audit ...\n"


def test_audit_violated(audit):
    code, out, _ = audit("noisy_sum", "--epsilon", "0.2", "--trials", "20000")
    assert code == 1
    first, second, third, *hint = out.splitlines()
    assert re.fullmatch(r"violated: epsilon >= 0\.\d+ at delta 0, claimed 0\.2", first)
    assert re.fullmatch(
        r"hint: .* the noise \(rng\.laplace at \S+:\d+\) is too small by a factor of \S+",
        re.sub(r"\s+", " ", " ".join(hint)),
    )
    assert re.fullmatch(r"with confidence 0\.95 from \d+ runs a dataset", second)
    assert re.fullmatch(r"witness: output (>=|<=) .* of \d+ runs on .*", third)


def test_audit_inconclusive(audit):
    """100 runs cannot show epsilon 10, whatever the mechanism."""
    arguments = ("noisy_sum", "--epsilon", "10", "--trials", "100")
    assert audit(*arguments)[:2] == (0, audit(*arguments)[1])
    assert audit(*arguments)[1].startswith("inconclusive: ")
    assert audit(*arguments, "--fail-on", "inconclusive")[0] == 1


def test_audit_keeps_stdout_for_its_result(audit):
    arguments = ("--epsilon", "0.5", "--trials", "1000", "--format", "json")
    _, out, err = audit("talkative", *arguments)
    assert out == audit("noisy_sum", *arguments)[1]
    assert "a word on stdout" in err


@pytest.mark.parametrize("ending", ["npy", "csv", "json"])
def test_audit_reads_files(audit, tmp_path, ending):
    arguments = ("noisy_sum", "--epsilon", "0.5", "--trials", "1000")
    expected = audit(*arguments)
    for name, data in (("a", [0, 1, 1]), ("b", [0, 1, 0])):
        path = tmp_path / f"{name}.{ending}"
        if ending == "npy":
            np.save(path, np.array(data))
        else:
            path.write_text(str(data) if ending == "json" else "\n".join(map(str, data)))
    assert audit(*arguments, "--data", f"a.{ending}", "--neighbour", f"b.{ending}") == expected


@pytest.mark.parametrize("names", ["age,income", '"age", "income, a year"', "# records\n\nage,income", ",income"])
def test_audit_skips_a_line_of_names(audit, tmp_path, names):
    arguments = ("noisy_sum", "--epsilon", "0.5", "--trials", "1000")
    expected = audit(*arguments)
    for name, last in (("a", 1), ("b", 0)):
        (tmp_path / f"{name}.csv").write_text(f"{names}\n0,1\n{last},0\n")
    assert audit(*arguments, "--data", "a.csv", "--neighbour", "b.csv") == expected


@pytest.mark.parametrize(
    "kind", first(1, map(pytest.param, [(), ("--isolate",), ("--jobs", "2"), ("--store", "kept")]))
)
def test_audit_takes_the_file_of_a_function(audit, call, tmp_path, monkeypatch, kind):
    """Beside the working folder or below it, alone or in a package."""
    for name in ("users_mechanisms", "mechanisms_below", "package", "package.mechanisms_of_a_package", "package.again"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    arguments = (*PAIR, "--epsilon", "0.5", "--trials", "300", *kind)
    expected = audit("noisy_sum", *arguments[len(PAIR) :])
    (tmp_path / "below" / "package").mkdir(parents=True)
    (tmp_path / "below" / "package" / "__init__.py").touch()
    (tmp_path / "below" / "package" / "mechanisms_of_a_package.py").write_text("from . import again\n" + MECHANISMS)
    (tmp_path / "below" / "package" / "again.py").touch()
    (tmp_path / "below" / "mechanisms_below.py").write_text(MECHANISMS)
    files = ("users_mechanisms", "below/mechanisms_below", "below/package/mechanisms_of_a_package")
    for file in files:
        assert call("audit", f"{file}.py:noisy_sum", *arguments) == expected


def test_audit_refuses_a_file_that_is_not_the_one_of_its_name(audit, call, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "users_mechanisms", raising=False)
    audit("noisy_sum", "--epsilon", "1", "--trials", "100")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "users_mechanisms.py").write_text(MECHANISMS)
    refused = call("audit", "other/users_mechanisms.py:noisy_sum", *PAIR, "--epsilon", "1")
    assert_refused(refused, "be in a file whose name no other module has")
    assert_refused(call("audit", "nosuch.py:f", *PAIR, "--epsilon", "1"), "name an existing file, got nosuch.py")


def test_audit_takes_rows_of_different_lengths(audit):
    code, out, _ = audit(
        "of_a_list", "--data", "[[1], [1, 2]]", "--neighbour", "[[1], []]", "--epsilon", "0.2", "--trials", "5000"
    )
    assert code == 1, out


def test_audit_of_a_curve(audit):
    """Noise that keeps (1, 0) with room, and breaks the curve it claims."""
    code, out, _ = audit("noisy_sum", "--claim", "users_mechanisms:LESS", "--trials", "4000", "--format", "json")
    assert code == 1
    assert json.loads(out)["claim"] == "1 x Laplace(40)"
    assert audit("noisy_sum", "--claim", "users_mechanisms:EXACT", "--trials", "4000")[0] == 0


def test_sequential_audit_goes_on_where_it_ended(audit, tmp_path):
    code, out, _ = audit("noisy_sum", "--epsilon", "0.2", "--sequential", "--trials", "40", "--format", "json")
    assert code == 0
    (tmp_path / "first.json").write_text(out)
    code, out, _ = audit("noisy_sum", "--epsilon", "0.2", "--earlier", "first.json", "--trials", "20000")
    assert (code, out.split(":")[0]) == (1, "violated")
    whole = audit("noisy_sum", "--epsilon", "0.2", "--sequential", "--trials", "20000")[1]
    assert whole == out


def test_audit_draws(audit, tmp_path):
    assert audit("noisy_sum", "--epsilon", "0.5", "--trials", "500", "--plot", "scores.png")[0] == 0
    assert (tmp_path / "scores.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("kind", [(), ("--sequential",)])
def test_audit_of_randomness_of_its_own(audit, kind):
    """Normal noise that does not look at the data, of an unknown seed: a false alarm in 5 % at most, of far fewer."""
    code, out, _ = audit("own_randomness", "--epsilon", "1", "--trials", "500", "--unseeded", "--format", "json", *kind)
    assert (code, json.loads(out)["seed"]) == (0, None)
    assert_refused(audit("own_randomness", "--epsilon", "1", "--unseeded", "--jobs", "2", *kind), "jobs must be 1")


# rate


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    n = np.repeat([100, 400, 1600, 6400], 5)
    gap = 3 * n**-0.5 * np.exp(0.01 * rng.standard_normal(len(n)))
    rows = [f"{a},{b}" for a, b in zip(n, gap, strict=True)]
    (tmp_path / "gaps.csv").write_text("\n".join(["n,gap", *rows]))


@pytest.mark.usefixtures("table")
def test_rate(call):
    fit = ("rate", "gaps.csv", "--response", "gap", "--factors", "n")
    code, out, err = call(*fit, "--claimed", "n=-0.5", "--format", "json")
    found = parse(out)
    assert (code, err, found["schema"], found["verdict"]) == (0, "", "dpcheck.rate/1", "supported")
    (factor,) = found["factors"]
    assert factor["low"] < -0.5 < factor["high"]
    code, out, _ = call(*fit, "--claimed", "n=-1")
    assert code == 1
    assert re.match(r"contradicted: n\^-0\.5\d \[-0\.5\d, -0\.\d\d\] is slower than the claimed n\^-1\n\nfactor", out)
    assert re.search(r"^n +-0\.\d+ +\[-0\.\d+, -0\.\d+\] +-1  contradicted$", out, re.M)
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.thorough
@pytest.mark.usefixtures("table")
def test_rate_plans_what_would_decide(call):
    fit = ("rate", "gaps.csv", "--response", "gap", "--factors", "n", "--claimed", "n=-0.5", "--margin", "0.02")
    out = call(*fit)[1]
    assert "`--plan` says which sizes and runs would decide." in out
    out = call(*fit, "--plan")[1]
    assert re.search(r"^- \d+ runs at each of \d+ sizes n = 100, 400, .*: \d+ rows, chance \d+%$", out, re.M), out
    assert max(map(len, out.splitlines())) <= 80
    designs = parse(call(*fit, "--plan", "--format", "json")[1])["plan"]["designs"]
    assert designs[0]["rows"] == designs[0]["runs"] * len(designs[0]["sizes"]["n"])


def test_rate_takes_factors_with_or_without_a_comma(call, tmp_path):
    rows = [f"{n},{d},{(d / n) ** 0.5 * (1 + 0.01 * (n % 7))}" for n in (100, 200, 400, 800) for d in (2, 4, 8)]
    (tmp_path / "gaps.csv").write_text("\n".join(["n,d,gap", *rows]))
    fit = ("rate", "gaps.csv", "--response", "gap", "--factors")
    expected = call(*fit, "n,d")
    assert expected[0] == 0
    assert call(*fit, "n", "d") == call(*fit, "n,", "d") == expected
    assert_refused(call(*fit, "n", "d", "x"), "have a column 'x'")
    exponents = call(*fit, "n", "d", "--claimed", "n=-1/2", "d=1/2")
    assert_refused(exponents, "exponents of --claimed stand between commas", "got d=1/2")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("claim", ["n=-1/2", "n:-1/2", "n=-.5", " n = -0.5 "])
@pytest.mark.usefixtures("table")
def test_rate_reads_tables_and_claims_as_people_write_them(call, tmp_path, separator, encoding, claim):
    text = (tmp_path / "gaps.csv").read_text().replace(",", separator)
    (tmp_path / "other.csv").write_text("# made by hand\n\n" + text.replace("\n", "\r\n"), encoding)
    if encoding == "utf-8-sig":  # the mark stands at the very start
        (tmp_path / "other.csv").write_text(text, encoding)
    code, out, err = call("rate", "other.csv", "--response", "gap", "--factors", "n", "--claimed", claim)
    assert (code, err) == (0, "")
    assert out.startswith("supported: at the end of the grid n^-0.")
    assert out == call("rate", "gaps.csv", "--response=gap", "--factors=n", "--claimed=n=-1/2")[1]


def test_rate_with_clusters_an_offset_and_an_equality(call, tmp_path):
    rng = np.random.default_rng(0)
    n, run = np.meshgrid(2.0 ** np.arange(7, 15), np.arange(6), indexing="ij")
    gap = np.log(n) / n * np.exp(0.03 * rng.standard_normal(6)[run] + 0.02 * rng.standard_normal(n.shape))
    rows = zip(n.ravel(), run.ravel(), gap.ravel(), strict=True)
    (tmp_path / "a.csv").write_text("\n".join(["n,run,gap", *(",".join(map(str, row)) for row in rows)]))
    fit = ("rate", "a.csv", "--response", "gap", "--factors", "n", "--claimed", "n=-1", "--format", "json")
    alone, known = parse(call(*fit)[1]), parse(call(*fit, "--offset", "log(n)")[1])
    assert (alone["verdict"], known["verdict"]) == ("not asymptotic", "supported")
    for option in ("--cluster", "--seed"):
        shared = parse(call(*fit, "--offset", "log(n)", option, "run")[1])
        assert (shared["independent"], shared["cluster"], shared["verdict"]) == (6, "run", "supported")
    half = (*fit[:-3], "n=-1/2", "--format", "json", "--offset", "log(n)")
    upper, equal = parse(call(*half)[1]), parse(call(*half, "--equal")[1])
    assert (upper["verdict"], equal["verdict"]) == ("supported", "contradicted")
    assert upper["factors"][0]["faster"] == pytest.approx(0.5, abs=0.02)
    assert "n is faster than claimed by 0.5" in call(*half[:-4], "--offset", "log(n)")[1]


def test_rate_against_a_theorem(call, tmp_path):
    """A quarter of the bound is within it, with an exponent of 0 beside it; sqrt(n) times that is not."""
    stated = dpcheck.theorem("yang2022.theorem_2a")
    constants = {"epsilon": 1, "delta": 1e-9, "G_w": 1, "G_v": 1, "D_w": 1, "D_v": 1, "L": 1}
    rng = np.random.default_rng(0)
    rows = []
    for n in (1000, 2000, 4000, 8000, 16000):
        bound = stated.bound(n=n, d=5, **constants)
        for noise in rng.normal(1, 0.005, 10):
            rows.append(f"{n},5,{bound / 4 * noise},{bound / 4 * noise * n**0.5}")
    (tmp_path / "t.csv").write_text("\n".join(["n,d,gap,slow", *rows]))
    settings = [f"{name}={value}" for name, value in constants.items()]
    fit = ("rate", "t.csv", *settings, "--factors", "n", "--theorem", "yang2022.theorem_2a")
    code, out, err = call(*fit, "--response", "gap")
    assert (code, err) == (0, "")
    assert re.match(r"supported: .* is no slower than the\s+claimed n\^0,", out), out
    code, out, _ = call(*fit, "--response", "slow")
    assert code == 1
    assert out.startswith("contradicted: n^0.5")
    code, _, err = call("rate", "t.csv", *settings[:-1], *fit[-4:], "--response", "gap")
    assert (code, err) == (2, "dpcheck: error: L must be given to yang2022.theorem_2a.bound, "
                              "got n, d, epsilon, delta, G_w, G_v, D_w, D_v\n")  # fmt: skip


@pytest.mark.usefixtures("table")
def test_options_stand_anywhere(call):
    first = call("solve", "dp_sgda", "steps=20", "--problem", "bilinear", "eta=0.1", "--seed", "3")
    assert first[0] == 0
    for order in (
        "--problem bilinear --seed 3 dp_sgda steps=20 eta=0.1",
        "dp_sgda --seed=3 steps=20 --problem bilinear eta=0.1",
    ):
        assert call("solve", *order.split())[:2] == first[:2]
    told = call("rate", "gaps.csv", "--response", "gap", "--factors", "n")
    assert call("rate", "--response", "gap", "--factors", "n", "gaps.csv") == told
    shown = call("show", "yang2022.theorem_1", "n=10", "--latex")
    assert call("show", "--latex", "yang2022.theorem_1", "n=10") == shown
    code, out, err = call("solve", "dp_sgda", "--nosuch", "steps=1")
    assert (code, out) == (2, "")
    assert "unrecognized arguments: --nosuch" in err


@pytest.mark.usefixtures("table")
def test_rate_without_a_claim(call, tmp_path):
    fit = ("rate", "gaps.csv", "--response", "gap", "--factors", "n")
    code, out, _ = call(*fit, "--plot", "slopes.svg")
    assert code == 0
    assert out.startswith("inconclusive: no exponent was claimed\n")
    assert "<svg" in (tmp_path / "slopes.svg").read_text()
    assert call(*fit, "--fail-on", "inconclusive")[0] == 1


# solve


def test_solve(call):
    settings = ("steps=50", "eta=1", "clip_w=1", "clip_v=1", "--data", "a9a")
    code, out, err = call("solve", "dp_sgda", *settings, "--format", "json")
    found = parse(out)
    assert (code, found["schema"]) == (0, "dpcheck.solve/1")
    assert "dp_sgda" in err  # progress
    assert 0 < found["certified"] <= found["claimed"] == 1
    assert (found["data"], found["n"], len(found["x"])) == ("a9a", 32561, 125)
    assert found["delta"] == pytest.approx(32561**-2)
    assert 0.5 < found["test AUC"] <= 1
    text = call("solve", "dp_sgda", *settings)[1]
    assert re.search(r"^ +test AUC +0\.\d+$", text, re.M)


def test_solve_on_the_example(call):
    code, out, _ = call("solve", "dp_sgda", "sampling=poisson", "steps=20", "--plot", "history.svg")
    assert code == 0
    assert re.search(r"^ +problem +quadratic$", out, re.M)
    assert re.search(r"^ +iteration +gap +epsilon$", out, re.M)
    assert "<svg" in Path("history.svg").read_text("utf-8")


# Reports

REPORT = Report(
    (
        Finding("t.privacy", "privacy", "what <was> & \"is\" released", "consistent", "a ≤ b", audited=0.25,
                certified=0.5, claimed=1.0, evidence={"trials": 10, "infinite": float("inf")}),
        Finding("t.open", "privacy", "a release without noise", "violated", "no noise", expected="violated",
                audited=2.0, certified=float("inf"), claimed=1.0),
        Finding("t.claim", "claim", "a claim", "refuted", "by example", expected="refuted"),
    ),
    ("dp_sgda",), "quick", 0, dpcheck.__version__, 1.5, {"A table": [{"n": 10, "gap": 0.5, "word": "<b>"}]},
)  # fmt: skip


@pytest.fixture
def report(call, tmp_path):
    """Give a report to ``dpcheck report``."""

    def run(found: Report, *arguments: str) -> tuple[int, str, str]:
        found.to_json(tmp_path / "in.json")
        return call("report", "in.json", *arguments)

    return run


def assert_documents(found: Report, documents: dict[str, str]) -> None:
    """Each format parses and tells of every finding."""
    assert documents["json"] == found.to_json() + "\n"
    assert Report.from_json(documents["json"]).to_json() == found.to_json()
    assert parse(documents["json"])["schema"] == "dpcheck.report/2"

    suite = ET.fromstring(documents["junit"])
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [finding.id for finding in found.findings]
    failed = [finding.id for finding in found.findings if not finding.ok]
    assert [case.get("name") for case in cases if case.find("failure") is not None] == failed
    assert (suite.get("tests"), suite.get("failures")) == (str(len(cases)), str(len(failed)))

    sarif = parse(documents["sarif"])
    assert sarif["version"] == "2.1.0"
    (run,) = sarif["runs"]
    places = [result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for result in run["results"]]
    assert places == [finding.id for finding in found.findings]
    assert [place for place, result in zip(places, run["results"], strict=True) if result["level"] == "error"] == failed
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}

    page = Page(documents["html"])
    assert (page.open, page.loads) == ([], [])
    for finding in found.findings:
        assert finding.id in page.text
        assert finding.kind == "claim" or finding.subject in page.text  # a claim's statement is set as mathematics
        assert finding.verdict in page.text


def test_report_in_every_format_in_one_run(report, tmp_path):
    names = ("json", "junit", "sarif", "html")
    outputs = [part for name in names for part in (f"--{name}-output", f"out.{name}")]
    code, out, err = report(REPORT, *outputs)
    assert (code, err) == (0, "")
    assert out.startswith("Result: ")
    assert f"\ndpcheck {dpcheck.__version__}, dp_sgda, profile quick, seed 0, " in out
    assert "\x1b" not in out
    documents = {name: (tmp_path / f"out.{name}").read_text("utf-8") for name in names}
    assert_documents(REPORT, documents)
    for name, document in documents.items():
        assert report(REPORT, "--format", name) == (0, document, "")
        assert report(REPORT, "--format", name, "--output", "alone") == (0, "", "")
        assert (tmp_path / "alone").read_text("utf-8") == document
    assert "what &lt;was&gt; &amp; " in documents["html"]
    assert "&lt;b&gt;" in documents["html"]


def test_fail_on_inconclusive(report):
    undecided = Finding("t.open", "privacy", "s", "inconclusive", "r")
    recorded = replace(undecided, expected="inconclusive")
    for finding, option, code in (
        (undecided, "violated", 0), (undecided, "inconclusive", 1), (recorded, "inconclusive", 0),
    ):  # fmt: skip
        assert report(replace(REPORT, findings=(finding,)), "--fail-on", option)[0] == code


# check


def test_check_ends_with_what_is_recorded(checked):
    assert checked.code == 0, checked.out + checked.err
    assert "\nRegression: as expected\n" in checked.out
    assert checked.out.startswith("Result: ")
    about = rf"^dpcheck {re.escape(dpcheck.__version__)}, dp_sgda, profile quick, seed 0, \d+ s$"
    assert re.search(about, checked.out, re.M)


def test_check_reports_progress_on_stderr_alone(checked):
    """Each stage when it begins, and what it decides: alarms and epsilons one by one."""
    lines = checked.err.splitlines()
    assert sum(line.startswith("dpcheck: ") and line.endswith(" ...") for line in lines) >= 5
    assert not any(line in checked.out for line in lines)
    for found in parse(checked.read("json"))["findings"]:
        if found["kind"] == "privacy" or (found["verdict"] == "violated" and found["kind"] != "claim"):
            assert sum(f" {found['id']}: " in line for line in lines) == 1
    assert len(lines) <= 100


def test_check_needs_no_network(checked, command, tmp_path):
    code = "import socket; socket.create_connection(('127.0.0.1', 9))"
    tried = subprocess.run([sys.executable, "-c", code], env=command.environment, capture_output=True, check=False)
    assert b"no network in this test" in tried.stderr
    log = command.attempts.read_text().splitlines()
    assert len(log) == 1, log  # the attempt above


def test_check_leaves_only_what_it_was_asked_for(checked):
    left = {path.name for path in checked.folder.iterdir() if path.name != "__pycache__"}
    assert left == {"bounds.py", "audits.py", "report.json", "report.xml", "report.sarif", "report.html"}


def test_check_documents(checked):
    names = ("json", "junit", "sarif", "html")
    found = Report.from_json(checked.read("json"))
    assert_documents(found, {name: checked.read(name) for name in names})


def test_check_finds_what_the_library_states(checked):
    found = parse(checked.read("json"))
    assert found["ok"] is True
    for finding in found["findings"]:
        assert {"id", "kind", "verdict", "claimed", "certified", "audited", "expected", "ok"} <= set(finding)
        assert finding["ok"] is True, finding["id"]
        assert finding["expected"] is None or finding["verdict"] in finding["expected"].split(" or "), finding["id"]
    ids = [finding["id"] for finding in found["findings"]]
    assert len(set(ids)) == len(ids)
    claims = [finding for finding in found["findings"] if finding["kind"] == "claim"]
    assert {f"yang2022.{claim.id}" for claim in registry.claims("yang2022")} <= {claim["id"] for claim in claims}


def test_check_prints_the_sandwich(checked):
    privacy = [finding for finding in parse(checked.read("json"))["findings"] if finding["kind"] == "privacy"]
    assert len(privacy) >= 5
    for finding in privacy:
        if finding["verdict"] == "consistent":
            audited = 0.0 if finding["audited"] is None else finding["audited"]
            assert 0 <= audited <= finding["certified"] <= finding["claimed"], finding["id"]
    assert any(finding["audited"] and finding["audited"] > 0.4 * finding["claimed"] for finding in privacy)
    assert re.search(r"audited lower bound +<= +certified epsilon +<= +claimed epsilon", checked.out)


# Streams and signals


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT between processes")
@pytest.mark.parametrize(
    ("store", "said", "left"),
    first(1, [((), "no result was written", []),
     (("--store", "kept"), "what was done is in kept, and the same command goes on", ["kept"])]),
)  # fmt: skip
def test_interrupt(command, tmp_path, store, said, left):
    outputs = ("--json-output", "report.json", "--output", "report.txt", *store)
    process = command.start(
        "check", "dp_sgda", *outputs, folder=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        first = process.stderr.readline()
        assert first.startswith("dpcheck: "), first
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == f"dpcheck: interrupted; {said}"
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == left


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_reader_that_leaves_does_not_change_the_verdict(command, tmp_path):
    replace(REPORT, findings=(replace(REPORT.findings[0], verdict="violated"),)).to_json(tmp_path / "in.json")
    for arguments, code in ((("list",), 0), (("report", "in.json"), 1), (("report", "in.json", "--format", "html"), 1)):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            assert command(*arguments, folder=tmp_path, stdout=writer) == (code, None, "")
        finally:
            os.close(writer)


def test_a_terminal_without_our_signs(command, tmp_path):
    REPORT.to_json(tmp_path / "in.json")
    environment = command.environment | {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    code, out, err = replace(command, environment=environment)("report", "in.json", "--verbose", folder=tmp_path)
    assert (code, err) == (0, "")
    assert "? consistent" in out
