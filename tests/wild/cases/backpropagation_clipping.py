"""Clipping in backpropagation: each record's gradient is clipped after it was divided by the batch's size."""

CASE = {
    "library": "code of a paper, written anew from its description",
    "affected": "as described",
    "mended": "open",
    "requires": ["numpy"],
    "claim": "one record moves the mean gradient by 1 over the size of the batch",
    "fault": "activations and backpropagated gradients are clipped to 1, the latter of the mean of the losses: "
    "a record "
    "moves the gradient by 1, and the noise is made for 1 over the batch's size",
    "reported": "https://arxiv.org/abs/2202.12219",
    "seen": "audit_clipping of one step, where the paper needed 100,000 trainings",
}  # fmt: skip


def gradient(batch):
    """Return the gradient of the mean squared error of a linear layer at 0."""
    import numpy as np

    data = np.asarray(batch)
    inputs, targets = data[:, :3], data[:, 3]
    inputs = inputs / np.maximum(1, np.linalg.norm(inputs, axis=1, keepdims=True))
    backwards = np.clip(-2 * targets / max(1, len(data)), -1, 1)
    return inputs.T @ backwards


def audit(run):
    import numpy as np

    import dpcheck

    records = np.random.default_rng(0).normal(size=(20, 4))
    return dpcheck.audit_clipping(run("gradient"), records, bound=1.0, divisor="size")
