"""Graphs that are planned in a thread, and a pass that holds their planning until a test lets it go on."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from actorsession import Tensor, float32, ops
from actorsession.extend import PassGroup
from actorsession.extend import register_graph_pass as register_pass
from actorsession.extend import unregister_graph_pass as unregister_pass
from actorsession.graph.function import size_of
from actorsession.runtime.planning import LARGE
from tests.cluster.kit import PATIENCE

__all__ = ["FORMS", "HeldPass", "held_pass", "large"]

_NUMBERS = itertools.count()


def large(x: Tensor, nodes: int = 2 * LARGE) -> Tensor:
    """x with a one added for each of so many nodes."""
    for _ in range(nodes // 2):  # each with a constant
        x = x + 1.0
    return x


def _tenths(x: Tensor) -> Tensor:
    once = ops.Defun(float32)(lambda v: large(v, 2 * LARGE // 10))
    twice = ops.Defun(float32)(lambda v: once(once(v)))
    for _ in range(5):
        x = twice(x)
    return x


FORMS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "as it is": large,
    "in a function": lambda x: ops.Defun(float32)(lambda v: large(v))(x),
    "in functions of functions, each of them small": _tenths,
    "in a loop": lambda x: ops.while_loop(lambda i, _: i < 1, lambda i, v: (i + 1, large(v)), (0, x))[1],
    "in a branch": lambda x: ops.cond(x >= 0.0, lambda: large(x), lambda: x),
}
"""Graphs of the same nodes, which are counted wherever they are."""


class HeldPass:
    """A pass that waits.

    Attributes:
        entered: how often it was begun.
        go: lets it go on.
    """

    def __init__(self) -> None:
        self.entered = 0
        self.go = threading.Event()

    def __call__(self, given: Any, context: Any) -> Any:
        nodes = getattr(given, "graph", None)
        nodes = given if nodes is None else nodes.nodes
        if size_of(nodes.values()) > LARGE:  # other sessions have this pass too
            self.entered += 1
            assert self.go.wait(PATIENCE), "nobody has let the pass go on"
        return given


@contextmanager
def held_pass(group: PassGroup = PassGroup.POST_PLACEMENT) -> Iterator[HeldPass]:
    """Registers a pass that waits, for the sessions made in the block."""
    held, name = HeldPass(), f"held {next(_NUMBERS)}"
    register_pass(group, 0, name)(held)
    try:
        yield held
    finally:
        held.go.set()
        unregister_pass(name)
