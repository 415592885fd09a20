"""The pages: what a reader sees first, what a browser and axe say of them, and that nothing foreign runs."""

from __future__ import annotations

import json
import re

import pytest
from pages import looked_at

from dpcheck.audits.bugs.bug import Examination, Outcome, find
from dpcheck.report import template
from dpcheck.report.charts import Chart, charts, epsilon_strips, exponent_strips
from dpcheck.report.claims import bugs_page
from dpcheck.report.findings import Finding, Report
from dpcheck.report.html import to_html

HOSTILE = "<script>window.pwned = 1</script>\"'><img src=x onerror='window.pwned = 2'>&"
EVENT = {"words": "output <= -0.5", "hits": 2117, "other_hits": 1095, "trials": 87000, "favours": "neighbour"}
STEPS = [
    {"kind": "identity", "says": "multiplied out", "formula": "(x + y)^2 = x^2 + 2 x y + y^2", "trust": "kernel",
     "latex": r"\left(x + y\right)^{2} = x^{2} + 2 x y + y^{2}"},
    {"kind": "counterexample", "says": "at mu = 1", "formula": "1 < 0", "trust": "replayed",
     "latex": r"\neg\left(distance \leq \frac{2 L}{\mu n}\right)"},
]  # fmt: skip
CLAIM = {"id": "Y17", "paper": "yang2022", "statement": "The mean is 1/(mu n).", "location": "Lemma 1",
         "stated": r"The mean is $\frac{1}{\mu n}$.",
         "evidence": {"steps": STEPS, "readings": {"as printed": "refuted"}, "repaired": "with 2"}}  # fmt: skip


def finding(id, kind, verdict, **more):
    return Finding(
        **({"id": id, "kind": kind, "subject": f"subject of {id}", "verdict": verdict, "reason": f"reason of {id}",
            "expected": verdict, "place": "dpcheck/catalogue/yang2022/dp_sgda.py:7"} | more)
    )  # fmt: skip


FINDINGS = (
    finding("dp_sgda.repaired.transcript", "privacy", "consistent", audited=0.4, certified=0.9, claimed=1.0),
    finding("dp_sgda.as_printed.transcript", "privacy", "violated", audited=5.7, certified=25.0, claimed=1.0,
            evidence={"audit": {"event": EVENT, "confidence": 0.95}}),
    finding("dp_sgda.as_printed.output", "privacy", "violated", audited=1.6, certified=25.0, claimed=1.0),
    finding("yang2022.Y17", "claim", "refuted", evidence=CLAIM),
    finding("yang2022.Y18", "claim", "conditional", expected="proved", evidence={"condition": "n > 1"}),
    finding("dp_sgda.rate.theorem_2a", "rate", "attained"),
    finding("dp_sgda.step", "noise", "consistent", evidence={"runs": 12, "differences": [0.0] * 99}),
)  # fmt: skip
GAPS = [
    {"n": n, "measured": 2.0 / n, "error": 0.1 / n, "predicted": 2.0 / n, "bound": 4.0 / n} for n in (512, 1024, 4096)
]
RATES = [{"experiment": "theorem_2a", "algorithm": "dp_sgda", "theorem": "yang2022.theorem_2a", "regime": "privacy",
          "factor": "n", "measured": -1.0, "low": -1.1, "high": -0.9, "predicted": -1.0, "claimed": -0.5,
          "verdict": "attained"}]  # fmt: skip


def report(*findings, **more):
    given = {"findings": findings or FINDINGS, "algorithms": ("dp_sgda",), "profile": "quick", "seed": 3,
             "version": "0.1", "seconds": 1.5, "tables": {"dp_sgda: theorem_2a": GAPS, "Measured rates": RATES},
             "made": {"date": "2026-01-02", "command": "dpcheck check dp_sgda", "platform": "Linux"}}  # fmt: skip
    return Report(**(given | more))


def large():
    """As many findings as the whole catalogue has, and more, each with evidence."""
    evidence = {"audit": {"event": EVENT}, "looks": [{"look": i, "alpha": 1e-9} for i in range(20)]}
    rows = [finding(f"a{i % 19}.check_{i}", "noise", "consistent", evidence=evidence) for i in range(1300)]
    claims = [finding(f"yang2022.Y{i}", "claim", "refuted" if i % 5 else "proved", evidence=CLAIM) for i in range(200)]
    return report(*FINDINGS, *rows, *claims, algorithms=tuple(f"a{i}" for i in range(19)))


# What a page says


def test_the_result_comes_first_and_the_badge_says_something_else():
    page = to_html(report())
    result, badge = page.index('class="result broken"'), page.index('class="badge changed"')
    assert page.index("<h1>") < result < badge < page.index('class="tiles"') < page.index("<nav")
    assert "dp_sgda as published leaks: epsilon &gt;= 5.7 where 1 is claimed; repaired: audits consistent." in page
    assert re.search(r"1 finding changed: <a href=\"#f-yang2022-Y18\">", page)


