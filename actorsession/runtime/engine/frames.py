"""Frames and iterations of the dataflow engine: the state of one run of a loop.

Plain state, owned and changed only by the ``Propagation`` of a run.
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
        waiting: by node, the inputs that have arrived for nodes that wait for more.
        busy: number of nodes that are queued or running.
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
    """One run of a loop from beginning to end; the root frame belongs to no loop.

    Attributes:
        loop: the loop.
        parent: the iteration from which it was entered; ``None`` for the root.
        enters: number of values that have not entered it yet.
        iterations: the iterations under way, oldest first.
        newest: number of the newest iteration.
        deferred: values for a next iteration that may not begin yet.
        constants: values that are available in every iteration.
        dead_exits: exits that were dead in the newest iteration.
    """

    __slots__ = ("_number", "constants", "dead_exits", "deferred", "enters", "iterations", "loop", "newest", "parent")

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
        """The number of the frame in rendezvous keys; the same on every device."""
        if self._number < 0:
            assert self.parent is not None
            outer = self.parent.frame.number
            text = f"{outer}:{self.parent.index}:{self.loop.name}"
            self._number = int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big")
        return self._number


def key_of(plan: NodePlan, iteration: Iteration) -> str:
    """Return the rendezvous key of a transfer in one iteration."""
    return f"{plan.index};{iteration.frame.number}:{iteration.index}"
