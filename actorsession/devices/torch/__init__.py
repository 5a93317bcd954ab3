"""Devices whose kernels are PyTorch's: ``TORCH_CPU`` and, where there are some, ``GPU``.

``arrays`` moves values between numpy and torch, ``variables`` keeps state in tensors, ``factories`` are the entry
points, and ``kernels`` has one table for each family of operations. Importing any of them imports torch.
"""

from __future__ import annotations

from actorsession.extras import require

require("torch", "torch", "devices of torch need PyTorch")
