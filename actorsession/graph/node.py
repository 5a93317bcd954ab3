"""Plain descriptions of nodes and graphs, which planners read and messages carry.

``NodeDef`` and ``GraphDef`` are immutable values without references to live objects. A node carries the
static dtypes and shapes of its outputs, so a process that receives a graph does not infer them again. The
wire form is a list of plain values (see ``codec``); ``GraphDef.to_bytes`` makes one msgpack blob.
``from_wire`` checks the form alone; whether the nodes form a graph is checked by planners.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from actorsession.config.limits import check_graph_size
from actorsession.drawing.shown import Shown
from actorsession.errors import ProtocolError
from actorsession.graph import codec
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.shape import TensorShape
from actorsession.records import dataclass
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.drawing import Picture
    from actorsession.drawing.sheet import Sheet

__all__ = ["GRAPH_DEF_VERSION", "GraphDef", "NodeDef", "TensorSpec", "nodes_from_wire", "nodes_to_wire", "tensor_name"]

# Number of incompatible changes of the wire form; a reader refuses versions that it does not support.
GRAPH_DEF_VERSION = 1


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """The static type of one tensor: element type and static shape."""

    dtype: DType
    shape: TensorShape


def tensor_name(node: str, index: int) -> str:
    """Return the name of a node's output: ``node:index``."""
    return f"{node}:{index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDef:
    """One operation as plain data.

    Attributes:
        name: unique in its graph.
        op: operation type, a key of the op registry.
        inputs: producing node and output index of each data input, in order.
        control_inputs: names of nodes that must run first.
        device: the device that the user requested, possibly partial or empty.
        attrs: attribute values by name; arrays in it must not be changed.
        outputs: static dtype and shape per output.
        source: the user's line that built the node, ``file:line``.
    """

    name: str
    op: str
    inputs: tuple[tuple[str, int], ...] = ()
    control_inputs: tuple[str, ...] = ()
    device: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[TensorSpec, ...] = ()
    source: str = ""

    def to_wire(self) -> list[Any]:
        """Return the node as plain values."""
        return [
            self.name,
            self.op,
            [list(i) for i in self.inputs],
            list(self.control_inputs),
            self.device,
            self.attrs if type(self.attrs) is dict else dict(self.attrs),  # nobody changes it
            [[s.dtype, s.shape] for s in self.outputs],
            current_host().shown(self.source),
        ]

    @classmethod
    def from_wire(cls, value: Any) -> NodeDef:
        """Read the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
        """
        # No pattern: one with eight classes takes 10 us, which is half of what a node takes on its way.
        if isinstance(value, list) and len(value) == len(_KINDS) and all(map(isinstance, value, _KINDS)):
            name, op, ins, ctl, dev, attrs, outs, src = value
            if all(isinstance(c, str) for c in ctl):
                return cls(
                    name=_kept(name),
                    op=_kept(op),
                    inputs=tuple([(_kept(n), i) for n, i in _pairs(ins, str, int)]),
                    control_inputs=tuple([_kept(c) for c in ctl]),
                    device=_kept(dev),
                    attrs=attrs,
                    outputs=tuple([TensorSpec(d, s) for d, s in _pairs(outs, DType, TensorShape)]),
                    source=_kept(src),
                )
        raise ProtocolError(f"not the wire form of a node: {reprlib.repr(value)}")


# The classes of the items of a node's wire form.
_KINDS = (str, str, list, list, str, dict, list, str)


def _kept(text: str) -> str:
    """Return the same text, once for all nodes and sessions: those of one program have the same ones."""
    kept = _texts.get(text)
    if kept is None:
        kept = text
        if len(_texts) < _MOST_TEXTS and len(text) <= _LONGEST_TEXT:
            _texts[text] = text
    return kept


# What peers send must not fill the memory.
_MOST_TEXTS, _LONGEST_TEXT = 4096, 200
_texts: dict[str, str] = {}


