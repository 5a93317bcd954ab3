"""Results that a value asks for and that there is no room for are refused before they are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, ops
from actorsession.errors import ResourceExhaustedError
from actorsession.plan.codegen import memory_check as memory
from tests.rows import for_each, refused

MANY = 1 << 45

BUILDS: dict[str, Callable[[Any, Any], Any]] = {
    "fill": lambda n, x: ops.fill(ops.stack([n, 2]), 1.0),
    "fill of known size": lambda n, x: ops.fill(np.array([MANY, 2]), 1.0),
    "range": lambda n, x: ops.range(n),
    "range of small steps": lambda n, x: ops.range(0.0, ops.cast(n, "float32"), 1.0),
    "tile": lambda n, x: ops.tile(x, ops.stack([n])),
    "broadcast": lambda n, x: ops.broadcast_to(x, ops.stack([n, 1])),
    "pad": lambda n, x: ops.pad(x, ops.reshape(ops.stack([n, n]), [1, 2])),
    "one-hot": lambda n, x: ops.one_hot(np.zeros(2**20, np.int32), ops.cast(n // 2**15, "int32")),
    "random": lambda n, x: ops.random_uniform(ops.stack([n])),
    "segments": lambda n, x: ops.unsorted_segment_sum(x, [0], n),
    "scatter": lambda n, x: ops.scatter_nd(np.array([[0]]), x, ops.stack([n])),
}


@for_each("case", BUILDS)
def test_a_result_that_no_machine_has_room_for_is_refused(graph: Graph, case: str) -> None:
    n, x = ops.placeholder("int64", [], name="n"), ops.placeholder("float32", [1], name="x")
    made = BUILDS[case](n, x)
    with Session(graph=graph) as session, pytest.raises(ResourceExhaustedError) as found:
        session.run(made, {n: MANY, x: [1.0]})
    assert found.value.node_def is None or found.value.node_def.name == made.op.name


def test_the_refusal_says_how_much_was_asked_for_and_what_there_is(graph: Graph) -> None:
    limit = memory.memory_limit()
    rows = (limit >> 12) + 1
    n = ops.placeholder("int32", [], name="n")
    made = ops.zeros(ops.stack([n, 1 << 10]))
    with Session(graph=graph) as session:
        assert session.run(made, {n: 1 << 14}).nbytes == 64 << 20
        words = rf"Fill: a result of shape \({rows}, 1024\) and type float32 takes {rows << 12} bytes; .* {limit}"
        refused(lambda: session.run(made, {n: rows}), ResourceExhaustedError, words)


def test_the_limit_of_this_process_is_known() -> None:
    assert 1 << 26 < memory.memory_limit() <= 1 << 62
