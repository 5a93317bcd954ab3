"""Client graphs: a plan of one run signature, split by task and registered with the workers that own a part.

The splitting is pure: partitions are grouped by task, and feeds and fetches renumbered so that each worker
gets and returns only its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from actorsession.graph.node import NodeDef
from actorsession.plan.partition import Partition
from actorsession.plan.prune import ARG
from actorsession.plan.signature import RunSignature

__all__ = ["ClientGraph", "TaskPart", "split_by_task"]


@dataclass(slots=True)
class TaskPart:
    """The part of a client graph that one task runs.

    Attributes:
        task: its name.
        partitions: for its devices, with feeds and fetches in the task's own numbering.
        feeds: for each feed of the task, its position in the signature.
        fetches: for each fetch of the task, its position in the signature.
        graph_handle: the worker's name for it, once registered.
    """

    task: str
    partitions: list[Partition]
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]
    graph_handle: str = ""


@dataclass(slots=True)
class ClientGraph:
    """A plan of one run signature at its master.

    Attributes:
        signature: what it was made for; values are in its order.
        parts: one per task that has anything to do.
        partitions: all of them, for those who ask to see.
        transfers: tensors that go from task to task in each step.
    """

    signature: RunSignature
    parts: list[TaskPart]
    partitions: Sequence[Partition] = ()
    transfers: int = 0


def split_by_task(signature: RunSignature, partitions: Sequence[Partition]) -> ClientGraph:
    """Groups partitions by task and renumbers their feeds and fetches."""
    by_task: dict[str, list[Partition]] = {}
    for partition in partitions:
        by_task.setdefault(partition.task, []).append(partition)
    parts = [_part(task, members) for task, members in by_task.items()]
    transfers = sum(node.op == "_Recv" and _crosses(node) for p in partitions for node in p.nodes)
    return ClientGraph(signature, parts, partitions, transfers)


def _crosses(node: NodeDef) -> bool:
    source, _, destination = node.attrs["key"].split(";")[:3]
    return bool(source.rpartition("/device:")[0] != destination.rpartition("/device:")[0])


def _part(task: str, members: Sequence[Partition]) -> TaskPart:
    feeds = tuple(sorted({position for p in members for position in p.feeds}))
    fetches = tuple(sorted(position for p in members for position, _, _ in p.fetches))
    renumbered = [
        Partition(
            p.device,
            tuple(_renumber(node, feeds) for node in p.nodes),
            tuple((fetches.index(position), name, index) for position, name, index in p.fetches),
        )
        for p in members
    ]
    return TaskPart(task, renumbered, feeds, fetches)


def _renumber(node: NodeDef, feeds: tuple[int, ...]) -> NodeDef:
    if node.op != ARG:
        return node
    return replace(node, attrs={"index": feeds.index(node.attrs["index"])})