def _pairs(items: list[Any], first: type, second: type) -> list[Any]:
    """Return a list of pairs of two classes as it is."""
    for item in items:
        is_pair = isinstance(item, (list, tuple)) and len(item) == 2
        if not (is_pair and isinstance(item[0], first) and isinstance(item[1], second)):
            raise ProtocolError(f"expected a ({first.__name__}, {second.__name__}) pair: {reprlib.repr(item)}")
    return items


def nodes_to_wire(nodes: Sequence[NodeDef], *, pack: bool = False) -> list[Any] | codec.Packed:
    """Return nodes as plain values.

    Args:
        nodes: the nodes.
        pack: whether they are encoded immediately, which makes the message cheap for an event loop.
    """
    return codec.packed(nodes, NodeDef.to_wire) if pack else [node.to_wire() for node in nodes]


def nodes_from_wire(value: Any, check: Callable[[int], None] = check_graph_size) -> tuple[NodeDef, ...]:
    """Read the result of ``nodes_to_wire``.

    Args:
        value: the nodes as plain values.
        check: called with their number before they are read; raises if there are too many.

    Raises:
        ProtocolError: for any other form.
        ResourceExhaustedError: if there are more nodes than a graph of a cluster may have.
    """
    if isinstance(value, codec.Packed):
        # One by one: to make or release a million lists at once would block all other threads for a moment.
        return tuple([NodeDef.from_wire(node) for node in codec.opened(value, check)])
    if not isinstance(value, list):
        raise ProtocolError(f"not the wire form of nodes: {reprlib.repr(value)}")
    check(len(value))
    return tuple([NodeDef.from_wire(node) for node in value])


@dataclass(frozen=True, slots=True)
class GraphDef(Shown):
    """A whole graph as plain data.

    Attributes:
        nodes: every node, producers before consumers.
        version: of the wire form.
        seed: the graph-level random seed, if set.
    """

    nodes: tuple[NodeDef, ...]
    version: int = GRAPH_DEF_VERSION
    seed: int | None = None

    def picture(self, *others: GraphDef) -> Picture:
        """Return the picture of the graph, or of the graphs of several devices with what they send each other."""
        from actorsession.graph.picture import graph_picture, nodes_of, partitions_picture

        return partitions_picture((self, *others)) if others else graph_picture(nodes_of(self.nodes))

    def _sheet(self) -> Sheet:
        from actorsession.graph.picture import nodes_sheet

        return nodes_sheet(f"GraphDef of {len(self.nodes)} nodes", self.nodes)

    def to_wire(self, *, pack: bool = False) -> list[Any]:
        """Return the graph as plain values, for messages (large constants are then sent out of band).

        Args:
            pack: whether the nodes are encoded immediately; see ``codec.Packed``.
        """
        return [self.version, self.seed, nodes_to_wire(self.nodes, pack=pack)]

    @classmethod
    def from_wire(cls, value: Any) -> GraphDef:
        """Read the result of ``to_wire``.

        Raises:
            ProtocolError: for another form or an unknown version.
        """
        match value:
            case [int() as version, (None | int()) as seed, (list() | codec.Packed()) as nodes]:
                if version != GRAPH_DEF_VERSION:
                    raise ProtocolError(f"graph has form version {version}; this library reads {GRAPH_DEF_VERSION}")
                return cls(nodes_from_wire(nodes), version, seed)
        raise ProtocolError(f"not the wire form of a graph: {reprlib.repr(value)}")

    def to_bytes(self) -> bytes:
        """Return the graph as one msgpack blob with everything inside, and a checksum before it."""
        return codec.pack_file(self.to_wire())

    @classmethod
    def from_bytes(cls, data: bytes) -> GraphDef:
        """Read the result of ``to_bytes``.

        Raises:
            ProtocolError: for bytes of any other form.
        """
        return cls.from_wire(codec.unpack_file(data))


def spec(dtype: Any, shape: Any) -> TensorSpec:
    """Return a ``TensorSpec`` of anything that denotes a dtype and a shape."""
    return TensorSpec(as_dtype(dtype), TensorShape(shape))
