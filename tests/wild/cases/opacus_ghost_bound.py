"""Ghost clipping: the bound that the user gives is not used."""

from inspect import signature

CASE = {
    "library": "opacus", "affected": "1.5.2", "mended": "1.5.3",
    "requires": ["opacus=={version}", "torch==2.13.0"],
    "claim": "each gradient is clipped to max_grad_norm 0.5",
    "fault": 'make_private(grad_sample_mode="ghost") clips at 1 whatever max_grad_norm is, and scales the noise by '
    "max_grad_norm",
    "reported": "https://github.com/pytorch/opacus/issues/664",
    "seen": "audit_clipping",
}  # fmt: skip
BOUND = 0.5


class _Squares:
    reduction = "sum"

    def __call__(self, output, target):
        return ((output - target) ** 2).flatten(1).sum(1)


def clipped_sum(batch):
    import numpy as np
    import torch
    from opacus import PrivacyEngine
    from opacus.utils import fast_gradient_clipping_utils as ghost
    from torch.utils.data import DataLoader, TensorDataset

    if not len(batch):
        return np.zeros(3)
    data = torch.tensor(np.asarray(batch), dtype=torch.float32)
    model = torch.nn.Linear(3, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    how = (
        {"criterion": _Squares()}
        if "criterion" in signature(PrivacyEngine.make_private).parameters
        else {"clipping": "ghost"}
    )
    model, optimizer, *_ = PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=DataLoader(TensorDataset(data), batch_size=len(data)),
        noise_multiplier=0.0,
        max_grad_norm=BOUND, grad_sample_mode="ghost", poisson_sampling=False, loss_reduction="sum", **how,
    )  # fmt: skip
    if "criterion" in how:
        ghost.DPLossFastGradientClipping(model, optimizer, _Squares(), "sum")(
            model(data[:, :3]), data[:, 3:]
        ).backward()
    else:  # as 1.5.2 has it
        ghost.double_backward(model, optimizer, _Squares()(model(data[:, :3]), data[:, 3:]))
    optimizer.step()
    return -next(model.parameters()).detach().numpy().ravel()


def audit(run):
    import numpy as np

    import dpcheck

    return dpcheck.audit_clipping(run("clipped_sum"), np.random.default_rng(0).normal(size=(20, 4)), bound=BOUND)
