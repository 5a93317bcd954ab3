"""The decorated graph of a debugged run: its partitions with a debug node after each observed value.

``DebugGraphDecorator`` checks the names in the options before anything runs. It inserts ``_DebugWatch`` and
``_DebugNumerics`` nodes directly after the node whose value they read, before the value is sent to another
device. So no stage between graph and generated code has to handle watches, and a plan without watches has no
overhead. The nodes have no outputs: whatever passes follow, they only read.

Each node has a number, its position in the decorator's ``points``. Under this number its kernel reports the
values to the run of the current thread (``watched_by``).

``decorated`` applies the decorator that ``DebugGraphDecoratorRegistry`` makes, once per plan: planners of
direct sessions call it, and each worker for its partitions of a debugged client graph.
"""

from __future__ import annotations

import difflib
import fnmatch
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any, Protocol, TypeAlias

from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, resource
from actorsession.graph.function import ARGUMENT, FunctionDef, functions_of, nodes_inside
from actorsession.graph.node import GraphDef, NodeDef, TensorSpec, tensor_name
from actorsession.graph.registry import InferContext, KernelContext, OpDef, lookup, register
from actorsession.plan.partial import fed_name
from actorsession.plan.partition import RECV, Partition
from actorsession.plan.passes.checks import check_partitions
from actorsession.plan.prune import ARG, split_name
from actorsession.plan.rendezvous_key import parse_key
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.runtime.debug.debug_op import DebugOp, debug_op
from actorsession.runtime.debug.factory_registry import FactoryRegistry
from actorsession.runtime.debug.numerics import NumericsPoint

__all__ = [
    "DebugGraphDecorator",
    "DebugGraphDecoratorInterface",
    "DebugGraphDecoratorRegistry",
    "WatchPoint",
    "Watcher",
    "decorated",
    "watched_by",
]

WATCH, NUMERICS = "_DebugWatch", "_DebugNumerics"
Ref: TypeAlias = tuple[str, int]
DecoratorFactory: TypeAlias = Callable[[DebugOptions, "DebugGraphDecoratorInterface"], "DebugGraphDecoratorInterface"]


@dataclass(frozen=True, slots=True)
class WatchPoint:
    """A watched tensor.

    Attributes:
        node_name: name of the node, or of the tensor's node if it is fed.
        output_slot: index of its output.
        op_type: op type of that node.
        device: full name of the device where it is read.
        dtype: element type.
        source: the user's line that built the node.
        wants: the debug ops to apply, each with its URLs.
    """

    node_name: str
    output_slot: int
    op_type: str
    device: str
    dtype: DType
    source: str
    wants: tuple[tuple[DebugOp, tuple[str, ...]], ...]

    @property
    def tensor_name(self) -> str:
        """The name of the tensor."""
        return tensor_name(self.node_name, self.output_slot)


@dataclass(slots=True)
class _Value:
    """A tensor of one partition: its name in the user's graph, and its name in the partition."""

    ref: Ref
    read: Ref
    spec: TensorSpec
    node: NodeDef
    op_type: str


class DebugGraphDecoratorInterface(ABC):
    """The object that inserts nodes into the partitions of one debugged plan, one partition at a time."""

    @abstractmethod
    def decorate_graph(self, graph_def: GraphDef, device: str) -> GraphDef:
        """Return the nodes of a partition with additional nodes.

        Args:
            graph_def: the nodes of the partition, producers first.
            device: full name of its device.

        Returns:
            A graph that still has every ``_Arg``, ``_Send`` and ``_Recv``, and all that is fetched.

        Raises:
            InvalidArgumentError: if the options request what the partition does not have.
        """

    def publish_graph(self, graph_def: GraphDef, device: str) -> None:  # noqa: B027 - most need none
        """Handle a partition that ``decorate_graph`` has returned; does nothing by default."""


