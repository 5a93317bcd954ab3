"""``replica_device_setter``: which node goes to a server and which to the worker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import ClusterSpec, Graph, Operation, Variable, constant
from actorsession.train import replica_device_setter
from tests.rows import refusing

CLUSTER = {"ps": ["h:1", "h:2"], "worker": ["h:3", "h:4"]}


def variable(name: str) -> Variable:
    return Variable(np.float32(0), name=name)


def devices_of_variables(count: int, **options: Any) -> list[str]:
    """The devices of ``count`` variables made under a device setter."""
    graph = Graph()
    with graph.as_default(), graph.device(replica_device_setter(**options)):
        return [variable(f"v{i}").op.device for i in range(count)]


def test_variables_go_to_the_servers_one_after_the_other() -> None:
    assert devices_of_variables(5, ps_tasks=2) == [
        "/job:ps/task:0",
        "/job:ps/task:1",
        "/job:ps/task:0",
        "/job:ps/task:1",
        "/job:ps/task:0",
    ]


def test_everything_else_goes_to_the_worker() -> None:
    graph = Graph()
    setter = replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
    with graph.as_default(), graph.device(setter):
        v = variable("v")
        y = v + constant(1.0)
    assert y.op.device == "/job:worker/task:1"
    assert v.initial_value.op.device == "/job:worker/task:1"


def test_reads_and_assignments_stay_with_their_variable() -> None:
    graph = Graph()
    with graph.as_default(), graph.device(replica_device_setter(ps_tasks=2)):
        variable("first")
        second = variable("second")
        assert second.initializer.device == "/job:ps/task:1"
        assert second.value().op.device == "/job:ps/task:1"


@pytest.mark.parametrize("cluster", [CLUSTER, ClusterSpec(CLUSTER)], ids=["dict", "spec"])
def test_the_number_of_servers_comes_from_the_cluster(cluster: Any) -> None:
    found = devices_of_variables(3, ps_tasks=7, cluster=cluster)
    assert found == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]


def test_the_server_job_may_have_another_name() -> None:
    found = devices_of_variables(2, cluster={"store": ["h:1"], "worker": ["h:2"]}, ps_device="/job:store/device:CPU:0")
    assert found == ["/job:store/task:0/device:CPU:0"] * 2


@pytest.mark.parametrize("options", [{}, {"cluster": {"worker": ["h:1"]}}], ids=["none", "no job"])
def test_without_servers_there_is_no_device_function(options: dict[str, Any]) -> None:
    assert replica_device_setter(**options) is None


def test_an_inner_block_wins_part_by_part() -> None:
    graph = Graph()
    setter = replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
    with graph.as_default(), graph.device(setter), graph.device("/device:CPU:1"):
        assert variable("v").op.device == "/job:ps/task:0/device:CPU:1"
        assert constant(1.0).op.device == "/job:worker/task:1/device:CPU:1"


def test_an_inner_task_of_the_server_job_wins() -> None:
    graph = Graph()
    setter = replica_device_setter(ps_tasks=2)
    with graph.as_default(), graph.device(setter), graph.device("/job:ps/task:1"):
        assert variable("v").op.device == "/job:ps/task:1"


def test_an_inner_job_keeps_a_variable_off_the_servers_and_uses_up_no_turn() -> None:
    graph = Graph()
    with graph.as_default(), graph.device(replica_device_setter(ps_tasks=2)):
        with graph.device("/job:worker"):
            assert variable("own").op.device == "/job:worker"
        assert variable("shared").op.device == "/job:ps/task:0"


def test_without_merging_an_inner_block_is_taken_as_it_is() -> None:
    graph = Graph()
    setter = replica_device_setter(ps_tasks=2, merge_devices=False)
    with graph.as_default(), graph.device(setter):
        with graph.device("/device:CPU:1"):
            assert variable("v").op.device == "/device:CPU:1"
        assert variable("w").op.device == "/job:ps/task:0"


def test_an_outer_block_does_not_change_the_answer() -> None:
    graph = Graph()
    with graph.as_default(), graph.device("/job:elsewhere/task:5"), graph.device(replica_device_setter(ps_tasks=1)):
        assert variable("v").op.device == "/job:ps/task:0"


def test_the_servers_are_chosen_by_a_strategy_of_ones_own() -> None:
    chosen: list[str] = []

    def last(op: Operation) -> int:
        chosen.append(op.name)
        return 3

    found = devices_of_variables(2, ps_tasks=4, ps_strategy=last)
    assert found == ["/job:ps/task:3"] * 2
    assert chosen == ["v0", "v1"]


def test_the_op_types_that_go_to_the_servers_can_be_named() -> None:
    graph = Graph()
    with graph.as_default(), graph.device(replica_device_setter(ps_tasks=1, ps_ops=["Const"])):
        assert constant(1.0).op.device == "/job:ps/task:0"
        assert variable("v").op.device == "/job:worker"


def test_an_empty_server_device_leaves_variables_on_the_worker() -> None:
    found = devices_of_variables(1, ps_tasks=1, ps_device="")
    assert found == ["/job:worker"]


def test_two_replicas_put_the_same_variable_on_the_same_server() -> None:
    first = devices_of_variables(3, cluster=CLUSTER, worker_device="/job:worker/task:0")
    second = devices_of_variables(3, cluster=CLUSTER, worker_device="/job:worker/task:1")
    assert first == second


NO_FUNCTION: Any = 1
test_what_is_no_setter_is_refused = refusing(
    (lambda: replica_device_setter(1, ps_strategy=NO_FUNCTION), TypeError, "from operation to task, got 1"),
    (lambda: replica_device_setter(ps_tasks=-1), ValueError, "at least 0; got -1"),
    (lambda: replica_device_setter(1, worker_device="/jobs:worker"), ValueError, "malformed device name"),
)
