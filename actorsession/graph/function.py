"""Functions: the bodies of loops, branches and calls, while they are built and as plain data.

A ``FunctionDef`` is the frozen form: it is an attribute of a ``While``, ``If`` or call, is sent with it, and
is compiled into the code of the segment of that node. A ``FunctionBody`` collects operations while a body is
built: they belong to the same graph and scopes as all others, but are not operations of the graph itself.
``ops.flow`` builds functions. Planners read them, and check those that came from elsewhere with
``function_fault``.

A node of a function reads an input of the function as output ``k`` of ``ARGUMENT``, a name that no node has;
captured values from outside follow the function's own inputs in that numbering. Both functions of a
functional control flow operation have the same captures, in the order of the operation's last inputs.
"""

from __future__ import annotations

import contextlib
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from actorsession.config.limits import check_graph_size
from actorsession.errors import InaccessibleTensorError, ProtocolError
from actorsession.graph import codec
from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.dtypes import DType, bool_, int32, resource, variant
from actorsession.graph.extension import ExtensionPoint
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import is_registered, needs_import
from actorsession.graph.scopes import entered, scope_of
from actorsession.graph.shape import TensorShape
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.graph.graph import Graph

__all__ = [
    "ARGUMENT", "BRANCHES", "CALL", "CALLS", "CONSTRUCTS", "CONTROL_FLOW", "FUNCTIONALIZE", "IF", "LOOPS",
    "MAX_LOOPS", "MAX_NESTING", "REMOTE_CALL", "STANDS_FOR", "STATEFUL_CALL", "SYMBOLIC_GRADIENT", "WHILE",
    "FunctionBody", "FunctionDef", "brought_in", "check_reach", "entering", "function_fault",
    "functions_of", "is_same_function", "named_functions", "nodes_in", "nodes_inside", "size_inside",
    "size_of",
]  # fmt: skip

ARGUMENT = ""
WHILE, IF = "While", "If"
# With the types of those that TensorFlow knows to have no effects, which are the same here.
LOOPS, BRANCHES = frozenset({WHILE, "StatelessWhile"}), frozenset({IF, "StatelessIf"})
CONTROL_FLOW = LOOPS | BRANCHES
CALL, STATEFUL_CALL = "PartitionedCall", "StatefulPartitionedCall"
REMOTE_CALL, SYMBOLIC_GRADIENT = "RemoteCall", "SymbolicGradient"
# Calls of a function, with the number of their inputs before the arguments.
CALLS: Mapping[str, int] = {CALL: 0, STATEFUL_CALL: 0, REMOTE_CALL: 1, SYMBOLIC_GRADIENT: 0}
# The attributes of each functional control flow operation that hold functions.
_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(LOOPS, ("cond", "body")),
    **dict.fromkeys(BRANCHES, ("then_branch", "else_branch")),
    **dict.fromkeys(CALLS, ("f",)),
}
# Makes loops and branches of the primitives in a function, which is compiled to code of Python.
FUNCTIONALIZE: ExtensionPoint[
    Callable[[Sequence[NodeDef], Sequence[TensorSpec], Sequence[tuple[str, int]]], list[NodeDef]]
] = ExtensionPoint("primitive control flow in functions", "actorsession.ops")
# The attribute of a ``While`` that replaces a primitive loop where a gradient needs that: for each Exit, the
# number of the variable and the name.
STANDS_FOR = "_stands_for"
# Every operation type with functions of its own: loops, branches and calls.
CONSTRUCTS = frozenset(_FUNCTIONS)
# CPython compiles 20 nested loops and 100 levels of indentation at most.
MAX_LOOPS = 16
MAX_NESTING = 64


