"""The debugger of one task of a cluster: what a worker watches in its partitions, and what it publishes.

The master checks the options of a debugged run against the whole graph (``survey``) and gives each task what
concerns its partitions (``TaskWatches``). The worker decorates them when they are registered
(``TaskDebugPlan``). In a step, a ``TaskDebugRun`` writes the values for ``file://`` URLs, on the worker's
host and under its file roots, and keeps the others until the client takes them.

Invariant: what a run keeps for the client is bounded by ``run_byte_usage_limit``; values beyond it are
counted and left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from actorsession.config import DebugOptions
from actorsession.config.file_roots import FileRoots
from actorsession.errors import OpError, ProtocolError
from actorsession.graph.node import GraphDef, NodeDef, tensor_name
from actorsession.plan.partition import Partition
from actorsession.plan.prune import split_name
from actorsession.plan.signature import DebugSignature, RunSignature
from actorsession.records import dataclass
from actorsession.runtime.debug.dump import DebugDump, DumpStore
from actorsession.runtime.debug.graph import DebugGraphDecorator, decorated
from actorsession.runtime.debug.sinks import check_url, sink_for
from actorsession.runtime.debug.state import SinkState, Tally
from actorsession.runtime.debug.watched_step import DebugRunDef, WatchedStep

__all__ = ["PlanSurvey", "TakenValues", "TaskDebugPlan", "TaskDebugRun", "TaskWatches", "dump_from_wire", "survey"]

Sent: TypeAlias = tuple[DebugDump, list[str]]
"""A value on its way to the client, with its URLs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWatches:
    """What one task watches in its partitions of a client graph.

    Attributes:
        options: the options of the plan; watches by name are those of tensors in the partitions, one each.
        feeds: the feeds of the partitions, in the order of ``_Arg``.
        fed_types: all feeds of the run, with the op types of their nodes.
        elsewhere: tensors that other tasks watch, of which the partitions have copies.
        signature: the feeds, fetches and targets of the run.
    """

    options: DebugOptions
    feeds: tuple[str, ...]
    fed_types: Mapping[str, str]
    elsewhere: tuple[str, ...]
    signature: RunSignature

    def to_wire(self) -> list[Any]:
        """Return the watches as plain values."""
        names = self.signature
        return [
            self.options.of_plan.to_wire(),
            list(self.feeds),
            dict(self.fed_types),
            list(self.elsewhere),
            list(names.feeds),
            list(names.fetches),
            list(names.targets),
        ]

    @classmethod
    def from_wire(cls, value: Any) -> TaskWatches:
        """Read the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
            InvalidArgumentError: for options that are not allowed.
        """
        match value:
            case [dict(options), list(feeds), dict(types), list(elsewhere), *names]:
                lists = [feeds, elsewhere, list(types), list(types.values()), *names]
                if len(names) == 3 and all(map(_are_strings, lists)):
                    fed, fetched, targets = map(tuple, names)
                    return cls(
                        options=DebugOptions.from_wire(options),
                        feeds=tuple(feeds),
                        fed_types=types,
                        elsewhere=tuple(elsewhere),
                        signature=RunSignature(fed, fetched, targets),
                    )
        raise ProtocolError(f"this is not the wire form of watches: {value!r:.100}")


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


# -- at the master ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSurvey:
    """What a master knows of the plan of debugged runs.

    Attributes:
        tasks: what each task watches, in the order of the tasks.
        not_run: tensors that are watched by name and that the run does not need.
        refused: watches left out because their debug op could not be made, each with the reason.
    """

    tasks: tuple[TaskWatches, ...]
    not_run: tuple[str, ...]
    refused: tuple[str, ...]


def survey(
    signature: DebugSignature,
    known: Mapping[str, NodeDef],
    partitions: Sequence[Partition],
    tasks: Sequence[tuple[str, Sequence[int]]],
) -> PlanSurvey:
    """Check the options of a plan, and return what each task watches.

    Args:
        signature: the signature of the plan.
        known: the nodes of the whole graph.
        partitions: all partitions of the plan.
        tasks: for each task its name and, by position in the signature, its feeds.

    Raises:
        InvalidArgumentError: for a node, slot or debug op that does not exist.
    """
    options = signature.debug_options
    plain = RunSignature(signature.feeds, signature.fetches, signature.targets)
    decorator = DebugGraphDecorator(options, plain, known)
    types = {name: known[split_name(name)[0]].op for name in signature.feeds}
    surveyed = []
    for task, feeds in tasks:
        nodes = [node for part in partitions if part.task == task for node in part.nodes]
        here = dict.fromkeys([ref for node in nodes for ref in decorator.tensors(node)])
        elsewhere = [ref for ref in here if ref in decorator.seen]
        for node in nodes:
            decorator.check(node)
        surveyed.append(
            TaskWatches(
                options=replace(options, debug_tensor_watch_opts=decorator.watches_of(here)),
                feeds=tuple([signature.feeds[position] for position in feeds]),
                fed_types=types,
                signature=plain,
                elsewhere=tuple([tensor_name(*ref) for ref in elsewhere]),
            )
        )
    return PlanSurvey(tasks=tuple(surveyed), not_run=decorator.not_run, refused=tuple(decorator.refused))


# -- at the worker ---------------------------------------------------------------------------------


