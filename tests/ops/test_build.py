"""Python values as tensors and operands, the names of their constants, and what shapes decide of a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, float32, int32, math, nn, ops, uint64
from actorsession.errors import WrongDtypeError
from actorsession.ops.build import to_array
from tests.ops.cases import f32, i32
from tests.ops.interpreter import evaluate, source
from tests.ops.uses import each_use, equals, gives, nodes

# -- values of Python ------------------------------------------------------------------------------

# The narrow type, unless some number needs the wide one.
NUMBERS = [
    (1, np.int32),
    (-(2**31), np.int32),
    (2**31, np.int64),
    ([1, 2**40], np.int64),
    (2**63, np.uint64),
    ([np.int64(1)], np.int32),
    (np.int64(1), np.int64),
    (1.5, np.float32),
    ([2**40, 1.5], np.float32),
    (np.float64(1.5), np.float64),
]
# The last element fills what is left of a shape.
FILLED: list[tuple[Any, list[int], Any]] = [
    ([1, 2, 3], [2, 2], [[1, 2], [3, 3]]),
    ([[1, 2], [3, 4]], [5], [1, 2, 3, 4, 4]),
    (7, [2, 2], [[7, 7], [7, 7]]),
    ([7], [], 7),
    ([], [2], [0.0, 0.0]),
    ([], [0, 3], np.zeros([0, 3], np.float32)),
    ([True, False], [3], [True, False, False]),
    (["a", "b"], [3], [b"a", b"b", b"b"]),
    (np.arange(6), [3, 2], [[0, 1], [2, 3], [4, 5]]),
    (5, [0], []),
]
VALUES = [
    *(gives(lambda v=v: ops.constant(v), np.array(v, t)) for v, t in NUMBERS),
    *((lambda v=v: ops.constant(v), TypeError, "cannot make a tensor of") for v in (2**64, [1, 2**70], -(2**64))),
    equals(lambda: [(a.dtype, a.tolist()) for a in [to_array([0, 2**64 - 1], uint64)]], [("uint64", [0, 2**64 - 1])]),
    *(
        (lambda v=v: to_array(v, uint64), TypeError, "Expected uint64, but got")
        for v in ([-1, 2**63], [0.5, 1.0], [0, 2**64])
    ),
    equals(lambda: ops.fill([2], 2**40).dtype.name, "int64"),
    equals(lambda: ops.range(0, 2**40, 2**38).dtype.name, "int64"),
    equals(lambda: (source(float32) + 2**40).dtype.name, "float32"),
    (lambda: source(int32) + 2**40, TypeError, "does not fit int32"),
    (lambda: ops.convert_to_tensor(2**40, int32), TypeError, "does not fit int32"),
    (lambda: ops.constant(None), ValueError, "None values not supported"),
    gives(lambda: ops.constant(["\x01\x00", b"ab\x00\x00"]), np.array([b"\x01\x00", b"ab\x00\x00"], object)),
    (lambda: ops.constant(["a", 1]), TypeError, "cannot make a tensor of list"),
    gives(lambda: ops.convert_to_tensor([True, False], float32) + True, f32([2, 1])),
    gives(lambda: ops.convert_to_tensor([True, False], int32) + True, i32([2, 1])),
    (lambda: ops.constant(1, "bool"), TypeError, "Expected bool, but got"),
    gives(lambda: ops.constant(2**70, float32), np.float32(2.0**70)),
    *(gives(lambda v=v, s=s: ops.constant(v, shape=s), w) for v, s, w in FILLED),
    *(equals(lambda v=v, s=s: ops.constant(v, shape=s).shape, s) for v, s, _ in FILLED),
    *(
        (lambda s=s: ops.constant([1, 2, 3], shape=s), ValueError, r"Too many elements provided: .* got 3")
        for s in ([2], [])
    ),
    equals(lambda: ops.constant([[1, 2]], shape=[1, 2], verify_shape=True).shape, [1, 2]),
    (
        lambda: ops.constant([1, 2, 3], shape=[2, 2], verify_shape=True),
        TypeError,
        r"Expected Tensor's shape: \(2, 2\), but got \(3,\)",
    ),
    (lambda: ops.constant(source(int32, [])), TypeError, r"takes values, got a tensor"),
    (lambda: ops.constant([source(int32, []), 2]), TypeError, r"takes values, got a tensor"),
]


# -- operands --------------------------------------------------------------------------------------

# A constant is named after the operand that it is.
NAMED: list[tuple[Any, list[str]]] = [
    (lambda x: ops.reduce_sum(x, 1), ["Sum/reduction_indices", "Sum"]),
    (lambda x: ops.reduce_mean(x, 0, name="m"), ["m/reduction_indices", "m"]),
    (ops.reduce_max, ["Const", "Max"]),
    (ops.argmax, ["ArgMax/dimension", "ArgMax"]),
    (lambda x: ops.square([1.0]), ["Square/x", "Square"]),
    (lambda x: nn.relu([1.0]), ["Relu/features", "Relu"]),
    (lambda x: ops.gather_nd(x, [[0, 0]]), ["GatherNd/indices", "GatherNd"]),
    (lambda x: ops.one_hot(x, 3, 1.0), ["one_hot/on_value", "one_hot/off_value", "one_hot/depth", "one_hot"]),
    (lambda x: ops.segment_sum(x, [0, 1]), ["SegmentSum/segment_ids", "SegmentSum"]),
    (lambda x: ops.floor_div(1, 2), ["FloorDiv/x", "FloorDiv/y", "FloorDiv"]),
    (lambda x: math.xdivy(1.0, 2.0), ["xdivy/Xdivy/x", "xdivy/Xdivy/y", "xdivy/Xdivy"]),
    (lambda x: x + 1, ["add/y", "add"]),
    (lambda x: ops.multiply(2, x, name="twice"), ["twice/x", "twice"]),
    (lambda x: ops.multiply(x, x), ["Mul"]),
]


def _names(build: Any) -> list[str]:
    x = source(int32, [2, 2])
    build(x)
    return [op.name for op in x.graph.get_operations()[1:]]


def _back(*shapes: Any) -> set[str]:
    """Types of the nodes that are built for the gradients of a product of such shapes."""
    return set(nodes(lambda x, y: ops.gradients(x * y, [x, y]), *shapes).values())


OPERANDS = [
    *(equals(lambda f=f: _names(f), names) for f, names in NAMED),
    gives(lambda x: [x + 1, 1 + x, x - 1, 2 - x, 2 * x], [np.float64(v) for v in (3.5, 3.5, 1.5, -0.5, 5)], 2.5),
    (lambda: ops.constant(1) + 0.5, TypeError, "int32"),
    gives(lambda x: f32([1, 2]) * x, f32([3, 8]), f32([3, 4])),
    equals(lambda: (source(float32) + 1).op.type, "AddV2"),
    equals(lambda: (source(float32) / 2).op.name, "truediv"),
    gives(lambda: ops.add(1, 2), np.int32(3)),
    (lambda: ops.subtract("a", "b"), TypeError, r"Sub takes signed .* complex types as x; got string"),
    # Static shapes decide where they can which axes of a gradient are summed.
    *(
        equals(lambda s=shapes: "BroadcastGradientArgs" in _back(*s), in_the_step)
        for *shapes, in_the_step in (
            ([None, 3], [3], False),
            ([None, 3], [1, 3], False),
            ([None, 3], (), False),
            ([None, 3], [None, 1], True),
            ([None], [None], True),
            (None, [3], True),
        )
    ),
    equals(lambda: _back([2, 3], [2, 3]) & {"Sum", "Reshape", "Shape"}, set()),
]


test_values_and_operands_become_what_their_rows_say = each_use([*VALUES, *OPERANDS])


def test_a_tensor_of_another_dtype_is_both_errors_that_tensorflow_raises() -> None:
    with pytest.raises(WrongDtypeError, match="int32; float32 is wanted") as caught:
        ops.convert_to_tensor(ops.constant(1), float32)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


def test_constants_are_built_in_the_graph_of_the_tensor_beside_them(graph: Graph) -> None:
    other = Graph()
    x = source(float32, (), other)
    assert (x + 1).graph is ops.multiply(2, x).graph is other
    assert not graph.get_operations()
    assert evaluate([ops.add(1, 2)]) == [3]
    assert ops.add(1, 2).graph is graph
