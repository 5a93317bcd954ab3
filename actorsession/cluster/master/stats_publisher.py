"""What a master reports of the steps that it runs, to whoever replaces ``stats_publisher_factory``.

TensorFlow's ``StatsPublisherInterface``: a publisher belongs to one client graph, gets the graphs of its
partitions once and the statistics of its traced steps, and may have further steps traced. By default there is
none. A server is given a factory of them; ``StepObserver`` makes and calls them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TypeAlias

from actorsession.config import ConfigProto, RunOptions, StepStats
from actorsession.graph.node import GraphDef
from actorsession.plan.signature import RunSignature

__all__ = ["StatsPublisherFactory", "StatsPublisherInterface"]


class StatsPublisherInterface(ABC):
    """Receives the reports of the steps of one client graph.

    The methods are called on the event loop of the master's server and should return soon. What they raise is
    logged, and no step fails by it.
    """

    @abstractmethod
    def publish_stats(self, stats: StepStats) -> None:
        """Receive the statistics of a step that was traced, for whatever reason, over all tasks.

        Args:
            stats: the statistics; shared with other readers, not to be changed.
        """

    def publish_graphs(self, graphs: Mapping[str, GraphDef]) -> None:  # noqa: B027
        """Receive the partition of each device, once, before the first step.

        Args:
            graphs: by device name.
        """

    def wants_step(self, execution_count: int, options: RunOptions) -> bool:
        """Return whether a step is to be traced although nobody else asks for it.

        TensorFlow's ``GetProfileHandler``.

        Args:
            execution_count: the number of steps of the client graph before this one.
            options: the options of the run.
        """
        return False

    def close(self) -> None:  # noqa: B027
        """Release what the publisher holds: the client graph was dropped, or the session is closed."""


StatsPublisherFactory: TypeAlias = Callable[[str, RunSignature, ConfigProto], StatsPublisherInterface]
"""Makes the publisher of a client graph from the session's handle, the run signature and the settings."""
