"""The reports of runs as TensorFlow's messages: ``RunMetadata``, and ``StepStats`` in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession import config, interop
from actorsession.graph.device import LOCAL_TASK, device_name, device_task
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.shape import TensorShape
from actorsession.interop.enums import dtype_of
from actorsession.interop.message import Message
from actorsession.interop.tabled import message_class
from actorsession.interop.tensors import shape_proto
from actorsession.plan.rendezvous_key import parse_key

__all__ = ["fill_metadata", "step_stats_of"]

_TIMES = ("all_start", "op_start_rel", "op_end_rel", "all_end_rel", "scheduled")


def fill_metadata(message: Message, report: config.RunMetadata) -> None:
    """Replace the contents of a ``RunMetadata`` message by the report of a run."""
    target: Any = message
    target.Clear()
    if report.step_stats is not None:
        target.step_stats.SetInParent()
        for device in report.step_stats.dev_stats:
            _fill_device(target.step_stats.dev_stats.add(), device)
        _fill_transfers(target.step_stats, report.step_stats.transfers)
        if not report.step_stats.dev_stats:
            # Nothing was executed: all that was fetched is constant. The device that would have is named.
            target.step_stats.dev_stats.add(device=device_name(LOCAL_TASK, "CPU:0"))
    for graph in report.partition_graphs:
        target.partition_graphs.adopt(interop.graph_def_of(graph))
    for node in report.cost_graph.node:
        _fill_cost(target.cost_graph.node.add(), node)
    if report.session_metadata is not None:
        target.session_metadata.name = report.session_metadata.name
        target.session_metadata.version = report.session_metadata.version


def _fill_transfers(step_stats: Any, transfers: Sequence[config.TransferStats]) -> None:
    """Add what tasks sent each other: a ``RecvTensor`` at the device that received it, as in TensorFlow."""
    sent = {each.key: each for each in transfers if each.kind == "send"}
    by_device: dict[str, list[config.TransferStats]] = {}
    for each in transfers:
        source = parse_key(each.key).src_device
        if each.kind == "recv" and device_task(source) != device_task(each.device):
            by_device.setdefault(each.device, []).append(each)
    for device in sorted(by_device):
        stats = step_stats.dev_stats.add(device=device)
        for each in sorted(by_device[device], key=lambda transfer: transfer.time):
            key = parse_key(each.key)
            start = min(sent[each.key].time if each.key in sent else each.time, each.time)
            taken = round((each.time - start) * 1e9)
            speed = f"{each.nbytes * 8000 / taken:f}Mb/s" if taken else "0Mb/s"
            stats.node_stats.add(
                node_name="RecvTensor",
                all_start_micros=round(start * 1e6),
                all_start_nanos=round(start * 1e9),
                op_end_rel_micros=taken // 1000,
                op_end_rel_nanos=taken,
                all_end_rel_micros=taken // 1000,
                all_end_rel_nanos=taken,
                timeline_label=(
                    f"[{each.nbytes}B] [{speed}] {key.edge_name} from {key.src_device} to {key.dst_device}"
                ),
            )


def _fill_device(target: Any, device: config.DeviceStepStats) -> None:
    target.device = device.device
    target.thread_names.update(device.thread_names)
    for node in device.node_stats:
        stats = target.node_stats.add(
            node_name=node.node_name, timeline_label=node.timeline_label, thread_id=node.thread_id
        )
        for name in _TIMES:
            setattr(stats, f"{name}_micros", getattr(node, f"{name}_micros"))
            setattr(stats, f"{name}_nanos", getattr(node, f"{name}_nanos"))
        for used in node.memory:
            stats.memory.add(
                allocator_name=used.allocator_name,
                total_bytes=used.total_bytes,
                peak_bytes=used.peak_bytes,
                live_bytes=used.live_bytes,
            )
        for output in node.output:
            tensor = stats.output.add(slot=output.slot).tensor_description
            said = output.tensor_description
            tensor.dtype = as_dtype(said.dtype).as_datatype_enum
            tensor.shape.CopyFrom(shape_proto(TensorShape(said.shape)))
            tensor.allocation_description.allocated_bytes = said.allocated_bytes
            tensor.allocation_description.requested_bytes = said.allocated_bytes
            tensor.allocation_description.allocator_name = said.allocator_name


def _fill_cost(target: Any, node: config.CostGraphNode) -> None:
    for name in (
        "name",
        "device",
        "id",
        "temporary_memory_size",
        "is_final",
        "compute_cost",
        "compute_time",
        "persistent_memory_size",
    ):
        setattr(target, name, getattr(node, name))
    target.control_input.extend(node.control_input)
    for each in node.input_info:
        target.input_info.add(preceding_node=each.preceding_node, preceding_port=each.preceding_port)
    for output in node.output_info:
        info = target.output_info.add(size=output.size, alias_input_port=-1)
        info.dtype = as_dtype(output.dtype).as_datatype_enum
        info.shape.CopyFrom(shape_proto(TensorShape(output.shape)))


class _Stats(config.StepStats):
    """Statistics that were read from a message."""

    __slots__ = ("_devices",)

    def __init__(self, devices: list[config.DeviceStepStats]) -> None:
        super().__init__()
        self._devices = devices

    @property
    def dev_stats(self) -> list[config.DeviceStepStats]:
        """The nodes by device."""
        return self._devices


def step_stats_of(message: Any) -> config.StepStats:
    """Return the statistics that a ``StepStats`` message holds.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(message, config.StepStats):
        return message
    if not isinstance(message, message_class("StepStats")):
        raise TypeError(
            f"expected the StepStats of a traced run, got {type(message).__name__}; run with "
            "RunOptions(trace_level=RunOptions.FULL_TRACE) and pass RunMetadata.step_stats"
        )
    return _Stats([_device_of(device) for device in message.dev_stats])


def _device_of(device: Any) -> config.DeviceStepStats:
    nodes = tuple([_node_of(stats) for stats in device.node_stats])
    return config.DeviceStepStats(device.device, nodes, dict(device.thread_names))


def _node_of(stats: Any) -> config.NodeExecStats:
    # Older programs of TensorFlow wrote the microseconds alone.
    times = {
        f"{name}_nanos": getattr(stats, f"{name}_nanos") or 1000 * getattr(stats, f"{name}_micros") for name in _TIMES
    }
    return config.NodeExecStats(
        node_name=stats.node_name,
        timeline_label=stats.timeline_label,
        thread_id=stats.thread_id,
        output=tuple([_output_of(each) for each in stats.output]),
        memory=tuple(
            [
                config.AllocatorMemoryUsed(m.allocator_name, m.total_bytes, m.peak_bytes, m.live_bytes)
                for m in stats.memory
            ]
        ),
        **times,
    )


def _output_of(output: Any) -> config.NodeOutput:
    said = output.tensor_description
    memory = said.allocation_description
    described = config.TensorDescription(
        dtype_of(said.dtype).name,
        tuple([dim.size for dim in said.shape.dim]),
        memory.allocated_bytes,
        memory.allocator_name,
    )
    return config.NodeOutput(output.slot, described)