@dataclass(slots=True)
class DebugGraphDecorator(DebugGraphDecoratorInterface):
    """The default decorator, which inserts debug nodes.

    Args:
        options: the debug options.
        signature: signature of the plan, with the feeds in the order of ``_Arg``.
        known: the nodes of the graph that the watches may name.
        fed_types: for fed tensors whose nodes are not ``known``, the op types of these.
        seen: tensors that occur in the partitions and are observed elsewhere.
        checked: whether the options were checked against the whole graph, and each watch by name names one
            output, as ``watches_of`` returns them; ``known`` is then not used.

    Attributes:
        points: the observed points, by number.
        refused: debug ops that could not be made and were tolerated, as text.

    Raises:
        InvalidArgumentError: for a node, slot or debug op that does not exist.
    """

    options: DebugOptions
    signature: RunSignature
    known: Mapping[str, NodeDef]
    fed_types: Mapping[str, str] = field(default_factory=dict)
    seen: set[Ref] = field(default_factory=set)
    checked: bool = False
    points: list[WatchPoint | NumericsPoint] = field(init=False, default_factory=list)
    refused: dict[str, None] = field(init=False, default_factory=dict)
    _named: dict[Ref, list[DebugTensorWatch]] = field(init=False, default_factory=dict)
    _everywhere: list[DebugTensorWatch] = field(init=False, default_factory=list)
    _ops: dict[str, DebugOp] = field(init=False, default_factory=dict)
    _fed: set[Ref] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._fed.update(map(split_name, (*self.signature.feeds, *self.fed_types)))
        for watch in self.options.debug_tensor_watch_opts:
            self._take_ops(watch)
            if watch.node_name == "*":
                self._everywhere.append(watch)
                continue
            for slot in (watch.output_slot,) if self.checked else self._slots(watch):
                self._named.setdefault((watch.node_name, slot), []).append(watch)

    # -- watches -------------------------------------------------------------------------------

    def _take_ops(self, watch: DebugTensorWatch) -> None:
        for text in watch.debug_ops:
            try:
                self._ops[text] = debug_op(text)
            except InvalidArgumentError as error:
                if not watch.tolerate_debug_op_creation_failures:
                    raise
                self.refused[f"{watch.node_name}: {error.message}"] = None

    def _slots(self, watch: DebugTensorWatch) -> Sequence[int]:
        """Return the outputs of a watch by name."""
        node = self.known.get(watch.node_name)
        if node is None:
            raise InvalidArgumentError(_unknown_node(watch.node_name, self.known))
        valid = [i for i, spec in enumerate(node.outputs) if spec.dtype is not resource]
        if watch.output_slot == -1 and valid:
            return valid
        if watch.output_slot not in valid:
            raise InvalidArgumentError(
                f"node {node.name!r} ({node.op}) has no output {_slot(watch)}to watch; " + _slots_in_words(node, valid)
            )
        return (watch.output_slot,)

    def _watches(self, ref: Ref) -> Iterator[DebugTensorWatch]:
        yield from self._named.get(ref, ())
        for watch in self._everywhere:
            if watch.output_slot in (-1, ref[1]):
                yield watch

    def _wants(self, ref: Ref, dtype: DType) -> tuple[tuple[DebugOp, tuple[str, ...]], ...]:
        """Return the debug ops for a tensor: each op once, with all its URLs."""
        outputs: dict[str, dict[str, None]] = {}
        for watch in self._watches(ref):
            for text in watch.debug_ops:
                if text in self._ops and self._goes_with(self._ops[text], ref, dtype, watch):
                    outputs.setdefault(text, {}).update(dict.fromkeys(watch.debug_urls))
        return tuple([(self._ops[text], tuple(urls)) for text, urls in outputs.items()])

    def _goes_with(self, op: DebugOp, ref: Ref, dtype: DType, watch: DebugTensorWatch) -> bool:
        if op.takes(dtype):
            return True
        text = f"debug op {op.text!r} does not go with {tensor_name(*ref)!r} of type {dtype.name}"
        if not watch.tolerate_debug_op_creation_failures:
            raise InvalidArgumentError(
                f"{text}; DebugIdentity does, and tolerate_debug_op_creation_failures leaves it out",
                node=ref[0],
                source=self.known[ref[0]].source if ref[0] in self.known else "",
            )
        self.refused[text] = None
        return False

    # -- decorating ----------------------------------------------------------------------------

    def decorate_graph(self, graph_def: GraphDef, device: str) -> GraphDef:
        """Return the nodes of a partition with debug nodes; a tensor is observed in its first partition."""
        nodes: list[NodeDef] = []
        added: dict[str, NodeDef] = {}
        for node in graph_def.nodes:
            added[node.name] = node
            nodes.append(self._checked_inside(node, device))
            fresh = self.fresh_values(node)
            nodes.extend(self._watching(fresh, device))
            nodes.extend(self._checking(node, fresh, added, device))
        return GraphDef(tuple(nodes), graph_def.version, graph_def.seed)

    @property
    def not_run(self) -> tuple[str, ...]:
        """The tensors that are watched by name and that no partition had so far."""
        return tuple([tensor_name(*ref) for ref in self._named if ref not in self.seen])

    def fresh_values(self, node: NodeDef) -> list[_Value]:
        """Return the tensors of a node that no partition had so far, and record them as seen."""
        fresh = [value for value in self.values(node, self._fed) if value.ref not in self.seen]
        self.seen.update([value.ref for value in fresh])
        return fresh

    def values(self, node: NodeDef, hidden: Collection[Ref]) -> list[_Value]:
        """Return the tensors that a node of a partition produces, under their names in the user's graph.

        Args:
            node: the node.
            hidden: tensors that are left out, because a feed takes their place.
        """
        fed = self._fed_as(node)
        if fed is not None:
            ref = split_name(fed)
            (spec,) = node.outputs
            if spec.dtype is resource:
                return []
            return [_Value(ref, (node.name, 0), spec, node, self._fed_type(fed))]
        if node.name.startswith("_"):
            return []  # transfers and the like only repeat values that are observed at their source
        return [
            _Value((node.name, i), (node.name, i), spec, node, node.op)
            for i, spec in enumerate(node.outputs)
            if spec.dtype is not resource and (node.name, i) not in hidden
        ]

    def tensors(self, node: NodeDef) -> list[Ref]:
        """Return the names in the user's graph of the tensors that a node of a partition produces."""
        return [value.ref for value in self.values(node, self._fed)]

    def watches_of(self, tensors: Iterable[Ref]) -> list[DebugTensorWatch]:
        """Return the watches that concern some tensors, each of those by name for one output."""
        named = [replace(watch, output_slot=ref[1]) for ref in tensors for watch in self._named.get(ref, ())]
        return [*named, *self._everywhere]

    def check(self, node: NodeDef) -> None:
        """Check the debug ops of the tensors of a node against their types.

        Raises:
            InvalidArgumentError: for a debug op that does not go with a type.
        """
        for value in self.fresh_values(node):
            self._wants(value.ref, value.spec.dtype)

    def _fed_as(self, node: NodeDef) -> str | None:
        """Return the name of the tensor that a node of a partition feeds; ``None`` if it feeds none."""
        if node.op == ARG:
            return self.signature.feeds[int(node.attrs["index"])]
        return fed_name(node)

    def _fed_type(self, tensor: str) -> str:
        node = self.known.get(split_name(tensor)[0])
        return self.fed_types.get(tensor, "") if node is None else node.op

    def _watching(self, values: Sequence[_Value], device: str) -> Iterator[NodeDef]:
        for value in values:
            wants = self._wants(value.ref, value.spec.dtype)
            if wants:
                (name, slot), node = value.ref, value.node
                point = WatchPoint(name, slot, value.op_type, device, value.spec.dtype, node.source, wants)
                attrs = {
                    "tensor_name": point.tensor_name,
                    "debug_ops": [op.text for op, _ in wants],
                    "debug_urls": list(dict.fromkeys([u for _, urls in wants for u in urls])),
                }
                yield self._node(WATCH, f"__dbg_{name}:{slot}", point, (value.read,), attrs)

    def _checking(
        self, node: NodeDef, values: Sequence[_Value], nodes: Mapping[str, NodeDef], device: str
    ) -> Iterator[NodeDef]:
        outputs = [v for v in values if v.spec.dtype.kind in "fc"]
        if not self.options.break_on or not outputs or functions_of(node):
            return  # the outputs of a loop or branch are checked where they are produced, inside it
        fed = self._fed_as(node) is not None
        if not fed and lookup(node.op).once:
            return  # the value of a constant comes from the program and was not computed
        name = outputs[0].ref[0]
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in self.options.break_exclude):
            return
        inputs = [(ref, nodes[ref[0]].outputs[ref[1]].dtype) for ref in dict.fromkeys(node.inputs)]
        point = NumericsPoint(
            name,
            outputs[0].op_type,
            device,
            node.source,
            fed,
            tuple([(tensor_name(*v.ref), v.spec.dtype) for v in outputs]),
            tuple([(self._known_as(nodes[r[0]], r[1]), d) for r, d in inputs if d is not resource]),
            tuple([self._known_as(nodes[r[0]], r[1]) for r, d in inputs if d is resource]),
        )
        read = [v.read for v in outputs] + [ref for ref, dtype in inputs if dtype is not resource]
        # The slot is in the name, because a node with a fed output may run for its other outputs.
        label = f"__numerics_{tensor_name(*outputs[0].ref)}"
        yield self._node(NUMERICS, label, point, tuple(read), {"node_name": name})

    def _checked_inside(self, node: NodeDef, device: str) -> NodeDef:
        """Return a loop or branch with checks in its functions; any other node as it is."""
        if not self.options.break_on or not functions_of(node):
            return node
        attrs = {
            key: self._checked_function(value, device) if isinstance(value, FunctionDef) else value
            for key, value in node.attrs.items()
        }
        return replace(node, attrs=attrs)

    def _checked_function(self, function: FunctionDef, device: str) -> FunctionDef:
        known = {ARGUMENT: NodeDef(name=ARGUMENT, op="", outputs=function.arguments)}
        nodes: list[NodeDef] = []
        behind: dict[str, dict[str, None]] = {ARGUMENT: {}}  # the checks before each node
        for node in function.nodes:
            known[node.name] = node
            nodes.append(self._checked_inside(node, device))
            checks = list(self._checking(node, self.values(node, ()), known, device))
            nodes.extend(checks)
            before = [name for name, _ in node.inputs] + list(node.control_inputs)
            behind[node.name] = dict.fromkeys(
                [c for name in before for c in behind[name]] + [check.name for check in checks]
            )
        outputs = list(function.outputs)
        for i, (name, slot) in enumerate(outputs):
            if behind[name]:  # a function runs only what its outputs need, so they must need the checks
                spec = known[name].outputs[slot]
                result = NodeDef(
                    name=f"__checked_{i}",
                    op="Identity",
                    inputs=((name, slot),),
                    control_inputs=tuple(behind[name]),
                    attrs={"T": spec.dtype},
                    outputs=(spec,),
                )
                nodes.append(result)
                outputs[i] = (result.name, 0)
        return replace(function, nodes=tuple(nodes), outputs=tuple(outputs))

    def _known_as(self, node: NodeDef, slot: int) -> str:
        """Return the name in the user's graph of a tensor of a partition."""
        if node.name == ARGUMENT:
            return f"input {slot} of the body"
        fed = self._fed_as(node)
        if fed is not None:
            return fed
        if node.op == RECV:
            # The edge is named "edge_<number>_<tensor>".
            return str(parse_key(node.attrs["key"]).edge_name.split("_", 2)[2])
        return tensor_name(node.name, slot)

    def _node(
        self, op: str, name: str, point: WatchPoint | NumericsPoint, inputs: tuple[Ref, ...], attrs: Mapping[str, Any]
    ) -> NodeDef:
        self.points.append(point)
        return NodeDef(
            name=name, op=op, inputs=inputs, source=point.source, attrs={"number": len(self.points) - 1, **attrs}
        )


