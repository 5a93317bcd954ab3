"""Loaded graphs: the partitions of one plan that this process runs, each at the executor of its device.

Direct sessions have one per plan, workers one per registered graph. ``Step.begin`` runs its ``parts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorsession.errors import InternalError
from actorsession.plan.partition import Partition
from actorsession.runtime.engine.executor import Executor, LoadedPartition
from actorsession.runtime.engine.inline_run import InlineRun

__all__ = ["LoadedGraph", "tell_states"]


def tell_states(states: Mapping[str, Mapping[str, Any]]) -> None:
    """Tell the states of stateful kernels that their session has ended; see ``KernelContext.state``.

    Args:
        states: states by device and node.
    """
    for kept in list(states.values()):
        for state in list(kept.values()):
            if hasattr(state, "session_ended"):
                state.session_ended()


class LoadedGraph:
    """The partitions of one plan that this process runs, bound to its devices.

    Args:
        partitions: the partitions on devices of this process.
        executors: executors by device name.
        states: states of stateful kernels, by device and node; shared by all plans of a session.
        own_fetches: whether the caller must own fetched arrays.

    Attributes:
        parts: the loaded partitions.
        fetches: positions in the signature of the values that this process returns, in their order.
        inline: the graph as a single call, if it is simple enough.
        may_wait: whether one of its ops may wait for anything, such as another step.
        suspends: whether one of its ops waits without a thread, so that the step needs an event loop.
        overlaps: whether several of its ops may wait for anything at the same time, and for each other.
    """

    def __init__(
        self,
        partitions: Sequence[Partition],
        executors: Mapping[str, Executor],
        states: dict[str, dict[str, Any]],
        *,
        own_fetches: bool = True,
    ) -> None:
        self.partitions = tuple(partitions)
        self.parts: list[LoadedPartition] = []
        for partition in partitions:
            executor = executors.get(partition.device)
            if executor is None:
                raise InternalError(f"a partition is for {partition.device}; this process has {sorted(executors)}")
            kept = states.setdefault(partition.device, {})
            self.parts.append(executor.load(partition, kept, own_fetches=own_fetches))
        # Positions of the fetches that this process returns, in the order in which it returns them.
        self.fetches = sorted(p for part in partitions for p, _, _ in part.fetches)
        self.inline = self._bind_inline()
        self.suspends = any(part.bound.compiled.suspensions for part in self.parts)
        self.may_wait = self.suspends or any(part.bound.blocks for part in self.parts)
        blocking = [s for part in self.parts for s in part.bound.segments if s.blocks]
        self.overlaps = len(blocking) > 1 or (self.may_wait and len(self.parts) > 1)

    def _bind_inline(self) -> InlineRun | None:
        """Return the graph as a single call, if it is one segment that neither sends nor receives."""
        if len(self.parts) != 1:
            return None
        compiled = self.parts[0].bound.compiled
        apart = compiled.recvs or compiled.sends or compiled.suspensions
        # What a loop has taken can be put back only by a step, if it ends early.
        if len(compiled.segments) != 1 or apart or compiled.taken_inside is not None:
            return None
        return InlineRun(self.parts[0])
