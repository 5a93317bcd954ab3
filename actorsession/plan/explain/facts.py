"""What the findings are found in: a plan with everything that was computed of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from actorsession.graph.node import TensorSpec
from actorsession.plan.explain.explanation import CriticalPart, ExplainedNode, Transfer
from actorsession.plan.partition import Partition
from actorsession.records import dataclass

__all__ = ["Facts"]


@dataclass(frozen=True, slots=True)
class Facts:
    """A plan that is explained.

    Attributes:
        parts: the partitions.
        nodes: the nodes that run, by name.
        transfers: what is sent.
        types: better static types of values than their nodes have.
        notes: what passes said of nodes, loops by their frame names.
        chain: the critical chain.
        round_trips: measured seconds to other tasks and back, by task.
        divided: the nodes that are computed with others, in blocks that several threads share.
        client: the task through which feeds enter and fetches leave.
    """

    parts: Sequence[Partition]
    nodes: Mapping[str, ExplainedNode]
    transfers: Sequence[Transfer]
    types: Mapping[tuple[str, int], TensorSpec]
    notes: Mapping[str, str]
    chain: Sequence[CriticalPart]
    round_trips: Mapping[str, float]
    divided: Collection[str]
    client: str

    @property
    def seconds(self) -> float:
        """Expected seconds of a step."""
        return self.chain[-1].ended if self.chain else 0.0
