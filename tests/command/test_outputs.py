"""What a command writes: no input, no source and no other output is overwritten, and an old file is never half gone.

The trials are made of the arguments' definitions: an option that is added is tried, or makes a test fail.
"""

from __future__ import annotations

import itertools
import os
import resource
import sys
import unicodedata
from argparse import Action, ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpcheck.cli import _parsers, main
from dpcheck.commands.files import File, Files
from dpcheck.errors import InputError
from dpcheck.report.findings import Finding, Report

PARSERS = _parsers()[1]
# what a command line needs, by the name of the argument
NEEDED = {
    "report": {"file": "r.json"}, "audit": {"mechanism": "mech.py:mean", "--data": "[1]", "--epsilon": "1"},
    "write": {"module": "mech.py"}, "rate": {"file": "d.csv", "--response": "a", "--factors": "b"},
    "measure": {"algorithm": "dp_sgda"}, "solve": {"algorithm": "dp_sgda"}, "reproduce": {"experiment": "a.b"},
    "check": {}, "prove": {}, "certify": {}, "compare": {"before": "r.json", "after": "r.json"},
    "history": {"folder": "runs"}, "show": {"theorem": "a.b"}, "list": {}, "bugs": {},
}  # fmt: skip
WRITES = (File.WRITTEN, File.SCRIPT, File.NEW, File.FOLDER)
REPORT = Report(
    (Finding("a.output", "privacy", "what", "violated", "why", audited=1.5, certified=2.0, claimed=1.0),),
    ("a",), "quick", 0, "0.1.0", 1.5,
)  # fmt: skip
MECHANISM = "def mean(data, rng):\n    return sum(data) + rng.laplace(scale=0.2)\n"


def name_of(action: Action) -> str:
    return action.option_strings[-1] if action.option_strings else action.dest


def arguments(parser: ArgumentParser, *roles: File) -> list[Action]:
    return [action for action in parser._actions if action.type in roles]


def line(command: str, **given: str) -> list[str]:
    """A command line with what the command needs, and these arguments."""
    values = ({} if "--all" in given else NEEDED[command]) | given
    if "--claim" in given:
        del values["--epsilon"]
    placed = [value for name, value in values.items() if not name.startswith("-")]
    return [command, *placed, *(f"{name}={value}" for name, value in values.items() if name.startswith("-"))]


def refusal(arguments: list[str]) -> str:
    """What the command says of its files before it begins; nothing where they are apart."""
    command, *rest = arguments
    try:
        Files.of(PARSERS[command], PARSERS[command].parse_intermixed_args(rest)).require_apart()
    except InputError as error:
        return str(error)
    return ""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mech", raising=False)
    for name in ("input.py", "dpcheck.sqlite", "reproduce.sqlite"):
        Path(name).write_text("kept")
    Path("sub").mkdir()
    Path("around").symlink_to(".")
    return tmp_path


def spellings(name: str) -> Iterator[str]:
    """Other ways to write the name of a file, each of which leads to it."""
    yield from (name, f"./{name}", f"sub/../{name}", f"around/{name}", str(Path(name).absolute()))
    link, further, twin = f"link.{name}", f"further.{name}", name.upper()
    Path(link).symlink_to(name)
    Path(further).symlink_to(link)
    os.link(name, f"hard.{name}")
    os.link(name, twin)  # the same file by its number, as where the case of letters does not count
    yield from (link, further, f"hard.{name}", twin)


PAIRS = [
    (command, written, read)
    for command, parser in PARSERS.items()
    for written in arguments(parser, *WRITES)
    for read in arguments(parser, File.READ, File.CODE, File.STORE)
    if (name_of(written), name_of(read)) != ("--repro", "--all")  # which do not go together
]


@pytest.mark.parametrize("command", PARSERS)
def test_every_argument_of_text_says_what_it_does_with_files(command: str) -> None:
    for action in PARSERS[command]._actions:
        if action.nargs == 0 or action.choices is not None or action.type in (int, float):
            continue
        assert isinstance(action.type, File), f"{name_of(action)} needs a type of dpcheck.commands.files.File"
        shown = f"{name_of(action)} {action.metavar or ''}".upper()
        if any(word in shown for word in ("FILE", "FOLDER", ".JSON", "OUTPUT", "PLOT", "STORE", "BASELINE", "MODULE")):
            assert action.type is not File.NONE, name_of(action)
        if "OUTPUT" in shown or "write" in (action.help or "").split():
            assert action.type in WRITES, name_of(action)


