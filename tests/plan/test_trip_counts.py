"""Which nodes do as much in every run, so that the time one took tells what the next one takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from actorsession import Graph, TensorShape, ops, opsets
from tests.plan.kit import Made, call
from tests.rows import for_each

Build = Callable[["Parts"], Any]


class Parts:
    """What loops are made of here: feeds, a variable, Python code."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.n = ops.placeholder("int32", [], name="n")
        self.x = ops.placeholder("float32", [3], name="x")
        self.y = ops.placeholder("float32", [None], name="y")
        self.text = ops.placeholder("string", [], name="text")
        self.v = ops.Variable(5, name="v")

    def python(self, *_: Any) -> Any:
        found: Any = ops.py_func(lambda: 3, [], "int32", stateful=False)
        found.set_shape([])
        return found


def count_to(limit: Any, first: Any = 0, step: Any = 1) -> Any:
    return ops.while_loop(lambda i: i < limit, lambda i: i + step, [first])


def doubling(p: Parts) -> Any:
    """Its condition reads a variable that another one decides, and that one a feed."""
    return ops.while_loop(lambda i, j, k: i < 9, lambda i, j, k: (i + j, k, k), [0, 1, p.n])


def carried(p: Parts, first: Any) -> Any:
    """Counts by constants alone and carries something that is fed."""
    return ops.while_loop(lambda i, y: i < 9, lambda i, y: (i + 1, y * 2.0), [0, first])


def triangle(limit: Any) -> Any:
    """The number of inner iterations follows the outer loop's count."""
    return ops.while_loop(lambda i, t: i < limit, lambda i, t: (i + 1, t + count_to(i)), [0, 0])


STEADY: dict[str, Build] = {
    "counts to a constant": lambda p: count_to(5),
    "counts by constants that are computed": lambda p: count_to(ops.constant(2) * 3, first=1),
    "carries what is fed": lambda p: carried(p, p.x),
    "goes on for ever": lambda p: ops.while_loop(lambda i: True, lambda i: i + p.n, [0]),
    "an inner loop counts to the outer count": lambda p: triangle(4),
    "no loop but a branch": lambda p: ops.cond(p.n > 1, lambda: p.x * 2.0, lambda: p.x),
    "a branch in a loop decides nothing of it": lambda p: ops.while_loop(
        lambda i, y: i < 4, lambda i, y: (i + 1, ops.cond(p.n > 1, lambda: y + 1.0, lambda: y)), [0, p.x]
    ),
    "a branch by a constant": lambda p: ops.cond(ops.constant(1) > 2, lambda: count_to(3), lambda: 1),
    "up to a maximum that is constant": lambda p: ops.while_loop(
        lambda i: True, lambda i: i + 1, [0], maximum_iterations=7
    ),
}

VARYING: dict[str, Build] = {
    "counts to a feed": lambda p: count_to(p.n),
    "counts from a feed": lambda p: count_to(5, first=p.n),
    "counts by a feed": lambda p: count_to(5, step=p.n),
    "a feed that comes in by way of two variables": doubling,
    "counts to a variable": lambda p: count_to(p.v),
    "counts to what Python says": lambda p: count_to(p.python()),
    "counts by what Python says": lambda p: ops.while_loop(lambda i: i < 9, lambda i: i + p.python(), [0]),
    "ends by chance": lambda p: ops.while_loop(lambda i: ops.random_uniform([]) < 0.5, lambda i: i + 1, [0]),
    "an inner loop counts to a feed": lambda p: ops.while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, t + count_to(p.n)), [0, 0]
    ),
    "an inner loop whose outer one counts to a feed": lambda p: triangle(p.n),
    "counts to the result of a loop": lambda p: count_to(count_to(p.n)),
    "counts to what a varying loop carried": lambda p: count_to(
        ops.while_loop(lambda i, t: i < p.n, lambda i, t: (i + 1, t + 2), [0, 0])[1]
    ),
    "a loop in a branch by a feed": lambda p: ops.cond(p.n > 1, lambda: count_to(5), lambda: 1),
    "a loop deep in a branch by a feed": lambda p: ops.cond(
        p.n > 1, lambda: ops.cond(ops.constant(1) < 2, lambda: count_to(5), lambda: 2), lambda: 1
    ),
    "counts to what a branch gives": lambda p: count_to(ops.cond(p.n > 1, lambda: 5, lambda: 6)),
    "up to a maximum that is fed": lambda p: ops.while_loop(
        lambda i: True, lambda i: i + 1, [0], maximum_iterations=p.n
    ),
}


