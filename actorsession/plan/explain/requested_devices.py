"""The devices that a graph asks for, to plan it where its cluster is not there: for graphs in files."""

from __future__ import annotations

from collections.abc import Iterable

from actorsession.graph.device import LOCAL_TASK, DeviceAttributes, DeviceSpec
from actorsession.graph.function import nodes_inside
from actorsession.graph.node import NodeDef
from actorsession.plan.device_set import DeviceSet

__all__ = ["requested_devices"]

_LOCAL = DeviceSpec.parse(LOCAL_TASK)
_CPU = DeviceSpec(device_type="CPU", device_index=0)
# The jobs whose first task clients usually connect to, the likeliest first.
_MASTERS = ("chief", "master", "worker")


def requested_devices(nodes: Iterable[NodeDef]) -> DeviceSet:
    """Return the devices that nodes ask for, and a CPU of each of their tasks.

    The client device is that of the first worker, or of the only process if no node names a job.

    Args:
        nodes: of the graph.
    """
    texts = {inner.device for node in nodes for inner in (node, *[one for one, _ in nodes_inside(node)])}
    asked = [DeviceSpec.parse(text) for text in texts]
    jobs = sorted({spec.job for spec in asked if spec.job is not None})
    home = DeviceSpec(next((job for job in _MASTERS if job in jobs), jobs[0]), 0, 0) if jobs else _LOCAL
    full = [spec.fill(DeviceSpec(spec.job or home.job, 0, 0)).fill(_CPU) for spec in (*asked, home)]
    names = sorted({str(each) for spec in full for each in (spec, _CPU.fill(spec.task_spec))})
    attributes = [
        DeviceAttributes(name=name, device_type=DeviceSpec.parse(name).device_type or "CPU", incarnation=0)
        for name in names
    ]
    return DeviceSet(attributes, str(_CPU.fill(home)))