@pytest.mark.parametrize(
    ("command", "written", "read"), PAIRS, ids=[f"{c}{name_of(w)}{name_of(r)}" for c, w, r in PAIRS]
)
def test_no_output_is_an_input(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, written: Action, read: Action
) -> None:
    value, files = {
        File.READ: ("input.py", ["input.py"]),
        File.CODE: ("input.py:name", ["input.py"]),
        File.STORE: (".", ["dpcheck.sqlite", "reproduce.sqlite"]),
    }[read.type]  # type: ignore[index]
    trials = 0
    for target in itertools.chain(*map(spellings, files)):
        given = line(command, **{name_of(read): value, name_of(written): target})
        said = refusal(given)
        assert said and "\n" not in said, target
        if written.type is File.WRITTEN and {name_of(written), name_of(read)} != {"--write-baseline", "--baseline"}:
            shown = name_of(read) if read.option_strings else read.metavar
            names = f"{name_of(written)} must be another file than {shown}"
            assert said.startswith((names, f"{name_of(written)} must be another file than MODULE")), said
        if not trials:
            assert main(given) == 2
            assert capsys.readouterr().err.splitlines() == [f"dpcheck: error: {said}"]
        trials += 1
    if (read.type, written.type) == (File.STORE, File.WRITTEN):  # both to be made
        assert "another file than" in refusal(line(command, **{name_of(read): "new", name_of(written): "./new"}))
    assert trials == 9 * len(files)
    assert all(Path(name).read_text() == "kept" for name in files)


@pytest.mark.parametrize("command", PARSERS)
def test_no_output_is_another_output(folder: Path, command: str) -> None:
    outputs = [name_of(action) for action in arguments(PARSERS[command], File.WRITTEN, File.SCRIPT)]
    Path("to.py").symlink_to("one.py")  # which is not there yet
    Path("é.py").symlink_to("é.py".upper())
    names = ("one.py", "./one.py", "around/one.py", "to.py", "ONE.py")
    for one, other in itertools.combinations(outputs, 2):
        for name in names:
            said = refusal(line(command, **{one: "one.py", other: name}))
            assert one in said and other in said and "another file than" in said, (one, other, name)
        composed, apart = (f"{unicodedata.normalize(form, 'é')}x.py" for form in ("NFC", "NFD"))
        assert "another file than" in refusal(line(command, **{one: composed, other: apart}))
        assert refusal(line(command, **{one: "one.py", other: "two.py"})) == ""
        for open_already in ("/dev/stdout", "/dev/stderr", os.devnull):
            if "--repro" not in (one, other):
                assert refusal(line(command, **{one: open_already, other: open_already})) == ""
    for one in {"--repro"} & {*outputs}:  # and what lies beside a script
        for other in {*outputs} - {one}:
            for name in ("one.event.npz", "one.data.npy", "one.neighbour.csv"):
                assert one in refusal(line(command, **{one: "one.py", other: name}))


@pytest.mark.parametrize("command", PARSERS)
@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg", "other.py", "OTHER.PY", "book.ipynb", "to_source"])
def test_no_output_is_a_source(folder: Path, command: str, name: str) -> None:
    Path("other.pyi").touch()
    Path("to_source").symlink_to("other.pyi")
    if name != "to_source":
        Path(name).write_text("kept")
    for action in arguments(PARSERS[command], *WRITES):
        said = refusal(line(command, **{name_of(action): name}))
        assert said.startswith(f"{name_of(action)} must "), name_of(action)
        if action.type is File.WRITTEN:
            assert "source or settings" in said


@pytest.mark.parametrize("command", PARSERS)
def test_a_place_that_cannot_be_written_is_known_before_the_work(folder: Path, command: str) -> None:
    Path("circle").symlink_to("circle")
    Path("sub/full").touch()
    for action in arguments(PARSERS[command], *WRITES):
        places = ["", "input.py/x", "circle", "x" * 300, "x\x00y"]
        places += ["sub"] if action.type is File.FOLDER else [".", "missing/x"]
        for place in places:
            assert refusal(line(command, **{name_of(action): place})).startswith(f"{name_of(action)} must "), place


def test_what_a_file_of_mechanisms_names_is_an_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("project").mkdir()
    Path("project/a.csv").write_text("1\n0\n")
    Path("project/laws.py").write_text(MECHANISM)
    Path("project/pyproject.toml").write_text(
        '[[tool.dpcheck.mechanisms]]\nmechanism = "laws:mean"\ndata = "a.csv"\nneighbour = "b.csv"\nepsilon = 1.0\n'
    )
    for name in ("a.csv", "b.csv"):
        for option in ("--output", "--sarif-output", "--write-baseline"):
            assert main(["audit", "--all=project/pyproject.toml", f"{option}=project/{name}"]) == 2
            assert f"{option} must be another file than what project/pyproject.toml names" in capsys.readouterr().err
    assert Path("project/a.csv").read_text() == "1\n0\n" and not Path("project/b.csv").exists()


