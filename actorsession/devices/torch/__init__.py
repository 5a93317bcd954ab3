"""Devices whose kernels are PyTorch's: ``TORCH_CPU``.

``arrays`` moves values between numpy and torch, ``variables`` keeps state in tensors, ``factories`` are the entry
points, and ``kernels`` has one table for each family of operations. ``loading`` imports torch for all of them.
"""

from __future__ import annotations
