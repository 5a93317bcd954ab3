"""Graphs that are planned in a thread, and a pass that holds their planning until a test lets it go on."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.plan.passes.registry import PassGroup, register_pass, unregister_pass
from actorsession.runtime.planning import LARGE
from tests.cluster.kit import PATIENCE

__all__ = ["HeldPass", "held_pass", "large"]

_NUMBERS = itertools.count()


def large(x: Tensor, nodes: int = 2 * LARGE) -> Tensor:
    """x with a one added for each of so many nodes."""
    for _ in range(nodes // 2):  # each with a constant
        x = x + 1.0
    return x


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
        if (
            len(given if nodes is None else nodes.nodes) > LARGE
        ):  # other sessions have this pass too
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
