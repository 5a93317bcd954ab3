"""What a run's debugger is asked to do: which tensors it watches and where what it saw goes.

Frozen values with TensorFlow's names; the debugger itself is in ``runtime``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from actorsession.config.wire import at_least, list_of, to_wire
from actorsession.errors import InvalidArgumentError

__all__ = ["DebugOptions", "DebugTensorWatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugTensorWatch:
    """One tensor to watch, or all outputs of one node.

    Attributes:
        node_name: name of the node; ``*`` for every node.
        output_slot: which output; -1 for all.
        debug_ops: what to keep of each value.
        debug_urls: where it goes.
    """

    node_name: str
    output_slot: int = 0
    debug_ops: Sequence[str] = ("DebugIdentity",)
    debug_urls: Sequence[str] = ("memory://",)

    def __post_init__(self) -> None:
        at_least(-1, "output_slot", self.output_slot)
        if not isinstance(self.node_name, str) or not self.node_name:
            raise InvalidArgumentError(f"node_name is the name of a node, got {self.node_name!r}")

    def to_wire(self) -> dict[str, Any]:
        """The settings as plain values."""
        return to_wire(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugOptions:
    """What a run's debugger does.

    Attributes:
        debug_tensor_watch_opts: the tensors to watch.
        global_step: the caller's own count of steps, published with the run; -1 for none.
    """

    debug_tensor_watch_opts: Sequence[DebugTensorWatch] = field(
        default=(), metadata=list_of(DebugTensorWatch)
    )
    global_step: int = -1

    def to_wire(self) -> dict[str, Any]:
        """The settings as plain values."""
        return to_wire(self)
