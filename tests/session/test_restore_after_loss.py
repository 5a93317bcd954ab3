"""Which parts of a restore are run, given the names of the variables that are lost."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest

from actorsession import Graph, ops
from actorsession.errors import FailedPreconditionError
from actorsession.session.restore_after_loss import call_restore, parts_to_run
from actorsession.train import Saver
from tests.rows import for_each


@pytest.fixture
def three(graph: Graph) -> tuple[Any, Any, Any]:
    return tuple(ops.Variable(float(i), name=name) for i, name in enumerate("abc"))  # type: ignore[return-value]


def written(graph: Graph, fetches: Any, *lost: str) -> list[str]:
    """What is run: the names of the operations."""
    return sorted(op.name for op in parts_to_run(graph, fetches, lost))


def test_an_initializer_runs_if_its_variable_is_lost(graph: Graph, three: Any) -> None:
    a, b, _ = three
    assert written(graph, a.initializer, "a") == [a.initializer.name]
    assert written(graph, a.initializer, "b") == []
    assert written(graph, a.initializer) == []
    assert written(graph, [a.initializer, {"x": b.initializer.name}], "b", "c") == [b.initializer.name]


def test_a_group_is_taken_apart(graph: Graph, three: Any) -> None:
    a, b, c = three
    everything = ops.global_variables_initializer()
    nested = ops.group(everything, ops.group(a.initializer), ops.constant(1.0).op)
    for init in (everything, nested):
        assert written(graph, init, "b") == [b.initializer.name]
        assert written(graph, init) == []
        assert written(graph, ops.group(init), "a", "b", "c") != []
    assert written(graph, everything, "a", "b", "c") == [everything.name]
    (inner,) = [op for op in nested.control_inputs if op.control_inputs == (a.initializer,)]
    assert written(graph, nested, "a", "c") == sorted([a.initializer.name, c.initializer.name, inner.name])


def test_so_is_what_restores_a_checkpoint(graph: Graph, three: Any) -> None:
    saver = Saver()
    assert saver.saver_def is not None
    (part,) = parts_to_run(graph, saver.saver_def.restore_op_name, ["b"])
    assert part.inputs[0].op.name == "b"


def test_a_tensor_stands_for_what_it_needs(graph: Graph, three: Any) -> None:
    a, _, _ = three
    both = a.assign(5.0) + three[1].assign(6.0)
    assert written(graph, a.assign_add(1.0), "b") == []
    (part,) = parts_to_run(graph, both, ["a"])
    assert "b" not in {tensor.op.name for tensor in part.inputs}
    assert written(graph, both, "a", "b") == [both.op.name]


def test_reading_a_healthy_variable_is_no_writing(graph: Graph, three: Any) -> None:
    a, _, _ = three
    twice = ops.Variable(a.initialized_value() * 2.0, name="twice")
    assert written(graph, twice.initializer, "twice") == [twice.initializer.name]


def test_what_would_overwrite_a_healthy_variable_and_cannot_be_split_is_refused(graph: Graph, three: Any) -> None:
    a, b, _ = three
    with graph.control_dependencies([a.initializer]):
        after = b.assign(7.0).op
    chosen = ops.cond(ops.constant(True), lambda: a.assign(1.0), lambda: b.assign(2.0))
    for restore in (after, ops.group(after), chosen):
        with pytest.raises(FailedPreconditionError, match=r"writes b, lost, .* also writes a, which has"):
            parts_to_run(graph, restore, ["b"])
        assert written(graph, restore, "c") == []
        assert written(graph, restore, "a", "b") != []


def test_what_writes_no_variable_runs_also_out_of_a_group(graph: Graph, three: Any) -> None:
    queue = ops.FIFOQueue(3, ["float32"], [[]])
    put = queue.enqueue(ops.constant(1.0))
    everything = ops.group(three[0].initializer, put)
    assert written(graph, [put], "a") == [put.name]
    assert written(graph, everything, "b") == [put.name]
    assert written(graph, everything, "a") == [everything.name]


def test_long_chains_are_looked_through(graph: Graph, three: Any) -> None:
    init: Any = ops.group(three[0].initializer, three[1].initializer)
    for _ in range(sys.getrecursionlimit() + 100):
        init = ops.group(init)
    assert written(graph, init, "a") == [three[0].initializer.name]


@for_each(
    "function, given",
    [
        (lambda session: (session,), ("s",)),
        (lambda session, lost: (session, lost), ("s", ("v",))),
        (lambda *both: both, ("s", ("v",))),
        (lambda session, value=3: (session, value), ("s", 3)),
        (functools.partial(lambda first, session, lost: (session, lost), 0), ("s", ("v",))),
    ],
)
def test_a_function_gets_the_names_if_it_takes_them(function: Any, given: Any) -> None:
    assert call_restore(function, "s", ("v",)) == given
