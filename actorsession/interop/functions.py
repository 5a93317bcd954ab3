"""Conversion of the functions of loops and branches to TensorFlow's ``FunctionDef`` and back.

Here a function reads outside values through captures, which ``While`` and ``If`` take as their last inputs.
In TensorFlow's form there are only arguments: a branch takes the captures as arguments, and a loop passes
each one to the next iteration as a variable that never changes. So an exported loop has more outputs than
before, and in an imported loop the variables that never change become captures.

Inside a function, an output has a name of its own, ``node:output:index``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping

from actorsession.errors import RequestValueError
from actorsession.graph.function import ARGUMENT, CALLS, FunctionDef
from actorsession.graph.names import OP_NAME, is_op_name
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.op_signatures import REQUIRED, Arg, Attr, tensorflow_signature
from actorsession.graph.shape import TensorShape
from actorsession.interop import protos
from actorsession.interop.attributes import attr_proto
from actorsession.interop.enums import dtype_number, dtype_of
from actorsession.interop.import_plan import Planned, plan_node
from actorsession.interop.tensors import shape_of
from actorsession.records import dataclass
from actorsession.whole_numbers import is_index

__all__ = ["CASE", "CONSTRUCTS", "SEARCH", "PlannedFunction", "function_proto", "plan_function"]

# The attributes that hold functions, by operation type in TensorFlow's form.
CONSTRUCTS: Mapping[str, tuple[str, ...]] = {
    "While": ("cond", "body"),
    "StatelessWhile": ("cond", "body"),
    "If": ("then_branch", "else_branch"),
    "StatelessIf": ("then_branch", "else_branch"),
    "Case": ("branches",),
    "StatelessCase": ("branches",),
    **dict.fromkeys(CALLS, ("f",)),
}

# The attribute of an ``If`` that an imported ``Case`` was made into: the number of branches, or 0 for a part.
CASE = "_case"
# What begins the names, below that of the node, of the nodes that compute such a search.
SEARCH = "/_index/"

WriteNode = Callable[[NodeDef, tuple[TensorSpec, ...]], protos.NodeDef]


# -- out -----------------------------------------------------------------------------------------


def function_proto(name: str, function: FunctionDef, write: WriteNode, *, carried: bool = False) -> protos.FunctionDef:
    """Return a function in TensorFlow's form.

    Args:
        name: its name in the library of the graph.
        function: the function.
        write: converts a node to TensorFlow's form.
        carried: whether the function also returns its captures, as the body of a loop does.
    """
    definition = protos.FunctionDef()
    definition.signature.name = name
    taken = {node.name for node in function.nodes}
    arguments = []
    for at, spec in enumerate(function.arguments):
        argument = f"arg_{at}"
        while argument in taken:
            argument += "_"
        arguments.append(argument)
        definition.signature.input_arg.add(name=argument, type=dtype_number(spec.dtype))
    specs = {node.name: node.outputs for node in function.nodes}
    specs[ARGUMENT] = function.arguments
    refs = {(ARGUMENT, at): argument for at, argument in enumerate(arguments)}
    for node in function.nodes:
        proto = write(node, tuple([specs[n][index] for n, index in node.inputs]))
        data = [refs[ref] for ref in node.inputs]
        proto.input[:] = [*data, *[f"^{before}" for before in node.control_inputs]]
        definition.node_def.adopt(proto)
        for output, start, count in _layout(proto, len(node.outputs)):
            for index in range(count):
                refs[node.name, start + index] = f"{node.name}:{output}:{index}"
    returned = list(function.outputs)
    if carried:
        returned += [(ARGUMENT, at) for at in range(len(function.inputs), len(arguments))]
    for at, (producer, index) in enumerate(returned):
        definition.signature.output_arg.add(name=f"ret_{at}", type=dtype_number(specs[producer][index].dtype))
        definition.ret[f"ret_{at}"] = refs[producer, index]
    return definition


# -- in ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlannedFunction:
    """A function of a file that is ready to be built.

    Attributes:
        arguments: names of its arguments; nodes read them like outputs of nodes with these names.
        specs: static types of its arguments.
        nodes: its nodes, checked.
        results: producing node or argument and output index of each result.
        control: nodes that always run, even if no result needs them.
    """

    arguments: tuple[str, ...]
    specs: tuple[TensorSpec, ...]
    nodes: tuple[Planned, ...]
    results: tuple[tuple[str, int], ...]
    control: tuple[str, ...]


def plan_function(function: protos.FunctionDef) -> PlannedFunction:
    """Check a function of a file and return it in a form that can be built.

    Raises:
        ValueError: if the message is not a valid function.
    """
    name = function.signature.name
    arguments = tuple([arg.name for arg in function.signature.input_arg])
    inside = {node.name: node for node in function.node_def}
    if len(inside) < len(function.node_def) or set(inside) & set(arguments):
        raise RequestValueError(f"function {name!r}: the names of nodes and arguments must be unique")
    wrong = [node for node in inside if not is_op_name(f"f/{node}")]
    if wrong:
        raise RequestValueError(f"function {name!r}: node {wrong[0]!r}: a name must match {OP_NAME}")

    def flat(text: str) -> tuple[str, int]:
        producer, _, place = text.partition(":")
        if producer in arguments and place in ("", "0"):
            return producer, 0
        index = place.partition(":")[2]
        if producer not in inside or not is_index(index):
            raise RequestValueError(
                f"function {name!r}: {text!r} is neither an argument nor of the form 'node:output:index'"
            )
        return producer, _index(inside[producer], place)

    control = tuple(dict.fromkeys([node for node in function.control_ret.values() if node in inside]))
    nodes = []
    for proto in _needed(inside, control, function.ret.values()):
        node = proto.copy()
        # Arguments are there before all nodes, so that nothing waits for them.
        node.input[:] = [
            text if text.startswith("^") else "{}:{}".format(*flat(text))
            for text in proto.input
            if text.removeprefix("^") not in arguments or not text.startswith("^")
        ]
        nodes.append(plan_node(node))
    missing = [arg.name for arg in function.signature.output_arg if arg.name not in function.ret]
    if missing:
        raise RequestValueError(f"function {name!r} has no entry in ret for its result {missing[0]!r}")
    results = tuple([flat(function.ret[arg.name]) for arg in function.signature.output_arg])
    return PlannedFunction(arguments, _specs(function), tuple(nodes), results, control)


def _needed(
    inside: Mapping[str, protos.NodeDef], control: Iterable[str], results: Iterable[str]
) -> list[protos.NodeDef]:
    """Return the nodes that a function runs, in their order: a fault of any other node is of no account.

    A function without results runs all of them.
    """
    needed = set()
    waiting = [*control, *results] or list(inside)
    while waiting:
        name = waiting.pop().removeprefix("^").partition(":")[0]
        if name in inside and name not in needed:
            needed.add(name)
            waiting.extend(inside[name].input)
    return [node for name, node in inside.items() if name in needed]


def _specs(function: protos.FunctionDef) -> tuple[TensorSpec, ...]:
    """Return the static types of a function's arguments, with the shapes that are known."""
    specs = []
    for at, arg in enumerate(function.signature.input_arg):
        shapes = function.arg_attr[at].attr["_output_shapes"] if at in function.arg_attr else None
        known = shapes is not None and len(shapes.list.shape) == 1
        shape = shape_of(shapes.list.shape[0]) if known and shapes is not None else None
        specs.append(TensorSpec(dtype_of(arg.type), TensorShape(shape)))
    return tuple(specs)


