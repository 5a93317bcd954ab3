"""Warnings on changes of a session's graph: nodes added on every step, and nodes changed after they ran.

Both are legal and nearly always mistakes. A graph that grows with each step gets slower and never releases
its memory, and a change to a node that was planned already has no effect on the session. ``BaseSession`` and
callables check when the graph's version differs from the last one they saw; a run on an unchanged graph pays
one comparison.
"""

from __future__ import annotations

import warnings

from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.source_location import stack_level

__all__ = ["GraphGrowthWarning", "GraphMutationMonitor", "GraphMutationWarning"]

# Consecutive runs that each found new nodes before the warning. Building a model in a few stages, with runs
# in between, is common; ten stages in ten runs are a loop.
_STREAK = 10


class GraphGrowthWarning(UserWarning):
    """Nodes are added to a graph on every step."""


class GraphMutationWarning(UserWarning):
    """A node was changed after a session had registered it."""


class GraphMutationMonitor:
    """The record of the changes of its graph that one session has seen.

    Args:
        graph: the session's graph.

    Attributes:
        version: version of the graph at the last check.
        growths: runs that found nodes added since the previous run.
        nodes: nodes that those runs found.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._runs_before = -1  # count of runs at the last change
        self._streak = 0
        self._warned = False
        self._known = 0  # operations at the last check
        self._changes = len(graph.changes.made)
        self.version = -1
        self.growths = 0
        self.nodes = 0

    def check(self, runs: int) -> None:
        """Check a graph that has changed, and warn where needed.

        Args:
            runs: how many runs the session has made so far.
        """
        graph = self._graph
        version, changes = graph.version, len(graph.changes.made)
        added = graph.nodes.order[self._known :]
        if changes != self._changes:
            self._report_changes()
        if self.version >= 0 and added:
            self.growths += 1
            self.nodes += len(added)
            self._streak = self._streak + 1 if runs == self._runs_before + 1 else 1
            if self._streak >= _STREAK and not self._warned:
                self._warned = True
                warnings.warn(
                    f"nodes were added to the graph before each of the last {self._streak} runs, the "
                    f"last {added[-1].type} {added[-1].name!r} at {added[-1].source or '?'}: build the "
                    "graph once, before the loop, and feed what changes (Graph.finalize() finds such "
                    "lines)",
                    GraphGrowthWarning,
                    stacklevel=stack_level(),
                )
        self._runs_before = runs
        self._known += len(added)
        self._changes = changes
        self.version = version

    def _has_registered(self, op: Operation) -> bool:
        """Return whether the session has registered a node, or the loop or cond that contains it."""
        construct = self._graph.nodes.construct_of(op)
        while construct is not None:
            try:
                op = self._graph.get_operation_by_name(construct)
            except KeyError:  # the loop or cond is being built
                return False
            construct = self._graph.nodes.construct_of(op)
        return op.number < self._known

    def _report_changes(self) -> None:
        for element, source in self._graph.changes.made[self._changes :]:
            op = element if isinstance(element, Operation) else element.op
            if self._has_registered(op):
                what, advice = _change(element)
                warnings.warn(
                    f"{what} at {source or '?'} after a session had registered the node (it was built at "
                    f"{op.source or '?'}): {advice}",
                    GraphMutationWarning,
                    stacklevel=stack_level(),
                )


def _change(element: Tensor | Operation) -> tuple[str, str]:
    """Return what happened to a tensor or an operation's inputs, and advice, as text."""
    if isinstance(element, Operation):
        inputs = ", ".join(t.name for t in element.inputs)
        return (
            f"the inputs of {element.name!r} were changed to {inputs}",
            "it goes on with those that it knew. Build another node, or make a new session",
        )
    return (
        f"the static shape of {element.name!r} was changed to {element.shape}",
        "plans made before keep the old one. Set shapes before the first run",
    )