class TaskDebugPlan:
    """The watched partitions of one task.

    Args:
        watches: what is watched in them.
        partitions: the partitions, as the master has cut them.
        files: the directories in which the worker may write.

    Attributes:
        signature: the feeds, fetches and targets of the run.
        partitions: the partitions with debug nodes.
        points: the observed points, by number.
        urls: the URLs of directories on this host.

    Raises:
        InvalidArgumentError: for watches that do not fit the partitions, and an impossible place.
        PermissionDeniedError: for a directory outside of ``files``.
    """

    def __init__(self, watches: TaskWatches, partitions: Sequence[Partition], files: FileRoots) -> None:
        self.signature = watches.signature
        self.files = files
        watched = watches.options.debug_tensor_watch_opts
        urls = dict.fromkeys([url for watch in watched for url in watch.debug_urls])
        self.urls = tuple([url for url in urls if check_url(url)])
        for url in self.urls:  # refused before any step runs
            sink_for(url, DumpStore(), watches.options, files)
        decorator = DebugGraphDecorator(
            watches.options,
            RunSignature(watches.feeds),
            known={},
            fed_types=watches.fed_types,
            seen=set(map(split_name, watches.elsewhere)),
            checked=True,
        )
        self.partitions = decorated(partitions, decorator)
        self.points = decorator.points


class TaskDebugRun(WatchedStep):
    """The part of a debugged run at one worker.

    Args:
        plan: the plan.
        run: the run.
        store: counts the bytes that the session writes on this host.
    """

    def __init__(self, plan: TaskDebugPlan, run: DebugRunDef, store: DumpStore) -> None:
        super().__init__(plan.points, run)
        self._plan = plan
        self._tally = Tally(run.options)
        urls = () if run.all_values else plan.urls
        sinks = {url: sink_for(url, store, run.options, plan.files) for url in urls}
        self._urls = frozenset(urls)
        self._files = SinkState(run.options, sinks, self._tally)
        self._store = store
        self._graphs: list[Any] = []
        self._waiting: deque[Sent] = deque()
        self._waiting_bytes = 0

    @property
    def ended(self) -> bool:
        """Whether the step has ended here."""
        return self._ended

    def begin(self) -> None:
        """Report the run to the files, and the plan if it is new.

        Raises:
            OpError: the error of a file, if the run has ``raise_sink_errors``.
        """
        run, names = self.run, self._plan.signature
        if run.options.reset_disk_byte_usage:
            self._store.reset_disk()
        try:
            self._files.publish_debug_metadata(
                run.options.global_step,
                run.session_run_index,
                run.executor_step_index,
                names.feeds,
                names.fetches,
                names.targets,
            )
            for part in () if run.executor_step_index else self._plan.partitions:
                graph = GraphDef(part.nodes)
                self._files.publish_graph(graph, part.device)
                if run.all_values:
                    self._graphs.append([part.device, graph.to_wire()])
        except OpError as error:
            self.end(error)
            raise

    def publish(self, dump: DebugDump, urls: Sequence[str]) -> None:
        """Write a value to its files, and keep it for the client if it has other URLs."""
        self._tally.seen += 1
        self._files.publish_tensor(dump, [url for url in urls if url in self._urls])
        others = [url for url in urls if url not in self._urls]
        if not others:
            return
        held = self._tally.kept_bytes + self._waiting_bytes + dump.nbytes
        if held > self.run.options.run_byte_usage_limit:
            self._tally.count(dump, kept=False)
        else:
            self._waiting.append((dump, others))
            self._waiting_bytes += dump.nbytes

    def end(self, error: OpError | None) -> None:
        """End the run on this host; what the client has not taken yet is kept."""
        with self._lock:
            if not self._ended:
                self._ended = True
                self._files.publish_end(error)

    def take(self, most: int) -> TakenValues:
        """Return what the client has not taken yet, of at most about ``most`` bytes."""
        with self._lock:
            graphs, self._graphs = self._graphs, []
            values: list[list[Any]] = []
            size = 0
            while self._waiting and (size < most):
                dump, urls = self._waiting.popleft()
                size += dump.nbytes
                values.append(_to_wire(dump, urls))
            self._waiting_bytes -= size
            tally = self._tally
            return TakenValues(graphs, values, tally.counts(), tally.last_failure, bool(self._waiting))


@dataclass(frozen=True, slots=True)
class TakenValues:
    """What a client takes of a run at a worker.

    Attributes:
        graphs: decorated graphs in wire form, each with its device.
        values: values in wire form.
        counts: the counters of the run here so far; see ``Tally.counts``.
        last_failure: the last failure of a file as text; empty for none.
        more: whether there are more values.
    """

    graphs: list[Any]
    values: list[list[Any]]
    counts: list[int]
    last_failure: str
    more: bool


def _to_wire(dump: DebugDump, urls: list[str]) -> list[Any]:
    return [
        dump.node_name,
        dump.output_slot,
        dump.device_name,
        dump.debug_op,
        dump.op_type,
        dump.value,
        dump.timestamp,
        urls,
    ]


def dump_from_wire(value: Any, run: DebugRunDef) -> tuple[DebugDump, list[str]]:
    """Return a value that a worker has kept, and its URLs.

    Args:
        value: its wire form.
        run: the run to which it belongs.

    Raises:
        ProtocolError: for any other form.
    """
    match value:
        case [
            str(node),
            int(slot),
            str(device),
            str(debug_op),
            str(op_type),
            np.ndarray() as kept,
            float(timestamp),
            list(urls),
        ] if _are_strings(urls):
            if not kept.flags.owndata:
                kept = kept.copy()  # its memory may be a lane's, which the client must not hold for long
            kept.flags.writeable = False
            dump = DebugDump(
                node_name=node,
                output_slot=slot,
                device_name=device,
                debug_op=debug_op,
                op_type=op_type,
                value=kept,
                timestamp=timestamp,
                global_step=run.options.global_step,
                session_run_index=run.session_run_index,
                executor_step_index=run.executor_step_index,
            )
            return dump, urls
    raise ProtocolError(f"this is not the wire form of a watched value: {value!r:.100}")
