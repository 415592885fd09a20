"""A user's mechanisms and their audits: declared in a file, run with a store, reported as findings.

The file is a pyproject.toml::

    [tool.dpcheck]
    confidence = 0.95                     # of all audits of the file together
    seed = 0

    [[tool.dpcheck.mechanisms]]
    mechanism = "mechanisms:noisy_sum"    # MODULE:FUNCTION or FILE.py:FUNCTION, found beside the file
    data = [0, 1, 1]                      # or the name of a .npy, .csv, .json or .parquet file
    neighbour = [0, 1, 0]                 # left out: searched, as neighbours, group and records say
    epsilon = 1.0                         # or claim = "mechanisms:EVENTS"
    delta = 1e-5
    trials = 20_000
    expected = "consistent"               # or "violated", for a leak that is known
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpcheck import __version__
from dpcheck.arrays import Floats
from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.audits.named_part import named_part
from dpcheck.audits.neighbours import around
from dpcheck.audits.running import SIDES, Chunk
from dpcheck.audits.running.datasets import fingerprint
from dpcheck.audits.search import NeighbourAudit, audit_neighbours
from dpcheck.commands import inputs
from dpcheck.errors import InputError, one_line, require, require_confidence, require_count, require_work
from dpcheck.reading import record_of, toml_of, within
from dpcheck.report.findings import Finding, Report, provenance
from dpcheck.report.results import AUDIT
from dpcheck.running.executor import Executor
from dpcheck.running.store import Store, digest_of
from dpcheck.source import place_of


@dataclass(frozen=True)
class Declared:
    """A mechanism as a file declares it: what to run, on which data, and what is claimed and expected of it."""

    mechanism: str
    data: Any
    neighbour: Any = None
    neighbours: Literal["replace_one", "add_or_remove_one", "both"] = "replace_one"
    group: int = 1
    records: Literal["finite", "inside", "any"] = "finite"
    name: str = ""
    epsilon: float | None = None
    claim: str | None = None
    delta: float | None = None
    trials: int = 100_000
    vectorized: bool = False
    seeded: bool = True
    expected: Literal["consistent", "violated", "inconclusive"] | None = None


@dataclass(frozen=True)
class MechanismFile:
    """All mechanisms of a file, and what their audits share."""

    path: Path
    mechanisms: tuple[Declared, ...]
    confidence: float = 0.95
    seed: int = 0

    @property
    def confidence_of_each(self) -> float:
        """The confidence of each audit at which all of them together have the one that was asked for (Bonferroni)."""
        return 1 - (1 - self.confidence) / len(self.mechanisms)

    def reads(self) -> list[Path]:
        """Return the files that are read of the mechanisms: their code, and data that is not in the file itself."""
        with self.beside():
            code = [
                inputs.file_of(path.partition(":")[0]) for m in self.mechanisms for path in (m.mechanism, m.claim or "")
            ]
            data = [Path(text) for m in self.mechanisms for text in (m.data, m.neighbour) if isinstance(text, str)]
            return [path.absolute() for path in (*code, *data) if path is not None]

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Work in the folder of the file, where its modules and data lie."""
        before, path = Path.cwd(), list(sys.path)
        os.chdir(self.path.resolve().parent)
        try:
            yield
        finally:
            os.chdir(before)
            sys.path[:] = path


def read_mechanisms(path: str) -> MechanismFile:
    """Read ``[tool.dpcheck]`` of a TOML file; InputError for what cannot be read or declares no mechanism rightly."""
    with within(path):
        settings = toml_of(path, "tool.dpcheck")
        require(bool(settings.get("mechanisms")), "the file", "hold [[tool.dpcheck.mechanisms]]", "none")
        read = record_of(_Settings, settings, "[tool.dpcheck]", others=False)
        require_confidence(read.confidence)
        require_count(read.seed, "seed", least=0)
        declared = tuple(_declared(entry, number) for number, entry in enumerate(read.mechanisms, 1))
        names = [mechanism.name for mechanism in declared]
        require(len(set(names)) == len(names), "mechanisms", "have names of their own", ", ".join(names))
    return MechanismFile(Path(path), declared, read.confidence, read.seed)


@dataclass(frozen=True)
class _Settings:
    mechanisms: list[dict[str, Any]]
    confidence: float = 0.95
    seed: int = 0