@dataclass(frozen=True, slots=True)
class FunctionDef:
    """The body of a loop, branch or call as plain data.

    Attributes:
        inputs: static types of its own inputs.
        captures: static types of the values that it reads from outside.
        nodes: producers before consumers; those that no output needs are left out.
        outputs: producing node and output index of each result.
        size: number of its nodes, with those of the functions inside. A function is written out in the place
            of each call, so this is what every pass has to do with.

    Raises:
        ResourceExhaustedError: if there are more nodes than one graph may have.
    """

    inputs: tuple[TensorSpec, ...]
    captures: tuple[TensorSpec, ...]
    nodes: tuple[NodeDef, ...]
    outputs: tuple[tuple[str, int], ...]
    size: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Count the nodes; those of a function are counted once, so that 2**60 calls cost nothing."""
        object.__setattr__(self, "size", size_of(self.nodes))
        check_graph_size(self.size, "a function")

    @property
    def arguments(self) -> tuple[TensorSpec, ...]:
        """Static types of inputs and captures, in the order in which nodes number them."""
        return self.inputs + self.captures

    def output_specs(self) -> tuple[TensorSpec, ...]:
        """Return the static types of the results."""
        outputs = {node.name: node.outputs for node in self.nodes}
        outputs[ARGUMENT] = self.arguments
        return tuple([outputs[name][index] for name, index in self.outputs])

    def to_wire(self) -> list[Any]:
        """Return the function as plain values."""
        return [
            _specs_to_wire(self.inputs),
            _specs_to_wire(self.captures),
            [node.to_wire() for node in self.nodes],
            [list(ref) for ref in self.outputs],
        ]

    @classmethod
    def from_wire(cls, value: Any) -> FunctionDef:
        """Read the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form; whether the nodes form a function is checked by planners.
        """
        match value:
            case [list() as inputs, list() as captures, list() as nodes, list() as outputs]:
                return cls(
                    _specs_from_wire(inputs),
                    _specs_from_wire(captures),
                    tuple([NodeDef.from_wire(n) for n in nodes]),
                    tuple([_ref_from_wire(o) for o in outputs]),
                )
        raise ProtocolError(f"not the wire form of a function: {reprlib.repr(value)}")


def _specs_to_wire(specs: Iterable[TensorSpec]) -> list[Any]:
    return [[spec.dtype, spec.shape] for spec in specs]


def _specs_from_wire(items: list[Any]) -> tuple[TensorSpec, ...]:
    specs = []
    for item in items:
        match item:
            case [DType() as dtype, TensorShape() as shape]:
                specs.append(TensorSpec(dtype, shape))
            case _:
                raise ProtocolError(f"not the wire form of a static type: {reprlib.repr(item)}")
    return tuple(specs)


def _ref_from_wire(item: Any) -> tuple[str, int]:
    match item:
        case [str() as name, int() as index]:
            return name, index
    raise ProtocolError(f"not the wire form of a result: {reprlib.repr(item)}")


codec.NESTED_CLASSES.fill("functions", codec.NestedClass(FunctionDef, FunctionDef.from_wire))


# -- sizes ---------------------------------------------------------------------------------------


# Inputs, outputs, or items of an attribute that take as long as a node; characters take less.
_ITEMS, _CHARACTERS = 16, 1024
# Nodes that are not counted one by one, since whoever asks takes them for many.
_MANY = 1000


def size_of(nodes: Iterable[NodeDef | Operation]) -> int:
    """Return the number of nodes, with those of the functions in their attributes.

    A node of very many inputs or of long attributes counts as several, since it is as much work.
    """
    return sum([1 + size_inside(node) for node in nodes])


def size_inside(node: NodeDef | Operation) -> int:
    """Return how many nodes one counts as beyond itself: those of its functions; 0 for most."""
    edges = len(node.inputs) + len(node.control_inputs) + len(node.outputs)
    return edges // _ITEMS + _size_of_attrs(node.attrs)


def _size_of_attrs(attrs: Mapping[str, Any]) -> int:
    size = 0
    for value in attrs.values():
        kind = type(value)
        if kind is FunctionDef:
            size += value.size
        elif kind is list or kind is tuple:
            size += len(value) // _ITEMS
        elif kind is str or kind is bytes:
            size += len(value) // _CHARACTERS
    return size


_FIELDS = 8  # of a node in its wire form


def nodes_in(wire: Any) -> float:
    """Return the number of nodes in a wire form, counted as ``size_of`` does.

    It is infinity if they are packed or very many, and if modules have to be imported for them.
    """
    if not isinstance(wire, list) or len(wire) > _MANY:
        return float("inf")
    size = 0
    for node in wire:
        if not (isinstance(node, list) and len(node) == _FIELDS):
            continue
        _, op, inputs, control, _, attrs, outputs, _ = node
        lists = isinstance(inputs, list) and isinstance(control, list) and isinstance(outputs, list)
        if lists and isinstance(op, str) and isinstance(attrs, dict):
            if needs_import(op):
                return float("inf")
            edges = len(inputs) + len(control) + len(outputs)
            size += 1 + edges // _ITEMS + _size_of_attrs(attrs)
    return size


# -- checks --------------------------------------------------------------------------------------


def functions_of(node: NodeDef) -> tuple[FunctionDef, ...]:
    """Return the functions in the attributes of a node; none for most."""
    keys = _FUNCTIONS.get(node.op)
    return () if keys is None else tuple([node.attrs[key] for key in keys])


def entering(node: NodeDef) -> int:
    """Return the number of variables of a loop whose first values are inputs.

    The others, behind them, begin empty: counters at 0, and lists without elements. They collect intermediate
    values for gradients, and were added when those were built.
    """
    return len(node.inputs) - len(node.attrs["body"].captures)


def nodes_inside(node: NodeDef) -> Iterator[tuple[NodeDef, bool]]:
    """Yield all nodes inside a functional control flow operation, each with whether it takes a resource."""
    for function in functions_of(node):
        specs = {inner.name: inner.outputs for inner in function.nodes}
        specs[ARGUMENT] = function.arguments
        for inner in function.nodes:
            yield inner, any(specs[name][index].dtype is resource for name, index in inner.inputs)
            yield from nodes_inside(inner)


def named_functions(nodes: Iterable[NodeDef]) -> dict[str, FunctionDef]:
    """Return the functions that are called by name, also inside other functions.

    Every call has its function specialised to the shapes of its arguments; the one of the first call stands
    for all. Loops, branches and gradients of functions are nodes with functions that have no name.
    """
    functions: dict[str, FunctionDef] = {}
    for node in nodes:
        for function in functions_of(node):
            if node.op != SYMBOLIC_GRADIENT and "_function" in node.attrs:
                functions.setdefault(str(node.attrs["_function"]), function)
            for name, inner in named_functions(function.nodes).items():
                functions.setdefault(name, inner)
    return functions


def is_same_function(one: FunctionDef, other: FunctionDef) -> bool:
    """Return whether two functions are the same but for the names of their nodes."""
    if one is other:
        return True
    if one.arguments != other.arguments or len(one.nodes) != len(other.nodes):
        return False
    names = {ARGUMENT: ARGUMENT}
    names |= {a.name: b.name for a, b in zip(one.nodes, other.nodes, strict=True)}

    def moved(refs: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        return [(names[name], index) for name, index in refs]

    return moved(one.outputs) == list(other.outputs) and all(
        (a.op, a.device, moved(a.inputs), [names[name] for name in a.control_inputs], a.attrs.keys())
        == (b.op, b.device, list(b.inputs), list(b.control_inputs), b.attrs.keys())
        and all(_is_same_value(value, b.attrs[key]) for key, value in a.attrs.items())
        for a, b in zip(one.nodes, other.nodes, strict=True)
    )


def _is_same_value(one: Any, other: Any) -> bool:
    if isinstance(one, FunctionDef) and isinstance(other, FunctionDef):
        return is_same_function(one, other)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_is_same_value(a, b) for a, b in pairs)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        # By their bytes, in which NaN is NaN; elements of arrays of objects are texts.
        one, other = np.asarray(one), np.asarray(other)
        is_alike = (one.dtype, one.shape) == (other.dtype, other.shape)
        return is_alike and (one.tolist() == other.tolist() or one.tobytes() == other.tobytes())
    return type(one) is type(other) and bool(one == other)


def function_fault(
    node: NodeDef, loops: int = 0, depth: int = 0, check: Callable[[NodeDef], str | None] = lambda node: None
) -> str | None:
    """Return a description of the fault in the functions of a node; ``None`` if there is none.

    Args:
        node: the node.
        loops: number of loops around it.
        depth: number of functional control flow operations around it.
        check: returns the fault of a node inside, by itself.
    """
    keys = _FUNCTIONS.get(node.op)
    if keys is None:
        return None
    loops += node.op in LOOPS
    if loops > MAX_LOOPS or depth >= MAX_NESTING:
        return f"is nested too deep: {MAX_LOOPS} loops and {MAX_NESTING} constructs are the limit"
    for key in keys:
        function = node.attrs.get(key)
        if not isinstance(function, FunctionDef):
            return f"has no function as its attribute {key!r}"
        wrong = _function_fault(function, loops, depth, check)
        if wrong is not None:
            return f"has a wrong function {key!r}: {wrong}"
    if node.op in CALLS:
        return _call_fault(node)
    return _while_fault(node) if node.op in LOOPS else _if_fault(node)


def _function_fault(
    function: FunctionDef, loops: int, depth: int, check: Callable[[NodeDef], str | None]
) -> str | None:
    counts = {ARGUMENT: len(function.arguments)}  # number of outputs
    for node in function.nodes:
        name = node.name
        if name in counts or name.startswith("_"):
            return f"the name {name!r} of a node is taken or reserved"
        if not is_registered(node.op):
            return f"{name!r} is of type {node.op!r}, which is not registered here"
        for producer, index in node.inputs:
            if not 0 <= index < counts.get(producer, 0):
                return f"{name!r} reads '{producer}:{index}', not made before it"
        for before in node.control_inputs:
            if before == ARGUMENT or before not in counts:
                return f"{name!r} runs after {before!r}, not made before it"
        inner = check(node) or function_fault(node, loops, depth + 1, check)
        if inner is not None:
            return f"{name!r} {inner}"
        counts[name] = len(node.outputs)
    for producer, index in function.outputs:
        if not 0 <= index < counts.get(producer, 0):
            return f"it returns '{producer}:{index}', which it does not make"
    return None


def _while_fault(node: NodeDef) -> str | None:
    cond, body = functions_of(node)
    count = len(node.outputs)
    if not count or len(cond.outputs) != 1 or len(body.outputs) != count:
        return f"is no loop over {count} variables: its functions return other numbers of values"
    dtypes = [spec.dtype for spec in node.outputs]
    for specs in (cond.inputs, body.inputs, body.output_specs()):
        if [spec.dtype for spec in specs] != dtypes:
            return "has loop variables whose dtypes differ from those of its functions"
    if cond.output_specs()[0].dtype is not bool_ or resource in dtypes:
        return "has a condition that is no bool, or a resource as loop variable"
    given = entering(node)
    if not 0 < given <= count or any(s.dtype not in (int32, variant) for s in node.outputs[given:]):
        return f"has {given} first values for {count} variables"
    return _captures_fault(node, len(node.inputs) - given)


def _if_fault(node: NodeDef) -> str | None:
    dtypes = [spec.dtype for spec in node.outputs]
    for branch in functions_of(node):
        if branch.inputs or [spec.dtype for spec in branch.output_specs()] != dtypes:
            return "has branches with inputs of their own, or with outputs of other dtypes"
    return _captures_fault(node, len(node.inputs) - 1)


def _call_fault(node: NodeDef) -> str | None:
    (function,) = functions_of(node)
    dtypes = [spec.dtype for spec in node.outputs]
    given, expected = len(node.inputs) - CALLS[node.op], len(function.arguments)
    if given != expected:
        return f"passes {given} arguments to a function that takes {expected}"
    if [spec.dtype for spec in function.output_specs()] != dtypes:
        return "has outputs whose dtypes differ from those of its function"
    return None


def _captures_fault(node: NodeDef, count: int) -> str | None:
    if any(len(function.captures) != count for function in functions_of(node)):
        return f"has {len(node.inputs)} inputs, and its functions have other numbers of captures"
    return None


# -- building ------------------------------------------------------------------------------------


class FunctionBody:
    """The operations of a loop body, condition or branch while it is built.

    Args:
        graph: the graph of the loop or branch.
        construct: name of the loop or cond, for messages.
        is_loop: whether it belongs to a loop.

    Attributes:
        outer: the body around this one, if any.
        operations: in the order they were built.
        parameters: the tensors for its own inputs.
        starts: for a loop, the tensors that the parameters have as their first values.
        owner: the data of its loop or cond, once that is built; see ``ops.flow.constructs``.
        mirrors: for a body of a gradient, the body that it differentiates.
        bring: for such a body, from a tensor of the other to one here that has its value.
        by_value: whether reference variables are captured as the values that they have outside.
    """

    def __init__(self, graph: Graph, construct: str, *, is_loop: bool) -> None:
        self.graph = graph
        self.construct = construct
        self.is_loop = is_loop
        self.outer = scope_of(graph).body
        self.operations: list[Operation] = []
        self.parameters: list[Tensor] = []
        self.starts: Sequence[Tensor] = ()
        self.owner: Any = None
        self.mirrors: FunctionBody | None = None
        self.bring: Callable[[Tensor], Tensor] | None = None
        self.by_value = False

    @contextlib.contextmanager
    def building(self) -> Iterator[None]:
        """Add the operations that are built in the block to this body."""
        with self.graph.as_default(), entered(self.graph, body=self):
            yield

    def encloses(self, other: FunctionBody | None) -> bool:
        """Return whether ``other`` is this body or inside it."""
        while other is not None and other is not self:
            other = other.outer
        return other is self

    # -- the result -----------------------------------------------------------------------------

    def needed(self, outputs: Sequence[Tensor]) -> list[Operation]:
        """Return the operations that results need, in the order they were built."""
        own = set(self.operations)
        operations: set[Operation] = set()
        waiting = [t.op for t in outputs]
        while waiting:
            op = waiting.pop()
            if op in own and op not in operations:
                operations.add(op)
                waiting.extend([t.op for t in op.inputs])
                waiting.extend(op.control_inputs)
        parameters = {t.op for t in self.parameters}
        return [op for op in self.operations if op in operations and op not in parameters]

    def captured(self, outputs: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors from outside that results depend on."""
        own = set(self.operations)
        read = [t for op in self.needed(outputs) for t in op.inputs]
        return list(dict.fromkeys([t for t in (*read, *outputs) if t.op not in own]))

    def waits_for(self, outputs: Sequence[Tensor]) -> list[Operation]:
        """Return the operations outside that some operation of the results runs after."""
        own = set(self.operations)
        before = [op for needed in self.needed(outputs) for op in needed.control_inputs]
        return list(dict.fromkeys([op for op in before if op not in own]))

    def tied_to(self, outputs: Sequence[Tensor]) -> set[str]:
        """Return the colocation groups of the results' operations that refer to operations outside."""
        own = {f"loc:@{op.name}" for op in self.operations}
        return {group for op in self.needed(outputs) for group in op.groups()} - own

    def define(self, outputs: Sequence[Tensor], captures: Sequence[Tensor]) -> FunctionDef:
        """Return the body as plain data.

        Args:
            outputs: its results.
            captures: all tensors from outside, including those of the loop's or cond's other function.
        """
        needed = self.needed(outputs)
        inside = {op.name for op in needed}
        refs = {t: (ARGUMENT, k) for k, t in enumerate((*self.parameters, *captures))}
        nodes = []
        for op in needed:
            node = op.plain
            nodes.append(
                replace(
                    node,
                    inputs=tuple([refs.get(t, t._ref) for t in op.inputs]),
                    control_inputs=tuple([c for c in node.control_inputs if c in inside]),
                    attrs={k: v for k, v in node.attrs.items() if k != "_class"},
                )
            )
        results = tuple([refs.get(t, t._ref) for t in outputs])
        if not PRIMITIVES.isdisjoint([node.op for node in nodes]):
            arguments = [t.spec for t in (*self.parameters, *captures)]
            nodes = FUNCTIONALIZE.get("nodes")(nodes, arguments, results)
        return FunctionDef(
            tuple([t.spec for t in self.parameters]), tuple([t.spec for t in captures]), tuple(nodes), results
        )


def brought_in(graph: Graph, tensor: Tensor) -> Tensor:
    """Return the tensor to read in the current body for one: itself, or its copy in a gradient's body."""
    home, body = graph.nodes.bodies.get(tensor.op), scope_of(graph).body
    if home is None or home.encloses(body):
        return tensor
    while body is not None:
        if body.mirrors is home and body.bring is not None:
            return body.bring(tensor)
        body = body.outer
    return tensor  # ``check_reach`` raises the error


def check_reach(homes: Mapping[Operation, FunctionBody], ops: Iterable[Operation], body: FunctionBody | None) -> None:
    """Refuse operations that cannot be read in ``body``.

    Raises:
        InaccessibleTensorError: naming the loop or cond that one of them is inside of.
    """
    for op in ops:
        home = homes.get(op)
        if home is not None and not home.encloses(body):
            raise InaccessibleTensorError(
                f"{op.name!r} cannot be used here: it is inside {home.construct!r}, which may run it any "
                f"number of times. Return its value from {home.construct!r} and use the result"
            )
