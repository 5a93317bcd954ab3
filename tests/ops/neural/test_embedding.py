"""Lookups in whole and cut tables, and of several ids at once, against indexing in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import (
    Graph,
    IndexedSlices,
    SparseTensor,
    Variable,
    as_dtype,
    constant,
    float32,
    global_variables_initializer,
    gradients,
    int32,
    int64,
    nn,
)
from actorsession.train import GradientDescentOptimizer
from tests.ops.interpreter import Variables, evaluate, source
from tests.ops.uses import Use, each_use, fails, slopes
from tests.rows import for_each

TABLE = np.arange(14, dtype=np.float32).reshape(7, 2)
PLACES = [[0, 0], [0, 2], [1, 1], [3, 0], [3, 1]]
IDS = [1, 3, 3, 6, 0]
WEIGHTS = [0.5, 1.0, 2.0, -1.0, 3.0]


def parts(count: int, strategy: str) -> list[Any]:
    if strategy == "mod":
        return [TABLE[i::count] for i in range(count)]
    return np.array_split(TABLE, count)


def value(tensor: Any, feeds: Any = None) -> Any:
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    return evaluate([tensor], feeds, state)[0]


# -- one id, one row -------------------------------------------------------------------------------


@for_each("ids", [[0, 6, 3, 3], [[1, 2], [5, 4]], [], 4], ids=str)
@for_each("strategy", ["mod", "div"])
@for_each("count", [1, 2, 3, 5, 7])
@for_each("hidden", [False, True])
def test_rows_are_those_of_the_whole_table(ids: Any, strategy: str, count: int, hidden: bool) -> None:
    cut = parts(count, strategy)
    array = np.array(ids, np.int64 if hidden else np.int32)
    tables = [source(float32) for _ in cut] if hidden else [Variable(part) for part in cut]
    numbers = source(as_dtype(array.dtype), None if hidden else array.shape)
    rows = nn.embedding_lookup(tables, numbers, partition_strategy=strategy)
    feeds: dict[Any, Any] = dict(zip(tables, cut, strict=True)) if hidden else {}
    found = value(rows, {numbers: array, **feeds})
    np.testing.assert_array_equal(found, TABLE[array])
    assert hidden or rows.shape == (*array.shape, 2)


def test_a_single_table_needs_no_list(graph: Graph) -> None:
    with graph.device("/job:ps/task:0"):
        w = Variable(TABLE, name="w")
    rows = nn.embedding_lookup(w, [1, 1])
    assert value(rows).tolist() == [[2.0, 3.0], [2.0, 3.0]]
    lookup = rows.op.inputs[0].op
    assert (lookup.type, lookup.device, rows.device) == ("GatherV2", "/job:ps/task:0", "")


def test_each_part_looks_up_its_own_rows_where_it_is(graph: Graph) -> None:
    tables = []
    for task, part in enumerate(parts(2, "mod")):
        with graph.device(f"/job:ps/task:{task}"):
            tables.append(Variable(part, name=f"w{task}"))
    nn.embedding_lookup(tables, [1, 2, 3])
    lookups = [op for op in graph.get_operations() if op.type == "GatherV2"]
    assert [op.device for op in lookups] == ["/job:ps/task:0", "/job:ps/task:1"]
    assert [op.groups() for op in lookups] == [("loc:@w0",), ("loc:@w1",)]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("ids", [[[0], [5]], [[0, 5], [3, 1]], [4, 2], 6], ids=str)
def test_rows_are_scaled_down_to_a_norm_one_by_one(count: int, ids: Any) -> None:
    ids = np.array(ids)
    rows = nn.embedding_lookup([Variable(p) for p in parts(count, "mod")], ids, max_norm=1.5)
    wanted = TABLE[ids] * np.minimum(1, 1.5 / np.linalg.norm(TABLE[ids], axis=-1, keepdims=True))
    np.testing.assert_allclose(value(rows), wanted, rtol=1e-6)


def test_only_rows_that_were_looked_up_are_trained() -> None:
    w = Variable(TABLE)
    loss = nn.embedding_lookup(w, [1, 1, 4])
    [slope] = gradients(loss, [w])
    assert isinstance(slope, IndexedSlices)
    move = GradientDescentOptimizer(1.0).minimize(loss)
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    evaluate([move], None, state)
    wanted = TABLE.copy()
    wanted[1] -= 2
    wanted[4] -= 1
    np.testing.assert_array_equal(evaluate([w], None, state)[0], wanted)


# -- several ids, one row --------------------------------------------------------------------------


def ids_and_weights(weighted: bool) -> tuple[SparseTensor, SparseTensor | None]:
    ids = SparseTensor(PLACES, constant(IDS, int64), [4, 3])
    return ids, SparseTensor(PLACES, constant(WEIGHTS), [4, 3]) if weighted else None


@for_each("count", [1, 2])
@for_each("weighted", [False, True])
@for_each("combiner", [None, "sum", "mean", "sqrtn"])
def test_rows_of_several_ids_are_made_one(combiner: str | None, weighted: bool, count: int) -> None:
    """A row without ids is 0."""
    given = ids_and_weights(weighted)
    tables = [Variable(part) for part in parts(count, "mod")]
    rows = nn.embedding_lookup_sparse(tables, *given, combiner=combiner)
    each = np.array(WEIGHTS if weighted else [1.0] * 5)
    wanted = np.zeros((4, 2))
    for row in range(4):
        own = [i for i, place in enumerate(PLACES) if place[0] == row]
        if not own:
            continue
        total = (each[own, None] * TABLE[np.array(IDS)[own]]).sum(0)
        below = {"sum": 1.0, "sqrtn": np.sqrt((each[own] ** 2).sum())}
        wanted[row] = total / below.get(combiner or "mean", each[own].sum())
    np.testing.assert_allclose(value(rows), wanted, rtol=1e-6)


def test_half_precision_is_added_up_in_float32() -> None:
    table = constant(np.full((1, 1), 1.0), "float16")
    places = [[0, i] for i in range(3000)]
    ids = SparseTensor(places, constant([0] * 3000, int32), [1, 3000])
    weights = SparseTensor(places, constant([1.0] * 3000), [1, 3000])
    found = value(nn.embedding_lookup_sparse(table, ids, weights, combiner="sum"))
    assert (found.dtype, found.tolist()) == (np.float16, [[3000.0]])


def _each(strategy: str) -> Use:
    def of(*tables: Any) -> Any:
        return nn.embedding_lookup(list(tables), [0, 6, 3, 3], partition_strategy=strategy)

    return slopes(of, *[np.asarray(p, float) for p in parts(3, strategy)])


def _several(combiner: str, weighted: bool) -> Use:
    def of(table: Any) -> Any:
        weights = SparseTensor(PLACES, constant(np.array(WEIGHTS)), [4, 3]) if weighted else None
        return nn.embedding_lookup_sparse(table, ids_and_weights(False)[0], weights, combiner=combiner)

    return slopes(of, np.asarray(TABLE, float))


def _made_one(ids: Any = None, weights: Any = None, combiner: str | None = None) -> Any:
    given = ids_and_weights(True)
    return nn.embedding_lookup_sparse(TABLE, ids or given[0], weights or given[1], combiner=combiner)


NOTHINGS: list[Any] = [None, [], ()]
USES: list[Any] = [
    *map(_each, ["mod", "div"]),
    *(_several(combiner, weighted) for combiner in ("sum", "mean", "sqrtn") for weighted in (False, True)),
    fails(lambda ids: nn.embedding_lookup(TABLE, ids), "7", [7]),
    *((lambda no=no: nn.embedding_lookup(no, [1]), ValueError, "params must be given") for no in NOTHINGS),
    (
        lambda: nn.embedding_lookup([TABLE, TABLE], [1], partition_strategy="by hand"),
        ValueError,
        "'mod' or 'div', got 'by hand'",
    ),
    (lambda: _made_one(combiner="max"), ValueError, "'mean', 'sqrtn' or 'sum', got 'max'"),
    (lambda: _made_one([1]), TypeError, "sp_ids is a SparseTensor, got list"),
    (lambda: _made_one(weights=[1.0]), TypeError, "sp_weights is a SparseTensor, got list"),
    (
        lambda: _made_one(weights=SparseTensor([[0, 0]], [1.0], [4, 3])),
        ValueError,
        r"a weight for each id, got \(1,\) for \(5,\)",
    ),
]


test_lookups_do_what_their_rows_say = each_use(USES)
