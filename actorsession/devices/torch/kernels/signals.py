"""Torch kernels of Fourier transforms."""

from __future__ import annotations

from typing import Any

import torch

from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, ints, row
from actorsession.graph.registry import Kernel, KernelContext

__all__ = ["ROWS"]


def _axes(op: str) -> list[int]:
    """Return the axes along which an operation type transforms."""
    return list(range(-int(op[-2]) if op.endswith("D") else -1, 0))


def _of_complex(context: KernelContext) -> Kernel:
    axes = _axes(context.op)
    transform = torch.fft.ifftn if context.op.startswith("I") else torch.fft.fftn

    def kernel(x: Tensor) -> Tensor:
        fitting(x.ndim >= len(axes) and x.numel() > 0)
        return transform(x, dim=axes)

    return kernel


def _of_real(context: KernelContext) -> Kernel:
    axes, back = _axes(context.op), context.op.startswith("I")
    transform = torch.fft.irfftn if back else torch.fft.rfftn

    def kernel(x: Tensor, length: Any) -> Tensor:
        sizes = ints(length)
        fitting(x.ndim >= len(axes) == len(sizes) and x.numel() > 0 and min(sizes) > 0)
        needed = [*sizes[:-1], sizes[-1] // 2 + 1] if back else sizes
        # A signal that is too short is refused, and not filled up with zeros.
        fitting(all(have >= least for have, least in zip(x.shape[-len(axes) :], needed, strict=True)))
        return transform(x, sizes, axes)

    return kernel


_ENDS = ("", "2D", "3D")
ROWS: Rows = {
    **{f"{way}FFT{end}": row(_of_complex, checks=True) for way in ("", "I") for end in _ENDS},
    **{f"{way}RFFT{end}": row(_of_real, host=[1], checks=True) for way in ("", "I") for end in _ENDS},
}
