"""The requests of a client's session to the master, and the master's answers.

The module holds the vocabulary of the target ``MASTER``. Values are plain: graphs and configurations are in
their wire forms, made and read by the packages that define them, so this package depends on neither.

A ``request_id`` is chosen by the client and unique per request. A master that receives one again recognises
the repetition, and does nothing twice. Arrays inside a message are borrowed: they must not be changed after
sending, and in one process the receiver gets the same array.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from actorsession.messages.registry import message
from actorsession.records import dataclass

__all__ = [
    "MASTER", "AskSessionSteps", "AskSessionWhy", "CloseSession", "CreateSession", "DeviceList", "ExplainStep",
    "ExtendSession", "FindPlacement", "LastSteps", "ListDevices", "PartialRunDrop",
    "PlacementFound", "PrepareStep", "ReattachSession",
    "ResetContainers",
    "SessionCreated", "SessionExtended", "SessionReattached", "SessionWhy",
    "StepExplained", "StepValues", "TakeStepValues", "TasksPresent", "WaitForTasks",
]  # fmt: skip

MASTER = "master"
"""The target that serves these messages."""


@message("create_session", reply="session_created")
@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSession:
    """Requests a session with its own graph.

    Attributes:
        graph: the nodes in wire form; may be empty, and extended later.
        config: the session's configuration in wire form.
        target: the address of the master, as the client wrote it.
        request_id: the client's id of this request.
        client: the client's id for its session, unique; the same when it creates the session anew, which
            then may have the name of the earlier one. Empty for a client that does not.
    """

    graph: list[Any]
    config: dict[str, Any]
    target: str
    request_id: str
    client: str = ""


@message("session_created")
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated:
    """Reports that a session exists.

    Attributes:
        session_handle: identifies the session in all later requests; chosen by the master.
        graph_version: version of the graph so far, counting from 0.
        restart_wait: seconds for which a client waits for the master if it is lost; 0 if nothing starts it
            again.
    """

    session_handle: str
    graph_version: int
    restart_wait: float = 0.0


@message("extend_session", reply="session_extended")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendSession:
    """Extends a session's graph with nodes.

    Attributes:
        session_handle: the session.
        graph: the new nodes only, in wire form.
        current_graph_version: the version that the client extends; the master refuses a stale one.
        request_id: the client's id of this request.
    """

    session_handle: str
    graph: list[Any]
    current_graph_version: int
    request_id: str


@message("session_extended")
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionExtended:
    """Reports that the graph was extended.

    Attributes:
        graph_version: the new version.
    """

    graph_version: int


@message("prepare_step", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareStep:
    """Plans a step and registers its graphs, without running anything.

    The first run of a plan brings the same along, so that its step is planned then.

    Attributes:
        session_handle: the session.
        feeds: names of the tensors (``node:0``) that are replaced, in the order in which runs bring values.
        fetches: tensor names, unique, in the order of the values in answers.
        targets: names of operations to run for their effect.
        partial: whether the step is a partial run.
        wiring: what the step changes about the ways of its tensors, in wire form; empty for nothing.
        options: run options in wire form, of which only those act that make another plan; empty for the
            defaults.
    """

    session_handle: str
    feeds: list[str]
    fetches: list[str]
    targets: list[str]
    partial: bool
    wiring: list[Any] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


@message("partial_run_drop", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class PartialRunDrop:
    """Aborts a partial run.

    Attributes:
        session_handle: the session.
        partial_run_handle: the run; one that has ended or is unknown is not an error.
        error: the reason, in the wire form of errors; calls that wait for the run fail with it.
    """

    session_handle: str
    partial_run_handle: str
    error: list[Any]


@message("take_step_values", reply="step_values")
@dataclass(frozen=True, slots=True, kw_only=True)
class TakeStepValues:
    """Takes the watched values of a debugged step, or of a partial run, from the tasks that ran it.

    Attributes:
        session_handle: the session.
        run: the key of the run, or the handle of the partial run.
        last: whether it is over for the client; the tasks forget it when all is taken.
    """

    session_handle: str
    run: str
    last: bool


@message("step_values")
@dataclass(frozen=True, slots=True, kw_only=True)
class StepValues:
    """The watched values of a debugged step, as far as the tasks have answered.

    Attributes:
        tasks: the ``WatchedValues`` of each task that has answered, without its tag.
        lost: for each other task, the reason.
        not_run: tensors that are watched by name and that the run does not need.
        refused: watches left out because their debug op could not be made, each with the reason.
        over: whether the step or partial run has ended at the master, or is unknown.
    """

    tasks: dict[str, list[Any]]
    lost: dict[str, str]
    not_run: list[str]
    refused: list[str]
    over: bool


@message("reattach_session", reply="session_reattached")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReattachSession:
    """Requests the master to continue with the current tasks, after some have restarted.

    Attributes:
        session_handle: the session.
        anew: whether the session replaces one that was lost, so that any variable of its graph may be lost.
        request_id: the client's id of this request.
    """

    session_handle: str
    anew: bool
    request_id: str


@message("session_reattached")
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReattached:
    """Reports that the session runs again; the state of the restarted tasks has to be restored.

    Attributes:
        added: tasks that have joined since the session was created.
        removed: tasks that have left.
        restarted: tasks that have come back with another incarnation.
        lost: names of the variables that were on those, now or at an earlier request, and have no value.
        restored: names of those that were restored from a snapshot.
    """

    added: list[str]
    removed: list[str]
    restarted: list[str]
    lost: list[str]
    restored: list[str]


@message("wait_for_tasks", reply="tasks_present")
@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForTasks:
    """Requests the master to wait until tasks of the cluster answer.

    Attributes:
        session_handle: the session.
        tasks: a partial device name that selects tasks, such as ``/job:worker``.
        count: the number of these tasks that have to answer; 0 for all that the cluster has.
        timeout_in_ms: the milliseconds that this may take.
    """

    session_handle: str
    tasks: str
    count: int
    timeout_in_ms: int


@message("tasks_present")
@dataclass(frozen=True, slots=True, kw_only=True)
class TasksPresent:
    """Reports the tasks that answer.

    Attributes:
        tasks: their names, in the order of the cluster.
    """

    tasks: list[str]


@message("list_devices", reply="device_list")
@dataclass(frozen=True, slots=True, kw_only=True)
class ListDevices:
    """Requests the devices that a session can use.

    Attributes:
        session_handle: the session.
    """

    session_handle: str


@message("device_list")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceList:
    """The devices of a session, the client's own first.

    Attributes:
        devices: device descriptions in wire form.
    """

    devices: list[Any]


@message("find_placement", reply="placement_found")
@dataclass(frozen=True, slots=True, kw_only=True)
class FindPlacement:
    """Requests where the nodes of a session's graph are placed.

    Attributes:
        session_handle: the session.
    """

    session_handle: str


@message("placement_found")
@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementFound:
    """The placement of a session's nodes.

    Attributes:
        devices: the device of each node that is placed.
        reasons: the reason for it, by node.
    """

    devices: dict[str, str]
    reasons: dict[str, str]


@message("explain_step", reply="step_explained")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainStep:
    """Requests what a step would do; nothing runs and nothing is registered.

    Attributes:
        session_handle: the session.
        feeds: names of the fed tensors.
        types: dtype and shape of each, as pairs; empty for those that the graph gives them.
        fetches: names of the tensors that are fetched.
        targets: names of the operations that must run.
    """

    session_handle: str
    feeds: list[str]
    types: list[Any]
    fetches: list[str]
    targets: list[str]


@message("step_explained")
@dataclass(frozen=True, slots=True, kw_only=True)
class StepExplained:
    """What a step would do.

    Attributes:
        explanation: an ``Explanation`` as JSON.
    """

    explanation: str


@message("ask_session_why", reply="session_why")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskSessionWhy:
    """Requests what the steps of a session wait for, on all its tasks.

    Attributes:
        session_handle: the session.
        timeout_in_ms: how long to wait for the tasks.
    """

    session_handle: str
    timeout_in_ms: int


@message("session_why")
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWhy:
    """The answers of the tasks, which the requesting session evaluates.

    Attributes:
        waits: the answer of each task that has answered, in wire form.
        silent: for each task that has not, the reason.
    """

    waits: list[Any]
    silent: dict[str, str]


@message("ask_session_steps", reply="last_steps")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskSessionSteps:
    """Requests what is remembered of the last steps of a session, on all its tasks.

    Attributes:
        session_handle: the session.
        count: how many steps at most.
        slower_than: only steps that took so many seconds or more.
        timeout_in_ms: how long to wait for the tasks.
    """

    session_handle: str
    count: int
    slower_than: float
    timeout_in_ms: int


@message("last_steps")
@dataclass(frozen=True, slots=True, kw_only=True)
class LastSteps:
    """What master and workers remember of the steps.

    Attributes:
        steps: a ``StepRecord`` each, in wire form.
    """

    steps: list[Any]


@message("close_session", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class CloseSession:
    """Ends a session: its steps are cancelled, and its state on the workers is released.

    Attributes:
        session_handle: the session; one that has ended already is not an error.
    """

    session_handle: str


@message("reset_containers", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class ResetContainers:
    """Closes all sessions of the master and clears resource containers on every worker.

    Attributes:
        containers: names of the containers; none means the default container.
    """

    containers: list[str]
