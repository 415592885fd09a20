"""Ghost clipping: the norm of a bias's gradient over a sequence is computed wrongly."""

from inspect import signature

CASE = {
    "library": "opacus", "affected": "1.5.3", "mended": "1.5.4",
    "requires": ["opacus=={version}", "torch==2.13.0"],
    "claim": "each gradient is clipped to max_grad_norm 0.1",
    "fault": "grad_sample/linear.py squares the bias gradient's norm for inputs that are sequences, so that gradients "
    "shorter than 1 are clipped too little",
    "reported": "https://github.com/pytorch/opacus/pull/751",
    "seen": "audit_clipping, on records that are sequences",
}  # fmt: skip
BOUND = 0.1


class _Squares:
    reduction = "sum"

    def __call__(self, output, target):
        return ((output - target) ** 2).flatten(1).sum(1)


def clipped_sum(batch):
    import numpy as np
    import torch
    from opacus import PrivacyEngine
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
    from torch.utils.data import DataLoader, TensorDataset

    data = torch.tensor(np.asarray(batch), dtype=torch.float32)
    if not len(data):
        return np.zeros(2)
    model = torch.nn.Linear(1, 1)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    loader = DataLoader(TensorDataset(data), batch_size=len(data))
    how = {"criterion": _Squares()} if "criterion" in signature(PrivacyEngine.make_private).parameters else {}
    model, optimizer, *_ = PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0), data_loader=loader, noise_multiplier=0.0,
        max_grad_norm=BOUND, grad_sample_mode="ghost", poisson_sampling=False, loss_reduction="sum", **how,
    )  # fmt: skip
    criterion = DPLossFastGradientClipping(model, optimizer, _Squares(), "sum")
    criterion(model(data[..., :1]), data[..., 1:]).backward()
    optimizer.step()
    return -np.concatenate([parameter.detach().numpy().ravel() for parameter in model.parameters()])


def audit(run):
    import numpy as np

    import dpcheck

    records = np.random.default_rng(0).uniform(0.01, 0.1, size=(20, 3, 2))
    return dpcheck.audit_clipping(run("clipped_sum"), records, bound=BOUND)
