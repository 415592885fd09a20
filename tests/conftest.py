"""What the tests share: the installed command, and one run of the main check for all of them."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import tables

import dpcheck

ROOT = Path(__file__).resolve().parent.parent
LONGEST = (
    "checked", "test_cli.py", "test_kernel_cache.py", "test_training_step.py", "test_accounting.py",
    "test_second_route.py", "test_replay.py", "test_mlp.py",
)  # fmt: skip
TOGETHER = {  # compile the same
    "test_base_costs.py": "test_base_solvers.py",
    "test_missing_constants.py": "test_mlp.py",
    "test_docstrings.py": "test_dp_sgda.py",
}
OUTPUTS = {"json": "report.json", "junit": "report.xml", "sarif": "report.sarif", "html": "report.html"}

# In force in every Python process that has its folder on PYTHONPATH: connections fail and are noted.
_NO_NETWORK = """\
import socket

def refuse(*arguments, **options):
    with open({log!r}, "a") as log:
        log.write(repr(arguments) + "\\n")
    raise OSError("no network in this test")

socket.getaddrinfo = refuse
socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refuse
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-tables", action="store_true", help="write the tables that tests measure to tests/measured")
    parser.addoption("--part", metavar="K/N", help="run the K-th of N parts of the files, K from 0")


def pytest_configure() -> None:
    """A script that runs the suite in its background has it ignore interrupts; some tests send them.

    What the audits compile when they are imported is compiled here, before several workers do so at once.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    importlib.import_module("dpcheck.audits.membership")


def pytest_report_header() -> list[str]:
    folder = os.environ.get("DPCHECK_DATA", "not set, so that tests on larger data sets are skipped")
    return [f"dpcheck: {dpcheck.__version__} of {Path(dpcheck.__file__).parent}", f"DPCHECK_DATA: {folder}"]


@pytest.hookimpl(tryfirst=True)  # before the tests are shared out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One worker runs a file, so that what its tests share is made or compiled once; the main check is run by one too.

    The longest begin first, lest all but one worker wait for them at the end. The main check takes a minute: what it
    left behind is looked at by thorough tests.
    """
    order, groups = {}, {}
    for item in items:
        shared = "checked" in getattr(item, "fixturenames", ())
        group = "checked" if shared else TOGETHER.get(item.path.name, item.path.name)
        item.add_marker(pytest.mark.xdist_group(group))
        groups[item] = group
        if shared:
            item.add_marker(pytest.mark.thorough)
        order[item] = LONGEST.index(group) if group in LONGEST else len(LONGEST)
    items.sort(key=order.__getitem__)
    if part := config.getoption("part"):
        number, parts = map(int, part.split("/"))
        chosen = sorted(set(groups.values()))[number::parts]
        config.hook.pytest_deselected(items=[item for item in items if groups[item] not in chosen])
        items[:] = [item for item in items if groups[item] in chosen]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep what became of planted rate errors."""
    faults = sys.modules.get("rate_faults")
    if faults and faults.ROWS and session.config.getoption("keep_tables"):
        tables.write("rate_faults", faults.kept_with(tables.read("rate_faults"), faults.ROWS))


@pytest.fixture(scope="session")
def keep(request) -> Callable[[str, pd.DataFrame], None]:
    """Print a measured table; with ``--keep-tables`` also write it."""

    def keep(name: str, frame: pd.DataFrame) -> None:
        print(f"\n{frame.to_string(index=False, float_format='{:.4g}'.format)}")
        if request.config.getoption("keep_tables"):
            tables.write(name, frame)

    return keep


@dataclass(frozen=True)
class Command:
    """The ``dpcheck`` command of the Python that runs the tests, without a network."""

    path: Path
    environment: dict[str, str]
    attempts: Path

    def start(self, *arguments: str, folder: Path, **options) -> subprocess.Popen:
        return subprocess.Popen(
            [self.path, *arguments], cwd=folder, env=self.environment, text=True, stdin=subprocess.DEVNULL, **options
        )

    def __call__(self, *arguments: str, folder: Path, **options) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        with self.start(*arguments, folder=folder, **pipes) as process:
            out, err = process.communicate()
        return process.returncode, out, err


@pytest.fixture(scope="session")
def command(tmp_path_factory) -> Command:
    found = Path(sysconfig.get_path("scripts")) / ("dpcheck.exe" if os.name == "nt" else "dpcheck")
    assert found.is_file(), "the tests need dpcheck installed in the Python that runs them"
    site = tmp_path_factory.mktemp("site")
    attempts = site / "attempts.log"
    (site / "sitecustomize.py").write_text(_NO_NETWORK.format(log=str(attempts)))
    kept = {key: value for key, value in os.environ.items() if key not in ("DPCHECK_DATA", "PYTHONWARNINGS")}
    return Command(found, kept | {"PYTHONPATH": str(site), "PYTHONUTF8": "1", "COLUMNS": "100"}, attempts)


def user_folder(folder: Path, names: Sequence[str] = ("bounds", "audits")) -> Path:
    """A folder with modules of the user's own that must not be taken for dpcheck's."""
    for name in names:
        (folder / f"{name}.py").write_text(f"raise ImportError('dpcheck imported the {name}.py of its user')\n")
    return folder


@dataclass(frozen=True)
class Checked:
    """What one ``dpcheck check dp_sgda`` left behind, with every output asked for."""

    code: int
    out: str
    err: str
    folder: Path

    def read(self, format: str) -> str:
        return (self.folder / OUTPUTS[format]).read_text("utf-8")


@pytest.fixture(scope="session")
def checked(command, tmp_path_factory) -> Checked:
    """One run a session, about a minute and a half, from a folder of a user, without a network."""
    folder = user_folder(tmp_path_factory.mktemp("user"))
    outputs = [part for name, file in OUTPUTS.items() for part in (f"--{name}-output", file)]
    return Checked(*command("check", "dp_sgda", *outputs, folder=folder), folder)
