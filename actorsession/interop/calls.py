"""Function calls in TensorFlow's form.

TensorFlow 1 calls a function with a node whose type is the function's name. TensorFlow 2 uses a
``PartitionedCall`` whose attribute names the function. ``expand_calls`` rewrites the first form into the
second before any other module reads the graph. It also rejects recursive functions, because calls are inlined
here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from actorsession.graph.function import CALLS, STATEFUL_CALL, FunctionDef
from actorsession.graph.graph import Graph
from actorsession.graph.op_signatures import signature_of
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.scopes import entered
from actorsession.interop import protos
from actorsession.interop.construct_import import ran
from actorsession.interop.functions import PlannedFunction
from actorsession.interop.import_plan import Planned, functions_named
from actorsession.ops.flow.constructs import ConstructBuilder

__all__ = ["build_call", "build_function", "expand_calls"]

# Names of functions may have characters that names of operations may not: ``__inference_<lambda>_6``.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.\\/>-]")


def expand_calls(graph_def: protos.GraphDef) -> protos.GraphDef:
    """Return the graph with a ``StatefulPartitionedCall`` in place of each node whose type is a function.

    Raises:
        ValueError: if a function of its library calls itself.
    """
    functions = {function.signature.name: function for function in graph_def.library.function}
    if not functions:
        return graph_def
    _check_recursion(functions, [name for node in graph_def.node for name in _named_by(node)])
    inside = [node for function in graph_def.library.function for node in function.node_def]
    if not any(node.op in functions for node in (*graph_def.node, *inside)):
        return graph_def
    expanded = graph_def.copy()
    by_name = {node.op for node in (*graph_def.node, *inside)}
    for function in expanded.library.function:
        if function.signature.name in by_name:
            _run_effects(function, functions)
        called = {n.name: functions[n.op] for n in function.node_def if n.op in functions}
        for node in function.node_def:
            node.input[:] = [_numbered(text, called) for text in node.input]
            _expand_call(node, functions)
        for key, text in dict(function.ret).items():
            function.ret[key] = _numbered(text, called)
    for node in expanded.node:
        _expand_call(node, functions)
    return expanded


def _run_effects(function: protos.FunctionDef, functions: Container[str]) -> None:
    """Have a function that is called by its name run all its nodes with effects, as TensorFlow 1 does."""
    for node in function.node_def:
        signature = signature_of(node.op)
        if node.op in functions or (signature is not None and signature.stateful):
            function.control_ret.setdefault(f"_{node.name}", node.name)


def _numbered(text: str, called: Mapping[str, protos.FunctionDef]) -> str:
    """Return a reference to an output of a call with the output's number in place of its name."""
    node, _, place = text.partition(":")
    if node not in called or not place:
        return text
    names = [arg.name for arg in called[node].signature.output_arg]
    output = place.partition(":")[0]
    return f"{node}:output:{names.index(output)}" if output in names else text


def _expand_call(node: protos.NodeDef, functions: Mapping[str, protos.FunctionDef]) -> None:
    function = functions.get(node.op)
    if function is None:
        return
    signature = function.signature
    for name in list(node.attr):
        if not name.startswith("_"):
            del node.attr[name]
    node.attr["f"].func.name = node.op
    node.attr["Tin"].list.type.extend([arg.type for arg in signature.input_arg])
    node.attr["Tin"].list.SetInParent()
    node.attr["Tout"].list.type.extend([arg.type for arg in signature.output_arg])
    node.attr["Tout"].list.SetInParent()
    node.op = STATEFUL_CALL


def _check_recursion(functions: Mapping[str, protos.FunctionDef], named: Iterable[str]) -> None:
    ended: dict[str, bool] = {}  # False while the functions that it calls are visited
    for root in named:
        stack = [root] if root in functions else []
        while stack:
            name = stack[-1]
            if name in ended:
                ended[stack.pop()] = True
                continue
            ended[name] = False
            for other in [each for node in functions[name].node_def for each in _named_by(node)]:
                if ended.get(other) is False and other in functions:
                    raise ValueError(
                        f"function {name!r} calls {other!r}, which calls it; calls are replaced by "
                        "the bodies of their functions, so functions cannot be recursive"
                    )
                if other in functions and other not in ended:
                    stack.append(other)


def _named_by(node: protos.NodeDef) -> list[str]:
    return [node.op, *functions_named(node)]


def build_call(
    node: Planned,
    inputs: Sequence[Tensor],
    full: str,
    graph: Graph,
    library: Mapping[str, PlannedFunction],
    call: Callable[[PlannedFunction, Sequence[Tensor], str], list[Tensor]],
) -> tuple[Operation, list[Tensor]]:
    """Build a call; the arguments are those of ``build_construct``.

    Raises:
        ValueError: if its function is missing or takes a different number of values.
    """
    name = node.attrs["f"]
    if name not in library:
        raise ValueError(f"function {name!r}, its attribute 'f', is not in the graph's library")
    function, first = library[name], CALLS[node.type]
    if len(function.arguments) != len(inputs) - first:
        raise ValueError(
            f"function {name!r} takes {len(function.arguments)} values, but {len(inputs) - first} are passed"
        )
    with graph.name_scope(f"{full}/") as scope, ConstructBuilder(graph, scope, is_loop=False) as builder:
        body = builder.function()
        with body.building():
            results = call(function, inputs[first:], f"{full}/_{_NOT_IN_NAMES.sub('_', name)}")
            # Every call has at least one result, so that its side effects run as dependencies of a value.
            carried = results or [ran(body.operations, graph)]
        named = {"_function": str(name)}
        op = builder.construct(node.type, inputs[:first], ("f",), [body], [carried], named)
    return op, list(op.outputs[: len(results)])


def build_function(
    function: PlannedFunction,
    name: str,
    graph: Graph,
    call: Callable[[PlannedFunction, Sequence[Tensor], str], list[Tensor]],
) -> FunctionDef:
    """Return a function of a file as plain data, as the attribute of a node has it.

    Args:
        function: the function.
        name: the scope of its nodes, which are in no graph.
        graph: the graph.
        call: builds the nodes of a function.
    """
    around = entered(graph, name=name, devices=(), control=(), colocation=())
    with around, graph.as_default(), ConstructBuilder(graph, name, is_loop=False) as builder:
        body = builder.function()
        body.by_value = True
        with body.building():
            for spec in function.specs:
                attrs = {"dtype": spec.dtype, "shape": spec.shape}
                placeholder = graph.create_op("Placeholder", (), attrs, f"{name}/_argument")
                body.parameters.append(placeholder.outputs[0])
            results = call(function, body.parameters, name)
        return body.define(results, ())
