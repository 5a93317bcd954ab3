"""Torch kernels of the normalisation of batches."""

from __future__ import annotations

from typing import Any

import torch

from actorsession.devices.torch.arrays import TORCH_TYPES
from actorsession.devices.torch.kernels.convolutions import channels_second, restored
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, row
from actorsession.graph.registry import Kernel, KernelContext

__all__ = ["ROWS"]

aten = torch.ops.aten


def _fits(images: Tensor, rank: int, x: Tensor, *vectors: Tensor) -> None:
    fitting(images.ndim == rank and images.numel() > 0)
    fitting(all(vector.shape == x.shape[1:2] for vector in vectors))


def _batch_norm(context: KernelContext) -> Kernel:
    data_format, training = str(context.attrs["data_format"]), bool(context.attrs["is_training"])
    epsilon, factor = float(context.attrs["epsilon"]), float(context.attrs["exponential_avg_factor"])
    more, wide = len(context.outputs) == 6, TORCH_TYPES[context.outputs[1].dtype]

    def normalised(x: Tensor, scale: Tensor, offset: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return images, mean, variance, and the variance that a larger sample would have."""
        number = x.numel() // x.shape[1]
        fitting(number > 1)
        mean, fresh = torch.zeros_like(scale), torch.zeros_like(scale)
        # With a momentum of 1 these are the statistics of the batch themselves.
        y, _, _ = torch.native_batch_norm(x, scale, offset, mean, fresh, True, 1.0, epsilon)
        return y, mean, fresh * ((number - 1) / number), fresh

    def kernel(images: Tensor, *vectors: Tensor) -> tuple[Tensor, ...]:
        x = channels_second(images, data_format)
        scale, offset, mean, variance = [vector.to(wide) for vector in vectors]
        kept = (mean, variance) if not training or factor != 1 else ()
        _fits(images, len(data_format), x, scale, offset, *kept)
        if training:
            y, now, spread, fresh = normalised(x, scale, offset)
            outputs = now.clone(), fresh
            if factor != 1:
                outputs = torch.lerp(mean, now, factor), torch.lerp(variance, fresh, factor)
        else:
            y, _, _ = torch.native_batch_norm(x, scale, offset, mean, variance, False, 0.0, epsilon)
            now, spread = mean.clone(), variance.clone()
            outputs = now.clone(), spread.clone()
        results = restored(y, data_format), *outputs, now, spread
        return (*results, now.new_zeros(())) if more else results

    return kernel


def _batch_norm_back(context: KernelContext) -> Kernel:
    data_format, training = str(context.attrs["data_format"]), bool(context.attrs["is_training"])
    epsilon, wide = float(context.attrs["epsilon"]), TORCH_TYPES[context.outputs[1].dtype]

    def kernel(back: Tensor, images: Tensor, *vectors: Tensor) -> Any:
        scale, mean, spread = [vector.to(wide) for vector in vectors[:3]]
        x, g = channels_second(images, data_format), channels_second(back, data_format)
        _fits(images, len(data_format), x, scale, mean, spread)
        fitting(back.shape == images.shape)
        inverse = torch.rsqrt(spread + epsilon)
        by_images, by_scale, by_offset = aten.native_batch_norm_backward(
            g, x, scale, mean, spread, mean, inverse, training, epsilon, [True, True, True]
        )
        none = scale.new_zeros(0)
        return restored(by_images, data_format), by_scale, by_offset, none, none.clone()

    return kernel


ROWS: Rows = {
    **{f"FusedBatchNorm{version}": row(_batch_norm, checks=True) for version in ("", "V2", "V3")},
    **{f"FusedBatchNormGrad{version}": row(_batch_norm_back, checks=True) for version in ("", "V2", "V3")},
}
