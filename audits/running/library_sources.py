"""The sources of torch, JAX and diffprivlib, drawing from the run inside (:mod:`.sources`).

torch is watched below its functions, where every operation that draws is marked, so that layers and other libraries are
seen as well; what it draws with a law of its own comes from torch, seeded by the run. JAX has no source but its keys: a
key that is the same in every run gives what it gives, others draw from the run, and a key that is used again gives what
it gave. Inside compiled JAX code nothing is replaced. diffprivlib makes Laplace noise of four numbers of the system's
source; the noise is drawn instead of the numbers.
"""

from __future__ import annotations

import sys
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dpcheck.audits.running.recorder import Recorder
from dpcheck.audits.running.sources import KEY, Run, or_else


def stands(module: str) -> tuple[list[tuple[Any, Any]], list[tuple[Any, str, Any]]]:
    """Return what a module has, with what stands for it, and attributes of its classes likewise."""
    match module:
        case "jax":
            return _jax_names(), []
        case "torch.distributions":
            return [], _torch_attributes()
        case _:
            return [], _diffprivlib_attributes()


_JAX = {
    "normal": "standard_normal", "laplace": "laplace", "logistic": "logistic", "gumbel": "gumbel",
    "exponential": "standard_exponential",
}  # fmt: skip
_NO_DRAWS = {"split", "fold_in", "clone", "key_data", "key_dtype", "key_impl", "wrap_key_data", "random_gamma_p"}


def _jax_names() -> list[tuple[Any, Any]]:
    """Return what jax.random has, with what stands for it."""
    import jax.random

    found = []
    for name, value in vars(jax.random).items():
        if callable(value) and not name.startswith("_") and name not in _NO_DRAWS:
            make = _make_key if name in ("PRNGKey", "key") else _draw_with_key
            found.append((value, or_else(value, partial(make, value, name))))
    return found


def _make_key(original: Any, name: str, run: Run, seed: Any, **kwargs: Any) -> Any:
    if not _traced(seed):
        run.note(f"jax.random.{name}", np.asarray(seed).tolist())
    return original(seed, **kwargs)


def _draw_with_key(original: Any, name: str, run: Run, *args: Any, **kwargs: Any) -> Any:
    """Draw with a key: from the run where the key is fresh; again what was drawn where it is used again."""
    rng = run.rng
    if not isinstance(rng, Recorder) or any(map(_traced, (*args, *kwargs.values()))):
        return original(*args, **kwargs)
    import jax

    key = args[0] if args else kwargs["key"]
    typed = jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)
    digits = np.asarray(jax.random.key_data(key) if typed else key).tobytes().hex()
    if not run.note(KEY, digits):
        return original(*args, **kwargs)
    shape, dtype = _shape_and_dtype(*args, **kwargs) if name in _JAX else ((), None)
    call = (digits, name, shape, str(dtype))
    if digits in run.keys:
        rng.reused.append(name)
    run.keys[digits] = True
    if call not in run.keys or name not in _JAX:
        if name in _JAX:
            run.keys[call] = jax.numpy.asarray(run.draw("jax.random", _JAX[name], size=shape), dtype)
        else:
            run.keys[call] = run.other("jax.random", name, lambda _: original(*args, **kwargs))
    return run.keys[call]


def _shape_and_dtype(key: Any, shape: Any = (), dtype: Any = None, **_: Any) -> tuple[tuple[int, ...], Any]:
    return tuple(np.atleast_1d(np.asarray(shape, int)).tolist()), dtype


def _traced(value: Any) -> bool:
    return isinstance(value, sys.modules["jax"].core.Tracer)


def _diffprivlib_attributes() -> list[tuple[Any, str, Any]]:
    """Return classes of diffprivlib with the name and the new value of an attribute."""
    from diffprivlib.mechanisms.laplace import Laplace

    def drawn(run: Run, *numbers: float) -> Any:
        rng = run.rng
        if not isinstance(rng, Recorder):
            return original(*numbers)
        last = rng.draws[-len(numbers) :]
        if [draw.value for draw in last] != list(numbers):  # of a generator with a seed of its own
            return original(*numbers)
        del rng.draws[-len(numbers) :]
        return run.draw("diffprivlib", "laplace")

    original = Laplace._laplace_sampler
    return [(Laplace, "_laplace_sampler", staticmethod(or_else(original, drawn)))]


