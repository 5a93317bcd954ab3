"""The scopes of a graph as users enter them: names, devices, control, colocation, containers.

``Scoped`` is the part of ``Graph`` that makes the context managers; ``scopes`` implements their effects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from actorsession.graph.device import DeviceSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.scopes import (
    ControlFrame,
    DeviceFunction,
    NameScope,
    Scope,
    entered,
    scope_of,
)

if TYPE_CHECKING:
    from actorsession.graph.graph import Graph

__all__ = ["Scoped"]


class Scoped:
    """The part of ``Graph`` for the blocks in which operations are built."""

    def name_scope(self, name: str | None) -> contextlib.AbstractContextManager[str]:
        """Prefix the names of operations built in the block.

        Args:
            name: made unique; one that ends in ``/`` is entered again literally; ``None`` or ``""`` leaves
                all scopes.

        Returns:
            A context manager that yields the scope's full name with a closing slash, empty for the root;
            entering it raises ValueError for a malformed name.
        """
        return NameScope(_graph(self), name)

    def get_name_scope(self) -> str:
        """Return the full name of the innermost name scope, without a closing slash; empty for the root."""
        return scope_of(_graph(self)).name

    @contextlib.contextmanager
    def device(self, device: str | DeviceSpec | DeviceFunction | None) -> Iterator[None]:
        """Request a device for operations built in the block; inner blocks take precedence part by part.

        Args:
            device: a full or partial name, a function from the operation to one, or ``None`` to discard the
                outer blocks.

        Raises:
            ValueError: for a malformed name.
            TypeError: for anything else.
        """
        block = DeviceSpec.parse(device) if isinstance(device, str) else device
        if not (block is None or isinstance(block, DeviceSpec) or callable(block)):
            raise TypeError(
                f"a device is a name, a DeviceSpec, a function or None, got {device!r:.100}"
            )
        with entered(_graph(self), devices=(*scope_of(_graph(self)).devices, block)):
            yield

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Make operations built in the block run after ``control_inputs``.

        Args:
            control_inputs: operations, tensors or variables; ``None`` discards the outer blocks, and leaves
                loop bodies and branches as well.
        """
        if control_inputs is None:
            with entered(_graph(self), control=(), body=None):
                yield
            return
        ops = []
        for item in control_inputs:
            element = _graph(self).as_graph_element(item)
            ops.append(element.op if isinstance(element, Tensor) else element)
        outer = scope_of(_graph(self)).control
        # Inputs of an outer block already belong to that block, which records what implies them.
        known = {op for frame in outer for op in frame.inputs}
        frame = ControlFrame(tuple(dict.fromkeys(op for op in ops if op not in known)))
        with entered(_graph(self), control=(*outer, frame)):
            yield

    @contextlib.contextmanager
    def colocate_with(self, op: Any) -> Iterator[None]:
        """Place operations built in the block with ``op``, regardless of the device blocks around.

        Args:
            op: an operation, tensor or variable; ``None`` changes nothing. While it has no device itself, a
                device block inside may still name one.
        """
        if op is None:
            yield
            return
        element = _graph(self).as_graph_element(op)
        target = element.op if isinstance(element, Tensor) else element
        with entered(
            _graph(self), colocation=(*scope_of(_graph(self)).colocation, target), devices=()
        ):
            yield

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """Give operations built in the block other gradients than their types have.

        Args:
            op_type_map: from operation types to names under which gradients were registered.

        Raises:
            TypeError: for anything but a dictionary from strings to strings.
        """
        given = op_type_map if isinstance(op_type_map, dict) else {None: None}
        if not all(isinstance(text, str) for pair in given.items() for text in pair):
            raise TypeError(
                f"op_type_map is a dictionary from strings to strings, got {op_type_map!r:.100}"
            )
        outer = scope_of(_graph(self)).gradients or {}
        with entered(_graph(self), gradients={**outer, **op_type_map}):
            yield

    def switch_to_thread_local(self) -> None:
        """Do nothing: each thread has blocks of its own from the beginning."""

    def container(self, name: str) -> contextlib.AbstractContextManager[Scope]:
        """Put state built in the block into the resource container ``name``."""
        return entered(_graph(self), container=name)


def _graph(scoped: Scoped) -> Graph:
    """Return the graph whose part this is."""
    return cast("Graph", scoped)
