"""Devices whose kernels are PyTorch's: ``TORCH_CPU``.

``arrays`` moves values between numpy and torch, ``variables`` keeps state in tensors, ``factories`` are the entry
points, and ``kernels`` has one table for each family of operations. Importing any of them imports torch.
"""

from __future__ import annotations

import os

from actorsession.extras import require

require("torch", "torch", "devices of torch need PyTorch")

# Read when torch is loaded, and not inherited by other programs. Threads of OpenMP wait for each other in a busy loop,
# in which a machine that has other work to do spends a hundred times what the kernel takes.
_POLICY = "OMP_WAIT_POLICY"
_CHOSEN = os.environ.get(_POLICY)
os.environ.setdefault(_POLICY, "passive")
try:
    import torch
finally:
    if _CHOSEN is None:
        del os.environ[_POLICY]

__all__ = ["torch"]
