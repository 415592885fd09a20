"""What NumPy cannot read as one array is refused on one line that says what it is and what to return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpcheck
from dpcheck import InputError
from dpcheck.audits.step_parts import TrainingStep

RECORDS = np.random.default_rng(0).normal(size=(32, 2))


class Tensor:
    """One as PyTorch's, which does not become an array as it is."""

    def __init__(self, message: str, *, requires_grad: bool = False) -> None:
        self.message, self.requires_grad = message, requires_grad

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise (RuntimeError if self.requires_grad else TypeError)(self.message)


GRADIENT = Tensor("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()", requires_grad=True)
CASES = [
    ([[1.0, 2.0], [3.0]], "parts of different shapes: flatten them and return one array"),
    ([np.zeros(2), np.zeros(3)], "parts of different shapes: flatten them and return one array"),
    (GRADIENT, "a Tensor that requires its gradient: return it.detach()"),
    ([GRADIENT, GRADIENT], "a Tensor that requires its gradient: return it.detach()"),
    (Tensor("Got unsupported ScalarType BFloat16"), "a Tensor of bfloat16, which NumPy has not: return it.float()"),
]


def step(returned: Any) -> TrainingStep:
    batches = [np.arange(8)] * 1000
    return TrainingStep(
        lambda *_: returned, lambda n, rng: iter(batches), clip=1.0, noise=0.1, divisor=8, params=np.zeros(2)
    )


AUDITS: dict[str, Callable[[Any], Any]] = {
    "audit_training_step": lambda value: dpcheck.audit_training_step(
        step(value), RECORDS, batch=8, steps=10, epsilon=20.0, delta=1e-5, trials=200
    ),
    "audit_clipping": lambda value: dpcheck.audit_clipping(lambda batch: value, list(RECORDS), bound=1.0),
    "audit_sensitivity": lambda value: dpcheck.audit_sensitivity(lambda data: value, [1, 2], [3], claimed=1.0),
    "audit_noise": lambda value: dpcheck.audit_noise(lambda data, rng: value, [1], scale=1.0, trials=50),
    "audit_randomness": lambda value: dpcheck.audit_randomness(lambda data, rng: value, [1], [2]),
}


OUTCOMES: dict[str, Callable[[Any], Any]] = {
    "audit_privacy": lambda value: dpcheck.audit_privacy(lambda data, rng: value, [1], [2], epsilon=1.0),
    "audit_sequential": lambda value: dpcheck.audit_sequential(lambda data, rng: value, [1], [2], epsilon=1.0),
}


@pytest.mark.parametrize("audit", OUTCOMES)
@pytest.mark.parametrize("held", [lambda v: v, lambda v: {"w": v}, lambda v: [0] * 40 + ["a", v]])
@pytest.mark.parametrize(("value", "said"), CASES[2:])
def test_an_array_that_is_not_given_up_is_no_outcome(audit: str, held: Any, value: Any, said: str) -> None:
    """Its attributes say nothing of its numbers, wherever in the output it is."""
    with pytest.raises(InputError, match=r"^mechanism must return a number or an array, got ") as caught:
        OUTCOMES[audit](held(value))
    assert str(caught.value).endswith(f", got {said}")


@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize(("value", "said"), CASES)
def test_what_is_no_array_is_named(audit: str, value: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        AUDITS[audit](value)
    assert str(caught.value).endswith(f", got {said}")
    assert "\n" not in str(caught.value)
