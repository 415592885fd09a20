"""Reports that anybody may have written: refused with one line, or shown in every format."""

from __future__ import annotations

import copy
import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck import InputError
from dpcheck.cli import FORMATS
from dpcheck.findings import Finding, Report
from dpcheck.report.render import render

HUGE = 10**400
FINDING = Finding(
    "dp_sgda.transcript", "privacy", "what", "violated", "why", audited=1.5, certified=2.0, claimed=1.0,
    evidence={"within the claimed family": {"epsilon": 1.7}}, place="dpcheck/solvers/nseg.py:49",
)  # fmt: skip
RATES = [
    {"experiment": "e", "theorem": "yang2022.theorem_2a", "factor": "n", "measured": -0.5, "low": -0.6, "high": -0.4,
     "claimed": -0.5, "predicted": -0.5, "verdict": "supported"},
]  # fmt: skip
RISKS = [{"n": n, "measured": 1.0 / n, "bound": 2.0 / n, "error": 0.01} for n in (100, 200)]
GOOD = json.loads(
    Report(
        (FINDING,), ("dp_sgda",), "quick", 0, "0.1.0", 1.5, {"Measured rates": RATES, "Risks": RISKS}
    ).to_json()
)  # fmt: skip


def changed(*path: str | int, to: Any) -> str:
    found = copy.deepcopy(GOOD)
    inside: Any = found
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = to
    return json.dumps(found)


def without(*path: str | int) -> str:
    found = copy.deepcopy(GOOD)
    inside: Any = found
    for step in path[:-1]:
        inside = inside[step]
    del inside[path[-1]]
    return json.dumps(found)