def grown(p: Parts, times: Any, by: Callable[[Any], Any]) -> Any:
    """A loop whose variable grows; its shape is not known."""
    return ops.while_loop(
        lambda i, y: i < times,
        lambda i, y: (i + 1, by(y)),
        [0, ops.identity(p.text)],
        shape_invariants=[TensorShape([]), TensorShape(None)],
    )


SIZED_ALIKE: dict[str, Build] = {
    "a fill of constant size": lambda p: ops.fill([3, 4], p.x[0]),
    "a fill of a size that is computed of constants": lambda p: ops.fill(ops.unique(ops.constant([2, 2]))[0], 1.0),
    "a fill as large as what is fed": lambda p: ops.zeros(ops.shape(p.y)),
    "as many numbers as there are elements": lambda p: ops.range(ops.size(p.y) * 2),
    "a range in a loop that counts to a constant": lambda p: ops.while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, t + ops.reduce_sum(ops.range(i))), [0, 0]
    ),
    "rows of a one-hot matrix": lambda p: ops.one_hot(p.n, 5),
    "strings that double as often each time": lambda p: grown(p, 5, lambda y: opsets.string_join([y, y])),
}

SIZED: dict[str, Build] = {
    "a fill": lambda p: ops.fill(ops.stack([p.n]), 1.0),
    "a fill as large as a variable says": lambda p: ops.zeros(ops.stack([p.v.value()])),
    "a range": lambda p: ops.range(p.n),
    "a range in a branch": lambda p: ops.cond(
        ops.reduce_any(p.x > 0), lambda: ops.reduce_sum(ops.range(p.n)), lambda: 0
    ),
    "a range in a loop that counts to a constant": lambda p: ops.while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, t + ops.reduce_sum(ops.range(p.n))), [0, 0]
    ),
    "tiles": lambda p: ops.tile(p.x, ops.stack([p.n])),
    "columns of a one-hot matrix": lambda p: ops.one_hot([1], p.n),
    "random numbers": lambda p: ops.random_uniform(ops.stack([p.n])),
    "segments by their numbers": lambda p: ops.segment_sum(p.x, ops.stack([0, 1, p.n])),
    "a pattern on a text": lambda p: opsets.regex_replace(p.text, "a", "b"),
    "margins by the elements of a shape and a feed": lambda p: ops.pad(p.x, [[0, ops.size(p.y) * p.n]]),
}


@pytest.fixture
def parts() -> Iterator[Parts]:
    with Graph().as_default() as graph:
        yield Parts(graph)


def is_steady(parts: Parts, fetch: Any, *, fed: Any = ()) -> bool:
    fetches = fetch if isinstance(fetch, list) else [fetch]
    (part,) = Made(parts.graph, fetches, [parts.n, parts.x, parts.y, parts.text, *fed]).linked
    (segment,) = part.compiled.segments
    return segment.is_steady


@for_each("case", STEADY)
def test_a_loop_of_constants_runs_as_often_every_time(parts: Parts, case: str) -> None:
    assert is_steady(parts, STEADY[case](parts))


@for_each("case", VARYING)
def test_a_loop_that_something_else_ends_may_run_longer_next_time(parts: Parts, case: str) -> None:
    assert not is_steady(parts, VARYING[case](parts))


@for_each("case", SIZED_ALIKE)
def test_a_result_as_large_as_constants_or_inputs_costs_as_much_every_time(parts: Parts, case: str) -> None:
    assert is_steady(parts, SIZED_ALIKE[case](parts))


@for_each("case", SIZED)
def test_a_result_as_large_as_a_value_says_may_be_any_size_next_time(parts: Parts, case: str) -> None:
    assert not is_steady(parts, SIZED[case](parts))


def test_a_constant_that_is_fed_is_none(parts: Parts) -> None:
    limit = ops.constant(5)
    loop = count_to(limit)
    assert is_steady(parts, loop)
    assert not is_steady(parts, loop, fed=[limit])

    # A branch that is far dearer than its other says nothing of it.
    def dear() -> Any:
        y = call(parts.graph, lambda x: x, parts.x, op="KitDear").outputs[0]
        return call(parts.graph, lambda x: x, y, op="KitDear").outputs[0]

    assert not is_steady(parts, ops.cond(parts.n > 1, dear, lambda: parts.x))
    assert is_steady(parts, ops.cond(parts.n > 1, dear, dear))


def test_loops_inside_one_another_are_looked_at_once(parts: Parts) -> None:
    """A pass that went through an inner loop again for each change of an outer one would never end."""

    def nested(depth: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if not depth:
            return (*values[1:], values[0] + 1)
        found: tuple[Any, ...] = ops.while_loop(lambda *v: v[0] < 1, lambda *v: nested(depth - 1, v), values)
        return found

    loop = nested(14, tuple([0] * 8))
    assert is_steady(parts, loop[0])
