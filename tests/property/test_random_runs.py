"""Random graphs whose elementwise nodes run in blocks give the same as one by one, whatever is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorsession import AsyncSession, ConfigProto, Graph, Session, Tensor, gradients, nn, ops
from actorsession.errors import CancelledError, InvalidArgumentError
from tests.blocks import BlockRun, process_small_arrays, record_runs
from tests.default_device import of_the_cpu_alone
from tests.session.inner import direct_session

pytestmark = of_the_cpu_alone("only numpy's kernels run in blocks")

# More than what kernels compute otherwise for few elements, and no multiple of anything.
ROWS, COLUMNS = 83, 101
PERMITTED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch: pytest.MonkeyPatch, product_threads: Callable[[int], None]) -> None:
    """Runs of arrays from two elements on are worked through in short blocks, by several threads."""
    process_small_arrays(monkeypatch, shared=1 << 13)
    product_threads(2)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[BlockRun]:
    """An entry for each run in blocks."""
    return record_runs(monkeypatch)


_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x, "abs": ops.abs, "sign": ops.sign, "square": ops.square, "floor": ops.floor,
    "tanh": ops.tanh, "sigmoid": ops.sigmoid, "exp": ops.exp, "log": ops.log, "sqrt": ops.sqrt,
    "rsqrt": ops.rsqrt, "relu": nn.relu, "sin": ops.sin, "atan": ops.atan,
    "there_and_back": lambda x: ops.cast(ops.cast(x, "float64") * 1.1, x.dtype),
    "as_integers": lambda x: ops.cast(ops.cast(ops.clip_by_value(x, -9.0, 9.0), "int32") // 2, x.dtype),
    "scaled": lambda x: x * 0.3, "shifted": lambda x: 1.0 - x, "tall": lambda x: x + x[0],
    "softmax": nn.softmax, "none": ops.identity,
}  # fmt: skip
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": ops.add,
    "sub": ops.subtract,
    "mul": ops.multiply,
    "div": ops.truediv,
    "max": ops.maximum,
    "min": ops.minimum,
    "squared": ops.squared_difference,
    "atan2": ops.atan2,
    "choice": lambda x, y: ops.where(ops.logical_and(x < y, ops.logical_not(ops.is_nan(x))), x, y),
    "sum": lambda x, y: ops.add_n([x, y, x * y]),
}


def build(graph: Graph, words: Sequence[tuple[str, int, int]], shape: Any) -> list[Tensor]:
    """Two matrices that are fed, and what the words make of earlier values."""
    with graph.as_default():
        values = [ops.placeholder("float32", shape) for _ in range(2)]
        for word, i, j in words:
            x, y = values[i % len(values)], values[j % len(values)]
            values.append(_UNARY[word](x) if word in _UNARY else _BINARY[word](x, y))
    return values


def fed(seed: int, rows: int = ROWS) -> list[Any]:
    random = np.random.default_rng(seed)
    made = [random.normal(size=(rows, COLUMNS)).astype("f4") for _ in range(2)]
    made[0][:1, :5] = [0.0, -0.0, np.nan, np.inf, -np.inf]
    return made


def one_by_one(graph: Graph, wanted: Sequence[Any], feeds: dict[Any, Any]) -> list[Any]:
    """The values of a step in which each node is called by itself."""
    with pytest.MonkeyPatch.context() as patch, Session(graph=graph) as session:
        process_small_arrays(patch, least=2**62)
        return list(session.run(wanted, feeds))


def same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


_WORDS = st.lists(
    st.tuples(st.sampled_from([*_UNARY, *_BINARY]), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12
)


@PERMITTED
@given(words=_WORDS, seed=st.integers(0, 3), known=st.booleans(), data=st.data())
def test_any_values_may_be_fetched(
    words: list[tuple[str, int, int]], seed: int, known: bool, data: st.DataObject
) -> None:
    graph = Graph()
    values = build(graph, words, [ROWS, COLUMNS] if known else [None, COLUMNS])
    wanted = data.draw(st.lists(st.sampled_from(values[2:]), min_size=1, max_size=3))
    feeds = dict(zip(values, fed(seed), strict=False))
    with Session(graph=graph) as session:
        same(session.run(wanted, feeds), one_by_one(graph, wanted, feeds))


@PERMITTED
@given(words=_WORDS, which=st.integers(0, 99))
def test_any_value_may_be_fed(words: list[tuple[str, int, int]], which: int) -> None:
    graph = Graph()
    values = build(graph, words, [None, COLUMNS])
    inner = values[2 + which % (len(values) - 2)]
    feeds = {**dict(zip(values, fed(0), strict=False)), inner: fed(1)[1]}
    wanted = [v for v in values[2:] if v is not inner] or [inner]
    with Session(graph=graph) as session:
        same(session.run(wanted[-2:], feeds), one_by_one(graph, wanted[-2:], feeds))


@PERMITTED
@given(words=_WORDS, known=st.booleans())
def test_gradients_are_the_same(words: list[tuple[str, int, int]], known: bool) -> None:
    graph = Graph()
    values = build(graph, words, [ROWS, COLUMNS] if known else [None, COLUMNS])
    with graph.as_default():
        found = gradients(values[-1], values[:2])
        wanted = [values[-1], *[g for g in found if g is not None]]
    feeds = dict(zip(values, fed(2), strict=False))
    with Session(graph=graph) as session:
        same(session.run(wanted, feeds), one_by_one(graph, wanted, feeds))


@pytest.mark.parametrize("rows", [0, 1, 2, 500])
def test_arrays_of_any_size_may_follow_each_other(rows: int, ran: list[BlockRun]) -> None:
    graph = Graph()
    values = build(graph, [("mul", 0, 1), ("tanh", 2, 0), ("sub", 3, 1)], [None, COLUMNS])
    with Session(graph=graph) as session:
        for count in (ROWS, rows, ROWS):
            x, y = fed(count, count) if count else [np.zeros((0, COLUMNS), "f4")] * 2
            (found,) = session.run(values[-1:], {values[0]: x, values[1]: y})
            np.testing.assert_array_equal(found, np.tanh(x * y) - y)
    assert [run.nodes for run in ran] == [3] * (3 if rows else 2)


def test_shapes_that_do_not_fit_are_said_of_the_node_that_finds_out(ran: list[BlockRun]) -> None:
    with Graph().as_default() as graph:
        x, y = (ops.placeholder("float32", [None, COLUMNS]) for _ in range(2))
        z = ops.exp(ops.add(ops.tanh(x), y, name="the_sum"))
    a, b = fed(0)[0], fed(0, 7)[0]
    with Session(graph=graph) as session:
        with pytest.raises(InvalidArgumentError, match="the_sum"):
            session.run(z, {x: a, y: b})
        assert ran == []
        np.testing.assert_array_equal(session.run(z, {x: a, y: a}), np.exp(np.tanh(a) + a))
    assert [run.nodes for run in ran] == [3]


def test_what_was_fetched_is_the_callers_own(ran: list[BlockRun]) -> None:
    graph = Graph()
    values = build(graph, [("mul", 0, 1), ("tanh", 2, 0), ("sub", 3, 1)], [None, COLUMNS])
    x, y = fed(0)
    with Session(graph=graph) as session:
        first = session.run(values[2:], {values[0]: x, values[1]: y})
        kept = [v.copy() for v in first]
        for value in first:
            value += 1
        same(session.run(values[2:], {values[0]: x, values[1]: y}), kept)
    assert [run.nodes for run in ran] == [3, 3]


def test_a_session_that_is_closed_meanwhile_ends_a_run_before_its_next_block(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph()
    values = build(graph, [("mul", 0, 1), ("tanh", 2, 0), ("sub", 3, 1)], [None, COLUMNS])
    runs = record_runs(monkeypatch, lambda: direct_session(session).close_here())
    with Session(graph=graph) as session, pytest.raises(CancelledError, match="closed"):
        session.run(values[-1], dict(zip(values, fed(0), strict=False)))
    assert len(runs) == 1


async def test_a_run_in_the_kernel_pool_gives_the_same(ran: list[BlockRun]) -> None:
    graph = Graph()
    values = build(graph, [("mul", 0, 1), ("tanh", 2, 0), ("sub", 3, 1)], [None, COLUMNS])
    feeds = dict(zip(values, fed(0), strict=False))
    config = ConfigProto(inter_op_parallelism_threads=2)
    async with AsyncSession(graph=graph, config=config) as session:
        found = await session.run(values[2:], feeds)
    assert [run.nodes for run in ran] == [3]
    same(found, await asyncio.to_thread(one_by_one, graph, values[2:], feeds))