def _unknown_node(name: str, known: Mapping[str, NodeDef]) -> str:
    node, colon, slot = name.rpartition(":")
    if colon and node in known:
        return f"node_name is the name of a node, got the tensor {name!r}: write node_name={node!r}, output_slot={slot}"
    for construct in known.values():
        if any(inner.name == name for inner, _ in nodes_inside(construct)):
            return (
                f"node {name!r} is inside {construct.name!r} ({construct.op}), where nothing is watched: "
                f"watch {construct.name!r} itself, or use break_on, which looks inside"
            )
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else f"; the graph has {len(known)} nodes"
    return f"the graph has no node {name!r} to watch{hint}. '*' watches all"


def _slot(watch: DebugTensorWatch) -> str:
    return "" if watch.output_slot == -1 else f"{watch.output_slot} "


def _slots_in_words(node: NodeDef, valid: Sequence[int]) -> str:
    if valid:
        return f"its outputs are {', '.join(map(str, valid))}, and -1 for all"
    if node.outputs:
        return "it gives a resource, which has no value: watch a node that reads it"
    return "it has no outputs"


class DebugGraphDecoratorRegistry(FactoryRegistry):
    """The factory of the decorators of this process; one factory at a time.

    A server decorates the partitions of the sessions of its clients, so a factory acts there if the process
    of the server registers it.
    """

    @classmethod
    def register_factory(cls, factory: DecoratorFactory | None) -> DecoratorFactory | None:
        """Set the factory for the decorators of all debugged plans that are made from now on.

        Args:
            factory: maps the options of the plan and the default decorator, to which a decorator may
                delegate, to a decorator; ``None`` for the default.

        Returns:
            The previous factory.
        """
        before: DecoratorFactory | None = cls._replace(factory)
        return before

    @classmethod
    def create_decorator(
        cls, debug_options: DebugOptions, default: DebugGraphDecoratorInterface
    ) -> DebugGraphDecoratorInterface:
        """Return the decorator of a plan.

        Args:
            debug_options: the options of the plan.
            default: the decorator if no factory is registered.

        Raises:
            InvalidArgumentError: if the factory makes something else.
        """
        factory: DecoratorFactory | None = cls._registered()
        decorator = default if factory is None else factory(debug_options, default)
        if not isinstance(decorator, DebugGraphDecoratorInterface):
            raise InvalidArgumentError(
                f"a debug graph decorator factory makes a DebugGraphDecoratorInterface, "
                f"this one made {decorator!r:.100}"
            )
        return decorator


