"""Products and normalisations that TensorFlow's passes have fused with what follows them.

Owns ``_FusedMatMul`` and ``_FusedBatchNormEx``, which frozen graphs hold that were optimised before they were
written.
"""

from __future__ import annotations

from actorsession.ops.compounds import Body, Value, compound
from actorsession.ops.convolutions.fused import epilogue

__all__: list[str] = []


def _product(body: Body, a: Value, b: Value, *args: Value) -> Value:
    attrs = {key: body.attrs[key] for key in ("transpose_a", "transpose_b")}
    return epilogue(body, body.MatMul(a, b, **attrs), args, body.attrs["fused_ops"])


def _normalised(body: Body, x: Value, *vectors_and_side: Value) -> list[Value]:
    keys = ("epsilon", "exponential_avg_factor", "data_format", "is_training")
    outputs = body.FusedBatchNormV3(x, *vectors_and_side[:4], **{key: body.attrs[key] for key in keys})
    y, *others = outputs
    for side in vectors_and_side[4:]:
        y = body.AddV2(y, side)
    if body.attrs["activation_mode"] not in ("Identity", "Relu"):
        raise ValueError(f"activation_mode is Identity or Relu, got {body.attrs['activation_mode']!r}")
    return [body.Relu(y) if body.attrs["activation_mode"] == "Relu" else y, *others]


compound("_FusedMatMul", _product, divides=True)
compound("_FusedBatchNormEx", _normalised)
