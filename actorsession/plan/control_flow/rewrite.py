"""The rewriting of a graph in which primitive loops and conditionals become ``While`` and ``If``.

It holds what both kinds of functionalization share: the nodes with the readers of each, the frame of each,
and the generation of the functions that replace nodes. It is plain data, owned by one call of
``functionalize`` or by the gradient of such a loop (``ops.flow.stand_ins``); ``loops`` and ``conditionals``
use it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from actorsession.errors import PicklableError
from actorsession.graph.control_flow_ops import PRIMITIVES, is_back_edge
from actorsession.graph.function import ARGUMENT, FunctionDef, nodes_inside
from actorsession.graph.names import free_name
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import is_registered, lookup
from actorsession.plan.control_flow.frames import Frame
from actorsession.plan.topological_order import producers_first
from actorsession.records import dataclass

__all__ = ["FunctionWriter", "GraphRewriter", "Ref", "RefusedError", "in_order", "is_plain", "is_pure"]

Ref = tuple[str, int]


class RefusedError(PicklableError):
    """A functionalized loop may be partially dead, which one operation cannot be.

    Args:
        frame: the loop.
    """

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame.name)
        self.frame = frame


@dataclass(frozen=True, slots=True)
class LiftedLoop:
    """Data about a functionalized loop that is needed until the nodes around it are analysed.

    Attributes:
        frame: the loop.
        decides: the inputs that its condition depends on in the first iteration.
    """

    frame: Frame
    decides: frozenset[int]


class GraphRewriter:
    """The graph while it is rewritten.

    Args:
        nodes: by name, producers first except on back edges.
        device_of: the device of each.
        frames: the frame of each.
        fetches: the values that are fetched.
        targets: the nodes that must run.

    Attributes:
        nodes: by name.
        fetched: as given.
        kept: the fetched nodes and the targets.
        readers: the nodes that read each node or run after it.
        members: the nodes of each frame.
        loops: the functionalized loops, by the name of their node.
        made: names of the new loops and conditionals.
    """

    def __init__(
        self,
        nodes: Mapping[str, NodeDef],
        device_of: Mapping[str, str],
        frames: Mapping[str, Frame],
        fetches: Iterable[Ref],
        targets: Iterable[str] = (),
    ) -> None:
        self.nodes = dict(nodes)
        self.device_of = dict(device_of)
        self.frames = dict(frames)
        self.position = {name: at for at, name in enumerate(self.nodes)}
        self.fetched = set(fetches)
        self.kept = {name for name, _ in self.fetched} | set(targets)
        self.members: dict[Frame, dict[str, None]] = {}
        self.readers: dict[str, dict[str, None]] = {name: {} for name in self.nodes}
        self.loops: dict[str, LiftedLoop] = {}
        self.made: set[str] = set()
        self._input_of_side = set(self.nodes)
        for node in self.nodes.values():
            self.members.setdefault(self.frames[node.name], {})[node.name] = None
            self._link(node)

    def _link(self, node: NodeDef) -> None:
        for name in producers(node):
            self.readers[name][node.name] = None

    def remove(self, name: str) -> None:
        """Remove a node."""
        node = self.nodes.pop(name)
        for producer in producers(node):
            if producer in self.readers:
                self.readers[producer].pop(name, None)
        del self.members[self.frames[name]][name]
        self.readers.pop(name)

    def put(self, node: NodeDef, frame: Frame, device: str, position: int) -> None:
        """Add a node, in the place of one of the same name if there is one."""
        name = node.name
        readers = self.readers.get(name, {})
        if name in self.nodes:
            self.remove(name)
        self.nodes[name] = node
        self.frames[name], self.device_of[name], self.position[name] = frame, device, position
        self.members.setdefault(frame, {})[name] = None
        self.readers[name] = readers
        self._link(node)

    def replace(self, node: NodeDef) -> None:
        """Replace the node of the same name."""
        name = node.name
        self.put(node, self.frames[name], self.device_of[name], self.position[name])

    def construct(self, node: NodeDef, frame: Frame, removed: Collection[str]) -> None:
        """Replace nodes, which are on one device, by a functional control flow operation."""
        device = self.device_of[next(iter(removed))]
        position = max([self.position[name] for name in removed])
        for name in removed:
            if name in self.nodes:
                self.remove(name)
        self.put(node, frame, device, position)
        self.made.add(node.name)

    def new_name(self, base: str) -> str:
        """Return a name that no node has or had."""
        name = free_name(base, self._input_of_side)
        self._input_of_side.add(name)
        return name

    def spec(self, ref: Ref) -> TensorSpec:
        """Return the static type of a value."""
        return self.nodes[ref[0]].outputs[ref[1]]

    def ordered(self, names: Collection[str]) -> list[str]:
        """Return some of the nodes, producers first.

        Raises:
            ValueError: if there is a cycle.
        """
        return in_order(self.nodes, sorted(names, key=self.position.__getitem__))


def producers(node: NodeDef) -> list[str]:
    """Return the names of the nodes that a node reads or runs after."""
    return [*[name for name, _ in node.inputs], *node.control_inputs]


def in_order(nodes: Mapping[str, NodeDef], names: Sequence[str]) -> list[str]:
    """Return names of nodes, producers first and otherwise in the given order; back edges do not count.

    Raises:
        ValueError: if there is a cycle.
    """
    among = set(names)

    def before(name: str) -> list[str]:
        node = nodes[name]
        read = [p for p in producers(node) if p in among]
        return [p for p in read if not is_back_edge(node.op, nodes[p].op)]

    return producers_first(names, before)


# -- nodes ---------------------------------------------------------------------------------------


def is_plain(node: NodeDef) -> bool:
    """Return whether a node may be in a function as well as in the graph.

    Nodes that wait, or run the user's code, are left to the engine, which runs other nodes and other
    iterations meanwhile.
    """
    if node.op in PRIMITIVES or not is_registered(node.op):
        return False
    return all(not _waits(inner.op) for inner in (node, *[n for n, _ in nodes_inside(node)]))


def _waits(op: str) -> bool:
    definition = lookup(op)
    return definition.blocks or definition.suspends


def is_pure(node: NodeDef) -> bool:
    """Return whether it is unobservable how often a node runs."""
    return is_registered(node.op) and not lookup(node.op).stateful


# -- functions -----------------------------------------------------------------------------------


class FunctionWriter:
    """The conversion of nodes into the nodes of a function.

    An Identity without control inputs is left out: its readers read its input.

    Args:
        rewriter: the graph.
        inside: the nodes.
        given: values that are arguments of the function's own, with their numbers.
        captures: values that are read from outside, with numbers; grows.
        own: number of the function's own arguments.
        through: by value, the outside value that is read instead.
        structure: nodes that disappear, so that nothing waits for them.

    Attributes:
        nodes: the nodes of the function.
        before: nodes outside that some node of the function runs after.
    """

    def __init__(
        self,
        rewriter: GraphRewriter,
        inside: Collection[str],
        given: Mapping[Ref, int],
        captures: dict[Ref, int],
        own: int,
        through: Mapping[Ref, Ref],
        structure: Collection[str],
    ) -> None:
        self._rewriter = rewriter
        self._inside = set(inside)
        self._given = given
        self._captures = captures
        self._own = own
        self._through = through
        self._structure = structure
        self._passed: dict[str, Ref] = {}
        self.nodes: list[NodeDef] = []
        self.before: dict[str, None] = {}
        for name in rewriter.ordered(inside):
            self._add(rewriter.nodes[name])

    def _add(self, node: NodeDef) -> None:
        control = self.controls(node.control_inputs)
        inputs = tuple([self.local(ref) for ref in node.inputs])
        if node.op == "Identity" and not control:
            self._passed[node.name] = inputs[0]
        else:
            self.nodes.append(replace(node, inputs=inputs, control_inputs=control))

    def local(self, ref: Ref) -> Ref:
        """Return the reference by which the function reads a value."""
        if ref in self._given:
            return ARGUMENT, self._given[ref]
        if ref[0] in self._passed:
            return self._passed[ref[0]]
        if ref[0] in self._inside:
            return ref
        outside = self._through.get(ref, ref)
        return ARGUMENT, self._own + self._captures.setdefault(outside, len(self._captures))

    def controls(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the nodes of the function that a node of it runs after."""
        controls: dict[str, None] = {}
        for name in names:
            if name in self._passed:
                producer = self._passed[name][0]
                if producer != ARGUMENT:
                    controls[producer] = None
            elif name in self._inside:
                controls[name] = None
            elif name not in self._structure:
                self.before[name] = None
        return tuple(controls)

    def passing(self, name: str, ref: Ref, control_inputs: Sequence[str]) -> Ref:
        """Return a result that waits for other nodes: an Identity of the given name, if there are any."""
        control = self.controls(control_inputs)
        local = self.local(ref)
        if not control:
            return local
        node = self._rewriter.nodes[name]
        self.nodes.append(
            NodeDef(
                name=name,
                op="Identity",
                inputs=(local,),
                control_inputs=control,
                source=node.source,
                outputs=(self._rewriter.spec(ref),),
            )
        )
        return name, 0

    def defined(self, inputs: Sequence[TensorSpec], outputs: Sequence[Ref]) -> FunctionDef:
        """Return the function, once all functions that share its captures are written.

        Args:
            inputs: static types of its own arguments.
            outputs: its results, as references of the function.
        """
        captures = tuple([self._rewriter.spec(ref) for ref in self._captures])
        return FunctionDef(tuple(inputs), captures, tuple(self.nodes), tuple(outputs))
