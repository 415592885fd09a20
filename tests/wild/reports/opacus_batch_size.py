"""The scale of the noisy gradient gives the number of records away (opacus 1.6.0).

Expected: the epsilon that the engine reports holds for added or removed records. Seen: with 2 records the parameters
get noise of twice the size as with 4, which a histogram shows. All gradients are 0 here.

Cause: DPOptimizer divides sum and noise by expected_batch_size, which make_private takes from len(data_loader.dataset).
Assumption of the guarantee: the number of records is public. Mend: let the user give the expected size, as a public
number; or say that the claim is for replaced records (with twice the sensitivity) or for a public size.
"""

import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")


def spread(records):
    data, model = torch.zeros(records, 1000), torch.nn.Linear(1000, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    model, optimizer, _ = PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0), noise_multiplier=4.0, max_grad_norm=1.0,
        data_loader=DataLoader(TensorDataset(data), batch_size=records), poisson_sampling=False,
    )  # fmt: skip
    model(data).mean().backward()
    optimizer.step()
    return np.std(next(model.parameters()).detach().numpy())


print(f"standard deviation of the parameters: {spread(4):.3f} for 4 records, {spread(2):.3f} for 2")
