# Written by scripts/generated.py.
"""Quantisation: rounding to the values that a few bits can hold, with gradients, and integers with ranges."""

from actorsession.opsets.quantisation.conversions import (
dequantize as dequantize, quantize as quantize, quantize_v2 as quantize_v2
)
from actorsession.opsets.quantisation.fake_quant import (
fake_quant_with_min_max_args as fake_quant_with_min_max_args, fake_quant_with_min_max_args_gradient
as fake_quant_with_min_max_args_gradient, fake_quant_with_min_max_vars as
fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_gradient as
fake_quant_with_min_max_vars_gradient, fake_quant_with_min_max_vars_per_channel as
fake_quant_with_min_max_vars_per_channel, fake_quant_with_min_max_vars_per_channel_gradient as
fake_quant_with_min_max_vars_per_channel_gradient
)
from actorsession.opsets.quantisation.neural import quantized_concat as quantized_concat
from actorsession.opsets.quantisation.rounding import (
quantize_and_dequantize as quantize_and_dequantize, quantize_and_dequantize_v2 as
quantize_and_dequantize_v2
)


__all__ = [
"dequantize", "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
"fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
"fake_quant_with_min_max_vars_per_channel", "fake_quant_with_min_max_vars_per_channel_gradient",
"quantize", "quantize_and_dequantize", "quantize_and_dequantize_v2", "quantize_v2",
"quantized_concat"
]
