"""A lack of memory names the node, the sizes of its inputs, and what holds most of the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, lookup, ops, opsets
from actorsession.errors import ResourceExhaustedError
from tests.nodes import make
from tests.rows import for_each

HUGE = 1 << 24  # rows and columns of a matrix that no machine has memory for
COLUMN, ROW = np.ones((HUGE, 1), "f4"), np.ones((1, HUGE), "f4")


@pytest.fixture
def on_cpu(graph: Graph) -> Iterator[Graph]:
    """A graph that numpy computes, whatever the default device is."""
    with graph.device("/cpu:0"):
        yield graph


def outer(x: Any, y: Any) -> Any:
    return ops.multiply(x, y, name="outer")


def said(session: Session, fetch: Any, feeds: Any = None) -> str:
    """What the error of a run says."""
    with pytest.raises(ResourceExhaustedError) as raised:
        session.run(fetch, feeds)
    return str(raised.value)


def test_an_error_names_the_largest_holders_and_the_sum_of_all(on_cpu: Graph) -> None:
    x, y = ops.placeholder("float32", [None, 1]), ops.placeholder("float32", [1, None])
    product = outer(x, y)
    sizes = {"a": 256, "b": 1 << 20, "c": 512, "d": 10, "e": 1}
    variables = [ops.Variable(np.zeros(size, "f4"), name=name) for name, size in sizes.items()]
    empty = ops.Variable(np.zeros(1, "f4"), name="empty")
    with Session(graph=on_cpu) as session:
        assert "; nothing is held between steps [node outer," in said(session, product, {x: COLUMN, y: ROW})
        session.run([v.initializer for v in variables])
        assert said(session, product, {x: COLUMN, y: ROW}).startswith(
            f"no memory left for Mul of float32[{HUGE}, 1], float32[1, {HUGE}]: MemoryError: Unable to allocate "
            f"1.00 PiB for an array with shape ({HUGE}, {HUGE}) and data type float32; 4.0 MiB are held between steps, "
            "by variable 'b' (4.0 MiB), variable 'c' (2.0 KiB), variable 'a' (1.0 KiB) and 2 more [node outer, "
        )
        assert session.run(empty.initializer) is None


def queue() -> tuple[Any, str]:
    made = ops.FIFOQueue(3, ["float32", "string"], [[64], []], name="q")
    return made.enqueue([np.zeros(64, "f4"), "abcd"]), "FIFOQueue 'q' (260 B)"


def barrier() -> tuple[Any, str]:
    made = opsets.Barrier(("float32", "float32"), shapes=([16], [16]), name="b")
    return made.insert_many(0, ["k", "l"], np.zeros((2, 16), "f4")), "Barrier 'b' (128 B)"


def accumulator() -> tuple[Any, str]:
    made = opsets.ConditionalAccumulator("float32", shape=[8], name="total")
    return made.apply_grad(np.zeros(8, "f4")), "ConditionalAccumulator 'total' (32 B)"


def sparse_accumulator() -> tuple[Any, str]:
    made = opsets.SparseConditionalAccumulator("float32", shape=[None, 8], name="total")
    return made.apply_grad([0, 3], np.zeros((2, 8), "f4"), [9, 8]), "SparseConditionalAccumulator 'total' (64 B)"


def staging() -> tuple[Any, str]:
    made = opsets.StagingArea(["float32"], [[8]], shared_name="area")
    return made.put([np.zeros(8, "f4")]), "StagingArea 'area' (32 B)"


def table() -> tuple[Any, str]:
    made = lookup.MutableHashTable("string", "string", "", name="words")
    return made.insert(["to", "be"], ["or", "not"]), "MutableHashTable 'words' (9 B)"


def handle() -> tuple[Any, str]:
    return ops.get_session_handle(ops.random_uniform([4])), "tensor store 'tensors' (16 B)"


def sparse_map() -> tuple[Any, str]:
    parts = np.zeros((3, 1), "i8"), np.zeros(3, "f4"), np.array([9])
    return make("AddSparseToTensorsMap", [*map(ops.constant, parts)], {"shared_name": "map"}).outputs[
        0
    ], "sparse tensors map 'map' (44 B)"


KEPT: list[Callable[[], tuple[Any, str]]] = [
    queue,
    barrier,
    accumulator,
    sparse_accumulator,
    staging,
    table,
    handle,
    sparse_map,
]


@for_each("build", KEPT)
def test_all_that_keeps_tensors_is_a_holder(build: Callable[[], tuple[Any, str]]) -> None:
    with Graph().as_default() as graph:
        keep, holder = build()
        x, y = ops.placeholder("float32", [None, 1]), ops.placeholder("float32", [1, None])
        product = outer(x, y)
    with Session(graph=graph) as session:
        kept = session.run(keep)  # a handle is dropped with the object
        assert f" are held between steps, by {holder} [node outer," in said(session, product, {x: COLUMN, y: ROW})
        del kept


def test_where_no_node_lacks_memory_what_is_held_is_told_as_well(on_cpu: Graph) -> None:
    x = ops.placeholder("float32", [HUGE, HUGE])
    with Session(graph=on_cpu) as session:
        # The caller gets a copy.
        text = said(session, ops.identity(x), {x: np.broadcast_to(np.float32(1), (HUGE, HUGE))})
    assert text.startswith("no memory left: MemoryError: Unable to allocate 1.00 PiB for an array with shape")
    assert text.endswith("; nothing is held between steps")


# What fails with what the message says of its inputs; the values of a branch have names of its own.
PLACES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a segment": (outer, f"Mul of float32[{HUGE}, 1], float32[1, {HUGE}]"),
    "behind a write to an array": (
        lambda x, y: outer(ops.negative(x * 2.0), y),
        f"Mul of float32[?, 1], float32[1, {HUGE}]",
    ),
    "a branch": (
        lambda x, y: ops.cond(ops.size(x) > 0, lambda: ops.tile(x, ops.stack([1, ops.size(y)])), lambda: x),
        "Tile of float32[?, 1], int32[2]",
    ),
    "control flow of single nodes": (
        lambda x, y: outer(make("Switch", [x, ops.constant(True)]).outputs[1], y),
        "Mul of float32[?, 1], float32[1, ?]",
    ),
    "a kernel": (lambda x, y: ops.tile(x, ops.stack([1, HUGE])), f"Tile of float32[{HUGE}, 1], int32[2]"),
}


@for_each("place", list(PLACES))
def test_the_sizes_of_the_inputs_are_those_of_the_values_as_far_as_they_are_known(place: str) -> None:
    build, words = PLACES[place]
    with Graph().as_default() as graph, graph.device("/cpu:0"):
        x, y = ops.placeholder("float32", [None, 1]), ops.placeholder("float32", [1, None])
        fetch = build(x, y)
    with Session(graph=graph) as session:
        text = said(session, fetch, {x: COLUMN, y: ROW})
    assert text.startswith(f"no memory left for {words}")
    assert "; nothing is held between steps [node " in text
