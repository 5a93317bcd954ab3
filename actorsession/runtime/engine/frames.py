"""Frames and iterations of the dataflow engine: what one run of a loop keeps.

Plain state, owned and changed by the ``Routing`` of a run alone.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from actorsession.plan.control_flow.dataflow_partition import LoopFrame, NodePlan

__all__ = ["FrameRun", "Iteration", "key_of"]


class Iteration:
    """One iteration of a frame.

    Attributes:
        frame: the frame.
        index: its number, from 0.
        waiting: what has come so far for nodes that wait for more, by node.
        busy: how many nodes are queued or run.
        frames: the frames that were entered from it.
    """

    __slots__ = ("busy", "frame", "frames", "index", "waiting")

    def __init__(self, frame: FrameRun, index: int) -> None:
        self.frame = frame
        self.index = index
        self.waiting: dict[int, list[Any]] = {}
        self.busy = 0
        self.frames: dict[LoopFrame, FrameRun] = {}


class FrameRun:
    """One run of a loop from beginning to end; the root is a run of no loop.

    Attributes:
        loop: which.
        parent: the iteration that it was entered from; ``None`` for the root.
        enters: how many values have still to be brought into it.
        iterations: those under way, the oldest first.
        newest: number of the last that was begun.
        deferred: values for a next iteration that may not begin yet.
        constants: what is there in every iteration.
        dead_exits: ways out that were not taken in the newest iteration.
    """

    __slots__ = (
        "_number", "constants", "dead_exits", "deferred", "enters", "iterations", "loop", "newest", "parent",
    )  # fmt: skip

    def __init__(self, loop: LoopFrame, parent: Iteration | None) -> None:
        self.loop = loop
        self.parent = parent
        self.enters = loop.enters
        self.iterations: dict[int, Iteration] = {0: Iteration(self, 0)}
        self.newest = 0
        self.deferred: list[tuple[NodePlan, Any]] = []
        self.constants: list[tuple[NodePlan, Any]] = []
        self.dead_exits: list[NodePlan] = []
        self._number = -1 if parent is not None else 0

    @property
    def number(self) -> int:
        """What it is called in rendezvous keys: the same on every device."""
        if self._number < 0:
            assert self.parent is not None
            outer = self.parent.frame.number
            text = f"{outer}:{self.parent.index}:{self.loop.name}"
            self._number = int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big")
        return self._number


def key_of(plan: NodePlan, iteration: Iteration) -> str:
    """Return the rendezvous key of a transfer in one iteration."""
    return f"{plan.index};{iteration.frame.number}:{iteration.index}"
