from __future__ import annotations

from typing import Any

from actorsession import Graph, float32, gradients
from actorsession.ops.elements import arithmetic
from tests.ops.interpreter import source
from tests.rows import for_each


@for_each(
    "x, y, dynamic",
    [
        ([None, 3], [3], False),
        ([None, 3], [1, 3], False),
        ([None, 3], (), False),
        ([None, 3], [None, 1], True),
        ([None], [None], True),
        (None, [3], True),
    ],
    ids=str,
)
def test_static_shapes_decide_where_they_can(x: Any, y: Any, dynamic: bool, graph: Graph) -> None:
    a, b = source(float32, x), source(float32, y)
    gradients(arithmetic.multiply(a, b), [a, b])
    built = {op.type for op in graph.get_operations()}
    assert ("BroadcastGradientArgs" in built) is dynamic


def test_operands_of_one_shape_need_no_sum(graph: Graph) -> None:
    a, b = source(float32, [2, 3]), source(float32, [2, 3])
    gradients(arithmetic.multiply(a, b), [a, b])
    assert not {op.type for op in graph.get_operations()} & {"Sum", "Reshape", "Shape"}
