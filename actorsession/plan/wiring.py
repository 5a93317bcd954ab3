"""Wiring: where the values of a step come from if it is fed, or if tensors are connected.

Owns the sources of a step: for each tensor that is fed or in whose place another one is used, the output that
is read instead. Pruning asks for them. The session API asks for them too, with the client's graph, so that a
mistake in the options of a callable is found where the callable is made. Plain functions without state.

Invariant: the sources of a step form no cycle, and have the dtype and shape of what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from actorsession.errors import InvalidArgumentError, NotFoundError
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.plan.signature import Wiring
from actorsession.records import dataclass
from actorsession.whole_numbers import is_index

__all__ = ["FindNode", "Ref", "Sources", "check_devices", "find_sources", "split_name"]

Ref: TypeAlias = tuple[str, int]
FindNode: TypeAlias = Callable[[str], NodeDef | None]
"""Returns a node of the whole graph by its name."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What is read instead of tensors of the graph.

    Attributes:
        of: for each replaced tensor, what is read in its place.
        checks: nodes of the step alone, which check the shapes of connected tensors.
    """

    of: Mapping[Ref, Ref]
    checks: Mapping[str, NodeDef]


def split_name(tensor: str) -> Ref:
    """Return the node and output index that a tensor name denotes; a name without an index denotes output 0.

    Raises:
        InvalidArgumentError: if the index is no number.
    """
    node, colon, index = tensor.partition(":")
    if colon and not is_index(index):
        raise InvalidArgumentError(f"malformed tensor name {tensor!r}: write 'operation:index'")
    return node, int(index or 0)


def check_devices(wiring: Wiring, devices: Collection[str]) -> None:
    """Check that feeds enter and fetches leave a step at devices that exist.

    Args:
        wiring: of the step.
        devices: full names of the session's devices.

    Raises:
        InvalidArgumentError: for another device; it names those that there are.
    """
    tables = {"feed_devices": wiring.feed_devices, "fetch_devices": wiring.fetch_devices}
    for table, pairs in tables.items():
        for tensor, device in pairs:
            if device not in devices:
                raise InvalidArgumentError(
                    f"{table} names {device!r} for tensor {tensor!r}, which does not exist; the devices of "
                    f"the session are {', '.join(devices)}"
                )


def find_sources(find: FindNode, wiring: Wiring, fed: Mapping[Ref, str], fetches: Collection[Ref]) -> Sources:
    """Return what a step reads instead of fed and connected tensors.

    A connected tensor whose own source is fed or connected too passes that value on, in whatever order the
    connections are given.

    Args:
        find: the whole graph.
        wiring: the connections.
        fed: for each fed tensor, the node that provides its value.
        fetches: the fetched tensors.

    Raises:
        NotFoundError: for a replaced tensor that the graph does not contain.
        InvalidArgumentError: for a source that the graph does not contain, a tensor that is replaced twice or
            fetched as well, another dtype, a shape that cannot fit, or a cycle.
    """
    args = {tensor: (name, 0) for tensor, name in fed.items()}
    if not wiring.connections:
        return Sources(args, {})
    connected: dict[Ref, Ref] = {}
    for source, replaced in wiring.connections:
        origin, tensor = _checked(find, source, replaced)
        if tensor in args or tensor in connected:
            raise InvalidArgumentError(
                f"tensor {replaced!r} is fed more than once: feed it, or use one other tensor in its place"
            )
        if tensor in fetches:
            raise InvalidArgumentError(
                f"tensor {replaced!r} is both fed and fetched: {source!r} is used in its place, so fetch that"
            )
        connected[tensor] = origin
    for tensor in connected:
        _check_no_cycle(find, tensor, connected, args)
    return _connected_sources(find, connected, args)


def _checked(find: FindNode, source: str, replaced: str) -> tuple[Ref, Ref]:
    """Return both tensors of a connection, if they exist and have one dtype."""
    what = f"cannot connect {source!r} to {replaced!r}"
    origin, tensor = split_name(source), split_name(replaced)
    value, expected = _spec(find, origin), _spec(find, tensor)
    if value is None:
        raise InvalidArgumentError(f"{what}: {source!r} is not a tensor of the graph")
    if expected is None:
        raise NotFoundError(f"{what}: {replaced!r} is not a tensor of the graph")
    if value.dtype is not expected.dtype:
        raise InvalidArgumentError(
            f"{what}: their dtypes are {value.dtype.name} and {expected.dtype.name}; connect tensors of one dtype"
        )
    if not value.shape.is_compatible_with(expected.shape):
        raise InvalidArgumentError(f"{what}: no value has both their shapes, {value.shape} and {expected.shape}")
    return origin, tensor


def _spec(find: FindNode, ref: Ref) -> TensorSpec | None:
    node = find(ref[0])
    return node.outputs[ref[1]] if node is not None and ref[1] < len(node.outputs) else None


def _check_no_cycle(find: FindNode, tensor: Ref, connected: Mapping[Ref, Ref], args: Mapping[Ref, Ref]) -> None:
    """Check that the source of a replaced tensor does not need the operation of that tensor.

    The search goes through the graph as all feeds and all other connections leave it.
    """
    others = {**connected, **args}
    origin = others.pop(tensor)
    seen: set[str] = set()
    stack = [_last(origin, others)[0]]
    while stack:
        name = stack.pop()
        if name == tensor[0]:
            raise InvalidArgumentError(
                f"to connect '{origin[0]}:{origin[1]}' to '{tensor[0]}:{tensor[1]}' would create a cycle: "
                "the former is computed from the latter"
            )
        node = find(name)  # None for a feed
        if node is None or name in seen:
            continue
        seen.add(name)
        stack.extend([_last(ref, others)[0] for ref in node.inputs])
        stack.extend(node.control_inputs)


def _last(ref: Ref, sources: Mapping[Ref, Ref]) -> Ref:
    """Follow sources to the output that has no other; a cycle of sources ends where it began."""
    passed = {ref}
    while ref in sources:
        ref = sources[ref]
        if ref in passed:
            break
        passed.add(ref)
    return ref


def _connected_sources(find: FindNode, connected: Mapping[Ref, Ref], args: Mapping[Ref, Ref]) -> Sources:
    """Return the sources of connections without cycles, with checks of shapes that are not known to fit."""
    sources: dict[Ref, Ref] = dict(args)
    checks: dict[str, NodeDef] = {}

    def source(tensor: Ref) -> Ref:
        origin = sources.get(tensor)
        if origin is None and tensor in connected:
            origin = source(connected[tensor])
            node = _shape_check(find, connected[tensor], tensor, origin)
            if node is not None:
                checks[node.name] = node
                origin = node.name, 0
            sources[tensor] = origin
        return tensor if origin is None else origin

    for tensor in connected:
        source(tensor)
    return Sources(sources, checks)


def _shape_check(find: FindNode, origin: Ref, tensor: Ref, read: Ref) -> NodeDef | None:
    """Return the node that checks the shape of a connected value; ``None`` if that is known to fit.

    What reads a tensor was built for its static shape, as for a value that is fed.
    """
    value, expected = _spec(find, origin), _spec(find, tensor)
    assert value is not None
    assert expected is not None
    known, sizes = value.shape.sizes, expected.shape.sizes
    if sizes is None or (known is not None and all(w is None or w == k for k, w in zip(known, sizes, strict=True))):
        return None
    consumer = find(tensor[0])
    return NodeDef(
        name=f"_connected/{tensor[0]}/{tensor[1]}",
        op="EnsureShape",
        inputs=(read,),
        attrs={"shape": expected.shape},
        outputs=(expected,),
        source="" if consumer is None else consumer.source,
    )
