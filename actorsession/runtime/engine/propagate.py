"""Propagation of values in the dataflow engine: to the nodes that read them, across iterations and frames.

``Propagation`` is plain state, without kernels or steps. A value belongs to one iteration of one frame, and
may be **dead**, which means that it belongs to a branch that was not taken. A node is queued once in each
iteration in which all its inputs are available; it is dead if any of them is. A Merge needs one live value.
An Enter leads into a frame, which it creates for its iteration. A NextIteration leads into the next
iteration. An Exit leads out of the frame; a dead Exit is propagated only when its frame is over, because a
later iteration may make it live. A frame is over when none of its nodes is under way.

An iteration keeps as little state as possible: a node with a single input is queued as soon as it arrives.
``DataflowEngine`` takes nodes from the queue and passes their outputs to ``give``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from actorsession.plan.control_flow.dataflow_partition import ALONE, BESIDE, ENTER, EXIT, NEXT, LoopFrame, NodePlan
from actorsession.runtime.engine.frames import FrameRun, Iteration

__all__ = ["DEAD", "Propagation"]


class _Dead:
    """The value of a dead tensor."""

    def __repr__(self) -> str:
        return "DEAD"


DEAD: Any = _Dead()


class Propagation:
    """The values of one partition in one step that are under way.

    Attributes:
        queue: nodes to run next, each with its iteration, its inputs, and whether it is dead.
        fetched: the live values of fetched outputs, by position in the fetches.
    """

    __slots__ = ("_root", "fetched", "queue")

    def __init__(self) -> None:
        self.queue: deque[tuple[NodePlan, Iteration, Any, bool]] = deque()
        self.fetched: dict[int, Any] = {}
        self._root = FrameRun(LoopFrame(""), None)

    def begin(self, roots: Iterable[NodePlan]) -> None:
        """Queue the nodes that have no inputs."""
        root = self._root.iterations[0]
        for plan in roots:
            root.busy += 1
            self.queue.append((plan, root, [], False))

    @property
    def over(self) -> bool:
        """Whether no node is under way."""
        root = self._root.iterations[0]
        return not (root.busy or root.frames)

    def give(self, plan: NodePlan, iteration: Iteration, values: Sequence[Any], dead: bool = False) -> None:
        """Propagate the outputs of a node, and count it as done."""
        if plan.fetched:
            for output, position in plan.fetched:
                if values[output] is not DEAD:
                    self.fetched[position] = values[output]
        kind = plan.kind
        if kind > NEXT:
            self._spread(plan, iteration, values, dead)
        elif kind == ENTER:
            self._enter(plan, iteration, values[0])
        elif kind == EXIT:
            frame = iteration.frame
            if not dead:
                assert frame.parent is not None
                self._spread(plan, frame.parent, values, dead)
            elif iteration.index == frame.newest:
                frame.dead_exits.append(plan)
        elif not dead:
            self._next(plan, iteration, values[0])
        iteration.busy -= 1
        if not iteration.busy:
            self._tidy(iteration.frame)

    def _spread(self, plan: NodePlan, iteration: Iteration, values: Sequence[Any], dead: bool) -> None:
        """Pass values to the nodes of an iteration that read them."""
        queue, waiting = self.queue, iteration.waiting
        for output, reader, at, how in plan.edges:
            value = values[output]
            if how == ALONE:
                iteration.busy += 1
                queue.append((reader, iteration, (value,), value is DEAD))
            elif how == BESIDE:
                state = waiting.get(reader.number)
                if state is None:
                    state = [reader.pending, False, [None] * reader.inputs]
                    waiting[reader.number] = state
                state[0] -= 1
                if value is DEAD:
                    state[1] = True
                else:
                    state[2][at] = value
                if not state[0]:
                    del waiting[reader.number]
                    iteration.busy += 1
                    queue.append((reader, iteration, state[2], state[1]))
            else:
                self._merge(reader, iteration, at, value, plan.is_enter)
        if plan.followers:
            for follower in plan.followers:
                self._follow(follower, iteration, dead)

    def _follow(self, plan: NodePlan, iteration: Iteration, dead: bool) -> None:
        """Count a control input of a node as done."""
        if plan.is_merge:
            self._merge(plan, iteration, -1, None, False)
            return
        state = iteration.waiting.get(plan.number)
        if state is None:
            state = iteration.waiting[plan.number] = [plan.pending, False, [None] * plan.inputs]
        state[0] -= 1
        if dead and not plan.is_immortal:
            state[1] = True
        if not state[0]:
            del iteration.waiting[plan.number]
            iteration.busy += 1
            self.queue.append((plan, iteration, state[2], state[1]))

    def _merge(self, plan: NodePlan, iteration: Iteration, at: int, value: Any, entered: bool) -> None:
        """Pass a Merge a value or, with ``at`` -1, the end of a control input."""
        state = iteration.waiting.get(plan.number)
        if state is None:
            # Control inputs still to end, dead values so far, the output, and whether it was queued.
            state = iteration.waiting[plan.number] = [plan.control, 0, None, False]
        if state[3]:
            return
        if at < 0:
            state[0] -= 1
        elif value is not DEAD:
            if state[2] is None:
                state[2] = (value, np.int32(at))
        else:
            # The other input of such a Merge is a NextIteration, which never arrives after a dead Enter.
            state[1] = plan.inputs if entered else state[1] + 1
        if not state[0] and (state[2] is not None or state[1] >= plan.inputs):
            state[3] = True
            iteration.busy += 1
            self.queue.append((plan, iteration, state[2], state[2] is None))

    def _enter(self, plan: NodePlan, iteration: Iteration, value: Any) -> None:
        loop = plan.frame
        assert loop is not None
        frame = iteration.frames.get(loop)
        if frame is None:
            frame = iteration.frames[loop] = FrameRun(loop, iteration)
        dead = value is DEAD
        if plan.is_constant:
            frame.constants.append((plan, value))
            for inner in tuple(frame.iterations.values()):
                self._spread(plan, inner, (value,), dead)
        else:
            self._spread(plan, frame.iterations[0], (value,), dead)
        frame.enters -= 1
        if not frame.enters:
            self._tidy(frame)

    def _next(self, plan: NodePlan, iteration: Iteration, value: Any) -> None:
        frame = iteration.frame
        if iteration.index == frame.newest:
            if len(frame.iterations) >= frame.loop.parallel:
                frame.deferred.append((plan, value))
                return
            self._begin_iteration(frame)
        self._spread(plan, frame.iterations[iteration.index + 1], (value,), False)

    def _begin_iteration(self, frame: FrameRun) -> None:
        frame.newest += 1
        iteration = frame.iterations[frame.newest] = Iteration(frame, frame.newest)
        frame.dead_exits.clear()
        deferred, frame.deferred = frame.deferred, []
        for plan, value in deferred:
            self._spread(plan, iteration, (value,), False)
        for plan, value in frame.constants:
            self._spread(plan, iteration, (value,), value is DEAD)

    def _tidy(self, frame: FrameRun) -> None:
        """Drop iterations that are over, oldest first, and with the last one the frame itself."""
        parent = frame.parent
        if parent is None:
            return
        iterations = frame.iterations
        if frame.enters or not iterations:
            return
        while iterations:
            oldest = next(iter(iterations.values()))
            if oldest.busy or oldest.frames:
                return
            if frame.deferred:
                # The next iteration must begin before this one, which makes room for it, is dropped.
                self._begin_iteration(frame)
            del iterations[oldest.index]
        del parent.frames[frame.loop]
        for plan in frame.dead_exits:
            self._spread(plan, parent, (DEAD,), True)
        if not parent.busy and not parent.frames:
            self._tidy(parent.frame)
