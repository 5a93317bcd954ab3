from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, constant, float32, gradients, matmul
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

TURNS = [(False, False), (True, False), (False, True), (True, True)]

all_turns = for_each("turns", TURNS, ids=str)


def operands(turns: tuple[bool, bool], batches: tuple[Any, Any] = ((), ()), size: Any = (2, 3, 4)) -> tuple[Any, Any]:
    """Small whole numbers in the shapes that multiply to ``[2, 4]`` after turning."""
    rows, inner, columns = size
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (*batches[0], rows, inner)).astype(float)
    b = rng.integers(-3, 4, (*batches[1], inner, columns)).astype(float)
    return turned(a, turns[0]).copy(), turned(b, turns[1]).copy()


def turned(x: Any, turn: bool) -> Any:
    return np.swapaxes(x, -1, -2) if turn else x


@for_each("rank", [2, 3])
@for_each("which", ["transpose", "adjoint"])
def test_adjoint_operands_are_conjugated_and_transposed_ones_are_not(rank: int, which: str) -> None:
    rng = np.random.default_rng(0)
    z = (rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2))).reshape((1,) * (rank - 2) + (2, 2))
    turn = np.swapaxes(z.conj() if which == "adjoint" else z, -1, -2)
    sides: list[dict[str, Any]] = [{f"{which}_a": True}, {f"{which}_b": True}]
    found = evaluate([matmul(constant(z), constant(z), **side) for side in sides])
    np.testing.assert_allclose(found[0], turn @ z)
    np.testing.assert_allclose(found[1], z @ turn)


def test_the_operator_multiplies_matrices() -> None:
    a, b = operands((False, False))
    [found] = evaluate([constant(a) @ constant(b)])
    np.testing.assert_array_equal(found, a @ b)
    [left] = evaluate([a @ constant(b)])
    np.testing.assert_array_equal(left, a @ b)


@all_turns
def test_the_gradient_of_a_product_builds_no_transpose(turns: Any, graph: Graph) -> None:
    a, b = (constant(m) for m in operands(turns))
    gradients(matmul(a, b, *turns), [a, b])
    assert "Transpose" not in {op.type for op in graph.get_operations()}


@all_turns
@for_each("batches", [((3,), (3,)), ((), (3,)), ((2, 1), (3,))], ids=str)
def test_the_gradient_of_a_batch_is_summed_where_it_was_broadcast(turns: Any, batches: Any) -> None:
    a, b = operands(turns, batches)
    check_gradient(lambda x, y: matmul(x, y, *turns), a, b)


def test_transposed_and_adjoint_at_once_is_an_error() -> None:
    x = source(float32, [2, 2])
    with pytest.raises(ValueError, match="transpose_b and adjoint_b"):
        matmul(x, x, transpose_b=True, adjoint_b=True)


def test_the_cost_of_a_product_grows_with_all_three_sizes() -> None:
    def cost(rows: int, inner: int, columns: int) -> float:
        x, y = constant(np.ones((rows, inner))), constant(np.ones((inner, columns)))
        op = matmul(x, y).op
        assert op.op_def.cost is not None
        return op.op_def.cost([t.spec for t in op.inputs], [t.spec for t in op.outputs])

    base = cost(100, 100, 100)
    for larger in ((200, 100, 100), (100, 200, 100), (100, 100, 200)):
        assert cost(*larger) - 2 == pytest.approx(2 * (base - 2))


def test_the_operator_and_the_function_have_names_of_their_own() -> None:
    x = constant([[1.0]])
    assert [(x @ x).name, matmul(x, x).name] == ["matmul:0", "MatMul_1:0"]
