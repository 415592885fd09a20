"""Findings, how their verdicts and numbers are written on every surface, and all of one run, to JSON and back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from dpcheck.errors import is_finite, require
from dpcheck.reading import record_of, shown, typed
from dpcheck.running.files import write_text
from dpcheck.shown import readable

# The words for verdicts in reports and baselines of the schema before, and today's for them.
# A theorem's factor was "supported" where no slower exponent was left, whether or not a faster one was.
_OF_FACTORS = re.compile(r"[\w-]+\.(rate|gradients)\..+")
_NOW = {"supported": "not exceeded", "inconclusive": "untested", "not asymptotic": "untested"}
# A claim was "conditional" where a slip had to be put right, too, and where it rests on cited rates.
_SINCE = {"conditional": "conditional or misprint or proved"}

SCHEMA = "dpcheck.report/2"
_BEFORE = "dpcheck.report/1"  # whose words for a theorem's factor are others
AUDIT = "audit"  # begins the profile of a report about mechanisms of one's own

# The words that say a guarantee does not hold, and those that are no alarm by themselves; any other word is no verdict.
BROKEN = frozenset({"violated", "refuted", "contradicted"})
NO_ALARM = frozenset({
    "consistent", "inconclusive", "proved", "conditional", "misprint", "unresolved", "supported", "not asymptotic",
    "not checked", "attained", "not exceeded", "untested",
})  # fmt: skip

_GOOD = frozenset({"consistent", "proved", "supported", "attained", "not exceeded"})
_OPEN = frozenset({"inconclusive", "unresolved", "not asymptotic", "untested"})


class Standing(StrEnum):
    """What a verdict says of a guarantee, with the sign before it, so that colour is never all, and its colour."""

    GOOD = "good", "✓", "green"
    BROKEN = "broken", "✗", "bold red"
    CONDITIONAL = "conditional", "•", "yellow"
    UNDECIDED = "undecided", "?", "magenta"

    sign: str
    colour: str

    def __new__(cls, word: str, sign: str, colour: str) -> Standing:
        """Make a word that has a sign and a colour."""
        member = str.__new__(cls, word)
        member._value_, member.sign, member.colour = word, sign, colour
        return member


@dataclass(frozen=True)
class Finding:
    """One thing checked, with its verdict and what was expected.

    Attributes
    ----------
    id : str
        A stable name, such as ``"dp_sgda.repaired.transcript"``.
    kind : str
        ``"claim"``, ``"privacy"``, ``"noise"``, ``"sampling"``, ``"sensitivity"``, ``"feasibility"``, ``"schedule"``,
        ``"accounting"``, ``"rate"``, ``"bound"``, ``"utility"`` or ``"stopped"``.
    subject : str
        What was checked, a sentence.
    verdict : str
        The verdict, a word.
    reason : str
        The evidence, a sentence.
    expected : str or None
        The expected verdict, or several as in "violated or inconclusive"; None where none is expected.
    expected_certified : float or None
        The certified epsilon that is expected, where one is.
    audited, certified, claimed : float or None
        Epsilons (natural log), for findings about privacy: lower confidence bound, upper bound, claim.
    evidence : dict
        Everything that reproduces the verdict, ready for JSON.
    place : str or None
        File and line of the code that the finding is about, such as ``"dpcheck/catalogue/yang2022/nseg.py:49"``.
    """

    id: str
    kind: str
    subject: str
    verdict: str
    reason: str
    expected: str | None = None
    expected_certified: float | None = None
    audited: float | None = None
    certified: float | None = None
    claimed: float | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    place: str | None = None

    def __post_init__(self) -> None:
        """Keep of all texts what can be shown, names on one line: they come from code, data and files of anybody."""
        for name in ("id", "kind", "subject", "verdict", "reason", "expected", "place"):
            text = getattr(self, name)
            if text is not None:
                line = text if name in ("subject", "reason") else text.replace("\n", " ")
                object.__setattr__(self, name, readable(line))

    @property
    def ok(self) -> bool:
        """Whether the verdict and the certificate are expected; where none is, whether the verdict is no alarm."""
        if not self.certificate_ok or self._denies_its_numbers:
            return False
        return self.verdict in NO_ALARM if self.expected is None else self._as_expected

    @property
    def certificate_ok(self) -> bool:
        """Whether the certified epsilon is within 1 % of the expected one, where one is expected."""
        if self.expected_certified is None:
            return True
        return self.certified is not None and math.isclose(self.certified, self.expected_certified, rel_tol=0.01)

    @property
    def surprise(self) -> str:
        """What was expected in place of what was found, for a finding that is not ``ok``."""
        if not self.certificate_ok:
            return f"expected a certified epsilon of {self.expected_certified:.4g}"
        if self._denies_its_numbers:
            return "expected no epsilon above the claim in what is consistent"
        if self.expected:
            return f"expected {self.expected}"
        return "expected no broken guarantee" if self.verdict in BROKEN else "expected a verdict, and this word is none"

    @property
    def _as_expected(self) -> bool:
        known = self.verdict in BROKEN | NO_ALARM
        return known and self.expected is not None and self.verdict in self.expected.split(" or ")

    @property
    def _denies_its_numbers(self) -> bool:
        """Whether the verdict is not what the numbers beside it say, as in a file that was edited."""
        known = self.audited is not None and self.claimed is not None
        return known and self.verdict == "consistent" and not self.audited <= self.claimed  # type: ignore[operator]

    @property
    def slack(self) -> float | None:
        """Claimed over certified epsilon: the factor by which noise is wasted (below 1: missing)."""
        if not self.claimed or not self.certified:
            return None
        return self.claimed / self.certified


@dataclass(frozen=True)
class Catalogue:
    """What a report may be shown with beside its own content: what comes with dpcheck, by name.

    Attributes
    ----------
    papers : mapping of str to str
        The title of each paper whose claims are stated, by the paper's id.
    algorithms : collection of str
        The names of dpcheck's own algorithms.
    """

    papers: Mapping[str, str]
    algorithms: Collection[str]


@dataclass(frozen=True)
class Results:
    """What one run of the check found, as those who show it read it; the fields are those of its Report."""

    findings: tuple[Finding, ...]
    algorithms: tuple[str, ...]
    profile: str
    seed: int
    version: str
    seconds: float
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    catalogue: Catalogue | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Keep of all texts what can be shown, in every format."""
        findings = tuple(replace(f, evidence=_cleaned(f.evidence)) for f in self.findings)
        object.__setattr__(self, "findings", findings)
        for name in ("algorithms", "profile", "version", "tables", "made", "stages", "shown"):
            object.__setattr__(self, name, _cleaned(getattr(self, name)))

    @property
    def ok(self) -> bool:
        """Whether every finding is as expected."""
        return all(finding.ok for finding in self.findings)

    @property
    def inconclusive(self) -> bool:
        """Whether some finding could not be decided and that is not expected."""
        return any(f.verdict in _OPEN and not f._as_expected for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; ``schema`` names this layout."""
        return {
            "schema": SCHEMA,
            "ok": self.ok,
            "algorithms": list(self.algorithms),
            "profile": self.profile,
            "seed": self.seed,
            "version": self.version,
            "seconds": round(self.seconds, 3),
            "findings": [asdict(f) | {"ok": f.ok, "slack": f.slack} for f in self.findings],
            "tables": self.tables,
            "made": self.made,
            "stages": {title: round(seconds, 3) for title, seconds in self.stages.items()},
            "shown": list(self.shown),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the report as a JSON text, with infinities as strings, which JSON lacks.

        Parameters
        ----------
        path : path, optional
            A file to write it to as well.

        Returns
        -------
        str
            The text, which :meth:`from_json` reads.
        """
        text = to_json_text(self.to_dict())
        if path is not None:
            write_text(path, text + "\n")
        return text


def to_json_text(value: Any) -> str:
    """Return a value as indented JSON; infinities and NaN, which JSON lacks, as the strings "inf", "-inf", "nan"."""
    # "##[" commands the log of a CI service wherever it stands
    return json.dumps(_finite(value), indent=2, allow_nan=False).replace("##[", r"#\u0023[")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {float("inf"): "inf", float("-inf"): "-inf"}.get(value, "nan")
    if hasattr(value, "item"):  # a NumPy scalar
        return _finite(value.item())
    return value


def standing(verdict: str) -> Standing:
    """Return what a verdict says of a guarantee, whatever was expected: a leak is never ``good``."""
    if verdict in _GOOD:
        return Standing.GOOD
    if verdict in BROKEN:
        return Standing.BROKEN
    return Standing.CONDITIONAL if verdict in ("conditional", "misprint") else Standing.UNDECIDED


def format_number(value: float | int | None) -> str:
    """Print a figure for people: three or four digits, empty for None."""
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    if value != 0 and (abs(value) < 1e-3 or abs(value) >= 1e5):
        return f"{value:.2e}"
    return f"{value:.4g}" if abs(value) >= 1 else f"{value:.3f}"


_PLACE = re.compile(r".+:[1-9][0-9]{0,8}", re.DOTALL)


def parsed(report: Any) -> dict[str, Any]:
    """Return a report's fields from what its JSON holds; InputError names the place of what is wrong."""
    require(isinstance(report, dict), "report", "be an object", shown(report))
    schema = report.get("schema")
    require(schema in (SCHEMA, _BEFORE), "schema", f"be {SCHEMA}", shown(schema))
    report = {name: value for name, value in report.items() if name != "catalogue"}  # which no file says
    require("tables" in report, "report", "have tables", f"only {', '.join(report)}")
    read = record_of(Results, report, "report")
    seconds = {"seconds": read.seconds, **{f"stages.{title}": took for title, took in read.stages.items()}}
    for name, took in seconds.items():
        require(0 <= took < math.inf, name, "be a finite number >= 0", took)
    found = tuple(_checked(finding, f"findings[{number}]") for number, finding in enumerate(read.findings))
    tables = _tables(read.tables)
    if schema == _BEFORE:
        found = tuple(replace(f, verdict=_word_now(f.id, f.verdict), expected=expected_now(f.id, f.expected))
                      for f in found)  # fmt: skip
        for row in tables.get("Measured rates", []):
            row["verdict"] = _NOW.get(str(row.get("verdict")), row.get("verdict"))
    return {**vars(read), "findings": found, "tables": tables}


def finding_of(fields: dict[str, Any]) -> Finding:
    """Read a finding from a JSON object; InputError names the field that is none of a finding's."""
    return _checked(record_of(Finding, _cleaned(fields), "a finding"), "a finding")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    return type(value)(map(_cleaned, value)) if type(value) in (list, tuple) else value


def _checked(finding: Finding, name: str) -> Finding:
    """Require what the types of a finding's fields do not say."""
    place, family = finding.place, finding.evidence.get("within the claimed family")
    require(place is None or _PLACE.fullmatch(place) is not None, f"{name}.place", "be FILE:LINE", shown(place))
    if family is not None:
        inside = f"{name}.evidence: within the claimed family"
        require(isinstance(family, dict), inside, "be an object", shown(family))
        if "epsilon" in family:
            family["epsilon"] = typed(float | None, family["epsilon"], f"{inside}.epsilon")
    return finding


def _tables(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    for title, rows in tables.items():
        require(all(row.keys() == rows[0].keys() for row in rows), title, "have the same columns in each row", "others")
        for number, row in enumerate(rows):
            for column, cell in row.items():
                good = cell is None or isinstance(cell, str | bool) or is_finite(cell)
                require(good, f"{title}[{number}].{column}", "be a number or a text", shown(cell))
    return {title: rows for title, rows in tables.items() if rows}


def _word_now(id: str, words: Any) -> Any:
    """Return a verdict, or several with "or", of a report or baseline before in today's words."""
    if not isinstance(words, str) or not _OF_FACTORS.fullmatch(id):
        return words
    return " or ".join(dict.fromkeys(_NOW.get(word, word) for word in words.split(" or ")))


def expected_now(id: str, words: Any) -> Any:
    """Return what a report or baseline before expected in today's words."""
    now = _word_now(id, words)
    return _SINCE.get(now, now)