def test_a_leak_is_red_where_it_is_expected_too():
    expected = report(*FINDINGS[:3])
    assert expected.ok
    page = to_html(expected)
    assert 'class="result broken"' in page
    assert 'class="badge same"' in page
    assert page.count('<details class="finding broken"') == 2
    assert 'class="result good"' in to_html(report(FINDINGS[0]))


def test_bugs_that_leak_are_never_green():
    bugs = find(["counts"])[:2]
    outcomes = Outcome("violated", "epsilon >= 3"), Outcome("consistent", "epsilon >= 0")
    page = bugs_page(bugs, {bug.id: Examination(bug, *outcomes) for bug in bugs})
    assert page.count('<span class="verdict broken"><span aria-hidden="true">✗</span> violated') == 2
    assert page.count('<span class="verdict good"><span aria-hidden="true">✓</span> consistent') == 2
    assert 'class="badge same"' in page
    swapped = bugs_page(bugs, {bugs[0].id: Examination(bugs[0], *outcomes[::-1])})
    assert "1 bugs changed" in swapped
    assert swapped.count("not as expected") == 2


def test_evidence_stands_as_steps_with_formulas():
    page = to_html(report())
    assert "<b>Counterexample:</b> at mu = 1" in page
    assert "<mfrac><mn>1</mn>" in page[page.index("The mean is") :][:200]
    assert "2117 of 87000 runs on neighbour" in page
    assert "99 values, in the JSON" in page
    assert "<code>dpcheck prove" in page


# Formulas


def test_a_formula_is_mathml_of_known_elements_and_breaks_before_its_signs():
    drawn = template.mathml(r"distance \leq \frac{2 L}{\mu n}")
    assert "<mtext>distance</mtext>" in drawn  # one name, not a product of letters
    assert "<mi>μ</mi>" in drawn
    assert drawn.count("<math>") == 2
    assert '<wbr><math><mo form="infix">≤</mo>' in drawn


@pytest.mark.parametrize(
    "latex", [rf"\text{{{HOSTILE}}}", r"\href{javascript:alert(1)}{x}", r"\style{background:url(http://x)}{y}", HOSTILE,
              '\\class{a" onclick="b}{x}'],
)  # fmt: skip
def test_a_foreign_formula_brings_neither_script_nor_link(latex):
    drawn = template.mathml(latex) or ""
    assert not re.search(r"<(?!/?(math|m[a-z]+|wbr)\b)|href|style=|class=|on\w+=\"", drawn)


@pytest.mark.parametrize("latex", ["", r"\frac{1", r"\begin{cases}"])
def test_what_is_no_formula_stays_text(latex):
    assert template.mathml(latex) is None


def test_a_dollar_sign_that_begins_no_formula():
    assert template.with_formulas("costs 5$ <b>") == "costs 5$ &lt;b&gt;"


# Drawings


def test_the_sandwich_shows_the_leak_first_and_beyond_the_claim():
    drawing = epsilon_strips(FINDINGS, "dp_sgda")
    leak, good = drawing.rows
    assert (leak.name, leak.tone, good.tone) == ("as published", "broken", "good")
    at = drawing.axis.at
    marks = {(mark.look, mark.shape): (mark.at, mark.end) for mark in leak.marks}
    assert marks["leaks", ""] == (at(1.0), at(5.7))
    assert marks["short", ""] == (at(5.7), at(25.0))
    assert marks["leak", "circle"] == (at(5.7), None)
    assert {(mark.look, mark.at, mark.end) for mark in good.marks} == {
        ("between", at(0.4), at(0.9)), ("certificate", at(0.9), None), ("claim", at(1.0), None),
        ("audit", at(0.4), None),
    }  # fmt: skip
    assert [words for _, words in drawing.axis.ticks] == ["0.5", "1", "2", "5", "10", "20"]
    assert epsilon_strips(FINDINGS, "another") is None


def test_a_rate_is_drawn_with_its_fit_its_claim_and_its_bound():
    values, ratio = charts({"dp_sgda: theorem_2a": GAPS, "Measured rates": RATES})
    looks = {each.look: each for each in values.series}
    assert looks.keys() == {"s0", "predicted", "bound", "fit", "order"}
    first, last = looks["s0"].points[0], looks["s0"].points[-1]
    fit = looks["fit"].points
    assert (fit[0].x, fit[1].x) == (first.x, last.x)
    assert (fit[0].y, fit[1].y) == (pytest.approx(first.y, abs=0.2), pytest.approx(last.y, abs=0.2))
    order = looks["order"].points  # half as steep
    assert order[1].y - order[0].y == pytest.approx((fit[1].y - fit[0].y) / 2, abs=0.3)
    assert looks["order"].words == "claimed: order n^-0.50"
    assert ratio.words == "Measured is at most 0.5 times the bound."
    assert all(0 <= p.x <= Chart.width and 0 <= p.y <= Chart.height for each in values.series for p in each.points)
    assert charts({"Other": [{"n": 1, "gap": 2.0}], "None": []}) == []


