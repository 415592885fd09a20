"""What a report says in two statements that are never mixed: what was found, and whether that was expected.

The first is about the papers and the code: a guarantee holds, or is broken. The second is about the last time: a
verdict is the expected one, or it changed. Both are computed from the findings alone.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpcheck.report.results import AUDIT, BROKEN, Finding, Results, standing

_MANY = 3  # algorithms from which on the result counts them, and names those that leak
_VARIANTS = {"as_printed": "as published", "repaired": "repaired"}
# The kinds of findings in the order in which a reader wants them, and what their rows are called.
KINDS = {
    "privacy": "privacy audits", "claim": "claims", "rate": "rates", "bound": "bounds", "accounting": "certificates",
    "sensitivity": "sensitivities", "noise": "noise", "sampling": "minibatches", "schedule": "schedules",
    "feasibility": "iterates", "utility": "utility", "stopped": "stopped", "missing": "missing", "baseline": "baseline",
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """What the privacy findings say of one variant of an algorithm: as published, repaired, or the only one ("")."""

    algorithm: str
    name: str
    findings: tuple[Finding, ...]

    @cached_property
    def leak(self) -> Finding | None:
        """The finding whose audited epsilon is farthest above the claimed one."""
        leaks = [f for f in self.findings if _above(f.audited, f.claimed) > 1]
        return max(leaks, key=lambda f: _above(f.audited, f.claimed), default=None)

    @property
    def verdict(self) -> str:
        """The worst of the verdicts."""
        return min((f.verdict for f in self.findings), key=_seriousness)

    @property
    def words(self) -> str:
        """What holds, such as "leaks: epsilon >= 4.05 where 1 is claimed", or the verdict of its audits alone."""
        if self.leak is not None:
            return f"leaks: epsilon >= {_brief(self.leak.audited)} where {_brief(self.leak.claimed)} is claimed"
        for f in self.findings:
            if f.verdict in BROKEN and _above(f.certified, f.claimed) > 1:
                return f"is certified at epsilon {_brief(f.certified)} only, where {_brief(f.claimed)} is claimed"
        return self.verdict if self.verdict in BROKEN else f"audits {self.verdict}"

    @property
    def sentence(self) -> str:
        """The whole of it: the algorithm, the variant, what holds."""
        verb = " " if self.verdict in BROKEN and self.words != self.verdict else ": "
        return f"{self.algorithm} {self.name}".rstrip() + verb + self.words


@dataclass(frozen=True)
class Summary:
    """What a report says, for those who show it: computed from its findings alone."""

    report: Results

    @property
    def title(self) -> str:
        """The algorithms that were checked."""
        names = self.report.algorithms
        return ", ".join(names) if len(names) <= _MANY else f"{len(names)} algorithms"

    @property
    def several(self) -> bool:
        """Whether more than one algorithm was checked."""
        return len(self.report.algorithms) > 1

    @cached_property
    def papers(self) -> dict[str, str]:
        """The papers whose claims were decided, by id, each with its title; no title of a paper that is not known."""
        titles = {} if self.report.catalogue is None else self.report.catalogue.papers
        return {paper: titles.get(paper, "") for paper in (f.id.partition(".")[0] for f in self.statements)}

    @cached_property
    def statements(self) -> tuple[Finding, ...]:
        """The decided statements of papers; a number that was computed about one of them is a finding, and none."""
        return tuple(f for f in self._of("claim") if "statement" in f.evidence)

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """What the privacy findings say, one an algorithm and variant: as published first, then repaired."""
        groups: dict[tuple[str, str], list[Finding]] = {}
        for f in self._of("privacy"):
            algorithm, *parts = f.id.split(".")
            name = next((word for part, word in _VARIANTS.items() if part in parts), "")
            groups.setdefault((algorithm, name), []).append(f)
        order = (*_VARIANTS.values(), "")
        ordered = sorted(groups, key=lambda key: (self._place(key[0]), order.index(key[1])))
        return tuple(Variant(*key, tuple(groups[key])) for key in ordered)

    @property
    def result(self) -> tuple[str, ...]:
        """What is true of the papers and the code, in sentences, whatever was expected; what is broken first."""
        return tuple(words for words, _ in self.sentences)

    def tightest(self, rows: int) -> tuple[Finding, ...]:
        """The privacy findings that say most, as many of each variant: the broken, then those nearest their claim."""

        def rank(f: Finding) -> tuple[bool, float]:
            return f.verdict in BROKEN, _above(f.audited, f.claimed)

        share = max(rows // max(len(self.variants), 1), 1)
        tightest = (f for variant in self.variants for f in sorted(variant.findings, key=rank, reverse=True)[:share])
        return tuple(tightest)[:rows]

    @cached_property
    def algorithms(self) -> tuple[tuple[str, Finding, str], ...]:
        """Each algorithm by its name, with its worst finding, and what holds of it in a sentence."""
        privacy, lines = self._privacy(), []
        for name in self.report.algorithms:
            findings = [f for f in self.report.findings if f.id == name or f.id.startswith(f"{name}.")]
            if not findings:
                continue
            worst = min(findings, key=_urgency)
            broken = self._counted(f for f in findings if f.kind != "privacy" and f.verdict in BROKEN)
            checks = [f"{count} check{_s(count)} {word}" for word, count in broken.items()]
            if name in privacy:
                words = [privacy[name][0], *checks]
            else:
                words = [f"{name}: {', '.join(checks) or worst.verdict}"]
            lines.append((name, worst, "; ".join(words)))
        return tuple(lines)

    @property
    def headlines(self) -> tuple[tuple[str, bool], ...]:
        """The sentences of the result that count, beside which each algorithm has a line of its own."""
        return self._sentences(self._leaking()[:1])

    @cached_property
    def sentences(self) -> tuple[tuple[str, bool], ...]:
        """The sentences of the result, each with whether it says that something is broken; those first."""
        few = len(self.report.algorithms) <= _MANY
        return self._sentences([*self._privacy().values()] if few else self._leaking())

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that break a guarantee or a statement, whatever was expected: leaks, faults, then claims."""
        return tuple(f for f in self.worst if f.verdict in BROKEN)

    @property
    def worst(self) -> tuple[Finding, ...]:
        """What does not hold as it stands: what is broken, then what is undecided, then what holds on a condition."""
        return tuple(sorted((f for f in self.report.findings if standing(f.verdict) != "good"), key=_urgency))

    @property
    def next(self) -> str:
        """The one command to go on with: it explains the worst finding, or lists them all."""
        for f in (*self.changed, *self.worst):
            return self.command(f)
        made = self.report.made.get("command") or f"dpcheck check {' '.join(self.report.algorithms)}"
        return f"{made} --verbose"

    @property
    def holds(self) -> bool:
        """Whether nothing that was checked is broken."""
        return not self.broken

    @property
    def changed(self) -> tuple[Finding, ...]:
        """The findings whose verdict or certificate is not the expected one, what is broken first."""
        return tuple(sorted((f for f in self.report.findings if not f.ok), key=_urgency))

    @property
    def expecting(self) -> bool:
        """Whether a verdict is expected of anything, so that there is something to compare with."""
        return any(f.expected is not None or f.expected_certified is not None for f in self.report.findings)

    @property
    def badge(self) -> str:
        """Whether the verdicts are the expected ones: "as expected", "2 findings changed", ..."""
        new = sum(f.expected is None and f.certificate_ok for f in self.changed)
        old = len(self.changed) - new
        parts = [f"{old} finding{_s(old)} changed"] * bool(old) + [f"{new} new violation{_s(new)}"] * bool(new)
        if parts:
            return ", ".join(parts)
        return "as expected" if self.expecting else "no new violation"

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many findings there are: kind -> verdict -> count, kinds as in ``KINDS``, broken verdicts first."""
        kinds = sorted({f.kind for f in self.report.findings}, key=lambda kind: _index(list(KINDS), kind))
        return {kind: self._counted(self._of(kind)) for kind in kinds}

    @cached_property
    def totals(self) -> dict[str, int]:
        """How many findings there are: verdict -> count, broken verdicts first."""
        return self._counted(self.report.findings)

    @property
    def stages(self) -> list[dict[str, Any]]:
        """A row for each stage of the check with its seconds, the slowest first."""
        slowest = sorted(self.report.stages.items(), key=lambda stage: -stage[1])
        return [{"seconds": seconds, "stage": title} for title, seconds in slowest]

    def command(self, finding: Finding) -> str:
        """Return the command that explains a finding: what it rests on, step by step."""
        if finding in self.statements:
            return f"dpcheck prove {_quoted(finding.id.partition('.')[2])} --explain"
        if self.report.profile.startswith(AUDIT):
            return f"{self.report.made.get('command') or 'dpcheck audit'} --explain {_quoted(finding.id)}"
        names = self.report.algorithms
        shipped = names if self.report.catalogue is None else self.report.catalogue.algorithms
        about = finding.id.partition(".")[0]
        name = about if about in {*names, *shipped} else " ".join(names)
        if name not in shipped and finding.place:  # one that a file declares
            name = _quoted(finding.place.rpartition(":")[0])
        options = f" --seed {self.report.seed}" * bool(self.report.seed)
        options += f" --profile {self.report.profile}" * (self.report.profile != "quick")
        return f"dpcheck check {name}{options} --explain {_quoted(finding.id)}"

    def _sentences(self, privacy: list[tuple[str, bool]]) -> tuple[tuple[str, bool], ...]:
        sentences = [*privacy, *self._claims(), *self._rates(), *self._code()]
        sentences.sort(key=lambda sentence: not sentence[1])
        return tuple((f"{words}.", broken) for words, broken in sentences) or (("Nothing was checked.", False),)

    def _of(self, kind: str) -> list[Finding]:
        return [f for f in self.report.findings if f.kind == kind]

    def _place(self, algorithm: str) -> int:
        return _index(list(self.report.algorithms), algorithm)

    @staticmethod
    def _counted(findings: Iterable[Finding]) -> dict[str, int]:
        counts = Counter(f.verdict for f in findings)
        return {word: counts[word] for word in sorted(counts, key=lambda word: (_seriousness(word), word))}

    def _privacy(self) -> dict[str, tuple[str, bool]]:
        """A sentence for each algorithm, all of its variants in it, and whether one is broken."""
        sentences: dict[str, tuple[str, bool]] = {}
        for variant in self.variants:
            words, broken = sentences.get(variant.algorithm, ("", False))
            words = f"{words}; {variant.name or 'else'}: {variant.words}" if words else variant.sentence
            sentences[variant.algorithm] = words, broken or variant.verdict in BROKEN
        return sentences

    def _leaking(self) -> list[tuple[str, bool]]:
        """How many algorithms leak, and which."""
        leaks = [variant for variant in self.variants if variant.verdict in BROKEN]
        audited = len({variant.algorithm for variant in self.variants})
        if not leaks:
            words = f"No privacy guarantee of {audited} audited algorithms was found broken"
            return [(words, False)] if audited else []
        count = len({variant.algorithm for variant in leaks})
        verb = "breaks" if count == 1 else "break"
        words = f"{count} of {audited} audited algorithms {verb} the claimed privacy"
        return [(words, True), *((variant.sentence, True) for variant in leaks)]

    def _claims(self) -> list[tuple[str, bool]]:
        claims = self.statements
        if not claims:
            return []
        refuted = sum(f.verdict in BROKEN for f in claims)
        papers = " and ".join(self.papers) if len(self.papers) <= _MANY else f"{len(self.papers)} papers"
        misprinted = sum(f.verdict == "misprint" for f in claims)
        words = f"{refuted or 'None'} of the {len(claims)} claims of {papers} {_are(max(refuted, 1))} refuted"
        words += f", {misprinted} {_are(misprinted)} misprinted" if misprinted else ""
        return [(words, refuted > 0)]

    def _rates(self) -> list[tuple[str, bool]]:
        rates = self._of("rate")
        against = sum(f.verdict in BROKEN for f in rates)
        return [(f"{against} of {len(rates)} measured rates {_are(against)} contradicted", True)] if against else []

    def _code(self) -> list[tuple[str, bool]]:
        """What else is broken, named where it is little; where a variant leaks, these are most often the causes."""
        broken = [f for f in self.broken if f.kind not in ("privacy", "rate") and f not in self.statements]
        if not broken:
            return []
        count, kinds = len(broken), dict.fromkeys(KINDS.get(f.kind, f.kind) for f in broken)
        named = ", ".join([f.id for f in broken] if count <= _MANY else kinds)
        further = "further " * any(variant.verdict in BROKEN for variant in self.variants)
        return [(f"{count} {further}check{_s(count)} {_are(count)} violated ({named})", True)]


def _brief(value: float | None) -> str:
    """Print an epsilon for a sentence: three digits, whole numbers as such, nothing for None."""
    return "" if value is None else f"{value:.3g}"


def _above(value: float | None, claimed: float | None) -> float:
    """How many times a value is the claimed one; 0 where either is missing."""
    if value is None or claimed is None:
        return 0.0
    if claimed == 0:
        return math.inf if value > 0 else 0.0
    return value / claimed


def _quoted(name: str) -> str:
    """A name for the shell, with double quotes around one that holds a single quote."""
    return f'"{name}"' if "'" in name and not set(name) & set('"$`\\!') else shlex.quote(name)


def _seriousness(verdict: str) -> int:
    """The rank of a verdict, 0 for a broken guarantee."""
    return ("broken", "undecided", "conditional", "good").index(standing(verdict))


def _urgency(finding: Finding) -> tuple[int, int, float]:
    """What a reader wants first: broken before undecided, leaks before faults before claims, large before small."""
    kinds = [kind for kind in KINDS if kind != "claim"]
    return _seriousness(finding.verdict), _index(kinds, finding.kind), -_above(finding.audited, finding.claimed)


def _index(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
