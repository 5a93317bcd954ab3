from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph import Graph
from actorsession.graph.dtypes import as_dtype, bool_, float32, float64
from actorsession.ops.build import constant, make_one
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.linear.matmul import matmul
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

TURNS = [(False, False), (True, False), (False, True), (True, True)]

all_turns = for_each("turns", TURNS, ids=str)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def operands(
    turns: tuple[bool, bool], batches: tuple[Any, Any] = ((), ()), size: Any = (2, 3, 4)
) -> tuple[Any, Any]:
    """Small whole numbers in the shapes that multiply to ``[2, 4]`` after turning."""
    rows, inner, columns = size
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (*batches[0], rows, inner)).astype(float)
    b = rng.integers(-3, 4, (*batches[1], inner, columns)).astype(float)
    return turned(a, turns[0]).copy(), turned(b, turns[1]).copy()


def turned(x: Any, turn: bool) -> Any:
    return np.swapaxes(x, -1, -2) if turn else x


@all_turns
@for_each("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64", "complex64"])
@for_each("known", [True, False])
def test_matrices_are_multiplied_turned_as_asked(turns: Any, dtype: str, known: bool) -> None:
    a, b = (m.astype(as_dtype(dtype).np_dtype) for m in operands(turns))
    x, y = (source(dtype, m.shape if known else [None, None]) for m in (a, b))
    result = matmul(x, y, *turns)
    assert result.op.type == "MatMul"
    [found] = evaluate([result], {x: a, y: b})
    wide = complex if "complex" in dtype else float
    expected = turned(a.astype(wide), turns[0]) @ turned(b.astype(wide), turns[1])
    assert found.dtype == a.dtype
    np.testing.assert_array_equal(found.astype(wide), expected)


@all_turns
@for_each(
    "batches",
    [((3,), (3,)), ((), (3,)), ((3,), ()), ((2, 1), (3,)), ((1,), (3,)), ((0,), (0,))],
    ids=str,
)
@for_each("known", [True, False])
def test_batches_broadcast(turns: Any, batches: Any, known: bool) -> None:
    a, b = operands(turns, batches)
    x, y = (source(float64, m.shape if known else None) for m in (a, b))
    result = matmul(x, y, transpose_a=turns[0], transpose_b=turns[1])
    assert (result.op.type, result.op.name) == ("BatchMatMulV2", "MatMul")
    [found] = evaluate([result], {x: a, y: b})
    np.testing.assert_array_equal(found, turned(a, turns[0]) @ turned(b, turns[1]))


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


@pytest.mark.parametrize("size", [(0, 3, 4), (2, 0, 4), (2, 3, 0)], ids=str)
def test_nothing_sums_to_zero(size: Any) -> None:
    a, b = operands((False, False), size=size)
    [found] = evaluate([matmul(constant(a), constant(b))])
    np.testing.assert_array_equal(found, np.zeros((size[0], size[2])), strict=True)


@all_turns
def test_the_gradient_of_a_product_is_that_of_finite_differences(turns: Any) -> None:
    a, b = operands(turns)
    check_gradient(lambda x, y: matmul(x, y, *turns), a, b)


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


@for_each(
    "a, b, expected",
    [
        ([None, 3], [3, 4], [None, 4]),
        ([None, None], [3, None], [None, None]),
        ([7, None, 3], [3, 4], [7, None, 4]),
        ([None, 2, 3], [5, 3, 4], [5, 2, 4]),
        (None, [3, 4], None),
    ],
    ids=str,
)
def test_unknown_dimensions_give_what_can_be_known(a: Any, b: Any, expected: Any) -> None:
    assert matmul(source(float32, a), source(float32, b)).shape == expected


@pytest.mark.parametrize("batch", [(), (5,)], ids=str)
def test_inner_dimensions_that_differ_are_a_value_error_naming_both(batch: Any) -> None:
    with pytest.raises(ValueError, match="3 and 4 must be equal"):
        matmul(source(float32, [*batch, 2, 3]), source(float32, [*batch, 4, 2]))


def test_batches_that_cannot_be_broadcast_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="cannot match the batches"):
        matmul(source(float32, [2, 3, 3]), source(float32, [5, 3, 3]))


def test_a_vector_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"\(3,\)"):
        matmul(source(float32, [3]), source(float32, [3, 3]))
    with pytest.raises(ValueError, match=r"two matrices; got shape \(3,\)"):
        make_one("MatMul", [source(float32, [3]), source(float32, [3, 3])])


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((3,), (3, 3)), ((2, 2, 2), (2, 2))], ids=str)
def test_shapes_that_only_the_step_shows_are_an_error_of_the_step(shapes: Any) -> None:
    x, y = source(float32), source(float32)
    feeds = {x: np.ones(shapes[0]), y: np.ones(shapes[1])}
    with pytest.raises(InvalidArgumentError, match="cannot multiply shapes"):
        evaluate([make_one("MatMul", [x, y])], feeds)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 3)), ((3,), (3, 3)), ((), (3, 3))], ids=str)
def test_batch_shapes_that_only_the_step_shows_are_an_error_of_the_step(shapes: Any) -> None:
    x, y = source(float32), source(float32)
    feeds = {x: np.ones(shapes[0]), y: np.ones(shapes[1])}
    with pytest.raises(InvalidArgumentError, match="cannot multiply shapes"):
        evaluate([matmul(x, y, adjoint_a=True)], feeds)


def test_transposed_and_adjoint_at_once_is_an_error() -> None:
    x = source(float32, [2, 2])
    with pytest.raises(ValueError, match="transpose_b and adjoint_b"):
        matmul(x, x, transpose_b=True, adjoint_b=True)


def test_wrong_dtypes_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="float32 is wanted"):
        matmul(source(float32, [2, 2]), source(float64, [2, 2]))
    with pytest.raises(TypeError, match="bool"):
        matmul(source(bool_, [2, 2]), source(bool_, [2, 2]))


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
    with Graph().as_default():
        x = constant([[1.0]])
        assert [(x @ x).name, matmul(x, x).name] == ["matmul:0", "MatMul_1:0"]
