"""The trail of one planning: what each of its stages left out, added and changed.

``GraphExecutionState.partitions`` fills a trail where it is given one, and passes say in it why they did something
to a node. A planning that fails leaves the stages up to there. ``explain`` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from actorsession.graph.node import NodeDef
from actorsession.plan.partition import Partition
from actorsession.plan.place import Placed
from actorsession.plan.prune import StepGraph
from actorsession.records import dataclass

__all__ = ["PlanTrail", "Stage"]


@dataclass(frozen=True, slots=True)
class Stage:
    """The nodes of the step after a stage of its planning.

    Attributes:
        name: of the stage, or of the pass.
        graph: the nodes.
    """

    name: str
    graph: StepGraph


@dataclass(slots=True)
class PlanTrail:
    """What one planning did.

    Attributes:
        stages: those that changed the step, the pruning first.
        unfed: the placeholders that are needed and not fed; they stay in the step.
        placed: the device of each node of the graph that is placed, with the reason.
        device_of: the device of each node of the step after the last pass.
        partitions: the result.
        notes: what passes said of nodes.
    """

    stages: list[Stage] = field(default_factory=list)
    unfed: list[NodeDef] = field(default_factory=list)
    placed: Mapping[str, Placed] = field(default_factory=dict)
    device_of: Mapping[str, str] = field(default_factory=dict)
    partitions: Sequence[Partition] = ()
    notes: dict[str, str] = field(default_factory=dict)

    def reached(self, name: str, graph: StepGraph) -> StepGraph:
        """Note the step after a stage, unless that changed nothing, and return it."""
        if not self.stages or graph is not self.stages[-1].graph:
            self.stages.append(Stage(name, graph))
        return graph

    def note(self, node: str, what: str) -> None:
        """Note what a pass did to a node, or why it left it alone."""
        self.notes[node] = what
