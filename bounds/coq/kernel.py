"""What Coq's kernel has accepted: ``kernel.json``, written by ``python -m dpcheck.bounds.coq``.

An entry belongs to a statement and holds its proof and the hash of both with the library; nothing
else makes a step "kernel". Looking up needs no Coq.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from dpcheck.bounds.coq.statement import Statement, statement


@dataclass(frozen=True)
class Accepted:
    """A proof that Coq accepted: its script, and the hash of statement, script and library."""

    proof: str
    sha256: str


def accepted(step: Any) -> bool:
    """Say whether Coq's kernel has accepted the step as it is stated now."""
    stated = statement(step)
    return stated is not None and proof(stated) is not None


def proof(stated: Statement) -> str | None:
    """Return the accepted script for the statement, or ``None``."""
    entry = recorded().get(stated.sha256)
    return entry.proof if entry is not None and entry.sha256 == fingerprint(stated, entry.proof) else None


def theorem(name: str, stated: Statement, script: str) -> str:
    """Return the theorem with its proof, as Coq reads it."""
    return f"Theorem {name} :\n  {stated.text}.\nProof.\n{script}\nQed."


def fingerprint(stated: Statement, script: str) -> str:
    """Return the hash of the theorem and the library its words come from."""
    return hashlib.sha256(f"{library()}\n{theorem('step', stated, script)}".encode()).hexdigest()


@functools.cache
def library() -> str:
    """Return the definitions and tactics the theorems use."""
    return resources.files("dpcheck.bounds.coq").joinpath("library.v").read_text("utf-8")


@functools.cache
def recorded() -> Mapping[str, Accepted]:
    """Return what was accepted for a statement, by its hash."""
    text = resources.files("dpcheck.bounds").joinpath("kernel.json").read_text("utf-8")
    return {key: Accepted(**entry) for key, entry in json.loads(text)["theorems"].items()}


@functools.cache
def version() -> str:
    """Return the version of Coq that accepted them."""
    text = resources.files("dpcheck.bounds").joinpath("kernel.json").read_text("utf-8")
    return str(json.loads(text)["coq"])


def text(found: Mapping[str, Accepted], coq: str) -> str:
    """Return the file of these theorems, one line each."""
    lines = [
        f"  {json.dumps(key)}: {json.dumps({'sha256': each.sha256, 'proof': each.proof})}"
        for key, each in sorted(found.items())
    ]
    return f'{{\n "coq": {json.dumps(coq)},\n "theorems": {{\n' + ",\n".join(lines) + "\n }\n}\n"
