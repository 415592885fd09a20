"""What a case declares, how it is read without its library, and what its audit comes to."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "cases"
OPEN = "open"


@dataclass(frozen=True)
class Case:
    """A fault of a released library, as the literal ``CASE`` of a file says it.

    affected, mended : versions of the library; mended is "open" where no release mends it, or the version of the case
        itself is a mended twin that its ``audit`` knows
    requires : of the environment, where {version} is the affected or mended one
    claim : what the library promises, in words
    fault : what is wrong; assumption : what it hangs on, where it is no plain error
    seen : by which kind of audit
    found_here : no report was known when the case was written, and ``reported`` is the place in the source
    expected : the verdict on the affected version; "consistent" for what an auditor cannot see
    """

    name: str
    library: str
    affected: str
    mended: str
    requires: tuple[str, ...]
    claim: str
    fault: str
    reported: str
    seen: str
    python: str = "3.11"
    assumption: str = ""
    found_here: bool = False
    expected: str = "violated"

    @classmethod
    def read(cls, path: Path) -> Case:
        """Read the literal of a file, which is not imported for it."""
        found = [
            ast.literal_eval(node.value)
            for node in ast.parse(path.read_text("utf-8")).body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "CASE"
        ]
        assert len(found) == 1, f"{path.name} must have one CASE"
        wrong = found[0].keys() - {field.name for field in fields(cls)}
        assert not wrong, f"{path.name} has unknown fields: {', '.join(sorted(wrong))}"
        return cls(name=path.stem, **found[0])

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / f"{self.name}.py"

    @property
    def report(self) -> Path:
        """The report for the library's maintainers, which an open fault of a library has."""
        return FOLDER.parent / "reports" / f"{self.name}.py"

    @property
    def versions(self) -> list[str]:
        """The versions to audit."""
        return [self.affected] if self.mended == OPEN else [self.affected, self.mended]

    def requirements(self, version: str) -> list[str]:
        """Return the packages that are installed for a version of the library."""
        return [text.format(version=version) for text in self.requires]

    def audit(self, run: Callable[[str], Any]) -> Outcome:
        """Call the file's ``audit`` with what returns a function of its file as it runs in the case's environment."""
        spec = importlib.util.spec_from_file_location(f"wild_{self.name}", self.path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return Outcome.of(module.audit(run))


@dataclass(frozen=True)
class Outcome:
    """The verdict on one version: what is claimed, what was measured against it, and the part that is named."""

    verdict: str
    claimed: float
    measured: float
    part: str

    @classmethod
    def of(cls, audit: Any) -> Outcome:
        """Read an audit of dpcheck; ``(name of its number, claimed, measured, words)`` is compared as it is."""
        if isinstance(audit, tuple):
            verdict, claimed, measured, part = audit
            return cls(verdict, claimed, measured, part)
        shown = audit.to_dict()
        inner = shown.get("audit") or shown.get("low_bits") or shown
        words = shown.get("reason") or next(line for line in str(audit).splitlines() if "witness" in line)
        if "tests" in shown:  # of clipping: what one record moves, where that is too much
            order = ("sum", "replacement", "norm")
            kept = [test for test in shown["tests"] if test["test"] in order]
            worst = max(kept, key=lambda test: (test["verdict"] == "violated", order.index(test["test"])))
            claimed, measured = worst["allowed"], worst["found"]
        else:
            measured = next(inner[name] for name in ("epsilon_lower", "sensitivity") if name in inner)
            claimed = next(inner[name] for name in ("epsilon", "claimed") if name in inner)
        return cls(shown.get("verdict", audit.verdict), claimed, measured, " ".join(words.split()))


def cases() -> dict[str, Case]:
    """All cases, by name."""
    return {path.stem: Case.read(path) for path in sorted(FOLDER.glob("*.py"))}
