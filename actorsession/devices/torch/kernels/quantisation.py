"""Torch kernels of simulated quantisation: those of the CPU, with torch's functions."""

from __future__ import annotations

import torch

from actorsession.devices.torch.kernels.rows import Rows, filled, row
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.opsets.quantisation.fake_quant import fake_quant
from actorsession.opsets.quantisation.rounding import rounding, rounding_back

__all__ = ["ROWS"]


def _fake_quant(context: KernelContext) -> Kernel:
    return fake_quant(context, torch, filled)


def _rounding(context: KernelContext) -> Kernel:
    return rounding(context, torch, filled)


ROWS: Rows = {
    **{
        f"FakeQuantWithMinMax{kind}{end}": row(_fake_quant, checks=True)
        for kind in ("Args", "Vars", "VarsPerChannel")
        for end in ("", "Gradient")
    },
    **{f"QuantizeAndDequantize{version}": row(_rounding, checks=True) for version in ("", "V2", "V4")},
    "QuantizeAndDequantizeV3": row(_rounding, host=[3], checks=True),
    "QuantizeAndDequantizeV4Grad": row(lambda context: rounding_back(context, torch), checks=True),
}