def _torch_attributes() -> list[tuple[Any, str, Any]]:
    """Return the class of Laplace noise, which torch makes of uniform numbers, with its new method."""
    import torch

    def drawn(run: Run, self: Any, sample_shape: Any = ()) -> Any:
        unit = run.draw("torch", "laplace", size=tuple(self._extended_shape(torch.Size(sample_shape))))
        return self.loc + self.scale * torch.as_tensor(unit, dtype=self.loc.dtype)

    kind = torch.distributions.Laplace
    return [(kind, "rsample", or_else(kind.rsample, drawn))]


def torch_mode(run: Run) -> Any:
    """Return a context in which torch draws from the run; its own generator is put back after the run."""
    import torch

    run.after.callback(torch.set_rng_state, torch.get_rng_state())
    torch.default_generator.manual_seed(_UNSEEDED)
    return _mode()(run)


_UNSEEDED = 0x5EED1E55_0D9C4EC4  # the seed of torch's generator for as long as the run gives it none


@lru_cache(maxsize=1)
def _mode() -> Any:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Drawing(TorchDispatchMode):  # type: ignore[misc]  # of torch, which need not be there
        def __init__(self, run: Run) -> None:
            super().__init__()
            self.run, self.kept = run, set[int]()

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if torch.Tag.nondeterministic_seeded not in func.tags:
                return func(*args, **kwargs)
            given = {argument.name: argument.default_value for argument in func._schema.arguments}
            given |= dict(zip(given, args, strict=False)) | kwargs
            if self._has_a_seed(given.get("generator")):
                return func(*args, **kwargs)
            return _torch_draw(self.run, func, given, args, kwargs)

        def _has_a_seed(self, generator: Any) -> bool:
            """Whether what draws is seeded; a generator that the code made is put back after the run."""
            if generator is None:
                seed = torch.default_generator.initial_seed()
                return seed != _UNSEEDED and not self.run.note("torch.manual_seed", seed)
            if id(generator) not in self.kept:
                self.kept.add(id(generator))
                self.run.after.callback(generator.set_state, generator.get_state())
            return not self.run.note("torch.Generator", generator.initial_seed())

    return Drawing


def _torch_draw(run: Run, func: Any, given: dict[str, Any], args: Any, kwargs: Any) -> Any:
    """Draw for one operation of torch, by the method of a generator of NumPy where it has one."""
    import torch

    name = func._schema.name.removeprefix("aten::")
    kwargs = {key: value for key, value in kwargs.items() if key != "generator"}

    def theirs(rng: np.random.Generator) -> Any:
        before = torch.get_rng_state()
        torch.default_generator.manual_seed(int(rng.integers(2**63 - 1)))
        try:
            return func(*args, **kwargs | ({"generator": None} if "generator" in given else {}))
        finally:
            torch.set_rng_state(before)

    def number(key: str, default: float) -> Any:
        value = given.get(key)
        return default if value is None else value.double().cpu().numpy() if torch.is_tensor(value) else value

    base = name.rstrip("_").removesuffix("_like")
    method, arguments = {
        "randn": ("standard_normal", {}),
        "normal": ("normal", {"loc": number("mean", 0.0), "scale": number("std", 1.0)}),
        "rand": ("random", {}),
        "uniform": ("uniform", {"low": number("from", 0.0), "high": number("to", 1.0)}),
        "exponential": ("exponential", {"scale": 1 / number("lambd", 1.0)}),
    }.get(base, ("", {}))
    if not method:
        return run.other("torch", name, theirs)
    target = args[0] if name.endswith("_") else theirs(np.random.Generator(np.random.PCG64(0)))
    drawn = run.draw("torch", method, **arguments, size=tuple(target.shape))
    return target.copy_(torch.as_tensor(np.asarray(drawn), dtype=target.dtype, device=target.device))
