"""Products of which only some columns are read: which are made smaller, and that their values stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import ConfigProto, Graph, Session, ops
from actorsession.config import GraphOptions, OptimizerOptions, OptLevel
from actorsession.errors import InvalidArgumentError
from tests.rows import for_each, refused

# Small whole numbers, whose sums of products are exact in any order.
A = np.random.default_rng(1).integers(-4, 4, size=(6, 40)).astype("f4")
B = np.random.default_rng(2).integers(-4, 4, size=(40, 90)).astype("f4")
WHOLE = 2 * A.size * 90  # floating-point operations of the product


def product(transpose_a: bool = False, transpose_b: bool = False, rows: int | None = 6, inner: int | None = 40) -> Any:
    """A product of 90 columns; the shape of its first factor may be known in part."""
    left, right = [rows, inner], [40, 90]
    a = ops.placeholder("float32", left[::-1] if transpose_a else left, name="a")
    b = ops.placeholder("float32", right[::-1] if transpose_b else right, name="b")
    return ops.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name="product")


def operations(*fetches: Any) -> float | None:
    """How many operations a step takes, if that is known, whose values are those of the plain step."""
    graph = fetches[0].graph
    feeds = {}
    for name, value in (("a", A), ("b", B)):
        tensor = graph.get_tensor_by_name(f"{name}:0")
        feeds[tensor] = value if tensor.shape.is_compatible_with(value.shape) else value.T
    values = []
    for level in (OptLevel.L0, OptLevel.L1):
        options = GraphOptions(optimizer_options=OptimizerOptions(opt_level=level))
        with Session(graph=graph, config=ConfigProto(graph_options=options)) as session:
            values.append(session.run(fetches, feeds))
            flops = session.explain(fetches, list(feeds)).flops
    for plain, smaller in zip(*values, strict=True):
        np.testing.assert_array_equal(plain, smaller)
    return flops


PARTS: dict[str, Callable[[Any], Any]] = {
    "the last of two": lambda y: ops.split(y, [60, 30], axis=1)[1],
    "the first of two, by a negative axis": lambda y: ops.split(y, [30, 60], axis=-1)[0],
    "one of three alike": lambda y: ops.split(y, 3, axis=1)[1],
    "a slice": lambda y: ops.slice(y, [0, 20], [6, 30]),
    "a slice of all rows": lambda y: ops.slice(y, [0, 20], [-1, 30]),
}


@for_each("part", list(PARTS))
@for_each("transpose_b", [False, True])
@for_each("transpose_a", [False, True])
def test_a_product_has_the_columns_that_are_read(part: str, transpose_a: bool, transpose_b: bool) -> None:
    with Graph().as_default():
        read = PARTS[part](product(transpose_a, transpose_b))
        assert operations(read + 1.0) == WHOLE / 3 + A.shape[0] * 30


def test_the_number_of_rows_need_not_be_known() -> None:
    with Graph().as_default():
        read = ops.split(product(rows=None), [60, 30], axis=1)[1]
        assert read.shape.as_list() == [None, 30]
        operations(read + 1.0)
        with Session() as session:
            dropped = {node.name: node.why for node in session.explain(read + 1.0).dropped}
        assert dropped["split"] == "reads columns of 'product', which computes no others"


def test_a_product_of_columns_of_a_product_loses_columns_as_well() -> None:
    with Graph().as_default():
        inner = ops.split(product(), 3, axis=1)[1]
        outer = ops.matmul(inner, np.ones((30, 90), "f4"))
        read = ops.split(outer, 3, axis=1)[0] + 1.0
        assert operations(read) == WHOLE / 3 + 2 * 6 * 30 * 30 + 6 * 30


WHOLES: dict[str, Callable[[], list[Any]]] = {
    "which is fetched": lambda: [y := product(), ops.split(y, 3, axis=1)[0] + 1.0],
    "whose part is fetched": lambda: [ops.split(product(), 3, axis=1)[0]],
    "of which two parts are read": lambda: [part + 1.0 for part in ops.split(product(), 3, axis=1)[:2]],
    "that has another reader": lambda: [ops.split(y := product(), 3, axis=1)[0] + 1.0, ops.tanh(y)],
    "of which rows are read": lambda: [ops.split(product(), 3, axis=0)[0] + 1.0],
    "of which a block is read": lambda: [ops.slice(product(), [1, 20], [5, 30]) + 1.0],
    "whose part is nearly all": lambda: [ops.slice(product(), [0, 0], [6, 89]) + 1.0],
}


@for_each("which", list(WHOLES))
def test_a_product_stays_whole(which: str) -> None:
    with Graph().as_default():
        assert (operations(*WHOLES[which]()) or 0) >= WHOLE


def test_who_waits_for_the_product_still_waits_for_it() -> None:
    with Graph().as_default() as graph:
        y = product()
        read = ops.split(y, 3, axis=1)[0] + 1.0
        with graph.control_dependencies([y]):
            after = ops.constant(2.0) * read
        assert (operations(after) or 0) >= WHOLE


def test_factors_that_do_not_fit_are_refused_in_the_same_words() -> None:
    with Graph().as_default() as graph:
        read = ops.split(product(inner=None), [60, 30], axis=1)[1] + 1.0
        a, b = (graph.get_tensor_by_name(f"{name}:0") for name in "ab")
        with Session() as session:
            refused(
                lambda: session.run(read, {a: np.zeros((6, 41)), b: B}),
                InvalidArgumentError,
                r"cannot multiply shapes \(6, 41\) and \(40, 90\)",
            )


def test_the_gradient_of_a_joined_state_is_computed_for_the_state_alone() -> None:
    """As in every recurrent cell whose input is data."""
    with Graph().as_default():
        row = ops.constant(np.ones((8, 30), "f4"))
        w = ops.placeholder("float32", [50, 40])
        h = ops.placeholder("float32", [8, 20])
        out = ops.tanh(ops.matmul(ops.concat([row, h], 1), w))
        gradient = ops.gradients(out, [h])[0] + 0.0
        values = {w: np.random.default_rng(3).normal(size=(50, 40)), h: np.ones((8, 20))}
        with Session() as session:
            explained = session.explain(gradient, list(values))
            joined = np.concatenate([np.ones((8, 30)), values[h]], 1)
            expected = ((1 - np.tanh(joined @ values[w]) ** 2) @ values[w].T)[:, 30:]
            np.testing.assert_allclose(session.run(gradient, values), expected, rtol=1e-4, atol=1e-4)
        assert explained.flops is not None
        assert explained.flops < 2 * 8 * 40 * (50 + 20) + 4 * 8 * 40
