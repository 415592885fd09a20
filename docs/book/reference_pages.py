"""The reference of everything that users touch: a page for each module, from its docstrings."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping

from public import public, top  # of the tests, which hold these docstrings to the NumPy standard

import dpcheck

# The pages of each part begin with one of these names.
PARTS = {
    "Audits": ("dpcheck.audits", "dpcheck.adapters", "dpcheck.testing"),
    "Theory": ("dpcheck.bounds",),
    "Algorithms": ("dpcheck.algorithms", "dpcheck.solvers", "dpcheck.catalogue", "dpcheck.checks", "dpcheck.report"),
    "Privacy accounting": ("dpcheck.accounting", "dpcheck.accounting.certificates", "dpcheck.events"),
    "Problems and data": ("dpcheck.problems", "dpcheck.datasets"),
    "Further": ("dpcheck",),  # what no other part has
}  # fmt: skip


def documented() -> dict[str, list[str]]:
    """Return for each module the names that its page documents: the public name where there is one."""
    public_names = {id(each): name for name, each in top().items()}
    found: dict[str, list[str]] = {}
    for name, each in public().items():
        found.setdefault(str(each.__module__), []).append(public_names.get(id(each), name))
    return dict(sorted(found.items()))


def pages() -> dict[str, str]:
    """Return a page for each module, and the one that lists them."""
    modules = documented()
    made = {f"reference/{module}.rst": _page(module, names) for module, names in modules.items()}
    return {**made, "reference/index.rst": _index(modules)}


def _page(module: str, names: Iterable[str]) -> str:
    parts = [_heading(module, "="), f".. automodule:: {module}\n"]
    for name in names:
        short = name.rpartition(".")[2]
        parts += [_heading(short, "-"), f".. {_directive(name)}:: {name}\n"]
        if _directive(name) != "autofunction":
            parts[-1] += "   :members:\n"
    return "\n".join(parts)


def _directive(name: str) -> str:
    module, _, attribute = name.rpartition(".")
    each = getattr(importlib.import_module(module), attribute)
    if inspect.isclass(each):
        return "autoexception" if issubclass(each, Exception) else "autoclass"
    return "autofunction"


def _index(modules: Mapping[str, Iterable[str]]) -> str:
    parts = [_heading("API", "="), "The names of ``import dpcheck``:\n", ".. list-table::\n   :widths: 35 65\n"]
    homes = {name: module for module, names in modules.items() for name in names}
    for name in dpcheck.__all__:
        full = f"dpcheck.{name}"
        each = getattr(dpcheck, name)
        link = f":doc:`{full} <{homes.get(full, full)}>`" if name != "__version__" else f"``{full}``"
        said = "The version." if name == "__version__" else (inspect.getdoc(each) or "").split("\n\n", 1)[0]
        parts.append(f"   * - {link}\n     - {' '.join(said.split())}")
    parts.append("\n.. py:data:: dpcheck.__version__\n\n   The version, such as ``0.1.0``.\n")
    left = list(modules)
    for title, heads in PARTS.items():
        own = [module for module in left if module.startswith(heads)]
        left = [module for module in left if module not in own]
        parts += [_heading(title, "-"), ".. toctree::\n   :maxdepth: 1\n", *(f"   {module}" for module in own), ""]
    return "\n".join(parts)


def _heading(text: str, sign: str) -> str:
    return f"{text}\n{sign * len(text)}\n"