def test_stdout_that_is_led_to_an_input_is_refused(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = os.dup(1)
    with Path("input.py").open("a") as file:
        os.dup2(file.fileno(), 1)
    try:
        assert main(line("report", file="input.py")) == 2
        assert "another file than stdout" in refusal(line("audit", **{"--output": "input.py", "--data": "[1]"}))
    finally:
        os.dup2(before, 1)
        os.close(before)
    assert Path("input.py").read_text() == "kept"


def test_what_was_written_may_be_written_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A baseline onto itself, a report over an older one, a script of --repro over its own."""
    Path("mech.py").write_text(MECHANISM)
    usual = {"mechanism": "mech.py:mean", "--data": "[1, 0]", "--neighbour": "[1, 1]", "--trials": "2000"}
    given = line("audit", **usual, **{"--write-baseline": "known.json", "--repro": "leak.py", "--json-output": "a.txt"})
    assert main(given) == 0
    assert main([*given, "--baseline=known.json"]) == 0
    assert main(line("audit", **usual, **{"--baseline": "known.json", "--json-output": "known.json"})) == 2
    REPORT.to_json("r.json")
    for _ in range(2):
        assert main(line("report", **{"file": "r.json", "--output": "r.txt", "--html-output": "r.html"})) == 1


@contextmanager
def full_disk() -> Iterator[None]:
    """A limit on the size of files, at which writing fails as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


FILLED: dict[str, Callable[[], list[str]]] = {
    "report": lambda: line("report", file="r.json"),
    "audit": lambda: line(
        "audit", **{"mechanism": "mech.py:mean", "--data": "[1, 0]", "--neighbour": "[1, 1]", "--trials": "500"}
    ),
    "write": lambda: line("write"),
    "measure": lambda: line("measure", algorithm="output_perturbation", **{"--seeds": "1"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "option", "role"),
    [
        (command, name_of(a), a.type)
        for command in FILLED
        for a in arguments(PARSERS[command], *WRITES)
        if command == "report"
        or name_of(a) not in map(name_of, PARSERS["report"]._actions)
        or command in ("write", "measure")
    ],
)
def test_a_full_disk_leaves_the_old_file(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, option: str, role: File
) -> None:
    Path("mech.py").write_text(MECHANISM)
    REPORT.to_json("r.json")
    target = Path({"--plot": "out.png", "--repro": "out.py"}.get(option, "out"))
    if role is File.WRITTEN and command != "measure":  # which goes on in its own table alone
        target.write_text("old")
        target.chmod(0o640)
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with full_disk():
        # an audit whose script cannot be written was made all the same
        assert main([*FILLED[command](), f"{option}={target}"]) == (1 if role is File.SCRIPT else 2)
    assert "must be a writable file" in capsys.readouterr().err.splitlines()[-1]
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    assert main([*FILLED[command](), f"{option}={target}"]) in (0, 1)
    assert len(target.read_bytes()) > 16 and not [*folder.glob(".*")]
    if role is File.WRITTEN and command != "measure":
        assert target.stat().st_mode & 0o777 == 0o640


def test_settings_of_a_working_folder_start_no_program_for_a_picture(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ``matplotlibrc`` there may name the text that TeX runs on."""
    import matplotlib
    from matplotlib.texmanager import TexManager

    def started(*_: object, **__: object) -> None:
        raise RuntimeError("TeX was started")

    monkeypatch.setattr(TexManager, "_run_checked_subprocess", started)
    rows = [f"{n},{n**-0.5}" for n in (100, 200, 400, 800) for _ in range(4)]
    Path("d.csv").write_text("\n".join(["n,gap", *rows]))
    with matplotlib.rc_context({"text.usetex": True}):
        assert main(["rate", "d.csv", "--response", "gap", "--factors", "n", "--plot", "p.png"]) == 0
        assert matplotlib.rcParams["text.usetex"]
    assert Path("p.png").stat().st_size


def test_code_that_goes_elsewhere_takes_no_output_along(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nor does it decide who may read what is written."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "r.json").write_text("kept")
    goes = f"import os\n{MECHANISM.replace('    return', f'    os.chdir({str(elsewhere)!r}); os.umask(0o777); return')}"
    Path("goes.py").write_text(goes)
    given = ["audit", "goes.py:mean", "--data", "[0]", "--neighbour", "[1]", "--epsilon", "9", "--trials", "100"]
    assert main([*given, "--json-output", "r.json"]) == 0
    assert (elsewhere / "r.json").read_text() == "kept"
    assert (folder / "r.json").stat().st_mode & 0o777 == 0o644