def decorated(parts: Sequence[Partition], default: DebugGraphDecorator) -> tuple[Partition, ...]:
    """Return partitions with debug nodes, as the registered decorator makes them.

    Args:
        parts: the partitions, which are not changed.
        default: the default decorator of their plan.

    Raises:
        InvalidArgumentError: if the options request what does not exist, or a registered decorator returns
            what cannot be run.
    """
    used = DebugGraphDecoratorRegistry.create_decorator(default.options, default)
    decorated_parts = []
    for part in parts:
        graph = used.decorate_graph(GraphDef(part.nodes), part.device)
        if not isinstance(graph, GraphDef):
            raise InvalidArgumentError(f"{type(used).__name__}.decorate_graph returns a GraphDef, got {graph!r:.100}")
        with_nodes = replace(part, nodes=tuple(graph.nodes))
        if used is not default:
            (with_nodes,) = check_partitions([part], [with_nodes])
        decorated_parts.append(with_nodes)
        used.publish_graph(graph, part.device)
    return tuple(decorated_parts)


# -- the nodes in generated code -------------------------------------------------------------------


class Watcher(Protocol):
    """The receiver of the values that debug nodes report."""

    def watch(self, number: int, values: Sequence[Any]) -> None:
        """Handle the values of the point with that number."""


class _Current(threading.local):
    """The debugged run whose code this thread is running."""

    run: Watcher | None = None


_current = _Current()


@contextmanager
def watched_by(run: Watcher) -> Iterator[None]:
    """Make debug nodes that run in this thread report their values to ``run``."""
    before, _current.run = _current.run, run
    try:
        yield
    finally:
        _current.run = before


def _no_outputs(_: InferContext) -> Sequence[TensorSpec]:
    return ()


def _watch_kernel(ctx: KernelContext) -> Any:
    """Return the kernel of a debug node. It finds its run by the thread, because kernels have no step."""
    number = int(ctx.attrs["number"])
    name = ctx.name

    def watch(*values: Any) -> None:
        run = _current.run
        if run is None:
            raise InvalidArgumentError(
                f"node {name!r} is the debugger's: only debugged runs put such nodes into a graph"
            )
        run.watch(number, values)

    return watch


for _type in (WATCH, NUMERICS):
    register(OpDef(name=_type, infer=_no_outputs, kernel=_watch_kernel))
