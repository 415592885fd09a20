"""Results, printed and in a notebook: every one says its verdict and its numbers, and escapes what it shows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpcheck
from dpcheck.bounds.ledger import ClaimResults
from dpcheck.events import Gaussian
from dpcheck.report.findings import Finding, Report
from dpcheck.shown import TABLE_FORMATS, Shown, html_table, short, table


def noisy_sum(data, rng):
    return np.sum(data) + rng.laplace(scale=0.5)


def noisy_sums(data, rng, size):
    return np.sum(data) + rng.laplace(scale=0.5, size=size)


def fitted():
    n = np.repeat(500 * 2 ** np.arange(6), 10)
    noise = np.exp(0.03 * np.random.default_rng(0).standard_normal(n.size))
    frame = pd.DataFrame({"n": n, "gap": 2 / np.sqrt(n) * noise})
    return dpcheck.fit_rate(frame, response="gap", factors=["n"], claimed={"n": -0.5})


RESULTS = {
    "privacy": (
        lambda: dpcheck.audit_privacy(noisy_sums, [0.0], [1.0], epsilon=1.0, trials=2000, vectorized=True),
        ("violated: epsilon >= ", "witness: output"),
    ),
    "sequential": (
        lambda: dpcheck.audit_sequential(noisy_sum, [0.0], [1.0], epsilon=1.0, most=3000),
        ("violated: epsilon >= ", "witness: output"),
    ),
    "neighbours": (
        lambda: dpcheck.audit_neighbours(
            noisy_sums, [([0.0], [1.0]), ([0.0], [0.1])], epsilon=1.0, delta=0, trials=2000, vectorized=True
        ),
        ("violated: epsilon >= ", "pair: ", "runs of the search"),
    ),
    "one run": (
        lambda: dpcheck.audit_one_run(lambda x, rng: x + 0.3 * rng.normal(size=x.size), 500, epsilon=1.0, delta=1e-5),
        ("violated: epsilon >= ", "500 canaries"),
    ),
    "noise": (
        lambda: dpcheck.audit_noise(
            lambda data, rng: rng.normal(scale=1.0), [0.0], distribution="gaussian", scale=3.0, trials=500
        ),
        ("violated: ", "claimed_scale  3", "p_values"),
    ),
    "sensitivity": (
        lambda: dpcheck.audit_sensitivity(np.sum, np.zeros(4), [0.0, 2.0], claimed=1.0),
        ("violated: a sensitivity of 2 was found, 1 is claimed",),
    ),
    "constants": (
        lambda: dpcheck.audit_constants(lambda data: {"size": sum(data)}, [1, 2], [[1, 3]]),
        ("violated: size is 3 on the data and 4 on neighbour 0",),
    ),
    "tables": (
        lambda: dpcheck.audit_tables(lambda data, rng: data[:1], np.arange(3.0), np.arange(3.0) + 1, epsilon=1.0),
        ("violated: 10 properties", "min(output) >= 0.5 in 0 of 30 runs", "epsilon_lower  1.6"),
    ),
    "rate": (fitted, ("supported: ", "exponent of n", "rows")),
    "certificate": (lambda: dpcheck.certify(Gaussian(1.0), delta=1e-5), ("epsilon <= 4.37", "at delta 1e-05")),
    "theorem": (
        lambda: dpcheck.theorem("yang2022.theorem_2a"),
        ("yang2022.theorem_2a: ", "bounds weak primal-dual", "bound ", "assumption 1"),
    ),
    "claims": (
        lambda: dpcheck.prove("Y17", jobs=1), ("1 claim: 1 refuted", "refuted  Y17  proof of Lemma 6(a)"),
    ),
    "run": (
        lambda: dpcheck.solve("phased_output_perturbation", "linear"),
        ("phased_output_perturbation on linear: finished", "x  "),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_print_says_what_was_found(name):
    make, words = RESULTS[name]
    found = make()
    text, page = str(found), found._repr_html_()
    for each in words:
        assert " ".join(each.split()) in " ".join(text.split())
    assert text != repr(found)
    assert "object at 0x" not in text
    assert max(map(len, text.splitlines())) <= 200
    assert "<table>" in page
    assert words[0].split(":")[0].replace("<", "&lt;") in page


def test_what_a_notebook_shows_is_escaped():
    hostile = "<script>alert(1)</script>"
    found = Report((Finding("a.b", "noise", hostile, "violated", hostile),), (hostile,), "quick", 0, hostile, 1.0)
    assert hostile in str(found)
    pages = (found._repr_html_(), html_table([{hostile: hostile}]))
    assert all(hostile not in page and "&lt;script&gt;" in page for page in pages)

    class Named(Shown):
        def to_dict(self):
            return {hostile: hostile, "verdict": "violated"}

    assert hostile not in Named()._repr_html_()
    assert hostile in str(Named())


def test_claims_stay_a_tuple_and_become_a_table():
    found = dpcheck.prove("Y17", jobs=1)
    assert isinstance(found, tuple)
    assert isinstance(found, ClaimResults)
    assert found.to_frame().loc[0, ["claim", "verdict"]].tolist() == ["Y17", "refuted"]
    assert "Two draws from two records" in str(found[0])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (0.123456789, "0.123457"), ({"a": 1.5, "b": None}, "a 1.5"), ([1, 2.0], "1, 2"), ("word", "word"),
        (float("inf"), "inf"), (True, "True"),
    ],
)  # fmt: skip
def test_short(value, text):
    assert short(value) == text


def test_tables_escape_what_their_format_reserves():
    rows = [{"na|me": "a_b & 5 % of $x$, {y}\nnext ~ ^ \\", "value": 0.5}, {"na|me": 'say "x", y', "value": None}]
    found = {format: table(rows, format) for format in TABLE_FORMATS}
    assert pd.read_csv(pd.io.common.StringIO(found["csv"]))["na|me"][1] == 'say "x", y'
    assert found["markdown"].splitlines()[:2] == [r"| na\|me | value |", "|---|---|"]
    assert [line.count(" | ") for line in found["markdown"].splitlines()] == [1, 0, 1, 1]
    escaped = r"a\_b \& 5 \% of \$x\$, \{y\} next \textasciitilde{} \textasciicircum{} \textbackslash{} & 0.5 \\"
    assert found["latex"].splitlines()[4] == escaped
    assert found["latex"].startswith(r"\begin{tabular}{ll}")


def test_a_result_prints_a_page_at_most():
    class Wide(Shown):
        verdict = "consistent"

        def to_dict(self):
            looks = {f"look {k}": {"edges": dict(enumerate(range(200)))} for k in range(200)}
            return {"verdict": self.verdict, "looks": looks, **{f"number {k}": k for k in range(200)}}

    lines = str(Wide()).splitlines()
    assert len(lines) <= 60 and max(map(len, lines)) <= 120
    assert "more lines" in lines[-1]


def test_an_audit_of_arithmetic_prints_its_two_parts_in_a_line_each():
    audit = dpcheck.audit_floating_point(noisy_sums, [0.0], [1.0], epsilon=1.0, trials=2000, vectorized=True)
    assert len(str(audit).splitlines()) <= 12
