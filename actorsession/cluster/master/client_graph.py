"""Client graphs: the plan of one run signature, split by task and registered at the workers.

The split is pure: partitions are grouped by task, and feeds and fetches are renumbered so that each worker
receives and returns only its own. Built by ``client_graphs``, run by ``master_step``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup
from actorsession.plan.collectives import COLLECTIVES
from actorsession.plan.partial import PartialParts
from actorsession.plan.partition import Partition
from actorsession.plan.prune import ARG
from actorsession.plan.signature import RunSignature
from actorsession.plan.takes import uses_of
from actorsession.records import dataclass
from actorsession.runtime.debug.task_debugger import PlanSurvey
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.cluster.master.program import Program

__all__ = ["ClientGraph", "TaskPart", "split_by_task"]


@dataclass(slots=True)
class TaskPart:
    """The partitions of a client graph that one task runs.

    Attributes:
        task: the name of the task.
        partitions: one per device, with feeds and fetches in the task's own numbering.
        feeds: for each feed of the task, its position in the signature.
        fetches: for each fetch of the task, its position in the signature.
        graph_handle: the worker's handle, once registered.
        program: number of its step program at the worker; 0 for none.
        takes: whether a node takes something out of a queue or the like.
    """

    task: str
    partitions: list[Partition]
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]
    graph_handle: str = ""
    takes: bool = False
    program: int = 0


@dataclass(slots=True, eq=False)
class ClientGraph:
    """A plan of one run signature at its master.

    Attributes:
        signature: the run signature; values are in its order.
        parts: one per task that has nodes to run.
        here: the index of the master's own task in ``parts``, if it has partitions.
        partitions: all partitions, for the run metadata.
        partial: the feeds and fetches that calls may use, if the graph is one of partial runs.
        registration: ends when all partitions are registered, or with the error that prevented it.
        registered: whether all partitions are registered.
        users: steps that run the graph or wait for its registration.
        dropped: whether the cache has evicted the graph; the last user then releases it.
        absent: those of its tasks that had not answered when it was planned, so that their devices were a
            guess.
        may_wait: whether an op of it may wait for anything, such as another step.
        takes: whether any of its nodes takes something out of a queue or the like.
        meets: whether any of its nodes takes part in a collective.
        runs: how many steps have run it, if the session observes its steps.
        nbytes: bytes that its latest step has fetched and sent from task to task.
        group_scope: the scope in which the members of its collectives find each other, if no other session
            has a part in them.
        survey: what is watched, if it is the graph of debugged runs.
        last_used: when a run of it last began, by the monotonic clock.
        programs: the plans of clients that are bound to it.
    """

    signature: RunSignature
    parts: list[TaskPart]
    here: int | None = None
    partitions: Sequence[Partition] = ()
    partial: PartialParts | None = None
    registration: asyncio.Task[None] | None = field(default=None, repr=False)
    registered: bool = False
    users: int = 0
    dropped: bool = False
    absent: frozenset[str] = frozenset()
    may_wait: bool = False
    takes: bool = False
    meets: bool = False
    runs: int = 0
    nbytes: int = 0
    group_scope: str = field(default_factory=lambda: current_host().entropy.token_hex(8))
    survey: PlanSurvey | None = None
    last_used: float = 0.0
    programs: list[Program] = field(default_factory=list, repr=False)


def split_by_task(signature: RunSignature, partitions: Sequence[Partition], master: str) -> ClientGraph:
    """Group partitions by task and renumber their feeds and fetches.

    Args:
        signature: the run signature that the partitions were made for.
        partitions: one per device.
        master: the task of the master.
    """
    by_task: dict[str, list[Partition]] = {}
    for partition in partitions:
        by_task.setdefault(partition.task, []).append(partition)
    parts = [_part(task, members) for task, members in by_task.items()]
    here = next((i for i, part in enumerate(parts) if part.task == master), None)
    may_wait = any(is_registered(node.op) and lookup(node.op).blocks for p in partitions for node in p.nodes)
    takes = any(part.takes for part in parts)
    meets = any(node.op in COLLECTIVES for p in partitions for node in p.nodes)
    return ClientGraph(signature, parts, here, partitions, may_wait=may_wait, takes=takes, meets=meets)


def _part(task: str, members: Sequence[Partition]) -> TaskPart:
    feeds = tuple(sorted({position for p in members for position in p.feeds}))
    fetches = tuple(sorted(position for p in members for position, _, _ in p.fetches))
    feed_at = {position: i for i, position in enumerate(feeds)}
    fetch_at = {position: i for i, position in enumerate(fetches)}
    renumbered = [
        replace(
            p,
            nodes=tuple(_renumber(node, feed_at) for node in p.nodes),
            fetches=tuple((fetch_at[position], name, index) for position, name, index in p.fetches),
        )
        for p in members
    ]
    takes = any(uses_of(node) is not None for p in members for node in p.nodes)
    return TaskPart(task, renumbered, feeds, fetches, takes=takes)


def _renumber(node: NodeDef, feed_at: Mapping[int, int]) -> NodeDef:
    if node.op != ARG:
        return node
    return replace(node, attrs={"index": feed_at[node.attrs["index"]]})