def _declared(entry: dict[str, Any], number: int) -> Declared:
    what = f"mechanism {number}"
    read = record_of(Declared, entry, what, others=False)
    searched = entry.keys() & {"neighbours", "group", "records"}
    alone = read.neighbour is None or not searched
    require(alone, what, "leave neighbour out where neighbours are searched", ", ".join(sorted(searched)))
    require((read.epsilon is None) != (read.claim is None), what, "hold either epsilon or claim", ", ".join(entry))
    name = read.name or read.mechanism.rpartition(":")[2]
    good = name.replace("-", "_").isidentifier()
    require(good, f"{what}.name", "be letters, digits, _ and -", name)
    return replace(read, name=name)


def dataset(value: Any, name: str) -> Any:
    """A data set that a file gives as it is, or names the file of."""
    import json

    return inputs.dataset(value if isinstance(value, str) else json.dumps(value), name)


def audit_all(
    file: MechanismFile, *, jobs: int | None = None,
    watch: Callable[[str, int, int], object] | None = None, store: Store | None = None,
    executor: Executor | None = None,
) -> Report:  # fmt: skip
    """Audit every mechanism of a file; ``watch`` is called with the name, how many are done, and how many there are.

    A file of correct mechanisms has one of them called violated with probability at most ``1 - file.confidence``: each
    audit has its share of that (Bonferroni).
    """
    started = time.perf_counter()
    findings = []
    with file.beside():
        for done, mechanism in enumerate(file.mechanisms):
            if watch is not None:
                watch(mechanism.name, done, len(file.mechanisms))
            finding = _audited(mechanism, file, jobs, store, executor)
            findings.append(replace(finding, expected=mechanism.expected))
    names = tuple(mechanism.name for mechanism in file.mechanisms)
    seconds = time.perf_counter() - started
    profile = (
        f"{AUDIT} at confidence {file.confidence:g} over all {len(names)} mechanisms, "
        f"{file.confidence_of_each:.4g} each (Bonferroni)"
    )
    return Report(tuple(findings), names, profile, file.seed, __version__, seconds, {}, provenance())


def one_report(audit: Any, mechanism: Any, name: str, seconds: float, part: str = "") -> Report:
    """The report of a single audit; ``part`` names what is wrong with the mechanism, where that is known."""
    finding = _finding(audit, mechanism, name, part)
    audit = getattr(audit, "audit", audit)  # of the pair that a search took
    profile = f"{AUDIT} at confidence {audit.confidence:g}"
    return Report((finding,), (name,), profile, audit.seed or 0, __version__, seconds, {}, provenance())


def audit_around(
    mechanism: Any, path: str, data: Any, *, relation: str, group: int, records: str, trials: int, store: Store | None,
    seed: int, vectorized: bool, **how: Any,
) -> NeighbourAudit:  # fmt: skip
    """Search a pair around a data set and audit it, by ``trials`` runs on either dataset in all."""
    require_work(trials, "trials", least=100)
    pairs = around(data, relation=relation, group=group, records=records)

    def kept(ours: Any, theirs: Any) -> StoredRuns:
        assert store is not None
        return StoredRuns(store, path, ours, theirs, vectorized=vectorized, seed=seed)

    search = trials // _SEARCH
    return audit_neighbours(
        mechanism, pairs, trials=max(100, trials - search), search=search, shrink=True, seed=seed,
        vectorized=vectorized, kept=None if store is None else kept, **how,
    )  # fmt: skip


_SEARCH = 4  # one in so many runs goes into the search


def _audited(
    declared: Declared, file: MechanismFile, jobs: int | None, store: Store | None, executor: Executor | None
) -> Finding:
    mechanism = inputs.mechanism(declared.mechanism, vectorized=declared.vectorized)
    data, store = dataset(declared.data, "data"), store if declared.seeded else None
    how: dict[str, Any] = {
        "epsilon": declared.epsilon, "claim": inputs.named(declared.claim, "claim") if declared.claim else None,
        "delta": declared.delta, "trials": declared.trials, "confidence": file.confidence_of_each, "seed": file.seed,
        "seeded": declared.seeded, "vectorized": declared.vectorized, "jobs": jobs,
        "executor": executor if declared.seeded else None,
    }  # fmt: skip
    audit: PrivacyAudit | NeighbourAudit
    if declared.neighbour is None:
        audit = audit_around(
            mechanism, declared.mechanism, data, relation=declared.neighbours, group=declared.group,
            records=declared.records, store=store, **how,
        )  # fmt: skip
        part = audit.hint
    else:
        pair, runs = (data, dataset(declared.neighbour, "neighbour")), None
        if store is not None:
            runs = StoredRuns(store, declared.mechanism, *pair, vectorized=declared.vectorized, seed=file.seed)
        audit = audit_privacy(mechanism, *pair, runs=runs, **how)
        part = named_part(audit, mechanism, *pair, vectorized=declared.vectorized)
    finding = _finding(audit, mechanism, declared.name, part)
    return finding if finding.place else replace(finding, place=f"{file.path.name}:1")


