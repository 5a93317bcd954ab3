"""Torch kernels of what layers of networks are made of: biases, softmax, losses, normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from actorsession.devices.torch.arrays import positions
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, floats, ints, plain, row
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.opsets.ctc.loss import check_alignments, label_sequences

__all__ = ["ROWS"]

aten = torch.ops.aten


def _is_last(context: KernelContext) -> bool:
    return not str(context.attrs["data_format"]).startswith("NC")


def _bias_add(context: KernelContext) -> Kernel:
    if _is_last(context):
        add: Kernel = torch.add
        return add
    return lambda x, bias: x + bias.reshape(-1, *[1] * (x.ndim - 2))


def _all_but_channels(context: KernelContext, rank: int) -> list[int]:
    fitting(rank >= 2)
    channel = rank - 1 if _is_last(context) else 1
    return [axis for axis in range(rank) if axis != channel]


def _bias_add_grad(context: KernelContext) -> Kernel:
    return lambda back: torch.sum(back, _all_but_channels(context, back.ndim))


def _emit_bias_add_grad(context: KernelContext, arguments: Sequence[str]) -> str | None:
    return f"{arguments[0]}.sum({_all_but_channels(context, context.inputs[0].shape.rank or 0)})"


def _has_bias(context: KernelContext) -> bool:
    """Whether the bias has as many elements as there are channels, as far as is known; else the CPU's kernel says."""
    x, bias = (spec.shape.sizes for spec in context.inputs)
    return (
        x is not None and bias is not None and len(x) >= 2 and x[-1 if _is_last(context) else 1] == bias[0] is not None
    )


def _softmax(x: Tensor) -> Tensor:
    fitting(x.ndim > 0)
    return torch.softmax(x, -1)


def _log_softmax(x: Tensor) -> Tensor:
    fitting(x.ndim > 0)
    return torch.log_softmax(x, -1)


def _cross_entropy(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    fitting(logits.ndim == 2 == labels.ndim and logits.shape[1] > 0)
    logits, labels = torch.broadcast_tensors(logits, labels)
    scaled = torch.log_softmax(logits, -1)
    return -torch.sum(labels * scaled, -1), torch.exp(scaled) - labels


def _sparse_cross_entropy(logits: Tensor, labels: Any) -> tuple[Tensor, Tensor]:
    classes = logits.shape[1]
    fitting(labels.shape == logits.shape[:1] and (not labels.size or (labels.min() >= 0 and labels.max() < classes)))
    scaled, places = torch.log_softmax(logits, 1), positions(labels, logits)[:, None]
    loss = -torch.gather(scaled, 1, places)[:, 0]
    back = torch.exp(scaled)
    back.scatter_add_(1, places, back.new_full((1, 1), -1.0).expand(len(back), 1))
    return loss, back


# -- connectionist temporal classification ---------------------------------------------------------


def _merges_repeated(context: KernelContext) -> bool:
    """Whether alignments are those of torch, in which equal labels with no blank between them are one."""
    return bool(context.attrs["ctc_merge_repeated"] and not context.attrs["preprocess_collapse_repeated"])


def _alignments(inputs: Tensor, indices: Any, values: Any, lengths: Any) -> tuple[Tensor, Tensor]:
    check_alignments(inputs, indices, values, lengths)
    blank = inputs.shape[2] - 1
    labels = label_sequences(indices, values, inputs.shape[1], blank)
    counts = [len(sequence) for sequence in labels]
    fitting(bool(labels) and bool(((lengths > 0) & (lengths >= counts)).all()))
    scores = torch.log_softmax(inputs.double(), 2)  # its sums over alignments would lose digits else
    targets, sizes = positions(np.concatenate(labels), inputs), ints(lengths)
    losses, reached = aten._ctc_loss(scores, targets, sizes, counts, blank, False)
    back = aten._ctc_loss_backward(
        torch.ones_like(losses), scores, targets, sizes, counts, losses, reached, blank, False
    )
    back.masked_fill_(torch.isinf(losses)[:, None], 0)  # where there is no alignment
    return losses.to(inputs.dtype), back.to(inputs.dtype)


ROWS: Rows = {
    "BiasAdd": row(_bias_add, takes=_has_bias, over=lambda context: ["{0} += {1}"] if _is_last(context) else []),
    "BiasAddGrad": row(_bias_add_grad, emit=_emit_bias_add_grad),
    "Softmax": plain(_softmax, takes=floats, emit="{0}.softmax(-1)"),
    "LogSoftmax": plain(_log_softmax, takes=floats, emit="{0}.log_softmax(-1)"),
    "SoftmaxCrossEntropyWithLogits": plain(_cross_entropy, checks=True),
    "SparseSoftmaxCrossEntropyWithLogits": plain(_sparse_cross_entropy, host=[1], checks=True),
    "CTCLoss": plain(_alignments, host=[1, 2, 3], checks=True, takes=_merges_repeated),
}
