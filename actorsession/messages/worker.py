"""The requests of a master to a worker, the messages between workers, and the answers.

The module holds the vocabulary of the target ``WORKER``. ``AskOwed`` and ``ValuesLost`` go between workers,
most other messages come from a master. Steps and the values between workers are no messages; see
``step_frames``.

Arrays inside a message are borrowed: they must not be changed after sending, and in one process the
receiver gets the same array.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from actorsession.messages.registry import message
from actorsession.records import dataclass

__all__ = [
    "WORKER", "AskOwed", "AskVariables", "AskWhy", "CleanupAll", "CleanupGraph", "ClockRead", "CompleteGroup",
    "CreateWorkerSession", "DeleteWorkerSession", "DeregisterGraph", "EndGroup", "GetStatus",
    "GraphRegistered", "GroupCompleted", "LoggingReply", "LoggingRequest", "ReadClock",
    "RegisterGraph", "TakeWatchedValues", "UpdateCluster", "UpdateWorkerSession",
    "ValuesLost", "VariablesFound", "WatchedValues", "WorkerStatus", "WorkerWhy",
]  # fmt: skip

WORKER = "worker"
"""The target that serves these messages."""


@message("get_status", reply="worker_status")
@dataclass(frozen=True, slots=True, kw_only=True)
class GetStatus:
    """Requests the identity and the devices of a worker."""


@message("worker_status")
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """The identity and the devices of a worker.

    Attributes:
        task: its cluster task, ``/job:worker/replica:0/task:0``.
        incarnation: 64-bit number chosen at its start; another one means that its state is gone.
        devices: device descriptions in wire form.
        statistics: counters of its server in wire form.
        restored: the snapshot that its variables were restored from, in wire form; ``None`` if there is
            none.
    """

    task: str
    incarnation: int
    devices: list[Any]
    statistics: dict[str, Any]
    restored: dict[str, Any] | None


@message("read_clock", reply="clock_read")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadClock:
    """Requests the time of a worker's clock; answered at once."""


@message("clock_read")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClockRead:
    """The time of a clock.

    Attributes:
        now: wall-clock seconds.
    """

    now: float


