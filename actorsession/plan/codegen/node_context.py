"""The view that a kernel factory has of its node: the ``KernelContext`` protocol of the op registry.

``compile`` makes it without a device, so that code can be generated anywhere, and ``bind`` makes it again
with the device's resources. Access to resources or state before that is an internal error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from actorsession.errors import InternalError
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import Array, ResourceHost

__all__ = ["NodeContext"]


class NodeContext:
    """The view that a kernel factory has of its node (the ``KernelContext`` protocol).

    Args:
        node: the node.
        inputs: static types of its data inputs.
        constants: values of inputs that are constants of the plan.
        device: full name of its device.
        host: the device's resources; absent while code is generated.
        states: state of stateful kernels by node name; absent while code is generated.
    """

    __slots__ = ("_constants", "_host", "_states", "device", "inputs", "node")

    def __init__(
        self,
        node: NodeDef,
        inputs: tuple[TensorSpec, ...],
        constants: tuple[Array | None, ...],
        device: str,
        host: ResourceHost | None = None,
        states: dict[str, Any] | None = None,
    ) -> None:
        self.node = node
        self.inputs = inputs
        self.device = device
        self._constants = constants
        self._host = host
        self._states = states

    def bound(self, host: ResourceHost, states: dict[str, Any]) -> NodeContext:
        """Return the same context with a device's resources and state."""
        return NodeContext(self.node, self.inputs, self._constants, self.device, host, states)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    @property
    def op(self) -> str:
        """The operation type."""
        return self.node.op

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attribute values."""
        return self.node.attrs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The static types of the outputs."""
        return self.node.outputs

    @property
    def resources(self) -> ResourceHost:
        """The device's resource manager."""
        if self._host is None:
            raise InternalError(f"{self.name!r} requests resources while code is generated")
        return self._host

    def constant(self, index: int) -> Array | None:
        """Return the value of an input that is a constant of the plan."""
        return self._constants[index]

    def state(self, make: Callable[[], Any]) -> Any:
        """Return the state kept per session under the node's name, made by ``make`` at first."""
        if self._states is None:
            raise InternalError(f"{self.name!r} requests its state while code is generated")
        if self.name not in self._states:
            self._states[self.name] = make()
        return self._states[self.name]
