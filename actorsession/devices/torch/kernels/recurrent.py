"""Torch kernels of cells of recurrent networks that are one operation for each step or sequence.

What is a sentence of array functions is the CPU's kernel, with torch's functions; a step uses torch's own forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from actorsession.devices.torch.kernels.elementwise import tanh
from actorsession.devices.torch.kernels.rows import Rows, Tensor, narrowed, plain, row
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.opsets.recurrent.blocks import KERNELS, Cell, Weights, check_gru

__all__ = ["ROWS"]


class _Cell(Cell):
    """An LSTM whose arrays are tensors."""

    arrays = torch

    def zeros(self, like: Tensor, shape: Sequence[int]) -> Any:
        """See ``Cell.zeros``."""
        return like.new_zeros(shape)

    def step(self, x: Tensor, cs_prev: Tensor, h_prev: Tensor, weights: Weights) -> Sequence[Tensor]:
        """Return i, cs, f, o, ci, co and h."""
        w, wci, wcf, wco, b = weights
        gates = torch.addmm(b, torch.cat([x, h_prev], 1), w)
        i, ci, f, o = self._gates(gates, cs_prev.shape[1])
        ci = tanh(ci)
        f.add_(self._bias)
        if self._peeps:
            i.addcmul_(cs_prev, wci)
            f.addcmul_(cs_prev, wcf)
            i, f = torch.sigmoid(i), torch.sigmoid(f)
        else:  # one call for all gates
            i, _, f, o = self._gates(gates.sigmoid_(), cs_prev.shape[1])
        cs = torch.addcmul(cs_prev * f, ci, i)
        if self._clip > 0:
            cs.clamp_(-self._clip, self._clip)
        if self._peeps:
            o = torch.sigmoid(o.addcmul_(cs, wco))
        co = tanh(cs)
        return i, cs, f, o, ci, co, co * o


def _of_cell(context: KernelContext) -> Kernel:
    return narrowed(KERNELS[context.op](_Cell(context)))


def _gru(x: Tensor, h: Tensor, w_ru: Tensor, w_c: Tensor, b_ru: Tensor, b_c: Tensor) -> Sequence[Tensor]:
    """Return r, u, c and h."""
    check_gru("GRUBlockCell", x, h, w_ru, w_c, b_ru, b_c)
    r, u = torch.sigmoid(torch.addmm(b_ru, torch.cat([x, h], 1), w_ru)).chunk(2, 1)
    c = tanh(torch.addmm(b_c, torch.cat([x, h * r], 1), w_c))
    return r.contiguous(), u.contiguous(), c, u * h + (1 - u) * c


ROWS: Rows = {
    **{op: row(_of_cell, host=[0] if op.startswith("Block") else [], checks=True) for op in KERNELS},
    "GRUBlockCell": plain(narrowed(_gru), checks=True),
}
