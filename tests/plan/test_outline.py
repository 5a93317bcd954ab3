"""Long generated functions: split into functions that are compiled one by one, and nothing else changes."""

from __future__ import annotations

import ast
import builtins
import gc
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, Tensor, ops
from actorsession.errors import InvalidArgumentError
from actorsession.plan.codegen import outline
from tests.plan.kit import Made, call
from tests.rows import for_each

# Lines of the longest function, a tenth of what they are: whatever makes many nodes takes its time.
LONGEST = outline.LONGEST
# Nodes of a graph whose function is split.
MANY = 4 * LONGEST


def lengths(lines: tuple[str, ...]) -> list[int]:
    """The lines of each function of a text."""
    found = ast.parse("\n".join(lines)).body
    return [f.end_lineno - f.lineno for f in found if isinstance(f, ast.FunctionDef) and f.end_lineno]


def mixed(x: Tensor, count: int) -> list[Tensor]:
    """Nodes of which some read the one before, and some what was made long before."""
    made = [x]
    for k in range(count):
        made.append(made[-1] + made[k // 2] if k % 3 else made[-1] * 0.5)
    return made


def mixed_values(x: Any, count: int) -> list[Any]:
    made = [x]
    for k in range(count):
        made.append(made[-1] + made[k // 2] if k % 3 else made[-1] * np.float32(0.5))
    return made


@for_each("shape", [[], [3]], ids=["scalars", "arrays"])
@for_each("traced", [False, True], ids=["plain", "traced"])
def test_a_long_function_is_split_and_computes_the_same(graph: Graph, shape: list[int], traced: bool) -> None:
    x = ops.placeholder("float32", shape)
    nodes = mixed(x, MANY)
    wanted = [0, 1, MANY // 2, MANY - 1, MANY]
    made = Made(graph, [nodes[k] for k in wanted], [x])
    (segment,) = made.linked[0].segments
    assert max(lengths(segment.segment.lines)) <= LONGEST
    fed = np.full(shape, 1e-9, np.float32)[()]
    if traced:
        assert [f.__code__.co_name for f in (made.linked[0].traced(0),)] == ["segment_0"]
        assert len(lengths(segment.segment.traced_lines)) == len(lengths(segment.segment.lines))
    values = mixed_values(fed, MANY)
    with np.errstate(all="ignore"):
        for got, k in zip(made.run(fed), wanted, strict=True):
            np.testing.assert_array_equal(got, values[k])


def test_a_function_that_is_not_long_is_left_whole(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    assert len(lengths(Made(graph, [mixed(x, LONGEST)[-1]], [x]).linked[0].segments[0].segment.lines)) == 1


def test_no_function_is_compiled_together_with_another_long_one(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever compiles holds the interpreter lock until it is through."""
    compiled: list[int] = []

    def spy(text: str, *rest: Any) -> Any:
        compiled.append(len([line for line in text.split("\n") if line]))
        return whole(text, *rest)

    whole = compile

    monkeypatch.setattr(builtins, "compile", spy)
    x = ops.placeholder("float32", [])
    Made(graph, [mixed(x, MANY)[-1]], [x])
    assert len(compiled) >= 4
    assert max(compiled) < 2 * LONGEST + 10


def test_loops_and_branches_are_split_inside(graph: Graph) -> None:
    x, n = ops.placeholder("float32", []), ops.placeholder("int32", [])

    def body(i: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        for _ in range(MANY):
            value = value + 1.0
        return i + 1, value

    def much() -> Tensor:
        value = x
        for _ in range(MANY):
            value = value + 2.0
        return value

    _, looped = ops.while_loop(lambda i, value: i < n, body, (0, x))
    made = Made(graph, [looped, ops.cond(x > 0.0, much, lambda: x - 1.0)], [x, n])
    (segment,) = made.linked[0].segments
    assert max(lengths(segment.segment.lines)) <= LONGEST
    for fed in (1.0, -1.0):
        branch = fed + 2.0 * MANY if fed > 0 else fed - 1.0
        got = made.run(np.float32(fed), np.int32(3))
        assert [float(v) for v in got] == [fed + 3.0 * MANY, branch]


def layers(x: Tensor, count: int, width: int = 10) -> Tensor:
    """The sum of the last of many layers of nodes, each of which reads two of the layer before."""
    now = [x + float(k) for k in range(width)]
    for _ in range(count // width):
        now = [ops.maximum(value, now[k - 1]) for k, value in enumerate(now)]
    return ops.add_n(now)


def places(made: Made) -> int:
    """The length of the list of values that the parts of a function share."""
    (shared,) = [line for line in made.linked[0].segments[0].segment.lines if "L = [" in line]
    return int(shared.rpartition("*")[2])


def test_the_shared_values_are_as_many_as_the_graph_is_wide_and_not_as_it_is_long(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    short, long = (Made(graph, [layers(x, count)], [x]) for count in (MANY, 4 * MANY))
    assert places(long) <= places(short) + 1
    got = long.run(np.float32(0.5))[0]
    now = np.arange(10, dtype=np.float32) + np.float32(0.5)
    for _ in range(4 * MANY // 10):
        now = np.maximum(now, np.roll(now, 1))
    np.testing.assert_allclose(got, now.sum(), rtol=1e-5)


def test_a_value_that_each_iteration_reads_first_keeps_its_place_until_the_loop_has_ended(graph: Graph) -> None:
    """In the order of the lines it is read for the last time before the others of the loop are made."""
    x = ops.placeholder("float32", [])
    factor = x * 3.0

    def body(i: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        made = [value * factor]
        for k in range(MANY):
            made.append(made[-1] + 0.0 * made[k // 2])
        return i + 1, made[-1]

    _, looped = ops.while_loop(lambda i, value: i < 4, body, (0, x))
    made = Made(graph, [looped], [x])
    assert places(made) > 2
    fed = np.float32(0.5)
    (got,) = made.run(fed)
    np.testing.assert_allclose(got, fed * (3.0 * fed) ** 4)


def test_a_part_has_the_global_names_of_its_own_nodes(graph: Graph) -> None:
    """Look-ups in a dictionary with the names of a large graph are slow; see ``bind``."""
    x = ops.placeholder("float32", [])
    value = x
    for _ in range(MANY // 2):
        value = ops.sqrt(ops.square(value) + 1.0)
    made = Made(graph, [value], [x])
    function: Any = made.linked[0].segments[0].function
    parts = [v for k, v in function.__globals__.items() if k.startswith("segment_0_")]
    assert len(parts) > 1
    for part in parts:
        assert 0 < len([name for name in part.__globals__ if name.startswith("k")]) < LONGEST
    np.testing.assert_allclose(made.run(np.float32(2.0))[0], np.sqrt(4.0 + MANY // 2), rtol=1e-4)


def test_an_error_in_a_part_names_its_node_and_the_line_that_built_it(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    end = mixed(ops.check_numerics(mixed(x, MANY)[MANY // 2], "half way", name="checked"), MANY)[-1]
    with Session(graph=graph) as session, pytest.raises(InvalidArgumentError) as info:
        session.run(end, {x: np.float32("nan")})
    assert info.value.node == "checked"
    text = "".join(traceback.format_exception(info.value.__cause__ or info.value))
    assert "# checked (CheckNumerics)" in text
    assert "test_outline.py" in text


def test_what_one_part_leaves_to_another_is_dropped_after_its_last_use(graph: Graph) -> None:
    """It is in a list that all parts share, and no local variable of any."""
    kept: list[Any] = []

    def make() -> Any:
        array = np.ones(3, np.float32)
        kept.append(weakref.ref(array))
        return array

    def is_gone(value: Any) -> Any:
        gc.collect()
        return np.float32(kept[0]() is None)

    x = ops.placeholder("float32", [])
    with graph.control_dependencies([x.op]):
        array = call(graph, make, shapes=[[3]]).outputs[0]
    with graph.control_dependencies([mixed(x, MANY)[-1].op]):
        last = ops.reduce_sum(array)
    with graph.control_dependencies([mixed(last, MANY)[-1].op]):
        gone = call(graph, is_gone, x, shapes=[[]]).outputs[0]
    made = Made(graph, [gone, last], [x])
    with np.errstate(all="ignore"):
        assert made.run(np.float32(1.0)) == [1.0, 3.0]


def test_the_sum_of_thousands_of_scalars_is_one_call(graph: Graph) -> None:
    """As one expression it is deeper than Python's compiler goes."""
    x = ops.placeholder("float32", [])
    made = Made(graph, [ops.add_n([x * float(k) for k in range(5000)])], [x])
    assert made.run(np.float32(2.0)) == [np.float32(sum(2.0 * k for k in range(5000)))]
