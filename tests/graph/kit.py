"""Ops to build test graphs of, which compute nothing: this room runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession import Graph, Operation, Tensor, as_dtype, float32
from actorsession.extend import REQUIRED, Array, InferContext, Kernel, OpDef, TensorSpec
from actorsession.extend import register_op as register
from actorsession.graph.node import spec
from actorsession.graph.shape import ShapeLike, merge_all, unknown_shape

__all__ = ["copy", "join", "leaf", "op", "pair", "value"]


def _no_kernel(ctx: Any) -> Kernel:
    raise AssertionError(f"{ctx.name!r}: test ops compute nothing")


def _infer_join(ctx: InferContext) -> list[TensorSpec]:
    first = ctx.inputs[0].dtype
    if any(s.dtype is not first for s in ctx.inputs):
        raise TypeError(f"{ctx.op} takes inputs of one dtype")
    return [TensorSpec(first, merge_all([s.shape for s in ctx.inputs]))]


def _infer_value(ctx: InferContext) -> list[TensorSpec]:
    return [spec(ctx.attrs["value"].dtype, ctx.attrs["value"].shape)]


def _infer_sized(ctx: InferContext) -> list[TensorSpec]:
    size = ctx.constant(0)
    return [TensorSpec(float32, unknown_shape) if size is None else spec(float32, size.tolist())]


def _sum(ctx: InferContext) -> Array | None:
    known = [c for c in ctx.constants if c is not None]
    return np.asarray(sum(known)) if len(known) == len(ctx.constants) else None


register(
    OpDef(
        name="KitLeaf",
        infer=lambda ctx: [spec(ctx.attrs["dtype"], ctx.attrs["shape"])],
        kernel=_no_kernel,
        attrs={"dtype": float32, "shape": None},
    )
)
register(OpDef(name="KitJoin", infer=_infer_join, kernel=_no_kernel))
register(OpDef(name="KitNothing", infer=lambda ctx: (), kernel=_no_kernel))
register(OpDef(name="KitPair", infer=lambda ctx: [spec(float32, ()), spec(float32, [2])], kernel=_no_kernel))
register(
    OpDef(
        name="KitValue",
        infer=_infer_value,
        kernel=_no_kernel,
        attrs={"value": REQUIRED},
        static_value=lambda ctx: ctx.attrs["value"],
    )
)
register(
    OpDef(
        name="KitCopy", infer=lambda ctx: [ctx.inputs[0]], kernel=_no_kernel, static_value=lambda ctx: ctx.constants[0]
    )
)
register(OpDef(name="KitSum", infer=lambda ctx: [ctx.inputs[0]], kernel=_no_kernel, static_value=_sum))
# Its value is the extent of its input's first dimension, once that is known.
register(
    OpDef(
        name="KitExtent",
        infer=lambda ctx: [spec("int32", ())],
        kernel=_no_kernel,
        static_value=lambda ctx: (
            None
            if ctx.inputs[0].shape.sizes is None or ctx.inputs[0].shape[0] is None
            else np.asarray(ctx.inputs[0].shape[0])
        ),
    )
)
# Its shape is the value of its input.
register(OpDef(name="KitSized", infer=_infer_sized, kernel=_no_kernel))


def leaf(graph: Graph, name: str | None = None, *, dtype: Any = "float32", shape: ShapeLike = ()) -> Tensor:
    """A tensor that comes from nowhere."""
    return graph.create_op("KitLeaf", (), {"dtype": as_dtype(dtype), "shape": shape}, name).outputs[0]


def join(graph: Graph, *inputs: Tensor, name: str | None = None) -> Tensor:
    """A tensor that reads others of its dtype and shape."""
    return graph.create_op("KitJoin", inputs, None, name).outputs[0]


def copy(graph: Graph, tensor: Tensor, name: str | None = None) -> Tensor:
    """A tensor whose value is known early when that of its input is."""
    return graph.create_op("KitCopy", [tensor], None, name).outputs[0]


def value(graph: Graph, array: Any, name: str | None = None) -> Tensor:
    """A tensor whose value is known while the graph is built."""
    return graph.create_op("KitValue", (), {"value": np.asarray(array)}, name).outputs[0]


def pair(graph: Graph, name: str | None = None) -> Sequence[Tensor]:
    """The two outputs, a scalar and a vector, of one operation."""
    return graph.create_op("KitPair", (), None, name).outputs


def op(graph: Graph, name: str | None = None) -> Operation:
    return graph.create_op("KitNothing", (), None, name)
