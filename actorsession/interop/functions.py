"""Conversion of the functions of loops and branches to TensorFlow's ``FunctionDef`` and back.

Here a function reads outside values through captures, which ``While`` and ``If`` take as their last inputs.
In TensorFlow's form there are only arguments: a branch takes the captures as arguments, and a loop passes
each one to the next iteration as a variable that never changes. So an exported loop has more outputs than
before, and in an imported loop the variables that never change become captures.

Inside a function, an output has a name of its own, ``node:output:index``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.errors import RequestValueError
from actorsession.graph.function import ARGUMENT, CALLS, FunctionDef
from actorsession.graph.names import OP_NAME, is_op_name
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.op_signatures import Arg, tensorflow_signature
from actorsession.graph.shape import TensorShape
from actorsession.interop import protos
from actorsession.interop.enums import dtype_number, dtype_of
from actorsession.interop.import_plan import Planned, plan_node
from actorsession.interop.tensors import shape_of
from actorsession.records import dataclass

# A number of outputs, which no longer one can be.
_INDEX = re.compile(r"[0-9]{1,9}")

__all__ = ["CONSTRUCTS", "PlannedFunction", "function_proto", "plan_function"]

# The attributes that hold functions, by operation type in TensorFlow's form.
CONSTRUCTS: Mapping[str, tuple[str, ...]] = {
    "While": ("cond", "body"), "StatelessWhile": ("cond", "body"),
    "If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch"),
    **dict.fromkeys(CALLS, ("f",)),
}  # fmt: skip

WriteNode = Callable[[NodeDef, tuple[TensorSpec, ...]], protos.NodeDef]


def _places(args: Sequence[Arg], total: int, attrs: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return, for each output of a node, the name of the output argument and the index within it."""
    places: list[tuple[str, int]] = []
    for at, arg in enumerate(args):
        count = 1
        if arg.number or arg.is_list:
            known = attrs.get(arg.number or arg.type)
            rest = total - len(places) - (len(args) - at - 1)
            count = (
                len(known) if isinstance(known, (tuple, list)) else rest if known is None else known
            )
        places.extend([(arg.name, index) for index in range(count)])
    return places


def _output_places(op: str, total: int, attrs: Mapping[str, Any]) -> list[tuple[str, int]]:
    signature = tensorflow_signature(op)
    if signature is None:  # an operation type that only this library has
        return [("output", index) for index in range(total)]
    return _places(signature.outputs, total, attrs)


# -- out -----------------------------------------------------------------------------------------


def function_proto(
    name: str, function: FunctionDef, write: WriteNode, *, carried: bool = False
) -> protos.FunctionDef:
    """Return a function in TensorFlow's form.

    Args:
        name: its name in the library of the graph.
        function: the function.
        write: converts a node to TensorFlow's form.
        carried: whether the function also returns its captures, as the body of a loop does.
    """
    made = protos.FunctionDef()
    made.signature.name = name
    taken = {node.name for node in function.nodes}
    arguments = []
    for at, spec in enumerate(function.arguments):
        argument = f"arg_{at}"
        while argument in taken:
            argument += "_"
        arguments.append(argument)
        made.signature.input_arg.add(name=argument, type=dtype_number(spec.dtype))
    specs = {node.name: node.outputs for node in function.nodes}
    specs[ARGUMENT] = function.arguments
    refs = {(ARGUMENT, at): argument for at, argument in enumerate(arguments)}
    for node in function.nodes:
        proto = write(node, tuple([specs[n][index] for n, index in node.inputs]))
        data = [refs[ref] for ref in node.inputs]
        proto.input[:] = [*data, *[f"^{before}" for before in node.control_inputs]]
        made.node_def.adopt(proto)
        for at, (output, index) in enumerate(
            _output_places(node.op, len(node.outputs), node.attrs)
        ):
            refs[node.name, at] = f"{node.name}:{output}:{index}"
    returned = list(function.outputs)
    if carried:
        returned += [(ARGUMENT, at) for at in range(len(function.inputs), len(arguments))]
    for at, (producer, index) in enumerate(returned):
        made.signature.output_arg.add(
            name=f"ret_{at}", type=dtype_number(specs[producer][index].dtype)
        )
        made.ret[f"ret_{at}"] = refs[producer, index]
    return made


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
    layouts = {node.name: _layout(node) for node in function.node_def}
    if len(layouts) < len(function.node_def) or set(layouts) & set(arguments):
        raise RequestValueError(
            f"function {name!r}: the names of nodes and arguments must be unique"
        )
    wrong = [node for node in layouts if not is_op_name(node)]
    if wrong:
        raise RequestValueError(
            f"function {name!r}: node {wrong[0]!r}: a name must match {OP_NAME}"
        )

    def flat(text: str) -> tuple[str, int]:
        producer, _, place = text.partition(":")
        if producer in arguments and not place:
            return producer, 0
        output, _, index = place.partition(":")
        if producer not in layouts or not _INDEX.fullmatch(index):
            raise RequestValueError(
                f"function {name!r}: {text!r} is neither an argument nor of the form "
                "'node:output:index'"
            )
        return producer, layouts[producer](output) + int(index)

    nodes = []
    for proto in function.node_def:
        node = proto.copy()
        node.input[:] = [
            text if text.startswith("^") else "{}:{}".format(*flat(text)) for text in proto.input
        ]
        nodes.append(plan_node(node))
    missing = [arg.name for arg in function.signature.output_arg if arg.name not in function.ret]
    if missing:
        raise RequestValueError(
            f"function {name!r} has no entry in ret for its result {missing[0]!r}"
        )
    results = tuple([flat(function.ret[arg.name]) for arg in function.signature.output_arg])
    control = tuple(dict.fromkeys(function.control_ret.values()))
    return PlannedFunction(arguments, _specs(function), tuple(nodes), results, control)


def _specs(function: protos.FunctionDef) -> tuple[TensorSpec, ...]:
    """Return the static types of a function's arguments, with the shapes that are known."""
    found = []
    for at, arg in enumerate(function.signature.input_arg):
        shapes = function.arg_attr[at].attr["_output_shapes"] if at in function.arg_attr else None
        known = shapes is not None and len(shapes.list.shape) == 1
        shape = shape_of(shapes.list.shape[0]) if known and shapes is not None else None
        found.append(TensorSpec(dtype_of(arg.type), TensorShape(shape)))
    return tuple(found)


def _layout(node: protos.NodeDef) -> Callable[[str], int]:
    """Return a function from the name of an output argument of a node to the index of its first value."""
    signature = tensorflow_signature(node.op)
    if signature is None:
        return lambda output: 0
    starts: dict[str, int] = {}
    at = 0
    for arg in signature.outputs:
        starts[arg.name] = at
        if arg.number:
            at += node.attr[arg.number].i if arg.number in node.attr else 1
        elif arg.is_list:
            at += len(node.attr[arg.type].list.type) if arg.type in node.attr else 1
        else:
            at += 1

    def first(output: str) -> int:
        if output not in starts:
            raise RequestValueError(
                f"node {node.name!r} ({node.op}) has no output {output!r}; it has {sorted(starts)}"
            )
        return starts[output]

    return first
