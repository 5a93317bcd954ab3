"""The inspector of a task: answers those who look at its sessions, variables and queues, and changes nothing.

An actor of its own, so that it answers however busy master and worker are, and so that no request counts as
a use of a session, which would keep an idle one open. Owned by a server, or by a program that shows its local
sessions; the page of ``actorsession dashboard`` is what asks.

Invariant: no answer holds the value of a tensor, and each is bounded, whatever is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from actorsession.actors.actor import Actor, answers
from actorsession.actors.context import CallContext
from actorsession.actors.loops import in_thread
from actorsession.messages.inspection import (
    GraphPiece,
    ListQueues,
    QueuesFound,
    ReadGraph,
    ReadVariable,
    VariableSummarised,
)
from actorsession.runtime.inspection import GraphShown, HeldState, find_variable, graph_rows, queue_rows, summarise

__all__ = ["Inspector"]

# Entries of one answer: a piece of a graph has some 300 bytes for each.
_MOST = 5000


class Inspector(Actor):
    """The actor that answers those who look at a task.

    Args:
        task: the task.
        find_graph: returns the graph of a session by its handle, or raises.
        held_state: returns the state of the task that outlives steps.
    """

    def __init__(
        self, task: str, find_graph: Callable[[str], GraphShown], held_state: Callable[[], Iterable[HeldState]]
    ) -> None:
        super().__init__(f"inspector {task}")
        self._find_graph = find_graph
        self._held_state = held_state

    @answers(ReadGraph)
    def on_read_graph(self, message: ReadGraph, call: CallContext) -> GraphPiece:
        """Return a piece of the graph of a session."""
        graph = self._find_graph(message.session_handle)
        rows = graph_rows(graph, message.first, min(message.most, _MOST))
        return GraphPiece(nodes=[row.to_wire() for row in rows], total=len(graph.nodes))

    @answers(ListQueues)
    def on_list_queues(self, message: ListQueues, call: CallContext) -> QueuesFound:
        """Return the queues of the task."""
        rows = islice(queue_rows(self._held_state()), max(0, min(message.most, _MOST)))
        return QueuesFound(queues=[row.to_wire() for row in rows])

    @answers(ReadVariable)
    async def on_read_variable(self, message: ReadVariable, call: CallContext) -> VariableSummarised:
        """Return the summary of a variable, which is made in a thread."""
        where = (message.session, message.device, message.container, message.name)
        variable = find_variable(self._held_state(), *where)
        summary = await in_thread(summarise, variable.read(), message.bins)
        return VariableSummarised(summary=summary.to_wire())
