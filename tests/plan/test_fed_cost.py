"""What a segment of unknown shapes is expected to cost with the values at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Tensor, ops
from actorsession.plan.codegen.segment import Segment
from tests.plan.kit import Made


def segment_of(graph: Graph, fetch: Tensor, *feeds: Tensor) -> Segment:
    return Made(graph, [fetch], feeds).linked[0].segments[0].segment


def micros(segment: Segment, *arguments: Any) -> float | None:
    assert segment.fed_cost is not None
    return segment.fed_cost.micros(arguments)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def layers(x: Tensor, count: int = 12) -> Tensor:
    for _ in range(count):
        x = ops.tanh(x)
    return x


def test_the_cost_grows_with_the_shape_of_what_is_fed(graph: Graph) -> None:
    x = ops.placeholder("float32", [None, 4])
    segment = segment_of(graph, layers(x), x)
    assert not segment.cost_known
    small, large = micros(segment, ones(2, 4)), micros(segment, ones(1_000_000, 4))
    assert small is not None
    assert large is not None
    assert small < 1000 < large
    # A product of fed matrices costs what its shapes say.
    x, y = (ops.placeholder("float32", None) for _ in range(2))
    x.set_shape([None, None])
    y.set_shape([None, None])
    segment = segment_of(graph, layers(ops.matmul(x, y)), x, y)
    small, large = (micros(segment, ones(2, 3), ones(3, 2)), micros(segment, ones(2000, 3000), ones(3000, 2000)))
    assert small is not None
    assert large is not None
    assert small < 1000 < large
    # A shape that is fed counts as a shape.
    x, to = ops.placeholder("float32", [None]), ops.placeholder("int32", [2])
    segment = segment_of(graph, layers(ops.reshape(x, to)), x, to)
    assert micros(segment, ones(6), np.array([2, 3], np.int32)) is not None


def test_nothing_is_known_of_values_that_a_kernel_will_refuse(graph: Graph) -> None:
    x, y = (ops.placeholder("float32", [None, None]) for _ in range(2))
    segment = segment_of(graph, layers(ops.matmul(x, y)), x, y)
    assert micros(segment, ones(2, 3), ones(2, 3)) is None
    # Nothing is known where the kernel decides on the shape.
    x = ops.placeholder("float32", [None])
    segment = segment_of(graph, layers(ops.boolean_mask(x, x > 0.0)), x)
    assert micros(segment, ones(3)) is None


@pytest.mark.parametrize("case", ["known", "long", "with a loop"])
def test_segments_without_need_or_too_dear_to_look_at_have_none(graph: Graph, case: str) -> None:
    x = ops.placeholder("float32", [3] if case == "known" else [None])
    y = layers(x, 200 if case == "long" else 12)
    if case == "with a loop":
        y = ops.while_loop(lambda v: ops.reduce_sum(v) < 0.0, lambda v: v + 1.0, [y])
    assert segment_of(graph, y, x).fed_cost is None
