"""Placement of the nodes of one replica: state on the parameter servers, the rest on its worker.

Owns the device function under which between-graph replicas build their graph, as
``tf.compat.v1.train.replica_device_setter``. Called by users; imports ``graph`` and ``cluster.spec``.

Every replica runs the same building code, so every replica's round-robin assigns the same variable to the
same server: the replicas share their variables without communicating about them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from actorsession.cluster.spec import ClusterSpec
from actorsession.graph.device import DeviceSpec
from actorsession.graph.operation import Operation

__all__ = ["STATE_OPS", "replica_device_setter"]

# The op types that hold state in this runtime: only variables.
STATE_OPS = ("Variable", "VariableV2", "VarHandleOp")


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: ClusterSpec | Mapping[str, Any] | None = None,
    ps_ops: Collection[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Operation], str] | None:
    """Return a device function for ``graph.device``: variables on servers, all else on the worker.

    Device blocks inside the block that uses the function override it component by component:
    ``/device:CPU:1`` inside it keeps the job and task that the function chose.

    Args:
        ps_tasks: number of parameter servers; 0 for none.
        ps_device: device of the servers, without a task; ``""`` to leave variables on the worker.
        worker_device: device of everything else, such as ``/job:worker/task:1``.
        merge_devices: whether to complete the devices of inner blocks; otherwise an operation for which they
            specify any component keeps exactly that.
        cluster: the cluster; the number of servers is then the number of tasks in the job of ``ps_device``,
            and ``ps_tasks`` is ignored.
        ps_ops: op types that go to the servers; ``STATE_OPS`` if left out.
        ps_strategy: function from an operation to the index of its server; round-robin if left out.

    Returns:
        The device function, or ``None`` (which clears outer blocks) if there are no servers.

    Raises:
        TypeError: if ``ps_strategy`` is not callable, or ``cluster`` is no cluster.
        ValueError: for a malformed device, or a negative ``ps_tasks``.
    """
    servers = DeviceSpec.parse(ps_device)
    if cluster is not None:
        spec = ClusterSpec(cluster)
        ps_tasks = spec.num_tasks(servers.job) if servers.job in spec.jobs else 0
    if ps_tasks < 0:
        raise ValueError(f"ps_tasks must be the number of parameter servers, at least 0; got {ps_tasks}")
    if not ps_tasks:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise TypeError(f"ps_strategy must be a function from operation to task, got {ps_strategy!r}")
    chosen = ps_strategy or _round_robin(ps_tasks)
    state_ops = frozenset(STATE_OPS if ps_ops is None else ps_ops)
    worker = DeviceSpec.parse(worker_device)

    def device_of(op: Operation) -> str:
        """Return the device of an operation, completing the one requested by inner blocks (``op.device``)."""
        asked = DeviceSpec.parse(op.device)
        if op.device and not merge_devices:
            return op.device
        if not ps_device or op.type not in state_ops:
            return str(worker.merge(asked))
        # A task number is meaningful in its own job only.
        if servers.job is not None and asked.job in (None, servers.job):
            return str(replace(servers, task=chosen(op)).merge(asked))
        return str(servers.merge(asked))

    return device_of


def _round_robin(tasks: int) -> Callable[[Operation], int]:
    numbers = itertools.cycle(range(tasks))
    return lambda _op: next(numbers)
