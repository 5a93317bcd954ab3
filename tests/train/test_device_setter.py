"""``replica_device_setter``: which node goes to a server and which to the worker."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np

from actorsession import ClusterSpec, Graph, Operation, Variable, constant
from actorsession.train import replica_device_setter
from tests.ops.uses import each_use, equals

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
    # Everything else goes to the worker.
    graph = Graph()
    setter = replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
    with graph.as_default(), graph.device(setter):
        v = variable("v")
        y = v + constant(1.0)
    assert y.op.device == "/job:worker/task:1"
    assert v.initial_value.op.device == "/job:worker/task:1"
    # An inner block wins part by part.
    graph = Graph()
    setter = replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
    with graph.as_default(), graph.device(setter), graph.device("/device:CPU:1"):
        assert variable("v").op.device == "/job:ps/task:0/device:CPU:1"
        assert constant(1.0).op.device == "/job:worker/task:1/device:CPU:1"


def test_the_servers_are_chosen_by_a_strategy_of_ones_own() -> None:
    chosen: list[str] = []

    def last(op: Operation) -> int:
        chosen.append(op.name)
        return 3

    found = devices_of_variables(2, ps_tasks=4, ps_strategy=last)
    assert found == ["/job:ps/task:3"] * 2
    assert chosen == ["v0", "v1"]


def placed(*blocks: str, setter: Any, outer: str = "") -> list[str]:
    """The devices of a variable, its initializer, its value and a constant, made in blocks within a setter's."""
    with Graph().as_default() as graph, graph.device(outer or None), graph.device(setter), ExitStack() as stack:
        for block in blocks:
            stack.enter_context(graph.device(block))
        v = variable("v")
        return [op.device for op in (v.op, v.initializer, v.value().op, constant(1.0).op)]


def _turns() -> list[str]:
    """An inner job keeps a variable off the servers, and uses up no turn."""
    with Graph().as_default() as graph, graph.device(replica_device_setter(ps_tasks=2)):
        with graph.device("/job:worker"):
            own = variable("own").op.device
        return [own, variable("shared").op.device]


PS0, PS1, OWN = "/job:ps/task:0", "/job:ps/task:1", "/job:worker"
NO_FUNCTION: Any = 1
ROWS: list[Any] = [
    *(
        equals(lambda c=c: devices_of_variables(3, ps_tasks=7, cluster=c), [PS0, PS1, PS0])
        for c in (CLUSTER, ClusterSpec(CLUSTER))
    ),
    equals(
        lambda: devices_of_variables(2, cluster={"store": ["h:1"], "worker": ["h:2"]}, ps_device="/job:store/cpu:0"),
        ["/job:store/task:0/device:CPU:0"] * 2,
    ),
    equals(lambda: devices_of_variables(1, ps_tasks=1, ps_device=""), [OWN]),
    # Two replicas put the same variable on the same server.
    *(
        equals(
            lambda k=k: devices_of_variables(3, cluster=CLUSTER, worker_device=f"/job:worker/task:{k}"), [PS0, PS1, PS0]
        )
        for k in range(2)
    ),
    equals(replica_device_setter, None),
    equals(lambda: replica_device_setter(cluster={"worker": ["h:1"]}), None),
    # Reads and assignments stay with their variable, an inner task wins, and so does one without merging.
    equals(lambda: placed(setter=replica_device_setter(ps_tasks=2)), [PS0, PS0, PS0, OWN]),
    equals(lambda: placed(PS1, setter=replica_device_setter(ps_tasks=2))[0], PS1),
    equals(_turns, [OWN, PS0]),
    equals(
        lambda: placed("/device:CPU:1", setter=replica_device_setter(ps_tasks=2, merge_devices=False))[0],
        "/device:CPU:1",
    ),
    equals(lambda: placed(setter=replica_device_setter(ps_tasks=2, merge_devices=False))[0], PS0),
    equals(lambda: placed(setter=replica_device_setter(ps_tasks=1), outer="/job:elsewhere/task:5")[0], PS0),
    equals(lambda: placed(setter=replica_device_setter(1, ps_ops=["Const"]))[::3], [OWN, PS0]),
    (lambda: replica_device_setter(1, ps_strategy=NO_FUNCTION), TypeError, "from operation to task, got 1"),
    (lambda: replica_device_setter(ps_tasks=-1), ValueError, "at least 0; got -1"),
    (lambda: replica_device_setter(1, worker_device="/jobs:worker"), ValueError, "malformed device name"),
]


test_nodes_go_where_the_rows_say = each_use(ROWS)
