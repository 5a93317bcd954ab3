"""Errors of kernels: which node has failed, and where memory is lacking, what takes it.

Engines call this when a kernel has raised. What a device holds is looked at then, and not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from actorsession.drawing.text import byte_size
from actorsession.errors import OpError, ResourceExhaustedError, exhausted, from_exception
from actorsession.graph.device_kernels import kernels_of
from actorsession.graph.dtypes import resource
from actorsession.graph.node import TensorSpec
from actorsession.runtime.resources import VARIABLE, ResourceManager

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundPartition

__all__ = ["node_error"]

# Holders of memory that a message names.
_NAMED = 3


def node_error(
    exc: BaseException, bound: BoundPartition, number: int | None, local_values: Mapping[str, Any] | None = None
) -> OpError:
    """Return the error of a node as an ``OpError`` that names the node and the user's line.

    For a lack of memory, it also names the sizes of the node's inputs, and what holds the most memory of the device.

    Args:
        exc: what its kernel has raised.
        bound: its partition.
        number: its number in the code; ``None`` if code that belongs to no node has raised, such as a copy of a fetch.
        local_values: the local variables of the generated function that has called the kernel.
    """
    error = from_exception(exc)
    cause = error.__cause__ if type(error) is ResourceExhaustedError and error.node is None else None
    if cause is not None and exhausted(cause) == "memory":
        use = "" if number is None else _use(bound, number, local_values or {})
        words = f"{type(cause).__name__}: {cause}".rstrip(": ")
        error.message = f"no memory left{use}: {words}; {_holders(bound, cause)}"
        error.args = (error.message,)
    if number is None:
        return error
    node = bound.compiled.nodes[number]
    return error.locate(node=node.name, device=bound.device, source=node.source)


def _use(bound: BoundPartition, number: int, local_values: Mapping[str, Any]) -> str:
    """Say what a node needs memory for."""
    inputs = ", ".join(_inputs(bound, number, local_values))
    return f" for {bound.compiled.nodes[number].op}{' of ' if inputs else ''}{inputs}"


def _inputs(bound: BoundPartition, number: int, local_values: Mapping[str, Any]) -> Iterator[str]:
    """Yield types and shapes of a node's inputs: those of its values where they are known, else the static ones."""
    nodes = bound.compiled.partition.nodes
    context = bound.compiled.contexts.get(number)
    if number >= len(nodes):  # in a loop or branch, whose names are its own
        yield from map(_typed, () if context is None else context.inputs)
        return
    places = {node.name: place for place, node in enumerate(nodes)}
    for name, output in nodes[number].inputs:
        spec = nodes[places[name]].outputs[output]
        if spec.dtype is not resource:
            local = f"v{places[name]}_{output}" if output else f"v{places[name]}"  # as ``Emitter.local`` calls it
            yield _typed(spec, local_values.get(local))


def _typed(spec: TensorSpec, value: Any = None) -> str:
    sizes = spec.shape.sizes if value is None else getattr(value, "shape", ())
    said = "..." if sizes is None else ", ".join(["?" if size is None else str(size) for size in sizes])
    return f"{spec.dtype.name}[{said}]"


def _holders(bound: BoundPartition, cause: BaseException) -> str:
    """Say what holds the most of the memory that was lacking."""
    kernels = kernels_of(bound.device)
    # An allocation by numpy was one on the host, wherever the kernel belongs.
    memory = None if kernels is None or isinstance(cause, MemoryError) else kernels.memory
    held = sorted(_held(bound, only_device=memory is not None), reverse=True)
    text = "nothing is held between steps"
    if held:
        named = [f"{label} ({byte_size(size)})" for size, label in held[:_NAMED]]
        more = f" and {len(held) - _NAMED} more" if len(held) > _NAMED else ""
        text = f"{byte_size(sum(size for size, _ in held))} are held between steps, by {', '.join(named)}{more}"
    return text if memory is None else f"{text}; {memory(bound.device)}"


def _held(bound: BoundPartition, *, only_device: bool) -> Iterator[tuple[int, str]]:
    """Yield the bytes and the name of all that keeps tensors between steps.

    Args:
        bound: a partition of the session, on the device.
        only_device: whether arrays of the host do not count: all but values of variables are such arrays.
    """
    kernels = kernels_of(bound.device)
    arrays = kernels.arrays(bound.device) if only_device and kernels is not None else None
    for _, kind, name, state in bound.host.all() if isinstance(bound.host, ResourceManager) else ():
        if arrays is None or (kind == VARIABLE and arrays.holds(state.spec.dtype)):
            yield from _sized(state, f"{kind} {name!r}")
    if arrays is None:
        for name, state in list(bound.states.items()):
            yield from _sized(state, repr(name))


def _sized(state: Any, name: str) -> Iterator[tuple[int, str]]:
    size = int(getattr(state, "nbytes", 0))
    if size:
        yield size, getattr(state, "label", name)
