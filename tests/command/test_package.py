"""What is installed: the files, the metadata, and that nothing else on the user's path is touched."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest
from files import ROOT, sources
from mypy import api

import dpcheck

HEAVY = ("numba", "sympy", "scipy", "pandas", "matplotlib", "rich", "pooch", "dp_accounting")
FOLDERS = ("bounds", "audits")  # of the clone, installed within dpcheck
INSTALLED = sysconfig.get_path("purelib")  # not the path: a clone on it has metadata of its own after a build


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_every_package_is_listed(project):
    found = {
        PurePosixPath(place).parent.as_posix().replace("/", ".")
        for place in sources().values()
        if place.endswith("/__init__.py")
    }
    assert sorted(project["tool"]["setuptools"]["packages"]) == sorted(found)


def test_the_links_are_what_the_packages_are():
    """The links serve tools that read the clone itself: type checkers, editors, editable installs."""
    for folder in FOLDERS:
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
    assert set(installed.get_all("Provides-Extra")) == {
        "test", "benchmark", "libraries", "parquet", "completion", "dask", "ray", "reinforcement", "docs",
    }  # fmt: skip
    assert metadata.version("dpcheck") == re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M).group(1)


def test_what_runs_needs_no_extra():
    """Whatever dpcheck imports is in Python or among its dependencies, save what is imported where it is used:

    Adapters read the objects of their libraries, tensors become arrays through the library that made them,
    argcomplete completes names, dp_accounting reads its own events, accountants of others say what they say,
    Parquet is read by pyarrow, gymnasium plays its environments, hypothesis draws from its strategies, clusters of
    Dask and Ray are reached through their own packages, and only pytest loads the plugin.
    """
    extras = {
        "dpcheck/adapters/jax_privacy.py": {"jax", "jax_privacy"}, "dpcheck/adapters/opacus.py": {"opacus", "torch"},
        "dpcheck/cli.py": {"argcomplete"}, "dpcheck/accounting/other_events.py": {"dp_accounting"},
        "dpcheck/accounting/second_opinion.py": {"dp_accounting", "opacus", "prv_accountant"},
        "dpcheck/reading.py": {"pyarrow"},
        "dpcheck/problems/td_mlp.py": {"gymnasium"},
        "audits/neighbours.py": {"hypothesis"}, "audits/running/datasets.py": {"jax", "torch"},
        "audits/running/library_sources.py": {"diffprivlib", "jax", "torch"},
        "dpcheck/pytest_plugin.py": {"pytest"},
        "dpcheck/running/process_pool.py": {"cloudpickle", "distributed", "ray"},
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


@pytest.mark.thorough
def test_a_type_checker_knows_the_results_and_no_other_name(tmp_path):
    """mypy on a user's file: types where the names are real, an error where one is not."""
    names = "reveal_type(dpcheck.datasets.load)\nreveal_type(dpcheck.certify([], 0.0))\ndpcheck.nothing\n"
    used = f"import dpcheck\n{names}"
    (tmp_path / "use.py").write_text(used)
    options = ["--follow-imports=silent", "--config-file=", "--cache-dir", str(tmp_path / "cache")]
    said, _, code = api.run([*options, str(tmp_path / "use.py")])
    assert re.search(r'Revealed type is "def \(name: str, .*\) -> dpcheck\.datasets\.Dataset"', said), said
    assert 'Revealed type is "dpcheck.accounting.certificates.Certificate"' in said, said
    assert code == 1
    assert 'Module has no attribute "nothing"' in said, said


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dpcheck.nothing


@pytest.fixture(scope="module")
def distribution():
    """What is installed in the Python that runs the tests, from a wheel or editable."""
    (found,) = metadata.distributions(name="dpcheck", path=[INSTALLED])
    return found


def test_installing_takes_no_other_name(distribution, tmp_path):
    """A package called bounds or audits would collide with a user's own."""
    strays = {path.parts[0] for path in distribution.files} - {"..", "__pycache__", "dpcheck", distribution._path.name}
    # an editable install adds its own finder
    assert all(name.startswith("__editable__") for name in strays), strays
    found = "from importlib.util import find_spec; import sys; print(*filter(find_spec, sys.argv[1:]))"
    ask = [sys.executable, "-I", "-c", found, *FOLDERS]
    assert subprocess.run(ask, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "\n"


def test_an_editable_install_is_this_tree(distribution):
    """A change in the clone is what its tests test, in the folders that links lead to as well."""
    source = json.loads(distribution.read_text("direct_url.json") or "{}")
    if not source.get("dir_info", {}).get("editable"):
        pytest.skip("dpcheck is installed from a wheel")
    for name in ("dpcheck", *(f"dpcheck.{folder}" for folder in FOLDERS)):
        folder = Path(importlib.import_module(name).__file__).parent
        assert folder.samefile(ROOT / name.rpartition(".")[2]), f"{name} is imported from {folder}"
