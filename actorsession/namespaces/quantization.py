"""Quantisation: rounding to the values that a few bits can hold, with gradients, and integers with ranges."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.opsets.quantisation.conversions": "dequantize quantize quantize_v2",
    "actorsession.opsets.quantisation.neural": "quantized_concat",
    "actorsession.opsets.quantisation.rounding": ("quantize_and_dequantize quantize_and_dequantize_v2"),
    "actorsession.opsets.quantisation.fake_quant": (
        "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient "
        "fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient "
        "fake_quant_with_min_max_vars_per_channel "
        "fake_quant_with_min_max_vars_per_channel_gradient"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
