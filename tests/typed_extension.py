"""An extension with annotations, by the public names alone: the type checker reads it, nothing imports it.

What docs/extending.md does without annotations is here with them, so that a change of a public type is seen.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence

import numpy as np

from actorsession.extend import (
    NOT_DIFFERENTIABLE,
    Address,
    DeviceFactory,
    GraphPass,
    InferContext,
    Kernel,
    KernelContext,
    NodeDef,
    OpDef,
    Operation,
    PassContext,
    PassGroup,
    PlacedGraph,
    Streams,
    Tensor,
    TensorShape,
    TensorSpec,
    Transport,
    UnixTransport,
    one,
    op,
    register_device_factory,
    register_graph_pass,
    register_op,
    register_transport,
    same,
)


def compute(ctx: KernelContext) -> Kernel:
    """A kernel that reads an attribute."""
    return lambda x: ctx.attrs["cap"] * np.tanh(x / ctx.attrs["cap"])


def slope(node: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """A gradient."""
    return [grad * (1.0 - (node.outputs[0] / node.attrs["cap"]) ** 2)]


def pairs(ctx: InferContext) -> Sequence[TensorShape]:
    """A shape rule."""
    return [TensorShape([*ctx.inputs[0].shape, 2])]


def types(ctx: InferContext) -> Sequence[TensorSpec]:
    """A shape function."""
    return ctx.inputs


op("Softcap x:T -> y:T | cap:float=30.0 T:type{f}", same, kernel=compute, grad=slope)
op("Pairs x:T -> y:T | T:type", pairs, lambda x: np.stack([x, x], -1), grad=NOT_DIFFERENTIABLE)
register_op(OpDef(name="Copied", infer=types, kernel=lambda ctx: np.copy))


def softcap(x: Tensor, cap: float = 30.0, name: str | None = None) -> Tensor:
    """A function for programs."""
    return one("Softcap", [x], {"cap": cap}, name)


def squares(nodes: Mapping[str, NodeDef], context: PassContext) -> Mapping[str, NodeDef]:
    """A pass before placement."""
    return nodes if context.known else dict(nodes)


SQUARES = GraphPass("squares", PassGroup.PRE_PLACEMENT, 10, squares)


@register_graph_pass("POST_PLACEMENT", phase=10)
def unchanged(placed: PlacedGraph, context: PassContext) -> PlacedGraph:
    """A pass after placement."""
    return PlacedGraph(placed.graph, placed.device_of)


class Boards(DeviceFactory):
    """A device type."""

    def list_physical_devices(self) -> Sequence[str]:
        return ["/physical_device:BOARD:0"]

    def supports(self, op_type: str) -> bool:
        return op_type != "MatMul"


register_device_factory("BOARD", Boards())


class NamedSockets(UnixTransport):
    """A transport."""

    def _file(self, address: Address) -> Address:
        return Address(scheme="unix", path=os.path.join("/run", address.name))

    def announced_address(self, address: Address, sock: socket.socket) -> Address:
        return address

    async def open_streams(self, address: Address) -> Streams:
        return await super().open_streams(self._file(address))

    async def bind_socket(self, address: Address) -> socket.socket:
        return await super().bind_socket(self._file(address))


TRANSPORT: Transport = NamedSockets()
register_transport("named", TRANSPORT)
