"""Kernels that a segment begins beside others, on a device whose kernels note in which order they run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from actorsession import ConfigProto, Graph, RunMetadata, RunOptions, Session, Tensor, ops
from actorsession.errors import InvalidArgumentError
from actorsession.extend import DeviceKernel, KernelContext, SumTerm, register_device_factory
from tests.rows import for_each
from tests.runtime.own_arrays import Box, Boxes

# Sides of square matrices whose product is begun beside others, is too small for that, and too large for others beside.
SIDE, SMALL, LARGE = 150, 20, 250


class Notes:
    """Begins kernels, which run as late as possible, and notes what happens."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def alone(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self._noted("one after the other", function)

    def together(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self._noted("side by side", function)

    def _noted(self, words: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.seen.append(words)
            return function(*arguments)

        return call

    def begin(self, kernel: Callable[..., Any], *arguments: Any) -> Begun:
        self.seen.append("begin")
        return Begun(self.seen, kernel, arguments)


class Begun:
    def __init__(self, seen: list[str], kernel: Callable[..., Any], arguments: Sequence[Any]) -> None:
        self.seen, self.kernel, self.arguments = seen, kernel, arguments

    def result(self) -> Any:
        self.seen.append("finish")
        return self.kernel(*self.arguments)


class Beside(Boxes):
    """Boxes whose products are terms of sums, two at a time, and run side by side."""

    def __init__(self) -> None:
        self.notes = notes = Notes()

        def multiply(context: KernelContext) -> Any:
            left, right = context.attrs["transpose_a"], context.attrs["transpose_b"]

            def product(a: Box, b: Box) -> Box:
                notes.seen.append(context.name)
                if context.name.startswith("late") and np.isnan(a.array).any():
                    raise ValueError("it is not a number")
                return Box((a.array.T if left else a.array) @ (b.array.T if right else b.array))

            return product

        def add(context: KernelContext) -> SumTerm:
            product = multiply(context)

            def term(total: Box | None, *operands: Box) -> Box:
                parts = [product(*pair).array for pair in zip(operands[::2], operands[1::2], strict=True)]
                return Box(sum(parts) if total is None else total.array + sum(parts))

            return SumTerm(term, 2)

        def join(first: Box, value: Box, target: Box | None = None) -> Box:
            joined = Box(first.array + value.array)
            if target is not None:
                target.array = joined.array
            return joined

        rows = {
            **Boxes.rows,
            "MatMul": DeviceKernel(kernel=multiply, adds=add),
            "AddN": DeviceKernel(kernel=lambda context: lambda *boxes: Box(sum(b.array for b in boxes)), joins=join),
        }
        self.kernels = replace(Boxes.kernels, rows=rows, side_by_side=notes)


@pytest.fixture
def notes(registrations: None) -> list[str]:
    device = Beside()
    register_device_factory("BOX", device)
    return device.notes.seen


@pytest.fixture
def graph(graph: Graph) -> Iterator[Graph]:
    with graph.device("/device:BOX:0"):
        yield graph


def matrices(side: int | None = SIDE, count: int = 2) -> list[Tensor]:
    return [ops.placeholder("float32", [side, side]) for _ in range(count)]


def run(graph: Graph, fetches: Any, feeds: Sequence[Tensor], **settings: Any) -> Any:
    random = np.random.default_rng(5)
    values = {x: random.normal(size=[n or SIDE for n in x.shape.as_list()]).astype("f4") for x in feeds}
    with Session(graph=graph, config=ConfigProto(device_count={"BOX": 1})) as session:
        return session.run(fetches, values, **settings), list(values.values())


def product(x: Tensor, y: Tensor, name: str, **turned: bool) -> Tensor:
    return ops.matmul(x, y, name=name, **turned)


def backwards(x: Tensor, w: Tensor) -> list[Tensor]:
    """The gradient of weights, and what has to be known before that of others is."""
    late = product(x, w, "late", transpose_a=True)
    return [late, product(product(x, w, "first", transpose_b=True), w, "second")]


def updated(x: Tensor, w: Tensor) -> Tensor:
    late, other = backwards(x, w)
    return other + late


def test_what_is_read_late_is_begun_and_finished_where_it_is_read(graph: Graph, notes: list[str]) -> None:
    x, w = matrices()
    got, (a, b) = run(graph, updated(x, w), [x, w])
    assert notes == ["side by side", "begin", "first", "second", "finish", "late"]
    np.testing.assert_allclose(got, a @ b.T @ b + a.T @ b, rtol=1e-3, atol=1e-2)


def test_a_value_that_is_fetched_as_well_is_finished_before(graph: Graph, notes: list[str]) -> None:
    x, w = matrices()
    late, other = backwards(x, w)
    (got, _, also), (a, b) = run(graph, [late, other + late, late * 2.0], [x, w])
    assert notes.count("finish") == 1
    np.testing.assert_allclose(got, a.T @ b, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(also, 2 * got)


def test_parts_of_a_sum_are_begun_and_added_up_at_its_end_the_last_first(graph: Graph, notes: list[str]) -> None:
    xs = matrices(count=6)
    total = ops.add_n([product(x, y, f"term{k}") for k, (x, y) in enumerate(itertools.pairwise(xs))])
    got, values = run(graph, total * 1.0, xs)
    assert notes == [
        "side by side",
        *["begin"] * 3,
        *["finish", "term4", "finish", "term2", "term2", "finish", "term0", "term0"],
    ]
    expected = sum(a @ b for a, b in itertools.pairwise(values))
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


def of_unknown_size() -> tuple[Any, list[Tensor]]:
    x, w = matrices(None)
    return updated(x, w), [x, w]


def of_small_ones() -> tuple[Any, list[Tensor]]:
    x, w = matrices(SMALL)
    return updated(x, w), [x, w]


def beside_a_large_one() -> tuple[Any, list[Tensor]]:
    x, w = matrices()
    (y,) = matrices(LARGE, 1)
    return [updated(x, w), product(y, y, "large")], [x, w, y]


def read_at_once() -> tuple[Any, list[Tensor]]:
    x, w = matrices()
    return product(product(x, w, "first") + 1.0, w, "second"), [x, w]


def only_fetched() -> tuple[Any, list[Tensor]]:
    x, w = matrices()
    return [*backwards(x, w)], [x, w]


def a_sum_of_one_part() -> tuple[Any, list[Tensor]]:
    xs = matrices()
    return ops.add_n([product(x, x, "term") for x in xs]) * 1.0, xs


def a_sum_with_another_input() -> tuple[Any, list[Tensor]]:
    xs = matrices(count=3)
    return ops.add_n([*[product(x, x, "term") for x in xs], xs[0]]) * 1.0, xs


ONE_BY_ONE = [
    *[of_unknown_size, of_small_ones, beside_a_large_one, read_at_once, only_fetched],
    *[a_sum_of_one_part, a_sum_with_another_input],
]


@for_each("build", ONE_BY_ONE)
def test_kernels_run_one_after_the_other(build: Callable[[], tuple[Any, list[Tensor]]], notes: list[str]) -> None:
    notes.clear()
    with Graph().as_default() as graph, graph.device("/device:BOX:0"):
        fetches, feeds = build()
    run(graph, fetches, feeds)
    assert notes[0] == "one after the other"
    assert not {"begin", "finish"}.intersection(notes)


def test_bodies_of_loops_run_one_after_the_other(graph: Graph, notes: list[str]) -> None:
    x, w = matrices()
    _, y = ops.while_loop(lambda k, y: k < 2, lambda k, y: (k + 1, updated(y, w)), [0, x])
    run(graph, y, [x, w])
    assert "begin" not in notes


def test_a_traced_step_runs_and_shows_each_node_in_its_place(graph: Graph, notes: list[str]) -> None:
    x, w, *xs = matrices(count=6)
    terms = [product(x, y, f"term{k}") for k, y in enumerate(xs)]
    fetches, feeds = [updated(x, w), ops.add_n(terms, name="sum") * 1.0], [x, w, *xs]
    plain, _ = run(graph, fetches, feeds)
    assert notes.count("begin") == 3
    notes.clear()
    metadata = RunMetadata()
    options = RunOptions(trace_level=RunOptions.FULL_TRACE)
    traced, _ = run(graph, fetches, feeds, options=options, run_metadata=metadata)
    np.testing.assert_allclose(traced, plain)
    assert "begin" not in notes
    assert metadata.step_stats is not None
    shown = {node.node for node in metadata.step_stats.nodes}
    assert {"late", "first", "second", "sum", *[term.op.name for term in terms]} <= shown


def late_sum(x: Tensor, w: Tensor) -> Tensor:
    return ops.add_n([product(x, w * float(k), f"late{k}") for k in range(4)])


@for_each("build", [updated, late_sum])
def test_an_error_names_the_node_that_was_begun(build: Callable[..., Tensor], notes: list[str]) -> None:
    with Graph().as_default() as graph, graph.device("/device:BOX:0"):
        x, w = matrices()
        y = build(ops.identity(x), w)
    with Session(graph=graph, config=ConfigProto(device_count={"BOX": 1})) as session:
        good = np.ones((SIDE, SIDE), "f4")
        with pytest.raises(InvalidArgumentError, match="it is not a number") as refused:
            session.run(y, {x: good * np.nan, w: good})
        assert str(refused.value.node).startswith("late")
        session.run(y, {x: good, w: good})
