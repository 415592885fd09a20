"""What is installed: the files, the metadata, and that nothing else on the user's path is touched."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest
from mypy import api

import dpcheck

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numba", "sympy", "scipy", "pandas", "matplotlib", "rich", "pooch", "dp_accounting")
# a folder of the clone -> where its files are installed; links to the first two lie in the third
FOLDERS = {"bounds": "dpcheck/bounds", "audits": "dpcheck/audits", "dpcheck": "dpcheck"}


def sources() -> dict[str, str]:
    """Every file that belongs to the package: path in the clone -> path installed."""
    found = {}
    for folder, place in FOLDERS.items():
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT / folder)
            generated = "__pycache__" in inside.parts or path.suffix in (".pyc", ".nbi", ".nbc")
            linked = folder == "dpcheck" and inside.parts[0] in FOLDERS
            if path.is_file() and not generated and not linked:
                found[path.relative_to(ROOT).as_posix()] = (PurePosixPath(place) / inside.as_posix()).as_posix()
    return found


def others() -> set[str]:
    """Files of the clone that belong to the sdist alone."""
    texts = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "MANIFEST.in", ".ci/run"}
    kinds = {"tests": ("py", "txt", "csv"), "notebooks": ("ipynb",), "docs/examples": ("py",)}
    found = [path for folder, endings in kinds.items() for end in endings for path in (ROOT / folder).rglob(f"*.{end}")]
    return texts | {path.relative_to(ROOT).as_posix() for path in found}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist of a copy of the clone, so that building leaves nothing in it."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in (*sources(), *others()):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--sdist", "--outdir", str(out), str(copy)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def test_wheel_holds_the_package_and_nothing_else(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    described = {name for name in names if name.split("/")[0] == f"dpcheck-{dpcheck.__version__}.dist-info"}
    assert names - described == set(sources().values())
    assert {name.rpartition("/")[2] for name in described} >= {"METADATA", "RECORD", "entry_points.txt", "LICENSE"}
    some = {"dpcheck/bounds/registry.py", "dpcheck/audits/membership.py", "dpcheck/py.typed"}
    some |= {"dpcheck/checks/expected.json", "dpcheck/data/SOURCES.md", "dpcheck/data/a9a_x_train.npy.xz"}
    assert some <= names


def test_sdist_holds_all_that_a_build_and_the_tests_need(built):
    with tarfile.open(built[1]) as archive:
        members = archive.getmembers()
    assert not [member.name for member in members if member.issym() or member.islnk()]
    names = {member.name.partition("/")[2] for member in members if member.isfile()}
    made = {name for name in names if name.startswith("dpcheck.egg-info/")} | {"PKG-INFO", "setup.cfg"}
    assert names - made == set(sources()) | others()


def test_every_package_is_listed(project):
    found = {
        PurePosixPath(place).parent.as_posix().replace("/", ".")
        for place in sources().values()
        if place.endswith("/__init__.py")
    }
    assert sorted(project["tool"]["setuptools"]["packages"]) == sorted(found)


def test_the_links_are_what_the_packages_are():
    """The links serve tools that read the clone itself: type checkers, editors, editable installs."""
    for folder in ("bounds", "audits"):
        link = ROOT / "dpcheck" / folder
        if (ROOT / ".git").exists():
            assert link.is_symlink()
        if link.is_symlink():
            assert link.readlink() == Path("..") / folder


def test_metadata(project):
    installed = metadata.metadata("dpcheck")
    assert installed["Version"] == dpcheck.__version__ == project["project"]["version"]
    assert installed["License-Expression"] == "Apache-2.0"
    assert installed["Requires-Python"] == ">=3.11"
    assert set(installed.get_all("Provides-Extra")) == {"test", "benchmark", "libraries", "reinforcement"}
    assert metadata.version("dpcheck") == re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M).group(1)


def test_every_dependency_says_why():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    for block in re.findall(
        r"^(?:dependencies|test|benchmark|libraries|reinforcement) = \[\n(.*?)^\]", text, re.M | re.S
    ):
        for line in block.splitlines():
            assert re.search(r'"\S+>=[\d.]+", +# .{10,}', line), line


def test_what_runs_needs_no_extra():
    """Whatever dpcheck imports is in Python or among its dependencies, save what is imported where it is used:

    dp_accounting reads its own events, gymnasium plays its environments, hypothesis draws from its strategies,
    and only pytest loads the plugin.
    """
    extras = {
        "dpcheck/events.py": {"dp_accounting"}, "dpcheck/problems/td_mlp.py": {"gymnasium"},
        "audits/neighbours.py": {"hypothesis"}, "dpcheck/pytest_plugin.py": {"pytest"},
    }  # fmt: skip
    names = {re.match(r"[\w-]+", line).group().replace("-", "_") for line in metadata.requires("dpcheck")}
    needed = {
        re.match(r"[\w-]+", line).group().replace("-", "_")
        for line in metadata.requires("dpcheck")
        if "extra ==" not in line
    }
    assert needed < names
    importing = re.compile(r"^\s*(?:from|import) ([A-Za-z_]\w*)", re.M)
    for path in sources():
        if path.endswith(".py"):
            found = set(importing.findall((ROOT / path).read_text("utf-8"))) - sys.stdlib_module_names - {"dpcheck"}
            allowed = needed | extras.get(path, set())
            # prose in a docstring may begin a line with "from": only importable words count
            assert found & (names | set(HEAVY)) <= allowed, path


def loaded_by(code: str, folder: Path) -> set[str]:
    show = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", show], cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_import_is_light(tmp_path):
    assert not loaded_by("import dpcheck\ndir(dpcheck)", tmp_path) & set(HEAVY)


def test_help_is_light(tmp_path):
    code = "from dpcheck.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    assert not loaded_by(code, tmp_path) & {*HEAVY, "numpy"}


def test_list_compiles_nothing(tmp_path):
    assert "numba" not in loaded_by("from dpcheck.cli import main\nmain(['list'])", tmp_path)


@pytest.mark.parametrize("name", sorted(set(dpcheck.__all__)))
def test_public_names_exist(name):
    assert getattr(dpcheck, name) is not None


def seen_by_type_checkers() -> dict[str, str]:
    """The names that ``dpcheck/__init__.py`` imports for type checkers alone, and the modules it takes them from."""
    tree = ast.parse((ROOT / "dpcheck" / "__init__.py").read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    assert all(name.asname == name.name for each in block.body for name in each.names)  # else no name of dpcheck's own
    return {name.name: each.module for each in block.body for name in each.names}


def test_type_checkers_see_every_public_name_where_it_loads_from():
    """Both mypy and pyright read the imports under TYPE_CHECKING, and nothing else of the names that load lazily."""
    seen = seen_by_type_checkers()
    assert seen == dpcheck._HOME | dict.fromkeys(dpcheck._MODULES, "dpcheck")
    assert {*seen, "__version__"} == set(dpcheck.__all__)


@pytest.mark.parametrize(("name", "returned"), [("solve", "Run"), ("check", "Report"), ("theorem", "Theorem")])
def test_results_are_typed(name, returned):
    assert getattr(dpcheck, name).__annotations__["return"] == returned


def test_a_type_checker_knows_the_results_and_no_other_name(tmp_path):
    """mypy on a user's file: types where the names are real, an error where one is not."""
    used = "import dpcheck\nreveal_type(dpcheck.datasets.load)\nreveal_type(dpcheck.certify([], 0.0))\ndpcheck.nothing\n"
    (tmp_path / "use.py").write_text(used)
    options = ["--follow-imports=silent", "--config-file=", "--cache-dir", str(tmp_path / "cache")]
    said, _, code = api.run([*options, str(tmp_path / "use.py")])
    assert 'Revealed type is "def (name: str) -> dpcheck.datasets.Dataset"' in said, said
    assert 'Revealed type is "dpcheck.accounting.Certificate"' in said, said
    assert code == 1
    assert 'Module has no attribute "nothing"' in said, said


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dpcheck.nothing


def test_installing_takes_no_other_name():
    """A package called bounds or audits would collide with a user's own."""
    files = [path for path in metadata.files("dpcheck") or [] if path.parts[0] not in ("..", "__pycache__")]
    allowed = ("dpcheck", f"dpcheck-{dpcheck.__version__}.dist-info")
    strays = {path.parts[0] for path in files} - set(allowed)
    # an editable install adds its own finder
    assert all(name.startswith("__editable__") for name in strays), strays
