"""Reports that anybody may have written: refused with one line, or shown in every format."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import reduce
from operator import getitem
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck import InputError
from dpcheck.report.findings import Finding, Report, render

HUGE = 10**400
FINDING = Finding(
    "dp_sgda.transcript", "privacy", "what", "violated", "why", audited=1.5, certified=2.0, claimed=1.0,
    evidence={"within the claimed family": {"epsilon": 1.7}}, place="dpcheck/catalogue/yang2022/nseg.py:49",
)  # fmt: skip
RATES = [
    {"experiment": "e", "theorem": "yang2022.theorem_2a", "factor": "n", "measured": -0.5, "low": -0.6, "high": -0.4,
     "claimed": -0.5, "predicted": -0.5, "verdict": "attained"},
]  # fmt: skip
RISKS = [{"n": n, "measured": 1.0 / n, "bound": 2.0 / n, "error": 0.01} for n in (100, 200)]
GOOD = json.loads(
    Report(
        (FINDING,), ("dp_sgda",), "quick", 0, "0.1.0", 1.5, {"Measured rates": RATES, "Risks": RISKS}
    ).to_json()
)  # fmt: skip

FINDING_AS_JSON = GOOD["findings"][0]


def changed(*path: str | int, to: Any = ...) -> str:
    """The report with another value in a place, or without it."""
    found = copy.deepcopy(GOOD)
    *above, last = path
    inside: Any = reduce(getitem, above, found)  # type: ignore[arg-type]
    if to is ...:
        del inside[last]
    else:
        inside[last] = to
    return json.dumps(found)


def each(values: Iterable[Any], *path: str | int) -> dict[str, str]:
    """The report with each of these values in one place."""
    return {f"{path[-1]} {value!r}"[:50]: changed(*path, to=value) for value in values}


TOP = ("findings", "algorithms", "profile", "seed", "version", "seconds", "tables")
TEXTS, NUMBERS = ("id", "kind", "subject", "verdict", "reason"), ("audited", "certified", "claimed")
NOT_TEXT = (None, 3, [], {}, True)
WRONG = {
    "nothing": "",
    "half of a report": json.dumps(GOOD)[:100],
    "deep lists": "[" * 100_000,
    "deep objects": '{"a":' * 5_000,
    "a number of 5,000 digits": changed("seed", to=7).replace('"seed": 7', f'"seed": {"1" * 5_000}'),
    "deep evidence": changed("findings", 0, "evidence", to=json.loads('{"a":' * 200 + "1" + "}" * 200)),
    **each((None, 3, "dpcheck.report/3", ["dpcheck.report/2"]), "schema"),
    **{f"no {name}": changed(name) for name in ("schema", *TOP)},
    **each((None, 3, {}, "text", [3], [None], [[]], ["text"]), "findings"),
    **each((None, 3, "dp_sgda", [3], [None], {}), "algorithms"),
    **each((None, 3, [], {}), "profile"),
    **each((None, 3, [], {}), "version"),
    **each((None, 0.5, "0", [], True), "seed"),
    **each((None, "1", -1, float("nan"), float("inf"), HUGE, [], True), "seconds"),
    **each((None, 3, [], "text"), "tables"),
    **each((None, 3, {}, "text", [3], [None], [[1]]), "tables", "Risks"),
    **each(([1], {"a": 1}, HUGE, float("nan")), "tables", "Risks", 0, "n"),
    "rows of other columns": changed("tables", "Risks", 0, to={"m": 1}),
    **{f"no {name} in a finding": changed("findings", 0, name) for name in TEXTS},
    **{key: text for name in TEXTS for key, text in each(NOT_TEXT, "findings", 0, name).items()},
    **{
        key: text
        for name in (*NUMBERS, "expected_certified")
        for key, text in each(("text", [], {}, HUGE, True, "1.5"), "findings", 0, name).items()
    },
    **each((3, [], {}, True), "findings", 0, "expected"),
    **each((3, [], "", "file", "file:x", "file:0", ":7", "file:-3", "file:1e3"), "findings", 0, "place"),
    **each((None, 3, [], "text"), "findings", 0, "evidence"),
    **each((3, [], "text", {"epsilon": "x"}, {"epsilon": []}), "findings", 0, "evidence", "within the claimed family"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_report_is_refused(name: str) -> None:
    with pytest.raises(InputError) as refused:
        Report.from_json(WRONG[name])
    said = str(refused.value)
    assert re.fullmatch(r"[^\n]+ must [^\n]+, got [^\n]*", said), said
    assert len(said) < 400


STRANGE = [
    "[/]", "[bold", "[/red]", "[link=x]", "\\[", "$\\frac{", "$$", "<b>&", "a\x00b\x1b[2J\x07", "\ud800", "\u202eabc",
    "\ufffe", "", " ", "\n", "é≤\U0001f600", "x\n::warning::y", "::warning::y", "x\r::warning::y", "|&_%",
]  # fmt: skip
SAID = ("experiment", "theorem", "factor", "verdict")
SIZES = (None, "inf", 0, -1, 1e308, 1e-320, 10**300, True)


def strange(text: str) -> dict[str, str]:
    """The report with a strange text in each place."""
    words = [row | {"word": word} for row in RISKS for word in (text, "other")]
    return {f"{place} {text!r}": made for place, made in {
        **{name: changed("findings", 0, name, to=text) for name in (*TEXTS, "expected")},
        "algorithms": changed("algorithms", to=[text]),
        "version": changed("version", to=text),
        "profile": changed("profile", to=text),
        "evidence": changed("findings", 0, "evidence", to={text: text}),
        "place": changed("findings", 0, "place", to=f"{text}x:3"),
        "title": changed("tables", to={text: RISKS}),
        "column": changed("tables", "Risks", to=[{text: 1.5, "n": 2}, {text: text, "n": None}]),
        "rates of": changed("tables", "Measured rates", 0, to=RATES[0] | dict.fromkeys(SAID, text)),
        "setting": changed("tables", "Risks", to=words),
    }.items()}  # fmt: skip


EPSILONS = ("inf", "-inf", "nan", None, 0, -1, 1e308, 1e-308, 10**300)
SHOWN = {
    **{name: made for text in STRANGE for name, made in strange(text).items()},
    **{name: made for field in NUMBERS for name, made in each(EPSILONS, "findings", 0, field).items()},
    **each((*SIZES, "text"), "tables", "Risks", 0, "measured"),
    **each(SIZES, "tables", "Risks", 0, "n"),
    **{
        f"exponent of {name}": made
        for name, made in each((*SIZES, "text"), "tables", "Measured rates", 0, "low").items()
    },
    "no findings": changed("findings", to=[]),
    "no tables": changed("tables", to={}),
    "an empty table": changed("tables", to={"Risks": []}),
    "rows without columns": changed("tables", to={"Risks": [{}]}),
    "rates without columns": changed("tables", to={"Measured rates": [{}]}),
    "no algorithms": changed("algorithms", to=[]),
    "more than is known": changed("findings", 0, "surprise", to=[1]),
    "a verdict that is forged": changed("findings", 0, "ok", to=True),
    "a text of a megabyte": changed("findings", 0, "reason", to="word " * 200_000),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SHOWN)
def test_what_is_a_report_is_shown(name: str) -> None:
    for format in ("json", "junit", "sarif", "github", "csv", "markdown", "latex", "terminal"):
        assert_shown(SHOWN[name], format)


@pytest.mark.filterwarnings("ignore")  # of what is drawn at the ends of the floating-point range
@pytest.mark.parametrize("turn", range(0, len(STRANGE), 4))
def test_strange_reports_as_pages(turn: int) -> None:
    """Pages draw figures, which takes long: all strange texts and numbers at once, each text in several places."""
    texts = STRANGE[turn:] + STRANGE[:turn]
    found = copy.deepcopy(GOOD)
    fields = dict(zip((*TEXTS, "expected"), texts, strict=False))
    found["findings"][0] |= fields
    found["findings"] += [FINDING_AS_JSON | {"id": f"{text}.output", field: value}
                          for text in texts[:2] for field in NUMBERS for value in EPSILONS]  # fmt: skip
    found["algorithms"], found["version"], found["profile"] = texts, texts[6], texts[7]
    risks = [{"n": n, "measured": size, "bound": 1.0, "word": text}
             for n, text in zip((100, 200) * 10, texts, strict=True) for size in (1.5, *SIZES)]  # fmt: skip
    sizes = [{"n": size, "measured": 1.0, "bound": size, "word": "x"} for size in SIZES]
    rates = [RATES[0] | dict.fromkeys(SAID, text) | {"low": size} for text, size in zip(texts, SIZES * 3, strict=False)]
    found["tables"] = {"Measured rates": rates, texts[8]: risks, "Sizes": sizes, texts[9]: [{texts[10]: 1}]}
    assert_shown(json.dumps(found), "html")


def assert_shown(text: str, format: str) -> None:
    report = Report.from_json(text)
    shown = render(report, format)
    assert shown.encode()  # no halves of characters
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]", shown)
    if format == "json":
        assert Report.from_json(shown).to_json() == report.to_json()
    elif format == "sarif":
        json.loads(shown)
    elif format == "github":  # no text is a command of its own
        commands = [line for line in shown.splitlines() if line.lstrip().startswith("::")]
        assert len(commands) <= len(report.findings)
        assert all(line.startswith(("::error ", "::notice ")) for line in commands)
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
    with suppress(InputError):
        Report.from_json(text)
        assert_shown(text, format)


@settings(deadline=None, max_examples=200, derandomize=True, database=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+$"):
        Report.from_json(content.decode("utf-8", "surrogateescape"))
