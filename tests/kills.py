"""Commands that are killed at random moments and started again until they end: what they say, and what they leave."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

MECHANISMS = """
import os, time
def noisy(data, rng):
    time.sleep(0.0003)
    return sum(data) + rng.laplace(scale=2.0)
def many(data, rng, size):
    time.sleep(0.05)
    return sum(data) + rng.laplace(scale=8.0, size=(size, 3))
"""
_PAIR = ("--data", "[1,2,3]", "--neighbour", "[1,2,4]", "--epsilon", "1")
COMMANDS = {
    "audit": ("audit", "others:noisy", *_PAIR, "--trials", "1500"),
    "audit, two processes": ("audit", "others:noisy", *_PAIR, "--trials", "3000", "--jobs", "2"),
    "audit, vectorized": ("audit", "others:many", *_PAIR, "--trials", "150000", "--vectorized", "--jobs", "2"),
    "audit, sequential": ("audit", "others:noisy", *_PAIR, "--trials", "1500", "--sequential"),
    "measure": ("measure", "dp_sgda", "steps=4000", "--vary", "n=2000,4000", "--seeds", "16", "--jobs", "2"),
    "check": ("check", "dptd", "--jobs", "2"),
}
ROUNDS = (7, 2)  # of the short commands, and of a check
SIGNALS = (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)
_GONE_WITHIN = 5.0  # seconds
_MARK = "DPCHECK_KILLS"


@dataclass(frozen=True)
class Told:
    """How often a command was killed, what it said in the end, and how long processes stayed after a kill."""

    kills: int
    said: str
    longest: float


def command(arguments: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "dpcheck", *arguments]


def plain(text: str) -> str:
    """What a command said, without what it took."""
    return re.sub(r"\d[\d.]* (s|min|seconds)\b", "TIME", text)


def said_at_once(arguments: tuple[str, ...], folder: Path) -> tuple[str, float]:
    """The output of a run that nobody disturbs, and its seconds."""
    started = time.monotonic()
    found = subprocess.run(command(arguments), cwd=folder, capture_output=True, text=True, check=True)
    return plain(found.stdout), time.monotonic() - started


def killed(arguments: tuple[str, ...], folder: Path, sent: list[signal.Signals], seconds: float, seed: int) -> Told:
    """Start the command with a store, end it by each signal in turn, at moments up to ``seconds``, then let it end."""
    moments, kills, longest = random.Random(seed), 0, 0.0
    stored = command((*arguments, "--store", f"kept{seed}"))
    for number, each in enumerate(sent):
        mark = f"{os.getpid()}.{seed}.{number}"
        with subprocess.Popen(
            stored, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {_MARK: mark},
        ) as process:  # fmt: skip
            time.sleep(moments.uniform(0.5, max(1.0, seconds)))
            if process.poll() is None:
                process.send_signal(each)
                kills += 1
            at = time.monotonic()
            while left := alive(mark):
                if time.monotonic() - at > 4 * _GONE_WITHIN:
                    raise AssertionError(f"{each.name} left {left} of {arguments}")
                time.sleep(0.05)
            longest = max(longest, time.monotonic() - at)
    found = subprocess.run(stored, cwd=folder, capture_output=True, text=True, check=True)
    return Told(kills, plain(found.stdout), longest)


def alive(mark: str) -> list[str]:
    """The processes, apart from those that have ended, whose environment has the mark, which children inherit."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if not folder.name.isdecimal() or f"{_MARK}={mark}".encode() not in (folder / "environ").read_bytes().split(
                b"\0"
            ):
                continue
            if (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def prepared(folder: Path) -> Path:
    (folder / "others.py").write_text(MECHANISMS)
    return folder
