"""Runs of elementwise nodes: which nodes they take in, and what is written for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Tensor, ops
from actorsession.plan.codegen import fusion
from actorsession.plan.codegen.fusion import LEAST
from tests.blocks import process_small_arrays, record_runs
from tests.plan.kit import Made, Step, call

LARGE = LEAST + 1


def fed(graph: Graph, shape: Any = (LARGE,), dtype: str = "float32") -> Tensor:
    return ops.placeholder(dtype, shape)


def runs(made: Made) -> list[int]:
    source = made.linked[0].compiled.segments[0].lines
    found = [line for line in source if " = Blockwise(" in line]
    return [int(line.rpartition(", ")[2].removesuffix(")")) for line in found]


def numbers(size: int = LARGE) -> Any:
    return np.random.default_rng(size).normal(size=size).astype("f4")


# -- which nodes -----------------------------------------------------------------------------------


def test_elementwise_nodes_of_one_large_shape_are_a_run(graph: Graph) -> None:
    x = fed(graph)
    made = Made(graph, [ops.where(ops.greater(x, 0.0), ops.tanh(x * 2.0), -x)], [x])
    assert runs(made) == [5]
    given = numbers()
    expected = np.where(given > 0, np.tanh(given * np.float32(2)), -given)
    np.testing.assert_array_equal(made.run(given)[0], expected)


def test_small_shapes_are_no_run(graph: Graph) -> None:
    x = fed(graph, (LEAST,))
    y = ops.tanh(x * 2.0 + 1.0)
    assert runs(Made(graph, [y], [x])) == []
    x = fed(graph, ())
    y = ops.tanh(x * 2.0 + 1.0)
    assert runs(Made(graph, [y], [x])) == []
    # A run lets only so many nodes pass.
    x = fed(graph)
    first = x * 2.0
    others = [call(graph, lambda v: v[:3] * 2, x).outputs[0] for _ in range(fusion.MOST_PASSED + 1)]
    y = ops.tanh(first)
    assert runs(Made(graph, [y, *others], [x])) == []


@pytest.mark.parametrize("dtype", ["complex64", "bfloat16"])
def test_dtypes_whose_bits_depend_on_their_place_or_their_maker_are_no_run(graph: Graph, dtype: str) -> None:
    x = fed(graph, dtype=dtype)
    assert runs(Made(graph, [ops.tanh(x * x + x)], [x])) == []


@pytest.mark.parametrize("shape", [None, [None], [None, 3]])
def test_what_has_no_known_shape_is_a_run_if_it_is_long_enough(graph: Graph, shape: Any) -> None:
    x = fed(graph, shape)
    two = ops.tanh(x * 2.0)
    three = ops.exp(x * 3.0 - 1.0)
    assert runs(Made(graph, [two], [x])) == []
    assert runs(Made(graph, [three], [x])) == [3]


def test_another_shape_begins_another_run(graph: Graph) -> None:
    x, y = fed(graph), fed(graph, (LARGE, 2))
    made = Made(graph, [ops.tanh(x * 2.0), ops.tanh(y * 2.0)], [x, y])
    assert runs(made) == [2, 2]
    x, row = fed(graph, (LARGE, 2)), fed(graph, (2,))
    y = ops.exp(ops.tanh(x * 2.0) + row) * 2.0
    made = Made(graph, [y], [x, row])
    assert runs(made) == [2, 2]
    given, rows = numbers(2 * LARGE).reshape(-1, 2), numbers(2)
    expected = np.exp(np.tanh(given * np.float32(2)) + rows) * np.float32(2)
    np.testing.assert_array_equal(made.run(given, rows)[0], expected)


def test_a_node_that_needs_nothing_of_a_run_goes_before_it(graph: Graph) -> None:
    x = fed(graph)
    first = x * 2.0
    other = call(graph, lambda v: v[:3] * 2, x).outputs[0]
    y = ops.tanh(first)
    made = Made(graph, [y, other], [x])
    assert runs(made) == [2]
    given = numbers()
    values = made.run(given)
    np.testing.assert_array_equal(values[0], np.tanh(given * np.float32(2)))
    np.testing.assert_array_equal(values[1], given[:3] * 2)
    x = fed(graph)
    first = ops.tanh(x * 2.0)
    y = (first - ops.reduce_max(first)) * 2.0
    made = Made(graph, [y], [x])
    assert runs(made) == [2, 2]
    given = numbers()
    first = np.tanh(given * np.float32(2))
    np.testing.assert_array_equal(made.run(given)[0], (first - first.max()) * np.float32(2))


# -- what is written -------------------------------------------------------------------------------


def test_both_ways_are_written_and_the_arrays_decide(graph: Graph) -> None:
    x = fed(graph, [None])
    made = Made(graph, [ops.tanh(x * 2.0 + 1.0)], [x])
    assert made.source() == [
        "def b5_part(p0, p1, p2, r0, s0):",
        "o2(p0, p1, s0)",
        "o4(s0, p2, s0)",
        "o5(s0, r0)",
        "b5 = Blockwise(b5_part, 1, ['float32'], ['float32'], 3)",
        "def segment_0(C, v0):",
        f"if v0.size <= {LEAST} or not b5.takes(v0):",
        "v2 = (v0 * c1)",
        "del v0",
        "o4(v2, c3, v2)",
        "o5(v2, v2)",
        "else:",
        "v2 = b5(C.check, v0, c1, c3)",
        "del v0",
        "return (v2, )",
    ]
    for size in (0, 1, 3, LARGE):
        given = numbers(size)
        expected = np.tanh(given * np.float32(2) + np.float32(1))
        assert made.run(given)[0].tobytes() == expected.tobytes()


def test_values_that_are_read_outside_are_results_and_others_share_buffers(graph: Graph) -> None:
    x = fed(graph)
    a = x * 2.0
    b = a + 1.0
    made = Made(graph, [b, ops.greater(ops.exp(a) * ops.tanh(a), b)], [x])
    parameters = made.source()[0].partition("(")[2].removesuffix("):").split(", ")
    assert [p[0] for p in parameters] == ["p", "p", "p", "r", "r", "s", "s"]
    given = numbers()
    a_, one = given * np.float32(2), np.float32(1)
    values = made.run(given)
    np.testing.assert_array_equal(values[0], a_ + one)
    np.testing.assert_array_equal(values[1], np.exp(a_) * np.tanh(a_) > a_ + one)


def test_inputs_that_end_with_a_run_end_in_both_ways(graph: Graph) -> None:
    x = fed(graph, [None])
    first = call(graph, np.negative, x, shapes=([None],)).outputs[0]
    y = ops.tanh(first * 2.0 + first)
    source = Made(graph, [call(graph, lambda v: v.copy(), y, shapes=([None],)).outputs[0]], [x]).source()
    otherwise = source.index("else:")
    assert source[otherwise + 1 : otherwise + 3] == ["v4 = b5(C.check, v1, c2)", "del v1"]
    assert "del v3, v1" in source[:otherwise]


def test_a_result_takes_the_place_of_an_operand_that_is_done_with(graph: Graph) -> None:
    made_here: list[Any] = []

    def negative(v: Any) -> Any:
        made_here.append(-v)
        return made_here[-1]

    x = fed(graph)
    y = ops.tanh(call(graph, negative, x, shapes=([LARGE],)).outputs[0] - x)
    made = Made(graph, [y, ops.exp(y * x)], [x])
    assert "b5 = Blockwise(b5_part, 2, [0, 'float32'], ['float32'], 4)" in made.source()
    given = numbers()
    kept = given.copy()
    values = made.run(given)
    assert values[0] is made_here[0]
    y_ = np.tanh(-given - given)
    np.testing.assert_array_equal(values[0], y_)
    np.testing.assert_array_equal(values[1], np.exp(y_ * given))
    np.testing.assert_array_equal(given, kept)


@pytest.mark.parametrize("op", ["KitView", "KitCall"])
def test_an_operand_that_others_may_hold_is_left_as_it_is(graph: Graph, op: str) -> None:
    x = fed(graph)
    first = call(graph, np.negative, x, op=op, shapes=([LARGE],)).outputs[0]
    made = Made(graph, [ops.tanh(first - x), *([first] if op == "KitCall" else [])], [x])
    assert "b3 = Blockwise(b3_part, 2, ['float32'], ['float32'], 2)" in made.source()


def test_nodes_that_nobody_reads_run_one_by_one(graph: Graph) -> None:
    x = fed(graph)
    y = ops.tanh(x * 2.0)
    made = Made(graph, [], [x], [y.op])
    assert runs(made) == []
    made.run(numbers())
    x = fed(graph)
    y = ops.tanh(x * 2.0 + 1.0)
    step = Step(Made(graph, [y], [x]), [numbers()], traced=True)
    step.run()
    assert len(step.parts[0].notes) == 3


def test_a_sum_takes_the_results_of_a_run_when_it_has_ended(graph: Graph) -> None:
    x = fed(graph)
    a = x * 2.0
    b = ops.tanh(a)
    total = ops.add_n([a, b, b - 1.0])
    given = numbers()
    a_ = given * np.float32(2)
    b_ = np.tanh(a_)
    np.testing.assert_array_equal(Made(graph, [total], [x]).run(given)[0], (a_ + b_) + (b_ - np.float32(1)))


def test_runs_are_found_in_loops_and_branches(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    process_small_arrays(monkeypatch)
    worked_through = record_runs(monkeypatch)
    x = fed(graph, [None])
    _, y = ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, ops.tanh(v * 2.0 + 1.0)), [ops.constant(0), x])
    made = Made(graph, [ops.cond(ops.reduce_sum(y) > 0, lambda: ops.exp(y * 2.0 - 1.0), lambda: y)], [x])
    assert runs(made) == [3, 3]
    given = numbers(9)
    value = given
    for _ in range(3):
        value = np.tanh(value * np.float32(2) + np.float32(1))
    before = value
    if value.sum() > 0:
        value = np.exp(value * np.float32(2) - np.float32(1))
    np.testing.assert_array_equal(made.run(given)[0], value)
    assert [run.elements for run in worked_through] == [9] * (3 + int(value is not before))