def _finding(audit: Any, mechanism: Any, name: str, part: str) -> Finding:
    pair, evidence = "", audit.to_dict()
    if isinstance(audit, NeighbourAudit):
        evidence = flat(audit)
        outside = f" (outside the range of the data: {audit.pair.outside})" if audit.pair.outside else ""
        pair = f"; pair: {audit.pair.words}{outside}"
        audit = audit.audit
    words = getattr(audit, "claim", None)  # a sequential audit has none
    claim = f"({audit.epsilon:g}, {audit.delta:g})-privacy" if words is None else words
    return Finding(
        f"{name}.output", "privacy", f"{name}: {claim}", audit.verdict,
        f"epsilon >= {audit.epsilon_lower:.4g} at delta {audit.delta:g} with confidence {audit.confidence:g}; "
        f"witness: {getattr(audit, 'witness', audit.event)}{pair}{'; hint: ' * bool(part)}{part}",
        audited=audit.epsilon_lower, claimed=audit.epsilon, evidence={"audit": evidence},
        place=place_of(mechanism) or None,
    )  # fmt: skip


def flat(audit: NeighbourAudit) -> dict[str, Any]:
    """Return the audit of a pair that was searched as that of a given one, with what the search says besides."""
    found = audit.to_dict()
    return {**found.pop("audit"), **found}


class StoredRuns:
    """Outputs by chunk, of one mechanism on two data sets with one seed.

    Their key holds the data, the seed and the Python files beside the mechanism. What else its outputs depend on, such
    as a library, cannot be seen: so the first chunk on each data set is run every time, and must be what was stored.
    """

    def __init__(self, store: Store, mechanism: str, data: Any, neighbour: Any, *, vectorized: bool, seed: int) -> None:
        fingerprints = [fingerprint(data), fingerprint(neighbour)]
        must = "be numbers, texts, arrays or lists of these where there is a store"
        require(None not in fingerprints, "data", must, "others")
        self._store = store
        self._key = ["runs", mechanism, sources(mechanism), *fingerprints, vectorized, seed]
        self._first: list[Chunk | None] = [None for _ in SIDES]

    def __contains__(self, chunk: object, /) -> bool:
        """Whether a chunk need not be run."""
        assert isinstance(chunk, Chunk)
        if self._first[chunk.side] in (None, chunk):
            self._first[chunk.side] = chunk
            return False
        return self._stored(chunk) is not None

    def __getitem__(self, chunk: Chunk, /) -> Floats:
        """Return what is stored."""
        outputs = self._stored(chunk)
        if outputs is None:
            raise KeyError(chunk)
        return outputs

    def __setitem__(self, chunk: Chunk, outputs: Floats, /) -> None:
        """Store what was run, which must be what is stored of a chunk that was run before."""
        before = self._stored(chunk)
        if before is None:
            self._store.put_array(self._key_of(chunk), outputs)
        elif not np.array_equal(before, outputs, equal_nan=True):
            raise InputError(
                "mechanism must give the outputs that the store has, got others: something that it uses changed; "
                "name another --store"
            )

    def _stored(self, chunk: Chunk) -> Floats | None:
        return self._store.get_array(self._key_of(chunk))

    def _key_of(self, chunk: Chunk) -> list[Any]:
        return [*self._key, chunk.side, chunk.number, chunk.size]


def sources(mechanism: str) -> str:
    """Return a digest of the Python files beside that of a MODULE:FUNCTION, which is not imported for it."""
    file = inputs.file_of(mechanism.partition(":")[0])
    try:
        return "" if file is None else digest_of(beside for beside in file.parent.glob("*.py") if beside.is_file())
    except OSError as error:
        raise InputError(f"the files beside {mechanism} must be readable: {one_line(error)}") from error
