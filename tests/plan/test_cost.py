"""What a node is expected to cost, in microseconds, from static types alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from actorsession.extend import OpDef, TensorSpec, register_op
from actorsession.graph.node import spec
from actorsession.graph.shape import ShapeLike
from actorsession.plan.cost import node_cost
from tests.plan.kit import node
from tests.rows import for_each


def cost(op: str, *shapes: ShapeLike, inputs: int = 1) -> tuple[float, bool]:
    """The cost of a node with these static shapes, the last of them its output's."""
    specs = [spec("float32", s) for s in shapes]
    made = node("n", op=op, outputs=specs[inputs:])
    return node_cost(made, tuple(specs[:inputs]))


def test_a_call_on_scalars_costs_less_than_a_microsecond() -> None:
    micros, known = cost("Neg", (), ())
    assert 0 < micros < 1
    assert known
    small, _ = cost("Neg", [10], [10])
    large, _ = cost("Neg", [1000, 1000], [1000, 1000])
    assert large == pytest.approx(1000, rel=0.1), "a nanosecond per element"
    assert cost("AddV2", [], [1000, 1000], [1000, 1000], inputs=2)[0] == large
    assert small < 1
    # Empty tensors cost a call.
    assert cost("Neg", [0, 5], [0, 5]) == cost("Neg", (), ())


@pytest.mark.parametrize("shape", [None, [None, 100], [100, None]])
def test_unknown_dimensions_count_as_one_and_are_reported(shape: ShapeLike) -> None:
    micros, known = cost("Neg", shape, shape)
    assert micros < 1
    assert not known
    assert cost("AddV2", [2], shape, [2], inputs=2)[1] is False


@for_each("op", ["Const", "VarHandleOp", "ReadVariableOp", "Identity", "NoOp"])
def test_what_only_passes_things_on_costs_nothing(op: str) -> None:
    assert cost(op, [1000, 1000], None) == (0.0, True)


def test_an_op_may_know_better(registrations: None) -> None:
    """It sees unknown dimensions as 1, and those alone."""
    seen: list[tuple[list[ShapeLike], list[ShapeLike]]] = []

    def estimate(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
        seen.append(([s.shape.as_list() for s in inputs], [s.shape.as_list() for s in outputs]))
        return 7.0

    register_op(OpDef(name="Dear", infer=lambda ctx: (), kernel=lambda ctx: abs, cost=estimate))
    micros, known = cost("Dear", [None, 3], [0], None, inputs=2)
    assert 7 < micros < 8
    assert not known
    assert seen == [([[1, 3], [0]], [[]])]