WRONG = {
    "nothing": "",
    "half of a report": json.dumps(GOOD)[:100],
    "deep lists": "[" * 100_000,
    "deep objects": '{"a":' * 5_000,
    "a number of 5,000 digits": changed("seed", to=0).replace('"seed": 0', f'"seed": {"1" * 5_000}'),
    "deep evidence": changed("findings", 0, "evidence", to=json.loads('{"a":' * 200 + "1" + "}" * 200)),
    **{f"schema {value!r}": changed("schema", to=value) for value in (None, 3, "dpcheck.report/2", ["dpcheck.report/1"])},
    **{f"no {name}": without(name) for name in ("schema", "findings", "algorithms", "profile", "seed", "version", "seconds", "tables")},
    **{f"findings {value!r}": changed("findings", to=value) for value in (None, 3, {}, "text", [3], [None], [[]], ["text"])},
    **{f"algorithms {value!r}": changed("algorithms", to=value) for value in (None, 3, "dp_sgda", [3], [None], {})},
    **{f"{name} {value!r}": changed(name, to=value) for name in ("profile", "version") for value in (None, 3, [], {})},
    **{f"seed {value!r}": changed("seed", to=value) for value in (None, 0.5, "0", [], True)},
    **{f"seconds {value!r}"[:30]: changed("seconds", to=value) for value in (None, "1", -1, float("nan"), float("inf"), HUGE, [], True)},
    **{f"tables {value!r}": changed("tables", to=value) for value in (None, 3, [], "text")},
    **{f"rows {value!r}": changed("tables", "Risks", to=value) for value in (None, 3, {}, "text", [3], [None], [[1]])},
    **{f"cell {value!r}"[:30]: changed("tables", "Risks", 0, "n", to=value) for value in ([1], {"a": 1}, HUGE, float("nan"))},
    "rows of other columns": changed("tables", "Risks", 0, to={"m": 1}),
    **{f"no {name} in a finding": without("findings", 0, name) for name in ("id", "kind", "subject", "verdict", "reason")},
    **{f"{name} {value!r}": changed("findings", 0, name, to=value) for name in ("id", "kind", "subject", "verdict", "reason") for value in (None, 3, [], {}, True)},
    **{f"{name} {value!r}"[:40]: changed("findings", 0, name, to=value) for name in ("audited", "certified", "claimed", "expected_certified") for value in ("text", [], {}, HUGE, True, "1.5")},
    **{f"expected {value!r}": changed("findings", 0, "expected", to=value) for value in (3, [], {}, True)},
    **{f"place {value!r}": changed("findings", 0, "place", to=value) for value in (3, [], "", "file", "file:x", "file:0", ":7", "file:-3", "file:1e3")},
    **{f"evidence {value!r}": changed("findings", 0, "evidence", to=value) for value in (None, 3, [], "text")},
    **{f"family {value!r}": changed("findings", 0, "evidence", to={"within the claimed family": value}) for value in (3, [], "text", {"epsilon": "x"}, {"epsilon": []})},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_report_is_refused(name: str) -> None:
    with pytest.raises(InputError) as refused:
        Report.from_json(WRONG[name])
    said = str(refused.value)
    assert re.fullmatch(r"[^\n]+ must [^\n]+, got [^\n]*", said), said
    assert len(said) < 400


STRANGE = ["[/]", "[bold", "[/red]", "[link=x]", "\\[", "$\\frac{", "$$", "<b>&", "a\x00b\x1b[2J\x07", "\ud800", "\u202eabc", "\ufffe", "", " ", "\n", "é≤\U0001f600"]  # fmt: skip
SHOWN = {
    **{f"{name} {text!r}": changed("findings", 0, name, to=text) for name in ("id", "kind", "subject", "verdict", "reason", "expected") for text in STRANGE},
    **{f"algorithm {text!r}": changed("algorithms", to=[text]) for text in STRANGE},
    **{f"version {text!r}": changed("version", to=text) for text in STRANGE},
    **{f"profile {text!r}": changed("profile", to=text) for text in STRANGE},
    **{f"evidence {text!r}": changed("findings", 0, "evidence", to={text: text}) for text in STRANGE},
    **{f"place {text!r}": changed("findings", 0, "place", to=f"{text}x:3") for text in STRANGE},
    **{f"title {text!r}": changed("tables", to={text: RISKS}) for text in STRANGE},
    **{f"column {text!r}": changed("tables", "Risks", to=[{text: 1.5, "n": 2}, {text: text, "n": None}]) for text in STRANGE},
    **{f"rates of {text!r}": changed("tables", "Measured rates", to=[RATES[0] | dict.fromkeys(("experiment", "theorem", "factor", "verdict"), text)]) for text in STRANGE},
    **{f"setting {text!r}": changed("tables", "Risks", to=[row | {"word": word} for row in RISKS for word in (text, "other")]) for text in STRANGE},
    **{f"{name} {value!r}": changed("findings", 0, name, to=value) for name in ("audited", "certified", "claimed") for value in ("inf", "-inf", "nan", None, 0, -1, 1e308, 1e-308, 10**300)},
    **{f"measured {value!r}": changed("tables", "Risks", 0, "measured", to=value) for value in (None, "inf", 0, -1, 1e308, 1e-320, True, "text")},
    **{f"n {value!r}": changed("tables", "Risks", 0, "n", to=value) for value in (None, "inf", 0, -1, 1e308, 1e-320, 10**300, True)},
    **{f"exponent {value!r}": changed("tables", "Measured rates", 0, "measured", to=value) for value in (None, "inf", 1e308, -1e308, "text", True)},
    "no findings": changed("findings", to=[]),
    "no tables": changed("tables", to={}),
    "an empty table": changed("tables", to={"Risks": []}),
    "rows without columns": changed("tables", to={"Risks": [{}]}),
    "rates without columns": changed("tables", to={"Measured rates": [{}]}),
    "no algorithms": changed("algorithms", to=[]),
    "more than is known": changed("findings", 0, "surprise", to=[1]),
    "a verdict that is forged": changed("findings", 0, "ok", to=True),
    "a text of a megabyte": changed("findings", 0, "reason", to="word " * 200_000),
}  # fmt: skip


MARKUP = ("[/]", "[/red]", "[bold", "[link=x]")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SHOWN)
def test_what_is_a_report_is_shown(name: str) -> None:
    for format in ("json", "junit", "sarif", "terminal"):
        if format != "terminal" or not any(text in name for text in MARKUP):
            assert_shown(SHOWN[name], format)


