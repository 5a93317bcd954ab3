"""Loops and branches whose nodes and variables are on several devices and tasks."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from actorsession import ConfigProto, RunMetadata, RunOptions, ops
from tests.default_device import BESIDE

TWO = ConfigProto(device_count={"CPU": 2})


@pytest.fixture(params=[True, False], ids=["handles", "references"])
def variables(graph: acts.Graph, request: Any) -> tuple[Any, Any]:
    with acts.device("/cpu:0"):
        a = ops.Variable(1.0, name="a", use_resource=request.param)
    with acts.device("/cpu:1"):
        b = ops.Variable(10.0, name="b", use_resource=request.param)
    return a, b


def test_a_loop_changes_variables_of_two_devices(graph: acts.Graph, variables: Any) -> None:
    a, b = variables

    def body(i: Any, x: Any) -> Any:
        u = a.assign_add(1.0)
        with acts.device("/cpu:1"), graph.control_dependencies([b.assign_add(2.0)]):
            return i + 1, x * 2.0 + u

    loop = ops.while_loop(lambda i, x: i < 3, body, [0, 1.0])
    with acts.Session(graph=graph, config=TWO) as session:
        session.run(ops.global_variables_initializer())
        metadata = RunMetadata()
        found = session.run(loop, options=RunOptions(output_partition_graphs=True), run_metadata=metadata)
        assert found == [3, 26.0]
        assert session.run([a, b]) == [4.0, 16.0]
        assert len(metadata.partition_graphs) == 2 + len(BESIDE)
        assert session.run(loop) == [3, 47.0]


def test_a_branch_runs_alone_on_its_device(graph: acts.Graph, variables: Any) -> None:
    a, b = variables
    flag = ops.placeholder("bool", [])

    def one() -> Any:
        with acts.device("/cpu:1"):
            return b.assign_add(1.0) * 2.0

    def other() -> Any:
        with acts.device("/cpu:0"):
            return a * 100.0

    chosen = ops.cond(flag, one, other)
    kept = ops.cond(flag, lambda: ops.identity(chosen), lambda: ops.constant(-1.0))
    with acts.Session(graph=graph, config=TWO) as session:
        session.run(ops.global_variables_initializer())
        assert session.run([chosen, kept], {flag: True}) == [22.0, 22.0]
        assert session.run([chosen, b], {flag: False}) == [100.0, 11.0]


def test_a_loop_that_runs_no_iteration_returns_its_first_values(graph: acts.Graph) -> None:
    def body(i: Any) -> Any:
        with acts.device("/cpu:0"):
            j = i + 1
        with acts.device("/cpu:1"):
            return j * 2

    loop = ops.while_loop(lambda i: i < 5, body, [ops.placeholder("int32", [], "first")])
    with acts.Session(graph=graph, config=TWO) as session:
        assert session.run(loop, {"first:0": 7}) == 7
        assert session.run(loop, {"first:0": 0}) == 6


def test_a_loop_inside_of_a_branch_may_be_spread_too(graph: acts.Graph) -> None:
    flag = ops.placeholder("bool", [])

    def looped() -> Any:
        def body(i: Any) -> Any:
            with acts.device("/cpu:1"):
                return i + 2

        with acts.device("/cpu:0"):
            start = ops.constant(0)
        return ops.while_loop(lambda i: i < 5, body, [start])

    chosen = ops.cond(flag, looped, lambda: ops.constant(-1))
    with acts.Session(graph=graph, config=TWO) as session:
        assert session.run(chosen, {flag: True}) == 6
        assert session.run(chosen, {flag: False}) == -1


def test_on_one_device_they_stay_functions(graph: acts.Graph) -> None:
    with acts.device("/cpu:1"):
        loop = ops.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    with acts.Session(graph=graph, config=TWO) as session:
        metadata = RunMetadata()
        session.run(loop, options=RunOptions(output_partition_graphs=True), run_metadata=metadata)
        types = {node.op for part in metadata.partition_graphs for node in part.nodes}
        assert "While" in types
        assert "Enter" not in types


def test_a_loop_reads_a_reference_variable_of_another_task_once(graph: acts.Graph) -> None:
    with acts.device("/job:localhost/cpu:1"):
        w = ops.Variable(2.0, name="w", use_resource=False)

    def changing(i: Any) -> Any:
        with graph.control_dependencies([w.assign_add(1.0)]):
            return i + w

    with acts.device("/cpu:0"):
        loop = ops.while_loop(lambda i: i < 5.0, lambda i: i + w, [0.0])
        other = ops.while_loop(lambda i: i < 5.0, changing, [0.0])
    assert "w/read:0" in [tensor.name for tensor in loop.op.inputs[0].op.inputs]
    with acts.Session(graph=graph, config=TWO) as session:
        session.run(ops.global_variables_initializer())
        assert session.run(loop) == 6.0
        assert session.run(other) == 7.0
        assert session.run(w) == 4.0
