"""What a master says to a worker, what workers say to each other, and the answers.

Owns the vocabulary of the target ``WORKER``. ``PushTensors`` goes from worker to worker and is
told, never asked: a value needs no answer, and its loss shows as the loss of the link. The other
messages come from a master.

Arrays inside a message are borrowed: nobody changes them after sending, and in one process the
receiver is handed the same array.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from actorsession.messages.registry import message
from actorsession.records import dataclass

__all__ = [
    "WORKER", "AskOwed", "AskVariables", "AskWhy", "CleanupAll", "CleanupGraph", "CreateWorkerSession",
    "DeleteWorkerSession", "DeregisterGraph", "GetStatus", "GraphDone", "GraphRegistered", "LoggingReply",
    "LoggingRequest", "PushTensors", "RegisterGraph", "RunGraph", "UpdateCluster", "UpdateWorkerSession",
    "ValuesLost", "VariablesFound", "WorkerStatus", "WorkerWhy",
]  # fmt: skip

WORKER = "worker"
"""The target that serves these messages."""


@message("get_status", reply="worker_status")
@dataclass(frozen=True, slots=True, kw_only=True)
class GetStatus:
    """Asks a worker who it is and what it has."""


@message("worker_status")
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """Who a worker is and what it has.

    Attributes:
        task: its cluster task, ``/job:worker/replica:0/task:0``.
        incarnation: 64-bit number chosen at its start; another one means that its state is gone.
        devices: device descriptions in wire form.
        statistics: counters of its server in wire form.
        restored: the snapshot that its variables come from, in wire form; ``None`` if they do not.
    """

    task: str
    incarnation: int
    devices: list[Any]
    statistics: dict[str, Any]
    restored: dict[str, Any] | None


@message("create_worker_session", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class CreateWorkerSession:
    """Opens the worker's side of a session.

    Attributes:
        session_handle: the master's name for the session.
        master_task: cluster task of the master.
        master_incarnation: the master's; another one than before ends that master's older sessions.
        isolate_session_state: whether variables are the session's own instead of the worker's.
        peers: cluster task to address, for all tasks of the session.
        task: what this worker is called in a cluster that the client brought along; its devices have that
            name in the session, and state of their own. Empty where the session is one of the worker's
            own cluster.
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
    """Tells a worker that tasks have joined a session, moved or left it.

    Attributes:
        session_handle: the session.
        peers: cluster task to address, for tasks that are new or elsewhere.
        removed: tasks that are part of it no more.
    """

    session_handle: str
    peers: dict[str, str]
    removed: list[str]


@message("delete_worker_session", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteWorkerSession:
    """Closes the worker's side of a session, cancelling its steps.

    Attributes:
        session_handle: the session; one that is gone already is no error.
    """

    session_handle: str


@message("ask_variables", reply="variables_found")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskVariables:
    """Asks which variables have a value for a session.

    Attributes:
        session_handle: the session.
        variables: device, container and name of each.
    """

    session_handle: str
    variables: list[list[str]]


@message("variables_found")
@dataclass(frozen=True, slots=True, kw_only=True)
class VariablesFound:
    """Which variables have a value.

    Attributes:
        valued: for each that was asked for whether it has one.
    """

    valued: list[bool]


@message("register_graph", reply="graph_registered")
@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterGraph:
    """Hands a worker its partitions of a client graph, once, to be run many times.

    Attributes:
        session_handle: the session.
        partitions: one entry per device of this worker, in wire form.
    """

    session_handle: str
    partitions: list[Any]


@message("graph_registered")
@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRegistered:
    """The partitions are compiled and wait to be run.

    Attributes:
        graph_handle: names them in ``RunGraph``; chosen by the worker.
    """

    graph_handle: str


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


@message("run_graph", reply="graph_done", patient=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class RunGraph:
    """Runs this worker's partitions for one step.

    Attributes:
        session_handle: the session.
        graph_handle: the partitions.
        step_id: the step's number, the same on all workers; chosen by the master.
        feeds: tensors in the order agreed at registration; borrowed.
        trace: whether step statistics are wanted.
    """

    session_handle: str
    graph_handle: str
    step_id: int
    feeds: list[Any]
    trace: bool


@message("graph_done")
@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDone:
    """This worker's part of a step has run.

    Attributes:
        values: tensors fetched from here, in the order agreed at registration; the receiver owns
            them.
        stats: step statistics in wire form, if they were asked for.
        pushed: bytes of the tensors that the part has sent to other tasks.
    """

    values: list[Any]
    stats: list[Any] | None
    pushed: int = 0


@message("push_tensors")
@dataclass(frozen=True, slots=True, kw_only=True)
class PushTensors:
    """Delivers tensors into the receiver's rendezvous of one step; told, never asked.

    The three lists have one entry per tensor.

    Attributes:
        step_id: the step; it may not have begun at the receiver yet.
        keys: rendezvous keys in text form.
        values: the tensors; the receiver owns them. ``None`` where dead.
        dead: whether the value is dead (on the branch not taken).
    """

    step_id: int
    keys: list[str]
    values: list[Any]
    dead: list[bool]


@message("ask_owed", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskOwed:
    """Asks a worker whether values that steps of the asker wait for can still come.

    The answer says only that the worker lives. Of steps whose part there is over ``ValuesLost`` comes, behind
    whatever was pushed for them.

    Attributes:
        steps: the steps.
        keys: for each, a rendezvous key that is waited for, of a device of the receiver.
        reply_to: the asker, as the receiver's links are called.
    """

    steps: list[int]
    keys: list[str]
    reply_to: str


@message("values_lost")
@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesLost:
    """Tells a worker that a task has nothing more to push for a step.

    Attributes:
        step_id: the step.
        task: the task, as the step's session calls it.
    """

    step_id: int
    task: str


@message("ask_why", reply="worker_why")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskWhy:
    """Asks a worker what its steps wait for, and what has become of values that it should send.

    Answered at once, whatever the worker is busy with. Without keys all steps are meant; with keys the
    answer speaks of those alone. The last two lists have one entry per value.

    Attributes:
        session_handle: the session whose steps are meant; "" for those of all sessions.
        most: how many steps, and how many waiters of each, the answer may speak of.
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
        waits: in wire form.
    """

    waits: dict[str, Any]


@message("cleanup_graph", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupGraph:
    """Ends a step at a worker: its rendezvous and step container go. May be told or asked.

    Attributes:
        step_id: the step; an unknown one is no error.
        error: why the step was aborted, in the wire form of errors; what it has taken is put back then.
            ``None`` if it has run, and its caller has what it has taken.
        settles: whether this also says what becomes of what the step has taken out of queues and their like.
        ran: whether all parts of the step had run when its caller gave up.
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
    """Switches the log of a worker's messages on or off, asks for it, and empties it, in this order.

    Attributes:
        enable: whether messages are logged from now on; ``None`` to leave it as it is.
        clear: whether to forget what was logged so far.
        fetch: whether to answer with the events.
        steps: the steps whose events are wanted; all if empty.
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
        events: the events that were asked for, in wire form.
    """

    enabled: bool
    events: list[Any]


@message("update_cluster", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateCluster:
    """Tells a server which tasks its cluster has now; sessions follow between two steps.

    Attributes:
        cluster: address by cluster task, for all tasks, the receiver's own among them.
    """

    cluster: dict[str, str]
