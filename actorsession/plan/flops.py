"""How many floating-point operations a node needs, by its operation type: the numbers that TensorFlow 1 counts.

Explanations of plans and TensorFlow's profiler count with this table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import TensorShape

__all__ = ["FLOPS", "Shapes", "float_operations", "known_float_operations"]


class Shapes(NamedTuple):
    """What a number of operations follows from.

    Attributes:
        attrs: the attributes of the node.
        inputs: the static shapes of its inputs.
        outputs: those of its outputs.
    """

    attrs: Mapping[str, Any]
    inputs: Sequence[TensorShape]
    outputs: Sequence[TensorShape]


class _Row(NamedTuple):
    """How a number follows from shapes.

    Attributes:
        number: the function.
        nhwc: whether it holds for data with channels last alone.
    """

    number: Callable[[Shapes], float]
    nhwc: bool = False


def _size(shape: TensorShape) -> int:
    count = shape.num_elements()
    if count is None:
        raise ValueError(f"the shape {shape} is not fully defined")
    return count


def _sizes(shape: TensorShape) -> list[int]:
    _size(shape)
    return [int(size or 0) for size in shape.as_list()]


def _of_input(each: int) -> _Row:
    return _Row(lambda node: _size(node.inputs[0]) * each)


def _of_output(each: int) -> _Row:
    return _Row(lambda node: _size(node.outputs[0]) * each)


def _reduced(last: int) -> _Row:
    """One operation for each element but one of each result, and ``last`` for that."""
    return _Row(lambda node: _size(node.inputs[0]) + _size(node.outputs[0]) * (last - 1))


def _window(axes: int) -> _Row:
    """Two operations for each weight of the first axes and each element of the result."""
    return _Row(lambda node: 2 * _size(node.outputs[0]) * math.prod(_sizes(node.inputs[1])[:axes]))


def _multiplied(transpose: str) -> _Row:
    def count(node: Shapes) -> int:
        sizes = _sizes(node.inputs[0])
        return 2 * _size(node.outputs[0]) * sizes[-2 if node.attrs.get(transpose) else -1]

    return _Row(count)


def _backward(image: Callable[[Shapes], TensorShape], kernel: Callable[[Shapes], TensorShape]) -> _Row:
    def count(node: Shapes) -> float:
        sizes, strides = _sizes(image(node)), node.attrs["strides"]
        total: int = 2 * math.prod(sizes) * _size(kernel(node))
        return total / int(sizes[-1] * strides[1] * strides[2])

    return _Row(count, nhwc=True)


def _pooled(tensor: Callable[[Shapes], TensorShape], factor: int = 1, more: int = 0) -> _Row:
    return _Row(lambda node: _size(tensor(node)) * (math.prod(node.attrs["ksize"]) * factor + more), nhwc=True)


def _first(node: Shapes) -> TensorShape:
    return node.outputs[0]


_BINARY = "Add AddV2 Equal Greater GreaterEqual Less LessEqual Maximum Minimum Mul NotEqual Pow RealDiv Sub"
FLOPS: dict[str, _Row] = {
    **dict.fromkeys(["AssignAdd", "AssignSub", "BiasAdd", "Log", "Neg", "Reciprocal", "Square"], _of_input(1)),
    "Rsqrt": _of_input(2),
    "Softmax": _of_input(5),
    "L2Loss": _Row(lambda node: _size(node.inputs[0]) * 3 - 1),
    **dict.fromkeys(_BINARY.split(), _of_output(1)),
    "SquaredDifference": _of_output(2),
    "RsqrtGrad": _of_output(4),
    **dict.fromkeys(["ArgMax", "ArgMin", "BiasAddGrad", "Sum"], _reduced(0)),
    "Mean": _reduced(1),
    "AddN": _Row(lambda node: _size(node.inputs[0]) * (len(node.inputs) - 1)),
    "MatMul": _multiplied("transpose_a"),
    **dict.fromkeys(["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"], _multiplied("adj_x")),
    "Conv2D": _window(3),
    "Conv3D": _window(4),
    **dict.fromkeys(["DepthwiseConv2dNative", "Dilation2D"], _window(2)),
    "Conv2DBackpropInput": _backward(_first, lambda node: node.inputs[1]),
    "Conv2DBackpropFilter": _backward(lambda node: node.inputs[0], _first),
    **dict.fromkeys(["AvgPool", "MaxPool"], _pooled(_first)),
    "AvgPoolGrad": _pooled(lambda node: node.inputs[1], factor=2),
    "MaxPoolGrad": _pooled(lambda node: node.inputs[1], more=1),
}
"""By operation type."""


def float_operations(op: str, node: Shapes) -> int | None:
    """Return the number of floating-point operations of a node; ``None`` if no row says how they are counted.

    Args:
        op: the operation type.
        node: its attributes and shapes.

    Raises:
        ValueError: if a shape that counts is not fully defined, or the data has another layout.
    """
    row = FLOPS.get(op)
    if row is None:
        return None
    if row.nhwc and node.attrs.get("data_format", "NHWC") not in ("NHWC", b"NHWC"):
        raise ValueError("Only NHWC format is supported in flops computations")
    return int(row.number(node))


def known_float_operations(
    op: str, attrs: Mapping[str, Any], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> int | None:
    """Return the same for static types; ``None`` also if they do not determine it."""
    node = Shapes(attrs, [spec.shape for spec in inputs], [spec.shape for spec in outputs])
    try:
        return float_operations(op, node)
    except (ValueError, IndexError):
        return None
