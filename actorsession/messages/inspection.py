"""Requests to a task from those who look at it: the graph of a session, a variable, the queues.

The module holds the vocabulary of the target ``INSPECTOR``. Such requests come from the page of
``actorsession dashboard``; they change nothing, and no answer holds the value of a tensor. Every answer has a
limit, which the request may lower.
"""

from __future__ import annotations

from typing import Any

from actorsession.messages.registry import message
from actorsession.records import dataclass

__all__ = [
    "INSPECTOR", "GraphPiece", "ListQueues", "QueuesFound", "ReadGraph", "ReadVariable", "VariableSummarised",
]  # fmt: skip

INSPECTOR = "inspector"
"""The target that serves these messages."""


@message("read_graph", reply="graph_piece")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGraph:
    """Requests a piece of the graph of a session whose master is here.

    Attributes:
        session_handle: the session.
        first: the number of nodes to leave out, in the order of building.
        most: the maximum number of nodes in the answer.
    """

    session_handle: str
    first: int
    most: int


@message("graph_piece")
@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPiece:
    """A piece of the graph of a session.

    Attributes:
        nodes: the nodes in wire form; see ``NodeRow``.
        total: the number of nodes of the graph.
    """

    nodes: list[Any]
    total: int


@message("read_variable", reply="variable_summarised")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadVariable:
    """Requests the summary of a variable's value, which is made where the value lies.

    Attributes:
        device: the full name of its device.
        container: its container.
        name: its name there.
        session: the handle of the session that has it for itself; "" if all sessions share it.
        bins: the number of intervals of the histogram.
    """

    device: str
    container: str
    name: str
    session: str
    bins: int


@message("variable_summarised")
@dataclass(frozen=True, slots=True, kw_only=True)
class VariableSummarised:
    """The summary of a variable.

    Attributes:
        summary: in wire form; see ``ArraySummary``.
    """

    summary: dict[str, Any]


@message("list_queues", reply="queues_found")
@dataclass(frozen=True, slots=True, kw_only=True)
class ListQueues:
    """Requests the queues of a task.

    Attributes:
        most: the maximum number of queues in the answer.
    """

    most: int


@message("queues_found")
@dataclass(frozen=True, slots=True, kw_only=True)
class QueuesFound:
    """The queues of a task.

    Attributes:
        queues: in wire form; see ``QueueRow``.
    """

    queues: list[Any]
