"""Requests to a server from the operator of a cluster: the addresses of its tasks, what it remembers, and the stop.

The module holds the vocabulary of the target ``SERVER``. The messages come from the command line and from
programs that manage clusters, never from masters or workers; ``ReadSteps`` alone also comes from masters, to the
workers of their steps.
"""

from __future__ import annotations

from typing import Any

from actorsession.messages.registry import message
from actorsession.records import dataclass

__all__ = [
    "SERVER", "ClusterView", "ErrorsRead", "GetCluster", "KeepServer", "ListVariables", "LogRead", "NoteRestart",
    "ReadErrors", "ReadLog", "ReadSteps", "StepsRead", "StopServer", "VariablesListed",
]  # fmt: skip

SERVER = "server"
"""The target that serves these messages."""


@message("get_cluster", reply="cluster_view")
@dataclass(frozen=True, slots=True, kw_only=True)
class GetCluster:
    """Requests the cluster that a server is part of."""


@message("cluster_view")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The cluster as one of its tasks sees it.

    Attributes:
        cluster_id: the id of the cluster; "" if it has none.
        task: the task that answers.
        tasks: cluster task to address.
    """

    cluster_id: str
    task: str
    tasks: dict[str, str]


@message("keep_server", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class KeepServer:
    """Requests a server to serve on: without another such request it stops by itself.

    Sent by the process that has started the server through an engine, so that none stays when it is gone.

    Attributes:
        seconds: how long the server serves without another request.
    """

    seconds: float


@message("stop_server", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class StopServer:
    """Requests a server to stop: it releases its address and closes its sessions and connections.

    The answer is sent before the stop, which shows as the end of the link. A server that keeps snapshots
    sends it when the last one is written; it is a ``DataLossError`` if that has failed and changes are lost.

    Attributes:
        reason: who requests the stop, or why; written to the server's log.
    """

    reason: str


@message("read_steps", reply="steps_read")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSteps:
    """Requests what a server remembers of its last steps.

    Attributes:
        count: how many steps at most.
        slower_than: only steps that took so many seconds or more.
        session: only those of the session with this handle; "" for all.
        running: whether steps that have not ended are wanted, too.
        steps: the numbers of steps, of which all that is known is wanted, whatever the other fields are; none to
            choose by the other fields.
    """

    count: int
    slower_than: float
    session: str
    running: bool
    steps: list[int]


@message("steps_read")
@dataclass(frozen=True, slots=True, kw_only=True)
class StepsRead:
    """What a server remembers of its last steps.

    Attributes:
        task: the task that answers.
        kept: how many steps it keeps; 0 if it keeps none.
        steps: a ``StepRecord`` each, in wire form.
    """

    task: str
    kept: int
    steps: list[Any]


@message("read_errors", reply="errors_read")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadErrors:
    """Requests the last errors of a server, and the restarts of its task."""


@message("errors_read")
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsRead:
    """The last errors of a server.

    Attributes:
        task: the task that answers.
        errors: an ``ErrorRecord`` each, in wire form, the oldest first.
        counts: how many there were of each class since the server was started.
        restarts: how often the task was started again.
        predecessor: how the process ended that served the task before; "" if it is the first, or unknown.
        since: wall-clock seconds at the start of the server.
    """

    task: str
    errors: list[Any]
    counts: dict[str, int]
    restarts: int
    predecessor: str
    since: float


@message("note_restart", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRestart:
    """Tells a server that its task was started again, and why; sent by what has started its process.

    Attributes:
        restarts: how often it was started again so far.
        predecessor: how the process before ended.
    """

    restarts: int
    predecessor: str


@message("read_log", reply="log_read")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLog:
    """Requests the last lines of the log of a server's process.

    Attributes:
        lines: how many at most.
        after: only lines after that with this number; 0 for all.
    """

    lines: int
    after: int


@message("log_read")
@dataclass(frozen=True, slots=True, kw_only=True)
class LogRead:
    """The last lines of a log.

    Attributes:
        task: the task that answers.
        lines: the lines, without their ends; what they contain is not to be trusted.
        last: the number of the last line that was written so far; lines are counted from 1.
        level: the name of the level from which on lines are written.
    """

    task: str
    lines: list[str]
    last: int
    level: str


@message("list_variables", reply="variables_listed")
@dataclass(frozen=True, slots=True, kw_only=True)
class ListVariables:
    """Requests the variables of a task, in the resource containers that its sessions share."""


@message("variables_listed")
@dataclass(frozen=True, slots=True, kw_only=True)
class VariablesListed:
    """The variables of a task.

    Attributes:
        task: the task that answers.
        variables: for each its name, element type, shape, bytes, container, device, the handle of the session that
            has it for itself ("" if it is shared), and whether it has a value. The shape is ``None`` if unknown.
    """

    task: str
    variables: list[Any]