@message("create_worker_session", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class CreateWorkerSession:
    """Opens the worker's side of a session.

    Attributes:
        session_handle: the master's name for the session.
        master_task: cluster task of the master, with its address in a cluster that the client defines, where
            other clients may use the same name; empty for nobody, whose sessions are independent.
        master_incarnation: the incarnation of the master; another one than before ends that master's older
            sessions.
        isolate_session_state: whether variables belong to the session instead of the worker, in a cluster
            that the client defines as well.
        peers: cluster task to address, for all tasks of the session.
        task: the name of this worker in a cluster that the client defines; its devices have that name in
            the session. Empty where the session belongs to the worker's own cluster.
    """

    session_handle: str
    master_task: str
    master_incarnation: int
    isolate_session_state: bool
    peers: dict[str, str]
    task: str


@message("update_worker_session", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateWorkerSession:
    """Reports to a worker that tasks have joined a session, moved or left it, or the session's devices.

    Attributes:
        session_handle: the session.
        peers: cluster task to address, for tasks that are new or have moved.
        removed: tasks that are no longer part of it.
        cluster_device_attributes: all devices of the session in wire form; empty unless the session shares
            them with its workers.
    """

    session_handle: str
    peers: dict[str, str]
    removed: list[str]
    cluster_device_attributes: list[Any]


@message("delete_worker_session", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteWorkerSession:
    """Closes the worker's side of a session, cancelling its steps.

    Attributes:
        session_handle: the session; one that has ended already is not an error.
    """

    session_handle: str


@message("ask_variables", reply="variables_found")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskVariables:
    """Requests which variables have a value for a session.

    Attributes:
        session_handle: the session.
        variables: device, container and name of each.
    """

    session_handle: str
    variables: list[list[str]]


@message("variables_found")
@dataclass(frozen=True, slots=True, kw_only=True)
class VariablesFound:
    """Reports which variables have a value.

    Attributes:
        valued: for each requested variable whether it has one.
    """

    valued: list[bool]


@message("register_graph", reply="graph_registered")
@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterGraph:
    """Registers a worker's partitions of a client graph, once, to be run many times.

    Attributes:
        session_handle: the session.
        partitions: one entry per device of this worker, in wire form.
        costs: the measured seconds of nodes of them, if the session builds a cost model.
        group_scope: the scope in which the members of its collectives find each other.
        group_leader: the task that leads the scope.
        collective_graph_key: key of a scope that the session shares with others; 0 for one of its own.
        debug_options: what to watch in them, in wire form; empty for nothing.
    """

    session_handle: str
    partitions: list[Any]
    costs: dict[str, float] = field(default_factory=dict)
    group_scope: str = ""
    group_leader: str = ""
    collective_graph_key: int = 0
    debug_options: list[Any] = field(default_factory=list)


@message("complete_group", reply="group_completed")
@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteGroup:
    """Asks the leader of a scope for the members of a group, which this device joins.

    Attributes:
        scope: as in ``RegisterGraph``.
        group: key of the group.
        size: number of its members.
        device: full name of the device that joins.
        incarnation: its incarnation.
        host: the name or address under which other members reach its process; "" if they may not.
        retired: number of the group as it was before, which has ended; 0 for none.
    """

    scope: str
    group: int
    size: int
    device: str
    incarnation: int
    host: str
    retired: int


@message("group_completed")
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCompleted:
    """Reports that all members have joined a group.

    Attributes:
        devices: full names of the members, in order of rank.
        incarnations: their incarnations.
        hosts: of each, the name or address under which other members reach its process.
        number: drawn for this completion of the group.
    """

    devices: list[str]
    incarnations: list[int]
    hosts: list[str]
    number: int


@message("end_group")
@dataclass(frozen=True, slots=True, kw_only=True)
class EndGroup:
    """Reports that a group in which steps of several sessions meet has ended, so that it is formed anew.

    Attributes:
        scope: as in ``RegisterGraph``.
        group: key of the group.
        step_id: its number, under which its values are pushed as those of a step are.
        error: why it has ended, in the wire form of errors.
        left: for a member that has left with nothing under way: instance, device and number of the executions
            that it has taken part in. Others may still pass on values of those, so they go on to their end.
    """

    scope: str
    group: int
    step_id: int
    error: list[Any]
    left: list[Any] = field(default_factory=list)


@message("graph_registered")
@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRegistered:
    """Reports that the partitions are compiled and can be run.

    Attributes:
        graph_handle: identifies them; chosen by the worker.
        program: number of the step program that runs them over this link; 0 for none.
    """

    graph_handle: str
    program: int = 0


@message("deregister_graph", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeregisterGraph:
    """Releases registered partitions; steps that run them finish.

    Attributes:
        session_handle: the session.
        graph_handle: the partitions.
    """

    session_handle: str
    graph_handle: str


@message("take_watched_values", reply="watched_values")
@dataclass(frozen=True, slots=True, kw_only=True)
class TakeWatchedValues:
    """Takes values that a debugged step has left at a worker for its client.

    Attributes:
        session_handle: the session.
        step_id: the step; one of which the worker knows nothing has left nothing.
        most: the number of bytes after which the answer ends.
        last: whether the step is over for the client, so that the worker forgets it when all is taken.
    """

    session_handle: str
    step_id: int
    most: int
    last: bool


@message("watched_values")
@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedValues:
    """Values that were watched in a debugged step.

    Attributes:
        graphs: device and decorated graph of each partition, in wire form, if the client requested graphs.
        values: the values in wire form, in the order in which they were watched.
        counts: the counters of the run at the worker so far, in wire form; empty if it knows nothing of it.
        last_failure: the last failure of a file as text; empty for none.
        more: whether there are more values.
    """

    graphs: list[Any]
    values: list[Any]
    counts: list[int]
    last_failure: str
    more: bool


@message("ask_owed", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskOwed:
    """Requests whether values that steps of the sender wait for can still arrive.

    The answer confirms only that the worker is alive. For each step whose partitions on the worker have
    ended, and for each value that was pushed, ``ValuesLost`` follows, after all values that were pushed.

    Attributes:
        steps: the step of each key.
        keys: the rendezvous keys that are waited for, of devices of the receiver.
        reply_to: the sender, by its name among the tasks of the session.
        session_handle: the session, if it has a cluster of its own; else empty.
    """

    steps: list[int]
    keys: list[str]
    reply_to: str
    session_handle: str


@message("values_lost")
@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesLost:
    """Reports to a worker that a task has no more values to push for a step, or has pushed one of them before.

    Attributes:
        step_id: the step.
        task: the task, by its name in the step's session.
        key: the rendezvous key of the value that was pushed; empty if no value comes any more.
    """

    step_id: int
    task: str
    key: str = ""


@message("ask_why", reply="worker_why")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskWhy:
    """Requests what a worker's steps wait for, and the state of values that it should send.

    It is answered at once, whatever else the worker does. Without keys all steps are meant; with keys the
    answer covers only those. The last two lists have one entry per value.

    Attributes:
        session_handle: the session whose steps are meant; "" for those of all sessions.
        most: the maximum number of steps, and of waiters of each, in the answer.
        steps: for each value, the step.
        keys: for each value, its rendezvous key, of a device of the receiver.
    """

    session_handle: str
    most: int
    steps: list[int]
    keys: list[str]


@message("worker_why")
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerWhy:
    """What the steps of a worker wait for.

    Attributes:
        waits: the waits in wire form.
    """

    waits: dict[str, Any]


@message("cleanup_graph", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupGraph:
    """Ends a step at a worker, releasing its rendezvous and step container; may be told or asked.

    Attributes:
        step_id: the step; an unknown one is not an error.
        error: why the step was aborted, in the wire form of errors; the elements that it has taken are put
            back then. ``None`` if it has run, and its caller has the elements that it has taken.
        settles: whether this message also decides about the elements that the step has taken from queues
            and similar resources.
        ran: whether all partitions of the step had run when its caller aborted it.
        handed_out: positions of the fetches of a partial run whose values the caller has.
    """

    step_id: int
    error: list[Any] | None
    settles: bool = True
    ran: bool = False
    handed_out: list[int] = field(default_factory=list)


@message("cleanup_all", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupAll:
    """Clears resource containers of a worker.

    Attributes:
        containers: names of the containers; none means the default container.
    """

    containers: list[str]


@message("logging_request", reply="logging_reply")
@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingRequest:
    """Enables or disables the log of a worker's messages, requests it, and clears it, in this order.

    Attributes:
        enable: whether messages are logged from now on; ``None`` to leave it as it is.
        clear: whether to discard the events logged so far.
        fetch: whether to answer with the events.
        steps: the steps whose events are requested; all if empty.
    """

    enable: bool | None
    clear: bool
    fetch: bool
    steps: list[int]


@message("logging_reply")
@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingReply:
    """The log of a worker.

    Attributes:
        enabled: whether messages are logged now.
        events: the requested events, in wire form.
    """

    enabled: bool
    events: list[Any]


@message("update_cluster", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateCluster:
    """Reports to a server the current tasks of its cluster; sessions adopt them between two steps.

    Attributes:
        cluster: cluster task to address, for all tasks, including the receiver's own.
        given_up: the tasks that have ended and are not started again; see ``Server``'s ``restart_wait``.
    """

    cluster: dict[str, str]
    given_up: list[str] = field(default_factory=list)
