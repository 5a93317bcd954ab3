"""How many float operations a node needs, by its operation type; programs may register further types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from actorsession.graph.operation import Operation, Tensor

__all__ = ["FLOPS", "OpStats", "RegisterStatistics", "flops_of", "get_stats_for_node_def"]


class OpStats:
    """A number that a program's function tells of a node.

    Args:
        statistic_type: what it counts, such as ``flops``.
        value: the number; ``None`` if it is not known.
    """

    def __init__(self, statistic_type: str, value: Any = None) -> None:
        self.statistic_type, self.value = statistic_type, value

    @property
    def statistic_type(self) -> str:
        """What it counts."""
        return self._statistic_type

    @statistic_type.setter
    def statistic_type(self, statistic_type: str) -> None:
        self._statistic_type = statistic_type

    @property
    def value(self) -> Any:
        """The number."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value

    def __iadd__(self, other: OpStats) -> OpStats:
        if other.statistic_type != self.statistic_type:
            raise ValueError(f"a number of {other.statistic_type!r} cannot be added to one of {self.statistic_type!r}")
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value = self.value + other.value
        return self


_REGISTERED: dict[tuple[str, str], Callable[..., OpStats]] = {}


class RegisterStatistics:
    """A decorator that registers what tells a number of nodes of an operation type.

    The function takes the graph and the node as a message, and returns an ``OpStats``.

    Args:
        op_type: the operation type.
        statistic_type: what it counts, such as ``flops``.

    Raises:
        TypeError: if they are no strings.
        ValueError: if the type has a comma.
        KeyError: from the decorator, if there is such a function already.
    """

    def __init__(self, op_type: str, statistic_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string.")
        if "," in op_type:
            raise ValueError("op_type must not contain a comma.")
        if not isinstance(statistic_type, str):
            raise TypeError("statistic_type must be a string.")
        self._key = (op_type, statistic_type)

    def __call__(self, f: Callable[..., OpStats]) -> Callable[..., OpStats]:
        """Register the function and return it."""
        if self._key in _REGISTERED or (self._key[1] == "flops" and self._key[0] in FLOPS):
            raise KeyError(f"{self._key[1]} of {self._key[0]} are registered already")
        _REGISTERED[self._key] = f
        return f


class _Row(NamedTuple):
    """How a number follows from shapes.

    Attributes:
        number: a function of the operation.
        nhwc: whether it holds for data with channels last alone.
    """

    number: Callable[[Operation], float]
    nhwc: bool = False


def _size(tensor: Tensor) -> int:
    count: int | None = tensor.shape.num_elements()
    if count is None:
        raise ValueError(f"the shape of {tensor!r} is not fully defined")
    return count


def _sizes(tensor: Tensor) -> list[int]:
    _size(tensor)
    return [int(size or 0) for size in tensor.shape.as_list()]


def _of_input(each: int) -> _Row:
    return _Row(lambda op: _size(op.inputs[0]) * each)


def _of_output(each: int) -> _Row:
    return _Row(lambda op: _size(op.outputs[0]) * each)


def _reduced(last: int) -> _Row:
    """One operation for each element but one of each result, and ``last`` for that."""
    return _Row(lambda op: _size(op.inputs[0]) + _size(op.outputs[0]) * (last - 1))


def _window(axes: int) -> _Row:
    """Two operations for each weight of the first axes and each element of the result."""
    return _Row(lambda op: 2 * _size(op.outputs[0]) * math.prod(_sizes(op.inputs[1])[:axes]))


def _multiplied(transpose: str) -> _Row:
    def count(op: Operation) -> int:
        sizes = _sizes(op.inputs[0])
        return 2 * _size(op.outputs[0]) * sizes[-2 if op.attrs.get(transpose) else -1]

    return _Row(count)


def _backward(image: Callable[[Operation], Tensor], kernel: Callable[[Operation], Tensor]) -> _Row:
    def count(op: Operation) -> float:
        sizes, strides = _sizes(image(op)), op.attrs["strides"]
        total: int = 2 * math.prod(sizes) * _size(kernel(op))
        return total / int(sizes[-1] * strides[1] * strides[2])

    return _Row(count, nhwc=True)


def _pooled(tensor: Callable[[Operation], Tensor], factor: int = 1, more: int = 0) -> _Row:
    return _Row(lambda op: _size(tensor(op)) * (math.prod(op.attrs["ksize"]) * factor + more), nhwc=True)


def _first(op: Operation) -> Tensor:
    return op.outputs[0]


_BINARY = "Add AddV2 Equal Greater GreaterEqual Less LessEqual Maximum Minimum Mul NotEqual Pow RealDiv Sub"
FLOPS: dict[str, _Row] = {
    **dict.fromkeys(["AssignAdd", "AssignSub", "BiasAdd", "Log", "Neg", "Reciprocal", "Square"], _of_input(1)),
    "Rsqrt": _of_input(2),
    "Softmax": _of_input(5),
    "L2Loss": _Row(lambda op: _size(op.inputs[0]) * 3 - 1),
    **dict.fromkeys(_BINARY.split(), _of_output(1)),
    "SquaredDifference": _of_output(2),
    "RsqrtGrad": _of_output(4),
    **dict.fromkeys(["ArgMax", "ArgMin", "BiasAddGrad", "Sum"], _reduced(0)),
    "Mean": _reduced(1),
    "AddN": _Row(lambda op: _size(op.inputs[0]) * (len(op.inputs) - 1)),
    "MatMul": _multiplied("transpose_a"),
    **dict.fromkeys(["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"], _multiplied("adj_x")),
    "Conv2D": _window(3),
    "Conv3D": _window(4),
    **dict.fromkeys(["DepthwiseConv2dNative", "Dilation2D"], _window(2)),
    "Conv2DBackpropInput": _backward(_first, lambda op: op.inputs[1]),
    "Conv2DBackpropFilter": _backward(lambda op: op.inputs[0], _first),
    **dict.fromkeys(["AvgPool", "MaxPool"], _pooled(_first)),
    "AvgPoolGrad": _pooled(lambda op: op.inputs[1], factor=2),
    "MaxPoolGrad": _pooled(lambda op: op.inputs[1], more=1),
}
"""By operation type; the numbers are those that TensorFlow 1 counts."""


def flops_of(op: Operation) -> int | None:
    """Return the number of float operations of a node; ``None`` if nobody says how they are counted.

    Raises:
        ValueError: if a shape that counts is not fully defined, or the data has another layout.
    """
    function = _REGISTERED.get((op.type, "flops"))
    if function is not None:
        told = function(op.graph, op.node_def).value
        return None if told is None else int(told)
    row = FLOPS.get(op.type)
    if row is None:
        return None
    layout = op.attrs.get("data_format", "NHWC")
    if row.nhwc and layout not in ("NHWC", b"NHWC"):
        raise ValueError("Only NHWC format is supported in flops computations")
    return int(row.number(op))


def get_stats_for_node_def(graph: Any, node: Any, statistic_type: str) -> OpStats:
    """Return a number of a node.

    Args:
        graph: the graph.
        node: the node as a message.
        statistic_type: what is counted, such as ``flops``.

    Raises:
        ValueError: if a shape that counts is not fully defined.
    """
    function = _REGISTERED.get((node.op, statistic_type))
    if function is not None:
        return function(graph, node)
    if statistic_type != "flops":
        return OpStats(statistic_type)
    return OpStats(statistic_type, flops_of(graph.get_operation_by_name(node.name)))
