"""Which segments run in the kernel pool: by estimate, by what was measured, and by what they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, ops, opsets
from actorsession.ops.flow import dataflow
from actorsession.opsets.text import characters, regex
from actorsession.runtime import offload
from actorsession.runtime.engine.inline_run import InlineRun
from actorsession.runtime.offload import OFFLOAD_ABOVE
from tests.rows import for_each
from tests.runtime.kit import Loaded
from tests.runtime.own_arrays import Box

SHORT, LONG = OFFLOAD_ABOVE / 10, OFFLOAD_ABOVE * 2


def inline(graph: Graph, fetch: Any, *feeds: Any) -> InlineRun:
    """The plan of one fetch, which is a single call."""
    found = Loaded(graph, [fetch], feeds).graph.inline
    assert found is not None
    return found


def measured(run: InlineRun, seconds: float, *feeds: Any) -> None:
    run._policy.record(run.segment, seconds, feeds, run.places)


def strings(*lengths: int) -> Any:
    return np.array([b"x" * n for n in lengths], dtype=object)


def test_a_measured_time_stands_for_inputs_of_about_the_size_it_was_measured_with(graph: Graph) -> None:
    text = ops.placeholder("string", [])
    run = inline(graph, opsets.string_join([text, text]), text)
    assert run.is_expensive([b"x"]), "nobody knows how long a string is"
    measured(run, SHORT, b"x" * 100)
    assert not run.is_expensive([b"x" * 4096]), "as little as that never is"
    assert run.is_expensive([b"x" * 4097])
    measured(run, SHORT, b"x" * 50_000)
    assert not run.is_expensive([b"x" * 100_000])
    assert run.is_expensive([b"x" * 100_001])


def test_a_size_that_took_long_is_not_taken_for_cheap_again(graph: Graph) -> None:
    text = ops.placeholder("string", [])
    run = inline(graph, opsets.string_join([text, text]), text)
    for _ in range(9):
        measured(run, SHORT, b"x" * 50_000)
    measured(run, LONG, b"x" * 100_000)
    assert run.segment.seconds < OFFLOAD_ABOVE, "it is short by its other runs"
    assert run.is_expensive([b"x" * 100_000])
    assert not run.is_expensive([b"x" * 50_000])


def test_one_slow_run_among_short_ones_is_an_interruption_and_two_in_a_row_are_not(graph: Graph) -> None:
    x = ops.placeholder("float32", [8])
    run, value = inline(graph, ops.negative(x), x), np.zeros(8, np.float32)
    measured(run, SHORT, value)
    for _ in range(9):
        measured(run, 100 * LONG, value)
        assert not run.is_expensive([value])
        measured(run, SHORT, value)
    measured(run, 100 * LONG, value)
    measured(run, 100 * LONG, value)
    assert run.is_expensive([value])


def test_what_was_interrupted_in_the_pool_returns_with_its_first_short_run(graph: Graph) -> None:
    x = ops.placeholder("float32", [8])
    run, value = inline(graph, ops.negative(x), x), np.zeros(8, np.float32)
    for _ in range(9):
        measured(run, 100 * LONG, value)
    assert run.is_expensive([value])
    measured(run, SHORT, value)
    assert not run.is_expensive([value])


def test_the_strings_of_an_array_are_counted(graph: Graph) -> None:
    text = ops.placeholder("string", [None])
    run = inline(graph, opsets.string_join([text, text]), text)
    measured(run, SHORT, strings(1))
    assert not run.is_expensive([strings(2000, 2000)])
    assert run.is_expensive([strings(2000, 2100)])
    assert run.is_expensive([strings(*[0] * 20_000)]), "too many to be counted on a loop"


@pytest.mark.parametrize("known", [True, False])
def test_arrays_whose_shape_is_known_are_never_measured_anew(graph: Graph, known: bool) -> None:
    x = ops.placeholder("float32", [100_000] if known else [None])
    run = inline(graph, ops.negative(x), x)
    assert run.segment.segment.unsized == (() if known else (0,))
    assert run.is_expensive([np.zeros(100_000, np.float32)]) != known
    measured(run, SHORT, np.zeros(10, np.float32))
    for array in (np.asarray, Box):  # of the host, of a device
        assert run.is_expensive([array(np.zeros(100_000, np.float32))]) != known
        assert not run.is_expensive([array(np.zeros(1000, np.float32))])


def test_before_it_was_measured_a_long_segment_counts_with_the_shapes_of_what_it_is_given(graph: Graph) -> None:
    x = ops.placeholder("float32", [None])
    y = x
    for _ in range(12):
        y = ops.tanh(y)
    run = inline(graph, y, x)
    for array in (np.asarray, Box):  # of the host, of a device
        assert not run.is_expensive([array(np.zeros(1025, np.float32))])
        assert run.is_expensive([array(np.zeros(1 << 20, np.float32))])


BY_VALUE: dict[str, Callable[[Any, Any], Any]] = {
    "fill": lambda n, text: ops.fill(ops.stack([n]), 1.0),
    "range": lambda n, text: ops.range(n),
    "among others": lambda n, text: sum([ops.tanh(ops.range(1.0, ops.cast(n, "float32")))] * 12),
    "random": lambda n, text: ops.random_uniform(ops.stack([n])),
    "pattern": lambda n, text: regex.regex_full_match(text, "a*"),
}


@for_each("case", BY_VALUE)
def test_what_a_value_makes_large_never_runs_on_a_loop(graph: Graph, case: str) -> None:
    n, text = ops.placeholder("int32", []), ops.placeholder("string", [])
    run = inline(graph, BY_VALUE[case](n, text), n, text)
    for _ in range(3):
        assert run.is_expensive([np.int32(1), b"a"])
        measured(run, SHORT, np.int32(1), b"a")


def test_the_first_run_of_what_constants_make_large_is_in_the_pool(graph: Graph) -> None:
    """Their product is only found in the step, and the graph has few nodes; then it was measured."""
    sizes = ops.unique(ops.constant([3, 3, 4]))[0]
    run = inline(graph, ops.fill(sizes, 1.0))
    assert run.is_expensive([])
    measured(run, SHORT)
    assert not run.is_expensive([])


async def test_a_session_sends_strings_to_the_pool_once_grown(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is short is short on a busy machine too.
    monkeypatch.setattr(offload, "OFFLOAD_ABOVE", 1.0)
    text = ops.placeholder("string", [])
    length = characters.string_length(opsets.string_join([text, text]))
    async with AsyncSession(graph=graph) as session:

        async def offloaded(given: bytes) -> int:
            before = session.statistics().offloaded
            assert await session.run(length, {text: given}) == 2 * len(given)
            return session.statistics().offloaded - before

        assert await offloaded(b"a") == 1
        assert [await offloaded(b"a" * n) for n in (1, 10, 1000)] == [0, 0, 0]
        assert await offloaded(b"a" * 1_000_000) == 1


async def test_single_operations_of_unknown_size_go_to_the_pool_node_by_node(graph: Graph) -> None:
    """In a part with control flow of single operations, where nothing is compiled."""
    n, text = ops.placeholder("int32", []), ops.placeholder("string", [])
    taken = ops.placeholder("bool", [])
    filled = ops.fill(ops.stack([dataflow.switch(n, taken).output_true]), 1.0)
    joined = opsets.string_join([dataflow.switch(text, taken).output_true] * 2)
    async with AsyncSession(graph=graph) as session:

        async def offloaded(fetch: Any, given: dict[Any, Any]) -> Sequence[int]:
            before = session.statistics().offloaded
            found = await session.run(fetch, {taken: True, **given})
            return len(found), session.statistics().offloaded - before

        assert await offloaded(filled, {n: 3}) == (3, 1)
        assert await offloaded(joined, {text: b"ab"}) == (4, 0)
        assert await offloaded(joined, {text: b"ab" * 1_000_000}) == (4_000_000, 1)
