"""What a client's session says to the master, and the master's answers.

Owns the vocabulary of the target ``MASTER``. Values are plain: graphs and configurations are in
their wire forms, made and read by the rooms that own them, so that this room needs to know neither.

A ``request_id`` is chosen by the client, unique per request; a master that sees one again knows a
repeat. Arrays inside a message are borrowed: nobody changes them after sending, and in one process
the receiver is handed the same array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from actorsession.messages.registry import message

__all__ = [
    "MASTER", "CloseSession", "CreateSession", "DeviceList", "ExtendSession", "ListDevices",
    "ResetContainers", "RunStep", "SessionCreated", "SessionExtended", "StepDone",
]  # fmt: skip

MASTER = "master"
"""The target that serves these messages."""


@message("create_session", reply="session_created")
@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSession:
    """Asks the master for a session with its own graph.

    Attributes:
        graph: the nodes in wire form; may be empty, and extended later.
        config: the session's configuration in wire form.
        request_id: the client's id of this request.
    """

    graph: list[Any]
    config: dict[str, Any]
    request_id: str


@message("session_created")
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated:
    """A session exists.

    Attributes:
        session_handle: names the session in all later requests; chosen by the master.
        graph_version: version of the graph so far, counting from 0.
    """

    session_handle: str
    graph_version: int


@message("extend_session", reply="session_extended")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendSession:
    """Adds nodes to a session's graph.

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
    """The graph has grown.

    Attributes:
        graph_version: the new version.
    """

    graph_version: int


@message("run_step", reply="step_done")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunStep:
    """Runs one step of a session's graph.

    Attributes:
        session_handle: the session.
        feeds: tensor name (``node:0``) to the tensor that stands in for it; borrowed.
        fetches: tensor names, unique, in the order in which the values are wanted.
        targets: names of operations to run for their effect.
        options: run options in wire form; empty for the defaults.
        request_id: the client's id of this request.
    """

    session_handle: str
    feeds: dict[str, Any]
    fetches: list[str]
    targets: list[str]
    options: dict[str, Any]
    request_id: str


@message("step_done")
@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone:
    """A step has run.

    Attributes:
        values: one tensor per fetch, in the order of ``RunStep.fetches``; the receiver owns them.
        metadata: run metadata in wire form, if the options asked for it.
    """

    values: list[Any]
    metadata: dict[str, Any] | None


@message("list_devices", reply="device_list")
@dataclass(frozen=True, slots=True, kw_only=True)
class ListDevices:
    """Asks for the devices that a session can use.

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


@message("close_session", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class CloseSession:
    """Ends a session: its steps are cancelled, its state on the workers is released.

    Attributes:
        session_handle: the session; one that is gone already is no error.
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