def _layout(node: protos.NodeDef, total: int | None = None) -> list[tuple[str, int, int]]:
    """Return the name of each output argument of a node, the index of its first value, and how many it has.

    Args:
        node: the node.
        total: number of its outputs, if that is known; for operation types that only this library has.
    """
    signature = tensorflow_signature(node.op)
    if signature is None:
        return [("output", 0, sys.maxsize if total is None else total)]
    layout, at = [], 0
    for arg in signature.outputs:
        count = _count(node, arg, signature.attrs)
        layout.append((arg.name, at, count))
        at += count
    return layout


def _count(node: protos.NodeDef, arg: Arg, attrs: Mapping[str, Attr]) -> int:
    """Return how many values an output argument of a node has."""
    key = arg.number or (arg.type if arg.is_list else "")
    if not key:
        return 1
    default = attrs[key].default
    if key not in node.attr and default is REQUIRED:
        raise RequestValueError(f"node {node.name!r} ({node.op}) has no attribute {key!r}")
    value = node.attr[key] if key in node.attr else attr_proto(default, attrs[key].type)
    return value.i if arg.number else len(value.list.type)


def _index(node: protos.NodeDef, text: str) -> int:
    """Return the index among a node's outputs of ``output:index``."""
    output, _, index = text.partition(":")
    layout = _layout(node)
    for name, start, count in layout:
        if name == output and int(index) < count:
            return start + int(index)
    sizes = {name: count for name, _, count in layout}
    raise RequestValueError(
        f"node {node.name!r} ({node.op}) has no output {text!r}; it has these numbers of each: {sizes}"
    )