@pytest.mark.parametrize("name", [name for name in SHOWN if any(text in name for text in MARKUP)])
def test_markup_is_text_in_a_terminal(name: str) -> None:
    assert_shown(SHOWN[name], "terminal")


@pytest.mark.filterwarnings("error")
def test_strange_reports_as_pages() -> None:
    """Pages draw figures, which takes longer: texts of all kinds in one report, and each number by itself."""
    for text in STRANGE:
        found = json.loads(changed("tables", "Risks", to=[r | {"word": w} for r in RISKS for w in (text, "other")]))
        found["tables"][text] = found["tables"].pop("Risks")
        words = dict.fromkeys(("experiment", "theorem", "factor", "verdict"), text)
        found["tables"]["Measured rates"] = [RATES[0] | words]
        found["findings"][0] |= {"id": text, "subject": text, "reason": text, "verdict": text, "expected": text}
        assert_shown(json.dumps(found | {"algorithms": [text], "version": text, "profile": text}), "html")
    for name in SHOWN:
        if name.startswith(("audited", "certified", "claimed", "measured", "n ", "exponent", "no ", "rows", "rates w")):
            assert_shown(SHOWN[name], "html")


def assert_shown(text: str, format: str) -> None:
    report = Report.from_json(text)
    shown = render(report, format)
    assert shown.encode()  # no halves of characters
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]", shown)
    if format == "json":
        assert Report.from_json(shown).to_json() == report.to_json()
    elif format == "sarif":
        json.loads(shown)
    elif format == "junit":
        assert len(ET.fromstring(shown).findall("testcase")) == len(report.findings)


def test_control_characters_that_a_check_found_are_kept_out_of_junit() -> None:
    finding = Finding("a", "privacy", "what \x1b[2J", "violated", "why \x00 \ud800")
    shown = render(Report((finding,), ("a",), "quick", 0, "0", 0.0), "junit")
    assert ET.fromstring(shown).find("testcase/failure").text == "what \ufffd[2J: why \ufffd \ufffd"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PATHS = st.sampled_from([
    *((name,) for name in GOOD), *(("findings", 0, name) for name in GOOD["findings"][0]),
    ("findings", 0), ("tables", "Risks"), ("tables", "Risks", 0), *(("tables", "Risks", 0, name) for name in RISKS[0]),
    ("tables", "Measured rates"), *(("tables", "Measured rates", 0, name) for name in RATES[0]),
])  # fmt: skip


@settings(deadline=None, max_examples=200, derandomize=True, database=None)
@given(st.lists(st.tuples(PATHS, VALUES), min_size=1, max_size=3), st.sampled_from(["json", "junit", "sarif"]))
def test_any_edit_is_refused_or_shown(edits: list[tuple[tuple[str | int, ...], Any]], format: str) -> None:
    """Whatever is put in any place, no other error comes out."""
    found = copy.deepcopy(GOOD)
    for path, value in edits:
        inside: Any = found
        try:
            for step in path[:-1]:
                inside = inside[step]
            inside[path[-1]] = value
        except (TypeError, KeyError, IndexError):  # an earlier edit took the place away
            continue
    text = json.dumps(found)
    try:
        Report.from_json(text)
    except InputError as error:
        assert "\n" not in str(error)
        return
    assert_shown(text, format)


@settings(deadline=None, max_examples=200, derandomize=True, database=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+$"):
        Report.from_json(content.decode("utf-8", "surrogateescape"))


def cut(text: str, at: float) -> str:
    return text[: int(at * len(text))]


@settings(deadline=None, max_examples=100, derandomize=True, database=None)
@given(st.floats(0, 1, exclude_max=True))
def test_a_report_that_was_cut_off_is_refused(at: float) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+$"):
        Report.from_json(cut(json.dumps(GOOD), at))
