"""Frames and iterations of loops: under which rendezvous keys their values travel between devices."""

from __future__ import annotations

from actorsession.plan.control_flow.dataflow_partition import RECEIVE, LoopFrame, NodePlan
from actorsession.runtime.engine.frames import FrameRun, Iteration, key_of
from tests.plan.kit import node

ROOT = LoopFrame("")
OUTER = LoopFrame("outer")


def inside(loop: LoopFrame, iteration: Iteration, index: int = 0) -> Iteration:
    """An iteration of a loop that was entered from another iteration."""
    return Iteration(FrameRun(loop, iteration), index)


def keys(*iterations: Iteration) -> list[str]:
    plan = NodePlan(0, node("received"), RECEIVE, 0, 0, 0, index="edge")
    return [key_of(plan, iteration) for iteration in iterations]


def root(index: int = 0) -> Iteration:
    return Iteration(FrameRun(ROOT, None), index)


def test_a_loop_that_is_entered_from_two_iterations_of_another_has_other_keys_each_time() -> None:
    """Iterations of the outer loop may be under way together, with inner loops of different lengths."""
    inner = LoopFrame("outer/inner")
    outer = [inside(OUTER, root(), index) for index in (0, 1)]
    found = keys(*[inside(inner, around, index) for around in outer for index in (0, 1)])
    assert len(set(found)) == 4


def test_a_loop_has_the_same_keys_on_every_device() -> None:
    first, second = keys(inside(OUTER, root(), 2), inside(LoopFrame("outer"), root(), 2))
    assert first == second
    assert first.startswith("edge;")
    assert first.endswith(":2")


def test_two_loops_have_keys_of_their_own_and_no_loop_is_frame_0() -> None:
    outer, other, none = keys(inside(OUTER, root()), inside(LoopFrame("other"), root()), root())
    assert outer != other
    assert none == "edge;0:0"