# What a browser says


def hostile():
    """A report in which every text is foreign, and the seed is one too."""
    step = dict.fromkeys(("kind", "says", "formula", "latex", "trust"), HOSTILE)
    bad = finding(HOSTILE, "claim", "refuted", subject=HOSTILE, reason=HOSTILE, expected=HOSTILE, place=HOSTILE,
                  evidence={HOSTILE: HOSTILE, "stated": f"${HOSTILE}$", "location": HOSTILE,
                            "evidence": {"steps": [step]}})  # fmt: skip
    other = finding("a.b.transcript", HOSTILE, HOSTILE, audited=0.5, certified=0.6, claimed=1.0)
    tables = {HOSTILE: [{HOSTILE: HOSTILE, "n": 1}], "Measured rates": [RATES[0] | {"theorem": HOSTILE}]}
    return report(
        bad, other, *FINDINGS, **dict.fromkeys(("seed", "version", "profile"), HOSTILE), algorithms=(HOSTILE,),
        made={HOSTILE: HOSTILE}, tables=tables,
    )  # fmt: skip


def test_a_report_keeps_where_and_how_it_was_made():
    assert Report.from_json(report().to_json()).made == report().made
    old = json.loads(report().to_json())
    del old["made"]
    assert Report.from_json(json.dumps(old)).made == {}


def test_a_foreign_report_is_text_alone():
    page = to_html(hostile())
    assert len(re.findall("<script", page)) == 2  # the page's own, and its data
    assert "<img" not in page
    assert HOSTILE not in page


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    """Open a page in a browser; the answer is what it and axe say."""
    folder = tmp_path_factory.mktemp("pages")

    def look(page, width=1400, colours="light"):
        file = folder / "page.html"
        file.write_text(page, "utf-8")
        return looked_at(file, width, colours), file

    return look


@pytest.mark.thorough
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_in_a_browser(look, width, colours):
    """The result is seen without scrolling; nothing is fetched, too wide, silent to a reader or beyond a keyboard."""
    found, file = look(to_html(report()), width, colours)
    assert found["axe"] == []
    assert found["passes"] > 30
    assert found["wide"] <= 0
    bottom, height = found["result"]
    assert bottom < height
    assert found["said"] == []
    assert found["requests"] == [file.as_uri()]
    assert (found["all"], found["none"]) == (len(FINDINGS), 0)
    assert found["chosen"] == ["refuted"]
    assert found["byName"] == sorted(found["byName"])
    assert found["byWeight"] == ["violated", "violated", "consistent"]
    assert found["opened"]
    assert json.loads(found["json"])["audit"]["event"] == EVENT
    for words in ("Counterexample: at mu = 1", "2117 of 87000 runs on neighbour", "id", "theorem_2a"):
        assert words in found["printed"]
    assert "Open all" not in found["printed"]


@pytest.mark.parametrize("page", ["report", "bugs"])
def test_nothing_foreign_runs(look, page):
    if page == "bugs":
        bug = find(["counts"])[0]
        outcome = Outcome("violated", HOSTILE)
        found, _ = look(bugs_page([bug], {bug.id: Examination(bug, outcome, outcome)}), 390)
    else:
        found, _ = look(to_html(hostile()), 390)
    assert found["pwned"] is None
    assert found["said"] == []  # the browser's policy had nothing to stop either
    assert found["axe"] == []
    assert found["wide"] <= 0
    assert HOSTILE in found["printed"]


@pytest.mark.thorough
def test_a_page_of_the_whole_catalogue_is_small_and_opens_at_once(look):
    page = to_html(large())
    assert len(page.encode()) < 3_000_000
    found, _ = look(page)
    assert found["seconds"] < 1
    assert found["opened"]
    assert found["axe"] == []
    assert "Counterexample: at mu = 1" in found["printed"]  # evidence that a large page holds packed


def test_the_page_says_which_wrong_exponents_are_rejected():
    rows = [
        RATES[0] | {"too_fast": 0.07, "too_slow": 0.04},
        RATES[0] | {"factor": "d", "too_fast": None, "too_slow": 0.0},
    ]
    both, one = exponent_strips(rows).rows
    assert "0.07 too fast and 0.04 too slow" in both.words
    assert "0.00 too slow" in one.words and "too fast" not in one.words
    assert "rejected" not in exponent_strips(RATES).rows[0].words
