"""From the options of a callable to tensors and operations of a graph, and to the wiring of its run.

The session API calls ``named_run`` once per callable. Names are checked against the client's graph, so that a
mistake is an error of the line that makes the callable, also in a remote session. The error classes are those
of TensorFlow's direct session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorsession.config import CallableOptions
from actorsession.errors import InvalidArgumentError, NotFoundError, OpError
from actorsession.graph.device import DeviceSpec
from actorsession.graph.graph import Graph
from actorsession.graph.node import NodeDef
from actorsession.graph.operation import Operation, Tensor
from actorsession.plan.signature import Wiring
from actorsession.plan.wiring import find_sources, split_name
from actorsession.records import dataclass
from actorsession.session.feeds import feed_tensor
from actorsession.session.fetches import map_fetches

__all__ = ["NamedRun", "named_run"]


@dataclass(frozen=True, slots=True)
class NamedRun:
    """What the names in the options of a callable stand for.

    Attributes:
        feeds: the tensors that the arguments feed.
        fetches: the tensors whose values are returned.
        targets: the operations that run.
        wiring: connections, and devices of feeds and fetches.
    """

    feeds: tuple[Tensor, ...]
    fetches: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    wiring: Wiring


def named_run(graph: Graph, options: CallableOptions) -> NamedRun:
    """Return what the options of a callable describe.

    Raises:
        TypeError: if the options are none, or name a tensor that can never be fed or fetched.
        InvalidArgumentError: for an unknown tensor, one that is fed twice, or fed and fetched, a malformed
            device, a device for a tensor that is not fed or fetched, and connections that do not fit.
        NotFoundError: for an unknown target, or an unknown tensor to connect to.
        ValueError: for a tensor that may not be fed, or not be fetched.
    """
    if not isinstance(options, CallableOptions):
        raise TypeError(f"options is a CallableOptions, got {options!r:.100}")
    feeds = tuple([feed_tensor(graph, _tensor(graph, n, "feed")) for n in options.feed])
    fetches = tuple([_fetched(graph, name, "fetch") for name in options.fetch])
    targets = tuple([_target(graph, name) for name in options.target])
    for name, tensor in zip(options.feed, feeds, strict=True):
        if feeds.count(tensor) > 1:
            raise InvalidArgumentError(f"feed names tensor {name!r}, which is fed more than once")
        if tensor in fetches:
            raise InvalidArgumentError(f"tensor {name!r} is both fed and fetched")
    connections = [_connection(graph, c.from_tensor, c.to_tensor) for c in options.tensor_connection]
    wiring = Wiring(
        tuple(sorted(connections)),
        _devices("feed_devices", options.feed_devices, options.feed, feeds),
        _devices("fetch_devices", options.fetch_devices, options.fetch, fetches),
    )
    _check_connections(graph, feeds, fetches, wiring)
    return NamedRun(feeds, fetches, targets, wiring)


def _tensor(graph: Graph, name: str, field: str, kind: type[OpError] = InvalidArgumentError) -> Tensor:
    """Return the tensor of a name.

    Raises:
        OpError: of class ``kind``, if there is none.
    """
    try:
        element = graph.as_graph_element(name if ":" in name else f"{name}:0", allow_operation=False)
    except (KeyError, ValueError) as exc:
        raise kind(f"{field} names {name!r}, which is not a tensor of the graph: {exc.args[0]}") from None
    assert isinstance(element, Tensor)
    return element


def _fetched(graph: Graph, name: str, field: str) -> Tensor:
    """Return the tensor whose value a name stands for, which for a variable is what is read of it."""
    (tensor,) = map_fetches(graph, _tensor(graph, name, field)).tensors
    return tensor


def _target(graph: Graph, name: str) -> Operation:
    try:
        element = graph.as_graph_element(name, allow_tensor=False)
    except (KeyError, ValueError) as exc:
        raise NotFoundError(f"target names {name!r}, which is not an operation of the graph: {exc.args[0]}") from None
    assert isinstance(element, Operation)
    return element


def _connection(graph: Graph, source: str, replaced: str) -> tuple[str, str]:
    """Return a connection with the canonical names of its tensors."""
    origin = _fetched(graph, source, "tensor_connection.from_tensor")
    tensor = _tensor(graph, replaced, "tensor_connection.to_tensor", NotFoundError)
    return origin.name, feed_tensor(graph, tensor).name


def _check_connections(graph: Graph, feeds: Sequence[Tensor], fetches: Sequence[Tensor], wiring: Wiring) -> None:
    """Check connections as the planner of the session will."""
    if not wiring.connections:
        return

    def find(name: str) -> NodeDef | None:
        try:
            return graph.get_operation_by_name(name).plain
        except (KeyError, ValueError):  # a feed, which is no node of the graph
            return None

    fed = {split_name(tensor.name): "" for tensor in feeds}
    find_sources(find, wiring, fed, [split_name(tensor.name) for tensor in fetches])


def _devices(
    field: str, devices: Mapping[str, str], names: Sequence[str], tensors: Sequence[Tensor]
) -> tuple[tuple[str, str], ...]:
    """Return the devices of tensors under canonical names.

    Raises:
        InvalidArgumentError: for a tensor that is not listed, or a name that is not that of one device.
    """
    listed = {split_name(name): tensor.name for name, tensor in zip(names, tensors, strict=True)}
    by_tensor: dict[str, str] = {}
    for name, text in devices.items():
        tensor = listed.get(split_name(name))
        if tensor is None:
            what = field.removesuffix("_devices")
            raise InvalidArgumentError(
                f"{field} names {text!r} for tensor {name!r}, which {what} does not list; it lists "
                f"{', '.join(names) or 'none'}"
            )
        if by_tensor.setdefault(tensor, _device(field, name, text)) != _device(field, name, text):
            raise InvalidArgumentError(f"{field} names two devices for tensor {name!r}")
    return tuple(sorted(by_tensor.items()))


def _device(field: str, tensor: str, text: str) -> str:
    """Return the canonical name of a device."""
    what = f"{field} names {text!r} for tensor {tensor!r}"
    try:
        spec = DeviceSpec.parse(text)
    except ValueError as exc:
        raise InvalidArgumentError(f"{what}: {exc}") from None
    if not spec.is_full:
        raise InvalidArgumentError(
            f"{what}, which is not the full name of a device: write it as list_devices() does, "
            "/job:NAME/replica:N/task:N/device:TYPE:N"
        )
    return str(spec)
